/** Convolutions: checks in torch's order, shapes and layouts, and the calls of the kernels. */

import { ConvolutionAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { type DType, float32 } from "../tensor/dtype.ts";
import { numelOf } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { empty, emptyWith } from "./allocate.ts";
import { backendOf, hasWork } from "./backend.ts";
import * as windows from "./convolution-windows.ts";
import { cast, clone, denseOf, fill, formatStrides, suggestedFormat, transfer } from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { contiguousFormat, type MemoryFormat } from "./memory-format.ts";

type Ints = readonly number[];

const NAME = "convolution";

/** The numbers of a convolution, one for each dimension. */
interface Geometry {
  readonly stride: Ints;
  readonly padding: Ints;
  readonly dilation: Ints;
  readonly transposed: boolean;
  readonly outputPadding: Ints;
  readonly groups: number;
}

const sizes = (shape: Ints): string => `[${shape.join(", ")}]`;
const across = (shape: Ints): string => shape.join(" x ");

const CPU_TYPES: Readonly<Record<string, string>> = {
  bfloat16: "CPUBFloat16Type",
  complex64: "CPUComplexFloatType",
  complex128: "CPUComplexDoubleType",
  complex32: "CPUComplexHalfType",
};

/** How torch's errors call a tensor's type. */
export function typeText({ dtype }: Tensor): string {
  return CPU_TYPES[dtype.name] ?? `torch.${dtype.scalarType}Tensor`;
}

/** A number for each dimension, of one for all or one for each. */
function spread(name: string, given: Ints, dims: number): Ints {
  if (given.length === 1 && dims > 1) return new Array<number>(dims).fill(given[0] as number);
  if (given.length !== dims) throw texts.convParameter(NAME, name, dims, sizes(given));
  return given;
}

function checkNumbers(g: Geometry): void {
  if (g.padding.some((n) => n < 0)) throw texts.convNegativePadding(NAME);
  if (g.outputPadding.some((n) => n < 0)) throw texts.convNegativeOutputPadding(NAME);
  if (g.stride.some((n) => n <= 0)) throw texts.convStride(NAME);
  if (g.dilation.some((n) => n < 0)) throw texts.convNegativeDilation(NAME);
}

/** Refuses what no buffer could have. A stride without a second position has no effect, nor a dilation of one tap. */
function checkReach(w: Ints, g: Geometry): void {
  const far = (n: number): boolean => Math.abs(n) >= 2 ** 31;
  const wide = g.dilation.some((n, i) => far(n) && (w[i + 2] as number) > 1);
  if (wide || g.padding.some(far) || g.outputPadding.some(far)) throw texts.valueOverflow(NAME, "int");
}

function checkShapes(x: Ints, w: Ints, bias: Tensor | null, g: Geometry): void {
  const { groups } = g;
  if (x.length !== w.length) throw texts.convInputDims(NAME, w.length, sizes(w), x.length, sizes(x));
  const [first, second] = w as [number, number];
  if (first < groups) throw texts.convFewWeights(NAME, groups, sizes(w));
  if (first % groups !== 0) throw texts.convIndivisible(NAME, groups, sizes(w));
  const wanted = g.transposed ? first : second * groups;
  if (x[1] !== wanted) {
    if (g.transposed) throw texts.convTransposedChannels(NAME, sizes(w), sizes(x), wanted, x[1]);
    throw texts.convChannels(NAME, groups, sizes(w), sizes(x), wanted, x[1]);
  }
  const channels = g.transposed ? second * groups : first;
  if (bias !== null && (bias.ndim !== 1 || bias._shape[0] !== channels)) {
    const text = g.transposed ? texts.convTransposedBias : texts.convBias;
    throw text(NAME, sizes(w), channels, sizes(bias._shape));
  }
  if (g.transposed) return;
  const padded = x.slice(2).map((n, i) => n + 2 * (g.padding[i] as number));
  const kernel = w.slice(2).map((n, i) => (g.dilation[i] as number) * (n - 1) + 1);
  if (kernel.some((n, i) => n > (padded[i] as number))) {
    throw texts.convKernelTooLarge(NAME, across(padded), across(kernel));
  }
}

/** Sizes of the result behind its channels. */
function outputSizes(x: Ints, w: Ints, g: Geometry): number[] {
  return x.slice(2).map((n, i) => {
    const [s, p, d, k] = [g.stride[i], g.padding[i], g.dilation[i], w[i + 2]] as [number, number, number, number];
    const reach = d * (k - 1);
    return g.transposed
      ? (n - 1) * s - 2 * p + reach + (g.outputPadding[i] as number) + 1
      : Math.floor((n + 2 * p - reach - 1) / s) + 1;
  });
}

/** What torch's kernels check, before they read anything. */
function checkKernel(x: Tensor, w: Ints, out: Ints, g: Geometry): void {
  const kernel = w.slice(2);
  const dilated = g.dilation.some((n) => n > 1);
  if (g.dilation.some((n) => n === 0)) throw texts.convDilation(NAME, sizes(g.dilation));
  if (kernel.some((n) => n === 0)) throw emptyKernel(w, dilated && !g.transposed, g.transposed);
  if (!g.transposed) return;
  const { outputPadding: o, stride: s, dilation: d } = g;
  if (o.some((n, i) => n >= (s[i] as number) && n >= (d[i] as number))) {
    const facts = [
      ["output_padding", o, 0],
      ["stride", s, 1],
      ["dilation", d, 1],
    ] as const;
    throw texts.convOutputPadding(NAME, facts.map(([name, list, none]) => named(name, list, none)).join(" "));
  }
  if (out.some((n) => n < 1)) {
    const flat = out.length === 1;
    throw texts.convOutputTooSmall(
      NAME,
      across([...(flat ? [1] : []), ...x._shape.slice(2)]),
      across([...(flat ? [1] : []), ...out]),
    );
  }
}

/** `stride_height: 1 stride_width: 2`; one dimension counts as an image of one row. */
function named(name: string, list: Ints, none: number): string {
  const all = list.length === 1 ? [none, ...list] : list;
  const words = ["depth", "height", "width"].slice(-all.length);
  return words.map((word, i) => `${name}_${word}: ${all[i]}`).join(" ");
}

function emptyKernel(w: Ints, dilated: boolean, transposed: boolean): Error {
  const [depth, height, width] = [1, 1, 1, ...w.slice(2)].slice(-3) as [number, number, number];
  if (dilated) return texts.convEmptyKernelDilated(NAME, sizes(w.slice(2)));
  if (w.length < 5) return texts.convEmptyKernel(NAME, height, width);
  if (transposed) return texts.convEmptyKernelTransposed(NAME, sizes(w));
  return texts.convEmptyKernel3d(NAME, depth, height, width);
}

const TRANSPOSED = new Set(["float16", "bfloat16", "float32", "float64", "int64"]);
const PLAIN = new Set([...TRANSPOSED, "uint8", "int8", "int16", "int32"]);

/** Refuses dtypes that torch's kernels have not, and weights of another one. */
function checkDtypes(x: Tensor, w: Tensor, g: Geometry): void {
  const d = x.dtype;
  const dims = x.ndim - 2;
  if (d.category === 2 && d.itemsize === 2 && w.dtype !== d) {
    throw texts.convShortWeightDtype(NAME, typeText(x), typeText(w));
  }
  const dilated = g.dilation.some((n) => n > 1);
  const allowed = g.transposed || dilated ? TRANSPOSED : PLAIN;
  if (!allowed.has(d.name)) throw texts.notImplementedFor(NAME, kernelName(dims, g.transposed, dilated), d.scalarType);
  if (w.dtype !== d) throw texts.scalarTypeDiffers(NAME, d.scalarType, w.dtype.scalarType);
}

function kernelName(dims: number, transposed: boolean, dilated: boolean): string {
  if (transposed) return `slow_conv_transpose${dims === 3 ? 3 : 2}d_out_cpu`;
  if (dilated) return "slow_conv_dilated<>";
  return dims === 3 ? "compute_columns3d" : "slow_conv2d_cpu";
}

/** A signal counts as an image of one row. */
function suggested(t: Tensor): MemoryFormat {
  if (t.ndim !== 3) return suggestedFormat(t);
  const [n, c, l] = t._shape as [number, number, number];
  const [sn, sc, sl] = t._strides as [number, number, number];
  return suggestedFormat({ _shape: [n, c, 1, l], _strides: [sn, sc, sl * l, sl] } as unknown as Tensor);
}

/** Channels last where the images or the filters have them last. */
function formatOf(x: Tensor, w: Tensor): MemoryFormat {
  if (x.ndim === 5 || (x.ndim === 3 && x.dtype.category < 2)) return contiguousFormat;
  const format = suggested(x);
  return format === contiguousFormat ? suggested(w) : format;
}

function fresh(shape: Ints, dtype: DType, format: MemoryFormat, like: Tensor): Tensor {
  const flat = shape.length === 3 && format !== contiguousFormat;
  const [, c, l] = shape as [number, number, number];
  const strides = flat ? [c * l, 1, c] : format === contiguousFormat ? null : formatStrides(shape, format);
  const { device } = like._storage;
  return strides === null ? empty(shape, dtype, device) : emptyWith(shape, strides, dtype, device);
}

/** The dtype that kernels take: some devices' read 16-bit floats, elsewhere they are rounded once. */
function computed({ dtype, _storage: { device } }: Tensor): DType {
  return dtype.category === 2 && dtype.itemsize === 2 && backendOf(device).readsShort !== true ? float32 : dtype;
}

function setAttributes(g: Geometry): void {
  frame.attr(ConvolutionAttr.groups, g.groups);
  const skip = 3 - g.stride.length;
  for (let d = 0; d < 3; d++) {
    frame.attr(ConvolutionAttr.stride + d, d < skip ? 1 : (g.stride[d - skip] as number));
    frame.attr(ConvolutionAttr.padding + d, d < skip ? 0 : (g.padding[d - skip] as number));
    frame.attr(ConvolutionAttr.dilation + d, d < skip ? 1 : (g.dilation[d - skip] as number));
  }
}

/** The strides, where columns of one element, whose own stride says nothing, leave rows that follow each other. */
function usualStrides({ _shape, _strides }: Tensor): readonly number[] {
  const last = _shape.length - 1;
  return last < 3 || _shape[last] !== 1 ? _strides : _strides.with(last, _strides[last - 1] as number);
}

/** Runs a kernel that gives `r` of operands in its dtype; those of 16 bits are converted, and the result is. */
function launch(kernel: Kernel, r: Tensor, operands: readonly Tensor[], g: Geometry): Tensor {
  const dtype = computed(r);
  const target = dtype === r.dtype ? r : emptyWith(r._shape, r._strides, dtype, r._storage.device);
  const inputs = operands.map((t) => (t.dtype !== dtype ? cast(t, dtype) : t._bits === 0 ? t : clone(t)));
  frame.begin(inputs.length + 1, dtype.compute);
  frame.operand(0, target._address(), dtype.id, target._shape, usualStrides(target), 0);
  inputs.forEach((t, i) => frame.operand(i + 1, t._address(), dtype.id, t._shape, usualStrides(t), 0));
  setAttributes(g);
  kernel.run(r._storage.device, NAME, r.dtype.scalarType);
  inputs.forEach((t, i) => dropCopy(t, operands[i]));
  if (target === r) return r;
  transfer(r, target);
  drop(target);
  return r;
}

export function convolution(
  input: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  stride: Ints,
  padding: Ints,
  dilation: Ints,
  transposed: boolean,
  outputPadding: Ints,
  groups: number,
): Tensor {
  for (const t of [input, weight]) requireKept(t._storage);
  const [x, w] = [input._shape, weight._shape];
  const dims = w.length - 2;
  if (dims <= 0) throw texts.convWeightDims(NAME);
  if (groups <= 0) throw texts.convGroups(NAME);
  const g = geometry(dims, stride, padding, dilation, transposed, outputPadding, groups);
  checkNumbers(g);
  checkShapes(x, w, bias, g);
  checkReach(w, g);
  const channels = g.transposed ? (w[1] as number) * groups : (w[0] as number);
  const out = outputSizes(x, w, g);
  const [n, c] = x as [number, number];
  if (input._numel === 0 && n !== 0 && c !== 0) throw texts.convEmptyInput(NAME, sizes(x));
  if (input._numel === 0 && transposed && out.some((size) => size < 1)) {
    throw texts.convOutputTooSmall(NAME, across(x.slice(2)), across(out));
  }
  if (input._numel > 0) {
    checkKernel(input, w, out, g);
    if (input._storage.device.computes) checkDtypes(input, weight, g);
  }
  const r = fresh([n, c === 0 ? 0 : channels, ...out], input.dtype, formatOf(input, weight), input);
  if (!hasWork(r)) return r;
  const dense = denseOf(weight);
  const starts = bias === null ? [] : [bias.dtype === input.dtype ? denseOf(bias) : cast(bias, input.dtype)];
  convolve(g.transposed, r, input, dense, starts, g);
  dropCopy(dense, weight);
  return r;
}

function geometry(
  dims: number,
  stride: Ints,
  padding: Ints,
  dilation: Ints,
  transposed: boolean,
  outputPadding: Ints,
  groups: number,
): Geometry {
  return {
    stride: spread("stride", stride, dims),
    padding: spread("padding", padding, dims),
    dilation: spread("dilation", dilation, dims),
    transposed,
    outputPadding: spread("output_padding", outputPadding, dims),
    groups,
  };
}

/** `r` = the convolution of `x` with filters without gaps, or what leads back, as one product or by a kernel. */
function convolve(back: boolean, r: Tensor, x: Tensor, w: Tensor, starts: readonly Tensor[], g: Geometry): void {
  const { groups, stride, padding, dilation } = g;
  const [o, c] = [(w._shape[0] as number) / groups, w._shape[1] as number];
  const taps = numelOf(w._shape.slice(2));
  const kernel = back ? K.convolution_transposed : K.convolution_forward;
  const [rows, columns] = back ? [c, x._numel / (groups * o)] : [o, r._numel / (groups * o)];
  const phases = back ? numelOf(stride) : 1;
  const terms = (back ? o : c) * taps;
  if (phases > windows.WINDOWS.phases || !windows.isWorth(r, groups, rows, terms, columns)) {
    launch(kernel, r, [x, w, ...starts], g);
    return;
  }
  const input = x._bits === 0 ? x : clone(x);
  const bias = starts[0] ?? null;
  const start = padding.map((n) => -n);
  if (back) windows.backward(input, w, r, bias, groups, stride, padding, dilation);
  else windows.forward(input, w, r, bias, groups, { start, step: stride, inc: dilation });
  dropCopy(input, x);
}

/** The gradient of the images, of size `size`. */
export function inputGradient(
  grad: Tensor,
  weight: Tensor,
  size: Ints,
  stride: Ints,
  padding: Ints,
  dilation: Ints,
  transposed: boolean,
  outputPadding: Ints,
  groups: number,
): Tensor {
  const g = geometry(weight.ndim - 2, stride, padding, dilation, transposed, outputPadding, groups);
  const r = fresh(size, grad.dtype, formatOf(grad, weight), grad);
  if (!hasWork(r)) return r;
  if (grad._numel === 0 || weight._numel === 0) return fill(r, 0);
  const dense = denseOf(weight);
  convolve(!g.transposed, r, grad, dense, [], g);
  dropCopy(dense, weight);
  return r;
}

/** Whether the positions of a channel follow each other with one stride in each slice. */
function isFlat(t: Tensor): boolean {
  const { length } = t._shape;
  if (length === 3) return true;
  const [rows, columns] = [length - 2, length - 1];
  const strides = usualStrides(t);
  return t._shape[rows] === 1 || strides[rows] === (t._shape[columns] as number) * (strides[columns] as number);
}

/** The gradient of the filters, of size `size`. */
export function weightGradient(
  grad: Tensor,
  input: Tensor,
  size: Ints,
  stride: Ints,
  padding: Ints,
  dilation: Ints,
  transposed: boolean,
  outputPadding: Ints,
  groups: number,
): Tensor {
  const g = geometry(size.length - 2, stride, padding, dilation, transposed, outputPadding, groups);
  const r = empty(size, grad.dtype, grad._storage.device);
  const format = formatOf(input, grad);
  const result = (): Tensor => (format === contiguousFormat || size.length === 3 ? r : clone(r, format));
  if (!hasWork(r)) return result();
  if (grad._numel === 0 || input._numel === 0) return fill(result(), 0);
  // The other way round, the images are the gradient of the result.
  const [from, image] = g.transposed ? [input, grad] : [grad, input];
  const terms = numelOf(size.slice(1));
  if (windows.isWorth(r, g.groups, (size[0] as number) / g.groups, terms, from._numel / (size[0] as number))) {
    const [gradient, images] = [from, image].map((t) => (t._bits === 0 ? t : clone(t))) as [Tensor, Tensor];
    const taps = { start: g.padding.map((n) => -n), step: g.stride, inc: g.dilation };
    windows.weightGradient(r, gradient, images, g.groups, taps);
    dropCopy(gradient, from);
    dropCopy(images, image);
    return result();
  }
  const flat = isFlat(from) ? from : denseOf(from);
  launch(K.convolution_weight_gradient, r, [flat, image], g);
  dropCopy(flat, from);
  return result();
}
