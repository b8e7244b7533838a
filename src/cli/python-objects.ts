// Objects of Python's classes in what a program saved: one without tensors is a text, any other a level of its tensors.
import { isPlainObject } from "../io/base/python-json.ts";
import { UnknownArray } from "../io/base/unknown-array.ts";
import { PythonName, PythonObject } from "../io/pickle/python-object.ts";
import { Tensor } from "../tensor/tensor.ts";
import { entriesOf, isNested, type Td } from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor, isTensorCollection } from "../tensordict/index.ts";
import { isDict, type PythonNode } from "./python-values.ts";

/** Where modules have their parameters, buffers and modules: the names in there are those of state dicts. */
const MODULE_PARTS = ["_parameters", "_buffers", "_modules"];

/** A level's node: the object, and the tensors that the level has of it. */
export interface ObjectNode extends PythonNode {
  object: PythonObject;
  leaves: readonly Entry[];
}

function pairsOf(value: Map<unknown, unknown> | Record<string, unknown>): [unknown, unknown][] {
  return value instanceof Map ? [...value] : Object.entries(value);
}

/** All that an object was given, by name. */
function givenTo(value: PythonObject): [string, unknown][] {
  const { callee, args, kwargs, listItems, dictItems, state, stateSetter } = value;
  const { attributes } = value;
  const told = Object.keys(attributes).length > 0 || state === undefined;
  return [
    ["callee", callee],
    ["args", args],
    ["kwargs", kwargs],
    ["listItems", listItems],
    ["dictItems", dictItems],
    ...(told ? Object.entries(attributes) : ([["state", state]] as [string, unknown][])),
    ["setter", stateSetter],
  ];
}

/** Finds out what holds tensors, or objects. */
export class Holding {
  private readonly tensors = new Map<object, boolean>();
  private readonly objects = new Map<object, boolean>();

  /** Whether there are tensors in a value. */
  holdsTensors(value: unknown): boolean {
    return this.search(value, this.tensors, isTensorEntry);
  }

  /** Whether there are tensors or objects in a value: then it is a level. */
  holds(value: unknown): boolean {
    return this.search(value, this.objects, (item) => item instanceof PythonObject || isTensorEntry(item));
  }

  /** Below one value everything is looked at once: what contains itself, too. */
  private search(root: unknown, known: Map<object, boolean>, wanted: (value: object) => boolean): boolean {
    if (typeof root !== "object" || root === null) return false;
    const found = known.get(root);
    if (found !== undefined) return found;
    const seen = new Set<object>([root]);
    const waiting: object[] = [root];
    let result = false;
    while (!result) {
      const item = waiting.pop();
      if (item === undefined) break;
      result = wanted(item) || known.get(item) === true;
      if (result || known.get(item) === false) continue;
      for (const inner of contentsOf(item)) {
        if (typeof inner !== "object" || inner === null || seen.has(inner)) continue;
        seen.add(inner);
        waiting.push(inner);
      }
    }
    // Nothing below a value that holds none holds any.
    if (!result) for (const item of seen) known.set(item, false);
    known.set(root, result);
    return result;
  }
}

function isTensorEntry(value: object): boolean {
  return value instanceof Tensor || isTensorCollection(value) || isNested(value) || value instanceof UnknownArray;
}

function contentsOf(value: object): Iterable<unknown> {
  if (Array.isArray(value)) return value;
  if (value instanceof PythonObject) return givenTo(value).map(([, item]) => item);
  if (value instanceof Map) return value.values();
  return isPlainObject(value) ? Object.values(value) : [];
}

/** The parts of an object that hold tensors, under the names of its level. */
export function partsOf(value: PythonObject, holding: Holding, nameOf: (key: unknown) => string): [string, unknown][] {
  const parts = new Map<string, unknown>();
  const put = (given: string, part: unknown): void => {
    if (!holding.holdsTensors(part)) return;
    let name = given;
    while (parts.has(name)) name += "~";
    parts.set(name, part);
  };
  for (const [name, part] of givenTo(value)) {
    const unfolded = part === value.listItems || part === value.dictItems || MODULE_PARTS.includes(name);
    if (!unfolded || typeof part !== "object") put(name, part);
    else if (Array.isArray(part)) for (const [i, item] of part.entries()) put(String(i), item);
    else if (isDict(part)) for (const [key, item] of pairsOf(part)) put(nameOf(key), item);
    else put(name, part);
  }
  return [...parts];
}

/** Every tensor of a level, and of those below it. */
export function leavesOf(td: Td): Entry[] {
  const found: Entry[] = [];
  for (const [, entry] of entriesOf(td)) {
    if (entry instanceof Tensor || isNested(entry)) found.push(entry);
    else if (!isNonTensor(entry)) found.push(...(entry._kind === "tensordict" ? leavesOf(entry as Td) : [entry]));
  }
  return found;
}

/** The object of a level that still has all of its tensors; undefined for any other level. */
export function objectOf(td: Td, node: PythonNode): unknown {
  const { object, leaves = [] } = node as Partial<ObjectNode>;
  if (object === undefined) return undefined;
  const now = leavesOf(td);
  return now.length === leaves.length && now.every((leaf, i) => leaf === leaves[i]) ? object : undefined;
}

/** The objects of a tree by the names of what they are: the outermost of each. */
export function objectsIn(tree: PythonNode | null): Map<string, PythonObject | Tensor> {
  const found = new Map<string, PythonObject | Tensor>();
  const visit = (node: PythonNode | null, path: readonly string[]): void => {
    if (node === null) return;
    const name = path.length === 0 ? "(all)" : path.join(".");
    if (node.object !== undefined) return void found.set(name, node.object);
    for (const other of [node.attributes, ...(node.keys?.values() ?? [])]) {
      const object = firstObject(other);
      if (object !== undefined) found.set(name, object);
    }
    for (const [key, inner] of node.entries ?? node.parts ?? []) visit(inner, [...path, key]);
  };
  visit(tree, []);
  return found;
}

/** An object in a key or an attribute. */
export function firstObject(value: unknown): PythonObject | Tensor | undefined {
  const seen = new Set<unknown>([value]);
  for (const item of seen) {
    if (item instanceof PythonObject || item instanceof Tensor) return item;
    if (typeof item !== "object" || item === null || item instanceof PythonName) continue;
    for (const inner of item instanceof Set ? item : contentsOf(item)) seen.add(inner);
  }
  return undefined;
}
