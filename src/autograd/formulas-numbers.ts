/** Gradients of inverse functions, of log-odds and of extremes beside NaN. */
import * as O from "../../generated/ops.ts";
import { gradMode } from "../dispatch/mode.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { conj } from "./formulas-common.ts";
import { extremumBackward } from "./formulas-pointwise.ts";

/** 1 / sqrt(1 - x^2) */
export function inverseLeg(x: Tensor): Tensor {
  return x.neg().mul(x).add(1).rsqrt();
}

/** Of complex numbers the two roots are taken apart, whose product lies on another branch than the root of both. */
export function acoshBackward(grad: Tensor, self: Tensor): Tensor {
  if (self.dtype.category < 3) return grad.mul(self.pow(2).sub(1).rsqrt());
  return grad.mul(conj(self.add(1).rsqrt().mul(self.sub(1).rsqrt())));
}

/** No slope where the argument was brought to a bound, and none that is a number outside of 0 and 1. */
export function logitBackward(grad: Tensor, self: Tensor, eps: number | null, recorded = gradMode.enabled): Tensor {
  const run = self.mul(self.neg().add(1));
  const low = eps === null || eps < 0 ? 0 : eps;
  // torch's kernel and what it records differ for a NaN.
  const outside = recorded
    ? self
        .ge(low)
        .logicalAnd(self.le(1 - low))
        .logicalNot()
    : self.lt(low).logicalOr(self.gt(1 - low));
  if (eps === null || eps < 0) return grad.div(run.maskedFill(outside, Number.NaN));
  return grad.mul(run.reciprocal().maskedFill(outside, 0)).maskedFill(outside, 0);
}

export function fmaxBackward(grad: Tensor, self: Tensor, other: Tensor): Tensor {
  return extremumBackward(grad, self, other, self.ge(other).logicalOr(other.isnan()).logicalNot());
}

export function fmaxOtherBackward(grad: Tensor, self: Tensor, other: Tensor): Tensor {
  return extremumBackward(grad, self, other, self.gt(other).logicalOr(other.isnan()));
}

export function fminBackward(grad: Tensor, self: Tensor, other: Tensor): Tensor {
  return extremumBackward(grad, self, other, self.le(other).logicalOr(other.isnan()).logicalNot());
}

export function fminOtherBackward(grad: Tensor, self: Tensor, other: Tensor): Tensor {
  return extremumBackward(grad, self, other, self.lt(other).logicalOr(other.isnan()));
}

/** Two to a power, of the gradient's dtype where the power is of integers. */
export function exp2Of(other: Tensor, grad: Tensor): Tensor {
  return O.exp2(other.dtype.category < 2 ? other.to(grad.dtype) : other);
}
