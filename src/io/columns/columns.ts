// What tables are made of, whatever file they come from or go to.

/** Numbers of one dtype, row by row. */
export interface NumberColumn {
  kind: "numbers";
  /** The dtype's name; bool has one byte an element, float16 its bits. */
  dtype: string;
  array: NodeJS.TypedArray;
  /** The sizes of one row; nothing for one number. */
  inner: readonly number[];
  /** The order in which the dimensions of a row are meant, where it is another. */
  order?: readonly number[] | null;
  /** One byte a row, 0 where the row has no value; null when all have one. */
  valid: Uint8Array | null;
}

/** Rows of numbers of different lengths, one after the other. */
export interface RaggedColumn {
  kind: "ragged";
  values: NumberColumn;
  /** Where each row begins, and where the last ends. */
  offsets: Float64Array;
  valid: Uint8Array | null;
}

/** Values that are no numbers; null where there is none. */
export interface ValueColumn {
  kind: "values";
  values: unknown[];
  valid: Uint8Array | null;
}

/** Columns within a column. */
export interface StructColumn {
  kind: "struct";
  fields: Map<string, Column>;
  valid: Uint8Array | null;
}

export type Column = NumberColumn | RaggedColumn | ValueColumn | StructColumn;

/** Columns by name, in order. */
export interface Columns {
  columns: Map<string, Column>;
  rows: number;
}

const ARRAYS = {
  bool: Uint8Array,
  uint8: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  float16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  float32: Float32Array,
  float64: Float64Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
} as const;

/** The kind of array that a dtype's elements are in; undefined for dtypes that tables do not have. */
export function arrayClass(dtype: string): (typeof ARRAYS)[keyof typeof ARRAYS] | undefined {
  return ARRAYS[dtype as keyof typeof ARRAYS];
}

/** Numbers without a row that has none. */
export function numbers(dtype: string, array: NodeJS.TypedArray, inner: readonly number[] = []): NumberColumn {
  return { kind: "numbers", dtype, array, inner, valid: null };
}

const cut = (array: NodeJS.TypedArray, from: number, to: number) => array.subarray(from, to) as NodeJS.TypedArray;

function columnRows(column: Column, from: number, to: number): Column {
  const valid = column.valid?.subarray(from, to) ?? null;
  if (column.kind === "values") return { kind: "values", values: column.values.slice(from, to), valid };
  if (column.kind === "struct") {
    const fields = new Map([...column.fields].map(([name, inner]) => [name, columnRows(inner, from, to)]));
    return { kind: "struct", fields, valid };
  }
  const each = (numbers: NumberColumn) => numbers.inner.reduce((n, one) => n * one, 1);
  if (column.kind === "numbers") {
    const row = each(column);
    return { ...column, array: cut(column.array, from * row, to * row), valid };
  }
  const { values, offsets } = column;
  const [start, stop] = [offsets[from] as number, offsets[to] as number];
  const row = each(values);
  const array = cut(values.array, start * row, stop * row);
  return {
    kind: "ragged",
    values: { ...values, array },
    offsets: offsets.slice(from, to + 1).map((at) => at - start),
    valid,
  };
}

/** The same columns, of at most so many rows at a time. Numbers stay where they are. */
export function* inParts({ columns, rows }: Columns, most: number): Generator<Columns> {
  if (rows <= most) {
    yield { columns, rows };
    return;
  }
  for (let from = 0; from < rows; from += most) {
    const to = Math.min(rows, from + most);
    yield {
      columns: new Map([...columns].map(([name, column]) => [name, columnRows(column, from, to)])),
      rows: to - from,
    };
  }
}
