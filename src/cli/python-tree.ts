// What Python programs save, as the one collection that every format can hold, and a tree that tells what each level of
// it was: a dictionary of any kind of keys, a list, a tuple. Levels hold tensors; everything else is a value.

import { type PythonJson, pythonJsonStringify, toPlain } from "../io/base/python-json.ts";
import { dequeLength, exactly } from "../io/base/python-origin.ts";
import { UnknownArray } from "../io/base/unknown-array.ts";
import { inFile } from "../io/pickle/plain-pickle.ts";
import { PythonObject } from "../io/pickle/python-object.ts";
import { SCALAR_SIZE } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { entriesOf, isNested, make, type NewState, type Td, type ValueTd } from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor, isTensorCollection } from "../tensordict/index.ts";
import { CliError } from "./errors.ts";
import { findPath } from "./keys.ts";
import { ALONE, METADATA, SEPARATOR, standsBeside } from "./losses.ts";
import { Holding, leavesOf, type ObjectNode, objectOf, partsOf } from "./python-objects.ts";
import {
  classNameOf,
  Describer,
  dictFacts,
  isDict,
  isDictClass,
  OBJECT,
  type PythonNode,
  restore,
  restoreDict,
  restoreList,
  valueOf,
} from "./python-values.ts";
import { unknownEntry, unknownIn } from "./unknown-entries.ts";

/** A collection, and what it was in Python. */
export interface PythonTree {
  td: Td;
  /** Null for what was a collection there as well. */
  tree: PythonNode | null;
}

/** The class of a node that stands for one thing without a name. */
const BY_ITSELF = "by itself";
/** Its name when it is no tensor. */
const ALONE_VALUE = "value";
/** Classes of nodes whose entry is a collection in Python too. */
const COLLECTION = "TensorDict";

export const NO_STATE: NewState = { batchSize: SCALAR_SIZE, device: null, names: null };

/** Whether a source is one thing without a name: an array, say. */
export function isAlone(tree: PythonNode | null): boolean {
  return tree?.is === BY_ITSELF;
}

/** An entry for a value. */
export function valueEntry(json: PythonJson): ValueTd {
  const td = make.nonTensor(toPlain(json), NO_STATE);
  td._raw = json;
  return td;
}

/** A collection without a batch: one that a dictionary could be. */
export function isPlainLevel(entry: unknown): entry is Td {
  return isTensorCollection(entry) && entry._kind === "tensordict" && entry._batchSize.length === 0;
}

/** The node of a collection, so that it is told apart from a dictionary. */
function collectionNode(td: Td): PythonNode | null {
  if (td._kind !== "tensordict") return null;
  const inside = (entry: Entry): PythonNode | null => {
    return isTensorCollection(entry) && entry._kind === "tensordict" ? plainNode(entry) : null;
  };
  const plainNode = (level: Td): PythonNode => {
    return { entries: new Map(Array.from(entriesOf(level), ([key, entry]) => [key, inside(entry)])) };
  };
  return { is: COLLECTION, ...plainNode(td) };
}

/** Values for which a level counts that was met before. */
const SHARED_LEVEL = 64;

class Encoder {
  private readonly describer: Describer;
  private readonly holding = new Holding();
  /** What has been met in the outermost object that is being encoded: its parts are there once. */
  private met: Set<unknown> | null = null;
  private readonly levels = new Set<object>();

  constructor(path: string) {
    this.describer = new Describer(path);
  }

  entry(value: unknown): { entry: Entry; node: PythonNode | null } {
    if (value instanceof Tensor || isNested(value)) return { entry: value, node: null };
    if (isTensorCollection(value)) {
      return { entry: value as Entry, node: isNonTensor(value) ? { is: COLLECTION } : collectionNode(value) };
    }
    if (value instanceof UnknownArray) return { entry: unknownEntry(value), node: null };
    if (value instanceof PythonObject && this.holding.holdsTensors(value)) return this.object(value);
    if (value instanceof PythonObject || !this.holding.holds(value)) {
      const { json, node } = this.describer.value(value);
      return { entry: valueEntry(json) as Entry, node };
    }
    return this.level(value as object);
  }

  /** The tensors of an object, which stays beside them. */
  private object(value: PythonObject): { entry: Td; node: PythonNode } {
    const outer = this.met;
    this.met ??= new Set();
    const parts = partsOf(value, this.holding, (key) => this.describer.keyName(key));
    const { entry, node } = this.within(value, parts, { is: OBJECT });
    this.met = outer;
    const made: ObjectNode = { ...node, object: value, leaves: leavesOf(entry) };
    return { entry, node: made };
  }

  level(value: object): { entry: Td; node: PythonNode } {
    const { names, keys, is, attributes } = this.parts(value);
    const facts: PythonNode = {};
    if (is !== undefined) facts.is = is;
    if (keys.size > 0) facts.keys = keys;
    if (attributes !== undefined) facts.attributes = attributes;
    return this.within(value, names, facts);
  }

  private within(
    value: object,
    names: readonly [string, unknown][],
    facts: PythonNode,
  ): { entry: Td; node: PythonNode } {
    return this.describer.within(value, () => {
      // A level that was there before is another one here: sharing must not make a short pickle endless.
      this.describer.count(this.levels.has(value) ? SHARED_LEVEL : 1);
      this.levels.add(value);
      this.met?.add(value);
      const entries = new Map<string, Entry>();
      const nodes = new Map<string, PythonNode | null>();
      for (const [name, item] of names) {
        if (this.met?.has(item)) continue;
        const { entry, node } = this.describer.at(name, () => this.entry(item));
        entries.set(name, entry);
        nodes.set(name, node);
      }
      return { entry: make.tensordict(entries, NO_STATE), node: { ...facts, entries: nodes } };
    });
  }

  private parts(value: object) {
    if (isDict(value)) return { ...this.describer.named(value), ...dictFacts(value) };
    const names = (value as unknown[]).map((item, i): [string, unknown] => [String(i), exactly(value, i, item)]);
    const maxlen = dequeLength(value as unknown[]);
    const is = maxlen !== undefined ? "deque" : Object.isFrozen(value) ? "tuple" : "list";
    return { names, keys: new Map(), is, attributes: maxlen };
  }
}

/** Flat names as levels, unless a name stands beside the beginning of another ("a" beside "a.b"). */
export function nestedAtDots(td: Td): Td {
  const keys = new Set(td._keys());
  if (![...keys].some((key) => key.includes(SEPARATOR)) || standsBeside(keys)) return td;
  return td.unflattenKeys(SEPARATOR) as Td;
}

/** The collection of what a Python program saved; names of the outermost level are as they are. */
export function encodePython(value: unknown, path: string): PythonTree {
  if (isTensorCollection(value)) return { td: value, tree: null };
  const encoder = new Encoder(path);
  const { entry, node } = isDict(value) ? encoder.level(value) : encoder.entry(value);
  // A list that holds tensors has names for them, too.
  if (node?.entries !== undefined) return { td: entry as Td, tree: node };
  const isArray = entry instanceof Tensor || isNested(entry) || value instanceof UnknownArray;
  const name = isArray ? ALONE : ALONE_VALUE;
  const td = make.tensordict(new Map([[name, entry]]), NO_STATE);
  return { td, tree: { is: BY_ITSELF, entries: new Map([[name, node]]) } };
}

/** What is left of a level when the entries of some paths are taken out of it. */
function without(td: Td, taken: ReadonlySet<Entry>): Td | null {
  const rest = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    if (taken.has(entry)) continue;
    const left = isPlainLevel(entry) ? without(entry, taken) : entry;
    if (left !== null) rest.set(key, left as Entry);
  }
  return rest.size === 0 ? null : make.tensordict(rest, NO_STATE);
}

/** What is left of a collection, with the tree of that: lists are as long as what they hold, levels hold tensors. */
export function recoded(td: Td, tree: PythonNode | null, path: string): PythonTree {
  if (tree === null) return { td, tree };
  const { td: again, tree: fresh } = encodePython(decodePython(td, tree, path), path);
  return { td: nestedAtDots(again), tree: fresh };
}

/**
 * The outermost level with its names as they were before dots made levels of them: those of the tree in their order,
 * and then what the tree does not have.
 */
export function unnested(td: Td, tree: PythonNode): Td {
  const entries = new Map<string, Entry>();
  for (const name of tree.entries?.keys() ?? []) {
    const path = td._own(name) === undefined ? findPath(td, name.split(SEPARATOR)) : [name];
    if (path === null) continue;
    entries.set(
      name,
      path.reduce<Entry>((level, key) => (level as Td)._own(key) as Entry, td as Entry),
    );
  }
  for (const [key, entry] of entriesOf(
    without(td, new Set(entries.values())) ?? make.tensordict(new Map(), NO_STATE),
  )) {
    if (!entries.has(key)) entries.set(key, entry);
  }
  return make.tensordict(entries, NO_STATE);
}

class Decoder {
  value(entry: Entry, node: PythonNode | null): unknown {
    if (entry instanceof Tensor || isNested(entry) || node?.is === COLLECTION) return entry;
    const td = entry as Td;
    const unknown = unknownIn(td);
    if (unknown !== null) return unknown;
    if (td._kind === "nonTensor") return restore(valueOf(td) as PythonJson, node);
    return isPlainLevel(td) ? this.level(td, node ?? {}) : td;
  }

  level(td: Td, node: PythonNode): unknown {
    const object = objectOf(td, node);
    if (object !== undefined) return object;
    const all = new Map(entriesOf(td));
    const names = [...(node.entries?.keys() ?? [])].filter((name) => all.has(name));
    const pairs = Array.from(new Set([...names, ...all.keys()]), (name): [unknown, unknown] => [
      node.keys?.has(name) ? node.keys.get(name) : name,
      this.value(all.get(name) as Entry, node.entries?.get(name) ?? null),
    ]);
    if (node.is === BY_ITSELF && pairs.length === 1) return (pairs[0] as [unknown, unknown])[1];
    // What is left of an object is a dictionary.
    if (node.is === BY_ITSELF || node.is === OBJECT) return restoreDict(pairs, {});
    if (isDictClass(node.is)) return restoreDict(pairs, node);
    return restoreList(
      pairs.map(([, item]) => item),
      node,
    );
  }
}

/** What a Python program saved, of its collection: whatever was taken out of that is not there. */
export function decodePython(td: Td, tree: PythonNode, path: string): unknown {
  return inFile(path, () => new Decoder().level(unnested(td, tree), tree));
}

/** True for tensors by name, as state dicts are: the names alone give an equal dictionary back. */
export function isFlat(td: Td, tree: PythonNode): boolean {
  const notes = pythonNotes(tree);
  return (
    notes.size === 0 &&
    [...entriesOf(unnested(td, tree))].every(([name, entry]) => {
      return entry instanceof Tensor || name === METADATA;
    })
  );
}

/**
 * What names and values do not tell of a collection: one text for each path. An OrderedDict is equal to a dict.
 */
export function pythonNotes(tree: PythonNode | null, path: readonly string[] = []): Map<string, string> {
  const notes = new Map<string, string>();
  const visit = (node: PythonNode | null, at: readonly string[]): void => {
    if (node === null) return;
    const words =
      isDictClass(node.is) || node.is === undefined
        ? []
        : [node.object === undefined ? node.is : classNameOf(node.object)];
    if (node.keys !== undefined) words.push(`keys ${[...node.keys.values()].map((key) => keyText(key)).join(", ")}`);
    if (words.length > 0) notes.set(at.join(SEPARATOR), words.join(", "));
    // What an object holds says its own text.
    if (node.is === OBJECT) return;
    for (const [name, inner] of node.entries ?? node.parts ?? []) visit(inner, [...at, name]);
  };
  visit(tree, path);
  return notes;
}

function keyOf(node: PythonNode, name: string): string {
  return node.keys?.has(name) ? keyText(node.keys.get(name)) : "text";
}

function keyText(key: unknown): string {
  const { json, node } = new Describer("").value(key);
  return `${node?.is ?? ""}${pythonJsonStringify(json)}`;
}

/** The tree of two collections together: levels of the same class have the entries of both. */
export function joinedTrees(a: PythonNode | null, b: PythonNode | null): PythonNode | null {
  if (a === null || b === null) return a ?? b;
  if (a.entries === undefined || b.entries === undefined) return b;
  if (a.is !== b.is && !(isDictClass(a.is) && isDictClass(b.is))) {
    throw new CliError(`a ${a.is ?? "dict"} in one source is a ${b.is ?? "dict"} in another: they cannot be merged.`);
  }
  const entries = new Map(a.entries);
  const keys = new Map([...(a.keys ?? []), ...(b.keys ?? [])]);
  for (const [name, node] of b.entries) {
    if (entries.has(name) && keyOf(a, name) !== keyOf(b, name)) {
      throw new CliError(`the key ${JSON.stringify(name)} is a text in one source and no text in another.`);
    }
    entries.set(name, entries.has(name) ? joinedTrees(entries.get(name) ?? null, node) : node);
  }
  return { ...a, ...b, entries, ...(keys.size > 0 ? { keys } : {}) };
}
