/** Texts of errors and warnings that more than one place uses; `{name}` stands for a value. They are torch's. */
import type { TextSchema } from "../model/types.ts";

export const texts = [
  {
    name: "sizeMismatch",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}",
  },
  {
    name: "differentDevices",
    error: "RuntimeError",
    code: "device",
    text: "Expected all tensors to be on the same device, but found at least two devices, {a} and {b}!",
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
    name: "notImplementedFor",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "\"{kernel}\" not implemented for '{dtype}'",
  },
  {
    name: "internalOverlap",
    error: "RuntimeError",
    code: "internal_overlap",
    text:
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. " +
      "Please clone() the tensor before performing the operation.",
  },
  {
    name: "invalidGradient",
    error: "RuntimeError",
    code: "gradient_shape",
    text:
      "Function {node} returned an invalid gradient at index {index} - got {got} but expected shape compatible with " +
      "{expected}",
  },
  {
    name: "partialOverlap",
    error: "RuntimeError",
    code: "partial_overlap",
    text:
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory " +
      "location. Please clone() the tensor before performing the operation.",
  },
  {
    name: "resultCast",
    error: "RuntimeError",
    code: "dtype",
    text: "result type {from} can't be cast to the desired output type {to}",
  },
  {
    name: "outNeedsNoGrad",
    error: "RuntimeError",
    code: "out_requires_grad",
    text:
      "{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments " +
      "requires grad.",
  },
  {
    name: "outResized",
    warning: "UserWarning",
    text:
      "An output with one or more elements was resized since it had shape {old}, which does not match the required " +
      "output shape {shape}. This behavior is deprecated, and in a future PyTorch release outputs will not be " +
      "resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to " +
      "zero elements with t.resize_(0).",
  },
  {
    name: "complexToReal",
    warning: "UserWarning",
    text: "Casting complex values to real discards the imaginary part",
  },
  {
    name: "copyFromMeta",
    error: "NotImplementedError",
    code: "meta",
    text: "Cannot copy out of meta tensor; no data!",
  },
  {
    name: "outOfMemory",
    error: "OutOfMemoryError",
    code: "out_of_memory",
    text:
      "[enforce fail at alloc_cpu] DefaultCPUAllocator: can't allocate memory: you tried to allocate {bytes} " +
      "bytes.",
  },
  {
    name: "wrongArgument",
    error: "TypeError",
    code: "type",
    text: "{name}(): argument '{argument}' must be {wanted}, not {got}",
  },
  {
    name: "unknownKeyword",
    error: "TypeError",
    code: "type",
    text: "{name}() got an unexpected keyword argument '{key}'",
  },
  {
    name: "leafInPlace",
    error: "RuntimeError",
    code: "leaf",
    text: "a leaf Variable that requires grad is being used in an in-place operation.",
  },
  {
    name: "leafViewInPlace",
    error: "RuntimeError",
    code: "leaf",
    text: "a view of a leaf Variable that requires grad is being used in an in-place operation.",
  },
  {
    name: "notDifferentiable",
    error: "RuntimeError",
    code: "dtype",
    text: "Only Tensors of floating point and complex dtype can require gradients",
  },
] as const satisfies readonly TextSchema[];
