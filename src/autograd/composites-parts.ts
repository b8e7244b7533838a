/** Diagonals and blocks of matrices, grids, distances. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { gradMode, requiresGrad } from "../dispatch/mode.ts";
import { type Named, named } from "../dispatch/named.ts";
import { requireNoOverlap } from "../dispatch/overlap.ts";
import { batchOf } from "../tensor/batched.ts";
import { bool, int64 } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { requireRealGradient } from "./tracking.ts";

type Out = Tensor | undefined;

export function diag(self: Tensor, k: number, out?: Out): Tensor {
  const rank = self._shape.length;
  if (rank !== 1 && rank !== 2) throw texts.diagRank("diag", rank);
  const copied = rank === 1 ? O.diag_embed(self, k, 0, 1) : O.diagonal(self, k, 0, 1).clone();
  if (out === undefined) return copied;
  out.resize_(copied._shape);
  return out.copy_(copied);
}

export function diagflat(self: Tensor, offset: number): Tensor {
  return O.diag_embed(self.reshape([-1]), offset, 0, 1);
}

/** A copy whose part that `view` shows is `src`. */
function scattered(self: Tensor, src: Tensor, view: (t: Tensor) => Tensor, op: string): Tensor {
  requireKept(src._storage);
  // With many sources for one tensor each has a copy of its own.
  const alone = batchOf(src) === null || batchOf(self) !== null;
  const r = alone ? self.clone() : src.newEmpty(self._shape, { dtype: self.dtype }).copy_(self);
  const part = view(r);
  if (!sameSizes(part._shape, src._shape)) throw texts.scatterSlice(op, src._shape, part._shape);
  part.copy_(src);
  return r;
}

/** Refuses gradients of a result of integers. */
function requireFloats(r: Tensor, ...operands: readonly Tensor[]): void {
  if (r.dtype.category > 1 || !gradMode.enabled || !operands.some(requiresGrad)) return;
  throw texts.noAutogradForDtype(undefined, r.dtype.scalarType);
}

function requireGradients(op: string, r: Tensor, ...operands: readonly Tensor[]): void {
  requireFloats(r, ...operands);
  requireRealGradient(op, r);
}

export function diagonalScatter(self: Tensor, src: Tensor, offset: number, dim1: number, dim2: number): Tensor {
  const r = scattered(self, src, (t) => O.diagonal(t, offset, dim1, dim2), "diagonal_scatter");
  requireFloats(r, self, src);
  return r;
}

export function sliceScatter(
  self: Tensor,
  src: Tensor,
  dim: number,
  start: number | null,
  end: number | null,
  step: number,
): Tensor {
  const r = scattered(self, src, (t) => O.slice(t, dim, start, end, step), "slice_scatter");
  requireGradients("slice_scatter", r, self, src);
  return r;
}

export function selectScatter(self: Tensor, src: Tensor, dim: number, index: number): Tensor {
  const r = scattered(self, src, (t) => O.select(t, dim, index), "select_scatter");
  requireGradients("select_scatter", r, self, src);
  return r;
}

export function linalgDiagonal(a: Tensor, offset: number, dim1: number, dim2: number): Tensor {
  return O.diagonal(a, offset, dim1, dim2);
}

export function blockDiag(tensors: readonly Tensor[]): Tensor {
  const op = "block_diag";
  tensors.forEach((t, i) => {
    if (t._shape.length > 2) throw texts.blockRank(op, i, t._shape.length);
  });
  if (tensors.length === 0) return O.zeros([1, 0], null, null, false);
  const blocks = tensors.map((t) => (t._shape.length === 2 ? t : t.reshape([1, t._numel])));
  const width = blocks.reduce((n, t) => n + (t._shape[1] as number), 0);
  let at = 0;
  const rows = blocks.map((t) => {
    const [height, own] = t._shape as [number, number];
    const left = t.newZeros([height, at]);
    at += own;
    return O.cat([left, t, t.newZeros([height, width - at])], 1);
  });
  return O.cat(rows, 0);
}

export function meshgrid(tensors: readonly Tensor[], indexing: string): Tensor[] {
  const op = "meshgrid";
  if (tensors.length === 0) throw texts.meshgridOfNone(op);
  const first = tensors[0] as Tensor;
  for (const t of tensors) {
    if (t.dtype !== first.dtype) throw texts.meshgridDtypes(op);
  }
  if (indexing !== "ij" && indexing !== "xy") throw texts.meshgridIndexing(op, indexing);
  for (const t of tensors) if (t._shape.length > 1) throw texts.meshgridRank(op, t._shape);
  const swaps = indexing === "xy" && tensors.length >= 2;
  const order = swaps ? [tensors[1] as Tensor, first, ...tensors.slice(2)] : tensors;
  const shape = order.map((t) => t._numel);
  const grids = order.map((t, i) => {
    const column = t.view(shape.map((_, d) => (d === i ? t._numel : 1)));
    return O.expand(column, shape, false);
  });
  if (swaps) [grids[0], grids[1]] = [grids[1] as Tensor, grids[0] as Tensor];
  return grids;
}

/** Above this many rows torch takes the squared distances as a product of matrices. */
const FEW_ROWS = 25;

/** Whether the distances are taken so; null where it depends on the rows. */
const PRODUCTS: Readonly<Record<string, boolean | null>> = {
  use_mm_for_euclid_dist_if_necessary: null,
  use_mm_for_euclid_dist: true,
  donot_use_mm_for_euclid_dist: false,
};

export function cdist(x1: Tensor, x2: Tensor, p: number, mode: string | null): Tensor {
  const op = "cdist";
  if (mode !== null && !Object.hasOwn(PRODUCTS, mode)) throw texts.cdistMode(op, mode);
  [x1, x2].forEach((t, i) => {
    if (t._shape.length < 2) throw texts.cdistRank(op, i + 1, t._shape.length);
  });
  const [m1, m2] = [x1._shape.at(-1) as number, x2._shape.at(-1) as number];
  if (m1 !== m2) throw texts.cdistColumns(op, m1, m2);
  [x1, x2].forEach((t, i) => {
    if (!t.dtype.isFloatingPoint) throw texts.cdistDtype(op, i + 1, t.dtype.scalarType);
  });
  if (p < 0) throw texts.cdistPower(op);
  if (x1.dtype !== x2.dtype) throw texts.scalarTypeDiffers(op, x1.dtype.scalarType, x2.dtype.scalarType);
  const [rows, others] = [x1._shape.at(-2) as number, x2._shape.at(-2) as number];
  const many = rows > FEW_ROWS || others > FEW_ROWS;
  const product = mode === null ? null : PRODUCTS[mode];
  if (p === 2 && (product ?? many) && m1 > 0) return euclidean(x1, x2);
  const apart = x1.unsqueeze(-2).sub(x2.unsqueeze(-3));
  if (apart.dtype.itemsize < 4 && apart._numel > 0) throw texts.notImplementedFor(op, op, apart.dtype.scalarType);
  const lengths = O.linalg_vector_norm(apart, p, [-1], false, null);
  if (p === Number.POSITIVE_INFINITY && requiresGrad(lengths)) return withEachLargest(lengths.detach(), apart);
  // How many differ does not change: a gradient of zeros, where a norm has none.
  return p === 0 ? lengths.add(apart.maskedFill(apart.newOnes([]).to(bool), 0).sum(-1)) : lengths;
}

/** The lengths, with a gradient to each of several that are the largest, where a norm shares it among them. */
function withEachLargest(lengths: Tensor, apart: Tensor): Tensor {
  const sizes = apart.detach();
  const signs = sizes.sgn().mul(sizes.abs().eq(lengths.unsqueeze(-1)));
  const largest = apart.mul(signs).sum(-1);
  return lengths.add(largest.sub(largest.detach()));
}

/** By |a|^2 - 2 a b + |b|^2: one product instead of a difference for each pair. */
function euclidean(a: Tensor, b: Tensor): Tensor {
  const lengths = (t: Tensor): Tensor => t.pow(2).sum(-1, { keepdim: true });
  const [la, lb] = [lengths(a), lengths(b)];
  const ones = (t: Tensor): Tensor => t.newOnes(t._shape);
  const left = O.cat([a.mul(-2), la, ones(la)], -1);
  const right = O.cat([b, ones(lb), lb], -1);
  const squares = O.matmul(left, O.transpose(right, -2, -1)).clampMin(0);
  // Equal rows have no slope.
  const zero = squares.eq(0);
  return squares.maskedFill(zero, 1).sqrt().maskedFill(zero, 0);
}

function requireApart(low: Tensor, high: Tensor): void {
  try {
    requireNoOverlap(low, high, "aminmax");
  } catch {
    throw texts.aminmaxOut("aminmax");
  }
}

export function aminmax(
  self: Tensor,
  dim: number | null,
  keepdim: boolean,
  out?: readonly Tensor[],
): Named<readonly ["min", "max"]> {
  if (self.dtype.category === 3) throw texts.aminmaxComplex("aminmax", self.dtype.scalarType);
  if (dim === null && self._numel === 0) throw texts.aminmaxOfNone("aminmax");
  const dims = dim === null ? [] : [dim];
  if (dim !== null && self._shape.length > 0) {
    const d = dim < 0 ? dim + self._shape.length : dim;
    if (self._shape[d] === 0) throw texts.aminmaxDim("aminmax", d);
  }
  const [low, high] = out ?? [];
  if (low !== undefined && low._storage === high?._storage) requireApart(low, high);
  return named("aminmax", ["min", "max"], [O.amin(self, dims, keepdim, low), O.amax(self, dims, keepdim, high)]);
}

export function countNonzero(self: Tensor, dim: number | readonly number[] | null): Tensor {
  return O.sum_dim_IntList(O.ne(self, 0), dim, false, int64);
}
