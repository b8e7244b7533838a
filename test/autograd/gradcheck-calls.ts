// The calls that derivatives are checked at: of each assignment the first domain of elements where results are finite.
import type { Op } from "../../codegen/model/load.ts";
import { ZensorError } from "../../src/tensor/errors.ts";
import { fitsFirst, hasFiniteResults } from "./gradcheck.ts";
import { type Assignment, type Call, callOf, DOMAINS, type Fn, SMOOTH } from "./gradcheck-inputs.ts";

export interface Form {
  op: Op;
  fn: Fn;
  complex: boolean;
  /** In place, with the function of the plain form where there is one. */
  inPlace: boolean;
  plain: Fn | undefined;
}

/**
 * The call of an assignment in the first domain where its results are finite, or why there is none; null where it does
 * not apply. What is thrown counts as a refusal where it is one of `refusals`.
 */
export function finiteCall(
  { op, fn, complex, inPlace, plain }: Form,
  a: Assignment,
  refusals: readonly (abstract new (...args: never) => Error)[] = [ZensorError],
): Call | string | null {
  let wrong = "its results are not finite in any domain";
  for (const domain of SMOOTH[op.key] ?? DOMAINS) {
    const call = callOf(op, fn, a, complex, domain, inPlace);
    try {
      if (inPlace && plain !== undefined) {
        const whole = callOf(op, plain, a, complex, domain, false);
        if (!fitsFirst(whole.f, whole.inputs, op.inplaceGradOnly !== true)) return null;
      }
      if (hasFiniteResults(call.f, call.inputs)) return call;
    } catch (e) {
      if (!refusals.some((r) => e instanceof r)) throw e;
      wrong = String(e).split("\n")[0] as string;
    }
  }
  // Not every operator, dtype of operands or option takes complex numbers.
  return complex ? null : wrong;
}
