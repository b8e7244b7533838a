// State dictionaries: tensors by flat or nested key, for checkpoints and modules.
import { KeyError, RuntimeError } from "../../tensor/errors.ts";
import { setOwn } from "../../tensor/objects.ts";
import { sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { isSource } from "../core/convert.ts";
import { pythonString } from "../core/keys.ts";
import { noNested } from "../core/nested.ts";
import { Collection, entriesOf, isBranch, isClassTd, isNested, isNonTensor, type Td } from "../core/state.ts";
import { likeEntry } from "../core/unbatched.ts";
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
  const keep = (t: Tensor) => (options.keepVars ? t : likeEntry(t, t.detach()));
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
  /** Missing keys and other ones are errors. */
  strict?: boolean;
  /** Replace entries instead of writing into them. */
  assign?: boolean;
}

type StateSource = Record<string, unknown> | ReadonlyMap<string, unknown>;

/** What Python's state dictionaries say of a level beside its entries. */
const ABOUT = new Set(["__batch_size", "__device"]);

function pairsOf(state: StateSource): [string, unknown][] {
  const pairs: [string, unknown][] = state instanceof Map ? [...state] : Object.entries(state);
  return pairs.filter(([key]) => !ABOUT.has(key));
}

/** The state of an object of a class: older versions of Python's tensordict wrote its tensors a level below. */
function stateOfClass(state: StateSource): StateSource {
  const inner = new Map(pairsOf(state)).get("_tensordict");
  return isSource(inner) ? inner : state;
}

const setText = (keys: readonly string[]): string =>
  keys.length === 0 ? "set()" : `{${keys.map(pythonString).join(", ")}}`;

/** Throws where the keys of a level and of its state differ; a class takes less, and with `strict` false drops more. */
function requireKeys(td: Td, state: StateSource, strict: boolean): void {
  const given = pairsOf(isClassTd(td) ? stateOfClass(state) : state);
  const names = new Set(given.map(([key]) => key));
  if (isClassTd(td)) {
    const odd = given.find(
      ([key]) => findEntry(td, resolveKey(td, [key])) === undefined && !td._fieldNames().includes(key),
    );
    if (odd !== undefined && strict) throw new KeyError(`Key '${odd[0]}' wasn't expected in the state-dict.`);
  } else if (strict) {
    const extra = [...names].filter((key) => findEntry(td, resolveKey(td, [key])) === undefined);
    const paths = new Set([...names].map((key) => resolveKey(td, [key]).join("\0")));
    const missing: string[] = [];
    for (const [key, entry] of entriesOf(td)) {
      if (names.has(key) || isNonTensor(entry)) continue;
      if (entry instanceof Tensor || isNested(entry)) missing.push(key);
      else
        for (const [path] of statesOf(entry))
          if (!paths.has([key, ...path].join("\0"))) missing.push([key, ...path].join("."));
    }
    if (extra.length > 0 || missing.length > 0) {
      throw new RuntimeError(
        "Cannot load state-dict because the key sets don't match: got state_dict extra keys \n" +
          `${setText(extra)}\n and tensordict extra keys\n${setText(missing)}\n`,
      );
    }
  }
  for (const [key, value] of given) {
    const own = findEntry(td, [key]);
    if (isBranch(own) && isSource(value)) requireKeys(own, value, strict);
  }
}

/** Adds the tensors of a state to `out`, each with its path; `path` leads to this level and is as before afterwards. */
function flattenState(td: Td | null, state: StateSource, path: string[], out: [readonly string[], Tensor][]): void {
  const known = td !== null && isClassTd(td) ? td._fieldNames() : null;
  for (const [key, value] of pairsOf(known === null ? state : stateOfClass(state))) {
    if (known !== null && td !== null && !known.includes(resolveKey(td, [key])[0] as string)) continue;
    path.push(key);
    const own = td === null ? undefined : findEntry(td, [key]);
    if (value instanceof Tensor) out.push([[...path], value]);
    else if (value instanceof Collection) {
      for (const [inner, t] of statesOf(value as Td)) out.push([[...path, ...inner], t]);
    } else if (isSource(value)) flattenState(isBranch(own) ? own : null, value, path, out);
    else throw new RuntimeError(`the state of ${pythonString(path.join("."))} is neither a tensor nor a dictionary`);
    path.pop();
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
  // What is restored into nothing, as from a snapshot, has all keys of its own.
  const fresh = !isClassTd(td) && [...td._keys()].length === 0;
  requireKeys(td, state, options.strict !== false && !fresh);
  const flat: [readonly string[], Tensor][] = [];
  flattenState(td, state, [], flat);
  const targets = flat.map(([path, t]): [readonly string[], Tensor] => [resolveKey(td, path), t]);
  allOrNothing((writes) => {
    for (const [path, t] of targets) {
      const own = findEntry(td, path);
      if (own === t || (own instanceof Tensor && sameElements(own, t))) continue;
      if (own === undefined || options.assign) planSet(td, path, t, writes);
      else planInPlace(td, path, t, writes);
    }
  });
}
