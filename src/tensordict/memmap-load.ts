// Loads memory-mapped directories and archives of them: the structure is read at once, the bytes of tensors when they
// are used.
import { statSync } from "node:fs";
import { OSError } from "../io/errors.ts";
import { mapFiles } from "../io/mapping.ts";
import { readDirectory } from "../io/memmap-read.ts";
import { type LeafNode, leavesOf } from "../io/tree.ts";
import { CPU, type Device, type DeviceLike, toDevice } from "../tensor/device.ts";
import { ValueError } from "../tensor/errors.ts";
import { Storage } from "../tensor/storage.ts";
import { makeContiguous, Tensor } from "../tensor/tensor.ts";
import { loadArchive } from "./archive-load.ts";
import { MemoryMappedTensor } from "./mapped-tensor.ts";
import type { Td } from "./state.ts";
import { buildTree, type PickleChoice } from "./tree-load.ts";
import type { Entry } from "./types.ts";

/** How a directory is loaded. */
export interface LoadOptions {
  /** Move everything there; "meta" reads no bytes. */
  device?: DeviceLike | null;
  /** Load only this sub-tree. */
  subpath?: string | readonly string[];
  /**
   * "r+" writes through, "r" keeps changes private; by default as the files of a directory allow, and private for an
   * archive.
   */
  mode?: "r" | "r+";
  /** False: file names are the keys as they are, before their encoded forms are tried. */
  robustKey?: boolean;
  /** Threads that open files. */
  numThreads?: number;
  /** Receives the entries, level by level; what is not on disk is removed from it. */
  out?: Td;
  /**
   * What to do with values that Python pickled: refuse them (default), keep their bytes unread, or read those that are
   * plain data (sets, bytes, tuples, dicts of any keys, complex numbers), which runs nothing.
   */
  pickles?: PickleChoice;
}

function mapLeaves(leaves: readonly LeafNode[], options: LoadOptions): Storage[] {
  const requests = leaves.map((leaf) => ({ path: leaf.path, nbytes: leaf.meta.nbytes }));
  const threads = options.numThreads ?? 1;
  if (options.mode !== undefined) return mapFiles(requests, options.mode, threads);
  try {
    return mapFiles(requests, "r+", threads);
  } catch (error) {
    const readOnly = error instanceof OSError && (error.errno === 13 || error.errno === 30);
    if (!readOnly) throw error;
    return mapFiles(requests, "r", threads);
  }
}

/** How often a directory may be replaced while it is read. */
const MAX_ATTEMPTS = 50;

/** What tells a directory from the one that takes its place. */
function identityOf(prefix: string): string {
  const stat = statSync(prefix, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? "" : `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`;
}

/** Loads what `prefix` holds. A directory that is replaced meanwhile (see `atomic`) is read again. */
export function loadTree(prefix: string, options: LoadOptions = {}): Td {
  const { mode = "r" } = options;
  if (mode !== "r" && mode !== "r+") throw new ValueError(`mode must be 'r', 'r+' or None, got '${String(mode)}'.`);
  for (let attempt = 1; ; attempt++) {
    const before = identityOf(prefix);
    try {
      const td = loadOnce(prefix, options);
      if (identityOf(prefix) === before) return options.out === undefined ? td : loadInto(options.out, td);
      if (attempt === MAX_ATTEMPTS) throw new OSError(`${prefix} was replaced again and again`, { path: prefix });
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || identityOf(prefix) === before) throw error;
    }
  }
}

function loadOnce(prefix: string, options: LoadOptions): Td {
  const target = options.device === undefined || options.device === null ? CPU : toDevice(options.device);
  const isFile = statSync(prefix, { throwIfNoEntry: false })?.isDirectory() === false;
  const td = isFile ? loadArchive(prefix, target, options) : loadDirectory(prefix, target, options);
  return target.type === "cuda" ? td.to(target) : td;
}

function loadDirectory(prefix: string, device: Device, options: LoadOptions): Td {
  const { subpath, robustKey = true } = options;
  const node = readDirectory(prefix, { robustKey, ...(subpath === undefined ? {} : { subpath }) });
  const leaves = leavesOf(node);
  const tensors = new Map<LeafNode, Tensor>();
  if (device.type === "meta") {
    for (const leaf of leaves)
      tensors.set(leaf, makeContiguous(Storage.meta(leaf.meta.nbytes), leaf.meta.shape, leaf.meta.dtype));
  } else {
    const filled = leaves.filter((leaf) => leaf.meta.nbytes > 0);
    for (const [i, storage] of mapLeaves(filled, options).entries()) {
      const leaf = filled[i] as LeafNode;
      tensors.set(leaf, MemoryMappedTensor._over(storage, leaf.meta.shape, leaf.meta.dtype));
    }
    for (const leaf of leaves) {
      if (leaf.meta.nbytes === 0)
        tensors.set(leaf, MemoryMappedTensor._over(Storage.allocate(0), leaf.meta.shape, leaf.meta.dtype));
    }
  }
  return buildTree(node, {
    tensors,
    device: device.type === "meta" ? device : CPU,
    pickles: options.pickles ?? "refuse",
    onDisk: true,
  });
}

// Levels that are there stay the objects they are; tensors are replaced.
function loadInto(out: Td, td: Td): Td {
  for (const key of [...out._keys()]) if (td._own(key) === undefined) out.del_(key);
  for (const key of td._keys()) {
    const [own, entry] = [out._own(key), td._own(key) as Entry];
    if (isLevel(own) && isLevel(entry)) loadInto(own, entry);
    else out.set(key, entry);
  }
  return out;
}

function isLevel(entry: Entry | undefined): entry is Td {
  return entry !== undefined && !(entry instanceof Tensor) && entry._kind === "tensordict";
}
