/** Indices of tensors: numbers, slices, masks and index tensors. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "zeroSliceStep",
    error: "ValueError",
    code: "value",
    text: "slice step cannot be zero",
  },
  {
    name: "sliceStepNotPositive",
    error: "ValueError",
    code: "value",
    text: "step must be greater than zero",
  },
  {
    name: "badSliceBound",
    error: "TypeError",
    code: "type",
    text: "slice indices must be integers or None or have an __index__ method",
  },
  {
    name: "notAnIndexTensor",
    error: "TypeError",
    code: "type",
    text: "only integer tensors of a single element can be converted to an index",
  },
  {
    name: "unreadableIndex",
    error: "IndexError",
    code: "index",
    text: 'cannot read "{text}" as an index: write numbers, slices such as "1:3" or "::2", or "..."',
  },
  {
    name: "indexOfScalar",
    error: "IndexError",
    code: "index",
    text:
      "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a " +
      "0-dim tensor to a number",
  },
  {
    name: "indexOutOfBounds",
    error: "IndexError",
    code: "index",
    text: "index {index} is out of bounds for dimension {dim} with size {size}",
  },
  {
    name: "badIndexType",
    error: "IndexError",
    code: "index",
    text:
      "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices " +
      "(got {got})",
  },
  {
    name: "rowsOfScalar",
    error: "IndexError",
    code: "index",
    text: "slice() cannot be applied to a 0-dim tensor.",
  },
  {
    name: "tooManyIndices",
    error: "IndexError",
    code: "index",
    text: "too many indices for tensor of dimension {rank}",
  },
  {
    name: "tooManyInArray",
    error: "IndexError",
    code: "index",
    text:
      "too many indices for tensor of dimension {rank}\nAn array holds one index for each dimension, as in " +
      "at([row, column]); a list of rows is an array inside of it: at([[0, 1, 2]]).",
  },
  {
    name: "indexInParts",
    error: "TypeError",
    code: "type",
    text:
      "setAt() takes at most 2 arguments but {given} were given: an index of several parts is one array, " +
      "as in setAt([1, 2], 5)",
  },
  {
    name: "cannotAssign",
    error: "TypeError",
    code: "type",
    text: "can't assign a {value} to a torch.{type}Tensor",
  },
  {
    name: "takeAlongDimDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "torch.take_along_dim(): dtype of indices should be Long but got {dtype}",
  },
  {
    name: "takeAlongDimRanks",
    error: "RuntimeError",
    code: "runtime",
    text:
      "torch.take_along_dim(): input and indices should have the same number of dimensions, but got {input} " +
      "dimensions for input, and {indices} dimensions for indices",
  },
  {
    name: "outputSizeOfNumber",
    error: "RuntimeError",
    code: "runtime",
    text: "repeat_interleave: Invalid output_size, expected {expected} but got {got}",
  },
  {
    name: "wrongOutputSize",
    error: "RuntimeError",
    code: "runtime",
    text: "allocated size does not match required size",
  },
  {
    name: "negativeRepeats",
    error: "RuntimeError",
    code: "runtime",
    text: "Repeats must be non-negative",
  },
  {
    name: "repeatsRank",
    error: "RuntimeError",
    code: "runtime",
    text: "repeats must be 0-dim or 1-dim tensor",
  },
  {
    name: "repeatsSize",
    error: "RuntimeError",
    code: "runtime",
    text:
      "repeats must have the same size as input along dim, but got repeats.size(0) = {repeats} and " +
      "input.size({dim}) = {size}",
  },
  {
    name: "repeatsNotAVector",
    error: "RuntimeError",
    code: "runtime",
    text: "repeat_interleave only accept 1D vector as repeat",
  },
  {
    name: "repeatsOnMeta",
    error: "RuntimeError",
    code: "runtime",
    text: "cannot repeat_interleave a meta tensor without output_size",
  },
  {
    name: "negativeRepeat",
    error: "RuntimeError",
    code: "runtime",
    text: "repeats can not be negative",
  },
  {
    name: "indexTensorDtype",
    error: "IndexError",
    code: "index",
    text:
      "tensors used as indices must be long, int, byte or bool tensors." +
      ' Plain numbers are float32: write a list, [0, 1], or dtype: "int64".',
  },
  {
    name: "maskShape",
    error: "IndexError",
    code: "index",
    text:
      "The shape of the mask {mask} at index {index} does not match the shape of the indexed tensor {shape} at " +
      "index {at}",
  },
  {
    name: "indicesDoNotBroadcast",
    error: "IndexError",
    code: "index",
    text: "shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}",
  },
  {
    name: "tooManyIndexTensors",
    error: "IndexError",
    code: "index",
    text: "too many indices for tensor of dimension {rank} (got {got})",
  },
  {
    name: "noIndexTensor",
    error: "IndexError",
    code: "index",
    text: "an index needs at least one index tensor here",
  },
  {
    name: "indexIntoEmptyDim",
    error: "IndexError",
    code: "index",
    text: "index is out of bounds for dimension with size 0",
  },
  {
    name: "putShapeMismatch",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "shape mismatch: value tensor of shape {values} cannot be broadcast to indexing result of shape {result}",
  },
  {
    name: "putDtypeMismatch",
    error: "RuntimeError",
    code: "dtype_mismatch",
    text:
      "Index put requires the source and destination dtypes match, got {destination} for the destination and " +
      "{source} for the source.",
  },
  {
    name: "outOfRangeInSelf",
    error: "IndexError",
    code: "index",
    text: "index out of range in self",
  },
  {
    name: "indexCopyOutOfBounds",
    error: "IndexError",
    code: "index",
    text: "index_copy_(): index {index} is out of bounds for dimension {dim} with size {size}",
  },
  {
    name: "putOutOfRange",
    error: "IndexError",
    code: "index",
    text: "out of range: tried to access index {index} on a tensor of {count} elements.",
  },
  {
    name: "scatterIndexOutOfBounds",
    error: "RuntimeError",
    code: "index",
    text: "index {index} is out of bounds for dimension {dim} with size {size}",
  },
] as const satisfies readonly TextSchema[];
