// Operators keep only what the gradients that are wanted read, so that writing to the rest is allowed.
import { expect, test } from "bun:test";
import { lerp, ones, tensor } from "../../src/index.ts";

test("a factor whose partner needs no gradient may be written", () => {
  const w = tensor([2, 3], { requiresGrad: true });
  const h = w.mul(1);
  const r = h.mul(tensor([5, 7]));
  h.zero_();
  r.sum().backward();
  expect(w.grad?.tolist()).toEqual([5, 7]);
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
