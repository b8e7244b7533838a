// What kernels do at ends that other calls seldom reach: one element, results of other dtypes and layouts, factors that
// overflow beside NaN.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";

test("sums of one element into other dtypes", () => {
  for (const out of [z.float16, z.bfloat16, z.float32, z.float64, z.complex64]) {
    for (const from of [z.float16, z.bfloat16, z.float32, z.float64]) {
      for (const op of [z.sum, z.prod]) {
        const whole = z.full([4], -5, { dtype: out });
        op(z.full([1], 1.5, { dtype: from }), { out: whole.at(1) });
        expect(
          whole.equal(z.tensor([-5, 1.5, -5, -5], { dtype: out })),
          `${op.name} of ${from.name} into ${out.name}`,
        ).toBe(true);
      }
    }
  }
});

test("sorted values and their places where results lie in different ways", () => {
  const x = z.tensor([
    [3, 1, 2],
    [9, 7, 8],
    [4, 6, 5],
    [0, 2, 1],
  ]);
  const values = z.tensor([
    [1, 2, 3],
    [7, 8, 9],
    [4, 5, 6],
    [0, 1, 2],
  ]);
  const places = z.tensor(
    [
      [1, 2, 0],
      [1, 2, 0],
      [0, 2, 1],
      [0, 2, 1],
    ],
    { dtype: "int64" },
  );
  for (const turned of [false, true]) {
    const v = turned ? z.zeros([4, 3]) : z.zeros([3, 4]).t();
    const i = turned ? z.zeros([3, 4], { dtype: "int64" }).t() : z.zeros([4, 3], { dtype: "int64" });
    z.sort(x, { dim: 1, out: [v, i] });
    expect([v.equal(values), i.equal(places)]).toEqual([true, true]);
  }
});

// Values that torch gives: by C's rule an exponent with a NaN is infinite where one of the four products overflows.
test("powers of complex numbers whose products overflow beside NaN", () => {
  const cases: [log: [number, number], exponent: [number, number], result: [number, number]][] = [
    [
      [5, 0.1],
      [1e308, Number.NaN],
      [Number.POSITIVE_INFINITY, Number.NaN],
    ],
    [
      [5, 0.1],
      [Number.NaN, 1e308],
      [0, 0],
    ],
    [
      [0.1, 3],
      [1e308, Number.NaN],
      [Number.POSITIVE_INFINITY, Number.NaN],
    ],
    [
      [0.1, 3],
      [Number.NaN, 1e308],
      [0, 0],
    ],
    [
      [0.1, 0.1],
      [1e308, Number.NaN],
      [Number.NaN, Number.NaN],
    ],
    [
      [-5, 0.1],
      [1e308, Number.NaN],
      [0, 0],
    ],
  ];
  const complex = ([re, im]: [number, number]) => z.viewAsComplex(z.tensor([[re, im]], { dtype: "float64" })).expand(9);
  for (const [log, exponent, result] of cases) {
    const found = z
      .viewAsReal(complex(log).exp().pow(complex(exponent)))
      .flatten()
      .tolist();
    expect(found, `${log}, ${exponent}`).toEqual(Array.from({ length: 9 }, () => result).flat());
  }
});

test("sums over many rows lose no more than a few last bits", () => {
  const x = Math.fround(0.1);
  for (const [rows, columns] of [
    [100000, 3],
    [300000, 40],
  ] as const) {
    const wide = z.full([rows, 2 * columns], x);
    for (const t of [wide, wide.slice(1, 0, 2 * columns, 2)]) {
      const sums = t.sum(0).typedArray() as Float32Array;
      for (const sum of sums) expect(Math.abs(sum / (rows * x) - 1)).toBeLessThan(3e-6);
    }
  }
});

test("no dimension at all leaves every element its truth", () => {
  const x = z.tensor([0, 2, Number.NaN, -1, 0]);
  for (const t of [x, x.to(z.int32), x.ne(0), x.slice(0, 0, 5, 2)]) {
    const truths = t.ne(0);
    expect(z.all(t, { dim: [] }).equal(truths)).toBe(true);
    expect(z.any(t, { dim: [] }).equal(truths)).toBe(true);
  }
});

const complex128 = (parts: number[]) => z.viewAsComplex(z.tensor(parts, { dtype: "float64" }).view([-1, 2]));

test("sinc of complex numbers on the imaginary axis, and at zero", () => {
  const parts = [0, 1, 0.5, -1, 2];
  const found = complex128(parts.flatMap((y) => [0, y])).sinc();
  const sinc = (y: number) => (y === 0 ? 1 : Math.sinh(Math.PI * y) / (Math.PI * y));
  expect(z.allclose(found, complex128(parts.flatMap((y) => [sinc(y), 0])), { rtol: 1e-14, atol: 0 })).toBe(true);
});

// Expected is what torch gives, to the digits that it prints.
test("logspace of complex numbers over a negative base", () => {
  const start = new z.Complex(0.5, 0.25);
  const found = z.logspace(start, new z.Complex(2, 1), 5, { base: -2, dtype: "complex128" });
  const wanted = complex128([-0.1112, 0.6351, -0.4621, 0.0414, -0.1152, -0.3134, 0.1962, -0.1386, 0.133, 0.1104]);
  expect(z.allclose(found, wanted, { rtol: 0, atol: 1e-4 })).toBe(true);
});

/** A multiple of the least number above zero. */
const least = (n: number): number => n * 2 ** -1074;

/** Which multiple of it a number is. */
function multiple(x: number): bigint {
  const bits = new BigUint64Array(Float64Array.of(x).buffer)[0] as bigint;
  const [exponent, mantissa] = [bits >> 52n, bits & ((1n << 52n) - 1n)];
  return exponent === 0n ? mantissa : (mantissa | (1n << 52n)) << (exponent - 1n);
}

test("remainders of numbers below the normal range", () => {
  const many = [1, 2, 3, 5, 7, 1000003, 2 ** 40 + 15, 2 ** 52 - 1, 2 ** 52 - 3, 2 ** 52, 2 ** 53 - 1];
  const pairs = many.flatMap((a) => many.map((b) => [a, b] as const));
  const column = (values: number[]) => z.tensor(values, { dtype: "float64" });
  for (const sign of [1, -1]) {
    const found = column(pairs.map(([a]) => least(sign * a))).fmod(column(pairs.map(([, b]) => least(b))));
    // -0 counts as 0 here.
    expect(found.equal(column(pairs.map(([a, b]) => least(sign * (a % b)))))).toBe(true);
  }
  // And of greater ones by such.
  const big = [2 ** -1000, 1, 1e300, 3 * 2 ** -1022, 2 ** 1023];
  for (const x of big) {
    for (const b of [3, 7, 1000003, 2 ** 52 - 1]) {
      expect(column([x]).fmod(least(b)).item(), `${x} ${b}`).toBe(least(Number(multiple(x) % BigInt(b))));
    }
  }
});

test("a sorter is asked about every place", () => {
  const sorted = z.tensor([10, 20, 30]);
  for (const wrong of [3, 4, -1]) {
    const sorter = z.tensor([0, 1, wrong], { dtype: "int64" });
    expect(() => z.searchsorted(sorted, z.tensor([25]), { sorter })).toThrow("sorter index out of range");
  }
});

test("turned operands of several planes", () => {
  for (const shape of [
    [3, 4, 40, 48],
    [5, 40, 48],
    [2, 3, 2, 33, 65],
  ]) {
    const n = shape.reduce((a, b) => a * b, 1);
    const x = z.arange(n).view(shape);
    const turned = [...shape.slice(0, -2), shape.at(-1) as number, shape.at(-2) as number];
    const y = z.arange(n).mul(2).view(turned).mT;
    const sums = x.add(y).flatten().tolist() as number[];
    const [rows, columns] = shape.slice(-2) as [number, number];
    const wanted = Array.from({ length: n }, (_, i) => {
      const [plane, row, column] = [Math.floor(i / (rows * columns)), Math.floor(i / columns) % rows, i % columns];
      return i + 2 * (plane * rows * columns + column * rows + row);
    });
    expect(sums).toEqual(wanted);
  }
});
