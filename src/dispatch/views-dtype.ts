/** Views that read the same bytes as another dtype, and the conjugate and negative bits. */
import { complex64, complex128, type DType, toReal } from "../tensor/dtype.ts";
import { RuntimeError, TypeError } from "../tensor/errors.ts";
import { numelOf } from "../tensor/size.ts";
import { CONJ, CREATION_NO_GRAD, extraOf, isContiguousGeometry, late, NEG, Tensor } from "../tensor/tensor.ts";
import { gradMode } from "./mode.ts";
import { alias } from "./views.ts";

/** The bytes read as another dtype. Not a view for autograd. */
export function viewDtype(self: Tensor, dtype: DType): Tensor {
  const from = self.dtype.itemsize;
  const to = dtype.itemsize;
  const words = `view ${self.dtype.scalarType} as ${dtype.scalarType} (different element sizes), but got`;
  if (self._bits !== 0 && dtype !== self.dtype) {
    throw new RuntimeError(
      "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.",
    );
  }
  const shape = [...self._shape];
  let strides = [...self._strides];
  let offset = self._offset;
  const last = shape.length - 1;
  if (from !== to) {
    if (last < 0) {
      throw new RuntimeError(
        `self.dim() cannot be 0 to view ${self.dtype.scalarType} as ${dtype.scalarType} (different element sizes)`,
      );
    }
    if (strides[last] !== 1) {
      throw new RuntimeError(`self.stride(-1) must be 1 to ${words} ${strides[last]}`);
    }
    if (from > to) {
      const k = from / to;
      shape[last] = (shape[last] as number) * k;
      strides = strides.map((s, d) => (d === last ? 1 : s * k));
      offset *= k;
    } else {
      const k = to / from;
      if ((shape[last] as number) % k !== 0) {
        throw new RuntimeError(`self.size(-1) must be divisible by ${k} to ${words} ${shape[last]}`);
      }
      if (offset % k !== 0) {
        throw new RuntimeError(`self.storage_offset() must be divisible by ${k} to ${words} ${offset}`);
      }
      strides.forEach((s, d) => {
        if (d !== last && s % k !== 0) {
          throw new RuntimeError(`self.stride(${d}) must be divisible by ${k} to ${words} ${s}`);
        }
      });
      shape[last] = (shape[last] as number) / k;
      strides = strides.map((s, d) => (d === last ? 1 : s / k));
      offset /= k;
    }
  }
  const v = new Tensor(
    self._storage,
    offset,
    shape,
    strides,
    dtype,
    numelOf(shape),
    isContiguousGeometry(shape, strides),
    self._version,
  );
  return v;
}

/** A view with another dtype: its replay is kept, because strides alone cannot rebuild it. */
function retyped(
  self: Tensor,
  dtype: DType,
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
  replay: (base: Tensor) => Tensor,
): Tensor {
  const v = new Tensor(
    self._storage,
    offset,
    shape,
    strides,
    dtype,
    numelOf(shape),
    isContiguousGeometry(shape, strides),
    self._version,
  );
  v._base = self._base ?? self;
  v._creation = gradMode.enabled ? self._creation : CREATION_NO_GRAD;
  v._viewVersion = self._version.value;
  remember(v, self, replay);
  return v;
}

/** Keeps how `v` is made from `self`, which strides alone do not tell. */
function remember(v: Tensor, self: Tensor, replay: (self: Tensor) => Tensor): void {
  const outer = self._extra?.replay;
  const { _shape: shape, _strides: strides, _offset: offset } = self;
  const own = self._base !== null;
  extraOf(v).replay = (base) => {
    const parent = outer ? outer(base) : own ? base.asStrided(shape, strides, offset) : base;
    return replay(parent);
  };
}

export function viewAsReal(self: Tensor): Tensor {
  if (self.dtype.category !== 3) throw new TypeError("view_as_real is only supported for complex tensors");
  if (self._bits & CONJ) {
    throw new RuntimeError(
      "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you " +
        "can view it " +
        "as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original.",
    );
  }
  return retyped(
    self,
    toReal(self.dtype),
    [...self._shape, 2],
    [...self._strides.map((s) => 2 * s), 1],
    2 * self._offset,
    (x) => x.viewAsReal(),
  );
}

export function viewAsComplex(self: Tensor): Tensor {
  const rank = self._shape.length;
  if (self.dtype.category !== 2 || self.dtype.itemsize < 4) {
    throw new RuntimeError(
      "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar " +
        `type: ${self.dtype.scalarType}`,
    );
  }
  if (rank === 0) throw new RuntimeError("Input tensor must have one or more dimensions");
  if (self._shape[rank - 1] !== 2) throw new RuntimeError("Tensor must have a last dimension of size 2");
  if (self._strides[rank - 1] !== 1) throw new RuntimeError("Tensor must have a last dimension with stride 1");
  const strides = self._strides.slice(0, -1);
  if (strides.some((s, d) => s % 2 !== 0 && self._shape[d] !== 1)) {
    throw new RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension");
  }
  if (self._offset % 2 !== 0) throw new RuntimeError("Tensor must have a storage_offset divisible by 2");
  return retyped(
    self,
    self.dtype.itemsize === 8 ? complex128 : complex64,
    self._shape.slice(0, -1),
    strides.map((s) => Math.floor(s / 2)),
    self._offset / 2,
    (x) => x.viewAsComplex(),
  );
}

/** A view whose elements read as conjugates. */
export function conjView(self: Tensor): Tensor {
  const v = alias(self);
  v._bits ^= CONJ;
  remember(v, self, late.conjView);
  return v;
}

export function negView(self: Tensor): Tensor {
  const v = alias(self);
  v._bits ^= NEG;
  remember(v, self, late.negView);
  return v;
}
