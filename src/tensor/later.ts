/**
 * What low rooms call in the rooms above them: tables whose members the registration file finds, by name, when they are
 * first called. From then on a member is a property like any other. So nothing that a program does not call is made.
 */

/** The tables, each beside what it is for. */
export type Table =
  | "collections"
  | "composites"
  | "devices"
  | "formulas"
  | "kinds"
  | "late"
  | "loader"
  | "make"
  | "marks"
  | "staging"
  | "taker"
  | "torch"
  | "vmap";
/** Finds members; undefined for a name that is none. */
export type Find = (table: Table, name: string) => unknown;

let find: Find = () => undefined;

/** For the registration file. */
export function setFinder(given: Find): void {
  find = given;
}

class Finder implements ProxyHandler<object> {
  members: Record<string, unknown> | null = null;

  constructor(private readonly table: Table) {}

  get(_: object, name: string | symbol): unknown {
    if (typeof name !== "string") return undefined;
    const found = find(this.table, name);
    if (found !== undefined) (this.members as Record<string, unknown>)[name] = found;
    return found;
  }
}

/** A table, for its room. */
export function later<T extends object>(table: Table): T {
  const finder = new Finder(table);
  finder.members = Object.create(new Proxy(Object.create(null), finder)) as Record<string, unknown>;
  return finder.members as T;
}
