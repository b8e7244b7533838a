/** Dimensions of a batch as one event. */

import { installChecks } from "../tensor/checks.ts";
import { NotImplementedError, ValueError } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Constraint, independent } from "./constraints.ts";
import { Distribution, type DistributionOptions, type SampleShape, settings, sizesOf } from "./distribution.ts";
import { sumRightmost } from "./parameters.ts";
import { METHODS } from "./signatures.ts";

/** Parameters of `Independent` by name. */
export interface IndependentOptions extends DistributionOptions {
  /** The distribution of one element. */
  baseDistribution: Distribution;
  /** How many dimensions of the batch become part of the event. */
  reinterpretedBatchNdims: number;
}

/**
 * Takes some of the last dimensions of a batch as one event: probabilities and entropies are summed over them.
 * @throws ValueError for more dimensions than the batch has
 * @example
 * ```ts
 * const normal = new distributions.Normal(zeros(2, 3), ones(2, 3));
 * const dist = new distributions.Independent(normal, 1);
 * print(dist, dist.batchShape, dist.eventShape);
 * print(dist.baseDist === normal, dist.reinterpretedBatchNdims, dist.logProb(zeros(2, 3)));
 * // Independent(Normal(loc: torch.Size([2, 3]), scale: torch.Size([2, 3])), 1) torch.Size([2]) torch.Size([3])
 * // True 1 tensor([-2.7568, -2.7568])
 * ```
 * @torch torch.distributions.Independent
 */
export class Independent<D extends Distribution = Distribution> extends Distribution {
  /** The distribution of one element. */
  declare baseDist: D;
  /** How many dimensions of the batch are part of the event. */
  declare reinterpretedBatchNdims: number;

  constructor(
    baseDistribution: D,
    reinterpretedBatchNdims: number | IndependentOptions,
    validateArgs?: boolean | null | DistributionOptions,
  );
  constructor(options: IndependentOptions);
  constructor(...given: unknown[]) {
    super();
    const options = settings<IndependentOptions>("Independent", given);
    const { baseDistribution: base, reinterpretedBatchNdims: dims } = options;
    if (dims > base.batchShape.length) {
      throw new ValueError(
        `Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual ${dims} vs ` +
          `${base.batchShape.length}`,
      );
    }
    const shape = [...base.batchShape, ...base.eventShape];
    const cut = shape.length - dims - base.eventShape.length;
    this.baseDist = base as D;
    this.reinterpretedBatchNdims = dims;
    this._init(shape.slice(0, cut), shape.slice(cut), options.validateArgs);
  }
  override get argConstraints(): Record<string, Constraint> {
    return {};
  }
  override get support(): Constraint {
    const { support } = this.baseDist;
    return this.reinterpretedBatchNdims > 0 ? independent(support, this.reinterpretedBatchNdims) : support;
  }
  override get hasRsample(): boolean {
    return this.baseDist.hasRsample;
  }
  override get hasEnumerateSupport(): boolean {
    return this.reinterpretedBatchNdims === 0 && this.baseDist.hasEnumerateSupport;
  }
  override get mean(): Tensor {
    return this.baseDist.mean;
  }
  override get mode(): Tensor {
    return this.baseDist.mode;
  }
  override get variance(): Tensor {
    return this.baseDist.variance;
  }
  override expand(batchShape: SampleShape): this {
    const shape = sizesOf(batchShape);
    const other = this._another(shape);
    other.baseDist = this.baseDist.expand([...shape, ...this._eventShape.slice(0, this.reinterpretedBatchNdims)]);
    return other;
  }
  override sample(sampleShape: SampleShape = []): Tensor {
    return this.baseDist.sample(sampleShape);
  }
  override rsample(sampleShape: SampleShape = []): Tensor {
    return this.baseDist.rsample(sampleShape);
  }
  override logProb(value: Tensor): Tensor {
    return sumRightmost(this.baseDist.logProb(value), this.reinterpretedBatchNdims);
  }
  override entropy(): Tensor {
    return sumRightmost(this.baseDist.entropy(), this.reinterpretedBatchNdims);
  }
  override enumerateSupport(expand = true): Tensor {
    if (this.reinterpretedBatchNdims > 0) {
      throw new NotImplementedError("Enumeration over cartesian product is not implemented");
    }
    return this.baseDist.enumerateSupport(expand);
  }
  /** The distribution of one element, and how many dimensions. */
  override toString(): string {
    return `${this.constructor.name}(${this.baseDist}, ${this.reinterpretedBatchNdims})`;
  }
}
installChecks(Independent.prototype, METHODS);
