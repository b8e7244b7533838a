/** Views: other sizes and strides over the same storage. Nothing is copied and nothing native is created. */
import * as texts from "../../generated/texts.ts";
import { legacyName } from "../tensor/dtype.ts";
import { numelOf } from "../tensor/size.ts";
import { untie } from "../tensor/temporaries.ts";
import {
  bytesNeeded,
  CREATION_DEFAULT,
  CREATION_NO_GRAD,
  extraOf,
  isContiguousGeometry,
  type Replay,
  Tensor,
  wrapDim,
} from "../tensor/tensor.ts";
import { gradMode } from "./mode.ts";
import { resolveSize, viewStrides } from "./view-geometry.ts";

/** A view of `self`: shares bytes and version, and remembers the root of the family. */
export function asView(self: Tensor, shape: readonly number[], strides: readonly number[], offset: number): Tensor {
  const numel = numelOf(shape);
  // Repeated elements take no memory, so that nothing else bounds their number.
  if (numel > Number.MAX_SAFE_INTEGER) throw texts.countOverflow(undefined);
  const v = new Tensor(
    self._storage,
    offset,
    shape,
    strides,
    self.dtype,
    numel,
    isContiguousGeometry(shape, strides),
    self._version,
  );
  v._bits = self._bits;
  inherit(v, self);
  return v;
}

function inherit(v: Tensor, self: Tensor): void {
  v._base = self._base ?? self;
  v._creation = gradMode.enabled ? self._creation : CREATION_NO_GRAD;
  v._viewVersion = self._version.value;
  const replay = self._extra?.replay;
  if (replay) replayThrough(v, replay);
}

/** A view of a view that strides cannot rebuild: replayed from the base through the nearest such view. */
function replayThrough(v: Tensor, replay: Replay): void {
  const through = replay.through ?? replay;
  const again: Replay = (base) => through(base).asStrided(v._shape, v._strides, v._offset);
  again.through = through;
  extraOf(v).replay = again;
}

export function alias(self: Tensor): Tensor {
  return asView(self, self._shape, self._strides, self._offset);
}

/** Shares bytes and version, but is no view for autograd. */
export function detach(self: Tensor): Tensor {
  const v = new Tensor(
    self._storage,
    self._offset,
    self._shape,
    self._strides,
    self.dtype,
    self._numel,
    self._contiguous,
    self._version,
  );
  v._bits = self._bits;
  return v;
}

export function view(self: Tensor, size: readonly number[]): Tensor {
  const shape = resolveSize(size, self._numel);
  const strides = viewStrides(self, shape);
  if (strides === null) throw texts.viewIncompatible("view");
  return asView(self, shape, strides, self._offset);
}

/** The only tensor over a fresh copy in another shape: it is no view of anything. */
export function unsafeView(self: Tensor, size: readonly number[]): Tensor {
  const v = view(self, size);
  v._base = null;
  v._creation = CREATION_DEFAULT;
  untie(self);
  return v;
}

export function asStrided(
  self: Tensor,
  size: readonly number[],
  stride: readonly number[],
  storageOffset: number | null,
): Tensor {
  if (size.length !== stride.length) throw texts.stridesLength(undefined);
  if (stride.some((s) => s < 0)) throw texts.asStridedNegative(undefined, stride);
  if (size.some((n) => n < 0)) throw texts.negativeDimension(undefined, String(size.find((n) => n < 0)), size);
  const offset = storageOffset ?? self._offset;
  if (offset < 0) throw texts.invalidStorageOffset(undefined, offset);
  requireInBounds(self, size, stride, offset);
  return asView(self, [...size], [...stride], offset);
}

/** Refuses a region that reaches beyond the storage. */
export function requireInBounds(
  self: Tensor,
  size: readonly number[],
  stride: readonly number[],
  offset: number,
): void {
  const item = self.dtype.itemsize;
  const needed = bytesNeeded(size, stride, offset, item);
  if (needed > self._storage.nbytes) {
    throw texts.setOutOfBounds(undefined, size, stride, offset, item, needed, self._storage.nbytes);
  }
}

/** `_implicit` is of no consequence, as in torch. */
export function expand(self: Tensor, size: readonly number[], _implicit = false): Tensor {
  const have = self._shape;
  const lead = size.length - have.length;
  if (lead < 0) throw texts.expandRank(undefined, legacyName(self.dtype), have, size, size.length, have.length);
  const shape = new Array<number>(size.length);
  const strides = new Array<number>(size.length);
  for (let d = size.length - 1; d >= 0; d--) {
    const own = d >= lead ? (have[d - lead] as number) : 1;
    let wanted = size[d] as number;
    if (wanted === -1) {
      if (d < lead) throw texts.expandInferredLeading(undefined, d);
      wanted = own;
    }
    if (wanted !== own && own !== 1) throw texts.expandMismatch(undefined, wanted, own, d, size, have);
    if (wanted < 0) throw texts.expandInvalidSize(undefined, wanted);
    shape[d] = wanted;
    strides[d] = expandedStride(self, d - lead, wanted, own, strides, shape, d);
  }
  return asView(self, shape, strides, self._offset);
}

function expandedStride(
  self: Tensor,
  at: number,
  wanted: number,
  own: number,
  strides: number[],
  shape: number[],
  d: number,
): number {
  if (self._shape.length === 0) return 0;
  if (at >= 0) return wanted === own ? (self._strides[at] as number) : 0;
  if (wanted !== 1) return 0;
  return d + 1 < shape.length ? (shape[d + 1] as number) * (strides[d + 1] as number) : 1;
}

export function transpose(self: Tensor, dim0: number, dim1: number): Tensor {
  const rank = self._shape.length;
  const a = wrapDim(dim0, rank);
  const b = wrapDim(dim1, rank);
  if (rank === 0) return alias(self);
  const shape = [...self._shape];
  const strides = [...self._strides];
  [shape[a], shape[b]] = [shape[b] as number, shape[a] as number];
  [strides[a], strides[b]] = [strides[b] as number, strides[a] as number];
  return asView(self, shape, strides, self._offset);
}

export function t(self: Tensor, inPlace = false): Tensor {
  if (self._shape.length > 2) throw texts.transposeRank(undefined, inPlace ? "t_" : "t", self._shape.length);
  return self._shape.length < 2 ? alias(self) : transpose(self, 0, 1);
}

export function permute(self: Tensor, dims: readonly number[]): Tensor {
  const rank = self._shape.length;
  if (dims.length !== rank) throw texts.permuteLength(undefined, rank, dims.length);
  const order = dims.map((d) => wrapDim(d, rank));
  if (new Set(order).size !== rank) throw texts.permuteDuplicates(undefined);
  const shape = order.map((d) => self._shape[d] as number);
  const strides = order.map((d) => self._strides[d] as number);
  return asView(self, shape, strides, self._offset);
}

export function squeezeAll(self: Tensor): Tensor {
  return squeeze(self, null);
}

export function squeeze(self: Tensor, dims: number | readonly number[] | null): Tensor {
  const rank = self._shape.length;
  const list = dims === null ? self._shape.map((_, d) => d) : typeof dims === "number" ? [dims] : dims;
  const drop = new Set<number>();
  for (const d of list) {
    const w = wrapDim(d, rank);
    if (dims !== null && drop.has(w)) throw texts.repeatedDim(undefined, w);
    drop.add(w);
  }
  const keep: number[] = [];
  for (let d = 0; d < rank; d++) if (!(drop.has(d) && self._shape[d] === 1)) keep.push(d);
  return asView(
    self,
    keep.map((d) => self._shape[d] as number),
    keep.map((d) => self._strides[d] as number),
    self._offset,
  );
}

export function unsqueeze(self: Tensor, dim: number): Tensor {
  const rank = self._shape.length;
  const d = wrapDim(dim, rank + 1);
  const { _shape: shape, _strides: strides } = self;
  const stride = d < rank ? (shape[d] as number) * (strides[d] as number) : 1;
  return asView(self, withMore(shape, d, 1), withMore(strides, d, stride), self._offset);
}

/** With one more element at a place: `splice` takes three times as long. */
function withMore(list: readonly number[], at: number, x: number): number[] {
  const more: number[] = [];
  for (let i = 0; i < at; i++) more.push(list[i] as number);
  more.push(x);
  for (let i = at; i < list.length; i++) more.push(list[i] as number);
  return more;
}

/** Without the element at a place. */
function without(list: readonly number[], at: number): number[] {
  const less: number[] = [];
  for (let i = 0; i < list.length; i++) if (i !== at) less.push(list[i] as number);
  return less;
}

export function select(self: Tensor, dim: number, index: number): Tensor {
  const rank = self._shape.length;
  if (rank === 0) throw texts.selectOfScalar(undefined);
  const d = wrapDim(dim, rank);
  const n = self._shape[d] as number;
  if (index < -n || index >= n) throw texts.selectOutOfRange(undefined, index, self._shape, d);
  const i = index < 0 ? index + n : index;
  const offset = self._offset + i * (self._strides[d] as number);
  return asView(self, without(self._shape, d), without(self._strides, d), offset);
}

/** A basic slice; bounds are clamped as Python does. */
export function slice(self: Tensor, dim: number, start: number | null, end: number | null, step: number): Tensor {
  const rank = self._shape.length;
  if (rank === 0) throw texts.rowsOfScalar(undefined);
  const d = wrapDim(dim, rank);
  if (step <= 0) throw texts.sliceStep(undefined);
  const n = self._shape[d] as number;
  const clamp = (v: number): number => Math.min(n, Math.max(0, v < 0 ? v + n : v));
  const from = clamp(start ?? 0);
  const to = Math.max(from, clamp(end ?? n));
  const shape = [...self._shape];
  const strides = [...self._strides];
  const stride = strides[d] as number;
  shape[d] = Math.ceil((to - from) / step);
  strides[d] = stride * step;
  return asView(self, shape, strides, self._offset + from * stride);
}

export function diagonal(self: Tensor, offset: number, dim1: number, dim2: number): Tensor {
  const rank = self._shape.length;
  const a = wrapDim(dim1, rank);
  const b = wrapDim(dim2, rank);
  if (a === b) throw texts.diagonalSameDims(undefined, dim1, dim2);
  const rows = self._shape[a] as number;
  const cols = self._shape[b] as number;
  const size = Math.max(0, offset >= 0 ? Math.min(rows, cols - offset) : Math.min(rows + offset, cols));
  const sa = self._strides[a] as number;
  const sb = self._strides[b] as number;
  const shift = size === 0 ? 0 : offset >= 0 ? offset * sb : -offset * sa;
  const keep = self._shape.map((_, d) => d).filter((d) => d !== a && d !== b);
  return asView(
    self,
    [...keep.map((d) => self._shape[d] as number), size],
    [...keep.map((d) => self._strides[d] as number), sa + sb],
    self._offset + shift,
  );
}

export function unfold(self: Tensor, dimension: number, size: number, step: number): Tensor {
  const rank = self._shape.length;
  const d = wrapDim(dimension, rank);
  const n = rank === 0 ? 1 : (self._shape[d] as number);
  if (size < 0) throw texts.unfoldSizeNegative(undefined, size);
  if (size > n) throw texts.unfoldSizeTooLarge(undefined, d, n, size);
  if (step <= 0) throw texts.unfoldStep(undefined, step);
  if (rank === 0) return asView(self, [size], [1], self._offset);
  const shape = [...self._shape, size];
  const strides = [...self._strides, self._strides[d] as number];
  shape[d] = Math.floor((n - size) / step) + 1;
  strides[d] = (self._strides[d] as number) * step;
  return asView(self, shape, strides, self._offset);
}
