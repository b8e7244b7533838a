// Shape operations: they act on the batch dimensions of every entry and leave the others alone.

import { isDict } from "../../tensor/checks.ts";
import { DType, type DTypeLike, toDType } from "../../tensor/dtype.ts";
import { IndexError, RuntimeError, ValueError } from "../../tensor/errors.ts";
import { numelOf, plainSizes, Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { lockLike, mapLike } from "../core/locking.ts";
import { type NestedTensor, noNested } from "../core/nested.ts";
import { settings } from "../core/settings.ts";
import {
  type Collection,
  type DimNames,
  isLazy,
  isNested,
  isNonTensor,
  make,
  mapOf,
  type Outside,
  outlinesOf,
  type StackTd,
  stateOf,
  type Td,
  toSize,
  type ValueTd,
  wrapBatchDim,
} from "../core/state.ts";
import { flatNumbers, positionsIn } from "../core/tensor-ops.ts";
import type { Entry, SizeLike } from "../core/types.ts";
import { isUnbatched, ofBatch } from "../core/unbatched.ts";
import { viewOf } from "../core/undo.ts";
import { flattenLazy, noLazyView, permuteLazy, regroup, squeezeLazy, unsqueezeLazy } from "./lazy-shape.ts";
import { applyLeaves } from "./pointwise.ts";
import { catTds, lazyStackTds, maybeDenseStackTds, stackOfValues } from "./stacking.ts";

/** An operation on the first dimensions of a tensor. */
export interface ShapeOp {
  tensor(t: Tensor): Tensor;
  /** The same change of a tensor on the CPU, whatever device the collection is on; needed where indices are on it. */
  onCpu?(t: Tensor): Tensor;
  /** The same change on a size that begins with the batch dimensions. */
  size(shape: readonly number[]): readonly number[];
  names?(names: DimNames): DimNames;
  /** A shortcut for tensors outside of memory, of which the operation needs a part only. */
  outside?(outside: Outside, key: string): Tensor;
  /** What it makes of a nested tensor; null, or leaving it out, where that is not possible. */
  nested?(entry: NestedTensor): Entry | null;
  /** Whether levels that are mapped to files stay so. */
  mapped?: boolean;
  /** A shortcut for lazy stacks; null falls back on the dense stack. */
  lazy?(td: StackTd): Td | null;
  /** What it makes of one value for all elements; without it, the same value for another batch. */
  value?(td: ValueTd): Td;
}

/** Values of a stack beyond which it has members only if somebody asked for them. */
const FLAT = 1024;

/** Sizes or dimensions that were given one by one or as a list. */
export function sizesOf(list: readonly (number | readonly number[])[]): readonly number[] {
  return list.length === 1 && Array.isArray(list[0]) ? list[0] : (list as readonly number[]);
}

/** Applies a shape operation to a tree. */
export function applyShape(td: Td, op: ShapeOp): Td {
  if (isLazy(td)) {
    const done = op.lazy?.(td) ?? null;
    return done ?? applyShape(td._densify(), op);
  }
  if (isNonTensor(td)) return shapeValues(td, op);
  const names = td._names === null ? null : (op.names?.(td._names) ?? null);
  const state = { batchSize: Size.fromList(op.size(plainSizes(td._batchSize))), device: td._device, names };
  const entries = new Map<string, Entry>();
  const outside = op.outside === undefined ? undefined : td._outside;
  const own = outside === undefined ? mapOf(td) : new Map(outlinesOf(td));
  for (const key of own.keys()) {
    const entry = own.get(key) as Entry;
    if (!(entry instanceof Tensor)) {
      entries.set(key, isNested(entry) ? applyNested(entry, op, key) : applyInner(entry, op));
    } else if (isUnbatched(entry)) entries.set(key, ofBatch(entry, state.batchSize));
    else entries.set(key, outside === undefined ? op.tensor(entry) : (op.outside?.(outside, key) as Tensor));
  }
  return td._like(entries, state);
}

function applyInner(entry: Td, op: ShapeOp): Td {
  const made = applyShape(entry, op);
  return op.mapped === true && entry._disk !== null ? mapLike(entry, made) : made;
}

function applyNested(entry: NestedTensor, op: ShapeOp, key: string): Entry {
  const done = op.nested?.(entry) ?? null;
  if (done === null) throw noNested("this indexing or change of shape", key);
  return done;
}

/** Wrapped values: stacks of them move their members, as lazy stacks do. */
function shapeValues(td: ValueTd, op: ShapeOp): Td {
  if (td._kind === "nonTensor") {
    if (op.value !== undefined && td._className !== "MetaData") return op.value(td);
    const names = td._names === null ? null : (op.names?.(td._names) ?? null);
    return td._like(new Map(), stateOf(td, { batchSize: Size.fromList(op.size(td._batchSize)), names }));
  }
  const known = td._parts.length > 0 || numelOf(td._batchSize) <= FLAT;
  return (known ? op.lazy?.(td) : null) ?? pickValues(td, op);
}

/** A stack of values is rearranged by rearranging the positions of its values. */
function pickValues(td: ValueTd, op: ShapeOp): Td {
  const change = op.onCpu ?? op.tensor;
  // Where the dimension of the stack has gone is told by the names.
  const marks = td._batchSize.map((_, dim) => (td._kind === "nonTensorStack" && dim === td.stackDim ? "stack" : null));
  const stackDim = Math.max(0, op.names?.(marks)?.indexOf("stack") ?? 0);
  const shared = td._kind === "nonTensorStack" ? td._rearranged(change, stackDim) : null;
  if (shared !== null) return shared;
  const moved = change(positionsIn(td._batchSize));
  return stackOfValues([td], stateOf(td, { batchSize: moved.shape, names: null }), flatNumbers(moved), stackDim);
}

function batchNumel(size: readonly number[]): number {
  return numelOf(size);
}

/** Fills in a -1 and checks the number of elements. */
function resolveShape(shape: readonly number[], batch: readonly number[]): number[] {
  const total = batchNumel(batch);
  const unknown = shape.filter((n) => n === -1).length;
  if (unknown > 1) throw new RuntimeError("only one dimension can be inferred");
  const known = shape.filter((n) => n !== -1).reduce((a, b) => a * b, 1);
  const invalid = () => new RuntimeError(`invalid shape [${shape.join(", ")}] for a batch of ${total} elements`);
  if (shape.some((n) => !Number.isSafeInteger(n) || n < -1)) throw invalid();
  if (unknown === 1) {
    if (known === 0 || total % known !== 0) throw invalid();
    return shape.map((n) => (n === -1 ? total / known : n));
  }
  if (known !== total) throw invalid();
  return [...shape];
}

/** Locked like its source, and written back into it at the end of a `using` block. */
function viewed(td: Td, result: Td, inverse: (view: Td) => Td): Td {
  return viewOf(td, mapLike(td, lockLike(td, result)), inverse);
}

/** Options of changes of shape that a collection can make to itself. */
export interface InplaceOptions {
  /** Give this collection the result instead of making another one. */
  inplace?: boolean;
}

/** Options of `view`. */
export interface ViewOptions {
  /** The batch size of the result; with a dtype it may have fewer dimensions. */
  batchSize?: SizeLike | null;
}

type ViewArgument = number | readonly number[] | DTypeLike | ViewOptions;

/** Another batch size over the same memory, or another dtype for the same bytes. */
export function viewAs(td: Td, args: readonly ViewArgument[]): Td {
  const last = args.at(-1);
  const options = isDict(last) ? (last as ViewOptions) : {};
  const [first] = args;
  const { batchSize } = options;
  if (first instanceof DType || typeof first === "string") {
    const size = batchSize === undefined || batchSize === null ? {} : { batchSize: toSize(batchSize) };
    return lockLike(
      td,
      applyLeaves(td, (t) => t.view(toDType(first)), size),
    );
  }
  const sizes = isDict(last) ? args.slice(0, -1) : args;
  const flat = sizes.length === 1 && Array.isArray(sizes[0]) ? sizes[0] : sizes;
  return viewTd(td, flat.length === 0 && batchSize ? toSize(batchSize) : (flat as readonly number[]), false);
}

/** @torch TensorDict.view and TensorDict.reshape */
export function viewTd(td: Td, shape: readonly number[], copy: boolean): Td {
  const batch = td._batchSize;
  const target = resolveShape(shape, batch);
  const same = target.length === batch.length && target.every((n, i) => n === batch[i]);
  const size = (full: readonly number[]) => [...target, ...full.slice(batch.length)];
  const op: ShapeOp = {
    tensor: (t) => (copy ? t.reshape(size(t._shape)) : t.view(size(t._shape))),
    size,
    lazy: (lazy) => {
      const found = regroup(lazy, size(lazy._batchSize));
      if (found === null && !copy && batchNumel(lazy._batchSize) > 0) throw noLazyView();
      return found;
    },
  };
  const result = same ? td : applyShape(td, op);
  return copy ? lockLike(td, result) : viewed(td, result, (view) => view.view([...batch]) as Td);
}

/** With `oneValue`, one value for all elements stays one. @torch TensorDict.expand */
export function expandTd(td: Td, shape: readonly number[], oneValue = false): Td {
  const batch = td._batchSize;
  const extra = shape.length - batch.length;
  const target = shape.map((n, i) => (n === -1 && i >= extra ? (batch[i - extra] as number) : n));
  const fits = extra >= 0 && batch.every((n, i) => n === 1 || n === target[extra + i]);
  if (!fits) {
    const text = `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
    throw new RuntimeError(
      extra < 0
        ? `the number of sizes provided (${shape.length}) must be greater or equal to the number of ` +
            `dimensions in the TensorDict (${batch.length})`
        : "Incompatible expanded shape: The expanded shape length at non-singleton dimension should be same as the " +
            `original length. target_shape = ${text}, existing_shape = ${batch}`,
    );
  }
  const size = (full: readonly number[]) => [...target, ...full.slice(batch.length)];
  const result = applyShape(td, {
    tensor: (t) => t.expand([...size(t._shape)]),
    size,
    names: (names) => (names === null ? null : [...new Array<null>(extra).fill(null), ...names]),
    lazy: (lazy) => expandLazy(lazy, size(lazy._batchSize)),
    ...(oneValue ? {} : { value: (value: ValueTd) => expandValue(value, size(value._batchSize)) }),
  });
  return lockLike(td, result, false);
}

/** New dimensions and grown ones have one copy of the value for each element of theirs. */
function expandValue(value: ValueTd, shape: readonly number[]): Td {
  let out = value as Td;
  for (let dim = value._batchSize.length - 1; dim >= 0; dim--) {
    const count = shape[shape.length - value._batchSize.length + dim] as number;
    if (value._batchSize[dim] === count) continue;
    const copies = Array.from({ length: count }, () => out.copy() as Td);
    if (copies.length > 0) out = catTds(copies, dim);
  }
  for (let dim = shape.length - value._batchSize.length - 1; dim >= 0; dim--) {
    const copies = Array.from({ length: shape[dim] as number }, () => out.copy() as Td);
    if (copies.length === 0)
      return value._like(new Map(), stateOf(value, { batchSize: Size.fromList(shape), names: null }));
    out = make.stack(copies, 0, null);
  }
  return out;
}

function expandLazy(lazy: StackTd, shape: readonly number[]): Td | null {
  const at = shape.length - lazy._batchSize.length + lazy.stackDim;
  const count = shape[at] as number;
  if (count === 0) return null;
  const inner = shape.filter((_, dim) => dim !== at);
  const first = lazy.members[0] as Td;
  // A single member stands for each of the others.
  const members =
    lazy.members.length === count ? lazy.members : Array.from({ length: count }, () => first.clone(false) as Td);
  const parts = members.map((member) => member.expand(inner) as Td);
  return settings.lazyLegacy ? lazyStackTds(parts, at) : maybeDenseStackTds(parts, at);
}

/** @torch TensorDict.permute */
export function permuteTd(td: Td, dims: readonly number[]): Td {
  const rank = td._batchSize.length;
  const order = dims.map((dim) => wrapBatchDim(dim, rank));
  if (order.length !== rank || new Set(order).size !== rank || order.includes(null)) {
    throw new ValueError("Received an permutation order incompatible with the tensordict shape.");
  }
  if (order.every((dim, i) => dim === i)) return viewed(td, td, (view) => view);
  const full = (n: number) => [...(order as number[]), ...Array.from({ length: n - rank }, (_, i) => rank + i)];
  const result = applyShape(td, {
    tensor: (t) => t.permute(full(t._shape.length)),
    size: (shape) => full(shape.length).map((dim) => shape[dim] as number),
    names: (names) => names && full(names.length).map((dim) => names[dim] ?? null),
    lazy: (lazy) => permuteLazy(lazy, full(lazy._batchSize.length), permuteTd),
  });
  const inverse = (order as number[]).map((_, dim) => order.indexOf(dim));
  return viewed(td, result, (view) => permuteTd(view, inverse));
}

/** @torch TensorDict.transpose */
export function transposeTd(td: Td, dim0: number, dim1: number): Td {
  const rank = td._batchSize.length;
  const a = wrapBatchDim(dim0, rank);
  const b = wrapBatchDim(dim1, rank);
  if (a === null || b === null) {
    throw new ValueError(
      settings.lazyLegacy
        ? "The provided dimensions are incompatible with the tensordict batch-size."
        : "dim0 and dim1 must be within the range of the number of dimensions.",
    );
  }
  if (a === b) return viewed(td, td, (view) => view);
  const order = Array.from({ length: rank }, (_, i) => (i === a ? b : i === b ? a : i));
  return permuteTd(td, order);
}

/** @torch TensorDict.unsqueeze */
export function unsqueezeTd(td: Td, dim: number): Td {
  const rank = td._batchSize.length;
  const at = dim < 0 ? dim + rank + 1 : dim;
  if (!Number.isInteger(at) || at < 0 || at > rank) {
    throw new RuntimeError(
      "unsqueezing is allowed for dims comprised between `-td.batch_dims - 1` and `td.batch_dims` only. " +
        `Got dim=${dim} with a batch size of ${td._batchSize}.`,
    );
  }
  const result = applyShape(td, {
    tensor: (t) => t.unsqueeze(at),
    size: (shape) => [...shape.slice(0, at), 1, ...shape.slice(at)],
    names: (names) => names && [...names.slice(0, at), null, ...names.slice(at)],
    lazy: (lazy) => unsqueezeLazy(lazy, at),
    value: (value) => make.stack([value as Td], at, null),
  });
  return viewed(td, result, (view) => squeezeTd(view, at));
}

/** @torch TensorDict.squeeze */
export function squeezeTd(td: Td, dim?: number): Td {
  const batch = td._batchSize;
  if (dim === undefined) {
    const keep = batch.map((n) => n !== 1);
    if (keep.every(Boolean)) return viewed(td, td, (view) => view);
    const size = (shape: readonly number[]) => shape.filter((_, i) => keep[i] ?? true);
    const result = applyShape(td, {
      tensor: (t) => t.reshape(size(t._shape)),
      size,
      names: (names) => names?.filter((_, i) => keep[i] ?? true) ?? null,
      lazy: (lazy) => keep.reduceRight<Td>((at, kept, i) => (kept ? at : squeezeTd(at, i)), lazy),
    });
    return viewed(td, result, () => {
      throw new RuntimeError("Cannot use td.squeeze() as a decorator if the dimension is implicit.");
    });
  }
  const at = wrapBatchDim(dim, batch.length);
  if (at === null) {
    throw new RuntimeError(
      "squeezing is allowed for dims comprised between 0 and td.batch_dims only. " +
        `Got dim=${dim} and batch_size=${batch}.`,
    );
  }
  if (batch[at] !== 1) return viewed(td, td, (view) => view);
  const result = applyShape(td, {
    tensor: (t) => t.squeeze(at),
    size: (shape) => shape.filter((_, i) => i !== at),
    names: (names) => names?.filter((_, i) => i !== at) ?? null,
    lazy: (lazy) => squeezeLazy(lazy, at),
  });
  return viewed(td, result, (view) => unsqueezeTd(view, at));
}

/** @torch TensorDict.flatten */
export function flattenTd(td: Td, startDim: number, endDim: number): Td {
  const batch = td._batchSize;
  // torch makes one dimension of none.
  const none = batch.length === 0 && startDim === 0 && (endDim === -1 || endDim === 0);
  if (none && td._kind === "nonTensor") {
    return td._like(new Map(), stateOf(td, { batchSize: Size.fromList([1]), names: null }));
  }
  if (none) return unsqueezeTd(td, 0);
  const start = wrapBatchDim(startDim, batch.length);
  const end = wrapBatchDim(endDim, batch.length);
  if (start === null || end === null || end < start) {
    throw new ValueError(
      `Incompatible start_dim=${startDim} and end_dim=${endDim} for tensordict with shape ${batch}.`,
    );
  }
  const size = (shape: readonly number[]) => {
    const merged = shape.slice(start, end + 1).reduce((a, b) => a * b, 1);
    return [...shape.slice(0, start), merged, ...shape.slice(end + 1)];
  };
  const result = applyShape(td, {
    tensor: (t) => t.flatten(start, end),
    size,
    names: (names) => names && [...names.slice(0, start), null, ...names.slice(end + 1)],
    lazy: (lazy) => {
      if (start === end) return lazy;
      return batchNumel(lazy._batchSize) === 0 ? null : flattenLazy(lazy, start, end);
    },
  });
  return viewOf(td, lockLike(td, result), (view) => unflattenTd(view, start, batch.slice(start, end + 1)));
}

/** The sizes that one dimension becomes; the error is that of a tensor. */
function unflattened(td: Td, at: number, sizes: readonly number[]): number[] {
  const total = td._batchSize[at] as number;
  const one = sizes.filter((n) => n === -1).length === 1;
  const known = sizes.reduce((a, b) => a * (b === -1 ? 1 : b), 1);
  if (one ? known > 0 && total % known === 0 : known === total) return resolveShape(sizes, [total]);
  throw new RuntimeError(
    `unflatten: Provided sizes [${sizes.join(", ")}] don't multiply up to the size of dim ${at} (${total}) in the ` +
      "input tensor",
    { op: "unflatten" },
  );
}

/** @torch TensorDict.unflatten */
export function unflattenTd(td: Td, dim: number, sizes: readonly number[]): Td {
  const at = requireBatchDim(td, dim);
  const target = unflattened(td, at, sizes);
  const size = (shape: readonly number[]) => [...shape.slice(0, at), ...target, ...shape.slice(at + 1)];
  const fresh = new Array<null>(target.length - 1).fill(null);
  const result = applyShape(td, {
    tensor: (t) => t.reshape(size(t._shape)),
    size,
    names: (names) => names && [...names.slice(0, at), ...fresh, ...names.slice(at)],
    lazy: (lazy) => regroup(lazy, size(lazy._batchSize)),
  });
  return viewOf(td, lockLike(td, result), (view) => flattenTd(view, at, at + target.length - 1));
}

/** A batch dimension, or the error that Python gives for others. */
export function requireBatchDim(td: Collection, dim: number): number {
  const at = wrapBatchDim(dim, td._batchSize.length);
  if (at === null) throw new IndexError(`Incompatible dim ${dim} for tensordict with shape ${td._batchSize}.`);
  return at;
}
