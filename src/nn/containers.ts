/** Modules that hold other modules in order or by name. */

import { installChecks } from "../tensor/checks.ts";
import { IndexError, KeyError, TypeError, ValueError } from "../tensor/errors.ts";
import { typeName } from "../tensor/type-name.ts";
import { callAll } from "./chains.ts";
import { Module } from "./module.ts";
import { settings } from "./options.ts";
import { listText } from "./printing.ts";
import { DICT, MODULE, ORDERED } from "./signatures.ts";

/** The key of position `index`, counted from the end when negative. */
function keyAt(index: unknown, length: number): string {
  if (typeof index !== "number" || !Number.isInteger(index)) {
    throw new TypeError(`'${typeName(index)}' object cannot be interpreted as an integer`);
  }
  if (index < -length || index >= length) throw new IndexError(`index ${index} is out of range`);
  return String(index < 0 ? index + length : index);
}

/** What ordered containers have in common. */
abstract class Ordered extends Module {
  /** Number of modules. */
  override get length(): number {
    return this._modules.size;
  }
  /** The module at a position, counted from the end when negative. */
  at(index: number): Module {
    return this._modules.get(keyAt(index, this.length)) as Module;
  }
  /** Puts a module at a position. */
  setAt(index: number, module: Module): void {
    const key = keyAt(index, this.length);
    if (!(module instanceof Module)) throw new TypeError(`${typeName(module)} is not a Module subclass`);
    this._modules.set(key, module);
  }
  /** Adds a module at the end. @torch torch.nn.ModuleList.append */
  append(module: Module): this {
    this.addModule(String(this.length), module);
    return this;
  }
  /** Adds modules at the end. @torch torch.nn.ModuleList.extend */
  extend(modules: Iterable<Module>): this {
    if (typeof (modules as Ordered)?.[Symbol.iterator] !== "function") {
      throw new TypeError(`ModuleList.extend should be called with an iterable, but got ${typeName(modules)}`);
    }
    for (const m of modules) this.append(m);
    return this;
  }
  /** Puts a module before a position. */
  insert(index: number, module: Module): this {
    if (!(module instanceof Module)) throw new TypeError(`${typeName(module)} is not a Module subclass`);
    const list = [...this];
    const at = index < 0 ? Math.max(0, index + list.length) : Math.min(index, list.length);
    list.splice(at, 0, module);
    this.append(list[list.length - 1] as Module);
    list.forEach((m, i) => {
      this._modules.set(String(i), m);
    });
    return this;
  }
  *[Symbol.iterator](): IterableIterator<Module> {
    for (const m of this._modules.values()) yield m as Module;
  }
}
installChecks(Ordered.prototype, ORDERED);

/**
 * Calls its modules one after the other.
 * @example
 * ```ts
 * new nn.Sequential(new nn.ReLU(), new nn.Softmax(0))(tensor([-1, 0])) // tensor([0.5000, 0.5000])
 * ```
 * @torch torch.nn.Sequential
 */
export class Sequential extends Ordered {
  constructor(...modules: (Module | Record<string, Module> | ReadonlyMap<string, Module>)[]) {
    super();
    const only = modules.length === 1 ? modules[0] : undefined;
    if (only instanceof Map) for (const [name, m] of only) this.addModule(name, m);
    else if (only !== undefined && !(only instanceof Module) && isNamed(only)) {
      for (const [name, m] of Object.entries(only)) this.addModule(name, m);
    } else {
      modules.forEach((m, i) => {
        this.addModule(String(i), m as Module);
      });
    }
  }
  override at(index: number): Module {
    keyAt(index, this.length);
    return [...this].at(index) as Module;
  }
  override setAt(index: number, module: Module): void {
    keyAt(index, this.length);
    if (!(module instanceof Module)) throw new TypeError(`${typeName(module)} is not a Module subclass`);
    const names = [...this._modules.keys()];
    this._modules.set(names.at(index) as string, module);
  }
  // biome-ignore lint/suspicious/noExplicitAny: the first module's input, the last one's output
  override forward(input: any): any {
    return callAll(this._modules.values() as Iterable<Module>, input);
  }
}
installChecks(Sequential.prototype, ORDERED);

function isNamed(x: unknown): x is Record<string, Module> {
  return typeof x === "object" && x !== null && Object.getPrototypeOf(x) === Object.prototype;
}

/**
 * A list of modules.
 * @example
 * ```ts
 * new nn.ModuleList([new nn.ReLU()]) // ModuleList(
 * //   (0): ReLU()
 * // )
 * ```
 * @torch torch.nn.ModuleList
 */
export class ModuleList extends Ordered {
  constructor(...options: [modules?: Iterable<Module>]) {
    super();
    this.extend(settings<{ modules: Iterable<Module> }>("ModuleList", options, { modules: [] }).modules);
  }
  /** Its modules, equal neighbours as one line. */
  override toString(): string {
    return listText(this);
  }
}
installChecks(ModuleList.prototype, MODULE);

/** Modules by name: an object, or pairs. */
type NamedModules = Readonly<Record<string, Module>> | Iterable<readonly [string, Module]>;

/** Names and modules of what a user gave. */
function pairsOf(modules: NamedModules): [string, Module][] {
  if (typeof modules !== "object" || modules === null) {
    const got = typeName(modules);
    throw new TypeError(`ModuleDict.update should be called with an iterable of key/value pairs, but got ${got}`);
  }
  if (!(Symbol.iterator in modules)) return Object.entries(modules);
  return Array.from(modules as Iterable<[string, Module]>, (pair, i) => {
    if (Array.isArray(pair) && pair.length === 2) return pair as [string, Module];
    if (Array.isArray(pair)) {
      throw new ValueError(`ModuleDict update sequence element #${i} has length ${pair.length}; 2 is required`);
    }
    throw new TypeError(`ModuleDict update sequence element #${i} should be Iterable; is${typeName(pair)}`);
  });
}

/**
 * Modules by name.
 * @throws KeyError for a name that is not there
 * @example
 * ```ts
 * new nn.ModuleDict({ act: new nn.ReLU() }).get("act") // ReLU()
 * ```
 * @torch torch.nn.ModuleDict
 */
export class ModuleDict extends Module {
  constructor(...options: [modules?: NamedModules]) {
    super();
    this.update(settings<{ modules: NamedModules }>("ModuleDict", options, { modules: {} }).modules);
  }
  /** The number of modules. @torch len(torch.nn.ModuleDict) */
  override get length(): number {
    return this._modules.size;
  }
  /** Adds and replaces modules. @torch torch.nn.ModuleDict.update */
  update(modules: NamedModules): this {
    for (const [name, m] of pairsOf(modules)) this.set(name, m);
    return this;
  }
  /** The module of a name. @torch torch.nn.ModuleDict.__getitem__ */
  get(name: string): Module {
    const found = this._modules.get(name);
    if (found === undefined || found === null) throw new KeyError(`'${name}'`);
    return found;
  }
  /** Sets the module of a name. @torch torch.nn.ModuleDict.__setitem__ */
  set(name: string, module: Module): this {
    if (this._modules.has(name)) this._modules.set(name, module);
    else this.addModule(name, module);
    return this;
  }
  /** Whether there is a module of that name. @torch torch.nn.ModuleDict.__contains__ */
  has(name: string): boolean {
    return this._modules.has(name);
  }
  /** The names. @torch torch.nn.ModuleDict.keys */
  keys(): string[] {
    return [...this._modules.keys()];
  }
  /** The modules. @torch torch.nn.ModuleDict.values */
  values(): Module[] {
    return [...this._modules.values()] as Module[];
  }
  /** Names and modules. @torch torch.nn.ModuleDict.items */
  items(): [string, Module][] {
    return [...this._modules] as [string, Module][];
  }
}
installChecks(ModuleDict.prototype, DICT);
