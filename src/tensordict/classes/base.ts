// The methods that every collection has. Their work is done by the functions of this room.

import { checkedArguments, checkOptions, isDict } from "../../tensor/checks.ts";
import type { Device, DeviceLike } from "../../tensor/device.ts";
import type { DTypeLike } from "../../tensor/dtype.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import type { Size } from "../../tensor/size.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { setBatch } from "../core/batch.ts";
import { checkCollections } from "../core/collection-checks.ts";
import { keyPath, unravelKey } from "../core/keys.ts";
import { childrenOf, lockTd, unlockTd } from "../core/locking.ts";
import { applyNames, refineNames } from "../core/names.ts";
import { plainTree } from "../core/plain.ts";
import { settings } from "../core/settings.ts";
import { NAMED_APPLY, STATICS, UNWRAPPED } from "../core/signatures.ts";
import {
  deviceIsFixed,
  deviceOf,
  entriesOf,
  isLockedTd,
  isNonTensor,
  loader,
  type NewState,
  outlinesOf,
  type Td,
  toSize,
} from "../core/state.ts";
import type {
  AnyPath,
  Entry,
  Found,
  IndexPart,
  Inner,
  KeyOf,
  ListingArguments,
  NestedKey,
  Schema,
  SizeLike,
  StoredAll,
  Unwrapped,
  ValueAt,
} from "../core/types.ts";
import { lastUndo, rememberLock } from "../core/undo.ts";
import type { LoadOptions } from "../disk/memmap-load.ts";
import { findEntry, listEntries, listing, requireEntry, tensorsOf } from "../ops/access.ts";
import { type GatherOptions, gatherTd } from "../ops/gathering.ts";
import { updateAt, writeIndex, writePart } from "../ops/index-writes.ts";
import { indexTd, isKey, isSlice } from "../ops/indexing.ts";
import { type EmptyOptions, emptyTd, withOptions } from "../ops/key-ops.ts";
import { type ModuleLike, type ToModuleOptions, toModule } from "../ops/module.ts";
import { type ContiguousOptions, cloneTd, contiguousTd, convertTd, detachTd, type ToOptions } from "../ops/moving.ts";
import { type ApplyOptions, applyOrNull, type LeafFunction } from "../ops/pointwise.ts";
import { textOf } from "../ops/printing.ts";
import { isRagged, type RaggedOptions, raggedEntry } from "../ops/ragged.ts";
import { repeatTd } from "../ops/rearranging.ts";
import { inPlace } from "../ops/rebinding.ts";
import * as shape from "../ops/shape.ts";
import * as splitting from "../ops/splitting.ts";
import { updateBy } from "../ops/update-resizing.ts";
import {
  NO_WORDS,
  selectedPart,
  type UpdateOptions,
  type UpdateSource,
  type UpdateWords,
  withEntries,
} from "../ops/update-sources.ts";
import { setEntry, setInPlace, updateInPlace } from "../ops/writes.ts";
import type { KeyMethods } from "./key-methods.ts";
import { TableMethods } from "./table-methods.ts";

/** Options of `namedApply`. */ export type NamedApplyOptions = ApplyOptions & { nestedKeys?: boolean };

/* More is in late-methods.ts. */ export interface TensorDictBase<in out S = Schema> extends KeyMethods<S> {}

/** Abstract parent of TensorDicts, lazy stacks, tensorclasses and wrapped values. @torch tensordict.TensorDictBase */
export abstract class TensorDictBase<in out S = Schema> extends TableMethods<S> {
  // Written down: one that the engine makes passes a list of arguments on.
  constructor(state: NewState) {
    super(state);
  }

  /** Loads a memory-mapped directory as what was saved there. @torch TensorDictBase.load_memmap */
  static loadMemmap<T extends Schema = Schema>(prefix: string, options: LoadOptions = {}): TensorDictBase<T> {
    return loader.load(prefix, options) as TensorDictBase<T>;
  }

  // ---- what it is

  get _td(): this & Td {
    return this;
  }
  /** Leading dimensions shared by all entries. @torch TensorDict.batch_size */ get batchSize(): Size {
    return this._batchSize;
  }
  set batchSize(value: SizeLike) {
    setBatch(this, toSize(value));
  }
  /** The batch size. @torch TensorDict.shape */ get shape(): Size {
    return this._batchSize;
  }
  set shape(value: SizeLike) {
    setBatch(this, toSize(value));
  }
  /** The batch size, or that of one batch dimension. @torch TensorDict.size */
  size(): Size;
  size(dim: number): number;
  size(dim?: number): Size | number {
    return dim === undefined ? this._batchSize : (this._batchSize[shape.requireBatchDim(this, dim)] as number);
  }
  /** Number of batch dimensions. @torch TensorDict.batch_dims */ get batchDims(): number {
    return this._batchSize.length;
  }
  /** Number of batch dimensions. @torch TensorDict.ndim */ get ndim(): number {
    return this._batchSize.length;
  }
  /** Number of batch dimensions. @torch TensorDict.dim */ dim(): number {
    return this._batchSize.length;
  }
  /** Elements of the batch, at least one. @torch TensorDict.numel */ numel(): number {
    return Math.max(1, this._batchSize.numel());
  }
  /** Size of the first batch dimension. @torch len(TensorDict) */ get length(): number {
    return this._batchSize[0] ?? 0;
  }
  /** Device of all entries, null when they may differ. @torch TensorDict.device */ get device(): Device | null {
    return deviceOf(this);
  }
  set device(_: never) {
    throw deviceIsFixed(this);
  }
  /** Names of the batch dimensions. @torch TensorDict.names */ get names(): (string | null)[] {
    return [...(this._names ?? new Array<null>(this._batchSize.length).fill(null))];
  }
  set names(value: readonly (string | null)[] | null) {
    applyNames(this, value);
  }
  /** Names dimensions that have no name yet. @torch TensorDict.refine_names */
  refineNames(...names: (string | null)[]): this {
    refineNames(this, names);
    return this;
  }
  // ---- locks

  /** Whether the set of entries is fixed. @torch TensorDict.is_locked */ get isLocked(): boolean {
    return isLockedTd(this);
  }
  set isLocked(value: boolean) {
    if (value) lockTd(this);
    else unlockTd(this);
  }
  /** Fixes the set of entries of the whole tree. `using _ = td.lock_()` unlocks at the end. @torch TensorDict.lock_ */
  lock_(): this {
    const before = this.isLocked;
    lockTd(this);
    rememberLock(this, before ? null : () => unlockTd(this));
    return this;
  }
  /** Lets entries change again. `using _ = td.unlock_()` locks at the end. @torch TensorDict.unlock_ */
  unlock_(): this {
    const before = this.isLocked;
    unlockTd(this);
    rememberLock(this, before ? () => lockTd(this) : null);
    return this;
  }
  /** Takes back the last `lock_`, `unlock_` or `toModule`; writes a view's entries into what it is a view of. */
  get [Symbol.dispose](): () => void {
    return lastUndo(this);
  }

  // ---- entries

  /** The entry under a key; null (or `fallback`) when it is not there. @torch TensorDict.get */
  get<K extends KeyOf<S>>(key: K): ValueAt<S, K>;
  get<A extends KeyOf<S>, B extends KeyOf<Inner<ValueAt<S, A>>>>(
    key: readonly [A, B],
  ): ValueAt<Inner<ValueAt<S, A>>, B>;
  get<
    A extends KeyOf<S>,
    B extends KeyOf<Inner<ValueAt<S, A>>>,
    C extends KeyOf<Inner<ValueAt<Inner<ValueAt<S, A>>, B>>>,
  >(key: readonly [A, B, C]): ValueAt<Inner<ValueAt<Inner<ValueAt<S, A>>, B>>, C>;
  get(key: AnyPath<S>): Schema;
  // Again: the compiler speaks of the last overload that a wrong key could have been meant for.
  get<K extends KeyOf<S>>(key: K): ValueAt<S, K>;
  get(key: NestedKey, ragged: RaggedOptions): Schema;
  get<const K extends NestedKey, D>(key: K, fallback: D): Found<S, K> | D;
  get(key: NestedKey, ...fallback: unknown[]): unknown {
    if (isDict(key) || fallback.length > 1) {
      [key, ...fallback] = checkedArguments("get", UNWRAPPED.get, [key, ...fallback]) as [NestedKey, ...unknown[]];
    }
    const [ragged] = fallback;
    if (fallback.length === 1 && isRagged(ragged)) return raggedEntry(this, keyPath(key), ragged);
    const entry = findEntry(this, key);
    if (entry !== undefined) return entry;
    if (fallback.length > 0) return fallback[0];
    if (settings.getDefaultsToNull) {
      keyPath(key);
      return null;
    }
    return requireEntry(this, key);
  }
  /**
   * Python's `td[...]`: an entry by key (wrapped values come as they are; an array of keys is a path), or a part of the
   * batch by index, as `Tensor.at` takes it: `td.at([[0, 2]])` is a list of rows, `td.at([0, 2])` is `td.at(0, 2)`.
   */
  at(...index: IndexPart[]): this;
  at<K extends KeyOf<S>>(key: K): Unwrapped<ValueAt<S, K>>;
  at<A extends KeyOf<S>, B extends KeyOf<Inner<ValueAt<S, A>>>>(
    key: readonly [A, B],
  ): Unwrapped<ValueAt<Inner<ValueAt<S, A>>, B>>;
  at<
    A extends KeyOf<S>,
    B extends KeyOf<Inner<ValueAt<S, A>>>,
    C extends KeyOf<Inner<ValueAt<Inner<ValueAt<S, A>>, B>>>,
  >(key: readonly [A, B, C]): Unwrapped<ValueAt<Inner<ValueAt<Inner<ValueAt<S, A>>, B>>, C>>;
  at(key: AnyPath<S>): Schema;
  // Again: the compiler speaks of the last overload that a wrong key could have been meant for.
  at<K extends KeyOf<S>>(key: K): Unwrapped<ValueAt<S, K>>;
  at(...index: unknown[]): unknown {
    const first = index[0];
    if (index.length === 1 && isKey(first) && !(isSlice(first) && this._own(first) === undefined)) {
      const entry = requireEntry(this, first);
      return isNonTensor(entry) ? plainTree(entry) : entry;
    }
    return indexTd(this, index);
  }
  /** Python's `td[...] = value`: by key, or by index, which is what `at` takes as one argument. */
  setAt(index: IndexPart | NestedKey, value: unknown): this {
    if (isKey(index) && !(isSlice(index) && this._own(index) === undefined)) setEntry(this, index, value);
    else writeIndex(this, index, value);
    return this;
  }
  /** Sets an entry; `inplace` writes into an existing one. @torch TensorDict.set */
  set<const K extends string, V>(
    key: K,
    value: V,
    options?: { inplace?: boolean; nonBlocking?: boolean },
  ): TensorDictBase<S & StoredAll<{ [k in K]: V }>> & this;
  set(key: NestedKey, value: unknown, options?: { inplace?: boolean; nonBlocking?: boolean }): this;
  set(key: NestedKey, value: unknown, options: { inplace?: boolean } = {}): this {
    if (options.inplace && findEntry(this, key) !== undefined) setInPlace(this, key, value);
    else setEntry(this, key, value);
    return this;
  }
  /** Writes into the storage of an existing entry. @torch TensorDict.set_ */ set_(
    key: NestedKey,
    value: unknown,
  ): this {
    setInPlace(this, key, value);
    return this;
  }
  /** Writes into part of an existing entry. @torch TensorDict.set_at_ */
  setAt_(key: NestedKey, value: unknown, index: IndexPart): this {
    writePart(this, key, value, index);
    return this;
  }
  /** The entry, set to `value` first when it is missing. @torch TensorDict.setdefault */
  setdefault<const K extends NestedKey>(key: K, value: unknown): Found<S, K> {
    if (findEntry(this, key) === undefined) setEntry(this, key, value);
    return requireEntry(this, key) as Found<S, K>;
  }
  /** The plain value of an entry that is no tensor. @torch TensorDict.get_non_tensor */
  getNonTensor<const K extends NestedKey>(key: K): Unwrapped<Found<S, K>> {
    return this.at(key as never) as Unwrapped<Found<S, K>>;
  }
  /** True when the key is there; nested keys are allowed. */ has(key: NestedKey): boolean {
    return findEntry(this, key) !== undefined;
  }
  /** Its keys; nested ones are arrays. @torch TensorDict.keys */ keys(
    ...args: ListingArguments
  ): (string | string[])[] {
    // Entries are not looked at where their keys are enough: those of stacks may differ in shape.
    if (args.length === 0) return [...this._keys()];
    return listEntries(this, listing(args), outlinesOf, false).map(([path]) => unravelKey(path));
  }
  /** Its entries, in the order of the keys. @torch TensorDict.values */ values(...args: ListingArguments): Entry[] {
    return listEntries(this, listing(args), entriesOf, true).map(([, entry]) => entry);
  }
  /** Keys and entries. @torch TensorDict.items */ items(...args: ListingArguments): [string | string[], Entry][] {
    if (args.length === 0) return [...this._entries()];
    return listEntries(this, listing(args), entriesOf, true).map(([path, entry]) => [unravelKey(path), entry]);
  }
  /** Parts of the first batch dimension, one after the other. */
  *[Symbol.iterator](): IterableIterator<this> {
    if (this._batchSize.length === 0) throw new RuntimeError("iteration over a 0-d tensordict");
    for (let i = 0; i < this.length; i++) yield indexTd(this, [i]) as this;
  }
  /** Adds and replaces entries; nested ones are merged. @torch TensorDict.update */
  update(source?: UpdateSource | null, options: UpdateWords = NO_WORDS): this {
    updateBy(this, withEntries(source, options), options);
    return this;
  }
  /** Writes into existing entries. @torch TensorDict.update_ */
  update_(source?: UpdateSource | null, options: UpdateWords<Omit<UpdateOptions, "inplace">> = {}): this {
    updateInPlace(this, withEntries(source, options), options);
    return this;
  }
  /** Writes into part of existing entries. @torch TensorDict.update_at_ */
  updateAt_(source: UpdateSource, index: IndexPart, options: Omit<UpdateOptions, "inplace"> = {}): this {
    updateAt(this, index, selectedPart(source, options.keysToUpdate));
    return this;
  }
  /** Writes the entries of another into these. Same keys, shapes that broadcast. @torch TensorDict.copy_ */
  copy_(source: Td): this {
    updateInPlace(this, source);
    return this;
  }
  // ---- copies and devices

  /** A copy; with `recurse: false` the tensors themselves are shared. @torch TensorDict.clone */
  clone(recurse: boolean | { recurse?: boolean } = true): this {
    const deep = typeof recurse === "boolean" ? recurse : recurse.recurse !== false;
    return cloneTd(this, deep) as this;
  }
  /** The structure copied, the tensors shared. @torch TensorDict.copy */ copy(): this {
    return cloneTd(this, false) as this;
  }
  /** Moved to a device or cast to a dtype. @torch TensorDict.to */
  to(
    target?: DeviceLike | DTypeLike | Tensor | Td | ToOptions | null,
    dtype?: DTypeLike | ToOptions | null,
    _nonBlocking?: boolean | ToOptions,
    options: ToOptions = {},
  ): this {
    return convertTd(this, target, dtype ? { ...options, dtype: dtype as DTypeLike } : options) as this;
  }
  /** On the CPU. @torch TensorDict.cpu */ cpu(): this {
    return this.to("cpu");
  }
  /** On a GPU. @torch TensorDict.cuda */ cuda(index?: number | null): this {
    return this.to(index === undefined || index === null ? "cuda" : `cuda:${index}`);
  }
  /** Lets entries be on any device; nothing is moved. @torch TensorDict.clear_device_ */ clearDevice_(): this {
    this._device = null;
    for (const child of childrenOf(this)) child.clearDevice_();
    return this;
  }
  /** Older name of `clearDevice_`. */ clearDevice(): this {
    return this.clearDevice_();
  }
  /** With every tensor contiguous. @torch TensorDict.contiguous */ contiguous(options: ContiguousOptions = {}): this {
    return contiguousTd(this, options) as this & Td;
  }
  /** With every tensor detached. @torch TensorDict.detach */ detach(): this {
    return detachTd(this) as this;
  }
  /** Sets whether its tensors get gradients. @torch TensorDict.requires_grad_ */ requiresGrad_(value = true): this {
    for (const [, t] of tensorsOf(this)) t.requiresGrad_(value);
    return this;
  }

  // ---- shape

  /**
   * Another batch size over the same memory; or, of a dtype, every tensor with its bytes as that dtype.
   * @torch TensorDict.view
   */
  view(...size: (number | readonly number[] | DTypeLike | shape.ViewOptions)[]): this {
    return shape.viewAs(this, size) as this;
  }
  /** Another batch size, copied where it must be. @torch TensorDict.reshape */
  reshape(...size: (number | readonly number[] | shape.InplaceOptions)[]): this {
    const [given, { inplace }] = withOptions<number | readonly number[], shape.InplaceOptions>(size);
    return inPlace(this, "reshape", shape.viewTd(this, shape.sizesOf(given), true), inplace);
  }
  /** Batch dimensions of size one repeated, without a copy. @torch TensorDict.expand */
  expand(...size: (number | readonly number[])[]): this {
    return shape.expandTd(this, shape.sizesOf(size)) as this;
  }
  /** Batch dimensions in another order. @torch TensorDict.permute */
  permute(...dims: (number | readonly number[])[]): this {
    return shape.permuteTd(this, shape.sizesOf(dims)) as this;
  }
  /** Two batch dimensions exchanged. @torch TensorDict.transpose */ transpose(dim0: number, dim1: number): this {
    return shape.transposeTd(this, dim0, dim1) as this;
  }
  /** One more batch dimension, of size one. @torch TensorDict.unsqueeze */ unsqueeze(dim: number): this {
    return shape.unsqueezeTd(this, dim) as this;
  }
  /** Without batch dimensions of size one. @torch TensorDict.squeeze */ squeeze(dim?: number): this {
    return shape.squeezeTd(this, dim) as this;
  }
  /** Batch dimensions from one to another as one. @torch TensorDict.flatten */
  flatten(startDim: number | null = 0, endDim: number | null = -1, options: shape.InplaceOptions = {}): this {
    return inPlace(this, "flatten", shape.flattenTd(this, startDim ?? 0, endDim ?? -1), options.inplace);
  }
  /** One batch dimension as several. @torch TensorDict.unflatten */
  unflatten(dim: number, unflattenedSize: readonly number[], options: shape.InplaceOptions = {}): this {
    return inPlace(this, "unflatten", shape.unflattenTd(this, dim, unflattenedSize), options.inplace);
  }
  /** Parts of a size, or of given sizes. @torch TensorDict.split */
  split(size: number | readonly number[], dim = 0): this[] {
    return splitting.splitTd(this, size, dim) as this[];
  }
  /** That many parts, or fewer. @torch TensorDict.chunk */ chunk(chunks: number, dim = 0): this[] {
    return splitting.chunkTd(this, chunks, dim) as this[];
  }
  /** The parts along a batch dimension. @torch TensorDict.unbind */ unbind(dim = 0): this[] {
    return splitting.unbindTd(this, dim) as this[];
  }
  /** The batch elements at the places of `index`. @torch TensorDict.gather */
  gather(dim: number, index: Tensor, options: GatherOptions = {}): this {
    return inPlace(this, "gather", gatherTd(this, dim, index, options), options.inplace);
  }
  /** Copies along the batch dimensions. @torch TensorDict.repeat */
  repeat(...repeats: (number | readonly number[] | shape.InplaceOptions)[]): this {
    const [given, { inplace }] = withOptions<number | readonly number[], shape.InplaceOptions>(repeats);
    return inPlace(this, "repeat", repeatTd(this, shape.sizesOf(given)), inplace);
  }
  /** Elements of the batch where `mask` is true. @torch TensorDict.masked_select */
  maskedSelect(mask: Tensor): this {
    return indexTd(this, [mask]) as this;
  }

  // ---- functions

  /**
   * `fn` of every tensor; what it gives null for is left out, and null comes when nothing is left. @torch
   * TensorDict.apply
   */
  apply(fn: (t: Tensor) => Tensor, options?: ApplyOptions): this;
  apply(fn: (t: Tensor, ...others: Tensor[]) => Tensor, ...rest: (Td | ApplyOptions)[]): this;
  apply(fn: (t: Tensor, ...others: Tensor[]) => unknown, ...rest: (Td | ApplyOptions)[]): this | null;
  apply(fn: (t: Tensor, ...others: Tensor[]) => unknown, ...rest: (Td | ApplyOptions | undefined)[]): this | null {
    const options = (
      rest.at(-1) !== undefined && !(rest.at(-1) instanceof TensorDictBase) ? rest.pop() : {}
    ) as ApplyOptions;
    const call: LeafFunction = (t, _path, others) => fn(t, ...(others as Tensor[])) as Tensor;
    return applyOrNull(this, call, options, rest as Td[]) as this | null;
  }
  /** Like `apply`, writing what `fn` gives into this collection. @torch TensorDict.apply_ */
  apply_(fn: (t: Tensor, ...others: Tensor[]) => Tensor | null | undefined, ...others: Td[]): this {
    return this.apply(fn, ...others, { inplace: true }) as this;
  }
  /** `fn` of every key and tensor; see `apply`. @torch TensorDict.named_apply */
  namedApply(
    fn: (name: string | string[], t: Tensor, ...others: Tensor[]) => Tensor,
    options?: NamedApplyOptions,
    ...others: Td[]
  ): this;
  namedApply(
    fn: (name: string | string[], t: Tensor, ...others: Tensor[]) => unknown,
    options?: NamedApplyOptions,
    ...others: Td[]
  ): this | null;
  namedApply(
    fn: (name: string | string[], t: Tensor, ...others: Tensor[]) => unknown,
    options: NamedApplyOptions = {},
    ...others: Td[]
  ): this | null {
    checkOptions("namedApply", NAMED_APPLY, options);
    const name = (path: readonly string[]) => (options.nestedKeys ? unravelKey(path) : (path.at(-1) as string));
    const call: LeafFunction = (t, path, rest) => fn(name(path), t, ...(rest as Tensor[])) as Tensor;
    return applyOrNull(this, call, options, others) as this | null;
  }
  /** No entries; with `recurse` the nested collections, empty too. @torch TensorDict.empty */
  empty(recurse = false, options: EmptyOptions = {}): Td {
    return emptyTd(this, recurse, options);
  }

  /**
   * Puts these tensors into a module; disposing of the result puts the former ones back. @torch
   * TensorDict.to_module
   */
  toModule(module: ModuleLike, options: ToModuleOptions = {}): Td {
    return toModule(this, module, options);
  }

  // ---- text

  override toString(): string {
    return textOf(this);
  }
  /** Plain values by key, for `JSON.stringify`: of tensors what `tolist` gives. */
  toJSON(): unknown {
    return plainTree(this);
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
  [Symbol.toPrimitive](hint: string): string {
    if (hint === "string") return this.toString();
    throw new RuntimeError(
      "Converting a tensordict to boolean value is not permitted. Use len(td.keys()) to test for keys, td.is_empty() " +
        "to test for leaves, or (a == b).all() / .any() to reduce a comparison.",
    );
  }
}
checkCollections(TensorDictBase, null, STATICS);

declare module "../core/types.ts" {
  interface Classes<S> {
    base: TensorDictBase<S>;
  }
}
