/** Pooling as people call it: one dimension as an image of one row, results with and without indices. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { gradMode, requiresGrad } from "../dispatch/mode.ts";
import { outputSize } from "../dispatch/pooling.ts";
import type { Tensor } from "../tensor/tensor.ts";

type Ints = readonly number[];
type Sizes = readonly (number | null)[];

const text = (shape: Ints): string => `[${shape.join(", ")}]`;

/** One number, which is all that an operator of signals takes. */
function single(name: string, argument: string, given: Ints): number {
  if (given.length !== 1) throw texts.poolOneInt(name, name, argument, given.length);
  return given[0] as number;
}

function requireSignal(name: string, input: Tensor): void {
  if (input.ndim !== 2 && input.ndim !== 3) throw texts.pool1dDims(name, input.ndim, name);
}

const KINDS: Readonly<Record<string, string>> = {
  kernel_size: "an int, list of ints or tuple of ints",
  stride: "None, an int, list of ints, or tuple of ints",
  padding: "an int, list of ints, or tuple of ints",
  dilation: "an int, list of ints or tuple of ints",
};

/** What torch checks of signals before it looks whether indices are needed. */
function checkSignal(input: Tensor, kernel: Ints, given: Ints, padding: Ints, dilation: Ints, ceil: boolean): void {
  const { ndim, _shape: shape } = input;
  if ((ndim !== 2 && ndim !== 3) || shape.slice(-2).includes(0)) throw texts.pool1dInput("max_pool1d", text(shape));
  const lists = { kernel_size: kernel, stride: given, padding, dilation };
  for (const [name, list] of Object.entries(lists)) {
    if (list.length === 1 || (name === "stride" && list.length === 0)) continue;
    throw texts.pool1dCount("max_pool1d", name, KINDS[name], list.length);
  }
  const stride = given.length === 0 ? kernel : given;
  const [k, s, p, d] = [kernel[0], stride[0], padding[0], dilation[0]] as [number, number, number, number];
  if (k <= 0) throw texts.pool1dPositive("max_pool1d", "kernel_size", k);
  if (s <= 0) throw texts.pool1dPositive("max_pool1d", "stride", s);
  if (p < 0) throw texts.pool1dNegative("max_pool1d", p);
  if (p > Math.trunc(k / 2)) throw texts.pool1dPadding("max_pool1d", p, k);
  if (d <= 0) throw texts.pool1dPositive("max_pool1d", "dilation", d);
  const size = outputSize(shape.at(-1) as number, k, p, s, d, ceil);
  if (size <= 0) throw texts.pool1dOutput("max_pool1d", size);
}

export function maxPool1d(
  input: Tensor,
  kernel: Ints,
  stride: Ints | null,
  padding: Ints,
  dilation: Ints,
  ceil: boolean,
): Tensor {
  checkSignal(input, kernel, stride ?? [], padding, dilation, ceil);
  const recorded = gradMode.enabled && requiresGrad(input);
  if (!recorded && input._storage.device.computes && (input.dtype.category !== 2 || input.dtype.itemsize < 2)) {
    throw texts.notImplementedFor("max_pool1d", "max_pool1d_impl", input.dtype.scalarType);
  }
  const signal = recorded ? input : input.contiguous();
  return ofSignal(signal, kernel, stride ?? [], padding, dilation, ceil)[0] as Tensor;
}

function ofSignal(input: Tensor, kernel: Ints, given: Ints, padding: Ints, dilation: Ints, ceil: boolean): Tensor[] {
  const k = single("max_pool1d", "kernel_size", kernel);
  const s = given.length === 0 ? k : single("max_pool1d", "stride", given);
  const p = single("max_pool1d", "padding", padding);
  const d = single("max_pool1d", "dilation", dilation);
  requireSignal("max_pool1d", input);
  const rows = O.unsqueeze(input, -2);
  const both = O.max_pool2d_with_indices(rows, [1, k], [1, s], [0, p], [1, d], ceil) as unknown as Tensor[];
  return both.map((t) => O.squeeze_dim(t, -2));
}

export function maxPool1dIndices(
  input: Tensor,
  kernel: Ints,
  stride: Ints | null,
  padding: Ints,
  dilation: Ints,
  ceil: boolean,
  indices: boolean,
): Tensor[] {
  if (indices) return ofSignal(input, kernel, stride ?? [], padding, dilation, ceil);
  return maxPool1d(input, kernel, stride, padding, dilation, ceil) as unknown as Tensor[];
}

/** The values alone, where indices are not wanted. */
const chosen = (both: readonly Tensor[], indices: boolean): Tensor[] =>
  indices ? (both as Tensor[]) : (both[0] as unknown as Tensor[]);

export function maxPool2d(
  input: Tensor,
  kernel: Ints,
  stride: Ints | null,
  padding: Ints,
  dilation: Ints,
  ceil: boolean,
): Tensor {
  return O.max_pool2d_with_indices(input, kernel, stride ?? [], padding, dilation, ceil)[0] as Tensor;
}

export function maxPool2dIndices(
  input: Tensor,
  kernel: Ints,
  stride: Ints | null,
  padding: Ints,
  dilation: Ints,
  ceil: boolean,
  indices: boolean,
): Tensor[] {
  return chosen(O.max_pool2d_with_indices(input, kernel, stride ?? [], padding, dilation, ceil), indices);
}

export function maxPool3d(
  input: Tensor,
  kernel: Ints,
  stride: Ints | null,
  padding: Ints,
  dilation: Ints,
  ceil: boolean,
): Tensor {
  return O.max_pool3d_with_indices(input, kernel, stride ?? [], padding, dilation, ceil)[0] as Tensor;
}

export function maxPool3dIndices(
  input: Tensor,
  kernel: Ints,
  stride: Ints | null,
  padding: Ints,
  dilation: Ints,
  ceil: boolean,
  indices: boolean,
): Tensor[] {
  return chosen(O.max_pool3d_with_indices(input, kernel, stride ?? [], padding, dilation, ceil), indices);
}

export function avgPool1d(
  input: Tensor,
  kernel: Ints,
  given: Ints | null,
  padding: Ints,
  ceil: boolean,
  include: boolean,
): Tensor {
  const k = single("avg_pool1d", "kernel_size", kernel);
  const s = (given ?? []).length === 0 ? k : single("avg_pool1d", "stride", given ?? []);
  const p = single("avg_pool1d", "padding", padding);
  requireSignal("avg_pool1d", input);
  return O.squeeze_dim(O.avg_pool2d(O.unsqueeze(input, -2), [1, k], [1, s], [0, p], ceil, include, null), -2);
}

export function avgPool2d(
  input: Tensor,
  kernel: Ints,
  stride: Ints | null,
  padding: Ints,
  ceil: boolean,
  include: boolean,
  divisor: number | null,
): Tensor {
  return O.avg_pool2d(input, kernel, stride ?? [], padding, ceil, include, divisor);
}

export function avgPool3d(
  input: Tensor,
  kernel: Ints,
  stride: Ints | null,
  padding: Ints,
  ceil: boolean,
  include: boolean,
  divisor: number | null,
): Tensor {
  return O.avg_pool3d(input, kernel, stride ?? [], padding, ceil, include, divisor);
}

/** The sizes of a result, where those that are null are the input's. */
function wanted(input: Tensor, out: Sizes, dims: number): Ints {
  if (out.length === 1 && out[0] !== null) return new Array<number>(dims).fill(out[0] as number);
  if (input.ndim <= out.length) throw texts.poolDefaults("pool", out.length + 1);
  return out.map((n, i) => n ?? (input._shape[input.ndim - out.length + i] as number));
}

export function adaptiveAvgPool1d(input: Tensor, out: Sizes): Tensor {
  const size = single("adaptive_avg_pool1d", "output_size", out as Ints);
  requireSignal("adaptive_avg_pool1d", input);
  return O.squeeze_dim(adaptiveAverage(2, O.unsqueeze(input, -2), [1, size]), -2);
}

export function adaptiveAvgPool2d(input: Tensor, out: Sizes): Tensor {
  return adaptiveAverage(2, input, wanted(input, out, 2));
}

export function adaptiveAvgPool3d(input: Tensor, out: Sizes): Tensor {
  return adaptiveAverage(3, input, wanted(input, out, 3));
}

/** One window is the average of everything. */
function adaptiveAverage(dims: number, input: Tensor, out: Ints): Tensor {
  const name = `adaptive_avg_pool${dims}d`;
  if (out.length !== dims) throw texts.adaptiveAverageSize(name, name, dims);
  if (out.some((n) => n < 0)) {
    const list = dims === 2 ? out.join(", ") : `${out[0]}, ${out[1]},${out[2]}`;
    throw texts.adaptiveNegative(name, name, `{${list}}`);
  }
  if (out.every((n) => n === 1) && input.ndim > dims) {
    return O.mean_dim(
      input,
      out.map((_, i) => i - dims),
      true,
      null,
    );
  }
  return dims === 2 ? O._adaptive_avg_pool2d(input, out) : O._adaptive_avg_pool3d(input, out);
}

export function adaptiveMaxPool1d(input: Tensor, out: Sizes): Tensor {
  return adaptiveSignal(input, out)[0] as Tensor;
}

function adaptiveSignal(input: Tensor, out: Sizes): Tensor[] {
  const size = single("adaptive_max_pool1d", "output_size", out as Ints);
  requireSignal("adaptive_max_pool1d", input);
  const shape = input._shape;
  const at = shape.findIndex((n, i) => n === 0 && i > shape.length - 3);
  if (at >= 0) throw texts.poolEmptyDim("adaptive_max_pool1d", "adaptive_max_pool1d", text(shape), at);
  const both = O.adaptive_max_pool2d(O.unsqueeze(input, -2), [1, size]) as unknown as Tensor[];
  return both.map((t) => O.squeeze_dim(t, -2));
}

export function adaptiveMaxPool1dIndices(input: Tensor, out: Sizes, indices: boolean): Tensor[] {
  return chosen(adaptiveSignal(input, out), indices);
}

export function adaptiveMaxPool2d(input: Tensor, out: Sizes): Tensor {
  return O.adaptive_max_pool2d(input, wanted(input, out, 2))[0] as Tensor;
}

export function adaptiveMaxPool2dIndices(input: Tensor, out: Sizes, indices: boolean): Tensor[] {
  return chosen(O.adaptive_max_pool2d(input, wanted(input, out, 2)), indices);
}

export function adaptiveMaxPool3d(input: Tensor, out: Sizes): Tensor {
  return O.adaptive_max_pool3d(input, wanted(input, out, 3))[0] as Tensor;
}

export function adaptiveMaxPool3dIndices(input: Tensor, out: Sizes, indices: boolean): Tensor[] {
  return chosen(O.adaptive_max_pool3d(input, wanted(input, out, 3)), indices);
}
