// Batches of file work done by the native library: write, size and map many files in one call, with several threads,
// at once or in the background.
import { JOB_SIZE, JobField, JobFlag, JobStatus } from "../../../generated/abi.ts";
import { addressOf, native } from "../../ffi/library.ts";
import { copyBytes, ownHandle, releaseAnchor, releaseBatch, TINY_BYTES } from "../../ffi/memory.ts";
import { Storage } from "../../tensor/storage.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { fileFault } from "../../tensor/values.ts";
import { FormatError, OSError, systemError } from "../base/errors.ts";
import { Slices } from "../base/slices.ts";
import { textProblem } from "../base/well-formed.ts";
import type { FileBytes, TensorBytes } from "./pieces.ts";
import { CopyRoom, gather, gatherInSlices, type StridedBytes, type StridedPart } from "./strided-bytes.ts";

const UTF8 = new TextEncoder();
/** Bytes written in one go in the background: a signal is looked at after each part, and threads share a tensor. */
export const PART_BYTES = 64 * 2 ** 20;
/** Bytes of copies that there are at a time, if no job alone needs more. */
const COPIES_BYTES = 256 * 2 ** 20;
/** Copies begin at multiples of this. */
const COPY_ALIGNMENT = 64;
/** One piece of work on one file. */
export interface FileJob {
  /** Absolute or relative path; null asks for anonymous shared memory. */
  path: string | null;
  flags: number;
  /** Bytes to write or to map; -1 maps the whole file. */
  nbytes: number;
  /** Address of the bytes to write, or of the room to read into. */
  data?: number;
  /** Where in the file. */
  offset?: number;
  /** For a job that only maps: the name that the file is about to get, which errors tell. */
  name?: string;
  /** The bytes to write are those of another file: they are not taken into memory. */
  source?: { path: string; offset: number };
  /** The bytes to write are those of a tensor that is not contiguous: they are copied when it is the job's turn. */
  strided?: StridedPart;
  /** The block, or as a negative number the mapping, that `data` is in: see `blockBehind`. */
  block?: number | undefined;
  /** `data` is the runtime's memory, or a user's, instead: what it is in, and where. */
  runtime?: { bytes: Uint8Array | Tensor; at: number } | undefined;
  /** Kept reachable until the work is done. */
  keep?: unknown;
}

/** What has to be copied before a job can run: native threads may outlive what is not in blocks or mappings. */
function copyFor(job: FileJob, background: boolean): StridedPart | RuntimeBytes | null {
  if (job.strided !== undefined) return job.strided;
  if (!background || !job.data || job.nbytes === 0 || job.block) return null;
  const { runtime, nbytes } = job;
  if (runtime === undefined) throw new Error(`zensor: nobody owns the memory of ${job.path}`);
  const { bytes, at: offset } = runtime;
  // A user's array may be transferred at any time: its bytes are read while the program stands still.
  return bytes instanceof Uint8Array ? { bytes, offset, nbytes } : { tensor: bytes, offset, nbytes };
}

/** Where a job's bytes are now: the runtime moves those of a short array when somebody asks for its buffer. */
function addressFor({ data, runtime }: FileJob): number {
  return data && runtime?.bytes instanceof Uint8Array ? addressOf(runtime.bytes) + runtime.at : (data ?? 0);
}

/** Bytes of the runtime's that a job writes. */
interface RuntimeBytes {
  bytes: Uint8Array;
  offset: number;
  nbytes: number;
}

/** The fields of a job that writes or copies `nbytes` of some bytes, from `at` on, and the flag that says which. */
export function writing(
  bytes: Uint8Array | TensorBytes | StridedBytes | FileBytes,
  at: number,
  nbytes: number,
): Pick<FileJob, "data" | "source" | "strided" | "keep" | "flags" | "nbytes" | "block" | "runtime"> {
  if (bytes instanceof Uint8Array) {
    return { nbytes, flags: JobFlag.write, data: addressOf(bytes) + at, runtime: { bytes, at } };
  }
  if ("strided" in bytes) {
    return { nbytes, flags: JobFlag.write, strided: { ...bytes, tensor: bytes.strided, offset: at, nbytes } };
  }
  const file = "path" in bytes ? bytes : bytes.file;
  if (file !== undefined) {
    const flags = JobFlag.copy | JobFlag.writable;
    return { nbytes, flags, source: { path: file.path, offset: file.offset + at }, keep: bytes };
  }
  const { address, keep, block } = bytes as TensorBytes;
  const runtime = block === 0 ? { bytes: keep, at } : undefined;
  return { nbytes, flags: JobFlag.write, data: address + at, keep, block, runtime };
}

/** What became of a job. */
export interface JobResult {
  /** 0, or a negative status. */
  status: number;
  /** Address of the mapping, 0 when there is none. */
  address: number;
  /** Length of the mapping, or of what was read, in bytes. */
  mapped: number;
  /** Size of the file in bytes. */
  fileSize: number;
  /** The inode of the file that was mapped or made; 0 where it is not known. */
  inode: number;
  /** True when it is the source of a copy that failed. */
  ofSource: boolean;
}

/** The error for a job that failed. */
export function jobError(job: FileJob, result: JobResult): Error {
  const path = (result.ofSource ? job.source?.path : job.path) ?? "<anonymous memory>";
  switch (result.status) {
    case JobStatus.tooSmall:
      return new OSError(
        `file <${path}> size <${result.fileSize}> is smaller than the required mapping size ` +
          `<${(job.offset ?? 0) + job.nbytes}>`,
        { path, code: "too_small" },
      );
    case JobStatus.sourceShort:
      return new OSError(
        `${path} has ${result.fileSize} bytes: those to be copied end at ${(job.source?.offset ?? 0) + job.nbytes}`,
        { path, code: "too_small" },
      );
    case JobStatus.exists:
      return new OSError(`The file ${path} already exists.`, { path, errno: 17, code: "EEXIST" });
    case JobStatus.symlink:
      return new OSError(`Refusing to write memory-mapped tensor through symlink ${path}.`, {
        path,
        code: "symlink",
      });
    case JobStatus.unsupported:
      return new OSError("mapping files is not supported on this platform yet", {
        path,
        code: "unsupported",
      });
    case JobStatus.cancelled:
      return new DOMException("The operation was aborted.", "AbortError");
    case JobStatus.notAFile:
      return new OSError(`${path} is not a regular file`, { path, code: "not_a_file" });
    case JobStatus.memoryFault:
      return new OSError(`a mapped file lacks bytes that ${path} shares`, { path, code: "file_fault" });
    case JobStatus.badJob:
      return new OSError(`bad arguments for ${path}`, { path, code: "bad_job" });
    default:
      return systemError(-result.status, path);
  }
}

/** What the native library wrote into the row of a job. */
export function resultAt(table: Float64Array, row: number): JobResult {
  return {
    status: table[row + JobField.status] as number,
    address: table[row + JobField.address] as number,
    mapped: table[row + JobField.mapped] as number,
    fileSize: table[row + JobField.fileSize] as number,
    inode: table[row + JobField.inode] as number,
    ofSource: table[row + JobField.sourceOffset] === -1,
  };
}

/** Jobs that run together: the native library gets them in one call when all their copies are made. */
interface Batch {
  begin: number;
  end: number;
  /** Bytes of its copies. */
  room: number;
}

/** Splits jobs so that the copies of each batch take up to so many bytes, or those of a single job. */
function batchesOf(jobs: readonly FileJob[], most: number, background: boolean): Batch[] {
  let last: Batch = { begin: 0, end: 0, room: 0 };
  const batches = [last];
  for (const [i, job] of jobs.entries()) {
    const copy = copyFor(job, background);
    const nbytes = copy === null ? 0 : Math.ceil(copy.nbytes / COPY_ALIGNMENT) * COPY_ALIGNMENT;
    if (last.room > 0 && last.room + nbytes > most) {
      last = { begin: i, end: i, room: 0 };
      batches.push(last);
    }
    last.end = i + 1;
    last.room += nbytes;
  }
  return batches;
}

function mostRoom(batches: readonly Batch[]): number {
  return batches.reduce((most, { room }) => Math.max(most, room), 0);
}

/**
 * A list of jobs that runs as one native call, or as several where tensors have to be copied to be written: then
 * copies are made and written in turn.
 */
export class FileJobs {
  private readonly jobs: FileJob[] = [];
  /** What the native library reads and writes, and where that is. */
  private table = new Float64Array(0);
  private address = 0;
  /** In the background the table is native memory: it may outlive this thread. */
  private memory: Storage | null = null;
  private fault: Error | null = null;
  /** Jobs that have not begun in the background do not begin any more. */
  private stopped = false;

  get length(): number {
    return this.jobs.length;
  }

  /** Adds a job; its number is its place in `result`. */
  add(job: FileJob): number {
    for (const path of [job.path, job.source?.path, job.name]) {
      if (path === undefined || path === null) continue;
      if (path.includes("\0")) throw new OSError("embedded null byte in a file name", { path });
      const problem = textProblem(path);
      if (problem !== null) throw new OSError(`the path ${JSON.stringify(path)} cannot be used: ${problem}`, { path });
    }
    return this.jobs.push(job) - 1;
  }

  job(index: number): FileJob {
    return this.jobs[index] as FileJob;
  }

  /** Room for the table and the paths. */
  private room(nbytes: number, background: boolean): ArrayBuffer {
    if (!background) return new ArrayBuffer(nbytes);
    this.memory = Storage.allocate(Math.max(nbytes, TINY_BYTES + 1));
    this.memory.claim();
    return this.memory.buffer();
  }

  /** What the jobs became stays; the native memory goes. */
  private close(): void {
    if (this.memory === null) return;
    this.table = this.table.slice();
    this.memory.release();
    this.memory = null;
  }

  private layOut(background: boolean): void {
    const { jobs } = this;
    const names: string[] = [];
    for (const { path, source, name } of jobs) {
      names.push(path ?? "");
      const second = source?.path ?? name;
      if (second !== undefined) names.push(second);
    }
    const paths = UTF8.encode(`${names.length === 1 ? names[0] : names.join("\0")}\0`);
    const rows = Math.max(jobs.length, 1) * JOB_SIZE;
    const buffer = this.room(8 * rows + paths.length, background);
    this.table = new Float64Array(buffer, 0, rows).fill(0);
    this.address = addressOf(this.table);
    new Uint8Array(buffer, 8 * rows, paths.length).set(paths);
    const base = this.address + 8 * rows;
    let at = 0;
    const next = () => {
      const start = base + at;
      at = paths.indexOf(0, at) + 1;
      return start;
    };
    for (const [i, job] of jobs.entries()) {
      const row = i * JOB_SIZE;
      const path = next();
      this.table[row + JobField.path] = job.path === null ? 0 : path;
      const hasSecond = job.source !== undefined || job.name !== undefined;
      this.table[row + JobField.data] = hasSecond ? next() : addressFor(job);
      this.table[row + JobField.nbytes] = job.nbytes;
      this.table[row + JobField.flags] = job.flags;
      this.table[row + JobField.offset] = job.offset ?? 0;
      this.table[row + JobField.status] = JobStatus.cancelled;
      this.table[row + JobField.sourceOffset] = job.source?.offset ?? 0;
    }
  }

  private rowAt(index: number): number {
    return this.address + index * JOB_SIZE * Float64Array.BYTES_PER_ELEMENT;
  }

  /** The copies of a batch in the order in which they lie in a room; their jobs are told where. */
  private *copies(
    { begin, end }: Batch,
    room: CopyRoom,
    background: boolean,
  ): Generator<[StridedPart, address: number]> {
    let at = 0;
    for (let i = begin; i < end; i++) {
      const copy = copyFor(this.job(i), background);
      if (copy === null) continue;
      const address = room.address + at;
      this.table[i * JOB_SIZE + JobField.data] = address;
      if ("bytes" in copy) copyBytes(address, addressOf(copy.bytes) + copy.offset, copy.nbytes);
      else yield [copy, address];
      at += Math.ceil(copy.nbytes / COPY_ALIGNMENT) * COPY_ALIGNMENT;
    }
  }

  /** Runs all jobs now. Returns how many failed; after a batch with failures no other begins. */
  run(threads = 1): number {
    if (this.jobs.length === 0) return 0;
    this.layOut(false);
    const batches = batchesOf(this.jobs, COPIES_BYTES, false);
    const room = new CopyRoom(mostRoom(batches));
    let failed = 0;
    try {
      for (const batch of batches) {
        for (const [part, address] of this.copies(batch, room, false)) gather(part, address, room);
        failed = this.counted(native.zs_io_run(this.rowAt(batch.begin), batch.end - batch.begin, threads));
        if (failed !== 0) break;
      }
    } catch (error) {
      this.unmapAll();
      throw error;
    } finally {
      room.release();
    }
    return failed;
  }

  /** Bytes of a mapped file that were missing are zeros where they were written to: the batch failed then. */
  private counted(failed: number): number {
    this.fault = fileFault("file work");
    return this.fault !== null && failed === 0 ? 1 : failed;
  }

  /**
   * Runs all jobs in the background. While one batch is written, the copies of the next one are made.
   * @returns how many failed; after a batch with failures no other begins
   */
  async runInBackground(threads = 1, options: BackgroundOptions = {}): Promise<number> {
    if (this.jobs.length === 0) return 0;
    const slices = new Slices(options.signal);
    const batches = batchesOf(this.jobs, COPIES_BYTES / 2, true);
    this.layOut(true);
    const rooms = [0, 1].map((i) => new CopyRoom(mostRoom(batches.filter((_, k) => k % 2 === i))));
    let running = Promise.resolve(0);
    try {
      for (const [i, batch] of batches.entries()) {
        const room = rooms[i % 2] as CopyRoom;
        for (const [part, address] of this.copies(batch, room, true)) await gatherInSlices(part, address, room, slices);
        if ((await running) !== 0) break;
        running = this.runBatch(batch, room, threads, options);
        // Whoever waits for it hears of a failure later than it happens.
        running.catch(() => {});
      }
      const failed = await running;
      options.signal?.throwIfAborted();
      return failed;
    } catch (error) {
      this.stopped = true;
      await running.catch(() => {});
      this.unmapAll();
      throw error;
    } finally {
      this.close();
      for (const room of rooms) await room.releaseInSlices(new Slices());
    }
  }

  /** What native threads may use: it stays until they have left, also when this thread goes before. */
  private memoryOf({ begin, end }: Batch, room: CopyRoom): Float64Array {
    const blocks = new Set<number>([this.address]);
    if (room.block !== 0) blocks.add(room.block);
    for (let i = begin; i < end; i++) {
      const { block } = this.job(i);
      if (block) blocks.add(block);
    }
    return Float64Array.from(blocks);
  }

  private async runBatch(batch: Batch, room: CopyRoom, threads: number, options: BackgroundOptions): Promise<number> {
    const { begin, end } = batch;
    const count = end - begin;
    const memory = this.memoryOf(batch, room);
    const rows = this.rowAt(begin);
    // The handle has an owner before anything begins: this thread may be terminated at any step.
    const handle = native.zs_io_batch();
    const owner = handle === 0 ? null : ownHandle(handle, releaseBatch);
    const wanted = Math.max(1, threads);
    if (native.zs_io_start(handle, rows, count, wanted, addressOf(memory), memory.length) !== 0) {
      releaseAnchor(owner);
      return this.counted(native.zs_io_run(rows, count, threads));
    }
    let failed = 0;
    try {
      await this.follow(handle, begin, count, options);
    } catch (error) {
      native.zs_io_cancel(handle);
      while (native.zs_io_done(handle) < count) await Bun.sleep(1);
      throw error;
    } finally {
      failed = native.zs_io_finish(handle);
      releaseAnchor(owner);
    }
    return this.counted(failed);
  }

  private async follow(
    handle: number,
    before: number,
    count: number,
    { signal, onProgress }: BackgroundOptions,
  ): Promise<void> {
    let reported = 0;
    for (;;) {
      const done = native.zs_io_done(handle);
      if (done !== reported) {
        reported = done;
        onProgress?.(before + done, this.jobs.length);
      }
      if (done >= count) return;
      if (this.stopped || signal?.aborted) native.zs_io_cancel(handle);
      await Bun.sleep(1);
    }
  }

  result(index: number): JobResult {
    return resultAt(this.table, index * JOB_SIZE);
  }

  /** Gives back every mapping of this batch, from that of a job on: for a batch of which some job failed. */
  unmapAll(first = 0): void {
    for (let i = first; i < this.jobs.length; i++) {
      const { address, mapped } = this.result(i);
      if (mapped > 0) native.zs_io_unmap(address, mapped);
      this.table[i * JOB_SIZE + JobField.mapped] = 0;
    }
  }

  /** Throws when a job that reads came to the end of its file too early. */
  requireWhole(): void {
    for (const [i, { path, nbytes }] of this.jobs.entries()) {
      if (this.result(i).mapped === nbytes) continue;
      throw new FormatError("the file became shorter while it was read", path ?? "");
    }
  }

  /** Throws the first failure, after giving back what the others mapped. */
  throwFirstFailure(): void {
    if (this.fault !== null) {
      this.unmapAll();
      throw this.fault;
    }
    for (let i = 0; i < this.jobs.length; i++) {
      const result = this.result(i);
      if (result.status === 0) continue;
      const error = jobError(this.job(i), result);
      this.unmapAll();
      throw error;
    }
  }
}

/** For work that goes on beside the program. */
export interface BackgroundOptions {
  /** Called with the number of parts that are written and of all parts: small files, or up to 64 MiB of a tensor. */
  onProgress?: (done: number, total: number) => void;
  /** Stops before the next part: the promise rejects with the signal's reason, and what was there before stays. */
  signal?: AbortSignal;
}
