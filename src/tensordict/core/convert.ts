// Turns what users pass as values into entries: tensors, collections, wrapped values; checks them against the batch.
import { Complex, Float, Int } from "../../tensor/complex.ts";
import type { Device } from "../../tensor/device.ts";
import { RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { plainSizes, type Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { KeyThroughLeafError, keyPath, pythonString } from "./keys.ts";
import { adoptNames, needsNames, refineNames, withPrefix } from "./names.ts";
import type { NestedTensor } from "./nested.ts";
import { settings } from "./settings.ts";
import {
  Collection,
  isBranch,
  isNested,
  isNonTensor,
  make,
  type NewState,
  stateOf,
  type Td,
  type ValueTd,
} from "./state.ts";
import { stackTensors, tensor } from "./tensor-ops.ts";
import type { Entry, NestedKey } from "./types.ts";
import { isUnbatched, likeEntry, ofBatch } from "./unbatched.ts";
import { regularValues } from "./values.ts";

/** Levels of dictionaries that become TensorDicts. */
const MAX_LEVELS = 500;

/** True for values that stand for one number. */
export function isNumberLike(value: unknown): boolean {
  switch (typeof value) {
    case "number":
    case "bigint":
    case "boolean":
      return true;
    case "object":
      return value instanceof Complex || value instanceof Int || value instanceof Float;
    default:
      return false;
  }
}

export function isNumberArray(value: readonly unknown[], depth = 0): boolean {
  if (depth > 64) return false;
  return value.every((item) => (Array.isArray(item) ? isNumberArray(item, depth + 1) : isNumberLike(item)));
}

/** Objects that become nested TensorDicts: literals, objects without a prototype, Maps. */
export function isSource(value: unknown): value is Record<string, unknown> | ReadonlyMap<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  if (value instanceof Map) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Keys and values of a source. */
export function sourceEntries(source: Record<string, unknown> | ReadonlyMap<string, unknown>): [string, unknown][] {
  return source instanceof Map ? [...source] : Object.entries(source);
}

/** A TensorDict from an object or a Map. */
export function fromSource(
  source: Record<string, unknown> | ReadonlyMap<string, unknown>,
  state: NewState,
  depth = 0,
): Td {
  if (depth > MAX_LEVELS) {
    throw new RuntimeError(
      `maximum recursion depth exceeded: a dictionary of more than ${MAX_LEVELS} levels, or one that contains itself`,
      { code: "recursion" },
    );
  }
  const td = make.tensordict(new Map(), state);
  for (const [key, value] of initialEntries(source)) putValue(td, key, value, depth + 1);
  return td;
}

/** What a new collection is made of: as in Python, paths come behind the keys that are none. */
export function initialEntries(source: Record<string, unknown> | ReadonlyMap<string, unknown>): [string, unknown][] {
  if (!(source instanceof Map)) return Object.entries(source);
  const isPlain = ([key]: [string, unknown]) => typeof key === "string";
  const pairs: [string, unknown][] = [...source];
  return [...pairs.filter(isPlain), ...pairs.filter((pair) => !isPlain(pair))];
}

/** Puts a value under the key of a source: a Map may have paths as keys, and levels on the way are made. */
export function putValue(td: Td, key: unknown, value: unknown, depth = 0): void {
  let at = td;
  let last = key as string;
  if (typeof key !== "string") {
    const path = keyPath(key as NestedKey);
    last = path[path.length - 1] as string;
    for (const [i, part] of path.slice(0, -1).entries()) {
      const next = at._own(part) ?? make.tensordict(new Map(), stateOf(at));
      if (!isBranch(next)) throw throughLeaf(part, next, path[i + 1] as string);
      if (at._own(part) === undefined) at._put(part, next);
      at = next;
    }
  }
  const entry = toEntry(value, stateOf(at), last, depth);
  at._put(last, entry);
  adoptNames(at, entry);
}

/** The error for a key that goes through what has no entries. */
export function throughLeaf(key: string, entry: Entry, next: string): KeyThroughLeafError {
  const what = entry instanceof Tensor ? "Tensor" : entry._className;
  return new KeyThroughLeafError(`'${key}' is a ${what}, not a tensordict, so it has no entry '${next}'.`);
}

/** The entry that `value` becomes under `key` in a collection of that state. */
export function toEntry(value: unknown, state: NewState, key: string, depth = 0): Entry {
  if (value instanceof Tensor) return placeTensor(value, state, key);
  if (isNested(value)) return placeNested(value, state, key);
  if (value instanceof Collection) return placeCollection(value as Td, state, key);
  if (isNumberLike(value)) return placeTensor(tensor(value), state, key, true);
  if (Array.isArray(value)) return arrayEntry(value, state, key);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return placeTensor(tensor(value), state, key);
  if (isSource(value)) return fromSource(value, state, depth);
  if (value === undefined) throw new TypeError(`undefined is no value for key ${pythonString(key)}; use null`);
  return make.nonTensor(value, { ...state, names: null });
}

/** The entry that `value` becomes under a key of a collection: most are tensors that stay what they are. */
export function entryIn(td: Collection, key: string, value: unknown): Entry {
  const plain = value instanceof Tensor && td._device === null && !isUnbatched(value);
  return plain && startsWith(value._shape, td._batchSize) ? value : toEntry(value, stateOf(td), key);
}

/** What `value` becomes in the place of an entry without tensors: numbers and objects stay what they are. */
export function toValues(value: unknown, state: NewState, key: string): ValueTd {
  const kept = value instanceof Collection || (Array.isArray(value) && !isNumberArray(value)) || value === undefined;
  const entry = kept ? toEntry(value, state, key) : make.nonTensor(value, { ...state, names: null });
  if (isNonTensor(entry)) return entry;
  throw noValue();
}

/** The error for something else in the place of a value. */
export function noValue(): RuntimeError {
  return new RuntimeError("NonTensorDataBase.copy_ / update_ requires the source to be a NonTensorDataBase object.");
}

function arrayEntry(value: readonly unknown[], state: NewState, key: string): Entry {
  if (isNumberArray(value)) return placeTensor(tensor(value), state, key);
  const tensors = value.filter((item) => item instanceof Tensor);
  const stacked = tensors.length > 0 && tensors.length === value.length && stackable(tensors);
  if (stacked) return placeTensor(stackTensors(tensors, 0), state, key);
  if (!settings.listToStack) return make.nonTensor(value, { ...state, names: null });
  // Each item of the array is one element of a batch dimension, and so on inwards as far as the arrays are regular.
  const { values, shape } = regularValues(value);
  if (!startsWith(shape, state.batchSize)) throw mismatch(state.batchSize, shape, key, false);
  return make.nonTensorStack(values, { ...state, batchSize: shape, names: null });
}

function stackable(tensors: readonly Tensor[]): boolean {
  const first = tensors[0] as Tensor;
  return tensors.every((t) => sameSizes(t._shape, first._shape) && t.device.equals(first.device));
}

/** The error for a value that does not begin with the batch size. */
export function mismatch(batchSize: Size, shape: Size, key: string, scalar: boolean): RuntimeError {
  const hint = scalar
    ? " Python scalars are stored as 0-dim tensors: to store a scalar in a tensordict with a non-empty batch size, " +
      "expand it to the batch size or wrap it in NonTensorData (in a tensorclass, the nocast option " +
      "stores scalars as they are)."
    : "";
  return new RuntimeError(
    `batch dimension mismatch, got self.batch_size=${batchSize} and value.shape=${shape} for key ` +
      `${pythonString(key)}. ` +
      `The leading dimensions of a value must match the batch size.${hint}`,
    { code: "batch_mismatch" },
  );
}

/** Why collections cannot be the members of a lazy stack along a dimension; null when they can. */
export function stackProblem(members: readonly Td[], dim: unknown): string | null {
  const first = members[0];
  if (first === undefined) return "a stack without members";
  const size = first._batchSize;
  if (!members.every((td) => td._batchSize.length === size.length)) {
    return "members of a stack have batches of different numbers of dimensions";
  }
  const good = typeof dim === "number" && Number.isInteger(dim) && dim >= 0 && dim <= size.length;
  return good ? null : "stack_dim is not a dimension";
}

/** True when `shape` begins with `batch`. */
export function startsWith(shape: readonly number[], batch: readonly number[]): boolean {
  if (shape === batch) return true;
  const given = plainSizes(batch);
  if (shape.length < given.length) return false;
  for (let i = 0; i < given.length; i++) if (shape[i] !== given[i]) return false;
  return true;
}

type Place = Pick<NewState, "batchSize" | "device">;

function placeTensor(value: Tensor, { batchSize, device }: Place, key: string, scalar = false): Tensor {
  if (isUnbatched(value)) return likeEntry(value, moved(ofBatch(value, batchSize), device));
  if (!startsWith(value._shape, batchSize)) throw mismatch(batchSize, value.shape, key, scalar);
  return moved(value, device);
}

function placeNested(value: NestedTensor, state: NewState, key: string): NestedTensor {
  if (!startsWith(value._batchSize, state.batchSize)) throw mismatch(state.batchSize, value._batchSize, key, false);
  return state.device === null ? value : value.to(state.device);
}

function moved(value: Tensor, device: Device | null): Tensor {
  return device === null || value.device.equals(device) ? value : value.to(device);
}

function placeCollection(value: Td, state: NewState, key: string): Td {
  const batch = state.batchSize;
  if (value._kind === "nonTensor" && value._batchSize.length < batch.length) {
    return value._like(new Map(), stateOf(value, { batchSize: batch, device: state.device ?? value._device }));
  }
  let result = value;
  if (!startsWith(value._batchSize, batch)) {
    if (value._batchSize.length >= batch.length || value._kind === "nonTensorStack") {
      throw mismatch(batch, value._batchSize, key, false);
    }
    // Too short a batch: the same entries under the longer one, in an object of its own.
    const entries = new Map<string, Entry>();
    for (const inner of value._keys()) {
      entries.set(inner, toEntry(value._own(inner), { ...state, device: value._device }, inner));
    }
    result = value._like(entries, stateOf(value, { batchSize: batch, names: null }));
  }
  if (state.device !== null && !isSame(result._device, state.device)) result = result.to(state.device) as Td;
  if (needsNames(result, state.names)) {
    const names = withPrefix(result, state.names);
    // What was passed keeps its own names.
    if (result === value) result = value.clone(false) as Td;
    refineNames(result, names);
  }
  return result;
}

function isSame(a: Device | null, b: Device): boolean {
  return a?.equals(b) ?? false;
}

/** The error for a source that is no dictionary. */
export function badSource(source: unknown): ValueError {
  const name = source === null ? "NoneType" : Array.isArray(source) ? "list" : (source as object)?.constructor?.name;
  return new ValueError(
    "A TensorDict source is expected to be a TensorDictBase sub-type or a Mapping, found " +
      `type(source)=<class '${name}'>.`,
  );
}
