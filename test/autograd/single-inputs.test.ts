// Of several inputs that have gradients each may be the only one that needs it: its gradient is the same as among
// others, and the rest get none. In the second order the weights of the results are inputs too.
import { expect, test } from "bun:test";
import { loadModel, type Op } from "../../codegen/model/load.ts";
import * as generated from "../../generated/ops.ts";
import { autograd, type Tensor } from "../../src/index.ts";
import { ZensorError } from "../../src/tensor/errors.ts";
import {
  described,
  type Forward,
  gradientsOf,
  hasFiniteResults,
  type Input,
  leafOf,
  weightsLike,
} from "./gradcheck.ts";
import { type Assignment, assignments, type Call, callOf, DOMAINS, type Fn, SMOOTH } from "./gradcheck-inputs.ts";

const functions = generated as unknown as Record<string, Fn | undefined>;
const ops = loadModel().ops.filter((op) => typeof op.grad === "object");

/** A call in the first domain where its results are finite. */
function finiteCall(op: Op, fn: Fn, a: Assignment, inPlace: boolean): Call | undefined {
  for (const domain of SMOOTH[op.key] ?? DOMAINS) {
    try {
      const call = callOf(op, fn, a, false, domain, inPlace);
      if (hasFiniteResults(call.f, call.inputs)) return call;
    } catch (e) {
      if (!(e instanceof ZensorError)) throw e;
    }
  }
  return undefined;
}

/** Gradients of those leaves that are asked for; null where a leaf is not used. */
function gradients(f: Forward, inputs: readonly Input[], asked: readonly number[]): (Tensor | null)[] | undefined {
  const leaves = inputs.map((input, k) => (asked.includes(k) ? leafOf(input) : leafOf(input).detach()));
  const all = f(leaves).filter((t) => t.dtype.isFloatingPoint);
  const weights = weightsLike(all.map(described), 3).map((w, k) =>
    leafOf(w)
      .detach()
      .to((all[k] as Tensor).dtype),
  );
  const used = [...all.keys()].filter((k) => all[k]?.requiresGrad);
  if (used.length === 0) return undefined;
  const [outs, gradOutputs] = [used.map((k) => all[k] as Tensor), used.map((k) => weights[k] as Tensor)];
  const wanted = asked.map((k) => leaves[k] as Tensor);
  return autograd.grad(outs, wanted, { gradOutputs, allowUnused: true });
}

let compared = 0;

function check(f: Forward, inputs: readonly Input[], sets: readonly number[][]): string | null {
  const every = [...inputs.keys()];
  const all = gradients(f, inputs, every);
  for (const asked of sets) {
    const got = gradients(f, inputs, asked);
    for (const [at, k] of asked.entries()) {
      const [a, b] = [got?.[at] ?? null, all?.[k] ?? null];
      if (a !== null) compared++;
      if (a === null ? b?.ne(0).any().item() === true : b === null || !a.equal(b)) {
        return `gradient of input ${k} alone is ${a}, among all ${b}`;
      }
    }
  }
  return null;
}

function checkCall({ f, inputs }: Call): string | null {
  const n = inputs.length;
  const singles = n > 1 ? inputs.map((_, k) => [k]) : [];
  const first = check(f, inputs, singles);
  if (first !== null) return first;
  const outs = f(inputs.map(leafOf)).filter((t) => t.requiresGrad);
  const given = weightsLike(outs.map(described), 7);
  const inner = inputs.map((_, k) => k);
  // The inputs must need gradients for there to be any; the weights need not.
  const second = check(gradientsOf(f, n), [...inputs, ...given], [inner]);
  return second === null ? null : `second order: ${second}`;
}

function checkOperator(op: Op): string[] {
  const list = assignments(op, false);
  if (typeof list === "string") return [list];
  const wrong: string[] = [];
  for (const inPlace of [false, true]) {
    const fn = functions[inPlace ? `${op.fn}_` : op.fn];
    if (fn === undefined) continue;
    for (const a of list) {
      try {
        const call = finiteCall(op, fn, a, inPlace);
        const what = call === undefined ? null : checkCall(call);
        if (what !== null) wrong.push(`${inPlace ? "in place: " : ""}${what}`);
      } catch (e) {
        if (!(e instanceof ZensorError)) throw e;
      }
    }
  }
  return wrong;
}

for (const op of ops) test(op.key, () => expect(checkOperator(op)).toEqual([]));

test("enough was compared", () => expect(compared).toBeGreaterThan(1000));
