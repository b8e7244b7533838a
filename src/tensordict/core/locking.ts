// Locking: a locked TensorDict keeps its set of entries; their contents can still be written in place.
import { RuntimeError } from "../../tensor/errors.ts";
import {
  type Collection,
  isLazy,
  isLockedTd,
  isNonTensor,
  isParams,
  isTensorCollection,
  outlinesOf,
  type Td,
} from "./state.ts";

/** Collections directly below: members of a stack, what holds parameters, nested entries of others. */
export function childrenOf(td: Collection): Td[] {
  const children: Td[] = [];
  if (isLazy(td)) children.push(...td._members);
  else if (isNonTensor(td)) children.push(...(td._kind === "nonTensorStack" ? (td._parts as readonly Td[]) : []));
  else if (isParams(td)) children.push(td._wrapped);
  else for (const [, entry] of outlinesOf(td)) if (isTensorCollection(entry)) children.push(entry);
  return children;
}

function lockUnder(td: Collection, holder: Collection | null): void {
  if (holder !== null && !td._holders.some((ref) => ref.deref() === holder)) td._holders.push(new WeakRef(holder));
  if (td._locked) return;
  td._locked = true;
  for (const child of childrenOf(td)) lockUnder(child, td);
}

function unlockUnder(td: Collection, holder: Collection | null): void {
  td._holders = td._holders.filter((ref) => {
    const other = ref.deref();
    return other !== undefined && other !== holder && other._locked;
  });
  // A second locked parent still counts on these entries.
  if (td._holders.length > 0) {
    throw new RuntimeError(
      "Cannot unlock a tensordict that is part of a locked graph. Unlock the root tensordict first. " +
        "If the tensordict " +
        "is part of multiple graphs, group the graphs under a common tensordict an unlock this root. " +
        `self: ${td}, obj: ${td._holders[0]?.deref()}`,
      { code: "locked" },
    );
  }
  td._locked = false;
  if (isParams(td) && td._lockContent) return;
  for (const child of childrenOf(td)) unlockUnder(child, td);
}

/** A member that a stack begins to have is locked like the stack. */
export function holdMember(td: Collection, member: Collection): void {
  if (td._locked) lockUnder(member, td);
}

/** Locks the whole tree. */
export function lockTd(td: Collection): void {
  if (!td._locked) lockUnder(td, null);
}

/** Entries may come and go now, without the files: locking again does not make them mapped. */
function loosen(td: Collection): void {
  if (td._disk !== null) td._disk.loose = true;
  for (const child of childrenOf(td)) loosen(child);
}

/** Unlocks the whole tree; refused inside a locked one. */
export function unlockTd(td: Collection): void {
  if (!isLockedTd(td) && !isLazy(td)) return;
  try {
    unlockUnder(td, null);
    loosen(td);
  } catch (error) {
    // All or nothing: what was unlocked above the refusing child is locked again.
    for (const child of childrenOf(td)) lockUnder(child, td);
    td._locked = true;
    throw error;
  }
}
