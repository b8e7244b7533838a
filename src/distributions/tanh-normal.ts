/** Normal values between two bounds. */

import { noGrad } from "../autograd/api.ts";
import { installChecks } from "../tensor/checks.ts";
import { ValueError } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type DistributionOptions, type SampleShape, settings, sizesOf } from "./distribution.ts";
import { Independent } from "./independent.ts";
import { Normal } from "./normal.ts";
import { broadcastAll, type Parameter } from "./parameters.ts";
import { METHODS } from "./signatures.ts";
import { TransformedDistribution } from "./transformed-distribution.ts";
import { AffineTransform, TanhTransform, type Transform } from "./transforms.ts";

/** How far safe values stay away from the ends, where the tangent has no inverse. */
const MARGINS: Record<string, number> = { float64: 1e-15, float32: 1e-6, float16: 1e-3, bfloat16: 1e-2 };

/** The hyperbolic tangent, kept off its ends. */
class SafeTanhTransform extends TanhTransform {
  override _call(x: Tensor): Tensor {
    const y = x.tanh();
    noGrad(() => y.data.copy_(kept(y.detach())));
    return y;
  }
  override _inverse(y: Tensor): Tensor {
    return super._inverse(kept(y));
  }
  override withCache(cacheSize = 1): Transform {
    return cacheSize === this._cacheSize ? this : new SafeTanhTransform(cacheSize);
  }
}

function kept(y: Tensor): Tensor {
  const most = 1 - (MARGINS[y.dtype.name] ?? 1e-6);
  return y.clamp(-most, most);
}

/** Parameters of `TanhNormal` by name. */
export interface TanhNormalOptions extends DistributionOptions {
  /** The mean before the tangent. */
  loc?: Parameter;
  /** The standard deviation before the tangent. */
  scale?: Parameter;
  /** With `tanhLoc`, how far the mean may lie from zero. Default 5. */
  upscale?: number;
  /** The lowest value. Default -1. */
  low?: Parameter;
  /** The highest value. Default 1. */
  high?: Parameter;
  /** How many of the last dimensions are one event. Default 1, or 0 for parameters without dimensions. */
  eventDims?: number | null;
  /** Whether the mean is bounded by `upscale`. Default false. */
  tanhLoc?: boolean;
  /** Whether values stay off the bounds, where the density is infinite. Default true. */
  safeTanh?: boolean;
}

/**
 * Normal random values brought between two bounds by the hyperbolic tangent, as policies for bounded actions use them.
 * @throws ValueError for a lower bound that is not below the upper one
 * @example
 * ```ts
 * manualSeed(0);
 * const dist = new distributions.TanhNormal({ loc: zeros(2), scale: ones(2), low: -2, high: 2 });
 * const action = dist.sample();
 * print(dist.eventShape, dist.loc, dist.scale);
 * print(dist.low, dist.high, action);
 * print(dist.logProb(action), dist.deterministicSample);
 * // torch.Size([2]) tensor([0., 0.]) tensor([1., 1.])
 * // -2 2 tensor([ 1.8246, -0.5706])
 * // tensor(-2.5843) tensor([0., 0.])
 * ```
 * @torch torchrl.modules.TanhNormal
 */
export class TanhNormal extends TransformedDistribution {
  /** The mean before the tangent. */
  declare loc: Tensor;
  /** The standard deviation before the tangent. */
  declare scale: Tensor;
  /** The lowest value. */
  declare low: Parameter;
  /** The highest value. */
  declare high: Parameter;

  constructor(
    loc: Parameter | TanhNormalOptions,
    scale?: Parameter | TanhNormalOptions,
    upscale?: number | TanhNormalOptions,
    low?: Parameter | TanhNormalOptions,
    high?: Parameter | TanhNormalOptions,
    eventDims?: number | null | TanhNormalOptions,
    tanhLoc?: boolean | TanhNormalOptions,
    safeTanh?: boolean | TanhNormalOptions,
    validateArgs?: boolean | null | DistributionOptions,
  );
  constructor(...given: unknown[]) {
    super();
    const o = settings<TanhNormalOptions & { loc: Parameter; scale: Parameter }>("TanhNormal", given);
    const [low, high] = [o.low ?? -1, o.high ?? 1];
    const [atLow, atHigh] = broadcastAll(low, high);
    if (atLow.ge(atHigh).any().item() === true) {
      throw new ValueError("max value must be strictly greater than min value");
    }
    const [mean, scale] = broadcastAll(o.loc, o.scale);
    const upscale = o.upscale ?? 5;
    const loc = o.tanhLoc === true ? mean.div(upscale).tanh().mul(upscale) : mean;
    this.loc = loc;
    this.scale = scale;
    this.low = low;
    this.high = high;
    const dims = o.eventDims ?? Math.min(1, loc.ndim);
    const normal = new Normal({ loc, scale, validateArgs: o.validateArgs });
    const parts: Transform[] = [o.safeTanh === false ? new TanhTransform() : new SafeTanhTransform()];
    if (low !== -1 || high !== 1) {
      const factor = atHigh.sub(atLow).div(2);
      parts.push(new AffineTransform(single(atLow.add(factor)), single(factor), dims));
    }
    this._setTransforms(new Independent(normal, dims), parts, o.validateArgs);
  }
  override get mode(): Tensor {
    return this._transform(this.loc);
  }
  /** The value of the mean before the tangent. */
  get deterministicSample(): Tensor {
    return this.mode;
  }
  override expand(batchShape: SampleShape): this {
    const other = super.expand(batchShape);
    const shape = [...sizesOf(batchShape), ...this._eventShape];
    other.loc = this.loc.expand(shape);
    other.scale = this.scale.expand(shape);
    return other;
  }
}
installChecks(TanhNormal.prototype, METHODS);

/** A bound without dimensions as its number. */
function single(bound: Tensor): Parameter {
  return bound.ndim === 0 && !bound.requiresGrad ? (bound.item() as number) : bound;
}
