/** Helpers that gradient formulas name, and what the engine needs of the operators. */
import { emptyLike, isDense, preservedStrides } from "../dispatch/allocate.ts";
import * as copy from "../dispatch/copy.ts";
import { gradMode } from "../dispatch/mode.ts";
import { mayOverlap } from "../dispatch/overlap.ts";
import * as views from "../dispatch/views.ts";
import { sameSizes } from "../tensor/size.ts";
import { Storage } from "../tensor/storage.ts";
import { makeStrided, type Tensor } from "../tensor/tensor.ts";
import type { OutputMeta } from "./node.ts";
import type { Region } from "./view-nodes.ts";

export * from "./formulas-common.ts";
export * from "./formulas-indexing.ts";
export * from "./formulas-matrix.ts";
export * from "./formulas-pointwise.ts";
export * from "./formulas-reduction.ts";

/** Sums a gradient over the dimensions that broadcasting added or stretched. */
export function sumTo(grad: Tensor, shape: readonly number[]): Tensor {
  if (sameSizes(grad._shape, shape)) return grad;
  const lead = grad._shape.length - shape.length;
  const dims: number[] = [];
  for (let d = 0; d < grad._shape.length; d++) {
    if (d < lead || (shape[d - lead] === 1 && grad._shape[d] !== 1)) dims.push(d);
  }
  const summed = dims.length > 0 ? grad.sum(dims, { keepdim: true }) : grad;
  return lead > 0 ? summed.view(shape) : summed;
}

/** Makes a gradient fit the output that it belongs to: shape, realness and dtype. */
export function conform(grad: Tensor, meta: OutputMeta): Tensor {
  let g = grad;
  if (!sameSizes(g._shape, meta.shape)) g = sumTo(g, meta.shape);
  if (g.dtype === meta.dtype) return g;
  if (g.dtype.category === 3 && meta.dtype.category !== 3) g = g.real;
  return g.dtype === meta.dtype ? g : g.to(meta.dtype);
}

/** a + b; into `a` when it belongs to nobody else. */
export function accumulate(a: Tensor, b: Tensor, inPlace: boolean): Tensor {
  return inPlace ? a.add_(b) : a.add(b);
}

/** The first gradient of a leaf: its own bytes, in the leaf's layout. */
export function firstGradient(leaf: Tensor, grad: Tensor, fresh: boolean): Tensor {
  if (gradMode.enabled) return isDense(grad._shape, grad._strides) ? grad : grad.clone();
  const wanted = preservedStrides(leaf);
  if (fresh && grad._bits === 0 && sameSizes(grad._strides, wanted)) return grad;
  const r = emptyLike(leaf, grad.dtype);
  copy.copyInto(r, grad);
  return r;
}

/** The elements of a region, as a tensor with the region's strides that starts at offset 0. */
export function copyToRegion(grad: Tensor, region: Region): Tensor {
  const r = regionTensor(region, grad);
  copy.copyInto(r, grad);
  return r;
}

function regionTensor(region: Region, like: Tensor): Tensor {
  let reach = 0;
  let empty = false;
  region.shape.forEach((n, d) => {
    if (n === 0) empty = true;
    reach += (n - 1) * (region.strides[d] as number);
  });
  const nbytes = empty ? 0 : (reach + 1) * like.dtype.itemsize;
  return makeStrided(Storage.allocate(nbytes), 0, region.shape, region.strides, like.dtype);
}

/** The part of a base's copy where a view lies. */
export function sliceOf(whole: Tensor, base: Region, view: Region): Tensor {
  return views.asView(whole, view.shape, view.strides, view.offset - base.offset);
}

/** How many elements a region reaches over, its own offset not counted. */
function reachOf(r: Region): number {
  let last = 0;
  r.shape.forEach((n, d) => {
    last += (n - 1) * (r.strides[d] as number);
  });
  return last + 1;
}

/** The gradient of a strided view: added where the view read. What the base holds several times shares it. */
export function asStridedBackward(grad: Tensor, base: Region, view: Region): Tensor {
  if (grad._numel === 0 || base.shape.includes(0)) return grad.newZeros(base.shape);
  const low = Math.min(base.offset, view.offset);
  const baseAt = base.offset - low;
  const viewAt = view.offset - low;
  const size = Math.max(baseAt + reachOf(base), viewAt + reachOf(view));
  // Repeated elements are summed first, so that what is left seldom overlaps.
  const kept = view.shape.map((n, d) => n === 1 || view.strides[d] !== 0);
  const repeated = kept.flatMap((keep, d) => (keep ? [] : [d]));
  const summed = repeated.length === 0 ? grad : grad.sum(repeated);
  const shape = view.shape.filter((_, d) => kept[d]);
  const strides = view.strides.filter((_, d) => kept[d]);
  let flat = grad.newZeros([size]);
  const places = (s: readonly number[], k: readonly number[], at: number): Tensor =>
    views.asStrided(counting(size), s, k, at).reshape([-1]);
  if (mayOverlap({ _shape: shape, _strides: strides })) {
    flat.scatterAdd_(0, places(shape, strides, viewAt), summed.reshape([-1]));
  } else flat.asStrided(shape, strides, viewAt).copy_(summed);
  if (mayOverlap({ _shape: base.shape, _strides: base.strides })) {
    const at = places(base.shape, base.strides, baseAt);
    flat = flat.div(grad.newZeros([size]).scatterAdd_(0, at, grad.newOnes(at._shape)));
  }
  return flat.asStrided(base.shape, base.strides, baseAt);
}

function counting(n: number): Tensor {
  return copy.indexTensor(Array.from({ length: n }, (_, i) => BigInt(i)));
}

/** Undoes a permutation. */
export function permuteBackward(grad: Tensor, dims: readonly number[]): Tensor {
  const inverse = new Array<number>(dims.length);
  dims.forEach((d, i) => {
    inverse[d < 0 ? d + dims.length : d] = i;
  });
  return grad.permute(inverse);
}

/** Puts back the dimensions of size one that squeeze removed. */
export function unsqueezeTo(grad: Tensor, shape: readonly number[]): Tensor {
  return grad.view(shape);
}

/** The gradient of one element along a dimension. */
export function selectBackward(grad: Tensor, shape: readonly number[], dim: number, index: number): Tensor {
  const g = grad.newZeros(shape);
  g.select(dim, index).copy_(grad);
  return g;
}

export function sliceBackward(
  grad: Tensor,
  shape: readonly number[],
  dim: number,
  start: number | null,
  end: number | null,
  step: number,
): Tensor {
  const g = grad.newZeros(shape);
  g.slice(dim, start, end, step).copy_(grad);
  return g;
}

export function diagonalBackward(
  grad: Tensor,
  shape: readonly number[],
  offset: number,
  dim1: number,
  dim2: number,
): Tensor {
  const g = grad.newZeros(shape);
  g.diagonal(offset, dim1, dim2).copy_(grad);
  return g;
}

export function unfoldBackward(
  grad: Tensor,
  shape: readonly number[],
  dim: number,
  size: number,
  step: number,
): Tensor {
  if (shape.length === 0) return size === 0 ? grad.newZeros([]) : grad.reshape([]);
  const g = grad.newZeros(shape);
  const d = dim < 0 ? dim + shape.length : dim;
  for (let i = 0; i < (grad._shape[d] as number); i++) {
    g.narrow(d, i * step, size).add_(grad.select(d, i).movedim(-1, d));
  }
  return g;
}

/** Puts the gradients of parts together; parts without one count as zero. */
export function joinParts(
  grads: readonly (Tensor | null)[],
  shape: readonly number[],
  dim: number,
  sizes: readonly number[],
): (Tensor | null)[] {
  const some = grads.find((g) => g !== null && g !== undefined);
  if (!some) return [null];
  const g = some.newZeros(shape);
  let at = 0;
  sizes.forEach((n, i) => {
    const part = grads[i];
    if (part) g.narrow(dim, at, n).copy_(part);
    at += n;
  });
  return [g];
}

export function unbindBackward(
  grads: readonly (Tensor | null)[],
  shape: readonly number[],
  dim: number,
): (Tensor | null)[] {
  const some = grads.find((g) => g !== null && g !== undefined);
  if (!some) return [null];
  const g = some.newZeros(shape);
  grads.forEach((part, i) => {
    if (part) g.select(dim, i).copy_(part);
  });
  return [g];
}

/** The sizes that split() gave. */
export function splitSizes(total: number, size: number): number[] {
  const out: number[] = [];
  for (let at = 0; at < total; at += size) out.push(Math.min(size, total - at));
  return out.length === 0 ? [0] : out;
}

export function splitBackward(
  grads: readonly (Tensor | null)[],
  shape: readonly number[],
  size: number,
  dim: number,
): (Tensor | null)[] {
  const d = dim < 0 ? dim + shape.length : dim;
  return joinParts(grads, shape, dim, splitSizes(shape[d] as number, size));
}

/** Zeros of a gradient's shape: nothing flows back, not even NaN. */
export function zerosOf(grad: Tensor): Tensor {
  return grad.newZeros(grad._shape);
}

/** The gradient of a strided view, of the tensor that it was taken from. */
export function asStridedGrad(
  grad: Tensor,
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
  size: readonly number[],
  stride: readonly number[],
  storageOffset: number | null,
): Tensor {
  const view = { shape: size, strides: stride, offset: storageOffset ?? offset };
  return asStridedBackward(grad, { shape, strides, offset }, view);
}
