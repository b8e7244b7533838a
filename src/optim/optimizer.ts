/** What all optimisers are: groups of parameters, state, hooks. */

import { _foreach_zero_ } from "../../generated/ops.ts";
import { gradModes } from "../dispatch/mode.ts";
import { HookList, type RemovableHandle } from "../nn/hooks.ts";
import { checkedArguments, inOrder, installChecks, isDict, namedArguments } from "../tensor/checks.ts";
import { DisposedError, NotImplementedError, RuntimeError } from "../tensor/errors.ts";
import { DISPOSED } from "../tensor/storage.ts";
import { dropGrad, gradOf } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { detachInPlace } from "./gradients.ts";
import {
  checkBeside,
  groupsText,
  listOf,
  makeGroup,
  type NamedParameter,
  type ParamGroup,
  type Params,
  setOption,
} from "./groups.ts";
import type { ParamState, Plan } from "./plans.ts";
import { NEW_OPTIMIZER, OPTIMIZER, OPTIMIZERS } from "./signatures.ts";
import { loadedState, type OptimizerState, packed } from "./state.ts";

export type { ParamState } from "./plans.ts";

// biome-ignore lint/suspicious/noExplicitAny: hooks of any optimiser
type Any = any;

/** Computes the loss again, with its gradients. */
export type Closure<R = unknown> = () => R;

/** Runs before `step`; what it returns replaces the arguments. */
export type StepPreHook = (optimizer: Optimizer, args: readonly unknown[]) => readonly unknown[] | undefined | void;
/** Runs after `step`. */
export type StepPostHook = (optimizer: Optimizer, args: readonly unknown[]) => void;
/** Sees a state dict; what it returns takes its place. */
export type StateHook = (optimizer: Optimizer, state: OptimizerState) => OptimizerState | undefined | void;
/** Sees the optimiser. */
export type OptimizerHook = (optimizer: Optimizer) => void;

const isDisposed = (x: unknown): boolean => x instanceof Tensor && x._storage === DISPOSED;

/** Says of which parameter something was disposed that a step needed. */
function whatWasDisposed(optimizer: Optimizer, error: unknown): unknown {
  if (!(error instanceof DisposedError)) return error;
  const name = `${optimizer.constructor.name}.step()`;
  for (const [at, { params }] of optimizer.paramGroups.entries()) {
    for (const [i, p] of params.entries()) {
      const of = `parameter ${i} of group ${at}`;
      if (isDisposed(p)) return new DisposedError(`${name}: ${of} was disposed`);
      if (isDisposed(p._grad)) return new DisposedError(`${name}: the gradient of ${of} was disposed`);
      for (const [key, value] of Object.entries(optimizer.state.get(p) ?? {})) {
        if (isDisposed(value)) return new DisposedError(`${name}: the state \`${key}\` of ${of} was disposed`);
      }
    }
  }
  return error;
}

/** Methods `step` that call the hooks. */
const hooked = new WeakSet<object>();

/** Hooks of all optimisers. */
export const everywhere = { pre: new HookList<StepPreHook>(), post: new HookList<StepPostHook>() };

/** Lets the `step` of a class call hooks, and say that it was called. */
function hookStep(optimizer: Optimizer): void {
  let owner: Any = Object.getPrototypeOf(optimizer);
  while (!Object.hasOwn(owner, "step")) owner = Object.getPrototypeOf(owner);
  const { step } = owner;
  if (hooked.has(step)) return;
  const wrapped = function (this: Optimizer, ...given: unknown[]): unknown {
    let args: readonly unknown[] = given.length === 0 ? given : inOrder("step", OPTIMIZER.step, given);
    this._optCalled = true;
    for (const list of [everywhere.pre, this._hooks.pre]) {
      for (const { hook } of list.list()) {
        const changed = hook(this, args);
        if (changed === undefined || changed === null) continue;
        if (!Array.isArray(changed)) {
          throw new RuntimeError(`a hook before step() must return nothing or an array of arguments`);
        }
        args = changed;
      }
    }
    let result: unknown;
    try {
      result = step.apply(this, args);
    } catch (error) {
      throw whatWasDisposed(this, error);
    }
    for (const list of [this._hooks.post, everywhere.post]) for (const { hook } of list.list()) hook(this, args);
    return result;
  };
  hooked.add(wrapped);
  Object.defineProperty(wrapped, "name", { value: "step" });
  owner.step = wrapped;
}

/**
 * The base of all optimisers. One of your own extends it, gives the parameters and the defaults of its options to
 * `super`, and has a method `step`.
 * @example
 * ```ts
 * class Descent extends optim.Optimizer {
 *   constructor(params: Iterable<Tensor>, lr: number) {
 *     super(params, { lr });
 *   }
 *   override step(): void {
 *     noGrad(() => {
 *       for (const group of this.paramGroups)
 *         for (const p of group.params) if (p.grad !== null) p.sub_(p.grad, { alpha: group.lr });
 *     });
 *   }
 * }
 * const p = new nn.Parameter(tensor([1, 2]));
 * const optimizer = new Descent([p], 0.5);
 * p.mul(2).sum().backward();
 * optimizer.step();
 * p // Parameter containing:
 * // tensor([0., 1.], requires_grad=True)
 * ```
 * @torch torch.optim.Optimizer
 */
export abstract class Optimizer {
  /** Options of groups that do not say them. */
  readonly defaults: Record<string, unknown>;
  /** What is remembered of each parameter. */
  state: Map<Tensor, ParamState>;
  /** The groups. What is changed in them, the next step follows. */
  paramGroups: ParamGroup[];
  /** @internal */
  declare readonly _hooks: {
    pre: HookList<StepPreHook>;
    post: HookList<StepPostHook>;
    save: HookList<OptimizerHook>;
    saved: HookList<StateHook>;
    load: HookList<StateHook>;
    loaded: HookList<OptimizerHook>;
  };
  /** @internal Whether a step was made since a scheduler was: it warns of the wrong order. */
  declare _optCalled: boolean;

  constructor(params: Params, defaults: Record<string, unknown>);
  constructor(...args: unknown[]) {
    type Given = [Params, Record<string, unknown>];
    const [params, defaults] = checkedArguments("Optimizer", NEW_OPTIMIZER, args) as Given;
    this.defaults = {};
    for (const [key, value] of Object.entries(defaults)) setOption(this.defaults, key, value);
    this.state = new Map();
    this.paramGroups = [];
    const list = <H>(): HookList<H> => new HookList<H>();
    const hooks = { pre: list(), post: list(), save: list(), saved: list(), load: list(), loaded: list() };
    Object.defineProperty(this, "_hooks", { value: hooks });
    Object.defineProperty(this, "_optCalled", { value: false, writable: true });
    hookStep(this);
    const given = listOf(params);
    const [first] = given;
    for (const group of isDict(first) ? given : [{ params: given }]) this._add(group, defaults);
  }

  /**
   * Changes the parameters by their gradients. `closure` computes the loss and its gradients anew.
   * @returns what the closure gave
   */
  step(closure?: Closure): unknown {
    void closure;
    throw new NotImplementedError("");
  }

  /** @internal */
  private _add(given: unknown, defaults: Record<string, unknown>): void {
    const group = makeGroup(given, defaults);
    checkBeside(this.paramGroups, group);
    this.paramGroups.push(group);
  }

  /**
   * Adds parameters with options of their own.
   * @example
   * ```ts
   * const [a, b] = [new nn.Parameter(ones(1)), new nn.Parameter(ones(1))];
   * const optimizer = new optim.SGD([a], { lr: 0.1 });
   * optimizer.addParamGroup({ params: [b], lr: 0.01 });
   * optimizer.paramGroups.map((group) => group.lr) // [0.1, 0.01]
   * ```
   * @torch torch.optim.Optimizer.add_param_group
   */
  addParamGroup(paramGroup: { params: NamedParameter | Iterable<NamedParameter>; [option: string]: unknown }): void {
    this._add(paramGroup, this.defaults);
  }

  /**
   * Takes the gradients away, or sets them to zero with `setToNone: false`.
   * @torch torch.optim.Optimizer.zero_grad
   */
  zeroGrad(setToNone: boolean | { setToNone?: boolean } = true): void {
    const kept: Tensor[] = [];
    for (const { params } of this.paramGroups) {
      for (const p of params) {
        if (p._grad === null) continue;
        if (setToNone) dropGrad(p);
        else kept.push(detachInPlace(gradOf(p) as Tensor));
      }
    }
    if (kept.length > 0) _foreach_zero_(kept);
  }

  /**
   * Its state, with PyTorch's names: `state` by the number of each parameter, and `param_groups`. `save` writes it so
   * that `torch.load` and `load_state_dict` of Python take it.
   * @torch torch.optim.Optimizer.state_dict
   */
  stateDict(): OptimizerState {
    for (const { hook } of this._hooks.save.list()) hook(this);
    let state = packed(this.paramGroups, this.state);
    for (const { hook } of this._hooks.saved.list()) state = hook(this, state) ?? state;
    return state;
  }

  /**
   * Takes over a state, one of a file from Python as well.
   * @throws ValueError when the groups or their sizes differ
   * @torch torch.optim.Optimizer.load_state_dict
   */
  loadStateDict(stateDict: OptimizerState): void {
    let given: OptimizerState = { ...stateDict };
    for (const { hook } of this._hooks.load.list()) given = hook(this, given) ?? given;
    const loaded = loadedState(this.paramGroups, given);
    const { state, paramGroups } = this;
    this.state = loaded.state;
    this.paramGroups = loaded.groups;
    try {
      this._complete();
    } catch (error) {
      [this.state, this.paramGroups] = [state, paramGroups];
      throw error;
    }
    for (const { hook } of this._hooks.loaded.list()) hook(this);
  }

  /** @internal What older states lack. */
  protected _complete(): void {}

  /** Called before `step`, with its arguments. @torch torch.optim.Optimizer.register_step_pre_hook */
  registerStepPreHook(hook: StepPreHook): RemovableHandle {
    return this._hooks.pre.add(hook, false);
  }
  /** Called after `step`. @torch torch.optim.Optimizer.register_step_post_hook */
  registerStepPostHook(hook: StepPostHook): RemovableHandle {
    return this._hooks.post.add(hook, false);
  }
  /** Called before `stateDict`. @torch torch.optim.Optimizer.register_state_dict_pre_hook */
  registerStateDictPreHook(hook: OptimizerHook, prepend = false): RemovableHandle {
    return this._hooks.save.add(hook, prepend);
  }
  /** Called with what `stateDict` gives. @torch torch.optim.Optimizer.register_state_dict_post_hook */
  registerStateDictPostHook(hook: StateHook, prepend = false): RemovableHandle {
    return this._hooks.saved.add(hook, prepend);
  }
  /** Called with what `loadStateDict` was given. @torch torch.optim.Optimizer.register_load_state_dict_pre_hook */
  registerLoadStateDictPreHook(hook: StateHook, prepend = false): RemovableHandle {
    return this._hooks.load.add(hook, prepend);
  }
  /** Called after `loadStateDict`. @torch torch.optim.Optimizer.register_load_state_dict_post_hook */
  registerLoadStateDictPostHook(hook: OptimizerHook, prepend = false): RemovableHandle {
    return this._hooks.loaded.add(hook, prepend);
  }

  /** As PyTorch prints it. */
  toString(): string {
    return groupsText(this.constructor.name, this.paramGroups);
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}
const { step: _, ...METHODS } = OPTIMIZER;
installChecks(Optimizer.prototype, METHODS);

/** All arguments of a constructor by name, and the defaults. */
export function settings<T extends object>(
  name: keyof typeof OPTIMIZERS,
  given: readonly unknown[],
  defaults: Omit<T, "params">,
): T {
  const named = namedArguments(name, OPTIMIZERS[name], given);
  for (const [key, value] of Object.entries(named)) if (value === undefined) delete named[key];
  return { ...defaults, ...named } as T;
}

/**
 * A step: the closure with gradients recorded, then the update, recorded where the optimiser is differentiable. No
 * group is changed before `plan` has looked at all.
 */
export function stepWith<R>(
  optimizer: Optimizer,
  closure: Closure<R> | null | undefined,
  plan: (group: ParamGroup) => Plan,
): R | null {
  return gradModes.run(optimizer.defaults.differentiable === true, "step", () => {
    const loss = closure === undefined || closure === null ? null : gradModes.run(true, "enableGrad", closure);
    for (const write of optimizer.paramGroups.map(plan)) write?.();
    return loss;
  });
}
