/** What all modules have that read and write TensorDicts. */

import { Module } from "../../nn/module.ts";
import { inOrder, installChecks } from "../../tensor/checks.ts";
import { RuntimeError, ValueError, warn } from "../../tensor/errors.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { isTensorCollection, type Td } from "../core/state.ts";
import type { NestedKey } from "../core/types.ts";
import { type ModuleLike, toModule } from "../ops/module.ts";
import type { Unchecked } from "./key-types.ts";
import { includes, indent, type Key, type KeyList, keysOf, keysRepr, keyWords } from "./keys.ts";
import { keepingSkip, modes, skips_ } from "./modes.ts";
import { METHODS, STATICS } from "./signatures.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a module takes and gives is its forward's business
type Any = any;

const IN_KEYS = "in_keys must be of type list, str or tuples of str, or dict.";
const OUT_KEYS = "out_keys must be of type list, str or tuples of str.";

/** The keys of inputs. @throws ValueError for what is no list of keys */
export const inKeysOf = (given: unknown): Key[] => keysOf(given, IN_KEYS);
/** The keys of outputs. @throws ValueError for what is no list of keys */
export const outKeysOf = (given: unknown): Key[] => keysOf(given, OUT_KEYS);

/** What was selected of the outputs, and how that is taken back. */
interface Selection {
  before: Key[];
  remove: () => void;
}

export interface TensorDictModuleBase {
  (tensordict: Unchecked<this>, ...rest: Any[]): Td;
  /** Of modules whose `forward` takes the entries themselves, in their order or by name. */
  (...entries: [Tensor, ...Any[]] | [Readonly<Record<string, Tensor>>]): Any;
}

/**
 * The base class of modules that read entries of a TensorDict and write others. A class of yours sets `inKeys` and
 * `outKeys` and has a `forward` that takes a TensorDict and gives one.
 * @example
 * ```ts
 * class Twice extends tensordict.nn.TensorDictModuleBase {
 *   constructor() {
 *     super();
 *     this.inKeys = ["a"];
 *     this.outKeys = ["b"];
 *   }
 *   override forward(td: TensorDict) {
 *     return td.set("b", td.get("a").mul(2));
 *   }
 * }
 * const twice = new Twice();
 * [twice(new TensorDict({ a: ones(2) }, [])).get("b"), twice.inKeys, twice.outKeys, twice.outKeysSource]
 * // [tensor([2., 2.]), [a], [b], [b]]
 * ```
 * @torch tensordict.nn.TensorDictModuleBase
 */
export class TensorDictModuleBase extends Module {
  /** @internal */ declare _inKeys: Key[] | undefined;
  /** @internal */ declare _outKeys: Key[] | undefined;
  /** @internal Those that a selection left. */ declare _outKeysApparent: Key[] | undefined;
  /** @internal */ declare _selections: Selection[] | undefined;

  /** Whether an object has lists of keys. @torch tensordict.nn.TensorDictModuleBase.is_tdmodule_compatible */
  static isTdmoduleCompatible(module: unknown): boolean {
    [module] = inOrder<[unknown]>("isTdmoduleCompatible", STATICS.TensorDictModuleBase.isTdmoduleCompatible, arguments);
    return isCompatible(module);
  }

  /** The keys that it reads. @torch tensordict.nn.TensorDictModuleBase.in_keys */
  get inKeys(): Key[] {
    return this._inKeys ?? [];
  }
  set inKeys(keys: KeyList) {
    this._inKeys = inKeysOf(keys);
  }
  /** The keys that it writes, or what was selected of them. @torch tensordict.nn.TensorDictModuleBase.out_keys */
  get outKeys(): Key[] {
    return this._outKeysApparent ?? [];
  }
  set outKeys(keys: KeyList) {
    this._setOutKeys(outKeysOf(keys));
  }
  /** All keys that it writes. @torch tensordict.nn.TensorDictModuleBase.out_keys_source */
  get outKeysSource(): Key[] {
    return this._outKeys ?? [];
  }
  /** @internal */
  _setOutKeys(keys: Key[]): void {
    this._outKeys = keys;
    this._outKeysApparent = keys;
  }

  /**
   * Leaves these outputs in the results; others are removed after each call.
   * @throws ValueError for a key that is no output
   * @torch tensordict.nn.TensorDictModuleBase.select_out_keys
   */
  selectOutKeys(...outKeys: NestedKey[]): this {
    const wanted = outKeysOf(outKeys);
    const source = this.outKeys;
    const missing = wanted.filter((key) => !includes(source, key));
    if (missing.length > 0) throw unknownOutputs(wanted, missing, source);
    // A class field of that name stands before the accessor.
    if (Object.hasOwn(this, "outKeys")) {
      Reflect.deleteProperty(this, "outKeys");
      this._outKeys = source;
    }
    this._outKeysApparent = wanted;
    const handle = this.registerForwardHook((module, args, output) =>
      selected(module as TensorDictModuleBase, args, output, source),
    );
    this._selections = [...(this._selections ?? []), { before: source, remove: () => handle.remove() }];
    return this;
  }

  /** Takes all selections of outputs back. @torch tensordict.nn.TensorDictModuleBase.reset_out_keys */
  resetOutKeys(): this {
    for (const { before, remove } of [...(this._selections ?? [])].reverse()) {
      remove();
      this._outKeysApparent = before;
    }
    this._selections = [];
    return this;
  }

  /**
   * Sets the parameters of all modules inside anew; those of a TensorDict instead, which is given back, when there is
   * one.
   * @throws RuntimeError for a TensorDict with a batch size
   * @torch tensordict.nn.TensorDictModuleBase.reset_parameters_recursive
   */
  resetParametersRecursive(parameters: Td | null = null): Td | null {
    if (parameters === null) {
      if (resetParameters(this)) return null;
      warn(
        "reset_parameters_recursive was called without the parameters argument and did not find any parameters " +
          "to reset",
      );
      return null;
    }
    if (parameters.ndim > 0) {
      throw new RuntimeError(
        "reset_parameters_recursive does not support batched TensorDicts, ensure `batch_size` is empty and the " +
          "parameters shape match their original shape.",
      );
    }
    const fresh = parameters.apply((t) => t.detach().requiresGrad_()) as Td;
    const before = toModule(fresh, this as ModuleLike, { preserveModuleState: false });
    try {
      resetParameters(this);
    } finally {
      before[Symbol.dispose]();
    }
    return fresh;
  }

  /** What it is made of, and its keys. */
  override toString(): string {
    const entries = this.namedChildren().map(([name, module]) => `${name}=${module}`);
    const { module } = this as { module?: unknown };
    if (module !== undefined && !(module instanceof Module)) entries.unshift(`module=${functionText(module)}`);
    entries.push(`in_keys=${keysRepr(this.inKeys)}`, `out_keys=${keysRepr(this.outKeys)}`);
    return `${this.constructor.name}(\n${indent(entries.join(",\n"))})`;
  }
}
installChecks(TensorDictModuleBase.prototype, METHODS);

/** How something that is called and no module prints. */
export function functionText(value: unknown): string {
  if (typeof value !== "function") return String(value);
  return `<function ${value.name === "" ? "<lambda>" : value.name}>`;
}

/** Whether something has lists of keys. */
export function isCompatible(module: unknown): module is TensorDictModuleBase {
  return typeof module === "function" && "inKeys" in module && "outKeys" in module;
}

function unknownOutputs(wanted: readonly Key[], missing: readonly Key[], source: readonly Key[]): ValueError {
  const [only] = wanted;
  if (wanted.length > 1 || only === undefined) {
    const all = `Can't select non existent keys: ${keysRepr(missing)}. The module out_keys are ${keysRepr(source)}.`;
    return new ValueError(all);
  }
  const text = `Can't select non existent key: ${keyWords(only)}. `;
  if (typeof only === "string" || !includes(source, only[0] as string)) return new ValueError(text);
  return new ValueError(`${text}Are you passing the keys in a list? Try unpacking as: \`${only.join(", ")}\``);
}

/** What is left of the output of a module when its outputs are selected. */
function selected(
  module: TensorDictModuleBase,
  args: readonly unknown[],
  output: Any,
  source: readonly Key[],
): unknown {
  const { outKeys } = module;
  if (!isTensorCollection(args[0]) || !isTensorCollection(output)) {
    const list = Array.isArray(output) ? output : [output];
    if (list.length === outKeys.length) return output;
    const kept = list.filter((_, i) => includes(outKeys, module.outKeysSource[i] as Key));
    return kept.length === 1 ? kept[0] : kept;
  }
  const td = output as Td;
  const excluded = source.filter((key) => !includes(outKeys, key) && !includes(module.inKeys, key));
  td.exclude(...excluded, { inplace: true });
  for (const key of excluded) {
    // What held excluded entries only goes with them.
    for (let depth = typeof key === "string" ? 0 : key.length - 1; depth > 0; depth--) {
      const parent = key.slice(0, depth) as string[];
      if (includes(outKeys, parent) || includes(module.inKeys, parent)) break;
      const inner = td.get(parent, null);
      if (!isTensorCollection(inner) || !(inner as Td).isEmpty()) break;
      td.del_(parent);
    }
  }
  return td;
}

/** Whether there was anything that could be set anew. */
function resetParameters(module: Module): boolean {
  let any = false;
  for (const child of module.children()) {
    if (resetParameters(child)) any = true;
    const { resetParameters: reset } = child as { resetParameters?: () => void };
    if (typeof reset !== "function") continue;
    reset.call(child);
    any = true;
  }
  return any;
}

/** Runs a module unless its results are there and are to be kept. */
export function unlessThere(module: TensorDictModuleBase, td: Td, body: () => Td): Td {
  if (modes.skip === false) return body();
  const { inKeys, outKeys } = module;
  const there = skips_(outKeys) && outKeys.every((key) => td.has(key));
  if (there && !inKeys.some((key) => includes(outKeys, key))) return td;
  return keepingSkip(body);
}
