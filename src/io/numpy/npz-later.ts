// Archives of arrays that are read while the program goes on.
import { JobFlag } from "../../../generated/abi.ts";
import { addressOf } from "../../ffi/library.ts";
import { copyBytes } from "../../ffi/memory.ts";
import { checkCall } from "../../tensor/checks.ts";
import { Storage } from "../../tensor/storage.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import { Slices } from "../base/slices.ts";
import { type BackgroundOptions, FileJobs, PART_BYTES } from "../disk/file-jobs.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import { blockBehind } from "../disk/tensor-bytes.ts";
import { alignmentOf, TensorFile } from "../disk/tensor-file.ts";
import { whileUnreplacedLater } from "../disk/unreplaced.ts";
import type { ZipFile } from "../zip/zip.ts";
import type { ZipEntry } from "../zip/zip-directory.ts";
import { inflatedPieces, readZipLater } from "../zip/zip-later.ts";
import { arrayIn, arrayOver, mappedArray, swapInSlices } from "./npy.ts";
import { LONGEST_NPY_HEADER, type NpyHeader, readNpyHeader } from "./npy-header.ts";
import { arraysOf, isVerified, type NpzLoadOptions, storedHeader } from "./npz.ts";

/** What is read and inflated within a moment. */
const SMALL_BYTES = 64 * 1024;

/** An array whose elements come, or came, later than its header. */
interface Made {
  header: NpyHeader;
  storage: Storage;
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
    const head = Buffer.concat([this.head, piece]);
    this.head = head;
    if (head.length < Math.min(this.entry.nbytes, LONGEST_NPY_HEADER)) return;
    const read = (offset: number, nbytes: number) => head.subarray(offset, offset + nbytes);
    const header = readNpyHeader(read, this.entry.nbytes, this.place);
    this.made = { header, storage: Storage.allocate(header.nbytes) };
    this.copy(head.subarray(header.headerBytes), this.made);
  }

  private copy(bytes: Uint8Array, { header, storage }: Made): void {
    const length = Math.min(bytes.length, header.nbytes - this.filled);
    if (length > 0) copyBytes(storage.ptr + this.filled, addressOf(bytes), length);
    this.filled += length;
  }

  async finish(slices: Slices): Promise<Tensor> {
    const { header, storage } = this.made as Made;
    if (header.bigEndian) await swapInSlices(header, storage, slices);
    return arrayOver(header, storage);
  }
}

async function inflatedArray(
  zip: ZipFile,
  entry: ZipEntry,
  place: string,
  slices: Slices,
  signal: AbortSignal | undefined,
): Promise<Tensor> {
  const array = new Growing(entry, place);
  // An entry without bytes has no piece, and no header.
  array.take(new Uint8Array(0));
  for await (const piece of inflatedPieces(zip, entry)) {
    signal?.throwIfAborted();
    array.take(piece);
    if (slices.over) await slices.pause();
  }
  return await array.finish(slices);
}

/** Arrays that cannot be mapped, since they are not aligned or their bytes are turned around: native threads read. */
class Copies {
  private readonly jobs = new FileJobs();
  private readonly made: Made[] = [];

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

  async read(slices: Slices, signal: AbortSignal | undefined, done: () => void): Promise<void> {
    const options = signal === undefined ? {} : { signal };
    if ((await this.jobs.runInBackground(1, options)) !== 0) this.jobs.throwFirstFailure();
    for (let i = 0; i < this.jobs.length; i++) {
      if (this.jobs.result(i).mapped === this.jobs.job(i).nbytes) continue;
      throw new FormatError("the file became shorter while it was read", this.path);
    }
    for (const { header, storage } of this.made) {
      if (header.bigEndian) await swapInSlices(header, storage, slices);
      done();
    }
  }
}

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
export async function loadNpzAsync(
  path: string,
  options: NpzLoadOptions & BackgroundOptions = {},
): Promise<Record<string, Tensor>> {
  checkCall("loadNpzAsync", FUNCTIONS.loadNpzAsync, arguments);
  return await whileUnreplacedLater(path, () => loadOnce(path, options), options.signal);
}

async function loadOnce(path: string, options: NpzLoadOptions & BackgroundOptions): Promise<Record<string, Tensor>> {
  const { signal, onProgress } = options;
  const slices = new Slices(signal);
  const zip = await readZipLater(path, slices);
  const mapped = new TensorFile(zip.path, zip.size, options.mode);
  const copies = new Copies(zip.path);
  const result: Record<string, Tensor> = Object.create(null);
  let count = 0;
  const done = () => onProgress?.(++count, zip.entries.size);
  const file = new FileRanges(zip.path);
  try {
    for (const { name, entry, place } of arraysOf(zip, options)) {
      if (slices.over) await slices.pause();
      if (entry.method === "stored") {
        if (isVerified(options)) {
          for (const _ of zip.verifySteps(file, entry)) if (slices.over) await slices.pause();
        }
        const header = storedHeader(file, entry, place);
        const offset = entry.offset + header.headerBytes;
        const isCopied = header.bigEndian || offset % alignmentOf(header.dtype) !== 0;
        if (isCopied && header.nbytes > SMALL_BYTES && options.mode !== "r+") {
          result[name] = copies.add(offset, header);
          continue;
        }
        result[name] = mappedArray(mapped, entry.offset, header);
      } else if (Math.max(entry.nbytes, entry.compressedBytes) <= SMALL_BYTES) {
        result[name] = arrayIn(zip.read(entry, entry.nbytes), place);
      } else result[name] = await inflatedArray(zip, entry, place, slices, signal);
      done();
    }
  } finally {
    file.close();
  }
  await copies.read(slices, signal, done);
  return result;
}
