// Writes into many entries are all or nothing: what would be refused is found before the first of them is made, with
// stand-ins of the same shapes, strides and dtypes that have no elements. Nothing is copied to be put back.
import type { IndexPart } from "../../api/indexing-parse.ts";
import { checkInplace } from "../../autograd/tracking.ts";
import { sameElements } from "../../dispatch/copy.ts";
import { requireNoPartialOverlap } from "../../dispatch/overlap.ts";
import { requireSameDevice } from "../../dispatch/same-device.ts";
import { amongDevices } from "../../dispatch/seam.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { hasLists, isBasic, isListed, isMask, partsOf } from "./index-parts.ts";
import { emptyStrided, ones, zeros } from "./tensor-ops.ts";

/** A tensor of the same shape, strides and dtype without elements. */
function standIn(t: Tensor): Tensor {
  return emptyStrided(t._shape, t._strides, { dtype: t.dtype, device: "meta" });
}

/** A single number on the CPU, which may take part with any device. */
const isNumber = (t: Tensor): boolean => t.ndim === 0 && t.isCpu;

/** An operand without elements; a single number stays what it is. */
function operandFor(value: unknown): unknown {
  return value instanceof Tensor && !isNumber(value) ? standIn(value) : value;
}

const isDivisor = (b: unknown): b is Tensor => b instanceof Tensor && !b.isMeta && !isNumber(b);

/**
 * Tries an operation on one element of every dtype: whether a kernel takes it only the kernel says. On the CPU integers
 * are not divided by 0; GPUs do it, and so are asked themselves.
 */
function tryOne(t: Tensor, operands: readonly unknown[], change: (t: Tensor, operands: readonly unknown[]) => unknown) {
  const one = (make: typeof zeros) => (b: unknown) =>
    isDivisor(b) ? make(new Array<number>(b.ndim).fill(1), { dtype: b.dtype, device: t.device }) : b;
  const trial = () => ones(new Array<number>(t.ndim).fill(1), { dtype: t.dtype, device: t.device });
  try {
    change(trial(), operands.map(one(zeros)));
  } catch (error) {
    if (t.isCuda) throw error;
    change(trial(), operands.map(one(ones)));
    // What one divides by and zero does not is refused if a zero is there.
    if (operands.some((b) => isDivisor(b) && !b.all().item())) throw error;
  }
}

/** True where no in-place arithmetic is refused: floating elements in a row, and an operand just like them. */
function plain(t: Tensor, operands: readonly unknown[]): boolean {
  if (t.requiresGrad || !t.dtype.isFloatingPoint || t.isMeta || !t.isContiguous()) return false;
  return operands.every((b) => {
    if (!(b instanceof Tensor)) return typeof b === "number";
    const near = b._storage.device === t._storage.device && (b.ndim === 0 || sameShape(b, t));
    return b.dtype === t.dtype && !b.requiresGrad && near;
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
  // Stand-ins are all on one device.
  requireSameDevice(undefined, [t, ...operands], [t]);
  amongDevices(() => change(standIn(t), operands.map(operandFor)));
  if (!t.isMeta) tryOne(t, operands, change);
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
  amongDevices(() => standIn(t).copy_(operandFor(source) as Tensor));
}

/**
 * An index for a stand-in. Of lists the shape is enough, and of a mask alone, for a single value; otherwise it has to
 * be known how many elements the mask names, which only reading it tells.
 */
function indexFor(index: unknown, value: unknown): unknown {
  const parts = partsOf(index);
  const single = !Array.isArray(value) && (!(value instanceof Tensor) || value._numel === 1);
  const alone = single && parts.filter((part) => isListed(part) || typeof part === "boolean").length === 1;
  const made = parts.map((part) => {
    if (!(part instanceof Tensor) || part.ndim === 0 || !part.isCuda) return part;
    return alone || !isMask(part) ? standIn(part) : part.cpu();
  });
  return Array.isArray(index) ? made : made[0];
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
  // Stand-ins are all on one device.
  if (hasLists(index)) {
    const given = value instanceof Tensor && value.ndim > 0 ? [t, value] : [t];
    requireSameDevice("indexPut_", given, [], partsOf(index).filter(isListed));
  }
  amongDevices(() => standIn(t).setAt(indexFor(index, value) as number, operandFor(value) as Tensor));
}
