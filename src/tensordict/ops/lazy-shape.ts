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

/** The parts of a stack along one dimension, or the one with this number. */
export function unbindLazy(lazy: StackTd, at: number, only?: number): Td[] {
  const { stackDim, members } = lazy;
  if (at === stackDim) return only === undefined ? [...members] : [members[only] as Td];
  const parts = members.map((member) => member.unbind(at < stackDim ? at : at - 1) as Td[]);
  const dim = at > stackDim ? stackDim : stackDim - 1;
  const part = (i: number) =>
    make.stack(
      parts.map((list) => list[i] as Td),
      dim,
      lazy.stackDimName,
    );
  if (only !== undefined) return [part(only)];
  return Array.from({ length: lazy._batchSize[at] as number }, (_, i) => part(i));
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

/** Which dimensions of `before` became one of `after`; null when more than that was done. */
function flattened(after: readonly number[], before: readonly number[]): readonly [number, number] | null {
  const shorter = Math.min(after.length, before.length);
  if (shorter === 0 || before.length < after.length || numelOf(after) !== numelOf(before)) return null;
  let head = 0;
  while (head < shorter - 1 && after[head] === before[head]) head++;
  let tail = 0;
  while (tail < shorter - 1 && after.at(-1 - tail) === before.at(-1 - tail)) tail++;
  // One size more on both sides: two readings, of which Python takes the one that begins later.
  if (head + tail === after.length) tail--;
  return head === after.length - tail - 1 ? [head, before.length - tail - 1] : null;
}

/** The same elements with the dimensions from `start` to `end` as one: a stack along it. */
export function flattenLazy(td: Td, start: number, end: number): Td {
  let parts = [td];
  for (let dim = start; dim <= end; dim++) parts = parts.flatMap((part) => part.unbind(start) as Td[]);
  return make.stack(parts, start, null);
}

/** The dimension `start` as those of `shape` from there to `end`: stacks of stacks. */
function unflattenLazy(td: Td, shape: readonly number[], start: number, end: number): Td {
  let result = td;
  for (let dim = start; dim < end; dim++) {
    const parts = shape[dim] === 1 ? [result] : (result.chunk(shape[dim] as number, dim) as Td[]);
    result = make.stack(parts, dim, null);
  }
  for (let extra = td._batchSize.length - shape.length; extra > 0; extra--) result = result.unbind(start)[0] as Td;
  return result;
}

/** Whether stacks of stacks stand for it: sizes before one that stays are a single 1, and none is 0. */
function unflattens(batch: readonly number[], shape: readonly number[], start: number, end: number): boolean {
  if (shape.slice(start, end).includes(0)) return false;
  return start === 0 || batch[start] !== shape[end] || (end - start === 1 && shape[start] === 1);
}

/**
 * A stack of the same members with a batch of this shape, if that flattens or unflattens dimensions only; null for
 * anything else, and where a batch without elements is flattened.
 */
export function regroup(lazy: StackTd, shape: readonly number[]): Td | null {
  const batch = lazy._batchSize;
  if (sameSizes(shape, batch)) return lazy;
  const flat = flattened(shape, batch);
  if (flat !== null) return numelOf(batch) === 0 ? null : flattenLazy(lazy, ...flat);
  const unflat = flattened(batch, shape);
  if (unflat === null || !unflattens(batch, shape, ...unflat)) return null;
  const result = unflattenLazy(lazy, shape, ...unflat);
  return result !== null && sameSizes(result._batchSize, shape) ? result : null;
}

/** The error for a view that would have to cut members up. */
export function noLazyView(): RuntimeError {
  return new RuntimeError("Cannot call `view` on a lazy stacked tensordict. Call `reshape` instead.", { op: "view" });
}
