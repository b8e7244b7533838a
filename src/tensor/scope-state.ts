/** Which tensors are being made inside a scope. The lowest part of `scope`: every new tensor passes here. */
import type { Storage } from "./storage.ts";

/** What a scope needs of a tensor. */
export interface Scoped {
  readonly _storage: Storage;
  _grad: Scoped | null;
  _base: Scoped | null;
  dispose(): void;
}

export const scopeState: {
  /** The tensors of the innermost scope; null outside of all scopes. */
  made: Scoped[] | null;
  /** The lists of all scopes that are open, the outermost first. */
  readonly open: Scoped[][];
  /** Bytes of tensors that they left to the collector. */
  left: number;
  /** Tensors that something outside of all scopes has taken: a gradient, a module, a dictionary. */
  readonly taken: WeakSet<Scoped>;
  /** Modules that were used in the innermost scope. */
  called: Set<object>;
} = { made: null, open: [], left: 0, taken: new WeakSet(), called: new Set() };

/** Bytes that tensors of open scopes have when a collection comes: those that were made first. */
const MOST_HELD = 32 * 2 ** 20;
/** An entry counts as so many at least, so that lists are short. */
const LEAST = 16 * 2 ** 10;
/** Entries of a list that are worth a look, when tensors are too small to be counted. */
const MANY = 2 * (MOST_HELD / LEAST);

/**
 * What scopes hold the collector cannot take, though the program may have dropped it. So before a collection they keep
 * what was made first, which has outlived one already, and leave all else to the collector, while it is young.
 */
export function leaveToCollector(most = MOST_HELD): void {
  let room = most;
  const counted = new Set<Storage>();
  for (const list of scopeState.open) {
    let n = 0;
    for (let i = 0; i < list.length; i++) {
      const t = list[i] as Scoped;
      const storage = t._storage;
      // Given back meanwhile, by hand or by the library.
      if (storage.claims === 0) continue;
      const cost = counted.has(storage) ? LEAST : Math.max(LEAST, bytesOf(storage));
      if (cost > room) {
        scopeState.left += bytesOf(storage);
        continue;
      }
      room -= cost;
      if (cost > LEAST) counted.add(storage);
      list[n++] = t;
    }
    list.length = n;
  }
}

/** Pages of files belong to the system, arrays to the user. */
const bytesOf = ({ kind, nbytes }: Storage): number => (kind === "mapped" || kind === "borrowed" ? 0 : nbytes);

/** A tensor was made in a scope. */
export function enlist(t: Scoped, list: Scoped[]): void {
  if (list.push(t) > MANY && scopeState.open.includes(list)) leaveToCollector();
}

/** Something that outlives the scope holds this tensor from now on: a scope leaves it to the collector. */
export function take<T>(value: T): T {
  if (scopeState.made !== null) for (const t of tensorsIn(value)) scopeState.taken.add(t);
  return value;
}

/**
 * A module gave one of its members, as it does to its methods, or was given others: what it has in its fields when a
 * scope that is open now ends, it keeps.
 */
export function noteUse<T>(value: T, module: object): T {
  if (scopeState.open.length > 0) scopeState.called.add(module);
  return value;
}

/** Set by the module that knows the class. */
export const walker: { isTensor: (x: unknown) => x is Scoped } = { isTensor: (_): _ is Scoped => false };

/** What a module has registered was taken when it was. */
const REGISTERED = "_registers";

/** Adds all tensors that fields of modules lead to, but for what they have registered. */
export function addFields(modules: Iterable<object>, found: Set<Scoped>): void {
  const open: unknown[] = [];
  for (const module of modules) {
    for (const key of Reflect.ownKeys(module)) {
      const value = key === REGISTERED ? null : propertyOf(module, key);
      // Mostly there are numbers, and other modules, which are functions.
      if (typeof value === "object" && value !== null) open.push(value);
    }
  }
  if (open.length > 0) follow(open, found);
}

/** All tensors that a value leads to: through arrays, maps, sets and the properties of objects. */
export function tensorsIn(value: unknown): Set<Scoped> {
  const found = new Set<Scoped>();
  follow([value], found);
  return found;
}

function follow(open: unknown[], found: Set<Scoped>): void {
  const seen = new Set<unknown>();
  while (open.length > 0) {
    const x = open.pop();
    if (typeof x !== "object" || x === null || seen.has(x) || ArrayBuffer.isView(x)) continue;
    seen.add(x);
    if (walker.isTensor(x)) {
      found.add(x);
      open.push(x._grad, x._base);
    } else if (x instanceof Map) {
      for (const [key, inner] of x) open.push(key, inner);
    } else if (Array.isArray(x) || x instanceof Set) {
      for (const inner of x) open.push(inner);
    } else for (const key of Reflect.ownKeys(x)) open.push(propertyOf(x, key));
  }
}

/** A property's value; what a getter would compute is nobody's possession. */
function propertyOf(x: object, key: PropertyKey): unknown {
  return Object.getOwnPropertyDescriptor(x, key)?.value;
}
