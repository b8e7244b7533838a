// Values that are no tensors, wrapped so that they can be entries: one for the whole batch, or one per element.
import type { NestedArray } from "../../api/values.ts";
import { type PythonJson, toPlain } from "../../io/base/python-json.ts";
import { checkOptions, installChecks } from "../../tensor/checks.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { settle } from "../../tensor/objects.ts";
import { CONSTRUCTOR, VALUE_METHODS } from "../core/signatures.ts";
import { make, type NewState, stateOf, type Td, toDeviceOrNull, toSize, type ValueTd } from "../core/state.ts";
import type { Classes, CollectionOptions, Entry, Schema } from "../core/types.ts";
import { frozenLists, nestedValues } from "../core/values.ts";
import { valuesOf } from "../ops/stacking.ts";
import { TensorDictBase } from "./base.ts";

function newState(options: CollectionOptions): NewState {
  return { batchSize: toSize(options.batchSize), device: toDeviceOrNull(options.device), names: null };
}

/** Tells whoever keeps a copy of a value that it changed; if that fails, the value is what it was. */
export function orBack(changed: (() => void) | null, back: () => void): void {
  try {
    changed?.();
  } catch (error) {
    back();
    throw error;
  }
}

export abstract class Values extends TensorDictBase {
  #raw: PythonJson | undefined;

  /** The value, or all of them in nested arrays, as JSON would have it. */
  protected abstract plain(): unknown;

  /** @internal What a file has for the value, 2.0 as 2.0; undefined when something in the value has changed since. */
  get _raw(): PythonJson | undefined {
    return this.#raw !== undefined && Bun.deepEquals(toPlain(this.#raw), this.plain(), true) ? this.#raw : undefined;
  }
  set _raw(json: PythonJson | undefined) {
    this.#raw = json;
  }
  /** @internal What a file had for each value, row-major, if only that; null when nothing is known. */
  get _raws(): readonly PythonJson[] | null {
    const [raw, count] = [this._raw, this._batchSize.numel()];
    if (raw === undefined) return null;
    if (this._kind === "nonTensor") return new Array<PythonJson>(count).fill(raw);
    const list = Array.isArray(raw) && this._batchSize.length > 0 ? raw.flat(this._batchSize.length - 1) : [raw];
    return list.length === count ? list : null;
  }
  /** A copy has the same value, and the same text for it. */
  protected withRaw<T extends Values>(copy: T): T {
    copy.#raw = this.#raw;
    return copy;
  }
  _keys(): Iterable<string> {
    return [];
  }
  _own(_key: string): Entry | undefined {
    return undefined;
  }
  _put(key: string, _entry: Entry): void {
    throw new RuntimeError(`a ${this._className} has no entries: '${key}' cannot be set`);
  }
  _drop(_key: string): void {}
}

/** One value for all elements of a batch. @torch tensordict.NonTensorData */
export class NonTensorData<V = unknown> extends Values {
  static {
    settle(NonTensorData.prototype, "_kind");
  }
  /** The value itself. @internal */ value_: V;
  /** @internal Called after the value was replaced in place: keeps files current. */ _onChange: (() => void) | null =
    null;

  constructor(data: V, options: CollectionOptions = {}) {
    checkOptions("NonTensorData", CONSTRUCTOR, options);
    super(newState(options ?? {}));
    this.value_ = data;
  }
  protected plain(): unknown {
    return this.value_;
  }
  get _kind(): "nonTensor" {
    return "nonTensor";
  }
  get _className(): string {
    return "NonTensorData";
  }
  /** The value. @torch NonTensorData.data */
  get data(): V {
    return this.value_;
  }
  _like(_entries: Map<string, Entry>, state: NewState): NonTensorData<V> {
    const copy = this.withRaw(new NonTensorData<V>(this.value_));
    copy._batchSize = state.batchSize;
    copy._names = state.names;
    copy._device = state.device;
    return copy;
  }
  /** @internal Replaces the value in place. */
  _assign(other: ValueTd): void {
    const before = this.value_;
    this.value_ = valuesOf(other)[0] as V;
    orBack(this._onChange, () => {
      this.value_ = before;
    });
  }
  /** One value per element. */
  toStack(): Classes<Schema>["nonTensorStack"] {
    return make.nonTensorStack(valuesOf(this), stateOf(this));
  }
  /**
   * One value per element, so that each can have one of its own; the value itself without batch dimensions.
   * @example
   * ```ts
   * new NonTensorData("a", { batchSize: [2] }).maybeToStack().tolist() // [a, a]
   * ```
   * @torch NonTensorData.maybe_to_stack
   */
  maybeToStack(): Td {
    return this._batchSize.length === 0 ? (this as Td) : this.toStack();
  }
  /** The value, in nested arrays of the batch's shape, which are frozen: a write to them would reach nothing. */
  override tolist(): NestedArray<V> {
    return frozenLists(nestedValues(valuesOf(this) as V[], this._batchSize), this._batchSize.length);
  }
}
installChecks(NonTensorData.prototype, VALUE_METHODS);

/** A value that stays one value when it is stacked. @torch tensordict.MetaData */
export class MetaData<V = unknown> extends NonTensorData<V> {
  override get _className(): string {
    return "MetaData";
  }
  override _like(_entries: Map<string, Entry>, state: NewState): MetaData<V> {
    const copy = this.withRaw(new MetaData<V>(this.value_));
    copy._batchSize = state.batchSize;
    copy._names = state.names;
    copy._device = state.device;
    return copy;
  }
}

/** A wrapped value of a state. */
export function valueOf(value: unknown, state: NewState, className?: string): NonTensorData {
  const made = className === "MetaData" ? new MetaData(value) : new NonTensorData(value);
  return made._like(new Map(), state);
}

declare module "../core/types.ts" {
  interface Classes<S> {
    nonTensor: NonTensorData<S>;
  }
}
