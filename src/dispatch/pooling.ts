/** Pooling: checks in torch's order, shapes and layouts, and the calls of the kernels. */

import { PoolingAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { type DType, float32, int64 } from "../tensor/dtype.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { empty, emptyWith } from "./allocate.ts";
import { backendOf, hasWork } from "./backend.ts";
import { cast, clone, fill, formatStrides, suggestedFormat, transfer } from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { contiguousFormat, type MemoryFormat } from "./memory-format.ts";
import { type Named, named } from "./named.ts";

type Ints = readonly number[];
type Both = Named<readonly ["values", "indices"]>;

/** The windows of a call, a number for each dimension. */
interface Windows {
  readonly adaptive: boolean;
  readonly kernel: Ints;
  readonly stride: Ints;
  readonly padding: Ints;
  readonly dilation: Ints;
  readonly divisor: number;
  readonly include: boolean;
}

const NONE: Windows = { adaptive: true, kernel: [], stride: [], padding: [], dilation: [], divisor: 0, include: false };

const text = (shape: Ints): string => `[${shape.join(", ")}]`;
const WORDS = ["", "one", "two", "three"];

/** One number for all dimensions, or one for each. */
function spread(op: string, name: string, given: Ints, dims: number): Ints {
  // A stride that leads to no second window has no effect, nor has the dilation of one tap; others reach too far.
  const bounded = name === "kernel_size" || name === "padding";
  if (bounded && given.some((n) => Math.abs(n) >= 2 ** 31)) throw texts.valueOverflow(op, "int");
  if (given.length === dims) return given;
  if (given.length === 1) return new Array<number>(dims).fill(given[0] as number);
  const omitted = name === "stride" ? "omitted, " : "";
  const flat = op === "avg_pool3d";
  // The dilation's words are in another order.
  if (name === "dilation") throw texts.poolSizes(op, "dilation", "", "either ", WORDS[dims]);
  throw texts.poolSizes(op, name, flat ? "" : "either ", omitted, WORDS[dims]);
}

/** `kH: 2 kW: 3` */
function facts(prefix: string, list: Ints): string {
  const axes = ["T", "H", "W"].slice(3 - list.length);
  return list.map((n, i) => `${prefix}${axes[i]}: ${n}`).join(" ");
}

/** How many windows fit; torch's checks come on the way. */
function windowsAlong(n: number, k: number, p: number, s: number, d: number, ceil: boolean): number {
  if (s === 0) throw texts.poolZeroStride("pool");
  if (p < 0) throw texts.poolNegativePadding("pool", p);
  if (p > Math.trunc(((k - 1) * d + 1) / 2)) throw texts.poolPadding("pool", p, k, d);
  return outputSize(n, k, p, s, d, ceil);
}

export function outputSize(n: number, k: number, p: number, s: number, d: number, ceil: boolean): number {
  if (d * (k - 1) > 2 ** 63) throw texts.poolOverflow("pool", k, d);
  const size = Math.floor((n + 2 * p - d * (k - 1) - 1 + (ceil ? s - 1 : 0)) / s) + 1;
  return ceil && (size - 1) * s >= n + p ? size - 1 : size;
}

/** Sizes that are not positive. */
function checkWindows({ kernel, stride, dilation }: Windows): void {
  if (kernel.some((n) => n <= 0)) throw texts.poolNotPositive("pool", "kernel size", facts("k", kernel));
  if (stride.some((n) => n <= 0)) throw texts.poolNotPositive("pool", "stride", facts("d", stride));
  if (dilation.some((n) => n <= 0)) throw texts.poolNotPositive("pool", "dilation", facts("dilation", dilation));
}

function checkHalf({ kernel, padding }: Windows): void {
  if (kernel.every((k, i) => Math.trunc(k / 2) >= (padding[i] as number))) return;
  if (kernel.length === 2) {
    const [kh, kw] = kernel as [number, number];
    const [ph, pw] = padding as [number, number];
    throw texts.poolHalf("pool", `padW = ${pw}, padH = ${ph}, kW = ${kw}, kH = ${kh}`);
  }
  const [kt, kh, kw] = kernel as [number, number, number];
  const [pt, ph, pw] = padding as [number, number, number];
  throw texts.poolHalf("pool", `kT: ${kt} kW: ${kw} kH: ${kh} padT: ${pt} padW: ${pw} padH: ${ph}`);
}

/** Images that have no elements but for a batch of none. */
function checkSizes(name: string, shape: Ints, dims: number): void {
  const skip = shape.length === dims + 2 ? 1 : 0;
  const at = shape.findIndex((n, i) => i >= skip && n === 0);
  if (at < 0) return;
  if (dims === 2) throw texts.poolEmpty("pool", text(shape));
  throw texts.poolEmptyDim("pool", name, text(shape), at);
}

function fresh(shape: Ints, dtype: DType, format: MemoryFormat, like: Tensor): Tensor {
  const strides = format === contiguousFormat ? null : formatStrides(shape, format);
  const { device } = like._storage;
  return strides === null ? empty(shape, dtype, device) : emptyWith(shape, strides, dtype, device);
}

/** The dtype that kernels take: short floats where they read those, else rounded once; integers of 64 bits. */
function computed({ dtype, _storage: { device } }: Tensor): DType {
  if (dtype.category === 1) return int64;
  return dtype.category === 2 && dtype.itemsize === 2 && backendOf(device).readsShort !== true ? float32 : dtype;
}

/** Writes an operand as a batch of planes. */
function plane(i: number, t: Tensor, dims: number): void {
  const batched = t._shape.length === dims + 2;
  const shape = batched ? t._shape : [1, ...t._shape];
  frame.operand(i, t._address(), t.dtype.id, shape, batched ? t._strides : [0, ...t._strides], 0);
}

function setAttributes(w: Windows, dims: number): void {
  frame.attr(PoolingAttr.adaptive, w.adaptive ? 1 : 0);
  frame.attr(PoolingAttr.divisor, w.divisor);
  frame.attr(PoolingAttr.include, w.include ? 1 : 0);
  const skip = 3 - dims;
  for (let d = 0; d < 3; d++) {
    frame.attr(PoolingAttr.kernel + d, w.kernel[d - skip] ?? 1);
    frame.attr(PoolingAttr.stride + d, w.stride[d - skip] ?? 1);
    frame.attr(PoolingAttr.padding + d, w.padding[d - skip] ?? 0);
    frame.attr(PoolingAttr.dilation + d, w.dilation[d - skip] ?? 1);
  }
}

/** Runs a kernel; results and operands of floats in the dtype that is computed in, indices as they are. */
function launch(kernel: Kernel, name: string, r: Tensor, more: readonly Tensor[], dims: number, w: Windows): void {
  const dtype = computed(r);
  const target = dtype === r.dtype ? r : emptyWith(r._shape, r._strides, dtype, r._storage.device);
  if (kernel === K.pooling_scatter || kernel === K.pooling_average_backward) fill(target, 0);
  const operands = more.map((t) =>
    t.dtype === r.dtype && dtype !== r.dtype ? cast(t, dtype) : t._bits === 0 ? t : clone(t),
  );
  frame.begin(operands.length + 1, dtype.compute);
  plane(0, target, dims);
  operands.forEach((t, i) => plane(i + 1, t, dims));
  setAttributes(w, dims);
  kernel.run(r._storage.device, name, r.dtype.scalarType);
  operands.forEach((t, i) => dropCopy(t, more[i]));
  if (target === r) return;
  transfer(r, target);
  drop(target);
}

const INTEGERS = new Set(["uint8", "int8", "int16", "int32", "int64"]);

/** Refuses dtypes in the name of torch's kernel; on devices without elements nothing is refused. */
function requireDtype(t: Tensor, kernel: string, integers: boolean, half = true): void {
  if (!t._storage.device.computes) return;
  const d = t.dtype;
  const real = d.category === 2 && d.itemsize > (half ? 1 : 2);
  if (real || (integers && INTEGERS.has(d.name))) return;
  throw texts.notImplementedFor(kernel, kernel, d.scalarType);
}

function maxPool(
  dims: number,
  self: Tensor,
  kernelSize: Ints,
  given: Ints,
  paddingSize: Ints,
  dilationSize: Ints,
  ceil: boolean,
): Both {
  requireKept(self._storage);
  const op = `max_pool${dims}d`;
  const kernel = spread(op, "kernel_size", kernelSize, dims);
  const stride = given.length === 0 ? kernel : spread(op, "stride", given, dims);
  const padding = spread(op, "padding", paddingSize, dims);
  const dilation = spread(op, "dilation", dilationSize, dims);
  const rank = self._shape.length;
  if (rank !== dims + 1 && rank !== dims + 2) throw texts.poolDims(op, dims + 1, dims + 2);
  const w: Windows = { ...NONE, adaptive: false, kernel, stride, padding, dilation };
  const lead = self._shape.slice(0, rank - dims);
  const sizes = self._shape.slice(rank - dims);
  const out = sizes.map((n, i) => {
    const [k, p, s, d] = [kernel[i], padding[i], stride[i], dilation[i]] as [number, number, number, number];
    return windowsAlong(n, k, p, s, d, ceil);
  });
  checkWindows(w);
  checkSizes("max_pool3d_with_indices_out_cpu_template", self._shape, dims);
  checkHalf(w);
  requireOutput(lead, sizes, out);
  requireDtype(self, op, true);
  return maxima(op, self, [...lead, ...out], suggestedFormat(self), dims, w);
}

function requireOutput(lead: Ints, sizes: Ints, out: Ints): void {
  if (out.every((n) => n >= 1)) return;
  const channels = lead.at(-1) as number;
  throw texts.poolOutput("pool", [channels, ...sizes].join("x"), [channels, ...out].join("x"));
}

function maxima(op: string, self: Tensor, shape: Ints, format: MemoryFormat, dims: number, w: Windows): Both {
  const values = fresh(shape, self.dtype, format, self);
  const indices = fresh(shape, int64, format, self);
  if (hasWork(values)) {
    const dtype = computed(self);
    const x = dtype === self.dtype ? (self._bits === 0 ? self : clone(self)) : cast(self, dtype);
    const target = dtype === self.dtype ? values : emptyWith(shape, values._strides, dtype, values._storage.device);
    frame.begin(3, dtype.compute);
    plane(0, target, dims);
    plane(1, indices, dims);
    plane(2, x, dims);
    setAttributes(w, dims);
    K.pooling_maximum.run(values._storage.device, op, self.dtype.scalarType);
    dropCopy(x, self);
    if (target !== values) {
      transfer(values, target);
      drop(target);
    }
  }
  return named(op, ["values", "indices"], [values, indices]);
}

export function maxPool2d(
  self: Tensor,
  kernel: Ints,
  stride: Ints,
  padding: Ints,
  dilation: Ints,
  ceil: boolean,
): Both {
  return maxPool(2, self, kernel, stride, padding, dilation, ceil);
}

export function maxPool3d(
  self: Tensor,
  kernel: Ints,
  stride: Ints,
  padding: Ints,
  dilation: Ints,
  ceil: boolean,
): Both {
  return maxPool(3, self, kernel, stride, padding, dilation, ceil);
}

/** Each gradient at the place that its element had. No kernel's size: of adaptive windows. */
export function maxPoolBackward(
  grad: Tensor,
  indices: Tensor,
  size: Ints,
  kernelSize: Ints,
  given: Ints,
  paddingSize: Ints,
  dilationSize: Ints,
  dims: number,
): Tensor {
  const op = `max_pool${dims}d`;
  const kernel = spread(op, "kernel_size", kernelSize, kernelSize.length === 0 ? 0 : dims);
  const w: Windows = {
    ...NONE,
    adaptive: kernel.length === 0,
    kernel,
    stride: given.length === 0 ? kernel : spread(op, "stride", given, dims),
    padding: kernel.length === 0 ? kernel : spread(op, "padding", paddingSize, dims),
    dilation: kernel.length === 0 ? kernel : spread(op, "dilation", dilationSize, dims),
  };
  const r = fresh(size, grad.dtype, suggestedFormat(grad), grad);
  if (!hasWork(r)) return r;
  if (grad._numel === 0) return fill(r, 0);
  launch(K.pooling_scatter, "max_pool_backward", r, [grad, indices], dims, w);
  return r;
}

function averageWindows(
  dims: number,
  kernelSize: Ints,
  given: Ints,
  paddingSize: Ints,
  include: boolean,
  divisor: number | null,
): Windows {
  const op = `avg_pool${dims}d`;
  const kernel = spread(op, "kernel_size", kernelSize, dims);
  const stride = given.length === 0 ? kernel : spread(op, "stride", given, dims);
  const padding = spread(op, "padding", paddingSize, dims);
  return { ...NONE, adaptive: false, kernel, stride, padding, divisor: divisor ?? 0, include };
}

function avgPool(dims: number, self: Tensor, w: Windows, ceil: boolean, divisor: number | null): Tensor {
  requireKept(self._storage);
  const op = `avg_pool${dims}d`;
  const rank = self._shape.length;
  const fits = rank === dims + 1 || rank === dims + 2;
  if (dims === 3 && !fits) throw texts.poolDims(op, 4, 5);
  if (divisor === 0) throw texts.poolDivisor(op);
  if (rank < dims + 1) throw texts.dimOutOfRange(op, -rank, rank - 1, -(dims + 1));
  const lead = self._shape.slice(0, rank - dims);
  const sizes = self._shape.slice(rank - dims);
  const { kernel, padding, stride } = w;
  const out = sizes.map((n, i) => {
    return windowsAlong(n, kernel[i] as number, padding[i] as number, stride[i] as number, 1, ceil);
  });
  checkWindows(w);
  if (dims === 2 && !fits) throw texts.poolEmpty(op, text(self._shape));
  checkSizes(op, self._shape, dims);
  if (dims === 3 && sizes.some((n, i) => n < (kernel[i] as number))) {
    throw texts.poolSmallImage(op, facts("", sizes), facts("k", kernel));
  }
  checkHalf(w);
  requireOutput(lead, sizes, out);
  requireDtype(self, dims === 3 ? "avg_pool3d_out_frame" : op, self.dtype === int64, dims !== 3);
  const r = fresh([...lead, ...out], self.dtype, dims === 2 ? suggestedFormat(self) : contiguousFormat, self);
  if (hasWork(r)) launch(K.pooling_average, op, r, [self], dims, w);
  return r;
}

export function avgPool2d(
  self: Tensor,
  kernel: Ints,
  stride: Ints,
  padding: Ints,
  ceil: boolean,
  include: boolean,
  divisor: number | null,
): Tensor {
  return avgPool(2, self, averageWindows(2, kernel, stride, padding, include, divisor), ceil, divisor);
}

export function avgPool3d(
  self: Tensor,
  kernel: Ints,
  stride: Ints,
  padding: Ints,
  ceil: boolean,
  include: boolean,
  divisor: number | null,
): Tensor {
  return avgPool(3, self, averageWindows(3, kernel, stride, padding, include, divisor), ceil, divisor);
}

export function avgPoolBackward(
  grad: Tensor,
  size: Ints,
  kernel: Ints,
  stride: Ints,
  padding: Ints,
  _ceil: boolean,
  include: boolean,
  divisor: number | null,
  dims: number,
): Tensor {
  const w = averageWindows(dims, kernel, stride, padding, include, divisor);
  const r = fresh(size, grad.dtype, dims === 2 ? suggestedFormat(grad) : contiguousFormat, grad);
  if (!hasWork(r)) return r;
  if (grad._numel === 0) return fill(r, 0);
  launch(K.pooling_average_backward, "avg_pool_backward", r, [grad], dims, w);
  return r;
}

/** Sizes that may be pooled to as many windows as `out` says; an average of no channels is one. */
function checkAdaptive(name: string, self: Tensor, out: Ints, dims: number, maximum: boolean): Ints {
  requireKept(self._storage);
  const shape = self._shape;
  const rank = shape.length;
  if (rank !== dims + 1 && rank !== dims + 2) {
    throw texts.adaptiveDims(name, name, dims + 1, dims + 2, maximum ? ":" : "", text(shape));
  }
  const first = maximum || dims === 3 ? rank - dims - 1 : rank - dims;
  const at = shape.findIndex((n, i) => i >= first && n === 0);
  if (at >= 0) throw texts.poolEmptyDim(name, name, text(shape), at);
  const lead = shape.slice(0, rank - dims);
  const size = [...lead, ...out];
  const negative = size.find((n) => n < 0);
  if (negative !== undefined) throw texts.negativeDimension(name, negative, size);
  return size;
}

function adaptiveMaxPool(dims: number, self: Tensor, out: Ints): Both {
  const name = `adaptive_max_pool${dims}d`;
  if (out.length !== dims) throw texts.adaptiveMaximumSize(name, name, dims);
  const shape = checkAdaptive(name, self, out, dims, true);
  requireDtype(self, dims === 3 ? "adaptive_max_pool3d_cpu" : name, false);
  return maxima(name, self, shape, dims === 2 ? suggestedFormat(self) : contiguousFormat, dims, NONE);
}

export function adaptiveMaxPool2d(self: Tensor, out: Ints): Both {
  return adaptiveMaxPool(2, self, out);
}

export function adaptiveMaxPool3d(self: Tensor, out: Ints): Both {
  return adaptiveMaxPool(3, self, out);
}

function adaptiveAvgPool(dims: number, self: Tensor, out: Ints): Tensor {
  const name = `adaptive_avg_pool${dims}d`;
  const shape = checkAdaptive(name, self, out, dims, false);
  const r = fresh(shape, self.dtype, suggestedFormat(self), self);
  if (r._numel > 0 || dims === 3) requireDtype(self, dims === 3 ? "adaptive_avg_pool3d_cpu" : name, false);
  if (hasWork(r)) launch(K.pooling_average, name, r, [self], dims, NONE);
  return r;
}

export function adaptiveAvgPool2d(self: Tensor, out: Ints): Tensor {
  return adaptiveAvgPool(2, self, out);
}

export function adaptiveAvgPool3d(self: Tensor, out: Ints): Tensor {
  return adaptiveAvgPool(3, self, out);
}

export function adaptiveAvgPoolBackward(grad: Tensor, size: Ints, dims: number): Tensor {
  const r = fresh(size, grad.dtype, suggestedFormat(grad), grad);
  if (!hasWork(r)) return r;
  if (grad._numel === 0) return fill(r, 0);
  launch(K.pooling_average_backward, "adaptive_avg_pool_backward", r, [grad], dims, NONE);
  return r;
}
