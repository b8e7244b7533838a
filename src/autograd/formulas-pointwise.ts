/** Gradients of pointwise operators. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { gradMode, requiresGrad } from "../dispatch/mode.ts";
import { Complex, type Scalar, scalarKind, scalarToNumber, scalarValue } from "../tensor/complex.ts";
import { bool, float16 } from "../tensor/dtype.ts";
import { Tensor } from "../tensor/tensor.ts";
import { conj } from "./formulas-common.ts";

type Operand = Tensor | Scalar;

/** x / |x|, and 0 at 0. */
export function sgn(x: Tensor): Tensor {
  if (x.dtype.category === 3) return O.sgn(x);
  return constantIn(x.gt(0).to(x.dtype).sub(x.lt(0).to(x.dtype)), x);
}

/** A value that does not change with `x` where it has a gradient: that is zero then, not missing. */
function constantIn(value: Tensor, x: Tensor): Tensor {
  if (!gradMode.enabled || !requiresGrad(x)) return value;
  return x.maskedFill(x.newOnes([]).to(bool), 0).add(value);
}

export function tanhBackward(grad: Tensor, result: Tensor): Tensor {
  return O.tanh_backward(grad, result);
}

/** Of the slope 1 - result^2. */
export function tanhDoubleBackward(gg: Tensor, grad: Tensor, result: Tensor): Tensor {
  return conj(gg).mul(conj(result).mul(-2).mul(grad));
}

export function sigmoidBackward(grad: Tensor, result: Tensor): Tensor {
  // torch rounds each step in float16.
  if (result.dtype === float16) return grad.mul(result.neg().add(1)).mul(result);
  return O.sigmoid_backward(grad, result);
}

/** Of the slope (1 - result) * result. */
export function sigmoidDoubleBackward(gg: Tensor, grad: Tensor, result: Tensor): Tensor {
  return conj(gg).mul(grad).mul(conj(result).mul(-2).add(1));
}

/** The gradient where the result was above zero. */
export function thresholdBackward(grad: Tensor, result: Tensor): Tensor {
  return O.threshold_backward(grad, result);
}

export function mulBackward(grad: Tensor, other: Operand): Tensor {
  return grad.mul(conj(other));
}

export function divSelfBackward(grad: Tensor, other: Operand, roundingMode: string | null): Tensor {
  return roundingMode === null ? grad.div(conj(other)) : grad.newZeros(grad._shape);
}

/** The gradient of an operand: asked for only where that is a tensor. */
export function divOtherBackward(grad: Tensor, self: Operand, operand: Operand, roundingMode: string | null): Tensor {
  const other = operand as Tensor;
  if (roundingMode !== null) return grad.newZeros(other._shape);
  return grad.neg().mul(conj(O.true_divide(self, other).div(other)));
}

/** The number is divided first, and multiplied first: it may be what makes an infinity, or takes it away. */
export function addcdivFirst(grad: Tensor, tensor2: Tensor, value: Scalar): Tensor {
  return grad.mul(conj(O.true_divide(value, tensor2)));
}

export function addcdivSecond(grad: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar): Tensor {
  return grad.neg().mul(conj(tensor1.mul(value).div(tensor2.mul(tensor2))));
}

export function floorQuotient(self: Operand, other: Operand): Tensor {
  return asTensor(self, other as Tensor).div(other, { roundingMode: "floor" });
}

export function truncQuotient(self: Tensor, other: Operand): Tensor {
  return self.div(other, { roundingMode: "trunc" });
}

function asTensor(x: Operand, like: Tensor): Tensor {
  return x instanceof Tensor ? x : like.newFull([], x);
}

function isZero(x: Scalar): boolean {
  const v = scalarValue(x);
  return v instanceof Complex ? v.re === 0 && v.im === 0 : Number(v) === 0;
}

function less1(x: Scalar): Scalar {
  const v = scalarValue(x);
  return v instanceof Complex ? new Complex(v.re - 1, v.im) : scalarToNumber(x) - 1;
}

export function powBackward(grad: Tensor, self: Tensor, exponent: Scalar): Tensor {
  // torch compares with the number 0, which False is not.
  if (scalarKind(exponent) !== "bool" && isZero(exponent)) return grad.newZeros(self._shape);
  return grad.mul(conj(self.pow(less1(exponent)).mul(exponent)));
}

export function powBackwardSelf(grad: Tensor, self: Tensor, exponent: Tensor): Tensor {
  const flat = exponent.eq(0);
  const slope = conj(self.pow(exponent.sub(1)).mul(exponent)).maskedFill(flat, 0);
  return grad.mul(slope).maskedFill(flat, 0);
}

export function powBackwardExponent(grad: Tensor, self: Operand, exponent: Tensor, result: Tensor): Tensor {
  const base = asTensor(self, result);
  // The logarithm of a negative number exists where the result is complex.
  const typed = base.dtype === result.dtype ? base : base.to(result.dtype);
  const slope = conj(result.mul(typed.log()));
  const complex = exponent.dtype.category === 3;
  const flat = zeroBase(base, complex ? exponent.real : exponent);
  return grad.mul(slope.maskedFill(complex ? flat.logicalAnd(exponent.imag.eq(0)) : flat, 0));
}

function zeroBase(base: Tensor, exponent: Tensor): Tensor {
  return base.eq(0).logicalAnd(exponent.ge(0));
}

/** Half of the gradient at ties. */
export function extremumBackward(grad: Tensor, self: Tensor, other: Tensor, loses: Tensor): Tensor {
  const shared = grad.mul(self.eq(other).to(grad.dtype).mul(-0.5).add(1));
  return shared.maskedFill(loses, 0);
}

/** The slopes of the angle: across, by less the farther out. */
export function atan2Slopes(self: Tensor, other: Tensor): [ofSelf: () => Tensor, ofOther: () => Tensor] {
  const squares = self.mul(self).add(other.mul(other));
  const inverse = squares.pow(-1).maskedFill(squares.eq(0), 0);
  return [() => other.mul(inverse), () => self.neg().mul(inverse)];
}

export function atan2Backward(grad: Tensor, self: Tensor, other: Tensor): (Tensor | null)[] {
  return atan2Slopes(self, other).map((slope) => grad.mul(slope()));
}

export function copysignBackward(grad: Tensor, self: Tensor, result: Tensor): Tensor {
  const ratio = result.div(self).maskedFill(self.eq(0), 0);
  return grad.mul(ratio);
}

export function oneMinus(x: Operand): Operand {
  if (x instanceof Tensor) return x.neg().add(1);
  const v = scalarValue(x);
  return v instanceof Complex ? new Complex(1 - v.re, -v.im) : 1 - scalarToNumber(x);
}

/** Passed where the element lies between the bounds: strictly, for numbers; halved at ties, for tensors. */
export function clampBackward(grad: Tensor, self: Tensor, min: Operand | null, max: Operand | null): Tensor {
  let g = grad;
  if (!(min instanceof Tensor) && !(max instanceof Tensor)) {
    if (min !== null) g = g.maskedFill(self.gt(min).logicalNot(), 0);
    return max === null ? g : g.maskedFill(self.lt(max).logicalNot(), 0);
  }
  if (min !== null) g = g.maskedFill(self.lt(min), 0);
  if (max !== null) g = g.maskedFill(self.gt(max), 0);
  if (min === null || max === null) return halved(g, self.eq((min ?? max) as Tensor));
  // Ties are shared unless the bounds leave no room.
  const room = min instanceof Tensor ? min.lt(max) : (max as Tensor).gt(min);
  return halved(g, self.eq(min).logicalOr(self.eq(max)).logicalAnd(room));
}

function halved(g: Tensor, ties: Tensor): Tensor {
  return g.mul(ties.to(g.dtype).mul(-0.5).add(1));
}

/** The gradient of one bound: of the elements that lie beyond it, and half of it at ties. */
export function lowerBoundBackward(grad: Tensor, self: Tensor, min: Tensor): Tensor {
  return halved(grad.maskedFill(self.gt(min), 0), self.eq(min));
}

export function upperBoundBackward(grad: Tensor, self: Tensor, max: Tensor): Tensor {
  return halved(grad.maskedFill(self.lt(max), 0), self.eq(max));
}

export function clampBoundsBackward(
  grad: Tensor,
  self: Tensor,
  min: Tensor | null,
  max: Tensor | null,
): (Tensor | null)[] {
  if (min === null) return [null, upperBoundBackward(grad, self, max as Tensor)];
  if (max === null) return [lowerBoundBackward(grad, self, min), null];
  const ordered = min.le(max);
  const room = min.lt(max);
  const share = (over: Tensor, bound: Tensor): Tensor => {
    const tie = self.eq(bound).logicalAnd(room);
    return halved(grad.maskedFill(over.logicalOr(tie).logicalNot(), 0), tie);
  };
  return [
    share(self.lt(min).logicalAnd(ordered), min),
    share(self.gt(max).logicalAnd(ordered).logicalOr(max.lt(min)), max),
  ];
}

export function whereBackward(grad: Tensor, condition: Tensor, chosen: boolean): Tensor {
  const mask = condition.ne(0);
  return grad.maskedFill(chosen ? mask.logicalNot() : mask, 0);
}

/** The share of the power of one of two exponents. */
export function logaddexp2Backward(grad: Tensor, self: Tensor, other: Tensor): Tensor {
  return grad.div(O.pow_Scalar(2, other.sub(self)).add(1));
}

/** The slope of each loss times the gradient that it gets of their mean, sum, or of itself. */
export function sloped(slope: Tensor, grad: Tensor, reduction: number): Tensor {
  return slope.mul(reduction === 1 ? grad.div(Math.max(1, slope._numel)) : grad);
}

/** The slope is that of the square up to `beta`, and ±1 beyond. */
export function smoothL1Backward(grad: Tensor, self: Tensor, target: Tensor, reduction: number, beta: number): Tensor {
  const apart = self.to(grad.dtype).sub(target.to(grad.dtype));
  return sloped(apart.div(beta).clamp(-1, 1), grad, reduction);
}

/** The slope is the difference, at most ±`delta`. torch has no such gradient of two dtypes. */
export function huberBackward(grad: Tensor, self: Tensor, target: Tensor, reduction: number, delta: number): Tensor {
  const other = [self, target].find((t) => t.dtype !== grad.dtype);
  if (other !== undefined) throw texts.foundDtype("huber_loss", other.dtype.scalarType, grad.dtype.scalarType);
  return sloped(self.sub(target).clamp(-delta, delta), grad, reduction);
}

/** Across its direction a complex number's direction turns; along it, and for real numbers, it is flat. */
export function sgnBackward(grad: Tensor, self: Tensor, result: Tensor): Tensor {
  if (self.dtype.category < 3) return grad.newZeros(grad._shape);
  const size = self.abs();
  const origin = size.eq(0);
  const along = grad.div(result.maskedFill(origin, 1)).real.mul(result);
  return grad.sub(along).mul(size.reciprocal().maskedFill(origin, 0)).maskedFill(origin, 0);
}

/** The derivative of the error function. */
export function errorSlope(x: Tensor): Tensor {
  return x
    .pow(2)
    .neg()
    .exp()
    .mul(2 / Math.sqrt(Math.PI));
}

export function inverseErrorSlope(x: Tensor): Tensor {
  return x
    .erfinv()
    .pow(2)
    .exp()
    .mul(Math.sqrt(Math.PI) / 2);
}

export function sincBackward(grad: Tensor, x: Tensor): Tensor {
  const turned = x.mul(Math.PI);
  const square = x.mul(x).mul(Math.PI);
  const top = square.eq(0);
  const slope = turned.mul(turned.cos()).sub(turned.sin()).div(square).maskedFill(top, 0);
  return grad.mul(conj(slope)).maskedFill(top, 0);
}

/** The logarithm, and 0 where the other operand made the result 0. */
export function xlogyBackward(grad: Tensor, self: Tensor, other: Operand): Tensor {
  const nothing = self.eq(0).logicalAnd(other instanceof Tensor ? other.le(0) : self.newFull([], other).le(0));
  return O.xlogy_Tensor(grad, other instanceof Tensor ? other : grad.newFull([], other)).maskedFill(nothing, 0);
}
