/**
 * What PyTorch's names give that an object here has not: `x.index_select` says that it is called indexSelect,
 * `F.conv2d` that it is not there yet. A function's name gives an object that is no function, whose class says so in
 * the engine's own message (`x.index_select is not a function … is an instance of …`): looking whether something is
 * there goes on working. A property's name throws, since it would be taken for a value. Hits cost nothing: these names
 * stand at the end of the chain of prototypes.
 */
import { MISSING } from "../../generated/missing.ts";
import * as texts from "../../generated/texts.ts";

const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** An object of a class that has a sentence for a name. */
function sentence(text: string): object {
  return new (class {
    static displayName = text;
    toString(): string {
      return text;
    }
  })();
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

/** Puts the names below a class's prototype: `last` is the last one of its chain that is ours. */
export function tellMissingMembers(owner: keyof typeof MISSING, prototype: object, last: object): void {
  const end = Object.create(Object.getPrototypeOf(last)) as object;
  for (const word of (MISSING[owner] as string).split(" ")) {
    const at = word.indexOf("=");
    const name = word.slice(0, at);
    const requireFunction = () => {
      const place = word.slice(at + 1);
      if (!place.startsWith(".") || !isProperty(prototype, place.slice(1))) return place;
      throw texts.attributeElsewhere(undefined, owner, name, place.slice(1));
    };
    Object.defineProperty(end, name, {
      configurable: true,
      get: () => sentence(placeOf(owner, name, requireFunction())),
      set(value: unknown) {
        requireFunction();
        Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
      },
    });
  }
  Object.setPrototypeOf(last, end);
}

/** Gives a namespace of functions an end that knows the names; it is asked only for what is not there. */
export function tellMissingFunctions(owner: keyof typeof MISSING, namespace: object): void {
  let names: Map<string, string> | undefined;
  const get = (target: object, key: string | symbol, receiver: unknown) => {
    if (typeof key !== "string" || key in target) return Reflect.get(target, key, receiver);
    if (names === undefined) {
      names = new Map();
      for (const word of (MISSING[owner] as string).split(" ")) {
        const name = word.slice(0, word.indexOf("="));
        const there = camel(name) in namespace;
        names.set(name, there ? `${name}=.${camel(name)}` : word);
        if (!there) names.set(camel(name), word);
      }
    }
    const word = names.get(key);
    return word === undefined ? undefined : sentence(placeOf(owner, ...(word.split("=") as [string, string])));
  };
  Object.setPrototypeOf(namespace, new Proxy(Object.prototype, { get }));
}
