// Objects of classes that are not there: what a pickle says of them, as values that can be looked at and written back.
import { inOrder, installChecks } from "../../tensor/checks.ts";
import { Complex, Float, Int } from "../../tensor/complex.ts";
import { TypeError } from "../../tensor/errors.ts";
import { setOwn } from "../../tensor/objects.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { isPlainObject, pythonFloatRepr, pythonJsonString } from "../base/python-json.ts";
import { asInPython } from "../base/python-origin.ts";
import { CONSTRUCTORS, METHODS } from "../base/signatures.ts";

/**
 * A class or a function of Python's, by its name. Nothing is behind it: it is not imported and cannot be called.
 * @example
 * ```ts
 * const relu = new io.PythonName("torch.nn.functional", "relu");
 * String(relu) // torch.nn.functional.relu
 * ```
 */
export class PythonName {
  /** Where Python imports it from: "torch.nn.functional". */
  readonly module: string;
  /** Its qualified name there: "relu", or "Outer.Inner". */
  readonly name: string;

  constructor(module: string, name: string) {
    [module, name] = inOrder<[string, string]>("PythonName", CONSTRUCTORS.PythonName, arguments);
    this.module = module;
    this.name = name;
  }
  /** Module and name: "torch.nn.functional.relu". */
  toString(): string {
    return `${this.module}.${this.name}`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return String(this);
  }
}
installChecks(PythonName.prototype, METHODS.PythonName);

/** What was done in Python to have an object, for `PythonObject`. */
export interface PythonObjectParts {
  /**
   * "new" (default): an instance that was made without its constructor; "call": what the class or function gives for
   * the arguments. A file of torch's may also have a "storage" by itself, whose bytes are `args[0]`, and, by other
   * programs, a "persistent" id that is not torch's.
   */
  how?: "new" | "call" | "storage" | "persistent";
  /** Positional arguments. */
  args?: readonly unknown[];
  /** Named arguments. */
  kwargs?: Record<string, unknown> | null;
  /** What a subclass of `list` holds. */
  listItems?: unknown[] | null;
  /** What a subclass of `dict` holds: an object, or a Map where a key is no string. */
  dictItems?: Record<string, unknown> | Map<unknown, unknown> | null;
  /** Its attributes, or whatever its class takes as its state; undefined for none. */
  state?: unknown;
  /** The function that gives it its state, where that is not its class. */
  stateSetter?: PythonName | PythonObject | null;
}

/**
 * An object of a Python class as its pickle describes it: the name of the class or function, and what it was given.
 * It is data: nothing of it is imported, run or checked. `loadTorch` gives it for whatever has no value here, an
 * `argparse.Namespace`, a `datetime.date`, a whole pickled module, and `saveTorch` writes it as it was.
 * @example
 * ```ts
 * const args = new io.PythonObject(new io.PythonName("argparse", "Namespace"), { state: { lr: 0.1 } });
 * [args.className, args.get("lr"), args] // [argparse.Namespace, 0.1, argparse.Namespace(lr=0.1)]
 * ```
 */
export class PythonObject {
  /** What was called or instantiated. */
  callee: PythonName | PythonObject;
  /** See `PythonObjectParts`. */
  how: "new" | "call" | "storage" | "persistent";
  /** Positional arguments, a tuple. */
  args: readonly unknown[];
  /** Named arguments, or null. */
  kwargs: Record<string, unknown> | null;
  /** What a subclass of `list` holds, or null. */
  listItems: unknown[] | null;
  /** What a subclass of `dict` holds, or null. */
  dictItems: Record<string, unknown> | Map<unknown, unknown> | null;
  /** Its state, mostly an object of its attributes; undefined for none. */
  // biome-ignore lint/suspicious/noExplicitAny: the file decides what it holds
  state: any;
  /** What sets that state, where it is not the class, or null. */
  stateSetter: PythonName | PythonObject | null;

  constructor(callee: PythonName | PythonObject, parts: PythonObjectParts = {}) {
    [callee, parts = {}] = inOrder<[PythonName | PythonObject, PythonObjectParts?]>(
      "PythonObject",
      CONSTRUCTORS.PythonObject,
      arguments,
    );
    if (!(callee instanceof PythonName || callee instanceof PythonObject)) {
      throw new TypeError("callee must be a PythonName or a PythonObject", { op: "PythonObject" });
    }
    this.callee = callee;
    this.how = parts.how ?? "new";
    this.args = parts.args === undefined ? EMPTY : Object.freeze([...parts.args]);
    this.kwargs = parts.kwargs ?? null;
    this.listItems = parts.listItems ?? null;
    this.dictItems = parts.dictItems ?? null;
    this.state = parts.state;
    this.stateSetter = parts.stateSetter ?? null;
  }

  /** Module and name of the class or function: "argparse.Namespace". */
  get className(): string {
    return this.callee instanceof PythonName ? String(this.callee) : `(${pythonText(this.callee, 200)})`;
  }

  /** Attributes by name: those of its state, and those of slots. Empty where the state is anything else. */
  get attributes(): Record<string, unknown> {
    const { state } = this;
    const parts = Array.isArray(state) && state.length === 2 ? state : [state];
    const found: Record<string, unknown> = {};
    for (const part of parts) {
      const pairs = part instanceof Map ? part : isPlainObject(part) ? Object.entries(part) : [];
      for (const [key, value] of pairs) if (typeof key === "string") setOwn(found, key, value);
    }
    return found;
  }

  /**
   * The attribute, or the item of a subclass of `dict`, of this name, also a parameter, buffer or module of a module's;
   * undefined where there is none.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the file decides what it holds
  get(name: string): any {
    const { attributes } = this;
    if (Object.hasOwn(attributes, name)) return attributes[name];
    for (const dict of [this.dictItems, ...MODULE_PARTS.map((part) => ownOf(attributes, part))]) {
      const found = ownOf(dict, name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /**
   * The parameters and the persistent buffers of a pickled module, with those of the modules in it, under the names of
   * `state_dict()`: what `module.loadStateDict` takes. Empty for anything else.
   */
  stateDict(): Record<string, Tensor> {
    const found: Record<string, Tensor> = {};
    addState(this, "", found, { open: new Set(), count: 0 });
    return found;
  }

  /** As Python would show a plain object: `argparse.Namespace(lr=0.1)`; what is long is cut. */
  toString(): string {
    return pythonText(this, SHOWN);
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}
installChecks(PythonObject.prototype, METHODS.PythonObject);

/** Where modules have what `getattr` finds in them. */
const MODULE_PARTS = ["_parameters", "_buffers", "_modules"];

function ownOf(dict: unknown, name: string): unknown {
  if (dict instanceof Map) return dict.get(name);
  return isPlainObject(dict) && Object.hasOwn(dict, name) ? dict[name] : undefined;
}

/** Modules of one state dict: sharing can make a short pickle endless. */
const MAX_MODULES = 1_000_000;

interface Visit {
  open: Set<PythonObject>;
  count: number;
}

function addState(module: PythonObject, prefix: string, found: Record<string, Tensor>, visit: Visit): void {
  const { open } = visit;
  if (open.has(module)) return;
  if (++visit.count > MAX_MODULES) throw new FormatError(`more than ${MAX_MODULES} modules in one`);
  open.add(module);
  const { attributes } = module;
  const passing = ownOf(attributes, "_non_persistent_buffers_set");
  for (const part of MODULE_PARTS) {
    const dict = ownOf(attributes, part);
    for (const [name, value] of dict instanceof Map ? dict : Object.entries(dict ?? {})) {
      if (part === "_buffers" && passing instanceof Set && passing.has(name)) continue;
      if (value instanceof Tensor) setOwn(found, `${prefix}${name}`, value);
      else if (value instanceof PythonObject) addState(value, `${prefix}${name}.`, found, visit);
    }
  }
  // A module may be in two places: both have names.
  open.delete(module);
}

const EMPTY: readonly unknown[] = Object.freeze([]);
/** Characters of a text that people read. */
const SHOWN = 1000;
/** Below so many levels the text says only that there is more. */
const MAX_DEPTH = 100;

/** The text of what holds nothing; null for everything else. */
function atomText(value: object): string | null {
  if (value instanceof Float) return pythonFloatRepr(value.value);
  if (value instanceof Int) return String(value.value);
  if (value instanceof Complex || value instanceof PythonName) return String(value);
  if (!Array.isArray(value) || value.length > 0) return null;
  return Object.isFrozen(value) ? "()" : "[]";
}

/** What people need not see: the hooks that a module has none of. */
function isEmptyInside(name: unknown, item: unknown): boolean {
  if (typeof name !== "string" || !name.startsWith("_") || typeof item !== "object" || item === null) return false;
  return item instanceof Map || item instanceof Set ? item.size === 0 : isPlainObject(item) && isEmptyDict(item);
}

function isEmptyDict(value: object): boolean {
  for (const _ in value) return false;
  return true;
}

/** Writes values as Python's literals. What is met again is referred to, so that the text is as long as the value. */
class Literals {
  private readonly seen = new Map<object, number>();
  private readonly parts: string[] = [];
  private length = 0;

  constructor(private readonly limit: number) {}

  text(value: unknown): string {
    this.value(value, 0);
    const text = this.parts.join("");
    return text.length > this.limit ? `${text.slice(0, this.limit)}...` : text;
  }

  private say(text: string): void {
    if (this.length > this.limit) return;
    this.parts.push(text);
    this.length += text.length;
  }

  private value(value: unknown, depth: number): void {
    if (this.length > this.limit) return;
    if (typeof value === "string") this.say(pythonJsonString(value.slice(0, this.limit)));
    else if (typeof value === "boolean") this.say(value ? "True" : "False");
    else if (typeof value === "number") {
      this.say(Number.isSafeInteger(value) && !Object.is(value, -0) ? String(value) : pythonFloatRepr(value));
    } else if (typeof value !== "object" || value === null) this.say(value === null ? "None" : String(value));
    else this.object(value, depth);
  }

  private object(value: object, depth: number): void {
    const atom = atomText(value);
    const before = this.seen.get(value);
    if (atom !== null) this.say(atom);
    else if (before !== undefined) this.say(`<${before}>`);
    else {
      this.seen.set(value, this.seen.size + 1);
      if (depth > MAX_DEPTH) this.say("...");
      else this.container(value, depth + 1);
    }
  }

  private container(value: object, depth: number): void {
    if (value instanceof Tensor) this.say(`tensor(${value.dtype.name}, [${value.shape.join(", ")}])`);
    else if (value instanceof PythonObject) this.record(value, depth);
    else if (value instanceof Uint8Array) this.bytes(value);
    else if (Array.isArray(value)) {
      const tuple = Object.isFrozen(value);
      this.list(tuple ? "(" : "[", value, tuple ? (value.length === 1 ? ",)" : ")") : "]", depth);
    } else if (value instanceof Set) this.list("{", [...value], "}", depth);
    else if (value instanceof Map || isPlainObject(value)) this.dict(value, depth);
    else this.say(String((value as { _className?: string })._className ?? value));
  }

  private bytes(value: Uint8Array): void {
    const text = Buffer.from(value.buffer, value.byteOffset, Math.min(value.length, this.limit)).toString("latin1");
    const escaped = text.replace(/["\\]|[^ -~]/g, (unit) => `\\x${unit.charCodeAt(0).toString(16).padStart(2, "0")}`);
    this.say(`b"${escaped}"`);
  }

  private list(open: string, items: readonly unknown[], close: string, depth: number): void {
    this.say(open);
    for (const [i, item] of items.entries()) {
      if (i > 0) this.say(", ");
      this.value(asInPython(items, i, item), depth);
      if (this.length > this.limit) return;
    }
    this.say(close);
  }

  private dict(value: object, depth: number): void {
    this.say("{");
    this.pairs(value, depth, ": ", (key) => this.value(key, depth));
    this.say("}");
  }

  private pairs(value: object, depth: number, between: string, key: (key: unknown) => void): void {
    let first = true;
    for (const [name, item] of value instanceof Map ? value : Object.entries(value)) {
      if (this.limit < Number.POSITIVE_INFINITY && isEmptyInside(name, item)) continue;
      if (!first) this.say(", ");
      first = false;
      key(name);
      this.say(between);
      this.value(asInPython(value, name, item), depth);
      if (this.length > this.limit) return;
    }
  }

  private record(value: PythonObject, depth: number): void {
    const { callee, args, kwargs, listItems, dictItems, state, stateSetter } = value;
    if (callee instanceof PythonName) this.say(String(callee));
    else this.value(callee, depth);
    this.say("(");
    let first = true;
    const next = (name = ""): void => {
      this.say(first ? name : `, ${name}`);
      first = false;
    };
    for (const [i, item] of (momentParts(value) ?? args).entries()) {
      next();
      this.value(asInPython(args, i, item), depth);
      if (this.length > this.limit) return;
    }
    const named = (pairs: object): void => {
      if (pairs instanceof Map ? pairs.size === 0 : Object.keys(pairs).length === 0) return;
      next();
      this.pairs(pairs, depth, "=", (key) => this.say(/^[A-Za-z_]\w*$/.test(String(key)) ? String(key) : `**${key}`));
    };
    if (kwargs !== null) named(kwargs);
    for (const items of [listItems, dictItems]) {
      if (items === null) continue;
      next();
      this.value(items, depth);
    }
    if (isPlainObject(state)) named(state);
    else if (state !== undefined) {
      next("state=");
      this.value(asInPython(value, "state", state), depth);
    }
    if (stateSetter !== null) {
      next("by=");
      this.value(stateSetter, depth);
    }
    this.say(")");
  }
}

/** The numbers that a date or a time of the module datetime packs into bytes, as its own text has them. */
function momentParts({ callee, args }: PythonObject): readonly unknown[] | null {
  const [packed, ...zone] = args;
  if (!(callee instanceof PythonName) || callee.module !== "datetime" || !(packed instanceof Uint8Array)) return null;
  const sizes = { datetime: 10, date: 4, time: 6 } as Record<string, number>;
  if (packed.length !== sizes[callee.name]) return null;
  const bytes = [...packed];
  const date = callee.name === "time" ? [] : [(bytes[0] as number) * 256 + (bytes[1] as number), bytes[2], bytes[3]];
  if (callee.name === "date") return date;
  const [hour, minute, second, ...micro] = bytes.slice(date.length === 0 ? 0 : 4);
  // The highest bit of the month, or of a time's hour, says that an hour is there twice: numbers alone do not.
  if (((date.length === 0 ? hour : bytes[2]) as number) > 0x7f) return null;
  return [...date, hour, minute, second, micro.reduce((sum, byte) => sum * 256 + byte, 0), ...zone];
}

/** A value as Python's literals, of at most so many characters; tensors by dtype and shape. */
export function pythonText(value: unknown, limit = Number.POSITIVE_INFINITY): string {
  return new Literals(limit).text(value);
}
