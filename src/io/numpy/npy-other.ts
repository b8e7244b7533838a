// Arrays of NumPy's that no tensor has: texts become JavaScript's, all else its bytes beside the type's name.
import type { Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { UnknownArray } from "../base/unknown-array.ts";
import type { NpyOther } from "./npy-header.ts";

/** A text, or texts as nested lists. */
export type NpyTexts = string | readonly NpyTexts[];

/** What a file of NumPy's holds, when all is asked for: a tensor, texts, or elements that no tensor has. */
export type NpyValue = Tensor | NpyTexts | UnknownArray;

/** Texts without characters take no bytes: so many may be in any file. */
const FREE_TEXTS = 1_000_000;

/** The type of its elements, and what their bytes are beside that. */
export function typeText({ kind, descr, shape, fortranOrder }: NpyOther): string {
  const order = fortranOrder && shape.length > 1 && kind === "raw" ? " in Fortran order" : "";
  return kind === "objects" ? `${descr} (pickled objects)` : descr + order;
}

/** What an array that no tensor has becomes; `header` are all bytes before the elements. */
export function otherValue(name: string, found: NpyOther, header: Uint8Array, bytes: Tensor, path: string): unknown {
  const { kind, shape } = found;
  const texts =
    kind === "characters" || kind === "bytes" ? textsOf(found, bytes.typedArray() as Uint8Array, path) : null;
  if (texts !== null) return texts;
  return new UnknownArray({ format: "npy", name, dtype: typeText(found), shape, bytes, exact: header });
}

/** The texts of an array, nested as its shape; null for bytes that are no text. */
function textsOf(found: NpyOther, bytes: Uint8Array, path: string): NpyTexts | null {
  const { itemsize, shape, kind, bigEndian } = found;
  const count = shape.reduce((product, n) => product * n, 1);
  if (itemsize === 0 && count > FREE_TEXTS) throw new FormatError(`${count} texts without characters`, path);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  for (let i = 0; i < count; i++) {
    const at = i * itemsize;
    const text = kind === "bytes" ? utf8(bytes.subarray(at, at + itemsize)) : utf32(view, at, itemsize, !bigEndian);
    if (text === null) return null;
    texts.push(text);
  }
  return nested(texts, shape, stridesOf(found), 0, 0);
}

/** How far apart elements are, along each dimension. */
function stridesOf({ shape, fortranOrder }: NpyOther): number[] {
  const strides = shape.map(() => 1);
  const order = shape.map((_, i) => (fortranOrder ? i : shape.length - 1 - i));
  let step = 1;
  for (const dim of order) {
    strides[dim] = step;
    step *= shape[dim] as number;
  }
  return strides;
}

function nested(
  texts: readonly string[],
  shape: readonly number[],
  strides: readonly number[],
  dim: number,
  at: number,
): NpyTexts {
  if (dim === shape.length) return texts[at] as string;
  return Array.from({ length: shape[dim] as number }, (_, i) => {
    return nested(texts, shape, strides, dim + 1, at + i * (strides[dim] as number));
  });
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** NumPy leaves zeros at the end away. */
function utf8(bytes: Uint8Array): string | null {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  try {
    return UTF8.decode(bytes.subarray(0, end));
  } catch {
    return null;
  }
}

function utf32(view: DataView, at: number, nbytes: number, littleEndian: boolean): string | null {
  let end = at + nbytes;
  while (end > at && view.getUint32(end - 4, littleEndian) === 0) end -= 4;
  let text = "";
  for (let i = at; i < end; i += 4) {
    const code = view.getUint32(i, littleEndian);
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return null;
    text += String.fromCodePoint(code);
  }
  return text;
}

/** Texts as nested lists of one shape; null for anything else. NumPy has none that end with a zero. */
export function textShape(value: unknown): number[] | null {
  if (typeof value === "string") return value.isWellFormed() && !value.endsWith("\0") ? [] : null;
  if (!Array.isArray(value)) return null;
  if (value.length === 0) return [0];
  const [first, ...rest] = value.map(textShape);
  if (first === undefined || first === null) return null;
  const same = rest.every((shape) => shape?.length === first.length && shape.every((n, i) => n === first[i]));
  return same ? [value.length, ...first] : null;
}

/** Texts as NumPy keeps them: code points of four bytes, all as long as the longest. */
export function textBytes(value: unknown, shape: readonly number[]): { width: number; bytes: Uint8Array } {
  const texts = (shape.length === 0 ? [value] : (value as unknown[]).flat(shape.length - 1)) as string[];
  const points = texts.map((text) => Array.from(text, (c) => c.codePointAt(0) as number));
  const width = points.reduce((most, { length }) => Math.max(most, length), 1);
  const words = new Uint32Array(width * texts.length);
  for (const [i, codes] of points.entries()) words.set(codes, i * width);
  return { width, bytes: new Uint8Array(words.buffer) };
}
