/** Positions as vectors with a one. */

import { eye, zeros } from "../../generated/functional.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Size } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { Categorical } from "./categorical.ts";
import { type Constraint, oneHot, realVector, simplex } from "./constraints.ts";
import { Distribution, type DistributionOptions, type SampleShape, settings, sizesOf } from "./distribution.ts";
import { METHODS } from "./signatures.ts";
import type { LogitsOptions } from "./with-logits.ts";

/** Positions as vectors of zeros with a one, int64. */
export function oneHotOf(index: Tensor, classes: number): Tensor {
  const rows = zeros([...index.shape, classes], { dtype: "int64", device: index.device });
  return rows.scatter(-1, index.unsqueeze(-1), 1);
}

/**
 * Positions as vectors of zeros with a one.
 * @throws ValueError unless exactly one of `probs` and `logits` is given, for probabilities that are negative or have
 * the sum zero
 * @example
 * ```ts
 * manualSeed(0);
 * const dist = new distributions.OneHotCategorical({ probs: tensor([1, 2, 1]) });
 * print(String(dist), dist.eventShape, dist.probs);
 * print(dist.logits, dist.paramShape, dist.sample());
 * // OneHotCategorical() torch.Size([3]) tensor([0.2500, 0.5000, 0.2500])
 * // tensor([-1.3863, -0.6931, -1.3863]) torch.Size([3]) tensor([0., 0., 1.])
 * ```
 * @torch torch.distributions.OneHotCategorical
 */
export class OneHotCategorical extends Distribution {
  /** @internal */ declare _categorical: Categorical;

  constructor(
    probs?: Tensor | null | LogitsOptions,
    logits?: Tensor | null | LogitsOptions,
    validateArgs?: boolean | null | DistributionOptions,
  );
  constructor(...given: unknown[]) {
    super();
    const { probs, logits, validateArgs } = settings<LogitsOptions>("OneHotCategorical", given);
    this._categorical = new Categorical({ probs, logits });
    this._init(this._categorical.batchShape, this._categorical.paramShape.slice(-1), validateArgs);
  }
  /** The probabilities of the positions. */
  get probs(): Tensor {
    return this._categorical.probs;
  }
  /** The logarithms of the probabilities. */
  get logits(): Tensor {
    return this._categorical.logits;
  }
  /** The shape of the parameter that was given. */
  get paramShape(): Size {
    return this._categorical.paramShape;
  }
  override get argConstraints(): Record<string, Constraint> {
    return { probs: simplex, logits: realVector };
  }
  override get support(): Constraint {
    return oneHot;
  }
  override get hasEnumerateSupport(): boolean {
    return true;
  }
  override get mean(): Tensor {
    return this.probs;
  }
  override get mode(): Tensor {
    return oneHotOf(this.probs.argmax(-1), this._eventShape[0] as number).to(this.probs.dtype);
  }
  override get variance(): Tensor {
    return this._categorical.probs.mul(this.probs.neg().add(1));
  }
  override expand(batchShape: SampleShape): this {
    const other = this._another(sizesOf(batchShape));
    other._categorical = this._categorical.expand(batchShape);
    return other;
  }
  override sample(sampleShape: SampleShape = []): Tensor {
    const index = this._categorical.sample(sampleShape);
    return oneHotOf(index, this._eventShape[0] as number).to(this.probs.dtype);
  }
  override logProb(value: Tensor): Tensor {
    this._validateSample(value);
    return this._categorical.logProb(value.argmax(-1));
  }
  override entropy(): Tensor {
    return this._categorical.entropy();
  }
  override enumerateSupport(expand = true): Tensor {
    const n = this._eventShape[0] as number;
    const { dtype, device } = this._categorical._param;
    const values = eye(n, { dtype, device }).view([n, ...this._batchShape.map(() => 1), n]);
    return expand ? values.expand([n, ...this._batchShape, n]) : values;
  }
}
installChecks(OneHotCategorical.prototype, METHODS);

/**
 * A `OneHotCategorical` whose samples pass gradients on to the probabilities as they are.
 * @example
 * ```ts
 * manualSeed(0);
 * const logits = zeros(3, { requiresGrad: true });
 * const dist = new distributions.OneHotCategoricalStraightThrough({ logits });
 * dist.rsample().at(0).backward();
 * logits.grad // tensor([ 0.2222, -0.1111, -0.1111])
 * ```
 * @torch torch.distributions.OneHotCategoricalStraightThrough
 */
export class OneHotCategoricalStraightThrough extends OneHotCategorical {
  override get hasRsample(): boolean {
    return true;
  }
  override rsample(sampleShape: SampleShape = []): Tensor {
    const samples = this.sample(sampleShape);
    return samples.add(this.probs.sub(this.probs.detach()));
  }
}
installChecks(OneHotCategoricalStraightThrough.prototype, METHODS);
