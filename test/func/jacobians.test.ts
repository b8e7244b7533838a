// jvp, jacrev, jacfwd and hessian: structures, chunks, random numbers, graphs outside, and torch's errors.
import { expect, test } from "bun:test";
import { arange, func, ones, rand, type Tensor, TensorDict, tensor, zeros } from "../../src/index.ts";
import { thrown } from "../thrown.ts";

// biome-ignore lint/suspicious/noExplicitAny: calls that the types refuse
type Any = any;
const loose = func as Any;
const x = () => arange(3).float();
const diagonal = (...values: number[]) => values.map((v, i) => values.map((_, k) => (i === k ? v : 0)));
const squares = (a: Tensor) => a.square();

test("jvp: structures, results of integers, aux", () => {
  const f = (a: { p: Tensor; q: Tensor[] }) => ({ s: a.p.mul(a.q[0]!), i: a.p.long(), c: ones(2) });
  const point = { p: x(), q: [ones(3)] };
  const [y, change] = func.jvp(f, [point], [point]);
  expect([y.s.tolist(), change.s.tolist()]).toEqual([
    [0, 1, 2],
    [0, 2, 4],
  ]);
  expect([change.i.tolist(), change.i.dtype.name, change.c.tolist()]).toEqual([[0, 0, 0], "int64", [0, 0]]);
  const [, , aux] = func.jvp((a: Tensor) => [a, a.sum()] as const, [x()], [x()], { hasAux: true });
  expect([aux.item(), aux.requiresGrad]).toEqual([3, false]);
  const td = new TensorDict({ p: x() }, [3]);
  const [, ofTd] = func.jvp((a: Any) => a.get("p").square() as Tensor, [td], [td]);
  expect(ofTd.tolist()).toEqual([0, 2, 8]);
  const many = func.vmap((t: Tensor) => func.jvp(squares, [x()], [t])[1]);
  expect(many(ones(2, 3)).tolist()).toEqual([
    [0, 2, 4],
    [0, 2, 4],
  ]);
});

test("Jacobians: structures, places, aux, nothing in them", () => {
  for (const jacobian of [loose.jacrev, loose.jacfwd]) {
    const f = (a: Any) => ({ s: a.p.mul(a.q[0]), t: [a.p.sum()] });
    const found = jacobian(f)({ p: x(), q: [x().mul(2)] });
    expect(found.s.p.tolist()).toEqual(diagonal(0, 2, 4));
    expect(found.s.q[0].tolist()).toEqual(diagonal(0, 1, 2));
    expect([found.t[0].p.tolist(), found.t[0].q[0].tolist()]).toEqual([
      [1, 1, 1],
      [0, 0, 0],
    ]);
    const last = jacobian((a: Tensor, b: Tensor) => a.mul(b), { argnums: -1 })(x(), ones(3));
    expect(last.tolist()).toEqual(diagonal(0, 1, 2));
    const [j, aux] = jacobian((a: Tensor) => [squares(a), a.sum()], { hasAux: true })(x());
    expect([j.tolist(), aux.item(), aux.requiresGrad]).toEqual([diagonal(0, 2, 4), 3, false]);
    expect([...jacobian((a: Tensor) => a.narrow(0, 0, 0))(x()).shape]).toEqual([0, 3]);
    expect([...jacobian((a: Tensor) => a.sum())(ones(0)).shape]).toEqual([0]);
    expect([...jacobian((_: Tensor) => ones(2, 3))(x()).shape]).toEqual([2, 3, 3]);
    expect(
      jacobian((a: Tensor) => jacobian(squares)(a))(x())
        .at(1)
        .tolist(),
    ).toEqual([
      [0, 0, 0],
      [0, 2, 0],
      [0, 0, 0],
    ]);
    const each = func.vmap(jacobian(squares))(arange(6).view(2, 3).float()) as Tensor;
    expect(each.at(1).tolist()).toEqual(diagonal(6, 8, 10));
    const w = ones(3).requiresGrad_();
    jacobian((a: Tensor) => a.mul(w).square())(x())
      .sum()
      .backward();
    expect(w.grad!.tolist()).toEqual([0, 4, 8]);
  }
});

test("rows in chunks are the same rows", () => {
  const f = (a: Tensor) => ({ one: a.cumsum(0), two: a.prod() });
  const whole = func.jacrev(f)(x());
  for (const chunkSize of [1, 2, 3, 4, 9]) {
    const parts = func.jacrev(f, { chunkSize })(x());
    expect([parts.one.tolist(), parts.two.tolist()]).toEqual([whole.one.tolist(), whole.two.tolist()]);
  }
});

test("rows are computed at once, and in turn where a pass reads elements", () => {
  let passes = 0;
  const counted = (read: boolean) => (a: Tensor) => {
    const b = a.square();
    b.registerHook((g) => {
      if (read) g.tolist();
      passes++;
    });
    return b;
  };
  expect(func.jacrev(counted(false))(x()).tolist()).toEqual(diagonal(0, 2, 4));
  expect(passes).toBe(1);
  expect(func.jacrev(counted(true))(x()).tolist()).toEqual(diagonal(0, 2, 4));
  expect(passes).toBe(4);
});

test("jacfwd and random numbers", () => {
  const noisy = (a: Tensor) => a.mul(rand(3));
  expect(thrown(() => func.jacfwd(noisy)(ones(3)))).toContain("called random operation while in randomness error mode");
  const same = func.jacfwd(noisy, { randomness: "same" })(ones(3));
  const different = func.jacfwd((a: Tensor) => a.sum().mul(rand([])).expand(3), { randomness: "different" })(ones(3));
  expect([...same.shape, ...different.shape]).toEqual([3, 3, 3, 3]);
  expect(new Set((different.tolist() as number[][])[0]).size).toBe(3);
  const shared = func.jacfwd((a: Tensor) => a.sum().mul(rand([])).expand(3), { randomness: "same" })(ones(3));
  expect(new Set((shared.tolist() as number[][]).flat()).size).toBe(1);
});

test("hessians", () => {
  const pair = func.hessian((a: Tensor, b: Tensor) => a.mul(b).sum(), { argnums: [0, 1] })(x(), x()) as Any;
  expect(pair[0][1].tolist()).toEqual(diagonal(1, 1, 1));
  expect(pair[1][1].tolist()).toEqual(diagonal(0, 0, 0));
  const named = func.hessian((a: { p: Tensor }) => a.p.pow(3).sum())({ p: x() }) as Any;
  expect(named.p.p.tolist()).toEqual(diagonal(0, 6, 12));
  const backward = func.jacrev(func.jacrev((a: Tensor) => a.pow(3).sum()))(x());
  expect(backward.tolist()).toEqual(diagonal(0, 6, 12));
  const each = func.vmap(func.hessian((a: Tensor) => a.pow(3).sum()))(tensor([[1], [2]]));
  expect(each.tolist()).toEqual([[[6]], [[12]]]);
});

const jvpOf = (f: Any, from: unknown, to: unknown, options = {}) => loose.jvp(f, from, to, options);
const api = "jvp(f, primals, tangents)";

test("torch's errors", () => {
  const calls: [() => unknown, string][] = [
    [
      () => jvpOf(squares, x(), x()),
      `RuntimeError: ${api}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).`,
    ],
    [
      () => jvpOf(squares, [x()], [x(), x()]),
      `RuntimeError: ${api}: Expected primals and tangents to have the same python structure. For example, if ` +
        "primals is a tuple of 3 tensors, tangents also must be. Got primals with structure TreeSpec(tuple, " +
        "None, [*]) and tangents with structure TreeSpec(tuple, None, [*,\n  *])",
    ],
    [() => jvpOf(squares, [], []), `RuntimeError: ${api}: Expected primals to contain at least one Tensor.`],
    [
      () => jvpOf(squares, [3], [3]),
      `RuntimeError: ${api}: Expected primals to only contain Tensors, got <class 'int'>`,
    ],
    [
      () => jvpOf(squares, [x()], [3]),
      `RuntimeError: ${api}: Expected tangents to only contain Tensors, got <class 'int'>`,
    ],
    [
      () => jvpOf(squares, [x()], [ones(2)]),
      "RuntimeError: Trying to set a forward gradient that has a different size than that of the original Tensor, " +
        "this is not supported. Tensor is of size [3] while the given forward gradient is of size [2].",
    ],
    [
      () => jvpOf(squares, [arange(3)], [arange(3)]),
      "ValueError: Expected primal to be floating point or complex, but got: torch.int64",
    ],
    [
      () => jvpOf(squares, [x()], [arange(3)]),
      "ValueError: Expected tangent to be floating point or complex, but got: torch.int64",
    ],
    [
      () => jvpOf(() => 3, [x()], [x()]),
      `RuntimeError: ${api}: expected f(*primals) to return only tensors, got unsupported type <class 'int'>`,
    ],
    [
      () => jvpOf(squares, [x()], [x()], { hasAux: true }),
      `RuntimeError: ${api}: output of function f should be a tuple: (output, aux) if has_aux is True`,
    ],
    [
      () => jvpOf(() => zeros(2), [x()], [x()], { strict: true }),
      "RuntimeError: jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is " +
        "not allowed with strict=True.",
    ],
    [
      () => loose.jacrev(squares)(x().to("complex64")),
      "RuntimeError: jacrev: Expected all inputs to be real but received complex tensor at flattened input idx: 0",
    ],
    [
      () => loose.jacfwd((a: Tensor) => a.to("complex64"))(x()),
      "RuntimeError: jacfwd: Expected all outputs to be real but received complex tensor at flattened input idx: 0",
    ],
    [() => loose.jacrev(squares, { argnums: 3 })(x()), "RuntimeError: Got argnum=3, but only 1 positional inputs"],
    [() => loose.jacrev(squares, { chunkSize: 0 }), "ValueError: jacrev: `chunk_size` should be greater than 0."],
    [
      () => loose.jacfwd(squares, { randomness: "x" }),
      "RuntimeError: Only allowed values for randomness are 'error', 'different', or 'same'. Got x",
    ],
    [
      () => loose.jacrev((a: Any) => a.get("p"))(new TensorDict({ p: x() }, [3])),
      "NotImplementedError: jacrev: Expected tensors in lists and plain objects, got <class 'TensorDict'>",
    ],
  ];
  for (const [call, text] of calls) expect(thrown(call)).toBe(text);
});
