// Archives of memory-mapped directories (.tdz): a zip file with the files of a directory, tensors stored and aligned.
import { sep } from "../../runtime/node.ts";
import { inOrder } from "../../tensor/checks.ts";
import { byCodePoints } from "../../tensor/code-points.ts";
import { ValueError } from "../../tensor/errors.ts";
import { FileNotFoundError, FormatError } from "../base/errors.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import { readZip, type ZipFile } from "../zip/zip.ts";
import type { ZipEntry } from "../zip/zip-directory.ts";
import type { ZipWriteEntry } from "../zip/zip-write.ts";
import { MAX_META_BYTES } from "./memmap-meta.ts";
import type { LeafWrite, TreeSource, TreeWrite } from "./tree.ts";
import { layOutTree } from "./tree-layout.ts";

/** Where tensors begin, so that every dtype can be used in place. */
const ARCHIVE_ALIGNMENT = 64;
/** Deepest directory in an archive. */
const MAX_PARTS = 256;

/** How tensors are compressed: not at all, or with deflate. */
export type ArchiveCompression = "stored" | "deflate" | "deflated";

/** An archive as the place of a tree: paths are those of files in it, below its own path. */
export class MemmapArchive implements TreeSource {
  readonly zip: ZipFile;
  private readonly directories = new Set<string>();

  /** Throws `FormatError` for anything but a zip file with a `meta.json`. */
  constructor(path: string) {
    this.zip = readZip(path);
    if (!this.zip.entries.has("meta.json")) {
      throw new FormatError(
        "is a file but not a memory-mapped tensordict archive (expected a zip file with a top-level meta.json entry).",
        this.zip.path,
      );
    }
    for (const name of this.zip.entries.keys()) this.addParents(name);
    for (const name of this.directories) {
      if (this.zip.entries.has(name)) throw this.bad(name, "is a file and a directory");
    }
  }

  /** The entry behind a path. Throws `FileNotFoundError`. */
  entryAt(path: string): ZipEntry {
    const entry = this.zip.entries.get(this.nameOf(path));
    if (entry === undefined) throw new FileNotFoundError(path);
    return entry;
  }

  small(path: string): Uint8Array {
    return this.zip.readSmall(this.entryAt(path), MAX_META_BYTES);
  }

  exists(path: string): boolean {
    return this.zip.entries.has(this.nameOf(path)) || this.isDirectory(path);
  }

  isDirectory(path: string): boolean {
    return this.directories.has(this.nameOf(path));
  }

  private nameOf(path: string): string {
    const name = path.slice(this.zip.path.length + 1);
    return sep === "/" ? name : name.replaceAll(sep, "/");
  }

  private addParents(name: string): void {
    let depth = 0;
    for (let at = name.lastIndexOf("/"); at > 0; at = name.lastIndexOf("/", at - 1)) {
      const directory = name.slice(0, at);
      if (this.directories.has(directory)) return;
      if (++depth > MAX_PARTS) throw this.bad(`${name.slice(0, 40)}...`, "lies too deep");
      this.directories.add(directory);
    }
  }

  private bad(name: string, what: string): FormatError {
    return new FormatError(`entry ${JSON.stringify(name)} ${what}`, this.zip.path);
  }
}

/**
 * Whether `path` is a zip file with a `meta.json` at its top.
 * @example
 * ```ts
 * new TensorDict({ a: ones(1) }, []).memmap("data.tdz");
 * isMemmapArchive("data.tdz") // true
 * ```
 * @torch tensordict.is_memmap_archive
 */
export function isMemmapArchive(path: string): boolean {
  [path] = inOrder<Parameters<typeof isMemmapArchive>>("isMemmapArchive", FUNCTIONS.isMemmapArchive, arguments);
  try {
    return readZip(path).entries.has("meta.json");
  } catch {
    return false;
  }
}

/** Entries as they follow each other: per directory `meta.json`, then other files, then directories, by name. */
export function archiveOrder<T extends { name: string }>(entries: readonly T[]): T[] {
  const split = entries.map((entry) => ({ entry, parts: entry.name.split("/") }));
  split.sort((a, b) => {
    for (let i = 0; ; i++) {
      const [x, y] = [a.parts[i] as string, b.parts[i] as string];
      const [xIsFile, yIsFile] = [i === a.parts.length - 1, i === b.parts.length - 1];
      if (xIsFile !== yIsFile) return xIsFile ? -1 : 1;
      if (x === y && !xIsFile) continue;
      if (xIsFile && (x === "meta.json") !== (y === "meta.json")) return x === "meta.json" ? -1 : 1;
      return byCodePoints(x, y);
    }
  });
  return split.map(({ entry }) => entry);
}

/** How the entry of a tensor is written. */
export function tensorEntry(
  name: string,
  data: ZipWriteEntry["data"],
  compression: ArchiveCompression,
  level?: number,
): ZipWriteEntry {
  return compression === "stored" ? { name, data, align: ARCHIVE_ALIGNMENT } : { name, data, deflate: level ?? true };
}

/** Checks the name of a compression. Throws `ValueError`. */
export function archiveCompression(name: string | null | undefined): ArchiveCompression {
  if (name === undefined || name === null) return "stored";
  if (name === "stored" || name === "deflate" || name === "deflated") return name;
  const known = name === "bzip2" || name === "lzma";
  throw new ValueError(
    known
      ? `Archives are written with the compression 'stored' or 'deflate'; '${name}' is not available.`
      : `Unknown compression '${name}'. Expected one of ['deflate', 'deflated', 'stored'].`,
  );
}

/** The entries of an archive that holds a tree, in their order. */
export function archiveEntries(
  root: TreeWrite,
  options: { robustKey?: boolean; compression?: ArchiveCompression },
): ZipWriteEntry[] {
  const entries: ZipWriteEntry[] = [];
  const compression = options.compression ?? "stored";
  layOutTree(root, "", options.robustKey !== false, {
    join: (path, name) => (path === "" ? name : `${path}/${name}`),
    directory() {},
    stack() {},
    file: (name, data) => entries.push({ name, data }),
    leaf(leaf: LeafWrite, name) {
      const nbytes = leaf.shape.reduce((product, n) => product * n, leaf.dtype.itemsize);
      if (nbytes === 0) return;
      entries.push(tensorEntry(name, leaf.bytes ?? { zeros: nbytes }, compression));
    },
  });
  return archiveOrder(entries);
}
