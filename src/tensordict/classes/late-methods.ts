// The methods of collections that are written beside TensorDictBase, a file for each matter, as classes that hold them
// for the compiler. A collection gets each, and with it its file, when it is first touched.
import { COLLECTION_MEMBERS } from "../../../generated/collection-members.ts";
import { checkedMethod } from "../../tensor/checks.ts";
import type { LateMembers } from "../../tensor/late-members.ts";
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

/** By name, the file that has a member. */
let files: Map<string, File> | null = null;

function fileOf(name: string): File | undefined {
  if (files === null) {
    files = new Map(Object.keys(MATH).map((each) => [each, "math"]));
    for (const file of Object.keys(COLLECTION_MEMBERS) as File[]) {
      for (const each of COLLECTION_MEMBERS[file].split(" ")) files.set(each, file);
    }
  }
  return files.get(name);
}

/** What every collection has besides the methods of its classes. */
export const LATE_METHODS: LateMembers = {
  names: () => [...new Set([...Object.values(COLLECTION_MEMBERS), ...Object.keys(MATH)])].join(" "),
  member(name) {
    const file = fileOf(name);
    if (file === undefined) return undefined;
    const found = Object.getOwnPropertyDescriptor(prototypeOf(file), name);
    const method = (file === "math" ? mathMethodOf(name) : undefined) ?? found?.value;
    if (method === undefined) return found;
    const text = ALL[name];
    return text === undefined ? method : checkedMethod(name, text, method, explainDepth);
  },
};
