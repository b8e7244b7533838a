// Loads memory-mapped directories and archives of them: the structure is read at once, the bytes of tensors when they
// are used.

import { guarded, OSError } from "../../io/base/errors.ts";
import { absolutePath } from "../../io/base/places.ts";
import { runSteps, runStepsLater, type Steps } from "../../io/base/steps.ts";
import type { BackgroundOptions } from "../../io/disk/file-jobs.ts";
import type { FolderOptions } from "../../io/disk/folder.ts";
import { type MapRequest, mappingFiles } from "../../io/disk/mapping.ts";
import { type PlaceOptions, placeOf } from "../../io/disk/placing.ts";
import { unreplaced } from "../../io/disk/unreplaced.ts";
import { DirectorySource, isLinkError } from "../../io/memmap/directory-source.ts";
import { type ReadOptions, readingTree } from "../../io/memmap/memmap-read.ts";
import { type LeafNode, leavesOf, type TreeNode } from "../../io/memmap/tree.ts";
import { statSync } from "../../runtime/node.ts";
import { CPU, type Device } from "../../tensor/device.ts";
import { ValueError } from "../../tensor/errors.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, Tensor } from "../../tensor/tensor.ts";
import { isLazy, requireUnlocked, type Td } from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { loadArchive } from "./archive-load.ts";
import { MemoryMappedTensor } from "./mapped-tensor.ts";
import { placingTd } from "./placing.ts";
import { buildTree, type PickleChoice } from "./tree-load.ts";

/** How a directory is loaded. */
export interface LoadOptions extends PlaceOptions, FolderOptions {
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
  /** Most bytes of all tensors of an archive that is compressed; by default 1 GiB, or 200 times the archive. */
  maxBytes?: number;
}

const EACCES = 13;
const EROFS = 30;

/** What is to be mapped: a tensor without elements has no file. */
function requestsFor(leaves: readonly LeafNode[], noFollow: boolean): MapRequest[] {
  const filled = leaves.filter((leaf) => leaf.meta.nbytes > 0);
  return filled.map((leaf) => ({ path: leaf.path, nbytes: leaf.meta.nbytes, noFollow }));
}

/** How files are mapped that could not be mapped for writing. */
function modeAfter(error: unknown, { mode }: LoadOptions): "r" {
  if (mode === undefined && error instanceof OSError && (error.errno === EACCES || error.errno === EROFS)) return "r";
  throw error;
}

function* mapping(
  leaves: readonly LeafNode[],
  source: DirectorySource,
  options: LoadOptions & BackgroundOptions,
): Steps<Storage[]> {
  if (source.followLinks) return yield* mappingRequests(requestsFor(leaves, false), options);
  try {
    return yield* mappingRequests(requestsFor(leaves, true), options);
  } catch (error) {
    if (!isLinkError(error)) throw error;
    source.requireInside(leaves.map(({ path }) => path));
    return yield* mappingRequests(requestsFor(leaves, false), options);
  }
}

function* mappingRequests(requests: readonly MapRequest[], options: LoadOptions & BackgroundOptions): Steps<Storage[]> {
  const { mode = "r+", numThreads = 1 } = options;
  try {
    return yield* mappingFiles(requests, mode, numThreads, options);
  } catch (error) {
    return yield* mappingFiles(requests, modeAfter(error, options), numThreads, options);
  }
}

function checkMode({ mode = "r" }: LoadOptions): void {
  if (mode !== "r" && mode !== "r+") throw new ValueError(`mode must be 'r', 'r+' or None, got '${String(mode)}'.`);
}

/** Loads what `prefix` holds. A directory that is replaced meanwhile (see `atomic`) is read again. */
export function loadTree(prefix: string, options: LoadOptions = {}): Td {
  return runSteps(loading(prefix, options));
}

/** `loadTree` in slices, with files opened by native threads; a signal leaves nothing open. */
export async function loadTreeAsync(prefix: string, options: LoadOptions & BackgroundOptions = {}): Promise<Td> {
  return await runStepsLater(loading(prefix, options), options.signal);
}

function* loading(prefix: string, options: LoadOptions & BackgroundOptions): Steps<Td> {
  checkMode(options);
  return given(yield* unreplaced(prefix, () => loadingOnce(prefix, options), options.signal), options);
}

function isFile(prefix: string): boolean {
  return guarded(prefix, () => statSync(prefix, { throwIfNoEntry: false })?.isDirectory()) === false;
}

function* loadingOnce(prefix: string, options: LoadOptions & BackgroundOptions): Steps<Td> {
  const target = placeOf(options);
  // An archive is one file, which is mapped in a moment.
  const td = isFile(prefix) ? loadArchive(prefix, target, options) : yield* loadingDirectory(prefix, target, options);
  return yield* placingTd(td, options, "loadMemmap");
}

function readOptions({ subpath, robustKey = true }: LoadOptions): ReadOptions {
  return { robustKey, ...(subpath === undefined ? {} : { subpath }) };
}

function* loadingDirectory(prefix: string, device: Device, options: LoadOptions & BackgroundOptions): Steps<Td> {
  const root = absolutePath(prefix);
  const source = new DirectorySource(root, options.followLinks);
  const node = yield* readingTree(source, root, readOptions(options));
  const leaves = leavesOf(node);
  if (device.type !== "meta") {
    const mapped = mappedTensors(leaves, yield* mapping(leaves, source, options));
    return built(node, mapped, CPU, options, source);
  }
  const tensors = new Map<LeafNode, Tensor>();
  for (const leaf of leaves)
    tensors.set(leaf, makeContiguous(Storage.meta(leaf.meta.nbytes), leaf.meta.shape, leaf.meta.dtype));
  return built(node, tensors, device, options, source);
}

/** The tensors of all leaves; `storages` are those of the leaves that have bytes, in their order. */
function mappedTensors(leaves: readonly LeafNode[], storages: readonly Storage[]): Map<LeafNode, Tensor> {
  const tensors = new Map<LeafNode, Tensor>();
  let used = 0;
  for (const leaf of leaves) {
    const { nbytes, shape, dtype } = leaf.meta;
    const storage = nbytes > 0 ? (storages[used++] as Storage) : Storage.allocate(0);
    tensors.set(leaf, MemoryMappedTensor._over(storage, shape, dtype));
  }
  return tensors;
}

function built(
  node: TreeNode,
  tensors: ReadonlyMap<LeafNode, Tensor>,
  device: Device,
  options: LoadOptions,
  source: DirectorySource,
): Td {
  return buildTree(node, { tensors, device, pickles: options.pickles ?? "refuse", onDisk: true, source });
}

function given(td: Td, { out }: LoadOptions): Td {
  if (out === undefined) return td;
  // What does not fit is found before the first change.
  requireChangeable(out, td);
  loadInto(out.clone(false) as Td, td);
  return loadInto(out, td);
}

/** Pairs of members that are filled by themselves; null where a stack is not filled from one like it. */
function memberPairs(out: Td, td: Td): [Td, Td][] | null {
  if (!isLazy(out) || !isLazy(td) || out.stackDim !== td.stackDim) return null;
  const { members } = td;
  return out.members.length === members.length ? out.members.map((member, i) => [member, members[i] as Td]) : null;
}

/** Throws if a level is locked that `loadInto` would change, which may lie below others that are not. */
function requireChangeable(out: Td, td: Td): void {
  const pairs = memberPairs(out, td);
  if (pairs !== null) {
    for (const [member, other] of pairs) requireChangeable(member, other);
    return;
  }
  let isChanged = [...out._keys()].some((key) => td._own(key) === undefined);
  for (const key of td._keys()) {
    const [own, entry] = [out._own(key), td._own(key) as Entry];
    if (isLevel(own) && isLevel(entry)) requireChangeable(own, entry);
    else isChanged = true;
  }
  if (isChanged) requireUnlocked(out);
}

// Levels that are there stay the objects they are; tensors are replaced.
function loadInto(out: Td, td: Td): Td {
  const pairs = memberPairs(out, td);
  if (pairs !== null) {
    for (const [member, other] of pairs) loadInto(member, other);
    return out;
  }
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
