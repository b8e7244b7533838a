/** Gradients of activations, each one kernel; those of the gradients are written with recorded operators. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import type { Scalar } from "../tensor/complex.ts";
import type { Tensor } from "../tensor/tensor.ts";

const BETA = Math.SQRT2 * (2 / Math.sqrt(Math.PI)) * 0.5;
const KAPPA = 0.044715;

export function geluBackward(grad: Tensor, self: Tensor): Tensor {
  return O.gelu_backward(grad, self);
}

/** The slope changes by the density times 2 - x^2. */
export function geluDoubleBackward(gg: Tensor, grad: Tensor, self: Tensor): Tensor {
  const square = self.mul(self);
  const density = square
    .mul(-0.5)
    .exp()
    .mul(1 / Math.sqrt(2 * Math.PI));
  return gg.mul(grad).mul(density.mul(square.neg().add(2)));
}

export function geluTanhBackward(grad: Tensor, self: Tensor): Tensor {
  return O.gelu_tanh_backward(grad, self);
}

export function geluTanhDoubleBackward(gg: Tensor, grad: Tensor, self: Tensor): Tensor {
  const square = self.mul(self);
  const bent = self.mul(square.mul(KAPPA).add(1).mul(BETA)).tanh();
  const inner = square
    .mul(3 * KAPPA)
    .add(1)
    .mul(BETA);
  const flat = bent.mul(bent).neg().add(1);
  const curve = self.mul(6 * BETA * KAPPA).sub(bent.mul(2).mul(inner).mul(inner));
  return gg.mul(grad).mul(flat.mul(inner.add(self.mul(curve).mul(0.5))));
}

export function siluBackward(grad: Tensor, self: Tensor): Tensor {
  return O.silu_backward(grad, self);
}

export function siluDoubleBackward(gg: Tensor, grad: Tensor, self: Tensor): Tensor {
  const s = self.sigmoid();
  const rest = s.neg().add(1);
  return gg.mul(grad).mul(s.mul(rest).mul(self.mul(rest.sub(s)).add(2)));
}

export function mishBackward(grad: Tensor, self: Tensor): Tensor {
  return O.mish_backward(grad, self);
}

export function mishDoubleBackward(gg: Tensor, grad: Tensor, self: Tensor): Tensor {
  const s = self.sigmoid();
  const t = self.exp().log1p().tanh();
  const flat = t.mul(t).neg().add(1);
  const curve = s.neg().add(1).sub(t.mul(s).mul(2));
  return gg.mul(grad).mul(s.mul(flat).mul(self.mul(curve).add(2)));
}

export function softplusBackward(grad: Tensor, self: Tensor, beta: number, threshold: number): Tensor {
  return O.softplus_backward(grad, self, beta, threshold);
}

export function softplusDoubleBackward(
  gg: Tensor,
  grad: Tensor,
  self: Tensor,
  beta: number,
  threshold: number,
): Tensor {
  const inner = self.mul(beta);
  const s = inner.sigmoid();
  const curve = s.mul(s.neg().add(1)).mul(beta);
  return gg.mul(grad).mul(curve.maskedFill(inner.gt(threshold), 0));
}

export function eluBackward(grad: Tensor, self: Tensor, alpha: number, scale: number, inputScale: number): Tensor {
  return O.elu_backward(grad, self, alpha, scale, inputScale);
}

export function eluDoubleBackward(
  gg: Tensor,
  grad: Tensor,
  self: Tensor,
  alpha: number,
  scale: number,
  inputScale: number,
): Tensor {
  const curve = self
    .mul(inputScale)
    .exp()
    .mul(alpha * scale * inputScale * inputScale);
  return gg.mul(grad).mul(curve.maskedFill(self.gt(0), 0));
}

/** Where the result was written over the input, which is known again only while alpha is not negative. */
export function eluResultBackward(
  grad: Tensor,
  result: Tensor,
  alpha: number,
  scale: number,
  inputScale: number,
): Tensor {
  if (alpha < 0) throw texts.eluOfNegativeSlope(undefined);
  return O.elu_result_backward(grad, result, alpha, scale, inputScale);
}

export function eluResultDoubleBackward(gg: Tensor, grad: Tensor, result: Tensor, inputScale: number): Tensor {
  return gg.mul(grad).mul(inputScale).maskedFill(result.gt(0), 0);
}

export function celuBackward(grad: Tensor, self: Tensor, alpha: number): Tensor {
  return O.elu_backward(grad, self, alpha, 1, 1 / alpha);
}

export function hardswishBackward(grad: Tensor, self: Tensor): Tensor {
  return O.hardswish_backward(grad, self);
}

export function hardswishDoubleBackward(gg: Tensor, grad: Tensor, self: Tensor): Tensor {
  return gg.mul(grad).div(3).maskedFill(self.abs().lt(3).logicalNot(), 0);
}

export function hardsigmoidBackward(grad: Tensor, self: Tensor): Tensor {
  return O.hardsigmoid_backward(grad, self);
}

export function hardtanhBackward(grad: Tensor, self: Tensor, min: Scalar, max: Scalar): Tensor {
  return O.hardtanh_backward(grad, self, min, max);
}

export function leakyReluBackward(grad: Tensor, self: Tensor, slope: number): Tensor {
  return O.leaky_relu_backward(grad, self, slope);
}

/** From the result, whose sign is the input's only while the slope is not negative. */
export function leakyReluResultBackward(grad: Tensor, result: Tensor, slope: number): Tensor {
  if (slope < 0) throw texts.leakyReluOfNegativeSlope(undefined);
  return O.leaky_relu_backward(grad, result, slope);
}

export function logSigmoidBackward(grad: Tensor, self: Tensor): Tensor {
  return O.log_sigmoid_backward(grad, self);
}

export function logSigmoidDoubleBackward(gg: Tensor, grad: Tensor, self: Tensor): Tensor {
  const s = self.sigmoid();
  return gg.mul(grad).mul(s.sub(1).mul(s));
}

export function hardshrinkBackward(grad: Tensor, self: Tensor, lambd: number): Tensor {
  return O.hardshrink_backward(grad, self, lambd);
}

export function softshrinkBackward(grad: Tensor, self: Tensor, lambd: number): Tensor {
  return O.softshrink_backward(grad, self, lambd);
}

export function thresholdAtBackward(grad: Tensor, self: Tensor, threshold: Scalar): Tensor {
  return O.threshold_at_backward(grad, self, threshold);
}

export function preluInputBackward(grad: Tensor, self: Tensor, weight: Tensor): Tensor {
  return O.prelu_input_backward(grad, self, weight);
}

export function preluWeightBackward(grad: Tensor, self: Tensor): Tensor {
  return O.prelu_weight_backward(grad, self);
}

/** What the gradients of prelu change by with its weight or its input, where that is not above zero. */
export function preluSlopeBackward(gg: Tensor, grad: Tensor, self: Tensor): Tensor {
  return gg.mul(grad).maskedFill(self.gt(0), 0);
}

export function gluBackward(grad: Tensor, self: Tensor, dim: number): Tensor {
  const half = (self._shape[dim < 0 ? dim + self.ndim : dim] as number) / 2;
  const [first, second] = [self.narrow(dim, 0, half), self.narrow(dim, half, half)];
  return O.cat([O.glu_first_backward(grad, second), O.glu_gate_backward(grad, first, second)], dim);
}

export function gluFirstBackward(grad: Tensor, second: Tensor): Tensor {
  return O.glu_first_backward(grad, second);
}

export function gluGateBackward(grad: Tensor, first: Tensor, second: Tensor): Tensor {
  return O.glu_gate_backward(grad, first, second);
}

export function gluGateDoubleBackward(gg: Tensor, grad: Tensor, first: Tensor, second: Tensor): Tensor {
  const s = second.sigmoid();
  return gg
    .mul(grad)
    .mul(first)
    .mul(s.mul(s.neg().add(1)).mul(s.mul(-2).add(1)));
}
