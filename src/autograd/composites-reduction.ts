/** Reductions written with other operators. */
import * as O from "../../generated/ops.ts";
import type { Tensor } from "../tensor/tensor.ts";

export function maxOther(self: Tensor, other: Tensor, out?: Tensor): Tensor {
  return O.maximum(self, other, out);
}

export function minOther(self: Tensor, other: Tensor, out?: Tensor): Tensor {
  return O.minimum(self, other, out);
}
