// The backward pass over wide and deep graphs, and which gradients a pass with inputs captures or adds.
import { expect, test } from "bun:test";
import type { Node } from "../../src/autograd/node.ts";
import { ReadyNodes } from "../../src/autograd/ready.ts";
import { autograd, cat, float64, ones, stack, type Tensor, tensor } from "../../src/index.ts";

const N = 160_000;
const leaf = (): Tensor => ones(3, { requiresGrad: true });

const times = <T>(f: (i: number) => T): T[] => Array.from({ length: N }, (_, i) => f(i));

// A second for so many nodes, one step each; a list that was scanned for each step took five minutes.
const WIDE: Record<string, () => Tensor | Tensor[]> = {
  "a stack of products": () => {
    const x = leaf();
    return stack(times((i) => x.mul(i))).sum();
  },
  "a cat of leaves": () => cat(times(leaf)).sum(),
  "many outputs of one node": () => stack(ones(N, 3, { requiresGrad: true }).unbind(0)).sum(),
  "hooks on many outputs": () => {
    const parts = ones(N, 3, { requiresGrad: true }).unbind(0);
    for (const p of parts) p.registerHook((g) => g.mul(2));
    return stack(parts.map((p) => p.mul(2))).sum();
  },
  "one tensor many times": () => stack(new Array<Tensor>(N).fill(leaf())).sum(),
  "many roots": () => times(() => leaf().sum()),
};
for (const [name, forward] of Object.entries(WIDE)) {
  test(`backward through 160,000 nodes: ${name}`, () => {
    autograd.backward(forward());
  }, 120_000);
}

const DEEP: Record<string, (a: Tensor, b: Tensor, i: number) => Tensor> = {
  sums: (a) => a.add(1),
  products: (a, b) => a.mul(b),
  views: (a) => a.view(2),
  "writes to views": (a, _, i) => {
    a.select(0, i % 2).mul_(1);
    return a;
  },
};
for (const [name, step] of Object.entries(DEEP)) {
  test(`a chain of 300,000 ${name} runs back without recursion`, () => {
    const b = ones(2, { requiresGrad: true });
    let a = b.mul(1);
    for (let i = 0; i < 300_000; i++) a = step(a, b, i);
    const y = a.sum();
    y.backward({ retainGraph: true });
    const [g] = autograd.grad(y, b);
    expect(b.grad?.tolist()).toEqual((g as Tensor).tolist());
    expect((g as Tensor).at(0).item()).toBe(name === "products" ? 300_001 : 1);
  }, 240_000);
}

test("the gradient of a gradient over a long chain", () => {
  const b = ones(1, { requiresGrad: true, dtype: float64 });
  let a = b;
  for (let i = 0; i < 30_000; i++) a = a.mul(b);
  const [g] = autograd.grad(a, b, { createGraph: true });
  (g as Tensor).backward();
  expect(b.grad?.item()).toBe(30_001 * 30_000);
}, 240_000);

test("the node that was made last comes first", () => {
  const ready = new ReadyNodes();
  const order = Array.from({ length: 500 }, (_, i) => (i * 7919) % 503);
  for (const sequence of order) {
    ready.push({ sequence } as Node);
    if (sequence % 3 === 0) ready.push(ready.pop());
  }
  const out: number[] = [];
  while (ready.size > 0) out.push(ready.pop().sequence);
  expect(out).toEqual([...order].sort((a, b) => b - a));
});

test("an input that is asked for twice is answered twice", () => {
  const x = leaf();
  const [a, b] = autograd.grad(x.mul(3).sum(), [x, x]);
  expect([a?.tolist(), b?.tolist()]).toEqual([
    [3, 3, 3],
    [3, 3, 3],
  ]);
});

test("backward with inputs adds into the gradient that is there, and runs the hooks of leaves", () => {
  const x = leaf();
  const calls: string[] = [];
  x.registerHook(() => {
    calls.push("before");
  });
  autograd.registerPostAccumulateGradHook(x, () => calls.push("after"));
  const middle = x.mul(2);
  const y = middle.mul(3).sum();
  y.backward({ inputs: [x], retainGraph: true });
  const first = x.grad;
  y.backward({ inputs: [x], retainGraph: true });
  expect(x.grad).toBe(first as Tensor);
  expect(first?.tolist()).toEqual([12, 12, 12]);
  expect(calls).toEqual(["before", "after", "before", "after"]);
  y.backward({ inputs: middle });
  expect(middle.retainsGrad).toBe(true);
  expect(middle.grad?.tolist()).toEqual([3, 3, 3]);
  expect(x.grad?.tolist()).toEqual([12, 12, 12]);
});

test("a hook changes what is captured only where the pass ends", () => {
  const x = tensor([1], { requiresGrad: true });
  const middle = x.mul(2);
  middle.registerHook((g) => g.mul(10));
  const y = middle.mul(3).sum();
  const values = (list: (Tensor | null)[]): unknown => list.map((t) => t?.item());
  expect(values(autograd.grad(y, [middle], { retainGraph: true }))).toEqual([30]);
  expect(values(autograd.grad(y, [middle, x]))).toEqual([3, 60]);
});

test("a root from which no input is reached stays untouched", () => {
  const [a, b] = [leaf(), leaf()];
  const other = b.mul(3).sum();
  let called = false;
  other.registerHook(() => {
    called = true;
  });
  const [g] = autograd.grad([a.mul(2).sum(), other], [a]);
  expect(g?.tolist()).toEqual([2, 2, 2]);
  expect(called).toBe(false);
  other.backward(); // its graph was not freed
  expect(b.grad?.tolist()).toEqual([3, 3, 3]);
});
