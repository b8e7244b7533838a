// Golden cases of torch's and tensordict's distributions: scripts/oracle/make_distribution_cases.py writes them.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { distributions, manualSeed, Size, Tensor, tensor } from "../../src/index.ts";

type Plain = number | string | boolean | null;
type Encoded = Plain | { t: EncodedTensor } | { d: Made } | { f: Made } | Encoded[];
type EncodedTensor = [dtype: "float32" | "float64" | "int64" | "bool", shape: number[], values: Plain[], grad: boolean];
type Made = [name: string, args: Record<string, Encoded>];
type Answer = { t: EncodedTensor } | { s: string } | { n: unknown } | { e: [name: string, message: string] };
type Step = [member: string, args: Encoded[], answer: Answer, gradients?: ((number | string)[] | null)[]];

interface Case {
  make: Made;
  steps: Step[];
  exact?: boolean;
  e?: [name: string, message: string];
}

const file = join(import.meta.dir, "..", "fixtures", "distributions", "cases.jsonl");
const cases: Case[] = readFileSync(file, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line));

type Members = Record<string, unknown>;
const classes: Record<string, unknown> = distributions;
const toNumber = (x: Plain): number =>
  x === "inf"
    ? Number.POSITIVE_INFINITY
    : x === "-inf"
      ? Number.NEGATIVE_INFINITY
      : x === "nan"
        ? Number.NaN
        : Number(x);

/** Makes arguments and remembers the tensors that want gradients, in their order. */
class Decoder {
  readonly leaves: Tensor[] = [];

  value(x: Encoded): unknown {
    if (Array.isArray(x)) return x.map((one) => this.value(one));
    if (typeof x !== "object" || x === null) return x === "inf" || x === "-inf" || x === "nan" ? toNumber(x) : x;
    if ("d" in x) return this.make(x.d);
    if ("f" in x) return this.make(x.f);
    const [dtype, shape, values, grad] = x.t;
    const numbers = dtype === "int64" ? values.map((v) => BigInt(v as number)) : values.map(toNumber);
    const made = tensor(numbers, { dtype }).reshape(shape);
    if (grad) this.leaves.push(made.requiresGrad_());
    return made;
  }
  make([name, args]: Made): object {
    const given = Object.fromEntries(Object.entries(args).map(([key, arg]) => [key, this.value(arg)]));
    const made = classes[name] as (new (args: Members) => object) | undefined;
    if (made === undefined) throw new Error(`there is no class ${name}`);
    return new made(given);
  }
}

function run(made: object, [member, args]: Step, decoder: Decoder): unknown {
  const dist = made as distributions.Distribution;
  if (member === "toString" || member === "support") return String(member === "support" ? dist.support : dist);
  if (member === "expand") {
    const other = dist.expand(args[0] as number[]);
    return `${other} [${other.batchShape.join(", ")}] [${other.sample(2).shape.join(", ")}]`;
  }
  if (member === "klDivergence") {
    return distributions.klDivergence(dist, decoder.value(args[0] as Encoded) as distributions.Distribution);
  }
  const value = (made as Members)[member];
  return typeof value === "function"
    ? value.apply(
        made,
        args.map((arg) => decoder.value(arg)),
      )
    : value;
}

function near(got: readonly number[], wanted: readonly Plain[], tolerance: number): boolean {
  return (
    got.length === wanted.length &&
    got.every((x, i) => {
      const y = toNumber(wanted[i] as Plain);
      if (Object.is(x, y) || x === y) return true;
      return Math.abs(x - y) <= tolerance * (1 + Math.abs(y));
    })
  );
}

const numbersOf = (x: Tensor): number[] => x.detach().reshape(-1).to("float64").tolist() as number[];

/** What differs, or null. */
function difference(got: unknown, wanted: Answer, tolerance: number): string | null {
  const shown = `${String(got)}, not ${JSON.stringify(wanted)}`;
  if ("e" in wanted) {
    const [name, message] = wanted.e;
    const error = got as Error;
    if (!(got instanceof Error) || error.name !== name) return shown;
    // torch's own has no text.
    return error.message === message || (name === "NotImplementedError" && message === "") ? null : shown;
  }
  if ("s" in wanted) return got === wanted.s ? null : shown;
  if ("n" in wanted) {
    const plain = got instanceof Size ? [...got] : got;
    return JSON.stringify(plain) === JSON.stringify(wanted.n) ? null : shown;
  }
  if (!(got instanceof Tensor)) return shown;
  const [dtype, shape, values] = wanted.t;
  const same = got.dtype.name === dtype && String([...got.shape]) === String(shape);
  return same && near(numbersOf(got), values, tolerance) ? null : shown;
}

function outcome(body: () => unknown): unknown {
  try {
    return body();
  } catch (error) {
    return error;
  }
}

/** Everything about a case that differs. */
function problems(one: Case): string[] {
  if (one.e !== undefined) {
    const got = outcome(() => new Decoder().make(one.make));
    const what = difference(got, { e: one.e }, 0);
    return what === null ? [] : [`made: ${what}`];
  }
  const found: string[] = [];
  for (const [seed, step] of one.steps.entries()) {
    const decoder = new Decoder();
    manualSeed(seed);
    const made = decoder.make(one.make);
    const got = outcome(() => run(made, step, decoder));
    const what = difference(got, step[2], one.exact === true ? 0 : 2e-6);
    if (what !== null) found.push(`${step[0]}(${JSON.stringify(step[1])}): ${what}`);
    if (step[3] === undefined) {
      if (got instanceof Tensor && got.requiresGrad && decoder.leaves.length > 0)
        found.push(`${step[0]}: has gradients`);
      continue;
    }
    (got as Tensor).sum().backward();
    for (const [i, wanted] of step[3].entries()) {
      const grad = decoder.leaves[i]?.grad ?? null;
      const same = wanted === null ? grad === null : grad !== null && near(numbersOf(grad), wanted, 1e-5);
      if (!same) found.push(`${step[0]}, gradient ${i}: ${String(grad)}, not ${JSON.stringify(wanted)}`);
    }
  }
  return found;
}

for (const [i, one] of cases.entries()) {
  test(`${i}: ${one.make[0]}(${Object.keys(one.make[1]).join(", ")})`, () => expect(problems(one)).toEqual([]));
}

test("a wrong answer is seen", () => {
  const [one] = cases as [Case, ...Case[]];
  const steps = one.steps.map((step) => structuredClone(step));
  for (const step of steps) {
    const answer = step[2] as { t?: EncodedTensor; s?: string; n?: unknown };
    if (answer.t !== undefined) answer.t[2][0] = 17;
    else if (answer.s !== undefined) answer.s += "!";
    else answer.n = "other";
  }
  expect(problems({ ...one, steps }).length).toBeGreaterThanOrEqual(steps.length);
});
