/** Equally likely numbers between bounds. */

import { rand } from "../../generated/functional.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Constraint, greaterThan, interval, lessThan } from "./constraints.ts";
import { Distribution, type DistributionOptions, type SampleShape, settings, sizesOf } from "./distribution.ts";
import { broadcastAll, type Parameter } from "./parameters.ts";
import { METHODS } from "./signatures.ts";

/** Parameters of `Uniform` by name. */
export interface UniformOptions extends DistributionOptions {
  /** The lower bound, included. */
  low: Parameter;
  /** The upper bound, excluded. */
  high: Parameter;
}

/**
 * Equally likely numbers between two bounds.
 * @throws ValueError for a lower bound that is not below the upper one
 * @example
 * ```ts
 * manualSeed(0);
 * const dist = new distributions.Uniform(0, 5);
 * [dist, dist.low, dist.high, dist.sample(2), dist.cdf(tensor(2))]
 * // [Uniform(low: 0.0, high: 5.0), tensor(0.), tensor(5.), tensor([2.4813, 3.8411]), tensor(0.4000)]
 * ```
 * @torch torch.distributions.Uniform
 */
export class Uniform extends Distribution {
  /** The lower bound, included. */
  declare low: Tensor;
  /** The upper bound, excluded. */
  declare high: Tensor;

  constructor(low: Parameter, high: Parameter, validateArgs?: boolean | null | DistributionOptions);
  constructor(options: UniformOptions);
  constructor(...given: unknown[]) {
    super();
    const { low, high, validateArgs } = settings<UniformOptions>("Uniform", given);
    [this.low, this.high] = broadcastAll(low, high);
    this._init(this.low.shape, [], validateArgs);
  }
  override get argConstraints(): Record<string, Constraint> {
    return { low: lessThan(this.high), high: greaterThan(this.low) };
  }
  override get support(): Constraint {
    return interval(this.low, this.high);
  }
  override get hasRsample(): boolean {
    return true;
  }
  override get mean(): Tensor {
    return this.high.add(this.low).div(2);
  }
  override get mode(): Tensor {
    return this.high.mul(Number.NaN);
  }
  override get stddev(): Tensor {
    return this.high.sub(this.low).div(Math.sqrt(12));
  }
  override get variance(): Tensor {
    return this.high.sub(this.low).pow(2).div(12);
  }
  override expand(batchShape: SampleShape): this {
    const shape = [...sizesOf(batchShape)];
    const other = this._another(shape);
    other.low = this.low.expand(shape);
    other.high = this.high.expand(shape);
    return other;
  }
  override rsample(sampleShape: SampleShape = []): Tensor {
    const { dtype, device } = this.low;
    const drawn = rand(this._extendedShape(sampleShape), { dtype, device });
    return this.low.add(drawn.mul(this.high.sub(this.low)));
  }
  override logProb(value: Tensor): Tensor {
    this._validateSample(value);
    const { dtype } = this.low;
    const inside = this.low.le(value).to(dtype).mul(this.high.gt(value).to(dtype));
    return inside.log().sub(this.entropy());
  }
  override cdf(value: Tensor): Tensor {
    this._validateSample(value);
    return value.sub(this.low).div(this.high.sub(this.low)).clamp(0, 1);
  }
  override icdf(value: Tensor): Tensor {
    return value.mul(this.high.sub(this.low)).add(this.low);
  }
  override entropy(): Tensor {
    return this.high.sub(this.low).log();
  }
}
installChecks(Uniform.prototype, METHODS);
