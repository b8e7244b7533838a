// Batches rolled, turned and reversed.
import { RuntimeError } from "../../tensor/errors.ts";
import { lockLike } from "../core/locking.ts";
import type { Td } from "../core/state.ts";
import { flipTd } from "./rearranging.ts";
import { applyShape, requireBatchDim } from "./shape.ts";

/** @torch TensorDict.roll */
export function rollTd(td: Td, shifts: number | readonly number[], dims: number | readonly number[] | null): Td {
  const rank = td._batchSize.length;
  const total = td._batchSize.numel();
  const list = typeof shifts === "number" ? [shifts] : [...shifts];
  const along = typeof dims === "number" ? [dims] : (dims ?? []);
  const at = along.map((dim) => requireBatchDim(td, dim));
  const rolled = applyShape(td, {
    tensor: (t) => {
      if (at.length > 0) return t.roll(list, { dims: at });
      return t
        .reshape([total, ...t._shape.slice(rank)])
        .roll(list, { dims: 0 })
        .reshape(t._shape);
    },
    size: (shape) => shape,
    names: (names) => names,
  });
  return lockLike(td, rolled);
}

/** @torch TensorDict.rot90 */
export function rot90Td(td: Td, k: number, dims: readonly number[]): Td {
  if (td._batchSize.length < 2) throw new RuntimeError("rot90 requires at least 2 batch dimensions", { op: "rot90" });
  if (dims.length !== 2) throw new RuntimeError("rot90 requires exactly 2 dims", { op: "rot90" });
  const [a, b] = dims.map((dim) => requireBatchDim(td, dim)) as [number, number];
  const quarters = ((k % 4) + 4) % 4;
  if (quarters === 0) return td;
  const exchanged = <T>(list: readonly T[]): T[] =>
    quarters === 2 ? [...list] : list.map((x, d) => (d === a ? list[b] : d === b ? list[a] : x) as T);
  const turned = applyShape(td, {
    tensor: (t) => t.rot90(quarters, [a, b]),
    size: exchanged,
    names: (names) => names && exchanged(names),
  });
  return lockLike(td, turned);
}

/** @torch TensorDict.fliplr, TensorDict.flipud */
export function flipNamed(td: Td, op: "fliplr" | "flipud", dim: number): Td {
  if (td._batchSize.length > dim) return flipTd(td, [dim]);
  const least = `${dim + 1} batch dimension${dim === 0 ? "" : "s"}`;
  throw new RuntimeError(`${op} requires at least ${least}`, { op });
}
