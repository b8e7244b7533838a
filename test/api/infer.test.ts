// Functions run without computation: what they say about shapes, and that nothing with bytes changes.
import { expect, test } from "bun:test";
import { arange, cat, inferMeta, nn, ones, type Tensor, tensor, zeros } from "../../src/index.ts";

const told = (t: Tensor) => [t.device.type, [...t.shape], t.stride(), t.dtype.name];

test("shapes, strides and dtypes of what a function computes", () => {
  const found = inferMeta(() => nn.functional.linear(zeros(64, 1000), zeros(10, 1000)));
  expect(told(found)).toEqual(["meta", [64, 10], [10, 1], "float32"]);
  const x = ones(4, 6);
  expect(told(inferMeta(() => x.t().add(1)))).toEqual(["meta", [6, 4], [1, 6], "float32"]);
  expect(inferMeta(() => x.sort(1)).map((t) => told(t as Tensor))).toEqual([
    ["meta", [4, 6], [6, 1], "float32"],
    ["meta", [4, 6], [6, 1], "int64"],
  ]);
  expect(told(inferMeta(() => cat([x, arange(6).view(1, 6)])))).toEqual(["meta", [5, 6], [6, 1], "float32"]);
});

test("huge tensors cost nothing", () => {
  const found = inferMeta(() => zeros(1_000_000, 100_000).mul(2).sum(0));
  expect(told(found)).toEqual(["meta", [100_000], [1], "float32"]);
});

test("nothing that has bytes is changed", () => {
  const x = arange(4).to("float32");
  const v = x.version;
  const [a, b] = inferMeta(() => [x.add_(1), x.resize_(2, 2)]) as [Tensor, Tensor];
  expect(a).toBe(b);
  expect([told(b), x.tolist(), [...x.shape], x.version]).toEqual([
    ["meta", [2, 2], [2, 1], "float32"],
    [0, 1, 2, 3],
    [4],
    v,
  ]);
});

test("views are views of the same, and gradients are followed", () => {
  const w = ones(3, 3, { requiresGrad: true });
  const [y, view] = inferMeta(() => {
    const z = w.mul(2);
    return [z.sum(), z.at(0)];
  }) as [Tensor, Tensor];
  expect([y.requiresGrad, String(y.gradFn), view._base !== null]).toEqual([true, "<SumBackward0>", true]);
  expect(w.grad).toBeNull();
});

test("errors are the operators', and a value is nowhere", () => {
  const x = ones(2, 3);
  expect(() => inferMeta(() => x.mm(x))).toThrow("shapes cannot be multiplied (2x3 and 2x3)");
  expect(() => inferMeta(() => x.sum().item())).toThrow("meta");
  expect(() => inferMeta(async () => x)).toThrow("not async");
  expect(x.add(1).device.type).toBe("cpu");
});

test("data stays where it was made until an operator takes it", () => {
  expect(told(inferMeta(() => tensor([[1, 2]]).add(zeros(2, 1))))).toEqual(["meta", [2, 2], [2, 1], "float32"]);
  expect(told(inferMeta(() => tensor([1, 2])))).toEqual(["meta", [2], [1], "float32"]);
});
