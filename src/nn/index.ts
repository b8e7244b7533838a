/** Neural network modules. @torch torch.nn */

import "./install.ts";

export { type AttentionOptions, MultiheadAttention } from "./attention.ts";
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
  MSELoss,
  ReLU,
  Sigmoid,
  Softmax,
  Tanh,
} from "./layers.ts";
export { Identity, Linear, type LinearOptions } from "./linear.ts";
export { type ForwardHook, type ForwardPreHook, Module } from "./module.ts";
export { Buffer, Parameter } from "./parameter.ts";
export type { IncompatibleKeys, LoadOptions, StateDict, StateOptions } from "./state.ts";
export {
  Transformer,
  TransformerDecoder,
  TransformerDecoderLayer,
  TransformerEncoder,
  TransformerEncoderLayer,
  type TransformerLayerOptions,
  type TransformerOptions,
} from "./transformer.ts";
