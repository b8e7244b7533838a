// Running extremes, sums of exponentials, and quantiles of collections.
import type { DTypeLike } from "../../tensor/dtype.ts";
import { IndexError, TypeError, ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { Extremes } from "../core/extremes.ts";
import { lockTd } from "../core/locking.ts";
import { entriesOf, isLazy, isNonTensor, isTensorCollection, stateOf, type Td, wrapBatchDim } from "../core/state.ts";
import { catTensors } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { tensorsOf } from "./access.ts";
import { emptyTd } from "./key-ops.ts";
import { reduceBatch, reduceDims, reduceTd, withoutDims } from "./pointwise.ts";
import { setEntry, updateTd } from "./writes.ts";

/** Options of `cummax` and `cummin`. */
export interface CumulateOptions {
  /** Join the tensors along the dimension first. */
  reduce?: boolean | null;
  /** Whether the places are given too; true by default. */
  returnIndices?: boolean;
}

/** Options of `quantile`. */
export interface QuantileOptions {
  /** A batch dimension, or `"feature"`; without it everything of each tensor counts. */
  dim?: number | readonly number[] | "feature" | null;
  /** Keep the dimension, with size one. */
  keepdim?: boolean;
  /** What is taken between two elements: `"linear"`, `"lower"`, `"higher"`, `"midpoint"` or `"nearest"`. */
  interpolation?: string;
  /** One quantile of all tensors together. */
  reduce?: boolean | null;
  /** Gives the names of the result's entries. */
  keyTransform?: ((key: string) => string) | null;
}

/** The tensors of a tree, without values and classes. */
export function onlyTensors(td: Td): Td {
  const plain = emptyTd(td, false, {});
  for (const [path, t] of tensorsOf(td)) setEntry(plain, path, t);
  return plain;
}

/** @torch TensorDict.logsumexp */
export function logsumexpTd(td: Td, dim: number | readonly number[] | null, keepdim: boolean): Td {
  const rank = td._batchSize.length;
  const given = dim === null ? td._batchSize.map((_, d) => d) : typeof dim === "number" ? [dim] : dim;
  const dims = [...given].map((d) => {
    const at = wrapBatchDim(d, rank);
    if (at !== null) return at;
    const text = typeof dim === "number" ? String(dim) : `(${[...given].join(", ")}${given.length === 1 ? "," : ""})`;
    throw new ValueError(`The dimension ${text} is incompatible with a tensordict with batch_size ${td._batchSize}.`);
  });
  return reduceDims(td, dims, keepdim, (t) => t.logsumexp(dims, { keepdim }));
}

function batchDim(td: Td, dim: number): number {
  const at = wrapBatchDim(dim, td._batchSize.length);
  if (at !== null) return at;
  throw new IndexError(`Incompatible dim ${dim} for tensordict with batch dims ${td._batchSize.length}.`);
}

/** The tensors of a tree one after the other along a dimension. */
function joined(td: Td, op: string, dim: number, shaped: (t: Tensor) => Tensor): Tensor {
  const tensors = [...tensorsOf(td)].map(([, t]) => shaped(t));
  if (tensors.length === 0) {
    throw new ValueError(
      `${op}(reduce=True) reduces the tensor leaves together, and this tensordict has no tensor leaves.`,
      { op },
    );
  }
  return catTensors(tensors, dim);
}

/** The same entries, those of lazy stacks stacked. */
export const dense = (td: Td): Td => (isLazy(td) ? td.densify() : td);

/** Calls `compute` once for each tensor, however often it is asked. */
export function once<T>(compute: (t: Tensor) => T): (t: Tensor) => T {
  const known = new Map<Tensor, T>();
  return (t) => {
    const found = known.get(t) ?? compute(t);
    known.set(t, found);
    return found;
  };
}

/** @torch TensorDict.cummax, TensorDict.cummin */
export function cumulated(td: Td, op: "cummax" | "cummin", dim: number, options: CumulateOptions): unknown {
  if (options.reduce === true) return joined(dense(td), op, dim, (t) => t)[op](dim);
  const at = batchDim(td, dim);
  const scanned = once((t) => t[op](at));
  const tree = dense(td);
  const part = (which: 0 | 1) =>
    reduceBatch(tree, {
      tensor: (t) => scanned(t)[which],
      size: (size) => size,
      names: (names) => names,
    });
  const values = part(0);
  return options.returnIndices === false ? values : new Extremes(op, onlyTensors(values), onlyTensors(part(1)));
}

/** Dimensions behind the batch as one. */
function features(t: Tensor, rank: number): Tensor {
  return t.ndim > rank ? t.flatten(rank, -1) : t.unsqueeze(-1);
}

function together(td: Td, q: number | Tensor, options: QuantileOptions): Tensor {
  const { interpolation = "linear", keepdim = false } = options;
  const of = (t: Tensor, dim: number | null, keeps: boolean): Tensor =>
    t.quantile(q as number, { dim, keepdim: keeps, interpolation });
  const dim = options.dim ?? null;
  if (dim === null)
    return of(
      joined(td, "quantile", 0, (t) => t.contiguous().flatten()),
      null,
      keepdim,
    );
  const rank = td._batchSize.length;
  if (dim === "feature")
    return of(
      joined(dense(td), "quantile", -1, (t) => features(t, rank)),
      -1,
      false,
    );
  const at = typeof dim === "number" ? dim : (dim[0] as number);
  return of(
    joined(dense(td), "quantile", at, (t) => t),
    at,
    keepdim,
  );
}

function renamed(td: Td, rename: (key: string) => string): Td {
  const entries = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    const inner = isTensorCollection(entry) && !isNonTensor(entry) ? renamed(entry, rename) : entry;
    entries.set(rename(key), inner);
  }
  return td._like(entries, stateOf(td));
}

/** Options of `norm`. */
export interface NormOptions {
  /** Receives the result. */
  out?: Td | null;
  /** The dtype in which the norms are computed. */
  dtype?: DTypeLike | null;
  /** Gives the names of the result's entries. */
  keyTransform?: ((key: string) => string) | null;
}

/** @torch TensorDict.norm */
export function normTd(td: Td, options: NormOptions): Td {
  const dtype = options.dtype ?? null;
  let result = reduceTd(td, (t) => t.norm({ dtype }), undefined, false);
  if (options.out) {
    updateTd(options.out, result, { inplace: true });
    result = options.out;
  } else if (td._locked) lockTd(result);
  return options.keyTransform ? renamed(result, options.keyTransform) : result;
}

/** @torch TensorDict.quantile */
export function quantileTd(td: Td, q: number | Tensor, options: QuantileOptions): Td | Tensor {
  if (options.reduce === true) return together(td, q, options);
  const result = separately(td, q, options);
  return options.keyTransform ? renamed(result, options.keyTransform) : result;
}

function separately(td: Td, q: number | Tensor, options: QuantileOptions): Td {
  const { interpolation = "linear", keepdim = false } = options;
  const several = q instanceof Tensor && q.ndim === 1 ? [q._numel] : [];
  const named = several.map(() => null);
  const of = (t: Tensor, dim: number | null, keeps: boolean): Tensor =>
    t.quantile(q as number, { dim, keepdim: keeps, interpolation });
  const given = options.dim ?? null;
  if (given === "feature") {
    if (keepdim) throw new TypeError("dim='feature' is incompatible with keepdim=True.", { op: "quantile" });
    const rank = td._batchSize.length;
    return reduceBatch(td, {
      tensor: (t) => of(features(t, rank), -1, false),
      size: (size) => [...several, ...size],
      names: (names) => [...named, ...names],
    });
  }
  const first = typeof given === "number" ? given : (given?.[0] ?? null);
  if (first === null && !keepdim) return reduceTd(td, (t) => of(t, null, false), undefined, false);
  const at = first === null ? null : batchDim(td, first);
  const dims = at === null ? td._batchSize.map((_, d) => d) : [at];
  return reduceBatch(td, {
    tensor: (t) => of(t, at, keepdim),
    size: (size) => [...several, ...withoutDims(size, [...dims], keepdim, 1)],
    names: (names) => [...named, ...(keepdim ? names : withoutDims(names, [...dims], false, null))],
  });
}
