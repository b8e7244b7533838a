/** Tangents of convolutions, losses, normalizations, attention and recurrent layers. */
import * as O from "../../generated/ops.ts";
import { attentionByOperators, attentionGradients } from "../autograd/formulas-attention.ts";
import {
  batchNormBackward,
  batchPlan,
  dtypeOf,
  groupNormBackward,
  groupPlan,
  inDtype,
  layerNormBackward,
  layerPlan,
  type Normalized,
  normalizedGradients,
  ofChannels,
  rmsNormBackward,
  standardized,
} from "../autograd/formulas-normalization.ts";
import { layerByOperators } from "../autograd/formulas-recurrent.ts";
import type { OutputMeta } from "../autograd/node.ts";
import { sameSizes } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { plus, type Tangents, type Through } from "./tangents-common.ts";

type Optional = Tensor | null;
type Outputs = readonly [OutputMeta, ...OutputMeta[]];

/** A number for each channel. */
export function ofChannel(tangent: Tensor, outputs: Outputs): Tensor {
  return tangent.reshape([-1, ...outputs[0].shape.slice(2).map(() => 1)]);
}

/** A loss of what each element's loss changes by. */
export function reduced(tangent: Tensor, reduction: number): Tensor {
  if (reduction === 0) return tangent;
  return reduction === 1 ? tangent.sum().div(Math.max(1, tangent._numel)) : tangent.sum();
}

/** A tangent of the loss's dtype, in which slopes are computed. */
export function inLoss(tangent: Tensor, outputs: Outputs): Tensor {
  return inDtype(tangent, outputs[0].dtype);
}

export function nllTangent(
  tangent: Tensor,
  target: Tensor,
  weight: Optional,
  reduction: number,
  ignored: number,
  planes: boolean,
): Tensor {
  const loss = planes ? O.nll_loss2d_forward : O.nll_loss_forward;
  return loss(tangent, target, weight, reduction, ignored)[0] as Tensor;
}

/** The weights' sum is what a loss of zeros gives beside it. */
export function nllBackwardTangent(
  tangent: Tensor,
  target: Tensor,
  weight: Optional,
  reduction: number,
  ignored: number,
  outputs: Outputs,
  planes: boolean,
): Tensor {
  const [{ shape, dtype, device }] = outputs;
  const loss = planes ? O.nll_loss2d_forward : O.nll_loss_forward;
  const backward = planes ? O.nll_loss2d_backward : O.nll_loss_backward;
  const total = loss(O.zeros(shape, dtype, device, false), target, weight, reduction, ignored)[1] as Tensor;
  return backward(tangent, shape, target, weight, reduction, ignored, total);
}

/** What was normalized is weighted and moved: `inner` is the tangent of the former, whose Jacobian is symmetric. */
function affine(
  inner: Optional,
  [ofWeight, ofBias]: readonly [Optional, Optional],
  weight: Optional,
  normal: () => Tensor,
  shape: readonly number[],
): Tensor {
  const first = inner === null || weight === null ? inner : inner.mul(weight.reshape(shape));
  const second = ofWeight === null ? null : normal().mul(ofWeight.reshape(shape));
  return plus(plus(first, second), ofBias === null ? null : ofBias.reshape(shape)) as Tensor;
}

const INPUT = [true, false, false] as const;

function normalOf(
  input: Tensor,
  plan: Normalized,
  eps: number,
  given: readonly [Tensor, Tensor] | null = null,
): Tensor {
  return standardized(input, plan, eps, given).x.reshape(input._shape);
}

export function layerNormTangent(
  [x = null, w = null, b = null]: Tangents,
  input: Tensor,
  shape: readonly number[],
  weight: Optional,
  mean: Tensor,
  rstd: Tensor,
  eps: number,
): Tensor {
  const inner = x === null ? null : layerNormBackward(x, input, shape, null, null, mean, rstd, eps, INPUT)[0];
  return affine(inner ?? null, [w, b], weight, () => normalOf(input, layerPlan(input, shape, true), eps), shape);
}

export function rmsNormTangent(
  [x = null, w = null]: Tangents,
  input: Tensor,
  shape: readonly number[],
  weight: Optional,
  rstd: Tensor,
  eps: number,
): Tensor {
  const inner = x === null ? null : rmsNormBackward(x, input, shape, null, rstd, eps, INPUT)[0];
  return affine(inner ?? null, [w, null], weight, () => normalOf(input, layerPlan(input, shape, false), eps), shape);
}

export function groupNormTangent(
  [x = null, w = null, b = null]: Tangents,
  input: Tensor,
  weight: Optional,
  groups: number,
  mean: Tensor,
  rstd: Tensor,
  eps: number,
): Tensor {
  const plan = groupPlan(input, groups);
  const inner = x === null ? null : groupNormBackward(x, input, null, null, groups, mean, rstd, eps, INPUT)[0];
  return affine(inner ?? null, [w, b], weight, () => normalOf(input, plan, eps), plan.affine);
}

export function batchNormTangent(
  [x = null, w = null, b = null]: Tangents,
  input: Tensor,
  weight: Optional,
  mean: Tensor,
  invstd: Tensor,
  training: boolean,
  eps: number,
): Tensor {
  const plan = batchPlan(input);
  const given = training ? null : ([mean, invstd] as const);
  const inner = x === null ? null : batchNormBackward(x, input, null, null, mean, invstd, training, eps, INPUT)[0];
  return affine(inner ?? null, [w, b], weight, () => normalOf(input, plan, eps, given), plan.affine);
}

/** Gradients that nobody asked a kernel for are empty. */
function asked(parts: readonly Optional[], outputs: readonly OutputMeta[]): readonly Optional[] {
  return parts.map((t, i) => (t !== null && outputs[i] && sameSizes(t._shape, outputs[i].shape) ? t : null));
}

/** Gradients of normalizations: the same with recorded operators. */
export function layerNormAgain(
  through: Through,
  tangents: Tangents,
  inputs: readonly [Tensor, Tensor, Optional],
  shape: readonly number[],
  bias: Optional,
  eps: number,
  outputs: Outputs,
): readonly Optional[] {
  const [, input, weight] = inputs;
  const plan = layerPlan(input, shape, true);
  const dtype = dtypeOf(input, weight, bias);
  return through(inputs, tangents, (g, x, w = null) =>
    asked(normalizedGradients(g as Tensor, x as Tensor, w, plan, eps, null, dtype), outputs),
  );
}

export function rmsNormAgain(
  through: Through,
  tangents: Tangents,
  inputs: readonly [Tensor, Tensor, Optional],
  shape: readonly number[],
  eps: number,
  outputs: Outputs,
): readonly Optional[] {
  const plan = layerPlan(inputs[1], shape, false);
  return through(inputs, tangents, (g, x, w = null) =>
    asked(normalizedGradients(g as Tensor, x as Tensor, w, plan, eps).slice(0, 2), outputs),
  );
}

export function groupNormAgain(
  through: Through,
  tangents: Tangents,
  inputs: readonly [Tensor, Tensor, Optional],
  bias: Optional,
  groups: number,
  eps: number,
  outputs: Outputs,
): readonly Optional[] {
  const plan = groupPlan(inputs[1], groups);
  return through(inputs, tangents, (g, x, w = null) =>
    asked(ofChannels(g as Tensor, x as Tensor, w, bias, plan, eps, null), outputs),
  );
}

export function batchNormAgain(
  through: Through,
  tangents: Tangents,
  inputs: readonly [Tensor, Tensor, Optional],
  bias: Optional,
  statistics: readonly [Tensor, Tensor],
  training: boolean,
  eps: number,
  outputs: Outputs,
): readonly Optional[] {
  const plan = batchPlan(inputs[1]);
  const given = training ? null : statistics;
  return through(inputs, tangents, (g, x, w = null) =>
    asked(ofChannels(g as Tensor, x as Tensor, w, bias, plan, eps, given), outputs),
  );
}

export function attentionTangent(
  through: Through,
  tangents: Tangents,
  inputs: readonly [Tensor, Tensor, Tensor],
  mask: Optional,
  causal: boolean,
  scale: number,
): readonly Optional[] {
  return through(inputs, tangents, (q, k, v) => [
    attentionByOperators(q as Tensor, k as Tensor, v as Tensor, mask, causal, scale),
  ]);
}

export function attentionAgain(
  through: Through,
  tangents: Tangents,
  inputs: readonly [Tensor, Tensor, Tensor, Tensor],
  mask: Optional,
  causal: boolean,
  scale: number,
): readonly Optional[] {
  return through(inputs, tangents, (...given) => {
    const [g, q, k, v] = given as [Tensor, Tensor, Tensor, Tensor];
    return attentionGradients(g, q, k, v, mask, causal, scale);
  });
}

export function recurrentTangent(
  through: Through,
  tangents: Tangents,
  inputs: readonly [Tensor, Tensor, Optional, Tensor, Optional],
  mode: number,
  reverse: boolean,
): readonly Optional[] {
  return through(inputs, tangents, (x, h, c = null, w, b = null) =>
    layerByOperators(x as Tensor, h as Tensor, c, w as Tensor, b, mode, reverse, null),
  );
}
