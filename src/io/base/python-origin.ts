// What values were in Python where JavaScript does not tell: 2.0 is a number like 2, and a dict, an OrderedDict and a
// Counter are objects or Maps. Readers note it beside what they make; who writes the same object again looks here.
import { Float } from "../../tensor/complex.ts";

/** Python's dictionaries. */
export type DictClass = "dict" | "OrderedDict" | "Counter";

/** What is known of one object. */
interface Origin {
  dict?: DictClass;
  /** Attributes of an OrderedDict, such as the `_metadata` of a state dict, or of a tensor. */
  attributes?: unknown;
  /** Whole numbers that were floats, by their place. */
  floats?: Map<unknown, number>;
  /** Keys that were floats. */
  floatKeys?: Set<unknown>;
  isByteArray?: boolean;
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

/** Takes the number out of a float and notes that it was one; other values are given back. */
export function noteFloat(holder: object, place: unknown, value: unknown): unknown {
  if (!(value instanceof Float)) return value;
  const origin = originOf(holder);
  origin.floats ??= new Map();
  origin.floats.set(place, value.value);
  return value.value;
}

/** The same for a key. */
export function noteFloatKey(holder: object, key: unknown): unknown {
  if (!(key instanceof Float)) return key;
  const origin = originOf(holder);
  origin.floatKeys ??= new Set();
  origin.floatKeys.add(key.value);
  return key.value;
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

/** Attributes of an OrderedDict or a tensor. */
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
