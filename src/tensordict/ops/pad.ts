// Padding of batch dimensions: tensors with a number, wrapped values with None. Negative widths cut off.
import { inOrder } from "../../tensor/checks.ts";
import { NotImplementedError, RuntimeError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { givingBack } from "../core/giving-back.ts";
import { pythonString } from "../core/keys.ts";
import { mapEntries } from "../core/mapping.ts";
import { noNested } from "../core/nested.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import {
  entriesOf,
  isLazy,
  isNested,
  isNonTensor,
  type LazyTd,
  make,
  outlinesOf,
  requireUnlocked,
  stateOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import { zeros } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { isUnbatched, ofBatch } from "../core/unbatched.ts";
import { applyLeaves } from "./pointwise.ts";
import type { Writes } from "./writes.ts";

/** Elements before and after, for each dimension. */
type Widths = readonly (readonly [before: number, after: number])[];

/** Options of `pad`. */
export interface PadOptions {
  /** Give the collection itself the padded entries. */
  inplace?: boolean;
  /** Accepted for compatibility: what cannot be padded is always refused before anything is. */
  safe?: boolean;
}

function grown(size: readonly number[], widths: Widths): Size {
  return Size.fromList(size.map((n, dim) => n + (widths[dim]?.[0] ?? 0) + (widths[dim]?.[1] ?? 0)));
}

const isPadded = (widths: Widths) => widths.some(([before, after]) => before !== 0 || after !== 0);

function tupleText(shape: readonly number[]): string {
  return `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
}

function checkWidths(shape: readonly number[], widths: Widths, leaf: string): void {
  if (widths.length > shape.length) {
    const what =
      leaf === "" ? `non-tensor value with batch size ${tupleText(shape)}` : `${leaf} with shape ${tupleText(shape)}`;
    throw new RuntimeError(`pad_size of length ${2 * widths.length} is too long for ${what}.`);
  }
  for (const [dim, [before, after]] of widths.entries()) {
    const size = shape[dim] as number;
    if (size + before + after >= 0) continue;
    throw new RuntimeError(
      `Pad (${before}, ${after}) on dim ${dim} of ${leaf === "" ? "non-tensor value" : leaf} (size ${size}) would ` +
        "produce a negative output size.",
    );
  }
}

/** Refuses what cannot be padded, before anything is. */
function check(td: Td, widths: Widths): void {
  if (isNonTensor(td)) {
    if (td._batchSize.length > 0) checkWidths(td._batchSize, widths, "");
    return;
  }
  if (isLazy(td)) {
    const inner = widths.filter((_, dim) => dim !== td.stackDim);
    if (isPadded(inner)) for (const member of td.members) check(member, inner);
    return;
  }
  for (const [key, entry] of outlinesOf(td)) {
    if (isNested(entry)) throw noNested("padding", key);
    if (!(entry instanceof Tensor)) check(entry, widths);
    else if (!isUnbatched(entry)) checkWidths(entry._shape, widths, `leaf ${pythonString(key)}`);
  }
}

function padTensor(t: Tensor, widths: Widths, value: number): Tensor {
  let source = t;
  for (const [dim, [before, after]] of widths.entries()) {
    const start = Math.max(0, -before);
    const length = (t._shape[dim] as number) - start - Math.max(0, -after);
    if (start > 0 || length < (t._shape[dim] as number)) source = source.narrow(dim, start, Math.max(0, length));
  }
  const out = zeros([...grown(t._shape, widths)], { dtype: t.dtype, device: t.device });
  if (value !== 0) out.fill_(value);
  let inner: Tensor = out;
  for (const [dim, [before]] of widths.entries()) {
    inner = inner.narrow(dim, Math.max(0, before), source._shape[dim] as number);
  }
  inner.copy_(source);
  return out;
}

/** The values where they were, None in the new places. */
function padValues(td: ValueTd, widths: Widths): Td {
  if (td._batchSize.length === 0 || !isPadded(widths)) return td as Td;
  const [[before, after] = [0, 0], ...rest] = widths;
  let items = td.unbind(0) as Td[];
  if (isPadded(rest)) items = items.map((item) => padValues(item as ValueTd, rest));
  items = items.slice(Math.max(0, -before), items.length - Math.max(0, -after));
  const state = stateOf(td, { batchSize: grown(td._batchSize.slice(1), rest), names: null });
  const none = (count: number) => Array.from({ length: Math.max(0, count) }, () => make.nonTensor(null, state) as Td);
  const all = [...none(before), ...items, ...none(after)];
  if (all.length > 0) return make.stack(all, 0, null);
  throw new RuntimeError(
    "Padding a non-tensor value to a zero-sized batch dimension is not supported: a NonTensorStack cannot be empty.",
  );
}

function padEntry(entry: Entry, widths: Widths, value: number, batch: Size): Entry {
  if (entry instanceof Tensor) return isUnbatched(entry) ? ofBatch(entry, batch) : padTensor(entry, widths, value);
  return padTree(entry as Td, widths, value);
}

function padTree(given: Td, widths: Widths, value: number): Td {
  if (isNonTensor(given)) return padValues(given, widths);
  const td = isLazy(given) ? given._densify() : given;
  const batchSize = grown(td._batchSize, widths);
  return mapEntries(td, (entry) => padEntry(entry, widths, value, batchSize), stateOf(td, { batchSize }));
}

/** Plans giving a collection its padded entries. */
function planPad(td: Td, widths: Widths, value: number, writes: Writes): void {
  requireUnlocked(td);
  if (isLazy(td)) {
    planStack(td, widths, value, writes);
    return;
  }
  const batchSize = grown(td._batchSize, widths);
  for (const [key, entry] of entriesOf(td)) {
    if (!(entry instanceof Tensor) && !isNonTensor(entry)) planPad(entry as Td, widths, value, writes);
    else if (isNonTensor(entry) && entry._kind === "nonTensorStack") planValues(entry, widths, writes);
    else {
      const padded = padEntry(entry, widths, value, batchSize);
      writes.push(() => td._put(key, padded));
    }
  }
  writes.push(() => {
    td._batchSize = batchSize;
  });
}

function planValues(td: ValueTd, widths: Widths, writes: Writes): void {
  if (td._kind !== "nonTensorStack") {
    throw new RuntimeError(
      "pad(..., inplace=True) cannot preserve the identity of a NonTensorData input since the padded result is a " +
        "NonTensorStack. Use inplace=False instead.",
    );
  }
  const padded = padValues(td, widths);
  if (padded === (td as Td)) return;
  const parts = padded.unbind(td.stackDim) as unknown[];
  writes.push(() => td._setParts(parts as ValueTd[]));
}

/** The members padded, and new ones before and after them. */
function planStack(td: LazyTd, widths: Widths, value: number, writes: Writes): void {
  const { stackDim, members } = td;
  const inner = widths.filter((_, dim) => dim !== stackDim);
  const [before, after] = widths[stackDim] ?? [0, 0];
  if (isPadded(inner)) for (const member of new Set(members)) planPad(member, inner, value, writes);
  if ((before > 0 || after > 0) && members.length === 0) {
    throw new RuntimeError(
      "Cannot pad along the stack dimension of an empty LazyStackedTensorDict: no template constituent is available " +
        "to fill the new slots.",
    );
  }
  if (before < 0 || after < 0) {
    throw new NotImplementedError("members of a stack are not cut off in place: use inplace=False");
  }
  const blank = (member: Td) => padTree(filler(member, value), inner, value);
  const first = Array.from({ length: before }, () => blank(members[0] as Td));
  const last = Array.from({ length: after }, () => blank(members.at(-1) as Td));
  writes.push(() => {
    td._members.unshift(...first);
    td._members.push(...last);
    td._resize();
  });
}

/** Something of the same form: tensors of one value, and None for values. */
function filler(td: Td, value: number): Td {
  if (isNonTensor(td)) return make.nonTensor(null, stateOf(td)) as Td;
  return applyLeaves(td, (t) => t.clone().fill_(value), { values: (entry) => filler(entry, value) });
}

function widthsOf(td: Td, padSize: readonly number[]): Widths {
  if (padSize.length > 2 * td._batchSize.length) {
    throw new RuntimeError("The length of pad_size must be <= 2 * the number of batch dimensions");
  }
  if (padSize.length % 2 !== 0) throw new RuntimeError("pad_size must have an even number of dimensions");
  const pairs: [number, number][] = [];
  for (let i = 0; i < padSize.length; i += 2) pairs.push([padSize[i] as number, padSize[i + 1] as number]);
  return pairs;
}

/**
 * Pads every tensor along the batch dimensions: two numbers per dimension, before and after; values that are no tensors
 * get None there. Negative numbers cut off.
 * @param value what new elements are
 * @param options `inplace` gives the collection itself the padded entries
 * @throws RuntimeError for more than is there to cut off; nothing is changed then
 * @example
 * ```ts
 * tensordict.pad(new TensorDict({ a: ones(2) }, [2]), [0, 1]).get("a") // tensor([1., 1., 0.])
 * ```
 * @torch tensordict.pad
 */
export function padTd(tensordict: Td, padSize: readonly number[], value = 0, options: PadOptions = {}): Td {
  [tensordict, padSize, value = 0, options = {}] = inOrder<Parameters<typeof padTd>>("pad", FUNCTIONS.pad, arguments);
  const widths = widthsOf(tensordict, padSize);
  check(tensordict, widths);
  if (options.inplace !== true) {
    return givingBack(tensordict, "pad", () => padTree(tensordict, widths, value), []) as Td;
  }
  const writes: Writes = [];
  if (isNonTensor(tensordict)) planValues(tensordict, widths, writes);
  else planPad(tensordict, widths, value, writes);
  for (const write of writes) write();
  return tensordict;
}
