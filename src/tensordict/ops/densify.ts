// Dense TensorDicts in the place of lazy stacks: what differs in shape from member to member becomes a nested tensor.
import { NotImplementedError, RuntimeError } from "../../tensor/errors.ts";
import { Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { mapEntries } from "../core/mapping.ts";
import {
  isBranch,
  isClassTd,
  isLazy,
  isNested,
  isTensorCollection,
  type LazyTd,
  make,
  outlinesOf,
  stateOf,
  type Td,
} from "../core/state.ts";
import { stackTensors, zeros } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { lazyStackTds } from "./stacking.ts";

/** Layouts of nested tensors, by PyTorch's names; both are stored alike here. */
export type NestedLayout = "strided" | "jagged";

function holdsLazy(td: Td): boolean {
  if (isLazy(td)) return true;
  if (isClassTd(td) && td._source !== null) return holdsLazy(td._source);
  return [...outlinesOf(td)].some(([, entry]) => isBranch(entry) && holdsLazy(entry));
}

/** What a member has in the place of an entry that only others have: no rows, or no last dimension. */
function emptyEntry(known: readonly Tensor[], rank: number): Tensor {
  const [first] = known as [Tensor];
  const shape = [...first._shape];
  if (shape.length === rank) {
    throw new RuntimeError(
      `Cannot densify a tensordict with values with empty shape and exclusive keys: got shape ${first.shape}.`,
    );
  }
  const alike = known.every((t) => sameSizes(t._shape.slice(rank + 1), shape.slice(rank + 1)));
  shape[alike ? rank : shape.length - 1] = 0;
  return zeros(shape, { dtype: first.dtype, device: first.device });
}

function denseEntry(lazy: LazyTd, key: string): Entry | null {
  const own = lazy.members.map((member) => member._own(key));
  const known = own.filter((entry) => entry instanceof Tensor);
  const there = own.filter((entry) => entry !== undefined);
  if (known.length < there.length) {
    if (there.length < own.length || !there.every(isTensorCollection)) return null;
    return densifyTd(lazyStackTds(there, lazy.stackDim));
  }
  if (known.length === own.length && known.every((t) => sameSizes(t._shape, (known[0] as Tensor)._shape))) {
    return stackTensors(known, lazy.stackDim);
  }
  if (lazy.stackDim !== 0) {
    throw new NotImplementedError(`stack_dim is ${lazy.stackDim} but not 0. Densify canot be done.`);
  }
  const rank = lazy._batchSize.length - 1;
  const parts = own.map((entry) => (entry instanceof Tensor ? entry : emptyEntry(known, rank)));
  const odd = parts.findIndex((t) => t.ndim !== (parts[0] as Tensor).ndim);
  if (odd < 0) return make.nested(parts);
  throw new RuntimeError(
    "All Tensors given to nested_tensor must have the same dimension. Found dimension " +
      `${(parts[odd] as Tensor).ndim} for Tensor at index ${odd} and dimension ${(parts[0] as Tensor).ndim} for ` +
      "Tensor at index 0.",
  );
}

function denseLevel(lazy: LazyTd): Td {
  const keys = new Set(lazy.members.flatMap((member) => [...member._keys()]));
  const entries = new Map<string, Entry>();
  for (const key of keys) {
    const entry = denseEntry(lazy, key);
    entries.set(key, entry ?? make.nonTensor(null, stateOf(lazy, { names: null })));
  }
  return make.tensordict(entries, stateOf(lazy, { batchSize: Size.fromList([...lazy._batchSize]) }));
}

/** The same entries without lazy stacks; a collection that holds none is given as it is. @torch TensorDict.densify */
export function densifyTd(td: Td, layout: NestedLayout = "strided"): Td {
  if (layout !== "strided" && layout !== "jagged") {
    throw new RuntimeError(`Specified layout is unsupported for nested tensors: torch.${layout}`);
  }
  if (!isBranch(td) || !holdsLazy(td)) return td;
  if (isClassTd(td) && td._source !== null) return td._around(densifyTd(td._source));
  if (isLazy(td)) return denseLevel(td);
  return mapEntries(td, (entry) => (isBranch(entry) && !isNested(entry) ? densifyTd(entry) : entry));
}
