/** Gradients of products: quotients where no factor is zero, and products of all other factors where one is. */
import * as O from "../../generated/ops.ts";
import { gradMode } from "../dispatch/mode.ts";
import { batchOf } from "../tensor/batched.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { conj } from "./formulas-common.ts";

/** How many factors are zero; null where no number can be read, as on the meta device and for one example of many. */
export function zerosIn(x: Tensor): number | null {
  if (!x.device.computes || batchOf(x) !== null) return null;
  return x._numel === 0 ? 0 : Number(x.detach().eq(0).sum().item());
}

/** At each place the product of all that comes before it along a dimension. */
export function productBefore(x: Tensor, dim: number): Tensor {
  const one = x.newOnes(x._shape.with(dim, 1));
  return O.cat([one, x.narrow(dim, 0, (x._shape[dim] as number) - 1)], dim).cumprod(dim);
}

/** At each place the product of all others, without a division, so that it has derivatives at zeros. */
function productOfOthers(x: Tensor, dim: number): Tensor {
  return productBefore(x, dim).mul(productBefore(x.flip([dim]), dim).flip([dim]));
}

export function prodBackward(grad: Tensor, self: Tensor, result: Tensor, dim: number | null, keepdim: boolean): Tensor {
  const rank = self._shape.length;
  if (rank === 0) return grad;
  const x = self.dtype === grad.dtype ? self : self.to(grad.dtype);
  const d = dim === null ? null : wrapDim(dim, rank);
  const restored = (t: Tensor): Tensor => (d === null || keepdim ? t : t.unsqueeze(d));
  const zeros = zerosIn(x);
  if (zeros === 0) return restored(grad).mul(conj(restored(result).div(x)));
  if (d !== null) return x._shape[d] === 1 ? restored(grad) : restored(grad).mul(conj(productOfOthers(x, d)));
  if (zeros !== null && zeros > 1 && !gradMode.enabled) return grad.newZeros(x._shape);
  if (x._numel <= 1) return grad.expand(x._shape);
  return grad.mul(conj(productOfOthers(x.reshape([-1]), 0).reshape(x._shape)));
}

/** The sum of this element and all that follow. */
function sumOfRest(t: Tensor, dim: number): Tensor {
  return t.flip([dim]).cumsum(dim).flip([dim]);
}

/**
 * An element before the first zero is a factor of its own product and of all that follow, which makes a quotient; for
 * the first zero itself those products are taken without it; what comes later is multiplied by zero.
 */
function cumprodBesideZeros(grad: Tensor, x: Tensor, dim: number, result: Tensor): Tensor {
  const zero = x.eq(0);
  const zeros = zero.cumsum(dim);
  const later = zeros.gt(0);
  const first = zero.logicalAnd(zeros.eq(1));
  const before = sumOfRest(grad.mul(conj(result)).maskedFill(later, 0), dim).div(conj(x));
  const lead = x.maskedFill(later, 1).prod(dim, { keepdim: true });
  const until = x.maskedFill(zeros.ne(1).logicalOr(first), 1).cumprod(dim);
  const at = grad.maskedFill(zeros.ne(1), 0).mul(conj(until)).sum(dim, { keepdim: true }).mul(conj(lead));
  return before.maskedFill(later, 0).add(at.mul(first.to(at.dtype)).maskedFill(first.logicalNot(), 0));
}

/**
 * `s[k] = grad[k] + next[k] * s[k + 1]`, where `next` is one shorter, by doubling the reach: without a division, so
 * that it has derivatives.
 */
export function sumOfProducts(grad: Tensor, next: Tensor, dim: number): Tensor {
  const n = grad._shape[dim] as number;
  let sums = grad;
  let factors = O.cat([next, next.newOnes(grad._shape.with(dim, 1))], dim);
  for (let reach = 1; reach < n; reach *= 2) {
    const near = (t: Tensor): Tensor => t.narrow(dim, 0, n - reach);
    const far = (t: Tensor): Tensor => t.narrow(dim, reach, n - reach);
    const rest = (t: Tensor): Tensor => t.narrow(dim, n - reach, reach);
    const joined = near(sums).add(near(factors).mul(far(sums)));
    sums = O.cat([joined, rest(sums)], dim);
    factors = O.cat([near(factors).mul(far(factors)), rest(factors)], dim);
  }
  return sums;
}

/** Lines up to this long are multiplied out. */
const MULTIPLIED_OUT = 32;

/** Each product that an element is a factor of, without it; so an infinity beside a zero is seen as what it is. */
function sumOfOmitted(grad: Tensor, x: Tensor, dim: number): Tensor {
  const n = x._shape[dim] as number;
  const factors = conj(x);
  const sums = Array.from({ length: n }, (_, k) => {
    const after = factors.narrow(dim, k + 1, n - k - 1).cumprod(dim);
    const before = k > 0 ? factors.narrow(dim, 0, k).prod(dim, { keepdim: true }) : x.newOnes(x._shape.with(dim, 1));
    const omitted = k === n - 1 ? before : O.cat([before, k > 0 ? before.mul(after) : after], dim);
    return grad
      .narrow(dim, k, n - k)
      .mul(omitted)
      .sum(dim);
  });
  return O.stack(sums, dim);
}

export function cumprodBackward(grad: Tensor, self: Tensor, dim: number, result: Tensor): Tensor {
  const rank = self._shape.length;
  if (self._numel <= 1 || rank === 0) return grad;
  const d = wrapDim(dim, rank);
  if (self._shape[d] === 1) return grad;
  const x = self.dtype === grad.dtype ? self : self.to(grad.dtype);
  const zeros = zerosIn(x);
  if (zeros === 0) return sumOfRest(grad.mul(conj(result)), d).div(conj(x));
  if (zeros !== null && !gradMode.enabled) return cumprodBesideZeros(grad, x, d, result);
  if ((x._shape[d] as number) <= MULTIPLIED_OUT) return sumOfOmitted(grad, x, d);
  const next = conj(x.narrow(d, 1, (x._shape[d] as number) - 1));
  return conj(productBefore(x, d)).mul(sumOfProducts(grad, next, d));
}
