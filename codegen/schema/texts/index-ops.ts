/** Operators that take an index or a mask: gather, scatter, take, put, select, fill. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "selectIndexNotAVector",
    error: "IndexError",
    code: "index",
    text: "index_select(): Index is supposed to be a vector",
  },
  {
    name: "selectIndexOfScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "index_select(): Index to scalar can have only 1 value, got {count} value(s)",
  },
  {
    name: "selectIndexDtype",
    error: "RuntimeError",
    code: "runtime",
    text:
      "index_select(): Expected dtype int32 or int64 for index." +
      ' Plain numbers are float32: write a list, [0, 1], or dtype: "int64".',
  },
  {
    name: "selectFromNone",
    error: "RuntimeError",
    code: "runtime",
    text: "index_select(): self indexing axis dim should be positive",
  },
  {
    name: "selectResultDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "index_select(): self and result must have the same scalar type",
  },
  {
    name: "sourceShapeExceptDim",
    error: "RuntimeError",
    code: "runtime",
    text:
      "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = " +
      "{self} source.shape = {source}",
  },
  {
    name: "indexNotAVector",
    error: "IndexError",
    code: "index",
    text: "{op}(): Index is supposed to be a vector, but got dim: {rank} with type: {dtype} and size: {shape}",
  },
  {
    name: "indexDtype",
    error: "RuntimeError",
    code: "runtime",
    text:
      "{op}(): Expected dtype int32/int64 for index but got: {got}." +
      ' Plain numbers are float32: write a list, [0, 1], or dtype: "int64".',
  },
  {
    name: "pairDtypes",
    error: "RuntimeError",
    code: "runtime",
    text: "{op}(): {pair} must have the same scalar type",
  },
  {
    name: "indexingDimOfSource",
    error: "RuntimeError",
    code: "runtime",
    text: "{op}(): Indexing dim {dim} is out of bounds of the source tensor with dim {rank}",
  },
  {
    name: "indexCountForDim",
    error: "RuntimeError",
    code: "runtime",
    text: "{op}(): Number of indices ({count}) should be equal to source.size(dim): ({size}), for dim: {dim}",
  },
  {
    name: "indexRank",
    error: "IndexError",
    code: "index",
    text: "{op}(): Index should have dimension 1 or 0 (got {rank})",
  },
  {
    name: "indexOfScalarSource",
    error: "IndexError",
    code: "index",
    text: "{op}(): When source is scalar, index should have one element (got {count})",
  },
  {
    name: "sourceDestinationRanks",
    error: "IndexError",
    code: "index",
    text:
      "{op}(): When source and destination are not scalars, their dimensionality must match. Source " +
      "dimensionality ({source}), destination dimensionality ({destination})",
  },
  {
    name: "indexNotLong",
    error: "RuntimeError",
    code: "runtime",
    text:
      "{op}(): Expected a long tensor for index, but got {got}." +
      ' Plain numbers are float32: write a list, [0, 1], or dtype: "int64".',
  },
  {
    name: "selfSourceDtypes",
    error: "RuntimeError",
    code: "runtime",
    text: "{op}(): self and source expected to have the same dtype, but got (self) {self} and (source) {source}",
  },
  {
    name: "sliceShapesDiffer",
    error: "RuntimeError",
    code: "runtime",
    text:
      "{op}(): Source/destination tensor must have same slice shapes. Destination slice shape: {own} at " +
      "dimension {dim} and source slice shape: {other} at dimension 0.",
  },
  {
    name: "indexCount",
    error: "IndexError",
    code: "index",
    text: "{op}(): Number of indices ({count}) should be equal to source.size(dim) ({size})",
  },
  {
    name: "fillIndexDtype",
    error: "IndexError",
    code: "index",
    text:
      "index_fill_(): Expected dtype int64 for index." +
      ' Plain numbers are float32: write a list, [0, 1], or dtype: "int64".',
  },
  {
    name: "fillComplexIntoReal",
    error: "RuntimeError",
    code: "runtime",
    text: "index_fill_(): Converting complex Scalar to non-complex type is not supported",
  },
  {
    name: "indexNotAVectorOrScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "Index has to be a vector/scalar",
  },
  {
    name: "indexFillValueRank",
    error: "RuntimeError",
    code: "runtime",
    text: "index_fill_ only supports a 0-dimensional value tensor, but got tensor with {rank} dimension(s).",
  },
  {
    name: "takeIndexDtype",
    error: "RuntimeError",
    code: "runtime",
    text:
      "take(): Expected a long tensor for index, but got {dtype}." +
      ' Plain numbers are float32: write a list, [0, 1], or dtype: "int64".',
  },
  {
    name: "takeOutDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "take(): self and out expected to have the same dtype, but got self.dtype = {self} and out.dtype = {out}",
  },
  {
    name: "takeFromEmpty",
    error: "IndexError",
    code: "index",
    text: "take(): tried to take from an empty tensor",
  },
  {
    name: "putIndexDtype",
    error: "RuntimeError",
    code: "runtime",
    text:
      "put_(): Expected a long tensor for index, but got {dtype}." +
      ' Plain numbers are float32: write a list, [0, 1], or dtype: "int64".',
  },
  {
    name: "putSourceDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "put_(): self and source expected to have the same dtype, but got {pair}",
  },
  {
    name: "putCounts",
    error: "IndexError",
    code: "index",
    text:
      "put_(): Expected source and index to have the same number of elements, but got source.numel() = {source}, " +
      "index.numel() = {index}",
  },
  {
    name: "putIntoEmpty",
    error: "IndexError",
    code: "index",
    text: "put_(): Tried to put elements into an empty tensor",
  },
  {
    name: "maskedFillMask",
    error: "RuntimeError",
    code: "runtime",
    text: "masked_fill_ only supports boolean masks, but got mask with dtype {dtype}",
  },
  {
    name: "maskedFillValueRank",
    error: "RuntimeError",
    code: "runtime",
    text: "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {rank} dimension(s).",
  },
  {
    name: "sizeDependsOnData",
    error: "RuntimeError",
    code: "runtime",
    text: "{op}: the result's size depends on the data, which meta tensors do not have",
  },
  {
    name: "nonzeroOut",
    error: "RuntimeError",
    code: "runtime",
    text: "nonzero: Expected out tensor to have scalar type Long but got scalar type{got}",
  },
  {
    name: "maskedSelectMask",
    error: "RuntimeError",
    code: "runtime",
    text: "masked_select: expected BoolTensor for mask",
  },
  {
    name: "maskedSelectOut",
    error: "RuntimeError",
    code: "runtime",
    text: "masked_select(): self and result must have the same scalar type",
  },
  {
    name: "maskedScatterDtypes",
    error: "RuntimeError",
    code: "runtime",
    text: "masked_scatter: expected self and source to have same dtypes but got{self} and {source}",
  },
  {
    name: "maskedScatterMask",
    error: "RuntimeError",
    code: "runtime",
    text: "masked_scatter_ only supports boolean masks, but got mask with dtype {dtype}",
  },
  {
    name: "maskedScatterCount",
    error: "RuntimeError",
    code: "runtime",
    text: "Number of elements of source < number of ones in mask",
  },
  {
    name: "indexNotInteger",
    error: "RuntimeError",
    code: "runtime",
    text:
      "{op}(): Expected dtype int32/int64 for index." +
      ' Plain numbers are float32: write a list, [0, 1], or dtype: "int64".',
  },
  {
    name: "gatherIndexRank",
    error: "RuntimeError",
    code: "runtime",
    text: "Index tensor must have the same number of dimensions as input tensor",
  },
  {
    name: "gatherIndexSize",
    error: "RuntimeError",
    code: "runtime",
    text:
      "Size does not match at dimension {at} expected index {index} to be no larger than self {self} apart from " +
      "dimension {dim}",
  },
  {
    name: "scatterIndexRank",
    error: "RuntimeError",
    code: "runtime",
    text: "Index tensor must have the same number of dimensions as self tensor",
  },
  {
    name: "scatterSourceRank",
    error: "RuntimeError",
    code: "runtime",
    text: "Index tensor must have the same number of dimensions as src tensor",
  },
  {
    name: "scatterIndexSize",
    error: "RuntimeError",
    code: "runtime",
    text: "Expected index {index} to be no larger than self {self} apart from dimension {dim}{tail}",
  },
  {
    name: "scatterReduce",
    error: "RuntimeError",
    code: "runtime",
    text: "reduce argument must be either add or multiply.",
  },
  {
    name: "scatterDtypes",
    error: "RuntimeError",
    code: "runtime",
    text: "scatter(): Expected self.dtype to be equal to src.dtype",
  },
  {
    name: "scatterReduceMode",
    error: "RuntimeError",
    code: "runtime",
    text: "reduce argument must be either sum, prod, mean, amax or amin, got {reduce}",
  },
  {
    name: "indexReduceMode",
    error: "RuntimeError",
    code: "runtime",
    text: "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.",
  },
] as const satisfies readonly TextSchema[];
