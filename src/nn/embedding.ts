/** Tables whose rows positions name. */

import { pythonFloat } from "../api/number-text.ts";
import * as composites from "../autograd/composites-embedding.ts";
import type { IndexList } from "../dispatch/arguments.ts";
import { indexFromList } from "../dispatch/indexing-lists.ts";
import { gradModes } from "../dispatch/mode.ts";
import { installChecks } from "../tensor/checks.ts";
import { AssertionError } from "../tensor/errors.ts";
import { tidy } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { checkForward } from "./forward-checks.ts";
import * as init from "./init.ts";
import { Module } from "./module.ts";
import { newParameter, type Placement, settings } from "./options.ts";
import { Parameter } from "./parameter.ts";
import { EMBEDDING_STATICS, MODULE } from "./signatures.ts";

interface TableOptions extends Placement {
  /** The row that stays zero and gets no gradient. */
  paddingIdx?: number | null;
  /** What rows that are read are made as long as at most. */
  maxNorm?: number | null;
  /** The norm's power. Default 2. */
  normType?: number;
  /** Whether a row's gradient is divided by how often it is named. Default false. */
  scaleGradByFreq?: boolean;
  /** As in PyTorch; gradients are dense. Default false. */
  sparse?: boolean;
}

/** Options of `Embedding`. */
export interface EmbeddingOptions extends TableOptions {}

/** Options of `EmbeddingBag`. */
export interface EmbeddingBagOptions extends TableOptions {
  /** What becomes of a bag's rows. Default "mean". */
  mode?: "sum" | "mean" | "max";
  /** Whether the last offset is the end of the last bag. Default false. */
  includeLastOffset?: boolean;
}

/** Options of `Embedding.fromPretrained`. */
export interface PretrainedOptions extends TableOptions {
  /** Whether the table is left as it is. Default true. */
  freeze?: boolean;
}

type Sizes = { numEmbeddings: number; embeddingDim: number };

const DEFAULTS = { paddingIdx: null, maxNorm: null, normType: 2, scaleGradByFreq: false, sparse: false } as const;

const positions = (x: Tensor | IndexList): Tensor => (x instanceof Tensor ? x : indexFromList(x));

function fill(weight: Parameter, padding: number | null): void {
  init.normal_(weight);
  if (padding === null) return;
  gradModes.run(false, "Embedding", () => weight.select(0, padding).fill_(0));
}

interface Table {
  readonly numEmbeddings: number;
  readonly embeddingDim: number;
  readonly maxNorm: number | null;
  readonly normType: number;
  readonly scaleGradByFreq: boolean;
}

/** How rows are kept short, as Python prints it. */
function normText({ maxNorm, normType, scaleGradByFreq }: Table): string {
  const most = maxNorm === null ? "" : `, max_norm=${pythonFloat(maxNorm)}`;
  const power = normType === 2 ? "" : `, norm_type=${pythonFloat(normType)}`;
  return `${most}${power}${scaleGradByFreq ? ", scale_grad_by_freq=True" : ""}`;
}

/**
 * A table of vectors, and the rows of it that int64 positions name.
 * @example
 * ```ts
 * new nn.Embedding(10, 3)([1, 2, 1]).shape // torch.Size([3, 3])
 * ```
 * @torch torch.nn.Embedding
 */
export class Embedding extends Module {
  /** The table, of shape (numEmbeddings, embeddingDim). */
  declare weight: Parameter;
  /** Rows of the table. */
  numEmbeddings: number;
  /** The size of a row. */
  embeddingDim: number;
  /** The row that gets no gradient; null where every row does. */
  paddingIdx: number | null;
  /** What rows that are read are made as long as at most; null where they stay as they are. */
  maxNorm: number | null;
  /** The norm's power. */
  normType: number;
  /** Whether a row's gradient is divided by how often it is named. */
  scaleGradByFreq: boolean;
  /** As in PyTorch; gradients are dense. */
  sparse: boolean;
  constructor(
    numEmbeddings: number,
    embeddingDim: number,
    ...options: [paddingIdx?: number | null | EmbeddingOptions, options?: EmbeddingOptions]
  ) {
    super();
    const given = [numEmbeddings, embeddingDim, ...options];
    const o = settings<Required<EmbeddingOptions> & Sizes>("Embedding", given, {
      ...DEFAULTS,
      device: null,
      dtype: null,
    });
    this.numEmbeddings = o.numEmbeddings;
    this.embeddingDim = o.embeddingDim;
    this.paddingIdx = composites.paddingOf(o.paddingIdx, o.numEmbeddings);
    this.maxNorm = o.maxNorm;
    this.normType = o.normType;
    this.scaleGradByFreq = o.scaleGradByFreq;
    this.sparse = o.sparse;
    this.weight = newParameter([o.numEmbeddings, o.embeddingDim], o);
    this.resetParameters();
  }
  /** Draws new values; the row of the padding is zero. @torch torch.nn.Embedding.reset_parameters */
  resetParameters(): void {
    fill(this.weight, this.paddingIdx);
  }
  /**
   * A module of a table that there is already, which is not trained unless `freeze` is false.
   * @example
   * ```ts
   * nn.Embedding.fromPretrained(tensor([[1, 2], [3, 4]]))([1]) // tensor([[3., 4.]])
   * ```
   * @torch torch.nn.Embedding.from_pretrained
   */
  static fromPretrained(embeddings: Tensor, options: PretrainedOptions = {}): Embedding {
    if (embeddings.ndim !== 2) throw new AssertionError("Embeddings parameter is expected to be 2-dimensional");
    const { freeze = true, ...rest } = options;
    const [rows, width] = embeddings._shape as [number, number];
    const module = new Embedding(rows, width, { ...rest, device: "meta" });
    module.weight = new Parameter(embeddings, { requiresGrad: !freeze });
    return module;
  }
  override forward(input: Tensor | IndexList): Tensor {
    const { weight, paddingIdx, maxNorm, normType, scaleGradByFreq, sparse } = this;
    return tidy(() =>
      composites.embedding(positions(input), weight, paddingIdx, maxNorm, normType, scaleGradByFreq, sparse),
    );
  }
  override extraRepr(): string {
    const padding = this.paddingIdx === null ? "" : `, padding_idx=${this.paddingIdx}`;
    const sparse = this.sparse ? ", sparse=True" : "";
    return `${this.numEmbeddings}, ${this.embeddingDim}${padding}${normText(this)}${sparse}`;
  }
}
installChecks(Embedding.prototype, MODULE);
installChecks(Embedding, EMBEDDING_STATICS);
checkForward(Embedding, "Embedding");

/** What a call of `EmbeddingBag` may be given by name. */
interface BagArguments {
  /** Where each bag begins. */
  offsets?: Tensor | IndexList | null;
  /** What each row counts. */
  perSampleWeights?: Tensor | null;
}

/**
 * Sums, means or largest elements of rows of a table: of each row of positions, or of runs of a vector of them.
 * @example
 * ```ts
 * new nn.EmbeddingBag(10, 3)([[1, 2], [3, 4]]).shape // torch.Size([2, 3])
 * ```
 * @torch torch.nn.EmbeddingBag
 */
export class EmbeddingBag extends Module {
  /** The table, of shape (numEmbeddings, embeddingDim). */
  declare weight: Parameter;
  /** Rows of the table. */
  numEmbeddings: number;
  /** The size of a row. */
  embeddingDim: number;
  /** The row that does not count; null where every row does. */
  paddingIdx: number | null;
  /** What rows that are read are made as long as at most; null where they stay as they are. */
  maxNorm: number | null;
  /** The norm's power. */
  normType: number;
  /** Whether a row's gradient is divided by how often it is named. */
  scaleGradByFreq: boolean;
  /** As in PyTorch; gradients are dense. */
  sparse: boolean;
  /** What becomes of a bag's rows. */
  mode: "sum" | "mean" | "max";
  /** Whether the last offset is the end of the last bag. */
  includeLastOffset: boolean;
  constructor(numEmbeddings: number, embeddingDim: number, ...options: [options?: EmbeddingBagOptions]) {
    super();
    const given = [numEmbeddings, embeddingDim, ...options];
    const defaults = { ...DEFAULTS, mode: "mean", includeLastOffset: false, device: null, dtype: null } as const;
    const o = settings<Required<EmbeddingBagOptions> & Sizes>("EmbeddingBag", given, defaults);
    this.numEmbeddings = o.numEmbeddings;
    this.embeddingDim = o.embeddingDim;
    this.paddingIdx = composites.paddingOf(o.paddingIdx, o.numEmbeddings);
    this.maxNorm = o.maxNorm;
    this.normType = o.normType;
    this.scaleGradByFreq = o.scaleGradByFreq;
    this.sparse = o.sparse;
    this.mode = o.mode;
    this.includeLastOffset = o.includeLastOffset;
    this.weight = newParameter([o.numEmbeddings, o.embeddingDim], o);
    this.resetParameters();
  }
  /** Draws new values; the row of the padding is zero. @torch torch.nn.EmbeddingBag.reset_parameters */
  resetParameters(): void {
    fill(this.weight, this.paddingIdx);
  }
  override forward(
    input: Tensor | IndexList,
    offsets?: Tensor | IndexList | null | BagArguments,
    perSampleWeights?: Tensor | null | Pick<BagArguments, "perSampleWeights">,
  ): Tensor;
  override forward(
    input: Tensor | IndexList,
    offsets: Tensor | IndexList | null = null,
    perSampleWeights: Tensor | null = null,
  ): Tensor {
    const { weight, maxNorm, normType, scaleGradByFreq, mode, sparse, includeLastOffset, paddingIdx } = this;
    const starts = offsets === null ? null : positions(offsets);
    return tidy(() =>
      composites.embeddingBag(
        positions(input),
        weight,
        starts,
        maxNorm,
        normType,
        scaleGradByFreq,
        mode,
        sparse,
        perSampleWeights,
        includeLastOffset,
        paddingIdx,
      ),
    );
  }
  override extraRepr(): string {
    const padding = this.paddingIdx === null ? "" : `, padding_idx=${this.paddingIdx}`;
    return `${this.numEmbeddings}, ${this.embeddingDim}${normText(this)}, mode='${this.mode}'${padding}`;
  }
}
installChecks(EmbeddingBag.prototype, MODULE);
checkForward(EmbeddingBag, "EmbeddingBag");
