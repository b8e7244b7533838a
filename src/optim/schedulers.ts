/** Schedules that follow from the number of steps. */

import { installChecks } from "../tensor/checks.ts";
import { KeyError, TypeError, ValueError } from "../tensor/errors.ts";
import { typeName } from "../tensor/type-name.ts";
import type { Optimizer } from "./optimizer.ts";
import {
  entriesOfState,
  LRScheduler,
  type Rate,
  requireCallable,
  requireNotZero,
  requireOptimizer,
  type SchedulerState,
  schedule,
} from "./scheduler.ts";
import { SCHEDULER } from "./signatures.ts";

/** Gives a factor for a number of steps. */
export type LrLambda = (epoch: number) => number;

/** How many of sorted numbers are not above a number. */
export const bisectRight = (list: readonly number[], x: number): number => list.filter((y) => y <= x).length;

function lambdasOf(optimizer: Optimizer, given: unknown): LrLambda[] {
  const count = optimizer.paramGroups.length;
  if (!Array.isArray(given)) return new Array<LrLambda>(count).fill(given as LrLambda);
  if (given.length === count) return [...given];
  throw new ValueError(`Expected ${count} lr_lambdas, but got ${given.length}`);
}

/** What schedules by functions share: those are no part of the state. */
class ByLambda extends LRScheduler {
  constructor(optimizer: Optimizer, lambdas: LrLambda[], lastEpoch: number) {
    requireOptimizer(optimizer);
    // The first step comes before a constructor ends.
    super(optimizer, lastEpoch, { lr_lambdas: lambdas });
  }
  /** @internal */
  override stateDict(): SchedulerState {
    const { lr_lambdas, ...rest } = super.stateDict();
    return { ...rest, lr_lambdas: lr_lambdas.map(() => null) };
  }
  /** @internal */
  override loadStateDict(stateDict: SchedulerState): void {
    const given = entriesOfState(stateDict);
    if (!("lr_lambdas" in given)) throw new KeyError("'lr_lambdas'");
    const { lr_lambdas: _, ...rest } = given;
    super.loadStateDict(rest);
  }
  protected _factor(i: number): number {
    return (this._fields.lr_lambdas[i] as LrLambda)(this.lastEpoch);
  }
}
installChecks(ByLambda.prototype, SCHEDULER);

/**
 * The first rate of each group times what a function gives for the number of steps.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 0.5 });
 * const scheduler = new optim.lrScheduler.LambdaLR(optimizer, (epoch) => 0.5 ** epoch);
 * optimizer.step();
 * scheduler.step();
 * scheduler.getLastLr() // [0.25]
 * ```
 * @torch torch.optim.lr_scheduler.LambdaLR
 */
export class LambdaLR extends ByLambda {
  constructor(optimizer: Optimizer, lrLambda: LrLambda | readonly LrLambda[], lastEpoch?: number);
  constructor(...given: unknown[]) {
    const o = schedule<{ lrLambda: unknown }>("LambdaLR", given, {});
    requireOptimizer(o.optimizer);
    const lambdas = lambdasOf(o.optimizer, o.lrLambda);
    lambdas.forEach(requireCallable);
    super(o.optimizer, lambdas, o.lastEpoch);
  }
  /** @internal */
  override getLr(): Rate[] {
    this._warnOutside();
    return this._base().map((lr, i) => lr * this._factor(i));
  }
}
installChecks(LambdaLR.prototype, SCHEDULER);

/**
 * The rate of each group times what a function gives, in each step.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 0.5 });
 * const scheduler = new optim.lrScheduler.MultiplicativeLR(optimizer, () => 0.5);
 * optimizer.step();
 * scheduler.step();
 * scheduler.getLastLr() // [0.25]
 * ```
 * @torch torch.optim.lr_scheduler.MultiplicativeLR
 */
export class MultiplicativeLR extends ByLambda {
  constructor(optimizer: Optimizer, lrLambda: LrLambda | readonly LrLambda[], lastEpoch?: number);
  constructor(...given: unknown[]) {
    const o = schedule<{ lrLambda: unknown }>("MultiplicativeLR", given, {});
    requireOptimizer(o.optimizer);
    const lambdas = lambdasOf(o.optimizer, o.lrLambda);
    for (const one of lambdas) {
      if (typeof one !== "function") {
        throw new TypeError(`lr_lambda should be a function, but got ${typeName(one)}`);
      }
    }
    super(o.optimizer, lambdas, o.lastEpoch);
  }
  /** @internal */
  override getLr(): Rate[] {
    this._warnOutside();
    return this._fields._is_initial ? this._now() : this._now().map((lr, i) => lr * this._factor(i));
  }
}
installChecks(MultiplicativeLR.prototype, SCHEDULER);

/**
 * Multiplies the rate by `gamma` after every `stepSize` steps.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 0.5 });
 * const scheduler = new optim.lrScheduler.StepLR(optimizer, { stepSize: 3, gamma: 0.5 });
 * for (let i = 0; i < 3; i++) {
 *   optimizer.step();
 *   scheduler.step();
 * }
 * scheduler.getLastLr() // [0.25]
 * ```
 * @torch torch.optim.lr_scheduler.StepLR
 */
export class StepLR extends LRScheduler {
  constructor(
    optimizer: Optimizer,
    stepSize: number | { stepSize: number; gamma?: number; lastEpoch?: number },
    gamma?: number | { gamma?: number; lastEpoch?: number },
    lastEpoch?: number,
  );
  constructor(...given: unknown[]) {
    const o = schedule<{ stepSize: number; gamma: number }>("StepLR", given, { gamma: 0.1 });
    requireOptimizer(o.optimizer);
    requireNotZero("step_size", o.stepSize, "integer modulo by zero");
    super(o.optimizer, o.lastEpoch, { step_size: o.stepSize, gamma: o.gamma });
  }
  /** @internal */
  override getLr(): Rate[] {
    this._warnOutside();
    const { last_epoch, step_size, gamma } = this._fields;
    if (last_epoch === 0) return this._now();
    requireNotZero("step_size", step_size, "integer modulo by zero");
    if (last_epoch % step_size !== 0) return this._now();
    return this._now().map((lr) => lr * gamma);
  }
  protected override _closedForm(): Rate[] {
    const { last_epoch, step_size, gamma } = this._fields;
    return this._base().map((lr) => lr * gamma ** Math.floor(last_epoch / step_size));
  }
}
installChecks(StepLR.prototype, SCHEDULER);

/**
 * Multiplies the rate by `gamma` after each of some numbers of steps.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 0.5 });
 * const scheduler = new optim.lrScheduler.MultiStepLR(optimizer, [1, 3], { gamma: 0.5 });
 * optimizer.step();
 * scheduler.step();
 * scheduler.getLastLr() // [0.25]
 * ```
 * @torch torch.optim.lr_scheduler.MultiStepLR
 */
export class MultiStepLR extends LRScheduler {
  constructor(
    optimizer: Optimizer,
    milestones: readonly number[],
    gamma?: number | { gamma?: number; lastEpoch?: number },
    lastEpoch?: number,
  );
  constructor(...given: unknown[]) {
    const o = schedule<{ milestones: number[]; gamma: number }>("MultiStepLR", given, { gamma: 0.1 });
    const counts = new Map<number, number>();
    for (const at of o.milestones) counts.set(at, (counts.get(at) ?? 0) + 1);
    super(o.optimizer, o.lastEpoch, { milestones: counts, gamma: o.gamma });
  }
  /** How often each milestone was given. Files of others may have an object. */
  private _milestones(): [number, number][] {
    const { milestones } = this._fields;
    const entries: [unknown, number][] = milestones instanceof Map ? [...milestones] : Object.entries(milestones);
    return entries.map(([at, count]) => [Number(at), count]);
  }
  /** @internal */
  override getLr(): Rate[] {
    this._warnOutside();
    const count = new Map(this._milestones()).get(this.lastEpoch);
    return count === undefined ? this._now() : this._now().map((lr) => lr * this._fields.gamma ** count);
  }
  protected override _closedForm(): Rate[] {
    const reached = this._milestones().reduce((n, [at, count]) => n + (at <= this.lastEpoch ? count : 0), 0);
    return this._base().map((lr) => lr * this._fields.gamma ** reached);
  }
}
installChecks(MultiStepLR.prototype, SCHEDULER);

/**
 * The rate times `factor` for `totalIters` steps, and then as it was.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 0.5 });
 * new optim.lrScheduler.ConstantLR(optimizer, { factor: 0.5 }).getLastLr() // [0.25]
 * ```
 * @throws ValueError for a factor that is not from 0 to 1
 * @torch torch.optim.lr_scheduler.ConstantLR
 */
export class ConstantLR extends LRScheduler {
  constructor(
    optimizer: Optimizer,
    factor?: number | { factor?: number; totalIters?: number; lastEpoch?: number },
    totalIters?: number,
    lastEpoch?: number,
  );
  constructor(...given: unknown[]) {
    const o = schedule<{ factor: number; totalIters: number }>("ConstantLR", given, { factor: 1 / 3, totalIters: 5 });
    if (o.factor > 1 || o.factor < 0) {
      throw new ValueError("Constant multiplicative factor expected to be between 0 and 1.");
    }
    super(o.optimizer, o.lastEpoch, { factor: o.factor, total_iters: o.totalIters });
  }
  /** @internal */
  override getLr(): Rate[] {
    this._warnOutside();
    const { last_epoch, total_iters, factor } = this._fields;
    if (last_epoch === 0) return this._now().map((lr) => lr * factor);
    if (last_epoch !== total_iters) return this._now();
    requireNotZero("factor", factor);
    return this._now().map((lr) => lr * (1 / factor));
  }
  protected override _closedForm(): Rate[] {
    const { last_epoch, total_iters, factor } = this._fields;
    return this._base().map((lr) => lr * (factor + (last_epoch >= total_iters ? 1 : 0) * (1 - factor)));
  }
}
installChecks(ConstantLR.prototype, SCHEDULER);

/** Options of `LinearLR`. */
export interface LinearLROptions {
  /** The first factor. Default 1/3. */
  startFactor?: number;
  /** The last factor. Default 1. */
  endFactor?: number;
  /** Steps until the last factor. Default 5. */
  totalIters?: number;
  /** How many steps were made before. Default -1: none. */
  lastEpoch?: number;
}

/**
 * The rate times a factor that goes in a line from `startFactor` to `endFactor`, in `totalIters` steps: a warm-up.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 0.5 });
 * const scheduler = new optim.lrScheduler.LinearLR(optimizer, { startFactor: 0.5, totalIters: 2 });
 * optimizer.step();
 * scheduler.step();
 * scheduler.getLastLr() // [0.375]
 * ```
 * @throws ValueError for factors out of range
 * @torch torch.optim.lr_scheduler.LinearLR
 */
export class LinearLR extends LRScheduler {
  constructor(optimizer: Optimizer, startFactor?: number | LinearLROptions, ...rest: unknown[]);
  constructor(...given: unknown[]) {
    const o = schedule<Required<LinearLROptions>>("LinearLR", given, {
      startFactor: 1 / 3,
      endFactor: 1,
      totalIters: 5,
    });
    if (o.startFactor > 1 || o.startFactor <= 0) {
      throw new ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.");
    }
    if (o.endFactor > 1 || o.endFactor < 0) {
      throw new ValueError("Ending multiplicative factor expected to be between 0 and 1.");
    }
    const fields = { start_factor: o.startFactor, end_factor: o.endFactor, total_iters: o.totalIters };
    super(o.optimizer, o.lastEpoch, fields);
  }
  /** @internal */
  override getLr(): Rate[] {
    this._warnOutside();
    const { last_epoch, start_factor, end_factor, total_iters, _is_initial } = this._fields;
    if (last_epoch === 0) return this._now().map((lr) => lr * start_factor);
    if (_is_initial || last_epoch > total_iters) return this._now();
    const rise = end_factor - start_factor;
    return this._now().map((lr) => lr * (1 + rise / (total_iters * start_factor + (last_epoch - 1) * rise)));
  }
  protected override _closedForm(): Rate[] {
    const { last_epoch, start_factor, end_factor, total_iters } = this._fields;
    const rise = end_factor - start_factor;
    requireNotZero("total_iters", total_iters);
    return this._base().map((lr) => lr * (start_factor + (rise * Math.min(total_iters, last_epoch)) / total_iters));
  }
}
installChecks(LinearLR.prototype, SCHEDULER);

/**
 * Multiplies the rate by `gamma` in each step.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 0.5 });
 * const scheduler = new optim.lrScheduler.ExponentialLR(optimizer, 0.5);
 * optimizer.step();
 * scheduler.step();
 * scheduler.getLastLr() // [0.25]
 * ```
 * @torch torch.optim.lr_scheduler.ExponentialLR
 */
export class ExponentialLR extends LRScheduler {
  constructor(optimizer: Optimizer, gamma: number | { gamma: number; lastEpoch?: number }, lastEpoch?: number);
  constructor(...given: unknown[]) {
    const o = schedule<{ gamma: number }>("ExponentialLR", given, {});
    super(o.optimizer, o.lastEpoch, { gamma: o.gamma });
  }
  /** @internal */
  override getLr(): Rate[] {
    this._warnOutside();
    return this._fields._is_initial ? this._now() : this._now().map((lr) => lr * this._fields.gamma);
  }
  protected override _closedForm(): Rate[] {
    return this._base().map((lr) => lr * this._fields.gamma ** this.lastEpoch);
  }
}
installChecks(ExponentialLR.prototype, SCHEDULER);

/**
 * The rate falls to zero in `totalIters` steps, as a power of what is left of them.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 0.5 });
 * const scheduler = new optim.lrScheduler.PolynomialLR(optimizer, { totalIters: 2 });
 * optimizer.step();
 * scheduler.step();
 * scheduler.getLastLr() // [0.25]
 * ```
 * @torch torch.optim.lr_scheduler.PolynomialLR
 */
export class PolynomialLR extends LRScheduler {
  constructor(
    optimizer: Optimizer,
    totalIters?: number | { totalIters?: number; power?: number; lastEpoch?: number },
    power?: number,
    lastEpoch?: number,
  );
  constructor(...given: unknown[]) {
    const o = schedule<{ totalIters: number; power: number }>("PolynomialLR", given, { totalIters: 5, power: 1 });
    super(o.optimizer, o.lastEpoch, { total_iters: o.totalIters, power: o.power });
  }
  /** @internal */
  override getLr(): Rate[] {
    this._warnOutside();
    const { last_epoch, total_iters, power, _is_initial } = this._fields;
    if (_is_initial || last_epoch > total_iters) return this._now();
    const factor = ((1 - last_epoch / total_iters) / (1 - (last_epoch - 1) / total_iters)) ** power;
    return this._now().map((lr) => lr * factor);
  }
  protected override _closedForm(): Rate[] {
    const { last_epoch, total_iters, power } = this._fields;
    requireNotZero("total_iters", total_iters);
    return this._base().map((lr) => lr * (1 - Math.min(total_iters, last_epoch) / total_iters) ** power);
  }
}
installChecks(PolynomialLR.prototype, SCHEDULER);
