// Consolidated TensorDicts: all tensors in one block of bytes, in memory or in a file with the structure as JSON at
// its end.

import { absolutePath } from "../../io/base/paths.ts";
import { type PythonJson, type PythonJsonObject, pythonJsonStringify } from "../../io/base/python-json.ts";
import { runSteps, runStepsLater, type Steps } from "../../io/base/steps.ts";
import { requireText, requireTexts } from "../../io/base/well-formed.ts";
import type { BackgroundOptions } from "../../io/disk/file-jobs.ts";
import { anonymousStorage } from "../../io/disk/mapping.ts";
import type { Piece } from "../../io/disk/pieces.ts";
import { copyingTensor } from "../../io/disk/strided-bytes.ts";
import { bytesToWrite } from "../../io/disk/tensor-bytes.ts";
import { TensorFile } from "../../io/disk/tensor-file.ts";
import { isRemote } from "../../io/store/s3.ts";
import { FileWrite, type FileWriteOptions } from "../../io/store/single-file.ts";
import { KeyError, RuntimeError, TypeError, ValueError, warn } from "../../tensor/errors.ts";
import { contiguousStrides } from "../../tensor/size.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeStrided, Tensor } from "../../tensor/tensor.ts";
import { lockTd } from "../core/locking.ts";
import { noNested } from "../core/nested.ts";
import {
  entriesOf,
  isClassTd,
  isLazy,
  isNested,
  isNonTensor,
  type LazyTd,
  make,
  stateOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { requireSavable, valueJson } from "./memmap-save.ts";

/** How a collection is consolidated. */
export interface ConsolidateOptions extends FileWriteOptions {
  /** Write everything to this file; the tensors are then views of its mapping, and writes reach it. */
  filename?: string | null;
  /** Replace the tensors of this collection instead of making another one. */
  inplace?: boolean;
  /** Put the bytes into shared memory. */
  shareMemory?: boolean;
}

/** Tensors begin at multiples of this. */
const ALIGNMENT = 8;
/** What the JSON of a level says about itself: nested collections cannot have these names. */
export const LEVEL_KEYS: ReadonlySet<string> = new Set(["cls", "non_tensors", "leaves", "cls_metadata"]);
/** Levels in one another that are read, and so that are written. */
export const MAX_DEPTH = 128;
/** Prefix of the parts of nested tensors. */
export const NESTED_PREFIX = "<NJT_";

/** A tensor and its place. */
interface Placed {
  tensor: Tensor;
  start: number;
}

/** The places of all tensors, depth first, and the structure. */
class Layout {
  readonly placed: Placed[] = [];
  size = 0;

  constructor(root: Td) {
    if (isNonTensor(root)) {
      throw new TypeError("a value that is no tensor cannot be consolidated by itself: put it into a TensorDict");
    }
    requireSavable(root, "consolidated");
    this.structure = this.level(root, 0);
  }

  /** What the file says about the tree. */
  readonly structure: PythonJsonObject;

  private place(tensor: Tensor): PythonJson {
    const nbytes = tensor._numel * tensor.dtype.itemsize;
    const start = this.size;
    const padding = (ALIGNMENT - (nbytes % ALIGNMENT)) % ALIGNMENT;
    this.placed.push({ tensor, start });
    this.size += nbytes + padding;
    return [String(tensor.dtype), [...tensor._shape], start, this.size, padding];
  }

  private level(td: Td, depth: number): PythonJsonObject {
    if (depth > MAX_DEPTH) throw new ValueError(`more than ${MAX_DEPTH} levels cannot be consolidated`);
    if (isLazy(td)) return this.lazy(td, depth);
    const nonTensors: PythonJsonObject = new Map();
    const leaves: PythonJsonObject = new Map();
    const nested: PythonJsonObject = new Map();
    requireTexts(td._names, () => "the dimension names");
    for (const [key, entry] of entriesOf(td)) {
      requireText(key, () => `the key ${JSON.stringify(key)}`);
      if (entry instanceof Tensor) {
        if (key.startsWith(NESTED_PREFIX)) throw badKey(key);
        leaves.set(key, this.place(entry));
      } else if (isNested(entry)) {
        throw noNested("consolidating", key);
      } else if (isNonTensor(entry) && entry._kind === "nonTensor") {
        nonTensors.set(key, [valueJson(entry, key), [...entry._batchSize], deviceText(entry)]);
      } else {
        if (LEVEL_KEYS.has(key)) throw badKey(key);
        nested.set(key, isNonTensor(entry) ? valueStack(entry) : this.level(entry, depth + 1));
      }
    }
    const metadata = new Map<string, PythonJson>([
      ["device", deviceText(td)],
      ["names", td._names === null ? td._batchSize.map(() => null) : [...td._names]],
      ["batch_size", [...td._batchSize]],
      ["is_locked", td._locked],
    ]);
    // Python forgets the class of a root.
    const qualified = isClassTd(td) && depth > 0 ? td._qualifiedName : null;
    const name = qualified === null ? "TensorDict" : `<class '${qualified}'>`;
    return levelJson(name, nonTensors, leaves, metadata, nested);
  }

  private lazy(stack: LazyTd, depth: number): PythonJsonObject {
    const members: PythonJsonObject = new Map();
    for (const [i, member] of stack.members.entries()) members.set(String(i), this.level(member, depth + 1));
    const metadata = stackMetadata(stack.stackDim, stack.stackDimName, stack._locked);
    return levelJson("LazyStackedTensorDict", new Map(), new Map(), metadata, members);
  }
}

function badKey(key: string): KeyError {
  return new KeyError(`The key '${key}' cannot be consolidated: the file's structure uses this name itself.`);
}

function deviceText(td: Td): string | null {
  return td._device === null ? null : String(td._device);
}

function levelJson(
  name: string,
  nonTensors: PythonJsonObject,
  leaves: PythonJsonObject,
  metadata: PythonJsonObject,
  nested: PythonJsonObject,
): PythonJsonObject {
  return new Map<string, PythonJson>([
    ["cls", name],
    ["non_tensors", nonTensors],
    ["leaves", leaves],
    ["cls_metadata", metadata],
    ...nested,
  ]);
}

function stackMetadata(dim: number, name: string | null, locked: boolean): PythonJsonObject {
  return new Map<string, PythonJson>([
    ["stack_dim", dim],
    ["stack_dim_name", name],
    ["is_locked", locked],
  ]);
}

/** Stacks of values are stacks of stacks, one per dimension. */
function valueStack(td: ValueTd): PythonJsonObject {
  const device = deviceText(td);
  const build = (data: readonly PythonJson[], rank: number): PythonJsonObject => {
    const values: PythonJsonObject = new Map();
    const inner: PythonJsonObject = new Map();
    for (const [i, item] of data.entries()) {
      if (rank === 1) values.set(String(i), [item, [], device]);
      else inner.set(String(i), build(item as readonly PythonJson[], rank - 1));
    }
    return levelJson("NonTensorStack", values, new Map(), stackMetadata(0, null, td._locked), inner);
  };
  return build(valueJson(td) as readonly PythonJson[], td._batchSize.length);
}

/** The same tree over other tensors, which come in the order of the layout. */
function rebuilt(td: Td, tensors: Iterator<Tensor, undefined>, inplace: boolean): Td {
  if (isNonTensor(td)) return inplace ? td : td._like(new Map(), stateOf(td));
  if (isLazy(td)) {
    const members = td.members.map((member) => rebuilt(member, tensors, inplace));
    return inplace ? td : make.lazy(members, td.stackDim, td.stackDimName);
  }
  const entries = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    if (entry instanceof Tensor) entries.set(key, tensors.next().value as Tensor);
    else entries.set(key, rebuilt(entry as Td, tensors, inplace));
  }
  if (!inplace) return td._like(entries, stateOf(td));
  for (const [key, entry] of entries) if (entry instanceof Tensor) td._put(key, entry);
  td._disk = null;
  return td;
}

/** Places in one block of memory. */
function placesOf(layout: Layout, shared: boolean): Tensor[] {
  const storage = shared ? anonymousStorage(layout.size) : Storage.allocate(layout.size);
  return layout.placed.map(({ tensor, start }) => {
    const { dtype, _shape: shape } = tensor;
    const strides = contiguousStrides(shape);
    // A place that is no multiple of the element's size is none of the block's elements either.
    const whole = start % dtype.itemsize === 0;
    const nbytes = tensor._numel * dtype.itemsize;
    const part = whole || nbytes === 0 ? storage : Storage.within(storage, start, nbytes);
    return makeStrided(part, part === storage && whole ? start / dtype.itemsize : 0, shape, strides, dtype);
  });
}

function* copying(
  layout: Layout,
  { shareMemory = false, onProgress }: ConsolidateOptions & BackgroundOptions,
): Steps<Tensor[]> {
  const places = placesOf(layout, shareMemory);
  for (const [i, { tensor }] of layout.placed.entries()) {
    if (tensor._numel > 0) yield* copyingTensor(places[i] as Tensor, tensor.detach());
    onProgress?.(i + 1, places.length);
  }
  return places;
}

function planFile(layout: Layout, filename: string, options: ConsolidateOptions): FileWrite {
  const json = new TextEncoder().encode(pythonJsonStringify(layout.structure));
  const length = new BigInt64Array([BigInt(json.length)]);
  const pieces: Piece[] = layout.placed.map(({ tensor, start }) => ({ offset: start, data: bytesToWrite(tensor) }));
  pieces.push({ offset: layout.size, data: json });
  pieces.push({ offset: layout.size + json.length, data: new Uint8Array(length.buffer) });
  return new FileWrite(isRemote(filename) ? filename : absolutePath(filename), pieces, options);
}

/** What a consolidated collection consisted of. */
const remembered = new WeakMap<Td, readonly unknown[]>();

/** Tensors and values in order; they stay the same objects as long as nothing is replaced. */
function partsOf(td: Td, found: unknown[] = []): unknown[] {
  if (isNonTensor(td)) found.push(td._kind === "nonTensor" ? td.value_ : td.values_);
  else if (isLazy(td)) for (const member of td.members) partsOf(member, found);
  else {
    for (const [key, entry] of entriesOf(td)) {
      found.push(key);
      if (entry instanceof Tensor) found.push(entry);
      else partsOf(entry as Td, found);
    }
  }
  return found;
}

/** Remembers that all tensors of `td` lie in one block. */
export function markConsolidated(td: Td): Td {
  remembered.set(td, partsOf(td));
  return td;
}

/** True as long as the tensors of a consolidated collection have not been replaced. */
export function isConsolidated(td: Td): boolean {
  const parts = remembered.get(td);
  if (parts === undefined) return false;
  const now = partsOf(td);
  return now.length === parts.length && now.every((part, i) => Object.is(part, parts[i]));
}

/** What is to be consolidated; null when it is already. */
function begin(td: Td, options: ConsolidateOptions): Layout | null {
  const { filename = null, inplace = false, shareMemory = false } = options;
  if (filename !== null && shareMemory) throw new ValueError("filename and shareMemory exclude each other.");
  if (isConsolidated(td)) {
    if (filename !== null) {
      warn("the tensordict is already consolidated: nothing is written. Call td.contiguous().consolidate() instead.");
    }
    return null;
  }
  if (inplace && td._disk !== null)
    throw new RuntimeError("a memory-mapped tensordict cannot be consolidated in place");
  return new Layout(td);
}

function viewsOf(layout: Layout, path: string, filename: string): Tensor[] {
  const file = new TensorFile(path, layout.size, "r+", { name: filename });
  return layout.placed.map(({ tensor, start }) => file.tensor(tensor.dtype, tensor._shape, start));
}

function finish(td: Td, tensors: readonly Tensor[], options: ConsolidateOptions): Td {
  const result = rebuilt(td, tensors.values() as Iterator<Tensor, undefined>, options.inplace ?? false);
  lockTd(result);
  return markConsolidated(result);
}

/** See `TensorDict.consolidate`. */
export function consolidate(td: Td, options: ConsolidateOptions = {}): Td {
  return runSteps(consolidating(td, options));
}

/** See `TensorDict.consolidateAsync`. */
export async function consolidateAsync(td: Td, options: ConsolidateOptions & BackgroundOptions = {}): Promise<Td> {
  return await runStepsLater(consolidating(td, options), options.signal);
}

function* consolidating(td: Td, options: ConsolidateOptions & BackgroundOptions): Steps<Td> {
  const layout = begin(td, options);
  if (layout === null) return td;
  const { filename = null } = options;
  const tensors =
    filename === null
      ? yield* copying(layout, options)
      : yield* planFile(layout, filename, options).writing(options, (path) => viewsOf(layout, path, filename));
  return finish(td, tensors, options);
}
