// Remainders and quotients of every rule, whatever the size of operands and quotients, beside those of JavaScript;
// powers of integers.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";

const BOUNDS = [
  0,
  5e-324,
  1e-323,
  1.5e-323,
  1e-320,
  2.3e-308,
  4e-308,
  1e-300,
  1e-45,
  2.8e-45,
  4.2e-45,
  3e-45,
  1.2e-38,
  2.4e-38,
  1e-30,
  1e-10,
  0.1,
  0.3,
  0.5,
  1,
  1.5,
  2,
  3,
  7,
  10,
  1000.5,
  2 ** 20,
  2 ** 21 - 1,
  2 ** 21,
  2 ** 21 + 1,
  2 ** 24,
  2 ** 31,
  2 ** 50 - 1,
  2 ** 50,
  2 ** 50 + 1,
  2 ** 53,
  1e20,
  1e25,
  1e38,
  3e38,
  1e100,
  1e300,
  1.7e308,
  Number.POSITIVE_INFINITY,
  Number.NaN,
];

/** All pairs of bounds with all signs, in a row: divisors and dividends meet in many vectors. */
function pairs(round: (x: number) => number): { a: number[]; b: number[] } {
  const all = BOUNDS.map(round).flatMap((x) => [x, -x]);
  return { a: all.flatMap((x) => all.map(() => x)), b: all.flatMap(() => all) };
}

const negative = (x: number): boolean => x < 0 || Object.is(x, -0);
/** A zero has the sign of the dividend. */
const truncated = (x: number, y: number): number => x % y;

function floored(x: number, y: number): number {
  const m = x % y;
  return m !== 0 && y < 0 !== m < 0 ? m + y : m;
}

/** The rule of torch; `r` rounds to the dtype. */
function quotient(x: number, y: number, r: (v: number) => number): number {
  if (y === 0) return r(x / y);
  const m = x % y;
  let d = r(r(x - m) / y);
  if (m !== 0 && y < 0 !== m < 0) d = r(d - 1);
  if (d === 0) return negative(r(x / y)) ? -0 : 0;
  const f = Math.floor(d);
  return r(d - f) > 0.5 ? r(f + 1) : f;
}

const same = (x: number, y: number): boolean => Object.is(x, y) || (Number.isNaN(x) && Number.isNaN(y));

for (const dtype of [z.float32, z.float64]) {
  const r = dtype === z.float32 ? Math.fround : (x: number) => x;
  const { a, b } = pairs(r);
  const [x, y] = [z.tensor(a, { dtype }), z.tensor(b, { dtype })];
  const rules: [string, z.Tensor, (x: number, y: number) => number][] = [
    ["fmod", z.fmod(x, y), truncated],
    ["remainder", z.remainder(x, y), (p, q) => r(floored(p, q))],
    ["floorDivide", z.floorDivide(x, y), (p, q) => quotient(p, q, r)],
  ];
  for (const [name, found, rule] of rules) {
    test(`${name} of ${dtype.name}`, () => {
      const got = found.to(z.float64).typedArray() as Float64Array;
      const bad = a.findIndex((p, i) => !same(got[i] as number, rule(p, b[i] as number)));
      expect(bad < 0 ? "" : `${a[bad]}, ${b[bad]}: ${got[bad]}, not ${rule(a[bad] as number, b[bad] as number)}`).toBe(
        "",
      );
    });
  }
}

const INTEGERS: [z.DType, number, boolean][] = [
  [z.int8, 8, true],
  [z.uint8, 8, false],
  [z.int16, 16, true],
  [z.int32, 32, true],
  [z.int64, 64, true],
];
const sign = (x: bigint): number => (x < 0n ? -1 : x > 0n ? 1 : 0);

for (const [dtype, bits, signed] of INTEGERS) {
  const most = 2n ** BigInt(signed ? bits - 1 : bits) - 1n;
  const least = signed ? -most - 1n : 0n;
  const wrap = (x: bigint): bigint => (signed ? BigInt.asIntN(bits, x) : BigInt.asUintN(bits, x));
  const some = [0n, 1n, 2n, 3n, 5n, 7n, 10n, 63n, 100n, most / 2n, most - 1n, most];
  const all = signed ? [...some, ...some.map((x) => -x), least, least + 1n] : some;
  const a = all.flatMap((x) => all.filter((y) => y !== 0n).map(() => x));
  const b = all.flatMap(() => all.filter((y) => y !== 0n));
  const tensor = (list: bigint[]) => z.tensor(list, { dtype: z.int64 }).to(dtype);
  const read = (t: z.Tensor) => Array.from(t.to(z.int64).typedArray() as BigInt64Array);
  const down = (x: bigint, y: bigint) => (x % y !== 0n && sign(x) !== sign(y) ? x / y - 1n : x / y);

  test(`division of ${dtype.name}`, () => {
    const [x, y] = [tensor(a), tensor(b)];
    const by = (rule: (p: bigint, q: bigint) => bigint) => a.map((p, i) => wrap(rule(p, b[i] as bigint)));
    expect(read(z.div(x, y, { roundingMode: "trunc" }))).toEqual(by((p, q) => p / q));
    expect(read(z.floorDivide(x, y))).toEqual(by(down));
    expect(read(z.fmod(x, y))).toEqual(by((p, q) => p % q));
    expect(read(z.remainder(x, y))).toEqual(by((p, q) => p - down(p, q) * q));
  });

  test(`powers of ${dtype.name}`, () => {
    const bases = signed ? [0n, 1n, -1n, 2n, -2n, 3n, -7n, most, least] : [0n, 1n, 2n, 3n, most];
    const exponents = [0n, 1n, 2n, 3n, 4n, 5n, 8n, 31n, 62n, 63n, 64n, 100n].filter((e) => e <= most);
    const p = bases.flatMap((x) => exponents.map(() => x));
    const e = bases.flatMap(() => exponents);
    expect(read(z.pow(tensor(p), tensor(e)))).toEqual(p.map((x, i) => wrap(x ** (e[i] as bigint))));
    if (!signed) return;
    const odd = bases.flatMap((x) => [-1n, -2n, -3n].map((k) => [x, k] as const)).filter(([x]) => x !== 0n);
    const wanted = odd.map(([x, k]) => (x === 1n ? 1n : x === -1n ? (k % 2n === 0n ? 1n : -1n) : 0n));
    expect(read(z.pow(tensor(odd.map(([x]) => x)), tensor(odd.map(([, k]) => k))))).toEqual(wanted);
  });
}
