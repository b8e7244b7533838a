/** Tangents of operators that choose, join or write elements: those of what was written stand where it was written. */
import * as O from "../../generated/ops.ts";
import { indexReduceBackward, scatterReduceBackward } from "../autograd/formulas-index-reduce.ts";
import type { OutputMeta } from "../autograd/node.ts";
import type { Scalar } from "../tensor/complex.ts";
import { numelOf } from "../tensor/size.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { orZeros, plus, type Tangents } from "./tangents-common.ts";

type Sizes = readonly number[];
type Outputs = readonly [OutputMeta, ...OutputMeta[]];

/** What is written into, and what is written. */
function pair(tangents: Tangents, outputs: Outputs, source: Sizes): [Tensor, Tensor] {
  const [into = null, from = null] = tangents;
  return [orZeros(into, outputs[0].shape, tangents), orZeros(from, source, tangents)];
}

export function indexPutTangent(
  tangents: Tangents,
  outputs: Outputs,
  indices: readonly (Tensor | null)[],
  accumulate: boolean,
): Tensor {
  const [into, from] = pair(tangents, outputs, []);
  return O.index_put(into, indices, from, accumulate);
}

export function indexAddTangent(
  tangents: Tangents,
  outputs: Outputs,
  dim: number,
  index: Tensor,
  alpha: Scalar,
): Tensor {
  const [into = null, from = null] = tangents;
  return from === null
    ? (into as Tensor)
    : O.index_add(orZeros(into, outputs[0].shape, tangents), dim, index, from, alpha);
}

export function indexCopyTangent(tangents: Tangents, outputs: Outputs, dim: number, index: Tensor): Tensor {
  const [into = null, from = null] = tangents;
  if (from === null) return (into as Tensor).indexFill(dim, index, 0);
  return O.index_copy(orZeros(into, outputs[0].shape, tangents), dim, index, from);
}

export function indexFillTangent(tangents: Tangents, outputs: Outputs, dim: number, index: Tensor): Tensor {
  const [into, value] = pair(tangents, outputs, []);
  return O.index_fill_int_Tensor(into, dim, index, value);
}

export function scatterTangent(tangents: Tangents, outputs: Outputs, dim: number, index: Tensor): Tensor {
  const [into, from] = pair(tangents, outputs, index._shape);
  return O.scatter(into, dim, index, from);
}

export function scatterAddTangent(tangents: Tangents, outputs: Outputs, dim: number, index: Tensor): Tensor {
  const [into = null, from = null] = tangents;
  return from === null ? (into as Tensor) : O.scatter_add(orZeros(into, outputs[0].shape, tangents), dim, index, from);
}

export function maskedFillTangent(tangents: Tangents, outputs: Outputs, mask: Tensor): Tensor {
  const [into, value] = pair(tangents, outputs, []);
  return O.masked_fill_Tensor(into, mask, value);
}

export function maskedScatterTangent(tangents: Tangents, outputs: Outputs, mask: Tensor, source: Sizes): Tensor {
  const [into, from] = pair(tangents, outputs, source);
  return O.masked_scatter(into, mask, from);
}

export function putTangent(
  tangents: Tangents,
  outputs: Outputs,
  index: Tensor,
  source: Sizes,
  accumulate: boolean,
): Tensor {
  const [into, from] = pair(tangents, outputs, source);
  return O.put(into, index, from, accumulate);
}

/** Members without a tangent count as zeros. */
export function catTangent(tangents: Tangents, shapes: readonly unknown[], dim: number): Tensor {
  const all = tangents.map((t, i) => orZeros(t, shapes[i] as Sizes, tangents));
  return O.cat(all, dim);
}

export function stackTangent(tangents: Tangents, dim: number): Tensor {
  const { _shape } = tangents.find((t) => t !== null) as Tensor;
  const all = tangents.map((t) => orZeros(t, _shape, tangents));
  return O.stack(all, dim);
}

/** The elements of planes at indices. */
export function planesAt(tangent: Tensor, indices: Tensor, dims: number): Tensor {
  const flat = (t: Tensor): Tensor => {
    const lead = t._shape.slice(0, -dims);
    return O.reshape(t, [...lead, numelOf(t._shape.slice(-dims))]);
  };
  return O.reshape(O.gather(flat(tangent), -1, flat(indices), false), indices._shape);
}

/** What each element of both weighs in the result that it goes to. */
function ofWeights(
  [ofSelf = null, ofSource = null]: Tangents,
  [own, theirs]: readonly [Tensor, Tensor],
  add: (from: Tensor) => Tensor,
): Tensor {
  return plus(ofSelf === null ? null : ofSelf.mul(own), ofSource === null ? null : add(ofSource.mul(theirs))) as Tensor;
}

export function scatterReduceTangent(
  tangents: Tangents,
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor,
  reduce: string,
  includeSelf: boolean,
  result: Tensor,
): Tensor {
  const ones = result.newOnes(result._shape);
  const source = narrowed(src, index);
  const weights = scatterReduceBackward(ones, self, dim, index, source, reduce, includeSelf, result);
  const [ofSelf = null, ofSource = null] = tangents;
  const given = [ofSelf, ofSource === null ? null : narrowed(ofSource, index)];
  return ofWeights(given, weights, (from) => O.scatter_add(from.newZeros(result._shape), dim, index, from));
}

/** The source may reach beyond the index. */
function narrowed(t: Tensor, index: Tensor): Tensor {
  return index._shape.reduce((part, n, d) => (part._shape[d] === n ? part : part.narrow(d, 0, n)), t);
}

export function indexReduceTangent(
  tangents: Tangents,
  self: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  reduce: string,
  includeSelf: boolean,
  result: Tensor,
): Tensor {
  const ones = result.newOnes(result._shape);
  const weights = indexReduceBackward(ones, self, dim, index, source, reduce, includeSelf, result);
  const d = result.ndim === 0 ? 0 : wrapDim(dim, result.ndim);
  return ofWeights(tangents, weights, (from) => O.index_add(from.newZeros(result._shape), d, index, from, 1));
}
