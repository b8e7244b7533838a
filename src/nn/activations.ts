/** Activations that are curves. */

import * as composites from "../autograd/composites-activations.ts";
import { softmin } from "../autograd/composites-nn.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Scalar } from "../tensor/complex.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkDiscreet } from "./forward-checks.ts";
import { Module } from "./module.ts";
import { type InplaceOptions, inplaceText, numberOf, numberText } from "./numbers.ts";
import { settings } from "./options.ts";
import { MODULE } from "./signatures.ts";

/** Options of `CELU`. */
export interface CELUOptions extends InplaceOptions {
  /** What stands before exp(x) - 1. Default 1. */
  alpha?: Scalar;
}

/**
 * x, or alpha (exp(x / alpha) - 1) where that is below zero.
 * @example
 * ```ts
 * new nn.CELU()(tensor([-1, 2])) // tensor([-0.6321,  2.0000])
 * ```
 * @torch torch.nn.CELU
 */
export class CELU extends Module {
  /** What stands before exp(x) - 1. */
  alpha: number;
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(...options: [alpha?: Scalar | CELUOptions, inplace?: boolean | CELUOptions]) {
    super();
    const o = settings<CELUOptions>("CELU", options, { inplace: false });
    this.alpha = numberOf(this, "alpha", o.alpha, 1);
    this.inplace = o.inplace as boolean;
  }
  override forward(input: Tensor): Tensor {
    return composites.functionalCelu(input, this.alpha, this.inplace);
  }
  override extraRepr(): string {
    return `alpha=${numberText(this, "alpha")}${inplaceText(this)}`;
  }
}
installChecks(CELU.prototype, MODULE);
checkDiscreet(CELU, "CELU");

/** Options of `ELU`. */
export interface ELUOptions extends InplaceOptions {
  /** What stands before exp(x) - 1. Default 1. */
  alpha?: Scalar;
}

/**
 * x, or alpha (exp(x) - 1) where that is below zero.
 * @example
 * ```ts
 * new nn.ELU()(tensor([-1, 2])) // tensor([-0.6321,  2.0000])
 * ```
 * @torch torch.nn.ELU
 */
export class ELU extends Module {
  /** What stands before exp(x) - 1. */
  alpha: number;
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(...options: [alpha?: Scalar | ELUOptions, inplace?: boolean | ELUOptions]) {
    super();
    const o = settings<ELUOptions>("ELU", options, { inplace: false });
    this.alpha = numberOf(this, "alpha", o.alpha, 1);
    this.inplace = o.inplace as boolean;
  }
  override forward(input: Tensor): Tensor {
    return composites.elu(input, this.alpha, this.inplace);
  }
  override extraRepr(): string {
    return `alpha=${numberText(this, "alpha")}${inplaceText(this)}`;
  }
}
installChecks(ELU.prototype, MODULE);
checkDiscreet(ELU, "ELU");

/** Options of `GELU`. */
export interface GELUOptions {
  /** "tanh" takes a hyperbolic tangent for the normal distribution. Default "none". */
  approximate?: "none" | "tanh";
}

/**
 * x times the share of the normal distribution below it.
 * @example
 * ```ts
 * new nn.GELU()(tensor([-1, 2])) // tensor([-0.1587,  1.9545])
 * ```
 * @torch torch.nn.GELU
 */
export class GELU extends Module {
  /** How the normal distribution is computed. */
  approximate: string;
  constructor(...options: [approximate?: "none" | "tanh" | GELUOptions]) {
    super();
    this.approximate = settings<Required<GELUOptions>>("GELU", options, { approximate: "none" }).approximate;
  }
  override forward(input: Tensor): Tensor {
    return composites.gelu(input, this.approximate);
  }
  override extraRepr(): string {
    return `approximate='${this.approximate}'`;
  }
}
installChecks(GELU.prototype, MODULE);
checkDiscreet(GELU, "GELU");

/** Options of `GLU` and `Softmin`. */
export interface DimOptions {
  /** The dimension. */
  dim?: number | null;
}

/**
 * The first half along a dimension times the sigmoid of the second half.
 * @example
 * ```ts
 * new nn.GLU()(tensor([2, 0])) // tensor([1.])
 * ```
 * @torch torch.nn.GLU
 */
export class GLU extends Module {
  /** The dimension that is halved. */
  dim: number;
  constructor(...options: [dim?: number | DimOptions]) {
    super();
    this.dim = settings<{ dim: number }>("GLU", options, { dim: -1 }).dim;
  }
  override forward(input: Tensor): Tensor {
    return composites.glu(input, this.dim);
  }
  override extraRepr(): string {
    return `dim=${this.dim}`;
  }
}
installChecks(GLU.prototype, MODULE);
checkDiscreet(GLU, "GLU");

/**
 * The logarithm of sigmoid(x).
 * @example
 * ```ts
 * new nn.LogSigmoid()(tensor([-1, 2])) // tensor([-1.3133, -0.1269])
 * ```
 * @torch torch.nn.LogSigmoid
 */
export class LogSigmoid extends Module {
  constructor(...none: []) {
    super();
    settings("LogSigmoid", none, {});
  }
  override forward(input: Tensor): Tensor {
    return composites.logsigmoid(input);
  }
}
checkDiscreet(LogSigmoid, "LogSigmoid");

/**
 * x tanh(log(1 + exp(x))).
 * @example
 * ```ts
 * new nn.Mish()(tensor([-1, 2])) // tensor([-0.3034,  1.9440])
 * ```
 * @torch torch.nn.Mish
 */
export class Mish extends Module {
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(...options: [inplace?: boolean | InplaceOptions]) {
    super();
    const o = settings<InplaceOptions>("Mish", options, { inplace: false });
    this.inplace = o.inplace as boolean;
  }
  override forward(input: Tensor): Tensor {
    return composites.mish(input, this.inplace);
  }
  override extraRepr(): string {
    return this.inplace ? "inplace=True" : "";
  }
}
installChecks(Mish.prototype, MODULE);
checkDiscreet(Mish, "Mish");

/**
 * elu with an alpha of 1.6733 and all scaled by 1.0507: what keeps mean 0 and variance 1 from layer to layer.
 * @example
 * ```ts
 * new nn.SELU()(tensor([-1, 2])) // tensor([-1.1113,  2.1014])
 * ```
 * @torch torch.nn.SELU
 */
export class SELU extends Module {
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(...options: [inplace?: boolean | InplaceOptions]) {
    super();
    const o = settings<InplaceOptions>("SELU", options, { inplace: false });
    this.inplace = o.inplace as boolean;
  }
  override forward(input: Tensor): Tensor {
    return composites.functionalSelu(input, this.inplace);
  }
  override extraRepr(): string {
    return this.inplace ? "inplace=True" : "";
  }
}
installChecks(SELU.prototype, MODULE);
checkDiscreet(SELU, "SELU");

/**
 * x sigmoid(x), also called swish.
 * @example
 * ```ts
 * new nn.SiLU()(tensor([-1, 2])) // tensor([-0.2689,  1.7616])
 * ```
 * @torch torch.nn.SiLU
 */
export class SiLU extends Module {
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(...options: [inplace?: boolean | InplaceOptions]) {
    super();
    const o = settings<InplaceOptions>("SiLU", options, { inplace: false });
    this.inplace = o.inplace as boolean;
  }
  override forward(input: Tensor): Tensor {
    return composites.silu(input, this.inplace);
  }
  override extraRepr(): string {
    return this.inplace ? "inplace=True" : "";
  }
}
installChecks(SiLU.prototype, MODULE);
checkDiscreet(SiLU, "SiLU");

/**
 * Softmax of the negated input along a dimension.
 * @example
 * ```ts
 * new nn.Softmin(0)(tensor([0, 0])) // tensor([0.5000, 0.5000])
 * ```
 * @torch torch.nn.Softmin
 */
export class Softmin extends Module {
  /** The dimension whose elements sum to one. */
  dim: number | null;
  constructor(...options: [dim?: number | DimOptions | null]) {
    super();
    this.dim = settings<{ dim: number | null }>("Softmin", options, { dim: null }).dim;
  }
  override forward(input: Tensor): Tensor {
    return softmin(input, this.dim, null);
  }
  override extraRepr(): string {
    return `dim=${this.dim ?? "None"}`;
  }
}
installChecks(Softmin.prototype, MODULE);
checkDiscreet(Softmin, "Softmin");

/** Options of `Softplus`. */
export interface SoftplusOptions {
  /** How sharp it bends. Default 1. */
  beta?: Scalar;
  /** Where it is straight from. Default 20. */
  threshold?: Scalar;
}

/**
 * log(1 + exp(beta x)) / beta; x itself where beta x is above `threshold`.
 * @example
 * ```ts
 * new nn.Softplus()(tensor([0, 30])) // tensor([ 0.6931, 30.0000])
 * ```
 * @torch torch.nn.Softplus
 */
export class Softplus extends Module {
  /** How sharp it bends. */
  beta: number;
  /** Where it is straight from. */
  threshold: number;
  constructor(...options: [beta?: Scalar | SoftplusOptions, threshold?: Scalar | SoftplusOptions]) {
    super();
    const o = settings<SoftplusOptions>("Softplus", options, {});
    this.beta = numberOf(this, "beta", o.beta, 1);
    this.threshold = numberOf(this, "threshold", o.threshold, 20);
  }
  override forward(input: Tensor): Tensor {
    return composites.softplus(input, this.beta, this.threshold);
  }
  override extraRepr(): string {
    return `beta=${numberText(this, "beta")}, threshold=${numberText(this, "threshold")}`;
  }
}
installChecks(Softplus.prototype, MODULE);
checkDiscreet(Softplus, "Softplus");

/**
 * x / (1 + |x|).
 * @example
 * ```ts
 * new nn.Softsign()(tensor([-1, 3])) // tensor([-0.5000,  0.7500])
 * ```
 * @torch torch.nn.Softsign
 */
export class Softsign extends Module {
  constructor(...none: []) {
    super();
    settings("Softsign", none, {});
  }
  override forward(input: Tensor): Tensor {
    return composites.softsign(input);
  }
}
checkDiscreet(Softsign, "Softsign");

/**
 * x - tanh(x).
 * @example
 * ```ts
 * new nn.Tanhshrink()(tensor([-1, 2])) // tensor([-0.2384,  1.0360])
 * ```
 * @torch torch.nn.Tanhshrink
 */
export class Tanhshrink extends Module {
  constructor(...none: []) {
    super();
    settings("Tanhshrink", none, {});
  }
  override forward(input: Tensor): Tensor {
    return composites.tanhshrink(input);
  }
}
checkDiscreet(Tanhshrink, "Tanhshrink");
