/**
 * Steps in two parts: all groups are looked at, their numbers and the states of their parameters, before the first
 * parameter is written. Groups and states may come from files.
 */
import { hasInternalOverlap } from "../dispatch/overlap.ts";
import { isDict } from "../tensor/checks.ts";
import { Complex, isScalar, scalarToNumber } from "../tensor/complex.ts";
import { KeyError, RuntimeError, TypeError } from "../tensor/errors.ts";
import { requireKept } from "../tensor/storage.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import type { ParamGroup } from "./groups.ts";
import { inOneCall } from "./lists.ts";

type List = readonly Tensor[];

/** What an optimiser remembers of one parameter. */
// biome-ignore lint/suspicious/noExplicitAny: of any optimiser
export type ParamState = Record<string, any>;

/** Writes what a step of one group changes; null where it changes nothing. */
export type Plan = (() => void) | null;

/** Options of an optimiser that are numbers. */
export interface Numbers {
  /** Their names in groups. */
  readonly keys: readonly string[];
  /** Those that its operators take as tensors, too; of others the number is read. */
  readonly tensors: readonly string[];
}

/** Lists of one group: what a step reads and writes. */
export interface Lists {
  readonly params: List;
  readonly grads: List;
  /** States like their parameters, by their names in files. */
  readonly states: Readonly<Record<string, List>>;
  /** Numbers of steps, where the optimiser counts them. */
  readonly steps: List;
}

function requireOneNumber(key: string, t: Tensor): void {
  requireKept(t._storage);
  if (t._numel !== 1) {
    throw new RuntimeError(`\`${key}\`: a Tensor with ${t._numel} elements cannot be converted to Scalar`);
  }
  if (t.dtype.category === 3) throw new TypeError(`\`${key}\` has to be a real number, not a Tensor of ${t.dtype}`);
}

/** An option as operators take it. */
function checked(key: string, value: unknown, keepsTensor: boolean): number | Tensor {
  if (typeof value === "number") return value;
  if (value instanceof Tensor) {
    requireOneNumber(key, value);
    return keepsTensor ? value : Number(value.item());
  }
  if (isScalar(value) && !(value instanceof Complex)) return scalarToNumber(value);
  throw new TypeError(`the option \`${key}\` of a parameter group has to be a number, not ${typeName(value)}`);
}

function checkedPair(value: unknown): readonly (number | Tensor)[] {
  if (!Array.isArray(value) || value.length !== 2) {
    const got = Array.isArray(value) ? `${value.length} values` : typeName(value);
    throw new TypeError(`the option \`betas\` of a parameter group has to be a pair of numbers, not ${got}`);
  }
  const pair = value.map((x, i) => checked(`betas[${i}]`, x, true));
  return pair.every((x, i) => x === value[i]) ? value : pair;
}

/** The group with options that are numbers: itself, unless some are numbers in another form. */
export function withNumbers(group: ParamGroup, { keys, tensors }: Numbers): ParamGroup {
  let out = group;
  for (const key of keys) {
    const value = group[key];
    if (typeof value === "number") continue;
    if (value === undefined) throw new KeyError(`'${key}'`);
    const plain = key === "betas" ? checkedPair(value) : checked(key, value, tensors.includes(key));
    if (plain !== value) out = out === group ? { ...group, [key]: plain } : Object.assign(out, { [key]: plain });
  }
  return out;
}

/** What is remembered of a parameter; null where that is nothing yet. */
export function knownState(all: ReadonlyMap<Tensor, ParamState>, p: Tensor): ParamState | null {
  const state = all.get(p);
  if (state === undefined) return null;
  if (state?.step !== undefined) return state;
  if (!isDict(state)) throw new TypeError(`the state of a parameter has to be a dict, not ${typeName(state)}`);
  return Object.keys(state).length === 0 ? null : state;
}

function requireTensor(key: string, value: unknown): asserts value is Tensor {
  if (value === undefined) throw new KeyError(`'${key}'`);
  if (!(value instanceof Tensor)) {
    throw new TypeError(`the state \`${key}\` of a parameter has to be a Tensor, not ${typeName(value)}`);
  }
  requireKept(value._storage);
}

const sizesText = (t: Tensor): string => `[${t._shape.join(", ")}]`;

function requireSizes(p: Tensor, t: Tensor): void {
  const dim = p._shape.findIndex((n, at) => n !== t._shape[at]);
  if (dim < 0 && t.ndim === p.ndim) return;
  if (dim < 0 || t.ndim !== p.ndim) {
    throw new RuntimeError(`output with shape ${sizesText(t)} doesn't match the broadcast shape ${sizesText(p)}`);
  }
  const [a, b] = [p._shape[dim], t._shape[dim]];
  throw new RuntimeError(
    `The size of tensor a (${a}) must match the size of tensor b (${b}) at non-singleton dimension ${dim}`,
  );
}

/** Running averages are moved by `lerp_`, which takes one dtype only. */
const LERPED = new Set(["exp_avg", "grad_avg"]);

/** Refuses states that operators would refuse half way through a step. */
function requireStates({ params, states, steps }: Lists): void {
  for (const p of params) requireWritable("a parameter", p);
  for (const [key, list] of Object.entries(states)) {
    for (const [i, p] of params.entries()) {
      const t: unknown = list[i];
      requireTensor(key, t);
      requireSizes(p, t);
      const fits = LERPED.has(key) ? t.dtype === p.dtype : t.dtype.category === p.dtype.category;
      if (!fits) {
        throw new TypeError(`the state \`${key}\` of a parameter of ${p.dtype} has the dtype ${t.dtype}`);
      }
      if (t.device !== p.device) {
        throw new RuntimeError(
          `Expected all tensors to be on the same device, but the state \`${key}\` of a parameter on ${p.device} is ` +
            `on ${t.device}`,
        );
      }
      requireWritable(`the state \`${key}\``, t);
    }
  }
  for (const t of steps) {
    requireTensor("step", t);
    requireOneNumber("step", t);
    if (t.dtype.category === 0) throw new TypeError(`the state \`step\` of a parameter has the dtype ${t.dtype}`);
  }
}

function requireWritable(what: string, t: Tensor): void {
  if (!hasInternalOverlap(t)) return;
  throw new RuntimeError(
    `${what}: unsupported operation: more than one element of the written-to tensor refers to a single memory ` +
      "location. Please clone() the tensor before performing the operation.",
  );
}

/** Whether one native call makes the step. If not, or if `apart` says so, everything is looked at for operators. */
export function goesInOneCall(lists: Lists, numbers: readonly unknown[], apart: unknown): boolean {
  const { params, grads, states, steps } = lists;
  if (!apart && inOneCall(params, grads, Object.values(states), steps, numbers)) return true;
  requireStates(lists);
  return false;
}
