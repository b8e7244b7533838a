/** What users call of autograd: modes, backward, grad, hooks. */

import * as texts from "../../generated/texts.ts";
import { gradMode, gradModes, requiresGrad } from "../dispatch/mode.ts";
import { setGeometry } from "../dispatch/out.ts";
import { detach } from "../dispatch/views.ts";
import { batchOf } from "../tensor/batched.ts";
import { checkCall, inOrder, isDict } from "../tensor/checks.ts";
import { warn } from "../tensor/errors.ts";
import type { ModeGuard } from "../tensor/modes.ts";
import { take } from "../tensor/scope-state.ts";
import { FUNCTIONS } from "../tensor/signatures.ts";
import { sameSizes } from "../tensor/size.ts";
import { DISPOSED, requireKept } from "../tensor/storage.ts";
import { dropGrad } from "../tensor/temporaries.ts";
import { type BackwardOptions, extraOf, freshId, type HookHandle, Tensor, VersionCounter } from "../tensor/tensor.ts";
import { run } from "./engine.ts";
import { edgeOf, gradFnOf, retainIn } from "./history.ts";
import type { Node } from "./node.ts";
import { transforming } from "./transforming.ts";

/**
 * Turns recording off: `using _ = noGrad()`, or for the length of a callback. A generator's steps run in the mode too.
 * All code of a thread runs in one mode: an async callback is refused, and so is a guard that tasks which overlap hold
 * across an await, when it ends.
 * @example
 * ```ts
 * const x = ones(1, { requiresGrad: true });
 * noGrad(() => x.mul(2)).requiresGrad // false
 * ```
 * @throws TypeError for an async function, RuntimeError when overlapping tasks held guards across an await
 * @torch torch.no_grad
 */
export function noGrad(): ModeGuard;
export function noGrad<R>(body: () => R): R;
export function noGrad<R>(body?: () => R): R | ModeGuard {
  if (isDict(body) || arguments.length > 1) [body] = inOrder<[(() => R)?]>("noGrad", FUNCTIONS.noGrad, arguments);
  return body === undefined ? gradModes.hold(false, "noGrad") : gradModes.run(false, "noGrad", body);
}

/**
 * Turns recording on, inside of `noGrad`.
 * @example
 * ```ts
 * const x = ones(1, { requiresGrad: true });
 * noGrad(() => enableGrad(() => x.mul(2))).requiresGrad // true
 * ```
 * @torch torch.enable_grad
 */
export function enableGrad(): ModeGuard;
export function enableGrad<R>(body: () => R): R;
export function enableGrad<R>(body?: () => R): R | ModeGuard {
  if (isDict(body) || arguments.length > 1)
    [body] = inOrder<[(() => R)?]>("enableGrad", FUNCTIONS.enableGrad, arguments);
  return body === undefined ? gradModes.hold(true, "enableGrad") : gradModes.run(true, "enableGrad", body);
}

/**
 * Turns recording on or off.
 * @example
 * ```ts
 * const guard = setGradEnabled(false);
 * const off = isGradEnabled();
 * guard[Symbol.dispose]();
 * [off, isGradEnabled()] // [false, true]
 * ```
 * @torch torch.set_grad_enabled
 */
export function setGradEnabled(mode: boolean): ModeGuard {
  [mode] = inOrder<[boolean]>("setGradEnabled", FUNCTIONS.setGradEnabled, arguments);
  return gradModes.change(mode, "setGradEnabled");
}

/**
 * Whether operators are recorded for gradients.
 * @example
 * ```ts
 * noGrad(() => isGradEnabled()) // false
 * ```
 * @torch torch.is_grad_enabled
 */
export function isGradEnabled(): boolean {
  checkCall("isGradEnabled", FUNCTIONS.isGradEnabled, arguments);
  return gradMode.enabled;
}

function onesLike(t: Tensor): Tensor {
  return t.newOnes(t._shape);
}

/** The gradient to start from; implicit only for single elements, and null where none is required. */
function startGradient(t: Tensor, given: Tensor | null | undefined, index: number): Tensor | null {
  if (given === null || given === undefined) {
    if (!requiresGrad(t)) return null;
    if (t._numel !== 1) throw texts.implicitGradientNotScalar(undefined);
    if (t.dtype.category !== 2) throw texts.implicitGradientNotReal(undefined, t.dtype.name);
    return onesLike(t);
  }
  if (!(given instanceof Tensor)) throw texts.badGradientType(undefined, typeof given);
  if (given._storage === DISPOSED) throw texts.startGradientDisposed(undefined, index);
  if (!sameSizes(given._shape, t._shape)) {
    throw texts.gradientShapeMismatch(undefined, index, String(given.shape), String(t.shape));
  }
  if (given.device !== t.device && given._shape.length > 0) {
    for (const { _storage } of [given, t]) requireKept(_storage);
    throw texts.gradientOnWrongDevice(undefined, "", index, String(t.device), String(given.device));
  }
  return given;
}

/** What a list holds now: one that computes its elements may hold something else later. */
const asList = (x: Tensor | readonly Tensor[]): readonly Tensor[] =>
  x instanceof Tensor ? [x] : Array.isArray(x) ? [...x] : x;

/**
 * Accumulates the gradients of all leaves of the graph.
 * @throws RuntimeError when nothing requires gradients, or the graph was freed by an earlier pass
 * @example
 * ```ts
 * const x = tensor([2], { requiresGrad: true });
 * autograd.backward(x.pow(2).sum());
 * x.grad // tensor([4.])
 * ```
 * @torch torch.autograd.backward
 */
export function backward(
  tensors: Tensor | readonly Tensor[],
  gradients?: Tensor | null | readonly (Tensor | null | undefined)[],
  options: BackwardOptions = {},
): void {
  [tensors, gradients, options = {}] = inOrder<
    [Tensor | readonly Tensor[], (Tensor | null | readonly (Tensor | null | undefined)[])?, BackwardOptions?]
  >("backward", FUNCTIONS.backward, arguments);
  if (transforming.depth > 0) throw texts.backwardInTransform(undefined);
  const roots = asList(tensors);
  const given = Array.isArray(gradients) ? gradients : [gradients as Tensor | null | undefined];
  if (!Array.isArray(roots)) requireTensors("backward", "tensors", roots);
  if (roots.length === 0) return;
  if (Array.isArray(gradients)) requireCount(roots, gradients);
  const starts = startsOf(roots, given);
  const createGraph = options.createGraph ?? false;
  const retainGraph = options.retainGraph ?? createGraph;
  const inputs = options.inputs === undefined ? null : asList(options.inputs);
  if (inputs !== null) {
    requireTensors("backward", "inputs", inputs);
    if (inputs.length === 0) throw texts.noBackwardInputs(undefined);
    for (const t of inputs) retainGrad(t);
  }
  run(roots, starts, { retainGraph, createGraph, inputs, capture: false });
}

function requireCount(roots: readonly Tensor[], given: readonly unknown[]): void {
  if (given.length < roots.length) throw texts.fewGradients(undefined, roots.length, given.length);
}

const kindOf = (x: unknown): string =>
  x === null ? "None" : typeof x === "object" ? (x.constructor?.name ?? "object") : typeof x;

function requireTensors(op: string, argument: string, list: unknown): void {
  if (!Array.isArray(list)) {
    requireTensors(op, argument, [list]);
    return;
  }
  for (const t of list) if (!(t instanceof Tensor)) throw texts.notTensors(op, argument, kindOf(t));
}

/** The gradients to start from. As in torch, they are looked at before the graph is. */
function startsOf(roots: readonly Tensor[], given: readonly (Tensor | null | undefined)[]): Tensor[] {
  requireTensors("backward", "tensors", roots);
  if (roots.some((t) => batchOf(t) !== null)) throw texts.backwardInTransform(undefined);
  const starts = roots.map((t, i) => startGradient(t, given[i], i));
  roots.forEach((t, i) => {
    if (edgeOf(t) === null) throw texts.noGradientNode(undefined, i);
  });
  return starts as Tensor[];
}

/** How `autograd.grad` goes. */
export interface GradOptions {
  /** A gradient for each output; outputs of one element need none. */
  gradOutputs?: Tensor | readonly (Tensor | null)[];
  /** Keep what the graph saved, for another pass; by default as `createGraph`. */
  retainGraph?: boolean;
  /** Record the pass itself, for gradients of gradients. */
  createGraph?: boolean;
  /** Give null for an input that the outputs do not depend on; otherwise it is an error. */
  allowUnused?: boolean;
  /** Give zeros for such an input. */
  materializeGrads?: boolean;
}

/**
 * The gradients of `outputs` with respect to `inputs`; leaves are left alone.
 * @throws RuntimeError when an input has no part in the outputs, unless `allowUnused` is given
 * @example
 * ```ts
 * const x = tensor([2], { requiresGrad: true });
 * autograd.grad(x.pow(3).sum(), x)[0] // tensor([12.])
 * ```
 * @torch torch.autograd.grad
 */
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: Tensor | readonly Tensor[],
  options: GradOptions = {},
): (Tensor | null)[] {
  [outputs, inputs, options = {}] = inOrder<[Tensor | readonly Tensor[], Tensor | readonly Tensor[], GradOptions?]>(
    "grad",
    FUNCTIONS.grad,
    arguments,
  );
  if (options.materializeGrads && options.allowUnused === false) throw texts.zerosForUnused(undefined);
  const roots = asList(outputs);
  const wanted = asList(inputs);
  requireTensors("grad", "inputs", wanted);
  if (wanted.length === 0) throw texts.noGradInputs(undefined);
  const given = options.gradOutputs instanceof Tensor ? [options.gradOutputs] : (options.gradOutputs ?? []);
  if (Array.isArray(options.gradOutputs)) requireCount(roots, options.gradOutputs);
  const starts = startsOf(roots, given);
  const createGraph = options.createGraph ?? false;
  const retainGraph = options.retainGraph ?? createGraph;
  const how = { retainGraph, createGraph, inputs: wanted, capture: true };
  const found = roots.length === 0 ? wanted.map(() => null) : run(roots, starts, how);
  return found.map((g, i) => {
    if (g !== null) return g;
    const t = wanted[i] as Tensor;
    if (options.materializeGrads) return t.newZeros(t._shape, { requiresGrad: createGraph });
    if (!(options.allowUnused ?? false)) throw texts.unusedInGraph(undefined, i);
    return null;
  });
}

function backwardOf(t: Tensor, first: Tensor | null | undefined | BackwardOptions, given?: BackwardOptions): void {
  const only = first !== null && typeof first === "object" && Object.getPrototypeOf(first) === Object.prototype;
  const options = only ? (first as BackwardOptions) : given;
  backward(t, [only ? options?.gradient : (first as Tensor | null | undefined)], options);
}

/** Behaviour of Tensor's members, by name. */
export function memberOf(name: string): unknown {
  switch (name) {
    case "gradFn":
      return gradFnOf;
    case "backward":
      return backwardOf;
    case "setGrad":
      return setGrad;
    case "nonLeafGradWarning":
      return nonLeafGradWarning;
    case "requiresGrad_":
      return requiresGrad_;
    case "retainGrad":
      return retainGrad;
    case "registerHook":
      return registerHook;
    case "setData":
      return setData;
    case "shallow":
      return shallow;
  }
  return undefined;
}

function setGrad(t: Tensor, value: Tensor | null): void {
  if (value === null || value === undefined) {
    dropGrad(t);
    return;
  }
  if (!(value instanceof Tensor)) throw texts.badGradAssigned(undefined, typeof value);
  if (value === t) throw texts.ownGrad(undefined);
  if (value.dtype !== t.dtype) throw texts.gradOfWrongDtype(undefined, value.dtype.cppName, t.dtype.scalarType);
  if (!sameSizes(value._shape, t._shape)) throw texts.gradOfWrongShape(undefined, value._shape, t._shape);
  if (value.device !== t.device) throw texts.gradOnWrongDevice(undefined, value.device.type, t.device.type);
  if (value !== t._grad) dropGrad(t);
  t._grad = take(value);
}

function nonLeafGradWarning(): void {
  warn(
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be " +
      "populated during autograd.backward(). If you indeed want the .grad field to be populated for a " +
      "non-leaf Tensor, " +
      "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access " +
      "the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations.",
  );
}

function requiresGrad_(t: Tensor, value: boolean): Tensor {
  if (value && t._gradFn !== null) return t;
  if (!value && t._gradFn !== null) throw texts.notALeaf(undefined);
  if (value && t.dtype.category < 2) throw texts.integersNeedNoGrad(undefined);
  t._requiresGrad = value;
  return t;
}

function retainGrad(t: Tensor): void {
  if (!requiresGrad(t)) throw texts.retainGradWithoutGrad(undefined);
  if (t._gradFn === null) return;
  const fn = gradFnOf(t) as Node;
  const extra = extraOf(t);
  if (extra.retainGrad) return;
  extra.retainGrad = true;
  retainIn(fn, t._outputNr, t);
}

function registerHook(t: Tensor, hook: (grad: Tensor) => Tensor | null | undefined | void): HookHandle {
  if (!requiresGrad(t)) throw texts.hookWithoutGrad(undefined);
  const id = freshId();
  const fn = gradFnOf(t) as Node | null;
  let remove: () => void;
  if (fn === null) {
    const extra = extraOf(t);
    extra.hooks ??= new Map();
    extra.hooks.set(id, hook);
    remove = () => extra.hooks?.delete(id);
  } else {
    fn.preHooks ??= new Map();
    fn.preHooks.set(id, { index: t._outputNr, hook });
    remove = () => fn.preHooks?.delete(id);
  }
  return { remove, [Symbol.dispose]: remove };
}

/**
 * Calls `hook` with the leaf after a gradient was added to it.
 * @example
 * ```ts
 * const x = ones(2, { requiresGrad: true });
 * autograd.registerPostAccumulateGradHook(x, ({ data, grad }) => void (grad && data.sub_(grad.mul(0.1))));
 * x.mul(2).sum().backward();
 * x // tensor([0.8000, 0.8000], requires_grad=True)
 * ```
 * @torch Tensor.register_post_accumulate_grad_hook
 */
export function registerPostAccumulateGradHook(leaf: Tensor, hook: (leaf: Tensor) => void): HookHandle {
  [leaf, hook] = inOrder<[Tensor, (leaf: Tensor) => void]>(
    "registerPostAccumulateGradHook",
    FUNCTIONS.registerPostAccumulateGradHook,
    arguments,
  );
  requireTensors("register_post_accumulate_grad_hook", "self", [leaf]);
  if (typeof hook !== "function") throw texts.hookNotAFunction(undefined, kindOf(hook));
  if (!requiresGrad(leaf)) throw texts.hookWithoutGrad(undefined);
  if (gradFnOf(leaf) !== null) throw texts.accumulateHookNotOnLeaf(undefined);
  const id = freshId();
  const extra = extraOf(leaf);
  extra.postHooks ??= new Map();
  extra.postHooks.set(id, hook);
  const remove = (): void => {
    extra.postHooks?.delete(id);
  };
  return { remove, [Symbol.dispose]: remove };
}

/** `x.data`: no history, and a version of its own. */
function shallow(t: Tensor): Tensor {
  if (batchOf(t) !== null) throw texts.batchedData(undefined);
  const v = detach(t);
  v._version = new VersionCounter();
  return v;
}

/** `x.data = y` */
function setData(t: Tensor, value: Tensor): void {
  if (!(value instanceof Tensor)) throw texts.dataNotATensor("data", kindOf(value));
  if (batchOf(t) !== null) throw texts.batchedSetData(undefined);
  // As in torch: between tensors that have bytes.
  if (value.device !== t.device && value.isMeta !== t.isMeta) throw texts.dataIncompatible(undefined);
  if (requiresGrad(t) && value.dtype.category < 2) throw texts.dataNotDifferentiable(undefined);
  value._storage.claims++;
  t._storage.claims--;
  t._storage = value._storage;
  t.dtype = value.dtype;
  t._bits = value._bits;
  setGeometry(t, value._shape, value._strides, value._offset);
  const node = t._extra?.accumulate as Node | null | undefined;
  if (node) node.outputs = [{ shape: t._shape, dtype: t.dtype, device: t._storage.device }];
}
