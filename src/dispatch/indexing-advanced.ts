/** `x[i, j]` with index tensors and masks: what they mean together, reading, and writing. */
import { IndexMode } from "../../generated/abi.ts";
import * as texts from "../../generated/texts.ts";
import { bool, type DType, int32, int64, uint8 } from "../tensor/dtype.ts";
import { warn } from "../tensor/errors.ts";
import { contiguousStrides, listText, numelOf, sameSizes } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { broadcastShapes, empty, emptyWith, strideOrder } from "./allocate.ts";
import * as copy from "./copy.ts";
import { type Axis, axis, read, type Selection, write } from "./indexing-kernel.ts";
import { maskedFillTensor, nonzero } from "./indexing-mask.ts";
import { hasInternalOverlap, requireNoOverlap } from "./overlap.ts";
import { viewStrides } from "./view-geometry.ts";
import { asView, expand, select } from "./views.ts";

export type Indices = readonly (Tensor | null)[];

/** An advanced index of a tensor: the selection, and whether the plain layout of the result follows. */
interface Plan extends Omit<Selection, "fault"> {
  readonly rowMajor: boolean;
  /** The index tensors with the result's rank: where the indexed tensor's strides say nothing, theirs order it. */
  readonly orders: readonly Tensor[];
}

const isMask = (d: DType): boolean => d === bool || d === uint8;

function checkTypes(indices: Indices): void {
  for (const t of indices) {
    if (t !== null && t.dtype !== int64 && t.dtype !== int32 && !isMask(t.dtype)) {
      throw texts.indexTensorDtype(undefined);
    }
  }
}

function requireMaskFits(self: Tensor, mask: Tensor, at: number): void {
  mask._shape.forEach((n, d) => {
    if (self._shape[at + d] !== n) throw texts.maskShape(undefined, mask._shape, d, self._shape, at + d);
  });
}

/** Replaces each mask by the coordinates of its true elements, one index for each of its dimensions. */
function expandMasks(self: Tensor, indices: Indices): (Tensor | null)[] {
  const out: (Tensor | null)[] = [];
  for (const t of indices) {
    if (t === null || !isMask(t.dtype)) {
      out.push(t);
      continue;
    }
    if (t.dtype === uint8) {
      warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.");
    }
    const at = out.length;
    requireMaskFits(self, t, at);
    const where = nonzero(t);
    for (let d = 0; d < t._shape.length; d++) out.push(select(where, 1, d));
  }
  return out;
}

/** The shape that indices broadcast to. */
export function commonShape(given: readonly Tensor[]): readonly number[] {
  let shape: readonly number[] = (given[0] as Tensor)._shape;
  for (let k = 1; k < given.length; k++) {
    try {
      shape = broadcastShapes(shape, (given[k] as Tensor)._shape);
    } catch {
      const shapes = given.map((t) => listText(t._shape)).join(", ");
      throw texts.indicesDoNotBroadcast(undefined, shapes);
    }
  }
  return shape;
}

/** Strides of dimensions of size one count as well: torch looks at them. */
const isRowMajor = (t: Tensor): boolean => t._contiguous && sameSizes(t._strides, contiguousStrides(t._shape));

/** The dimensions of the result: those before the indexed ones, those of the indices, those after. */
function plan(self: Tensor, indices: Indices): Plan {
  checkTypes(indices);
  const all = expandMasks(self, indices);
  const rank = self._shape.length;
  if (all.length > rank) throw texts.tooManyIndexTensors(undefined, rank, all.length);
  const dims: number[] = [];
  all.forEach((t, d) => {
    if (t !== null) dims.push(d);
  });
  const given = dims.map((d) => all[d] as Tensor);
  if (given.length === 0) throw texts.noIndexTensor(undefined);
  const middle = commonShape(given);
  const first = dims[0] as number;
  const adjacent = (dims[dims.length - 1] as number) - first === dims.length - 1;
  const indexed = new Set(dims);
  const rest: number[] = [];
  for (let d = 0; d < rank; d++) if (!indexed.has(d)) rest.push(d);
  const before = adjacent ? rest.filter((d) => d < first) : [];
  const after = adjacent ? rest.filter((d) => d > first) : rest;
  if (dims.some((d) => self._shape[d] === 0) && numelOf(middle) !== 0) throw texts.indexIntoEmptyDim(undefined);
  const size = (d: number): number => self._shape[d] as number;
  const stride = (d: number): number => self._strides[d] as number;
  const zeros = (list: readonly number[]): number[] => list.map(() => 0);
  // Without elements all operands are row-major to torch's iterator, which then asks for one shape only.
  const none = numelOf(middle) === 0 || rest.some((d) => size(d) === 0);
  const rowMajor = none ? rest.every((d) => size(d) === 1) : isRowMajor(self) && given.every(isRowMajor);
  const full = given.map((t) => (sameSizes(t._shape, middle) ? t : expand(t, middle)));
  const axes: Axis[] = full.map((t, k) => {
    const d = dims[k] as number;
    return axis(copy.denseOf(t), k, size(d), stride(d));
  });
  return {
    shape: [...before.map(size), ...middle, ...after.map(size)],
    strides: [...before.map(stride), ...zeros(middle), ...after.map(stride)],
    positions: [...zeros(before), ...contiguousStrides(middle), ...zeros(after)],
    axes,
    wrap: true,
    rowMajor,
    orders: rowMajor ? [] : full.map((t) => withOnes(t, before.length, after.length)),
  };
}

/** A view with dimensions of size one before and behind, whose strides count as well. */
function withOnes(t: Tensor, before: number, after: number): Tensor {
  const ones = (n: number): number[] => new Array<number>(n).fill(1);
  const shape = [...ones(before), ...t._shape, ...ones(after)];
  return asView(t, shape, viewStrides(t, shape) ?? contiguousStrides(shape), t._offset);
}

/** A fresh tensor in the layout that torch's iterator would give: that of the indexed tensor, then of the indices. */
function resultOf(self: Tensor, p: Plan): Tensor {
  const { device } = self._storage;
  if (p.rowMajor) return empty(p.shape, self.dtype, device);
  const source = asView(self, p.shape, p.strides, self._offset);
  return emptyWith(p.shape, strideOrder(p.shape, [source, ...p.orders]), self.dtype, device);
}

/** self[indices], where null takes a whole dimension. */
export function index(self: Tensor, indices: Indices): Tensor {
  requireRank(self, indices);
  const source = self._bits === 0 ? self : copy.clone(self);
  const p = plan(source, indices);
  const out = resultOf(source, p);
  read(out, source, { ...p, fault: "index" }, "index");
  return out;
}

function requireRank(self: Tensor, indices: Indices): void {
  if (indices.length > self._shape.length) {
    throw texts.tooManyIndexTensors(undefined, self._shape.length, indices.length);
  }
}

/** The mask that stands alone, when writing one value through it is filling. */
function onlyMask(self: Tensor, indices: Indices, values: Tensor): Tensor | null {
  if (values._numel !== 1) return null;
  let mask: Tensor | null = null;
  let at = 0;
  let lead = 0;
  for (const t of indices) {
    if (t === null) {
      if (mask === null) lead++;
      at++;
      continue;
    }
    if (mask !== null || !isMask(t.dtype)) return null;
    mask = t;
    requireMaskFits(self, t, at);
    at += t._shape.length;
  }
  if (mask === null) return null;
  const shape = [...new Array<number>(lead).fill(1), ...mask._shape];
  while (shape.length < self._shape.length) shape.push(1);
  // Bytes stay bytes: they index as a mask does, but do not fill.
  const dense = copy.denseOf(copy.onDevice(mask, self._storage.device));
  return asView(dense, shape, contiguousStrides(shape), dense._offset);
}

/** self[indices] = values, or += when `accumulate`. */
export function indexPut(
  self: Tensor,
  indices: Indices,
  values: Tensor,
  accumulate: boolean,
  _out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const target = inplace ? self : copy.clone(self);
  requireRank(target, indices);
  if (hasInternalOverlap(target)) {
    warn(
      "Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before performing this " +
        "operation. This also applies to advanced indexing e.g. tensor[indices] = tensor",
    );
  }
  const mask = accumulate ? null : onlyMask(target, indices, values);
  if (mask !== null) {
    const value = asView(values, [], [], values._offset);
    return maskedFillTensor(target, mask, value, undefined, true);
  }
  requireNoOverlap(target, values, "index_put_");
  for (const t of indices) if (t !== null) requireNoOverlap(target, t, "index_put_");
  if (target._bits !== 0) return throughCopy(target, indices, values, accumulate);
  const p = plan(target, indices);
  requireValues(target, values, p);
  const mode = accumulate ? IndexMode.add : IndexMode.assign;
  write(target, values, { ...p, fault: "index_put_" }, mode, "index_put_");
  return target;
}

/** A tensor whose elements are read through flag bits is written as a plain copy, and copied back. */
function throughCopy(target: Tensor, indices: Indices, values: Tensor, accumulate: boolean): Tensor {
  const plain = copy.clone(target);
  indexPut(plain, indices, values, accumulate, undefined, true);
  copy.transfer(target, plain);
  return target;
}

function requireValues(target: Tensor, values: Tensor, p: Plan): void {
  const lead = p.shape.length - values._shape.length;
  const fits = lead >= 0 && values._shape.every((n, d) => n === 1 || n === p.shape[d + lead]);
  if (!fits) throw texts.putShapeMismatch("index_put_", values._shape, p.shape);
  if (values.dtype !== target.dtype) {
    throw texts.putDtypeMismatch("index_put_", target.dtype.scalarType, values.dtype.scalarType);
  }
}
