// Reading, listing and removing entries, nested keys included.
import { KeyError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { keyPath, keyText, missingKey } from "../core/keys.ts";
import {
  entriesOf,
  isBranch,
  isClassTd,
  isInMemory,
  isLazy,
  isNested,
  isNonTensor,
  isParams,
  isTensorCollection,
  outlineOf,
  outlinesOf,
  requireUnlocked,
  stackOf,
  type Td,
} from "../core/state.ts";
import type { Entry, IterationOptions, ListingArguments, NestedKey } from "../core/types.ts";
import { resolvePath, setEntry } from "./writes.ts";

/** Whether a nested key is a path as it stands: texts, one level each. */
function isPath(key: unknown): key is readonly string[] {
  if (!Array.isArray(key) || key.length === 0) return false;
  for (let i = 0; i < key.length; i++) if (typeof key[i] !== "string") return false;
  return true;
}

/** The entry under a key, undefined when it is not there. */
export function findEntry(td: Td, key: NestedKey): Entry | undefined {
  if (typeof key === "string") return td._own(key);
  const path = isPath(key) ? key : keyPath(key);
  let at: Entry = td;
  for (let i = 0; i < path.length; i++) {
    if (!isBranch(at)) return undefined;
    const next: Entry | undefined = at._own(path[i] as string);
    if (next === undefined) return undefined;
    at = next;
  }
  return at;
}

/** The entry under a key; a missing one is an error. */
export function requireEntry(td: Td, key: NestedKey): Entry {
  const [holder, last] = resolvePath(td, keyPath(key));
  const entry = holder._own(last);
  if (entry === undefined) throw missingKey(last, holder._className, holder._keys());
  return entry;
}

/** Refuses to take entries out of a locked collection, or of a stack with a locked member. */
export function requireOpen(td: Td): void {
  requireUnlocked(td);
  if (isLazy(td)) for (const member of td.members) requireOpen(member);
}

/** Who has the entry that a path leads to; in a stack the members that have it, which need not be all. */
function holdersOf(td: Td, path: readonly string[], into: Set<Td> = new Set()): Set<Td> {
  const stack = stackOf(td);
  if (stack !== null) for (const member of stack.members) holdersOf(member, path, into);
  else {
    const [key, ...rest] = path as [string, ...string[]];
    const entry = outlineOf(td, key);
    if (rest.length === 0 && entry !== undefined) into.add(td);
    else if (isBranch(entry)) holdersOf(entry, rest, into);
  }
  return into;
}

/** Whether something could be removed: in a stack one of its members has it. */
export const hasEntry = (td: Td, key: NestedKey): boolean => holdersOf(td, keyPath(key)).size > 0;

/** Removes an entry: of a stack from the members that have it. */
export function deleteEntry(td: Td, key: NestedKey): void {
  const path = keyPath(key);
  const holders = holdersOf(td, path);
  const last = path[path.length - 1] as string;
  if (holders.size === 0) {
    const [holder] = resolvePath(td, path);
    // A field without a value is one that was removed.
    if (isClassTd(holder) && holder._fieldNames().includes(last)) return;
    requireUnlocked(holder);
    throw missingKey(last, holder._className, holder._keys());
  }
  requireUnlocked(td);
  for (const holder of holders) requireUnlocked(holder);
  for (const holder of holders) holder._drop(last);
}

/** Renames an entry, which moves to the end. */
export function renameKey(td: Td, before: NestedKey, after: NestedKey, safe: boolean): void {
  if (isLazy(td) && td.members.length > 0) {
    // Every member is asked before one of them is changed.
    const members = innermost(td);
    for (const member of members) checkRename(member, before, after, safe);
    requireUnlocked(td);
    for (const member of members) renameKey(member, before, after, safe);
    return;
  }
  checkRename(td, before, after, safe);
  if (keyText(keyPath(before)) === keyText(keyPath(after))) return;
  const entry = requireEntry(td, before);
  if (isBelow(keyPath(after), keyPath(before))) {
    // It makes way for a level of its name that it goes into.
    deleteEntry(td, before);
    setEntry(td, after, entry);
    return;
  }
  setEntry(td, after, entry);
  // In the place of what held it, it is where it should be already.
  const [from, to] = [keyPath(before), keyPath(after)];
  if (!isBelow(from, to)) deleteEntry(td, before);
}

/** Whether a path leads into what another one leads to. */
export const isBelow = (path: readonly string[], other: readonly string[]): boolean =>
  path.length > other.length && other.every((part, i) => part === path[i]);

/** What is at the bottom of stacks of stacks, each once, however often it stands there. */
function innermost(td: Td, into: Set<Td> = new Set()): Set<Td> {
  if (!isLazy(td)) into.add(td);
  else for (const member of td.members) innermost(member, into);
  return into;
}

/** Throws for a key that cannot be renamed. */
function checkRename(td: Td, before: NestedKey, after: NestedKey, safe: boolean): void {
  if (isLazy(td)) for (const member of td.members) checkRename(member, before, after, safe);
  else requireEntry(td, before);
  const same = keyText(keyPath(before)) === keyText(keyPath(after));
  const inside = isBelow(keyPath(after), keyPath(before));
  if (safe && !same && !inside && findEntry(td, after) !== undefined) {
    throw new KeyError(`key ${keyText(keyPath(after))} already present in TensorDict.`);
  }
  requireUnlocked(td);
  requireUnlocked(resolvePath(td, keyPath(before))[0]);
}

/** A path and the entry under it. */
export type PathEntry = readonly [readonly string[], Entry];

/** How the entries of one level are listed: read, or for what they are. */
type Lister = typeof entriesOf;

/** What is listed, and how. */
interface Listing {
  nested: boolean;
  shows: (entry: Entry) => boolean;
  list: Lister;
  holders: boolean;
}

function walk(td: Td, prefix: readonly string[], how: Listing, found: PathEntry[]): PathEntry[] {
  // A file lists its groups first, too.
  const holderFirst = how.holders || td._outside !== undefined;
  const own = isInMemory(td) ? td._map : new Map(how.list(td));
  for (const key of own.keys()) {
    const entry = own.get(key) as Entry;
    const path = prefix.length === 0 ? [key] : [...prefix, key];
    const shown = how.shows(entry);
    if (shown && holderFirst) found.push([path, entry]);
    if (how.nested && isBranch(entry)) walk(entry, path, how, found);
    if (shown && !holderFirst) found.push([path, entry]);
  }
  return found;
}

/** The options of `keys`, `values` and `items`, from their arguments in places. */
export function listing(args: ListingArguments): IterationOptions {
  const [first, leavesOnly, options] = args;
  if (typeof first === "object") return first;
  return { ...options, includeNested: first === true, leavesOnly: leavesOnly === true };
}

/** Which entries are listed. */
function shownBy({ leavesOnly, isLeaf }: IterationOptions): (entry: Entry) => boolean {
  if (leavesOnly !== true) return () => true;
  if (isLeaf === undefined || isLeaf === null) return (entry) => !isTensorCollection(entry);
  return (entry) => isLeaf(entry.constructor as abstract new (...args: never[]) => unknown);
}

/**
 * Paths and entries in the order of insertion. As in Python, keys list what a TensorDict holds before itself, and
 * values and items list it first.
 */
export function listEntries(td: Td, options: IterationOptions, lister: Lister, holderFirst: boolean): PathEntry[] {
  const nested = options.includeNested === true;
  const list = walk(td, [], { nested, shows: shownBy(options), list: lister, holders: holderFirst }, []);
  if (options.sort === true) {
    const text = (path: readonly string[]) => path.join(".");
    list.sort(([a], [b]) => (text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0));
  }
  return list;
}

/** Lets `fn` change every tensor of the tree in place; false says that it did not. */
export function changeTensors(
  td: Td,
  fn: (t: Tensor, path: readonly string[]) => Tensor | false,
  prefix: readonly string[] = [],
): void {
  if (isLazy(td)) {
    for (const member of td._members) changeTensors(member, fn, prefix);
    return;
  }
  // Parameters are written past autograd.
  if (isParams(td)) {
    changeTensors(td.data, (t, path) => fn(t, path), prefix);
    return;
  }
  for (const [key, entry] of entriesOf(td)) {
    const path = [...prefix, key];
    if (entry instanceof Tensor) {
      if (fn(entry, path) !== false) td._outside?.write(key, [], entry);
    } else if (isNested(entry)) fn(entry._values, path);
    else if (!isNonTensor(entry)) changeTensors(entry, fn, path);
  }
}

/**
 * Every tensor of the tree with its path; of a lazy stack those of its members, of a nested tensor the one that has the
 * elements of all components. To be `written`: of parameters what is written past autograd.
 */
export function* tensorsOf(
  td: Td,
  prefix: readonly string[] = [],
  written = false,
): Generator<[readonly string[], Tensor]> {
  if (isLazy(td)) {
    for (const member of td._members) yield* tensorsOf(member, prefix, written);
    return;
  }
  if (written && isParams(td)) {
    yield* tensorsOf(td.data, prefix);
    return;
  }
  for (const [key, entry] of entriesOf(td)) {
    const path = [...prefix, key];
    if (entry instanceof Tensor) yield [path, entry];
    else if (isNested(entry)) yield [path, entry._values];
    else if (!isNonTensor(entry)) yield* tensorsOf(entry, path, written);
  }
}

/** True when no tensor is below. */
export function hasNoTensors(td: Td): boolean {
  for (const _ of tensorsOf(td)) return false;
  return true;
}

/** True when neither a tensor nor a value is below; the values of lazy stacks do not count. */
export function isEmptyTd(td: Td): boolean {
  if (isNonTensor(td)) return false;
  if (isLazy(td)) return hasNoTensors(td);
  for (const [, entry] of outlinesOf(td)) {
    if (!isTensorCollection(entry) || !isEmptyTd(entry)) return false;
  }
  return true;
}
