/** Variance, standard deviation, and both with the mean. */

import { MomentsAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import { Complex, type Scalar, scalarToNumber, scalarValue } from "../tensor/complex.ts";
import { float64, toReal } from "../tensor/dtype.ts";
import { warn } from "../tensor/errors.ts";
import { makeStrided, type Tensor } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { transfer } from "./copy.ts";
import { type Named, named } from "./named.ts";
import { binary, RULES, unary } from "./pointwise.ts";
import { requireCast } from "./promotion.ts";
import { meanDims } from "./reduce.ts";
import { type Dims, reducedDims, reducedShape, reduceInto, resultFor } from "./reduce-layout.ts";

const ADD = { name: "var", kernel: K.binary_add, rule: RULES.arith };
const SQRT = { name: "std", kernel: K.unary_sqrt, rule: RULES.float };

function correctionOf(x: Scalar | null): number {
  if (scalarValue(x ?? 1) instanceof Complex) throw texts.doubleOverflow(undefined);
  return x === null ? 1 : scalarToNumber(x);
}

/** The divisor of the sum of squares; none left gives NaN or infinity, with torch's warning. */
function divisorOf(op: string, self: Tensor, mask: readonly boolean[], correction: number): number {
  let count = 1;
  mask.forEach((reduced, d) => {
    if (reduced) count *= self._shape[d] as number;
  });
  if (count - correction <= 0) {
    warn(
      `${op}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor ` +
        "(input numel divided by output numel).",
    );
  }
  // Nothing has no variance, whatever is taken off.
  return count === 0 ? 0 : Math.max(0, count - correction);
}

/** The real or the imaginary parts, as a strided tensor over the same bytes. */
function partOf(self: Tensor, part: 0 | 1): Tensor {
  const strides = self._strides.map((s) => 2 * s);
  return makeStrided(self._storage, 2 * self._offset + part, self._shape, strides, toReal(self.dtype));
}

function realMoments(
  op: string,
  self: Tensor,
  mask: readonly boolean[],
  divisor: number,
  root: boolean,
  target: Tensor,
  mean: Tensor,
): void {
  const attributes: number[] = [];
  attributes[MomentsAttr.root] = root ? 1 : 0;
  attributes[MomentsAttr.divisor] = divisor;
  reduceInto(K.reduce_moments, op, self, mask, [target, mean], float64, attributes);
}

function complexVariance(
  op: string,
  self: Tensor,
  mask: readonly boolean[],
  divisor: number,
  root: boolean,
  target: Tensor,
): void {
  const dtype = toReal(self.dtype);
  const parts = ([0, 1] as const).map((p) => {
    const v = empty(target._shape, dtype, target._storage.device);
    realMoments(op, partOf(self, p), mask, divisor, false, v, v);
    return v;
  });
  let r = binary(ADD, parts[0] as Tensor, parts[1] as Tensor);
  if (root) r = unary(SQRT, r);
  transfer(target, r);
}

function variance(
  op: "var" | "std",
  self: Tensor,
  dim: Dims,
  given: Scalar | null,
  keepdim: boolean,
  out: Tensor | undefined,
): Tensor {
  if (self.dtype.category < 2) throw texts.momentsDtype(op);
  const correction = correctionOf(given);
  const result = toReal(self.dtype);
  if (out !== undefined) requireCast(result, out.dtype);
  const mask = reducedDims(dim, self._shape.length, op);
  const target = resultFor(self, reducedShape(self._shape, mask, keepdim), out?.dtype ?? result, out, op);
  if (!hasWork(target)) return target;
  const divisor = divisorOf(op, self, mask, correction);
  const root = op === "std";
  if (self.dtype.category === 3) complexVariance(op, self, mask, divisor, root, target);
  else realMoments(op, self, mask, divisor, root, target, target);
  return target;
}

export function variUnbiased(self: Tensor, unbiased: boolean, out?: Tensor): Tensor {
  return variance("var", self, null, unbiased ? 1 : 0, false, out);
}

export function variDims(self: Tensor, dim: Dims, unbiased: boolean, keepdim: boolean, out?: Tensor): Tensor {
  return variance("var", self, dim, unbiased ? 1 : 0, keepdim, out);
}

export function vari(self: Tensor, dim: Dims, correction: Scalar | null, keepdim: boolean, out?: Tensor): Tensor {
  return variance("var", self, dim, correction, keepdim, out);
}

export function stdUnbiased(self: Tensor, unbiased: boolean, out?: Tensor): Tensor {
  return variance("std", self, null, unbiased ? 1 : 0, false, out);
}

export function stdDims(self: Tensor, dim: Dims, unbiased: boolean, keepdim: boolean, out?: Tensor): Tensor {
  return variance("std", self, dim, unbiased ? 1 : 0, keepdim, out);
}

export function std(self: Tensor, dim: Dims, correction: Scalar | null, keepdim: boolean, out?: Tensor): Tensor {
  return variance("std", self, dim, correction, keepdim, out);
}

function withMean<const N extends readonly [string, string]>(
  op: "var_mean" | "std_mean",
  names: N,
  self: Tensor,
  dim: Dims,
  given: Scalar | null,
  keepdim: boolean,
): Named<N> {
  if (self.dtype.category < 2) throw texts.momentsOfDtype(op);
  const correction = correctionOf(given);
  const mask = reducedDims(dim, self._shape.length, op);
  const shape = reducedShape(self._shape, mask, keepdim);
  const root = op === "std_mean";
  const target = resultFor(self, shape, toReal(self.dtype), undefined, op);
  if (self.dtype.category === 3) {
    const mean = meanDims(self, dim, keepdim, null);
    if (hasWork(target)) {
      complexVariance(op, self, mask, divisorOf(op, self, mask, correction), root, target);
    }
    return named(op, names, [target, mean]);
  }
  const mean = resultFor(self, shape, self.dtype, undefined, op);
  if (hasWork(target)) {
    realMoments(op, self, mask, divisorOf(op, self, mask, correction), root, target, mean);
  }
  return named(op, names, [target, mean]);
}

const VAR_MEAN = ["var", "mean"] as const;
const STD_MEAN = ["std", "mean"] as const;

export function varMeanUnbiased(self: Tensor, unbiased: boolean): Named<typeof VAR_MEAN> {
  return withMean("var_mean", VAR_MEAN, self, null, unbiased ? 1 : 0, false);
}

export function varMeanDims(self: Tensor, dim: Dims, unbiased: boolean, keepdim: boolean): Named<typeof VAR_MEAN> {
  return withMean("var_mean", VAR_MEAN, self, dim, unbiased ? 1 : 0, keepdim);
}

export function varMean(self: Tensor, dim: Dims, correction: Scalar | null, keepdim: boolean): Named<typeof VAR_MEAN> {
  return withMean("var_mean", VAR_MEAN, self, dim, correction, keepdim);
}

export function stdMeanUnbiased(self: Tensor, unbiased: boolean): Named<typeof STD_MEAN> {
  return withMean("std_mean", STD_MEAN, self, null, unbiased ? 1 : 0, false);
}

export function stdMeanDims(self: Tensor, dim: Dims, unbiased: boolean, keepdim: boolean): Named<typeof STD_MEAN> {
  return withMean("std_mean", STD_MEAN, self, dim, unbiased ? 1 : 0, keepdim);
}

export function stdMean(self: Tensor, dim: Dims, correction: Scalar | null, keepdim: boolean): Named<typeof STD_MEAN> {
  return withMean("std_mean", STD_MEAN, self, dim, correction, keepdim);
}
