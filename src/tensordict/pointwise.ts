// Arithmetic, comparisons, reductions and functions over all tensors of a tree.
import { IndexError, KeyError, RuntimeError } from "../tensor/errors.ts";
import { Size, sameSizes } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { fromSource, isSource } from "./convert.ts";
import type { LazyLike } from "./lazy.ts";
import { type NestedTensor, noNested } from "./nested.ts";
import { valuesOf } from "./stacking.ts";
import {
  Collection,
  entriesOf,
  isNested,
  isNonTensor,
  make,
  type NewState,
  stateOf,
  type Td,
  wrapBatchDim,
} from "./state.ts";
import { full, tensor } from "./tensor-ops.ts";
import type { Entry } from "./types.ts";

/** Called with a tensor and the path to it. */
export type LeafFunction = (
  t: Tensor,
  path: readonly string[],
  others: readonly unknown[],
) => Tensor | null | undefined;

/** Options of `apply`. */
export interface ApplyOptions {
  /** Batch size of the result. */
  batchSize?: readonly number[];
  /** Put results into this collection. */
  inplace?: boolean;
  /** Leave out nested collections without entries. */
  filterEmpty?: boolean;
  /** Stands in for keys that another collection does not have. */
  default?: unknown;
  /** @internal What is done to nested tensors; an error without it. */
  nested?: (entry: NestedTensor) => NestedTensor;
}

/** Calls `fn` on every tensor; entries for which it gives null or undefined are left out. */
export function applyLeaves(
  td: Td,
  fn: LeafFunction,
  options: ApplyOptions = {},
  others: readonly Td[] = [],
  prefix: readonly string[] = [],
): Td {
  if (td._kind === "lazy") return applyLazy(td, fn, options, others, prefix);
  const names = options.batchSize === undefined ? td._names : null;
  const batchSize = options.batchSize === undefined ? td._batchSize : Size.fromList(options.batchSize);
  const entries = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    const path = [...prefix, key];
    const items = others.map((other) => otherEntry(other, key, options));
    if (entry instanceof Tensor) {
      const result = fn(entry, path, items);
      if (result !== null && result !== undefined) entries.set(key, result);
    } else if (isNested(entry)) {
      if (options.nested === undefined) throw noNested("this operation", key);
      entries.set(key, options.nested(entry));
    } else if (isNonTensor(entry)) {
      entries.set(key, options.batchSize === undefined ? entry : rebatch(entry, batchSize));
    } else {
      const inner = applyLeaves(entry, fn, options, items as Td[], path);
      if (!options.filterEmpty || [...inner._keys()].length > 0 || [...entry._keys()].length === 0)
        entries.set(key, inner);
    }
  }
  if (options.inplace) {
    for (const [key, entry] of entries) {
      // Nested collections and values were changed where they are.
      if (entry instanceof Tensor && (td._outside !== undefined || td._own(key) !== entry)) td._put(key, entry);
    }
    return td;
  }
  return td._like(entries, stateOf(td, { batchSize, names }));
}

function firstValue(entry: Td, state: NewState): Td {
  return entry._kind === "nonTensor" ? entry._like(new Map(), state) : make.nonTensor(valuesOf(entry)[0], state);
}

function rebatch(entry: Td, batchSize: Size): Td {
  if (entry._kind !== "nonTensor") return entry;
  return entry._like(new Map(), stateOf(entry, { batchSize }));
}

function otherEntry(other: Td, key: string, options: ApplyOptions): unknown {
  const entry = other._own(key);
  if (entry !== undefined) return entry;
  if ("default" in options) return options.default;
  throw new KeyError(
    `key "${key}" not found in ${other._className} with keys [${[...other._keys()].map((k) => `'${k}'`).join(", ")}]`,
  );
}

function applyLazy(
  td: Td,
  fn: LeafFunction,
  options: ApplyOptions,
  others: readonly Td[],
  prefix: readonly string[],
): Td {
  const lazy = td as unknown as LazyLike;
  if (options.batchSize !== undefined) return applyLeaves(lazy.densify(), fn, options, others, prefix);
  const parts = others.map((other) => unbindLike(other, lazy));
  const members = lazy.members.map((member, i) =>
    applyLeaves(
      member,
      fn,
      options,
      parts.map((part) => part[i] as Td),
      prefix,
    ),
  );
  return options.inplace ? td : make.lazy(members, lazy.stackDim, lazy.stackDimName);
}

function unbindLike(other: Td, lazy: LazyLike): Td[] {
  return other.unbind(lazy.stackDim) as Td[];
}

/** The other operand of an operation: a tree, or one value for every tensor. */
export type Operand = Td | Tensor | number | bigint | boolean | Record<string, unknown>;

function requireSameKeys(a: Td, b: Td): void {
  const first = new Set(a._keys());
  const second = new Set(b._keys());
  const onlyFirst = [...first].filter((key) => !second.has(key));
  const onlySecond = [...second].filter((key) => !first.has(key));
  if (onlyFirst.length === 0 && onlySecond.length === 0) return;
  const text = (keys: string[]) => `{${keys.map((key) => `'${key}'`).join(", ")}}`;
  const parts = ["keys in tensordicts mismatch."];
  if (onlyFirst.length > 0) parts.push(`The first TD has keys ${text(onlyFirst)} that the second does not have.`);
  if (onlySecond.length > 0) parts.push(`The second TD has keys ${text(onlySecond)} that the first does not have.`);
  throw new KeyError(parts.join(" "));
}

/** What is done to two tensors. */
export type BinaryFunction = (a: Tensor, b: unknown) => Tensor;

function operand(other: Operand, td: Td): unknown {
  if (isSource(other)) return fromSource(other as Record<string, unknown>, stateOf(td, { names: null }));
  return other;
}

/** Arithmetic of a tree with a tree or with one value. Wrapped values stay as they are. */
export function binaryTd(td: Td, other: Operand, fn: BinaryFunction, options: ApplyOptions = {}): Td {
  const right = operand(other, td);
  if (right instanceof Collection) {
    requireSameKeys(td, right as Td);
    return applyLeaves(td, (t, _path, [b]) => fn(t, b), options, [right as Td]);
  }
  const value = right instanceof Tensor ? widen(right, td) : right;
  return applyLeaves(td, (t) => fn(t, typeof value === "function" ? value(t) : value), options);
}

// A tensor operand belongs to the batch dimensions; it gets as many trailing dimensions as the entry has.
function widen(value: Tensor, td: Td): (t: Tensor) => Tensor {
  if (value.ndim === 0) return () => value;
  return (t) => {
    let out = value;
    if (sameSizes(value._shape, td._batchSize)) {
      for (let i = value.ndim; i < t.ndim; i++) out = out.unsqueeze(-1);
    }
    return out;
  };
}

/** Comparison of a tree; wrapped values compare as a whole. */
export function compareTd(td: Td, other: unknown, fn: BinaryFunction, equal: boolean | null): Td | boolean {
  const right = operand(other as Operand, td);
  if (right instanceof Collection) return compareTrees(td, right as Td, fn, equal);
  if (right instanceof Tensor || typeof right === "number" || typeof right === "bigint" || typeof right === "boolean") {
    return binaryTd(td, right as Operand, fn);
  }
  if (equal === null) throw new RuntimeError(`a tensordict cannot be compared with ${typeof other}`);
  return !equal;
}

function compareTrees(td: Td, other: Td, fn: BinaryFunction, equal: boolean | null): Td {
  if (td._kind === "lazy") {
    const lazy = td as unknown as LazyLike;
    const right = unbindLike(other, lazy);
    const members = lazy.members.map((member, i) => compareTrees(member, right[i] as Td, fn, equal));
    return make.lazy(members, lazy.stackDim, lazy.stackDimName);
  }
  requireSameKeys(td, other);
  const entries = new Map<string, Entry>();
  for (const [key, a] of entriesOf(td)) {
    const b = other._own(key) as Entry;
    if (a instanceof Tensor) entries.set(key, fn(a, b));
    else if (isNested(a)) throw noNested("a comparison", key);
    else if (isNonTensor(a)) entries.set(key, compareValues(a, b, equal));
    else entries.set(key, compareTrees(a, b as Td, fn, equal));
  }
  return make.tensordict(entries, stateOf(td, { device: td._device }));
}

function compareValues(a: Td, b: Entry, equal: boolean | null): Tensor {
  if (!isNonTensor(b)) return full([...a._batchSize], equal === false);
  const left = valuesOf(a);
  const right = valuesOf(b as Td);
  const same = left.map((value, i) => Bun.deepEquals(value, right[i]) === (equal !== false));
  return same.length === 0 ? full([...a._batchSize], true) : tensor(same).reshape([...a._batchSize]);
}

/** `all` and `any`: one boolean, or a tree when a batch dimension is named. */
export function allAnyTd(td: Td, kind: "all" | "any", dim?: number): boolean | Td {
  if (dim === undefined) {
    const test = (entry: Entry): boolean => {
      if (entry instanceof Tensor) return Boolean((kind === "all" ? entry.all() : entry.any()).item());
      if (isNested(entry)) throw noNested("a reduction");
      if (isNonTensor(entry)) return valuesOf(entry)[kind === "all" ? "every" : "some"](Boolean);
      return Boolean(allAnyTd(entry, kind));
    };
    const entries = entriesOrMembers(td);
    return kind === "all" ? entries.every(test) : entries.some(test);
  }
  return reduceTd(td, (t, d) => (kind === "all" ? t.all(d as number) : t.any(d as number)), dim, false);
}

function entriesOrMembers(td: Td): Entry[] {
  if (td._kind === "lazy") return [...(td as unknown as LazyLike).members];
  return [...entriesOf(td)].map(([, entry]) => entry);
}

/** Reduces every tensor: to one element, or over one batch dimension. */
export function reduceTd(
  td: Td,
  fn: (t: Tensor, dim: number | undefined) => Tensor,
  dim: number | undefined,
  keepdim: boolean,
): Td {
  if (dim === undefined) {
    return applyLeaves(td._kind === "lazy" ? (td as unknown as LazyLike).densify() : td, (t) => fn(t, undefined), {
      batchSize: [],
    });
  }
  const rank = td._batchSize.length;
  const at = wrapBatchDim(dim, rank);
  if (at === null) {
    throw new IndexError(
      `dim must be within the batch dimensions of a tensordict with shape ${td._batchSize}, got ${dim}`,
    );
  }
  const dense = td._kind === "lazy" ? (td as unknown as LazyLike).densify() : td;
  return reduceDense(dense, fn, at, keepdim);
}

function reduceDense(td: Td, fn: (t: Tensor, dim: number) => Tensor, dim: number, keepdim: boolean): Td {
  const shrink = (size: readonly number[]) =>
    keepdim ? size.map((n, i) => (i === dim ? 1 : n)) : size.filter((_, i) => i !== dim);
  const batchSize = Size.fromList(shrink(td._batchSize));
  const state: NewState = stateOf(td, {
    batchSize,
    names: td._names?.filter((_, i) => keepdim || i !== dim) ?? null,
  });
  const entries = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    if (entry instanceof Tensor) entries.set(key, fn(entry, dim));
    else if (isNested(entry)) throw noNested("a reduction", key);
    else if (isNonTensor(entry)) entries.set(key, firstValue(entry, { ...state, names: null }));
    else entries.set(key, reduceDense(entry, fn, dim, keepdim));
  }
  return td._like(entries, state);
}
