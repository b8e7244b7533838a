// Compares results with sampled rows: some values one by one, all of them by weighted sums whose bounds follow from the
// tolerance of a single value.
import type { Code } from "../conformance/case-types.ts";
import { isComplexCode } from "../conformance/elements.ts";
import { words } from "./kernel-inputs.ts";
import type { Bound, OpSpec, Row } from "./kernel-types.ts";

const GRADIENT: Bound = { rtol: 1e-4, atol: 1e-5 };
const HALF_GRADIENT: Bound = { rtol: 2e-2, atol: 2e-2 };
const EPS: Partial<Record<Code, number>> = { f16: 2 ** -10, bf16: 2 ** -7, f32: 2 ** -23, f64: 2 ** -52 };
const TINY: Partial<Record<Code, number>> = {
  f16: 2 ** -14,
  bf16: 2 ** -126,
  f32: 2 ** -126,
  f64: 2 ** -1022,
};

function isHalf(c: Code): boolean {
  return c === "f16" || c === "bf16";
}

/** Positions that are sampled out of n elements. */
export function sampledPositions(n: number): number[] {
  if (n <= 16) return Array.from({ length: n }, (_, i) => i);
  const at = new Set([0, 1]);
  for (let j = 1; j < 9; j++) at.add(Math.floor((j * (n - 1)) / 9));
  for (let j = n - 6; j < n; j++) at.add(j);
  return [...at].sort((p, q) => p - q);
}

/** A stored value: the shortest decimals that tell float32 numbers apart, or all digits of a float64. */
function parse(x: number | string, part: Code): number {
  if (typeof x === "number") return part === "f64" ? x : Math.fround(x);
  return x === "nan" ? Number.NaN : x === "inf" ? Infinity : -Infinity;
}

function boundFor(spec: OpSpec, row: Row, code: Code): Bound {
  if (row.f === "g") return isHalf(row.d) || isHalf(code) ? HALF_GRADIENT : GRADIENT;
  if (isComplexCode(row.d)) return spec.cplx ?? { ulp: 16, atol: 1e-6, ...spec.tol };
  if (isHalf(row.d)) return spec.half ?? { ulp: 1 };
  return spec.tol;
}

/** |got - want| that is let through. */
function allowance(bound: Bound, part: Code, magnitude: number): number {
  const step = Math.max(magnitude, TINY[part] as number) * (EPS[part] as number);
  return (bound.atol ?? 0) + (bound.rtol ?? 0) * magnitude + (bound.ulp ?? 0) * step;
}

/** What rounding to the digits that are stored may change. */
const STORED: Partial<Record<Code, number>> = { f16: 1e-7, bf16: 1e-7, f32: 1e-9, f64: 0 };

export function isFloating(code: Code): boolean {
  return isComplexCode(code) || code in EPS;
}

function partOf(code: Code): Code {
  return code === "c64" ? "f32" : code === "c128" ? "f64" : code;
}

/** Size of the number that a component belongs to; a complex number has two. */
function magnitudeAt(values: Float64Array, i: number, width: number): number {
  if (width === 1) return Math.abs(values[i]);
  const [re, im] = [values[i & ~1], values[i | 1]];
  return Number.isFinite(re) ? (Number.isFinite(im) ? Math.hypot(re, im) : Math.abs(re)) : Math.abs(im);
}

/** |got - want| that a row lets through at a position of its values. */
export function allowanceAt(spec: OpSpec, row: Row, code: Code, values: Float64Array, i: number): number {
  return allowance(boundFor(spec, row, code), partOf(code), magnitudeAt(values, i, isComplexCode(code) ? 2 : 1));
}

let known = new Float64Array(0);

/** Weights of the sums, scrambled in sign and size (see make_kernel_fixtures.py). */
function weights(n: number): Float64Array {
  if (known.length < n) {
    known = Float64Array.from(words(48, 2 * n), (u) => (u >>> 31 ? -1 : 1) * (1 + ((u >>> 16) & 255) / 256));
  }
  return known;
}

function compareSums(spec: OpSpec, row: Row, code: Code, want: number[], values: Float64Array): string | null {
  const [part, width, bound] = [partOf(code), isComplexCode(code) ? 2 : 1, boundFor(spec, row, code)];
  const rounding = row.f === "g" ? 1e-6 : (STORED[part] as number);
  const [lanes, w] = [want.length, weights(values.length)];
  for (const [lane, expected] of want.entries()) {
    let [sum, slack, total] = [0, 0, 0];
    for (let i = lane; i < values.length; i += lanes) {
      const v = values[i];
      // Zeros are exact: with a slack of their own a few values among them could be anything.
      if (v === 0 || !Number.isFinite(v)) continue;
      sum += w[i] * v;
      total += Math.abs(w[i] * v);
      slack += Math.abs(w[i]) * allowance(bound, part, magnitudeAt(values, i, width));
    }
    // The sum itself is rounded too.
    slack += rounding * Math.abs(expected) + (values.length / lanes) * 2 ** -52 * total;
    if (Math.abs(sum - expected) <= slack) continue;
    return `weighted sum of every ${lanes}th from [${lane}] on is ${sum}, expected ${expected} within ${slack}`;
  }
  return null;
}

function comparePlaces(row: Row, i: number, values: Float64Array): string | null {
  let sum = 0;
  for (let j = 0; j < values.length; j++) {
    const v = values[j];
    if (!Number.isFinite(v)) sum += (j + 1) * (Number.isNaN(v) ? 1 : v > 0 ? 2 : 3);
  }
  return sum === (row.q?.[i] ?? 0) ? null : "NaN or infinities at other places";
}

/** What is wrong with the values (components of complex numbers) of result i of a row. */
export function compareSamples(spec: OpSpec, row: Row, i: number, code: Code, values: Float64Array): string | null {
  const want = (row.v as (number | string)[][])[i].map((x) => parse(x, partOf(code)));
  const width = isComplexCode(code) ? 2 : 1;
  const bound = boundFor(spec, row, code);
  const at = sampledPositions(values.length / width);
  for (const [j, p] of at.entries()) {
    const pair = want.slice(j * width, (j + 1) * width);
    const size = Math.hypot(...pair.filter(Number.isFinite));
    for (let c = 0; c < width; c++) {
      const [got, expected] = [values[p * width + c], pair[c]];
      if (Object.is(got, expected) || got === expected || (Number.isNaN(got) && Number.isNaN(expected))) continue;
      if (Math.abs(got - expected) <= allowance(bound, partOf(code), size)) continue;
      return `[${p}] is ${got}, expected ${expected}`;
    }
  }
  const sums = row.w?.[i] ?? [];
  return comparePlaces(row, i, values) ?? compareSums(spec, row, code, sums, values);
}
