/** Normalization of layers by their mean square, and of groups of channels. */

import { pythonFloat } from "../api/number-text.ts";
import * as composites from "../autograd/composites-normalization.ts";
import { installChecks } from "../tensor/checks.ts";
import { type Scalar, scalarToNumber } from "../tensor/complex.ts";
import { ValueError } from "../tensor/errors.ts";
import { tidy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkDiscreet } from "./forward-checks.ts";
import * as init from "./init.ts";
import { Module } from "./module.ts";
import { newParameter, type Placement, settings } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import { MODULE } from "./signatures.ts";

/** As Python shows it. */
export const flagText = (on: boolean): string => (on ? "True" : "False");

/** Options of `RMSNorm`. */
export interface RMSNormOptions extends Placement {
  /** Added to the mean of squares; without one what float32, or float64, adds to 1. */
  eps?: Scalar | null;
  /** Whether there is a weight. Default true. */
  elementwiseAffine?: boolean;
}

type RMSNormSettings = Required<RMSNormOptions> & { normalizedShape: number | readonly number[] };

const RMS = { eps: null, elementwiseAffine: true, device: null, dtype: null };

/**
 * Divides the last dimensions by the root of the mean of their squares.
 * @example
 * ```ts
 * new nn.RMSNorm(2)(tensor([[1, 7]])).detach() // tensor([[0.2000, 1.4000]])
 * ```
 * @torch torch.nn.RMSNorm
 */
export class RMSNorm extends Module {
  /** The factors, of shape `normalizedShape`; null without `elementwiseAffine`. */
  declare weight: Parameter | null;
  /** The last dimensions, over which is normalized. */
  normalizedShape: readonly number[];
  /** What is added to the mean of squares; null for the smallest that counts. */
  eps: number | null;
  /** Whether there are factors. */
  elementwiseAffine: boolean;

  constructor(
    normalizedShape: number | readonly number[],
    ...options: [
      eps?: Scalar | null | RMSNormOptions,
      elementwiseAffine?: boolean | RMSNormOptions,
      options?: RMSNormOptions,
    ]
  ) {
    super();
    const o = settings<RMSNormSettings>("RMSNorm", [normalizedShape, ...options], RMS);
    this.normalizedShape = typeof o.normalizedShape === "number" ? [o.normalizedShape] : [...o.normalizedShape];
    this.eps = o.eps === null ? null : scalarToNumber(o.eps);
    this.elementwiseAffine = o.elementwiseAffine;
    this.registerParameter("weight", o.elementwiseAffine ? newParameter(this.normalizedShape, o) : null);
    this.resetParameters();
  }
  /** Sets factors to one. @torch torch.nn.RMSNorm.reset_parameters */
  resetParameters(): void {
    if (this.weight !== null) init.ones_(this.weight);
  }
  override forward(input: Tensor): Tensor {
    return tidy(() => composites.rmsNorm(input, this.normalizedShape, this.weight, this.eps));
  }
  override extraRepr(): string {
    const shape = this.normalizedShape;
    const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
    const eps = this.eps === null ? "None" : pythonFloat(this.eps);
    return `${tuple}, eps=${eps}, elementwise_affine=${flagText(this.elementwiseAffine)}`;
  }
}
installChecks(RMSNorm.prototype, MODULE);
checkDiscreet(RMSNorm, "RMSNorm");

/** Options of `GroupNorm`. */
export interface GroupNormOptions extends Placement {
  /** Added to the variance. Default 1e-5. */
  eps?: Scalar;
  /** Whether there is a weight. Default true. */
  affine?: boolean;
  /** Whether there is a bias. Default true. */
  bias?: boolean;
}

type GroupNormSettings = Required<GroupNormOptions> & { numGroups: number; numChannels: number };

const GROUP = { eps: 1e-5, affine: true, bias: true, device: null, dtype: null };

/**
 * Normalizes groups of channels, dimension 1.
 * @throws ValueError when the groups do not divide the channels
 * @example
 * ```ts
 * new nn.GroupNorm(2, 4)(tensor([[1, 3, 5, 9]])).detach() // tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
 * ```
 * @torch torch.nn.GroupNorm
 */
export class GroupNorm extends Module {
  /** The factors, one a channel; null without `affine`. */
  declare weight: Parameter | null;
  /** The summands, one a channel; null without them. */
  declare bias: Parameter | null;
  /** How many groups there are. */
  numGroups: number;
  /** How many channels there are. */
  numChannels: number;
  /** What is added to the variance. */
  eps: number;
  /** Whether there are factors. */
  affine: boolean;

  constructor(
    numGroups: number,
    numChannels: number,
    ...options: [eps?: Scalar | GroupNormOptions, affine?: boolean | GroupNormOptions, options?: GroupNormOptions]
  ) {
    super();
    const o = settings<GroupNormSettings>("GroupNorm", [numGroups, numChannels, ...options], GROUP);
    if (o.numChannels % o.numGroups !== 0) {
      throw new ValueError(`num_channels (${o.numChannels}) must be divisible by num_groups (${o.numGroups})`);
    }
    this.numGroups = o.numGroups;
    this.numChannels = o.numChannels;
    this.eps = scalarToNumber(o.eps);
    this.affine = o.affine;
    this.registerParameter("weight", o.affine ? newParameter([o.numChannels], o) : null);
    this.registerParameter("bias", o.affine && o.bias ? newParameter([o.numChannels], o) : null);
    this.resetParameters();
  }
  /** Sets factors to one and summands to zero. @torch torch.nn.GroupNorm.reset_parameters */
  resetParameters(): void {
    if (this.weight !== null) init.ones_(this.weight);
    if (this.bias !== null) init.zeros_(this.bias);
  }
  override forward(input: Tensor): Tensor {
    return tidy(() => composites.functionalGroupNorm(input, this.numGroups, this.weight, this.bias, this.eps));
  }
  override extraRepr(): string {
    return (
      `${this.numGroups}, ${this.numChannels}, eps=${pythonFloat(this.eps)}, affine=${flagText(this.affine)}, ` +
      `bias=${flagText(this.bias !== null)}`
    );
  }
}
installChecks(GroupNorm.prototype, MODULE);
checkDiscreet(GroupNorm, "GroupNorm");
