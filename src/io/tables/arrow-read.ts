// Arrow tables: columns over the buffers of a table, which are checked before they are used.
import { ValueError } from "../../tensor/errors.ts";
import { fixedOrder, fixedShape } from "../arrow/fixed-shape.ts";
import { withMeaning } from "../arrow/meaning.ts";
import {
  type ArrowData,
  type ArrowField,
  type ArrowType,
  dtypeOf,
  KIND,
  MAX_DEPTH,
  MOST_EMPTY,
} from "../arrow/types.ts";
import { ArrowValues } from "../arrow/values.ts";
import { FormatError } from "../base/errors.ts";
import { type Column, type NumberColumn, numbers } from "../columns/columns.ts";
import type { Growth } from "../columns/growth.ts";

/** How columns are read. */
export interface ArrowReading {
  /** Whether rows without a value are allowed; their columns say which. */
  nulls: "raise" | "fill" | "mask";
  /** What may be made of a file of its size. */
  growth: Growth;
  path?: string;
}

function bad(what: string, path?: string): FormatError {
  return new FormatError(`its Arrow data is not valid: ${what}`, path);
}

/** Whether rows of a type are numbers of one shape. */
function isTensorType(type: ArrowType): boolean {
  if (type.typeId !== KIND.fixedList) return dtypeOf(type) !== null;
  return isTensorType((type.children as ArrowField[])[0]?.type as ArrowType);
}

/** Bits as bytes, one for each row. */
function bytesOfBits(bits: Uint8Array, offset: number, length: number, path?: string): Uint8Array {
  if (bits.length * 8 < offset + length) throw bad(`${bits.length} bytes hold no ${length} bits`, path);
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) {
    const at = offset + i;
    bytes[i] = ((bits[at >> 3] as number) >> (at & 7)) & 1;
  }
  return bytes;
}

/** One column, or one field of a column. */
export class ArrowColumns {
  private readonly values: ArrowValues;

  constructor(private readonly reading: ArrowReading) {
    this.values = new ArrowValues(reading.growth, reading.path);
  }

  private valid(data: ArrowData): Uint8Array | null {
    const { nullBitmap, nullCount, offset, length } = data;
    if (nullCount === 0) return null;
    this.reading.growth.spend(length);
    if (nullBitmap === undefined || nullBitmap.length === 0) {
      return nullCount >= length && length > 0 ? new Uint8Array(length) : null;
    }
    return bytesOfBits(nullBitmap, offset, length, this.reading.path);
  }

  private numbers(data: ArrowData): NumberColumn {
    const { values, length, offset, type } = data;
    const dtype = dtypeOf(type) as string;
    if (values === undefined || length === 0) {
      if (length > 0) throw bad("a column has no buffer", this.reading.path);
      return numbers(dtype, emptyOf(dtype));
    }
    if (dtype === "bool") this.reading.growth.spend(length);
    if (dtype === "bool") return numbers(dtype, bytesOfBits(values as Uint8Array, offset, length, this.reading.path));
    if (values.length < length) {
      throw bad(`a buffer of ${values.length} elements holds no ${length} rows`, this.reading.path);
    }
    return numbers(dtype, values.length === length ? values : (values.subarray(0, length) as NodeJS.TypedArray));
  }

  /** A file may claim any number of rows: its buffers have to hold them. */
  private checkLength(data: ArrowData, depth = 0): void {
    const { length, values, valueOffsets, children, type, nullBitmap, typeIds } = data;
    if (depth > MAX_DEPTH) throw bad("it is nested too deeply", this.reading.path);
    let held = Math.max(
      values === undefined ? 0 : values.length * (type.typeId === KIND.bool ? 8 : 1),
      (valueOffsets?.length ?? 0) - 1,
      (nullBitmap?.length ?? 0) * 8,
      typeIds?.length ?? 0,
      MOST_EMPTY,
    );
    for (const child of children) {
      held = Math.max(held, child.length);
      this.checkLength(child, depth + 1);
    }
    // The rows of runs are spent where they are made.
    const isHeld = length >= 0 && (length <= held || type.typeId === KIND.runs);
    if (!isHeld) throw bad(`its buffers hold no ${length} rows`, this.reading.path);
  }

  /** Numbers of one shape, those of rows without a value too. */
  private tensor(data: ArrowData, field: ArrowField | null, depth = 0): NumberColumn {
    if (depth > MAX_DEPTH) throw bad("it is nested too deeply", this.reading.path);
    if (data.type.typeId !== KIND.fixedList) return this.filled({ ...this.numbers(data), valid: this.valid(data) });
    const size = data.type.listSize as number;
    const [child] = data.children as [ArrowData];
    if (!Number.isSafeInteger(size) || size < 0 || child.length < data.length * size) {
      throw bad(`${child?.length} elements are no ${data.length} lists of ${size}`, this.reading.path);
    }
    const items = this.tensor(child, null, depth + 1);
    const used = data.length * size * items.inner.reduce((n, one) => n * one, 1);
    const array = items.array.length === used ? items.array : (items.array.subarray(0, used) as NodeJS.TypedArray);
    const inner = fixedShape(field, size, this.reading.path) ?? [size];
    this.refuseInner(items.valid?.subarray(0, data.length * size) ?? null);
    const { dtype } = items;
    const order = fixedOrder(field, inner.length, this.reading.path);
    return this.filled({
      ...{ kind: "numbers", dtype, array, inner: [...inner, ...items.inner], order, valid: this.valid(data) },
    });
  }

  private refuseInner(valid: Uint8Array | null): void {
    if (this.reading.nulls === "raise" && valid?.includes(0)) throw new InnerNulls(count(valid));
  }

  /** Rows without a value have NaN or 0. */
  private filled(column: NumberColumn): NumberColumn {
    const { valid, array, dtype } = column;
    if (valid === null || this.reading.nulls === "raise") return column;
    this.reading.growth.spend(array.byteLength);
    const copy = array.slice() as NodeJS.TypedArray;
    const row = column.inner.reduce((n, one) => n * one, 1);
    const none = dtype.startsWith("float") ? (dtype === "float16" ? 0x7e00 : Number.NaN) : 0;
    for (let i = 0; i < valid.length; i++) {
      if (valid[i] === 0) copy.fill((dtype.endsWith("int64") ? 0n : none) as never, i * row, (i + 1) * row);
    }
    return { ...column, array: copy };
  }

  /** Where each list begins, counted from the first. */
  private offsets(data: ArrowData): { offsets: Float64Array; start: number; stop: number } {
    const { valueOffsets: given, length } = data;
    const offsets = new Float64Array(length + 1);
    if (given === undefined || given.length < length + 1) {
      if (length > 0) throw bad("a list has no offsets", this.reading.path);
      return { offsets, start: 0, stop: 0 };
    }
    const start = Number(given[0]);
    let last = start;
    for (let i = 0; i <= length; i++) {
      const at = Number(given[i]);
      if (!(at >= last)) throw bad("the offsets of a list go backwards", this.reading.path);
      offsets[i] = at - start;
      last = at;
    }
    if (start < 0 || last > (data.children[0] as ArrowData).length) {
      throw bad("the offsets of a list lead outside of it", this.reading.path);
    }
    return { offsets, start, stop: last };
  }

  /** Reads one column. */
  column(given: ArrowData, field: ArrowField, path: readonly string[], depth = 0): Column {
    if (depth > MAX_DEPTH) throw bad("it is nested too deeply", this.reading.path);
    if (depth === 0) this.checkLength(given);
    const { type } = given;
    const valid = this.valid(given);
    const isStruct = type.typeId === KIND.struct;
    const data = isStruct ? given : withMeaning(given, field, this.reading.growth, this.reading.path);
    if (isStruct) {
      const fields = new Map<string, Column>();
      for (const [i, inner] of (type.children as ArrowField[]).entries()) {
        const child = data.children[i] as ArrowData;
        if (fields.has(inner.name))
          throw bad(`two fields have the name ${JSON.stringify(inner.name)}`, this.reading.path);
        if (child.length < data.length) throw bad("a field is shorter than its column", this.reading.path);
        fields.set(inner.name, this.within(this.column(child, inner, [...path, inner.name], depth + 1), valid));
      }
      for (const [name, inner] of fields) this.check(inner, [...path, name]);
      return { kind: "struct", fields, valid };
    }
    const made = this.leaf(data, field, valid, path);
    if (depth === 0) this.check(made, path);
    return made;
  }

  private leaf(data: ArrowData, field: ArrowField, valid: Uint8Array | null, path: readonly string[]): Column {
    const { type } = data;
    this.check({ kind: "values", values: [], valid }, path);
    try {
      if (isTensorType(type)) return this.tensor(data, field);
      const isRagged = type.typeId === KIND.list || type.typeId === KIND.largeList;
      if (isRagged && isTensorType((type.children as ArrowField[])[0]?.type as ArrowType)) {
        const { offsets, start, stop } = this.offsets(data);
        const [child] = data.children as [ArrowData];
        const items = this.tensor(child, null);
        const row = items.inner.reduce((n, one) => n * one, 1);
        const array = items.array.subarray(start * row, stop * row) as NodeJS.TypedArray;
        this.refuseInner(items.valid?.subarray(start, stop) ?? null);
        for (let i = 0; i < (valid?.length ?? 0); i++) {
          if (valid?.[i] === 0 && offsets[i] !== offsets[i + 1])
            throw bad("a list without a value has elements", this.reading.path);
        }
        return { kind: "ragged", values: { ...items, array, valid: null }, offsets, valid };
      }
    } catch (error) {
      if (error instanceof InnerNulls) throw nullError(path, error.count);
      throw error;
    }
    return { kind: "values", values: this.values.list(data, field), valid };
  }

  /** A row without a value has none in any of its fields. */
  private within(column: Column, parent: Uint8Array | null): Column {
    if (parent === null) return column;
    const own = column.valid;
    const valid = own === null ? parent : parent.map((one, i) => one & (own[i] as number));
    if (column.kind === "numbers") return this.filled({ ...column, valid });
    if (column.kind === "ragged") return { ...column, valid };
    if (column.kind === "values") {
      return { ...column, values: column.values.map((value, i) => (parent[i] === 0 ? null : value)), valid };
    }
    const fields = new Map([...column.fields].map(([name, inner]) => [name, this.within(inner, parent)]));
    return { kind: "struct", fields, valid };
  }

  private check(column: Column, path: readonly string[]): void {
    if (this.reading.nulls !== "raise" || column.kind === "struct") return;
    if (column.valid?.includes(0)) throw nullError(path, count(column.valid));
  }
}

class InnerNulls extends Error {
  constructor(readonly count: number) {
    super();
  }
}

function count(valid: Uint8Array): number {
  return valid.reduce((n, one) => n + (one === 0 ? 1 : 0), 0);
}

function nullError(path: readonly string[], nulls: number): ValueError {
  const key = `(${path.map((part) => `'${part}'`).join(", ")}${path.length === 1 ? "," : ""})`;
  return new ValueError(
    `The Arrow column ${key} has ${nulls} null value(s). Pass nulls='fill' to fill them, or nulls='mask' to also ` +
      "get a mask entry.",
  );
}

function emptyOf(dtype: string): NodeJS.TypedArray {
  if (dtype === "int64") return new BigInt64Array(0);
  if (dtype === "uint64") return new BigUint64Array(0);
  const makers: Record<string, () => NodeJS.TypedArray> = {
    int8: () => new Int8Array(0),
    int16: () => new Int16Array(0),
    int32: () => new Int32Array(0),
    uint16: () => new Uint16Array(0),
    float16: () => new Uint16Array(0),
    uint32: () => new Uint32Array(0),
    float32: () => new Float32Array(0),
    float64: () => new Float64Array(0),
  };
  return makers[dtype]?.() ?? new Uint8Array(0);
}
