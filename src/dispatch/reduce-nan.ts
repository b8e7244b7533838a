/** Sums that leave out what is no number. */

import * as texts from "../../generated/texts.ts";
import { CPU } from "../tensor/device.ts";
import type { DType } from "../tensor/dtype.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { isnan, where } from "./arith.ts";
import { sumDims } from "./reduce.ts";
import { equal } from "./reduce-close.ts";
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
  const apart = out === undefined || out._storage !== self._storage;
  if (self._storage.device === CPU && result.category === 2 && apart) {
    // Where no sum is NaN, no element was: nothing has to be copied.
    const sums = sumDims(self, dim, keepdim, dtype, out);
    if (equal(sums, sums)) return sums;
  }
  return sumDims(where(isnan(self), 0, self, undefined), dim, keepdim, dtype, out);
}
