// What the commands work with: any format as a TensorDict whose bytes are read when they are used.
import "../install.ts";
import type { GgufFile } from "../io/gguf.ts";
import { isPlainObject, isPythonJson } from "../io/python-json.ts";
import { Tensor } from "../tensor/tensor.ts";
import { isTensorCollection, NonTensorData, TensorDict } from "../tensordict/index.ts";
import type { SafetensorsSource } from "../tensordict/safetensors.ts";
import type { Td } from "../tensordict/state.ts";
import { openAnyClass } from "./any-class.ts";
import { CliError } from "./errors.ts";
import type { FormatName } from "./formats.ts";
import { ALONE, METADATA, SEPARATOR, standsBeside } from "./losses.ts";

/** What was opened. */
export interface Opened {
  td: Td;
  /** What the source has and the collection does not tell: one line for each kind of thing. */
  lost: readonly string[];
}

/** A TensorDict of values nested in objects; values that are no tensors are kept as they are. */
function fromValues(value: unknown, path: string): Td {
  if (isTensorCollection(value)) return value as Td;
  if (value instanceof Tensor) return fromValues({ [ALONE]: value }, path);
  const pairs = value instanceof Map ? [...value] : isPlainObject(value) ? Object.entries(value) : null;
  if (pairs === null) throw new CliError(`${path} holds ${typeof value}, no tensors by name.`);
  const td = new TensorDict({}) as unknown as Td;
  for (const [key, item] of pairs) {
    if (typeof key !== "string") throw new CliError(`${path}: the key ${String(key)} is no string.`);
    const nested = item instanceof Map || (isPlainObject(item) && Object.values(item).some(holdsTensors));
    if (item instanceof Tensor || isTensorCollection(item)) td.set(key, item as Tensor);
    else if (nested) td.set(key, fromValues(item, path));
    else if (isPythonJson(item)) td.set(key, new NonTensorData(item) as never);
    else throw new CliError(`${path}: the entry ${JSON.stringify(key)} is neither a tensor nor a plain value.`);
  }
  return td;
}

function holdsTensors(value: unknown): boolean {
  if (value instanceof Tensor || isTensorCollection(value)) return true;
  return isPlainObject(value) && Object.values(value).some(holdsTensors);
}

/** Flat names as levels, unless a name stands beside the beginning of another ("a" beside "a.b"). */
function nestedAtDots(td: Td): Td {
  const keys = new Set(td._keys());
  if (![...keys].some((key) => key.includes(SEPARATOR)) || standsBeside(keys)) return td;
  return td.unflattenKeys(SEPARATOR) as Td;
}

/** Tensors by name, or a collection as it is. */
function fromState(value: unknown, path: string): Td {
  const td = fromValues(value, path);
  return td === value ? td : nestedAtDots(td);
}

/** The collection of a safetensors file. */
export async function fromSafetensors(file: SafetensorsSource): Promise<Opened> {
  const { tensordict: text, ...strings } = Object.fromEntries(file.metadata);
  const td =
    text === undefined
      ? nestedAtDots(fromValues(new Map(file.keys().map((name) => [name, file.tensor(name)])), file.path))
      : (await import("../tensordict/safetensors.ts")).structuredSafetensors(file, text);
  if (Object.keys(strings).length === 0) return { td, lost: [] };
  // The structure may have taken the place of the strings beside it.
  if (td._kind !== "tensordict" || td._own(METADATA) !== undefined) {
    return { td, lost: [`  strings of the header: ${Object.keys(strings).join("; ")}`] };
  }
  td.set(METADATA, new NonTensorData(strings) as never);
  return { td, lost: [] };
}

async function openSafetensors(path: string): Promise<Opened> {
  const { SafetensorsFile } = await import("../io/safetensors.ts");
  return await fromSafetensors(new SafetensorsFile(path));
}

/** The strings of a header that were kept as one text; null for anything else. */
function headerOf(text: string): NonTensorData | null {
  try {
    const value: unknown = JSON.parse(text);
    return isPlainObject(value) ? new NonTensorData(value) : null;
  } catch {
    return null;
  }
}

function headerIn(array: Tensor): NonTensorData | null {
  if (array.dtype.name !== "uint8" || array.ndim !== 1) return null;
  return headerOf(new TextDecoder().decode(array.typedArray() as Uint8Array));
}

/** True for an array that is the text of a header. */
export function isHeaderArray(array: Tensor): boolean {
  return headerIn(array) !== null;
}

async function openNpz(path: string): Promise<Td> {
  const { loadNpz } = await import("../io/npz.ts");
  const arrays = loadNpz(path);
  const kept = arrays[METADATA];
  const header = kept === undefined ? null : headerIn(kept);
  if (header !== null) delete arrays[METADATA];
  const td = nestedAtDots(fromValues(arrays, path));
  if (header !== null) td.set(METADATA, header as never);
  return td;
}

async function openHdf5(path: string): Promise<Td> {
  // The file has no batch sizes: none are made up.
  using file = TensorDict.fromH5(path, { mode: "r", batchSize: [] });
  const td = file.toTensorDict() as unknown as Td;
  const text = [...td._keys()].includes(METADATA) ? td.at(METADATA) : undefined;
  const header = typeof text === "string" ? headerOf(text) : null;
  if (header !== null) td.set(METADATA, header as never);
  return td;
}

async function openSnapshot(path: string): Promise<Opened> {
  const { Snapshot } = await import("../io/snapshot.ts");
  const snapshot = new Snapshot(path);
  const names = [...snapshot.manifest.keys()].filter((name) => name.split("/").length === 2);
  const roots = [...new Set(names.map((name) => name.slice(name.indexOf("/") + 1)))];
  const values = roots.map((name): [string, unknown] => [name, snapshot.readObject(`0/${name}`)]);
  // What `convert` writes is the state of one object; others are kept apart by their names.
  const [only] = values;
  const td = fromState(values.length === 1 ? only?.[1] : new Map(values), path);
  const others = [...snapshot.manifest].filter(([name, entry]) => {
    if (name.startsWith("0/")) return false;
    return ["Tensor", "ChunkedTensor", "object"].includes(entry.type) && !("replicated" in entry && entry.replicated);
  });
  return { td, lost: others.length === 0 ? [] : [`  values of other processes than the first: ${others.length}`] };
}

function plainValue(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array);
  return Array.isArray(value) ? value.map(plainValue) : value;
}

function openGguf(file: GgufFile): Opened {
  const td = nestedAtDots(fromValues(file.tensors, file.path));
  const metadata = [...file.metadata].map(([key, value]): [string, unknown] => [key, plainValue(value)]);
  if (metadata.length > 0) td.set(METADATA, new NonTensorData(Object.fromEntries(metadata)) as never);
  const types = new Set<string>();
  for (const name of file.keys()) {
    const { type } = file.entry(name);
    if (type.dtype === null) types.add(type.name);
  }
  return { td, lost: types.size === 0 ? [] : [`  quantization (blocks become bytes): ${[...types].join(", ")}`] };
}

async function openWhole(
  path: string,
  format: Exclude<FormatName, "gguf" | "torchsnapshot" | "safetensors">,
): Promise<Td> {
  switch (format) {
    case "memmap":
    case "tdz":
      return TensorDict.loadMemmap(path, { mode: "r" }) as unknown as Td;
    case "consolidated":
      return TensorDict.fromConsolidated(path) as unknown as Td;
    case "pt":
      return fromState((await import("../io/torch-file.ts")).loadTorch(path), path);
    case "npz":
      return await openNpz(path);
    case "npy":
      return fromValues((await import("../io/npy.ts")).loadNpy(path), path);
    case "hdf5":
      return await openHdf5(path);
  }
}

/** Opens a file or a directory. Bytes are mapped where the format allows it. */
export async function openCollection(path: string, format: FormatName): Promise<Opened> {
  using _ = openAnyClass();
  if (format === "gguf") return openGguf((await import("../io/gguf.ts")).loadGguf(path));
  if (format === "torchsnapshot") return await openSnapshot(path);
  if (format === "safetensors") return await openSafetensors(path);
  return { td: await openWhole(path, format), lost: [] };
}
