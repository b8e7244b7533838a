/** Reductions to sums, products, means and truth values. */

import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import { bool, type DType, int64, uint8 } from "../tensor/dtype.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Kernel } from "./kernel.ts";
import { requireCast } from "./promotion.ts";
import {
  type Dims,
  direct,
  divided,
  isShortFloat,
  reduced,
  reducedAll,
  reducedDims,
  requireOutDtype,
} from "./reduce-layout.ts";

function refuseShortFloats(self: DType, kernel: string): void {
  if (isShortFloat(self)) throw texts.notImplementedFor(undefined, kernel, self.scalarType);
}

/** Sums and products of integers and bools are int64 unless a dtype or `out` says otherwise. */
function totalDtype(self: Tensor, dtype: DType | null, out: Tensor | undefined): DType {
  if (dtype !== null) {
    requireOutDtype(out, dtype);
    return dtype;
  }
  if (out !== undefined) return out.dtype;
  return self.dtype.category < 2 ? int64 : self.dtype;
}

/** The dtype whose compute type adds or multiplies values of `d`: integers in 64 bits, bools as truth values. */
function totalCompute(d: DType): DType {
  return d.category === 1 ? int64 : d;
}

function total(
  k: Kernel,
  bools: Kernel,
  op: string,
  self: Tensor,
  mask: boolean[],
  keepdim: boolean,
  dtype: DType | null,
  out: Tensor | undefined,
): Tensor {
  const result = totalDtype(self, dtype, out);
  refuseShortFloats(result, `${op}_cpu`);
  const source = realSource(self, result);
  return reduced(result === bool ? bools : k, op, source, mask, keepdim, result, out, totalCompute(result));
}

/** Complex elements in a real reduction lose their imaginary part, with torch's warning. */
function realSource(self: Tensor, result: DType): Tensor {
  if (self.dtype.category === 3 && result.category < 3 && result !== bool) {
    texts.complexToReal();
  }
  return self;
}

export function sum(self: Tensor, dtype: DType | null, out?: Tensor): Tensor {
  if (out === undefined && dtype === null && direct(self) && !isShortFloat(self.dtype)) {
    const d = self.dtype.category < 2 ? int64 : self.dtype;
    return reducedAll(K.reduce_sum, "sum", self, d, d.compute);
  }
  return sumDims(self, null, false, dtype, out);
}

export function sumDims(self: Tensor, dim: Dims, keepdim: boolean, dtype: DType | null, out?: Tensor): Tensor {
  const mask = reducedDims(dim, self._shape.length, "sum");
  return total(K.reduce_sum, K.reduce_max, "sum", self, mask, keepdim, dtype, out);
}

/** The sum of the elements that are numbers, of a tensor of floats to one of floats. */
export function sumNumbers(self: Tensor, dim: Dims, keepdim: boolean, dtype: DType | null, out?: Tensor): Tensor {
  const mask = reducedDims(dim, self._shape.length, "nansum");
  return total(K.reduce_sum_numbers, K.reduce_max, "sum", self, mask, keepdim, dtype, out);
}

export function prod(self: Tensor, dtype: DType | null, out?: Tensor): Tensor {
  const mask = reducedDims(null, self._shape.length, "prod");
  return total(K.reduce_prod, K.reduce_min, "prod", self, mask, false, dtype, out);
}

export function prodDim(self: Tensor, dim: number, keepdim: boolean, dtype: DType | null, out?: Tensor): Tensor {
  const mask = reducedDims(dim, self._shape.length, "prod");
  return total(K.reduce_prod, K.reduce_min, "prod", self, mask, keepdim, dtype, out);
}

const wider = (a: DType, b: DType): DType => (a.itemsize > b.itemsize ? a : b);

function meanDtype(self: Tensor, dtype: DType | null): DType {
  const d = dtype ?? self.dtype;
  if (d.category >= 2) return d;
  throw texts.meanDtype("mean", dtype === null ? "Input" : "Optional", d.scalarType);
}

export function mean(self: Tensor, dtype: DType | null, out?: Tensor): Tensor {
  if (out === undefined && direct(self) && !isShortFloat(self.dtype)) {
    const d = meanDtype(self, dtype);
    if (d === self.dtype) {
      return reducedAll(K.reduce_sum, "mean", self, d, d.compute, self._numel);
    }
  }
  return meanDims(self, null, false, dtype, out);
}

export function meanDims(self: Tensor, dim: Dims, keepdim: boolean, dtype: DType | null, out?: Tensor): Tensor {
  const d = meanDtype(self, dtype);
  const mask = reducedDims(dim, self._shape.length, "mean");
  if (out !== undefined) {
    if (dtype !== null) requireOutDtype(out, d);
    requireCast(d, out.dtype);
  }
  refuseShortFloats(d, "sum_cpu");
  let count = 1;
  mask.forEach((reduced, i) => {
    if (reduced) count *= self._shape[i] as number;
  });
  const source = realSource(self, d);
  const result = out?.dtype ?? d;
  return reduced(K.reduce_sum, "mean", source, mask, keepdim, result, out, wider(result, d), divided(true, count));
}

type Truth = "all" | "any";

const truthKernel = (op: Truth): Kernel => (op === "all" ? K.reduce_min : K.reduce_max);

/** Truth values are bool, for uint8 tensors uint8. */
function truthDtype(op: Truth, self: Tensor, out: Tensor | undefined): DType {
  if (out === undefined) return self.dtype === uint8 ? uint8 : bool;
  if (out.dtype === bool || out.dtype === uint8) return out.dtype;
  throw texts.boolResultOnly(op, out.dtype.scalarType);
}

function truth(op: Truth, self: Tensor, mask: boolean[], keepdim: boolean, out: Tensor | undefined): Tensor {
  const dtype = truthDtype(op, self, out);
  if (out === undefined && mask.every((gone) => gone) && !keepdim && direct(self)) {
    return reducedAll(truthKernel(op), op, self, dtype, bool.compute);
  }
  return reduced(truthKernel(op), op, self, mask, keepdim, dtype, out, bool);
}

/** No dimension at all means none here: each element becomes its truth value. */
function truthMask(op: Truth, self: Tensor, dim: Dims): boolean[] {
  const rank = self._shape.length;
  if (Array.isArray(dim) && dim.length === 0) return new Array<boolean>(rank).fill(false);
  return reducedDims(dim, rank, op);
}

export function all(self: Tensor, out?: Tensor): Tensor {
  return truth("all", self, reducedDims(null, self._shape.length, "all"), false, out);
}

export function allDims(self: Tensor, dim: Dims, keepdim: boolean, out?: Tensor): Tensor {
  truthDtype("all", self, out);
  return truth("all", self, truthMask("all", self, dim), keepdim, out);
}

export function any(self: Tensor, out?: Tensor): Tensor {
  return truth("any", self, reducedDims(null, self._shape.length, "any"), false, out);
}

export function anyDims(self: Tensor, dim: Dims, keepdim: boolean, out?: Tensor): Tensor {
  truthDtype("any", self, out);
  return truth("any", self, truthMask("any", self, dim), keepdim, out);
}
