/** Shapes and dimensions, and lists of tensors put together. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "sizeMismatch",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}",
  },
  {
    name: "broadcastMismatch",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "output with shape {shape} doesn't match the broadcast shape {broadcast}",
  },
  {
    name: "dimOutOfRange",
    error: "IndexError",
    code: "index",
    text: "Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})",
  },
  {
    name: "dimOfScalar",
    error: "IndexError",
    code: "index",
    text: "Dimension specified as {dim} but tensor has no dimensions",
  },
  {
    name: "repeatedDim",
    error: "RuntimeError",
    code: "runtime",
    text: "dim {dim} appears multiple times in the list of dims",
  },
  {
    name: "outResized",
    warning: "UserWarning",
    text:
      "An output with one or more elements was resized since it had shape {old}, which does not match the " +
      "required output shape {shape}. This behavior is deprecated, and in a future PyTorch release outputs will " +
      "not be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, " +
      "inplace, to zero elements with t.resize_(0).",
  },
  {
    name: "emptyTensorList",
    error: "RuntimeError",
    code: "runtime",
    text: "{op} expects a non-empty TensorList",
  },
  {
    name: "sizeNotAnInteger",
    error: "RuntimeError",
    code: "runtime",
    text: "{op}: sizes must be integers below 2**53, got {size}",
  },
  {
    name: "negativeDimension",
    error: "RuntimeError",
    code: "runtime",
    text: "Trying to create tensor with negative dimension {n}: {sizes}",
  },
  {
    name: "rankTooHigh",
    error: "RuntimeError",
    code: "runtime",
    text: "{op}: tensors have at most 64 dimensions",
  },
  {
    name: "formatNeedsRank",
    error: "RuntimeError",
    code: "runtime",
    text: "required rank {rank} tensor to use {format} format",
  },
  {
    name: "catRanks",
    error: "RuntimeError",
    code: "runtime",
    text: "Tensors must have same number of dimensions: got {first} and {other}",
  },
  {
    name: "catSizes",
    error: "RuntimeError",
    code: "runtime",
    text:
      "Sizes of tensors must match except in dimension {dim}. Expected size {expected} but got size {got} for " +
      "tensor number {at} in the list.",
  },
  {
    name: "catOfNothing",
    error: "ValueError",
    code: "value",
    text: "torch.cat(): expected a non-empty list of Tensors",
  },
  {
    name: "catOfScalar",
    error: "RuntimeError",
    code: "runtime",
    text: "zero-dimensional tensor (at position {at}) cannot be concatenated",
  },
  {
    name: "stackOfNothing",
    error: "RuntimeError",
    code: "runtime",
    text: "stack expects a non-empty TensorList",
  },
  {
    name: "stackSizes",
    error: "RuntimeError",
    code: "runtime",
    text: "stack expects each tensor to be equal size, but got {first} at entry 0 and {other} at entry {at}",
  },
  {
    name: "repeatRank",
    error: "RuntimeError",
    code: "runtime",
    text: "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
  },
  {
    name: "badInPlaceSize",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "Bad in-place call: input tensor size {input} and output tensor size {output} should match",
  },
  {
    name: "countOverflow",
    error: "RuntimeError",
    code: "runtime",
    text: "numel: integer multiplication overflow",
  },
  {
    name: "lenOfScalar",
    error: "TypeError",
    code: "type",
    text: "len() of a 0-d tensor",
  },
  {
    name: "iterationOfScalar",
    error: "TypeError",
    code: "type",
    text: "iteration over a 0-d tensor",
  },
] as const satisfies readonly TextSchema[];
