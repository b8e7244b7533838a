// Running extremes, sums of exponentials, and quantiles of collections.
import type { DTypeLike } from "../../tensor/dtype.ts";
import { TypeError, ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { Extremes } from "../core/extremes.ts";
import { lockTd } from "../core/locking.ts";
import { type Td, wrapBatchDim } from "../core/state.ts";
import { tensorsOf } from "./access.ts";
import { emptyTd } from "./key-ops.ts";
import {
  batchDim,
  dense,
  features,
  joined,
  type Reducer,
  reduceBatch,
  reduceDims,
  reduceTd,
  reduceTogether,
  renamed,
  withoutDims,
} from "./reducing.ts";
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
  interpolation?: "linear" | "lower" | "higher" | "midpoint" | "nearest";
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

/** Calls `compute` once for each tensor, however often it is asked. */
export function once<T, A extends readonly unknown[]>(
  compute: (t: Tensor, ...rest: A) => T,
): (t: Tensor, ...rest: A) => T {
  const known = new Map<Tensor, T>();
  return (t, ...rest) => {
    const found = known.get(t) ?? compute(t, ...rest);
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

function quantileOf(q: number | Tensor, options: QuantileOptions): Reducer {
  const { interpolation = "linear" } = options;
  return (t, dim, keepdim) =>
    t.quantile(q as number, { dim: (Array.isArray(dim) ? dim[0] : dim) as number | null, keepdim, interpolation });
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
  let result = reduceTd(td, (t) => t.norm({ dtype }));
  if (options.out) {
    updateTd(options.out, result, { inplace: true });
    result = options.out;
  } else if (td._locked) lockTd(result);
  return options.keyTransform ? renamed(result, options.keyTransform) : result;
}

/** @torch TensorDict.quantile */
export function quantileTd(td: Td, q: number | Tensor, options: QuantileOptions): Td | Tensor {
  if (options.reduce === true) return reduceTogether(td, "quantile", options, quantileOf(q, options));
  const result = separately(td, q, options);
  return options.keyTransform ? renamed(result, options.keyTransform) : result;
}

function separately(td: Td, q: number | Tensor, options: QuantileOptions): Td {
  const { keepdim = false } = options;
  const several = q instanceof Tensor && q.ndim === 1 ? [q._numel] : [];
  const named = several.map(() => null);
  const of = quantileOf(q, options);
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
  if (first === null && !keepdim) return reduceTd(td, (t) => of(t, null, false));
  const at = first === null ? null : batchDim(td, first);
  const dims = at === null ? td._batchSize.map((_, d) => d) : [at];
  return reduceBatch(td, {
    tensor: (t) => of(t, at, keepdim),
    size: (size) => [...several, ...withoutDims(size, [...dims], keepdim, 1)],
    names: (names) => [...named, ...(keepdim ? names : withoutDims(names, [...dims], false, null))],
  });
}
