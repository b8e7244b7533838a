// Ends of what dispatch decides: the last value on one side of a condition, and the first on the other.
import { expect, test } from "bun:test";
import { promoteTypes } from "../../src/dispatch/promotion.ts";
import { slice } from "../../src/dispatch/views.ts";
import * as z from "../../src/index.ts";

const { arange, bmm, errors, ones, tensor, zeros, full, randperm, trilIndices, triuIndices } = z;

test("running totals of float32 are kept in float64, of shorter floats in float32", () => {
  const big = 2 ** 24;
  expect(tensor([big, 1, 1, 1, 1]).cumsum(0).tolist()).toEqual([big, big, big + 2, big + 4, big + 4]);
  expect(tensor([2048, 1, 1], { dtype: z.float16 }).cumsum(0).tolist()).toEqual([2048, 2048, 2050]);
});

test("indices of large triangles", () => {
  for (const [rows, columns] of [
    [60, 60],
    [1, 300],
    [300, 1],
  ] as const) {
    const [r, c] = trilIndices(rows, columns, 0).tolist() as [number[], number[]];
    const places = Array.from({ length: rows * columns }, (_, i) => [Math.floor(i / columns), i % columns] as const);
    expect([r, c]).toEqual([
      places.filter(([i, j]) => j <= i).map(([i]) => i),
      places.filter(([i, j]) => j <= i).map(([, j]) => j),
    ]);
    const upper = triuIndices(rows, columns, 1).tolist() as [number[], number[]];
    expect(upper[1]).toEqual(places.filter(([i, j]) => j > i).map(([, j]) => j));
  }
});

test("how many places a permutation has in each dtype", () => {
  const most: [z.DType, number][] = [
    [z.uint8, 256],
    [z.int8, 128],
    [z.int16, 32768],
    [z.float16, 2049],
  ];
  for (const [dtype, n] of most) {
    expect([...randperm(n, { dtype }).shape]).toEqual([n]);
    expect(() => randperm(n + 1, { dtype })).toThrow(errors.RuntimeError);
  }
  expect([...randperm(0, { dtype: z.uint8 }).shape]).toEqual([0]);
  expect(randperm(1, { dtype: z.uint8 }).tolist()).toEqual([0]);
});

test("a product of batches of two dtypes says which one it expected, by its size", () => {
  const message = (rows: number, inner: number, columns: number, a: z.DType, b: z.DType): string => {
    try {
      bmm(zeros([1, rows, inner], { dtype: a }), zeros([1, inner, columns], { dtype: b }));
    } catch (e) {
      return (e as Error).message;
    }
    return "";
  };
  for (const [rows, inner, columns] of [
    [19, 21, 1],
    [1, 1, 1],
    [3, 7, 19],
    [20, 20, 1],
    [1, 20, 20],
    [20, 1, 20],
    [5, 10, 8],
  ] as const) {
    const [wanted, found] = rows * inner * columns < 400 ? ["Float", "Double"] : ["Double", "Float"];
    expect(message(rows, inner, columns, z.float32, z.float64)).toContain(
      `expected scalar type ${wanted} but found ${found}`,
    );
    expect(message(rows, inner, columns, z.bool, z.bool)).toContain(
      rows * inner * columns < 400 ? '"bmm"' : '"addmm_impl_cpu_"',
    );
  }
});

test("steps and ends of slices", () => {
  const x = arange(5);
  expect(slice(x, 0, null, null, 1).tolist()).toEqual([0, 1, 2, 3, 4]);
  expect(slice(x, 0, null, 2, 1).tolist()).toEqual([0, 1]);
  expect(slice(x, 0, 1, null, 3).tolist()).toEqual([1, 4]);
  for (const step of [0, -1]) expect(() => slice(x, 0, null, null, step)).toThrow("step must be");
});

test("as many dimensions as can be repeated", () => {
  const x = ones(Array.from({ length: 32 }, () => 1));
  expect(x.repeat(...Array.from({ length: 64 }, () => 1)).ndim).toBe(64);
  const wide = ones([2, ...Array.from({ length: 62 }, () => 1)]);
  expect(wide.repeat(2, ...Array.from({ length: 62 }, (_, d) => (d < 2 ? 2 : 1))).numel()).toBe(16);
});

test("bounds of random numbers", () => {
  const top = 3.4028234663852886e38;
  expect(() => zeros(2).uniform_(-top, 0)).not.toThrow();
  expect(() => zeros(2).uniform_(0, top)).not.toThrow();
  expect(() => zeros(2).uniform_(-top, top)).toThrow("uniform_");
  expect(() => zeros(2).uniform_(-2e38, 2e38)).toThrow("uniform_");
  expect(() => zeros(2).uniform_(1e38, 3e38)).not.toThrow();
  expect(() => zeros(2).uniform_(2, 1)).toThrow("uniform_");
  expect(full([2], 0.5).uniform_(1, 1).tolist()).toEqual([1, 1]);
  expect(() => zeros(2, { dtype: z.bfloat16 }).uniform_(-3.3895313892515355e38, 0)).not.toThrow();
  expect(() => zeros(2, { dtype: z.float16 }).uniform_(-65504, 0)).not.toThrow();
  expect(() => zeros(2, { dtype: z.float16 }).uniform_(-65505, 0)).toThrow("out of bounds");
});

test("states of generators", () => {
  const g = new z.Generator();
  const state = g.getState();
  expect(() => g.setState(state.to(z.int8))).toThrow();
  expect(() => g.setState(state.to("meta"))).toThrow();
  expect(() => g.setState(state.narrow(0, 0, 8))).toThrow();
  g.manualSeed(7);
  const wide = g.getState().repeat(2).view(2, -1).t().contiguous().select(1, 0);
  const first = z.rand(4, { generator: g }).tolist();
  expect(() => g.setState(wide)).toThrow("RNG state must be contiguous");
  g.setState(wide.contiguous().view(2, -1));
  expect(z.rand(4, { generator: g }).tolist()).toEqual(first);
});

test("what is no dtype is said by name and place", () => {
  for (const [a, b, place] of [
    [3, z.int8, "'type1' (position 1)"],
    [z.int8, null, "'type2' (position 2)"],
  ] as const) {
    expect(() => promoteTypes(a as never, b as never)).toThrow(place);
  }
});

test("a range of halves and thirds ends where torch ends it", () => {
  expect(arange(0, 2 ** 52 + 2, 2 ** 51).tolist()).toEqual([0, 2 ** 51, 2 ** 52]);
  expect([...arange(0, 1, 0.3).shape]).toEqual([4]);
  expect([...arange(5, 5, 1).shape]).toEqual([0]);
});

test("truth values and ones are written into views with a negative bit as they are", () => {
  const neg = (...sizes: number[]) => zeros(sizes, { dtype: z.complex64 }).conj().imag;
  const x = arange(1, 7, { dtype: z.float32 }).view(2, 3);
  const later = [
    [0, 0, 1],
    [1, 1, 1],
  ];
  expect(z.gt(x, 2, { out: neg(2, 3) }).tolist()).toEqual(later);
  expect(z.gt(x, full([3], 2), { out: neg(2, 3) }).tolist()).toEqual(later);
  expect(
    z
      .logicalAnd(x, x, { out: neg(2, 3) })
      .eq(1)
      .all()
      .item(),
  ).toBe(true);
  expect(neg(2).eq_(0).tolist()).toEqual([1, 1]);
  expect(neg(2).logicalNot_().tolist()).toEqual([1, 1]);
  expect(z.eye(2, { out: neg(2, 2) }).tolist()).toEqual([
    [1, 0],
    [0, 1],
  ]);
});
