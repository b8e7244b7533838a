// Builds TensorDicts, lazy stacks, tensorclasses and values from the tree that a reader found.

import { FormatError } from "../../io/base/errors.ts";
import { parsePythonJsonObject, toPlain } from "../../io/base/python-json.ts";
import type {
  LeafNode,
  NestedNode,
  NonTensorNode,
  NonTensorStackNode,
  TensorClassNode,
  TensorDictNode,
  TreeNode,
  TreeSource,
} from "../../io/memmap/tree.ts";
import { readPlainPickle } from "../../io/pickle/plain-pickle.ts";
import { dirname, join } from "../../runtime/node.ts";
import type { Device } from "../../tensor/device.ts";
import { KeyError, RuntimeError } from "../../tensor/errors.ts";
import { SCALAR_SIZE, Size } from "../../tensor/size.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { fitBatch } from "../core/batch.ts";
import { classInFile, type RegisteredClass } from "../core/class-registry.ts";
import { stackProblem, startsWith } from "../core/convert.ts";
import { inheritNames } from "../core/names.ts";
import { NestedTensor } from "../core/nested.ts";
import { type ClassTd, make, type NewState, stateOf, type Td, toNames } from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { regularValues } from "../core/values.ts";
import { followFile } from "./memmap-save.ts";

/**
 * Bytes of a Python pickle that were kept but not interpreted.
 * @example
 * ```ts
 * const found = new tensordict.PickledData(new Uint8Array(3), "other.pickle");
 * [found.path, found.bytes.length] // [other.pickle, 3]
 * ```
 */
export class PickledData {
  constructor(
    /** The bytes of the pickle, which nothing has run. */
    readonly bytes: Uint8Array,
    /** The file that they are from. */
    readonly path: string,
  ) {}
}

/**
 * A class of Python's that was saved as a value: `dict`, `list`, `tuple` or `OrderedDict` itself.
 * @example
 * ```ts
 * const found = new tensordict.PythonClass("torch.nn.Linear");
 * [found.name, found] // [torch.nn.Linear, <class 'torch.nn.Linear'>]
 * ```
 */
export class PythonClass {
  /** The class's name in Python, with its module. */
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
  /** As Python prints a class. */
  toString(): string {
    return `<class '${this.name === "OrderedDict" ? "collections." : ""}${this.name}'>`;
  }
}

/** What happens to values that Python pickled. */
export type PickleChoice = "refuse" | "keep" | "plain";

/** What building a tree needs to know. */
export interface BuildContext {
  /** The tensor of every leaf. */
  tensors: ReadonlyMap<LeafNode, Tensor>;
  device: Device | null;
  pickles: PickleChoice;
  /** The tree is a directory: what is built remembers its place, and values write themselves there. */
  onDisk: boolean;
  /** Where the files are that the tree names. */
  source: TreeSource;
}

/** The collection that a tree describes. */
export function buildTree(node: TreeNode, context: BuildContext, parent: NewState | null = null): Td {
  switch (node.kind) {
    case "tensordict": {
      const state = levelState(node.batchSize, node.names, context);
      const td = make.tensordict(entriesOf(node.entries, context, state, node.path), state);
      return placed(td, node.path, context);
    }
    case "lazy": {
      const members = node.members.map((member) => buildTree(member, context));
      const problem = stackProblem(members, node.stackDim);
      if (problem !== null) throw new FormatError(problem, join(node.path, "meta.json"));
      return placed(make.lazy(members, node.stackDim, node.stackDimName), node.path, context);
    }
    case "tensorclass": {
      const found = classInFile(node.className);
      if (found === undefined) {
        throw new RuntimeError(
          `Could not find the class ${node.className} saved in ${node.path}. Import the module that defines it, ` +
            `or call ${node.className}.loadMemmap() instead of TensorDict.loadMemmap().`,
        );
      }
      if (node.inner.kind === "lazy") {
        // The object shows the stack, whose place is its own.
        const stack = buildTree(node.inner, context);
        return (wrapped(found, new Map(), stateOf(stack), node) as ClassTd)._around(stack);
      }
      const state = levelState(node.inner.batchSize, node.inner.names, context);
      const entries = entriesOf(node.inner.entries, context, state, node.inner.path);
      return placed(wrapped(found, entries, state, node), node.path, context);
    }
    case "nonTensor":
      return buildValue(node, context, parent);
    case "nonTensorStack":
      return buildStack(node, context);
  }
}

function wrapped(found: RegisteredClass, entries: Map<string, Entry>, state: NewState, node: TensorClassNode): Td {
  try {
    return found._wrap(entries, state, node.qualified);
  } catch (error) {
    // A field that the class does not have.
    if (error instanceof KeyError) throw new FormatError(error.message, node.path, error);
    throw error;
  }
}

function placed(td: Td, path: string, context: BuildContext): Td {
  if (context.onDisk) td._disk = { path, late: new Set(), robustKey: true, loose: true };
  return td;
}

function levelState(
  batchSize: readonly number[],
  names: readonly (string | null)[] | null,
  context: BuildContext,
): NewState {
  return {
    batchSize: batchSize.length === 0 ? SCALAR_SIZE : Size.fromList(batchSize),
    device: context.device,
    names: toNames(names, batchSize.length),
  };
}

function entryOf(node: LeafNode | NestedNode | TreeNode, context: BuildContext, state: NewState): Entry {
  switch (node.kind) {
    case "leaf":
      return context.tensors.get(node) as Tensor;
    case "nested":
      return new NestedTensor(context.tensors.get(node.values) as Tensor, node.sizes, node.count, node.rank);
    default:
      return buildTree(node, context, state);
  }
}

function entriesOf(
  nodes: TensorDictNode["entries"],
  context: BuildContext,
  state: NewState,
  path: string,
): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const [key, node] of nodes) {
    const entry = entryOf(node, context, state);
    const fits = node.kind === "leaf" ? startsWith(node.meta.shape, state.batchSize) : fitBatch(entry, state.batchSize);
    if (fits === false || fits === null) {
      const shape = node.kind === "leaf" ? node.meta.shape : (entry as Td)._batchSize;
      throw new FormatError(
        `entry ${JSON.stringify(key)} of shape [${shape.join(", ")}] does not begin with the batch ` +
          `size ${state.batchSize}`,
        join(path, "meta.json"),
      );
    }
    inheritNames(entry, state.names);
    entries.set(key, entry);
  }
  return entries;
}

const CLASSES = new Set(["dict", "list", "tuple", "OrderedDict"]);

/** The class that `json_types.json` names for a field, as long as it speaks of this very pickle. */
function savedClass(path: string, bytes: Uint8Array, source: TreeSource): PythonClass | undefined {
  const file = join(dirname(path), "json_types.json");
  if (!source.exists(file)) return undefined;
  const hash = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  const root = ((): ReturnType<typeof parsePythonJsonObject> => {
    try {
      return parsePythonJsonObject(source.small(file));
    } catch (error) {
      if ((error as Error).name !== "PythonJsonError") throw error;
      throw new FormatError((error as Error).message, file, error);
    }
  })();
  const types = root.get("types");
  const name = types instanceof Map ? types.get("data") : undefined;
  if (root.get("pickle_sha256") !== hash || typeof name !== "string" || !CLASSES.has(name)) return undefined;
  return new PythonClass(name);
}

/** The value in a pickle, which is never run; `field` is the key under which it lies there. */
function readPickle(path: string, context: BuildContext, field: string | null): unknown {
  const { source } = context;
  const bytes = source.small(path).slice();
  const known = field === null ? undefined : savedClass(path, bytes, source);
  if (known !== undefined) return known;
  switch (context.pickles) {
    case "keep":
      return new PickledData(bytes, path);
    case "refuse":
      throw new RuntimeError(
        `Refusing to load pickled non-tensor data from ${path}. Pass { pickles: "plain" } to read plain values ` +
          '(sets, bytes, tuples, dicts), or { pickles: "keep" } to load everything else and keep its bytes unread.',
        { code: "pickle" },
      );
    case "plain": {
      const value = readPlainPickle(bytes, path);
      if (field === null) return value;
      const fields = value as Record<string, unknown> | null;
      if (typeof fields !== "object" || fields === null || !Object.hasOwn(fields, field)) {
        throw new FormatError(`the pickle has no ${JSON.stringify(field)}`, path);
      }
      return fields[field];
    }
  }
}

function buildValue(node: NonTensorNode, context: BuildContext, parent: NewState | null): Td {
  const state = { batchSize: parent?.batchSize ?? Size.fromList([]), device: context.device, names: null };
  const value = node.pickle === null ? toPlain(node.data) : readPickle(node.pickle, context, "data");
  const td = make.nonTensor(value, state, node.className);
  if (node.pickle === null) td._raw = node.data;
  if (context.onDisk) followFile(td, node.path);
  return td;
}

function buildStack(node: NonTensorStackNode, context: BuildContext): Td {
  const { pickle } = node;
  const data = pickle === null ? toPlain(node.data) : readPickle(pickle, context, null);
  if (data instanceof PickledData) {
    return make.nonTensor(data, { batchSize: Size.fromList([]), device: context.device, names: null }, "NonTensorData");
  }
  if (!Array.isArray(data))
    throw new FormatError("data of a NonTensorStack is not a list", pickle ?? join(node.path, "meta.json"));
  // The file does not tell nested stacks from values that are lists: regular lists are stacks, as in Python.
  const { values, shape } = regularValues(data);
  const td = make.nonTensorStack(values, { batchSize: shape, device: context.device, names: null }, node.stackDim);
  if (pickle === null) td._raw = node.data;
  if (context.onDisk) followFile(td, node.path);
  return td;
}
