// The dense TensorDict: a dictionary of tensors and collections that share their leading dimensions.

import type { BackgroundOptions } from "../../io/disk/file-jobs.ts";
import type { PlaceOptions } from "../../io/disk/placing.ts";
import { checkOptions, installChecks } from "../../tensor/checks.ts";
import { settle } from "../../tensor/objects.ts";
import { take } from "../../tensor/scope-state.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { badSource, entryIn, initialEntries, isSource, putValue } from "../core/convert.ts";
import { lockTd } from "../core/locking.ts";
import { adoptNames } from "../core/names.ts";
import type { LazyOf } from "../core/path-types.ts";
import { CONSTRUCTOR, MAKE, STATICS } from "../core/signatures.ts";
import {
  Collection,
  entriesOf,
  loader,
  make,
  type NewState,
  type Td,
  toDeviceOrNull,
  toNames,
  toSize,
} from "../core/state.ts";
import { explainDepth } from "../core/too-deep.ts";
import type { CollectionOptions, Entry, NestedKey, Schema, SchemaOf, SizeLike } from "../core/types.ts";
import { fromConsolidated } from "../disk/consolidated-load.ts";
import { type LoadOptions, loadTree, loadTreeAsync } from "../disk/memmap-load.ts";
import type { FromH5Options } from "../disk/persistent-options.ts";
import {
  cat,
  type IntoOptions,
  type LazyStackOptions,
  lazyStackOrInto,
  maybeDenseStackOrInto,
  stack,
} from "../ops/join-out.ts";
import {
  type DictSource,
  type FromListOptions,
  fromAnyValue,
  fromDictTd,
  fromListTd,
  fromPytreeTd,
  fromRecordTd,
  fromSchemaTd,
  fromStructTd,
  fromTupleTd,
  type MakeOptions,
  type SchemaOptions,
  type ShapesAndDTypes,
  type StructOptions,
} from "../ops/making.ts";
import { fromModule, type ModuleLike } from "../ops/module.ts";
import type { StructArray } from "../ops/struct-arrays.ts";
import { TensorDictBase } from "./base.ts";
import { type FromModulesOptions, fromModules } from "./from-modules.ts";
import type { PersistentTensorDict } from "./persistent.ts";

// Tells the constructor that its arguments are checked entries and a state.
const RAW = Symbol("raw entries");

const NO_OPTIONS: CollectionOptions = {};

function givenOptions(second: unknown, options: CollectionOptions | undefined): CollectionOptions {
  checkOptions("TensorDict", CONSTRUCTOR, second);
  checkOptions("TensorDict", CONSTRUCTOR, options);
  return { ...(second as CollectionOptions | null | undefined), ...options };
}

const isSizes = (value: unknown): value is SizeLike => typeof value === "number" || Array.isArray(value);

/** What the constructor's arguments say of a new collection. */
function stateFor(source: unknown, batchSize: unknown, options?: CollectionOptions): NewState & { lock: boolean } {
  const sizes = isSizes(batchSize);
  const given = sizes && options === undefined ? NO_OPTIONS : givenOptions(sizes ? null : batchSize, options);
  const size = toSize(sizes ? batchSize : given.batchSize);
  const inherit = source instanceof Collection ? source : null;
  const own = inherit !== null && !sizes && given.batchSize === undefined ? inherit._batchSize : size;
  return {
    batchSize: own,
    device: toDeviceOrNull(given.device ?? inherit?._device),
    names: toNames(given.names ?? inherit?._names, own.length),
    lock: given.lock === true,
  };
}
/** The class behind `TensorDict`. */
class DenseTensorDict<in out S extends Schema = Schema> extends TensorDictBase<S> {
  static {
    settle(DenseTensorDict.prototype, "_kind");
  }
  /**
   * The same elements without history: each tensor's `.data`. Assigned, its tensors take the elements of those under
   * the same keys, and share their memory; either all do or none.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2, { requiresGrad: true }) }, []).data.get("a") // tensor([1., 1.])
   * ```
   * @torch TensorDict.data
   */
  declare data: this;

  /** @internal */ _map: Map<string, Entry>;

  constructor(source?: unknown, batchSize?: SizeLike | CollectionOptions | null, options?: CollectionOptions) {
    if (source === RAW) {
      super(options as NewState);
      this._map = batchSize as Map<string, Entry>;
      return;
    }
    const state = stateFor(source, batchSize, options);
    super(state);
    this._map = new Map();
    if (source !== undefined && source !== null) this._fill(source, state.lock);
  }

  /** The entries that a new collection begins with. */
  private _fill(source: object, lock: boolean): void {
    const inherit = source instanceof Collection ? source : null;
    if (inherit === null && !isSource(source)) throw badSource(source);
    if (inherit === null && !(source instanceof Map)) {
      for (const key of Object.keys(source)) this._begin(key, (source as Record<string, unknown>)[key]);
    } else {
      const pairs = inherit === null ? initialEntries(source as ReadonlyMap<string, unknown>) : entriesOf(inherit);
      for (const [key, value] of pairs) {
        if (typeof key === "string") this._begin(key, value);
        else putValue(this as Td, key, value);
      }
    }
    if (lock) lockTd(this);
  }

  /** An entry of a collection that is being made. */
  private _begin(key: string, value: unknown): void {
    const entry = entryIn(this, key, value);
    this._map.set(key, entry);
    adoptNames(this, entry);
  }

  get _kind(): "tensordict" {
    return "tensordict";
  }
  get _className(): string {
    return "TensorDict";
  }
  _keys(): Iterable<string> {
    return this._map.keys();
  }
  _own(key: string): Entry | undefined {
    return this._map.get(key);
  }
  override get _count(): number {
    return this._map.size;
  }
  override _entries(): Iterable<[string, Entry]> {
    return this._map;
  }
  _put(key: string, entry: Entry): void {
    this._map.set(key, take(entry));
  }
  _drop(key: string): void {
    this._map.delete(key);
  }
  _like(entries: Map<string, Entry>, state: NewState): Td {
    return make.tensordict(entries, state);
  }

  /** Loads a memory-mapped directory; bytes are read when they are used. @torch TensorDict.load_memmap */
  static override loadMemmap<T extends Schema = Schema>(prefix: string, options: LoadOptions = {}): TensorDict<T> {
    return loadTree(prefix, options) as TensorDict<T>;
  }
  /** Loads what `save` wrote: a directory or an archive. @torch TensorDict.load */
  static load<T extends Schema = Schema>(prefix: string, options: LoadOptions = {}): TensorDict<T> {
    return loadTree(prefix, options) as TensorDict<T>;
  }
  /** See the function `loadMemmapAsync`. */
  static async loadMemmapAsync<T extends Schema = Schema>(
    prefix: string,
    options: LoadOptions & BackgroundOptions = {},
  ): Promise<TensorDict<T>> {
    return (await loadTreeAsync(prefix, options)) as TensorDict<T>;
  }
  /**
   * `load` while the program goes on; see `loadMemmapAsync`.
   * @example
   * ```ts
   * await new TensorDict({ a: ones(2) }, []).saveAsync("/tmp/zensor-later");
   * (await TensorDict.loadAsync("/tmp/zensor-later")).get("a").sum() // tensor(2.)
   * ```
   */
  static async loadAsync<T extends Schema = Schema>(
    prefix: string,
    options: LoadOptions & BackgroundOptions = {},
  ): Promise<TensorDict<T>> {
    return (await loadTreeAsync(prefix, options)) as TensorDict<T>;
  }
  /** Opens an HDF5 file; entries are read when they are asked for. @torch TensorDict.from_h5 */
  static fromH5<T extends Schema = Schema>(filename: string, options: FromH5Options = {}): PersistentTensorDict<T> {
    return loader.fromH5(filename, options) as PersistentTensorDict<T>;
  }
  /** Loads a file written by `consolidate`. @torch TensorDict.from_consolidated */
  static fromConsolidated<T extends Schema = Schema>(filename: string, options: PlaceOptions = {}): TensorDict<T> {
    return fromConsolidated(filename, options) as TensorDict<T>;
  }
  /** Parameters and buffers of a module. @torch TensorDict.from_module */
  static fromModule(module: ModuleLike, options: { lock?: boolean } = {}): TensorDict {
    return fromModule(module, options) as TensorDict;
  }
  /** Parameters and buffers of several modules, stacked. @torch TensorDict.from_modules */
  static fromModules(...modules: (ModuleLike | FromModulesOptions)[]): TensorDict {
    return fromModules(...modules) as TensorDict;
  }
  /** A TensorDict with the entries of an object or a Map. @torch TensorDict.from_dict */
  static fromDict(
    inputDict: DictSource | Td,
    batchSize?: SizeLike | MakeOptions | null,
    options?: MakeOptions,
  ): TensorDict {
    const sizes = typeof batchSize === "number" || Array.isArray(batchSize);
    if (!sizes) checkOptions("fromDict", MAKE, batchSize);
    const given = { ...(sizes ? { batchSize: batchSize as SizeLike } : (batchSize as MakeOptions)), ...options };
    return fromDictTd(inputDict, given) as TensorDict;
  }
  /**
   * What a value becomes: see the function `fromAny`.
   * @example
   * ```ts
   * TensorDict.fromAny([1, 2]) // tensor([1., 2.])
   * ```
   * @torch TensorDict.from_any
   */
  // biome-ignore lint/suspicious/noExplicitAny: the value decides what it becomes
  static fromAny(obj: unknown, options: MakeOptions = {}): any {
    return fromAnyValue(obj, options);
  }
  /**
   * A TensorDict with the items of a list, whose places are their keys.
   * @example
   * ```ts
   * TensorDict.fromTuple([zeros(3), "text"]).keys() // [0, 1]
   * ```
   * @torch TensorDict.from_tuple
   */
  static fromTuple(obj: readonly unknown[], options: MakeOptions = {}): TensorDict {
    return fromTupleTd(obj, options) as TensorDict;
  }
  /**
   * A stack of TensorDicts made of the items of a list.
   * @example
   * ```ts
   * TensorDict.fromList([{ a: 1, b: 2 }, { a: 3, b: 4 }]).get("a") // tensor([1., 3.])
   * ```
   * @torch TensorDict.from_list
   */
  static fromList(input: readonly (DictSource | Td)[], options: FromListOptions = {}): Td {
    return fromListTd(input, options);
  }
  /**
   * A TensorDict with the fields of a record.
   * @example
   * ```ts
   * TensorDict.fromNamedtuple({ x: ones(2) }).get("x") // tensor([1., 1.])
   * ```
   * @torch TensorDict.from_namedtuple
   */
  static fromNamedtuple(namedTuple: object, options: MakeOptions = {}): TensorDict {
    return fromRecordTd(namedTuple, options, "from_namedtuple") as TensorDict;
  }
  /**
   * A TensorDict with the fields of an object of a class.
   * @example
   * ```ts
   * TensorDict.fromDataclass(Object.create({}, { x: { value: ones(2), enumerable: true } })).keys() // [x]
   * ```
   * @torch TensorDict.from_dataclass
   */
  static fromDataclass(dataclass: object, options: MakeOptions = {}): TensorDict {
    return fromRecordTd(dataclass, options, "from_dataclass") as TensorDict;
  }
  /**
   * A TensorDict of a tree of lists and objects.
   * @example
   * ```ts
   * TensorDict.fromPytree({ a: [zeros(1), ones(1)] }).get(["a", "1"]) // tensor([1.])
   * ```
   * @torch TensorDict.from_pytree
   */
  static fromPytree(pytree: Tensor | number, options?: MakeOptions): Tensor;
  static fromPytree(pytree: object, options?: MakeOptions): TensorDict;
  static fromPytree(pytree: unknown, options: MakeOptions = {}): Entry {
    return fromPytreeTd(pytree, options);
  }
  /**
   * Zeros of given shapes, behind the batch dimensions, and dtypes: in memory, in files or in shared memory.
   * @example
   * ```ts
   * TensorDict.fromSchema({ obs: [[4], "float32"], action: [[], "int64"] }, { batchSize: [8] }).get("obs").shape
   * // torch.Size([8, 4])
   * ```
   * @torch TensorDict.from_schema
   */
  static fromSchema(schema: ShapesAndDTypes, options: SchemaOptions = {}): TensorDict {
    return fromSchemaTd(schema, options) as TensorDict;
  }
  /**
   * A TensorDict with the fields of records, such as NumPy's structured arrays have in memory; see `toStructArray`.
   * @example
   * ```ts
   * const records = new TensorDict({ a: arange(2) }, [2]).toStructArray();
   * TensorDict.fromStructArray(records).get("a") // tensor([0, 1])
   * ```
   * @torch TensorDict.from_struct_array
   */
  static fromStructArray(structArray: StructArray, options: StructOptions = {}): TensorDict {
    return fromStructTd(structArray, options) as TensorDict;
  }
  /** Every key with the same value. @torch TensorDict.fromkeys */
  static fromkeys(keys: readonly NestedKey[], value: unknown = 0n): TensorDict {
    return new DenseTensorDict(new Map(keys.map((key) => [key, value])));
  }
  /** TensorDicts side by side along a new batch dimension, in tensors of their own. @torch TensorDict.stack */
  static stack<C extends Td>(list: readonly C[], dim = 0, options: IntoOptions = {}): C {
    return stack(list, dim, options) as C;
  }
  /** TensorDicts side by side along a new batch dimension, without a copy. @torch TensorDict.lazy_stack */
  static lazyStack<C extends Td>(list: readonly C[], dim?: number, options?: LazyStackOptions): LazyOf<C>;
  static lazyStack(list: readonly Td[], dim = 0, options: LazyStackOptions = {}): Td {
    return lazyStackOrInto(list, dim, options);
  }
  /** A stack in tensors of its own where all entries fit, else without a copy. @torch TensorDict.maybe_dense_stack */
  static maybeDenseStack<C extends Td>(list: readonly C[], dim = 0, options: IntoOptions = {}): C {
    return maybeDenseStackOrInto(list, dim, options) as C;
  }
  /** TensorDicts one after the other along a batch dimension. @torch TensorDict.cat */
  static cat<C extends Td>(list: readonly C[], dim = 0, options: IntoOptions = {}): C {
    return cat(list, dim, options) as C;
  }
}
installChecks(DenseTensorDict, STATICS, explainDepth);

/** A TensorDict of entries that operations made. They are right already: the constructor's checks would cost time. */
export function denseOf(entries: Map<string, Entry>, state: NewState): DenseTensorDict {
  return new DenseTensorDict(RAW, entries as never, state as never);
}

/** How TensorDicts are made. */
export interface TensorDictConstructor {
  /**
   * A dictionary of tensors with shared leading dimensions.
   * @torch tensordict.TensorDict
   */
  new <const T extends object = Record<never, never>>(
    source?: T | null,
    batchSize?: SizeLike | CollectionOptions | null,
    options?: CollectionOptions,
  ): TensorDict<SchemaOf<T>>;
  readonly prototype: TensorDict;
}

type Statics = Omit<typeof DenseTensorDict, "prototype">;

/** A dictionary of tensors with shared leading dimensions. @torch tensordict.TensorDict */
export type TensorDict<S extends Schema = Schema> = DenseTensorDict<S>;

/**
 * A dictionary of tensors with shared leading dimensions, which is indexed, stacked, moved and saved as one.
 * @class
 * @torch tensordict.TensorDict
 */
export const TensorDict = DenseTensorDict as TensorDictConstructor & Statics;
Object.defineProperty(DenseTensorDict, "name", { value: "TensorDict" });

declare module "../core/types.ts" {
  interface Classes<S> {
    tensordict: TensorDict<S>;
  }
}
