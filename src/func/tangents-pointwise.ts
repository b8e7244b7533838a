/** Tangents of pointwise operators that are no products with a slope, and of views with a layout of their own. */
import * as O from "../../generated/ops.ts";
import { conj } from "../autograd/formulas-common.ts";
import { atan2Slopes, sgn } from "../autograd/formulas-pointwise.ts";
import { stridedTangent } from "../autograd/gradients.ts";
import type { OutputMeta } from "../autograd/node.ts";
import type { Scalar } from "../tensor/complex.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { plus, type Tangents } from "./tangents-common.ts";

/** A number's share of a tangent, without work for one. */
export function times(tangent: Tensor, k: Scalar): Tensor {
  return k === 1 ? tangent : tangent.mul(k);
}

/** A length changes by what goes along it: the real part, which a real result takes. */
export function absTangent(tangent: Tensor, self: Tensor): Tensor {
  return tangent.mul(conj(sgn(self)));
}

export function whereTangent([self = null, other = null]: Tangents, condition: Tensor): Tensor {
  return O.where(condition.ne(0), self ?? 0, other ?? 0);
}

export function atan2Tangent(tangents: Tangents, self: Tensor, other: Tensor): Tensor {
  const [first, second] = atan2Slopes(self, other).map((slope, i) => tangents[i]?.mul(slope()) ?? null);
  return plus(first ?? null, second ?? null) as Tensor;
}

export function gluTangent(tangent: Tensor, self: Tensor, dim: number): Tensor {
  const d = wrapDim(dim, self.ndim);
  const half = (self._shape[d] as number) / 2;
  const halves = (t: Tensor): [Tensor, Tensor] => [t.narrow(d, 0, half), t.narrow(d, half, half)];
  const [first, second] = halves(self);
  const [ofFirst, ofSecond] = halves(tangent);
  return O.glu_first_backward(ofFirst, second).add(O.glu_gate_backward(ofSecond, first, second));
}

/** A list's members, and another's times a number. */
export function foreachAddTangent(tangents: Tangents, alpha: Scalar): (Tensor | null)[] {
  const n = tangents.length / 2;
  return tangents.slice(0, n).map((t, i) => {
    const other = tangents[n + i] ?? null;
    return plus(t, other === null ? null : times(other, alpha));
  });
}

/** The same places of a tangent that lies as its tensor does. */
export function asStridedTangent(
  tangent: Tensor,
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
  outputs: readonly [OutputMeta, ...OutputMeta[]],
  stride: readonly number[],
  storageOffset: number | null,
): Tensor {
  const view = { shape: outputs[0].shape, strides: stride, offset: storageOffset ?? offset };
  return stridedTangent(tangent, { shape, strides, offset }, view);
}

/** As pairs of numbers. */
export function asRealTangent(tangent: Tensor): Tensor {
  return tangent.resolveConj().viewAsReal();
}
