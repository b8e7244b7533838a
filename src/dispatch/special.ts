/** Special functions whose checks go beyond the common pointwise path. */

import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { binary, general, type Operand, type Pointwise, RULES, scalarAttr, unary } from "./pointwise.ts";

type Out = Tensor | undefined;

const XLOGY: Pointwise = {
  name: "xlogy",
  kernel: K.binary_xlogy,
  rule: RULES.float,
  refuses: [REFUSALS.xlogy_cpu],
};

export function xlogy(self: Operand, other: Operand, out: Out, inplace: boolean): Tensor {
  return binary(XLOGY, self, other, out, inplace);
}

const common = { name: "polygamma", kernel: K.unary_polygamma, rule: RULES.float };
const DIGAMMA: Pointwise = { ...common, kernel: K.unary_digamma, refuses: [REFUSALS.digamma] };
const TRIGAMMA: Pointwise = { ...common, kernel: K.unary_trigamma, refuses: [REFUSALS.trigamma] };
const POLYGAMMA: Pointwise = { ...common, refuses: [REFUSALS.polygamma] };

export function polygamma(self: Tensor, n: number, out: Out, inplace: boolean): Tensor {
  if (n < 0) throw texts.polygammaOrder("polygamma");
  if (n === 0) return unary(DIGAMMA, self, out, inplace);
  if (n === 1) return unary(TRIGAMMA, self, out, inplace);
  let factor = n % 2 === 1 ? 1 : -1;
  for (let k = 2; k <= n && Number.isFinite(factor); k++) factor *= k;
  const set = (): void => {
    scalarAttr(0, n + 1);
    scalarAttr(1, factor);
  };
  return general(POLYGAMMA, [self], out, inplace, set);
}
