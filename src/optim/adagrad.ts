/** Adagrad. */

import { fullLike } from "../../generated/functional.ts";
import { _fused_adagrad_ } from "../../generated/ops.ts";
import { installChecks } from "../tensor/checks.ts";
import { Complex, scalarToNumber } from "../tensor/complex.ts";
import { CPU } from "../tensor/device.ts";
import { take } from "../tensor/scope-state.ts";
import { gradOf } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type ParamGroup, type Params, setDefaults } from "./groups.ts";
import { numberOf } from "./lists.ts";
import { type Closure, Optimizer, settings, stepWith } from "./optimizer.ts";
import {
  checkForeach,
  checkFused,
  checkWays,
  decayed,
  newStep,
  requireNotNegative,
  requireOneElement,
  stepOf,
} from "./options.ts";
import { goesInOneCall, knownState, type ParamState, type Plan, withNumbers } from "./plans.ts";
import { OPTIMIZER } from "./signatures.ts";

/** Options of `Adagrad`. */
export interface AdagradOptions {
  /** The learning rate. Default 0.01. */
  lr?: number | Tensor;
  /** How the learning rate falls with the steps. Default 0. */
  lrDecay?: number;
  /** The penalty on the parameters' squares. Default 0. */
  weightDecay?: number;
  /** What the sums of squares begin with. Default 0. */
  initialAccumulatorValue?: number;
  /** Added to the denominator. Default 1e-10. */
  eps?: number;
  /** As in PyTorch; results are the same. */
  foreach?: boolean | null;
  /** Ascends. Default false. */
  maximize?: boolean;
  /** Records the step for gradients. Default false. */
  differentiable?: boolean;
  /** As in PyTorch; floating-point parameters only. */
  fused?: boolean | null;
}

type All = Required<AdagradOptions> & { params: Params };

const NUMBERS = { keys: ["lr", "lr_decay", "eps", "weight_decay"], tensors: ["lr", "eps", "weight_decay"] };

/**
 * Divides gradients by the root of the sum of all their squares.
 * @example
 * ```ts
 * const p = new nn.Parameter(tensor([1, 2]));
 * const optimizer = new optim.Adagrad([p], { lr: 0.5 });
 * p.mul(2).sum().backward();
 * optimizer.step();
 * p // Parameter containing:
 * // tensor([0.5000, 1.5000], requires_grad=True)
 * ```
 * @throws ValueError for options out of range or no parameters
 * @torch torch.optim.Adagrad
 */
export class Adagrad extends Optimizer {
  constructor(params: Params, lr?: number | Tensor | AdagradOptions, ...rest: unknown[]);
  constructor(...given: unknown[]) {
    const o = settings<All>("Adagrad", given, {
      lr: 1e-2,
      lrDecay: 0,
      weightDecay: 0,
      initialAccumulatorValue: 0,
      eps: 1e-10,
      foreach: null,
      maximize: false,
      differentiable: false,
      fused: null,
    });
    requireOneElement("lr", o.lr);
    requireNotNegative("learning rate", o.lr);
    requireNotNegative("lr_decay value", o.lrDecay);
    requireNotNegative("weight_decay value", o.weightDecay);
    requireNotNegative("initial_accumulator_value value", o.initialAccumulatorValue);
    requireNotNegative("epsilon value", o.eps);
    super(o.params, {
      lr: o.lr,
      lr_decay: o.lrDecay,
      eps: o.eps,
      weight_decay: o.weightDecay,
      initial_accumulator_value: o.initialAccumulatorValue,
      foreach: o.foreach,
      maximize: o.maximize,
      differentiable: o.differentiable,
      fused: o.fused,
    });
    checkWays(o);
    for (const group of this.paramGroups) {
      for (const p of group.params) this.state.set(p, initial(p, group, group.initial_accumulator_value));
    }
  }

  protected override _complete(): void {
    for (const group of this.paramGroups) {
      setDefaults(group, { foreach: null, maximize: false, differentiable: false, fused: null });
      for (const p of group.params) {
        const state = this.state.get(p);
        if (state === undefined || Object.keys(state).length === 0) continue;
        state.step = stepOf(state.step, group.fused, group.fused ? p.device : CPU);
      }
    }
  }

  /**
   * Changes the parameters by their gradients; those without one stay.
   * @torch torch.optim.Adagrad.step
   */
  override step<R>(closure?: Closure<R> | null): R | null {
    return stepWith(this, closure, (group) => this._plan(group));
  }

  private _plan(given: ParamGroup): Plan {
    const params = given.params.filter((p) => p._grad !== null);
    const [first] = params;
    if (first === undefined) return null;
    const group = withNumbers(given, NUMBERS);
    if (group.fused) checkFused(first);
    const { lr, lr_decay, eps, weight_decay, maximize, differentiable } = group;
    checkForeach(group.foreach, differentiable);
    const fresh = new Map<Tensor, ParamState>();
    const states = params.map((p): ParamState => {
      const known = knownState(this.state, p) ?? fresh.get(p);
      if (known !== undefined) return known;
      const made = initial(p, group, this.defaults.initial_accumulator_value);
      fresh.set(p, made);
      return made;
    });
    const grads = params.map((p) => gradOf(p) as Tensor);
    const sums = states.map((s): Tensor => s.sum);
    const steps = states.map((s): Tensor => s.step);
    const lists = { params, grads, states: { sum: sums }, steps };
    const together = goesInOneCall(lists, [lr, lr_decay, eps, weight_decay], differentiable);
    return () => {
      for (const [p, state] of fresh) this.state.set(p, state);
      if (together) _fused_adagrad_(params, grads, sums, steps, lr, lr_decay, weight_decay, eps, maximize);
      else for (const [i, p] of params.entries()) updateOne(group, p, grads[i] as Tensor, states[i] as ParamState);
    };
  }
}
installChecks(Adagrad.prototype, { step: OPTIMIZER.step });

function initial(p: Tensor, group: ParamGroup, start: unknown): ParamState {
  const value = scalarToNumber(start as number);
  const filled = fullLike(p.detach(), p.dtype.category === 3 ? new Complex(value, value) : value);
  return { step: newStep(group.fused, group.fused ? p.device : CPU), sum: take(filled) };
}

const viewed = (t: Tensor): Tensor => (t.dtype.category === 3 ? t.viewAsReal() : t);

/** The same by operators, for one parameter. */
function updateOne(group: ParamGroup, whole: Tensor, given: Tensor, state: ParamState): void {
  const { lr, eps, differentiable } = group;
  state.step.add_(1);
  const slower = 1 + (numberOf(state.step) - 1) * group.lr_decay;
  const size = lr instanceof Tensor ? numberOf(lr.div(slower)) : lr / slower;
  const grad = viewed(decayed(whole, given, group.maximize, group.weight_decay));
  const sum = viewed(state.sum);
  sum.addcmul_(grad, grad, { value: 1 });
  const root = sum.sqrt();
  viewed(whole).addcdiv_(grad, differentiable ? root.add(eps) : root.add_(eps), { value: -size });
}
