/** Gradients of normalizations: one kernel each; those of the gradients are computed again with recorded operators. */
import * as O from "../../generated/ops.ts";
import { batchOf } from "../tensor/batched.ts";
import { type DType, float32 } from "../tensor/dtype.ts";
import { numelOf } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { recomputed } from "./formulas-recomputed.ts";
import type { Gradients } from "./node.ts";

type Optional = Tensor | null;

/** What is normalized together, and where a parameter belongs. */
export interface Normalized {
  /** The shape in which statistics are taken, over which dimensions of it, and whether the mean is taken off. */
  readonly seen: readonly number[];
  readonly dims: readonly number[];
  readonly centered: boolean;
  /** The shape in which parameters broadcast against the input. */
  readonly affine: readonly number[];
}

export function layerPlan(input: Tensor, shape: readonly number[], centered: boolean): Normalized {
  return { seen: input._shape, dims: shape.map((_, i) => i - shape.length), centered, affine: shape };
}

export function groupPlan(input: Tensor, groups: number): Normalized {
  const [n, c] = input._shape as [number, number];
  const length = groups === 0 ? 0 : (c / groups) * numelOf(input._shape.slice(2));
  const affine = [c, ...input._shape.slice(2).map(() => 1)];
  return { seen: [n, groups, length], dims: [2], centered: true, affine };
}

export function batchPlan(input: Tensor): Normalized {
  const rest = input._shape.slice(2);
  const affine = [input._shape[1] as number, ...rest.map(() => 1)];
  return { seen: input._shape, dims: [0, ...rest.map((_, i) => i + 2)], centered: true, affine };
}

/** Short floats are normalized in float32. */
export const wideDtype = (t: Tensor): DType => (t.dtype.category === 2 && t.dtype.itemsize < 4 ? float32 : t.dtype);

export const inDtype = (t: Tensor, dtype: DType): Tensor => (t.dtype === dtype ? t : t.to(dtype));

/** The input with its mean off, times 1 / deviation: by its own statistics, or by those that are given. */
export function standardized(
  input: Tensor,
  plan: Normalized,
  eps: number,
  given: readonly [mean: Tensor, scale: Tensor] | null = null,
): { readonly x: Tensor; readonly scale: Tensor } {
  const wide = wideDtype(input);
  const seen = inDtype(input, wide).reshape(plan.seen);
  if (given !== null) {
    const [mean, scale] = given.map((t) => inDtype(t, wide).reshape(plan.affine)) as [Tensor, Tensor];
    return { x: seen.sub(mean).mul(scale), scale };
  }
  const centered = plan.centered ? seen.sub(seen.mean(plan.dims, { keepdim: true })) : seen;
  const scale = centered.mul(centered).mean(plan.dims, { keepdim: true }).add(eps).rsqrt();
  return { x: centered.mul(scale), scale };
}

const DERIVATIVES = 3;

/** The gradients of the input, weight and bias with recorded operators. */
export function normalizedGradients(
  grad: Tensor,
  input: Tensor,
  weight: Optional,
  plan: Normalized,
  eps: number,
  given: readonly [mean: Tensor, scale: Tensor] | null = null,
  parameters: DType = weight?.dtype ?? input.dtype,
): [Tensor, Tensor, Tensor] {
  const wide = wideDtype(input);
  const { x, scale } = standardized(input, plan, eps, given);
  const g = inDtype(grad, wide);
  const back = x.reshape(input._shape);
  const ofWeight = sumToAffine(g.mul(back), plan);
  const ofBias = sumToAffine(g, plan);
  const weighted = weight === null ? g : g.mul(inDtype(weight, wide).reshape(plan.affine));
  const seen = weighted.reshape(plan.seen);
  let inner = seen;
  if (given === null) {
    const along = seen.mul(x).mean(plan.dims, { keepdim: true });
    inner = seen.sub(x.mul(along));
    if (plan.centered) inner = inner.sub(seen.mean(plan.dims, { keepdim: true }));
  }
  const ofInput = inner.mul(scale).reshape(input._shape);
  return [inDtype(ofInput, input.dtype), inDtype(ofWeight, parameters), inDtype(ofBias, parameters)];
}

/** Summed over all dimensions along which a parameter repeats. */
function sumToAffine(t: Tensor, { affine }: Normalized): Tensor {
  const lead = t.ndim - affine.length;
  const dims = t._shape.flatMap((n, d) => (d < lead || (affine[d - lead] === 1 && n !== 1) ? [d] : []));
  const summed = dims.length === 0 ? t : t.sum(dims, { keepdim: true });
  return summed.reshape(affine);
}

/** Examples of a `vmap` go by recorded operators, all at once. */
const isExample = (...tensors: readonly Optional[]): boolean => tensors.some((t) => t !== null && batchOf(t) !== null);

const pick = (parts: readonly Tensor[], needs: readonly boolean[]): Gradients =>
  needs.map((wanted, i) => (wanted ? (parts[i] ?? null) : null));

/** Parameters' gradients in the shape of parameters of one dimension where channels have them. */
function shaped(parts: readonly Tensor[], shape: readonly number[], needs: readonly boolean[]): Gradients {
  return pick(
    parts.map((t, i) => (i === 0 ? t : t.reshape(shape))),
    needs,
  );
}

export function layerNormBackward(
  grad: Tensor,
  input: Tensor,
  shape: readonly number[],
  weight: Optional,
  bias: Optional,
  mean: Tensor,
  rstd: Tensor,
  eps: number,
  needs: readonly boolean[],
): Gradients {
  if (isExample(grad, input, weight)) {
    const parts = normalizedGradients(
      grad,
      input,
      weight,
      layerPlan(input, shape, true),
      eps,
      null,
      dtypeOf(input, weight, bias),
    );
    return pick(parts, needs);
  }
  const [x = false, w = false, b = false] = needs;
  return pick(O.native_layer_norm_backward(grad, input, shape, mean, rstd, weight, bias, eps, x, w, b), needs);
}

export const dtypeOf = (input: Tensor, weight: Optional, bias: Optional): DType => (weight ?? bias ?? input).dtype;

/** The gradients of gradients: what the results' ones say of the gradient, the input and the weight. */
function again(
  grads: Gradients,
  [grad, input, weight]: readonly [Tensor, Tensor, Optional],
  needs: readonly boolean[],
  body: (grad: Tensor, input: Tensor, weight: Optional) => readonly Optional[],
): Gradients {
  const whole = (g: Optional, x: Optional, w: Optional): readonly Optional[] => body(g as Tensor, x as Tensor, w);
  return recomputed([grad, input, weight], needs, whole, grads);
}

export function layerNormDoubleBackward(
  grads: Gradients,
  grad: Tensor,
  input: Tensor,
  shape: readonly number[],
  weight: Optional,
  bias: Optional,
  eps: number,
  needs: readonly boolean[],
): Gradients {
  const plan = layerPlan(input, shape, true);
  const dtype = dtypeOf(input, weight, bias);
  return again(grads, [grad, input, weight], needs, (g, x, w) => normalizedGradients(g, x, w, plan, eps, null, dtype));
}

export function rmsNormBackward(
  grad: Tensor,
  input: Tensor,
  shape: readonly number[],
  weight: Optional,
  rstd: Tensor,
  eps: number,
  needs: readonly boolean[],
): Gradients {
  if (isExample(grad, input, weight)) {
    return pick(normalizedGradients(grad, input, weight, layerPlan(input, shape, false), eps), needs);
  }
  const [x = false, w = false] = needs;
  return pick(O._fused_rms_norm_backward(grad, input, shape, rstd, weight, eps, x, w), needs);
}

export function rmsNormDoubleBackward(
  grads: Gradients,
  grad: Tensor,
  input: Tensor,
  shape: readonly number[],
  weight: Optional,
  eps: number,
  needs: readonly boolean[],
): Gradients {
  const plan = layerPlan(input, shape, false);
  return again(grads, [grad, input, weight], needs, (g, x, w) => normalizedGradients(g, x, w, plan, eps).slice(0, 2));
}

export function groupNormBackward(
  grad: Tensor,
  input: Tensor,
  weight: Optional,
  bias: Optional,
  groups: number,
  mean: Tensor,
  rstd: Tensor,
  eps: number,
  needs: readonly boolean[],
): Gradients {
  if (isExample(grad, input, weight)) {
    const dtype = dtypeOf(input, weight, bias);
    const parts = normalizedGradients(grad, input, weight, groupPlan(input, groups), eps, null, dtype);
    return shaped(parts, [input._shape[1] as number], needs);
  }
  const [x = false, w = false, b = false] = needs;
  return pick(O.native_group_norm_backward(grad, input, mean, rstd, weight, bias, groups, eps, x, w, b), needs);
}

export function groupNormDoubleBackward(
  grads: Gradients,
  grad: Tensor,
  input: Tensor,
  weight: Optional,
  bias: Optional,
  groups: number,
  eps: number,
  needs: readonly boolean[],
): Gradients {
  const plan = groupPlan(input, groups);
  return again(grads, [grad, input, weight], needs, (g, x, w) => ofChannels(g, x, w, bias, plan, eps, null));
}

/** Those of channels, the parameters' in one dimension. */
export function ofChannels(
  grad: Tensor,
  input: Tensor,
  weight: Optional,
  bias: Optional,
  plan: Normalized,
  eps: number,
  given: readonly [Tensor, Tensor] | null,
): readonly Optional[] {
  const parts = normalizedGradients(grad, input, weight, plan, eps, given, dtypeOf(input, weight, bias));
  return shaped(parts, [input._shape[1] as number], new Array(DERIVATIVES).fill(true));
}

export function batchNormBackward(
  grad: Tensor,
  input: Tensor,
  weight: Optional,
  bias: Optional,
  mean: Tensor,
  invstd: Tensor,
  training: boolean,
  eps: number,
  needs: readonly boolean[],
): Gradients {
  if (isExample(grad, input, weight)) {
    const given = training ? null : ([mean, invstd] as const);
    return pick(ofChannels(grad, input, weight, bias, batchPlan(input), eps, given) as Tensor[], needs);
  }
  const [x = false, w = false, b = false] = needs;
  return pick(O.native_batch_norm_backward(grad, input, weight, bias, mean, invstd, training, eps, x, w, b), needs);
}

export function batchNormDoubleBackward(
  grads: Gradients,
  grad: Tensor,
  input: Tensor,
  weight: Optional,
  bias: Optional,
  mean: Tensor,
  invstd: Tensor,
  training: boolean,
  eps: number,
  needs: readonly boolean[],
): Gradients {
  const plan = batchPlan(input);
  const given = training ? null : ([mean, invstd] as const);
  return again(grads, [grad, input, weight], needs, (g, x, w) => ofChannels(g, x, w, bias, plan, eps, given));
}
