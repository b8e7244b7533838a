// Comparisons of all tensors of a tree, and of the values beside them.

import { isNumber } from "../../tensor/checks.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { mapEntries, mapMembers } from "../core/mapping.ts";
import { noNested } from "../core/nested.ts";
import {
  isLazy,
  isNested,
  isNonTensor,
  isTensorCollection,
  make,
  stateOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import { full, tensor } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { likeEntry } from "../core/unbatched.ts";
import {
  type BinaryFunction,
  binaryTd,
  broadcastBatch,
  grow,
  type Operand,
  operand,
  requireSameKeys,
} from "./pointwise.ts";
import { valuesOf } from "./stacking.ts";

/** What `eq` and `ne` of a number give for values, as in Python: a TensorDict without entries. */
function nothingIn(entry: Td): Td {
  return make.tensordict(new Map(), stateOf(entry));
}

/** Comparison of a tree; wrapped values compare as a whole. */
export function compareTd(td: Td, other: unknown, fn: BinaryFunction, equal: boolean | null): Td | boolean {
  const right = operand(other as Operand, td);
  if (isTensorCollection(right)) {
    const batch = broadcastBatch(td._batchSize, right._batchSize);
    return compareTrees(grow(td, batch), grow(right, batch), fn, equal);
  }
  if (right instanceof Tensor || isNumber(right)) {
    return binaryTd(td, right as Operand, fn, equal === null ? {} : { values: nothingIn });
  }
  if (equal === null) throw new RuntimeError(`a tensordict cannot be compared with ${typeof other}`);
  return !equal;
}

function compareTrees(td: Td, other: Td, fn: BinaryFunction, equal: boolean | null): Td {
  if (isLazy(td)) {
    const right = other.unbind(td.stackDim);
    return mapMembers(td, (member, i) => compareTrees(member, right[i] as Td, fn, equal));
  }
  requireSameKeys(td, other);
  return mapEntries(td, (a, key) => {
    const b = other._own(key) as Entry;
    if (a instanceof Tensor) return likeEntry(a, fn(a, b));
    if (isNested(a)) throw noNested("a comparison", key);
    return isNonTensor(a) ? compareValues(a, b, equal) : compareTrees(a, b as Td, fn, equal);
  });
}

function compareValues(a: ValueTd, b: Entry, equal: boolean | null): Tensor {
  if (!isNonTensor(b)) return full([...a._batchSize], equal === false);
  const left = valuesOf(a);
  const right = valuesOf(b);
  const same = left.map((value, i) => Bun.deepEquals(value, right[i]) === (equal !== false));
  return same.length === 0 ? full([...a._batchSize], true) : tensor(same).reshape([...a._batchSize]);
}
