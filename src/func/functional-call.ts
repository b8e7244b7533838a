/** Modules as functions of their parameters: `functionalCall`, `stackModuleState`. */

import { stack } from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import type { Module } from "../nn/module.ts";
import { inOrder, isDict } from "../tensor/checks.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { pythonText } from "./pytree.ts";
import { FUNCTIONS } from "./signatures.ts";

/** Parameters and buffers by their paths in the module. */
export type ModuleState = Readonly<Record<string, Tensor>>;

/** How `functionalCall` puts tensors into a module. */
export interface FunctionalCallOptions {
  /** A tensor takes the place of all parameters that are the same object as the one it names; true by default. */
  tieWeights?: boolean;
  /** The names have to be those of the module; false by default. */
  strict?: boolean;
}

/** A place of a module that holds a tensor. */
interface Slot {
  readonly holder: Map<string, Tensor | null>;
  readonly name: string;
}

/** Where each parameter and buffer of a module is, by its path. */
function slotsOf(module: Module): Map<string, Slot> {
  const found = new Map<string, Slot>();
  for (const [path, inner] of module.namedModules("", false)) {
    for (const holder of [inner._parameters, inner._buffers]) {
      for (const [name, t] of holder) {
        if (t !== null) found.set(path === "" ? name : `${path}.${name}`, { holder, name });
      }
    }
  }
  return found;
}

function oneState(given: unknown): Map<string, Tensor> {
  const list = Array.isArray(given) ? given : [given];
  if (!list.every(isDict)) {
    throw texts.functionalCallState(undefined, `<class '${typeName(list.find((one) => !isDict(one)))}'>`);
  }
  const state = new Map<string, Tensor>();
  const repeated: string[] = [];
  for (const [name, t] of list.flatMap((one) => Object.entries(one))) {
    if (!(t instanceof Tensor)) throw texts.functionalCallTensor(undefined, String(t));
    if (state.has(name)) repeated.push(name);
    state.set(name, t);
  }
  if (repeated.length > 0) throw texts.functionalCallTwice(undefined, pythonText(repeated, false));
  return state;
}

/** Names of the same tensor, for each name that has others. */
function tiedTo(slots: Map<string, Slot>): Map<string, string[]> {
  const byTensor = new Map<Tensor, string[]>();
  for (const [path, { holder, name }] of slots) {
    const t = holder.get(name) as Tensor;
    byTensor.set(t, [...(byTensor.get(t) ?? []), path]);
  }
  return new Map([...byTensor.values()].filter((list) => list.length > 1).flatMap((l) => l.map((path) => [path, l])));
}

function withTied(state: Map<string, Tensor>, slots: Map<string, Slot>): Map<string, Tensor> {
  const tied = tiedTo(slots);
  const all = new Map(state);
  for (const [name, t] of state) {
    const names = tied.get(name) ?? [];
    const given = names.filter((other) => state.has(other)).sort();
    if (given.some((other) => state.get(other) !== t)) {
      throw texts.functionalCallTied(undefined, pythonText(given, false));
    }
    for (const other of names) all.set(other, t);
  }
  return all;
}

function requireNames(module: Module, state: Map<string, Tensor>, slots: Map<string, Slot>): void {
  const list = (names: string[]) => names.map((name) => `'${name}'`).join(", ");
  const unexpected = [...state.keys()].filter((name) => !slots.has(name));
  const missing = [...slots.keys()].filter((name) => !state.has(name));
  const lines = [
    ...(unexpected.length > 0 ? [`\n\tUnexpected key(s): ${list(unexpected)}.`] : []),
    ...(missing.length > 0 ? [`\n\tMissing key(s): ${list(missing)}.`] : []),
  ];
  if (lines.length > 0) throw texts.functionalCallNames(undefined, module.constructor.name, lines.join(""));
}

/**
 * Calls a module with other tensors in the place of its parameters and buffers, which are as before afterwards. Those
 * that are not named stay. Gradients flow to the tensors that are given, and inside of `vmap` each example may have its
 * own.
 * @param module the module that is called
 * @param parameterAndBufferDicts tensors by their paths (`"layers.0.weight"`), or several such objects
 * @param args what the module is called with: a list of arguments, or the only one
 * @param kwargs options that the module is called with
 * @example
 * ```ts
 * const layer = new nn.Linear(3, 2);
 * func.functionalCall(layer, { weight: ones(2, 3), bias: zeros(2) }, ones(3)) // tensor([3., 3.])
 * ```
 * @throws ValueError when a name occurs twice or tied parameters get several values; RuntimeError with `strict`, when
 * the names are not those of the module; TypeError for a value that is no tensor
 * @torch torch.func.functional_call
 */
export function functionalCall(
  module: Module,
  parameterAndBufferDicts: ModuleState | readonly ModuleState[],
  args?: Tensor | readonly unknown[],
  kwargs?: Readonly<Record<string, unknown>> | null,
  options?: FunctionalCallOptions,
): Tensor;
export function functionalCall(...given: unknown[]): unknown {
  const [module, dicts, args, kwargs, options] = inOrder<
    [Module, unknown, unknown?, Readonly<Record<string, unknown>>?, FunctionalCallOptions?]
  >("functionalCall", FUNCTIONS.functionalCall, given);
  const slots = slotsOf(module);
  const own = oneState(dicts);
  const state = options?.tieWeights === false ? own : withTied(own, slots);
  if (options?.strict === true) requireNames(module, state, slots);
  const before: [Slot, Tensor | null][] = [];
  try {
    for (const [name, t] of state) {
      const slot = slots.get(name);
      if (slot === undefined) continue;
      before.push([slot, slot.holder.get(slot.name) ?? null]);
      slot.holder.set(slot.name, t);
    }
    const list = args === undefined || args === null ? [] : Array.isArray(args) ? args : [args];
    const call = module as unknown as (...all: unknown[]) => unknown;
    return kwargs === undefined || kwargs === null ? call(...list) : call(...list, kwargs);
  } finally {
    for (const [slot, t] of before.reverse()) slot.holder.set(slot.name, t);
  }
}

function stacked(name: string, list: readonly Tensor[]): Tensor {
  const wanted = list[0]?.requiresGrad ?? false;
  if (list.some((t) => t.requiresGrad !== wanted)) throw texts.stackedRequiresGrad(undefined, name);
  return stack(list, 0).detach().requiresGrad_(wanted);
}

/**
 * The parameters and the buffers of several modules of one class, each stacked in a new first dimension, by their
 * paths: for `vmap` over `functionalCall`, which then runs all modules at once.
 * @example
 * ```ts
 * const layers = [0, 1, 2].map(() => new nn.Linear(3, 2));
 * const [parameters] = func.stackModuleState(layers);
 * const run = func.vmap((p: typeof parameters, x: Tensor) => func.functionalCall(layers[0], p, x), [0, null]);
 * run(parameters, ones(5, 3)).shape // torch.Size([3, 5, 2])
 * ```
 * @throws RuntimeError without a module, and when modules differ in class, mode or what requires gradients
 * @torch torch.func.stack_module_state
 */
export function stackModuleState(models: readonly Module[]): [Record<string, Tensor>, Record<string, Tensor>] {
  [models] = inOrder<[readonly Module[]]>("stackModuleState", FUNCTIONS.stackModuleState, arguments);
  const list = [...models];
  const [first] = list;
  if (first === undefined) throw texts.stackedNoModel(undefined);
  if (list.some((m) => m.training !== first.training)) throw texts.stackedMode(undefined);
  if (list.some((m) => m.constructor !== first.constructor)) throw texts.stackedClass(undefined);
  const all = (members: (m: Module) => [string, Tensor][]): Record<string, Tensor> => {
    const each = list.map((m) => new Map(members(m)));
    const names = [...(each[0] as Map<string, Tensor>).keys()];
    return Object.fromEntries(
      names.map((name) => [
        name,
        stacked(
          name,
          each.map((m) => m.get(name) as Tensor),
        ),
      ]),
    );
  };
  return [all((m) => m.namedParameters()), all((m) => m.namedBuffers())];
}
