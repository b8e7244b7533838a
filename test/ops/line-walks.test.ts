// Running totals and extremes, and softmax, over lines of every length that lie in every way, beside plain loops:
// blocks of a long line, lines side by side, neighbouring columns, lengths around whole vectors.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";

const { bfloat16, complex128, float32, float64, int32, int64, uint8 } = z;
const plain = (t: z.Tensor): Float64Array => t.to(float64).contiguous().typedArray() as Float64Array;

type Lie = "rows" | "columns" | "steps" | "turned";
const LIES: Record<Lie, (x: z.Tensor) => z.Tensor> = {
  rows: (x) => x,
  columns: (x) => x.t().contiguous().t(),
  // Every second element of memory whose others are far out.
  steps: (x) => {
    const wide = z.full([...x.shape, 2], 99, { dtype: x.dtype });
    wide.select(-1, 0).copy_(x);
    return wide.select(-1, 0);
  },
  turned: (x) =>
    x
      .view([x.shape[0] as number, 1, -1])
      .permute(2, 1, 0)
      .contiguous()
      .permute(2, 1, 0)
      .select(1, 0),
};

/** Small numbers, hardly two equal ones next to each other. */
function numbers(m: number, n: number, dtype: z.DType): z.Tensor {
  const low = dtype === uint8 ? 0 : -3;
  const values = Float64Array.from({ length: m * n }, (_, i) => low + ((Math.imul(i + 5, 0x9e3779b1) >>> 16) % 7));
  return z.fromTypedArray(values).view([m, n]).to(dtype);
}

type Step = (before: number, x: number) => number;

/** A running result along `dim`. */
function running(x: Float64Array, m: number, n: number, dim: number, step: Step): Float64Array {
  const out = Float64Array.from(x);
  const [lines, length, across, along] = dim === 0 ? [n, m, 1, n] : [m, n, n, 1];
  for (let l = 0; l < lines; l++) {
    for (let i = 1; i < length; i++) {
      const at = l * across + i * along;
      out[at] = step(out[at - along] as number, out[at] as number);
    }
  }
  return out;
}

function same(found: z.Tensor, wanted: Float64Array, label: string): void {
  const got = plain(found);
  const bad = wanted.findIndex((v, i) => got[i] !== v);
  expect(bad < 0 ? "" : `${label}: ${got[bad]} at ${bad}, not ${wanted[bad]}`).toBe("");
}

/** Where a result is written: every second column of a part of a tensor of 55. */
function target(m: number, n: number, dtype: z.DType): { whole: z.Tensor; t: z.Tensor } {
  const whole = z.full([m + 2, 2 * n + 2], 55, { dtype });
  return { whole, t: whole.narrow(0, 1, m).slice(1, 1, 1 + 2 * n, 2) };
}

const sum: Step = (a, b) => a + b;

function check(m: number, n: number, dim: number, dtype: z.DType, lie: Lie): void {
  const given = numbers(m, n, dtype);
  const x = LIES[lie](given);
  const values = plain(given);
  const label = `${dtype.name} ${m} x ${n} over ${dim}, ${lie}`;
  const wide = dtype === bfloat16 ? { dtype: float32 } : {};
  const totals = running(values, m, n, dim, sum);
  same(x.cumsum(dim, wide), totals, `cumsum of ${label}`);
  const { whole, t } = target(m, n, dtype === bfloat16 ? float32 : dtype === float64 ? float64 : float32);
  z.cumsum(x, dim, { out: t, dtype: t.dtype });
  same(t, totals, `cumsum into gaps of ${label}`);
  t.fill_(55);
  expect(whole.eq(55).all().item(), `beside ${label}`).toBe(true);
  for (const [name, step] of [
    ["cummax", (a: number, b: number) => Math.max(a, b)],
    ["cummin", (a: number, b: number) => Math.min(a, b)],
  ] as const) {
    const [found, places] = x[name](dim);
    const best = running(values, m, n, dim, step);
    same(found, best, `${name} of ${label}`);
    // The place of each is the last one that has the value so far.
    const length = dim === 0 ? m : n;
    const at = plain(places);
    const ok = at.every((p, i) => {
      const here = dim === 0 ? Math.floor(i / n) : i % n;
      const from = i - (here - p) * (dim === 0 ? n : 1);
      if (p < 0 || p > here || p >= length || values[from] !== best[i]) return false;
      return values[i] !== best[i] || p === here;
    });
    expect(ok, `places of ${name} of ${label}`).toBe(true);
  }
  // -1, 1 and 2 alone, so that products stay exact; integers of 64 bits wrap.
  const signs = given.remainder(2).mul(-2).add(1);
  same(
    LIES[lie](signs).cumprod(dim, wide),
    running(plain(signs), m, n, dim, (a, b) => a * b),
    `cumprod of ${label}`,
  );
}

const LENGTHS = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130];
const SHAPES: [number, number][] = [
  [1, 2500],
  [3, 1025],
  [4, 1024],
  [5, 1023],
  [9, 300],
  [2100, 5],
  [40, 270],
  [300, 130],
];

for (const dtype of [float32, float64, bfloat16, int32, int64]) {
  test(`running totals of ${dtype.name}`, () => {
    for (const n of LENGTHS) {
      for (const m of [1, 4, 7]) {
        for (const lie of ["rows", "steps", "turned"] as const) check(m, n, 1, dtype, lie);
        check(n, m, 0, dtype, "rows");
      }
    }
    for (const [m, n] of SHAPES) {
      for (const lie of ["rows", "columns"] as const) for (const dim of [0, 1]) check(m, n, dim, dtype, lie);
    }
  });
}

test("running totals of complex numbers and of what is no number", () => {
  for (const n of [1, 3, 16, 40, 1100]) {
    const [re, im] = [numbers(2, n, float64), numbers(n, 2, float64).t()];
    const x = z.viewAsComplex(z.stack([re, im], -1));
    for (const dim of [0, 1]) {
      const total = x.cumsum(dim);
      expect(total.dtype).toBe(complex128);
      expect(z.real(total).equal(re.cumsum(dim)) && z.imag(total).equal(im.cumsum(dim))).toBe(true);
    }
    for (const at of [0, Math.floor(n / 2), n - 1]) {
      const y = numbers(2, n, float32).clone();
      y.select(0, 1).setAt(at, Number.NaN);
      const wanted = Array.from({ length: n }, (_, i) => i >= at);
      for (const found of [y.cumsum(1), y.cummax(1)[0], y.cummin(1)[0], y.cumprod(1)]) {
        expect(found.select(0, 1).isnan().tolist(), `${n} ${at}`).toEqual(wanted);
        expect(found.select(0, 0).isnan().any().item()).toBe(false);
      }
      const column = y.t().contiguous();
      expect(column.cummax(0)[0].select(1, 1).isnan().tolist()).toEqual(wanted);
      expect(column.cumsum(0).select(1, 1).isnan().tolist()).toEqual(wanted);
    }
  }
});

/** Softmax and its logarithm in float64, and both gradients for a given one. */
function exact(x: Float64Array, g: Float64Array) {
  const most = x.reduce((a, b) => Math.max(a, b));
  const e = x.map((v) => Math.exp(v - most));
  const total = e.reduce((a, b) => a + b, 0);
  const soft = e.map((v) => v / total);
  const dot = soft.reduce((a, v, i) => a + v * (g[i] as number), 0);
  const whole = g.reduce((a, b) => a + b, 0);
  return {
    soft,
    log: x.map((v) => v - most - Math.log(total)),
    softGrad: soft.map((v, i) => v * ((g[i] as number) - dot)),
    logGrad: soft.map((v, i) => (g[i] as number) - v * whole),
  };
}

function checkSoft(m: number, n: number, dim: number, dtype: z.DType): void {
  const lines = dim === 0 ? n : m;
  const length = dim === 0 ? m : n;
  const x = numbers(m, n, dtype)
    .mul(dtype === bfloat16 ? 1 : 1.25)
    .detach();
  const g = numbers(n, m, dtype).t().contiguous();
  const [values, grads] = [plain(dim === 0 ? x.t() : x), plain(dim === 0 ? g.t() : g)];
  const bound = dtype === float64 ? 1e-14 : dtype === float32 ? 4e-6 : 0.02;
  for (const [name, what, grad] of [
    ["softmax", "soft", "softGrad"],
    ["logSoftmax", "log", "logGrad"],
  ] as const) {
    const leaf = x.clone().requiresGrad_();
    const found = leaf[name](dim);
    found.backward(g);
    const forward = plain(dim === 0 ? found.detach().t() : found.detach());
    const back = plain(dim === 0 ? (leaf.grad as z.Tensor).t() : (leaf.grad as z.Tensor));
    for (let l = 0; l < lines; l++) {
      const [from, to] = [l * length, (l + 1) * length];
      const want = exact(values.subarray(from, to), grads.subarray(from, to));
      const far = (got: Float64Array, w: Float64Array) =>
        w.findIndex((v, i) => !(Math.abs((got[from + i] as number) - v) <= bound * (1 + Math.abs(v))));
      const label = `${name} of ${dtype.name} ${m} x ${n} over ${dim}, line ${l}`;
      expect(far(forward, want[what]), label).toBe(-1);
      // What is rounded before the gradient is, counts for as many numbers as there are.
      const wide = dtype === bfloat16 ? bound * Math.sqrt(length) * 4 : bound * 8;
      const bad = want[grad].findIndex(
        (v, i) => !(Math.abs((back[from + i] as number) - v) <= wide * (1 + Math.abs(v))),
      );
      expect(bad, `gradient of ${label}`).toBe(-1);
    }
  }
}

for (const dtype of [float32, float64, bfloat16]) {
  test(`softmax of ${dtype.name}`, () => {
    for (const n of [...LENGTHS, 47, 100, 511, 512, 513, 600, 1500]) {
      checkSoft(3, n, 1, dtype);
      checkSoft(n, 3, 0, dtype);
    }
    for (const width of [1, 7, 8, 9, 15, 16, 17, 33, 50]) checkSoft(11, width, 0, dtype);
    const x = numbers(6, 5 * 9, dtype).view([6, 5, 9]);
    for (const dim of [0, 1, 2]) {
      const order = [0, 1, 2].filter((d) => d !== dim);
      const last = x
        .permute(...order, dim)
        .contiguous()
        .softmax(2);
      const found = x.softmax(dim).permute(...order, dim);
      expect(found.sub(last).abs().max().item()).toBeLessThan(dtype === bfloat16 ? 0.01 : 1e-6);
    }
  });
}

test("softmax of infinities and of what is no number", () => {
  for (const dtype of [float32, float64, bfloat16]) {
    for (const n of [1, 2, 5, 16, 17, 40, 600]) {
      for (const at of new Set([0, Math.floor(n / 2), n - 1])) {
        const low = z.zeros([2, n], { dtype });
        low.select(0, 1).setAt(at, Number.NEGATIVE_INFINITY);
        const soft = low.softmax(1);
        expect(Number(soft.at(1, at).item())).toBe(n === 1 ? Number.NaN : 0);
        if (n > 1) expect(Math.abs(Number(soft.select(0, 1).to(float64).sum().item()) - 1)).toBeLessThan(0.02);
        const bad = z.zeros([2, n], { dtype });
        bad.select(0, 1).setAt(at, Number.NaN);
        for (const found of [bad.softmax(1), bad.logSoftmax(1), bad.t().contiguous().softmax(0).t()]) {
          expect(found.isnan().all(1).tolist()).toEqual([false, true]);
          expect(found.select(0, 0).isnan().any().item()).toBe(false);
        }
      }
    }
  }
});

test("one huge number at every place, and many others", () => {
  for (const dtype of [float32, float64]) {
    for (const n of [2, 9, 17, 33, 40, 65, 70, 100, 130]) {
      const x = z.zeros([n, n], { dtype });
      x.diagonal().fill_(2000);
      for (const soft of [x.softmax(1), x.softmax(0), x.logSoftmax(1).exp(), x.logSoftmax(0).exp()]) {
        expect(soft.equal(z.eye(n, { dtype })), `${dtype.name} ${n}`).toBe(true);
      }
    }
  }
});
