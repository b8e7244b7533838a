// What each member of a lazy stack gets of a source.
import { RuntimeError, ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { fromSource, sourceEntries } from "../core/convert.ts";
import { Collection, isBranch, isLazy, type LazyTd, outlinesOf, stackOf, stateOf, type Td } from "../core/state.ts";
import { isUnbatched } from "../core/unbatched.ts";

/** A source of entries: a collection, or a dictionary. */
type Source = Td | Record<string, unknown> | ReadonlyMap<string, unknown>;

/** A dictionary as a collection of the stack's batch size; null for one with paths as keys. */
function collectionOf(lazy: LazyTd, source: Source): Td | null {
  if (source instanceof Collection) return source as Td;
  const dict = source as Record<string, unknown>;
  if (sourceEntries(dict).some(([key]) => typeof key !== "string")) return null;
  return fromSource(dict, stateOf(lazy, { names: null }));
}

/** Whether a collection has a part for every member. */
function isSplit(lazy: LazyTd, source: Td): boolean {
  return source._batchSize[lazy.stackDim] === lazy.members.length && source._batchSize.length > lazy.stackDim;
}

/** The parts of a source for the members of a stack, in order; null where it has none. */
export function piecesFor(lazy: LazyTd, source: Source): readonly Td[] | null {
  const whole = collectionOf(lazy, source);
  if (whole === null) return null;
  if (isLazy(whole) && whole.stackDim === lazy.stackDim) {
    return whole.members.length >= lazy.members.length ? whole.members : null;
  }
  return isSplit(lazy, whole) ? (whole.unbind(lazy.stackDim) as Td[]) : null;
}

/**
 * `piecesFor` an update, whose source must fit.
 * @throws ValueError for a source of another batch size
 */
export function requiredPieces(lazy: LazyTd, source: Source): readonly Td[] | null {
  const whole = collectionOf(lazy, source);
  if (whole === null) return null;
  const found = piecesFor(lazy, whole);
  if (found !== null) return found;
  if (isLazy(whole) && whole.stackDim === lazy.stackDim) {
    throw new ValueError("cannot update stacked tensordicts with different shapes when update_batch_size=False.");
  }
  try {
    const same = whole.clone(false) as Td;
    same.batchSize = lazy._batchSize;
    return same.unbind(lazy.stackDim) as Td[];
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error;
    throw new ValueError("cannot update stacked tensordicts with different shapes.");
  }
}

/** Parts of a dense tree of tensors, and the members of a stack that are written into them; null for anything else. */
export function partsForMembers(td: Td, source: Source): readonly [Td, Td][] | null {
  const stack = source instanceof Collection ? stackOf(source) : null;
  if (stack === null || isLazy(td) || td._outside !== undefined) return null;
  if (!isSplit(stack, td) || !holdsTensors(td)) return null;
  const parts = td.unbind(stack.stackDim) as Td[];
  return stack.members.map((member, i) => [parts[i] as Td, member]);
}

/** Whether a tree holds nothing but tensors of the batch, in memory: its parts are views. */
function holdsTensors(td: Td): boolean {
  for (const [, entry] of outlinesOf(td)) {
    if (entry instanceof Tensor) {
      if (isUnbatched(entry)) return false;
    } else if (!isBranch(entry) || stackOf(entry) !== null || !holdsTensors(entry)) return false;
  }
  return true;
}
