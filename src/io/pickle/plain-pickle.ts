// Plain values in pickles: what they may name, and how the machine's values become JavaScript's.

import { inOrder } from "../../tensor/checks.ts";
import { Complex, Float } from "../../tensor/complex.ts";
import { setOwn } from "../../tensor/objects.ts";
import { FormatError } from "../base/errors.ts";
import { NumpyScalar, withoutNotes } from "../base/numpy-scalar.ts";
import {
  dequeLength,
  isFrozenSet,
  noteByteArray,
  noteDeque,
  noteDict,
  noteFloat,
  noteFloatKey,
  noteFrozenSet,
} from "../base/python-origin.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import {
  DictPairs,
  GlobalReference,
  NoData,
  PickledObject,
  PickledRecord,
  type PickleGlobal,
  runPickle,
} from "./pickle.ts";
import { PythonName, PythonObject } from "./python-object.ts";

const MAX_DEPTH = 1000;

function only(name: string, args: readonly unknown[], count: number): void {
  if (args.length > count) throw new NoData(`the pickle gives ${name} ${args.length} arguments`);
}

function membersOf(name: string, args: readonly unknown[]): Set<unknown> {
  only(name, args, 1);
  const [items = []] = args;
  if (!Array.isArray(items)) throw new NoData(`the pickle makes a ${name} of something that is no list`);
  return new Set(items);
}

/** Bytes as text in which every character is one byte: so Python writes bytes for old protocols. */
function latin1Bytes(text: unknown, encoding: unknown): Uint8Array {
  if (typeof text !== "string" || (encoding !== "latin1" && encoding !== "latin-1")) {
    throw new NoData("the pickle encodes something else than bytes");
  }
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 255) throw new NoData("the pickle has bytes above 255");
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
  if (!Array.isArray(pairs)) throw new NoData("the pickle makes an OrderedDict of something that is no list");
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2) throw new FormatError("the pickle has a pair that is none");
    result.set(pair[0], pair[1]);
  }
  return result;
}

function counter([counts = new Map(), ...rest]: readonly unknown[]): DictPairs {
  if (!(counts instanceof Map) || rest.length > 0) throw new NoData("the pickle counts something that is no dict");
  return new DictPairs("Counter", counts);
}

/** What a defaultdict makes for missing keys is code: it stays a name, and the dict is what it holds. */
function defaultDict([factory = null, pairs = new Map(), ...rest]: readonly unknown[]): DictPairs {
  const named = factory === null || factory instanceof GlobalReference || factory instanceof PickledRecord;
  if (rest.length > 0 || !named || !(pairs instanceof Map)) {
    throw new NoData("the pickle has a defaultdict that is none");
  }
  const result = new DictPairs("defaultdict", pairs);
  result.attributes = factory;
  return result;
}

/** A list that is bounded, or can grow at both ends. */
function deque([items = [], maxlen = null, ...rest]: readonly unknown[]): unknown[] {
  const bounded = typeof maxlen === "number" && Number.isSafeInteger(maxlen) && maxlen >= 0;
  if (!Array.isArray(items) || !(maxlen === null || bounded) || rest.length > 0) {
    throw new NoData("the pickle has a deque that is none");
  }
  return noteDeque([...items], maxlen as number | null);
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
  "builtins.frozenset": { call: (args) => noteFrozenSet(membersOf("frozenset", args)) },
  "builtins.bytearray": { call: (args) => noteByteArray(bytesOf("bytearray", args)) },
  "builtins.bytes": { call: (args) => bytesOf("bytes", args) },
  "builtins.complex": { call: complex },
  "collections.OrderedDict": { call: orderedPairs, make: orderedPairs },
  "collections.Counter": { call: counter, make: counter },
  "collections.defaultdict": { call: defaultDict },
  "collections.deque": { call: deque },
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

/** What becomes of objects and names that no value stands for: an error, nothing, or a description. */
export type Unknown = "refuse" | "skip" | "describe";

/** In the place of what is left out. */
export const SKIPPED = Symbol("skipped");

/** Turns the machine's values into JavaScript's; what it does not know itself, it asks `other` for. */
export class PlainValues {
  private readonly done = new Map<object, unknown>();
  private readonly open = new Set<object>();
  private depth = 0;

  constructor(
    readonly path: string,
    private readonly other?: (value: object, values: PlainValues) => unknown,
    private readonly unknown: Unknown = "refuse",
  ) {}

  /** The value of a whole pickle. */
  root(value: unknown): unknown {
    // By itself, a number cannot carry a note that it is a float.
    const made = value instanceof Float ? value : this.of(value);
    if (made !== SKIPPED) return made;
    const name = nameOf(value as object);
    throw new FormatError(`all of it is a ${name}: with unknown "skip" nothing would be left`, this.path);
  }

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
    if (Array.isArray(value)) return this.list(value);
    if (value instanceof Set) {
      const members = new Set<unknown>();
      this.done.set(value, members);
      if (isFrozenSet(value)) noteFrozenSet(members);
      for (const item of value) {
        const own = this.key(members, item);
        if (own !== SKIPPED) members.add(own);
      }
      return members;
    }
    if (value instanceof GlobalReference) {
      if (value.meaning.value !== undefined) return value.meaning.value;
      if (this.unknown === "describe") return new PythonName(value.module, value.qualname);
      if (this.unknown === "skip") return SKIPPED;
      throw new FormatError(`the pickle holds ${value.name} itself, which is no data`, this.path);
    }
    if (value instanceof PickledRecord) return this.record(value);
    if (value instanceof PickledObject) throw new FormatError(`a ${value.className} is no data`, this.path);
    return value;
  }

  private list(value: readonly unknown[]): readonly unknown[] {
    const items: unknown[] = [];
    this.done.set(value, items);
    const maxlen = dequeLength(value);
    if (maxlen !== undefined) noteDeque(items, maxlen);
    for (const [i, item] of value.entries()) {
      const own = this.item(items, i, item);
      // What is left out of a list leaves its place.
      items.push(own === SKIPPED ? null : own);
    }
    return Object.isFrozen(value) ? Object.freeze(items) : items;
  }

  /** An object of a class that is not there. */
  private record(value: PickledRecord): unknown {
    if (this.unknown === "skip") return SKIPPED;
    if (this.unknown !== "describe") {
      throw new FormatError(`the pickle names "${nameOf(value)}", which is no data here`, this.path);
    }
    const inner = this.attribute(value);
    if (inner !== null) return inner;
    const callee = this.of(value.callee);
    if (!(callee instanceof PythonName || callee instanceof PythonObject)) {
      throw new FormatError(`the pickle calls ${nameOf(value)}, which is no function`, this.path);
    }
    const made = new PythonObject(callee, { how: value.how });
    this.done.set(value, made);
    made.args = this.of(value.args) as readonly unknown[];
    if (value.kwargs !== undefined) made.kwargs = this.of(value.kwargs) as Record<string, unknown>;
    if (value.listItems !== undefined) made.listItems = this.of(value.listItems) as unknown[];
    if (value.dictItems !== undefined) made.dictItems = this.of(value.dictItems) as Record<string, unknown>;
    if (value.state !== undefined) made.state = this.item(made, "state", value.state);
    if (value.setter !== undefined) made.stateSetter = this.of(value.setter) as PythonName | PythonObject;
    return made;
  }

  /** A class inside of another, or an attribute of one, which old protocols have as a call: null for anything else. */
  private attribute({ callee, how, args, state }: PickledRecord): PythonName | null {
    const [of, name, ...others] = args;
    const called = callee instanceof GlobalReference && callee.name === "builtins.getattr" && how === "call";
    if (!called || others.length > 0 || state !== undefined || typeof name !== "string") return null;
    const outer = of instanceof GlobalReference || of instanceof PickledRecord ? this.of(of) : null;
    return outer instanceof PythonName ? new PythonName(outer.module, `${outer.name}.${name}`) : null;
  }

  /** What becomes of a value in its place. */
  private item(holder: object, place: unknown, value: unknown): unknown {
    const made = value instanceof Float ? value : this.of(value);
    return made instanceof Float || made instanceof NumpyScalar ? noteFloat(holder, place, made) : made;
  }

  private key(holder: object, key: unknown): unknown {
    const made = key instanceof Float ? key : this.of(key);
    return made instanceof Float || made instanceof NumpyScalar ? noteFloatKey(holder, made) : made;
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
        const own = this.key(result, key);
        const value = own === SKIPPED ? SKIPPED : this.item(result, own, item);
        if (value !== SKIPPED) result.set(own, value);
      }
      return result;
    }
    const result: Record<string, unknown> = {};
    this.done.set(source, result);
    this.noteClass(source, result);
    for (const [key, item] of source) {
      const value = this.item(result, key, item);
      if (value !== SKIPPED) setOwn(result, key as string, value);
    }
    return result;
  }

  private noteClass(source: Map<unknown, unknown>, result: object): void {
    const dict = source instanceof DictPairs ? source : new DictPairs("dict");
    const attributes = dict.attributes && this.of(dict.attributes);
    // Without what it makes for missing keys, it is a dict.
    if (attributes === SKIPPED) noteDict(result, "dict");
    else noteDict(result, dict.className, attributes);
  }
}

/** The name of what a pickle makes or names, for messages. */
export function nameOf(value: object): string {
  let at = value;
  while (at instanceof PickledRecord) at = at.callee;
  return at instanceof GlobalReference ? at.name : at.constructor.name;
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
  return inFile(path, () => {
    return withoutNotes(new PlainValues(path).root(runPickle(bytes, path, { globals: plainGlobal }).value));
  });
}
