// Plain values in pickles: what they may name, and how the machine's values become JavaScript's.

import { inOrder } from "../../tensor/checks.ts";
import { Complex, Float } from "../../tensor/complex.ts";
import { setOwn } from "../../tensor/objects.ts";
import { FormatError } from "../base/errors.ts";
import { noteByteArray, noteDict, noteFloat, noteFloatKey } from "../base/python-origin.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import { DictPairs, GlobalReference, PickledObject, type PickleGlobal, runPickle } from "./pickle.ts";

const MAX_DEPTH = 1000;

function only(name: string, args: readonly unknown[], count: number): void {
  if (args.length > count) throw new FormatError(`the pickle gives ${name} ${args.length} arguments`);
}

function membersOf(name: string, args: readonly unknown[]): Set<unknown> {
  only(name, args, 1);
  const [items = []] = args;
  if (!Array.isArray(items)) throw new FormatError(`the pickle makes a ${name} of something that is no list`);
  return new Set(items);
}

/** Bytes as text in which every character is one byte: so Python writes bytes for old protocols. */
function latin1Bytes(text: unknown, encoding: unknown): Uint8Array {
  if (typeof text !== "string" || (encoding !== "latin1" && encoding !== "latin-1")) {
    throw new FormatError("the pickle encodes something else than bytes");
  }
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 255) throw new FormatError("the pickle has bytes above 255");
    bytes[i] = code;
  }
  return bytes;
}

function bytesOf(name: string, args: readonly unknown[]): Uint8Array {
  only(name, args, 2);
  const [source] = args;
  if (source === undefined) return new Uint8Array(0);
  if (source instanceof Uint8Array) return source.slice();
  return latin1Bytes(source, args[1]);
}

function orderedPairs(args: readonly unknown[]): DictPairs {
  only("OrderedDict", args, 1);
  const result = new DictPairs("OrderedDict");
  const [pairs = []] = args;
  if (!Array.isArray(pairs)) throw new FormatError("the pickle makes an OrderedDict of something that is no list");
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2) throw new FormatError("the pickle has a pair that is none");
    result.set(pair[0], pair[1]);
  }
  return result;
}

function counter([counts = new Map(), ...rest]: readonly unknown[]): DictPairs {
  if (!(counts instanceof Map) || rest.length > 0) throw new FormatError("the pickle counts something that is no dict");
  return new DictPairs("Counter", counts);
}

/** What a defaultdict makes for missing keys is code: the dict is what it holds. */
function defaultDict([factory = null, ...rest]: readonly unknown[]): Map<unknown, unknown> {
  if (rest.length > 0 || !(factory === null || factory instanceof GlobalReference)) {
    throw new FormatError("the pickle has a defaultdict that is none");
  }
  return new Map();
}

function complex(args: readonly unknown[]): Complex {
  const [re = 0, im = 0] = args.map((part) => (part instanceof Float ? part.value : part));
  if (typeof re !== "number" || typeof im !== "number" || args.length > 2) {
    throw new FormatError("the pickle has a complex number that is none");
  }
  return new Complex(re, im);
}

/** The names that plain data needs. */
const PLAIN: Record<string, PickleGlobal> = {
  "builtins.set": { call: (args) => membersOf("set", args) },
  "builtins.frozenset": { call: (args) => membersOf("frozenset", args) },
  "builtins.bytearray": { call: (args) => noteByteArray(bytesOf("bytearray", args)) },
  "builtins.bytes": { call: (args) => bytesOf("bytes", args) },
  "builtins.complex": { call: complex },
  "collections.OrderedDict": { call: orderedPairs, make: orderedPairs },
  "collections.Counter": { call: counter, make: counter },
  "collections.defaultdict": { call: defaultDict },
  // What defaultdicts are made with.
  "builtins.dict": {},
  "builtins.float": {},
  "builtins.int": {},
  "builtins.list": {},
  "_codecs.encode": { call: ([text, encoding]) => latin1Bytes(text, encoding) },
};

/** What plain data may name. */
export function plainGlobal(name: string): PickleGlobal | undefined {
  return Object.hasOwn(PLAIN, name) ? PLAIN[name] : undefined;
}

/** Turns the machine's values into JavaScript's; what it does not know itself, it asks `other` for. */
export class PlainValues {
  private readonly done = new Map<object, unknown>();
  private readonly open = new Set<object>();
  private depth = 0;

  constructor(
    readonly path: string,
    private readonly other?: (value: object, values: PlainValues) => unknown,
  ) {}

  /** The value; what was shared or contains itself still does. */
  of(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof Float) return value.value;
    const known = this.done.get(value);
    if (known !== undefined) return known;
    if (++this.depth > MAX_DEPTH) throw new FormatError("the pickle is nested too deeply", this.path);
    const result = this.convert(value);
    this.done.set(value, result);
    this.depth--;
    return result;
  }

  private convert(value: object): unknown {
    if (value instanceof Map) return this.pairs(value);
    const special = this.once(value);
    if (special !== undefined) return special;
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      this.done.set(value, items);
      for (const [i, item] of value.entries()) items.push(this.item(items, i, item));
      return Object.isFrozen(value) ? Object.freeze(items) : items;
    }
    if (value instanceof Set) {
      const members = new Set<unknown>();
      this.done.set(value, members);
      for (const item of value) members.add(item instanceof Float ? noteFloatKey(members, item) : this.of(item));
      return members;
    }
    if (value instanceof GlobalReference) {
      if (value.meaning.value !== undefined) return value.meaning.value;
      throw new FormatError(`the pickle holds ${value.name} itself, which is no data`, this.path);
    }
    if (value instanceof PickledObject) throw new FormatError(`a ${value.className} is no data`, this.path);
    return value;
  }

  /** What becomes of a value in its place. */
  private item(holder: object, place: unknown, value: unknown): unknown {
    return value instanceof Float ? noteFloat(holder, place, value) : this.of(value);
  }

  /** What the caller makes of a value. Nothing of this kind can contain itself. */
  private once(value: object): unknown {
    if (this.other === undefined) return undefined;
    if (this.open.has(value)) throw new FormatError("the pickle has an object that contains itself", this.path);
    this.open.add(value);
    const result = this.other(value, this);
    this.open.delete(value);
    return result;
  }

  /** An object, unless a key is no string or one that objects would put into another place. */
  private pairs(source: Map<unknown, unknown>): unknown {
    const keys = [...source.keys()];
    if (!keys.every((key) => typeof key === "string" && !/^\d+$/.test(key))) {
      const result = new Map<unknown, unknown>();
      this.done.set(source, result);
      this.noteClass(source, result);
      for (const [key, item] of source) {
        const own = key instanceof Float ? noteFloatKey(result, key) : this.of(key);
        result.set(own, this.item(result, own, item));
      }
      return result;
    }
    const result: Record<string, unknown> = {};
    this.done.set(source, result);
    this.noteClass(source, result);
    for (const [key, item] of source) {
      setOwn(result, key as string, this.item(result, key, item));
    }
    return result;
  }

  private noteClass(source: Map<unknown, unknown>, result: object): void {
    if (!(source instanceof DictPairs)) noteDict(result, "dict");
    else noteDict(result, source.className, source.attributes && this.of(source.attributes));
  }
}

/** Adds the file to errors that know only the pickle. */
export function inFile<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof FormatError && error.path === undefined) throw new FormatError(error.message, path, error);
    throw error;
  }
}

/**
 * The value of a pickle that holds plain data: None, booleans, numbers, strings, bytes, lists, tuples (frozen arrays),
 * sets, dicts (objects, or Maps where a key is no string) and OrderedDicts. Nothing of it is ever run.
 * @throws FormatError for anything else, naming it
 * @example
 * ```ts
 * io.readPlainPickle(new Uint8Array([0x80, 4, 0x5d, 0x4b, 1, 0x61, 0x2e]), "one.pickle") // [1]
 * ```
 * @torch pickle.loads
 */
export function readPlainPickle(bytes: Uint8Array, path: string): unknown {
  [bytes, path] = inOrder<Parameters<typeof readPlainPickle>>("readPlainPickle", FUNCTIONS.readPlainPickle, arguments);
  return inFile(path, () => new PlainValues(path).of(runPickle(bytes, path, { globals: plainGlobal }).value));
}
