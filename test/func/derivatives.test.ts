// Derivatives of functions as torch.func gives them (scripts/oracle/make_func_cases.py).
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { func, Tensor, tensor } from "../../src/index.ts";
import { FUNCTIONS } from "./functions.ts";

interface Coded {
  shape: number[];
  data: number[];
}
type Nested = Coded | Nested[];

interface Row {
  transform: string;
  fn: string;
  args: Coded[];
  given?: Coded[];
  out: Nested;
}

const rows = readFileSync(join(import.meta.dir, "../fixtures/func/cases.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

const decoded = ({ shape, data }: Coded): Tensor => tensor(data, { dtype: "float64" }).reshape(shape);

// biome-ignore lint/suspicious/noExplicitAny: functions of any number of tensors
type Any = any;

/** Where a result differs; null where it does not. */
function difference(got: unknown, wanted: Nested, path = ""): string | null {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(got) || got.length !== wanted.length) return `${path}: no list of ${wanted.length}`;
    return wanted.map((w, i) => difference(got[i], w, `${path}[${i}]`)).find((d) => d !== null) ?? null;
  }
  if (!(got instanceof Tensor)) return `${path}: no tensor`;
  if (String(got.shape) !== String(decoded(wanted).shape)) return `${path}: ${got.shape}, not [${wanted.shape}]`;
  if (got.dtype.name !== "float64" || got.requiresGrad) return `${path}: ${got.dtype}, a graph: ${got.requiresGrad}`;
  const values = got.reshape([-1]).tolist() as number[];
  const off = values.findIndex((v, i) => {
    const w = wanted.data[i] as number;
    return !(Math.abs(v - w) <= 1e-10 * (1 + Math.abs(w)));
  });
  return off < 0 ? null : `${path}: element ${off} is ${values[off]}, not ${wanted.data[off]}`;
}

const total =
  (f: (...args: Tensor[]) => Tensor) =>
  (...args: Tensor[]): Tensor =>
    f(...args)
      .square()
      .sum();

const TRANSFORMS: Readonly<Record<string, (f: (...args: Tensor[]) => Tensor, args: Tensor[], given: Tensor[]) => Any>> =
  {
    grad: (f, args) => func.grad(total(f), { argnums: args.map((_, i) => i) })(...args),
    gradAndValue: (f, args) => func.gradAndValue(total(f))(...args),
    vjp: (f, args, [cotangent]) => {
      const [y, pull] = func.vjp(f, ...args);
      return [y, pull(cotangent as Tensor)];
    },
    jvp: (f, args, given) => func.jvp(f, args, given),
    jacrev: (f, args) => func.jacrev(f, { argnums: args.map((_, i) => i) })(...args),
    jacfwd: (f, args) => func.jacfwd(f, { argnums: args.map((_, i) => i) })(...args),
    hessian: (f, args) =>
      func.hessian(
        total(f),
        args.map((_, i) => i),
      )(...args),
    twice: (f, args) => {
      const inner = func.grad(total(f)) as (...all: Tensor[]) => Tensor;
      return func.grad((...all: Tensor[]) =>
        inner(...all)
          .sin()
          .sum(),
      )(...args);
    },
    examples: (f, args) => func.vmap(func.grad(total(f), { argnums: args.map((_, i) => i) }) as Any)(...args),
    alike: (f, args) => {
      const each = func.grad(total(f), { argnums: args.map((_, i) => i) }) as Any;
      return func.vmap(each, [0, ...args.slice(1).map(() => null)])(...args);
    },
  };

for (const [fn, list] of Map.groupBy(rows, (row) => row.fn)) {
  test(`${fn}, as torch's`, () => {
    const f = FUNCTIONS[fn] as (...args: Tensor[]) => Tensor;
    const wrong = list.flatMap(({ transform, args, given = [], out }) => {
      const run = TRANSFORMS[transform];
      if (run === undefined) return [`${transform} is unknown`];
      let why: string | null;
      try {
        why = difference(run(f, args.map(decoded), given.map(decoded)), out);
      } catch (e) {
        why = String(e);
      }
      return why === null ? [] : [`${transform} of ${args.map(({ shape }) => `[${shape}]`)}: ${why}`];
    });
    expect(wrong).toEqual([]);
  });
}
