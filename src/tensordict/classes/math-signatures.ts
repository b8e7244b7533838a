// The methods of collections that are made from lists of names, each with what it says: see math-methods.ts.
import type { Scalar } from "../../tensor/complex.ts";
import type { Td } from "../core/state.ts";
import type { Fallback } from "../ops/aligning.ts";
import type { Operand } from "../ops/pointwise.ts";

/** Where a reduction works. */
export interface ReduceOptions {
  /** A batch dimension; without it everything of each tensor is reduced. */
  dim?: number;
  /** Keep the dimension, with size one. */
  keepdim?: boolean;
}

/** What stands for keys that one side lacks. */
export interface DefaultOptions {
  /** A value for what is missing, or `"intersection"` for the keys that both have; without it they are errors. */
  default?: Fallback | null;
}

/** How much the other operand counts. */
export interface AlphaOptions {
  /** The other operand is multiplied with it first. */
  alpha?: Scalar;
}

/** Arithmetic of every tensor of a tree at once. */
export interface MathSignatures {
  /** `abs` of every tensor. @torch TensorDict.abs */
  abs(): Td;
  /** `ceil` of every tensor. @torch TensorDict.ceil */
  ceil(): Td;
  /** `cos` of every tensor. @torch TensorDict.cos */
  cos(): Td;
  /** `exp` of every tensor. @torch TensorDict.exp */
  exp(): Td;
  /** `expm1` of every tensor. @torch TensorDict.expm1 */
  expm1(): Td;
  /** `floor` of every tensor. @torch TensorDict.floor */
  floor(): Td;
  /** `frac` of every tensor. @torch TensorDict.frac */
  frac(): Td;
  /** `log` of every tensor. @torch TensorDict.log */
  log(): Td;
  /** `log1p` of every tensor. @torch TensorDict.log1p */
  log1p(): Td;
  /** `neg` of every tensor. @torch TensorDict.neg */
  neg(): Td;
  /** `reciprocal` of every tensor. @torch TensorDict.reciprocal */
  reciprocal(): Td;
  /** `round` of every tensor. @torch TensorDict.round */
  round(): Td;
  /** `sigmoid` of every tensor. @torch TensorDict.sigmoid */
  sigmoid(): Td;
  /** `sign` of every tensor. @torch TensorDict.sign */
  sign(): Td;
  /** `sin` of every tensor. @torch TensorDict.sin */
  sin(): Td;
  /** `sqrt` of every tensor. @torch TensorDict.sqrt */
  sqrt(): Td;
  /** `square` of every tensor. @torch TensorDict.square */
  square(): Td;
  /** `tanh` of every tensor. @torch TensorDict.tanh */
  tanh(): Td;
  /** `trunc` of every tensor. @torch TensorDict.trunc */
  trunc(): Td;
  /** `logicalNot` of every tensor. @torch TensorDict.logical_not */
  logicalNot(): Td;
  /** `bitwiseNot` of every tensor. @torch TensorDict.bitwise_not */
  bitwiseNot(): Td;
  /** `abs` of every tensor, written into it. @torch TensorDict.abs_ */
  abs_(): Td;
  /** `ceil` of every tensor, written into it. @torch TensorDict.ceil_ */
  ceil_(): Td;
  /** `cos` of every tensor, written into it. @torch TensorDict.cos_ */
  cos_(): Td;
  /** `exp` of every tensor, written into it. @torch TensorDict.exp_ */
  exp_(): Td;
  /** `expm1` of every tensor, written into it. @torch TensorDict.expm1_ */
  expm1_(): Td;
  /** `floor` of every tensor, written into it. @torch TensorDict.floor_ */
  floor_(): Td;
  /** `frac` of every tensor, written into it. @torch TensorDict.frac_ */
  frac_(): Td;
  /** `log` of every tensor, written into it. @torch TensorDict.log_ */
  log_(): Td;
  /** `log1p` of every tensor, written into it. @torch TensorDict.log1p_ */
  log1p_(): Td;
  /** `neg` of every tensor, written into it. @torch TensorDict.neg_ */
  neg_(): Td;
  /** `reciprocal` of every tensor, written into it. @torch TensorDict.reciprocal_ */
  reciprocal_(): Td;
  /** `round` of every tensor, written into it. @torch TensorDict.round_ */
  round_(): Td;
  /** `sigmoid` of every tensor, written into it. @torch TensorDict.sigmoid_ */
  sigmoid_(): Td;
  /** `sign` of every tensor, written into it. @torch TensorDict.sign_ */
  sign_(): Td;
  /** `sin` of every tensor, written into it. @torch TensorDict.sin_ */
  sin_(): Td;
  /** `sqrt` of every tensor, written into it. @torch TensorDict.sqrt_ */
  sqrt_(): Td;
  /** `square` of every tensor, written into it. @torch TensorDict.square_ */
  square_(): Td;
  /** `tanh` of every tensor, written into it. @torch TensorDict.tanh_ */
  tanh_(): Td;
  /** `trunc` of every tensor, written into it. @torch TensorDict.trunc_ */
  trunc_(): Td;
  /** `logicalNot` of every tensor, written into it. @torch TensorDict.logical_not_ */
  logicalNot_(): Td;
  /** `bitwiseNot` of every tensor, written into it. @torch TensorDict.bitwise_not_ */
  bitwiseNot_(): Td;
  /** Which elements are no numbers. @torch TensorDict.isnan */
  isnan(): Td;
  /** Which elements are finite. @torch TensorDict.isfinite */
  isfinite(): Td;
  /** Which elements are infinite. @torch TensorDict.isinf */
  isinf(): Td;
  /** Which elements are minus infinity. @torch TensorDict.isneginf */
  isneginf(): Td;
  /** Which elements are plus infinity. @torch TensorDict.isposinf */
  isposinf(): Td;
  /** Which elements have no imaginary part. @torch TensorDict.isreal */
  isreal(): Td;
  /** Every tensor as float32. @torch TensorDict.float */
  float(): Td;
  /** Every tensor as float64. @torch TensorDict.double */
  double(): Td;
  /** Every tensor as float16. @torch TensorDict.half */
  half(): Td;
  /** Every tensor as bfloat16. @torch TensorDict.bfloat16 */
  bfloat16(): Td;
  /** Every tensor as int32. @torch TensorDict.int */
  int(): Td;
  /** Every tensor as int64. @torch TensorDict.long */
  long(): Td;
  /** Every tensor as int16. @torch TensorDict.short */
  short(): Td;
  /** Every tensor as bool. @torch TensorDict.bool */
  bool(): Td;
  /** `add` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.add */
  add(other: Operand, options?: DefaultOptions & AlphaOptions): Td;
  /** `sub` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.sub */
  sub(other: Operand, options?: DefaultOptions & AlphaOptions): Td;
  /** `mul` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.mul */
  mul(other: Operand, options?: DefaultOptions): Td;
  /** `div` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.div */
  div(other: Operand, options?: DefaultOptions): Td;
  /** `pow` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.pow */
  pow(other: Operand, options?: DefaultOptions): Td;
  /** `fmod` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.fmod */
  fmod(other: Operand): Td;
  /** `remainder` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.remainder */
  remainder(other: Operand): Td;
  /** `maximum` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.maximum */
  maximum(other: Operand, options?: DefaultOptions): Td;
  /** `minimum` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.minimum */
  minimum(other: Operand, options?: DefaultOptions): Td;
  /** `logicalAnd` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.logical_and */
  logicalAnd(other: Operand, options?: DefaultOptions): Td;
  /** `logicalOr` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.logical_or */
  logicalOr(other: Operand): Td;
  /** `bitwiseAnd` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.bitwise_and */
  bitwiseAnd(other: Operand, options?: DefaultOptions): Td;
  /** `bitwiseOr` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.bitwise_or */
  bitwiseOr(other: Operand): Td;
  /** `bitwiseXor` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.bitwise_xor */
  bitwiseXor(other: Operand): Td;
  /** `add`, written into every tensor. @torch TensorDict.add_ */
  add_(other: Operand, options?: AlphaOptions): Td;
  /** `sub`, written into every tensor. @torch TensorDict.sub_ */
  sub_(other: Operand, options?: AlphaOptions): Td;
  /** `mul`, written into every tensor. @torch TensorDict.mul_ */
  mul_(other: Operand): Td;
  /** `div`, written into every tensor. @torch TensorDict.div_ */
  div_(other: Operand): Td;
  /** `pow`, written into every tensor. @torch TensorDict.pow_ */
  pow_(other: Operand): Td;
  /** `fmod`, written into every tensor. @torch TensorDict.fmod_ */
  fmod_(other: Operand): Td;
  /** `remainder`, written into every tensor. @torch TensorDict.remainder_ */
  remainder_(other: Operand): Td;
  /** `maximum`, written into every tensor. @torch TensorDict.maximum_ */
  maximum_(other: Operand): Td;
  /** `minimum`, written into every tensor. @torch TensorDict.minimum_ */
  minimum_(other: Operand): Td;
  /** `logicalAnd`, written into every tensor. @torch TensorDict.logical_and_ */
  logicalAnd_(other: Operand): Td;
  /** `logicalOr`, written into every tensor. @torch TensorDict.logical_or_ */
  logicalOr_(other: Operand): Td;
  /** `bitwiseAnd`, written into every tensor. @torch TensorDict.bitwise_and_ */
  bitwiseAnd_(other: Operand): Td;
  /** `bitwiseOr`, written into every tensor. @torch TensorDict.bitwise_or_ */
  bitwiseOr_(other: Operand): Td;
  /** `bitwiseXor`, written into every tensor. @torch TensorDict.bitwise_xor_ */
  bitwiseXor_(other: Operand): Td;
  /** Which elements are equal: bools, entry by entry. @torch TensorDict.eq */
  eq(other: Operand): Td;
  /** Which elements differ: bools, entry by entry. @torch TensorDict.ne */
  ne(other: Operand): Td;
  /** Which elements are less: bools, entry by entry. @torch TensorDict.lt */
  lt(other: Operand): Td;
  /** Which elements are less or equal: bools, entry by entry. @torch TensorDict.le */
  le(other: Operand): Td;
  /** Which elements are greater: bools, entry by entry. @torch TensorDict.gt */
  gt(other: Operand): Td;
  /** Which elements are greater or equal: bools, entry by entry. @torch TensorDict.ge */
  ge(other: Operand): Td;
  /** The sums of every tensor, or along a batch dimension. @torch TensorDict.sum */
  sum(dim?: number | ReduceOptions, options?: ReduceOptions): Td;
  /** The means of every tensor, or along a batch dimension. @torch TensorDict.mean */
  mean(dim?: number | ReduceOptions, options?: ReduceOptions): Td;
  /** The products of every tensor, or along a batch dimension. @torch TensorDict.prod */
  prod(dim?: number | ReduceOptions, options?: ReduceOptions): Td;
  /** The standard deviations of every tensor, or along a batch dimension. @torch TensorDict.std */
  std(dim?: number | ReduceOptions, options?: ReduceOptions): Td;
  /** The variances of every tensor, or along a batch dimension. @torch TensorDict.var */
  var(dim?: number | ReduceOptions, options?: ReduceOptions): Td;
  /** The greatest elements of every tensor, or along a batch dimension. @torch TensorDict.amax */
  amax(dim?: number | ReduceOptions, options?: ReduceOptions): Td;
  /** The least elements of every tensor, or along a batch dimension. @torch TensorDict.amin */
  amin(dim?: number | ReduceOptions, options?: ReduceOptions): Td;
  /** The sums of the elements that are numbers. @torch TensorDict.nansum */
  nansum(dim?: number | ReduceOptions, options?: ReduceOptions): Td;
  /** The means of the elements that are numbers. @torch TensorDict.nanmean */
  nanmean(dim?: number | ReduceOptions, options?: ReduceOptions): Td;
}
