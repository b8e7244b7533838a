/**
 * Checks arguments against signatures: `name:kind` for each argument (`?` after the name when it may be missing, before
 * it `...` when it takes the rest), and after `|` the names of the options, `!` after those that must be there. `?`
 * after a kind lets null through; `**:kind` takes options of any other name; `=r,r+,c`
 * are the words that an argument may be, `bool` among them stands for
 * booleans. Rooms keep their signatures as data and add the kinds of their own values.
 */

import * as texts from "../../generated/texts.ts";
import { Complex, Float, Int } from "./complex.ts";
import type { TypeError } from "./errors.ts";
import { later } from "./later.ts";
import { UntypedStorage } from "./storage.ts";
import { Tensor } from "./tensor.ts";
import { typeName } from "./type-name.ts";

interface Parameter {
  name: string;
  kind: string;
  optional: boolean;
  /** Null is of the kind, too. */
  orNone: boolean;
  /** The words that it may be; null for another kind. */
  words: readonly string[] | null;
  /** What the kind is, found at the first call. */
  found: Kind | undefined;
}

interface Signature {
  positional: readonly Parameter[];
  rest: Parameter | null;
  options: ReadonlyMap<string, Parameter>;
  /** What options of other names are, where there may be any. */
  others: Parameter | null;
  /** Options that must be there. */
  needed: readonly string[];
  /** How many arguments there are at least. */
  least: number;
}

const parsed = new Map<string, Signature>();

function parse(text: string): Signature {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const [before = "", after = ""] = text.split("|");
  const words = (part: string) => part.split(" ").filter((word) => word !== "");
  const parameter = (word: string, optional: boolean): Parameter => {
    const [name, kind] = word.split(":") as [string, string];
    const bare = name.replace(/^\.\.\.|[?!]$/g, "");
    const known = kind.replace("?", "");
    const words = known.startsWith("=") ? known.slice(1).split(",") : null;
    return { name: bare, kind: known, optional, orNone: kind.endsWith("?"), words, found: undefined };
  };
  const [listed, rest] = [words(before), words(before).find((word) => word.startsWith("..."))];
  const named = words(after).filter((word) => !word.startsWith("**"));
  const others = words(after).find((word) => word.startsWith("**"));
  const options = named.map((word) => parameter(word, !word.includes("!:")));
  const signature = {
    positional: listed.filter((word) => word !== rest).map((word) => parameter(word, word.includes("?:"))),
    rest: rest === undefined ? null : parameter(rest, true),
    options: new Map(options.map((one) => [one.name, one])),
    others: others === undefined ? null : parameter(others, true),
    needed: options.filter((one) => !one.optional).map((one) => one.name),
    least: listed.filter((word) => word !== rest && !word.includes("?:")).length,
  };
  parsed.set(text, signature);
  return signature;
}

/** What torch's messages call values of a kind, and which values are of it; or what throws for all others. */
export type Kind =
  | readonly [words: string, test: (value: unknown) => boolean]
  | ((op: string, name: string, value: unknown) => void);

/** A plain object: options, or values by name. */
export function isDict(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

export const isNumber = (value: unknown): boolean =>
  ["number", "bigint", "boolean"].includes(typeof value) ||
  value instanceof Complex ||
  value instanceof Int ||
  value instanceof Float;
const isInt = (value: unknown) => Number.isSafeInteger(value);
const isDim = (value: unknown) =>
  isInt(value) || (value instanceof Tensor && value._numel === 1 && value.dtype.category === 1);
const isInts = (value: unknown) => Array.isArray(value) && value.every(isInt);
const isText = (value: unknown) => typeof value === "string";
const isName = (value: unknown) => value === null || isText(value);

const kinds: Record<string, Kind | undefined> = {
  any: ["anything", () => true],
  item: ["anything", () => true],
  value: ["a value", (value) => value !== undefined],
  int: ["int", isInt],
  ints: ["list of ints", isInts],
  dim: ["int", isDim],
  intOrInts: ["int or list of ints", (value) => isInt(value) || isInts(value)],
  intOrTensor: ["int or Tensor", (value) => isInt(value) || value instanceof Tensor],
  size: ["int or list of ints", (value) => isInt(value) || isInts(value)],
  number: ["Number", isNumber],
  bound: ["Tensor or Number or None", (value) => value === null || value instanceof Tensor || isNumber(value)],
  bool: ["bool", (value) => typeof value === "boolean"],
  string: ["str", isText],
  text: ["str", isText],
  names: ["list of str or None", (value) => value === null || (Array.isArray(value) && value.every(isName))],
  notDict: ["a value that is no dict", (value) => !isDict(value)],
  list: ["list", Array.isArray],
  strings: ["list of str", (value) => Array.isArray(value) && value.every(isText)],
  fn: ["a function", (value) => typeof value === "function"],
  dict: ["dict", isDict],
  bytes: ["bytes", (value) => value instanceof Uint8Array],
  tensor: ["Tensor", (value) => value instanceof Tensor],
  storage: ["UntypedStorage", (value) => value instanceof UntypedStorage],
};

/** Kinds of arguments that may themselves be plain objects. */
const objects = new Set(["any", "value", "dict"]);

/** Those where any object is what is given. */
const DATA = new Set(["value", "dict", "source"]);

/** The kinds of a room. */
export interface RoomKinds {
  table: Readonly<Record<string, Kind>>;
  /** Values of these may be plain objects, which then are no options. */
  alsoObjects?: readonly string[];
}

/** Rooms that have kinds, as their tables are named, and those that were not asked for yet. */
const KINDS = later<Record<string, RoomKinds>>("kinds");
let rooms: readonly string[] = ["tensordict", "nn", "distributions", "io"];

function addKinds({ table, alsoObjects = [] }: RoomKinds): void {
  for (const name of Object.keys(table)) {
    if (name in kinds) throw texts.argumentKindTwice(undefined, name);
  }
  Object.assign(kinds, table);
  for (const name of alsoObjects) objects.add(name);
}

/** What a parameter's kind is: rooms are asked one after the other. */
function kindOf(parameter: Parameter): Kind {
  const { kind } = parameter;
  while (kinds[kind] === undefined && rooms.length > 0) {
    const [first, ...rest] = rooms as [string];
    rooms = rest;
    addKinds(KINDS[first] as RoomKinds);
  }
  parameter.found = kinds[kind] as Kind;
  return parameter.found;
}

/** Whether values of a parameter's kind may be plain objects, which then are no options. */
function mayBeObject(parameter: Parameter): boolean {
  if (parameter.words === null && parameter.found === undefined) kindOf(parameter);
  return objects.has(parameter.kind);
}

function checkKind(op: string, parameter: Parameter, value: unknown): void {
  if (value === null && parameter.orNone) return;
  if (parameter.words !== null) {
    checkWord(op, parameter.name, parameter.words, value);
    return;
  }
  const found = parameter.found ?? kindOf(parameter);
  if (typeof found === "function") {
    found(op, parameter.name, value);
    return;
  }
  if (found[1](value)) return;
  const words = found[0];
  throw texts.wrongArgument(op, op, parameter.name, parameter.orNone ? `${words} or None` : words, kindName(value));
}

/** Refuses what is none of some words, with all of them. */
function checkWord(op: string, name: string, words: readonly string[], value: unknown): void {
  if (typeof value === "boolean" ? words.includes("bool") : isText(value) && words.includes(value as string)) return;
  const list = words.map((word) => (word === "bool" ? word : `'${word}'`));
  const wanted = [list.slice(0, -1).join(", "), ...list.slice(-1)].filter((part) => part !== "").join(" or ");
  throw texts.wrongArgument(op, op, name, wanted, isText(value) ? `'${value}'` : kindName(value));
}

function kindName(value: unknown): string {
  return value === undefined ? "undefined" : Number.isNaN(value) ? "nan" : typeName(value);
}

/** The object that names options and arguments, if the last argument is one; not where an argument may be an object. */
function optionsOf(signature: Signature, args: readonly unknown[]): Record<string, unknown> | null {
  const last = args.at(-1);
  if (args.length === 0 || !isDict(last)) return null;
  const at = signature.positional[args.length - 1];
  if (at === undefined && signature.rest !== null && DATA.has(signature.rest.kind)) return null;
  if (at === undefined || !mayBeObject(at)) return last;
  // An object that names the argument in whose place it stands; where dictionaries are data it is one.
  if (!DATA.has(at.kind) && at.name in last) return last;
  // In the place of an optional argument, an object of names that are known.
  const names = Object.keys(last);
  const spelled = [...signature.positional.map((one) => one.name), ...signature.options.keys()].map(bare);
  // PyTorch's spelling counts, so that it is told how the name is written here.
  const known = (name: string) => spelled.includes(bare(name));
  return at.optional && at.kind === "any" && names.length > 0 && names.every(known) ? last : null;
}

/** What PyTorch's spelling of a name and ours have in common. */
const bare = (name: string): string => name.replaceAll("_", "").toLowerCase();

/** PyTorch's and NumPy's names of what is called otherwise here, with what is to be written instead. */
const OTHERWISE: Readonly<Record<string, readonly [name: string, instead: string]>> = {
  axis: ["dim", "dim"],
  maplocation: ["device", "device"],
  weightsonly: ["unknown", 'unknown: "refuse"'],
};

/** The error for a name that a call does not take; one that is spelled in another way is told. */
export function unknownKeyword(op: string, key: string, names: readonly string[]): TypeError {
  const [name, instead] = OTHERWISE[bare(key)] ?? [];
  const right =
    names.find((one) => bare(one) === bare(key)) ??
    (name !== undefined && names.includes(name) ? instead : null) ??
    null;
  return right === null || right === key
    ? texts.unknownKeyword(op, op, key)
    : texts.misspeltKeyword(op, op, key, right);
}

function missing(op: string, kind: string, name: string): TypeError {
  return texts.missingArgument(op, kind, name);
}

/**
 * The arguments of a call in their places: positional ones, those of the rest, and the options at the end.
 * @throws TypeError for an argument that is missing, unknown, one too many, or of another kind
 */
export function checkedArguments(op: string, text: string, args: readonly unknown[]): unknown[] {
  return inPlaces(op, parse(text), args);
}

/** The arguments of a call by their names. */
export function namedArguments(op: string, text: string, args: readonly unknown[]): Record<string, unknown> {
  const { positional, options } = parse(text);
  const places = inPlaces(op, parse(text), args);
  const named = options.size > 0 && places.length > positional.length ? places.pop() : {};
  return { ...Object.fromEntries(positional.map(({ name }, i) => [name, places[i]])), ...(named as object) };
}

/** What a named rest argument holds: a list of sizes or a path of keys is one, any other list several. */
function several({ kind }: Parameter, value: unknown): unknown[] {
  return Array.isArray(value) && kind !== "size" && kind !== "key" ? value : [value];
}

function inPlaces(op: string, signature: Signature, args: readonly unknown[]): unknown[] {
  const { positional, rest, options, others, needed } = signature;
  let count = args.length;
  while (count > 0 && args[count - 1] === undefined) count--;
  if (count < args.length) args = args.slice(0, count);
  const given = optionsOf(signature, args);
  const places = given === null ? args.slice() : args.slice(0, -1);
  const named: Record<string, unknown> = {};
  for (const name in given) {
    const value = given[name];
    const at = positional.findIndex((one) => one.name === name);
    if (at >= 0 && places[at] === undefined) places[at] = value;
    else if (at >= 0) throw texts.multipleValues(op, op, name);
    else if (rest?.name === name && places.length <= positional.length) {
      for (const [i, one] of several(rest, value).entries()) places[positional.length + i] = one;
    } else if (options.has(name) || others !== null) named[name] = value;
    else throw unknownKeyword(op, name, [...positional.map((one) => one.name), ...options.keys()]);
  }
  if (rest === null && places.length > positional.length) {
    throw texts.tooManyArguments(op, positional.length, places.length);
  }
  for (let i = 0; i < positional.length; i++) {
    const [parameter, value] = [positional[i] as Parameter, places[i]];
    if (value === undefined && parameter.optional) continue;
    if (value === undefined && i >= places.length) throw missing(op, "positional", parameter.name);
    checkKind(op, parameter, value);
  }
  for (let i = positional.length; i < places.length; i++) checkKind(op, rest as Parameter, places[i]);
  for (const name in named) {
    if (named[name] !== undefined && named[name] !== null) {
      checkKind(op, (options.get(name) ?? others) as Parameter, named[name]);
    }
  }
  for (const name of needed) {
    if (named[name] === undefined || named[name] === null) throw missing(op, "keyword-only", name);
  }
  if (given !== null && options.size > 0) {
    while (rest === null && places.length < positional.length) places.push(undefined);
    places.push(named);
  }
  return places;
}

/** Whether arguments need no sorting: each in its place, of its kind, and no object of options at the end. */
function arePlain(op: string, { positional, rest, needed, least }: Signature, args: readonly unknown[]): boolean {
  const count = args.length;
  if (count < least || needed.length > 0 || (rest === null && count > positional.length)) return false;
  if (count > 0 && isDict(args[count - 1])) return false;
  for (let i = 0; i < count; i++) {
    if (args[i] === undefined) return false;
    checkKind(op, (i < positional.length ? positional[i] : rest) as Parameter, args[i]);
  }
  return true;
}

/**
 * The arguments of a function in their places; a trailing object may name any of them. What a function does not take is
 * left out unless it is an object of options, so that `map` may call it.
 */
export function inOrder<A extends readonly unknown[]>(op: string, text: string, args: ArrayLike<unknown>): A {
  const signature = parse(text);
  const given = Array.prototype.slice.call(args);
  if (arePlain(op, signature, given)) return given as unknown as A;
  const most = signature.positional.length + (signature.options.size > 0 ? 1 : 0);
  const extra = signature.rest === null && given.length > most && !isDict(given[most]);
  return inPlaces(op, signature, extra ? given.slice(0, most) : given) as unknown as A;
}

/** Checks a call whose arguments are in their places. */
export function checkCall(op: string, text: string, args: ArrayLike<unknown>): void {
  inOrder(op, text, args);
}

/** The arguments of a method in their places; more than it takes are refused. */
export function checkedCall<A extends readonly unknown[]>(op: string, text: string, args: A): A {
  return placed(op, parse(text), args as unknown as unknown[]) as unknown as A;
}

/** Checks the options of a constructor or a function; undefined and null are none. */
export function checkOptions(op: string, spec: string, options: unknown): void {
  if (options === undefined || options === null) return;
  if (!isDict(options)) throw texts.optionsNotAnObject(op, kindName(options));
  checkedArguments(op, `| ${spec}`, [options]);
}

type Method = (this: unknown, ...args: unknown[]) => unknown;
/** What an error of a call on these values means. */
export type Explain = (op: string, error: unknown, values: readonly unknown[]) => unknown;

/** Gives methods of a prototype or class their checks; those that are asynchronous reject. */
export function installChecks(target: object, table: Readonly<Record<string, string>>, explain?: Explain): void {
  const methods = target as Record<string, Method>;
  // A table has the methods of many classes: what a class has is less.
  for (const name of Object.getOwnPropertyNames(target)) {
    const text = Object.hasOwn(table, name) ? table[name] : undefined;
    if (text === undefined) continue;
    const method: Method | undefined = Object.getOwnPropertyDescriptor(target, name)?.value;
    if (typeof method !== "function") continue;
    methods[name] = checkedMethod(name, text, method, explain);
  }
}

/** A method behind the checks of its signature; what is asynchronous rejects. */
export function checkedMethod(name: string, text: string, method: Method, explain?: Explain): Method {
  const waits = name.endsWith("Async") || method instanceof AsyncFunction;
  return named(name, waits ? waiting(name, text, method, explain) : checked(name, text, method, explain));
}

type Around = (self: unknown, name: string, method: Method, args: unknown[]) => unknown;
let around: Around | null = null;

/** From now on methods whose errors are explained, those of collections, are called by this. */
export function callMethodsBy(run: Around): void {
  around = run;
}

/** A method behind its checks. Calls without options are the most, and go on with the arguments as they came. */
function checked(name: string, text: string, method: Method, explain?: Explain): Method {
  let signature: Signature | undefined;
  if (explain !== undefined) {
    return function (...args) {
      try {
        if (around === null && args.length === 0 && text === "") return method.call(this);
        signature ??= parse(text);
        const given = placed(name, signature, args);
        return around === null ? method.apply(this, given) : around(this, name, method, given);
      } catch (error) {
        throw explain(name, error, [this, ...args]);
      }
    };
  }
  if (text !== "") {
    return function (...args) {
      signature ??= parse(text);
      return method.apply(this, placed(name, signature, args));
    };
  }
  // What takes nothing is called all the time.
  return function (...args) {
    return args.length === 0 ? method.call(this) : method.apply(this, placed(name, parse(text), args));
  };
}

function placed(name: string, signature: Signature, args: unknown[]): unknown[] {
  return arePlain(name, signature, args) ? args : inPlaces(name, signature, args);
}

/** An asynchronous method behind its checks, which reject too. */
function waiting(name: string, text: string, method: Method, explain?: Explain): Method {
  return async function (...args) {
    try {
      return await method.apply(this, checkedArguments(name, text, args));
    } catch (error) {
      throw explain === undefined ? error : explain(name, error, [this, ...args]);
    }
  };
}

function named(name: string, method: Method): Method {
  return Object.defineProperty(method, "name", { value: name });
}

const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
