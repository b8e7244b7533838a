/**
 * What PyTorch's names give that an object here has not: a call of `x.index_select` says that it is called indexSelect,
 * `F.conv2d` that it is not there yet. A function's name gives an object that is no function, whose tag says so in
 * the engine's own message (`x.index_select is not a function … is an instance of …`): looking whether something is
 * there goes on working. A property's name throws, since it would be taken for a value. What is there costs nothing:
 * the end of the chain of prototypes is asked for what is not, and reads the names then.
 */
import { MISSING } from "../../generated/missing.ts";
import * as texts from "../../generated/texts.ts";
import { endLateMembers } from "./late-members.ts";

const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const SENTENCE = Object.create(null, {
  toString: {
    value(this: { [Symbol.toStringTag]: string }) {
      return this[Symbol.toStringTag];
    },
  },
});

/** What the engine says of a call of something: it is an instance of this. An object, since functions cost more. */
function sentence(text: string): object {
  return Object.create(SENTENCE, { [Symbol.toStringTag]: { value: text } });
}

/** Where PyTorch's name is here, as the end of the engine's sentence. */
function placeOf(owner: string, name: string, place: string): string {
  if (place.startsWith(".")) return `nothing: ${name} is ${place.slice(1)} in zensor`;
  if (place !== "") return `nothing: ${name} is the function ${place} of zensor`;
  return `nothing: zensor has no ${owner}.${name} yet`;
}

function isProperty(target: object, name: string): boolean {
  for (let at: object | null = target; at !== null; at = Object.getPrototypeOf(at)) {
    const found = Object.getOwnPropertyDescriptor(at, name);
    if (found !== undefined) return typeof found.value !== "function";
  }
  return false;
}

/** The names of an owner, with what stands behind `=`. */
function namesOf(owner: keyof typeof MISSING): Map<string, string> {
  const words = (MISSING[owner] as string).split(" ");
  return new Map(words.map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]));
}

/** The end of a class's chain of prototypes; it is asked only for what is not there. */
class MissingMembers implements ProxyHandler<object> {
  private names: Map<string, string> | null = null;

  constructor(private readonly owner: keyof typeof MISSING) {}

  /** What stands behind a name; undefined for one that is nobody's. */
  private placeOf(key: string | symbol): string | undefined {
    if (typeof key !== "string") return undefined;
    this.names ??= namesOf(this.owner);
    return this.names.get(key);
  }

  /** Refuses the name of a value: taken for one, what is found would go unnoticed. */
  private refuseValue(name: string, place: string, object: unknown): void {
    if (!place.startsWith(".") || !isProperty(object as object, place.slice(1))) return;
    throw texts.attributeElsewhere(undefined, this.owner, name, place.slice(1));
  }

  get(behind: object, key: string | symbol, receiver: unknown): unknown {
    const place = key in behind ? undefined : this.placeOf(key);
    if (place === undefined) return Reflect.get(behind, key, receiver);
    this.refuseValue(key as string, place, receiver);
    return sentence(placeOf(this.owner, key as string, place));
  }

  set(behind: object, key: string | symbol, value: unknown, receiver: unknown): boolean {
    const place = this.placeOf(key);
    if (place !== undefined) this.refuseValue(key as string, place, receiver);
    return Reflect.set(behind, key, value, receiver);
  }
}

/**
 * Puts the names behind a class: at the end of its late members, or behind its prototype, which nobody may have as one
 * yet: a proxy that comes into a chain in use makes every array of the program slow.
 */
export function tellMissingMembers(owner: keyof typeof MISSING, prototype: object): void {
  const missing = new MissingMembers(owner);
  if (endLateMembers(prototype, missing)) return;
  const behind = Object.create(Object.getPrototypeOf(prototype)) as object;
  Object.setPrototypeOf(prototype, new Proxy(behind, missing));
}

/** The end of a namespace. Names here are known as well, where they are not there yet. */
class MissingFunctions implements ProxyHandler<object> {
  private names: Map<string, readonly [name: string, place: string]> | null = null;

  constructor(
    private readonly owner: keyof typeof MISSING,
    private readonly namespace: object,
  ) {}

  /** Names with what PyTorch calls them, and where that is. */
  private read(): Map<string, readonly [name: string, place: string]> {
    const names = new Map<string, readonly [string, string]>();
    for (const [name, place] of namesOf(this.owner)) {
      const there = camel(name) in this.namespace;
      names.set(name, [name, there ? `.${camel(name)}` : place]);
      if (!there) names.set(camel(name), [name, place]);
    }
    return names;
  }

  get(behind: object, key: string | symbol, receiver: unknown): unknown {
    if (typeof key !== "string" || key in behind) return Reflect.get(behind, key, receiver);
    this.names ??= this.read();
    const known = this.names.get(key);
    return known === undefined ? undefined : sentence(placeOf(this.owner, ...known));
  }
}

/** Gives a namespace of functions an end that knows the names; it is asked only for what is not there. */
export function tellMissingFunctions<T extends object>(owner: keyof typeof MISSING, namespace: T): T {
  const behind = Object.create(Object.getPrototypeOf(namespace)) as object;
  Object.setPrototypeOf(namespace, new Proxy(behind, new MissingFunctions(owner, namespace)));
  return namespace;
}
