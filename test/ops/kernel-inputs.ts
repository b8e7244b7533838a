// Inputs of the kernel fixtures: the formula of scripts/oracle/kernel_inputs.py, computed to the same bytes.
//
//   mix(x):   x ^= x >> 16; x *= 0x85EBCA6B; x ^= x >> 13; x *= 0xC2B2AE35; x ^= x >> 16      (mod 2^32)
//   u(j, k) = mix(j * 0x9E3779B1 + k * 0x85EBCA77 + 0x165667B1)
//
// j is the position in the storage, k the operand's stream (+16: high words and imaginary parts, +32: special values).
import type { Code } from "../conformance/case-types.ts";
import { ITEM_SIZE } from "../conformance/elements.ts";

export function mix(x: number): number {
  let h = x;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Stream k of the formula. */
export function words(k: number, n: number): Uint32Array {
  const out = new Uint32Array(n);
  const start = (Math.imul(k, 0x85ebca77) + 0x165667b1) | 0;
  for (let j = 0; j < n; j++) out[j] = mix((Math.imul(j, 0x9e3779b1) + start) | 0);
  return out;
}

type RealFloat = "f16" | "bf16" | "f32" | "f64";

const ANY: Record<RealFloat, (u: number) => number> = {
  f16: (u) => ((u >>> 21) - 1024) / 128,
  bf16: (u) => ((u >>> 24) - 128) / 16,
  f32: (u) => ((u >>> 8) - 2 ** 23) / 2 ** 20,
  f64: (u) => (u - 2 ** 31) / 2 ** 28,
};

const POS: Record<RealFloat, (u: number) => number> = {
  f16: (u) => ((u >>> 21) + 1) / 128,
  bf16: (u) => ((u >>> 25) + 1) / 8,
  f32: (u) => ((u >>> 8) + 1) / 2 ** 20,
  f64: (u) => (u + 1) / 2 ** 28,
};

const SPECIALS: Record<string, number[]> = {
  spec: [Number.NaN, Infinity, -Infinity, -0, 0, 1],
  nans: [Number.NaN, Infinity, -Infinity, 1],
};

function signValue(u: number, j: number, signed: boolean): number {
  return (signed && u >>> 31 ? -1 : 1) * (j % 9973 === 5 ? 2 : 1);
}

function floatValues(dt: RealFloat, dom: string, k: number, n: number): Float64Array {
  const u = words(k, n);
  const out = new Float64Array(n);
  const any = ANY[dt];
  switch (dom) {
    case "any":
      return out.map((_, j) => any(u[j]));
    case "spec":
    case "nans": {
      const w = words(k + 32, n);
      const table = SPECIALS[dom];
      return out.map((_, j) => (w[j] % 61 === 0 ? table[(w[j] >>> 8) % table.length] : any(u[j])));
    }
    case "pos":
      return out.map((_, j) => POS[dt](u[j]));
    case "small":
      return out.map((_, j) => ((u[j] >>> 28) - 8) / 4);
    case "divisor":
      return out.map((_, j) => ((u[j] >>> 28) - 8) / 4 || 1.5);
    case "expo":
      return out.map((_, j) => ((u[j] >>> 28) % 9) / 2 - 2);
    case "sign":
      return out.map((_, j) => signValue(u[j], j, true));
    default:
      throw new Error(`unknown domain ${dom}`);
  }
}

function smallInt(dom: string, signed: boolean, u: number, j: number): number {
  if (dom === "pos") return ((u >>> 24) % 100) + 1;
  if (dom === "expo") return (u >>> 28) % 5;
  if (dom === "sign") return signValue(u, j, signed);
  const v = (u >>> 28) - (signed ? 8 : 0);
  return dom === "divisor" && (v === 0 || v === -1) ? 3 : v;
}

/** Writes the float64 values as elements of a real float dtype, `step` elements apart. */
function storeFloats(dt: RealFloat, values: Float64Array, into: ArrayBuffer, first: number, step: number): void {
  const n = values.length;
  if (dt === "f64" || dt === "f32" || dt === "f16") {
    const a = dt === "f64" ? new Float64Array(into) : dt === "f32" ? new Float32Array(into) : new Float16Array(into);
    for (let j = 0; j < n; j++) a[first + j * step] = values[j];
    return;
  }
  // Every value is a bfloat16 already: the upper half of its float32 bits.
  const bits = new Uint32Array(Float32Array.from(values).buffer);
  const a = new Uint16Array(into);
  for (let j = 0; j < n; j++) a[first + j * step] = bits[j] >>> 16;
}

const INT_ARRAY = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
  u32: Uint32Array,
  i32: Int32Array,
} as const;

function storeInts(dt: Code, dom: string, k: number, n: number, into: ArrayBuffer): void {
  const u = words(k, n);
  const signed = dt[0] === "i";
  const whole = dom === "any" || dom in SPECIALS || dom === "mask";
  const value = (j: number) => smallInt(dom, signed, u[j], j);
  if (dt === "i64" || dt === "u64") {
    const a = new Uint32Array(into);
    const high = whole ? words(k + 16, n) : null;
    for (let j = 0; j < n; j++) {
      const v = high ? u[j] : value(j);
      a[2 * j] = v;
      a[2 * j + 1] = high ? high[j] : v < 0 ? 0xffffffff : 0;
    }
    return;
  }
  const a = new INT_ARRAY[dt as keyof typeof INT_ARRAY](into);
  const bits = 8 * a.BYTES_PER_ELEMENT;
  const bias = signed ? 2 ** (bits - 1) : 0;
  for (let j = 0; j < n; j++) a[j] = whole ? (u[j] >>> (32 - bits)) - bias : value(j);
}

function storeIndex(dom: string, k: number, n: number, into: ArrayBuffer): void {
  const m = Number(dom.slice(4));
  const u = words(k, n);
  const a = new BigInt64Array(into);
  for (let j = 0; j < n; j++) a[j] = BigInt(dom.startsWith("rev") ? m - 1 - (j % m) : u[j] % m);
}

const PART: Partial<Record<Code, RealFloat>> = { c64: "f32", c128: "f64" };

function make(dt: Code, dom: string, k: number, n: number): Uint8Array {
  const buffer = new ArrayBuffer(n * ITEM_SIZE[dt]);
  const part = PART[dt];
  if (dom.includes(":")) storeIndex(dom, k, n, buffer);
  else if (dt === "bool") new Uint8Array(buffer).set(words(k, n).map((u) => (dom === "divisor" ? 1 : u >>> 31)));
  else if (part !== undefined) {
    const plain = dom in SPECIALS ? "any" : dom;
    const imaginary = ["spec", "nans", "pos", "divisor"].includes(dom) ? "any" : dom;
    storeFloats(part, floatValues(part, plain, k, n), buffer, 0, 2);
    if (dom !== "sign") storeFloats(part, floatValues(part, imaginary, k + 16, n), buffer, 1, 2);
  } else if (dt in ANY) storeFloats(dt as RealFloat, floatValues(dt as RealFloat, dom, k, n), buffer, 0, 1);
  else storeInts(dt, dom, k, n, buffer);
  return new Uint8Array(buffer);
}

const cache = new Map<string, Uint8Array>();
const CACHE_BYTES = 64 * 2 ** 20;
let cached = 0;

/** Bytes of n elements. Callers do not write into them. */
export function storageOf(dt: Code, dom: string, k: number, n: number): Uint8Array {
  const key = `${dt} ${dom} ${k} ${n}`;
  let bytes = cache.get(key);
  if (bytes === undefined) {
    bytes = make(dt, dom, k, n);
    if (cached > CACHE_BYTES) {
      cache.clear();
      cached = 0;
    }
    cache.set(key, bytes);
    cached += bytes.length;
  }
  return bytes;
}

export interface Layout {
  /** Elements stored. */
  stored: number;
  strides: number[];
  offset: number;
}

/** c contiguous, t transposed, s every second element, x expanded along dim 0, o behind three other elements. */
export function windowOf(layout: string, shape: readonly number[]): Layout {
  const two = shape.length === 2;
  const [a, b] = two ? [shape[0], shape[1]] : [1, shape[0]];
  if (layout === "t" && two) return { stored: a * b, strides: [1, Math.max(a, 1)], offset: 0 };
  if (layout === "s") return { stored: 2 * a * b, strides: two ? [2 * Math.max(b, 1), 2] : [2], offset: 0 };
  if (layout === "x") return { stored: two ? b : 1, strides: two ? [0, 1] : [0], offset: 0 };
  const pad = layout === "o" ? 3 : 0;
  return { stored: a * b + pad, strides: two ? [Math.max(b, 1), 1] : [1], offset: pad };
}
