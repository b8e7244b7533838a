/** Schedules that rise and fall. */

import { pythonText } from "../api/print.ts";
import { installChecks } from "../tensor/checks.ts";
import { ValueError } from "../tensor/errors.ts";
import { type ParamGroup, plainNumber } from "./groups.ts";
import { numberOf } from "./lists.ts";
import type { Optimizer } from "./optimizer.ts";
import {
  entriesOfState,
  LRScheduler,
  perGroup,
  type Rate,
  requireCallable,
  requireNotZero,
  requireOptimizer,
  type SchedulerState,
  schedule,
  setRate,
} from "./scheduler.ts";
import { CYCLIC, SCHEDULER } from "./signatures.ts";

/** Options of `CosineAnnealingLR`, by PyTorch's names of the cosine's parts. */
export interface CosineAnnealingLROptions {
  /** Steps of half a wave. */
  TMax: number;
  /** The lowest rate. Default 0. */
  etaMin?: number;
  /** How many steps were made before. Default -1: none. */
  lastEpoch?: number;
}

/**
 * The rate goes down to `etaMin` and up again along a cosine, in `TMax` steps each way.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 0.5 });
 * const scheduler = new optim.lrScheduler.CosineAnnealingLR(optimizer, 2);
 * optimizer.step();
 * scheduler.step();
 * scheduler.getLastLr() // [0.25]
 * ```
 * @torch torch.optim.lr_scheduler.CosineAnnealingLR
 */
export class CosineAnnealingLR extends LRScheduler {
  constructor(
    optimizer: Optimizer,
    TMax: number | CosineAnnealingLROptions,
    etaMin?: number | { etaMin?: number; lastEpoch?: number },
    lastEpoch?: number,
  );
  constructor(...given: unknown[]) {
    const o = schedule<Required<CosineAnnealingLROptions>>("CosineAnnealingLR", given, { etaMin: 0 });
    requireOptimizer(o.optimizer);
    requireNotZero("T_max", o.TMax, "integer modulo by zero");
    super(o.optimizer, o.lastEpoch, { T_max: o.TMax, eta_min: o.etaMin });
  }
  /** @internal */
  override getLr(): Rate[] {
    this._warnOutside();
    const { last_epoch: n, T_max: most, eta_min: low, _is_initial, _step_count } = this._fields;
    if (_is_initial) return this._now();
    if (_step_count === 1 && n > 0) return this._closedForm();
    const now = this._now();
    requireNotZero("T_max", most, "integer modulo by zero");
    const period = 2 * most;
    if ((((n - 1 - most) % period) + period) % period === 0) {
      return this._base().map((base, i) => (now[i] as number) + ((base - low) * (1 - Math.cos(Math.PI / most))) / 2);
    }
    const factor = (1 + Math.cos((Math.PI * n) / most)) / (1 + Math.cos((Math.PI * (n - 1)) / most));
    return now.map((lr) => factor * (lr - low) + low);
  }
  protected override _closedForm(): Rate[] {
    const { last_epoch: n, T_max: most, eta_min: low } = this._fields;
    return this._base().map((base) => low + ((base - low) * (1 + Math.cos((Math.PI * n) / most))) / 2);
  }
}
installChecks(CosineAnnealingLR.prototype, SCHEDULER);

/** Options of `CosineAnnealingWarmRestarts`, by PyTorch's names. */
export interface WarmRestartsOptions {
  /** Steps of the first wave. */
  T0: number;
  /** How much longer each further wave is. Default 1. */
  TMult?: number;
  /** The lowest rate. Default 0. */
  etaMin?: number;
  /** How many steps were made before. Default -1: none. */
  lastEpoch?: number;
}

/**
 * The rate goes down to `etaMin` along a cosine, and begins anew.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 0.5 });
 * const scheduler = new optim.lrScheduler.CosineAnnealingWarmRestarts(optimizer, 2);
 * optimizer.step();
 * scheduler.step();
 * scheduler.getLastLr() // [0.25]
 * ```
 * @throws ValueError for a length that is no positive integer
 * @torch torch.optim.lr_scheduler.CosineAnnealingWarmRestarts
 */
export class CosineAnnealingWarmRestarts extends LRScheduler {
  constructor(optimizer: Optimizer, T0: number | WarmRestartsOptions, ...rest: unknown[]);
  constructor(...given: unknown[]) {
    const o = schedule<Required<WarmRestartsOptions>>("CosineAnnealingWarmRestarts", given, { TMult: 1, etaMin: 0 });
    if (!(o.T0 > 0) || !Number.isInteger(o.T0)) throw new ValueError(`Expected positive integer T_0, but got ${o.T0}`);
    if (!(o.TMult >= 1) || !Number.isInteger(o.TMult)) {
      throw new ValueError(`Expected integer T_mult >= 1, but got ${o.TMult}`);
    }
    const fields = { T_0: o.T0, T_i: o.T0, T_mult: o.TMult, eta_min: o.etaMin, T_cur: o.lastEpoch };
    super(o.optimizer, o.lastEpoch, fields);
  }
  /** @internal */
  override getLr(): Rate[] {
    this._warnOutside();
    const { T_cur, T_i, eta_min: low } = this._fields;
    return this._base().map((base) => low + ((base - low) * (1 + Math.cos((Math.PI * T_cur) / T_i))) / 2);
  }
  /** The next step, or that of a number of epochs, which may be a part of one. */
  override step(given: number | null = null): void {
    const f = this._fields;
    const epoch = (plainNumber(given) as number | null) ?? (f.last_epoch < 0 ? 0 : null);
    if (epoch === null) {
      f.T_cur += 1;
      if (f.T_cur >= f.T_i) {
        f.T_cur %= f.T_i;
        f.T_i *= f.T_mult;
      }
      f.last_epoch = Math.floor(f.last_epoch + 1);
    } else {
      this._moveTo(epoch);
      f.last_epoch = Math.floor(epoch);
    }
    this._set(this._within(() => this.getLr()));
  }
  private _moveTo(epoch: number): void {
    const f = this._fields;
    if (epoch < 0) throw new ValueError(`Expected non-negative epoch, but got ${pythonText(epoch)}`);
    if (epoch < f.T_0) {
      f.T_i = f.T_0;
      f.T_cur = epoch;
    } else if (f.T_mult === 1) f.T_cur = epoch % f.T_0;
    else {
      const n = Math.floor(Math.log((epoch / f.T_0) * (f.T_mult - 1) + 1) / Math.log(f.T_mult));
      f.T_cur = epoch - (f.T_0 * (f.T_mult ** n - 1)) / (f.T_mult - 1);
      f.T_i = f.T_0 * f.T_mult ** n;
    }
  }
}

installChecks(CosineAnnealingWarmRestarts.prototype, SCHEDULER);

function requireMomentum(optimizer: Optimizer): boolean {
  if (!("momentum" in optimizer.defaults) && !("betas" in optimizer.defaults)) {
    throw new ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
  }
  return "betas" in optimizer.defaults;
}

function setMomentum(group: ParamGroup, useBeta1: boolean, value: number): void {
  if (useBeta1) group.betas = Object.freeze([value, ...group.betas.slice(1)]);
  else group.momentum = value;
}

/** Options of `CyclicLR`. */
export interface CyclicLROptions {
  /** The lowest rates. */
  baseLr: number | readonly number[];
  /** The highest rates. */
  maxLr: number | readonly number[];
  /** Steps upwards. Default 2000. */
  stepSizeUp?: number;
  /** Steps downwards; as many unless given. */
  stepSizeDown?: number | null;
  /** How cycles shrink: "triangular", "triangular2" or "exp_range". */
  mode?: string;
  /** The base of "exp_range". Default 1. */
  gamma?: number;
  /** How cycles shrink, as a function. */
  scaleFn?: ((x: number) => number) | null;
  /** Whether that function takes the number of cycles or of steps: "cycle" or "iterations". */
  scaleMode?: string;
  /** The momentum goes the other way. Default true. */
  cycleMomentum?: boolean;
  /** The lowest momentum. Default 0.8. */
  baseMomentum?: number | readonly number[];
  /** The highest momentum. Default 0.9. */
  maxMomentum?: number | readonly number[];
  /** How many steps were made before. Default -1: none. */
  lastEpoch?: number;
}

/**
 * The rate goes up and down between two bounds.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 0.1, momentum: 0.9 });
 * const scheduler = new optim.lrScheduler.CyclicLR(optimizer, { baseLr: 0.25, maxLr: 0.75, stepSizeUp: 2 });
 * optimizer.step();
 * scheduler.step();
 * scheduler.getLastLr() // [0.5]
 * ```
 * @throws ValueError for a mode that is not known
 * @torch torch.optim.lr_scheduler.CyclicLR
 */
export class CyclicLR extends LRScheduler {
  constructor(optimizer: Optimizer, baseLr: number | readonly number[] | CyclicLROptions, ...rest: unknown[]);
  constructor(...given: unknown[]) {
    const o = schedule<Required<CyclicLROptions>>("CyclicLR", given, {
      stepSizeUp: 2000,
      stepSizeDown: null,
      mode: "triangular",
      gamma: 1,
      scaleFn: null,
      scaleMode: "cycle",
      cycleMomentum: true,
      baseMomentum: 0.8,
      maxMomentum: 0.9,
    });
    const { optimizer } = o;
    requireOptimizer(optimizer);
    const base = perGroup("base_lr", optimizer, o.baseLr);
    const fields: SchedulerState = { max_lrs: perGroup("max_lr", optimizer, o.maxLr) };
    fields.total_size = o.stepSizeUp + (o.stepSizeDown ?? o.stepSizeUp);
    requireNotZero("step_size_up + step_size_down", fields.total_size);
    requireNotZero("step_size_up", o.stepSizeUp);
    fields.step_ratio = o.stepSizeUp / fields.total_size;
    const known = ["triangular", "triangular2", "exp_range"].includes(o.mode);
    if (!known && o.scaleFn === null) throw new ValueError("mode is invalid and scale_fn is None");
    if (o.scaleFn !== null) requireCallable(o.scaleFn);
    fields.mode = o.mode;
    fields.gamma = o.gamma;
    fields._scale_fn_custom = o.scaleFn;
    fields.scale_mode = o.scaleFn === null ? (o.mode === "exp_range" ? "iterations" : "cycle") : o.scaleMode;
    fields.cycle_momentum = o.cycleMomentum;
    if (o.cycleMomentum) {
      fields.use_beta1 = requireMomentum(optimizer);
      fields.base_momentums = perGroup("base_momentum", optimizer, o.baseMomentum);
      fields.max_momentums = perGroup("max_momentum", optimizer, o.maxMomentum);
    }
    // All was looked at: from here on the groups are written.
    if (o.lastEpoch === -1) {
      optimizer.paramGroups.forEach((group, i) => {
        setRate(group, "lr", base[i] as number);
        if (!o.cycleMomentum) return;
        setMomentum(group, fields.use_beta1, fields.max_momentums[i]);
        group.max_momentum = fields.max_momentums[i];
        group.base_momentum = fields.base_momentums[i];
      });
    }
    super(optimizer, o.lastEpoch, fields);
    this._fields.base_lrs = base;
  }

  /** How large a cycle is. @torch torch.optim.lr_scheduler.CyclicLR.scale_fn */
  scaleFn(x: number): number {
    const { _scale_fn_custom: custom, mode, gamma } = this._fields;
    if (typeof custom === "function") return custom(x);
    if (mode === "triangular2") return 1 / 2 ** (x - 1);
    return mode === "exp_range" ? gamma ** x : 1;
  }

  /** @internal */
  override getLr(): Rate[] {
    this._warnOutside();
    const f = this._fields;
    const cycle = Math.floor(1 + f.last_epoch / f.total_size);
    const x = 1 + f.last_epoch / f.total_size - cycle;
    const height = x <= f.step_ratio ? x / f.step_ratio : (x - 1) / (f.step_ratio - 1);
    const scale = this.scaleFn(f.scale_mode === "cycle" ? cycle : f.last_epoch);
    const rates = this._base().map((base, i) => base + (f.max_lrs[i] - base) * height * scale);
    if (f.cycle_momentum) {
      this.optimizer.paramGroups.forEach((group, i) => {
        const most = f.max_momentums[i];
        setMomentum(group, f.use_beta1, most - (most - f.base_momentums[i]) * height * scale);
      });
    }
    return rates;
  }

  /** @internal */
  override stateDict(): SchedulerState {
    const { _scale_fn_custom: _, ...rest } = super.stateDict();
    return { ...rest, _scale_fn_custom: null };
  }
  /** @internal */
  override loadStateDict(stateDict: SchedulerState): void {
    const { _scale_fn_custom: _, ...rest } = entriesOfState(stateDict);
    super.loadStateDict(rest);
  }
}

installChecks(CyclicLR.prototype, { ...SCHEDULER, ...CYCLIC });

/** Options of `OneCycleLR`. */
export interface OneCycleLROptions {
  /** The highest rates. */
  maxLr: number | readonly number[];
  /** Steps of the whole cycle. */
  totalSteps?: number | null;
  /** Epochs, where steps are not given. */
  epochs?: number | null;
  /** Steps of an epoch. */
  stepsPerEpoch?: number | null;
  /** The part of the cycle that goes up. Default 0.3. */
  pctStart?: number;
  /** "cos" or "linear". Default "cos". */
  annealStrategy?: string;
  /** The momentum goes the other way. Default true. */
  cycleMomentum?: boolean;
  /** The lowest momentum. Default 0.85. */
  baseMomentum?: number | readonly number[];
  /** The highest momentum. Default 0.95. */
  maxMomentum?: number | readonly number[];
  /** The highest rate divided by this is the first. Default 25. */
  divFactor?: number;
  /** The first rate divided by this is the last. Default 10,000. */
  finalDivFactor?: number;
  /** Goes down to the first rate before the last phase. Default false. */
  threePhase?: boolean;
  /** How many steps were made before. Default -1: none. */
  lastEpoch?: number;
}

type OneCycle = Required<OneCycleLROptions>;

function totalOf(o: OneCycle): number {
  const positive = (name: string, value: number): number => {
    if (value > 0 && Number.isInteger(value)) return value;
    throw new ValueError(`Expected positive integer ${name}, but got ${pythonText(value)}`);
  };
  if (o.totalSteps !== null) return positive("total_steps", o.totalSteps);
  if (o.epochs !== null && o.stepsPerEpoch !== null) {
    return positive("epochs", o.epochs) * positive("steps_per_epoch", o.stepsPerEpoch);
  }
  throw new ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)");
}

const phase = (end: number, rates: [string, string], momenta: [string, string]) => ({
  end_step: end,
  start_lr: rates[0],
  end_lr: rates[1],
  start_momentum: momenta[0],
  end_momentum: momenta[1],
});

function phasesOf(total: number, start: number, three: boolean) {
  const up = phase(start * total - 1, ["initial_lr", "max_lr"], ["max_momentum", "base_momentum"]);
  if (!three) return [up, phase(total - 1, ["max_lr", "min_lr"], ["base_momentum", "max_momentum"])];
  return [
    up,
    phase(2 * start * total - 2, ["max_lr", "initial_lr"], ["base_momentum", "max_momentum"]),
    phase(total - 1, ["initial_lr", "min_lr"], ["max_momentum", "max_momentum"]),
  ];
}

/**
 * One cycle over a whole training: the rate goes up to its highest value and then far down.
 * @example
 * ```ts
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 0.1, momentum: 0.9 });
 * const scheduler = new optim.lrScheduler.OneCycleLR(optimizer, { maxLr: 0.5, totalSteps: 10 });
 * optimizer.paramGroups[0].momentum // 0.95
 * ```
 * @throws ValueError for a number of steps that is missing or not positive
 * @torch torch.optim.lr_scheduler.OneCycleLR
 */
export class OneCycleLR extends LRScheduler {
  constructor(optimizer: Optimizer, maxLr: number | readonly number[] | OneCycleLROptions, ...rest: unknown[]);
  constructor(...given: unknown[]) {
    const o = schedule<OneCycle>("OneCycleLR", given, {
      totalSteps: null,
      epochs: null,
      stepsPerEpoch: null,
      pctStart: 0.3,
      annealStrategy: "cos",
      cycleMomentum: true,
      baseMomentum: 0.85,
      maxMomentum: 0.95,
      divFactor: 25,
      finalDivFactor: 1e4,
      threePhase: false,
    });
    const { optimizer } = o;
    requireOptimizer(optimizer);
    const total = totalOf(o);
    const fields: SchedulerState = {
      total_steps: total,
      _schedule_phases: phasesOf(total, o.pctStart, o.threePhase),
    };
    if (!(o.pctStart >= 0 && o.pctStart <= 1)) {
      throw new ValueError(`Expected float between 0 and 1 pct_start, but got ${pythonText(o.pctStart)}`);
    }
    if (o.annealStrategy !== "cos" && o.annealStrategy !== "linear") {
      throw new ValueError(`anneal_strategy must be one of 'cos' or 'linear', instead got ${o.annealStrategy}`);
    }
    fields._anneal_func_type = o.annealStrategy;
    const most = perGroup("max_lr", optimizer, o.maxLr);
    requireNotZero("div_factor", o.divFactor);
    requireNotZero("final_div_factor", o.finalDivFactor);
    fields.cycle_momentum = o.cycleMomentum;
    if (o.cycleMomentum) fields.use_beta1 = requireMomentum(optimizer);
    const high = o.cycleMomentum ? perGroup("max_momentum", optimizer, o.maxMomentum) : [];
    const low = o.cycleMomentum ? perGroup("base_momentum", optimizer, o.baseMomentum) : [];
    // All was looked at: from here on the groups are written.
    if (o.lastEpoch === -1) {
      optimizer.paramGroups.forEach((group, i) => {
        group.initial_lr = (most[i] as number) / o.divFactor;
        group.max_lr = most[i];
        group.min_lr = group.initial_lr / o.finalDivFactor;
        if (!o.cycleMomentum) return;
        setMomentum(group, fields.use_beta1, high[i] as number);
        group.max_momentum = high[i];
        group.base_momentum = low[i];
      });
    }
    super(optimizer, o.lastEpoch, fields);
  }

  private _between(start: number, end: number, part: number): number {
    if (this._fields._anneal_func_type === "linear") return (end - start) * part + start;
    return end + ((start - end) / 2) * (Math.cos(Math.PI * part) + 1);
  }

  /** @internal */
  override getLr(): Rate[] {
    this._warnOutside();
    const { last_epoch: n, total_steps, _schedule_phases: phases, cycle_momentum, use_beta1 } = this._fields;
    if (n > total_steps) {
      throw new ValueError(`Tried to step ${n} times. The specified number of total steps is ${total_steps}`);
    }
    return this.optimizer.paramGroups.map((group) => {
      const last = phases.length - 1;
      // biome-ignore lint/suspicious/noExplicitAny: what files have
      const at = phases.findIndex((one: any, i: number) => n <= one.end_step || i === last);
      const now = phases[at];
      const start = at === 0 ? 0 : phases[at - 1].end_step;
      requireNotZero("the length of a phase", now.end_step - start);
      const part = (n - start) / (now.end_step - start);
      const rate = this._between(numberOf(group[now.start_lr]), numberOf(group[now.end_lr]), part);
      if (cycle_momentum) {
        setMomentum(group, use_beta1, this._between(group[now.start_momentum], group[now.end_momentum], part));
      }
      return rate;
    });
  }
}
installChecks(OneCycleLR.prototype, SCHEDULER);
