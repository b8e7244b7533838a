// Pointwise operators over operands that lie in every way (transposed, with gaps, broadcast along any dimension, of
// another dtype, conjugated) into results that lie in every way, beside plain loops. What lies beside a result stays.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { _neg_view } from "../../generated/ops.ts";
import * as z from "../../src/index.ts";

const { bfloat16, bool, complex64, float32, float64, int8, int16, int32, int64, uint8 } = z;

let state = 1;
function random(n: number): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
}

const SHAPES: number[][] = [
  [1500],
  [33, 47],
  [300, 4],
  [4, 300],
  [130, 129],
  [1, 260],
  [3, 40, 50],
  [2, 3, 130],
  [5, 7, 9],
  [3, 37, 64],
  [2, 2, 35, 33],
];

/** A tensor of a shape that lies in memory in one of many ways. */
function operand(shape: readonly number[], dtype: z.DType, way = random(9)): z.Tensor {
  const sizes = shape.map((n, d) =>
    way === 3 && d === 0 ? 1 : way === 4 && d === shape.length - 1 ? 1 : way === 5 ? 1 : way === 8 && d === 1 ? 1 : n,
  );
  const low = dtype === uint8 || dtype === bool ? 0 : -4;
  const count = sizes.reduce((a, b) => a * b, 1);
  const values = Float64Array.from({ length: count }, () => low + random(dtype === bool ? 2 : 9));
  const x = z.fromTypedArray(values).view(sizes).to(dtype);
  const order = shape.map((_, d) => d);
  let lying = x;
  if (way === 1) lying = x.permute(order.toReversed()).contiguous().permute(order.toReversed());
  if (way === 2) lying = gaps(x, shape.length - 1);
  if (way === 6) lying = gaps(x, 0);
  if (way === 7) {
    const turned = [...order.slice(1), 0];
    const back = order.map((d) => turned.indexOf(d));
    lying = gaps(x.permute(turned).contiguous(), order.length - 1).permute(back);
  }
  return lying.expand(shape);
}

/** Every second element along a dimension, the others far out. */
function gaps(x: z.Tensor, dim: number): z.Tensor {
  const sizes = [...x.shape];
  sizes[dim] = 2 * (sizes[dim] as number) + 1;
  const wide = z.full(sizes, x.dtype === bool ? 1 : 77, { dtype: x.dtype });
  const view = wide.slice(dim, 1, sizes[dim], 2);
  view.copy_(x);
  return view;
}

const plain = (t: z.Tensor): Float64Array => t.to(float64).contiguous().typedArray() as Float64Array;

/** Where a result is written: a part of a tensor of 55, or a new one. */
function target(shape: readonly number[], dtype: z.DType): { whole: z.Tensor; t: z.Tensor } {
  const way = random(4);
  const last = shape.length - 1;
  const sizes = shape.map((n, d) => (way === 1 && d === last ? 2 * n + 2 : n + 2));
  if (way === 3) sizes.reverse();
  const whole = z.full(sizes, 55, { dtype });
  let t = whole;
  if (way === 3) t = t.permute(sizes.map((_, d) => last - d));
  for (const [d, n] of shape.entries()) t = way === 1 && d === last ? t.slice(d, 1, 1 + 2 * n, 2) : t.narrow(d, 1, n);
  return { whole, t };
}

type Rule = (a: number, b: number, c: number) => number;
interface Op {
  call: (a: z.Tensor, b: z.Tensor, c: z.Tensor, out: z.Tensor) => unknown;
  rule: Rule;
  /** `out` has to have the dtype of the operands. */
  strict?: boolean;
}
const OPS: Op[] = [
  { call: (a, b, _, out) => z.add(a, b, { out }), rule: (a, b) => a + b },
  { call: (a, b, _, out) => z.sub(a, b, { alpha: 2, out }), rule: (a, b) => a - 2 * b },
  { call: (a, b, _, out) => z.mul(a, b, { out }), rule: (a, b) => a * b },
  { call: (a, b, _, out) => z.maximum(a, b, { out }), rule: (a, b) => Math.max(a, b) },
  { call: (a, b, c, out) => z.addcmul(a, b, c, { value: 3, out }), rule: (a, b, c) => a + 3 * b * c },
  { call: (a, b, c, out) => z.where(c.gt(0), a, b, { out }), rule: (a, b, c) => (c > 0 ? a : b), strict: true },
  {
    call: (a, b, c, out) => z.where(c.gt(0).expand(out.shape), a, b, { out }),
    rule: (a, b, c) => (c > 0 ? a : b),
    strict: true,
  },
  { call: (a, _, __, out) => z.abs(a, { out }), rule: (a) => Math.abs(a), strict: true },
  { call: (a, _, __, out) => out.copy_(a), rule: (a) => a },
];

/** One call; unsigned results wrap. */
function check(shape: readonly number[], op: Op, dtypes: readonly z.DType[], to: z.DType): void {
  const given = dtypes.map((d) => operand(shape, d)) as [z.Tensor, z.Tensor, z.Tensor];
  const { whole, t } = target(shape, to);
  op.call(...given, t);
  const [a, b, c] = given.map(plain) as [Float64Array, Float64Array, Float64Array];
  const got = plain(t);
  const wanted = a.map((x, i) => op.rule(x, b[i] as number, c[i] as number));
  const wrap = (v: number) => (to === uint8 ? v & 255 : v);
  const bad = got.findIndex((v, i) => v !== wrap(wanted[i] as number));
  const strides = given.map((x) => `${x.dtype.name} by ${x.stride()}`);
  const label = `${op.call} of [${shape}], ${strides} to ${t.stride()}`;
  expect(bad < 0 ? "" : `${label}: ${got[bad]} at ${bad}, not ${wrap(wanted[bad] as number)}`).toBe("");
  t.fill_(55);
  expect(z.equal(whole, z.full(whole.shape, 55, { dtype: to })), `beside the result of ${label}`).toBe(true);
}

const KINDS: [z.DType[], z.DType][] = [
  [[float32, float32, float32], float32],
  [[float64, float64, float64], float64],
  [[int64, int64, int64], int64],
  [[uint8, uint8, uint8], uint8],
  [[int8, int8, int8], int8],
  [[bfloat16, bfloat16, bfloat16], bfloat16],
  [[int16, int32, int16], int32],
  [[float32, int32, uint8], float32],
  [[bfloat16, float32, int64], float64],
];

for (const [dtypes, to] of KINDS) {
  test(`of ${dtypes.map((d) => d.name)} into ${to.name}`, () => {
    const mixed = dtypes.some((d) => d !== to);
    for (const op of OPS.filter(({ strict }) => !(mixed && strict))) {
      for (const shape of SHAPES) {
        for (let i = 0; i < 2; i++) check(shape, op, dtypes, to);
      }
    }
  });
}

const threads = z.getNumThreads();
for (const count of [1, 2, 3]) {
  describe(`on ${count} threads`, () => {
    beforeEach(() => z.setNumThreads(count));
    afterEach(() => z.setNumThreads(threads));

    for (const [at, op] of OPS.entries()) {
      test(`long ones, ${at}`, () => {
        expect(z.getNumThreads()).toBe(count);
        check([310, 260], op, [float32, float32, float32], float32);
        check([3, 190, 205], op, [uint8, uint8, uint8], uint8);
        check([70_001], op, [float32, int32, float32], float32);
      });
    }

    for (let way = 0; way < 9; way++) {
      test(`turned copies, ${way}`, () => {
        const x = operand([5, 190, 210], way % 2 === 0 ? int16 : float64, way);
        expect(x.contiguous().equal(x)).toBe(true);
        const flat = plain(x);
        const turned = plain(x.transpose(1, 2).contiguous());
        const bad = turned.findIndex(
          (v, i) => v !== flat[Math.floor(i / 39_900) * 39_900 + (i % 190) * 210 + (Math.floor(i / 190) % 210)],
        );
        expect(bad).toBe(-1);
      });
    }
  });
}

const complex = (re: z.Tensor, im: z.Tensor): z.Tensor => z.viewAsComplex(z.stack([re, im], -1));

test("conjugated and negated operands", () => {
  for (const shape of SHAPES) {
    for (let way = 0; way < 9; way++) {
      const [re, im] = [operand(shape, float32, way), operand(shape, float32, way)];
      const x = complex(re, im);
      const lying = way === 1 && shape.length > 1 ? x.transpose(0, 1).contiguous().transpose(0, 1) : x;
      const [conj, whole] = [lying.conj(), complex(im, re)];
      const negated = _neg_view(lying);
      for (const [t, a, b] of [
        [conj, 1, -1],
        [negated, -1, -1],
        [_neg_view(conj), -1, 1],
      ] as [z.Tensor, number, number][]) {
        const sum = z.add(t, whole);
        expect(z.real(sum).equal(re.mul(a).add(im))).toBe(true);
        expect(z.imag(sum).equal(im.mul(b).add(re))).toBe(true);
        const copied = z.zeros(shape, { dtype: complex64 }).copy_(t);
        expect(z.real(copied).equal(re.mul(a)) && z.imag(copied).equal(im.mul(b))).toBe(true);
        expect(Number(z.real(t.sum()).item()) + 0).toBe(Number(re.sum().item()) * a + 0);
      }
      const negative = z.imag(conj);
      expect(z.add(negative, re).equal(re.sub(im))).toBe(true);
      expect(negative.to(float64).equal(im.neg().to(float64))).toBe(true);
      expect(negative.to(int32).equal(im.neg().to(int32))).toBe(true);
    }
  }
});

test("conversions of every length write their results and nothing else", () => {
  for (const [from, to] of [
    [int32, float32],
    [float64, float32],
    [float32, int64],
    [uint8, float32],
    [bool, int8],
    [bool, float32],
    [int8, uint8],
    [bfloat16, float32],
    [float32, bfloat16],
    [int64, int16],
  ] as [z.DType, z.DType][]) {
    for (const n of [
      1, 2, 7, 15, 16, 17, 31, 33, 63, 64, 65, 130, 255, 256, 257, 300, 511, 513, 1023, 1025, 1100, 2100,
    ]) {
      for (const way of [0, 2]) {
        const x = from === int8 ? operand([n], uint8, way).view(int8) : operand([n], from, way);
        for (const gap of [1, 2]) {
          const whole = z.full([gap * n + 600], 55, { dtype: to });
          const t = whole.slice(0, 300, 300 + gap * n, gap);
          t.copy_(x);
          const wanted = plain(x);
          const bad = plain(t).findIndex((v, i) => v !== wanted[i]);
          expect(bad, `${from.name} to ${to.name}, ${n}, ${way} ${gap}`).toBe(-1);
          t.fill_(55);
          expect(whole.eq(55).all().item(), `beside ${from.name} to ${to.name}, ${n}, ${way} ${gap}`).toBe(true);
        }
      }
    }
  }
});
