/**
 * Bytes on their way to a GPU: pieces of them lie in pinned memory, from where the device copies while the next one is
 * prepared.
 */

import type { Device } from "../tensor/device.ts";
import type { DType } from "../tensor/dtype.ts";
import { later } from "../tensor/later.ts";
import { pinnedMemory, type Storage } from "../tensor/storage.ts";
import { untie } from "../tensor/temporaries.ts";
import { makeStrided, type Tensor } from "../tensor/tensor.ts";

/** Bytes that lie in a pinned block at once. */
export const PIECE_BYTES: number = 32 * 2 ** 20;
const ALIGNMENT = 64;
/** Where in a block the next run of bytes may begin, from so many on. */
export const aligned = (n: number): number => Math.ceil(n / ALIGNMENT) * ALIGNMENT;
/** Blocks of one transfer: one is filled while the device copies from the other. */
const BLOCKS = 2;

/** A part of a transfer, small enough for one pinned block. */
export interface StagedPiece {
  readonly nbytes: number;
  /** Puts the bytes into the block. */
  fill(block: Storage): void;
  /** Has them copied from there; nobody waits. */
  send(block: Storage): void;
}

/** How far the current stream of a device has come. */
export interface Mark {
  /** Notes what the stream has been given so far. */
  record(): void;
  /** Waits until that is done. */
  synchronize(): void;
}

/** What transfers need of devices; the cuda room tells how. */
export const marks: {
  on(device: Device): Mark;
  /** Runs parts of work on the device and streams that are current now, whatever the program has chosen by then. */
  here(): <R>(part: () => R) => R;
} = later("marks");

/** Elements in a row for one copy, without ties to their storage. */
export function elements(storage: Storage, offset: number, count: number, dtype: DType): Tensor {
  return untie(makeStrided(storage, offset, [count], [1], dtype));
}

/** A pinned block for a while: what copies from it still do, its allocator knows. */
export function withPinned<R>(nbytes: number, body: (block: Storage) => R): R {
  const block = pinned(nbytes);
  try {
    return body(block);
  } finally {
    block.release();
  }
}

function pinned(nbytes: number): Storage {
  const block = pinnedMemory.allocate(nbytes);
  block.claim();
  return block;
}

/** A pinned block that serves several pieces, one after the other. */
class Room {
  private block: Storage | null = null;
  private mark: Mark | null = null;

  constructor(private readonly device: Device) {}

  /** The block, as soon as the device has copied from it what it held. */
  ready(nbytes: number): Storage {
    if (this.block !== null && this.block.nbytes >= nbytes) {
      this.mark?.synchronize();
      return this.block;
    }
    this.release();
    this.block = pinned(nbytes);
    return this.block;
  }

  /** Notes that copies from the block have begun. */
  sent(): void {
    this.mark ??= marks.on(this.device);
    this.mark.record();
  }

  release(): void {
    this.block?.release();
    this.block = null;
  }
}

/**
 * The pieces of a transfer with the pinned block that each has to fill and to send before the next one is asked for:
 * two blocks, however many pieces there are. Nobody waits for the last ones.
 */
export function* inRooms<P extends StagedPiece>(
  device: Device,
  pieces: Iterable<P>,
): Generator<readonly [P, Storage], void, undefined> {
  const rooms = Array.from({ length: BLOCKS }, () => new Room(device));
  let last: Room | null = null;
  let count = 0;
  try {
    for (const piece of pieces) {
      // A transfer of one piece needs no mark.
      last?.sent();
      const room = rooms[count++ % BLOCKS] as Room;
      yield [piece, room.ready(piece.nbytes)];
      last = room;
    }
  } finally {
    for (const room of rooms) room.release();
  }
}

/** Sends pieces to a device at once. */
export function stage(device: Device, pieces: Iterable<StagedPiece>): void {
  for (const [piece, block] of inRooms(device, pieces)) {
    piece.fill(block);
    piece.send(block);
  }
}
