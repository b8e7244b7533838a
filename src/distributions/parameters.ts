/** Parameters and values brought to one shape, and probabilities turned into logits. */
import { sub, where, zerosLike } from "../../generated/functional.ts";
import { tensor } from "../api/tensor-data.ts";
import { enableGrad } from "../autograd/api.ts";
import { broadcastShapes } from "../dispatch/allocate.ts";
import type { Scalar } from "../tensor/complex.ts";
import { getDefaultDtype } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";

/** What a parameter may be given as. */
export type Parameter = Tensor | number | Scalar;

/** Tensors in one shape; numbers get dtype and device of the first tensor. */
export function broadcastAll<A extends readonly Parameter[]>(...values: A): { [K in keyof A]: Tensor } {
  const first = values.find((value) => value instanceof Tensor);
  const options = { dtype: first?.dtype ?? getDefaultDtype(), device: first?.device };
  const tensors = values.map((value) => (value instanceof Tensor ? value : tensor(value, options)));
  let shape: readonly number[] = [];
  for (const one of tensors) shape = broadcastShapes(shape, one.shape, "broadcast_tensors");
  const grown = tensors.map((one) => (sameSizes(one.shape, shape) ? one : one.expand([...shape])));
  return grown as { [K in keyof A]: Tensor };
}

/** The sum over so many of the last dimensions. */
export function sumRightmost(value: Tensor, dims: number): Tensor {
  return dims === 0 ? value : value.reshape([...value.shape.slice(0, -dims), -1]).sum(-1);
}

/** The distance from one to the next number. */
const EPS: Record<string, number> = {
  float64: Number.EPSILON,
  float32: 2 ** -23,
  float16: 2 ** -10,
  bfloat16: 2 ** -7,
};

/** The lowest finite number. */
const LOWEST: Record<string, number> = {
  float64: -Number.MAX_VALUE,
  float32: -(2 - 2 ** -23) * 2 ** 127,
  float16: -65504,
  bfloat16: -(2 - 2 ** -7) * 2 ** 127,
};

/** The lowest finite number of a tensor's dtype. */
export function lowest(like: Tensor): number {
  return LOWEST[like.dtype.name] ?? -Number.MAX_VALUE;
}

/** Probabilities that are neither zero nor one. */
export function clampProbs(probs: Tensor): Tensor {
  const eps = EPS[probs.dtype.name] ?? Number.EPSILON;
  return probs.clamp(eps, 1 - eps);
}

/** Logits of probabilities: of a one against a zero, or of each position. */
export function probsToLogits(probs: Tensor, binary = false): Tensor {
  return enableGrad(() => {
    const inside = clampProbs(probs);
    return binary ? inside.log().sub(inside.neg().log1p()) : inside.log();
  });
}

/** Probabilities of logits. */
export function logitsToProbs(logits: Tensor, binary = false): Tensor {
  return enableGrad(() => (binary ? logits.sigmoid() : logits.softmax(-1)));
}

/** log(1 + exp(x)), which is x where that is far above zero. */
export function softplus(x: Tensor): Tensor {
  return where(x.gt(20), x, x.clamp({ max: 20 }).exp().log1p());
}

/** log(sigmoid(x)). */
export function logSigmoid(x: Tensor): Tensor {
  // The smaller one of two equals passes half of the gradient on, which is what torch's formula gives at zero.
  return x.minimum(zerosLike(x.detach())).sub(x.abs().neg().exp().log1p());
}

/** The loss of probabilities, given as logits, against targets. */
export function binaryCrossEntropy(logits: Tensor, target: Tensor): Tensor {
  return sub(1, target).mul(logits).sub(logSigmoid(logits));
}
