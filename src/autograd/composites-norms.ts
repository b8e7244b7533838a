/** Norms by the names and orders that `norm` takes. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import type { Scalar } from "../tensor/complex.ts";
import type { DType } from "../tensor/dtype.ts";
import type { Tensor } from "../tensor/tensor.ts";

type Dims = number | readonly number[] | null;

export function norm(
  self: Tensor,
  p: Scalar | null,
  dim: Dims,
  keepdim: boolean,
  dtype: DType | null,
  out?: Tensor,
): Tensor {
  if (p === null) requireMatrix(dim);
  return O.linalg_vector_norm(self, p ?? 2, dim, keepdim, dtype, out);
}

/** Frobenius' norm, which is what no order means, is one of matrices. */
function requireMatrix(dim: Dims): void {
  if (dim !== null && typeof dim !== "number" && dim.length > 2) throw texts.normDims("norm", dim.join(" "));
}

export function normByName(
  self: Tensor,
  p: string,
  dim: Dims,
  keepdim: boolean,
  dtype: DType | null,
  out?: Tensor,
): Tensor {
  if (p === "nuc") throw texts.nuclearNorm("norm");
  if (p !== "fro") throw texts.normName("norm", p);
  requireMatrix(dim);
  return O.linalg_vector_norm(self, 2, dim, keepdim, dtype, out);
}
