// Writes collections in any format that can be written.
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { fromTypedArray } from "../api/tensor-data.ts";
import { guarded } from "../io/base/errors.ts";
import type { BackgroundOptions } from "../io/disk/file-jobs.ts";
import { isRemote } from "../io/store/s3.ts";
import { Float } from "../tensor/complex.ts";
import { Tensor } from "../tensor/tensor.ts";
import { entriesOf, type Td, type ValueTd } from "../tensordict/core/state.ts";
import { isNonTensor, NonTensorData } from "../tensordict/index.ts";
import { openAnyClass } from "./any-class.ts";
import { CliError, EXIT } from "./errors.ts";
import { aFormat, type FormatName, isDirectoryFormat } from "./formats.ts";
import { isStructured, METADATA, SEPARATOR } from "./losses.ts";
import { decodePython } from "./python-tree.ts";
import type { PythonNode } from "./python-values.ts";

interface Flat {
  tensors: Map<string, Tensor>;
  /** What the header says, null when it says nothing. */
  metadata: Record<string, string> | null;
  values: Map<string, unknown>;
}

/** A value for a writer: a whole float by itself cannot carry a note that it is one. */
function valueIn(entry: ValueTd): unknown {
  if (entry._kind === "nonTensorStack") return entry.tolist();
  return entry._raw instanceof Float ? entry._raw : entry.data;
}

/** Tensors and values by joined name. */
function flat(td: Td, prefix = "", found: Flat = { tensors: new Map(), metadata: null, values: new Map() }): Flat {
  for (const [key, entry] of entriesOf(td)) {
    const name = prefix + key;
    if (entry instanceof Tensor) found.tensors.set(name, entry);
    else if (!isNonTensor(entry)) flat(entry as Td, `${name}${SEPARATOR}`, found);
    else if (name === METADATA) found.metadata = (entry as { data: Record<string, string> }).data;
    else found.values.set(name, valueIn(entry));
  }
  return found;
}

/** What a header says as one text, for formats that have none. */
function metadataText(metadata: Record<string, string> | null): string | null {
  return metadata === null ? null : JSON.stringify(metadata);
}

/** What is written: a collection, and what it was in Python. */
export interface Written {
  td: Td;
  tree: PythonNode | null;
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
  const { saveSafetensorsAsync } = await import("../io/safetensors/safetensors.ts");
  const { tensors, metadata } = flat(td);
  await saveSafetensorsAsync(tensors, path, { ...options, metadata });
}

async function writeTorch({ td, tree }: Written, path: string, options: WriteOptions): Promise<void> {
  const { saveTorchAsync } = await import("../io/torch/torch-save.ts");
  if (tree !== null) return await saveTorchAsync(decodePython(td, tree, path), path, { ...options });
  if (isStructured(td)) return await saveTorchAsync(td, path, { ...options });
  const { tensors, metadata } = flat(td);
  const strings = metadata === null ? [] : [[METADATA, metadata] as [string, unknown]];
  await saveTorchAsync(Object.fromEntries([...tensors, ...strings]), path, { ...options });
}

async function writeNpz(td: Td, path: string, options: WriteOptions): Promise<void> {
  const { writeNpzAsync } = await import("../io/numpy/npz.ts");
  const { tensors, metadata } = flat(td);
  const text = metadataText(metadata);
  if (text !== null) tensors.set(METADATA, fromTypedArray(new TextEncoder().encode(text)));
  await writeNpzAsync(path, tensors, { ...options });
}

async function writeNpy(td: Td, path: string, options: WriteOptions): Promise<void> {
  const { writeNpyAsync } = await import("../io/numpy/npy.ts");
  const [tensor] = flat(td).tensors.values();
  await writeNpyAsync(path, tensor as Tensor, { ...options });
}

async function writeHdf5(td: Td, path: string, { onProgress, signal }: WriteOptions): Promise<void> {
  const { metadata } = flat(td);
  const text = metadataText(metadata);
  const whole = text === null ? td : (td.clone(false) as Td);
  if (text !== null) whole.set(METADATA, new NonTensorData(text) as never);
  const stops = signal === undefined ? {} : { signal };
  (await whole.toH5Async(path, onProgress === undefined ? stops : { onProgress, ...stops })).close();
}

async function writeSnapshot(td: Td, path: string, options: WriteOptions): Promise<void> {
  const { Snapshot, StateDict } = await import("../io/snapshot/snapshot.ts");
  const { tensors, metadata, values } = flat(td);
  const state: Record<string, unknown> = Object.fromEntries([...tensors, ...values]);
  if (metadata !== null) state[METADATA] = metadata;
  Snapshot.take({ path, appState: { state: new StateDict(state) }, numThreads: options.numThreads });
}

/** Writes a collection that fits (see `fitTo`) to a place where nothing is. */
export async function writeCollection(
  written: Written,
  path: string,
  format: FormatName,
  options: WriteOptions,
): Promise<void> {
  const { td } = written;
  if (isRemote(path)) {
    const { writeRemote } = await import("./remote.ts");
    if (format === "safetensors") await writeSafetensors(td, path, options);
    else await writeRemote(td, path, options);
    return;
  }
  // An archive that was written is opened.
  using _ = openAnyClass();
  if (isDirectoryFormat(format)) guarded(path, () => mkdirSync(dirname(path), { recursive: true }));
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
      // A collection that was read from such a file would not be written again.
      await (td.clone(false) as Td).consolidateAsync({ filename: path, ...options });
      return;
    case "safetensors":
      return await writeSafetensors(td, path, options);
    case "pt":
      return await writeTorch(written, path, options);
    case "npz":
      return await writeNpz(td, path, options);
    case "npy":
      return await writeNpy(td, path, options);
    case "hdf5":
      return await writeHdf5(td, path, options);
    case "torchsnapshot":
      return await writeSnapshot(td, path, options);
    case "gguf":
    case "folder":
      throw new CliError(`${aFormat(format)} can only be read.`, EXIT.usage);
  }
}
