/** Properties of objects. */

/** Sets an own property, whatever the key: an assignment to `__proto__` would change the prototype instead. */
export function setOwn<T>(target: Record<string, T>, key: string, value: T): void {
  if (key !== "__proto__") target[key] = value;
  else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Makes a value of a getter that gives the same for all objects of a class, and is read all the time. */
export function settle<T extends object>(prototype: T, name: string & keyof T): void {
  Object.defineProperty(prototype, name, { value: prototype[name], configurable: true });
}
