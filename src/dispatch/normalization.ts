/** Normalization by mean and variance, and its gradients: dense operands for the kernels, statistics for autograd. */

import { NormChannelsAttr, NormRowsAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { bfloat16, type DType, float16, float32, float64 } from "../tensor/dtype.ts";
import { contiguousStrides, numelOf } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { empty, emptyCopy, emptyWith } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { clone, copyInto, denseAs, denseOf, isContiguousIn } from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { channelsLast, channelsLast3d } from "./memory-format.ts";
import { type Named, named } from "./named.ts";

type Optional = Tensor | null;

/** Short floats are normalized in float32, and have parameters of either dtype. */
const isShort = (d: DType): boolean => d === bfloat16 || d === float16;

/** The dtype that statistics and parameters are computed in. */
const computed = (d: DType): DType => (d === float64 ? float64 : float32);

/** Refuses dtypes as torch's kernel does: parameters first, which may be float32 beside short floats. */
function requireFloats(op: string, kernel: string, input: Tensor, parameters: readonly Optional[]): void {
  const given = parameters.filter((t) => t !== null);
  const first = given[0];
  const served = input.dtype === float64 || input.dtype === float32 || isShort(input.dtype);
  // Batches are refused by dtype before parameters are looked at.
  if (!served && op === "batch_norm") throw texts.notImplementedFor(op, kernel, input.dtype.scalarType);
  if (first !== undefined && first.dtype !== input.dtype) {
    if (given.some((t) => t.dtype !== float32)) throw texts.mixedParameters(op);
    if (!isShort(input.dtype)) throw texts.mixedInputs(op);
  }
  if (!served) throw texts.notImplementedFor(op, kernel, input.dtype.scalarType);
  for (const t of given) {
    if (t.dtype !== (first as Tensor).dtype) {
      throw texts.scalarTypeDiffers(op, (first as Tensor).dtype.scalarType, t.dtype.scalarType);
    }
  }
}

/** Runs a kernel on dense operands; one that is not there has no elements. Those of the first shapes have them. */
function launch(
  kernel: Kernel,
  op: string,
  operands: readonly Optional[],
  shapes: readonly (readonly number[] | null)[],
  attributes: () => void,
): void {
  const [first] = operands as [Tensor];
  frame.begin(operands.length, first.dtype.compute);
  for (const [i, t] of operands.entries()) {
    const count = t?._numel ?? 0;
    const given = shapes[i] ?? null;
    // Without elements there may still be rows, or channels.
    const shape = given !== null && numelOf(given) === count ? given : [count];
    const address = t !== null && count > 0 ? t._address() : 0;
    frame.operand(i, address, (t ?? first).dtype.id, shape, contiguousStrides(shape), 0);
  }
  attributes();
  kernel.run(first._storage.device, op, first.dtype.scalarType);
}

/** Row-major, in the dtype that parameters are computed in. */
const wideOf = (t: Optional, wide: DType): Optional => (t === null ? null : denseAs(t, wide));

function giveBack(made: readonly Optional[], given: readonly Optional[]): void {
  for (const [i, t] of made.entries()) if (t !== null) dropCopy(t, given[i]);
}

/** How elements are seen: rows that are normalized, each in segments with one weight, those of several rows in turn. */
interface Rows {
  readonly count: number;
  readonly length: number;
  readonly inner: number;
  readonly groups: number;
  readonly centered: boolean;
}

function writeRows({ inner, groups, centered }: Rows, eps: number): void {
  frame.attr(NormRowsAttr.eps, eps);
  frame.attr(NormRowsAttr.centered, centered ? 1 : 0);
  frame.attr(NormRowsAttr.inner, inner);
  frame.attr(NormRowsAttr.groups, groups);
}

/** Fills dense tensors: the result, and for each row its mean, where it is taken off, and 1 / deviation. */
function normalize(
  op: string,
  r: Tensor,
  mean: Optional,
  scale: Tensor,
  input: Tensor,
  weight: Optional,
  bias: Optional,
  rows: Rows,
  eps: number,
): void {
  const x = denseOf(input);
  const parameters = [weight, bias];
  const made = parameters.map((t) => wideOf(t, computed(input.dtype)));
  const shape = [rows.count, rows.length];
  const operands = [r, x, mean, scale, ...made];
  launch(K.normalization_rows, op, operands, [shape, shape], () => writeRows(rows, eps));
  dropCopy(x, input);
  giveBack(made, parameters);
}

const DERIVATIVES = ["grad_input", "grad_weight", "grad_bias"] as const;
type Derivatives = Named<typeof DERIVATIVES>;

/** What is wanted, of the dtypes that it has to have; what is not has no elements. */
function wantedOf(input: Tensor, like: Tensor, shape: readonly number[], mask: readonly boolean[]): Tensor[] {
  const { device } = input._storage;
  const parameters = shape.length === 0 ? [0] : shape;
  return [
    empty(mask[0] ? input._shape : [0], input.dtype, device),
    empty(mask[1] ? parameters : [0], like.dtype, device),
    empty(mask[2] ? parameters : [0], like.dtype, device),
  ];
}

/** The gradients of a normalization from dense operands; those of parameters are computed in their wide dtype. */
function derive(
  kernel: Kernel,
  targets: readonly Tensor[],
  sources: readonly [grad: Tensor, input: Tensor],
  stats: readonly Optional[],
  weight: Optional,
  shape: readonly number[],
  attributes: () => void,
): void {
  const wide = computed(sources[1].dtype);
  const { device } = sources[1]._storage;
  const made = targets.map((t, i) => (i === 0 || t.dtype === wide ? t : empty(t._shape, wide, device)));
  const w = wideOf(weight, wide);
  const shapes = [shape, null, null, shape, shape];
  launch(kernel, "normalization_backward", [...made, ...sources, ...stats, w], shapes, attributes);
  for (const [i, t] of made.entries()) {
    if (t === targets[i]) continue;
    copyInto(targets[i] as Tensor, t);
    drop(t);
  }
  if (w !== null) dropCopy(w, weight);
}

function layerRows(input: Tensor, shape: readonly number[], centered: boolean): Rows {
  const length = numelOf(shape);
  const count = numelOf(input._shape.slice(0, input._shape.length - shape.length));
  return { count, length, inner: 1, groups: 1, centered };
}

/** The sizes of statistics: those of the input, with ones for what is normalized. */
function statShape(input: Tensor, shape: readonly number[]): number[] {
  const lead = input._shape.length - shape.length;
  return input._shape.map((n, d) => (d < lead ? n : 1));
}

export function layerNorm(
  input: Tensor,
  shape: readonly number[],
  weight: Optional,
  bias: Optional,
  eps: number,
): Named<readonly ["output", "mean", "rstd"]> {
  requireKept(input._storage);
  requireFloats("layer_norm", "LayerNormKernelImpl", input, [weight, bias]);
  const { device } = input._storage;
  const r = empty(input._shape, input.dtype, device);
  const wide = computed(input.dtype);
  const stats = statShape(input, shape);
  const [mean, scale] = [empty(stats, wide, device), empty(stats, wide, device)];
  if (hasWork(r)) normalize("layer_norm", r, mean, scale, input, weight, bias, layerRows(input, shape, true), eps);
  return named("native_layer_norm", ["output", "mean", "rstd"], [r, mean, scale]);
}

export function layerNormBackward(
  grad: Tensor,
  input: Tensor,
  shape: readonly number[],
  mean: Tensor,
  rstd: Tensor,
  weight: Optional,
  bias: Optional,
  eps: number,
  inputWanted: boolean,
  weightWanted: boolean,
  biasWanted: boolean,
): Derivatives {
  const mask = [inputWanted, weightWanted, biasWanted];
  return rowsBackward(grad, input, mean, rstd, weight, bias, eps, mask, shape, layerRows(input, shape, true));
}

function rowsBackward(
  grad: Tensor,
  input: Tensor,
  mean: Optional,
  rstd: Tensor,
  weight: Optional,
  bias: Optional,
  eps: number,
  mask: readonly boolean[],
  shape: readonly number[],
  rows: Rows,
): Derivatives {
  requireKept(grad._storage);
  const targets = wantedOf(input, weight ?? bias ?? input, shape, mask);
  if (targets.some(hasWork)) {
    const given = [grad, input] as const;
    const dense = [denseAs(grad, input.dtype), denseOf(input)] as const;
    const elements = [rows.count, rows.length];
    const kernel = K.normalization_rows_backward;
    derive(kernel, targets, dense, [mean, rstd], weight, elements, () => writeRows(rows, eps));
    giveBack(dense, given);
  }
  return named("native_layer_norm_backward", DERIVATIVES, targets);
}

export function rmsNorm(
  input: Tensor,
  shape: readonly number[],
  weight: Optional,
  eps: number,
): Named<readonly ["output", "rstd"]> {
  requireKept(input._storage);
  const { device } = input._storage;
  let r = empty(input._shape, input.dtype, device);
  const scale = empty(statShape(input, shape), computed(input.dtype), device);
  if (hasWork(r)) normalize("rms_norm", r, null, scale, input, weight, null, layerRows(input, shape, false), eps);
  if (isChannelsLast(input)) r = inLastFormat(r);
  return named("_fused_rms_norm", ["output", "rstd"], [r, scale]);
}

export function rmsNormBackward(
  grad: Tensor,
  input: Tensor,
  shape: readonly number[],
  rstd: Tensor,
  weight: Optional,
  eps: number,
  inputWanted: boolean,
  weightWanted: boolean,
): Named<readonly ["grad_input", "grad_weight"]> {
  const rows = layerRows(input, shape, false);
  const mask = [inputWanted, weightWanted, false];
  const [x, w] = rowsBackward(grad, input, null, rstd, weight, null, eps, mask, shape, rows);
  return named("_fused_rms_norm_backward", ["grad_input", "grad_weight"], [x, w]);
}

function groupRows(input: Tensor, groups: number): Rows {
  const [n, c] = input._shape as [number, number];
  const inner = numelOf(input._shape.slice(2));
  return { count: n * groups, length: (c / groups) * inner, inner, groups, centered: true };
}

const lastFormat = (rank: number) => (rank === 4 ? channelsLast : rank === 5 ? channelsLast3d : null);

/** Channels that follow each other in memory, and in no other order as well. */
function isChannelsLast(t: Tensor): boolean {
  const format = lastFormat(t._shape.length);
  return format !== null && !t._contiguous && isContiguousIn(t, format);
}

/** The same with channels last. */
function inLastFormat(t: Tensor): Tensor {
  const r = clone(t, lastFormat(t._shape.length));
  drop(t);
  return r;
}

export function groupNorm(
  input: Tensor,
  weight: Optional,
  bias: Optional,
  groups: number,
  eps: number,
): Named<readonly ["output", "mean", "rstd"]> {
  requireKept(input._storage);
  requireFloats("group_norm", "GroupNormKernelImpl", input, [weight, bias]);
  const { device } = input._storage;
  const wide = computed(input.dtype);
  const stats = [input._shape[0] as number, groups];
  const [mean, scale] = [empty(stats, wide, device), empty(stats, wide, device)];
  let r = empty(input._shape, input.dtype, device);
  if (hasWork(r)) normalize("group_norm", r, mean, scale, input, weight, bias, groupRows(input, groups), eps);
  if (isChannelsLast(input)) r = inLastFormat(r);
  return named("native_group_norm", ["output", "mean", "rstd"], [r, mean, scale]);
}

export function groupNormBackward(
  grad: Tensor,
  input: Tensor,
  mean: Tensor,
  rstd: Tensor,
  weight: Optional,
  bias: Optional,
  groups: number,
  eps: number,
  inputWanted: boolean,
  weightWanted: boolean,
  biasWanted: boolean,
): Derivatives {
  const mask = [inputWanted, weightWanted, biasWanted];
  const shape = [input._shape[1] as number];
  return rowsBackward(grad, input, mean, rstd, weight, bias, eps, mask, shape, groupRows(input, groups));
}

/** Outer, channels and inner elements, as the kernels see a tensor: of one whose channels come last, no inner ones. */
function channelShape(t: Tensor, last: boolean): number[] {
  const channels = t._shape[1] as number;
  if (last) return [channels === 0 ? 0 : t._numel / channels, channels, 1];
  return [t._shape[0] as number, channels, numelOf(t._shape.slice(2))];
}

/** A tensor in the order that a call has: its own bytes where they lie so. */
function ordered(t: Tensor, last: boolean): Tensor {
  if (!last) return denseOf(t);
  return isChannelsLast(t) && t._bits === 0 ? t : clone(t, lastFormat(t._shape.length));
}

function writeChannels(training: boolean, momentum: number, eps: number, rounded: number): void {
  frame.attr(NormChannelsAttr.rounded, rounded);
  frame.attr(NormChannelsAttr.training, training ? 1 : 0);
  frame.attr(NormChannelsAttr.momentum, momentum);
  frame.attr(NormChannelsAttr.eps, eps);
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
): Named<readonly ["output", "mean", "invstd"]> {
  for (const t of [input, runningMean, runningVar]) if (t !== null) requireKept(t._storage);
  requireFloats("batch_norm", "batch_norm", input, [weight, bias, runningMean, runningVar]);
  const last = isChannelsLast(input);
  const { device } = input._storage;
  const wide = computed(input.dtype);
  const channels = [input._shape[1] as number];
  const [mean, scale] = [empty(channels, wide, device), empty(channels, wide, device)];
  const r = last ? emptyCopy(input) : empty(input._shape, input.dtype, device);
  const running = [runningMean, runningVar];
  if (hasWork(r)) {
    const x = ordered(input, last);
    const own = running.map((t) => wideOf(t, wide));
    const parameters = [weight, bias];
    const made = parameters.map((t) => wideOf(t, wide));
    const shape = channelShape(input, last);
    const operands = [r, x, mean, scale, ...made, ...own];
    // torch keeps statistics in the parameters' dtype, and of dense bfloat16 also what they are made of.
    const short = isShort(([weight, bias, ...running].find((t) => t !== null) ?? input).dtype);
    const rounded = !short ? 0 : input.dtype === bfloat16 && (last || input._contiguous) ? 2 : 1;
    const attributes = (): void => writeChannels(training, momentum, eps, rounded);
    launch(K.normalization_channels, "batch_norm", operands, [shape, shape], attributes);
    for (const [i, t] of own.entries()) {
      if (training && t !== null && t !== running[i]) copyInto(running[i] as Tensor, t);
    }
    giveBack([x, ...made, ...own], [input, ...parameters, ...running]);
  }
  if (training) for (const t of running) if (t !== null) t._version.value++;
  return named("native_batch_norm", ["output", "mean", "invstd"], [r, mean, scale]);
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
  inputWanted: boolean,
  weightWanted: boolean,
  biasWanted: boolean,
): Derivatives {
  const mask = [inputWanted, weightWanted, biasWanted];
  requireKept(grad._storage);
  const last = isChannelsLast(input);
  const targets = wantedOf(input, weight ?? bias ?? input, [input._shape[1] as number], mask);
  if (last && mask[0]) {
    drop(targets[0] as Tensor);
    targets[0] = emptyWith(input._shape, input._strides, input.dtype, input._storage.device);
  }
  if (targets.some(hasWork)) {
    const dense = [ordered(grad, last), ordered(input, last)] as const;
    const shape = channelShape(input, last);
    const attributes = (): void => writeChannels(training, 0, eps, 0);
    derive(K.normalization_channels_backward, targets, dense, [mean, invstd], weight, shape, attributes);
    giveBack(dense, [grad, input]);
  }
  return named("native_batch_norm_backward", DERIVATIVES, targets);
}
