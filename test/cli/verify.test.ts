// `zensor verify`: what is whole passes, and any damage is found and named.
import { afterAll, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findHdf5 } from "../../src/ffi/hdf5.ts";
import { arange, manualSeed, ones, randn, zeros } from "../../src/index.ts";
import { Hdf5File } from "../../src/io/hdf5/hdf5.ts";
import { saveNpz } from "../../src/io/numpy/npz.ts";
import { Snapshot, StateDict } from "../../src/io/snapshot/snapshot.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { lazyStack, NonTensorData, TensorDict } from "../../src/tensordict/index.ts";
import { zensor } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-verify-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }), 60_000);
const hasHdf5 = findHdf5().library !== null;

manualSeed(0);
const tensors: Record<string, Tensor> = { weight: randn(40, 5), bias: randn(31), half: randn(9).to("float16") };
const source = join(dir, "source");
new TensorDict({ n: { weight: tensors.weight, bias: tensors.bias }, half: tensors.half } as never).memmap(source);
const sums = join(dir, "sums.json");
await zensor("verify", source, "--write-sums", sums);

/** Places of the bytes of a tensor below a path. */
function findBytes(path: string, tensor: Tensor): { file: string; at: number } {
  const wanted = Buffer.from(tensor.contiguous().typedArray().buffer as ArrayBuffer).subarray(0, 16);
  const below = statSync(path).isDirectory();
  const files = below ? (readdirSync(path, { recursive: true }) as string[]).map((name) => join(path, name)) : [path];
  for (const file of files) {
    if (statSync(file).isDirectory()) continue;
    const at = readFileSync(file).indexOf(wanted);
    if (at >= 0) return { file, at };
  }
  throw new Error(`${path} has no such bytes`);
}

function flip(file: string, at: number, bit: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] as number) ^ (1 << bit);
  writeFileSync(file, bytes);
}

const FORMATS = ["d", "d.tdz", "d.consolidated", "d.safetensors", "d.pt", "d.npz", "d.snapshot"];
const CHECKED = new Set(["d.tdz", "d.pt", "d.npz"]);

describe.each([...FORMATS, ...(hasHdf5 ? ["d.h5"] : [])])("%s", (name) => {
  const path = join(dir, name);
  test("whole", async () => {
    expect((await zensor("convert", source, path)).code).toBe(0);
    expect(await zensor("verify", path)).toMatchObject({ code: 0, out: expect.stringContaining("no damage found") });
    expect(await zensor("verify", path, "--quiet")).toEqual({ code: 0, out: "", err: "" });
    // The same checksums, whatever the format.
    const { code, out } = await zensor("verify", path, "--sums", sums, "--json");
    expect({ code, out: JSON.parse(out) }).toMatchObject({ code: 0, out: { ok: true, problems: [] } });
    expect((JSON.parse(out) as { checksums: number }).checksums).toBeGreaterThanOrEqual(3);
  });
  test.each(Object.keys(tensors))("a flipped bit of %s", async (key) => {
    const tensor = tensors[key] as Tensor;
    const { file, at } = findBytes(path, tensor);
    const nbytes = tensor.numel() * tensor.dtype.itemsize;
    for (const [place, bit] of [
      [0, 0],
      [nbytes - 1, 7],
    ] as const) {
      flip(file, at + place, bit);
      const found = await zensor("verify", path, "--sums", sums);
      expect(found).toMatchObject({ code: 1, err: "" });
      expect(found.out).toContain(CHECKED.has(name) ? "does not match its checksum" : key);
      expect((await zensor("verify", path)).code).toBe(CHECKED.has(name) ? 1 : 0);
      flip(file, at + place, bit);
    }
    expect((await zensor("verify", path, "--sums", sums)).code).toBe(0);
  });
  test("a file that was cut, or emptied", async () => {
    const { file } = findBytes(path, tensors.bias as Tensor);
    const bytes = readFileSync(file);
    for (const length of [bytes.length - 1, Math.floor(bytes.length / 2), 0]) {
      truncateSync(file, length);
      const { code, out, err } = await zensor("verify", path);
      expect({ length, code, said: out !== "" || err !== "" }).toEqual({ length, code: 1, said: true });
      writeFileSync(file, bytes);
    }
    expect((await zensor("verify", path)).code).toBe(0);
  });
});

describe("directories", () => {
  const fresh = (name: string) => {
    const path = join(dir, name);
    cpSync(source, path, { recursive: true });
    return path;
  };
  const problems = async (path: string) => {
    const { out } = await zensor("verify", path, "--json");
    return (JSON.parse(out) as { problems: { where: string; what: string }[] }).problems;
  };
  test("files that belong to nothing, are missing, too long, or links", async () => {
    const path = fresh("strange");
    writeFileSync(join(path, "n", "letter.txt"), "dear");
    mkdirSync(join(path, "empty"));
    appendFileSync(join(path, "half.memmap"), "x");
    rmSync(join(path, "n", "bias.memmap"));
    symlinkSync(join(source, "n", "bias.memmap"), join(path, "link"));
    const found = await problems(path);
    expect(found.sort((a, b) => (a.where < b.where ? -1 : 1))).toEqual([
      { where: "empty", what: "is an empty directory" },
      { where: "half.memmap", what: "has 19 bytes, its tensor 18" },
      { where: "link", what: "is a link" },
      { where: "link", what: "belongs to nothing" },
      { where: "n/bias.memmap", what: "is missing" },
      { where: "n/letter.txt", what: "belongs to nothing" },
    ]);
  });
  test("damaged metadata", async () => {
    const path = fresh("meta");
    writeFileSync(join(path, "n", "meta.json"), "{");
    expect(await problems(path)).toHaveLength(1);
    writeFileSync(join(path, "n", "meta.json"), JSON.stringify({ shape: [1e30], _type: "TensorDict" }));
    expect(await problems(path)).toHaveLength(1);
  });
  test("lazy stacks, values and empty tensors are whole", async () => {
    const path = join(dir, "various");
    const member = (n: number) => new TensorDict({ a: ones(n), v: new NonTensorData({ x: n }) as never });
    new TensorDict({ l: lazyStack([member(1), member(2)] as never) as never, e: zeros([0, 3]) }).memmap(path);
    expect(await zensor("verify", path, "--write-sums", join(dir, "various.json"))).toMatchObject({ code: 0 });
    expect((await zensor("verify", path, "--sums", join(dir, "various.json"))).code).toBe(0);
    await zensor("convert", path, `${path}.tdz`);
    expect((await zensor("verify", `${path}.tdz`, "--sums", join(dir, "various.json"))).code).toBe(0);
    rmSync(join(path, "l", "1", "a.memmap"));
    expect(await problems(path)).toEqual([{ where: "l/1/a.memmap", what: "is missing" }]);
  });
});

describe("archives", () => {
  test("bytes that belong to no entry", async () => {
    const path = join(dir, "gap.npz");
    saveNpz(path, { a: ones(3) });
    const bytes = readFileSync(path);
    // Behind the entry: only the offset of the directory in the end record has to move.
    const directory = bytes.readUInt32LE(bytes.length - 6);
    const moved = Buffer.concat([bytes.subarray(0, directory), Buffer.alloc(7), bytes.subarray(directory)]);
    moved.writeUInt32LE(directory + 7, moved.length - 6);
    writeFileSync(path, moved);
    const { code, out } = await zensor("verify", path);
    expect({ code, out }).toEqual({
      code: 1,
      out: `${path}: bytes ${directory} to ${directory + 7} belong to no entry`,
    });
  });
  test("compressed entries, whole and damaged", async () => {
    const path = join(dir, "deflate.npz");
    saveNpz(path, { a: arange(5000), b: randn(300) }, { compressed: true });
    expect((await zensor("verify", path)).out).toContain("2 checksums compared");
    const bytes = readFileSync(path);
    for (const at of [60, 200, 900]) {
      flip(path, at, 3);
      expect((await zensor("verify", path)).code).toBe(1);
      writeFileSync(path, bytes);
    }
  });
  test("an entry that no metadata names", async () => {
    const path = join(dir, "more.tdz");
    new TensorDict({ a: ones(2) }).memmap(join(dir, "more"));
    writeFileSync(join(dir, "more", "b.memmap"), "12345678");
    const { packMemmap } = await import("../../src/tensordict/index.ts");
    packMemmap(join(dir, "more"), path);
    expect(await zensor("verify", path)).toMatchObject({ code: 1, out: "b.memmap: belongs to nothing" });
  });
});

describe("snapshots", () => {
  const taken = (name: string) => {
    const path = join(dir, name);
    const state = { a: arange(100), b: arange(50), o: null };
    Snapshot.take({ path, appState: { s: new StateDict(state) }, slabBytes: 4096 });
    return path;
  };
  test("tensors that share a file", async () => {
    const path = taken("slab");
    expect(await zensor("verify", path)).toMatchObject({ code: 0 });
    const manifest = join(path, ".snapshot_metadata");
    const text = readFileSync(manifest, "utf8");
    expect(text).toMatch(/800,\s+1200/);
    writeFileSync(manifest, text.replace(/800(,\s+)1200/, "792$11192"));
    const { code, out } = await zensor("verify", path);
    expect(code).toBe(1);
    expect(out).toMatch(/^0\/s\/b: shares bytes of batched\/\S+ with 0\/s\/a$/m);
    expect(out).toMatch(/^batched\/\S+: bytes 1192 to 1200 belong to nothing$/m);
  });
  test("files that are missing or belong to nothing", async () => {
    const path = taken("files");
    writeFileSync(join(path, "extra"), "x");
    expect(await zensor("verify", path)).toMatchObject({ code: 1, out: "extra: belongs to nothing" });
    rmSync(join(path, "extra"));
    rmSync(join(path, "0", "s", "o"));
    expect((await zensor("verify", path)).out).toContain("0/s/o");
  });
});

describe("HDF5", () => {
  test.skipIf(!hasHdf5)("chunks with checksums of h5py's", async () => {
    const path = join(dir, "fletcher32.h5");
    const bytes = readFileSync(join(import.meta.dir, "..", "fixtures", "hdf5", "fletcher32.h5"));
    writeFileSync(path, bytes);
    expect((await zensor("verify", path)).code).toBe(0);
    const at = bytes.indexOf(Buffer.from(Int32Array.from([20, 21, 22, 23]).buffer));
    expect(at).toBeGreaterThan(0);
    flip(path, at + 5, 2);
    expect(await zensor("verify", path)).toMatchObject({ code: 1, out: expect.stringMatching(/^sums: /m) });
    expect(JSON.parse((await zensor("verify", path, "--json")).out)).toMatchObject({ problems: [{ where: "sums" }] });
  });
  test.skipIf(!hasHdf5)("a compressed dataset that is damaged", async () => {
    const path = join(dir, "packed.h5");
    {
      using file = new Hdf5File(path, "w");
      file.put("x", arange(20_000), { compression: "gzip" });
    }
    expect((await zensor("verify", path)).code).toBe(0);
    const bytes = readFileSync(path);
    bytes.fill(0xa5, bytes.length - 2000, bytes.length - 1500);
    writeFileSync(path, bytes);
    expect(await zensor("verify", path)).toMatchObject({ code: 1, out: expect.stringContaining("x") });
  });
});

describe("checksums", () => {
  test("tensors that came, went or changed", async () => {
    const path = join(dir, "changed");
    new TensorDict({ n: { weight: tensors.weight, other: ones(1) }, half: ones(3) } as never).memmap(path);
    const { out } = await zensor("verify", path, "--sums", sums);
    expect(out.split("\n").sort()).toEqual([
      "half: was float16 [9], is float32 [3]",
      "n.bias: is missing",
      "n.other: is not among the checksums",
    ]);
  });
  test("files that are none", async () => {
    const file = join(dir, "strange.json");
    for (const text of ["", "[]", "{}", '{"kind": "zensor checksums 1", "tensors": {"a": 3}}']) {
      writeFileSync(file, text);
      const { code, out } = await zensor("verify", source, "--sums", file);
      expect({ text, code, out }).toEqual({ text, code: 1, out: expect.stringContaining("no file of checksums") });
    }
    expect((await zensor("verify", source, "--sums", join(dir, "missing.json"))).code).toBe(1);
  });
  test("none are written of what is damaged", async () => {
    const path = join(dir, "damaged");
    cpSync(source, path, { recursive: true });
    truncateSync(join(path, "half.memmap"), 3);
    expect((await zensor("verify", path, "--write-sums", join(dir, "never.json"))).code).toBe(1);
    expect(readdirSync(dir)).not.toContain("never.json");
  });
  test("arrays in any order, compressed, and with names that are no levels", async () => {
    const arrays = {
      "a.t": arange(12).view(3, 4).t(),
      "a.c": randn(50),
      "a.c.scale": ones(2),
      n: arange(3).to("int16"),
    };
    const file = join(dir, "orders.json");
    new TensorDict(arrays as never).memmap(join(dir, "orders"));
    expect((await zensor("verify", join(dir, "orders"), "--write-sums", file)).code).toBe(0);
    for (const compressed of [false, true]) {
      const path = join(dir, `orders-${compressed}.npz`);
      saveNpz(path, arrays, { compressed });
      expect(await zensor("verify", path, "--sums", file)).toMatchObject({ code: 0, err: "" });
    }
  });
  test("keys with dots are told apart from levels", async () => {
    const path = join(dir, "dots");
    new TensorDict({ "a.b": ones(1), a: { b: zeros([1]) } } as never).memmap(path);
    const file = join(dir, "dots.json");
    expect((await zensor("verify", path, "--write-sums", file)).code).toBe(0);
    const { tensors: kept } = JSON.parse(readFileSync(file, "utf8")) as { tensors: object };
    expect(Object.keys(kept).sort()).toEqual(["a.b", "a\\.b"]);
  });
  test("what is not there, or has no format", async () => {
    expect(await zensor("verify", join(dir, "nothing"))).toMatchObject({
      code: 1,
      err: expect.stringContaining("exist"),
    });
    writeFileSync(join(dir, "junk"), "PK\x03\x04 and then nothing");
    expect(await zensor("verify", join(dir, "junk"))).toMatchObject({ code: 1, out: expect.stringContaining("zip") });
    expect((await zensor("verify", source, "--from", "xyz")).code).toBe(2);
  });
});
