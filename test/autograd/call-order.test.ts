// Which of several errors of a call torch gives, and what gradients that are recorded themselves are made of.
import { expect, test } from "bun:test";
import { autograd, ones, tensor, zeros } from "../../src/index.ts";
import { thrown } from "../thrown.ts";

test("gradients to start from are looked at before the graph", () => {
  const none = "RuntimeError: element 0 of tensors does not require grad and does not have a gradFn";
  expect(thrown(() => ones(2).backward(ones(3)))).toContain("Mismatch in shape: grad_output[0]");
  expect(thrown(() => ones(2).backward())).toBe(none);
  expect(thrown(() => ones(2).backward(ones(2)))).toBe(none);
});

test("zeros for unused inputs are not asked for where unused inputs are refused", () => {
  const x = ones(2, { requiresGrad: true });
  const refused =
    "ValueError: Expected allowUnused to be true or not passed when materializeGrads: true, but got: " +
    "allowUnused: false.";
  const ask = (allowUnused: boolean) => () => autograd.grad(ones(2), x, { materializeGrads: true, allowUnused });
  expect(thrown(ask(false))).toBe(refused);
  expect(thrown(ask(true))).toContain("element 0 of tensors");
});

test("zeros for unused inputs require gradients where the pass is recorded", () => {
  const [x, y] = [ones(2, { requiresGrad: true }), ones(2, { requiresGrad: true })];
  for (const createGraph of [false, true]) {
    const found = autograd.grad(x.mul(x).sum(), y, { materializeGrads: true, createGraph })[0];
    expect(found?.requiresGrad).toBe(createGraph);
  }
});

test("a hook behind accumulation needs gradients first, then a leaf", () => {
  const hook = (): void => {};
  const add = (x: typeof leaf) => () => autograd.registerPostAccumulateGradHook(x, hook);
  const leaf = ones(2, { requiresGrad: true });
  expect(thrown(add(ones(2)))).toContain("cannot register a hook on a tensor that doesn't require gradient");
  expect(thrown(add(leaf.mul(2)))).toContain("post accumulate grad hooks cannot be registered on non-leaf tensors");
});

test("the first gradient of a recorded pass is a copy in the leaf's layout", () => {
  const x = tensor([[1, 2, 3]])
    .expand(2, 3)
    .clone()
    .t()
    .detach()
    .requiresGrad_();
  const start = ones(3, 2, { requiresGrad: true });
  x.mul(1).backward(start, { createGraph: true });
  expect(x.grad?.gradFn?.qualifiedName).toBe("torch::autograd::CopyBackwards");
  expect([...(x.grad?.stride() ?? [])]).toEqual([...x.stride()]);
  const leaf = zeros(2, { requiresGrad: true });
  const given = ones(2);
  leaf.backward(given, { createGraph: true });
  leaf.grad?.add_(1);
  expect(given.tolist()).toEqual([1, 1]);
});

test("a tensor is no gradient of its own", () => {
  const x = ones(2);
  expect(thrown(() => Object.assign(x, { grad: x }))).toBe("RuntimeError: can't assign Variable as its own grad");
});
