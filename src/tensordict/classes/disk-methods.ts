// Methods that save and load collections as memory-mapped directories and archives.

import { guarded } from "../../io/base/errors.ts";
import { encodeKey, keyProblem } from "../../io/base/keys.ts";
import { discardPath } from "../../io/disk/durable.ts";
import type { BackgroundOptions } from "../../io/disk/file-jobs.ts";
import { mappedFileOf } from "../../io/disk/mapping.ts";
import type { Hdf5Layout } from "../../io/hdf5/hdf5-engine.ts";
import { LOST_KEYS } from "../../io/memmap/memmap-meta.ts";
import { existsSync, join, mkdirSync } from "../../runtime/node.ts";
import { installChecks } from "../../tensor/checks.ts";
import { type DTypeLike, getDefaultDtype, toDType } from "../../tensor/dtype.ts";
import { AttributeError, KeyError, NotImplementedError, RuntimeError } from "../../tensor/errors.ts";
import { numelOf } from "../../tensor/size.ts";
import type { UntypedStorage } from "../../tensor/storage.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { startsWith } from "../core/convert.ts";
import { keyPath, keyText } from "../core/keys.ts";
import { childrenOf, lockTd } from "../core/locking.ts";
import { isConsolidated } from "../core/one-block.ts";
import { FUTURE_METHODS } from "../core/signatures.ts";
import {
  Collection,
  entriesOf,
  isClassTd,
  isTensorCollection,
  loader,
  make,
  stackOf,
  stateOf,
  type Td,
} from "../core/state.ts";
import type { Classes, NestedKey, Schema } from "../core/types.ts";
import { ArchiveSave, wantsArchive } from "../disk/archive-save.ts";
import { type ConsolidateOptions, consolidate, consolidateAsync } from "../disk/consolidated.ts";
import { MemoryMappedTensor } from "../disk/mapped-tensor.ts";
import { type LoadOptions, loadTree } from "../disk/memmap-load.ts";
import { type MemmapOptions, rewriteMeta, Save } from "../disk/memmap-save.ts";
import { tensorsOf } from "../ops/access.ts";
import {
  type LoadStateOptions,
  loadStateDictInto,
  type StateDictOptions,
  stateDictOf,
  type TensorState,
} from "../ops/state-dict.ts";

/**
 * A result that comes later.
 * @example
 * ```ts
 * const later = new TensorDict({ a: ones(1) }, []).memmap("data", { returnEarly: true });
 * (await later.result()).get("a") // MemoryMappedTensor([1.])
 * ```
 */
export class TensorDictFuture<T> implements PromiseLike<T> {
  constructor(private readonly promise: Promise<T>) {}
  /** The result. @torch TensorDictFuture.result */
  result(): Promise<T> {
    return this.promise;
  }
  // biome-ignore lint/suspicious/noThenProperty: awaiting the future gives its result
  then<A = T, B = never>(
    done?: ((value: T) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): PromiseLike<A | B> {
    return this.promise.then(done, failed);
  }
}
installChecks(TensorDictFuture.prototype, FUTURE_METHODS);

/** Options of a save that may return before it is done. */
export interface EarlyOptions extends MemmapOptions {
  /** Return a future at once and write in the background. */
  returnEarly?: boolean;
}

/** Options of `memmap_`: the entries lie in a folder, never in an archive. */
export type FolderOptions = Omit<EarlyOptions, "archive" | "compression">;

/** `memmap` in all of its forms. */
function saveTo<T extends Td>(
  td: T,
  prefix: string | null | undefined,
  options: EarlyOptions,
  mode: { like: boolean; inplace: boolean },
): T | TensorDictFuture<T> {
  if (!mode.inplace && wantsArchive(prefix, options)) {
    if (options.returnEarly) {
      throw new NotImplementedError("return_early is not supported when writing a memmap archive.");
    }
    return new ArchiveSave(td, prefix, options, mode.like).run() as T;
  }
  const background = options.returnEarly === true;
  const save = new Save(td, prefix, options, { ...mode, background });
  if (background) return new TensorDictFuture(save.runInBackground({}) as Promise<T>);
  return save.run() as T;
}

/** Adds a mapped entry, or takes it back with its file. */
function adoptEntry(holder: Td, key: string, value: Tensor): void {
  holder._put(key, value);
  holder._disk?.late.add(key);
  try {
    rewriteLevel(holder);
  } catch (error) {
    holder._drop(key);
    holder._disk?.late.delete(key);
    const filename = leafFile(holder, key);
    if (filename !== null) discardPath(filename);
    throw error;
  }
}

/** The file of an entry; null without a directory. */
function leafFile(holder: Td, key: string): string | null {
  const problem = keyProblem(key, ".memmap");
  if (LOST_KEYS.has(key) || problem !== null) {
    throw new KeyError(`The key '${key}' cannot be saved: ${problem ?? "meta.json uses this name itself"}.`);
  }
  const path = levelPath(holder);
  return path === null ? null : join(path, `${encodeKey(key)}.memmap`);
}

/** The collection that gets a new entry, and its last key; levels that are missing are made. */
function levelFor(td: Td, path: readonly string[], shape: readonly number[]): [Td, string] {
  let at: Td = td;
  if (!at.isMemmap()) throw new RuntimeError("Can only make a memmap tensor within a memory-mapped tensordict.");
  for (const part of path.slice(0, -1)) {
    requirePlace(at, part);
    let next = at._own(part);
    if (next === undefined) {
      next = make.tensordict(new Map(), stateOf(at));
      const above = levelPath(at);
      const directory = above === null ? null : join(above, encodeKey(part));
      if (directory !== null) guarded(directory, () => mkdirSync(directory));
      next._disk = { path: directory, late: new Set(), robustKey: true };
      at._put(part, next);
      at._disk?.late.add(part);
      rewriteLevel(next as Td);
      rewriteLevel(at);
      lockUnderParent(next as Td, at);
    }
    if (next instanceof Tensor) throw new KeyError(`'${part}' is a Tensor, not a tensordict.`);
    at = next as Td;
  }
  const last = path.at(-1) as string;
  requirePlace(at, last);
  if (at._own(last) !== undefined) {
    throw new RuntimeError(
      `The key ${keyText(path)} already exists within the target tensordict. Delete that entry ` +
        "before overwriting it.",
    );
  }
  if (!startsWith(shape, at._batchSize)) {
    throw new RuntimeError(
      `batch dimension mismatch, got self.batch_size=${at._batchSize} and ` +
        `value.shape=torch.Size([${shape.join(", ")}]) ` +
        `for key '${last}'. The leading dimensions of a value must match the batch size.`,
    );
  }
  return [at, last];
}

/** Saving and loading. */
export abstract class DiskMethods<in out S extends Schema = Schema> extends Collection<S> {
  /** @internal This collection with the methods of the classes above, which are written for all of them. */
  abstract get _td(): this & Td;

  /** True when its tensors are memory-mapped by `memmap`. @torch TensorDict.is_memmap */
  isMemmap(): boolean {
    const disk = this._disk;
    return disk !== null && disk.shared !== true && disk.loose !== true && this._locked;
  }

  /** Its directory. @torch TensorDict.saved_path */
  get savedPath(): string {
    const path = this._disk?.path ?? null;
    if (!this.isMemmap() || path === null) {
      const memmap = this.isMemmap() ? "True" : "False";
      throw new AttributeError(`The tensordict has no saved path (memmap=${memmap}, path=${path ?? "None"}).`);
    }
    return path;
  }

  /**
   * Writes all tensors to `prefix` (or into anonymous shared memory) and gives a locked collection over these files;
   * this one stays as it is. A name that ends with ".tdz" (or `archive`) gives one file, a zip archive; the result is
   * then what `loadMemmap` gives for it: not locked, and writes do not reach the file. @torch TensorDict.memmap
   */
  memmap(prefix?: string | null, options?: MemmapOptions): this;
  memmap(prefix: string | null | undefined, options: EarlyOptions & { returnEarly: true }): TensorDictFuture<this>;
  memmap(prefix?: string | null, options: EarlyOptions = {}): this | TensorDictFuture<this> {
    return saveTo(this._td, prefix, options, { like: false, inplace: false });
  }

  /** Like `memmap`, but the entries of this collection are replaced by the mapped ones. @torch TensorDict.memmap_ */
  memmap_(prefix: string | null | undefined, options: FolderOptions & { returnEarly: true }): TensorDictFuture<this>;
  memmap_(prefix?: string | null, options?: Omit<FolderOptions, "returnEarly">): this;
  memmap_(prefix?: string | null, options: FolderOptions = {}): this | TensorDictFuture<this> {
    return saveTo(this._td, prefix, options, { like: false, inplace: true });
  }

  /** Files of the same shapes and dtypes, zero-filled and sparse; nothing is copied. @torch TensorDict.memmap_like */
  memmapLike(prefix?: string | null, options: MemmapOptions = {}): this {
    return saveTo(this._td, prefix, options, { like: true, inplace: false }) as this;
  }

  /**
   * `memmap` while the program goes on: native threads write everything aside, and files get their names when all are
   * complete. A signal or an error leaves what was there. The tensors may be dropped but must not change until it is
   * done: a file could have their old and their new elements. Of two saves to one place the one that ends last stays.
   * @example
   * ```ts
   * const td = new TensorDict({ a: arange(3) }, []);
   * const stop = new AbortController();
   * const saved = await td.memmapAsync("/tmp/zensor-later", { signal: stop.signal, onProgress: (done, of) => {} });
   * saved.get("a") // MemoryMappedTensor([0, 1, 2])
   * ```
   */
  async memmapAsync(prefix: string | null, options: MemmapOptions & BackgroundOptions = {}): Promise<this> {
    const self = this._td;
    options.signal?.throwIfAborted();
    const save = wantsArchive(prefix, options)
      ? new ArchiveSave(self, prefix, options, false)
      : new Save(self, prefix, options, { like: false, inplace: false, background: true });
    return (await save.runInBackground(options)) as typeof self;
  }

  /** Saves to a directory, or to an archive when the name ends with ".tdz". @torch TensorDict.save */
  save(prefix: string, options: MemmapOptions = {}): this {
    return saveTo(this._td, prefix, { existsok: true, ...options }, { like: false, inplace: false }) as this;
  }

  /** The older name of `save`. @torch TensorDict.dumps */
  dumps(prefix: string, options: MemmapOptions = {}): this {
    return this.save(prefix, options);
  }

  /**
   * `save` while the program goes on; see `memmapAsync`.
   * @example
   * ```ts
   * await new TensorDict({ a: ones(2) }, []).saveAsync("/tmp/zensor-later.tdz");
   * TensorDict.load("/tmp/zensor-later.tdz").get("a").sum() // tensor(2.)
   * ```
   */
  async saveAsync(prefix: string, options: MemmapOptions & BackgroundOptions = {}): Promise<this> {
    return await this.memmapAsync(prefix, { existsok: true, ...options });
  }

  /**
   * Writes an HDF5 file, which is replaced when it is complete, and opens it: nested collections become groups, tensors
   * datasets. The file keeps no batch sizes, names and classes. @torch TensorDict.to_h5
   */
  toH5(filename: string, options: Hdf5Layout = {}): Classes<S>["persistent"] {
    return loader.toH5(this._td, filename, options);
  }

  /**
   * `toH5` while the program goes on. The HDF5 library works on the program's own thread, a megabyte at a time, between
   * which everything else gets its turn: a slow disk holds the program up longer. A signal leaves the file that was
   * there before; the tensors must not change until it is done. Compressed chunks have 256 KiB unless `chunks` says
   * otherwise: compressing one is the longest step.
   */
  async toH5Async(filename: string, options: Hdf5Layout & BackgroundOptions = {}): Promise<Classes<S>["persistent"]> {
    return await loader.toH5Async(this._td, filename, options);
  }

  /**
   * Copies all tensors into one block of bytes, in memory, on a device or in a file, and gives a locked collection of
   * views of it, which `to` moves and `save` writes as one. The block is on `device`, on that of the collection, or on
   * the CPU. With `filename` the structure is written behind the data, so that `fromConsolidated` can read it; writes
   * into the tensors then reach the file. A collection that is consolidated already is returned as it is. @torch
   * TensorDict.consolidate
   *
   * @throws RuntimeError for a file on a device, and for mapped collections in place
   */
  consolidate(options: ConsolidateOptions = {}): this {
    return consolidate(this._td, options) as this & Td;
  }

  /**
   * `consolidate` while the program goes on; the tensors must not change until it is done. A signal leaves the file
   * that was there before.
   * @example
   * ```ts
   * const td = new TensorDict({ a: arange(3), b: ones(2) }, []);
   * const block = await td.consolidateAsync({ filename: "/tmp/zensor-example.td" });
   * TensorDict.fromConsolidated("/tmp/zensor-example.td").get("a") // tensor([0, 1, 2])
   * ```
   */
  async consolidateAsync(options: ConsolidateOptions & BackgroundOptions = {}): Promise<this> {
    return (await consolidateAsync(this._td, options)) as this & Td;
  }

  /** Whether all tensors are views of one block made by `consolidate`. @torch TensorDict.is_consolidated */
  isConsolidated(): boolean {
    return isConsolidated(this._td);
  }

  /** Tensors by key, detached and flat unless told otherwise. @torch TensorDict.state_dict */
  stateDict(options: StateDictOptions = {}): TensorState {
    return stateDictOf(this._td, options);
  }

  /**
   * Writes tensors into the entries of the same keys; keys that are new are added. @torch
   * TensorDict.load_state_dict
   */
  loadStateDict(state: Record<string, unknown> | ReadonlyMap<string, unknown>, options: LoadStateOptions = {}): this {
    loadStateDictInto(this._td, state, options);
    return this;
  }

  /**
   * Replaces the entries by those of a directory. One that is mapped is unlocked for that; any other that is locked is
   * refused. A call that fails leaves it as it was. @torch TensorDict.load_memmap_
   */
  loadMemmap_(prefix: string, options: Omit<LoadOptions, "out" | "subpath"> = {}): this {
    const self = this._td;
    if (!this.isMemmap()) {
      loadTree(prefix, { ...options, out: self });
      return this;
    }
    const before = [...tensorsOf(self)];
    let placed = false;
    self.unlock_();
    try {
      loadTree(prefix, { ...options, out: self });
      placeLevels(self, prefix);
      placed = true;
    } finally {
      const after = [...tensorsOf(self)];
      const unchanged = after.length === before.length && after.every(([, t], i) => t === before[i]?.[1]);
      if (placed || unchanged) holdTogether(self);
      lockTd(this);
    }
    return this;
  }

  /** The older name of `loadMemmap_`. @torch TensorDict.load_ */
  load_(prefix: string, options: Omit<LoadOptions, "out" | "subpath"> = {}): this {
    return this.loadMemmap_(prefix, options);
  }

  /** Reads structure and tensors from its directory again. @torch TensorDict.memmap_refresh_ */
  memmapRefresh_(options: Pick<LoadOptions, "pickles"> = {}): this {
    const path = this._disk?.path ?? null;
    if (!this.isMemmap() || path === null) {
      throw new RuntimeError("Cannot refresh a TensorDict that is not memory mapped or has no path associated.");
    }
    return this.loadMemmap_(path, options);
  }

  /** Adds a zero-filled tensor to a memory-mapped TensorDict, on disk too. @torch TensorDict.make_memmap */
  makeMemmap(key: NestedKey, shape: readonly number[], options: { dtype?: DTypeLike } = {}): MemoryMappedTensor {
    const [holder, last] = levelFor(this._td, keyPath(key), shape);
    const filename = leafFile(holder, last);
    const made = MemoryMappedTensor.empty(shape, { ...options, ...(filename === null ? {} : { filename }) });
    adoptEntry(holder, last, made);
    return made;
  }

  /** Adds a copy of a tensor to a memory-mapped TensorDict, on disk too. @torch TensorDict.make_memmap_from_tensor */
  makeMemmapFromTensor(key: NestedKey, tensor: Tensor, options: { copyData?: boolean } = {}): MemoryMappedTensor {
    const [holder, last] = levelFor(this._td, keyPath(key), tensor.shape);
    const filename = leafFile(holder, last);
    if (filename === null || options.copyData === false) {
      const made = this.makeMemmap(key, tensor.shape, { dtype: tensor.dtype });
      if (options.copyData !== false) made.copy_(tensor.detach());
      return made;
    }
    // Written, not filled: then a full disk is an error before there is an entry.
    const made = MemoryMappedTensor.fromTensor(tensor.detach(), { filename, copyExisting: true });
    adoptEntry(holder, last, made);
    return made;
  }

  /**
   * Adds the elements of a storage to a memory-mapped TensorDict, on disk too: they are copied into the new file.
   * Without a directory the storage itself is used. @torch TensorDict.make_memmap_from_storage
   */
  makeMemmapFromStorage(
    key: NestedKey,
    storage: UntypedStorage,
    shape: readonly number[],
    options: { dtype?: DTypeLike } = {},
  ): MemoryMappedTensor {
    const dtype = options.dtype === undefined ? getDefaultDtype() : toDType(options.dtype);
    const nbytes = storage.nbytes();
    if (numelOf(shape) * dtype.itemsize !== nbytes) {
      const count = Math.floor(nbytes / dtype.itemsize);
      throw new RuntimeError(`shape '[${shape.join(", ")}]' is invalid for input of size ${count}`);
    }
    storage.dataPtr();
    const whole = MemoryMappedTensor._over(storage.storage, [...shape], dtype);
    const [holder, last] = levelFor(this._td, keyPath(key), shape);
    const filename = leafFile(holder, last);
    const own = mappedFileOf(storage.storage)?.path ?? null;
    if (filename !== null && own !== null && own !== filename) {
      throw new RuntimeError(
        "Providing a storage with an associated filename that differs from the filename argument is not permitted " +
          `unless filename=None. Got filename=${filename}, storage.filename=${own}`,
      );
    }
    const made =
      filename === null || own === filename
        ? whole
        : MemoryMappedTensor.fromTensor(whole.clone(), { filename, existsok: true });
    adoptEntry(holder, last, made);
    return made;
  }
}

/** The directory with the entries of a level. */
function levelPath(td: Td): string | null {
  const path = td._disk?.path ?? null;
  // An object around a lazy stack has that one's place.
  const within = isClassTd(td) && stackOf(td) === null;
  return path !== null && within ? join(path, "_tensordict") : path;
}

function rewriteLevel(td: Td): void {
  let level = td;
  if (td._kind === "tensorclass" && td._disk !== null) {
    level = make.tensordict(new Map(entriesOf(td)), stateOf(td));
    level._disk = { ...td._disk, path: levelPath(td) };
  }
  rewriteMeta(level);
}

/** Whether a level can have an entry of that name, asked before there is a file. */
function requirePlace(td: Td, key: string): void {
  if (isClassTd(td)) {
    if (td._fieldNames().includes(key)) return;
    throw new KeyError(`${td._className} has no field '${key}'`);
  }
  if (td._kind === "tensordict") return;
  throw new RuntimeError(
    `Cannot call \`make_memmap\` on a ${td._className}. Only a memory-mapped TensorDict supports it.`,
  );
}

/** From here on the tree is what its files say. */
function holdTogether(td: Td): void {
  if (td._disk !== null) td._disk.loose = false;
  for (const child of childrenOf(td)) holdTogether(child);
}

/** Every level of a TensorDict that was filled from a directory belongs to that directory. */
function placeLevels(td: Td, path: string): void {
  td._disk = { path, late: new Set(), robustKey: true };
  for (const [key, entry] of entriesOf(td)) {
    // Other kinds were made anew and know their place.
    if (!isTensorCollection(entry) || entry._kind !== "tensordict") continue;
    const encoded = join(path, encodeKey(key));
    placeLevels(entry, existsSync(encoded) ? encoded : join(path, key));
  }
}

function lockUnderParent(child: Td, parent: Td): void {
  lockTd(child);
  child._holders = [...child._holders, new WeakRef(parent)];
}
