// The methods of collections that are made from lists of names, each with what it says: see math-methods.ts.
import type { Scalar } from "../../tensor/complex.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Td } from "../core/state.ts";
import type { Fallback } from "../ops/aligning.ts";
import type { Operand } from "../ops/pointwise.ts";
import type { ReduceDim, ReduceOptions, SpreadOptions, SumOptions, TotalOptions } from "../ops/reducing.ts";

/** Which tensors are cast. */
export interface CastOptions {
  /** Called with each key and tensor: those for which it gives false stay as they are. */
  castFilter?: ((key: string | string[], t: Tensor) => boolean) | null;
}

/** All tensors together: one tensor comes out. */
interface TogetherOptions {
  reduce: true;
}

/** What stands for keys that one side lacks. */
export interface DefaultOptions {
  /** A value for what is missing, or `"intersection"` for the keys that both have; without it they are errors. */
  default?: Fallback | null;
}

/** Both sides have the same keys. */
export interface SameKeys {
  /** Nothing stands for keys that one side lacks: they are errors. */
  default?: null;
}

/** How much the other operand counts. */
export interface AlphaOptions {
  /** The other operand is multiplied with it first. */
  alpha?: Scalar;
}

/** Arithmetic of every tensor of a tree at once. */
export interface MathSignatures {
  /** `abs` of every tensor. @torch TensorDict.abs */
  abs(): this;
  /** `acos` of every tensor. @torch TensorDict.acos */
  acos(): this;
  /** `asin` of every tensor. @torch TensorDict.asin */
  asin(): this;
  /** `atan` of every tensor. @torch TensorDict.atan */
  atan(): this;
  /** `ceil` of every tensor. @torch TensorDict.ceil */
  ceil(): this;
  /** `cos` of every tensor. @torch TensorDict.cos */
  cos(): this;
  /** `cosh` of every tensor. @torch TensorDict.cosh */
  cosh(): this;
  /** `erf` of every tensor. @torch TensorDict.erf */
  erf(): this;
  /** `erfc` of every tensor. @torch TensorDict.erfc */
  erfc(): this;
  /** `exp` of every tensor. @torch TensorDict.exp */
  exp(): this;
  /** `expm1` of every tensor. @torch TensorDict.expm1 */
  expm1(): this;
  /** `floor` of every tensor. @torch TensorDict.floor */
  floor(): this;
  /** `frac` of every tensor. @torch TensorDict.frac */
  frac(): this;
  /** `lgamma` of every tensor. @torch TensorDict.lgamma */
  lgamma(): this;
  /** `log` of every tensor. @torch TensorDict.log */
  log(): this;
  /** `log10` of every tensor. @torch TensorDict.log10 */
  log10(): this;
  /** `log1p` of every tensor. @torch TensorDict.log1p */
  log1p(): this;
  /** `log2` of every tensor. @torch TensorDict.log2 */
  log2(): this;
  /** `neg` of every tensor. @torch TensorDict.neg */
  neg(): this;
  /** `reciprocal` of every tensor. @torch TensorDict.reciprocal */
  reciprocal(): this;
  /** `round` of every tensor. @torch TensorDict.round */
  round(): this;
  /** `sigmoid` of every tensor. @torch TensorDict.sigmoid */
  sigmoid(): this;
  /** `sign` of every tensor. @torch TensorDict.sign */
  sign(): this;
  /** `sin` of every tensor. @torch TensorDict.sin */
  sin(): this;
  /** `sinh` of every tensor. @torch TensorDict.sinh */
  sinh(): this;
  /** `sqrt` of every tensor. @torch TensorDict.sqrt */
  sqrt(): this;
  /** `square` of every tensor. @torch TensorDict.square */
  square(): this;
  /** `tan` of every tensor. @torch TensorDict.tan */
  tan(): this;
  /** `tanh` of every tensor. @torch TensorDict.tanh */
  tanh(): this;
  /** `trunc` of every tensor. @torch TensorDict.trunc */
  trunc(): this;
  /** `logicalNot` of every tensor. @torch TensorDict.logical_not */
  logicalNot(): this;
  /** `bitwiseNot` of every tensor. @torch TensorDict.bitwise_not */
  bitwiseNot(): this;
  /** `abs` of every tensor, written into it. @torch TensorDict.abs_ */
  abs_(): this;
  /** `acos` of every tensor, written into it. @torch TensorDict.acos_ */
  acos_(): this;
  /** `asin` of every tensor, written into it. @torch TensorDict.asin_ */
  asin_(): this;
  /** `atan` of every tensor, written into it. @torch TensorDict.atan_ */
  atan_(): this;
  /** `ceil` of every tensor, written into it. @torch TensorDict.ceil_ */
  ceil_(): this;
  /** `cos` of every tensor, written into it. @torch TensorDict.cos_ */
  cos_(): this;
  /** `cosh` of every tensor, written into it. @torch TensorDict.cosh_ */
  cosh_(): this;
  /** `erf` of every tensor, written into it. @torch TensorDict.erf_ */
  erf_(): this;
  /** `erfc` of every tensor, written into it. @torch TensorDict.erfc_ */
  erfc_(): this;
  /** `exp` of every tensor, written into it. @torch TensorDict.exp_ */
  exp_(): this;
  /** `expm1` of every tensor, written into it. @torch TensorDict.expm1_ */
  expm1_(): this;
  /** `floor` of every tensor, written into it. @torch TensorDict.floor_ */
  floor_(): this;
  /** `frac` of every tensor, written into it. @torch TensorDict.frac_ */
  frac_(): this;
  /** `lgamma` of every tensor, written into it. @torch TensorDict.lgamma_ */
  lgamma_(): this;
  /** `log` of every tensor, written into it. @torch TensorDict.log_ */
  log_(): this;
  /** `log10` of every tensor, written into it. @torch TensorDict.log10_ */
  log10_(): this;
  /** `log1p` of every tensor, written into it. @torch TensorDict.log1p_ */
  log1p_(): this;
  /** `log2` of every tensor, written into it. @torch TensorDict.log2_ */
  log2_(): this;
  /** `neg` of every tensor, written into it. @torch TensorDict.neg_ */
  neg_(): this;
  /** `reciprocal` of every tensor, written into it. @torch TensorDict.reciprocal_ */
  reciprocal_(): this;
  /** `round` of every tensor, written into it. @torch TensorDict.round_ */
  round_(): this;
  /** `sigmoid` of every tensor, written into it. @torch TensorDict.sigmoid_ */
  sigmoid_(): this;
  /** `sign` of every tensor, written into it. @torch TensorDict.sign_ */
  sign_(): this;
  /** `sin` of every tensor, written into it. @torch TensorDict.sin_ */
  sin_(): this;
  /** `sinh` of every tensor, written into it. @torch TensorDict.sinh_ */
  sinh_(): this;
  /** `sqrt` of every tensor, written into it. @torch TensorDict.sqrt_ */
  sqrt_(): this;
  /** `square` of every tensor, written into it. @torch TensorDict.square_ */
  square_(): this;
  /** `tan` of every tensor, written into it. @torch TensorDict.tan_ */
  tan_(): this;
  /** `tanh` of every tensor, written into it. @torch TensorDict.tanh_ */
  tanh_(): this;
  /** `trunc` of every tensor, written into it. @torch TensorDict.trunc_ */
  trunc_(): this;
  /** `logicalNot` of every tensor, written into it. @torch TensorDict.logical_not_ */
  logicalNot_(): this;
  /** `bitwiseNot` of every tensor, written into it. @torch TensorDict.bitwise_not_ */
  bitwiseNot_(): this;
  /** Which elements are no numbers. @torch TensorDict.isnan */
  isnan(): this;
  /** Which elements are finite. @torch TensorDict.isfinite */
  isfinite(): this;
  /** Which elements are infinite. @torch TensorDict.isinf */
  isinf(): this;
  /** Which elements are minus infinity. @torch TensorDict.isneginf */
  isneginf(): this;
  /** Which elements are plus infinity. @torch TensorDict.isposinf */
  isposinf(): this;
  /** Which elements have no imaginary part. @torch TensorDict.isreal */
  isreal(): this;
  /** Every tensor as float32. @torch TensorDict.float */
  float(options?: CastOptions): this;
  /** Every tensor as float64. @torch TensorDict.double */
  double(options?: CastOptions): this;
  /** Every tensor as float16. @torch TensorDict.half */
  half(options?: CastOptions): this;
  /** Every tensor as bfloat16. @torch TensorDict.bfloat16 */
  bfloat16(options?: CastOptions): this;
  /** Every tensor as int32. @torch TensorDict.int */
  int(options?: CastOptions): this;
  /** Every tensor as int64. @torch TensorDict.long */
  long(options?: CastOptions): this;
  /** Every tensor as int16. @torch TensorDict.short */
  short(options?: CastOptions): this;
  /** Every tensor as bool. @torch TensorDict.bool */
  bool(options?: CastOptions): this;
  /** Every tensor as float16. @torch TensorDict.float16 */
  float16(options?: CastOptions): this;
  /** Every tensor as float32. @torch TensorDict.float32 */
  float32(options?: CastOptions): this;
  /** Every tensor as float64. @torch TensorDict.float64 */
  float64(options?: CastOptions): this;
  /** Every tensor as int8. @torch TensorDict.int8 */
  int8(options?: CastOptions): this;
  /** Every tensor as int16. @torch TensorDict.int16 */
  int16(options?: CastOptions): this;
  /** Every tensor as int32. @torch TensorDict.int32 */
  int32(options?: CastOptions): this;
  /** Every tensor as int64. @torch TensorDict.int64 */
  int64(options?: CastOptions): this;
  /** Every tensor as uint8. @torch TensorDict.uint8 */
  uint8(options?: CastOptions): this;
  /** Every tensor as uint16. @torch TensorDict.uint16 */
  uint16(options?: CastOptions): this;
  /** Every tensor as uint32. @torch TensorDict.uint32 */
  uint32(options?: CastOptions): this;
  /** Every tensor as uint64. @torch TensorDict.uint64 */
  uint64(options?: CastOptions): this;
  /** Every tensor as complex64. @torch TensorDict.complex64 */
  complex64(options?: CastOptions): this;
  /** Every tensor as complex128. @torch TensorDict.complex128 */
  complex128(options?: CastOptions): this;
  /** `add` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.add */
  add(other: Operand, options?: SameKeys & AlphaOptions): this;
  add(other: Operand, options: DefaultOptions & AlphaOptions): Td;
  /** `sub` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.sub */
  sub(other: Operand, options?: SameKeys & AlphaOptions): this;
  sub(other: Operand, options: DefaultOptions & AlphaOptions): Td;
  /** `mul` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.mul */
  mul(other: Operand, options?: SameKeys): this;
  mul(other: Operand, options: DefaultOptions): Td;
  /** `div` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.div */
  div(other: Operand, options?: SameKeys): this;
  div(other: Operand, options: DefaultOptions): Td;
  /** `pow` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.pow */
  pow(other: Operand, options?: SameKeys): this;
  pow(other: Operand, options: DefaultOptions): Td;
  /** `fmod` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.fmod */
  fmod(other: Operand): this;
  /** `remainder` of every tensor and a number, a tensor or the entry of the same key. @torch TensorDict.remainder */
  remainder(other: Operand): this;
  /** `maximum` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.maximum */
  maximum(other: Operand, options?: SameKeys): this;
  maximum(other: Operand, options: DefaultOptions): Td;
  /** `minimum` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.minimum */
  minimum(other: Operand, options?: SameKeys): this;
  minimum(other: Operand, options: DefaultOptions): Td;
  /** `logicalAnd` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.logical_and */
  logicalAnd(other: Operand, options?: SameKeys): this;
  logicalAnd(other: Operand, options: DefaultOptions): Td;
  /** `logicalOr` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.logical_or */
  logicalOr(other: Operand): this;
  /** `bitwiseAnd` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.bitwise_and */
  bitwiseAnd(other: Operand, options?: SameKeys): this;
  bitwiseAnd(other: Operand, options: DefaultOptions): Td;
  /** `bitwiseOr` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.bitwise_or */
  bitwiseOr(other: Operand): this;
  /** `bitwiseXor` of every tensor and a tensor, or the entry of the same key. @torch TensorDict.bitwise_xor */
  bitwiseXor(other: Operand): this;
  /** `add`, written into every tensor. @torch TensorDict.add_ */
  add_(other: Operand, options?: AlphaOptions): this;
  /** `sub`, written into every tensor. @torch TensorDict.sub_ */
  sub_(other: Operand, options?: AlphaOptions): this;
  /** `mul`, written into every tensor. @torch TensorDict.mul_ */
  mul_(other: Operand): this;
  /** `div`, written into every tensor. @torch TensorDict.div_ */
  div_(other: Operand): this;
  /** `pow`, written into every tensor. @torch TensorDict.pow_ */
  pow_(other: Operand): this;
  /** `fmod`, written into every tensor. @torch TensorDict.fmod_ */
  fmod_(other: Operand): this;
  /** `remainder`, written into every tensor. @torch TensorDict.remainder_ */
  remainder_(other: Operand): this;
  /** `maximum`, written into every tensor. @torch TensorDict.maximum_ */
  maximum_(other: Operand): this;
  /** `minimum`, written into every tensor. @torch TensorDict.minimum_ */
  minimum_(other: Operand): this;
  /** `logicalAnd`, written into every tensor. @torch TensorDict.logical_and_ */
  logicalAnd_(other: Operand): this;
  /** `logicalOr`, written into every tensor. @torch TensorDict.logical_or_ */
  logicalOr_(other: Operand): this;
  /** `bitwiseAnd`, written into every tensor. @torch TensorDict.bitwise_and_ */
  bitwiseAnd_(other: Operand): this;
  /** `bitwiseOr`, written into every tensor. @torch TensorDict.bitwise_or_ */
  bitwiseOr_(other: Operand): this;
  /** `bitwiseXor`, written into every tensor. @torch TensorDict.bitwise_xor_ */
  bitwiseXor_(other: Operand): this;
  /** Which elements are equal: bools, entry by entry. @torch TensorDict.eq */
  eq(other: Operand): this;
  /** Which elements differ: bools, entry by entry. @torch TensorDict.ne */
  ne(other: Operand): this;
  /** Which elements are less: bools, entry by entry. @torch TensorDict.lt */
  lt(other: Operand): this;
  /** Which elements are less or equal: bools, entry by entry. @torch TensorDict.le */
  le(other: Operand): this;
  /** Which elements are greater: bools, entry by entry. @torch TensorDict.gt */
  gt(other: Operand): this;
  /** Which elements are greater or equal: bools, entry by entry. @torch TensorDict.ge */
  ge(other: Operand): this;
  /** The sums of every tensor, along batch dimensions, or of all together. @torch TensorDict.sum */
  sum(options: SumOptions & TogetherOptions): Tensor;
  sum(dim: ReduceDim, options: SumOptions & TogetherOptions): Tensor;
  sum(dim?: ReduceDim | SumOptions, keepdim?: boolean | SumOptions, options?: SumOptions): this;
  /** The means of every tensor, along batch dimensions, or of all together. @torch TensorDict.mean */
  mean(options: SumOptions & TogetherOptions): Tensor;
  mean(dim: ReduceDim, options: SumOptions & TogetherOptions): Tensor;
  mean(dim?: ReduceDim | SumOptions, keepdim?: boolean | SumOptions, options?: SumOptions): this;
  /** The products of every tensor, along batch dimensions, or of all together. @torch TensorDict.prod */
  prod(options: TotalOptions & TogetherOptions): Tensor;
  prod(dim: ReduceDim, options: TotalOptions & TogetherOptions): Tensor;
  prod(dim?: ReduceDim | TotalOptions, keepdim?: boolean | TotalOptions, options?: TotalOptions): this;
  /** The standard deviations of every tensor, along batch dimensions, or of all together. @torch TensorDict.std */
  std(options: SpreadOptions & TogetherOptions): Tensor;
  std(dim: ReduceDim, options: SpreadOptions & TogetherOptions): Tensor;
  std(dim?: ReduceDim | SpreadOptions, keepdim?: boolean | SpreadOptions, options?: SpreadOptions): this;
  /** The variances of every tensor, along batch dimensions, or of all together. @torch TensorDict.var */
  var(options: SpreadOptions & TogetherOptions): Tensor;
  var(dim: ReduceDim, options: SpreadOptions & TogetherOptions): Tensor;
  var(dim?: ReduceDim | SpreadOptions, keepdim?: boolean | SpreadOptions, options?: SpreadOptions): this;
  /** The greatest elements of every tensor, along batch dimensions, or of all together. @torch TensorDict.amax */
  amax(options: ReduceOptions & TogetherOptions): Tensor;
  amax(dim: ReduceDim, options: ReduceOptions & TogetherOptions): Tensor;
  amax(dim?: ReduceDim | ReduceOptions, keepdim?: boolean | ReduceOptions, options?: ReduceOptions): this;
  /** The least elements of every tensor, along batch dimensions, or of all together. @torch TensorDict.amin */
  amin(options: ReduceOptions & TogetherOptions): Tensor;
  amin(dim: ReduceDim, options: ReduceOptions & TogetherOptions): Tensor;
  amin(dim?: ReduceDim | ReduceOptions, keepdim?: boolean | ReduceOptions, options?: ReduceOptions): this;
  /** The sums of the elements that are numbers. @torch TensorDict.nansum */
  nansum(options: TotalOptions & TogetherOptions): Tensor;
  nansum(dim: ReduceDim, options: TotalOptions & TogetherOptions): Tensor;
  nansum(dim?: ReduceDim | TotalOptions, keepdim?: boolean | TotalOptions, options?: TotalOptions): this;
  /** The means of the elements that are numbers. @torch TensorDict.nanmean */
  nanmean(options: TotalOptions & TogetherOptions): Tensor;
  nanmean(dim: ReduceDim, options: TotalOptions & TogetherOptions): Tensor;
  nanmean(dim?: ReduceDim | TotalOptions, keepdim?: boolean | TotalOptions, options?: TotalOptions): this;
}
