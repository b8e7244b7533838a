// Setting and updating entries. Each write is planned first, with all that could refuse it, and made afterwards: a call
// that fails has changed nothing.
import { KeyError, RuntimeError, ValueError } from "../../tensor/errors.ts";
import { sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import {
  entryIn,
  isNumberLike,
  isSource,
  mismatch,
  noValue,
  startsWith,
  throughLeaf,
  toEntry,
  toValues,
} from "../core/convert.ts";
import { InplaceWriteError, keyPath, keyText, keyTuple, missingKey, pythonString } from "../core/keys.ts";
import { childrenOf } from "../core/locking.ts";
import { adoptNames } from "../core/names.ts";
import { noNested } from "../core/nested.ts";
import { rehearseCopy } from "../core/rehearsal.ts";
import {
  Collection,
  isBranch,
  isClassTd,
  isInMemory,
  isLazy,
  isNested,
  isNonTensor,
  type LazyTd,
  make,
  mapOf,
  outlineOf,
  requireFields,
  requireUnlocked,
  shapeOf,
  stackOf,
  stateOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import { tensor } from "../core/tensor-ops.ts";
import type { Entry, NestedKey } from "../core/types.ts";
import { isUnbatched } from "../core/unbatched.ts";
import { partsForMembers, piecesFor, requiredPieces } from "./pieces.ts";
import { valuesOf } from "./stacking.ts";
import {
  isBare,
  pairsOf,
  requireApart,
  requireSource,
  type Selection,
  selected,
  type UpdateOptions,
  type UpdateSource,
} from "./update-sources.ts";

/** Writes that cannot be refused any more. */
export type Writes = (() => void)[];

/** Python's words for a key that some member of a stack lacks. */
const NOT_IN_ALL =
  "setting a value in-place on a stack of TensorDict is only permitted if all members of the stack have this key in " +
  "their register.";

/** Plans writes, then makes them. */
export function allOrNothing(plan: (writes: Writes) => void): void {
  const writes: Writes = [];
  plan(writes);
  for (const write of writes) write();
}

/** The error for a value that does not fit into the entry it should overwrite. */
export function misfit(holder: Td, key: string, value: Entry, entry: Entry): InplaceWriteError {
  const shapes =
    (value instanceof Tensor || isNested(value)) && (entry instanceof Tensor || isNested(entry))
      ? `: the value of shape ${shapeOf(value)} does not fit the entry of shape ${shapeOf(entry)}`
      : "";
  return new InplaceWriteError(`Failed to update '${key}' in tensordict ${holder}${shapes}`);
}

/** Whether a shape becomes another one by repeating dimensions of size one and adding some in front. */
export function expandsTo(shape: readonly number[], wanted: readonly number[]): boolean {
  const more = wanted.length - shape.length;
  return more >= 0 && shape.every((n, dim) => n === 1 || n === wanted[more + dim]);
}

/** The collection that holds the last key of a path, and that key. */
export function resolvePath(td: Td, path: readonly string[]): [Td, string] {
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

/** The entry that a key leads to, for what it is, and where it is; a missing one is an error. */
export function requireOutline(td: Td, key: NestedKey): [Td, string, Entry] {
  const [holder, last] = resolvePath(td, keyPath(key));
  const entry = outlineOf(holder, last);
  if (entry === undefined) throw missingKey(last, holder._className, holder._keys());
  return [holder, last, entry];
}

/** Refuses a new entry of a locked collection, of a locked member of a stack, or for a field that a class has not. */
export function requirePlace(td: Td, key: string): void {
  requireUnlocked(td);
  if (isLazy(td)) for (const member of td.members) requirePlace(member, key);
  else requireFields(td, [key]);
}

/** What an object of a class holds its entries in; anything else itself. */
const bareOf = (td: Td): Collection => (isClassTd(td) ? (td._source ?? td) : td);

/** A collection and, of a stack, its members: what gets an entry that is set. */
const receiversOf = (td: Td): Td[] => [td, ...(stackOf(td)?.members ?? []).flatMap(receiversOf)];

/** Refuses a value that holds a collection it is to be put into: the tree would have no end. */
export function requireOutside(receivers: readonly Td[], value: unknown): void {
  const within = new Set<unknown>(receivers.map(bareOf));
  const seen = new Set<unknown>();
  const open: unknown[] = [value];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (isBranch(at)) at = bareOf(at);
    if (within.has(at)) throw new ValueError("a tensordict cannot contain itself");
    if (seen.has(at)) continue;
    seen.add(at);
    if (isBranch(at)) open.push(...childrenOf(at));
    else if (isSource(at)) open.push(...(at instanceof Map ? at.values() : Object.values(at)));
  }
}

/** Plans setting an entry; levels that are missing are made. */
export function planSet(td: Td, path: readonly string[], value: unknown, writes: Writes): void {
  requireUnlocked(td);
  let at = td;
  let depth = 0;
  for (; depth < path.length - 1; depth++) {
    const next = at._own(path[depth] as string);
    if (next === undefined) break;
    if (!isBranch(next)) throw throughLeaf(path[depth] as string, next, path[depth + 1] as string);
    at = next;
  }
  requirePlace(at, path[depth] as string);
  if (!(value instanceof Tensor) && (isBranch(value) || isSource(value))) requireOutside(receiversOf(at), value);
  const last = path[path.length - 1] as string;
  const entry = entryIn(at, last, value);
  if (isLazy(at) && isNested(entry)) throw noNested("setting a part", last);
  at._outside?.check(last, entry);
  if (depth === path.length - 1) {
    writes.push(() => {
      at._put(last, entry);
      adoptNames(at, entry);
    });
  } else if (isLazy(at) && !isUnbatched(entry)) {
    // Members may have the level, with other entries, where the stack does not.
    const parts = (entry as Td).unbind(at.stackDim) as readonly Entry[];
    for (const [i, member] of at.members.entries()) planSet(member, path.slice(depth), parts[i], writes);
  } else writes.push(() => putEntry(at, path.slice(depth), entry));
}

function putEntry(td: Td, path: readonly string[], entry: Entry): void {
  let at = td;
  for (const part of path.slice(0, -1)) {
    if (at._own(part) === undefined) at._put(part, make.tensordict(new Map(), stateOf(at)));
    at = at._own(part) as Td;
  }
  at._put(path.at(-1) as string, entry);
  adoptNames(at, entry);
}

/** Sets an entry; levels that are missing are made. */
export function setEntry(td: Td, key: NestedKey, value: unknown): void {
  if (typeof key === "string" && value instanceof Tensor) {
    // One tensor under one key: what could refuse it comes before the only write.
    requirePlace(td, key);
    const entry = entryIn(td, key, value);
    td._outside?.check(key, entry);
    td._put(key, entry);
    return;
  }
  allOrNothing((writes) => planSet(td, keyPath(key), value, writes));
}

/** Plans replacing the values of an entry without tensors. */
export function planValues(entry: ValueTd, values: ValueTd, writes: Writes): void {
  if (entry._kind === "nonTensorStack") {
    const [given, own] = [valuesOf(values).length, valuesOf(entry).length];
    if (given !== own) throw new RuntimeError(`${given} values for ${own} elements`);
  }
  writes.push(() => entry._assign(values));
}

/**
 * Plans writing into the storage of an entry: as `set_` does it, of a value that begins with the batch, or, where the
 * path is given for the errors, as `update_` does it, of any value that broadcasts.
 */
export function planInto(
  holder: Td,
  key: string,
  entry: Entry,
  value: unknown,
  writes: Writes,
  path: readonly string[] | null = null,
): void {
  if (isLazy(holder)) {
    planMembers(holder, key, entry, value, writes, path);
  } else if (entry instanceof Tensor) {
    planTensor(holder, key, entry, value, writes, path);
  } else if (isNested(entry)) {
    const source = toEntry(value, stateOf(holder), key);
    if (!isNested(source) || !entry._sameSizes(source)) throw misfit(holder, key, source, entry);
    writes.push(() => entry._copy(source));
  } else if (isNonTensor(entry)) {
    planValues(entry, toValues(value, stateOf(holder), key), writes);
  } else if (isBranch(value) || isSource(value)) {
    planUpdateInPlace(entry as Td, value, { only: null, add: false }, writes);
  } else {
    throw misfit(holder, key, toEntry(value, stateOf(holder), key), entry);
  }
}

/** The tensor that a value is, which broadcasts to the entry that it is to be written into. */
function fitted(holder: Td, key: string, entry: Tensor, value: unknown, path: readonly string[] | null): Tensor {
  const source = value instanceof Tensor ? value : tensor(value);
  if (path === null && !isUnbatched(entry) && !startsWith(source._shape, holder._batchSize)) {
    throw mismatch(holder._batchSize, source.shape, key, isNumberLike(value));
  }
  if (sameSizes(source._shape, entry._shape)) return source;
  if (expandsTo(source._shape, entry._shape)) return source;
  if (path === null) throw misfit(holder, key, source, entry);
  const name = path.length === 1 ? pythonString(path[0] as string) : keyTuple(path);
  throw new RuntimeError(
    `update_() cannot copy the value of shape ${source.shape} under the key ${name} into the entry of shape ` +
      `${entry.shape}: ${whyNot(entry, source)}`,
    { op: "update_" },
  );
}

/** What `copy_` says of a source of that shape. */
function whyNot(entry: Tensor, source: Tensor): string {
  try {
    rehearseCopy(entry.detach(), source);
  } catch (error) {
    return (error as Error).message;
  }
  return "the shapes do not broadcast";
}

function planTensor(
  holder: Td,
  key: string,
  entry: Tensor,
  value: unknown,
  writes: Writes,
  path: readonly string[] | null,
): void {
  if (!(value instanceof Tensor) && value instanceof Collection) throw misfit(holder, key, value as Td, entry);
  const source = fitted(holder, key, entry, value, path);
  const outside = holder._outside;
  if (outside !== undefined) {
    writes.push(() => outside.write(key, [], source.expand([...entry._shape])));
    return;
  }
  rehearseCopy(entry, source);
  writes.push(() => entry.copy_(source));
}

// What a lazy stack reads is a copy: writing goes to its members.
function planMembers(
  holder: LazyTd,
  key: string,
  entry: Entry | null,
  value: unknown,
  writes: Writes,
  path: readonly string[] | null,
): void {
  const { members, stackDim } = holder;
  const broadcast = path !== null && entry instanceof Tensor && !(value instanceof Collection);
  const source = broadcast
    ? fitted(holder, key, entry, value, path).expand([...entry._shape])
    : toEntry(value, stateOf(holder), key);
  const parts = (source as Td).unbind(stackDim) as readonly Entry[];
  for (const [i, member] of members.entries()) {
    if (isLazy(member) && path === null) planMembers(member, key, null, parts[i], writes, path);
    else planInto(member, key, member._own(key) as Entry, parts[i], writes, path);
  }
}

/** Whether a collection has a key: a stack, if all of its members have it. */
function hasEntryOf(td: Td, key: string): boolean {
  return isLazy(td) ? td.members.every((member) => hasEntryOf(member, key)) : outlineOf(td, key) !== undefined;
}

/** Writes into the storage of an existing entry. */
export function setInPlace(td: Td, key: NestedKey, value: unknown): void {
  allOrNothing((writes) => planInPlace(td, key, value, writes));
}

export function planInPlace(td: Td, key: NestedKey, value: unknown, writes: Writes): void {
  const [holder, last] = resolvePath(td, keyPath(key));
  if (isLazy(holder)) {
    // The entries are not read: their shapes may differ.
    if (!holder.members.every((member) => hasEntryOf(member, last))) throw new KeyError(NOT_IN_ALL);
    planMembers(holder, last, null, value, writes, null);
    return;
  }
  const entry = outlineOf(holder, last);
  if (entry === undefined) throw missingKey(last, holder._className, holder._keys());
  planInto(holder, last, entry, value, writes);
}

function planUpdate(td: Td, source: UpdateSource, clone: boolean, only: Selection["only"], writes: Writes): void {
  requireUnlocked(td);
  requireSource(source);
  const pieces = isLazy(td) && td.members.length > 0 ? requiredPieces(td, source) : null;
  if (pieces !== null) {
    for (const [i, member] of (td as LazyTd).members.entries()) {
      planUpdate(member, pieces[i] as Td, clone, only, writes);
    }
    return;
  }
  requireBatch(td, source);
  if (only === null && source instanceof Collection) {
    const given = mapOf(source);
    for (const key of given.keys()) planEntry(td, key, given.get(key) as Entry, clone, writes);
    return;
  }
  const pairs = [...pairsOf(source, only)];
  requireApart(pairs);
  for (const [path, value, inner] of pairs) planPair(td, path, value, clone, inner, writes);
}

/** Plans what an update does with an entry of its source. */
function planEntry(td: Td, key: string, value: Entry, clone: boolean, writes: Writes): void {
  if (!isInMemory(td)) {
    planPair(td, [key], value, clone, null, writes);
    return;
  }
  if (value instanceof Tensor) {
    // A tensor takes the place of whatever is there.
    const entry = entryIn(td, key, clone ? value.clone() : value);
    writes.push(() => td._put(key, entry));
    return;
  }
  const own = td._map.get(key);
  const alike = own !== undefined && !(own instanceof Tensor) && isInMemory(own) && isInMemory(value);
  if (alike) planUpdate(own, value, clone, null, writes);
  else planPair(td, [key], value, clone, null, writes);
}

/** Plans what an update does with one key of its source. */
function planPair(
  td: Td,
  path: readonly string[],
  value: unknown,
  clone: boolean,
  inner: Selection["only"],
  writes: Writes,
): void {
  if (value instanceof Tensor && td._kind === "tensordict" && path.length === 1 && inner === null) {
    // A tensor takes the place of whatever is there.
    const [key] = path as [string];
    const entry = entryIn(td, key, clone ? value.clone() : value);
    td._outside?.check(key, entry);
    writes.push(() => td._put(key, entry));
    return;
  }
  const own = path.length === 1 ? outlineOf(td, path[0] as string) : findOutline(td, path);
  if (isBranch(own) && isBranch(value) && isLazy(value) && !isLazy(own) && !isClassTd(own)) {
    // The members of a stack stay apart, whatever they come to.
    const { stackDim } = value;
    const stack = make.lazy(own.unbind(stackDim) as Td[], stackDim, null);
    planUpdate(stack, value, clone, inner, writes);
    planSet(td, path, stack, writes);
  } else if (isBranch(own) && (isBranch(value) || isSource(value))) {
    planUpdate(own, value, clone, inner, writes);
  } else if (inner === null || own === undefined) {
    // A dictionary that is not there yet comes whole, whichever keys of it were asked for.
    const copy = clone && (value instanceof Tensor || value instanceof Collection);
    planSet(td, path, copy ? (value as Td).clone() : value, writes);
  }
}

function findOutline(td: Td, path: readonly string[]): Entry | undefined {
  let at: Entry | undefined = td;
  for (const part of path) {
    if (!isBranch(at)) return undefined;
    at = outlineOf(at, part);
  }
  return at;
}

/** Plans writing a source into entries that are there already. */
export function planUpdateInPlace(td: Td, source: UpdateSource, select: Selection, writes: Writes): void {
  if (isNonTensor(td)) {
    if (!(source instanceof Collection)) throw noValue();
    planValues(td, toValues(source, stateOf(td), "data"), writes);
    return;
  }
  requireSource(source);
  const halves = select.add ? null : partsForMembers(td, source);
  if (halves !== null) {
    for (const [part, member] of halves) planUpdateInPlace(part, member, select, writes);
    return;
  }
  const pieces = isLazy(td) && td.members.length > 0 ? piecesFor(td, source) : null;
  if (pieces !== null) {
    for (const [i, member] of (td as LazyTd).members.entries()) {
      planUpdateInPlace(member, pieces[i] as Td, select, writes);
    }
    return;
  }
  const pairs = [...pairsOf(source, select.only)];
  requireApart(pairs);
  for (const [path, value, inner] of pairs) {
    // A level without entries brings nothing that could be written.
    if (!select.add && isBare(value)) continue;
    const own = findOutline(td, path);
    const whole = [...(select.at ?? []), ...path];
    if (own === undefined) {
      // As in Python, keys that were chosen are tuples.
      const name = select.only === null ? keyText(path) : keyTuple(path);
      if (!select.add) throw new KeyError(`The key ${name} was not found in the dest tensordict.`);
      planSet(td, path, value, writes);
    } else if (isBranch(own) && (isBranch(value) || isSource(value))) {
      planUpdateInPlace(own, value, { ...select, only: inner, at: whole }, writes);
    } else if (inner === null) {
      const [holder, last] = resolvePath(td, path);
      planInto(holder, last, own, value, writes, select.add ? null : whole);
    }
  }
}

function requireBatch(td: Td, source: unknown): void {
  if (!isBranch(source)) return;
  const [own, given] = [td._batchSize, source._batchSize];
  if (given.length >= own.length ? startsWith(given, own) : startsWith(own, given)) return;
  throw new RuntimeError(
    `update() got a source with batch size ${given} for a destination with batch size ${own}. ` +
      "Pass update_batch_size=True to replace the batch size.",
    { op: "update", code: "batch_mismatch" },
  );
}

/** Adds and replaces entries; nested TensorDicts are merged. */
export function updateTd(td: Td, source: UpdateSource, options: UpdateOptions = {}): void {
  // A collection is what it is already.
  if ((source as unknown) === td) {
    requireUnlocked(td);
    return;
  }
  const only = selected(options.keysToUpdate);
  allOrNothing((writes) => {
    if (options.inplace === true) planUpdateInPlace(td, source, { only, add: true }, writes);
    else planUpdate(td, source, options.clone === true, only, writes);
  });
}

/** Writes into existing entries; a key that is missing is an error. */
export function updateInPlace(td: Td, source: UpdateSource, options: UpdateOptions = {}): void {
  const only = selected(options.keysToUpdate);
  allOrNothing((writes) => planUpdateInPlace(td, source, { only, add: false }, writes));
}
