// Operators keep only what the gradients that are wanted read, so that writing to the rest is allowed.
import { expect, test } from "bun:test";
import { addmm, lerp, nn, ones, type Tensor, tensor, zeros } from "../../src/index.ts";

test("a factor whose partner needs no gradient may be written", () => {
  const w = tensor([2, 3], { requiresGrad: true });
  const h = w.mul(1);
  const r = h.mul(tensor([5, 7]));
  h.zero_();
  r.sum().backward();
  expect(w.grad?.tolist()).toEqual([5, 7]);
});

test.each([
  ["mm", (a: Tensor, b: Tensor) => a.mm(b)],
  ["addmm", (a: Tensor, b: Tensor) => addmm(zeros(2, 2), a, b)],
  ["linear", (a: Tensor, b: Tensor) => nn.functional.linear(a, b)],
])("a matrix whose partner needs no gradient may be written: %s", (_, product) => {
  for (const first of [true, false]) {
    const w = ones(2, 2, { requiresGrad: true });
    const h = w.mul(1);
    const fixed = tensor([
      [1, 2],
      [3, 5],
    ]);
    const r = first ? product(h, fixed) : product(fixed, h);
    h.zero_();
    r.sum().backward();
    expect(w.grad?.abs().sum().item<number>()).toBe(22);
    const other = first ? product(w.mul(1), fixed) : product(fixed, w.mul(1));
    fixed.zero_();
    expect(() => other.sum().backward()).toThrow("modified by an inplace operation");
  }
});

test("the partner may not", () => {
  const w = tensor([2, 3], { requiresGrad: true });
  const other = tensor([5, 7]);
  const r = w.mul(other);
  other.zero_();
  expect(() => r.sum().backward()).toThrow("modified by an inplace operation");
});

test("the ends of lerp may be written when the weight is a number", () => {
  const w = tensor([2, 3], { requiresGrad: true });
  const end = ones(2);
  const r = lerp(w.mul(1), end, 0.25);
  end.zero_();
  r.sum().backward();
  expect(w.grad?.tolist()).toEqual([0.75, 0.75]);
});
