// Every way of writing that replaces what was there, in one table for all tests of durability.
import "../../src/install.ts";
import { readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { convert } from "../../src/cli/convert.ts";
import { copyMappedFiles } from "../../src/io/disk/tensor-bytes.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import { loadNpy, saveNpy, saveNpyAsync } from "../../src/io/numpy/npy.ts";
import { saveNpz, saveNpzAsync } from "../../src/io/numpy/npz.ts";
import { loadNpz } from "../../src/io/numpy/npz-load.ts";
import { loadSafetensors, saveSafetensors, saveSafetensorsAsync } from "../../src/io/safetensors/safetensors.ts";
import { Snapshot, StateDict } from "../../src/io/snapshot/snapshot.ts";
import { loadTorch } from "../../src/io/torch/torch-file.ts";
import { saveTorch, saveTorchAsync } from "../../src/io/torch/torch-save.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { fromConsolidated, fromSafetensors, TensorDict, toSafetensors } from "../../src/tensordict/index.ts";

/** Where something is written, and how much. */
export interface Version {
  /** What every element holds. */
  value: number;
  /** Elements of each tensor. */
  count: number;
  fsync?: boolean;
}

export interface Writer {
  name: string;
  /** The name of the file or directory. */
  target: string;
  write(path: string, version: Version): void | Promise<void>;
  /** The tensors that were written. */
  read(path: string): Tensor[];
  /** False: files are written over one by one, as Python's library does it. */
  whole: boolean;
  /** False: what is there already is refused. */
  replaces?: boolean;
  /** True: all is written before the first file is replaced, but then they are replaced one by one. */
  oneByOne?: boolean;
  /** True when its tensors are views of a mapped file. */
  mapped: boolean;
}

export function full({ value, count }: Version): Tensor {
  return zeros([count]).add_(value);
}

export function collection(version: Version): Td {
  return new TensorDict({ a: full(version), n: { b: full(version) }, s: `text ${version.value}` }) as unknown as Td;
}

/** Its tensors. */
export function leaves(td: unknown): Tensor[] {
  const held = td as Td;
  return [held.get("a") as Tensor, held.get(["n", "b"]) as Tensor];
}

const tensors = (version: Version) => ({ a: full(version), b: full(version) });
const ofObject = (held: Record<string, unknown>) => [held.a as Tensor, held.b as Tensor];
const loadTd = (path: string) => leaves(TensorDict.loadMemmap(path));

function snapshotOf(version: Version): StateDict {
  return new StateDict({ ...tensors(version), value: version.value });
}

function ofSnapshot(path: string): Tensor[] {
  const snapshot = new Snapshot(path);
  return ["a", "b"].map((key) => snapshot.readObject(`0/state/${key}`) as Tensor);
}

function ofH5(path: string): Tensor[] {
  using held = TensorDict.fromH5(path);
  return leaves(held).map((tensor) => tensor.clone());
}

/** `zensor convert --force` from a directory that is made beside the working directory. */
async function converted(path: string, version: Version): Promise<void> {
  const source = join(process.env.ZENSOR_DURABILITY_SPARE as string, `source-${process.pid}`);
  rmSync(source, { recursive: true, force: true });
  collection(version).memmap(source);
  try {
    await convert(source, path, { force: true, quiet: true, lossy: true });
  } finally {
    copyMappedFiles(false);
    rmSync(source, { recursive: true, force: true });
  }
}

const ALL: Writer[] = [
  {
    name: "memmap",
    target: "plain",
    write: (path, version) => void collection(version).memmap(path),
    read: loadTd,
    whole: false,
    mapped: true,
  },
  {
    name: "memmap atomic",
    target: "atomic",
    write: (path, version) => void collection(version).memmap(path, { atomic: true }),
    read: loadTd,
    whole: true,
    mapped: true,
  },
  {
    name: "memmapAsync atomic",
    target: "atomic-later",
    write: async (path, version) => void (await collection(version).memmapAsync(path, { atomic: true })),
    read: loadTd,
    whole: true,
    mapped: true,
  },
  {
    name: "memmapAsync",
    target: "plain-later",
    write: async (path, version) =>
      void (await collection(version).memmapAsync(path, { fsync: version.fsync === true })),
    read: loadTd,
    whole: true,
    oneByOne: true,
    mapped: true,
  },
  {
    name: "archive",
    target: "archive.tdz",
    write: (path, version) => void collection(version).memmap(path, { fsync: version.fsync === true }),
    read: loadTd,
    whole: true,
    mapped: true,
  },
  {
    name: "archive, in the background",
    target: "later.tdz",
    write: async (path, version) => void (await collection(version).memmapAsync(path)),
    read: loadTd,
    whole: true,
    mapped: true,
  },
  {
    name: "consolidate",
    target: "consolidated.bin",
    write: (path, version) => void collection(version).consolidate({ filename: path, fsync: version.fsync === true }),
    read: (path) => leaves(fromConsolidated(path)),
    whole: true,
    mapped: true,
  },
  {
    name: "consolidateAsync",
    target: "later.bin",
    write: async (path, version) =>
      void (await collection(version).consolidateAsync({ filename: path, fsync: version.fsync === true })),
    read: (path) => leaves(fromConsolidated(path)),
    whole: true,
    mapped: true,
  },
  {
    name: "toSafetensors",
    target: "td.safetensors",
    write: (path, version) => toSafetensors(collection(version), path, { fsync: version.fsync === true }),
    read: (path) => leaves(fromSafetensors(path)),
    whole: true,
    mapped: true,
  },
  {
    name: "saveSafetensors",
    target: "plain.safetensors",
    write: (path, version) => saveSafetensors(tensors(version), path, { fsync: version.fsync === true }),
    read: (path) => ofObject(loadSafetensors(path)),
    whole: true,
    mapped: true,
  },
  {
    name: "saveSafetensorsAsync",
    target: "later.safetensors",
    write: (path, version) => saveSafetensorsAsync(tensors(version), path),
    read: (path) => ofObject(loadSafetensors(path)),
    whole: true,
    mapped: true,
  },
  {
    name: "saveNpy",
    target: "one.npy",
    write: (path, version) => saveNpy(path, full(version), { fsync: version.fsync === true }),
    read: (path) => [loadNpy(path)],
    whole: true,
    mapped: true,
  },
  {
    name: "saveNpyAsync",
    target: "later.npy",
    write: (path, version) => saveNpyAsync(path, full(version), { fsync: version.fsync === true }),
    read: (path) => [loadNpy(path)],
    whole: true,
    mapped: true,
  },
  {
    name: "saveNpzAsync",
    target: "later.npz",
    write: (path, version) => saveNpzAsync(path, tensors(version), { fsync: version.fsync === true }),
    read: (path) => ofObject(loadNpz(path)),
    whole: true,
    mapped: false,
  },
  {
    name: "saveNpz",
    target: "two.npz",
    write: (path, version) => saveNpz(path, tensors(version), { fsync: version.fsync === true }),
    read: (path) => ofObject(loadNpz(path)),
    whole: true,
    // Its tensors are not aligned: they are copied.
    mapped: false,
  },
  {
    name: "saveTorch",
    target: "now.pt",
    write: (path, version) => saveTorch(tensors(version), path, { fsync: version.fsync === true }),
    read: (path) => ofObject(loadTorch(path)),
    whole: true,
    mapped: true,
  },
  {
    name: "saveTorchAsync",
    target: "later.pt",
    write: (path, version) => saveTorchAsync(tensors(version), path),
    read: (path) => ofObject(loadTorch(path)),
    whole: true,
    mapped: true,
  },
  {
    name: "Snapshot.take",
    target: "snapshot",
    write: (path, version) =>
      void Snapshot.take({ path, appState: { state: snapshotOf(version) }, fsync: version.fsync === true }),
    read: ofSnapshot,
    whole: true,
    replaces: false,
    mapped: false,
  },
  {
    name: "Snapshot.asyncTake",
    target: "later-snapshot",
    write: async (path, version) => {
      const appState = { state: snapshotOf(version) };
      const pending = await Snapshot.asyncTake({ path, appState, fsync: version.fsync === true });
      await pending.wait();
    },
    read: ofSnapshot,
    whole: true,
    replaces: false,
    mapped: false,
  },
  {
    name: "toH5",
    target: "file.h5",
    write: (path, version) => {
      using made = collection(version).toH5(path);
      made.close();
    },
    read: ofH5,
    whole: true,
    mapped: false,
  },
  {
    name: "toH5Async",
    target: "later.h5",
    write: async (path, version) => {
      using made = await collection(version).toH5Async(path);
      made.close();
    },
    read: ofH5,
    whole: true,
    mapped: false,
  },
  ...["dir", "file.tdz", "file.safetensors", "file.npz", "file.pt"].map((name) => ({
    name: `convert to ${name}`,
    target: `converted-${name}`,
    write: converted,
    read: (path: string): Tensor[] => {
      if (name === "file.safetensors") return leaves(fromSafetensors(path));
      const held = name === "file.npz" ? loadNpz(path) : name === "file.pt" ? loadTorch(path) : loadTd(path);
      if (Array.isArray(held)) return held;
      const found: Tensor[] = [];
      const collect = (value: unknown): void => {
        if (value !== null && typeof value === "object" && "_storage" in value) found.push(value as Tensor);
        else if (value instanceof Map) for (const item of value.values()) collect(item);
        else if (value !== null && typeof value === "object" && "_keys" in value) found.push(...leaves(value));
        else if (value !== null && typeof value === "object") for (const item of Object.values(value)) collect(item);
      };
      collect(held);
      return found;
    },
    whole: true,
    mapped: name !== "file.npz",
  })),
];

/** The ways of writing that work on this machine. */
export const WRITERS = ALL.filter(({ name }) => !name.startsWith("toH5") || hdf5Engine() !== null);

/** The value that every element holds; a mixture is an error. */
export function valueIn(tensors: readonly Tensor[]): number {
  const value = tensors[0]?.at(0).item() as number;
  for (const tensor of tensors) {
    if (tensor.eq(value).all().item() !== true) throw new Error("a mixture of several versions");
  }
  if (tensors.length === 0) throw new Error("no tensors");
  return value;
}

/** All files below a directory with their bytes, and the empty directories. */
export function contentOf(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (path: string) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const full = join(path, entry.name);
      const name = relative(root, full);
      if (entry.isDirectory()) {
        found[`${name}/`] = "";
        visit(full);
      } else if (entry.isSymbolicLink()) found[name] = `-> ${readlinkSync(full)}`;
      else found[name] = Bun.hash(readFileSync(full)).toString(16);
    }
  };
  visit(root);
  return found;
}
