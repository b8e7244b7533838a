// Values that are no tensors, one per element of a batch. Flat as long as nobody asks for its members, so that a
// million texts are one array; a stack of wrapped values from then on.

import type { IndexPart } from "../../api/indexing-parse.ts";
import type { NestedArray } from "../../api/values.ts";
import type { PythonJson } from "../../io/base/python-json.ts";
import { checkOptions, installChecks, isDict } from "../../tensor/checks.ts";
import { RuntimeError, TypeError } from "../../tensor/errors.ts";
import { settle } from "../../tensor/objects.ts";
import { numelOf, Size, sameSizes } from "../../tensor/size.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { memberBatch } from "../core/batch.ts";
import { onCpu } from "../core/index-parts.ts";
import { holdMember } from "../core/locking.ts";
import { VALUE_METHODS } from "../core/signatures.ts";
import { type NewState, stateOf, type Td, type ValueTd } from "../core/state.ts";
import { flatNumbers, positionsIn } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { type ValueStore, ValueWindow } from "../core/value-store.ts";
import { frozenLists, joinedValues, nestedValues } from "../core/values.ts";
import { valuesOf } from "../ops/stacking.ts";
import { NonTensorData, orBack, Values } from "./non-tensor.ts";

/** The list of each member of a stack of this size, from a row-major one. */
function parted<T>(list: readonly T[], size: readonly number[], dim: number): T[][] {
  const [outer, count, block] = [numelOf(size.slice(0, dim)), size[dim] as number, numelOf(size.slice(dim + 1))];
  return Array.from({ length: count }, (_, i) =>
    Array.from({ length: outer }, (_, o) => {
      const start = (o * count + i) * block;
      return list.slice(start, start + block);
    }).flat(),
  );
}

type StackArguments<V> = [values: readonly V[], state?: NewState | { stackDim?: number }] | V[];

interface Content {
  flat: ValueWindow | null;
  parts: ValueTd[] | null;
  state: NewState;
  stackDim: number;
}

function stackState(parts: readonly ValueTd[], stackDim: number): NewState {
  const inner = memberBatch(parts);
  const batchSize = Size.fromList([...inner.slice(0, stackDim), parts.length, ...inner.slice(stackDim)]);
  return { batchSize, device: parts[0]?._device ?? null, names: null };
}

/** Values of its own for a batch. */
function filled(values: readonly unknown[], { batchSize }: NewState): ValueWindow {
  if (values.length !== batchSize.numel()) {
    throw new RuntimeError(`${values.length} values do not fill a batch of shape ${batchSize}`);
  }
  return ValueWindow.of(values, batchSize);
}

/** What a stack is made of: values in an array, or values and wrapped values one by one. */
function contentOf(args: readonly unknown[]): Content {
  const [first, second] = args;
  if (first instanceof ValueWindow) return { flat: first, parts: null, state: second as NewState, stackDim: 0 };
  if (Array.isArray(first) && (second as NewState | undefined)?.batchSize instanceof Size) {
    return { flat: filled(first, second as NewState), parts: null, state: second as NewState, stackDim: 0 };
  }
  const last = args.at(-1);
  const named = isDict(last) && (args.length > 1 || Object.hasOwn(last, "stackDim"));
  const options = named ? last : {};
  checkOptions("NonTensorStack", "stackDim:int batchSize:any", options);
  const { stackDim = 0 } = options as { stackDim?: number };
  const given = last === options ? args.slice(0, -1) : args;
  const items: readonly unknown[] = given.length === 1 && Array.isArray(first) ? first : given;
  if (items.length > 0 && stackDim === 0 && !items.some((item) => item instanceof Values)) {
    const state = { batchSize: Size.fromList([items.length]), device: null, names: null };
    return { flat: filled(items, state), parts: null, state, stackDim: 0 };
  }
  const parts = items.map((item) => (item instanceof Values ? item : new NonTensorData(item)) as ValueTd);
  const rank = parts[0]?._batchSize.length ?? 0;
  const dim = stackDim < 0 ? stackDim + rank + 1 : stackDim;
  if (!Number.isInteger(dim) || dim < 0 || dim > rank) {
    throw new TypeError(`NonTensorStack() takes a stack_dim from 0 to ${rank}, got ${stackDim}`);
  }
  return { flat: null, parts, state: stackState(parts, dim), stackDim: dim };
}

/**
 * One value per element of a batch: a stack of wrapped values.
 * @example
 * ```ts
 * const stack = new NonTensorStack("a", "b");
 * [stack.tolist(), stack.stackDim, stack.tensordicts.length, stack.members[1]?.tolist()] // [[a, b], 0, 2, b]
 * ```
 * @torch tensordict.NonTensorStack
 */
export class NonTensorStack<V = unknown> extends Values {
  static {
    settle(NonTensorStack.prototype, "_kind");
  }
  #flat: ValueWindow | null;
  /** What its values are shared with, also when it has members. */
  #store: ValueStore | null;
  #onChange: (() => void) | null = null;
  #parts: ValueTd[] | null;
  /** @internal Dimension that files record. */ _stackDim: number;
  /** @internal The dimension of a stack of values has no name of its own. */
  readonly stackDimName = null;

  /** @param args one value for each element, one by one or all of them in an array; then the options */
  constructor(...args: StackArguments<V>) {
    const { flat, parts, state, stackDim } = contentOf(args);
    super(state);
    this.#flat = flat;
    this.#store = flat?.store ?? null;
    this.#parts = parts;
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
  /** @internal Called after values were replaced in place: keeps files current. */
  get _onChange(): (() => void) | null {
    return this.#onChange;
  }
  set _onChange(change: (() => void) | null) {
    const listeners = this.#store?.listeners;
    if (this.#onChange !== null) listeners?.delete(this.#onChange);
    if (change !== null) listeners?.add(change);
    this.#onChange = change;
  }
  /** The dimension along which the values are stacked. */
  get stackDim(): number {
    return this._stackDim;
  }
  /** All values, row-major: a copy. @internal */
  get values_(): V[] {
    if (this.#parts === null) return (this.#flat as ValueWindow).values() as V[];
    return joinedValues(
      this.#parts.map((part) => valuesOf(part) as V[]),
      this.#inner(),
      this._stackDim,
    );
  }
  /** @internal Its members, if there are some yet. */
  get _parts(): readonly ValueTd[] {
    return this.#parts ?? [];
  }
  /** @internal The members that somebody was given. */
  get _given(): readonly ValueTd[] {
    return this.#parts ?? this.#flat?.cells() ?? [];
  }
  /** @internal */
  get _members(): ValueTd[] {
    this.#parts ??= this.#made();
    this.#flat = null;
    return this.#parts;
  }
  /** The window as long as it has the batch's shape, and there are no members. */
  #window(): ValueWindow | null {
    return this.#flat !== null && sameSizes(this.#flat.sizes, this._batchSize) ? this.#flat : null;
  }
  /** Members that share the values. */
  #made(): ValueTd[] {
    const flat = this.#window() ?? filled(this.values_, stateOf(this));
    const batchSize = Size.fromList(this.#inner());
    const state = { batchSize, device: this._device, names: null };
    return Array.from({ length: this._batchSize[this._stackDim] as number }, (_, i) => {
      const part = over(flat.select(this._stackDim, i), state);
      holdMember(this, part);
      return part;
    });
  }
  /** The stacked values: wrapped ones, or stacks of these. */
  get members(): readonly ValueTd[] {
    return this._members;
  }
  /** The stacked values. @torch NonTensorStack.tensordicts */
  get tensordicts(): readonly ValueTd[] {
    return this._members;
  }
  #inner(): number[] {
    return this._batchSize.filter((_, dim) => dim !== this._stackDim);
  }

  /** @internal What a file has for each value: that of the whole stack, or of all members. */
  override get _raw(): PythonJson | undefined {
    const own = super._raw;
    if (own !== undefined || this._batchSize.includes(-1)) return own;
    const raws = this._raws;
    return raws === null ? undefined : (nestedValues(raws, this._batchSize) as PythonJson);
  }
  override set _raw(json: PythonJson | undefined) {
    const rank = this._batchSize.length;
    const list = Array.isArray(json) && rank > 0 ? json.flat(rank - 1) : [json];
    super._raw = json === undefined || this.#flat?.setRaws(list as PythonJson[]) === true ? undefined : json;
  }
  /** @internal */
  override get _raws(): readonly PythonJson[] | null {
    if (super._raw !== undefined) return super._raws;
    if (this.#parts === null) return (this.#flat as ValueWindow).raws();
    const lists = this.#parts.map((part) => part._raws);
    if (lists.length === 0 || !lists.every((list) => list !== null)) return null;
    return joinedValues(lists, this.#inner(), this._stackDim);
  }
  /**
   * @internal Its elements in another order or shape: one that shares the values where the change is a view, as slices
   * are; a copy of the values elsewhere. Null where it has members.
   */
  _rearranged(change: (positions: Tensor) => Tensor, stackDim: number): ValueTd | null {
    const flat = this.#window();
    if (flat === null) return null;
    const moved = change(flat.positions);
    const state = stateOf(this, { batchSize: moved.shape, names: null });
    const view = flat.moved(moved);
    const made = over(view ?? flat.chosen(flatNumbers(moved), moved.shape), state);
    if (made._kind === "nonTensorStack") made._stackDim = stackDim;
    else holdMember(this, made);
    return made;
  }

  _like(_entries: Map<string, Entry>, state: NewState): NonTensorStack<V> {
    const same = `${state.batchSize}` === `${this._batchSize}`;
    if (this.#parts !== null && same) {
      const device = state.device;
      const parts = this.#parts.map((part) => part._like(new Map(), stateOf(part, { device })));
      const copy = new NonTensorStack<unknown>(...parts, { stackDim: this._stackDim }) as NonTensorStack<V>;
      if (parts.length === 0) copy._batchSize = state.batchSize;
      copy._device = device;
      return this.withRaw(copy);
    }
    const values = this.values_;
    const fits = numelOf(state.batchSize) === values.length;
    const copy = this.withRaw(new NonTensorStack<V>(values, fits ? state : stateOf(this)));
    const raws = this.#flat?.raws() ?? null;
    if (raws !== null) copy.#flat?.setRaws(raws);
    copy._stackDim = Math.min(this._stackDim, Math.max(0, copy._batchSize.length - 1));
    return copy;
  }
  /** @internal Replaces all values in place. */
  _assign(other: ValueTd): void {
    const given = valuesOf(other) as readonly V[];
    const before = this.values_;
    if (given.length !== before.length) throw new RuntimeError(`${given.length} values for ${before.length} elements`);
    this.#replace(given, before);
  }
  /** @internal Replaces the values at an index. */
  _assignAt(index: readonly unknown[], value: ValueTd): void {
    const flat = this.#window();
    const values = valuesOf(value) as readonly V[];
    const list = index.map(onCpu) as readonly IndexPart[];
    if (flat !== null) {
      const at = flatNumbers(flat.positions.at(list));
      const taken = at.map((_, i) => values[values.length === 1 ? 0 : i]);
      this.#put(at, taken);
      return;
    }
    const before = this.values_;
    const next = [...before];
    for (const [i, at] of flatNumbers(positionsIn(this._batchSize).at(list)).entries()) {
      next[at] = (values.length === 1 ? values[0] : values[i]) as V;
    }
    this.#replace(next, before);
  }
  /** Replaces the values at some positions of the store; those that keep theirs are left alone. */
  #put(at: readonly number[], values: readonly unknown[]): void {
    const { store } = this.#flat as ValueWindow;
    const before = at.map((position) => store.at(position));
    for (const [i, position] of at.entries()) {
      if (!Object.is(before[i], values[i])) store.put(position, values[i]);
    }
    orBack(store.changed, () => {
      for (const [i, position] of at.entries()) store.put(position, before[i]);
    });
  }
  #replace(next: readonly V[], before: readonly V[]): void {
    if (this.#flat !== null) {
      this.#put(this.#flat.list(), next);
      return;
    }
    const told = new Set<() => void>();
    this.#write(next, before, told);
    if (this._onChange !== null) told.add(this._onChange);
    const tell = (): void => {
      for (const each of told) each();
    };
    orBack(tell, () => this.#write(before, next, told));
  }
  /**
   * Writes the values that differ from `before` into the members; one that has a single value for several elements
   * becomes a stack. The same member may be there twice: what its other place had before is not written back.
   * @param told gets what is to be called after that
   */
  #write(next: readonly V[], before: readonly V[], told: Set<() => void>): void {
    if (this.#parts === null) {
      const { store } = this.#flat as ValueWindow;
      for (const [i, position] of (this.#flat as ValueWindow).list().entries()) {
        if (!Object.is(next[i], before[i])) store.put(position, next[i]);
      }
      told.add(store.changed);
      return;
    }
    const parts = this.#parts;
    const old = parted(before, this._batchSize, this._stackDim);
    for (const [i, list] of parted(next, this._batchSize, this._stackDim).entries()) {
      const part = parts[i] as ValueTd;
      const was = old[i] as V[];
      if (was.every((value, k) => Object.is(value, list[k]))) continue;
      if (part._onChange !== null) told.add(part._onChange);
      if (part._kind === "nonTensorStack") (part as NonTensorStack<V>).#write(list, was, told);
      else if (list.every((value) => Bun.deepEquals(value, list[0], true))) part.value_ = list[0];
      else parts[i] = new NonTensorStack<unknown>(list, stateOf(part)) as ValueTd;
    }
  }
  /** @internal Other members in the place of its own. */
  _setParts(parts: readonly ValueTd[]): void {
    this.#parts = [...parts];
    this.#flat = null;
    this._batchSize = stackState(parts, this._stackDim).batchSize;
    this._onChange?.();
  }
  /**
   * Nested arrays of the values. Arrays of up to 1024 elements are frozen: a write to them would reach no collection.
   * `setAt` writes.
   */
  override tolist(): NestedArray<V> {
    if (this.#parts !== null && this._stackDim === 0) {
      return frozenLists(this.#parts.map((part) => part.tolist()) as NestedArray<V>, 1);
    }
    return frozenLists(nestedValues(this.values_, this._batchSize), this._batchSize.length);
  }
  /**
   * The same stack with stacks for those members that have one value for several elements.
   * @example
   * ```ts
   * const wide = new NonTensorStack(new NonTensorData("a", { batchSize: [2] }));
   * wide.maybeToStack().members[0].tolist() // [a, a]
   * ```
   * @torch NonTensorStack.maybe_to_stack
   */
  maybeToStack(): NonTensorStack<unknown>;
  maybeToStack(): Td {
    const parts = this._members.map((part) => part.maybeToStack() as ValueTd);
    return new NonTensorStack<unknown>(...parts, { stackDim: this._stackDim }) as Td;
  }
}
installChecks(NonTensorStack.prototype, VALUE_METHODS);

/** What a window shows: the wrapped value itself where it has no dimensions. */
function over(window: ValueWindow, state: NewState): ValueTd {
  if (window.sizes.length > 0) return new NonTensorStack<unknown>(window as never, state) as ValueTd;
  return window.store.cellAt(window.first, (value) => new NonTensorData(value)._like(new Map(), state)) as ValueTd;
}

/** Wrapped values of a state, one for each element. */
export function stackOf(values: readonly unknown[], state: NewState, stackDim = 0): NonTensorStack {
  const stack = new NonTensorStack(values, state);
  stack._stackDim = stackDim;
  return stack;
}

/** A stack of wrapped values, which stay the objects that they are. */
export function stackOfParts(parts: readonly ValueTd[], stackDim: number): NonTensorStack {
  return new NonTensorStack<unknown>(...parts, { stackDim });
}

declare module "../core/types.ts" {
  interface Classes<S> {
    nonTensorStack: NonTensorStack<S>;
  }
}
