// What lies in a memory-mapped directory beside its own files: whoever replaces the directory would take it away.
import type { Stats } from "node:fs";
import { join, lstatSync } from "../../runtime/node.ts";
import { namesIn, pathIn, systemName } from "../base/byte-names.ts";
import { FileNotFoundError, FormatError, guarded, type OSError } from "../base/errors.ts";
import { encodeKey } from "../base/keys.ts";
import { isUnfinished } from "../base/leftovers.ts";
import { parsePythonJsonObject } from "../base/python-json.ts";
import { readSmallFile } from "./small-file.ts";

/** Files of a level by name: metadata, an append that waits, and values that are no tensors. */
const LEVEL = new Set(["meta.json", ".meta.json.append.tmp", "other.pickle", "pickle.pkl", "json_types.json"]);

/** What tells a thing under a name from another one: a number alone may have been given again. */
function sameThing(a: Stats | undefined, b: Stats | undefined): boolean {
  return a?.ino === b?.ino && a?.dev === b?.dev && a?.birthtimeMs === b?.birthtimeMs;
}

/**
 * Looks at what has a name, which another writer may give to something else meanwhile: what the look finds, or throws,
 * counts only if the same thing has the name afterwards. False where nothing has it any more.
 */
export function looked(path: string, look: (stat: Stats) => void): boolean {
  const now = () => guarded(path, () => lstatSync(path, { throwIfNoEntry: false }));
  let stat = now();
  while (stat !== undefined) {
    let failed: { error: unknown } | null = null;
    try {
      look(stat);
    } catch (error) {
      failed = { error };
    }
    const after = now();
    if (sameThing(stat, after)) {
      if (failed !== null) throw failed.error;
      return true;
    }
    stat = after;
  }
  return false;
}

/** Metadata of more bytes is not looked into. */
const MAX_META_BYTES = 256 * 2 ** 20;

/** The names in a directory; none once another writer took it away. */
export function listedNow(directory: string): string[] {
  try {
    return guarded(directory, () => namesIn(directory));
  } catch (error) {
    if ((error as OSError).code === "ENOENT") return [];
    throw error;
  }
}

function readMetadata(directory: string): ReturnType<typeof parsePythonJsonObject> | null {
  try {
    const bytes = readSmallFile(join(directory, "meta.json"), MAX_META_BYTES);
    return parsePythonJsonObject(bytes, { maxLength: MAX_META_BYTES });
  } catch (error) {
    if (error instanceof FormatError || error instanceof FileNotFoundError) return null;
    throw error;
  }
}

/** Whose metadata a directory has; null when it cannot be read as any, or is not there any more. */
export function metadataOf(directory: string): "own" | "other" | null {
  const metadata = readMetadata(directory);
  if (metadata === null) return null;
  return typeof metadata.get("_type") === "string" ? "own" : "other";
}

/**
 * The path, from the directory on, of a file of elements that its metadata does not name: somebody's own, or left by a
 * save of other entries into the same directory. Null when there is none. What is no such file is `strangeIn`'s.
 */
export function unnamedIn(directory: string, names: readonly string[] = listedNow(directory)): string | null {
  const files = names.filter((name) => name.endsWith(".memmap"));
  // Keys stand in names as they are, or encoded.
  const keys = files.length > 0 ? [...(readMetadata(directory)?.keys() ?? [])] : [];
  const known = new Set(keys.flatMap((key) => [key, encodeKey(key)]));
  for (const name of files) {
    const key = name.slice(0, -".memmap".length);
    // The sizes of a nested tensor's parts lie beside it.
    if (!known.has(key) && !known.has(key.replace(/\.shape$/, ""))) return name;
  }
  for (const name of names) {
    const path = pathIn(directory, name);
    const stat = guarded(path, () => lstatSync(path, { throwIfNoEntry: false }));
    if (stat?.isDirectory() !== true || isUnfinished(name)) continue;
    const inside = unnamedIn(path);
    if (inside !== null) return `${name}/${inside}`;
  }
  return null;
}

/** The path, from the directory on, of something that no save into a directory makes; null when there is none. */
export function strangeIn(directory: string, names: readonly string[] = listedNow(directory)): string | null {
  for (const name of names) {
    const path = pathIn(directory, name);
    const stat = guarded(path, () => lstatSync(systemName(path), { throwIfNoEntry: false }));
    if (stat === undefined || (isUnfinished(name) && !stat.isSymbolicLink())) continue;
    if (stat.isFile() && (LEVEL.has(name) || name.endsWith(".memmap"))) continue;
    const inside = stat.isDirectory() ? strangeIn(path) : "";
    if (inside !== null) return inside === "" ? name : `${name}/${inside}`;
  }
  return null;
}
