/** New tensors, and the layout that results get. */

import * as texts from "../../generated/texts.ts";
import { CPU, type Device, defaultDevice, toDevice } from "../tensor/device.ts";
import type { DType } from "../tensor/dtype.ts";
import { contiguousStrides, numelOf, sameSizes } from "../tensor/size.ts";
import { pinnedMemory, Storage } from "../tensor/storage.ts";
import { isContiguousGeometry, makeStrided, Tensor, VersionCounter } from "../tensor/tensor.ts";
import { backendOf } from "./backend.ts";

const MAX_BYTES = 2 ** 47;

function bytesFor(numel: number, dtype: DType, shape: readonly number[]): number {
  const n = numel * dtype.itemsize;
  if (n >= 2 ** 63) throw texts.storageSizesOverflow(undefined, shape);
  if (!(n < MAX_BYTES)) throw texts.outOfMemory(undefined, n);
  return n;
}

/** Whether tensors on the CPU are made in pinned memory now. */
let pins = false;

/** What `body` makes on the CPU lies in pinned memory. */
export function inPinnedMemory<R>(body: () => R): R {
  const before = pins;
  pins = true;
  try {
    return body();
  } finally {
    pins = before;
  }
}

/** Pinned memory is the CPU's, and takes a driver. */
export function requirePinnable(device: Device | null): void {
  const place = device ?? defaultDevice();
  if (place.type === "cuda") throw texts.pinnedOnGpu(undefined);
  if (place === CPU) toDevice("cuda");
}

function storageFor(numel: number, dtype: DType, device: Device, shape: readonly number[]): Storage {
  const n = bytesFor(numel, dtype, shape);
  if (device !== CPU) return backendOf(device).allocate(n, device);
  return pins && n > 0 ? pinnedMemory.allocate(n) : Storage.allocate(n);
}

/** An uninitialised row-major tensor. */
export function empty(shape: readonly number[], dtype: DType, device: Device): Tensor {
  const numel = numelOf(shape);
  const strides = contiguousStrides(shape);
  return new Tensor(
    storageFor(numel, dtype, device, shape),
    0,
    shape,
    strides,
    dtype,
    numel,
    true,
    new VersionCounter(),
  );
}

/** An uninitialised tensor with the shape and the dense strides of another. */
export function emptyWith(shape: readonly number[], strides: readonly number[], dtype: DType, device: Device): Tensor {
  const numel = numelOf(shape);
  return makeStrided(storageFor(numel, dtype, device, shape), 0, shape, strides, dtype);
}

/** True when the elements fill a block without gaps or overlaps, in some order of dimensions. */
export function isDense(shape: readonly number[], strides: readonly number[]): boolean {
  if (isContiguousGeometry(shape, strides)) return true;
  let left = 0;
  for (const n of shape) if (n !== 1) left++;
  for (let step = 1; left > 0; left--) {
    let d = shape.length - 1;
    while (d >= 0 && (shape[d] === 1 || strides[d] !== step)) d--;
    if (d < 0) return false;
    step *= shape[d] as number;
  }
  return true;
}

/** The strides of a copy: those of a dense tensor, else dense in the order of its strides. */
export function preservedStrides(t: Tensor): readonly number[] {
  if (t._contiguous || isDense(t._shape, t._strides)) return t._strides;
  return strideOrder(t._shape, [t]);
}

/** An uninitialised tensor with the strides of a copy of another. */
export function emptyCopy(t: Tensor, dtype: DType = t.dtype): Tensor {
  if (!t._contiguous) return emptyWith(t._shape, preservedStrides(t), dtype, t._storage.device);
  const storage = storageFor(t._numel, dtype, t._storage.device, t._shape);
  return new Tensor(storage, 0, t._shape, t._strides, dtype, t._numel, true, new VersionCounter());
}

/** An uninitialised tensor in the layout of the result of a pointwise operator on another. */
export function emptyLike(t: Tensor, dtype: DType = t.dtype): Tensor {
  if (t._contiguous) {
    const numel = t._numel;
    const storage = storageFor(numel, dtype, t._storage.device, t._shape);
    return new Tensor(storage, 0, t._shape, contiguousOf(t), dtype, numel, true, new VersionCounter());
  }
  return emptyWith(t._shape, preservedStrides(t), dtype, t._storage.device);
}

/** The same where a number is the other operand: torch sorts the dimensions then. */
export function emptyBeside(t: Tensor, dtype: DType): Tensor {
  if (keepsOrder(t)) return emptyCopy(t, dtype);
  return emptyWith(t._shape, strideOrder(t._shape, [t]), dtype, t._storage.device);
}

/** Row-major, also where sizes of one leave the strides open. */
export function isCanonical(t: Tensor): boolean {
  if (!t._contiguous) return false;
  let step = 1;
  for (let i = t._shape.length - 1; i >= 0; i--) {
    if (t._strides[i] !== step) return false;
    step *= Math.max(1, t._shape[i] as number);
  }
  return true;
}

/** Whether sorting the dimensions by their strides leaves them: without elements, torch may swap row-major ones. */
export function keepsOrder(t: Tensor): boolean {
  return t._numel > 0 && isCanonical(t);
}

/** Strides of a contiguous tensor, normalised where sizes of one left them arbitrary. */
function contiguousOf(t: Tensor): readonly number[] {
  for (let i = 0; i < t._shape.length; i++) {
    if ((t._shape[i] as number) < 2) return contiguousStrides(t._shape);
  }
  return t._strides;
}

/**
 * Dense strides in the order that the operands' strides suggest. Dimensions are sorted by insertion, the first operand
 * that tells two dimensions apart decides; broadcast dimensions (stride 0) say nothing.
 */
export function strideOrder(shape: readonly number[], operands: readonly Tensor[]): number[] {
  const rank = shape.length;
  if (rank === 2) {
    const [rows, columns] = shape as [number, number];
    if (compareDims(operands, shape, 1, 0) > 0) return [1, rows];
    return [Math.max(1, columns), 1];
  }
  const perm: number[] = [];
  for (let i = 0; i < rank; i++) perm.push(rank - 1 - i);
  for (let i = 1; i < rank; i++) {
    let at = i;
    for (let j = i - 1; j >= 0; j--) {
      const verdict = compareDims(operands, shape, perm[j] as number, perm[at] as number);
      if (verdict > 0) {
        const x = perm[j] as number;
        perm[j] = perm[at] as number;
        perm[at] = x;
        at = j;
      } else if (verdict < 0) break;
    }
  }
  if (perm.every((d, i) => d === rank - 1 - i)) return contiguousStrides(shape).slice();
  // A dimension without positions counts as one in a row-major layout, and in no other.
  const strides = new Array<number>(rank);
  let step = 1;
  for (const d of perm) {
    strides[d] = step;
    step *= shape[d] as number;
  }
  return strides;
}

/** A tensor's stride along a dimension of the shape that it is broadcast to. */
function strideIn(t: Tensor, shape: readonly number[], d: number): number {
  const own = d + t._shape.length - shape.length;
  return own < 0 || (t._shape[own] === 1 && shape[d] !== 1) ? 0 : (t._strides[own] as number);
}

/** Positive when dimension `a` must lie outside of `b`, negative when inside, 0 when unknown. */
function compareDims(operands: readonly Tensor[], shape: readonly number[], a: number, b: number): number {
  for (const t of operands) {
    const x = strideIn(t, shape, a);
    const y = strideIn(t, shape, b);
    if (x === 0 || y === 0) continue;
    if (x < y) return -1;
    if (x > y) return 1;
    if ((shape[a] as number) > (shape[b] as number)) return 1;
  }
  return 0;
}

/** The broadcast shape of two shapes. */
export function broadcastShapes(a: readonly number[], b: readonly number[], op?: string): readonly number[] {
  if (a === b) return a;
  const rank = Math.max(a.length, b.length);
  const out = new Array<number>(rank);
  for (let i = 1; i <= rank; i++) {
    const x = i <= a.length ? (a[a.length - i] as number) : 1;
    const y = i <= b.length ? (b[b.length - i] as number) : 1;
    if (x !== y && x !== 1 && y !== 1) throw texts.sizeMismatch(op, x, y, rank - i);
    out[rank - i] = x === 1 ? y : x;
  }
  return out;
}

/** Refuses another shape that makes this one larger when both are broadcast. */
export function requireBroadcastInto(shape: readonly number[], other: readonly number[], op?: string): void {
  const both = broadcastShapes(shape, other, op);
  if (!sameSizes(both, shape)) throw texts.broadcastMismatch(op, shape, both);
}

/** Sizes given by a user: integers, none negative. */
export function checkSizes(sizes: readonly number[], op: string): void {
  for (const n of sizes) {
    if (!Number.isSafeInteger(n)) throw texts.sizeNotAnInteger(op, n);
    if (n < 0) throw texts.negativeDimension(op, n, sizes);
  }
  if (sizes.length > 64) throw texts.rankTooHigh(op);
}
