/** The `out` forms: resizing, and what they refuse. */
import * as texts from "../../generated/texts.ts";
import { contiguousStrides, numelOf, sameSizes } from "../tensor/size.ts";
import { bytesNeeded, isContiguousGeometry, type Tensor } from "../tensor/tensor.ts";
import { gradMode, requiresGrad } from "./mode.ts";

/** Refuses gradients through an `out` form. */
export function checkOutGradients(op: string, out: Tensor, inputs: readonly unknown[]): void {
  if (!gradMode.enabled) return;
  const tracked = requiresGrad(out) || inputs.some((x) => isTracked(x));
  if (tracked) throw texts.outNeedsNoGrad(op, op);
}

function isTracked(x: unknown): boolean {
  if (Array.isArray(x)) return x.some(isTracked);
  return typeof x === "object" && x !== null && "_gradFn" in x && requiresGrad(x as Tensor);
}

/** Gives `out` the result's shape, with torch's warning when it held elements. */
export function prepareOut(
  out: Tensor,
  shape: readonly number[],
  layout: () => readonly number[] | null = () => null,
): void {
  if (sameSizes(out._shape, shape)) return;
  if (out._numel !== 0) texts.outResized(out._shape, shape);
  setGeometry(out, shape, layout() ?? contiguousStrides(shape), out._offset);
}

/** Changes sizes and strides of a tensor, growing its storage when they reach further. */
export function setGeometry(t: Tensor, shape: readonly number[], strides: readonly number[], offset: number): void {
  const needed = bytesNeeded(shape, strides, offset, t.dtype.itemsize);
  if (needed > t._storage.nbytes) t._storage.resize(needed);
  t._shape = shape;
  t._strides = strides;
  t._offset = offset;
  t._numel = numelOf(shape);
  t._contiguous = isContiguousGeometry(shape, strides);
  t._size = null;
}
