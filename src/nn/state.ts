/** The state of modules: saving it and loading it. */

import { noGrad } from "../autograd/api.ts";
import { RuntimeError, TypeError } from "../tensor/errors.ts";
import { take } from "../tensor/scope-state.ts";
import { listText, sameSizes } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { Parameter } from "./parameter.ts";
import type { Registered } from "./registers.ts";

/** Tensors by path. */
export type StateDict = Record<string, Tensor>;

/** Options of `stateDict`. */
export interface StateOptions {
  /** Receives the entries. */
  destination?: StateDict;
  /** Goes before every name. */
  prefix?: string;
  /** Gives the parameters themselves, not detached tensors. */
  keepVars?: boolean;
}

/** Options of `loadStateDict`. */
export interface LoadOptions {
  /** Refuse missing and unexpected names. Default true. */
  strict?: boolean;
  /** Take the tensors over instead of copying their elements. */
  assign?: boolean;
}

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/**
 * What a state and a module did not have in common.
 * @example
 * ```ts
 * const found = new nn.Linear(2, 1).loadStateDict({ weight: ones(1, 2), other: ones(1) },
 *   { strict: false });
 * [found.missingKeys, found.unexpectedKeys] // [[bias], [other]]
 * ```
 */
export class IncompatibleKeys {
  constructor(
    /** Keys of the module that the state did not have. */
    readonly missingKeys: readonly string[],
    /** Keys of the state that the module does not have. */
    readonly unexpectedKeys: readonly string[],
  ) {}
  /** As PyTorch prints it. */
  toString(): string {
    if (this.missingKeys.length === 0 && this.unexpectedKeys.length === 0) return "<All keys matched successfully>";
    const list = (keys: readonly string[]): string => `[${keys.map((k) => `'${k}'`).join(", ")}]`;
    return `_IncompatibleKeys(missing_keys=${list(this.missingKeys)}, unexpected_keys=${list(this.unexpectedKeys)})`;
  }
  [INSPECT](): string {
    return this.toString();
  }
}

export function saveState(module: Registered, options: StateOptions): StateDict {
  const out = options.destination ?? {};
  collect(module, options.prefix ?? "", options.keepVars ?? false, out);
  return out;
}

function collect(module: Registered, prefix: string, keepVars: boolean, out: StateDict): void {
  for (const [name, t] of stateOf(module)) if (t !== null) out[prefix + name] = keepVars ? t : t.detach();
  for (const [name, child] of module._modules) {
    if (child !== null) collect(child, `${prefix}${name}.`, keepVars, out);
  }
}

/** Parameters, then the buffers that belong to the state. */
function stateOf(module: Registered): [string, Tensor | null][] {
  const transient = module._nonPersistentBuffersSet;
  return [...module._parameters, ...[...module._buffers].filter(([name]) => !transient.has(name))];
}

/** The entries of what a user gave. */
function entriesOf(state: unknown): Map<string, unknown> {
  if (state instanceof Map) return state as Map<string, unknown>;
  const proto = typeof state === "object" && state !== null ? Object.getPrototypeOf(state) : undefined;
  if (proto === Object.prototype || proto === null) return new Map(Object.entries(state as object));
  const like = state as { keys?: () => Iterable<string>; get?: (key: string) => unknown };
  if (typeof like?.keys === "function" && typeof like.get === "function" && !Array.isArray(state)) {
    const out = new Map<string, unknown>();
    for (const key of like.keys()) out.set(key, like.get(key));
    return out;
  }
  throw new TypeError(`Expected stateDict to be dict-like, got <class '${typeName(state)}'>.`);
}

/** A value for a member of a module. */
interface Placed {
  readonly module: Registered;
  readonly name: string;
  readonly key: string;
  readonly target: Tensor;
  readonly value: Tensor;
}

/** What a state has for a module, and what is wrong with it. */
interface Report {
  readonly placed: Placed[];
  readonly missing: string[];
  readonly errors: string[];
  readonly expected: Set<string>;
}

/** Takes over a state. All of it is looked at first: one that does not fit changes nothing. */
export function loadState(module: Registered, state: unknown, options: LoadOptions): IncompatibleKeys {
  const entries = entriesOf(state);
  const report: Report = { placed: [], missing: [], errors: [], expected: new Set() };
  const visit = (m: Registered, prefix: string): void => {
    compareWith(m, prefix, entries, report);
    for (const [name, child] of m._modules) if (child !== null) visit(child, `${prefix}${name}.`);
  };
  visit(module, "");
  const { placed, missing, errors } = report;
  const unexpected = [...entries.keys()].filter((key) => !report.expected.has(key));
  if (options.strict ?? true) {
    const list = (keys: readonly string[]): string => keys.map((k) => `"${k}"`).join(", ");
    if (unexpected.length > 0) errors.unshift(`Unexpected key(s) in stateDict: ${list(unexpected)}. `);
    if (missing.length > 0) errors.unshift(`Missing key(s) in stateDict: ${list(missing)}. `);
  }
  if (errors.length === 0) {
    const put = options.assign === true ? replace : copyInto;
    noGrad(() => errors.push(...placed.flatMap((one) => attempted(one, put))));
  }
  if (errors.length > 0) {
    throw new RuntimeError(`Error(s) in loading stateDict for ${module._getName()}:\n\t${errors.join("\n\t")}`, {
      code: "state_dict",
    });
  }
  return new IncompatibleKeys(missing, unexpected);
}

function compareWith(module: Registered, prefix: string, entries: Map<string, unknown>, report: Report): void {
  for (const [name, target] of stateOf(module)) {
    if (target === null) continue;
    const key = prefix + name;
    report.expected.add(key);
    if (!entries.has(key)) {
      if (module._mayLack?.(name) !== true) report.missing.push(key);
      continue;
    }
    const found = fitting(key, target, entries.get(key));
    if (typeof found === "string") report.errors.push(found);
    else report.placed.push({ module, name, key, target, value: found });
  }
}

/** The value as its place needs it, or the text of what is wrong with it. */
function fitting(key: string, target: Tensor, given: unknown): Tensor | string {
  if (!(given instanceof Tensor)) {
    return (
      `While copying the parameter named "${key}", expected torch.Tensor or Tensor-like object from checkpoint but ` +
      `received <class '${typeName(given)}'>`
    );
  }
  // Old checkpoints have numbers as vectors of one element.
  const value = target.ndim === 0 && given.ndim === 1 && given._numel === 1 ? given.reshape([]) : given;
  if (!sameSizes(value._shape, target._shape)) {
    return (
      `size mismatch for ${key}: copying a param with shape torch.Size(${listText(value._shape)}) from checkpoint, ` +
      `the shape in current model is torch.Size(${listText(target._shape)}).`
    );
  }
  return value;
}

function copyInto({ target, value }: Placed): void {
  target.copy_(value);
}

/** The text of what went wrong. */
function attempted(one: Placed, put: (one: Placed) => void): string[] {
  try {
    put(one);
    return [];
  } catch (error) {
    const { key, target, value } = one;
    return [
      `While copying the parameter named "${key}", whose dimensions in the model are ` +
        `torch.Size(${listText(target._shape)}) and whose dimensions in the checkpoint are ` +
        `torch.Size(${listText(value._shape)}), an exception occurred : ('${(error as Error).message}',).`,
    ];
  }
}

function replace({ module, name, target, value }: Placed): void {
  if (!module._parameters.has(name)) {
    module._buffers.set(name, take(value));
    return;
  }
  const p = value instanceof Parameter ? value : new Parameter(value, target.requiresGrad);
  if (value instanceof Parameter) p.requiresGrad_(target.requiresGrad);
  module._parameters.set(name, p);
}
