/** Members of a class. */

/** Everything that a class and what it extends have, also what comes into being when it is touched; nearest first. */
export function membersOf(prototype: object): Map<string, PropertyDescriptor> {
  const found = new Map<string, PropertyDescriptor>();
  for (let at: object | null = prototype; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, own] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (!found.has(name)) found.set(name, own);
    }
  }
  return found;
}
