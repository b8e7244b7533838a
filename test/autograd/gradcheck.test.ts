// Every gradient formula of the schema against numeric differences: first and second order, float64 and complex128, the
// plain and the in-place form. A formula that no inputs can be made for fails, unless it is listed with a reason.
import { afterAll, describe, expect, test } from "bun:test";
import { loadModel, type Op } from "../../codegen/model/load.ts";
import * as generated from "../../generated/ops.ts";
import { ZensorError } from "../../src/tensor/errors.ts";
import { checkGradients, checkSecondOrder, hasZeroGradients } from "./gradcheck.ts";
import { type Form, finiteCall } from "./gradcheck-calls.ts";
import { type Assignment, assignments, type Call, type Fn, Shape, targetsOf } from "./gradcheck-inputs.ts";

const functions = generated as unknown as Record<string, Fn | undefined>;
/** The built file leaves out what nothing of the library calls, as some operators over lists are. */
const isThere = (op: Op): boolean => [op.fn, `${op.fn}_`].some((name) => functions[name] !== undefined);
/** They take what follows from another operand beside it: the second order of the forward operator looks at them. */
const DEPENDENT =
  /^(native_(layer|group|batch)_norm|_fused_rms_norm|_scaled_dot_product_flash_attention_for_cpu)_backward$/;
const ops = loadModel().ops.filter(
  (op) => typeof op.grad === "object" && (!op.internal || isThere(op)) && !DEPENDENT.test(op.key),
);

/** Formulas that are no derivative, because torch defines them so. */
const DEFINED: Record<string, string> = {
  normal: "torch gives zeros for the parameters of random numbers",
  "normal.Tensor_float": "torch gives zeros for the parameters of random numbers",
  "normal.float_Tensor": "torch gives zeros for the parameters of random numbers",
};
const COMPLEX_ONLY = new Set(["view_as_real"]);
const REFUSAL = /^(notDerivable|noScatterReduceGradient|noDerivative)\(/;

const counts = { operators: 0, formulas: 0, refused: 0, calls: 0, complexCalls: 0, inPlaceCalls: 0 };

function show(a: Assignment): string {
  return Object.entries(a)
    .map(([k, v]) => `${k}: ${v instanceof Shape ? `[${v.sizes}]${v.real ? " real" : ""}` : String(v)}`)
    .join(", ");
}

function checkCall(op: Op, { f, inputs }: Call): string | null {
  if (op.key in DEFINED) return hasZeroGradients(f, inputs) ? null : "its gradients are not zeros";
  const first = checkGradients(f, inputs);
  if (first !== null) return first;
  const second = checkSecondOrder(f, inputs);
  return second === null ? null : `second order: ${second}`;
}

function isRefused(op: Op): boolean {
  return Object.values(op.grad).every((formula) => REFUSAL.test(formula));
}

function checkForm(form: Form): string[] {
  const { op, complex, inPlace } = form;
  const list = assignments(op, complex);
  if (typeof list === "string") return [list];
  const wrong: string[] = [];
  for (const a of list) {
    const name = `${inPlace ? "in-place " : ""}${complex ? "complex " : ""}(${show(a)})`;
    try {
      const call = finiteCall(form, a);
      if (call === null) continue;
      const what = typeof call === "string" ? call : checkCall(op, call);
      if (isRefused(op)) wrong.push(`${name}: gives a gradient`);
      else if (what !== null) wrong.push(`${name}: ${what}`);
      counts.calls++;
      if (complex) counts.complexCalls++;
      if (inPlace) counts.inPlaceCalls++;
    } catch (e) {
      if (
        isRefused(op) &&
        e instanceof ZensorError &&
        /derivative for aten::[\w.]+ is not implemented/.test(e.message)
      ) {
        counts.refused++;
      } else wrong.push(`${name}: ${String(e).split("\n")[0]}`);
    }
  }
  return wrong;
}

function checkOperator(op: Op): string[] {
  const plain = functions[op.fn];
  const inPlace = (op.variants as readonly string[]).includes("inplace") ? functions[`${op.fn}_`] : undefined;
  const before = counts.calls + counts.refused;
  const wrong: string[] = [];
  for (const complex of COMPLEX_ONLY.has(op.key) ? [true] : [false, true]) {
    if (plain !== undefined && !op.inplaceGradOnly)
      wrong.push(...checkForm({ op, fn: plain, complex, inPlace: false, plain }));
    if (inPlace !== undefined) wrong.push(...checkForm({ op, fn: inPlace, complex, inPlace: true, plain }));
  }
  if (counts.calls + counts.refused === before) wrong.push("nothing was checked");
  return wrong;
}

describe("gradient formulas", () => {
  for (const op of ops) {
    test(op.key, () => {
      counts.operators++;
      counts.formulas += targetsOf(op).size;
      expect(checkOperator(op)).toEqual([]);
    });
  }
  afterAll(() => console.log(`gradcheck: ${JSON.stringify(counts)}`));
});
