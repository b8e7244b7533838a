// What every TensorDict is at its core: batch size, device, names, locks, and a small protocol to reach its entries.
// The operations are functions over this protocol; the classes above turn them into methods.

import { type Device, type DeviceLike, toDevice } from "../../tensor/device.ts";
import { KeyError, RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { type LateMembers, takeLateMembers } from "../../tensor/late-members.ts";
import { later } from "../../tensor/later.ts";
import { tellMissingMembers } from "../../tensor/missing.ts";
import { settle } from "../../tensor/objects.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { typeName } from "../../tensor/type-name.ts";
import { pythonRepr } from "./python-repr.ts";
import type { Classes, Entry, Schema, SizeLike } from "./types.ts";

/** Names of batch dimensions; null when none has one. */
export type DimNames = readonly (string | null)[] | null;

/** The kinds of collections that operations tell apart. */
export type CollectionKind =
  | "tensordict"
  | "params"
  | "lazy"
  | "tensorclass"
  | "nonTensor"
  | "nonTensorStack"
  | "nested";

/** Where a collection lives on disk. */
export interface DiskState {
  /** Its directory; null for anonymous shared memory. */
  path: string | null;
  /** Keys added after the directory was first written. */
  late: Set<string>;
  robustKey: boolean;
  /** `shareMemory_` put it into memory without files. */
  shared?: boolean;
  /** True while memory and files may differ: after loading and after unlocking. */
  loose?: boolean;
}

/** State of a collection that is made from another one. */
export interface NewState {
  batchSize: Size;
  device: Device | null;
  names: DimNames;
}

/** How a call is taken back. */
export interface Undo {
  /** Null when it changed nothing, or was taken back. */
  run: (() => void) | null;
  before: Undo | null;
  depth: number;
  /** How many views led here from a collection that is none. */
  views: number;
  /** A `using` holds it. */
  held?: boolean;
  /** It takes back a lock or an unlock: overlapping ones are taken back by the last of them. */
  lock?: boolean;
}

/** What every collection holds: whatever clones or posts an object reads all of its properties, and is refused. */
const UNCLONEABLE = Object.defineProperty({}, "clone", {
  enumerable: true,
  get(): never {
    throw new TypeError(
      "TensorDicts cannot be cloned or posted as objects: use clone(), or send toShared(tensordict.memmap())",
      { code: "not_cloneable" },
    );
  },
});

const NO_HOLDERS: readonly WeakRef<Collection>[] = [];

/** Methods that collections get when they are first touched. */
const methods: LateMembers = later("collections");

/** Common part of all collections. */
export abstract class Collection<in out S extends Schema = Schema> {
  static {
    takeLateMembers(Collection.prototype, 1, methods);
  }
  static {
    Object.defineProperty(Collection.prototype, "_isTensor", { value: false });
    settle(Collection.prototype, "_outside");
  }
  /** @internal The schema exists for the compiler only. */
  declare readonly _schema: S;
  /** Editors offer the members of a class with a private one nowhere but behind its objects. */
  declare private readonly opaque: never;
  /** @internal */ readonly _uncloneable = UNCLONEABLE;
  /** @internal */ _batchSize: Size;
  /** @internal */ _device: Device | null;
  /** @internal */ _names: DimNames;
  /** @internal */ _locked = false;
  /** @internal Locked collections that hold this one. */ _holders: readonly WeakRef<Collection>[] = NO_HOLDERS;
  /** @internal What `using` takes back, the last call first. */ _undo: Undo | null = null;
  /** @internal */ _disk: DiskState | null = null;

  constructor(state: NewState) {
    this._batchSize = state.batchSize;
    this._device = state.device;
    this._names = state.names;
  }

  /** @internal Told apart by each class. */ abstract get _kind(): CollectionKind;
  /** @internal Name in messages. */ abstract get _className(): string;
  /** @internal */ abstract _keys(): Iterable<string>;
  /** @internal */ abstract _own(key: string): Entry | undefined;
  /** @internal Keys and entries, in order. */
  *_entries(): Iterable<[string, Entry]> {
    for (const key of this._keys()) yield [key, this._own(key) as Entry];
  }
  /** @internal How many keys there are. */
  get _count(): number {
    let n = 0;
    for (const _ of this._keys()) n++;
    return n;
  }
  /** @internal Stores an entry that was checked. */ abstract _put(key: string, entry: Entry): void;
  /** @internal */ abstract _drop(key: string): void;
  /** @internal The same kind of collection around other entries. */
  abstract _like(entries: Map<string, Entry>, state: NewState): Td;
  /** @internal Where tensors are kept outside of memory and `_own` reads copies of them; undefined elsewhere. */
  get _outside(): Outside | undefined {
    return undefined;
  }
}
tellMissingMembers("TensorDict", Collection.prototype);

/** What a collection does with tensors that it keeps outside of memory. */
export interface Outside {
  /** The entry for what it is: shape and dtype of a tensor, whose elements are not read. */
  outline(key: string): Entry | undefined;
  /** Writes into a tensor, or the part of it that an index names; the whole when the index has no parts. */
  write(key: string, index: readonly unknown[], value: unknown): void;
  /** Throws for an entry that cannot be kept there. */
  check(key: string, entry: Entry): void;
  /** The part of a tensor that an index names. */
  read(key: string, index: readonly unknown[]): Tensor;
}

/** Any collection with its methods. */
// biome-ignore lint/suspicious/noExplicitAny: operations work on every schema
export type Td = Classes<any>["base"];

/** A lazy stack. */
// biome-ignore lint/suspicious/noExplicitAny: of any schema
export type LazyTd = Classes<any>["lazy"];

/** An object of a tensorclass. */
// biome-ignore lint/suspicious/noExplicitAny: of any schema
export type ClassTd = Classes<any>["tensorclass"];

/** A TensorDict of parameters. */
// biome-ignore lint/suspicious/noExplicitAny: of any schema
export type ParamsTd = Classes<any>["params"];

/** A wrapped value, or one for each element; `_kind` tells them apart. */
export type ValueTd = Classes<unknown>["nonTensor"] | Classes<unknown>["nonTensorStack"];

/** Whether a collection is a TensorDict with all of its entries in memory. */
export function isInMemory(td: Collection): td is Classes<Schema>["tensordict"] {
  return td._kind === "tensordict" && td._outside === undefined;
}

/** Whether a collection is a lazy stack. */
export function isLazy(td: Collection): td is LazyTd {
  return td._kind === "lazy";
}

/** A stack that has members: of collections, or of wrapped values. */
export type StackTd = LazyTd | Classes<unknown>["nonTensorStack"];

/** Whether a collection has members: a lazy stack, or one of wrapped values. */
export function isStack(td: Collection): td is StackTd {
  return td._kind === "lazy" || td._kind === "nonTensorStack";
}

/** Whether a collection is a TensorDict of parameters. */
export function isParams(td: Collection): td is ParamsTd {
  return td._kind === "params";
}

/** Whether a collection is an object of a tensorclass. */
export function isClassTd(td: Collection): td is ClassTd {
  return td._kind === "tensorclass";
}

/** Makes collections: operations need not import the classes. */
export const make: {
  tensordict(entries: Map<string, Entry>, state: NewState): Classes<Schema>["tensordict"];
  /** A lazy stack; of what members it would have only where there are none. */
  lazy(
    members: Td[],
    stackDim: number,
    name: string | null,
    none?: { batchSize: readonly number[]; device: Device | null },
  ): LazyTd;
  nonTensor(value: unknown, state: NewState, className?: string): Classes<unknown>["nonTensor"];
  nonTensorStack(values: readonly unknown[], state: NewState, stackDim?: number): Classes<unknown>["nonTensorStack"];
  nested(tensors: readonly Tensor[]): Entry;
  /** What a tensor is, as an object of a class. */
  attributes(t: Tensor, fields: readonly ("device" | "dtype" | "shape")[]): Td;
  /** A lazy stack, or one of wrapped values where all members are such. */
  stack(members: Td[], stackDim: number, name: string | null): Td;
} = later("make");

/**
 * Whether something is a collection of any kind. Tensors and collections both say what they are: whether a tensor is an
 * instance of another class is asked of all its prototypes.
 */
export function isCollection(value: unknown): value is Collection {
  return (value as { _isTensor?: boolean } | null | undefined)?._isTensor === false && value instanceof Collection;
}

/**
 * True for TensorDicts, tensorclasses, lazy stacks and wrapped values.
 * @example
 * ```ts
 * [isTensorCollection(new TensorDict({}, [])), isTensorCollection(ones(1))] // [true, false]
 * ```
 * @torch tensordict.is_tensor_collection
 */
export function isTensorCollection(value: unknown): value is Td {
  return isCollection(value) && value._kind !== "nested";
}

/**
 * True for wrapped values.
 * @example
 * ```ts
 * tensordict.isNonTensor(new TensorDict({ a: "text" }, []).get("a")) // true
 * ```
 * @torch tensordict.is_non_tensor
 */
export function isNonTensor(value: unknown): value is ValueTd {
  return isCollection(value) && (value._kind === "nonTensor" || value._kind === "nonTensorStack");
}

/** True for nested tensors: they are one entry each. */
export function isNested(value: unknown): value is Classes<Schema>["nested"] {
  return isCollection(value) && value._kind === "nested";
}

/** True for what has entries of its own. */
export function isBranch(value: unknown): value is Td {
  return isTensorCollection(value) && !isNonTensor(value);
}

/** Keys and entries of one level, in order. */
export function entriesOf(td: Collection): Iterable<[string, Entry]> {
  return td._entries();
}

/**
 * The entries of one level by key, not to be written to: those that are in memory as they are. Going through keys and
 * asking for each entry takes half the time of going through pairs.
 */
export function mapOf(td: Collection): ReadonlyMap<string, Entry> {
  return isInMemory(td) ? td._map : new Map(td._entries());
}

/** The entry under a key for what it is; tensors that are outside of memory are not read. */
export function outlineOf(td: Collection, key: string): Entry | undefined {
  return td._outside === undefined ? td._own(key) : td._outside.outline(key);
}

/** Keys and entries of one level, for what they are. */
export function* outlinesOf(td: Collection): Generator<[string, Entry]> {
  for (const key of td._keys()) yield [key, outlineOf(td, key) as Entry];
}

/** Batch size, device and names of `td`, some of them replaced. */
export function stateOf(td: Collection, change?: Partial<NewState>): NewState {
  if (change === undefined) return { batchSize: td._batchSize, device: td._device, names: td._names };
  const { batchSize = td._batchSize, device = td._device, names = td._names } = change;
  return { batchSize, device, names };
}

/** The device that all of these have, null when they differ or have none. */
export function commonDevice(list: readonly Collection[]): Device | null {
  const first = list[0] === undefined ? null : deviceOf(list[0]);
  return first !== null && list.every((td) => deviceOf(td)?.equals(first) ?? false) ? first : null;
}

/** The device of a collection; of a stack that of its members, which may have changed since it was made. */
export function deviceOf(td: Collection): Device | null {
  return isLazy(td) && td._members.length > 0 ? commonDevice(td._members) : td._device;
}

/** The error for a device that is assigned. */
export function deviceIsFixed(td: Collection): RuntimeError {
  const of = isClassTd(td) || isNonTensor(td) ? "tensorclass" : "tensordict";
  const more = `. You can also use ${of}.to(new_device) as a context manager for temporary device changes.`;
  return new RuntimeError(
    `device cannot be set using ${of}.device = device, because device cannot be updated in-place. To update device, ` +
      `use ${of}.to(new_device), which will return a new ${of} on the new device${of === "tensordict" ? more : "."}`,
  );
}

/** Reads a size from a list or a number. */
export function toSize(value: SizeLike | undefined | null): Size {
  if (value === undefined || value === null) return Size.fromList([]);
  if (value instanceof Size) return value;
  const list = typeof value === "number" ? [value] : value;
  if (!Array.isArray(list)) {
    throw new TypeError(`the batch size has to be a number or a list of numbers, not ${typeName(value)}`);
  }
  const wrong = list.findIndex((n) => !Number.isSafeInteger(n));
  if (wrong >= 0) {
    const given: unknown = list[wrong];
    const what = typeof given === "bigint" ? `${given}n` : typeof given === "number" ? given : typeName(given);
    const why = Number.isInteger(given) ? ", which is beyond 2**53 - 1" : "";
    throw new ValueError(`the batch size has to be made of integers, but element ${wrong} is ${what}${why}`);
  }
  return Size.fromList(list as number[]);
}

/** Reads a device; null and undefined mean none. */
export function toDeviceOrNull(value: DeviceLike | null | undefined): Device | null {
  return value === null || value === undefined ? null : toDevice(value);
}

/** Checks names against the number of batch dimensions; all-null names are no names. */
export function toNames(names: readonly (string | null)[] | null | undefined, rank: number): DimNames {
  if (names === null || names === undefined) return null;
  if (!Array.isArray(names)) throw new TypeError("the names of the dimensions must be a list of str or None");
  if (names.length !== rank) {
    throw new ValueError(
      "the length of the dimension names must match the number of batch dimensions: got " +
        `${names.length} names for ${rank}.`,
    );
  }
  if (names.every((name) => name === null)) return null;
  const used = names.filter((name) => name !== null);
  if (new Set(used).size !== used.length) {
    throw new ValueError(`Some dimension names are non-unique: ${pythonRepr([...names])}.`);
  }
  for (const name of names) {
    if (name !== null && typeof name !== "string") throw new TypeError("dimension names are strings or null");
  }
  return [...names];
}

/** A lazy stack, or the one that an object of a class is around; null for everything else. */
export function stackOf(td: Collection): LazyTd | null {
  if (isLazy(td)) return td;
  return isClassTd(td) && td._source !== null && isLazy(td._source) ? td._source : null;
}

/** Locked itself; a lazy stack also when all of its members are. */
export function isLockedTd(td: Collection): boolean {
  if (td._locked) return true;
  if (td._kind === "tensordict") return false;
  if (isNonTensor(td)) {
    return td._kind === "nonTensorStack" && td._parts.length > 0 && td._parts.every((part) => isLockedTd(part));
  }
  if (isClassTd(td) && td._source !== null) return isLockedTd(td._source);
  if (!isLazy(td)) return false;
  return td._members.length > 0 && td._members.every(isLockedTd);
}

/** Refuses changes of a locked collection. */
export function requireUnlocked(td: Collection): void {
  if (isLockedTd(td)) {
    throw new RuntimeError(
      "Cannot modify locked TensorDict. For in-place modification, consider using the `set_()` " +
        "method and make sure the key is present.",
      { code: "locked" },
    );
  }
}

/** Refuses keys that are no fields of a tensorclass. */
export function requireFields(td: Collection, keys: Iterable<string>): void {
  if (!isClassTd(td)) return;
  const names = td._fieldNames();
  for (const key of keys) if (!names.includes(key)) throw new KeyError(`${td._className} has no field '${key}'`);
}

/** A dimension of a batch of `rank` dimensions, counted from the end when negative; null outside of it. */
export function wrapBatchDim(dim: number, rank: number): number | null {
  if (!Number.isInteger(dim)) return null;
  const wrapped = dim < 0 ? dim + rank : dim;
  return wrapped >= 0 && wrapped < rank ? wrapped : null;
}

/** The shape a value has in messages and checks. */
export function shapeOf(entry: Entry): Size {
  return entry instanceof Tensor ? entry.shape : entry._batchSize;
}

/** Loads and keeps collections. */
export const loader: {
  load(prefix: string, options: object): Td;
  fromH5(filename: string, options: object): Classes<Schema>["persistent"];
  toH5(td: Td, filename: string, options: object): Classes<Schema>["persistent"];
  toH5Async(td: Td, filename: string, options: object): Promise<Classes<Schema>["persistent"]>;
} = later("loader");
