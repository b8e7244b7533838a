/** Modules over TensorDicts, one after the other. */
import { Slice } from "../../api/indexing-parse.ts";
import { ModuleDict, ModuleList } from "../../nn/containers.ts";
import type { Module } from "../../nn/module.ts";
import { checkOptions, installChecks, isDict } from "../../tensor/checks.ts";
import { IndexError, KeyError, RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { typeName } from "../../tensor/type-name.ts";
import { isLazy, type Td } from "../core/state.ts";
import type { Inner, NestedKey } from "../core/types.ts";
import { callDispatched } from "./dispatch.ts";
import type { Having, Inputs, Keyed, ReadBy, With, WrittenBy } from "./key-types.ts";
import { hasAll, includes, type Key, type KeyList, keysRepr } from "./keys.ts";
import {
  type ForwardOptions,
  type Inplace,
  optionsOf,
  outputOf,
  requireInplace,
  TensorDictModule,
  WrapModule,
} from "./module.ts";
import { inKeysOf, isCompatible, outKeysOf, type TensorDictModuleBase, unlessThere } from "./module-base.ts";
import { METHODS, SEQUENTIAL, SEQUENTIAL_METHODS } from "./signatures.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a module takes and gives is its forward's business
type Any = any;

/** Options of `TensorDictSequential`. */
export interface SequentialOptions {
  /** Whether modules whose inputs are missing are left out. Default false. */
  partialTolerant?: boolean;
  /** The outputs that stay in the result. */
  selectedOutKeys?: KeyList | null;
  /** Where results go; null, the default, leaves it to the modules. */
  inplace?: Inplace;
}

/** A module, or a function of a TensorDict. */
export type Step = TensorDictModuleBase | Module | ((tensordict: Td) => Td);

/** Modules one by one, in a list or by name; at the end there may be options. */
export type SequentialArguments = Step | readonly Step[] | Readonly<Record<string, Step>> | SequentialOptions;

/** The modules that a constructor was given, with names where it was an object, and its options. */
export interface Steps<O> {
  names: string[] | null;
  modules: TensorDictModuleBase[];
  options: O;
}

export function stepsOf<O extends object>(name: string, spec: string, given: readonly unknown[]): Steps<O> {
  let args = [...given];
  let options = {} as O;
  const known = spec.split(" ").map((word) => word.split(":")[0] as string);
  const last = args.at(-1);
  if (isDict(last) && isOptions(last, known, args.length > 1)) {
    checkOptions(name, spec, last);
    options = last as O;
    args = args.slice(0, -1);
  }
  const [only] = args;
  if (args.length === 1 && (isDict(only) || only instanceof Map)) {
    const pairs = only instanceof Map ? [...only] : Object.entries(only);
    return { names: pairs.map(([key]) => String(key)), modules: pairs.map(([, one]) => stepOf(name, one)), options };
  }
  const list = args.length === 1 && Array.isArray(only) ? (only as unknown[]) : args;
  return { names: null, modules: list.map((one) => stepOf(name, one)), options };
}

/** Whether an object has options; modules by name stand alone. */
function isOptions(last: Record<string, unknown>, known: readonly string[], behind: boolean): boolean {
  if (behind) return true;
  const names = Object.keys(last);
  if (names.length > 0 && names.every((one) => known.includes(one))) return true;
  return !Object.values(last).every((value) => typeof value === "function");
}

function stepOf(name: string, module: unknown): TensorDictModuleBase {
  if (isCompatible(module)) return module;
  if (typeof module === "function") return new WrapModule(module as (td: Td) => Td);
  throw new TypeError(`${name}(): argument 'modules' must be modules or functions, not ${typeName(module)}`);
}

/** What a chain of modules reads and writes: an entry that one writes is no input of the next. */
export function keysOfChain(modules: readonly TensorDictModuleBase[]): [inKeys: Key[], outKeys: Key[]] {
  const inKeys: Key[] = [];
  const outKeys: Key[] = [];
  for (const module of modules) {
    for (const key of module.inKeys) if (!includes(outKeys, key) && !includes(inKeys, key)) inKeys.push(key);
    outKeys.push(...module.outKeys);
  }
  return [inKeys, outKeys.filter((key, i) => !includes(outKeys.slice(i + 1), key))];
}

/**
 * Modules that are called one after the other with one TensorDict. Functions of a TensorDict are modules, too; an
 * object gives them names.
 * @throws ValueError for selected outputs that no module has
 * @example
 * ```ts
 * const { TensorDictModule, TensorDictSequential } = tensordict.nn;
 * const both = new TensorDictSequential(
 *   new TensorDictModule((x) => x.add(1), ["a"], ["hidden"]),
 *   new TensorDictModule((x) => x.mul(2), ["hidden"], ["b"]),
 * );
 * print(both.inKeys, both.outKeys, both.length, both.partialTolerant, both.inplace);
 * print(both(ones(2)), both(new TensorDict({ a: ones(2) }, [2])).get("b"));
 * // ('a',) ('hidden', 'b') 2 False None
 * // (tensor([2., 2.]), tensor([4., 4.])) tensor([4., 4.])
 * ```
 * @torch tensordict.nn.TensorDictSequential
 */
export class TensorDictSequential<M extends readonly Keyed<Any, Any>[] = Any> extends TensorDictModule<
  ReadBy<M>,
  WrittenBy<M>
> {
  declare module: ModuleList | ModuleDict;
  /** Whether modules whose inputs are missing are left out. */
  declare partialTolerant: boolean;
  /** @internal */ declare _selects: boolean;

  constructor(...modules: M);
  constructor(...modules: SequentialArguments[]);
  constructor(...given: unknown[]) {
    super();
    if (new.target !== TensorDictSequential && given.length === 0) return;
    this._setSteps(stepsOf<SequentialOptions>("TensorDictSequential", SEQUENTIAL, given));
  }
  /** @internal */
  _setSteps({ names, modules, options }: Steps<SequentialOptions>): void {
    const [inKeys, outKeys] = keysOfChain(modules);
    const pairs = names?.map((name, i) => [name, modules[i] as Module] as const);
    this._setUp(pairs === undefined ? new ModuleList(modules) : new ModuleDict(pairs), inKeys, outKeys);
    this._kwargs = null;
    this.strict = false;
    this.method = null;
    this.methodKwargs = {};
    const inplace = options.inplace ?? null;
    requireInplace(inplace);
    this.inplace = inplace;
    this.partialTolerant = options.partialTolerant ?? false;
    this._selects = false;
    const selected = options.selectedOutKeys ?? null;
    if (selected !== null && selected.length > 0) this._select(outKeysOf(selected));
  }
  private _select(keys: Key[]): void {
    if (!keys.every((key) => includes(this.outKeys, key))) {
      throw new ValueError("All keys in selected_out_keys must be in out_keys.");
    }
    this._selects = true;
    this._outKeysApparent = keys;
  }
  /** Leaves these outputs in the results. @throws ValueError for a key that is no output */
  override selectOutKeys(...outKeys: NestedKey[]): this {
    this._select(outKeysOf(outKeys));
    return this;
  }
  /** Takes all selections of outputs back. */
  override resetOutKeys(): this {
    this._selects = false;
    this._setOutKeys(keysOfChain(this._list())[1]);
    return this;
  }

  /** @internal */
  _list(): TensorDictModuleBase[] {
    const modules = this.module instanceof ModuleDict ? this.module.values() : [...this.module];
    return modules as TensorDictModuleBase[];
  }
  /** How many modules there are. */
  override get length(): number {
    return this.module.length;
  }
  /** A module by its position or name; the sequence of some by a slice: `"1:"`. */
  at(index: number): TensorDictModuleBase;
  at(index: string | Slice): Any;
  at(index: number | string | Slice): Any {
    const part = sliceOf(index);
    if (part !== null) return this._sliced(part);
    if (this.module instanceof ModuleDict) return this.module.get(String(index));
    return this.module.at(index as number);
  }
  /** @internal */
  _sliced(part: readonly [start: number | undefined, stop: number | undefined]): TensorDictModule {
    return this._keepOptions(this._made(this._names()?.slice(...part) ?? null, this._list().slice(...part)));
  }
  /** @internal */
  _names(): string[] | null {
    return this.module instanceof ModuleDict ? this.module.keys() : null;
  }
  /** @internal A sequence of the same class. */
  _made(names: string[] | null, modules: TensorDictModuleBase[]): TensorDictSequential {
    const Class = this.constructor as new (...args: unknown[]) => TensorDictSequential;
    if (names === null) return new Class(...modules);
    return new Class(new Map(names.map((name, i) => [name, modules[i]])));
  }
  /** @internal */
  _keepOptions<S extends TensorDictModule>(sequence: S): S {
    if (sequence instanceof TensorDictSequential) sequence.partialTolerant = this.partialTolerant;
    sequence.inplace = this.inplace;
    return sequence;
  }

  /** Puts another module in a place. @torch tensordict.nn.TensorDictSequential.__setitem__ */
  setAt(index: number | string, module: Step): void {
    const step = stepOf(this.constructor.name, module);
    this._edit((names, list) => {
      const at = this._position(index, names);
      if (at < 0 && names !== null) names.push(String(index));
      list.splice(at < 0 ? list.length : at, at < 0 ? 0 : 1, step);
    });
  }
  /** Takes a module out. @torch tensordict.nn.TensorDictSequential.__delitem__ */
  del_(index: number | string): void {
    this._edit((names, list) => {
      const at = this._position(index, names);
      if (at < 0) throw new KeyError(`'${index}'`);
      names?.splice(at, 1);
      list.splice(at, 1);
    });
  }
  private _position(index: number | string, names: string[] | null): number {
    if (names !== null) return names.indexOf(String(index));
    const count = this.length;
    if (typeof index !== "number" || !Number.isInteger(index)) {
      throw new TypeError(`'${typeName(index)}' object cannot be interpreted as an integer`);
    }
    if (index < -count || index >= count) throw new IndexError(`index ${index} is out of range`);
    return index < 0 ? index + count : index;
  }
  private _edit(change: (names: string[] | null, list: TensorDictModuleBase[]) => void): void {
    const [names, list] = [this._names(), this._list()];
    change(names, list);
    this._checkSteps(list);
    const pairs = names?.map((name, i) => [name, list[i] as Module] as const);
    this.module = pairs === undefined ? new ModuleList(list) : new ModuleDict(pairs);
    this._refresh();
  }
  /** @internal */
  _checkSteps(modules: readonly TensorDictModuleBase[]): void {
    if (!this._selects) return;
    const missing = this.outKeys.filter((key) => !includes(keysOfChain(modules)[1], key));
    if (missing.length === 0) return;
    throw new ValueError(
      `The edit would remove the selected out_keys ${keysRepr(missing)}. Call reset_out_keys() before the edit, or ` +
        "select other keys.",
    );
  }
  /** @internal */
  _refresh(): void {
    const [inKeys, outKeys] = keysOfChain(this._list());
    const selected = this._selects ? this.outKeys : null;
    this._inKeys = inKeys;
    this._setOutKeys(outKeys);
    if (selected !== null) this._outKeysApparent = selected;
  }

  /**
   * The modules that are needed for some outputs, or that some inputs are enough for.
   * @throws ValueError when none is left
   * @torch tensordict.nn.TensorDictSequential.select_subsequence
   */
  selectSubsequence(options: { inKeys?: KeyList | null; outKeys?: KeyList | null } = {}): TensorDictSequential {
    const known = inKeysOf(options.inKeys ?? this.inKeys);
    const wanted = outKeysOf(options.outKeys ?? this.outKeys);
    const list = this._list();
    const kept = new Set(list.keys());
    for (const [i, module] of list.entries()) {
      const part = module.constructor === TensorDictSequential ? partOf(module, { inKeys: known }) : module;
      if (part === null || !part.inKeys.every((key) => includes(known, key))) {
        kept.delete(i);
        continue;
      }
      list[i] = part;
      known.push(...part.outKeys);
    }
    for (const i of [...kept].reverse()) {
      const module = list[i] as TensorDictModuleBase;
      if (!module.outKeys.some((key) => includes(wanted, key))) {
        kept.delete(i);
        continue;
      }
      const part = module.constructor === TensorDictSequential ? partOf(module, { outKeys: wanted }) : module;
      list[i] = part ?? module;
      wanted.push(...(list[i] as TensorDictModuleBase).inKeys);
    }
    if (kept.size === 0) {
      throw new ValueError("No modules left after selection. Make sure that in_keys and out_keys are coherent.");
    }
    const places = [...kept].sort((a, b) => a - b);
    const names = this._names();
    const made = this._made(
      names === null ? null : places.map((i) => names[i] as string),
      places.map((i) => list[i] as TensorDictModuleBase),
    );
    return this._keepOptions(made);
  }

  /** Writes the results of all modules into a TensorDict, or gives those for tensors. */
  override forward<T extends Td>(
    tensordict: T & Having<Inner<T>, ReadBy<M>>,
    options?: ForwardOptions,
  ): With<T, WrittenBy<M>>;
  override forward(...inputs: Inputs<ReadBy<M>>[]): Any;
  override forward(...given: Any[]): Any {
    return callDispatched(this, given, { autoBatchSize: false }, (td, rest) =>
      unlessThere(this, td, () => this._forward(td, rest)),
    );
  }
  /** @internal */
  override _forward(td: Td, rest: readonly unknown[]): Td {
    const [[positional = null], { tensordictOut = null, ...named }] = optionsOf(rest);
    if (Object.keys(named).length > 0) {
      throw new RuntimeError(
        `TensorDictSequential does not support keyword arguments other than 'tensordict_out' or in_keys: ` +
          `${keysRepr(this.inKeys)}. Got dict_keys(${keysRepr(Object.keys(named))}) instead.`,
      );
    }
    const out = tensordictOut ?? (positional as Td | null);
    let at = this._working(td, out);
    for (const module of this._list()) at = this._runStep(module, at);
    return this._result(td, at, out);
  }
  /** @internal What modules write into, where the input has to stay as it is. */
  _working(td: Td, out: Td | null): Td {
    const apart = out !== null || this._selects || this.inplace === false || this.inplace === "empty";
    return apart ? td.copy() : td;
  }
  /** @internal Where results go in the end. */
  _result(td: Td, done: Td, out: Td | null): Td {
    const target = out ?? (this.inplace === null ? null : outputOf(td, this.inplace));
    if (target !== null) return target.update(done, { keysToUpdate: this.outKeys });
    if (!this._selects) return done;
    // What modules have changed of the input is kept as well.
    const before = td.keys({ includeNested: true, leavesOnly: true });
    return td.update(done, { keysToUpdate: [...this.outKeys, ...before] });
  }
  /** @internal */
  _runStep(module: TensorDictModuleBase, td: Td, ...rest: unknown[]): Td {
    if (!this.partialTolerant || hasAll(td, module.inKeys)) return module(td, ...rest);
    if (!isLazy(td)) return td;
    for (const member of td.tensordicts) {
      if (!hasAll(member as Td, module.inKeys)) continue;
      const out = module(member as Td, ...rest);
      if (out === member) continue;
      const keys = module.outKeys.filter((key) => out.has(key));
      if (keys.length > 0) (member as Td).update(out, { keysToUpdate: keys });
    }
    return td;
  }
}
installChecks(TensorDictSequential.prototype, { ...METHODS, ...SEQUENTIAL_METHODS });

/** A part of a sequence inside of another one; null when nothing is left. */
function partOf(module: TensorDictModuleBase, keys: { inKeys?: Key[]; outKeys?: Key[] }): TensorDictModuleBase | null {
  try {
    return (module as TensorDictSequential).selectSubsequence(keys);
  } catch (error) {
    if (error instanceof ValueError) return null;
    throw error;
  }
}

/** The bounds of a slice; null for anything else. */
function sliceOf(index: unknown): readonly [number | undefined, number | undefined] | null {
  if (index instanceof Slice) return [index.start ?? undefined, index.stop ?? undefined];
  const found = typeof index === "string" ? /^(-?\d*):(-?\d*)$/.exec(index) : null;
  if (found === null) return null;
  const bound = (text: string | undefined) => (text === "" || text === undefined ? undefined : Number(text));
  return [bound(found[1]), bound(found[2])];
}
