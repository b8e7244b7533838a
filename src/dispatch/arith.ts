/** Arithmetic operators whose checks or dtypes go beyond the common pointwise path. */

import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";

import { Complex, type Scalar, scalarKind, scalarToNumber, scalarValue } from "../tensor/complex.ts";
import { CPU } from "../tensor/device.ts";
import { bool, type DType, float64, toReal } from "../tensor/dtype.ts";
import { losesDigits } from "../tensor/integers.ts";
import { Tensor } from "../tensor/tensor.ts";
import { empty, emptyCopy, emptyLike } from "./allocate.ts";
import { cast, fill } from "./copy.ts";
import { checkFactor, checkFits, shortNumber } from "./fits.ts";
import { roundTo } from "./narrowing.ts";
import { prepareOut } from "./out.ts";
import {
  binary,
  checkWrite,
  general,
  type Operand,
  type Pointwise,
  RULES,
  scalarAttr,
  unary,
  withNumbers,
} from "./pointwise.ts";
import { canCast, resultType } from "./promotion.ts";
import { type Refusal, refuse } from "./refusals.ts";

const def = (name: string, kernel: Pointwise["kernel"], rule: Pointwise["rule"]): Pointwise => ({ name, kernel, rule });

/** An operator that torch's kernel refuses dtypes for. */
const refusing = (p: Pointwise, refusal: Refusal): Pointwise => ({ ...p, refuses: [refusal] });

/** Bools have no division; complex numbers have no rounding. */
function division(name: string, kernel: Pointwise["kernel"], refusal: Refusal): Pointwise {
  return { ...refusing(def(name, kernel, RULES.arith), refusal), wide: 1 };
}

const ABS = def("abs", K.unary_abs, RULES.abs);
const ABS_REAL: Pointwise = { ...ABS, exactOut: true };
const ISNAN = def("isnan", K.unary_isnan, RULES.compare);
const ADD = def("add", K.binary_add, RULES.arith);
const MUL = def("mul", K.binary_mul, RULES.arith);
const ADD_ALPHA = def("add", K.binary_add_alpha, RULES.arith);
const SUB = def("sub", K.binary_sub, RULES.arith);
const DIV: Pointwise = { ...def("div", K.binary_div, RULES.float), wide: 1 };
const TRUNC_DIV = division("div", K.binary_trunc_divide, REFUSALS.div_trunc_cpu);
const FLOOR_DIV = division("floor_divide", K.binary_floor_divide, REFUSALS.div_floor_cpu);
const REMAINDER = refusing(def("remainder", K.binary_remainder, RULES.arith), REFUSALS.remainder_cpu);
const LERP: Pointwise = { ...def("lerp", K.ternary_lerp, RULES.same), wide: 2, numbersApart: true };
const LERP_NUMBER = refusing({ ...LERP, kernel: K.binary_lerp }, REFUSALS.lerp_kernel_scalar);
const LERP_TENSOR = refusing(LERP, REFUSALS.lerp_kernel_tensor);
const CLAMP_NUMBERS = def("clamp", K.unary_clamp, RULES.same);
const CLAMP: Pointwise = { ...def("clamp", K.ternary_clamp, RULES.arith), numbersApart: true };
const MAXIMUM = def("clamp_min", K.binary_maximum, RULES.arith);
const MINIMUM = def("clamp_max", K.binary_minimum, RULES.arith);
const CLAMP_ONE = {
  min: {
    tensor: refusing(MAXIMUM, REFUSALS.maximum_cpu),
    number: { ...MAXIMUM, exactOut: true, numbersApart: true },
  },
  max: {
    tensor: refusing(MINIMUM, REFUSALS.minimum_cpu),
    number: { ...MINIMUM, exactOut: true, numbersApart: true },
  },
} as const;
const WHERE = def("where", K.ternary_where, RULES.arith);

type Out = Tensor | undefined;

export function abs(self: Tensor, out: Out, inplace: boolean): Tensor {
  if (inplace && self.dtype.category === 3) throw texts.absInPlaceOfComplex(undefined);
  if (inplace) checkWrite(self);
  refuse(REFUSALS.abs_cpu, self.dtype);
  if (self.dtype.category < 3) return unary(ABS_REAL, self, out, inplace);
  // The moduli of complex numbers have the strides of a copy, and a resized output is row-major.
  if (out !== undefined) prepareOut(out, self._shape);
  return general(ABS, [self], out ?? emptyCopy(self, toReal(self.dtype)));
}

export function isnan(self: Tensor): Tensor {
  if (self.dtype.category < 2) return fill(emptyLike(self, bool), false);
  return unary(ISNAN, self);
}

function checkAlpha(result: DType, alpha: Scalar): void {
  const kind = scalarKind(alpha);
  if (kind === "bool" && result !== bool) throw texts.boolAlpha(undefined);
  if (kind !== "bool" && kind !== "int" && result.category < 2) throw texts.floatAlpha(undefined);
  if (kind === "complex" && result.category < 3) throw texts.complexAlpha(undefined);
}

function isOne(alpha: Scalar): boolean {
  return alpha === 1 || (scalarKind(alpha) !== "complex" && scalarToNumber(alpha) === 1);
}

export function add(a: Operand, b: Operand, alpha: Scalar, out: Out, inplace: boolean): Tensor {
  if (alpha === 1) return binary(ADD, a, b, out, inplace);
  const common = resultType([a, b]);
  checkAlpha(common, alpha);
  if (isOne(alpha)) return binary(ADD, a, b, out, inplace);
  return addMultiple(a, b, alpha, common, out, inplace);
}

/** a + alpha * b, alpha rounded as the dtype of computation holds it. */
function addMultiple(a: Operand, b: Operand, alpha: Scalar, common: DType, out: Out, inplace: boolean): Tensor {
  const short = common.category === 2 && !common.native;
  if (common.category === 1 && losesDigits(alpha)) {
    checkFits(alpha, common);
    const multiple = binary(MUL, b instanceof Tensor ? cast(b, common) : fill(empty([], common, CPU), b), alpha);
    return binary(ADD, a, multiple, out, inplace);
  }
  const factor = short ? roundTo(common, scalarToNumber(alpha)) : alpha;
  const set = (): void => scalarAttr(0, factor);
  return general(ADD_ALPHA, [a, b], out, inplace, set, undefined, () => checkFits(alpha, common));
}

function isBool(x: Operand): boolean {
  return x instanceof Tensor ? x.dtype === bool : typeof x === "boolean";
}

function checkSub(a: Operand, b: Operand): void {
  if (isBool(a) && isBool(b)) throw texts.subtractionOfBools(undefined);
  if (isBool(a) || isBool(b)) throw texts.subtractionWithBool(undefined);
}

function negated(alpha: Scalar): Scalar {
  const v = scalarValue(alpha);
  if (v instanceof Complex) return new Complex(-v.re, -v.im);
  // An integer has no negative zero.
  return typeof v === "bigint" ? -v : scalarKind(alpha) === "float" ? -Number(v) : 0 - Number(v);
}

export function sub(a: Operand, b: Operand, alpha: Scalar, out: Out, inplace: boolean): Tensor {
  checkSub(a, b);
  if (alpha === 1) return binary(SUB, a, b, out, inplace);
  const common = resultType([a, b]);
  checkAlpha(common, alpha);
  if (isOne(alpha)) return binary(SUB, a, b, out, inplace);
  return addMultiple(a, b, negated(alpha), common, out, inplace);
}

export function rsub(self: Tensor, other: Operand, alpha: Scalar): Tensor {
  return sub(other, self, alpha, undefined, false);
}

export function trueDivide(a: Operand, b: Operand, out: Out, inplace: boolean): Tensor {
  return binary(DIV, a, b, out, inplace);
}

export function div(a: Operand, b: Operand, mode: string | null, out: Out, inplace: boolean): Tensor {
  if (mode === null) return binary(DIV, a, b, out, inplace);
  if (mode === "floor") return floorDivide(a, b, out, inplace);
  if (mode === "trunc") return binary(TRUNC_DIV, a, b, out, inplace);
  throw texts.unknownRoundingMode(undefined, mode);
}

/** Python's % of a number and a tensor. */
export function remainder(a: Operand, b: Operand, out: Out, inplace: boolean): Tensor {
  return binary(REMAINDER, a, b, out, inplace);
}

export function floorDivide(a: Operand, b: Operand, out: Out, inplace: boolean): Tensor {
  return binary(FLOOR_DIV, a, b, out, inplace);
}

export function lerp(self: Tensor, end: Tensor, weight: Operand, out: Out, inplace: boolean): Tensor {
  const wrong = (what: string, d: DType): never => {
    throw texts.dtypeOfOperand(undefined, self.dtype.cppName, what, d.cppName);
  };
  if (end.dtype !== self.dtype) wrong("end", end.dtype);
  const tensor = weight instanceof Tensor;
  if (tensor && weight._shape.length > 0 && weight.dtype !== self.dtype) wrong("weight", weight.dtype);
  if (!tensor && self.dtype.category === 2) checkFactor(weight, self.dtype);
  const d = tensor ? resultType([self, end, weight]) : self.dtype;
  if (tensor) return general(LERP_TENSOR, [self, end, weight], out, inplace, undefined, d);
  return general(LERP_NUMBER, [self, end], out, inplace, () => scalarAttr(0, weight), d);
}

/** The bound that bounds nothing. */
function noBound(d: DType, high: boolean): Scalar {
  if (d.category === 2) return high ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  const bits = BigInt(8 * d.itemsize);
  const top = d.isSigned ? 2n ** (bits - 1n) - 1n : 2n ** bits - 1n;
  return high ? top : d.isSigned ? -top - 1n : 0n;
}

const isComplex = (x: Operand): boolean => !(x instanceof Tensor) && scalarKind(x) === "complex";

/** Bools have their kernels for one bound that is a tensor only. */
function refuseBounds(d: DType, min: Operand | null, max: Operand | null): void {
  const tensors = [min, max].some((x) => x instanceof Tensor);
  if (min !== null && max !== null) refuse(tensors ? REFUSALS.clamp_cpu : REFUSALS.clamp_scalar_cpu, d);
  if (!tensors) refuse(min === null ? REFUSALS.clamp_max_scalar_cpu : REFUSALS.clamp_min_scalar_cpu, d);
}

/** A bound that is a number, or null where it lies beyond what an integer dtype holds and bounds nothing. */
function boundIn(d: DType, bound: Operand | null, side: "min" | "max"): Operand | null {
  if (bound === null || bound instanceof Tensor) return bound;
  if (d.category !== 1) {
    checkFits(bound, d);
    return bound;
  }
  const x = scalarToNumber(bound);
  const over = x > scalarToNumber(noBound(d, true));
  if (!over && x >= scalarToNumber(noBound(d, false))) return bound;
  if (over === (side === "max")) return null;
  throw texts.clampBoundOutOfRange(undefined, side, shortNumber(x), d.scalarType);
}

export function clamp(self: Tensor, min: Operand | null, max: Operand | null, out: Out, inplace: boolean): Tensor {
  if (min === null && max === null) throw texts.clampWithoutBounds(undefined);
  if (typeof min === "number" && typeof max === "number" && out === undefined) {
    const quick = withNumbers(CLAMP_NUMBERS, self, min, max);
    if (quick !== null) return quick;
  }
  const tensors = [min, max].some((x) => x instanceof Tensor);
  if (!tensors && self.dtype.category === 2) {
    for (const x of [min, max]) if (x !== null && isComplex(x)) checkFits(x as Scalar, float64);
  }
  const d = resultType([self, min, max].filter((x): x is Operand => x !== null));
  if (inplace && !canCast(d, self.dtype)) {
    throw texts.resultCast(undefined, d.scalarType, tensors ? self.dtype.scalarType : self.dtype.cppName);
  }
  if (d.category === 3) throw texts.clampOfComplex(undefined);
  refuseBounds(d, min, max);
  min = boundIn(d, min, "min");
  max = boundIn(d, max, "max");
  const nan = [min, max].some((x) => x !== null && !(x instanceof Tensor) && Number.isNaN(scalarToNumber(x)));
  if (nan) return general(CLAMP, [self, Number.NaN, Number.NaN], out, inplace, undefined, d);
  return general(CLAMP, [self, min ?? noBound(d, false), max ?? noBound(d, true)], out, inplace, undefined, d);
}

/** The larger or smaller of an element and one bound. */
function clampOne(side: "min" | "max", self: Tensor, bound: Operand, out: Out, inplace: boolean): Tensor {
  if (bound instanceof Tensor) return binary(CLAMP_ONE[side].tensor, self, bound, out, inplace);
  const p = CLAMP_ONE[side].number;
  if (!inplace && isComplex(bound)) throw texts.clampOfComplex(undefined);
  const d = resultType([self, bound]);
  if (d.category === 3) throw texts.clampOfComplex(undefined);
  if (inplace && !canCast(d, self.dtype)) throw texts.resultCast(undefined, d.scalarType, self.dtype.cppName);
  refuse(side === "min" ? REFUSALS.clamp_min_scalar_cpu : REFUSALS.clamp_max_scalar_cpu, d);
  return binary(p, self, boundIn(d, bound, side) ?? noBound(d, side === "max"), out, inplace);
}

export function clampMin(self: Tensor, min: Operand, out: Out, inplace: boolean): Tensor {
  return clampOne("min", self, min, out, inplace);
}

export function clampMax(self: Tensor, max: Operand, out: Out, inplace: boolean): Tensor {
  return clampOne("max", self, max, out, inplace);
}

export function where(condition: Tensor, a: Operand, b: Operand, out: Out): Tensor {
  if (condition.dtype !== bool && condition.dtype.name !== "uint8") {
    throw texts.whereConditionNotBool(undefined, condition.dtype.scalarType);
  }
  const d = resultType([a, b]);
  if (out !== undefined && out.dtype !== d) throw texts.outTypeMismatch(undefined, d.scalarType, out.dtype.scalarType);
  const check = (): void => {
    // In short dtypes a number that is too large is infinite.
    const short = d.category === 2 && d.itemsize < 4;
    for (const x of [a, b]) if (!(x instanceof Tensor) && !short) checkFits(x, d);
  };
  return general(WHERE, [condition, a, b], out, false, undefined, d, check);
}
