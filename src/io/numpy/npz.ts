// Writes NumPy's .npz files: a zip archive with one .npy file per array.
import { inOrder } from "../../tensor/checks.ts";
import { ValueError } from "../../tensor/errors.ts";
import { absoluteFile } from "../base/places.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import { runSteps, runStepsLater, type Steps } from "../base/steps.ts";
import type { BackgroundOptions } from "../disk/file-jobs.ts";
import { isRemote } from "../store/s3.ts";
import { type FileWriteOptions, writingZip } from "../store/single-file.ts";
import { entryNameProblem } from "../zip/zip-directory.ts";
import type { ZipWriteEntry } from "../zip/zip-write.ts";
import { npyPartsOf, withEnding } from "./npy.ts";
import type { NpyValue } from "./npy-other.ts";

/** What arrays are called in an archive. */
export const ENDING = ".npy";

/** How arrays are written. */
export interface NpzSaveOptions extends FileWriteOptions {
  /** Compress them with deflate; they are then read into memory instead of being mapped. */
  compressed?: boolean;
}

/** What is written: by name, or a list. */
export type NpzSource = Readonly<Record<string, NpyValue>> | ReadonlyMap<string, NpyValue> | readonly NpyValue[];

function named(tensors: NpzSource): [string, NpyValue][] {
  if (Array.isArray(tensors)) return tensors.map((tensor, i) => [`arr_${i}`, tensor]);
  return tensors instanceof Map ? [...tensors] : Object.entries(tensors as Record<string, NpyValue>);
}

/**
 * Writes tensors to a .npz file as NumPy does, byte for byte unless they are compressed; a list gets the names arr_0,
 * arr_1, and so on. ".npz" is added to a name without it. Texts, also in lists of one shape, become arrays of texts,
 * and what `loadNpz` described is written as it was. @torch numpy.savez
 *
 * @throws TypeError for dtypes that NumPy does not have; ValueError for names that cannot be those of files
 * @example
 * ```ts
 * io.saveNpz("a.npz", { a: arange(3), b: ones(2) });
 * Object.keys(io.loadNpz("a.npz")) // [a, b]
 * ```
 */
export function saveNpz(path: string, tensors: NpzSource, options: NpzSaveOptions = {}): void {
  [path, tensors, options = {}] = inOrder<Parameters<typeof saveNpz>>("saveNpz", FUNCTIONS.saveNpz, arguments);
  runSteps(saving(path, tensors, options));
}

/**
 * Like `saveNpz`, while the program goes on; the tensors must not change until it is done. A signal leaves the file
 * that was there before.
 * @example
 * ```ts
 * await io.saveNpzAsync("/tmp/zensor-example.npz", { a: arange(3) }, { compressed: true });
 * io.loadNpz("/tmp/zensor-example.npz").a // tensor([0, 1, 2])
 * ```
 */
export async function saveNpzAsync(
  path: string,
  tensors: NpzSource,
  options: NpzSaveOptions & BackgroundOptions = {},
): Promise<void> {
  [path, tensors, options = {}] = inOrder<Parameters<typeof saveNpzAsync>>(
    "saveNpzAsync",
    FUNCTIONS.saveNpzAsync,
    arguments,
  );
  await runStepsLater(saving(path, tensors, options), options.signal);
}

/** `saveNpzAsync` to a path that is taken as it is: NumPy adds the ending to a name without it. */
export async function writeNpzAsync(
  path: string,
  tensors: NpzSource,
  options: NpzSaveOptions & BackgroundOptions,
): Promise<void> {
  await runStepsLater(
    writingZip(path, () => plan(tensors, options), "numpy", options),
    options.signal,
  );
}

function saving(path: string, tensors: NpzSource, options: NpzSaveOptions & BackgroundOptions): Steps<void> {
  return writingZip(placeOf(path), () => plan(tensors, options), "numpy", options);
}

function placeOf(path: string): string {
  const file = withEnding(path, ".npz");
  return isRemote(file) ? file : absoluteFile(file);
}

function plan(tensors: NpzSource, options: NpzSaveOptions): ZipWriteEntry[] {
  return named(tensors).map(([name, tensor]) => {
    const file = name + ENDING;
    const problem = entryNameProblem(file);
    if (problem !== null) throw new ValueError(`the name ${JSON.stringify(name)} ${problem}: no file can have it`);
    const [prefix, data] = npyPartsOf(tensor, name);
    return { name: file, prefix, data, deflate: options.compressed === true };
  });
}
