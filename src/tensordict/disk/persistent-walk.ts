// How far a small HDF5 file may lead: its groups and datasets can have several paths, and groups can hold themselves.
import { FormatError } from "../../io/base/errors.ts";
import { takesUnknown, UnknownArray, type UnknownOptions } from "../../io/base/unknown-array.ts";
import type { Hdf5File, Hdf5Values } from "../../io/hdf5/hdf5.ts";
import type { Hdf5Info, Hdf5Layout } from "../../io/hdf5/hdf5-engine.ts";
import { isUnknown } from "../../io/hdf5/hdf5-values.ts";

/** Deeper files are refused. */
const MAX_DEPTH = 100;
/** Entries that further paths to a group may add to any file; for more, the file has to be large too. */
const FREE_ENTRIES = 10_000;
/** Bytes of a file that an entry takes at least. */
const ENTRY_BYTES = 8;
/** Bytes that further paths to datasets may add to any file, */
const FREE_BYTES = 128 * 2 ** 20;
/** and how many times the file's own beside that. */
const COPIES = 4;
/** Texts may be so many times larger than the file beside that: many are compressed well. */
const TEXT_COPIES = 64;

/** A group on the way to an entry. */
interface Above {
  identity: string | null;
  path: string;
  above: Above | null;
}

/** Where a level of a collection is. */
export interface Place {
  file: Hdf5File;
  path: string;
  owner: boolean;
  layout: Hdf5Layout;
  asStack: boolean;
  unknown: UnknownOptions["unknown"];
  /** Of all levels together. */
  paths: Paths;
  above: Above;
}

/** Whether what is at a path is given to the caller. Throws `FormatError` where it is to be refused. */
export function takesDataset({ file, unknown }: Place, path: string, info: Hdf5Info): boolean {
  if (unknown === undefined || unknown === "describe" || !isUnknown(info)) return true;
  const what = `'${path}' has elements of ${info.typeName}, which no tensor has`;
  const refusal = () => new FormatError(`${what}. { unknown: "describe" } gives their bytes`, file.path);
  return takesUnknown({ unknown }, refusal);
}

/** Whether a dataset is one that the caller wants left out. */
export function isLeftOut({ file, unknown }: Place, path: string): boolean {
  return unknown === "skip" && file.kind(path) === "dataset" && isUnknown(file.info(path));
}

/** The paths of one file that were followed so far. */
export class Paths {
  readonly #seen = new Set<string>();
  #entries = 0;

  constructor(private readonly file: Hdf5File) {}

  /** The group that collections begin with. */
  first(path: string): Above {
    const identity = this.file._identity(path);
    if (identity !== null) this.#seen.add(identity);
    return { identity, path, above: null };
  }

  /** Goes on to a group. Throws `FormatError` for one that is above itself, and for too many paths to the same. */
  into(path: string, above: Above): Above {
    const { file } = this;
    if (path.split("/").length > MAX_DEPTH) {
      throw new FormatError(`'${path}': groups are nested more than ${MAX_DEPTH} levels deep`, file.path);
    }
    const identity = file._identity(path);
    for (let at: Above | null = above; at !== null && identity !== null; at = at.above) {
      if (at.identity !== identity) continue;
      const whole = at.path === "" ? "the whole file" : `'${at.path}'`;
      throw new FormatError(`the group '${path}' holds itself: it is a link to ${whole}`, file.path);
    }
    if (identity !== null && this.#seen.has(identity)) {
      this.#entries += 1 + file.keys(path).length;
      if (this.#entries > FREE_ENTRIES + file._size() / ENTRY_BYTES) {
        const text = `'${path}': too many paths lead to the same groups, with more than ${this.#entries} entries`;
        throw new FormatError(`${text}. io.Hdf5File reads them one by one`, file.path);
      }
    } else if (identity !== null) this.#seen.add(identity);
    return { identity, path, above };
  }

  /** After an entry was taken out, its place in the file may become another's. */
  forget(): void {
    this.#seen.clear();
    this.#entries = 0;
  }
}

/** What is read at once of a file, and how much of it is the same under another path. */
export class Reading {
  readonly #tensors = new Set<string>();
  readonly #values = new Map<string, { found: Hdf5Values; nbytes: number }>();
  #again = 0;
  #texts = 0;

  constructor(private readonly file: Hdf5File) {}

  /** Counts a tensor before it is read. */
  tensor(path: string, nbytes: number): void {
    const identity = this.file._identity(path);
    if (identity === null) return;
    if (this.#tensors.has(identity)) this.#count(path, nbytes);
    else this.#tensors.add(identity);
  }

  #count(path: string, nbytes: number): void {
    this.#again += nbytes;
    if (this.#again <= FREE_BYTES + this.file._size() * COPIES) return;
    const text = `'${path}': too many paths lead to the same datasets: ${this.#again} bytes would be copies`;
    throw new FormatError(`${text}. io.Hdf5File reads them one by one`, this.file.path);
  }

  /** Values that are no tensors; under further paths they are the same ones. Bytes may be left for later. */
  values(path: string, lazy = false): Hdf5Values {
    const identity = this.file._identity(path);
    const known = identity === null ? undefined : this.#values.get(identity);
    if (known !== undefined) {
      this.#count(path, known.nbytes);
      return known.found;
    }
    const found = this.file.exactValues(path, lazy);
    let nbytes = 0;
    for (const value of found.values) {
      if (value instanceof UnknownArray) {
        nbytes += value.nbytes ?? 0;
        continue;
      }
      const own = typeof value === "string" ? value.length : Array.isArray(value) ? 8 * value.length : 8;
      nbytes += own;
      this.#texts += own;
    }
    if (this.#texts > FREE_BYTES + this.file._size() * TEXT_COPIES) {
      throw new FormatError(`'${path}': with it the texts take ${this.#texts} bytes`, this.file.path);
    }
    if (identity !== null) this.#values.set(identity, { found, nbytes });
    return found;
  }
}
