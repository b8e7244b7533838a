// Collections of what becomes of another one's entries or members.
import { type LazyTd, make, mapOf, type NewState, stateOf, type Td, type ValueTd } from "./state.ts";
import type { Entry } from "./types.ts";

/** A collection like another of what becomes of its entries; one that becomes undefined is left out. */
export function mapEntries(
  td: Td,
  fn: (entry: Entry, key: string) => Entry | undefined,
  state: NewState = stateOf(td),
): Td {
  const own = mapOf(td);
  const entries = new Map<string, Entry>();
  for (const key of own.keys()) {
    const made = fn(own.get(key) as Entry, key);
    if (made !== undefined) entries.set(key, made);
  }
  return td._like(entries, state);
}

/** A value of a locked tree is locked itself: what is made of the tree has one of its own. */
export function unlockedValue(value: ValueTd): Td {
  return value._locked ? value._like(new Map(), stateOf(value)) : value;
}

/** A lazy stack of what becomes of another one's members. */
export function mapMembers(td: LazyTd, fn: (member: Td, i: number) => Td): LazyTd {
  const members = td.members.map((member, i) => fn(member as Td, i));
  return make.lazy(members, td.stackDim, td.stackDimName);
}
