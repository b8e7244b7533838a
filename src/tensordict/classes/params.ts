// A TensorDict whose tensors are the parameters and buffers of a module.

import type { Module } from "../../nn/module.ts";
import { Buffer, Parameter } from "../../nn/parameter.ts";
import { MODULE } from "../../nn/signatures.ts";
import { STAND_IN } from "../../nn/stand-in.ts";
import { checkOptions } from "../../tensor/checks.ts";
import type { DeviceLike } from "../../tensor/device.ts";
import type { DTypeLike } from "../../tensor/dtype.ts";
import { NotImplementedError, RuntimeError, ValueError } from "../../tensor/errors.ts";
import { settle } from "../../tensor/objects.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { checkCollections } from "../core/collection-checks.ts";
import { badSource, isSource, sourceEntries } from "../core/convert.ts";
import { keyPath } from "../core/keys.ts";
import { lockTd, unlockTd } from "../core/locking.ts";
import { PARAMS, PARAMS_METHODS } from "../core/signatures.ts";
import {
  Collection,
  entriesOf,
  isBranch,
  isNonTensor,
  isParams,
  isTensorCollection,
  make,
  type NewState,
  type Outside,
  requireUnlocked,
  stateOf,
  type Td,
  toSize,
} from "../core/state.ts";
import type { Entry, IndexPart, ListingArguments, NestedKey, Schema } from "../core/types.ts";
import type { KeyOptions } from "../ops/key-ops.ts";
import type { ToOptions } from "../ops/moving.ts";
import { applyLeaves } from "../ops/pointwise.ts";
import { type LoadStateOptions, loadStateDictInto } from "../ops/state-dict.ts";
import { type UpdateSource, type UpdateWords, withEntries } from "../ops/update-sources.ts";
import { TensorDictBase } from "./base.ts";
import { asParameter, convertLeaves, type NoConvert, ParamsModule } from "./params-module.ts";

/** Options of `TensorDictParams`. */
export interface ParamsOptions {
  /** Tensors that are no parameters become buffers, whatever their dtype. */
  noConvert?: NoConvert;
  /** Lock the TensorDict that is wrapped: entries come and go through this object only. */
  lock?: boolean;
}

/** Called with what is read; what it gives takes its place. */
export type GetHook = (params: Td, value: Tensor) => Tensor | null | undefined;

/** A converted tensor as what it was before: parameters stay parameters where their dtype allows it. */
function wrapLike(t: Tensor, before: Tensor): Tensor {
  if (t === before) return t;
  if (before instanceof Parameter && t.dtype.category >= 2) return new Parameter(t, before.requiresGrad);
  return asParameter(t, true);
}

function sameKind<T>(made: TensorDictParams, noConvert: NoConvert): T {
  made.noConvert = noConvert;
  return made as T;
}

function moduleOf(params: TensorDictParams): ParamsModule {
  const module = new ParamsModule();
  Object.defineProperty(module, "_params", { value: params });
  return module;
}

/** The TensorDict that is wrapped, from what the constructor was given. */
function wrappedBy(source: unknown, noConvert: NoConvert): Td {
  if (isTensorCollection(source)) {
    return isParams(source) ? (source._wrapped.copy().lock_() as Td) : convertLeaves(source, noConvert);
  }
  if (source !== null && source !== undefined && !isSource(source)) throw badSource(source);
  const td = make.tensordict(new Map(), { batchSize: toSize([]), device: null, names: null }) as Td;
  return convertLeaves(source ? td.update(source) : td, noConvert);
}

/**
 * A TensorDict whose tensors are the parameters and buffers of a module: as an attribute of a module it is found by
 * `parameters`, `stateDict`, `to` and the others. It wraps the TensorDict that it is given, without a copy: tensors of
 * float16, float32 and float64 become parameters in it, others buffers. Written through it, new entries do so, too, and
 * in-place methods (`zero_`, `set_`, `update_` ...) write past autograd. What operations give is a plain TensorDict.
 * @param parameters a TensorDict, or an object that one is made of
 * @example
 * ```ts
 * const params = new TensorDictParams({ weight: ones(2), step: tensor([0n]) });
 * [params.parameters().length, params.buffers().length] // [1, 1]
 * ```
 * @torch tensordict.nn.TensorDictParams
 */
export class TensorDictParams<in out S extends Schema = Schema> extends TensorDictBase<S> {
  static {
    settle(TensorDictParams.prototype, "_kind");
  }
  /** @internal */ readonly _wrapped: Td;
  /** @internal The lock of what is wrapped is kept when this object is unlocked. */ readonly _lockContent: boolean;
  /** @internal Among modules this stands for it. */ readonly [STAND_IN]: Module;
  /**
   * Whether tensors become buffers only.
   * @example
   * ```ts
   * new TensorDictParams({ w: ones(2) }, { noConvert: true }).parameters() // []
   * ```
   * @torch TensorDictParams.no_convert
   */
  noConvert: NoConvert;
  private readonly hooks: GetHook[] = [];

  constructor(parameters?: unknown, options: ParamsOptions = {}) {
    checkOptions("TensorDictParams", PARAMS, options);
    const noConvert = isTensorCollection(parameters) && isParams(parameters) ? "skip" : (options.noConvert ?? false);
    const wrapped = wrappedBy(parameters, noConvert);
    super(stateOf(wrapped));
    // They are those of what is wrapped: see the accessors below.
    for (const name of SHARED_STATE) delete (this as Partial<NewSlots>)[name];
    this._wrapped = wrapped;
    this._lockContent = options.lock === true;
    this.noConvert = noConvert;
    this[STAND_IN] = moduleOf(this as TensorDictParams);
    if (this._lockContent) lockTd(wrapped);
  }

  /**
   * The same elements without history, as a plain TensorDict.
   * @example
   * ```ts
   * new TensorDictParams({ w: ones(2) }).data.get("w").requiresGrad // false
   * ```
   * @torch TensorDictParams.data
   */
  declare readonly data: Td;

  /** How new entries are kept: with "skip", what was there stayed as it was, and what comes are buffers. */
  private get written(): boolean {
    return this.noConvert !== false;
  }
  get _kind(): "params" {
    return "params";
  }
  get _className(): string {
    return "TensorDictParams";
  }
  override get _outside(): Outside | undefined {
    return this._wrapped._outside;
  }
  _keys(): Iterable<string> {
    return this._wrapped._keys();
  }
  _own(key: string): Entry | undefined {
    return this._wrapped._own(key);
  }
  override _entries(): Iterable<[string, Entry]> {
    return this._wrapped._entries();
  }
  _put(key: string, entry: Entry): void {
    this._wrapped._put(key, entry instanceof Tensor ? asParameter(entry, this.written) : entry);
    if (!(entry instanceof Tensor) && isTensorCollection(entry)) convertLeaves(entry, this.written);
  }
  _drop(key: string): void {
    this._wrapped._drop(key);
  }
  _like(entries: Map<string, Entry>, state: NewState): Td {
    return this._wrapped._like(entries, state);
  }

  // ---- as a module

  private get module(): Module {
    return this[STAND_IN];
  }
  /**
   * Whether it is in training mode.
   * @example
   * ```ts
   * new TensorDictParams({ w: ones(2) }).training // true
   * ```
   * @torch torch.nn.Module.training
   */
  get training(): boolean {
    return this.module.training;
  }
  set training(value: boolean) {
    this.module.training = value;
  }
  /**
   * Sets training mode.
   * @example
   * ```ts
   * new TensorDictParams({ w: ones(2) }).train(false).training // false
   * ```
   * @torch torch.nn.Module.train
   */
  train(mode = true): this {
    this.module.train(mode);
    return this;
  }
  /**
   * Switches training mode off.
   * @example
   * ```ts
   * new TensorDictParams({ w: ones(2) }).eval().training // false
   * ```
   * @torch torch.nn.Module.eval
   */
  eval(): this {
    return this.train(false);
  }
  /**
   * Its parameters, each once.
   * @example
   * ```ts
   * const params = new TensorDictParams({ w: ones(2), n: tensor([1n]) });
   * params.parameters().length // 1
   * ```
   * @torch torch.nn.Module.parameters
   */
  parameters(recurse = true): Parameter[] {
    return this.module.parameters(recurse);
  }
  /**
   * Its parameters with their keys, joined by dots.
   * @example
   * ```ts
   * const params = new TensorDictParams({ layer: { w: ones(2) } });
   * params.namedParameters().map(([name]) => name) // [layer.w]
   * ```
   * @torch torch.nn.Module.named_parameters
   */
  namedParameters(prefix = "", recurse = true, removeDuplicate = true): [string, Parameter][] {
    return this.module.namedParameters(prefix, recurse, removeDuplicate);
  }
  /**
   * Its tensors that are no parameters.
   * @example
   * ```ts
   * const params = new TensorDictParams({ w: ones(2), n: tensor([1n]) });
   * params.buffers() // [tensor([1])]
   * ```
   * @torch torch.nn.Module.buffers
   */
  buffers(recurse = true): Tensor[] {
    return this.module.buffers(recurse);
  }
  /**
   * Its tensors that are no parameters with their keys, joined by dots.
   * @example
   * ```ts
   * const params = new TensorDictParams({ w: ones(2), n: tensor([1n]) });
   * params.namedBuffers().map(([name]) => name) // [n]
   * ```
   * @torch torch.nn.Module.named_buffers
   */
  namedBuffers(prefix = "", recurse = true, removeDuplicate = true): [string, Tensor][] {
    return this.module.namedBuffers(prefix, recurse, removeDuplicate);
  }
  /**
   * Calls `hook` with each tensor that is read; what it gives takes its place.
   * @example
   * ```ts
   * const params = new TensorDictParams({ n: tensor([1n]) });
   * params.registerGetPostHook((_, value) => value.neg());
   * params.get("n") // tensor([-1])
   * ```
   * @torch TensorDictParams.register_get_post_hook
   */
  registerGetPostHook(hook: GetHook): void {
    if (typeof hook !== "function") throw new ValueError("Hooks must be callables.");
    this.hooks.push(hook);
  }
  /** @internal */ _hooked<T>(value: T): T {
    if (!(value instanceof Tensor)) return value;
    return this.hooks.reduce<Tensor>((v, hook) => hook(this as Td, v) ?? v, value) as T;
  }

  // ---- reading

  override values(...args: ListingArguments): Entry[] {
    return super.values(...args).map((value) => this._hooked(value));
  }
  override items(...args: ListingArguments): [string | string[], Entry][] {
    return super.items(...args).map(([key, value]) => [key, this._hooked(value)]);
  }

  // ---- entries: what is wrapped is unlocked meanwhile, and what is new becomes parameters and buffers

  /** @internal */ _change<T>(act: (td: Td) => T): T {
    requireUnlocked(this);
    const relock = this._wrapped._locked;
    if (relock) unlockTd(this._wrapped);
    try {
      return act(this._wrapped);
    } finally {
      if (relock) lockTd(this._wrapped);
    }
  }
  /** What is to be an entry: its tensors become parameters and buffers, in a copy of what holds them. */
  /** @internal */
  _converted(value: unknown, clone = false): unknown {
    if (value === this) throw new ValueError("a tensordict cannot contain itself");
    if (value instanceof Tensor) return asParameter(clone ? value.clone() : value, this.written);
    if (clone && isTensorCollection(value)) return this._converted(value.clone());
    if (isTensorCollection(value) && value._kind === "tensordict") {
      return applyLeaves(value, (t) => asParameter(t, this.written));
    }
    if (!isSource(value)) return value;
    return new Map(sourceEntries(value).map(([key, item]) => [key, this._converted(item, clone)]));
  }
  override _select(keys: readonly (NestedKey | KeyOptions)[]): Td {
    const last = keys.at(-1);
    const inplace = typeof last === "object" && !Array.isArray(last) && (last as KeyOptions).inplace === true;
    return inplace ? super._select(keys) : this._wrapped._select(keys);
  }
  // ---- contents: written past autograd

  /** @internal */
  _write(act: (data: Td) => unknown): this {
    const data = applyLeaves(this._wrapped, (t) => t.data);
    act(data);
    adoptValues(this._wrapped, data);
    return this;
  }
  override map(): never {
    throw new RuntimeError(
      "Cannot call map on a TensorDictParams object. Convert it to a detached tensordict first (through " +
        "``tensordict.data`` or ``tensordict.to_tensordict()``) and call map in a second time.",
    );
  }
  override memmap_(): never {
    throw new RuntimeError("Cannot build a memmap TensorDict in-place. Use memmap or memmap_like instead.");
  }

  // ---- copies

  /** @internal */
  _copiedModule(): Module {
    return this.clone()[STAND_IN];
  }
  private wrap(td: Td): this {
    return sameKind(new TensorDictParams(td, { noConvert: "skip" }), this.noConvert);
  }
  /** Parameters and buffers of its own; a tensor under two keys stays one. @torch TensorDictParams.clone */
  override clone(recurse: boolean | { recurse?: boolean } = true): this {
    if (recurse === false || (typeof recurse === "object" && recurse.recurse === false)) return this.copy();
    const copies = new Map<Tensor, Tensor>();
    const copyOf = (t: Tensor) => {
      const copy = t.data.clone();
      return t instanceof Parameter ? new Parameter(copy, t.requiresGrad) : new Buffer(copy);
    };
    return this.wrap(
      applyLeaves(this._wrapped, (t) => {
        const copy = copies.get(t) ?? copyOf(t);
        copies.set(t, copy);
        return copy;
      }),
    );
  }
  override copy(): this {
    return this.wrap(this._wrapped.copy() as Td);
  }
  override to(
    target?: DeviceLike | DTypeLike | Tensor | Td | ToOptions | null,
    dtype?: DTypeLike | ToOptions | null,
    nonBlocking?: boolean | ToOptions,
    options: ToOptions = {},
  ): this {
    const moved = this._wrapped.to(target, dtype, nonBlocking, options) as Td;
    return moved === this._wrapped ? this : this.wrap(rewrapped(moved, this._wrapped));
  }
  override toString(): string {
    return `TensorDictParams(params=${this._wrapped})`;
  }
}

type NewSlots = Record<(typeof SHARED_STATE)[number], unknown>;
// Methods whose types are those of every collection.
const METHODS: Record<string, (this: TensorDictParams, ...args: never[]) => unknown> = {
  get(...args) {
    return this._hooked(Reflect.apply(TensorDictBase.prototype.get, this, args));
  },
  at(...index) {
    return this._hooked(Reflect.apply(TensorDictBase.prototype.at, this, index));
  },
  set(key: NestedKey, value: unknown, options: { inplace?: boolean } = {}) {
    this._change((td) => td.set(key, this._converted(value), options));
    return this;
  },
  setdefault(key: NestedKey, value: unknown) {
    if (!this.has(key)) this.set(key, value);
    return this.get(key as never);
  },
  setAt(index: IndexPart | NestedKey, value: unknown) {
    this._change((td) => td.setAt(index, this._converted(value)));
    return this;
  },
  update(source: UpdateSource | null | undefined, options: UpdateWords = {}) {
    if (source === this) return this;
    const { clone, ...rest } = options;
    const given = withEntries(source, options);
    const pairs = given instanceof Collection ? entriesOf(given) : sourceEntries(given as Record<string, unknown>);
    const made = new Map<string, unknown>();
    for (const [key, value] of pairs) {
      // As in Python, what is merged into a level that is there stays what it is.
      const path = keyPath(key);
      const merged =
        path.length === 1 && isBranch(this._own(path[0] as string)) && (isBranch(value) || isSource(value));
      made.set(key, merged ? (clone === true ? copied(value) : value) : this._converted(value, clone === true));
    }
    this._change((td) => td.update(made, rest));
    return this;
  },
  loadStateDict(state: Record<string, unknown>, options: LoadStateOptions = {}) {
    return this._write((data) => loadStateDictInto(data, state, options));
  },
  pop(key: NestedKey, ...fallback: unknown[]) {
    return this._change((td) => td.pop(key, ...fallback.map((one) => this._converted(one))));
  },
  maskedSelect(mask: Tensor, options: { inplace?: boolean } = {}) {
    if (!options.inplace) return this._wrapped.maskedSelect(mask);
    throw new NotImplementedError(
      "masked_select(inplace=True) is not supported on TensorDictParams; use inplace=False.",
    );
  },
};

/** What changes the set of entries. */
const CHANGES = ["del_", "clear", "renameKey_"] as const;
/** What writes into the tensors. */
const WRITES = ["zero_", "fill_", "set_", "setAt_", "update_", "updateAt_", "copy_", "apply_"] as const;

for (const name of CHANGES) {
  METHODS[name] = function (...args) {
    this._change((td) => Reflect.apply(td[name], td, args));
    return this;
  };
}
for (const name of WRITES) {
  METHODS[name] = function (...args) {
    return this._write((data) => Reflect.apply(data[name], data, args));
  };
}
for (const [name, value] of Object.entries(METHODS)) {
  Object.defineProperty(TensorDictParams.prototype, name, { value, writable: true, configurable: true });
}

const SHARED_STATE = ["_batchSize", "_device", "_names"] as const;

for (const name of SHARED_STATE) {
  Object.defineProperty(TensorDictParams.prototype, name, {
    get(this: TensorDictParams) {
      return this._wrapped[name];
    },
    set(this: TensorDictParams | { _wrapped?: Td }, value: never) {
      // The constructor of the base class comes before what is wrapped.
      if (this._wrapped !== undefined) (this._wrapped as Collection)[name] = value;
    },
    configurable: true,
  });
}

/** A source with its tensors copied. */
function copied(value: unknown): unknown {
  if (value instanceof Tensor || isTensorCollection(value)) return value.clone();
  return isSource(value) ? new Map(sourceEntries(value).map(([key, item]) => [key, copied(item)])) : value;
}

/** Values that a write replaced instead of writing into them. */
function adoptValues(td: Td, data: Td): void {
  for (const [key, value] of entriesOf(data)) {
    if (isNonTensor(value)) {
      if (td._own(key) !== value) td._put(key, value);
    } else if (isTensorCollection(value)) adoptValues(td._own(key) as Td, value);
  }
}

/** Each tensor that was moved or cast as what it was. */
function rewrapped(moved: Td, before: Td): Td {
  for (const [key, entry] of [...entriesOf(moved)]) {
    const own = before._own(key);
    if (entry instanceof Tensor) moved._put(key, own instanceof Tensor ? wrapLike(entry, own) : entry);
    else if (isTensorCollection(entry) && !isNonTensor(entry)) rewrapped(entry, own as Td);
  }
  return moved;
}

declare module "../core/types.ts" {
  interface Classes<S> {
    params: TensorDictParams<S>;
  }
}

const { train, eval: evaluate, parameters, namedParameters, buffers, namedBuffers } = MODULE;
const module = { train, eval: evaluate, parameters, namedParameters, buffers, namedBuffers };
checkCollections(TensorDictParams, { ...PARAMS_METHODS, ...module });
