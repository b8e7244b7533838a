// Stacking and concatenating: densely, lazily, or whichever works.
import type { PythonJson } from "../../io/base/python-json.ts";
import { inOrder } from "../../tensor/checks.ts";
import { IndexError, KeyError, RuntimeError, ValueError, warn } from "../../tensor/errors.ts";
import { plainSizes, Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { pythonString } from "../core/keys.ts";
import { catNested, noNested } from "../core/nested.ts";
import { settings } from "../core/settings.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import {
  type ClassTd,
  Collection,
  commonDevice,
  type DimNames,
  isClassTd,
  isInMemory,
  isLazy,
  isNested,
  isNonTensor,
  type LazyTd,
  make,
  type NewState,
  outlineOf,
  shapeOf,
  stackOf,
  stateOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import { catTensors, flatNumbers, stackTensors, tensor } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { entryOf, isUnbatched, type UnbatchedTensor } from "../core/unbatched.ts";
import { nestedValues } from "../core/values.ts";
import { alikeParts, partsByKey } from "./alike.ts";

function insertDim(size: readonly number[], dim: number, n: number): Size {
  return Size.fromList(plainSizes(size).toSpliced(dim, 0, n));
}

function wrapStackDim(dim: number, rank: number): number {
  const at = dim < 0 ? dim + rank + 1 : dim;
  if (!Number.isInteger(at) || at < 0 || at > rank) {
    throw new IndexError(`Dimension out of range (expected to be in range of [${-rank - 1}, ${rank}], but got ${dim})`);
  }
  return at;
}

function insertName(names: DimNames, dim: number): DimNames {
  return names === null ? null : [...names.slice(0, dim), null, ...names.slice(dim)];
}

function sameKeys(list: readonly Td[]): string[] | null {
  const keys = [...(list[0] as Td)._keys()];
  const set = new Set(keys);
  for (const td of list) {
    let count = 0;
    for (const key of td._keys()) {
      if (!set.has(key)) return null;
      count++;
    }
    if (count !== keys.length) return null;
  }
  return keys;
}

function positionsOf(list: readonly Td[]): Tensor[] {
  let offset = 0;
  return list.map((td) => {
    const count = td._batchSize.numel();
    const positions = tensor(Float64Array.from({ length: count }, (_, i) => offset + i));
    offset += count;
    return positions.reshape([...td._batchSize]);
  });
}

/** The values of a wrapped value or a stack of them, one per batch element. */
export function valuesOf(td: ValueTd): readonly unknown[] {
  if (td._kind === "nonTensorStack") return td.values_;
  return new Array<unknown>(td._batchSize.numel()).fill(td.value_);
}

/**
 * A stack of the values that `list` has, one after the other; `order` picks some of them by their numbers. What files
 * have for them is kept, 2.0 as 2.0.
 */
export function stackOfValues(
  list: readonly ValueTd[],
  state: NewState,
  order: readonly number[] | null = null,
  stackDim = 0,
): Td {
  const take = <T>(all: readonly T[]) => (order === null ? all : order.map((i) => all[i] as T));
  const stack = make.nonTensorStack(take(list.flatMap((td) => [...valuesOf(td)])), state, stackDim);
  const raws = list.map((td) => td._raws);
  if (raws.every((known) => known !== null)) {
    stack._raw = nestedValues(take(raws.flatMap((known) => [...known])), stack._batchSize) as PythonJson;
  }
  return stack;
}

function joinValues(list: readonly ValueTd[], stackDim: number, join: (positions: Tensor[]) => Tensor): Td {
  const order = join(positionsOf(list));
  const state = stateOf(list[0] as ValueTd, { batchSize: order.shape, names: null });
  return stackOfValues(list, state, flatNumbers(order), stackDim);
}

/** What belongs to a batch as a whole is no part of it: the first stands for all. */
export function firstUnbatched(entries: readonly UnbatchedTensor[]): UnbatchedTensor {
  const [first, ...others] = entries as [UnbatchedTensor, ...UnbatchedTensor[]];
  if (others.some((one) => one._storage !== first._storage || one._offset !== first._offset)) {
    warn(
      "Stacking UnbatchedTensors with different data storage. Only the first element's data will be kept. " +
        "UnbatchedTensor is shape-invariant; if you need different data per batch element, consider using a regular " +
        "tensor.",
    );
  }
  return first;
}

/** The error for tensors that are no stack: of a dense one, or read from a lazy one. */
type Misfit = (key: string, tensors: readonly Entry[]) => RuntimeError;

/** What is done with collections that no dense stack has: an error, or a lazy stack at that level. */
interface Stacking {
  misfit: Misfit;
  maybe: boolean;
}

function incompatible(key: string, entries: readonly Entry[]): RuntimeError {
  const [first, ...others] = entries as [Entry, ...Entry[]];
  const other = others.find((entry) => !sameSizes(shapeOf(entry), shapeOf(first)));
  return new RuntimeError(
    `The shapes of the tensors to stack is incompatible: ${shapeOf(other ?? first)} vs ${shapeOf(first)} for key ` +
      `${key}.`,
  );
}

/** The error for an entry of a lazy stack that differs in shape from member to member. */
export function failedToStack(key: string, entries: readonly Entry[]): RuntimeError {
  const shapes = [...new Set(entries.map((entry) => String(shapeOf(entry))))];
  return new RuntimeError(
    `Failed to stack tensors within a tensordict under the key '${key}': their shapes are ` +
      `[${shapes.join(", ")}]. To read them, pass asPaddedTensor: true, ` +
      "asNestedTensor: true or asList: true to get().",
  );
}

function stackEntries(entries: readonly Entry[], key: string, dim: number, how: Stacking): Entry {
  if (entries.every(isUnbatched)) return firstUnbatched(entries);
  if (entries.every((entry) => entry instanceof Tensor)) return stackTensors(entries as Tensor[], dim);
  if (entries.some(isNested)) throw noNested("stacking", key);
  if (entries.every((entry) => entry instanceof Collection)) return stackLevel(entries as Td[], dim, how);
  throw new RuntimeError(
    `the entries under key ${pythonString(key)} are tensors in some tensordicts and not in others`,
  );
}

/**
 * Stacks into one dense TensorDict; keys, shapes and batch sizes must agree.
 * @example
 * ```ts
 * tensordict.denseStack([new TensorDict({ a: ones(2) }, []), new TensorDict({ a: zeros(2) },
 *   [])]).get("a").shape // torch.Size([2, 2])
 * ```
 */
export function denseStack(list: readonly Td[], dim = 0): Td {
  [list, dim = 0] = inOrder<[readonly Td[], number?]>("denseStack", FUNCTIONS.denseStack, arguments);
  return stackDensely(list, dim);
}

/** `denseStack`, with another error for tensors of different shapes. */
export function stackDensely(list: readonly Td[], dim: number, misfit: Misfit = incompatible): Td {
  if (list.length === 0) throw new RuntimeError("stack expects a non-empty TensorList");
  return stackLevel(list, dim, { misfit, maybe: false });
}

/** Of each collection what all have, at every level: what a stack of them has. */
export function sharedParts(list: readonly Td[]): readonly Td[] {
  const [first] = list;
  if (first === undefined || list.some(isNonTensor)) return list;
  const shared = sameKeys(list) ?? [...first._keys()].filter((key) => list.every((td) => td._own(key) !== undefined));
  const changed = new Map<string, readonly Td[]>();
  for (const key of shared) {
    const entries = list.map((td) => outlineOf(td, key) as Entry);
    if (!entries.every((entry) => entry instanceof Collection && !isNested(entry))) continue;
    const parts = sharedParts(entries as Td[]);
    if (parts !== entries) changed.set(key, parts);
  }
  if (changed.size === 0 && list.every((td) => td._count === shared.length)) return list;
  return list.map((td, i) => {
    const entries = shared.map((key): [string, Entry] => [key, changed.get(key)?.[i] ?? (td._own(key) as Entry)]);
    return td._like(new Map(entries), stateOf(td));
  });
}

/** A lazy stack where no dense one is possible and none has to be. */
function orLazy(list: readonly Td[], dim: number, how: Stacking, error: () => Error): Td {
  if (how.maybe) return lazyStackTds(list, dim);
  throw error();
}

function stackLevel(list: readonly Td[], dim: number, how: Stacking): Td {
  const first = list[0] as Td;
  const rank = first._batchSize.length;
  const alike = alikeParts(list);
  if (alike !== null) return stackParts(list, alike, wrapStackDim(dim, rank), how);
  if (list.every((td) => isNonTensor(td))) return stackValues(list, wrapStackDim(dim, rank));
  const other = list.findIndex((td) => !sameSizes(td._batchSize, first._batchSize));
  if (other > 0) return stackUnlike(list, dim, other, how);
  const at = wrapStackDim(dim, rank);
  const keys = sameKeys(list);
  if (keys === null) {
    const exclusive =
      "The sets of keys in the tensordicts to stack are exclusive. Consider using " +
      "`LazyStackedTensorDict.maybe_dense_stack` instead.";
    return orLazy(list, at, how, () => new RuntimeError(exclusive));
  }
  if (list.every(isLazy)) return stackLazies(list, at, how);
  const parts = keys.map((key) => list.map((td) => outlineOf(td, key) as Entry));
  const odd = parts.findIndex((part) => {
    const one = part[0] as Entry;
    if (one instanceof Tensor && isUnbatched(one)) return false;
    return !part.every((entry) => sameSizes(shapeOf(entry), shapeOf(one)));
  });
  if (odd >= 0) return orLazy(list, at, how, () => how.misfit(keys[odd] as string, parts[odd] as Entry[]));
  const state = stackedState(list, at);
  const entries = new Map<string, Entry>();
  const inMemory = list.every((td) => td._outside === undefined);
  for (const [i, key] of keys.entries()) {
    const own = inMemory ? (parts[i] as Entry[]) : list.map((td) => td._own(key) as Entry);
    entries.set(key, entryOf(stackEntries(own, key, at, how), state.batchSize));
  }
  return first._like(entries, state);
}

function stackParts(list: readonly Td[], parts: ReadonlyMap<string, Entry[]>, at: number, how: Stacking): Td {
  const entries = new Map<string, Entry>();
  for (const key of parts.keys()) {
    const part = parts.get(key) as Entry[];
    const stacked = part[0] instanceof Tensor;
    entries.set(key, stacked ? stackTensors(part as Tensor[], at) : stackLevel(part as Td[], at, how));
  }
  return (list[0] as Td)._like(entries, stackedState(list, at));
}

/** Collections of different batch sizes. */
function stackUnlike(list: readonly Td[], dim: number, other: number, how: Stacking): Td {
  const [first, odd] = [list[0] as Td, list[other] as Td];
  if (!how.maybe) {
    throw new RuntimeError(
      "stacking tensordicts requires them to have congruent batch sizes, " +
        `got td[${other}].batch_size=${odd._batchSize} and td[0].batch_size=${first._batchSize}`,
    );
  }
  if (odd._batchSize.length === first._batchSize.length) return lazyStackTds(list, dim);
  throw new RuntimeError(
    "Lazy stacking of tensordicts requires them to have congruent batch dimensions, got " +
      `td[${other}].batch_dims=${odd._batchSize.length} and td[0].batch_dims=${first._batchSize.length}`,
  );
}

function stackedState(list: readonly Td[], dim: number): NewState {
  const first = list[0] as Td;
  return {
    batchSize: insertDim(first._batchSize, dim, list.length),
    device: first._device,
    names: insertName(first._names, dim),
  };
}

/** Wrapped values: one for each element, but one for all where metadata is the same. */
function stackValues(list: readonly ValueTd[], dim: number): Td {
  const first = list[0] as ValueTd;
  const same = (td: ValueTd) =>
    (td._className === "MetaData" || settings.captureNonTensorStack) &&
    td._kind === "nonTensor" &&
    first._kind === "nonTensor" &&
    Bun.deepEquals(td.value_, first.value_, true);
  if (list.every(same)) return first._like(new Map(), stackedState(list, dim));
  return make.stack([...list] as Td[], dim, null);
}

function leafCount(td: Td): number {
  if (isLazy(td)) return td.members.reduce((n, member) => n + leafCount(member), 0);
  return [...td._keys()].reduce((n, key) => {
    const entry = outlineOf(td, key) as Entry;
    return n + (entry instanceof Collection && !isNested(entry) && !isNonTensor(entry) ? leafCount(entry as Td) : 1);
  }, 0);
}

/** Stacks of as many members with as many leaves: what is stacked is the members. Others stay apart. */
function stackLazies(list: readonly LazyTd[], dim: number, how: Stacking): Td {
  const [first, ...others] = list as [LazyTd, ...LazyTd[]];
  const count = leafCount(first);
  const alike = (td: LazyTd) =>
    td.members.length === first.members.length && td.stackDim === first.stackDim && leafCount(td) === count;
  if (first.members.length === 0 || !others.every(alike)) return make.lazy([...list], dim, null);
  const { stackDim } = first;
  const inner = dim <= stackDim ? dim : dim - 1;
  const members = first.members.map((_, i) =>
    stackLevel(
      list.map((td) => td.members[i] as Td),
      inner,
      how,
    ),
  );
  return make.lazy(members, dim <= stackDim ? stackDim + 1 : stackDim, null);
}

/** A stack that keeps its members. @torch tensordict.lazy_stack */
export function lazyStackTds(list: readonly Td[], dim: number): Td {
  const shown = ofSources(list, (sources) => lazyStackTds(sources, dim));
  if (shown !== null) return shown;
  if (list.length === 0) throw new RuntimeError("items cannot be empty");
  const at = wrapStackDim(dim, (list[0] as Td)._batchSize.length);
  if (list.every((td) => isNonTensor(td))) return stackValues(list, at);
  return make.lazy([...list], at, null);
}

/** Whether all are objects of classes around stacks. */
const aroundStacks = (list: readonly Td[]): boolean =>
  list.length > 0 && list.every((td) => isClassTd(td) && stackOf(td) !== null);

/** Of objects of one class: what becomes of the collections that they show, as an object of the class. */
function ofSources(list: readonly Td[], fn: (sources: readonly Td[]) => Td): Td | null {
  const [first] = list;
  if (first === undefined || !isClassTd(first)) return null;
  if (!list.every((td): td is ClassTd => isClassTd(td) && td.constructor === first.constructor)) return null;
  return first._around(fn(list.map((td) => td._shown())));
}

/** Dense where keys and shapes agree, lazy where they do not. @torch tensordict.maybe_dense_stack */
export function maybeDenseStackTds(list: readonly Td[], dim: number): Td {
  if (list.length === 0) throw new RuntimeError("list_of_tensordicts cannot be empty");
  const shown = aroundStacks(list) ? ofSources(list, (sources) => maybeDenseStackTds(sources, dim)) : null;
  return shown ?? stackLevel(list, dim, { misfit: incompatible, maybe: true });
}

/** Stacks as the settings say. @torch torch.stack of TensorDicts */
export function stackTds(list: readonly Td[], dim = 0): Td {
  const shown = aroundStacks(list) ? ofSources(list, (sources) => stackTds(sources, dim)) : null;
  if (shown !== null) return shown;
  if (list.length > 0 && settings.lazyLegacy) return lazyStackTds(list, dim);
  return stackDensely(list, dim);
}

function catEntries(entries: readonly Entry[], key: string, dim: number): Entry {
  if (entries.every(isUnbatched)) return entries[0] as Tensor;
  if (entries.every((entry) => entry instanceof Tensor)) return catTensors(entries as Tensor[], dim);
  if (entries.some(isNested)) {
    if (dim === 0 && entries.every(isNested)) return catNested(entries, key);
    throw noNested("concatenating", key);
  }
  if (entries.every((entry) => entry instanceof Collection)) return catTds(entries as Td[], dim);
  throw new RuntimeError(
    `the entries under key ${pythonString(key)} are tensors in some tensordicts and not in others`,
  );
}

/** Wrapped values one after the other: one value where all are the same. */
function catValues(list: readonly ValueTd[], dim: number): Td {
  const [first, ...others] = list as [ValueTd, ...ValueTd[]];
  const same = (td: ValueTd) =>
    first._kind === "nonTensor" && td._kind === "nonTensor" && Bun.deepEquals(td.value_, first.value_, true);
  if (!others.every(same) || first._kind !== "nonTensor") {
    const device = commonDevice(list);
    const alike = device !== null || list.every((td) => td._device === null);
    if (alike && list.some((td) => td._kind === "nonTensorStack" && td._parts.length > 0)) {
      return make.stack(
        list.flatMap((td) => td.unbind(dim) as Td[]),
        dim,
        null,
      );
    }
    return joinValues(list, dim, (positions) => catTensors(positions, dim));
  }
  const total = list.reduce((n, td) => n + (td._batchSize[dim] as number), 0);
  const batchSize = Size.fromList(first._batchSize.map((n, i) => (i === dim ? total : n)));
  return first._like(new Map(), stateOf(first, { batchSize }));
}

/** With a lazy stack among them the result is one: more members, or longer ones. */
function catLazily(list: readonly Td[], { stackDim, stackDimName }: LazyTd, dim: number): Td {
  const parts = list.map((td): readonly Td[] => {
    if (isLazy(td) && td.stackDim === stackDim) return td.members;
    return td.unbind(stackDim) as Td[];
  });
  if (dim === stackDim) return make.lazy(parts.flat(), stackDim, stackDimName);
  const [first, ...others] = parts as [readonly Td[], ...(readonly Td[])[]];
  if (others.some((part) => part.length !== first.length)) {
    throw new RuntimeError("batch sizes of the tensordicts to concatenate differ along the stack dimension");
  }
  const inner = dim < stackDim ? dim : dim - 1;
  const members = first.map((_, i) =>
    catTds(
      parts.map((part) => part[i] as Td),
      inner,
    ),
  );
  return make.lazy(members, stackDim, stackDimName);
}

/** `catTds` of TensorDicts in memory that have the same tensors and TensorDicts; null for all others. */
function catAlike(list: readonly Td[], at: number): Td | null {
  const first = list[0] as Td;
  const maps: Map<string, Entry>[] = [];
  let total = 0;
  for (let i = 0; i < list.length; i++) {
    const td = list[i] as Td;
    if (!isInMemory(td) || td._device !== first._device || td._batchSize.length <= at) return null;
    total += td._batchSize[at] as number;
    maps.push(td._map);
  }
  const parts = partsByKey(maps, false);
  if (parts === null) return null;
  const sizes = plainSizes(first._batchSize).slice();
  sizes[at] = total;
  const entries = new Map<string, Entry>();
  for (const key of parts.keys()) {
    const part = parts.get(key) as Entry[];
    entries.set(key, part[0] instanceof Tensor ? catTensors(part as Tensor[], at) : catTds(part as Td[], at));
  }
  return first._like(entries, { batchSize: Size.fromList(sizes), device: first._device, names: first._names });
}

/** Copies of TensorDicts one after the other along a batch dimension. @torch torch.cat of TensorDicts */
export function catTds(list: readonly Td[], dim = 0): Td {
  if (list.length === 0) throw new ValueError("torch.cat(): expected a non-empty list of Tensors");
  const first = list[0] as Td;
  const rank = first._batchSize.length;
  const at = dim < 0 ? dim + rank : dim;
  if (!Number.isInteger(at) || at < 0 || at >= rank) {
    throw new RuntimeError(
      `dim must be in the range 0 <= dim < len(batch_size), got dim=${dim} and ` +
        `batch_size=[${first._batchSize.join(", ")}]`,
    );
  }
  const joined = catAlike(list, at);
  if (joined !== null) return joined;
  if (list.some((td) => td._batchSize.length <= at)) throw new IndexError("tuple index out of range");
  if (list.every((td) => isNonTensor(td))) return catValues(list, at);
  const lazy = list.find((td): td is LazyTd => isLazy(td));
  if (lazy !== undefined) return catLazily(list, lazy, at);
  const stacks = isClassTd(first) && list.some((td) => stackOf(td) !== null);
  const shown = stacks ? ofSources(list, (sources) => catTds(sources, at)) : null;
  if (shown !== null) return shown;
  const keys = [...first._keys()];
  for (const [i, td] of list.entries()) {
    const own = [...td._keys()];
    if (own.length === keys.length && own.every((key) => keys.includes(key))) continue;
    const text = (names: string[]) => `[${[...names].sort().map(pythonString).join(", ")}]`;
    throw new KeyError(
      `tensordict ${i} has keys ${text(own)} but tensordict 0 has keys ${text(keys)}; all ` +
        "tensordicts must have the same keys",
    );
  }
  const total = list.reduce((n, td) => n + (td._batchSize[at] as number), 0);
  const batchSize = Size.fromList(first._batchSize.map((n, i) => (i === at ? total : n)));
  const entries = new Map<string, Entry>();
  for (const key of keys) {
    const parts = list.map((td) => td._own(key) as Entry);
    entries.set(key, entryOf(catEntries(parts, key, at), batchSize));
  }
  return first._like(entries, stateOf(first, { batchSize, device: commonDevice(list) }));
}
