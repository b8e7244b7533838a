/** index_select, index_add, index_copy, index_fill, and take and put: a vector of positions along one dimension. */
import { IndexMode } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import { Complex, type Scalar, scalarValue } from "../tensor/complex.ts";
import { int32, int64 } from "../tensor/dtype.ts";
import { warn } from "../tensor/errors.ts";
import { sameSizes } from "../tensor/size.ts";
import { drop, dropCopy, untie } from "../tensor/temporaries.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { empty, emptyCopy } from "./allocate.ts";
import * as copy from "./copy.ts";
import type { Fault } from "./faults.ts";
import { checkFits } from "./fits.ts";
import { axis, read, type Selection, write } from "./indexing-kernel.ts";
import { contiguousFormat } from "./memory-format.ts";
import { prepareOut } from "./out.ts";
import { hasInternalOverlap, requireNoInternalOverlap, requireNoOverlap } from "./overlap.ts";
import { general, RULES } from "./pointwise.ts";
import { asView } from "./views.ts";

const SCALE = { name: "index_add", kernel: K.binary_mul, rule: RULES.same };

const isInteger = (t: Tensor): boolean => t.dtype === int64 || t.dtype === int32;

/** Where a vector of positions along `dim` points; 0-dim tensors count as one element. */
export function along(self: Tensor, d: number, index: Tensor, wrap: boolean, fault: Fault): Selection {
  const rank = self._shape.length;
  const vector = copy.denseOf(index);
  const n = index._numel;
  const size = rank === 0 ? 1 : (self._shape[d] as number);
  const stride = rank === 0 ? 1 : (self._strides[d] as number);
  const shape = rank === 0 ? [n] : self._shape.map((x, k) => (k === d ? n : x));
  const strides = rank === 0 ? [0] : self._strides.map((x, k) => (k === d ? 0 : x));
  const positions = shape.map((_, k) => (k === d ? 1 : 0));
  const axes = [axis(vector, d, size, stride)];
  return { shape, strides, positions, axes, wrap, fault };
}

/** The parts of self along `dim` that `index` names. */
export function indexSelect(self: Tensor, dim: number, index: Tensor, out?: Tensor): Tensor {
  const op = "index_select";
  const d = wrapDim(dim, self._shape.length);
  if (index._shape.length > 1) throw texts.selectIndexNotAVector(op);
  if (self._shape.length === 0 && index._numel !== 1) throw texts.selectIndexOfScalar(op, index._numel);
  if (!isInteger(index)) throw texts.selectIndexDtype(op);
  if (self._shape.length > 1 && self._shape[d] === 0 && index._numel > 0) throw texts.selectFromNone(op);
  if (out !== undefined) {
    if (out.dtype !== self.dtype) throw texts.selectResultDtype(op);
    requireNoInternalOverlap(out, op);
    requireNoOverlap(out, self, op);
    requireNoOverlap(out, index, op);
  }
  const source = self._bits === 0 ? self : copy.clone(self);
  const s = along(source, d, index, false, "index_select");
  const shape = self._shape.length === 0 ? [] : s.shape;
  if (out !== undefined) prepareOut(out, shape);
  const target = out === undefined || out._bits !== 0 ? empty(shape, self.dtype, self._storage.device) : out;
  const flat = shape.length === s.shape.length ? target : asView(target, [1], [1], target._offset);
  read(flat, source, s, op);
  if (out !== undefined && target !== out) copy.transfer(out, target);
  return out ?? target;
}

/** The tensor to write into: self, `out` with self's elements, or a copy. */
export function targetOf(self: Tensor, out: Tensor | undefined, inplace: boolean, op: string): Tensor {
  if (inplace) return self;
  if (out === undefined) return copy.clone(self, contiguousFormat);
  if (out === self) return out;
  if (out.dtype !== self.dtype) throw texts.reductionOutDtype(op, self.dtype.cppName, out.dtype.cppName);
  prepareOut(out, self._shape);
  requireNoInternalOverlap(out, op);
  copy.copyInto(out, self);
  return out;
}

/** Writes through a plain copy where the target's elements are read through flag bits. */
export function writeInto(
  target: Tensor,
  source: Tensor,
  make: (t: Tensor) => Selection,
  mode: number,
  op: string,
): Tensor {
  if (target._bits === 0) {
    write(target, source, make(target), mode, op);
    return target;
  }
  const plain = copy.clone(target);
  write(plain, source, make(plain), mode, op);
  copy.transfer(target, plain);
  drop(plain);
  return target;
}

function requireSlices(self: Tensor, d: number, source: Tensor): void {
  const drop = (t: Tensor): number[] => t._shape.filter((_, k) => k !== d);
  const both = source._shape.length !== 0 && self._shape.length !== 0;
  const a = both ? drop(self) : self._shape;
  const b = both ? drop(source) : source._shape;
  if (!sameSizes(a, b)) throw texts.sourceShapeExceptDim("index_add_", self._shape, source._shape);
}

export function checkIndexAdd(self: Tensor, d: number, index: Tensor, source: Tensor, name: string): void {
  const n = index._numel;
  const op = `${name}_`;
  if (index._shape.length > 1) {
    throw texts.indexNotAVector(op, index._shape.length, index.dtype.scalarType, index._shape);
  }
  if (!isInteger(index)) throw texts.indexDtype(op, index.dtype.scalarType);
  if (self.dtype !== source.dtype) {
    const pair = `self (${self.dtype.scalarType}) and source (${source.dtype.scalarType})`;
    throw texts.pairDtypes(op, pair);
  }
  const rank = source._shape.length;
  if (d !== 0 && d >= rank) throw texts.indexingDimOfSource(op, d, rank);
  if (rank === 0 && n !== 1) throw texts.dimOfScalar(op, d);
  const have = rank === 0 ? 1 : (source._shape[d] as number);
  if (n !== have) throw texts.indexCountForDim(op, n, have, d);
  requireSlices(self, d, source);
}

/** The source as the selection sees it: a 0-dim tensor is a vector of one element. */
export function asRows(source: Tensor): Tensor {
  return source._shape.length === 0 ? asView(source, [1], [1], source._offset) : source;
}

/** self, with alpha * source added at the parts along `dim` that `index` names. */
export function indexAdd(
  self: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  alpha: Scalar,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const op = "index_add_";
  const d = wrapDim(dim, self._shape.length);
  checkIndexAdd(self, d, index, source, "index_add");
  checkFits(alpha, self.dtype);
  if (inplace) requireNoInternalOverlap(self, op);
  const target = targetOf(self, out, inplace, op);
  requireNoOverlap(target, index, op);
  requireNoOverlap(target, source, op);
  const scaled = scalarValue(alpha) === 1 ? source : scale(source, alpha);
  const rows = asRows(scaled);
  return writeInto(target, rows, (t) => along(t, d, index, false, "index_add_"), IndexMode.add, op);
}

function scale(source: Tensor, alpha: Scalar): Tensor {
  const factor = empty([], source.dtype, source._storage.device);
  copy.fill(factor, alpha);
  return general(SCALE, [source, factor], undefined, false, undefined, source.dtype);
}

function checkIndexCopy(self: Tensor, d: number, index: Tensor, source: Tensor): void {
  const op = "index_copy_";
  const n = index._numel;
  if (index._shape.length >= 2) throw texts.indexRank(op, index._shape.length);
  const [a, b] = [source._shape.length, self._shape.length];
  if (a === 0 && n !== 1) throw texts.indexOfScalarSource(op, n);
  if (a !== b && a !== 0 && b !== 0) throw texts.sourceDestinationRanks(op, a, b);
  if (index.dtype !== int64) throw texts.indexNotLong(op, index.dtype.scalarType);
  if (self.dtype !== source.dtype) throw texts.selfSourceDtypes(op, self.dtype.scalarType, source.dtype.scalarType);
  const own = self._shape.filter((_, k) => k !== d);
  const other = source._shape.filter((_, k) => k !== d);
  if (!sameSizes(own, other)) throw texts.sliceShapesDiffer(op, own.join(" "), d, other.join(" "));
  if (a !== 0 && n !== source._shape[d]) throw texts.indexCount(op, n, source._shape[d]);
}

/** self, with the parts along `dim` that `index` names replaced by those of source. */
export function indexCopy(
  self: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const op = "index_copy_";
  const d = wrapDim(dim, self._shape.length);
  if (inplace) {
    requireNoInternalOverlap(self, op);
    requireNoOverlap(self, index, op);
    requireNoOverlap(self, source, op);
  }
  checkIndexCopy(self, d, index, source);
  const target = targetOf(self, out, inplace, op);
  requireNoOverlap(target, index, op);
  requireNoOverlap(target, source, op);
  const rows = asRows(source);
  return writeInto(target, rows, (t) => along(t, d, index, false, "index_copy_"), IndexMode.assign, op);
}

/** self, with the parts along `dim` that `index` names set to a number. */
export function indexFill(
  self: Tensor,
  dim: number,
  index: Tensor,
  value: Scalar,
  _out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const op = "index_fill_";
  if (index.dtype !== int64) throw texts.fillIndexDtype(op);
  if (scalarValue(value) instanceof Complex && self.dtype.category !== 3) throw texts.fillComplexIntoReal(op);
  const d = wrapDim(dim, self._shape.length);
  if (inplace) requireNoOverlap(self, index, op);
  if (index._shape.length > 1) throw texts.indexNotAVectorOrScalar(op);
  checkFits(value, self.dtype);
  if (inplace && hasInternalOverlap(self)) {
    warn(
      "Use of index_fill_ on expanded tensors is deprecated. Please clone() the tensor before performing this " +
        "operation. This also applies to advanced indexing e.g. tensor[mask] = scalar",
    );
  }
  const target = inplace ? self : copy.clone(self);
  const holder = empty([1], self.dtype, self._storage.device);
  copy.fill(holder, value);
  return writeInto(target, holder, (t) => along(t, d, index, true, "index_fill_"), IndexMode.assign, op);
}

/** As `indexFill`, the value being a 0-dim tensor. */
export function indexFillTensor(
  self: Tensor,
  dim: number,
  index: Tensor,
  value: Tensor,
  _out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  if (value._shape.length !== 0) throw texts.indexFillValueRank("index_fill_", value._shape.length);
  return indexFill(self, dim, index, value.item(), undefined, inplace);
}

/** A dense tensor seen as a vector, at the positions of an index tensor of any shape. */
function flat(self: Tensor, index: Tensor, fault: Fault): Selection {
  const vector = copy.denseOf(index);
  return {
    shape: [index._numel],
    strides: [0],
    positions: [1],
    axes: [axis(vector, 0, self._numel, 1)],
    wrap: true,
    fault,
  };
}

/** The elements at positions of self read row by row. */
export function take(self: Tensor, index: Tensor, out?: Tensor): Tensor {
  const op = "take";
  if (index.dtype !== int64) throw texts.takeIndexDtype(op, index.dtype.scalarType);
  if (out !== undefined && out.dtype !== self.dtype) {
    throw texts.takeOutDtype(op, self.dtype.scalarType, out.dtype.scalarType);
  }
  if (self._numel === 0 && index._numel !== 0) throw texts.takeFromEmpty(op);
  if (out !== undefined) {
    requireNoInternalOverlap(out, op);
    requireNoOverlap(out, self, op);
    requireNoOverlap(out, index, op);
    prepareOut(out, index._shape);
  }
  const direct = out === undefined || (out._contiguous && out._bits === 0);
  const target = direct && out !== undefined ? out : empty(index._shape, self.dtype, self._storage.device);
  const source = copy.denseOf(self);
  const vector = copy.denseOf(index);
  const to = untie(asView(target, [index._numel], [1], target._offset));
  read(to, source, flat(source, vector, "take"), op);
  dropCopy(source, self);
  dropCopy(vector, index);
  if (out === undefined || target === out) return target;
  copy.transfer(out, target);
  drop(target);
  return out;
}

/** self, with the elements at positions of it read row by row replaced or added to. */
export function put(
  self: Tensor,
  index: Tensor,
  source: Tensor,
  accumulate: boolean,
  _out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const op = "put_";
  const pair = `self.dtype = ${self.dtype.scalarType} and source.dtype = ${source.dtype.scalarType}`;
  if (index.dtype !== int64) throw texts.putIndexDtype(op, index.dtype.scalarType);
  if (self.dtype !== source.dtype) throw texts.putSourceDtype(op, pair);
  if (source._numel !== index._numel) throw texts.putCounts(op, source._numel, index._numel);
  if (self._numel === 0 && index._numel !== 0) throw texts.putIntoEmpty(op);
  if (inplace) {
    requireNoInternalOverlap(self, op);
    requireNoOverlap(self, index, op);
    requireNoOverlap(self, source, op);
  }
  const direct = inplace && self._contiguous && self._bits === 0;
  const own = direct || inplace ? self : copy.clone(self);
  const target = direct ? self : copy.denseOf(own);
  if (own !== self) dropCopy(own, target);
  const values = copy.denseOf(source);
  const list = untie(asView(values, [values._numel], [1], values._offset));
  const vector = copy.denseOf(index);
  write(target, list, flat(target, vector, "put_"), accumulate ? IndexMode.add : IndexMode.assign, op);
  dropCopy(values, source);
  dropCopy(vector, index);
  if (direct || (!inplace && self._contiguous)) return target;
  const r = inplace ? self : emptyCopy(self);
  copy.transfer(r, target);
  drop(target);
  return r;
}
