/** Views that read the same bytes as another dtype, and the conjugate and negative bits. */

import * as texts from "../../generated/texts.ts";
import { complex64, complex128, type DType, float16, toReal } from "../tensor/dtype.ts";
import { numelOf } from "../tensor/size.ts";
import { CONJ, CREATION_NO_GRAD, extraOf, isContiguousGeometry, late, NEG, Tensor } from "../tensor/tensor.ts";
import { gradMode } from "./mode.ts";
import { alias } from "./views.ts";

/** A tensor over the same bytes, whose writes count as those of `self`. */
function reading(
  self: Tensor,
  dtype: DType,
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
): Tensor {
  const dense = isContiguousGeometry(shape, strides);
  return new Tensor(self._storage, offset, shape, strides, dtype, numelOf(shape), dense, self._version);
}

/** The bytes read as another dtype. Not a view for autograd. */
export function viewDtype(self: Tensor, dtype: DType): Tensor {
  const from = self.dtype.itemsize;
  const to = dtype.itemsize;
  const words = `view ${self.dtype.scalarType} as ${dtype.scalarType} (different element sizes), but got`;
  if (self._bits !== 0 && dtype !== self.dtype) throw texts.viewOfConjugate(undefined);
  const shape = [...self._shape];
  let strides = [...self._strides];
  let offset = self._offset;
  const last = shape.length - 1;
  if (from !== to) {
    if (last < 0) throw texts.viewDtypeOfScalar(undefined, self.dtype.scalarType, dtype.scalarType);
    const requireDense = (): void => {
      if (strides[last] !== 1) throw texts.viewDtypeStride(undefined, words, strides[last]);
    };
    if (from > to) {
      requireDense();
      const k = from / to;
      shape[last] = (shape[last] as number) * k;
      strides = strides.map((s, d) => (d === last ? 1 : s * k));
      offset *= k;
    } else {
      const k = to / from;
      if ((shape[last] as number) % k !== 0) throw texts.viewDtypeSize(undefined, k, words, shape[last]);
      if (offset % k !== 0) throw texts.viewDtypeOffset(undefined, k, words, offset);
      requireDense();
      strides.forEach((s, d) => {
        if (d !== last && s % k !== 0) throw texts.viewDtypeStrides(undefined, d, k, words, s);
      });
      shape[last] = (shape[last] as number) / k;
      strides = strides.map((s, d) => (d === last ? 1 : s / k));
      offset /= k;
    }
  }
  return reading(self, dtype, shape, strides, offset);
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
  const v = reading(self, dtype, shape, strides, offset);
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
  if (self.dtype.category !== 3) throw texts.viewAsRealOfReal(undefined);
  if (self._bits & CONJ) throw texts.viewAsRealOfConjugate(undefined);
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
  const { dtype } = self;
  if (dtype.category === 3) throw texts.viewAsComplexOfComplex(undefined);
  if (dtype !== float16 && (dtype.category !== 2 || dtype.itemsize < 4)) {
    throw texts.viewAsComplexDtype(undefined, dtype.scalarType);
  }
  if (rank === 0) throw texts.viewAsComplexOfScalar(undefined);
  if (self._shape[rank - 1] !== 2) throw texts.viewAsComplexSize(undefined);
  if (self._strides[rank - 1] !== 1) throw texts.viewAsComplexStride(undefined);
  const strides = self._strides.slice(0, -1);
  if (strides.some((s, d) => s % 2 !== 0 && self._shape[d] !== 1)) throw texts.viewAsComplexStrides(undefined);
  if (self._offset % 2 !== 0) throw texts.viewAsComplexOffset(undefined);
  if (dtype === float16) throw texts.noComplex32View(undefined);
  return retyped(
    self,
    dtype.itemsize === 8 ? complex128 : complex64,
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
