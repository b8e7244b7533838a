/** Layers that take the largest element or the average of windows. */

import * as composites from "../autograd/composites-pooling.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkDiscreet } from "./forward-checks.ts";
import { Module } from "./module.ts";
import { settings } from "./options.ts";
import { MODULE } from "./signatures.ts";
import { sizesText, tuple } from "./windows.ts";

type Sizes = number | readonly number[];

/** Options of `MaxPool1d`, `MaxPool2d`, `MaxPool3d`. */
export interface MaxPoolOptions {
  /** Steps between windows. Default: their size. */
  stride?: Sizes | null;
  /** Elements on each side that count as less than any number. Default 0. */
  padding?: Sizes;
  /** Steps between the elements of a window. Default 1. */
  dilation?: Sizes;
  /** Whether the places of the maxima are given as well, in a list. Default false. */
  returnIndices?: boolean;
  /** Whether a last window may reach over the end. Default false. */
  ceilMode?: boolean;
}

/** What layers of maxima share. */
abstract class MaxPool extends Module {
  /** Sizes of a window. */
  kernelSize: Sizes;
  /** Steps between windows. */
  stride: Sizes;
  /** Elements on each side that count as less than any number. */
  padding: Sizes;
  /** Steps between the elements of a window. */
  dilation: Sizes;
  /** Whether the places of the maxima are given as well. */
  returnIndices: boolean;
  /** Whether a last window may reach over the end. */
  ceilMode: boolean;
  /** @internal */
  constructor(name: "MaxPool1d" | "MaxPool2d" | "MaxPool3d", given: readonly unknown[]) {
    super();
    const defaults = { stride: null, padding: 0, dilation: 1, returnIndices: false, ceilMode: false };
    const o = settings<Required<MaxPoolOptions> & { kernelSize: Sizes }>(name, given, defaults);
    this.kernelSize = o.kernelSize;
    this.stride = o.stride ?? o.kernelSize;
    this.padding = o.padding;
    this.dilation = o.dilation;
    this.returnIndices = o.returnIndices;
    this.ceilMode = o.ceilMode;
  }
  override extraRepr(): string {
    const { kernelSize, stride, padding, dilation, ceilMode } = this;
    const sizes = `kernel_size=${sizesText(kernelSize)}, stride=${sizesText(stride)}, padding=${sizesText(padding)}`;
    return `${sizes}, dilation=${sizesText(dilation)}, ceil_mode=${ceilMode ? "True" : "False"}`;
  }
}
installChecks(MaxPool.prototype, MODULE);

type Ints = readonly number[];

function windowsOf({
  kernelSize,
  stride,
  padding,
  dilation,
}: MaxPool): [kernel: Ints, stride: Ints, padding: Ints, dilation: Ints] {
  return [tuple(kernelSize, 1), tuple(stride, 1), tuple(padding, 1), tuple(dilation, 1)];
}

/**
 * The largest element of each window of signals of shape (batch, channels, length) or (channels, length).
 * @example
 * ```ts
 * new nn.MaxPool1d(2)(tensor([[1, 5, 2, 3]])) // tensor([[5., 3.]])
 * ```
 * @torch torch.nn.MaxPool1d
 */
export class MaxPool1d extends MaxPool {
  constructor(
    kernelSize: Sizes,
    ...rest: [
      stride?: Sizes | MaxPoolOptions | null,
      padding?: Sizes | MaxPoolOptions,
      dilation?: Sizes | MaxPoolOptions,
      returnIndices?: boolean | MaxPoolOptions,
      ceilMode?: boolean | MaxPoolOptions,
    ]
  ) {
    super("MaxPool1d", [kernelSize, ...rest]);
  }
  /** The values; with `returnIndices` a list of them and of their places. */
  override forward(input: Tensor): Tensor;
  override forward(input: Tensor): Tensor | Tensor[] {
    const [kernel, stride, padding, dilation] = windowsOf(this);
    const { ceilMode, returnIndices } = this;
    return composites.maxPool1dIndices(input, kernel, stride, padding, dilation, ceilMode, returnIndices);
  }
}
checkDiscreet(MaxPool1d, "MaxPool1d");

/**
 * The largest element of each window of images of shape (batch, channels, height, width) or (channels, height,
 * width).
 * @example
 * ```ts
 * new nn.MaxPool2d(2)(ones(1, 4, 6)).shape // torch.Size([1, 2, 3])
 * ```
 * @torch torch.nn.MaxPool2d
 */
export class MaxPool2d extends MaxPool {
  constructor(
    kernelSize: Sizes,
    ...rest: [
      stride?: Sizes | MaxPoolOptions | null,
      padding?: Sizes | MaxPoolOptions,
      dilation?: Sizes | MaxPoolOptions,
      returnIndices?: boolean | MaxPoolOptions,
      ceilMode?: boolean | MaxPoolOptions,
    ]
  ) {
    super("MaxPool2d", [kernelSize, ...rest]);
  }
  /** The values; with `returnIndices` a list of them and of their places. */
  override forward(input: Tensor): Tensor;
  override forward(input: Tensor): Tensor | Tensor[] {
    const [kernel, stride, padding, dilation] = windowsOf(this);
    const { ceilMode, returnIndices } = this;
    return composites.maxPool2dIndices(input, kernel, stride, padding, dilation, ceilMode, returnIndices);
  }
}
checkDiscreet(MaxPool2d, "MaxPool2d");

/**
 * The largest element of each window of volumes of shape (batch, channels, depth, height, width), or one without
 * the batch.
 * @example
 * ```ts
 * new nn.MaxPool3d(2)(ones(1, 4, 4, 6)).shape // torch.Size([1, 2, 2, 3])
 * ```
 * @torch torch.nn.MaxPool3d
 */
export class MaxPool3d extends MaxPool {
  constructor(
    kernelSize: Sizes,
    ...rest: [
      stride?: Sizes | MaxPoolOptions | null,
      padding?: Sizes | MaxPoolOptions,
      dilation?: Sizes | MaxPoolOptions,
      returnIndices?: boolean | MaxPoolOptions,
      ceilMode?: boolean | MaxPoolOptions,
    ]
  ) {
    super("MaxPool3d", [kernelSize, ...rest]);
  }
  /** The values; with `returnIndices` a list of them and of their places. */
  override forward(input: Tensor): Tensor;
  override forward(input: Tensor): Tensor | Tensor[] {
    const [kernel, stride, padding, dilation] = windowsOf(this);
    const { ceilMode, returnIndices } = this;
    return composites.maxPool3dIndices(input, kernel, stride, padding, dilation, ceilMode, returnIndices);
  }
}
checkDiscreet(MaxPool3d, "MaxPool3d");

/** Options of `AvgPool1d`. */
export interface AvgPool1dOptions {
  /** Steps between windows. Default: their size. */
  stride?: Sizes | null;
  /** Zeros on each side. Default 0. */
  padding?: Sizes;
  /** Whether a last window may reach over the end. Default false. */
  ceilMode?: boolean;
  /** Whether zeros of the padding count. Default true. */
  countIncludePad?: boolean;
}

/** Options of `AvgPool2d` and `AvgPool3d`. */
export interface AvgPoolOptions extends AvgPool1dOptions {
  /** What sums are divided by, in the place of how many elements there are. */
  divisorOverride?: number | null;
}

/** What layers of averages share. */
abstract class AvgPool extends Module {
  /** Sizes of a window. */
  kernelSize: Sizes;
  /** Steps between windows. */
  stride: Sizes;
  /** Zeros on each side. */
  padding: Sizes;
  /** Whether a last window may reach over the end. */
  ceilMode: boolean;
  /** Whether zeros of the padding count. */
  countIncludePad: boolean;
  /** @internal */
  constructor(dims: number, o: Required<AvgPool1dOptions> & { kernelSize: Sizes }) {
    super();
    const own = (sizes: Sizes): Sizes => (dims === 1 ? tuple(sizes, 1) : sizes);
    this.kernelSize = own(o.kernelSize);
    this.stride = own(o.stride ?? o.kernelSize);
    this.padding = own(o.padding);
    this.ceilMode = o.ceilMode;
    this.countIncludePad = o.countIncludePad;
  }
  override extraRepr(): string {
    const { kernelSize, stride, padding } = this;
    return `kernel_size=${sizesText(kernelSize)}, stride=${sizesText(stride)}, padding=${sizesText(padding)}`;
  }
}
installChecks(AvgPool.prototype, MODULE);

const AVERAGE = { stride: null, padding: 0, ceilMode: false, countIncludePad: true, divisorOverride: null };

/**
 * The average of each window of signals of shape (batch, channels, length) or (channels, length).
 * @example
 * ```ts
 * new nn.AvgPool1d(2)(tensor([[1, 5, 2, 4]])) // tensor([[3., 3.]])
 * ```
 * @torch torch.nn.AvgPool1d
 */
export class AvgPool1d extends AvgPool {
  constructor(
    kernelSize: Sizes,
    ...rest: [
      stride?: Sizes | AvgPool1dOptions | null,
      padding?: Sizes | AvgPool1dOptions,
      ceilMode?: boolean | AvgPool1dOptions,
      countIncludePad?: boolean | AvgPool1dOptions,
    ]
  ) {
    super(1, settings<Required<AvgPool1dOptions> & { kernelSize: Sizes }>("AvgPool1d", [kernelSize, ...rest], AVERAGE));
  }
  override forward(input: Tensor): Tensor {
    const [kernel, stride, padding] = [tuple(this.kernelSize, 1), tuple(this.stride, 1), tuple(this.padding, 1)];
    return composites.avgPool1d(input, kernel, stride, padding, this.ceilMode, this.countIncludePad);
  }
}
checkDiscreet(AvgPool1d, "AvgPool1d");

/**
 * The average of each window of images of shape (batch, channels, height, width) or (channels, height, width).
 * @example
 * ```ts
 * new nn.AvgPool2d(2)(ones(1, 4, 6)).shape // torch.Size([1, 2, 3])
 * ```
 * @torch torch.nn.AvgPool2d
 */
export class AvgPool2d extends AvgPool {
  /** What sums are divided by, in the place of how many elements there are. */
  divisorOverride: number | null;
  constructor(
    kernelSize: Sizes,
    ...rest: [
      stride?: Sizes | AvgPoolOptions | null,
      padding?: Sizes | AvgPoolOptions,
      ceilMode?: boolean | AvgPoolOptions,
      countIncludePad?: boolean | AvgPoolOptions,
      divisorOverride?: number | AvgPoolOptions | null,
    ]
  ) {
    const o = settings<Required<AvgPoolOptions> & { kernelSize: Sizes }>("AvgPool2d", [kernelSize, ...rest], AVERAGE);
    super(2, o);
    this.divisorOverride = o.divisorOverride;
  }
  override forward(input: Tensor): Tensor {
    const { ceilMode, countIncludePad, divisorOverride } = this;
    const [kernel, stride, padding] = [tuple(this.kernelSize, 1), tuple(this.stride, 1), tuple(this.padding, 1)];
    return composites.avgPool2d(input, kernel, stride, padding, ceilMode, countIncludePad, divisorOverride);
  }
}
checkDiscreet(AvgPool2d, "AvgPool2d");

/**
 * The average of each window of volumes of shape (batch, channels, depth, height, width), or one without
 * the batch.
 * @example
 * ```ts
 * new nn.AvgPool3d(2)(ones(1, 4, 4, 6)).shape // torch.Size([1, 2, 2, 3])
 * ```
 * @torch torch.nn.AvgPool3d
 */
export class AvgPool3d extends AvgPool {
  /** What sums are divided by, in the place of how many elements there are. */
  divisorOverride: number | null;
  constructor(
    kernelSize: Sizes,
    ...rest: [
      stride?: Sizes | AvgPoolOptions | null,
      padding?: Sizes | AvgPoolOptions,
      ceilMode?: boolean | AvgPoolOptions,
      countIncludePad?: boolean | AvgPoolOptions,
      divisorOverride?: number | AvgPoolOptions | null,
    ]
  ) {
    const o = settings<Required<AvgPoolOptions> & { kernelSize: Sizes }>("AvgPool3d", [kernelSize, ...rest], AVERAGE);
    super(3, o);
    this.divisorOverride = o.divisorOverride;
  }
  override forward(input: Tensor): Tensor {
    const { ceilMode, countIncludePad, divisorOverride } = this;
    const [kernel, stride, padding] = [tuple(this.kernelSize, 1), tuple(this.stride, 1), tuple(this.padding, 1)];
    return composites.avgPool3d(input, kernel, stride, padding, ceilMode, countIncludePad, divisorOverride);
  }
}
checkDiscreet(AvgPool3d, "AvgPool3d");
