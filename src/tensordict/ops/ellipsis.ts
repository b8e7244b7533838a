// An index with "..." written out.
import { type Slice, slice } from "../../api/indexing-parse.ts";
import { inOrder } from "../../tensor/checks.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import type { IndexPart } from "../core/types.ts";

/** Dimensions that a part of an index takes up. */
function dimsOf(part: IndexPart): number {
  if (part === null || typeof part === "boolean") return 0;
  return part instanceof Tensor && part.dtype.name === "bool" ? part.ndim : 1;
}

/**
 * An index with whole slices in the place of "...".
 * @param idx parts of an index; anything else is given back
 * @throws RuntimeError for more than one "...", and for an index of more dimensions than there are
 * @example
 * ```ts
 * tensordict.convertEllipsisToIdx([0, "..."], [3, 4, 5]).length // 3
 * ```
 * @torch tensordict.utils.convert_ellipsis_to_idx
 */
export function convertEllipsisToIdx(
  idx: "..." | readonly IndexPart[],
  batchSize: readonly number[],
): (IndexPart | Slice)[] {
  [idx, batchSize] = inOrder<[typeof idx, typeof batchSize]>(
    "convertEllipsisToIdx",
    FUNCTIONS.convertEllipsisToIdx,
    arguments,
  );
  const parts: readonly IndexPart[] = idx === "..." ? ["..."] : idx;
  if (!Array.isArray(parts)) return parts as never;
  const at = parts.indexOf("...");
  if (at < 0) return [...parts];
  if (parts.lastIndexOf("...") !== at) throw new RuntimeError("An index can only have one ellipsis at most.");
  const taken = parts.reduce((sum, part) => sum + (part === "..." ? 0 : dimsOf(part)), 0);
  const left = batchSize.length - taken;
  if (left < 0) throw new RuntimeError("Not enough dimensions in TensorDict for index provided.");
  const whole = Array.from({ length: left }, () => slice(null, null, null));
  return [...parts.slice(0, at), ...whole, ...parts.slice(at + 1)];
}
