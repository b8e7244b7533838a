// Arithmetic, comparisons, reductions and functions over all tensors of a tree.

import type { Scalar } from "../../tensor/complex.ts";
import type { DeviceLike } from "../../tensor/device.ts";
import { KeyError, RuntimeError, TypeError } from "../../tensor/errors.ts";
import { Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { fromSource, isSource, mismatch, startsWith, toEntry } from "../core/convert.ts";
import { type IsLeaf, isLeafBy } from "../core/leaves.ts";
import { lockTd } from "../core/locking.ts";
import { fitNames } from "../core/names.ts";
import { type NestedTensor, noNested } from "../core/nested.ts";
import { rehearse, rehearseCopy } from "../core/rehearsal.ts";
import {
  isBranch,
  isLazy,
  isLockedTd,
  isNested,
  isNonTensor,
  isTensorCollection,
  type LazyTd,
  make,
  mapOf,
  type NewState,
  stackOf,
  stateOf,
  type Td,
  toDeviceOrNull,
  toNames,
} from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { isUnbatched, likeEntry } from "../core/unbatched.ts";
import { hasNoTensors, tensorsOf } from "./access.ts";
import { alignTds, type Fallback, requireSameLeaves } from "./aligning.ts";
import { planResults } from "./apply-out.ts";
import { isBare } from "./update-sources.ts";
import { misfit, type Writes } from "./writes.ts";

/** Called with a tensor and the path to it. */
export type LeafFunction = (
  t: Tensor,
  path: readonly string[],
  others: readonly unknown[],
) => Tensor | null | undefined;

/** Options of `apply`. */
export interface ApplyOptions {
  /** Batch size of the result. */
  batchSize?: readonly number[];
  /** Device of the result. */
  device?: DeviceLike | null;
  /** Names of the result's batch dimensions. */
  names?: readonly (string | null)[] | null;
  /** Write results into the entries of this collection. */
  inplace?: boolean;
  /** A collection that gets the results as its entries. */
  out?: Td | null;
  /**
   * With true, collections without results are left out, and null is given when nothing is left. With false they
   * stay. Without it those are left out that have leaves, for all of which the function gave nothing.
   */
  filterEmpty?: boolean | null;
  /** Which classes of entries the function is called with; tensors without it. */
  isLeaf?: IsLeaf | null;
  /** Call the function with nested collections instead of their entries. */
  callOnNested?: boolean;
  /** Stands in for keys that another collection does not have. */
  default?: Tensor | Scalar | null;
  /** Lock the result where this collection is locked. */
  propagateLock?: boolean;
  /** @internal What becomes of wrapped values; they stay as they are without it. */
  values?: (entry: Td) => Td;
  /** @internal What is done to nested tensors; an error without it. */
  nested?: (entry: NestedTensor) => NestedTensor;
}

/** The other side of an operation: a tree, or a tensor that belongs to the batch. */
type Other = Td | Tensor;

/**
 * Calls `fn` on every tensor; entries for which it gives null or undefined are left out.
 * @throws RuntimeError for a result that does not begin with the batch size
 */
export function applyLeaves(
  td: Td,
  fn: LeafFunction,
  options: ApplyOptions = {},
  others: readonly Other[] = [],
  prefix: readonly string[] = [],
): Td {
  return applyOrNull(td, fn, options, others, prefix) ?? td._like(new Map(), resultState(td, options, true));
}

/** `applyLeaves` that gives null when nothing is left of the tree. */
export function applyOrNull(
  td: Td,
  fn: LeafFunction,
  options: ApplyOptions,
  others: readonly Other[] = [],
  prefix: readonly string[] = [],
): Td | null {
  const writes: Writes = [];
  const out = options.out ?? null;
  const result = applyLevel(td, fn, out === null ? options : { ...options, out: null }, others, prefix, writes);
  if (out !== null && result !== null) planResults(out, result, options, writes);
  for (const write of writes) write();
  if (out !== null) return out;
  return result === null ? null : lockLike(td, result, options);
}

function lockLike(td: Td, result: Td, options: ApplyOptions): Td {
  if (options.propagateLock === true && result !== td && isLockedTd(td)) lockTd(result);
  return result;
}

/** Whether the function is called with an entry that is no tensor. */
function isCalled(entry: Entry, options: ApplyOptions): boolean {
  if (options.callOnNested === true) return !isNonTensor(entry);
  return options.isLeaf ? isLeafBy(options.isLeaf, entry) : false;
}

function applyLevel(
  td: Td,
  fn: LeafFunction,
  options: ApplyOptions,
  others: readonly Other[],
  prefix: readonly string[],
  writes: Writes,
): Td | null {
  if (isLazy(td)) return applyLazy(td, fn, options, others, prefix, writes);
  const state = resultState(td, options, prefix.length === 0);
  const entries = new Map<string, Entry>();
  // Whether something came out, and whether something went in.
  let kept = false;
  let leaves = false;
  // The function may set keys, which do not count.
  const own = new Map(mapOf(td));
  for (const key of own.keys()) {
    const entry = own.get(key) as Entry;
    const path = prefix.length === 0 ? [key] : [...prefix, key];
    const items = others.length === 0 ? others : others.map((other) => otherEntry(other, key, options, entry));
    if (entry instanceof Tensor || isCalled(entry, options)) {
      leaves = true;
      const result = fn(entry as Tensor, path, items);
      if (result === null || result === undefined) continue;
      kept = true;
      if (options.inplace) planResult(td, key, entry, result, writes, { fn, path, items });
      else if (fits(result, state) && !isUnbatched(entry)) entries.set(key, result);
      else entries.set(key, resultEntry(entry, result, state, key));
    } else if (isNested(entry)) {
      if (options.nested === undefined) throw noNested("this operation", key);
      entries.set(key, options.nested(entry));
      kept = true;
    } else if (isNonTensor(entry)) {
      kept = true;
      // Values of what comes out are its own, as its tensors are.
      const value = options.values?.(entry) ?? (options.inplace ? entry : entry._like(new Map(), stateOf(entry)));
      entries.set(key, options.batchSize === undefined ? value : rebatch(value, state.batchSize));
    } else {
      const inner = applyLevel(entry, fn, options, items as Td[], path, writes);
      leaves ||= !hasNoTensors(entry);
      if (inner === null) continue;
      kept = true;
      entries.set(key, inner);
    }
  }
  if (options.inplace) return td;
  if (!kept && options.filterEmpty !== false && (options.filterEmpty === true || leaves)) return null;
  return td._like(entries, state);
}

/** A call of the function. */
interface LeafCall {
  fn: LeafFunction;
  path: readonly string[];
  items: readonly unknown[];
}

/** Plans what becomes of an entry in place. */
function planResult(td: Td, key: string, entry: Entry, result: Tensor, writes: Writes, call: LeafCall): void {
  if (!(entry instanceof Tensor)) writes.push(() => td._put(key, result));
  else planWrite(td, key, entry, result, writes, () => call.fn(entry, call.path, call.items) as Tensor);
}

/** What a function gave, as an entry. */
function resultEntry(entry: Entry, result: Tensor, state: NewState, key: string): Entry {
  const made = entry instanceof Tensor && result instanceof Tensor ? likeEntry(entry, result) : result;
  return toEntry(made, { ...state, names: null }, key);
}

function fits(result: unknown, state: NewState): boolean {
  if (!(result instanceof Tensor) || !startsWith(result._shape, state.batchSize)) return false;
  return state.device === null || result.device.equals(state.device);
}

/** The state of what `apply` makes: further dimensions of a nested batch are given up with a new batch size. */
function resultState(td: Td, options: ApplyOptions, root: boolean): NewState {
  const batchSize = options.batchSize === undefined ? td._batchSize : Size.fromList(options.batchSize);
  const kept = options.batchSize === undefined ? td._names : null;
  const given = root ? options.names : fitNames(options.names ?? null, batchSize.length);
  const names = options.names === undefined ? kept : toNames(given, batchSize.length);
  const device = options.device === undefined ? td._device : toDeviceOrNull(options.device);
  return { batchSize, device, names };
}

/** The memory that planned writes go into: storages, and where in them. */
const planned = new WeakMap<Writes, Map<unknown, Set<number>>>();

/** Whether no write before this one goes to where a tensor begins. */
function isFirst(writes: Writes, t: Tensor): boolean {
  let places = planned.get(writes);
  if (places === undefined) planned.set(writes, (places = new Map()));
  let offsets = places.get(t._storage);
  if (offsets === undefined) places.set(t._storage, (offsets = new Set()));
  const first = !offsets.has(t._offset);
  offsets.add(t._offset);
  return first;
}

/**
 * A result goes into the tensor that is there, as `set_` would write it. Where an entry before it has the same memory,
 * the function is called again once that is written, as if one entry were done after the other.
 */
function planWrite(td: Td, key: string, entry: Tensor, result: Tensor, writes: Writes, again: () => Tensor): void {
  if (!(result instanceof Tensor)) throw new TypeError(`the function gave ${typeof result} for '${key}', not a tensor`);
  const outside = td._outside;
  if (result === entry && outside === undefined) return;
  if (!isUnbatched(entry) && !startsWith(result._shape, td._batchSize))
    throw mismatch(td._batchSize, result.shape, key, false);
  if (!sameSizes(result._shape, entry._shape)) throw misfit(td, key, result, entry);
  if (outside !== undefined) {
    writes.push(() => outside.write(key, [], result));
    return;
  }
  rehearseCopy(entry, result);
  const first = isFirst(writes, entry);
  writes.push(() => entry.copy_(first ? result : again()));
}

function rebatch(entry: Td, batchSize: Size): Td {
  if (entry._kind !== "nonTensor") return entry;
  return entry._like(new Map(), stateOf(entry, { batchSize }));
}

function otherEntry(other: Other, key: string, options: ApplyOptions, own: Entry): unknown {
  if (other instanceof Tensor) return own instanceof Tensor ? widen(other, own.ndim) : other;
  const entry = other._own(key);
  if (entry !== undefined) return entry;
  const level = isBranch(own);
  if ("default" in options) return level ? emptied(own, options) : options.default;
  // Arithmetic is about tensors: levels without any, and values, need no partner.
  if (level ? isBare(own) : isTensorCollection(own) && isNonTensor(own)) return own;
  throw new KeyError(
    `key "${key}" not found in ${other._className} with keys [${[...other._keys()].map((k) => `'${k}'`).join(", ")}]`,
  );
}

/** A tensor of the batch gets the trailing dimensions that an entry has. */
export function widen(value: Tensor, rank: number): Tensor {
  let out = value;
  for (let i = value.ndim; i < rank; i++) out = out.unsqueeze(-1);
  return out;
}

function applyLazy(
  td: LazyTd,
  fn: LeafFunction,
  options: ApplyOptions,
  others: readonly Other[],
  prefix: readonly string[],
  writes: Writes,
): Td | null {
  if (options.batchSize !== undefined) return applyLevel(td._densify(), fn, options, others, prefix, writes);
  const parts = others.map((other) => unbindLike(other, td));
  const { names: _, ...inner } = options;
  const found = td.members.map((member, i) => {
    const items = parts.map((part) => part[i] as Other);
    return applyLevel(member, fn, inner, items, prefix, writes);
  });
  if (options.inplace) return td;
  if (found.length > 0 && found.every((member) => member === null)) return null;
  // A member of which nothing is left stays, empty, beside others.
  const members = found.map((member, i) => member ?? emptied(td.members[i] as Td, inner));
  const result = make.lazy(members, td.stackDim, td.stackDimName);
  if (options.names !== undefined) result.names = options.names;
  return result;
}

/** A collection without what it holds. */
function emptied(td: Td, options: ApplyOptions): Td {
  if (isLazy(td))
    return make.lazy(
      td.members.map((member) => emptied(member, options)),
      td.stackDim,
      td.stackDimName,
    );
  return td._like(new Map(), resultState(td, options, true));
}

function unbindLike(other: Other, lazy: LazyTd): readonly Other[] {
  if (!(other instanceof Tensor)) return other.unbind(lazy.stackDim) as Td[];
  // A tensor of an outer batch has no dimension for members that are stacked further in.
  return lazy.stackDim < other.ndim ? other.unbind(lazy.stackDim) : lazy.members.map(() => other);
}

/** The other operand of an operation: a tree, or one value for every tensor. */
export type Operand = Td | Tensor | Scalar | Record<string, unknown>;

/** What is done to two tensors. */
export type BinaryFunction = (a: Tensor, b: unknown) => Tensor;

/** Shared with comparisons. */
export function operand(other: Operand, td: Td): unknown {
  if (isSource(other)) return fromSource(other as Record<string, unknown>, stateOf(td, { names: null }));
  return other;
}

/** The batch size that two batches have together; an error where they do not fit. */
export function broadcastBatch(own: Size, other: readonly number[]): Size {
  const rank = Math.max(own.length, other.length);
  const out: number[] = [];
  for (let i = 1; i <= rank; i++) {
    const a = own[own.length - i] ?? 1;
    const b = other[other.length - i] ?? 1;
    if (a !== b && a !== 1 && b !== 1) {
      throw new RuntimeError(
        `Attempting to broadcast a dimension of length ${b} at ${-i}! Mismatching argument at index 1 had ` +
          `torch.Size([${other.join(", ")}]); but expected shape should be broadcastable to [${own.join(", ")}]`,
      );
    }
    out.unshift(a === 1 ? b : a);
  }
  return Size.fromList(out);
}

const sizeOf = (side: Other): readonly number[] => (side instanceof Tensor ? side._shape : side._batchSize);

/** One side grown to a batch. */
export function grow<T extends Other>(side: T, batch: Size): T {
  return (sameSizes(sizeOf(side), batch) ? side : side.expand([...batch])) as T;
}

/** An operand grown to a batch; the tensors of a collection without a batch broadcast as they are. */
export function grown<T extends Other>(side: T, batch: Size): T {
  return isTensorCollection(side) && side._batchSize.length === 0 ? side : grow(side, batch);
}

/** What is given for every element of the batch: a collection, or a tensor with dimensions. */
function isBatched(value: unknown): value is Other {
  return isTensorCollection(value) || (value instanceof Tensor && value.ndim > 0);
}

/** The receiver, with the keys that its operands have; operands that had others are replaced. */
function alignAll(td: Td, others: Other[], fallback: Fallback | null): Td {
  let left = td;
  for (const [i, side] of others.entries()) {
    if (side instanceof Tensor) continue;
    if (fallback === null) requireSameLeaves(left, side);
    else [left, others[i]] = alignTds(left, side, fallback);
  }
  return left;
}

/** Whether stacks stand beside dense trees: their levels are then paired one by one, those without tensors too. */
function mixesStacks(td: Td, others: readonly Other[]): boolean {
  const stacked = stackOf(td) !== null;
  return others.some((side) => isTensorCollection(side) && (stackOf(side) !== null) !== stacked);
}

/** What is done to a tensor and its operands. */
export type ManyFunction = (a: Tensor, operands: readonly unknown[]) => Tensor;

/**
 * A function of a tree and of operands that are trees of the same keys, tensors of the batch, or single values. Batches
 * broadcast; wrapped values stay as they are.
 */
export function elementwiseTd(
  td: Td,
  operands: readonly (Operand | null)[],
  fn: ManyFunction,
  options: BinaryOptions = {},
): Td {
  const given = operands.map((one) => (one === null ? null : operand(one, td)));
  const sides = given.filter(isBatched);
  const batch = sides.reduce((size, side) => broadcastBatch(size, sizeOf(side)), td._batchSize);
  const others = sides.map((side) => grown(side, batch));
  const wide = grow(td, batch);
  const left = alignAll(wide, others, options.fallback ?? null);
  const values = given.filter((one) => !isBatched(one));
  // Where each operand is among the items of a leaf. Values that all leaves share are there in a rehearsal only.
  let shared = sides.length;
  const places = given.map((one) => (isBatched(one) ? sides.indexOf(one) : shared++));
  const call: LeafFunction = (t, _path, items) => {
    return fn(t, items.length === 0 ? given : places.map((at, i) => (at < items.length ? items[at] : given[i])));
  };
  if (options.inplace) rehearseAll(left, call, others, options.arithmetic === true, values);
  const how =
    options.filterEmpty === true && mixesStacks(left, others) ? { ...options, filterEmpty: undefined } : options;
  const result = applyLeaves(left, call, how, others);
  return options.inplace ? td : lockLike(wide, result, options);
}

/** Arithmetic of a tree with a tree or with one value. */
export function binaryTd(td: Td, other: Operand, fn: BinaryFunction, options: BinaryOptions = {}): Td {
  return elementwiseTd(td, [other], (a, [b]) => fn(a, b), options);
}

/** Options of arithmetic: `arithmetic` says that every floating dtype has it. */
export interface BinaryOptions extends ApplyOptions {
  arithmetic?: boolean;
  /** What stands for keys that one side lacks; they are errors without it. */
  fallback?: Fallback | null;
}

/**
 * Throws what changing every tensor in place would throw at any of them, before one of them is changed. The function
 * gets stand-ins of the `values` that all share behind the items of the leaf.
 */
export function rehearseAll(
  td: Td,
  fn: LeafFunction,
  others: readonly Other[],
  arithmetic: boolean,
  values: readonly unknown[] = [],
): void {
  // A single tensor is changed or not.
  let count = 0;
  for (const _ of tensorsOf(td)) if (++count > 1) break;
  if (count < 2) return;
  if (others.length === 0) {
    for (const [path, t] of tensorsOf(td, [], true)) {
      rehearse(t, values, (one, rest) => fn(one, path, rest), arithmetic);
    }
    return;
  }
  const trial: LeafFunction = (t, path, items) => {
    rehearse(t, [...items, ...values], (one, rest) => fn(one, path, rest), arithmetic);
    return null;
  };
  applyLevel(td, trial, {}, others, [], []);
}
