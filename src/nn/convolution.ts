/** Convolutions, and what their gradients are as layers. */

import * as composites from "../autograd/composites-convolution.ts";
import { functionalPad } from "../autograd/composites-sampling.ts";
import { installChecks } from "../tensor/checks.ts";
import { ValueError } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkDiscreet } from "./forward-checks.ts";
import * as init from "./init.ts";
import { Module } from "./module.ts";
import { newParameter, type Placement, settings } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import { MODULE } from "./signatures.ts";
import { sizesText, tuple } from "./windows.ts";

type Sizes = number | readonly number[];
/** What a transposed convolution's output is as large as; null for the smallest. */
type OutputSize = readonly number[] | null | { outputSize?: readonly number[] | null };

/** What all convolutions take. */
interface Common extends Placement {
  /** Steps between windows. Default 1. */
  stride?: Sizes;
  /** Steps between the elements of a window. Default 1. */
  dilation?: Sizes;
  /** Pieces that the channels are divided into, each of which sees its own alone. Default 1. */
  groups?: number;
  /** Whether a bias is added. Default true. */
  bias?: boolean;
}

/** Options of `Conv1d`, `Conv2d`, `Conv3d`. */
export interface ConvOptions extends Common {
  /** Zeros on each side, or "same" for as many as keep the size, or "valid" for none. Default 0. */
  padding?: Sizes | "same" | "valid";
  /** What is put around the input. Default "zeros". */
  paddingMode?: "zeros" | "reflect" | "replicate" | "circular";
}

/** Options of `ConvTranspose1d`, `ConvTranspose2d`, `ConvTranspose3d`. */
export interface ConvTransposeOptions extends Common {
  /** Zeros on each side that the result does not have. Default 0. */
  padding?: Sizes;
  /** Elements that the result has more of on one side. Default 0. */
  outputPadding?: Sizes;
  /** What is put around the input. Default "zeros". */
  paddingMode?: "zeros";
}

type Names = "Conv1d" | "Conv2d" | "Conv3d" | "ConvTranspose1d" | "ConvTranspose2d" | "ConvTranspose3d";

interface Settings extends Placement {
  inChannels: number;
  outChannels: number;
  kernelSize: Sizes;
  stride: Sizes;
  padding: Sizes | string;
  outputPadding: Sizes;
  dilation: Sizes;
  groups: number;
  bias: boolean;
  paddingMode: string;
}

const DEFAULTS = { stride: 1, padding: 0, outputPadding: 0, dilation: 1, groups: 1, bias: true, paddingMode: "zeros" };

/** The input with its padding, where that is no zeros, and the padding that is left to the operator. */
function padded(module: Convolution, input: Tensor): [input: Tensor, padding: string | readonly number[]] {
  const { padding, paddingMode, dilation, kernelSize } = module;
  if (paddingMode === "zeros") return [input, padding];
  const totals = kernelSize.map((k, d) => (dilation[d] as number) * (k - 1));
  const sides = totals.map((total, d) => {
    if (typeof padding !== "string") return [padding[d] as number, padding[d] as number];
    const front = padding === "same" ? Math.floor(total / 2) : 0;
    return padding === "same" ? [front, total - front] : [0, 0];
  });
  return [functionalPad(input, sides.reverse().flat(), paddingMode, null), [0]];
}

/** What convolutions share: their parameters and how they are printed. */
abstract class Convolution extends Module {
  /** The filters. */
  declare weight: Parameter;
  /** The summands, of shape (outChannels); null without them. */
  declare bias: Parameter | null;
  /** Channels of the input. */
  inChannels: number;
  /** Channels of the result. */
  outChannels: number;
  /** Sizes of a window. */
  kernelSize: readonly number[];
  /** Steps between windows. */
  stride: readonly number[];
  /** Zeros on each side, or a word. */
  padding: readonly number[] | string;
  /** Steps between the elements of a window. */
  dilation: readonly number[];
  /** Whether it is the gradient of a convolution. */
  transposed: boolean;
  /** Elements that the result has more of on one side. */
  outputPadding: readonly number[];
  /** Pieces that the channels are divided into. */
  groups: number;
  /** What is put around the input. */
  paddingMode: string;

  /** @internal */
  constructor(name: Names, given: readonly unknown[]) {
    super();
    const o = settings<Settings>(name, given, DEFAULTS);
    const dims = Number(name.at(-2));
    this.transposed = name.startsWith("ConvT");
    if (this.transposed && o.paddingMode !== "zeros") {
      throw new ValueError(`Only "zeros" padding mode is supported for ${name}`);
    }
    checkSettings(o);
    this.inChannels = o.inChannels;
    this.outChannels = o.outChannels;
    this.kernelSize = tuple(o.kernelSize, dims);
    this.stride = tuple(o.stride, dims);
    this.padding = typeof o.padding === "string" ? o.padding : tuple(o.padding, dims);
    this.dilation = tuple(o.dilation, dims);
    this.outputPadding = tuple(o.outputPadding, dims);
    this.groups = o.groups;
    this.paddingMode = o.paddingMode;
    const inner = Math.floor((this.transposed ? o.outChannels : o.inChannels) / o.groups);
    this.weight = newParameter([this.transposed ? o.inChannels : o.outChannels, inner, ...this.kernelSize], o);
    if (o.bias) this.bias = newParameter([o.outChannels], o);
    else this.registerParameter("bias", null);
    this.resetParameters();
  }

  /** Draws new values. */
  resetParameters(): void {
    init.kaimingUniform_(this.weight, { a: Math.sqrt(5) });
    if (this.bias === null) return;
    const [fanIn] = init.calculateFanInAndFanOut(this.weight);
    if (fanIn !== 0) init.uniform_(this.bias, -1 / Math.sqrt(fanIn), 1 / Math.sqrt(fanIn));
  }

  override extraRepr(): string {
    const parts = [
      `${this.inChannels}, ${this.outChannels}, kernel_size=${sizesText(this.kernelSize)}`,
      `stride=${sizesText(this.stride)}`,
    ];
    const { padding } = this;
    if (typeof padding === "string") parts.push(`padding=${padding}`);
    else if (padding.some((n) => n !== 0)) parts.push(`padding=${sizesText(padding)}`);
    if (this.dilation.some((n) => n !== 1)) parts.push(`dilation=${sizesText(this.dilation)}`);
    if (this.outputPadding.some((n) => n !== 0)) parts.push(`output_padding=${sizesText(this.outputPadding)}`);
    if (this.groups !== 1) parts.push(`groups=${this.groups}`);
    if (this.bias === null) parts.push("bias=False");
    if (this.paddingMode !== "zeros") parts.push(`padding_mode=${this.paddingMode}`);
    return parts.join(", ");
  }
}
installChecks(Convolution.prototype, MODULE);

const MODES = ["zeros", "reflect", "replicate", "circular"];

function checkSettings(o: Settings): void {
  if (o.groups <= 0) throw new ValueError("groups must be a positive integer");
  if (o.inChannels % o.groups !== 0) throw new ValueError("in_channels must be divisible by groups");
  if (o.outChannels % o.groups !== 0) throw new ValueError("out_channels must be divisible by groups");
  if (typeof o.padding === "string") {
    if (o.padding !== "same" && o.padding !== "valid") {
      throw new ValueError(`Invalid padding string '${o.padding}', should be one of {'same', 'valid'}`);
    }
    if (o.padding === "same" && tuple(o.stride, 1).some((n) => n !== 1)) {
      throw new ValueError("padding='same' is not supported for strided convolutions");
    }
  }
  if (!MODES.includes(o.paddingMode)) {
    const words = MODES.map((word) => `'${word}'`).join(", ");
    throw new ValueError(`padding_mode must be one of {${words}}, but got padding_mode='${o.paddingMode}'`);
  }
}

/**
 * A convolution over signals of shape (batch, channels, length) or (channels, length).
 * @example
 * ```ts
 * new nn.Conv1d(2, 4, 3)(ones(1, 2, 10)).shape // torch.Size([1, 4, 8])
 * ```
 * @throws ValueError when channels cannot be divided by `groups`, or for a word that is no padding
 * @torch torch.nn.Conv1d
 */
export class Conv1d extends Convolution {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    ...rest: [
      stride?: Sizes | ConvOptions,
      padding?: Sizes | "same" | "valid" | ConvOptions,
      dilation?: Sizes | ConvOptions,
      groups?: number | ConvOptions,
      bias?: boolean | ConvOptions,
      paddingMode?: string | ConvOptions,
      options?: ConvOptions,
    ]
  ) {
    super("Conv1d", [inChannels, outChannels, kernelSize, ...rest]);
  }
  override forward(input: Tensor): Tensor {
    const { weight, bias, stride, dilation, groups } = this;
    const [x, padding] = padded(this, input);
    return composites.conv1d(x, weight, bias, stride, padding, dilation, groups);
  }
}
checkDiscreet(Conv1d, "Conv1d");

/**
 * A convolution over images of shape (batch, channels, height, width) or (channels, height, width).
 * @example
 * ```ts
 * new nn.Conv2d(1, 8, 3, { padding: 1 })(ones(1, 1, 5, 5)).shape // torch.Size([1, 8, 5, 5])
 * ```
 * @throws ValueError when channels cannot be divided by `groups`, or for a word that is no padding
 * @torch torch.nn.Conv2d
 */
export class Conv2d extends Convolution {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    ...rest: [
      stride?: Sizes | ConvOptions,
      padding?: Sizes | "same" | "valid" | ConvOptions,
      dilation?: Sizes | ConvOptions,
      groups?: number | ConvOptions,
      bias?: boolean | ConvOptions,
      paddingMode?: string | ConvOptions,
      options?: ConvOptions,
    ]
  ) {
    super("Conv2d", [inChannels, outChannels, kernelSize, ...rest]);
  }
  override forward(input: Tensor): Tensor {
    const { weight, bias, stride, dilation, groups } = this;
    const [x, padding] = padded(this, input);
    return composites.conv2d(x, weight, bias, stride, padding, dilation, groups);
  }
}
checkDiscreet(Conv2d, "Conv2d");

/**
 * A convolution over volumes of shape (batch, channels, depth, height, width) or (channels, depth, height, width).
 * @example
 * ```ts
 * new nn.Conv3d(1, 2, 3)(ones(1, 1, 4, 4, 4)).shape // torch.Size([1, 2, 2, 2, 2])
 * ```
 * @throws ValueError when channels cannot be divided by `groups`, or for a word that is no padding
 * @torch torch.nn.Conv3d
 */
export class Conv3d extends Convolution {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    ...rest: [
      stride?: Sizes | ConvOptions,
      padding?: Sizes | "same" | "valid" | ConvOptions,
      dilation?: Sizes | ConvOptions,
      groups?: number | ConvOptions,
      bias?: boolean | ConvOptions,
      paddingMode?: string | ConvOptions,
      options?: ConvOptions,
    ]
  ) {
    super("Conv3d", [inChannels, outChannels, kernelSize, ...rest]);
  }
  override forward(input: Tensor): Tensor {
    const { weight, bias, stride, dilation, groups } = this;
    const [x, padding] = padded(this, input);
    return composites.conv3d(x, weight, bias, stride, padding, dilation, groups);
  }
}
checkDiscreet(Conv3d, "Conv3d");

/** The sizes that the result of a transposed convolution has more of, for it to be of a size. */
function outputPaddingFor(module: Convolution, input: Tensor, outputSize: readonly number[] | null): readonly number[] {
  const { kernelSize, stride, padding, dilation, outputPadding } = module;
  if (outputSize === null) return outputPadding;
  const dims = kernelSize.length;
  const skip = input.ndim === dims + 2 ? 2 : 1;
  let wanted = outputSize;
  if (wanted.length === skip + dims) wanted = wanted.slice(skip);
  if (wanted.length !== dims) {
    throw new ValueError(
      `ConvTranspose${dims}D: for ${input.ndim}D input, output_size must have ${dims} or ${skip + dims} elements ` +
        `(got ${outputSize.length})`,
    );
  }
  const at = (list: readonly number[] | string, d: number) => (list as readonly number[])[d] as number;
  const least = kernelSize.map((k, d) => {
    const n = input._shape[d + skip] as number;
    return (n - 1) * at(stride, d) - 2 * at(padding, d) + at(dilation, d) * (k - 1) + 1;
  });
  const most = least.map((n, d) => n + at(stride, d) - 1);
  wanted.forEach((n, d) => {
    if (n >= at(least, d) && n <= at(most, d)) return;
    throw new ValueError(
      `requested an output size of [${wanted.join(", ")}], but valid sizes range from [${least.join(", ")}] to ` +
        `[${most.join(", ")}] (for an input of torch.Size([${input._shape.slice(skip).join(", ")}]))`,
    );
  });
  return wanted.map((n, d) => n - at(least, d));
}

/**
 * The gradient of a convolution over signals, as a layer: signals become longer.
 * @example
 * ```ts
 * new nn.ConvTranspose1d(2, 4, 3, { stride: 2 })(ones(1, 2, 5)).shape // torch.Size([1, 4, 11])
 * ```
 * @throws ValueError when channels cannot be divided by `groups`
 * @torch torch.nn.ConvTranspose1d
 */
export class ConvTranspose1d extends Convolution {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    ...rest: [
      stride?: Sizes | ConvTransposeOptions,
      padding?: Sizes | ConvTransposeOptions,
      outputPadding?: Sizes | ConvTransposeOptions,
      groups?: number | ConvTransposeOptions,
      bias?: boolean | ConvTransposeOptions,
      dilation?: Sizes | ConvTransposeOptions,
      paddingMode?: string | ConvTransposeOptions,
      options?: ConvTransposeOptions,
    ]
  ) {
    super("ConvTranspose1d", [inChannels, outChannels, kernelSize, ...rest]);
  }
  override forward(input: Tensor, outputSize?: OutputSize): Tensor;
  override forward(input: Tensor, outputSize: readonly number[] | null = null): Tensor {
    const { weight, bias, stride, padding, groups, dilation } = this;
    const more = outputPaddingFor(this, input, outputSize);
    const zeros = padding as readonly number[];
    return composites.convTranspose1d(input, weight, bias, stride, zeros, more, groups, dilation);
  }
}
checkDiscreet(ConvTranspose1d, "ConvTranspose1d");

/**
 * The gradient of a convolution over images, as a layer: images become larger.
 * @example
 * ```ts
 * new nn.ConvTranspose2d(2, 4, 3, { stride: 2 })(ones(2, 5, 5)).shape // torch.Size([4, 11, 11])
 * ```
 * @throws ValueError when channels cannot be divided by `groups`
 * @torch torch.nn.ConvTranspose2d
 */
export class ConvTranspose2d extends Convolution {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    ...rest: [
      stride?: Sizes | ConvTransposeOptions,
      padding?: Sizes | ConvTransposeOptions,
      outputPadding?: Sizes | ConvTransposeOptions,
      groups?: number | ConvTransposeOptions,
      bias?: boolean | ConvTransposeOptions,
      dilation?: Sizes | ConvTransposeOptions,
      paddingMode?: string | ConvTransposeOptions,
      options?: ConvTransposeOptions,
    ]
  ) {
    super("ConvTranspose2d", [inChannels, outChannels, kernelSize, ...rest]);
  }
  override forward(input: Tensor, outputSize?: OutputSize): Tensor;
  override forward(input: Tensor, outputSize: readonly number[] | null = null): Tensor {
    const { weight, bias, stride, padding, groups, dilation } = this;
    const more = outputPaddingFor(this, input, outputSize);
    const zeros = padding as readonly number[];
    return composites.convTranspose2d(input, weight, bias, stride, zeros, more, groups, dilation);
  }
}
checkDiscreet(ConvTranspose2d, "ConvTranspose2d");

/**
 * The gradient of a convolution over volumes, as a layer: volumes become larger.
 * @example
 * ```ts
 * new nn.ConvTranspose3d(1, 2, 2)(ones(1, 3, 3, 3)).shape // torch.Size([2, 4, 4, 4])
 * ```
 * @throws ValueError when channels cannot be divided by `groups`
 * @torch torch.nn.ConvTranspose3d
 */
export class ConvTranspose3d extends Convolution {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    ...rest: [
      stride?: Sizes | ConvTransposeOptions,
      padding?: Sizes | ConvTransposeOptions,
      outputPadding?: Sizes | ConvTransposeOptions,
      groups?: number | ConvTransposeOptions,
      bias?: boolean | ConvTransposeOptions,
      dilation?: Sizes | ConvTransposeOptions,
      paddingMode?: string | ConvTransposeOptions,
      options?: ConvTransposeOptions,
    ]
  ) {
    super("ConvTranspose3d", [inChannels, outChannels, kernelSize, ...rest]);
  }
  override forward(input: Tensor, outputSize?: OutputSize): Tensor;
  override forward(input: Tensor, outputSize: readonly number[] | null = null): Tensor {
    const { weight, bias, stride, padding, groups, dilation } = this;
    const more = outputPaddingFor(this, input, outputSize);
    const zeros = padding as readonly number[];
    return composites.convTranspose3d(input, weight, bias, stride, zeros, more, groups, dilation);
  }
}
checkDiscreet(ConvTranspose3d, "ConvTranspose3d");
