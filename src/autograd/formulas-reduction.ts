/** Gradients of reductions. */

import { gradMode } from "../dispatch/mode.ts";
import { reducedDims } from "../dispatch/reduce-layout.ts";
import { batchOf } from "../tensor/batched.ts";
import { type Scalar, scalarToNumber } from "../tensor/complex.ts";
import { toReal } from "../tensor/dtype.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { conj } from "./formulas-common.ts";
import { sumOfProducts } from "./formulas-products.ts";

type Dims = number | readonly number[] | null;

/** Puts back the reduced dimensions, with size one. */
function restored(t: Tensor, shape: readonly number[], dim: Dims, keepdim: boolean): Tensor {
  if (keepdim || shape.length === 0) return t;
  const mask = reducedDims(dim, shape.length, "backward");
  let r = t;
  for (let d = 0; d < mask.length; d++) if (mask[d]) r = r.unsqueeze(d);
  return r;
}

function reducedCount(shape: readonly number[], dim: Dims): number {
  const mask = reducedDims(dim, shape.length, "backward");
  return shape.reduce((n, size, d) => (mask[d] ? n * size : n), 1);
}

/** Every element had weight one. */
export function sumBackward(grad: Tensor, shape: readonly number[], dim: Dims, keepdim: boolean): Tensor {
  return restored(grad, shape, dim, keepdim).expand(shape);
}

/** As `sumBackward`, for the elements that were numbers. */
export function nansumBackward(grad: Tensor, self: Tensor, dim: Dims, keepdim: boolean): Tensor {
  return sumBackward(grad.to(self.dtype), self._shape, dim, keepdim).mul(self.isnan().logicalNot());
}

export function meanBackward(grad: Tensor, shape: readonly number[], dim: Dims, keepdim: boolean): Tensor {
  return sumBackward(grad, shape, dim, keepdim).div(reducedCount(shape, dim));
}

/** Shared equally among the elements that equal the extreme of all. */
export function extremeBackward(grad: Tensor, self: Tensor, result: Tensor): Tensor {
  const same = self.eq(result).logicalOr(self.isnan().logicalAnd(result.isnan()));
  const share = grad.div(same.sum().to(grad.dtype));
  // What is no number stays with its elements; transforms and devices multiply, as in torch.
  if (self.device.type !== "cpu" || batchOf(grad) !== null || batchOf(same) !== null) {
    return share.mul(same.to(grad.dtype));
  }
  return grad.newZeros(self._shape).maskedFill(same, share);
}

/** As `extremeBackward`, but a line with a NaN has no gradient that is a number. */
export function amaxBackward(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, keepdim: boolean): Tensor {
  const shape = self._shape;
  const mask = reducedDims(dim, shape.length, "backward");
  const dims = [...mask.keys()].filter((d) => mask[d]);
  const same = self.eq(restored(result, shape, dim, keepdim)).to(grad.dtype);
  const count = shape.length === 0 ? same : same.sum(dims, { keepdim: true });
  return restored(grad, shape, dim, keepdim).mul(same).div(count);
}

/** All of it goes to the element at the index. */
export function selectedBackward(
  grad: Tensor,
  dim: number,
  index: Tensor,
  shape: readonly number[],
  keepdim: boolean,
): Tensor {
  const zeros = grad.newZeros(shape);
  if (shape.length === 0) return zeros.add(grad);
  if (keepdim) return zeros.scatterAdd(dim, index, grad);
  return zeros.scatterAdd(dim, index.unsqueeze(dim), grad.unsqueeze(dim));
}

export function varBackward(
  grad: Tensor,
  self: Tensor,
  dim: Dims,
  correction: Scalar | null,
  keepdim: boolean,
): Tensor {
  const shape = self._shape;
  const mask = reducedDims(dim, shape.length, "backward");
  const dims = [...mask.keys()].filter((d) => mask[d]);
  const freedom = reducedCount(shape, dim) - (correction === null ? 1 : scalarToNumber(correction));
  const g = restored(grad, shape, dim, keepdim);
  const mean = shape.length === 0 ? self.mean() : self.mean(dims, { keepdim: true });
  if (freedom > 0) return g.mul(self.sub(mean).mul(2 / freedom));
  // Without freedom torch has two answers: infinity times a distance of zero, and NaN or infinity by themselves.
  if (dim !== null && shape.length > 0) return g.mul(2 / freedom).mul(self.sub(mean));
  const endless = self.newFull(self._shape, Infinity, { dtype: toReal(self.dtype) });
  return g.mul(endless.maskedFill(self.eq(mean), NaN));
}

export function stdBackward(
  grad: Tensor,
  self: Tensor,
  result: Tensor,
  dim: Dims,
  correction: Scalar | null,
  keepdim: boolean,
): Tensor {
  const none = result.eq(0);
  const half = grad.mul(result.mul(2).reciprocal().maskedFill(none, 0));
  return varBackward(half.maskedFill(none, 0), self, dim, correction, keepdim);
}

/** The share that each exponential has in the sum. */
export function logsumexpBackward(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, keepdim: boolean): Tensor {
  const shape = self._shape;
  const whole = restored(result, shape, dim, keepdim);
  return restored(grad, shape, dim, keepdim).mul(conj(self.sub(whole).exp()));
}

type Grads = readonly (Tensor | null)[];

function plusMean(first: Tensor | null, mean: Tensor | null, self: Tensor, dim: Dims, keepdim: boolean): Tensor | null {
  if (!mean) return first;
  const second = meanBackward(mean, self._shape, dim, keepdim);
  return first === null ? second : first.add(second);
}

export function varMeanBackward(
  grads: Grads,
  self: Tensor,
  dim: Dims,
  correction: Scalar | null,
  keepdim: boolean,
): Tensor | null {
  const first = grads[0] ? varBackward(grads[0], self, dim, correction, keepdim) : null;
  return plusMean(first, grads[1] ?? null, self, dim, keepdim);
}

export function stdMeanBackward(
  grads: Grads,
  self: Tensor,
  result: Tensor,
  dim: Dims,
  correction: Scalar | null,
  keepdim: boolean,
): Tensor | null {
  const first = grads[0] ? stdBackward(grads[0], self, result, dim, correction, keepdim) : null;
  return plusMean(first, grads[1] ?? null, self, dim, keepdim);
}

/** The running sum from the other end. */
export function cumsumBackward(grad: Tensor, dim: number): Tensor {
  if (grad._shape.length === 0 || grad._numel <= 1) return grad;
  return grad.flip([dim]).cumsum(dim).flip([dim]);
}

/** Each gradient goes to the element that was the extreme at that time. */
export function cumulatedBackward(grad: Tensor, shape: readonly number[], dim: number, index: Tensor): Tensor {
  return selectedBackward(grad, dim, index, shape, true);
}

/** Each gradient goes back to where its element came from. */
export function sortedBackward(grad: Tensor, shape: readonly number[], dim: number, index: Tensor): Tensor {
  return selectedBackward(grad, dim, index, shape, true);
}

/** The slope of a norm of order `p`: at zeros, where it has none, 0. */
export function vectorNormBackward(
  grad: Tensor,
  self: Tensor,
  ord: Scalar,
  norm: Tensor,
  dim: Dims,
  keepdim: boolean,
): Tensor | null {
  const p = scalarToNumber(ord);
  if (p === 0) return null;
  const g = restored(grad, self._shape, dim, keepdim);
  const n = restored(norm, self._shape, dim, keepdim);
  if (p === 1) return self.sgn().mul(g);
  const none = n.eq(0);
  if (p === 2) return g.mul(self.div(n).maskedFill_(none, 0));
  if (Math.abs(p) === Number.POSITIVE_INFINITY) {
    const sizes = self.abs();
    const chosen = sizes.eq(n).logicalOr(sizes.isnan().logicalAnd(n.isnan())).to(n.dtype);
    const mask = reducedDims(dim, self._shape.length, "backward");
    const count =
      mask.length === 0
        ? chosen
        : chosen.sum(
            [...mask.keys()].filter((d) => mask[d]),
            { keepdim: true },
          );
    return self.sgn().mul(g.div(count).mul(chosen));
  }
  if (p < 1)
    return self
      .sgn()
      .mul(
        self
          .abs()
          .pow(p - 1)
          .maskedFill(self.eq(0), 0),
      )
      .mul(g)
      .mul(n.pow(1 - p));
  const inverse = n
    .pow(p - 1)
    .reciprocal()
    .maskedFill(none, 0);
  const slope = g.mul(inverse).maskedFill(none, 0);
  return p < 2
    ? self
        .sgn()
        .mul(self.abs().pow(p - 1))
        .mul(slope)
    : self.mul(self.abs().pow(p - 2)).mul(slope);
}

/** What an element gives to the sum at its place goes on to the next with the share that this sum has there. */
function sumOfShares(grad: Tensor, self: Tensor, result: Tensor, dim: number): Tensor {
  const n = self._shape[dim] as number;
  const share = conj(self.sub(result).exp());
  if (n === 1) return grad.mul(share);
  const [here, next] = [result.narrow(dim, 0, n - 1), result.narrow(dim, 1, n - 1)];
  // An infinite sum does not change any more.
  const carried = here.sub(next).maskedFill(here.eq(next).logicalAnd(here.isinf()), 0).exp();
  return sumOfProducts(grad, conj(carried), dim).mul(share);
}

/**
 * Each element's share of the sums that it is in, from parts above and below zero, whose logarithms exist. Recorded, it
 * is the sum of shares, which is linear in the gradient: a logarithm of zero has no derivative.
 */
export function logcumsumexpBackward(grad: Tensor, self: Tensor, result: Tensor, dim: number): Tensor {
  if (grad.ndim === 0 || grad._numel === 0) return grad;
  if (gradMode.enabled) return sumOfShares(grad, self, result, wrapDim(dim, grad.ndim));
  const backwards = (x: Tensor): Tensor => x.flip([dim]).logcumsumexp(dim).flip([dim]);
  if (self.dtype.category === 3)
    return backwards(grad.log().sub(conj(result)))
      .add(conj(self))
      .exp();
  // Finite, since an infinite one has no second derivative; its exponential is zero in every dtype.
  const floor = -65504;
  const part = (g: Tensor): Tensor => {
    const logs = g.abs().log().maskedFill(g.le(0), floor);
    return backwards(logs.sub(result)).add(self).exp();
  };
  return part(grad).sub(part(grad.neg()));
}
