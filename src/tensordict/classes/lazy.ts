// A stack that keeps its members apart: entries are stacked when they are read, and may differ in shape.

import { callMethodsBy, checkedArguments } from "../../tensor/checks.ts";
import type { DeviceLike } from "../../tensor/device.ts";
import { RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { settle } from "../../tensor/objects.ts";
import { take } from "../../tensor/scope-state.ts";
import { plainSizes, Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { typeName } from "../../tensor/type-name.ts";
import { isMemberBatch, memberBatch } from "../core/batch.ts";
import { checkCollections } from "../core/collection-checks.ts";
import { givingBack } from "../core/giving-back.ts";
import { keyPath, pythonString } from "../core/keys.ts";
import { noNested } from "../core/nested.ts";
import type { LazyOf } from "../core/path-types.ts";
import { CONSTRUCTORS, LAZY_METHODS, STATICS } from "../core/signatures.ts";
import {
  isLazy,
  isNested,
  isTensorCollection,
  type LazyTd,
  make,
  type NewState,
  requireUnlocked,
  stateOf,
  type Td,
  toDeviceOrNull,
  toNames,
  toSize,
} from "../core/state.ts";
import { stackTensors } from "../core/tensor-ops.ts";
import type { Entry, NestedKey, Schema, SizeLike } from "../core/types.ts";
import { isUnbatched, ofBatch } from "../core/unbatched.ts";
import { type IntoOptions, type LazyStackOptions, lazyStackOrInto, maybeDenseStackOrInto } from "../ops/join-out.ts";
import { padded } from "../ops/ragged.ts";
import { failedToStack, firstUnbatched, lazyStackTds, sharedParts, stackDensely } from "../ops/stacking.ts";
import { allOrNothing, planSet, requireOutside } from "../ops/writes.ts";
import { TensorDictBase } from "./base.ts";

function insertAt<T>(list: readonly T[], at: number, value: T): T[] {
  return list.toSpliced(at, 0, value);
}

/** How a ragged entry is read. */
export interface LazyGetOptions {
  /** An array with one tensor per member. */
  asList?: boolean;
  /** One tensor, shorter members filled up. */
  asPaddedTensor?: boolean;
  paddingValue?: number;
}

/** Where the members of a lazy stack are. */
export interface LazyOptions {
  /** Dimension along which they are stacked; 0 by default. */
  stackDim?: number;
  /** Name of that dimension. */
  stackDimName?: string | null;
  /** Of a stack without members: the batch size that they would have. With members: the stack must have it. */
  batchSize?: SizeLike;
  /** Of a stack without members. */
  device?: DeviceLike | null;
  /** Names of the batch of a stack without members. */
  names?: readonly (string | null)[] | null;
  /** Refuse members of different batch sizes. */
  strictShape?: boolean;
}

type LazyArguments =
  | [members: readonly Td[], options?: LazyOptions | null]
  | [...members: Td[], options: LazyOptions]
  | Td[];

/** Batch size, device and names of a stack. */
function lazyState(members: readonly Td[], options: LazyOptions): NewState {
  const [first] = members;
  const inner = first === undefined ? toSize(options.batchSize) : memberBatch(members, options.strictShape === true);
  const rank = inner.length;
  const { stackDim = 0 } = options;
  const at = stackDim < 0 ? stackDim + rank + 1 : stackDim;
  if (at < 0) {
    throw new RuntimeError(`Couldn't infer stack dim from negative value, got stack_dim=${stackDim}`);
  }
  const batchSize = Size.fromList(insertAt(plainSizes(inner), at, members.length));
  if (!Number.isInteger(at) || at > rank) {
    throw new RuntimeError(`Stack dim ${stackDim} is too big for batch size ${batchSize}.`);
  }
  const given = first === undefined || options.batchSize === undefined ? batchSize : toSize(options.batchSize);
  if (!sameSizes(given, batchSize)) {
    throw new RuntimeError(`batch_size does not match self.batch_size: ${given} vs ${batchSize}.`);
  }
  const name = options.stackDimName ?? null;
  const own = first === undefined ? toNames(options.names, rank) : first._names;
  const named = own !== null || name !== null;
  const names = named ? insertAt(own ?? new Array<null>(rank).fill(null), at, name) : null;
  return { batchSize, device: first === undefined ? toDeviceOrNull(options.device) : first._device, names };
}

/** Options of a stack whose members an operation made: the constructor takes both as they are. */
class CheckedOptions {
  constructor(readonly given: LazyOptions) {}
}

function lazyArguments(args: readonly unknown[]): [readonly Td[], LazyOptions] {
  if (args[1] instanceof CheckedOptions) return [args[0] as readonly Td[], args[1].given];
  const members = args.filter(isTensorCollection);
  const places = checkedArguments(
    "LazyStackedTensorDict",
    CONSTRUCTORS.LazyStackedTensorDict,
    members.length > 0 ? [members, ...args.slice(members.length)] : args,
  );
  return [(places[0] ?? []) as readonly Td[], (places[1] ?? {}) as LazyOptions];
}

/** Throws for what cannot become a member of a stack. */
function requireMember(lazy: LazyTd, td: unknown): asserts td is Td {
  if (!isTensorCollection(td)) {
    const name = td instanceof Tensor ? "torch.Tensor" : typeName(td);
    throw new TypeError(`Expected new value to be TensorDictBase instance but got <class '${name}'> instead.`);
  }
  requireOutside([lazy], td);
  const [first] = lazy._members;
  if (first === undefined) return;
  const [own, given] = [first._device, td._device];
  if (own === null ? given !== null : !(given !== null && own.equals(given))) {
    throw new ValueError(`Devices differ: stack has device=${own ?? "None"}, new value has device=${given ?? "None"}.`);
  }
  const inner = lazy._batchSize.filter((_, dim) => dim !== lazy.stackDim);
  if (isMemberBatch(td._batchSize, inner)) return;
  throw new ValueError(
    `Batch sizes in tensordicts differs: stack has batch_size=${first._batchSize}, new_value has ` +
      `batch_size=${td._batchSize}.`,
  );
}

/**
 * A stack of TensorDicts that is not copied together.
 * @example
 * ```ts
 * const stack = lazyStack([new TensorDict({ a: ones(2) }, []), new TensorDict({ a: ones(3) }, [])]);
 * [stack.stackDim, stack.stackDimName, stack.members.length, stack.tensordicts.length,
 *   stack.batchSize] // [0, null, 2, 2, torch.Size([2])]
 * ```
 * @torch tensordict.LazyStackedTensorDict
 */
export class LazyStackedTensorDict<in out S extends Schema = Schema> extends TensorDictBase<S> {
  static {
    settle(LazyStackedTensorDict.prototype, "_kind");
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

  /** @internal */ _members: Td[];
  /** Dimension along which the members are stacked. */
  readonly stackDim: number;
  /** Name of that dimension. */
  stackDimName: string | null;

  /** @param args the members, one by one or in an array, and then the options */
  constructor(...args: LazyArguments) {
    const [members, options] = lazyArguments(args);
    super(lazyState(members, options));
    callMethodsBy(givingBack);
    const rank = this._batchSize.length - 1;
    const { stackDim = 0 } = options;
    this._members = [...members];
    this.stackDim = stackDim < 0 ? stackDim + rank + 1 : stackDim;
    this.stackDimName = options.stackDimName ?? null;
  }

  /**
   * A lazy stack of collections.
   * @example
   * ```ts
   * const members = [new TensorDict({ a: ones(2) }, []), new TensorDict({ a: ones(3) }, [])];
   * LazyStackedTensorDict.lazyStack(members).batchSize // torch.Size([2])
   * ```
   * @torch LazyStackedTensorDict.lazy_stack
   */
  static lazyStack<C extends Td>(list: readonly C[], dim?: number, options?: LazyStackOptions): LazyOf<C>;
  static lazyStack(list: readonly Td[], dim = 0, options: LazyStackOptions = {}): Td {
    return lazyStackOrInto(list, dim, options);
  }
  /**
   * Dense where all members agree, lazy elsewhere.
   * @example
   * ```ts
   * const members = [new TensorDict({ a: ones(2) }, []), new TensorDict({ a: ones(2) }, [])];
   * LazyStackedTensorDict.maybeDenseStack(members).get("a").shape // torch.Size([2, 2])
   * ```
   * @torch LazyStackedTensorDict.maybe_dense_stack
   */
  static maybeDenseStack(list: readonly Td[], dim = 0, options: IntoOptions = {}): Td {
    return maybeDenseStackOrInto(list, dim, options);
  }

  get _kind(): "lazy" {
    return "lazy";
  }
  get _className(): string {
    return "LazyStackedTensorDict";
  }
  /** The stacked collections. */
  get members(): readonly Td[] {
    return this._members;
  }
  /** The stacked collections. @torch LazyStackedTensorDict.tensordicts */
  get tensordicts(): readonly Td[] {
    return this._members;
  }

  *_keys(): Iterable<string> {
    const [first, ...others] = this._members;
    if (first === undefined) return;
    const held = others.map((td) => new Set(td._keys()));
    for (const key of first._keys()) if (held.every((keys) => keys.has(key))) yield key;
  }

  _own(key: string): Entry | undefined {
    if (this._members.length === 0) return undefined;
    const entries: Entry[] = [];
    for (const td of this._members) {
      const entry = td._own(key);
      if (entry === undefined) return undefined;
      entries.push(entry);
    }
    if (entries.every(isUnbatched)) return ofBatch(firstUnbatched(entries), this._batchSize);
    if (entries.every((entry) => entry instanceof Tensor)) return this.#stackRead(key, entries as Tensor[]);
    if (entries.some(isNested)) throw noNested("stacking", key);
    if (entries.some((entry) => entry instanceof Tensor)) {
      throw new RuntimeError(
        `the entries under key ${pythonString(key)} are tensors in some members and not in others`,
      );
    }
    return lazyStackTds(entries as Td[], this.stackDim);
  }

  #stackRead(key: string, tensors: Tensor[]): Tensor {
    const shape = (tensors[0] as Tensor)._shape;
    if (!tensors.every((t) => sameSizes(t._shape, shape))) {
      throw failedToStack(key, tensors);
    }
    return stackTensors(tensors, this.stackDim);
  }

  /** Reads an entry whose members may differ in shape. */
  getRagged(key: NestedKey, options: LazyGetOptions = {}): Tensor[] | Tensor {
    const tensors = this._members.map((td): Tensor => td.at(key));
    if (options.asList) return tensors;
    return padded(tensors, options, this.stackDim);
  }

  _put(key: string, entry: Entry): void {
    const parts = (entry as Td).unbind(this.stackDim) as readonly Entry[];
    for (const [i, td] of this._members.entries()) {
      requireUnlocked(td);
      td._put(key, parts[i] as Entry);
    }
  }

  _drop(key: string): void {
    for (const td of this._members) td._drop(key);
  }

  _like(entries: Map<string, Entry>, state: NewState): Td {
    return make.tensordict(entries, state);
  }

  /** @internal One dense TensorDict of the entries that all members have, in one shape. */
  _densify(): Td {
    if (this._members.length === 0) return make.tensordict(new Map(), stateOf(this)) as Td;
    const members = this._members.map((td) => (isLazy(td) ? td._densify() : td));
    const made = stackDensely(sharedParts(members), this.stackDim, failedToStack);
    if (this.stackDimName !== null) made.names = made.names.with(this.stackDim, this.stackDimName);
    return made;
  }

  /** Adds a member at the end. */
  append(td: Td): void {
    this.insert(this._members.length, td);
  }

  /**
   * Adds a member.
   * @throws TypeError for what is no collection, ValueError for a batch size or a device that does not fit, and for a
   * collection that holds this one
   */
  insert(index: number, td: Td): void {
    requireUnlocked(this);
    requireMember(this, td);
    this._members.splice(index, 0, take(td));
    this._resize();
  }

  /**
   * Adds members at the end: all of them, or none if one does not fit.
   * @param tensordict a list, or a collection, whose elements are added
   * @throws TypeError for what is no collection, ValueError for a batch size or a device that does not fit, and for a
   * collection that holds this one
   */
  extend(tensordict: Iterable<Td>): void {
    requireUnlocked(this);
    if (typeof (tensordict as Partial<Iterable<Td>> | null)?.[Symbol.iterator] !== "function") {
      throw new TypeError(`'${typeName(tensordict)}' object is not iterable`);
    }
    const added = [...tensordict];
    for (const td of added) requireMember(this, td);
    for (const td of added) this._members.push(take(td));
    this._resize();
  }

  /** @internal The batch size that its members give it. */
  _resize(): void {
    this._batchSize = Size.fromList(
      insertAt(plainSizes(memberBatch(this._members)), this.stackDim, this._members.length),
    );
  }

  /** Sets the same entry in every member. */
  setEach(key: NestedKey, values: readonly unknown[]): void {
    allOrNothing((writes) => {
      for (const [i, td] of this._members.entries()) planSet(td, keyPath(key), values[i], writes);
    });
  }
}
checkCollections(LazyStackedTensorDict, LAZY_METHODS, STATICS);

/** A lazy stack of what operations made. */
export function lazyOf(members: readonly Td[], options: LazyOptions): LazyStackedTensorDict {
  return new LazyStackedTensorDict(members, new CheckedOptions(options) as LazyOptions);
}

declare module "../core/types.ts" {
  interface Classes<S> {
    lazy: LazyStackedTensorDict<S>;
  }
}
