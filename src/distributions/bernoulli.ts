/** Ones and zeros. */

import { arange, bernoulli, sub } from "../../generated/functional.ts";
import { noGrad } from "../autograd/api.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { boolean, type Constraint, real, unitInterval } from "./constraints.ts";
import { type DistributionOptions, type SampleShape, settings, sizesOf } from "./distribution.ts";
import { binaryCrossEntropy, broadcastAll, type Parameter } from "./parameters.ts";
import { METHODS } from "./signatures.ts";
import { type LogitsOptions, oneOf, WithLogits } from "./with-logits.ts";

/**
 * Ones and zeros.
 * @throws ValueError unless exactly one of `probs` and `logits` is given, for probabilities outside of [0, 1]
 * @example
 * ```ts
 * manualSeed(0);
 * const dist = new distributions.Bernoulli({ probs: tensor([0.3, 0.9]) });
 * print(String(dist), dist.probs, dist.logits);
 * print(dist.paramShape, dist.sample());
 * // Bernoulli(probs: torch.Size([2])) tensor([0.3000, 0.9000]) tensor([-0.8473,  2.1972])
 * // torch.Size([2]) tensor([0., 1.])
 * ```
 * @torch torch.distributions.Bernoulli
 */
export class Bernoulli extends WithLogits {
  constructor(
    probs?: Parameter | null | LogitsOptions<Parameter>,
    logits?: Parameter | null | LogitsOptions<Parameter>,
    validateArgs?: boolean | null | DistributionOptions,
  );
  constructor(...given: unknown[]) {
    super();
    const options = settings<LogitsOptions<Parameter>>("Bernoulli", given);
    const [name, value] = oneOf(options);
    this._setGiven(name, broadcastAll(value)[0]);
    this._init(this._param.shape, [], options.validateArgs);
  }
  override get _binary(): boolean {
    return true;
  }
  override get argConstraints(): Record<string, Constraint> {
    return { probs: unitInterval, logits: real };
  }
  override get support(): Constraint {
    return boolean;
  }
  override get mean(): Tensor {
    return this.probs;
  }
  override get mode(): Tensor {
    const { probs } = this;
    return probs.ge(0.5).to(probs.dtype).maskedFill(probs.eq(0.5), Number.NaN);
  }
  override get variance(): Tensor {
    return this.probs.mul(sub(1, this.probs));
  }
  override expand(batchShape: SampleShape): this {
    return this._expanded(sizesOf(batchShape), []);
  }
  override sample(sampleShape: SampleShape = []): Tensor {
    const shape = this._extendedShape(sampleShape);
    return noGrad(() => bernoulli(this.probs.expand(shape)));
  }
  override logProb(value: Tensor): Tensor {
    this._validateSample(value);
    const [logits, target] = broadcastAll(this.logits, value);
    return binaryCrossEntropy(logits, target).neg();
  }
  override entropy(): Tensor {
    return binaryCrossEntropy(this.logits, this.probs);
  }
  override enumerateSupport(expand = true): Tensor {
    const { dtype, device } = this._param;
    const values = arange(2, { dtype, device }).view([-1, ...this._batchShape.map(() => 1)]);
    return expand ? values.expand([-1, ...this._batchShape]) : values;
  }
}
installChecks(Bernoulli.prototype, METHODS);
