// Memory-mapped directories in an S3 store: one object per file, in the very layout that they have on a disk.

import { FileNotFoundError, FormatError } from "../base/errors.ts";
import { encodeKey } from "../base/keys.ts";
import { type RemoteObject, type RemotePlace, together } from "../store/s3.ts";
import { MAX_META_BYTES } from "./memmap-meta.ts";
import type { LeafNode, LeafWrite, TreeSource, TreeWrite } from "./tree.ts";
import { layOutTree } from "./tree-layout.ts";

const CONCURRENCY = 8;
/** Bytes of all metadata together. */
const MAX_TOTAL_META = 1024 * 1024 * 1024;
const SMALL_FILES = new Set(["meta.json", "other.pickle", "pickle.pkl", "json_types.json"]);
/** Ending of the sizes of a nested tensor, which are read with the metadata, and how long they may be. */
const SIZES = ".shape.memmap";
const MAX_SIZES_BYTES = 16 * 1024 * 1024;

/** The directory of a sub-tree. */
export function remoteSubtree(url: string, subpath: string | readonly string[] | undefined): string {
  if (subpath === undefined) return url;
  const keys = typeof subpath === "string" ? subpath.split("/") : subpath;
  return [url.replace(/\/+$/, ""), ...keys.map(encodeKey)].join("/");
}

/** A listed directory with its small files in memory. Paths begin with `root`. */
export class RemoteDirectory implements TreeSource {
  readonly root: string;
  private readonly sizes = new Map<string, number>();
  private readonly directories = new Set<string>();
  private readonly texts = new Map<string, Uint8Array>();

  private constructor(
    private readonly place: RemotePlace,
    objects: readonly RemoteObject[],
  ) {
    this.root = `s3:/${place.bucket}${place.key === "" ? "" : `/${place.key}`}`;
    for (const { key, size } of objects) {
      this.sizes.set(key, size);
      for (let at = key.lastIndexOf("/"); at > place.key.length; at = key.lastIndexOf("/", at - 1)) {
        this.directories.add(key.slice(0, at));
      }
    }
  }

  /** Lists the directory and reads the metadata of all its levels. Throws `FileNotFoundError` where none is. */
  static async open(place: RemotePlace): Promise<RemoteDirectory> {
    const objects = await place.list();
    const directory = new RemoteDirectory(place, objects);
    const isSmall = ({ key, size }: RemoteObject) =>
      key.endsWith(SIZES) ? size <= MAX_SIZES_BYTES : SMALL_FILES.has(key.slice(key.lastIndexOf("/") + 1));
    const small = objects.filter(isSmall);
    let total = 0;
    for (const { key, size } of small) {
      total += size;
      if (size > MAX_META_BYTES || total > MAX_TOTAL_META) {
        throw new FormatError(`${size} bytes of metadata are too many`, place.name(key));
      }
    }
    await together(small, place.options.concurrency ?? CONCURRENCY, async ({ key, size }) => {
      directory.texts.set(key, await place.range(key, 0, size));
    });
    return directory;
  }

  private keyOf(path: string): string {
    return path.slice(`s3:/${this.place.bucket}/`.length);
  }

  small(path: string): Uint8Array {
    const text = this.texts.get(this.keyOf(path));
    if (text !== undefined) return text;
    const name = this.place.name(this.keyOf(path));
    if (!this.sizes.has(this.keyOf(path))) throw new FileNotFoundError(name);
    throw new FormatError(`more than ${MAX_SIZES_BYTES} bytes of sizes are not loaded from a store`, name);
  }

  exists(path: string): boolean {
    return this.sizes.has(this.keyOf(path)) || this.isDirectory(path);
  }

  isDirectory(path: string): boolean {
    return this.directories.has(this.keyOf(path));
  }

  /** Reads tensors to addresses, some at the same time. All sizes are checked by `requireWhole` before. */
  async read(targets: readonly { leaf: LeafNode; address: number }[]): Promise<void> {
    const total = targets.reduce((sum, { leaf }) => sum + leaf.meta.nbytes, 0);
    let done = 0;
    await together(targets, this.place.options.concurrency ?? CONCURRENCY, async ({ leaf, address }) => {
      const end = leaf.offset + leaf.meta.nbytes;
      await this.place.readInto(this.keyOf(leaf.path), leaf.offset, end, address, (n) => {
        done += n;
        this.place.options.onProgress?.(done, total);
      });
    });
  }

  /** Throws unless the objects have all bytes that the metadata promises. */
  requireWhole(leaves: readonly LeafNode[]): void {
    for (const { path, offset, meta } of leaves) {
      const key = this.keyOf(path);
      const size = this.sizes.get(key);
      if (size === undefined) throw new FileNotFoundError(this.place.name(key));
      if (size < offset + meta.nbytes) {
        throw new FormatError(
          `${size} bytes are fewer than the ${offset + meta.nbytes} of its tensor`,
          this.place.name(key),
        );
      }
    }
  }
}

interface Upload {
  key: string;
  leaf: LeafWrite;
  nbytes: number;
}

/**
 * Writes a tree: tensors first, metadata from the inside out, the root's last, so that a directory that is new can be
 * loaded when all of it is there, and not before. Members of an earlier, longer lazy stack are removed.
 */
export async function writeRemoteDirectory(place: RemotePlace, root: TreeWrite, robustKey: boolean): Promise<void> {
  const uploads: Upload[] = [];
  const texts: { key: string; bytes: Uint8Array }[] = [];
  const stacks: { key: string; count: number }[] = [];
  layOutTree(root, place.key, robustKey, {
    join: (path, name) => (path === "" ? name : `${path}/${name}`),
    directory() {},
    stack: (key, count) => void stacks.push({ key, count }),
    file: (key, bytes) => void texts.push({ key, bytes }),
    leaf(leaf, key) {
      const nbytes = leaf.shape.reduce((product, n) => product * n, leaf.dtype.itemsize);
      if (nbytes > 0) uploads.push({ key, leaf, nbytes });
    },
  });
  const concurrency = place.options.concurrency ?? CONCURRENCY;
  const total = uploads.reduce((sum, { nbytes }) => sum + nbytes, 0);
  let done = 0;
  await together(uploads, concurrency, async ({ key, leaf, nbytes }) => {
    const data = leaf.bytes ?? new Uint8Array(0);
    const end = leaf.bytes === null ? [{ offset: nbytes - 1, data: new Uint8Array(1) }] : [];
    await place.write(key, [{ offset: 0, data }, ...end], (n) => {
      done += n;
      place.options.onProgress?.(done, total);
    });
  });
  const depth = (key: string) => key.split("/").length;
  const deepest = Math.max(0, ...texts.map(({ key }) => depth(key)));
  for (let level = deepest; level > 0; level--) {
    const here = texts.filter(({ key }) => depth(key) === level);
    await together(here, concurrency, async ({ key, bytes }) => await place.write(key, [{ offset: 0, data: bytes }]));
  }
  if (stacks.length > 0) await removeMembers(place, stacks, concurrency);
}

async function removeMembers(
  place: RemotePlace,
  stacks: readonly { key: string; count: number }[],
  concurrency: number,
): Promise<void> {
  const stale = (await place.list()).filter(({ key }) =>
    stacks.some(({ key: stack, count }) => {
      if (!key.startsWith(`${stack}/`)) return false;
      const [member] = key.slice(stack.length + 1).split("/") as [string];
      return /^\d+$/.test(member) && Number(member) >= count;
    }),
  );
  await together(stale, concurrency, async ({ key }) => await place.delete(key));
}
