/** Activations, dropout and normalization. */

import { pythonFloat } from "../api/number-text.ts";
import * as composites from "../autograd/composites-nn.ts";
import { layerNorm } from "../autograd/composites-normalization.ts";
import { installChecks } from "../tensor/checks.ts";
import { ValueError } from "../tensor/errors.ts";
import { tidy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkDiscreet } from "./forward-checks.ts";
import * as init from "./init.ts";
import { Module } from "./module.ts";
import { newParameter, type Placement, settings } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import { MODULE } from "./signatures.ts";

/** Options of `ReLU`. */
interface ReLUOptions {
  /** Write into the input. Default false. */
  inplace?: boolean;
}

/**
 * Each element, or zero where it is negative.
 * @example
 * ```ts
 * new nn.ReLU()(tensor([-1, 2])) // tensor([0., 2.])
 * ```
 * @torch torch.nn.ReLU
 */
export class ReLU extends Module {
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(...options: [inplace?: boolean | ReLUOptions]) {
    super();
    this.inplace = settings<Required<ReLUOptions>>("ReLU", options, { inplace: false }).inplace;
  }
  override forward(input: Tensor): Tensor {
    return composites.functionalRelu(input, this.inplace);
  }
  override extraRepr(): string {
    return this.inplace ? "inplace=True" : "";
  }
}
installChecks(ReLU.prototype, MODULE);
/** What it does as it comes: one that somebody changed later is not taken for it. */
export const reluForward: Module["forward"] = checkDiscreet(ReLU, "ReLU");

/**
 * The hyperbolic tangent.
 * @example
 * ```ts
 * new nn.Tanh()(tensor([0, 1])) // tensor([0.0000, 0.7616])
 * ```
 * @torch torch.nn.Tanh
 */
export class Tanh extends Module {
  constructor(...none: []) {
    super();
    settings("Tanh", none, {});
  }
  override forward(input: Tensor): Tensor {
    return input.tanh();
  }
}
/** What it does as it comes: one that somebody changed later is not taken for it. */
export const tanhForward: Module["forward"] = checkDiscreet(Tanh, "Tanh");

/**
 * 1 / (1 + exp(-x)).
 * @example
 * ```ts
 * new nn.Sigmoid()(tensor([0])) // tensor([0.5000])
 * ```
 * @torch torch.nn.Sigmoid
 */
export class Sigmoid extends Module {
  constructor(...none: []) {
    super();
    settings("Sigmoid", none, {});
  }
  override forward(input: Tensor): Tensor {
    return input.sigmoid();
  }
}
/** What it does as it comes: one that somebody changed later is not taken for it. */
export const sigmoidForward: Module["forward"] = checkDiscreet(Sigmoid, "Sigmoid");

/** Options of `Softmax` and `LogSoftmax`. */
interface SoftmaxOptions {
  /** The dimension whose elements sum to one. */
  dim?: number | null;
}

/**
 * Softmax along a dimension.
 * @example
 * ```ts
 * new nn.Softmax(0)(tensor([0, 0])) // tensor([0.5000, 0.5000])
 * ```
 * @torch torch.nn.Softmax
 */
export class Softmax extends Module {
  /** The dimension whose elements sum to one. */
  dim: number | null;
  constructor(...options: [dim?: number | SoftmaxOptions | null]) {
    super();
    this.dim = settings<{ dim: number | null }>("Softmax", options, { dim: null }).dim;
  }
  override forward(input: Tensor): Tensor {
    return composites.functionalSoftmax(input, this.dim, null);
  }
  override extraRepr(): string {
    return `dim=${this.dim ?? "None"}`;
  }
}
installChecks(Softmax.prototype, MODULE);
checkDiscreet(Softmax, "Softmax");

/**
 * The logarithm of softmax along a dimension.
 * @example
 * ```ts
 * new nn.LogSoftmax(0)(tensor([0, 0])) // tensor([-0.6931, -0.6931])
 * ```
 * @torch torch.nn.LogSoftmax
 */
export class LogSoftmax extends Softmax {
  override forward(input: Tensor): Tensor {
    return composites.functionalLogSoftmax(input, this.dim, null);
  }
}
checkDiscreet(LogSoftmax, "LogSoftmax");

/**
 * Softmax over the channels of each place of an image, of shape (N, C, H, W) or (C, H, W).
 * @throws ValueError for inputs of another rank
 * @example
 * ```ts
 * new nn.Softmax2d()(zeros(2, 1, 1)).flatten() // tensor([0.5000, 0.5000])
 * ```
 * @torch torch.nn.Softmax2d
 */
export class Softmax2d extends Module {
  constructor(...none: []) {
    super();
    settings("Softmax2d", none, {});
  }
  override forward(input: Tensor): Tensor {
    if (input.ndim !== 3 && input.ndim !== 4) {
      throw new ValueError(`Softmax2d: expected input to be 3D or 4D, got ${input.ndim}D instead`);
    }
    return composites.functionalSoftmax(input, -3, null);
  }
}
installChecks(Softmax2d.prototype, MODULE);
checkDiscreet(Softmax2d, "Softmax2d");

/** Options of `Dropout`. */
interface DropoutOptions extends ReLUOptions {
  /** The probability that an element becomes zero. Default 0.5. */
  p?: number;
}

/**
 * Zeroes elements at random while training, and scales the others up.
 * @throws ValueError when the probability is not between 0 and 1
 * @example
 * ```ts
 * new nn.Dropout(0.5).eval()(ones(2)) // tensor([1., 1.])
 * ```
 * @torch torch.nn.Dropout
 */
export class Dropout extends Module {
  /** The probability that an element becomes zero. */
  p: number;
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(...options: [p?: number | DropoutOptions, inplace?: boolean | ReLUOptions]) {
    super();
    const o = settings<Required<DropoutOptions>>("Dropout", options, { p: 0.5, inplace: false });
    if (!(o.p >= 0 && o.p <= 1)) {
      throw new ValueError(`dropout probability has to be between 0 and 1, but got ${o.p}`);
    }
    this.p = o.p;
    this.inplace = o.inplace;
  }
  override forward(input: Tensor): Tensor {
    return tidy(() => composites.dropout(input, this.p, this.training, this.inplace));
  }
  override extraRepr(): string {
    return `p=${pythonFloat(this.p)}, inplace=${this.inplace ? "True" : "False"}`;
  }
}
installChecks(Dropout.prototype, MODULE);
checkDiscreet(Dropout, "Dropout");

/** Options of `LayerNorm`. */
export interface LayerNormOptions extends Placement {
  /** Added to the variance. Default 1e-5. */
  eps?: number;
  /** Whether there is a weight. Default true. */
  elementwiseAffine?: boolean;
  /** Whether there is a bias. Default true. */
  bias?: boolean;
}

type LayerNormSettings = Required<LayerNormOptions> & { normalizedShape: number | readonly number[] };

const NORM = { eps: 1e-5, elementwiseAffine: true, bias: true, device: null, dtype: null };

/**
 * Normalizes the last dimensions.
 * @example
 * ```ts
 * new nn.LayerNorm(2)(tensor([[1, 3]])).detach() // tensor([[-1.0000,  1.0000]])
 * ```
 * @torch torch.nn.LayerNorm
 */
export class LayerNorm extends Module {
  /** The factors, of shape `normalizedShape`; null without `elementwiseAffine`. */
  declare weight: Parameter | null;
  /** The summands, of shape `normalizedShape`; null without them. */
  declare bias: Parameter | null;
  /** The last dimensions, over which is normalized. */
  normalizedShape: readonly number[];
  /** What is added to the variance. */
  eps: number;
  /** Whether there are factors. */
  elementwiseAffine: boolean;

  constructor(
    normalizedShape: number | readonly number[],
    ...options: [
      eps?: number | LayerNormOptions,
      elementwiseAffine?: boolean | LayerNormOptions,
      bias?: boolean | LayerNormOptions,
    ]
  ) {
    super();
    const o = settings<LayerNormSettings>("LayerNorm", [normalizedShape, ...options], NORM);
    this.normalizedShape = typeof o.normalizedShape === "number" ? [o.normalizedShape] : [...o.normalizedShape];
    this.eps = o.eps;
    this.elementwiseAffine = o.elementwiseAffine;
    this.registerParameter("weight", o.elementwiseAffine ? newParameter(this.normalizedShape, o) : null);
    this.registerParameter("bias", o.elementwiseAffine && o.bias ? newParameter(this.normalizedShape, o) : null);
    this.resetParameters();
  }
  /** Sets factors to one and summands to zero. @torch torch.nn.LayerNorm.reset_parameters */
  resetParameters(): void {
    if (this.weight !== null) init.ones_(this.weight);
    if (this.bias !== null) init.zeros_(this.bias);
  }
  override forward(input: Tensor): Tensor {
    return tidy(() => layerNorm(input, this.normalizedShape, this.weight, this.bias, this.eps));
  }
  override extraRepr(): string {
    const shape = this.normalizedShape;
    const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
    const flag = (on: boolean): string => (on ? "True" : "False");
    return (
      `${tuple}, eps=${pythonFloat(this.eps)}, elementwise_affine=${flag(this.elementwiseAffine)}, ` +
      `bias=${flag(this.bias !== null)}`
    );
  }
}
installChecks(LayerNorm.prototype, MODULE);
checkDiscreet(LayerNorm, "LayerNorm");
