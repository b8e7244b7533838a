/** The normal distribution. */

import { div, empty, normal } from "../../generated/functional.ts";
import { noGrad } from "../autograd/api.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Constraint, positive, real } from "./constraints.ts";
import { Distribution, type DistributionOptions, type SampleShape, settings, sizesOf } from "./distribution.ts";
import { broadcastAll, type Parameter } from "./parameters.ts";
import { METHODS } from "./signatures.ts";

/** Parameters of `Normal` by name. */
export interface NormalOptions extends DistributionOptions {
  /** The mean. */
  loc: Parameter;
  /** The standard deviation. */
  scale: Parameter;
}

/**
 * The normal distribution.
 * @throws ValueError for a scale that is not above zero
 * @example
 * ```ts
 * manualSeed(0);
 * const dist = new distributions.Normal(tensor([0, 10]), tensor([1, 2]));
 * print(dist, dist.loc, dist.scale);
 * print(dist.sample(), dist.logProb(tensor([0, 10])));
 * // Normal(loc: torch.Size([2]), scale: torch.Size([2])) tensor([ 0., 10.]) tensor([1., 2.])
 * // tensor([1.5410, 9.4131]) tensor([-0.9189, -1.6121])
 * ```
 * @torch torch.distributions.Normal
 */
export class Normal extends Distribution {
  /** The mean. */
  declare loc: Tensor;
  /** The standard deviation. */
  declare scale: Tensor;

  constructor(loc: Parameter, scale: Parameter, validateArgs?: boolean | null | DistributionOptions);
  constructor(options: NormalOptions);
  constructor(...given: unknown[]) {
    super();
    const { loc, scale, validateArgs } = settings<NormalOptions>("Normal", given);
    [this.loc, this.scale] = broadcastAll(loc, scale);
    this._init(this.loc.shape, [], validateArgs);
  }
  override get argConstraints(): Record<string, Constraint> {
    return { loc: real, scale: positive };
  }
  override get support(): Constraint {
    return real;
  }
  override get hasRsample(): boolean {
    return true;
  }
  override get mean(): Tensor {
    return this.loc;
  }
  override get mode(): Tensor {
    return this.loc;
  }
  override get stddev(): Tensor {
    return this.scale;
  }
  override get variance(): Tensor {
    return this.scale.pow(2);
  }
  override expand(batchShape: SampleShape): this {
    const shape = [...sizesOf(batchShape)];
    const other = this._another(shape);
    other.loc = this.loc.expand(shape);
    other.scale = this.scale.expand(shape);
    return other;
  }
  override sample(sampleShape: SampleShape = []): Tensor {
    const shape = this._extendedShape(sampleShape);
    return noGrad(() => normal(this.loc.expand(shape), this.scale.expand(shape)));
  }
  override rsample(sampleShape: SampleShape = []): Tensor {
    const { dtype, device } = this.loc;
    const eps = empty(this._extendedShape(sampleShape), { dtype, device }).normal_();
    return this.loc.add(eps.mul(this.scale));
  }
  override logProb(value: Tensor): Tensor {
    this._validateSample(value);
    const { loc, scale } = this;
    const squares = value.sub(loc).pow(2).neg().div(scale.pow(2).mul(2));
    return squares.sub(scale.log()).sub(Math.log(Math.sqrt(2 * Math.PI)));
  }
  override cdf(value: Tensor): Tensor {
    this._validateSample(value);
    return value.sub(this.loc).mul(div(1, this.scale)).div(Math.SQRT2).erf().add(1).mul(0.5);
  }
  override icdf(value: Tensor): Tensor {
    return this.loc.add(this.scale.mul(value.mul(2).sub(1).erfinv()).mul(Math.SQRT2));
  }
  override entropy(): Tensor {
    return this.scale.log().add(0.5 + 0.5 * Math.log(2 * Math.PI));
  }
}
installChecks(Normal.prototype, METHODS);
