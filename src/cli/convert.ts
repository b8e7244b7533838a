// `zensor convert`: any format into any other that can be written. Bytes go from file to file where both sides have
// them as they are, so that files larger than memory can be converted.
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { SingleBar } from "cli-progress";
import { replaceDurably, temporaryBeside } from "../io/durable.ts";
import { copyMappedFiles } from "../io/tensor-bytes.ts";
import { openCollection, writeCollection } from "./collections.ts";
import { CliError } from "./errors.ts";
import { FORMATS, formatNamed, formatOf, targetFormat } from "./formats.ts";
import { listingOf } from "./inspect.ts";
import { bytesText, countOption } from "./text.ts";

/** Options of the command. */
export interface ConvertOptions {
  from?: string;
  to?: string;
  threads?: string;
  force?: boolean;
  quiet?: boolean;
}

function progress(options: ConvertOptions): { update(done: number, total: number): void; stop(): void } {
  if (options.quiet || !process.stderr.isTTY) return { update() {}, stop() {} };
  const bar = new SingleBar({ format: "{bar} {value}/{total} files, {eta_formatted} left", stream: process.stderr });
  let begun = false;
  return {
    update(done, total) {
      if (!begun) bar.start(total, done);
      else bar.update(done);
      begun = true;
    },
    stop: () => bar.stop(),
  };
}

function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  process.once("SIGINT", () => controller.abort());
  return controller.signal;
}

const DIRECTORY_MARKS = ["meta.json", ".snapshot_metadata"];

function refuseExisting(path: string, options: ConvertOptions): void {
  if (!existsSync(path)) return;
  if (!options.force) {
    throw new CliError(`${path} exists already. Choose another target, or pass --force to replace it.`);
  }
  // Replacing removes what is there: only what such a conversion makes.
  if (!statSync(path).isDirectory() || readdirSync(path).length === 0) return;
  if (DIRECTORY_MARKS.some((name) => existsSync(join(path, name)))) return;
  throw new CliError(
    `${path} is no memory-mapped directory (it has no meta.json): it is not replaced, even with --force.`,
  );
}

/** Converts one format into another. */
export async function convert(from: string, to: string, options: ConvertOptions): Promise<void> {
  const source = options.from === undefined ? await formatOf(from) : formatNamed(options.from);
  const target = options.to === undefined ? targetFormat(to) : formatNamed(options.to);
  if (!FORMATS[target].written) throw new CliError(`a ${FORMATS[target].title} can only be read.`, 2);
  if (resolve(from) === resolve(to)) {
    throw new CliError(`${from} cannot be converted onto itself: choose another target.`);
  }
  refuseExisting(to, options);
  const numThreads = countOption("threads", options.threads, 1);
  const signal = interruptSignal();
  // Nothing here changes a tensor, so that the bytes of mapped files may be copied from the files.
  copyMappedFiles(true);
  const td = await openCollection(from, source);
  const bar = progress(options);
  // Written beside the target, which changes only when everything is there.
  const made = temporaryBeside(to, "new");
  try {
    await writeCollection(td, made, target, { numThreads, signal, onProgress: bar.update });
    signal.throwIfAborted();
    replaceDurably(made, to);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    throw error;
  } finally {
    bar.stop();
  }
  if (options.quiet) return;
  const { rows } = listingOf(td, source);
  const total = rows.reduce((sum, row) => sum + row.nbytes, 0);
  console.log(`${to}: ${rows.length} tensors, ${bytesText(total)}`);
}
