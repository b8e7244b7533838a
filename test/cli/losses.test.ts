// Conversions never lose anything in silence: what comes back from a format is the same, or the loss was named.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findHdf5 } from "../../src/ffi/hdf5.ts";
import { arange, float, nn, ones, tensor } from "../../src/index.ts";
import { saveNpz } from "../../src/io/numpy/npz.ts";
import { SafetensorsFile, saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import {
  lazyStack,
  MetaData,
  NonTensorData,
  NonTensorStack,
  TensorDict,
  tensorclass,
  toSafetensors,
} from "../../src/tensordict/index.ts";
import { zensor } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-losses-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }), 60_000);

class LossPoint extends tensorclass({ x: Tensor, label: String }) {}

const hasHdf5 = findHdf5().library !== null;
const TARGETS = [
  "out",
  "out.tdz",
  "out.consolidated",
  "out.safetensors",
  "out.pt",
  "out.npz",
  ...(hasHdf5 ? ["out.h5"] : []),
  "out.snapshot",
];

const value = (data: unknown) => new NonTensorData(data) as never;

/** The command line does not know the classes of programs. */
function renameClass(path: string): void {
  for (const file of readdirSync(path, { recursive: true }) as string[]) {
    if (!file.endsWith("meta.json")) continue;
    const text = readFileSync(join(path, file), "utf8");
    writeFileSync(join(path, file), text.replaceAll("LossPoint", "Elsewhere"));
  }
}

/** One thing that a format may have no room for, and where it is refused. */
const CASES: Record<string, { source: () => { memmap(path: string): unknown }; lossy: string[]; never?: string[] }> = {
  plain: { source: () => new TensorDict({ a: ones(2), n: { b: arange(3) } }), lossy: [] },
  batch: {
    source: () => new TensorDict({ a: ones(2, 3), n: new TensorDict({ b: ones(2, 4) }, [2, 4]) }, [2]),
    lossy: ["out.npz", "out.h5", "out.snapshot"],
  },
  names: {
    source: () => new TensorDict({ a: ones(2, 3) }, { batchSize: [2], names: ["time"] } as never),
    lossy: ["out.npz", "out.h5", "out.snapshot"],
  },
  tensorclass: {
    source: () => new TensorDict({ p: new LossPoint({ x: ones(2) }) as never }),
    lossy: ["out.npz", "out.h5", "out.snapshot"],
  },
  "tensorclass as root": {
    source: () => new LossPoint({ x: ones(2) }),
    lossy: ["out.consolidated", "out.npz", "out.h5", "out.snapshot"],
  },
  "even lazy stack": {
    source: () => lazyStack([new TensorDict({ a: ones(2) }), new TensorDict({ a: ones(2) })] as never),
    lossy: ["out.npz", "out.h5", "out.snapshot"],
  },
  "ragged lazy stack": {
    source: () => lazyStack([new TensorDict({ a: ones(2) }), new TensorDict({ a: ones(3), b: ones(1) })] as never),
    lossy: ["out.npz", "out.h5", "out.snapshot"],
    never: ["out.safetensors"],
  },
  text: { source: () => new TensorDict({ a: ones(2), n: { s: value("text") } }), lossy: [] },
  texts: {
    source: () =>
      new TensorDict({
        l: value([
          ["a", "bc"],
          ["", "z\u00fc"],
        ]),
      }),
    lossy: ["out.h5"],
  },
  "text that ends with NUL": { source: () => new TensorDict({ s: value("a\0") }), lossy: ["out.npz", "out.h5"] },
  number: { source: () => new TensorDict({ a: ones(2), i: value(3), f: value(0.5) }), lossy: ["out.npz"] },
  json: {
    source: () => new TensorDict({ a: ones(2), j: value({ k: [1, null, "x"], 2: {} }), e: value(null) }),
    lossy: ["out.npz", "out.h5"],
  },
  "text with NUL": { source: () => new TensorDict({ s: value("a\0b") }), lossy: ["out.h5"] },
  "large integer": { source: () => new TensorDict({ i: value(2n ** 70n) }), lossy: ["out.npz", "out.h5"] },
  "stack of values": {
    source: () => new TensorDict({ s: new NonTensorStack(["x", "y"]) as never }, [2]),
    lossy: ["out.safetensors", "out.npz", "out.h5", "out.snapshot"],
  },
  MetaData: {
    source: () => new TensorDict({ m: new MetaData("one") as never }),
    lossy: ["out.consolidated", "out.safetensors", "out.npz", "out.h5", "out.snapshot"],
  },
  "key with a dot": {
    source: () => new TensorDict({ "a.b": ones(2), c: ones(1) }),
    lossy: ["out.npz", "out.snapshot"],
  },
  "key with a dot beside its level": {
    source: () => new TensorDict({ "a.b": ones(2), a: { b: ones(1) } }),
    lossy: [],
    never: ["out.safetensors", "out.npz", "out.snapshot"],
  },
  "key beside the beginning of another": {
    source: () => new TensorDict({ a: ones(2), "a.b": ones(1) }),
    lossy: [],
  },
  "key with a slash": { source: () => new TensorDict({ "a/b": ones(2) }), lossy: [], never: ["out.h5"] },
  "key that leaves its archive": {
    source: () => new TensorDict({ "../a": ones(2) }),
    lossy: ["out.snapshot"],
    never: ["out.npz", "out.h5"],
  },
  "empty key": { source: () => new TensorDict({ "": ones(2) }), lossy: [], never: ["out.h5", "out.snapshot"] },
  "long key": {
    source: () => new TensorDict({ a: { ["k".repeat(240)]: { ["l".repeat(240)]: ones(1) } } }),
    lossy: [],
    never: ["out.snapshot"],
  },
  "key of the structure": {
    source: () => new TensorDict({ leaves: { a: ones(1) } }),
    lossy: [],
    never: ["out.consolidated"],
  },
  "key of the header": {
    source: () => new TensorDict({ __metadata__: ones(2) }),
    lossy: [],
    never: ["out.safetensors", "out.npz"],
  },
  header: { source: () => new TensorDict({ a: ones(1), __metadata__: value({ format: "pt" }) }), lossy: [] },
  "header of other values": {
    source: () => new TensorDict({ a: ones(1), __metadata__: value({ n: [1, true] }) }),
    lossy: [],
  },
  "header that claims a structure": {
    source: () => new TensorDict({ a: ones(1), __metadata__: value({ tensordict: "{}" }) }),
    lossy: [],
  },
  "header below": {
    source: () => new TensorDict({ n: { a: ones(1), __metadata__: value({ format: "pt" }) } }),
    lossy: ["out.npz", "out.h5"],
  },
  "empty level": { source: () => new TensorDict({ a: ones(1), e: {} }), lossy: ["out.npz", "out.snapshot"] },
  bfloat16: { source: () => new TensorDict({ a: ones(1).to("bfloat16") }), lossy: [], never: ["out.npz", "out.h5"] },
  complex128: { source: () => new TensorDict({ a: ones(1).to("complex128") }), lossy: [], never: ["out.safetensors"] },
  float8: {
    source: () => new TensorDict({ a: ones(1).to("float8_e4m3fn") }),
    lossy: [],
    never: ["out.npz", "out.h5", "out.snapshot"],
  },
};

describe.each(Object.entries(CASES))("%s", (name, { source, lossy, never = [] }) => {
  const folder = mkdtempSync(join(dir, "case-"));
  const from = join(folder, "from");
  source().memmap(from);
  if (name.startsWith("tensorclass")) renameClass(from);

  test.each(TARGETS)("to %s and back", async (to) => {
    const path = join(folder, to);
    const done = await zensor("convert", from, path);
    if (never.includes(to)) {
      expect(done).toMatchObject({ code: 1, out: "", err: expect.stringContaining("cannot be made of this") });
      // Tensors are never left out.
      expect((await zensor("convert", from, path, "--lossy")).code).toBe(1);
      expect(readdirSync(folder).filter((file) => file.startsWith(to === "out" ? "out.new" : to))).toEqual([]);
      return;
    }
    if (lossy.includes(to)) {
      expect(done).toMatchObject({ code: 1, out: "", err: expect.stringContaining("--lossy") });
      expect(existsSync(path)).toBe(false);
      const agreed = await zensor("convert", from, path, "--lossy");
      expect(agreed).toMatchObject({ code: 0, err: expect.stringContaining("left out") });
    } else {
      expect(done).toMatchObject({ code: 0, err: "" });
    }
    const back = join(folder, `back-${to}`);
    // A class is known to the programs that define it, and to no .pt file.
    if (to === "out.pt" && name.startsWith("tensorclass")) return;
    expect(await zensor("convert", path, back, "--to", "memmap")).toMatchObject({ code: 0, err: "" });
    const { code, out } = await zensor("diff", from, back);
    // What is not named as lost comes back; what is named is really lost.
    expect({ code, out: lossy.includes(to) ? "" : out }).toEqual({ code: lossy.includes(to) ? 1 : 0, out: "" });
  });
});

describe("sources", () => {
  test("parameters of .pt files", async () => {
    const from = join(dir, "parameters.pt");
    saveTorch({ w: new nn.Parameter(ones(2)), b: ones(1) }, from);
    const done = await zensor("convert", from, join(dir, "parameters.safetensors"));
    expect(done).toMatchObject({ code: 1, err: expect.stringContaining("requires_grad: w\n") });
    expect((await zensor("convert", from, join(dir, "copy.pt"))).code).toBe(0);
    expect(await zensor("diff", from, join(dir, "copy.pt"))).toMatchObject({ code: 0, out: "" });
    expect((await zensor("convert", from, join(dir, "parameters"), "--lossy")).code).toBe(0);
    expect(await zensor("diff", from, join(dir, "parameters"))).toMatchObject({ out: "w: requires_grad differs" });
  });
  test("strings beside the structure of a safetensors file", async () => {
    const from = join(dir, "structured.safetensors");
    toSafetensors(new TensorDict({ a: ones(2) }, [2]) as never, from);
    const { metadata } = new SafetensorsFile(from);
    saveSafetensors({ a: ones(2) }, from, { metadata: { ...Object.fromEntries(metadata), format: "pt" } });
    expect((await zensor("convert", from, join(dir, "structured"))).code).toBe(0);
    expect((await zensor("inspect", join(dir, "structured"))).out).toContain('__metadata__ = {"format": "pt"}');
  });
  test("a name beside the beginning of others, as quantized models have it", async () => {
    const from = join(dir, "beside.safetensors");
    saveSafetensors({ "l.w": ones(2), "l.w.scale": ones(1), "l.b": ones(1) }, from);
    for (const to of ["beside", "beside.pt", "beside.npz", "beside.snapshot"]) {
      expect(await zensor("convert", from, join(dir, to))).toMatchObject({ code: 0, err: "" });
      expect(await zensor("convert", join(dir, to), join(dir, `${to}.back.safetensors`))).toMatchObject({ code: 0 });
      const bytes = async (path: string) => Buffer.from(await Bun.file(path).arrayBuffer());
      expect(await bytes(join(dir, `${to}.back.safetensors`))).toEqual(await bytes(from));
    }
  });
  test("an array of that name is no header", async () => {
    const from = join(dir, "header.npz");
    saveNpz(from, { __metadata__: ones(3), a: ones(1) });
    expect((await zensor("inspect", from)).out).toMatch(/__metadata__ +float32 +\[3\]/);
  });
  test("quantized GGUF files name their blocks", async () => {
    const from = join(import.meta.dir, "..", "fixtures", "gguf", "all.gguf");
    const to = join(dir, "gguf");
    const done = await zensor("convert", from, to);
    expect(done).toMatchObject({ code: 1, err: expect.stringMatching(/quantization \(blocks become bytes\): \w/) });
    expect((await zensor("convert", from, to, "--lossy")).code).toBe(0);
    expect(await zensor("diff", from, to)).toMatchObject({ code: 0, out: "" });
    expect((await zensor("inspect", to)).out).toContain('"x.u64": 18446744073709551615');
  });
  test.skipIf(!hasHdf5)("HDF5 files have no batch sizes, and none are made up", async () => {
    const from = join(dir, "same.safetensors");
    saveSafetensors({ a: ones(3), b: ones(3) }, from);
    expect((await zensor("convert", from, join(dir, "same.h5"))).code).toBe(0);
    expect(await zensor("diff", from, join(dir, "same.h5"))).toMatchObject({ code: 0, out: "" });
  });
  test("floats of a directory stay floats", async () => {
    const from = join(dir, "floats");
    new TensorDict({ v: value(float(2)) }).memmap(from);
    expect((await zensor("convert", from, join(dir, "floats.tdz"))).code).toBe(0);
    expect((await zensor("convert", join(dir, "floats.tdz"), join(dir, "floats2"))).code).toBe(0);
    expect(await Bun.file(join(dir, "floats2", "v", "meta.json")).text()).toContain('"data": 2.0');
  });
  test("names from files do not reach the terminal as they are", async () => {
    const from = join(dir, "bell");
    new TensorDict({ "\u001b[31m\n": value(3) }).memmap(from);
    const { err } = await zensor("convert", from, join(dir, "bell.npz"));
    expect(err).toContain("\\u001b[31m\\n");
  });
  test("--json says what was left out", async () => {
    const from = join(dir, "json");
    new TensorDict({ a: tensor([1, 2]) }, [2]).memmap(from);
    const { out, err } = await zensor("convert", from, join(dir, "json.npz"), "--lossy", "--json");
    expect(JSON.parse(out)).toEqual({
      path: join(dir, "json.npz"),
      format: "npz",
      tensors: 1,
      nbytes: 8,
      lost: ["batch sizes: (all) [2]"],
    });
    expect(err).toContain("left out");
    writeFileSync(join(dir, "x"), "");
    expect(await zensor("convert", join(dir, "x"), join(dir, "y.npz"), "--json")).toMatchObject({ code: 1, out: "" });
  });
});
