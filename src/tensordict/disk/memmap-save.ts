// Saves collections as memory-mapped directories, or moves them into anonymous shared memory.

import { Claims } from "../../io/base/claims.ts";
import { encodeKey } from "../../io/base/keys.ts";
import { isInside } from "../../io/base/paths.ts";
import { absolutePath, realPlace } from "../../io/base/places.ts";
import { isPythonJson, type PythonJson } from "../../io/base/python-json.ts";
import { pausing, runSteps, runStepsLater, type Steps } from "../../io/base/steps.ts";
import { requireTexts } from "../../io/base/well-formed.ts";
import { replaceText } from "../../io/disk/durable.ts";
import type { BackgroundOptions } from "../../io/disk/file-jobs.ts";
import { anonymousStorage, mappedFileOf } from "../../io/disk/mapping.ts";
import { copyingTensor } from "../../io/disk/strided-bytes.ts";
import { bytesToWrite } from "../../io/disk/tensor-bytes.ts";
import type { ArchiveCompression } from "../../io/memmap/memmap-archive.ts";
import {
  type CollectionMeta,
  type LeafMeta,
  levelText,
  nonTensorStackText,
  nonTensorText,
} from "../../io/memmap/memmap-meta.ts";
import { DirectoryWriter } from "../../io/memmap/memmap-write.ts";
import type { LeafWrite, NestedWrite, TreeWrite } from "../../io/memmap/tree.ts";
import { dirname, join } from "../../runtime/node.ts";
import { CPU } from "../../tensor/device.ts";
import { NotImplementedError, RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import type { Storage } from "../../tensor/storage.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { requireFit } from "../core/batch.ts";
import { lockTd } from "../core/locking.ts";
import type { NestedTensor } from "../core/nested.ts";
import {
  type ClassTd,
  entriesOf,
  isClassTd,
  isLazy,
  isNested,
  isNonTensor,
  type LazyTd,
  make,
  stackOf,
  stateOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { MemoryMappedTensor, otherFile } from "./mapped-tensor.ts";

/** How a collection is saved. */
export interface MemmapOptions {
  /** Copy tensors that are mapped from another place; otherwise they are an error. */
  copyExisting?: boolean;
  /** Threads that write files. */
  numThreads?: number;
  /** False: existing tensor files are an error. */
  existsok?: boolean;
  /** Encode keys that are no safe file names. */
  robustKey?: boolean;
  /** Flush every file to the disk before it counts as written. */
  fsync?: boolean;
  /**
   * Write the whole directory beside the old one, flush it to the disk, and let the two trade places: a reader finds
   * the old content or the new one, and a crash leaves one of them. What else lay in the old directory goes with it.
   * Tensors that are mapped from any file need `copyExisting`. On a file system that cannot exchange names nothing has
   * the name for a moment. Without `atomic` files are written over one by one, as Python's library does it: a save that
   * fails midway, on a full disk for instance, leaves no new file, but some of the old ones may have changed.
   */
  atomic?: boolean;
  /** Write one file, a zip archive of the directory; by default when the name ends with ".tdz". */
  archive?: boolean;
  /** Compression of the tensors of an archive: "stored" (the default) or "deflate". */
  compression?: ArchiveCompression | null;
}

type LevelWrite = Extract<TreeWrite, { kind: "tensordict" }>;

/** What is to be written, and how the result is made once it is. */
interface Plan {
  write: TreeWrite;
  build(): Td;
}

/** What planning a save needs to know. */
export interface SaveContext {
  options: MemmapOptions;
  /** Only shapes are taken, bytes stay zero. */
  like: boolean;
  inplace: boolean;
  /** Copies to be made in slices: tensors in shared memory get their bytes later. */
  later?: { target: Tensor; source: Tensor }[];
  /** What is written later is claimed until then. */
  claims?: Claims | null;
}

/** A tensor's future in a directory. */
function planLeaf(t: Tensor, path: string, context: SaveContext): { write: LeafWrite; build(): Tensor } {
  let storage: Storage | null = null;
  if (t instanceof MemoryMappedTensor && !context.like) {
    const own = mappedFileOf(t._storage)?.path ?? null;
    const elsewhere = own !== path || context.options.atomic === true;
    if (own !== null && elsewhere && context.options.copyExisting !== true) throw otherFile(own);
  }
  const bytes = context.like ? null : bytesToWrite(t);
  context.claims?.add(bytes);
  const write: LeafWrite = {
    kind: "leaf",
    dtype: t.dtype,
    shape: t._shape,
    device: String(t.device),
    bytes,
    source: t._storage,
    onMapped: (mapped) => {
      storage = mapped;
    },
  };
  const build = () => {
    if (storage === t._storage && t instanceof MemoryMappedTensor) return t;
    return MemoryMappedTensor._over(storage as Storage, [...t._shape], t.dtype);
  };
  return { write, build };
}

/** A nested tensor's future in a directory: its sizes are written even where nothing else is. */
function planNested(
  nested: NestedTensor,
  key: string,
  path: string,
  context: SaveContext,
): { write: NestedWrite; build(): NestedTensor } {
  if (nested.length === 0) throw new ValueError(`the nested tensor under key '${key}' has no components to save`);
  const values = planLeaf(nested._values, path, context);
  const sizes = planLeaf(nested._sizesTensor(), path, { ...context, like: false }).write;
  sizes.onMapped = undefined;
  return {
    write: { kind: "nested", values: values.write, sizes },
    build: () => nested._over(values.build()),
  };
}

function planEntries(
  td: Td,
  path: string,
  context: SaveContext,
): { entries: LevelWrite["entries"]; build(): Map<string, Entry> } {
  const entries: LevelWrite["entries"] = new Map();
  const builders: [string, () => Entry][] = [];
  const robust = context.options.robustKey !== false;
  for (const [key, entry] of entriesOf(td)) {
    const name = robust ? encodeKey(key) : key;
    const plan =
      entry instanceof Tensor
        ? planLeaf(entry, join(path, `${name}.memmap`), context)
        : isNested(entry)
          ? planNested(entry, key, join(path, `${name}.memmap`), context)
          : planTree(entry, join(path, name), context);
    entries.set(key, plan.write);
    builders.push([key, plan.build]);
  }
  return { entries, build: () => new Map(builders.map(([key, build]) => [key, build()])) };
}

function settle(td: Td, entries: Map<string, Entry>, path: string | null, context: SaveContext): Td {
  const result = context.inplace ? td : td._like(entries, stateOf(td, { device: CPU }));
  if (context.inplace) {
    for (const [key, entry] of entries) td._put(key, entry);
    td._device = CPU;
  }
  result._disk = { path, late: new Set(), robustKey: context.options.robustKey !== false };
  return result;
}

/** What is to be written for a collection at `path`, and the collection over it. */
export function planTree(td: Td, path: string, context: SaveContext): Plan {
  if (isLazy(td)) {
    const members = td.members.map((member, i) => planTree(member, join(path, String(i)), context));
    const { stackDim, stackDimName } = td;
    const write: TreeWrite = {
      kind: "lazy",
      typeName: td._className,
      stackDim,
      stackDimName,
      members: members.map((member) => member.write),
    };
    return {
      write,
      build: () =>
        settleLazy(
          td,
          members.map((member) => member.build()),
          path,
          context,
        ),
    };
  }
  if (isNonTensor(td)) return planValue(td, path, context);
  const stack = stackOf(td);
  if (stack !== null) return planAround(td as ClassTd, stack, path, context);
  const inner = planEntries(td, isClassTd(td) ? join(path, "_tensordict") : path, context);
  const level: LevelWrite = {
    kind: "tensordict",
    typeName: "TensorDict",
    batchSize: td._batchSize,
    device: "cpu",
    names: td._names,
    entries: inner.entries,
  };
  const write: TreeWrite = isClassTd(td)
    ? {
        kind: "tensorclass",
        typeName: td._className,
        qualified: td._qualifiedName,
        extras: new Map(),
        inner: level,
      }
    : level;
  return { write, build: () => settle(td, inner.build(), path, context) };
}

/** A lazy stack of objects is an object around a lazy stack, on disk as here. */
function planAround(td: ClassTd, stack: LazyTd, path: string, context: SaveContext): Plan {
  const inner = planTree(stack, join(path, "_tensordict"), context);
  const write: TreeWrite = {
    kind: "tensorclass",
    typeName: td._className,
    qualified: td._qualifiedName,
    extras: new Map(),
    inner: inner.write,
  };
  return { write, build: () => (context.inplace ? (inner.build(), td) : td._around(inner.build())) };
}

function settleLazy(td: LazyTd, members: Td[], path: string | null, context: SaveContext): Td {
  const result = context.inplace ? td : make.lazy(members, td.stackDim, td.stackDimName);
  result._device = CPU;
  result._disk = { path, late: new Set(), robustKey: context.options.robustKey !== false };
  return result;
}

/** The JSON of a wrapped value; anything that JSON cannot hold is an error, which says `where` it was to go. */
export function valueJson(td: ValueTd, where?: string): PythonJson {
  // What was read and not changed is written back exactly, 2.0 as 2.0.
  const raw = td._raw;
  if (raw !== undefined) {
    requireTexts(raw, () => where ?? `a ${td._className}`);
    return raw;
  }
  const data = td._kind === "nonTensorStack" ? td.tolist() : td.value_;
  if (!isPythonJson(data)) {
    const place = where === undefined ? "" : `${where}: `;
    throw new TypeError(
      `${place}a ${td._className} is saved as JSON: null, booleans, numbers, strings, arrays and objects of these. ` +
        "Store other values in tensors or as strings.",
    );
  }
  requireTexts(data, () => where ?? `a ${td._className}`);
  return data;
}

function valueText(td: ValueTd): string {
  if (td._kind === "nonTensorStack") {
    const device = td._device === null ? null : String(td._device);
    return nonTensorStackText(valueJson(td), td.stackDim, device);
  }
  return nonTensorText(td._className as "NonTensorData", valueJson(td));
}

function planValue(td: ValueTd, path: string, context: SaveContext): Plan {
  const data = valueJson(td, path);
  const write: TreeWrite =
    td._kind === "nonTensorStack"
      ? {
          kind: "nonTensorStack",
          typeName: "NonTensorStack",
          data,
          stackDim: td.stackDim,
          device: td._device === null ? null : String(td._device),
        }
      : { kind: "nonTensor", typeName: td._className as "NonTensorData" | "MetaData", data };
  const build = () => {
    const result = context.inplace ? td : td._like(new Map(), stateOf(td));
    followFile(result, path);
    return result;
  };
  return { write, build };
}

/** Keeps the file of a wrapped value current when the value is replaced in place. */
export function followFile(td: ValueTd, path: string): void {
  td._onChange = () => replaceText(join(path, "meta.json"), valueText(td));
}

function anonymousTensor(t: Tensor, context: SaveContext): Tensor {
  const later = context.later !== undefined && t.device.type === "cpu" ? context.later : null;
  if (!context.like && later === null) return MemoryMappedTensor.fromTensor(t);
  const target = MemoryMappedTensor._over(anonymousStorage(t.nbytes), [...t._shape], t.dtype);
  if (!context.like) later?.push({ target, source: t.detach() });
  return target;
}

/** Moves a tree into anonymous shared memory. */
function anonymousTree(td: Td, context: SaveContext): Td {
  if (isLazy(td)) {
    return settleLazy(
      td,
      td.members.map((member) => anonymousTree(member, context)),
      null,
      context,
    );
  }
  if (isNonTensor(td)) return td;
  const stack = stackOf(td);
  if (stack !== null) {
    const made = anonymousTree(stack, context);
    return context.inplace ? td : (td as ClassTd)._around(made);
  }
  const entries = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    if (entry instanceof Tensor) entries.set(key, anonymousTensor(entry, context));
    else if (isNested(entry)) entries.set(key, entry._over(anonymousTensor(entry._values, context)));
    else entries.set(key, anonymousTree(entry, context));
  }
  return settle(td, entries, null, context);
}

/** Throws when a collection has no bytes, or an entry that cannot be `done`: it does not fit any more. */
export function requireSavable(td: Td, done: string): void {
  requireFit(td, done);
  if (isNonTensor(td)) return;
  if (td._device?.type === "meta") throw new RuntimeError("tensors on the meta device have no bytes to save");
}

/** Where a collection was loaded from or saved to: an object around a stack lies above it. */
function placeOf(td: Td): string | null {
  const path = td._disk?.path ?? null;
  return path !== null && isClassTd(td) && stackOf(td) !== null ? dirname(path) : path;
}

function requireAtomic(path: string | null, like: boolean): void {
  if (path === null) throw new ValueError("atomic=True needs a prefix to write the directory to.");
  if (like) throw new ValueError("memmapLike keeps the content of existing files: it cannot replace them with atomic.");
  if (process.platform === "win32") throw new NotImplementedError("atomic=True is not supported on Windows.");
}

/**
 * Throws for a target inside of a directory that a part of `td` was loaded from or saved to: an entry of that, or a
 * member of a stack, may have the target's name, and would not be what it was.
 */
function requireOutside(td: Td, target: string): void {
  const source = td._disk?.path ?? null;
  if (source !== null) {
    const directory = realPlace(source);
    if (target === directory || !isInside(target, directory)) return;
    throw new ValueError(
      `Cannot save to ${target}: it lies in ${source}, which the tensordict itself was loaded from or saved to.`,
    );
  }
  const stack = stackOf(td);
  if (stack !== null) for (const member of stack.members) requireOutside(member, target);
  else if (!isNonTensor(td)) {
    for (const [, entry] of entriesOf(td)) {
      if (!(entry instanceof Tensor) && !isNested(entry)) requireOutside(entry as Td, target);
    }
  }
}

/** A save that is laid out but not yet begun. */
export class Save {
  private readonly plan: Plan | null;
  private readonly writer: DirectoryWriter | null;
  private readonly context: SaveContext;

  constructor(
    private readonly td: Td,
    prefix: string | null | undefined,
    options: MemmapOptions,
    mode: { like: boolean; inplace: boolean; background?: boolean },
  ) {
    requireSavable(td, "memory-mapped");
    this.context = { options, ...mode, claims: mode.background ? new Claims() : null };
    const path = prefix ?? placeOf(td);
    if (options.atomic) requireAtomic(path, mode.like);
    if (path === null) {
      this.plan = null;
      this.writer = null;
      return;
    }
    const target = absolutePath(path);
    requireOutside(td, realPlace(target));
    const background = mode.background ?? false;
    try {
      this.plan = planTree(td, target, this.context);
      this.writer = new DirectoryWriter(this.plan.write, target, { ...options, background });
    } catch (error) {
      this.context.claims?.release();
      throw error;
    }
  }

  run(): Td {
    return runSteps(this.saving({}));
  }

  /** For a save that was made with `background`. */
  async runInBackground(options: BackgroundOptions): Promise<Td> {
    return await runStepsLater(this.saving(options), options.signal);
  }

  private *saving(options: BackgroundOptions): Steps<Td> {
    try {
      yield* pausing();
      if (this.writer !== null) yield* this.writer.writing(options);
    } finally {
      this.context.claims?.release();
    }
    const result = this.plan === null ? yield* this.sharing(options) : this.plan.build();
    lockTd(result);
    return result;
  }

  private *sharing({ onProgress }: BackgroundOptions): Steps<Td> {
    const { inplace, claims } = this.context;
    if (inplace || claims === null) return anonymousTree(this.td, this.context);
    const later: { target: Tensor; source: Tensor }[] = [];
    const result = anonymousTree(this.td, { ...this.context, later });
    for (const [i, { target, source }] of later.entries()) {
      yield* copyingTensor(target, source);
      onProgress?.(i + 1, later.length);
    }
    return result;
  }
}

/** Writes `meta.json` of one level again, after its set of entries changed. */
export function rewriteMeta(td: Td): void {
  const disk = td._disk;
  if (disk === null || disk.path === null) return;
  const entries = new Map<string, LeafMeta | CollectionMeta>();
  for (const [key, entry] of entriesOf(td)) {
    if (entry instanceof Tensor || isNested(entry)) {
      const nested = isNested(entry);
      entries.set(key, {
        kind: "leaf",
        dtype: entry.dtype,
        shape: nested ? [entry.length, entry._rank] : entry._shape,
        device: "cpu",
        isNested: nested,
      });
    } else entries.set(key, { kind: "collection", type: entry._className });
  }
  const text = levelText({ entries, batchSize: td._batchSize, device: "cpu", names: td._names }, disk.late);
  replaceText(join(disk.path, "meta.json"), text);
}
