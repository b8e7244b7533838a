/** Layers that resize images, and that rearrange dimensions. */

import { pixelShuffle, pixelUnshuffle } from "../autograd/composites-images.ts";
import { interpolate } from "../autograd/composites-sampling.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkDiscreet } from "./forward-checks.ts";
import { Module } from "./module.ts";
import { settings } from "./options.ts";
import { MODULE } from "./signatures.ts";
import { floatsText, sizesText } from "./windows.ts";

type Sizes = number | readonly number[] | null;

/** Options of `UpsamplingNearest2d` and `UpsamplingBilinear2d`. */
export interface UpsamplingOptions {
  /** Sizes of the result. */
  size?: Sizes;
  /** How many times larger it is. */
  scaleFactor?: Sizes;
}

/** Options of `Upsample`. */
export interface UpsampleOptions extends UpsamplingOptions {
  /** How elements between others are found. Default "nearest". */
  mode?: "nearest" | "linear" | "bilinear" | "bicubic" | "trilinear" | "nearest-exact";
  /** Whether the first and last elements stay where they are. Default false. */
  alignCorners?: boolean | null;
  /** Whether the scale is computed again of the sizes. */
  recomputeScaleFactor?: boolean | null;
}

interface Settings {
  size: Sizes;
  scaleFactor: Sizes;
  mode: string;
  alignCorners: boolean | null;
  recomputeScaleFactor: boolean | null;
}

const DEFAULTS = { size: null, scaleFactor: null, mode: "nearest", alignCorners: null, recomputeScaleFactor: null };

/**
 * Signals, images or volumes of another size.
 * @example
 * ```ts
 * new nn.Upsample({ scaleFactor: 2 })(tensor([[[1, 2]]])) // tensor([[[1., 1., 2., 2.]]])
 * ```
 * @torch torch.nn.Upsample
 */
export class Upsample extends Module {
  /** Sizes of the result. */
  size: Sizes;
  /** How many times larger it is. */
  scaleFactor: Sizes;
  /** How elements between others are found. */
  mode: string;
  /** Whether the first and last elements stay where they are. */
  alignCorners: boolean | null;
  /** Whether the scale is computed again of the sizes. */
  recomputeScaleFactor: boolean | null;
  constructor(
    ...options: [
      size?: Sizes | UpsampleOptions,
      scaleFactor?: Sizes | UpsampleOptions,
      mode?: string | UpsampleOptions,
      alignCorners?: boolean | UpsampleOptions | null,
      recomputeScaleFactor?: boolean | UpsampleOptions | null,
    ]
  ) {
    super();
    const o = settings<Settings>("Upsample", options, DEFAULTS);
    this.size = o.size;
    this.scaleFactor = o.scaleFactor;
    this.mode = o.mode;
    this.alignCorners = o.alignCorners;
    this.recomputeScaleFactor = o.recomputeScaleFactor;
  }
  override forward(input: Tensor): Tensor {
    const { size, scaleFactor, mode, alignCorners, recomputeScaleFactor } = this;
    return interpolate(input, size, scaleFactor, mode, alignCorners, recomputeScaleFactor, false);
  }
  override extraRepr(): string {
    const { size, scaleFactor, mode } = this;
    const first = scaleFactor === null ? `size=${sizesText(size)}` : `scale_factor=${floatsText(scaleFactor)}`;
    return `${first}, mode='${mode}'`;
  }
}
installChecks(Upsample.prototype, MODULE);
checkDiscreet(Upsample, "Upsample");

/**
 * Images of another size, of the nearest elements.
 * @example
 * ```ts
 * new nn.UpsamplingNearest2d({ scaleFactor: 2 })(ones(1, 1, 2, 3)).shape // torch.Size([1, 1, 4, 6])
 * ```
 * @torch torch.nn.UpsamplingNearest2d
 */
export class UpsamplingNearest2d extends Upsample {
  constructor(...options: [size?: Sizes | UpsamplingOptions, scaleFactor?: Sizes | UpsamplingOptions]) {
    const o = settings<Settings>("UpsamplingNearest2d", options, DEFAULTS);
    super({ size: o.size, scaleFactor: o.scaleFactor, mode: "nearest" });
  }
}

/**
 * Images of another size, of means of neighbours, with the corners where they are.
 * @example
 * ```ts
 * new nn.UpsamplingBilinear2d([1, 3])(tensor([[[[1, 3]]]])) // tensor([[[[1., 2., 3.]]]])
 * ```
 * @torch torch.nn.UpsamplingBilinear2d
 */
export class UpsamplingBilinear2d extends Upsample {
  constructor(...options: [size?: Sizes | UpsamplingOptions, scaleFactor?: Sizes | UpsamplingOptions]) {
    const o = settings<Settings>("UpsamplingBilinear2d", options, DEFAULTS);
    super({ size: o.size, scaleFactor: o.scaleFactor, mode: "bilinear", alignCorners: true });
  }
}

/** Options of `Flatten`. */
export interface FlattenOptions {
  /** The first dimension. Default 1. */
  startDim?: number;
  /** The last one. Default -1. */
  endDim?: number;
}

/**
 * Several dimensions as one.
 * @example
 * ```ts
 * new nn.Flatten()(ones(2, 3, 4)).shape // torch.Size([2, 12])
 * ```
 * @torch torch.nn.Flatten
 */
export class Flatten extends Module {
  /** The first dimension. */
  startDim: number;
  /** The last one. */
  endDim: number;
  constructor(...options: [startDim?: number | FlattenOptions, endDim?: number | FlattenOptions]) {
    super();
    const o = settings<Required<FlattenOptions>>("Flatten", options, { startDim: 1, endDim: -1 });
    this.startDim = o.startDim;
    this.endDim = o.endDim;
  }
  override forward(input: Tensor): Tensor {
    return input.flatten(this.startDim, this.endDim);
  }
  override extraRepr(): string {
    return `start_dim=${this.startDim}, end_dim=${this.endDim}`;
  }
}
installChecks(Flatten.prototype, MODULE);
checkDiscreet(Flatten, "Flatten");

/** Options of `Unflatten`. */
export interface UnflattenOptions {
  /** The dimension. */
  dim?: number;
  /** The sizes that it becomes. */
  unflattenedSize?: readonly number[];
}

/**
 * A dimension as several.
 * @example
 * ```ts
 * new nn.Unflatten(1, [3, 4])(ones(2, 12)).shape // torch.Size([2, 3, 4])
 * ```
 * @torch torch.nn.Unflatten
 */
export class Unflatten extends Module {
  /** The dimension. */
  dim: number;
  /** The sizes that it becomes. */
  unflattenedSize: readonly number[];
  constructor(dim: number | UnflattenOptions, ...rest: [unflattenedSize?: readonly number[] | UnflattenOptions]) {
    super();
    const o = settings<Required<UnflattenOptions>>("Unflatten", [dim, ...rest], {});
    this.dim = o.dim;
    this.unflattenedSize = o.unflattenedSize;
  }
  override forward(input: Tensor): Tensor {
    return input.unflatten(this.dim, this.unflattenedSize);
  }
  override extraRepr(): string {
    return `dim=${this.dim}, unflattened_size=${sizesText(this.unflattenedSize)}`;
  }
}
installChecks(Unflatten.prototype, MODULE);
checkDiscreet(Unflatten, "Unflatten");

/** Options of `PixelShuffle`. */
export interface PixelShuffleOptions {
  /** How many times larger. */
  upscaleFactor?: number;
}

/**
 * Channels as pixels of an image that is so many times larger.
 * @example
 * ```ts
 * new nn.PixelShuffle(2)(ones(1, 8, 3, 4)).shape // torch.Size([1, 2, 6, 8])
 * ```
 * @torch torch.nn.PixelShuffle
 */
export class PixelShuffle extends Module {
  /** How many times larger. */
  upscaleFactor: number;
  constructor(upscaleFactor: number | PixelShuffleOptions, ...none: []) {
    super();
    this.upscaleFactor = settings<Required<PixelShuffleOptions>>(
      "PixelShuffle",
      [upscaleFactor, ...none],
      {},
    ).upscaleFactor;
  }
  override forward(input: Tensor): Tensor {
    return pixelShuffle(input, this.upscaleFactor);
  }
  override extraRepr(): string {
    return `upscale_factor=${this.upscaleFactor}`;
  }
}
installChecks(PixelShuffle.prototype, MODULE);
checkDiscreet(PixelShuffle, "PixelShuffle");

/** Options of `PixelUnshuffle`. */
export interface PixelUnshuffleOptions {
  /** How many times smaller. */
  downscaleFactor?: number;
}

/**
 * Pixels as channels of an image that is so many times smaller.
 * @example
 * ```ts
 * new nn.PixelUnshuffle(2)(ones(1, 2, 6, 8)).shape // torch.Size([1, 8, 3, 4])
 * ```
 * @torch torch.nn.PixelUnshuffle
 */
export class PixelUnshuffle extends Module {
  /** How many times smaller. */
  downscaleFactor: number;
  constructor(downscaleFactor: number | PixelUnshuffleOptions, ...none: []) {
    super();
    this.downscaleFactor = settings<Required<PixelUnshuffleOptions>>(
      "PixelUnshuffle",
      [downscaleFactor, ...none],
      {},
    ).downscaleFactor;
  }
  override forward(input: Tensor): Tensor {
    return pixelUnshuffle(input, this.downscaleFactor);
  }
  override extraRepr(): string {
    return `downscale_factor=${this.downscaleFactor}`;
  }
}
installChecks(PixelUnshuffle.prototype, MODULE);
checkDiscreet(PixelUnshuffle, "PixelUnshuffle");
