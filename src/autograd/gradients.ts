/** What the engine does with gradients: makes them fit, adds them up, and cuts them to regions of views. */
import { emptyLike, isDense, preservedStrides } from "../dispatch/allocate.ts";
import { backendOf } from "../dispatch/backend.ts";
import * as copy from "../dispatch/copy.ts";
import { contiguousFormat } from "../dispatch/memory-format.ts";
import { gradMode } from "../dispatch/mode.ts";
import { mayOverlap } from "../dispatch/overlap.ts";
import * as views from "../dispatch/views.ts";
import type { Device } from "../tensor/device.ts";
import { sameSizes } from "../tensor/size.ts";
import { makeStrided, type Tensor } from "../tensor/tensor.ts";
import type { OutputMeta } from "./node.ts";

/** Where elements lie in a storage. */
export interface Region {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/** Sums a gradient over the dimensions that broadcasting added or stretched. */
export function sumTo(grad: Tensor, shape: readonly number[]): Tensor {
  if (sameSizes(grad._shape, shape)) return grad;
  const lead = grad._shape.length - shape.length;
  const dims: number[] = [];
  grad._shape.forEach((n, d) => {
    if (d < lead || (shape[d - lead] === 1 && n !== 1)) dims.push(d);
  });
  const summed = grad.sum(dims, { keepdim: true });
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
  // Recorded, it is a copy too: what is done to it in place does not reach the graph.
  if (gradMode.enabled) {
    if (!isDense(leaf._shape, leaf._strides)) return grad.clone({ memoryFormat: contiguousFormat });
    return grad.newEmptyStrided(leaf._shape, leaf._strides).copy_(grad);
  }
  const wanted = preservedStrides(leaf);
  if (fresh && grad._bits === 0 && sameSizes(grad._strides, wanted)) return grad;
  const r = emptyLike(leaf, grad.dtype);
  copy.copyInto(r, grad);
  return r;
}

/**
 * The elements of a region, as a tensor with the region's strides that starts at offset 0. By operators where those are
 * heard: they are recorded, or the gradient stands for many.
 */
export function copyToRegion(grad: Tensor, region: Region): Tensor {
  if (gradMode.enabled || grad._storage.watched) {
    return grad.newEmptyStrided(region.shape, region.strides).copy_(grad);
  }
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
  return makeStrided(backendOf(like.device).allocate(nbytes, like.device), 0, region.shape, region.strides, like.dtype);
}

/** The part of a base's copy where a view lies. */
export function sliceOf(whole: Tensor, base: Region, view: Region): Tensor {
  if (gradMode.enabled || whole._storage.watched) {
    return whole.asStrided(view.shape, view.strides, view.offset - base.offset);
  }
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
  if (mayOverlap({ _shape: shape, _strides: strides })) {
    flat.scatterAdd_(0, placesOf(size, { shape, strides, offset: viewAt }, grad.device), summed.reshape([-1]));
  } else flat.asStrided(shape, strides, viewAt).copy_(summed);
  if (mayOverlap({ _shape: base.shape, _strides: base.strides })) {
    const at = placesOf(size, { ...base, offset: baseAt }, grad.device);
    flat = flat.div(grad.newZeros([size]).scatterAdd_(0, at, grad.newOnes(at._shape)));
  }
  return flat.asStrided(base.shape, base.strides, baseAt);
}

/** Which of `size` elements a region has, one after the other. */
function placesOf(size: number, { shape, strides, offset }: Region, device: Device): Tensor {
  return views.asStrided(counting(size, device), shape, strides, offset).reshape([-1]);
}

/** The tangent of a strided view of its base, whose own has another layout. */
export function stridedTangent(tangent: Tensor, base: Region, view: Region): Tensor {
  if (tangent._numel === 0 || view.shape.includes(0)) return tangent.newZeros(view.shape);
  const low = Math.min(base.offset, view.offset);
  const [baseAt, viewAt] = [base.offset - low, view.offset - low];
  let flat = tangent.newZeros([Math.max(baseAt + reachOf(base), viewAt + reachOf(view))]);
  if (mayOverlap({ _shape: base.shape, _strides: base.strides })) {
    // What the base holds several times is the mean of what stands there.
    const at = placesOf(flat._numel, { ...base, offset: baseAt }, tangent.device);
    const counts = flat.scatterAdd(0, at, tangent.newOnes(at._shape));
    flat = flat.scatterAdd(0, at, tangent.reshape([-1])).div(counts.maskedFill(counts.eq(0), 1));
  } else flat.asStrided(base.shape, base.strides, baseAt).copy_(tangent);
  return flat.asStrided(view.shape, view.strides, viewAt);
}

function counting(n: number, device: Device): Tensor {
  return copy.onDevice(copy.indexTensor(Array.from({ length: n }, (_, i) => BigInt(i))), device);
}
