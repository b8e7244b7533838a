/** Transformer layers and stacks: their parameters and initial values; the forward passes are not implemented yet. */
import { NotImplementedError, RuntimeError } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { MultiheadAttention } from "./attention.ts";
import { ModuleList } from "./containers.ts";
import { deepcopy } from "./deepcopy.ts";
import * as init from "./init.ts";
import { Dropout, LayerNorm } from "./layers.ts";
import { Linear } from "./linear.ts";
import { Module } from "./module.ts";
import { type Placement, settings } from "./options.ts";

/** A nonlinearity by name, or as a function. */
export type Activation = "relu" | "gelu" | ((x: Tensor) => Tensor);

/** Options of a Transformer's layers. */
export interface TransformerLayerOptions extends Placement {
  /** Features between the two linear maps; 2048 by default. */
  dimFeedforward?: number;
  /** The probability of dropout; 0.1 by default. */
  dropout?: number;
  /** Between the two linear maps; `"relu"` by default. */
  activation?: Activation;
  /** What the normalizations add to variances; 1e-5 by default. */
  layerNormEps?: number;
  /** Inputs are (batch, sequence, features) instead of (sequence, batch, features). */
  batchFirst?: boolean;
  /** Normalize before attention and linear maps instead of behind them. */
  normFirst?: boolean;
  /** Whether linear maps and normalizations have biases; true by default. */
  bias?: boolean;
}

const DEFAULTS = {
  dimFeedforward: 2048,
  dropout: 0.1,
  activation: "relu" as Activation,
  layerNormEps: 1e-5,
  batchFirst: false,
  normFirst: false,
  bias: true,
  device: null,
  dtype: null,
};

type LayerSettings = Required<TransformerLayerOptions> & { dModel: number; nhead: number };

function requireActivation(activation: Activation): void {
  if (typeof activation === "string" && activation !== "relu" && activation !== "gelu") {
    throw new RuntimeError(`activation should be relu/gelu, not ${String(activation)}`);
  }
}

function later(name: string): never {
  throw new NotImplementedError(`${name}: the forward pass is not implemented yet`);
}

function attention(dModel: number, nhead: number, o: Required<TransformerLayerOptions>): MultiheadAttention {
  const { dropout, bias, batchFirst, device, dtype } = o;
  return new MultiheadAttention(dModel, nhead, { dropout, bias, batchFirst, device, dtype });
}

function norm(dModel: number, o: Required<TransformerLayerOptions>): LayerNorm {
  return new LayerNorm(dModel, { eps: o.layerNormEps, bias: o.bias, device: o.device, dtype: o.dtype });
}

/**
 * Self-attention and a feed-forward network.
 * @example
 * ```ts
 * const layer = new nn.TransformerEncoderLayer(8, 2, { dimFeedforward: 16 });
 * [layer.self_attn.numHeads, layer.linear1.outFeatures, layer.linear2.outFeatures, layer.dropout.p,
 *   layer.norm1.eps,
 *   layer.norm2.eps, layer.dropout1.p, layer.dropout2.p, layer.normFirst, typeof layer.activation]
 * // [2, 16, 8, 0.1, 0.00001, 0.00001, 0.1, 0.1, false, string]
 * ```
 * @torch torch.nn.TransformerEncoderLayer
 */
export class TransformerEncoderLayer extends Module {
  /** Attention of the input to itself. */
  self_attn: MultiheadAttention;
  /** The first linear map. */
  linear1: Linear;
  /** Between the linear maps. */
  dropout: Dropout;
  /** The second linear map. */
  linear2: Linear;
  /** The normalization of the attention. */
  norm1: LayerNorm;
  /** The normalization of the linear maps. */
  norm2: LayerNorm;
  /** Behind the attention. */
  dropout1: Dropout;
  /** Behind the linear maps. */
  dropout2: Dropout;
  /** Whether normalizations come first. */
  normFirst: boolean;
  /** Between the linear maps. */
  activation: Activation;

  constructor(model: number, heads: number, ...options: (number | boolean | Activation | TransformerLayerOptions)[]) {
    super();
    const o = settings<LayerSettings>("TransformerEncoderLayer", [model, heads, ...options], DEFAULTS);
    const { dModel, nhead } = o;
    const linear = { bias: o.bias, device: o.device, dtype: o.dtype };
    this.self_attn = attention(dModel, nhead, o);
    this.linear1 = new Linear(dModel, o.dimFeedforward, linear);
    this.dropout = new Dropout(o.dropout);
    this.linear2 = new Linear(o.dimFeedforward, dModel, linear);
    this.normFirst = o.normFirst;
    this.norm1 = norm(dModel, o);
    this.norm2 = norm(dModel, o);
    this.dropout1 = new Dropout(o.dropout);
    this.dropout2 = new Dropout(o.dropout);
    requireActivation(o.activation);
    this.activation = o.activation;
  }
  override forward(_src: Tensor): Tensor {
    return later("TransformerEncoderLayer");
  }
}

/**
 * Self-attention, attention to the encoder's output, and a feed-forward network.
 * @example
 * ```ts
 * const layer = new nn.TransformerDecoderLayer(8, 2, { dimFeedforward: 16 });
 * [layer.self_attn.numHeads, layer.multihead_attn.numHeads, layer.linear1.outFeatures,
 *   layer.dropout.p,
 *   layer.linear2.outFeatures, layer.norm1.eps, layer.norm2.eps, layer.norm3.eps, layer.dropout1.p,
 *     layer.dropout2.p,
 *   layer.dropout3.p, layer.normFirst, typeof layer.activation]
 * // [2, 2, 16, 0.1, 8, 0.00001, 0.00001, 0.00001, 0.1, 0.1, 0.1, false, string]
 * ```
 * @torch torch.nn.TransformerDecoderLayer
 */
export class TransformerDecoderLayer extends Module {
  /** Attention of the target to itself. */
  self_attn: MultiheadAttention;
  /** Attention of the target to the encoder's result. */
  multihead_attn: MultiheadAttention;
  /** The first linear map. */
  linear1: Linear;
  /** Between the linear maps. */
  dropout: Dropout;
  /** The second linear map. */
  linear2: Linear;
  /** The normalization of the first attention. */
  norm1: LayerNorm;
  /** The normalization of the second attention. */
  norm2: LayerNorm;
  /** The normalization of the linear maps. */
  norm3: LayerNorm;
  /** Behind the first attention. */
  dropout1: Dropout;
  /** Behind the second attention. */
  dropout2: Dropout;
  /** Behind the linear maps. */
  dropout3: Dropout;
  /** Whether normalizations come first. */
  normFirst: boolean;
  /** Between the linear maps. */
  activation: Activation;

  constructor(model: number, heads: number, ...options: (number | boolean | Activation | TransformerLayerOptions)[]) {
    super();
    const o = settings<LayerSettings>("TransformerDecoderLayer", [model, heads, ...options], DEFAULTS);
    const { dModel, nhead } = o;
    const linear = { bias: o.bias, device: o.device, dtype: o.dtype };
    this.self_attn = attention(dModel, nhead, o);
    this.multihead_attn = attention(dModel, nhead, o);
    this.linear1 = new Linear(dModel, o.dimFeedforward, linear);
    this.dropout = new Dropout(o.dropout);
    this.linear2 = new Linear(o.dimFeedforward, dModel, linear);
    this.normFirst = o.normFirst;
    this.norm1 = norm(dModel, o);
    this.norm2 = norm(dModel, o);
    this.norm3 = norm(dModel, o);
    this.dropout1 = new Dropout(o.dropout);
    this.dropout2 = new Dropout(o.dropout);
    this.dropout3 = new Dropout(o.dropout);
    requireActivation(o.activation);
    this.activation = o.activation;
  }
  override forward(_tgt: Tensor, _memory: Tensor): Tensor {
    return later("TransformerDecoderLayer");
  }
}

interface StackSettings {
  encoderLayer: Module;
  decoderLayer: Module;
  numLayers: number;
  norm: Module | null;
}

function copies(layer: Module, count: number): ModuleList {
  return new ModuleList(Array.from({ length: count }, () => deepcopy(layer)));
}

/**
 * A stack of equal copies of a layer.
 * @example
 * ```ts
 * const encoder = new nn.TransformerEncoder(new nn.TransformerEncoderLayer(8, 2,
 *   { dimFeedforward: 16 }), 3);
 * [encoder.layers.length, encoder.numLayers, encoder.norm] // [3, 3, null]
 * ```
 * @torch torch.nn.TransformerEncoder
 */
export class TransformerEncoder extends Module {
  /** Its layers, one after the other. */
  layers: ModuleList;
  /** How many there are. */
  numLayers: number;
  /** The last normalization; null without. */
  declare norm: Module | null;

  constructor(...options: [encoderLayer: Module, numLayers: number, norm?: Module | null]) {
    super();
    const o = settings<StackSettings>("TransformerEncoder", options, { norm: null });
    this.layers = copies(o.encoderLayer, o.numLayers);
    this.numLayers = o.numLayers;
    this.norm = o.norm;
  }
  override forward(_src: Tensor): Tensor {
    return later("TransformerEncoder");
  }
}

/**
 * A stack of equal copies of a layer.
 * @example
 * ```ts
 * const decoder = new nn.TransformerDecoder(new nn.TransformerDecoderLayer(8, 2,
 *   { dimFeedforward: 16 }), 3);
 * [decoder.layers.length, decoder.numLayers, decoder.norm] // [3, 3, null]
 * ```
 * @torch torch.nn.TransformerDecoder
 */
export class TransformerDecoder extends Module {
  /** Its layers, one after the other. */
  layers: ModuleList;
  /** How many there are. */
  numLayers: number;
  /** The last normalization; null without. */
  declare norm: Module | null;

  constructor(...options: [decoderLayer: Module, numLayers: number, norm?: Module | null]) {
    super();
    const o = settings<StackSettings>("TransformerDecoder", options, { norm: null });
    this.layers = copies(o.decoderLayer, o.numLayers);
    this.numLayers = o.numLayers;
    this.norm = o.norm;
  }
  override forward(_tgt: Tensor, _memory: Tensor): Tensor {
    return later("TransformerDecoder");
  }
}

/** Options of `Transformer`. */
export interface TransformerOptions extends TransformerLayerOptions {
  /** Features of inputs and outputs; 512 by default. */
  dModel?: number;
  /** Heads of attention; 8 by default. */
  nhead?: number;
  /** Layers of the encoder; 6 by default. */
  numEncoderLayers?: number;
  /** Layers of the decoder; 6 by default. */
  numDecoderLayers?: number;
  /** Used instead of the standard encoder. */
  customEncoder?: Module | null;
  /** A decoder of the program's own. */
  customDecoder?: Module | null;
}

const MODEL_DEFAULTS = {
  ...DEFAULTS,
  dModel: 512,
  nhead: 8,
  numEncoderLayers: 6,
  numDecoderLayers: 6,
  customEncoder: null,
  customDecoder: null,
};

/**
 * An encoder and a decoder.
 * @example
 * ```ts
 * new nn.Transformer({ dModel: 8, nhead: 2, numEncoderLayers: 1, numDecoderLayers: 1 }).parameters().length // 34
 * ```
 * @torch torch.nn.Transformer
 */
export class Transformer extends Module {
  /** The encoder. */
  encoder: Module;
  /** The decoder. */
  decoder: Module;
  /** Features of inputs and outputs. */
  dModel: number;
  /** Heads of attention. */
  nhead: number;
  /** Whether the batch is the first dimension. */
  batchFirst: boolean;

  constructor(...options: (number | boolean | Module | null | Activation | TransformerOptions)[]) {
    super();
    const o = settings<Required<TransformerOptions>>("Transformer", options, MODEL_DEFAULTS);
    const { dimFeedforward, dropout, activation, layerNormEps, batchFirst, normFirst, bias, device, dtype } = o;
    const layer = { dimFeedforward, dropout, activation, layerNormEps, batchFirst, normFirst, bias, device, dtype };
    if (o.customEncoder !== null) this.encoder = o.customEncoder;
    else {
      const one = new TransformerEncoderLayer(o.dModel, o.nhead, layer);
      this.encoder = new TransformerEncoder(one, o.numEncoderLayers, norm(o.dModel, layer));
    }
    if (o.customDecoder !== null) this.decoder = o.customDecoder;
    else {
      const one = new TransformerDecoderLayer(o.dModel, o.nhead, layer);
      this.decoder = new TransformerDecoder(one, o.numDecoderLayers, norm(o.dModel, layer));
    }
    this.dModel = o.dModel;
    this.nhead = o.nhead;
    this.batchFirst = o.batchFirst;
    for (const p of this.parameters()) if (p.ndim > 1) init.xavierUniform_(p);
  }
  override forward(_src: Tensor, _tgt: Tensor): Tensor {
    return later("Transformer");
  }
}
