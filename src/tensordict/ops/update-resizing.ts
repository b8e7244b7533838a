// Updates by a source of another batch size, which the collection takes over.
import { RuntimeError } from "../../tensor/errors.ts";
import { Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { setBatch } from "../core/batch.ts";
import { fromSource, isSource, sourceEntries } from "../core/convert.ts";
import { keyPath, unravelKey } from "../core/keys.ts";
import { type IsLeaf, isLeafBy, isLeafNontensor } from "../core/leaves.ts";
import {
  Collection,
  entriesOf,
  isBranch,
  isLazy,
  isTensorCollection,
  type LazyTd,
  make,
  requireUnlocked,
  stateOf,
  type Td,
} from "../core/state.ts";
import type { NestedKey } from "../core/types.ts";
import { deleteEntry, listEntries } from "./access.ts";

import { autoBatchSize } from "./key-sets.ts";
import type { UpdateOptions, UpdateSource } from "./update-sources.ts";
import { setEntry, updateTd } from "./writes.ts";

const isCollection = (value: unknown): value is Td => isTensorCollection(value);

/** The paths of all entries, or of the leaves by a rule. */
function pathsOf(td: Td, leaves: IsLeaf | null): string[][] {
  const options = leaves === null ? { includeNested: true } : { includeNested: true, leavesOnly: true, isLeaf: leaves };
  return listEntries(td, options, entriesOf, false).map(([path]) => [...path]);
}

/** Refuses a source that lacks keys: they would have no value of the new batch size. */
function requireAllKeys(td: Td, source: Td): void {
  const there = new Set(pathsOf(source, null).map((path) => path.join("\0")));
  const lost = pathsOf(td, null).filter((path) => !there.has(path.join("\0")));
  if (lost.length === 0) return;
  const names = lost.map((path) => (path.length === 1 ? `'${path[0]}'` : `(${path.map((p) => `'${p}'`).join(", ")})`));
  throw new RuntimeError(
    "Some keys of the dest tensordict are not present in the source during update with mismatching batch-size. " +
      `batch_size of source=${source._batchSize}, batch_size of dest=${td._batchSize}, ` +
      `keys in dest but not in source: {{${names.join(", ")}}}.`,
    { op: "update" },
  );
}

function requireReplaceable(options: UpdateOptions): void {
  if (options.inplace === true) {
    throw new RuntimeError(
      "Source and destination tensor collection shapes mismatch, but update was called with inplace=True, which " +
        "cannot be achieved.",
      { op: "update" },
    );
  }
  if ((options.keysToUpdate ?? null) === null) return;
  throw new RuntimeError(
    "Updating tensordicts of different batch-size with keys_to_update is currently not supported.",
    { op: "update" },
  );
}

function empty(td: Td, isLeaf: IsLeaf): void {
  for (const path of pathsOf(td, isLeaf)) deleteEntry(td, unravelKey(path) as NestedKey);
}

/** Whether one batch begins with the other. */
function agrees(own: readonly number[], given: readonly number[]): boolean {
  const rank = Math.min(own.length, given.length);
  return sameSizes(own.slice(0, rank), given.slice(0, rank));
}

/** `update` that takes over the source's batch size where it is another one. */
export function updateResizing(td: Td, source: UpdateSource, options: UpdateOptions): void {
  if ((source as unknown) === td) return;
  requireUnlocked(td);
  // Nothing is written into tensors: what could be refused is, on a copy of the tree.
  replace(td.clone(false) as Td, source, { ...options, clone: false });
  replace(td, source, options);
}

function replace(td: Td, source: UpdateSource, options: UpdateOptions): void {
  if (isLazy(td)) {
    replaceMembers(td, source, options);
    return;
  }
  const isLeaf = options.isLeaf ?? isLeafNontensor;
  if (isCollection(source) && !agrees(td._batchSize, source._batchSize)) {
    requireReplaceable(options);
    requireAllKeys(td, source);
    empty(td, isLeaf);
    // Nested collections keep their batches until they get what is theirs of the source.
    td._batchSize = source._batchSize;
    td._names = null;
  }
  const pairs: Iterable<[NestedKey, unknown]> =
    source instanceof Collection ? entriesOf(source) : sourceEntries(source as Record<string, unknown>);
  let changed = false;
  for (const [key, value] of [...pairs]) changed = replaceEntry(td, keyPath(key), value, options, isLeaf) || changed;
  if (!changed) return;
  const rank = td._batchSize.length;
  setBatch(td, Size.fromList([]));
  autoBatchSize(td, rank, true);
}

/** Updates one entry; true when it got another batch size. */
function replaceEntry(
  td: Td,
  path: readonly string[],
  given: unknown,
  options: UpdateOptions,
  isLeaf: IsLeaf,
): boolean {
  const [first, ...rest] = path as [string, ...string[]];
  const target = td._own(first);
  const copied = options.clone === true && (given instanceof Tensor || given instanceof Collection);
  const value = copied ? (given as Td).clone() : given;
  const inner = (at: unknown) => isTensorCollection(at) && !isLeafBy(isLeaf, at);
  if (isBranch(target) && inner(target) && (inner(value) || isSource(value))) {
    const within = { ...options, clone: false };
    if (rest.length > 0) replace(target, new Map([[rest as never, value]]), within);
    else if (isBranch(value) && isLazy(value) && !isLazy(target)) {
      const stack = make.lazy(target.unbind(value.stackDim) as Td[], value.stackDim, null);
      replace(stack, value, within);
      setEntry(td, [...path], stack);
    } else replace(target, value as UpdateSource, within);
    return false;
  }
  const resized =
    isBranch(target) &&
    isBranch(value) &&
    !isLazy(target) &&
    target.constructor === value.constructor &&
    !sameSizes(target._batchSize, value._batchSize);
  if (!resized) {
    setEntry(td, [...path], value);
    return false;
  }
  setBatch(target, Size.fromList([]));
  empty(target, isLeaf);
  replace(target, value, { clone: false });
  setBatch(target, value._batchSize);
  return true;
}

function replaceMembers(td: LazyTd, source: UpdateSource, options: UpdateOptions): void {
  const whole = isCollection(source)
    ? source
    : fromSource(source as Record<string, unknown>, stateOf(td, { names: null }));
  const { stackDim } = td;
  const parts = isLazy(whole) && whole.stackDim === stackDim ? whole.members : (whole.unbind(stackDim) as Td[]);
  const count = td._members.length;
  if (parts.length !== count) {
    if (parts.length > count) requireReplaceable(options);
    requireAllKeys(td, whole);
  }
  if (parts.length < count) td._members = [...parts];
  else {
    for (const [i, member] of td._members.entries()) replace(member, parts[i] as Td, options);
    td._members.push(...parts.slice(count).map((part) => part.clone(false) as Td));
  }
  td._resize();
}

/** `update`, in whichever way the options ask for. */
export function updateBy(td: Td, source: UpdateSource, options: UpdateOptions): void {
  if (options.updateBatchSize === true) updateResizing(td, source, options);
  else updateTd(td, source, options);
}
