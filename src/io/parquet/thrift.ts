// Thrift's compact protocol, in which Parquet files describe themselves: structs of numbered fields.
import { BadFile } from "./bad-file.ts";

/** Which fields of a struct are read, and what they are in turn; all others are passed over. */
export interface Shape {
  readonly [field: number]: "number" | "truth" | "text" | "numbers" | "texts" | "present" | Shape | readonly [Shape];
}
/** Fields by their numbers. */
export type Read = Record<number, unknown>;

const TRUE = 1;
const FALSE = 2;
const DOUBLE = 7;
const BINARY = 8;
const LIST = 9;
const SET = 10;
const MAP = 11;
const STRUCT = 12;
const MAX_LEVELS = 32;

/** Reads structs from bytes. */
export class Thrift {
  private readonly texts: Buffer;

  constructor(
    readonly bytes: Uint8Array,
    public at = 0,
  ) {
    this.texts = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  private byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new BadFile("its description is cut off");
    return byte;
  }

  /** A number without a sign, of at most 64 bits. */
  private varint(): number {
    let [value, factor] = [0, 1];
    for (let i = 0; i < 10; i++) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
    throw new BadFile("its description has a number of more than 64 bits");
  }

  private signed(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Passes over bytes; says how many. */
  private length(): number {
    const length = this.varint();
    if (this.at + length > this.bytes.length) throw new BadFile("its description is cut off");
    this.at += length;
    return length;
  }

  private text(): string {
    const length = this.length();
    return this.texts.toString("utf8", this.at - length, this.at);
  }

  private head(): { kind: number; count: number } {
    const byte = this.byte();
    const count = byte >> 4 === 15 ? this.varint() : byte >> 4;
    // Each element has a byte at least.
    if (count > this.bytes.length - this.at) throw new BadFile(`its description claims a list of ${count}`);
    return { kind: byte & 15, count };
  }

  private pass(kind: number, level: number): void {
    if (level > MAX_LEVELS) throw new BadFile("its description is nested too deeply");
    if (kind === TRUE || kind === FALSE) return;
    if (kind === DOUBLE) this.at += 8;
    else if (kind >= 3 && kind <= 6) {
      if (kind === 3) this.at++;
      else this.varint();
    } else if (kind === BINARY) this.length();
    else if (kind === LIST || kind === SET) {
      const { kind: inner, count } = this.head();
      for (let i = 0; i < count; i++) this.passElement(inner, level);
    } else if (kind === MAP) {
      const count = this.varint();
      const kinds = count === 0 ? 0 : this.byte();
      for (let i = 0; i < count; i++) {
        this.passElement(kinds >> 4, level);
        this.passElement(kinds & 15, level);
      }
    } else if (kind === STRUCT) this.struct({}, level + 1);
    else throw new BadFile(`its description has a field of the kind ${kind}`);
    if (this.at > this.bytes.length) throw new BadFile("its description is cut off");
  }

  /** In lists a truth is a byte. */
  private passElement(kind: number, level: number): void {
    if (kind === TRUE || kind === FALSE) this.byte();
    else this.pass(kind, level + 1);
  }

  private value(kind: number, what: Shape[number], level: number): unknown {
    const isWhole = kind >= 3 && kind <= 6;
    if (what === "truth" && (kind === TRUE || kind === FALSE)) return kind === TRUE;
    if (what === "number" && isWhole) return kind === 3 ? (this.byte() << 24) >> 24 : this.signed();
    if (what === "text" && kind === BINARY) return this.text();
    if (what === "present") {
      this.pass(kind, level);
      return true;
    }
    if (kind === STRUCT && typeof what === "object" && !Array.isArray(what))
      return this.struct(what as Shape, level + 1);
    if (kind === LIST && (what === "numbers" || what === "texts" || Array.isArray(what))) {
      const { kind: inner, count } = this.head();
      const wanted = what === "texts" ? BINARY : what === "numbers" ? 5 : STRUCT;
      if (count > 0 && inner !== wanted) throw new BadFile("its description has a list of another kind");
      const [shape] = what as readonly [Shape];
      return Array.from({ length: count }, () =>
        what === "texts" ? this.text() : what === "numbers" ? this.signed() : this.struct(shape, level + 1),
      );
    }
    throw new BadFile("its description has a field of another kind");
  }

  /** One struct. @throws BadFile where the bytes are none */
  struct(shape: Shape, level = 0): Read {
    if (level > MAX_LEVELS) throw new BadFile("its description is nested too deeply");
    const read: Read = {};
    let field = 0;
    for (;;) {
      const head = this.byte();
      if (head === 0) return read;
      field = head >> 4 === 0 ? this.signed() : field + (head >> 4);
      const kind = head & 15;
      const what = shape[field];
      if (what === undefined) this.pass(kind, level);
      else read[field] = this.value(kind, what, level);
    }
  }
}
