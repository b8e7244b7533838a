// vmap: dimensions, nesting, gradients, randomness, and what it refuses, in torch's words.
import { expect, test } from "bun:test";
import { arange, func, nn, ones, rand, type Tensor, tensor, zeros } from "../../src/index.ts";

const { vmap } = func;
const rows = () => arange(6).view(2, 3).float();
const message = (body: () => unknown): string => {
  try {
    body();
  } catch (e) {
    return `${(e as Error).name}: ${(e as Error).message}`;
  }
  return "no error";
};

test("dimensions of arguments and results", () => {
  const x = rows();
  const add = (a: Tensor, b: Tensor) => a.add(b);
  expect(vmap(add, { inDims: [0, null] })(x, ones(3)).tolist()).toEqual(x.add(1).tolist());
  expect(vmap(add, { inDims: [1, -1], outDims: 1 })(x, x).tolist()).toEqual(x.mul(2).tolist());
  expect([...vmap(add, [-2, 0], -1)(x, x).shape]).toEqual([3, 2]);
  const nested = vmap((a: { b: Tensor[] }, c: Tensor) => ({ sum: a.b[0]!.add(c), first: [a.b[1]!] }), {
    inDims: [{ b: [0, null] }, 0],
    outDims: { sum: 0, first: null } as never,
  })({ b: [x, ones(2)] }, x) as unknown as { sum: Tensor; first: Tensor[] };
  expect(nested.sum.tolist()).toEqual(x.mul(2).tolist());
  expect(nested.first[0]!.tolist()).toEqual([1, 1]);
  expect([...vmap((_: Tensor) => ones(2))(x).shape]).toEqual([2, 2]);
});

test("vmap inside of vmap, and gradients through it", () => {
  const x = rows();
  const outer = vmap((a: Tensor) => vmap((b: Tensor) => b.mul(a.sum()))(a))(x);
  expect(outer.tolist()).toEqual([
    [0, 3, 6],
    [36, 48, 60],
  ]);
  const w = ones(3).requiresGrad_();
  const y = x.clone().requiresGrad_();
  const out = vmap((a: Tensor) => a.mul(w).square().sum())(y);
  out.sum().backward();
  expect(w.grad!.tolist()).toEqual(x.square().sum([0]).mul(2).tolist());
  expect(y.grad!.tolist()).toEqual(x.mul(2).tolist());
});

test("a tensor of one example prints all of them, and knows its own sizes", () => {
  const seen: unknown[] = [];
  vmap((a: Tensor) => {
    seen.push([...a.shape], a.stride(), String(a));
    return a;
  }, 1)(rows());
  expect(seen).toEqual([
    [2],
    [3],
    "BatchedTensor(lvl=1, bdim=1, value=\n    tensor([[0., 1., 2.],\n            [3., 4., 5.]])\n)",
  ]);
});

test("operators in place", () => {
  const x = rows();
  vmap((a: Tensor) => a.mul_(2).at(0).add_(1))(x);
  expect(x.tolist()).toEqual([
    [1, 2, 4],
    [7, 8, 10],
  ]);
  const y = zeros(3);
  expect(message(() => vmap((a: Tensor) => y.copy_(a))(rows()))).toContain("self` not being vmapped over in a vmap");
});

test("random numbers are the examples' own, the same, or refused", () => {
  const x = zeros(3, 4);
  const draw = (a: Tensor) => a.add(rand(4));
  expect(message(() => vmap(draw)(x))).toContain("called random operation while in randomness error mode");
  const same = vmap(draw, { randomness: "same" })(x).tolist() as number[][];
  expect(same[0]).toEqual(same[1]!);
  const different = vmap(draw, { randomness: "different" })(x).tolist() as number[][];
  expect(different[0]).not.toEqual(different[1]!);
  const dropped = vmap((a: Tensor) => nn.functional.dropout(a, 0.5), { randomness: "different" })(ones(20, 8));
  expect(new Set((dropped.tolist() as number[][]).map(String)).size).toBeGreaterThan(4);
  expect(message(() => vmap(draw, { randomness: "some" as never })(x))).toBe(
    "RuntimeError: Only allowed values for randomness are 'error', 'different', or 'same'. Got some",
  );
});

test("chunks", () => {
  const x = arange(10).view(5, 2);
  const sizes: number[] = [];
  const f = (a: Tensor) => {
    sizes.push(Number(/value=\n +tensor\((.*)/.exec(String(a)) !== null));
    return a.sum();
  };
  expect(vmap(f, { chunkSize: 2 })(x).tolist()).toEqual([1, 5, 9, 13, 17]);
  expect(sizes.length).toBe(3);
  expect(message(() => vmap(f, { chunkSize: 0 }))).toBe(
    "ValueError: vmap: chunk_size should be None or greater than 0. (got 0)",
  );
});

test("a tensor that outlives its vmap is refused", () => {
  const kept: Tensor[] = [];
  vmap((a: Tensor) => {
    kept.push(a);
    return a;
  })(rows());
  expect(message(() => kept[0]!.add(1))).toContain("may have escaped from inside a function being vmapped");
  expect(message(() => kept[0]!.dataPtr())).toContain("may have escaped");
  expect(tensor([1]).item()).toBe(1);
});
