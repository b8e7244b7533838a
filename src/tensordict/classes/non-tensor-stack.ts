// Values that are no tensors, one per element of a batch. Flat as long as nobody asks for its members, so that a
// million texts are one array; a stack of wrapped values from then on.
import type { IndexPart } from "../../api/indexing-parse.ts";
import type { NestedArray } from "../../api/values.ts";
import type { PythonJson } from "../../io/base/python-json.ts";
import { checkOptions, isDict } from "../../tensor/checks.ts";
import { RuntimeError, TypeError } from "../../tensor/errors.ts";
import { numelOf, Size } from "../../tensor/size.ts";
import { memberBatch } from "../core/batch.ts";
import { onCpu } from "../core/index-parts.ts";
import { holdMember } from "../core/locking.ts";
import { type NewState, stateOf, type Td, type ValueTd } from "../core/state.ts";
import { flatNumbers, positionsIn } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
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
  flat: readonly unknown[] | null;
  parts: ValueTd[] | null;
  state: NewState;
  stackDim: number;
}

function stackState(parts: readonly ValueTd[], stackDim: number): NewState {
  const inner = memberBatch(parts);
  const batchSize = Size.fromList([...inner.slice(0, stackDim), parts.length, ...inner.slice(stackDim)]);
  return { batchSize, device: parts[0]?._device ?? null, names: null };
}

/** What a stack is made of: values in an array, or values and wrapped values one by one. */
function contentOf(args: readonly unknown[]): Content {
  const [first, second] = args;
  if (Array.isArray(first) && (second as NewState | undefined)?.batchSize instanceof Size) {
    return { flat: first, parts: null, state: second as NewState, stackDim: 0 };
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
    return { flat: items, parts: null, state, stackDim: 0 };
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
  #flat: readonly V[] | null;
  #parts: ValueTd[] | null;
  /** @internal Dimension that files record. */ _stackDim: number;
  /** @internal */ _onChange: (() => void) | null = null;
  /** @internal The dimension of a stack of values has no name of its own. */
  readonly stackDimName = null;

  /** @param args one value for each element, one by one or all of them in an array; then the options */
  constructor(...args: StackArguments<V>) {
    const { flat, parts, state, stackDim } = contentOf(args);
    super(state);
    if (flat !== null && flat.length !== this._batchSize.numel()) {
      throw new RuntimeError(`${flat.length} values do not fill a batch of shape ${this._batchSize}`);
    }
    this.#flat = flat === null ? null : ([...flat] as V[]);
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
  /** The dimension along which the values are stacked. */
  get stackDim(): number {
    return this._stackDim;
  }
  /** All values, row-major. @internal */
  get values_(): readonly V[] {
    if (this.#parts === null) return this.#flat as readonly V[];
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
  /** @internal */
  get _members(): ValueTd[] {
    if (this.#parts === null) {
      const lists = parted(this.#flat as readonly V[], this._batchSize, this._stackDim);
      const raws = this._raws;
      const parts = lists.map((list) => this.#member(list));
      if (raws !== null) {
        for (const [i, list] of parted(raws, this._batchSize, this._stackDim).entries()) {
          const part = parts[i] as ValueTd;
          part._raw = nestedValues(list, part._batchSize) as PythonJson;
        }
      }
      this.#parts = parts;
      this.#flat = null;
    }
    return this.#parts;
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
  #member(list: readonly V[]): ValueTd {
    const state = { batchSize: Size.fromList(this.#inner()), device: this._device, names: null };
    const part = (
      state.batchSize.length === 0
        ? new NonTensorData(list[0])._like(new Map(), state)
        : new NonTensorStack<unknown>(list, state)
    ) as ValueTd;
    // Whoever keeps a copy of the stack keeps one of its members.
    part._onChange = () => this._onChange?.();
    holdMember(this, part);
    return part;
  }

  /** @internal What a file has for each value: that of the whole stack, or of all members. */
  override get _raw(): PythonJson | undefined {
    const own = super._raw;
    if (own !== undefined || this.#parts === null || this._batchSize.includes(-1)) return own;
    const lists = this.#parts.map((part) => part._raws);
    if (lists.length === 0 || !lists.every((list) => list !== null)) return undefined;
    return nestedValues(joinedValues(lists, this.#inner(), this._stackDim), this._batchSize) as PythonJson;
  }
  override set _raw(json: PythonJson | undefined) {
    super._raw = json;
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
    const fits = numelOf(state.batchSize) === this.values_.length;
    const copy = this.withRaw(new NonTensorStack<V>(this.values_, fits ? state : stateOf(this)));
    copy._stackDim = Math.min(this._stackDim, Math.max(0, copy._batchSize.length - 1));
    return copy;
  }
  /** @internal Replaces all values in place. */
  _assign(other: ValueTd): void {
    const given = valuesOf(other) as readonly V[];
    const own = this.values_.length;
    if (given.length !== own) throw new RuntimeError(`${given.length} values for ${own} elements`);
    this.#replace(given);
  }
  /** @internal Replaces the values at an index. */
  _assignAt(index: readonly unknown[], value: ValueTd): void {
    const next = [...this.values_];
    const picked = flatNumbers(positionsIn(this._batchSize).at(index.map(onCpu) as readonly IndexPart[]));
    const values = valuesOf(value);
    for (const [i, at] of picked.entries()) next[at] = (values.length === 1 ? values[0] : values[i]) as V;
    this.#replace(next);
  }
  #replace(next: readonly V[]): void {
    const before = this.values_;
    this.#write(next, before);
    orBack(this._onChange, () => this.#write(before, next));
  }
  /**
   * Writes the values that differ from `before` into the members; one that has a single value for several elements
   * becomes a stack. The same member may be there twice: what its other place had before is not written back.
   */
  #write(next: readonly V[], before: readonly V[]): void {
    const parts = this.#parts;
    if (parts === null) {
      this.#flat = [...next];
      return;
    }
    const old = parted(before, this._batchSize, this._stackDim);
    for (const [i, list] of parted(next, this._batchSize, this._stackDim).entries()) {
      const part = parts[i] as ValueTd;
      const was = old[i] as V[];
      if (was.every((value, k) => Object.is(value, list[k]))) continue;
      if (part._kind === "nonTensorStack") (part as NonTensorStack<V>).#write(list, was);
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
