// Arrow tables through the npm package apache-arrow: in memory, in files and in streams.
import { TypeError } from "../../tensor/errors.ts";
import { type ArrowData, type ArrowTable, emptyData } from "../arrow/types.ts";
import { FormatError } from "../base/errors.ts";
import type { Column, Columns, NumberColumn } from "../columns/columns.ts";
import { ArrowColumns, type ArrowReading } from "./arrow-read.ts";
import { tablePackage } from "./packages.ts";

type Made = object;
type Maker = new (...args: never[]) => Made;

/** What of the package is used here. */
export interface ArrowPackage {
  Table: new (schema: Made, batches: Made[]) => ArrowTable;
  Schema: new (fields: Made[]) => Made;
  Field: new (name: string, type: Made, nullable: boolean, metadata?: Map<string, string>) => Made;
  RecordBatch: new (schema: Made, data: Made) => Made;
  makeData(options: object): ArrowData;
  vectorFromArray(values: readonly unknown[], type?: Made): { data: readonly ArrowData[]; type: Made };
  tableToIPC(table: object, form: "file" | "stream"): Uint8Array;
  RecordBatchFileWriter: new () => AsyncIterable<Uint8Array> & {
    write(batch: object): unknown;
    finish(): unknown;
    toUint8Array(sync: true): Uint8Array;
  };
  [name: string]: unknown;
}

export function arrowPackage(): ArrowPackage {
  return tablePackage<ArrowPackage>("arrow");
}

function joinArrays(arrays: readonly NodeJS.TypedArray[]): NodeJS.TypedArray {
  const first = arrays[0] as Float64Array;
  const total = arrays.reduce((n, one) => n + one.length, 0);
  const out = new (first.constructor as Float64ArrayConstructor)(total);
  let at = 0;
  for (const one of arrays) {
    out.set(one as Float64Array, at);
    at += one.length;
  }
  return out;
}

/** Which rows of several columns have a value. */
function joinValid(parts: readonly Column[], rows: readonly number[]): Uint8Array | null {
  if (parts.every((part) => part.valid === null)) return null;
  return joinArrays(parts.map((part, i) => part.valid ?? new Uint8Array(rows[i] as number).fill(1))) as Uint8Array;
}

/** Columns of the same name and type one after the other. */
function joined(parts: readonly Column[], rows: readonly number[]): Column {
  const first = parts[0] as Column;
  if (parts.length === 1) return first;
  const valid = joinValid(parts, rows);
  if (first.kind === "values")
    return { kind: "values", values: (parts as (typeof first)[]).flatMap((one) => one.values), valid };
  if (first.kind === "struct") {
    const all = parts as (typeof first)[];
    const names = [...first.fields.keys()];
    const of = (name: string) =>
      joined(
        all.map((one) => one.fields.get(name) as Column),
        rows,
      );
    return { kind: "struct", fields: new Map(names.map((name) => [name, of(name)])), valid };
  }
  if (first.kind === "ragged") {
    const all = parts as (typeof first)[];
    const offsets = new Float64Array(rows.reduce((n, one) => n + one, 0) + 1);
    let [at, base] = [0, 0];
    for (const { offsets: own } of all) {
      for (let i = 1; i < own.length; i++) offsets[++at] = base + (own[i] as number);
      base = offsets[at] as number;
    }
    const values = { ...first.values, array: joinArrays(all.map((one) => one.values.array)) };
    return { kind: "ragged", values, offsets, valid };
  }
  return { ...first, array: joinArrays((parts as NumberColumn[]).map((one) => one.array)), valid };
}

/** The columns of a table. A table of one part is not copied. */
export function columnsOfArrow(table: ArrowTable, options: ArrowReading): Columns {
  const reader = new ArrowColumns(options);
  const { fields } = table.schema;
  const batches = table.batches.filter((batch) => batch.numRows > 0);
  const rows = batches.map((batch) => batch.numRows);
  const columns = new Map<string, Column>();
  for (const [i, field] of fields.entries()) {
    if (columns.has(field.name)) throw new FormatError(`two columns have the name '${field.name}'`, options.path);
    const parts = batches.map((batch) => {
      const data = batch.data.children[i];
      if (data === undefined || data.length < batch.numRows)
        throw new FormatError("a column is too short", options.path);
      return reader.column(data, field, [field.name]);
    });
    const empty = () => reader.column(emptyData(field.type), field, [field.name]);
    columns.set(field.name, parts.length === 0 ? empty() : joined(parts, rows));
  }
  return { columns, rows: rows.reduce((n, one) => n + one, 0) };
}

// ---- to Arrow

const TYPES: Readonly<Record<string, string>> = {
  bool: "Bool",
  int8: "Int8",
  int16: "Int16",
  int32: "Int32",
  int64: "Int64",
  uint8: "Uint8",
  uint16: "Uint16",
  uint32: "Uint32",
  uint64: "Uint64",
  float16: "Float16",
  float32: "Float32",
  float64: "Float64",
};

const make = (arrow: ArrowPackage, name: string, ...args: unknown[]) =>
  new (arrow[name] as Maker)(...(args as never[]));

function bitsOf(bytes: Uint8Array): Uint8Array {
  const bits = new Uint8Array((bytes.length + 7) >> 3);
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) (bits[i >> 3] as number) |= 1 << (i & 7);
  return bits;
}

function primitive(arrow: ArrowPackage, { dtype, array }: NumberColumn): ArrowData {
  const type = make(arrow, TYPES[dtype] as string);
  const data = dtype === "bool" ? bitsOf(array as Uint8Array) : array;
  return arrow.makeData({ type, length: array.length, nullCount: 0, data });
}

function fixed(arrow: ArrowPackage, column: NumberColumn, rows: number): [ArrowData, Map<string, string> | undefined] {
  const child = primitive(arrow, column);
  if (column.inner.length === 0) return [child, undefined];
  const size = column.inner.reduce((n, one) => n * one, 1);
  const type = make(arrow, "FixedSizeList", size, new arrow.Field("item", child.type as Made, true));
  const metadata = new Map([
    ["ARROW:extension:name", "arrow.fixed_shape_tensor"],
    ["ARROW:extension:metadata", JSON.stringify({ shape: column.inner, permutation: column.inner.map((_, i) => i) })],
  ]);
  return [arrow.makeData({ type, length: rows, nullCount: 0, child }), metadata];
}

/** The type that values have in common. */
function valueType(arrow: ArrowPackage, values: readonly unknown[], name: string): Made | undefined {
  const kinds = new Set(values.filter((value) => value !== null && value !== undefined).map(kindOf));
  if (kinds.size > 1) {
    throw new TypeError(`the values of the column '${name}' are of several kinds: ${[...kinds].join(", ")}`);
  }
  const [kind] = kinds;
  const types: Record<string, () => Made> = {
    str: () => make(arrow, "Utf8"),
    bool: () => make(arrow, "Bool"),
    float: () => make(arrow, "Float64"),
    int: () => make(arrow, "Int64"),
    date: () => make(arrow, "TimestampMillisecond"),
    bytes: () => make(arrow, "Binary"),
  };
  if (kind === "list") {
    const items = valueType(
      arrow,
      values.flatMap((value) => (Array.isArray(value) ? value : [])),
      name,
    );
    return make(arrow, "List", new arrow.Field("item", items as Made, true));
  }
  if (kind === "dict") {
    const present = values.filter((value) => value !== null && value !== undefined) as Record<string, unknown>[];
    const keys = [...new Set(present.flatMap((value) => Object.keys(value)))];
    const of = (key: string) =>
      valueType(
        arrow,
        present.map((value) => value[key] ?? null),
        name,
      );
    return make(
      arrow,
      "Struct",
      keys.map((key) => new arrow.Field(key, of(key) as Made, true)),
    );
  }
  return kind === undefined ? make(arrow, "Null") : types[kind]?.();
}

function kindOf(value: unknown): string {
  if (value instanceof Date) return "date";
  if (value instanceof Uint8Array) return "bytes";
  if (Array.isArray(value)) return "list";
  const kinds: Record<string, string> = { string: "str", boolean: "bool", number: "float", bigint: "int" };
  return kinds[typeof value] ?? "dict";
}

function dataOf(arrow: ArrowPackage, name: string, column: Column, rows: number): [ArrowData, Map<string, string>?] {
  if (column.kind === "numbers") return fixed(arrow, column, rows) as [ArrowData, Map<string, string>?];
  if (column.kind === "struct") {
    const parts = [...column.fields].map(([key, inner]) => [key, ...dataOf(arrow, key, inner, rows)] as const);
    const fields = parts.map(([key, data, metadata]) => new arrow.Field(key, data.type as Made, true, metadata));
    const type = make(arrow, "Struct", fields);
    return [arrow.makeData({ type, length: rows, nullCount: 0, children: parts.map(([, data]) => data) })];
  }
  if (column.kind === "ragged") {
    const [child] = fixed(arrow, column.values, column.offsets[rows] ?? 0);
    const type = make(arrow, "LargeList", new arrow.Field("item", child.type as Made, true));
    const valueOffsets = BigInt64Array.from(column.offsets, BigInt);
    return [arrow.makeData({ type, length: rows, nullCount: 0, valueOffsets, child })];
  }
  const type = valueType(arrow, column.values, name);
  const { values } = column;
  try {
    const vector = type === undefined ? arrow.vectorFromArray(values) : arrow.vectorFromArray(values, type);
    return [(vector.data[0] as ArrowData) ?? arrow.makeData({ type: type ?? make(arrow, "Null"), length: 0 })];
  } catch (error) {
    throw new TypeError(`the values of the column '${name}' have no Arrow type: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** A table over the memory of columns. */
export function arrowOfColumns({ columns, rows }: Columns): ArrowTable {
  const arrow = arrowPackage();
  const parts = [...columns].map(([name, column]) => [name, ...dataOf(arrow, name, column, rows)] as const);
  const fields = parts.map(([name, data, metadata]) => new arrow.Field(name, data.type as Made, true, metadata));
  const schema = new arrow.Schema(fields);
  const type = make(arrow, "Struct", fields);
  const data = arrow.makeData({ type, length: rows, nullCount: 0, children: parts.map(([, one]) => one) });
  return new arrow.Table(schema, [new arrow.RecordBatch(schema, data)]);
}
