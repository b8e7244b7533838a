// What an index of a stack means to its members: which of them it reaches, and what of each.
import * as texts from "../../../generated/texts.ts";
import { Slice } from "../../api/indexing-parse.ts";
import { commonShape } from "../../dispatch/indexing-advanced.ts";
import { IndexError } from "../../tensor/errors.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { StackTd } from "../core/state.ts";
import { flatNumbers, onHost, zeros } from "../core/tensor-ops.ts";

export type Index = readonly unknown[];

/** A member that an index reaches. */
interface MemberPart {
  member: number;
  /** What of it: null for all of it. */
  index: Index | null;
  /** Which elements of the block come from it, counted in row-major order; of a gather only. */
  positions: readonly number[];
}

/**
 * What an index reaches of a stack. As with a dense one, the part that is about the dimension of the members decides:
 * - a number: one `member`, which takes the other parts
 * - a slice: a `stack` of what the other parts give of the members, along `dim`. With lists on both sides of the slice,
 *   a dimension of one stands in its place in each member (`keepdim`), so that the lists stay apart
 * - a list or a mask: a `gather`. Lists together make a block of dimensions of the result, of `shape`, from `dim` on;
 *   each element of it comes from some member. Where lists are about other dimensions too (`block`), a member gives its
 *   elements as one dimension, and otherwise one element for all.
 */
export type StackIndex =
  | { kind: "member"; parts: readonly [MemberPart] }
  | { kind: "stack"; parts: readonly MemberPart[]; dim: number; keepdim: boolean }
  | { kind: "gather"; parts: readonly MemberPart[]; dim: number; shape: readonly number[]; block: boolean };

/** A part of an index, and the first dimension that it is about. */
interface Part {
  kind: "number" | "slice" | "new" | "list" | "mask" | "flag";
  value: unknown;
  first: number;
  /** How many dimensions it is about. */
  dims: number;
}

function readPart(value: unknown, first: number): Part {
  if (value === null) return { kind: "new", value, first, dims: 0 };
  if (typeof value === "boolean") return { kind: "flag", value, first, dims: 0 };
  if (typeof value === "number") return { kind: "number", value, first, dims: 1 };
  if (value === ":" || value instanceof Slice) return { kind: "slice", value, first, dims: 1 };
  const given = onHost(value);
  const list = given.dtype.name === "uint8" ? given.bool() : asNumbers(given, Array.isArray(value));
  if (list.dtype.name === "bool") {
    if (list.ndim === 0) return { kind: "flag", value: Boolean(list.item()), first, dims: 0 };
    return { kind: "mask", value: list, first, dims: list.ndim };
  }
  if (list.ndim === 0) return { kind: "number", value: Number(list.item()), first, dims: 1 };
  return { kind: "list", value: list, first, dims: 1 };
}

/** Masks and whole numbers; a list of numbers is of floats, but without fractions. */
function asNumbers(list: Tensor, listed: boolean): Tensor {
  if (["int64", "int32", "bool"].includes(list.dtype.name)) return list;
  const whole = list.long();
  if (!listed || !whole.to(list.dtype).equal(list)) throw texts.indexTensorDtype("at");
  return whole;
}

/** The parts of an index, and which of them is about the members; slices are added until one is. */
function readParts(td: StackTd, index: Index): { parts: Part[]; own: number } {
  const parts: Part[] = [];
  const { stackDim } = td;
  let dim = 0;
  let own = -1;
  const add = (value: unknown): void => {
    const part = readPart(value, dim);
    if (part.kind === "mask") requireMask(td, part);
    if (dim <= stackDim && stackDim < dim + part.dims) own = parts.length;
    parts.push(part);
    dim += part.dims;
  };
  index.forEach(add);
  while (own < 0) add(":");
  return { parts, own };
}

/** Refuses a mask of another size than the batch: the members are not asked for it. */
function requireMask(td: StackTd, { value, first }: Part): void {
  const shape = (value as Tensor)._shape;
  const wrong = shape.findIndex((n, i) => first + i < td._batchSize.length && n !== td._batchSize[first + i]);
  if (wrong < 0) return;
  throw new IndexError(
    `The shape of the mask [${shape.join(", ")}] at index ${wrong} does not match the shape of the indexed tensor ` +
      `[${td._batchSize.join(", ")}] at index ${first + wrong}`,
  );
}

const isListed = (part: Part): boolean => part.kind === "list" || part.kind === "mask" || part.kind === "flag";
const isRange = (part: Part): boolean => part.kind === "slice" || part.kind === "new";

/** Numbers of members as they are counted from the start. */
function memberAt(td: StackTd, at: number): number {
  const count = td.members.length;
  if (Number.isInteger(at) && at >= -count && at < count) return at < 0 ? at + count : at;
  throw new IndexError(`index ${at} is out of bounds for dimension ${td.stackDim} with size ${count}`);
}

function wholeOr(index: Index): Index | null {
  return index.every(isWhole) ? null : index;
}

/** Whether a part of an index says nothing. */
export function isWhole(part: unknown): boolean {
  if (!(part instanceof Slice)) return part === ":";
  return part.start === null && part.stop === null && (part.step ?? 1) === 1;
}

const NONE: readonly number[] = [];

/** The members that a slice means, with what is taken of each. */
function slicedMembers(count: number, part: unknown, index: Index | null): MemberPart[] {
  const { start, stop, step } = part instanceof Slice ? part : { start: null, stop: null, step: null };
  const end = stop === null ? count : stop < 0 ? stop + count : Math.min(stop, count);
  const members: MemberPart[] = [];
  const first = start === null ? 0 : start < 0 ? Math.max(0, start + count) : start;
  for (let member = first; member < end; member += step ?? 1) members.push({ member, index, positions: NONE });
  return members;
}

/** `splitIndex` of numbers, slices and new dimensions. */
function splitBasic(td: StackTd, index: Index): StackIndex {
  const rest: unknown[] = [];
  let [dim, out, at] = [0, 0, -1];
  let own: unknown = ":";
  for (const part of index) {
    if (part !== null && dim++ === td.stackDim) {
      own = part;
      at = out;
    } else rest.push(part);
    if (typeof part !== "number") out++;
  }
  const inner = wholeOr(rest);
  if (typeof own === "number")
    return { kind: "member", parts: [{ member: memberAt(td, own), index: inner, positions: NONE }] };
  const place = at < 0 ? out + td.stackDim - dim : at;
  return { kind: "stack", dim: place, keepdim: false, parts: slicedMembers(td.members.length, own, inner) };
}

const isBasic = (part: unknown): boolean =>
  typeof part === "number" || part === null || part === ":" || part instanceof Slice;

/** Reads an index, whose dots are replaced and which is not longer than the batch, as indices of the members. */
export function splitIndex(td: StackTd, index: Index): StackIndex {
  if (index.every(isBasic)) return splitBasic(td, index);
  const { parts, own } = readParts(td, index);
  const part = parts[own] as Part;
  const others = parts.filter((_, i) => i !== own).map((one) => one.value);
  if (part.kind === "number") {
    const member = memberAt(td, part.value as number);
    return { kind: "member", parts: [{ member, index: wholeOr(others), positions: NONE }] };
  }
  const listed = parts.flatMap((one, i) => (isListed(one) ? [i] : []));
  const [first, last] = [listed[0] ?? -1, listed.at(-1) ?? -1];
  const apart = parts.slice(first + 1, Math.max(last, 0)).some(isRange);
  const before = (end: number) => parts.slice(0, end).filter(isRange).length;
  if (part.kind !== "slice") return gathered(td, { parts, own, listed, dim: apart ? 0 : before(first) });
  const keepdim = first >= 0 && first < own && own < last;
  const values: unknown[] = parts.map((one) => one.value);
  values.splice(own, 1, ...(keepdim ? [null] : []));
  const dims = first >= 0 && (apart || first < own) ? Math.max(...listed.map((i) => blockRank(parts[i] as Part))) : 0;
  const inner = wholeOr(values);
  const reached = slicedMembers(td.members.length, part.value, inner);
  return { kind: "stack", dim: before(own) + dims, keepdim, parts: reached };
}

/** How many dimensions of the result a list has. */
const blockRank = (part: Part): number => (part.kind === "list" ? (part.value as Tensor).ndim : 1);

/** The numbers that a list, a mask or a flag stands for, for each dimension that it is about; of a flag for none. */
function numbersOf(part: Part): readonly Tensor[] {
  if (part.kind === "flag") return [zeros([Number(part.value)], { dtype: "int64", device: "cpu" })];
  return part.kind === "mask" ? ((part.value as Tensor).nonzero() as Tensor).unbind(1) : [part.value as Tensor];
}

interface Gathered {
  parts: readonly Part[];
  own: number;
  listed: readonly number[];
  dim: number;
}

function gathered(td: StackTd, { parts, own, listed, dim }: Gathered): StackIndex {
  const numbers = new Map(listed.map((i) => [i, numbersOf(parts[i] as Part)]));
  const shape = commonShape([...numbers.values()].flat());
  const flat = (t: Tensor): Tensor => t.expand([...shape]).reshape([-1]);
  const part = parts[own] as Part;
  const places = new Map<number, number[]>();
  for (const [at, given] of flatNumbers(
    flat((numbers.get(own) as Tensor[])[td.stackDim - part.first] as Tensor),
  ).entries()) {
    const member = memberAt(td, given);
    const known = places.get(member);
    if (known === undefined) places.set(member, [at]);
    else known.push(at);
  }
  const block = listed.some((i) => parts[i]?.kind !== "flag" && (i !== own || (numbers.get(i) as Tensor[]).length > 1));
  const plain = wholeOr(parts.filter((one) => !isListed(one)).map((one) => one.value));
  const lists = block ? new Map([...numbers].map(([i, all]) => [i, all.map(flat)])) : null;
  const reached = [...places].map(([member, positions]) => {
    if (lists === null) return { member, index: plain, positions };
    const where = onHost(positions).long();
    const index = parts.flatMap((one, i): unknown[] => {
      if (!isListed(one) || one.kind === "flag") return [one.value];
      return (lists.get(i) as Tensor[]).map((t, d) => (one.first + d === td.stackDim ? true : t.at([where])));
    });
    return { member, index, positions };
  });
  return { kind: "gather", dim, shape, block, parts: reached };
}
