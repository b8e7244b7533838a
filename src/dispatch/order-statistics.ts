/** Single elements of sorted lines: medians, the k-th, the most frequent. */

import { SortAttr, SortPick } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import type { Scalar } from "../tensor/complex.ts";
import { type DType, int64 } from "../tensor/dtype.ts";
import { dropCopy } from "../tensor/temporaries.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { denseOf, fill, transfer } from "./copy.ts";
import { type Named, named } from "./named.ts";
import { requireNoOverlap, requireNoPartialOverlap } from "./overlap.ts";
import { resultFor, writable } from "./reduce-layout.ts";
import { type Refusal, refuse } from "./refusals.ts";

const PAIR = ["values", "indices"] as const;
type Pair = Named<typeof PAIR>;
type Op = "median" | "nanmedian" | "kthvalue" | "mode";

interface Picked {
  readonly op: Op;
  readonly pick: number;
  readonly refusal: Refusal & { kernel: string };
}

const MEDIAN: Picked = { op: "median", pick: SortPick.median, refusal: REFUSALS.median_out };
const NANMEDIAN: Picked = { op: "nanmedian", pick: SortPick.nanmedian, refusal: REFUSALS.median_out };
const KTHVALUE: Picked = { op: "kthvalue", pick: SortPick.kth, refusal: REFUSALS.kthvalue_cpu };
const MODE: Picked = { op: "mode", pick: SortPick.mode, refusal: REFUSALS.mode_cpu };

/** The lines of a tensor along a dimension. */
interface Lines {
  readonly source: Tensor;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly at: number;
}

/** Writes one element of each line, and where it was, into tensors of the shape that is left. */
function launch(p: Picked, lines: Lines, rank: number, outs: readonly [Tensor, Tensor]): void {
  if (!hasWork(outs[0])) return;
  const { source, shape, at } = lines;
  const kept = shape.map((n, d) => (d === at ? 1 : n));
  const to = outs.map((o) => (writable(o, source) ? o : empty(o._shape, o.dtype, o._storage.device)));
  frame.begin(3, source.dtype.compute);
  for (const [i, t] of to.entries()) {
    const strides = t._shape.length === shape.length ? t._strides : t._strides.toSpliced(at, 0, 1);
    frame.operand(i, t._address(), t.dtype.id, kept, strides, 0);
  }
  frame.operand(2, source._address(), source.dtype.id, shape, lines.strides, 0);
  frame.attr(SortAttr.dim, at);
  frame.attr(SortAttr.descending, 0);
  frame.attr(SortAttr.wanted, rank);
  frame.attr(SortAttr.pick, p.pick);
  K.sort_pick.run(outs[0]._storage.device, p.op, source.dtype.scalarType);
  outs.forEach((o, i) => {
    if (to[i] !== o) transfer(o, to[i] as Tensor);
  });
}

const ONE: readonly number[] = [1];

/** A tensor without dimensions is one line of one element. */
function linesOf(self: Tensor, at: number): Lines {
  const source = self._bits === 0 ? self : denseOf(self);
  if (source._shape.length === 0) return { source, shape: ONE, strides: ONE, at: 0 };
  return { source, shape: source._shape, strides: source._strides, at };
}

/** In torch's order, before anything is resized. */
function requireDtypes(p: Picked, self: Tensor, out: readonly Tensor[] | undefined): void {
  if (out === undefined) return;
  const [values, indices] = (out as [Tensor, Tensor]).map((t) => t.dtype) as [DType, DType];
  const [sameType, places] = [values === self.dtype, indices === int64];
  const { scalarType } = self.dtype;
  if (p === MODE) {
    if (!sameType) throw texts.modeResult(p.op, scalarType, values.scalarType, "values");
    if (!places) throw texts.modeResult(p.op, int64.scalarType, indices.scalarType, "indices");
  } else if (p === KTHVALUE) {
    if (!sameType) throw texts.kthValues(p.op);
    if (!places) throw texts.kthIndices(p.op);
  } else {
    if (!places) throw texts.medianIndices(p.op, indices.scalarType);
    if (!sameType) throw texts.medianValues(p.op, values.scalarType, scalarType);
  }
}

/** Where no kernel is asked, any dtype will do. */
function needsNoKernel(p: Picked, self: Tensor): boolean {
  if (self._shape.length === 0) return p === MODE || p === KTHVALUE;
  return p === MODE && self._numel === 0;
}

function along(p: Picked, self: Tensor, dim: number, rank: number, keepdim: boolean, out?: readonly Tensor[]): Pair {
  if (p === MODE) requireDtypes(p, self, out);
  const at = wrapDim(dim, self._shape.length, p.op);
  const size = self._shape.length === 0 ? 1 : (self._shape[at] as number);
  if (size === 0) throw texts.emptyReductionDim(p === NANMEDIAN ? "median" : p.op, at);
  if (p === KTHVALUE && !(rank >= 1 && rank <= size)) throw texts.kthOutOfRange(p.op, at);
  if (p !== MODE) requireDtypes(p, self, out);
  const trivial = needsNoKernel(p, self);
  if (!trivial) refuse(p.refusal, self.dtype, p.op);
  // A median may be written over all of what it is taken of, and where its lines are copied over parts of that.
  if (p === MODE || p === KTHVALUE) for (const o of out ?? []) requireNoOverlap(o, self);
  else if (at === self._shape.length - 1) for (const o of out ?? []) requireNoPartialOverlap(o, self);
  const shape = self._shape.flatMap((n, d) => (d === at ? (keepdim ? [1] : []) : [n]));
  const values = resultFor(self, shape, self.dtype, out?.[0], p.op);
  const indices = resultFor(self, shape, int64, out?.[1], p.op);
  if (!hasWork(values)) return named(p.op, PAIR, [values, indices]);
  if (trivial) {
    transfer(values, self);
    fill(indices, 0);
  } else launch(p, linesOf(self, at), rank, [values, indices]);
  return named(p.op, PAIR, [values, indices]);
}

export function medianDim(self: Tensor, dim: number, keepdim: boolean, out?: readonly Tensor[]): Pair {
  return along(MEDIAN, self, dim, 1, keepdim, out);
}

export function nanmedianDim(self: Tensor, dim: number, keepdim: boolean, out?: readonly Tensor[]): Pair {
  return along(NANMEDIAN, self, dim, 1, keepdim, out);
}

export function mode(self: Tensor, dim: number, keepdim: boolean, out?: readonly Tensor[]): Pair {
  return along(MODE, self, dim, 1, keepdim, out);
}

export function kthvalue(self: Tensor, k: number, dim: number, keepdim: boolean, out?: readonly Tensor[]): Pair {
  return along(KTHVALUE, self, dim, k, keepdim, out);
}

/** What a processor makes of NaN when it is asked for the dtype. */
function valueOfNone(d: DType): Scalar {
  if (d.category >= 2) return Number.NaN;
  if (d.category === 0) return true;
  if (d.itemsize < 4) return 0;
  const least = 2n ** BigInt(8 * d.itemsize - 1);
  if (d.isSigned) return -least;
  return d.itemsize === 8 ? least : 0;
}

/** Of all elements, in one line. */
function whole(p: Picked, self: Tensor): Tensor {
  const result = empty([], self.dtype, self._storage.device);
  if (self._numel === 0) return fill(result, valueOfNone(self.dtype));
  refuse(REFUSALS.median_cpu, self.dtype, p.op);
  const places = empty([], int64, self._storage.device);
  const source = denseOf(self);
  launch(p, { source, shape: [self._numel], strides: ONE, at: 0 }, 1, [result, places]);
  dropCopy(source, self);
  return result;
}

export function median(self: Tensor): Tensor {
  return whole(MEDIAN, self);
}

export function nanmedian(self: Tensor): Tensor {
  return whole(NANMEDIAN, self);
}
