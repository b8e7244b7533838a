// Batch sizes: setting them, and whether the entries of a tree still begin with them. Tensors change their shapes in
// place, and nested collections their batch sizes, behind the back of what holds them.
import { RuntimeError } from "../../tensor/errors.ts";
import { numelOf, Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { startsWith } from "./convert.ts";
import { fitNames } from "./names.ts";
import {
  type Collection,
  deviceOf,
  isBranch,
  isNested,
  isNonTensor,
  isTensorCollection,
  outlinesOf,
  shapeOf,
  stackOf,
} from "./state.ts";
import type { Entry } from "./types.ts";
import { isUnbatched, ofBatch, refuseUnbatched } from "./unbatched.ts";

/**
 * The batch size that the members of a stack share; -1 where they differ.
 * @throws RuntimeError for other devices, for another number of dimensions, or, if `strict`, for other sizes
 */
export function memberBatch(members: readonly Collection[], strict = false): Size {
  const first = members[0];
  if (first === undefined) return Size.fromList([]);
  let common: readonly number[] = first._batchSize;
  for (const td of members) {
    const [own, given] = [deviceOf(first), deviceOf(td)];
    if (td._batchSize === common && own === given) continue;
    if (own === null ? given !== null : !(given !== null && own.equals(given))) {
      throw new RuntimeError(`devices differ, got ${own ?? "None"} and ${given ?? "None"}`);
    }
    if (sameSizes(td._batchSize, common)) continue;
    if (strict || td._batchSize.length !== common.length) {
      throw new RuntimeError(
        "batch sizes in tensordicts differs, LazyStackedTensorDict cannot be created. Got " +
          `td[0].batch_size=${first._batchSize} and td[i].batch_size=${td._batchSize}. If the length match and you ` +
          "wish to stack these tensordicts, set strict_shape to False.",
      );
    }
    common = common.map((n, dim) => (td._batchSize[dim] === n ? n : -1));
  }
  return Size.fromList(common);
}

/** Whether a member of a stack may have a batch, where its members have `inner`: -1 stands where they differ. */
export function isMemberBatch(batch: readonly number[], inner: readonly number[]): boolean {
  return batch.length === inner.length && inner.every((n, dim) => n === -1 || n === batch[dim]);
}

function incompatible(entry: Entry, path: readonly string[], batchSize: readonly number[]): RuntimeError {
  const what = entry instanceof Tensor ? "Tensor" : isNested(entry) ? "NestedTensor" : "TensorDict";
  return new RuntimeError(
    `the ${what} ${path.join(".")} has shape ${shapeOf(entry)} which is incompatible with the batch-size ` +
      `torch.Size([${batchSize.join(", ")}]).`,
    { code: "batch_mismatch" },
  );
}

/** A nested collection of fewer batch dimensions than what holds it: it gets the others, if its entries have them. */
function grows(entry: Entry, batchSize: readonly number[]): entry is Entry & Collection {
  if (!isTensorCollection(entry) || entry._kind === "lazy" || entry._kind === "nonTensorStack") return false;
  if (entry._kind === "nonTensor") return true;
  return entry._batchSize.length < batchSize.length && startsWith(batchSize, entry._batchSize);
}

/** Throws unless every entry fits a batch size. */
function checkBatch(td: Collection, batchSize: Size, prefix: readonly string[] = []): void {
  for (const [key, entry] of outlinesOf(td)) {
    const path = [...prefix, key];
    if (isUnbatched(entry) || startsWith(shapeOf(entry), batchSize)) continue;
    if (!grows(entry, batchSize)) throw incompatible(entry, path, batchSize);
    checkBatch(entry, batchSize, path);
  }
}

function applyBatch(td: Collection, batchSize: Size): void {
  for (const [key, entry] of outlinesOf(td)) {
    if (isUnbatched(entry)) td._put(key, ofBatch(entry, batchSize));
    else if (!startsWith(shapeOf(entry), batchSize) && grows(entry, batchSize)) applyBatch(entry, batchSize);
  }
  td._batchSize = batchSize;
  td._names = fitNames(td._names, batchSize.length);
}

/** Gives a collection another batch size, and nested ones that have fewer dimensions. */
export function setBatch(td: Collection, batchSize: Size): void {
  if (sameSizes(td._batchSize, batchSize)) return;
  if (stackOf(td) !== null || td._kind === "nonTensorStack") {
    throw new RuntimeError(
      `Received a new batch size [${batchSize.join(", ")}] with an existing batch_size ${td._batchSize} in a lazy ` +
        "TD. Modifying the batch size of a lazy representation of a tensordict is not permitted. Consider " +
        "instantiating the tensordict first by calling `td = td.to_tensordict()` before resetting the batch size.",
      { code: "batch_mismatch" },
    );
  }
  checkBatch(td, batchSize);
  applyBatch(td, batchSize);
}

/** An entry read from a file, with at least the batch dimensions of what holds it; null when it does not fit. */
export function fitBatch<T extends Entry>(entry: T, batchSize: Size): T | null {
  if (startsWith(shapeOf(entry), batchSize)) return entry;
  if (!grows(entry, batchSize)) return null;
  try {
    setBatch(entry, batchSize);
    return entry;
  } catch (error) {
    if (error instanceof RuntimeError) return null;
    throw error;
  }
}

/**
 * Throws, by name, for an entry that does not fit its collection any more: a file of it could not be loaded. Files say
 * nothing of tensors that belong to a batch as a whole, so they are refused: they cannot be `done` (saved, shared).
 */
export function requireFit(
  td: Collection,
  done: string,
  batchSize: Size = td._batchSize,
  prefix: readonly string[] = [],
): void {
  const stack = stackOf(td);
  if (stack !== null) {
    const { members, stackDim } = stack;
    const inner = Size.fromList(td._batchSize.filter((_, dim) => dim !== stackDim));
    for (const [i, member] of members.entries()) {
      const path = [...prefix, String(i)];
      if (!isMemberBatch(member._batchSize, inner)) throw incompatible(member, path, inner);
      requireFit(member, done, member._batchSize, path);
    }
    return;
  }
  if (isNonTensor(td) && td._kind === "nonTensorStack") {
    if (td.values_.length !== numelOf(td._batchSize)) throw incompatible(td, prefix, batchSize);
    return;
  }
  for (const [key, entry] of outlinesOf(td)) {
    const path = [...prefix, key];
    if (isUnbatched(entry)) throw refuseUnbatched(key, done);
    const begins = startsWith(shapeOf(entry), batchSize);
    if (!begins && !grows(entry, batchSize)) throw incompatible(entry, path, batchSize);
    if (isBranch(entry)) requireFit(entry, done, begins ? entry._batchSize : batchSize, path);
    else if (isTensorCollection(entry)) requireFit(entry, done, entry._batchSize, path);
  }
}
