// NumPy's numbers in pickles: what they are in JavaScript, and the bytes from which Python has them back.
import { Complex, Float } from "../../tensor/complex.ts";

/** The values of a scalar's bytes, by its code without the order of bytes. */
const READERS: Readonly<Record<string, (view: DataView, little: boolean) => unknown>> = {
  b1: (view) => view.getUint8(0) !== 0,
  i1: (view) => view.getInt8(0),
  u1: (view) => view.getUint8(0),
  i2: (view, little) => view.getInt16(0, little),
  u2: (view, little) => view.getUint16(0, little),
  i4: (view, little) => view.getInt32(0, little),
  u4: (view, little) => view.getUint32(0, little),
  i8: (view, little) => whole(view.getBigInt64(0, little)),
  u8: (view, little) => whole(view.getBigUint64(0, little)),
  f2: (view, little) => view.getFloat16(0, little),
  f4: (view, little) => view.getFloat32(0, little),
  f8: (view, little) => view.getFloat64(0, little),
  c8: (view, little) => new Complex(view.getFloat32(0, little), view.getFloat32(4, little)),
  c16: (view, little) => new Complex(view.getFloat64(0, little), view.getFloat64(8, little)),
};
const MAX_TEXT = 1 << 20;

/** An integer: a number where it is exact, a bigint elsewhere, as of all of Python's. */
function whole(value: bigint): number | bigint {
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value;
}

/** The text of a `numpy.str_`: UCS-4 without the zeros at its end. */
function textOf(view: DataView, little: boolean): string | undefined {
  let text = "";
  for (let at = 0; at < view.byteLength; at += 4) {
    const point = view.getUint32(at, little);
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return undefined;
    text += String.fromCodePoint(point);
  }
  return text.replace(/\0+$/, "");
}

function valueOf(code: string, order: string, bytes: Uint8Array): unknown {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const little = order !== ">";
  const text = /^U(\d{1,7})$/.exec(code);
  if (text !== null) {
    return bytes.length === 4 * Number(text[1]) && bytes.length <= MAX_TEXT ? textOf(view, little) : undefined;
  }
  const read = Object.hasOwn(READERS, code) ? READERS[code] : undefined;
  return read === undefined || bytes.length !== Number(code.slice(1)) ? undefined : read(view, little);
}

/** A scalar of NumPy's: a number, a boolean, a complex number or a text, and how Python had it. */
export class NumpyScalar {
  private constructor(
    /** The number as programs get it. */
    readonly value: unknown,
    /** Kind and size: "f8". */
    readonly code: string,
    /** "<", ">" or "|". */
    readonly order: string,
    /** The package by which its file names NumPy: "numpy.core", or "numpy._core" since NumPy 2. */
    readonly from: string,
    readonly bytes: Uint8Array,
  ) {}

  /** The scalar of some bytes; null where JavaScript has no such value. */
  static of(code: string, order: string, from: string, bytes: Uint8Array): NumpyScalar | null {
    const value = valueOf(code, order, bytes);
    return value === undefined ? null : new NumpyScalar(value, code, order, from, bytes);
  }

  /** The value; a float as one, even where it is a whole number. */
  get plain(): unknown {
    return this.code.startsWith("f") && Number.isInteger(this.value) ? new Float(this.value as number) : this.value;
  }

  /** All that it is as one word, for notes about values. */
  get word(): string {
    return `${this.from}.scalar ${this.order}${this.code} ${Buffer.from(this.bytes).toString("hex")}`;
  }

  /** The scalar of such a word; null for any other. */
  static fromWord(word: string): NumpyScalar | null {
    const [, from, order, code, hex] =
      /^(numpy\.core|numpy\._core)\.scalar ([<>|=])(\w+) ([0-9a-f]*)$/.exec(word) ?? [];
    if (from === undefined) return null;
    return NumpyScalar.of(code as string, order as string, from, new Uint8Array(Buffer.from(hex as string, "hex")));
  }
}

/** What a program gets of a value that stands by itself, where no note can be kept beside it. */
export function withoutNotes(value: unknown): unknown {
  return value instanceof Float || value instanceof NumpyScalar ? value.value : value;
}
