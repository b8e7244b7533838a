// Files of one array in the command line.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FORMATS, type FormatName } from "../../src/cli/formats.ts";
import { arange, ones } from "../../src/index.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import { loadNpy, saveNpy } from "../../src/io/numpy/npy.ts";
import { NonTensorData, TensorDict } from "../../src/tensordict/index.ts";
import { zensor } from "./run.ts";

const room = mkdtempSync(join(tmpdir(), "zensor-npy-"));
const at = (name: string) => join(room, name);
afterAll(() => rmSync(room, { recursive: true, force: true }));

const array = at("array.npy");
saveNpy(array, arange(12).view([3, 4]));

const others = (Object.keys(FORMATS) as FormatName[]).filter((name) => {
  return FORMATS[name].written && name !== "npy" && (name !== "hdf5" || hdf5Engine() !== null);
});

test.each(others)("to %s and back, byte for byte", async (format) => {
  const there = at(`there${FORMATS[format].extensions[0] ?? ""}`);
  expect(await zensor("convert", array, there)).toMatchObject({ code: 0, err: "" });
  const back = at(`back-${format}.npy`);
  expect(await zensor("convert", there, back)).toMatchObject({ code: 0, err: "" });
  expect(readFileSync(back).equals(readFileSync(array))).toBe(true);
});

test("listings, with and without the ending of the name", async () => {
  const bare = at("bare");
  writeFileSync(bare, readFileSync(array));
  for (const path of [array, bare]) {
    const { out, code } = await zensor("inspect", path);
    expect(code).toBe(0);
    expect(out).toMatch(/^NumPy array: 1 tensor/m);
    expect(out).toMatch(/tensor +int64 +\[3, 4\]/);
  }
  expect((await zensor("diff", array, bare)).code).toBe(0);
});

test("an array whose first index runs fastest, and one with its highest byte first", async () => {
  const fortran = at("fortran.npy");
  saveNpy(fortran, arange(6).view([2, 3]).t());
  expect(readFileSync(fortran, "latin1")).toContain("'fortran_order': True");
  expect((await zensor("convert", fortran, at("fortran.safetensors"))).code).toBe(0);
  expect((await zensor("diff", fortran, at("fortran.safetensors"))).code).toBe(0);
  const turned = Buffer.from(readFileSync(array));
  turned.write(">i8", turned.indexOf("<i8"), "latin1");
  turned.subarray(128).swap64();
  writeFileSync(at("turned.npy"), turned);
  expect((await zensor("diff", array, at("turned.npy"))).code).toBe(0);
});

test("what such a file cannot hold", async () => {
  new TensorDict({ weight: ones(2, 3), bias: ones(2) }, [2]).memmap(at("two"));
  const refused = await zensor("convert", at("two"), at("two.npy"), "--lossy");
  expect(refused).toMatchObject({ code: 1, out: "", err: expect.stringContaining("others stand beside weight: bias") });
  new TensorDict({ note: new NonTensorData("x") as never }).memmap(at("none"));
  const none = await zensor("convert", at("none"), at("none.npy"), "--lossy");
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining("here is none") });
  new TensorDict({ tensor: ones(1).to("bfloat16") }).memmap(at("half"));
  const half = await zensor("convert", at("half"), at("half.npy"));
  expect(half).toMatchObject({ code: 1, err: expect.stringContaining("no dtype for bfloat16") });

  const lossy = await zensor("slice", at("two"), at("weight.npy"), "--keys", "weight");
  expect(lossy.code).toBe(1);
  expect(lossy.err).toContain("the name of the tensor (it becomes tensor): weight");
  expect(lossy.err).toContain("batch sizes: (all) [2]");
  expect(readdirSync(room).filter((name) => /two\.npy|none\.npy|half\.npy|weight\.npy/.test(name))).toEqual([]);
  expect((await zensor("slice", at("two"), at("weight.npy"), "--keys", "weight", "--lossy")).code).toBe(0);
  expect(loadNpy(at("weight.npy")).tolist()).toEqual(ones(2, 3).tolist());
});

test("damage", async () => {
  const sums = at("sums.json");
  expect(await zensor("verify", array, "--write-sums", sums)).toMatchObject({ code: 0 });
  const changed = Buffer.from(readFileSync(array));
  changed[changed.length - 1] = 1;
  writeFileSync(at("changed.npy"), changed);
  expect((await zensor("verify", at("changed.npy"))).code).toBe(0);
  expect(await zensor("verify", at("changed.npy"), "--sums", sums)).toMatchObject({
    code: 1,
    out: expect.stringContaining("another checksum"),
  });
  writeFileSync(at("short.npy"), readFileSync(array));
  truncateSync(at("short.npy"), readFileSync(array).length - 1);
  for (const command of ["verify", "inspect"]) expect((await zensor(command, at("short.npy"))).code).toBe(1);
});
