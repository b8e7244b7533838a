// Looks for the library's objects in what holds them: lists, Maps, Sets and objects, also of the user's classes.
import { isOwn, type Own } from "./parts.ts";

/** Whether an object is one whose properties are its contents. */
function isOpen(value: object): boolean {
  return Object.prototype.toString.call(value) === "[object Object]";
}

function contentsOf(value: object): Iterable<unknown> {
  if (Array.isArray(value)) return value;
  if (value instanceof Map) return [...value.keys(), ...value.values()];
  if (value instanceof Set) return value;
  if (!isOpen(value)) return [];
  // Only what is there: a getter may do anything.
  const found: unknown[] = [];
  for (const key of Object.keys(value)) {
    const own = Object.getOwnPropertyDescriptor(value, key);
    if (own !== undefined && "value" in own) found.push(own.value);
  }
  return found;
}

/** Whether there is an object of the library in a value. */
export function holdsOwn(value: unknown, seen?: Set<object>): boolean {
  if (typeof value === "function") return isOwn(value);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  if (isOwn(value)) return true;
  if (seen?.has(value)) return false;
  for (const part of contentsOf(value)) {
    if (typeof part !== "object" && typeof part !== "function") continue;
    seen ??= new Set();
    seen.add(value);
    if (holdsOwn(part, seen)) return true;
  }
  return false;
}

/** A copy of a value with other objects in the places of the library's; the value itself where there are none. */
export function replaced(value: unknown, replace: (own: Own) => unknown): unknown {
  return holdsOwn(value) ? copied(value, replace, new Map()) : value;
}

function copied(value: unknown, replace: (own: Own) => unknown, made: Map<unknown, unknown>): unknown {
  if (made.has(value)) return made.get(value);
  if (isOwn(value)) {
    const other = replace(value);
    made.set(value, other);
    return other;
  }
  if (typeof value !== "object" || value === null) return value;
  const inner = (part: unknown) => copied(part, replace, made);
  if (Array.isArray(value)) {
    const copy = value.slice();
    made.set(value, copy);
    for (const i of copy.keys()) if (i in copy) copy[i] = inner(copy[i]);
    return copy;
  }
  if (value instanceof Map) {
    const copy = new Map();
    made.set(value, copy);
    for (const [key, one] of value) copy.set(inner(key), inner(one));
    return copy;
  }
  if (value instanceof Set) {
    const copy = new Set();
    made.set(value, copy);
    for (const one of value) copy.add(inner(one));
    return copy;
  }
  if (!isOpen(value) || !holdsOwn(value)) return value;
  const properties = Object.getOwnPropertyDescriptors(value) as Record<string, PropertyDescriptor>;
  const copy = Object.create(Object.getPrototypeOf(value));
  made.set(value, copy);
  for (const one of Object.values(properties)) if ("value" in one) one.value = inner(one.value);
  return Object.defineProperties(copy, properties);
}
