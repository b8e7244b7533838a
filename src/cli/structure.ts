// The structure of what a Python program saved, as one text among the strings of a header: formats that know tensors by
// name alone keep with it what levels and values were, and the values that they have no place for themselves.
import { FormatError } from "../io/base/errors.ts";
import { isPlainObject, type PythonJson, parsePythonJson, pythonJsonStringify } from "../io/base/python-json.ts";
import { inFile } from "../io/pickle/plain-pickle.ts";
import { entriesOf, make, outlineOf, type Td } from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor, NonTensorData } from "../tensordict/index.ts";
import { CliError } from "./errors.ts";
import { METADATA, SEPARATOR } from "./losses.ts";
import { firstObject } from "./python-objects.ts";
import { isPlainLevel, NO_STATE, nestedAtDots, type PythonTree, unnested, valueEntry } from "./python-tree.ts";
import { Describer, MAX_DEPTH, type PythonNode, requireHashable, restore, valueOf } from "./python-values.ts";

/** The string of a header that holds the structure. */
export const STRUCTURE = "zensor.structure";
const VERSION = 1;
/** Each level of a tree has some of JSON's. */
const JSON_DEPTH = 4 * MAX_DEPTH + 16;

type Json = Map<string, PythonJson>;

/** A node and the value that is kept with it. */
type Stored = PythonNode & { value?: PythonJson; entries?: ReadonlyMap<string, Stored | null> };

function anyJson(value: unknown): PythonJson {
  const { json, node } = new Describer("").value(value);
  if (node === null && (json === null || typeof json !== "object")) return json;
  return new Map([["value", json], ...(nodeJson(node) ?? [])]);
}

function nodesJson(nodes: ReadonlyMap<string, PythonNode | null>): Json {
  return new Map(Array.from(nodes, ([name, node]) => [name, nodeJson(node)]));
}

function nodeJson(node: Stored | null): Json | null {
  if (node === null) return null;
  const json: Json = new Map();
  if (node.is !== undefined) json.set("is", node.is);
  if (node.value !== undefined) json.set("value", node.value);
  // Objects are no keys here: their names stand for them.
  const keys = [...(node.keys ?? [])].filter(([, key]) => firstObject(key) === undefined);
  if (keys.length > 0) json.set("keys", new Map(keys.map(([name, key]) => [name, anyJson(key)])));
  if (node.attributes !== undefined) json.set("attributes", anyJson(node.attributes));
  if (node.entries !== undefined) json.set("entries", nodesJson(node.entries));
  if (node.parts !== undefined) json.set("parts", nodesJson(node.parts));
  return json;
}

/** The text for a collection: of the tree, what the collection has; `inline` are values that are kept in the text. */
function structureText(td: Td, tree: PythonNode, inline: ReadonlySet<Entry>): string {
  const stored = (entry: Entry, node: PythonNode | null): Stored | null => {
    if (inline.has(entry)) return { ...node, value: valueOf(entry) as PythonJson };
    return isPlainLevel(entry) ? level(entry, node ?? {}) : node;
  };
  const level = (at: Td, node: PythonNode): Stored => {
    const own = new Map(entriesOf(at));
    const names = [...(node.entries?.keys() ?? [])].filter((name) => own.has(name));
    const all = new Set([...names, ...own.keys()]);
    const entries = Array.from(all, (name): [string, Stored | null] => {
      return [name, stored(own.get(name) as Entry, node.entries?.get(name) ?? null)];
    });
    const keys = new Map([...(node.keys ?? [])].filter(([name]) => own.has(name)));
    const { keys: _, ...rest } = node;
    return { ...rest, ...(keys.size > 0 ? { keys } : {}), entries: new Map(entries) };
  };
  const root = nodeJson(level(unnested(td, tree), tree));
  return pythonJsonStringify(
    new Map<string, PythonJson>([
      ["version", VERSION],
      ["root", root],
    ]),
    { compact: true },
  );
}

function fail(what: string): never {
  throw new FormatError(`the structure in its header ${what}`);
}

function mapIn(json: Json, key: string): Json | undefined {
  const value = json.get(key);
  if (value === undefined || value instanceof Map) return value as Json | undefined;
  return fail(`has ${key} that are none`);
}

function anyOf(json: PythonJson): unknown {
  if (!(json instanceof Map)) return Array.isArray(json) ? fail("has a list as a key") : json;
  return restore(json.get("value") ?? null, parsedNode(json));
}

function parsedNode(json: PythonJson | undefined): Stored | null {
  if (json === null) return null;
  if (!(json instanceof Map)) return fail("has an entry that is none");
  const nodes = (key: string) => {
    const found = mapIn(json, key);
    return found && new Map(Array.from(found, ([name, inner]) => [name, parsedNode(inner)]));
  };
  const [is, entries, parts] = [json.get("is"), nodes("entries"), nodes("parts")];
  if (is !== undefined && typeof is !== "string") return fail("has a class that is none");
  const keys = mapIn(json, "keys");
  const node: Stored = {};
  if (is !== undefined) node.is = is;
  if (json.has("value")) node.value = json.get("value") as PythonJson;
  if (keys !== undefined) node.keys = new Map(Array.from(keys, ([name, key]) => [name, requireHashable(anyOf(key))]));
  const attributes = json.get("attributes");
  if (attributes !== undefined) node.attributes = anyOf(attributes);
  const isDict = node.attributes instanceof Map || is === "deque" || is === "defaultdict";
  if (attributes !== undefined && !isDict) return fail("has attributes that are no dict");
  if (entries !== undefined) node.entries = entries;
  if (parts !== undefined) node.parts = parts;
  return node;
}

function parsed(text: string): Stored {
  const json = ((): PythonJson => {
    try {
      return parsePythonJson(text, { maxDepth: JSON_DEPTH });
    } catch (error) {
      return fail(`is no JSON: ${(error as Error).message}`);
    }
  })();
  if (!(json instanceof Map) || json.get("version") !== VERSION) return fail(`is not of version ${VERSION}`);
  const root = parsedNode(json.get("root"));
  return root?.entries === undefined ? fail("has no entries") : root;
}

/** Puts a collection together again as its structure has it. */
class Restoring {
  private readonly used = new Set<Entry>();

  /** @param joined entries by joined names, of formats without levels */
  constructor(private readonly joined: Td | null) {}

  private find(level: Td | null, name: string, path: readonly string[]): Entry | undefined {
    if (this.joined !== null) return this.joined._own(path.join(SEPARATOR));
    return level?._own(name);
  }

  level(node: Stored, at: Td | null, path: readonly string[]): Td {
    const entries = new Map<string, Entry>();
    for (const [name, inner] of node.entries as ReadonlyMap<string, Stored | null>) {
      const where = [...path, name];
      const found = this.find(at, name, where);
      if (inner?.value !== undefined) entries.set(name, valueEntry(inner.value) as Entry);
      else if (inner?.entries !== undefined && (found === undefined || isPlainLevel(found))) {
        const made = this.level(inner, found === undefined ? null : (found as Td), where);
        // What was taken out of the file is no longer there.
        if (found !== undefined || [...made._keys()].length > 0 || inner.entries.size === 0) {
          entries.set(name, made as Entry);
        }
      } else if (found !== undefined) entries.set(name, found);
      if (found !== undefined) this.used.add(found);
    }
    if (this.joined === null && at !== null) this.addOthers(at, node, entries);
    return make.tensordict(entries, NO_STATE);
  }

  /** What has come since. */
  addOthers(at: Td, node: Stored, entries: Map<string, Entry>): void {
    for (const [key, entry] of entriesOf(at)) {
      if (!node.entries?.has(key) && !entries.has(key) && !this.used.has(entry)) entries.set(key, entry);
    }
  }

  root(node: Stored, td: Td): Td {
    if (this.joined === null) return this.level(node, unnested(td, node), []);
    const entries = new Map(entriesOf(this.level(node, null, [])));
    this.addOthers(this.joined, node, entries);
    return make.tensordict(entries, NO_STATE);
  }
}

/** The strings of a header; null when there is none. */
function headerOf(td: Td): Record<string, unknown> | null {
  const entry = td._kind === "tensordict" ? td._own(METADATA) : undefined;
  const value = isNonTensor(entry) ? (entry as { data?: unknown }).data : null;
  return isPlainObject(value) ? value : null;
}

/** Whether an HDF5 file has a structure, which is kept there as one text. */
export function hasStructure(td: Td): boolean {
  if (![...td._keys()].includes(METADATA)) return false;
  const entry = outlineOf(td, METADATA);
  const text = isNonTensor(entry) ? (entry as { data?: unknown }).data : null;
  return typeof text === "string" && text.includes(STRUCTURE);
}

/** A collection without the structure that its header has, put together as that says. */
export function withoutStructure(td: Td, path: string, flat = false): PythonTree {
  const header = headerOf(td);
  const text = header !== null && Object.hasOwn(header, STRUCTURE) ? header[STRUCTURE] : undefined;
  if (header === null || typeof text !== "string") return { td: flat ? nestedAtDots(td) : td, tree: null };
  const { [STRUCTURE]: _, ...strings } = header;
  return inFile(path, () => {
    const tree = parsed(text);
    const entries = new Map(entriesOf(td));
    if (Object.keys(strings).length === 0 && !tree.entries?.has(METADATA)) entries.delete(METADATA);
    else entries.set(METADATA, new NonTensorData(strings) as never);
    const rest = make.tensordict(entries, NO_STATE);
    return { td: nestedAtDots(new Restoring(flat ? rest : null).root(tree, rest)), tree: bare(tree) };
  });
}

/** A tree without the values that are in the collection by now. */
function bare(node: Stored): PythonNode {
  const { value: _, entries, ...rest } = node;
  if (entries === undefined) return rest;
  return { ...rest, entries: new Map(Array.from(entries, ([name, inner]) => [name, inner && bare(inner)])) };
}

/** A collection with the structure of its tree in its header, without the values that are kept in there. */
export function withStructure(td: Td, tree: PythonNode, inline: ReadonlySet<Entry>): Td {
  const kept = (level: Td): Td => {
    const entries = new Map<string, Entry>();
    for (const [key, entry] of entriesOf(level)) {
      if (!inline.has(entry)) entries.set(key, isPlainLevel(entry) ? (kept(entry) as Entry) : entry);
    }
    return make.tensordict(entries, NO_STATE);
  };
  const made = kept(td);
  const strings = headerOf(made);
  if (made._own(METADATA) !== undefined && (strings === null || Object.hasOwn(strings, STRUCTURE))) {
    throw new CliError(`the structure has to be kept in ${METADATA}, and something else has this name or holds one.`);
  }
  made._put(METADATA, new NonTensorData({ ...strings, [STRUCTURE]: structureText(td, tree, inline) }) as never);
  return made;
}
