// Every reader that says where its tensors go, over one set of files.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "../../src/index.ts";

const engine = z.io.hdf5Engine();

type Tensors = Record<string, z.Tensor>;

/** Reads a file of a folder to a place. */
export type Loader = (folder: string, options: { device?: z.DeviceLike | null }) => Tensors;

/** Sizes that are no multiple of anything, and one of no bytes. */
export function samples(): Tensors {
  return {
    a: z.arange(35).view(5, 7),
    flag: z.tensor([true, false, true]),
    half: z.tensor([1.5, -2, 0.25], { dtype: "float16" }),
    none: z.zeros(0, 3),
    d: z.tensor([1, 2, 3], { dtype: "float64" }),
  };
}

export function writeSamples(folder: string): void {
  const tensors = samples();
  const td = () => new z.TensorDict({ ...samples(), n: { b: z.ones(2) }, word: "x" }, []);
  z.saveSafetensors(tensors, join(folder, "a.safetensors"));
  z.toSafetensors(td(), join(folder, "td.safetensors"));
  z.io.saveNpz(join(folder, "a.npz"), tensors);
  z.io.saveNpz(join(folder, "small.npz"), tensors, { compressed: true });
  z.io.saveNpy(join(folder, "a.npy"), (tensors.a as z.Tensor).t());
  z.save(tensors, join(folder, "a.pt"));
  td().memmap(join(folder, "dir"));
  td().memmap(join(folder, "td.tdz"));
  td().consolidate({ filename: join(folder, "one.td") });
  if (engine !== null) new z.TensorDict({ a: tensors.a, d: tensors.d }, []).toH5(join(folder, "a.h5")).close();
  for (const name of ["all", "blocks"]) {
    copyFileSync(join(import.meta.dir, `../fixtures/gguf/${name}.gguf`), join(folder, `${name}.gguf`));
  }
}

const tensorsOf = (td: z.TensorDictBase): Tensors =>
  Object.fromEntries([...td.items(true, true)].map(([key, value]) => [String(key), value as z.Tensor]));

function persistent(folder: string, options: Parameters<Loader>[1]): Tensors {
  const file = z.TensorDict.fromH5(join(folder, "a.h5"), options);
  try {
    return { a: file.get("a") as z.Tensor, d: file.get("d") as z.Tensor };
  } finally {
    file.close();
  }
}

function gguf(folder: string, options: Parameters<Loader>[1]): Tensors {
  const plain = z.io.loadGguf(join(folder, "all.gguf"), options);
  const blocks = new z.io.GgufFile(join(folder, "blocks.gguf"), options);
  return { ...plain.tensors, one: plain.tensor("int32"), ...blocks.tensors, numbers: blocks.dequantize("Q8_0") };
}

const open = (folder: string, options: Parameters<Loader>[1]) =>
  new z.io.SafetensorsFile(join(folder, "a.safetensors"), options);

export const LOADERS: Readonly<Record<string, Loader>> = {
  loadSafetensors: (folder, options) => z.loadSafetensors(join(folder, "a.safetensors"), options),
  SafetensorsFile: (folder, options) => ({
    ...Object.fromEntries(open(folder, options).tensors()),
    one: open(folder, options).tensor("a"),
  }),
  fromSafetensors: (folder, options) => tensorsOf(z.fromSafetensors(join(folder, "td.safetensors"), options)),
  loadNpy: (folder, options) => ({ a: z.io.loadNpy(join(folder, "a.npy"), options) }),
  loadNpz: (folder, options) => z.io.loadNpz(join(folder, "a.npz"), options),
  "loadNpz, compressed": (folder, options) => z.io.loadNpz(join(folder, "small.npz"), options),
  loadTorch: (folder, { device = null }) => z.io.loadTorch(join(folder, "a.pt"), { mapLocation: device }),
  "load, a .pt file": (folder, options) => z.load(join(folder, "a.pt"), options),
  "load, a directory": (folder, options) => tensorsOf(z.load(join(folder, "dir"), options)),
  loadMemmap: (folder, options) => tensorsOf(z.TensorDict.loadMemmap(join(folder, "dir"), options)),
  "loadMemmap, an archive": (folder, options) => tensorsOf(z.TensorDict.loadMemmap(join(folder, "td.tdz"), options)),
  fromConsolidated: (folder, options) => tensorsOf(z.TensorDict.fromConsolidated(join(folder, "one.td"), options)),
  ...(engine === null ? {} : { fromH5: persistent }),
  loadGguf: gguf,
};
