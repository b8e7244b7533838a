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
