// grad, gradAndValue and vjp: nesting, graphs outside, structures, modes, and torch's errors.
import { expect, test } from "bun:test";
import { arange, func, noGrad, ones, type Tensor, TensorDict, tensor, zeros } from "../../src/index.ts";
import { thrown } from "../thrown.ts";

// biome-ignore lint/suspicious/noExplicitAny: calls that the types refuse
type Any = any;
const loose = func as Any;
const x = () => arange(3).float();

test("gradients nest, and are those of the inner variable", () => {
  const quartic = (a: Tensor) => a.pow(4);
  expect(
    func
      .grad(func.grad(func.grad(quartic)))(tensor(2))
      .item(),
  ).toBe(48);
  const inner = (a: Tensor) => func.grad((b: Tensor) => b.pow(3).mul(a).sum())(a);
  expect(
    func
      .grad((a: Tensor) => inner(a).sum())(x())
      .tolist(),
  ).toEqual([0, 9, 36]);
});

test("a result has a graph only when something outside requires gradients", () => {
  const w = ones(3).requiresGrad_();
  const squares = (a: Tensor) => a.square().sum();
  const weighted = (a: Tensor) => a.square().mul(w).sum();
  expect(func.grad(squares)(x()).requiresGrad).toBe(false);
  expect(
    func
      .gradAndValue(weighted)(x())
      .map((t) => t.requiresGrad),
  ).toEqual([true, true]);
  func.grad(weighted)(x()).sum().backward();
  expect(w.grad!.tolist()).toEqual([0, 2, 4]);
  w.grad = null;
  func.grad(squares)(w).mul(x()).sum().backward();
  expect(w.grad!.tolist()).toEqual([0, 2, 4]);
  const plain = noGrad(() => func.gradAndValue(weighted)(w));
  expect(plain.map((t) => t.requiresGrad)).toEqual([false, false]);
  expect(plain[0].tolist()).toEqual([2, 2, 2]);
  // A graph that others have is whole afterwards.
  w.grad = null;
  const shared = w.exp();
  noGrad(() => func.grad((a: Tensor) => a.mul(shared).sum())(x()));
  shared.sum().backward();
  expect(w.grad).not.toBeNull();
});

test("inside, arguments are leaves, and noGrad holds", () => {
  const outside = x().requiresGrad_();
  const seen: boolean[] = [];
  func.grad((a: Tensor, b: Tensor) => {
    seen.push(a.requiresGrad, b.requiresGrad, a === outside);
    return a.mul(b).sum();
  })(outside, x());
  expect(seen).toEqual([true, false, false]);
  expect(outside.grad).toBeNull();
  expect(
    func
      .grad((a: Tensor) => a.sub(noGrad(() => a.square())).sum())(x())
      .tolist(),
  ).toEqual([1, 1, 1]);
});

test("examples have their own gradients, and gradients flow through them", () => {
  const [w, m] = [ones(3).requiresGrad_(), arange(6).view(2, 3).float()];
  const each = func.vmap(
    func.grad((a: Tensor, b: Tensor) => a.mul(b).sum().square().div(2)),
    [null, 0],
  );
  const rows = each(w, m);
  expect(rows.tolist()).toEqual([
    [0, 3, 6],
    [36, 48, 60],
  ]);
  rows.sum().backward();
  expect(w.grad!.tolist()).toEqual([36, 51, 66]);
  const nested = func.vmap(
    func.vmap(
      func.grad((a: Tensor, b: Tensor) => a.mul(b).sum()),
      [null, 0],
    ),
    [0, null],
  );
  expect([...nested(m, m).shape]).toEqual([2, 2, 3]);
  expect(nested(m, m).at(1).tolist()).toEqual(m.tolist());
  const around = func.grad((a: Tensor) =>
    func
      .vmap((b: Tensor) => b.mul(a).sum())(m)
      .sum(),
  );
  expect(around(ones(3)).tolist()).toEqual([3, 5, 7]);
});

test("structures: objects, arrays, TensorDicts", () => {
  const found = func.grad((a: { p: Tensor; q: Tensor[] }) => a.p.mul(a.q[0]!).sum())({ p: x(), q: [ones(3), x()] });
  expect([found.p.tolist(), found.q.map((t) => t.tolist())]).toEqual([
    [1, 1, 1],
    [
      [0, 1, 2],
      [0, 0, 0],
    ],
  ]);
  const td = new TensorDict({ p: x(), b: new TensorDict({ q: ones(3) }, [3]) }, [3]);
  const ofTd = func.grad((a: Any) =>
    a
      .get("p")
      .mul(a.get(["b", "q"]))
      .sum(),
  )(td) as unknown as TensorDict;
  expect([...ofTd.batchSize]).toEqual([3]);
  expect((ofTd as Any).get("p").tolist()).toEqual([1, 1, 1]);
  expect((ofTd as Any).get(["b", "q"]).tolist()).toEqual([0, 1, 2]);
  const pair = func.grad((a: Tensor, b: Tensor) => a.mul(b).sum(), { argnums: [1, -2] })(x(), ones(3));
  expect(pair.map((t) => t.tolist())).toEqual([
    [0, 1, 2],
    [1, 1, 1],
  ]);
  const [gradient, aux] = func.grad((a: Tensor) => [a.sum(), { k: a.mul(2) }] as const, { hasAux: true })(x());
  expect([gradient.tolist(), aux.k.tolist(), aux.k.requiresGrad]).toEqual([[1, 1, 1], [0, 2, 4], false]);
});

test("vjp: several results, several calls, many at once", () => {
  const [y, pull] = func.vjp((a: Tensor, b: Tensor) => ({ s: a.mul(b), n: [a.sum()] }), x(), ones(3));
  expect([y.s.tolist(), y.s.requiresGrad, y.n[0]!.item()]).toEqual([[0, 1, 2], false, 3]);
  for (let i = 0; i < 2; i++) {
    const products = pull({ s: x(), n: [tensor(1)] });
    expect(products.map((t) => t.tolist())).toEqual([
      [1, 2, 3],
      [0, 1, 4],
    ]);
  }
  const [, sines] = func.vjp((a: Tensor) => a.square(), x());
  expect(func.vmap(sines)(arange(6).view(2, 3).float())[0].tolist()).toEqual([
    [0, 2, 8],
    [0, 8, 20],
  ]);
  const inside = func.vmap((a: Tensor) => {
    const [, back] = func.vjp((b: Tensor) => b.square(), a);
    return func.vmap(back)(arange(4).view(2, 2).float())[0];
  });
  expect(
    inside(
      tensor([
        [1, 2],
        [3, 4],
      ]),
    ).tolist(),
  ).toEqual([
    [
      [0, 4],
      [4, 12],
    ],
    [
      [0, 8],
      [12, 24],
    ],
  ]);
  const [value, , aux] = func.vjp((p: { w: Tensor }) => [p.w.mul(2), p.w.sum()] as const, { w: x() }, { hasAux: true });
  expect([value.tolist(), aux.item()]).toEqual([[0, 2, 4], 3]);
});

test("nothing is written to arguments", () => {
  const own = x();
  const doubled = (a: Tensor) => a.mul_(2).sum();
  const refused = "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.";
  expect(thrown(() => func.grad(doubled)(own))).toBe(refused);
  expect(thrown(() => func.grad((a: Tensor) => func.grad(doubled)(a).sum())(own))).toBe(refused);
  expect(
    thrown(() =>
      func.grad((a: Tensor) =>
        func
          .grad((b: Tensor) => b.at(0).mul_(2))(a)
          .sum(),
      )(own),
    ),
  ).toContain("leaf Variable");
  expect(own.tolist()).toEqual([0, 1, 2]);
});

const scalar = (a: Tensor) => a.sum();
const both = (a: Tensor, b: Tensor) => a.mul(b).sum();
const given = (f: Any, ...cotangents: unknown[]) => loose.vjp(f, x())[1](...cotangents);
const api = "grad_and_value(f)(*args)";
const structures =
  "RuntimeError: Expected pytree structure of cotangents to be the same as pytree structure of outputs to the " +
  "function.";

test("torch's errors", () => {
  const calls: [() => unknown, string][] = [
    [
      () => loose.grad((a: Tensor) => a)(x()),
      `RuntimeError: ${api}: Expected f(*args) to return a scalar Tensor, got tensor with 1 dims. Maybe you wanted ` +
        "to use the vjp or jacrev APIs instead?",
    ],
    [
      () => loose.grad(() => [1])(x()),
      `RuntimeError: ${api}: Expected f(*args) to return a Tensor, got <class 'list'>`,
    ],
    [
      () => loose.grad(scalar, { hasAux: true })(x()),
      `RuntimeError: ${api}: output of function f should be a tuple: (output, aux) if has_aux is True`,
    ],
    [
      () => loose.grad((a: Tensor) => [a.sum(), 1], 0, true)(x()),
      "RuntimeError: Expected tensors, got unsupported type <class 'int'>",
    ],
    [() => loose.grad(scalar, 1)(x()), "RuntimeError: Got argnum=1, but only 1 positional inputs"],
    [() => loose.grad(scalar)(), "RuntimeError: Got argnum=0, but only 0 positional inputs"],
    [() => loose.grad(both, [])(x(), x()), "RuntimeError: argnums must be non-empty"],
    [() => loose.grad(both, [0, -2])(x(), x()), "RuntimeError: argnums elements must be unique, got (0, 0)"],
    [() => loose.grad(both, "a")(x(), x()), "RuntimeError: argnums must be int or Tuple[int, ...], got: <class 'str'>"],
    [() => loose.grad(both, [0, "a"])(x(), x()), "RuntimeError: argnum must be int, got: <class 'str'>"],
    [
      () => loose.grad((a: Any) => a.p.sum())({ p: x(), q: "s" }),
      "ValueError: Thing passed to transform API must be Tensor, got <class 'str'>",
    ],
    [() => loose.grad(scalar)(arange(3)), "RuntimeError: only Tensors of floating point dtype can require gradients"],
    [
      () => loose.grad((a: Tensor) => a.to("complex64").sum())(x()),
      "RuntimeError: grad can be implicitly created only for real scalar outputs but got torch.complex64",
    ],
    [
      () => loose.grad((a: Tensor) => a.sum().backward())(x()),
      "RuntimeError: backward() called inside a functorch transform. This is not supported, please use functorch." +
        "grad or functorch.vjp instead or call backward() outside of functorch transforms.",
    ],
  ];
  for (const [call, text] of calls) expect(thrown(call)).toBe(text);
  // What failed inside has left nothing behind.
  const w = ones(2).requiresGrad_();
  w.sum().backward();
  expect(w.grad!.tolist()).toEqual([1, 1]);
  expect(
    func
      .grad((_: Tensor) => zeros([]))(x())
      .tolist(),
  ).toEqual([0, 0, 0]);
});

test("torch's errors of vjp", () => {
  const calls: [() => unknown, string][] = [
    [
      () => given((a: Tensor) => ({ a, b: [a, a] }), { a: x() }),
      `${structures} cotangents: {'a': *}, primal output: {'a': *, 'b': [*, *]}`,
    ],
    [() => given((a: Tensor) => [a, a], x()), `${structures} cotangents: *, primal output: (*, *)`],
    [
      () => given((a: Tensor) => a.mul(2), ones(1)),
      "RuntimeError: Mismatch in shape: grad_output[0] has a shape of torch.Size([1]) and output[0] has a shape of " +
        "torch.Size([3]).",
    ],
    [
      () => loose.vjp(() => 3, x()),
      "RuntimeError: vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type <class 'int'>",
    ],
    [
      () => loose.vjp(() => [], x()),
      "RuntimeError: vjp(f, *primals): Expected f to be a function that has non-empty output (got output = [])",
    ],
    [
      () => loose.vjp((a: Tensor) => a.long(), x()),
      "RuntimeError: vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype " +
        "torch.int64",
    ],
  ];
  for (const [call, text] of calls) expect(thrown(call)).toBe(text);
});
