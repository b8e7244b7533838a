// Collections as plain values, as JSON has them.
import { Tensor } from "../../tensor/tensor.ts";
import {
  entriesOf,
  isLazy,
  isNested,
  isNonTensor,
  isTensorCollection,
  type LazyTd,
  outlineOf,
  type Td,
} from "./state.ts";
import type { Entry } from "./types.ts";

function plainEntry(entry: Entry): unknown {
  if (entry instanceof Tensor) return entry.toJSON();
  return isNested(entry) ? entry.tolist() : plainTree(entry as Td);
}

/** True for tensors under one key whose shapes do not let them be stacked. */
function isRagged(lazy: LazyTd, key: string): boolean {
  const own = lazy.members.map((member) => outlineOf(member, key));
  const shapes = new Set(own.map((entry) => (entry instanceof Tensor ? entry._shape.join() : "")));
  return shapes.size > 1;
}

/** How collections become plain objects. */
export interface PlainOptions {
  /** Nested arrays of numbers instead of tensors; `"numpy"` gives what `numpy()` gives. */
  convertTensors?: boolean | "numpy";
  /** Lists of objects for nested collections with batch dimensions. */
  tolistFirst?: boolean;
  /** Keep values that are null; true without it. */
  retainNone?: boolean;
}

/** What a tensor becomes. */
export function plainTensor(convert: PlainOptions["convertTensors"]): (t: Tensor) => unknown {
  if (convert === "numpy") return (t) => t.detach().contiguous().typedArray();
  return convert ? (t) => t.tolist() : (t) => t;
}

/** A collection as a plain object. */
export function dictOf(td: Td, options: PlainOptions): Record<string, unknown> {
  const leaf = plainTensor(options.convertTensors);
  const made: Record<string, unknown> = {};
  for (const [key, entry] of entriesOf(td)) {
    if (entry instanceof Tensor) made[key] = leaf(entry);
    else if (isNonTensor(entry)) {
      const value = entry._kind === "nonTensor" && !options.tolistFirst ? entry.value_ : entry.tolist();
      if (value !== null || options.retainNone !== false) made[key] = value;
    } else if (!isTensorCollection(entry)) made[key] = options.convertTensors ? entry.tolist() : entry;
    else if (options.tolistFirst) made[key] = listOf(entry, { convertTensors: options.convertTensors ?? false });
    else made[key] = dictOf(entry, options);
  }
  return made;
}

/** Nested lists of the elements of a batch, each a plain object, or a collection where `nodes` is false. */
export function listOf(td: Td, options: PlainOptions, nodes = true): unknown {
  if (td._batchSize.length > 0) return (td.unbind(0) as Td[]).map((part) => listOf(part, options, nodes));
  return nodes ? dictOf(td, options) : td;
}

/** Plain values by key; of members of a stack that differ in shape, one after the other. */
export function plainTree(td: Td): unknown {
  if (isNonTensor(td)) {
    return td._kind === "nonTensor" ? td.value_ : td.tolist();
  }
  const plain: Record<string, unknown> = Object.create(null);
  for (const key of td._keys()) {
    plain[key] =
      isLazy(td) && isRagged(td, key)
        ? td.members.map((member) => plainEntry(member._own(key) as Entry))
        : plainEntry(td._own(key) as Entry);
  }
  return plain;
}
