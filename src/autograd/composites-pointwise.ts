/** Pointwise operators written with other operators. */
import * as O from "../../generated/ops.ts";
import type { Tensor } from "../tensor/tensor.ts";

export function square(self: Tensor, out?: Tensor): Tensor {
  return O.pow(self, 2, out);
}

export function square_(self: Tensor): Tensor {
  return O.pow_(self, 2);
}
