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
    name: "normalizedRank",
    error: "ValueError",
    code: "value",
    text: "Input tensor must have at least {wanted} dimensions, but got {got}",
  },
  {
    name: "mixedParameters",
    error: "RuntimeError",
    code: "dtype",
    text: "mixed dtype (CPU): expect parameter to have scalar type of Float",
  },
  {
    name: "mixedInputs",
    error: "RuntimeError",
    code: "dtype",
    text: "mixed dtype (CPU): all inputs must share same datatype.",
  },
  {
    name: "groupNormRank",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "Expected at least 2 dimensions for input tensor but received {rank}",
  },
  {
    name: "groupsNotPositive",
    error: "RuntimeError",
    code: "value",
    text: "Expected num groups to be greater than 0, got {groups}",
  },
  {
    name: "channelsInGroups",
    error: "RuntimeError",
    code: "shape_mismatch",
    text:
      "Expected number of channels in input to be divisible by num_groups, but got input of shape {shape} and " +
      "num_groups={groups}",
  },
  {
    name: "parameterOfChannels",
    error: "RuntimeError",
    code: "shape_mismatch",
    text:
      "Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape " +
      "{got} and input of shape {shape}",
  },
  {
    name: "groupNormEmpty",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "Expected {what} to be greater than 0, got 0",
  },
  {
    name: "oneValuePerChannel",
    error: "ValueError",
    code: "shape_mismatch",
    text: "Expected more than 1 value per channel when training, got input size {size}",
  },
  {
    name: "oneSpatialElement",
    error: "ValueError",
    code: "shape_mismatch",
    text: "Expected more than 1 spatial element when training, got input size {size}",
  },
  {
    name: "trainingEps",
    error: "ValueError",
    code: "value",
    text: "batch_norm eps must be positive during training, but got {eps}",
  },
  {
    name: "negativeEps",
    error: "ValueError",
    code: "value",
    text: "batch_norm eps must be non-negative, but got {eps}",
  },
  {
    name: "runningNeeded",
    error: "RuntimeError",
    code: "runtime",
    text: "{name} must be defined in evaluation mode",
  },
  {
    name: "runningBoth",
    error: "ValueError",
    code: "value",
    text: "running_mean and running_var must either both be None or neither be None",
  },
  {
    name: "runningOfInstances",
    error: "RuntimeError",
    code: "runtime",
    text: "Expected running_mean and running_var to be defined when use_input_stats is false",
  },
  {
    name: "elementsOfChannels",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "{name} should contain {wanted} elements not {got}",
  },
  {
    name: "attentionDtypes",
    error: "RuntimeError",
    code: "dtype",
    text:
      "Expected query, key, and value to have the same dtype, but got query.dtype: {query} key.dtype: {key} and " +
      "value.dtype: {value} instead.",
  },
  {
    name: "attentionRanks",
    error: "RuntimeError",
    code: "shape_mismatch",
    text:
      "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query} key.dim: {key} " +
      "and value.dim: {value} instead.",
  },
  {
    name: "attentionMaskDtype",
    error: "RuntimeError",
    code: "dtype",
    text:
      "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {mask} and  " +
      "query.dtype: {query} instead.",
  },
  {
    name: "attentionCausalMask",
    error: "RuntimeError",
    code: "runtime",
    text: "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
  },
  {
    name: "attentionHeads",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "Number of heads in key and value must divide the number of heads in query",
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
    name: "rreluBound",
    error: "RuntimeError",
    code: "value",
    text: "rrelu: {side} bound must be finite, got {value}",
  },
  {
    name: "rreluBounds",
    error: "RuntimeError",
    code: "value",
    text: "Lower bound should be less than or equal to the upper bound",
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
