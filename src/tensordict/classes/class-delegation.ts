// Objects of tensorclasses around lazy stacks: what is called on them happens to the stack, whose members stay apart.

import { isSource, sourceEntries } from "../core/convert.ts";
import { keyPath } from "../core/keys.ts";
import { MATH } from "../core/math-names.ts";
import { METHODS } from "../core/signatures.ts";
import {
  type ClassTd,
  isClassTd,
  isNonTensor,
  isTensorCollection,
  requireFields,
  stackOf,
  type Td,
} from "../core/state.ts";
import type { NestedKey } from "../core/types.ts";
import { hasEntry } from "../ops/access.ts";
import { isKey, isSlice } from "../ops/indexing.ts";
import { TensorDictBase } from "./base.ts";

/** What asks for an object's own class, in files and in modules. */
const KEPT = new Set([
  ...["memmap", "memmap_", "memmapLike", "memmapAsync", "save", "saveAsync", "dumps", "load_", "loadMemmap_"],
  ...[
    "memmapRefresh_",
    "consolidate",
    "consolidateAsync",
    "stateDict",
    "loadStateDict",
    "toModule",
    "toH5",
    "toH5Async",
    // Chunks are objects of the class.
    "map",
    "mapIter",
  ],
]);

/** What gives entries, or a collection without a class. */
const ENTRIES = new Set([
  ...["get", "getAt", "setdefault", "getNonTensor", "pop", "popitem", "keys", "values", "items", "nonTensorItems"],
  ...["toTensordict", "toPytree", "toDict", "tolist", "numpy", "toNamedtuple", "dataPtr", "attrs"],
]);

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** The lazy stack that an object of a class shows. */
function shown(value: unknown): Td | null {
  return isTensorCollection(value) && isClassTd(value) ? stackOf(value) : null;
}

/** Results of a stack as objects of the class that shows it. */
function dressed(self: ClassTd, source: Td, result: unknown): unknown {
  if (result === source) return self;
  if (Array.isArray(result)) return result.map((one) => dressed(self, source, one));
  if (!isTensorCollection(result) || !/^(tensordict|lazy)$/.test(result._kind)) return result;
  const names = self._fieldNames();
  return [...result._keys()].every((key) => names.includes(key)) ? self._around(result) : result;
}

const givesEntry = (name: string, [first]: readonly unknown[]): boolean =>
  ENTRIES.has(name) || (name === "at" && isKey(first) && !isSlice(first));

/** The keys that a call may add: the members of the stack, which are no objects of the class, would take any. */
const ADDS: Readonly<Record<string, (args: readonly unknown[]) => Iterable<unknown>>> = {
  set: ([key]) => [key],
  setNonTensor: ([key]) => [key],
  setdefault: ([key]) => [key],
  createNested: ([key]) => [key],
  renameKey_: ([, key]) => [key],
  update: ([source]) => keysOf(source),
  replace: ([source]) => keysOf(source),
  setAt: ([, value]) => keysOf(value),
  stackTensors: (args) => outKeys(args.at(-1)),
  catTensors: (args) => outKeys(args.at(-1)),
};

function keysOf(source: unknown): Iterable<unknown> {
  if (isTensorCollection(source)) return isNonTensor(source) ? [] : source._keys();
  return isSource(source) ? sourceEntries(source).map(([key]) => key) : [];
}

const outKeys = (options: unknown): unknown[] => (isSource(options) && "outKey" in options ? [options.outKey] : []);

/** Refuses keys that the class has no field for. */
function requireKeys(self: ClassTd, keys: Iterable<unknown>): void {
  for (const key of keys) if (isKey(key)) requireFields(self, [keyPath(key as NestedKey)[0] as string]);
}

/** Whether a key is a field that no member has: it is removed already. */
function isGone(self: ClassTd, source: Td, key: unknown): boolean {
  if (!isKey(key)) return false;
  const [field, ...rest] = keyPath(key as NestedKey);
  return rest.length === 0 && self._fieldNames().includes(field as string) && !hasEntry(source, field as string);
}

/** Two objects are compared without their classes: fields that one of them lacks are missing keys. */
const COMPARISONS = new Set(["eq", "ne", "lt", "le", "gt", "ge"]);

/** An argument as the stack takes it. */
function bare(name: string, value: unknown): unknown {
  const compared = COMPARISONS.has(name) && isTensorCollection(value) && isClassTd(value);
  return compared ? value._shown() : (shown(value) ?? value);
}

/** A method of an object that works on the stack. */
function delegated(name: string): Method {
  const added = ADDS[name];
  const value: Method = function (...args) {
    const self = this as ClassTd;
    const source = shown(self) as Td;
    if (added !== undefined) requireKeys(self, added(args));
    if (name === "del_" && isGone(self, source, args[0])) return self;
    const own = Reflect.get(source, name) as Method;
    const result = own.apply(
      source,
      args.map((one) => bare(name, one)),
    );
    return givesEntry(name, args) ? result : dressed(self, source, result);
  };
  Object.defineProperty(value, "name", { value: name });
  return value;
}

/** What a name is on a prototype, without calling getters. */
function onPrototype(start: object, name: string): unknown {
  for (let at: object | null = start; at !== null; at = Object.getPrototypeOf(at)) {
    const found = Object.getOwnPropertyDescriptor(at, name);
    if (found !== undefined) return found.value;
  }
  return undefined;
}

const NAMES = [...Object.keys(METHODS), ...Object.keys(MATH), "get", "at"].filter((name) => !KEPT.has(name));
const prototypes = new WeakMap<object, object>();

/** The prototype of a class's objects around lazy stacks: methods of all collections work on the stack. */
export function stackPrototype(prototype: object): object {
  let found = prototypes.get(prototype);
  if (found === undefined) {
    found = Object.create(prototype) as object;
    for (const name of NAMES) {
      // Fields, and methods that the class has itself, stay.
      const own = onPrototype(prototype, name);
      if (typeof own !== "function" || own !== onPrototype(TensorDictBase.prototype, name)) continue;
      Object.defineProperty(found, name, { value: delegated(name), writable: true, configurable: true });
    }
    prototypes.set(prototype, found);
  }
  return found;
}
