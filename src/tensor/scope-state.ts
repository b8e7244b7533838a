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
  /** Tensors that something outside of all scopes has taken: a gradient, a module, a dictionary. */
  readonly taken: WeakSet<Scoped>;
  /** Modules that were called in the scopes that are open: what they hold by then they hold for longer. */
  readonly called: Set<object>;
} = { made: null, taken: new WeakSet(), called: new Set() };

/** Something that outlives the scope holds this tensor from now on: a scope leaves it to the collector. */
export function take<T>(value: T): T {
  if (scopeState.made !== null) for (const t of tensorsIn(value)) scopeState.taken.add(t);
  return value;
}

/** Set by the module that knows the class. */
export const walker: { isTensor: (x: unknown) => x is Scoped } = { isTensor: (_): _ is Scoped => false };

/** All tensors that properties of an object lead to, whatever else it is. */
export function tensorsOf(holder: object): Set<Scoped> {
  return tensorsIn(Reflect.ownKeys(holder).map((key) => propertyOf(holder, key)));
}

/** All tensors that a value leads to: through arrays, maps, sets and the properties of objects. */
export function tensorsIn(value: unknown): Set<Scoped> {
  const found = new Set<Scoped>();
  const seen = new Set<unknown>();
  const open: unknown[] = [value];
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
  return found;
}

/** A property's value; what a getter would compute is nobody's possession. */
function propertyOf(x: object, key: PropertyKey): unknown {
  return Object.getOwnPropertyDescriptor(x, key)?.value;
}
