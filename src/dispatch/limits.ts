/** The least and greatest numbers of dtypes; of floats the infinities. */

import type { Scalar } from "../tensor/complex.ts";
import { bool, type DType } from "../tensor/dtype.ts";

export function limitsOf(d: DType): { readonly lowest: Scalar; readonly highest: Scalar } {
  if (d === bool) return { lowest: false, highest: true };
  if (d.category === 2) return { lowest: Number.NEGATIVE_INFINITY, highest: Number.POSITIVE_INFINITY };
  const bits = BigInt(8 * d.itemsize);
  if (!d.isSigned) return { lowest: 0, highest: (1n << bits) - 1n };
  return { lowest: -(1n << (bits - 1n)), highest: (1n << (bits - 1n)) - 1n };
}
