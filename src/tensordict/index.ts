// The TensorDict room: what other rooms and programs use of it.

import type { BackgroundOptions } from "../io/disk/file-jobs.ts";
import { inOrder } from "../tensor/checks.ts";
import { TensorDictBase } from "./classes/base.ts";
import type { EarlyOptions, TensorDictFuture } from "./classes/disk-methods.ts";
import { PersistentTensorDict } from "./classes/persistent.ts";
import { TensorDict } from "./classes/tensordict.ts";
import type { LazyOf } from "./core/path-types.ts";
import { FUNCTIONS } from "./core/signatures.ts";
import type { Td } from "./core/state.ts";
import type { NestedKey, Schema } from "./core/types.ts";
import { type LoadOptions, loadTree, loadTreeAsync } from "./disk/memmap-load.ts";
import type { MemmapOptions } from "./disk/memmap-save.ts";
import type { FromH5Options } from "./disk/persistent-options.ts";
import { type IntoOptions, type LazyStackOptions, lazyStackOrInto, maybeDenseStackOrInto } from "./ops/join-out.ts";
import { type DictSource, fromDictTd, type MakeOptions } from "./ops/making.ts";

export { type PackOptions, packMemmap, refreshArchiveChecksums, unpackMemmap } from "../io/memmap/archive-tools.ts";
export { type ArchiveCompression, isMemmapArchive } from "../io/memmap/memmap-archive.ts";
export { type EarlyOptions, TensorDictFuture } from "./classes/disk-methods.ts";
export { type FromModulesOptions, fromModules } from "./classes/from-modules.ts";
export { LazyStackedTensorDict } from "./classes/lazy.ts";
export { MetaData, NonTensorData } from "./classes/non-tensor.ts";
export { NonTensorStack } from "./classes/non-tensor-stack.ts";
export { type GetHook, type ParamsOptions, TensorDictParams } from "./classes/params.ts";
export {
  type Fields,
  isTensorclass,
  registerTensorClass,
  type TensorClass,
  TensorClassBase,
  tensorclass,
} from "./classes/tensorclass.ts";
export type { Extremes } from "./core/extremes.ts";
export { InplaceWriteError, KeyThroughLeafError, unravelKey, unravelKeyList, unravelKeyToTuple } from "./core/keys.ts";
export {
  defaultIsLeaf,
  type EntryClass,
  type IsLeaf,
  isBool,
  isFloating,
  isInexact,
  isInteger,
  isLeafNontensor,
} from "./core/leaves.ts";
export { NestedTensor } from "./core/nested.ts";
export {
  captureNonTensorStack,
  getDefaultsToNull,
  getTensorDictPrintoptions,
  lazyLegacy,
  listToStack,
  type PrintOptions,
  type Restorable,
  setCaptureNonTensorStack,
  setGetDefaultsToNull,
  setLazyLegacy,
  setListToStack,
  setTensorDictPrintoptions,
} from "./core/settings.ts";
export { isNonTensor, isTensorCollection } from "./core/state.ts";
export type {
  CollectionOptions,
  Entry,
  IterationOptions,
  NestedKey,
  Schema,
  SizeLike,
  Stored,
  StoredAll,
} from "./core/types.ts";
export { UnbatchedTensor } from "./core/unbatched.ts";
export type { ConsolidateOptions } from "./disk/consolidated.ts";
export { fromConsolidated } from "./disk/consolidated-load.ts";
export { type LoadAnyOptions, load, loadAsync, save, saveAsync } from "./disk/files.ts";
export {
  type FromTensorOptions,
  type MappedOptions,
  /** Older name of MemoryMappedTensor. */
  MemoryMappedTensor as MemmapTensor,
  MemoryMappedTensor,
} from "./disk/mapped-tensor.ts";
export { appendMemmap } from "./disk/memmap-append.ts";
export type { LoadOptions } from "./disk/memmap-load.ts";
export type { MemmapOptions } from "./disk/memmap-save.ts";
export type { FromH5Options, Hdf5Group, PersistentOptions } from "./disk/persistent-options.ts";
export { loadRemote, type RemoteLoadOptions, type RemoteSaveOptions, saveRemote } from "./disk/remote.ts";
export { fromSafetensors, toSafetensors, toSafetensorsAsync } from "./disk/safetensors.ts";
export { fromShared, type Shared, type SharedTensor, toShared } from "./disk/sharing.ts";
export { type ReadTableOptions, readTable, type WriteTableOptions, writeTable } from "./disk/table-parts.ts";
export { type PickleChoice, PickledData, PythonClass } from "./disk/tree-load.ts";
export {
  fromAny,
  fromDataclass,
  fromDict,
  fromNamedtuple,
  fromPytree,
  fromStructArray,
  fromTuple,
} from "./makers.ts";
export * as nn from "./nn/index.ts";
export { asTensordictModule } from "./nn/module.ts";
export { assertClose, assertClose as assertAllcloseTd } from "./ops/assert-close.ts";
export { type CollateOptions, collate } from "./ops/collating.ts";
export { convertEllipsisToIdx } from "./ops/ellipsis.ts";
export { groupBy } from "./ops/grouping.ts";
export { cat, denseStackTds, stack } from "./ops/join-out.ts";
export type {
  DictSource,
  FromListOptions,
  MakeOptions,
  SchemaOptions,
  ShapesAndDTypes,
  StructOptions,
} from "./ops/making.ts";
export { fromModule, type ModuleLike, toModule } from "./ops/module.ts";
export { PackLayout } from "./ops/packing.ts";
export { padTd as pad } from "./ops/pad.ts";
export {
  type ByKey,
  type PadSequenceOptions,
  padSequenceTds as padSequence,
  type UnpadSequenceOptions,
  unpadSequence,
} from "./ops/padding.ts";
export { parseTensorDictString } from "./ops/parse-text.ts";
export type { ApplyOptions } from "./ops/pointwise.ts";
export { denseStack } from "./ops/stacking.ts";
export type { LoadStateOptions, StateDictOptions, TensorState } from "./ops/state-dict.ts";
export type { StructArray, StructField, StructFieldType, StructType } from "./ops/struct-arrays.ts";
export { PersistentTensorDict, TensorDict, TensorDictBase };

/** The arguments of a function in their places. */
// biome-ignore lint/suspicious/noExplicitAny: the signature decides their types
function checked(op: keyof typeof FUNCTIONS, args: ArrayLike<unknown>): any[] {
  return inOrder(op, FUNCTIONS[op], args);
}

/**
 * Stacks without copying.
 * @example
 * ```ts
 * lazyStack([new TensorDict({ a: ones(2) }, []), new TensorDict({ a: ones(3) }, [])]).at(1).get("a")
 * // tensor([1., 1., 1.])
 * ```
 * @torch tensordict.lazy_stack
 */
export function lazyStack<C extends Td>(list: readonly C[], dim?: number, options?: LazyStackOptions): LazyOf<C>;
export function lazyStack(list: readonly Td[], dim = 0, options: LazyStackOptions = {}): Td {
  [list, dim = 0, options = {}] = checked("lazyStack", arguments);
  return lazyStackOrInto(list, dim, options);
}

/**
 * Dense where possible, lazy elsewhere.
 * @example
 * ```ts
 * const parts = [new TensorDict({ a: ones(2) }, []), new TensorDict({ a: ones(2) }, [])];
 * maybeDenseStack(parts).get("a").shape // torch.Size([2, 2])
 * ```
 * @torch tensordict.maybe_dense_stack
 */
export function maybeDenseStack<C extends Td>(list: readonly C[], dim = 0, options: IntoOptions = {}): C {
  [list, dim = 0, options = {}] = checked("maybeDenseStack", arguments);
  return maybeDenseStackOrInto(list, dim, options) as C;
}

/**
 * Writes all tensors to files, or into shared memory without a `prefix`: the method `memmap` as a function.
 * @returns the collection over these files, locked; a promise-like result with `returnEarly`
 * @throws RuntimeError for tensors that have files of their own already, but for `copyExisting`
 * @example
 * ```ts
 * tensordict.memmap(new TensorDict({ a: arange(3) }, [3]), "data").get("a") // MemoryMappedTensor([0, 1, 2])
 * ```
 * @torch tensordict.memmap
 */
export function memmap<C extends Td>(data: C, prefix?: string | null, options?: MemmapOptions): C;
export function memmap<C extends Td>(
  data: C,
  prefix: string | null | undefined,
  options: EarlyOptions & { returnEarly: true },
): TensorDictFuture<C>;
export function memmap<C extends Td>(
  data: C,
  prefix?: string | null,
  options: EarlyOptions = {},
): C | TensorDictFuture<C> {
  [data, prefix, options = {}] = checked("memmap", arguments);
  return data.memmap(prefix, options);
}

/**
 * Loads a memory-mapped directory.
 * @example
 * ```ts
 * new TensorDict({ a: arange(3) }, [3]).memmap("data");
 * loadMemmap("data").at("1:").get("a") // MemoryMappedTensor([1, 2])
 * ```
 * @torch tensordict.load_memmap
 */
export function loadMemmap<S extends Schema = Schema>(prefix: string, options: LoadOptions = {}): TensorDict<S> {
  [prefix, options = {}] = checked("loadMemmap", arguments);
  return loadTree(prefix, options) as TensorDict<S>;
}

/**
 * `loadMemmap` while the program goes on: metadata is read in slices, files are opened by native threads. It pays for
 * thousands of files; one file is mapped in microseconds, whatever its size, by `loadMemmap` too.
 * @example
 * ```ts
 * new TensorDict({ a: arange(3) }, [3]).memmap("data");
 * (await loadMemmapAsync("data")).get("a") // MemoryMappedTensor([0, 1, 2])
 * ```
 */
export async function loadMemmapAsync<S extends Schema = Schema>(
  prefix: string,
  options: LoadOptions & BackgroundOptions = {},
): Promise<TensorDict<S>> {
  [prefix, options = {}] = checked("loadMemmapAsync", arguments);
  return (await loadTreeAsync(prefix, options)) as TensorDict<S>;
}

/**
 * A TensorDict from an object.
 * @example
 * ```ts
 * tensordict.makeTensordict({ a: ones(3, 2) }, { batchSize: [3] }).batchSize // torch.Size([3])
 * ```
 * @torch tensordict.make_tensordict
 */
export function makeTensordict(inputDict: DictSource, options: MakeOptions = {}): Td {
  [inputDict, options = {}] = checked("makeTensordict", arguments);
  return fromDictTd(inputDict, options);
}

/**
 * A TensorDict without a batch in which every key has the same value, zero if none is given.
 * @example
 * ```ts
 * tensordict.fromkeys(["a", "b"], 1).get("b") // tensor(1.)
 * ```
 * @torch tensordict.fromkeys
 */
export function fromkeys(keys: readonly NestedKey[], value: unknown = 0n): TensorDict {
  [keys, value = 0n] = checked("fromkeys", arguments);
  return TensorDict.fromkeys(keys, value);
}

/**
 * Opens an HDF5 file; entries are read when they are asked for. The leading sizes that all entries share become the
 * batch size, unless one is given.
 * @throws FileNotFoundError when there is no such file
 * @example
 * ```ts
 * new TensorDict({ a: arange(3) }, [3]).toH5("data.h5").close();
 * const file = tensordict.fromH5("data.h5");
 * const a = file.get("a");
 * file.close();
 * a // tensor([0, 1, 2])
 * ```
 * @torch tensordict.from_h5
 */
export function fromH5<S extends Schema = Schema>(
  filename: string,
  options: FromH5Options = {},
): PersistentTensorDict<S> {
  [filename, options = {}] = checked("fromH5", arguments);
  return PersistentTensorDict.fromH5(filename, options);
}

export { type DuplicateOptions, removeDuplicates } from "./ops/sets.ts";
export {
  expandAsRight,
  expandRight,
  type MergeCallback,
  mergeTensordicts,
} from "./ops/utils.ts";
