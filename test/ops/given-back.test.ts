// What operators make on their way goes back when they are done: of all that a call allocates, the result is left.
import { expect, test } from "bun:test";
import operators from "../../generated/ops.json";
import type { Tensor } from "../../src/index.ts";
import * as z from "../../src/index.ts";
import { LEAST, left } from "../given-back.ts";

const SIDE = 96;

interface Operator {
  key: string;
  name: string;
  args: [name: string, role: string, given: string, how: string][];
  variants: string[];
  internal: boolean;
}

/** Operators whose call leaves something for the collector, and why. */
const EXCEPTIONS: Record<string, string> = {
  diag: "of a long line its result is of hundreds of MB, in a block of whole large pages",
  diagflat: "its result of hundreds of MB lies in a block of whole large pages",
  set: "the bytes that a tensor had before may be those of a storage object that the program has",
};

type Inputs = Record<"x" | "y" | "index" | "mask", Tensor>;

/** Operands of several dtypes and layouts. */
const INPUTS: Record<string, () => Inputs> = {
  float32: () => ({ x: z.randn(SIDE, SIDE), y: z.randn(SIDE, SIDE), ...places() }),
  positive: () => ({ x: z.rand(SIDE, SIDE).add(0.1), y: z.rand(SIDE, SIDE).add(0.1), ...places() }),
  transposed: () => ({ x: z.randn(SIDE, SIDE).t(), y: z.randn(SIDE, 2 * SIDE).at("...", "::2"), ...places() }),
  float64: () => ({ x: z.randn(SIDE, SIDE).double(), y: z.randn(SIDE, SIDE), ...places() }),
  float16: () => ({ x: z.randn(SIDE, SIDE).half(), y: z.randn(SIDE, SIDE).half(), ...places() }),
  int64: () => ({ x: z.randint(0, SIDE, [SIDE, SIDE]), y: z.randint(1, 9, [SIDE, SIDE]), ...places() }),
  int32: () => ({ x: z.randint(0, SIDE, [SIDE, SIDE]).int(), y: z.randint(1, 9, [SIDE, SIDE]), ...places() }),
  bool: () => ({ x: z.randn(SIDE, SIDE).gt(0), y: z.randn(SIDE, SIDE).gt(0), ...places() }),
  complex64: () => ({ x: z.randn(SIDE, SIDE).to("complex64"), y: z.randn(SIDE, SIDE).to("complex64"), ...places() }),
  conjugated: () => ({ x: z.randn(SIDE, SIDE).to("complex64").conj(), y: z.randn(SIDE, SIDE), ...places() }),
  three: () => ({ x: z.randn(2, SIDE, SIDE), y: z.randn(2, SIDE, SIDE), ...places() }),
  line: () => ({ x: z.randn(SIDE * SIDE), y: z.randn(SIDE * SIDE), ...places() }),
};

function places(): Pick<Inputs, "index" | "mask"> {
  return { index: z.randint(0, SIDE, [SIDE, SIDE]), mask: z.randn(SIDE, SIDE).gt(0) };
}

const EXAMPLES: Record<string, (inputs: Inputs, name: string) => unknown> = {
  Tensor: ({ x, y, index, mask }, name) =>
    name === "index" || name === "indices"
      ? index
      : name === "mask" || name === "condition"
        ? mask
        : name === "self"
          ? x
          : y,
  "Tensor|Scalar": ({ y }) => y,
  "Tensor|Index": ({ index }) => index,
  "Tensor?": ({ y }) => y,
  TensorList: ({ x, y }) => [x, y],
  Scalar: () => 2,
  Float: () => 0.5,
  Dim: () => 0,
  Int: () => 1,
  Dims: () => [0],
  Size: () => [SIDE, SIDE],
  Sizes: () => [[SIDE, SIDE]],
  Ints: () => [1, 1],
  Bool: () => true,
  DType: () => "float32",
  String: () => "mean",
};

const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());

/** Calls of an operator, as function, method or in place, with what has to be given and with more. */
function calls({ name, args, variants }: Operator): [text: string, call: (inputs: Inputs) => unknown][] {
  const found: [string, (inputs: Inputs) => unknown][] = [];
  const required = args.filter(([, , given, how]) => given === "required" && how === "positional");
  const positional = args.filter(([, , , how]) => how === "positional");
  const values = (inputs: Inputs, list: Operator["args"]): unknown[] =>
    list.map(([own, role]) => EXAMPLES[role]?.(inputs, own));
  for (const list of required.length < positional.length ? [required, positional] : [required]) {
    const path = camel(name).split(".");
    // biome-ignore lint/suspicious/noExplicitAny: found by name
    const fn = path.reduce((at: any, part) => at?.[part], z as any);
    if (variants.includes("function") && typeof fn === "function") {
      found.push([`${name}(${list.map(([own]) => own)})`, (inputs) => fn(...values(inputs, list))]);
    }
    for (const method of [camel(name), `${camel(name)}_`]) {
      if (!variants.includes(method.endsWith("_") ? "inplace" : "method") || list[0]?.[0] !== "self") continue;
      found.push([
        `.${method}(${list.slice(1).map(([own]) => own)})`,
        (inputs) => {
          // biome-ignore lint/suspicious/noExplicitAny: found by name
          const self = inputs.x as any;
          return self[method]?.(...values(inputs, list.slice(1)));
        },
      ]);
    }
  }
  return found;
}

for (const [kind, make] of Object.entries(INPUTS)) {
  test(`what operators leave beside their results: ${kind}`, () => {
    const wrong: string[] = [];
    for (const operator of operators as unknown as Operator[]) {
      if (operator.internal) continue;
      for (const [text, call] of calls(operator)) {
        const found = left(call, make);
        if (found >= LEAST && !(operator.name in EXCEPTIONS)) wrong.push(`${text}: ${found}`);
      }
    }
    expect(wrong).toEqual([]);
  });
}
