// Saves tensors that no disk has room for, in every way; prints what became of each. A limit on the size of files keeps
// a mistake small.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { arange, io, ones, type Tensor, TensorDict, tensordict } from "../../src/index.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";

const folder = process.argv[2] as string;
/** 2 ** 50 elements, in rows and in one, and many that are too large only together. */
const endless: Record<string, () => Record<string, Tensor>> = {
  "one row": () => ({ a: ones(1).expand(2 ** 50), b: arange(3) }),
  squares: () => ({ a: ones(1, 1).expand(2 ** 25, 2 ** 25), b: arange(3) }),
  "sixteen bytes": () => ({ a: ones([1], { dtype: "complex128" }).expand(2 ** 48), b: arange(3) }),
  many: () => Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`t${i}`, ones(1).expand(2 ** 42)])),
};
const td = (made: Record<string, Tensor>) => new TensorDict(made);
const ways: Record<string, (made: Record<string, Tensor>, path: string) => unknown> = {
  saveNpy: (made, path) => io.saveNpy(path, Object.values(made)[0] as Tensor),
  saveNpyAsync: (made, path) => io.saveNpyAsync(path, Object.values(made)[0] as Tensor),
  saveNpz: (made, path) => io.saveNpz(path, made),
  saveNpzAsync: (made, path) => io.saveNpzAsync(path, made),
  "saveNpz, compressed": (made, path) => io.saveNpz(path, made, { compressed: true }),
  "saveNpzAsync, compressed": (made, path) => io.saveNpzAsync(path, made, { compressed: true }),
  saveSafetensors: (made, path) => io.saveSafetensors(made, path),
  saveSafetensorsAsync: (made, path) => io.saveSafetensorsAsync(made, path),
  toSafetensors: (made, path) => tensordict.toSafetensors(td(made) as never, path),
  toSafetensorsAsync: (made, path) => tensordict.toSafetensorsAsync(td(made) as never, path),
  "memmap .tdz": (made, path) => td(made).memmap(`${path}.tdz`),
  "memmapAsync .tdz": (made, path) => td(made).memmapAsync(`${path}.tdz`),
  consolidate: (made, path) => td(made).consolidate({ filename: path }),
  consolidateAsync: (made, path) => td(made).consolidateAsync({ filename: path }),
  memmap: (made, path) => td(made).memmap(path),
  memmapAsync: (made, path) => td(made).memmapAsync(path),
  "memmap atomic": (made, path) => td(made).memmap(path, { atomic: true }),
  "Snapshot.take": (made, path) => io.Snapshot.take({ path, appState: { state: new io.StateDict(made) } }),
  "Snapshot.asyncTake": async (made, path) => {
    await (await io.Snapshot.asyncTake({ path, appState: { state: new io.StateDict(made) } })).wait();
  },
  ...(hdf5Engine() === null
    ? {}
    : {
        toH5: (made, path) => td(made).toH5(path).close(),
        toH5Async: async (made, path) => (await td(made).toH5Async(path)).close(),
      }),
};

for (const [name, save] of Object.entries(ways)) {
  for (const [what, make] of Object.entries(endless)) {
    // Of complex numbers a snapshot keeps pickles, which hold copies; no format of one array holds many.
    if (what === "sixteen bytes" && /Snapshot|afetensors/.test(name)) continue;
    let became = "saved";
    try {
      await save(make(), join(folder, "target"));
    } catch (error) {
      became = String((error as { code?: string }).code);
    }
    console.log(`${name}, ${what}: ${became}, left: ${readdirSync(folder).join()}`);
  }
}
