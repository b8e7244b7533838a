// Every number of each short float, and every number halfway between two of them with its neighbours.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";

interface Format {
  dtype: z.DType;
  exponent: number;
  mantissa: number;
  /** Without infinities all ones alone is NaN, and what is too large becomes the largest number. */
  infinite: boolean;
}

const FORMATS: Format[] = [
  { dtype: z.float16, exponent: 5, mantissa: 10, infinite: true },
  { dtype: z.bfloat16, exponent: 8, mantissa: 7, infinite: true },
  { dtype: z.float8_e5m2, exponent: 5, mantissa: 2, infinite: true },
  { dtype: z.float8_e4m3fn, exponent: 4, mantissa: 3, infinite: false },
];

/** The number that bits without a sign stand for. */
function decoded({ exponent, mantissa, infinite }: Format, bits: number): number {
  const bias = 2 ** (exponent - 1) - 1;
  const e = bits >> mantissa;
  const m = bits % 2 ** mantissa;
  if (infinite && e === 2 ** exponent - 1) return m === 0 ? Number.POSITIVE_INFINITY : Number.NaN;
  if (!infinite && bits === 2 ** (exponent + mantissa) - 1) return Number.NaN;
  return e === 0 ? m * 2 ** (1 - bias - mantissa) : (2 ** mantissa + m) * 2 ** (e - bias - mantissa);
}

/** The float32 after a positive one, or before it. */
function beside(x: number, step: number): number {
  const bits = new Uint32Array(Float32Array.of(x).buffer);
  bits[0] = (bits[0] as number) + step;
  return new Float32Array(bits.buffer)[0] as number;
}

const same = (x: number, y: number): boolean => Object.is(x, y) || (Number.isNaN(x) && Number.isNaN(y));

/** In pieces of several lengths: whole vectors, and what is left of them. */
function checked(given: Float32Array, wanted: Float64Array, dtype: z.DType): string {
  const lengths = [1000, 37, 16, 7, 1];
  for (let at = 0, turn = 0; at < given.length; turn++) {
    const n = Math.min(lengths[turn % 5] as number, given.length - at);
    const part = z.fromTypedArray(given.slice(at, at + n));
    const short = part.to(dtype);
    const back = short.to(z.float64).typedArray() as Float64Array;
    const once = short.to(z.float32).typedArray() as Float32Array;
    const direct = part.to(z.float64).to(dtype).to(z.float32).typedArray() as Float32Array;
    for (let i = 0; i < n; i++) {
      const w = wanted[at + i] as number;
      for (const v of [back[i], once[i], direct[i]]) {
        if (!same(v as number, w)) return `${dtype.name} of ${given[at + i]}: ${v}, not ${w}`;
      }
    }
    at += n;
  }
  return "";
}

for (const format of FORMATS) {
  const { dtype, exponent, mantissa, infinite } = format;
  test(`every ${dtype.name}, and every halfway between two`, () => {
    const count = 2 ** (exponent + mantissa);
    const values = Array.from({ length: count }, (_, i) => decoded(format, i));
    const last = infinite ? values.indexOf(Number.POSITIVE_INFINITY) - 1 : count - 2;
    const [given, wanted]: [number[], number[]] = [[], []];
    for (let i = 0; i < count; i++) {
      const v = values[i] as number;
      given.push(v);
      wanted.push(v);
      if (i > last) continue;
      const step = i === last ? v - (values[i - 1] as number) : (values[i + 1] as number) - v;
      const over = i === last && !infinite ? v : (values[i + 1] as number);
      const half = v + step / 2;
      given.push(half, beside(half, -1), beside(half, 1));
      wanted.push(i % 2 === 0 ? v : over, v, over);
    }
    // Far beyond the largest, and far below the least.
    given.push(1e30, 3e38, 1e-44, Number.POSITIVE_INFINITY);
    const most = values[last] as number;
    const far = infinite ? Number.POSITIVE_INFINITY : most;
    const wide = exponent === 8;
    given.push(Number.NaN);
    wanted.push(wide ? 1.000095e30 : far, wide ? 2.9908e38 : far, 0, far, Number.NaN);
    const whole = Float32Array.from([...given, ...given.map((x) => -x)]);
    const results = Float64Array.from([...wanted, ...wanted.map((x) => -x)]);
    if (wide) for (const n of [5, 4]) for (const k of [given.length - n, whole.length - n]) whole[k] = results[k] = 0;
    expect(checked(whole, results, dtype)).toBe("");
  });
}
