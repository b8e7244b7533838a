// Bytes of files on their way to GPUs: read into pinned memory by several threads, and copied from there by the device
// while the next ones are read.
import { JobFlag } from "../../../generated/abi.ts";
import { backendOf } from "../../dispatch/backend.ts";
import { aligned, elements, inRooms, PIECE_BYTES, type StagedPiece } from "../../dispatch/staging.ts";
import type { Device } from "../../tensor/device.ts";
import { uint8 } from "../../tensor/dtype.ts";
import type { Storage } from "../../tensor/storage.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type Steps, wait } from "../base/steps.ts";
import { type BackgroundOptions, FileJobs } from "./file-jobs.ts";
import { blockBehind } from "./tensor-bytes.ts";

/** A tensor on a GPU, whose elements lie in one block, and where its bytes are in a file. */
export interface GpuRead {
  to: Tensor;
  path: string;
  offset: number;
}

/** Threads that read a piece, and the bytes that make another one worth it. */
const THREADS = 4;
const PART_BYTES = 4 * 2 ** 20;
/** Bytes between two tensors that are read, too: less than it costs to begin anew. */
const GAP_BYTES = 16 * 1024;

/** Bytes of a file that are read at once, and where in the pinned block they go. */
interface Range {
  path: string;
  offset: number;
  nbytes: number;
  at: number;
}

/** Bytes of a tensor that were read, and where they go. */
interface Copy {
  to: Tensor;
  /** Behind the tensor's first byte. */
  skipped: number;
  nbytes: number;
  at: number;
}

/** What one pinned block holds. */
class ReadPiece implements StagedPiece {
  private readonly ranges: Range[] = [];
  private readonly copies: Copy[] = [];
  nbytes = 0;

  get isEmpty(): boolean {
    return this.copies.length === 0;
  }

  /** Adds as many of a tensor's bytes as there is room for, and tells how many. */
  add({ to, path, offset }: GpuRead, skipped: number): number {
    const from = offset + skipped;
    const range = this.rangeFor(path, from);
    const at = range.at + from - range.offset;
    const nbytes = Math.min(to.nbytes - skipped, PIECE_BYTES - at);
    if (nbytes <= 0) return 0;
    if (range.nbytes === 0) this.ranges.push(range);
    range.nbytes = Math.max(range.nbytes, from + nbytes - range.offset);
    this.nbytes = Math.max(this.nbytes, at + nbytes);
    this.copies.push({ to, skipped, nbytes, at });
    return nbytes;
  }

  /** The last range, when the bytes are in it or close behind; or a new one. */
  private rangeFor(path: string, from: number): Range {
    const last = this.ranges.at(-1);
    const inside = last !== undefined && last.path === path && from >= last.offset;
    if (inside && from <= last.offset + last.nbytes + GAP_BYTES) return last;
    return { path, offset: from, nbytes: 0, at: aligned(this.nbytes) };
  }

  fill(block: Storage): void {
    const jobs = this.reading(block);
    this.checked(jobs, jobs.run(this.threads));
  }

  /** The same by native threads, while the program goes on. */
  async fillLater(block: Storage, { signal }: BackgroundOptions): Promise<void> {
    const jobs = this.reading(block);
    this.checked(jobs, await jobs.runInBackground(this.threads, signal === undefined ? {} : { signal }));
  }

  private get threads(): number {
    return Math.min(THREADS, Math.ceil(this.nbytes / PART_BYTES));
  }

  private checked(jobs: FileJobs, failed: number): void {
    if (failed !== 0) jobs.throwFirstFailure();
    jobs.requireWhole();
  }

  private reading(block: Storage): FileJobs {
    const jobs = new FileJobs();
    const pinned = blockBehind(block);
    for (const { path, offset, nbytes, at } of this.ranges) {
      for (let done = 0; done < nbytes; done += PART_BYTES) {
        const part = Math.min(PART_BYTES, nbytes - done);
        const data = block.ptr + at + done;
        jobs.add({ path, offset: offset + done, nbytes: part, data, flags: JobFlag.read, block: pinned, keep: block });
      }
    }
    return jobs;
  }

  send(block: Storage): void {
    for (const { to, skipped, nbytes, at } of this.copies) {
      const begin = to._offset * to.dtype.itemsize + skipped;
      const there = elements(to._storage, begin, nbytes, uint8);
      backendOf(to._storage.device).copy(there, elements(block, at, nbytes, uint8), true);
    }
  }
}

function* piecesOf(reads: readonly GpuRead[]): Generator<ReadPiece> {
  let piece = new ReadPiece();
  for (const read of reads) {
    for (let skipped = 0; skipped < read.to.nbytes; ) {
      const added = piece.add(read, skipped);
      skipped += added;
      if (added > 0) continue;
      yield piece;
      piece = new ReadPiece();
    }
  }
  if (!piece.isEmpty) yield piece;
}

/** In the order in which they lie in their files. */
function inFileOrder(a: GpuRead, b: GpuRead): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.offset - b.offset;
}

/**
 * Reads what goes to one GPU. The tensors have it when the device comes to what it is given next; nobody waits.
 * @throws OSError when a file cannot be read
 * @throws FormatError when one ends too early
 */
export function* readingToGpu(reads: readonly GpuRead[], device: Device, options: BackgroundOptions = {}): Steps<void> {
  for (const [piece, block] of inRooms(device, piecesOf([...reads].sort(inFileOrder)))) {
    yield* wait(
      () => piece.fill(block),
      () => piece.fillLater(block, options),
    );
    piece.send(block);
  }
}
