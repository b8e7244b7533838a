/** Gradients of products: quotients where no factor is zero, and products of all other factors where one is. */
import * as O from "../../generated/ops.ts";
import { gradMode } from "../dispatch/mode.ts";
import { batchOf } from "../tensor/batched.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { conj } from "./formulas-common.ts";

/** How many factors are zero; null where no number can be read, as on the meta device and for one example of many. */
function zerosIn(x: Tensor): number | null {
  if (!x.device.computes || batchOf(x) !== null) return null;
  return x._numel === 0 ? 0 : Number(x.detach().eq(0).sum().item());
}

/** At each place the product of all that comes before it along a dimension. */
function productBefore(x: Tensor, dim: number): Tensor {
  const one = x.newOnes(x._shape.with(dim, 1));
  return O.cat([one, x.narrow(dim, 0, (x._shape[dim] as number) - 1)], dim).cumprod(dim);
}

/** At each place the product of all others, without a division, so that it has derivatives at zeros. */
function productOfOthers(x: Tensor, dim: number): Tensor {
  return productBefore(x, dim).mul(productBefore(x.flip([dim]), dim).flip([dim]));
}

export function prodBackward(
  grad: Tensor,
  self: Tensor,
  result: Tensor,
  dim: number | null,
  keepdim: boolean,
): Tensor {
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
  const first = zero.logicalAnd(zeros.eq(1));
  const before = sumOfRest(grad.mul(conj(result)).maskedFill(zeros.gt(0), 0), dim).div(conj(x.maskedFill(zero, 1)));
  const until = grad.maskedFill(zeros.ne(1), 0);
  const at = sumOfRest(until.mul(conj(x.maskedFill(first, 1).cumprod(dim))), dim);
  return before.maskedFill(zeros.gt(0), 0).add(at.maskedFill(first.logicalNot(), 0));
}

/** `s[k] = grad[k] + x[k + 1] * s[k + 1]`, by doubling the reach: nothing is divided, so that it has derivatives. */
function sumOfProducts(grad: Tensor, x: Tensor, dim: number): Tensor {
  const n = x._shape[dim] as number;
  let sums = grad;
  let factors = O.cat([x.narrow(dim, 1, n - 1), x.newOnes(x._shape.with(dim, 1))], dim);
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

export function cumprodBackward(grad: Tensor, self: Tensor, dim: number, result: Tensor): Tensor {
  const rank = self._shape.length;
  if (self._numel <= 1 || rank === 0) return grad;
  const d = wrapDim(dim, rank);
  if (self._shape[d] === 1) return grad;
  const x = self.dtype === grad.dtype ? self : self.to(grad.dtype);
  const zeros = zerosIn(x);
  if (zeros === 0) return sumOfRest(grad.mul(conj(result)), d).div(conj(x));
  if (zeros !== null && !gradMode.enabled) return cumprodBesideZeros(grad, x, d, result);
  return conj(productBefore(x, d)).mul(sumOfProducts(grad, conj(x), d));
}
