// What Arrow tables are made of, as the package apache-arrow has it and as files are read here.

/** A type, by its number in Arrow's schema (-1: a dictionary). */
export interface ArrowType {
  typeId: number;
  bitWidth?: number;
  byteWidth?: number;
  isSigned?: boolean;
  precision?: number;
  scale?: number;
  listSize?: number;
  unit?: number;
  mode?: number;
  /** The numbers of a union's members, in order. */
  typeIds?: ArrayLike<number>;
  children?: ArrowField[] | null;
  /** The type of a dictionary's indices, and of its values. */
  indices?: ArrowType;
  dictionary?: ArrowType;
  id?: number;
  toString(): string;
}

export interface ArrowField {
  name: string;
  type: ArrowType;
  metadata: ReadonlyMap<string, string>;
}

export interface ArrowData {
  type: ArrowType;
  length: number;
  offset: number;
  nullCount: number;
  values: NodeJS.TypedArray | undefined;
  valueOffsets: Int32Array | BigInt64Array | undefined;
  nullBitmap: Uint8Array | undefined;
  children: ArrowData[];
  dictionary?: { data: readonly ArrowData[] };
  /** Which member of a union each row is. */
  typeIds?: Int8Array | undefined;
  /** The lengths of list views. */
  sizes?: Int32Array | BigInt64Array;
}

export interface ArrowBatch {
  numRows: number;
  data: ArrowData;
}

export interface ArrowTable {
  schema: { fields: ArrowField[] };
  numRows: number;
  batches: readonly ArrowBatch[];
}

export const KIND = {
  dictionary: -1,
  null: 1,
  int: 2,
  float: 3,
  binary: 4,
  text: 5,
  bool: 6,
  decimal: 7,
  date: 8,
  time: 9,
  timestamp: 10,
  interval: 11,
  list: 12,
  struct: 13,
  union: 14,
  fixedBinary: 15,
  fixedList: 16,
  map: 17,
  duration: 18,
  largeBinary: 19,
  largeText: 20,
  largeList: 21,
  runs: 22,
  binaryView: 23,
  textView: 24,
  listView: 25,
  largeListView: 26,
} as const;

/** The most levels of a type. */
export const MAX_DEPTH = 64;
/** Rows that need no buffer. */
export const MOST_EMPTY = 2 ** 20;

/** The dtype of numbers; null for everything else. */
export function dtypeOf({ typeId, bitWidth, isSigned, precision }: ArrowType): string | null {
  if (typeId === KIND.int) return `${isSigned ? "int" : "uint"}${bitWidth}`;
  if (typeId === KIND.float) return ["float16", "float32", "float64"][precision as number] ?? null;
  return typeId === KIND.bool ? "bool" : null;
}

/** Whether the rows of a type are lists. */
export function isList({ typeId }: ArrowType): boolean {
  return typeId === KIND.list || typeId === KIND.largeList || typeId === KIND.fixedList;
}

/** The extension that a field says it is. */
export function extensionOf(field: ArrowField | null | undefined): string | undefined {
  return field?.metadata.get("ARROW:extension:name");
}

/** Rows of a type, of which there are none. */
export function emptyData(type: ArrowType): ArrowData {
  const children = (type.typeId === KIND.dictionary ? [] : (type.children ?? [])).map((field) => emptyData(field.type));
  const none = { offset: 0, nullCount: 0, values: undefined, valueOffsets: undefined, nullBitmap: undefined };
  return { type, length: 0, children, ...none };
}
