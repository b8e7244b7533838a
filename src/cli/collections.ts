// What the commands work with: any format as a TensorDict whose bytes are read when they are used.
import "../install.ts";
import { isPlainObject } from "../io/base/python-json.ts";
import { runSteps } from "../io/base/steps.ts";
import type { GgufFile } from "../io/gguf/gguf.ts";
import type { NpyValue } from "../io/numpy/npy-other.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Td } from "../tensordict/core/state.ts";
import type { SafetensorsSource } from "../tensordict/disk/safetensors.ts";
import { NonTensorData, TensorDict } from "../tensordict/index.ts";
import { openAnyClass } from "./any-class.ts";
import { CliError } from "./errors.ts";
import type { FormatName } from "./formats.ts";
import { METADATA } from "./losses.ts";
import { encodePython, nestedAtDots, type PythonTree } from "./python-tree.ts";
import type { PythonNode } from "./python-values.ts";
import { withoutStructure } from "./structure.ts";

/** What was opened. */
export interface Opened {
  td: Td;
  /** What the source has and the collection does not tell: one line for each kind of thing. */
  lost: readonly string[];
  /** What the levels were in Python; null for what is a collection there, too, or of no Python program. */
  tree: PythonNode | null;
  /** Names are those of a file without levels, which dots in them do not make: a file of the same kind keeps them. */
  flat?: boolean;
}

/** Begins what is told of a folder's files of no format: they are no entries. */
export const NO_TENSORS = "  files that are no tensors: ";

/** How much of a source is believed: options of the readers that have them. */
export interface Trust {
  followLinks?: boolean;
  maxBytes?: number;
}

/** A TensorDict of tensors by name, and other values beside them. */
function fromValues(value: unknown, path: string): Td {
  return encodePython(value, path).td;
}

/** What a Python program saved. */
function fromPython(value: unknown, path: string): PythonTree {
  const { td, tree } = encodePython(value, path);
  return { td: tree === null ? td : nestedAtDots(td), tree };
}

/** The collection of a safetensors file. */
export async function fromSafetensors(file: SafetensorsSource): Promise<Opened> {
  const everything = () => [
    ...file.keys().map((name): [string, unknown] => [name, file.tensor(name)]),
    ...file.unknownKeys().map((name): [string, unknown] => [name, file.unknown(name)]),
  ];
  const { tensordict: text, ...strings } = Object.fromEntries(file.metadata);
  const flat = text === undefined;
  const td = flat
    ? fromValues(new Map(everything()), file.path)
    : (await import("../tensordict/disk/safetensors.ts")).structuredSafetensors(file, text);
  const others = Object.keys(strings);
  // The structure may have taken the place of the strings beside it.
  const told = td._kind === "tensordict" && td._own(METADATA) === undefined;
  if (others.length > 0 && told) td.set(METADATA, new NonTensorData(strings) as never);
  const lost = others.length === 0 || told ? [] : [`  strings of the header: ${others.join("; ")}`];
  return { ...withoutStructure(td, file.path, flat), lost, flat };
}

async function openSafetensors(path: string, { followLinks = false }: Trust = {}): Promise<Opened> {
  const { SafetensorsFile } = await import("../io/safetensors/safetensors.ts");
  return await fromSafetensors(new SafetensorsFile(path, { followLinks }));
}

/** A checkpoint in several files, by its index or the folder of it. */
async function openSharded(path: string, trust: Trust): Promise<Opened> {
  const { indexAt, ShardFolder } = await import("../io/disk/shard-index.ts");
  const index = indexAt(path);
  if (index === null) throw new CliError(`${path} has no index of a checkpoint in several files (*.index.json).`);
  if (new ShardFolder(index, trust.followLinks).index.kind === "safetensors")
    return await openSafetensors(index, trust);
  const { loadingShards } = await import("../io/torch/torch-shards.ts");
  return { ...fromPython(runSteps(loadingShards(index, trust)), index), lost: [] };
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

async function openNpz(path: string, limit: Trust): Promise<PythonTree & { flat: boolean }> {
  const { loadNpz } = await import("../io/numpy/npz-load.ts");
  const arrays = loadNpz<Record<string, NpyValue>>(path, limit);
  const kept = arrays[METADATA];
  const header = kept instanceof Tensor ? headerIn(kept) : null;
  if (header !== null) delete arrays[METADATA];
  const td = fromValues(arrays, path);
  if (header !== null) td.set(METADATA, header as never);
  return { ...withoutStructure(td, path, true), flat: true };
}

async function openHdf5(path: string): Promise<Td> {
  // The file has no batch sizes: none are made up.
  using file = TensorDict.fromH5(path, { mode: "r", batchSize: [] });
  const td = file.toTensorDict() as Td;
  const text = [...td._keys()].includes(METADATA) ? td.at(METADATA) : undefined;
  const header = typeof text === "string" ? headerOf(text) : null;
  if (header !== null) td.set(METADATA, header as never);
  return td;
}

async function openSnapshot(path: string, { followLinks, maxBytes }: Trust): Promise<Opened> {
  const { Snapshot } = await import("../io/snapshot/snapshot.ts");
  const snapshot = new Snapshot(path, followLinks === undefined ? {} : { followLinks });
  const limit = maxBytes === undefined ? {} : { maxBytes };
  const names = [...snapshot.manifest.keys()].filter((name) => name.split("/").length === 2);
  const roots = [...new Set(names.map((name) => name.slice(name.indexOf("/") + 1)))];
  const values = roots.map((name): [string, unknown] => [name, snapshot.readObject(`0/${name}`, limit)]);
  // What `convert` writes is the state of one object; others are kept apart by their names.
  const [only] = values;
  const found = encodePython(values.length === 1 ? only?.[1] : Object.fromEntries(values), path);
  const kept = found.tree === null ? found : withoutStructure(found.td, path, true);
  const opened = { td: kept.td, tree: kept.tree ?? found.tree };
  const others = [...snapshot.manifest].filter(([name, entry]) => {
    if (name.startsWith("0/")) return false;
    return ["Tensor", "ChunkedTensor", "object"].includes(entry.type) && !("replicated" in entry && entry.replicated);
  });
  return {
    ...opened,
    lost: others.length === 0 ? [] : [`  values of other processes than the first: ${others.length}`],
  };
}

function plainValue(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array);
  return Array.isArray(value) ? value.map(plainValue) : value;
}

function openGguf(file: GgufFile): Opened {
  const others = file.unknownKeys().map((name): [string, unknown] => [name, file.unknown(name)]);
  const td = nestedAtDots(fromValues(new Map([...Object.entries(file.tensors), ...others]), file.path));
  const metadata = [...file.metadata].map(([key, value]): [string, unknown] => [key, plainValue(value)]);
  if (metadata.length > 0) td.set(METADATA, new NonTensorData(Object.fromEntries(metadata)) as never);
  const types = new Set<string>();
  for (const name of file.keys()) {
    const { type } = file.entry(name);
    if (type.dtype === null) types.add(type.name);
  }
  const lost = types.size === 0 ? [] : [`  quantization (blocks become bytes): ${[...types].join(", ")}`];
  return { td, lost, tree: null };
}

async function openWhole(
  path: string,
  format: Exclude<FormatName, "gguf" | "torchsnapshot" | "safetensors" | "sharded" | "folder">,
  trust: Trust,
): Promise<PythonTree> {
  const { followLinks: _, ...limit } = trust;
  switch (format) {
    case "memmap":
    case "tdz":
      return withoutStructure(TensorDict.loadMemmap(path, { mode: "r", ...trust }) as Td, path);
    case "consolidated":
      return withoutStructure(TensorDict.fromConsolidated(path) as Td, path);
    case "pt":
      return fromPython((await import("../io/torch/torch-file.ts")).loadExactly(path, limit), path);
    case "npz":
      return await openNpz(path, limit);
    case "npy":
      return fromPython((await import("../io/numpy/npy.ts")).loadNpy<NpyValue>(path, { unknown: "describe" }), path);
    case "hdf5":
      return withoutStructure(await openHdf5(path), path);
  }
}

/** Opens a file or a directory. Bytes are mapped where the format allows it. */
export async function openCollection(path: string, format: FormatName, trust: Trust = {}): Promise<Opened> {
  using _ = openAnyClass();
  if (format === "gguf") return openGguf((await import("../io/gguf/gguf.ts")).loadGguf(path));
  if (format === "folder") return await (await import("./folder.ts")).openFolder(path, trust);
  if (format === "torchsnapshot") return await openSnapshot(path, trust);
  if (format === "safetensors") return await openSafetensors(path);
  if (format === "sharded") return await openSharded(path, trust);
  return { ...(await openWhole(path, format, trust)), lost: [] };
}
