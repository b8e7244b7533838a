// Stacks and concatenations that go into a collection that is there already.
import { inOrder } from "../../tensor/checks.ts";
import { RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import {
  isLazy,
  isNested,
  isNonTensor,
  isTensorCollection,
  make,
  outlineOf,
  requireUnlocked,
  type Td,
} from "../core/state.ts";
import { stackTensors } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { isUnbatched, ofBatch } from "../core/unbatched.ts";
import { catTds, lazyStackTds, maybeDenseStackTds, stackTds } from "./stacking.ts";
import type { Selection } from "./update-sources.ts";
import { allOrNothing, planInto, planUpdateInPlace, updateInPlace, type Writes } from "./writes.ts";

/** Where a join goes: null or nothing for a collection of its own. */
export interface IntoOptions {
  /** Collections whose entries the result is written into. */
  out?: Td | null;
}

const WHOLE: Selection = { only: null, add: false };

function requireBatch(out: Td, batch: readonly number[], what: string): void {
  if (sameSizes(out._batchSize, batch)) return;
  throw new RuntimeError(
    `out.batch_size and ${what} batch size must match, got out.batch_size=${out._batchSize} and ` +
      `batch_size=torch.Size([${batch.join(", ")}])`,
  );
}

/** Plans writing a stack of `list` into the entries that `out` has; those that no item has stay what they are. */
function planStack(out: Td, list: readonly Td[], dim: number, writes: Writes): void {
  if (isLazy(out)) {
    const { members, stackDim } = out;
    if (dim === stackDim) {
      for (const [i, member] of members.entries()) planUpdateInPlace(member, list[i] as Td, WHOLE, writes);
      return;
    }
    const [inner, at] = dim < stackDim ? [stackDim - 1, dim] : [stackDim, dim - 1];
    const parts = list.map((td) => td.unbind(inner) as Td[]);
    for (const [i, member] of members.entries()) {
      planStack(
        member,
        parts.map((part) => part[i] as Td),
        at,
        writes,
      );
    }
    return;
  }
  for (const key of out._keys()) {
    const items = list.map((td) => td._own(key));
    if (items.every((item) => item === undefined)) continue;
    planEntry(out, key, items, dim, writes);
  }
}

function planEntry(out: Td, key: string, items: readonly (Entry | undefined)[], dim: number, writes: Writes): void {
  const own = outlineOf(out, key) as Entry;
  if (own instanceof Tensor && isUnbatched(own)) {
    writes.push(() => out._put(key, ofBatch(own, out._batchSize)));
  } else if (own instanceof Tensor && items.every((item) => item instanceof Tensor)) {
    planInto(out, key, own, stackTensors(items as Tensor[], dim), writes);
  } else if (isNonTensor(own) && items.every(isNonTensor)) {
    requireUnlocked(out);
    const made = lazyStackTds(items as readonly Td[], dim);
    writes.push(() => out._put(key, made));
  } else if (isTensorCollection(own) && !isNested(own) && items.every(isTensorCollection)) {
    planStack(own, items as Td[], dim, writes);
  } else {
    throw new TypeError(`the entries under key '${key}' are no stack for the entry of out`);
  }
}

function stackInto(list: readonly Td[], dim: number, out: Td): Td {
  const batch = list[0]?._batchSize ?? [];
  const at = dim < 0 ? dim + batch.length + 1 : dim;
  requireBatch(out, [...batch.slice(0, at), list.length, ...batch.slice(at)], "stacked");
  allOrNothing((writes) => planStack(out, list, at, writes));
  return out;
}

/** Options of lazy stacks. */
export interface LazyStackOptions extends IntoOptions {
  /** Name of the new dimension. */
  stackDimName?: string | null;
  /** Refuse collections of different batch sizes. */
  strictShape?: boolean;
}

/**
 * Stacks as the settings say, or into a collection that is there.
 * @example
 * ```ts
 * tensordict.stack([new TensorDict({ a: ones(2) }, []), new TensorDict({ a: zeros(2) },
 *   [])]).batchSize // torch.Size([2])
 * ```
 * @torch torch.stack of TensorDicts
 */
export function stack(list: readonly Td[], dim = 0, options: IntoOptions = {}): Td {
  [list, dim = 0, options = {}] = inOrder<[readonly Td[], number?, IntoOptions?]>("stack", FUNCTIONS.stack, arguments);
  return stackOrInto(list, dim, options);
}

/** `stack` of arguments that were checked. */
export function stackOrInto(list: readonly Td[], dim: number, options: IntoOptions = {}): Td {
  return options.out ? stackInto(list, dim, options.out) : stackTds(list, dim);
}

/** @torch tensordict.lazy_stack */
export function lazyStackOrInto(list: readonly Td[], dim: number, options: LazyStackOptions = {}): Td {
  const first = list[0];
  const other = options.strictShape
    ? list.find((td) => !sameSizes(td._batchSize, (first as Td)._batchSize))
    : undefined;
  if (other !== undefined) {
    throw new RuntimeError(
      "stacking tensordicts requires them to have congruent batch sizes, got " +
        `td1.batch_size=${other._batchSize} and td2.batch_size=${(first as Td)._batchSize}`,
    );
  }
  if (options.out) return stackInto(list, dim, options.out);
  const made = lazyStackTds(list, dim);
  const name = options.stackDimName ?? null;
  return name !== null && isLazy(made) ? make.lazy([...made.members], made.stackDim, name) : made;
}

/** @torch tensordict.maybe_dense_stack */
export function maybeDenseStackOrInto(list: readonly Td[], dim: number, options: IntoOptions = {}): Td {
  return options.out ? stackInto(list, dim, options.out) : maybeDenseStackTds(list, dim);
}

/**
 * The members of a lazy stack as one TensorDict, as far as they agree; a dense one is given as it is.
 * @param tdList a lazy stack, a TensorDict, or a list, which needs a dimension
 * @throws ValueError for a list without a dimension
 * @example
 * ```ts
 * const lazy = lazyStack([new TensorDict({ a: ones(2) }, []), new TensorDict({ a: zeros(2) }, [])]);
 * tensordict.denseStackTds(lazy).get("a").shape // torch.Size([2, 2])
 * ```
 * @torch tensordict.dense_stack_tds
 */
export function denseStackTds(tdList: Td | readonly Td[], dim: number | null = null): Td {
  [tdList, dim = null] = inOrder<Parameters<typeof denseStackTds>>("denseStackTds", FUNCTIONS.denseStackTds, arguments);
  if (isTensorCollection(tdList)) {
    return isLazy(tdList) ? maybeDenseStackTds(tdList.members, tdList.stackDim) : tdList;
  }
  if (!Array.isArray(tdList) || !tdList.every(isTensorCollection)) {
    throw new TypeError("denseStackTds takes a lazy stack, a TensorDict or a list of these");
  }
  if (dim === null) throw new ValueError("If a list of tensordicts is provided, stack_dim must not be None");
  return maybeDenseStackTds(tdList as readonly Td[], dim);
}

/**
 * Copies of TensorDicts one after the other along a batch dimension, or into a collection that is there.
 * @example
 * ```ts
 * tensordict.cat([new TensorDict({ a: ones(2) }, [2]), new TensorDict({ a: zeros(1) }, [1])]).get("a")
 * // tensor([1., 1., 0.])
 * ```
 * @torch torch.cat of TensorDicts
 */
export function cat(list: readonly Td[], dim = 0, options: IntoOptions = {}): Td {
  [list, dim = 0, options = {}] = inOrder<[readonly Td[], number?, IntoOptions?]>("cat", FUNCTIONS.cat, arguments);
  return catOrInto(list, dim, options);
}

/** `cat` of arguments that were checked. */
export function catOrInto(list: readonly Td[], dim: number, options: IntoOptions = {}): Td {
  const made = catTds(list, dim);
  if (!options.out) return made;
  requireBatch(options.out, made._batchSize, "cat");
  updateInPlace(options.out, made);
  return options.out;
}
