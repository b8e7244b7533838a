/** Normal distributions between bounds. */

import { empty } from "../../generated/functional.ts";
import { noGrad } from "../autograd/api.ts";
import { installChecks } from "../tensor/checks.ts";
import { ValueError } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Constraint, interval, real } from "./constraints.ts";
import { Distribution, type DistributionOptions, type SampleShape, settings } from "./distribution.ts";
import { broadcastAll, lowest, type Parameter } from "./parameters.ts";
import { METHODS } from "./signatures.ts";

/** What probabilities keep away from zero and one. */
const EPS = 1e-6;
const INV_SQRT_2PI = 1 / Math.sqrt(2 * Math.PI);
const LOG_INV_SQRT_2PI = Math.log(INV_SQRT_2PI);
const LOG_SQRT_2PI_E = 0.5 * Math.log(2 * Math.PI * Math.E);

/** Bounds of `TruncatedStandardNormal` by name. */
export interface TruncatedStandardNormalOptions extends DistributionOptions {
  /** The lower bound. */
  a: Parameter;
  /** The upper bound. */
  b: Parameter;
}

/** Parameters of `TruncatedNormal` by name. */
export interface TruncatedNormalOptions extends TruncatedStandardNormalOptions {
  /** The mean before truncation. */
  loc: Parameter;
  /** The standard deviation before truncation. */
  scale: Parameter;
}

/** The density of the standard normal distribution. */
const density = (x: Tensor): Tensor => x.pow(2).neg().mul(0.5).exp().mul(INV_SQRT_2PI);

/** Its cumulative distribution function. */
function cumulative(x: Tensor): Tensor {
  const phi = x
    .mul(1 / Math.sqrt(2))
    .erf()
    .add(1)
    .mul(0.5);
  return phi.clamp(EPS, 1 - EPS);
}

/** What the methods need of the bounds. */
interface Moments {
  /** The probability below the lower bound. */
  below: Tensor;
  /** The probability between the bounds. */
  mass: Tensor;
  logMass: Tensor;
  mean: Tensor;
  variance: Tensor;
  entropy: Tensor;
}

function momentsOf(a: Tensor, b: Tensor): Moments {
  const [atA, atB] = [density(a), density(b)];
  const below = cumulative(a);
  const mass = cumulative(b)
    .sub(below)
    .clamp(EPS, 1 - EPS);
  const logMass = mass.log();
  // At an infinite bound the density is zero, and so is its product with the largest number in the bound's place.
  const skew = atB
    .mul(finite(b))
    .sub(atA.mul(finite(a)))
    .div(mass);
  const shift = atB.sub(atA).div(mass);
  return {
    below,
    mass,
    logMass,
    mean: shift.neg(),
    variance: skew.neg().add(1).sub(shift.pow(2)),
    entropy: logMass.add(LOG_SQRT_2PI_E).sub(skew.mul(0.5)),
  };
}

function finite(x: Tensor): Tensor {
  const low = lowest(x);
  return x.clamp(low, -low);
}

/**
 * The standard normal distribution between two bounds.
 * @throws ValueError for a lower bound that is not below the upper one
 * @example
 * ```ts
 * const dist = new distributions.TruncatedStandardNormal(zeros(2), tensor([1, 2]));
 * [dist.a, dist.b, dist.mean, dist.auc]
 * // [tensor([0., 0.]), tensor([1., 2.]), tensor([0.4599, 0.7228]), tensor([0.3413, 0.4772])]
 * ```
 * @torch tensordict.nn.distributions.truncated_normal.TruncatedStandardNormal
 */
export class TruncatedStandardNormal extends Distribution {
  /** The lower bound, in standard deviations. */
  declare a: Tensor;
  /** The upper bound, in standard deviations. */
  declare b: Tensor;
  /** @internal */ declare _moments: Moments;

  constructor(a: Parameter, b: Parameter, validateArgs?: boolean | null | DistributionOptions);
  constructor(options: TruncatedStandardNormalOptions);
  /** @internal What subclasses set themselves. */
  constructor();
  constructor(...given: unknown[]) {
    super();
    if (new.target !== TruncatedStandardNormal && given.length === 0) return;
    const { a, b, validateArgs } = settings<TruncatedStandardNormalOptions>("TruncatedStandardNormal", given);
    const [low, high] = broadcastAll(a, b);
    this._setBounds(low, high, low.shape, validateArgs);
  }
  /** @internal */
  _setBounds(a: Tensor, b: Tensor, shape: readonly number[], validateArgs: boolean | null | undefined): void {
    this.a = a;
    this.b = b;
    this._init(shape, [], validateArgs);
    if (a.dtype !== b.dtype) throw new ValueError("Truncation bounds types are different");
    if (a.ge(b).any().item() === true) throw new ValueError("Incorrect truncation range");
    this._moments = momentsOf(a, b);
  }
  override get argConstraints(): Record<string, Constraint> {
    return { a: real, b: real };
  }
  override get support(): Constraint {
    return interval(this.a, this.b);
  }
  override get hasRsample(): boolean {
    return true;
  }
  override get mean(): Tensor {
    return this._moments.mean;
  }
  override get variance(): Tensor {
    return this._moments.variance;
  }
  /** The probability between the bounds, before truncation. */
  get auc(): Tensor {
    return this._moments.mass;
  }
  override entropy(): Tensor {
    return this._moments.entropy;
  }
  override cdf(value: Tensor): Tensor {
    return cumulative(this._standard(value)).sub(this._moments.below).div(this._moments.mass).clamp(0, 1);
  }
  override icdf(value: Tensor): Tensor {
    const y = value
      .mul(this._moments.mass)
      .add(this._moments.below)
      .clamp(EPS, 1 - EPS);
    return y.mul(2).sub(1).erfinv().mul(Math.SQRT2);
  }
  override logProb(value: Tensor): Tensor {
    const x = this._standard(value);
    return this._moments.logMass.neg().add(LOG_INV_SQRT_2PI).sub(x.pow(2).mul(0.5));
  }
  override rsample(sampleShape: SampleShape = []): Tensor {
    const drawn = empty(this._extendedShape(sampleShape), { device: this.a.device }).uniform_(EPS, 1 - EPS);
    return this.icdf(drawn);
  }
  /** @internal A value that was checked, in standard deviations from the mean before truncation. */
  _standard(value: Tensor): Tensor {
    this._validateSample(value);
    return value;
  }
}
installChecks(TruncatedStandardNormal.prototype, METHODS);

/**
 * A normal distribution between two bounds.
 * @throws ValueError for a lower bound that is not below the upper one
 * @example
 * ```ts
 * manualSeed(0);
 * const dist = new distributions.TruncatedNormal({ loc: zeros(3), scale: ones(3), a: -1, b: 1 });
 * [dist.loc, dist.scale, dist.sample(), dist.mean]
 * // [tensor([0., 0., 0.]), tensor([1., 1., 1.]), tensor([-0.0064,  0.4764, -0.7754]), tensor([0., 0., 0.])]
 * ```
 * @torch tensordict.nn.TruncatedNormal
 */
export class TruncatedNormal extends TruncatedStandardNormal {
  /** The mean before truncation. */
  declare loc: Tensor;
  /** The standard deviation before truncation. */
  declare scale: Tensor;
  /** @internal The bounds as they were given. */
  declare _range: readonly [low: Tensor, high: Tensor];

  constructor(
    loc: Parameter,
    scale: Parameter,
    a: Parameter | TruncatedNormalOptions,
    b?: Parameter | TruncatedNormalOptions,
    validateArgs?: boolean | null | DistributionOptions,
  );
  constructor(options: TruncatedNormalOptions);
  constructor(...given: unknown[]) {
    super();
    const o = settings<TruncatedNormalOptions>("TruncatedNormal", given);
    const [loc, scale, low, high] = broadcastAll(o.loc, o.scale, o.a, o.b);
    this.loc = loc;
    this.scale = scale.clamp({ min: EPS });
    this._range = [low, high];
    const [a, b] = [low.sub(loc).div(this.scale), high.sub(loc).div(this.scale)];
    this._setBounds(a, b, a.shape, o.validateArgs);
    const m = this._moments;
    this._moments = {
      ...m,
      mean: m.mean.mul(this.scale).add(loc),
      variance: m.variance.mul(this.scale.pow(2)),
      entropy: m.entropy.add(this.scale.log()),
    };
  }
  override get support(): Constraint {
    return interval(this._range[0], this._range[1]);
  }
  override icdf(value: Tensor): Tensor {
    const sample = super.icdf(value).mul(this.scale).add(this.loc);
    // The elements are brought between the bounds, gradients are not.
    const [low, high] = this._range;
    const inside = noGrad(() => sample.maximum(low).minimum(high));
    sample.data.copy_(inside);
    return sample;
  }
  override logProb(value: Tensor): Tensor {
    return super.logProb(value).sub(this.scale.log());
  }
  /** @internal */
  override _standard(value: Tensor): Tensor {
    this._validateSample(value);
    return value.sub(this.loc).div(this.scale);
  }
}
installChecks(TruncatedNormal.prototype, METHODS);
