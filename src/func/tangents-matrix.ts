/** Tangents of products of matrices that are added to something, and of softmax. */
import * as O from "../../generated/ops.ts";
import type { Scalar } from "../tensor/complex.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { plus, type Tangents } from "./tangents-common.ts";
import { times } from "./tangents-pointwise.ts";

type Factors = readonly [first: Tensor, second: Tensor];
type Product = (first: Tensor, second: Tensor) => Tensor;

/** beta * self + alpha * product(first, second) */
function ofSum(tangents: Tangents, [first, second]: Factors, product: Product, beta: Scalar, alpha: Scalar): Tensor {
  const [ofSelf = null, ofFirst = null, ofSecond = null] = tangents;
  // Each by itself, as torch does: an infinite factor of both tells.
  const both = plus(
    ofFirst === null ? null : times(product(ofFirst, second), alpha),
    ofSecond === null ? null : times(product(first, ofSecond), alpha),
  );
  return plus(ofSelf === null ? null : times(ofSelf, beta), both) as Tensor;
}

export function addmmTangent(tangents: Tangents, a: Tensor, b: Tensor, beta: Scalar, alpha: Scalar): Tensor {
  return ofSum(tangents, [a, b], O.mm, beta, alpha);
}

export function baddbmmTangent(tangents: Tangents, a: Tensor, b: Tensor, beta: Scalar, alpha: Scalar): Tensor {
  return ofSum(tangents, [a, b], O.bmm, beta, alpha);
}

export function addbmmTangent(tangents: Tangents, a: Tensor, b: Tensor, beta: Scalar, alpha: Scalar): Tensor {
  return ofSum(tangents, [a, b], (x, y) => O.bmm(x, y).sum(0), beta, alpha);
}

export function addmvTangent(tangents: Tangents, a: Tensor, b: Tensor, beta: Scalar, alpha: Scalar): Tensor {
  return ofSum(tangents, [a, b], O.mv, beta, alpha);
}

export function addrTangent(tangents: Tangents, a: Tensor, b: Tensor, beta: Scalar, alpha: Scalar): Tensor {
  return ofSum(tangents, [a, b], (x, y) => x.outer(y), beta, alpha);
}

export function logSoftmaxTangent(tangent: Tensor, result: Tensor, dim: number): Tensor {
  return tangent.sub(result.exp().mul(tangent).sum(dim, { keepdim: true }));
}

/** Of (grad - sum(grad * output)) * output. */
export function softmaxBackwardTangent(
  [ofGrad = null, ofOutput = null]: Tangents,
  grad: Tensor,
  output: Tensor,
  dim: number,
): Tensor {
  const total = (t: Tensor): Tensor => t.sum(dim, { keepdim: true });
  const first = ofGrad === null ? null : ofGrad.sub(total(ofGrad.mul(output))).mul(output);
  if (ofOutput === null) return first as Tensor;
  const rest = grad.sub(total(grad.mul(output)));
  return plus(first, ofOutput.mul(rest).sub(output.mul(total(grad.mul(ofOutput))))) as Tensor;
}

/** Of grad - exp(output) * sum(grad). */
export function logSoftmaxBackwardTangent(
  [ofGrad = null, ofOutput = null]: Tangents,
  grad: Tensor,
  output: Tensor,
  dim: number,
): Tensor {
  const total = (t: Tensor): Tensor => t.sum(dim, { keepdim: true });
  const powers = output.exp();
  const first = ofGrad === null ? null : ofGrad.sub(powers.mul(total(ofGrad)));
  if (ofOutput === null) return first as Tensor;
  return plus(first, ofOutput.mul(powers).mul(total(grad)).neg()) as Tensor;
}
