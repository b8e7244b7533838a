// Tables of every type that pyarrow has (scripts/oracle/make_table_kinds.py): each row is what it means.
import "../../src/install.ts";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TensorDict, tensordict } from "../../src/index.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { TensorDictBase } from "../../src/tensordict/index.ts";

const FOLDER = join(import.meta.dir, "..", "fixtures", "tables", "kinds");
const at = (name: string) => join(FOLDER, name);
type Said = { type: string; unit?: string; rows: unknown[] };
const KINDS: Record<string, Said> = JSON.parse(readFileSync(at("kinds.json"), "utf8"));
const NUMBERS: Record<string, unknown[]> = JSON.parse(readFileSync(at("numbers.json"), "utf8"));
const FACTORS: Record<string, bigint> = { day: 86_400_000_000_000n, s: 10n ** 9n, ms: 10n ** 6n, us: 1000n, ns: 1n };
const NO_TIME = -(2n ** 63n);
const isMoment = ({ type }: Said) => type === "timestamp" || type.startsWith("date");

/** Rows as they are compared: numbers of tensors, bytes by their digits, dates by their milliseconds. */
function rowsOf(entry: unknown): unknown[] {
  const list = entry as { unbind?: () => Tensor[]; dtype?: { name: string }; toDict?: () => Record<string, unknown> };
  if (list.constructor.name === "NestedTensor") return (list.unbind as () => Tensor[])().map(rowsOf);
  if (list.dtype?.name.endsWith("int64")) return [...((entry as Tensor).typedArray() as BigInt64Array)];
  return (entry as { tolist(): unknown[] }).tolist();
}

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array && value.constructor === Uint8Array)
    return { bytes: Buffer.from(value).toString("hex") };
  if (value instanceof Date) return { date: value.getTime() };
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : { whole: String(value) };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
}

/** What is expected of a time: its unit is told by its kind. */
function timesOf(said: Said, none: unknown): unknown[] {
  const factor = FACTORS[said.unit as string] as bigint;
  return said.rows.map((row) => (row === null ? none : BigInt(row as number) * factor));
}

/** A map's pairs as the object that they are. */
const mapOf = (row: unknown) =>
  row === null ? null : Object.fromEntries((row as { pair: [unknown, unknown] }[]).map(({ pair }) => pair));

function expectedOf(name: string, said: Said, where: "arrow" | "parquet"): unknown[] {
  if (said.type.startsWith("map")) return said.rows.map(mapOf);
  if (name === "shaped") return said.rows.map((row) => [(row as number[]).slice(0, 2), (row as number[]).slice(2)]);
  if (said.unit === undefined) return said.rows;
  if (said.type.startsWith("date") || (where === "arrow" && isMoment(said))) {
    return timesOf(said, null).map((ns) => (ns === null ? null : { date: Math.floor(Number(ns) / 1e6) }));
  }
  return timesOf(said, where === "arrow" ? 0n : NO_TIME).map(plain);
}

/** What takes the place of a row without a value. */
function withGaps(rows: unknown[], found: unknown[]): unknown[] {
  return rows.map((row, i) => {
    const [own] = [found[i]];
    if (row === null && typeof own === "number") return own === 0 || Number.isNaN(own) ? own : "a gap";
    if (row === null && own === false) return false;
    if (row === null && Array.isArray(own)) return own.every((one) => Number.isNaN(one)) ? own : "a gap";
    if (Array.isArray(row) && Array.isArray(own) && row.length === own.length) return withGaps(row, own);
    return typeof row === "number" && typeof own === "number" && Math.fround(row) === own ? own : row;
  });
}

function compare(td: TensorDictBase, where: "arrow" | "parquet", names: readonly string[]): void {
  for (const name of names) {
    const said = KINDS[name] as Said;
    const entry = td.get(name as never) as unknown;
    if (where === "arrow" && said.type.startsWith("struct")) continue;
    let found = rowsOf(entry).map(plain);
    let rows = expectedOf(name, said, where);
    // pandas has float64 for whole numbers with gaps.
    if (where === "parquet" && (entry as Tensor).dtype?.name === "float64") {
      rows = rows.map((row) =>
        row !== null && typeof row === "object" ? Number((row as { whole: string }).whole) : row,
      );
    }
    found = found.map((row) => (row === undefined ? null : row));
    expect([name, found]).toEqual([name, withGaps(rows, found)]);
  }
}

const ARROW = ["all.arrow", "all.arrows", "lz4.arrow", "zstd.arrow"];
const PARQUET = ["none", "snappy", "gzip", "brotli", "zstd", "lz4", "plain"];
const IN_PARQUET = Object.keys(KINDS).filter(
  (name) =>
    !["decimal_scaled", "interval", "bool8", "dense", "sparse", "runs", "list_view", "large_list_view"].includes(name),
);

for (const name of ARROW) {
  test(`${name}: every type of Arrow`, () => {
    compare(TensorDict.fromArrow(at(name), { nulls: "fill" }), "arrow", Object.keys(KINDS));
  });
}

test("fields of structs in Arrow files have their meaning, too", () => {
  const td = TensorDict.fromArrow(at("all.arrow"), { nulls: "fill" });
  expect((td.get(["structs", "a"]) as Tensor).tolist()).toEqual([1, 0, 0]);
  expect((td.get(["structs", "b"]) as unknown as { tolist(): unknown[] }).tolist()).toEqual(["x", null, "z"]);
  expect((td.get(["struct_times", "d"]) as Tensor).tolist()).toEqual([1e9, 0, 0]);
  expect((td.get(["struct_times", "m"]) as Tensor).tolist()).toEqual([1.5, Number.NaN, 2]);
});

for (const name of PARQUET) {
  test(`${name}.parquet: every type of Parquet`, () => {
    compare(TensorDict.fromParquet(at(`${name}.parquet`)), "parquet", IN_PARQUET);
  });
}

test("a Parquet file without Arrow's schema: types are those that it has itself", () => {
  const td = TensorDict.fromParquet(at("bare.parquet"));
  const unknown = ["fixed_lists", "shaped", "number_codes"];
  compare(
    td,
    "parquet",
    IN_PARQUET.filter(
      (name) => !name.startsWith("duration") && !name.includes("struct_times") && !unknown.includes(name),
    ),
  );
  expect((td.get("fixed_lists") as Tensor).tolist()).toEqual([
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
  expect(td.get("struct_times").tolist()).toEqual([{ d: 1000, m: 1.5 }, null, { d: null, m: 2 }]);
});

test("tensors whose dimensions are stored in another order are as Arrow means them, over row groups", () => {
  const one = [
    [
      [1, 4],
      [2, 5],
      [3, 6],
    ],
    [
      [7, 10],
      [8, 11],
      [9, 12],
    ],
  ];
  for (const td of [TensorDict.fromArrow(at("permuted.arrow")), TensorDict.fromParquet(at("permuted.parquet"))]) {
    expect((td.get("d") as Tensor).tolist()).toEqual([...one, ...one]);
  }
});

test("times of 96 bits", () => {
  const td = TensorDict.fromParquet(at("int96.parquet"));
  expect([...(td.get("t") as Tensor).typedArray()]).toEqual([1n, NO_TIME, -1n]);
});

for (const name of ["delta1", "delta2", "split1", "split2", "pages"]) {
  test(`${name}.parquet: numbers and texts in every encoding, over many pages`, async () => {
    const path = at(`${name}.parquet`);
    const all = (td: TensorDictBase, key: string) => rowsOf(td.get(key as never)).map(plain);
    const td = TensorDict.fromParquet(path);
    const parts: TensorDictBase[] = [];
    for await (const part of tensordict.readTable(path, { rows: 100 })) parts.push(part as unknown as TensorDictBase);
    for (const [key, rows] of Object.entries(NUMBERS)) {
      const isNumber = typeof rows.find((row) => row !== null) === "number";
      const expected = rows.map((row) => (row === null && isNumber ? Number.NaN : row));
      expect([key, all(td, key)]).toEqual([key, expected]);
      expect([key, parts.flatMap((part) => all(part, key))]).toEqual([key, expected]);
    }
  });
}
