/** Sorting: sort, argsort, topk. */

import { SortAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { bool, int64 } from "../tensor/dtype.ts";
import { contiguousStrides } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { empty, emptyWith, preservedStrides } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { denseOf, transfer } from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { type Named, named } from "./named.ts";
import { prepareOut } from "./out.ts";
import { requireNoInternalOverlap, requireNoPartialOverlap } from "./overlap.ts";
import { arange } from "./ranges.ts";
import { isShortFloat, requireOutDtype, writable } from "./reduce-layout.ts";
import { asView } from "./views.ts";

const PAIR = ["values", "indices"] as const;
type Pair = Named<typeof PAIR>;

/** Values and positions in a shape: fresh with given strides, or the tensors that the caller gave. */
function targets(
  op: string,
  self: Tensor,
  shape: readonly number[],
  strides: readonly number[],
  out: readonly Tensor[] | undefined,
): [Tensor, Tensor] {
  if (out === undefined) {
    const { device } = self._storage;
    return [emptyWith(shape, strides, self.dtype, device), emptyWith(shape, strides, int64, device)];
  }
  const [values, indices] = out as [Tensor, Tensor];
  // Both before either is resized: a call that fails leaves them as they were.
  requireOutDtype(values, self.dtype);
  requireOutDtype(indices, int64);
  prepareOut(values, shape);
  prepareOut(indices, shape);
  requireNoInternalOverlap(values, op);
  requireNoInternalOverlap(indices, op);
  requireNoPartialOverlap(values, self, op);
  if (op === "topk") requireNoPartialOverlap(indices, self, op);
  return [values, indices];
}

/** How a kernel sorts: the first `wanted` of a line, of all when null. */
interface Order {
  readonly descending: boolean;
  readonly wanted: number | null;
}

/** Runs a kernel on lines along `dim`. */
function launch(k: Kernel, op: string, self: Tensor, dim: number, outs: readonly Tensor[], order: Order): void {
  const first = outs[0] as Tensor;
  if (!hasWork(first)) return;
  const source = self._bits === 0 ? self : denseOf(self);
  const to = outs.map((o) => (writable(o, source) ? o : empty(o._shape, o.dtype, o._storage.device)));
  // A 0-dim tensor is one line of one element.
  const scalar = self._shape.length === 0;
  const one = [1];
  frame.begin(3, source.dtype.compute);
  for (let i = 0; i < 3; i++) {
    const t = i < 2 ? (to[i] as Tensor) : source;
    frame.operand(i, t._address(), t.dtype.id, scalar ? one : t._shape, scalar ? one : t._strides, 0);
  }
  frame.attr(SortAttr.dim, dim);
  frame.attr(SortAttr.descending, order.descending ? 1 : 0);
  if (order.wanted !== null) frame.attr(SortAttr.wanted, order.wanted);
  k.run(first._storage.device, op, self.dtype.scalarType);
  outs.forEach((o, i) => {
    if (to[i] !== o) transfer(o, to[i] as Tensor);
  });
}

function sorted(
  self: Tensor,
  dim: number,
  descending: boolean,
  out: readonly Tensor[] | undefined,
  placesOnly = false,
): [Tensor, Tensor] {
  const at = wrapDim(dim, self._shape.length, "sort");
  if (self.dtype.category === 3) throw texts.sortOfComplex("sort");
  const outs = targets("sort", self, self._shape, preservedStrides(self), out);
  if (isShortFloat(self.dtype)) {
    throw texts.notImplementedFor(undefined, "sorting_kernel_method_name", self.dtype.scalarType);
  }
  if (out === undefined && self._strides[at] === 0 && hasWork(outs[0])) inOrder(self, at, outs, placesOnly);
  else launch(K.sort_sort, "sort", self, at, outs, { descending, wanted: null });
  return outs;
}

/** Along a dimension that repeats one element all are equal, and stay where they are. */
function inOrder(self: Tensor, at: number, [values, indices]: [Tensor, Tensor], placesOnly: boolean): void {
  if (!placesOnly) transfer(values, self);
  const places = arange(self._shape[at] as number, int64, indices._storage.device, false);
  const steps = self._shape.map((_, d) => (d === at ? 1 : 0));
  transfer(indices, asView(places, self._shape, steps, 0));
}

export function sort(self: Tensor, dim: number, descending: boolean, out?: readonly Tensor[]): Pair {
  return named("sort", PAIR, sorted(self, dim, descending, out));
}

/** All sorts here are stable. */
export function sortStable(
  self: Tensor,
  dim: number,
  descending: boolean,
  _stable: boolean | null,
  out?: readonly Tensor[],
): Pair {
  return named("sort", PAIR, sorted(self, dim, descending, out));
}

/** The values' memory serves the next call. */
export function argsort(self: Tensor, dim: number, descending: boolean): Tensor {
  const [values, indices] = sorted(self, dim, descending, undefined, true);
  values.dispose();
  return indices;
}

export function argsortStable(self: Tensor, dim: number, descending: boolean, _stable: boolean): Tensor {
  return argsort(self, dim, descending);
}

export function topk(
  self: Tensor,
  k: number,
  dim: number,
  largest: boolean,
  _sorted: boolean,
  out?: readonly Tensor[],
): Pair {
  requireKept(self._storage);
  const rank = self._shape.length;
  const at = wrapDim(dim, rank, "topk");
  const size = rank === 0 ? 1 : (self._shape[at] as number);
  if (!Number.isInteger(k) || k < 0 || k > size) throw texts.topkOutOfRange("topk");
  const shape = self._shape.map((n, d) => (d === at ? k : n));
  const strides = contiguousStrides(shape);
  if (self.dtype.category === 3) throw texts.topkOfComplex("topk");
  if (self.dtype === bool) throw texts.topkOfBool("topk");
  const outs = targets("topk", self, shape, strides, out);
  if (isShortFloat(self.dtype)) throw texts.notImplementedFor("topk", "topk_cpu", self.dtype.scalarType);
  // torch gives the one element of a 0-dim tensor for k = 0 too.
  launch(K.sort_topk, "topk", self, at, outs, { descending: largest, wanted: rank === 0 ? 1 : k });
  return named("topk", PAIR, outs);
}
