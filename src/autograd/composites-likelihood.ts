/** Losses of classes and of probabilities: what torch does before and after the kernel. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { gradModes } from "../dispatch/mode.ts";
import { batchOf } from "../tensor/batched.ts";
import { Float, type Scalar } from "../tensor/complex.ts";
import { sameSizes } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { expanded } from "./composites-losses.ts";
import { REDUCTIONS, reducedAs, reductionCode, reductionOf } from "./loss-reductions.ts";

/** Any number of dimensions behind the classes counts as one plane. */
function nllOf(input: Tensor, target: Tensor, weight: Tensor | null, code: number, ignored: number): Tensor {
  const op = "nll_loss";
  const rank = input._shape.length;
  if (rank < 1) throw texts.nllNoDimensions(op, rank);
  const [n, targets] = [input._shape[0] as number, target._shape[0]];
  if (rank !== 1 && n !== targets) throw texts.nllBatches(op, n, targets ?? 0);
  if (rank <= 2) return O.nll_loss_forward(input, target, weight, code, ignored)[0] as Tensor;
  if (rank === 4) return O.nll_loss2d_forward(input, target, weight, code, ignored)[0] as Tensor;
  const [c, ...places] = input._shape.slice(1) as [number, ...number[]];
  const shape = [n, ...places];
  if (!sameSizes(target._shape.slice(1), places)) throw texts.nllTargetSize(op, shape, target._shape);
  const inner = places.reduce((a, b) => a * b, 1);
  const losses = O.nll_loss2d_forward(
    input.reshape([n, c, 1, inner]),
    target.reshape([n, 1, inner]),
    weight,
    code,
    ignored,
  )[0] as Tensor;
  return code === 0 ? losses.view(shape) : losses;
}

export function nllLoss(
  input: Tensor,
  target: Tensor,
  weight: Tensor | null,
  sizeAverage: boolean | null,
  ignored: number,
  reduce: boolean | null,
  reduction: string,
): Tensor {
  const code = reductionCode("nll_loss", reductionOf(sizeAverage, reduce, reduction));
  return nllOf(input, target, weight, code, ignored);
}

export function crossEntropy(
  input: Tensor,
  target: Tensor,
  weight: Tensor | null,
  sizeAverage: boolean | null,
  ignored: number,
  reduce: boolean | null,
  reduction: string,
  smoothing: number,
): Tensor {
  const code = reductionCode("cross_entropy", reductionOf(sizeAverage, reduce, reduction));
  const dim = input._shape.length === 1 ? 0 : 1;
  if (sameSizes(input._shape, target._shape)) {
    return entropyOfProbabilities(input, target, weight, ignored, code, smoothing, dim);
  }
  if (smoothing > 1) throw texts.labelSmoothing("cross_entropy", smoothing);
  const logs = O.log_softmax(input, dim, null);
  const loss = nllOf(logs, target, weight, code, ignored);
  if (smoothing <= 0) return loss;
  return smoothed(logs, loss, target, weight, ignored, code, smoothing, dim);
}

/** A weight for each class, where the classes' dimension is. */
function along(weight: Tensor, rank: number): Tensor {
  return rank > 1 ? weight.view([1, weight._numel, ...new Array<number>(rank - 2).fill(1)]) : weight;
}

function entropyOfProbabilities(
  input: Tensor,
  given: Tensor,
  weight: Tensor | null,
  ignored: number,
  code: number,
  smoothing: number,
  dim: number,
): Tensor {
  const op = "cross_entropy";
  if (!given.dtype.isFloatingPoint) throw texts.probabilitiesDtype(op, given.dtype.scalarType);
  if (ignored >= 0) throw texts.ignoredProbabilities(op);
  const classes = input._shape.length === 0 ? 1 : (input._shape[dim] as number);
  if (weight !== null && (weight._shape.length !== 1 || weight._numel !== classes)) {
    throw texts.crossEntropyWeights(op, classes, weight._shape);
  }
  const logs = O.log_softmax(input, dim, null);
  if (smoothing > 1) throw texts.labelSmoothing(op, smoothing);
  const target = smoothing > 0 ? given.mul(1 - smoothing).add(smoothing / classes) : given;
  const terms = logs.mul(target);
  const weighted = weight === null ? terms : terms.mul(along(weight, logs._shape.length));
  if (code === 0) return weighted.sum(dim).neg();
  const total = weighted.sum().neg();
  return code === 2 ? total : total.div(input._numel / classes);
}

/** The loss, less a share of it, and the share of what all classes together cost. */
function smoothed(
  logs: Tensor,
  loss: Tensor,
  target: Tensor,
  weight: Tensor | null,
  ignored: number,
  code: number,
  smoothing: number,
  dim: number,
): Tensor {
  const classes = logs._shape[dim] as number;
  const terms = weight === null ? logs : logs.mul(along(weight, logs._shape.length));
  const mask = target.eq(ignored);
  const costs = terms.sum(dim).neg().maskedFill(mask, 0);
  let rest = costs;
  if (code === 2) rest = costs.sum();
  else if (code === 1) {
    const counted =
      weight === null
        ? mask.logicalNot().sum()
        : weight.gather(0, target.maskedFill(mask, 0).flatten()).maskedFill(mask.flatten(), 0).sum();
    rest = costs.sum().div(counted);
  }
  return loss.mul(1 - smoothing).add(rest.mul(smoothing / classes));
}

export function binaryCrossEntropy(
  input: Tensor,
  target: Tensor,
  weight: Tensor | null,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
): Tensor {
  const op = "binary_cross_entropy";
  const code = reductionCode(op, reductionOf(sizeAverage, reduce, reduction));
  if (!sameSizes(target._shape, input._shape)) throw texts.bceSizes(op, target._shape, input._shape);
  return O._binary_cross_entropy(input, target, weight === null ? null : expanded(weight, target._shape), code);
}

export function binaryCrossEntropyWithLogits(
  input: Tensor,
  target: Tensor,
  weight: Tensor | null,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
  posWeight: Tensor | null,
): Tensor {
  const op = "binary_cross_entropy_with_logits";
  const code = reductionCode(op, reductionOf(sizeAverage, reduce, reduction));
  if (!sameSizes(target._shape, input._shape)) throw texts.bceLogitsSizes(op, target._shape, input._shape);
  return O._binary_cross_entropy_with_logits(input, target, weight, posWeight, code);
}

export function klDiv(
  input: Tensor,
  target: Tensor,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
  logTarget: boolean,
): Tensor {
  const wanted = reductionOf(sizeAverage, reduce, reduction);
  const code = wanted === "batchmean" ? 2 : reductionCode("kl_div", wanted);
  for (const [kind, categories] of [
    ["Complex", [3]],
    ["Integral", [0, 1]],
  ] as const) {
    const refused = [input, target].some((t) => (categories as readonly number[]).includes(t.dtype.category));
    if (refused) throw texts.klDivKind("kl_div", kind);
  }
  const terms = logTarget ? target.exp().mul(target.sub(input)) : O.xlogy_Tensor(target, target).sub(target.mul(input));
  const loss = reducedAs(terms, code);
  const rows = input._shape[0];
  return wanted === "batchmean" && rows !== undefined ? loss.div(rows) : loss;
}

export function poissonNllLoss(
  input: Tensor,
  target: Tensor,
  logInput: boolean,
  full: boolean,
  sizeAverage: boolean | null,
  eps: number,
  reduce: boolean | null,
  reduction: string,
): Tensor {
  const code = reductionCode("poisson_nll_loss", reductionOf(sizeAverage, reduce, reduction));
  const terms = logInput ? input.exp().sub(target.mul(input)) : input.sub(target.mul(input.add(new Float(eps)).log()));
  if (!full) return reducedAs(terms, code);
  const stirling = target
    .mul(target.log())
    .sub(target)
    .add(
      target
        .mul(2 * Math.PI)
        .log()
        .mul(0.5),
    );
  // In place: the loss keeps its dtype.
  return reducedAs(terms.add_(stirling.maskedFill(target.le(1), 0)), code);
}

/** The variance as one of each element, or of each row. */
function varianceFor(input: Tensor, variance: Tensor): Tensor {
  const [a, b] = [input._shape, variance._shape];
  if (sameSizes(a, b)) return variance;
  if (sameSizes(a.slice(0, -1), b) && a.length > 0) return variance.unsqueeze(-1);
  const others = b.filter((n, d) => n !== a[d]);
  if (a.length === b.length && others.reduce((x, y) => x + y, 0) === 1) return variance;
  throw texts.varianceSize("gaussian_nll_loss");
}

export function gaussianNllLoss(
  input: Tensor,
  target: Tensor,
  given: Tensor | Scalar,
  full: boolean,
  eps: number,
  reduction: string,
): Tensor {
  const op = "gaussian_nll_loss";
  const variance = given instanceof Tensor ? given : O.ones_like(input, null, null, false, null).mul(given);
  const asked = given instanceof Tensor ? given : O.scalar_tensor(given, null, null, false);
  if (batchOf(asked) === null && asked.lt(0).any().item() === true) throw texts.negativeVariance(op);
  const one = varianceFor(input, variance);
  const code = REDUCTIONS.get(reduction);
  if (code === undefined) throw texts.gaussianReduction(op, reduction);
  const kept = one.clone();
  gradModes.run(false, op, () => kept.clampMin_(eps));
  const loss = kept.log().add(input.sub(target).pow(2).div(kept)).mul(0.5);
  return reducedAs(full ? loss.add(0.5 * Math.log(2 * Math.PI)) : loss, code);
}
