/** The least and greatest numbers of dtypes without fractions; of bools 0 and 1. */
import type { DType } from "../tensor/dtype.ts";

export function integerLimits(d: DType): readonly [least: bigint, greatest: bigint] {
  if (d.category === 0) return [0n, 1n];
  const bits = BigInt(8 * d.itemsize);
  return d.isSigned ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n];
}
