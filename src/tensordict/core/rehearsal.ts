// Writes into many entries are all or nothing: what would be refused is found before the first of them is made, with
// stand-ins of the same shapes, strides and dtypes that have no elements. Nothing is copied to be put back.
import type { IndexPart } from "../../api/indexing-parse.ts";
import { Slice } from "../../api/indexing-parse.ts";
import { checkInplace } from "../../autograd/tracking.ts";
import { sameElements } from "../../dispatch/copy.ts";
import { requireNoPartialOverlap } from "../../dispatch/overlap.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { emptyStrided, zeros } from "./tensor-ops.ts";

/** A tensor of the same shape, strides and dtype without elements. */
function standIn(t: Tensor): Tensor {
  return emptyStrided(t._shape, t._strides, { dtype: t.dtype, device: "meta" });
}

/** An operand without elements; a single number stays what it is, since it may take part with any device. */
function operandFor(value: unknown): unknown {
  return value instanceof Tensor && value.ndim > 0 ? standIn(value) : value;
}

/** One element of that dtype, with as many dimensions: whether a kernel takes it only the kernel says. */
function oneElement(value: unknown): unknown {
  if (!(value instanceof Tensor) || value.isMeta) return value;
  return zeros(new Array<number>(value.ndim).fill(1), { dtype: value.dtype });
}

/** True where no in-place arithmetic is refused: floating elements in a row, and an operand just like them. */
function plain(t: Tensor, operands: readonly unknown[]): boolean {
  if (t.requiresGrad || !t.dtype.isFloatingPoint || t.isMeta || !t.isContiguous()) return false;
  return operands.every((b) => {
    if (!(b instanceof Tensor)) return typeof b === "number";
    return b.dtype === t.dtype && !b.requiresGrad && !b.isMeta && sameShape(b, t);
  });
}

function sameShape(a: Tensor, b: Tensor): boolean {
  return a.ndim === b.ndim && a._shape.every((n, dim) => n === b._shape[dim]);
}

/**
 * Throws what an operation that writes into `t` would throw, and writes nothing.
 * @param change the operation, of `t` and its operands
 * @param arithmetic that it takes every floating dtype
 */
export function rehearse(
  t: Tensor,
  operands: readonly unknown[],
  change: (t: Tensor, operands: readonly unknown[]) => unknown,
  arithmetic: boolean,
): void {
  for (const b of operands) if (b instanceof Tensor) requireNoPartialOverlap(t, b);
  if (arithmetic && plain(t, operands)) return;
  checkInplace(t, operands);
  change(standIn(t), operands.map(operandFor));
  if (!t.isMeta) change(oneElement(t) as Tensor, operands.map(oneElement));
}

/** A source as it is when it is written: what repeats has no part of its own that could overlap. */
function grown(source: Tensor, t: Tensor): Tensor {
  const rank = t.ndim - source.ndim;
  const fits = rank >= 0 && source._shape.every((n, dim) => n === 1 || n === t._shape[rank + dim]);
  return fits && !sameShape(t, source) ? source.expand([...t._shape]) : source;
}

/** Throws what `t.copy_(source)` would throw. */
export function rehearseCopy(t: Tensor, source: Tensor): void {
  checkInplace(t, [source]);
  // What is written where it lies stays as it is, whatever overlaps.
  if (sameElements(t, source)) return;
  requireNoPartialOverlap(t, grown(source, t), "copy_");
  if (sameShape(t, source) && t.isContiguous()) return;
  standIn(t).copy_(operandFor(source) as Tensor);
}

/** Whether an index gives a view. */
function isBasic(index: unknown): boolean {
  const parts = Array.isArray(index) ? index : [index];
  return parts.every((p) => p === null || typeof p === "number" || typeof p === "string" || p instanceof Slice);
}

/** Throws what `t.setAt(index, value)` would throw. */
export function rehearseSetAt(t: Tensor, index: unknown, value: unknown): void {
  checkInplace(t, [value]);
  // A tensor without dimensions is read first: it fills the part.
  if (value instanceof Tensor && value.ndim > 0 && value._storage === t._storage && isBasic(index)) {
    const part = t.at(...((Array.isArray(index) ? index : [index]) as IndexPart[]));
    let given = value;
    while (given.ndim > part.ndim && given._shape[0] === 1) given = given.squeeze(0);
    if (sameElements(part, given)) return;
    requireNoPartialOverlap(part, grown(given, part), "copy_");
  }
  standIn(t).setAt(index as number, operandFor(value) as Tensor);
}
