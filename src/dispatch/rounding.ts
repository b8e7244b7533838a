/** Rounding to whole numbers, which integers are already, or to decimals. */

import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Kernel } from "./kernel.ts";
import { requireNoInternalOverlap } from "./overlap.ts";
import { general, type Pointwise, RULES, scalarAttr, unary } from "./pointwise.ts";
import type { Refusal } from "./refusals.ts";

type Out = Tensor | undefined;

interface Rounding {
  readonly floats: Pointwise;
  /** Integers are copied. */
  readonly whole: Pointwise;
}

function rounding(name: string, kernel: Kernel, refusal: Refusal): Rounding {
  const common = { name, rule: RULES.same, exactOut: true };
  return {
    floats: { ...common, kernel, refuses: [refusal] },
    whole: { ...common, kernel: K.unary_convert },
  };
}

const FLOOR = rounding("floor", K.unary_floor, REFUSALS.floor_vml_cpu);
const CEIL = rounding("ceil", K.unary_ceil, REFUSALS.ceil_vml_cpu);
const TRUNC = rounding("trunc", K.unary_trunc, REFUSALS.trunc_vml_cpu);
const ROUND = rounding("round", K.unary_round, REFUSALS.round_vml_cpu);
const DECIMALS = rounding("round", K.unary_round_decimals, REFUSALS.round_cpu);

function rounded(r: Rounding, self: Tensor, out: Out, inplace: boolean): Tensor {
  return unary(self.dtype.category === 1 ? r.whole : r.floats, self, out, inplace);
}

/** Complex numbers are refused in words of their own, whatever their shape. */
function refuseComplex(self: Tensor, op: string): void {
  if (self.dtype.category === 3) throw texts.complexInputs(op);
}

export function floor(self: Tensor, out: Out, inplace: boolean): Tensor {
  refuseComplex(self, "floor");
  return rounded(FLOOR, self, out, inplace);
}

export function ceil(self: Tensor, out: Out, inplace: boolean): Tensor {
  refuseComplex(self, "ceil");
  return rounded(CEIL, self, out, inplace);
}

export function trunc(self: Tensor, out: Out, inplace: boolean): Tensor {
  refuseComplex(self, "trunc");
  return rounded(TRUNC, self, out, inplace);
}

export function round(self: Tensor, out: Out, inplace: boolean): Tensor {
  return rounded(ROUND, self, out, inplace);
}

export function roundDecimals(self: Tensor, decimals: number, out: Out, inplace: boolean): Tensor {
  if (decimals === 0) {
    if (inplace) requireNoInternalOverlap(self, "round_");
    if (self.dtype.category === 1) throw texts.notImplementedFor("round", "round_vml_cpu", self.dtype.scalarType);
    return unary(ROUND.floats, self, out, inplace);
  }
  const set = (): void => {
    scalarAttr(0, 10 ** Math.abs(decimals));
    scalarAttr(1, decimals < 0 ? 1 : 0);
  };
  return general(DECIMALS.floats, [self], out, inplace, set);
}
