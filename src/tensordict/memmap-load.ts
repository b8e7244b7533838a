// Loads memory-mapped directories: the structure is read at once, the bytes of tensors when they are used.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FormatError, guarded, OSError } from "../io/errors.ts";
import { type MapMode, mapFiles } from "../io/mapping.ts";
import {
  type DirectoryNode,
  type LeafNode,
  leavesOf,
  type NonTensorNode,
  type NonTensorStackNode,
  readDirectory,
} from "../io/memmap-read.ts";
import { toPlain } from "../io/python-json.ts";
import { CPU, type Device, type DeviceLike, toDevice } from "../tensor/device.ts";
import { RuntimeError } from "../tensor/errors.ts";
import { SCALAR_SIZE, Size } from "../tensor/size.ts";
import { Storage } from "../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../tensor/tensor.ts";
import { classByName } from "./class-registry.ts";
import { startsWith } from "./convert.ts";
import { MemoryMappedTensor } from "./mapped-tensor.ts";
import { followFile } from "./memmap-save.ts";
import { make, type NewState, type Td, toNames } from "./state.ts";
import type { Entry } from "./types.ts";
import { regularValues } from "./values.ts";

/** How a directory is loaded. */
export interface LoadOptions {
  /** Move everything there; "meta" reads no bytes. */
  device?: DeviceLike | null;
  /** Load only this sub-tree. */
  subpath?: string | readonly string[];
  /** "r+" writes through, "r" keeps changes private; by default as the files allow. */
  mode?: MapMode;
  /** Threads that open files. */
  numThreads?: number;
  /** Receives the entries; what is not on disk is removed from it. */
  out?: Td;
  /** What to do with Python pickles: refuse them (default), or keep their bytes unread. */
  pickles?: "refuse" | "keep";
}

/** Bytes of a Python pickle that were kept but not interpreted. */
export class PickledData {
  constructor(
    readonly bytes: Uint8Array,
    readonly path: string,
  ) {}
}

interface Context {
  tensors: Map<LeafNode, Tensor>;
  device: Device;
  pickles: "refuse" | "keep";
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

/** Loads what `prefix` holds. */
export function loadTree(prefix: string, options: LoadOptions = {}): Td {
  const node = readDirectory(prefix, options.subpath === undefined ? {} : { subpath: options.subpath });
  const device = options.device === undefined || options.device === null ? CPU : toDevice(options.device);
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
  const td = build(
    node,
    { tensors, device: device.type === "meta" ? device : CPU, pickles: options.pickles ?? "refuse" },
    null,
  );
  const placed = device.type === "cuda" ? td.to(device) : td;
  return options.out === undefined ? placed : loadInto(options.out, placed);
}

function loadInto(out: Td, td: Td): Td {
  for (const key of [...out._keys()]) if (td._own(key) === undefined) out.del_(key);
  for (const key of td._keys()) out.set(key, td._own(key));
  return out;
}

function build(node: DirectoryNode, context: Context, parent: NewState | null): Td {
  switch (node.kind) {
    case "tensordict": {
      const state = levelState(node.batchSize, node.names, context);
      const td = make.tensordict(entriesOf(node.entries, context, state, node.path), state);
      td._disk = { path: node.path, late: new Set(), robustKey: true };
      return td;
    }
    case "lazy": {
      const td = make.lazy(
        node.members.map((member) => build(member, context, null)),
        node.stackDim,
        node.stackDimName,
      );
      td._disk = { path: node.path, late: new Set(), robustKey: true };
      return td;
    }
    case "tensorclass": {
      const found = classByName(node.className);
      if (found === undefined) {
        throw new RuntimeError(
          `Could not find the class ${node.className} saved in ${node.path}. Import the module that defines it, ` +
            `or call ${node.className}.loadMemmap() instead of TensorDict.loadMemmap().`,
        );
      }
      const state = levelState(node.inner.batchSize, node.inner.names, context);
      const td = found._wrap(entriesOf(node.inner.entries, context, state, node.inner.path), state, node.qualified);
      td._disk = { path: node.path, late: new Set(), robustKey: true };
      return td;
    }
    case "nonTensor":
      return buildValue(node, context, parent);
    case "nonTensorStack":
      return buildStack(node, context);
  }
}

function levelState(
  batchSize: readonly number[],
  names: readonly (string | null)[] | null,
  context: Context,
): NewState {
  return {
    batchSize: batchSize.length === 0 ? SCALAR_SIZE : Size.fromList(batchSize),
    device: context.device,
    names: toNames(names, batchSize.length),
  };
}

function entriesOf(
  nodes: ReadonlyMap<string, LeafNode | DirectoryNode>,
  context: Context,
  state: NewState,
  path: string,
): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const [key, node] of nodes) {
    const entry = node.kind === "leaf" ? (context.tensors.get(node) as Tensor) : build(node, context, state);
    const shape = node.kind === "leaf" ? node.meta.shape : (entry as Td)._batchSize;
    if (!startsWith(shape, state.batchSize)) {
      throw new FormatError(
        `entry ${JSON.stringify(key)} of shape [${shape.join(", ")}] does not begin with the batch ` +
          `size ${state.batchSize}`,
        join(path, "meta.json"),
      );
    }
    entries.set(key, entry);
  }
  return entries;
}

function readPickle(path: string, context: Context): PickledData {
  if (context.pickles === "refuse") {
    throw new RuntimeError(
      `Refusing to load pickled non-tensor data from ${path}: only Python can read it. ` +
        'Pass { pickles: "keep" } to load everything else and keep its bytes unread.',
      { code: "pickle" },
    );
  }
  return new PickledData(
    guarded(path, () => readFileSync(path)),
    path,
  );
}

function buildValue(node: NonTensorNode, context: Context, parent: NewState | null): Td {
  const state = { batchSize: parent?.batchSize ?? Size.fromList([]), device: context.device, names: null };
  const value = node.pickle === null ? toPlain(node.data) : readPickle(node.pickle, context);
  const td = make.nonTensor(value, state, node.className);
  const held = td as unknown as { _raw: unknown; _rawFor: unknown };
  held._raw = node.pickle === null ? node.data : undefined;
  held._rawFor = value;
  followFile(td, node.path);
  return td;
}

function buildStack(node: NonTensorStackNode, context: Context): Td {
  if (node.pickle !== null) {
    const kept = readPickle(node.pickle, context);
    return make.nonTensor(kept, { batchSize: Size.fromList([]), device: context.device, names: null }, "NonTensorData");
  }
  if (!Array.isArray(node.data))
    throw new FormatError("data of a NonTensorStack is not a list", join(node.path, "meta.json"));
  // The file does not tell nested stacks from values that are lists: regular lists are stacks, as in Python.
  const { values, shape } = regularValues(toPlain(node.data));
  const td = make.nonTensorStack(values, { batchSize: shape, device: context.device, names: null }, node.stackDim);
  const held = td as unknown as { _raw: unknown; _rawFor: unknown; values_: unknown };
  held._raw = node.data;
  held._rawFor = held.values_;
  followFile(td, node.path);
  return td;
}
