/** Tangents of reductions to several results, of running sums and products, and of what chooses elements. */
import * as O from "../../generated/ops.ts";
import { productBefore, sumOfProducts, zerosIn } from "../autograd/formulas-products.ts";
import { stdBackward, varBackward } from "../autograd/formulas-reduction.ts";
import type { OutputMeta } from "../autograd/node.ts";
import type { Scalar } from "../tensor/complex.ts";
import { numelOf } from "../tensor/size.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { onesLike, overLines, summed } from "./tangents-common.ts";

type Dims = number | readonly number[] | null;
type Outputs = readonly [OutputMeta, ...OutputMeta[]];

function meanOf(t: Tensor, dim: Dims, keepdim: boolean, result: OutputMeta): Tensor {
  return summed(t, dim, keepdim).div(t._numel / Math.max(1, numelOf(result.shape)));
}

export function varMeanTangent(
  tangent: Tensor,
  self: Tensor,
  dim: Dims,
  correction: Scalar | null,
  keepdim: boolean,
  outputs: Outputs,
): (Tensor | null)[] {
  const slope = varBackward(onesLike(outputs[0]), self, dim, correction, keepdim);
  return [overLines(tangent, slope, dim, keepdim, outputs), meanOf(tangent, dim, keepdim, outputs[1] as OutputMeta)];
}

export function stdMeanTangent(
  tangent: Tensor,
  self: Tensor,
  result: Tensor,
  dim: Dims,
  correction: Scalar | null,
  keepdim: boolean,
  outputs: Outputs,
): (Tensor | null)[] {
  const slope = stdBackward(onesLike(outputs[0]), self, result, dim, correction, keepdim);
  return [overLines(tangent, slope, dim, keepdim, outputs), meanOf(tangent, dim, keepdim, outputs[1] as OutputMeta)];
}

/** What an index along a dimension chose. */
export function selectedTangent(tangent: Tensor, dim: number, index: Tensor, keepdim: boolean): Tensor {
  if (tangent._shape.length === 0) return tangent;
  return keepdim
    ? O.gather(tangent, dim, index, false)
    : O.gather(tangent, dim, index.unsqueeze(dim), false).squeeze(dim);
}

export function sortedTangent(tangent: Tensor, dim: number, index: Tensor): Tensor {
  return selectedTangent(tangent, dim, index, true);
}

/** `s[k] = first[k] + factor[k] * s[k - 1]`; the first factor, which has nothing before it, is left out. */
function carriedOn(first: Tensor, factors: Tensor, dim: number): Tensor {
  return sumOfProducts(first.flip([dim]), factors.flip([dim]), dim).flip([dim]);
}

/** A product changes with its last factor, and with the product before it. */
export function cumprodTangent(tangent: Tensor, self: Tensor, dim: number, result: Tensor): Tensor {
  const rank = self._shape.length;
  if (self._numel <= 1 || rank === 0) return tangent;
  const d = wrapDim(dim, rank);
  const n = self._shape[d] as number;
  if (n === 1) return tangent;
  const x = self.dtype === result.dtype ? self : self.to(result.dtype);
  if (zerosIn(x) === 0) return result.mul(tangent.div(x).cumsum(d));
  return carriedOn(productBefore(x, d).mul(tangent), x.narrow(d, 1, n - 1), d);
}

/** Each sum has the share of the one before it, and that of its own element. */
export function logcumsumexpTangent(tangent: Tensor, self: Tensor, result: Tensor, dim: number): Tensor {
  if (self._shape.length === 0 || self._numel === 0) return tangent;
  const d = wrapDim(dim, self.ndim);
  const n = self._shape[d] as number;
  const first = tangent.mul(self.sub(result).exp());
  if (n === 1) return first;
  const [before, here] = [result.narrow(d, 0, n - 1), result.narrow(d, 1, n - 1)];
  // An infinite sum does not change any more.
  const carried = before.sub(here).maskedFill(before.eq(here).logicalAnd(here.isinf()), 0).exp();
  return carriedOn(first, carried, d);
}
