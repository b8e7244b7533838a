/** Stochastic gradient descent. */

import { _fused_sgd_ } from "../../generated/ops.ts";
import { emptyLike } from "../dispatch/allocate.ts";
import { installChecks } from "../tensor/checks.ts";
import { ValueError } from "../tensor/errors.ts";
import { take } from "../tensor/scope-state.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type ParamGroup, type Params, setDefaults } from "./groups.ts";
import { listable, numberOf } from "./lists.ts";
import { type Closure, Optimizer, settings, stepWith } from "./optimizer.ts";
import { checkForeach, checkFused, checkWays, decayed, requireNotBelow, requireOneElement } from "./options.ts";
import { OPTIMIZER } from "./signatures.ts";

/** Options of `SGD`. */
export interface SGDOptions {
  /** The learning rate. Default 0.001. */
  lr?: number | Tensor;
  /** How much of the former step goes on. Default 0. */
  momentum?: number;
  /** How much of the gradient the momentum leaves out. Default 0. */
  dampening?: number;
  /** The penalty on the parameters' squares. Default 0. */
  weightDecay?: number | Tensor;
  /** Looks ahead by the momentum (Nesterov). Default false. */
  nesterov?: boolean;
  /** Ascends. Default false. */
  maximize?: boolean;
  /** As in PyTorch; results are the same. */
  foreach?: boolean | null;
  /** Records the step for gradients. Default false. */
  differentiable?: boolean;
  /** As in PyTorch; floating-point parameters only. */
  fused?: boolean | null;
}

type All = Required<SGDOptions> & { params: Params };

/**
 * Stochastic gradient descent, with momentum if wanted.
 * @example
 * ```ts
 * const p = new nn.Parameter(tensor([1, 2]));
 * const optimizer = new optim.SGD([p], { lr: 0.5 });
 * p.mul(2).sum().backward();
 * optimizer.step();
 * p // Parameter containing:
 * // tensor([0., 1.], requires_grad=True)
 * ```
 * @throws ValueError for options out of range or no parameters
 * @torch torch.optim.SGD
 */
export class SGD extends Optimizer {
  constructor(params: Params, lr?: number | Tensor | SGDOptions, momentum?: number, ...rest: unknown[]);
  constructor(...given: unknown[]) {
    const o = settings<All>("SGD", given, {
      lr: 1e-3,
      momentum: 0,
      dampening: 0,
      weightDecay: 0,
      nesterov: false,
      maximize: false,
      foreach: null,
      differentiable: false,
      fused: null,
    });
    requireOneElement("lr", o.lr);
    requireNotBelow("learning rate", o.lr);
    requireNotBelow("momentum value", o.momentum);
    requireNotBelow("weight_decay value", o.weightDecay);
    if (o.nesterov && (!(Number(o.momentum) > 0) || Number(o.dampening) !== 0)) {
      throw new ValueError("Nesterov momentum requires a momentum and zero dampening");
    }
    super(o.params, {
      lr: o.lr,
      momentum: o.momentum,
      dampening: o.dampening,
      weight_decay: o.weightDecay,
      nesterov: o.nesterov,
      maximize: o.maximize,
      foreach: o.foreach,
      differentiable: o.differentiable,
      fused: o.fused,
    });
    checkWays(o);
  }

  protected override _complete(): void {
    const defaults = { nesterov: false, maximize: false, foreach: null, differentiable: false, fused: false };
    for (const group of this.paramGroups) setDefaults(group, defaults);
  }

  /**
   * Changes the parameters by their gradients; those without one stay.
   * @torch torch.optim.SGD.step
   */
  override step<R>(closure?: Closure<R> | null): R | null {
    return stepWith(this, closure, () => {
      for (const group of this.paramGroups) this._update(group);
    });
  }

  private _update(group: ParamGroup): void {
    const params = group.params.filter((p) => p.grad !== null);
    const [first] = params;
    if (first === undefined) return;
    if (group.fused) checkFused(first);
    checkForeach(group.foreach, group.differentiable);
    if (group.momentum === 0) {
      updateAll(group, params, null, false);
      return;
    }
    const fresh = params.filter((p) => !(this.state.get(p)?.momentum_buffer instanceof Tensor));
    const known = fresh.length === 0 ? params : params.filter((p) => !fresh.includes(p));
    // Momentum begins with the first gradient.
    this._updateFrom(group, fresh, true);
    this._updateFrom(group, known, false);
  }

  private _updateFrom(group: ParamGroup, params: readonly Tensor[], isFirst: boolean): void {
    const buffers = params.map((p): Tensor => {
      if (isFirst) this.state.set(p, { ...this.state.get(p), momentum_buffer: take(emptyLike(p)) });
      return this.state.get(p)?.momentum_buffer;
    });
    const made = updateAll(group, params, buffers, isFirst);
    if (made === null) return;
    params.forEach((p, i) => {
      (this.state.get(p) as Record<string, unknown>).momentum_buffer = take(made[i]);
    });
  }
}
installChecks(SGD.prototype, { step: OPTIMIZER.step });

/** Updates in one call, where that is possible; gives the momenta that were made anew otherwise. */
function updateAll(
  group: ParamGroup,
  params: readonly Tensor[],
  buffers: readonly Tensor[] | null,
  isFirst: boolean,
): Tensor[] | null {
  if (params.length === 0) return null;
  const grads = params.map((p) => p.grad as Tensor);
  const { lr, momentum, dampening, weight_decay, nesterov, maximize, differentiable } = group;
  const states = buffers === null ? [] : [buffers];
  if (!differentiable && listable(params, grads, states, [], [lr, momentum, dampening, weight_decay])) {
    const list = buffers ?? [];
    _fused_sgd_(params, grads, list, weight_decay, momentum, lr, dampening, nesterov, maximize, isFirst);
    return null;
  }
  const made: Tensor[] = [];
  const one = (p: Tensor, i: number): void => {
    let grad = decayed(p, grads[i] as Tensor, maximize, weight_decay);
    if (buffers !== null) {
      const buffer = isFirst ? grad.detach().clone() : (buffers[i] as Tensor);
      if (!isFirst) buffer.mul_(momentum).add_(grad, { alpha: 1 - dampening });
      made.push(buffer);
      grad = nesterov ? grad.add(buffer, { alpha: momentum }) : buffer;
    }
    if (lr instanceof Tensor && lr.requiresGrad) p.addcmul_(grad, lr, { value: -1 });
    else p.add_(grad, { alpha: -numberOf(lr) });
  };
  params.forEach(one);
  return buffers === null ? null : made;
}
