// Indexing of the batch: `td.at(0)`, `td.at(slice(0, 2))`, `td.at(mask)`.
import * as texts from "../../../generated/texts.ts";
import { ELLIPSIS, type IndexPart, isTypedArray, listOfArray, parseIndex, Slice } from "../../api/indexing-parse.ts";
import { IndexError, TypeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { mapLike } from "../core/locking.ts";
import type { NestedTensor } from "../core/nested.ts";
import { type DimNames, isLazy, make, type StackTd, type Td } from "../core/state.ts";
import { tensor, zeros } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { applyShape } from "./shape.ts";

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
function partsOfText(part: unknown): readonly unknown[] {
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

function slicedLength(size: number, { start, stop, step }: Slice): number {
  const clamp = (at: number) => Math.min(Math.max(at < 0 ? at + size : at, 0), size);
  const from = start === null ? 0 : clamp(start);
  const to = stop === null ? size : clamp(stop);
  return Math.max(0, Math.ceil((to - from) / (step ?? 1)));
}

/** The size that an index leaves of a shape. */
export function indexedSize(shape: readonly number[], index: readonly unknown[]): readonly number[] {
  const basic = basicSize(shape, index);
  if (basic !== null) return basic;
  const here = index.map((part) => (part instanceof Tensor && part.isCuda ? part.cpu() : part));
  return zeros([], { dtype: "bool", device: "cpu" })
    .expand([...shape])
    .at(here as readonly IndexPart[])._shape;
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

function oneItem(members: readonly Td[], at: number): Td {
  if (Number.isInteger(at) && at >= -members.length && at < members.length) return members.at(at) as Td;
  // The error is the one that tensors give.
  return members[Number(positionsOf(members).at(at).item())] as Td;
}

const positionsOf = (members: readonly Td[]): Tensor => tensor(members.map((_, i) => i));

function slicedItems(members: readonly Td[], { start, stop, step }: Slice): Td[] {
  const part = members.slice(start ?? 0, stop ?? members.length);
  return step === null || step === 1 ? part : part.filter((_member, i) => i % step === 0);
}

function pickedItems(members: readonly Td[], part: unknown): Td[] {
  const positions = positionsOf(members)
    .at([part as IndexPart])
    .tolist() as number[];
  return positions.map((i) => members[i] as Td);
}

function lazyIndex(td: StackTd, index: readonly unknown[]): Td | null {
  const { stackDim, members } = td;
  const [mask] = index;
  if (index.length === 1 && mask instanceof Tensor && mask.dtype.name === "bool" && mask.ndim > stackDim) {
    const picked = (mask.nonzero() as Tensor).tolist() as number[][];
    return picked.length === 0
      ? null
      : make.stack(
          picked.map((at) => indexTd(td as Td, at)),
          0,
          null,
        );
  }
  const place = placeOfStack(index, stackDim);
  if (place === null) return null;
  const { own, rest, at } = place;
  const inner = (member: Td) => (rest.every(isWhole) ? member : indexTd(member, [rest]));
  if (typeof own === "number") return inner(oneItem(members, own));
  if (own === undefined) return make.stack(members.map(inner), at, td.stackDimName);
  const picked = (own instanceof Slice ? slicedItems(members, own) : pickedItems(members, own)).map(inner);
  return picked.length === 0 ? null : make.stack(picked, at, td.stackDimName);
}

/** Whether a part is one list of positions, or says of each element of one dimension whether it is meant. */
const isList = (part: unknown): boolean => {
  if (Array.isArray(part)) return part.every((item) => typeof item === "number" || typeof item === "boolean");
  return part instanceof Tensor && part.ndim === 1;
};

interface StackPlace {
  /** The part that is about the members; undefined where there is none. */
  own: unknown;
  /** What the members are indexed with. */
  rest: unknown[];
  /** Where the dimension of the members is afterwards. */
  at: number;
}

/** Which part is about the dimension of the members; null where the parts do not say it one by one. */
function placeOfStack(index: readonly unknown[], stackDim: number): StackPlace | null {
  const lists = index.filter(isList).length;
  const numbers = index.some((part) => typeof part === "number");
  const plain = (part: unknown) =>
    part === null || part === true || typeof part === "number" || typeof part === "string";
  const picks = lists + index.filter((part) => part === true).length;
  if (picks > 1 || (picks === 1 && numbers)) return null;
  if (!index.every((part) => plain(part) || isSliceObject(part) || isList(part))) return null;
  const place: StackPlace = { own: undefined, rest: [], at: -1 };
  let [dim, out] = [0, 0];
  for (const part of index) {
    if (part !== null && part !== true && dim++ === stackDim) [place.own, place.at] = [part, out++];
    else {
      place.rest.push(part);
      if (typeof part !== "number") out++;
    }
  }
  if (dim <= stackDim) place.at = out + stackDim - dim;
  return place;
}

export function isSliceObject(part: unknown): boolean {
  return typeof part === "object" && part !== null && !(part instanceof Tensor) && !Array.isArray(part);
}

// An index of no parts means everything, also for tensors.
export function tensorIndex(index: readonly unknown[]): IndexPart {
  return (index.length === 0 ? "..." : index) as IndexPart;
}

function isWhole(part: unknown): boolean {
  if (!(part instanceof Slice)) return part === ":";
  return part.start === null && part.stop === null && (part.step ?? 1) === 1;
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

/** Python's `td[index]`: the parts of the index, or one array of them. */
export function indexTd(td: Td, given: readonly unknown[]): Td {
  const index = given.length === 1 && Array.isArray(given[0]) ? (given[0] as unknown[]) : given;
  if (index.length === 1 && index[0] === "...") return td;
  const parts = normalize(index, td._batchSize.length, index !== given) as IndexPart[];
  if (parts.every(isAll) && !isLazy(td)) return td;
  const [first] = parts;
  const found = applyShape(td, {
    tensor: parts.length === 1 && typeof first === "number" ? (t) => t.at(first) : (t) => t.at(parts),
    outside: (outside, key) => outside.read(key, parts),
    nested: (entry) => nestedPart(entry, parts),
    size: (shape) => indexedSize(shape, parts),
    names: (names) => indexedNames(names, parts),
    lazy: (lazy) => lazyIndex(lazy, parts),
  });
  return parts.every(keepsAddress) ? mapLike(td, found) : found;
}
