// Ends of what the engine decides: which hooks run, when a graph is freed, what saved results lead to.
import { expect, test } from "bun:test";
import {
  arange,
  autograd,
  bool,
  complex64,
  fill,
  full,
  int64,
  noGrad,
  normal,
  ones,
  randint,
  randperm,
  type Tensor,
  tensor,
  varMean,
  viewAsReal,
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

test("a graph that has saved no tensor can be run again", () => {
  const uses: Record<string, (x: Tensor) => Tensor> = {
    "a write of a comparison": (x) => x.clone().eq_(1),
    "a write of a comparison with a tensor": (x) => x.clone().gt_(zeros(3)),
    "a remainder by a number": (x) => x.remainder(2),
    "another remainder by a number": (x) => x.fmod(2),
  };
  for (const [name, use] of Object.entries(uses)) {
    const x = leaf();
    const y = use(x).sum();
    y.backward();
    const once = x.grad?.tolist() as number[];
    y.backward();
    expect(x.grad?.tolist(), name).toEqual(once.map((v) => 2 * v));
  }
});

test("gradients that are asked for have no history, and free the graph, unless that is asked for too", () => {
  const x = leaf();
  const y = x.mul(x).sum();
  expect(() => autograd.backward([y, 5] as never)).toThrow("must be Tensor or tuple of Tensors, not number");
  expect(() => autograd.backward([undefined] as never)).toThrow("must be Tensor or tuple of Tensors, not undefined");
  const [kept] = autograd.grad(y, [x], { createGraph: true });
  expect(kept?.requiresGrad).toBe(true);
  const [plain] = autograd.grad(y, [x]);
  expect(plain?.requiresGrad).toBe(false);
  expect(() => autograd.grad(y, [x])).toThrow("backward through the graph a second time");
});

test("only leaves that want gradients take hooks for what was added", () => {
  for (const [t, text] of [
    [ones(2), "cannot register a hook on a tensor that doesn't require gradient"],
    [leaf().mul(2), "post accumulate grad hooks cannot be registered on non-leaf tensors"],
  ] as const) {
    expect(() => autograd.registerPostAccumulateGradHook(t, () => {})).toThrow(text);
  }
});

test("a view of what was written finds its new node in any mode", () => {
  const base = leaf().clone();
  const view = base.narrow(0, 0, 2);
  base.mul_(2);
  expect(noGrad(() => view.gradFn)?.name).toBe("AsStridedBackward0");
  const pairs = ones(2, { dtype: complex64 }).requiresGrad_().clone();
  const parts = viewAsReal(pairs);
  pairs.mul_(2);
  expect(noGrad(() => parts.gradFn)?.name).toBe("ViewAsRealBackward0");
  expect(autograd.grad(parts.sum(), [pairs])[0]?.real.tolist()).toEqual([1, 1]);
});

test("what was detached in place is no node's second output any more", () => {
  const [, mean] = varMean(leaf()) as readonly Tensor[] as [Tensor, Tensor];
  expect(mean.outputNr).toBe(1);
  mean.detach_();
  expect([mean.outputNr, mean.gradFn, mean.requiresGrad]).toEqual([0, null, false]);
});

test("a type that a tensor has already is no reason to copy it", () => {
  const x = ones(3);
  expect(x.type(x.dtype)).toBe(x);
  expect(x.typeAs(x)).toBe(x);
});

test("a pass takes its options after a gradient, or alone", () => {
  for (const args of [[{ retainGraph: true }], [null, { retainGraph: true }], [undefined, { retainGraph: true }]]) {
    const x = leaf();
    const y = x.mul(x).sum();
    (y.backward as (...args: unknown[]) => void)(...args);
    y.backward(null);
    expect(x.grad?.tolist()).toEqual([4, 4, 4]);
    expect(() => y.backward()).toThrow("backward through the graph a second time");
  }
});

test("what is filled, or drawn around a mean, does not change with what stood there", () => {
  const x = leaf();
  const makers: [made: Tensor, name: string][] = [
    [fill(x, 2), "FillBackward0"],
    [fill(x, tensor(2)), "FillBackward1"],
    [normal(x, ones(3)), "NormalBackward3"],
    [normal(ones(3), x), "NormalBackward3"],
  ];
  for (const [made, name] of makers) {
    expect(made.gradFn?.name).toBe(name);
    expect(autograd.grad(made.sum(), [x])[0]?.tolist()).toEqual([0, 0, 0]);
  }
});

test("a gradient that a tensor retains is not changed by the next pass", () => {
  const s = leaf().mul(1);
  s.retainGrad();
  const y = s.sum();
  y.backward(null, { retainGraph: true });
  const first = s.grad as Tensor;
  y.backward();
  expect([first.tolist(), s.grad?.tolist()]).toEqual([
    [1, 1, 1],
    [2, 2, 2],
  ]);
});

test("a write to a view that starts behind the first element of its base is followed there", () => {
  const room = zeros(10);
  const base = zeros(0).set_(room.untypedStorage(), 2, [6], [1]);
  const w = tensor([2, 3], { requiresGrad: true });
  base.asStrided([2], [2], 3).mul_(w).add_(w);
  base.mul(arange(6)).sum().backward();
  expect(w.grad?.tolist()).toEqual([1, 3]);
});

test("what was written to a view is differentiated as often as anything else", () => {
  const x = tensor([1, 2, 3]).requiresGrad_();
  const written = (parts: (t: Tensor) => Tensor) => {
    const base = zeros(3);
    parts(base).copy_(x.pow(4).sum());
    return base;
  };
  const views = [
    (t: Tensor) => t.select(0, 1),
    (t: Tensor) => t.narrow(0, 1, 1),
    (t: Tensor) => t.asStrided([1], [1], 1),
  ];
  for (const view of views) {
    let y = written(view).sum();
    for (const factor of [4, 12, 24, 24]) {
      const [g] = autograd.grad([y], [x], { createGraph: true });
      const left = { 4: 3, 12: 2 }[factor];
      if (left !== undefined) expect((g as Tensor).tolist()).toEqual([1, 2, 3].map((v) => factor * v ** left));
      const base = zeros(3);
      view(base).copy_((g as Tensor).sum());
      y = base.sum();
    }
  }
  const [u, d] = [ones([]).requiresGrad_(), zeros(3).requiresGrad_()];
  const [g] = autograd.grad([x.at(1).square()], [x], { gradOutputs: [u], createGraph: true });
  const [second] = autograd.grad([g as Tensor], [x], { gradOutputs: [d], createGraph: true });
  expect(autograd.grad([second as Tensor], [d], { gradOutputs: [tensor([0, 1, 0])] })[0]!.tolist()).toEqual([0, 2, 0]);
});

test("hooks give gradients of the same dtype and sizes, or nothing", () => {
  const refused: [(g: Tensor) => unknown, string][] = [
    [(g) => g.double(), "changed the type of value (was torch.FloatTensor got torch.DoubleTensor)"],
    [(g) => g.to(complex64), "changed the type of value (was torch.FloatTensor got CPUComplexFloatType)"],
    [(g) => g.double().at("0:1"), "changed the type of value (was torch.FloatTensor got torch.DoubleTensor)"],
    [(g) => g.at("0:1"), "changed the size of value"],
    [() => 3, "expected Variable, but hook returned 'int'"],
  ];
  for (const [hook, text] of refused) {
    const y = leaf().mul(2);
    y.registerHook(hook as (g: Tensor) => Tensor);
    expect(() => y.sum().backward(), text).toThrow(text);
    const x = leaf();
    x.registerHook(hook as (g: Tensor) => Tensor);
    expect(() => x.sum().backward(), text).toThrow(text);
  }
});
