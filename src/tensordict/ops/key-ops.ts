// Operations on the set of keys: selecting, excluding, flattening.
import type { DeviceLike } from "../../tensor/device.ts";
import { KeyError, ValueError } from "../../tensor/errors.ts";
import { take } from "../../tensor/scope-state.ts";
import { sameSizes } from "../../tensor/size.ts";
import { keyPath, pythonString } from "../core/keys.ts";
import { type IsLeaf, isLeafBy } from "../core/leaves.ts";
import { mapEntries, mapMembers, unlockedValue } from "../core/mapping.ts";
import {
  entriesOf,
  isBranch,
  isClassTd,
  isInMemory,
  isLazy,
  isNonTensor,
  isTensorCollection,
  type LazyTd,
  make,
  type NewState,
  outlinesOf,
  requireFields,
  requireUnlocked,
  stateOf,
  type Td,
  toDeviceOrNull,
  toNames,
  toSize,
} from "../core/state.ts";
import type { Entry, NestedKey, SizeLike } from "../core/types.ts";
import { remember, viewOf } from "../core/undo.ts";
import { deleteEntry, findEntry, hasEntry, hasNoTensors, isBelow, requireEntry } from "./access.ts";
import { setEntry } from "./writes.ts";

/** Options at the end of a list of keys. */
export interface KeyOptions {
  inplace?: boolean;
  /** Missing keys are errors; true by default. */
  strict?: boolean;
  /** Of an object of a class: a TensorDict of the entries, without the class. */
  asTensordict?: boolean;
}

/** Arguments, and the options behind them: an object that is no list and no Map. */
export function withOptions<A, O extends object>(list: readonly (A | O)[]): [A[], O] {
  const last = list.at(-1);
  const given = typeof last === "object" && last !== null && !Array.isArray(last) && !(last instanceof Map);
  return given ? [list.slice(0, -1) as A[], last as O] : [list as A[], {} as O];
}

/** Throws as `get` does where some member lacks the key; the stacked entry is not made. */
function requireInAll(lazy: LazyTd, key: NestedKey): void {
  if (!lazy.members.every((member) => findEntry(member, key) !== undefined)) requireEntry(lazy, key);
}

/** What is under some keys of a TensorDict in memory; null where one is missing, or they are not keys of one level. */
function plainSelection(td: Td, keys: readonly unknown[]): Td | null {
  if (!isInMemory(td)) return null;
  const entries = new Map<string, Entry>();
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    const entry = typeof key === "string" ? td._map.get(key) : undefined;
    if (entry === undefined) return null;
    entries.set(key as string, take(entry));
  }
  return td._like(entries, stateOf(td));
}

/** @torch TensorDict.select */
export function selectKeys(td: Td, list: readonly (NestedKey | KeyOptions)[]): Td {
  const plain = plainSelection(td, list);
  if (plain !== null) return plain;
  const [keys, options] = withOptions<NestedKey, KeyOptions>(list);
  if (isLazy(td)) {
    if (options.strict !== false) for (const key of keys) requireInAll(td, key);
    const select = (member: Td) => selectKeys(member, [...keys, { strict: false }]);
    return rekeyMembers(td, options.inplace === true, select, keepEntries);
  }
  if (options.strict !== false) for (const key of keys) requireEntry(td, key);
  const bare = options.asTensordict === true && isClassTd(td);
  const result = selectPaths(td, bare ? make.tensordict(new Map(), stateOf(td)) : emptyLike(td), keys.map(keyPath));
  return options.inplace && !bare ? keepEntries(td, result) : result;
}

/** Puts the entries of a level that paths begin with into `result`; paths that go on take parts of them. */
function selectPaths(td: Td, result: Td, paths: readonly (readonly string[])[]): Td {
  const deeper = new Map<string, string[][]>();
  for (const [first, ...rest] of paths as readonly [string, ...string[]][]) {
    const entry = td._own(first);
    if (entry === undefined) continue;
    result._put(first, entry);
    if (rest.length > 0) deeper.set(first, [...(deeper.get(first) ?? []), rest]);
  }
  for (const [key, rests] of deeper) {
    const entry = td._own(key);
    if (isBranch(entry)) result._put(key, selectKeys(entry, [...rests, { strict: false }]));
    else if (!paths.some((path) => path.length === 1 && path[0] === key)) result._drop(key);
  }
  return result;
}

/** Takes the entries away that another tree of the same form has not; nested collections stay the objects they are. */
function keepEntries(td: Td, kept: Td): Td {
  requireUnlocked(td);
  if (isLazy(td)) {
    for (const [i, member] of td.members.entries()) keepEntries(member, (kept as LazyTd).members[i] as Td);
    return td;
  }
  const entries = new Map<string, Entry>();
  const inner: [Td, Td][] = [];
  for (const [key, entry] of entriesOf(kept)) {
    const own = td._own(key) as Entry;
    const nested = isBranch(own) && isBranch(entry) && own !== entry && !isLazy(own);
    if (nested) inner.push([own, entry]);
    entries.set(key, nested ? own : entry);
  }
  for (const [own] of inner) requireUnlocked(own);
  for (const [own, entry] of inner) keepEntries(own, entry);
  return replaceEntries(td, entries);
}

function emptyLike(td: Td): Td {
  return isLazy(td) ? make.tensordict(new Map(), stateOf(td)) : td._like(new Map(), stateOf(td));
}

/** How an empty collection is made of another one. */
export interface EmptyOptions {
  batchSize?: SizeLike | null;
  device?: DeviceLike | null;
  names?: readonly (string | null)[] | null;
}

/** @torch TensorDict.empty */
export function emptyTd(td: Td, recurse: boolean, options: EmptyOptions): Td {
  const { batchSize, device, names } = options;
  if (isLazy(td) && [batchSize, device, names].every((one) => one === undefined)) {
    return mapMembers(td, (member) => emptyTd(member, recurse, {}));
  }
  const size = batchSize === undefined || batchSize === null ? td._batchSize : toSize(batchSize);
  const kept = sameSizes(size, td._batchSize) ? td._names : null;
  const state: NewState = {
    batchSize: size,
    device: device === undefined ? td._device : toDeviceOrNull(device),
    names: names === undefined ? kept : toNames(names, size.length),
  };
  const entries = new Map<string, Entry>();
  // As in Python, values that are no tensors stay then, and what holds nothing else; copied where that is all there is.
  if (recurse) {
    const bare = hasNoTensors(td);
    for (const [key, entry] of bare ? entriesOf(shallowTree(td)) : outlinesOf(td)) {
      if (isNonTensor(entry)) entries.set(key, entry);
      else if (isBranch(entry)) entries.set(key, hasNoTensors(entry) ? entry : emptyTd(entry, true, {}));
    }
  }
  return isLazy(td) ? make.tensordict(entries, state) : td._like(entries, state);
}

/** Gives `td` these entries instead of its own, if it can have them all. */
function replaceEntries(td: Td, entries: ReadonlyMap<string, Entry>): Td {
  requireUnlocked(td);
  requireFields(td, entries.keys());
  for (const key of [...td._keys()]) td._drop(key);
  for (const [key, entry] of entries) td._put(key, entry);
  return td;
}

/** @torch TensorDict.exclude */
export function excludeKeys(td: Td, list: readonly (NestedKey | KeyOptions)[]): Td {
  if (isInMemory(td) && list.every((key) => typeof key === "string")) {
    const entries = new Map(td._map);
    for (let i = 0; i < list.length; i++) entries.delete(list[i] as string);
    return td._like(entries, stateOf(td));
  }
  const [keys, options] = withOptions<NestedKey, KeyOptions>(list);
  const paths = keys.map(keyPath);
  if (options.inplace) {
    // A level that goes whole keeps its entries: others may have it.
    const whole = (path: readonly string[]) => !paths.some((other) => isBelow(path, other));
    for (const path of paths.filter(whole)) if (hasEntry(td, path)) deleteEntry(td, path);
    return td;
  }
  return without(td, paths);
}

/** A collection without these paths; levels that none of them leads into are shared. */
function without(td: Td, paths: readonly (readonly string[])[]): Td {
  if (isLazy(td)) return mapMembers(td, (member) => without(member, paths));
  return mapEntries(td, (entry, key) => {
    const inside = paths.filter(([first]) => first === key).map(([, ...rest]) => rest);
    if (inside.some((rest) => rest.length === 0)) return undefined;
    return inside.length > 0 && isBranch(entry) ? without(entry, inside) : entry;
  });
}

const ownEntry = (entry: Entry): Entry => (isNonTensor(entry) ? unlockedValue(entry) : entry);

/** The same tensors in fresh collections. */
export function shallowTree(td: Td): Td {
  if (isLazy(td)) return mapMembers(td, shallowTree);
  return mapEntries(td, (entry) => (isBranch(entry) ? shallowTree(entry) : ownEntry(entry)));
}

/** Changes the keys of a lazy stack member by member: in place, once it is known for all that it can be done. */
function rekeyMembers(lazy: LazyTd, inplace: boolean, rekey: (td: Td) => Td, take = takeEntries): Td {
  if (!inplace) return mapMembers(lazy, rekey);
  const { members } = lazy;
  const changed = members.map(rekey);
  for (const member of members) requireUnlocked(member);
  for (const [i, member] of members.entries()) take(member, changed[i] as Td);
  return lazy;
}

/** The entries of another tree of the same stacks: a stack's own are those of its members. */
function takeEntries(td: Td, from: Td): unknown {
  if (!isLazy(td)) return replaceEntries(td, new Map(entriesOf(from)));
  for (const [i, member] of td.members.entries()) takeEntries(member, (from as LazyTd).members[i] as Td);
  return td;
}

interface FlatEntries {
  flat: Map<string, Entry>;
  /** Whether `unflattenKeys` gives the same tree back. */
  exact: boolean;
  /** The collections that they were in. */
  levels: readonly Td[];
}

/** The entries of a tree under joined keys. */
function flatEntries(td: Td, separator: string, isLeaf: IsLeaf | null): FlatEntries {
  const levels: Td[] = [];
  const flat = new Map<string, Entry>();
  const paths = new Map<string, readonly string[]>();
  let exact = true;
  const visit = (level: Td, prefix: readonly string[]) => {
    for (const [key, entry] of entriesOf(level)) {
      const path = [...prefix, key];
      if (key.includes(separator)) exact = false;
      if (isBranch(entry) && !(isLeaf !== null && isLeafBy(isLeaf, entry))) {
        levels.push(entry);
        visit(entry, path);
        continue;
      }
      const name = path.join(separator);
      const other = paths.get(name);
      if (other !== undefined) {
        const both = [other, path]
          .filter((one) => one.length > 1)
          .map((one) => `(${one.map(pythonString).join(", ")})`);
        throw new KeyError(`Flattening keys in tensordict causes keys [${both.join(", ")}] to collide.`);
      }
      paths.set(name, path);
      flat.set(name, ownEntry(entry));
    }
  };
  visit(td, []);
  return { flat, exact, levels };
}

/** A collection of the class of another one; the fields of a class are all that its objects may have. */
function rekeyed(td: Td, entries: Map<string, Entry>): Td {
  if (!isClassTd(td)) return make.tensordict(entries, stateOf(td));
  const fields = td._fieldNames();
  const others = [...entries.keys()].filter((key) => !fields.includes(key));
  if (others.length === 0) return td._like(entries, stateOf(td));
  const set = (keys: Iterable<string>) => `{${[...keys].map(pythonString).join(", ")}}`;
  throw new ValueError(
    `Keys from the tensordict (${set(entries.keys())}) must correspond to the class attributes (${set(fields)}). ` +
      `Got the set of keys {${set(others)}} which do not belong to the class.`,
  );
}

/** As if each entry were renamed: those that were in levels below come last. */
function movedLast(td: Td, flat: Map<string, Entry>): Map<string, Entry> {
  const moved = [...flat].filter(([key]) => td._own(key) === undefined);
  for (const [key] of moved) flat.delete(key);
  return new Map([...flat, ...moved]);
}

/** The entries have moved: whoever else has their collections finds levels only. */
function emptyLevels(levels: readonly Td[]): void {
  const kept = new Set<unknown>(levels);
  for (const level of levels) {
    if (level._kind !== "tensordict" || level._outside !== undefined) continue;
    for (const [key, entry] of [...entriesOf(level)]) if (!kept.has(entry)) level._drop(key);
  }
}

/** @torch TensorDict.flatten_keys */
export function flattenKeysTd(td: Td, separator: string, inplace: boolean, isLeaf: IsLeaf | null = null): Td {
  const back = (view: Td) => unflattenKeysTd(view, separator, false);
  // What has nothing to flatten may be locked, as in Python.
  if (inplace && td._count === 0) return td;
  if (isLazy(td)) {
    const left: Td[] = [];
    const flatten = (member: Td): Td => {
      if (!inplace) return flattenKeysTd(member, separator, false, isLeaf);
      if (isLazy(member)) return mapMembers(member, flatten);
      const { flat, levels } = flatEntries(member, separator, isLeaf);
      for (const level of levels) if (level._count > 0) requireUnlocked(level);
      left.push(...levels);
      return rekeyed(member, movedLast(member, flat));
    };
    const result = rekeyMembers(td, inplace, flatten);
    emptyLevels(left);
    return viewOf(td, result, back);
  }
  const { flat, exact, levels } = flatEntries(td, separator, isLeaf);
  if (!inplace) return viewOf(td, rekeyed(td, flat), back);
  for (const level of levels) if (level._count > 0) requireUnlocked(level);
  replaceEntries(td, movedLast(td, flat));
  emptyLevels(levels);
  remember(td, exact ? () => unflattenKeysTd(td, separator, true) : null);
  return td;
}

function unflattened(td: Td, separator: string): Td {
  const result = make.tensordict(new Map(entriesOf(shallowTree(td))), stateOf(td));
  for (const key of td._keys()) {
    if (!key.includes(separator)) continue;
    const path = key.split(separator);
    const above = path.slice(0, -1).map((_, i) => findEntry(result, path.slice(0, i + 1)));
    if (findEntry(result, path) !== undefined || above.some((entry) => entry !== undefined && !isBranch(entry))) {
      throw new KeyError(
        "Unflattening key(s) in tensordict will override an existing for unflattened key " +
          `(${path.map(pythonString).join(", ")}).`,
      );
    }
    const entry = result._own(key) as Entry;
    result._drop(key);
    setEntry(result, path, entry);
  }
  return result;
}

/** @torch TensorDict.unflatten_keys */
export function unflattenKeysTd(td: Td, separator: string, inplace: boolean): Td {
  if (separator === "") throw new ValueError("empty separator");
  const back = (view: Td) => flattenKeysTd(view, separator, false);
  if (inplace && ![...td._keys()].some((key) => key.includes(separator))) return td;
  if (isLazy(td)) {
    const rekey = (member: Td) => unflattenKeysTd(member, separator, false);
    return viewOf(td, rekeyMembers(td, inplace, rekey), back);
  }
  const result = unflattened(td, separator);
  if (!inplace) return viewOf(td, isClassTd(td) ? rekeyed(td, new Map(entriesOf(result))) : result, back);
  replaceEntries(td, new Map(entriesOf(result)));
  remember(td, () => flattenKeysTd(td, separator, true));
  return td;
}

/** The same tensors without the values that are none. */
export function withoutValues(td: Td): Td {
  if (isLazy(td)) return mapMembers(td, withoutValues);
  return mapEntries(td, (entry) => {
    if (isNonTensor(entry)) return undefined;
    return isTensorCollection(entry) ? withoutValues(entry) : entry;
  });
}
