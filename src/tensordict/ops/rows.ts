// The rows of a TensorDict in memory that a number or a slice names: nearly all indices are of this kind, so they are
// taken and written the shortest way, without what other indices and other collections need.
import { selectFirst, sliceFirst } from "../../api/indexing.ts";
import { parseIndex, Slice } from "../../api/indexing-parse.ts";
import { copyBlock, fitsBlock } from "../../dispatch/copy.ts";
import { gradMode, requiresGrad } from "../../dispatch/mode.ts";
import { attention, TAKERS } from "../../dispatch/seam.ts";
import { plainSizes, Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { startsWith } from "../core/convert.ts";
import { isInMemory, isNested, type Td } from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { ofBatch, type UnbatchedTensor } from "../core/unbatched.ts";

/** Whether a part of an index is an object that may be a slice: to tell of a tensor that it is none takes long. */
export function isSliceObject(part: unknown): boolean {
  return typeof part === "object" && part !== null && !(part instanceof Tensor) && !Array.isArray(part);
}

/** How many positions of a dimension a slice names. */
export function slicedLength(size: number, { start, stop, step }: Slice): number {
  const clamp = (at: number) => Math.min(Math.max(at < 0 ? at + size : at, 0), size);
  const from = start === null ? 0 : clamp(start);
  const to = stop === null ? size : clamp(stop);
  return Math.max(0, Math.ceil((to - from) / (step ?? 1)));
}

/**
 * Such rows of a TensorDict; null for every other collection and index, errors included. `index` takes the rows of
 * entries that are neither tensors nor such TensorDicts.
 */
export function rowsOf(td: Td, part: number | Slice, index: (td: Td, parts: readonly unknown[]) => Td): Td | null {
  if (!isInMemory(td) || td._names !== null || td._disk !== null) return null;
  const size = rowsSize(plainSizes(td._batchSize), part);
  if (size === null) return null;
  const own = td._map;
  const entries = new Map(own);
  for (const key of own.keys()) {
    const entry = own.get(key) as Entry;
    if (!(entry instanceof Tensor)) {
      if (isNested(entry)) return null;
      entries.set(key, rowsOf(entry, part, index) ?? index(entry, [part]));
    } else if (entry._unbatched) entries.set(key, ofBatch(entry as UnbatchedTensor, size));
    else entries.set(key, typeof part === "number" ? selectFirst(entry, part) : sliceFirst(entry, part));
  }
  return td._like(entries, { batchSize: size, device: td._device, names: null });
}

/** The batch of such rows; null where there are none, or all of them. */
function rowsSize(batch: readonly number[], part: number | Slice): Size | null {
  const rows = batch[0];
  if (rows === undefined) return null;
  if (typeof part === "number") {
    return Number.isInteger(part) && part >= -rows && part < rows ? Size.fromList(batch.slice(1)) : null;
  }
  const count = slicedLength(rows, part);
  if (count === 0 || count === rows) return null;
  const sizes = batch.slice();
  sizes[0] = count;
  return Size.fromList(sizes);
}

/** A number or a slice that is all of an index; null for others. */
export function onlyPart(part: unknown): number | Slice | null {
  if (typeof part === "number") return part;
  if (typeof part === "string" && part !== "...") {
    const parts = parseIndex(part);
    return parts.length === 1 ? onlyPart(parts[0]) : null;
  }
  return isSliceObject(part) && part instanceof Slice ? part : null;
}

/** A tensor, how many elements are before those that are written, and what is written there. */
type RowWrite = readonly [own: Tensor, skipped: number, value: Tensor];

/**
 * Writes a collection into such rows where nothing can be refused and nothing is recorded: small tensors under keys
 * that are there, of the same dtypes and shapes, in memory. False, and nothing is written, for everything else.
 */
export function writeRows(td: Td, part: number | Slice, value: Td): boolean {
  const writes: RowWrite[] = [];
  if ((attention.bits & TAKERS) !== 0 || !planRows(td, part, value, writes)) return false;
  for (let i = 0; i < writes.length; i++) {
    const [own, skipped, given] = writes[i] as RowWrite;
    copyBlock(own, skipped, given);
    own._version.value++;
  }
  return true;
}

function planRows(td: Td, part: number | Slice, value: Td, writes: RowWrite[]): boolean {
  if (!isInMemory(td) || !isInMemory(value)) return false;
  const size = rowsSize(plainSizes(td._batchSize), part);
  if (size === null || !startsWith(value._batchSize, size)) return false;
  for (const key of value._map.keys()) {
    const own = td._map.get(key);
    const given = value._map.get(key);
    if (own instanceof Tensor) {
      if (!(given instanceof Tensor) || !isBlockOfRows(own, part, given)) return false;
      const first = typeof part === "number" ? part : (part.start ?? 0);
      const at = first < 0 ? first + (own._shape[0] as number) : first;
      writes.push([own, at * (own._strides[0] as number), given]);
    } else if (own === undefined || given === undefined || given instanceof Tensor || isNested(own)) return false;
    else if (!planRows(own, part, given as Td, writes)) return false;
  }
  return true;
}

/** Whether a tensor's bytes may become those of rows of another one as they are. */
function isBlockOfRows(own: Tensor, part: number | Slice, given: Tensor): boolean {
  if (own._unbatched || given._unbatched || !own._contiguous || own._storage === given._storage) return false;
  if (gradMode.enabled && (requiresGrad(own) || requiresGrad(given))) return false;
  const rank = own._shape.length;
  const lead = typeof part === "number" ? 1 : 0;
  if (given._shape.length !== rank - lead) return false;
  if (lead === 0 && !isRun(part as Slice, own._shape[0] as number, given._shape[0] as number)) return false;
  for (let d = 1; d < rank; d++) if (own._shape[d] !== given._shape[d - lead]) return false;
  return fitsBlock(own, given);
}

/** Whether a slice names so many rows one behind the other. */
function isRun(part: Slice, rows: number, count: number): boolean {
  return (part.step ?? 1) === 1 && (part.start ?? 0) >= -rows && slicedLength(rows, part) === count;
}
