// What values were in Python where JavaScript does not tell: 2.0 is a number like 2, and a dict, an OrderedDict and a
// Counter are objects or Maps. Readers note it beside what they make; who writes the same object again looks here.
import { Complex, Float } from "../../tensor/complex.ts";
import { NumpyScalar } from "./numpy-scalar.ts";

/** Python's dictionaries. */
export type DictClass = "dict" | "OrderedDict" | "Counter" | "defaultdict";

/** How an array of NumPy's lay in its file. */
export interface NumpyLayout {
  /** The package by which the file names NumPy: "numpy.core" or "numpy._core". */
  from: string;
  /** Kind and size of its elements: "f8". */
  code: string;
  bigEndian: boolean;
  /** The first index runs fastest. */
  fortranOrder: boolean;
  /** It was over a buffer, of bytes that can change or not, as protocol 5 has arrays. */
  buffer?: "bytearray" | "bytes";
}

/** What is known of one object. */
interface Origin {
  dict?: DictClass;
  /**
   * Attributes of an OrderedDict, such as the `_metadata` of a state dict, or of a tensor; what a defaultdict makes for
   * missing keys.
   */
  attributes?: unknown;
  /** Whole numbers that were floats, by their place. */
  floats?: Map<unknown, number>;
  /** Keys that were floats. */
  floatKeys?: Set<unknown>;
  /** NumPy's scalars, by their place. */
  scalars?: Map<unknown, NumpyScalar>;
  /** Keys that were such scalars. */
  scalarKeys?: Map<unknown, NumpyScalar>;
  isByteArray?: boolean;
  isFrozenSet?: boolean;
  /** A list that was a deque, of at most so many items; null for any number. */
  deque?: number | null;
  numpy?: NumpyLayout;
}

const origins = new WeakMap<object, Origin>();

function originOf(holder: object): Origin {
  let origin = origins.get(holder);
  if (origin === undefined) {
    origin = {};
    origins.set(holder, origin);
  }
  return origin;
}

/** Takes the number out of a float or a scalar of NumPy's and notes that it was one; others are given back. */
export function noteFloat(holder: object, place: unknown, value: unknown): unknown {
  const exact = value instanceof NumpyScalar ? value.plain : value;
  if (value instanceof NumpyScalar) {
    const origin = originOf(holder);
    origin.scalars ??= new Map();
    origin.scalars.set(place, value);
  }
  if (!(exact instanceof Float)) return exact;
  const origin = originOf(holder);
  origin.floats ??= new Map();
  origin.floats.set(place, exact.value);
  return exact.value;
}

/** The same for a key. */
export function noteFloatKey(holder: object, key: unknown): unknown {
  const exact = key instanceof NumpyScalar ? key.plain : key;
  const plain = exact instanceof Float ? exact.value : exact;
  const origin = originOf(holder);
  if (key instanceof NumpyScalar) {
    origin.scalarKeys ??= new Map();
    origin.scalarKeys.set(plain, key);
  }
  if (!(exact instanceof Float)) return plain;
  origin.floatKeys ??= new Set();
  origin.floatKeys.add(plain);
  return plain;
}

/** A value as Python has it: a `Float` where a whole number was a float and is still the same. */
export function asInPython(holder: object, place: unknown, value: unknown): unknown {
  if (typeof value !== "number") return value;
  const floats = origins.get(holder)?.floats;
  return floats !== undefined && floats.get(place) === value ? new Float(value) : value;
}

/** The same for a key. */
export function keyInPython(holder: object, key: unknown): unknown {
  return origins.get(holder)?.floatKeys?.has(key) === true ? new Float(key as number) : key;
}

/** The same for who can write NumPy's scalars, too: one of them where a value was that and is still the same. */
export function exactly(holder: object, place: unknown, value: unknown): unknown {
  if (typeof value === "object" && !(value instanceof Complex)) return value;
  const scalar = origins.get(holder)?.scalars?.get(place);
  return scalar !== undefined && Object.is(scalar.value, value) ? scalar : asInPython(holder, place, value);
}

/** The same for a key. */
export function exactKey(holder: object, key: unknown): unknown {
  return origins.get(holder)?.scalarKeys?.get(key) ?? keyInPython(holder, key);
}

/** Notes the class of a dictionary. */
export function noteDict(holder: object, dict: DictClass, attributes?: unknown): void {
  const origin = originOf(holder);
  origin.dict = dict;
  if (attributes !== undefined) origin.attributes = attributes;
}

/** The class of a dictionary: without a note, Maps are OrderedDicts. */
export function dictClassOf(holder: object): DictClass {
  return origins.get(holder)?.dict ?? (holder instanceof Map ? "OrderedDict" : "dict");
}

/** Notes what a program set on a tensor. */
export function noteAttributes(holder: object, attributes: unknown): void {
  originOf(holder).attributes = attributes;
}

/** Attributes of an OrderedDict or a tensor, the factory of a defaultdict. */
export function attributesOf(holder: object): unknown {
  return origins.get(holder)?.attributes;
}

/** Notes that bytes were a bytearray. */
export function noteByteArray(bytes: Uint8Array): Uint8Array {
  originOf(bytes).isByteArray = true;
  return bytes;
}

/** Whether bytes were a bytearray. */
export function isByteArray(bytes: Uint8Array): boolean {
  return origins.get(bytes)?.isByteArray === true;
}

/** Notes that a set was a frozenset. */
export function noteFrozenSet<T>(set: Set<T>): Set<T> {
  originOf(set).isFrozenSet = true;
  return set;
}

/** Whether a set was a frozenset. */
export function isFrozenSet(set: ReadonlySet<unknown>): boolean {
  return origins.get(set)?.isFrozenSet === true;
}

/** Notes that a list was a deque of at most `maxlen` items; null for any number. */
export function noteDeque<T>(list: T[], maxlen: number | null): T[] {
  originOf(list).deque = maxlen;
  return list;
}

/** How many items a deque has at most, null for any number; undefined for what is none. */
export function dequeLength(list: readonly unknown[]): number | null | undefined {
  return origins.get(list)?.deque;
}

/** Notes that a tensor was an array of NumPy's. */
export function noteNumpy<T extends object>(tensor: T, layout: NumpyLayout): T {
  originOf(tensor).numpy = layout;
  return tensor;
}

/** How an array of NumPy's lay in its file; undefined for a tensor that was none. */
export function numpyLayoutOf(tensor: object): NumpyLayout | undefined {
  return origins.get(tensor)?.numpy;
}
