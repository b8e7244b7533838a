// Saving and loading in every format, beside the Python library that owns it: the 184 tensors of a Transformer (176 MB)
// and a thousand small ones.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { io, nn, randn, type Tensor, TensorDict } from "zensor";
import { type Case, loop, type Side } from "./case.ts";
import { benchFolder, saves } from "./saves.ts";

type State = Record<string, Tensor>;

/** Tensors by name, and the same as a TensorDict. */
interface Source {
  state: State;
  td: TensorDict;
}

const sources: Record<string, () => Source> = {
  transformer() {
    const td = TensorDict.fromModule(new nn.Transformer());
    return { td, state: td.stateDict() as unknown as State };
  },
  small() {
    const state: State = {};
    for (let i = 0; i < 1000; i++) state[`leaf${i}`] = randn(32, 4);
    return { td: new TensorDict(state, { batchSize: [] }), state };
  },
  array() {
    const state = { array: randn(25_000_000) };
    return { td: new TensorDict(state, { batchSize: [] }), state };
  },
};

const made = new Map<string, Source>();
function source(name: string): Source {
  const found = made.get(name) ?? (sources[name] as () => Source)();
  made.set(name, found);
  return found;
}

interface Format {
  /** Name of the file or folder. */
  file: string;
  /** Whose it is. */
  peer: string;
  save(source: Source, path: string): unknown;
  load(path: string): unknown;
}

const formats: Record<string, Format> = {
  memmap: {
    file: "td",
    peer: "tensordict",
    save: ({ td }, path) => td.memmap(path, { numThreads: 1 }),
    load: (path) => TensorDict.loadMemmap(path),
  },
  pt: {
    file: "file.pt",
    peer: "torch",
    save: ({ state }, path) => io.saveTorch(state, path),
    load: (path) => io.loadTorch(path),
  },
  safetensors: {
    file: "file.safetensors",
    peer: "safetensors",
    save: ({ state }, path) => io.saveSafetensors(state, path),
    load: (path) => io.loadSafetensors(path),
  },
  npz: {
    file: "file.npz",
    peer: "numpy",
    save: ({ state }, path) => io.saveNpz(path, state),
    load: (path) => io.loadNpz(path),
  },
  npy: {
    file: "file.npy",
    peer: "numpy",
    save: ({ state }, path) => io.saveNpy(path, state.array as Tensor),
    load: (path) => ({ array: io.loadNpy(path) }),
  },
  consolidated: {
    file: "file",
    peer: "tensordict",
    save: ({ td }, path) => td.consolidate({ filename: path }),
    load: (path) => TensorDict.fromConsolidated(path),
  },
  tdz: {
    file: "file.tdz",
    peer: "tensordict",
    save: ({ td }, path) => td.memmap(path),
    load: (path) => TensorDict.loadMemmap(path),
  },
};

function save(format: Format, name: string): Side {
  const tensors = source(name);
  return saves((folder) => format.save(tensors, join(folder, format.file)));
}

/** Loads a saved file, and does something with each tensor. */
function load(format: Format, name: string, use?: (tensor: Tensor) => unknown): Side {
  const folder = benchFolder();
  const path = join(folder, format.file);
  format.save(source(name), path);
  const body = () => {
    const loaded = format.load(path);
    if (use !== undefined) for (const tensor of Object.values(loaded as State)) use(tensor);
  };
  return { ...loop(body), dispose: () => rmSync(folder, { recursive: true, force: true }) };
}

function first(tensor: Tensor): unknown {
  return tensor.at(...tensor.shape.map(() => 0)).item();
}

function casesOf(kind: string, name: string): Case[] {
  const format = formats[kind] as Format;
  const { peer } = format;
  const one = (text: string, ours: () => Side): Case => ({
    name: `${kind} ${text}`,
    python: `formats: ${kind} ${text}`,
    peer,
    ours,
  });
  const saving = one(`save, ${name}`, () => save(format, name));
  // NumPy reads every array, and here they are mapped: a load alone would compare different things.
  if (peer === "numpy") {
    return [
      saving,
      one(`load, ${name}, first elements`, () => ({
        ...load(format, name, first),
        note: "ours maps what is aligned, theirs reads every array",
      })),
      one(`load, ${name}, sum`, () => load(format, name, (tensor) => tensor.sum())),
    ];
  }
  return [saving, one(`load, ${name}`, () => load(format, name))];
}

/** What formats of a special kind are tried with. */
const names: Record<string, string[]> = { npy: ["array"], pt: ["transformer", "small", "array"] };

export const cases: readonly Case[] = Object.keys(formats).flatMap((kind) =>
  (names[kind] ?? ["transformer", "small"]).flatMap((name) => casesOf(kind, name)),
);
