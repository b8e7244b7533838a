/** Reductions to extremes: max, min, amax, amin, argmax, argmin. */

import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import { bool, int64 } from "../tensor/dtype.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { denseOf, fill } from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { type Named, named } from "./named.ts";
import { requireNoOverlap } from "./overlap.ts";
import { canCast } from "./promotion.ts";
import {
  type Dims,
  direct,
  reduced,
  reducedAll,
  reducedDims,
  reducedShape,
  reduceInto,
  requireOutDtype,
  resultFor,
} from "./reduce-layout.ts";
import { refuse } from "./refusals.ts";

function emptyExtreme(op: string): never {
  throw texts.dimNeededForEmpty(op);
}

/** Refuses reduced dimensions of size zero, which have no extreme. */
function requireElements(self: Tensor, mask: readonly boolean[], op: string): void {
  for (let d = 0; d < mask.length; d++) {
    if (mask[d] && self._shape[d] === 0) throw texts.emptyReductionDim(op, d);
  }
}

/** As `requireElements`, naming the dimension as it was given. */
function requireElementsAt(self: Tensor, dim: number, op: string): void {
  if (self._shape.at(dim) !== 0) return;
  throw texts.emptyReductionDim(op, dim);
}

function extremeAll(op: "max" | "min", k: Kernel, self: Tensor, out: Tensor | undefined): Tensor {
  if (self._numel === 0) emptyExtreme(op);
  refuse(REFUSALS[`${op}_all`], self.dtype);
  if (out === undefined && direct(self)) {
    return reducedAll(k, op, self, self.dtype, self.dtype.compute);
  }
  if (out !== undefined && !canCast(self.dtype, out.dtype)) throw texts.extremesOutCast(op);
  const mask = reducedDims(null, self._shape.length, op);
  return reduced(k, op, self, mask, false, out?.dtype ?? self.dtype, out, self.dtype);
}

export function max(self: Tensor, out?: Tensor): Tensor {
  return extremeAll("max", K.reduce_max, self, out);
}

export function min(self: Tensor, out?: Tensor): Tensor {
  return extremeAll("min", K.reduce_min, self, out);
}

const PAIR = ["values", "indices"] as const;

function extremeDim(
  op: "max" | "min",
  k: Kernel,
  self: Tensor,
  dim: number,
  keepdim: boolean,
  out: readonly Tensor[] | undefined,
): Named<readonly ["values", "indices"]> {
  const rank = self._shape.length;
  const at = wrapDim(dim, rank, op);
  const mask = reducedDims(at, rank, op);
  requireElements(self, mask, op);
  if (self.dtype.category === 3) throw texts.noComplexInput(op);
  refuse(REFUSALS[`${op}_cpu`], self.dtype);
  requireOutDtype(out?.[0], self.dtype);
  requireOutDtype(out?.[1], int64);
  const shape = reducedShape(self._shape, mask, keepdim);
  const values = resultFor(self, shape, self.dtype, out?.[0], op);
  const indices = resultFor(self, shape, int64, out?.[1], op);
  for (const t of out ?? []) requireNoOverlap(t, self, op);
  reduceInto(k, op, self, mask, [values, indices], self.dtype, []);
  return named(op, PAIR, [values, indices]);
}

export function maxDim(
  self: Tensor,
  dim: number,
  keepdim: boolean,
  out?: readonly Tensor[],
): Named<readonly ["values", "indices"]> {
  return extremeDim("max", K.reduce_arg_max, self, dim, keepdim, out);
}

export function minDim(
  self: Tensor,
  dim: number,
  keepdim: boolean,
  out?: readonly Tensor[],
): Named<readonly ["values", "indices"]> {
  return extremeDim("min", K.reduce_arg_min, self, dim, keepdim, out);
}

function extremeDims(
  op: "amax" | "amin",
  k: Kernel,
  self: Tensor,
  dim: Dims,
  keepdim: boolean,
  out: Tensor | undefined,
): Tensor {
  if (out !== undefined && out.dtype !== self.dtype) {
    throw texts.inputOutDtypes(op, self.dtype.scalarType, out.dtype.scalarType);
  }
  const mask = reducedDims(dim, self._shape.length, op);
  if (self._numel === 0) {
    if (dim === null || (Array.isArray(dim) && dim.length === 0)) emptyExtreme(op);
    for (const d of typeof dim === "number" ? [dim] : dim) requireElementsAt(self, d, op);
  }
  if (self._numel > 0) refuse(op === "amax" ? REFUSALS.max_values_cpu : REFUSALS.min_values_cpu, self.dtype);
  return reduced(k, op, self, mask, keepdim, self.dtype, out, self.dtype);
}

export function amax(self: Tensor, dim: Dims, keepdim: boolean, out?: Tensor): Tensor {
  return extremeDims("amax", K.reduce_max, self, dim, keepdim, out);
}

export function amin(self: Tensor, dim: Dims, keepdim: boolean, out?: Tensor): Tensor {
  return extremeDims("amin", K.reduce_min, self, dim, keepdim, out);
}

function argExtreme(
  op: "argmax" | "argmin",
  k: Kernel,
  self: Tensor,
  dim: number | null,
  keepdim: boolean,
  out: Tensor | undefined,
): Tensor {
  if (self.dtype.category === 3) throw texts.noComplexInput(op);
  if (self.dtype === bool) throw texts.noBoolInput(op);
  const rank = self._shape.length;
  const mask = reducedDims(dim, rank, op);
  if (dim !== null) requireElements(self, mask, op);
  else if (self._numel === 0) {
    throw texts.dimNeededWithoutElements(op);
  }
  requireOutDtype(out, int64);
  const indices = resultFor(self, reducedShape(self._shape, mask, keepdim), int64, out, op);
  // A line of one element is not looked at, whatever its dtype.
  if (dim !== null && rank > 0 && self._shape[mask.indexOf(true)] === 1) return fill(indices, 0);
  refuse(REFUSALS[`${op}_cpu`], self.dtype);
  if (!hasWork(indices)) return indices;
  const values = empty(indices._shape, self.dtype, self._storage.device);
  // The position among all elements is counted in row-major order.
  const source = dim === null ? denseOf(self) : self;
  reduceInto(k, op, source, mask, [values, indices], self.dtype, []);
  dropCopy(source, self);
  drop(values);
  return indices;
}

export function argmax(self: Tensor, dim: number | null, keepdim: boolean, out?: Tensor): Tensor {
  return argExtreme("argmax", K.reduce_arg_max, self, dim, keepdim, out);
}

export function argmin(self: Tensor, dim: number | null, keepdim: boolean, out?: Tensor): Tensor {
  return argExtreme("argmin", K.reduce_arg_min, self, dim, keepdim, out);
}
