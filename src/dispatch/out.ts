/** The `out` forms: resizing, and what they refuse. */
import { RuntimeError, warn } from "../tensor/errors.ts";
import { contiguousStrides, listText, numelOf, sameSizes } from "../tensor/size.ts";
import { bytesNeeded, isContiguousGeometry, type Tensor } from "../tensor/tensor.ts";
import { gradMode, requiresGrad } from "./mode.ts";

/** Refuses gradients through an `out` form. */
export function checkOutGradients(op: string, out: Tensor, inputs: readonly unknown[]): void {
  if (!gradMode.enabled) return;
  const tracked = requiresGrad(out) || inputs.some((x) => isTracked(x));
  if (tracked) {
    throw new RuntimeError(
      `${op}(): functions with out=... arguments don't support automatic differentiation, ` +
        "but one of the arguments requires grad.",
      { op },
    );
  }
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
  if (out._numel !== 0) {
    warn(
      `An output with one or more elements was resized since it had shape ${listText(out._shape)}, which does not ` +
        `match the required output shape ${listText(shape)}. This behavior is deprecated, and in a future PyTorch ` +
        "release outputs will not be resized unless they have zero elements. You can explicitly reuse an out tensor " +
        "t by resizing it, inplace, to zero elements with t.resize_(0).",
    );
  }
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
