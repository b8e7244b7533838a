/** Random values under transforms. */

import { noGrad } from "../autograd/api.ts";
import { installChecks } from "../tensor/checks.ts";
import { ValueError } from "../tensor/errors.ts";
import { Size, sameSizes } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type Constraint, independent } from "./constraints.ts";
import { Distribution, type DistributionOptions, type SampleShape, settings, sizesOf } from "./distribution.ts";
import { Independent } from "./independent.ts";
import { sumRightmost } from "./parameters.ts";
import { METHODS } from "./signatures.ts";
import { ComposeTransform, signOf, Transform } from "./transforms.ts";

/** Parameters of `TransformedDistribution` by name. */
export interface TransformedOptions extends DistributionOptions {
  /** Where values are drawn. */
  baseDistribution: Distribution;
  /** What becomes of them. */
  transforms: Transform | readonly Transform[];
}

function listOf(transforms: unknown): Transform[] {
  if (transforms instanceof Transform) return [transforms];
  if (!Array.isArray(transforms)) {
    throw new ValueError(`transforms must be a Transform or list, but was ${String(transforms)}`);
  }
  if (transforms.every((one) => one instanceof Transform)) return [...transforms];
  throw new ValueError("transforms must be a Transform or a list of Transforms");
}

/**
 * What becomes of random values under transforms.
 * @throws ValueError for transforms that are none
 * @example
 * ```ts
 * const { AffineTransform, Normal, TanhTransform, TransformedDistribution } = distributions;
 * const dist = new TransformedDistribution(new Normal(0, 1), [new TanhTransform(), new AffineTransform(1, 2)]);
 * [dist.baseDist, dist.transforms.length, dist.support, dist.logProb(tensor(1))]
 * // [Normal(loc: 0.0, scale: 1.0), 2, Real(), tensor(-1.6121)]
 * ```
 * @torch torch.distributions.TransformedDistribution
 */
export class TransformedDistribution extends Distribution {
  /** Where values are drawn. */
  declare baseDist: Distribution;
  /** What becomes of them, the first one first. */
  declare transforms: readonly Transform[];

  constructor(
    baseDistribution: Distribution,
    transforms: Transform | readonly Transform[] | TransformedOptions,
    validateArgs?: boolean | null | DistributionOptions,
  );
  constructor(options: TransformedOptions);
  /** @internal What subclasses set themselves. */
  constructor();
  constructor(...given: unknown[]) {
    super();
    if (new.target !== TransformedDistribution && given.length === 0) return;
    const o = settings<TransformedOptions>("TransformedDistribution", given);
    this._setTransforms(o.baseDistribution, listOf(o.transforms), o.validateArgs);
  }
  /** @internal */
  _setTransforms(base: Distribution, transforms: Transform[], validateArgs: boolean | null | undefined): void {
    this.transforms = transforms;
    const all = new ComposeTransform(transforms);
    const shape = Size.fromList([...base.batchShape, ...base.eventShape]);
    const [domain, codomain, event] = [all.domain.eventDim, all.codomain.eventDim, base.eventShape.length];
    if (shape.length < domain) {
      throw new ValueError(`base_distribution needs to have shape with size at least ${domain}, but got ${shape}.`);
    }
    const forward = all.forwardShape(shape);
    const expanded = all.inverseShape(forward);
    let at = base;
    if (!sameSizes(shape, expanded)) at = at.expand(expanded.slice(0, expanded.length - event));
    if (domain > event) at = new Independent(at, domain - event);
    this.baseDist = at;
    const cut = forward.length - Math.max(codomain, event + codomain - domain);
    this._init(forward.slice(0, cut), forward.slice(cut), validateArgs);
  }
  override get argConstraints(): Record<string, Constraint> {
    return {};
  }
  override get support(): Constraint {
    const last = this.transforms.at(-1);
    if (last === undefined) return this.baseDist.support;
    const more = this._eventShape.length - last.codomain.eventDim;
    return more > 0 ? independent(last.codomain, more) : last.codomain;
  }
  override get hasRsample(): boolean {
    return this.baseDist.hasRsample;
  }
  override expand(batchShape: SampleShape): this {
    const batch = sizesOf(batchShape);
    const other = this._another(batch);
    const all = new ComposeTransform(this.transforms);
    const shape = all.inverseShape([...batch, ...this._eventShape]);
    other.baseDist = this.baseDist.expand(shape.slice(0, shape.length - this.baseDist.eventShape.length));
    return other;
  }
  override sample(sampleShape: SampleShape = []): Tensor {
    return noGrad(() => this._transform(this.baseDist.sample(sampleShape)));
  }
  override rsample(sampleShape: SampleShape = []): Tensor {
    return this._transform(this.baseDist.rsample(sampleShape));
  }
  override logProb(value: Tensor): Tensor {
    this._validateSample(value);
    let dims = this._eventShape.length;
    let sum: Tensor | null = null;
    let y = value;
    for (const transform of [...this.transforms].reverse()) {
      const x = transform.unapply(y);
      dims += transform.domain.eventDim - transform.codomain.eventDim;
      const term = sumRightmost(transform.logAbsDetJacobian(x, y), dims - transform.domain.eventDim);
      sum = sum === null ? term.neg() : sum.sub(term);
      y = x;
    }
    const base = sumRightmost(this.baseDist.logProb(y), dims - this.baseDist.eventShape.length);
    return sum === null ? base : sum.add(base);
  }
  override cdf(value: Tensor): Tensor {
    const x = this.transforms.reduceRight((y, transform) => transform.unapply(y), value);
    return this._rising(this.baseDist.cdf(x));
  }
  override icdf(value: Tensor): Tensor {
    return this._transform(this.baseDist.icdf(this._rising(value)));
  }
  /** @internal */
  _transform(x: Tensor): Tensor {
    return this.transforms.reduce((at, transform) => transform.apply(at), x);
  }
  private _rising(value: Tensor): Tensor {
    const sign = signOf(this.transforms);
    if (sign === 1) return value;
    const centred = value.sub(0.5);
    return (sign instanceof Tensor ? sign.mul(centred) : centred.mul(sign)).add(0.5);
  }
}
installChecks(TransformedDistribution.prototype, METHODS);
