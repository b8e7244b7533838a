// Values of Python's that are no tensors, as JSON that every format understands, and beside it what JSON does not tell:
// that a list was a tuple, a text bytes, and which keys were numbers.
import { FormatError } from "../io/base/errors.ts";
import { NumpyScalar } from "../io/base/numpy-scalar.ts";
import { isPlainObject, type PythonJson, pythonFloatRepr, pythonJsonStringify } from "../io/base/python-json.ts";
import {
  attributesOf,
  type DictClass,
  dequeLength,
  dictClassOf,
  exactKey,
  exactly,
  isByteArray,
  isFrozenSet,
  noteByteArray,
  noteDeque,
  noteDict,
  noteFrozenSet,
} from "../io/base/python-origin.ts";
import { PythonName, PythonObject, pythonText } from "../io/pickle/python-object.ts";
import { isConstantName, TorchConstant, TorchDevice } from "../io/torch/torch-constants.ts";
import { deviceNamed } from "../io/torch/torch-values.ts";
import { Complex, Float, Int } from "../tensor/complex.ts";
import { Device } from "../tensor/device.ts";
import { DType, dtypeByName } from "../tensor/dtype.ts";
import { Size } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";

/** What something was in Python, where its place does not tell. */
export interface PythonNode {
  /** Its class. */
  is?: string;
  /** Keys that were no texts, by the names that stand for them. */
  keys?: ReadonlyMap<string, unknown>;
  /** What is in a level that holds tensors, all of it, in order; null for what is what it seems to be. */
  entries?: ReadonlyMap<string, PythonNode | null>;
  /** What is in a value: those parts that are not what they seem to be, or all where their order counts. */
  parts?: ReadonlyMap<string, PythonNode | null>;
  /** Attributes of an OrderedDict, what a defaultdict makes, how many items a deque has at most. */
  attributes?: unknown;
  /** The object that a level or a text stands for. */
  object?: PythonObject | Tensor;
}

/** A value as JSON, and what it was. */
export interface Described {
  json: PythonJson;
  node: PythonNode | null;
}

/** The class of a node that stands for an object, as a text or as a level of its tensors. */
export const OBJECT = "object";

/** The name of an object's class in Python. */
export function classNameOf(object: PythonObject | Tensor): string {
  return object instanceof Tensor ? "torch.Tensor" : object.className;
}

/** That of a class or a function. */
const NAME = "name";

/** Deepest nesting, and values of one file: sharing can make a short pickle endless. */
export const MAX_DEPTH = 100;
const MAX_VALUES = 4_000_000;

/** Keys and values of a dictionary under names that are texts. */
interface Named {
  names: [name: string, value: unknown][];
  keys: Map<string, unknown>;
}

/** True for what becomes a dictionary. */
export function isDict(value: unknown): value is Map<unknown, unknown> | Record<string, unknown> {
  return value instanceof Map || isPlainObject(value);
}

/** Classes that are equal to a `dict` of the same pairs. */
export function isDictClass(name: string | undefined): boolean {
  return name === undefined || name === "OrderedDict" || name === "Counter" || name === "defaultdict";
}

/** The value of an entry that is no tensor: nested arrays for a stack; 2.0 as a `Float` where that is known. */
export function valueOf(entry: unknown): unknown {
  const held = entry as { _kind: string; _raw?: unknown; data?: unknown; tolist(): unknown };
  return held._raw ?? (held._kind === "nonTensorStack" ? held.tolist() : held.data);
}

/** Describes values, within limits for all of one file. */
export class Describer {
  private values = 0;
  /** Where the value is that is being described. */
  private readonly where: (string | number)[] = [];
  private readonly open = new Set<object>();

  constructor(private readonly path: string) {}

  fail(what: string): never {
    const name = this.where.length === 0 ? "the value" : JSON.stringify(this.where.slice(0, 8).join("."));
    throw new FormatError(`${name} ${what}`, this.path);
  }

  /** Runs `inside` for something that holds others. */
  within<T>(value: object, inside: () => T): T {
    if (this.open.has(value)) this.fail("contains itself");
    if (this.where.length > MAX_DEPTH) this.fail(`has more than ${MAX_DEPTH} levels below each other`);
    this.open.add(value);
    const result = inside();
    this.open.delete(value);
    return result;
  }

  /** Describes what is under a name. */
  at<T>(name: string | number, describe: () => T): T {
    this.where.push(name);
    const result = describe();
    this.where.pop();
    return result;
  }

  count(times = 1): void {
    this.values += times;
    if (this.values > MAX_VALUES) this.fail(`is beyond the ${MAX_VALUES} values that are read`);
  }

  /** Names for the keys of a dictionary: each is there once, and texts are their own. */
  named(dict: Map<unknown, unknown> | Record<string, unknown>): Named {
    const pairs: [unknown, unknown][] = dict instanceof Map ? [...dict] : Object.entries(dict);
    const taken = new Set(pairs.flatMap(([key]) => (typeof exactKey(dict, key) === "string" ? [key as string] : [])));
    const keys = new Map<string, unknown>();
    const names = pairs.map(([key, item]): [string, unknown] => {
      const value = exactly(dict, key, item);
      const own = exactKey(dict, key);
      if (typeof own === "string") return [own, value];
      let name = this.keyName(own);
      while (taken.has(name)) name += "~";
      taken.add(name);
      keys.set(name, own);
      return [name, value];
    });
    return { names, keys };
  }

  /** The name for a key. */
  keyName(given: unknown): string {
    const key = given instanceof NumpyScalar ? given.value : given;
    if (typeof key === "string") return key;
    if (key === null) return "None";
    if (typeof key === "boolean") return key ? "True" : "False";
    if (key instanceof Float) return pythonFloatRepr(key.value);
    if (typeof key === "number" && !Number.isInteger(key)) return pythonFloatRepr(key);
    if (typeof key === "number" || typeof key === "bigint") return String(key);
    if (key instanceof PythonObject || key instanceof Tensor) return pythonText(key, 60);
    const { json } = this.value(key);
    return (typeof json === "string" ? json : pythonJsonStringify(json)).slice(0, 64);
  }

  /** A value that holds no tensors. */
  value(value: unknown): Described {
    this.count();
    if (value === null || value instanceof Float) return { json: value as PythonJson, node: null };
    if (value instanceof Int) return { json: BigInt(value.value), node: null };
    if (typeof value !== "object") {
      if (!["string", "number", "bigint", "boolean"].includes(typeof value)) this.fail("is no plain value");
      return { json: value as PythonJson, node: null };
    }
    if (value instanceof NumpyScalar) {
      const { json } = this.value(value.plain);
      return { json, node: { is: value.word } };
    }
    // A tensor is a value only as a key, or as what a program set on something.
    if (value instanceof PythonObject || value instanceof Tensor) {
      return { json: pythonText(value), node: { is: OBJECT, object: value } };
    }
    const text = wordOf(value);
    if (text !== null) return { json: text.json, node: { is: text.is } };
    return this.within(value, () => this.container(value));
  }

  private container(value: object): Described {
    if (value instanceof Set) {
      const members = Array.from(value, (item) => exactKey(value, item));
      return this.list(value, members, isFrozenSet(value) ? "frozenset" : "set");
    }
    if (Array.isArray(value)) {
      if (dequeLength(value) !== undefined) return this.list(value, value, "deque", dequeLength(value));
      const is = value instanceof Size ? "torch.Size" : Object.isFrozen(value) ? "tuple" : undefined;
      return this.list(value, value, is);
    }
    if (isDict(value)) return this.dict(value);
    return this.fail(`is a ${value.constructor?.name ?? "object"}, which is no plain value`);
  }

  private list(
    holder: object,
    items: readonly unknown[],
    is: string | undefined,
    attributes?: number | null,
  ): Described {
    const parts = new Map<string, PythonNode | null>();
    const json: PythonJson[] = [];
    for (const [i, own] of items.entries()) {
      const item = exactly(holder, i, own);
      if (typeof item === "object" || typeof item === "undefined") {
        this.where.push(i);
        const inner = this.value(item);
        this.where.pop();
        if (inner.node !== null) parts.set(String(i), inner.node);
        json.push(inner.json);
      } else {
        this.count();
        json.push(item as PythonJson);
      }
    }
    return { json, node: nodeOf({ is, parts, attributes }) };
  }

  private dict(value: Map<unknown, unknown> | Record<string, unknown>): Described {
    const { names, keys } = this.named(value);
    const { is, attributes } = dictFacts(value);
    const ordered = is !== undefined || keys.size > 0;
    const parts = new Map<string, PythonNode | null>();
    const json = new Map<string, PythonJson>();
    for (const [name, item] of names) {
      const inner = this.at(name, () => this.value(item));
      json.set(name, inner.json);
      if (ordered || inner.node !== null) parts.set(name, inner.node);
    }
    return { json, node: nodeOf({ is, keys, parts, attributes }) };
  }
}

/** Class and attributes of a dictionary; no class for a `dict`. */
export function dictFacts(value: object): { is: string | undefined; attributes: unknown } {
  const name = dictClassOf(value);
  return { is: name === "dict" ? undefined : name, attributes: attributesOf(value) };
}

interface Facts {
  is?: string | undefined;
  keys?: ReadonlyMap<string, unknown> | undefined;
  parts?: ReadonlyMap<string, PythonNode | null> | undefined;
  attributes?: unknown;
}

/** A node of those facts that say something; null when none does. */
function nodeOf({ is, keys, parts, attributes }: Facts): PythonNode | null {
  const node: PythonNode = {};
  if (is !== undefined) node.is = is;
  if (keys !== undefined && keys.size > 0) node.keys = keys;
  if (parts !== undefined && parts.size > 0) node.parts = parts;
  if (attributes !== undefined) node.attributes = attributes;
  return Object.keys(node).length === 0 ? null : node;
}

function wordOf(value: object): { json: PythonJson; is: string } | null {
  if (value instanceof Uint8Array) {
    return { json: Buffer.from(value).toString("base64"), is: isByteArray(value) ? "bytearray" : "bytes" };
  }
  const part = (number: number): PythonJson => (Number.isInteger(number) ? new Float(number) : number);
  if (value instanceof Complex) return { json: [part(value.re), part(value.im)], is: "complex" };
  if (value instanceof DType) return { json: String(value), is: "torch.dtype" };
  if (value instanceof TorchConstant) return { json: String(value), is: `torch.${value.kind}` };
  if (value instanceof Device || value instanceof TorchDevice) return { json: String(value), is: "torch.device" };
  if (value instanceof PythonName) return { json: `${value.module} ${value.name}`, is: NAME };
  return null;
}

function bad(is: string): never {
  throw new FormatError(`a ${is.slice(0, 100)} in the structure is none`);
}

function restoreWord(is: string, json: PythonJson): unknown {
  switch (is) {
    case "bytes":
    case "bytearray": {
      const bytes = new Uint8Array(Buffer.from(typeof json === "string" ? json : bad(is), "base64"));
      return is === "bytes" ? bytes : noteByteArray(bytes);
    }
    case "complex": {
      const parts = (Array.isArray(json) ? json : []).map((part) => (part instanceof Float ? part.value : part));
      if (parts.length !== 2 || !parts.every((part) => typeof part === "number")) bad(is);
      return new Complex(parts[0] as number, parts[1] as number);
    }
    case "torch.dtype":
    case "torch.layout":
    case "torch.qscheme": {
      if (typeof json !== "string" || !json.startsWith("torch.")) return bad(is);
      const dtype = is === "torch.dtype" ? dtypeByName(json) : undefined;
      if (dtype !== undefined) return dtype;
      if (isConstantName(json) && `torch.${TorchConstant.of(json).kind}` === is) return TorchConstant.of(json);
      return bad(is);
    }
    case NAME: {
      const [, module, name] = /^(\S+) (\S+)$/.exec(typeof json === "string" ? json : "") ?? [];
      return module === undefined ? bad(is) : new PythonName(module, name as string);
    }
    case "torch.device":
      return deviceNamed(typeof json === "string" ? json : bad(is));
    default:
      return bad(is);
  }
}

/** A dictionary of this class for a writer. */
export function restoreDict(pairs: readonly [unknown, unknown][], { is, attributes }: PythonNode): unknown {
  if (!isDictClass(is)) bad(is as string);
  const dict = new Map(pairs);
  if (dict.size !== pairs.length) throw new FormatError("two names in the structure stand for the same key");
  const named = attributes instanceof PythonName || attributes instanceof PythonObject;
  // A factory that was not kept is none.
  noteDict(dict, (is ?? "dict") as DictClass, is === "defaultdict" && !named ? null : attributes);
  return dict;
}

/** Refuses what Python has no key and no member of a set for: what can change. */
export function requireHashable(value: unknown): unknown {
  if (Array.isArray(value) && Object.isFrozen(value)) value.forEach(requireHashable);
  else if (Array.isArray(value) || isDict(value) || isChangeable(value)) {
    throw new FormatError("the structure has a key or a member of a set that is a list, a dict or a set");
  }
  return value;
}

function isChangeable(value: unknown): boolean {
  if (value instanceof Set) return !isFrozenSet(value);
  return value instanceof Uint8Array && isByteArray(value);
}

/** A list, or something made of one. */
export function restoreList(items: unknown[], { is, attributes }: PythonNode): unknown {
  switch (is) {
    case undefined:
    case "list":
      return items;
    case "tuple":
      return Object.freeze(items);
    case "set":
      return new Set(items.map(requireHashable));
    case "frozenset":
      return noteFrozenSet(new Set(items.map(requireHashable)));
    case "deque":
      return noteDeque(items, Number.isSafeInteger(attributes) ? (attributes as number) : null);
    case "torch.Size":
      if (!items.every((n) => Number.isSafeInteger(n) && (n as number) >= 0)) bad(is);
      return Size.fromList(items as number[]);
    default:
      return bad(is);
  }
}

/** The value that JSON and a node describe, as `saveTorch` takes it. */
export function restore(json: PythonJson, node: PythonNode | null): unknown {
  const part = (name: string) => node?.parts?.get(name) ?? null;
  const is = node?.is;
  // An object that was not kept is the text of it.
  if (is === OBJECT) return node?.object ?? json;
  if (is?.startsWith("numpy.")) return NumpyScalar.fromWord(is) ?? bad(is);
  if (is?.startsWith("torch.") && is !== "torch.Size") return restoreWord(is, json);
  if (is === "bytes" || is === "bytearray" || is === "complex" || is === NAME) return restoreWord(is, json);
  if (Array.isArray(json)) {
    return restoreList(
      json.map((item, i) => restore(item as PythonJson, part(String(i)))),
      node ?? {},
    );
  }
  if (json instanceof Map || isPlainObject(json)) {
    const all = new Map<string, PythonJson>(json instanceof Map ? json : (Object.entries(json) as never));
    // A node that has all names has them in their order.
    const told = [...(node?.parts?.keys() ?? [])].filter((name) => all.has(name));
    const names = told.length === all.size ? told : [...all.keys()];
    const pairs = names.map((name): [unknown, unknown] => [
      node?.keys?.has(name) ? node.keys.get(name) : name,
      restore(all.get(name) as PythonJson, part(name)),
    ]);
    return restoreDict(pairs, node ?? {});
  }
  return is === undefined ? json : bad(is);
}
