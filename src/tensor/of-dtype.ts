/** Tensors of dtypes that the compiler knows. */
import type { Complex } from "./complex.ts";
import type { DType, DTypeName } from "./dtype.ts";
import type { BoolTensor, Tensor } from "./tensor.ts";

/** A tensor whose elements are known to be complex numbers. Any tensor may stand where it is wanted. */
export type ComplexTensor = { item(): Complex } & Tensor;

type OfName<N extends DTypeName> = DType<N> | N | `torch.${N}`;

/** A tensor of a dtype that the compiler knows by its type: what `item()` gives follows from it. */
export type OfDType<D> = [D] extends [OfName<"bool">]
  ? BoolTensor
  : [D] extends [OfName<"complex64" | "complex128" | "cfloat" | "cdouble">]
    ? ComplexTensor
    : Tensor;
