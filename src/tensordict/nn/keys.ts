/** Lists of keys that modules read and write. */
import { ValueError } from "../../tensor/errors.ts";
import { keyPath, keyText, pythonString, unravelKey } from "../core/keys.ts";
import type { Td } from "../core/state.ts";
import type { NestedKey } from "../core/types.ts";

/** A key without nesting inside of it. */
export type Key = string | readonly string[];

/** One key, or a list of keys; a nested key is a list inside of the list. */
export type KeyList = string | readonly NestedKey[];

/** What a list of keys is given as: `"a"`, `["a", ["b", "c"]]`. */
export function keysOf(given: unknown, otherwise: string): Key[] {
  const list = typeof given === "string" ? [given] : given;
  if (!Array.isArray(list)) throw new ValueError(otherwise);
  try {
    return list.map((key) => unravelKey(key));
  } catch {
    throw new ValueError(otherwise);
  }
}

/** Keys are the same when their paths are. */
export const idOf = (key: NestedKey): string => JSON.stringify(keyPath(key));

export function includes(keys: readonly Key[], key: Key): boolean {
  const id = idOf(key);
  return keys.some((one) => idOf(one) === id);
}

export const sameKeys = (a: readonly Key[], b: readonly Key[]): boolean =>
  a.length === b.length && a.every((key, i) => idOf(key) === idOf(b[i] as Key));

/** Whether a collection has an entry under the key. */
export const hasKey = (td: Td, key: Key): boolean => td.has(key);

export const hasAll = (td: Td, keys: readonly Key[]): boolean => keys.every((key) => td.has(key));

/** `'a'` and `('a', 'b')`. */
export function keyRepr(key: Key): string {
  return typeof key === "string" ? pythonString(key) : `(${key.map(pythonString).join(", ")})`;
}

/** `['a', ('b', 'c')]` */
export const keysRepr = (keys: readonly Key[]): string => `[${keys.map(keyRepr).join(", ")}]`;

/** A key inside of a sentence. */
export const keyWords = (key: Key): string => keyText(keyPath(key));

/** The key with more at the end of its last part. */
export function addSuffix(key: NestedKey, suffix: string): Key {
  const path = [...keyPath(key)];
  const last = `${path.pop()}${suffix}`;
  return path.length === 0 ? last : [...path, last];
}

/** Values of other keys under new ones; all are read before the first is written. */
export function renameEntries(td: Td, renames: readonly (readonly [before: Key, after: Key])[]): void {
  const values = renames.map(([before]) => td.pop(before));
  for (const [i, [, after]] of renames.entries()) td.set(after, values[i]);
}

/** All lines that have text moved to the right. */
export function indent(text: string, spaces = 4): string {
  return text.replace(/^(?=.*\S)/gm, " ".repeat(spaces));
}
