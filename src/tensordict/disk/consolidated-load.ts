// Reads consolidated files: data, the structure as JSON, and the length of the JSON in the last eight bytes.
import { FormatError } from "../../io/base/errors.ts";
import {
  type PythonJson,
  type PythonJsonObject,
  parsePythonJsonObject,
  pythonJsonStringify,
  toPlain,
} from "../../io/base/python-json.ts";
import { FileRanges } from "../../io/disk/file-ranges.ts";
import { type PlaceOptions, placeOf } from "../../io/disk/placing.ts";
import { TensorFile } from "../../io/disk/tensor-file.ts";
import { whileUnreplaced } from "../../io/disk/unreplaced.ts";
import { inOrder } from "../../tensor/checks.ts";
import { CPU, type Device } from "../../tensor/device.ts";
import { type DType, dtypeByName } from "../../tensor/dtype.ts";
import { KeyError, RuntimeError } from "../../tensor/errors.ts";
import { listItems, Size, sameSizes } from "../../tensor/size.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { fitBatch } from "../core/batch.ts";
import { classInFile } from "../core/class-registry.ts";
import { stackProblem } from "../core/convert.ts";
import { lockTd } from "../core/locking.ts";
import { markConsolidated } from "../core/one-block.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { make, type NewState, type Td, toNames } from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { joinedValues, nestedValues } from "../core/values.ts";
import { LEVEL_KEYS, MAX_DEPTH, NESTED_PREFIX } from "./consolidated.ts";
import { placeTd } from "./placing.ts";

const LENGTH_BYTES = 8;
const MAX_JSON_BYTES = 512 * 2 ** 20;
const MAX_RANK = 64;
const MAX_VALUES = 10_000_000;

interface Parts {
  name: string;
  nonTensors: PythonJsonObject;
  leaves: PythonJsonObject;
  metadata: PythonJsonObject;
  nested: [string, PythonJson][];
}

/** Values of a stack, row-major. */
interface StackedValues {
  json: PythonJson[];
  shape: number[];
}

/** Structure and data of one file. */
function readStructure(path: string): { root: PythonJsonObject; dataBytes: number; path: string } {
  return FileRanges.with(path, (file) => {
    if (file.size < LENGTH_BYTES) throw new FormatError("too short for a consolidated file", file.path);
    const last = file.read(file.size - LENGTH_BYTES, LENGTH_BYTES);
    const length = new DataView(last.buffer).getBigInt64(0, true);
    const room = file.size - LENGTH_BYTES;
    if (length < 2n || length > BigInt(Math.min(room, MAX_JSON_BYTES))) {
      throw new FormatError(`a structure of ${length} bytes cannot be in it: no consolidated file`, file.path);
    }
    const dataBytes = room - Number(length);
    const json = file.read(dataBytes, Number(length));
    try {
      return { root: parsePythonJsonObject(json, { maxLength: MAX_JSON_BYTES }), dataBytes, path: file.path };
    } catch (error) {
      if ((error as Error).name !== "PythonJsonError") throw error;
      throw new FormatError(`its structure: ${(error as Error).message}`, file.path, error);
    }
  });
}

/** The bytes of all tensors: a file, or a tensor in memory or on a device. */
export type ConsolidatedBytes = Pick<TensorFile, "path" | "size" | "tensor"> & { readonly device?: Device };

/** What a structure describes over its bytes. */
export function buildConsolidated(root: PythonJson, bytes: ConsolidatedBytes): Td {
  return new Builder(bytes).node(root, "", 0);
}

function isSize(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Builds what the structure describes. */
class Builder {
  private copied = 0;

  constructor(private readonly file: ConsolidatedBytes) {}

  private bad(place: string, what: string): FormatError {
    return new FormatError(`its structure${place === "" ? "" : ` at ${place}`}: ${what}`, this.file.path);
  }

  node(value: PythonJson, place: string, depth: number): Td {
    if (depth > MAX_DEPTH) throw this.bad(place, "levels are nested too deeply");
    const parts = this.parts(value, place);
    const locked = parts.metadata.get("is_locked") ?? false;
    if (typeof locked !== "boolean") throw this.bad(place, "is_locked is neither true nor false");
    const td = this.collection(parts, place, depth);
    if (locked) lockTd(td);
    return td;
  }

  private collection(parts: Parts, place: string, depth: number): Td {
    switch (parts.name) {
      case "LazyStackedTensorDict":
        return this.lazy(parts, place, depth);
      case "NonTensorStack":
        return this.values(parts, place, depth);
      default:
        return this.level(parts, place, depth);
    }
  }

  private parts(value: PythonJson, place: string): Parts {
    if (!(value instanceof Map)) throw this.bad(place, "a level is not an object");
    const [name, nonTensors, leaves, metadata] = ["cls", "non_tensors", "leaves", "cls_metadata"].map((key) =>
      value.get(key),
    );
    if (typeof name !== "string") throw this.bad(place, "a level without a class");
    for (const part of [nonTensors, leaves, metadata]) {
      if (!(part instanceof Map)) throw this.bad(place, "a level without its parts");
    }
    // JSON has no others; a pickle may.
    for (const part of [value, nonTensors, leaves, metadata] as Map<unknown, unknown>[]) {
      for (const key of part.keys()) if (typeof key !== "string") throw this.bad(place, "a key that is no string");
    }
    const nested = [...value].filter(([key]) => !LEVEL_KEYS.has(key));
    return { name, nonTensors, leaves, metadata, nested } as Parts;
  }

  private sizes(value: PythonJson | undefined, place: string): number[] {
    if (!Array.isArray(value) || value.length > MAX_RANK || !value.every(isSize)) {
      throw this.bad(place, `a shape is not a list of at most ${MAX_RANK} sizes`);
    }
    return value as number[];
  }

  private device(value: PythonJson | undefined, place: string): NewState["device"] {
    if (value !== null && value !== undefined && typeof value !== "string") throw this.bad(place, "a strange device");
    // Wherever the tensors were before; the bytes of a file are on the CPU.
    return typeof value === "string" ? (this.file.device ?? CPU) : null;
  }

  private state(metadata: PythonJsonObject, place: string): NewState {
    const batchSize = this.sizes(metadata.get("batch_size"), place);
    const names = metadata.get("names") ?? null;
    const isName = (name: unknown) => name === null || typeof name === "string";
    const valid = names === null || (Array.isArray(names) && names.length === batchSize.length && names.every(isName));
    const used = valid && names !== null ? (names as unknown[]).filter((name) => name !== null) : [];
    if (!valid || new Set(used).size !== used.length) throw this.bad(place, "strange names of dimensions");
    return {
      batchSize: Size.fromList(batchSize),
      device: this.device(metadata.get("device"), place),
      names: toNames(names as (string | null)[] | null, batchSize.length),
    };
  }

  private level(parts: Parts, place: string, depth: number): Td {
    const state = this.state(parts.metadata, place);
    const entries = new Map<string, Entry>();
    const put = (key: string, entry: Entry) => {
      if (entries.has(key)) throw this.bad(place, `the key ${JSON.stringify(key)} occurs twice`);
      if (fitBatch(entry, state.batchSize) === null) {
        throw this.bad(place, `entry ${JSON.stringify(key)} does not begin with the batch size ${state.batchSize}`);
      }
      entries.set(key, entry);
    };
    for (const [key, value] of parts.nonTensors) {
      const td = this.value(value, `${place}/${key}`);
      put(key, td);
    }
    for (const [key, value] of parts.leaves) {
      const tensor = this.leaf(key, value, `${place}/${key}`);
      put(key, tensor);
    }
    for (const [key, value] of parts.nested) {
      const td = this.node(value, `${place}/${key}`, depth + 1);
      put(key, td);
    }
    if (parts.name === "TensorDict") return make.tensordict(entries, state);
    return this.tensorclass(parts.name, entries, state, place);
  }

  private tensorclass(text: string, entries: Map<string, Entry>, state: NewState, place: string): Td {
    const qualified = /^<class '([^']+)'>$/.exec(text)?.[1];
    if (qualified === undefined) throw this.bad(place, `the class ${JSON.stringify(text)} is not known`);
    const name = qualified.slice(qualified.lastIndexOf(".") + 1);
    const found = classInFile(name);
    if (found === undefined) {
      throw new RuntimeError(
        `Could not find the class ${name} saved in ${this.file.path}${place}. Import the module that defines it.`,
      );
    }
    try {
      return found._wrap(entries, state, qualified);
    } catch (error) {
      // A field that the class does not have.
      if (error instanceof KeyError) throw this.bad(place, error.message);
      throw error;
    }
  }

  private leaf(key: string, value: PythonJson, place: string): Tensor {
    if (key.startsWith(NESTED_PREFIX)) throw this.bad(place, "a jagged nested tensor, which zensor does not have");
    if (!Array.isArray(value) || value.length !== 5) throw this.bad(place, "a tensor without its five parts");
    const [name, shapeOf, start, stop, padding] = value as PythonJson[];
    const dtype: DType | undefined =
      typeof name === "string" && name.startsWith("torch.") ? dtypeByName(name) : undefined;
    if (dtype === undefined) throw this.bad(place, `unsupported dtype ${pythonJsonStringify(name ?? null)}`);
    const shape = this.sizes(shapeOf, place);
    const nbytes = shape.reduce((product, n) => product * n, dtype.itemsize);
    if (!isSize(start) || !isSize(stop) || !isSize(padding) || !Number.isSafeInteger(nbytes)) {
      throw this.bad(place, "a tensor without a place");
    }
    if (stop > this.file.size || start > stop || start + nbytes + padding !== stop) {
      throw this.bad(place, `bytes ${start} to ${stop} are not those of a ${dtype} of shape [${shape.join(", ")}]`);
    }
    return this.file.tensor(dtype, shape, start);
  }

  private value(value: PythonJson, place: string): Td {
    if (!Array.isArray(value) || value.length !== 3) throw this.bad(place, "a value without its three parts");
    const [data, batchSize, device] = value as [PythonJson, PythonJson, PythonJson];
    const state: NewState = {
      batchSize: Size.fromList(this.sizes(batchSize, place)),
      device: this.device(device, place),
      names: null,
    };
    const td = make.nonTensor(toPlain(data), state);
    // What is not changed is written back exactly, 2.0 as 2.0.
    td._raw = data;
    return td;
  }

  private members<T>(parts: Map<string, PythonJson>, place: string, make: (value: PythonJson, at: string) => T): T[] {
    if (parts.size === 0) throw this.bad(place, "a stack without members");
    return Array.from({ length: parts.size }, (_, i) => {
      const value = parts.get(String(i));
      if (value === undefined) throw this.bad(place, `a stack of ${parts.size} without member ${i}`);
      return make(value, `${place}/${i}`);
    });
  }

  private lazy(parts: Parts, place: string, depth: number): Td {
    if (parts.leaves.size > 0 || parts.nonTensors.size > 0) throw this.bad(place, "a stack with entries of its own");
    const members = this.members(new Map(parts.nested), place, (value, at) => this.node(value, at, depth + 1));
    const dim = parts.metadata.get("stack_dim");
    const problem = stackProblem(members, dim);
    if (problem !== null) throw this.bad(place, problem);
    const name = parts.metadata.get("stack_dim_name") ?? null;
    if (name !== null && typeof name !== "string") throw this.bad(place, "stack_dim_name is no string");
    return make.lazy(members, dim as number, name);
  }

  private values(parts: Parts, place: string, depth: number): Td {
    const device = { device: null as NewState["device"] };
    const { json, shape } = this.stackedValues(parts, place, depth, device);
    const state: NewState = { batchSize: Size.fromList(shape), device: device.device, names: null };
    const td = make.nonTensorStack(json.map(toPlain), state, parts.metadata.get("stack_dim") as number);
    td._raw = nestedValues(json, shape) as PythonJson;
    return td;
  }

  /** Counts values that are repeated for a batch or copied into a stack: a short file could ask for endless ones. */
  private charge(count: number, place: string): void {
    this.copied += count;
    if (this.copied > MAX_VALUES) throw this.bad(place, `more than ${MAX_VALUES} values`);
  }

  /** The values of a stack, whose members are values with a batch size or stacks again. */
  private stackedValues(
    parts: Parts,
    place: string,
    depth: number,
    found: { device: NewState["device"] },
  ): StackedValues {
    if (depth > MAX_DEPTH || parts.leaves.size > 0) throw this.bad(place, "a stack of values with something else");
    const both = new Map([...parts.nonTensors, ...parts.nested]);
    if (both.size !== parts.nonTensors.size + parts.nested.length) throw this.bad(place, "a member occurs twice");
    const members = this.members(both, place, (value, at): StackedValues => {
      if (value instanceof Map) return this.stackedValues(this.parts(value, at), at, depth + 1, found);
      const td = this.value(value, at);
      found.device = td._device;
      const count = td._batchSize.numel();
      this.charge(count, at);
      return { json: new Array(count).fill((value as PythonJson[])[0]), shape: [...td._batchSize] };
    });
    const inner = (members[0] as StackedValues).shape;
    if (!members.every(({ shape }) => sameSizes(shape, inner))) {
      throw this.bad(place, "stacks of values have different shapes");
    }
    const dim = parts.metadata.get("stack_dim");
    if (
      typeof dim !== "number" ||
      !Number.isInteger(dim) ||
      dim < 0 ||
      dim > inner.length ||
      inner.length >= MAX_RANK
    ) {
      throw this.bad(place, "stack_dim is not a dimension");
    }
    const lists = members.map(({ json }) => json);
    this.charge(listItems([members.length, ...inner]), place);
    return { json: joinedValues(lists, inner, dim), shape: inner.toSpliced(dim, 0, members.length) };
  }
}

/**
 * Loads a file written by `consolidate`: tensors are views of one mapping, whose changes stay private to this process.
 * @torch tensordict.from_consolidated
 *
 * @throws FormatError when the file is not what its structure says
 * @example
 * ```ts
 * new TensorDict({ a: arange(3) }, []).consolidate({ filename: "/tmp/zensor-consolidated.bin" });
 * TensorDict.fromConsolidated("/tmp/zensor-consolidated.bin").get("a") // tensor([0, 1, 2])
 * ```
 */
export function fromConsolidated(filename: string, options: PlaceOptions = {}): Td {
  [filename, options = {}] = inOrder<Parameters<typeof fromConsolidated>>(
    "fromConsolidated",
    FUNCTIONS.fromConsolidated,
    arguments,
  );
  const device = placeOf(options);
  return whileUnreplaced(filename, () => {
    const { root, dataBytes, path } = readStructure(filename);
    const file = new TensorFile(path, dataBytes, "c", { device });
    const td = markConsolidated(buildConsolidated(root, file), file.anchor());
    return placeTd(td, options, "fromConsolidated");
  });
}
