/** View operators written with other operators. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { contiguousFormat } from "../dispatch/memory-format.ts";
import { resolveSize, viewStrides } from "../dispatch/view-geometry.ts";
import * as views from "../dispatch/views.ts";
import { batchOf, exampleOf } from "../tensor/batched.ts";
import { CPU } from "../tensor/device.ts";
import { warn } from "../tensor/errors.ts";
import { sameSizes } from "../tensor/size.ts";
import { CONJ, NEG, type Tensor, wrapDim } from "../tensor/tensor.ts";
import { requireParts } from "../tensor/values.ts";

export function reshape(self: Tensor, shape: readonly number[]): Tensor {
  const size = resolveSize(shape, self._numel);
  if (self._contiguous) return O.view(self, size);
  if (viewStrides(self, size) !== null) return O._reshape_alias(self, size);
  return O._unsafe_view(O.clone(self, contiguousFormat), size);
}

export function viewAs(self: Tensor, other: Tensor): Tensor {
  return O.view(self, other._shape);
}

export function reshapeAs(self: Tensor, other: Tensor): Tensor {
  return reshape(self, other._shape);
}

export function expandAs(self: Tensor, other: Tensor): Tensor {
  return O.expand(self, other._shape, false);
}

export function broadcastTo(self: Tensor, size: readonly number[]): Tensor {
  return O.expand(self, size, false);
}

const asList = (x: number | readonly number[]): readonly number[] => (typeof x === "number" ? [x] : x);

export function movedim(
  self: Tensor,
  source: number | readonly number[],
  destination: number | readonly number[],
): Tensor {
  const from = asList(source);
  const to = asList(destination);
  const rank = self._shape.length;
  if (from.length !== to.length) throw texts.movedimLengths(undefined, from, to);
  const src = from.map((d) => wrapDim(d, rank));
  const dst = to.map((d) => wrapDim(d, rank));
  if (new Set(src).size !== src.length) throw texts.movedimRepeatedSource(undefined, from);
  if (new Set(dst).size !== dst.length) throw texts.movedimRepeatedDestination(undefined, to);
  if (rank === 0) return O.alias(self);
  const order = new Array<number>(rank).fill(-1);
  src.forEach((d, i) => {
    order[dst[i] as number] = d;
  });
  const rest = self._shape.map((_, d) => d).filter((d) => !src.includes(d));
  return O.permute(
    self,
    order.map((d) => (d === -1 ? (rest.shift() as number) : d)),
  );
}

export function reverseDims(self: Tensor): Tensor {
  const rank = self._shape.length;
  if (rank !== 2 && rank !== 0) {
    warn(
      "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw " +
        "an error in a future release. Consider `x.mT` to transpose batches of matrices or " +
        "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
    );
  }
  return O.permute(
    self,
    self._shape.map((_, d) => rank - 1 - d),
  );
}

export function matrixTranspose(self: Tensor): Tensor {
  if (self._shape.length < 2) throw texts.notMatrices(undefined, self._shape.length);
  return O.transpose(self, -2, -1);
}

export function narrow(self: Tensor, dim: number, start: number | Tensor, length: number): Tensor {
  const s = typeof start === "number" ? start : startOf(start);
  if (self._shape.length === 0) throw texts.narrowOfScalar(undefined);
  if (length < 0) throw texts.narrowLengthNegative(undefined);
  const d = wrapDim(dim, self._shape.length);
  const n = self._shape[d] as number;
  if (s < -n || s > n) throw texts.narrowStartOutOfRange(undefined, -n, n, s);
  const from = s < 0 ? s + n : s;
  if (from + length > n) throw texts.narrowPastEnd(undefined, from, length, n);
  return O.slice(self, d, from, from + length, 1);
}

function startOf(start: Tensor): number {
  if (start._shape.length !== 0 || start.dtype.category !== 1) throw texts.narrowStartNotInteger(undefined);
  return Number(start.item());
}

export function chunk(self: Tensor, chunks: number, dim: number): Tensor[] {
  if (self._shape.length === 0) throw texts.chunkOfScalar(undefined);
  if (chunks <= 0) throw texts.chunksNotPositive(undefined, chunks);
  const n = self._shape[wrapDim(dim, self._shape.length)] as number;
  const size = Math.ceil(n / chunks);
  if (n === 0) {
    requireParts(chunks, "chunk");
    return O.split_sizes(self, new Array(chunks).fill(0), dim);
  }
  return O.split(self, size, dim);
}

export function tensorSplit(self: Tensor, sections: number, dim: number): Tensor[] {
  requireDims(self);
  const d = wrapDim(dim, self._shape.length);
  if (sections <= 0) throw texts.sectionsNotPositive(undefined, sections);
  const n = self._shape[d] as number;
  const size = Math.floor(n / sections);
  const longer = n % sections;
  requireParts(sections, "tensor_split");
  const parts: Tensor[] = [];
  let at = 0;
  for (let i = 0; i < sections; i++) {
    const next = at + size + (i < longer ? 1 : 0);
    parts.push(O.slice(self, d, at, next, 1));
    at = next;
  }
  return parts;
}

function requireDims(self: Tensor): void {
  if (self._shape.length === 0) throw texts.tensorSplitOfScalar(undefined);
}

export function tensorSplitAt(self: Tensor, indices: readonly number[], dim: number): Tensor[] {
  requireDims(self);
  const d = wrapDim(dim, self._shape.length);
  const n = self._shape[d] as number;
  const parts: Tensor[] = [];
  let at = 0;
  for (const i of [...indices, n]) {
    parts.push(O.slice(self, d, at, i, 1));
    at = i;
  }
  return parts;
}

export function tensorSplitBy(self: Tensor, by: Tensor, dim: number): Tensor[] {
  requireDims(self);
  if (by.device !== CPU) throw texts.tensorSplitDevice(undefined, by.device.toString());
  if (by.dtype.name !== "int64") throw texts.tensorSplitDtype(undefined, by.dtype.scalarType);
  if (by._shape.length > 1) throw texts.tensorSplitRank(undefined, by._shape.length);
  if (by._shape.length === 0) return tensorSplit(self, Number(by.item()), dim);
  return tensorSplitAt(self, by.tolist() as number[], dim);
}

export function flatten(self: Tensor, startDim: number, endDim: number): Tensor {
  const rank = self._shape.length;
  const a = wrapDim(startDim, rank);
  const b = wrapDim(endDim, rank);
  if (a > b) throw texts.flattenOrder(undefined);
  if (rank === 0) return reshape(self, [1]);
  if (a === b) return self;
  const middle = self._shape.slice(a, b + 1).reduce((x, y) => x * y, 1);
  return reshape(self, [...self._shape.slice(0, a), middle, ...self._shape.slice(b + 1)]);
}

export function unflatten(self: Tensor, dim: number, sizes: readonly number[]): Tensor {
  if (sizes.length === 0) throw texts.unflattenEmpty(undefined);
  if (self._shape.length === 0) throw texts.unflattenScalar(undefined, dim);
  const d = wrapDim(dim, self._shape.length);
  const n = self._shape[d] as number;
  let known = 1;
  let unknown = -1;
  sizes.forEach((s, i) => {
    if (s === -1) unknown = i;
    else known *= s;
  });
  const shape = [...sizes];
  if (unknown >= 0 && known > 0 && n % known === 0) shape[unknown] = n / known;
  if (shape.reduce((x, y) => x * y, 1) !== n) throw texts.unflattenProduct(undefined, sizes, d, n);
  return O.view(self, [...self._shape.slice(0, d), ...shape, ...self._shape.slice(d + 1)]);
}

export function ravel(self: Tensor): Tensor {
  return reshape(self._contiguous ? self : O.clone(self, contiguousFormat), [-1]);
}

export function detach(self: Tensor): Tensor {
  const batch = batchOf(self);
  if (batch !== null) return exampleOf(batch.owner, detach(batch.value), batch.dim);
  return views.detach(self);
}

export function real(self: Tensor): Tensor {
  if (self.dtype.category !== 3) return self;
  const plain = self._bits & CONJ ? O._conj(self) : self;
  return O.select(O.view_as_real(plain), -1, 0);
}

export function imag(self: Tensor): Tensor {
  if (self.dtype.category !== 3) throw texts.imagOfReal(undefined);
  if (self._bits & CONJ) return O._neg_view(O.select(O.view_as_real(O._conj(self)), -1, 1));
  return O.select(O.view_as_real(self), -1, 1);
}

export function conj(self: Tensor): Tensor {
  return self.dtype.category === 3 ? O._conj(self) : self;
}

export function resolveConj(self: Tensor): Tensor {
  return self._bits & CONJ ? O.clone(self, null) : self;
}

export function resolveNeg(self: Tensor): Tensor {
  return self._bits & NEG ? O.clone(self, null) : self;
}

export function sumToSize(self: Tensor, size: readonly number[]): Tensor {
  // torch adds up what becomes a single number, even where there is only one.
  if (size.length === 0) return self.sum();
  if (sameSizes(self._shape, size)) return self;
  const lead = self._shape.length - size.length;
  const fits = lead >= 0 && size.every((n, d) => n === self._shape[d + lead] || n === 1);
  if (!fits) throw texts.notExpandable(undefined, size, self._shape);
  const dims: number[] = [];
  self._shape.forEach((n, d) => {
    if (d < lead || (size[d - lead] === 1 && n !== 1)) dims.push(d);
  });
  const summed = self.sum(dims, { keepdim: true });
  return lead > 0 ? O.view(summed, size) : summed;
}

export function fliplr(self: Tensor): Tensor {
  if (self._shape.length < 2) throw texts.tooFewDimensions("fliplr", 2);
  return O.flip(self, [1]);
}

export function flipud(self: Tensor): Tensor {
  if (self._shape.length < 1) throw texts.tooFewDimensions("flipud", 1);
  return O.flip(self, [0]);
}
