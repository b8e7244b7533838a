// Operations on the set of keys: selecting, excluding, flattening.
import { KeyError } from "../tensor/errors.ts";
import { Tensor } from "../tensor/tensor.ts";
import { deleteEntry, findEntry, requireEntry, setEntry } from "./access.ts";
import { keyPath, pythonString } from "./keys.ts";
import { Collection, entriesOf, isBranch, make, requireUnlocked, stateOf, type Td } from "./state.ts";
import type { Entry, NestedKey } from "./types.ts";

/** Options at the end of a list of keys. */
export interface KeyOptions {
  inplace?: boolean;
  /** Missing keys are errors; true by default. */
  strict?: boolean;
}

function splitArguments(list: readonly (NestedKey | KeyOptions)[]): {
  keys: NestedKey[];
  options: KeyOptions;
} {
  const last = list.at(-1);
  const options = typeof last === "object" && !Array.isArray(last) ? (last as KeyOptions) : {};
  const keys = (options === last ? list.slice(0, -1) : list) as NestedKey[];
  return { keys, options };
}

/** @torch TensorDict.select */
export function selectKeys(td: Td, list: readonly (NestedKey | KeyOptions)[]): Td {
  const { keys, options } = splitArguments(list);
  const result = emptyLike(td);
  for (const key of keys) {
    const entry = options.strict === false ? findEntry(td, key) : requireEntry(td, key);
    if (entry === undefined) continue;
    copyPath(td, result, keyPath(key), entry);
  }
  return options.inplace ? replaceEntries(td, result) : result;
}

function emptyLike(td: Td): Td {
  return td._kind === "lazy" ? make.tensordict(new Map(), stateOf(td)) : td._like(new Map(), stateOf(td));
}

// Levels on the way keep their own batch size and names.
function copyPath(from: Td, to: Td, path: readonly string[], entry: Entry): void {
  let source = from;
  let target = to;
  for (const part of path.slice(0, -1)) {
    source = source._own(part) as Td;
    let next = target._own(part);
    if (!(next instanceof Collection)) {
      next = emptyLike(source);
      target._put(part, next);
    }
    target = next as Td;
  }
  target._put(path.at(-1) as string, entry);
}

function replaceEntries(td: Td, source: Td): Td {
  requireUnlocked(td);
  const entries = [...entriesOf(source)];
  for (const key of [...td._keys()]) td._drop(key);
  for (const [key, entry] of entries) td._put(key, entry);
  return td;
}

/** @torch TensorDict.exclude */
export function excludeKeys(td: Td, list: readonly (NestedKey | KeyOptions)[]): Td {
  const { keys, options } = splitArguments(list);
  const result = options.inplace ? td : shallowTree(td);
  for (const key of keys) if (findEntry(result, key) !== undefined) deleteEntry(result, key);
  return result;
}

/** The same tensors in fresh collections. */
export function shallowTree(td: Td): Td {
  const entries = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    entries.set(key, isBranch(entry) ? shallowTree(entry) : entry);
  }
  return td._like(entries, stateOf(td));
}

/** @torch TensorDict.flatten_keys */
export function flattenKeysTd(td: Td, separator: string, inplace: boolean): Td {
  const flat = new Map<string, Entry>();
  const paths = new Map<string, readonly string[]>();
  const visit = (level: Td, prefix: readonly string[]) => {
    for (const [key, entry] of entriesOf(level)) {
      const path = [...prefix, key];
      if (isBranch(entry)) {
        visit(entry, path);
        continue;
      }
      const name = path.join(separator);
      const other = paths.get(name);
      if (other !== undefined) {
        const both = [other, path]
          .filter((one) => one.length > 1)
          .map((one) => `(${one.map(pythonString).join(", ")})`);
        throw new KeyError(`Flattening keys in tensordict causes keys [${both.join(", ")}] to collide.`);
      }
      paths.set(name, path);
      flat.set(name, entry);
    }
  };
  visit(td, []);
  const result = make.tensordict(flat, stateOf(td));
  return inplace ? replaceEntries(td, result) : result;
}

/** @torch TensorDict.unflatten_keys */
export function unflattenKeysTd(td: Td, separator: string, inplace: boolean): Td {
  const result = make.tensordict(new Map(), stateOf(td));
  for (const [key, entry] of entriesOf(td)) {
    const path = separator === "" ? [key] : key.split(separator);
    const clash = path.length > 1 && findEntry(result, path.slice(0, -1)) instanceof Tensor;
    if (clash)
      throw new KeyError(
        "Unflattening key(s) in tensordict will override an existing for unflattened key " +
          `${pythonString(path[0] as string)}.`,
      );
    setEntry(result, path, entry);
  }
  return inplace ? replaceEntries(td, result) : result;
}
