/** Operators that put tensors together or repeat them. */

import * as texts from "../../generated/texts.ts";
import type { DType } from "../tensor/dtype.ts";
import { contiguousStrides, numelOf, sameSizes } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import { untie } from "../tensor/temporaries.ts";
import { makeStrided, type Tensor, wrapDim } from "../tensor/tensor.ts";
import { checkSizes, empty, emptyWith } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import * as copy from "./copy.ts";
import { contiguousFormat, type MemoryFormat } from "./memory-format.ts";
import { prepareOut } from "./out.ts";
import { requireNoInternalOverlap, requireNoOverlap } from "./overlap.ts";
import { canCast, resultType } from "./promotion.ts";
import { commonDevice } from "./same-device.ts";
import { viewStrides } from "./view-geometry.ts";
import { asView } from "./views.ts";

/** One-dimensional empty tensors are left out, whatever the others' shape: an old habit that programs rely on. */
const isSkipped = (t: Tensor): boolean => t._shape.length === 1 && t._shape[0] === 0;

function checkParts(tensors: readonly Tensor[], first: number, d: number): void {
  const shape = (tensors[first] as Tensor)._shape;
  tensors.forEach((t, i) => {
    if (isSkipped(t)) return;
    if (t._shape.length !== shape.length) throw texts.catRanks("cat", shape.length, t._shape.length);
    t._shape.forEach((n, k) => {
      if (k !== d && n !== shape[k]) throw texts.catSizes("cat", d, shape[k], n, i);
    });
  });
}

/** The memory format that all parts share, null for row-major. */
function commonFormat(tensors: readonly Tensor[]): MemoryFormat | null {
  let found: MemoryFormat | null = null;
  for (const t of tensors) {
    const format = copy.suggestedFormat(t);
    if (format === contiguousFormat || (found !== null && format !== found)) return null;
    found = format;
  }
  return found;
}

function freshFor(shape: readonly number[], dtype: DType, tensors: readonly Tensor[]): Tensor {
  const device = commonDevice(tensors);
  const format = commonFormat(tensors);
  const strides = format === null ? null : copy.formatStrides(shape, format);
  return strides === null ? empty(shape, dtype, device) : emptyWith(shape, strides, dtype, device);
}

/** `whole`: the tensor itself is refused among the parts, even without elements. */
function outFor(out: Tensor, shape: readonly number[], dtype: DType, tensors: readonly Tensor[], whole: boolean): void {
  if (!canCast(dtype, out.dtype)) throw texts.catCannotCast("cat", out.dtype.scalarType);
  prepareOut(out, shape);
  requireNoInternalOverlap(out, "cat");
  for (const t of tensors) if (whole || t !== out || t._numel > 0) requireNoOverlap(out, t, "cat");
}

/** Tensors one after another along a dimension that they have. */
export function cat(tensors: readonly Tensor[], dim: number, out?: Tensor): Tensor {
  if (tensors.length === 0) throw texts.catOfNothing("cat");
  tensors.forEach((t, i) => {
    requireKept(t._storage);
    if (t._shape.length === 0) throw texts.catOfScalar("cat", i);
  });
  const first = tensors.findIndex((t) => !isSkipped(t));
  const dtype = sameDtype(tensors) ?? resultType(tensors);
  if (first < 0) return nothing(tensors, dtype, out);
  const model = tensors[first] as Tensor;
  const d = wrapDim(dim, model._shape.length);
  checkParts(tensors, first, d);
  const shape = model._shape.slice();
  let total = 0;
  for (const t of tensors) if (!isSkipped(t)) total += t._shape[d] as number;
  shape[d] = total;
  if (out !== undefined) outFor(out, shape, dtype, tensors, true);
  const target = out ?? freshFor(shape, dtype, tensors);
  if (target._storage.device.computes) fillParts(target, tensors, d);
  return target;
}

function sameDtype(tensors: readonly Tensor[]): DType | null {
  const d = (tensors[0] as Tensor).dtype;
  for (const t of tensors) if (t.dtype !== d) return null;
  return d;
}

/** Vectors without elements have no dimension to look at: any will do. */
function nothing(tensors: readonly Tensor[], dtype: DType, out?: Tensor): Tensor {
  if (out === undefined) return empty([0], dtype, (tensors[0] as Tensor)._storage.device);
  outFor(out, [0], dtype, tensors, false);
  return out;
}

function fillParts(target: Tensor, tensors: readonly Tensor[], d: number): void {
  let at = 0;
  const step = target._strides[d] as number;
  const blocks = inBlocks(target, d);
  for (const t of tensors) {
    if (isSkipped(t)) continue;
    if (t._numel > 0 && !(blocks && copy.copyBlock(target, at * step, t))) {
      copy.transferPart(target, t._shape, target._strides, at * step, t);
    }
    at += t._shape[d] as number;
  }
}

/** Whether parts along a dimension lie one behind the other. */
function inBlocks(target: Tensor, d: number): boolean {
  if (!target._contiguous) return false;
  for (let k = 0; k < d; k++) if (target._shape[k] !== 1) return false;
  return true;
}

/** A part of a tensor that is being read or written, without ties to it. */
export function region(t: Tensor, shape: readonly number[], strides: readonly number[], offset: number): Tensor {
  const r = untie(makeStrided(t._storage, offset, shape, strides, t.dtype));
  r._bits = t._bits;
  return r;
}

/** As torch has it: the tensors joined along the dimension in their common format, which is then split in two. */
function freshStack(size: readonly number[], d: number, dtype: DType, tensors: readonly Tensor[]): Tensor {
  const device = commonDevice(tensors);
  const format = d < size.length - 1 ? commonFormat(tensors) : null;
  if (format === null) return empty(size, dtype, device);
  const joined = [...size.slice(0, d), (size[d] as number) * (size[d + 1] as number), ...size.slice(d + 2)];
  const strides = copy.formatStrides(joined, format) as readonly number[];
  const split = viewStrides({ _shape: joined, _strides: strides, _numel: numelOf(joined) }, size);
  return emptyWith(size, split as readonly number[], dtype, device);
}

/** Tensors of one shape one after another along a new dimension. */
export function stack(tensors: readonly Tensor[], dim: number, out?: Tensor): Tensor {
  const op = "stack";
  if (tensors.length === 0) throw texts.stackOfNothing(op);
  const shape = (tensors[0] as Tensor)._shape;
  const d = wrapDim(dim, shape.length + 1);
  for (let i = 0; i < tensors.length; i++) {
    requireKept((tensors[i] as Tensor)._storage);
    const other = (tensors[i] as Tensor)._shape;
    if (!sameSizes(other, shape)) throw texts.stackSizes(op, shape, other, i);
  }
  const size = [...shape.slice(0, d), tensors.length, ...shape.slice(d)];
  const dtype = sameDtype(tensors) ?? resultType(tensors);
  if (out !== undefined) outFor(out, size, dtype, tensors, false);
  const target = out ?? freshStack(size, d, dtype, tensors);
  if (!target._storage.device.computes || target._numel === 0) return target;
  const strides = target._strides.filter((_, k) => k !== d);
  const step = target._strides[d] as number;
  const blocks = inBlocks(target, d);
  for (let i = 0; i < tensors.length; i++) {
    const t = tensors[i] as Tensor;
    if (!(blocks && copy.copyBlock(target, i * step, t))) copy.transferPart(target, shape, strides, i * step, t);
  }
  return target;
}

/** The tensor repeated along each dimension; `repeats` may add dimensions in front. */
export function repeat(self: Tensor, repeats: readonly number[]): Tensor {
  const op = "repeat";
  requireKept(self._storage);
  const lead = repeats.length - self._shape.length;
  if (lead < 0) throw texts.repeatRank(op);
  const own = repeats.map((_, d) => (d < lead ? 1 : (self._shape[d - lead] as number)));
  const strides = repeats.map((_, d) => (d < lead ? 0 : (self._strides[d - lead] as number)));
  const shape = own.map((n, d) => n * (repeats[d] as number));
  checkSizes(shape, op);
  const target = empty(shape, self.dtype, self._storage.device);
  if (!hasWork(target)) return target;
  // Both sides seen with two dimensions for each: which repetition, and the place in it.
  const paired: number[] = [];
  const from: number[] = [];
  for (let d = 0; d < own.length; d++) {
    if (repeats[d] !== 1) {
      paired.push(repeats[d] as number);
      from.push(0);
    }
    if (own[d] !== 1) {
      paired.push(own[d] as number);
      from.push(strides[d] as number);
    }
  }
  const to = region(target, paired, contiguousStrides(paired), target._offset);
  copy.transfer(to, asView(self, paired, from, self._offset));
  return target;
}
