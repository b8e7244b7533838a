// Classes with typed fields over a TensorDict: `class Point extends tensorclass({ x: Tensor, label: String }) {}`.

import { checkOptions, inOrder } from "../../tensor/checks.ts";
import { KeyError, RuntimeError, TypeError } from "../../tensor/errors.ts";
import { settle } from "../../tensor/objects.ts";
import { take } from "../../tensor/scope-state.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { type RegisteredClass, registerClass } from "../core/class-registry.ts";
import { toEntry } from "../core/convert.ts";
import { lockTd } from "../core/locking.ts";
import { adoptNames } from "../core/names.ts";
import { CONSTRUCTOR, FUNCTIONS } from "../core/signatures.ts";
import {
  type ClassTd,
  Collection,
  entriesOf,
  isClassTd,
  isLazy,
  isNonTensor,
  loader,
  make,
  type NewState,
  requireUnlocked,
  stateOf,
  type Td,
  toDeviceOrNull,
  toNames,
  toSize,
} from "../core/state.ts";
import type { CollectionOptions, Entry, NumberArray, NumberLike, Schema, Stored } from "../core/types.ts";
import type { LoadOptions } from "../disk/memmap-load.ts";
import { type DictSource, type FromListOptions, fromDictTd, fromListTd, type MakeOptions } from "../ops/making.ts";
import { requireOutside } from "../ops/writes.ts";
import { TensorDictBase } from "./base.ts";
import { stackPrototype } from "./class-delegation.ts";

// biome-ignore lint/suspicious/noExplicitAny: any class can be named as the type of a field
type AnyClass = abstract new (...args: any[]) => unknown;
/**
 * A field: a class, a class of primitives (String, Number, Boolean), `null` for anything, or a thunk for classes
 * defined later.
 */
export type FieldType = AnyClass | StringConstructor | NumberConstructor | BooleanConstructor | null | (() => AnyClass);
/** Fields of a tensorclass. */
export type Fields = Readonly<Record<string, FieldType>>;

type Thunk<C> = C extends AnyClass ? never : C extends () => infer R ? R : never;
type ValueOf<C> = C extends null
  ? unknown
  : C extends StringConstructor
    ? string
    : C extends NumberConstructor
      ? Tensor
      : C extends BooleanConstructor
        ? Tensor
        : C extends abstract new (
              ...args: never[]
            ) => infer I
          ? I
          : Thunk<C> extends abstract new (
                ...args: never[]
              ) => infer I
            ? I
            : unknown;

/** Types of the fields; each may be missing (null). */
export type FieldValues<F extends Fields> = { -readonly [K in keyof F]: ValueOf<F[K]> };
/** What tensors are made of. */
type Numbers = NumberLike | NumberArray | NodeJS.TypedArray;
/** What a field may be given: numbers become tensors, objects nested TensorDicts. */
type Given<C> = C extends null
  ? unknown
  : C extends StringConstructor
    ? string | readonly unknown[] | Td | null
    : ValueOf<C> extends Tensor
      ? Tensor | Numbers | null
      : ValueOf<C> extends Td
        ? Td | Readonly<Record<string, unknown>> | null
        : ValueOf<C> | null;
type Init<F extends Fields> = { [K in keyof F]?: Given<F[K]> };

/** Options of `tensorclass`. */
export interface TensorClassOptions {
  /** Module and class name in Python, written into files: "my_module.Point". */
  pythonName?: string;
}

/**
 * What every tensorclass is.
 * @example
 * ```ts
 * class Point extends tensorclass({ x: Tensor }) {}
 * new Point({ x: ones(2) }, { batchSize: [] }) instanceof tensordict.TensorClassBase // true
 * ```
 */
export abstract class TensorClassBase<in out S extends Schema = Schema> extends TensorDictBase<S> {
  static {
    settle(TensorClassBase.prototype, "_kind");
  }
  /** @internal */ declare _map: Map<string, Entry>;
  /** @internal */ declare _qualifiedName: string;
  /** @internal The collection that it was made around: entries and state are that one's. */ _source: Td | null = null;

  get _kind(): "tensorclass" {
    return "tensorclass";
  }
  get _className(): string {
    return this.constructor.name;
  }
  _keys(): Iterable<string> {
    return this._source === null ? this._map.keys() : this._source._keys();
  }
  _own(key: string): Entry | undefined {
    return this._source === null ? this._map.get(key) : this._source._own(key);
  }
  _put(key: string, entry: Entry): void {
    if (!this._fieldNames().includes(key)) throw unknownField(this._className, key);
    if (this._source === null) this._map.set(key, take(entry));
    else this._source._put(key, entry);
  }
  _drop(key: string): void {
    if (this._source === null) this._map.delete(key);
    else this._source._drop(key);
  }
  /** @internal An object of this class around a collection. */
  _around(source: Td): Td {
    const made = this.constructor as typeof TensorClassBase & RegisteredClass;
    return around(made._wrap(new Map(), stateOf(source), this._qualifiedName) as ClassTd, source);
  }
  /** @internal The collection that it shows: one with its own entries where it was made of entries. */
  _shown(): Td {
    if (this._source !== null) return this._source;
    const source = make.tensordict(this._map, stateOf(this)) as Td;
    source._locked = this._locked;
    source._holders = this._holders;
    source._disk = this._disk;
    source._undo = this._undo;
    around(this as ClassTd, source);
    return source;
  }
  _like(entries: Map<string, Entry>, state: NewState): Td {
    const made = this.constructor as typeof TensorClassBase & RegisteredClass;
    return made._wrap(entries, state, this._qualifiedName);
  }
  /** @internal */
  _fieldNames(): readonly string[] {
    return [...this._map.keys()];
  }
}

/** What an object shares with the collection that it was made around. */
const STATE = ["_batchSize", "_device", "_names", "_locked", "_holders", "_disk", "_undo"] as const;

/** Makes an object show a collection. */
function around(made: ClassTd, source: Td): Td {
  made._source = source;
  if (isLazy(source)) Object.setPrototypeOf(made, stackPrototype(Object.getPrototypeOf(made)));
  for (const name of STATE) {
    Object.defineProperty(made, name, {
      get: () => source[name],
      set: (value) => {
        Object.assign(source, { [name]: value });
      },
      configurable: true,
      enumerable: true,
    });
  }
  return made as Td;
}

/** What an object can show of a collection; null for one whose entries are put into the object. */
function sourceOf(td: Td): Td | null {
  const source = isClassTd(td) && td._source !== null ? td._source : td;
  return source._outside === undefined && /^(tensordict|lazy)$/.test(source._kind) ? source : null;
}

function unknownField(name: string, key: string): KeyError {
  return new KeyError(`${name} has no field '${key}'`);
}

type BaseOf<F extends Fields> = TensorClassBase<{ [K in keyof F]: Stored<ValueOf<F[K]>> }>;
// Fields win over members of the base class that have the same name.
type Instance<F extends Fields> = [Extract<keyof F, keyof TensorClassBase>] extends [never]
  ? BaseOf<F> & FieldValues<F>
  : Omit<BaseOf<F>, keyof F> & FieldValues<F>;

/** A class made by `tensorclass`. */
export interface TensorClass<F extends Fields> {
  new (fields?: Init<F>, options?: CollectionOptions): Instance<F>;
  /** Names and types of the fields. */
  readonly fields: F;
  /** Module and class name in Python. */
  readonly pythonName: string;
  /** An object around the entries of a TensorDict. @torch tensorclass.from_tensordict */
  fromTensordict<C>(this: new (...args: never[]) => C, td: Td): C;
  /**
   * An object with the entries of a plain object.
   * @example
   * ```ts
   * class Point extends tensorclass({ x: Tensor }) {}
   * Point.fromDict({ x: ones(3) }, { autoBatchSize: true }).batchSize // torch.Size([3])
   * ```
   * @torch tensorclass.from_dict
   */
  fromDict<C>(this: new (...args: never[]) => C, inputDict: DictSource, options?: MakeOptions): C;
  /**
   * Objects of a list, stacked.
   * @example
   * ```ts
   * class Point extends tensorclass({ x: Tensor }) {}
   * Point.fromList([{ x: 1 }, { x: 2 }]).x // tensor([1., 2.])
   * ```
   * @torch tensorclass.from_list
   */
  fromList<C>(this: new (...args: never[]) => C, input: readonly (DictSource | Td)[], options?: FromListOptions): C;
  /**
   * An object whose fields of these names have the same value.
   * @throws KeyError for a name that is no field
   * @example
   * ```ts
   * class Point extends tensorclass({ x: Tensor, y: Tensor }) {}
   * Point.fromkeys(["x", "y"], 1).y // tensor(1.)
   * ```
   * @torch tensorclass.fromkeys
   */
  fromkeys<C>(this: new (...args: never[]) => C, keys: readonly string[], value?: unknown): C;
  /** What was saved to a directory. @torch tensorclass.load_memmap */
  loadMemmap<C>(this: new (...args: never[]) => C, prefix: string, options?: LoadOptions): C;
}

// Marks a construction whose entries are checked already.
const RAW = Symbol("raw entries");

function readField(self: Td, key: string): unknown {
  const entry = self._own(key);
  if (entry === undefined) return null;
  if (!isNonTensor(entry)) return entry;
  return entry._kind === "nonTensorStack" ? entry.tolist() : entry.value_;
}

function isThunk(type: FieldType): type is () => AnyClass {
  return typeof type === "function" && type.prototype === undefined;
}

function writeField(self: Td, key: string, value: unknown, type: FieldType): void {
  if (value === null || value === undefined) {
    self._drop(key);
    return;
  }
  const expected = isThunk(type) ? type() : type;
  const wrap =
    expected === null && typeof value === "object" && !(value instanceof Tensor || value instanceof Collection);
  // A field of any type keeps objects and arrays as they are.
  const state = stateOf(self);
  if (value instanceof Collection) requireOutside([self], value);
  const entry = wrap ? make.nonTensor(value, { ...state, names: null }) : toEntry(value, state, key);
  self._put(key, entry);
  adoptNames(self, entry);
}

/** The fields of a new object. */
function writeFields(self: Td, init: unknown, fields: Fields): void {
  if (typeof init !== "object" || init === null) throw new TypeError(`${self._className} takes an object of fields`);
  for (const [key, value] of Object.entries(init)) {
    if (!Object.hasOwn(fields, key)) throw unknownField(self._className, key);
    writeField(self, key, value, fields[key] as FieldType);
  }
}

function defineFields(prototype: object, fields: Fields): void {
  for (const [key, type] of Object.entries(fields)) {
    Object.defineProperty(prototype, key, {
      get(this: Td) {
        return readField(this, key);
      },
      set(this: Td, value: unknown) {
        requireUnlocked(this);
        writeField(this, key, value, type);
      },
      configurable: true,
      enumerable: true,
    });
  }
}

/**
 * Makes a class with these fields; extend it. Every field may be missing.
 * @example
 * ```ts
 * class Point extends tensorclass({ x: Tensor, label: String }) {}
 * const p = new Point({ x: arange(3), label: "a" }, { batchSize: [3] });
 * [p.x.sum(), p.label, p.at(0).x] // [tensor(3), a, tensor(0)]
 * ```
 * @torch tensordict.tensorclass
 */
export function tensorclass<const F extends Fields>(fields: F, options: TensorClassOptions = {}): TensorClass<F> {
  [fields, options = {}] = inOrder<[F, { pythonName?: string }]>("tensorclass", FUNCTIONS.tensorclass, arguments);
  const names = Object.keys(fields);

  class Generated extends TensorClassBase {
    static readonly fields = fields;
    static get pythonName(): string {
      return options.pythonName ?? `__main__.${this.name}`;
    }
    constructor(init: unknown = {}, options: CollectionOptions | null = {}) {
      const given: CollectionOptions = options ?? {};
      if (init === RAW) {
        const raw = given as { entries: Map<string, Entry>; state: NewState; qualified: string };
        super(raw.state);
        this._map = raw.entries;
        this._qualifiedName = raw.qualified;
        return;
      }
      checkOptions(new.target.name, CONSTRUCTOR, given);
      const batchSize = toSize(given.batchSize);
      super({
        batchSize,
        device: toDeviceOrNull(given.device),
        names: toNames(given.names, batchSize.length),
      });
      this._map = new Map();
      this._qualifiedName = new.target.pythonName;
      remember(new.target as never);
      writeFields(this as Td, init, fields);
      if (given.lock === true) lockTd(this);
    }
    override _fieldNames(): readonly string[] {
      return names;
    }
    /** @internal */
    static _wrap(entries: Map<string, Entry>, state: NewState, qualified: string): Td {
      for (const key of entries.keys()) if (!Object.hasOwn(fields, key)) throw unknownField(this.name, key);
      return new this(RAW, { entries, state, qualified } as never) as Td;
    }
    static fromTensordict(td: Td): Td {
      if (!(td instanceof Collection)) throw new RuntimeError("fromTensordict takes a TensorDict");
      const source = sourceOf(td);
      if (source === null) return this._holding(td);
      for (const key of source._keys()) if (!Object.hasOwn(fields, key)) throw unknownField(this.name, key);
      return around(this._wrap(new Map(), stateOf(source), this.pythonName) as ClassTd, source);
    }
    /** @internal An object with the entries of a collection. */
    static _holding(td: Td): Td {
      return this._wrap(new Map(entriesOf(td)), stateOf(td), this.pythonName);
    }
    static fromDict(inputDict: DictSource, given: MakeOptions = {}): Td {
      return this._holding(fromDictTd(inputDict, given));
    }
    static fromkeys(keys: readonly string[], value: unknown = 0n): Td {
      return this.fromDict(Object.fromEntries(keys.map((key) => [key, value])));
    }
    static fromList(input: readonly (DictSource | Td)[], given: FromListOptions = {}): Td {
      return this.fromTensordict(fromListTd(input, given));
    }
    /** Loads a directory that holds an object of this class. @torch tensorclass.load_memmap */
    static override loadMemmap(prefix: string, load: object = {}): Td {
      registerClass(this.name, this);
      return loader.load(prefix, load);
    }
  }
  defineFields(Generated.prototype, fields);
  return Generated as TensorClass<F>;
}

const known = new WeakSet<object>();

// A class has its name only once it is extended; it is registered when it is first used.
function remember(target: { name: string; _wrap: never }): void {
  if (known.has(target)) return;
  known.add(target);
  registerClass(target.name, target);
}

/**
 * Makes a class known by name, so that directories saved from it can be loaded before an object of it was made.
 * @example
 * ```ts
 * class Sample extends tensorclass({ x: Tensor }) {}
 * tensordict.registerTensorClass(Sample);
 * new Sample({ x: ones(2) }, { batchSize: [] }).memmap("sample");
 * loadMemmap("sample") instanceof Sample // true
 * ```
 */
export function registerTensorClass(target: { readonly name: string }): void {
  [target] = inOrder<Parameters<typeof registerTensorClass>>(
    "registerTensorClass",
    FUNCTIONS.registerTensorClass,
    arguments,
  );
  remember(target as never);
}

/**
 * True for objects and classes made by `tensorclass`.
 * @example
 * ```ts
 * class Point extends tensorclass({ x: Tensor }) {}
 * [isTensorclass(Point), isTensorclass(new TensorDict({}, []))] // [true, false]
 * ```
 * @torch tensordict.is_tensorclass
 */
export function isTensorclass(value: unknown): boolean {
  if (typeof value === "function") return value.prototype instanceof TensorClassBase;
  return value instanceof TensorClassBase;
}

declare module "../core/types.ts" {
  interface Classes<S> {
    tensorclass: TensorClassBase<S>;
  }
}
