// Elements of one collection where a condition holds, and of another one elsewhere.
import type { Scalar } from "../../tensor/complex.ts";
import { KeyError, RuntimeError } from "../../tensor/errors.ts";
import { sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { unlockedValue } from "../core/mapping.ts";
import { noNested } from "../core/nested.ts";
import {
  entriesOf,
  isBranch,
  isClassTd,
  isLazy,
  isNested,
  isNonTensor,
  isTensorCollection,
  type LazyTd,
  make,
  stackOf,
  stateOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import { flatNumbers, tensor } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { entryOf } from "../core/unbatched.ts";
import { emptyTd } from "./key-ops.ts";
import { applyLeaves, widen } from "./pointwise.ts";
import { stackOfValues, valuesOf } from "./stacking.ts";
import { updateInPlace, updateTd } from "./writes.ts";

/** Options of `where`. */
export interface WhereOptions {
  /** Where the result goes: its entries are replaced. */
  out?: Td | null;
  /** What stands for entries that one side lacks; they are errors without it. */
  pad?: Scalar | null;
}

/** What is taken where the condition does not hold. */
export type Alternative = Td | Tensor | Scalar;

/** Refuses a condition that a tensor is not long enough for, or that would make it larger. */
function requireCondition(condition: Tensor, t: Tensor): void {
  const [given, own] = [condition._shape, t._shape];
  if (given.length > own.length) {
    throw new RuntimeError(
      "expand_as_right requires the destination tensor to have at least as many dimensions as the input tensor, got " +
        `tensor.ndimension()=${given.length} and dest.ndimension()=${own.length}`,
      { op: "where" },
    );
  }
  if (given.every((n, dim) => n === 1 || n === own[dim])) return;
  throw new RuntimeError(
    `tensor shape is incompatible with dest shape, got: tensor.shape=${condition.shape}, dest=${t.shape}`,
    { op: "where" },
  );
}

function choose(condition: Tensor, a: Tensor, b: Tensor | Scalar): Tensor {
  requireCondition(condition, a);
  return a.where(widen(condition, a.ndim), b as Tensor);
}

/** `pad` as a tensor like another one. */
function padding(key: string, like: Tensor, pad: WhereOptions["pad"]): Tensor {
  if (pad === null || pad === undefined) throw new KeyError(`Key ${key} not found and no pad value provided.`);
  return tensor(pad).to(like.dtype).to(like.device);
}

/** Of two wrapped values, those of one where the condition holds; one value where both are the same. */
function chooseValues(condition: Tensor, a: ValueTd, b: ValueTd | undefined): Td {
  if (b === undefined) return unlockedValue(a);
  const [left, right] = [valuesOf(a), valuesOf(b)];
  if (a._kind === "nonTensor" && b._kind === "nonTensor" && Bun.deepEquals(a.value_, b.value_, true))
    return unlockedValue(a);
  if (left.length !== right.length) throw new RuntimeError(`${right.length} values for ${left.length} elements`);
  const picks = flatNumbers(condition.expand([...a._batchSize]).long()).map((taken, i) =>
    taken ? i : left.length + i,
  );
  const state = stateOf(a, { names: null });
  const values = [...left, ...right];
  const first = values[picks[0] as number];
  if (a._kind === "nonTensor" && picks.every((i) => Bun.deepEquals(values[i], first, true))) {
    return make.nonTensor(first, state);
  }
  return stackOfValues([a, b], state, picks);
}

function chooseEntry(key: string, condition: Tensor, a: Entry, b: Entry | undefined, pad: WhereOptions["pad"]): Entry {
  if (isNested(a) || (b !== undefined && isNested(b))) throw noNested("where", key);
  if (isNonTensor(a)) return chooseValues(condition, a, b !== undefined && isNonTensor(b) ? b : undefined);
  if (a instanceof Tensor) {
    // A tensor beside a collection stands beside each of its entries.
    if (isBranch(b)) return chosenTd(b, condition.logicalNot(), a, null);
    return choose(condition, a, b instanceof Tensor ? b : padding(key, a, pad));
  }
  return chosenTd(a, condition, b instanceof Tensor || isBranch(b) ? b : emptyTd(a, false, {}), pad);
}

function chooseTds(td: Td, condition: Tensor, other: Td, pad: WhereOptions["pad"]): Td {
  if (isLazy(td)) return chooseLazy(td, condition, other, pad);
  const entries = new Map<string, Entry>();
  const rest = new Set(other._keys());
  for (const key of td._keys()) {
    rest.delete(key);
    const made = chooseEntry(key, condition, td._own(key) as Entry, other._own(key), pad);
    entries.set(key, entryOf(made, td._batchSize));
  }
  for (const key of rest) {
    entries.set(key, chooseEntry(key, condition.logicalNot(), other._own(key) as Entry, undefined, pad));
  }
  return td._like(entries, stateOf(td));
}

function chooseLazy(td: LazyTd, condition: Tensor, other: Alternative, pad: WhereOptions["pad"]): Td {
  const { members, stackDim, stackDimName } = td;
  const wide = widen(condition, td._batchSize.length).expand([...td._batchSize]);
  const conditions = wide.unbind(stackDim);
  const split = isTensorCollection(other) || (other instanceof Tensor && other.ndim > stackDim);
  const others = split ? (other.unbind(stackDim) as readonly Alternative[]) : members.map(() => other);
  const chosen = members.map((member, i) => {
    const [condition, alternative] = [conditions[i] as Tensor, others[i] as Alternative];
    const whole = isTensorCollection(alternative) && condition.numel() <= 1;
    return whole ? chooseMember(member, condition, alternative, pad) : chosenTd(member, condition, alternative, pad);
  });
  return make.lazy(chosen, stackDim, stackDimName);
}

/** A copy of one of two members, as they are: the condition has one element for both. */
function chooseMember(member: Td, condition: Tensor, other: Td, pad: WhereOptions["pad"]): Td {
  const first = condition.numel() === 1 && Boolean(condition.item());
  const result = applyLeaves(first ? member : other, (t) => t.clone(), { filterEmpty: false });
  if (pad !== null && pad !== undefined) addPadding(result, first ? other : member, pad);
  return result;
}

/** Adds what a collection lacks and another one has, filled with `pad`. */
function addPadding(result: Td, other: Td, pad: Scalar): void {
  if (!sameSizes(result._batchSize, other._batchSize)) return;
  const [stack, others] = [stackOf(result), stackOf(other)];
  if (stack !== null) {
    const parts = other.unbind(stack.stackDim) as readonly Td[];
    for (const [i, member] of stack.members.entries()) addPadding(member, parts[i] as Td, pad);
    return;
  }
  // A dense result cannot hold members of several shapes.
  if (others !== null) return;
  for (const [key, value] of entriesOf(other)) {
    const own = result._own(key);
    if (isClassTd(result) && !result._fieldNames().includes(key)) continue;
    if (own !== undefined && !isBranch(own)) continue;
    if (value instanceof Tensor && own === undefined) result._put(key, value.newFull([...value._shape], pad as number));
    else if (isBranch(value)) {
      const inner = isBranch(own) ? own : emptyTd(value, false, {});
      addPadding(inner, value, pad);
      if (own === undefined) result._put(key, inner);
    }
  }
}

/**
 * The entries of `td` where a condition of the batch holds, those of `other` elsewhere.
 * @throws KeyError for an entry that one side lacks, without `pad`
 */
export function whereTd(td: Td, condition: Tensor, other: Alternative, options: WhereOptions): Td {
  const { out, pad } = options;
  const result = chosenTd(td, condition, other, pad);
  if (out === undefined || out === null) return result;
  if (isNonTensor(out)) updateInPlace(out, result as never);
  else updateTd(out, result);
  return out;
}

function chosenTd(td: Td, condition: Tensor, other: Alternative, pad: WhereOptions["pad"]): Td {
  if (isNonTensor(td)) {
    const value = isTensorCollection(other) && isNonTensor(other) ? other : undefined;
    return chooseValues(condition, td, value);
  }
  if (isTensorCollection(other)) return chooseTds(td, condition, other, pad);
  if (isLazy(td)) return chooseLazy(td, condition, other, pad);
  return applyLeaves(td, (t) => choose(condition, t, other), { propagateLock: true });
}
