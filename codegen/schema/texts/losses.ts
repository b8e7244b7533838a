/** Losses. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "klDivKind",
    error: "RuntimeError",
    code: "dtype",
    text: "kl_div: {kind} inputs not supported.",
  },
  {
    name: "classOutOfBounds",
    error: "IndexError",
    code: "index",
    text: "Target {target} is out of bounds.",
  },
  {
    name: "nllInputRank",
    error: "RuntimeError",
    code: "shape",
    text: "input tensor should be 1D or 2D",
  },
  {
    name: "multiTarget",
    error: "RuntimeError",
    code: "shape",
    text: "0D or 1D target tensor expected, multi-target not supported",
  },
  {
    name: "nllTargetOfOne",
    error: "ValueError",
    code: "value",
    text: "For 1D input, 1D target must have size 1, but got target size: {size}",
  },
  {
    name: "nllSizes",
    error: "RuntimeError",
    code: "shape",
    text: "size mismatch (got input: {input}, target: {target})",
  },
  {
    name: "nllWeights",
    error: "RuntimeError",
    code: "shape",
    text:
      "weight tensor should be defined either for all {classes} classes or no classes but got weight " +
      "tensor of shape: {shape}",
  },
  {
    name: "nllPlanesOfTarget",
    error: "RuntimeError",
    code: "shape",
    text: "only batches of spatial targets supported (3D tensors) but got targets of dimension: {rank}",
  },
  {
    name: "nllPlanesOfInput",
    error: "RuntimeError",
    code: "shape",
    text: "only batches of spatial inputs supported (4D tensors), but got input of dimension: {rank}",
  },
  {
    name: "nllPlanesWeights",
    error: "RuntimeError",
    code: "shape",
    text: "weight tensor should be defined either for all or no classes",
  },
  {
    name: "nllPlaneSizes",
    error: "RuntimeError",
    code: "shape",
    text: "size mismatch (got input: {input} , target: {target}",
  },
  {
    name: "nllTargetDtype",
    error: "RuntimeError",
    code: "dtype",
    text:
      "expected target dtype to be Long or Byte, but got {got}. Plain numbers are float32: write a " +
      'list, [0, 1], or dtype: "int64".',
  },
  {
    name: "nllNoDimensions",
    error: "ValueError",
    code: "value",
    text: "Expected 1 or more dimensions (got {rank})",
  },
  {
    name: "nllBatches",
    error: "ValueError",
    code: "value",
    text: "Expected input batch_size ({input}) to match target batch_size ({target}).",
  },
  {
    name: "nllTargetSize",
    error: "RuntimeError",
    code: "shape",
    text: "Expected target size {wanted}, got {got}",
  },
  {
    name: "labelSmoothing",
    error: "RuntimeError",
    code: "runtime",
    text: "label_smoothing must be between 0.0 and 1.0. Got: {given}",
  },
  {
    name: "probabilitiesDtype",
    error: "RuntimeError",
    code: "dtype",
    text: "Expected floating point type for target with class probabilities, got {got}",
  },
  {
    name: "ignoredProbabilities",
    error: "RuntimeError",
    code: "runtime",
    text: "ignore_index is not supported for floating point target",
  },
  {
    name: "crossEntropyWeights",
    error: "RuntimeError",
    code: "shape",
    text:
      "cross_entropy: weight tensor should be defined either for all {classes} classes or no classes " +
      "but got weight tensor of shape: {shape}",
  },
  {
    name: "notProbabilities",
    error: "RuntimeError",
    code: "runtime",
    text: "all elements of {which} should be between 0 and 1",
  },
  {
    name: "bceSizes",
    error: "ValueError",
    code: "value",
    text:
      "Using a target size (torch.Size({target})) that is different to the input size " +
      "(torch.Size({input})) is deprecated. Please ensure they have the same size.",
  },
  {
    name: "bceLogitsSizes",
    error: "ValueError",
    code: "value",
    text: "Target size (torch.Size({target})) must be the same as input size (torch.Size({input}))",
  },
  {
    name: "varianceSize",
    error: "ValueError",
    code: "value",
    text: "var is of incorrect size",
  },
  {
    name: "negativeVariance",
    error: "ValueError",
    code: "value",
    text: "var has negative entry/entries",
  },
  {
    name: "cosineDtype",
    error: "RuntimeError",
    code: "dtype",
    text: "expected common dtype to be floating point, yet common dtype is {got}",
  },
  {
    name: "cosineEmbeddingSizes",
    error: "RuntimeError",
    code: "shape",
    text:
      "{rank}D target tensor expects {wanted}D input tensors, but found inputs with sizes {first} and " + "{second}.",
  },
  {
    name: "marginNotPositive",
    error: "ValueError",
    code: "value",
    text: "margin must be greater than 0, got {margin}",
  },
  {
    name: "tripletRanks",
    error: "RuntimeError",
    code: "shape",
    text:
      "The anchor, positive, and negative tensors are expected to have the same number of dimensions, " +
      "but got: anchor {anchor}D, positive {positive}D, and negative {negative}D inputs",
  },
  {
    name: "rankingSizes",
    error: "RuntimeError",
    code: "shape",
    text:
      "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: " +
      "torch.Size({first}), input2: torch.Size({second}), target: torch.Size({target}) ",
  },
  {
    name: "gaussianReduction",
    error: "ValueError",
    code: "value",
    text: "{reduction} is not valid",
  },
] as const satisfies readonly TextSchema[];
