/** Losses of classes and of probabilities. */

import * as composites from "../autograd/composites-likelihood.ts";
import type { IndexList } from "../dispatch/arguments.ts";
import { indexFromList } from "../dispatch/indexing-lists.ts";
import { installChecks } from "../tensor/checks.ts";
import { tidy } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { checkForward } from "./forward-checks.ts";
import type { LossOptions, Reduction } from "./losses.ts";
import { Module } from "./module.ts";
import { settings } from "./options.ts";
import { MODULE } from "./signatures.ts";

interface WeightedOptions extends LossOptions {
  /** A weight for each class, or each element. */
  weight?: Tensor | null;
}

interface ClassOptions extends WeightedOptions {
  /** The class that does not count. Default -100. */
  ignoreIndex?: number;
}

interface CrossEntropyOptions extends ClassOptions {
  /** What of the truth all classes share, from 0 to 1. Default 0. */
  labelSmoothing?: number;
}

const classesOf = (target: Tensor | IndexList): Tensor => (target instanceof Tensor ? target : indexFromList(target));

/**
 * The negative log likelihood of classes, of logarithms of probabilities.
 * @example
 * ```ts
 * new nn.NLLLoss()(tensor([[-1, -2], [-3, -4]]), [0, 1]) // tensor(2.5000)
 * ```
 * @torch torch.nn.NLLLoss
 */
export class NLLLoss extends Module {
  /** A weight for each class; null where all weigh the same. */
  declare weight: Tensor | null;
  /** The class that does not count. */
  ignoreIndex: number;
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  constructor(...options: [weight?: Tensor | null | ClassOptions, options?: ClassOptions]) {
    super();
    const o = settings<Required<ClassOptions>>("NLLLoss", options, {
      weight: null,
      ignoreIndex: -100,
      reduction: "mean",
    });
    this.registerBuffer("weight", o.weight);
    this.ignoreIndex = o.ignoreIndex;
    this.reduction = o.reduction;
  }
  override forward(input: Tensor, target: Tensor | IndexList): Tensor {
    const { weight, ignoreIndex, reduction } = this;
    return tidy(() => composites.nllLoss(input, classesOf(target), weight, null, ignoreIndex, null, reduction));
  }
}
installChecks(NLLLoss.prototype, MODULE);
checkForward(NLLLoss, "NLLLoss");

/**
 * The negative log likelihood of the softmax of scores: of classes, or of their probabilities.
 * @example
 * ```ts
 * new nn.CrossEntropyLoss()(tensor([[0, 0], [0, 0]]), [0, 1]) // tensor(0.6931)
 * ```
 * @torch torch.nn.CrossEntropyLoss
 */
export class CrossEntropyLoss extends Module {
  /** A weight for each class; null where all weigh the same. */
  declare weight: Tensor | null;
  /** The class that does not count. */
  ignoreIndex: number;
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  /** What of the truth all classes share. */
  labelSmoothing: number;
  constructor(...options: [weight?: Tensor | null | CrossEntropyOptions, options?: CrossEntropyOptions]) {
    super();
    const defaults = { weight: null, ignoreIndex: -100, reduction: "mean", labelSmoothing: 0 } as const;
    const o = settings<Required<CrossEntropyOptions>>("CrossEntropyLoss", options, defaults);
    this.registerBuffer("weight", o.weight);
    this.ignoreIndex = o.ignoreIndex;
    this.reduction = o.reduction;
    this.labelSmoothing = o.labelSmoothing;
  }
  override forward(input: Tensor, target: Tensor | IndexList): Tensor {
    const { weight, ignoreIndex, reduction, labelSmoothing } = this;
    return tidy(() =>
      composites.crossEntropy(input, classesOf(target), weight, null, ignoreIndex, null, reduction, labelSmoothing),
    );
  }
}
installChecks(CrossEntropyLoss.prototype, MODULE);
checkForward(CrossEntropyLoss, "CrossEntropyLoss");

/**
 * What probabilities cost where the truth is 0 or 1.
 * @example
 * ```ts
 * new nn.BCELoss()(tensor([0.5]), tensor([1])) // tensor(0.6931)
 * ```
 * @torch torch.nn.BCELoss
 */
export class BCELoss extends Module {
  /** A weight for each element; null where all weigh the same. */
  declare weight: Tensor | null;
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  constructor(...options: [weight?: Tensor | null | WeightedOptions, options?: WeightedOptions]) {
    super();
    const o = settings<Required<WeightedOptions>>("BCELoss", options, { weight: null, reduction: "mean" });
    this.registerBuffer("weight", o.weight);
    this.reduction = o.reduction;
  }
  override forward(input: Tensor, target: Tensor): Tensor {
    return tidy(() => composites.binaryCrossEntropy(input, target, this.weight, null, null, this.reduction));
  }
}
installChecks(BCELoss.prototype, MODULE);
checkForward(BCELoss, "BCELoss");

interface LogitsOptions extends WeightedOptions {
  /** What losses weigh where the truth is 1. */
  posWeight?: Tensor | null;
}

/**
 * `BCELoss` of the sigmoid of the input, without loss of digits.
 * @example
 * ```ts
 * new nn.BCEWithLogitsLoss()(tensor([0]), tensor([1])) // tensor(0.6931)
 * ```
 * @torch torch.nn.BCEWithLogitsLoss
 */
export class BCEWithLogitsLoss extends Module {
  /** A weight for each element; null where all weigh the same. */
  declare weight: Tensor | null;
  /** What losses weigh where the truth is 1; null where they weigh the same. */
  declare pos_weight: Tensor | null;
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  constructor(...options: [weight?: Tensor | null | LogitsOptions, options?: LogitsOptions]) {
    super();
    const defaults = { weight: null, posWeight: null, reduction: "mean" } as const;
    const o = settings<Required<LogitsOptions>>("BCEWithLogitsLoss", options, defaults);
    this.registerBuffer("weight", o.weight);
    this.registerBuffer("pos_weight", o.posWeight);
    this.reduction = o.reduction;
  }
  override forward(input: Tensor, target: Tensor): Tensor {
    const { weight, pos_weight: posWeight, reduction } = this;
    return tidy(() => composites.binaryCrossEntropyWithLogits(input, target, weight, null, null, reduction, posWeight));
  }
}
installChecks(BCEWithLogitsLoss.prototype, MODULE);
checkForward(BCEWithLogitsLoss, "BCEWithLogitsLoss");

interface DivergenceOptions {
  /** What becomes of the elements' losses; "batchmean" divides their sum by the first size. Default "mean". */
  reduction?: Reduction | "batchmean";
  /** Whether the target holds logarithms too. Default false. */
  logTarget?: boolean;
}

/**
 * The divergence of Kullback and Leibler of logarithms of probabilities from probabilities.
 * @example
 * ```ts
 * new nn.KLDivLoss({ reduction: "sum" })(tensor([-1, -1]), tensor([0.5, 0.5])) // tensor(0.3069)
 * ```
 * @torch torch.nn.KLDivLoss
 */
export class KLDivLoss extends Module {
  /** What becomes of the elements' losses. */
  reduction: Reduction | "batchmean";
  /** Whether the target holds logarithms too. */
  logTarget: boolean;
  constructor(...options: [options?: DivergenceOptions]) {
    super();
    const o = settings<Required<DivergenceOptions>>("KLDivLoss", options, { reduction: "mean", logTarget: false });
    this.reduction = o.reduction;
    this.logTarget = o.logTarget;
  }
  override forward(input: Tensor, target: Tensor): Tensor {
    return tidy(() => composites.klDiv(input, target, null, null, this.reduction, this.logTarget));
  }
}
installChecks(KLDivLoss.prototype, MODULE);
checkForward(KLDivLoss, "KLDivLoss");

interface PoissonOptions extends LossOptions {
  /** Whether the input holds logarithms of rates. Default true. */
  logInput?: boolean;
  /** Whether Stirling's term is added. Default false. */
  full?: boolean;
  /** What is added to rates before their logarithm. Default 1e-8. */
  eps?: number;
}

/**
 * The negative log likelihood of counts, which follow Poisson's distribution.
 * @example
 * ```ts
 * new nn.PoissonNLLLoss()(tensor([0]), tensor([2])) // tensor(1.)
 * ```
 * @torch torch.nn.PoissonNLLLoss
 */
export class PoissonNLLLoss extends Module {
  /** Whether the input holds logarithms of rates. */
  logInput: boolean;
  /** Whether Stirling's term is added. */
  full: boolean;
  /** What is added to rates before their logarithm. */
  eps: number;
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  constructor(...options: [options?: PoissonOptions]) {
    super();
    const defaults = { logInput: true, full: false, eps: 1e-8, reduction: "mean" } as const;
    const o = settings<Required<PoissonOptions>>("PoissonNLLLoss", options, defaults);
    this.logInput = o.logInput;
    this.full = o.full;
    this.eps = o.eps;
    this.reduction = o.reduction;
  }
  override forward(input: Tensor, target: Tensor): Tensor {
    const { logInput, full, eps, reduction } = this;
    return tidy(() => composites.poissonNllLoss(input, target, logInput, full, null, eps, null, reduction));
  }
}
installChecks(PoissonNLLLoss.prototype, MODULE);
checkForward(PoissonNLLLoss, "PoissonNLLLoss");

interface GaussianOptions extends LossOptions {
  /** Whether half of log(2 pi) is added. Default false. */
  full?: boolean;
  /** What variances are at least. Default 1e-6. */
  eps?: number;
}

/**
 * The negative log likelihood of normal variables, whose variances are given.
 * @example
 * ```ts
 * new nn.GaussianNLLLoss()(tensor([1]), tensor([2]), tensor([1])) // tensor(0.5000)
 * ```
 * @torch torch.nn.GaussianNLLLoss
 */
export class GaussianNLLLoss extends Module {
  /** Whether half of log(2 pi) is added. */
  full: boolean;
  /** What variances are at least. */
  eps: number;
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  constructor(...options: [options?: GaussianOptions]) {
    super();
    const o = settings<Required<GaussianOptions>>("GaussianNLLLoss", options, {
      full: false,
      eps: 1e-6,
      reduction: "mean",
    });
    this.full = o.full;
    this.eps = o.eps;
    this.reduction = o.reduction;
  }
  override forward(input: Tensor, target: Tensor, variance: Tensor | number): Tensor {
    const { full, eps, reduction } = this;
    return tidy(() => composites.gaussianNllLoss(input, target, variance, full, eps, reduction));
  }
}
installChecks(GaussianNLLLoss.prototype, MODULE);
checkForward(GaussianNLLLoss, "GaussianNLLLoss");
