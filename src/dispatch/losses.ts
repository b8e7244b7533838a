/** Losses computed in one go, without history. */

import { K } from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { binary, RULES } from "./pointwise.ts";
import { resultType } from "./promotion.ts";
import { mean, sum } from "./reduce.ts";
import { refuse } from "./refusals.ts";

const SUB = { name: "mse_loss", kernel: K.binary_sub, rule: RULES.arith };
const MUL = { name: "mse_loss", kernel: K.binary_mul, rule: RULES.arith };

/** What becomes of the losses of the elements: 0 nothing, 1 their mean, 2 their sum. */
export type Reduction = 0 | 1 | 2;

/** (self - target)^2, reduced. */
export function mseLoss(self: Tensor, target: Tensor, reduction: number): Tensor {
  const d = resultType([self, target]);
  refuse(REFUSALS.mse_cpu, d);
  const difference = binary(SUB, self, target);
  const squares = binary(MUL, difference, difference, difference, true);
  if (reduction === 0) return squares;
  if (reduction === 1) return mean(squares, null);
  if (reduction === 2) return sum(squares, null);
  throw texts.mseReduction("mse_loss", reduction);
}
