/** Positions as vectors of integers with a one. */

import { rand, randLike } from "../../../generated/functional.ts";
import { noGrad } from "../../autograd/api.ts";
import { Categorical } from "../../distributions/categorical.ts";
import type { DistributionOptions, SampleShape } from "../../distributions/distribution.ts";
import { oneHotOf } from "../../distributions/one-hot-categorical.ts";
import { clampProbs } from "../../distributions/parameters.ts";
import { METHODS } from "../../distributions/signatures.ts";
import type { LogitsOptions } from "../../distributions/with-logits.ts";
import { inOrder, installChecks, namedArguments } from "../../tensor/checks.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { CONSTRUCTORS, FUNCTIONS } from "./signatures.ts";

/** One position is no dimension of positions. */
const squeezed = (param: Tensor | null | undefined): Tensor | null =>
  param === null || param === undefined ? null : param.shape.at(-1) === 1 ? param.select(-1, 0) : param;

/**
 * Positions as int64 vectors with a one. Gradients of `rsample` are those of a relaxed sample.
 * @example
 * ```ts
 * manualSeed(0);
 * const dist = new tensordict.nn.OneHotCategorical({ logits: tensor([0, 2, 1]) });
 * print(dist, dist.mode, dist.deterministicSample);
 * print(dist.sample(2));
 * print(dist.logProb(tensor([0, 1, 0])));
 * // OneHotCategorical(logits: torch.Size([3])) tensor([0, 1, 0]) tensor([0, 1, 0])
 * // tensor([[0, 0, 1],
 * //         [0, 1, 0]])
 * // tensor(-0.4076)
 * ```
 * @torch tensordict.nn.OneHotCategorical
 */
export class OneHotCategorical extends Categorical {
  constructor(
    logits?: Tensor | null | LogitsOptions,
    probs?: Tensor | null | LogitsOptions,
    validateArgs?: boolean | null | DistributionOptions,
  );
  constructor(...given: unknown[]) {
    const o = namedArguments("OneHotCategorical", CONSTRUCTORS.OneHotCategorical, given) as LogitsOptions;
    super({ probs: squeezed(o.probs), logits: squeezed(o.logits), validateArgs: o.validateArgs });
  }
  override logProb(value: Tensor): Tensor {
    return super.logProb(value.argmax(-1));
  }
  override get mode(): Tensor {
    return oneHotOf(this.logits.argmax(-1), this._numEvents);
  }
  /** The mode. @torch tensordict.nn.OneHotCategorical.deterministic_sample */
  get deterministicSample(): Tensor {
    return this.mode;
  }
  override sample(sampleShape: SampleShape = []): Tensor {
    return oneHotOf(super.sample(sampleShape), this._numEvents);
  }
  override rsample(sampleShape: SampleShape = []): Tensor {
    const { dtype, device } = this.logits;
    const uniform = rand([...this._extendedShape(sampleShape), this._numEvents], { dtype, device });
    const gumbels = clampProbs(uniform).log().neg().log().neg();
    const scores = this.logits.sub(this.logits.logsumexp(-1, true)).add(gumbels);
    const relaxed = scores.sub(scores.logsumexp(-1, true)).exp();
    // The elements are those of the sample, the gradients those of the relaxed one.
    const hard = noGrad(() => relaxed.eq(relaxed.amax(-1, true)).to(relaxed.dtype));
    relaxed.data.copy_(hard);
    return relaxed;
  }
}
// Another class of this name is in the room below.
Object.defineProperty(OneHotCategorical, "name", { value: "OneHotCategorical" });
installChecks(OneHotCategorical.prototype, METHODS);

/**
 * A vector with a one at a random position, whose logits (or probabilities, without softmax) are the last dimension.
 * @example
 * ```ts
 * manualSeed(0);
 * tensordict.nn.randOneHot(zeros(2, 3)) // tensor([[0, 1, 0],
 * //         [0, 0, 1]])
 * ```
 * @torch tensordict.nn.rand_one_hot
 */
export function randOneHot(values: Tensor, doSoftmax = true): Tensor {
  [values, doSoftmax = true] = inOrder<[Tensor, boolean?]>("randOneHot", FUNCTIONS.randOneHot, arguments);
  const probs = doSoftmax ? values.softmax(-1) : values;
  const above = probs.cumsum(-1).gt(randLike(probs.narrow(-1, 0, 1)));
  return above.cumsum(-1).eq(1).to("int64");
}
