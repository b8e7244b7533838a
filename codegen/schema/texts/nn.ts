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
] as const satisfies readonly TextSchema[];
