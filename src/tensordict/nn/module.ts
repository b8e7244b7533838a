/** Modules and functions that read entries of a TensorDict and write their results into it. */
import { Module } from "../../nn/module.ts";
import { inOrder, isDict, namedArguments } from "../../tensor/checks.ts";
import { KeyError, RuntimeError, ValueError, warn } from "../../tensor/errors.ts";
import { typeName } from "../../tensor/type-name.ts";
import { TensorDict } from "../classes/tensordict.ts";
import { keyPath } from "../core/keys.ts";
import { pythonRepr } from "../core/python-repr.ts";
import { isNonTensor, isTensorCollection, type Td } from "../core/state.ts";
import type { Inner, NestedKey } from "../core/types.ts";
import { callDispatched } from "./dispatch.ts";
import type { Having, Inputs, With } from "./key-types.ts";
import { includes, indent, type Key, type KeyList, keyRepr, keysRepr } from "./keys.ts";
import { modes } from "./modes.ts";
import { functionText, inKeysOf, outKeysOf, TensorDictModuleBase, unlessThere } from "./module-base.ts";
import { CONSTRUCTORS, FUNCTIONS } from "./signatures.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a module takes and gives is its forward's business
type Any = any;

/** Where results go: into the input, a new TensorDict, or an empty one like the input. */
export type Inplace = boolean | "empty" | null;

/** Options of `TensorDictModule`. */
export interface TensorDictModuleOptions {
  /** Whether `inKeys` as an object names the keys of arguments (true, the default) or the arguments of keys. */
  outToInMap?: boolean;
  /** Where results go. Default true: into the input. */
  inplace?: Inplace;
  /** The method that is called. Default: the module itself. */
  method?: string | null;
  /** Options for each call. */
  methodKwargs?: Record<string, unknown>;
  /** Whether an entry that is missing is an error by itself; otherwise it is null. Default false. */
  strict?: boolean;
}

/** Options of a call. */
export interface ForwardOptions {
  /** Where results are written instead. */
  tensordictOut?: Td | null;
  [name: string]: unknown;
}

/** The positional rest of a call, and what was named. */
export function optionsOf(rest: readonly unknown[]): [positional: readonly unknown[], named: ForwardOptions] {
  const last = rest.at(-1);
  return isDict(last) ? [rest.slice(0, -1), { ...last }] : [rest, {}];
}

/** What a call is given beside the TensorDict. */
interface More {
  tensordictOut: Td | null;
  named: Record<string, unknown>;
}

const NOTHING_MORE: More = { tensordictOut: null, named: {} };

function readMore(rest: readonly unknown[]): More {
  const [extra, { tensordictOut = null, ...named }] = optionsOf(rest);
  if (extra.length > 0) throw new ValueError("Got a non-empty list of extra agruments, when none was expected.");
  return { tensordictOut, named };
}

function isEmpty(options: object): boolean {
  for (const name in options) if (Object.hasOwn(options, name)) return false;
  return true;
}

/** An entry as functions take it: values that are no tensors are unwrapped. */
function entryOf(td: Td, key: Key, strict: boolean): unknown {
  const entry = strict ? td.at(key as string) : td.get(key, null);
  return isNonTensor(entry) ? td.at(key as string) : entry;
}

/** A new TensorDict for results, or the input itself. */
export function outputOf(td: Td, inplace: Inplace): Td {
  if (inplace === true) return td;
  return inplace === "empty" ? td.empty() : new TensorDict({}, []);
}

/** @throws ValueError for what says nothing about where results go */
export function requireInplace(inplace: unknown): void {
  if (inplace === null || typeof inplace === "boolean" || inplace === "empty") return;
  const got = typeof inplace === "string" ? inplace : pythonRepr(inplace);
  throw new ValueError(
    `The only accepted valued for inplace is \`None\`, \`True\`, \`False\`, or \`'empty'\`. Got ` +
      `inplace=${got} instead.`,
  );
}

/** What a module may call: a function, a module, or an object one of whose methods is named. */
export type Callee = ((...inputs: Any[]) => unknown) | object;

// Called with a collection; the other calls are those of `forward`.
export interface TensorDictModule<I, O> {
  <T extends Td>(tensordict: T & Having<Inner<T>, I>, options?: ForwardOptions): With<T, O>;
}

/**
 * A module or a function whose inputs are entries of a TensorDict, and whose results are written into it. Called with
 * tensors instead, it gives tensors. `inKeys` is a list of keys, one for each argument; an object `{ argument: key }`
 * passes them in one object. The output key "_" drops a result.
 * @throws ValueError for lists of keys that are none, RuntimeError for more or fewer results than keys
 * @example
 * ```ts
 * const module = new tensordict.nn.TensorDictModule(new nn.Linear(2, 3), ["input"], [["hidden", "output"]]);
 * print(module);
 * const td = module(new TensorDict({ input: ones(4, 2) }, [4]));
 * print(td.get(["hidden", "output"]).shape, module(ones(5, 2)).shape);
 * // TensorDictModule(
 * //     module=Linear(in_features=2, out_features=3, bias=True),
 * //     in_keys=['input'],
 * //     out_keys=[('hidden', 'output')])
 * // torch.Size([4, 3]) torch.Size([5, 3])
 * ```
 * @torch tensordict.nn.TensorDictModule
 */
export class TensorDictModule<
  const I extends NestedKey = Any,
  const O extends NestedKey = Any,
> extends TensorDictModuleBase {
  /** @internal */ declare readonly _reads: I;
  /** @internal */ declare readonly _writes: O;
  /** What is called. */
  declare module: Any;
  /** Where results go. */
  declare inplace: Inplace;
  /** The method that is called; null: the module itself. */
  declare method: string | null;
  /** Options for each call. */
  declare methodKwargs: Record<string, unknown>;
  /** Whether an entry that is missing is an error by itself. */
  declare strict: boolean;
  /** @internal The names of arguments, where they are passed by name. */ declare _kwargs: string[] | null;

  constructor(
    module: Callee,
    inKeys: readonly I[] | (I & string) | Readonly<Record<string, I>>,
    outKeys: readonly O[] | (O & string),
    options?: TensorDictModuleOptions & { inplace?: true; outToInMap?: true },
  );
  constructor(
    options: {
      module: Callee;
      inKeys: readonly I[] | (I & string) | Readonly<Record<string, I>>;
      outKeys: readonly O[] | (O & string);
    } & TensorDictModuleOptions & { inplace?: true; outToInMap?: true },
  );
  constructor(
    module: Callee,
    inKeys: KeyList | Record<string, NestedKey>,
    outKeys: KeyList,
    options?: TensorDictModuleOptions,
  );
  constructor(
    options: {
      module: Callee;
      inKeys: KeyList | Record<string, NestedKey>;
      outKeys: KeyList;
    } & TensorDictModuleOptions,
  );
  /** @internal What subclasses set themselves. */
  constructor();
  constructor(...given: unknown[]) {
    super();
    if (new.target !== TensorDictModule && given.length === 0) return;
    const o = namedArguments("TensorDictModule", CONSTRUCTORS.TensorDictModule, given) as Any;
    const method = o.method ?? null;
    const outToInMap = o.outToInMap ?? null;
    if (outToInMap !== null && !isDict(o.inKeys)) {
      warn("out_to_in_map is not None but is only used when in_key is a dictionary.");
    }
    const [names, inKeys] = inputsOf(o.inKeys, outToInMap !== false);
    const outKeys = outKeysOf(o.outKeys);
    if (method === null && typeof o.module !== "function") {
      throw new ValueError(
        `Module ${functionText(o.module)} if type ${typeName(o.module)} is not callable. Typical accepted types are ` +
          "nn.Module or TensorDictModule. If you need to call a specific method from your module, pass the `method` " +
          "keyword argument to the TensorDictModule constructor.",
      );
    }
    this._setUp(o.module, inKeys, outKeys);
    this._kwargs = names;
    this.strict = o.strict ?? false;
    if (includes(inKeys, "_")) warn('key "_" is for ignoring output, it should not be used in input keys');
    const inplace = o.inplace === undefined ? true : o.inplace;
    requireInplace(inplace);
    this.inplace = inplace;
    this.method = method;
    this.methodKwargs = o.methodKwargs ?? {};
  }
  /** @internal */
  _setUp(module: Any, inKeys: Key[], outKeys: Key[]): void {
    this.module = module;
    this._inKeys = inKeys;
    this._setOutKeys(outKeys);
  }

  /** Writes the results for a TensorDict into it, or gives those for tensors. */
  override forward<T extends Td>(tensordict: T & Having<Inner<T>, I>, options?: ForwardOptions): With<T, O>;
  override forward(...inputs: Inputs<I>[]): Any;
  override forward(...given: Any[]): Any {
    // Nearly all calls are of this kind.
    const only = given[0];
    if (given.length === 1 && modes.skip === false && isTensorCollection(only)) return this._forward(only as Td, []);
    return callDispatched(this, given, { autoBatchSize: false }, (td, rest) =>
      unlessThere(this, td, () => this._forward(td, rest)),
    );
  }
  /** @internal */
  _forward(td: Td, rest: readonly unknown[]): Td {
    try {
      const { tensordictOut, named } = rest.length === 0 ? NOTHING_MORE : readMore(rest);
      const { inKeys, strict } = this;
      const values: unknown[] = [];
      for (let i = 0; i < inKeys.length; i++) values.push(entryOf(td, inKeys[i] as Key, strict));
      const outputs = this._outputs(this._call(values, named));
      return this._write(tensordictOut ?? outputOf(td, this.inplace), outputs);
    } catch (error) {
      explain(error, this);
      throw error;
    }
  }
  private _call(values: unknown[], named: Record<string, unknown>): Any {
    const plain = this._kwargs === null && isEmpty(named) && isEmpty(this.methodKwargs);
    const args = plain ? values : this._arguments(values, named);
    try {
      if (this.method !== null) return this.module[this.method](...args);
      return args.length === 1 ? this.module(args[0]) : this.module(...args);
    } catch (error) {
      const missing = this.inKeys.filter((_, i) => values[i] === null);
      if (missing.length === 0 || !/None|null|undefined/.test(String(error))) throw error;
      throw new KeyError(
        "Some tensors that are necessary for the module call may not have not been found in the input tensordict: " +
          `the following inputs are None: {${missing.map(keyRepr).join(", ")}}.`,
        { cause: error },
      );
    }
  }
  /** What is passed in places, and an object of what is passed by name. */
  private _arguments(values: unknown[], named: Record<string, unknown>): unknown[] {
    const options = { ...named, ...this.methodKwargs };
    for (const [i, name] of (this._kwargs ?? []).entries()) options[name] = values[i];
    const args = this._kwargs === null ? values : [];
    if (Object.keys(options).length > 0) args.push(options);
    return args;
  }
  /** One result for each output: of an array, or of a TensorDict or an object that has all keys. */
  private _outputs(results: Any): unknown[] {
    if (results === null || results === undefined) return [];
    const keys = this.outKeysSource;
    if (isTensorCollection(results)) {
      const td = results as Td;
      return keys.every((key) => td.has(key)) ? keys.map((key) => td.get(key)) : [td];
    }
    if (isDict(results) && keys.every((key) => Object.hasOwn(results, keyPath(key).join(".")))) {
      return keys.map((key) => results[keyPath(key).join(".")]);
    }
    return Array.isArray(results) ? results : [results];
  }
  private _write(td: Td, outputs: readonly unknown[]): Td {
    const keys = this.outKeysSource;
    if (outputs.length > keys.length) {
      throw new RuntimeError(
        `There are more tensors (len(tensors)=${outputs.length}) than out_keys (out_keys=${keysRepr(keys)}).`,
      );
    }
    if (keys.length > outputs.length) throw new RuntimeError("There are more out_keys than tensors.");
    for (let i = 0; i < keys.length; i++) if (keys[i] !== "_") td.set(keys[i] as Key, outputs[i]);
    return td;
  }
}

/** The names of arguments, where `inKeys` is an object, and the keys. */
function inputsOf(given: unknown, named: boolean): [names: string[] | null, keys: Key[]] {
  if (!isDict(given)) return [null, inKeysOf(given)];
  const [left, right] = [Object.keys(given), Object.values(given)];
  return named ? [left, inKeysOf(right)] : [right.map(String), inKeysOf(left)];
}

/** Says in an error's cause which module failed. */
function explain(error: unknown, module: TensorDictModule): void {
  if (!(error instanceof Error) || error.cause !== undefined) return;
  const inner: unknown = module.module;
  const lines = [
    inner instanceof Module ? String(inner) : String(functionSource(inner)),
    `in_keys=${keysRepr(module.inKeys)}`,
    `out_keys=${keysRepr(module.outKeys)}`,
  ];
  const text = `TensorDictModule failed with operation\n${lines.map((line) => indent(line)).join("\n")}.`;
  Object.defineProperty(error, "cause", { value: new RuntimeError(text), configurable: true });
}

const functionSource = (value: unknown): string =>
  typeof value === "function" ? Function.prototype.toString.call(value) : String(value);

/**
 * A module around another one, which has its keys; a class of yours adds to what it does.
 * @example
 * ```ts
 * class Loud extends tensordict.nn.TensorDictModuleWrapper {
 *   override forward(td: TensorDict) {
 *     return super.forward(td).set("loud", ones(1));
 *   }
 * }
 * const loud = new Loud(new tensordict.nn.TensorDictModule((x) => x.add(1), ["a"], ["b"]));
 * [loud.inKeys, loud.outKeys, loud(new TensorDict({ a: ones(1) }, [])).keys(), loud.tdModule.outKeys]
 * // [[a], [b], [a, b, loud], [b]]
 * ```
 * @torch tensordict.nn.TensorDictModuleWrapper
 */
export class TensorDictModuleWrapper extends TensorDictModuleBase {
  /** The module inside. */
  declare tdModule: TensorDictModuleBase;

  constructor(tdModule: TensorDictModuleBase) {
    super();
    [tdModule] = inOrder<[TensorDictModuleBase]>(
      "TensorDictModuleWrapper",
      CONSTRUCTORS.TensorDictModuleWrapper,
      arguments,
    );
    this.tdModule = tdModule;
  }
  override get inKeys(): Key[] {
    return this.tdModule.inKeys;
  }
  override set inKeys(keys: KeyList) {
    this.tdModule.inKeys = keys;
  }
  override get outKeys(): Key[] {
    return this._outKeysApparent ?? this.tdModule.outKeys;
  }
  override set outKeys(keys: KeyList) {
    this.tdModule.outKeys = keys;
    this._outKeysApparent = this.tdModule.outKeys;
  }
  override get outKeysSource(): Key[] {
    return this.tdModule.outKeysSource;
  }
  /** What the module inside gives. */
  override forward(...args: Any[]): Any {
    return this.tdModule(...(args as [Td]));
  }
}

/** Options of `WrapModule`. */
export interface WrapModuleOptions {
  /** Whether the result is written into the input. Default false. */
  inplace?: boolean;
  /** The keys that the function reads. */
  inKeys?: KeyList;
  /** The keys that it writes. */
  outKeys?: KeyList;
}

/**
 * A function of a TensorDict as a module.
 * @example
 * ```ts
 * const flat = new tensordict.nn.WrapModule((td) => td.reshape(-1));
 * [flat(new TensorDict({ a: ones(2, 3) }, [2, 3])).batchSize, flat.inplace, flat.func.length]
 * // [torch.Size([6]), false, 1]
 * ```
 * @torch tensordict.nn.WrapModule
 */
export class WrapModule extends TensorDictModuleBase {
  /** The function. */
  declare func: (tensordict: Td) => Td;
  /** Whether the result is written into the input. */
  declare inplace: boolean;

  constructor(func: (tensordict: Td) => Td, options?: WrapModuleOptions);
  constructor(...given: unknown[]) {
    super();
    const o = namedArguments("WrapModule", CONSTRUCTORS.WrapModule, given) as Any;
    this.func = o.func;
    this.inplace = o.inplace ?? false;
    this._inKeys = inKeysOf(o.inKeys ?? []);
    this._setOutKeys(outKeysOf(o.outKeys ?? []));
  }
  /** What the function gives. */
  override forward(data: Td): Td {
    const result = this.func(data);
    return this.inplace && result !== data ? data.update(result) : result;
  }
}

/**
 * Makes functions to be called with a TensorDict, too; also a decorator of methods.
 * @example
 * ```ts
 * const total = tensordict.nn.asTensordictModule({ inKeys: ["a", "b"], outKeys: "sum" })((x, y) => x.add(y));
 * [total(ones(2), ones(2)), total(new TensorDict({ a: ones(1), b: ones(1) }, [])).get("sum")]
 * // [tensor([2., 2.]), tensor([2.])]
 * ```
 * @torch tensordict.nn.as_tensordict_module
 */
export function asTensordictModule(options: {
  inKeys: KeyList;
  outKeys: KeyList;
}): (func: (...args: Any[]) => Any, context?: unknown) => (...args: Any[]) => Any {
  const { inKeys, outKeys } = namedArguments("asTensordictModule", FUNCTIONS.asTensordictModule, [options]) as Any;
  inKeysOf(inKeys);
  outKeysOf(outKeys);
  return (func) =>
    function (this: unknown, ...args: Any[]): Any {
      return new TensorDictModule(func.bind(this), inKeys, outKeys)(...(args as [Td]));
    };
}
