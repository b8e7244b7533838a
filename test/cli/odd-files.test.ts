// Files with elements that no tensor has, and checkpoints in several files, on the command line.
import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { io, type Tensor } from "../../src/index.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import { describeWithStore } from "../io/s3-server.ts";
import { program, zensor } from "./run.ts";

const ODD = join(import.meta.dir, "..", "fixtures", "odd");
const dir = mkdtempSync(join(tmpdir(), "zensor-odd-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const odd = (name: string) => join(ODD, name);
const out = (name: string) => join(dir, name);

const FILES = ["odd.npz", "packed.npz", "record.npy", "words.npy", "odd.safetensors", "sparse.npz"];
if (hdf5Engine() !== null) FILES.push("odd.h5");

test.each(FILES)("%s is inspected, verified and equal to itself", async (name) => {
  const path = odd(name);
  expect(await zensor("inspect", path)).toMatchObject({ code: 0, err: "" });
  const listing = JSON.parse((await zensor("inspect", path, "--json")).out);
  expect(listing.unknown.every((one: { dtype: string }) => one.dtype.length > 0)).toBe(true);
  expect(await zensor("verify", path)).toMatchObject({ code: 0, err: "" });
  const sums = out(`${name}.sums`);
  expect(await zensor("verify", path, "--write-sums", sums)).toMatchObject({ code: 0, err: "" });
  expect(await zensor("verify", path, "--sums", sums)).toMatchObject({ code: 0, err: "" });
  const { tensors } = JSON.parse(readFileSync(sums, "utf8"));
  for (const one of listing.unknown) {
    if (one.nbytes !== null)
      expect(Object.values(tensors)).toContainEqual(expect.objectContaining({ dtype: one.dtype }));
  }
  const { code, out: told } = await zensor("diff", path, path);
  // Elements that hold pointers, and no values.
  const expected = name === "odd.h5" ? "mixed: elements that cannot be compared" : "";
  expect([told, code]).toEqual([expected, expected === "" ? 0 : 1]);
});

test("what is in them, by name", async () => {
  const lines = async (name: string) => (await zensor("inspect", odd(name))).out.split("\n");
  expect(await lines("odd.npz")).toEqual(
    expect.arrayContaining([
      'words = [["a", "bcd"], ["", "zw\\u00f6lf"]]',
      "void: |V2, [2], 4 B (no tensor has such elements)",
      "dates: <M8[ns], [2], 16 B (no tensor has such elements)",
      "NumPy archive: 2 tensors, 72 B",
    ]),
  );
  expect(await lines("odd.safetensors")).toContain(
    "layer.float4_e2m1fn_x2: F4, [2, 8], 8 B (no tensor has such elements)",
  );
  if (hdf5Engine() === null) return;
  expect(await lines("odd.h5")).toEqual(
    expect.arrayContaining([
      "compound: compound {a: int32, b: float64}, [2], 24 B (no tensor has such elements)",
      "empty: float32, no shape (no tensor has such elements)",
      'records = [{"id": 1, "s": "hello", "w": [1.0, 2.5], "f": "abc"}, ' +
        '{"id": -5, "s": "zw\\u00f6lf", "w": [0.0, 0.0], "f": "x"}]',
    ]),
  );
});

test("they are told apart", async () => {
  const { code, out: told } = await zensor("diff", odd("odd.npz"), odd("sparse.npz"), "--json");
  expect(code).toBe(1);
  expect(JSON.parse(told)).toContainEqual({ name: "void", what: "only in the first" });
  const all = io.loadNpz<Record<string, io.NpyValue>>(odd("odd.npz"));
  const bytes = (all.void as io.UnknownArray).bytes as Tensor;
  bytes.setAt([0], 1);
  io.saveNpz(out("other.npz"), all);
  expect((await zensor("diff", odd("odd.npz"), out("other.npz"))).out).toBe("void: elements differ");
});

test("they are written where the format has them, and named where they would be lost", async () => {
  for (const [name, target] of [
    ["odd.npz", "odd.npz"],
    ["packed.npz", "odd.npz"],
    ["odd.safetensors", "odd.safetensors"],
    ["record.npy", "record.npy"],
    ["words.npy", "words.npz"],
  ] as const) {
    expect(await zensor("convert", odd(name), out(target), "--force")).toMatchObject({ code: 0, err: "" });
    if (!name.startsWith("words")) expect((await zensor("diff", odd(name), out(target))).out).toBe("");
  }
  expect(readFileSync(out("odd.safetensors")).equals(readFileSync(odd("odd.safetensors")))).toBe(true);
  expect(readFileSync(out("record.npy")).equals(readFileSync(odd("record.npy")))).toBe(true);
  const refused = await zensor("convert", odd("odd.npz"), out("folder"));
  expect(refused.code).toBe(1);
  expect(refused.err).toContain("elements that no tensor has: latin (|S2); dates (<M8[ns])");
  expect(existsSync(out("folder"))).toBe(false);
  expect((await zensor("convert", odd("odd.npz"), out("folder"), "--lossy")).code).toBe(0);
  expect((await zensor("convert", odd("odd.safetensors"), out("x.pt"))).err).toContain("layer.float4_e2m1fn_x2 (F4)");
  expect(await zensor("slice", odd("odd.safetensors"), out("part.safetensors"), "--keys", "layer")).toMatchObject({
    code: 0,
  });
  expect(Object.keys(io.SafetensorsFile && new io.SafetensorsFile(out("part.safetensors")).unknownKeys()).length).toBe(
    4,
  );
  const rows = await zensor("slice", odd("odd.npz"), out("rows.npz"), "--keys", "void", "--rows", "0:1");
  expect(rows.err).toContain('rows of "void" cannot be taken: its elements are |V2');
  expect((await zensor("merge", odd("odd.npz"), odd("sparse.npz"), out("merged.npz"))).code).toBe(0);
  expect((await zensor("merge", odd("odd.npz"), odd("odd.npz"), out("same.npz"), "--last")).code).toBe(0);
});

test.skipIf(hdf5Engine() === null)("HDF5: what bytes say in another file, too", async () => {
  const lost = await zensor("convert", odd("odd.h5"), out("x.h5"));
  expect(lost.err).toContain(
    "elements that no tensor has: mixed (compound {id: int32, s: text, v: opaque of 2 bytes})",
  );
  expect(lost.err).toContain("reference (reference); region (region reference)");
  expect(lost.err).toContain("values that are no tensors: floats; lists; lists_of_texts; one_list; records");
  expect((await zensor("convert", odd("odd.h5"), out("x.h5"), "--lossy")).code).toBe(0);
  const { out: told } = await zensor("diff", odd("odd.h5"), out("x.h5"));
  const missing = "floats lists lists_of_texts mixed one_list records reference region".split(" ");
  expect(told.split("\n").sort()).toEqual(missing.map((name) => `${name}: only in the first`));
  expect((await zensor("slice", odd("odd.h5"), out("y.h5"), "--keys", "compound,x")).code).toBe(0);
  expect((await zensor("inspect", out("y.h5"))).out).toContain("compound {a: int32, b: float64}, [2], 24 B");
});

describe("checkpoints in several files", () => {
  const PLACES = ["shards", "shards/model.safetensors.index.json", "bins", "bins/pytorch_model.bin.index.json"];
  test.each(PLACES)("%s", async (name) => {
    const path = odd(name);
    const { out: listing, code } = await zensor("inspect", path);
    expect(code).toBe(0);
    expect(listing).toContain("model.head.weight   int64     [2, 2]  32 B");
    expect(listing).toContain("checkpoint in several files: 3 tensors, 64 B");
    expect(await zensor("verify", path)).toMatchObject({ code: 0, err: "" });
    const target = out(`${made++}.safetensors`);
    expect((await zensor("convert", path, target)).code).toBe(0);
    expect((await zensor("diff", path, target)).out).toBe("");
    expect((await zensor("slice", path, out(`${made++}.npz`), "--keys", "model.head")).code).toBe(0);
    expect((await zensor("verify", path, "--write-sums", out(`${made}.sums`))).code).toBe(0);
    expect((await zensor("verify", target, "--sums", out(`${made++}.sums`))).code).toBe(0);
    expect((await zensor("convert", target, out("x"), "--to", "sharded")).err).toContain("can only be read");
  });
  let made = 0;

  test("what is wrong is one error, and a problem for verify", async () => {
    for (const [folder, file] of [
      ["shards", "model-00002-of-00002.safetensors"],
      ["bins", "pytorch_model-00002-of-00002.bin"],
    ] as const) {
      cpSync(odd(folder), out(folder), { recursive: true });
      rmSync(join(out(folder), file));
      for (const command of ["inspect", "verify"]) {
        const { code, out: told, err } = await zensor(command, out(folder));
        expect(code).not.toBe(0);
        expect(told + err).toContain(`the shard "${file}" is missing, which has "model.head.weight"`);
      }
    }
    expect((await zensor("inspect", out("nothing.index.json"))).err).toContain("does not exist");
    expect((await zensor("inspect", dir, "--from", "sharded")).err).toContain("has no index of a checkpoint");
  });
});

describeWithStore((store) => {
  test("from a store", async () => {
    const { client } = store;
    for (const folder of ["shards", "bins"]) {
      for (const name of new Bun.Glob("*").scanSync(odd(folder))) {
        await io.upload(join(odd(folder), name), store.url(`${folder}/${name}`), { client });
      }
    }
    await io.upload(odd("odd.safetensors"), store.url("odd.safetensors"), { client });
    const run = async (...args: string[]) => await program(args, store.environment());
    for (const name of ["shards", "shards/model.safetensors.index.json", "bins", "bins/pytorch_model.bin.index.json"]) {
      const found = await run("inspect", store.url(name));
      expect(found).toMatchObject({ code: 0 });
      expect(found.out).toContain("checkpoint in several files: 3 tensors, 64 B");
      expect(await run("diff", store.url(name), odd(name))).toMatchObject({ code: 0, out: "" });
      expect(await run("verify", store.url(name))).toMatchObject({ code: 0 });
    }
    expect(await run("diff", store.url("odd.safetensors"), odd("odd.safetensors"))).toMatchObject({ code: 0, out: "" });
    const target = out("remote.safetensors");
    expect(await run("convert", store.url("odd.safetensors"), target)).toMatchObject({ code: 0 });
    expect(readFileSync(target).equals(readFileSync(odd("odd.safetensors")))).toBe(true);
  }, 60_000);
});
