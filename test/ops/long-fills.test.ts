// What kernels do by parts: random numbers are drawn and written by 512, conversions by vectors and a rest.
import { describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";

const { bfloat16, bool, complex64, complex128, float16, float32, float64, int16, int32, int64, manualSeed, uint64 } = z;
const FLOATS = [float16, bfloat16, float32, float64];

/** Draws some numbers in one call, then in several: the stream is the same, and what lies around is left alone. */
function checkStream(fill: (t: z.Tensor) => unknown, dtype: z.DType, parts: readonly number[]): void {
  const n = parts.reduce((a, b) => a + b, 0);
  const whole = z.full([n + 40], -1, { dtype });
  manualSeed(3);
  fill(whole.narrow(0, 20, n));
  const after = z.rand([4]);
  manualSeed(3);
  const pieces = parts.map((k) => {
    const t = z.zeros([k], { dtype });
    fill(t);
    return t;
  });
  expect(z.cat(pieces).equal(whole.narrow(0, 20, n))).toBe(true);
  expect(z.rand([4]).equal(after)).toBe(true);
  expect(whole.narrow(0, 0, 20).eq(-1).all().item()).toBe(true);
  expect(
    whole
      .narrow(0, n + 20, 20)
      .eq(-1)
      .all()
      .item(),
  ).toBe(true);
  // Every part holds other numbers: none was left out.
  if (dtype !== bool) for (const p of pieces) expect(p.eq(p.at(0)).all().item()).toBe(false);
}

describe("random numbers by parts", () => {
  const sizes = [512, 513, 272];
  for (const dtype of [...FLOATS, int16, int32, int64]) {
    test(`random_ ${dtype.name}`, () => {
      checkStream((t) => t.random_(0, 100), dtype, sizes);
      checkStream((t) => t.random_(), dtype, sizes);
    });
  }
  test("random_ of a wide range", () => checkStream((t) => t.random_(-5, 2 ** 40), int64, sizes));
  for (const dtype of FLOATS) {
    test(`distributions of ${dtype.name}`, () => {
      for (const fill of [
        (t: z.Tensor) => t.exponential_(1.5),
        (t: z.Tensor) => t.cauchy_(0.5, 2),
        (t: z.Tensor) => t.geometric_(0.1),
        (t: z.Tensor) => t.logNormal_(0.5, 0.25),
        (t: z.Tensor) => t.bernoulli_(0.3),
        (t: z.Tensor) => t.bernoulli_(z.full([t.numel()], 0.3)),
      ]) {
        checkStream(fill, dtype, [512, 512, 273]);
      }
      checkStream((t) => t.uniform_(-2, 3), dtype, [512, 512, 272]);
      checkStream((t) => t.normal_(1, 2), dtype, [512, 512, 272]);
    });
  }
  test("with gaps", () => {
    manualSeed(4);
    const dense = z.zeros([700, 2]).uniform_();
    manualSeed(4);
    const wide = z.full([700, 5], -1);
    wide.narrow(1, 1, 2).uniform_();
    expect(wide.narrow(1, 1, 2).equal(dense)).toBe(true);
    expect(wide.narrow(1, 3, 2).eq(-1).all().item()).toBe(true);
  });
});

describe("conversions of every length", () => {
  // torch's answers.
  test("to uint64 beyond int64", () => {
    const big = 2 ** 63;
    const values = [0.5, 3.9, big, 1.5 * big, 2 * big * (1 - 2 ** -52), 2 * big];
    const want = [0n, 3n, 9223372036854775808n, 13835058055282163712n, 18446744073709547520n, 0n];
    for (let n = 1; n < 40; n++) {
      const list = Array.from({ length: n }, (_, i) => values[i % 6] as number);
      const x = z.tensor(list, { dtype: float64 });
      const got = Array.from(x.to(uint64).typedArray() as BigUint64Array);
      expect(got).toEqual(list.map((_, i) => want[i % 6] as bigint));
      const strided = z.stack([x, x], 1).select(1, 0).to(uint64);
      expect(Array.from(strided.contiguous().typedArray() as BigUint64Array)).toEqual(got);
    }
  });

  test("of complex numbers to bool", () => {
    const parts = [0, 0, 1, 0, 0, 1, 1, 1, 0, -0, 0, -2];
    const want = [false, true, true, true, false, true];
    for (const dtype of [complex64, complex128]) {
      for (let n = 1; n < 30; n++) {
        const flat = Array.from({ length: 2 * n }, (_, i) => parts[i % 12] as number);
        const real = z.tensor(flat, { dtype: dtype === complex64 ? float32 : float64 });
        const x = z.viewAsComplex(real.view([n, 2]));
        const wanted = Array.from({ length: n }, (_, i) => want[i % 6] as boolean);
        expect(x.to(bool).tolist()).toEqual(wanted);
        expect(z.stack([x, x], 1).select(1, 1).to(bool).tolist()).toEqual(wanted);
        expect(z.zeros([n], { dtype: bool }).copy_(x).tolist()).toEqual(wanted);
        expect(z.ne(x, 0).tolist()).toEqual(wanted);
        expect(x.logicalNot().tolist()).toEqual(wanted.map((v) => !v));
        expect(z.logicalOr(x, x).tolist()).toEqual(wanted);
      }
    }
  });
});
