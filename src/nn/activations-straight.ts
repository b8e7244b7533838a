/** Activations that are straight lines, piece by piece. */

import * as composites from "../autograd/composites-activations.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Scalar } from "../tensor/complex.ts";
import { AssertionError } from "../tensor/errors.ts";
import { tidy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkDiscreet, checkForward } from "./forward-checks.ts";
import * as init from "./init.ts";
import { Module } from "./module.ts";
import { type InplaceOptions, inplaceText, numberOf, numberText } from "./numbers.ts";
import { newParameter, type Placement, settings } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import { MODULE } from "./signatures.ts";

/** Options of `Hardtanh`. */
export interface HardtanhOptions extends InplaceOptions {
  /** The least result. Default -1. */
  minVal?: Scalar;
  /** The largest result. Default 1. */
  maxVal?: Scalar;
}

/**
 * Each element, or the bound that it lies beyond.
 * @throws AssertionError unless `maxVal` is above `minVal`
 * @example
 * ```ts
 * new nn.Hardtanh()(tensor([-3, 0.5])) // tensor([-1.0000,  0.5000])
 * ```
 * @torch torch.nn.Hardtanh
 */
export class Hardtanh extends Module {
  /** The least result. */
  minVal: number;
  /** The largest result. */
  maxVal: number;
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(
    ...options: [
      minVal?: Scalar | HardtanhOptions,
      maxVal?: Scalar | HardtanhOptions,
      inplace?: boolean | HardtanhOptions,
    ]
  ) {
    super();
    const o = settings<HardtanhOptions>("Hardtanh", options, { inplace: false });
    this.minVal = numberOf(this, "minVal", o.minVal, -1);
    this.maxVal = numberOf(this, "maxVal", o.maxVal, 1);
    this.inplace = o.inplace as boolean;
    if (!(this.maxVal > this.minVal)) {
      const [low, high] = [numberText(this, "minVal"), numberText(this, "maxVal")];
      throw new AssertionError(`max_val (${high}) must be greater than min_val (${low})`);
    }
  }
  override forward(input: Tensor): Tensor {
    return composites.hardtanh(input, this.minVal, this.maxVal, this.inplace);
  }
  override extraRepr(): string {
    return `min_val=${numberText(this, "minVal")}, max_val=${numberText(this, "maxVal")}${inplaceText(this)}`;
  }
}
installChecks(Hardtanh.prototype, MODULE);
checkDiscreet(Hardtanh, "Hardtanh");

/** Options of `Hardshrink`. */
export interface HardshrinkOptions {
  /** Up to where results are zero. Default 0.5. */
  lambd?: Scalar;
}

/**
 * Zero for what lies between -lambd and lambd, else the element.
 * @example
 * ```ts
 * new nn.Hardshrink()(tensor([-0.2, 2])) // tensor([0., 2.])
 * ```
 * @torch torch.nn.Hardshrink
 */
export class Hardshrink extends Module {
  /** Up to where results are zero. */
  lambd: number;
  constructor(...options: [lambd?: Scalar | HardshrinkOptions]) {
    super();
    const o = settings<HardshrinkOptions>("Hardshrink", options, {});
    this.lambd = numberOf(this, "lambd", o.lambd, 0.5);
  }
  override forward(input: Tensor): Tensor {
    return composites.functionalHardshrink(input, this.lambd);
  }
  override extraRepr(): string {
    return `${numberText(this, "lambd")}`;
  }
}
installChecks(Hardshrink.prototype, MODULE);
checkDiscreet(Hardshrink, "Hardshrink");

/**
 * x + 3 between 0 and 6, over 6.
 * @example
 * ```ts
 * new nn.Hardsigmoid()(tensor([-1, 4])) // tensor([0.3333, 1.0000])
 * ```
 * @torch torch.nn.Hardsigmoid
 */
export class Hardsigmoid extends Module {
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(...options: [inplace?: boolean | InplaceOptions]) {
    super();
    const o = settings<InplaceOptions>("Hardsigmoid", options, { inplace: false });
    this.inplace = o.inplace as boolean;
  }
  override forward(input: Tensor): Tensor {
    return composites.hardsigmoid(input, this.inplace);
  }
  override extraRepr(): string {
    return this.inplace ? "inplace=True" : "";
  }
}
installChecks(Hardsigmoid.prototype, MODULE);
checkDiscreet(Hardsigmoid, "Hardsigmoid");

/**
 * x times x + 3 between 0 and 6, over 6.
 * @example
 * ```ts
 * new nn.Hardswish()(tensor([-1, 4])) // tensor([-0.3333,  4.0000])
 * ```
 * @torch torch.nn.Hardswish
 */
export class Hardswish extends Module {
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(...options: [inplace?: boolean | InplaceOptions]) {
    super();
    const o = settings<InplaceOptions>("Hardswish", options, { inplace: false });
    this.inplace = o.inplace as boolean;
  }
  override forward(input: Tensor): Tensor {
    return composites.hardswish(input, this.inplace);
  }
  override extraRepr(): string {
    return this.inplace ? "inplace=True" : "";
  }
}
installChecks(Hardswish.prototype, MODULE);
checkDiscreet(Hardswish, "Hardswish");

/** Options of `LeakyReLU`. */
export interface LeakyReLUOptions extends InplaceOptions {
  /** The slope below zero. Default 0.01. */
  negativeSlope?: Scalar;
}

/**
 * x, or a slope times x where that is below zero.
 * @example
 * ```ts
 * new nn.LeakyReLU(0.1)(tensor([-1, 2])) // tensor([-0.1000,  2.0000])
 * ```
 * @torch torch.nn.LeakyReLU
 */
export class LeakyReLU extends Module {
  /** The slope below zero. */
  negativeSlope: number;
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(...options: [negativeSlope?: Scalar | LeakyReLUOptions, inplace?: boolean | LeakyReLUOptions]) {
    super();
    const o = settings<LeakyReLUOptions>("LeakyReLU", options, { inplace: false });
    this.negativeSlope = numberOf(this, "negativeSlope", o.negativeSlope, 0.01);
    this.inplace = o.inplace as boolean;
  }
  override forward(input: Tensor): Tensor {
    return composites.leakyRelu(input, this.negativeSlope, this.inplace);
  }
  override extraRepr(): string {
    return `negative_slope=${numberText(this, "negativeSlope")}${inplaceText(this)}`;
  }
}
installChecks(LeakyReLU.prototype, MODULE);
checkDiscreet(LeakyReLU, "LeakyReLU");

/** Options of `RReLU`. */
export interface RReLUOptions extends InplaceOptions {
  /** The least slope below zero. Default 1 / 8. */
  lower?: Scalar;
  /** The largest slope below zero. Default 1 / 3. */
  upper?: Scalar;
}

/**
 * x, or a slope times x where that is below zero: drawn for each element while training, and halfway between the bounds
 * otherwise.
 * @example
 * ```ts
 * new nn.RReLU(0.1, 0.3).eval()(tensor([-1, 2])) // tensor([-0.2000,  2.0000])
 * ```
 * @torch torch.nn.RReLU
 */
export class RReLU extends Module {
  /** The least slope below zero. */
  lower: number;
  /** The largest slope below zero. */
  upper: number;
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(
    ...options: [lower?: Scalar | RReLUOptions, upper?: Scalar | RReLUOptions, inplace?: boolean | RReLUOptions]
  ) {
    super();
    const o = settings<RReLUOptions>("RReLU", options, { inplace: false });
    this.lower = numberOf(this, "lower", o.lower, 1 / 8);
    this.upper = numberOf(this, "upper", o.upper, 1 / 3);
    this.inplace = o.inplace as boolean;
  }
  override forward(input: Tensor): Tensor {
    return tidy(() => composites.rrelu(input, this.lower, this.upper, this.training, this.inplace));
  }
  override extraRepr(): string {
    return `lower=${numberText(this, "lower")}, upper=${numberText(this, "upper")}${inplaceText(this)}`;
  }
}
installChecks(RReLU.prototype, MODULE);
checkForward(RReLU, "RReLU");

/** Options of `PReLU`. */
export interface PReLUOptions extends Placement {
  /** One slope for all elements, or one for each channel. Default 1. */
  numParameters?: number;
  /** What the slopes begin with. Default 0.25. */
  init?: Scalar;
}

/**
 * x, or a learned slope times x where that is below zero.
 * @example
 * ```ts
 * new nn.PReLU()(tensor([-1, 2])).detach() // tensor([-0.2500,  2.0000])
 * ```
 * @torch torch.nn.PReLU
 */
export class PReLU extends Module {
  /** The slopes, of shape (numParameters). */
  declare weight: Parameter;
  /** How many slopes there are. */
  numParameters: number;
  /** What the slopes begin with. */
  init: number;
  constructor(...options: [numParameters?: number | PReLUOptions, init?: Scalar | PReLUOptions, more?: PReLUOptions]) {
    super();
    const o = settings<PReLUOptions & { numParameters: number }>("PReLU", options, { numParameters: 1 });
    this.numParameters = o.numParameters;
    this.init = numberOf(this, "init", o.init, 0.25);
    this.registerParameter("weight", newParameter([this.numParameters], o));
    this.resetParameters();
  }
  /** Sets the slopes to what they begin with. @torch torch.nn.PReLU.reset_parameters */
  resetParameters(): void {
    init.constant_(this.weight, this.init);
  }
  override forward(input: Tensor): Tensor {
    return composites.prelu(input, this.weight);
  }
  override extraRepr(): string {
    return `num_parameters=${this.numParameters}`;
  }
}
installChecks(PReLU.prototype, MODULE);
checkDiscreet(PReLU, "PReLU");

/**
 * Each element between 0 and 6.
 * @example
 * ```ts
 * new nn.ReLU6()(tensor([-1, 8])) // tensor([0., 6.])
 * ```
 * @torch torch.nn.ReLU6
 */
export class ReLU6 extends Hardtanh {
  constructor(...options: [inplace?: boolean | InplaceOptions]) {
    super(0, 6, settings<InplaceOptions>("ReLU6", options, { inplace: false }));
  }
  override extraRepr(): string {
    return this.inplace ? "inplace=True" : "";
  }
}
installChecks(ReLU6.prototype, MODULE);

/** Options of `Softshrink`. */
export interface SoftshrinkOptions {
  /** How much nearer to zero. Default 0.5. */
  lambd?: Scalar;
}

/**
 * Each element, `lambd` nearer to zero; zero for what lies between -lambd and lambd.
 * @example
 * ```ts
 * new nn.Softshrink()(tensor([-3, 2])) // tensor([-2.5000,  1.5000])
 * ```
 * @torch torch.nn.Softshrink
 */
export class Softshrink extends Module {
  /** How much nearer to zero. */
  lambd: number;
  constructor(...options: [lambd?: Scalar | SoftshrinkOptions]) {
    super();
    const o = settings<SoftshrinkOptions>("Softshrink", options, {});
    this.lambd = numberOf(this, "lambd", o.lambd, 0.5);
  }
  override forward(input: Tensor): Tensor {
    return composites.softshrink(input, this.lambd);
  }
  override extraRepr(): string {
    return `${numberText(this, "lambd")}`;
  }
}
installChecks(Softshrink.prototype, MODULE);
checkDiscreet(Softshrink, "Softshrink");

/** Options of `Threshold`. */
export interface ThresholdOptions extends InplaceOptions {
  /** What elements have to be above. */
  threshold: Scalar;
  /** What stands for the others. */
  value: Scalar;
}

/**
 * `value` for what is not above `threshold`, else the element.
 * @example
 * ```ts
 * new nn.Threshold(0, 20)(tensor([-1, 2])) // tensor([20.,  2.])
 * ```
 * @torch torch.nn.Threshold
 */
export class Threshold extends Module {
  /** What elements have to be above. */
  threshold: number;
  /** What stands for the others. */
  value: number;
  /** Whether the input is written into. */
  inplace: boolean;
  constructor(
    ...options: [
      threshold: Scalar | ThresholdOptions,
      value?: Scalar | ThresholdOptions,
      inplace?: boolean | ThresholdOptions,
    ]
  ) {
    super();
    const o = settings<ThresholdOptions>("Threshold", options, { inplace: false });
    this.threshold = numberOf(this, "threshold", o.threshold);
    this.value = numberOf(this, "value", o.value);
    this.inplace = o.inplace as boolean;
  }
  override forward(input: Tensor): Tensor {
    return composites.functionalThreshold(input, this.threshold, this.value, this.inplace);
  }
  override extraRepr(): string {
    return `threshold=${numberText(this, "threshold")}, value=${numberText(this, "value")}${inplaceText(this)}`;
  }
}
installChecks(Threshold.prototype, MODULE);
checkDiscreet(Threshold, "Threshold");
