// Reductions where their ways meet: long ones that are cut into parts, rows and columns, blocks of columns, rows that
// are taken several at a time, lengths around whole vectors, strides of all kinds, beside plain loops. Elements are
// small whole numbers, so that sums are exact in every order.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";

const { bfloat16, bool, complex64, float32, float64, int8, int16, int32, int64, uint8 } = z;

/** Numbers from -4 to 4, or truth values; every so often one is far out, in no order. */
function numbers(n: number, dtype: z.DType): Float64Array {
  let state = 7 * n + 1;
  const low = dtype === uint8 || dtype === bool ? 0 : -4;
  return Float64Array.from({ length: n }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    if (dtype === bool) return state % 5003 === 0 ? 1 : 0;
    return low + ((state >>> 12) % 9) + (state % 4999 === 0 ? 7 : 0);
  });
}

type Lie = "rows" | "columns" | "steps" | "repeated" | "turned";
const LIES: Record<Lie, (x: z.Tensor) => z.Tensor> = {
  rows: (x) => x,
  columns: (x) => x.t().contiguous().t(),
  // Every second element of memory whose others are far out.
  steps: (x) => {
    const wide = z.full([...x.shape, 2], x.dtype === bool ? 1 : 99, { dtype: x.dtype });
    wide.select(-1, 0).copy_(x);
    return wide.select(-1, 0);
  },
  repeated: (x) => x.narrow(0, 0, 1).expand(x.shape),
  turned: (x) =>
    x
      .view([x.shape[0] as number, 1, -1])
      .permute(2, 1, 0)
      .contiguous()
      .permute(2, 1, 0)
      .select(1, 0),
};

const plain = (t: z.Tensor): Float64Array => t.to(float64).contiguous().typedArray() as Float64Array;

interface Line {
  sum: number;
  most: number;
  least: number;
  mostAt: number;
  leastAt: number;
  squares: number;
}

/** What a matrix has along `dim`. */
function lines(values: Float64Array, m: number, n: number, dim: number): Line[] {
  const out: Line[] = Array.from({ length: dim === 0 ? n : m }, () => ({
    sum: 0,
    most: Number.NEGATIVE_INFINITY,
    least: Number.POSITIVE_INFINITY,
    mostAt: 0,
    leastAt: 0,
    squares: 0,
  }));
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      const [x, at] = [values[i * n + j] as number, dim === 0 ? i : j];
      const line = out[dim === 0 ? j : i] as Line;
      line.sum += x;
      if (x > line.most) [line.most, line.mostAt] = [x, at];
      if (x < line.least) [line.least, line.leastAt] = [x, at];
      line.squares += x * x;
    }
  }
  return out;
}

function check(m: number, n: number, dim: number, dtype: z.DType, lie: Lie): void {
  const x = LIES[lie](
    z
      .fromTypedArray(numbers(m * n, dtype))
      .view([m, n])
      .to(dtype),
  );
  const wanted = lines(plain(x), m, n, dim);
  const label = `${dtype.name} ${m} ${n} over ${dim}, ${lie}`;
  const same = (found: z.Tensor, pick: (line: Line) => number, what: string) => {
    const got = plain(found);
    const bad = wanted.findIndex((line, i) => got[i] !== pick(line));
    expect(bad < 0 ? "" : `${what} of ${label}: ${got[bad]} at ${bad}, not ${pick(wanted[bad] as Line)}`).toBe("");
  };
  const wide = dtype === bfloat16 ? float32 : undefined;
  same(x.sum(dim, { dtype: wide }), (l) => l.sum, "sum");
  const all = wanted.reduce((a, l) => a + l.sum, 0);
  expect(Number(x.sum({ dtype: wide }).item()), `whole sum of ${label}`).toBe(all);
  const [most, mostAt] = x.max(dim);
  const [least, leastAt] = x.min(dim);
  same(most, (l) => l.most, "max");
  same(mostAt, (l) => l.mostAt, "max's place");
  same(least, (l) => l.least, "min");
  same(leastAt, (l) => l.leastAt, "min's place");
  same(x.amax(dim), (l) => l.most, "amax");
  same(x.amin(dim), (l) => l.least, "amin");
  if (dtype !== bool) same(x.argmin(dim), (l) => l.leastAt, "argmin");
  if (dtype === bool) {
    same(x.any(dim), (l) => l.most, "any");
    same(x.all(dim), (l) => l.least, "all");
    same(x.logicalNot().all(dim), (l) => Number(l.most === 0), "none");
  }
  if (dtype.isFloatingPoint && dtype !== bfloat16) moments(x, wanted, dim === 0 ? m : n, dim, label);
}

/** Means and variances, in the accuracy of the dtype. */
function moments(x: z.Tensor, wanted: Line[], count: number, dim: number, label: string): void {
  const bound = x.dtype === float32 ? 2 ** -22 : 2 ** -46;
  for (const correction of count > 1 ? [1, 0] : [0]) {
    const [v, mean] = z.varMean(x, { dim, correction }).map(plain) as [Float64Array, Float64Array];
    const [deviation] = z.stdMean(x, { dim, correction });
    expect(plain(deviation.square().sub(z.var(x, { dim, correction })).abs()).every((d) => d <= 64 * bound)).toBe(true);
    const bad = wanted.findIndex((line, i) => {
      const exact = (line.squares - (line.sum * line.sum) / count) / (count - correction);
      const [far, off] = [Math.abs((v[i] as number) - exact), Math.abs((mean[i] as number) - line.sum / count)];
      return !(far <= bound * (16 + exact) && off <= 8 * bound);
    });
    expect(bad < 0 ? "" : `moments of ${label} at ${bad}: ${v[bad]}, ${mean[bad]}`).toBe("");
  }
}

const SHAPES: [number, number][] = [
  [1, 140_003],
  [1, 400_003],
  [600, 1030],
  [1100, 290],
  [2, 140_001],
  [70_001, 3],
  [9001, 41],
  [300, 701],
  [257, 130],
  [20, 3001],
  [100, 5],
  [63, 8],
  [7, 200],
];

for (const dtype of [float32, float64, bfloat16, int64, int32, int16, int8, uint8, bool]) {
  for (const [m, n] of SHAPES) {
    // Types that are converted to another one are cut into parts as that one is.
    if (m * n > 150_000 && dtype !== float32 && dtype !== int64 && (m * n > 300_000 || dtype !== uint8)) continue;
    test(`${dtype.name} ${m} x ${n}`, () => {
      const lies: Lie[] = m * n > 100_000 ? ["rows", m > n ? "columns" : "steps"] : (Object.keys(LIES) as Lie[]);
      for (const dim of [0, 1]) {
        if (dim === 0 && m < 3) continue;
        for (const lie of lies) check(m, n, dim, dtype, lie);
      }
    });
  }

  test(`${dtype.name}, every length`, () => {
    for (let n = 1; n <= 140; n += n < 70 ? 1 : 7) {
      check(3, n, 1, dtype, n % 3 === 0 ? "steps" : "rows");
      check(n, 5, 0, dtype, n % 3 === 1 ? "turned" : "rows");
    }
    for (const n of [511, 512, 513, 1023, 1024, 1025, 1027, 4095, 4096, 4097, 8200]) check(2, n, 1, dtype, "rows");
  });
}

test("three dimensions, two of them reduced, in every order", () => {
  const values = numbers(9 * 70 * 11, float64);
  const x = z.fromTypedArray(values).view([9, 70, 11]);
  for (const dtype of [float32, int64, complex64]) {
    for (const order of [
      [0, 1, 2],
      [0, 2, 1],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [2, 1, 0],
    ]) {
      const back = [0, 1, 2].map((d) => order.indexOf(d));
      const t = x.to(dtype).permute(order).contiguous().permute(back);
      for (const dims of [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]) {
        const wanted = new Map<string, number>();
        values.forEach((v, i) => {
          const index = [Math.floor(i / 770), Math.floor(i / 11) % 70, i % 11].map((k, d) =>
            dims.includes(d) ? 0 : k,
          );
          wanted.set(index.join(), (wanted.get(index.join()) ?? 0) + v);
        });
        const found = t.sum(dims, true);
        const real = dtype === complex64 ? z.real(found) : found;
        expect(Array.from(plain(real)), `${dtype.name} ${order} ${dims}`).toEqual([...wanted.values()]);
      }
    }
  }
});

test("moments of lines that are made of short pieces", () => {
  for (const shape of [
    [4, 5, 700],
    [3, 40, 30],
    [2, 3, 1030],
  ] as const) {
    const values = numbers(shape[0] * shape[1] * (shape[2] + 1), float64);
    const whole = z.fromTypedArray(values).view([shape[0], shape[1], shape[2] + 1]);
    for (const dtype of [float32, float64]) {
      const x = whole.to(dtype).narrow(2, 0, shape[2]);
      for (const dims of [[1, 2], [0, 2], [0, 1], [2]]) {
        const [variance, mean] = z.varMean(x, { dim: dims });
        const kept = [0, 1, 2].filter((d) => !dims.includes(d));
        const lines = x
          .to(float64)
          .permute(...kept, ...dims)
          .reshape([kept.reduce((a, d) => a * (shape[d] as number), 1), -1]);
        const rows = lines.tolist() as number[][];
        const bound = dtype === float32 ? 1e-5 : 1e-12;
        const [v, m] = [plain(variance), plain(mean)];
        for (const [i, row] of rows.entries()) {
          const middle = row.reduce((a, b) => a + b, 0) / row.length;
          const far = row.reduce((a, b) => a + (b - middle) ** 2, 0) / (row.length - 1);
          expect(Math.abs((m[i] as number) - middle), `mean of [${shape}] over ${dims}`).toBeLessThan(bound);
          expect(Math.abs((v[i] as number) - far), `variance of [${shape}] over ${dims}`).toBeLessThan(bound * 16);
        }
      }
    }
  }
});

test("NaN wins wherever it is, and the first one", () => {
  for (const dtype of [float32, float64, bfloat16]) {
    for (const n of [5, 40, 200, 5000, 140_000]) {
      for (const at of [0, 3, Math.floor(n / 2), n - 1]) {
        const x = z.arange(n).remainder(50).to(dtype);
        x.setAt(at, Number.NaN);
        if (at + 9 < n) x.setAt(at + 9, Number.NaN);
        const column = z.stack([x, z.zeros([n], { dtype }), x], 1);
        for (const t of [x.view([1, n]), column.t(), column.t().contiguous()]) {
          for (const { values, indices } of [t.max(1), t.min(1)]) {
            expect(Number.isNaN(Number(values.at(0).item())), `${dtype.name} ${n} ${at}`).toBe(true);
            expect(Number(indices.at(0).item()), `${dtype.name} ${n} ${at}`).toBe(at);
          }
          expect(Number.isNaN(Number(t.amax(1).at(-1).item()))).toBe(true);
          expect(Number.isNaN(Number(t.sum(1).at(0).item()))).toBe(true);
        }
      }
    }
  }
});

test("products wrap, and those of floats are exact powers of two", () => {
  for (const n of [1, 7, 33, 64, 300, 5000, 70_000, 140_000]) {
    const signs = z.arange(n).remainder(3).eq(0).to(int64).mul(-2).add(1);
    const odd = z.arange(n).remainder(5).mul(2).add(3).mul(signs);
    const list = Array.from(odd.typedArray() as BigInt64Array);
    const product = list.reduce((a, v) => BigInt.asIntN(64, a * v), 1n);
    for (const t of [odd, z.stack([odd, odd], 1).select(1, 0)]) {
      expect((t.prod().view([1]).typedArray() as BigInt64Array)[0], `${n}`).toBe(product);
    }
    const place = z.arange(n).remainder(97).to(float64);
    const halves = z.where(place.eq(0), 2, z.where(place.eq(50), 0.5, 1)).mul(signs);
    const wanted = plain(halves).reduce((a, v) => a * v, 1);
    for (const dtype of [float32, float64, complex64]) {
      const found = halves.to(dtype).prod();
      expect(Number((dtype === complex64 ? z.real(found) : found).item()), `${dtype.name} ${n}`).toBe(wanted);
    }
  }
});
