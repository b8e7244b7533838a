// Reading, writing, listing and removing entries, nested keys included.
import { KeyError, RuntimeError } from "../tensor/errors.ts";
import { sameSizes } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { isSource, noValue, sourceEntries, toEntry, toValues } from "./convert.ts";
import { writeIndex } from "./indexing.ts";
import { InplaceWriteError, KeyThroughLeafError, keyPath, keyText, missingKey } from "./keys.ts";
import { adoptNames } from "./names.ts";
import { noNested } from "./nested.ts";
import {
  Collection,
  entriesOf,
  isBranch,
  isNested,
  isNonTensor,
  isTensorCollection,
  make,
  type NewState,
  outlineOf,
  requireUnlocked,
  shapeOf,
  stateOf,
  type Td,
} from "./state.ts";
import { tensor } from "./tensor-ops.ts";
import type { Entry, IterationOptions, NestedKey } from "./types.ts";

/** The collection that holds the last key of a path, and that key. */
function resolvePath(td: Td, path: readonly string[]): [Td, string] {
  let at = td;
  for (let i = 0; i < path.length - 1; i++) {
    const key = path[i] as string;
    const entry = at._own(key);
    if (entry === undefined) throw missingKey(key, at._className, at._keys());
    if (!isBranch(entry)) throw throughLeaf(key, entry, path[i + 1] as string);
    at = entry;
  }
  return [at, path[path.length - 1] as string];
}

function throughLeaf(key: string, entry: Entry, next: string): KeyThroughLeafError {
  const what = entry instanceof Tensor ? "Tensor" : entry._className;
  return new KeyThroughLeafError(`'${key}' is a ${what}, not a tensordict, so it has no entry '${next}'.`);
}

/** The entry under a key, undefined when it is not there. */
export function findEntry(td: Td, key: NestedKey): Entry | undefined {
  if (typeof key === "string") return td._own(key);
  let at: Entry = td;
  for (const part of keyPath(key)) {
    if (!isBranch(at)) return undefined;
    const next: Entry | undefined = at._own(part);
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

/** Sets an entry; levels that are missing are made. */
export function setEntry(td: Td, key: NestedKey, value: unknown): void {
  const path = keyPath(key);
  requireUnlocked(td);
  let at = td;
  for (let i = 0; i < path.length - 1; i++) {
    const part = path[i] as string;
    let next = at._own(part);
    if (next === undefined) {
      next = make.tensordict(new Map(), stateOf(at));
      requireUnlocked(at);
      at._put(part, next);
      next = at._own(part) as Entry;
    }
    if (!isBranch(next)) throw throughLeaf(part, next, path[i + 1] as string);
    at = next;
  }
  requireUnlocked(at);
  const last = path[path.length - 1] as string;
  const entry = toEntry(value, stateOf(at), last);
  at._put(last, entry);
  adoptNames(at, entry);
}

/** Writes into the storage of an existing entry. */
export function setInPlace(td: Td, key: NestedKey, value: unknown): void {
  const [holder, last] = resolvePath(td, keyPath(key));
  const entry = outlineOf(holder, last);
  if (entry === undefined) throw missingKey(last, holder._className, holder._keys());
  writeInto(holder, last, entry, value);
}

/** Writes into part of an existing entry. */
export function writePart(td: Td, key: NestedKey, value: unknown, index: unknown): void {
  const [holder, last] = resolvePath(td, keyPath(key));
  const entry = outlineOf(holder, last);
  if (entry === undefined) throw missingKey(last, holder._className, holder._keys());
  if (isNested(entry)) throw noNested("writing a part", last);
  if (isNonTensor(entry)) writeIndex(holder, Array.isArray(index) ? index : [index], new Map([[last, value]]));
  else if (!(entry instanceof Tensor)) (entry as Td).setAt(index, value);
  else if (holder._outside !== undefined) holder._outside.write(last, Array.isArray(index) ? index : [index], value);
  else entry.setAt(index, value as number);
}

function assignValues(entry: Td, value: unknown, state: NewState, key: string): void {
  (entry as unknown as { _assign(other: Td): void })._assign(toValues(value, state, key));
}

function writeInto(holder: Td, key: string, entry: Entry, value: unknown): void {
  if (holder._kind === "lazy") {
    writeMembers(holder, key, entry, value);
    return;
  }
  if (entry instanceof Tensor) {
    const source = value instanceof Tensor ? value : tensor(value);
    if (!sameSizes(source._shape, entry._shape)) throw misfit(holder, key, source, entry);
    if (holder._outside === undefined) entry.copy_(source);
    else holder._outside.write(key, [], source);
    return;
  }
  if (isNested(entry)) {
    const source = toEntry(value, stateOf(holder), key);
    if (!isNested(source) || !entry._sameSizes(source)) throw misfit(holder, key, source, entry);
    entry._copy(source);
    return;
  }
  if (isNonTensor(entry)) {
    assignValues(entry as Td, value, stateOf(holder), key);
    return;
  }
  if (value instanceof Collection) updateInPlace(entry, value as Td);
  else if (isSource(value)) updateInPlace(entry, value);
  else throw new RuntimeError(`the entry ${key} is a ${entry._className}: it can only be updated with another one`);
}

// What a lazy stack reads is a copy: writing goes to its members.
function writeMembers(holder: Td, key: string, entry: Entry, value: unknown): void {
  const { members, stackDim } = holder as unknown as { members: Td[]; stackDim: number };
  const source = toEntry(value, stateOf(holder), key);
  if (source instanceof Tensor && !sameSizes(source._shape, shapeOf(entry))) throw misfit(holder, key, source, entry);
  const parts = (source as Td).unbind(stackDim) as readonly Entry[];
  for (const [i, member] of members.entries()) writeInto(member, key, member._own(key) as Entry, parts[i]);
}

function misfit(holder: Td, key: string, value: Entry, entry: Entry): InplaceWriteError {
  return new InplaceWriteError(
    `Failed to update '${key}' in tensordict ${holder}: the value of shape ${shapeOf(value)} does not fit ` +
      `the entry of shape ${shapeOf(entry)}`,
  );
}

/** What `update` takes. */
export type UpdateSource = Td | Record<string, unknown> | ReadonlyMap<string, unknown>;

function pairsOf(source: UpdateSource): Iterable<[string, unknown]> {
  return source instanceof Collection ? entriesOf(source) : sourceEntries(source as Record<string, unknown>);
}

/** Adds and replaces entries; nested TensorDicts are merged. */
export function updateTd(td: Td, source: UpdateSource, clone: boolean): void {
  requireUnlocked(td);
  for (const [key, value] of pairsOf(source)) {
    const own = outlineOf(td, key);
    if (isBranch(own) && (value instanceof Collection ? isBranch(value) : isSource(value))) {
      updateTd(own, value as UpdateSource, clone);
      continue;
    }
    setEntry(
      td,
      key,
      clone && (value instanceof Tensor || value instanceof Collection) ? (value as Td).clone() : value,
    );
  }
}

/** Writes into existing entries; a key that is missing is an error. */
export function updateInPlace(td: Td, source: UpdateSource): void {
  if (isNonTensor(td)) {
    if (!(source instanceof Collection)) throw noValue();
    assignValues(td, source, stateOf(td), "data");
    return;
  }
  const pairs = [...pairsOf(source)];
  for (const [key] of pairs) {
    if (outlineOf(td, key) === undefined) throw new KeyError(`The key ${key} was not found in the dest tensordict.`);
  }
  for (const [key, value] of pairs) writeInto(td, key, outlineOf(td, key) as Entry, value);
}

/** Removes an entry. */
export function deleteEntry(td: Td, key: NestedKey): void {
  const [holder, last] = resolvePath(td, keyPath(key));
  requireUnlocked(holder);
  if (outlineOf(holder, last) === undefined) throw missingKey(last, holder._className, holder._keys());
  holder._drop(last);
}

/** Renames an entry, which moves to the end. */
export function renameKey(td: Td, before: NestedKey, after: NestedKey, safe: boolean): void {
  const entry = requireEntry(td, before);
  if (safe && findEntry(td, after) !== undefined) {
    throw new KeyError(`key ${keyText(keyPath(after))} already present in TensorDict.`);
  }
  requireUnlocked(td);
  if (keyText(keyPath(before)) === keyText(keyPath(after))) return;
  setEntry(td, after, entry);
  deleteEntry(td, before);
}

/** A path and the entry under it. */
export type PathEntry = readonly [readonly string[], Entry];

/** How the entries of one level are listed: read, or for what they are. */
type Lister = typeof entriesOf;

function* walk(
  td: Td,
  prefix: readonly string[],
  nested: boolean,
  leavesOnly: boolean,
  list: Lister,
): Generator<PathEntry> {
  for (const [key, entry] of list(td)) {
    const path = prefix.length === 0 ? [key] : [...prefix, key];
    const branch = isBranch(entry);
    const shown = !leavesOnly || !isTensorCollection(entry);
    // Children come before the TensorDict that holds them; a file lists its groups first.
    const holderFirst = td._outside !== undefined;
    if (shown && holderFirst) yield [path, entry];
    if (branch && nested) yield* walk(entry, path, true, leavesOnly, list);
    if (shown && !holderFirst) yield [path, entry];
  }
}

/** Paths and entries in the order of insertion, children before their parent. */
export function listEntries(td: Td, options: IterationOptions, lister: Lister = entriesOf): PathEntry[] {
  const list = [...walk(td, [], options.includeNested === true, options.leavesOnly === true, lister)];
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
  if (td._kind === "lazy") {
    for (const member of (td as unknown as { members: Td[] }).members) changeTensors(member, fn, prefix);
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
 * elements of all components.
 */
export function* tensorsOf(td: Td, prefix: readonly string[] = []): Generator<[readonly string[], Tensor]> {
  if (td._kind === "lazy") {
    for (const member of (td as unknown as { members: Td[] }).members) yield* tensorsOf(member, prefix);
    return;
  }
  for (const [key, entry] of entriesOf(td)) {
    const path = [...prefix, key];
    if (entry instanceof Tensor) yield [path, entry];
    else if (isNested(entry)) yield [path, entry._values];
    else if (!isNonTensor(entry)) yield* tensorsOf(entry, path);
  }
}
