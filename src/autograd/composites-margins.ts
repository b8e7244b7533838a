/** Similarities of vectors, and losses that ask for a margin. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { broadcastShapes } from "../dispatch/allocate.ts";
import { gradMode, gradModes } from "../dispatch/mode.ts";
import { promoteTypes } from "../dispatch/promotion.ts";
import { Float } from "../tensor/complex.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { reducedAs, reductionCode, reductionOf } from "./loss-reductions.ts";
import { requireConstants, requireRealGradient } from "./tracking.ts";

const TINY = 1e-12;

/** Divided by its length, which counts as `eps` at least; the gradient is that of the length itself. */
function unit(x: Tensor, dim: number, eps: number): Tensor {
  const length = O.linalg_vector_norm(x, 2, [dim], true, null).clone();
  gradModes.run(false, "cosine_similarity", () => length.clampMin_(eps));
  return x.div(length);
}

export function cosineSimilarity(x1: Tensor, x2: Tensor, dim: number, eps: number): Tensor {
  const common = promoteTypes(x1.dtype, x2.dtype);
  if (!common.isFloatingPoint) throw texts.cosineDtype("cosine_similarity", common.scalarType);
  const shape = broadcastShapes(x1._shape, x2._shape);
  const [a, b] = [x1, x2].map((t) => O.expand(t.dtype.category < 2 ? t.to(common) : t, shape, false)) as [
    Tensor,
    Tensor,
  ];
  return unit(a, dim, eps)
    .mul(unit(b, dim, eps))
    .sum(dim);
}

export function pairwiseDistance(x1: Tensor, x2: Tensor, p: number, eps: number, keepdim: boolean): Tensor {
  const rank = Math.max(x1._shape.length, x2._shape.length);
  return O.norm(x1.sub(x2).add(new Float(eps)), p, [rank - 1], keepdim, null);
}

function requireVectors(target: Tensor, a: Tensor, b: Tensor): void {
  const op = "cosine_embedding_loss";
  const rank = target._shape.length;
  if (rank > 1) throw texts.multiTarget(op);
  const fits = a._shape.length === rank + 1 && b._shape.length === rank + 1;
  if (!fits) throw texts.cosineEmbeddingSizes(op, rank, rank + 1, a._shape, b._shape);
}

export function cosineEmbeddingLoss(
  a: Tensor,
  b: Tensor,
  target: Tensor,
  margin: number,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
): Tensor {
  const code = reductionCode("cosine_embedding_loss", reductionOf(sizeAverage, reduce, reduction));
  requireVectors(target, a, b);
  const dim = target._shape.length;
  const product = a.mul(b).sum(dim);
  const lengths = a.mul(a).sum(dim).add(TINY).mul(b.mul(b).sum(dim).add(TINY)).sqrt();
  const cos = product.div(lengths);
  const zeros = O.zeros_like(cos, null, null, false, null);
  const same = O.where(target.eq(1), cos.neg().add(1), zeros);
  const other = O.where(target.eq(-1), cos.sub(new Float(margin)).clampMin(0), zeros);
  return reducedAs(same.add(other), code);
}

export function tripletMarginLoss(
  anchor: Tensor,
  positive: Tensor,
  negative: Tensor,
  margin: number,
  p: number,
  eps: number,
  swap: boolean,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
): Tensor {
  const op = "triplet_margin_loss";
  const code = reductionCode(op, reductionOf(sizeAverage, reduce, reduction));
  if (margin <= 0) throw texts.marginNotPositive(op, margin);
  const [a, b, c] = [anchor, positive, negative].map((t) => t._shape.length) as [number, number, number];
  if (a !== b || b !== c) throw texts.tripletRanks(op, a, b, c);
  const near = pairwiseDistance(anchor, positive, p, eps, false);
  const far = pairwiseDistance(anchor, negative, p, eps, false);
  const farthest = swap ? O.minimum(far, pairwiseDistance(positive, negative, p, eps, false)) : far;
  return reducedAs(near.add(new Float(margin)).sub(farthest).clampMin(0), code);
}

export function marginRankingLoss(
  a: Tensor,
  b: Tensor,
  target: Tensor,
  margin: number,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
): Tensor {
  const op = "margin_ranking_loss";
  const code = reductionCode(op, reductionOf(sizeAverage, reduce, reduction));
  if (a._shape.length !== b._shape.length || a._shape.length !== target._shape.length) {
    throw texts.rankingSizes(op, a._shape, b._shape, target._shape);
  }
  return reducedAs(target.neg().mul(a.sub(b)).add(new Float(margin)).clampMin(0), code);
}

export function hingeEmbeddingLoss(
  input: Tensor,
  target: Tensor,
  margin: number,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
): Tensor {
  const code = reductionCode("hinge_embedding_loss", reductionOf(sizeAverage, reduce, reduction));
  const zeros = O.zeros_like(input, null, null, false, null);
  // torch takes the margin in the dtype of the input.
  const own = input.dtype.category < 2 ? Math.trunc(margin) : new Float(margin);
  const lacks = O.where(target.ne(1), O.rsub(input, own, 1).clampMin(0), zeros);
  return reducedAs(lacks.add(O.where(target.ne(-1), input, zeros)), code);
}

export function softMarginLoss(
  input: Tensor,
  target: Tensor,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
): Tensor {
  const code = reductionCode("soft_margin_loss", reductionOf(sizeAverage, reduce, reduction));
  if (input.dtype.category === 2) return O._soft_margin_loss(input, target, code);
  // Other numbers go torch's way, step by step.
  if (gradMode.enabled) requireConstants("soft_margin_loss", [["target", target]]);
  const losses = input.neg().mul_(target).exp_().log1p_();
  requireRealGradient("soft_margin_loss", losses);
  return reducedAs(losses, code);
}

export function multilabelSoftMarginLoss(
  input: Tensor,
  target: Tensor,
  weight: Tensor | null,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
): Tensor {
  const op = "multilabel_soft_margin_loss";
  const wanted = reductionOf(sizeAverage, reduce, reduction);
  const hits = target.mul(O.log_sigmoid(input));
  const misses = O.rsub(target, 1, 1).mul(O.log_sigmoid(input.neg()));
  const terms = hits.add(misses).neg();
  const weighted = weight === null ? terms : terms.mul(weight);
  const rank = input._shape.length;
  if (rank === 0) throw texts.dimOfScalar(op, -1);
  const losses = weighted.sum(rank - 1).div(input._shape[rank - 1] as number);
  return reducedAs(losses, reductionCode(op, wanted));
}
