/** Sums that leave out what is no number. */

import * as texts from "../../generated/texts.ts";
import type { DType } from "../tensor/dtype.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { isnan, where } from "./arith.ts";
import { sumDims, sumNumbers } from "./reduce.ts";
import type { Dims } from "./reduce-layout.ts";

export function nansum(self: Tensor, dim: Dims, keepdim: boolean, dtype: DType | null, out?: Tensor): Tensor {
  if (self.dtype.category === 3) throw texts.nansumOfComplex("nansum");
  const result = dtype ?? out?.dtype ?? self.dtype;
  // The kernel is that of the result's dtype.
  const foreign = result.category === 3 || (dtype === null && result.category < 2);
  if (self.dtype.category === 2 && self._numel > 0 && foreign) {
    throw texts.notImplementedFor("nansum", "nansum_cpu", result.scalarType);
  }
  if (self.dtype.category < 2) return sumDims(self, dim, keepdim, dtype, out);
  if (self.dtype.category === 2 && result.category === 2) return sumNumbers(self, dim, keepdim, dtype, out);
  return sumDims(where(isnan(self), 0, self, undefined), dim, keepdim, dtype, out);
}
