// State dictionaries: tensors by flat or nested key, for checkpoints and modules.
import { KeyError, RuntimeError } from "../../tensor/errors.ts";
import { setOwn } from "../../tensor/objects.ts";
import { sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { isSource } from "../core/convert.ts";
import { pythonString } from "../core/keys.ts";
import { noNested } from "../core/nested.ts";
import { Collection, entriesOf, isNested, isNonTensor, type Td } from "../core/state.ts";
import { findEntry } from "./access.ts";
import { allOrNothing, planInPlace, planSet } from "./writes.ts";

/** How a state dictionary is made. */
export interface StateDictOptions {
  /** One level with keys joined by dots; otherwise nested. */
  flatten?: boolean;
  /** What stands before every key. */
  prefix?: string;
  /** The tensors themselves, with their history; otherwise detached. */
  keepVars?: boolean;
}

/** Tensors by key. */
export interface TensorState {
  [key: string]: Tensor | TensorState;
}

/** Every tensor of the tree with its path; a lazy stack gives copies, stacked. */
function* statesOf(td: Td, prefix: readonly string[] = []): Generator<[readonly string[], Tensor]> {
  for (const [key, entry] of entriesOf(td)) {
    const path = [...prefix, key];
    if (entry instanceof Tensor) yield [path, entry];
    else if (isNested(entry)) throw noNested("a state dict", path.join("."));
    else if (!isNonTensor(entry)) yield* statesOf(entry as Td, path);
  }
}

/** @torch TensorDict.state_dict */
export function stateDictOf(td: Td, options: StateDictOptions = {}): TensorState {
  const keep = (t: Tensor) => (options.keepVars ? t : t.detach());
  const prefix = options.prefix ?? "";
  const state: TensorState = {};
  if (options.flatten === false) {
    for (const [key, entry] of entriesOf(td)) {
      if (entry instanceof Tensor) setOwn<Tensor | TensorState>(state, prefix + key, keep(entry));
      else if (isNested(entry)) throw noNested("a state dict", key);
      else if (!isNonTensor(entry))
        setOwn<Tensor | TensorState>(state, prefix + key, stateDictOf(entry as Td, { ...options, prefix: "" }));
    }
    return state;
  }
  for (const [path, t] of statesOf(td)) {
    const name = prefix + path.join(".");
    if (Object.hasOwn(state, name)) {
      throw new KeyError(
        `Flattening keys in tensordict causes keys to collide in the flat state dict key ${pythonString(name)}. ` +
          "Use stateDict({ flatten: false }) to keep them apart.",
      );
    }
    setOwn<Tensor | TensorState>(state, name, keep(t));
  }
  return state;
}

/** How a state dictionary is loaded. */
export interface LoadStateOptions {
  /** Missing keys are errors. */
  strict?: boolean;
  /** Replace entries instead of writing into them. */
  assign?: boolean;
}

type StateSource = Record<string, unknown> | ReadonlyMap<string, unknown>;

function flattenState(state: StateSource, prefix: readonly string[], out: [readonly string[], Tensor][]): void {
  const pairs: [string, unknown][] = state instanceof Map ? [...state] : Object.entries(state);
  for (const [key, value] of pairs) {
    const path = [...prefix, key];
    if (value instanceof Tensor) out.push([path, value]);
    else if (value instanceof Collection) {
      for (const [inner, t] of statesOf(value as Td)) out.push([[...path, ...inner], t]);
    } else if (isSource(value)) flattenState(value, path, out);
    else throw new RuntimeError(`the state of ${pythonString(path.join("."))} is neither a tensor nor a dictionary`);
  }
}

// A flat key may be one key with dots or a path: what is there already decides.
function resolveKey(td: Td, path: readonly string[]): readonly string[] {
  if (findEntry(td, path) !== undefined) return path;
  return path.flatMap((part) => part.split("."));
}

/** True for two views of the same elements: writing one into the other changes nothing. */
function sameElements(a: Tensor, b: Tensor): boolean {
  const same = a._storage === b._storage && a._offset === b._offset && a._bits === b._bits && a.dtype === b.dtype;
  return same && sameSizes(a._shape, b._shape) && sameSizes(a._strides, b._strides);
}

/** @torch TensorDict.load_state_dict */
export function loadStateDictInto(td: Td, state: StateSource, options: LoadStateOptions = {}): void {
  const flat: [readonly string[], Tensor][] = [];
  flattenState(state, [], flat);
  const targets = flat.map(([path, t]): [readonly string[], Tensor] => [resolveKey(td, path), t]);
  if (options.strict !== false) {
    const given = new Set(targets.map(([path]) => path.join("\0")));
    const missing = [...statesOf(td)].map(([path]) => path).filter((path) => !given.has(path.join("\0")));
    if (missing.length > 0) {
      const names = missing.map((path) => pythonString(path.join("."))).join(", ");
      throw new RuntimeError(
        `Error(s) in loading state_dict for ${td._className}: Missing key(s) in state_dict: ${names}.`,
      );
    }
  }
  allOrNothing((writes) => {
    for (const [path, t] of targets) {
      const own = findEntry(td, path);
      if (own === t || (own instanceof Tensor && sameElements(own, t))) continue;
      if (own === undefined || options.assign) planSet(td, path, t, writes);
      else planInPlace(td, path, t, writes);
    }
  });
}
