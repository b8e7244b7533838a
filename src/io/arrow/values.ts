// Rows of Arrow data as values that programs have: texts, dates, arrays for lists, objects for structs and maps.
import { FormatError } from "../base/errors.ts";
import type { Growth } from "../columns/growth.ts";
import {
  bytesAt,
  dateOf,
  dayOf,
  decimalNumber,
  halfNumber,
  mapOf,
  nanoseconds,
  objectsOf,
  Texts,
  uuidText,
  wholeNumber,
  wideNumber,
} from "../columns/meaning.ts";
import { type ArrowData, type ArrowField, extensionOf, KIND, MAX_DEPTH, MOST_EMPTY } from "./types.ts";

type Valid = (row: number) => boolean;

/** Reads lists of values; the growth bounds what rows that share elements make of them. */
export class ArrowValues {
  /** The values of dictionaries, which batches share. */
  private readonly known = new WeakMap<object, unknown[]>();

  constructor(
    private readonly growth: Growth,
    private readonly path?: string,
  ) {}

  private bad(what: string): FormatError {
    return new FormatError(`its Arrow data is not valid: ${what}`, this.path);
  }

  private valid({ nullBitmap, nullCount, offset, length }: ArrowData): Valid {
    if (nullCount === 0) return () => true;
    if (nullBitmap === undefined || nullBitmap.length === 0) {
      const some = nullCount < length;
      return () => some;
    }
    if (nullBitmap.length * 8 < offset + length) throw this.bad(`${nullBitmap.length} bytes hold no ${length} bits`);
    return (row) => (((nullBitmap[(offset + row) >> 3] as number) >> ((offset + row) & 7)) & 1) === 1;
  }

  /** All rows of some data. */
  list(data: ArrowData, field: ArrowField | null = null, depth = 0): unknown[] {
    if (depth > 4 * MAX_DEPTH) throw this.bad("it is nested too deeply");
    const { length, type } = data;
    if (type.typeId === KIND.null || data.values === undefined) this.refuseEmpty(data);
    this.growth.spend(8 * length);
    const valid = type.typeId === KIND.union ? () => true : this.valid(data);
    switch (type.typeId) {
      case KIND.null:
        return new Array(length).fill(null);
      case KIND.text:
      case KIND.largeText:
      case KIND.binary:
      case KIND.largeBinary:
        return this.bytes(data, valid);
      case KIND.fixedBinary:
        return this.fixedBytes(data, field, valid);
      case KIND.dictionary:
        return this.dictionary(data, valid, depth);
      case KIND.list:
      case KIND.largeList:
      case KIND.map:
      case KIND.fixedList:
      case KIND.listView:
      case KIND.largeListView:
        return this.lists(data, valid, depth);
      case KIND.struct: {
        const fields = type.children as ArrowField[];
        const lists = fields.map((inner, i) => this.member(data, i, inner, depth));
        this.growth.spend(16 * length * fields.length);
        return objectsOf(
          fields.map((inner) => inner.name),
          lists,
          length,
          valid,
        );
      }
      case KIND.union:
        return this.union(data, depth);
      case KIND.runs:
        return this.runs(data, depth);
      default:
        return this.numbers(data, field, valid);
    }
  }

  /** Rows without a buffer are as many as anybody says. */
  private refuseEmpty({ type, length, children, valueOffsets, nullBitmap, typeIds }: ArrowData): void {
    const held =
      type.typeId !== KIND.null && (children.length > 0 || valueOffsets !== undefined || typeIds !== undefined);
    if (!held && length > Math.max(MOST_EMPTY, (nullBitmap?.length ?? 0) * 8)) {
      throw this.bad(`its buffers hold no ${length} rows`);
    }
  }

  /** The rows of a struct's member. */
  private member(data: ArrowData, i: number, field: ArrowField | null, depth: number): unknown[] {
    const child = data.children[i];
    if (child === undefined || child.length < data.length) throw this.bad("a field is shorter than its column");
    return this.list(child, field, depth + 1);
  }

  private bytes({ type, length, values, valueOffsets }: ArrowData, valid: Valid): unknown[] {
    if (length === 0) return [];
    const bytes = (values ?? new Uint8Array(0)) as Uint8Array;
    if (valueOffsets === undefined || valueOffsets.length < length + 1) throw this.bad("texts have no offsets");
    const range = (row: number): [number, number] | null => {
      if (!valid(row)) return null;
      const [from, to] = [Number(valueOffsets[row]), Number(valueOffsets[row + 1])];
      if (!(from >= 0 && from <= to && to <= bytes.length)) throw this.bad("the offsets of a text lead outside of it");
      // Offsets that go backwards give bytes again.
      this.growth.spend(to - from);
      return [from, to];
    };
    const texts = type.typeId === KIND.text || type.typeId === KIND.largeText ? new Texts(bytes, this.path) : null;
    return Array.from({ length }, (_, i) => {
      const found = range(i);
      if (found === null) return null;
      return texts === null ? bytesAt(bytes, ...found) : texts.at(...found);
    });
  }

  private fixedBytes({ type, length, values }: ArrowData, field: ArrowField | null, valid: Valid): unknown[] {
    const width = type.byteWidth as number;
    const bytes = (values ?? new Uint8Array(0)) as Uint8Array;
    if (bytes.length < width * length) throw this.bad(`${bytes.length} bytes hold no ${length} rows of ${width}`);
    const isUuid = width === 16 && extensionOf(field) === "arrow.uuid";
    return Array.from({ length }, (_, i) => {
      if (!valid(i)) return null;
      const one = bytesAt(bytes, i * width, (i + 1) * width);
      return isUuid ? uuidText(one) : one;
    });
  }

  private dictionary(data: ArrowData, valid: Valid, depth: number): unknown[] {
    const { length, values: indices, dictionary } = data;
    const parts = dictionary?.data ?? [];
    let found = this.known.get(parts);
    if (found === undefined) {
      found = parts.flatMap((part) => this.list(part, null, depth + 1));
      this.known.set(parts, found);
    }
    if (length > 0 && (indices === undefined || indices.length < length)) throw this.bad("a column has no buffer");
    return Array.from({ length }, (_, i) => {
      if (!valid(i)) return null;
      const at = Number((indices as NodeJS.TypedArray)[i]);
      if (!(at >= 0 && at < found.length))
        throw this.bad(`its dictionary of ${found.length} values has no value ${at}`);
      return found[at];
    });
  }

  /** Where each list begins and ends. */
  private ranges({ type, length, valueOffsets, sizes }: ArrowData): (row: number) => readonly [number, number] {
    if (type.typeId === KIND.fixedList) {
      const size = type.listSize as number;
      return (row) => [row * size, (row + 1) * size];
    }
    const isView = type.typeId === KIND.listView || type.typeId === KIND.largeListView;
    const enough = isView ? (sizes?.length ?? 0) >= length : (valueOffsets?.length ?? 0) > length || length === 0;
    if (!enough || (valueOffsets?.length ?? 0) < length) throw this.bad("a list has no offsets");
    const offsets = valueOffsets as Int32Array;
    if (!isView) return (row) => [Number(offsets[row]), Number(offsets[row + 1])];
    return (row) => [Number(offsets[row]), Number(offsets[row]) + Number((sizes as Int32Array)[row])];
  }

  private lists(data: ArrowData, valid: Valid, depth: number): unknown[] {
    const { length, type } = data;
    const child = data.children[0] as ArrowData;
    const range = this.ranges(data);
    const checked = (row: number) => {
      const [from, to] = range(row);
      if (!(from >= 0 && from <= to && to <= child.length)) throw this.bad("the offsets of a list lead outside of it");
      this.growth.spend(8 * (to - from) + 16);
      return [from, to] as const;
    };
    if (type.typeId === KIND.map) {
      const entries = child.type.children as ArrowField[];
      const [keys, values] = [0, 1].map((i) => this.member(child, i, entries[i] as ArrowField, depth + 1));
      return Array.from({ length }, (_, i) =>
        valid(i) ? mapOf(keys as unknown[], values as unknown[], ...checked(i), this.path) : null,
      );
    }
    const items = this.list(child, (type.children as ArrowField[])[0] ?? null, depth + 1);
    return Array.from({ length }, (_, i) => (valid(i) ? items.slice(...checked(i)) : null));
  }

  private union(data: ArrowData, depth: number): unknown[] {
    const { length, type, typeIds, valueOffsets, children } = data;
    const ids = Array.from(type.typeIds as ArrayLike<number>);
    const fields = type.children as ArrowField[];
    const lists = children.map((child, i) => this.list(child, fields[i] as ArrowField, depth + 1));
    if ((typeIds?.length ?? 0) < length) throw this.bad("a union does not say what its rows are");
    return Array.from({ length }, (_, i) => {
      const list = lists[ids.indexOf(typeIds?.[i] as number)];
      const at = type.mode === 1 ? Number(valueOffsets?.[i] ?? -1) : i;
      if (list === undefined || !(at >= 0 && at < list.length)) throw this.bad("a union leads outside of its members");
      return list[at];
    });
  }

  private runs(data: ArrowData, depth: number): unknown[] {
    const [ends, child] = data.children as [ArrowData, ArrowData];
    const values = this.list(child, (data.type.children as ArrowField[])[1] ?? null, depth + 1);
    if (child.length < ends.length || (ends.values?.length ?? 0) < ends.length) throw this.bad("runs without values");
    const out = new Array<unknown>(data.length);
    let [at, run] = [0, 0];
    for (; run < ends.length && at < data.length; run++) {
      const end = Number(ends.values?.[run]) - data.offset;
      if (end < at) throw this.bad("its runs go backwards");
      out.fill(values[run], at, Math.min(end, data.length));
      at = Math.min(end, data.length);
    }
    if (at < data.length) throw this.bad(`its runs hold no ${data.length} rows`);
    return out;
  }

  /** Rows of a fixed number of bits. */
  private numbers(data: ArrowData, field: ArrowField | null, valid: Valid): unknown[] {
    const { length, type, offset } = data;
    const values = (data.values ?? []) as NodeJS.TypedArray;
    const { typeId, unit = 0, bitWidth = 0, scale = 0 } = type;
    let words = 1;
    let one: (i: number) => unknown = (i) => values[i];
    if (typeId === KIND.bool) {
      if (values.length * 8 < offset + length) throw this.bad(`${values.length} bytes hold no ${length} bits`);
      one = (i) => (((values[(offset + i) >> 3] as number) >> ((offset + i) & 7)) & 1) === 1;
    } else if (typeId === KIND.decimal) {
      words = bitWidth >> 5;
      one = (i) => decimalNumber(wideNumber(values as Uint32Array, i * words, words), scale);
    } else if (typeId === KIND.date) {
      one = (i) => (unit === 0 ? dayOf(values[i] as number, this.path) : dateOf(values[i] as bigint, 1, this.path));
    } else if (typeId === KIND.timestamp) one = (i) => dateOf(values[i] as bigint, unit, this.path);
    else if (typeId === KIND.time || typeId === KIND.duration) {
      one = (i) => wholeNumber(nanoseconds([values[i] as bigint], 1, unit, this.path)[0] as bigint);
    } else if (typeId === KIND.interval) {
      words = [1, 2, 4][unit] as number;
      one = (i) => interval(values as Int32Array, i * words, unit);
    } else if (typeId === KIND.float && type.precision === 0) one = (i) => halfNumber(values[i] as number);
    else if (bitWidth === 64) one = (i) => wholeNumber(values[i] as bigint);
    else if (extensionOf(field) === "arrow.bool8") one = (i) => values[i] !== 0;
    if (typeId !== KIND.bool && values.length < length * words) throw this.bad("a column has no buffer");
    return Array.from({ length }, (_, i) => (valid(i) ? one(i) : null));
  }
}

/** A distance between moments that has no fixed length. */
function interval(words: Int32Array, at: number, unit: number): object {
  const [first, second] = [words[at] as number, words[at + 1] as number];
  if (unit === 0) return { months: first };
  if (unit === 1) return { days: first, milliseconds: second };
  const low = BigInt(words[at + 2] as number) & 0xffffffffn;
  return { months: first, days: second, nanoseconds: wholeNumber((BigInt(words[at + 3] as number) << 32n) | low) };
}
