// Writing through an index of the batch: `td.setAt(0, value)`, and into a part of one entry.
import { Slice } from "../../api/indexing-parse.ts";
import type { Device } from "../../tensor/device.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { fromSource, isSource, mismatch, sourceEntries, startsWith, toEntry, toValues } from "../core/convert.ts";
import { hasLists, onCpu, partsOf, withoutMasks } from "../core/index-parts.ts";
import { badKey, keyPath, missingKey, pythonString } from "../core/keys.ts";
import { noNested } from "../core/nested.ts";
import { pythonRepr } from "../core/python-repr.ts";
import { rehearseSetAt } from "../core/rehearsal.ts";
import {
  entriesOf,
  isBranch,
  isLazy,
  isNested,
  isNonTensor,
  isTensorCollection,
  type LazyTd,
  make,
  outlineOf,
  type StackTd,
  stateOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import { onHost, tensor, zeros } from "../core/tensor-ops.ts";
import type { Classes, Entry, NestedKey } from "../core/types.ts";
import { isUnbatched } from "../core/unbatched.ts";
import { tensorsOf } from "./access.ts";
import { indexedSize, normalize, partsOfText, tensorIndex } from "./indexing.ts";
import { onlyPart, writeRows } from "./rows.ts";
import { type Index, splitIndex } from "./stack-index.ts";
import { valuesOf } from "./stacking.ts";
import type { UpdateSource } from "./update-sources.ts";
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

/**
 * Writes a part of the entries that a source has, each as `setAt_` does: dots with parts after them are read on each
 * tensor's own dimensions. A stack is written member by member, but with such dots.
 */
export function updateAt(td: Td, index: unknown, source: UpdateSource): void {
  requireKnown(td, source);
  const parts = partsOf(index).flatMap(partsOfText);
  const dots = parts.indexOf("...");
  if (isNonTensor(td) || (isLazy(td) && (dots < 0 || dots === parts.length - 1))) {
    writeIndex(td, index, source);
    return;
  }
  allOrNothing((writes) => {
    const pairs = isBranch(source) ? entriesOf(source) : sourceEntries(source as Record<string, unknown>);
    for (const [key, value] of pairs) planPartOf(td, key, value, parts, writes);
  });
}

/** Python's `td[index] = value`. */
export function writeIndex(td: Td, index: unknown, value: unknown): void {
  const only = isTensorCollection(value) ? onlyPart(index) : null;
  if (only !== null && writeRows(td, only, value as Td)) return;
  allOrNothing((writes) => planIndex(td, partsOf(index), value, writes, Array.isArray(index)));
}

function planIndex(td: Td, index: Index, value: unknown, writes: Writes, fromArray = false): void {
  const parts = normalize(index, td._batchSize.length, fromArray);
  if (isBranch(value) && !isNonTensor(td)) value = requireIndexed(td, index, parts, value);
  if (isLazy(td) && (isBranch(value) || isSource(value)) && planParts(td, parts, value, writes)) return;
  if (isNonTensor(td)) planOwnValues(td, parts, value, writes);
  else if (isBranch(value)) planEntries(td, withoutMasks(parts), entriesOf(value), writes);
  else if (isSource(value)) planEntries(td, withoutMasks(parts), requirePairs(td, parts, value), writes);
  else planFill(td, parts, value, writes);
}

/** A slice, a tensor or a list of an index as Python prints it. */
function partText(part: unknown): string {
  if (part === ":") return "slice(None, None, None)";
  if (part instanceof Slice) return `slice(${[part.start, part.stop, part.step].map((n) => n ?? "None").join(", ")})`;
  return part instanceof Tensor ? String(part) : pythonRepr(part);
}

/** A collection grown to the left to a batch that ends like its own, or with that batch where its tensors have it. */
function fromShorter(value: Td, size: Size): Td | null {
  const { length } = value._batchSize;
  if (length > 0 && sameSizes(size.slice(-length), value._batchSize)) return value.expand(size) as Td;
  const copy = value.copy() as Td;
  try {
    copy.batchSize = size;
  } catch (error) {
    if (error instanceof RuntimeError) return null;
    throw error;
  }
  return copy;
}

/**
 * The collection that is written into a part of the batch: it begins with the batch of that part, or is expanded to it
 * where the index is a new dimension alone. In a lazy stack it has that batch, or is expanded to it.
 */
function requireIndexed(td: Td, index: Index, parts: Index, value: Td): Td {
  const size = Size.fromList([...indexedSize(td._batchSize, parts)]);
  if (isLazy(td) ? sameSizes(value._batchSize, size) : startsWith(value._batchSize, size)) return value;
  const [first] = index;
  const fresh = index.length === 1 && (first === null || typeof first === "boolean");
  if (fresh && value._batchSize.length <= size.length && !expandsTo(value._batchSize, size)) {
    throw new RuntimeError(
      "Incompatible expanded shape: The expanded shape length at non-singleton dimension should be same as the " +
        `original length. target_shape = ${size}, existing_shape = ${value._batchSize}`,
    );
  }
  if (fresh || (isLazy(td) && expandsTo(value._batchSize, size))) return value.expand(size) as Td;
  const shorter = isLazy(td) ? null : fromShorter(value, size);
  if (shorter !== null) return shorter;
  const text = parts.map(partText);
  const where = text.length === 1 && !Array.isArray(parts[0]) ? text[0] : `(${text.join(", ")}${text[1] ? "" : ","})`;
  throw new RuntimeError(
    `indexed destination TensorDict batch size is ${size} (batch_size = ${td._batchSize}, index=${where}), which ` +
      `differs from the source batch size ${value._batchSize}`,
    { code: "batch_mismatch" },
  );
}

/** Plans writing a collection member by member; false for a dictionary with paths as keys. */
function planParts(
  td: LazyTd,
  parts: Index,
  value: Td | Record<string, unknown> | ReadonlyMap<string, unknown>,
  writes: Writes,
): boolean {
  const size = Size.fromList(indexedSize(td._batchSize, parts));
  if (isSource(value) && sourceEntries(value).some(([key]) => typeof key !== "string")) return false;
  const whole = isSource(value) ? fromSource(value, stateOf(td, { batchSize: size, names: null })) : value;
  for (const { member, index, piece } of piecesAt(td, parts, whole)) {
    const own = td.members[member] as Td;
    if (index === null) planUpdateInPlace(own, piece, { only: null, add: true }, writes);
    else planIndex(own, index, piece, writes);
  }
  return true;
}

/** What of a value, which begins with the batch that an index leaves, goes where in which member. */
function piecesAt<T extends Td | Tensor>(
  td: StackTd,
  parts: Index,
  value: T,
): { member: number; index: Index | null; piece: T }[] {
  const split = splitIndex(td, parts);
  // The pieces are written in turn: none of them may be what another one is written into.
  if (split.parts.length > 1 && sharesMemory(td, split.parts, value)) value = value.clone() as T;
  const { dim } = split.kind === "member" ? { dim: 0 } : split;
  const line = split.kind === "stack" || (split.kind === "gather" && !split.block && split.shape.length === 1);
  const pieces = (line ? value.unbind(dim) : []) as readonly (Td | Tensor)[] as readonly T[];
  return split.parts.map(({ member, index, positions }, i) => {
    if (split.kind === "member") return { member, index, piece: value };
    if (split.kind === "stack") {
      const piece = pieces[i] as T;
      return { member, index, piece: split.keepdim ? (piece.unsqueeze(dim) as T) : piece };
    }
    // Of what is written to one place in turn, the last stays.
    const last = positions[positions.length - 1] as number;
    if (line) return { member, index, piece: pieces[last] as T };
    const where = placesOf(split.block ? positions : [last], split.shape);
    const at = [
      ...new Array<string>(dim).fill(":"),
      ...where.map((list) => (split.block ? onHost(list).long() : list[0])),
    ];
    return { member, index, piece: value.at(at as never) as T };
  });
}

/** Where elements are that are counted in row-major order: a list for each dimension. */
function placesOf(positions: readonly number[], shape: readonly number[]): number[][] {
  let step = 1;
  const lists = shape.toReversed().map((n) => {
    const list = positions.map((at) => Math.floor(at / step) % n);
    step *= n;
    return list;
  });
  return lists.reverse();
}

/** Whether a value has memory of the members that an index reaches. */
function sharesMemory(td: StackTd, parts: readonly { member: number }[], value: Td | Tensor): boolean {
  const own = new Set<unknown>();
  for (const { member } of parts) {
    const item = td.members[member] as Td;
    // What is outside of memory is read afresh: nobody has it.
    if (item._outside === undefined) for (const [, t] of tensorsOf(item)) own.add(t._storage);
  }
  const given = value instanceof Tensor ? [value] : [...tensorsOf(value)].map(([, t]) => t);
  return given.some((t) => own.has(t._storage));
}

/** Writes into part of an existing entry; the index may reach beyond the batch. */
export function writePart(td: Td, key: NestedKey, value: unknown, index: unknown): void {
  allOrNothing((writes) => planPartOf(td, key, value, partsOf(index), writes));
}

function planPartOf(td: Td, key: NestedKey, value: unknown, parts: Index, writes: Writes): void {
  const [holder, last] = resolvePath(td, keyPath(key));
  if (isLazy(holder) && planMembers(holder, last, parts, value, writes)) return;
  const [, , entry] = requireOutline(holder, last);
  if (entry instanceof Tensor) planPart(holder, last, entry, parts, value, writes);
  else if (isBranch(entry)) planIndex(entry, parts, value, writes);
  else planEntry(holder, last, entry, normalize(parts, holder._batchSize.length), value, writes);
}

/** Plans writing into the part of a tensor that an index names. */
function planPart(td: Td, key: string, own: Tensor, index: Index, value: unknown, writes: Writes): void {
  const outside = td._outside;
  if (isLazy(td)) {
    if (!planMembers(td, key, index, value, writes))
      throw new RuntimeError(`the members of the stack have no common shape under the key ${pythonString(key)}`);
  } else if (outside !== undefined) {
    writes.push(() => outside.write(key, index.map(onCpu), onCpu(value)));
  } else {
    const given = asWritten(own, index, value, td._device);
    rehearseSetAt(own, tensorIndex(index), given);
    writes.push(() => own.setAt(tensorIndex(index), given as number));
  }
}

/**
 * A number is written as a tensor of one element: elements that share their memory are not written to. What lists write
 * goes to the device of the collection first; what is copied goes there as it is.
 */
function asWritten(own: Tensor, index: Index, value: unknown, device: Device | null): unknown {
  if (value instanceof Tensor) return device !== null && hasLists(index) ? value.to(device) : value;
  const repeats = own._strides.some((stride, dim) => stride === 0 && (own._shape[dim] as number) > 1);
  return repeats && (typeof value === "number" || typeof value === "boolean") ? tensor(value).to(own.dtype) : value;
}

/** Plans writing member by member; false where some have no tensor there that is written to, or no common shape. */
function planMembers(td: LazyTd, key: string, index: Index, value: unknown, writes: Writes): boolean {
  const own = td.members.map((member) => outlineOf(member, key));
  const tensors = own.filter((entry) => entry instanceof Tensor);
  const [first] = tensors;
  if (first === undefined) return false;
  const rank = Math.min(...tensors.map((t) => t.ndim)) + 1;
  // Where the dots end depends on the number of dimensions.
  if (!tensors.every((t) => t.ndim === first.ndim) && index.includes("...")) return false;
  const parts = normalize(index, rank);
  const split = splitIndex(td, parts);
  if (split.parts.some(({ member }) => !(own[member] instanceof Tensor))) return false;
  // Where no member is reached, none refuses what the index says of the other dimensions.
  const shape = [...first._shape.slice(0, td.stackDim), td.members.length, ...first._shape.slice(td.stackDim)];
  if (split.parts.length === 0)
    zeros([], { device: "cpu" })
      .expand(shape)
      .at(tensorIndex(parts.map(onCpu)));
  const plan = (member: number, inner: Index | null, piece: unknown): void =>
    planPart(td.members[member] as Td, key, own[member] as Tensor, inner ?? [], piece, writes);
  const given = Array.isArray(value) ? onHost(value).to(first.device) : value;
  const source = given instanceof Tensor ? given : null;
  if (source === null || source.ndim === 0 || split.kind === "member") {
    for (const { member, index: inner } of split.parts) plan(member, inner, source ?? value);
    return true;
  }
  // Members of different shapes have no common part: one number for all is possible only.
  if (!tensors.every((t) => sameSizes(t._shape, first._shape))) return false;
  const wide = source.expand([...indexedSize(shape, parts)]);
  for (const { member, index: inner, piece } of piecesAt(td, parts, wide)) plan(member, inner, piece);
  return true;
}

/** Keys, and those of the collections under them. */
type KeyTree = ReadonlyMap<string, KeyTree>;

/** The keys that all have. */
function sharedKeys(all: readonly Td[]): KeyTree {
  const shared = new Map<string, KeyTree>();
  for (const key of all[0]?._keys() ?? []) {
    const entries = all.map((one) => outlineOf(one, key));
    if (entries.includes(undefined)) continue;
    shared.set(key, sharedKeys(entries.filter((one): one is Td => isBranch(one))));
  }
  return shared;
}

/** One value for the part of every tensor: of a stack's members those that all have, which are the stack's own. */
function planFill(td: Td, index: Index, value: unknown, writes: Writes, keys: KeyTree | null = null): void {
  if (isLazy(td) && (typeof value === "number" || typeof value === "boolean")) {
    const shared = keys ?? sharedKeys(td.members);
    for (const { member, index: inner } of splitIndex(td, index).parts)
      planFill(td.members[member] as Td, inner ?? [], value, writes, shared);
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
function requireKnown(td: Td, source: unknown): void {
  if (!isBranch(source) && !isSource(source)) return;
  const pairs = isBranch(source) ? levelsOf(source) : source instanceof Map ? source : Object.entries(source);
  const known = new Set(td._keys());
  for (const [key, item] of pairs) {
    if (typeof key !== "string") throw badKey(key);
    if (!known.has(key)) throw missingKey(key, td._className, known);
    const own = isBranch(item) || isSource(item) ? levelAt(td, key) : null;
    if (own !== null) requireKnown(own, item);
  }
}

/** The collection under a key. The tensors of a stack are not read: their shapes may differ. */
function levelAt(td: Td, key: string): Td | null {
  let first = td;
  while (isLazy(first) && first.members[0] !== undefined) first = first.members[0];
  if (first !== td && !isBranch(outlineOf(first, key))) return null;
  const entry = outlineOf(td, key);
  return isBranch(entry) ? entry : null;
}

function levelsOf(td: Td): [string, Td | null][] {
  return [...td._keys()].map((key) => [key, levelAt(td, key)]);
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
  if (own._kind === "nonTensor" && own._batchSize.length === 0) {
    writes.push(() => {
      own._assign(value);
      if (td._outside !== undefined) td._put(key, own);
    });
    return;
  }
  if (own._kind === "nonTensor" && td.isMemmap()) throw new RuntimeError(ONE_VALUE);
  const stack = own._kind === "nonTensorStack" ? own : own.toStack();
  writes.push(() => {
    stack._assignAt(index, value);
    if (stack !== own || td._outside !== undefined) td._put(key, stack);
  });
}

function planValuesOfMembers(td: LazyTd, key: string, index: Index, item: unknown, writes: Writes): void {
  for (const { member, index: inner, piece } of piecesAt(td, index, valuesFor(td, index, item, key) as Td)) {
    const own = td.members[member] as Td;
    planNonTensor(own, key, own._own(key) as ValueTd, inner ?? [], piece, writes);
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
  const own = td._batchSize.length;
  const batchSize = Size.fromList([...td._batchSize, ...entry._batchSize.slice(size.length)]);
  const names = batchSize.length === own ? td._names : null;
  const made = make.tensordict(new Map(), stateOf(td, { batchSize, names }));
  writeIndex(made, index, entry);
  return made;
}
