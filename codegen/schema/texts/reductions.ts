/** Reductions, scans, sorting. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "reductionOutDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "Expected out tensor to have dtype {wanted}, but got {got} instead",
  },
  {
    name: "dimNeededForEmpty",
    error: "RuntimeError",
    code: "empty",
    text:
      "{op}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the " +
      "'dim' argument.",
  },
  {
    name: "emptyReductionDim",
    error: "IndexError",
    code: "index",
    text: "{op}(): Expected reduction dim {dim} to have non-zero size.",
  },
  {
    name: "extremesOutCast",
    error: "RuntimeError",
    code: "runtime",
    text:
      "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be true, but " +
      "got false.  (Could this error message be improved?  If so, please report an enhancement request to " +
      "PyTorch.)",
  },
  {
    name: "noComplexInput",
    error: "TypeError",
    code: "type",
    text: "{op}(): does not support complex input",
  },
  {
    name: "inputOutDtypes",
    error: "RuntimeError",
    code: "runtime",
    text: "Expected the dtype for input and out to match, but got {input} for input's dtype and {out} for out's dtype.",
  },
  {
    name: "noBoolInput",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "{op}(): does not support bool input",
  },
  {
    name: "dimNeededWithoutElements",
    error: "IndexError",
    code: "index",
    text: "{op}(): Expected reduction dim to be specified for input.numel() == 0.",
  },
  {
    name: "reductionRankTooHigh",
    error: "RuntimeError",
    code: "runtime",
    text: "only tensors with up to 64 dims are supported",
  },
  {
    name: "momentsDtype",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "std and var only support floating point and complex dtypes",
  },
  {
    name: "momentsOfDtype",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "{op} only support floating point and complex dtypes",
  },
  {
    name: "badInPlaceDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "Bad in-place call: input tensor dtype {input} and output tensor dtype {output} should match",
  },
  {
    name: "meanDtype",
    error: "NotImplementedError",
    code: "not_implemented",
    text:
      "mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. " +
      "Got: {got}",
  },
  {
    name: "boolResultOnly",
    error: "RuntimeError",
    code: "runtime",
    text: "{op} only supports bool tensor for result, got: {got}",
  },
  {
    name: "sortOfComplex",
    error: "TypeError",
    code: "type",
    text: " Sort does not support complex dtypes on CPU",
  },
  {
    name: "topkOutOfRange",
    error: "RuntimeError",
    code: "index",
    text: "selected index k out of range",
  },
  {
    name: "topkOfComplex",
    error: "TypeError",
    code: "type",
    text: " topk does not support complex dtypes on CPU",
  },
  {
    name: "topkOfBool",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "topk does not support bool dtypes on CPU",
  },
  {
    name: "floatingOut",
    error: "RuntimeError",
    code: "runtime",
    text: "{op}(): Expected floating point type for result tensor, but got: {got}",
  },
  {
    name: "reductionDimOfScalar",
    error: "IndexError",
    code: "index",
    text: "{op}(): Expected reduction dim -1 or 0 for scalar but got {dim}",
  },
  {
    name: "quantileInterpolation",
    error: "RuntimeError",
    code: "runtime",
    text: "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {mode}",
  },
  {
    name: "quantileEmpty",
    error: "RuntimeError",
    code: "runtime",
    text: "quantile() input tensor must be non-empty",
  },
  {
    name: "quantileRank",
    error: "RuntimeError",
    code: "runtime",
    text: "quantile() q must be a scalar or 1D tensor",
  },
  {
    name: "quantileDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "quantile() input tensor must be either float or double dtype",
  },
  {
    name: "quantileDtypes",
    error: "RuntimeError",
    code: "runtime",
    text: "quantile() q tensor must be same dtype as the input tensor",
  },
  {
    name: "quantileRange",
    error: "RuntimeError",
    code: "runtime",
    text: "quantile() q values must be in the range [0, 1]",
  },
  {
    name: "quantileOutOfRange",
    error: "RuntimeError",
    code: "runtime",
    text: "quantile() q must be in the range [0, 1] but got {q}",
  },
  {
    name: "quantileTooLarge",
    error: "RuntimeError",
    code: "runtime",
    text: "quantile() input tensor is too large",
  },
  {
    name: "quantileOut",
    error: "RuntimeError",
    code: "runtime",
    text: "quantile() out tensor must be same dtype as the input tensor",
  },
  {
    name: "normOfWhole",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {dtype}",
  },
  {
    name: "normOfComplexOrder",
    error: "RuntimeError",
    code: "runtime",
    text: "linalg.vector_norm: Expected a non-complex scalar as the order of norm.",
  },
  {
    name: "normOfNothing",
    error: "RuntimeError",
    code: "empty",
    text:
      "linalg.vector_norm cannot compute the {order} norm on an empty tensor because the operation does not have an " +
      "identity",
  },
  {
    name: "normOfEmptyDim",
    error: "RuntimeError",
    code: "empty",
    text:
      "linalg.vector_norm cannot compute the {order} norm on the dimension {dim}because this dimension is empty and " +
      "the operation does not have an identity",
  },
  {
    name: "normDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "linalg.vector_norm: dtype should be floating point or complex, but got {dtype}",
  },
  {
    name: "normDtypeKind",
    error: "RuntimeError",
    code: "runtime",
    text: "linalg.vector_norm: dtype should be {kind} for {inputs} inputs, but got {dtype}",
  },
  {
    name: "normNarrows",
    error: "RuntimeError",
    code: "runtime",
    text:
      "linalg.vector_norm: the dtype of the input ({input}) should be convertible without narrowing to the specified " +
      "dtype ({dtype})",
  },
  {
    name: "normName",
    error: "RuntimeError",
    code: "runtime",
    text: "linalg.matrix_norm: Order {order} not supported.",
  },
  {
    name: "normDims",
    error: "RuntimeError",
    code: "runtime",
    text: "linalg.matrix_norm: dim must be a 2-tuple. Got {dims}",
  },
  {
    name: "nuclearNorm",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "norm(): the nuclear norm needs singular values, which zensor does not compute",
  },
  {
    name: "kthOutOfRange",
    error: "RuntimeError",
    code: "runtime",
    text: "kthvalue(): selected number k out of range for dimension {dim}",
  },
  {
    name: "kthValues",
    error: "RuntimeError",
    code: "dtype",
    text: "output values must be of same type as input",
  },
  {
    name: "kthIndices",
    error: "RuntimeError",
    code: "dtype",
    text: "output indices must be of scalar type Long",
  },
  {
    name: "medianValues",
    error: "RuntimeError",
    code: "dtype",
    text:
      "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type " +
      "torch.{got}Tensor does not equal torch.{wanted}Tensor (while checking arguments for median)",
  },
  {
    name: "medianIndices",
    error: "RuntimeError",
    code: "dtype",
    text:
      "Expected tensor for argument #1 'indices' to have scalar type Long; but got torch.{got}Tensor instead " +
      "(while checking arguments for median)",
  },
  {
    name: "modeResult",
    error: "RuntimeError",
    code: "dtype",
    text: "expected scalar type '{wanted}' but got '{got}' for {which} output",
  },
  {
    name: "bincountInputs",
    error: "RuntimeError",
    code: "runtime",
    text: "bincount only supports 1-d non-negative integral inputs.",
  },
  {
    name: "bincountWeights",
    error: "RuntimeError",
    code: "shape",
    text: "weights should be 1-d and have the same length as input",
  },
  {
    name: "bincountMinlength",
    error: "RuntimeError",
    code: "runtime",
    text: "minlength should be >= 0",
  },
] as const satisfies readonly TextSchema[];
