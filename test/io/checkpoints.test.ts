// Training checkpoints: what torch.load(weights_only=True) reads is read with all its types, and written with them.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findHdf5 } from "../../src/ffi/hdf5.ts";
import * as torch from "../../src/index.ts";
import { float, TensorDict } from "../../src/index.ts";
import { readPlainPickle } from "../../src/io/pickle/plain-pickle.ts";
import { Snapshot, StateDict } from "../../src/io/snapshot/snapshot.ts";
import { loadExactly } from "../../src/io/torch/torch-file.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import { torchGlobal } from "../../src/io/torch/torch-values.ts";
import { Size } from "../../src/tensor/size.ts";
import { NonTensorData } from "../../src/tensordict/index.ts";
import { pythonText } from "./python-text.ts";

const fixtures = join(import.meta.dir, "../fixtures/torch/checkpoints");
const texts: Record<string, string> = await Bun.file(join(fixtures, "texts.json")).json();
const dir = mkdtempSync(join(tmpdir(), "zensor-checkpoints-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const names = readdirSync(fixtures).flatMap((file) => (file.endsWith(".pt") ? [file.slice(0, -3)] : []));

describe.each(names)("%s", (name) => {
  const path = join(fixtures, `${name}.pt`);
  test("is read with all types", () => {
    expect(pythonText(loadExactly(path))).toBe(texts[name] as string);
  });
  test("is written with all types", () => {
    const copy = join(dir, `${name}.pt`);
    saveTorch(loadExactly(path), copy);
    expect(pythonText(loadExactly(copy))).toBe(texts[name] as string);
  });
});

describe("floats that are whole numbers, and tuples", () => {
  const value = () =>
    new TensorDict({ v: new NonTensorData(float(2)) as never, d: new NonTensorData({ lr: float(1) }) as never });
  const textOf = (path: string) => (path.endsWith("v") ? /"data": 2\.0/ : /"data": \{"lr": 1\.0\}/);
  const isExact = (directory: string): void => {
    for (const key of ["v", "d"]) {
      const path = join(directory, key);
      expect(readFileSync(join(path, "meta.json"), "utf8")).toMatch(textOf(path));
    }
  };
  test("stay so in TensorDicts of .pt files, from and to directories", () => {
    const [first, file, second] = [join(dir, "td1"), join(dir, "td.pt"), join(dir, "td2")];
    value().memmap(first);
    isExact(first);
    saveTorch(TensorDict.loadMemmap(first), file);
    (loadExactly(file) as TensorDict).memmap(second);
    isExact(second);
  });
  test.skipIf(findHdf5().library === null)("stay so in HDF5 files", () => {
    const [first, file, second] = [join(dir, "td3"), join(dir, "td.h5"), join(dir, "td4")];
    new TensorDict({ v: new NonTensorData(float(2)) as never, i: new NonTensorData(2) as never }).memmap(first);
    TensorDict.loadMemmap(first).toH5(file).close();
    using read = TensorDict.fromH5(file, { batchSize: [] });
    expect(read.at("v") as unknown).toBe(2);
    read.toTensorDict().memmap(second);
    expect(readFileSync(join(second, "v", "meta.json"), "utf8")).toContain('"data": 2.0');
    expect(readFileSync(join(second, "i", "meta.json"), "utf8")).toContain('"data": 2,');
  });
  test("stay so in snapshots, with integer keys and OrderedDicts", () => {
    const path = join(dir, "snapshot");
    const state = loadExactly(join(fixtures, "adam.pt")) as Record<string, unknown>;
    state.sizes = Size.fromList([2, 3]);
    Snapshot.take({ path, appState: { state: new StateDict(state) } });
    const back = new Snapshot(path).readObject("0/state") as Record<string, unknown>;
    const plain = pythonText(state).replace(/ with dict\{"_metadata": OrderedDict\{.*?\}\}\}/g, "");
    expect(pythonText(back)).toBe(plain);
  });
});

test("bytes that Python could change stay a bytearray, in the newest protocol, too", () => {
  const read = readPlainPickle(Buffer.from("\x80\x05\x96\x02\0\0\0\0\0\0\0ab.", "latin1"), "x.pickle");
  saveTorch([read], join(dir, "bytes.pt"));
  expect(pythonText(loadExactly(join(dir, "bytes.pt")))).toBe("[bytearray(6162)]");
});

test("tensors without elements share a storage whatever their types", () => {
  const pairs = torch.zeros(0, 2, { dtype: "complex64" });
  saveTorch([pairs, torch.viewAsReal(pairs)], join(dir, "none.pt"));
  const [first, second] = loadExactly(join(dir, "none.pt")) as torch.Tensor[];
  expect([String(first?.dtype), first?.shape]).toEqual(["torch.complex64", Size.fromList([0, 2])]);
  expect([String(second?.dtype), second?.shape]).toEqual(["torch.float32", Size.fromList([0, 2, 2])]);
  const some = torch.zeros(1, { dtype: "complex64" });
  expect(() => saveTorch([some, torch.viewAsReal(some)], join(dir, "none.pt"))).toThrow("as different types");
});

test("old files of machines with another order of bytes are little-endian, too", async () => {
  const bytes = Buffer.from(await Bun.file(join(fixtures, "first_torch.pt")).arrayBuffer());
  const at = bytes.indexOf(0x88, bytes.indexOf("little_endian"));
  bytes[at] = 0x89;
  await Bun.write(join(dir, "elsewhere.pt"), bytes);
  expect(pythonText(loadExactly(join(dir, "elsewhere.pt")))).toBe(texts.first_torch as string);
});

describe("texts of Python 2", () => {
  test("are UTF-8, as torch reads them", () => {
    const bytes = Buffer.from("ä€", "utf8");
    const pickle = (data: Uint8Array) => Uint8Array.from([0x80, 2, 0x55, data.length, ...data, 0x2e]);
    expect(readPlainPickle(pickle(bytes), "p")).toBe("ä€");
    expect(readPlainPickle(pickle(Uint8Array.of(0xe4)), "p")).toBe("ä");
  });
});

describe("what torch.load(weights_only=True) allows", () => {
  const refused: Record<string, RegExp> = {
    "sparse tensors": /^torch\.(cuda\.)?sparse\.\w+Tensor$|_rebuild_sparse_tensor$/,
    "quantized tensors": /_rebuild_qtensor$/,
    "storages of this dtype": /^torch\.QU?Int\w+Storage$/,
    "tensors of other devices": /_rebuild_(device_tensor_from_numpy|wrapper_subclass)$/,
  };
  test("is known, or refused by its name", async () => {
    const names: string[] = await Bun.file(join(fixtures, "globals.json")).json();
    expect(names.length).toBeGreaterThan(130);
    for (const name of names) {
      const what = Object.keys(refused).find((key) => refused[key]?.test(name));
      if (what === undefined) expect([name, typeof torchGlobal(name)]).toEqual([name, "object"]);
      else expect(() => torchGlobal(name)).toThrow(`${what} (${name}) cannot be read`);
    }
  });
});
