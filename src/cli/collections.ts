// What the commands work with: any format as a TensorDict whose bytes are read when they are used, and back.
import "../install.ts";
import { mkdirSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import { fromTypedArray } from "../api/tensor-data.ts";
import { guarded } from "../io/errors.ts";
import type { BackgroundOptions } from "../io/file-jobs.ts";
import { isPlainObject, isPythonJson } from "../io/python-json.ts";
import { Tensor } from "../tensor/tensor.ts";
import { isNonTensor, isTensorCollection, NonTensorData, TensorDict } from "../tensordict/index.ts";
import type { Td } from "../tensordict/state.ts";
import { CliError } from "./errors.ts";
import type { FormatName } from "./formats.ts";

/** Separates levels in the flat names of model files. */
const SEPARATOR = ".";
/** The entry that keeps the strings of a model file's header. */
const METADATA = "__metadata__";

/** A TensorDict of values nested in objects; values that are no tensors are kept as they are. */
function fromValues(value: unknown, path: string): Td {
  if (isTensorCollection(value)) return value as Td;
  if (value instanceof Tensor) return fromValues({ tensor: value }, path);
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

function nestedAtDots(td: Td): Td {
  return [...td._keys()].some((key) => key.includes(SEPARATOR)) ? (td.unflattenKeys(SEPARATOR) as Td) : td;
}

async function openSafetensors(path: string): Promise<Td> {
  const { SafetensorsFile } = await import("../io/safetensors.ts");
  const file = new SafetensorsFile(path);
  if (file.metadata.has("tensordict")) return (await import("../tensordict/index.ts")).fromSafetensors(path);
  const td = nestedAtDots(fromValues(file.tensors(), path));
  if (file.metadata.size > 0) td.set(METADATA, new NonTensorData(Object.fromEntries(file.metadata)) as never);
  return td;
}

/** The strings of a header as one text, for formats that hold no other values. */
function metadataText(metadata: Record<string, string>): string | null {
  return Object.keys(metadata).length === 0 ? null : JSON.stringify(metadata);
}

/** Takes such a text apart again. */
function setMetadata(td: Td, text: string): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  if (isPlainObject(value)) td.set(METADATA, new NonTensorData(value) as never);
}

async function openNpz(path: string): Promise<Td> {
  const { loadNpz } = await import("../io/npz.ts");
  const { [METADATA]: text, ...arrays } = loadNpz(path);
  const td = nestedAtDots(fromValues(arrays, path));
  if (text !== undefined) setMetadata(td, new TextDecoder().decode(text.typedArray() as Uint8Array));
  return td;
}

async function openHdf5(path: string): Promise<Td> {
  using file = TensorDict.fromH5(path, { mode: "r" });
  const td = file.toTensorDict() as unknown as Td;
  const text = [...td._keys()].includes(METADATA) ? td.at(METADATA) : undefined;
  if (typeof text === "string") setMetadata(td, text);
  return td;
}

async function openSnapshot(path: string): Promise<Td> {
  const { Snapshot } = await import("../io/snapshot.ts");
  const snapshot = new Snapshot(path);
  const roots = [...snapshot.manifest.keys()].filter((name) => name.split("/").length === 2);
  const values = roots.map((name): [string, unknown] => [name.slice(2), snapshot.readObject(name)]);
  // What `convert` writes is the state of one object; others are kept apart by their names.
  const [only] = values;
  return nestedAtDots(fromValues(values.length === 1 ? only?.[1] : Object.fromEntries(values), path));
}

/** Opens a file or a directory. Bytes are mapped where the format allows it. */
export async function openCollection(path: string, format: FormatName): Promise<Td> {
  switch (format) {
    case "memmap":
    case "tdz":
      return TensorDict.loadMemmap(path, { mode: "r" }) as unknown as Td;
    case "consolidated":
      return TensorDict.fromConsolidated(path) as unknown as Td;
    case "safetensors":
      return await openSafetensors(path);
    case "pt":
      return nestedAtDots(fromValues((await import("../io/torch-file.ts")).loadTorch(path), path));
    case "gguf": {
      const { loadGguf } = await import("../io/gguf.ts");
      return nestedAtDots(fromValues(loadGguf(path).tensors, path));
    }
    case "npz":
      return await openNpz(path);
    case "hdf5":
      return await openHdf5(path);
    case "torchsnapshot":
      return await openSnapshot(path);
  }
}

/** True when more than names and tensors has to be kept. */
function isStructured(td: Td): boolean {
  if (td._kind !== "tensordict" || td._batchSize.length > 0) return true;
  for (const key of td._keys()) {
    const entry = td._own(key);
    if (entry instanceof Tensor || entry === undefined || key === METADATA) continue;
    if (isStructured(entry as Td)) return true;
  }
  return false;
}

/** Tensors by joined name, and the strings of the header. */
function flat(td: Td): { tensors: Map<string, Tensor>; metadata: Record<string, string> } {
  const tensors = new Map<string, Tensor>();
  let metadata: Record<string, string> = {};
  for (const [key, entry] of td.flattenKeys(SEPARATOR).items() as Iterable<[string, unknown]>) {
    if (!isNonTensor(entry)) tensors.set(key, entry as Tensor);
    else if (key === METADATA) metadata = { ...metadata, ...(entry as { data: Record<string, string> }).data };
    else if (key.startsWith(`${METADATA}.`)) {
      metadata[key.slice(METADATA.length + 1)] = String((entry as { data: unknown }).data);
    }
  }
  return { tensors, metadata };
}

/** How a collection is written. */
export interface WriteOptions extends BackgroundOptions {
  numThreads: number;
}

async function writeSafetensors(td: Td, path: string, options: WriteOptions): Promise<void> {
  if (isStructured(td)) {
    const { toSafetensorsAsync } = await import("../tensordict/index.ts");
    return await toSafetensorsAsync(td, path, { ...options });
  }
  const { saveSafetensorsAsync } = await import("../io/safetensors.ts");
  const { tensors, metadata } = flat(td);
  const strings = Object.keys(metadata).length === 0 ? null : metadata;
  await saveSafetensorsAsync(tensors, path, { ...options, metadata: strings });
}

async function writeTorch(td: Td, path: string, options: WriteOptions): Promise<void> {
  const { saveTorchAsync } = await import("../io/torch-save.ts");
  if (isStructured(td)) return await saveTorchAsync(td, path, { ...options });
  const { tensors, metadata } = flat(td);
  const strings = Object.keys(metadata).length === 0 ? [] : [[METADATA, metadata] as [string, unknown]];
  await saveTorchAsync(Object.fromEntries([...tensors, ...strings]), path, { ...options });
}

async function writeNpz(td: Td, path: string, options: WriteOptions): Promise<void> {
  const { saveNpz } = await import("../io/npz.ts");
  const { tensors, metadata } = flat(td);
  const text = metadataText(metadata);
  if (text !== null) tensors.set(METADATA, fromTypedArray(new TextEncoder().encode(text)));
  // NumPy adds the ending to a name without it.
  saveNpz(`${path}.npz`, tensors, { numThreads: options.numThreads });
  renameSync(`${path}.npz`, path);
}

function writeHdf5(td: Td, path: string): void {
  const { metadata } = flat(td);
  const text = metadataText(metadata);
  const whole = text === null ? td : (td.clone(false) as Td);
  if (text !== null) whole.set(METADATA, new NonTensorData(text) as never);
  whole.toH5(path).close();
}

async function writeSnapshot(td: Td, path: string, options: WriteOptions): Promise<void> {
  const { Snapshot, StateDict } = await import("../io/snapshot.ts");
  const { tensors, metadata } = flat(td);
  const state: Record<string, unknown> = Object.fromEntries(tensors);
  if (Object.keys(metadata).length > 0) state[METADATA] = metadata;
  Snapshot.take({ path, appState: { state: new StateDict(state) }, numThreads: options.numThreads });
}

/** Writes a collection to a place where nothing is. */
export async function writeCollection(td: Td, path: string, format: FormatName, options: WriteOptions): Promise<void> {
  const isDirectory = format === "memmap" || format === "torchsnapshot";
  if (isDirectory) guarded(path, () => mkdirSync(dirname(path), { recursive: true }));
  switch (format) {
    case "memmap":
    case "tdz":
      await td.memmapAsync(path, {
        ...options,
        copyExisting: true,
        fsync: format !== "tdz",
        archive: format === "tdz",
      } as never);
      return;
    case "consolidated":
      td.consolidate({ filename: path });
      return;
    case "safetensors":
      return await writeSafetensors(td, path, options);
    case "pt":
      return await writeTorch(td, path, options);
    case "npz":
      return await writeNpz(td, path, options);
    case "hdf5":
      return writeHdf5(td, path);
    case "torchsnapshot":
      return await writeSnapshot(td, path, options);
    case "gguf":
      throw new CliError("GGUF files can only be read.", 2);
  }
}
