/** Powers. torch multiplies, divides and takes roots for a few exponents that are numbers. */

import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import { Complex, type Scalar, scalarKind, scalarToNumber, scalarValue } from "../tensor/complex.ts";
import { bfloat16, bool, type DType, float16 } from "../tensor/dtype.ts";
import { dropCopy } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { broadcastShapes } from "./allocate.ts";
import { denseOf, fill } from "./copy.ts";
import { checkFits } from "./fits.ts";
import { roundTo } from "./narrowing.ts";
import { binary, general, type Operand, type Pointwise, RULES, unary } from "./pointwise.ts";
import { resultType2 } from "./promotion.ts";
import { refuse } from "./refusals.ts";

type Out = Tensor | undefined;

const def = (kernel: Pointwise["kernel"]): Pointwise => ({ name: "pow", kernel, rule: RULES.arith });
const POW: Pointwise = { ...def(K.binary_pow), numbersApart: true };
const PRODUCT = def(K.binary_mul);
const CUBE = def(K.unary_cube);
const SQRT = def(K.unary_sqrt);
const RSQRT = def(K.unary_rsqrt);
const RECIPROCAL = def(K.unary_reciprocal);
const COPY = def(K.unary_convert);

export function pow(a: Operand, b: Operand, out: Out, inplace: boolean): Tensor {
  const common = resultType2(a, b);
  if (!(b instanceof Tensor)) {
    if (common.category < 2 && scalarToNumber(b) < 0) throw texts.negativePower(undefined);
    return toNumber(a as Tensor, b, common, out, inplace);
  }
  if (!(a instanceof Tensor) && scalarKind(a) !== "bool" && realValue(a) === 1) {
    const dense = denseOf(b);
    const ones = fill(one(COPY, dense, common, out, inplace), 1);
    if (ones !== dense) dropCopy(dense, b);
    return ones;
  }
  if (a instanceof Tensor && common === bool) broadcastShapes(a._shape, b._shape, "pow");
  refuse(REFUSALS.pow, common);
  // torch gives the powers of a number row by row.
  const powers = a instanceof Tensor || out !== undefined ? b : denseOf(b);
  const result = binary(POW, a, powers, out, inplace);
  dropCopy(powers, b);
  return result;
}

/** A number without an imaginary part; NaN, which equals none, for others. */
function realValue(x: Scalar): number {
  const v = scalarValue(x);
  if (v instanceof Complex) return v.im === 0 ? v.re : Number.NaN;
  return Number(v);
}

/** A tensor to the power of a number. */
function toNumber(a: Tensor, b: Scalar, common: DType, out: Out, inplace: boolean): Tensor {
  const exponent = realValue(b);
  if (exponent > 100) checkFits(b, common);
  if (exponent === 0) return fill(one(COPY, a, common, out, inplace), 1);
  if (exponent === 1) return one(COPY, a, common, out, inplace);
  if (common === float16 && exponent !== 2) return binary(POW, a, b, out, inplace);
  if (common.category >= 2) {
    if (exponent === 0.5) return one(SQRT, a, common, out, inplace);
    if (exponent === -0.5) return one(RSQRT, a, common, out, inplace);
    if (exponent === -1) return one(RECIPROCAL, a, common, out, inplace);
  }
  switch (roundTo(common, exponent)) {
    case 2:
      return two(PRODUCT, a, a, common, out, inplace);
    case 3:
      if (common !== bfloat16) return one(CUBE, a, common, out, inplace);
      // Every product is rounded.
      return two(PRODUCT, two(PRODUCT, a, a, common), a, common, out, inplace);
    case -2:
      return one(RECIPROCAL, two(PRODUCT, a, a, common), common, out, inplace);
    default:
      return binary(POW, a, b, out, inplace);
  }
}

function one(p: Pointwise, a: Tensor, common: DType, out?: Out, inplace = false): Tensor {
  if (a.dtype === common) return unary(p, a, out, inplace);
  return general(p, [a], out, inplace, undefined, common);
}

function two(p: Pointwise, a: Tensor, b: Tensor, common: DType, out?: Out, inplace = false): Tensor {
  if (a.dtype === common && b.dtype === common) return binary(p, a, b, out, inplace);
  return general(p, [a, b], out, inplace, undefined, common);
}
