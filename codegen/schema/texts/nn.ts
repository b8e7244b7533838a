/** Operators of neural networks. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "unknownReduction",
    error: "ValueError",
    code: "value",
    text: "{reduction} is not a valid value for reduction",
  },
  {
    name: "weightsSize",
    error: "ValueError",
    code: "value",
    text: "Weights and input must have the same size.",
  },
  {
    name: "invalidReductionMode",
    error: "ValueError",
    code: "value",
    text: "Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.",
  },
  {
    name: "normalizedShapeEmpty",
    error: "RuntimeError",
    code: "shape_mismatch",
    text:
      "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got " +
      "normalized_shape = {shape}",
  },
  {
    name: "normalizedShapeDiffers",
    error: "RuntimeError",
    code: "shape_mismatch",
    text:
      "Expected {name} to be of same shape as normalized_shape, but got {name} of shape {shape} and " +
      "normalized_shape = {normalized}",
  },
  {
    name: "normalizedInput",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "Given normalized_shape={shape}, expected input with shape [*{expected}], but got input of size{got}",
  },
  {
    name: "dropoutProbability",
    error: "ValueError",
    code: "value",
    text: "dropout probability has to be between 0 and 1, but got {p}",
  },
  {
    name: "mseReduction",
    error: "RuntimeError",
    code: "runtime",
    text: "mse_loss: unknown reduction {reduction}",
  },
  {
    name: "negativeBeta",
    error: "RuntimeError",
    code: "runtime",
    text: "{op} does not support negative values for beta.",
  },
  {
    name: "deltaNotPositive",
    error: "RuntimeError",
    code: "runtime",
    text: "{op} does not support non-positive values for delta.",
  },
  {
    name: "celuOfZero",
    error: "RuntimeError",
    code: "runtime",
    text: "ZeroDivisionError: alpha cannot be 0 for CELU",
  },
  {
    name: "eluOfNegativeSlope",
    error: "RuntimeError",
    code: "runtime",
    text:
      "In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused " +
      "by calling in-place forward function with a negative slope, please call out-of-place version instead.",
  },
  {
    name: "leakyReluOfNegativeSlope",
    error: "RuntimeError",
    code: "runtime",
    text:
      "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is " +
      "caused by calling in-place forward function with a negative slope, please call out-of-place version instead. " +
      "File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward " +
      "calculation with negative slope",
  },
  {
    name: "shrinkOutOfRange",
    error: "RuntimeError",
    code: "runtime",
    text: "lambda must be in range [0, {most}] for input dtype {dtype}, but found {lambda}",
  },
  {
    name: "hardtanhBounds",
    error: "ValueError",
    code: "value",
    text: "min_val cannot be greater than max_val",
  },
  {
    name: "gluOfOddSize",
    error: "RuntimeError",
    code: "shape",
    text: "Halving dimension must be even, but dimension {dim} is size {size}",
  },
  {
    name: "gluOfScalar",
    error: "RuntimeError",
    code: "shape",
    text: "glu does not support scalars because halving size must be even",
  },
  {
    name: "geluApproximation",
    error: "RuntimeError",
    code: "runtime",
    text: "approximate argument must be either none or tanh.",
  },
  {
    name: "preluParameters",
    error: "RuntimeError",
    code: "shape",
    text:
      "Mismatch of parameter numbers and input channel size. Found parameter numbers = {parameters} and channel " +
      "size = {channels}.",
  },
  {
    name: "preluWeightRank",
    error: "RuntimeError",
    code: "shape",
    text: "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {rank}",
  },
  {
    name: "preluOfScalar",
    error: "RuntimeError",
    code: "shape",
    text: "Not allow zero-dim input tensor.",
  },
  {
    name: "boolHardtanh",
    error: "NotImplementedError",
    code: "dtype",
    text: "Bool inputs not supported for hardtanh",
  },
  {
    name: "preluPromotion",
    error: "RuntimeError",
    code: "dtype",
    text: "prelu: Type promoting not supported. Got {input} and {weight}",
  },
] as const satisfies readonly TextSchema[];
