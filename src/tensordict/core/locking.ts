// Locking: a locked TensorDict keeps its set of entries; their contents can still be written in place.
import { RuntimeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import {
  type Collection,
  isBranch,
  isClassTd,
  isInMemory,
  isLazy,
  isLockedTd,
  isNonTensor,
  isParams,
  isTensorCollection,
  outlineOf,
  outlinesOf,
  type Td,
} from "./state.ts";

/** Collections directly below: members of a stack, what holds parameters, nested entries of others. */
export function childrenOf(td: Collection): Td[] {
  const children: Td[] = [];
  if (isClassTd(td) && td._source !== null) return childrenOf(td._source);
  if (isLazy(td)) children.push(...td._members);
  else if (isNonTensor(td)) children.push(...(td._kind === "nonTensorStack" ? (td._given as readonly Td[]) : []));
  else if (isParams(td)) children.push(td._wrapped);
  else
    for (const key of td._keys()) {
      const entry = outlineOf(td, key);
      if (isTensorCollection(entry)) children.push(entry);
    }
  return children;
}

/** Locks a tree whose holders, the outermost first, are locked: each level knows all that count on its entries. */
function lockUnder(td: Collection, holders: readonly WeakRef<Collection>[]): void {
  if (td._holders.length === 0) {
    if (holders.length > 0) td._holders = holders;
  } else {
    const known = new Set(td._holders.map((ref) => ref.deref()));
    const more = holders.filter((holder) => !known.has(holder.deref()));
    if (more.length > 0) td._holders = [...td._holders, ...more];
  }
  if (td._locked) return;
  td._locked = true;
  const children = childrenOf(td);
  if (children.length === 0) return;
  const below = [...holders, new WeakRef(td)];
  for (const child of children) lockUnder(child, below);
}

/** What unlocking reaches: everything below, the innermost first, but for what locked parameters keep. */
function reached(td: Collection, into: Set<Collection>, seen: Set<Collection>): void {
  if (seen.has(td)) return;
  seen.add(td);
  if (!(isParams(td) && td._lockContent)) for (const child of childrenOf(td)) reached(child, into, seen);
  into.add(td);
  // An object of a class and what it shows are locked as one.
  if (isClassTd(td) && td._source !== null) into.add(td._source);
}

/** Unlocks all of a tree, or nothing: a locked parent outside of it still counts on its entries. */
function unlockAll(tree: ReadonlySet<Collection>): void {
  for (const td of tree) {
    const others = td._holders.map((ref) => ref.deref());
    const within = (other: Collection) =>
      tree.has(other) || (isClassTd(other) && other._source !== null && tree.has(other._source));
    const outside = others.find((other) => other !== undefined && !within(other) && other._locked);
    if (outside === undefined) continue;
    throw new RuntimeError(
      "Cannot unlock a tensordict that is part of a locked graph. Unlock the root tensordict first. " +
        "If the tensordict " +
        "is part of multiple graphs, group the graphs under a common tensordict an unlock this root. " +
        `self: ${td}, obj: ${outside}`,
      { code: "locked" },
    );
  }
  for (const td of tree) {
    td._holders = [];
    td._locked = false;
  }
}

/** A member that a stack begins to have is locked like the stack. */
export function holdMember(td: Collection, member: Collection): void {
  if (td._locked) lockUnder(member, [new WeakRef(td)]);
}

/** Locks the whole tree. */
export function lockTd(td: Collection): void {
  if (!isLockedTd(td)) lockUnder(td, []);
}

/** Another shape of a collection is locked where its source is, each level by itself; of stacks if `stacks` says so. */
export function lockLike(td: Td, result: Td, stacks = true): Td {
  if (!stacks && isLazy(td)) return result;
  if (result === td || isLazy(td) !== isLazy(result)) return lockWhole(td, result);
  if (isLockedTd(td)) lockTd(result);
  else if (!isLazy(td) && !isNonTensor(td)) {
    const own = isInMemory(td) ? td._map : new Map(outlinesOf(td));
    for (const key of own.keys()) {
      const entry = own.get(key);
      if (entry instanceof Tensor || !isBranch(entry)) continue;
      const made = result._own(key);
      if (isBranch(made)) lockLike(entry, made, stacks);
    }
  }
  return result;
}

/** The result of an operation is locked where its source is locked as a whole. */
function lockWhole(td: Td, result: Td): Td {
  if (result !== td && isLockedTd(td)) lockTd(result);
  return result;
}

/** A view of mapped memory is mapped and locked as its source is; it has no directory. */
export function mapLike(td: Td, view: Td): Td {
  const disk = td._disk;
  if (view === td || disk === null || disk.loose === true || !td._locked) return view;
  const mark = (at: Collection): void => {
    at._disk ??= { path: null, late: new Set(), robustKey: disk.robustKey, shared: disk.shared === true };
    childrenOf(at).forEach(mark);
  };
  mark(view);
  lockTd(view);
  return view;
}

/** Entries may come and go now, without the files: locking again does not make them mapped. */
function loosen(td: Collection): void {
  if (td._disk !== null) td._disk.loose = true;
  for (const child of childrenOf(td)) loosen(child);
}

/** Unlocks the whole tree, also below what is not locked itself; refused inside a locked one. */
export function unlockTd(td: Collection): void {
  // Its own holders are looked at first, then those of what is below.
  const tree = new Set<Collection>([td]);
  reached(td, tree, new Set());
  unlockAll(tree);
  loosen(td);
}
