/** What all reductions share: which dimensions go, what shape and place the result has, and the call itself. */

import { ReduceAttr } from "../../generated/abi.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import type { DType } from "../tensor/dtype.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { transfer } from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { prepareOut } from "./out.ts";
import { requireNoInternalOverlap } from "./overlap.ts";

export type Dims = number | readonly number[] | null;

const SCALAR: readonly number[] = [];
const ONE: readonly number[] = [1];

/** Contiguous, plain and with bytes: one native call on all elements does it. */
export function direct(t: Tensor): boolean {
  return t._contiguous && t._bits === 0 && t._storage.device.computes;
}

/** The 8-bit floats, which no reduction takes. */
export const isShortFloat = (d: DType): boolean => d.category === 2 && d.itemsize === 1;

/** Marks the reduced dimensions; no dimension at all means every one. */
export function reducedDims(dim: Dims, rank: number, op: string): boolean[] {
  const list = dim === null ? [] : typeof dim === "number" ? [dim] : dim;
  const mask = new Array<boolean>(Math.max(1, rank)).fill(list.length === 0);
  if (rank > 64) throw texts.reductionRankTooHigh(op);
  for (const d of list) {
    const at = wrapDim(d, rank, op);
    if (mask[at]) throw texts.repeatedDim(op, at);
    mask[at] = true;
  }
  if (rank === 0) mask.length = 0;
  return mask;
}

/** The shape after a reduction. */
export function reducedShape(shape: readonly number[], mask: readonly boolean[], keepdim: boolean): number[] {
  const out: number[] = [];
  for (let d = 0; d < shape.length; d++) {
    if (!mask[d]) out.push(shape[d] as number);
    else if (keepdim) out.push(1);
  }
  return out;
}

/** A result of the reduced shape: fresh and row-major, or `out` in that shape. */
export function resultFor(
  self: Tensor,
  shape: readonly number[],
  dtype: DType,
  out: Tensor | undefined,
  op: string,
): Tensor {
  if (out === undefined) return empty(shape, dtype, self._storage.device);
  prepareOut(out, shape);
  requireNoInternalOverlap(out, op);
  return out;
}

/** Refuses an `out` of another dtype. */
export function requireOutDtype(out: Tensor | undefined, wanted: DType): void {
  if (out === undefined || out.dtype === wanted) return;
  throw texts.reductionOutDtype(undefined, wanted.cppName, out.dtype.cppName);
}

/** True when a kernel may write the tensor itself: no bits to apply, and no bytes that it also reads. */
export function writable(out: Tensor, input: Tensor): boolean {
  return out._bits === 0 && out._storage !== input._storage;
}

/** Writes an operand of the reduced shape as the kernels want it: full rank, size one where it was reduced. */
function reducedOperand(i: number, out: Tensor, shape: readonly number[], mask: readonly boolean[]): void {
  const rank = shape.length;
  const sizes = new Array<number>(rank);
  const strides = new Array<number>(rank);
  const keeps = out._shape.length === rank;
  let at = 0;
  for (let d = 0; d < rank; d++) {
    if (mask[d]) {
      sizes[d] = 1;
      strides[d] = 0;
      if (keeps) at++;
    } else {
      sizes[d] = shape[d] as number;
      strides[d] = out._strides[at++] as number;
    }
  }
  frame.operand(i, out._address(), out.dtype.id, sizes, strides, 0);
}

/** The attributes that a reduction reads, by their places. */
export type Attributes = readonly number[];

/** A reduction to values that stay as they are. */
export const UNDIVIDED = divided(false, 1);

/** A reduction to values that are divided in the end. */
export function divided(divides: boolean, divisor: number): Attributes {
  const attributes: number[] = [];
  attributes[ReduceAttr.divides] = divides ? 1 : 0;
  attributes[ReduceAttr.divisor] = divisor;
  return attributes;
}

const length: number[] = [0];

/** Reduces all elements of a contiguous tensor without bits to the one element of `out`. */
export function reduceAll(k: Kernel, op: string, self: Tensor, out: Tensor, compute: number, divisor = NaN): void {
  length[0] = self._numel;
  frame.begin(2, compute);
  frame.operand(0, out._address(), out.dtype.id, ONE, ONE, 0);
  frame.operand(1, self._address(), self.dtype.id, length, ONE, 0);
  const divides = !Number.isNaN(divisor);
  frame.attr(ReduceAttr.divides, divides ? 1 : 0);
  if (divides) frame.attr(ReduceAttr.divisor, divisor);
  k.run(out._storage.device, op, out.dtype.scalarType);
}

/** A reduction of all elements of such a tensor to a fresh one. */
export function reducedAll(k: Kernel, op: string, self: Tensor, dtype: DType, compute: number, divisor = NaN): Tensor {
  const result = empty(SCALAR, dtype, self._storage.device);
  reduceAll(k, op, self, result, compute, divisor);
  return result;
}

/** Reduces the marked dimensions of `self` into results of the reduced shape. */
export function reduceInto(
  k: Kernel,
  op: string,
  self: Tensor,
  mask: readonly boolean[],
  outs: readonly Tensor[],
  compute: DType,
  attributes: Attributes,
): void {
  const first = outs[0] as Tensor;
  if (!hasWork(first)) return;
  const targets = outs.map((o) => (writable(o, self) ? o : empty(o._shape, o.dtype, o._storage.device)));
  // A result that nobody asked for goes where the first one goes, which is written last.
  if (outs[1] === first) targets[1] = targets[0] as Tensor;
  frame.begin(outs.length + 1, compute.compute);
  targets.forEach((t, i) => reducedOperand(i, t, self._shape, mask));
  frame.operand(outs.length, self._address(), self.dtype.id, self._shape, self._strides, self._bits);
  for (let i = 0; i < attributes.length; i++) frame.attr(i, attributes[i] as number);
  k.run(first._storage.device, op, compute.scalarType);
  outs.forEach((o, i) => {
    if (targets[i] !== o) transfer(o, targets[i] as Tensor);
  });
}

/** A reduction to one result. */
export function reduced(
  k: Kernel,
  op: string,
  self: Tensor,
  mask: readonly boolean[],
  keepdim: boolean,
  dtype: DType,
  out: Tensor | undefined,
  compute: DType,
  attributes: Attributes = UNDIVIDED,
): Tensor {
  const target = resultFor(self, reducedShape(self._shape, mask, keepdim), dtype, out, op);
  reduceInto(k, op, self, mask, [target], compute, attributes);
  return target;
}
