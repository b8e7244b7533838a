/** Tensors made from sizes and numbers. */

import * as texts from "../../generated/texts.ts";
import { fillBytes } from "../ffi/memory.ts";
import { Complex, Float, type Scalar } from "../tensor/complex.ts";
import { CPU, type Device, defaultDevice } from "../tensor/device.ts";
import { bool, type DType, defaultComplex, getDefaultDtype, int64 } from "../tensor/dtype.ts";
import { contiguousStrides } from "../tensor/size.ts";
import { makeStrided, type Tensor } from "../tensor/tensor.ts";
import { checkSizes, empty as emptyOf, emptyWith, preservedStrides } from "./allocate.ts";
import { backends } from "./backend.ts";
import { fill, formatStrides } from "./copy.ts";
import { checkFits } from "./fits.ts";
import { contiguousFormat, type MemoryFormat, preserveFormat } from "./memory-format.ts";
import { prepareOut } from "./out.ts";
import { requireNoInternalOverlap } from "./overlap.ts";

type Out = Tensor | undefined;

/** Where a factory makes its result. */
export function factoryDevice(device: Device | null, op: string): Device {
  if (device === null) return defaultDevice();
  if (backends[device.type] === null) throw texts.createOnCpu(op, String(device));
  return device;
}

/** `out`, checked and resized, or a fresh tensor. */
export function target(op: string, size: readonly number[], dtype: DType, device: Device | null, out: Out): Tensor {
  requireOutDevice(op, device, out);
  checkSizes(size, op);
  if (out === undefined) return emptyOf(size, dtype, factoryDevice(device, op));
  prepareOut(out, size);
  return out;
}

/** As `target`, for values that differ: an `out` that has several elements in one place is refused. */
export function targetOfMany(
  op: string,
  size: readonly number[],
  dtype: DType,
  device: Device | null,
  out: Out,
): Tensor {
  const t = target(op, size, dtype, device, out);
  if (out !== undefined) requireNoInternalOverlap(t, op);
  return t;
}

/** As in torch it is the kind of the device that has to be that of `out`. */
function requireOutDevice(op: string, device: Device | null, out: Out): void {
  if (device === null || out === undefined || device.type === out.device.type) return;
  throw texts.outDeviceDiffers(op, device.type, out.device.type);
}

/** The dtype of a result: what was asked for, which must be that of `out`, or the default. */
export function outDtype(dtype: DType | null, out: Out, fallback: DType, op: string): DType {
  if (out === undefined) return dtype ?? fallback;
  if (dtype !== null && dtype !== out.dtype) throw texts.outDtypeDiffers(op, dtype.scalarType, out.dtype.scalarType);
  return out.dtype;
}

/** Sets every byte of a fresh tensor to zero. Tiny blocks are cleared when they are made. */
function clear(t: Tensor): Tensor {
  if (t._storage.device !== CPU) return fill(t, 0);
  if (t._storage.kind !== "tiny") fillBytes(t._storage.ptr, 0, t._storage.nbytes);
  return t;
}

export function zeros(
  size: readonly number[],
  dtype: DType | null,
  device: Device | null,
  _rg: boolean,
  out?: Out,
): Tensor {
  for (const n of size) {
    if (n < 0) throw texts.negativeZerosSize("zeros");
  }
  const t = target("zeros", size, outDtype(dtype, out, getDefaultDtype(), "zeros"), device, out);
  return out === undefined ? clear(t) : fill(t, 0);
}

export function ones(
  size: readonly number[],
  dtype: DType | null,
  device: Device | null,
  _rg: boolean,
  out?: Out,
): Tensor {
  return fill(target("ones", size, outDtype(dtype, out, getDefaultDtype(), "ones"), device, out), 1);
}

export function empty(
  size: readonly number[],
  dtype: DType | null,
  device: Device | null,
  _rg: boolean,
  format: MemoryFormat | null,
  out?: Out,
): Tensor {
  const d = outDtype(dtype, out, getDefaultDtype(), "empty");
  if (format === null || format === contiguousFormat) return target("empty", size, d, device, out);
  requireOutDevice("empty", device, out);
  if (format === preserveFormat) throw texts.emptyPreserves("empty");
  checkSizes(size, "empty");
  const strides = formatStrides(size, format) as readonly number[];
  if (out === undefined) return emptyWith(size, strides, d, factoryDevice(device, "empty"));
  prepareOut(out, size, () => strides);
  return out;
}

export function emptyStrided(
  size: readonly number[],
  stride: readonly number[],
  dtype: DType | null,
  device: Device | null,
): Tensor {
  const op = "empty_strided";
  if (size.length !== stride.length) throw texts.sizesAndStrides(op, size.length, stride.length);
  checkSizes(size, op);
  let last = 0;
  for (let d = 0; d < size.length; d++) {
    const s = stride[d] as number;
    if (s < 0) overflowed(size, stride, op);
    last += Math.max(0, (size[d] as number) - 1) * s;
  }
  const d = dtype ?? getDefaultDtype();
  if (!(last * d.itemsize < 2 ** 47)) overflowed(size, stride, op);
  const elements = size.includes(0) ? 0 : last + 1;
  const block = emptyOf([elements], d, factoryDevice(device, op));
  return makeStrided(block._storage, 0, size, stride, d);
}

function overflowed(size: readonly number[], stride: readonly number[], op: string): never {
  throw texts.storageSizeOverflow(op, size, stride);
}

export function emptyPermuted(
  size: readonly number[],
  layout: readonly number[],
  dtype: DType | null,
  device: Device | null,
): Tensor {
  const op = "empty_permuted";
  const rank = size.length;
  if (layout.length !== rank) throw texts.physicalLayoutLength(op, rank, layout.length);
  const seen = new Set<number>();
  layout.forEach((d, i) => {
    if (!(d >= 0 && d < rank)) throw texts.physicalLayoutDim(op, rank - 1, d, i);
    if (seen.has(d)) throw texts.physicalLayoutDuplicate(op);
    seen.add(d);
  });
  checkSizes(size, op);
  const dense = contiguousStrides(layout.map((d) => size[d] as number));
  const strides = new Array<number>(rank);
  layout.forEach((d, i) => {
    strides[d] = dense[i] as number;
  });
  return emptyWith(size, strides, dtype ?? getDefaultDtype(), factoryDevice(device, op));
}

/** The dtype of data that is one number: plain numbers are of the default dtype whatever their value. */
export function dataDtype(value: Scalar): DType {
  if (typeof value === "number" || value instanceof Float) return getDefaultDtype();
  if (typeof value === "boolean") return bool;
  return value instanceof Complex ? defaultComplex() : int64;
}

export function full(
  size: readonly number[],
  value: Scalar,
  dtype: DType | null,
  device: Device | null,
  _rg: boolean,
  out?: Out,
): Tensor {
  const d = outDtype(dtype, out, dataDtype(value), "full");
  const t = target("full", size, d, device, out);
  checkFits(value, t.dtype);
  return fill(t, value);
}

export function scalarTensor(value: Scalar, dtype: DType | null, device: Device | null): Tensor {
  const t = emptyOf([], dtype ?? getDefaultDtype(), factoryDevice(device, "scalar_tensor"));
  checkFits(value, t.dtype);
  return fill(t, value);
}

/** An uninitialised tensor in the layout of another, or in a memory format. */
export function emptyLike(
  self: Tensor,
  dtype: DType | null,
  device: Device | null,
  _rg = false,
  format: MemoryFormat | null = null,
): Tensor {
  const on = device === null ? self._storage.device : factoryDevice(device, "empty_like");
  const strides =
    format === null || format === preserveFormat ? preservedStrides(self) : formatStrides(self._shape, format);
  const d = dtype ?? self.dtype;
  return strides === null ? emptyOf(self._shape, d, on) : emptyWith(self._shape, strides, d, on);
}

export function zerosLike(
  self: Tensor,
  dtype: DType | null,
  device: Device | null,
  rg: boolean,
  format: MemoryFormat | null,
): Tensor {
  return clear(emptyLike(self, dtype, device, rg, format));
}

export function onesLike(
  self: Tensor,
  dtype: DType | null,
  device: Device | null,
  rg: boolean,
  format: MemoryFormat | null,
): Tensor {
  return fill(emptyLike(self, dtype, device, rg, format), 1);
}

export function fullLike(
  self: Tensor,
  value: Scalar,
  dtype: DType | null,
  device: Device | null,
  rg: boolean,
  format: MemoryFormat | null,
): Tensor {
  const t = emptyLike(self, dtype, device, rg, format);
  checkFits(value, t.dtype);
  return fill(t, value);
}

/** The device of `new_*` results: what was asked for, else that of the tensor. */
function placeOf(self: Tensor, device: Device | null): Device {
  return device ?? self.device;
}

export function newEmpty(self: Tensor, size: readonly number[], dtype: DType | null, device: Device | null): Tensor {
  checkSizes(size, "new_empty");
  return emptyOf(size, dtype ?? self.dtype, factoryDevice(placeOf(self, device), "new_empty"));
}

export function newEmptyStrided(
  self: Tensor,
  size: readonly number[],
  stride: readonly number[],
  dtype: DType | null,
  device: Device | null,
): Tensor {
  return emptyStrided(size, stride, dtype ?? self.dtype, placeOf(self, device));
}

export function newZeros(self: Tensor, size: readonly number[], dtype: DType | null, device: Device | null): Tensor {
  return clear(newEmpty(self, size, dtype, device));
}

export function newOnes(self: Tensor, size: readonly number[], dtype: DType | null, device: Device | null): Tensor {
  return fill(newEmpty(self, size, dtype, device), 1);
}

export function newFull(
  self: Tensor,
  size: readonly number[],
  value: Scalar,
  dtype: DType | null,
  device: Device | null,
): Tensor {
  const t = newEmpty(self, size, dtype, device);
  checkFits(value, t.dtype);
  return fill(t, value);
}

export function eye(n: number, dtype: DType | null, device: Device | null, rg: boolean, out?: Out): Tensor {
  return eyeOf(n, n, dtype, device, rg, out);
}

export function eyeOf(
  n: number,
  m: number,
  dtype: DType | null,
  device: Device | null,
  _rg: boolean,
  out?: Out,
): Tensor {
  if (n < 0) throw texts.eyeRowsNegative("eye", n);
  if (m < 0) throw texts.eyeColumnsNegative("eye", m);
  const t = target("eye", [n, m], outDtype(dtype, out, getDefaultDtype(), "eye"), device, out);
  if (out === undefined) clear(t);
  else fill(t, 0);
  const step = (t._strides[0] as number) + (t._strides[1] as number);
  const diagonal = makeStrided(t._storage, t._offset, [Math.min(n, m)], [step], t.dtype);
  diagonal._bits = t._bits;
  fill(diagonal, 1);
  return t;
}
