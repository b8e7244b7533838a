// Where a command writes: what would be lost is refused first, then everything is written beside the target, which
// changes only when all of it is there.
import { lstatSync, statSync } from "node:fs";
import { OSError } from "../io/base/errors.ts";
import { ownUnfinished } from "../io/base/leftovers.ts";
import { isInside } from "../io/base/paths.ts";
import { absoluteFile, absolutePath, realPlace, realTarget } from "../io/base/places.ts";
import { discardPath, replaceDurably, requirePlain, temporaryBeside } from "../io/disk/durable.ts";
import type { BackgroundOptions } from "../io/disk/file-jobs.ts";
import { copyMappedFiles } from "../io/disk/tensor-bytes.ts";
import { isRemote } from "../io/store/s3.ts";
import type { Td } from "../tensordict/core/state.ts";
import { reachable, reachableTarget } from "./byte-paths.ts";
import type { Opened } from "./collections.ts";
import { CliError, EXIT } from "./errors.ts";
import {
  aFormat,
  FORMATS,
  type FormatName,
  formatNamed,
  hasDirectWay,
  isDirectoryFormat,
  targetFormat,
} from "./formats.ts";
import { listingOf } from "./inspect.ts";
import { interruption, temporaries } from "./lifetime.ts";
import { fitTo } from "./losses.ts";
import { say, warn } from "./output.ts";
import { progressBar } from "./progress.ts";
import { isFlat, nestedAtDots } from "./python-tree.ts";
import type { PythonNode } from "./python-values.ts";
import { problemOfReplacing } from "./replacing.ts";
import { temporaryFor } from "./scratch.ts";
import { withStructure } from "./structure.ts";
import { bytesText, counted, countOption, printable } from "./text.ts";
import { writeCollection } from "./writing.ts";

/** Options of the commands that write. */
export interface TargetOptions {
  to?: string;
  threads?: string;
  force?: boolean;
  lossy?: boolean;
  quiet?: boolean;
  json?: boolean;
}

/** A target that may be written. */
export interface Target {
  /** As it was named. */
  path: string;
  /** What the name led to when the command began: links and the working directory do not matter any more. */
  place: string;
  format: FormatName;
  numThreads: number;
  options: TargetOptions;
}

function exists(path: string): CliError {
  return new CliError(`${path} exists already. Choose another target, or pass --force to replace it.`);
}

/** Replacing removes what is there: only what such a command makes. */
function requireReplaceable(path: string, at: string): void {
  if (lstatSync(at, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  const problem = problemOfReplacing(at);
  if (problem !== null) throw new CliError(`${path} ${problem}: it is not replaced, even with --force.`);
}

/** Where the system would write what is written to a target, and nowhere else. */
function placeOf(path: string, format: FormatName): string {
  if (isRemote(path)) return path;
  if (path === "") throw new CliError("the target is an empty text, which names nothing.", EXIT.usage);
  return realTarget(isDirectoryFormat(format) ? absolutePath(path) : absoluteFile(path));
}

/** Checks everything about a target that can be checked before a source is opened. */
export async function openTarget(path: string, sources: readonly string[], options: TargetOptions): Promise<Target> {
  const format = options.to === undefined ? targetFormat(path) : formatNamed(options.to);
  if (!FORMATS[format].written) throw new CliError(`${aFormat(format)} can only be read.`, EXIT.usage);
  const place = placeOf(isRemote(path) ? path : reachableTarget(path), format);
  for (const named of sources) {
    const source = isRemote(named) ? named : reachable(named);
    if (isRemote(path) || isRemote(source) ? source === path : realPlace(source) === place || isSame(source, place)) {
      throw new CliError(`${named} cannot be converted onto itself: choose another target.`);
    }
    if (isRemote(path) || isRemote(source)) continue;
    // Replacing a directory would remove what is in it.
    if (isInside(realPlace(source), place)) {
      throw new CliError(`${named} lies in ${path}, which would be replaced: choose another target.`);
    }
    // An entry may have the target's name, or it may be read as one.
    if (isInside(place, realPlace(source))) {
      throw new CliError(`${path} lies in ${named}, which would not be what it was: choose another target.`);
    }
  }
  if (isRemote(path)) await (await import("./remote.ts")).refuseRemote(path, format, options.force === true);
  else if (lstatSync(place, { throwIfNoEntry: false }) !== undefined) {
    if (!options.force) throw exists(path);
    requirePlain(place);
    requireReplaceable(path, place);
  }
  // Nothing here changes a tensor, so that the bytes of mapped files may be copied from the files.
  copyMappedFiles(true);
  return { path, place, format, numThreads: countOption("threads", options.threads, 1), options };
}

/** One file or directory under two names, by links of either kind. */
function isSame(source: string, path: string): boolean {
  const [a, b] = [source, path].map((place) => statSync(place, { throwIfNoEntry: false, bigint: true }));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

function agreeToLosses(lost: readonly string[], { path, format, options }: Target): void {
  if (lost.length === 0) return;
  const list = lost.join("\n");
  if (!options.lossy) {
    const title = `${aFormat(format)} cannot hold everything`;
    throw new CliError(`${path}: ${title}; nothing was written. Lost would be:\n${list}\nPass --lossy to agree.`);
  }
  warn(`${path}: left out:\n${list}`);
}

/** What will be written, after the user agreed to what is lost. */
export interface Prepared {
  td: Td;
  lost: readonly string[];
  /** What the levels were in Python, for a format that can write them so. */
  tree: PythonNode | null;
}

/** Formats of names alone: what dots in them meant in the source is the same there. */
const WITHOUT_LEVELS: ReadonlySet<FormatName> = new Set(["npz", "safetensors", "torchsnapshot"]);

/** Finds out what the target cannot hold. Throws `CliError` unless that is nothing, or agreed to. */
export function prepare({ td: opened, lost, tree, flat = false }: Opened, target: Target): Prepared {
  const { format } = target;
  const td = flat && tree === null && WITHOUT_LEVELS.has(format) ? nestedAtDots(opened) : opened;
  const described = tree !== null && format !== "npy";
  const fitted = fitTo(td, format, described);
  const all = [...lost, ...fitted.lost];
  agreeToLosses(all, target);
  if (!described || format === "pt") return { td: fitted.td, lost: all, tree };
  const told = fitted.renamed || fitted.homeless.size > 0 || !isFlat(td, tree);
  return { td: told ? withStructure(fitted.td, tree, fitted.homeless) : fitted.td, lost: all, tree: null };
}

/** In a store nothing can be renamed: what has a direct way there takes care of itself, all else is made here first. */
function whereMade({ path, place, format }: Target): string {
  if (!isRemote(path)) return temporaryBeside(place, "new");
  return hasDirectWay(format) ? path : temporaryFor(path);
}

/** What came into being while the command ran is not replaced either. */
function takePlace(made: string, { path, place, options }: Target): void {
  try {
    replaceDurably(made, place, options.force === true ? (at) => requireReplaceable(path, at) : null);
  } catch (error) {
    throw error instanceof OSError && error.code === "EEXIST" ? exists(path) : error;
  }
}

/** Lets something be written beside the target, and puts it in place when it is complete. */
export async function place(
  target: Target,
  write: (made: string, background: Required<BackgroundOptions>) => Promise<void>,
): Promise<void> {
  const { path, format, options } = target;
  const signal = interruption();
  const bar = progressBar(isRemote(path) && format === "memmap" ? "MiB" : "files", options.quiet);
  const made = whereMade(target);
  // Whoever interrupts twice does not wait until the writers have tidied up.
  if (!isRemote(path)) temporaries.undoBy(() => ownUnfinished(target.place).forEach(discardPath));
  try {
    await write(made, { signal, onProgress: bar.update });
    signal.throwIfAborted();
    bar.stop();
    if (made === path) return;
    if (isRemote(path)) await (await import("./remote-copy.ts")).sendRemote(made, path, format, options.quiet);
    else takePlace(made, target);
  } catch (error) {
    if (made !== path) discardPath(made);
    throw error;
  } finally {
    temporaries.undoBy(null);
    bar.stop();
  }
}

/** What a command did beside writing: a part of its line, and facts for other programs. */
export interface Told {
  text: string;
  facts: Record<string, unknown>;
}

/** Says what was written. */
export function tellWritten({ td, lost }: Prepared, { path, format, options }: Target, told?: Told): void {
  const { rows } = listingOf(td, format);
  const nbytes = rows.reduce((sum, row) => sum + row.nbytes, 0);
  const left = lost.map((line) => line.trim());
  const facts = { path, format, tensors: rows.length, nbytes, lost: left, ...told?.facts };
  if (options.json) say(JSON.stringify(facts, null, 2));
  else if (!options.quiet) {
    const done = told === undefined ? "" : `; ${told.text}`;
    say(printable(`${path}: ${counted(rows.length, "tensor")}, ${bytesText(nbytes)}${done}`));
  }
}

/** Writes a collection, and says so. */
export async function writeTarget(opened: Opened, target: Target, told?: Told): Promise<void> {
  const prepared = prepare(opened, target);
  const { format, numThreads } = target;
  await place(target, async (made, background) => {
    await writeCollection(prepared, made, format, { numThreads, ...background });
  });
  tellWritten(prepared, target, told);
}
