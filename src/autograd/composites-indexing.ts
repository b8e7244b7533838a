/** Indexing and joining operators written with other operators. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { broadcastShapes, empty } from "../dispatch/allocate.ts";
import { onDevice } from "../dispatch/copy.ts";
import { indexVector } from "../dispatch/indexing-lists.ts";
import { contiguousFormat } from "../dispatch/memory-format.ts";
import { int64, uint8 } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { doubles } from "../tensor/values.ts";

type Out = Tensor | undefined;
type Tensors = readonly Tensor[];

/** One vector of coordinates for each dimension; a 0-dim tensor counts as a vector. */
export function whereNonzero(condition: Tensor): Tensor[] {
  const x = condition._shape.length === 0 ? O.unsqueeze(condition, 0) : condition;
  return O.unbind(O.nonzero(x), 1) as Tensor[];
}

export function nonzeroAsTuple(self: Tensor, asTuple: boolean): Tensor[] {
  return asTuple ? whereNonzero(self) : (O.nonzero(self) as unknown as Tensor[]);
}

export function argwhere(self: Tensor): Tensor {
  return O.nonzero(self);
}

export function takeAlongDim(self: Tensor, indices: Tensor, dim: number | null, out?: Out): Tensor {
  const op = "take_along_dim";
  if (indices.dtype !== int64) throw texts.takeAlongDimDtype(op, indices.dtype.scalarType);
  if (dim === null) return O.gather(self.view([-1]), 0, indices.view([-1]), false, out);
  const rank = self._shape.length;
  if (rank !== indices._shape.length) throw texts.takeAlongDimRanks(op, rank, indices._shape.length);
  const d = wrapDim(dim, rank);
  if (rank === 0) throw texts.dimOfScalar(op, d);
  const without = (t: Tensor): number[] => t._shape.map((n, k) => (k === d ? 1 : n));
  const common = broadcastShapes(without(self), without(indices), op);
  const fit = (t: Tensor): Tensor => {
    const shape = common.map((n, k) => (k === d ? (t._shape[k] as number) : n));
    return sameSizes(shape, t._shape) ? t : t.expand(shape);
  };
  // Places beyond either end go round.
  const n = self._shape[d] as number;
  const places = n === 0 ? indices : O.remainder(indices, n);
  return O.gather(fit(self), d, fit(places), false, out);
}

function requireSome(tensors: Tensors, op: string): void {
  if (tensors.length === 0) throw texts.emptyTensorList(op);
}

const asVector = (t: Tensor): Tensor => (t._shape.length === 0 ? t.reshape([1]) : t);
const asRow = (t: Tensor): Tensor => (t._shape.length < 2 ? asVector(t).unsqueeze(0) : t);
const asSheet = (t: Tensor): Tensor => (t._shape.length < 3 ? asRow(t).unsqueeze(-1) : t);

export function hstack(tensors: Tensors, out?: Out): Tensor {
  requireSome(tensors, "hstack");
  const list = tensors.map(asVector);
  return O.cat(list, (list[0] as Tensor)._shape.length === 1 ? 0 : 1, out);
}

export function vstack(tensors: Tensors, out?: Out): Tensor {
  requireSome(tensors, "vstack");
  return O.cat(tensors.map(asRow), 0, out);
}

export function dstack(tensors: Tensors, out?: Out): Tensor {
  requireSome(tensors, "dstack");
  return O.cat(tensors.map(asSheet), 2, out);
}

export function columnStack(tensors: Tensors, out?: Out): Tensor {
  requireSome(tensors, "column_stack");
  const list = tensors.map((t) => (t._shape.length < 2 ? t.reshape([t._numel, 1]) : t));
  return O.cat(list, 1, out);
}

export function tile(self: Tensor, dims: readonly number[]): Tensor {
  const lead = Math.max(0, self._shape.length - dims.length);
  return O.repeat(self, [...new Array<number>(lead).fill(1), ...dims]);
}

export function repeatInterleave(self: Tensor, repeats: number, dim: number | null, outputSize: number | null): Tensor {
  const op = "repeat_interleave";
  const d = dim === null ? 0 : wrapDim(dim, self._shape.length);
  if (repeats < 0) throw texts.negativeRepeats(op);
  const flat = dim === null ? self.reshape([-1]) : self;
  if (flat._shape.length === 0) throw texts.dimOutOfRange(op, -1, 0, 1);
  const total = (flat._shape[d] as number) * repeats;
  if (outputSize !== null && outputSize !== total) throw texts.outputSizeOfNumber(op, total, outputSize);
  const paired = [...flat._shape.slice(0, d + 1), repeats, ...flat._shape.slice(d + 1)];
  const each = O.clone(O.expand(O.unsqueeze(flat, d + 1), paired, false), contiguousFormat);
  return O.view(each, [...flat._shape.slice(0, d), total, ...flat._shape.slice(d + 1)]);
}

export function repeatInterleaveTensor(
  self: Tensor,
  repeats: Tensor,
  dim: number | null,
  outputSize: number | null,
): Tensor {
  const op = "repeat_interleave";
  const flat = dim === null ? self.reshape([-1]) : self;
  if (repeats._shape.length > 1) throw texts.repeatsRank(op);
  if (flat._shape.length === 0) throw texts.dimOfScalar(op, dim ?? 0);
  const d = dim === null ? 0 : wrapDim(dim, flat._shape.length);
  const n = flat._shape[d] as number;
  const each = repeats._numel === 1 ? repeats.reshape([1]).expand([n]) : repeats;
  if (each._numel !== n) throw texts.repeatsSize(op, each._numel, dim ?? d, n);
  return O.index_select(flat, d, repeatedPositions(each, outputSize));
}

/** 0, 1, …, each as often as `repeats` says, in the dtype of `repeats`. */
export function repeatInterleavePositions(repeats: Tensor, outputSize: number | null): Tensor {
  return repeatedPositions(repeats, outputSize).to(repeats.dtype);
}

function repeatedPositions(repeats: Tensor, outputSize: number | null): Tensor {
  const op = "repeat_interleave";
  if (repeats.dtype.category !== 1 || (!repeats.dtype.isSigned && repeats.dtype !== uint8)) {
    throw texts.integersOnly(op, "repeat_interleave_cpu", repeats.dtype.scalarType, "Repeats");
  }
  if (repeats._shape.length !== 1) throw texts.repeatsNotAVector(op);
  if (!repeats.device.computes) {
    if (outputSize === null) throw texts.repeatsOnMeta(op);
    return empty([outputSize], int64, repeats.device);
  }
  if (outputSize !== null && outputSize < 0) throw texts.negativeDimension(op, outputSize, [outputSize]);
  const counts = repeats.tolist() as number[];
  const total = counts.reduce((sum, c) => sum + c, 0);
  if (outputSize !== null && outputSize !== total) throw texts.wrongOutputSize(op);
  if (counts.some((c) => c < 0)) throw texts.negativeRepeat(op);
  const list = doubles(total);
  let at = 0;
  counts.forEach((c, i) => {
    list.fill(i, at, at + c);
    at += c;
  });
  return onDevice(indexVector(list), repeats.device);
}
