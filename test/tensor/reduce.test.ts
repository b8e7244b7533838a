/** Reductions against plain loops, over shapes that take every path of the kernels. */
import { expect, test } from "bun:test";
import "../../src/index.ts";
import { empty } from "../../src/dispatch/allocate.ts";
import { cast, denseAs } from "../../src/dispatch/copy.ts";
import { addressOf, copyBytes } from "../../src/ffi/memory.ts";
import { CPU } from "../../src/tensor/device.ts";
import * as D from "../../src/tensor/dtype.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";

function make(values: ArrayLike<number>, shape: readonly number[], dtype: D.DType = D.float64): Tensor {
  const t = empty(shape, D.float64, CPU);
  const data = Float64Array.from(values);
  if (data.length > 0) copyBytes(t._address(), addressOf(data), 8 * data.length);
  return cast(t, dtype);
}

function read(t: Tensor): number[] {
  const dense = denseAs(t, D.float64);
  const data = new Float64Array(dense.numel());
  if (data.length > 0) copyBytes(addressOf(data), dense._address(), 8 * data.length);
  return [...data];
}

/** Calls `visit(output, element, position)` for all elements in row-major order. */
function walk(
  shape: readonly number[],
  dims: readonly number[],
  visit: (o: number, i: number, at: number) => void,
): number {
  const index = new Array<number>(shape.length).fill(0);
  const total = shape.reduce((a, b) => a * b, 1);
  const outputs = shape.reduce((a, b, d) => (dims.includes(d) ? a : a * b), 1);
  for (let i = 0; i < total; i++) {
    let o = 0;
    let at = 0;
    for (let d = 0; d < shape.length; d++) {
      if (dims.includes(d)) at = at * (shape[d] as number) + (index[d] as number);
      else o = o * (shape[d] as number) + (index[d] as number);
    }
    visit(o, i, at);
    for (let d = shape.length - 1; d >= 0; d--) {
      index[d] = (index[d] as number) + 1;
      if ((index[d] as number) < (shape[d] as number)) break;
      index[d] = 0;
    }
  }
  return outputs;
}

const SHAPES: readonly (readonly number[])[] = [
  [1],
  [10],
  [17],
  [5000],
  [100_000],
  [3, 4],
  [1000, 3],
  [3, 1000],
  [70_000, 3],
  [7, 5, 6],
  [300, 70],
  [2, 3, 4, 5],
  [1000, 257],
  [5, 40_000],
  [50_000, 2],
  [1, 7, 1],
  [600_000],
  [16, 13_000],
  [130_000, 16],
  [4, 1, 70],
];
const DTYPES = [D.float32, D.float64, D.bfloat16, D.float16, D.int64, D.int32, D.int8, D.uint8, D.bool];

function subsets(rank: number): number[][] {
  const out: number[][] = [];
  for (let bits = 1; bits < 1 << rank; bits++) out.push([...Array(rank).keys()].filter((d) => bits & (1 << d)));
  return out;
}

function integers(n: number, dtype: D.DType): Float64Array {
  const low = dtype === D.uint8 || dtype === D.bool ? 0 : -9;
  const high = dtype === D.bool ? 1 : 9;
  let state = 12345;
  return Float64Array.from({ length: n }, () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return low + ((state >> 8) % (high - low + 1));
  });
}

for (const dtype of DTYPES) {
  test(`sum, amax, max and argmin over any dimensions: ${dtype.name}`, () => {
    for (const shape of SHAPES) {
      const values = integers(
        shape.reduce((a, b) => a * b, 1),
        dtype,
      );
      const t = make(values, shape, dtype);
      for (const dims of subsets(shape.length)) check(t, values, shape, dims);
    }
  });
}

function check(t: Tensor, values: Float64Array, shape: readonly number[], dims: number[]): void {
  const outputs = walk(shape, dims, () => {});
  const sums = new Float64Array(outputs);
  const tops = new Float64Array(outputs).fill(-Infinity);
  const firsts = new Float64Array(outputs);
  walk(shape, dims, (o, i, at) => {
    const x = values[i] as number;
    sums[o] = (sums[o] as number) + x;
    if (x > (tops[o] as number)) {
      tops[o] = x;
      firsts[o] = at;
    }
  });
  const where = `${t.dtype.name} [${shape}] over [${dims}]`;
  // Small integers: sums in any order are exact, also in float32; the 16-bit floats round once.
  const rounded = t.dtype.itemsize === 2 ? read(make(sums, [outputs], t.dtype)) : [...sums];
  expect(read(t.sum(dims)), `sum ${where}`).toEqual(rounded);
  expect(read(t.amax(dims)), `amax ${where}`).toEqual([...tops]);
  if (dims.length !== 1) return;
  const r = t.max(dims[0] as number);
  expect(read(r.values), `max ${where}`).toEqual([...tops]);
  expect(read(r.indices), `max positions ${where}`).toEqual([...firsts]);
}

test("strided and expanded inputs", () => {
  const values = integers(6 * 7 * 8, D.float32);
  const base = make(values, [6, 7, 8], D.float32);
  for (const t of [
    base.permute(2, 0, 1),
    base.transpose(0, 2).narrow(1, 1, 5),
    base.select(1, 3).unsqueeze(1).expand(6, 4, 8),
  ]) {
    const copy = t.contiguous();
    for (const dims of subsets(3)) {
      expect(read(t.sum(dims))).toEqual(read(copy.sum(dims)));
      expect(read(t.amin(dims))).toEqual(read(copy.amin(dims)));
      if (dims.length === 1) expect(read(t.min(dims[0] as number)[1])).toEqual(read(copy.min(dims[0] as number)[1]));
    }
    expect(read(t.argmax())).toEqual(read(copy.argmax()));
  }
});

test("float sums are pairwise: ten million times 0.1 keeps six digits", () => {
  const n = 10_000_000;
  const total = make([0.1], [1], D.float32).expand(n).contiguous().sum();
  expect(Math.abs((read(total)[0] as number) / (n * Math.fround(0.1)) - 1)).toBeLessThan(1e-6);
  const columns = make([0.1], [1], D.float32)
    .expand(n / 4, 4)
    .contiguous()
    .sum(0);
  for (const x of read(columns)) expect(Math.abs(x / ((n / 4) * Math.fround(0.1)) - 1)).toBeLessThan(1e-6);
});

test("NaN wins, and the first of them gives the position", () => {
  for (const dtype of [D.float32, D.float64, D.float16]) {
    const x = new Float64Array(1000).fill(1);
    x[3] = 7;
    x[500] = NaN;
    x[900] = NaN;
    const t = make(x, [1000], dtype);
    expect(read(t.max())).toEqual([NaN]);
    expect(read(t.min())).toEqual([NaN]);
    expect(read(t.argmax())).toEqual([500]);
    expect(read(t.view(10, 100).max(0)[1]).slice(0, 5)).toEqual([5, 0, 0, 0, 0]);
    expect(read(t.view(10, 100).argmin(1))).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  }
});

test("reductions of nothing", () => {
  const none = make([], [2, 0], D.float32);
  expect(read(none.sum())).toEqual([0]);
  expect(read(none.sum(1))).toEqual([0, 0]);
  expect(read(none.prod(1))).toEqual([1, 1]);
  expect(read(none.mean())).toEqual([NaN]);
  expect(none.sum(0).shape).toEqual([0] as never);
  expect(read(none.all())).toEqual([1]);
  expect(read(none.any(1))).toEqual([0, 0]);
  expect(() => none.max()).toThrow("max(): Expected reduction dim to be specified for input.numel() == 0.");
  expect(() => none.max(1)).toThrow("max(): Expected reduction dim 1 to have non-zero size.");
  expect(() => none.argmin()).toThrow("argmin(): Expected reduction dim to be specified for input.numel() == 0.");
});
