/** RMSprop. */

import { zerosLike } from "../../generated/functional.ts";
import { _fused_rmsprop_ } from "../../generated/ops.ts";
import { installChecks } from "../tensor/checks.ts";
import { CPU } from "../tensor/device.ts";
import { take } from "../tensor/scope-state.ts";
import { gradOf } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type ParamGroup, type Params, setDefaults } from "./groups.ts";
import { numberOf } from "./lists.ts";
import { type Closure, Optimizer, settings, stepWith } from "./optimizer.ts";
import {
  checkCapturable,
  checkForeach,
  decayed,
  newStep,
  requireNotNegative,
  requireOneElement,
  stepOf,
} from "./options.ts";
import { goesInOneCall, knownState, type ParamState, type Plan, withNumbers } from "./plans.ts";
import { OPTIMIZER } from "./signatures.ts";

/** Options of `RMSprop`. */
export interface RMSpropOptions {
  /** The learning rate. Default 0.01. */
  lr?: number | Tensor;
  /** The decay of the average of squares. Default 0.99. */
  alpha?: number;
  /** Added to the denominator. Default 1e-8. */
  eps?: number;
  /** The penalty on the parameters' squares. Default 0. */
  weightDecay?: number;
  /** How much of the former step goes on. Default 0. */
  momentum?: number;
  /** Divides by the spread about the mean. Default false. */
  centered?: boolean;
  /** As in PyTorch: the number of steps is on the GPU. Default false. */
  capturable?: boolean;
  /** As in PyTorch; results are the same. */
  foreach?: boolean | null;
  /** Ascends. Default false. */
  maximize?: boolean;
  /** Records the step for gradients. Default false. */
  differentiable?: boolean;
}

type All = Required<RMSpropOptions> & { params: Params };

const NUMBERS = {
  keys: ["lr", "alpha", "eps", "weight_decay", "momentum"],
  tensors: ["lr", "eps", "weight_decay"],
};

/**
 * Divides gradients by the root of the average of their squares.
 * @example
 * ```ts
 * const p = new nn.Parameter(tensor([1, 2]));
 * const optimizer = new optim.RMSprop([p], { lr: 0.05 });
 * p.mul(2).sum().backward();
 * optimizer.step();
 * p // Parameter containing:
 * // tensor([0.5000, 1.5000], requires_grad=True)
 * ```
 * @throws ValueError for options out of range or no parameters
 * @torch torch.optim.RMSprop
 */
export class RMSprop extends Optimizer {
  constructor(params: Params, lr?: number | Tensor | RMSpropOptions, ...rest: unknown[]);
  constructor(...given: unknown[]) {
    const o = settings<All>("RMSprop", given, {
      lr: 1e-2,
      alpha: 0.99,
      eps: 1e-8,
      weightDecay: 0,
      momentum: 0,
      centered: false,
      capturable: false,
      foreach: null,
      maximize: false,
      differentiable: false,
    });
    requireOneElement("lr", o.lr);
    requireNotNegative("learning rate", o.lr);
    requireNotNegative("epsilon value", o.eps);
    requireNotNegative("momentum value", o.momentum);
    requireNotNegative("weight_decay value", o.weightDecay);
    requireNotNegative("alpha value", o.alpha);
    super(o.params, {
      lr: o.lr,
      momentum: o.momentum,
      alpha: o.alpha,
      eps: o.eps,
      centered: o.centered,
      weight_decay: o.weightDecay,
      capturable: o.capturable,
      foreach: o.foreach,
      maximize: o.maximize,
      differentiable: o.differentiable,
    });
  }

  protected override _complete(): void {
    const defaults = { momentum: 0, centered: false, foreach: null, maximize: false };
    for (const group of this.paramGroups) {
      setDefaults(group, { ...defaults, differentiable: false, capturable: false });
      for (const p of group.params) {
        const state = this.state.get(p);
        if (state === undefined || Object.keys(state).length === 0) continue;
        state.step = stepOf(state.step, false, group.capturable ? p.device : CPU);
      }
    }
  }

  /**
   * Changes the parameters by their gradients; those without one stay.
   * @torch torch.optim.RMSprop.step
   */
  override step<R>(closure?: Closure<R> | null): R | null {
    return stepWith(this, closure, (group) => this._plan(group));
  }

  private _plan(given: ParamGroup): Plan {
    const params = given.params.filter((p) => p._grad !== null);
    if (params.length === 0) return null;
    const group = withNumbers(given, NUMBERS);
    const { lr, alpha, eps, weight_decay, momentum, centered, maximize, differentiable, capturable } = group;
    checkForeach(group.foreach, differentiable);
    const fresh = new Map<Tensor, ParamState>();
    const states = params.map((p): ParamState => {
      const known = knownState(this.state, p) ?? fresh.get(p);
      if (known !== undefined) return known;
      const made = initial(p, group);
      fresh.set(p, made);
      return made;
    });
    const grads = params.map((p) => gradOf(p) as Tensor);
    const list = (key: string, there: boolean): Tensor[] => (there ? states.map((s) => s[key]) : []);
    const s = list("square_avg", true);
    const b = list("momentum_buffer", momentum > 0);
    const a = list("grad_avg", centered);
    const steps = list("step", true);
    const read = {
      square_avg: s,
      ...(momentum > 0 ? { momentum_buffer: b } : {}),
      ...(centered ? { grad_avg: a } : {}),
    };
    const numbers = [lr, alpha, eps, weight_decay, momentum];
    const together = goesInOneCall({ params, grads, states: read, steps }, numbers, differentiable || capturable);
    if (capturable) params.forEach((p, i) => checkCapturable(p, steps[i] as Tensor));
    return () => {
      for (const [p, state] of fresh) this.state.set(p, state);
      if (!together) {
        for (const [i, p] of params.entries()) updateOne(group, p, grads[i] as Tensor, states[i] as ParamState);
        return;
      }
      _fused_rmsprop_(params, grads, s, b, a, steps, lr, alpha, eps, weight_decay, momentum, centered, maximize);
    };
  }
}
installChecks(RMSprop.prototype, { step: OPTIMIZER.step });

function initial(p: Tensor, group: ParamGroup): ParamState {
  const state: ParamState = {
    step: newStep(false, group.capturable ? p.device : CPU),
    square_avg: take(zerosLike(p.detach())),
  };
  if (group.momentum > 0) state.momentum_buffer = take(zerosLike(p.detach()));
  if (group.centered) state.grad_avg = take(zerosLike(p.detach()));
  return state;
}

const viewed = (t: Tensor): Tensor => (t.dtype.category === 3 ? t.viewAsReal() : t);

/** The same by operators, for one parameter. */
function updateOne(group: ParamGroup, whole: Tensor, given: Tensor, state: ParamState): void {
  const { alpha, eps, momentum, centered, maximize, differentiable, weight_decay } = group;
  state.step.add_(1);
  const grad = viewed(decayed(whole, given, maximize, weight_decay));
  const p = viewed(whole);
  const square = viewed(state.square_avg);
  square.mul_(alpha).addcmul_(grad, grad, { value: 1 - alpha });
  let root: Tensor;
  if (centered) {
    const average = viewed(state.grad_avg);
    average.lerp_(grad, 1 - alpha);
    root = square.addcmul(average, average, { value: -1 }).sqrt_();
  } else root = square.sqrt();
  const below = differentiable ? root.add(eps) : root.add_(eps);
  const size = -numberOf(group.lr);
  if (momentum > 0) {
    const buffer = viewed(state.momentum_buffer);
    buffer.mul_(momentum).addcdiv_(grad, below);
    p.add_(buffer, { alpha: size });
  } else p.addcdiv_(grad, below, { value: size });
}
