/** Gradients of products of matrices, of softmax and of losses. */
import * as O from "../../generated/ops.ts";
import type { Scalar } from "../tensor/complex.ts";
import type { DType } from "../tensor/dtype.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { conj, scaled } from "./formulas-common.ts";

/** The strides of a matrix that lies column after column. */
function isColumnMajor(strides: readonly number[], rows: number): boolean {
  return strides[0] === 1 && strides[1] === rows;
}

/** alpha * grad @ other^H, in the layout of the first factor. */
export function mmSelfBackward(grad: Tensor, other: Tensor, strides: readonly number[], alpha: Scalar): Tensor {
  const rows = grad._shape[0] as number;
  const g = isColumnMajor(strides, rows) ? O.t(O.mm(conj(other), O.t(grad))) : O.mm(grad, conj(O.t(other)));
  return scaled(g, alpha);
}

/** alpha * self^H @ grad, in the layout of the second factor. */
export function mmOtherBackward(grad: Tensor, self: Tensor, strides: readonly number[], alpha: Scalar): Tensor {
  const rows = self._shape[1] as number;
  const g = isColumnMajor(strides, rows) ? O.t(O.mm(O.t(grad), conj(self))) : O.mm(conj(O.t(self)), grad);
  return scaled(g, alpha);
}

/** A gradient that every product of a batch receives. */
export function overBatch(grad: Tensor, batches: readonly number[]): Tensor {
  return O.expand(O.unsqueeze(grad, 0), [batches[0] as number, ...grad._shape], false);
}

export function softmaxBackward(grad: Tensor, result: Tensor, dim: number, dtype: DType): Tensor {
  return O._softmax_backward_data(grad, result, dim, dtype);
}

export function logSoftmaxBackward(grad: Tensor, result: Tensor, dim: number, dtype: DType): Tensor {
  return O._log_softmax_backward_data(grad, result, dim, dtype);
}

/** Gradients of grad_input = (grad - sum(grad * result)) * result. */
export function softmaxDoubleBackward(gg: Tensor, grad: Tensor, result: Tensor, dim: number): (Tensor | null)[] {
  const products = gg.mul(result).sum(dim, { keepdim: true });
  const toGrad = gg.sub(products).mul(result);
  const total = grad.mul(result).sum(dim, { keepdim: true });
  const toResult = gg.mul(grad.sub(total)).sub(grad.mul(products));
  return [toGrad, toResult];
}

/** Gradients of grad_input = grad - exp(result) * sum(grad). */
export function logSoftmaxDoubleBackward(gg: Tensor, grad: Tensor, result: Tensor, dim: number): (Tensor | null)[] {
  const p = result.exp();
  const toGrad = gg.sub(gg.mul(p).sum(dim, { keepdim: true }));
  const toResult = gg
    .mul(p)
    .mul(grad.sum(dim, { keepdim: true }))
    .neg();
  return [toGrad, toResult];
}

/** Casts a softmax gradient back to the input's dtype. */
export function mseBackward(grad: Tensor, self: Tensor, target: Tensor, reduction: number): Tensor {
  const difference = self.sub(target.dtype.category === 0 ? target.to(self.dtype) : target);
  const factor = reduction === 1 ? 2 / Math.max(1, difference._numel) : 2;
  return difference.mul(factor).mul(grad);
}
