/** Reductions written with other operators. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { checkOutGradients, prepareOut } from "../dispatch/out.ts";
import { requireCast } from "../dispatch/promotion.ts";
import { bool, type DType, float32, float64, int64 } from "../tensor/dtype.ts";
import { requireKept } from "../tensor/storage.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";

export function maxOther(self: Tensor, other: Tensor, out?: Tensor): Tensor {
  return O.maximum(self, other, out);
}

export function minOther(self: Tensor, other: Tensor, out?: Tensor): Tensor {
  return O.minimum(self, other, out);
}

type Dims = number | readonly number[] | null;

export function nanmean(self: Tensor, dim: Dims, keepdim: boolean, dtype: DType | null, out?: Tensor): Tensor {
  if (self.dtype.category < 2) throw texts.nanmeanDtype("nanmean", self.dtype.scalarType);
  if (dtype !== null && dtype.category < 2) throw texts.nanmeanOutputDtype("nanmean", dtype.scalarType);
  const count = self.detach().isnan().logicalNot().sum(dim, { keepdim });
  if (out === undefined) return O.nansum(self, dim, keepdim, dtype).div(count);
  checkOutGradients("nanmean", out, [self]);
  return O.div(O.nansum(self, dim, keepdim, dtype, out), count, null, out);
}

/** Refuses what does not go before or behind the elements. */
function requireJoinable(self: Tensor, other: Tensor, d: number): void {
  if (other.ndim !== self.ndim) throw texts.diffRank("diff");
  self._shape.forEach((n, i) => {
    if (i !== d && other._shape[i] !== n) throw texts.diffSizes("diff", i, n, other._shape[i] as number);
  });
}

function differences(self: Tensor, n: number, d: number, out: Tensor | undefined): Tensor {
  if (n === 0) return O.empty_like(self, null, null, false, null).copy_(self);
  let r = self;
  const steps = Math.min(n, self._shape[d] as number);
  for (let i = steps; i > 0; i--) {
    const left = (r._shape[d] as number) - 1;
    const [after, before] = [r.narrow(d, 1, left), r.narrow(d, 0, left)];
    // Only the last of several steps is written where it was asked for.
    const to = i === 1 ? out : undefined;
    r = r.dtype === bool ? O.ne(after, before, to) : O.sub(after, before, 1, to);
  }
  return r;
}

export function diff(
  self: Tensor,
  n: number,
  dim: number,
  prepend: Tensor | null,
  append: Tensor | null,
  out?: Tensor,
): Tensor {
  requireKept(self._storage);
  if (self.ndim < 1) throw texts.diffOfScalar("diff");
  if (n < 0) throw texts.diffOrder("diff", n);
  // An order of zero asks for no dimension.
  const d = n > 0 || prepend !== null || append !== null ? wrapDim(dim, self.ndim) : 0;
  for (const other of [prepend, append]) if (other !== null) requireJoinable(self, other, d);
  const parts = [prepend, self, append].filter((t): t is Tensor => t !== null);
  const whole = parts.length === 1 ? self : O.cat(parts, d);
  if (out !== undefined) checkOutGradients("diff", out, parts);
  const r = differences(n === 0 ? self : whole, n, d, out);
  if (out === undefined || r === out) return r;
  requireCast(r.dtype, out.dtype);
  prepareOut(out, r._shape);
  return out.copy_(r);
}

/** Counts are sums of ones, in int64; weights are added in their dtype, or in float64. */
export function bincount(self: Tensor, weights: Tensor | null, minlength: number): Tensor {
  const { dtype } = self;
  if (dtype.category !== 1 || (!dtype.isSigned && dtype.itemsize > 1)) {
    throw texts.integersOnly("bincount", "bincount_cpu", dtype.scalarType, "Counted values");
  }
  if (minlength < 0) throw texts.bincountMinlength("bincount");
  if (self.ndim === 1 && self._numel === 0) return O.zeros([minlength], int64, null, false);
  const [low, high] = self.ndim === 1 ? [Number(self.min().bigint()), Number(self.max().bigint())] : [-1, -1];
  if (low < 0) throw texts.bincountInputs("bincount");
  if (weights !== null && (weights.ndim !== 1 || weights._numel !== self._numel))
    throw texts.bincountWeights("bincount");
  const places = self.to(int64);
  const added = weights === null ? self.newOnes([self._numel], { dtype: int64 }) : weighted(weights.detach());
  return added.newZeros([Math.max(high + 1, minlength)]).indexAdd(0, places, added);
}

function weighted(weights: Tensor): Tensor {
  return weights.dtype === float32 ? weights : weights.to(float64);
}
