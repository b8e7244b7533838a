/** Gradients that stay, and are no part of a graph. */
import type { Tensor } from "../tensor/tensor.ts";

/** The gradient without what it came from. */
export function detachInPlace(grad: Tensor): Tensor {
  if (grad.gradFn !== null) return grad.detach_();
  return grad.requiresGrad_(false);
}
