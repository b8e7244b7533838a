// Where the results of `apply` go, if not into a collection of their own.
import type { DeviceLike } from "../../tensor/device.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { sameSizes } from "../../tensor/size.ts";
import { toEntry } from "../core/convert.ts";
import {
  entriesOf,
  isLazy,
  isNonTensor,
  isTensorCollection,
  requireUnlocked,
  stateOf,
  type Td,
} from "../core/state.ts";
import type { Writes } from "./writes.ts";

/** Plans giving `out` the entries of a result; nested collections that it has stay the objects they are. */
export function planResults(
  out: Td,
  result: Td,
  options: { batchSize?: readonly number[]; device?: DeviceLike | null },
  writes: Writes,
): void {
  if (options.batchSize !== undefined && !sameSizes(options.batchSize, out._batchSize)) {
    throw new RuntimeError("batch_size and out.batch_size must be equal when both are provided.");
  }
  if (options.device !== undefined && options.device !== null && `${options.device}` !== `${out._device}`) {
    throw new RuntimeError("device and out.device must be equal when both are provided.");
  }
  planEntries(out, result, writes);
}

function planEntries(out: Td, result: Td, writes: Writes): void {
  if (
    isLazy(out) &&
    isLazy(result) &&
    out.stackDim === result.stackDim &&
    out.members.length === result.members.length
  ) {
    for (const [i, member] of out.members.entries()) planEntries(member, result.members[i] as Td, writes);
    return;
  }
  for (const [key, entry] of entriesOf(result)) {
    const own = out._own(key);
    if (isNonTensor(own) && isNonTensor(entry)) continue;
    if (isTensorCollection(own) && isTensorCollection(entry)) planEntries(own, entry, writes);
    else {
      requireUnlocked(out);
      const placed = toEntry(entry, stateOf(out), key);
      writes.push(() => out._put(key, placed));
    }
  }
}
