/** Whether writing to a tensor would write an element twice, or change an operand that is still being read. */
import * as texts from "../../generated/texts.ts";
import { sameSizes } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { isDense } from "./allocate.ts";

/** True when some dimension repeats its elements. */
export function hasInternalOverlap(t: Tensor): boolean {
  if (t._contiguous) return false;
  for (let d = 0; d < t._shape.length; d++) {
    if ((t._shape[d] as number) > 1 && t._strides[d] === 0) return true;
  }
  return false;
}

/** True when two indices may name one element although no stride is zero. */
export function mayOverlap(t: Pick<Tensor, "_shape" | "_strides">): boolean {
  const dims: [size: number, stride: number][] = [];
  t._shape.forEach((n, d) => {
    if (n > 1) dims.push([n, t._strides[d] as number]);
  });
  dims.sort((a, b) => a[1] - b[1]);
  let reach = 0;
  for (const [n, stride] of dims) {
    if (stride <= reach) return true;
    reach += (n - 1) * stride;
  }
  return false;
}

export function requireNoInternalOverlap(t: Tensor, op?: string): void {
  if (hasInternalOverlap(t)) throw texts.internalOverlap(op);
}

/** Refuses an operand that shares some, but not exactly all, of the written elements. */
export function requireNoPartialOverlap(out: Tensor, input: Tensor, op?: string): void {
  if (out === input || out._storage !== input._storage || out._numel === 0 || input._numel === 0) return;
  if (!isDense(out._shape, out._strides) || !isDense(input._shape, input._strides)) return;
  const a = out._offset * out.dtype.itemsize;
  const b = input._offset * input.dtype.itemsize;
  const aEnd = a + out._numel * out.dtype.itemsize;
  const bEnd = b + input._numel * input.dtype.itemsize;
  if (a >= bEnd || b >= aEnd) return;
  if (a === b && aEnd === bEnd && sameGeometry(out, input)) return;
  throw texts.partialOverlap(op);
}

function sameGeometry(a: Tensor, b: Tensor): boolean {
  return sameSizes(a._strides, b._strides);
}

/** Refuses any sharing at all between a written and a read tensor. */
export function requireNoOverlap(out: Tensor, input: Tensor, op?: string): void {
  if (out === input) throw texts.partialOverlap(op);
  if (out._storage !== input._storage || out._numel === 0 || input._numel === 0) return;
  if (!isDense(out._shape, out._strides) || !isDense(input._shape, input._strides)) return;
  const a = out._offset * out.dtype.itemsize;
  const b = input._offset * input.dtype.itemsize;
  if (a < b + input._numel * input.dtype.itemsize && b < a + out._numel * out.dtype.itemsize) {
    throw texts.partialOverlap(op);
  }
}
