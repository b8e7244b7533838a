/** Images padded with their own elements, or of other sizes: checks in torch's order, and the calls of the kernels. */

import { SamplingAttr, SamplingMode } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { type DType, float32, toReal, uint8 } from "../tensor/dtype.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { empty, emptyWith } from "./allocate.ts";
import { clamp } from "./arith.ts";
import { backendOf, hasWork } from "./backend.ts";
import { cast, clone, fill, formatStrides, suggestedFormat, transfer } from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { contiguousFormat } from "./memory-format.ts";
import { round } from "./rounding.ts";

type Ints = readonly number[];

const text = (shape: Ints): string => `[${shape.join(", ")}]`;
const AXES = ["D", "H", "W"];
const NO_PADDING: Ints = [0, 0, 0];

/** `H: 2, W: 3` */
const facts = (sizes: Ints, between = ", "): string =>
  sizes.map((n, i) => `${AXES[3 - sizes.length + i]}: ${n}`).join(between);

function fresh(shape: Ints, dtype: DType, like: Tensor): Tensor {
  const format = suggestedFormat(like);
  const strides = format === contiguousFormat ? null : formatStrides(shape, format);
  const { device } = like._storage;
  return strides === null ? empty(shape, dtype, device) : emptyWith(shape, strides, dtype, device);
}

/** Writes an operand as a batch of planes; `part` chooses real or imaginary parts, which are numbers of `dtype`. */
function plane(i: number, t: Tensor, dims: number, dtype: DType, part: number): void {
  const factor = t.dtype === dtype ? 1 : 2;
  const batched = t._shape.length === dims + 2;
  const strides = t._strides.map((n) => n * factor);
  const address = t._address() + part * dtype.itemsize;
  const shape = batched ? t._shape : [1, ...t._shape];
  frame.operand(i, address, dtype.id, shape, batched ? strides : [0, ...strides], 0);
}

/** Steps from one output to the next, in elements of the image. */
function stepsOf(mode: number, input: Ints, output: Ints, scales: Ints): number[] {
  const corners = mode === SamplingMode.linearCorners || mode === SamplingMode.cubicCorners;
  return input.map((n, d) => {
    const out = output[d] as number;
    if (corners) return out > 1 ? (n - 1) / (out - 1) : 0;
    // Of planes torch takes these two sizes as what they are, whatever the factor was.
    if (mode === SamplingMode.nearest && input.length === 2 && (out === n || out === 2 * n)) return n / out;
    const scale = scales[d] ?? 0;
    return scale > 0 ? 1 / scale : n / out;
  });
}

function launch(kernel: Kernel, r: Tensor, t: Tensor, dims: number, mode: number, front: Ints, steps: Ints): void {
  const back = kernel === K.sampling_sample_backward;
  const complex = (back || averages(mode)) && r.dtype.category === 3;
  const dtype = complex ? toReal(r.dtype) : r.dtype;
  for (let part = 0; part < (complex ? 2 : 1); part++) {
    frame.begin(2, dtype.compute);
    plane(0, r, dims, dtype, part);
    plane(1, t, dims, dtype, part);
    frame.attr(SamplingAttr.mode, mode);
    for (let d = 0; d < 3; d++) {
      frame.attr(SamplingAttr.front + d, front[d - 3 + dims] ?? 0);
      frame.attr(SamplingAttr.scale + d, steps[d - 3 + dims] ?? 1);
    }
    kernel.run(r._storage.device, "sample", r.dtype.scalarType);
  }
}

/** Whether elements are averaged, which takes numbers with fractions. */
const averages = (mode: number): boolean => mode >= SamplingMode.linear;

/** The dtype that kernels take: not all devices' read short floats. */
function computed({ dtype: d, _storage: { device } }: Tensor, mode: number, back: boolean): DType {
  const short = d.category === 2 && d.itemsize === 2 && backendOf(device).readsShort !== true;
  return (averages(mode) || back) && (short || d === uint8) ? float32 : d;
}

export function imageSample(self: Tensor, size: Ints, mode: number, front: Ints, scales: Ints, dims: number): Tensor {
  requireKept(self._storage);
  const lead = self._shape.slice(0, -dims);
  const r = fresh([...lead, ...size], self.dtype, self);
  if (!hasWork(r)) return r;
  const dtype = computed(self, mode, false);
  const x = dtype !== self.dtype ? cast(self, dtype) : self._bits === 0 ? self : clone(self);
  const target = dtype === r.dtype ? r : emptyWith(r._shape, r._strides, dtype, r._storage.device);
  launch(K.sampling_sample, target, x, dims, mode, front, stepsOf(mode, self._shape.slice(-dims), size, scales));
  dropCopy(x, self);
  if (target === r) return r;
  transfer(r, r.dtype === uint8 ? rounded(target) : target);
  drop(target);
  return r;
}

/** Means of bytes are bytes: whole, and none that has no place among them. */
function rounded(t: Tensor): Tensor {
  return clamp(round(t, undefined, true), 0, 255, t, true);
}

export function imageSampleBackward(
  grad: Tensor,
  size: Ints,
  mode: number,
  front: Ints,
  scales: Ints,
  dims: number,
): Tensor {
  const r = fresh(size, grad.dtype, grad);
  if (!hasWork(r)) return r;
  if (grad._numel === 0) return fill(r, 0);
  const dtype = computed(grad, mode, true);
  const g = dtype !== grad.dtype ? cast(grad, dtype) : grad._bits === 0 ? grad : clone(grad);
  const target = dtype === r.dtype ? r : emptyWith(r._shape, r._strides, dtype, r._storage.device);
  fill(target, 0);
  const steps = stepsOf(mode, size.slice(-dims), grad._shape.slice(-dims), scales);
  launch(K.sampling_sample_backward, target, g, dims, mode, front, steps);
  dropCopy(g, grad);
  if (target === r) return r;
  transfer(r, target);
  drop(target);
  return r;
}

/** How many elements are added in front of each dimension, in the order of the dimensions. */
export const frontOf = (padding: Ints): number[] => padding.filter((_, i) => i % 2 === 0).reverse();

function padded(op: string, self: Tensor, padding: Ints, dims: number, mode: number): Tensor {
  requireKept(self._storage);
  const shape = self._shape;
  const rank = shape.length;
  const skip = rank === dims + 2 ? 1 : 0;
  if (shape.some((n, d) => d >= skip && n === 0)) throw texts.padEmpty(op, dims + 1, dims + 2, text(shape));
  const sizes = shape.slice(-dims);
  const sides = sizes.map((_, d) => padding.slice(2 * (dims - 1 - d), 2 * (dims - d)) as [number, number]);
  if (mode === SamplingMode.reflect) {
    for (let d = dims - 1; d >= 0; d--) {
      const [front, behind] = sides[d] as [number, number];
      const n = sizes[d] as number;
      if (front < n && behind < n) continue;
      throw texts.padReflects(op, 2 + 2 * (dims - d), front, behind, rank - dims + d, text(shape));
    }
  }
  const out = sizes.map((n, d) => n + (sides[d]?.[0] ?? 0) + (sides[d]?.[1] ?? 0));
  if (out.some((n) => n < 1)) {
    if (dims === 1) throw texts.padTooSmall(op, facts(sizes), facts(out, " "));
    throw texts.padOutput(op, facts(out, " "), facts(sizes));
  }
  const { name, category } = self.dtype;
  if (self._storage.device.computes && (category === 0 || name.startsWith("float8") || WIDE.has(name))) {
    throw texts.notImplementedFor(op, op, self.dtype.scalarType);
  }
  return imageSample(self, out, mode, frontOf(padding), [], dims);
}

const WIDE = new Set(["uint16", "uint32", "uint64"]);

export function reflectionPad1d(self: Tensor, padding: Ints): Tensor {
  return padded("reflection_pad1d", self, padding, 1, SamplingMode.reflect);
}

export function reflectionPad2d(self: Tensor, padding: Ints): Tensor {
  return padded("reflection_pad2d", self, padding, 2, SamplingMode.reflect);
}

export function reflectionPad3d(self: Tensor, padding: Ints): Tensor {
  return padded("reflection_pad3d", self, padding, 3, SamplingMode.reflect);
}

export function replicationPad1d(self: Tensor, padding: Ints): Tensor {
  return padded("replication_pad1d", self, padding, 1, SamplingMode.replicate);
}

export function replicationPad2d(self: Tensor, padding: Ints): Tensor {
  return padded("replication_pad2d", self, padding, 2, SamplingMode.replicate);
}

export function replicationPad3d(self: Tensor, padding: Ints): Tensor {
  return padded("replication_pad3d", self, padding, 3, SamplingMode.replicate);
}

const REAL = new Set(["float16", "bfloat16", "float32", "float64"]);

function requireSizes(self: Tensor, size: Ints, dims: number): void {
  const shape = self._shape;
  const input = shape.slice(2);
  if (input.some((n) => n <= 0) || size.some((n) => n <= 0)) {
    throw texts.sampleEmptySizes("interpolate", facts(input), dims === 1 ? "and " : "", facts(size));
  }
  if (shape.slice(1).includes(0)) throw texts.sampleEmpty("interpolate", dims + 2, text(shape));
}

function resized(self: Tensor, size: Ints, scales: Ints, dims: number, mode: number): Tensor {
  requireSizes(self, size, dims);
  const nearest = !averages(mode);
  const bytes = self.dtype === uint8 && (nearest || dims === 2);
  if (self._storage.device.computes && !bytes && !REAL.has(self.dtype.name)) {
    const kind = nearest ? "nearest" : "linear";
    const flat = nearest ? "upsample_nearest2d_channels_last" : "upsample_bilinear2d_channels_last";
    const kernel = dims === 2 && mode !== SamplingMode.nearestExact ? flat : `compute_indices_weights_${kind}`;
    throw texts.notImplementedFor("interpolate", kernel, self.dtype.scalarType);
  }
  return imageSample(self, size, mode, NO_PADDING, scales, dims);
}

export function upsampleNearest1d(self: Tensor, size: Ints, scales: Ints): Tensor {
  return resized(self, size, scales, 1, SamplingMode.nearest);
}

export function upsampleNearest2d(self: Tensor, size: Ints, scales: Ints): Tensor {
  return resized(self, size, scales, 2, SamplingMode.nearest);
}

export function upsampleNearest3d(self: Tensor, size: Ints, scales: Ints): Tensor {
  return resized(self, size, scales, 3, SamplingMode.nearest);
}

export function upsampleNearestExact1d(self: Tensor, size: Ints, scales: Ints): Tensor {
  return resized(self, size, scales, 1, SamplingMode.nearestExact);
}

export function upsampleNearestExact2d(self: Tensor, size: Ints, scales: Ints): Tensor {
  return resized(self, size, scales, 2, SamplingMode.nearestExact);
}

export function upsampleNearestExact3d(self: Tensor, size: Ints, scales: Ints): Tensor {
  return resized(self, size, scales, 3, SamplingMode.nearestExact);
}

/** The mode of means of two or four neighbours along each dimension. */
export function meansMode(cubic: boolean, corners: boolean): number {
  if (cubic) return corners ? SamplingMode.cubicCorners : SamplingMode.cubic;
  return corners ? SamplingMode.linearCorners : SamplingMode.linear;
}

export function upsampleLinear1d(self: Tensor, size: Ints, corners: boolean, scales: Ints): Tensor {
  return resized(self, size, scales, 1, meansMode(false, corners));
}

export function upsampleBilinear2d(self: Tensor, size: Ints, corners: boolean, scales: Ints): Tensor {
  return resized(self, size, scales, 2, meansMode(false, corners));
}

export function upsampleTrilinear3d(self: Tensor, size: Ints, corners: boolean, scales: Ints): Tensor {
  return resized(self, size, scales, 3, meansMode(false, corners));
}

export function upsampleBicubic2d(self: Tensor, size: Ints, corners: boolean, scales: Ints): Tensor {
  return resized(self, size, scales, 2, meansMode(true, corners));
}
