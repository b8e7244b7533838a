/** Linear layers. */

import { nn_functional_linear as linear } from "../../generated/ops.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkDiscreet, markDiscreet } from "./forward-checks.ts";
import * as init from "./init.ts";
import { Module } from "./module.ts";
import { newParameter, type Placement, settings } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import { MODULE } from "./signatures.ts";

/**
 * Gives back what it is given.
 * @example
 * ```ts
 * new nn.Identity()(tensor([1])) // tensor([1.])
 * ```
 * @torch torch.nn.Identity
 */
export class Identity extends Module {
  constructor(..._args: unknown[]) {
    super();
  }
  // biome-ignore lint/suspicious/noExplicitAny: a call's type cannot follow a type parameter of forward
  override forward(input: any): any {
    return input;
  }
}
markDiscreet(Identity);

/** Options of `Linear`. */
export interface LinearOptions extends Placement {
  /** Whether a bias is added. Default true. */
  bias?: boolean;
}

type LinearSettings = Required<LinearOptions> & { inFeatures: number; outFeatures: number };

const DEFAULTS = { bias: true, device: null, dtype: null };

/**
 * A linear map: `input @ weight.T + bias`.
 * @example
 * ```ts
 * manualSeed(0);
 * new nn.Linear(2, 1)(ones(3, 2)).shape // torch.Size([3, 1])
 * ```
 * @torch torch.nn.Linear
 */
export class Linear extends Module {
  /** The matrix, of shape (outFeatures, inFeatures). */
  declare weight: Parameter;
  /** The summands, of shape (outFeatures); null without them. */
  declare bias: Parameter | null;
  /** Features of the input. */
  inFeatures: number;
  /** Features of the output. */
  outFeatures: number;

  constructor(
    inFeatures: number,
    outFeatures: number,
    ...rest: [bias?: boolean | LinearOptions, options?: LinearOptions]
  ) {
    super();
    const o = settings<LinearSettings>("Linear", [inFeatures, outFeatures, ...rest], DEFAULTS);
    this.inFeatures = o.inFeatures;
    this.outFeatures = o.outFeatures;
    this.weight = newParameter([o.outFeatures, o.inFeatures], o);
    if (o.bias) this.bias = newParameter([o.outFeatures], o);
    else this.registerParameter("bias", null);
    this.resetParameters();
  }
  /** Draws new values. */
  resetParameters(): void {
    init.kaimingUniform_(this.weight, { a: Math.sqrt(5) });
    if (this.bias === null) return;
    const bound = this.inFeatures > 0 ? 1 / Math.sqrt(this.inFeatures) : 0;
    init.uniform_(this.bias, -bound, bound);
  }
  override forward(input: Tensor): Tensor {
    return linear(input, this.weight, this.bias);
  }
  override extraRepr(): string {
    const bias = this.bias === null ? "False" : "True";
    return `in_features=${this.inFeatures}, out_features=${this.outFeatures}, bias=${bias}`;
  }
}
installChecks(Linear.prototype, MODULE);
/** What it does as it comes: one that somebody changed later is not taken for it. */
export const linearForward: Module["forward"] = checkDiscreet(Linear, "Linear");

/** The output projection of attention, which torch names so. */
export class NonDynamicallyQuantizableLinear extends Linear {}
