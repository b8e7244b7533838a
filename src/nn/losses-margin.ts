/** Similarities of vectors, and losses that ask for a margin. */

import { pythonFloat } from "../api/number-text.ts";
import * as composites from "../autograd/composites-margins.ts";
import { installChecks } from "../tensor/checks.ts";
import { ValueError } from "../tensor/errors.ts";
import { tidy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkForward } from "./forward-checks.ts";
import type { LossOptions, Reduction } from "./losses.ts";
import { Module } from "./module.ts";
import { settings } from "./options.ts";
import { MODULE } from "./signatures.ts";

interface SimilarityOptions {
  /** The dimension of the vectors. Default 1. */
  dim?: number;
  /** What lengths count as at least. Default 1e-8. */
  eps?: number;
}

/**
 * The cosine of the angle between vectors.
 * @example
 * ```ts
 * new nn.CosineSimilarity()(tensor([[1, 0]]), tensor([[1, 1]])) // tensor([0.7071])
 * ```
 * @torch torch.nn.CosineSimilarity
 */
export class CosineSimilarity extends Module {
  /** The dimension of the vectors. */
  dim: number;
  /** What lengths count as at least. */
  eps: number;
  constructor(...options: [dim?: number | SimilarityOptions, eps?: number | SimilarityOptions]) {
    super();
    const o = settings<Required<SimilarityOptions>>("CosineSimilarity", options, { dim: 1, eps: 1e-8 });
    this.dim = o.dim;
    this.eps = o.eps;
  }
  override forward(x1: Tensor, x2: Tensor): Tensor {
    return tidy(() => composites.cosineSimilarity(x1, x2, this.dim, this.eps));
  }
}
installChecks(CosineSimilarity.prototype, MODULE);
checkForward(CosineSimilarity, "CosineSimilarity");

interface DistanceOptions {
  /** The norm's power. Default 2. */
  p?: number;
  /** What is added to each difference. Default 1e-6. */
  eps?: number;
  /** Whether the dimension stays, with size 1. Default false. */
  keepdim?: boolean;
}

/**
 * The p-norm of the difference of vectors.
 * @example
 * ```ts
 * new nn.PairwiseDistance({ eps: 0 })(tensor([3, 0]), tensor([0, 4])) // tensor(5.)
 * ```
 * @torch torch.nn.PairwiseDistance
 */
export class PairwiseDistance extends Module {
  /** The norm's power. */
  norm: number;
  /** What is added to each difference. */
  eps: number;
  /** Whether the dimension stays, with size 1. */
  keepdim: boolean;
  constructor(
    ...options: [p?: number | DistanceOptions, eps?: number | DistanceOptions, keepdim?: boolean | DistanceOptions]
  ) {
    super();
    const o = settings<Required<DistanceOptions>>("PairwiseDistance", options, { p: 2, eps: 1e-6, keepdim: false });
    this.norm = o.p;
    this.eps = o.eps;
    this.keepdim = o.keepdim;
  }
  override forward(x1: Tensor, x2: Tensor): Tensor {
    return tidy(() => composites.pairwiseDistance(x1, x2, this.norm, this.eps, this.keepdim));
  }
}
installChecks(PairwiseDistance.prototype, MODULE);
checkForward(PairwiseDistance, "PairwiseDistance");

interface MarginOptions extends LossOptions {
  /** The margin. */
  margin?: number;
}

/**
 * 1 - cos of the angle of vectors that belong together, and what the cosine of others has above a margin.
 * @example
 * ```ts
 * new nn.CosineEmbeddingLoss()(tensor([[1, 0]]), tensor([[0, 1]]), tensor([1])) // tensor(1.)
 * ```
 * @torch torch.nn.CosineEmbeddingLoss
 */
export class CosineEmbeddingLoss extends Module {
  /** What the cosine of vectors that do not belong together may have for nothing. */
  margin: number;
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  constructor(...options: [margin?: number | MarginOptions, options?: MarginOptions]) {
    super();
    const o = settings<Required<MarginOptions>>("CosineEmbeddingLoss", options, { margin: 0, reduction: "mean" });
    this.margin = o.margin;
    this.reduction = o.reduction;
  }
  override forward(input1: Tensor, input2: Tensor, target: Tensor): Tensor {
    const { margin, reduction } = this;
    return tidy(() => composites.cosineEmbeddingLoss(input1, input2, target, margin, null, null, reduction));
  }
}
installChecks(CosineEmbeddingLoss.prototype, MODULE);
checkForward(CosineEmbeddingLoss, "CosineEmbeddingLoss");

interface TripletOptions extends MarginOptions {
  /** The norm's power. Default 2. */
  p?: number;
  /** What is added to each difference. Default 1e-6. */
  eps?: number;
  /** Whether the negative example's distance to the positive one counts where it is smaller. Default false. */
  swap?: boolean;
}

/**
 * How much farther than the positive example the negative one should be from the anchor.
 * @throws ValueError unless the margin is positive
 * @example
 * ```ts
 * new nn.TripletMarginLoss({ eps: 0 })(tensor([[0]]), tensor([[1]]), tensor([[1.5]])) // tensor(0.5000)
 * ```
 * @torch torch.nn.TripletMarginLoss
 */
export class TripletMarginLoss extends Module {
  /** By how much farther the negative example should be. */
  margin: number;
  /** The norm's power. */
  p: number;
  /** What is added to each difference. */
  eps: number;
  /** Whether the negative example's distance to the positive one counts where it is smaller. */
  swap: boolean;
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  constructor(...options: [margin?: number | TripletOptions, options?: TripletOptions]) {
    super();
    const defaults = { margin: 1, p: 2, eps: 1e-6, swap: false, reduction: "mean" } as const;
    const o = settings<Required<TripletOptions>>("TripletMarginLoss", options, defaults);
    if (o.margin <= 0) {
      const text = `TripletMarginLoss: expected margin to be greater than 0, got ${pythonFloat(o.margin)} instead`;
      throw new ValueError(text);
    }
    this.margin = o.margin;
    this.p = o.p;
    this.eps = o.eps;
    this.swap = o.swap;
    this.reduction = o.reduction;
  }
  override forward(anchor: Tensor, positive: Tensor, negative: Tensor): Tensor {
    const { margin, p, eps, swap, reduction } = this;
    return tidy(() =>
      composites.tripletMarginLoss(anchor, positive, negative, margin, p, eps, swap, null, null, reduction),
    );
  }
}
installChecks(TripletMarginLoss.prototype, MODULE);
checkForward(TripletMarginLoss, "TripletMarginLoss");

/**
 * What one input lacks to rank above another by a margin.
 * @example
 * ```ts
 * new nn.MarginRankingLoss()(tensor([1]), tensor([2]), tensor([1])) // tensor(1.)
 * ```
 * @torch torch.nn.MarginRankingLoss
 */
export class MarginRankingLoss extends Module {
  /** By how much one should rank above the other. */
  margin: number;
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  constructor(...options: [margin?: number | MarginOptions, options?: MarginOptions]) {
    super();
    const o = settings<Required<MarginOptions>>("MarginRankingLoss", options, { margin: 0, reduction: "mean" });
    this.margin = o.margin;
    this.reduction = o.reduction;
  }
  override forward(input1: Tensor, input2: Tensor, target: Tensor): Tensor {
    const { margin, reduction } = this;
    return tidy(() => composites.marginRankingLoss(input1, input2, target, margin, null, null, reduction));
  }
}
installChecks(MarginRankingLoss.prototype, MODULE);
checkForward(MarginRankingLoss, "MarginRankingLoss");

/**
 * Distances of what belongs together, and what those of others lack of a margin.
 * @example
 * ```ts
 * new nn.HingeEmbeddingLoss()(tensor([0.5, 0.5]), tensor([1, -1])) // tensor(0.5000)
 * ```
 * @torch torch.nn.HingeEmbeddingLoss
 */
export class HingeEmbeddingLoss extends Module {
  /** How far apart should be what does not belong together. */
  margin: number;
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  constructor(...options: [margin?: number | MarginOptions, options?: MarginOptions]) {
    super();
    const o = settings<Required<MarginOptions>>("HingeEmbeddingLoss", options, { margin: 1, reduction: "mean" });
    this.margin = o.margin;
    this.reduction = o.reduction;
  }
  override forward(input: Tensor, target: Tensor): Tensor {
    return tidy(() => composites.hingeEmbeddingLoss(input, target, this.margin, null, null, this.reduction));
  }
}
installChecks(HingeEmbeddingLoss.prototype, MODULE);
checkForward(HingeEmbeddingLoss, "HingeEmbeddingLoss");

/**
 * log(1 + exp(-target * input)), for targets of 1 and -1.
 * @example
 * ```ts
 * new nn.SoftMarginLoss()(tensor([0]), tensor([1])) // tensor(0.6931)
 * ```
 * @torch torch.nn.SoftMarginLoss
 */
export class SoftMarginLoss extends Module {
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  constructor(...options: [options?: LossOptions]) {
    super();
    this.reduction = settings<Required<LossOptions>>("SoftMarginLoss", options, { reduction: "mean" }).reduction;
  }
  override forward(input: Tensor, target: Tensor): Tensor {
    return tidy(() => composites.softMarginLoss(input, target, null, null, this.reduction));
  }
}
installChecks(SoftMarginLoss.prototype, MODULE);
checkForward(SoftMarginLoss, "SoftMarginLoss");

interface LabelsOptions extends LossOptions {
  /** A weight for each class. */
  weight?: Tensor | null;
}

/**
 * The binary cross entropy of the scores of classes of which several may be true.
 * @example
 * ```ts
 * new nn.MultiLabelSoftMarginLoss()(tensor([[0, 0]]), tensor([[1, 0]])) // tensor(0.6931)
 * ```
 * @torch torch.nn.MultiLabelSoftMarginLoss
 */
export class MultiLabelSoftMarginLoss extends Module {
  /** A weight for each class; null where all weigh the same. */
  declare weight: Tensor | null;
  /** What becomes of the elements' losses. */
  reduction: Reduction;
  constructor(...options: [weight?: Tensor | null | LabelsOptions, options?: LabelsOptions]) {
    super();
    const defaults = { weight: null, reduction: "mean" } as const;
    const o = settings<Required<LabelsOptions>>("MultiLabelSoftMarginLoss", options, defaults);
    this.registerBuffer("weight", o.weight);
    this.reduction = o.reduction;
  }
  override forward(input: Tensor, target: Tensor): Tensor {
    const { weight, reduction } = this;
    return tidy(() => composites.multilabelSoftMarginLoss(input, target, weight, null, null, reduction));
  }
}
installChecks(MultiLabelSoftMarginLoss.prototype, MODULE);
checkForward(MultiLabelSoftMarginLoss, "MultiLabelSoftMarginLoss");
