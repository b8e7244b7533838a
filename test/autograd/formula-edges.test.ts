// Gradients where a formula has a case of its own: bases and exponents of zero, sums of squares of zero, products that
// only a wider dtype holds.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";

const { autograd, Complex, complex64, float64, ones, onesLike, tensor, zeros } = z;
const gradient = (y: z.Tensor, x: z.Tensor): number[] =>
  autograd
    .grad(y, x, { gradOutputs: onesLike(y) })[0]
    ?.resolveConj()
    .tolist() as number[];
const plain = (values: unknown): unknown => JSON.parse(JSON.stringify(values));

test("powers of complex numbers: exponents that are the number zero have no slope, others do", () => {
  const at = (exponent: z.Complex): unknown => {
    const x = tensor([new Complex(0, 0), new Complex(2, 1)]).requiresGrad_();
    return plain(gradient(x.pow(exponent), x));
  };
  expect(at(new Complex(0, 0))).toEqual(plain([new Complex(0, 0), new Complex(0, 0)]));
  expect(at(new Complex(1, 0))).toEqual(plain([new Complex(1, 0), new Complex(1, 0)]));
  const [, second] = at(new Complex(0, 1)) as { re: number; im: number }[];
  expect(second?.re).toBeCloseTo(-0.0941, 4);
  expect(second?.im).toBeCloseTo(-0.2651, 4);
});

test("a complex base of zero: exponents whose real part is not negative have no slope", () => {
  const exponents = tensor([0.5, 0, 2].map((re) => new Complex(re, 0))).requiresGrad_();
  const zero = new Complex(0, 0);
  expect(plain(gradient(z.pow(zeros(3, { dtype: complex64 }), exponents), exponents))).toEqual(
    plain([zero, zero, zero]),
  );
});

test("exponents with an imaginary part have no slope at a base of zero", () => {
  for (const base of [zeros(2, { dtype: complex64 }), zeros(2), 0]) {
    const exponents = tensor([new Complex(2, 1), new Complex(0, -1)]).requiresGrad_();
    const slopes = gradient(z.pow(base as z.Tensor, exponents), exponents);
    expect(String(slopes)).toBe("(nan+nanj),(nan+nanj)");
  }
});

test("a move to the meta device is recorded, also from there to there", () => {
  const x = ones(2).requiresGrad_();
  const moved = x.to("meta");
  expect([moved.requiresGrad, moved.gradFn?.name]).toEqual([true, "ToCopyBackward0"]);
  const [there] = autograd.grad(moved.mul(2), moved, { gradOutputs: ones(2, { device: "meta" }) });
  expect([...(there as z.Tensor).shape]).toEqual([2]);
  expect(() => moved.sum().backward()).toThrow("Cannot copy out of meta tensor; no data!");
  const plainMeta = ones(2, { device: "meta", requiresGrad: true });
  expect(plainMeta.to("meta")).toBe(plainMeta);
  const converted = plainMeta.to("meta", { dtype: float64 });
  expect([converted.requiresGrad, converted.gradFn?.name]).toEqual([true, "ToCopyBackward0"]);
  converted.sum().backward();
  expect([plainMeta.grad?.device.type, plainMeta.grad?.dtype]).toEqual(["meta", z.float32]);
  expect(z.noGrad(() => x.to("meta")).requiresGrad).toBe(false);
});

test("products in float64 of numbers in float32 have gradients in the range of float64", () => {
  const x = tensor([1e20, 1e20, 1e-30]).requiresGrad_();
  const close = (got: unknown, wanted: number[]) =>
    (got as number[]).forEach((v, i) => void expect(v / (wanted[i] as number)).toBeCloseTo(1, 4));
  close(gradient(x.prod({ dtype: float64 }), x).slice(0, 2), [1e-10, 1e-10]);
  close(gradient(x.prod(0, { dtype: float64 }), x).slice(0, 2), [1e-10, 1e-10]);
  close(gradient(x.cumprod(0, { dtype: float64 }), x).slice(0, 2), [1e20, 1e20]);
  const y = tensor([1e20, 0, 1e20, 1e-30]).requiresGrad_();
  const gradOutputs = tensor([1, 1, 0, 1], { dtype: float64 });
  const [slope] = autograd.grad(y.cumprod(0, { dtype: float64 }), y, { gradOutputs });
  close(slope?.tolist().slice(1, 2), [1e20]);
});

test("the angle at the origin has no slope", () => {
  const [y, x] = [zeros(2).requiresGrad_(), zeros(2).requiresGrad_()];
  expect(gradient(z.atan2(y, x), y)).toEqual([0, 0]);
});

test("a layer of several leading dimensions adds its bias once, whatever the layout", () => {
  const x = z.arange(12, { dtype: z.float32 }).view(2, 3, 2).transpose(0, 1);
  const weight = tensor([
    [1, 0],
    [0, 1],
    [1, 1],
  ]);
  const bias = tensor([10, 20, 30]);
  const wanted = x.matmul(weight.t()).add(bias).tolist();
  expect(z.nn.functional.linear(x, weight, bias).tolist()).toEqual(wanted);
  expect(z.nn.functional.linear(x.contiguous(), weight, bias).tolist()).toEqual(wanted);
});

test("what a scatter of sources takes no part of has a gradient of zero", () => {
  const source = ones(6).requiresGrad_();
  const mask = tensor([true, false, true, true]);
  expect(gradient(zeros(4).maskedScatter(mask, source), source)).toEqual([1, 1, 1, 0, 0, 0]);
  const exact = ones(3).requiresGrad_();
  expect(gradient(zeros(4).maskedScatter(mask, exact), exact)).toEqual([1, 1, 1]);
});

test("what is no number stays with the elements that are the maximum", () => {
  const x = tensor([2, 1]).requiresGrad_();
  const top = x.max();
  expect(gradient(top.fmod(top.sub(top)), x)).toEqual([Number.NaN, 0]);
});

test("elements that were found are on the graph, without a way back", () => {
  const x = tensor([3, 1, 3]).requiresGrad_();
  expect(String(x.unique().gradFn)).toBe("<Unique2Backward0>");
  expect(String(x.unique({ dim: 0 }).gradFn)).toBe("<UniqueDimBackward0>");
  const [found, places] = x.uniqueConsecutive({ returnInverse: true });
  expect([String(found.gradFn), places.requiresGrad]).toEqual(["<UniqueConsecutiveBackward0>", false]);
  expect(() => found.sum().backward()).toThrow("the derivative for 'unique_consecutive' is not implemented.");
});
