// Shapes of lazy stacks: what keeps the members apart, as Python's library does it.
import { RuntimeError } from "../../tensor/errors.ts";
import { numelOf, sameSizes } from "../../tensor/size.ts";
import { make, type StackTd, type Td } from "../core/state.ts";

/** A stack of changed members along `dim`. */
export function restack(lazy: StackTd, dim: number, change: (member: Td) => Td): Td {
  return make.stack(lazy.members.map(change), dim, lazy.stackDimName);
}

/** Permutes the batch of a stack; `order` has all its dimensions. */
export function permuteLazy(lazy: StackTd, order: readonly number[], permute: (td: Td, dims: number[]) => Td): Td {
  const { stackDim } = lazy;
  const inner = order.filter((dim) => dim !== stackDim).map((dim) => (dim < stackDim ? dim : dim - 1));
  return restack(lazy, order.indexOf(stackDim), (member) => permute(member, inner));
}

/** Adds a dimension of size 1. */
export function unsqueezeLazy(lazy: StackTd, at: number): Td {
  const { stackDim } = lazy;
  if (at > stackDim) return restack(lazy, stackDim, (member) => member.unsqueeze(at - 1) as Td);
  return restack(lazy, stackDim + 1, (member) => member.unsqueeze(at) as Td);
}

/** Removes a dimension of size 1. */
export function squeezeLazy(lazy: StackTd, at: number): Td {
  const { stackDim } = lazy;
  if (at === stackDim) return lazy.members[0] as Td;
  if (at > stackDim) return restack(lazy, stackDim, (member) => member.squeeze(at - 1) as Td);
  return restack(lazy, stackDim - 1, (member) => member.squeeze(at) as Td);
}

/** The parts of a stack along one dimension. */
export function unbindLazy(lazy: StackTd, at: number, unbind: (td: Td, dim: number) => Td[]): Td[] {
  const { stackDim, members } = lazy;
  if (at === stackDim) return [...members];
  const parts = members.map((member) => unbind(member, at < stackDim ? at : at - 1));
  const dim = at > stackDim ? stackDim : stackDim - 1;
  return Array.from({ length: lazy._batchSize[at] as number }, (_, i) => {
    const list = parts.map((part) => part[i] as Td);
    return make.stack(list, dim, lazy.stackDimName);
  });
}

/** Repeats the batch, once per dimension of it. */
export function repeatLazy(lazy: StackTd, repeats: readonly number[]): Td | null {
  const { stackDim } = lazy;
  const times = repeats[stackDim] as number;
  if (times === 0) return null;
  const inner = repeats.filter((_, dim) => dim !== stackDim);
  const members = lazy.members.map((member) => member.repeat(inner) as Td);
  const all = Array.from({ length: times }, () => members).flat();
  return make.stack(all, stackDim, lazy.stackDimName);
}

/**
 * The dimensions of `before` that are one of `after`, first and last, as Python finds them: the sizes before and behind
 * are the same, and where they leave two readings, neither is taken. None of them (the last is before the first) where
 * a dimension of one has come in between others.
 */
function flattened(after: readonly number[], before: readonly number[]): readonly [number, number] | null {
  const last = Math.min(after.length, before.length) - 1;
  if (last < 0 || numelOf(after) !== numelOf(before)) return null;
  let head = 0;
  while (head < last && after[head] === before[head]) head++;
  let tail = 0;
  while (tail < last && after.at(-1 - tail) === before.at(-1 - tail)) tail++;
  return head === after.length - tail - 1 ? [head, before.length - tail - 1] : null;
}

/** The same elements with the dimensions from `start` to `end` as one: a stack along it. */
export function flattenLazy(td: Td, start: number, end: number): Td {
  let parts = [td];
  for (let dim = start; dim <= end; dim++) parts = parts.flatMap((part) => part.unbind(start) as Td[]);
  return make.stack(parts, start, null);
}

/**
 * The dimension `start` as those of `shape` from there to `end`: stacks of stacks; null for a piece without elements.
 * Dimensions of one that are gone from there are taken out.
 */
function unflattenLazy(td: Td, shape: readonly number[], start: number, end: number): Td | null {
  if (shape.slice(start, end).includes(0)) return null;
  let result = td;
  for (let dim = start; dim < end; dim++) {
    result = make.stack(result.chunk(shape[dim] as number, dim) as Td[], dim, null);
  }
  const gone = td._batchSize.slice(start, start + Math.max(0, td._batchSize.length - shape.length));
  if (gone.every((n) => n === 1)) for (const _ of gone) result = result.unbind(start)[0] as Td;
  return result;
}

/**
 * A stack of the same members with a batch of this shape, if that flattens or unflattens dimensions only; null for
 * anything else, and where a batch without elements is flattened.
 */
export function regroup(lazy: StackTd, shape: readonly number[]): Td | null {
  const batch = lazy._batchSize;
  if (sameSizes(shape, batch)) return lazy;
  const flat = flattened(shape, batch);
  if (flat !== null && flat[0] <= flat[1] && numelOf(batch) === 0) return null;
  const unflat = flat === null ? flattened(batch, shape) : null;
  const regrouped = unflat === null ? null : unflattenLazy(lazy, shape, ...unflat);
  const result = flat === null ? regrouped : flattenLazy(lazy, ...flat);
  return result !== null && sameSizes(result._batchSize, shape) ? result : null;
}

/** The error for a view that would have to cut members up. */
export function noLazyView(): RuntimeError {
  return new RuntimeError("Cannot call `view` on a lazy stacked tensordict. Call `reshape` instead.", { op: "view" });
}
