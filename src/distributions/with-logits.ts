/** What distributions have that are given by probabilities or by logits. */
import { ValueError } from "../tensor/errors.ts";
import type { Size } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { Distribution, type DistributionOptions } from "./distribution.ts";
import { logitsToProbs, probsToLogits } from "./parameters.ts";

/** Probabilities or logits by name: one of the two. */
export interface LogitsOptions<T = Tensor> extends DistributionOptions {
  /** The probabilities. */
  probs?: T | null;
  /** The logarithms of the odds of a one, or of the probabilities of each position up to a constant. */
  logits?: T | null;
}

/** The one that was given. @throws ValueError for both, and for none */
export function oneOf<T>({ probs, logits }: LogitsOptions<T>): ["probs" | "logits", T] {
  if (isGiven(probs) && !isGiven(logits)) return ["probs", probs];
  if (isGiven(logits) && !isGiven(probs)) return ["logits", logits];
  throw new ValueError("Either `probs` or `logits` must be specified, but not both.");
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

/** The other parameter is computed when it is first read. */
export abstract class WithLogits extends Distribution {
  /** @internal */ declare _probs: Tensor | undefined;
  /** @internal */ declare _logits: Tensor | undefined;
  /** @internal Which one was given. */
  declare _given: "probs" | "logits";

  /** @internal Whether there is one probability for each element, not one for each position of the last dimension. */
  abstract get _binary(): boolean;

  /** @internal */
  _setGiven(name: "probs" | "logits", value: Tensor): void {
    this._given = name;
    this[`_${name}`] = value;
  }
  /** @internal */
  get _param(): Tensor {
    return this[this._given];
  }
  /** The probabilities. */
  get probs(): Tensor {
    this._probs ??= logitsToProbs(this._logits as Tensor, this._binary);
    return this._probs;
  }
  /** The logits. */
  get logits(): Tensor {
    this._logits ??= probsToLogits(this._probs as Tensor, this._binary);
    return this._logits;
  }
  /** The shape of the parameter that was given. */
  get paramShape(): Size {
    return this._param.shape;
  }
  override get hasEnumerateSupport(): boolean {
    return true;
  }
  /** @internal The same for a larger batch, where parameters have one shape more. */
  _expanded(batchShape: readonly number[], eventOfParam: readonly number[]): this {
    const other = this._another(batchShape);
    const shape = [...batchShape, ...eventOfParam];
    other._probs = this._probs?.expand(shape);
    other._logits = this._logits?.expand(shape);
    return other;
  }
}
