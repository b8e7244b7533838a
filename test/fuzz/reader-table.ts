// The readers of files: for each a few small files that are good, and how all of such a file is read. HDF5, whose
// library may end the process for reasons of its own, is damaged in test/io/hdf5.test.ts.
import "../../src/install.ts";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as io from "../../src/io/index.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { fromSafetensors, type PickleChoice, TensorDict, toSafetensors } from "../../src/tensordict/index.ts";
import consolidated from "../fixtures/archives/consolidated.json" with { type: "json" };
import numpy from "../fixtures/archives/numpy.json" with { type: "json" };
import zips from "../fixtures/archives/zip.json" with { type: "json" };
import examples from "../fixtures/tensordict/examples.json" with { type: "json" };
import snapshots from "../fixtures/tensordict/snapshots.json" with { type: "json" };
import pickles from "../fixtures/torch/pickles.json" with { type: "json" };
import type { Choices } from "./choices.ts";
import type { Files } from "./damage.ts";
import { MORE_READERS } from "./more-readers.ts";
import { collection, filesBelow, numbers, one, type Reader, written } from "./reader-helpers.ts";

const FIXTURES = join(import.meta.dir, "../fixtures");

function fixtures(folder: string, name: string, accept: (file: string) => boolean): Files[] {
  const found = readdirSync(join(FIXTURES, folder)).filter(accept).sort();
  return found.map((file) => one(name, readFileSync(join(FIXTURES, folder, file))));
}

function decodedFiles(files: Record<string, string>): Files {
  return new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text, "base64")]));
}

const saved = (bytes: { stack: boolean }) => {
  const td = collection();
  return bytes.stack ? td : (td.exclude("stack") as Td);
};

/** What is read under each key; keys whose reading is refused are left out, unless there are no others. */
function readEach(keys: readonly string[], read: (key: string) => unknown): unknown[] {
  const values: unknown[] = [];
  let refused: unknown = null;
  for (const key of keys) {
    try {
      values.push(read(key));
    } catch (error) {
      // What is no error of ours goes on to the caller, who says so.
      if (!(error instanceof Error && "code" in error)) throw error;
      refused = error;
    }
  }
  if (values.length === 0 && refused !== null) throw refused;
  return values;
}

function pickleChoice(choices: Choices): PickleChoice {
  return choices.pick(["refuse", "keep", "plain", "plain"] as const);
}

function snapshotValues(path: string): unknown {
  const snapshot = new io.Snapshot(path);
  const keys = Object.keys(snapshot.manifest);
  const values = readEach(keys, (key) => snapshot.readObject(key));
  const objects = [...new Set(keys.map((key) => key.split("/")[1] ?? ""))];
  const states = readEach(objects, (key) => {
    const state = new io.StateDict({});
    snapshot.restore({ appState: { [key]: state } });
    return state.values;
  });
  return [values, states];
}

/** Every reader of files of tensors. */
export const READERS: readonly Reader[] = [
  {
    name: "directory",
    file: null,
    container: "none",
    cases: 1000,
    seeds(room) {
      const own = join(room, "td");
      mkdirSync(own);
      collection().memmap(own);
      const named = ["plain", "nested", "lazy_in_td", "nontensor_stack", "odd_keys", "metadata", "tensorclass_in_td"];
      const all = examples as unknown as Record<string, { files: Record<string, string> }>;
      return [filesBelow(own), ...named.map((name) => decodedFiles(all[name]?.files ?? {}))];
    },
    read: (path, choices) => TensorDict.loadMemmap(path, { pickles: pickleChoice(choices) }),
  },
  {
    name: "tdz",
    file: "a.tdz",
    container: "zip",
    cases: 1700,
    seeds(room) {
      const own = written(room, "a.tdz", (path) => collection().memmap(path));
      const named = ["archive.tdz", "archive_deflate.tdz", "lazy12.tdz", "odd.tdz"] as const;
      return [own, ...named.map((name) => one("a.tdz", Buffer.from(zips[name], "base64")))];
    },
    read: (path, choices) => TensorDict.loadMemmap(path, { pickles: pickleChoice(choices) }),
  },
  {
    name: "consolidated",
    file: "a.bin",
    container: "tail",
    cases: 3000,
    seeds(room) {
      const own = written(room, "a.bin", (path) => void collection().consolidate({ filename: path }));
      return [own, ...Object.values(consolidated).map((text) => one("a.bin", Buffer.from(text, "base64")))];
    },
    read: (path) => TensorDict.fromConsolidated(path),
    unreadable: /a level without a class|nested tensor, which zensor does not have/,
  },
  {
    name: "safetensors",
    file: "a.safetensors",
    container: "length",
    cases: 3500,
    seeds(room) {
      const name = "a.safetensors";
      const tensors = { a: numbers(6, "float64").view(2, 3), b: numbers(3, "bool"), c: numbers(0, "int8") };
      return [
        written(room, name, (path) => io.saveSafetensors(tensors, path, { metadata: { made: "here" } })),
        written(room, name, (path) => toSafetensors(saved({ stack: false }), path)),
        ...fixtures("safetensors", name, () => true),
      ];
    },
    read: (path) => {
      const plain = io.loadSafetensors(path);
      return new io.SafetensorsFile(path).metadata.has("tensordict") ? [plain, fromSafetensors(path)] : plain;
    },
  },
  {
    name: "torch",
    file: "a.pt",
    container: "zip",
    cases: 3000,
    seeds(room) {
      const value = { a: numbers(6, "float32").view(2, 3), td: saved({ stack: true }), list: [1, "two", { x: 3n }] };
      const own = written(room, "a.pt", (path) => io.saveTorch(value, path));
      return [own, ...fixtures("torch", "a.pt", (file) => /^(?!legacy).*\.pt$/.test(file))];
    },
    read: (path) => io.loadTorch(path),
    unreadable: /which is no data|quantized tensors|sparse tensors/,
  },
  {
    name: "torch-legacy",
    file: "a.pt",
    container: "pickle",
    cases: 5000,
    seeds: () => fixtures("torch", "a.pt", (file) => file.startsWith("legacy")),
    read: (path) => io.loadTorch(path),
  },
  {
    name: "pickle",
    file: "a.pkl",
    container: "pickle",
    cases: 8000,
    seeds: () =>
      Object.values(pickles as Record<string, string[]>)
        .flat()
        .map((text) => one("a.pkl", Buffer.from(text, "base64")))
        .filter((files) => (files.get("a.pkl") as Uint8Array).length < 4096),
    read: (path) => io.readPlainPickle(readFileSync(path), path),
  },
  {
    name: "npy",
    file: "a.npy",
    container: "npy",
    cases: 6000,
    seeds(room) {
      const own = written(room, "a.npy", (path) => io.saveNpy(path, numbers(6, "int16").view(3, 2).t()));
      const arrays = numpy.arrays as Record<string, { file: string }>;
      return [own, ...Object.values(arrays).map(({ file }) => one("a.npy", Buffer.from(file, "base64")))].filter(
        (files) => files.get("a.npy")?.[6] === 1,
      );
    },
    read: (path) => io.loadNpy(path),
  },
  {
    name: "npz",
    file: "a.npz",
    container: "zip",
    cases: 3000,
    seeds(room) {
      const arrays = { a: numbers(6, "int32").view(2, 3), b: numbers(300, "float64") };
      return [
        written(room, "a.npz", (path) => io.saveNpz(path, arrays)),
        written(room, "a.npz", (path) => io.saveNpz(path, arrays, { compressed: true })),
        one("a.npz", Buffer.from(zips["numpy.npz"], "base64")),
        one("a.npz", Buffer.from(zips["numpy-compressed.npz"], "base64")),
      ];
    },
    read: (path) => io.loadNpz(path),
  },
  {
    name: "gguf",
    file: "a.gguf",
    container: "none",
    cases: 500,
    seeds: () => fixtures("gguf", "a.gguf", () => true),
    read: (path) => {
      const file = io.loadGguf(path);
      return [file.metadata, file.tensors, readEach(file.keys(), (name) => file.dequantize(name))];
    },
  },
  {
    name: "snapshot",
    file: null,
    container: "none",
    cases: 2500,
    seeds(room) {
      const own = join(room, "snapshot");
      const state = new io.StateDict({ a: numbers(4, "float32"), n: 3, list: [numbers(2, "int8"), "x"] });
      io.Snapshot.take({ path: own, appState: { state } });
      const all = snapshots as unknown as Record<string, Record<string, string>>;
      return [filesBelow(own), ...Object.values(all).map(decodedFiles)].filter((files) => files.size > 0);
    },
    read: snapshotValues,
  },
  ...MORE_READERS,
];
