// Nested keys: checking, unravelling and printing them as Python does.
import { inOrder, isDict } from "../../tensor/checks.ts";
import { KeyError, ValueError } from "../../tensor/errors.ts";
import { nameError } from "../../tensor/stacks.ts";
import { FUNCTIONS } from "./signatures.ts";
import type { NestedKey } from "./types.ts";

/**
 * A key went through a tensor, which has no entries.
 * @example
 * ```ts
 * const td: TensorDict = new TensorDict({ a: ones(2) }, []);
 * try {
 *   td.at(["a", "b"]);
 * } catch (error) {
 *   error instanceof tensordict.KeyThroughLeafError
 * } // true
 * ```
 */
export class KeyThroughLeafError extends ValueError {
  constructor(message: string) {
    super(message, { code: "key_through_leaf" });
    nameError(this, "_KeyThroughLeafError");
  }
}

/**
 * A value does not fit into the entry it should overwrite.
 * @example
 * ```ts
 * const td = new TensorDict({ a: ones(2) }, []);
 * try {
 *   td.set_("a", ones(3));
 * } catch (error) {
 *   error instanceof tensordict.InplaceWriteError
 * } // true
 * ```
 */
export class InplaceWriteError extends ValueError {
  constructor(message: string) {
    super(message, { code: "inplace_write" });
    nameError(this, "_InplaceWriteError");
  }
}

function describe(key: unknown, depth = 0): string {
  // A list may contain itself.
  if (Array.isArray(key) && depth > 3) return "(...)";
  if (Array.isArray(key)) {
    const few = key.slice(0, 8).map((part) => describe(part, depth + 1));
    return `(${few.join(", ")}${key.length > 8 ? ", ..." : ""}${key.length === 1 ? "," : ""})`;
  }
  if (typeof key === "object" && key !== null) return key.constructor?.name ?? "object";
  return typeof key === "string" ? `'${key}'` : key === null || key === undefined ? "None" : String(key);
}

/** The error for a key that is no string and no array of strings. */
export function badKey(key: unknown): KeyError {
  return new KeyError(
    "Only NestedKeys are supported: a key must be a string or a non-empty, possibly nested tuple of strings. " +
      `Got key ${describe(key)}.`,
  );
}

function flattenInto(key: unknown, out: string[], depth: number): void {
  if (typeof key === "string") out.push(key);
  else if (Array.isArray(key) && depth < 64) for (const part of key) flattenInto(part, out, depth + 1);
  else throw badKey(key);
}

/** The strings of a nested key: `["a", ["b"]]` gives `["a", "b"]`. */
export function keyPath(key: NestedKey): readonly string[] {
  if (typeof key === "string") return [key];
  const out: string[] = [];
  if (!Array.isArray(key)) throw badKey(key);
  flattenInto(key, out, 0);
  if (out.length === 0) throw badKey(key);
  return out;
}

/**
 * Flattens a nested key; a path of one string becomes that string.
 * @example
 * ```ts
 * tensordict.unravelKey(["a", ["b"]]) // [a, b]
 * ```
 * @torch tensordict.unravel_key
 */
export function unravelKey(key: NestedKey): string | string[] {
  if (isDict(key) || arguments.length > 1) [key] = inOrder<[NestedKey]>("unravelKey", FUNCTIONS.unravelKey, arguments);
  const path = keyPath(key);
  return path.length === 1 ? (path[0] as string) : [...path];
}

/**
 * Flattens every key of a list.
 * @example
 * ```ts
 * JSON.stringify(tensordict.unravelKeyList(["a", ["b", "c"]])) // ["a",["b","c"]]
 * ```
 * @torch tensordict.unravel_key_list
 */
export function unravelKeyList(keys: readonly NestedKey[]): (string | string[])[] {
  if (isDict(keys) || arguments.length > 1)
    [keys] = inOrder<[readonly NestedKey[]]>("unravelKeyList", FUNCTIONS.unravelKeyList, arguments);
  if (!Array.isArray(keys)) throw badKey(keys);
  return keys.map((key) => unravelKey(key));
}

/** A Python list of strings. */
export function listText(keys: Iterable<string>): string {
  return `[${[...keys].map(pythonString).join(", ")}]`;
}

/** Python's repr of a string. */
export function pythonString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const body = text.replace(/[\\\n\r\t\u0000-\u001f\u007f]/g, (unit) => {
    const short: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
    return short[unit] ?? `\\x${unit.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
  return quote + (quote === "'" ? body.replaceAll("'", "\\'") : body) + quote;
}

/** A path as a Python tuple. */
export function keyTuple(path: readonly string[]): string {
  return `(${path.map(pythonString).join(", ")}${path.length === 1 ? "," : ""})`;
}

/** A key as it appears in messages: a string, or a tuple. */
export function keyText(path: readonly string[]): string {
  return path.length === 1 ? (path[0] as string) : `(${path.map(pythonString).join(", ")})`;
}

/** The error for a key that is not there. */
export function missingKey(key: string, className: string, keys: Iterable<string>): KeyError {
  return new KeyError(`key "${key}" not found in ${className} with keys ${listText([...keys].sort())}`);
}

/**
 * The strings of a nested key; nothing for what is no key.
 * @example
 * ```ts
 * [tensordict.unravelKeyToTuple("a"), tensordict.unravelKeyToTuple(["a", ["b"]])] // [[a], [a, b]]
 * ```
 * @torch tensordict.unravel_key_to_tuple
 */
export function unravelKeyToTuple(key: unknown): string[] {
  [key] = inOrder<[unknown]>("unravelKeyToTuple", FUNCTIONS.unravelKeyToTuple, arguments);
  try {
    return [...keyPath(key as NestedKey)];
  } catch {
    return [];
  }
}
