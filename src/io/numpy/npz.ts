// NumPy's .npz files: a zip archive with one .npy file per array.
import { totalmem } from "node:os";
import { checkCall } from "../../tensor/checks.ts";
import { TypeError, ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import type { NamedTensors } from "../base/named-tensors.ts";
import { absolutePath } from "../base/paths.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import type { BackgroundOptions } from "../disk/file-jobs.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import { TensorFile } from "../disk/tensor-file.ts";
import { whileUnreplaced } from "../disk/unreplaced.ts";
import { isRemote } from "../store/s3.ts";
import { FileWrite, type FileWriteOptions, writeZipInBackground } from "../store/single-file.ts";
import { readZip, type ZipFile } from "../zip/zip.ts";
import { entryNameProblem, type ZipEntry } from "../zip/zip-directory.ts";
import { type ZipWriteEntry, zipPieces } from "../zip/zip-write.ts";
import { arrayIn, mappedArray, type NpyOptions, npyParts, withEnding } from "./npy.ts";
import { type NpyHeader, readNpyHeader } from "./npy-header.ts";

const ENDING = ".npy";

/** How arrays are written. */
export interface NpzSaveOptions extends FileWriteOptions {
  /** Compress them with deflate; they are then read into memory instead of being mapped. */
  compressed?: boolean;
}

/** How arrays are loaded. */
export interface NpzLoadOptions extends NpyOptions {
  /**
   * False: stored arrays are mapped without a look at their checksums, and so are read only when they are used. With
   * the mode "r+", whose writes the checksums do not follow, it is always so.
   */
  verify?: boolean;
}

/** Whether stored arrays are compared with their checksums. */
export function isVerified({ verify = true, mode }: NpzLoadOptions): boolean {
  return verify && mode !== "r+";
}

/**
 * The arrays of a .npz file by name. Those that are stored are views of the mapped file (copies, where they are not
 * aligned), compressed ones are read at once. All are compared with their checksums first, as NumPy does it, which
 * reads the file once unless `verify` is false. @torch numpy.load
 *
 * @throws FormatError for an archive that is damaged, or holds something else than arrays
 * @example
 * ```ts
 * io.saveNpz("/tmp/zensor-example.npz", { a: arange(3), b: ones(2) });
 * io.loadNpz("/tmp/zensor-example.npz").a // tensor([0, 1, 2])
 * ```
 */
export function loadNpz(path: string, options: NpzLoadOptions = {}): Record<string, Tensor> {
  checkCall("loadNpz", FUNCTIONS.loadNpz, arguments);
  return whileUnreplaced(path, () => loadOnce(path, options));
}

function loadOnce(path: string, options: NpzLoadOptions): Record<string, Tensor> {
  const zip = readZip(path);
  const mapped = new TensorFile(zip.path, zip.size, options.mode);
  const result: Record<string, Tensor> = Object.create(null);
  FileRanges.with(zip.path, (file) => {
    for (const { name, entry, place } of arraysOf(zip, options)) {
      if (entry.method === "stored") {
        if (isVerified(options)) for (const _ of zip.verifySteps(file, entry));
        result[name] = mappedArray(mapped, entry.offset, storedHeader(file, entry, place));
      } else result[name] = arrayIn(zip.read(entry, entry.nbytes), place);
    }
  });
  return result;
}

/** An entry of an archive of arrays. */
export interface NpzArray {
  name: string;
  entry: ZipEntry;
  /** What errors call it. */
  place: string;
}

/** The arrays of an archive, none of them read. Throws `FormatError` for what is none, or may not be read. */
export function* arraysOf(zip: ZipFile, { mode }: NpyOptions): Generator<NpzArray> {
  // Decompressed arrays have to fit into memory.
  let room = totalmem();
  for (const entry of zip.entries.values()) {
    const place = `${zip.path}/${entry.name}`;
    if (!entry.name.endsWith(ENDING)) throw new FormatError("is no array: its name does not end with .npy", place);
    if (entry.method !== "stored") {
      if (mode === "r+") throw new FormatError("is compressed: writes cannot reach the file", place);
      room -= entry.nbytes;
      if (room < 0) throw new FormatError("its arrays are larger than the memory of this machine", place);
    }
    yield { name: entry.name.slice(0, -ENDING.length), entry, place };
  }
}

/** The header of an array that is not compressed. */
export function storedHeader(file: FileRanges, entry: ZipEntry, place: string): NpyHeader {
  return readNpyHeader((offset, nbytes) => file.read(entry.offset + offset, nbytes), entry.nbytes, place);
}

function named(tensors: NamedTensors | readonly Tensor[]): [string, Tensor][] {
  if (Array.isArray(tensors)) return tensors.map((tensor, i) => [`arr_${i}`, tensor]);
  return tensors instanceof Map ? [...tensors] : Object.entries(tensors as Record<string, Tensor>);
}

/**
 * Writes tensors to a .npz file as NumPy does, byte for byte unless they are compressed; a list gets the names arr_0,
 * arr_1, and so on. ".npz" is added to a name without it. @torch numpy.savez
 *
 * @throws TypeError for dtypes that NumPy does not have; ValueError for names that cannot be those of files
 */
export function saveNpz(path: string, tensors: NamedTensors | readonly Tensor[], options: NpzSaveOptions = {}): void {
  checkCall("saveNpz", FUNCTIONS.saveNpz, arguments);
  const { pieces } = zipPieces(plan(tensors, options), { style: "numpy" });
  new FileWrite(placeOf(path), pieces, options).run();
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
  tensors: NamedTensors | readonly Tensor[],
  options: NpzSaveOptions & BackgroundOptions = {},
): Promise<void> {
  checkCall("saveNpzAsync", FUNCTIONS.saveNpzAsync, arguments);
  await writeZipInBackground(placeOf(path), () => plan(tensors, options), "numpy", options);
}

function placeOf(path: string): string {
  const file = withEnding(path, ".npz");
  return isRemote(file) ? file : absolutePath(file);
}

function plan(tensors: NamedTensors | readonly Tensor[], options: NpzSaveOptions): ZipWriteEntry[] {
  return named(tensors).map(([name, tensor]) => {
    const file = name + ENDING;
    const problem = entryNameProblem(file);
    if (problem !== null) throw new ValueError(`the name ${JSON.stringify(name)} ${problem}: no file can have it`);
    if (!(tensor instanceof Tensor)) throw new TypeError(`${JSON.stringify(name)} is no tensor`);
    const [prefix, data] = npyParts(tensor);
    return { name: file, prefix, data, deflate: options.compressed === true };
  });
}
