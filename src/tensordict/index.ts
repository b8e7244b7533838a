// The TensorDict room: what other rooms and programs use of it.

import type { BackgroundOptions } from "../io/file-jobs.ts";
import "./install-checks.ts";
import { checkedArguments } from "../tensor/checks.ts";
import { TensorDictBase } from "./base.ts";
import { type LoadOptions, loadTree, loadTreeAsync } from "./memmap-load.ts";
import { PersistentTensorDict } from "./persistent.ts";
import { toH5Async } from "./persistent-later.ts";
import { FUNCTIONS } from "./signatures.ts";
import { lazyStackTds, maybeDenseStackTds } from "./stacking.ts";
import type { Td } from "./state.ts";
import { loader } from "./state.ts";
import { TensorDict } from "./tensordict.ts";
import type { CollectionOptions, Schema } from "./types.ts";

export { type PackOptions, packMemmap, refreshArchiveChecksums, unpackMemmap } from "../io/archive-tools.ts";
export { type ArchiveCompression, isMemmapArchive } from "../io/memmap-archive.ts";
export type { ConsolidateOptions } from "./consolidated.ts";
export { fromConsolidated } from "./consolidated-load.ts";
export { type EarlyOptions, TensorDictFuture } from "./disk-methods.ts";
export { InplaceWriteError, KeyThroughLeafError, unravelKey, unravelKeyList } from "./keys.ts";
export { LazyStackedTensorDict } from "./lazy.ts";
export {
  type FromTensorOptions,
  type MappedOptions,
  /** Older name of MemoryMappedTensor. */
  MemoryMappedTensor as MemmapTensor,
  MemoryMappedTensor,
} from "./mapped-tensor.ts";
export { appendMemmap } from "./memmap-append.ts";
export type { LoadOptions } from "./memmap-load.ts";
export type { MemmapOptions } from "./memmap-save.ts";
export { fromModule, type ModuleLike, toModule } from "./module.ts";
export { NestedTensor } from "./nested.ts";
export { MetaData, NonTensorData, NonTensorStack } from "./non-tensor.ts";
export type { FromH5Options, Hdf5Group, PersistentOptions } from "./persistent-options.ts";
export type { ApplyOptions } from "./pointwise.ts";
export { loadRemote, type RemoteLoadOptions, type RemoteSaveOptions, saveRemote } from "./remote.ts";
export { fromSafetensors, toSafetensors, toSafetensorsAsync } from "./safetensors.ts";
export {
  getDefaultsToNull,
  getTensorDictPrintoptions,
  lazyLegacy,
  listToStack,
  type PrintOptions,
  type Restorable,
  setGetDefaultsToNull,
  setLazyLegacy,
  setListToStack,
  setTensorDictPrintoptions,
} from "./settings.ts";
export { fromShared, type Shared, toShared } from "./sharing.ts";
export { catTds as cat, denseStack, stackTds as stack } from "./stacking.ts";
export { isNonTensor, isTensorCollection } from "./state.ts";
export type { LoadStateOptions, StateDictOptions, TensorState } from "./state-dict.ts";
export {
  type Fields,
  isTensorclass,
  registerTensorClass,
  type TensorClass,
  TensorClassBase,
  tensorclass,
} from "./tensorclass.ts";
export { type PickleChoice, PickledData, PythonClass } from "./tree-load.ts";
export type {
  CollectionOptions,
  Entry,
  IterationOptions,
  NestedKey,
  Schema,
  SizeLike,
  Stored,
  StoredAll,
} from "./types.ts";
export { PersistentTensorDict, TensorDict, TensorDictBase };

/** The arguments of a function in their places. */
// biome-ignore lint/suspicious/noExplicitAny: the signature decides their types
function checked(op: keyof typeof FUNCTIONS, args: readonly unknown[]): any[] {
  return checkedArguments(op, FUNCTIONS[op], args);
}

/** Stacks without copying. @torch tensordict.lazy_stack */
export function lazyStack(list: readonly Td[], dim = 0): Td {
  const [members, at = 0] = checked("lazyStack", [list, dim]);
  return lazyStackTds(members, at);
}

/** Dense where possible, lazy elsewhere. @torch tensordict.maybe_dense_stack */
export function maybeDenseStack(list: readonly Td[], dim = 0): Td {
  const [members, at = 0] = checked("maybeDenseStack", [list, dim]);
  return maybeDenseStackTds(members, at);
}

/** Loads a memory-mapped directory. @torch tensordict.load_memmap */
export function loadMemmap<S extends Schema = Schema>(prefix: string, options: LoadOptions = {}): TensorDict<S> {
  checked("loadMemmap", [prefix, options]);
  return loadTree(prefix, options) as unknown as TensorDict<S>;
}

/**
 * `loadMemmap` while the program goes on: metadata is read in slices, files are opened by native threads. It pays for
 * thousands of files; one file is mapped in microseconds, whatever its size, by `loadMemmap` too.
 */
export async function loadMemmapAsync<S extends Schema = Schema>(
  prefix: string,
  options: LoadOptions & BackgroundOptions = {},
): Promise<TensorDict<S>> {
  checked("loadMemmapAsync", [prefix, options]);
  return (await loadTreeAsync(prefix, options)) as unknown as TensorDict<S>;
}

/** A TensorDict from an object. @torch tensordict.make_tensordict */
export function makeTensordict(source: Record<string, unknown>, options: CollectionOptions = {}): Td {
  checked("makeTensordict", [source, options]);
  return new TensorDict(source, options) as unknown as Td;
}

loader.load = loadTree;
loader.fromH5 = (filename, options) => PersistentTensorDict.fromH5(filename, options) as unknown as Td;
loader.toH5 = (td, filename, options) => PersistentTensorDict.fromDict(td, filename, options) as unknown as Td;
loader.toH5Async = async (td, filename, options) => (await toH5Async(td, filename, options)) as unknown as Td;

export {
  expandAsRight,
  expandRight,
  type MergeCallback,
  mergeTensordicts,
  type PadSequenceOptions,
  padSequenceTds as padSequence,
  padTd as pad,
} from "./utils.ts";
