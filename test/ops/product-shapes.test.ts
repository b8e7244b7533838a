// Products in every way that matrices are multiplied, at the sizes where ways, tiles, panels, blocks and parts of k
// meet, beside a plain sum. Elements are small whole numbers, so that every sum is exact in every order; what lies
// between the elements is NaN (or a number that gives itself away), and stays what it was.
import { afterAll, expect, test } from "bun:test";
import * as z from "../../src/index.ts";

type Lie = "rows" | "columns" | "gaps" | "one row" | "one column";
interface Matrix {
  t: z.Tensor;
  at: (i: number, j: number) => number;
}

const threads = z.getNumThreads();
afterAll(() => z.setNumThreads(threads));

const COUNT: Record<string, number> = { float32: 7, float64: 7, bfloat16: 3, float16: 3 };
const value = (i: number, j: number, seed: number, most: number): number =>
  ((Math.imul(i * 31 + j * 17 + seed, 0x9e3779b1) >>> 16) % (2 * most + 1)) - most;

/** A matrix of small numbers that lies in memory as asked, beside other numbers. */
function matrix(m: number, n: number, lie: Lie, dtype: z.DType, seed: number): Matrix {
  const most = COUNT[dtype.name] ?? 7;
  const at = (i: number, j: number): number =>
    value(lie === "one row" ? 0 : i, lie === "one column" ? 0 : j, seed, most);
  const [rows, columns] = lie === "columns" ? [n, m] : [lie === "one row" ? 1 : m, lie === "one column" ? 1 : n];
  const gap = lie === "gaps" ? 3 : 1;
  const wide = columns * gap + (lie === "gaps" ? 5 : 0);
  const data = new Float64Array(rows * wide).fill(dtype.isFloatingPoint ? Number.NaN : 99);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) data[i * wide + j * gap] = lie === "columns" ? at(j, i) : at(i, j);
  }
  const whole = z.fromTypedArray(data).to(dtype).view([rows, wide]);
  const t = lie === "gaps" ? whole.slice(1, 0, columns * gap, gap) : whole;
  return { t: lie === "columns" ? t.t() : t.expand([m, n]), at };
}

function plain(a: Matrix, b: Matrix, m: number, n: number, k: number): Float64Array {
  const left = new Float64Array(m * k).map((_, i) => a.at(Math.floor(i / k), i % k));
  const right = new Float64Array(k * n).map((_, i) => b.at(Math.floor(i / n), i % n));
  const sums = new Float64Array(m * n);
  for (let i = 0; i < m; i++) {
    for (let q = 0; q < k; q++) {
      const x = left[i * k + q] as number;
      for (let j = 0; j < n; j++) sums[i * n + j] = (sums[i * n + j] as number) + x * (right[q * n + j] as number);
    }
  }
  return sums;
}

/** Where a result is written: a part of a tensor of -5, whose other elements have to stay. */
function place(m: number, n: number, lie: Lie, dtype: z.DType): { whole: z.Tensor; t: z.Tensor } {
  const gap = lie === "gaps" ? 2 : 1;
  const [rows, columns] = lie === "columns" ? [n, m] : [m, n];
  const whole = z.full([rows + 2, columns * gap + 2], -5, { dtype });
  const inner = whole.narrow(0, 1, rows).slice(1, 1, 1 + columns * gap, gap);
  return { whole, t: lie === "columns" ? inner.t() : inner };
}

const OUTS: Lie[] = ["rows", "columns", "gaps"];
const numbers = (t: z.Tensor): Float64Array => t.to(z.float64).contiguous().typedArray() as Float64Array;

/** C = beta * C + alpha * A * B, for a size and how the three lie. */
function check(m: number, n: number, k: number, dtype: z.DType, lies: [Lie, Lie, Lie], scale: [number, number]): void {
  const [alpha, beta] = scale;
  const a = matrix(m, k, lies[0], dtype, 3);
  const b = matrix(k, n, lies[1], dtype, 5);
  const wanted = plain(a, b, m, n, k).map((x) => alpha * x - 5 * beta);
  const { whole, t } = place(m, n, lies[2], dtype);
  const label = `${dtype.name} ${m} ${n} ${k} ${lies} ${scale}`;
  // A result that is not read may hold anything.
  if (beta === 0 && dtype.isFloatingPoint) t.fill_(Number.NaN);
  t.addmm_(a.t, b.t, { alpha, beta });
  const found = numbers(t);
  const bad = found.findIndex((x, i) => x !== wanted[i]);
  expect(bad < 0 ? "" : `${label}: ${found[bad]} at ${bad}, not ${wanted[bad]}`).toBe("");
  t.fill_(-5);
  checkStart(a, b, t, [m, n, k], scale);
  t.fill_(-5);
  expect(z.equal(whole, z.full(whole.shape, -5, { dtype })), `${label}: beside the result`).toBe(true);
}

/** C = beta * S + alpha * A * B for a matrix S beside it, which may be one row or one column for all. */
function checkStart(
  a: Matrix,
  b: Matrix,
  out: z.Tensor,
  [m, n, k]: [number, number, number],
  [alpha, beta]: [number, number],
): void {
  const lie = STARTS[(m + 2 * n + 3 * k) % 5] as Lie;
  const start = matrix(m, n, lie, out.dtype, 7);
  const wanted = plain(a, b, m, n, k).map((x, i) => alpha * x + beta * start.at(Math.floor(i / n), i % n));
  // What is not read may hold anything.
  if (beta === 0 && out.dtype.isFloatingPoint) start.t = z.full([1], Number.NaN, { dtype: out.dtype }).expand([m, n]);
  for (const r of [z.addmm(start.t, a.t, b.t, { alpha, beta }), z.addmm(start.t, a.t, b.t, { alpha, beta, out })]) {
    const found = numbers(r);
    const bad = found.findIndex((x, i) => x !== wanted[i]);
    const label = `${out.dtype.name} ${m} ${n} ${k}, from ${lie}, ${alpha} ${beta}`;
    expect(bad < 0 ? "" : `${label}: ${found[bad]} at ${bad}, not ${wanted[bad]}`).toBe("");
  }
}

const STARTS: Lie[] = ["rows", "columns", "gaps", "one row", "one column"];
const LIES: Lie[] = ["rows", "columns", "gaps"];
const PAIRS = LIES.flatMap((a) => LIES.map((b): [Lie, Lie] => [a, b]));
const SCALES: [number, number][] = [
  [1, 0],
  [2, 3],
  [-1, 1],
  [3, 0],
];

for (const dtype of [z.float32, z.float64]) {
  const lanes = 64 / dtype.itemsize;

  test(`every height and width of a tile, ${dtype.name}`, () => {
    let turn = 0;
    for (let m = 1; m <= 30; m++) {
      for (const n of [1, 2, 3, lanes - 1, lanes, lanes + 1, 2 * lanes - 1, 2 * lanes, 2 * lanes + 3, 4 * lanes + 5]) {
        const [la, lb] = PAIRS[turn % 9] as [Lie, Lie];
        const out = OUTS[Math.floor(turn / 9) % 3] as Lie;
        check(m, n, 1 + (turn % 5), dtype, [la, lb, out], SCALES[turn % 4] as [number, number]);
        turn += 1;
      }
    }
  });

  test(`matrix times vector, ${dtype.name}`, () => {
    let turn = 0;
    const sizes = [1, 2, 3, 4, 5, 9, lanes, 4 * lanes + 3, 8 * lanes + 1, 150];
    const pairs: [Lie, Lie][] = [...PAIRS, ["one row", "gaps"], ["one column", "columns"], ["rows", "one row"]];
    for (const m of sizes) {
      for (const k of sizes) {
        for (const [la, lb] of pairs) {
          const out = OUTS[turn % 3] as Lie;
          const scale = SCALES[(turn >> 1) % 4] as [number, number];
          if (turn % 2 === 0) check(m, 1, k, dtype, [la, lb, out], scale);
          else check(1, m, k, dtype, [lb, la, out], scale);
          turn += 1;
        }
      }
    }
  });

  test(`long rows against long columns, ${dtype.name}`, () => {
    let turn = 0;
    // The last vector of a row, the last columns of a tile, and every height of one.
    for (const k of [8 * lanes - 1, 8 * lanes, 8 * lanes + 1, 9 * lanes - 1]) {
      for (const m of [2, 3, 4, 5, 6, 7, 8, 9, 12, 13, lanes]) {
        for (const more of [0, 1, 2, 3]) {
          const out = OUTS[turn % 3] as Lie;
          const scale = SCALES[(turn >> 1) % 4] as [number, number];
          if (turn % 2 === 0) check(m, 4 * m + more, k, dtype, ["rows", "columns", out], scale);
          else check(4 * m + more, m, k, dtype, ["rows", "columns", out], scale);
          turn += 1;
        }
      }
    }
    // Every start with every scale, both ways round.
    for (const scale of SCALES) {
      for (const out of OUTS) {
        for (const n of [17, 18, 19, 20, 21]) {
          check(4, n, 9 * lanes - 1, dtype, ["rows", "columns", out], scale);
          check(n, 4, 9 * lanes - 1, dtype, ["rows", "columns", out], scale);
        }
      }
    }
    // Columns that no near cache holds, for more rows.
    for (const m of [2 * lanes + 1, 41, 64, 65]) check(m, 1025, 140, dtype, ["rows", "columns", "rows"], [2, 3]);
  });

  test(`long and thin, over parts of k and rows, ${dtype.name}`, () => {
    const sizes: [number, number, number][] = [
      [2100, 1, 9],
      [2, 1, 5000],
      [1, 1, 8 * lanes * 9 + 5],
      [40, 2, 8 * lanes],
      [40, 3, 8 * lanes],
      [40, lanes / 2, 8 * lanes + 7],
      [13, 3, 9 * lanes],
      [300, 2, 150],
      [2, 300, 530],
      [20, 150, 530],
      [150, 20, 530],
      [2 * lanes, 130, 517],
      [15, 70, 1030],
      [200, 100, 65],
    ];
    let turn = 0;
    for (const [m, n, k] of sizes) {
      // Of the longer ones every second pair, so that two sizes beside each other have all.
      for (let i = 0; i < PAIRS.length; i += m * k + k * n > 100_000 ? 2 : 1) {
        const [la, lb] = PAIRS[(i + (turn % 2)) % 9] as [Lie, Lie];
        z.setNumThreads(turn % 4 < 2 ? threads : 1);
        check(m, n, k, dtype, [la, lb, OUTS[turn % 3] as Lie], SCALES[turn % 4] as [number, number]);
        turn += 1;
      }
    }
    z.setNumThreads(threads);
  });

  test(`few rows and a long k, ${dtype.name}`, () => {
    for (const m of [1, 3, 15]) {
      for (const n of [lanes + 1, 2 * lanes + 3, 5 * lanes - 1]) {
        for (const scale of SCALES) {
          for (const out of OUTS) check(m, n, 530, dtype, [out === "rows" ? "rows" : "gaps", "rows", out], scale);
        }
      }
    }
  });

  test(`big ones, for one thread and for several, ${dtype.name}`, () => {
    const sizes: [number, number, number][] = [
      [45, 2 * lanes + 1, dtype === z.float32 ? 2500 : 1300],
      [9000, 2 * lanes + 1, 12],
      [690, 127, 160],
      [110, 130, 1024],
      [370, 5 * lanes + 3, 530],
    ];
    let turn = 0;
    for (const [m, n, k] of sizes) {
      for (const count of [1, 2]) {
        z.setNumThreads(count);
        for (let i = 0; i < 2; i++) {
          const [la, lb] = PAIRS[(4 * turn) % 9] as [Lie, Lie];
          check(m, n, k, dtype, [la, lb, OUTS[turn % 3] as Lie], SCALES[turn % 4] as [number, number]);
          turn += 1;
        }
      }
    }
    z.setNumThreads(threads);
  }, 60_000);
}

for (const dtype of [z.int32, z.int64, z.int16, z.uint8, z.int8, z.bfloat16, z.float16]) {
  test(`products of ${dtype.name}`, () => {
    const sizes: [number, number, number][] = [
      [1, 1, 1],
      [3, 17, 5],
      [13, 33, 2],
      [12, 64, 40],
      [25, 7, 9],
      [194, 9, 3],
      [5, 258, 6],
    ];
    let turn = 0;
    const blocks: [number, number, number][] = [
      [191, 255, 3],
      [194, 256, 2],
      [257, 256, 2],
      [255, 255, 2],
    ];
    for (const [m, n, k] of [...sizes, ...blocks]) {
      for (const [la, lb] of m * n < 20_000 ? PAIRS : PAIRS.slice(turn % 9, (turn % 9) + 1)) {
        const scale = dtype === z.uint8 ? ([1, 0] as [number, number]) : (SCALES[turn % 4] as [number, number]);
        if (dtype.itemsize === 1 || dtype === z.bfloat16 || dtype === z.float16) {
          checkNarrow(m, n, k, dtype, [la, lb, OUTS[turn % 3] as Lie], scale);
        } else check(m, n, k, dtype, [la, lb, OUTS[turn % 3] as Lie], scale);
        turn += 1;
      }
    }
  });
}

/** As `check`, for dtypes whose elements hold no such sums: those wrap, or are rounded once. */
function checkNarrow(
  m: number,
  n: number,
  k: number,
  dtype: z.DType,
  lies: [Lie, Lie, Lie],
  [alpha, beta]: [number, number],
): void {
  const a = matrix(m, k, lies[0], dtype, 3);
  const b = matrix(k, n, lies[1], dtype, 5);
  const [wideA, wideB] = [a.t, b.t].map((t) => t.to(dtype.isFloatingPoint ? z.float32 : z.int32)) as [
    z.Tensor,
    z.Tensor,
  ];
  const { whole, t } = place(m, n, lies[2], dtype);
  const label = `${dtype.name} ${m} ${n} ${k} ${lies} ${alpha} ${beta}`;
  const start = t.to(wideA.dtype).mul(beta);
  const wanted = wideA.mm(wideB).mul(alpha).add(start).to(dtype);
  t.addmm_(a.t, b.t, { alpha, beta });
  expect(z.equal(t, wanted), label).toBe(true);
  t.fill_(-5);
  expect(z.equal(whole, z.full(whole.shape, -5, { dtype })), `${label}: beside the result`).toBe(true);
}

const BIASES: [string, (b: number, m: number, n: number) => number[]][] = [
  ["one row for each", (b, _, n) => [b, 1, n]],
  ["one column for each", (b, m) => [b, m, 1]],
  ["one row for all", (_, __, n) => [n]],
  ["one number for each", (b) => [b, 1, 1]],
  ["one number for all", () => []],
  ["a matrix for all", (_, m, n) => [m, n]],
];
const FLOATS = [z.float32, z.float64, z.bfloat16, z.float16];

for (const dtype of [...FLOATS, z.int64, z.uint8, z.complex64]) {
  test(`batches that start from a bias, ${dtype.name}`, () => {
    const lanes = 64 / dtype.itemsize;
    const sizes = [
      [3, 64, 8, 16],
      [10, 5, 3, 33],
      [2, 14, lanes / 2, 7],
      [2, 29, lanes + 1, 40],
      [4, 1, 9, 5],
      [4, 9, 1, 5],
      [2, 3, 4, 0],
      [0, 3, 4, 2],
    ] as const;
    for (const [count, m, n, k] of sizes) {
      const a = z.randint(0, 4, [count, m, k]).to(dtype);
      const b = z.randint(0, 4, [count, n, k]).to(dtype).transpose(1, 2);
      const product = z.bmm(a, b);
      for (const [name, shape] of BIASES) {
        const bias = z.randint(0, 4, shape(count, m, n)).to(dtype);
        const wanted = product.add(bias);
        const label = `${count} ${m} ${n} ${k}, ${name}`;
        expect(z.equal(z.baddbmm(bias, a, b), wanted), label).toBe(true);
        const out = z.empty([count, n, m], { dtype }).transpose(1, 2);
        expect(z.equal(z.baddbmm(bias, a, b, { out }), wanted), `${label}, by columns`).toBe(true);
      }
    }
  });
}

test("what a bias holds reaches its own column only, and a bias may lie beside the result", () => {
  for (const dtype of FLOATS) {
    const [a, b] = [z.ones(17, 4, { dtype }), z.ones(4, 11, { dtype })];
    const bias = z.zeros(11, { dtype });
    bias.setAt(3, Number.NaN);
    bias.setAt(4, Number.NEGATIVE_INFINITY);
    const row = [4, 4, 4, Number.NaN, Number.NEGATIVE_INFINITY, 4, 4, 4, 4, 4, 4];
    expect(z.addmm(bias, a, b).tolist()).toEqual(Array(17).fill(row));
    expect(z.addmm(bias, a, b, { beta: 0 }).tolist()).toEqual(Array(17).fill(Array(11).fill(4)));
    const whole = z.full([18, 11], 2, { dtype });
    const [first, rest] = [whole.at(0), whole.narrow(0, 1, 17)];
    z.addmm(first, a, b, { out: rest });
    expect(whole.tolist()).toEqual([Array(11).fill(2), ...Array(17).fill(Array(11).fill(6))]);
  }
});
