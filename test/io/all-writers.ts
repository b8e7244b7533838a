// Every function that writes a file or a directory, in one table: a tree goes in, and comes back.
import "../../src/install.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import { saveNpz, saveNpzAsync } from "../../src/io/numpy/npz.ts";
import { loadNpz } from "../../src/io/numpy/npz-load.ts";
import { loadSafetensors, saveSafetensors, saveSafetensorsAsync } from "../../src/io/safetensors/safetensors.ts";
import { Snapshot, StateDict } from "../../src/io/snapshot/snapshot.ts";
import { loadTorch } from "../../src/io/torch/torch-file.ts";
import { saveTorch, saveTorchAsync } from "../../src/io/torch/torch-save.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { toSafetensorsAsync } from "../../src/tensordict/disk/safetensors.ts";
import { fromConsolidated, fromSafetensors, TensorDict, toSafetensors } from "../../src/tensordict/index.ts";

/** Values by key, nested in objects without a prototype. */
export type Tree = { [key: string]: unknown };

export interface TreeWriter {
  name: string;
  /** The name of the file or directory. */
  target: string;
  write(tree: Tree, path: string): unknown;
  read(path: string): Tree;
  /** True where a tree has one level of tensors only. */
  flat?: boolean;
  /** True where what is there already is refused. */
  once?: boolean;
  /** True where files are written over one by one, so that a disk that fails midway leaves some of both. */
  oneByOne?: boolean;
}

const td = (tree: Tree) => new TensorDict(tree as never) as unknown as Td;

/** A collection as objects without a prototype. */
export function treeOf(value: unknown): unknown {
  if (value instanceof Map) {
    const made: Tree = Object.create(null);
    for (const [key, item] of value) made[key as string] = treeOf(item);
    return made;
  }
  if (value instanceof Tensor || value === null || typeof value !== "object") return value;
  if ("_kind" in value) {
    const held = value as Td;
    if (held._kind === "lazy") return (held as unknown as { members: Td[] }).members.map(treeOf);
    if (held._kind === "nonTensor") return (held as unknown as { data: unknown }).data;
    const made: Tree = Object.create(null);
    for (const key of held._keys()) made[key] = treeOf(held._own(key));
    return made;
  }
  if (Array.isArray(value)) return value;
  const made: Tree = Object.create(null);
  for (const [key, item] of Object.entries(value)) made[key] = treeOf(item);
  return made;
}

const loadTd = (path: string) => treeOf(TensorDict.loadMemmap(path)) as Tree;

function readSnapshot(path: string): Tree {
  const state = new StateDict({});
  new Snapshot(path).restore({ appState: { state } });
  return treeOf(state.stateDict()) as Tree;
}

function readH5(path: string): Tree {
  using held = TensorDict.fromH5(path);
  return treeOf(held.toTensorDict()) as Tree;
}

const ALL: TreeWriter[] = [
  {
    name: "memmap",
    target: "dir",
    write: (tree, path) => td(tree).memmap(path, { copyExisting: true }),
    read: loadTd,
    oneByOne: true,
  },
  {
    name: "memmap atomic",
    target: "atomic",
    write: (tree, path) => td(tree).memmap(path, { copyExisting: true, atomic: true }),
    read: loadTd,
  },
  {
    name: "memmapAsync",
    target: "later",
    write: (tree, path) => td(tree).memmapAsync(path, { copyExisting: true }),
    read: loadTd,
  },
  { name: "archive", target: "now.tdz", write: (tree, path) => td(tree).save(path), read: loadTd },
  {
    name: "compressed archive",
    target: "small.tdz",
    write: (tree, path) => td(tree).save(path, { compression: "deflate" }),
    read: loadTd,
  },
  { name: "archive later", target: "later.tdz", write: (tree, path) => td(tree).saveAsync(path), read: loadTd },
  {
    name: "consolidate",
    target: "now.consolidated",
    write: (tree, path) => td(tree).consolidate({ filename: path }),
    read: (path) => treeOf(fromConsolidated(path)) as Tree,
  },
  {
    name: "consolidateAsync",
    target: "later.consolidated",
    write: (tree, path) => td(tree).consolidateAsync({ filename: path }),
    read: (path) => treeOf(fromConsolidated(path)) as Tree,
  },
  {
    name: "toSafetensors",
    target: "td.safetensors",
    write: (tree, path) => toSafetensors(td(tree), path),
    read: (path) => treeOf(fromSafetensors(path)) as Tree,
  },
  {
    name: "toSafetensorsAsync",
    target: "td-later.safetensors",
    write: (tree, path) => toSafetensorsAsync(td(tree), path),
    read: (path) => treeOf(fromSafetensors(path)) as Tree,
  },
  {
    name: "saveSafetensors",
    target: "now.safetensors",
    write: (tree, path) => saveSafetensors(tree as never, path),
    read: (path) => loadSafetensors(path),
    flat: true,
  },
  {
    name: "saveSafetensorsAsync",
    target: "later.safetensors",
    write: (tree, path) => saveSafetensorsAsync(tree as never, path),
    read: (path) => loadSafetensors(path),
    flat: true,
  },
  {
    name: "saveNpz",
    target: "now.npz",
    write: (tree, path) => saveNpz(path, tree as never),
    read: (path) => loadNpz(path),
    flat: true,
  },
  {
    name: "compressed saveNpz",
    target: "small.npz",
    write: (tree, path) => saveNpz(path, tree as never, { compressed: true }),
    read: (path) => loadNpz(path),
    flat: true,
  },
  {
    name: "saveNpzAsync",
    target: "later.npz",
    write: (tree, path) => saveNpzAsync(path, tree as never),
    read: (path) => loadNpz(path),
    flat: true,
  },
  {
    name: "saveTorch",
    target: "now.pt",
    write: (tree, path) => saveTorch(tree, path),
    read: (path) => treeOf(loadTorch(path)) as Tree,
  },
  {
    name: "saveTorchAsync",
    target: "later.pt",
    write: (tree, path) => saveTorchAsync(tree, path),
    read: (path) => treeOf(loadTorch(path)) as Tree,
  },
  {
    name: "saveTorch of a TensorDict",
    target: "td.pt",
    write: (tree, path) => saveTorch(td(tree), path),
    read: (path) => treeOf(loadTorch(path)) as Tree,
  },
  {
    name: "Snapshot.take",
    target: "snapshot",
    write: (tree, path) => Snapshot.take({ path, appState: { state: new StateDict(tree) } }),
    read: readSnapshot,
    once: true,
  },
  {
    name: "Snapshot.asyncTake",
    target: "later-snapshot",
    write: async (tree, path) => {
      const pending = await Snapshot.asyncTake({ path, appState: { state: new StateDict(tree) } });
      await pending.wait();
    },
    read: readSnapshot,
    once: true,
  },
  { name: "toH5", target: "now.h5", write: (tree, path) => td(tree).toH5(path).close(), read: readH5 },
  {
    name: "toH5Async",
    target: "later.h5",
    write: async (tree, path) => (await td(tree).toH5Async(path)).close(),
    read: readH5,
  },
];

/** The ways of writing that work on this machine. */
export const TREE_WRITERS: readonly TreeWriter[] = ALL.filter(
  ({ name }) => !name.startsWith("toH5") || hdf5Engine() !== null,
);
