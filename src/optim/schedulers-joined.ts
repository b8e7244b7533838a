/** Schedules made of others, and the one that follows a measure. */

import { installChecks } from "../tensor/checks.ts";
import { Complex, isScalar, scalarToNumber } from "../tensor/complex.ts";
import { IndexError, KeyError, RuntimeError, TypeError, ValueError } from "../tensor/errors.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { numberOf } from "./lists.ts";
import { Optimizer } from "./optimizer.ts";
import {
  entriesOfState,
  LRScheduler,
  ratesOf,
  requireOptimizer,
  type SchedulerState,
  schedule,
  setRate,
  warnOfEpoch,
} from "./scheduler.ts";
import { bisectRight } from "./schedulers.ts";
import { PLATEAU, SCHEDULER } from "./signatures.ts";

const nameOf = (x: unknown): string => (x instanceof Optimizer ? x.constructor.name : typeName(x));

/** Refuses schedules that cannot be joined. */
function checkCombined(name: string, optimizer: unknown, schedulers: readonly unknown[]): void {
  schedulers.forEach((one, i) => {
    if (!(one instanceof LRScheduler)) {
      throw new TypeError(`${name} at index ${i} should have \`optimizer\` as its attribute.`);
    }
    if (one instanceof ReduceLROnPlateau) {
      throw new ValueError(
        `${name} does not support \`ReduceLROnPlateau\` scheduler as it requires additional kwargs to be specified ` +
          `when calling \`step\`, but got one at index ${i} in the given schedulers sequence.`,
      );
    }
    if (one.optimizer !== optimizer) {
      throw new ValueError(
        `${name} expects all schedulers to belong to the same optimizer, but got scheduler ` +
          `${one.constructor.name} at index ${i} has ${one.optimizer}, ` +
          `which is different from ${nameOf(optimizer)}.`,
      );
    }
  });
}

/** What schedules made of others share. */
abstract class Combined extends LRScheduler {
  /** @internal */
  declare readonly _schedulers: readonly LRScheduler[];

  protected _keep(schedulers: readonly LRScheduler[]): void {
    Object.defineProperty(this, "_schedulers", { value: schedulers, enumerable: false });
  }
  /** @internal */
  override stateDict(): SchedulerState {
    return { ...super.stateDict(), _schedulers: this._schedulers.map((one) => one.stateDict()) };
  }
  /** @internal */
  override loadStateDict(stateDict: SchedulerState): void {
    const { _schedulers: given, ...rest } = entriesOfState(stateDict);
    if (given === undefined) throw new KeyError("'_schedulers'");
    if (!Array.isArray(given)) throw new TypeError(`'${typeName(given)}' object is not iterable`);
    if (given.length > this._schedulers.length) throw new IndexError("list index out of range");
    given.forEach(entriesOfState);
    super.loadStateDict(rest);
    given.forEach((one, i) => {
      (this._schedulers[i] as LRScheduler).loadStateDict(one);
    });
  }
}

installChecks(Combined.prototype, SCHEDULER);

/**
 * One schedule after the other: each begins at its milestone.
 * @example
 * ```ts
 * const { LinearLR, ExponentialLR, SequentialLR } = optim.lrScheduler;
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 1 });
 * const warm = new LinearLR(optimizer, { startFactor: 0.5, totalIters: 2 });
 * const scheduler = new SequentialLR(optimizer, [warm, new ExponentialLR(optimizer, 0.5)], [2]);
 * const rates = [];
 * for (let i = 0; i < 4; i++) {
 *   optimizer.step();
 *   scheduler.step();
 *   rates.push(...scheduler.getLastLr());
 * }
 * rates // [0.75, 1, 0.5, 0.25]
 * ```
 * @throws ValueError unless there is a milestone between each two schedules
 * @torch torch.optim.lr_scheduler.SequentialLR
 */
export class SequentialLR extends Combined {
  constructor(
    optimizer: Optimizer,
    schedulers: readonly LRScheduler[] | { schedulers: readonly LRScheduler[]; milestones: readonly number[] },
    milestones?: readonly number[] | { milestones: readonly number[]; lastEpoch?: number },
    lastEpoch?: number,
  );
  constructor(...given: unknown[]) {
    const o = schedule<{ schedulers: LRScheduler[]; milestones: number[] }>("SequentialLR", given, {});
    if (o.schedulers.length < 1) {
      throw new ValueError("SequentialLR expects at least one scheduler, but got no scheduler.");
    }
    checkCombined("SequentialLR", o.optimizer, o.schedulers);
    if (o.milestones.length !== o.schedulers.length - 1) {
      throw new ValueError(
        "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone " +
          `points, but got number of schedulers ${o.schedulers.length} and the number of milestones to be equal to ` +
          `${o.milestones.length}`,
      );
    }
    super(o.optimizer, o.lastEpoch + 1, { _milestones: o.milestones });
    this._keep(o.schedulers);
    for (const group of o.optimizer.paramGroups) setRate(group, "lr", group.initial_lr);
    undo(this);
    const first = o.schedulers[bisectRight(o.milestones, 0)] as LRScheduler;
    first._initialStep();
    this._fields._last_lr = first.getLastLr();
  }
  protected override _begin(lastEpoch: number): void {
    this._fields.last_epoch = lastEpoch;
  }
  /** @internal */
  override step(): void {
    const f = this._fields;
    f.last_epoch += 1;
    const at = bisectRight(f._milestones, f.last_epoch);
    const one = this._schedulers[at] as LRScheduler;
    if (at > 0 && f._milestones[at - 1] === f.last_epoch) one._updateLr(0);
    else one.step();
    f._last_lr = one.getLastLr();
  }
}
installChecks(SequentialLR.prototype, SCHEDULER);

/** Takes the first steps of schedules back: only the first of them has begun. */
function undo(scheduler: LRScheduler): void {
  if (scheduler instanceof Combined) for (const one of scheduler._schedulers) undo(one);
  else scheduler.lastEpoch -= 1;
}

/**
 * Several schedules at once: each multiplies the rate that the one before left.
 * @example
 * ```ts
 * const { ConstantLR, ExponentialLR, ChainedScheduler } = optim.lrScheduler;
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 1 });
 * const constant = new ConstantLR(optimizer, { factor: 0.5, totalIters: 2 });
 * const scheduler = new ChainedScheduler([constant, new ExponentialLR(optimizer, 0.5)]);
 * optimizer.step();
 * scheduler.step();
 * scheduler.getLastLr() // [0.25]
 * ```
 * @torch torch.optim.lr_scheduler.ChainedScheduler
 */
export class ChainedScheduler extends Combined {
  constructor(schedulers: readonly LRScheduler[], optimizer?: Optimizer);
  constructor(...given: unknown[]) {
    const o = schedule<{ schedulers: LRScheduler[]; optimizer?: Optimizer }>("ChainedScheduler", given, {});
    const [first] = o.schedulers;
    if (first === undefined) {
      throw new ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.");
    }
    const optimizer = o.optimizer ?? (first as LRScheduler | null)?.optimizer;
    checkCombined("ChainedScheduler", optimizer, o.schedulers);
    super(optimizer as Optimizer);
    this._keep(o.schedulers);
  }
  protected override _begin(): void {
    this._fields._last_lr = ratesOf(this.optimizer, "lr");
  }
  /** @internal */
  override step(): void {
    for (const one of this._schedulers) one.step();
    this._fields._last_lr = ratesOf(this.optimizer, "lr");
  }
}
installChecks(ChainedScheduler.prototype, SCHEDULER);

/** A measure as Python's `float` takes it. */
function measured(metrics: unknown): number {
  if (metrics instanceof Tensor) return Number(metrics.item());
  if (isScalar(metrics) && !(metrics instanceof Complex)) return scalarToNumber(metrics);
  if (typeof metrics !== "string") {
    throw new TypeError(`float() argument must be a string or a real number, not '${typeName(metrics)}'`);
  }
  const value = metrics.trim() === "" ? Number.NaN : Number(metrics);
  if (Number.isNaN(value) && metrics.trim().toLowerCase() !== "nan") {
    throw new ValueError(`could not convert string to float: '${metrics}'`);
  }
  return value;
}

/** Options of `ReduceLROnPlateau`. */
export interface ReduceLROnPlateauOptions {
  /** Whether the measure is to fall or to rise: "min" or "max". */
  mode?: "min" | "max";
  /** What the rate is multiplied by. Default 0.1. */
  factor?: number;
  /** Steps without progress that are allowed. Default 10. */
  patience?: number;
  /** What counts as progress. Default 1e-4. */
  threshold?: number;
  /** Whether that is a part of the best value or a difference: "rel" or "abs". */
  thresholdMode?: "rel" | "abs";
  /** Steps after a change in which nothing is counted. Default 0. */
  cooldown?: number;
  /** The lowest rates. Default 0. */
  minLr?: number | readonly number[];
  /** The least change. Default 1e-8. */
  eps?: number;
}

/**
 * Lowers the rate when a measure makes no progress.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 1 });
 * const scheduler = new optim.lrScheduler.ReduceLROnPlateau(optimizer, { factor: 0.5, patience: 0 });
 * for (const loss of [1, 0.5, 0.5]) scheduler.step(loss);
 * scheduler.getLastLr() // [0.5]
 * ```
 * @throws ValueError for a factor that is not below 1, or a mode that is not known
 * @torch torch.optim.lr_scheduler.ReduceLROnPlateau
 */
export class ReduceLROnPlateau extends LRScheduler {
  constructor(optimizer: Optimizer, mode?: "min" | "max" | ReduceLROnPlateauOptions, ...rest: unknown[]);
  constructor(...given: unknown[]) {
    const o = schedule<Required<ReduceLROnPlateauOptions>>("ReduceLROnPlateau", given, {
      mode: "min",
      factor: 0.1,
      patience: 10,
      threshold: 1e-4,
      thresholdMode: "rel",
      cooldown: 0,
      minLr: 0,
      eps: 1e-8,
    });
    if (o.factor >= 1) throw new ValueError("Factor should be < 1.0.");
    requireOptimizer(o.optimizer);
    const count = o.optimizer.paramGroups.length;
    const list = Array.isArray(o.minLr) ? o.minLr : null;
    if (list !== null && list.length !== count) {
      throw new ValueError(`expected ${count} min_lrs, got ${list.length}`);
    }
    super(o.optimizer, 0, {
      factor: o.factor,
      default_min_lr: list === null ? o.minLr : null,
      min_lrs: list === null ? new Array(count).fill(o.minLr) : [...list],
      patience: o.patience,
      cooldown: o.cooldown,
      eps: o.eps,
      last_epoch: 0,
    });
    this._fields._last_lr = ratesOf(o.optimizer, "lr");
    this._compareBy(o.mode, o.threshold, o.thresholdMode);
    this._fields.best = this._fields.mode_worse;
    this._fields.cooldown_counter = 0;
    this._fields.num_bad_epochs = 0;
  }
  protected override _begin(): void {}

  private _compareBy(mode: string, threshold: number, thresholdMode: string): void {
    if (mode !== "min" && mode !== "max") throw new ValueError(`mode ${mode} is unknown!`);
    if (thresholdMode !== "rel" && thresholdMode !== "abs") {
      throw new ValueError(`threshold mode ${thresholdMode} is unknown!`);
    }
    const f = this._fields;
    f.mode_worse = mode === "min" ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    f.mode = mode;
    f.threshold = threshold;
    f.threshold_mode = thresholdMode;
  }

  private _isBetter(a: number): boolean {
    const { mode, threshold, threshold_mode, best } = this._fields;
    if (mode === "min") return a < (threshold_mode === "rel" ? best * (1 - threshold) : best - threshold);
    return a > (threshold_mode === "rel" ? best * (threshold + 1) : best + threshold);
  }

  /** The next step, with what was measured. */
  // biome-ignore lint/suspicious/noExplicitAny: a number or a tensor, where other schedules have a number of epochs
  override step(metrics: any, epoch: number | null = null): void {
    const f = this._fields;
    if (metrics === undefined || metrics === null) {
      throw new TypeError("step() missing 1 required positional argument: 'metrics'");
    }
    const current = measured(metrics);
    if (epoch !== null) warnOfEpoch();
    f.last_epoch = epoch ?? f.last_epoch + 1;
    if (this._isBetter(current)) {
      f.best = current;
      f.num_bad_epochs = 0;
    } else f.num_bad_epochs += 1;
    if (f.cooldown_counter > 0) {
      f.cooldown_counter -= 1;
      f.num_bad_epochs = 0;
    }
    if (f.num_bad_epochs > f.patience) {
      this._reduce();
      f.cooldown_counter = f.cooldown;
      f.num_bad_epochs = 0;
    }
    f._last_lr = ratesOf(this.optimizer, "lr");
  }

  private _reduce(): void {
    const f = this._fields;
    const groups = this.optimizer.paramGroups;
    if (groups.length !== f.min_lrs.length) {
      if (f.default_min_lr === null) {
        throw new RuntimeError(
          `The number of param groups in the \`optimizer\` (${groups.length}) differs from when ` +
            `\`ReduceLROnPlateau\` was initialized (${f.min_lrs.length}), usually due to a new param group being ` +
            "added to the optimizer. Please modify the `min_lrs` field to match the length of the `optimizer` param " +
            "groups.",
        );
      }
      f.min_lrs = new Array(groups.length).fill(f.default_min_lr);
    }
    groups.forEach((group, i) => {
      const old = numberOf(group.lr);
      const next = Math.max(old * f.factor, f.min_lrs[i]);
      if (old - next > f.eps) setRate(group, "lr", next);
    });
  }

  /** @internal */
  override loadStateDict(stateDict: SchedulerState): void {
    super.loadStateDict(stateDict);
    const { mode, threshold, threshold_mode } = this._fields;
    this._compareBy(mode, threshold, threshold_mode);
  }
}
installChecks(ReduceLROnPlateau.prototype, { ...SCHEDULER, ...PLATEAU });
