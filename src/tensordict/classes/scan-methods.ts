// Running extremes, sums of exponentials and quantiles along batch dimensions, and elements in another order.

import type { Tensor } from "../../tensor/tensor.ts";
import type { Extremes } from "../core/extremes.ts";
import type { Td } from "../core/state.ts";
import { Collection } from "../core/state.ts";
import type { Schema } from "../core/types.ts";
import {
  type CumulateOptions,
  cumulated,
  logsumexpTd,
  type NormOptions,
  normTd,
  type QuantileOptions,
  quantileTd,
} from "../ops/accumulating.ts";
import { flipNamed, rollTd, rot90Td } from "../ops/rolling.ts";
import { updateTd } from "../ops/writes.ts";
import type { MapMethods } from "./map-methods.ts";

/** Options of `logsumexp`. */
export interface LogsumexpOptions {
  /** Keep the dimensions, with size one. */
  keepdim?: boolean;
  /** Receives the result. */
  out?: Td | null;
}

/** Options of `roll`. */
export interface RollOptions {
  /** Put the result into the entries of this collection. */
  inplace?: boolean;
}

/** Joined to those of the other files for the compiler: they come into a program one by one (late-methods.ts). */
export interface ScanMethods<in out S = Schema> extends MapMethods<S> {}

/** Running totals, quantiles, and rolled and turned batches. */
export abstract class ScanMethods<in out S = Schema> extends Collection<S> {
  /**
   * The logarithm of the sum of the exponentials over batch dimensions, all of them without a dimension. Dimensions of
   * the tensors behind the batch stay.
   * @throws ValueError for a dimension that is none of the batch
   * @example
   * ```ts
   * new TensorDict({ a: zeros(2, 3) }, [2]).logsumexp().get("a") // tensor([0.6931, 0.6931, 0.6931])
   * ```
   * @torch TensorDict.logsumexp
   */
  logsumexp(dim: number | readonly number[] | null = null, options: LogsumexpOptions = {}): Td {
    const result = logsumexpTd(this._td, dim, options.keepdim === true);
    const out = options.out ?? null;
    if (out === null) return result;
    updateTd(out, result, { inplace: true });
    return out;
  }
  /**
   * The 2-norm of each tensor, over all of its elements: the result has no batch dimensions. Other values stay.
   * @throws NotImplementedError for tensors of integers and bools
   * @example
   * ```ts
   * new TensorDict({ a: tensor([3, 4]) }, [2]).norm().get("a") // tensor(5.)
   * ```
   * @torch TensorDict.norm
   */
  norm(options: NormOptions = {}): Td {
    return normTd(this._td, options);
  }
  /**
   * Greatest elements so far along a batch dimension, and where they were found.
   * @example
   * ```ts
   * new TensorDict({ a: tensor([1, 3, 2]) }, [3]).cummax(0).indices.get("a") // tensor([0, 1, 1])
   * ```
   * @torch TensorDict.cummax
   */
  cummax(dim: number, options: CumulateOptions & { returnIndices: false; reduce?: false }): Td;
  cummax(dim: number, options?: CumulateOptions & { reduce?: false }): Extremes;
  cummax(dim: number, options: CumulateOptions): Extremes | Td | ReturnType<Tensor["cummax"]>;
  cummax(dim: number, options: CumulateOptions = {}): unknown {
    return cumulated(this._td, "cummax", dim, options);
  }
  /**
   * Least elements so far along a batch dimension, and where they were found.
   * @example
   * ```ts
   * new TensorDict({ a: tensor([3, 1, 2]) }, [3]).cummin(0).values.get("a") // tensor([3., 1., 1.])
   * ```
   * @torch TensorDict.cummin
   */
  cummin(dim: number, options: CumulateOptions & { returnIndices: false; reduce?: false }): Td;
  cummin(dim: number, options?: CumulateOptions & { reduce?: false }): Extremes;
  cummin(dim: number, options: CumulateOptions): Extremes | Td | ReturnType<Tensor["cummin"]>;
  cummin(dim: number, options: CumulateOptions = {}): unknown {
    return cumulated(this._td, "cummin", dim, options);
  }
  /**
   * Quantiles of every tensor: of all its elements, along a batch dimension, or with `"feature"` over all dimensions
   * behind the batch. Several shares make a new first dimension. With `reduce` all tensors count as one.
   * @throws TypeError for `"feature"` with `keepdim`
   * @example
   * ```ts
   * new TensorDict({ a: arange(5).float() }, [5]).quantile(0.5).get("a") // tensor(2.)
   * ```
   * @torch TensorDict.quantile
   */
  quantile(q: number | Tensor, options: QuantileOptions & { reduce: true }): Tensor;
  quantile(q: number | Tensor, options?: QuantileOptions & { reduce?: false }): Td;
  quantile(q: number | Tensor, dim?: QuantileOptions["dim"], keepdim?: boolean, options?: QuantileOptions): Td | Tensor;
  quantile(
    q: number | Tensor,
    dim?: QuantileOptions["dim"] | QuantileOptions,
    keepdim?: boolean | QuantileOptions,
    options: QuantileOptions = {},
  ): Td | Tensor {
    const places: QuantileOptions[] = [dim, keepdim].filter((x) => typeof x === "object" && !Array.isArray(x)) as never;
    const given = { ...options, ...Object.assign({}, ...places) } as QuantileOptions;
    if (typeof dim !== "object" || Array.isArray(dim)) given.dim ??= dim as QuantileOptions["dim"];
    if (typeof keepdim === "boolean") given.keepdim ??= keepdim;
    return quantileTd(this._td, q, given);
  }
  /**
   * The elements moved on along batch dimensions, those beyond the end to the beginning; without a dimension as if the
   * batch were in one row.
   * @example
   * ```ts
   * new TensorDict({ a: arange(3) }, [3]).roll(1, 0).get("a") // tensor([2, 0, 1])
   * ```
   * @torch TensorDict.roll
   */
  roll(
    shifts: number | readonly number[],
    dims: number | readonly number[] | RollOptions | null = null,
    options: RollOptions = {},
  ): this {
    const places = typeof dims === "number" || Array.isArray(dims) ? (dims as number | readonly number[]) : null;
    const inplace = options.inplace ?? (dims as RollOptions | null)?.inplace;
    const rolled = rollTd(this._td, shifts, places);
    if (inplace !== true) return rolled as this & Td;
    updateTd(this._td, rolled);
    return this;
  }
  /**
   * Turned by quarters in the plane of two batch dimensions, from the first towards the second.
   * @throws RuntimeError for fewer than two batch dimensions
   * @example
   * ```ts
   * new TensorDict({ a: arange(2).view(1, 2) }, [1, 2]).rot90().get("a") // tensor([[1],
   * //         [0]])
   * ```
   * @torch TensorDict.rot90
   */
  rot90(k = 1, dims: readonly number[] = [0, 1]): this {
    return rot90Td(this._td, k, dims) as this & Td;
  }
  /**
   * The second batch dimension in reverse order.
   * @throws RuntimeError for fewer than two batch dimensions
   * @example
   * ```ts
   * new TensorDict({ a: arange(3).view(1, 3) }, [1, 3]).fliplr().get("a") // tensor([[2, 1, 0]])
   * ```
   * @torch TensorDict.fliplr
   */
  fliplr(): this {
    return flipNamed(this._td, "fliplr", 1) as this & Td;
  }
  /**
   * The first batch dimension in reverse order.
   * @throws RuntimeError for a collection without batch dimensions
   * @example
   * ```ts
   * new TensorDict({ a: arange(3) }, [3]).flipud().get("a") // tensor([2, 1, 0])
   * ```
   * @torch TensorDict.flipud
   */
  flipud(): this {
    return flipNamed(this._td, "flipud", 0) as this & Td;
  }
}
