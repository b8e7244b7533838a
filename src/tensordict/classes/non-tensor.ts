// Values that are no tensors, wrapped so that they can be entries: one for the whole batch, or one per element.
import type { IndexPart } from "../../api/indexing-parse.ts";
import type { NestedArray } from "../../api/values.ts";
import { type PythonJson, toPlain } from "../../io/base/python-json.ts";
import { checkOptions, isDict } from "../../tensor/checks.ts";
import { RuntimeError, TypeError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { CONSTRUCTOR } from "../core/signatures.ts";
import { isNonTensor, type NewState, stateOf, type Td, toDeviceOrNull, toSize, type ValueTd } from "../core/state.ts";
import { flatNumbers, tensor } from "../core/tensor-ops.ts";
import type { CollectionOptions, Entry } from "../core/types.ts";
import { nestedValues } from "../core/values.ts";
import { lazyStackTds, valuesOf } from "../ops/stacking.ts";
import { TensorDictBase } from "./base.ts";

function newState(options: CollectionOptions): NewState {
  return { batchSize: toSize(options.batchSize), device: toDeviceOrNull(options.device), names: null };
}

/** Tells whoever keeps a copy of a value that it changed; if that fails, the value is what it was. */
function orBack(changed: (() => void) | null, back: () => void): void {
  try {
    changed?.();
  } catch (error) {
    back();
    throw error;
  }
}

abstract class Values extends TensorDictBase {
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
    const [raw, count] = [this.#raw, this._batchSize.numel()];
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
  /** @internal */ value_: V;
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
  toStack(): NonTensorStack {
    return new NonTensorStack([...valuesOf(this)], stateOf(this));
  }
  /** The value, in nested arrays of the batch's shape. */
  tolist(): NestedArray<V> {
    return nestedValues(valuesOf(this) as V[], this._batchSize);
  }
}

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

type StackArguments<V> = [values: readonly V[], state?: NewState] | V[];

/** Values, state and dimension of a stack: from an array, or from values and wrapped values one by one. */
function stackArguments(args: readonly unknown[]): [readonly unknown[], NewState, number] {
  const [first, second] = args;
  const known = (second as NewState | undefined)?.batchSize instanceof Size;
  if (Array.isArray(first) && (args.length === 1 || known)) {
    const state = { batchSize: Size.fromList([first.length]), device: null, names: null };
    return [first, known ? (second as NewState) : state, 0];
  }
  const last = args.at(-1);
  const options = args.length > 1 && isDict(last) && Object.hasOwn(last as object, "stackDim") ? last : undefined;
  checkOptions("NonTensorStack", "stackDim:int", options);
  const items = options === undefined ? args : args.slice(0, -1);
  if (items.length === 0) throw new TypeError("NonTensorStack() takes a list of values");
  const wrapped = items.map((item) => (item instanceof Values ? (item as ValueTd) : new NonTensorData(item)));
  const { stackDim = 0 } = (options ?? {}) as { stackDim?: number };
  const stack = lazyStackTds(wrapped as Td[], stackDim);
  if (!isNonTensor(stack) || stack._kind !== "nonTensorStack") throw new TypeError("NonTensorStack() takes values");
  return [stack.values_, stateOf(stack), stack.stackDim];
}

/** One value per element of a batch. @torch tensordict.NonTensorStack */
export class NonTensorStack<V = unknown> extends Values {
  /** @internal Row-major. */ values_: V[];
  /** @internal Dimension that files record. */ _stackDim = 0;
  /** @internal */ _onChange: (() => void) | null = null;

  /** @param args one value for each element, one by one, or all of them in an array, row-major */
  constructor(...args: StackArguments<V>) {
    const [values, state, stackDim] = stackArguments(args);
    super(state);
    if (values.length !== this._batchSize.numel()) {
      throw new RuntimeError(`${values.length} values do not fill a batch of shape ${this._batchSize}`);
    }
    this.values_ = [...values] as V[];
    this._stackDim = stackDim;
  }

  /** A stack of the given values, nested arrays included when `shape` says so. */
  static of<V>(...values: V[]): NonTensorStack<V> {
    return new NonTensorStack<V>(values);
  }
  protected plain(): unknown {
    return this.tolist();
  }
  get _kind(): "nonTensorStack" {
    return "nonTensorStack";
  }
  get _className(): string {
    return "NonTensorStack";
  }
  /** The dimension along which the values are stacked. */
  get stackDim(): number {
    return this._stackDim;
  }
  _like(_entries: Map<string, Entry>, state: NewState): NonTensorStack<V> {
    const fits = state.batchSize.numel() === this.values_.length;
    const copy = this.withRaw(new NonTensorStack<V>(this.values_, fits ? state : stateOf(this)));
    copy._stackDim = this._stackDim;
    return copy;
  }
  /** @internal Replaces all values in place. */
  _assign(other: ValueTd): void {
    const values = valuesOf(other);
    if (values.length !== this.values_.length)
      throw new RuntimeError(`${values.length} values for ${this.values_.length} elements`);
    this.#replace([...values] as V[]);
  }
  /** @internal Replaces the values at an index. */
  _assignAt(index: readonly unknown[], value: ValueTd): void {
    const positions = tensor(Float64Array.from(this.values_, (_, i) => i)).reshape([...this._batchSize]);
    const picked = flatNumbers(positions.at(index as readonly IndexPart[]));
    const values = valuesOf(value);
    const next = [...this.values_];
    for (const [i, at] of picked.entries()) next[at] = (values.length === 1 ? values[0] : values[i]) as V;
    this.#replace(next);
  }
  #replace(next: V[]): void {
    const before = this.values_;
    this.values_ = next;
    orBack(this._onChange, () => {
      this.values_ = before;
    });
  }
  /** Nested arrays of the values. */
  tolist(): NestedArray<V> {
    return nestedValues(this.values_, this._batchSize);
  }
}

/** A wrapped value of a state. */
export function valueOf(value: unknown, state: NewState, className?: string): NonTensorData {
  const made = className === "MetaData" ? new MetaData(value) : new NonTensorData(value);
  return made._like(new Map(), state);
}

/** Wrapped values of a state, one for each element. */
export function stackOf(values: readonly unknown[], state: NewState, stackDim = 0): NonTensorStack {
  const stack = new NonTensorStack(values, state);
  stack._stackDim = stackDim;
  return stack;
}

declare module "../core/types.ts" {
  interface Classes<S> {
    nonTensor: NonTensorData<S>;
    nonTensorStack: NonTensorStack<S>;
  }
}
