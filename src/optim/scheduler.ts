/** What schedules of learning rates are. */

import { noGrad } from "../autograd/api.ts";
import { installChecks, isDict, namedArguments } from "../tensor/checks.ts";
import {
  IndexError,
  KeyError,
  NotImplementedError,
  RuntimeError,
  TypeError,
  ValueError,
  warn,
} from "../tensor/errors.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { type ParamGroup, plainNumber } from "./groups.ts";
import { numberOf } from "./lists.ts";
import { Optimizer } from "./optimizer.ts";
import { SCHEDULER, SCHEDULERS } from "./signatures.ts";

/** A learning rate: a number, or the tensor that the optimiser was given. */
export type Rate = number | Tensor;

/** The state of a scheduler, with PyTorch's names. */
// biome-ignore lint/suspicious/noExplicitAny: each scheduler has its own entries
export type SchedulerState = Record<string, any>;

const EPOCH_DEPRECATION =
  "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use " +
  "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed " +
  "form is used instead of the new chainable form, where available. Please open an issue if you are unable to " +
  "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose.";

const SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate";

export function warnOfEpoch(): void {
  warn(EPOCH_DEPRECATION);
}

export function requireOptimizer(optimizer: unknown): asserts optimizer is Optimizer {
  if (!(optimizer instanceof Optimizer)) throw new TypeError(`${typeName(optimizer)} is not an Optimizer`);
}

/** Refuses a number by which a schedule divides: Python does at the division, where JavaScript goes on without one. */
export function requireNotZero(what: string, value: number, how = "float division by zero"): void {
  if (Number(value) === 0) throw new RuntimeError(`ZeroDivisionError: ${how}: ${what} is 0`);
}

/** Refuses what is no function. */
export function requireCallable(value: unknown): void {
  if (typeof value !== "function") throw new TypeError(`'${typeName(value)}' object is not callable`);
}

/** The entries of a state, which may be a Map. */
export function entriesOfState(state: unknown): SchedulerState {
  if (state instanceof Map) return Object.fromEntries(state);
  if (isDict(state)) return state;
  throw new TypeError(`'${typeName(state)}' object is not iterable`);
}

/** The rates of all groups: tensors as copies. */
export function ratesOf(optimizer: Optimizer, key: string): Rate[] {
  return optimizer.paramGroups.map((group) => {
    if (!(key in group)) throw new KeyError(`'${key}'`);
    return group[key] instanceof Tensor ? group[key].clone() : group[key];
  });
}

/** Sets a rate: in the tensor that is there, where it is one. */
export function setRate(group: ParamGroup, key: string, value: Rate): void {
  const tensor = group[key];
  if (tensor instanceof Tensor) noGrad(() => tensor.fill_(numberOf(value)));
  else group[key] = value;
}

/** One value for each group. */
export function perGroup(name: string, optimizer: Optimizer, given: unknown): number[] {
  const count = optimizer.paramGroups.length;
  if (!Array.isArray(given)) return new Array<number>(count).fill(plainNumber(given) as number);
  if (given.length === count) return given.map((x) => plainNumber(x) as number);
  throw new ValueError(
    `${name} must have the same length as optimizer.param_groups. ` +
      `${name} has ${given.length} values, param_groups has ${count}.`,
  );
}

/** Refuses a state that a file may have brought, of which no rates can be computed. */
function requireCounts(fields: SchedulerState, groups: number): void {
  const { last_epoch: epoch, base_lrs: rates } = fields;
  if (typeof epoch !== "number") throw new TypeError(`\`last_epoch\` has to be a number, not ${typeName(epoch)}`);
  if (!Array.isArray(rates)) throw new TypeError(`\`base_lrs\` has to be a list of numbers, not ${typeName(rates)}`);
  if (rates.length < groups) throw new IndexError("list index out of range");
  for (const rate of rates) {
    if (typeof rate === "number" || rate instanceof Tensor) continue;
    throw new TypeError(`\`base_lrs\` has to be a list of numbers, not of ${typeName(rate)}`);
  }
}

/** Steps that optimisers had when a scheduler was made. */
const steps = new WeakMap<Optimizer, unknown>();

/**
 * The base of schedules of learning rates. One of your own extends it and has `getLr`, which gives the rate of each
 * group after `lastEpoch` steps.
 * @example
 * ```ts
 * class Halving extends optim.lrScheduler.LRScheduler {
 *   override getLr(): number[] {
 *     return this.baseLrs.map((lr) => Number(lr) * 0.5 ** this.lastEpoch);
 *   }
 * }
 * const optimizer = new optim.SGD([new nn.Parameter(ones(1))], { lr: 1 });
 * const scheduler = new Halving(optimizer);
 * optimizer.step();
 * scheduler.step();
 * scheduler.getLastLr() // [0.5]
 * ```
 * @torch torch.optim.lr_scheduler.LRScheduler
 */
export class LRScheduler {
  /** The optimiser whose rates it sets. */
  declare readonly optimizer: Optimizer;
  /** @internal Its state, with PyTorch's names. */
  declare readonly _fields: SchedulerState;

  constructor(optimizer: Optimizer, lastEpoch?: number, fields?: SchedulerState) {
    // Classes of this room have looked at their arguments.
    if (fields === undefined) ({ optimizer, lastEpoch } = schedule<object>("LRScheduler", [optimizer, lastEpoch], {}));
    requireOptimizer(optimizer);
    const hidden = (value: unknown) => ({ value, enumerable: false, writable: true });
    Object.defineProperty(this, "optimizer", hidden(optimizer));
    Object.defineProperty(this, "_fields", hidden({ ...fields }));
    this._begin(lastEpoch ?? -1);
  }

  /** @internal */
  protected _begin(lastEpoch: number): void {
    const { optimizer } = this;
    optimizer.paramGroups.forEach((group, i) => {
      if (lastEpoch === -1) group.initial_lr ??= group.lr instanceof Tensor ? group.lr.clone() : group.lr;
      else if (!("initial_lr" in group)) {
        throw new KeyError(
          `param 'initial_lr' is not specified in param_groups[${i}] when resuming scheduler with last_epoch >= 0.\n` +
            "This typically happens when:\n" +
            "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n" +
            "2. You're using last_epoch >= 0 for a fresh training run (not recommended)",
        );
      }
    });
    this._fields.base_lrs = ratesOf(optimizer, "initial_lr");
    this._fields.last_epoch = lastEpoch;
    if (!steps.has(optimizer)) steps.set(optimizer, optimizer.step);
    this._initialStep();
  }

  /** @internal */
  _initialStep(): void {
    this._fields._step_count = 0;
    this._fields._is_initial = true;
    this.step();
    this._fields._is_initial = false;
  }

  /** How many steps were made. @torch torch.optim.lr_scheduler.LRScheduler.last_epoch */
  get lastEpoch(): number {
    return this._fields.last_epoch;
  }
  set lastEpoch(epoch: number) {
    this._fields.last_epoch = epoch;
  }
  /** The rates that the groups began with. @torch torch.optim.lr_scheduler.LRScheduler.base_lrs */
  get baseLrs(): Rate[] {
    return this._fields.base_lrs;
  }
  set baseLrs(rates: Rate[]) {
    this._fields.base_lrs = rates;
  }

  /** Its state, with PyTorch's names. @torch torch.optim.lr_scheduler.LRScheduler.state_dict */
  stateDict(): SchedulerState {
    return { ...this, ...this._fields };
  }

  /**
   * Takes over a state. The optimiser stays the one that it has.
   * @torch torch.optim.lr_scheduler.LRScheduler.load_state_dict
   */
  loadStateDict(stateDict: SchedulerState): void {
    for (const [key, value] of Object.entries(entriesOfState(stateDict))) {
      if (key === "optimizer") continue;
      if (Object.hasOwn(this, key)) (this as unknown as SchedulerState)[key] = value;
      else this._fields[key] = value;
    }
  }

  /** The rates that it set last. @torch torch.optim.lr_scheduler.LRScheduler.get_last_lr */
  getLastLr(): Rate[] {
    return this._fields._last_lr;
  }

  /** The rates of the groups now. Subclasses say them. @torch torch.optim.lr_scheduler.LRScheduler.get_lr */
  getLr(): Rate[] {
    throw new NotImplementedError("");
  }

  /** @internal The rates after any number of steps, where there is a formula. */
  protected _closedForm(): Rate[] | null {
    return null;
  }

  /**
   * The next step: sets the rates of the optimiser's groups. It comes after the optimiser's own.
   * @torch torch.optim.lr_scheduler.LRScheduler.step
   */
  step(epoch: number | null = null): void {
    const f = this._fields;
    const before = { ...f };
    try {
      if (f._step_count === 1) this._warnOfOrder();
      f._step_count += 1;
      if (epoch !== null) warnOfEpoch();
      this._updateLr(epoch);
    } catch (error) {
      Object.assign(f, before);
      throw error;
    }
  }

  private _warnOfOrder(): void {
    const { optimizer } = this;
    if (steps.get(optimizer) !== optimizer.step) {
      warn(
        "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, " +
          `make sure to call \`optimizer.step()\` before \`lr_scheduler.step()\`. ${SEE}`,
      );
    } else if (!optimizer._optCalled) {
      warn(
        "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should " +
          "call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this " +
          `will result in PyTorch skipping the first value of the learning rate schedule. ${SEE}`,
      );
    }
  }

  /** @internal */
  _updateLr(epoch: number | null): void {
    const f = this._fields;
    requireCounts(f, this.optimizer.paramGroups.length);
    const rates = this._within(() => {
      if (epoch === null) {
        f.last_epoch += 1;
        return this.getLr();
      }
      f.last_epoch = epoch;
      return this._closedForm() ?? this.getLr();
    });
    this._set(rates);
  }

  /** @internal Calls what computes rates. */
  protected _within<R>(body: () => R): R {
    this._fields._get_lr_called_within_step = true;
    try {
      return body();
    } finally {
      this._fields._get_lr_called_within_step = false;
    }
  }

  /** @internal */
  protected _set(rates: readonly Rate[]): void {
    this.optimizer.paramGroups.forEach((group, i) => {
      setRate(group, "lr", rates[i] as Rate);
    });
    this._fields._last_lr = ratesOf(this.optimizer, "lr");
  }

  /** @internal Warns who wants the last rates and asks for the next. */
  protected _warnOutside(): void {
    if (this._fields._get_lr_called_within_step) return;
    warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.");
  }

  /** @internal The rates now. */
  protected _now(): number[] {
    return this.optimizer.paramGroups.map((group) => numberOf(group.lr));
  }

  /** @internal The rates of the beginning. */
  protected _base(): number[] {
    return this.baseLrs.map(numberOf);
  }
}
installChecks(LRScheduler.prototype, SCHEDULER);

/** All arguments of a constructor by name, and the defaults. */
export function schedule<T extends object>(
  name: keyof typeof SCHEDULERS,
  given: readonly unknown[],
  defaults: Partial<T>,
): T & { optimizer: Optimizer; lastEpoch: number } {
  const named = namedArguments(name, SCHEDULERS[name], given);
  for (const [key, value] of Object.entries(named)) {
    if (value === undefined) delete named[key];
    else named[key] = plainNumber(value);
  }
  return { lastEpoch: -1, ...defaults, ...named } as T & { optimizer: Optimizer; lastEpoch: number };
}
