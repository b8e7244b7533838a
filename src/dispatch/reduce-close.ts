/** Comparisons of tensors as wholes: equal, isclose, allclose. */

import { CloseAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { bool, type DType, getDefaultDtype } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { denseOf, sameElements } from "./copy.ts";
import { binary, general, type Pointwise, RULES } from "./pointwise.ts";
import { promoteTypes } from "./promotion.ts";
import { all } from "./reduce.ts";
import { isShortFloat } from "./reduce-layout.ts";

const CLOSE: Pointwise = {
  name: "isclose",
  kernel: K.reduce_isclose,
  rule: { compute: (d) => d, result: () => bool },
};
const EQ: Pointwise = { name: "isclose", kernel: K.binary_eq, rule: RULES.compare };

/** Same shape and equal elements; NaN equals nothing. */
export function equal(self: Tensor, other: Tensor): boolean {
  requireKept(other._storage);
  if (!self._storage.device.computes || !other._storage.device.computes) throw texts.equalOnMeta("equal");
  if (!sameSizes(self._shape, other._shape)) return false;
  if (self._numel === 0) return true;
  // Numbers without NaN equal themselves.
  if (self.dtype.category < 2 && sameElements(self, other) && self._address() !== 0) return true;
  const a = self._bits === 0 ? self : denseOf(self);
  const b = other._bits === 0 ? other : denseOf(other);
  frame.begin(2, promoteTypes(a.dtype, b.dtype).compute);
  frame.operand(0, a._address(), a.dtype.id, a._shape, a._strides, 0);
  frame.operand(1, b._address(), b.dtype.id, b._shape, b._strides, 0);
  K.reduce_equal.run(a._storage.device, "equal", a.dtype.scalarType);
  const result = frame.detail(0) !== 0;
  dropCopy(a, self);
  dropCopy(b, other);
  return result;
}

function requireTolerance(name: string, value: number): void {
  if (value >= 0) return;
  throw texts.negativeTolerance("isclose", name, value);
}

/** Integers are compared exactly when they are equal, else as floats. */
function closeCompute(d: DType): DType {
  return d.category < 2 ? getDefaultDtype() : d;
}

export function isclose(self: Tensor, other: Tensor, rtol: number, atol: number, equalNan: boolean): Tensor {
  if (self.dtype !== other.dtype) throw texts.closeDtypes("isclose", self.dtype.scalarType, other.dtype.scalarType);
  requireTolerance("rtol", rtol);
  requireTolerance("atol", atol);
  if (isShortFloat(self.dtype)) {
    throw texts.notImplementedFor(undefined, "mul_cpu_reduced_float", self.dtype.scalarType);
  }
  const exact = rtol === 0 && atol === 0;
  if (exact && self.dtype.category < 2) return binary(EQ, self, other);
  const tolerances = (): void => {
    frame.attr(CloseAttr.rtol, rtol);
    frame.attr(CloseAttr.atol, atol);
    frame.attr(CloseAttr.equalNan, equalNan ? 1 : 0);
  };
  const close = general(CLOSE, [self, other], undefined, false, tolerances, closeCompute(self.dtype));
  // torch compares for equality and then writes into that what else is close.
  close._version.value = (exact ? 0 : 1) + (equalNan && self.dtype.category >= 2 ? 1 : 0);
  return close;
}

export function allclose(self: Tensor, other: Tensor, rtol: number, atol: number, equalNan: boolean): boolean {
  const close = isclose(self, other, rtol, atol, equalNan);
  const result = all(close).item<boolean>();
  drop(close);
  return result;
}
