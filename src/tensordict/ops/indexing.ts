// Indexing of the batch: `td.at(0)`, `td.at(slice(0, 2))`, `td.at(mask)`.
import * as texts from "../../../generated/texts.ts";
import { ELLIPSIS, type IndexPart, isTypedArray, listOfArray, parseIndex, Slice } from "../../api/indexing-parse.ts";
import { IndexError, TypeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { isMask, onCpu } from "../core/index-parts.ts";
import { lockTd, mapLike } from "../core/locking.ts";
import type { NestedTensor } from "../core/nested.ts";
import { type DimNames, isLazy, isLockedTd, type LazyTd, make, type StackTd, stateOf, type Td } from "../core/state.ts";
import { tensor, zeros } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { isSliceObject, onlyPart, rowsOf, slicedLength } from "./rows.ts";
import { applyShape } from "./shape.ts";
import { isWhole, type StackIndex, splitIndex } from "./stack-index.ts";
import { sharedParts } from "./stacking.ts";

// Slices as text: digits, colons, commas and dots, with at least one colon or an ellipsis.
const SLICE_TEXT = /^(?=.*(?::|\.\.\.))[\s\d:,.+-]+$/;

/** True for strings that are slices, unless there is a key of this name. */
export function isSlice(part: unknown): part is string {
  return typeof part === "string" && SLICE_TEXT.test(part);
}

/** True for a key, or a list of keys that is a path. */
export function isKey(value: unknown, depth = 0): value is string {
  if (typeof value === "string") return true;
  if (!Array.isArray(value) || value.length === 0 || depth > MAX_LISTS) return false;
  return value.every((part) => typeof part === "string" || isKey(part, depth + 1)) && !isSlice(value[0]);
}

/** Lists in each other that an index may have. */
const MAX_LISTS = 64;

/** Refuses what is no part of an index: texts in lists, lists that contain themselves, missing values. */
function checkPart(part: unknown): void {
  if (part === undefined) throw new TypeError("undefined is no index; use null for a new dimension");
  if (Array.isArray(part) && part.some((item) => typeof item === "string")) {
    throw new TypeError("new(): invalid data type 'str'");
  }
  let item: unknown = part;
  for (let depth = 0; Array.isArray(item); depth++) {
    if (depth > MAX_LISTS) throw new IndexError(`an index of more than ${MAX_LISTS} lists in each other`);
    item = item[0];
  }
  const known = item === null || ["number", "bigint", "boolean", "string"].includes(typeof item);
  const object = item instanceof Tensor || isSliceObject(item) || ArrayBuffer.isView(item);
  if (!known && !object && !Array.isArray(part)) {
    throw new TypeError(`an index cannot be ${typeof part === "object" ? "this object" : `a ${typeof part}`}`);
  }
}

function maskDims(index: unknown): number | null {
  if (index instanceof Tensor) return index.dtype.name === "bool" ? index.ndim : 1;
  if (Array.isArray(index)) {
    let depth = 0;
    let item: unknown = index;
    while (Array.isArray(item) && depth <= MAX_LISTS) {
      depth++;
      item = item[0];
    }
    return typeof item === "boolean" ? depth : 1;
  }
  return null;
}

/** How many batch dimensions one part of an index uses up. */
function consumed(part: unknown): number {
  if (part === null || typeof part === "boolean" || part === "...") return 0;
  return maskDims(part) ?? 1;
}

/** "0, 1:" says two parts; typed arrays are lists of indices. */
export function partsOfText(part: unknown): readonly unknown[] {
  if (isTypedArray(part)) return [listOfArray(part)];
  if (typeof part !== "string" || part === "...") return [part];
  return parseIndex(part).map((one) => (one === ELLIPSIS ? "..." : one));
}

/**
 * Replaces the ellipsis, so that it ends where the batch ends, and refuses indices that reach beyond. `fromArray` when
 * the parts were one array, which may have been meant as a list of rows.
 */
export function normalize(index: readonly unknown[], rank: number, fromArray = false): unknown[] {
  if (index.length === 1 && rank > 0 && Number.isInteger(index[0])) return [index[0]];
  for (const part of index) checkPart(part);
  const parts = index.flatMap(partsOfText);
  const used = parts.reduce<number>((n, part) => n + consumed(part), 0);
  if (used > rank) throw fromArray ? texts.tooManyInArray("at", rank) : texts.tooManyIndices("at", rank);
  const dots = parts.indexOf("...");
  if (dots < 0) return parts;
  if (parts.indexOf("...", dots + 1) >= 0) {
    throw new IndexError("an index can only have a single ellipsis ('...')");
  }
  return [...parts.slice(0, dots), ...new Array<string>(rank - used).fill(":"), ...parts.slice(dots + 1)];
}

/** The size that numbers, slices and new dimensions leave; null when tensors take part. */
function basicSize(shape: readonly number[], index: readonly unknown[]): number[] | null {
  const out: number[] = [];
  let dim = 0;
  for (const part of index) {
    if (part === null) out.push(1);
    else if (typeof part === "number") {
      const size = shape[dim] as number;
      if (!Number.isInteger(part) || part < -size || part >= size) {
        throw new IndexError(`index ${part} is out of bounds for dimension ${dim} with size ${size}`);
      }
      dim++;
    } else if (part instanceof Slice) out.push(slicedLength(shape[dim++] as number, part));
    else if (part === ":") out.push(shape[dim++] as number);
    else return null;
  }
  for (; dim < shape.length; dim++) out.push(shape[dim] as number);
  return out;
}

/** The size that an index leaves of a shape. */
export function indexedSize(shape: readonly number[], index: readonly unknown[]): readonly number[] {
  const basic = basicSize(shape, index);
  if (basic !== null) return basic;
  return zeros([], { dtype: "bool", device: "cpu" })
    .expand([...shape])
    .at(index.map(shapeAlone) as readonly IndexPart[])._shape;
}

/** A part of an index on the CPU: of lists elsewhere the shape is enough, and a device is not waited for. */
function shapeAlone(part: unknown): unknown {
  if (!(part instanceof Tensor) || part.isCpu) return part;
  if (part.ndim === 0 || isMask(part)) return onCpu(part);
  return zeros([], { dtype: part.dtype, device: "cpu" }).expand([...part._shape]);
}

/** The names that a tensor leaves of those of the dimensions it takes: its own shape has one where it is a line. */
function listedNames(part: unknown, names: DimNames, at: number): (string | null)[] {
  const t = part instanceof Tensor ? part : tensor(part as never);
  if (t.dtype.name === "bool") return t.ndim === 1 ? [names?.[at] ?? null] : [null];
  const line = t._shape.filter((n) => n !== 1).length === 1 || t.ndim === 1;
  return t._shape.map((n) => (line && (n !== 1 || t.ndim === 1) ? (names?.[at] ?? null) : null));
}

function indexedNames(names: DimNames, index: readonly unknown[]): DimNames {
  if (names === null) return null;
  // Where several take part, or one and a number apart from it, their dimensions come first.
  const listed = index.flatMap((part, i) => (maskDims(part) !== null || typeof part === "number" ? [i] : []));
  const tensors = listed.filter((i) => typeof index[i] !== "number");
  const apart = (listed.at(-1) ?? 0) - (listed[0] ?? 0) !== listed.length - 1;
  if (tensors.length > 1 || (tensors.length === 1 && apart)) return null;
  const out: (string | null)[] = [];
  let at = 0;
  for (const part of index) {
    if (part === null || typeof part === "boolean") out.push(null);
    else if (typeof part === "number") at++;
    else if (maskDims(part) !== null) {
      out.push(...listedNames(part, names, at));
      at += maskDims(part) as number;
    } else out.push(names[at++] ?? null);
  }
  return [...out, ...names.slice(at)];
}

/** What an index leaves of a stack: a member, or a stack, which is locked as this one is; null where it is no stack. */
function lazyIndex(td: StackTd, index: readonly unknown[]): Td | null {
  const split = splitIndex(td, index);
  const take = (part: (typeof split.parts)[number]): Td => {
    const member = td.members[part.member] as Td;
    return part.index === null ? member : indexTd(member, [part.index]);
  };
  if (split.kind === "member") return take(split.parts[0]);
  if (split.parts.length === 0) return isLazy(td) && td.members.length > 0 ? nothingOf(td, index) : null;
  return split.kind === "stack" ? stackOfParts(td, split, take) : blockOfParts(td, index, split, take);
}

/**
 * What is made of a locked stack is locked: its own members are already, and do not count on what has them besides,
 * which may be gone by then.
 */
function lockItems(td: StackTd, items: readonly Td[]): void {
  if (!isLockedTd(td)) return;
  for (const item of items) if (!item._locked) lockTd(item);
}

type Taken = (part: StackIndex["parts"][number]) => Td;

function stackOfParts(td: StackTd, split: Extract<StackIndex, { kind: "stack" }>, take: Taken): Td {
  const squeezed = (item: Td) => (split.keepdim ? (item.squeeze(split.dim) as Td) : item);
  const items = split.parts.map((part) => squeezed(take(part)));
  lockItems(td, items);
  return make.stack(items, split.dim, td.stackDimName);
}

/** The elements of a block, each from the member that has it, in stacks of stacks. */
function blockOfParts(
  td: StackTd,
  index: readonly unknown[],
  split: Extract<StackIndex, { kind: "gather" }>,
  take: Taken,
): Td {
  const { dim, shape } = split;
  const items: Td[] = [];
  for (const part of split.parts) {
    const item = take(part);
    const elements = split.block ? (item.unbind(dim) as Td[]) : null;
    for (const [i, at] of part.positions.entries()) items[at] = elements === null ? item : (elements[i] as Td);
  }
  lockItems(td, items);
  const names = indexedNames(td._names, index)?.slice(dim, dim + shape.length) ?? [];
  const stacked = (list: Td[], depth: number): Td => {
    const name = names[depth] ?? null;
    if (depth === shape.length - 1) return make.stack(list, dim, name);
    const step = list.length / (shape[depth] as number);
    const inner = Array.from({ length: shape[depth] as number }, (_, i) =>
      stacked(list.slice(i * step, (i + 1) * step), depth + 1),
    );
    return make.stack(inner, dim, name);
  };
  return stacked(items, 0);
}

/** What an index leaves that reaches no member: nothing, of the keys, dtypes and shapes that the first member has. */
function nothingOf(td: LazyTd, index: readonly unknown[]): Td {
  const [first] = sharedParts(td.members) as [Td];
  const one = first.unsqueeze(td.stackDim) as Td;
  const shape = one._batchSize.map((n, dim) => (dim === td.stackDim ? td.members.length : n));
  const wide = one.expand(shape) as Td;
  if (td.stackDimName !== null) wide.names = wide.names.with(td.stackDim, td.stackDimName);
  return indexTd(wide, [index]);
}

// An index of no parts means everything, also for tensors.
export function tensorIndex(index: readonly unknown[]): IndexPart {
  return (index.length === 0 ? "..." : index) as IndexPart;
}

/** A slice that says nothing: of such parts alone, an index gives the collection itself. */
function isAll(part: unknown): boolean {
  return part === ":" || (part instanceof Slice && part.start === null && part.stop === null && part.step === null);
}

/** Whether what a part chooses begins where its source does, as mapped memory has to be looked at. */
function keepsAddress(part: unknown): boolean {
  if (part instanceof Slice) return part.start === null || part.start === 0;
  return part === null || part === ":" || typeof part === "number";
}

/** A component or a part of it, or all of it; other indices are not possible. */
function nestedPart(entry: NestedTensor, parts: readonly unknown[]): Entry | null {
  const [first, ...rest] = parts;
  if (parts.every(isWhole)) return entry;
  return typeof first === "number" ? entry.at(first, ...(rest as IndexPart[])) : null;
}

/** Whether a part takes what it chooses in one piece, so that both share it. */
function isBasic(part: unknown): boolean {
  return part === null || part === ":" || typeof part === "number" || part instanceof Slice;
}

/** What an index leaves of a stack. Values that lists and masks choose are copies, as tensors are. */
function chosen(stack: StackTd, parts: readonly unknown[]): Td | null {
  const found = lazyIndex(stack, parts);
  if (found === null || isLazy(stack) || parts.every(isBasic)) return found;
  return found._like(new Map(), stateOf(found));
}

/** Python's `td[index]`: the parts of the index, or one array of them. */
export function indexTd(td: Td, given: readonly unknown[]): Td {
  const only = given.length === 1 && td._kind === "tensordict" ? onlyPart(given[0]) : null;
  const rows = only === null ? null : rowsOf(td, only, indexTd);
  if (rows !== null) return rows;
  const index = given.length === 1 && Array.isArray(given[0]) ? (given[0] as unknown[]) : given;
  if (index.length === 1 && index[0] === "...") return td;
  const parts = normalize(index, td._batchSize.length, index !== given) as IndexPart[];
  if (parts.every(isAll) && !isLazy(td)) return td;
  const [first] = parts;
  const mapped = parts.every(keepsAddress);
  const found = applyShape(td, {
    tensor: parts.length === 1 && typeof first === "number" ? (t) => t.at(first) : (t) => t.at(parts),
    onCpu: (t) => t.at(parts.map(onCpu) as IndexPart[]),
    outside: (outside, key) => outside.read(key, parts.map(onCpu)),
    nested: (entry) => nestedPart(entry, parts),
    size: (shape) => indexedSize(shape, parts),
    names: (names) => indexedNames(names, parts),
    lazy: (lazy) => chosen(lazy, parts),
    mapped,
  });
  return mapped ? mapLike(td, found) : found;
}
