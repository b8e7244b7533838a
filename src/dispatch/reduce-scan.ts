/** Running sums and products. */

import { ScanAttr } from "../../generated/abi.ts";
import { K } from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { bool, complex128, type DType, float32, float64, int64 } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { cast, transfer } from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { requireNoInternalOverlap } from "./overlap.ts";
import { isShortFloat, requireOutDtype, resultFor } from "./reduce-layout.ts";

/** What a running total is kept in: one step wider than the result. */
function accumulator(d: DType): DType {
  if (d.category < 2) return int64;
  if (d.category === 3) return complex128;
  return d.itemsize < 4 ? float32 : float64;
}

function running(
  op: "cumsum" | "cumprod",
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
  frame.begin(2, accumulator(result).compute);
  frame.operand(0, to._address(), to.dtype.id, to._shape, to._strides, 0);
  frame.operand(1, source._address(), source.dtype.id, source._shape, source._strides, source._bits);
  frame.attr(ScanAttr.dim, at);
  k.run(to._storage.device, op, result.scalarType);
  if (to !== target) transfer(target, to);
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
