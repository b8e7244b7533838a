// Functions at and beside the bounds at which their kernels change ways, beside exact values
// (test/fixtures/edges.jsonl, scripts/oracle/make_edge_values.py). How far a result may be off is what the formulas
// give, hardly more: a term that is lost shows.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "../../src/index.ts";

interface Line {
  fn: string;
  args: string[];
  hi: string;
  lo: string;
}

const bytes = (text: string): ArrayBuffer => Uint8Array.from(Buffer.from(text, "base64")).buffer;
const doubles = (text: string): Float64Array => new Float64Array(bytes(text));
const lines = readFileSync(join(import.meta.dir, "../fixtures/edges.jsonl"), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as Line);
const line = (fn: string): Line => lines.find((l) => l.fn === fn) as Line;
const shared = line("complex exp");

/** The distance of neighbouring numbers of so many bits at x. */
function unit(x: number, bits: number, least: number): number {
  return Math.max(2 ** (Math.floor(Math.log2(Math.abs(x))) - bits), least);
}
const unit64 = (x: number): number => unit(x, 52, 2 ** -1074);
const unit32 = (x: number): number => unit(x, 23, 2 ** -149);

/** How many units of its last place a result is off; infinite where it is another kind of number. */
function off(found: number, wanted: number, more: number, unitOf: (x: number) => number): number {
  if (Object.is(found, wanted) || (Number.isNaN(found) && Number.isNaN(wanted))) return Math.abs(more);
  if (!Number.isFinite(wanted) || !Number.isFinite(found) || wanted === 0) return Number.POSITIVE_INFINITY;
  if (Math.sign(found) * Math.sign(wanted) < 0) return Number.POSITIVE_INFINITY;
  return Math.abs((found - wanted) / unitOf(wanted) - more);
}

interface Results {
  found: ArrayLike<number>;
  wanted: ArrayLike<number>;
  /** What is left of the exact values, in units. */
  more?: ArrayLike<number>;
  unitAt: (i: number) => (x: number) => number;
  argument: (i: number) => string;
}

/** What is off by more than `bound`, worded. */
function wrong({ found, wanted, more, unitAt, argument }: Results, bound: number): string[] {
  const list: string[] = [];
  for (let i = 0; i < wanted.length && list.length < 5; i++) {
    const [x, y] = [found[i] as number, wanted[i] as number];
    const far = off(x, y, more?.[i] ?? 0, unitAt(i));
    if (!(far <= bound)) list.push(`${argument(i)}: ${x}, not ${y} (${far} units)`);
  }
  return list;
}

/** C's power: 1 to anything, and -1 to infinities, are 1. */
function power(x: number, y: number): number {
  return x === 1 || (x === -1 && Math.abs(y) === Number.POSITIVE_INFINITY) ? 1 : x ** y;
}
const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

type Call = (...x: z.Tensor[]) => z.Tensor;
/** Functions with what a float64 and a float32 may be off, in units of the last place. */
const REAL: [string, Call, number, number, (x: number, y: number) => number][] = [
  ["exp", z.exp as Call, 0.85, 1, Math.exp],
  ["expm1", z.expm1 as Call, 1.3, 1, Math.expm1],
  ["log", z.log as Call, 0.75, 1, Math.log],
  ["log1p", z.log1p as Call, 1.17, 1.2, Math.log1p],
  ["tanh", z.tanh as Call, 1.72, 1.8, Math.tanh],
  ["sigmoid", z.sigmoid as Call, 1.18, 1.3, logistic],
  ["sin", z.sin as Call, 1.18, 1, Math.sin],
  ["cos", z.cos as Call, 1.13, 1, Math.cos],
  ["atan2", z.atan2 as Call, 1.15, 1.3, Math.atan2],
  ["pow", z.pow as Call, 0.93, 1, power],
];

/** The arguments as they come, and each in the place of every lane. */
const SPREADS: [string, number][] = [
  ["", 1],
  [", in every lane", 19],
];
const repeated = (x: ArrayLike<number>, times: number): Float64Array =>
  Float64Array.from({ length: times * x.length }, (_, i) => x[Math.floor(i / times)] as number);

for (const [name, call, bound, bound32, exact] of REAL) {
  const l = line(name);
  for (const [how, times] of SPREADS) {
    const given = l.args.map((x) => repeated(doubles(x), times));

    test(`${name} of float64${how}`, () => {
      const found = call(...given.map((x) => z.fromTypedArray(x))).typedArray() as Float64Array;
      const wanted = repeated(doubles(l.hi), times);
      const more = repeated(new Float32Array(bytes(l.lo)), times);
      const argument = (i: number) => given.map((x) => x[i]).join(", ");
      expect(wrong({ found, wanted, more, unitAt: () => unit64, argument }, bound)).toEqual([]);
    });

    test(`${name} of float32${how}`, () => {
      const [x, y = x] = given.map((g) => Float32Array.from(g)) as [Float32Array, Float32Array?];
      const found = call(...[x, y].slice(0, given.length).map((v) => z.fromTypedArray(v))).typedArray() as Float32Array;
      const wanted = Float64Array.from(x, (v, i) => exact(v, y[i] as number)).map((v) =>
        Math.abs(v) >= 2 ** 128 - 2 ** 103 ? Math.sign(v) * Number.POSITIVE_INFINITY : v,
      );
      const argument = (i: number) => `${x[i]}, ${y[i]}`;
      expect(wrong({ found, wanted, unitAt: () => unit32, argument }, bound32)).toEqual([]);
    });
  }
}

/** Complex functions; the last says that both parts count by the last place of the larger one. */
const COMPLEX: [string, (x: z.Tensor) => z.Tensor, number, boolean][] = [
  ["exp", z.exp, 2.6, false],
  ["log", z.log, 1.6, false],
  ["log1p", z.log1p, 5.3, false],
  ["sqrt", z.sqrt, 1.3, false],
  ["tanh", z.tanh, 4.2, false],
  ["sigmoid", z.sigmoid, 5.2, true],
  ["sin", z.sin, 2.6, false],
  ["cos", z.cos, 2.6, false],
  ["expm1", z.expm1, 3, true],
  ["reciprocal", z.reciprocal, 1.85, false],
  ["abs", z.abs, 1, false],
];

for (const [name, call, bound, larger] of COMPLEX) {
  const l = line(`complex ${name}`);
  const flat = doubles(shared.args[0] as string);
  const parts = name === "abs" ? 1 : 2;
  const numbers = (y: z.Tensor): z.Tensor => (parts === 1 ? y : z.viewAsReal(y).reshape([-1]));

  test(`${name} of complex128`, () => {
    const x = z.viewAsComplex(z.fromTypedArray(flat).view([-1, 2]));
    const found = numbers(call(x)).typedArray() as Float64Array;
    const wanted = doubles(l.hi);
    const most = (i: number) => Math.max(Math.abs(wanted[i] as number), Math.abs(wanted[i ^ 1] as number));
    const unitAt = (i: number) => (larger ? () => unit64(most(i)) : unit64);
    const argument = (i: number) => flat.slice(2 * Math.floor(i / parts), 2 * Math.floor(i / parts) + 2).join(" ");
    expect(wrong({ found, wanted, more: new Float32Array(bytes(l.lo)), unitAt, argument }, bound)).toEqual([]);
  });

  // These two do not work in float64.
  if (name === "expm1" || name === "reciprocal") continue;
  test(`${name} of complex64 is that of complex128, rounded`, () => {
    const x = z.viewAsComplex(z.fromTypedArray(Float32Array.from(flat)).view([-1, 2]));
    const found = numbers(call(x)).typedArray() as Float32Array;
    const wanted = numbers(call(x.to(z.complex128)))
      .to(z.float32)
      .typedArray() as Float32Array;
    // Of infinite numbers log1p decides by what it loses in its own precision.
    const some = (x: Float32Array) => Array.from(x).filter((_, i) => name !== "log1p" || Number.isFinite(flat[i | 1]));
    expect(some(found)).toEqual(some(wanted));
  });
}

for (const [name, call] of [
  ["pow", z.pow],
  ["logaddexp", z.logaddexp],
] as const) {
  test(`${name} of complex numbers with zeros, infinities and NaN`, () => {
    const l = line(`special ${name}`);
    const [a, b] = l.args.map(doubles) as [Float64Array, Float64Array];
    const make = (x: Float64Array) => z.viewAsComplex(z.fromTypedArray(x).view([-1, 2]));
    const found = z
      .viewAsReal(call(make(a), make(b)))
      .reshape([-1])
      .typedArray() as Float64Array;
    const wanted = doubles(l.hi);
    const at = (i: number) => 2 * Math.floor(i / 2);
    const argument = (i: number) => `${a.slice(at(i), at(i) + 2)} and ${b.slice(at(i), at(i) + 2)}`;
    // Results of finite numbers are as far off as their logarithms are large.
    expect(wrong({ found, wanted, unitAt: () => unit64, argument }, 10_000)).toEqual([]);
  });
}
