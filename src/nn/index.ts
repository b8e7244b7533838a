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
export { ModuleDict, ModuleList, Sequential } from "./containers.ts";
export { deepcopy } from "./deepcopy.ts";
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
  Tanh,
} from "./layers.ts";
export { Identity, Linear, type LinearOptions } from "./linear.ts";
export { HuberLoss, L1Loss, MSELoss, SmoothL1Loss } from "./losses.ts";
export { type ForwardHook, type ForwardPreHook, Module } from "./module.ts";
export { GroupNorm, type GroupNormOptions, RMSNorm, type RMSNormOptions } from "./normalization.ts";
export { Buffer, Parameter } from "./parameter.ts";
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
