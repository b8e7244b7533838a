// Rows of a TensorDict by the value of one of their entries.
import { inOrder } from "../../tensor/checks.ts";
import { byCodePoints } from "../../tensor/code-points.ts";
import { KeyError, TypeError, ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { keyPath } from "../core/keys.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { isNonTensor, type Td, type ValueTd } from "../core/state.ts";
import { tensor } from "../core/tensor-ops.ts";
import type { NestedKey } from "../core/types.ts";
import { nestedValues } from "../core/values.ts";
import { findEntry } from "./access.ts";
import { keyRepr } from "./padding.ts";
import { splitTd } from "./splitting.ts";
import { valuesOf } from "./stacking.ts";

/** The rows in order of their values, how many rows have each value, and the values. */
interface Groups {
  order: Tensor;
  counts: number[];
  values: Tensor | unknown[];
}

/** Where a new value begins in sorted rows: the rows that differ from the one before them. */
function startsIn(sorted: Tensor): number[] {
  const count = sorted._shape[0] as number;
  if (count === 0) return [];
  let differs = sorted.narrow(0, 1, count - 1).ne(sorted.narrow(0, 0, count - 1));
  if (differs.ndim > 1) differs = differs.reshape([count - 1, -1]).any(1);
  return [0, ...(differs.nonzero().reshape([-1]).tolist() as number[]).map((i) => i + 1)];
}

function byTensor(entry: Tensor): Groups {
  const count = entry._shape[0] as number;
  let order: Tensor;
  if (entry.ndim === 1) order = entry.argsort({ stable: true });
  else {
    // Rows in the order of their first element, then their second: sorted by the last one first.
    const columns = entry.reshape([count, entry._shape.slice(1).reduce((n, size) => n * size, 1)]);
    order = tensor(Float64Array.from({ length: count }, (_, i) => i)).to("int64");
    for (let i = (columns._shape[1] as number) - 1; i >= 0; i--) {
      const column = columns.select(1, i).indexSelect(0, order);
      order = order.indexSelect(0, column.argsort({ stable: true }));
    }
  }
  const sorted = entry.indexSelect(0, order);
  const starts = startsIn(sorted);
  const counts = starts.map((start, i) => (starts[i + 1] ?? count) - start);
  const first = tensor(Float64Array.from(starts)).to("int64");
  return { order, counts, values: sorted.indexSelect(0, first) };
}

const unordered = (key: string) =>
  new TypeError(`group_by: the values of the non-tensor entry ${key} must be hashable and sortable.`);

/** Less than, equal or greater, as Python compares texts, numbers and tuples; undefined where it does not. */
function compare(a: unknown, b: unknown): number | undefined {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < Math.min(a.length, b.length); i++) {
      const order = a[i] === b[i] ? 0 : compare(a[i], b[i]);
      if (order !== 0) return order;
    }
    return a.length - b.length;
  }
  if (typeof a === "string" && typeof b === "string") return byCodePoints(a, b);
  const isNumber = (value: unknown) => ["number", "bigint", "boolean"].includes(typeof value);
  if (!isNumber(a) || !isNumber(b)) return undefined;
  const [x, y] = [a, b] as [number, number];
  return x < y ? -1 : x > y ? 1 : 0;
}

/** A text that equal values share: 1, 1n and true are equal, as in Python. */
function identity(value: unknown, key: string): string {
  if (Array.isArray(value)) return `[${value.map((item) => identity(item, key)).join()}]`;
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "object" && value !== null) throw unordered(key);
  return String(typeof value === "boolean" ? Number(value) : value);
}

function byValues(entry: ValueTd, key: string): Groups {
  const nested = nestedValues(valuesOf(entry), entry._batchSize) as unknown[];
  const rowsOf = new Map<string, { value: unknown; rows: number[] }>();
  for (const [i, value] of nested.entries()) {
    const id = identity(value, key);
    const known = rowsOf.get(id);
    if (known === undefined) rowsOf.set(id, { value, rows: [i] });
    else known.rows.push(i);
  }
  const groups = [...rowsOf.values()].sort((a, b) => {
    const order = compare(a.value, b.value);
    if (order === undefined) throw unordered(key);
    return order;
  });
  return {
    order: tensor(Float64Array.from(groups.flatMap(({ rows }) => rows))).to("int64"),
    counts: groups.map(({ rows }) => rows.length),
    values: groups.map(({ value }) => value),
  };
}

/**
 * Splits a TensorDict into groups of rows, along its first dimension, that share the value of an entry. Rows keep their
 * order; an entry with several numbers a row is compared row by row. The rows are gathered once, and the groups are
 * views of what was gathered.
 * @returns the values in ascending order, a tensor or an array, and one group for each
 * @throws ValueError without a batch dimension
 * @throws TypeError for an entry that is a TensorDict, and for values without an order
 * @example
 * ```ts
 * const td = new TensorDict({ uid: tensor([2, 0, 2]), reward: arange(3) }, [3]);
 * const [values, groups] = tensordict.groupBy(td, "uid");
 * [values, groups[1].get("reward")] // [tensor([0., 2.]), tensor([0, 2])]
 * ```
 * @torch tensordict.group_by
 */
export function groupBy<T extends Td>(td: T, key: NestedKey): [values: Tensor | unknown[], groups: T[]] {
  [td, key] = inOrder<[T, NestedKey]>("groupBy", FUNCTIONS.groupBy, arguments);
  if (td._batchSize.length === 0) {
    throw new ValueError("group_by groups the rows along the first batch dimension of the tensordict, which has none.");
  }
  const entry = findEntry(td, key);
  const name = keyRepr(keyPath(key));
  if (entry === undefined) throw new KeyError(`group_by: the tensordict has no entry ${name}.`);
  if (!(entry instanceof Tensor) && !isNonTensor(entry)) {
    throw new TypeError(`group_by needs a tensor or non-tensor entry, but ${name} holds a ${entry._className}.`);
  }
  const { order, counts, values } = entry instanceof Tensor ? byTensor(entry) : byValues(entry, name);
  return [values, counts.length === 0 ? [] : (splitTd(td.at([order]) as Td, counts, 0) as T[])];
}
