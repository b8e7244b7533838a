// TensorDicts in safetensors files: tensors under their joined keys, the structure as JSON in the file's metadata.
import { FormatError } from "../../io/base/errors.ts";
import {
  isPythonJson,
  type PythonJson,
  PythonJsonError,
  type PythonJsonObject,
  parsePythonJsonObject,
  pythonJsonStringify,
  toPlain,
} from "../../io/base/python-json.ts";
import { takesUnknown, UnknownArray, type UnknownOptions } from "../../io/base/unknown-array.ts";
import { requireText, requireTexts } from "../../io/base/well-formed.ts";
import type { BackgroundOptions } from "../../io/disk/file-jobs.ts";
import { whileUnreplaced } from "../../io/disk/unreplaced.ts";
import {
  SafetensorsFile,
  type SafetensorsOptions,
  saveSafetensors,
  saveSafetensorsAsync,
} from "../../io/safetensors/safetensors.ts";
import type { SafetensorsListing } from "../../io/safetensors/safetensors-header.ts";
import type { FileWriteOptions } from "../../io/store/single-file.ts";
import { inOrder } from "../../tensor/checks.ts";
import { TypeError, ValueError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { fitBatch, requireFit } from "../core/batch.ts";
import { classInFile } from "../core/class-registry.ts";
import { inheritNames } from "../core/names.ts";
import { noNested } from "../core/nested.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import {
  entriesOf,
  isClassTd,
  isLazy,
  isNested,
  isNonTensor,
  type LazyTd,
  make,
  type NewState,
  type Td,
  toNames,
  type ValueTd,
} from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { placeTd } from "./placing.ts";

const VERSION = 1;
const MAX_DEPTH = 128;
/** A stack without elements may claim any number of members. */
const MAX_MEMBERS = 1_000_000;
const JSON_KINDS = "is not a JSON value (str, int, float, bool, None, list or dict)";

/** What goes into the file. */
interface Flat {
  tensors: Map<string, Tensor | UnknownArray>;
  structure: string;
}

function placeText(path: readonly string[]): string {
  const parts = path.map((part) => `'${part}'`);
  return parts.length === 1 ? `(${parts[0]},)` : `(${parts.join(", ")})`;
}

function valueNode(entry: ValueTd, path: readonly string[]): PythonJsonObject {
  if (entry._kind === "nonTensorStack") {
    throw new TypeError(
      `Cannot save the non-tensor stack at ${placeText(path)} as safetensors: only single JSON values are supported.`,
    );
  }
  const value = entry._raw ?? entry.data;
  if (!isPythonJson(value)) {
    const what = value === undefined ? "undefined" : (value as object).constructor?.name;
    throw new TypeError(
      `Cannot save the non-tensor value at ${placeText(path)} as safetensors: ${what} ${JSON_KINDS}.`,
    );
  }
  requireTexts(value, () => `the value at ${placeText(path)}`);
  return new Map<string, PythonJson>([["non_tensor", value]]);
}

type Tensors = Map<string, Tensor | UnknownArray>;

/** Elements of a file's that no tensor has: they are written as they were. */
function unknownIn(entry: Entry): UnknownArray | null {
  const value: unknown = isNonTensor(entry) && entry._kind === "nonTensor" ? entry.data : null;
  return value instanceof UnknownArray && value.format === "safetensors" ? value : null;
}

function entryNode(entry: Entry, path: readonly string[], tensors: Tensors): PythonJsonObject {
  if (isNested(entry)) throw noNested("saving as safetensors", path.join("."));
  const held = entry instanceof Tensor ? entry : unknownIn(entry);
  if (held === null) {
    const td = entry as Td;
    if (isNonTensor(td)) return valueNode(td, path);
    return new Map<string, PythonJson>([["td", levelNode(td, path, tensors)]]);
  }
  const name = path.join(".");
  if (tensors.has(name)) throw new ValueError(`Two keys of the tensordict have the safetensors name '${name}'.`);
  tensors.set(name, held);
  return new Map<string, PythonJson>([["tensor", name]]);
}

function requireSameKeys(td: LazyTd, path: readonly string[]): void {
  const keys = new Set(td._keys());
  for (const member of td.members) {
    const own = [...member._keys()];
    if (own.length === keys.size && own.every((key) => keys.has(key))) continue;
    throw new TypeError(
      `Cannot save the lazy stack at ${placeText(path)} as safetensors: its entries have different keys.`,
    );
  }
}

/** Python's name of the class; a lazy stack has that of its members. */
function classOf(td: Td): string | null {
  if (isClassTd(td)) return td._qualifiedName;
  if (!isLazy(td)) return null;
  const names = new Set(td.members.map(classOf));
  return names.size === 1 ? ([...names][0] as string | null) : null;
}

function levelNode(td: Td, path: readonly string[], tensors: Tensors): PythonJsonObject {
  if (path.length > MAX_DEPTH) throw new ValueError(`more than ${MAX_DEPTH} levels cannot be saved as safetensors`);
  const node: PythonJsonObject = new Map<string, PythonJson>([
    ["batch_size", [...td._batchSize]],
    ["names", td._names === null ? null : [...td._names]],
  ]);
  requireTexts(td._names, () => `the dimension names at ${placeText(path)}`);
  const stack = isClassTd(td) && td._source !== null ? td._source : td;
  if (isLazy(stack)) {
    requireSameKeys(stack, path);
    node.set("stack_dim", stack.stackDim);
  }
  const qualified = classOf(td);
  if (qualified !== null) node.set("class", `<class '${qualified}'>`);
  const keys: PythonJsonObject = new Map();
  for (const [key] of entriesOf(td)) requireText(key, () => `the key ${JSON.stringify(key)}`);
  for (const [key, entry] of entriesOf(td)) keys.set(key, entryNode(entry, [...path, key], tensors));
  node.set("keys", keys);
  return node;
}

function flatten(td: Td): Flat {
  if (td._kind === "nonTensor" || td._kind === "nonTensorStack") {
    throw new TypeError("Cannot save a bare non-tensor value as safetensors: wrap it in a TensorDict.");
  }
  requireFit(td, "saved");
  const tensors: Tensors = new Map();
  const root = levelNode(td, [], tensors);
  return {
    tensors,
    structure: pythonJsonStringify(
      new Map<string, PythonJson>([
        ["version", VERSION],
        ["root", root],
      ]),
    ),
  };
}

/**
 * Saves a TensorDict or a tensorclass to a safetensors file. Tensors have their keys joined with ".", as in the state
 * of a module; batch sizes, names, classes, stack dimensions and values that are no tensors are kept in the file's
 * metadata. The file is replaced when it is complete. @torch tensordict.to_safetensors
 *
 * @throws TypeError for values that are no JSON, stacks of values, and lazy stacks whose members differ
 * @throws ValueError when two keys have the same joined name
 * @example
 * ```ts
 * const td = new TensorDict({ weight: ones(2, 3), sub: { bias: zeros(2) } }, [2]);
 * toSafetensors(td, "/tmp/zensor-example.safetensors");
 * fromSafetensors("/tmp/zensor-example.safetensors").get(["sub", "bias"]) // tensor([0., 0.])
 * ```
 */
export function toSafetensors(td: Td, path: string, options: FileWriteOptions = {}): void {
  [td, path, options = {}] = inOrder<Parameters<typeof toSafetensors>>(
    "toSafetensors",
    FUNCTIONS.toSafetensors,
    arguments,
  );
  const { tensors, structure } = flatten(td);
  saveSafetensors(tensors, path, { ...options, metadata: { tensordict: structure } });
}

/**
 * Like `toSafetensors`, in the background; the tensors must not change until it is done.
 * @example
 * ```ts
 * await toSafetensorsAsync(new TensorDict({ a: ones(2) }, []), "td.safetensors");
 * fromSafetensors("td.safetensors").get("a") // tensor([1., 1.])
 * ```
 */
export async function toSafetensorsAsync(
  td: Td,
  path: string,
  options: FileWriteOptions & BackgroundOptions = {},
): Promise<void> {
  [td, path, options = {}] = inOrder<Parameters<typeof toSafetensorsAsync>>(
    "toSafetensorsAsync",
    FUNCTIONS.toSafetensorsAsync,
    arguments,
  );
  const { tensors, structure } = flatten(td);
  await saveSafetensorsAsync(tensors, path, { ...options, metadata: { tensordict: structure } });
}

/** A file whose header was read, and that gives its tensors by name. */
export interface SafetensorsSource extends SafetensorsListing {
  tensor(name: string): Tensor;
  unknown(name: string): UnknownArray;
}

/** Builds the tree that the metadata describes. */
class Builder {
  readonly used = new Set<string>();

  constructor(
    private readonly file: SafetensorsSource,
    private readonly others: ReadonlyMap<string, Entry>,
  ) {}

  private bad(what: string): FormatError {
    return new FormatError(`the structure in its metadata: ${what}`, this.file.path);
  }

  private sizes(value: PythonJson | undefined): number[] {
    const valid = Array.isArray(value) && value.length <= 64;
    if (!valid || !value.every((n) => typeof n === "number" && Number.isSafeInteger(n) && n >= 0)) {
      throw this.bad("a batch size is no list of sizes");
    }
    return value as number[];
  }

  level(node: PythonJson | undefined, depth: number): Td {
    if (!(node instanceof Map)) throw this.bad("a level is not an object");
    if (depth > MAX_DEPTH) throw this.bad("levels are nested too deeply");
    const keys = node.get("keys");
    if (!(keys instanceof Map)) throw this.bad("a level has no keys");
    const batchSize = this.sizes(node.get("batch_size"));
    const names = node.get("names") ?? null;
    if (names !== null && !(Array.isArray(names) && names.every((n) => n === null || typeof n === "string"))) {
      throw this.bad("names is no list of names");
    }
    const state: NewState = {
      batchSize: Size.fromList(batchSize),
      device: null,
      names: toNames(names as (string | null)[] | null, batchSize.length),
    };
    const entries = new Map<string, Entry>();
    for (const [key, value] of keys) {
      const entry = this.entry(key, value, state, depth);
      if (entry !== null) entries.set(key, entry);
    }
    const type = node.get("class");
    const made = type === undefined ? make.tensordict(entries, state) : this.tensorclass(type, entries, state);
    const stackDim = node.get("stack_dim");
    return stackDim === undefined ? made : this.stack(made, stackDim);
  }

  private stack(dense: Td, dim: PythonJson): Td {
    const { length: rank } = dense._batchSize;
    if (typeof dim !== "number" || !Number.isInteger(dim) || dim < 0 || dim >= rank) {
      throw this.bad("stack_dim is no batch dimension");
    }
    const count = dense._batchSize[dim] as number;
    if (count === 0 || count > MAX_MEMBERS) throw this.bad(`a lazy stack of ${count} members`);
    return make.lazy(dense.unbind(dim) as Td[], dim, dense._names?.[dim] ?? null);
  }

  private tensorclass(type: PythonJson, entries: Map<string, Entry>, state: NewState): Td {
    const qualified = typeof type === "string" ? (/^<class '([^']+)'>$/.exec(type)?.[1] ?? type) : "";
    const name = qualified.slice(qualified.lastIndexOf(".") + 1);
    const found = classInFile(name);
    if (found === undefined) {
      throw this.bad(
        `the class ${JSON.stringify(name)} is not known. Import the module that defines it, and register it`,
      );
    }
    return found._wrap(entries, state, qualified);
  }

  /** Null for what is left out. */
  private entry(key: string, value: PythonJson, state: NewState, depth: number): Entry | null {
    if (!(value instanceof Map) || value.size !== 1) throw this.bad(`entry ${JSON.stringify(key)} is not understood`);
    if (value.has("non_tensor")) {
      const names = { batchSize: state.batchSize, device: null, names: null };
      const json = value.get("non_tensor") as PythonJson;
      const td = make.nonTensor(toPlain(json), names);
      td._raw = json;
      return td;
    }
    const name = value.get("tensor");
    if (typeof name === "string" && this.file.header.unknown.has(name)) return this.others.get(name) ?? null;
    if (name !== undefined && (typeof name !== "string" || !this.file.header.entries.has(name))) {
      throw this.bad(`entry ${JSON.stringify(key)} names a tensor that the file does not have`);
    }
    if (name === undefined && !value.has("td")) throw this.bad(`entry ${JSON.stringify(key)} is not understood`);
    if (name !== undefined) this.used.add(name as string);
    const made = name === undefined ? this.level(value.get("td"), depth + 1) : this.file.tensor(name as string);
    if (fitBatch(made as Entry, state.batchSize) === null) {
      throw this.bad(`entry ${JSON.stringify(key)} does not begin with the batch size ${state.batchSize}`);
    }
    inheritNames(made as Entry, state.names);
    return made as Entry;
  }
}

/** The collection whose structure a file's metadata describes. Throws `FormatError` where the two do not fit. */
export function structuredSafetensors(file: SafetensorsSource, text: string, others = othersOf(file, {})): Td {
  let root: PythonJsonObject;
  try {
    root = parsePythonJsonObject(new TextEncoder().encode(text));
  } catch (error) {
    if (!(error instanceof PythonJsonError)) throw error;
    throw new FormatError(`the structure in its metadata: ${error.message}`, file.path, error);
  }
  if (root.get("version") !== VERSION) {
    throw new FormatError(`the structure in its metadata has a version that is not ${VERSION}`, file.path);
  }
  const builder = new Builder(file, others);
  const td = builder.level(root.get("root"), 0);
  const lost = file.keys().find((name) => !builder.used.has(name));
  if (lost !== undefined) {
    throw new FormatError(`the structure in its metadata does not name the tensor ${JSON.stringify(lost)}`, file.path);
  }
  return td;
}

/** A collection of what a file has by name, nested at dots. */
function dotted(file: SafetensorsSource, others: ReadonlyMap<string, Entry>): Td {
  const state = { batchSize: Size.fromList([]), device: null, names: null };
  const names = [...file.keys(), ...others.keys()];
  const entries = names.map((name): [string, Entry] => [name, others.get(name) ?? file.tensor(name)]);
  const flat = make.tensordict(new Map(entries), state);
  return names.some((key) => key.includes(".")) ? (flat.unflattenKeys(".") as Td) : flat;
}

/** How a file is loaded as a TensorDict. */
export interface FromSafetensorsOptions extends SafetensorsOptions {}

/** Entries for elements that no tensor has, as far as they are wanted. */
function othersOf(file: SafetensorsSource, options: UnknownOptions): Map<string, Entry> {
  const others = new Map<string, Entry>();
  for (const [name, entry] of file.header.unknown) {
    if (!takesUnknown(options, () => file._refusal(entry))) continue;
    others.set(name, valueEntry(file.unknown(name)));
  }
  return others;
}

function valueEntry(value: UnknownArray): Entry {
  return make.nonTensor(value, { batchSize: Size.fromList([]), device: null, names: null });
}

/**
 * Loads a safetensors file as a TensorDict; bytes are read when they are used. A file written by `toSafetensors` gets
 * its structure back, any other one is nested at the dots of its names. The index of a checkpoint in several files
 * (`model.safetensors.index.json`), or the folder that holds it, gives the tensors of all of them. Elements of types
 * that tensors do not have are values, each an `io.UnknownArray`; `unknown` says what else becomes of them.
 * @torch tensordict.from_safetensors
 *
 * @throws FormatError when the file is not what its header or its structure says
 * @example
 * ```ts
 * toSafetensors(new TensorDict({ a: { b: arange(3) } }, []), "td.safetensors");
 * fromSafetensors("td.safetensors").get(["a", "b"]) // tensor([0, 1, 2])
 * ```
 */
export function fromSafetensors(path: string, options: FromSafetensorsOptions = {}): Td {
  [path, options = {}] = inOrder<Parameters<typeof fromSafetensors>>(
    "fromSafetensors",
    FUNCTIONS.fromSafetensors,
    arguments,
  );
  const { unknown, followLinks = false, ...place } = options;
  return whileUnreplaced(path, () => {
    const file = new SafetensorsFile(path, { followLinks });
    const text = file.metadata.get("tensordict");
    const others = othersOf(file, unknown === undefined ? {} : { unknown });
    const td = text === undefined ? dotted(file, others) : structuredSafetensors(file, text, others);
    return placeTd(td, place, "fromSafetensors");
  });
}
