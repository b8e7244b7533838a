// Files that are taken for one of torch.save: the error says what they are, and what reads them.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, io, load, ones, saveSafetensors, TensorDict, zeros } from "../../src/index.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-foreign-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const at = (name: string) => join(dir, name);
const bytes = (name: string, text: string) => writeFileSync(at(name), Buffer.from(text, "latin1"));

saveSafetensors({ a: ones(2) }, at("safetensors"));
saveSafetensors({}, at("empty"));
io.saveNpy(at("a.npy"), arange(3));
io.saveNpz(at("a.npz"), { a: arange(3) });
bytes("hdf5", "\x89HDF\r\n\x1a\n\0\0\0\0");
bytes("gguf", "GGUF\x03\0\0\0");
bytes("parquet", "PAR1\x15\x04\x15\x10");
for (const [name, text] of [
  ["json", '{"a": 1, "b": 2, "c": 3}'],
  ["none", ""],
  ["one", "x"],
  ["words", "some words in it"],
]) {
  bytes(name as string, text as string);
}

test.each([
  ["safetensors", ", but a safetensors file, which loadSafetensors reads"],
  ["empty", ", but a safetensors file, which loadSafetensors reads"],
  ["a.npy", ", but an array of NumPy's, which io.loadNpy reads"],
  ["a.npz", ", but an archive of NumPy's, which io.loadNpz reads"],
  ["hdf5", ", but an HDF5 file, which TensorDict.fromH5 and io.Hdf5File read"],
  ["gguf", ", but a GGUF file, which io.loadGguf reads"],
  ["parquet", ", but a Parquet file, which TensorDict.fromParquet reads"],
  ["json", ""],
  ["none", ""],
  ["one", ""],
  ["words", ""],
])("%s", (name, end) => {
  expect(() => load(at(name))).toThrow(new RegExp(`is no file of torch\\.save${end.replaceAll(".", "\\.")}$`));
});

test("the functions that are named read them", () => {
  expect(io.loadNpz(at("a.npz")).a).toEqual(arange(3));
  new TensorDict({ a: zeros(2) }, [2]).save(at("td.tdz"));
  expect(() => io.loadTorch(at("td.tdz"))).toThrow(/but an archived TensorDict, which TensorDict\.load reads$/);
  expect(TensorDict.load(at("td.tdz")).get("a")).toEqual(zeros(2));
});
