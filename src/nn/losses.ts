/** Losses. */

import * as composites from "../autograd/composites-losses.ts";
import { installChecks } from "../tensor/checks.ts";
import { Complex } from "../tensor/complex.ts";
import { TypeError } from "../tensor/errors.ts";
import { tidy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkForward } from "./forward-checks.ts";
import { Module } from "./module.ts";
import { settings } from "./options.ts";
import { MODULE } from "./signatures.ts";

/** What becomes of the losses of the elements. */
export type Reduction = "mean" | "sum" | "none";

/** Options of losses. */
export interface LossOptions {
  /** What becomes of the elements' losses. Default "mean". */
  reduction?: Reduction;
}

interface SmoothL1Options extends LossOptions {
  /** The distance up to which the loss is a square. Default 1. */
  beta?: number;
}

interface HuberOptions extends LossOptions {
  /** The distance up to which the loss is a square. Default 1. */
  delta?: number;
}

/**
 * The squared error.
 * @example
 * ```ts
 * new nn.MSELoss()(tensor([1, 3]), tensor([1, 1])) // tensor(2.)
 * ```
 * @torch torch.nn.MSELoss
 */
export class MSELoss extends Module {
  /** What becomes of the squared differences. */
  reduction: Reduction;
  constructor(...options: [options?: LossOptions]) {
    super();
    this.reduction = settings<Required<LossOptions>>("MSELoss", options, { reduction: "mean" }).reduction;
  }
  override forward(input: Tensor, target: Tensor): Tensor {
    return tidy(() => composites.mseLoss(input, target, null, null, this.reduction, null));
  }
}
installChecks(MSELoss.prototype, MODULE);
checkForward(MSELoss, "MSELoss");

/**
 * The absolute error.
 * @example
 * ```ts
 * new nn.L1Loss()(tensor([1, 3]), tensor([1, 1])) // tensor(1.)
 * ```
 * @torch torch.nn.L1Loss
 */
export class L1Loss extends Module {
  /** What becomes of the distances. */
  reduction: Reduction;
  constructor(...options: [options?: LossOptions]) {
    super();
    this.reduction = settings<Required<LossOptions>>("L1Loss", options, { reduction: "mean" }).reduction;
  }
  override forward(input: Tensor, target: Tensor): Tensor {
    return tidy(() => composites.l1Loss(input, target, null, null, this.reduction, null));
  }
}
installChecks(L1Loss.prototype, MODULE);
checkForward(L1Loss, "L1Loss");

/**
 * The absolute error less half of `beta`; below `beta` half of the squared error divided by it.
 * @example
 * ```ts
 * new nn.SmoothL1Loss()(tensor([1, 3]), tensor([1, 1])) // tensor(0.7500)
 * ```
 * @torch torch.nn.SmoothL1Loss
 */
export class SmoothL1Loss extends Module {
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  /** The distance up to which the loss is a square. */
  beta: number;
  constructor(...options: [options?: SmoothL1Options]) {
    super();
    const o = settings<Required<SmoothL1Options>>("SmoothL1Loss", options, { reduction: "mean", beta: 1 });
    this.reduction = o.reduction;
    this.beta = o.beta;
  }
  override forward(input: Tensor, target: Tensor): Tensor {
    return tidy(() => composites.smoothL1Loss(input, target, null, null, this.reduction, this.beta));
  }
}
installChecks(SmoothL1Loss.prototype, MODULE);
checkForward(SmoothL1Loss, "SmoothL1Loss");

/**
 * Half of the squared error up to a distance of `delta`, straight on beyond it.
 * @example
 * ```ts
 * new nn.HuberLoss({ delta: 1 })(tensor([1, 3]), tensor([1, 1])) // tensor(0.7500)
 * ```
 * @torch torch.nn.HuberLoss
 */
export class HuberLoss extends Module {
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  /** The distance up to which the loss is a square. */
  delta: number;
  constructor(...options: [options?: HuberOptions]) {
    super();
    const o = settings<Required<HuberOptions>>("HuberLoss", options, { reduction: "mean", delta: 1 });
    this.reduction = o.reduction;
    if ((o.delta as unknown) instanceof Complex) {
      throw new TypeError("delta must be a float or int, got: <class 'complex'>");
    }
    this.delta = o.delta;
  }
  override forward(input: Tensor, target: Tensor): Tensor {
    return tidy(() => composites.huberLoss(input, target, this.reduction, this.delta, null));
  }
}
installChecks(HuberLoss.prototype, MODULE);
checkForward(HuberLoss, "HuberLoss");
