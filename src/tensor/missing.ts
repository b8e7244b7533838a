/**
 * What PyTorch's names give that an object here has not: a call of `x.index_select` says that it is called indexSelect,
 * `F.conv2d` that it is not there yet. A function's name gives an object that is no function, whose tag says so in
 * the engine's own message (`x.index_select is not a function … is an instance of …`): looking whether something is
 * there goes on working. A property's name throws, since it would be taken for a value. Hits cost nothing: these names
 * stand at the end of the chain of prototypes.
 */
import { MISSING } from "../../generated/missing.ts";
import * as texts from "../../generated/texts.ts";

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

/** The property of a name that stands for a value here: taken for one, it would go unnoticed. */
function elsewhere(owner: string, name: string, place: string): PropertyDescriptor {
  const refuse = (): never => {
    throw texts.attributeElsewhere(undefined, owner, name, place);
  };
  return { configurable: true, get: refuse, set: refuse };
}

/** Puts the names below a class's prototype: `last` is the last one of its chain that is ours. */
export function tellMissingMembers(owner: keyof typeof MISSING, prototype: object, last: object): void {
  const end = Object.create(Object.getPrototypeOf(last)) as object;
  for (const word of (MISSING[owner] as string).split(" ")) {
    const at = word.indexOf("=");
    const [name, place] = [word.slice(0, at), word.slice(at + 1)];
    const isValue = place.startsWith(".") && isProperty(prototype, place.slice(1));
    const found = isValue
      ? elsewhere(owner, name, place.slice(1))
      : { value: sentence(placeOf(owner, name, place)), writable: true, configurable: true };
    Object.defineProperty(end, name, found);
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
