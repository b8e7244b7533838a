/** Activations that check or do more than the common pointwise path. */

import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import { type Scalar, scalarToNumber } from "../tensor/complex.ts";
import { bool } from "../tensor/dtype.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { clamp } from "./arith.ts";
import { floatLimit, shortNumber } from "./fits.ts";
import { binary, type Pointwise, RULES, withAttrs } from "./pointwise.ts";
import { refuse } from "./refusals.ts";
import { slice } from "./views.ts";

type Out = Tensor | undefined;

const ELU: Pointwise = { name: "elu", kernel: K.activation_elu, rule: RULES.arith, refuses: [REFUSALS.elu_cpu] };
const SHRINK: Pointwise = { name: "softshrink", kernel: K.activation_softshrink, rule: RULES.arith };
const GLU: Pointwise = { name: "glu", kernel: K.activation_glu, rule: RULES.arith, refuses: [REFUSALS.glu_cpu] };

/** elu whose slope at zero is one, whatever `alpha` is. */
export function celu(self: Tensor, alpha: number, out: Out, inplace: boolean): Tensor {
  if (alpha === 0) throw texts.celuOfZero("celu");
  return withAttrs(ELU, [self], [alpha, 1, 1 / alpha], out, inplace);
}

/** Bounds are numbers of the input's dtype: those of integers lose their fractions, those of uint8 their sign. */
export function hardtanh(self: Tensor, min: Scalar, max: Scalar, out: Out, inplace: boolean): Tensor {
  const d = self.dtype;
  if (d === bool) throw texts.boolHardtanh("hardtanh");
  if (d.category !== 1) return clamp(self, min, max, out, inplace);
  const [low, high] = [Math.trunc(scalarToNumber(min)), Math.trunc(scalarToNumber(max))];
  return clamp(self, low, high, out, inplace);
}

export function softshrink(self: Tensor, lambd: number, out: Out, inplace: boolean): Tensor {
  const d = self.dtype;
  refuse(REFUSALS.softshrink_check, d);
  const most = floatLimit(d);
  if (!(lambd >= 0 && lambd <= most)) {
    throw texts.shrinkOutOfRange("softshrink", shortNumber(most), d.scalarType, shortNumber(lambd));
  }
  return withAttrs(SHRINK, [self], [lambd], out, inplace);
}

/** The first half along a dimension, times the sigmoid of the second. */
export function glu(self: Tensor, dim: number): Tensor {
  if (self._shape.length === 0) throw texts.gluOfScalar("glu");
  const d = wrapDim(dim, self._shape.length);
  const size = self._shape[d] as number;
  if (size % 2 !== 0) throw texts.gluOfOddSize("glu", d, size);
  return binary(GLU, slice(self, d, 0, size / 2, 1), slice(self, d, size / 2, size, 1));
}
