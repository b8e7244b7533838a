// Arrays of records, as NumPy's structured arrays have them in memory, to and from collections.
import { type DTypeName, isDTypeName, toDType } from "../../tensor/dtype.ts";
import { RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { numelOf, Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { startsWith } from "../core/convert.ts";
import { noNested } from "../core/nested.ts";
import { entriesOf, isNested, isNonTensor, make, type Td } from "../core/state.ts";
import { tensor } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { dense } from "./reducing.ts";
import { valuesOf } from "./stacking.ts";

/** What a field of a record is: a dtype, a text of so many characters (`"U10"`, four bytes each), or a record. */
export type StructFieldType = DTypeName | `U${number}` | StructType;

/** A field of a record. */
export interface StructField {
  /** The key of the entry. */
  name: string;
  /** What it holds. */
  dtype: StructFieldType;
  /** The shape of the field in one record; none without it. */
  shape?: readonly number[];
  /** Bytes from the beginning of a record. */
  offset: number;
}

/** What a record is. */
export interface StructType {
  /** The fields, in any order. */
  fields: readonly StructField[];
  /** Bytes of a record. */
  itemsize: number;
}

/** Records one after the other. */
export interface StructArray extends StructType {
  /** The bytes of all records. */
  buffer: ArrayBuffer;
  /** The shape of the array; as many records as there are without it. */
  shape?: readonly number[];
}

const isText = (dtype: StructFieldType): dtype is `U${number}` => typeof dtype === "string" && /^U\d+$/.test(dtype);
const isRecord = (dtype: StructFieldType): dtype is StructType => typeof dtype === "object" && dtype !== null;
const isSizes = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((n) => Number.isSafeInteger(n) && n >= 0);

/** Bytes of one element of a type. */
function sizeOf(dtype: StructFieldType): number {
  if (isRecord(dtype)) return dtype.itemsize;
  if (isText(dtype)) return 4 * Number(dtype.slice(1));
  if (typeof dtype !== "string" || !isDTypeName(dtype)) {
    throw new TypeError(`a field has no dtype ${String(dtype)}`, { op: "fromStructArray" });
  }
  return toDType(dtype).itemsize;
}

/** Refuses descriptions that do not fit: they come from outside. */
function requireFields({ fields, itemsize }: StructType, depth = 0): void {
  const bad = (why: string) =>
    new ValueError(`the description of a record is wrong: ${why}`, { op: "fromStructArray" });
  if (depth > 64) throw bad("too many levels");
  if (!Number.isSafeInteger(itemsize) || itemsize < 1) throw bad(`itemsize is ${itemsize}`);
  if (!Array.isArray(fields)) throw bad("fields is no list");
  const names = new Set<string>();
  for (const { name, dtype, shape = [], offset } of fields) {
    if (typeof name !== "string" || names.has(name)) throw bad(`a field is called ${String(name)}`);
    names.add(name);
    if (!isSizes(shape)) throw bad(`the shape of field '${name}'`);
    if (isRecord(dtype)) requireFields(dtype, depth + 1);
    const bytes = sizeOf(dtype) * numelOf(shape);
    if (!Number.isSafeInteger(offset) || offset < 0 || offset + bytes > itemsize) {
      throw bad(`field '${name}' is not within the ${itemsize} bytes of a record`);
    }
  }
}

/** The bytes of one field, one record after the other. */
function gathered(bytes: Uint8Array, itemsize: number, offset: number, size: number): Uint8Array {
  const count = bytes.length / itemsize;
  const out = new Uint8Array(count * size);
  for (let i = 0; i < count; i++) {
    out.set(bytes.subarray(i * itemsize + offset, i * itemsize + offset + size), i * size);
  }
  return out;
}

function textsOf(bytes: Uint8Array, characters: number): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const texts: string[] = [];
  for (let at = 0; at < bytes.length; at += 4 * characters) {
    let text = "";
    for (let i = 0; i < characters; i++) {
      const code = view.getUint32(at + 4 * i, true);
      if (code > 0x10ffff) throw new ValueError(`${code} is no character`, { op: "fromStructArray" });
      if (code !== 0) text += String.fromCodePoint(code);
    }
    texts.push(text);
  }
  return texts;
}

function shaped<T>(list: readonly T[], shape: readonly number[]): unknown {
  if (shape.length === 0) return list[0];
  const [, ...inner] = shape;
  const step = numelOf(inner);
  return Array.from({ length: shape[0] as number }, (_, i) => shaped(list.slice(i * step, (i + 1) * step), inner));
}

/** A collection of the fields of records; nested records are nested collections. The bytes are copied. */
export function fromStruct(given: StructArray): Td {
  if (!isRecord(given as never) || !(given.buffer instanceof ArrayBuffer)) {
    throw new TypeError("fromStructArray() takes { buffer, fields, itemsize }", { op: "fromStructArray" });
  }
  requireFields(given);
  const { buffer, itemsize } = given;
  const records = buffer.byteLength / itemsize;
  const shape = given.shape ?? [records];
  if (!isSizes(shape) || numelOf(shape) * itemsize !== buffer.byteLength) {
    throw new ValueError(
      `the buffer has ${buffer.byteLength} bytes, which are no ${String(shape)} records of ${itemsize} bytes`,
      { op: "fromStructArray" },
    );
  }
  return level(new Uint8Array(buffer), given, shape);
}

function level(bytes: Uint8Array, { fields, itemsize }: StructType, batch: readonly number[]): Td {
  const state = { batchSize: Size.fromList([...batch]), device: null, names: null };
  const entries = new Map<string, Entry>();
  for (const { name, dtype, shape = [], offset } of fields) {
    const full = [...batch, ...shape];
    const own = gathered(bytes, itemsize, offset, sizeOf(dtype) * numelOf(shape));
    if (isRecord(dtype)) entries.set(name, level(own, dtype, full));
    else if (isText(dtype)) {
      const texts = shaped(textsOf(own, Number(dtype.slice(1))), full);
      const stack = Array.isArray(texts) && texts.length > 0;
      entries.set(name, stack ? make.nonTensorStack(texts, state) : make.nonTensor(texts, state));
    } else entries.set(name, (own.length === 0 ? tensor([]).to("uint8") : tensor(own)).view(dtype).reshape(full));
  }
  return make.tensordict(entries, state) as Td;
}

/** One field on its way into records. */
interface Column extends Omit<StructField, "offset"> {
  bytes: Uint8Array;
}

function textColumn(name: string, values: readonly unknown[], records: number): Column {
  const texts = Array.from({ length: records }, (_, i) => String(values.length === 1 ? values[0] : values[i]));
  const longest = Math.max(10, ...texts.map((text) => [...text].length));
  const codes = new Uint32Array(records * longest);
  for (const [i, text] of texts.entries()) {
    let at = i * longest;
    for (const character of text) codes[at++] = character.codePointAt(0) as number;
  }
  return { name, dtype: `U${longest}`, bytes: new Uint8Array(codes.buffer) };
}

function bytesOf(t: Tensor): Uint8Array {
  if (t._numel === 0) return new Uint8Array(0);
  const plain = t.detach().cpu().resolveConj().resolveNeg().contiguous();
  // A single element is contiguous whatever its stride is, and no bytes can be seen with a stride.
  const flat = t._numel === 1 ? plain.asStrided([1], [1], plain._offset) : plain.reshape(-1);
  return new Uint8Array(flat.view("uint8").typedArray() as Uint8Array);
}

/** Records with the entries of a collection as their fields, without gaps. */
export function toStruct(given: Td): StructArray {
  return { ...records(dense(given), given._batchSize), shape: [...given._batchSize] };
}

function columnOf(key: string, entry: Entry, batch: readonly number[]): Column {
  const count = numelOf(batch);
  if (isNested(entry)) throw noNested("an array of records", key);
  if (entry instanceof Tensor) {
    if (!startsWith(entry._shape, batch)) throw new RuntimeError(`'${key}' has no part for every record`);
    return {
      name: key,
      dtype: entry.dtype.name as DTypeName,
      shape: entry._shape.slice(batch.length),
      bytes: bytesOf(entry),
    };
  }
  if (isNonTensor(entry)) return textColumn(key, valuesOf(entry), count);
  const inner = records(dense(entry), entry._batchSize);
  const { buffer, ...dtype } = inner;
  return { name: key, dtype, shape: entry._batchSize.slice(batch.length), bytes: new Uint8Array(buffer) };
}

function records(td: Td, batch: readonly number[]): StructType & { buffer: ArrayBuffer } {
  const columns = [...entriesOf(td)].map(([key, entry]) => columnOf(key, entry, batch));
  if (columns.length === 0)
    throw new ValueError("not enough values to unpack (expected 2, got 0)", { op: "toStructArray" });
  const count = numelOf(batch);
  let itemsize = 0;
  const fields: StructField[] = [];
  for (const { name, dtype, shape = [] } of columns) {
    fields.push({ name, dtype, ...(shape.length === 0 ? {} : { shape: [...shape] }), offset: itemsize });
    itemsize += sizeOf(dtype) * numelOf(shape);
  }
  const out = new Uint8Array(count * itemsize);
  for (const [c, { bytes }] of columns.entries()) {
    const size = count === 0 ? 0 : bytes.length / count;
    const { offset } = fields[c] as StructField;
    for (let i = 0; i < count; i++) out.set(bytes.subarray(i * size, (i + 1) * size), i * itemsize + offset);
  }
  return { buffer: out.buffer, fields, itemsize };
}
