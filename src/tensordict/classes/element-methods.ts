// Bounds, weights and masks: functions of several operands, and extremes with the places where they are.

import type { Named } from "../../dispatch/named.ts";
import type { Scalar } from "../../tensor/complex.ts";
import type { DTypeLike } from "../../tensor/dtype.ts";
import { RuntimeError, ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { Extremes } from "../core/extremes.ts";
import { Collection, isLazy, isTensorCollection, make, type Td, wrapBatchDim } from "../core/state.ts";
import type { Schema } from "../core/types.ts";
import { once, onlyTensors } from "../ops/accumulating.ts";
import { applyLeaves, elementwiseTd, type LeafFunction, type ManyFunction, type Operand } from "../ops/pointwise.ts";
import {
  dense,
  type ReduceDim,
  type ReduceOptions,
  type Reducer,
  reduceEach,
  reduceTogether,
} from "../ops/reducing.ts";
import { computed, filtersEmpty, KEEP_LOCK, type MathMethods } from "./math-methods.ts";
import type { DefaultOptions, SameKeys } from "./math-signatures.ts";

/** A bound of `clamp`: none where it is null. */
export type Bound = Operand | null;

/** Options of `min` and `max`. */
export interface ExtremeOptions extends ReduceOptions {
  /** With a dimension, whether the places are given too; true by default. */
  returnIndices?: boolean;
}

type WithPlaces = ExtremeOptions & { returnIndices?: true; reduce?: false };

/** How much the product or the quotient counts. */
export interface ScaleOptions {
  value?: Scalar;
}

const lower: ManyFunction = (t, [bound]) => t.clamp(bound as Tensor);
const upper: ManyFunction = (t, [bound]) => t.clamp(null, bound as Tensor);
const between: ManyFunction = (t, [low, high]) => t.clamp(low as Tensor, high as Tensor);

/** Joined to those of the other files for the compiler: they come into a program one by one (late-methods.ts). */
export interface ElementMethods<in out S = Schema> extends MathMethods<S> {}

/** Functions of several operands. */
export abstract class ElementMethods<in out S = Schema> extends Collection<S> {
  /**
   * Least elements of every tensor, or along a batch dimension with the places where they are.
   * @example
   * ```ts
   * new TensorDict({ a: tensor([3, 1, 2]) }, [3]).min(0).indices.get("a") // tensor(1)
   * ```
   * @torch TensorDict.min
   */
  min(): Td;
  min(dim: number, keepdim?: boolean | WithPlaces, options?: WithPlaces): Extremes;
  min(dim: ReduceDim | ExtremeOptions, keepdim?: boolean | ExtremeOptions, options?: ExtremeOptions): Extremes | Td;
  min(dim?: unknown, keepdim?: unknown, options: ExtremeOptions = {}): unknown {
    return extremes(this._td, "min", dim as ReduceDim | undefined, keepdim as boolean | undefined, options);
  }
  /**
   * Greatest elements of every tensor, or along a batch dimension with the places where they are.
   * @example
   * ```ts
   * new TensorDict({ a: tensor([3, 1, 2]) }, [3]).max().get("a") // tensor(3.)
   * ```
   * @torch TensorDict.max
   */
  max(): Td;
  max(dim: number, keepdim?: boolean | WithPlaces, options?: WithPlaces): Extremes;
  max(dim: ReduceDim | ExtremeOptions, keepdim?: boolean | ExtremeOptions, options?: ExtremeOptions): Extremes | Td;
  max(dim?: unknown, keepdim?: unknown, options: ExtremeOptions = {}): unknown {
    return extremes(this._td, "max", dim as ReduceDim | undefined, keepdim as boolean | undefined, options);
  }
  /**
   * Every tensor between two bounds: numbers, tensors of the batch, or collections with the same keys.
   * @throws ValueError when one bound is a collection and the other is not
   * @example
   * ```ts
   * new TensorDict({ a: arange(4) }, [4]).clamp(1, 2).get("a") // tensor([1, 1, 2, 2])
   * ```
   * @torch TensorDict.clamp
   */
  clamp(min: Bound, max: Bound = null): this {
    if (min === null && max === null) {
      throw new RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None", { op: "clamp" });
    }
    if (min === null) return this.clampMax(max as Operand);
    if (max === null) return this.clampMin(min);
    if (isTensorCollection(min) !== isTensorCollection(max)) {
      throw new ValueError("Mixed tensordict and non-tensordict min/max values are not authorized.");
    }
    return elementwiseTd(this._td, [min, max], between) as this & Td;
  }
  /**
   * No element less than a bound.
   * @example
   * ```ts
   * new TensorDict({ a: arange(4) }, [4]).clampMin(2).get("a") // tensor([2, 2, 2, 3])
   * ```
   * @torch TensorDict.clamp_min
   */
  clampMin(other: Operand, options?: SameKeys): this;
  clampMin(other: Operand, options: DefaultOptions): Td;
  clampMin(other: Operand, options: DefaultOptions = {}): this | Td {
    return bounded(this._td, other, lower, options.default ?? null);
  }
  /**
   * No element greater than a bound.
   * @example
   * ```ts
   * new TensorDict({ a: arange(4) }, [4]).clampMax(2).get("a") // tensor([0, 1, 2, 2])
   * ```
   * @torch TensorDict.clamp_max
   */
  clampMax(other: Operand, options?: SameKeys): this;
  clampMax(other: Operand, options: DefaultOptions): Td;
  clampMax(other: Operand, options: DefaultOptions = {}): this | Td {
    return bounded(this._td, other, upper, options.default ?? null);
  }
  /**
   * Raises what is less than a bound to it, in place.
   * @example
   * ```ts
   * new TensorDict({ a: arange(3) }, [3]).clampMin_(1).get("a") // tensor([1, 1, 2])
   * ```
   * @torch TensorDict.clamp_min_
   */
  clampMin_(other: Operand): this {
    elementwiseTd(this._td, [other], (t, [bound]) => t.clamp_(bound as Tensor), { inplace: true });
    return this;
  }
  /**
   * Lowers what is greater than a bound to it, in place.
   * @example
   * ```ts
   * new TensorDict({ a: arange(3) }, [3]).clampMax_(1).get("a") // tensor([0, 1, 1])
   * ```
   * @torch TensorDict.clamp_max_
   */
  clampMax_(other: Operand): this {
    elementwiseTd(this._td, [other], (t, [bound]) => t.clamp_(null, bound as Tensor), { inplace: true });
    return this;
  }
  /**
   * Between these tensors and others: `self + weight * (end - self)`.
   * @example
   * ```ts
   * new TensorDict({ a: zeros(2) }, [2]).lerp(new TensorDict({ a: ones(2) }, [2]), 0.25).get("a")
   * // tensor([0.2500, 0.2500])
   * ```
   * @torch TensorDict.lerp
   */
  lerp(end: Operand, weight: Operand): this {
    return computed(this._td, elementwiseTd(this._td, [end, weight], interpolate, KEEP_LOCK)) as this & Td;
  }
  /**
   * `lerp`, written into every tensor.
   * @example
   * ```ts
   * new TensorDict({ a: zeros(2) }, [2]).lerp_(new TensorDict({ a: ones(2) }, [2]), 0.5).get("a")
   * // tensor([0.5000, 0.5000])
   * ```
   * @torch TensorDict.lerp_
   */
  lerp_(end: Operand, weight: Operand): this {
    elementwiseTd(this._td, [end, weight], (t, [to, by]) => t.lerp_(to as Tensor, by as Tensor), { inplace: true });
    return this;
  }
  /**
   * The product of two others added: `self + value * other1 * other2`.
   * @example
   * ```ts
   * const td = new TensorDict({ a: ones(2) }, [2]);
   * td.addcmul(td, td, { value: 3 }).get("a") // tensor([4., 4.])
   * ```
   * @torch TensorDict.addcmul
   */
  addcmul(other1: Operand, other2: Operand, options: ScaleOptions = {}): this {
    const add: ManyFunction = (t, [a, b]) => t.addcmul(a as Tensor, b as Tensor, options);
    return computed(this._td, elementwiseTd(this._td, [other1, other2], add, KEEP_LOCK)) as this & Td;
  }
  /**
   * `addcmul`, written into every tensor.
   * @example
   * ```ts
   * const two = new TensorDict({ a: ones(2).mul(2) }, [2]);
   * new TensorDict({ a: ones(2) }, [2]).addcmul_(two, two).get("a") // tensor([5., 5.])
   * ```
   * @torch TensorDict.addcmul_
   */
  addcmul_(other1: Operand, other2: Operand, options: ScaleOptions = {}): this {
    const add: ManyFunction = (t, [a, b]) => t.addcmul_(a as Tensor, b as Tensor, options);
    elementwiseTd(this._td, [other1, other2], add, { inplace: true });
    return this;
  }
  /**
   * The quotient of two others added: `self + value * other1 / other2`.
   * @example
   * ```ts
   * const td = new TensorDict({ a: ones(2) }, [2]);
   * td.addcdiv(td, td, { value: 0.5 }).get("a") // tensor([1.5000, 1.5000])
   * ```
   * @torch TensorDict.addcdiv
   */
  addcdiv(other1: Operand, other2: Operand, options: ScaleOptions = {}): this {
    const add: ManyFunction = (t, [a, b]) => t.addcdiv(a as Tensor, b as Tensor, options);
    return computed(this._td, elementwiseTd(this._td, [other1, other2], add, KEEP_LOCK)) as this & Td;
  }
  /**
   * `addcdiv`, written into every tensor.
   * @example
   * ```ts
   * const two = new TensorDict({ a: ones(2).mul(2) }, [2]);
   * new TensorDict({ a: ones(2) }, [2]).addcdiv_(two, two).get("a") // tensor([2., 2.])
   * ```
   * @torch TensorDict.addcdiv_
   */
  addcdiv_(other1: Operand, other2: Operand, options: ScaleOptions = {}): this {
    const add: ManyFunction = (t, [a, b]) => t.addcdiv_(a as Tensor, b as Tensor, options);
    elementwiseTd(this._td, [other1, other2], add, { inplace: true });
    return this;
  }
  /**
   * Exponentials that add up to one along a batch dimension.
   * @example
   * ```ts
   * new TensorDict({ a: zeros(2, 3) }, [2]).softmax(0).get("a").at(0) // tensor([0.5000, 0.5000, 0.5000])
   * ```
   * @torch TensorDict.softmax
   */
  softmax(dim: number, dtype: DTypeLike | null = null): this {
    return softmaxTd(this._td, dim, dtype) as this & Td;
  }
  /**
   * A copy with a value where a mask of the batch is true.
   * @param mask bools of the shape of the batch, or of its first dimensions
   * @example
   * ```ts
   * new TensorDict({ a: ones(2, 2) }, [2]).maskedFill(tensor([true, false]), 0).get("a")
   * // tensor([[0., 0.],
   * //         [1., 1.]])
   * ```
   * @torch TensorDict.masked_fill
   */
  maskedFill(mask: Tensor, value: Scalar): this {
    const fill = (t: Tensor, _path: readonly string[], [where]: readonly unknown[]) =>
      t.clone().maskedFill_(where as Tensor, value);
    return applyLeaves(this._td, fill, {}, [mask]) as this & Td;
  }
  /**
   * Writes a value where a mask of the batch is true.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2) }, [2]).maskedFill_(tensor([true, false]), 5).get("a") // tensor([5., 1.])
   * ```
   * @torch TensorDict.masked_fill_
   */
  maskedFill_(mask: Tensor, value: Scalar): this {
    elementwiseTd(this._td, [mask], (t, [where]) => t.maskedFill_(where as Tensor, value), { inplace: true });
    return this;
  }
  /**
   * Every tensor as another dtype.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2) }, [2]).type(int64).get("a") // tensor([1, 1])
   * ```
   * @torch TensorDict.type
   */
  type(dstType: DTypeLike): this {
    return applyLeaves(this._td, (t) => t.to(dstType)) as this & Td;
  }
}

/** Each tensor with the operands, where both have a value under a key or `fallback` stands for one. */
function bounded(
  td: Td,
  other: Operand,
  bound: ManyFunction,
  fallback: NonNullable<DefaultOptions["default"]> | null,
): Td {
  const how = { ...KEEP_LOCK, fallback, filterEmpty: filtersEmpty(other) };
  return computed(td, elementwiseTd(td, [other], bound, how));
}

const interpolate: ManyFunction = (t, [end, weight]) => t.lerp(end as Tensor, weight as Tensor);

function softmaxTd(td: Td, dim: number, dtype: DTypeLike | null): Td {
  const at = wrapBatchDim(dim, td._batchSize.length);
  if (at === null) {
    throw new RuntimeError(`dim ${dim} is out of range for a batch of ${td._batchSize.length} dimensions`, {
      op: "softmax",
    });
  }
  const softmax = (t: Tensor) => t.softmax(at, dtype === null ? {} : { dtype });
  if (!isLazy(td)) return applyLeaves(td, softmax);
  const { stackDim } = td;
  if (at === stackDim) {
    const parts = softmaxTd(td._densify(), at, dtype).unbind(at) as readonly Td[];
    // What only some members have is no part of the stack: it is taken by itself.
    const own: LeafFunction = (t, _, [value]) => (value instanceof Tensor ? value.clone() : softmax(t));
    const members = td.members.map((member, i) => applyLeaves(member, own, { default: undefined }, [parts[i] as Td]));
    return make.lazy(members, at, td.stackDimName);
  }
  const members = td.members.map((member) => softmaxTd(member, at < stackDim ? at : at - 1, dtype));
  return make.lazy(members, stackDim, td.stackDimName);
}

function extremes(
  td: Td,
  name: "min" | "max",
  dim: ReduceDim | undefined,
  keepdim: boolean | undefined,
  options: ExtremeOptions,
): Extremes | Td | Tensor | Named<readonly ["values", "indices"]> {
  const given = { ...options, dim, keepdim };
  // Of everything there is one element, along a dimension there are places too.
  const both: Reducer<Tensor | Named<readonly ["values", "indices"]>> = (t, at, keeps) =>
    at === null ? t[name]() : t[name](at as number, { keepdim: keeps });
  if (options.reduce === true) return reduceTogether(td, name, given, both);
  const found = once((t: Tensor, at: unknown, keepdim: boolean) => t[name](at as number, { keepdim }));
  const part = (which: 0 | 1): Reducer => {
    return (t, at, keeps) => (at === null ? t[name]() : found(t, at, keeps)[which]);
  };
  const tree = dense(td);
  const values = reduceEach(tree, name, given, part(0));
  if ((dim ?? null) === null || options.returnIndices === false) return values;
  const indices = reduceEach(tree, name, given, part(1));
  return new Extremes(name, onlyTensors(values), onlyTensors(indices));
}
