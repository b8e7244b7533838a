// CSV and JSON files, as Python's tensordict writes them with pandas; test/fixtures/tables has what it wrote.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, ones, tensor, zeros } from "../../src/index.ts";
import { CsvSplitter } from "../../src/io/tables/csv-split.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { NonTensorStack, TensorDict, type TensorDictBase, UnbatchedTensor } from "../../src/tensordict/index.ts";

const FIXTURES = join(import.meta.dir, "..", "fixtures", "tables");
const fixture = (name: string) => join(FIXTURES, name);
const expected: Record<string, { dtype: string; shape: number[]; hex: string }> = JSON.parse(
  readFileSync(fixture("expected.json"), "utf8"),
);
const folder = mkdtempSync(join(tmpdir(), "zensor-tables-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
let path = "";
beforeEach(() => {
  path = join(folder, `file-${count++}`);
});
const written = (text: string | Uint8Array) => {
  writeFileSync(path, text);
  return path;
};
const text = () => readFileSync(path, "utf8");
const get = (td: TensorDict, ...key: string[]) => td.get(key as never) as Tensor;
const kinds = (td: TensorDictBase) =>
  Object.fromEntries(td.items().map(([key, value]) => [key, (value as Tensor).dtype?.name ?? "values"]));
const TEXTS = ["a", 'b,"c"', "", "ü\nd"];

/** What Python wrote into the tables. */
const flat = () => {
  const of = (key: string) => {
    const { dtype, shape, hex } = expected[key] as { dtype: string; shape: number[]; hex: string };
    return tensor(new Uint8Array(Buffer.from(hex, "hex")))
      .view(dtype as never)
      .view(shape);
  };
  const names = ["f32", "f64", "i8", "i64", "u16", "bool"];
  const entries = Object.fromEntries(names.map((name) => [name, of(name)]));
  const obs = { x: of("obs.x"), deep: { y: of("obs.deep.y") } };
  return new TensorDict({ ...entries, obs, text: new NonTensorStack(TEXTS) }, [4]);
};

test("the bytes of a CSV file are those that pandas writes", () => {
  flat().toCsv(path, { separator: "." });
  expect(text()).toBe(readFileSync(fixture("flat.csv"), "utf8"));
});

test("a CSV file of Python's is read, with the dtypes that pandas gives", () => {
  const td = TensorDict.fromCsv(fixture("flat.csv"), { separator: "." });
  expect([...td.batchSize]).toEqual([4]);
  expect(kinds(td.exclude("obs"))).toEqual({
    f32: "float64",
    f64: "float64",
    i8: "int64",
    i64: "int64",
    u16: "int64",
    bool: "bool",
    text: "values",
  });
  for (const name of ["i8", "i64", "u16"]) expect(get(td, name).equal(get(flat(), name).to("int64"))).toBe(true);
  expect(get(td, "f32").float().tolist()).toEqual(get(flat(), "f32").tolist());
  expect(get(td, "f64").equal(get(flat(), "f64"))).toBe(true);
  expect(get(td, "obs", "deep", "y").tolist()).toEqual([0, 0, 0, 0]);
  expect(td.get("text").tolist()).toEqual(["a", 'b,"c"', null, "ü\nd"]);
  const typed = TensorDict.fromCsv(fixture("flat.csv"), { dtype: "float32", usecols: ["i8", "bool"] });
  expect(kinds(typed)).toEqual({ i8: "float32", bool: "float32" });
});

test("fields become numbers, truths or texts as pandas reads them", () => {
  const rows: [string[], string, unknown[]][] = [
    [["1", " 2", "+3 "], "int64", [1, 2, 3]],
    [["1", "", "3"], "float64", [1, Number.NaN, 3]],
    [["1.", ".5", "1e3"], "float64", [1, 0.5, 1000]],
    [["inf", "-Infinity", "NaN"], "float64", [Infinity, -Infinity, Number.NaN]],
    [["9007199254740993", "-1"], "int64", [9007199254740993n, -1n]],
    [["18446744073709551615", "1"], "uint64", [18446744073709551615n, 1n]],
    [["18446744073709551616", "1"], "values", ["18446744073709551616", "1"]],
    [["True", "FALSE", "true"], "bool", [true, false, true]],
    [["True", "NA"], "values", [true, null]],
    [["True", "1"], "values", ["True", "1"]],
    [["0x10", "1"], "values", ["0x10", "1"]],
    [["1_000", "1"], "values", ["1_000", "1"]],
    [["x", "NULL", "1"], "values", ["x", null, "1"]],
    [["NaN", "None"], "float64", [Number.NaN, Number.NaN]],
    [["--1", "1"], "values", ["--1", "1"]],
  ];
  for (const [fields, dtype, values] of rows) {
    const td = TensorDict.fromCsv(written(`c,d\n${fields.map((field) => `${field},0\n`).join("")}`));
    expect([fields, kinds(td).c]).toEqual([fields, dtype]);
    const plain = typeof values[0] === "bigint" ? [...get(td, "c").typedArray()] : td.get("c").tolist();
    expect(plain as unknown[]).toEqual(values);
  }
});

test("separators, quotes, line ends, headers, rows and columns are chosen", () => {
  const read = (content: string, options = {}) => {
    const td = TensorDict.fromCsv(written(content), options);
    return Object.fromEntries(td.items().map(([key, value]) => [key, (value as Tensor).tolist()]));
  };
  expect(read("a;b\n1;x\n", { sep: ";" })).toEqual({ a: [1], b: ["x"] } as never);
  expect(read("a,b\r\n1,x\r\n2,y")).toEqual({ a: [1, 2], b: ["x", "y"] } as never);
  expect(read("a,b\n1,'x,y'\n", { quotechar: "'" })).toEqual({ a: [1], b: ["x,y"] } as never);
  expect(read('a,b\n1,"x\n\ny"\n')).toEqual({ a: [1], b: ["x\n\ny"] } as never);
  expect(read("1,2\n3,4\n", { header: false })).toEqual({ 0: [1, 3], 1: [2, 4] } as never);
  expect(read("1,2\n", { header: false, names: ["p", "q"] })).toEqual({ p: [1], q: [2] } as never);
  expect(read("a,a,\n1,2,3\n")).toEqual({ a: [1], "a.1": [2], "Unnamed: 2": [3] } as never);
  expect(read("a,b\n\n1\n\n2,3\n")).toEqual({ a: [1, 2], b: [Number.NaN, 3] } as never);
  expect(read("# made\na\n1\n2\n3\n", { skiprows: 1, nrows: 2 })).toEqual({ a: [1, 2] } as never);
  expect(read("\ufeffa\n1\n")).toEqual({ a: [1] } as never);
  expect(read("a,b\n")).toEqual({ a: [], b: [] } as never);
});

test("a row of one missing value is one, and a blank line is none", () => {
  const read = (content: string, options = {}) => {
    const td = TensorDict.fromCsv(written(content), options);
    return Object.fromEntries(td.items().map(([key, value]) => [key, (value as Tensor).tolist()]));
  };
  expect(read('a\n1\n""\n\n2\n""')).toEqual({ a: [1, Number.NaN, 2, Number.NaN] } as never);
  expect(read('a\r\n""\r\n\r\n1\r\n')).toEqual({ a: [Number.NaN, 1] } as never);
  expect(read('a\n"x\n""\ny"\n""\n\n"z"\n')).toEqual({ a: ['x\n"\ny', null, "z"] } as never);
  expect(read("a\n''\n'b'''\n", { quotechar: "'" })).toEqual({ a: [null, "b'"] } as never);
  expect(read('a;b\n1;"2;"\n""\n\n"";3\n', { sep: ";" })).toEqual({
    a: [1, Number.NaN, Number.NaN],
    b: ["2;", null, "3"],
  } as never);
  const rows = Array.from({ length: 200_000 }, (_, i) => (i % 3 === 0 ? Number.NaN : i + 0.5));
  const path = join(folder, "gaps.csv");
  new TensorDict({ a: tensor(rows, { dtype: "float64" }) }, [rows.length]).toCsv(path);
  expect((TensorDict.fromCsv(path).get("a") as Tensor).tolist()).toEqual(rows);
});

test("quotes and line ends are where pandas sees them", () => {
  // What pandas gives for each.
  const rows: [string, Record<string, unknown[]>][] = [
    ['a,b\n"x"y,2\n', { a: ["xy"], b: [2] }],
    ['a,b\nx"y",2\n', { a: ['x"y"'], b: [2] }],
    ['a,b\n"x" ,2\n', { a: ["x "], b: [2] }],
    ['a,b\n"2"3"4",1\n', { a: ['23"4"'], b: [1] }],
    ['a,b\n"a""b"c"d,2\n', { a: ['a"bc"d'], b: [2] }],
    ['a,b\n1,""""\n', { a: [1], b: ['"'] }],
    ["a,b\r1,2\r3,4\r", { a: [1, 3], b: [2, 4] }],
    ["a,b\n1,2\r3,4\r\n5,6", { a: [1, 3, 5], b: [2, 4, 6] }],
    ['a,b\n"1\r\n2",3\n', { a: ["1\r\n2"], b: [3] }],
    ['"a","b"\n1,2\n', { a: [1], b: [2] }],
  ];
  for (const [content, expected] of rows) {
    const td = TensorDict.fromCsv(written(content));
    expect([content, Object.fromEntries(td.items().map(([key, value]) => [key, (value as Tensor).tolist()]))]).toEqual([
      content,
      expected as never,
    ]);
  }
  expect(() => TensorDict.fromCsv(written('a,b\n1,"""\n'))).toThrow("Quoted field unterminated (line 2)");
  expect(() => TensorDict.fromCsv(written("a\n"), { quotechar: "''" })).toThrow('"quotechar" must be a 1-character');
  expect(() => TensorDict.fromCsv(written("a\n"), { sep: "" })).toThrow('"delimiter" must be a 1-character string');
  expect(TensorDict.fromCsv(written("a||b\n1||2\n"), { sep: "||" }).get("b").tolist()).toEqual([2]);
});

test("a text is the same wherever the pieces of a file end", () => {
  const splitAt = (text: string, at: number, separator: string) => {
    const rows: unknown[] = [];
    const splitter = new CsvSplitter(separator, '"', (fields, count, quoted) => rows.push([fields, count, quoted]), 9);
    for (const [i, piece] of [text.slice(0, at), text.slice(at), ""].entries())
      splitter.push(piece, i === 2, () => false);
    return [rows, splitter.isOpen];
  };
  const parts = ["a", '"', '""', ",", "||", "|", "\n", "\r\n", "\r", "1", '"x,\n"', ""];
  let seed = 1;
  for (let round = 0; round < 400; round++) {
    const next = () => (seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0) >>> 8;
    const text = Array.from({ length: 12 }, () => parts[next() % parts.length]).join("");
    const separator = round % 3 === 0 ? "||" : ",";
    const whole = splitAt(text, 0, separator);
    for (let at = 1; at <= text.length; at++)
      expect([text, at, splitAt(text, at, separator)]).toEqual([text, at, whole]);
  }
});

test("a field far below decides what those above are, which come back as they were written", () => {
  const fields = Array.from({ length: 40_000 }, (_, i) => (i < 20_000 ? `${i - 10}` : `${i / 8}`));
  const read = (...more: string[]) =>
    TensorDict.fromCsv(written(`c,d\n${[...fields, ...more].join(",0\n")},0\n`)).get("c");
  expect(read("x", "1.50", "-0", "1e3").tolist() as unknown).toEqual([...fields, "x", "1.50", "-0", "1e3"]);
  expect(read("1.50", "-0").tolist() as unknown).toEqual([...fields.map(Number), 1.5, -0]);
  const whole = fields.slice(0, 20_000);
  const large = TensorDict.fromCsv(written(`c\n${[...whole, "9007199254740993"].join("\n")}\n`)).get("c") as Tensor;
  expect([large.dtype.name, (large.typedArray() as BigInt64Array)[20_000]]).toEqual(["int64", 9007199254740993n]);
  expect((TensorDict.fromCsv(written(`c\n${whole.join("\n")}\n`)).get("c") as Tensor).tolist()).toEqual(
    whole.map(Number),
  );
});

test("tables that are far larger than their files are refused", () => {
  const records = Array.from({ length: 6000 }, (_, i) => `{"k${i}":${i}}`);
  expect(() => TensorDict.fromJson(written(`[${records}]`))).toThrow("ask for too much: 6000 records with 6000 fields");
  expect(() => TensorDict.fromJson(written(records.join("\n")), { lines: true })).toThrow("6000 records with 6000");
  const names = Array.from({ length: 20_000 }, (_, i) => `c${i}`);
  expect(() => TensorDict.fromCsv(written(`${names}\n${"1\n".repeat(20_000)}`))).toThrow("rows of 20000 columns");
  const deep = `[{"a":${"[".repeat(600)}${"]".repeat(600)}}]`;
  expect(() => TensorDict.fromJson(written(deep))).toThrow("its JSON is not valid: it is nested too deeply");
  // Fields that most records lack are no trouble.
  const some = Array.from({ length: 2000 }, (_, i) => `{"k${i % 1000}":${i}}`);
  expect([...TensorDict.fromJson(written(`[${some}]`)).keys()].length).toBe(1000);
});

test("rows that begin in one piece of the file and end in the next are whole", () => {
  const long = "é\n,".repeat(400_000);
  const rows = Array.from({ length: 60_000 }, (_, i) => `${i},"${i % 7}""${i}"`);
  const td = TensorDict.fromCsv(written(`n,t\n${rows.join("\n")}\n7,"${long}"\n`));
  expect([...td.batchSize]).toEqual([60_001]);
  expect(get(td, "n").narrow(0, 0, 60_000).equal(arange(60_000))).toBe(true);
  const texts = td.get("t").tolist() as string[];
  expect([texts[59_999], texts[60_000] === long]).toEqual([`${59_999 % 7}"59999`, true]);
});

test("CSV files that are none are one error, with the file's name", () => {
  const refused = (content: string | Uint8Array, message: string, options = {}) =>
    expect(() => TensorDict.fromCsv(written(content), options)).toThrow(message);
  refused("a,b\n1,2\n1,2,3\n", "Error tokenizing data. Expected 2 fields in line 3, saw 3");
  refused("", "No columns to parse from file");
  refused('a\n"open\n', "Quoted field unterminated");
  refused(new Uint8Array([97, 10, 255, 254]), "its text is not UTF-8");
  refused("a\n1\n", "Usecols do not match columns, columns expected but not found: ['z']", { usecols: ["z"] });
  refused("a,b\n1,2\n", "1 names for 2 columns", { names: ["a"] });
  refused("a,a.b\n1,2\n", "Key conflict: 'a' is both a leaf and a prefix in column names", { separator: "." });
  refused("a.b,a\n1,2\n", "Key conflict: 'a' is both a leaf and a prefix in column names", { separator: "." });
  expect(() => TensorDict.fromCsv(join(folder, "none.csv"))).toThrow("No such file or directory");
  expect(() => TensorDict.fromCsv(folder)).toThrow("directory");
});

test("batch size, device and dtype are as given", () => {
  const file = written("a,b\n1,x\n2,y\n");
  expect([...TensorDict.fromCsv(file, { autoBatchSize: true }).batchSize]).toEqual([2]);
  expect([...TensorDict.fromCsv(file, { batchSize: [] }).batchSize]).toEqual([]);
  expect(String(TensorDict.fromCsv(file, { device: "cpu" }).device)).toBe("cpu");
  expect(() => TensorDict.fromCsv(file, { batchSize: [3] })).toThrow("batch dimension mismatch");
  expect(() => TensorDict.fromCsv(file, { batchSize: [2], autoBatchSize: true })).toThrow(
    "Conflicting batch sizes in from_csv: batch_size and auto_batch_size cannot be both specified.",
  );
  const { a } = TensorDict.fromCsv<{ a: Tensor }>(file) as never as { a?: Tensor };
  expect(a).toBeUndefined();
});

test("entries that are no columns are refused in Python's words, and nothing is written", () => {
  const refused = (td: TensorDict, message: string, options = {}) => {
    for (const write of ["toCsv", "toJson"] as const) expect(() => td[write](path, options)).toThrow(message);
  };
  refused(flat(), "Nested TensorDict at key 'obs' requires a separator parameter to flatten to DataFrame columns.");
  refused(
    new TensorDict({ a: zeros(2, 3) }, [2]),
    "Cannot convert tensor with shape torch.Size([2, 3]) at key 'a' to a single DataFrame column. Only 1D tensors " +
      "(matching the batch size) are supported.",
  );
  refused(new TensorDict({ a: ones(2).bfloat16() }, [2]), "Got unsupported ScalarType BFloat16");
  refused(new TensorDict({ a: 1 }, []), "If using all scalar values, you must pass an index");
  refused(new TensorDict({ a: ones(2), b: ones(3) }, []), "All arrays must be of the same length");
  refused(new TensorDict({ t: new UnbatchedTensor(ones(2)) }, [2]), "UnbatchedTensor");
  refused(new TensorDict({ "a.b": ones(1), a: { b: ones(1) } }, [1]), "two entries have the column name 'a.b'", {
    separator: ".",
  });
  expect(readdirSync(folder).filter((name) => path.endsWith(name))).toEqual([]);
});

test("a file that cannot be finished leaves the old one", () => {
  written("old");
  const hostile = new NonTensorStack([
    {
      toJSON() {
        throw new Error("no text");
      },
    },
  ]);
  for (const write of ["toCsv", "toJson"] as const) {
    expect(() => new TensorDict({ a: hostile }, [1])[write](path)).toThrow("no text");
  }
  expect(text()).toBe("old");
  expect(readdirSync(folder).filter((name) => name.includes("tmp") || name.startsWith("."))).toEqual([]);
});

test("CSV: separators, names and missing values are written as asked", () => {
  const td = new TensorDict({ a: tensor([1, Number.NaN]), b: new NonTensorStack(["x;y", null]) }, [2]);
  td.toCsv(path, { sep: ";", naRep: "NA" });
  expect(text()).toBe('a;b\n1.0;"x;y"\nNA;NA\n');
  td.toCsv(path, { header: false });
  expect(text()).toBe("1.0,x;y\n,\n");
  new TensorDict({ a: tensor([Number.NaN, 1]) }, [2]).toCsv(path);
  expect(text()).toBe('a\n""\n1.0\n');
  expect(() => td.toCsv(path, { sep: "ab" })).toThrow('"delimiter" must be a 1-character string');
  new TensorDict({ a: 7, s: "x" }, []).expand(3).toCsv(path);
  expect(text()).toBe("a,s\n7.0,x\n7.0,x\n7.0,x\n");
});

test("float32 and float64 come back from CSV and JSON bit for bit", () => {
  const words = new Uint32Array(4000).map((_, i) => Math.imul(i + 1, 2654435761));
  const floats = tensor(new Float32Array(words.buffer).map((x) => (Number.isFinite(x) ? x : 0.1)));
  const doubles = tensor(new Float64Array(words.buffer).map((x) => (Number.isFinite(x) ? x : 0.1)));
  new TensorDict({ floats }, [4000]).toCsv(path);
  expect(get(TensorDict.fromCsv(path, { dtype: "float32" }), "floats").equal(floats)).toBe(true);
  new TensorDict({ doubles }, [2000]).toCsv(path);
  expect(get(TensorDict.fromCsv(path), "doubles").equal(doubles)).toBe(true);
  new TensorDict({ doubles }, [2000]).toJson(path);
  expect(get(TensorDict.fromJson(path), "doubles").equal(doubles)).toBe(true);
});

test("JSON files of Python's are read, and what is written reads the same", () => {
  for (const [name, lines] of [
    ["flat.json", false],
    ["flat.jsonl", true],
  ] as const) {
    const td = TensorDict.fromJson(fixture(name), { separator: ".", lines });
    expect([...td.batchSize]).toEqual([4]);
    expect(kinds(td.select("i8", "i64", "bool", "f32"))).toEqual({
      i8: "int64",
      i64: "int64",
      bool: "bool",
      f32: "float64",
    });
    expect(get(td, "i64").equal(get(flat(), "i64"))).toBe(true);
    expect(get(td, "obs", "x").tolist()).toEqual([1, 2, 3, 4]);
    expect(td.get("text").tolist()).toEqual(TEXTS);
    flat().toJson(path, { separator: ".", lines });
    const again = TensorDict.fromJson(path, { separator: ".", lines });
    expect(get(again, "i64").equal(get(flat(), "i64"))).toBe(true);
    expect(again.get("text").tolist()).toEqual(TEXTS);
    expect(get(again, "f32").float().tolist()).toEqual(get(flat(), "f32").tolist());
  }
});

test("fields of records become what their values are", () => {
  const records = [
    { a: 1, b: true, c: [1, 2], d: "x", e: [1], f: { g: 1 }, h: null, i: 1.5 },
    { a: 2, b: false, c: [3, 4], d: null, e: [1, 2], f: { g: 2 }, h: 7, i: 2, j: 5 },
  ];
  const td = TensorDict.fromJson(written(JSON.stringify(records)));
  expect(kinds(td)).toEqual({
    a: "int64",
    b: "bool",
    c: "int64",
    d: "values",
    e: "values",
    f: "values",
    h: "float64",
    i: "float64",
    j: "float64",
  });
  expect(get(td, "c").tolist()).toEqual([
    [1, 2],
    [3, 4],
  ]);
  expect([td.get("e").tolist(), td.get("f").tolist()]).toEqual([
    [[1], [1, 2]],
    [{ g: 1 }, { g: 2 }],
  ] as never);
  expect(get(td, "j").tolist()).toEqual([Number.NaN, 5]);
  expect([...TensorDict.fromJson(written("[]")).batchSize]).toEqual([0]);
  expect([...TensorDict.fromJson(written("\n\n"), { lines: true }).batchSize]).toEqual([0]);
  const safe = TensorDict.fromJson(written('[{"__proto__": 1, "constructor": 2}]'));
  expect([...safe.keys()]).toEqual(["__proto__", "constructor"]);
});

test("JSON files that are none are one error, with the file's name", () => {
  const refused = (content: string, message: string, lines = false) =>
    expect(() => TensorDict.fromJson(written(content), { lines })).toThrow(message);
  refused('{"a": 1}', "JSON file must contain an array of records for tabular import.");
  refused("[1]", "record 0 is no object");
  refused("[{", "its JSON is not valid");
  refused('{"a":1},{"a":2}\n', "a line holds more than one record", true);
  refused('{"a":1}\n[1]\n', "record 1 is no object", true);
  refused('{"a":1\n}', "its JSON is not valid", true);
});
