// How commands name entries, in every format alike: the names of levels and entries, joined by dots or slashes, whether
// a dot separates levels or is a part of a key. A name stands for the tensor or value that has it, and where there is
// none for all whose names begin with it: "model.head" for the key "head.weight" in "model", too.

import { Tensor } from "../tensor/tensor.ts";
import { isLazy, isNested, outlineOf, type Td } from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor } from "../tensordict/index.ts";
import { CliError, EXIT } from "./errors.ts";
import { SEPARATOR } from "./losses.ts";
import { nearest } from "./near.ts";
import { nameText } from "./text.ts";

/** Keys from the outermost level on. */
export type Path = readonly string[];

/** Names that are collected for a suggestion, and levels. */
const MOST_NAMES = 20_000;
const MAX_DEPTH = 200;

function entryAt(td: Td, key: string): Entry | undefined {
  // Members of a stack are not stacked for this.
  if (isLazy(td)) return td.members[0]?._own(key);
  return isNonTensor(td) ? undefined : outlineOf(td, key);
}

function keysAt(td: Td): Iterable<string> {
  if (isLazy(td)) return td.members[0]?._keys() ?? [];
  return isNonTensor(td) ? [] : td._keys();
}

function isLevel(entry: Entry | undefined): entry is Entry & Td {
  return entry !== undefined && !(entry instanceof Tensor) && !isNested(entry) && !isNonTensor(entry);
}

/** The path that a dotted name means: dots separate levels, and may be part of keys. */
export function findPath(td: Td, parts: readonly string[]): string[] | null {
  for (let n = 1; n <= parts.length; n++) {
    const key = parts.slice(0, n).join(SEPARATOR);
    const entry = entryAt(td, key);
    if (entry === undefined) continue;
    if (n === parts.length) return [key];
    const rest = isLevel(entry) ? findPath(entry, parts.slice(n)) : null;
    if (rest !== null) return [key, ...rest];
  }
  return null;
}

/** What a part of a name is compared with. */
type Part = string | RegExp | "**";

/** A name as it was given. */
interface Pattern {
  text: string;
  /** Keys as they are: of a name with escaped characters, or of a list. */
  exact: Path | null;
  parts: readonly Part[];
  /** It has wildcards: every entry that fits is meant. */
  wild: boolean;
}

/** A list of Python's or JSON's with texts: a path, key by key. */
function listed(text: string): Path | null {
  if (!/^[[(].*[\])]$/s.test(text)) return null;
  const inner = text.slice(1, -1).trim().replace(/,$/, "");
  const keys: string[] = [];
  const item = /\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\d+))\s*(?:,|$)/sy;
  while (item.lastIndex < inner.length) {
    const match = item.exec(inner);
    if (match === null) return null;
    keys.push((match[1] ?? match[2] ?? (match[3] as string)).replace(/\\(.)/gs, "$1"));
  }
  return keys.length === 0 ? null : keys;
}

/** A part with wildcards: "*" and "?" stand for any characters of one part. */
function partOf(text: string): Part {
  if (text === "**" || !/[*?]/.test(text)) return text;
  const source = text
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`, "s");
}

function patternOf(text: string): Pattern {
  const list = listed(text);
  if (list !== null) return { text, exact: list, parts: [], wild: false };
  if (text.includes("\\")) {
    const keys = (text.match(/(?:[^\\./]|\\.)+/gs) ?? []).map((key) => key.replace(/\\(.)/gs, "$1"));
    return { text, exact: keys, parts: [], wild: false };
  }
  // A separator at the end says that a level is meant, which it may be without.
  const parts = text.replace(/[./]$/, "").split(/[./]/).map(partOf);
  return { text, exact: null, parts, wild: parts.some((part) => part instanceof RegExp || part === "**") };
}

/** Texts of an option, taken apart at commas, unless a comma is escaped or within a list. */
function atCommas(text: string): string[] {
  if (listed(text) !== null) return [text];
  return text.split(/(?<!\\),/).map((name) => name.replaceAll("\\,", ","));
}

/** How far into its parts a name can be after some parts of an entry's. */
function after(parts: readonly Part[], states: ReadonlySet<number>, text: string): Set<number> {
  const next = new Set<number>();
  const visit = (at: number): void => {
    const part = parts[at];
    if (part === undefined) return;
    if (part === "**") {
      next.add(at);
      visit(at + 1);
    } else if (part instanceof RegExp ? part.test(text) : part === text) next.add(at + 1);
  };
  for (const at of states) visit(at);
  return next;
}

/** Whether all parts were found: "**" may stand for nothing. */
function isDone(parts: readonly Part[], states: ReadonlySet<number>): boolean {
  for (const at of states) if (parts.slice(at).every((part) => part === "**")) return true;
  return false;
}

interface Match {
  path: Path;
  /** The name ends where the entry's does. */
  whole: boolean;
}

function search(td: Td, parts: readonly Part[], states: ReadonlySet<number>, path: Path, found: Match[]): void {
  if (path.length > MAX_DEPTH) return;
  for (const key of keysAt(td)) {
    const pieces = key.split(/[./]/);
    let now = states;
    let match: boolean | null = null;
    for (const [i, piece] of pieces.entries()) {
      now = after(parts, now, piece);
      if (now.size === 0) break;
      if (isDone(parts, now)) {
        match = i === pieces.length - 1;
        break;
      }
    }
    if (match !== null) found.push({ path: [...path, key], whole: match });
    else if (now.size > 0) {
      const entry = entryAt(td, key);
      if (isLevel(entry)) search(entry, parts, now, [...path, key], found);
    }
  }
}

function entryOf(td: Td, path: Path): Entry | undefined {
  let at: Entry | undefined = td as Entry;
  for (const key of path) at = isLevel(at) ? entryAt(at, key) : undefined;
  return at;
}

function pathsOf(td: Td, pattern: Pattern): Path[] {
  const { exact, parts, wild, text } = pattern;
  if (exact !== null) return entryOf(td, exact) === undefined ? [] : [exact];
  const known = findPath(td, text.split(SEPARATOR));
  if (known !== null && !isLevel(entryOf(td, known))) return [known];
  const found: Match[] = [];
  search(td, parts, new Set([0]), [], found);
  // What is no level counts before what begins with its name.
  const single = wild ? [] : found.filter(({ path, whole }) => whole && !isLevel(entryOf(td, path)));
  return (single.length > 0 ? single : found).map(({ path }) => path);
}

/** The names of all levels and entries. */
export function allNames(td: Td, path: Path = [], found: string[] = []): string[] {
  for (const key of keysAt(td)) {
    if (found.length >= MOST_NAMES || path.length > MAX_DEPTH) break;
    const inner = [...path, key];
    found.push(inner.join(SEPARATOR));
    const entry = entryAt(td, key);
    if (isLevel(entry)) allNames(entry, inner, found);
  }
  return found;
}

/** Names that are all told where none is near. */
const FEW_NAMES = 4;

/** Why a name is none, for an error: what it leads to, or names that are near. */
function advice(td: Td, name: string): string {
  const parts = name.split(/[./]/);
  for (let n = parts.length - 1; n > 0; n--) {
    const path = findPath(td, parts.slice(0, n));
    const entry = path?.reduce<Entry | undefined>((at, key) => entryAt(at as Td, key), td as Entry);
    if (entry === undefined || isLevel(entry)) continue;
    const kind = isNonTensor(entry) ? "one value, and is taken whole" : "a tensor, which has no entries";
    return `\n  ${parts.slice(0, n).join(SEPARATOR)} is ${kind}`;
  }
  const near = nearNames(td, name);
  const all = near.length === 0 ? allNames(td) : [];
  if (all.length > 0 && all.length <= FEW_NAMES) return `\n  there is ${all.map(nameText).join("; ")}`;
  return near.length === 0 ? "" : `\n  near ${JSON.stringify(name)}: ${near.map(nameText).join("; ")}`;
}

/** Names, and beginnings of names, that are near one that is none: as a whole, or by their last part. */
export function nearNames(td: Td, name: string, most = 4): string[] {
  const dotted = (text: string) => text.replaceAll("/", SEPARATOR);
  const names = new Map(allNames(td).flatMap((full) => beginnings(full).map((own) => [dotted(own), own])));
  const lastOf = (text: string) => text.slice(text.lastIndexOf(SEPARATOR) + 1);
  const wanted = dotted(name).replace(/\.$/, "");
  const whole = nearest(wanted, names.keys(), most);
  const ends = new Set(nearest(lastOf(wanted), new Set([...names.keys()].map(lastOf)), most));
  const byEnd = whole.length > 0 ? [] : [...names.keys()].filter((own) => ends.has(lastOf(own)));
  return [...new Set([...whole, ...byEnd])].slice(0, most).map((own) => names.get(own) as string);
}

/** A name, and what it begins with: that is a name, too. */
function beginnings(name: string): string[] {
  const ends = [...name.matchAll(/[./]/g)].map(({ index }) => index);
  return [...ends, name.length].map((end) => name.slice(0, end));
}

/** The entries that a user named, looked for in one collection or in several. */
export class Keys {
  private readonly missing = new Map<string, string>();
  private readonly found = new Set<string>();

  /** Throws `CliError` for an empty name. */
  constructor(private readonly texts: readonly string[]) {
    if (texts.some((text) => atCommas(text).includes(""))) {
      throw new CliError("--keys takes names separated by commas, none of them empty.", EXIT.usage);
    }
  }

  /** A name that has commas itself is given alone. */
  private namesIn(td: Td): string[] {
    return this.texts.flatMap((text) => {
      const alone = text.includes(",") && findPath(td, text.split(SEPARATOR)) !== null;
      return alone ? [text] : atCommas(text);
    });
  }

  /** The paths of what was named, as far as it is there. */
  some(td: Td): Path[] {
    const paths: Path[] = [];
    for (const name of this.namesIn(td)) {
      const own = pathsOf(td, patternOf(name));
      if (own.length > 0) this.found.add(name);
      else if (!this.missing.has(name)) this.missing.set(name, advice(td, name));
      paths.push(...own);
    }
    return paths;
  }

  /** Throws `CliError` where a name was found nowhere. */
  requireFound(): void {
    const missing = [...this.missing].filter(([name]) => !this.found.has(name));
    if (missing.length === 0) return;
    const names = missing.map(([name]) => JSON.stringify(name)).join(", ");
    throw new CliError(`there is no entry ${names}.${missing.map(([, text]) => text).join("")}`);
  }

  /** The paths of all that was named. */
  all(td: Td): Path[] {
    const paths = this.some(td);
    this.requireFound();
    return paths;
  }
}

/** The option `--keys`. */
export function keysOption(given: readonly string[] | undefined): Keys | null {
  return given === undefined ? null : new Keys(given);
}
