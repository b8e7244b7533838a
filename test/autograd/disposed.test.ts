// A graph that lost a tensor says which node wanted it.
import { describe, expect, test } from "bun:test";
import { autograd, errors, F, linalg, nn, ones, optim, randn, type Tensor, tensor, where } from "../../src/index.ts";

const leaf = (...shape: number[]) => randn(...shape).requiresGrad_();
const LOST = /^\w+Backward\w* needs a tensor of shape \[.*\] that its operator saved .* disposed/;

/** Calls of several operands, with what these are. */
const CALLS: readonly [string, (...x: Tensor[]) => Tensor, readonly number[][]][] = [
  [
    "mul",
    (a, b) => a.mul(b as Tensor),
    [
      [3, 4],
      [3, 4],
    ],
  ],
  ["div", (a, b) => a.div(b as Tensor), [[3, 4], [4]]],
  ["pow", (a, b) => a.abs().pow(b as Tensor), [[3], [3]]],
  [
    "matmul",
    (a, b) => a.matmul(b as Tensor),
    [
      [3, 4],
      [4, 2],
    ],
  ],
  [
    "bmm",
    (a, b) => a.bmm(b as Tensor),
    [
      [2, 3, 4],
      [2, 4, 2],
    ],
  ],
  [
    "addmm",
    (a, b, c) => a.addmm(b as Tensor, c as Tensor),
    [
      [3, 2],
      [3, 4],
      [4, 2],
    ],
  ],
  [
    "where",
    (a, b) => where(a.gt(0), a, b as Tensor),
    [
      [3, 4],
      [3, 4],
    ],
  ],
  ["conv1d", (a, b, c) => F.conv1d(a, b as Tensor, c as Tensor), [[1, 2, 5], [3, 2, 3], [3]]],
  ["linear", (a, b, c) => F.linear(a, b as Tensor, c as Tensor), [[3, 4], [2, 4], [2]]],
  ["layerNorm", (a, b, c) => F.layerNorm(a, [4], b, c), [[3, 4], [4], [4]]],
  [
    "attention",
    (a, b, c) => F.scaledDotProductAttention(a, b as Tensor, c as Tensor),
    [
      [2, 3, 4],
      [2, 3, 4],
      [2, 3, 4],
    ],
  ],
  ["prelu", (a, b) => F.prelu(a, b as Tensor), [[3, 4], [4]]],
  ["lerp", (a, b, c) => a.lerp(b as Tensor, c as Tensor), [[3], [3], [3]]],
  ["norm", (a) => linalg.vectorNorm(a), [[3, 4]]],
  ["cumprod", (a) => a.cumprod(0), [[3, 4]]],
  ["index", (a) => a.at([0, 2]), [[3, 4]]],
  ["cross entropy", (a) => F.crossEntropy(a, tensor([0, 1, 2], { dtype: "int64" })), [[3, 4]]],
];

describe.each(CALLS)("%s", (_, call, shapes) => {
  test.each(shapes.map((_, i) => i))("without operand %d", (at) => {
    const operands = shapes.map((shape) => leaf(...shape));
    const want = autograd.grad(call(...operands).sum(), operands);
    const others = operands.map((t) => t.detach().requiresGrad_());
    const given = others.map((t, i) => (i === at ? t.clone() : t));
    const loss = call(...given).sum();
    (given[at] as Tensor).dispose();
    try {
      loss.backward();
    } catch (error) {
      expect(error).toBeInstanceOf(errors.DisposedError);
      expect((error as Error).message).toMatch(LOST);
      return;
    }
    // The gradient does not need it.
    for (const [i, t] of others.entries()) expect(t.grad?.equal(want[i] as Tensor)).toBe(true);
  });
});

describe("what is lost elsewhere", () => {
  const thrown = (call: () => unknown): string => {
    try {
      call();
    } catch (error) {
      expect(error).toBeInstanceOf(errors.DisposedError);
      return (error as Error).message;
    }
    return "nothing";
  };
  test("by `using`", () => {
    const w = leaf(3);
    const lost = () => {
      using x = randn(3);
      return w.mul(x).sum();
    };
    const loss = lost();
    expect(thrown(() => loss.backward())).toStartWith("MulBackward0 needs a tensor of shape [3]");
    expect(w.grad).toBeNull();
  });
  test("a view that was saved, but not its base", () => {
    const [w, x] = [leaf(3, 3), randn(3, 3)];
    const loss = w.mul(x.t()).sum();
    x.dispose();
    loss.backward();
    expect(w.grad?.shape).toEqual([3, 3] as never);
    const v = ones(3, 3).t();
    const other = w.mul(v).sum();
    v.dispose();
    expect(thrown(() => other.backward())).toStartWith("MulBackward0 needs");
  });
  test("a gradient that is there already", () => {
    const w = leaf(3);
    w.sum().backward();
    w.grad?.dispose();
    expect(thrown(() => w.sum().backward())).toContain("what is in its `grad` was disposed");
    w.grad = null;
    w.sum().backward();
  });
  test("a gradient that a tensor retains", () => {
    const w = leaf(3);
    const y = w.mul(2);
    y.retainGrad();
    y.sum().backward({ retainGraph: true });
    y.grad?.dispose();
    expect(thrown(() => y.sum().backward())).toContain("the gradient of a tensor of shape [3] cannot be added up");
  });
  test("what hooks get and give", () => {
    const w = leaf(3);
    const handle = w.registerHook((g) => g.dispose());
    expect(thrown(() => w.mul(2).sum().backward())).toContain("what a hook was given was disposed");
    handle.remove();
    const y = w.mul(w);
    const first = y.registerHook((g) => g.dispose());
    expect(thrown(() => y.sum().backward())).toStartWith("MulBackward0 was to pass on a gradient of shape [3]");
    first.remove();
    const z = w.mul(w);
    z.registerHook((g) => {
      using other = g.mul(2);
      return other;
    });
    expect(thrown(() => z.sum().backward())).toContain("gave a tensor that was disposed");
  });
  test("the gradient that is given", () => {
    const [w, g] = [leaf(3), ones(3)];
    g.dispose();
    expect(thrown(() => w.mul(2).backward(g))).toBe("the gradient that was given for output 0 was disposed");
  });
  test("what an optimiser steps with", () => {
    const made = () => {
      const p = new nn.Parameter(ones(300));
      const optimizer = new optim.Adam([p]);
      p.sum().backward();
      optimizer.step();
      return { p, optimizer };
    };
    const lost: readonly [(one: ReturnType<typeof made>) => void, string][] = [
      [({ p }) => p.grad?.dispose(), "Adam.step(): the gradient of parameter 0 of group 0 was disposed"],
      [
        ({ p, optimizer }) => optimizer.state.get(p)?.exp_avg.dispose(),
        "Adam.step(): the state `exp_avg` of parameter 0",
      ],
      [({ p }) => p.dispose(), "Adam.step(): parameter 0 of group 0 was disposed"],
    ];
    for (const [lose, text] of lost) {
      const one = made();
      const before = one.p.tolist();
      lose(one);
      expect(thrown(() => one.optimizer.step())).toStartWith(text);
      if (!text.includes("(): parameter")) expect(one.p.tolist()).toEqual(before);
    }
  });
});
