// Parts of a batch along one of its dimensions: one part, parts of given sizes, and single elements.
import { RuntimeError, ValueError } from "../../tensor/errors.ts";
import { plainSizes, Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { lockLike, mapLike } from "../core/locking.ts";
import { noNested } from "../core/nested.ts";
import { entriesOf, isLazy, isNested, isNonTensor, isStack, make, stateOf, type Td } from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { isUnbatched, ofBatch } from "../core/unbatched.ts";
import { restack, unbindLazy } from "./lazy-shape.ts";
import { applyShape, requireBatchDim } from "./shape.ts";

/** A part of one batch dimension. @torch TensorDict.narrow */
export function narrowTd(td: Td, dim: number, start: number, length: number): Td {
  const at = requireBatchDim(td, dim);
  const part = applyShape(td, {
    tensor: (t) => t.narrow(at, start, length),
    size: (shape) => shape.map((n, i) => (i === at ? length : n)),
    names: (names) => names,
    lazy: (lazy) => {
      const { stackDim, members, stackDimName } = lazy;
      if (at !== stackDim) {
        return restack(lazy, stackDim, (member) => narrowTd(member, at < stackDim ? at : at - 1, start, length));
      }
      return length > 0 ? make.stack(members.slice(start, start + length), at, stackDimName) : null;
    },
  });
  return mapLike(td, lockLike(td, part));
}

/** @torch TensorDict.split */
export function splitTd(td: Td, sizes: number | readonly number[], dim: number): Td[] {
  const at = requireBatchDim(td, dim);
  const total = td._batchSize[at] as number;
  if (typeof sizes === "number") {
    if (!Number.isSafeInteger(sizes) || sizes <= 0) {
      throw new ValueError(`TensorDict.split: split_size must be positive, got ${sizes}.`);
    }
    // Of nothing there is one part, as of tensors.
    const count = Math.max(1, Math.ceil(total / sizes));
    return Array.from({ length: count }, (_, i) => {
      return narrowTd(td, at, i * sizes, Math.min(sizes, total - i * sizes));
    });
  }
  if (sizes.reduce((a, b) => a + b, 0) !== total || sizes.some((n) => !Number.isSafeInteger(n) || n < 0)) {
    throw new RuntimeError(
      `Split method expects split_size to sum exactly to ${total}, but got sum([${sizes.join(", ")}]) = ` +
        sizes.reduce((a, b) => a + b, 0),
    );
  }
  let start = 0;
  return sizes.map((n) => {
    start += n;
    if (n === 0 && isLazy(td) && td.stackDim === at) {
      return make.lazy([], at, td.stackDimName, {
        batchSize: td._batchSize.filter((_, i) => i !== at),
        device: td._device,
      });
    }
    return narrowTd(td, at, start - n, n);
  });
}

/** @torch TensorDict.chunk */
export function chunkTd(td: Td, chunks: number, dim: number): Td[] {
  if (!Number.isSafeInteger(chunks) || chunks < 1) {
    throw new ValueError(`chunks must be a strictly positive integer, got ${chunks}.`);
  }
  const total = td._batchSize[requireBatchDim(td, dim)] as number;
  if (total === 0) return splitTd(td, new Array<number>(chunks).fill(0), dim);
  return splitTd(td, Math.ceil(total / chunks), dim);
}

/** @torch TensorDict.unbind */
export function unbindTd(td: Td, dim: number): Td[] {
  const parts = unbindTree(td, dim);
  return isMapped(td) ? parts.map((part) => mapPart(td, part)) : parts;
}

/** What is mapped as a whole stays so in its parts; levels of a tree that is not are as free as the tree. */
function isMapped(td: Td): boolean {
  if (isLazy(td)) return td.members.length > 0 && td.members.every(isMapped);
  return td._disk !== null && !isNonTensor(td);
}

function mapPart(td: Td, part: Td): Td {
  if (!isLazy(td)) return mapLike(td, part);
  if (isLazy(part) && !td.members.includes(part)) {
    for (const [i, member] of part.members.entries()) mapPart(td.members[i] as Td, member);
  }
  return part;
}

function unbindTree(td: Td, dim: number): Td[] {
  const at = requireBatchDim(td, dim);
  if (isStack(td)) return unbindLazy(td, at, unbindTree);
  const without = <T>(list: readonly T[]) => list.filter((_item, d) => d !== at);
  const names = td._names === null ? null : without(td._names);
  const batch = plainSizes(td._batchSize);
  const state = stateOf(td, { batchSize: Size.fromList(without(batch)), names });
  const count = batch[at] as number;
  if (isNonTensor(td)) return Array.from({ length: count }, () => td._like(new Map(), state));
  const parts = Array.from({ length: count }, () => new Map<string, Entry>());
  for (const [key, entry] of entriesOf(td)) {
    const pieces = unbindEntry(entry, at, count, state.batchSize, key);
    for (let i = 0; i < count; i++) (parts[i] as Map<string, Entry>).set(key, pieces[i] as Entry);
  }
  return parts.map((entries) => td._like(entries, state));
}

function unbindEntry(entry: Entry, at: number, count: number, batchSize: Size, key: string): readonly Entry[] {
  if (isNested(entry)) {
    if (at > 0) throw noNested("this indexing or change of shape", key);
    return Array.from({ length: count }, (_, i) => entry.at(i));
  }
  if (!(entry instanceof Tensor)) return unbindTree(entry, at);
  if (isUnbatched(entry)) return new Array<Entry>(count).fill(ofBatch(entry, batchSize));
  return entry.unbind(at);
}
