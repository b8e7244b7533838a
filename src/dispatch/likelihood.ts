/** Losses of classes and of probabilities, computed in one go, without history. */

import { NllAttr, STATUS } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { CPU } from "../tensor/device.ts";
import { int64, uint8 } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { empty, emptyCopy, requireBroadcastInto } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { cast, denseAs, denseOf, fill } from "./copy.ts";
import { faultError, faultNumber } from "./faults.ts";
import { type Kernel, throwStatus } from "./kernel.ts";
import { reduced } from "./losses.ts";
import { type Named, named } from "./named.ts";
import { binary, general, type Pointwise, RULES, unary } from "./pointwise.ts";
import { requireCast, resultType } from "./promotion.ts";
import { sum } from "./reduce.ts";
import { amax, amin } from "./reduce-extremes.ts";
import { refuse } from "./refusals.ts";

type Likelihood = Named<readonly ["output", "total_weight"]>;

const NLL = "nll_loss";
const DIV: Pointwise = { name: NLL, kernel: K.binary_div, rule: RULES.float };
const MUL: Pointwise = { name: NLL, kernel: K.binary_mul, rule: RULES.arith };

/** What the kernels take as numbers: how many classes, places behind each, and which class does not count. */
interface Job {
  readonly classes: number;
  readonly inner: number;
  readonly ignored: number;
  readonly weighted: boolean;
  readonly single: boolean;
}

function launch(kernel: Kernel, tensors: readonly Tensor[], job: Job): void {
  const to = tensors[0] as Tensor;
  frame.begin(tensors.length, to.dtype.compute);
  tensors.forEach((t, i) => {
    frame.operand(i, t._address(), t.dtype.id, [t._numel], [1], 0);
  });
  frame.attr(NllAttr.classes, job.classes);
  frame.attr(NllAttr.inner, job.inner);
  frame.attr(NllAttr.ignored, job.ignored);
  frame.attr(NllAttr.weighted, job.weighted ? 1 : 0);
  frame.attr(NllAttr.single, job.single ? 1 : 0);
  frame.attr(NllAttr.fault, faultNumber(NLL));
  const status = kernel.launch(to._storage.device);
  if (status === STATUS.index_out_of_bounds) throw faultError(NLL, frame.detail(0), 0, job.classes);
  if (status !== 0) throwStatus(status, NLL, kernel.path, to.dtype.scalarType);
}

function checkRows(self: Tensor, target: Tensor, weight: Tensor | null): void {
  const [rank, targets] = [self._shape.length, target._shape.length];
  if (rank < 1 || rank > 2) throw texts.nllInputRank(NLL);
  if (targets > 1) throw texts.multiTarget(NLL);
  if (rank === 1 && targets === 1 && target._numel !== 1) throw texts.nllTargetOfOne(NLL, target._numel);
  if (!(rank === 1 && targets === 0) && rank !== 1 && self._shape[0] !== target._shape[0]) {
    throw texts.nllSizes(NLL, self._shape, target._shape);
  }
  const classes = self._shape[rank - 1] as number;
  if (weight !== null && (weight._shape.length !== 1 || weight._numel !== classes)) {
    throw texts.nllWeights(NLL, classes, weight._shape);
  }
}

function checkPlanes(self: Tensor, target: Tensor, weight: Tensor | null): void {
  if (target._shape.length !== 3) throw texts.nllPlanesOfTarget(NLL, target._shape.length);
  if (self._shape.length !== 4) throw texts.nllPlanesOfInput(NLL, self._shape.length);
  if (weight !== null && weight._numel !== self._shape[1]) throw texts.nllPlanesWeights(NLL);
  const [n, , h, w] = self._shape as [number, number, number, number];
  if (!sameSizes(target._shape, [n, h, w])) throw texts.nllPlaneSizes(NLL, self._shape, target._shape);
}

function requireTargets(target: Tensor): void {
  if (target.dtype !== int64 && target.dtype !== uint8) throw texts.nllTargetDtype(NLL, target.dtype.scalarType);
}

function likelihood(
  self: Tensor,
  target: Tensor,
  weight: Tensor | null,
  reduction: number,
  ignored: number,
  shape: readonly number[],
): Likelihood {
  for (const t of weight === null ? [self, target] : [self, target, weight]) requireKept(t._storage);
  requireTargets(target);
  if (weight !== null && weight.dtype !== self.dtype) {
    throw texts.scalarTypeDiffers(NLL, self.dtype.scalarType, weight.dtype.scalarType);
  }
  const { device } = self._storage;
  const losses = empty(shape, self.dtype, device);
  const used = empty(shape, self.dtype, device);
  if (hasWork(losses)) {
    const inputs = [denseAs(target, int64), denseOf(self), ...(weight === null ? [] : [denseOf(weight)])];
    const inner = self._shape.length === 4 ? (self._shape[2] as number) * (self._shape[3] as number) : 1;
    const classes = self._shape[self._shape.length === 1 ? 0 : 1] as number;
    launch(K.loss_nll, [losses, used, ...inputs], {
      classes,
      inner,
      ignored,
      weighted: weight !== null,
      single: false,
    });
    [target, self, weight].forEach((t, i) => {
      if (t !== null) dropCopy(inputs[i] as Tensor, t);
    });
  }
  return named(NLL, ["output", "total_weight"], closed(losses, used, reduction));
}

/** The losses of all places, their sum or that divided by the weights' sum, which torch keeps for the gradient. */
function closed(losses: Tensor, used: Tensor, reduction: number): [Tensor, Tensor] {
  if (reduction === 0) {
    drop(used);
    return [losses, fill(empty([], losses.dtype, losses._storage.device), 0)];
  }
  const [total, weights] = [sum(losses, null), sum(used, null)];
  drop(losses);
  drop(used);
  if (reduction === 2) return [total, weights];
  const mean = binary(DIV, total, weights);
  drop(total);
  return [mean, weights];
}

/** Of classes of rows, [N, C] or [C]. */
export function nllLoss(
  self: Tensor,
  target: Tensor,
  weight: Tensor | null,
  reduction: number,
  ignored: number,
): Likelihood {
  checkRows(self, target, weight);
  refuse(REFUSALS.nll_loss_out_frame, self.dtype, NLL);
  return likelihood(self, target, weight, reduction, ignored, self._shape.length === 1 ? [] : target._shape);
}

/** Of classes of places of a plane, [N, C, H, W]. */
export function nllLoss2d(
  self: Tensor,
  target: Tensor,
  weight: Tensor | null,
  reduction: number,
  ignored: number,
): Likelihood {
  checkPlanes(self, target, weight);
  refuse(REFUSALS.nll_loss2d_forward_out_frame, self.dtype, NLL);
  return likelihood(self, target, weight, reduction, ignored, target._shape);
}

/** Zeros, and at the class of each place its weight times the gradient. */
export function nllLossBackward(
  grad: Tensor,
  shape: readonly number[],
  target: Tensor,
  weight: Tensor | null,
  reduction: number,
  ignored: number,
  total: Tensor,
): Tensor {
  for (const t of weight === null ? [grad, target, total] : [grad, target, total, weight]) requireKept(t._storage);
  const r = fill(empty(shape, grad.dtype, grad._storage.device), 0);
  if (!hasWork(r)) return r;
  const shared = reduction === 1 ? binary(DIV, grad, total) : grad;
  const inputs = [denseOf(shared), denseAs(target, int64), ...(weight === null ? [] : [denseOf(weight)])];
  const inner = shape.length === 4 ? (shape[2] as number) * (shape[3] as number) : 1;
  const classes = shape[shape.length === 1 ? 0 : 1] as number;
  const [g, classesOf, weights] = inputs as [Tensor, Tensor, Tensor?];
  // Operand 3 is what the forward kernel reads from.
  const tensors = weights === undefined ? [r, g, classesOf] : [r, g, classesOf, g, weights];
  const single = reduction !== 0 || shape.length === 1;
  launch(K.loss_nll_backward, tensors, { classes, inner, ignored, weighted: weights !== undefined, single });
  [shared, target, weight].forEach((t, i) => {
    if (t !== null) dropCopy(inputs[i] as Tensor, t);
  });
  if (shared !== grad) drop(shared);
  return r;
}

const BCE: Pointwise = {
  name: "binary_cross_entropy",
  kernel: K.binary_bce,
  rule: RULES.arith,
  refuses: [REFUSALS.binary_cross_entropy],
};

/** Whether all elements lie from 0 to 1. */
function areProbabilities(t: Tensor): boolean {
  const [low, high] = [amin(t, [], false), amax(t, [], false)];
  const inside = (low.item() as number) >= 0 && (high.item() as number) <= 1;
  drop(low);
  drop(high);
  return inside;
}

/** A loss that is no number tells of an input or a target beyond its bounds, or not a number. */
function requireProbabilities(losses: Tensor, self: Tensor, target: Tensor): void {
  if (self._storage.device !== CPU || self._numel === 0) return;
  const total = sum(losses, null);
  const fine = !Number.isNaN(total.item() as number);
  drop(total);
  if (fine) return;
  if (!areProbabilities(self)) throw texts.notProbabilities(BCE.name, "input");
  if (!areProbabilities(target)) throw texts.notProbabilities(BCE.name, "target");
}

/** Of probabilities, times weights, reduced. */
export function bce(self: Tensor, target: Tensor, weight: Tensor | null, reduction: number): Tensor {
  for (const t of weight === null ? [target] : [target, weight]) requireKept(t._storage);
  if (target.dtype !== self.dtype) throw texts.foundDtype(BCE.name, target.dtype.scalarType, self.dtype.scalarType);
  const losses = general(BCE, [self, target]);
  if (losses._storage.device.computes) requireProbabilities(losses, self, target);
  if (weight !== null) binary({ ...MUL, name: BCE.name }, losses, weight, losses, true);
  return reduced(BCE.name, losses, reduction);
}

const LOGITS: Pointwise = {
  name: "binary_cross_entropy_with_logits",
  kernel: K.binary_bce_logits,
  rule: RULES.arith,
};
const WEIGHTED_LOGITS: Pointwise = { ...LOGITS, kernel: K.ternary_bce_logits };

function logits(self: Tensor, target: Tensor, posWeight: Tensor | null): Tensor {
  // In the order of the target's elements, as torch's first step.
  const to = emptyCopy(target, resultType(posWeight === null ? [target, self] : [target, self, posWeight]));
  const plain = posWeight === null;
  return plain ? general(LOGITS, [self, target], to) : general(WEIGHTED_LOGITS, [self, target, posWeight], to);
}

const SUB: Pointwise = { ...LOGITS, kernel: K.binary_sub };
const TIMES: Pointwise = { ...LOGITS, kernel: K.binary_mul };
const LOG_SIGMOID: Pointwise = { ...LOGITS, kernel: K.activation_log_sigmoid };

/** Of 16-bit floats, rounded as often as torch rounds: their sum over many is another. */
function roundedLogits(self: Tensor, target: Tensor, posWeight: Tensor | null): Tensor {
  const logs = unary(LOG_SIGMOID, self);
  if (posWeight !== null) {
    const less = binary(SUB, posWeight, 1);
    const share = binary(TIMES, less, target);
    binary({ ...LOGITS, kernel: K.binary_add }, share, 1, share, true);
    binary(TIMES, logs, share, logs, true);
    for (const t of [less, share]) drop(t);
  }
  const rest = binary(SUB, 1, target);
  const losses = binary(TIMES, rest, self);
  binary(SUB, losses, logs, losses, true);
  for (const t of [rest, logs]) drop(t);
  return losses;
}

/** Of numbers whose sigmoids are probabilities; the result has the dtype of the target. */
export function bceLogits(
  self: Tensor,
  target: Tensor,
  weight: Tensor | null,
  posWeight: Tensor | null,
  reduction: number,
): Tensor {
  for (const t of [self, target]) requireKept(t._storage);
  refuse(REFUSALS.log_sigmoid_cpu, self.dtype, LOGITS.name);
  for (const t of [posWeight, weight]) if (t !== null) requireBroadcastInto(target._shape, t._shape, LOGITS.name);
  requireCast(resultType([target, self]), target.dtype);
  const wide = target.dtype.itemsize === 2 ? roundedLogits(self, target, posWeight) : logits(self, target, posWeight);
  const losses = wide.dtype === target.dtype ? wide : cast(wide, target.dtype);
  if (losses !== wide) drop(wide);
  if (weight !== null) binary({ ...MUL, name: LOGITS.name }, losses, weight, losses, true);
  return reduced(LOGITS.name, losses, reduction);
}
