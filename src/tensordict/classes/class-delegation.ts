// Objects of tensorclasses around lazy stacks: what is called on them happens to the stack, whose members stay apart.
import { isLazy, isTensorCollection, type Td } from "../core/state.ts";
import { isKey, isSlice } from "../ops/indexing.ts";
import { TensorDictBase } from "./base.ts";
import { TensorClassBase } from "./tensorclass.ts";

/** What asks for an object's own class, in files and in modules. */
const KEPT = new Set([
  ...["memmap", "memmap_", "memmapLike", "memmapAsync", "save", "saveAsync", "dumps", "load_", "loadMemmap_"],
  ...[
    "memmapRefresh_",
    "consolidate",
    "consolidateAsync",
    "stateDict",
    "loadStateDict",
    "toModule",
    "toH5",
    "toH5Async",
  ],
]);

/** What gives entries, or a collection without a class. */
const ENTRIES = new Set([
  ...["get", "getAt", "setdefault", "getNonTensor", "pop", "popitem", "keys", "values", "items", "nonTensorItems"],
  ...["toTensordict", "toPytree", "toDict", "tolist", "numpy", "toNamedtuple", "dataPtr", "attrs"],
]);

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** The lazy stack that an object of a class shows. */
function shown(value: unknown): Td | null {
  return value instanceof TensorClassBase && value._source !== null && isLazy(value._source) ? value._source : null;
}

/** Results of a stack as objects of the class that shows it. */
function dressed(self: TensorClassBase, source: Td, result: unknown): unknown {
  if (result === source) return self;
  if (Array.isArray(result)) return result.map((one) => dressed(self, source, one));
  if (!isTensorCollection(result) || !/^(tensordict|lazy)$/.test(result._kind)) return result;
  const names = self._fieldNames();
  return [...result._keys()].every((key) => names.includes(key)) ? self._around(result) : result;
}

const givesEntry = (name: string, [first]: readonly unknown[]): boolean =>
  ENTRIES.has(name) || (name === "at" && isKey(first) && !isSlice(first));

/** A text, even where members differ in shape: then the stack's. */
function texted(self: TensorClassBase, print: Method): unknown {
  const source = shown(self);
  if (source === null) return print.apply(self);
  try {
    return print.apply(self);
  } catch {
    return String(source);
  }
}

/** Lets the methods of objects around lazy stacks work on the stacks. */
export function delegateMethods(names: Iterable<string>): void {
  for (const name of names) {
    const base: unknown = Reflect.get(TensorDictBase.prototype, name);
    if (KEPT.has(name) || typeof base !== "function") continue;
    const print: Method = function () {
      return texted(this as TensorClassBase, base as Method);
    };
    const call: Method = function (...args) {
      const source = shown(this);
      if (source === null) return base.apply(this, args);
      const own = Reflect.get(source, name) as Method;
      const result = own.apply(
        source,
        args.map((one) => shown(one) ?? one),
      );
      return givesEntry(name, args) ? result : dressed(this as TensorClassBase, source, result);
    };
    const value = name === "toString" ? print : call;
    Object.defineProperty(value, "name", { value: name });
    Object.defineProperty(TensorClassBase.prototype, name, { value, writable: true, configurable: true });
  }
}
