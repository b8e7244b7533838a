/** Operators that write whole tensors or change what a tensor is made of. */

import * as texts from "../../generated/texts.ts";
import type { Scalar } from "../tensor/complex.ts";
import { CPU, type Device } from "../tensor/device.ts";
import type { DType } from "../tensor/dtype.ts";
import { contiguousStrides, sameSizes } from "../tensor/size.ts";
import { type Storage, UntypedStorage } from "../tensor/storage.ts";
import { bytesNeeded, type Tensor } from "../tensor/tensor.ts";
import { checkSizes, emptyCopy, inPinnedMemory } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import * as copies from "./copy.ts";
import { checkFits } from "./fits.ts";
import { type MemoryFormat, preserveFormat } from "./memory-format.ts";
import { setGeometry } from "./out.ts";
import { requireNoInternalOverlap, requireNoPartialOverlap } from "./overlap.ts";

/** self[...] = src */
export function copy(self: Tensor, src: Tensor, nonBlocking: boolean): Tensor {
  if (self === src || copies.sameElements(self, src)) return self;
  requireNoInternalOverlap(self, "copy_");
  requireNoPartialOverlap(self, src, "copy_");
  copies.requireExpandable(src._shape, self._shape);
  copies.copyInto(self, src, "copy_", nonBlocking);
  return self;
}

export function fill(self: Tensor, value: Scalar, _out: Tensor | undefined, inplace: boolean): Tensor {
  checkFits(value, self.dtype);
  return copies.fill(inplace ? self : emptyCopy(self), value);
}

export function fillTensor(self: Tensor, value: Tensor, _out: Tensor | undefined, inplace: boolean): Tensor {
  if (value._shape.length !== 0) throw texts.fillValueRank(undefined, value._shape.length);
  if (inplace) requireNoInternalOverlap(self, "fill_");
  const target = inplace ? self : emptyCopy(self);
  if (!hasWork(target)) return target;
  // The value may be an element of the tensor itself.
  copies.transfer(target, copies.clone(value));
  return target;
}

export function zero(self: Tensor): Tensor {
  return copies.fill(self, 0);
}

export function toCopy(
  self: Tensor,
  dtype: DType,
  format: MemoryFormat | null,
  device: Device | null,
  nonBlocking: boolean,
): Tensor {
  if (device !== null && device !== self._storage.device) {
    const make = () => copies.emptyInFormat(self, dtype, format ?? preserveFormat, device);
    // As in torch: what is not waited for arrives in pinned memory.
    const pins = nonBlocking && device === CPU && self._storage.device.type === "cuda";
    return copies.copyInto(pins ? inPinnedMemory(make) : make(), self, "to", nonBlocking);
  }
  return dtype === self.dtype ? copies.clone(self, format) : copies.cast(self, dtype, format);
}

/** Changes the shape to a row-major one, or to a memory format. */
export function resize(self: Tensor, size: readonly number[], format: MemoryFormat | null): void {
  checkSizes(size, "resize_");
  if (sameSizes(size, self._shape) && format === null) return;
  const strides = (format === null ? null : copies.formatStrides(size, format)) ?? contiguousStrides(size);
  setGeometry(self, [...size], strides, self._offset);
  self._version.value++;
}

/** Makes the tensor a region of a storage, which grows when it must. */
export function setSource(
  self: Tensor,
  storage: Storage,
  offset: number,
  size: readonly number[],
  stride: readonly number[] | null,
): void {
  if (storage.device !== self.device) {
    throw texts.setAcrossDevices(undefined, String(self.device), String(storage.device));
  }
  const strides = stride ?? contiguousStrides(size);
  if (strides.length !== size.length) throw texts.sizeAndStrideLengths(undefined, size.length, strides.length);
  if (offset < 0) throw texts.invalidStorageOffset(undefined, offset);
  if (strides.some((s) => s < 0)) throw texts.negativeStrides(undefined, strides);
  checkSizes(size, "set_");
  const needed = bytesNeeded(size, strides, offset, self.dtype.itemsize);
  if (needed > storage.nbytes) storage.resize(needed);
  storage.claims++;
  self._storage.claims--;
  self._storage = storage;
  setGeometry(self, [...size], [...strides], offset);
  self._version.value++;
}

/** The storage behind what `set_` was given. */
export function storageOf(source: unknown): { storage: Storage; dtype: DType | null } | null {
  if (source instanceof UntypedStorage) return { storage: source.storage, dtype: null };
  if (typeof source === "object" && source !== null && "untypedStorage" in source) {
    const typed = source as { untypedStorage(): UntypedStorage; dtype: DType };
    return { storage: typed.untypedStorage().storage, dtype: typed.dtype };
  }
  return null;
}
