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
