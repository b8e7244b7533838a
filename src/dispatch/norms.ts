/** Norms of vectors: sums of powers of the elements' sizes, and roots of them. */

import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import { Complex, type Scalar, scalarToNumber, scalarValue } from "../tensor/complex.ts";
import { type DType, float32, toReal } from "../tensor/dtype.ts";
import { drop, dropCopy, tidy, untie } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { abs } from "./arith.ts";
import { hasWork } from "./backend.ts";
import { cast, transfer } from "./copy.ts";
import { shortNumber } from "./fits.ts";
import type { Kernel } from "./kernel.ts";
import { requireNoPartialOverlap } from "./overlap.ts";
import { binary, RULES, unary } from "./pointwise.ts";
import { promoteTypes } from "./promotion.ts";
import {
  type Dims,
  direct,
  isShortFloat,
  reduceAll,
  reducedDims,
  reducedShape,
  reduceInto,
  requireOutDtype,
  resultFor,
  UNDIVIDED,
} from "./reduce-layout.ts";
import { asView } from "./views.ts";

const NAME = "linalg_vector_norm";
const SQRT = { name: NAME, kernel: K.unary_sqrt, rule: RULES.float };
const POW = { name: NAME, kernel: K.binary_pow, rule: RULES.arith };

/** Without elements there is no least or greatest one. */
function checkEmpty(self: Tensor, p: number, dim: Dims): void {
  if (self._numel > 0 || !(p < 0 || p === Number.POSITIVE_INFINITY)) return;
  const list = dim === null ? [] : typeof dim === "number" ? [dim] : dim;
  const order = shortNumber(p);
  if (list.length === 0) throw texts.normOfNothing(NAME, order);
  const empty = list.find((d) => self._shape.at(d) === 0);
  if (empty !== undefined) throw texts.normOfEmptyDim(NAME, order, empty);
}

function checkDtype(self: DType, dtype: DType | null): void {
  if (dtype === null) return;
  if (dtype.category < 2) throw texts.normDtype(NAME, dtype.scalarType);
  const kind = self.category === 3 ? "complex" : "real";
  if (dtype.category !== self.category) throw texts.normDtypeKind(NAME, kind, kind, dtype.scalarType);
  if (promoteTypes(self, dtype) !== dtype) throw texts.normNarrows(NAME, self.scalarType, dtype.scalarType);
}

/** The kernel of an order; without one the elements are raised to it first. */
function kernelOf(p: number): Kernel | null {
  switch (p) {
    case 0:
      return K.reduce_sum_presences;
    case 1:
      return K.reduce_sum_sizes;
    case 2:
      return K.reduce_sum_squares;
    case Number.POSITIVE_INFINITY:
      return K.reduce_max_size;
    case Number.NEGATIVE_INFINITY:
      return K.reduce_min_size;
    default:
      return null;
  }
}

function orderOf(ord: Scalar): number {
  if (scalarValue(ord) instanceof Complex) throw texts.normOfComplexOrder(NAME);
  return scalarToNumber(ord);
}

/** Norms of single elements: their sizes, also where a power of those leaves the dtype's range. */
function sizesInto(target: Tensor, self: Tensor, mask: readonly boolean[], dtype: DType | null): Tensor {
  const sizes = tidy(() => abs(cast(self, dtype ?? self.dtype), undefined, false));
  requireNoPartialOverlap(target, self, NAME);
  const left = sizes._strides.filter((_, d) => !mask[d]);
  const strides = target._shape.length === left.length ? left : sizes._strides;
  transfer(target, untie(asView(sizes, target._shape, strides, sizes._offset)));
  drop(sizes);
  return target;
}

export function vectorNorm(
  self: Tensor,
  ord: Scalar,
  dim: Dims,
  keepdim: boolean,
  dtype: DType | null,
  out?: Tensor,
): Tensor {
  const p = orderOf(ord);
  if (self.dtype.category < 2) throw texts.normOfWhole(NAME, self.dtype.scalarType);
  checkEmpty(self, p, dim);
  checkDtype(self.dtype, dtype);
  const mask = reducedDims(dim, self._shape.length, NAME);
  const result = toReal(dtype ?? self.dtype);
  requireOutDtype(out, result);
  const shape = reducedShape(self._shape, mask, keepdim);
  const target = resultFor(self, shape, result, out, NAME);
  if (!hasWork(target)) return target;
  if (isShortFloat(result)) throw texts.notImplementedFor(NAME, "norm_cpu", result.scalarType);
  if (p !== 0 && self._shape.every((n, d) => n === 1 || !mask[d])) return sizesInto(target, self, mask, dtype);
  // Sums of short floats are rounded once, after the root.
  const wide = result.itemsize < 4 ? float32 : result;
  const total = wide === result ? target : resultFor(self, shape, wide, undefined, NAME);
  const kernel = kernelOf(p);
  const sizes = sizesOf(self, dtype, kernel === null ? p : null, wide);
  const k = kernel ?? K.reduce_sum;
  if (out === undefined && mask.every((reduced) => reduced) && direct(sizes)) {
    reduceAll(k, NAME, sizes, total, wide.compute);
  } else reduceInto(k, NAME, sizes, mask, [total], wide, UNDIVIDED);
  dropCopy(sizes, self);
  if (p === 2) unary(SQRT, total, total, true);
  else if (kernel === null) binary(POW, total, 1 / p, total, true);
  if (total !== target) {
    transfer(target, total);
    drop(total);
  }
  return target;
}

/** What is added up: the elements themselves, their sizes, or a power of those that no kernel has. */
function sizesOf(self: Tensor, dtype: DType | null, power: number | null, wide: DType): Tensor {
  let sizes = self;
  const next = (t: Tensor): void => {
    dropCopy(sizes, self);
    sizes = t;
  };
  if (self.dtype.category === 3) {
    next(cast(self, dtype ?? self.dtype));
    next(abs(sizes, undefined, false));
  }
  if (power === null) return sizes;
  next(cast(sizes, wide));
  next(abs(sizes, undefined, false));
  next(binary(POW, sizes, power));
  return sizes;
}
