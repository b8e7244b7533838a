/**
 * Members of a class that come into being when they are first touched: a class of a thousand methods costs a program
 * those that it calls. The chain of the class's prototypes ends in a proxy that is asked only for what is not there; it
 * makes the member and keeps it in an ordinary object before it, where every later call finds it as in any class.
 *
 * Two things of the engine decide the form. An object to which hundreds of members are added one by one becomes a table
 * in which calls look by name: the members are kept in several objects. And once a proxy is put behind an object that
 * already is a prototype, every array of the program becomes slow: the chain is made whole in the static block of the
 * class, before there are instances and subclasses, and nothing is put into it later.
 */

/** A method, or what `Object.defineProperty` takes for a property. */
export type Member = ((...args: never[]) => unknown) | PropertyDescriptor;

/** Members of one origin. */
export interface LateMembers {
  /** All names, separated by blanks. */
  names(): string;
  /** The member of a name, undefined for a name that it does not know. */
  member(name: string): Member | undefined;
}

/**
 * How many members an object keeps, the last one all that are left. A class says how many such objects it has: to use
 * more members is rare, and each makes looking for what is not there, `tensor instanceof Map` too, a little longer.
 */
const ROOM = 110;

class End implements ProxyHandler<object> {
  readonly sources: LateMembers[] = [];
  /** What is asked for a name that no source knows: a second proxy would make looking for what is not there slower. */
  last: Required<Pick<ProxyHandler<object>, "get" | "set">> = Reflect;
  /** What stands behind the class. */
  private readonly behind: object;
  /** The objects that have the members, in the order of the chain. */
  private readonly holders: object[] = [];
  /** Which of them has a member. */
  private readonly made = new Map<string, object>();

  constructor(prototype: object, holders: number) {
    this.behind = Object.create(Object.getPrototypeOf(prototype), {
      constructor: { value: prototype.constructor, writable: true, configurable: true },
    });
    let next: object = new Proxy(this.behind, this);
    for (let i = 0; i < holders; i++) {
      next = Object.create(next) as object;
      this.holders.unshift(next);
    }
    Object.setPrototypeOf(prototype, next);
  }

  private define(name: string, member: Member): object {
    const holder = this.holders[Math.min(Math.floor(this.made.size / ROOM), this.holders.length - 1)] as object;
    this.made.set(name, holder);
    if (typeof member === "function") {
      Object.defineProperty(member, "name", { value: name, configurable: true });
      Object.defineProperty(holder, name, { value: member, writable: true, configurable: true });
    } else Object.defineProperty(holder, name, { ...member, configurable: true });
    return holder;
  }

  /** Where a member is, made when it was not there yet; undefined for what is no member. */
  private holderOf(name: string | symbol): object | undefined {
    if (typeof name !== "string") return undefined;
    const made = this.made.get(name);
    if (made !== undefined) return made;
    for (const source of this.sources) {
      const member = source.member(name);
      if (member !== undefined) return this.define(name, member);
    }
    return undefined;
  }

  get(behind: object, name: string | symbol, receiver: unknown): unknown {
    const holder = this.holderOf(name);
    return holder === undefined ? this.last.get(behind, name, receiver) : Reflect.get(holder, name, receiver);
  }
  set(behind: object, name: string | symbol, value: unknown, receiver: unknown): boolean {
    const holder = this.holderOf(name);
    return holder === undefined
      ? this.last.set(behind, name, value, receiver)
      : Reflect.set(holder, name, value, receiver);
  }
  has(behind: object, name: string | symbol): boolean {
    return this.holderOf(name) !== undefined || name in behind;
  }
  ownKeys(): string[] {
    const names = new Set(this.sources.flatMap((source) => source.names().split(" ")));
    // Those that were made are seen where they are.
    return [...names].filter((name) => !this.made.has(name));
  }
  getOwnPropertyDescriptor(_: object, name: string | symbol): PropertyDescriptor | undefined {
    const holder = this.holderOf(name);
    return holder === undefined ? undefined : Object.getOwnPropertyDescriptor(holder, name);
  }
}

const ends = new Map<object, End>();

/**
 * Lets a class have late members: in its static block, where nobody has its prototype yet.
 */
export function takeLateMembers(prototype: object, holders: number, ...members: LateMembers[]): void {
  const end = new End(prototype, holders);
  end.sources.push(...members);
  ends.set(prototype, end);
}

function endOf(prototype: object): End {
  return ends.get(prototype) as End;
}

/** Lets such a class ask somebody for names that none of its members has. False for any other class. */
export function endLateMembers(prototype: object, last: End["last"]): boolean {
  const end = ends.get(prototype);
  if (end !== undefined) end.last = last;
  return end !== undefined;
}

/** Gives such a class members; names that the class has stay its own. */
export function addLateMembers(prototype: object, members: LateMembers): void {
  endOf(prototype).sources.push(members);
}

/**
 * An object of functions of which each comes into being when it is first touched; its keys are all there. `all` gives
 * the type and is never called.
 */
export function lateNamespace<T extends object>(names: string, member: (name: string) => unknown, _all: () => T): T {
  const namespace = {} as T;
  for (const name of names.split(" ")) {
    // Called to read it, or with what is put in its place: it does so once, and is gone.
    const access = (...given: [unknown?]): unknown => {
      const value = given.length === 0 ? member(name) : given[0];
      Object.defineProperty(namespace, name, { value, writable: true, enumerable: true, configurable: true });
      return value;
    };
    Object.defineProperty(namespace, name, { get: access, set: access, enumerable: true, configurable: true });
  }
  return namespace;
}
