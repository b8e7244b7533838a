// `zensor convert`: between safetensors files and memory-mapped directories.
import "../install.ts";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { guarded } from "../io/errors.ts";
import { SafetensorsFile, saveSafetensorsAsync } from "../io/safetensors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { isNonTensor, TensorDict } from "../tensordict/index.ts";
import { CliError } from "./errors.ts";
import { bytesText } from "./inspect.ts";
import type { CliOptions } from "./main.ts";
import { countOption } from "./tree.ts";

/** Separates levels in the flat names of safetensors files. */
const SEPARATOR = ".";

function progress(options: CliOptions): (done: number, total: number) => void {
  if (options.quiet || !process.stderr.isTTY) return () => {};
  return (done, total) => {
    const share = Math.round((done / total) * 30);
    const bar = "█".repeat(share) + "░".repeat(30 - share);
    process.stderr.write(`\r${bar} ${done}/${total} files${done === total ? "\n" : ""}`);
  };
}

function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  process.once("SIGINT", () => controller.abort());
  return controller.signal;
}

function refuseExisting(path: string, options: CliOptions): void {
  if (!existsSync(path)) return;
  if (!options.force) {
    throw new CliError(`${path} exists already. Choose another target, or pass --force to replace it.`);
  }
  // Replacing removes what is there: only what such a conversion makes.
  if (!statSync(path).isDirectory()) return;
  if (existsSync(join(path, "meta.json")) || readdirSync(path).length === 0) return;
  throw new CliError(
    `${path} is no memory-mapped directory (it has no meta.json): it is not replaced, even with --force.`,
  );
}

/** A name beside the target that nothing has yet. */
function beside(path: string, what: string): string {
  return `${resolve(path)}.${what}-${process.pid}-${Math.random().toString(36).slice(2, 8)}`;
}

/** Puts a finished directory in place of whatever was there. */
function moveInto(made: string, path: string): void {
  const old = beside(path, "old");
  if (existsSync(path)) guarded(path, () => renameSync(path, old));
  guarded(path, () => renameSync(made, path));
  rmSync(old, { recursive: true, force: true });
}

async function toDirectory(from: string, to: string, options: CliOptions): Promise<string> {
  const file = new SafetensorsFile(from);
  const td = new TensorDict(file.tensors());
  const nested = file.keys().some((key) => key.includes(SEPARATOR)) ? td.unflattenKeys(SEPARATOR) : td;
  if (file.metadata.size > 0) nested.set("__metadata__", Object.fromEntries(file.metadata));
  const numThreads = countOption("threads", options.threads, 1);
  // Written beside the target, which changes only when everything is there.
  const made = beside(to, "new");
  try {
    guarded(to, () => mkdirSync(dirname(made), { recursive: true }));
    await nested.memmapAsync(made, { numThreads, onProgress: progress(options), signal: interruptSignal() });
    moveInto(made, to);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    throw error;
  }
  return `${file.keys().length} tensors, ${bytesText(td.bytes())}`;
}

async function toSafetensors(from: string, to: string, options: CliOptions): Promise<string> {
  if (!existsSync(join(from, "meta.json"))) {
    throw new CliError(`${from} has no meta.json: it is no memory-mapped directory.`);
  }
  const td = TensorDict.loadMemmap(from, { mode: "r" });
  if (td.batchDims > 0 && !options.quiet) {
    console.error(`note: the batch size [${td.batchSize.join(", ")}] has no place in a safetensors file`);
  }
  const metadata: Record<string, string> = {};
  const tensors = new Map<string, Tensor>();
  for (const [key, entry] of td.flattenKeys(SEPARATOR).items()) {
    if (!isNonTensor(entry)) tensors.set(key as string, entry as Tensor);
    else
      metadata[(key as string).replace(/^__metadata__\./, "")] = metadataText(
        (entry as { tolist?(): unknown; data?: unknown }).data,
      );
  }
  const numThreads = countOption("threads", options.threads, 1);
  const hasMetadata = Object.keys(metadata).length > 0;
  await saveSafetensorsAsync(tensors, to, {
    metadata: hasMetadata ? metadata : null,
    numThreads,
    onProgress: progress(options),
    signal: interruptSignal(),
  });
  return `${tensors.size} tensors, ${bytesText(td.bytes())}`;
}

function metadataText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Converts one format into the other; which way follows from what `from` is. */
export async function convert(from: string, to: string, options: CliOptions): Promise<void> {
  const stat = statSync(from, { throwIfNoEntry: false });
  if (stat === undefined) throw new CliError(`${from} does not exist.`);
  if (resolve(from) === resolve(to))
    throw new CliError(`${from} cannot be converted onto itself: choose another target.`);
  refuseExisting(to, options);
  const done = stat.isDirectory() ? await toSafetensors(from, to, options) : await toDirectory(from, to, options);
  if (!options.quiet) console.log(`${to}: ${done}`);
}
