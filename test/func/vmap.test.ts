// vmap: dimensions, nesting, gradients, randomness, and what it refuses, in torch's words.
import { expect, test } from "bun:test";
import { arange, func, nn, ones, rand, type Tensor, tensor, zeros } from "../../src/index.ts";
import { thrown } from "../thrown.ts";

const { vmap } = func;
const rows = () => arange(6).view(2, 3).float();
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
  expect(thrown(() => vmap((a: Tensor) => y.copy_(a))(rows()))).toContain("self` not being vmapped over in a vmap");
});

test("random numbers are the examples' own, the same, or refused", () => {
  const x = zeros(3, 4);
  const draw = (a: Tensor) => a.add(rand(4));
  expect(thrown(() => vmap(draw)(x))).toContain("called random operation while in randomness error mode");
  const same = vmap(draw, { randomness: "same" })(x).tolist() as number[][];
  expect(same[0]).toEqual(same[1]!);
  const different = vmap(draw, { randomness: "different" })(x).tolist() as number[][];
  expect(different[0]).not.toEqual(different[1]!);
  const dropped = vmap((a: Tensor) => nn.functional.dropout(a, 0.5), { randomness: "different" })(ones(20, 8));
  expect(new Set((dropped.tolist() as number[][]).map(String)).size).toBeGreaterThan(4);
  expect(thrown(() => vmap(draw, { randomness: "some" as never })(x))).toBe(
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
  expect(thrown(() => vmap(f, { chunkSize: 0 }))).toBe(
    "ValueError: vmap: chunk_size should be None or greater than 0. (got 0)",
  );
});

test("a tensor that outlives its vmap is refused", () => {
  const kept: Tensor[] = [];
  vmap((a: Tensor) => {
    kept.push(a);
    return a;
  })(rows());
  expect(thrown(() => kept[0]!.add(1))).toContain("may have escaped from inside a function being vmapped");
  expect(thrown(() => kept[0]!.dataPtr())).toContain("may have escaped");
  expect(tensor([1]).item()).toBe(1);
});

test("what is detached inside has no gradient, and graphs are gone through outside", () => {
  const w = ones(3).requiresGrad_();
  const y = rows().requiresGrad_();
  vmap((a: Tensor) => a.mul(w).detach().mul(a))(y)
    .sum()
    .backward();
  expect(w.grad).toBe(null);
  expect(y.grad!.tolist()).toEqual(rows().tolist());
  const inside: [(a: Tensor) => unknown, string][] = [
    [(a) => a.sum().backward(), "RuntimeError: backward() called inside a functorch transform. This is not supported"],
    [(a) => a.data, "RuntimeError: accessing `data` under vmap transform is not allowed"],
    [(a) => a.untypedStorage(), "NotImplementedError: Cannot access storage of BatchedTensorImpl"],
    [(a) => a.tolist(), "RuntimeError: Cannot access data pointer of Tensor that doesn't have storage"],
    [(a) => a.typedArray(), "RuntimeError: Cannot access data pointer of Tensor that doesn't have storage"],
    [(a) => a.at(0).item(), "RuntimeError: vmap: It looks like you're calling .item() on a Tensor."],
    [(a) => Number(a.at(0)), "RuntimeError: vmap: It looks like you're calling .item() on a Tensor."],
    [(a) => a.at(a.gt(1)), "RuntimeError: vmap: We do not support batching operators that can support dynamic shape."],
    [(a) => a.add(1, { out: zeros(3) }), "RuntimeError: Batching rule not implemented for aten::add.out; the fallback"],
  ];
  for (const [body, wanted] of inside) {
    const first = (a: Tensor) => {
      body(a);
      return a;
    };
    expect(thrown(() => vmap(first)(y))).toStartWith(wanted);
  }
});

test("indices of each example's own", () => {
  const x = rows();
  const places = tensor([0n, 2n]);
  expect(vmap((a: Tensor, i: Tensor) => a.at(i))(x, places).tolist()).toEqual([0, 5]);
  const set = vmap((a: Tensor, i: Tensor) => a.clone().setAt(i, 9))(x, places);
  expect(set.tolist()).toEqual([
    [9, 1, 2],
    [3, 4, 9],
  ]);
  const masked = vmap((a: Tensor) => a.clone().setAt(a.gt(1), 0))(x);
  expect(masked.tolist()).toEqual([
    [0, 1, 0],
    [0, 0, 0],
  ]);
});

test("arguments that do not fit, in torch's words", () => {
  const x = rows();
  const add = (a: Tensor, b: Tensor) => a.add(b);
  const any = vmap as (...args: unknown[]) => (...args: unknown[]) => unknown;
  const errors: [() => unknown, string][] = [
    [() => any(add)(), "vmap(add)(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to"],
    [
      () => any(add)(x, zeros(3, 3)),
      "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes [2, 3]",
    ],
    [() => any(add, { inDims: null })(x, x), "vmap(add, in_dims=None, ...)(<inputs>): expected `in_dims` to be int or"],
    [() => any(add, [null, null])(x, x), "vmap: Expected at least one Tensor to vmap over"],
    [
      () => any(add, [0])(x, x),
      "vmap(add, in_dims=(0,), ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. in_dims has " +
        "structure TreeSpec(tuple, None, [*]) but inputs has structure TreeSpec(tuple, None, [*,\n  *]).",
    ],
    [
      () => any(add, [[0, 0], 0])(x, x),
      "vmap(add, in_dims=([0, 0], 0), ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. " +
        "in_dims has structure TreeSpec(tuple, None, [TreeSpec(list, None, [*,\n    *]),\n  *]) but inputs has",
    ],
    [
      () => any(add, ["a", 0])(x, x),
      "vmap(add, in_dims=('a', 0), ...)(<inputs>): Got in_dim=a for an input but in_dim must",
    ],
    [
      () => any(add)(x, 2),
      "vmap(add, in_dims=0, ...)(<inputs>): Got in_dim=0 for an input but the input is of type <class 'int'>.",
    ],
    [
      () => any(add, [-3, 0])(x, x),
      "vmap(add, in_dims=(-3, 0), ...)(<inputs>): Got in_dim=-3 for some input, but that input is a Tensor of " +
        "dimensionality 2 so expected in_dim to satisfy -2 <= in_dim < 2.",
    ],
    [
      () => any((_: Tensor) => 3)(x),
      "vmap(<lambda>, ...): `<lambda>` must only return Tensors, got type <class 'int'>.",
    ],
    [
      () => any((_: Tensor) => {})(x),
      "vmap(<lambda>, ...): `<lambda>` must only return Tensors, got type <class 'NoneType'>.",
    ],
    [() => any(add, 0, null)(x, x), "vmap(add, ...): `add` can not return a BatchedTensor when out_dim is None"],
    [() => any(add, 0, [0, 1])(x, x), "vmap(add, ..., out_dims=(0, 1))(<inputs>): out_dims is not compatible with the"],
    [
      () => any(add, 0, "a")(x, x),
      "vmap(add, ..., out_dims=a): `out_dims` must be an int, None or a python collection",
    ],
  ];
  for (const [body, wanted] of errors) expect(thrown(body)).toStartWith(`ValueError: ${wanted}`);
  expect(thrown(() => any(add, 0, 5)(x, x))).toBe(
    "IndexError: Dimension out of range (expected to be in range of [-2, 1], but got 5)",
  );
});
