/** Neural network modules. @torch torch.nn */

export {
  CELU,
  ELU,
  GELU,
  GLU,
  LogSigmoid,
  Mish,
  SELU,
  SiLU,
  Softmin,
  Softplus,
  Softsign,
  Tanhshrink,
} from "./activations.ts";
export {
  Hardshrink,
  Hardsigmoid,
  Hardswish,
  Hardtanh,
  LeakyReLU,
  PReLU,
  ReLU6,
  RReLU,
  type RReLUOptions,
  Softshrink,
  Threshold,
} from "./activations-straight.ts";
export { type AttentionForwardOptions, type AttentionOptions, MultiheadAttention } from "./attention.ts";
export {
  BatchNorm1d,
  BatchNorm2d,
  BatchNorm3d,
  type ChannelNormOptions,
  InstanceNorm1d,
  InstanceNorm2d,
  InstanceNorm3d,
} from "./batch-norm.ts";
export { Bilinear } from "./bilinear.ts";
export { ModuleDict, ModuleList, Sequential } from "./containers.ts";
export {
  Conv1d,
  Conv2d,
  Conv3d,
  type ConvOptions,
  ConvTranspose1d,
  ConvTranspose2d,
  ConvTranspose3d,
  type ConvTransposeOptions,
} from "./convolution.ts";
export { deepcopy } from "./deepcopy.ts";
export {
  Embedding,
  EmbeddingBag,
  type EmbeddingBagOptions,
  type EmbeddingOptions,
  type PretrainedOptions,
} from "./embedding.ts";
export { functional } from "./functional.ts";
export type { RemovableHandle } from "./hooks.ts";
export * as init from "./init.ts";
export {
  Dropout,
  LayerNorm,
  type LayerNormOptions,
  LogSoftmax,
  ReLU,
  Sigmoid,
  Softmax,
  Softmax2d,
  Tanh,
} from "./layers.ts";
export { Identity, Linear, type LinearOptions } from "./linear.ts";
export { HuberLoss, L1Loss, MSELoss, SmoothL1Loss } from "./losses.ts";
export {
  BCELoss,
  BCEWithLogitsLoss,
  CrossEntropyLoss,
  GaussianNLLLoss,
  KLDivLoss,
  NLLLoss,
  PoissonNLLLoss,
} from "./losses-classes.ts";
export {
  CosineEmbeddingLoss,
  CosineSimilarity,
  HingeEmbeddingLoss,
  MarginRankingLoss,
  MultiLabelSoftMarginLoss,
  PairwiseDistance,
  SoftMarginLoss,
  TripletMarginLoss,
} from "./losses-margin.ts";
export { type ForwardHook, type ForwardPreHook, Module } from "./module.ts";
export { GroupNorm, type GroupNormOptions, RMSNorm, type RMSNormOptions } from "./normalization.ts";
export {
  CircularPad1d,
  CircularPad2d,
  CircularPad3d,
  ConstantPad1d,
  ConstantPad2d,
  ConstantPad3d,
  type ConstantPadOptions,
  type PadOptions,
  ReflectionPad1d,
  ReflectionPad2d,
  ReflectionPad3d,
  ReplicationPad1d,
  ReplicationPad2d,
  ReplicationPad3d,
  ZeroPad1d,
  ZeroPad2d,
  ZeroPad3d,
} from "./padding.ts";
export { Buffer, Parameter } from "./parameter.ts";
export {
  AvgPool1d,
  type AvgPool1dOptions,
  AvgPool2d,
  AvgPool3d,
  type AvgPoolOptions,
  MaxPool1d,
  MaxPool2d,
  MaxPool3d,
  type MaxPoolOptions,
} from "./pooling.ts";
export {
  AdaptiveAvgPool1d,
  AdaptiveAvgPool2d,
  AdaptiveAvgPool3d,
  type AdaptiveAvgPoolOptions,
  AdaptiveMaxPool1d,
  AdaptiveMaxPool2d,
  AdaptiveMaxPool3d,
  type AdaptiveMaxPoolOptions,
} from "./pooling-adaptive.ts";
export {
  GRU,
  LSTM,
  type LSTMOptions,
  type LSTMState,
  RNN,
  type RNNOptions,
} from "./recurrent.ts";
export type { RecurrentOptions } from "./recurrent-base.ts";
export {
  type CellOptions,
  GRUCell,
  LSTMCell,
  RNNCell,
  type RNNCellOptions,
} from "./recurrent-cells.ts";
export {
  Flatten,
  type FlattenOptions,
  PixelShuffle,
  type PixelShuffleOptions,
  PixelUnshuffle,
  type PixelUnshuffleOptions,
  Unflatten,
  type UnflattenOptions,
  Upsample,
  type UpsampleOptions,
  UpsamplingBilinear2d,
  UpsamplingNearest2d,
  type UpsamplingOptions,
} from "./resizing.ts";
export type { IncompatibleKeys, LoadOptions, StateDict, StateOptions } from "./state.ts";
export {
  type DecoderOptions,
  type EncoderLayerOptions,
  type EncoderOptions,
  type StackOptions,
  Transformer,
  type TransformerCallOptions,
  TransformerDecoder,
  TransformerDecoderLayer,
  TransformerEncoder,
  TransformerEncoderLayer,
  type TransformerLayerOptions,
  type TransformerOptions,
} from "./transformer.ts";
export * as utils from "./utils.ts";
