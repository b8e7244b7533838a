/** Multi-head attention. */

import { attend, canonicalMask } from "../autograd/composites-multi-head.ts";
import { installChecks } from "../tensor/checks.ts";
import { RuntimeError, ValueError } from "../tensor/errors.ts";
import { tidy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkForward } from "./forward-checks.ts";
import * as init from "./init.ts";
import { NonDynamicallyQuantizableLinear } from "./linear.ts";
import { Module } from "./module.ts";
import { newParameter, type Placement, settings } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import { MODULE } from "./signatures.ts";

/** Options of `MultiheadAttention`. */
export interface AttentionOptions extends Placement {
  /** Probability of dropping an attention weight. Default 0. */
  dropout?: number;
  /** Whether the projections have biases; true by default. */
  bias?: boolean;
  /** Adds a learned key and value. */
  addBiasKv?: boolean;
  /** Adds a row of zeros to keys and values. */
  addZeroAttn?: boolean;
  /** Features of the keys, when they differ. */
  kdim?: number | null;
  /** Features of the values; by default `embedDim`. */
  vdim?: number | null;
  /** Whether the batch comes first. */
  batchFirst?: boolean;
}

/** Options of a call of `MultiheadAttention`. */
export interface AttentionForwardOptions {
  /** Which keys are padding: of shape (batch, keys). */
  keyPaddingMask?: Tensor | null;
  /** Whether the weights are given too; true by default. */
  needWeights?: boolean;
  /** Which keys do not count for which queries: (queries, keys), or that for each head of each example. */
  attnMask?: Tensor | null;
  /** Whether the weights are those of all heads together; true by default. */
  averageAttnWeights?: boolean;
  /** Says that `attnMask` is causal. */
  isCausal?: boolean;
}

/** The same in order, as the checks leave them. */
type AttentionCall = [
  keyPaddingMask?: Tensor | null,
  needWeights?: boolean,
  attnMask?: Tensor | null,
  averageAttnWeights?: boolean,
  isCausal?: boolean,
];

type AttentionSettings = Required<AttentionOptions> & { embedDim: number; numHeads: number };

const DEFAULTS = {
  dropout: 0,
  bias: true,
  addBiasKv: false,
  addZeroAttn: false,
  kdim: null,
  vdim: null,
  batchFirst: false,
  device: null,
  dtype: null,
};

/** One matrix for queries, keys and values of equal width, else one for each. */
function makeProjections(module: MultiheadAttention, o: Placement): void {
  const e = module.embedDim;
  const together = module.kdim === e && module.vdim === e;
  if (together) module.registerParameter("in_proj_weight", newParameter([3 * e, e], o));
  const sizes = { q_proj_weight: e, k_proj_weight: module.kdim, v_proj_weight: module.vdim };
  for (const [name, width] of Object.entries(sizes)) {
    module.registerParameter(name, together ? null : newParameter([e, width], o));
  }
  if (!together) module.registerParameter("in_proj_weight", null);
}

/**
 * Attention with several heads.
 * @example
 * ```ts
 * const a = new nn.MultiheadAttention(8, 2);
 * const sizes = [a.embedDim, a.numHeads, a.headDim, a.kdim, a.vdim, a.dropout, a.batchFirst,
 *   a.addZeroAttn];
 * const apart = [a.q_proj_weight, a.k_proj_weight, a.v_proj_weight, a.bias_k,
 *   a.bias_v].map((p) => p === null);
 * [sizes, apart, [a.in_proj_weight, a.in_proj_bias, a.out_proj.weight].map((p) => p?.numel())]
 * // [[8, 2, 4, 8, 8, 0, false, false], [true, true, true, true, true], [192, 24, 64]]
 * ```
 * @torch torch.nn.MultiheadAttention
 */
export class MultiheadAttention extends Module {
  /** The projections of queries, keys and values in one; null where their features differ. */
  declare in_proj_weight: Parameter | null;
  /** The projection of queries, where it is apart. */
  declare q_proj_weight: Parameter | null;
  /** The projection of keys, where it is apart. */
  declare k_proj_weight: Parameter | null;
  /** The projection of values, where it is apart. */
  declare v_proj_weight: Parameter | null;
  /** The biases of the three projections. */
  declare in_proj_bias: Parameter | null;
  /** The bias that is added to the keys. */
  declare bias_k: Parameter | null;
  /** The bias that is added to the values. */
  declare bias_v: Parameter | null;
  /** The last linear map. */
  declare out_proj: NonDynamicallyQuantizableLinear;
  /** Features of the queries. */
  embedDim: number;
  /** Heads of attention. */
  numHeads: number;
  /** Features of a head. */
  headDim: number;
  /** Features of the keys. */
  kdim: number;
  /** Features of the values. */
  vdim: number;
  /** The probability of dropout. */
  dropout: number;
  /** Whether the batch is the first dimension. */
  batchFirst: boolean;
  /** Whether a row of zeros is added to keys and values. */
  addZeroAttn: boolean;

  constructor(
    embedDim: number,
    numHeads: number,
    ...rest: [
      dropout?: number | AttentionOptions,
      bias?: boolean | AttentionOptions,
      addBiasKv?: boolean | AttentionOptions,
      addZeroAttn?: boolean | AttentionOptions,
      kdim?: number | null | AttentionOptions,
      vdim?: number | null | AttentionOptions,
      batchFirst?: boolean | AttentionOptions,
      options?: AttentionOptions,
    ]
  ) {
    super();
    const o = settings<AttentionSettings>("MultiheadAttention", [embedDim, numHeads, ...rest], DEFAULTS);
    [embedDim, numHeads] = [o.embedDim, o.numHeads];
    if (embedDim <= 0 || numHeads <= 0) {
      throw new ValueError(
        `embed_dim and num_heads must be greater than 0, got embed_dim=${embedDim} and num_heads=${numHeads} instead`,
      );
    }
    this.embedDim = embedDim;
    this.numHeads = numHeads;
    this.kdim = o.kdim ?? embedDim;
    this.vdim = o.vdim ?? embedDim;
    this.dropout = o.dropout;
    this.batchFirst = o.batchFirst;
    this.addZeroAttn = o.addZeroAttn;
    this.headDim = Math.floor(embedDim / numHeads);
    if (this.headDim * numHeads !== embedDim) {
      throw new RuntimeError("embed_dim must be divisible by num_heads", { code: "assertion" });
    }
    makeProjections(this, o);
    this.registerParameter("in_proj_bias", o.bias ? newParameter([3 * embedDim], o) : null);
    this.out_proj = new NonDynamicallyQuantizableLinear(embedDim, embedDim, o.bias, {
      device: o.device,
      dtype: o.dtype,
    });
    this.registerParameter("bias_k", o.addBiasKv ? newParameter([1, 1, embedDim], o) : null);
    this.registerParameter("bias_v", o.addBiasKv ? newParameter([1, 1, embedDim], o) : null);
    this.resetParameters();
  }

  /** Draws new values, except for the output projection's weight. */
  resetParameters(): void {
    if (this.in_proj_weight !== null) init.xavierUniform_(this.in_proj_weight);
    else {
      for (const w of [this.q_proj_weight, this.k_proj_weight, this.v_proj_weight]) {
        init.xavierUniform_(w as Parameter);
      }
    }
    if (this.in_proj_bias !== null) {
      init.constant_(this.in_proj_bias, 0);
      init.constant_(this.out_proj.bias as Parameter, 0);
    }
    if (this.bias_k !== null) init.xavierNormal_(this.bias_k);
    if (this.bias_v !== null) init.xavierNormal_(this.bias_v);
  }

  /**
   * Attends to `value` where queries are like `key`. Gives the result and, unless `needWeights` is false, the weights:
   * averaged over heads unless `averageAttnWeights` is false. True in a mask of bools is what does not count.
   */
  override forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    ...rest: [
      keyPaddingMask?: Tensor | null | AttentionForwardOptions,
      needWeights?: boolean | AttentionForwardOptions,
      attnMask?: Tensor | null | AttentionForwardOptions,
      averageAttnWeights?: boolean | AttentionForwardOptions,
      isCausal?: boolean | AttentionForwardOptions,
    ]
  ): [Tensor, Tensor | null] {
    const [padding = null, needWeights = true, mask = null, averageAttnWeights = true, isCausal = false] =
      rest as AttentionCall;
    return tidy(() => {
      // Masks of bools are brought to numbers before anything else is looked at, as PyTorch's module does.
      const keyPaddingMask = canonicalMask(padding, "key_padding_mask", query.dtype, mask, "attn_mask");
      const attnMask = canonicalMask(mask, "attn_mask", query.dtype, null);
      return attend(this, query, key, value, {
        keyPaddingMask,
        needWeights,
        attnMask,
        averageAttnWeights,
        isCausal,
      });
    });
  }
}
installChecks(MultiheadAttention.prototype, MODULE);
checkForward(MultiheadAttention, "MultiheadAttention");
