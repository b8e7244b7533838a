// Names of batch dimensions. Nested collections share the dimensions of what holds them, and so their names.
import { RuntimeError } from "../../tensor/errors.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { pythonRepr } from "./python-repr.ts";
import { type Collection, type DimNames, entriesOf, isBranch, isLazy, isTensorCollection, toNames } from "./state.ts";
import type { Entry } from "./types.ts";

type Names = readonly (string | null)[];

function namesOf(td: Collection): (string | null)[] {
  return [...(td._names ?? new Array<null>(td._batchSize.length).fill(null))];
}

function isValue(entry: Tensor | Collection): boolean {
  return !isBranch(entry);
}

/** What each collection below `td` will be called; nothing is changed yet, as a clash anywhere is an error. */
function collect(td: Collection, names: Names, changes: [Collection, DimNames][]): void {
  changes.push([td, toNames(names, td._batchSize.length)]);
  const rank = names.length;
  if (isLazy(td)) {
    const { members, stackDim } = td;
    for (const member of members)
      collect(
        member,
        names.filter((_, i) => i !== stackDim),
        changes,
      );
    return;
  }
  if (rank === 0) return;
  for (const [, entry] of entriesOf(td)) {
    if (!isTensorCollection(entry)) continue;
    const inner: Collection = entry;
    collect(inner, [...names, ...namesOf(inner).slice(rank)], changes);
  }
}

/** Names the dimensions of `td` and the same dimensions of everything in it; null takes the names away. */
export function applyNames(td: Collection, names: Names | null): void {
  const changes: [Collection, DimNames][] = [];
  toNames(names, td._batchSize.length);
  collect(td, names ?? new Array<null>(td._batchSize.length).fill(null), changes);
  for (const [each, next] of changes) {
    each._names = next;
    if (isLazy(each)) each.stackDimName = next?.[each.stackDim] ?? null;
  }
}

/** Names dimensions that have no name yet; another name for a named one is an error. @torch TensorDict.refine_names */
export function refineNames(td: Collection, given: Names): void {
  const own = namesOf(td);
  const names = filledIn(own, given);
  if (names.some((name, i) => own[i] != null && own[i] !== name)) {
    throw new RuntimeError(
      `refine_names: cannot coerce TensorDict names ${pythonRepr(own)} with ${pythonRepr([...names])}.`,
      { op: "refine_names" },
    );
  }
  applyNames(td, names);
}

/** Names in which "..." stands for those of the dimensions that are left out. */
function filledIn(own: Names, given: Names): Names {
  const at = given.indexOf("...");
  if (at < 0) return given;
  const behind = given.slice(at + 1);
  return [...given.slice(0, at), ...own.slice(at, own.length - behind.length), ...behind];
}

/** Names for another number of dimensions: further ones are unnamed. */
export function fitNames(names: DimNames, rank: number): DimNames {
  if (names === null || names.length === rank) return names;
  const next = Array.from({ length: rank }, (_, i) => names[i] ?? null);
  return next.every((name) => name === null) ? null : next;
}

/** True when a collection that is put under these names must take them over first. */
export function needsNames(td: Collection, names: DimNames): names is (string | null)[] {
  return names !== null && !isValue(td) && names.some((name, i) => (td._names?.[i] ?? null) !== name);
}

/** What was read without names has those of what holds it; other names than these stay. */
export function inheritNames(entry: Entry, names: DimNames): void {
  if (!isTensorCollection(entry) || !needsNames(entry, names)) return;
  const own = namesOf(entry);
  if (names.every((name, i) => own[i] === null || own[i] === name)) applyNames(entry, withPrefix(entry, names));
}

/** The names of all dimensions of `td` when the first ones are called so. */
export function withPrefix(td: Collection, names: Names): (string | null)[] {
  return [...names, ...namesOf(td).slice(names.length)];
}

/** A collection without names takes those of an entry that is put into it. */
export function adoptNames(td: Collection, entry: Entry): void {
  if (td._names !== null || isValue(entry)) return;
  const names = (entry as Collection)._names?.slice(0, td._batchSize.length) ?? [];
  if (names.some((name) => name !== null)) applyNames(td, names);
}
