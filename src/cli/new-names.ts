// New names for entries: by what they begin with, by a regular expression, or by a table in a file.
import { parsePythonJsonObject } from "../io/base/python-json.ts";
import { readSmallFile } from "../io/disk/small-file.ts";
import { reachable } from "./byte-paths.ts";
import { CliError, EXIT } from "./errors.ts";

const MAX_MAP_BYTES = 64 * 2 ** 20;

/** Gives the new name of an entry; the same one where nothing fits. */
export type Naming = (name: string) => string;

/** How entries are named. */
export interface NamingOptions {
  prefix?: string[];
  regex?: string[];
  map?: string;
}

const partsOf = (name: string): string[] => name.split(/[./]/);

/** What follows on a beginning that ends where a part of the name does; null where it begins in another way. */
function after(beginning: string, name: string): string | null {
  if (beginning === "") return name;
  const bare = beginning.replace(/[./]$/, "");
  const [own, all] = [partsOf(bare), partsOf(name)];
  if (own.length > all.length || own.some((part, i) => part !== all[i])) return null;
  // A separator at the end says that something follows.
  if (bare !== beginning && own.length === all.length) return null;
  return name.slice(bare.length + 1);
}

function joined(beginning: string, rest: string): string {
  if (beginning === "" || rest === "" || /[./]$/.test(beginning)) return beginning + rest;
  return `${beginning}.${rest}`;
}

/** A table of beginnings, or whole names, of which the longest counts; `used` gets those that fit something. */
function byTable(table: ReadonlyMap<string, string>, used: Set<string>): Naming {
  const longest = [...table].sort(([a], [b]) => b.length - a.length);
  return (name) => {
    for (const [before, now] of longest) {
      const rest = after(before, name);
      if (rest === null) continue;
      used.add(before);
      return joined(now, rest);
    }
    return name;
  };
}

/** Reads "old=new". */
function prefixOption(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at >= 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new CliError(`--prefix takes old=new, such as module.= or =model., got ${JSON.stringify(text)}.`, EXIT.usage);
}

/** Reads "s/pattern/replacement/flags" with any separator. */
function regexOption(text: string): Naming {
  const bad = (why: string) =>
    new CliError(`--regex takes s/pattern/replacement/, got ${JSON.stringify(text)}: ${why}.`, EXIT.usage);
  const [letter, separator = "", ...rest] = text;
  if (letter !== "s" || separator === "" || /[\w\s\\]/.test(separator)) throw bad("it begins with s and a separator");
  const parts = [""];
  const body = rest.join("");
  for (let i = 0; i < body.length; i++) {
    if (body[i] === "\\" && body[i + 1] === separator) parts[parts.length - 1] += body[++i];
    else if (body[i] === "\\") parts[parts.length - 1] += `\\${body[++i] ?? ""}`;
    else if (body[i] === separator) parts.push("");
    else parts[parts.length - 1] += body[i];
  }
  const [pattern, replacement, flags] = parts;
  if (parts.length !== 3 || pattern === "")
    throw bad(`it has ${parts.length - 1} of 2 separators after the pattern's begin`);
  if (!/^[giu]*$/.test(flags as string)) throw bad("flags are g, i and u");
  let expression: RegExp;
  try {
    expression = new RegExp(pattern as string, flags);
  } catch (error) {
    throw bad((error as Error).message);
  }
  // Groups are told as in sed and Python, or as in JavaScript.
  const to = (replacement as string).replace(/\\([0-9&\\])/g, (_, what: string) => {
    return what === "\\" ? "\\" : what === "0" || what === "&" ? "$&" : `$${what}`;
  });
  return (name) => name.replace(expression, to);
}

function readMap(path: string): Map<string, string> {
  const bytes = readSmallFile(reachable(path), MAX_MAP_BYTES);
  const bad = (what: string) => new CliError(`${path}: no map of names: ${what}.`);
  let table: ReturnType<typeof parsePythonJsonObject>;
  try {
    table = parsePythonJsonObject(bytes, { maxLength: MAX_MAP_BYTES, maxDepth: 2 });
  } catch (error) {
    throw bad((error as Error).message);
  }
  const map = new Map<string, string>();
  for (const [before, now] of table) {
    if (typeof now !== "string") throw bad(`the new name of ${JSON.stringify(before)} is no text`);
    map.set(before, now);
  }
  return map;
}

/** What names become, step by step, and beginnings that no name has. */
export interface NewNames {
  steps: readonly Naming[];
  unused(): string[];
}

/** What the options say, together: the file of names first, then beginnings, then regular expressions. */
export function newNames({ prefix = [], regex = [], map }: NamingOptions): NewNames {
  if (prefix.length + regex.length === 0 && map === undefined) {
    throw new CliError("nothing to rename by: pass --prefix, --regex or --map.", EXIT.usage);
  }
  const table = map === undefined ? new Map<string, string>() : readMap(map);
  const prefixes = new Map(prefix.map(prefixOption));
  const used = new Set<string>();
  const steps = [byTable(table, used), byTable(prefixes, used), ...regex.map(regexOption)];
  return {
    steps,
    unused: () => [...table.keys(), ...prefixes.keys()].filter((name) => !used.has(name)),
  };
}
