/** Operators that write whole tensors or change what a tensor is made of. */
import { Complex, type Scalar, scalarKind, scalarValue } from "../tensor/complex.ts";
import type { DType } from "../tensor/dtype.ts";
import { RuntimeError } from "../tensor/errors.ts";
import { contiguousStrides, listText, sameSizes } from "../tensor/size.ts";
import { type Storage, UntypedStorage } from "../tensor/storage.ts";
import { bytesNeeded, type Tensor } from "../tensor/tensor.ts";
import { checkSizes, emptyLike } from "./allocate.ts";
import * as copies from "./copy.ts";
import type { MemoryFormat } from "./memory-format.ts";
import { setGeometry } from "./out.ts";
import { requireNoInternalOverlap, requireNoPartialOverlap } from "./overlap.ts";

/** self[...] = src */
export function copy(self: Tensor, src: Tensor, _nonBlocking: boolean): Tensor {
  if (self === src) return self;
  requireNoInternalOverlap(self, "copy_");
  requireNoPartialOverlap(self, src, "copy_");
  copies.requireExpandable(src._shape, self._shape);
  if (self._storage.kind !== "meta") copies.copyInto(self, src);
  return self;
}

const C_NAMES: Record<string, string> = {
  uint8: "uint8_t",
  int8: "int8_t",
  int16: "int16_t",
  int64: "int64_t",
};

/** The largest finite value of a floating dtype, beyond which a number does not fit. */
function floatLimit(d: DType): number {
  switch (d.name) {
    case "float16":
      return 65504;
    case "bfloat16":
      return 3.3895313892515355e38;
    case "float32":
      return 3.4028234663852886e38;
    case "float8_e4m3fn":
      return 448;
    case "float8_e5m2":
      return 57344;
    default:
      return Number.MAX_VALUE;
  }
}

/** Refuses a number that the dtype cannot hold. */
export function checkFits(value: Scalar, d: DType): void {
  const v = scalarValue(value);
  const fail = (): never => {
    throw new RuntimeError(`value cannot be converted to type ${C_NAMES[d.name] ?? d.cppName} without overflow`, {
      code: "overflow",
    });
  };
  if (v instanceof Complex) {
    if (d.category !== 3 && d.category !== 0 && v.im !== 0) fail();
    return;
  }
  if (d.category === 0 || d.category === 3) return;
  if (d.category === 1) {
    const n = typeof v === "bigint" ? v : Number(v);
    const bits = BigInt(8 * d.itemsize);
    const top = d.isSigned ? 2n ** (bits - 1n) : 2n ** bits;
    // Negative integers wrap around in unsigned dtypes, fractions do not.
    const low = d.isSigned || scalarKind(value) !== "float" ? -top : 0n;
    if (typeof n === "number" && !Number.isFinite(n)) fail();
    if (n >= top || n < low) fail();
    return;
  }
  const x = Math.abs(Number(v));
  if (Number.isFinite(x) && x > floatLimit(d)) fail();
}

export function fill(self: Tensor, value: Scalar, _out: Tensor | undefined, inplace: boolean): Tensor {
  checkFits(value, self.dtype);
  return copies.fill(inplace ? self : emptyLike(self), value);
}

export function fillTensor(self: Tensor, value: Tensor, _out: Tensor | undefined, inplace: boolean): Tensor {
  if (value._shape.length !== 0) {
    throw new RuntimeError(
      `fill_ only supports 0-dimension value tensor but got tensor with ${value._shape.length} dimensions.`,
    );
  }
  if (inplace) requireNoInternalOverlap(self, "fill_");
  const target = inplace ? self : emptyLike(self);
  if (target._numel === 0 || target._storage.kind === "meta") return target;
  // The value may be an element of the tensor itself.
  copies.transfer(target, copies.clone(value));
  return target;
}

export function zero(self: Tensor): Tensor {
  return copies.fill(self, 0);
}

export function toCopy(self: Tensor, dtype: DType, format: MemoryFormat | null): Tensor {
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
  const strides = stride ?? contiguousStrides(size);
  if (strides.length !== size.length) {
    throw new RuntimeError(`unequal size length (${size.length}) and stride length (${strides.length})`);
  }
  if (offset < 0) throw new RuntimeError(`Tensor: invalid storage offset ${offset}`);
  if (strides.some((s) => s < 0)) {
    throw new RuntimeError(`Tensor: negative strides are not supported: ${listText(strides)}`);
  }
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
