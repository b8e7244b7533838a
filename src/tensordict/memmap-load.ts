// Loads memory-mapped directories and archives of them: the structure is read at once, the bytes of tensors when they
// are used.
import { statSync } from "node:fs";
import { OSError } from "../io/errors.ts";
import type { BackgroundOptions } from "../io/file-jobs.ts";
import { type MapRequest, mapFiles, mapFilesLater } from "../io/mapping.ts";
import { type ReadOptions, readDirectory, readDirectoryLater } from "../io/memmap-read.ts";
import { Slices } from "../io/slices.ts";
import { type LeafNode, leavesOf, type TreeNode } from "../io/tree.ts";
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

function isReadOnly(error: unknown): boolean {
  return error instanceof OSError && (error.errno === 13 || error.errno === 30);
}

function requestsFor(leaves: readonly LeafNode[]): MapRequest[] {
  return leaves.map((leaf) => ({ path: leaf.path, nbytes: leaf.meta.nbytes }));
}

function mapLeaves(leaves: readonly LeafNode[], options: LoadOptions): Storage[] {
  const requests = requestsFor(leaves);
  const threads = options.numThreads ?? 1;
  if (options.mode !== undefined) return mapFiles(requests, options.mode, threads);
  try {
    return mapFiles(requests, "r+", threads);
  } catch (error) {
    if (!isReadOnly(error)) throw error;
    return mapFiles(requests, "r", threads);
  }
}

async function mapLeavesLater(
  leaves: readonly LeafNode[],
  options: LoadOptions & BackgroundOptions,
): Promise<Storage[]> {
  const requests = requestsFor(leaves);
  const threads = options.numThreads ?? 1;
  if (options.mode !== undefined) return await mapFilesLater(requests, options.mode, threads, options);
  try {
    return await mapFilesLater(requests, "r+", threads, options);
  } catch (error) {
    if (!isReadOnly(error)) throw error;
    return await mapFilesLater(requests, "r", threads, options);
  }
}

/** How often a directory may be replaced while it is read. */
const MAX_ATTEMPTS = 50;

/** What tells a directory from the one that takes its place. */
function identityOf(prefix: string): string {
  const stat = statSync(prefix, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? "" : `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`;
}

function checkMode({ mode = "r" }: LoadOptions): void {
  if (mode !== "r" && mode !== "r+") throw new ValueError(`mode must be 'r', 'r+' or None, got '${String(mode)}'.`);
}

function replacedAgain(prefix: string): OSError {
  return new OSError(`${prefix} was replaced again and again`, { path: prefix });
}

/** Loads what `prefix` holds. A directory that is replaced meanwhile (see `atomic`) is read again. */
export function loadTree(prefix: string, options: LoadOptions = {}): Td {
  checkMode(options);
  for (let attempt = 1; ; attempt++) {
    const before = identityOf(prefix);
    try {
      const td = loadOnce(prefix, options);
      if (identityOf(prefix) === before) return options.out === undefined ? td : loadInto(options.out, td);
      if (attempt === MAX_ATTEMPTS) throw replacedAgain(prefix);
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || identityOf(prefix) === before) throw error;
    }
  }
}

/** `loadTree` in slices, with files opened by native threads; a signal leaves nothing open. */
export async function loadTreeAsync(prefix: string, options: LoadOptions & BackgroundOptions = {}): Promise<Td> {
  checkMode(options);
  const slices = new Slices(options.signal);
  for (let attempt = 1; ; attempt++) {
    const before = identityOf(prefix);
    try {
      const td = await loadOnceLater(prefix, options, slices);
      if (identityOf(prefix) === before) return options.out === undefined ? td : loadInto(options.out, td);
      if (attempt === MAX_ATTEMPTS) throw replacedAgain(prefix);
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || options.signal?.aborted || identityOf(prefix) === before) throw error;
    }
  }
}

function targetOf({ device }: LoadOptions): Device {
  return device === undefined || device === null ? CPU : toDevice(device);
}

function isFile(prefix: string): boolean {
  return statSync(prefix, { throwIfNoEntry: false })?.isDirectory() === false;
}

function loadOnce(prefix: string, options: LoadOptions): Td {
  const target = targetOf(options);
  const td = isFile(prefix) ? loadArchive(prefix, target, options) : loadDirectory(prefix, target, options);
  return target.type === "cuda" ? td.to(target) : td;
}

async function loadOnceLater(prefix: string, options: LoadOptions & BackgroundOptions, slices: Slices): Promise<Td> {
  const target = targetOf(options);
  // One file is mapped in a moment; the meta device maps nothing.
  if (isFile(prefix) || target.type === "meta") return loadOnce(prefix, options);
  const node = await readDirectoryLater(prefix, readOptions(options), slices);
  const filled = leavesOf(node).filter((leaf) => leaf.meta.nbytes > 0);
  const storages = await mapLeavesLater(filled, options);
  const td = built(node, mappedTensors(node, filled, storages), CPU, options);
  return target.type === "cuda" ? td.to(target) : td;
}

function readOptions({ subpath, robustKey = true }: LoadOptions): ReadOptions {
  return { robustKey, ...(subpath === undefined ? {} : { subpath }) };
}

function loadDirectory(prefix: string, device: Device, options: LoadOptions): Td {
  const node = readDirectory(prefix, readOptions(options));
  const leaves = leavesOf(node);
  if (device.type !== "meta") {
    const filled = leaves.filter((leaf) => leaf.meta.nbytes > 0);
    return built(node, mappedTensors(node, filled, mapLeaves(filled, options)), CPU, options);
  }
  const tensors = new Map<LeafNode, Tensor>();
  for (const leaf of leaves)
    tensors.set(leaf, makeContiguous(Storage.meta(leaf.meta.nbytes), leaf.meta.shape, leaf.meta.dtype));
  return built(node, tensors, device, options);
}

function mappedTensors(node: TreeNode, filled: readonly LeafNode[], storages: readonly Storage[]) {
  const tensors = new Map<LeafNode, Tensor>();
  for (const [i, leaf] of filled.entries()) {
    tensors.set(leaf, MemoryMappedTensor._over(storages[i] as Storage, leaf.meta.shape, leaf.meta.dtype));
  }
  for (const leaf of leavesOf(node)) {
    if (leaf.meta.nbytes === 0)
      tensors.set(leaf, MemoryMappedTensor._over(Storage.allocate(0), leaf.meta.shape, leaf.meta.dtype));
  }
  return tensors;
}

function built(node: TreeNode, tensors: ReadonlyMap<LeafNode, Tensor>, device: Device, options: LoadOptions): Td {
  return buildTree(node, { tensors, device, pickles: options.pickles ?? "refuse", onDisk: true });
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
