/** Positions, each with a probability. */

import { arange, full, multinomial } from "../../generated/functional.ts";
import { broadcastShapes } from "../dispatch/allocate.ts";
import { installChecks } from "../tensor/checks.ts";
import { ValueError } from "../tensor/errors.ts";
import { numelOf } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Constraint, integerInterval, realVector, simplex } from "./constraints.ts";
import { type DistributionOptions, type SampleShape, settings, sizesOf } from "./distribution.ts";
import { lowest } from "./parameters.ts";
import { METHODS } from "./signatures.ts";
import { type LogitsOptions, oneOf, WithLogits } from "./with-logits.ts";

/** The probabilities of positions brought to the sum one, or logits to those of such. */
function normalized(name: "probs" | "logits", value: Tensor): Tensor {
  if (value.ndim < 1) throw new ValueError(`\`${name}\` parameter must be at least one-dimensional.`);
  return name === "probs" ? value.div(value.sum(-1, true)) : value.sub(value.logsumexp(-1, true));
}

/**
 * Positions, each with a probability; the parameters' last dimension holds them.
 * @throws ValueError unless exactly one of `probs` and `logits` is given, for probabilities that are negative or have
 * the sum zero
 * @example
 * ```ts
 * manualSeed(0);
 * const dist = new distributions.Categorical({ probs: tensor([1, 2, 1]) });
 * print(String(dist), dist.probs, dist.logits);
 * print(dist.paramShape, dist.sample(4), dist.logProb(tensor(1)));
 * // Categorical(probs: torch.Size([3])) tensor([0.2500, 0.5000, 0.2500]) tensor([-1.3863, -0.6931, -1.3863])
 * // torch.Size([3]) tensor([2, 1, 1, 2]) tensor(-0.6931)
 * ```
 * @torch torch.distributions.Categorical
 */
export class Categorical extends WithLogits {
  constructor(
    probs?: Tensor | null | LogitsOptions,
    logits?: Tensor | null | LogitsOptions,
    validateArgs?: boolean | null | DistributionOptions,
  );
  constructor(...given: unknown[]) {
    super();
    const options = settings<LogitsOptions>("Categorical", given);
    const [name, value] = oneOf(options);
    this._setGiven(name, normalized(name, value));
    this._init(this._param.shape.slice(0, -1), [], options.validateArgs);
  }
  override get _binary(): boolean {
    return false;
  }
  /** @internal The number of positions. */
  get _numEvents(): number {
    return this._param.shape.at(-1) as number;
  }
  override get argConstraints(): Record<string, Constraint> {
    return { probs: simplex, logits: realVector };
  }
  override get support(): Constraint {
    return integerInterval(0, this._numEvents - 1);
  }
  override get mean(): Tensor {
    const { dtype, device } = this.probs;
    return full(this._extendedShape(), Number.NaN, { dtype, device });
  }
  override get variance(): Tensor {
    return this.mean;
  }
  override get mode(): Tensor {
    return this.probs.argmax(-1);
  }
  override expand(batchShape: SampleShape): this {
    return this._expanded(sizesOf(batchShape), [this._numEvents]);
  }
  override sample(sampleShape: SampleShape = []): Tensor {
    const rows = this.probs.detach().reshape([-1, this._numEvents]);
    const drawn = multinomial(rows, numelOf(sizesOf(sampleShape)), true);
    return drawn.transpose(0, 1).reshape(this._extendedShape(sampleShape));
  }
  override logProb(value: Tensor): Tensor {
    this._validateSample(value);
    const index = value.to("int64").unsqueeze(-1);
    const { logits } = this;
    const shape = [...broadcastShapes(index.shape, logits.shape, "broadcast_tensors")];
    const positions = index.expand([...shape.slice(0, -1), 1]);
    return logits.expand(shape).gather(-1, positions).squeeze(-1);
  }
  override entropy(): Tensor {
    const logits = this.logits.clamp({ min: lowest(this.logits) });
    return logits.mul(this.probs).sum(-1).neg();
  }
  override enumerateSupport(expand = true): Tensor {
    const values = arange(this._numEvents, { dtype: "int64", device: this._param.device });
    const column = values.view([-1, ...this._batchShape.map(() => 1)]);
    return expand ? column.expand([-1, ...this._batchShape]) : column;
  }
}
installChecks(Categorical.prototype, METHODS);
