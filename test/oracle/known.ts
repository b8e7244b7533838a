// Where derivatives differ from torch's at the edges of domains, and why they stay: torch contradicts itself there (its
// jvp and its gradients have formulas of their own), or what it says is chance, or less than the definition.
import type { Call } from "./program.ts";

interface Known {
  op: RegExp;
  /** What is said to differ. */
  what: RegExp;
  /** Of the call. */
  where?: (call: Call) => boolean;
  why: string;
}

const noDims = ({ args, kw }: Call): boolean =>
  [...args, ...Object.values(kw)].some((x) => Array.isArray(x) && x.length === 0);

export const KNOWN: readonly Known[] = [
  { op: /^(index_copy|put|scatter)_?$/, what: /jvp/, why: "the last of several writes into one place is chance" },
  {
    op: /^(var|std)(_mean)?$/,
    what: /grad|jvp/,
    where: noDims,
    why: "no dimensions are all of them, but torch's gradient counts one element",
  },
  {
    op: /^(clamp(_min|_max)?|maximum|minimum|fmax|fmin|max|min|amax|amin|median|nanmedian)_?$/,
    what: /jvp/,
    why: "beside a NaN torch's jvp and its gradient say different things",
  },
  {
    op: /^(div|true_divide|addcdiv|lerp|atan2|hypot|cumprod|addcmul|norm|b?addb?m[mv]|addr)_?$/,
    what: /jvp.*(NaN|Infinity)/,
    why: "infinite terms of a jvp are added in another order: their sum is no number, or is one",
  },
  {
    op: /^(logcumsumexp|xlogy|pow|prod|polygamma|var|std|mse_loss)_?$/,
    what: /jvp.*(NaN|Infinity)/,
    why: "likewise, after an infinite slope",
  },
  {
    op: /^(asinh|acosh|atanh|arcsinh|arccosh|arctanh)_$/,
    what: /the derivative for 'inplace/,
    why: "torch has none in place",
  },
  { op: /^vector_norm$/, what: /jvp/, why: "a square below the least normal number is rounded" },
  { op: /^mode$/, what: /var|grad/, why: "a sort without an order of NaN comes before torch's count" },
  { op: /^isfinite$/, what: /_version/, why: "torch multiplies in place" },
  {
    op: /^sinc_?$/,
    what: /second grad/,
    why: "beside zero a difference of nearly equal numbers is divided by a square",
  },
  { op: /^(acosh|arccosh|acos)$/, what: /var|grad|jvp/, why: "torch loses the sign of an imaginary zero" },
  {
    op: /^(nan)?quantile$/,
    what: /grad|jvp/,
    why: "which of equal elements stands at a rank is chance: torch's sort is not stable there",
  },
  {
    op: /^(huber_loss|smooth_l1_loss|l1_loss)$/,
    what: /second grad/,
    why: "a gradient that is no number is multiplied by zero, or kept out",
  },
  {
    op: /^(logcumsumexp|cumprod|prod|pow|polygamma|div)_?$/,
    what: /grad.*(NaN|Infinity)/,
    why: "a gradient that is no number, or infinite, meets a zero",
  },
  {
    op: /^(remainder|fmod|atanh|sgn|log1p|polygamma)$/,
    what: /var/,
    why: "torch has no numbers below the least normal one",
  },
  { op: /^(hypot|addcdiv)$/, what: /grad/, why: "likewise, there" },
  {
    op: /^b?addb?m[mv]_?$/,
    what: /var/,
    why: "a factor of infinity, or of zero, is multiplied into each product or their sum",
  },
  { op: /^logit_?$/, what: /plain grad/, why: "torch's kernel loses the sign of a zero" },
  { op: /^logit_?$/, what: /second grad.*NaN/, why: "where the argument was brought to a bound nothing depends on it" },
  { op: /^index_fill_?$/, what: /Index to scalar/, why: "torch has no gradient of an index without elements" },
];

/** Whether all that differs is known. */
export function isKnown(call: Call, reasons: readonly string[]): boolean {
  const name = call.name.split(".").at(-1) as string;
  return reasons.every((reason) =>
    KNOWN.some(({ op, what, where }) => op.test(name) && what.test(reason) && (where?.(call) ?? true)),
  );
}
