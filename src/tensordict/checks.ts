// Checks arguments against signatures.ts: kinds, missing and unknown ones, each by name. What a trailing object names
// takes its place. A stack that overflows is a tree that is too deep, and is said so.
import * as texts from "../../generated/texts.ts";
import { typeName } from "../nn/errors.ts";
import { Complex, Float, Int } from "../tensor/complex.ts";
import { RuntimeError, TypeError } from "../tensor/errors.ts";
import { UntypedStorage } from "../tensor/storage.ts";
import { Tensor } from "../tensor/tensor.ts";
import { isSource } from "./convert.ts";
import { keyPath } from "./keys.ts";
import { FUNCTIONS } from "./signatures.ts";
import { isTensorCollection } from "./state.ts";

interface Parameter {
  name: string;
  kind: string;
  optional: boolean;
}

interface Signature {
  positional: readonly Parameter[];
  rest: Parameter | null;
  options: ReadonlyMap<string, string>;
}

const parsed = new Map<string, Signature>();

function parse(text: string): Signature {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const [before = "", after = ""] = text.split("|");
  const words = (part: string) => part.split(" ").filter((word) => word !== "");
  const pair = (word: string) => word.split(":") as [string, string];
  const all = words(before).map((word): Parameter & { rest: boolean } => {
    const [name, kind] = pair(word);
    return { name: name.replace(/^\.\.\.|\?$/g, ""), kind, optional: name.endsWith("?"), rest: name.startsWith("...") };
  });
  const signature = {
    positional: all.filter((one) => !one.rest),
    rest: all.find((one) => one.rest) ?? null,
    options: new Map(words(after).map(pair)),
  };
  parsed.set(text, signature);
  return signature;
}

const isInt = (value: unknown) => Number.isSafeInteger(value);
const isInts = (value: unknown) => Array.isArray(value) && value.every(isInt);
const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) =>
  ["number", "bigint", "boolean"].includes(typeof value) ||
  value instanceof Complex ||
  value instanceof Int ||
  value instanceof Float;
const isDict = (value: unknown) => isSource(value) && !(value instanceof Map);
const isTds = (value: unknown) => Array.isArray(value) && value.every(isTensorCollection);
const isFunction = (value: unknown) => typeof value === "function";
const isName = (value: unknown) => value === null || isText(value);

/** Kinds of arguments: what torch's messages call them, and which values are of them. */
const KINDS: Readonly<Record<string, readonly [words: string, test: (value: unknown) => boolean]>> = {
  any: ["anything", () => true],
  value: ["a value", (value) => value !== undefined],
  int: ["int", isInt],
  ints: ["list of ints", isInts],
  intOrInts: ["int or list of ints", (value) => isInt(value) || isInts(value)],
  size: ["int or list of ints", (value) => isInt(value) || isInts(value)],
  number: ["Number", isNumber],
  bound: ["Tensor or Number or None", (value) => value === null || value instanceof Tensor || isNumber(value)],
  bool: ["bool", (value) => typeof value === "boolean"],
  string: ["str", isText],
  text: ["str", isText],
  path: ["str or None", isName],
  name: ["str or None", isName],
  names: ["list of str or None", (value) => value === null || (Array.isArray(value) && value.every(isName))],
  list: ["list", Array.isArray],
  fn: ["a function", isFunction],
  dict: ["dict", isDict],
  tensor: ["Tensor", (value) => value instanceof Tensor],
  td: ["TensorDict", isTensorCollection],
  tds: ["list of TensorDicts", isTds],
  tensorOrTd: ["Tensor or TensorDict", (value) => value instanceof Tensor || isTensorCollection(value)],
  source: ["TensorDict or dict", (value) => isTensorCollection(value) || isSource(value)],
  operand: [
    "TensorDict, Tensor or Number",
    (value) => isNumber(value) || value instanceof Tensor || isTensorCollection(value) || isSource(value),
  ],
  target: ["a device, a dtype, a Tensor or a TensorDict", (value) => !isDict(value)],
  storage: ["UntypedStorage", (value) => value instanceof UntypedStorage],
  module: ["Module", isModule],
};

function isModule(value: unknown): boolean {
  if (typeof value !== "object" && typeof value !== "function") return false;
  const { _parameters, _buffers, _modules } = (value ?? {}) as Record<string, unknown>;
  return [_parameters, _buffers, _modules].every((slots) => typeof slots === "object" && slots !== null);
}

function checkKind(op: string, name: string, kind: string, value: unknown): void {
  if (kind === "key") {
    keyPath(value as string);
    return;
  }
  if (kind === "keys") {
    if (!Array.isArray(value)) throw texts.wrongArgument(op, op, name, "list of keys", typeName(value));
    for (const key of value) keyPath(key);
    return;
  }
  const [words, test] = KINDS[kind] as (typeof KINDS)[string];
  if (!test(value)) throw texts.wrongArgument(op, op, name, words, kindName(value));
}

function kindName(value: unknown): string {
  return value === undefined ? "undefined" : Number.isNaN(value) ? "nan" : typeName(value);
}

/** Kinds of arguments that may themselves be plain objects. */
const OBJECTS = new Set(["any", "value", "source", "operand", "dict", "module", "key"]);

/** The object that names options and arguments, if the last argument is one; not where an argument may be an object. */
function optionsOf(signature: Signature, args: readonly unknown[]): Record<string, unknown> | null {
  const last = args.at(-1);
  if (args.length === 0 || !isDict(last)) return null;
  const at = signature.positional[args.length - 1];
  if (at === undefined) return last as Record<string, unknown>;
  if (!OBJECTS.has(at.kind)) return last as Record<string, unknown>;
  // In the place of an optional argument, an object of names that are known.
  const names = Object.keys(last as object);
  const known = (name: string) => signature.options.has(name) || signature.positional.some((one) => one.name === name);
  const options = at.optional && at.kind === "any" && names.length > 0 && names.every(known);
  return options ? (last as Record<string, unknown>) : null;
}

/**
 * The arguments of a call in their places: positional ones, those of the rest, and the options at the end.
 * @throws TypeError for an argument that is missing, unknown, one too many, or of another kind
 */
export function checkedArguments(op: string, text: string, args: readonly unknown[]): unknown[] {
  const signature = parse(text);
  const { positional, rest, options } = signature;
  const given = optionsOf(signature, args);
  const places = given === null ? [...args] : args.slice(0, -1);
  const named: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given ?? {})) {
    const at = positional.findIndex((one) => one.name === name);
    if (at >= 0 && places[at] === undefined) places[at] = value;
    else if (rest?.name === name && places.length <= positional.length) places[positional.length] = value;
    else if (options.has(name)) named[name] = value;
    else throw texts.unknownKeyword(op, op, name);
  }
  if (rest === null && places.length > positional.length) {
    throw new TypeError(`${op}() takes at most ${positional.length} arguments but ${places.length} were given`, { op });
  }
  for (const [i, { name, kind, optional }] of positional.entries()) {
    const value = places[i];
    if (value === undefined && optional) continue;
    if (value === undefined && i >= places.length) {
      throw new TypeError(`${op}() missing 1 required positional argument: '${name}'`, { op });
    }
    checkKind(op, name, kind, value);
  }
  for (let i = positional.length; i < places.length; i++) {
    checkKind(op, (rest as Parameter).name, (rest as Parameter).kind, places[i]);
  }
  for (const [name, value] of Object.entries(named)) {
    if (value !== undefined && value !== null) checkKind(op, name, options.get(name) as string, value);
  }
  if (given !== null && options.size > 0) {
    while (rest === null && places.length < positional.length) places.push(undefined);
    places.push(named);
  }
  return places;
}

/** Checks a call of a function, whose arguments stay as they are. */
export function checkCall(op: keyof typeof FUNCTIONS & string, args: readonly unknown[]): void {
  checkedArguments(op, FUNCTIONS[op] as string, args);
}

/** Checks the options of a constructor or a function; undefined and null are none. */
export function checkOptions(op: string, spec: string, options: unknown): void {
  if (options === undefined || options === null) return;
  if (!isDict(options)) {
    throw new TypeError(`${op}() takes a trailing options object, not ${kindName(options)}`, { op });
  }
  checkedArguments(op, `| ${spec}`, [options]);
}

/** Levels of a tree that calls go down. */
const DEEP = 200;

function depthReaches(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth < levels; depth++) {
    const next: unknown[] = [];
    for (const item of level) {
      if (isTensorCollection(item) && item._outside === undefined) {
        const { members } = item as unknown as { members?: unknown[] };
        if (item._kind === "lazy") next.push(...(members ?? []));
        else for (const key of item._keys()) next.push(item._own(key));
      } else if (isSource(item)) next.push(...(item instanceof Map ? item.values() : Object.values(item)));
      else if (Array.isArray(item)) next.push(...item);
    }
    // One of each: what contains itself many times is as deep with one.
    level = [...new Set(next)].filter((item) => typeof item === "object" && item !== null).slice(0, 10_000);
    if (level.length === 0) return false;
  }
  return true;
}

/** What a stack that overflowed means; any other error is itself. */
function explain(op: string, error: unknown, values: readonly unknown[]): unknown {
  const overflow = error instanceof RangeError && error.constructor === RangeError;
  if (!overflow || !values.some((value) => depthReaches(value, DEEP))) return error;
  return new RuntimeError(
    `maximum recursion depth exceeded in ${op}(): the tensordict or its argument is nested too deeply, or contains ` +
      "itself",
    { op, code: "recursion", cause: error },
  );
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Runs a call; a tree that is too deep for it is an error of ours. */
export function guarded(op: string, values: readonly unknown[], run: () => unknown): unknown {
  try {
    const result = run();
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      throw explain(op, error, values);
    });
  } catch (error) {
    throw explain(op, error, values);
  }
}

/** Gives methods of a prototype or class their checks. */
export function installChecks(target: object, table: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(table)) {
    const own = Object.getOwnPropertyDescriptor(target, name);
    if (typeof own?.value !== "function") continue;
    const method = own.value as Method;
    const checked: Method = function (...args) {
      return guarded(name, [this, ...args], () => method.apply(this, checkedArguments(name, text, args)));
    };
    const later: Method = async function (...args) {
      return await checked.apply(this, args);
    };
    const value = name.endsWith("Async") ? later : checked;
    Object.defineProperty(value, "name", { value: name });
    Object.defineProperty(target, name, { ...own, value });
  }
}
