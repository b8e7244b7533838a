/** Losses of nn.functional: what torch does before and after the kernel. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { broadcastShapes } from "../dispatch/allocate.ts";
import { warn } from "../tensor/errors.ts";
import { listText, sameSizes } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { reducedAs, reductionCode, reductionOf } from "./loss-reductions.ts";

function warnOfSizes(input: Tensor, target: Tensor): void {
  if (sameSizes(input._shape, target._shape)) return;
  warn(
    `Using a target size (torch.Size(${listText(target._shape)})) that is different to the input size ` +
      `(torch.Size(${listText(input._shape)})). This will likely lead to incorrect results due to broadcasting. ` +
      "Please ensure they have the same size.",
  );
}

/** As many elements as a shape has, by repeating them. */
export function expanded(t: Tensor, shape: readonly number[]): Tensor {
  return sameSizes(t._shape, shape) ? t : O.expand(t, shape, false);
}

/**
 * What losses by distance begin with: input and target in their common shape, whose sizes may be worth a warning, and
 * the reduction that the arguments name.
 */
function opened(
  input: Tensor,
  target: Tensor,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
): [x: Tensor, y: Tensor, wanted: string] {
  warnOfSizes(input, target);
  const wanted = reductionOf(sizeAverage, reduce, reduction);
  const shape = broadcastShapes(input._shape, target._shape);
  return [expanded(input, shape), expanded(target, shape), wanted];
}

function requireWeights(op: string, weight: Tensor, input: Tensor): void {
  if (!sameSizes(weight._shape, input._shape)) throw texts.weightsSize(op);
}

/** Losses that were multiplied by weights: their mean is divided by the weights' sum. */
function weighted(op: string, losses: Tensor, weight: Tensor, reduction: string): Tensor {
  if (reduction === "none") return losses;
  if (reduction === "sum") return losses.sum();
  if (reduction === "mean") return losses.sum().div(weight.sum());
  throw texts.invalidReductionMode(op, reduction);
}

export function mseLoss(
  input: Tensor,
  target: Tensor,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
  weight: Tensor | null,
): Tensor {
  const op = "mse_loss";
  const [x, y, wanted] = opened(input, target, sizeAverage, reduce, reduction);
  if (weight === null) return O._mse_loss(x, y, reductionCode(op, wanted));
  requireWeights(op, weight, input);
  return weighted(op, x.sub(y).pow(2).mul(weight), weight, wanted);
}

function distances(x: Tensor, y: Tensor, code: number): Tensor {
  return reducedAs(x.sub(y).abs(), code);
}

export function l1Loss(
  input: Tensor,
  target: Tensor,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
  weight: Tensor | null,
): Tensor {
  const op = "l1_loss";
  const [x, y, wanted] = opened(input, target, sizeAverage, reduce, reduction);
  if (weight === null) return distances(x, y, reductionCode(op, wanted));
  requireWeights(op, weight, input);
  return weighted(op, x.sub(y).abs().mul(weight), weight, wanted);
}

export function smoothL1Loss(
  input: Tensor,
  target: Tensor,
  sizeAverage: boolean | null,
  reduce: boolean | null,
  reduction: string,
  beta: number,
): Tensor {
  const [x, y, wanted] = opened(input, target, sizeAverage, reduce, reduction);
  const code = reductionCode("smooth_l1_loss", wanted);
  return beta === 0 ? distances(x, y, code) : O._smooth_l1_loss(x, y, code, beta);
}

export function huberLoss(
  input: Tensor,
  target: Tensor,
  reduction: string,
  delta: number,
  weight: Tensor | null,
): Tensor {
  const op = "huber_loss";
  const [x, y] = opened(input, target, null, null, reduction);
  if (weight === null) return O._huber_loss(x, y, reductionCode(op, reduction), delta);
  requireWeights(op, weight, input);
  const losses = O._huber_loss(x, y, 0, delta).mul(weight);
  return reduction === "mean" ? losses.mean() : weighted(op, losses, weight, reduction);
}
