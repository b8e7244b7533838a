/** Transformer layers and stacks. */

import { canonicalMask } from "../autograd/composites-multi-head.ts";
import { installChecks } from "../tensor/checks.ts";
import { type DeviceLike, toDevice } from "../tensor/device.ts";
import { type DTypeLike, toDType } from "../tensor/dtype.ts";
import { RuntimeError } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { MultiheadAttention } from "./attention.ts";
import { ModuleList } from "./containers.ts";
import { deepcopy } from "./deepcopy.ts";
import { checkForward } from "./forward-checks.ts";
import * as init from "./init.ts";
import { Dropout, LayerNorm } from "./layers.ts";
import { Linear } from "./linear.ts";
import { Module } from "./module.ts";
import { settings } from "./options.ts";
import { MODULE, TRANSFORMER } from "./signatures.ts";
import { type Activation, activated, isCausal, lengthOf, squareMask } from "./transformer-forward.ts";

import type {
  DecoderArguments,
  DecoderCall,
  EncoderLayerOptions,
  EncoderOptions,
  StackArguments,
  TransformerCall,
  TransformerCallOptions,
  TransformerLayerOptions,
  TransformerOptions,
} from "./transformer-options.ts";

export type { Activation } from "./transformer-forward.ts";
export type * from "./transformer-options.ts";

type Optional = Tensor | null;

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
  /** Attention of `src` to itself and two linear maps, each added to what it was computed of. */
  override forward(
    src: Tensor,
    ...rest: [
      srcMask?: Optional | EncoderLayerOptions,
      srcKeyPaddingMask?: Optional | EncoderLayerOptions,
      isCausal?: boolean | EncoderLayerOptions,
    ]
  ): Tensor {
    const [srcMask, srcPadding, causal] = rest as [Optional?, Optional?, boolean?];
    const keyPaddingMask = canonicalMask(
      srcPadding ?? null,
      "src_key_padding_mask",
      src.dtype,
      srcMask ?? null,
      "src_mask",
    );
    const attnMask = canonicalMask(srcMask ?? null, "src_mask", src.dtype, null);
    const attend = (x: Tensor): Tensor => {
      const options = { attnMask, keyPaddingMask, needWeights: false, isCausal: causal ?? false };
      return this.dropout1(this.self_attn(x, x, x, options)[0]);
    };
    const feed = (x: Tensor): Tensor =>
      this.dropout2(this.linear2(this.dropout(activated(this.activation, this.linear1(x)))));
    if (this.normFirst) {
      const x = src.add(attend(this.norm1(src)));
      return x.add(feed(this.norm2(x)));
    }
    const x = this.norm1(src.add(attend(src)));
    return this.norm2(x.add(feed(x)));
  }
}
installChecks(TransformerEncoderLayer.prototype, MODULE);
checkForward(TransformerEncoderLayer, "TransformerEncoderLayer");

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
  /** Attention of `tgt` to itself, then to `memory`, and two linear maps, each added to what it was computed of. */
  override forward(tgt: Tensor, memory: Tensor, ...rest: DecoderArguments): Tensor {
    const [tgtMask, memoryMask, tgtPadding, memoryPadding, tgtCausal, memoryCausal] = rest as DecoderCall;
    const own = { attnMask: tgtMask ?? null, keyPaddingMask: tgtPadding ?? null, isCausal: tgtCausal ?? false };
    const other = {
      attnMask: memoryMask ?? null,
      keyPaddingMask: memoryPadding ?? null,
      isCausal: memoryCausal ?? false,
    };
    const attend = (x: Tensor): Tensor => this.dropout1(this.self_attn(x, x, x, { ...own, needWeights: false })[0]);
    const consult = (x: Tensor): Tensor =>
      this.dropout2(this.multihead_attn(x, memory, memory, { ...other, needWeights: false })[0]);
    const feed = (x: Tensor): Tensor =>
      this.dropout3(this.linear2(this.dropout(activated(this.activation, this.linear1(x)))));
    if (this.normFirst) {
      const x = tgt.add(attend(this.norm1(tgt)));
      const y = x.add(consult(this.norm2(x)));
      return y.add(feed(this.norm3(y)));
    }
    const x = this.norm1(tgt.add(attend(tgt)));
    const y = this.norm2(x.add(consult(x)));
    return this.norm3(y.add(feed(y)));
  }
}
installChecks(TransformerDecoderLayer.prototype, MODULE);
checkForward(TransformerDecoderLayer, "TransformerDecoderLayer");

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

  constructor(...options: [encoderLayer: Module, numLayers: number, ...rest: StackArguments]) {
    super();
    const o = settings<StackSettings>("TransformerEncoder", options, { norm: null });
    this.layers = copies(o.encoderLayer, o.numLayers);
    this.numLayers = o.numLayers;
    this.norm = o.norm;
  }
  /** One layer after the other, and the normalization. */
  override forward(
    src: Tensor,
    ...rest: [
      mask?: Optional | EncoderOptions,
      srcKeyPaddingMask?: Optional | EncoderOptions,
      isCausal?: boolean | null | EncoderOptions,
    ]
  ): Tensor {
    const [given, srcPadding, said] = rest as [Optional?, Optional?, (boolean | null)?];
    const padding = canonicalMask(srcPadding ?? null, "src_key_padding_mask", src.dtype, given ?? null, "mask");
    const srcMask = canonicalMask(given ?? null, "mask", src.dtype, null);
    const first = this.layers.at(0) as TransformerEncoderLayer;
    const causal = isCausal(srcMask, said ?? null, lengthOf(src, first.self_attn.batchFirst));
    let x = src;
    for (const layer of this.layers as Iterable<Module>) {
      x = layer(x, { srcMask, isCausal: causal, srcKeyPaddingMask: padding }) as Tensor;
    }
    return this.norm === null ? x : (this.norm(x) as Tensor);
  }
}
installChecks(TransformerEncoder.prototype, MODULE);
checkForward(TransformerEncoder, "TransformerEncoder");

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
  /** One layer after the other, and the normalization. */
  override forward(tgt: Tensor, memory: Tensor, ...rest: DecoderArguments): Tensor {
    const [tgtMask, memoryMask, tgtPadding, memoryPadding, said, memoryCausal] = rest as DecoderCall;
    const first = this.layers.at(0) as TransformerDecoderLayer;
    const options = {
      tgtMask: tgtMask ?? null,
      memoryMask: memoryMask ?? null,
      tgtKeyPaddingMask: tgtPadding ?? null,
      memoryKeyPaddingMask: memoryPadding ?? null,
      tgtIsCausal: isCausal(tgtMask ?? null, said ?? null, lengthOf(tgt, first.self_attn.batchFirst)),
      memoryIsCausal: memoryCausal ?? false,
    };
    let x = tgt;
    for (const layer of this.layers as Iterable<Module>) x = layer(x, memory, options) as Tensor;
    return this.norm === null ? x : (this.norm(x) as Tensor);
  }
}
installChecks(TransformerDecoder.prototype, MODULE);
checkForward(TransformerDecoder, "TransformerDecoder");

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
  /** What the decoder makes of `tgt` beside what the encoder makes of `src`. */
  override forward(src: Tensor, tgt: Tensor, ...rest: [...(Optional | boolean | TransformerCallOptions)[]]): Tensor {
    const given = rest as TransformerCall;
    const [srcMask, tgtMask, memoryMask, srcPadding, tgtPadding, memoryPadding] = given;
    const [srcIsCausal, tgtIsCausal, memoryIsCausal] = given.slice(6) as [boolean?, boolean?, boolean?];
    const at = this.batchFirst ? 0 : 1;
    if (src.ndim === 3 && src._shape[at] !== tgt._shape[at]) {
      throw new RuntimeError("the batch number of src and tgt must be equal");
    }
    if ([src, tgt].some((t) => t._shape[t.ndim - 1] !== this.dModel)) {
      throw new RuntimeError("the feature number of src and tgt must be equal to d_model");
    }
    const encoded = { mask: srcMask ?? null, srcKeyPaddingMask: srcPadding ?? null, isCausal: srcIsCausal ?? null };
    const memory = this.encoder(src, encoded) as Tensor;
    return this.decoder(tgt, memory, {
      tgtMask: tgtMask ?? null,
      memoryMask: memoryMask ?? null,
      tgtKeyPaddingMask: tgtPadding ?? null,
      memoryKeyPaddingMask: memoryPadding ?? null,
      tgtIsCausal: tgtIsCausal ?? null,
      memoryIsCausal: memoryIsCausal ?? false,
    }) as Tensor;
  }

  /**
   * A mask that lets each position see itself and those before it: -inf for the others.
   * @example
   * ```ts
   * nn.Transformer.generateSquareSubsequentMask(2) // tensor([[0., -inf],
   * //         [0., 0.]])
   * ```
   * @torch torch.nn.Transformer.generate_square_subsequent_mask
   */
  static generateSquareSubsequentMask(
    sz: number,
    device?: DeviceLike | null | { device?: DeviceLike | null; dtype?: DTypeLike | null },
    dtype?: DTypeLike | null,
  ): Tensor {
    const at = (device ?? null) as DeviceLike | null;
    return squareMask(
      sz,
      at === null ? null : toDevice(at),
      dtype === undefined || dtype === null ? null : toDType(dtype),
    );
  }
}
installChecks(Transformer.prototype, MODULE);
installChecks(Transformer, TRANSFORMER);
checkForward(Transformer, "Transformer");
