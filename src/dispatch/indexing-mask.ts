/** Masks: filling, selecting and scattering by them, and the coordinates of true elements. */

import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import type { Scalar } from "../tensor/complex.ts";
import { bool, int64, uint8 } from "../tensor/dtype.ts";
import { warn } from "../tensor/errors.ts";
import { sameSizes } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { broadcastShapes, empty, emptyWith } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import * as copy from "./copy.ts";
import { checkFits } from "./fits.ts";
import { contiguousFormat } from "./memory-format.ts";
import { prepareOut } from "./out.ts";
import {
  hasInternalOverlap,
  mayOverlap,
  requireNoInternalOverlap,
  requireNoOverlap,
  requireNoPartialOverlap,
} from "./overlap.ts";
import { tensorOperand } from "./pointwise.ts";
import { anyDims } from "./reduce.ts";
import { asView, expand } from "./views.ts";

function requireBoolMask(mask: Tensor): void {
  if (mask.dtype !== bool) {
    const name = mask.dtype === uint8 ? "unsigned char" : mask.dtype.cppName;
    throw texts.maskedFillMask("masked_fill", name);
  }
}

/** self where the mask is false, `value` where it is true. */
export function maskedFill(
  self: Tensor,
  mask: Tensor,
  value: Scalar,
  _out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  requireBoolMask(mask);
  checkFits(value, self.dtype);
  const holder = empty([], self.dtype, self._storage.device);
  copy.fill(holder, value);
  return fillWhere(self, mask, holder, inplace);
}

/** As `maskedFill`, the value being a 0-dim tensor. */
export function maskedFillTensor(
  self: Tensor,
  mask: Tensor,
  value: Tensor,
  _out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  if (value._shape.length !== 0) throw texts.maskedFillValueRank("masked_fill", value._shape.length);
  requireBoolMask(mask);
  if (value.dtype !== self.dtype && value._storage.device.computes) checkFits(value.item(), self.dtype);
  const fits = value.dtype === self.dtype ? value : copy.cast(value, self.dtype);
  return fillWhere(self, mask, fits, inplace);
}

function fillWhere(self: Tensor, mask: Tensor, value: Tensor, inplace: boolean): Tensor {
  if (!inplace) {
    const shape = broadcastShapes(mask._shape, self._shape, "masked_fill");
    return run(empty(shape, self.dtype, self._storage.device), self, mask, value);
  }
  const lead = mask._shape.length - self._shape.length;
  const fits = lead <= 0 && mask._shape.every((n, d) => n === 1 || n === self._shape[d - lead]);
  if (!fits) {
    const shape = broadcastShapes(self._shape, mask._shape, "masked_fill_");
    throw texts.broadcastMismatch("masked_fill_", self._shape, shape);
  }
  const repeats = hasInternalOverlap(self);
  if (repeats) {
    warn(
      "Use of masked_fill_ on expanded tensors is deprecated. Please clone() the tensor before performing this " +
        "operation. This also applies to advanced indexing e.g. tensor[mask] = scalar",
    );
  }
  requireNoPartialOverlap(self, mask, "masked_fill_");
  if (repeats) fillRepeated(self, mask, value);
  else run(self, self, mask, value);
  return self;
}

/** Repeated dimensions are written once: where any of the mask is true along them. */
function fillRepeated(self: Tensor, mask: Tensor, value: Tensor): void {
  const repeated = self._strides.map((s, d) => s === 0 && (self._shape[d] as number) > 1);
  const shape = self._shape.map((n, d) => (repeated[d] ? 1 : n));
  const dims = [...repeated.keys()].filter((d) => repeated[d]);
  const once = asView(self, shape, self._strides, self._offset);
  run(once, once, anyDims(expand(mask, self._shape), dims, true), value);
}

function run(target: Tensor, self: Tensor, mask: Tensor, value: Tensor): Tensor {
  if (!hasWork(target)) return target;
  const rank = target._shape.length;
  const c = self.dtype.compute;
  frame.begin(4, c);
  frame.operand(0, target._address(), target.dtype.id, target._shape, target._strides, target._bits);
  const { device } = target._storage;
  tensorOperand(1, mask, rank, device);
  tensorOperand(2, value, rank, device);
  tensorOperand(3, self, rank, device);
  // Elements that are written several times are read again after each write.
  if (target === self && mayOverlap(self)) frame.oneByOne();
  K.ternary_where.run(target._storage.device, "masked_fill", self.dtype.scalarType);
  return target;
}

/** The bytes of a mask without gaps, 0 for false; other dtypes are compared with zero. */
function maskBytes(t: Tensor): Tensor {
  return t.dtype === uint8 ? copy.denseOf(t) : copy.denseAs(t, bool);
}

/** How many elements of a dense mask are true. */
function countTrue(mask: Tensor): number {
  if (mask._numel === 0) return 0;
  frame.begin(1, mask.dtype.compute);
  frame.operand(0, mask._address(), mask.dtype.id, mask._shape, mask._strides, 0);
  K.index_mask_count.run(mask._storage.device, "count_nonzero");
  return frame.detail(0);
}

function requireData(t: Tensor, op: string): void {
  if (!t._storage.device.computes) throw texts.sizeDependsOnData(op);
}

/** Coordinates of the nonzero elements: int64 of shape [count, rank], column by column in memory as torch has it. */
export function nonzero(self: Tensor, out?: Tensor): Tensor {
  requireKept(self._storage);
  requireData(self, "nonzero");
  if (out !== undefined && out.dtype !== int64) throw texts.nonzeroOut("nonzero", out.dtype.scalarType);
  if (out !== undefined) {
    requireNoInternalOverlap(out, "nonzero");
    requireNoOverlap(out, self, "nonzero");
  }
  const mask = maskBytes(self);
  const n = countTrue(mask);
  const rank = self._shape.length;
  const shape = [n, rank];
  if (out !== undefined) prepareOut(out, shape);
  const target = out ?? emptyWith(shape, [1, Math.max(1, n)], int64, self._storage.device);
  if (target._numel > 0) {
    frame.begin(2, int64.compute);
    frame.operand(0, target._address(), int64.id, target._shape, target._strides, 0);
    frame.operand(1, mask._address(), mask.dtype.id, mask._shape, mask._strides, 0);
    K.index_mask_nonzero.run(target._storage.device, "nonzero");
  }
  dropCopy(mask, self);
  return target;
}

function expanded(t: Tensor, shape: readonly number[]): Tensor {
  return sameSizes(t._shape, shape) ? t : expand(t, shape);
}

/** The elements of self where the mask is true, in row-major order. */
export function maskedSelect(self: Tensor, mask: Tensor, out?: Tensor): Tensor {
  const op = "masked_select";
  if (mask.dtype !== bool) throw texts.maskedSelectMask(op);
  if (out !== undefined && out.dtype !== self.dtype) throw texts.maskedSelectOut(op);
  if (out !== undefined) {
    requireNoInternalOverlap(out, op);
    requireNoOverlap(out, self, op);
    requireNoOverlap(out, mask, op);
  }
  const shape = broadcastShapes(mask._shape, self._shape, op);
  requireData(self, op);
  requireData(mask, op);
  const [where, from] = [expanded(mask, shape), expanded(self, shape)];
  const bytes = maskBytes(where);
  const source = copy.denseOf(from);
  const n = countTrue(bytes);
  if (out !== undefined) prepareOut(out, [n]);
  const direct = out?._contiguous === true && out._bits === 0;
  const target = out !== undefined && direct ? out : empty([n], self.dtype, self._storage.device);
  if (n > 0) {
    frame.begin(3, self.dtype.compute);
    frame.operand(0, target._address(), target.dtype.id, target._shape, target._strides, 0);
    frame.operand(1, source._address(), source.dtype.id, shape, source._strides, 0);
    frame.operand(2, bytes._address(), bytes.dtype.id, shape, bytes._strides, 0);
    K.index_mask_select.run(target._storage.device, op);
  }
  dropCopy(bytes, where);
  dropCopy(source, from);
  if (out === undefined || direct) return target;
  copy.transfer(out, target);
  drop(target);
  return out;
}

/** Elements where the mask is true are replaced by those of `source`, one after another. */
export function maskedScatter(
  self: Tensor,
  mask: Tensor,
  source: Tensor,
  _out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const op = "masked_scatter_";
  if (inplace) requireNoInternalOverlap(self, op);
  if (self.dtype !== source.dtype) throw texts.maskedScatterDtypes(op, self.dtype.scalarType, source.dtype.scalarType);
  if (mask.dtype !== bool) throw texts.maskedScatterMask(op, mask.dtype.scalarType);
  const shape = inplace ? expand(mask, self._shape)._shape : broadcastShapes(mask._shape, self._shape, op);
  if (inplace) requireNoPartialOverlap(self, mask, op);
  if (!self._storage.device.computes) return inplace ? self : empty(shape, self.dtype, self._storage.device);
  const where = expanded(mask, shape);
  const bytes = maskBytes(where);
  const values = copy.denseOf(source);
  if (countTrue(bytes) > values._numel) throw texts.maskedScatterCount(op);
  const direct = inplace && self._contiguous && self._bits === 0;
  const target = direct ? self : copy.clone(expanded(self, shape), contiguousFormat);
  if (target._numel > 0) {
    frame.begin(3, self.dtype.compute);
    frame.operand(0, target._address(), target.dtype.id, shape, target._strides, 0);
    frame.operand(1, bytes._address(), bytes.dtype.id, shape, bytes._strides, 0);
    frame.operand(2, values._address(), values.dtype.id, values._shape, values._strides, 0);
    K.index_mask_scatter.run(target._storage.device, op);
  }
  dropCopy(bytes, where);
  dropCopy(values, source);
  if (!inplace || direct) return target;
  copy.transfer(self, target);
  drop(target);
  return self;
}
