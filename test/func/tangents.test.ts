// The tangent that each operator's formula gives, against the one by transposition and, where the operator is smooth,
// numeric differences: every formula of the schema, of inputs of several layouts, sizes and dtypes, in both orders.
import { afterAll, describe, expect, test } from "bun:test";
import { loadModel, type Op } from "../../codegen/model/load.ts";
import * as generated from "../../generated/ops.ts";
import { pushforwardOf } from "../../src/func/jvp.ts";
import { autograd, func, type Tensor } from "../../src/index.ts";
import { ZensorError } from "../../src/tensor/errors.ts";
import { type Forward, type Input, leafOf, weightsLike } from "../autograd/gradcheck.ts";
import { finiteCall } from "../autograd/gradcheck-calls.ts";
import { type Assignment, assignments, type Call, type Fn, Shape } from "../autograd/gradcheck-inputs.ts";
import { difference, differentiable, numbersOf, transposed } from "./tangent-reference.ts";

const functions = generated as unknown as Record<string, Fn | undefined>;
const isThere = (op: Op): boolean => [op.fn, `${op.fn}_`].some((name) => functions[name] !== undefined);
const ops = loadModel().ops.filter((op) => typeof op.grad === "object" && (!op.internal || isThere(op)));

/** What numeric differences do not see: random numbers, and kernels that get what follows from another operand. */
const NOT_NUMERIC =
  /^(normal|(native_(layer|group|batch)_norm|_fused_rms_norm|_scaled_dot_product_flash_attention_for_cpu)_backward$)/;
const STEP = 1e-6;
const counts = { calls: 0, laidOut: 0, second: 0, refused: 0 };

/** The same elements in other layouts. */
const LAYOUTS: Readonly<Record<string, (t: Tensor) => Tensor>> = {
  plain: (t) => t,
  transposed: (t) => (t.ndim < 2 ? t : t.mT.contiguous().mT),
  expanded: (t) => (t.ndim === 0 || t.shape[0] === 0 ? t : t.narrow(0, 0, 1).expand([...t.shape])),
  stepped: (t) => (t.ndim === 0 ? t : t.repeatInterleave(2, -1).slice(-1, 0, null, 2)),
};

const listOf =
  (f: Forward) =>
  (...leaves: Tensor[]): Tensor[] =>
    differentiable(f(leaves));

function pushed(f: Forward, leaves: Tensor[], tangents: Tensor[]): Tensor[] {
  return func.jvp(listOf(f) as never, leaves as never, tangents as never)[1] as Tensor[];
}

/** Tangents like the inputs; every second one of several is left zero in the second of the two. */
function tangentsOf(inputs: readonly Input[], seed: number): Tensor[] {
  return weightsLike(inputs, seed).map((w) => leafOf(w).detach());
}

/** Where differences of f along the tangents are not those tangents; null where they are. */
function numericDifference(f: Forward, leaves: Tensor[], tangents: Tensor[], got: Tensor[]): string | null {
  const at = (step: number): Float64Array[] => {
    const moved = leaves.map((x, i) => x.detach().add((tangents[i] as Tensor).mul(step)));
    return differentiable(f(moved)).map(numbersOf);
  };
  const [up, down] = [at(STEP), at(-STEP)];
  for (const [k, t] of got.entries()) {
    const values = numbersOf(t);
    for (let i = 0; i < values.length; i++) {
      const numeric = ((up[k]?.[i] as number) - (down[k]?.[i] as number)) / (2 * STEP);
      const value = values[i] as number;
      if (Math.abs(value - numeric) <= 1e-6 + 1e-5 * Math.abs(numeric)) continue;
      return `result ${k}: component ${i} is ${value}, the numeric one ${numeric}`;
    }
  }
  return null;
}

/** What two ways give differs; null where it does not, and where the reference refuses: then the other may, too. */
function compared(got: () => Tensor[], wanted: () => Tensor[], relative?: number): string | null {
  let expected: Tensor[];
  try {
    expected = wanted();
  } catch (e) {
    if (!(e instanceof ZensorError)) throw e;
    counts.refused++;
    if (/derivative for aten::[\w.]+ is not implemented/.test(e.message)) expect(got).toThrow(e.message);
    return null;
  }
  return difference(got(), expected, relative);
}

/** Gradients of what both give, weighted, and the tangents of that. */
function secondOrder(f: Forward, inputs: readonly Input[]): string | null {
  const along = tangentsOf(inputs, 31);
  const first = (leaves: Tensor[], how: typeof pushed): Tensor[] => how(f, leaves, along);
  const gradients = (how: typeof pushed) => (): Tensor[] => {
    const leaves = inputs.map(leafOf);
    const outs = first(leaves, how).filter((t) => t.requiresGrad);
    if (outs.length === 0) return leaves.map((x) => x.detach().mul(0));
    const gradOutputs = outs.map((t) => t.detach().mul(0).add(0.7));
    const found = autograd.grad(outs, leaves, { gradOutputs, allowUnused: true });
    return found.map((g, i) => g ?? (leaves[i] as Tensor).detach().mul(0));
  };
  counts.second++;
  const reverse = compared(gradients(pushed), gradients(transposed), 1e-8);
  if (reverse !== null) return `gradients of tangents: ${reverse}`;
  const other = tangentsOf(inputs, 57);
  const plain = (): Tensor[] => inputs.map((x) => leafOf(x).detach());
  const forward = compared(
    () => pushed((leaves) => first(leaves, pushed), plain(), other),
    () => transposed((leaves) => first(leaves, transposed), inputs.map(leafOf), other),
    1e-8,
  );
  return forward === null ? null : `tangents of tangents: ${forward}`;
}

type Many = (...tangents: Tensor[]) => Tensor[];

/** Several tangents at once give what each gives alone: through one call of the function, and through one for each. */
function atOnce(op: Op, f: Forward, leaves: Tensor[], inputs: readonly Input[]): string | null {
  const many = [tangentsOf(inputs, 71), tangentsOf(inputs, 72)] as const;
  const stacked = inputs.map((_, i) => generated.stack([many[0][i] as Tensor, many[1][i] as Tensor], 0));
  const alone = many.map((tangents) => pushed(f, leaves, tangents));
  const wanted = (alone[0] as Tensor[]).map((t, k) => generated.stack([t, alone[1]?.[k] as Tensor], 0));
  const { push } = pushforwardOf(listOf(f) as never, leaves, null, {});
  const once = func.vmap(((...tangents: Tensor[]) => push(tangents)) as never) as unknown as Many;
  const first = difference(once(...stacked), wanted);
  if (first !== null) return `tangents at once: ${first}`;
  // Random numbers are drawn for each.
  if (op.transforms.batch === "random") return null;
  const each = func.vmap(((...tangents: Tensor[]) => pushed(f, leaves, tangents)) as never) as unknown as Many;
  const second = difference(each(...stacked), wanted);
  return second === null ? null : `calls at once: ${second}`;
}

/** Each input differentiated by itself: nothing is saved then for the others. */
function oneByOne(f: Forward, inputs: readonly Input[]): string | null {
  const tangents = tangentsOf(inputs, 13);
  for (const k of inputs.length > 1 ? inputs.keys() : []) {
    const others = inputs.map((x) => leafOf(x).detach());
    const alone: Forward = ([x]) => f(others.with(k, x as Tensor));
    const what = compared(
      () => pushed(alone, [others[k] as Tensor], [tangents[k] as Tensor]),
      () => transposed(alone, [leafOf(inputs[k] as Input)], [tangents[k] as Tensor]),
    );
    if (what !== null) return `input ${k} alone: ${what}`;
    const second = secondOrder(alone, [inputs[k] as Input]);
    if (second !== null) return `input ${k} alone: ${second}`;
  }
  return null;
}

function checkCall(op: Op, { f, inputs }: Call, small: boolean): string | null {
  for (const [name, layout] of Object.entries(LAYOUTS)) {
    // It reads what the elements of an expanded tensor do not have.
    if (name === "expanded" && op.key === "as_strided") continue;
    const leaves = inputs.map((x) => layout(leafOf(x).detach()));
    const tangents = tangentsOf(inputs, 5);
    const own = (): Tensor[] => leaves.map((x) => x.detach().requiresGrad_());
    const before = counts.refused;
    const what = compared(
      () => pushed(f, leaves, tangents),
      () => transposed(f, own(), tangents),
    );
    if (what !== null) return `${name}: ${what}`;
    if (counts.refused > before && name === "plain") return null;
    if (counts.refused > before) continue;
    counts.laidOut++;
    if (name !== "plain" || NOT_NUMERIC.test(op.key)) continue;
    const numeric = numericDifference(f, leaves, tangents, pushed(f, leaves, tangents));
    if (numeric !== null) return numeric;
  }
  const single = oneByOne(f, inputs);
  if (single !== null) return single;
  const second = secondOrder(f, inputs);
  if (second !== null) return second;
  if (small) return null;
  try {
    const leaves = inputs.map((x) => leafOf(x).detach());
    return atOnce(op, f, leaves, inputs);
  } catch (e) {
    // What is written for one example after the other changes what was saved.
    if (op.key === "index_reduce" && e instanceof ZensorError && /modified by an inplace/.test(e.message)) return null;
    throw e;
  }
}

/** The same arguments with other sizes of tensors, where there is one, or they are of elements in the same places. */
function resized(op: Op, a: Assignment, sizes: readonly number[]): Assignment | null {
  const shapes = Object.values(a).filter((v) => v instanceof Shape || (Array.isArray(v) && v[0] instanceof Shape));
  if (shapes.some(Array.isArray) || (op.kind !== "pointwise" && shapes.length !== 1)) return null;
  return Object.fromEntries(Object.entries(a).map(([k, v]) => [k, v instanceof Shape ? new Shape(sizes, v.real) : v]));
}

function checkForm(op: Op, fn: Fn, complex: boolean, inPlace: boolean): string[] {
  const list = assignments(op, complex);
  if (typeof list === "string") return [list];
  const small = [[], [0], [1]].map((sizes) => resized(op, list[0] as Assignment, sizes)).filter((a) => a !== null);
  const wrong: string[] = [];
  for (const [i, a] of [...list, ...small].entries()) {
    const name = `${inPlace ? "in-place " : ""}${complex ? "complex " : ""}call ${i}`;
    // Not every size goes with what else is given.
    const call = finiteCall({ op, fn, complex, inPlace, plain: functions[op.fn] }, a, [ZensorError, TypeError]);
    if (call === null || typeof call === "string") continue;
    try {
      const what = checkCall(op, call, i >= list.length);
      counts.calls++;
      if (what !== null) wrong.push(`${name}: ${what}`);
    } catch (e) {
      wrong.push(`${name}: ${String(e).split("\n")[0]}`);
    }
  }
  return wrong;
}

describe("tangents", () => {
  for (const op of ops) {
    test(op.key, () => {
      const plain = op.inplaceGradOnly ? undefined : functions[op.fn];
      const inPlace = (op.variants as readonly string[]).includes("inplace") ? functions[`${op.fn}_`] : undefined;
      const before = counts.calls + counts.refused;
      const wrong = [false, true].flatMap((complex) => [
        ...(plain === undefined ? [] : checkForm(op, plain, complex, false)),
        ...(inPlace === undefined ? [] : checkForm(op, inPlace, complex, true)),
      ]);
      expect(wrong).toEqual([]);
      expect(counts.calls + counts.refused).toBeGreaterThan(before);
    });
  }
  afterAll(() => console.log(`tangents: ${JSON.stringify(counts)}`));
});
