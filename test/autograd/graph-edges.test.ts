// Ends of what the engine decides: which hooks run, when a graph is freed, what saved results lead to.
import { expect, test } from "bun:test";
import {
  arange,
  autograd,
  bool,
  full,
  int64,
  ones,
  randint,
  randperm,
  type Tensor,
  tensor,
  zeros,
} from "../../src/index.ts";

const leaf = (): Tensor => ones(3, { requiresGrad: true });

test("the hooks of a single root run although no input is reached from it, those of several do not", () => {
  const a = leaf();
  const roots = [leaf().mul(3).sum(), leaf().mul(4).sum()];
  const calls: number[] = [];
  for (const [i, root] of roots.entries()) root.registerHook(() => void calls.push(i));
  const options = { allowUnused: true, retainGraph: true };
  expect(autograd.grad(roots[0] as Tensor, [a], options)).toEqual([null]);
  expect(calls).toEqual([0]);
  expect(autograd.grad(roots, [a], options)).toEqual([null]);
  expect(calls).toEqual([0]);
});

test("a graph is freed once it was run, also where it has saved nothing", () => {
  const makers: Record<string, (x: Tensor) => Tensor> = {
    "a write to a view": (x) => {
      const y = x.clone();
      y.select(0, 0).add_(1);
      return y;
    },
    "a product": (x) => x.mul(x),
  };
  for (const [name, make] of Object.entries(makers)) {
    const y = make(leaf()).sum();
    y.backward();
    expect(() => y.backward(), name).toThrow("backward through the graph a second time");
  }
});

test("a result that was detached in place after it was saved still leads to its operands", () => {
  const x = tensor([1, 2]).requiresGrad_();
  const y = x.exp();
  const wanted = y.mul(3).tolist();
  const z = y.mul(3).sum();
  y.detach_();
  const [g] = autograd.grad(z, [x], { createGraph: true });
  expect(g?.tolist()).toEqual(wanted);
  expect(autograd.grad((g as Tensor).sum(), [x])[0]?.tolist()).toEqual(wanted);
});

test("a gradient of a gradient leads to what wanted gradients when it was overwritten, and to nothing else", () => {
  const w = tensor([2, 3], { requiresGrad: true });
  const plain = ones(2);
  const [g] = autograd.grad(plain.mul_(w).sum(), [w], { createGraph: true });
  expect(g?.requiresGrad).toBe(false);
  const x = tensor([5, 7], { requiresGrad: true });
  const [h] = autograd.grad(x.clone().mul_(w).sum(), [w], { createGraph: true });
  expect(h?.requiresGrad).toBe(true);
  (h as Tensor).sum().backward();
  expect(x.grad?.tolist()).toEqual([1, 1]);
});

test("a gradient that is given stays the caller's", () => {
  const x = leaf();
  const given = tensor([1, 2, 3]);
  x.backward(given);
  given.fill_(9);
  expect(x.grad?.tolist()).toEqual([1, 2, 3]);
  const y = leaf().mul(2);
  autograd.backward([y, y], [given, given]);
  expect(given.tolist()).toEqual([9, 9, 9]);
});

test("what has no gradient cannot be asked for one when it is made", () => {
  const floats = "Only Tensors of floating point and complex dtype can require gradients";
  for (const dtype of [int64, bool]) {
    for (const make of [
      () => zeros(2, { dtype, requiresGrad: true }),
      () => full([2], 1, { dtype, requiresGrad: true }),
      () => ones(2).newZeros([2], { dtype, requiresGrad: true }),
    ]) {
      expect(make).toThrow(floats);
    }
  }
  for (const make of [
    () => arange(3, { requiresGrad: true }),
    () => randint(0, 3, [2], { requiresGrad: true, dtype: int64 }),
    () => randperm(3, { requiresGrad: true }),
  ]) {
    expect(make).toThrow(floats);
  }
});
