// TensorDicts from what programs have: objects, lists, records, trees of lists and objects, descriptions of shapes.

import type { DTypeLike } from "../../tensor/dtype.ts";
import { TypeError, ValueError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import {
  badSource,
  initialEntries,
  isNumberArray,
  isNumberLike,
  isSource,
  putValue,
  sourceEntries,
} from "../core/convert.ts";
import { lockTd } from "../core/locking.ts";
import {
  isNested,
  isNonTensor,
  isTensorCollection,
  loader,
  make,
  type NewState,
  stateOf,
  type Td,
  toDeviceOrNull,
  toNames,
  toSize,
} from "../core/state.ts";
import { tensor, zeros } from "../core/tensor-ops.ts";
import type { CollectionOptions, Entry } from "../core/types.ts";
import { regularValues } from "../core/values.ts";
import { autoBatchSize } from "./key-sets.ts";
import { lazyStackTds, maybeDenseStackTds, stackTds } from "./stacking.ts";
import { fromStruct, type StructArray } from "./struct-arrays.ts";

/** How a TensorDict is made of what is no TensorDict. */
export interface MakeOptions extends CollectionOptions {
  /** Take the longest leading shape that all entries share as the batch size. */
  autoBatchSize?: boolean | null;
  /** At most so many batch dimensions; they are found then. */
  batchDims?: number | null;
}

/** A source: an object, or a Map, whose keys may be paths. */
export type DictSource = Readonly<Record<string, unknown>> | ReadonlyMap<unknown, unknown>;

function emptyFor(options: MakeOptions): [Td, NewState] {
  const batchSize = toSize(options.batchSize);
  const names = toNames(options.names, batchSize.length);
  const td = make.tensordict(new Map(), { batchSize, device: toDeviceOrNull(options.device), names });
  return [td, stateOf(td, { names: null })];
}

/** Finds the batch size where that is asked for, and locks. */
function finished(td: Td, options: MakeOptions): Td {
  const { batchSize, batchDims = null } = options;
  const sized = batchSize !== undefined && batchSize !== null;
  if (!sized && (options.autoBatchSize ?? batchDims !== null)) autoBatchSize(td, batchDims, false);
  if (options.lock === true) lockTd(td);
  return td;
}

/** Batch size and device, which are those of everything below, too. */
const inner = ({ batchSize, device }: MakeOptions): MakeOptions => ({ batchSize, device, autoBatchSize: false });

/** A TensorDict with the values of an object; a number beside a batch size is kept as it is. */
export function fromDictTd(source: DictSource | Td, options: MakeOptions = {}): Td {
  if (isTensorCollection(source)) return source;
  if (!isSource(source)) throw badSource(source);
  const { batchSize, batchDims } = options;
  if (batchSize !== undefined && batchSize !== null && batchDims !== undefined && batchDims !== null)
    throw new ValueError("Cannot pass both batch_size and batch_dims to `from_dict`.");
  const [td, state] = emptyFor(options);
  for (const [key, value] of initialEntries(source as Record<string, unknown>)) {
    const scalar = state.batchSize.length > 0 && isNumberLike(value);
    putValue(td, key, scalar ? make.nonTensor(value, state) : fromAnyValue(value, inner(options)));
  }
  return finished(td, options);
}

/** What a value becomes: a tensor, a collection, or itself. */
export function fromAnyValue(value: unknown, options: MakeOptions = {}): unknown {
  if (value instanceof Tensor || isTensorCollection(value) || isNested(value)) return value;
  if (isSource(value)) return fromDictTd(value, options);
  if (!Array.isArray(value)) return value;
  if (isNumberArray(value)) return tensor(value);
  const { values, shape } = regularValues(value);
  return make.nonTensorStack(values, { batchSize: shape, device: null, names: null });
}

/** A TensorDict of the items of a list, whose places are their keys. */
export function fromTupleTd(list: readonly unknown[], options: MakeOptions = {}): Td {
  return fromPairs(
    list.map((item, i) => [String(i), item]),
    options,
    "from_tuple",
  );
}

function fromPairs(pairs: readonly (readonly [string, unknown])[], options: MakeOptions, op: string): Td {
  if (options.autoBatchSize === true && options.batchSize !== undefined && options.batchSize !== null) {
    throw new TypeError(`Conflicting batch sizes: ${op}() takes batch_size or auto_batch_size, not both.`);
  }
  const [td] = emptyFor(options);
  for (const [key, value] of pairs) putValue(td, key, fromAnyValue(value, inner(options)));
  return finished(td, { ...options, batchDims: options.autoBatchSize === true ? options.batchDims : null });
}

/** A TensorDict of the fields of a record. */
export function fromRecordTd(record: object, options: MakeOptions, op: string): Td {
  const value = (one: unknown): unknown =>
    isRecord(one) ? fromRecordTd(one, { batchSize: options.batchSize, device: options.device }, op) : one;
  const pairs = Object.entries(record).filter(([, one]) => typeof one !== "function");
  return fromPairs(
    pairs.map(([key, one]) => [key, value(one)]),
    options,
    op,
  );
}

/** An object with fields of its own: no collection, no list, no typed array, no Map. */
function isRecord(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Map) return false;
  return !(value instanceof Tensor || isTensorCollection(value) || isNested(value)) && isSource(value);
}

/** Options of `fromList`. */
export interface FromListOptions extends MakeOptions {
  /** A stack without a copy; false copies, and without it what fits is copied. */
  lazy?: boolean | null;
}

/** A stack of the TensorDicts that are made of the items of a list. */
export function fromListTd(list: readonly (DictSource | Td)[], options: FromListOptions = {}): Td {
  const { lazy = null, batchSize, batchDims, names, lock, ...rest } = options;
  const size = batchSize === undefined || batchSize === null ? null : toSize(batchSize);
  if (size !== null && size[0] !== list.length) {
    throw new ValueError(`The provided batch size (${size}) does not match the length of the list (${list.length}).`);
  }
  const own: MakeOptions = { ...rest };
  if (size !== null) own.batchSize = size.slice(1);
  if (batchDims !== undefined && batchDims !== null) own.batchDims = batchDims - 1;
  if (names !== undefined && names !== null) own.names = names.slice(1);
  const stack = lazy === null ? maybeDenseStackTds : lazy ? lazyStackTds : stackTds;
  const made = stack(
    list.map((item) => fromDictTd(item, own)),
    0,
  );
  if (names !== undefined && names !== null && names.length === made._batchSize.length) made.names = names;
  if (lock === true) lockTd(made);
  return made;
}

/** A TensorDict of the fields of records. */
export function fromStructTd(records: StructArray, options: StructOptions = {}): Td {
  const { autoBatchSize: found, batchDims = null, batchSize = null, device = null } = options;
  if (found === true && batchSize !== null) {
    throw new TypeError("Conflicting batch sizes: from_struct_array() takes batch_size or auto_batch_size, not both.");
  }
  const td = fromStruct(records);
  const made = device === null ? td : (td.to(device) as Td);
  if (batchSize !== null) made.batchSize = batchSize;
  if (found === true) autoBatchSize(made, batchDims, false);
  return made;
}

/** How records become a TensorDict. */
export interface StructOptions {
  /** Take the longest leading shape that all entries share as the batch size. */
  autoBatchSize?: boolean | null;
  /** At most so many batch dimensions. */
  batchDims?: number | null;
  /** The batch size; the shape of the array without it. */
  batchSize?: CollectionOptions["batchSize"] | null;
  /** Where the tensors are. */
  device?: CollectionOptions["device"];
}

/** The key under which a tree says what it was. */
const TREE_TYPE = "_pytree_type";
const NOT_TEXT = "<NON_NESTED>";

/** A TensorDict of a tree of lists, objects and Maps; `toPytreeOf` gives the tree back. */
export function fromPytreeTd(tree: unknown, options: MakeOptions = {}): Entry {
  if (tree instanceof Tensor || isTensorCollection(tree) || isNested(tree)) return tree;
  if (isNumberLike(tree) || (ArrayBuffer.isView(tree) && !(tree instanceof DataView))) return tensor(tree);
  if (!Array.isArray(tree) && !isSource(tree)) {
    throw new TypeError(`from_pytree takes lists, objects and tensors, not ${typeof tree}`);
  }
  const { autoBatchSize: found, batchDims, lock, ...rest } = options;
  const [td] = emptyFor(rest);
  if (Array.isArray(tree)) {
    for (const [i, item] of tree.entries()) putValue(td, String(i), fromPytreeTd(item));
  } else {
    let count = 0;
    for (const [key, item] of sourceEntries(tree)) {
      if (typeof key === "string") putValue(td, key, fromPytreeTd(item));
      else putValue(td, `${NOT_TEXT}${count++}`, keyed(key, fromPytreeTd(item)));
    }
  }
  const kind = Array.isArray(tree) ? "list" : tree instanceof Map ? "map" : "dict";
  putValue(td, TREE_TYPE, make.nonTensor(kind, stateOf(td, { names: null })));
  const last: MakeOptions = { ...rest };
  if (found === true) Object.assign(last, { autoBatchSize: true, batchDims });
  if (lock !== undefined) last.lock = lock;
  return finished(td, last);
}

/** A key that is no text, beside its value. */
function keyed(key: unknown, value: Entry): Td {
  const none: NewState = { batchSize: Size.fromList([]), device: null, names: null };
  const td = make.tensordict(new Map(), none);
  td._put("value", value);
  td._put("key", key instanceof Tensor ? key : make.nonTensor(key, none));
  return td;
}

/** The tree that a TensorDict was made of. */
export function toPytreeOf(entry: Entry): unknown {
  if (!isTensorCollection(entry)) return entry;
  const mark = entry._own(TREE_TYPE);
  if (!isNonTensor(mark) || mark._kind !== "nonTensor") return entry;
  const kind = mark.value_;
  const items = [...entry._keys()].filter((key) => key !== TREE_TYPE);
  const value = (key: string) => toPytreeOf(entry._own(key) as Entry);
  if (kind === "list") return items.map((_, i) => value(String(i)));
  if (kind === "dict") return Object.fromEntries(items.map((key) => [key, value(key)]));
  return new Map<unknown, unknown>(
    items.map((key) => {
      if (!key.startsWith(NOT_TEXT)) return [key, value(key)];
      const pair = entry._own(key) as Td;
      const own = pair._own("key") as Entry;
      const plain = isNonTensor(own) && own._kind === "nonTensor" ? own.value_ : own;
      return [plain, toPytreeOf(pair._own("value") as Entry)];
    }),
  );
}

/** Shapes without the batch dimensions, and dtypes. */
export type ShapesAndDTypes = Readonly<Record<string, readonly [shape: readonly number[], dtype: DTypeLike]>>;

/** Options of `fromSchema`. */
export interface SchemaOptions {
  /** Dimensions before those of the shapes. */
  batchSize?: CollectionOptions["batchSize"];
  /** Where the tensors are. */
  device?: CollectionOptions["device"];
  /** Where the tensors are: in memory without it; in files, in an HDF5 file, or in shared memory. */
  storage?: "memmap" | "h5" | "shared" | null;
  /** The directory of memory-mapped tensors. */
  prefix?: string;
  /** The HDF5 file. */
  filename?: string;
}

const STORAGES = "None, 'memmap', 'h5', 'zarr', 'shared', 'redis', 'dragonfly'";

/** Tensors of zeros of given shapes and dtypes. */
export function fromSchemaTd(schema: ShapesAndDTypes, options: SchemaOptions = {}): Td {
  const { storage = null, prefix, filename } = options;
  if (storage !== null && !["memmap", "h5", "shared"].includes(storage)) {
    throw new ValueError(`Unknown storage backend '${storage}'. Expected one of ${STORAGES}.`);
  }
  if (storage === "h5" && filename === undefined) throw new TypeError("fromSchema() of an HDF5 file needs a filename");
  const { batchSize, device } = options;
  const [td] = emptyFor({ batchSize, device });
  // Files get their bytes from one element, expanded.
  const filed = storage === "memmap" || storage === "h5";
  for (const [key, described] of Object.entries(schema)) {
    if (!Array.isArray(described) || !Array.isArray(described[0]))
      throw new TypeError(`fromSchema() takes [shape, dtype] for each key, not that for '${key}'`);
    const [shape, dtype] = described;
    const full = [...td._batchSize, ...shape];
    const where = td._device === null ? {} : { device: td._device };
    putValue(td, key, filed ? zeros([], { dtype }).expand(full) : zeros(full, { dtype, ...where }));
  }
  if (storage === "memmap") return td.memmapLike(prefix ?? null) as Td;
  if (storage === "h5") return loader.toH5(td, filename as string, {});
  return storage === "shared" ? (td.memmap_() as Td) : td;
}
