/** Objects whose keys come from outside. */

/** Sets an own property, whatever the key: an assignment to `__proto__` would change the prototype instead. */
export function setOwn<T>(target: Record<string, T>, key: string, value: T): void {
  if (key !== "__proto__") target[key] = value;
  else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}
