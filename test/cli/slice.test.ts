// `zensor slice`: entries and rows of any format, into any format.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rowRange, rowsOption } from "../../src/cli/selection.ts";
import { findHdf5 } from "../../src/ffi/hdf5.ts";
import { arange, ones, tensor, zeros } from "../../src/index.ts";
import { loadSafetensors, saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { loadTorch } from "../../src/io/torch/torch-file.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { lazyStack, NonTensorData, NonTensorStack, TensorDict } from "../../src/tensordict/index.ts";
import { zensor } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-slice-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }), 60_000);
const at = (name: string) => join(dir, name);
let made = 0;

/** A slice of a source, loaded. */
async function sliced(from: string, ...options: string[]): Promise<TensorDict> {
  const to = at(`out${made++}`);
  expect(await zensor("slice", from, to, ...options)).toMatchObject({ code: 0, err: "" });
  return TensorDict.loadMemmap(to);
}

const batched = at("batched");
new TensorDict(
  {
    a: arange(40).view(10, 4),
    n: { b: arange(10), c: ones(10, 2) },
    v: new NonTensorData("same") as never,
    s: new NonTensorStack(Array.from({ length: 10 }, (_, i) => `row ${i}`)) as never,
  },
  { batchSize: [10], names: ["time"] } as never,
).memmap(batched);

const model = at("model.safetensors");
saveSafetensors({ "l.w": arange(12).view(6, 2), "l.b": arange(6), "l.b.scale": ones(2), one: tensor(3n) }, model, {
  metadata: { format: "pt" },
});

describe("rows", () => {
  test("slices are Python's", () => {
    const range = (text: string, size = 10) => rowRange(rowsOption(text), size);
    expect(range("2:5")).toEqual([2, 5]);
    expect(range(":")).toEqual([0, 10]);
    expect(range("-3:")).toEqual([7, 10]);
    expect(range(":-3")).toEqual([0, 7]);
    expect(range("8:100")).toEqual([8, 10]);
    expect(range("7:3")).toEqual([7, 7]);
    expect(range("-100:2")).toEqual([0, 2]);
    for (const text of ["3", "", "a:b", "1:2:3", "1.5:2", "1e9:"]) expect(() => rowsOption(text)).toThrow("start:stop");
  });
  test("along the batch dimension, of everything", async () => {
    const td = await sliced(batched, "--rows", "-3:-1");
    expect([...td.batchSize]).toEqual([2]);
    expect(td.names).toEqual(["time"]);
    expect(td.at("a").tolist()).toEqual([
      [28, 29, 30, 31],
      [32, 33, 34, 35],
    ]);
    expect(td.at(["n", "b"]).tolist()).toEqual([7, 8]);
    expect([...td.at("n").batchSize]).toEqual([2]);
    expect(td.at("v")).toBe("same");
    expect(td.at("s")).toEqual(["row 7", "row 8"]);
  });
  test("of named tensors, where there is no batch size", async () => {
    const td = await sliced(model, "--rows", "1:3", "--keys", "l.w,l.b");
    expect([...td.keys()].length).toBe(2);
    expect(td.at("l.w").tolist()).toEqual([
      [2, 3],
      [4, 5],
    ]);
    expect(td.at("l.b").tolist()).toEqual([1, 2]);
    expect(await zensor("slice", model, at("no"), "--rows", "1:3")).toMatchObject({
      code: 1,
      err: expect.stringContaining("--keys"),
    });
    expect(await zensor("slice", model, at("no"), "--rows", "1:3", "--keys", "one")).toMatchObject({
      code: 1,
      err: expect.stringContaining("no rows"),
    });
  });
  test("no rows at all", async () => {
    expect((await sliced(batched, "--rows", "4:4")).at("a").shape).toEqual([0, 4]);
  });
  test("of lazy stacks: members, and inside of them", async () => {
    const path = at("lazy");
    const member = (n: number) => new TensorDict({ a: ones(3, n) }, [3]);
    lazyStack([member(1), member(2), member(4)] as never).memmap(path);
    const td = await sliced(path, "--rows", "1:");
    expect((td as unknown as { members: TensorDict[] }).members.map((one) => one.at("a").shape)).toEqual([
      [3, 2],
      [3, 4],
    ] as never);
    const inner = at("lazy1");
    lazyStack([member(1), member(2)] as never, 1).memmap(inner);
    const part = await sliced(inner, "--rows", "0:2");
    expect((part as unknown as { members: TensorDict[] }).members.map((one) => one.at("a").shape)).toEqual([
      [2, 1],
      [2, 2],
    ] as never);
    expect(await zensor("slice", path, at("no"), "--rows", "1:1")).toMatchObject({ code: 1 });
    expect((await sliced(path, "--keys", "a", "--rows", "2:")).batchSize).toEqual([1, 3] as never);
  });
  test("files of torch.save have the rows, not the storages that they are of", async () => {
    const from = at("large.safetensors");
    saveSafetensors({ a: arange(100_000).view(1000, 100) }, from);
    for (const source of [from, at("large.pt"), at("large.npz")]) {
      if (source !== from) expect((await zensor("convert", from, source)).code).toBe(0);
      const to = at(`rows${made++}.pt`);
      expect((await zensor("slice", source, to, "--keys", "a", "--rows", "10:12")).code).toBe(0);
      expect(statSync(to).size).toBeLessThan(5000);
      const rows = (loadTorch(to) as { a: Tensor }).a;
      expect(rows.select(1, 0).tolist()).toEqual([1000, 1100]);
    }
  });
  test("only the wanted ones are read", async () => {
    const path = at("huge");
    // 64 GiB of zeros that take no room on the disk.
    new TensorDict({ a: zeros([1]).expand(2 ** 30, 16) }, [2 ** 30]).memmapLike(path);
    for (const to of ["huge.npz", "huge.safetensors", "huge.tdz"]) {
      expect(await zensor("slice", path, at(to), "--rows", "1000000:1000003", "--lossy")).toMatchObject({ code: 0 });
      expect((await zensor("inspect", at(to))).out).toMatch(/a +float32 +\[3, 16\]/);
    }
    rmSync(path, { recursive: true });
  });
});

describe("keys", () => {
  test("levels, commas and repeats", async () => {
    expect([...(await sliced(batched, "--keys", "n.b,a")).keys()].sort()).toEqual(["a", "n"]);
    const td = await sliced(batched, "--keys", "n.c", "--keys", "n.b");
    expect([...td.at("n").keys()].sort()).toEqual(["b", "c"]);
    expect([...(await sliced(batched, "--keys", "n,n.b")).at("n").keys()].sort()).toEqual(["b", "c"]);
  });
  test("keys that have dots themselves", async () => {
    const to = at("dots.safetensors");
    expect((await zensor("slice", model, to, "--keys", "l.b.scale,l.b")).code).toBe(0);
    expect(Object.keys(loadSafetensors(to)).sort()).toEqual(["l.b", "l.b.scale"]);
  });
  test("those that are not there, or no keys", async () => {
    expect(await zensor("slice", batched, at("no"), "--keys", "n.x,a,b")).toMatchObject({
      code: 1,
      err: expect.stringContaining('"n.x", "b"'),
    });
    expect((await zensor("slice", batched, at("no"), "--keys", "a.b")).code).toBe(1);
    expect((await zensor("slice", batched, at("no"), "--keys", "a,,n")).code).toBe(2);
    expect((await zensor("slice", batched, at("no"), "--rows", "x")).code).toBe(2);
    expect((await zensor("slice", batched, at("no"))).code).toBe(2);
    expect(existsSync(at("no"))).toBe(false);
  });
  test.skipIf(findHdf5().library === null)("HDF5", async () => {
    expect((await zensor("convert", batched, at("b.h5"), "--lossy")).code).toBe(0);
    const td = await sliced(at("b.h5"), "--keys", "a,n.b", "--rows", "8:");
    expect(td.at("a").tolist()).toEqual([
      [32, 33, 34, 35],
      [36, 37, 38, 39],
    ]);
    expect(td.at(["n", "b"]).tolist()).toEqual([8, 9]);
    expect((await sliced(at("b.h5"), "--keys", "v")).at("v")).toBe("same");
  });
});

test("what the target cannot hold is refused here, too", async () => {
  expect(await zensor("slice", batched, at("no.npz"), "--rows", "1:2")).toMatchObject({
    code: 1,
    err: expect.stringContaining("batch sizes"),
  });
  const { out } = await zensor("slice", batched, at("b.npz"), "--keys", "a", "--rows", ":2", "--lossy", "--json");
  expect(JSON.parse(out)).toMatchObject({ format: "npz", tensors: 1, nbytes: 64 });
});
