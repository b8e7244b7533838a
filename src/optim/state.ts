/** The state of optimisers: saving and loading it, with PyTorch's names and numbers. */

import { isDict } from "../tensor/checks.ts";
import { float32 } from "../tensor/dtype.ts";
import { KeyError, TypeError, ValueError } from "../tensor/errors.ts";
import { take } from "../tensor/scope-state.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { type ParamGroup, plainNumber, withOwnNames } from "./groups.ts";

/** A group in a state dict: parameters are numbers there. */
export interface SavedGroup {
  /** The numbers of its parameters, counted through all groups. */
  params: number[];
  /** Their names, where they were given with names. */
  param_names?: string[];
  // biome-ignore lint/suspicious/noExplicitAny: each optimiser has its own options
  [option: string]: any;
}

/** The state of an optimiser, as files have it. */
export interface OptimizerState {
  /** What is remembered of each parameter, by its number; an object with such keys may be given. */
  state: Map<number, Record<string, unknown>> | Readonly<Record<string, Record<string, unknown>>>;
  /** The groups' options. */
  param_groups: SavedGroup[];
  // biome-ignore lint/suspicious/noExplicitAny: hooks may add what they like
  [entry: string]: any;
}

export function packed(groups: readonly ParamGroup[], state: ReadonlyMap<Tensor, object>): OptimizerState {
  const numbers = new Map<Tensor, number>();
  let start = 0;
  const saved = groups.map(({ params, ...options }): SavedGroup => {
    params.forEach((p, i) => {
      if (!numbers.has(p)) numbers.set(p, start + i);
    });
    start += params.length;
    return { ...options, params: params.map((p) => numbers.get(p) as number) };
  });
  const byNumber = new Map<number, Record<string, unknown>>();
  for (const [p, one] of state) byNumber.set(numbers.get(p) ?? (p as never), one as Record<string, unknown>);
  return { state: byNumber, param_groups: saved };
}

/** Copies of options: what is changed in a group later, the saved state does not follow. */
function copyOf(value: unknown): unknown {
  if (value instanceof Tensor) return value.clone();
  if (!Array.isArray(value)) return isDict(value) ? { ...value } : plainNumber(value);
  const copy = value.map(copyOf);
  return Object.isFrozen(value) ? Object.freeze(copy) : copy;
}

/** A value of the state as the parameter needs it: its dtype for floats, its device. */
function fitted(p: Tensor, value: unknown, key: string, group: ParamGroup): unknown {
  if (value instanceof Tensor) {
    if (key === "step") return group.capturable || group.fused ? value.to(p.device, float32) : value;
    return p.dtype.category === 2 ? value.to(p.device, p.dtype) : value.to(p.device);
  }
  if (value instanceof Map) return new Map([...value].map(([k, v]) => [k, fitted(p, v, String(k), group)]));
  if (Array.isArray(value)) return value.map((v) => fitted(p, v, "", group));
  if (!isDict(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fitted(p, v, k, group)]));
}

/** Entries of the state by number: files have a Map, programs may give an object. */
function entriesOf(state: OptimizerState["state"]): [unknown, Record<string, unknown>][] {
  if (state instanceof Map) return [...state].map(([k, v]) => [k, v instanceof Map ? Object.fromEntries(v) : v]);
  return Object.entries(state).map(([k, v]) => [/^\d+$/.test(k) ? Number(k) : k, v]);
}

export function loadedState(groups: readonly ParamGroup[], given: OptimizerState) {
  const saved = given?.param_groups;
  if (!Array.isArray(saved)) throw new KeyError("'param_groups'");
  if (groups.length !== saved.length) {
    throw new ValueError("loaded state dict has a different number of parameter groups");
  }
  if (!saved.every((group) => isDict(group) && Array.isArray(group.params))) throw new KeyError("'params'");
  if (groups.some((group, i) => group.params.length !== (saved[i] as SavedGroup).params.length)) {
    throw new ValueError(
      "loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
    );
  }
  if (typeof given.state !== "object" || given.state === null) throw new KeyError("'state'");
  const params = new Map<unknown, { p: Tensor; group: ParamGroup }>();
  const loaded = groups.map((group, i): ParamGroup => {
    const { params: numbers, ...options } = saved[i] as SavedGroup;
    const made: ParamGroup = { params: group.params };
    for (const [key, value] of Object.entries(options)) made[key] = copyOf(value);
    if (group.param_names !== undefined && made.param_names === undefined) made.param_names = group.param_names;
    numbers.forEach((n, k) => {
      params.set(n, { p: group.params[k] as Tensor, group: made });
    });
    return withOwnNames(made);
  });
  const state = new Map<Tensor, Record<string, unknown>>();
  for (const [number, one] of entriesOf(given.state)) {
    const found = params.get(number);
    if (found === undefined) state.set(number as never, one);
    else if (isDict(one)) state.set(found.p, fitted(found.p, one, "", found.group) as Record<string, unknown>);
    else throw new TypeError(`the state of a parameter has to be a dict, not ${typeName(one)}`);
  }
  take(state);
  return { state, groups: loaded };
}
