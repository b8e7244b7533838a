// Comparisons of all tensors of a tree, and of the values beside them.

import { isNumber } from "../../tensor/checks.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { mismatch, startsWith } from "../core/convert.ts";
import { mapEntries, mapMembers } from "../core/mapping.ts";
import { noNested } from "../core/nested.ts";
import {
  isBranch,
  isClassTd,
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
import { isUnbatched, likeEntry } from "../core/unbatched.ts";
import { requireSameKeys } from "./aligning.ts";
import { type BinaryFunction, binaryTd, broadcastBatch, grow, grown, type Operand, operand } from "./pointwise.ts";
import { valuesOf } from "./stacking.ts";

/** What `eq` and `ne` of a number give for values, as in Python: a TensorDict without entries. */
function nothingIn(entry: Td): Td {
  return make.tensordict(new Map(), stateOf(entry));
}

/** Comparison of a tree; wrapped values compare as a whole. */
export function compareTd(td: Td, other: unknown, fn: BinaryFunction, equal: boolean | null): Td | boolean {
  const right = operand(other as Operand, td);
  if (isLazy(td) && isTensorCollection(right) && isClassTd(right)) {
    // As for dense trees, the object decides what the result is.
    const swapped: BinaryFunction = (a, b) => fn(b as Tensor, a);
    return right._around(compareTd(right._shown(), withoutEmptyFields(td, right), swapped, equal) as Td);
  }
  if (isTensorCollection(right)) {
    const batch = broadcastBatch(td._batchSize, right._batchSize);
    // Members are compared one by one: each needs its part.
    return compareTrees(grow(td, batch), (isLazy(td) ? grow : grown)(right, batch), fn, equal);
  }
  if (right instanceof Tensor || isNumber(right)) {
    return binaryTd(td, right as Operand, fn, equal === null ? {} : { values: nothingIn });
  }
  if (equal === null) throw new RuntimeError(`a tensordict cannot be compared with ${typeof other}`);
  return !equal;
}

function compareTrees(left: Td, right: Td, fn: BinaryFunction, equal: boolean | null): Td {
  if (isLazy(left)) {
    const others = right.unbind(left.stackDim);
    return mapMembers(left, (member, i) => compareTrees(member, others[i] as Td, fn, equal));
  }
  // An object of a class decides what the result is; what stands for its empty fields is not compared.
  const [td, other] = [withoutEmptyFields(left, right), withoutEmptyFields(right, left)];
  requireSameKeys(td, other);
  const model = isClassTd(other) && !isClassTd(td) ? other : td;
  const compare = (_: Entry, key: string): Entry => {
    const [a, b] = [td._own(key) as Entry, other._own(key) as Entry];
    if (equal !== null && a instanceof Tensor && isNonTensor(b)) return nothingIn(b);
    if (isNested(a)) throw noNested("a comparison", key);
    if (a instanceof Tensor) {
      // A tensor beside a collection is compared with each of its entries.
      if (isBranch(b)) return compareTd(b, a, (x, y) => fn(y as Tensor, x as Tensor), equal) as Td;
      return compared(td, key, a, fn(a, b));
    }
    return isNonTensor(a) ? compareValues(a, b, equal) : (compareTd(a, b, fn, equal) as Td);
  };
  return mapEntries(model, compare, stateOf(td));
}

/** What a comparison of tensors gave, which begins with the batch. */
function compared(td: Td, key: string, own: Tensor, result: Tensor): Entry {
  const entry = likeEntry(own, result);
  if (isUnbatched(own) || startsWith(result._shape, td._batchSize)) return entry;
  throw mismatch(td._batchSize, result.shape, key, false);
}

/** What of a plain collection stands beside fields that an object of a class has, or beside all of them. */
function withoutEmptyFields(td: Td, beside: Td): Td {
  if (isClassTd(td) || !isClassTd(beside)) return td;
  const empty = beside._fieldNames().filter((name) => beside._own(name) === undefined && td._own(name) !== undefined);
  return empty.length === 0 ? td : (td.exclude(...empty) as Td);
}

function compareValues(a: ValueTd, b: Entry, equal: boolean | null): Entry {
  if (equal !== null && b instanceof Tensor) return nothingIn(a);
  if (!isNonTensor(b)) return full([...a._batchSize], equal === false);
  const left = valuesOf(a);
  const right = valuesOf(b);
  const same = left.map((value, i) => Bun.deepEquals(value, right[i]) === (equal !== false));
  return same.length === 0 ? full([...a._batchSize], true) : tensor(same).reshape([...a._batchSize]);
}
