/** Normalizations: what torch checks before the kernel, and the same with other operators where there is no kernel. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { gradMode, requiresGrad } from "../dispatch/mode.ts";
import { batchOf } from "../tensor/batched.ts";
import { float64 } from "../tensor/dtype.ts";
import { numelOf, sameSizes } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import type { Tensor } from "../tensor/tensor.ts";
import {
  batchPlan,
  groupPlan,
  inDtype,
  layerPlan,
  type Normalized,
  standardized,
  wideDtype,
} from "./formulas-normalization.ts";
import { requireReal } from "./tracking.ts";

type Optional = Tensor | null;

/** Whether kernels serve these: examples of a `vmap` go by operators, all at once. */
function served(...tensors: readonly Optional[]): boolean {
  for (const t of tensors) if (t !== null && batchOf(t) !== null) return false;
  return true;
}

/** Scaled and shifted, and rounded once. */
function finished(x: Tensor, input: Tensor, weight: Optional, bias: Optional, { affine }: Normalized): Tensor {
  const wide = wideDtype(input);
  let r = x.reshape(input._shape);
  if (weight !== null) r = r.mul(inDtype(weight, wide).reshape(affine));
  if (bias !== null) r = r.add(inDtype(bias, wide).reshape(affine));
  return inDtype(r, input.dtype);
}

function requireFloating(input: Tensor, kernel: string): void {
  if (input.dtype.category !== 2) throw texts.notImplementedFor(undefined, kernel, input.dtype.scalarType);
}

function requireNormalized(op: string, shape: readonly number[], weight: Optional, bias: Optional): void {
  if (shape.length < 1) throw texts.normalizedShapeEmpty(op, shape);
  for (const [name, t] of [
    ["weight", weight],
    ["bias", bias],
  ] as const) {
    if (t !== null && !sameSizes(t._shape, shape)) throw texts.normalizedShapeDiffers(op, name, t._shape, shape);
  }
}

function requireTail(op: string, input: Tensor, shape: readonly number[], sizes: string): void {
  const tail = input._shape.slice(Math.max(0, input.ndim - shape.length));
  if (!sameSizes(tail, shape)) throw texts.normalizedInput(op, shape, sizes, input._shape);
}

export function layerNorm(
  input: Tensor,
  shape: readonly number[],
  weight: Optional,
  bias: Optional,
  eps: number,
): Tensor {
  requireNormalized("layer_norm", shape, weight, bias);
  requireTail("layer_norm", input, shape, shape.map((n) => `, ${n}`).join(""));
  if (served(input, weight, bias)) return O.native_layer_norm(input, shape, weight, bias, eps)[0];
  requireFloating(input, "LayerNormKernelImpl");
  const plan = layerPlan(input, shape, true);
  return finished(standardized(input, plan, eps).x, input, weight, bias, plan);
}

/** As the main namespace has it. */
export function mainLayerNorm(
  input: Tensor,
  shape: readonly number[],
  weight: Optional,
  bias: Optional,
  eps: number,
  _cudnnEnable: boolean,
): Tensor {
  return layerNorm(input, shape, weight, bias, eps);
}

const EPSILON = { narrow: 2 ** -23, wide: 2 ** -52 };

export function rmsNorm(input: Tensor, shape: readonly number[], weight: Optional, given: number | null): Tensor {
  requireNormalized("rms_norm", shape, weight, null);
  if (input.ndim < shape.length) throw texts.normalizedRank("rms_norm", shape.length, input.ndim);
  requireTail("rms_norm", input, shape, shape.join(", "));
  const { dtype } = input;
  if (dtype.category < 2) throw texts.notImplementedFor("rms_norm", "rms_norm", dtype.scalarType);
  const eps = given ?? (dtype === float64 || dtype.itemsize === 16 ? EPSILON.wide : EPSILON.narrow);
  const wide = wideDtype(input);
  const fits = weight === null || weight.dtype === wide || (weight.dtype.category === 2 && weight.dtype.itemsize < 4);
  if (wide.category === 2 && fits && served(input, weight)) {
    const w = weight === null ? null : inDtype(weight, wide);
    const r = O._fused_rms_norm(inDtype(input, wide), shape, w, eps)[0];
    return inDtype(r, dtype);
  }
  const plan = layerPlan(input, shape, false);
  const x = inDtype(input, wide);
  const scale = x.pow(2).mean(plan.dims, { keepdim: true }).add(eps).rsqrt();
  const r = x.mul(scale).contiguous();
  return inDtype(weight === null ? r : r.mul(weight), dtype);
}

function requireValues(size: readonly number[], text: string): void {
  const values = size.reduce((n, x, d) => (d === 1 ? n : n * x), 1);
  if (values === 1) throw texts.oneValuePerChannel(undefined, text);
}

export function functionalGroupNorm(
  input: Tensor,
  groups: number,
  weight: Optional,
  bias: Optional,
  eps: number,
): Tensor {
  if (input.ndim < 2) throw texts.groupNormRank("group_norm", input.ndim);
  if (groups === 0) throw texts.zeroDivision("group_norm");
  const [n, c] = input._shape as [number, number];
  const size = [Math.floor((n * c) / groups), groups, ...input._shape.slice(2)];
  requireValues(size, `[${size.join(", ")}]`);
  return groupNorm(input, groups, weight, bias, eps);
}

export function groupNorm(input: Tensor, groups: number, weight: Optional, bias: Optional, eps: number): Tensor {
  if (input.ndim < 2)
    throw input.ndim === 0 ? texts.dimOfScalar("group_norm", 0) : texts.dimOutOfRange("group_norm", -1, 0, 1);
  const channels = input._shape[1] as number;
  if (channels === 0) throw texts.groupNormEmpty("group_norm", "number of channels");
  if (numelOf(input._shape.slice(2)) === 0) throw texts.groupNormEmpty("group_norm", "HxW");
  if (groups <= 0) throw texts.groupsNotPositive("group_norm", groups);
  if (channels % groups !== 0) throw texts.channelsInGroups("group_norm", input._shape, groups);
  for (const [name, t] of [
    ["weight", weight],
    ["bias", bias],
  ] as const) {
    const fits = t === null || (t.ndim === 1 && t._numel === channels);
    if (!fits) throw texts.parameterOfChannels("group_norm", name, t._shape, input._shape);
  }
  if (input._numel === 0 && input.dtype.category !== 2) {
    const recorded = gradMode.enabled && [input, weight, bias].some((t) => t !== null && requiresGrad(t));
    if (recorded) requireReal("native_group_norm", input);
    return O.empty_like(input, null, null, false, null);
  }
  if (served(input, weight, bias)) return O.native_group_norm(input, weight, bias, groups, eps)[0];
  requireFloating(input, "GroupNormKernelImpl");
  const plan = groupPlan(input, groups);
  return finished(standardized(input, plan, eps).x, input, weight, bias, plan);
}

/** As the main namespace has it. */
export function mainGroupNorm(
  input: Tensor,
  groups: number,
  weight: Optional,
  bias: Optional,
  eps: number,
  _cudnnEnabled: boolean,
): Tensor {
  return groupNorm(input, groups, weight, bias, eps);
}

function requireChannels(name: string, t: Optional, channels: number): void {
  if (t !== null && t._numel !== channels) throw texts.elementsOfChannels("batch_norm", name, channels, t._numel);
}

/** As Python shows a float that is refused: zero or below. */
const floatText = (x: number): string => (Number.isInteger(x) ? `${x}.0` : String(x));

export function functionalBatchNorm(
  input: Tensor,
  runningMean: Optional,
  runningVar: Optional,
  weight: Optional,
  bias: Optional,
  training: boolean,
  momentum: number,
  eps: number,
): Tensor {
  if (training) requireValues(input._shape, String(input.shape));
  if (training && eps <= 0) throw texts.trainingEps("batch_norm", floatText(eps));
  if (eps < 0) throw texts.negativeEps("batch_norm", floatText(eps));
  return batchNorm(input, weight, bias, runningMean, runningVar, training, momentum, eps, false);
}

export function batchNorm(
  input: Tensor,
  weight: Optional,
  bias: Optional,
  runningMean: Optional,
  runningVar: Optional,
  training: boolean,
  momentum: number,
  eps: number,
  _cudnnEnabled: boolean,
): Tensor {
  for (const t of [input, weight, bias, runningMean, runningVar]) if (t !== null) requireKept(t._storage);
  if (input._numel === 0) {
    let out = O.clone(input, null);
    if (weight !== null) out = out.mul(weight.select(0, 0));
    return bias === null ? out : out.add(bias.select(0, 0));
  }
  const channels = input._shape[1] ?? 0;
  for (const [name, t] of [
    ["running_mean", runningMean],
    ["running_var", runningVar],
  ] as const) {
    requireChannels(name, t, channels);
    if (t === null && !training) throw texts.runningNeeded("batch_norm", name);
  }
  requireChannels("weight", weight, channels);
  requireChannels("bias", bias, channels);
  if ((runningMean === null) !== (runningVar === null)) throw texts.runningBoth("batch_norm");
  for (const [name, t] of [
    ["running_mean", runningMean],
    ["running_var", runningVar],
  ] as const) {
    if (t !== null && requiresGrad(t)) throw texts.argumentNotDifferentiable("batch_norm", "native_batch_norm", name);
  }
  if (served(input, weight, bias, runningMean, runningVar)) {
    return O.native_batch_norm(input, weight, bias, runningMean, runningVar, training, momentum, eps)[0];
  }
  requireFloating(input, "batch_norm");
  const plan = batchPlan(input);
  if (!training) {
    const wide = wideDtype(input);
    const invstd = inDtype(runningVar as Tensor, wide)
      .add(eps)
      .rsqrt();
    const { x } = standardized(input, plan, eps, [runningMean as Tensor, invstd]);
    return finished(x, input, weight, bias, plan);
  }
  if (runningMean !== null && runningVar !== null) track(input, runningMean, runningVar, plan, momentum);
  return finished(standardized(input, plan, eps).x, input, weight, bias, plan);
}

/** `momentum` of the batch's statistics goes into the running ones, of the variance the unbiased one. */
function track(input: Tensor, mean: Tensor, variance: Tensor, plan: Normalized, momentum: number): void {
  const x = inDtype(O.detach(input), wideDtype(input));
  const batch = x.mean(plan.dims);
  const spread = x.var(plan.dims);
  mean.mul_(1 - momentum).add_(inDtype(batch, mean.dtype), { alpha: momentum });
  variance.mul_(1 - momentum).add_(inDtype(spread, variance.dtype), { alpha: momentum });
}

export function functionalInstanceNorm(
  input: Tensor,
  runningMean: Optional,
  runningVar: Optional,
  weight: Optional,
  bias: Optional,
  useInputStats: boolean,
  momentum: number,
  eps: number,
): Tensor {
  const spatial = input._shape.slice(2);
  if (useInputStats && numelOf(spatial) === 1) throw texts.oneSpatialElement("instance_norm", String(input.shape));
  return instanceNorm(input, weight, bias, runningMean, runningVar, useInputStats, momentum, eps, false);
}

/** A batch of one example, whose channels are those of all examples. */
export function instanceNorm(
  input: Tensor,
  weight: Optional,
  bias: Optional,
  runningMean: Optional,
  runningVar: Optional,
  useInputStats: boolean,
  momentum: number,
  eps: number,
  _cudnnEnabled: boolean,
): Tensor {
  if (!useInputStats && (runningMean === null || runningVar === null)) throw texts.runningOfInstances("instance_norm");
  if (input.ndim < 2)
    throw texts.dimOutOfRange("instance_norm", -Math.max(1, input.ndim), Math.max(0, input.ndim - 1), 1);
  const [n, c, ...rest] = input._shape as [number, number, ...number[]];
  const repeated = (t: Optional): Optional => (t === null ? null : t.repeat(n));
  const [w, b, mean, variance] = [weight, bias, runningMean, runningVar].map(repeated) as [
    Optional,
    Optional,
    Optional,
    Optional,
  ];
  const wide = input.contiguous().view([1, n * c, ...rest]);
  const out = batchNorm(wide, w, b, mean, variance, useInputStats, momentum, eps, false);
  if (useInputStats) {
    if (runningMean !== null) runningMean.copy_((mean as Tensor).view([n, c]).mean(0));
    if (runningVar !== null) runningVar.copy_((variance as Tensor).view([n, c]).mean(0));
  }
  return out.view(input._shape);
}

/** Divided by the norm along dimensions. */
export function normalize(
  input: Tensor,
  p: number,
  dim: number | readonly number[],
  eps: number,
  out?: Tensor,
): Tensor {
  const size = O.linalg_vector_norm(input, p, dim, true, null);
  const floor = O.clamp_min(size, eps);
  return O.div(input, O.expand(floor, input._shape, false), null, out);
}
