/** Options of Transformers: of constructors, and of calls. */

import type { Tensor } from "../tensor/tensor.ts";
import type { Module } from "./module.ts";
import type { Placement } from "./options.ts";
import type { Activation } from "./transformer-forward.ts";

type Optional = Tensor | null;

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

/** What follows the number of layers of an encoder; nested tensors change nothing here. */
export type StackArguments = [
  norm?: Module | null | StackOptions,
  enableNestedTensor?: boolean | StackOptions,
  maskCheck?: boolean | StackOptions,
];

/** The same by name. */
export interface StackOptions {
  /** The last normalization. */
  norm?: Module | null;
  /** Taken for the sake of programs that give it: padding is computed with here. */
  enableNestedTensor?: boolean;
  /** Likewise. */
  maskCheck?: boolean;
}

/** Options of a call of `TransformerEncoderLayer`. */
export interface EncoderLayerOptions {
  /** Which positions do not count for which. */
  srcMask?: Optional;
  /** Which positions are padding. */
  srcKeyPaddingMask?: Optional;
  /** Says that the mask is causal. */
  isCausal?: boolean;
}

/** Options of a call of `TransformerEncoder`. */
export interface EncoderOptions {
  /** Which positions do not count for which. */
  mask?: Optional;
  /** Which positions are padding. */
  srcKeyPaddingMask?: Optional;
  /** Says whether the mask is causal; looked at without. */
  isCausal?: boolean | null;
}

/** Options of calls of decoders and their layers. */
export interface DecoderOptions {
  /** Which positions of the target do not count for which. */
  tgtMask?: Optional;
  /** Which positions of the memory do not count for which. */
  memoryMask?: Optional;
  /** Which positions of the target are padding. */
  tgtKeyPaddingMask?: Optional;
  /** Which positions of the memory are padding. */
  memoryKeyPaddingMask?: Optional;
  /** Says whether `tgtMask` is causal. */
  tgtIsCausal?: boolean | null;
  /** Says that `memoryMask` is causal. */
  memoryIsCausal?: boolean;
}

/** What follows target and memory in calls of decoders and their layers. */
export type DecoderArguments = [
  tgtMask?: Optional | DecoderOptions,
  memoryMask?: Optional | DecoderOptions,
  tgtKeyPaddingMask?: Optional | DecoderOptions,
  memoryKeyPaddingMask?: Optional | DecoderOptions,
  tgtIsCausal?: boolean | null | DecoderOptions,
  memoryIsCausal?: boolean | DecoderOptions,
];
/** The same in order, as the checks leave them. */
export type DecoderCall = [Optional?, Optional?, Optional?, Optional?, (boolean | null)?, boolean?];

/** Options of a call of `Transformer`. */
export interface TransformerCallOptions extends DecoderOptions {
  /** Which positions of the source do not count for which. */
  srcMask?: Optional;
  /** Which positions of the source are padding. */
  srcKeyPaddingMask?: Optional;
  /** Says whether `srcMask` is causal. */
  srcIsCausal?: boolean | null;
}
/** The same in order, as the checks leave them. */
export type TransformerCall = [...(Optional | undefined)[]];
