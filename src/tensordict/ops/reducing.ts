// Reductions of collections: of each tensor, over batch dimensions, over what is behind the batch, or of all together.
import type { DTypeLike } from "../../tensor/dtype.ts";
import { IndexError, RuntimeError, TypeError, ValueError, warn } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { drop, tidy } from "../../tensor/temporaries.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { mapEntries } from "../core/mapping.ts";
import { noNested } from "../core/nested.ts";
import {
  entriesOf,
  isLazy,
  isNested,
  isNonTensor,
  isTensorCollection,
  make,
  type NewState,
  stateOf,
  type Td,
  type ValueTd,
  wrapBatchDim,
} from "../core/state.ts";
import { catTensors } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { entryOf, isUnbatched } from "../core/unbatched.ts";
import { tensorsOf } from "./access.ts";
import { applyLeaves } from "./pointwise.ts";
import { valuesOf } from "./stacking.ts";

/** Where a reduction works: batch dimensions, or `"feature"` for those behind the batch. */
export type ReduceDim = number | readonly number[] | "feature" | null;

/** Options of reductions. */
export interface ReduceOptions {
  /** Batch dimensions, or `"feature"`; without it everything of each tensor is reduced. */
  dim?: ReduceDim;
  /** Keep the dimensions, with size one. */
  keepdim?: boolean;
  /** One result of all tensors together. */
  reduce?: boolean | null;
}

/** Options of products, and of sums and means of what is a number. */
export interface TotalOptions extends ReduceOptions {
  /** The dtype of the result. */
  dtype?: DTypeLike | null;
}

/** Options of sums and means. */
export interface SumOptions extends TotalOptions {
  /** Gives the names of the result's entries. */
  keyTransform?: ((key: string) => string) | null;
}

/** Options of standard deviations and variances. */
export interface SpreadOptions extends ReduceOptions {
  /** Taken off the number of elements; one by default. */
  correction?: number;
  /** Gives the names of the result's entries. */
  keyTransform?: ((key: string) => string) | null;
}

/** What is done to a tensor: over everything with null. */
export type Reducer<R = Tensor> = (t: Tensor, dim: number | readonly number[] | null, keepdim: boolean) => R;

/** Reductions of several batch dimensions at once; others take the first. */
const SEVERAL: ReadonlySet<string> = new Set(["sum", "mean", "std", "var", "nansum", "nanmean"]);
/** Reductions that cannot be over what is behind the batch, each tensor by itself. */
const BATCH_ONLY: ReadonlySet<string> = new Set(["amin", "amax", "min", "max", "cummin", "cummax"]);

/** The names of the result's entries, at all levels. */
export function renamed(td: Td, rename: (key: string) => string): Td {
  const entries = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    const inner = isTensorCollection(entry) && !isNonTensor(entry) ? renamed(entry, rename) : entry;
    entries.set(rename(key), inner);
  }
  return td._like(entries, stateOf(td));
}

/** The tensors of a tree one after the other along a dimension. */
export function joined(td: Td, op: string, dim: number, shaped: (t: Tensor) => Tensor): Tensor {
  const tensors = [...tensorsOf(td)].map(([, t]) => shaped(t));
  if (tensors.length === 0) {
    throw new ValueError(
      `${op}(reduce=True) reduces the tensor leaves together, and this tensordict has no tensor leaves.`,
      { op },
    );
  }
  return catTensors(tensors, dim);
}

/** Dimensions behind the batch as one. */
export function features(t: Tensor, rank: number): Tensor {
  return t.ndim > rank ? t.flatten(rank, -1) : t.unsqueeze(-1);
}

/** The same entries, those of lazy stacks stacked. */
export const dense = (td: Td): Td => (isLazy(td) ? td._densify() : td);

/** `dense` of what is reduced. */
function denseFor(td: Td, op: string): Td {
  if (!isLazy(td)) return td;
  try {
    return td._densify();
  } catch {
    throw new RuntimeError(
      `${op} requires this object to be cast to a regular TensorDict. If you need ${td._className} to support ${op}, ` +
        "help us by filing an issue on github!",
      { op },
    );
  }
}

export function batchDim(td: Td, dim: number): number {
  const rank = td._batchSize.length;
  const at = wrapBatchDim(dim, rank);
  if (at !== null) return at;
  throw new IndexError(`Incompatible dim ${dim < 0 ? dim + rank : dim} for tensordict with batch dims ${rank}.`);
}

const tuple = (dims: readonly number[]): string => `(${dims.join(", ")}${dims.length === 1 ? "," : ""})`;

const noneForDim = (op: string): TypeError =>
  new TypeError(`${op}(): argument 'dim' must be int, not NoneType`, { op });

/** The dimension of the arguments, `undefined` for everything; nothing is named by an empty list. */
function dimOf(op: string, options: ReduceOptions): ReduceDim | undefined {
  const dim = Array.isArray(options.dim) && options.dim.length === 0 ? null : (options.dim ?? null);
  if (dim !== null) return dim;
  if (options.dim !== undefined && options.dim !== null && /^(min|max)$/.test(op)) {
    throw new IndexError("tuple index out of range", { op });
  }
  if (options.keepdim !== true) return undefined;
  if (options.dim === undefined && options.reduce === true) return undefined;
  if (/^(min|max)$/.test(op)) throw noneForDim(op);
  return null;
}

/** What all tensors give together. */
export function reduceTogether<R>(td: Td, op: string, options: ReduceOptions, run: Reducer<R>): R {
  const dim = dimOf(op, options);
  if (dim === undefined) {
    return tidy(() => {
      const all = joined(td, op, 0, (t) => t.contiguous().flatten());
      return run(all, null, false);
    });
  }
  if (dim === null) throw noneForDim("cat");
  const rank = td._batchSize.length;
  if (dim === "feature") {
    return tidy(() => {
      const all = joined(dense(td), op, -1, (t) => features(t, rank));
      return run(all, -1, false);
    });
  }
  const at = typeof dim === "number" ? dim : (dim[0] as number);
  const dims = typeof dim === "number" ? [dim] : dim;
  const all = joined(dense(td), op, at, (t) => t);
  if (all.ndim !== rank && dims.some((d) => d < 0)) {
    const text = typeof dim === "number" ? String(dim) : tuple(dim);
    warn(`${op}(dim=${text}, reduce=True) counts a negative dim from the end of each leaf.`, "FutureWarning");
  }
  const result = run(all, dim, options.keepdim === true);
  if (result !== all) drop(all);
  return result;
}

/** The batch dimensions of a reduction: one or several, as it takes them. */
function batchDims(td: Td, op: string, dim: number | readonly number[]): readonly number[] {
  if (typeof dim === "number") return [batchDim(td, dim)];
  if (SEVERAL.has(op)) return dim.map((d) => batchDim(td, d));
  const [first] = dim as readonly [number];
  const at = batchDim(td, first);
  if (dim.length > 1 || !/^am/.test(op)) {
    const rest = /^am/.test(op) ? ", and does not check it against the batch dims" : "";
    warn(`${op}(dim=${tuple(dim)}) reduces only the first dim of the tuple${rest}.`, "FutureWarning");
  }
  return [at];
}

/** Each tensor reduced by itself. */
export function reduceEach(tree: Td, op: string, options: ReduceOptions, run: Reducer): Td {
  const dim = dimOf(op, options);
  const keepdim = options.keepdim === true;
  const td = denseFor(tree, op);
  if (dim === undefined) return reduceTd(td, (t) => run(t, null, false));
  if (dim === "feature") {
    if (keepdim) throw new TypeError("dim='feature' is incompatible with keepdim=True.", { op });
    if (BATCH_ONLY.has(op)) {
      throw new RuntimeError(`reduction ${op} must be called with call_on_nested=True when dim='feature'.`, { op });
    }
    return reduceFeatures(td, (t) => run(t, -1, false));
  }
  if (dim === null) {
    return reduceBatch(td, {
      tensor: (t) => run(t, null, true),
      size: (size) => size.map(() => 1),
      names: (names) => names,
    });
  }
  const dims = batchDims(td, op, dim);
  const given = SEVERAL.has(op) && typeof dim !== "number" ? dims : (dims[0] as number);
  const common = BATCH_ONLY.has(op);
  return reduceDims(td, dims, keepdim, (t) => run(t, given, keepdim), common);
}

/** Reduces what is behind the batch, at each level behind its own. */
function reduceFeatures(td: Td, run: (t: Tensor) => Tensor): Td {
  const rank = td._batchSize.length;
  const reduce = (entry: Entry, key: string): Entry => {
    if (entry instanceof Tensor) return isUnbatched(entry) ? entry : run(features(entry, rank));
    if (isNested(entry)) throw noNested("a reduction", key);
    return isNonTensor(entry) ? entry : reduceFeatures(dense(entry), run);
  };
  return mapEntries(td, reduce, stateOf(td));
}

/** A reduction of a tree: `reduce` says whether all tensors count as one. */
export function reduction(td: Td, op: string, options: SumOptions & SpreadOptions, run: Reducer): Td | Tensor {
  const rename = options.keyTransform ?? null;
  if (op === "prod" && options.keepdim === true) return productKept(td, options, run);
  if (options.reduce === true) return reduceTogether(td, op, options, run);
  const result = reduceEach(td, op, options, run);
  return rename === null ? result : renamed(result, rename);
}

/** Products of everything have the rank of the batch when dimensions are kept. */
function productKept(td: Td, options: SumOptions, run: Reducer): Td | Tensor {
  const { dim, ...rest } = options;
  if (dim === "feature") throw new TypeError("dim='feature' is incompatible with keepdim=True.", { op: "prod" });
  const several = Array.isArray(dim) ? (dim as readonly number[]) : null;
  if (dim !== null && dim !== undefined && several?.length !== 0) {
    return options.reduce === true ? reduceTogether(td, "prod", options, run) : reduceEach(td, "prod", options, run);
  }
  const whole = reduction(td, "prod", { ...rest, keepdim: false }, run);
  return (whole as Tensor).reshape(td._batchSize.map(() => 1)) as Td | Tensor;
}

function firstValue(entry: ValueTd, state: NewState): Td {
  return entry._kind === "nonTensor" ? entry._like(new Map(), state) : make.nonTensor(valuesOf(entry)[0], state);
}

/** `all` and `any` of the tensors: one boolean, or a tree when a batch dimension is named. */
export function allAnyTd(td: Td, kind: "all" | "any", dim?: number): boolean | Td {
  if (dim === undefined) {
    const test = (entry: Entry): boolean => {
      if (entry instanceof Tensor) return Boolean((kind === "all" ? entry.all() : entry.any()).item());
      if (isNested(entry)) throw noNested("a reduction");
      return Boolean(allAnyTd(entry, kind));
    };
    // Values that are no tensors count for neither.
    const entries = entriesOrMembers(td).filter((entry) => !isNonTensor(entry));
    return kind === "all" ? entries.every(test) : entries.some(test);
  }
  const at = wrapBatchDim(dim, td._batchSize.length);
  if (at === null) {
    throw new RuntimeError(
      "dim must be greater than or equal to -tensordict.batch_dims and smaller than tensordict.batch_dims",
      { op: kind },
    );
  }
  return reduceDims(td, [at], false, (t) => (kind === "all" ? t.all(at) : t.any(at)));
}

function entriesOrMembers(td: Td): Entry[] {
  if (isLazy(td)) return [...td.members];
  return [...entriesOf(td)].map(([, entry]) => entry);
}

/** Reduces every tensor to one element. */
export function reduceTd(td: Td, fn: (t: Tensor) => Tensor): Td {
  return applyLeaves(dense(td), (t) => (isUnbatched(t) ? t : fn(t)), { batchSize: [] });
}

/** The batch dimensions that a reduction leaves. */
export function withoutDims<T>(list: readonly T[], dims: readonly number[], keepdim: boolean, one: T): T[] {
  if (keepdim) return list.map((x, i) => (dims.includes(i) ? one : x));
  return list.filter((_, i) => !dims.includes(i));
}

/** Reduces batch dimensions of every tensor; with `common` nested batches get the size of the outer one. */
export function reduceDims(
  td: Td,
  dims: readonly number[],
  keepdim: boolean,
  fn: (t: Tensor) => Tensor,
  common = false,
): Td {
  return reduceBatch(td, {
    common,
    tensor: fn,
    size: (size) => withoutDims(size, dims, keepdim, 1),
    names: (names) => (keepdim ? names : withoutDims(names, dims, false, null)),
  });
}

/** What becomes of tensors and of the batch dimensions; values keep their first one. */
export interface BatchReduction {
  tensor(t: Tensor): Tensor;
  size(size: readonly number[]): readonly number[];
  names(names: readonly (string | null)[]): readonly (string | null)[];
  /** Nested batches get the size and the names of the outer one. */
  common?: boolean;
}

export function reduceBatch(tree: Td, op: BatchReduction, outer: NewState | null = null): Td {
  const td = dense(tree);
  const batchSize = outer?.batchSize ?? Size.fromList([...op.size(td._batchSize)]);
  const names = td._names === null ? null : op.names(td._names);
  const state: NewState = stateOf(td, { batchSize, names: outer === null ? names : outer.names });
  const reduce = (entry: Entry, key: string): Entry => {
    if (entry instanceof Tensor) return entryOf(isUnbatched(entry) ? entry : op.tensor(entry), batchSize);
    if (isNested(entry)) throw noNested("a reduction", key);
    if (isNonTensor(entry)) return firstValue(entry, { ...state, names: null });
    return reduceBatch(entry, op, op.common === true ? state : null);
  };
  return mapEntries(td, reduce, state);
}
