// Regular nested arrays of values.
import type { NestedArray } from "../../api/values.ts";
import { numelOf, Size } from "../../tensor/size.ts";

/** Values that lists may be which occur several times. */
const MOST_REPEATED = 2 ** 20;

/** The shape and the values of nested arrays, as far as they are regular. */
export function regularValues(data: unknown): { values: unknown[]; shape: Size } {
  const shape: number[] = [];
  let level: unknown[] = [data];
  // What contains itself would be regular for ever.
  const seen = new Set<unknown>();
  for (let depth = 0; depth < 64; depth++) {
    if (level.length === 0 || !level.every(Array.isArray)) break;
    if (level.some((item) => seen.has(item))) break;
    for (const item of level) seen.add(item);
    const length = (level[0] as unknown[]).length;
    if (!level.every((item) => (item as unknown[]).length === length)) break;
    // A few lists that hold each other twice are any number of values.
    if (level.length * length > MOST_REPEATED && new Set(level).size < level.length) break;
    shape.push(length);
    level = level.flat(1);
  }
  return { values: level, shape: Size.fromList(shape) };
}

/** Flat values as nested lists of a shape. */
export function nestedValues<V>(values: readonly V[], shape: readonly number[]): NestedArray<V> {
  if (shape.length === 0) return values[0] as V;
  if (shape.length === 1 && shape[0] === values.length) return [...values] as NestedArray<V>;
  const count = shape[0] as number;
  const step = count === 0 ? 0 : values.length / count;
  return Array.from({ length: count }, (_, i) => nestedValues(values.slice(i * step, (i + 1) * step), shape.slice(1)));
}

/** To freeze a longer list takes longer than to make it. */
const MOST_FROZEN = 1024;

/**
 * Refuses writes to lists of values that somebody is given: they would reach no collection. Of a tree of lists all
 * levels are refused but those below `depth`, which are values themselves, and lists of more than 1024 elements.
 */
export function frozenLists<T>(lists: T, depth: number): T {
  if (depth === 0 || !Array.isArray(lists)) return lists;
  for (const list of depth > 1 ? lists : []) frozenLists(list, depth - 1);
  return lists.length > MOST_FROZEN ? lists : Object.freeze(lists);
}

/** Lists for the members of a stack as one, row-major. */
export function joinedValues<T>(lists: readonly (readonly T[])[], inner: readonly number[], dim: number): T[] {
  if (dim === 0 || inner.includes(-1)) return lists.flat();
  const [outer, block] = [numelOf(inner.slice(0, dim)), numelOf(inner.slice(dim))];
  return Array.from({ length: outer }, (_, i) =>
    lists.flatMap((list) => list.slice(i * block, (i + 1) * block)),
  ).flat();
}
