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

/** Plain objects of what `leaf` gives for each tensor, and of wrapped values as they are. */
export function recordOf(td: Td, leaf: (t: Tensor) => unknown): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [key, entry] of entriesOf(td)) {
    if (entry instanceof Tensor) made[key] = leaf(entry);
    else if (isNonTensor(entry)) made[key] = entry._kind === "nonTensor" ? entry.value_ : entry.tolist();
    else made[key] = isTensorCollection(entry) ? recordOf(entry, leaf) : entry;
  }
  return made;
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
