// What lies in a memory-mapped directory beside its own files: whoever replaces the directory would take it away.
import { join, lstatSync, readdirSync } from "../../runtime/node.ts";
import { FormatError, guarded, type OSError } from "../base/errors.ts";
import { isUnfinished } from "../base/leftovers.ts";
import { parsePythonJsonObject } from "../base/python-json.ts";
import { readSmallFile } from "./small-file.ts";

/** Files of a level by name: metadata, an append that waits, and values that are no tensors. */
const LEVEL = new Set(["meta.json", ".meta.json.append.tmp", "other.pickle", "pickle.pkl", "json_types.json"]);

/** Metadata of more bytes is not looked into. */
const MAX_META_BYTES = 256 * 2 ** 20;

/** The names in a directory; none once another writer took it away. */
export function listedNow(directory: string): string[] {
  try {
    return guarded(directory, () => readdirSync(directory));
  } catch (error) {
    if ((error as OSError).code === "ENOENT") return [];
    throw error;
  }
}

/** Whose metadata a directory has; null when it cannot be read as any. */
export function metadataOf(directory: string): "own" | "other" | null {
  try {
    const bytes = readSmallFile(join(directory, "meta.json"), MAX_META_BYTES);
    const type = parsePythonJsonObject(bytes, { maxLength: MAX_META_BYTES }).get("_type");
    return typeof type === "string" ? "own" : "other";
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
}

/** The path, from the directory on, of something that no save into a directory makes; null when there is none. */
export function strangeIn(directory: string, names: readonly string[] = listedNow(directory)): string | null {
  for (const name of names) {
    const path = join(directory, name);
    const stat = guarded(path, () => lstatSync(path, { throwIfNoEntry: false }));
    if (stat === undefined || (isUnfinished(name) && !stat.isSymbolicLink())) continue;
    if (stat.isFile() && (LEVEL.has(name) || name.endsWith(".memmap"))) continue;
    const inside = stat.isDirectory() ? strangeIn(path) : "";
    if (inside !== null) return inside === "" ? name : `${name}/${inside}`;
  }
  return null;
}
