// save and load as users call them: of TensorDicts in directories, or of anything that .pt files hold.

import { guarded } from "../../io/base/errors.ts";
import { runSteps, runStepsLater, type Steps } from "../../io/base/steps.ts";
import type { UnknownOptions } from "../../io/base/unknown-array.ts";
import type { BackgroundOptions } from "../../io/disk/file-jobs.ts";
import { indexAt, isIndexPath, ShardFolder } from "../../io/disk/shard-index.ts";
import { loadSafetensors } from "../../io/safetensors/safetensors.ts";
import type { FileWriteOptions } from "../../io/store/single-file.ts";
import { loadingTorch, loadTorch, type TorchLoadOptions } from "../../io/torch/torch-file.ts";
import { saveTorch, saveTorchAsync } from "../../io/torch/torch-save.ts";
import { loadingShards } from "../../io/torch/torch-shards.ts";
import { existsSync, join, statSync } from "../../runtime/node.ts";
import { inOrder } from "../../tensor/checks.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { isTensorCollection, type Td } from "../core/state.ts";
import { type LoadOptions, loadTree, loadTreeAsync } from "./memmap-load.ts";
import type { MemmapOptions } from "./memmap-save.ts";

const TORCH_FILE = /\.(pt|pth)$/i;
const OF_TENSORDICTS = /\.tdz$/i;

/** How something is loaded: a directory as `TensorDict.load` has it, or a file of torch's. */
export interface LoadAnyOptions extends LoadOptions, Pick<TorchLoadOptions, "unknown"> {}

/**
 * Saves a value. A TensorDict becomes a directory of mapped files, as tensordict does it, unless the path ends in
 * `.pt` or `.pth`; anything else becomes a file of torch's.
 * @param value tensors, parameters, state dicts, plain values, nested as they are (see `io.saveTorch`), or a TensorDict
 * @throws FormatError for values that such files do not hold
 * @example
 * ```ts
 * save({ weight: ones(2, 2) }, "/tmp/zensor-example.pt")
 * load("/tmp/zensor-example.pt").weight.sum() // tensor(4.)
 * ```
 * @torch torch.save, tensordict.save
 */
export function save(value: unknown, path: string, options: MemmapOptions & FileWriteOptions = {}): void {
  [value, path, options = {}] = inOrder<Parameters<typeof save>>("save", FUNCTIONS.save, arguments);
  if (isTensorCollection(value) && !TORCH_FILE.test(path)) (value as Td).save(path, options);
  else saveTorch(value, path, ofFiles(options));
}

/**
 * `save` while the program goes on: native threads write. The value must not change until it is done; a signal leaves
 * what was there before.
 * @example
 * ```ts
 * await saveAsync({ weight: ones(2, 2) }, "/tmp/zensor-later.pt", { signal: AbortSignal.timeout(60_000) })
 * load("/tmp/zensor-later.pt").weight.sum() // tensor(4.)
 * ```
 */
export async function saveAsync(
  value: unknown,
  path: string,
  options: MemmapOptions & FileWriteOptions & BackgroundOptions = {},
): Promise<void> {
  [value, path, options = {}] = inOrder<Parameters<typeof saveAsync>>("saveAsync", FUNCTIONS.saveAsync, arguments);
  if (isTensorCollection(value) && !TORCH_FILE.test(path)) await (value as Td).saveAsync(path, options);
  else await saveTorchAsync(value, path, ofFiles(options));
}

/**
 * Loads what was saved: a file of torch's, or the TensorDict of a directory. Tensors are views of the file, read when
 * they are used, or copies on a GPU with `device`. Nothing in a file is ever run: objects of classes that are not known
 * here are described (`io.PythonObject`), or left out or refused with `unknown: "skip"` or `"refuse"`. A checkpoint in
 * several files is loaded by its index (`model.safetensors.index.json`, `pytorch_model.bin.index.json`) or the folder
 * that holds it, as one object. What the file holds is not known to the compiler, which takes what is wanted:
 * `load<{ step: number }>(path)`, `load<TensorDict>(path)`.
 * @throws FileNotFoundError when there is nothing
 * @throws FormatError when a file is damaged or holds something else
 * @example
 * ```ts
 * save({ step: 3, state: { bias: zeros(2) } }, "/tmp/zensor-example.pt")
 * load("/tmp/zensor-example.pt").step // 3
 * ```
 * @torch torch.load, tensordict.load
 */
// biome-ignore lint/suspicious/noExplicitAny: the file decides what it holds
export function load<T = any>(path: string, options: LoadAnyOptions = {}): T {
  [path, options = {}] = inOrder<Parameters<typeof load>>("load", FUNCTIONS.load, arguments);
  const index = shardsAt(path);
  if (index !== null) return runSteps(loadingIndexed(index, options)) as T;
  return (isTree(path) ? loadTree(path, options) : loadTorch(path, ofTorch(options))) as T;
}

/**
 * `load` while the program goes on. It pays for directories of thousands of files; single files are mapped in
 * microseconds, whatever their size, and are read when they are used.
 * @example
 * ```ts
 * await saveAsync(new TensorDict({ a: arange(3) }, []), "/tmp/zensor-later");
 * (await loadAsync("/tmp/zensor-later")).get("a") // MemoryMappedTensor([0, 1, 2])
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: the file decides what it holds
export async function loadAsync<T = any>(path: string, options: LoadAnyOptions & BackgroundOptions = {}): Promise<T> {
  [path, options = {}] = inOrder<Parameters<typeof loadAsync>>("loadAsync", FUNCTIONS.loadAsync, arguments);
  const { signal } = options;
  const index = shardsAt(path);
  if (index !== null) return (await runStepsLater(loadingIndexed(index, options), signal)) as T;
  if (isTree(path)) return (await loadTreeAsync(path, options)) as T;
  return (await runStepsLater(loadingTorch(path, { ...ofTorch(options), ...(signal && { signal }) }), signal)) as T;
}

/** The index of a checkpoint in several files that a path means: itself, or the one in a folder of nothing else. */
function shardsAt(path: string): string | null {
  if (!isIndexPath(path) && (!isTree(path) || existsSync(join(path, "meta.json")))) return null;
  return indexAt(path);
}

/** Everything by name that the files of an index hold. */
function* loadingIndexed(index: string, options: LoadOptions & UnknownOptions & BackgroundOptions): Steps<unknown> {
  const { device = null, maxBytes, followLinks = false, unknown = "describe", signal } = options;
  const { kind } = new ShardFolder(index, followLinks).index;
  if (kind === "safetensors") return loadSafetensors(index, { device, followLinks, unknown });
  const limits = maxBytes === undefined ? {} : { maxBytes };
  const stops = signal === undefined ? {} : { signal };
  return yield* loadingShards(index, { mapLocation: device, followLinks, unknown, ...limits, ...stops });
}

/** The options that a file of torch's has, too: where its tensors go has another name. */
function ofTorch({ device = null, maxBytes, unknown }: LoadAnyOptions): TorchLoadOptions {
  const limit = maxBytes === undefined ? {} : { maxBytes };
  return { mapLocation: device, ...limit, ...(unknown === undefined ? {} : { unknown }) };
}

/** The options that single files have, too. */
function ofFiles(options: FileWriteOptions & BackgroundOptions): FileWriteOptions & BackgroundOptions {
  const names = ["numThreads", "fsync", "remote", "signal", "onProgress"];
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.includes(name)));
}

function isTree(path: string): boolean {
  return (
    OF_TENSORDICTS.test(path) || guarded(path, () => statSync(path, { throwIfNoEntry: false })?.isDirectory()) === true
  );
}
