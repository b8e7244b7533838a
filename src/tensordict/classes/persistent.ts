// TensorDicts whose entries live in an HDF5 file: reading an entry reads the file, setting one writes it.

import type { IndexPart } from "../../api/indexing-parse.ts";
import { tensor as tensorOf } from "../../api/tensor-data.ts";
import { absoluteFile } from "../../io/base/places.ts";
import { pausing, runSteps, type Steps } from "../../io/base/steps.ts";
import { UnknownArray } from "../../io/base/unknown-array.ts";
import { inTurn } from "../../io/disk/durable.ts";
import { UnfinishedFile } from "../../io/disk/unfinished-file.ts";
import { Hdf5File, type Hdf5Values } from "../../io/hdf5/hdf5.ts";
import type { Hdf5Mode } from "../../io/hdf5/hdf5-engine.ts";
import { CPU } from "../../tensor/device.ts";
import type { DType } from "../../tensor/dtype.ts";
import { KeyError, RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { numelOf, Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { requireFit } from "../core/batch.ts";
import { checkCollections } from "../core/collection-checks.ts";
import { isSource, startsWith } from "../core/convert.ts";
import { keyPath, keyText, missingKey } from "../core/keys.ts";
import { noNested } from "../core/nested.ts";
import { PERSISTENT_METHODS, PERSISTENT_STATICS } from "../core/signatures.ts";
import {
  Collection,
  entriesOf,
  isNested,
  isNonTensor,
  isTensorCollection,
  make,
  type NewState,
  type Outside,
  outlinesOf,
  requireUnlocked,
  stateOf,
  type Td,
  toDeviceOrNull,
  toNames,
  toSize,
  type ValueTd,
} from "../core/state.ts";
import type { Entry, NestedKey, Schema } from "../core/types.ts";
import {
  type FromH5Options,
  type Hdf5Group,
  isHdf5Key,
  layoutOf,
  moveOver,
  noGradients,
  outlineTensor,
  type PersistentOptions,
  pythonTuple,
  refuseInPlace,
  requireNoSlash,
  requireOptions,
  requireRoomFor,
  valueOf,
} from "../disk/persistent-options.ts";
import { isLeftOut, Paths, type Place, Reading, takesDataset } from "../disk/persistent-walk.ts";
import type { KeyOptions } from "../ops/key-ops.ts";
import { valuesOf } from "../ops/stacking.ts";
import { updateTd } from "../ops/writes.ts";
import { TensorDictBase } from "./base.ts";

const INNER = Symbol("its argument is a level of a file that is open");

/**
 * A TensorDict over an HDF5 file. Each read of an entry gives a fresh tensor; an index reads only its part of the file.
 * What is set goes to the file, and so do methods in place. Shape operations, arithmetic and copies give an ordinary
 * TensorDict of what they read. `close()`, or `using`, closes the file.
 *
 * Errors: OSError for files that are missing or locked, FormatError for damaged ones, RuntimeError after `close`.
 * @torch tensordict.PersistentTensorDict
 */
export class PersistentTensorDict<in out S extends Schema = Schema> extends TensorDictBase<S> {
  readonly #place: Place;
  readonly #nested = new Map<string, PersistentTensorDict>();

  constructor(options: PersistentOptions, inner?: typeof INNER, state?: NewState) {
    if (inner === INNER) {
      super(state as NewState);
      this.#place = options as Place;
      return;
    }
    requireOptions(options);
    const { filename, group, mode = "r", batchSize, device, names, nonTensorAsStack = false, unknown } = options;
    const size = toSize(batchSize);
    super({ batchSize: size, device: toDeviceOrNull(device), names: toNames(names, size.length) });
    const given: Hdf5Group | null = group instanceof Hdf5File ? { file: group } : (group ?? null);
    const file = given === null ? new Hdf5File(filename as string, mode, options.written) : given.file;
    const owner = given === null;
    const path = given?.path ?? "";
    const layout = layoutOf(options);
    try {
      if (file.kind(path) !== "group") throw new KeyError(`'${path}' is no group of ${file.path}`);
      const paths = new Paths(file);
      const above = paths.first(path);
      this.#place = { file, path, owner, layout, asStack: nonTensorAsStack, unknown, paths, above };
      this.#requireBatch(size);
    } catch (error) {
      if (owner) file.close();
      throw error;
    }
  }

  get _kind(): "tensordict" {
    return "tensordict";
  }
  get _className(): string {
    return "PersistentTensorDict";
  }
  _like(entries: Map<string, Entry>, state: NewState): Td {
    return make.tensordict(entries, state);
  }
  /** The file that holds the entries. */ get filename(): string {
    return this.#place.file.path;
  }
  /** How the file was opened: `r`, `r+`, `w`. */ get mode(): Hdf5Mode {
    return this.#place.file.mode;
  }
  /** Whether the file was closed. */ get closed(): boolean {
    return this.#place.file.closed;
  }
  /** Writes everything and closes the file. @torch PersistentTensorDict.close */ close(): void {
    this.#place.file.close();
  }
  /** Takes back the last `lock_` or `unlock_`, and closes the file that this was opened with. */
  override get [Symbol.dispose](): () => void {
    const undo = super[Symbol.dispose];
    return () => {
      try {
        undo();
      } finally {
        if (this.#place.owner) this.close();
      }
    };
  }

  #at(key: string): string {
    return this.#place.path === "" ? key : `${this.#place.path}/${key}`;
  }

  #kind(key: string): "group" | "dataset" | null {
    return isHdf5Key(key) ? this.#place.file.kind(this.#at(key)) : null;
  }

  #child(key: string): PersistentTensorDict {
    let child = this.#nested.get(key);
    if (child === undefined) {
      const path = this.#at(key);
      const place: Place = {
        ...this.#place,
        path,
        owner: false,
        above: this.#place.paths.into(path, this.#place.above),
      };
      child = new PersistentTensorDict(place as never, INNER, stateOf(this));
      this.#nested.set(key, child);
    }
    return child;
  }

  #forget(key: string): void {
    this.#place.paths.forget();
    for (const name of [...this.#nested.keys()]) {
      if (name === key || name.startsWith(`${key}/`)) this.#nested.delete(name);
    }
  }

  #requireBatch(batch: Size): void {
    if (batch.length === 0) return;
    for (const [, entry] of outlinesOf(this)) {
      if (entry instanceof Tensor) {
        if (startsWith(entry._shape, batch)) continue;
        throw new ValueError(
          `batch size and array size mismatch: array.shape=${pythonTuple(entry._shape)}, batch_size=${batch}.`,
        );
      }
      if (entry instanceof PersistentTensorDict) entry.#requireBatch(batch);
    }
  }

  // ---- reading

  _keys(): Iterable<string> {
    return this.#place.file.keys(this.#place.path).filter((key) => !isLeftOut(this.#place, this.#at(key)));
  }

  _own(key: string): Entry | undefined {
    return this.#entry(key, (path) => this.#moved(this.#place.file.read(path)));
  }

  #entry(
    key: string,
    readTensor: (path: string, dtype: DType, shape: readonly number[]) => Tensor,
    readValues = (path: string) => this.#place.file.exactValues(path),
  ): Entry | undefined {
    const kind = this.#kind(key);
    if (kind !== "dataset") return kind === null ? undefined : this.#child(key);
    const path = this.#at(key);
    const info = this.#place.file.info(path);
    if (!takesDataset(this.#place, path, info)) return undefined;
    return info.dtype === null ? this.#values(key, readValues(path)) : readTensor(path, info.dtype, info.shape);
  }

  #outline(key: string, readValues: (path: string) => Hdf5Values): Entry | undefined {
    return this.#entry(key, (_path, dtype, shape) => outlineTensor(dtype, shape), readValues);
  }

  #moved(value: Tensor): Tensor {
    return this._device === null || value.device.equals(this._device) ? value : value.to(this._device);
  }

  #values(key: string, found: Hdf5Values): Td {
    const made = valueOf(found, this._batchSize, this._device ?? CPU, this.#place.asStack);
    // Values that are changed in place go back to the file.
    made._onChange = () => this._put(key, made);
    return made;
  }

  override get _outside(): Outside {
    return {
      outline: (key) => this.#outline(key, (path) => this.#place.file.exactValues(path, true)),
      read: (key, index) => this.#moved(this.#place.file.read(this.#at(key), index as readonly IndexPart[])),
      write: (key, index, value) => this.#write(key, index, value),
      check: (key, entry) => {
        if (isNested(entry)) throw noNested("saving in an HDF5 file", key);
        if (entry instanceof Tensor && entry.requiresGrad) throw noGradients();
      },
    };
  }

  override has(key: NestedKey): boolean {
    const path = keyPath(key).join("/");
    return this.#kind(path) !== null && !isLeftOut(this.#place, this.#at(path));
  }

  /** All entries in memory. @torch TensorDict.to_tensordict */
  toTensorDict(): Td {
    return this.#inMemory(new Reading(this.#place.file));
  }

  #inMemory(reading: Reading): Td {
    const { file } = this.#place;
    const entries = new Map<string, Entry>();
    const read = (path: string, dtype: DType, shape: readonly number[]) => {
      reading.tensor(path, numelOf(shape) * dtype.itemsize);
      return this.#moved(file.read(path));
    };
    for (const key of this._keys()) {
      const entry = this.#entry(key, read, (path) => reading.values(path)) as Entry;
      entries.set(key, entry instanceof PersistentTensorDict ? entry.#inMemory(reading) : entry);
      if (isNonTensor(entry)) entry._onChange = null;
    }
    return make.tensordict(entries, stateOf(this));
  }
  /** A copy in memory. */
  override clone(): this {
    return this.toTensorDict() as this;
  }

  // ---- writing

  #write(key: string, index: readonly unknown[], value: unknown): void {
    const { file } = this.#place;
    const path = this.#at(key);
    let source = value;
    if (!(source instanceof Tensor)) {
      const { dtype } = file.info(path);
      // Whole numbers go to integers exactly, whatever the default dtype holds.
      const exact = typeof value === "number" && Number.isInteger(value) && dtype !== null && dtype.category === 1;
      source = tensorOf(value as number, exact ? { dtype } : {});
    }
    file.write(path, source as Tensor, index as readonly IndexPart[]);
  }

  _put(key: string, entry: Entry): void {
    runSteps(this.#putting(key, entry, null));
  }

  /**
   * Sets what `source` has, in steps that a program may take between other things: an entry, or a megabyte
   * of a tensor. `onTensor` is called after each tensor; when it is null a tensor is written at once.
   */
  *#filling(source: Td, onTensor: (() => void) | null): Steps<void> {
    for (const [key, entry] of entriesOf(source)) {
      yield;
      yield* this.#putting(key, entry, onTensor);
    }
  }

  *#putting(key: string, entry: Entry, onTensor: (() => void) | null): Steps<void> {
    requireNoSlash(key);
    if (entry instanceof Tensor) yield* this.#putTensor(key, entry, onTensor);
    else if (isNested(entry)) throw noNested("saving in an HDF5 file", key);
    else if (isNonTensor(entry)) this.#putValue(key, entry);
    else yield* this.#putLevel(key, entry as Td, onTensor);
  }

  *#putTensor(key: string, value: Tensor, onTensor: (() => void) | null): Steps<void> {
    if (value.requiresGrad) throw noGradients();
    const { file, layout } = this.#place;
    const path = this.#at(key);
    const kind = this.#kind(key);
    if (kind === "dataset") {
      const { dtype, shape } = file.info(path);
      // The dataset can stay, with the way it is stored.
      if (dtype === value.dtype && sameSizes(shape, value._shape)) {
        file.write(path, value);
        return;
      }
    }
    const cpu = value.device.type === "cpu" ? value : value.to("cpu");
    if (onTensor !== null && kind === null) yield* file.putSteps(path, cpu, layout);
    else file.put(path, cpu, layout);
    this.#forget(key);
    onTensor?.();
  }

  #putValue(key: string, entry: ValueTd): void {
    const { file } = this.#place;
    const path = this.#at(key);
    if (entry._kind === "nonTensorStack")
      file.putValues(path, entry._raws ?? valuesOf(entry), [...entry._batchSize], true);
    else {
      const value = entry._raw ?? entry.value_;
      if (value instanceof UnknownArray) file.putUnknown(path, value);
      else if (Array.isArray(value)) file.putValues(path, value, [value.length], false);
      else file.putValues(path, [value], [], false);
    }
    this.#forget(key);
  }

  *#putLevel(key: string, source: Td, onTensor: (() => void) | null): Steps<void> {
    if (this.#nested.get(key) === (source as unknown)) return;
    const kind = this.#kind(key);
    if (kind === "dataset") {
      throw new RuntimeError(
        `cannot set a tensor collection in place of a non-tensor collection in ${this._className}: '${key}' of ` +
          `${this.filename}`,
      );
    }
    if (kind === null) this.#place.file.createGroup(this.#at(key));
    const child = this.#child(key);
    if (kind === null) {
      child._batchSize = source._batchSize;
      child._names = source._names;
    }
    yield* child.#filling(source, onTensor);
  }

  _drop(key: string): void {
    this.#place.file.remove(this.#at(key));
    this.#forget(key);
  }

  /** Gives an entry another key; nothing is read. @torch TensorDict.rename_key_ */
  override _rename(before: NestedKey, after: NestedKey, safe: boolean): void {
    requireUnlocked(this);
    const [from, to] = [keyPath(before), keyPath(after)];
    const [source, target] = [from.join("/"), to.join("/")];
    const { file } = this.#place;
    if (this.#kind(source) === null) throw missingKey(from.at(-1) as string, this._className, this._keys());
    if (safe && this.#kind(target) !== null) {
      throw new KeyError(`key ${keyText(to)} already present in TensorDict.`);
    }
    if (source === target) return;
    if (!isHdf5Key(target)) throw new KeyError(`${keyText(to)} cannot be a key in an HDF5 file`);
    const aside = this.#at(`.zensor-${Math.random().toString(36).slice(2, 10)}`);
    moveOver(file, this.#at(source), this.#at(target), aside);
    for (const path of [from, to]) this.#forgetPath(path);
  }

  #forgetPath(path: readonly string[]): void {
    const [first, ...rest] = path as [string, ...string[]];
    const child = this.#nested.get(first);
    if (rest.length === 0) this.#forget(first);
    else if (child !== undefined) child.#forgetPath(rest);
  }

  // ---- what a file cannot do

  override memmap_(): never {
    throw new RuntimeError(
      "Cannot build a memmap TensorDict in-place from a PersistentTensorDict. Use `td.memmap()` instead.",
    );
  }
  /** Refused: what a file holds has no gradients. */ override requiresGrad_(): never {
    throw new RuntimeError("Entries of a PersistentTensorDict cannot require gradients: call toTensorDict() first.");
  }
  override _select(keys: readonly (NestedKey | KeyOptions)[]): Td {
    refuseInPlace("select", keys.at(-1));
    return super._select(keys);
  }
  override flattenKeys(separator = ".", options: { inplace?: boolean } = {}): Td {
    refuseInPlace("flattenKeys", options);
    return this.toTensorDict().flattenKeys(separator);
  }
  override unflattenKeys(separator = ".", options: { inplace?: boolean } = {}): Td {
    refuseInPlace("unflattenKeys", options);
    return this.toTensorDict().unflattenKeys(separator);
  }
  // ---- making files

  /** Opens a file. @torch TensorDict.from_h5 */
  static fromH5<T extends Schema = Schema>(filename: string, options: FromH5Options = {}): PersistentTensorDict<T> {
    const { batchDims, ...rest } = options;
    const opened = new PersistentTensorDict<T>({ filename, ...rest });
    try {
      if (options.batchSize === undefined) opened.#growBatch(batchDims ?? Number.POSITIVE_INFINITY);
    } catch (error) {
      opened.close();
      throw error;
    }
    return opened;
  }

  /** The longest leading shape that all entries share becomes the batch size, of nested levels first. */
  #growBatch(most: number, reading = new Reading(this.#place.file)): void {
    const shapes: (readonly number[])[] = [];
    for (const key of this._keys()) {
      const entry = this.#outline(key, (path) => reading.values(path, true)) as Entry;
      if (entry instanceof PersistentTensorDict) entry.#growBatch(Number.POSITIVE_INFINITY, reading);
      if (entry instanceof Tensor) shapes.push(entry._shape);
      else if (!isNonTensor(entry) || entry._kind === "nonTensorStack") shapes.push(entry._batchSize);
    }
    const [first = []] = shapes;
    let rank = 0;
    while (rank < Math.min(first.length, most) && shapes.every((shape) => shape[rank] === first[rank])) rank++;
    this._batchSize = Size.fromList(first.slice(0, rank));
    if (this._names?.length !== rank) this._names = null;
  }

  /** Writes an object or a collection to a new file and opens it. @torch PersistentTensorDict.from_dict */
  static fromDict(
    source: Td | Record<string, unknown> | ReadonlyMap<string, unknown>,
    filename: string,
    options: Omit<PersistentOptions, "filename" | "group" | "mode" | "unknown"> = {},
  ): PersistentTensorDict {
    return runSteps(PersistentTensorDict._writing(source, filename, options, null));
  }

  /** @internal `fromDict` in steps. `onTensor` is called after each tensor; when it is null one is written at once. */
  static *_writing(
    source: Td | Record<string, unknown> | ReadonlyMap<string, unknown>,
    filename: string,
    options: Omit<PersistentOptions, "filename" | "group" | "mode" | "unknown">,
    onTensor: (() => void) | null,
  ): Steps<PersistentTensorDict> {
    const tree = isTensorCollection(source) ? source : null;
    if (tree === null && !isSource(source)) throw new TypeError("fromDict() takes an object or a TensorDict");
    if (tree !== null) requireFit(tree, "saved");
    const file = new UnfinishedFile(absoluteFile(filename));
    const { target, path: temporary } = file;
    const given: PersistentOptions = { ...options, batchSize: options.batchSize ?? [...(tree?._batchSize ?? [])] };
    let opened: PersistentTensorDict | null = null;
    try {
      file.requireFile();
      if (tree !== null) requireRoomFor(tree, target, options);
      {
        using made = new PersistentTensorDict({ ...given, filename: temporary, mode: "x" });
        file.adopt();
        if (tree === null) updateTd(made, source);
        else yield* made.#filling(tree, onTensor);
        // What was written without a pause can be given up still.
        yield* pausing();
      }
      // Before it has the name: another one may take that right after.
      opened = new PersistentTensorDict({ ...given, filename, written: temporary, mode: "r+" });
      yield* inTurn(target, () => file.placing(null));
      if (tree !== null) opened.#adopt(tree);
      else if (options.batchSize === undefined) opened.#growBatch(Number.POSITIVE_INFINITY);
      return opened;
    } catch (error) {
      opened?.close();
      const cause = file.cause(error);
      yield* file.discarding();
      throw cause;
    }
  }

  /** Files keep no batch sizes and no names: those of what was written stay with the opened file. */
  #adopt(source: Td): void {
    for (const [key, entry] of outlinesOf(source)) {
      if (!(entry instanceof Collection) || isNonTensor(entry) || this.#kind(key) !== "group") continue;
      const child = this.#child(key);
      child._batchSize = entry._batchSize;
      child.#adopt(entry as Td);
    }
    this._names = source._names;
  }
}
checkCollections(PersistentTensorDict, PERSISTENT_METHODS, PERSISTENT_STATICS);

declare module "../core/types.ts" {
  interface Classes<S> {
    persistent: PersistentTensorDict<S>;
  }
}
