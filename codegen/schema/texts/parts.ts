/** Parts of matrices, grids, and products along chosen dimensions. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "triangleRank",
    error: "RuntimeError",
    code: "shape",
    text: "{op}: input tensor must have at least 2 dimensions",
  },
  {
    name: "sameDiagonalDims",
    error: "RuntimeError",
    code: "shape",
    text: "diagonal dimensions cannot be identical {first}, {second}",
  },
  {
    name: "diagRank",
    error: "RuntimeError",
    code: "shape",
    text: "diag(): Supports 1D or 2D tensors. Got {rank}D",
  },
  {
    name: "scatterSlice",
    error: "RuntimeError",
    code: "shape",
    text: "expected src to have a size equal to the slice of self. src size = {source}, slice size = {slice}",
  },
  {
    name: "blockRank",
    error: "RuntimeError",
    code: "shape",
    text: "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {at} has {rank} dimensions",
  },
  {
    name: "meshgridOfNone",
    error: "RuntimeError",
    code: "runtime",
    text: "meshgrid expects a non-empty TensorList",
  },
  {
    name: "meshgridDtypes",
    error: "RuntimeError",
    code: "dtype",
    text: "meshgrid expects all tensors to have the same dtype",
  },
  {
    name: "meshgridRank",
    error: "RuntimeError",
    code: "shape",
    text: "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {shape}",
  },
  {
    name: "meshgridIndexing",
    error: "RuntimeError",
    code: "runtime",
    text: 'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}',
  },
  {
    name: "cdistRank",
    error: "RuntimeError",
    code: "shape",
    text: "cdist only supports at least 2D tensors, X{which} got: {rank}D",
  },
  {
    name: "cdistDtype",
    error: "RuntimeError",
    code: "dtype",
    text: "cdist only supports floating-point dtypes, X{which} got: {got}",
  },
  {
    name: "cdistColumns",
    error: "RuntimeError",
    code: "shape",
    text: "X1 and X2 must have the same number of columns. X1: {first} X2: {second}",
  },
  {
    name: "cdistPower",
    error: "RuntimeError",
    code: "runtime",
    text: "cdist only supports non-negative p values",
  },
  {
    name: "aminmaxComplex",
    error: "TypeError",
    code: "dtype",
    text: "aminmax not implemented for {got}",
  },
  {
    name: "aminmaxOfNone",
    error: "RuntimeError",
    code: "shape",
    text: "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.",
  },
  {
    name: "aminmaxDim",
    error: "IndexError",
    code: "index",
    text: "aminmax: Expected reduction dim {dim} to have non-zero size.",
  },
  {
    name: "einsumOfNone",
    error: "ValueError",
    code: "value",
    text:
      "einsum(): must specify the equation string and at least one operand, or at least one operand and " +
      "its subscripts list",
  },
  {
    name: "einsumRepeated",
    error: "RuntimeError",
    code: "shape",
    text: "einsum(): subscript {letter} is repeated for operand {at} but the sizes don't match, {size} != " + "{seen}",
  },
  {
    name: "einsumSizes",
    error: "RuntimeError",
    code: "shape",
    text:
      "einsum(): subscript {letter} has size {size} for operand {at} which does not broadcast with " +
      "previously seen size {seen}",
  },
  {
    name: "einsumTwoEllipses",
    error: "RuntimeError",
    code: "runtime",
    text: "einsum(): found '.' for operand {at} for which an ellipsis was already found",
  },
  {
    name: "einsumDot",
    error: "RuntimeError",
    code: "runtime",
    text: "einsum(): found '.' for operand {at} that is not part of any ellipsis",
  },
  {
    name: "einsumFewerOperands",
    error: "RuntimeError",
    code: "runtime",
    text: "einsum(): fewer operands were provided than specified in the equation",
  },
  {
    name: "einsumMoreOperands",
    error: "RuntimeError",
    code: "runtime",
    text: "einsum(): more operands were provided than specified in the equation",
  },
  {
    name: "einsumSubscript",
    error: "RuntimeError",
    code: "runtime",
    text: "einsum(): invalid subscript given at index {at} in the equation string, subscripts must be in " + "[a-zA-Z]",
  },
  {
    name: "einsumOutputEllipses",
    error: "RuntimeError",
    code: "runtime",
    text: "einsum(): found '.' for output but an ellipsis (...) was already found",
  },
  {
    name: "einsumOutputDot",
    error: "RuntimeError",
    code: "runtime",
    text: "einsum(): found '.' for output that is not part of any ellipsis (...)",
  },
  {
    name: "einsumOutputTwice",
    error: "RuntimeError",
    code: "runtime",
    text: "einsum(): output subscript {letter} appears more than once in the output",
  },
  {
    name: "einsumOutputUnknown",
    error: "RuntimeError",
    code: "runtime",
    text: "einsum(): output subscript {letter} does not appear in the equation for any input operand",
  },
  {
    name: "einsumRank",
    error: "RuntimeError",
    code: "shape",
    text:
      "einsum(): the number of subscripts in the equation ({names}) does not match the number of " +
      "dimensions ({rank}) for operand {at}{tail}",
  },
  {
    name: "tensordotNegative",
    error: "RuntimeError",
    code: "runtime",
    text: "tensordot expects dims >= 0, but got dims={dims}",
  },
  {
    name: "tensordotTooMany",
    error: "RuntimeError",
    code: "shape",
    text: "tensordot expects dims < ndim_a or ndim_b, but got dims={dims}",
  },
  {
    name: "tensordotLists",
    error: "RuntimeError",
    code: "runtime",
    text: "both dimension lists should have same length",
  },
  {
    name: "tensordotDtypes",
    error: "RuntimeError",
    code: "dtype",
    text: "both inputs should have same dtype",
  },
  {
    name: "tensordotSizes",
    error: "RuntimeError",
    code: "shape",
    text:
      "contracted dimensions need to match, but first has size {first} in dim {dim} and second has size " +
      "{second} in dim {other}",
  },
  {
    name: "aminmaxOut",
    error: "ValueError",
    code: "value",
    text: "aminmax(): the `min` and `max` out= tensors must not overlap.",
  },
  {
    name: "cdistMode",
    error: "ValueError",
    code: "value",
    text: "{mode} is not a valid value for compute_mode",
  },
] as const satisfies readonly TextSchema[];
