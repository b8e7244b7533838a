// Flatbuffers, in which Arrow describes its data: every offset in them is hostile.

/** What is wrong with a flatbuffer; readers of files say which file. */
export class BadBuffer extends Error {}

const MOST = BigInt(Number.MAX_SAFE_INTEGER);

/** Bytes that hold tables which refer to each other. */
export class Flatbuffer {
  readonly view: DataView;
  /** Tables that may still be looked at: an honest one takes 4 bytes and is meant once. */
  private tables: number;

  constructor(readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.tables = (bytes.length >> 2) + 16;
  }

  root(): FlatTable {
    return this.table(this.offset(0));
  }

  /** Where `count` bytes at a place are known to be there. */
  at(place: number, count: number): number {
    if (place < 0 || place + count > this.bytes.length)
      throw new BadBuffer("an offset leads outside of its description");
    return place;
  }

  /** Where the offset at a place leads. */
  offset(place: number): number {
    return place + this.view.getUint32(this.at(place, 4), true);
  }

  /** A table, by the vtable that says where its fields are. */
  table(place: number): FlatTable {
    if (this.tables-- <= 0) throw new BadBuffer("its description refers to itself");
    const vtable = place - this.view.getInt32(this.at(place, 4), true);
    const size = this.view.getUint16(this.at(vtable, 4), true);
    this.at(vtable, Math.max(size, 4));
    return new FlatTable(this, place, vtable, size);
  }

  /** A whole number of 8 bytes. */
  long(place: number): number {
    const value = this.view.getBigInt64(this.at(place, 8), true);
    if (value > MOST || value < -MOST) throw new BadBuffer(`it claims the number ${value}`);
    return Number(value);
  }

  text(place: number): string {
    const length = this.view.getUint32(this.at(place, 4), true);
    const start = this.at(place + 4, length);
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset + start, length).toString();
  }
}

/** Elements of a vector, one after the other. */
export interface FlatVector {
  start: number;
  count: number;
}

/** One table; fields by their number in the schema. */
export class FlatTable {
  constructor(
    readonly buffer: Flatbuffer,
    private readonly place: number,
    private readonly vtable: number,
    private readonly size: number,
  ) {}

  /** Where a field is, or 0 where it has its default. */
  private field(number: number, bytes: number): number {
    const entry = 4 + 2 * number;
    if (entry + 2 > this.size) return 0;
    const at = this.buffer.view.getUint16(this.vtable + entry, true);
    return at === 0 ? 0 : this.buffer.at(this.place + at, bytes);
  }

  byte(number: number, otherwise = 0): number {
    const at = this.field(number, 1);
    return at === 0 ? otherwise : this.buffer.view.getUint8(at);
  }

  short(number: number, otherwise = 0): number {
    const at = this.field(number, 2);
    return at === 0 ? otherwise : this.buffer.view.getInt16(at, true);
  }

  int(number: number, otherwise = 0): number {
    const at = this.field(number, 4);
    return at === 0 ? otherwise : this.buffer.view.getInt32(at, true);
  }

  long(number: number): number {
    const at = this.field(number, 8);
    return at === 0 ? 0 : this.buffer.long(at);
  }

  text(number: number): string | null {
    const at = this.field(number, 4);
    return at === 0 ? null : this.buffer.text(this.buffer.offset(at));
  }

  table(number: number): FlatTable | null {
    const at = this.field(number, 4);
    return at === 0 ? null : this.buffer.table(this.buffer.offset(at));
  }

  /** A vector whose elements have so many bytes. */
  vector(number: number, bytes: number): FlatVector {
    const at = this.field(number, 4);
    if (at === 0) return { start: 0, count: 0 };
    const place = this.buffer.offset(at);
    const count = this.buffer.view.getUint32(this.buffer.at(place, 4), true);
    return { start: this.buffer.at(place + 4, count * bytes), count };
  }

  /** A vector of tables. */
  tables(number: number): FlatTable[] {
    const { start, count } = this.vector(number, 4);
    return Array.from({ length: count }, (_, i) => this.buffer.table(this.buffer.offset(start + 4 * i)));
  }
}
