// NumPy's .npy files: one array, mapped when it is read, and written as NumPy writes it.

import { addressOf } from "../../ffi/library.ts";
import { copyBytes } from "../../ffi/memory.ts";
import { basename } from "../../runtime/node.ts";
import { inOrder } from "../../tensor/checks.ts";
import type { Device } from "../../tensor/device.ts";
import { type DType, uint8 } from "../../tensor/dtype.ts";
import { TypeError } from "../../tensor/errors.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { absoluteFile } from "../base/places.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import type { Steps } from "../base/steps.ts";
import { bytesTensor, UnknownArray, type UnknownOptions } from "../base/unknown-array.ts";
import type { BackgroundOptions } from "../disk/file-jobs.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import type { MapMode } from "../disk/mapping.ts";
import type { TensorBytes } from "../disk/pieces.ts";
import { type PlaceOptions, placeAll, placeOf } from "../disk/placing.ts";
import type { StridedBytes } from "../disk/strided-bytes.ts";
import { bytesToWrite } from "../disk/tensor-bytes.ts";
import { TensorFile } from "../disk/tensor-file.ts";
import { whileUnreplaced } from "../disk/unreplaced.ts";
import { FileWrite, type FileWriteOptions } from "../store/single-file.ts";
import { type NpyHeader, npyHeader, npyRefusal, npyTextHeader, readAnyNpyHeader, readNpyHeader } from "./npy-header.ts";
import { type NpyValue, otherValue, textBytes, textShape } from "./npy-other.ts";

/** How an array is read. */
export interface NpyOptions extends PlaceOptions, UnknownOptions {
  /**
   * "c" or "r" (the default) keep changes private, "r+" writes through. The checksums of a .npz file do not follow:
   * `refreshArchiveChecksums` computes them again.
   */
  mode?: MapMode;
}

/** Bytes that are turned around at once. */
const SWAP_PART = 16 * 2 ** 20;
/** The same between two looks at the clock. */
const SLICE_PART = 2 ** 18;

/** A tensor whose bytes, row by row, have the given shape; in Fortran order the shape is turned around. */
function ordered(header: NpyHeader, rows: (shape: readonly number[]) => Tensor): Tensor {
  const { shape, fortranOrder } = header;
  if (!fortranOrder || shape.length < 2) return rows(shape);
  return rows([...shape].reverse()).permute(shape.map((_, i) => shape.length - 1 - i));
}

/** Turns elements around in `part`, on their way from one storage to another or the same one. */
function swapPart(dtype: DType, part: Buffer, source: Storage, from: number, target: Storage, to: number): void {
  const width = dtype.isComplex ? dtype.itemsize / 2 : dtype.itemsize;
  // The address is asked for last: whatever allocates before may collect a source that nobody asks any more.
  const address = addressOf(part);
  copyBytes(address, source.ptr + from, part.length);
  if (width === 2) part.swap16();
  else if (width === 4) part.swap32();
  else if (width === 8) part.swap64();
  copyBytes(target.ptr + to, addressOf(part), part.length);
}

/** Copies elements whose highest byte comes first, from a place in `source`. */
function swapped(dtype: DType, shape: readonly number[], source: Storage, offset: number, nbytes: number): Tensor {
  return makeContiguous(swappedStorage(dtype, source, offset, nbytes), shape, dtype);
}

/** The same for a storage by itself; elements of one byte are copied. */
export function swappedStorage(dtype: DType, source: Storage, offset: number, nbytes: number): Storage {
  const storage = Storage.allocate(nbytes);
  for (let at = 0; at < nbytes; at += SWAP_PART) {
    const part = Buffer.allocUnsafe(Math.min(SWAP_PART, nbytes - at));
    swapPart(dtype, part, source, offset + at, storage, at);
  }
  return storage;
}

/** Steps that turn the elements of an array around where they are. */
export function* turningAround({ dtype, nbytes }: NpyHeader, storage: Storage): Steps<void> {
  for (let at = 0; at < nbytes; at += SLICE_PART) {
    swapPart(dtype, Buffer.allocUnsafe(Math.min(SLICE_PART, nbytes - at)), storage, at, storage, at);
    yield;
  }
}

/** The array whose elements, in this machine's order of bytes, are in memory. */
export function arrayOver(header: NpyHeader, storage: Storage): Tensor {
  return ordered(header, (shape) => makeContiguous(storage, shape, header.dtype));
}

/** The array whose .npy file begins at `start` in a mapped file. */
export function mappedArray(file: TensorFile, start: number, header: NpyHeader): Tensor {
  const { dtype, nbytes, bigEndian } = header;
  const offset = start + header.headerBytes;
  if (!bigEndian || nbytes === 0) return ordered(header, (shape) => file.tensor(dtype, shape, offset));
  if (file.mode === "r+") throw new FormatError("big-endian elements cannot be mapped: they are converted", file.path);
  // Refuses what lies outside of the file.
  file.address(offset, nbytes);
  return ordered(header, (shape) => swapped(dtype, shape, file.anchor(), offset, nbytes));
}

/** The array of a .npy file that is in memory. */
export function arrayIn(bytes: Uint8Array, path: string): Tensor {
  const header = readNpyHeader((offset, nbytes) => bytes.subarray(offset, offset + nbytes), bytes.length, path);
  const { dtype, nbytes, headerBytes, bigEndian } = header;
  const storage = Storage.allocate(nbytes);
  const data = bytes.subarray(headerBytes, headerBytes + nbytes);
  if (nbytes > 0) copyBytes(storage.ptr, addressOf(data), nbytes);
  return ordered(header, (shape) => {
    if (bigEndian && nbytes > 0) return swapped(dtype, shape, storage, 0, nbytes);
    return makeContiguous(storage, shape, dtype);
  });
}

/** Header and bytes of a tensor as NumPy saves them: an array whose first index runs fastest stays like that. */
export function npyParts(tensor: Tensor): [header: Uint8Array, data: TensorBytes | StridedBytes] {
  const turned = tensor._contiguous || tensor._shape.length < 2 ? tensor : tensor.permute(reversed(tensor));
  const fortranOrder = turned !== tensor && turned._contiguous;
  const header = npyHeader(tensor.dtype, tensor._shape, fortranOrder);
  return [header, bytesToWrite(fortranOrder ? turned : tensor)];
}

/** Header and bytes of texts, or of an array of unknown elements that such a file had; null for anything else. */
export function otherParts(value: unknown): [header: Uint8Array, data: TensorBytes | StridedBytes] | null {
  if (value instanceof UnknownArray) {
    const { format, bytes, _exact: header } = value;
    return format === "npy" && bytes !== null && header !== null ? [header, bytesToWrite(bytes)] : null;
  }
  const shape = textShape(value);
  if (shape === null) return null;
  const { width, bytes } = textBytes(value, shape);
  return [npyTextHeader(width, shape), bytesToWrite(bytesTensor(bytes))];
}

/** The same for whatever a file of NumPy's holds. Throws `TypeError` for what it does not. */
export function npyPartsOf(value: unknown, name: string): [header: Uint8Array, data: TensorBytes | StridedBytes] {
  if (value instanceof Tensor) return npyParts(value);
  const parts = otherParts(value);
  if (parts !== null) return parts;
  const what = value instanceof UnknownArray ? `of ${value.dtype}, which NumPy has no type for` : "no tensor";
  throw new TypeError(`${JSON.stringify(name)} is ${what}`);
}

function reversed(tensor: Tensor): number[] {
  return tensor._shape.map((_, i) => tensor._shape.length - 1 - i);
}

/** A file name with NumPy's ending. */
export function withEnding(path: string, ending: string): string {
  return path === "" || path.endsWith(ending) ? path : path + ending;
}

/**
 * The array of a .npy file (versions 1 to 3): a view of the mapped file, read when it is used. An array in Fortran
 * order becomes a view with its strides; big-endian elements are converted. @torch torch.from_numpy(numpy.load(path))
 *
 * With `unknown: "describe"` texts are strings, in lists of their shape, and all else that no tensor has is an
 * `io.UnknownArray`: `loadNpy<io.NpyValue>(path, { unknown: "describe" })`.
 *
 * @throws FormatError for a file that is none, and for dtypes that tensors do not have (objects, texts, records)
 * @example
 * ```ts
 * io.saveNpy("/tmp/zensor-example.npy", arange(3));
 * io.loadNpy("/tmp/zensor-example.npy") // tensor([0, 1, 2])
 * ```
 */
export function loadNpy<T = Tensor>(path: string, options: NpyOptions = {}): T {
  [path, options = {}] = inOrder<Parameters<typeof loadNpy>>("loadNpy", FUNCTIONS.loadNpy, arguments);
  const device = placeOf(options);
  return whileUnreplaced(path, () => {
    const found = loadOnce(path, device, options);
    return found instanceof Tensor ? placeAll([found], device, "loadNpy")[0] : found;
  }) as T;
}

function loadOnce(path: string, device: Device, options: NpyOptions): NpyValue {
  const { header, head, size, place } = FileRanges.with(path, (file) => {
    const header = readAnyNpyHeader((offset, nbytes) => file.read(offset, nbytes), file.size, file.path);
    return { header, head: file.read(0, header.headerBytes), size: file.size, place: file.path };
  });
  const file = new TensorFile(path, size, options.mode, { device });
  if (header.dtype !== null) return mappedArray(file, 0, header);
  // A tensor was asked for, and nothing would be left if this were skipped.
  if (options.unknown !== "describe") throw npyRefusal(header, place);
  const name = basename(path).replace(/\.npy$/i, "");
  const bytes = file.tensor(uint8, [header.nbytes], header.headerBytes);
  return otherValue(name, header, head, bytes, place) as NpyValue;
}

/**
 * Writes a tensor to a .npy file, byte for byte as NumPy does; ".npy" is added to a name without it. The file is
 * replaced when it is complete. @torch numpy.save
 *
 * @throws TypeError for dtypes that NumPy does not have (bfloat16, float8)
 * @example
 * ```ts
 * io.saveNpy("a.npy", arange(3));
 * io.loadNpy("a.npy") // tensor([0, 1, 2])
 * ```
 */
export function saveNpy(path: string, tensor: Tensor, options: FileWriteOptions = {}): void {
  [path, tensor, options = {}] = inOrder<Parameters<typeof saveNpy>>("saveNpy", FUNCTIONS.saveNpy, arguments);
  plan(absoluteFile(withEnding(path, ".npy")), tensor, options).run();
}

/**
 * Like `saveNpy`, while the program goes on; the tensor must not change until it is done. A signal leaves the file that
 * was there before.
 * @example
 * ```ts
 * await io.saveNpyAsync("/tmp/zensor-example.npy", ones(2));
 * io.loadNpy("/tmp/zensor-example.npy") // tensor([1., 1.])
 * ```
 */
export async function saveNpyAsync(
  path: string,
  tensor: Tensor,
  options: FileWriteOptions & BackgroundOptions = {},
): Promise<void> {
  [path, tensor, options = {}] = inOrder<Parameters<typeof saveNpyAsync>>(
    "saveNpyAsync",
    FUNCTIONS.saveNpyAsync,
    arguments,
  );
  await plan(absoluteFile(withEnding(path, ".npy")), tensor, options).runInBackground(options);
}

/** `saveNpyAsync` to a path that is taken as it is: NumPy adds the ending to a name without it. */
export async function writeNpyAsync(
  path: string,
  value: NpyValue,
  options: FileWriteOptions & BackgroundOptions,
): Promise<void> {
  await plan(path, value, options).runInBackground(options);
}

function plan(path: string, value: NpyValue, options: FileWriteOptions): FileWrite {
  const [header, data] = npyPartsOf(value, basename(path));
  const pieces = [
    { offset: 0, data: header },
    { offset: header.length, data },
  ];
  return new FileWrite(path, pieces, options);
}
