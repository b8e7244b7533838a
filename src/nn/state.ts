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

export function loadState(module: Registered, state: unknown, options: LoadOptions): IncompatibleKeys {
  const entries = entriesOf(state);
  const strict = options.strict ?? true;
  const missing: string[] = [];
  const errors: string[] = [];
  const expected = new Set<string>();
  noGrad(() => {
    const visit = (m: Registered, prefix: string): void => {
      loadInto(m, prefix, entries, options.assign ?? false, { missing, errors, expected });
      for (const [name, child] of m._modules) if (child !== null) visit(child, `${prefix}${name}.`);
    };
    visit(module, "");
  });
  const unexpected = [...entries.keys()].filter((key) => !expected.has(key));
  if (strict) {
    const list = (keys: readonly string[]): string => keys.map((k) => `"${k}"`).join(", ");
    if (unexpected.length > 0) errors.unshift(`Unexpected key(s) in stateDict: ${list(unexpected)}. `);
    if (missing.length > 0) errors.unshift(`Missing key(s) in stateDict: ${list(missing)}. `);
  }
  if (errors.length > 0) {
    throw new RuntimeError(`Error(s) in loading stateDict for ${module._getName()}:\n\t${errors.join("\n\t")}`, {
      code: "state_dict",
    });
  }
  return new IncompatibleKeys(missing, unexpected);
}

interface Report {
  readonly missing: string[];
  readonly errors: string[];
  readonly expected: Set<string>;
}

function loadInto(
  module: Registered,
  prefix: string,
  entries: Map<string, unknown>,
  assign: boolean,
  report: Report,
): void {
  for (const [name, target] of stateOf(module)) {
    if (target === null) continue;
    const key = prefix + name;
    report.expected.add(key);
    if (!entries.has(key)) {
      if (module._mayLack?.(name) !== true) report.missing.push(key);
      continue;
    }
    const problem = place(module, name, key, target, entries.get(key), assign);
    if (problem !== null) report.errors.push(problem);
  }
}

/** Puts one value into its place; the text of what went wrong, or null. */
function place(
  module: Registered,
  name: string,
  key: string,
  target: Tensor,
  given: unknown,
  assign: boolean,
): string | null {
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
  try {
    if (assign) replace(module, name, target, value);
    else target.copy_(value);
    return null;
  } catch (error) {
    return (
      `While copying the parameter named "${key}", whose dimensions in the model are ` +
      `torch.Size(${listText(target._shape)}) and whose dimensions in the checkpoint are ` +
      `torch.Size(${listText(value._shape)}), an exception occurred : ('${(error as Error).message}',).`
    );
  }
}

function replace(module: Registered, name: string, target: Tensor, value: Tensor): void {
  if (!module._parameters.has(name)) {
    module._buffers.set(name, take(value));
    return;
  }
  const p = value instanceof Parameter ? value : new Parameter(value, target.requiresGrad);
  if (value instanceof Parameter) p.requiresGrad_(target.requiresGrad);
  module._parameters.set(name, p);
}
