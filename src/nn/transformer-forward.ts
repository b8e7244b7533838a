/** What the stacks of Transformers share in their forward passes: activations, and masks that are causal. */

import * as O from "../../generated/ops.ts";
import { gelu } from "../autograd/composites-activations.ts";
import { functionalRelu } from "../autograd/composites-nn.ts";
import { type Device, defaultDevice } from "../tensor/device.ts";
import { type DType, getDefaultDtype } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** A nonlinearity by name, or as a function. */
export type Activation = "relu" | "gelu" | ((x: Tensor) => Tensor);

export function activated(activation: Activation, x: Tensor): Tensor {
  if (typeof activation === "function") return activation(x);
  return activation === "relu" ? functionalRelu(x, false) : gelu(x, "none");
}

/** -inf above the diagonal, zero elsewhere. */
export function squareMask(size: number, device: Device | null, dtype: DType | null): Tensor {
  const at = device ?? defaultDevice();
  const places = O.arange(size, null, at, false);
  const later = O.gt(places, O.unsqueeze(places, 1));
  return O.zeros([size, size], dtype ?? getDefaultDtype(), at, false).maskedFill_(later, -Infinity);
}

/** What was said of a mask, or whether it is the causal one of this size. */
export function isCausal(mask: Tensor | null, said: boolean | null, size: number): boolean {
  if (said !== null || mask === null) return said === true;
  if (!sameSizes(mask._shape, [size, size])) return false;
  const causal = squareMask(size, mask.device, mask.dtype.category === 2 ? mask.dtype : null);
  return mask.dtype.category === 2 && mask.device.type !== "meta" && mask.equal(causal);
}

/** Positions of a sequence. */
export function lengthOf(x: Tensor, batchFirst: boolean): number {
  return x._shape[x.ndim === 2 || !batchFirst ? 0 : 1] as number;
}
