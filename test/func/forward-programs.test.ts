// Tangents of programs that write in place, through views and views of views, and of nested transforms: drawn at
// random, and compared with those by transposition and with numeric differences.
import { expect, test } from "bun:test";
import { type Gradients, Node } from "../../src/autograd/node.ts";
import { type Saved, save, unpack } from "../../src/autograd/saved.ts";
import { connect, record } from "../../src/autograd/tracking.ts";
import { autograd, cat, func, noGrad, stack, type Tensor, tensor, where } from "../../src/index.ts";
import { type Forward, scrambled } from "../autograd/gradcheck.ts";
import { difference, differentiable, numbersOf, transposed } from "./tangent-reference.ts";

type Draw = (n: number) => number;
type Step = (all: Tensor[], draw: Draw) => void;

const ROWS = 3;
const COLUMNS = 4;
const PROGRAMS = 150;

/** Views of a matrix: a row, a column, a block, a diagonal, other strides. */
const VIEWS: readonly ((t: Tensor, draw: Draw) => Tensor)[] = [
  (t, draw) => t.select(0, draw(ROWS)),
  (t, draw) => t.select(1, draw(COLUMNS)),
  (t, draw) => t.narrow(1, draw(3), 2),
  (t) => t.t(),
  (t) => t.view(-1),
  (t) => t.slice(1, 0, null, 2),
  (t) => t.diagonal(),
  (t) => t.asStrided([2, 2], [5, 2], 1),
  (t) => t.unsqueeze(1).transpose(0, 2),
];

/** What has the sizes of a view: a part of another tensor. */
const like = (view: Tensor, other: Tensor): Tensor =>
  other
    .reshape([-1])
    .narrow(0, 0, view.numel())
    .reshape([...view.shape]);

const WRITES: readonly ((view: Tensor, other: Tensor, draw: Draw) => void)[] = [
  (view, other) => view.mul_(like(view, other).mul(0.5)),
  (view, other) => view.add_(like(view, other), { alpha: 0.5 }),
  (view, other) => view.copy_(like(view, other)),
  (view) => view.sin_(),
  (view) => view.fill_(0.25),
  (view) => view.mul_(1.5),
  (view, other) => view.lerp_(like(view, other), 0.25),
  (view, other) => view.clamp_({ max: 0.4 }).add_(like(view, other).cos()),
  (view) => view.zero_(),
];

const STEPS: readonly Step[] = [
  (all, draw) => {
    const at = draw(all.length);
    const view = (VIEWS[draw(VIEWS.length)] as (typeof VIEWS)[number])(all[at] as Tensor, draw);
    (WRITES[draw(WRITES.length)] as (typeof WRITES)[number])(view, (all[draw(all.length)] as Tensor).clone(), draw);
  },
  (all, draw) => {
    const view = (all[draw(all.length)] as Tensor).select(0, draw(ROWS)).narrow(0, 1, 2);
    (WRITES[draw(WRITES.length)] as (typeof WRITES)[number])(view, (all[draw(all.length)] as Tensor).clone(), draw);
  },
  (all, draw) => {
    all[draw(all.length)] = (all[draw(all.length)] as Tensor).mul(all[draw(all.length)] as Tensor).tanh();
  },
  (all, draw) => {
    const t = all[draw(all.length)] as Tensor;
    all[draw(all.length)] = t.softmax(draw(2)).add(t.sum(0).mul(0.1));
  },
  (all, draw) => {
    all[draw(all.length)] = (all[draw(all.length)] as Tensor)
      .matmul((all[draw(all.length)] as Tensor).t())
      .matmul(all[draw(all.length)] as Tensor);
  },
  (all, draw) => {
    const [a, b] = [all[draw(all.length)] as Tensor, all[draw(all.length)] as Tensor];
    all[draw(all.length)] = draw(2) === 0 ? where(a.gt(b), a, b.mul(2)) : cat([a.narrow(0, 0, 1), b.narrow(0, 1, 2)]);
  },
  (all, draw) => {
    const t = all[draw(all.length)] as Tensor;
    all[draw(all.length)] = t
      .sort(1)[0]
      .cumsum(1)
      .div(t.abs().add(1).max(1, { keepdim: true })[0]);
  },
  (all, draw) => {
    const [a, b] = [all[draw(all.length)] as Tensor, all[draw(all.length)] as Tensor];
    const inner = func.jvp((x: Tensor) => x.mul(b).sin(), [a], [b])[1] as Tensor;
    all[draw(all.length)] = inner;
  },
  (all, draw) => {
    const [a, b] = [all[draw(all.length)] as Tensor, all[draw(all.length)] as Tensor];
    all[draw(all.length)] = func.grad((x: Tensor) => x.mul(b).cos().sum())(a) as Tensor;
  },
  (all, draw) => {
    const [a, b] = [all[draw(all.length)] as Tensor, all[draw(all.length)] as Tensor];
    const row = (x: Tensor): Tensor => func.jvp((y: Tensor) => y.mul(x).tanh(), [b.select(0, 0)], [x])[1] as Tensor;
    all[draw(all.length)] = func.vmap(row)(a) as Tensor;
  },
];

/** Some steps on what two inputs give, the same each time; the results are all tensors that are left. */
function program(seed: number): Forward {
  return ([x, y]) => {
    const next = scrambled(seed);
    const draw: Draw = (n) => Math.floor(((next() + 1) / 2) * n) % n;
    const all = [(x as Tensor).clone(), (y as Tensor).clone(), (x as Tensor).mul(0.5)];
    const steps = 2 + draw(5);
    for (let i = 0; i < steps; i++) (STEPS[draw(STEPS.length)] as Step)(all, draw);
    return draw(3) === 0 ? [stack(all, 0), x as Tensor] : all;
  };
}

function matrix(seed: number): Tensor {
  const next = scrambled(seed);
  return tensor(
    Array.from({ length: ROWS * COLUMNS }, () => next()),
    { dtype: "float64" },
  ).view(ROWS, COLUMNS);
}

const listOf =
  (f: Forward) =>
  (...given: Tensor[]): Tensor[] =>
    differentiable(f(given));

function pushed(f: Forward, given: Tensor[], tangents: Tensor[]): Tensor[] {
  return func.jvp(listOf(f) as never, given as never, tangents as never)[1] as Tensor[];
}

function wrongOf(seed: number): string | null {
  const f = program(seed);
  const given = [matrix(seed * 2), matrix(seed * 2 + 1)];
  const tangents = [matrix(seed * 3 + 1), matrix(seed * 3 + 2)];
  const kept = tangents.map((t) => [...numbersOf(t)]);
  const own = (): Tensor[] => given.map((t) => t.clone().requiresGrad_());
  let wanted: Tensor[];
  try {
    wanted = transposed(f, own(), tangents);
  } catch (e) {
    // What was saved is written over: neither way goes.
    if (/modified by an inplace/.test(String(e))) return null;
    throw e;
  }
  const first = difference(pushed(f, given, tangents), wanted);
  if (first !== null) return first;
  if (tangents.some((t, i) => String([...numbersOf(t)]) !== String(kept[i]))) return "the tangents were changed";
  const columns = func.vmap(((t: Tensor) => pushed(f, given, [t, tangents[1] as Tensor])) as never) as unknown as (
    t: Tensor,
  ) => Tensor[];
  const many = columns(stack([tangents[0] as Tensor, tangents[1] as Tensor], 0)).map((t) => t.select(0, 0));
  const atOnce = difference(many, wanted);
  if (atOnce !== null) return `at once: ${atOnce}`;
  const gradients = (how: typeof pushed): Tensor[] => {
    const leaves = own();
    const outs = how(f, leaves, tangents).filter((t) => t.requiresGrad);
    if (outs.length === 0) return [];
    const found = autograd.grad(outs, leaves, { gradOutputs: outs.map((t) => t.detach().cos()), allowUnused: true });
    return found.map((g, i) => g ?? (leaves[i] as Tensor).detach().mul(0));
  };
  const second = difference(gradients(pushed), gradients(transposed), 1e-8);
  return second === null ? null : `second order: ${second}`;
}

test("programs that write through views", () => {
  const wrong: string[] = [];
  for (let seed = 1; seed <= PROGRAMS; seed++) {
    const what = wrongOf(seed);
    if (what !== null) wrong.push(`${seed}: ${what}`);
  }
  expect(wrong).toEqual([]);
});

test("what was computed without a record, and tensors of the outside", () => {
  const outside = matrix(5);
  const f = (x: Tensor): Tensor => {
    const y = x.clone();
    const hidden = noGrad(() => y.select(0, 0).mul(2));
    y.mul_(outside);
    return y.add(hidden);
  };
  const [x, v] = [matrix(6), matrix(7)];
  const change = func.jvp(f, [x], [v])[1];
  expect(change.tolist()).toEqual(v.mul(outside).tolist());
});

/** A step that no formula is known of. */
class Cube extends Node {
  declare x: Saved;
  override get name(): string {
    return "Cube";
  }
  override apply([grad = null]: Gradients): Gradients {
    return [grad === null ? null : grad.mul((unpack(this.x, this) as Tensor).square()).mul(3)];
  }
}

function cube(x: Tensor): Tensor {
  const node = new Cube();
  connect(node, [x]);
  node.x = save(x);
  return record(
    noGrad(() => x.pow(3)),
    node,
  );
}

test("a step without a formula is transposed", () => {
  const known = (x: Tensor): Tensor => x.sin().pow(3).mul(x);
  const own = (x: Tensor): Tensor => cube(x.sin()).mul(x);
  const [x, v, w] = [matrix(8), matrix(9), matrix(10)];
  type Of = (f: typeof known) => Tensor;
  const ways: Record<string, Of> = {
    once: (f) => func.jvp(f, [x], [v])[1],
    twice: (f) => func.jvp((y: Tensor) => func.jvp(f, [y], [v])[1], [x], [w])[1],
    gradients: (f) => func.grad((y: Tensor) => func.jvp(f, [y], [v])[1].sum())(x) as Tensor,
    columns: (f) => func.jacfwd(f)(x) as Tensor,
    second: (f) => func.hessian((y: Tensor) => f(y).sum())(x) as unknown as Tensor,
  };
  for (const [name, way] of Object.entries(ways))
    expect([name, difference([way(own)], [way(known)])]).toEqual([name, null]);
});

test("what no derivative is known of says so", () => {
  expect(() => func.jvp((y: Tensor) => y.unique(), [matrix(11)], [matrix(12)])).toThrow("unique");
});

test("strided views of examples that are alike have derivatives of their own", () => {
  const [x, v] = [matrix(13), stack([matrix(14), matrix(15)], 0)];
  const f = (y: Tensor): Tensor => y.asStrided([2, 3], [4, 1], 1);
  const forward = func.vmap((t: Tensor) => func.jvp(f, [x], [t])[1])(v) as Tensor;
  expect(forward.tolist()).toEqual(v.narrow(1, 0, 2).narrow(2, 1, 3).tolist());
  const back = func.vmap((w: Tensor) => func.grad((y: Tensor) => f(y).mul(f(w)).sum())(x))(v) as Tensor;
  const wanted = v.clone();
  wanted.select(1, 2).zero_();
  wanted.select(2, 0).zero_();
  expect(back.tolist()).toEqual(wanted.tolist());
});
