/** Stochastic gradient descent. */

import { _fused_sgd_ } from "../../generated/ops.ts";
import { emptyLike } from "../dispatch/allocate.ts";
import { installChecks } from "../tensor/checks.ts";
import { TypeError, ValueError } from "../tensor/errors.ts";
import { take } from "../tensor/scope-state.ts";
import { gradOf } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { type ParamGroup, type Params, setDefaults } from "./groups.ts";
import { numberOf } from "./lists.ts";
import { type Closure, Optimizer, settings, stepWith } from "./optimizer.ts";
import { checkForeach, checkFused, checkWays, decayed, requireNotBelow, requireOneElement } from "./options.ts";
import { goesInOneCall, knownState, type Plan, withNumbers } from "./plans.ts";
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

const NUMBERS = { keys: ["lr", "momentum", "dampening", "weight_decay"], tensors: ["lr", "weight_decay"] };

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
    return stepWith(this, closure, (group) => this._plan(group));
  }

  private _plan(given: ParamGroup): Plan {
    const params = given.params.filter((p) => p._grad !== null);
    const [first] = params;
    if (first === undefined) return null;
    const group = withNumbers(given, NUMBERS);
    if (group.fused) checkFused(first);
    checkForeach(group.foreach, group.differentiable);
    if (group.momentum === 0) return planOf(group, params, null, false);
    const known: Tensor[] = [];
    const fresh: Tensor[] = [];
    for (const p of params) (this._bufferOf(p) === null ? fresh : known).push(p);
    // Momentum begins with the first gradient.
    const plans = [this._planFrom(group, fresh, true), this._planFrom(group, known, false)];
    return () => {
      for (const write of plans) write?.();
    };
  }

  private _bufferOf(p: Tensor): Tensor | null {
    const buffer: unknown = knownState(this.state, p)?.momentum_buffer ?? null;
    if (buffer === null || buffer instanceof Tensor) return buffer;
    throw new TypeError(`the state \`momentum_buffer\` of a parameter has to be a Tensor, not ${typeName(buffer)}`);
  }

  private _planFrom(group: ParamGroup, params: readonly Tensor[], isFirst: boolean): (() => void) | null {
    if (params.length === 0) return null;
    const buffers = params.map((p) => (isFirst ? take(emptyLike(p)) : (this._bufferOf(p) as Tensor)));
    const update = planOf(group, params, buffers, isFirst);
    return () => {
      const made = update() ?? (isFirst ? buffers : null);
      made?.forEach((buffer, i) => {
        const p = params[i] as Tensor;
        this.state.set(p, { ...this.state.get(p), momentum_buffer: take(buffer) });
      });
    };
  }
}
installChecks(SGD.prototype, { step: OPTIMIZER.step });

/** Updates in one call, where that is possible; gives the momenta that were made anew otherwise. */
function planOf(
  group: ParamGroup,
  params: readonly Tensor[],
  buffers: readonly Tensor[] | null,
  isFirst: boolean,
): () => readonly Tensor[] | null {
  const grads = params.map((p) => gradOf(p) as Tensor);
  const { lr, momentum, dampening, weight_decay, nesterov, maximize, differentiable } = group;
  const states: Record<string, readonly Tensor[]> = buffers === null ? {} : { momentum_buffer: buffers };
  const lists = { params, grads, states, steps: [] };
  if (goesInOneCall(lists, [lr, momentum, dampening, weight_decay], differentiable)) {
    const list = buffers ?? [];
    return () => {
      _fused_sgd_(params, grads, list, weight_decay, momentum, lr, dampening, nesterov, maximize, isFirst);
      return null;
    };
  }
  return () => {
    const made: Tensor[] = [];
    for (const [i, p] of params.entries()) {
      const buffer = buffers === null || isFirst ? null : (buffers[i] as Tensor);
      const kept = updateOne(group, p, grads[i] as Tensor, buffer, buffers !== null);
      if (kept !== null) made.push(kept);
    }
    return buffers === null ? null : made;
  };
}

/** The same by operators, for one parameter; gives its momentum, which begins where there is none. */
function updateOne(
  group: ParamGroup,
  p: Tensor,
  given: Tensor,
  known: Tensor | null,
  hasMomentum: boolean,
): Tensor | null {
  const { lr, momentum, dampening, weight_decay, nesterov, maximize } = group;
  let grad = decayed(p, given, maximize, weight_decay);
  let buffer: Tensor | null = null;
  if (hasMomentum) {
    buffer = known ?? grad.detach().clone();
    if (known !== null) buffer.mul_(momentum).add_(grad, { alpha: 1 - dampening });
    grad = nesterov ? grad.add(buffer, { alpha: momentum }) : buffer;
  }
  if (lr instanceof Tensor && lr.requiresGrad) p.addcmul_(grad, lr, { value: -1 });
  else p.add_(grad, { alpha: -numberOf(lr) });
  return buffer;
}
