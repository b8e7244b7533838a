// `zensor convert`: between safetensors files and memory-mapped directories.
import "../install.ts";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
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
  if (options.force || !existsSync(path)) return;
  throw new CliError(`${path} exists already. Choose another target, or pass --force to write over it.`);
}

async function toDirectory(from: string, to: string, options: CliOptions): Promise<string> {
  const file = new SafetensorsFile(from);
  const td = new TensorDict(file.tensors());
  const nested = file.keys().some((key) => key.includes(SEPARATOR)) ? td.unflattenKeys(SEPARATOR) : td;
  if (file.metadata.size > 0) nested.set("__metadata__", Object.fromEntries(file.metadata));
  const numThreads = countOption("threads", options.threads, 1);
  await nested.memmapAsync(to, { numThreads, onProgress: progress(options), signal: interruptSignal() });
  return `${file.keys().length} tensors, ${bytesText(td.bytes())}`;
}

async function toSafetensors(from: string, to: string, options: CliOptions): Promise<string> {
  if (!existsSync(join(from, "meta.json"))) {
    throw new CliError(`${from} has no meta.json: it is no memory-mapped directory.`);
  }
  const td = TensorDict.loadMemmap(from, { mode: "r" });
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
  refuseExisting(to, options);
  const done = stat.isDirectory() ? await toSafetensors(from, to, options) : await toDirectory(from, to, options);
  if (!options.quiet) console.log(`${to}: ${done}`);
}
