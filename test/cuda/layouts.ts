// Factors of products as they may lie in memory.
import * as z from "../../src/index.ts";

/** The same numbers with other strides. */
export const LAYOUTS: Record<string, (t: z.Tensor) => z.Tensor> = {
  rows: (t) => t,
  columns: (t) => t.mT.contiguous().mT,
  "every other row": (t) => z.stack([t, t], -2).flatten(-3, -2).slice(-2, 0, null, 2),
  "every other column": (t) => z.stack([t, t], -1).flatten(-2, -1).slice(-1, 0, null, 2),
  unaligned: (t) => z.cat([t.narrow(-1, 0, 1), t], -1).narrow(-1, 1, t.shape.at(-1) as number),
};
