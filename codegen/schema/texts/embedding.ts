/** Rows of tables, and forms of two inputs. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "recurrentWeightMissing",
    error: "TypeError",
    code: "type",
    text: "{name} has to be a Tensor, not NoneType",
  },
  {
    name: "recurrentWeight",
    error: "RuntimeError",
    code: "shape",
    text: "{name} has to have the shape [{expected}], but has [{got}]",
  },
  {
    name: "embeddingWeight",
    error: "RuntimeError",
    code: "shape",
    text: "'weight' must be 2-D",
  },
  {
    name: "embeddingIndices",
    error: "RuntimeError",
    code: "dtype",
    text:
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; " +
      "but got {got} instead (while checking arguments for embedding). Plain numbers are " +
      'float32: write a list, [0, 1], or dtype: "int64".',
  },
  {
    name: "bagIndices",
    error: "RuntimeError",
    code: "dtype",
    text:
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; " +
      "but got {got} instead (while checking arguments for embedding_bag). Plain numbers " +
      'are float32: write a list, [0, 1], or dtype: "int64".',
  },
  {
    name: "bagWeight",
    error: "RuntimeError",
    code: "dtype",
    text:
      "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, " +
      "Double; but got {got} instead (while checking arguments for embedding_bag)",
  },
  {
    name: "bagWeightRank",
    error: "ValueError",
    code: "value",
    text: "weight has to be a 2D Tensor, but got Tensor of dimension {rank}",
  },
  {
    name: "bagSampleDtype",
    error: "RuntimeError",
    code: "dtype",
    text:
      "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 " +
      "'per_sample_weights'; but type {weight} does not equal {samples} (while checking arguments for embedding_bag)",
  },
  {
    name: "bagPadding",
    error: "RuntimeError",
    code: "runtime",
    text: "padding_idx must be within the number of embeddings, -{rows} through {last}, but got {row}",
  },
  {
    name: "bagRow",
    error: "RuntimeError",
    code: "index",
    text: "Index {at} of input takes value {row} which is not in the valid range [0, {rows})",
  },
  {
    name: "bagRowOfLargest",
    error: "RuntimeError",
    code: "index",
    text: "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {row}",
  },
  {
    name: "bilinearDtypes",
    error: "RuntimeError",
    code: "dtype",
    text: "All tensors must have the same dtype, got {facts}",
  },
  {
    name: "bilinearWeight",
    error: "RuntimeError",
    code: "shape",
    text: "number of dimensions must match",
  },
  {
    name: "firstOffset",
    error: "RuntimeError",
    code: "runtime",
    text:
      "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. " +
      "However, got {first}",
  },
  {
    name: "lastOffset",
    error: "RuntimeError",
    code: "runtime",
    text: "offsets[-1] can not be greater than input's length {length} but got offsets[-1] of {last}",
  },
  {
    name: "offsetsDecrease",
    error: "RuntimeError",
    code: "runtime",
    text: "offsets can not decrease, but offsets[{at}] is {value} after {before}",
  },
  {
    name: "lastOffsetMissing",
    error: "RuntimeError",
    code: "runtime",
    text: "include_last_offset: number of offset should be at least 1",
  },
  {
    name: "sampleWeights",
    error: "ValueError",
    code: "value",
    text:
      "embedding_bag: If per_sample_weights (torch.Size({weights})) is not None, then it must have the " +
      "same shape as the input (torch.Size({input}))",
  },
  {
    name: "offsetsOfRows",
    error: "ValueError",
    code: "value",
    text:
      "if input is 2D, then offsets has to be null, as input is treated is a mini-batch of fixed length " +
      "sequences. However, found offsets of type Tensor",
  },
  {
    name: "bagInputRank",
    error: "ValueError",
    code: "value",
    text: "input has to be 1D or 2D Tensor, but got Tensor of dimension {rank}",
  },
  {
    name: "offsetsMissing",
    error: "ValueError",
    code: "value",
    text: "offsets has to be a 1D Tensor but got null",
  },
  {
    name: "offsetsRank",
    error: "ValueError",
    code: "value",
    text: "offsets has to be a 1D Tensor",
  },
  {
    name: "bagMode",
    error: "ValueError",
    code: "value",
    text: "mode has to be one of sum, mean or max, and not {mode}",
  },
  {
    name: "bagScale",
    error: "ValueError",
    code: "value",
    text: "max mode does not support scaling the gradient by the frequency",
  },
  {
    name: "bagWeights",
    error: "NotImplementedError",
    code: "value",
    text:
      "embedding_bag: per_sample_weights was not null. per_sample_weights is only supported for " +
      "mode='sum' (got mode='{mode}').",
  },
  {
    name: "oneHotDtype",
    error: "RuntimeError",
    code: "dtype",
    text:
      "one_hot is only applicable to index tensor of type LongTensor. Plain numbers are float32: write " +
      'a list, [0, 1], or dtype: "int64".',
  },
  {
    name: "oneHotOfNothing",
    error: "RuntimeError",
    code: "runtime",
    text: "Can not infer total number of classes from empty tensor.",
  },
  {
    name: "oneHotNegative",
    error: "RuntimeError",
    code: "runtime",
    text: "Class values must be non-negative.",
  },
  {
    name: "oneHotTooLarge",
    error: "RuntimeError",
    code: "runtime",
    text: "Class values must be smaller than num_classes.",
  },
  {
    name: "bilinearRanks",
    error: "RuntimeError",
    code: "shape",
    text: "bilinear(): input dimensions do not match: got {first} and {second}",
  },
  {
    name: "bilinearBatch",
    error: "RuntimeError",
    code: "shape",
    text: "bilinear(): input batch dimensions do not match at dim {dim}: got {first} and {second}",
  },
  {
    name: "bilinearSize",
    error: "RuntimeError",
    code: "shape",
    text: "bilinear(): input{which} size does not match weight size: got {got} but expected {wanted}",
  },
  {
    name: "bilinearBias",
    error: "RuntimeError",
    code: "shape",
    text: "bilinear(): bias size does not match weight size: got {got} but expected {wanted}",
  },
  {
    name: "paddingRow",
    error: "AssertionError",
    code: "assertion",
    text: "Padding_idx must be within num_embeddings",
  },
] as const satisfies readonly TextSchema[];
