/** Copies between tensors of any dtype and layout. */

import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { addressOf, copyBytes } from "../ffi/memory.ts";
import type { Scalar } from "../tensor/complex.ts";
import { Complex, scalarKind, scalarValue } from "../tensor/complex.ts";
import { CPU, type Device } from "../tensor/device.ts";
import { type DType, int64 } from "../tensor/dtype.ts";
import { later } from "../tensor/later.ts";
import { sameSizes } from "../tensor/size.ts";
import type { Storage } from "../tensor/storage.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { broadcastShapes, empty, emptyCopy, emptyWith, preservedStrides } from "./allocate.ts";
import { backendOf, hasWork } from "./backend.ts";
import { channelsLast, channelsLast3d, contiguousFormat, type MemoryFormat, preserveFormat } from "./memory-format.ts";
import { requireNoInternalOverlap, requireNoPartialOverlap } from "./overlap.ts";

/** The compute type that converts without losing what the destination can hold. */
function conversionType(from: DType, to: DType): DType {
  if (to.category === 1 && from.category >= 2 && to.itemsize < 4) return int64;
  return to;
}

/**
 * dst[...] = src, broadcasting; no autograd, no version bump. What goes between devices may arrive `later`, where
 * pinned memory allows it.
 */
export function copyInto(dst: Tensor, src: Tensor, op = "copy_", later = false): Tensor {
  const { device } = dst._storage;
  if (device !== src._storage.device) return acrossDevices(dst, src, op, later);
  if (!device.computes || sameElements(dst, src)) return dst;
  requireNoInternalOverlap(dst, op);
  requireNoPartialOverlap(dst, src, op);
  transfer(dst, src);
  return dst;
}

/** Dtypes, layouts and broadcasts are one device's own work; between two of them only row-major bytes are copied. */
function acrossDevices(dst: Tensor, src: Tensor, op: string, later: boolean): Tensor {
  const [from, to] = [src._storage.device, dst._storage.device];
  if (!to.computes) return dst;
  if (!from.computes) throw texts.copyFromMeta(op);
  requireNoInternalOverlap(dst, op);
  if (dst._numel === 0) return dst;
  const dense = denseAs(src, dst.dtype);
  const direct = dst._contiguous && dst._bits === 0 && sameSizes(dst._shape, dense._shape);
  const landed = direct ? dst : empty(dense._shape, dst.dtype, to);
  // The driver cannot tell of a file that ends too early.
  if (from === CPU && isMapped(dense)) staging.toGpu(landed, dense);
  else if (to === CPU && isMapped(landed)) staging.toCpu(landed, dense);
  else backendOf(to).copy(landed, dense, later);
  if (!direct) transfer(dst, landed);
  return dst;
}

const isMapped = (t: Tensor): boolean => t._storage.root.kind === "mapped";

/** How mapped files reach a GPU, and how it writes to them; `moving-many.ts` tells. */
export const staging: { toGpu(dst: Tensor, src: Tensor): void; toCpu(dst: Tensor, src: Tensor): void } =
  later("staging");

/** The same elements on a device that has bytes. */
export function onDevice(t: Tensor, device: Device): Tensor {
  if (t._storage.device === device) return t;
  return copyInto(emptyInFormat(t, t.dtype, preserveFormat, device), t);
}

/** The same elements where they can be read. */
export function onCpu(t: Tensor): Tensor {
  return onDevice(t, CPU);
}

/** A copy from itself to itself changes nothing, whatever overlaps. */
export function sameElements(a: Tensor, b: Tensor): boolean {
  return (
    a._storage === b._storage &&
    a._offset === b._offset &&
    a.dtype === b.dtype &&
    a._bits === b._bits &&
    sameSizes(a._shape, b._shape) &&
    sameSizes(a._strides, b._strides)
  );
}

/** As `copyInto` for a destination that is known to be fresh. */
export function transfer(dst: Tensor, src: Tensor): void {
  if (dst._numel === 0) return;
  if (dst._contiguous && sameSizes(dst._shape, src._shape) && copyBlock(dst, 0, src)) return;
  transferPart(dst, dst._shape, dst._strides, 0, src);
}

/** Bytes up to which the call of a kernel takes longer than moving them. */
const BLOCK_BYTES = 16 * 1024;

const inMemory = ({ kind, device }: Storage): boolean => (kind === "tiny" || kind === "heap") && device === CPU;

/**
 * Copies a small row-major tensor to where as many elements of the same dtype lie in one block, so many behind the
 * first one of `dst`; false for any other tensor, of which nothing was copied.
 */
export function copyBlock(dst: Tensor, skipped: number, src: Tensor): boolean {
  const { itemsize } = src.dtype;
  const nbytes = src._numel * itemsize;
  if (nbytes > BLOCK_BYTES || !src._contiguous || src.dtype !== dst.dtype || src._bits !== dst._bits) return false;
  if (!inMemory(src._storage) || !inMemory(dst._storage)) return false;
  copyBytes(dst._address() + skipped * itemsize, src._address(), nbytes);
  return true;
}

/** Whether `copyBlock` copies a tensor into a row-major one, and is not refused. */
export function fitsBlock(dst: Tensor, src: Tensor): boolean {
  const { _storage: from, dtype } = src;
  const { _storage: to } = dst;
  if (src._numel * dtype.itemsize > BLOCK_BYTES || !src._contiguous) return false;
  if (dtype !== dst.dtype || src._bits !== dst._bits || from.watched || to.watched) return false;
  return inMemory(from) && inMemory(to);
}

/** `transfer` into a part of a tensor, which begins so many elements behind the tensor's first one and is not empty. */
export function transferPart(
  dst: Tensor,
  shape: readonly number[],
  strides: readonly number[],
  skipped: number,
  src: Tensor,
): void {
  const address = dst._address() + skipped * dst.dtype.itemsize;
  if (dst.dtype === src.dtype && dst._bits === src._bits) {
    frame.begin(2, dst.dtype.compute);
    frame.operand(0, address, dst.dtype.id, shape, strides, 0);
    frame.broadcastOperand(1, src._address(), src.dtype.id, src._shape, src._strides, shape.length, 0);
    K.copy_copy.run(dst._storage.device, "copy_", dst.dtype.scalarType);
    return;
  }
  if (src.dtype.category === 3 && dst.dtype.category < 3 && dst.dtype.category > 0) {
    texts.complexToReal();
  }
  const compute = conversionType(src.dtype, dst.dtype);
  frame.begin(2, compute.compute);
  frame.operand(0, address, dst.dtype.id, shape, strides, dst._bits);
  frame.broadcastOperand(1, src._address(), src.dtype.id, src._shape, src._strides, shape.length, src._bits);
  K.unary_convert.run(dst._storage.device, "copy_", compute.scalarType);
}

/** Refuses a source that does not broadcast to the destination. */
export function requireExpandable(src: readonly number[], dst: readonly number[]): void {
  const rank = Math.max(src.length, dst.length);
  let grows = src.length > dst.length;
  for (let d = 1; d <= Math.min(src.length, dst.length); d++) {
    const [from, to] = [src[src.length - d] as number, dst[dst.length - d] as number];
    if (from === to || from === 1) continue;
    if (to !== 1) throw texts.sizeMismatch(undefined, to, from, rank - d);
    grows = true;
  }
  if (grows) throw texts.broadcastMismatch(undefined, dst, broadcastShapes(dst, src));
}

/** A fresh tensor with the same elements; the layout is kept unless a format says otherwise. */
export function clone(t: Tensor, format: MemoryFormat | null = null): Tensor {
  const r = emptyInFormat(t, t.dtype, format ?? preserveFormat);
  if (r._storage.device.computes) transfer(r, t);
  return r;
}

/** An uninitialised tensor of a shape like `t`'s in a memory format. */
export function emptyInFormat(t: Tensor, dtype: DType, format: MemoryFormat, device = t._storage.device): Tensor {
  if (format === preserveFormat && device === t._storage.device) return emptyCopy(t, dtype);
  const strides = format === preserveFormat ? preservedStrides(t) : formatStrides(t._shape, format);
  return strides === null ? empty(t._shape, dtype, device) : emptyWith(t._shape, strides, dtype, device);
}

/** Strides of a shape in a memory format; null for row-major. */
export function formatStrides(shape: readonly number[], format: MemoryFormat): readonly number[] | null {
  if (format === contiguousFormat || format === preserveFormat) return null;
  const rank = format === channelsLast ? 4 : 5;
  if (shape.length !== rank) throw texts.formatNeedsRank(undefined, rank, format.name);
  const order = rank === 4 ? [0, 2, 3, 1] : [0, 2, 3, 4, 1];
  const strides = new Array<number>(rank);
  let step = 1;
  for (let i = rank - 1; i >= 0; i--) {
    const d = order[i] as number;
    strides[d] = step;
    step *= Math.max(1, shape[d] as number);
  }
  return strides;
}

/** The memory format that a tensor's strides suggest, as torch guesses it: row-major where they say nothing. */
export function suggestedFormat(t: Tensor): MemoryFormat {
  const rank = t._shape.length;
  if (rank !== 4 && rank !== 5) return contiguousFormat;
  if (t._strides[1] === 0) return contiguousFormat;
  let least = 0;
  for (const d of rank === 4 ? [1, 3, 2, 0] : [1, 4, 3, 2, 0]) {
    const [n, stride] = [t._shape[d] as number, t._strides[d] as number];
    if (n === 0 || stride < least) return contiguousFormat;
    // Of tensors with one element a channel nothing is known.
    if (d === 0 && least === t._strides[1]) return contiguousFormat;
    least = n > 1 ? stride * n : stride;
  }
  return rank === 4 ? channelsLast : channelsLast3d;
}

/** True when the tensor's strides are those of a memory format. */
export function isContiguousIn(t: Tensor, format: MemoryFormat): boolean {
  if (format === contiguousFormat || format === preserveFormat) return t._contiguous;
  if (t._shape.length !== (format === channelsLast3d ? 5 : 4)) return false;
  if (t._numel === 0) return true;
  const wanted = formatStrides(t._shape, format) as readonly number[];
  return t._shape.every((n, d) => n === 1 || wanted[d] === t._strides[d]);
}

/** The same elements in another dtype, in a fresh tensor. */
export function cast(t: Tensor, dtype: DType, format: MemoryFormat | null = null): Tensor {
  const r = emptyInFormat(t, dtype, format ?? preserveFormat);
  if (r._storage.device.computes) transfer(r, t);
  return r;
}

/** `t` itself when it is row-major and plain, else a row-major copy. No autograd. */
export function denseOf(t: Tensor): Tensor {
  if (t._contiguous && t._bits === 0) return t;
  return clone(t, contiguousFormat);
}

/** Row-major, in `dtype`, without bits: `t` itself when it is so already. */
export function denseAs(t: Tensor, dtype: DType): Tensor {
  return t.dtype === dtype ? denseOf(t) : cast(t, dtype, contiguousFormat);
}

/** Whether a number is to be read as an integer of 64 bits: as a double it would lose digits. */
function isExactInt(value: Scalar, dtype: DType): boolean {
  const v = scalarValue(value);
  const size = Math.abs(Number(v));
  const whole = typeof v === "bigint" || (scalarKind(value) === "int" && size >= 2 ** 53);
  // Numbers with more bits fit floating-point dtypes alone.
  return whole && (dtype.category < 2 || size < 2 ** 63);
}

/** Sets every element to a number that was checked to fit. */
export function fill(t: Tensor, value: Scalar): Tensor {
  if (!hasWork(t)) return t;
  const v = scalarValue(value);
  frame.begin(2, t.dtype.compute);
  frame.operand(0, t._address(), t.dtype.id, t._shape, t._strides, t._bits);
  const rank = t._shape.length;
  if (v instanceof Complex) {
    frame.broadcastOperand(1, frame.scratchFloat(1, v.re, v.im), 11, [], [], rank, 0);
  } else if (isExactInt(value, t.dtype)) {
    frame.broadcastOperand(1, frame.scratchInt(1, BigInt.asIntN(64, BigInt(v as number | bigint))), 5, [], [], rank, 0);
  } else {
    frame.broadcastOperand(1, frame.scratchFloat(1, Number(v)), 9, [], [], rank, 0);
  }
  K.unary_convert.run(t._storage.device, "fill_", t.dtype.scalarType);
  return t;
}

/** An int64 vector of known positions. */
export function indexTensor(values: readonly bigint[]): Tensor {
  const t = empty([values.length], int64, CPU);
  const bytes = new BigInt64Array(values);
  if (values.length > 0) copyBytes(t._address(), addressOf(bytes), 8 * values.length);
  return t;
}
