// Calls with a number before the tensor against what torch gave: dtype, layout, values, node, gradient, errors.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import * as Z from "../../src/index.ts";
import { camel } from "../conformance/adapter.ts";

type Values = (number | boolean | string)[];
type Answer = [string, number[], number[], Values, string | null, Values | null] | [string, string];
type Row = [
  fn: string,
  options: Record<string, unknown>,
  dtype: string,
  number: string,
  layout: string,
  answer: Answer,
];

const NUMBERS: Record<string, unknown> = {
  "2": 2,
  "-3": -3,
  "float 2": Z.float(2),
  "0.5": 0.5,
  true: true,
  i: new Z.Complex(0, 1),
};
const LAYOUTS: Record<string, (x: Z.Tensor) => Z.Tensor> = {
  rows: (x) => x,
  columns: (x) => x.t(),
  steps: (x) => x.at(":", "::2"),
  point: (x) => x.at(0, 1),
  spread: (x) => x.expand(2, 2, 3),
};
/** How far the last bits may be off, by dtype; sums and quotients of small numbers are the same. */
const LOOSE: Record<string, number> = { float16: 2e-3, bfloat16: 1e-2, float32: 5e-6, complex64: 5e-6 };

function base(dtype: string): Z.Tensor {
  const rows = Z.tensor([[1, 2, 3], [4, -1, 7]], { dtype: "float64" }); // biome-ignore format: a matrix
  return (["bool", "uint8"].includes(dtype) ? rows.abs() : rows).to(dtype as Z.DTypeName);
}

/** Elements in order, parts of complex ones one after the other. */
function plain(t: Z.Tensor): Values {
  const flat = (t.isComplex() ? Z.viewAsReal(t.resolveConj()) : t).reshape([-1]);
  const values = (flat.dtype.name === "bool" ? flat : flat.to("float64")).tolist() as Values;
  return values.map((v) => (typeof v === "number" && !Number.isFinite(v) ? textOf(v) : v));
}

const textOf = (v: number) => (Number.isNaN(v) ? "nan" : v > 0 ? "inf" : "-inf");

function near(ours: Values, theirs: Values, dtype: string): boolean {
  const bound = LOOSE[dtype] ?? (dtype === "complex128" || dtype === "float64" ? 1e-12 : 0);
  return (
    ours.length === theirs.length &&
    ours.every((x, i) => {
      const y = theirs[i] as number;
      // A part of a complex number is as good as the number.
      const size = dtype.startsWith("complex") ? Math.hypot(y, theirs[i ^ 1] as number) : Math.abs(y);
      return Object.is(x, y) || x === y || Math.abs((x as number) - y) <= bound * Math.max(1, size);
    })
  );
}

/** What is wrong about our answer; null when it is torch's. */
function problem([fn, options, dtype, number, layout, answer]: Row): string | null {
  const leaf = base(dtype);
  if (leaf.isFloatingPoint() || leaf.isComplex()) leaf.requiresGrad_();
  const call = (Z as unknown as Record<string, (...args: unknown[]) => Z.Tensor>)[camel(fn)] as (
    ...args: unknown[]
  ) => Z.Tensor;
  const view = (LAYOUTS[layout] as (x: Z.Tensor) => Z.Tensor)(leaf);
  const named = Object.entries(options).map(([name, value]) => [camel(name), value]);
  let result: Z.Tensor;
  try {
    result = call(NUMBERS[number], view, ...(named.length === 0 ? [] : [Object.fromEntries(named)]));
  } catch (error) {
    const text = (error as Error).message.split("\n")[0];
    return answer.length === 2 && text === answer[1] ? null : `threw ${text}`;
  }
  if (answer.length === 2) return "threw nothing";
  const [type, shape, stride, values, node, grad] = answer;
  const outside = JSON.stringify([result.dtype.name, result.shape, result.stride(), result.gradFn?.name ?? null]);
  if (outside !== JSON.stringify([type, shape, stride, node])) return outside;
  if (!near(plain(result.detach()), values, type)) return `values ${plain(result.detach())}`;
  if (grad === null) return null;
  const total = result.sum();
  (total.isComplex() ? Z.real(total) : total).backward();
  const ours = plain(leaf.grad as Z.Tensor);
  return near(ours, grad, dtype) ? null : `gradient ${ours}`;
}

const rows: Row[] = readFileSync(new URL("../fixtures/number-first.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));

test("a number first gives what torch gives", () => {
  expect(rows.length).toBeGreaterThan(3000);
  const found = rows.flatMap((row) => {
    const wrong = problem(row);
    return wrong === null ? [] : [`${JSON.stringify(row)}: ${wrong}`];
  });
  expect(found).toEqual([]);
});

test("integers that no int64 holds are the nearest doubles for floating dtypes", () => {
  const x = Z.tensor([1, -2]);
  for (const big of [1e300, 2 ** 63, -(2 ** 80)]) {
    for (const dtype of ["float32", "float64"] as const) {
      const y = x.to(dtype);
      const wide = Z.tensor([big, big], { dtype });
      expect([big, dtype, String(Z.add(big, y))]).toEqual([big, dtype, String(wide.add(y))]);
      expect([big, dtype, String(Z.lt(big, y))]).toEqual([big, dtype, String(wide.lt(y))]);
      expect(String(y.mul(big, { out: Z.empty(2, { dtype }) }))).toBe(String(y.mul(wide)));
    }
  }
});
