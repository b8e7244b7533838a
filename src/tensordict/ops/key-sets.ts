// Splitting a collection by its keys, and joining several entries to one.
import { KeyError, RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { setBatch } from "../core/batch.ts";
import { keyPath, keyText, keyTuple, missingKey } from "../core/keys.ts";
import {
  entriesOf,
  isBranch,
  isClassTd,
  isLazy,
  isNested,
  isNonTensor,
  isParams,
  isTensorCollection,
  make,
  outlineOf,
  outlinesOf,
  requireUnlocked,
  shapeOf,
  stackOf,
  stateOf,
  type Td,
} from "../core/state.ts";
import type { Entry, NestedKey } from "../core/types.ts";
import { isUnbatched } from "../core/unbatched.ts";
import { deleteEntry, findEntry, hasEntry, hasNoTensors, listEntries, requireEntry } from "./access.ts";
import { emptyTd, excludeKeys, shallowTree } from "./key-ops.ts";
import { isBare } from "./update-sources.ts";
import { allOrNothing, planSet, resolvePath, setEntry, type Writes } from "./writes.ts";

/** Keys that go together: a list, keys with their new names, or a test of a path and its entry. */
export type KeySet =
  | readonly NestedKey[]
  | ReadonlyMap<NestedKey, NestedKey>
  | Readonly<Record<string, NestedKey>>
  | ((path: readonly string[], entry: Entry) => boolean);

/** Options of `splitKeys`. */
export interface SplitKeysOptions {
  /** Take the keys out of this collection, which then is the last of the result. */
  inplace?: boolean;
  /** What stands for a missing key where `strict` is false; nothing does when it is null. */
  default?: unknown;
  /** Missing keys are errors; true by default. */
  strict?: boolean;
  /** Every part has all nested collections, with or without entries. */
  reproduceStruct?: boolean;
}

/** Each key once. */
function uniqueKeys(keys: readonly NestedKey[]): NestedKey[] {
  return [...new Map(keys.map((key) => [keyText(keyPath(key)), key])).values()];
}

/** Pairs of a key and its name in the part. */
function pairsOf(set: KeySet, td: Td): [NestedKey, NestedKey][] {
  if (typeof set === "function") {
    const all = listEntries(td, { includeNested: true, leavesOnly: true }, entriesOf, true);
    return all.filter(([path, entry]) => set(path, entry)).map(([path]) => [path, path]);
  }
  if (set instanceof Map) return [...set];
  if (Array.isArray(set)) return uniqueKeys(set).map((key) => [key, key]);
  return Object.entries(set as Record<string, NestedKey>);
}

/** The entries under several sets of keys, each in a collection, and what is left. */
export function splitKeysTd(td: Td, sets: readonly KeySet[], options: SplitKeysOptions): Td[] {
  const { inplace = false, strict = true, reproduceStruct = false } = options;
  if (inplace) requireUnlocked(td);
  const rest = td._outside === undefined ? td.copy() : td.toTensordict();
  const taken: NestedKey[] = [];
  const parts: Td[] = [];
  for (const set of sets) {
    const part = withoutLeaves(emptyTd(td, reproduceStruct, {}));
    for (const [key, name] of pairsOf(set, rest)) {
      const entry = findEntry(rest, key);
      if (entry === undefined && strict) {
        const split = splitStacks(td, sets, options);
        if (split !== null) return split;
        requireEntry(rest, key);
      }
      const value = entry ?? options.default ?? null;
      if (entry !== undefined) {
        deleteEntry(rest, key);
        taken.push(key);
      }
      if (value !== null) setEntry(part, name, value);
    }
    parts.push(part);
  }
  const last = inplace ? td : rest;
  if (inplace) for (const key of taken) deleteEntry(td, key);
  if (!reproduceStruct) filterEmptyTd(last);
  return [...parts, last];
}

/** A path and the path that its entry goes to. */
type Renaming = [key: readonly string[], name: readonly string[]];

function holdsStack(td: Td): boolean {
  return stackOf(td) !== null || [...outlinesOf(td)].some(([, entry]) => isBranch(entry) && holdsStack(entry));
}

/** Whether an entry is there, in all members of the stacks on its way. */
function hasInAll(td: Td, [key, ...rest]: readonly string[]): boolean {
  const stack = stackOf(td);
  if (stack !== null) return stack.members.every((member) => hasInAll(member, [key as string, ...rest]));
  const entry = outlineOf(td, key as string);
  return rest.length === 0 ? entry !== undefined : isBranch(entry) && hasInAll(entry, rest);
}

/** Member by member, where some members have each of the keys; null where that is not so. */
function splitStacks(td: Td, sets: readonly KeySet[], options: SplitKeysOptions): Td[] | null {
  if (!holdsStack(td)) return null;
  const paths = sets.map((set) => pairsOf(set, td).map(([key, name]): Renaming => [keyPath(key), keyPath(name)]));
  if (!paths.flat().every(([key]) => hasEntry(td, key))) return null;
  const { inplace = false, reproduceStruct = false } = options;
  // What cannot be done fails on a copy.
  const parts = splitByMember(td, paths, { reproduceStruct });
  return inplace ? splitByMember(td, paths, { inplace, reproduceStruct }) : parts;
}

/** Each member of the stacks by itself, since some of the keys are in some members only. */
function splitByMember(td: Td, sets: readonly (readonly Renaming[])[], options: SplitKeysOptions): Td[] {
  if (isLazy(td)) {
    const parts = td.members.map((member) => splitByMember(member, sets, options));
    const stacks = Array.from({ length: sets.length + 1 }, (_, i) => {
      const members = parts.map((part) => part[i] as Td);
      return make.lazy(members, td.stackDim, null);
    });
    return options.inplace === true ? stacks.with(-1, td) : stacks;
  }
  const nested = new Map<string, Renaming[][]>();
  const own = sets.map((set, i) => set.filter((pair) => !goesBelow(td, pair, i, sets.length, nested)));
  const { inplace = false, reproduceStruct = false } = options;
  const rest = inplace ? td : td.copy();
  const pieces = [...nested].map(([key, inner]): [string, Td[]] => {
    return [key, splitByMember(td._own(key) as Td, inner, options)];
  });
  for (const [key, list] of inplace ? [] : pieces) setEntry(rest, [key], list.at(-1));
  const whole = own.map((pairs) => new Map(pairs) as KeySet);
  const parts = splitKeysTd(rest, whole, { inplace, reproduceStruct, strict: false });
  for (const [key, list] of pieces) {
    for (const [i, piece] of list.slice(0, -1).entries()) {
      const part = parts[i] as Td;
      const taken = own[i]?.some(([, name]) => name[0] === key);
      if (taken !== true && (reproduceStruct || !isBare(piece))) setEntry(part, [key], piece);
    }
  }
  return parts;
}

/** Whether what is renamed lies in a level with stacks, and stays in it: then it is noted for that level. */
function goesBelow(
  td: Td,
  [[key, ...rest], [name, ...inner]]: Renaming,
  set: number,
  count: number,
  nested: Map<string, Renaming[][]>,
): boolean {
  const level = rest.length === 0 ? undefined : td._own(key as string);
  if (!isBranch(level) || !holdsStack(level)) return false;
  if (name !== key || inner.length === 0) {
    if (hasInAll(level, rest)) return false;
    throw new KeyError(
      `split_keys cannot move ${keyTuple([key as string, ...rest])}, which only some members of a lazy stack hold, ` +
        `to ${keyTuple([name as string, ...inner])}, outside that stack.`,
    );
  }
  const lists = nested.get(name) ?? Array.from({ length: count }, () => []);
  (lists[set] as Renaming[]).push([rest, inner]);
  nested.set(name, lists);
  return true;
}

/** Without the values that `empty` keeps. */
function withoutLeaves(td: Td): Td {
  const leaves = listEntries(td, { includeNested: true, leavesOnly: false }, outlinesOf, false)
    .filter(([, entry]) => !isBranch(entry))
    .map(([path]) => path);
  return leaves.length === 0 ? td : excludeKeys(td, leaves);
}

/** Takes nested collections without entries away; true when nothing is left. */
export function filterEmptyTd(td: Td): boolean {
  if (isLazy(td)) return td.members.map(filterEmptyTd).every(Boolean);
  let left = 0;
  for (const [key, entry] of [...outlinesOf(td)]) {
    if (isTensorCollection(entry) && !isNonTensor(entry) && filterEmptyTd(entry)) deleteEntry(td, key);
    else left++;
  }
  return left === 0;
}

/** Options of `separates`. */
export interface SeparatesOptions {
  default?: unknown;
  strict?: boolean;
  /** Take away nested collections that are empty then; true by default. */
  filterEmpty?: boolean;
}

/** Takes entries out, into a collection of their own. */
export function separatesTd(td: Td, keys: readonly NestedKey[], options: SeparatesOptions): Td {
  requireUnlocked(td);
  const strict = (options.strict ?? true) && !("default" in options);
  const part = withoutLeaves(emptyTd(td, true, {}));
  // All are found before the first is taken out.
  const found = keys.map((key) => findEntry(td, key));
  if (strict) {
    const remaining = shallowTree(td);
    for (const key of keys) {
      const [holder, last] = resolvePath(remaining, keyPath(key));
      if (holder._own(last) === undefined)
        throw missingKey(last, isParams(holder) ? "TensorDict" : holder._className, holder._keys());
      holder._drop(last);
    }
  }
  for (const [i, key] of keys.entries()) setEntry(part, key, found[i] ?? options.default ?? null);
  for (const [i, key] of keys.entries()) if (found[i] !== undefined) deleteEntry(td, key);
  filterEmptyTd(part);
  if (options.filterEmpty !== false) filterEmptyTd(td);
  return part;
}

/** Pairs of paths, none of which lies inside another one on its side. */
function renamings(mapping: ReadonlyMap<NestedKey, NestedKey>): [readonly string[], readonly string[]][] {
  const pairs = [...mapping].map(([a, b]): [readonly string[], readonly string[]] => [keyPath(a), keyPath(b)]);
  for (const [side, name] of ["source", "destination"].entries()) {
    const paths = pairs.map((pair) => pair[side] as readonly string[]);
    for (const [i, path] of paths.entries()) {
      for (const other of paths.slice(0, i)) {
        if (startsWithPath(path, other) && path.length === other.length)
          throw new ValueError(`The key ${keyTuple(path)} is a ${name} more than once.`);
        if (startsWithPath(path, other) || startsWithPath(other, path)) {
          throw new ValueError(
            `The ${name}s ${keyTuple(other)} and ${keyTuple(path)} lie inside one another, so the result would ` +
              "depend on the order of the mapping.",
          );
        }
      }
    }
  }
  return pairs;
}

const startsWithPath = (path: readonly string[], begin: readonly string[]) =>
  begin.every((part, i) => path[i] === part);

/** A collection of the same entries, some of them under other keys; all are renamed at once. */
export function renameMany(td: Td, mapping: ReadonlyMap<NestedKey, NestedKey>, strict: boolean): Td {
  const pairs = renamings(mapping);
  const result = shallowTree(td);
  const found: [readonly string[], Entry][] = [];
  for (const [from, to] of pairs) {
    const entry = findEntry(result, from);
    if (entry === undefined && strict) requireEntry(td, from);
    if (entry !== undefined) found.push([to, entry]);
  }
  for (const [from] of pairs) if (findEntry(result, from) !== undefined) deleteEntry(result, from);
  for (const [to] of found) {
    if (findEntry(result, to) !== undefined)
      throw new ValueError(`The destination ${keyTuple(to)} is already present and is not renamed away.`);
  }
  for (const [to, entry] of found) setEntry(result, to, entry);
  return result;
}

/** Makes empty collections on the way to a key, and one under it. */
export function createNestedTd(td: Td, path: readonly string[]): void {
  allOrNothing((writes) => planNested(td, path, writes));
}

function planNested(td: Td, path: readonly string[], writes: Writes): void {
  requireUnlocked(td);
  const [first, ...rest] = path as [string, ...string[]];
  if (isLazy(td)) {
    for (const member of td.members) planNested(member, path, writes);
    return;
  }
  const there = td._own(first);
  if (rest.length > 0 && isBranch(there) && there._kind === "tensordict" && !there._locked) {
    planNested(there, rest, writes);
    return;
  }
  // A tensorclass gets a plain level: its fields are its own.
  const made = isClassTd(td) ? make.tensordict(new Map(), stateOf(td, { names: null })) : emptyTd(td, false, {});
  if (rest.length > 0) createNestedTd(made, rest);
  planSet(td, [first], made, writes);
}

/** Where joined entries go. */
export interface JoinOptions {
  /** Key of the result. */
  outKey: NestedKey;
  /** Dimension of the tensors; 0 by default. */
  dim?: number;
  /** Leave the entries that are joined where they are. */
  keepEntries?: boolean;
}

/** Sets one entry to several others joined, which are taken out. */
export function joinEntries(
  td: Td,
  keys: readonly NestedKey[],
  options: JoinOptions,
  join: (tensors: readonly Tensor[], dim: number) => Tensor,
): void {
  requireUnlocked(td);
  const entries = keys.map((key) => requireEntry(td, key));
  for (const [i, entry] of entries.entries()) {
    if (!(entry instanceof Tensor)) throw new TypeError(`the entry ${String(keys[i])} to join is no tensor`);
  }
  const joined = join(entries as Tensor[], options.dim ?? 0);
  allOrNothing((writes) => {
    planSet(td, keyPath(options.outKey), joined, writes);
    if (options.keepEntries !== true) {
      for (const key of keys) writes.unshift(() => deleteEntry(td, key));
    }
  });
}

/** Gives a tree the most batch dimensions that its entries share, at most so many. */
export function autoBatchSize(td: Td, most: number | null, keepCompliant: boolean): void {
  if (isLazy(td)) {
    if (most === null || most >= td._batchSize.length) return;
    throw new RuntimeError("the batch size of a lazy stack follows from its members", { op: "autoBatchSize_" });
  }
  const parts = [...outlinesOf(td)]
    .map(([, entry]) => entry)
    .filter((entry) => !isUnbatched(entry) && !(isNonTensor(entry) && entry._batchSize.length === 0));
  for (const entry of parts) {
    if (isNonTensor(entry) && entry._kind === "nonTensor" && most !== null && entry._batchSize.length > most) {
      entry._batchSize = Size.fromList(entry._batchSize.slice(0, most));
    }
    if (!isTensorCollection(entry) || isNested(entry) || isLazy(entry) || isNonTensor(entry)) continue;
    if (most !== null && keepCompliant && entry._batchSize.length >= most) continue;
    autoBatchSize(entry, most, false);
  }
  if (parts.length === 0) {
    if (most) setBatch(td, Size.fromList(td._batchSize.slice(0, most)));
    return;
  }
  const shapes = parts
    .filter((entry, i) => i === 0 || !(isBranch(entry) && hasNoTensors(entry)))
    .map((entry) => shapeOf(entry) as readonly number[]);
  const first = shapes[0] as readonly number[];
  let shared = 0;
  while (shared < first.length && first[shared] !== -1 && shapes.every((shape) => shape[shared] === first[shared])) {
    shared++;
  }
  setBatch(td, Size.fromList(first.slice(0, Math.min(shared, most ?? shared))));
}

/** All tensors of a tree in their order; anything else is an error. */
export function leavesOf(td: Td, sort: boolean): Tensor[] {
  const leaves: Tensor[] = [];
  for (const [path, entry] of listEntries(td, { includeNested: true, leavesOnly: true, sort }, entriesOf, true)) {
    if (!(entry instanceof Tensor)) throw new KeyError(`the entry ${path.join(".")} is no tensor`);
    leaves.push(entry);
  }
  return leaves;
}
