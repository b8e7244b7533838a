// Consolidated TensorDicts: all tensors in one block of bytes, in memory or in a file with the structure as JSON at
// its end.

import { backendOf } from "../../dispatch/backend.ts";
import { requiresGrad } from "../../dispatch/mode.ts";
import { fillMany, isMove, isPlain, type Move, plain } from "../../dispatch/moving-many.ts";
import { absoluteFile } from "../../io/base/places.ts";
import { type PythonJson, type PythonJsonObject, pythonJsonStringify } from "../../io/base/python-json.ts";
import { runSteps, runStepsLater, type Steps } from "../../io/base/steps.ts";
import { requireText, requireTexts } from "../../io/base/well-formed.ts";
import type { BackgroundOptions } from "../../io/disk/file-jobs.ts";
import { anonymousStorage } from "../../io/disk/mapping.ts";
import type { Piece } from "../../io/disk/pieces.ts";
import { askedDevice } from "../../io/disk/placing.ts";
import { copyingTensor } from "../../io/disk/strided-bytes.ts";
import { bytesToWrite } from "../../io/disk/tensor-bytes.ts";
import { TensorFile } from "../../io/disk/tensor-file.ts";
import { isRemote } from "../../io/store/s3.ts";
import { FileWrite, type FileWriteOptions } from "../../io/store/single-file.ts";
import { CPU, type Device, type DeviceLike } from "../../tensor/device.ts";
import { uint8 } from "../../tensor/dtype.ts";
import { KeyError, RuntimeError, TypeError, ValueError, warn } from "../../tensor/errors.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeStrided, Tensor } from "../../tensor/tensor.ts";
import { requireFit } from "../core/batch.ts";
import { lockTd } from "../core/locking.ts";
import { noNested } from "../core/nested.ts";
import { blockOf, markConsolidated, viewIn } from "../core/one-block.ts";
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
  /** Where the bytes go; by default to the device of the collection, or to the CPU where it has none. */
  device?: DeviceLike | null;
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
  private last: [dtype: string, shape: number[], start: number, stop: number, padding: number] | null = null;

  constructor(
    root: Td,
    private readonly locks = true,
  ) {
    if (isNonTensor(root)) {
      throw new TypeError("a value that is no tensor cannot be consolidated by itself: put it into a TensorDict");
    }
    requireFit(root, "consolidated");
    this.structure = this.level(root, 0);
  }

  /** What the file says about the tree. */
  readonly structure: PythonJsonObject;

  private place(tensor: Tensor): PythonJson {
    const { itemsize } = tensor.dtype;
    const nbytes = tensor._numel * itemsize;
    this.align(itemsize);
    const start = this.size;
    const padding = (ALIGNMENT - (nbytes % ALIGNMENT)) % ALIGNMENT;
    this.placed.push({ tensor, start });
    this.size += nbytes + padding;
    this.last = [String(tensor.dtype), [...tensor._shape], start, this.size, padding];
    return this.last;
  }

  /** Pads the tensor before: Python's library reads elements of 16 bytes at multiples of 16 only. */
  private align(itemsize: number): void {
    const more = itemsize > ALIGNMENT ? (itemsize - (this.size % itemsize)) % itemsize : 0;
    if (more === 0 || this.last === null) return;
    this.size += more;
    this.last[3] = this.size;
    this.last[4] += more;
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
        nested.set(key, isNonTensor(entry) ? valueStack(entry, this.locks) : this.level(entry, depth + 1));
      }
    }
    const metadata = new Map<string, PythonJson>([
      ["device", deviceText(td)],
      ["names", td._names === null ? td._batchSize.map(() => null) : [...td._names]],
      ["batch_size", [...td._batchSize]],
      ["is_locked", this.locks && td._locked],
    ]);
    // Python forgets the class of a root.
    const qualified = isClassTd(td) && depth > 0 ? td._qualifiedName : null;
    const name = qualified === null ? "TensorDict" : `<class '${qualified}'>`;
    return levelJson(name, nonTensors, leaves, metadata, nested);
  }

  private lazy(stack: LazyTd, depth: number): PythonJsonObject {
    const members: PythonJsonObject = new Map();
    for (const [i, member] of stack.members.entries()) members.set(String(i), this.level(member, depth + 1));
    const metadata = stackMetadata(stack.stackDim, stack.stackDimName, this.locks && stack._locked);
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
function valueStack(td: ValueTd, locks: boolean): PythonJsonObject {
  const device = deviceText(td);
  const build = (data: readonly PythonJson[], rank: number): PythonJsonObject => {
    const values: PythonJsonObject = new Map();
    const inner: PythonJsonObject = new Map();
    for (const [i, item] of data.entries()) {
      if (rank === 1) values.set(String(i), [item, [], device]);
      else inner.set(String(i), build(item as readonly PythonJson[], rank - 1));
    }
    return levelJson("NonTensorStack", values, new Map(), stackMetadata(0, null, locks && td._locked), inner);
  };
  return build(valueJson(td) as readonly PythonJson[], td._batchSize.length);
}

/** The device of a level of the result, by the one that the level had. */
type NewDevice = (device: Device | null) => Device | null;

/** A level of the tree as it was when consolidating began: keys that are set meanwhile do not count. */
interface Level {
  td: Td;
  state: ReturnType<typeof stateOf>;
  /** A wrapped value of its own; null for what has entries or members. */
  value: Td | null;
  members: Level[] | null;
  entries: [key: string, entry: Tensor | Level][];
}

function levelOf(td: Td): Level {
  const level: Level = { td, state: stateOf(td), value: null, members: null, entries: [] };
  if (isNonTensor(td)) level.value = td._like(new Map(), stateOf(td));
  else if (isLazy(td)) level.members = td.members.map((member) => levelOf(member as Td));
  else
    for (const [key, entry] of entriesOf(td)) {
      level.entries.push([key, entry instanceof Tensor ? entry : levelOf(entry as Td)]);
    }
  return level;
}

/** Whether a level has by now what it had then. */
function isUnchanged({ td, value, members, entries }: Level): boolean {
  if (value !== null) return true;
  if (isLazy(td)) {
    const now = td.members;
    return now.length === members?.length && members.every((one, i) => one.td === now[i] && isUnchanged(one));
  }
  if (td._count !== entries.length) return false;
  return entries.every(([key, entry]) => {
    const own = td._own(key);
    return entry instanceof Tensor ? own === entry : own === entry.td && isUnchanged(entry);
  });
}

/** The same tree over other tensors, which come in the order of the layout. */
function rebuilt(level: Level, tensors: Iterator<Tensor, undefined>, inplace: boolean, deviceFor: NewDevice): Td {
  const { td, state, value, members } = level;
  const device = value !== null && state.device === null ? null : deviceFor(state.device ?? null);
  if (inplace) td._device = device;
  if (value !== null) return inplace ? td : value._like(new Map(), { ...state, device });
  if (isLazy(td)) {
    const made = (members as Level[]).map((member) => rebuilt(member, tensors, inplace, deviceFor));
    return inplace ? td : make.lazy(made, td.stackDim, td.stackDimName);
  }
  const entries = new Map<string, Entry>();
  for (const [key, entry] of level.entries) {
    const view = entry instanceof Tensor ? (tensors.next().value as Tensor) : null;
    entries.set(key, view ?? rebuilt(entry as Level, tensors, inplace, deviceFor));
    // What was set meanwhile stays.
    if (inplace && view !== null && td._own(key) === entry) td._put(key, view);
  }
  if (!inplace) return td._like(entries, { ...state, device });
  td._disk = null;
  return td;
}

/** Tensors in one block of bytes. */
interface Placement {
  tensors: Tensor[];
  bytes: Storage;
}

/** A block of memory, of a device or shared. */
function blockOn(device: Device, nbytes: number, shared: boolean): Storage {
  if (device === CPU) return shared ? anonymousStorage(nbytes) : Storage.allocate(nbytes);
  // The memory of a GPU is always shared.
  return device.computes ? backendOf(device).allocate(nbytes, device) : Storage.meta(nbytes);
}

function* copying(
  layout: Layout,
  device: Device,
  { shareMemory = false, onProgress }: ConsolidateOptions & BackgroundOptions,
): Steps<Placement> {
  const bytes = blockOn(device, layout.size, shareMemory);
  const tensors = layout.placed.map(({ tensor, start }) => viewIn(bytes, start, tensor.dtype, tensor._shape));
  const moves: Move[] = [];
  for (const [i, { tensor }] of layout.placed.entries()) {
    const place = tensors[i] as Tensor;
    const from = tensor.detach();
    if (isMove(place, from)) moves.push({ to: place, from: plain(from) });
    else if (tensor._numel > 0 && (device.computes || !tensor.isMeta)) yield* copyingTensor(place, from);
    if (moves.length === 0) onProgress?.(i + 1, tensors.length);
  }
  fillMany(moves);
  if (moves.length > 0) onProgress?.(tensors.length, tensors.length);
  return { tensors, bytes };
}

function planFile(layout: Layout, filename: string, options: ConsolidateOptions): FileWrite {
  const json = new TextEncoder().encode(pythonJsonStringify(layout.structure));
  const length = new BigInt64Array([BigInt(json.length)]);
  const pieces: Piece[] = layout.placed.map(({ tensor, start }) => ({ offset: start, data: bytesToWrite(tensor) }));
  pieces.push({ offset: layout.size, data: json });
  pieces.push({ offset: layout.size + json.length, data: new Uint8Array(length.buffer) });
  return new FileWrite(isRemote(filename) ? filename : absoluteFile(filename), pieces, options);
}

/**
 * Structure and bytes of a consolidated collection, as Python pickles it: what is not locked was not so before it was
 * consolidated. Null when its bytes lie in another order by now, or something would be lost.
 */
export function blockParts(td: Td): { structure: PythonJsonObject; bytes: Tensor } | null {
  const block = blockOf(td);
  // Python forgets the class of a root.
  if (block === null || !block.device.computes || isClassTd(td)) return null;
  const layout = new Layout(td, false);
  const inPlace = ({ tensor, start }: Placed): boolean => {
    // Python makes views at multiples of an element's size only.
    if (requiresGrad(tensor) || start % tensor.dtype.itemsize !== 0) return false;
    return tensor._numel === 0 || (isPlain(tensor) && tensor._address() - block.ptr === start);
  };
  if (layout.size === 0 || layout.size > block.nbytes || !layout.placed.every(inPlace)) return null;
  return { structure: layout.structure, bytes: makeStrided(block, 0, [layout.size], [1], uint8) };
}

/** What is to be consolidated; null when it is already. */
function begin(td: Td, options: ConsolidateOptions): Layout | null {
  const { filename = null, inplace = false, shareMemory = false } = options;
  if (filename !== null && shareMemory) throw new ValueError("filename and shareMemory exclude each other.");
  const [block, wanted] = [blockOf(td), askedDevice(options)];
  if (block !== null) {
    if (filename !== null) {
      warn("the tensordict is already consolidated: nothing is written. Call td.contiguous().consolidate() instead.");
    }
    if (wanted !== null && wanted !== block.device) {
      warn(
        `consolidate() ignores device='${wanted}' on a tensordict that is already consolidated, and returns it ` +
          "as is. Call td.contiguous().consolidate(...) to get that result, or td.to(device).",
      );
    }
    return null;
  }
  if (filename !== null && wanted !== null && wanted !== CPU) {
    throw new RuntimeError("device and filename are mutually exclusive arguments.");
  }
  if (filename !== null) requireSavable(td, "consolidated");
  if (inplace && td._disk !== null)
    throw new RuntimeError("a memory-mapped tensordict cannot be consolidated in place");
  return new Layout(td);
}

function viewsOf(layout: Layout, path: string, filename: string): Placement {
  const file = new TensorFile(path, layout.size, "r+", { name: filename });
  const tensors = layout.placed.map(({ tensor, start }) => file.tensor(tensor.dtype, tensor._shape, start));
  return { tensors, bytes: file.anchor() };
}

/** What the levels of the result say about their device. */
function devicesOf(td: Td, options: ConsolidateOptions): NewDevice {
  const { filename = null, inplace = false } = options;
  const wanted = askedDevice(options);
  if (filename === null) return (own) => (own === null ? null : (wanted ?? own));
  if (!inplace) return () => CPU;
  return td._device === null || td._device === CPU ? (own) => own : () => null;
}

function finish(level: Level, { tensors, bytes }: Placement, options: ConsolidateOptions): Td {
  const views = tensors.values() as Iterator<Tensor, undefined>;
  const { inplace = false } = options;
  const whole = !inplace || isUnchanged(level);
  const result = rebuilt(level, views, inplace, devicesOf(level.td, options));
  if (!whole) return result;
  lockTd(result);
  return markConsolidated(result, bytes);
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
  const before = levelOf(td);
  const { filename = null } = options;
  const placement =
    filename === null
      ? yield* copying(layout, askedDevice(options) ?? td._device ?? CPU, options)
      : yield* planFile(layout, filename, options).writing(options, (path) => viewsOf(layout, path, filename));
  return finish(before, placement, options);
}
