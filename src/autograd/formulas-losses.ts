/** Gradients of losses of classes and of probabilities. */
import * as O from "../../generated/ops.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { sloped } from "./formulas-pointwise.ts";

const EPS = 1e-12;
const LEAST = -100;

type Sizes = readonly number[];

export function nllBackward(
  grad: Tensor,
  shape: Sizes,
  target: Tensor,
  weight: Tensor | null,
  reduction: number,
  ignored: number,
  total: Tensor,
): Tensor {
  return O.nll_loss_backward(grad, shape, target, weight, reduction, ignored, total);
}

export function nllPlanesBackward(
  grad: Tensor,
  shape: Sizes,
  target: Tensor,
  weight: Tensor | null,
  reduction: number,
  ignored: number,
  total: Tensor,
): Tensor {
  return O.nll_loss2d_backward(grad, shape, target, weight, reduction, ignored, total);
}

/** The gradient takes from its argument what the loss takes from the probabilities. */
export function nllDoubleBackward(
  gg: Tensor,
  target: Tensor,
  weight: Tensor | null,
  reduction: number,
  ignored: number,
): Tensor {
  return O.nll_loss_forward(gg, target, weight, reduction, ignored)[0] as Tensor;
}

export function nllPlanesDoubleBackward(
  gg: Tensor,
  target: Tensor,
  weight: Tensor | null,
  reduction: number,
  ignored: number,
): Tensor {
  return O.nll_loss2d_forward(gg, target, weight, reduction, ignored)[0] as Tensor;
}

const times = (t: Tensor, weight: Tensor | null): Tensor => (weight === null ? t : t.mul(weight));

export function bceBackward(
  grad: Tensor,
  self: Tensor,
  target: Tensor,
  weight: Tensor | null,
  reduction: number,
): Tensor {
  const even = reduction === 1 ? grad.div(Math.max(1, self._numel)) : grad;
  const slope = O.binary_cross_entropy_backward(even, self, target);
  return times(slope, weight);
}

export function bceTargetBackward(grad: Tensor, self: Tensor, weight: Tensor | null, reduction: number): Tensor {
  const slope = self.neg().log1p().clampMin(LEAST).sub(self.log().clampMin(LEAST));
  return times(sloped(slope, grad, reduction), weight);
}

export function bceSlope(gg: Tensor, self: Tensor, target: Tensor): Tensor {
  return O.binary_cross_entropy_backward(gg, self, target);
}

const run = (x: Tensor): Tensor => x.neg().add(1).mul(x);

/** The slope (x - t) / (x - x^2) changes by (x^2 - 2 x t + t) / (x - x^2)^2. */
export function bceCurve(gg: Tensor, grad: Tensor, self: Tensor, target: Tensor): Tensor {
  const bent = self.mul(self).sub(self.mul(target).mul(2)).add(target);
  const square = run(self);
  return gg.mul(grad).mul(bent).div(square.mul(square).clampMin(EPS));
}

export function bceTargetCurve(gg: Tensor, grad: Tensor, self: Tensor): Tensor {
  return gg.mul(grad).div(run(self).clampMin(EPS)).neg();
}

export function bceLogitsBackward(
  grad: Tensor,
  self: Tensor,
  target: Tensor,
  weight: Tensor | null,
  posWeight: Tensor | null,
  reduction: number,
): Tensor {
  const likely = self.sigmoid();
  const truth = posWeight === null ? target : target.mul(posWeight);
  const slope = posWeight === null ? likely.sub(target) : truth.add(1).sub(target).mul(likely).sub(truth);
  return times(sloped(slope, grad, reduction), weight);
}

export function bceLogitsTargetBackward(
  grad: Tensor,
  self: Tensor,
  weight: Tensor | null,
  posWeight: Tensor | null,
  reduction: number,
): Tensor {
  const slope = posWeight === null ? self.neg() : O.log_sigmoid(self.neg()).sub(posWeight.mul(O.log_sigmoid(self)));
  return times(sloped(slope, grad, reduction), weight);
}

export function softMarginBackward(grad: Tensor, self: Tensor, target: Tensor, reduction: number): Tensor {
  const slope = target.neg().mul(target.neg().mul(self).sigmoid());
  return sloped(slope, grad, reduction);
}
