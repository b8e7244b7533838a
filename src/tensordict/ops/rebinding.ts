// Giving a collection what an operation made, instead of making another one.
import { RuntimeError } from "../../tensor/errors.ts";
import { entriesOf, isBranch, isLazy, requireUnlocked, type Td } from "../core/state.ts";
import type { Entry } from "../core/types.ts";

/** Gives `td` and the collections in it the entries, sizes and names of the same tree after an operation. */
export function rebind(td: Td, made: Td): void {
  if (td === made) return;
  if (isLazy(td) && isLazy(made)) {
    for (const [i, member] of td.members.entries()) rebind(member, made.members[i] as Td);
    td._device = made._device;
    return;
  }
  const entries: [string, Entry][] = [...entriesOf(made)];
  for (const [key, entry] of entries) {
    const own = td._own(key);
    if (isBranch(own) && isBranch(entry) && own._kind === entry._kind) rebind(own, entry);
    else td._put(key, entry);
  }
  td._batchSize = made._batchSize;
  td._device = made._device;
  td._names = made._names;
}

/** The result of a change of shape, or this collection with what it made. */
export function inPlace<T>(td: Td, op: string, made: Td, inplace: boolean | undefined): T {
  if (inplace !== true) return made as T;
  if (isLazy(td)) {
    throw new RuntimeError(
      `${op}(inplace=True) is not supported on LazyStackedTensorDict; call .to_tensordict() first or use ` +
        "inplace=False.",
    );
  }
  requireUnlocked(td);
  rebind(td, made);
  return td as T;
}
