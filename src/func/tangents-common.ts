/** What formulas of tangents share: their types, and what the generated ones call. */
import * as O from "../../generated/ops.ts";
import { conj } from "../autograd/formulas-common.ts";
import type { Node, OutputMeta } from "../autograd/node.ts";
import { reducedDims } from "../dispatch/reduce-layout.ts";
import { sameSizes } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";

type Optional = Tensor | null;

/** Tangents of a node's operands, one for each edge; null is zero. */
export type Tangents = readonly Optional[];

/** Of its results. */
export type Pushed = Optional | readonly Optional[];

/** Pushes tangents through a function that is written with recorded operators. */
export type Through = (
  inputs: readonly Optional[],
  tangents: Tangents,
  body: (...inputs: Optional[]) => readonly Optional[],
) => readonly Optional[];

/** How tangents go through a node. */
export type Push = (node: Node, tangents: Tangents, through: Through) => Pushed;

/** The same for a class of nodes, which whoever calls it has looked at. */
export type PushOfClass = (node: never, tangents: Tangents, through: Through) => Pushed;

/** A tangent as its tensor is: broadcast, of the dtype, on the device. */
export function fitted(tangent: Tensor, meta: OutputMeta): Tensor {
  let t = tangent;
  if (t.dtype !== meta.dtype) {
    if (t.dtype.category === 3 && meta.dtype.category < 3) t = t.real;
    if (t.dtype !== meta.dtype) t = t.to(meta.dtype);
  }
  if (t.device !== meta.device) t = t.to(meta.device);
  return sameSizes(t._shape, meta.shape) ? t : O.expand(t, meta.shape, false);
}

/** What a pointwise gradient's formula gets in the place of a gradient: it multiplies by the conjugate of the slope. */
export function turned(tangent: Tensor, node: Node): Tensor {
  return conj(fitted(tangent, node.outputs[0] as OutputMeta));
}

/** What that formula gave, multiplied by the slope itself. */
export function turnedBack(t: Optional): Optional {
  return t === null ? null : conj(t);
}

/** The sum of what operands contribute. */
export function plus(a: Optional, b: Optional): Optional {
  return a === null || b === null ? (a ?? b) : a.add(b);
}

/** Ones like a result. */
export function onesLike({ shape, dtype, device }: OutputMeta): Tensor {
  return O.ones(shape, dtype, device, false);
}

/** Gradients of one, with which a formula gives slopes. */
export function onesOf(node: Node): Tensor {
  return onesLike(node.outputs[0] as OutputMeta);
}

/** Sums over the dimensions of a reduction. */
export function summed(t: Tensor, dim: number | readonly number[] | null, keepdim: boolean): Tensor {
  if (t._shape.length === 0) return t;
  const mask = reducedDims(dim, t._shape.length, "jvp");
  const dims = [...mask.keys()].filter((d) => mask[d]);
  return dims.length === mask.length && !keepdim ? t.sum() : t.sum(dims, { keepdim });
}

/** Of a reduction: each element changes its line's result by its slope. What is real changes by real numbers. */
export function overLines(
  tangent: Tensor,
  slope: Optional,
  dim: number | readonly number[] | null,
  keepdim: boolean,
  outputs: readonly OutputMeta[],
): Optional {
  if (slope === null) return null;
  const product = tangent.mul(conj(slope));
  const isReal = (outputs[0] as OutputMeta).dtype.category < 3;
  return summed(isReal && product.dtype.category === 3 ? product.real : product, dim, keepdim);
}

/** Of what does not change with its operands. */
export function nothing(): null {
  return null;
}

/** A tangent, or zeros of some sizes in its place, like another that is there. */
export function orZeros(tangent: Optional, shape: readonly number[], like: Tangents): Tensor {
  return tangent ?? (like.find((t) => t !== null) as Tensor).newZeros(shape);
}
