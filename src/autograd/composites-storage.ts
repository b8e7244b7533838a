/** Conversions and storage operators written with other operators. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { inPinnedMemory, requirePinnable } from "../dispatch/allocate.ts";
import { backendOf } from "../dispatch/backend.ts";
import { isContiguousIn, suggestedFormat } from "../dispatch/copy.ts";
import { contiguousFormat, type MemoryFormat, preserveFormat } from "../dispatch/memory-format.ts";
import { requiresGrad } from "../dispatch/mode.ts";
import { resize as resizeStorage, setSource, storageOf } from "../dispatch/storage-ops.ts";
import { batchOf, exampleOf, standFor } from "../tensor/batched.ts";
import { CPU, type Device, toDevice as place } from "../tensor/device.ts";
import type { DType } from "../tensor/dtype.ts";
import * as dtypes from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import { pinnedMemory, type UntypedStorage } from "../tensor/storage.ts";
import type { TypedStorageLike } from "../tensor/storage-types.ts";
import { Tensor } from "../tensor/tensor.ts";
import { legacyType } from "../tensor/type-name.ts";

export function contiguous(self: Tensor, format: MemoryFormat | null): Tensor {
  const f = format ?? contiguousFormat;
  if (f === preserveFormat && !self._contiguous) throw texts.contiguousPreserves(undefined);
  return isContiguousIn(self, f) ? self : O.clone(self, f);
}

export function isContiguous(self: Tensor, format: MemoryFormat | null): boolean {
  return isContiguousIn(self, format ?? contiguousFormat);
}

function convert(self: Tensor, dtype: DType, copy: boolean, format: MemoryFormat | null): Tensor {
  const keeps = format === null || format === preserveFormat || suggestedFormat(self) === format;
  if (dtype === self.dtype && !copy && keeps) return self;
  return O._to_copy(self, dtype, format, null, false);
}

export function toDtype(
  self: Tensor,
  dtype: DType,
  nonBlocking: boolean,
  copy: boolean,
  format: MemoryFormat | null,
  device: Device | null,
): Tensor {
  return toDevice(self, device, dtype, nonBlocking, copy, format);
}

export function toDevice(
  self: Tensor,
  device: Device | null,
  dtype: DType | null,
  nonBlocking: boolean,
  copy: boolean,
  format: MemoryFormat | null,
): Tensor {
  const d = dtype ?? self.dtype;
  if (device === null || device === self.device) return convert(self, d, copy, format);
  return O._to_copy(self, d, format, device, nonBlocking);
}

export function toOther(
  self: Tensor,
  other: Tensor,
  nonBlocking: boolean,
  copy: boolean,
  format: MemoryFormat | null,
): Tensor {
  return toDevice(self, other.device, other.dtype, nonBlocking, copy, format);
}

export function typeAs(self: Tensor, other: Tensor): Tensor {
  return toDevice(self, other.device, other.dtype, false, false, null);
}

export function typeOf(self: Tensor, dtype: DType): Tensor {
  return convert(self, dtype, false, null);
}

const converter =
  (dtype: DType) =>
  (self: Tensor, format: MemoryFormat | null): Tensor =>
    convert(self, dtype, false, format);

export const double = converter(dtypes.float64);
export const float = converter(dtypes.float32);
export const half = converter(dtypes.float16);
export const bfloat16 = converter(dtypes.bfloat16);
export const long = converter(dtypes.int64);
export const int = converter(dtypes.int32);
export const short = converter(dtypes.int16);
export const char = converter(dtypes.int8);
export const byte = converter(dtypes.uint8);
export const bool = converter(dtypes.bool);
export const cfloat = converter(dtypes.complex64);
export const cdouble = converter(dtypes.complex128);

export function cpu(self: Tensor, format: MemoryFormat | null): Tensor {
  return toDevice(self, CPU, null, false, false, format);
}

export function cuda(self: Tensor, device: Device | null, nonBlocking: boolean, format: MemoryFormat | null): Tensor {
  const target = device ?? place("cuda");
  if (target.type !== "cuda") throw texts.notAGpu("cuda");
  return toDevice(self, target, null, nonBlocking, false, format);
}

export function pinMemory(self: Tensor): Tensor {
  if (self.device !== CPU) throw texts.cannotPin("pinMemory", legacyType(self));
  if (isPinned(self)) return self;
  requirePinnable(CPU);
  return inPinnedMemory(() => O.clone(self, preserveFormat));
}

export function isPinned(self: Tensor): boolean {
  const { _storage: s } = self;
  return s.device === CPU && s.nbytes > 0 && s.kind !== "tiny" && pinnedMemory.holds(s.ptr);
}

export function isSetTo(self: Tensor, other: Tensor): boolean {
  return (
    self._storage === other._storage &&
    self._offset === other._offset &&
    sameSizes(self._shape, other._shape) &&
    sameSizes(self._strides, other._strides)
  );
}

export function resize_(self: Tensor, size: readonly number[], format: MemoryFormat | null): Tensor {
  if (requiresGrad(self)) throw texts.resizeNeedsNoGrad(undefined);
  if (format === preserveFormat) throw texts.resizePreserves(undefined);
  resizeStorage(self, size, format === contiguousFormat ? null : format);
  return self;
}

export function resizeAs_(self: Tensor, template: Tensor, format: MemoryFormat | null): Tensor {
  if (requiresGrad(self)) throw texts.resizeNeedsNoGrad(undefined);
  const kept = format === preserveFormat ? null : format;
  resizeStorage(self, template._shape, kept);
  return self;
}

export function set_(
  self: Tensor,
  source: Tensor | TypedStorageLike | UntypedStorage | null,
  storageOffset: number,
  size: number | readonly number[] | null,
  stride: number | readonly number[] | null,
): Tensor {
  const list = (x: number | readonly number[] | null): readonly number[] | null => (typeof x === "number" ? [x] : x);
  if (source === null) {
    setSource(self, backendOf(self.device).allocate(0, self.device), 0, [0], null);
    return self;
  }
  if (source instanceof Tensor) {
    if (source.dtype !== self.dtype) throw texts.setOfWrongType(undefined, source.dtype.cppName, self.dtype.cppName);
    const offset = size === null ? source._offset : storageOffset;
    setSource(self, source._storage, offset, list(size) ?? source._shape, list(size) ? list(stride) : source._strides);
    return self;
  }
  const found = storageOf(source);
  if (found === null) throw texts.setFromNoStorage(undefined);
  if (found.dtype !== null && found.dtype !== self.dtype) throw texts.setFromWrongStorage(undefined);
  const whole = Math.floor(found.storage.nbytes / self.dtype.itemsize);
  setSource(self, found.storage, storageOffset, list(size) ?? [whole], list(stride));
  return self;
}

export function detachInplace_(self: Tensor): Tensor {
  const batch = batchOf(self);
  if (batch !== null) {
    standFor(self, exampleOf(batch.owner, O.detach(batch.value), batch.dim));
    return self;
  }
  if (self._base !== null) throw texts.detachView(undefined);
  self._gradFn = null;
  self._outputNr = 0;
  self._requiresGrad = false;
  return self;
}
