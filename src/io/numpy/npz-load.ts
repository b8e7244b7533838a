// Reads NumPy's .npz files: zip archives with one .npy file per array.

import { JobFlag } from "../../../generated/abi.ts";
import { addressOf } from "../../ffi/library.ts";
import { copyBytes } from "../../ffi/memory.ts";
import { totalmem } from "../../runtime/node.ts";
import { inOrder } from "../../tensor/checks.ts";
import { CPU, type Device } from "../../tensor/device.ts";
import { uint8 } from "../../tensor/dtype.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import { runSteps, runStepsLater, type Steps, wait } from "../base/steps.ts";
import { takesUnknown } from "../base/unknown-array.ts";
import { type BackgroundOptions, FileJobs, PART_BYTES } from "../disk/file-jobs.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import { placeOf, placingRecord } from "../disk/placing.ts";
import { blockBehind } from "../disk/tensor-bytes.ts";
import { alignmentOf, TensorFile } from "../disk/tensor-file.ts";
import { unreplaced } from "../disk/unreplaced.ts";
import { inflatedPieces } from "../zip/inflated-pieces.ts";
import { readingZip, type ZipFile } from "../zip/zip.ts";
import type { ZipEntry } from "../zip/zip-directory.ts";
import { arrayOver, mappedArray, type NpyOptions, turningAround } from "./npy.ts";
import { LONGEST_NPY_HEADER, type NpyHeader, type NpyOther, npyRefusal, readAnyNpyHeader } from "./npy-header.ts";
import { type NpyValue, otherValue } from "./npy-other.ts";
import { ENDING } from "./npz.ts";

/** How arrays are loaded. */
export interface NpzLoadOptions extends NpyOptions {
  /**
   * False: stored arrays are mapped without a look at their checksums, and so are read only when they are used. With
   * the mode "r+", whose writes the checksums do not follow, it is always so.
   */
  verify?: boolean;
  /** Most bytes of all arrays that are compressed; by default 1 GiB, or 200 times the file. */
  maxBytes?: number;
}

/** Whether stored arrays are compared with their checksums. */
function isVerified({ verify = true, mode }: NpzLoadOptions): boolean {
  return verify && mode !== "r+";
}

/** What is read and inflated within a moment. */
const SMALL_BYTES = 64 * 1024;

/** An array whose elements come, or came, later than its header. */
interface Made {
  header: NpyHeader | NpyOther;
  storage: Storage;
  /** What is before the elements. */
  head: Uint8Array;
}

/** An array that no tensor has, as it was found. */
class OtherArray {
  constructor(
    readonly header: NpyOther,
    readonly head: Uint8Array,
    readonly bytes: Tensor,
  ) {}
}

function bytesOver(storage: Storage): Tensor {
  return makeContiguous(storage, [storage.nbytes], uint8);
}

/** Throws for an entry that is to be inflated for an array that is a small part of it. */
function requireFull({ headerBytes, nbytes }: NpyHeader | NpyOther, entry: ZipEntry, place: string): void {
  const more = entry.nbytes - headerBytes - nbytes;
  if (more > LONGEST_NPY_HEADER) throw new FormatError(`it has ${more} bytes behind its ${nbytes} of elements`, place);
}

/** The header of an entry that is compressed, as far as it is in its first bytes. */
function checkBeginning(zip: ZipFile, { entry, place }: Pick<NpzArray, "entry" | "place">): void {
  const head = zip.beginning(entry);
  const read = (offset: number, nbytes: number) => head.subarray(offset, offset + nbytes);
  if (head.length >= Math.min(entry.nbytes, LONGEST_NPY_HEADER)) {
    requireFull(readAnyNpyHeader(read, entry.nbytes, place), entry, place);
  }
}

/** The array of an entry, from its pieces. */
class Growing {
  private head: Uint8Array = new Uint8Array(0);
  private made: Made | null = null;
  private filled = 0;

  constructor(
    private readonly entry: ZipEntry,
    private readonly place: string,
  ) {}

  take(piece: Uint8Array): void {
    if (this.made !== null) {
      this.copy(piece, this.made);
      return;
    }
    const head = this.head.length === 0 ? piece : Buffer.concat([this.head, piece]);
    this.head = head;
    if (head.length < Math.min(this.entry.nbytes, LONGEST_NPY_HEADER)) return;
    const read = (offset: number, nbytes: number) => head.subarray(offset, offset + nbytes);
    const header = readAnyNpyHeader(read, this.entry.nbytes, this.place);
    requireFull(header, this.entry, this.place);
    const storage = Storage.allocate(header.nbytes);
    this.made = { header, storage, head: head.slice(0, header.headerBytes) };
    this.copy(head.subarray(header.headerBytes), this.made);
  }

  private copy(bytes: Uint8Array, { header, storage }: Made): void {
    const length = Math.min(bytes.length, header.nbytes - this.filled);
    if (length > 0) copyBytes(storage.ptr + this.filled, addressOf(bytes), length);
    this.filled += length;
  }

  finishing(): Steps<Tensor | OtherArray> {
    return finishing(this.made as Made);
  }
}

/** The array over elements that are there, in this machine's order of bytes at the end. */
function* finishing({ header, storage, head }: Made): Steps<Tensor | OtherArray> {
  if (header.dtype === null) return new OtherArray(header, head, bytesOver(storage));
  if (header.bigEndian) yield* turningAround(header, storage);
  return arrayOver(header, storage);
}

/** The array of an entry that is compressed; a large one is inflated in threads of the runtime. */
function* inflating(
  zip: ZipFile,
  { entry, place }: NpzArray,
  signal: AbortSignal | undefined,
): Steps<Tensor | OtherArray> {
  const array = new Growing(entry, place);
  const now = () => {
    if (entry.nbytes > LONGEST_NPY_HEADER) checkBeginning(zip, { entry, place });
    array.take(zip.read(entry, entry.nbytes));
  };
  yield* wait(now, async (slices) => {
    if (Math.max(entry.nbytes, entry.compressedBytes) <= SMALL_BYTES) return now();
    // An entry without bytes has no piece, and no header.
    array.take(new Uint8Array(0));
    for await (const piece of inflatedPieces(zip, entry)) {
      signal?.throwIfAborted();
      array.take(piece);
      if (slices.over) await slices.pause();
    }
  });
  return yield* array.finishing();
}

/** Arrays that cannot be mapped, since they are not aligned or their bytes are turned around: native threads read. */
class Copies {
  private readonly jobs = new FileJobs();
  private readonly made: { header: NpyHeader; storage: Storage }[] = [];

  constructor(private readonly path: string) {}

  /** An array whose elements come with `read`. */
  add(offset: number, header: NpyHeader): Tensor {
    const storage = Storage.allocate(header.nbytes);
    for (let at = 0; at < header.nbytes; at += PART_BYTES) {
      const nbytes = Math.min(PART_BYTES, header.nbytes - at);
      const data = storage.ptr + at;
      const block = blockBehind(storage);
      this.jobs.add({ path: this.path, offset: offset + at, nbytes, data, flags: JobFlag.read, block, keep: storage });
    }
    this.made.push({ header, storage });
    return arrayOver(header, storage);
  }

  *reading(signal: AbortSignal | undefined, done: () => void): Steps<void> {
    const failed = yield* wait(
      () => this.jobs.run(),
      () => this.jobs.runInBackground(1, signal === undefined ? {} : { signal }),
    );
    if (failed !== 0) this.jobs.throwFirstFailure();
    this.jobs.requireWhole();
    for (const { header, storage } of this.made) {
      if (header.bigEndian) yield* turningAround(header, storage);
      done();
    }
  }
}

/** An entry of an archive of arrays. */
interface NpzArray {
  name: string;
  entry: ZipEntry;
  /** What errors call it. */
  place: string;
}

/** The arrays of an archive, none of them read. Throws `FormatError` for what is none, or may not be read. */
function* arraysOf(zip: ZipFile, { mode }: NpyOptions): Generator<NpzArray> {
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
function storedHeader(file: FileRanges, entry: ZipEntry, place: string): NpyHeader | NpyOther {
  return readAnyNpyHeader((offset, nbytes) => file.read(entry.offset + offset, nbytes), entry.nbytes, place);
}

/**
 * The arrays of a .npz file by name. Those that are stored are views of the mapped file (copies, where they are not
 * aligned), compressed ones are read at once. All are compared with their checksums first, as NumPy does it, which
 * reads the file once unless `verify` is false. Texts are strings, in lists of their shape; records, dates, pickled
 * objects and all else that no tensor has are `io.UnknownArray`, unless `unknown` says that they are left out or
 * refused. What the file holds is not known to the compiler: `loadNpz<{ x: Tensor; format: string }>(path)` tells it.
 * @torch numpy.load
 *
 * @throws FormatError for an archive that is damaged, or holds something else than arrays
 * @example
 * ```ts
 * io.saveNpz("/tmp/zensor-example.npz", { a: arange(3), format: "csr" });
 * io.loadNpz<{ format: string }>("/tmp/zensor-example.npz").format // csr
 * io.loadNpz("/tmp/zensor-example.npz").a // tensor([0, 1, 2])
 * ```
 */
export function loadNpz<T = Record<string, Tensor>>(path: string, options: NpzLoadOptions = {}): T {
  [path, options = {}] = inOrder<Parameters<typeof loadNpz>>("loadNpz", FUNCTIONS.loadNpz, arguments);
  return runSteps(loading(path, options)) as T;
}

type LaterOptions = NpzLoadOptions & BackgroundOptions;

/**
 * Like `loadNpz`, while the program goes on: compressed arrays are inflated by the runtime's threads, and those that
 * cannot be mapped are read by native ones. A signal leaves nothing of what was read.
 *
 * @throws FormatError for an archive that is damaged, or holds something else than arrays
 * @example
 * ```ts
 * await io.saveNpzAsync("/tmp/zensor-example.npz", { a: arange(3) }, { compressed: true });
 * (await io.loadNpzAsync("/tmp/zensor-example.npz")).a // tensor([0, 1, 2])
 * ```
 * @torch numpy.load
 */
export async function loadNpzAsync<T = Record<string, Tensor>>(path: string, options: LaterOptions = {}): Promise<T> {
  [path, options = {}] = inOrder<Parameters<typeof loadNpzAsync>>("loadNpzAsync", FUNCTIONS.loadNpzAsync, arguments);
  return (await runStepsLater(loading(path, options), options.signal)) as T;
}

function loading(path: string, options: LaterOptions): Steps<Record<string, NpyValue>> {
  const device = placeOf(options);
  return unreplaced(path, () => loadingOnce(path, device, options), options.signal);
}

/** An array that is stored; null for one that `copies` reads. */
function storedArray(
  file: FileRanges,
  mapped: TensorFile,
  copies: Copies,
  { entry, place }: NpzArray,
  device: Device,
): { value: Tensor | OtherArray; later: boolean } {
  const header = storedHeader(file, entry, place);
  const offset = entry.offset + header.headerBytes;
  if (header.dtype === null) {
    const head = file.read(entry.offset, header.headerBytes);
    return { value: new OtherArray(header, head, mapped.tensor(uint8, [header.nbytes], offset)), later: false };
  }
  const isCopied = header.bigEndian || (device === CPU && offset % alignmentOf(header.dtype) !== 0);
  if (isCopied && header.nbytes > SMALL_BYTES && mapped.mode !== "r+") {
    return { value: copies.add(offset, header), later: true };
  }
  return { value: mappedArray(mapped, entry.offset, header), later: false };
}

function* loadingOnce(path: string, device: Device, options: LaterOptions): Steps<Record<string, NpyValue>> {
  const { signal, onProgress } = options;
  const zip = yield* readingZip(path);
  zip.requireTotal(options.maxBytes);
  const mapped = new TensorFile(zip.path, zip.size, options.mode, { device });
  const copies = new Copies(zip.path);
  const result: Record<string, NpyValue> = Object.create(null);
  const tensors: Record<string, Tensor> = Object.create(null);
  let count = 0;
  const done = () => onProgress?.(++count, zip.entries.size);
  const file = new FileRanges(zip.path);
  try {
    for (const array of arraysOf(zip, options)) {
      yield;
      const { name, entry, place } = array;
      const isStored = entry.method === "stored";
      if (isStored && isVerified(options)) yield* zip.verifying(file, entry);
      const { value, later } = isStored
        ? storedArray(file, mapped, copies, array, device)
        : { value: yield* inflating(zip, array, signal), later: false };
      if (!(value instanceof OtherArray)) result[name] = tensors[name] = value;
      else if (takesUnknown(options, () => npyRefusal(value.header, place))) {
        result[name] = otherValue(name, value.header, value.head, value.bytes, place) as NpyValue;
      }
      if (!later) done();
    }
  } finally {
    file.close();
  }
  yield* copies.reading(signal, done);
  return Object.assign(result, yield* placingRecord(tensors, device, "loadNpz", options));
}
