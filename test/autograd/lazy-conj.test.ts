// Every operator with gradient formulas gives the same of tensors that are conjugated lazily as of those that hold
// their values, and writes the same through them.
import { afterAll, expect, test } from "bun:test";
import { loadModel, type Op } from "../../codegen/model/load.ts";
import * as generated from "../../generated/ops.ts";
import { noGrad, type Tensor } from "../../src/index.ts";
import { ZensorError } from "../../src/tensor/errors.ts";
import { leafOf } from "./gradcheck.ts";
import { assignments, type Call, callOf, DOMAINS, type Fn } from "./gradcheck-inputs.ts";

const functions = generated as unknown as Record<string, Fn | undefined>;
const ops = loadModel().ops.filter((op) => typeof op.grad === "object" && !op.internal);
let calls = 0;

const shown = (outs: readonly Tensor[]): string => outs.map((t) => `${t.dtype.name} ${t.resolveConj()}`).join("; ");

/** What f gives of its inputs as they are, and of lazily conjugated tensors of the same values. */
function both({ f, inputs }: Call): [string, string] | null {
  const plain = inputs.map((input) => leafOf(input).detach());
  const lazy = plain.map((t) => (t.dtype.isComplex ? t.conj().resolveConj().conj() : t.clone()));
  const given = lazy.some((t) => t.isConj());
  return noGrad(() => (given ? [shown(f(plain)), shown(f(lazy))] : null));
}

function checkOperator(op: Op): string[] {
  const list = assignments(op, true);
  const forms: [Fn | undefined, boolean][] = [
    [functions[op.fn], false],
    [(op.variants as readonly string[]).includes("inplace") ? functions[`${op.fn}_`] : undefined, true],
  ];
  const wrong: string[] = [];
  for (const [fn, inPlace] of forms) {
    if (fn === undefined || typeof list === "string") continue;
    for (const a of list) {
      for (const domain of DOMAINS.slice(0, 1)) {
        try {
          const results = both(callOf(op, fn, a, true, domain, inPlace));
          if (results !== null && results[0] !== results[1]) wrong.push(results.join(" is not "));
          if (results !== null) calls++;
        } catch (e) {
          // Not every operator or option takes complex numbers.
          if (!(e instanceof ZensorError)) throw e;
        }
      }
    }
  }
  return wrong;
}

for (const op of ops) {
  test(op.key, () => expect(checkOperator(op)).toEqual([]));
}

afterAll(() => expect(calls).toBeGreaterThan(300));
