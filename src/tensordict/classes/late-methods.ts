// The methods of collections that are written beside TensorDictBase, a file for each matter, as classes that hold them
// for the compiler. A collection has a function for each name: it checks arguments, and when it is first called finds
// the method, and with it the file.
import { COLLECTION_MEMBERS } from "../../../generated/collection-members.ts";
import { checkedLater, type Finder } from "../../tensor/checks.ts";
import { ALL } from "../core/collection-checks.ts";
import { MATH } from "../core/math-names.ts";
import { explainDepth } from "../core/too-deep.ts";
import { DiskMethods } from "./disk-methods.ts";
import { ElementMethods } from "./element-methods.ts";
import { EntryMethods } from "./entry-methods.ts";
import { KeyMethods } from "./key-methods.ts";
import { LayoutMethods } from "./layout-methods.ts";
import { MapMethods } from "./map-methods.ts";
import { MathMethods, mathMethodOf } from "./math-methods.ts";
import { PlainMethods } from "./plain-methods.ts";
import { ScanMethods } from "./scan-methods.ts";
import { ShapeMethods } from "./shape-methods.ts";

type File = keyof typeof COLLECTION_MEMBERS;

function prototypeOf(file: File): object {
  switch (file) {
    case "key":
      return KeyMethods.prototype;
    case "shape":
      return ShapeMethods.prototype;
    case "entry":
      return EntryMethods.prototype;
    case "plain":
      return PlainMethods.prototype;
    case "layout":
      return LayoutMethods.prototype;
    case "scan":
      return ScanMethods.prototype;
    case "map":
      return MapMethods.prototype;
    case "element":
      return ElementMethods.prototype;
    case "math":
      return MathMethods.prototype;
    case "disk":
      return DiskMethods.prototype;
  }
}

function memberOf(file: string, name: string): PropertyDescriptor {
  const value = file === "math" ? mathMethodOf(name) : undefined;
  if (value !== undefined) return { value };
  return Object.getOwnPropertyDescriptor(prototypeOf(file as File), name) as PropertyDescriptor;
}

const findMethod: Finder = (file, name) => memberOf(file, name).value;

/** A property that is read, and written where `both` says so. */
function accessor(file: File, name: string, both: boolean): PropertyDescriptor {
  let found: PropertyDescriptor | null = null;
  const descriptor: PropertyDescriptor = {
    configurable: true,
    get() {
      found ??= memberOf(file, name);
      return found.get?.call(this);
    },
  };
  if (!both) return descriptor;
  descriptor.set = function (value) {
    found ??= memberOf(file, name);
    found.set?.call(this, value);
  };
  return descriptor;
}

/** Gives a prototype the methods that it has not itself. */
export function takeLateMethods(prototype: object): void {
  const add = (file: File, word: string) => {
    const mark = /\W$/.exec(word)?.[0] ?? "";
    const name = word.slice(0, word.length - mark.length);
    if (Object.hasOwn(prototype, name)) return;
    if (mark === "." || mark === "=") {
      Object.defineProperty(prototype, name, accessor(file, name, mark === "="));
      return;
    }
    const waits = mark === "!" || name.endsWith("Async");
    const value = checkedLater({ prototype, name, text: ALL[name], file, find: findMethod, waits }, explainDepth);
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  };
  for (const file of Object.keys(COLLECTION_MEMBERS) as File[]) {
    for (const word of COLLECTION_MEMBERS[file].split(" ")) add(file, word);
  }
  for (const name of Object.keys(MATH)) add("math", name);
}
