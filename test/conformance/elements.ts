// Reads elements of any dtype out of raw little-endian bytes through shape, strides and offset.
// Independent of the library under test: results and expectations are read by the same code.
import type { Code } from "./case-types.ts";
import { numelOf } from "./case-types.ts";

export const ITEM_SIZE: Record<Code, number> = {
  bool: 1,
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  f16: 2,
  bf16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  c32: 4,
  u64: 8,
  i64: 8,
  f64: 8,
  c64: 8,
  c128: 16,
};

const COMPONENT: Partial<Record<Code, Code>> = { c32: "f16", c64: "f32", c128: "f64" };

export function isComplexCode(c: Code): boolean {
  return c in COMPONENT;
}

/** Elements in logical row-major order; complex ones as pairs (re, im). 64-bit integers are bigints. */
export type Elements = Float64Array | BigInt64Array | BigUint64Array;

/** float16 bits to a number. */
export function halfToNumber(h: number): number {
  const sign = h & 0x8000 ? -1 : 1;
  const exp = (h >> 10) & 0x1f;
  const frac = h & 0x3ff;
  if (exp === 0) return sign * frac * 2 ** -24;
  if (exp === 31) return frac ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + frac / 1024) * 2 ** (exp - 15);
}

const scratch = new DataView(new ArrayBuffer(8));

/** bfloat16 bits to a number. */
function bfloatToNumber(b: number): number {
  scratch.setUint32(0, b << 16);
  return scratch.getFloat32(0);
}

type Reader = (v: DataView, at: number) => number;

const READERS: Record<string, Reader> = {
  bool: (v, i) => (v.getUint8(i) ? 1 : 0),
  u8: (v, i) => v.getUint8(i),
  i8: (v, i) => v.getInt8(i),
  u16: (v, i) => v.getUint16(i, true),
  i16: (v, i) => v.getInt16(i, true),
  u32: (v, i) => v.getUint32(i, true),
  i32: (v, i) => v.getInt32(i, true),
  f16: (v, i) => halfToNumber(v.getUint16(i, true)),
  bf16: (v, i) => bfloatToNumber(v.getUint16(i, true)),
  f32: (v, i) => v.getFloat32(i, true),
  f64: (v, i) => v.getFloat64(i, true),
};

/** Element positions (in elements, storage order) of a strided window, row-major. */
export function positions(shape: readonly number[], stride: readonly number[], offset: number): Int32Array {
  const n = numelOf(shape);
  const out = new Int32Array(n);
  if (n === 0) return out;
  const rank = shape.length;
  const idx = new Int32Array(rank);
  let p = offset;
  for (let i = 0; i < n; i++) {
    out[i] = p;
    for (let d = rank - 1; d >= 0; d--) {
      idx[d]!++;
      p += stride[d] as number;
      if ((idx[d] as number) < (shape[d] as number)) break;
      p -= (stride[d] as number) * (shape[d] as number);
      idx[d] = 0;
    }
  }
  return out;
}

export interface Window {
  code: Code;
  shape: readonly number[];
  stride: readonly number[];
  offset: number;
  bytes: Uint8Array;
  conj?: boolean;
  neg?: boolean;
}

/** All elements of a window, conj and neg bits resolved. Throws RangeError when it reaches outside its bytes. */
export function readElements(w: Window): Elements {
  const pos = positions(w.shape, w.stride, w.offset);
  const size = ITEM_SIZE[w.code];
  const n = pos.length;
  const view = new DataView(w.bytes.buffer, w.bytes.byteOffset, w.bytes.byteLength);
  for (let i = 0; i < n; i++) {
    const p = pos[i] as number;
    if (p < 0 || (p + 1) * size > w.bytes.byteLength) throw new RangeError(`element ${i} lies outside its storage`);
  }
  if (w.code === "i64") return new BigInt64Array(n).map((_, i) => view.getBigInt64((pos[i] as number) * 8, true));
  if (w.code === "u64") return new BigUint64Array(n).map((_, i) => view.getBigUint64((pos[i] as number) * 8, true));
  const sign = w.neg ? -1 : 1;
  const part = COMPONENT[w.code];
  if (part !== undefined) {
    const read = READERS[part] as Reader;
    const out = new Float64Array(2 * n);
    for (let i = 0; i < n; i++) {
      const at = (pos[i] as number) * size;
      out[2 * i] = sign * read(view, at);
      out[2 * i + 1] = sign * (w.conj ? -1 : 1) * read(view, at + size / 2);
    }
    return out;
  }
  const read = READERS[w.code] as Reader;
  const out = new Float64Array(n);
  for (let i = 0; i < n; i++) out[i] = sign * read(view, (pos[i] as number) * size);
  return out;
}

function numberToBfloat(x: number): number {
  scratch.setFloat32(0, x);
  const bits = scratch.getUint32(0);
  return ((bits + 0x7fff + ((bits >> 16) & 1)) >>> 16) & 0xffff;
}

// Exact for the small quarter multiples that cotangents are made of; anything else is refused.
function numberToHalf(x: number): number {
  for (let exp = 1; x !== 0 && exp < 31; exp++) {
    const frac = (Math.abs(x) / 2 ** (exp - 15) - 1) * 1024;
    if (frac >= 0 && frac < 1024 && Number.isInteger(frac)) return (x < 0 ? 0x8000 : 0) | (exp << 10) | frac;
  }
  if (x === 0) return Object.is(x, -0) ? 0x8000 : 0;
  throw new RangeError(`${x} is not a float16 value`);
}

function putNumber(v: DataView, at: number, code: Code, x: number): void {
  if (code === "f64") v.setFloat64(at, x, true);
  else if (code === "f32") v.setFloat32(at, x, true);
  else if (code === "bf16") v.setUint16(at, numberToBfloat(x), true);
  else if (code === "f16") v.setUint16(at, numberToHalf(x), true);
  else throw new RangeError(`no cotangent for dtype ${code}`);
}

/** Bytes of the fixed cotangent for output k: ((7i+3+5k) mod 11 - 5)/4, imaginary ((5i+1+3k) mod 7 - 3)/4. */
export function cotangentBytes(code: Code, numel: number, k: number): Uint8Array {
  const size = ITEM_SIZE[code];
  const bytes = new Uint8Array(numel * size);
  const view = new DataView(bytes.buffer);
  const part = COMPONENT[code] ?? code;
  for (let i = 0; i < numel; i++) {
    putNumber(view, i * size, part, (((7 * i + 3 + 5 * k) % 11) - 5) / 4);
    if (part !== code) putNumber(view, i * size + size / 2, part, (((5 * i + 1 + 3 * k) % 7) - 3) / 4);
  }
  return bytes;
}
