// Arrow and Parquet files written by pyarrow and Python's tensordict (test/fixtures/tables), and tables of our own.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as arrow from "apache-arrow";
import { arange, nested, ones, tensor, zeros } from "../../src/index.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { NonTensorStack, TensorDict, type TensorDictBase } from "../../src/tensordict/index.ts";

const fixture = (name: string) => join(import.meta.dir, "..", "fixtures", "tables", name);
const expected: Record<string, { dtype: string; shape: number[]; hex: string }> = JSON.parse(
  readFileSync(fixture("expected.json"), "utf8"),
);
const folder = mkdtempSync(join(tmpdir(), "zensor-arrow-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = (name: string) => join(folder, name);
const get = (td: TensorDictBase, ...key: string[]) => td.get(key as never) as Tensor;
const hex = (t: Tensor) => {
  const { buffer, byteOffset, byteLength } = t.contiguous().typedArray();
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString("hex");
};
const TEXTS = ["a", 'b,"c"', "", "ü\nd"];

test("an Arrow file of Python's gives the same tensors, nested and of more dimensions", () => {
  const td = TensorDict.fromArrow(fixture("shaped.arrow"));
  expect([...td.batchSize]).toEqual([4]);
  for (const [name, { dtype, shape, hex: bytes }] of Object.entries(expected)) {
    const t = get(td, ...name.split("."));
    expect([name, t.dtype.name, [...t.shape], hex(t)]).toEqual([name, dtype, shape, bytes]);
  }
  expect(td.get("text").tolist()).toEqual(TEXTS);
});

test("a Parquet file of Python's gives the same tensors, whatever its row groups", () => {
  for (const name of ["flat.parquet", "groups.parquet"]) {
    const td = TensorDict.fromParquet(fixture(name), { separator: "." });
    for (const key of ["f32", "f64", "i8", "i64", "u16", "bool", "obs.x", "obs.deep.y"]) {
      const t = get(td, ...key.split("."));
      expect([key, t.dtype.name, hex(t)]).toEqual([key, expected[key]?.dtype as string, expected[key]?.hex as string]);
    }
    expect(td.get("text").tolist()).toEqual(TEXTS);
  }
  const some = TensorDict.fromParquet(fixture("flat.parquet"), { columns: ["i8", "bool"], dtype: "float32" });
  expect([...some.keys()].sort()).toEqual(["bool", "i8"]);
  expect(get(some, "i8").dtype.name).toBe("float32");
  expect(() => TensorDict.fromParquet(fixture("flat.parquet"), { columns: ["none"] })).toThrow("none");
});

test("numbers of a table are tensors over its memory, both ways", () => {
  const numbers = new Float32Array([1, 2, 3]);
  const td = new TensorDict({ a: tensor(numbers), i: tensor([1n, 2n, 3n]) }, [3]);
  const table = td.toArrow() as unknown as arrow.Table;
  expect(table).toBeInstanceOf(arrow.Table);
  const column = table.getChild("a")?.data[0]?.values as Float32Array;
  get(td, "a").fill_(7);
  expect([...column]).toEqual([7, 7, 7]);
  const back = TensorDict.fromArrow(table);
  get(back, "i").mul_(2);
  expect(Array.from(table.getChild("i")?.toArray() ?? [])).toEqual([2n, 4n, 6n]);
  const copied = TensorDict.fromArrow(table, { copy: true });
  get(copied, "a").zero_();
  expect([...column]).toEqual([7, 7, 7]);
  expect(get(TensorDict.fromArrow(table.slice(1)), "a").tolist()).toEqual([7, 7]);
  expect(get(TensorDict.fromArrow(table.batches[0] as object), "i").tolist()).toEqual([2, 4, 6]);
});

test("every dtype, shape and value comes back through a file", () => {
  const dtypes = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
  ];
  const entries = Object.fromEntries(
    dtypes.map((dtype) => [
      dtype,
      arange(6)
        .view(3, 2)
        .to(dtype as never),
    ]),
  );
  const td = new TensorDict(
    {
      ...entries,
      bool: tensor([true, false, true]),
      flags: tensor([
        [true, false],
        [false, true],
        [true, true],
      ]),
      none: zeros(3, 0),
      sub: { deep: { x: ones(3, 2, 2) } },
      text: new NonTensorStack(["a", null, "ü"]),
      lists: new NonTensorStack([["a"], [], ["b", "c"]]),
      numbers: new NonTensorStack([1, 2, 3]),
      ragged: nested.nestedTensor([ones(2, 2), zeros(0, 2), ones(1, 2)]),
    },
    [3],
  );
  const bytes = arrow.tableToIPC(td.toArrow() as unknown as arrow.Table, "file");
  writeFileSync(path("all.arrow"), bytes);
  for (const source of [path("all.arrow"), bytes, td.toArrow()]) {
    const back = TensorDict.fromArrow(source, { nulls: "fill" });
    for (const name of [...dtypes, "bool", "flags", "none"]) {
      expect([name, get(back, name).dtype.name, get(back, name).equal(get(td, name))]).toEqual([
        name,
        get(td, name).dtype.name,
        true,
      ]);
    }
    expect(get(back, "sub", "deep", "x").shape).toEqual([3, 2, 2] as never);
    expect(back.get("text").tolist()).toEqual(["a", null, "ü"]);
    expect(back.get("lists").tolist()).toEqual([["a"], [], ["b", "c"]]);
    const rows = (back.get("ragged") as unknown as { unbind(): Tensor[] }).unbind();
    expect(rows.map((row) => [...row.shape])).toEqual([
      [2, 2],
      [0, 2],
      [1, 2],
    ]);
  }
  expect([...TensorDict.fromArrow(td.select("bool").at("0:0").toArrow()).batchSize]).toEqual([0]);
});

test("tables of several parts are joined", () => {
  const part = (from: number) =>
    new TensorDict({ a: arange(from, from + 3), s: new NonTensorStack(["x", "y", "z"]), b: { c: ones(3, 2) } }, [3]);
  const tables = [part(0), part(3)].map((td) => td.toArrow() as unknown as arrow.Table);
  const table = (tables[0] as arrow.Table).concat(tables[1] as arrow.Table);
  expect(table.batches.length).toBe(2);
  const td = TensorDict.fromArrow(table);
  expect(get(td, "a").tolist()).toEqual([0, 1, 2, 3, 4, 5]);
  expect(td.get("s").tolist()).toEqual(["x", "y", "z", "x", "y", "z"]);
  expect(get(td, "b", "c").shape).toEqual([6, 2] as never);
});

test("rows without a value are refused, filled or marked as Python does", () => {
  const table = arrow.tableFromIPC(readFileSync(fixture("nulls.arrow")));
  const fill: Record<string, unknown> = {
    gaps: [1, 0, 3],
    floats: [1.5, Number.NaN, 3],
    truths: [true, false, false],
    texts: ["a", null, "c"],
    pairs: [
      [1, 2],
      [Number.NaN, Number.NaN],
      [5, 6],
    ],
  };
  for (const name of ["gaps", "floats", "truths", "texts", "lists", "pairs"]) {
    expect(() => TensorDict.fromArrow(table.select([name]))).toThrow(
      `The Arrow column ('${name}',) has 1 null value(s). Pass nulls='fill' to fill them, or nulls='mask' to also`,
    );
    const marked = TensorDict.fromArrow(table.select([name]), { nulls: "mask", maskKey: ["m", "q"] });
    expect(get(marked, "m", "q", name).tolist()).toEqual([true, false, true]);
    if (name in fill) expect(get(marked, name).tolist()).toEqual(fill[name] as never);
  }
  expect(() => TensorDict.fromArrow(table.select(["struct"]))).toThrow("The Arrow column ('struct', 'a') has 1 null");
  const struct = TensorDict.fromArrow(table.select(["struct"]), { nulls: "mask" });
  expect([get(struct, "struct", "a").tolist(), struct.get(["struct", "b"] as never)]).toBeDefined();
  expect(get(struct, "struct", "a").tolist()).toEqual([1, 0, 3]);
  expect(get(struct, "_mask", "struct", "b").tolist()).toEqual([true, false, true]);
  expect(TensorDict.fromArrow(table, { nulls: "fill" }).has("_mask")).toBe(false);
  expect(() => TensorDict.fromArrow(table, { nulls: "drop" as never })).toThrow(
    "nulls must be one of ('raise', 'fill', 'mask'), got 'drop'.",
  );
  expect(() => TensorDict.fromArrow(table, { maskKey: "m" })).toThrow(
    "from_arrow got a mask_key but nulls='raise', not 'mask'.",
  );
  expect(() => TensorDict.fromArrow(table, { nulls: "mask", maskKey: "gaps" })).toThrow(
    "which is a column of the table.",
  );
});

test("gaps of Parquet files are what pyarrow gives NumPy", () => {
  const td = TensorDict.fromParquet(fixture("nulls.parquet"));
  expect([get(td, "gaps").dtype.name, get(td, "gaps").tolist()]).toEqual(["float64", [1, Number.NaN, 3]]);
  expect(get(td, "floats").tolist()).toEqual([1.5, Number.NaN, 3]);
  expect(td.get("truths").tolist()).toEqual([true, null, false]);
  expect(td.get("texts").tolist()).toEqual(["a", null, "c"]);
  expect(td.get("lists").tolist()).toEqual([[1, 2], null, [3]]);
  expect(td.get("pairs").tolist()).toEqual([[1, 2], null, [5, 6]]);
  expect(td.get("struct").tolist()).toEqual([{ a: 1, b: "x" }, null, { a: 3, b: "z" }]);
});

test("lists, dictionaries, times and bytes are read as Python reads them", () => {
  const td = TensorDict.fromArrow(fixture("kinds.arrow"));
  const rows = (td.get("ids") as unknown as { unbind(): Tensor[] }).unbind();
  expect(rows.map((row) => row.tolist())).toEqual([[1, 2], [], [3]]);
  expect(td.get("codes").tolist()).toEqual(["x", "y", "x"]);
  expect(td.get("when").tolist()).toEqual([new Date(0), new Date(1000), new Date(2000)]);
  expect(td.get("words").tolist()).toEqual([["a"], [], ["b", "c"]]);
  const times = TensorDict.fromParquet(fixture("kinds.parquet"));
  expect([get(times, "when").dtype.name, get(times, "when").tolist()]).toEqual(["int64", [0, 1e9, 2e9]]);
  expect(times.get("codes").tolist()).toEqual(["x", "y", "x"]);
});

test("Parquet files are written and read back, compressed in every way", () => {
  const td = new TensorDict(
    { f: ones(5), i: arange(5), b: ones(5).bool(), n: { s: new NonTensorStack(["a", "b", "c", "d", null]) } },
    [5],
  );
  for (const compression of ["snappy", "zstd", "gzip", "brotli", "lz4", "none"]) {
    td.toParquet(path("a.parquet"), { separator: ".", compression, rowGroupSize: 2 });
    const back = TensorDict.fromParquet(path("a.parquet"), { separator: "." });
    for (const name of ["f", "i", "b"]) expect(get(back, name).equal(get(td, name))).toBe(true);
    expect(back.get(["n", "s"]).tolist()).toEqual(["a", "b", "c", "d", null]);
  }
  expect(() => td.toParquet(path("b.parquet"))).toThrow("requires a separator parameter");
  expect(() => td.select("f").toParquet(path("b.parquet"), { compression: "none such" })).toThrow(
    "unknown compression",
  );
  expect(() => new TensorDict({ a: ones(2, 3) }, [2]).toParquet(path("b.parquet"))).toThrow("Only 1D tensors");
  expect(readdirSync(folder).filter((name) => name !== "all.arrow")).toEqual(["a.parquet"]);
});

test("a text that begins with a byte order mark keeps it", () => {
  const texts = ["\ufeffa", "", "\ufeff", "\ufeff\ufeffb", "c\ufeff", "\u00ef"];
  const td = new TensorDict({ t: new NonTensorStack(texts) }, [texts.length]);
  td.toParquet(path("marks.parquet"));
  expect(TensorDict.fromParquet(path("marks.parquet")).get("t").tolist()).toEqual(texts);
  expect(TensorDict.fromArrow(td.toArrow()).get("t").tolist()).toEqual(texts);
  const large = new arrow.Table({ t: arrow.vectorFromArray(texts, new arrow.LargeUtf8()) });
  expect(TensorDict.fromArrow(large.slice(2)).get("t").tolist()).toEqual(texts.slice(2));
});

test("broken files are one error with the file's name", () => {
  const parts: [string, number, (file: string) => unknown][] = [
    ["shaped.arrow", 20, (file) => TensorDict.fromArrow(file, { nulls: "fill" })],
    ["kinds.arrow", 20, (file) => TensorDict.fromArrow(file, { nulls: "fill" })],
    ["flat.parquet", 100, (file) => TensorDict.fromParquet(file)],
  ];
  for (const [name, rounds, read] of parts) {
    const whole = readFileSync(fixture(name));
    const broken = path("broken");
    for (let i = 0; i < rounds; i++) {
      const bytes = i < 20 ? whole.subarray(0, Math.floor((whole.length * i) / 20)) : Buffer.from(whole);
      if (i >= 20) for (let j = 0; j < 4; j++) bytes[(i * 7919 + j * 104729) % bytes.length] = (i * 31 + j) & 255;
      writeFileSync(broken, bytes);
      try {
        read(broken);
      } catch (error) {
        const { name: kind, message } = error as Error;
        expect([kind, kind === "FormatError" && message.includes(broken), message]).toEqual([kind, true, message]);
      }
    }
  }
  expect(() => TensorDict.fromArrow(path("none"))).toThrow("No such file or directory");
  expect(() => TensorDict.fromArrow({})).toThrow("fromArrow takes a table or a record batch");
  expect(() => TensorDict.fromParquet(fixture("flat.csv"))).toThrow("it is no Parquet file that can be read");
});

test("batches of other ranks and mixed values have no table", () => {
  expect(() => new TensorDict({}, []).toArrow()).toThrow(
    "to_arrow needs a tensordict with one batch dimension, got the batch size torch.Size([]). Call td.reshape(-1)",
  );
  const mixed = new TensorDict({ v: new NonTensorStack(["a", 1]) }, [2]);
  expect(() => mixed.toArrow()).toThrow("the values of the column 'v' are of several kinds: str, float");
  expect(() => new TensorDict({ a: ones(2).bfloat16() }, [2]).toArrow()).toThrow("unsupported ScalarType BFloat16");
});
