// Writing through an index of the batch: `td.setAt(0, value)`, and into a part of one entry.
import { type IndexPart, Slice } from "../../api/indexing-parse.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { fromSource, isSource, mismatch, sourceEntries, startsWith, toEntry, toValues } from "../core/convert.ts";
import { badKey, keyPath, missingKey } from "../core/keys.ts";
import { noNested } from "../core/nested.ts";
import { pythonRepr } from "../core/python-repr.ts";
import { rehearseSetAt } from "../core/rehearsal.ts";
import {
  entriesOf,
  isBranch,
  isLazy,
  isNested,
  isNonTensor,
  type LazyTd,
  make,
  outlineOf,
  outlinesOf,
  stateOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import { tensor, zeros } from "../core/tensor-ops.ts";
import type { Classes, Entry, NestedKey } from "../core/types.ts";
import { isUnbatched } from "../core/unbatched.ts";
import { indexedSize, indexTd, normalize, tensorIndex } from "./indexing.ts";
import { valuesOf } from "./stacking.ts";
import {
  allOrNothing,
  expandsTo,
  planInto,
  planUpdateInPlace,
  requireOutline,
  requirePlace,
  resolvePath,
  type Writes,
} from "./writes.ts";

type Index = readonly unknown[];

/** An index as a list of its parts. */
function partsOf(index: unknown): Index {
  return Array.isArray(index) ? index : [index];
}

/** Python's `td[index] = value`. */
export function writeIndex(td: Td, index: unknown, value: unknown): void {
  allOrNothing((writes) => planIndex(td, partsOf(index), value, writes, Array.isArray(index)));
}

function planIndex(td: Td, index: Index, value: unknown, writes: Writes, fromArray = false): void {
  const parts = normalize(index, td._batchSize.length, fromArray);
  if (isBranch(value) && !isNonTensor(td)) value = requireIndexed(td, index, parts, value);
  if (isLazy(td) && isBranch(value) && parts.length === 1 && (parts[0] === null || parts[0] === true)) {
    const pieces = indexTd(value, [0]).unbind(td.stackDim) as Td[];
    for (const [i, member] of td.members.entries()) planIndex(member, parts, pieces[i], writes);
    return;
  }
  if (isLazy(td) && (isBranch(value) || isSource(value)) && planParts(td, parts, value, writes)) return;
  if (isNonTensor(td)) planOwnValues(td, parts, value, writes);
  else if (isBranch(value)) planEntries(td, parts, entriesOf(value), writes);
  else if (isSource(value)) planEntries(td, parts, requirePairs(td, parts, value), writes);
  else planFill(td, parts, value, writes);
}

/** A slice, a tensor or a list of an index as Python prints it. */
function partText(part: unknown): string {
  if (part === ":") return "slice(None, None, None)";
  if (part instanceof Slice) return `slice(${[part.start, part.stop, part.step].map((n) => n ?? "None").join(", ")})`;
  return part instanceof Tensor ? String(part) : pythonRepr(part);
}

/**
 * The collection that is written into a part of the batch: it begins with the batch of that part, or is expanded to it
 * in a lazy stack and where the index is a new dimension alone.
 */
function requireIndexed(td: Td, index: Index, parts: Index, value: Td): Td {
  const size = Size.fromList([...indexedSize(td._batchSize, parts)]);
  if (startsWith(value._batchSize, size)) return value;
  const [first] = index;
  const fresh = index.length === 1 && (first === null || typeof first === "boolean");
  if (fresh && value._batchSize.length <= size.length && !expandsTo(value._batchSize, size)) {
    throw new RuntimeError(
      "Incompatible expanded shape: The expanded shape length at non-singleton dimension should be same as the " +
        `original length. target_shape = ${size}, existing_shape = ${value._batchSize}`,
    );
  }
  if (fresh || (isLazy(td) && expandsTo(value._batchSize, size))) return value.expand(size) as Td;
  const text = parts.map(partText);
  const where = text.length === 1 && !Array.isArray(parts[0]) ? text[0] : `(${text.join(", ")}${text[1] ? "" : ","})`;
  throw new RuntimeError(
    `indexed destination TensorDict batch size is ${size} (batch_size = ${td._batchSize}, index=${where}), which ` +
      `differs from the source batch size ${value._batchSize}`,
    { code: "batch_mismatch" },
  );
}

/** Which members an index names by itself: numbers and slices, or a list or a mask of members beside slices. */
function namesMembers(lazy: LazyTd, parts: Index): boolean {
  const own = parts[lazy.stackDim];
  const listed = own instanceof Tensor ? own.ndim === 1 : Array.isArray(own);
  return parts.every(
    (part, dim) => (isBasic(part) && !(listed && typeof part === "number")) || (listed && dim === lazy.stackDim),
  );
}

/** Plans writing a collection member by member; false where the index or the collection is not made for it. */
function planParts(
  td: LazyTd,
  parts: Index,
  value: Td | Record<string, unknown> | ReadonlyMap<string, unknown>,
  writes: Writes,
): boolean {
  if (!namesMembers(td, parts)) return false;
  const size = Size.fromList(indexedSize(td._batchSize, parts));
  if (isSource(value) && sourceEntries(value).some(([key]) => typeof key !== "string")) return false;
  const whole = isSource(value) ? fromSource(value, stateOf(td, { batchSize: size, names: null })) : value;
  const { picked, one, inner, dim } = splitIndex(td, parts);
  let pieces: readonly Td[];
  if (one && sameSizes(whole._batchSize, size)) pieces = [whole];
  else if (!one && whole._batchSize[dim] === picked.length && whole._batchSize.length > dim)
    pieces = whole.unbind(dim) as Td[];
  else return false;
  for (const [i, at] of picked.entries()) {
    const member = td.members[at] as Td;
    if (inner.every(isAll)) planUpdateInPlace(member, pieces[i] as Td, { only: null, add: true }, writes);
    else planIndex(member, inner, pieces[i], writes);
  }
  return true;
}

function isAll(part: unknown): boolean {
  if (!(part instanceof Slice)) return part === ":";
  return part.start === null && part.stop === null && (part.step ?? 1) === 1;
}

/** Writes into part of an existing entry; the index may reach beyond the batch. */
export function writePart(td: Td, key: NestedKey, value: unknown, index: unknown): void {
  const [holder, last] = resolvePath(td, keyPath(key));
  const parts = partsOf(index);
  allOrNothing((writes) => {
    if (isLazy(holder) && planMembers(holder, last, parts, value, writes)) return;
    const [, , entry] = requireOutline(holder, last);
    if (entry instanceof Tensor) planPart(holder, last, entry, parts, value, writes);
    else if (isBranch(entry)) planIndex(entry, parts, value, writes);
    else planEntry(holder, last, entry, normalize(parts, holder._batchSize.length), value, writes);
  });
}

/** Plans writing into the part of a tensor that an index names. */
function planPart(td: Td, key: string, own: Tensor, index: Index, value: unknown, writes: Writes): void {
  const outside = td._outside;
  if (isLazy(td)) {
    if (!planMembers(td, key, index, value, writes)) planStacked(td, key, own, index, value, writes);
  } else if (outside !== undefined) {
    writes.push(() => outside.write(key, index, value));
  } else {
    rehearseSetAt(own, tensorIndex(index), value);
    writes.push(() => own.setAt(tensorIndex(index), value as number));
  }
}

/** Tensors under one key in each member of a stack; null where some are none. */
function memberTensors(members: readonly Td[], key: string): Tensor[] | null {
  const own = members.map((member) => outlineOf(member, key));
  return own.every((entry) => entry instanceof Tensor) ? (own as Tensor[]) : null;
}

function isBasic(part: unknown): boolean {
  return typeof part === "number" || part === ":" || part instanceof Slice;
}

/** Which members of a stack an index of numbers and slices names, and what of each. */
function splitIndex(lazy: LazyTd, parts: Index): { picked: number[]; one: boolean; inner: Index; dim: number } {
  const { stackDim, members } = lazy;
  const own = parts[stackDim] ?? ":";
  const found = tensor(Float64Array.from(members, (_, i) => i)).at([own as IndexPart]);
  return {
    picked: found.reshape([-1]).tolist() as number[],
    one: typeof own === "number",
    inner: [...parts.slice(0, stackDim), ...parts.slice(stackDim + 1)],
    dim: stackDim - parts.slice(0, stackDim).filter((part) => typeof part === "number").length,
  };
}

/**
 * Plans writing member by member, through numbers, slices and a list of members; false for other indices and other
 * entries.
 */
function planMembers(td: LazyTd, key: string, index: Index, value: unknown, writes: Writes): boolean {
  const tensors = memberTensors(td.members, key);
  const [first] = tensors ?? [];
  if (tensors === null || first === undefined) return false;
  const rank = Math.min(...tensors.map((t) => t.ndim)) + 1;
  // Where the dots end depends on the number of dimensions.
  if (!tensors.every((t) => t.ndim === first.ndim) && index.includes("...")) return false;
  const parts = normalize(index, rank);
  if (!namesMembers(td, parts)) return false;
  const { picked, one, inner, dim } = splitIndex(td, parts);
  let shared: unknown = value;
  let each: readonly Tensor[] | null = null;
  if (!one && (value instanceof Tensor || Array.isArray(value))) {
    const source = tensor(value);
    shared = source;
    if (source.ndim > 0) {
      // Members of different shapes have no common part: one number for all is possible only.
      if (!tensors.every((t) => sameSizes(t._shape, first._shape))) return false;
      const shape = [...first._shape.slice(0, td.stackDim), td.members.length, ...first._shape.slice(td.stackDim)];
      each = source.expand([...indexedSize(shape, parts)]).unbind(dim);
    }
  }
  for (const [i, at] of picked.entries()) {
    planPart(td.members[at] as Td, key, tensors[at] as Tensor, inner, each === null ? shared : each[i], writes);
  }
  return true;
}

/**
 * What a lazy stack reads is a copy. For an index of any kind, the part is written into the copy, and the members that
 * have elements of it get theirs back.
 */
function planStacked(td: LazyTd, key: string, own: Tensor, index: Index, value: unknown, writes: Writes): void {
  const { stackDim, members } = td;
  rehearseSetAt(own, tensorIndex(index), value);
  const line = own._shape.map((n, dim) => (dim === stackDim ? n : 1));
  const numbers = tensor(Float64Array.from(members, (_, i) => i)).reshape(line);
  const found = numbers.expand([...own._shape]).at(index as readonly IndexPart[]);
  const whole = own.clone();
  writes.push(() => whole.setAt(tensorIndex(index), value as number));
  for (const i of new Set(found.reshape([-1]).tolist() as number[])) {
    const member = members[i] as Td;
    planInto(member, key, member._own(key) as Entry, whole.select(stackDim, i), writes);
  }
}

/** Keys, and those of the collections under them. */
type KeyTree = ReadonlyMap<string, KeyTree>;

/** The keys that all have. */
function sharedKeys(all: readonly Td[]): KeyTree {
  const shared = new Map<string, KeyTree>();
  for (const key of all[0]?._keys() ?? []) {
    const entries = all.map((one) => outlineOf(one, key));
    if (entries.includes(undefined)) continue;
    shared.set(key, sharedKeys(entries.filter((one): one is Td => isBranch(one) && !isNonTensor(one))));
  }
  return shared;
}

/** One value for the part of every tensor: of a stack's members those that all have, which are the stack's own. */
function planFill(td: Td, index: Index, value: unknown, writes: Writes, keys: KeyTree | null = null): void {
  if (isLazy(td) && namesMembers(td, index) && (typeof value === "number" || typeof value === "boolean")) {
    const { picked, inner } = splitIndex(td, index);
    const shared = keys ?? sharedKeys(td.members);
    for (const at of picked) planFill(td.members[at] as Td, inner, value, writes, shared);
    return;
  }
  for (const key of keys?.keys() ?? td._keys()) {
    if (isLazy(td) && planMembers(td, key, index, value, writes)) continue;
    const entry = outlineOf(td, key) as Entry;
    if (entry instanceof Tensor) planPart(td, key, entry, index, value, writes);
    else if (isNested(entry)) throw noNested("writing a part", key);
    else if (!isNonTensor(entry)) planFill(entry, index, value, writes, keys?.get(key) ?? null);
  }
}

/** The pairs of a dictionary, whose values begin with the batch of the part that they are written into. */
function requirePairs(
  td: Td,
  index: Index,
  source: Record<string, unknown> | ReadonlyMap<string, unknown>,
): [string, unknown][] {
  const pairs = sourceEntries(source);
  const size = Size.fromList([...indexedSize(td._batchSize, index)]);
  for (const [key, item] of pairs) {
    if (item instanceof Tensor && !isUnbatched(item) && !startsWith(item._shape, size)) {
      throw mismatch(size, item.shape, String(key), false);
    }
  }
  return pairs;
}

function planEntries(td: Td, index: Index, pairs: Iterable<[string, unknown]>, writes: Writes): void {
  for (const [key, item] of pairs) {
    if (typeof key !== "string") throw badKey(key);
    const own = outlineOf(td, key);
    if (own === undefined) planNew(td, key, index, item, writes);
    else planEntry(td, key, own, index, item, writes);
  }
}

function planEntry(td: Td, key: string, own: Entry, index: Index, item: unknown, writes: Writes): void {
  // The whole batch shares what is unbatched: it is written whole.
  if (isUnbatched(own) && isUnbatched(item)) planInto(td, key, own, item, writes);
  else if (own instanceof Tensor) planPart(td, key, own, index, item, writes);
  else if (isNested(own)) throw noNested("writing a part", key);
  else if (isNonTensor(own)) planNonTensor(td, key, own, index, item, writes);
  else planIndex(own, index, item, writes);
}

/** Throws for the first key of a source that a collection lacks. */
export function requireKnown(td: Td, source: unknown): void {
  if (!isBranch(source) && !isSource(source)) return;
  const pairs = isBranch(source) ? outlinesOf(source) : source instanceof Map ? source : Object.entries(source);
  for (const [key, item] of pairs) {
    if (typeof key !== "string") throw badKey(key);
    const own = outlineOf(td, key);
    if (own === undefined) throw missingKey(key, td._className, td._keys());
    if (isBranch(own) && !isNonTensor(own)) requireKnown(own, item);
  }
}

/** A key that only the source has is made, zero outside of the index. */
function planNew(td: Td, key: string, index: Index, item: unknown, writes: Writes): void {
  requirePlace(td, key);
  const made = blankFor(td, index, item, key);
  td._outside?.check(key, made);
  writes.push(() => td._put(key, made));
}

/** The values that an index picks out of a collection, made of `item`. */
function valuesFor(td: Td, index: Index, item: unknown, key: string): ValueTd {
  const size = Size.fromList(indexedSize(td._batchSize, index));
  return toValues(item, stateOf(td, { batchSize: size, device: null, names: null }), key);
}

/** The text of Python's error for a part of one value that files or shared memory hold. */
const ONE_VALUE =
  "You're attempting to update a leaf in-place with a shared tensordict, but the new value does not match the " +
  "previous. If you're using NonTensorData, see the class documentation to see how to properly pre-allocate memory " +
  "in shared contexts.";

function planOwnValues(td: ValueTd, index: Index, item: unknown, writes: Writes): void {
  const value = valuesFor(td, index, item, "data");
  if (td._kind === "nonTensorStack") {
    writes.push(() => td._assignAt(index, value));
  } else if (!sameValue(td, value)) {
    throw new RuntimeError("a NonTensorData holds one value for all elements: a part of them cannot have another one");
  }
}

function sameValue(own: Classes<unknown>["nonTensor"], value: ValueTd): boolean {
  return valuesOf(value).every((item) => Bun.deepEquals(item, own.value_, true));
}

function planNonTensor(td: Td, key: string, own: ValueTd, index: Index, item: unknown, writes: Writes): void {
  if (isLazy(td)) {
    planValuesOfMembers(td, key, index, item, writes);
    return;
  }
  const value = valuesFor(td, index, item, key);
  if (own._kind === "nonTensor" && sameValue(own, value)) return;
  if (own._kind === "nonTensor" && td.isMemmap()) throw new RuntimeError(ONE_VALUE);
  const stack = own._kind === "nonTensorStack" ? own : own.toStack();
  writes.push(() => {
    stack._assignAt(index, value);
    if (stack !== own || td._outside !== undefined) td._put(key, stack);
  });
}

function planValuesOfMembers(td: LazyTd, key: string, index: Index, item: unknown, writes: Writes): void {
  if (!index.every(isBasic)) {
    throw new RuntimeError(
      `the values under '${key}' of a td stack are written through numbers and slices only; densify() it first`,
    );
  }
  const { picked, one, inner, dim } = splitIndex(td, index);
  const value = valuesFor(td, index, item, key);
  const parts = one ? [value] : value.unbind(dim);
  for (const [i, at] of picked.entries()) {
    const member = td.members[at] as Td;
    planNonTensor(member, key, member._own(key) as ValueTd, inner, parts[i], writes);
  }
}

/** A new entry for `key`, blank but for the part that an index names. */
function blankFor(td: Td, index: Index, item: unknown, key: string): Entry {
  const size = Size.fromList(indexedSize(td._batchSize, index));
  const entry = toEntry(item, stateOf(td, { batchSize: size, names: null }), key);
  if (entry instanceof Tensor) {
    const feature = entry._shape.slice(size.length);
    const blank = zeros([...td._batchSize, ...feature], { dtype: entry.dtype, device: entry.device });
    return blank.setAt(tensorIndex(index), entry);
  }
  if (isNested(entry)) throw noNested("writing a part", key);
  if (isNonTensor(entry)) {
    // As in Python, one value becomes that of the whole batch.
    if (entry._kind === "nonTensor") return entry._like(new Map(), stateOf(td, { names: null }));
    const stack = make.nonTensor(null, stateOf(td, { names: null })).toStack();
    stack._assignAt(index, entry);
    return stack;
  }
  const made = make.tensordict(new Map(), stateOf(td));
  writeIndex(made, index, entry);
  return made;
}
