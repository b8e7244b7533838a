// Gradients of products whatever zeros a line holds, of the first three orders, beside the sums of products that they
// are by definition.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { Choices } from "../fuzz/choices.ts";

const { autograd, complex128, float32, float64, func, tensor } = z;
type Line = readonly number[];

/** The derivative of the sum of `scales[m]` times the product of the first m + 1 elements, by each element of `by`. */
function derivative(x: Line, scales: Line, by: readonly number[]): number {
  if (new Set(by).size < by.length) return 0;
  let sum = 0;
  for (let m = Math.max(...by); m < x.length; m++) {
    let product = scales[m] as number;
    for (let k = 0; k <= m; k++) if (!by.includes(k)) product *= x[k] as number;
    sum += product;
  }
  return sum;
}

const places = (x: Line): number[] => [...x.keys()];
const at = (list: Line, i: number): number => list[i] as number;
const whole = (x: Line): number[] => x.map((_, m) => (m === x.length - 1 ? 1 : 0));
const first = (x: Line, scales: Line): number[] => places(x).map((i) => derivative(x, scales, [i]));
const second = (x: Line, scales: Line, w: Line): number[] =>
  places(x).map((i) => places(x).reduce((sum, j) => sum + at(w, j) * derivative(x, scales, [i, j]), 0));
const third = (x: Line, scales: Line, w: Line, v: Line): number[] =>
  places(x).map((i) =>
    places(x)
      .flatMap((j) => places(x).map((k) => at(w, j) * at(v, k) * derivative(x, scales, [i, j, k])))
      .reduce((a, b) => a + b, 0),
  );

function slope(y: z.Tensor, x: z.Tensor, createGraph = false): z.Tensor {
  const [g] = y.requiresGrad ? autograd.grad(y, x, { createGraph, allowUnused: true }) : [];
  return g ?? x.detach().mul(0);
}

type Forms = Record<string, (x: z.Tensor, scales: z.Tensor) => z.Tensor>;

/** Of a line, with what is given to each of its products: one number. */
const PRODUCTS: Forms = {
  "prod()": (x) => x.prod(),
  "prod(0)": (x) => x.prod(0),
  "prod(-1, keepdim)": (x) => x.prod(-1, true).sum(),
  "prod() of a matrix": (x) => x.unsqueeze(1).prod(),
  "prod(1) of columns": (x) => x.unsqueeze(0).expand(2, x.numel()).prod(1).sum().div(2),
  "prod(dtype)": (x) => x.to(float32).prod({ dtype: float64 }),
  "prod(0, dtype)": (x) => x.to(float32).prod(0, { dtype: float64 }),
  "prod of complex numbers": (x) => x.to(complex128).prod(0).real,
};
const RUNNING: Forms = {
  "cumprod(0)": (x, scales) => x.cumprod(0).mul(scales).sum(),
  "cumprod(-1)": (x, scales) => x.cumprod(-1).mul(scales).sum(),
  "cumprod(1) of columns": (x, scales) => x.unsqueeze(1).expand(x.numel(), 2).cumprod(0).select(1, 1).mul(scales).sum(),
  "cumprod(dtype)": (x, scales) => x.to(float32).cumprod(0, { dtype: float64 }).mul(scales).sum(),
  "cumprod of complex numbers": (x, scales) => x.to(complex128).cumprod(0).real.mul(scales).sum(),
  cumprod_: (x, scales) => x.mul(1).cumprod_(0).mul(scales).sum(),
};

function check(name: string, form: Forms[string], values: Line, scales: Line, w: Line, v: Line): void {
  const close = (got: z.Tensor, want: Line, what: string) => {
    const list = got.tolist() as number[];
    list.forEach((value, i) => {
      const [error, room] = [Math.abs(value - at(want, i)), 1e-9 * (1 + Math.abs(at(want, i)))];
      if (!(error <= room)) throw new Error(`${name} of [${values}], ${what}: [${list}], expected [${want}]`);
    });
  };
  const given = tensor([...scales], { dtype: float64 });
  const [weights, others] = [tensor([...w], { dtype: float64 }), tensor([...v], { dtype: float64 })];
  const x = tensor([...values], { dtype: float64, requiresGrad: true });
  close(slope(form(x, given), x), first(values, scales), "first");
  const g = slope(form(x, given), x, true);
  close(g.detach(), first(values, scales), "first, with a graph");
  const h = slope(g.mul(weights).sum(), x, true);
  close(h.detach(), second(values, scales, w), "second");
  close(slope(h.mul(others).sum(), x), third(values, scales, w, v), "third");
  const [, change] = func.jvp((y: z.Tensor) => form(y, given), [x.detach()], [weights]) as [z.Tensor, z.Tensor];
  const along = first(values, scales).reduce((sum, d, i) => sum + d * at(w, i), 0);
  close(change.reshape(1), [along], "jvp");
  if (name.endsWith("_")) return;
  const both = func.vmap((y: z.Tensor) => func.grad((u: z.Tensor) => form(u, given))(y))(
    tensor([[...values], [...w]], { dtype: float64 }),
  ) as z.Tensor;
  close(both.select(0, 0), first(values, scales), "vmap");
  close(both.select(0, 1), first(w, scales), "vmap");
}

test("lines with none, one and several zeros, at every place", () => {
  const lines: Line[] = [
    [2, 0, 3],
    [0, 0],
    [2, 3, 0, 0],
    [0, 2, 3],
    [2, 3, 0],
    [2, 3],
    [0],
    [5],
    [-0, 2, 0, 3, 4],
    [0, 0, 0],
  ];
  const numbers = (n: number, from: number): number[] => Array.from({ length: n }, (_, i) => ((i * 5 + from) % 7) - 3);
  for (const line of lines) {
    const [w, v] = [numbers(line.length, 1), numbers(line.length, 4)];
    for (const [name, form] of Object.entries(PRODUCTS)) check(name, form, line, whole(line), w, v);
    for (const [name, form] of Object.entries(RUNNING)) check(name, form, line, numbers(line.length, 2), w, v);
  }
});

test("drawn lines, short ones and ones that are not multiplied out", () => {
  const choices = new Choices(11);
  const drawn = (n: number): number[] => Array.from({ length: n }, () => choices.below(5) - 2);
  for (let round = 0; round < 40; round++) {
    const n = 1 + choices.below(7);
    const line = drawn(n);
    const [name, form] = choices.pick([...Object.entries(PRODUCTS), ...Object.entries(RUNNING)]) as [
      string,
      Forms[string],
    ];
    check(name, form, line, name in PRODUCTS ? whole(line) : drawn(n), drawn(n), drawn(n));
  }
  for (const zeros of [0, 1, 2, 5]) {
    const line = Array.from({ length: 40 }, () => choices.pick([1, -1, 0.5, 1.25]));
    for (let k = 0; k < zeros; k++) line[choices.below(40)] = 0;
    const [scales, w, v] = [drawn(40), drawn(40), drawn(40)];
    check("cumprod(0)", RUNNING["cumprod(0)"] as Forms[string], line, scales, w, v);
    check("prod(0)", PRODUCTS["prod(0)"] as Forms[string], line, whole(line), w, v);
  }
});

test("an infinity beside a zero is no number", () => {
  const x = tensor([2, Number.POSITIVE_INFINITY, 0], { requiresGrad: true });
  expect(slope(x.prod(), x).tolist()).toEqual([Number.NaN, 0, Number.POSITIVE_INFINITY]);
  expect(slope(x.cumprod(0).sum(), x, true).detach().tolist()).toEqual([Number.NaN, 2, Number.POSITIVE_INFINITY]);
});
