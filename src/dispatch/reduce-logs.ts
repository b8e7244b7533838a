/** Logarithms of sums of exponentials: the greatest element is taken out first, so that nothing overflows. */

import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import { toReal } from "../tensor/dtype.ts";
import { contiguousStrides } from "../tensor/size.ts";
import { drop, dropCopy, untie } from "../tensor/temporaries.ts";
import { makeStrided, type Tensor } from "../tensor/tensor.ts";
import { abs, where } from "./arith.ts";
import { cast } from "./copy.ts";
import { setGeometry } from "./out.ts";
import { binary, RULES, unary } from "./pointwise.ts";
import { toFloating } from "./promotion.ts";
import { sumDims } from "./reduce.ts";
import { amax } from "./reduce-extremes.ts";
import { reducedDims, reducedShape } from "./reduce-layout.ts";

const NAME = "logsumexp";
const EXP = { name: NAME, kernel: K.unary_exp, rule: RULES.float };
const LOG = { name: NAME, kernel: K.unary_log, rule: RULES.float };
const ADD = { name: NAME, kernel: K.binary_add, rule: RULES.arith };
const SUB = { name: NAME, kernel: K.binary_sub, rule: RULES.arith };
const EQ = { name: NAME, kernel: K.binary_eq, rule: RULES.compare };

/** The real parts as they lie in memory, without ties to the tensor. */
function realParts(t: Tensor): Tensor {
  if (t.dtype.category < 3) return t;
  const strides = t._strides.map((s) => 2 * s);
  return untie(makeStrided(t._storage, 2 * t._offset, t._shape, strides, toReal(t.dtype)));
}

/** The greatest element of each line, zero where that is infinite. */
function finiteMaxima(x: Tensor, dim: number | readonly number[]): Tensor {
  const maxima = amax(realParts(x), dim, true);
  const size = abs(maxima, undefined, false);
  const isInfinite = binary(EQ, size, Number.POSITIVE_INFINITY);
  const result = where(isInfinite, 0, maxima, undefined);
  for (const t of [maxima, size, isInfinite]) drop(t);
  return result;
}

export function logsumexp(self: Tensor, dim: number | readonly number[], keepdim: boolean, out?: Tensor): Tensor {
  if (out !== undefined && out.dtype.category < 2) throw texts.floatingOut(NAME, out.dtype.scalarType);
  const x = self.dtype.category < 2 ? cast(self, toFloating(self.dtype)) : self;
  if (x._numel === 0) {
    const none = sumDims(x, dim, keepdim, null, out);
    return unary(LOG, none, none, true);
  }
  const maxima = finiteMaxima(x, dim);
  const powers = binary(SUB, x, maxima);
  unary(EXP, powers, powers, true);
  const result = sumDims(powers, dim, keepdim, null, out);
  drop(powers);
  dropCopy(x, self);
  unary(LOG, result, result, true);
  const every = typeof dim !== "number" && dim.length === 0;
  if (!keepdim && !every) {
    const shape = reducedShape(x._shape, reducedDims(dim, x._shape.length, NAME), false);
    setGeometry(maxima, shape, contiguousStrides(shape), 0);
  }
  binary(ADD, result, maxima, result, true);
  drop(maxima);
  return result;
}
