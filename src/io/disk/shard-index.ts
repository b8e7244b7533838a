// Checkpoints in several files: an index says in which of them each tensor is, and all of them are one collection.
import { basename, dirname, join, readdirSync, statSync } from "../../runtime/node.ts";
import { FileNotFoundError, FormatError, guarded } from "../base/errors.ts";
import { absolutePath } from "../base/places.ts";
import { type PythonJson, parsePythonJsonObject } from "../base/python-json.ts";
import { Folder } from "./folder.ts";
import { readSmallFile } from "./small-file.ts";

/** What the names of indices end with. */
export const INDEX_ENDING = ".index.json";
/** Longest index that is read. */
export const MAX_INDEX_BYTES = 64 * 2 ** 20;
/** Most files in a folder that is searched for one. */
const MOST_FILES = 100_000;

/** What files an index names. */
export type ShardKind = "safetensors" | "torch";

/** An index that was read and checked; the files that it names were not. */
export interface ShardIndex {
  /** Where the index is. */
  path: string;
  kind: ShardKind;
  /** What it says beside the files, such as `total_size`. */
  metadata: ReadonlyMap<string, PythonJson>;
  /** The names of the tensors in each file, as the index lists them. */
  shards: ReadonlyMap<string, readonly string[]>;
  /** The file of each tensor. */
  fileOf: ReadonlyMap<string, string>;
}

/** Whether a path is that of an index, by its name. */
export function isIndexPath(path: string): boolean {
  return path.endsWith(INDEX_ENDING);
}

const KINDS: readonly (readonly [RegExp, ShardKind])[] = [
  [/\.safetensors$/, "safetensors"],
  [/\.(bin|pt|pth)$/, "torch"],
];

/** What a file is, by its name. */
function kindOf(file: string): ShardKind | null {
  return KINDS.find(([ending]) => ending.test(file))?.[1] ?? null;
}

/** Whether a name can be that of a file in the folder of the index, or below it. */
function staysInside(file: string): boolean {
  if (file.includes("\0") || (process.platform === "win32" && /[\\:]/.test(file))) return false;
  return file.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

/** Reads and checks an index. Throws `FormatError`. */
export function parseIndex(bytes: Uint8Array, path: string): ShardIndex {
  const bad = (what: string, cause?: unknown) => new FormatError(`no index of shards: ${what}`, path, cause);
  const root = ((): Map<string, PythonJson> => {
    try {
      return parsePythonJsonObject(bytes, { maxLength: MAX_INDEX_BYTES, maxDepth: 16 });
    } catch (error) {
      throw bad((error as Error).message, error);
    }
  })();
  const [map, metadata = new Map()] = [root.get("weight_map"), root.get("metadata")];
  if (!(map instanceof Map)) throw bad("its weight_map is not an object");
  if (map.size === 0) throw bad("its weight_map is empty");
  if (!(metadata instanceof Map)) throw bad("its metadata is not an object");
  const shards = new Map<string, string[]>();
  let kind: ShardKind | null = null;
  for (const [name, file] of map) {
    if (typeof file !== "string") throw bad(`the file of ${JSON.stringify(name)} is no text`);
    let names = shards.get(file);
    if (names === undefined) {
      const told = JSON.stringify(file);
      if (!staysInside(file)) throw bad(`the file ${told} of ${JSON.stringify(name)} would lie outside of its folder`);
      const own = kindOf(file);
      if (own === null) throw bad(`the file ${told} is neither of safetensors nor of torch.save by its name`);
      if (kind !== null && own !== kind) throw bad(`its files are of different formats: ${told} is one of ${own}`);
      kind = own;
      shards.set(file, (names = []));
    }
    names.push(name);
  }
  return { path, kind: kind as ShardKind, metadata, shards, fileOf: map as Map<string, string> };
}

/** The index in a folder; null where there is none. Throws `FormatError` for several. */
export function findIndex(folder: string): string | null {
  const names = guarded(folder, () => readdirSync(folder));
  if (names.length > MOST_FILES) return null;
  const found = names.filter(isIndexPath);
  const safe = found.filter((name) => name.endsWith(`.safetensors${INDEX_ENDING}`));
  // Many a folder has the same tensors twice.
  const [first, ...others] = safe.length > 0 ? safe : found;
  if (first === undefined) return null;
  if (others.length === 0) return join(folder, first);
  const told = [first, ...others].sort().join(", ");
  throw new FormatError(`several indices of shards are in this folder: ${told}. Name one of them`, folder);
}

/** The path of the index that a path means: itself, or the one in a folder; null for anything else. */
export function indexAt(path: string): string | null {
  if (isIndexPath(path)) return path;
  const isFolder = guarded(path, () => statSync(path, { throwIfNoEntry: false }))?.isDirectory() === true;
  return isFolder ? findIndex(path) : null;
}

/** Where shards are, and whether links may lead out of there. */
export class ShardFolder {
  readonly #folder: Folder;
  readonly index: ShardIndex;

  constructor(path: string, followLinks = false) {
    const folder = absolutePath(dirname(path));
    // The link that an index may be does not change where its files are.
    const full = join(folder, basename(path));
    this.index = parseIndex(readSmallFile(full, MAX_INDEX_BYTES), full);
    this.#folder = new Folder(folder, followLinks);
  }

  /** The path of a shard. Throws `FormatError` for one that is missing. */
  place(file: string): string {
    const path = ((): string => {
      try {
        return this.#folder.place(file);
      } catch (error) {
        if (error instanceof FileNotFoundError) throw this.#missing(file, error);
        throw error;
      }
    })();
    const stat = guarded(path, () => statSync(path, { throwIfNoEntry: false }));
    if (stat === undefined) throw this.#missing(file);
    return path;
  }

  #missing(file: string, cause?: unknown): FormatError {
    const names = this.index.shards.get(file) as readonly string[];
    const what = `the shard ${JSON.stringify(file)} is missing, which has ${JSON.stringify(names[0])}`;
    return new FormatError(names.length === 1 ? what : `${what} and ${names.length - 1} more`, this.index.path, cause);
  }
}

/** Throws `FormatError` unless a shard has what the index says, and nothing else. */
export function requireShard(index: ShardIndex, file: string, has: ReadonlySet<string>): void {
  const bad = (what: string) => new FormatError(`the shard ${JSON.stringify(file)} ${what}`, index.path);
  const wanted = index.shards.get(file) as readonly string[];
  const lost = wanted.find((name) => !has.has(name));
  if (lost !== undefined) throw bad(`does not have the tensor ${JSON.stringify(lost)} that the index says is in it`);
  if (has.size === wanted.length) return;
  const own = new Set(wanted);
  const extra = [...has].find((name) => !own.has(name)) as string;
  const elsewhere = index.fileOf.get(extra);
  const where = elsewhere === undefined ? "does not name" : `says is in ${JSON.stringify(elsewhere)}`;
  throw bad(`has the tensor ${JSON.stringify(extra)}, which the index ${where}`);
}
