/** Normalization of channels by a batch's statistics, or by each example's own, and the running ones. */

import { full, ones, zeros } from "../../generated/ops.ts";
import { pythonFloat } from "../api/number-text.ts";
import * as composites from "../autograd/composites-normalization.ts";
import { installChecks } from "../tensor/checks.ts";
import { type Scalar, scalarToNumber } from "../tensor/complex.ts";
import { defaultDevice, toDevice } from "../tensor/device.ts";
import { getDefaultDtype, int64, toDType } from "../tensor/dtype.ts";
import { NotImplementedError, ValueError, warn } from "../tensor/errors.ts";
import { tidy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkDiscreet } from "./forward-checks.ts";
import * as init from "./init.ts";
import { Module } from "./module.ts";
import { flagText } from "./normalization.ts";
import { numberOf, numberText } from "./numbers.ts";
import { newParameter, type Placement, settings } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import { MODULE } from "./signatures.ts";

/** Options of the modules that normalize channels. */
export interface ChannelNormOptions extends Placement {
  /** Added to the variance. Default 1e-5. */
  eps?: Scalar;
  /** What of a batch's statistics goes into the running ones; null for their mean. Default 0.1. */
  momentum?: Scalar | null;
  /** Whether there is a weight. */
  affine?: boolean;
  /** Whether there are running statistics. */
  trackRunningStats?: boolean;
  /** Whether there is a bias. Default true. */
  bias?: boolean;
}

type ChannelNormSettings = Required<ChannelNormOptions> & { numFeatures: number };

type Names = "BatchNorm1d" | "BatchNorm2d" | "BatchNorm3d" | "InstanceNorm1d" | "InstanceNorm2d" | "InstanceNorm3d";

/** What follows the number of channels in constructors. */
export type ChannelNormArguments = [
  eps?: Scalar | ChannelNormOptions,
  momentum?: Scalar | null | ChannelNormOptions,
  affine?: boolean | ChannelNormOptions,
  trackRunningStats?: boolean | ChannelNormOptions,
  options?: ChannelNormOptions,
];

/** What these modules have in common: parameters and running statistics of channels. */
abstract class ChannelNorm extends Module {
  /** The factors, one a channel; null without `affine`. */
  declare weight: Parameter | null;
  /** The summands, one a channel; null without them. */
  declare bias: Parameter | null;
  /** The running mean of each channel; null where statistics are not tracked. */
  declare running_mean: Tensor | null;
  /** The running variance of each channel; null where statistics are not tracked. */
  declare running_var: Tensor | null;
  /** How many batches went into them; null where statistics are not tracked. */
  declare num_batches_tracked: Tensor | null;
  /** How many channels there are. */
  numFeatures: number;
  /** What is added to the variance. */
  eps: number;
  /** What of a batch's statistics goes into the running ones; null for their mean. */
  momentum: number | null;
  /** Whether there are factors. */
  affine: boolean;
  /** Whether there are running statistics. */
  trackRunningStats: boolean;

  constructor(name: Names, given: [numFeatures: number, ...rest: ChannelNormArguments], on: boolean) {
    super();
    const defaults = {
      eps: 1e-5,
      momentum: undefined,
      affine: on,
      trackRunningStats: on,
      bias: true,
      device: null,
      dtype: null,
    };
    const o = settings<ChannelNormSettings>(name, given, defaults);
    this.numFeatures = o.numFeatures;
    this.eps = scalarToNumber(o.eps);
    this.momentum = o.momentum === null ? null : numberOf(this, "momentum", o.momentum, 0.1);
    this.affine = o.affine;
    this.trackRunningStats = o.trackRunningStats;
    this.registerParameter("weight", o.affine ? newParameter([o.numFeatures], o) : null);
    this.registerParameter("bias", o.affine && o.bias ? newParameter([o.numFeatures], o) : null);
    const device = o.device === null ? defaultDevice() : toDevice(o.device);
    const dtype = o.dtype === null ? getDefaultDtype() : toDType(o.dtype);
    const tracks = o.trackRunningStats;
    this.registerBuffer("running_mean", tracks ? zeros([o.numFeatures], dtype, device, false) : null);
    this.registerBuffer("running_var", tracks ? ones([o.numFeatures], dtype, device, false) : null);
    this.registerBuffer("num_batches_tracked", tracks ? full([], 0, int64, device, false) : null);
    this.resetParameters();
  }
  /** Sets the running statistics to mean 0 and variance 1. @torch torch.nn.BatchNorm1d.reset_running_stats */
  resetRunningStats(): void {
    if (!this.trackRunningStats) return;
    this.running_mean?.zero_();
    this.running_var?.fill_(1);
    this.num_batches_tracked?.zero_();
  }
  /** As when new, the running statistics too. @torch torch.nn.BatchNorm1d.reset_parameters */
  resetParameters(): void {
    this.resetRunningStats();
    if (!this.affine) return;
    if (this.weight !== null) init.ones_(this.weight);
    if (this.bias !== null) init.zeros_(this.bias);
  }
  /** Old states lack it, and so do those of plain dictionaries. */
  _mayLack(name: string): boolean {
    return name === "num_batches_tracked";
  }
  override extraRepr(): string {
    const momentum = this.momentum === null ? "None" : numberText(this, "momentum");
    return (
      `${this.numFeatures}, eps=${pythonFloat(this.eps)}, momentum=${momentum}, affine=${flagText(this.affine)}, ` +
      `bias=${flagText(this.bias !== null)}, track_running_stats=${flagText(this.trackRunningStats)}`
    );
  }
}

installChecks(ChannelNorm.prototype, MODULE);

/** Normalizes each channel over a batch. */
abstract class BatchNorm extends ChannelNorm {
  /** Refuses inputs of other ranks. */
  protected abstract _requireRank(rank: number): void;

  override forward(input: Tensor): Tensor {
    this._requireRank(input.ndim);
    let factor = this.momentum ?? 0;
    const { running_mean: mean, running_var: variance, training } = this;
    if (training && this.trackRunningStats && this.num_batches_tracked !== null) {
      this.num_batches_tracked.add_(1);
      if (this.momentum === null) factor = 1 / this.num_batches_tracked.item<number>();
    }
    // Statistics that are not tracked are not updated.
    const kept = !training || this.trackRunningStats;
    const [m, v] = kept ? [mean, variance] : [null, null];
    const own = training || (mean === null && variance === null);
    const { weight, bias, eps } = this;
    return tidy(() => composites.functionalBatchNorm(input, m, v, weight, bias, own, factor, eps));
  }
}

const refuseRank = (wanted: string, rank: number): never => {
  throw new ValueError(`expected ${wanted} input (got ${rank}D input)`);
};

/**
 * Normalizes each channel over a batch of shape (batch, channels) or (batch, channels, length).
 * @throws ValueError for inputs of another rank
 * @example
 * ```ts
 * const norm = new nn.BatchNorm1d(1);
 * norm(tensor([[1], [3]]));
 * norm.running_mean // tensor([0.2000])
 * ```
 * @torch torch.nn.BatchNorm1d
 */
export class BatchNorm1d extends BatchNorm {
  constructor(numFeatures: number, ...options: ChannelNormArguments) {
    super("BatchNorm1d", [numFeatures, ...options], true);
  }
  protected override _requireRank(rank: number): void {
    if (rank !== 2 && rank !== 3) refuseRank("2D or 3D", rank);
  }
}
installChecks(BatchNorm1d.prototype, MODULE);
checkDiscreet(BatchNorm1d, "BatchNorm1d");

/**
 * Normalizes each channel over a batch of images of shape (batch, channels, height, width).
 * @throws ValueError for inputs of another rank
 * @example
 * ```ts
 * new nn.BatchNorm2d(3)(ones(2, 3, 4, 4)).shape // torch.Size([2, 3, 4, 4])
 * ```
 * @torch torch.nn.BatchNorm2d
 */
export class BatchNorm2d extends BatchNorm {
  constructor(numFeatures: number, ...options: ChannelNormArguments) {
    super("BatchNorm2d", [numFeatures, ...options], true);
  }
  protected override _requireRank(rank: number): void {
    if (rank !== 4) refuseRank("4D", rank);
  }
}
installChecks(BatchNorm2d.prototype, MODULE);
checkDiscreet(BatchNorm2d, "BatchNorm2d");

/**
 * Normalizes each channel over a batch of volumes of shape (batch, channels, depth, height, width).
 * @throws ValueError for inputs of another rank
 * @example
 * ```ts
 * new nn.BatchNorm3d(3)(ones(2, 3, 4, 4, 4)).shape // torch.Size([2, 3, 4, 4, 4])
 * ```
 * @torch torch.nn.BatchNorm3d
 */
export class BatchNorm3d extends BatchNorm {
  constructor(numFeatures: number, ...options: ChannelNormArguments) {
    super("BatchNorm3d", [numFeatures, ...options], true);
  }
  protected override _requireRank(rank: number): void {
    if (rank !== 5) refuseRank("5D", rank);
  }
}
installChecks(BatchNorm3d.prototype, MODULE);
checkDiscreet(BatchNorm3d, "BatchNorm3d");

/** Normalizes each channel of each example by itself. */
abstract class InstanceNorm extends ChannelNorm {
  /** The rank of one example. */
  protected get _exampleRank(): number {
    throw new NotImplementedError("_exampleRank");
  }

  override forward(input: Tensor): Tensor {
    const own = this._exampleRank;
    const rank = input.ndim;
    if (rank !== own && rank !== own + 1) refuseRank(`${own}D or ${own + 1}D`, rank);
    const dim = rank - own;
    const size = input._shape[dim] as number;
    if (size !== this.numFeatures) {
      if (this.affine) {
        throw new ValueError(
          `expected input's size at dim=${dim} to match num_features (${this.numFeatures}), but got: ${size}.`,
        );
      }
      warn(
        `input's size at dim=${dim} does not match num_features. You can silence this warning by not passing in ` +
          "num_features, which is not used because affine=False",
      );
    }
    const { running_mean, running_var, weight, bias, eps } = this;
    const stats = this.training || !this.trackRunningStats;
    return tidy(() => {
      const x = rank === own ? input.unsqueeze(0) : input;
      const m = this.momentum ?? 0;
      const r = composites.functionalInstanceNorm(x, running_mean, running_var, weight, bias, stats, m, eps);
      return rank === own ? r.squeeze(0) : r;
    });
  }
}

/**
 * Normalizes each channel of each example, of shape (batch, channels, length) or (channels, length).
 * @throws ValueError for inputs of another rank
 * @example
 * ```ts
 * new nn.InstanceNorm1d(1)(tensor([[[1, 3]]])) // tensor([[[-1.0000,  1.0000]]])
 * ```
 * @torch torch.nn.InstanceNorm1d
 */
export class InstanceNorm1d extends InstanceNorm {
  constructor(numFeatures: number, ...options: ChannelNormArguments) {
    super("InstanceNorm1d", [numFeatures, ...options], false);
  }
  protected override get _exampleRank(): number {
    return 2;
  }
}
installChecks(InstanceNorm1d.prototype, MODULE);
checkDiscreet(InstanceNorm1d, "InstanceNorm1d");

/**
 * Normalizes each channel of each image, of shape (batch, channels, height, width) or without the batch.
 * @throws ValueError for inputs of another rank
 * @example
 * ```ts
 * new nn.InstanceNorm2d(3)(ones(3, 4, 4)).shape // torch.Size([3, 4, 4])
 * ```
 * @torch torch.nn.InstanceNorm2d
 */
export class InstanceNorm2d extends InstanceNorm {
  constructor(numFeatures: number, ...options: ChannelNormArguments) {
    super("InstanceNorm2d", [numFeatures, ...options], false);
  }
  protected override get _exampleRank(): number {
    return 3;
  }
}
installChecks(InstanceNorm2d.prototype, MODULE);
checkDiscreet(InstanceNorm2d, "InstanceNorm2d");

/**
 * Normalizes each channel of each volume, of shape (batch, channels, depth, height, width) or without the batch.
 * @throws ValueError for inputs of another rank
 * @example
 * ```ts
 * new nn.InstanceNorm3d(3)(ones(3, 2, 4, 4)).shape // torch.Size([3, 2, 4, 4])
 * ```
 * @torch torch.nn.InstanceNorm3d
 */
export class InstanceNorm3d extends InstanceNorm {
  constructor(numFeatures: number, ...options: ChannelNormArguments) {
    super("InstanceNorm3d", [numFeatures, ...options], false);
  }
  protected override get _exampleRank(): number {
    return 4;
  }
}
installChecks(InstanceNorm3d.prototype, MODULE);
checkDiscreet(InstanceNorm3d, "InstanceNorm3d");
