/** Running sums, products and extremes. */

import { ScanAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { bool, complex128, type DType, float32, float64, int64 } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { cast, fill, transfer } from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { type Named, named } from "./named.ts";
import { requireNoInternalOverlap, requireNoPartialOverlap } from "./overlap.ts";
import { isShortFloat, requireOutDtype, resultFor } from "./reduce-layout.ts";
import { type Refusal, refuse } from "./refusals.ts";

/** What a running total is kept in: one step wider than the result. */
function accumulator(d: DType): DType {
  if (d.category < 2) return int64;
  if (d.category === 3) return complex128;
  return d.itemsize < 4 ? float32 : float64;
}

function running(
  op: "cumsum" | "cumprod" | "logcumsumexp",
  k: Kernel,
  self: Tensor,
  dim: number,
  dtype: DType | null,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const at = wrapDim(dim, self._shape.length, op);
  const result = resultDtype(self, dtype, out, inplace);
  // Nothing is added up in a tensor without dimensions or elements.
  const sums = self._shape.length > 0 && self._numel > 0;
  const wideUnsigned = result.category === 1 && !result.isSigned && result.itemsize > 1;
  if (sums && (result === bool || wideUnsigned || isShortFloat(result))) {
    throw texts.notImplementedFor(op, `${op}_out_cpu`, result.scalarType);
  }
  if (inplace) requireNoInternalOverlap(self, op);
  const target = inplace ? self : resultFor(self, self._shape, result, out, op);
  if (out !== undefined) requireNoPartialOverlap(out, self, op);
  if (!hasWork(target)) return target;
  // Elements are converted to the result's dtype before they are added.
  const narrows = self.dtype.category > result.category || self.dtype.category === 2;
  const source = self.dtype !== result && narrows ? cast(self, result) : self;
  if (self._shape.length === 0) {
    if (target !== source) transfer(target, source);
    return target;
  }
  const direct = target._bits === 0 && (target._storage !== source._storage || sameElements(target, source));
  const to = direct ? target : empty(self._shape, result, target._storage.device);
  const total = op === "logcumsumexp" && result.category === 2 ? float64 : accumulator(result);
  frame.begin(2, total.compute);
  frame.operand(0, to._address(), to.dtype.id, to._shape, to._strides, 0);
  frame.operand(1, source._address(), source.dtype.id, source._shape, source._strides, source._bits);
  frame.attr(ScanAttr.dim, at);
  k.run(to._storage.device, op, result.scalarType);
  if (to !== target) {
    transfer(target, to);
    drop(to);
  }
  dropCopy(source, self);
  return target;
}

function resultDtype(self: Tensor, dtype: DType | null, out: Tensor | undefined, inplace: boolean): DType {
  if (inplace) {
    if (dtype === null || dtype === self.dtype) return self.dtype;
    throw texts.badInPlaceDtype(undefined, self.dtype.cppName, dtype.cppName);
  }
  if (dtype !== null) requireOutDtype(out, dtype);
  return dtype ?? out?.dtype ?? (self.dtype.category < 2 ? int64 : self.dtype);
}

/** Each element is read before it is written. */
function sameElements(a: Tensor, b: Tensor): boolean {
  return a._offset === b._offset && a.dtype === b.dtype && sameSizes(a._strides, b._strides);
}

export function cumsum(self: Tensor, dim: number, dtype: DType | null, out?: Tensor, inplace = false): Tensor {
  return running("cumsum", K.scan_sum, self, dim, dtype, out, inplace);
}

export function cumprod(self: Tensor, dim: number, dtype: DType | null, out?: Tensor, inplace = false): Tensor {
  return running("cumprod", K.scan_prod, self, dim, dtype, out, inplace);
}

/** Computed in float64 whatever the dtype; integers have no kernel. */
export function logcumsumexp(self: Tensor, dim: number, out?: Tensor): Tensor {
  wrapDim(dim, self._shape.length, "logcumsumexp");
  refuse(REFUSALS.logcumsumexp_out_cpu, self.dtype, "logcumsumexp");
  if (out !== undefined && out.dtype !== self.dtype) {
    throw texts.expectedScalarType("logcumsumexp", self.dtype.scalarType, out.dtype.scalarType);
  }
  return running("logcumsumexp", K.scan_logcumsumexp, self, dim, null, out, false);
}

const PAIR = ["values", "indices"] as const;
type Pair = Named<typeof PAIR>;

/** Before anything is resized: a call that fails leaves results as they were. */
function requireDtype(op: string, out: Tensor | undefined, wanted: DType): void {
  if (out !== undefined && out.dtype !== wanted) {
    throw texts.expectedScalarType(op, wanted.scalarType, out.dtype.scalarType);
  }
}

function runningExtreme(
  op: "cummax" | "cummin",
  k: Kernel,
  refusal: Refusal & { kernel: string },
  self: Tensor,
  dim: number,
  out: readonly Tensor[] | undefined,
): Pair {
  requireKept(self._storage);
  requireDtype(op, out?.[0], self.dtype);
  requireDtype(op, out?.[1], int64);
  if (self._shape.length === 0 && dim !== 0 && dim !== -1) throw texts.reductionDimOfScalar(op, dim);
  const at = wrapDim(dim, self._shape.length, op);
  const values = resultFor(self, self._shape, self.dtype, out?.[0], op);
  const indices = resultFor(self, self._shape, int64, out?.[1], op);
  const result = named(op, PAIR, [values, indices]);
  if (!hasWork(values)) return result;
  if (self._shape.length === 0) {
    transfer(values, self);
    fill(indices, 0);
    return result;
  }
  refuse(refusal, self.dtype);
  const apart = values._storage !== self._storage || sameElements(values, self);
  const to = values._bits === 0 && apart ? values : empty(self._shape, self.dtype, values._storage.device);
  const places = indices._storage === self._storage ? empty(self._shape, int64, values._storage.device) : indices;
  frame.begin(3, self.dtype.compute);
  frame.operand(0, to._address(), to.dtype.id, to._shape, to._strides, 0);
  frame.operand(1, places._address(), int64.id, places._shape, places._strides, 0);
  frame.operand(2, self._address(), self.dtype.id, self._shape, self._strides, self._bits);
  frame.attr(ScanAttr.dim, at);
  k.run(to._storage.device, op, self.dtype.scalarType);
  if (to !== values) transfer(values, to);
  if (places !== indices) transfer(indices, places);
  return result;
}

export function cummax(self: Tensor, dim: number, out?: readonly Tensor[]): Pair {
  return runningExtreme("cummax", K.scan_cummax, REFUSALS.cummax_cpu, self, dim, out);
}

export function cummin(self: Tensor, dim: number, out?: readonly Tensor[]): Pair {
  return runningExtreme("cummin", K.scan_cummin, REFUSALS.cummin_cpu, self, dim, out);
}
