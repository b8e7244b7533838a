// Tensorclasses by name, so that files can be loaded as the class they were saved from.
import type { NewState, Td } from "./state.ts";
import type { Entry } from "./types.ts";

/** What loading needs of a tensorclass. */
export interface RegisteredClass {
  /** @internal */
  _wrap(entries: Map<string, Entry>, state: NewState, qualified: string): Td;
}

const classes = new Map<string, RegisteredClass>();

/** Makes a class known under its name; the last one of a name wins. */
export function registerClass(name: string, found: RegisteredClass): void {
  classes.set(name, found);
}

/** Remembers which classes are known; what it gives makes them the known ones again. */
export function rememberClasses(): () => void {
  const before = new Map(classes);
  return () => {
    classes.clear();
    for (const [name, found] of before) classes.set(name, found);
  };
}

/** The class of that name. */
export function classByName(name: string): RegisteredClass | undefined {
  return classes.get(name);
}

let unknown: ((name: string) => RegisteredClass) | null = null;

/** From now on files may hold tensorclasses that no program has defined: `make` gives a class by name; null ends it. */
export function acceptUnknownClasses(make: ((name: string) => RegisteredClass) | null): void {
  unknown = make;
}

/** The class that a file names; one of any fields where that is wanted (see `acceptUnknownClasses`). */
export function classInFile(name: string): RegisteredClass | undefined {
  return classes.get(name) ?? unknown?.(name);
}
