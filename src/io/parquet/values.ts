// The values of a column, in every way in which pages write them.
import type { Growth } from "../columns/growth.ts";
import { bytesAt, decimalNumber, Texts, uuidText } from "../columns/meaning.ts";
import { BadFile } from "./bad-file.ts";
import type { SchemaNode } from "./footer.ts";
import { readDeltas, readHybrid } from "./hybrid.ts";

/** Values one after the other: numbers, or texts, bytes and others as programs have them. */
export type Values = NodeJS.TypedArray | unknown[];

const cut = () => new BadFile("the values of a page are cut off");

/** The arrays of numbers, and the bytes that each takes in a file. */
const KINDS = {
  BOOLEAN: [Uint8Array, 0],
  INT32: [Int32Array, 4],
  INT64: [BigInt64Array, 8],
  INT96: [BigInt64Array, 12],
  FLOAT: [Float32Array, 4],
  DOUBLE: [Float64Array, 8],
} as const;

/** Nanoseconds of a day, and the day from which INT96 counts, as days before 1970. */
const DAY = 86_400_000_000_000n;
const JULIAN = 2_440_588n;

/** Bytes, the highest first, as one number with a sign. */
function bigEndian(bytes: Uint8Array, from: number, to: number): bigint {
  if (to === from) return 0n;
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("hex");
  return BigInt.asIntN(8 * (to - from), BigInt(`0x${hex}`));
}

/** Takes the values of pages, one after the other. */
export class ValueReader {
  readonly array: Values;
  count = 0;
  private dictionary: Values | null = null;

  /** @param most as many values as there can be */
  constructor(
    private readonly node: SchemaNode,
    most: number,
    private readonly growth: Growth,
    private readonly path: string | undefined,
  ) {
    growth.spend(8 * most);
    this.array = this.made(most);
  }

  private made(count: number): Values {
    const { physical, meaning } = this.node;
    if (physical !== "FIXED" && physical !== "BYTE_ARRAY") return new KINDS[physical][0](count);
    if (meaning.kind === "half") return new Uint16Array(count);
    return meaning.kind === "decimal" ? new Float64Array(count) : new Array<unknown>(count).fill(null);
  }

  /** What some bytes are, of a column whose values are bytes. */
  private maker(bytes: Uint8Array): (from: number, to: number) => unknown {
    const { meaning } = this.node;
    if (meaning.kind === "text") {
      const texts = new Texts(bytes, this.path);
      return (from, to) => texts.at(from, to);
    }
    if (meaning.kind === "decimal") return (from, to) => decimalNumber(bigEndian(bytes, from, to), meaning.scale);
    if (meaning.kind === "uuid") return (from, to) => uuidText(bytes.subarray(from, to));
    if (meaning.kind === "half") return (from) => (bytes[from] as number) | ((bytes[from + 1] as number) << 8);
    if (meaning.kind === "interval") {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const word = (at: number) => view.getUint32(at, true);
      return (from) => ({ months: word(from), days: word(from + 4), milliseconds: word(from + 8) });
    }
    return (from, to) => bytesAt(bytes, from, to);
  }

  /** Values as they are, one after the other. */
  private plain(bytes: Uint8Array, count: number, out: Values, to: number): void {
    const { physical, width } = this.node;
    if (physical === "BYTE_ARRAY") {
      const made = this.maker(bytes);
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let i = 0, at = 0; i < count; i++) {
        if (at + 4 > bytes.length) throw cut();
        const length = view.getUint32(at, true);
        at += 4;
        if (at + length > bytes.length) throw cut();
        out[to + i] = made(at, at + length) as never;
        at += length;
      }
      return;
    }
    const size = physical === "FIXED" ? width : KINDS[physical][1];
    const needed = physical === "BOOLEAN" ? Math.ceil(count / 8) : count * size;
    if (needed > bytes.length) throw cut();
    if (physical === "BOOLEAN") {
      for (let i = 0; i < count; i++) out[to + i] = ((bytes[i >> 3] as number) >> (i & 7)) & 1;
    } else if (physical === "FIXED") {
      const made = this.maker(bytes);
      for (let i = 0; i < count; i++) out[to + i] = made(i * size, (i + 1) * size) as never;
    } else if (physical === "INT96") {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let i = 0; i < count; i++) {
        const days = BigInt(view.getInt32(12 * i + 8, true)) - JULIAN;
        const exact = days * DAY + view.getBigInt64(12 * i, true);
        if (BigInt.asIntN(64, exact) !== exact) throw new BadFile("a time of a column does not fit int64 nanoseconds");
        out[to + i] = exact;
      }
    } else {
      const array = out as Float64Array;
      new Uint8Array(array.buffer, array.byteOffset + to * size, count * size).set(bytes.subarray(0, needed));
    }
  }

  /** @param bytes the page of values that others name by their numbers */
  takeDictionary(bytes: Uint8Array, count: number): void {
    if (this.dictionary !== null) throw new BadFile("a column has two dictionaries");
    const { physical } = this.node;
    const least = physical === "BYTE_ARRAY" ? 4 : physical === "FIXED" ? this.node.width : KINDS[physical][1];
    if (count < 0 || count * Math.max(least, 1) > bytes.length + 8)
      throw new BadFile(`a dictionary claims ${count} values`);
    this.dictionary = this.made(count);
    this.plain(bytes, count, this.dictionary, 0);
  }

  private named(bytes: Uint8Array, count: number): void {
    const { dictionary, array, count: to } = this;
    if (dictionary === null) throw new BadFile("a page names values of a dictionary that is not there");
    if (count === 0) return;
    if (bytes.length === 0) throw cut();
    const indices = new Uint32Array(count);
    readHybrid(bytes.subarray(1), bytes[0] as number, count, indices);
    const { length } = dictionary;
    for (let i = 0; i < count; i++) {
      const index = indices[i] as number;
      if (index >= length) throw new BadFile(`a page names the value ${index} of a dictionary of ${length}`);
      array[to + i] = dictionary[index] as never;
    }
  }

  /** Values whose first bytes come first, then their second ones, and so on. */
  private split(bytes: Uint8Array, count: number): void {
    const { physical } = this.node;
    const size = physical === "FIXED" ? this.node.width : physical === "BYTE_ARRAY" ? 0 : KINDS[physical][1];
    if (size === 0 || physical === "INT96") throw new BadFile(`a page of ${physical} is written in BYTE_STREAM_SPLIT`);
    if (bytes.length < count * size) throw cut();
    const joined = new Uint8Array(count * size);
    for (let k = 0; k < size; k++) {
      for (let i = 0; i < count; i++) joined[i * size + k] = bytes[k * count + i] as number;
    }
    this.plain(joined, count, this.array, this.count);
  }

  /** Lengths as differences, then the bytes of all. */
  private lengths(bytes: Uint8Array, count: number): { lengths: Int32Array; rest: Uint8Array } {
    const lengths = new Int32Array(count);
    const rest = bytes.subarray(readDeltas(bytes, count, lengths));
    let total = 0;
    for (const length of lengths) {
      if (length < 0) throw new BadFile(`a page has a text of the length ${length}`);
      total += length;
    }
    if (total > rest.length) throw cut();
    return { lengths, rest };
  }

  /** Bytes of which each may begin as the one before it. */
  private prefixed(bytes: Uint8Array, count: number, isPrefixed: boolean): void {
    const { array, count: to } = this;
    const { physical, width } = this.node;
    if (physical !== "BYTE_ARRAY" && physical !== "FIXED")
      throw new BadFile(`a page of ${physical} is written as texts`);
    const shared = new Int32Array(count);
    const start = isPrefixed ? readDeltas(bytes, count, shared) : 0;
    const { lengths, rest } = this.lengths(bytes.subarray(start), count);
    let total = 0;
    for (let i = 0, before = 0; i < count; i++) {
      const prefix = shared[i] as number;
      if (prefix < 0 || prefix > before) throw new BadFile(`a text begins with ${prefix} bytes of one of ${before}`);
      before = prefix + (lengths[i] as number);
      if (physical === "FIXED" && before !== width) throw new BadFile(`a value of ${width} bytes has ${before}`);
      total += before;
    }
    this.growth.spend(total);
    const all = new Uint8Array(total);
    const made = this.maker(all);
    for (let i = 0, at = 0, from = 0, last = 0; i < count; i++) {
      const [prefix, length] = [shared[i] as number, lengths[i] as number];
      all.copyWithin(at, last, last + prefix);
      all.set(rest.subarray(from, from + length), at + prefix);
      last = at;
      at += prefix + length;
      from += length;
      array[to + i] = made(last, at) as never;
    }
  }

  /** Takes the values of a page. @throws BadFile for fewer, and for a way to write them that its kind does not have */
  take(encoding: number, bytes: Uint8Array, count: number): void {
    const { physical } = this.node;
    if (encoding === 0) this.plain(bytes, count, this.array, this.count);
    else if (encoding === 2 || encoding === 8) this.named(bytes, count);
    else if (encoding === 3 && physical === "BOOLEAN") {
      if (bytes.length < 4) throw cut();
      readHybrid(bytes.subarray(4), 1, count, (this.array as Uint8Array).subarray(this.count));
    } else if (encoding === 5 && (physical === "INT32" || physical === "INT64")) {
      readDeltas(bytes, count, (this.array as Int32Array).subarray(this.count, this.count + count));
    } else if (encoding === 6 || encoding === 7) this.prefixed(bytes, count, encoding === 7);
    else if (encoding === 9) this.split(bytes, count);
    else throw new BadFile(`a page of ${physical} is written in the encoding ${encoding}, which is not read`);
    this.count += count;
  }
}
