/** Gradients of operators that choose, join or repeat elements. */
import * as O from "../../generated/ops.ts";
import { bool, uint8 } from "../tensor/dtype.ts";
import { numelOf } from "../tensor/size.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";

type Sizes = readonly number[];
type Indices = readonly (Tensor | null)[];

export function indexBackward(grad: Tensor, shape: Sizes, indices: Indices): Tensor {
  return O.index_put(grad.newZeros(shape), indices, grad, true);
}

/** What was written over has no gradient. One zero is filled in, which is refused through a mask of bytes. */
export function indexPutBackward(grad: Tensor, indices: Indices, accumulate: boolean): Tensor {
  if (accumulate) return grad;
  const masks = indices.map((t) => (t?.dtype === uint8 ? t.ne(0) : t));
  return O.index_put(grad, masks, grad.newZeros([]), false);
}

export function indexOf(grad: Tensor, indices: Indices): Tensor {
  return O.index(grad, indices);
}

export function indexSelectBackward(grad: Tensor, shape: Sizes, dim: number, index: Tensor): Tensor {
  return O.index_add(grad.newZeros(shape), dim, index, grad, 1);
}

/** The row of the padding gets none; a row that is named often may get a mean. */
export function embeddingBackward(
  grad: Tensor,
  shape: Sizes,
  indices: Tensor,
  padding: number,
  scale: boolean,
): Tensor {
  const [rows, width] = shape as readonly [number, number];
  const list = indices.reshape([-1]);
  const total = O.index_add_(grad.newZeros([rows, width]), 0, list, grad.reshape([list._numel, width]), 1);
  const counted = scale ? total.div(O.bincount(list, null, rows).clampMin(1).to(grad.dtype).unsqueeze(1)) : total;
  return padding < 0 ? counted : counted.indexFill(0, [padding], 0);
}

export function gatherBackward(grad: Tensor, shape: Sizes, dim: number, index: Tensor): Tensor {
  return O.scatter_add(grad.newZeros(shape), dim, index, grad);
}

/** Every element counts once, however often the index names it. */
export function indexFillValueBackward(grad: Tensor, dim: number, index: Tensor): Tensor {
  const filled = grad.newZeros(grad._shape, { dtype: bool }).indexFill(dim, index, true);
  return maskedFillValueBackward(grad, filled);
}

export function maskedFillValueBackward(grad: Tensor, mask: Tensor): Tensor {
  return grad.maskedFill(mask.logicalNot(), 0).sum();
}

export function maskedSelectBackward(grad: Tensor, shape: Sizes, mask: Tensor): Tensor {
  return O.masked_scatter(grad.newZeros(shape), mask, grad);
}

export function maskedScatterBackward(grad: Tensor, mask: Tensor, shape: Sizes): Tensor {
  const used = O.masked_select(grad, mask.expand(grad._shape));
  const missing = numelOf(shape) - used._numel;
  const all = missing > 0 ? O.cat([used, used.newZeros([missing])], 0) : used;
  return all.reshape(shape);
}

export function takeBackward(grad: Tensor, shape: Sizes, index: Tensor): Tensor {
  return O.put(grad.newZeros(shape), index, grad, true);
}

export function putBackward(grad: Tensor, index: Tensor, accumulate: boolean): Tensor {
  return accumulate ? grad : O.put(grad, index, grad.newZeros(index._shape), false);
}

/** The part of the gradient that belongs to each tensor of the list. */
export function catBackward(grad: Tensor, shapes: readonly unknown[], dim: number): Tensor[] {
  const d = wrapDim(dim, grad._shape.length);
  let at = 0;
  return (shapes as readonly Sizes[]).map((shape) => {
    if (shape.length === 1 && shape[0] === 0 && grad._shape.length !== 1) return grad.newZeros([0]);
    const n = shape[d] as number;
    const part = grad.narrow(d, at, n);
    at += n;
    return part;
  });
}

/** Sums the repetitions: each dimension seen as (which repetition, place in it). */
export function repeatBackward(grad: Tensor, repeats: Sizes, shape: Sizes): Tensor {
  if (repeats.includes(0)) return grad.newZeros(shape);
  const lead = repeats.length - shape.length;
  const paired: number[] = [];
  const sums: number[] = [];
  repeats.forEach((r, d) => {
    if (r !== 1 || d < lead) {
      sums.push(paired.length);
      paired.push(r);
    }
    if (d >= lead) paired.push(shape[d - lead] as number);
  });
  const split = grad.reshape(paired);
  return sums.length === 0 ? split : split.sum(sums);
}
