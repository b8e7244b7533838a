/** Helpers that gradient formulas name. */
import type { Tensor } from "../tensor/tensor.ts";
import { asStridedBackward } from "./gradients.ts";

export * from "./formulas-activations.ts";
export * from "./formulas-attention.ts";
export * from "./formulas-common.ts";
export * from "./formulas-images.ts";
export * from "./formulas-index-reduce.ts";
export * from "./formulas-indexing.ts";
export * from "./formulas-losses.ts";
export * from "./formulas-matrix.ts";
export * from "./formulas-normalization.ts";
export * from "./formulas-numbers.ts";
export * from "./formulas-pointwise.ts";
export * from "./formulas-products.ts";
export * from "./formulas-recurrent.ts";
export * from "./formulas-reduction.ts";
export { sumTo } from "./gradients.ts";

/** Undoes a permutation. */
export function permuteBackward(grad: Tensor, dims: readonly number[]): Tensor {
  const inverse = new Array<number>(dims.length);
  dims.forEach((d, i) => {
    inverse[d < 0 ? d + dims.length : d] = i;
  });
  return grad.permute(inverse);
}

/** Puts back the dimensions of size one that squeeze removed. */
export function unsqueezeTo(grad: Tensor, shape: readonly number[]): Tensor {
  return grad.view(shape);
}

/** The gradient of one element along a dimension. */
export function selectBackward(grad: Tensor, shape: readonly number[], dim: number, index: number): Tensor {
  const g = grad.newZeros(shape);
  g.select(dim, index).copy_(grad);
  return g;
}

export function sliceBackward(
  grad: Tensor,
  shape: readonly number[],
  dim: number,
  start: number | null,
  end: number | null,
  step: number,
): Tensor {
  const g = grad.newZeros(shape);
  g.slice(dim, start, end, step).copy_(grad);
  return g;
}

export function diagonalBackward(
  grad: Tensor,
  shape: readonly number[],
  offset: number,
  dim1: number,
  dim2: number,
): Tensor {
  const g = grad.newZeros(shape);
  g.diagonal(offset, dim1, dim2).copy_(grad);
  return g;
}

export function unfoldBackward(
  grad: Tensor,
  shape: readonly number[],
  dim: number,
  size: number,
  step: number,
): Tensor {
  if (shape.length === 0) return size === 0 ? grad.newZeros([]) : grad.reshape([]);
  const g = grad.newZeros(shape);
  const d = dim < 0 ? dim + shape.length : dim;
  for (let i = 0; i < (grad._shape[d] as number); i++) {
    g.narrow(d, i * step, size).add_(grad.select(d, i).movedim(-1, d));
  }
  return g;
}

/** Puts the gradients of parts together; parts without one count as zero. */
export function joinParts(
  grads: readonly (Tensor | null)[],
  shape: readonly number[],
  dim: number,
  sizes: readonly number[],
): (Tensor | null)[] {
  const some = grads.find((g) => g !== null && g !== undefined);
  if (!some) return [null];
  const g = some.newZeros(shape);
  let at = 0;
  sizes.forEach((n, i) => {
    const part = grads[i];
    if (part) g.narrow(dim, at, n).copy_(part);
    at += n;
  });
  return [g];
}

export function unbindBackward(
  grads: readonly (Tensor | null)[],
  shape: readonly number[],
  dim: number,
): (Tensor | null)[] {
  const some = grads.find((g) => g !== null && g !== undefined);
  if (!some) return [null];
  const g = some.newZeros(shape);
  grads.forEach((part, i) => {
    if (part) g.select(dim, i).copy_(part);
  });
  return [g];
}

/** The sizes that split() gave. */
export function splitSizes(total: number, size: number): number[] {
  const out: number[] = [];
  for (let at = 0; at < total; at += size) out.push(Math.min(size, total - at));
  return out.length === 0 ? [0] : out;
}

export function splitBackward(
  grads: readonly (Tensor | null)[],
  shape: readonly number[],
  size: number,
  dim: number,
): (Tensor | null)[] {
  const d = dim < 0 ? dim + shape.length : dim;
  return joinParts(grads, shape, dim, splitSizes(shape[d] as number, size));
}

/** Zeros of a gradient's shape: nothing flows back, not even NaN. */
export function zerosOf(grad: Tensor): Tensor {
  return grad.newZeros(grad._shape);
}

/** Every element back to where it came from, the last move first. */
export function rollBackward(grad: Tensor, shifts: readonly number[], dims: number | readonly number[] | null): Tensor {
  const back = shifts.map((n) => -n).reverse();
  return grad.roll(back, { dims: typeof dims === "number" || dims === null ? dims : [...dims].reverse() });
}

/** The gradient of a strided view, of the tensor that it was taken from. */
export function asStridedGrad(
  grad: Tensor,
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
  size: readonly number[],
  stride: readonly number[],
  storageOffset: number | null,
): Tensor {
  const view = { shape: size, strides: stride, offset: storageOffset ?? offset };
  return asStridedBackward(grad, { shape, strides, offset }, view);
}
