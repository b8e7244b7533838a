/** Layers whose results have as many windows as are wanted, of images of any size. */

import * as composites from "../autograd/composites-pooling.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkDiscreet } from "./forward-checks.ts";
import { Module } from "./module.ts";
import { settings } from "./options.ts";
import { MODULE } from "./signatures.ts";
import { sizesText } from "./windows.ts";

type Sizes = number | null | readonly (number | null)[];

/** Options of `AdaptiveAvgPool1d` and its like. */
export interface AdaptiveAvgPoolOptions {
  /** Sizes of the result; null keeps a size. */
  outputSize?: Sizes;
}

/** Options of `AdaptiveMaxPool1d` and its like. */
export interface AdaptiveMaxPoolOptions extends AdaptiveAvgPoolOptions {
  /** Whether the places of the maxima are given as well, in a list. Default false. */
  returnIndices?: boolean;
}

const listOf = (sizes: Sizes): readonly (number | null)[] => (Array.isArray(sizes) ? sizes : [sizes as number | null]);

/** What these layers share. */
abstract class AdaptivePool extends Module {
  /** Sizes of the result. */
  outputSize: Sizes;
  /** @internal */
  constructor(outputSize: Sizes) {
    super();
    this.outputSize = outputSize;
  }
  override extraRepr(): string {
    return `output_size=${sizesText(this.outputSize)}`;
  }
}
installChecks(AdaptivePool.prototype, MODULE);

/**
 * Averages of as many windows as `outputSize` says, of signals of any size.
 * @example
 * ```ts
 * new nn.AdaptiveAvgPool1d(2)(tensor([[1, 2, 3, 4]])) // tensor([[1.5000, 3.5000]])
 * ```
 * @torch torch.nn.AdaptiveAvgPool1d
 */
export class AdaptiveAvgPool1d extends AdaptivePool {
  constructor(outputSize: Sizes | AdaptiveAvgPoolOptions, ...none: []) {
    super(settings<{ outputSize: Sizes }>("AdaptiveAvgPool1d", [outputSize, ...none], {}).outputSize);
  }
  override forward(input: Tensor): Tensor {
    return composites.adaptiveAvgPool1d(input, listOf(this.outputSize));
  }
}
checkDiscreet(AdaptiveAvgPool1d, "AdaptiveAvgPool1d");

/**
 * Maxima of as many windows as `outputSize` says, of signals of any size.
 * @example
 * ```ts
 * new nn.AdaptiveMaxPool1d(2)(tensor([[1, 2, 3, 4]])) // tensor([[2., 4.]])
 * ```
 * @torch torch.nn.AdaptiveMaxPool1d
 */
export class AdaptiveMaxPool1d extends AdaptivePool {
  /** Whether the places of the maxima are given as well. */
  returnIndices: boolean;
  constructor(outputSize: Sizes | AdaptiveMaxPoolOptions, ...rest: [returnIndices?: boolean | AdaptiveMaxPoolOptions]) {
    const given = [outputSize, ...rest];
    const o = settings<{ outputSize: Sizes; returnIndices: boolean }>("AdaptiveMaxPool1d", given, {
      returnIndices: false,
    });
    super(o.outputSize);
    this.returnIndices = o.returnIndices;
  }
  /** The values; with `returnIndices` a list of them and of their places. */
  override forward(input: Tensor): Tensor;
  override forward(input: Tensor): Tensor | Tensor[] {
    return composites.adaptiveMaxPool1dIndices(input, listOf(this.outputSize), this.returnIndices);
  }
}
checkDiscreet(AdaptiveMaxPool1d, "AdaptiveMaxPool1d");

/**
 * Averages of as many windows as `outputSize` says, of images of any size.
 * @example
 * ```ts
 * new nn.AdaptiveAvgPool2d([1, null])(ones(1, 5, 7)).shape // torch.Size([1, 1, 7])
 * ```
 * @torch torch.nn.AdaptiveAvgPool2d
 */
export class AdaptiveAvgPool2d extends AdaptivePool {
  constructor(outputSize: Sizes | AdaptiveAvgPoolOptions, ...none: []) {
    super(settings<{ outputSize: Sizes }>("AdaptiveAvgPool2d", [outputSize, ...none], {}).outputSize);
  }
  override forward(input: Tensor): Tensor {
    return composites.adaptiveAvgPool2d(input, listOf(this.outputSize));
  }
}
checkDiscreet(AdaptiveAvgPool2d, "AdaptiveAvgPool2d");

/**
 * Maxima of as many windows as `outputSize` says, of images of any size.
 * @example
 * ```ts
 * new nn.AdaptiveMaxPool2d([1, null])(ones(1, 5, 7)).shape // torch.Size([1, 1, 7])
 * ```
 * @torch torch.nn.AdaptiveMaxPool2d
 */
export class AdaptiveMaxPool2d extends AdaptivePool {
  /** Whether the places of the maxima are given as well. */
  returnIndices: boolean;
  constructor(outputSize: Sizes | AdaptiveMaxPoolOptions, ...rest: [returnIndices?: boolean | AdaptiveMaxPoolOptions]) {
    const given = [outputSize, ...rest];
    const o = settings<{ outputSize: Sizes; returnIndices: boolean }>("AdaptiveMaxPool2d", given, {
      returnIndices: false,
    });
    super(o.outputSize);
    this.returnIndices = o.returnIndices;
  }
  /** The values; with `returnIndices` a list of them and of their places. */
  override forward(input: Tensor): Tensor;
  override forward(input: Tensor): Tensor | Tensor[] {
    return composites.adaptiveMaxPool2dIndices(input, listOf(this.outputSize), this.returnIndices);
  }
}
checkDiscreet(AdaptiveMaxPool2d, "AdaptiveMaxPool2d");

/**
 * Averages of as many windows as `outputSize` says, of volumes of any size.
 * @example
 * ```ts
 * new nn.AdaptiveAvgPool3d(1)(ones(2, 5, 7, 3)).shape // torch.Size([2, 1, 1, 1])
 * ```
 * @torch torch.nn.AdaptiveAvgPool3d
 */
export class AdaptiveAvgPool3d extends AdaptivePool {
  constructor(outputSize: Sizes | AdaptiveAvgPoolOptions, ...none: []) {
    super(settings<{ outputSize: Sizes }>("AdaptiveAvgPool3d", [outputSize, ...none], {}).outputSize);
  }
  override forward(input: Tensor): Tensor {
    return composites.adaptiveAvgPool3d(input, listOf(this.outputSize));
  }
}
checkDiscreet(AdaptiveAvgPool3d, "AdaptiveAvgPool3d");

/**
 * Maxima of as many windows as `outputSize` says, of volumes of any size.
 * @example
 * ```ts
 * new nn.AdaptiveMaxPool3d(1)(ones(2, 5, 7, 3)).shape // torch.Size([2, 1, 1, 1])
 * ```
 * @torch torch.nn.AdaptiveMaxPool3d
 */
export class AdaptiveMaxPool3d extends AdaptivePool {
  /** Whether the places of the maxima are given as well. */
  returnIndices: boolean;
  constructor(outputSize: Sizes | AdaptiveMaxPoolOptions, ...rest: [returnIndices?: boolean | AdaptiveMaxPoolOptions]) {
    const given = [outputSize, ...rest];
    const o = settings<{ outputSize: Sizes; returnIndices: boolean }>("AdaptiveMaxPool3d", given, {
      returnIndices: false,
    });
    super(o.outputSize);
    this.returnIndices = o.returnIndices;
  }
  /** The values; with `returnIndices` a list of them and of their places. */
  override forward(input: Tensor): Tensor;
  override forward(input: Tensor): Tensor | Tensor[] {
    return composites.adaptiveMaxPool3dIndices(input, listOf(this.outputSize), this.returnIndices);
  }
}
checkDiscreet(AdaptiveMaxPool3d, "AdaptiveMaxPool3d");
