// How much memory a backward pass takes: a gradient that belongs to nobody else becomes the leaf's own or is added to,
// and what is made is no longer than it has to be.
import { expect, test } from "bun:test";
import { addcmul, asStrided, autograd, cpu, float64, ones, type Tensor } from "../../src/index.ts";

const N = 4096;
const leaf = (n = N): Tensor => ones(n, { requiresGrad: true });

/** How many blocks of memory some work asks for; results of a few elements need none. */
function blocks(work: () => void): number {
  const made = (): number => cpu.memoryStats()["allocation.all.allocated"] as number;
  const before = made();
  work();
  return made() - before;
}

const PASSES: Record<string, [graph: (a: Tensor, b: Tensor) => Tensor, first: number, again: number]> = {
  "a sum of all": [(a) => a.sum(), 1, 0],
  "a product with a number": [(a) => a.mul(2).sum(), 1, 1],
  "a product of two leaves": [(a, b) => a.mul(b).sum(), 2, 2],
  "a product and a sum": [(a, b) => addcmul(a, b, a.detach()).sum(), 3, 2],
  "a chain": [(a) => a.mul(2).mul(3).mul(4).sum(), 3, 3],
  "a leaf used three times": [(a) => a.mul(2).add(a.mul(3)).add(a.mul(4)).sum(), 3, 3],
  "a dtype of its own": [(a) => a.to(float64).sum(), 1, 1],
};
for (const [name, [graph, first, again]] of Object.entries(PASSES)) {
  test(`blocks that a pass takes: ${name}`, () => {
    const [a, b] = [leaf(), leaf()];
    const y = graph(a, b);
    const counts = [0, 1].map(() => blocks(() => y.backward({ retainGraph: true })));
    expect(counts).toEqual([first, again]);
  });
}

test("what is made for gradients of views is as long as their base", () => {
  for (const x of [ones(3, 4), ones(4, 3).t()]) {
    const y = x.requiresGrad_().mul(1);
    const seen: Tensor[] = [];
    y.registerHook((g) => void seen.push(g));
    y.select(0, 0).mul_(2);
    y.sum().backward();
    expect(seen.map((g) => [g.sum().item(), g.stride(), g.untypedStorage().nbytes()])).toEqual([[16, x.stride(), 48]]);
  }
  const x = ones(6, { requiresGrad: true });
  const [g] = autograd.grad(asStrided(x, [2, 2], [2, 1], 1).sum(), [x]);
  expect(g?.tolist()).toEqual([0, 1, 1, 1, 1, 0]);
  expect(g?.untypedStorage().nbytes()).toBe(24);
});
