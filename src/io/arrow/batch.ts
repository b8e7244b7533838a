// Record batches of Arrow files: columns over the buffers of a message, which have to hold what the message says.

import { inflate } from "../codec/inflate.ts";
import type { Growth } from "../columns/growth.ts";
import { BadBuffer, type FlatTable, type FlatVector } from "./flatbuffer.ts";
import { type ArrowBatch, type ArrowData, type ArrowField, type ArrowType, KIND, MOST_EMPTY } from "./types.ts";

type Maker = {
  new (buffer: ArrayBufferLike, offset: number, length: number): NodeJS.TypedArray;
  BYTES_PER_ELEMENT: number;
};

/** What a batch is read with. */
export interface BatchReading {
  growth: Growth;
  /** Whether unions have no bits for rows without a value, as from Arrow 1.0 on. */
  plainUnions: boolean;
  dictionaries: ReadonlyMap<number, readonly ArrowData[]>;
}

const LONG: Maker = BigInt64Array;

/** The arrays of numbers; null for types that have none. */
function arrayOf({ typeId, bitWidth = 0, isSigned, precision, unit = 0 }: ArrowType): [Maker, words: number] | null {
  if (typeId === KIND.int) {
    const makers: Record<number, [Maker, Maker]> = {
      8: [Uint8Array, Int8Array],
      16: [Uint16Array, Int16Array],
      32: [Uint32Array, Int32Array],
      64: [BigUint64Array, LONG],
    };
    return [(makers[bitWidth] as [Maker, Maker])[isSigned ? 1 : 0], 1];
  }
  if (typeId === KIND.float)
    return [([Uint16Array, Float32Array, Float64Array] as Maker[])[precision ?? 2] as Maker, 1];
  if (typeId === KIND.decimal) return [Uint32Array, bitWidth >> 5];
  if (typeId === KIND.date) return [unit === 0 ? Int32Array : LONG, 1];
  if (typeId === KIND.time) return [bitWidth === 32 ? Int32Array : LONG, 1];
  if (typeId === KIND.timestamp || typeId === KIND.duration) return [LONG, 1];
  return typeId === KIND.interval ? [Int32Array, [1, 2, 4][unit] as number] : null;
}

/** Reads one batch. */
export class BatchReader {
  private node = 0;
  private buffer = 0;
  private variadic = 0;
  private readonly nodes: FlatVector;
  private readonly buffers: FlatVector;
  private readonly counts: FlatVector;
  private readonly codec: "lz4 frame" | "zstd" | null;
  /** Bytes of the body that buffers may still have: they do not lie over each other. */
  private left: number;

  constructor(
    private readonly said: FlatTable,
    private readonly body: Uint8Array,
    private readonly reading: BatchReading,
  ) {
    this.nodes = said.vector(1, 16);
    this.buffers = said.vector(2, 16);
    this.counts = said.vector(4, 8);
    const compression = said.table(3);
    const codec = compression?.byte(0) ?? 0;
    if (compression !== null && (codec > 1 || compression.byte(1) !== 0)) {
      throw new BadBuffer("its buffers are compressed in a way that is not known");
    }
    this.codec = compression === null ? null : codec === 1 ? "zstd" : "lz4 frame";
    this.left = body.length;
  }

  /** The columns. */
  batch(fields: readonly ArrowField[], type: ArrowType): ArrowBatch {
    const rows = this.said.long(0);
    const children = fields.map((field) => this.column(field.type, `the column '${field.name}'`));
    for (const [i, child] of children.entries()) {
      if (child.length !== rows) {
        throw new BadBuffer(`the column '${fields[i]?.name}' has ${child.length} rows, not ${rows} as its batch says`);
      }
    }
    if (rows < 0 || (fields.length === 0 && rows > MOST_EMPTY)) throw new BadBuffer(`no buffers hold its ${rows} rows`);
    const none = { offset: 0, nullCount: 0, values: undefined, valueOffsets: undefined, nullBitmap: undefined };
    return { numRows: rows, data: { type, length: rows, children, ...none } };
  }

  private next(): Uint8Array {
    const { start, count } = this.buffers;
    if (this.buffer >= count) throw new BadBuffer("a batch has fewer buffers than its columns need");
    const at = start + 16 * this.buffer++;
    const [offset, length] = [this.said.buffer.long(at), this.said.buffer.long(at + 8)];
    if (offset < 0 || length < 0 || offset + length > this.body.length) {
      throw new BadBuffer("a buffer leads outside of its batch");
    }
    this.left -= length;
    if (this.left < 0) throw new BadBuffer("the buffers of a batch lie over each other");
    const bytes = this.body.subarray(offset, offset + length);
    if (this.codec === null || length === 0) return bytes;
    if (length < 8) throw new BadBuffer("a compressed buffer does not say its size");
    const size = Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigInt64(0, true));
    if (size === -1) return bytes.subarray(8);
    if (!Number.isSafeInteger(size) || size < 0) throw new BadBuffer(`a compressed buffer claims ${size} bytes`);
    this.reading.growth.spend(size);
    return inflate(this.codec, bytes.subarray(8), size);
  }

  private elements(What: Maker, count: number, what: string): NodeJS.TypedArray {
    const bytes = this.next();
    const size = What.BYTES_PER_ELEMENT;
    if (bytes.length < count * size)
      throw new BadBuffer(`${what} has ${bytes.length} bytes, which hold no ${count} rows`);
    if (bytes.byteOffset % size === 0) return new What(bytes.buffer, bytes.byteOffset, count);
    return new What(bytes.slice(0, count * size).buffer, 0, count);
  }

  private bits(count: number, what: string): Uint8Array {
    const bytes = this.next();
    if (bytes.length * 8 < count) throw new BadBuffer(`${what} has ${bytes.length} bytes, which hold no ${count} bits`);
    return bytes;
  }

  private offsets(length: number, isLarge: boolean, extra: number, what: string): Int32Array | BigInt64Array {
    const empty = this.buffers.start + 16 * this.buffer + 8;
    // Without rows there may be no offset at all.
    const none = length === 0 && this.buffer < this.buffers.count && this.said.buffer.long(empty) === 0;
    return this.elements(isLarge ? LONG : Int32Array, none ? 0 : length + extra, what) as Int32Array;
  }

  /** One column and what is in it, in the order of their buffers. */
  column(type: ArrowType, what: string): ArrowData {
    const { start, count } = this.nodes;
    if (this.node >= count) throw new BadBuffer("a batch has fewer columns than its schema");
    const at = start + 16 * this.node++;
    const [length, nulls] = [this.said.buffer.long(at), this.said.buffer.long(at + 8)];
    if (length < 0 || nulls > length)
      throw new BadBuffer(`${what} claims ${length} rows, ${nulls} of them without a value`);
    const { typeId } = type;
    const data: ArrowData = {
      type,
      length,
      offset: 0,
      nullCount: typeId === KIND.null ? length : nulls,
      values: undefined,
      valueOffsets: undefined,
      nullBitmap: undefined,
      children: [],
    };
    const hasBits =
      typeId !== KIND.null && typeId !== KIND.runs && !(typeId === KIND.union && this.reading.plainUnions);
    if (hasBits) {
      const bits = this.next();
      if (nulls !== 0 && bits.length > 0 && bits.length * 8 < length) throw new BadBuffer(`${what} has too few bits`);
      if (typeId !== KIND.union && bits.length > 0) data.nullBitmap = bits;
      else data.nullCount = typeId === KIND.union || nulls < length ? 0 : length;
    }
    this.fill(data, what);
    return data;
  }

  private fill(data: ArrowData, what: string): void {
    const { type, length } = data;
    const { typeId } = type;
    const array = arrayOf(type.typeId === KIND.dictionary ? (type.indices as ArrowType) : type);
    if (array !== null) data.values = this.elements(array[0], length * array[1], what);
    else if (typeId === KIND.bool) data.values = this.bits(length, what);
    else if (typeId === KIND.fixedBinary) data.values = this.elements(Uint8Array, length * (type.byteWidth ?? 0), what);
    else if (
      typeId === KIND.text ||
      typeId === KIND.binary ||
      typeId === KIND.largeText ||
      typeId === KIND.largeBinary
    ) {
      data.valueOffsets = this.offsets(length, typeId >= KIND.largeBinary, 1, what);
      data.values = this.next();
    } else if (typeId === KIND.list || typeId === KIND.map || typeId === KIND.largeList) {
      data.valueOffsets = this.offsets(length, typeId === KIND.largeList, 1, what);
    } else if (typeId === KIND.listView || typeId === KIND.largeListView) {
      data.valueOffsets = this.offsets(length, typeId === KIND.largeListView, 0, what);
      data.sizes = this.offsets(length, typeId === KIND.largeListView, 0, what);
    } else if (typeId === KIND.union) {
      data.typeIds = this.elements(Int8Array, length, what) as Int8Array;
      if (type.mode === 1) data.valueOffsets = this.offsets(length, false, 0, what);
    } else if (typeId === KIND.binaryView || typeId === KIND.textView) this.views(data, what);
    if (typeId === KIND.dictionary) {
      data.dictionary = { data: this.reading.dictionaries.get(type.id as number) ?? [] };
      return;
    }
    data.children = (type.children ?? []).map((field) =>
      this.column(field.type, `the field '${field.name}' of ${what}`),
    );
  }

  /** Texts that lie anywhere in several buffers, as texts one after the other. */
  private views(data: ArrowData, what: string): void {
    const { length } = data;
    const places = this.elements(Uint8Array, length * 16, what) as Uint8Array;
    if (this.variadic >= this.counts.count) throw new BadBuffer(`${what} does not say how many buffers it has`);
    const count = this.said.buffer.long(this.counts.start + 8 * this.variadic++);
    if (!(count >= 0 && count <= this.buffers.count)) throw new BadBuffer(`${what} claims ${count} buffers`);
    const buffers = Array.from({ length: count }, () => this.next());
    const view = new DataView(places.buffer, places.byteOffset, places.length);
    const parts: Uint8Array[] = [];
    const offsets = new BigInt64Array(length + 1);
    let total = 0;
    for (let i = 0; i < length; i++) {
      const isNull = data.nullBitmap !== undefined && (((data.nullBitmap[i >> 3] as number) >> (i & 7)) & 1) === 0;
      const size = isNull && data.nullCount !== 0 ? 0 : view.getInt32(16 * i, true);
      let part = places.subarray(16 * i + 4, 16 * i + 4 + size);
      if (size > 12) {
        const [buffer, offset] = [buffers[view.getInt32(16 * i + 8, true)], view.getInt32(16 * i + 12, true)];
        if (buffer === undefined || offset < 0 || offset + size > buffer.length) {
          throw new BadBuffer(`a text of ${what} leads outside of its buffers`);
        }
        part = buffer.subarray(offset, offset + size);
      } else if (size < 0) throw new BadBuffer(`a text of ${what} has the length ${size}`);
      this.reading.growth.spend(size);
      parts.push(part);
      total += size;
      offsets[i + 1] = BigInt(total);
    }
    data.valueOffsets = offsets;
    data.values = Buffer.concat(parts, total);
    data.type = data.type.typeId === KIND.textView ? LARGE_TEXT : LARGE_BINARY;
  }
}

const LARGE_TEXT: ArrowType = { typeId: KIND.largeText, toString: () => "text" };
const LARGE_BINARY: ArrowType = { typeId: KIND.largeBinary, toString: () => "binary" };
