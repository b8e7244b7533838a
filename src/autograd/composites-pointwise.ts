/** Pointwise operators written with other operators. */
import * as O from "../../generated/ops.ts";
import { bool } from "../tensor/dtype.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { imag } from "./composites-views.ts";

export function square(self: Tensor, out?: Tensor): Tensor {
  return O.pow(self, 2, out);
}

export function square_(self: Tensor): Tensor {
  return O.pow_(self, 2);
}

export function isreal(self: Tensor): Tensor {
  if (self.dtype.category < 3) return O.ones_like(self, bool, null, false, null);
  return O.eq(imag(self), 0);
}

export function polygamma(n: number, self: Tensor, out?: Tensor): Tensor {
  return O._polygamma(self, n, out);
}

export function polygammaOf(self: Tensor, n: number): Tensor {
  return O._polygamma(self, n);
}

export function polygammaOf_(self: Tensor, n: number): Tensor {
  return O._polygamma_(self, n);
}
