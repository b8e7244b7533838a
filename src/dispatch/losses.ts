/** Losses computed in one go, without history. */

import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import { requireKept } from "../tensor/storage.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { emptyLike, requireBroadcastInto } from "./allocate.ts";
import { cast } from "./copy.ts";
import { binary, general, type Pointwise, RULES, scalarAttr } from "./pointwise.ts";
import { requireCast, resultType } from "./promotion.ts";
import { mean, sum } from "./reduce.ts";
import { refuse } from "./refusals.ts";

const SUB = { name: "mse_loss", kernel: K.binary_sub, rule: RULES.arith };
const MUL = { name: "mse_loss", kernel: K.binary_mul, rule: RULES.arith };

/** What becomes of the losses of the elements: 0 nothing, 1 their mean, 2 their sum. */
export type Reduction = 0 | 1 | 2;

/** (self - target)^2, reduced. */
export function mseLoss(self: Tensor, target: Tensor, reduction: number): Tensor {
  const d = resultType([self, target]);
  refuse(REFUSALS.mse_cpu, d);
  const difference = binary(SUB, self, target);
  const squares = binary(MUL, difference, difference, difference);
  return reduced("mse_loss", squares, reduction);
}

export function reduced(op: string, losses: Tensor, reduction: number): Tensor {
  if (reduction === 0) return losses;
  if (reduction !== 1 && reduction !== 2) throw texts.mseReduction(op, reduction);
  const total = reduction === 1 ? mean(losses, null) : sum(losses, null);
  // Their memory serves the next call.
  losses.dispose();
  return total;
}

const SMOOTH: Pointwise = {
  name: "smooth_l1_loss",
  kernel: K.binary_smooth_l1,
  rule: RULES.arith,
  refuses: [REFUSALS.smooth_l1_cpu],
};
const HUBER: Pointwise = {
  name: "huber_loss",
  kernel: K.binary_huber,
  rule: RULES.arith,
  refuses: [REFUSALS.huber_cpu],
};

/** The distances, bent to squares below `beta`. */
export function smoothL1Loss(self: Tensor, target: Tensor, reduction: number, beta: number): Tensor {
  if (beta < 0) throw texts.negativeBeta(SMOOTH.name);
  const losses = general(SMOOTH, [self, target], undefined, false, () => scalarAttr(0, beta));
  return reduced(SMOOTH.name, losses, reduction);
}

/** The same with slopes of `delta`, in the dtype of the input. */
export function huberLoss(self: Tensor, target: Tensor, reduction: number, delta: number): Tensor {
  if (delta <= 0) throw texts.deltaNotPositive(HUBER.name);
  requireKept(target._storage);
  const losses = emptyLike(self);
  general(HUBER, [self, target], losses, false, () => scalarAttr(0, delta));
  return reduced(HUBER.name, losses, reduction);
}

const SOFT_MARGIN: Pointwise = { name: "soft_margin_loss", kernel: K.binary_soft_margin, rule: RULES.arith };

/** log(1 + exp(-target * self)), in the dtype of the input. */
export function softMarginLoss(self: Tensor, target: Tensor, reduction: number): Tensor {
  requireKept(target._storage);
  requireBroadcastInto(self._shape, target._shape, SOFT_MARGIN.name);
  requireCast(resultType([self, target]), self.dtype);
  const wide = general(SOFT_MARGIN, [self, target]);
  const losses = wide.dtype === self.dtype ? wide : cast(wide, self.dtype);
  if (losses !== wide) wide.dispose();
  return reduced(SOFT_MARGIN.name, losses, reduction);
}
