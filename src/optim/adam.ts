/** Adam, with its penalty in the gradient or apart from it (AdamW). */

import { zerosLike } from "../../generated/functional.ts";
import { _fused_adam_ } from "../../generated/ops.ts";
import { installChecks } from "../tensor/checks.ts";
import { CPU } from "../tensor/device.ts";
import { RuntimeError, ValueError } from "../tensor/errors.ts";
import { take } from "../tensor/scope-state.ts";
import { gradOf } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type ParamGroup, type Params, setDefaults } from "./groups.ts";
import { numberOf } from "./lists.ts";
import { type Closure, Optimizer, settings, stepWith } from "./optimizer.ts";
import {
  checkCapturable,
  checkForeach,
  checkFused,
  checkWays,
  decayed,
  newStep,
  requireBeta,
  requireNotNegative,
  requireOneElement,
  stepOf,
} from "./options.ts";
import { goesInOneCall, knownState, type Lists, type ParamState, type Plan, withNumbers } from "./plans.ts";
import { OPTIMIZER } from "./signatures.ts";

/** Options of `AdamW`. */
export interface AdamWOptions {
  /** The learning rate. Default 0.001. */
  lr?: number | Tensor;
  /** Decays of the averages of gradients and of their squares. Default 0.9 and 0.999. */
  betas?: readonly [number | Tensor, number | Tensor];
  /** Added to the denominator. Default 1e-8. */
  eps?: number;
  /** The penalty on the parameters. Default 0.01, and 0 of `Adam`. */
  weightDecay?: number;
  /** Divides by the greatest average so far. Default false. */
  amsgrad?: boolean;
  /** Ascends. Default false. */
  maximize?: boolean;
  /** As in PyTorch; results are the same. */
  foreach?: boolean | null;
  /** As in PyTorch: the number of steps is on the GPU. Default false. */
  capturable?: boolean;
  /** Records the step for gradients. Default false. */
  differentiable?: boolean;
  /** As in PyTorch; floating-point parameters only. */
  fused?: boolean | null;
}

/** Options of `Adam`. */
export interface AdamOptions extends AdamWOptions {
  /** The penalty is apart from the gradient, as in `AdamW`. Default false. */
  decoupledWeightDecay?: boolean;
}

type All = Required<AdamOptions> & { params: Params };

const DEFAULTS = {
  lr: 1e-3,
  betas: [0.9, 0.999] as [number, number],
  eps: 1e-8,
  weightDecay: 0,
  amsgrad: false,
  foreach: null,
  maximize: false,
  capturable: false,
  differentiable: false,
  fused: null,
  decoupledWeightDecay: false,
};

function checkTensors(o: All): void {
  if (!(o.lr instanceof Tensor)) return;
  if (o.foreach && !o.capturable) {
    throw new ValueError("lr as a Tensor is not supported for capturable=False and foreach=True");
  }
  requireOneElement("lr", o.lr);
}

function checkBetas(o: All): void {
  const [first, second] = o.betas;
  if (first instanceof Tensor !== second instanceof Tensor) {
    throw new ValueError("betas must be either both floats or both Tensors");
  }
  for (const [i, beta] of [first, second].entries()) {
    if (!(beta instanceof Tensor)) continue;
    if (!o.capturable && o.foreach) {
      throw new ValueError(`betas[${i}] as a Tensor is not supported for capturable=False and foreach=True`);
    }
    requireOneElement(`betas[${i}]`, beta);
  }
}

const NUMBERS = { keys: ["lr", "betas", "eps", "weight_decay"], tensors: ["lr", "eps"] };

/** What the lists of one group hold. */
interface AdamLists extends Lists {
  readonly states: { readonly exp_avg: Tensor[]; readonly exp_avg_sq: Tensor[]; readonly max_exp_avg_sq?: Tensor[] };
}

/**
 * Adam: steps by the averages of gradients and of their squares.
 * @example
 * ```ts
 * const p = new nn.Parameter(tensor([1, 2]));
 * const optimizer = new optim.Adam([p], { lr: 0.5 });
 * p.mul(2).sum().backward();
 * optimizer.step();
 * p // Parameter containing:
 * // tensor([0.5000, 1.5000], requires_grad=True)
 * ```
 * @throws ValueError for options out of range or no parameters
 * @torch torch.optim.Adam
 */
export class Adam extends Optimizer {
  constructor(params: Params, lr?: number | Tensor | AdamOptions, ...rest: unknown[]);
  constructor(...given: unknown[]) {
    const o = settings<All>("Adam", given, DEFAULTS);
    checkTensors(o);
    requireNotNegative("learning rate", o.lr);
    requireNotNegative("epsilon value", o.eps);
    requireBeta(o.betas, 0);
    requireBeta(o.betas, 1);
    requireNotNegative("weight_decay value", o.weightDecay);
    checkBetas(o);
    super(o.params, {
      lr: o.lr,
      betas: o.betas,
      eps: o.eps,
      weight_decay: o.weightDecay,
      amsgrad: o.amsgrad,
      maximize: o.maximize,
      foreach: o.foreach,
      capturable: o.capturable,
      differentiable: o.differentiable,
      fused: o.fused,
      decoupled_weight_decay: o.decoupledWeightDecay,
    });
    checkWays(o);
  }

  protected override _complete(): void {
    for (const group of this.paramGroups) {
      const defaults = { amsgrad: false, maximize: false, foreach: null, capturable: false, differentiable: false };
      setDefaults(group, { ...defaults, decoupled_weight_decay: false, fused: null });
      for (const p of group.params) {
        const state = this.state.get(p);
        if (state === undefined || Object.keys(state).length === 0) continue;
        state.step = stepOf(state.step, group.fused, group.capturable || group.fused ? p.device : CPU);
      }
    }
  }

  /**
   * Changes the parameters by their gradients; those without one stay.
   * @torch torch.optim.Adam.step
   */
  override step<R>(closure?: Closure<R> | null): R | null {
    return stepWith(this, closure, (group) => this._plan(group));
  }

  private _plan(given: ParamGroup): Plan {
    const params = given.params.filter((p) => p._grad !== null);
    if (params.length === 0) return null;
    const group = withNumbers(given, NUMBERS);
    checkForeach(group.foreach, group.differentiable);
    if (group.foreach && group.lr instanceof Tensor && !group.capturable) {
      throw new RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True");
    }
    const fresh = new Map<Tensor, ParamState>();
    const states = params.map((p): ParamState => {
      const known = knownState(this.state, p) ?? fresh.get(p);
      if (known !== undefined) return known;
      const made = initial(p, group);
      fresh.set(p, made);
      return made;
    });
    if (group.differentiable && states.some((state) => state.step?.requiresGrad)) {
      throw new RuntimeError("`requires_grad` is not supported for `step` in differentiable mode");
    }
    const list = (key: string): Tensor[] => states.map((state) => state[key]);
    const lists = {
      params,
      grads: params.map((p) => gradOf(p) as Tensor),
      states: {
        exp_avg: list("exp_avg"),
        exp_avg_sq: list("exp_avg_sq"),
        ...(group.amsgrad ? { max_exp_avg_sq: list("max_exp_avg_sq") } : {}),
      },
      steps: list("step"),
    };
    const update = planOf(group, lists);
    return () => {
      for (const [p, state] of fresh) this.state.set(p, state);
      update();
    };
  }
}
installChecks(Adam.prototype, { step: OPTIMIZER.step });

function initial(p: Tensor, group: ParamGroup): ParamState {
  if (group.fused) checkFused(p);
  const state: ParamState = {
    step: newStep(group.fused, group.capturable || group.fused ? p.device : CPU),
    exp_avg: take(zerosLike(p.detach())),
    exp_avg_sq: take(zerosLike(p.detach())),
  };
  if (group.amsgrad) state.max_exp_avg_sq = take(zerosLike(p.detach()));
  return state;
}

function planOf(group: ParamGroup, lists: AdamLists): () => void {
  const { params, grads, states, steps } = lists;
  const { lr, eps, weight_decay, amsgrad, maximize, differentiable, capturable } = group;
  const [beta1, beta2] = group.betas;
  const numbers = [lr, beta1, beta2, weight_decay, eps];
  if (!goesInOneCall(lists, numbers, differentiable || capturable)) {
    if (capturable) params.forEach((p, i) => checkCapturable(p, steps[i] as Tensor));
    return () => {
      for (let i = 0; i < params.length; i++) updateOne(group, lists, i);
    };
  }
  const decoupled = group.decoupled_weight_decay;
  const { exp_avg: m, exp_avg_sq: v, max_exp_avg_sq: most = [] } = states;
  return () =>
    _fused_adam_(params, grads, m, v, most, steps, lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled);
}

const viewed = (t: Tensor): Tensor => (t.dtype.category === 3 ? t.viewAsReal() : t);

/** 1 - x, of a number or a tensor. */
const rest = (x: number | Tensor): number | Tensor => (x instanceof Tensor ? x.neg().add(1) : 1 - x);

/** The same by operators, for one parameter. */
function updateOne(group: ParamGroup, lists: AdamLists, i: number): void {
  const { lr, weight_decay, amsgrad, differentiable, capturable } = group;
  const [beta1, beta2] = group.betas as [number | Tensor, number | Tensor];
  const whole = lists.params[i] as Tensor;
  const step = lists.steps[i] as Tensor;
  step.add_(1);
  const decoupled = group.decoupled_weight_decay;
  if (decoupled && weight_decay !== 0)
    whole.mul_(rest(lr instanceof Tensor ? lr.mul(weight_decay) : lr * weight_decay));
  const grad = viewed(decayed(whole, lists.grads[i] as Tensor, group.maximize, decoupled ? 0 : weight_decay));
  const p = viewed(whole);
  const average = viewed(lists.states.exp_avg[i] as Tensor);
  const square = viewed(lists.states.exp_avg_sq[i] as Tensor);
  const most = amsgrad ? viewed(lists.states.max_exp_avg_sq?.[i] as Tensor) : null;
  const first = beta1 instanceof Tensor ? beta1.to(p.device, p.dtype) : beta1;
  average.lerp_(grad, rest(first));
  if (differentiable && beta2 instanceof Tensor && beta2.requiresGrad) square.lerp_(grad.square(), rest(beta2));
  else square.mul_(beta2).addcmul_(grad, grad, { value: 1 - numberOf(beta2) });
  if (capturable || differentiable) finishRecorded(group, p, average, square, most, step);
  else finishPlain(group, p, average, square, most, numberOf(step));
}

function finishPlain(
  group: ParamGroup,
  p: Tensor,
  average: Tensor,
  square: Tensor,
  most: Tensor | null,
  step: number,
): void {
  const [beta1, beta2] = group.betas.map(numberOf) as [number, number];
  const correction = 1 - beta1 ** step;
  const root = (1 - beta2 ** step) ** 0.5;
  const { lr } = group;
  const size = lr instanceof Tensor ? numberOf(lr.div(correction)) : lr / correction;
  if (most !== null) most.copy_(most.maximum(square));
  const below = (most ?? square).sqrt().div(root).add_(group.eps);
  p.addcdiv_(average, below, { value: -size });
}

/** With all numbers as tensors: they are on a GPU, or gradients are wanted. */
function finishRecorded(
  group: ParamGroup,
  p: Tensor,
  average: Tensor,
  square: Tensor,
  most: Tensor | null,
  step: Tensor,
): void {
  const [beta1, beta2] = group.betas as [number | Tensor, number | Tensor];
  const power = (beta: number | Tensor): Tensor => {
    const base = beta instanceof Tensor ? beta : step.newTensor(beta, { dtype: step.dtype });
    return base
      .pow(beta instanceof Tensor && beta.requiresGrad ? step.clone() : step)
      .neg()
      .add(1);
  };
  const correction = power(beta1);
  const { lr } = group;
  const size = (lr instanceof Tensor ? lr.div(correction) : correction.reciprocal().mul(lr)).neg();
  const root = power(beta2).sqrt();
  if (most !== null) most.copy_((group.differentiable ? most.clone() : most).maximum(square));
  const below = (most ?? square).sqrt().div(root.mul(size)).add_(size.reciprocal().mul(group.eps));
  p.addcdiv_(group.differentiable ? average.clone() : average, below);
}

/**
 * Adam whose penalty on the parameters is apart from the gradient.
 * @example
 * ```ts
 * const p = new nn.Parameter(tensor([1, 2]));
 * const optimizer = new optim.AdamW([p], { lr: 0.5 });
 * p.mul(2).sum().backward();
 * optimizer.step();
 * p // Parameter containing:
 * // tensor([0.4950, 1.4900], requires_grad=True)
 * ```
 * @throws ValueError for options out of range or no parameters
 * @torch torch.optim.AdamW
 */
export class AdamW extends Adam {
  constructor(params: Params, lr?: number | Tensor | AdamWOptions, ...rest: unknown[]);
  constructor(...given: unknown[]) {
    const { params, ...o } = settings<All>("AdamW", given, { ...DEFAULTS, weightDecay: 1e-2 });
    super(params, { ...o, decoupledWeightDecay: true });
  }

  protected override _complete(): void {
    super._complete();
    for (const group of this.paramGroups) group.decoupled_weight_decay = true;
  }
}
