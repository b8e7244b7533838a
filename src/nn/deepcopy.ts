/** Copies of modules that share nothing with the original. */
import { noGrad } from "../autograd/api.ts";
import { inOrder } from "../tensor/checks.ts";
import { Tensor } from "../tensor/tensor.ts";
import { callable, Module } from "./module.ts";
import { Parameter } from "./parameter.ts";
import { FUNCTIONS } from "./signatures.ts";

/**
 * A copy of a module with its parameters, buffers, hooks and attributes.
 * @example
 * ```ts
 * const layer = new nn.Linear(2, 2);
 * nn.deepcopy(layer).weight.equal(layer.weight) // true
 * ```
 * @torch copy.deepcopy
 */
export function deepcopy<M extends Module>(module: M): M {
  [module] = inOrder<[M]>("deepcopy", FUNCTIONS.deepcopy, arguments);
  return noGrad(() => copyOf(module, new Map())) as M;
}

/** What was copied once is copied to the same object again, so that tied parameters stay tied. */
type Memo = Map<unknown, unknown>;

function copyOf(module: Module, memo: Memo): Module {
  const known = memo.get(module);
  if (known !== undefined) return known as Module;
  const whole = module._copy();
  if (whole !== null) return whole;
  const copy = callable(Object.getPrototypeOf(module));
  memo.set(module, copy);
  for (const [name, p] of module._parameters) copy.registerParameter(name, p === null ? null : parameterOf(p, memo));
  for (const [name, b] of module._buffers) {
    const persistent = !module._nonPersistentBuffersSet.has(name);
    copy.registerBuffer(name, b === null ? null : tensorOf(b, memo), { persistent });
  }
  for (const [name, m] of module._modules) copy.addModule(name, m === null ? null : copyOf(m, memo));
  for (const { hook, always } of module._registers.hooks.list()) copy._registers.hooks.add(hook, false, always);
  for (const { hook } of module._registers.preHooks.list()) copy._registers.preHooks.add(hook, false);
  for (const [name, value] of Object.entries(module)) Object.assign(copy, { [name]: valueOf(value, memo) });
  return copy;
}

function parameterOf(p: Tensor, memo: Memo): Parameter {
  const known = memo.get(p);
  if (known !== undefined) return known as Parameter;
  const copy = new Parameter(p.detach().clone(), p.requiresGrad);
  if (p._grad !== null) copy._grad = p._grad.detach().clone();
  memo.set(p, copy);
  return copy;
}

function tensorOf(t: Tensor, memo: Memo): Tensor {
  const known = memo.get(t);
  if (known !== undefined) return known as Tensor;
  const copy = t.detach().clone();
  memo.set(t, copy);
  return copy;
}

/** Plain data is copied; functions and instances of other classes are shared. */
function valueOf(x: unknown, memo: Memo): unknown {
  if (x instanceof Module) return copyOf(x, memo);
  if (x instanceof Parameter) return parameterOf(x, memo);
  if (x instanceof Tensor) return tensorOf(x, memo);
  if (Array.isArray(x)) return x.map((y) => valueOf(y, memo));
  if (typeof x === "object" && x !== null && Object.getPrototypeOf(x) === Object.prototype) {
    return Object.fromEntries(Object.entries(x).map(([k, v]) => [k, valueOf(v, memo)]));
  }
  return x;
}
