// The bytes of tensors that are not contiguous, in row-major order: copied in parts, into room that is used again.
import { marks } from "../../dispatch/staging.ts";
import { addressOf } from "../../ffi/library.ts";
import { TINY_BYTES } from "../../ffi/memory.ts";
import { forgetPages } from "../../ffi/system.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../../tensor/tensor.ts";
import type { Slices } from "../base/slices.ts";
import { type Steps, wait } from "../base/steps.ts";

/** Bytes that have no address: they are copied when it is their turn to be written. */
export interface StridedBytes {
  /** Must not change until then. */
  strided: Tensor;
  nbytes: number;
  /** Runs the copies where the tensor's own work was given to its device. */
  here: Here;
}

type Here = ReturnType<typeof marks.here>;
const atOnce: Here = (part) => part();

/** A part of them; its borders lie between elements. */
export interface StridedPart {
  tensor: Tensor;
  /** Where it begins, in bytes. */
  offset: number;
  nbytes: number;
  here?: Here;
}

/** Bytes that are copied between two looks at the clock, and those of a device, each of whose copies takes a while. */
const PART_BYTES = 2 ** 18;
const DEVICE_PART_BYTES = 2 ** 22;

/** Memory whose pages are given back between two looks at the clock, and a multiple of all sizes of pages. */
const RELEASE_BYTES = 16 * 2 ** 20;
const PAGE_BYTES = 64 * 1024;

/** Views that are together the elements [from, to) in row-major order. */
function* viewsOf(tensor: Tensor, from: number, to: number): Generator<Tensor> {
  if (to - from === tensor._numel) {
    yield tensor;
    return;
  }
  const row = tensor._numel / (tensor._shape[0] as number);
  const [first, last] = [Math.ceil(from / row), Math.floor(to / row)];
  if (first > last) {
    yield* viewsOf(tensor.select(0, last), from - last * row, to - last * row);
    return;
  }
  if (from < first * row) yield* viewsOf(tensor.select(0, first - 1), from - (first - 1) * row, row);
  if (first < last) yield tensor.narrow(0, first, last - first);
  if (last * row < to) yield* viewsOf(tensor.select(0, last), 0, to - last * row);
}

/** Pairs of tensors of one shape: to copy the second ones into the first ones gathers the part at an address. */
function* placesOf(part: StridedPart, address: number, keep: object): Generator<[to: Tensor, from: Tensor]> {
  const { tensor, offset, nbytes } = part;
  const { dtype } = tensor;
  let at = address;
  for (const from of viewsOf(tensor, offset / dtype.itemsize, (offset + nbytes) / dtype.itemsize)) {
    const length = from._numel * dtype.itemsize;
    yield [makeContiguous(Storage.borrow(at, length, keep), [...from._shape], dtype), from];
    at += length;
  }
}

/** Copies a part to an address; `keep` keeps the memory there. */
export function gather(part: StridedPart, address: number, keep: object): void {
  for (const [to, from] of placesOf(part, address, keep)) to.copy_(from);
}

/** `gather` while the program goes on. */
export async function gatherInSlices(part: StridedPart, address: number, keep: object, slices: Slices): Promise<void> {
  for (const [to, from] of placesOf(part, address, keep)) await copyInSlices(to, from, slices, part.here);
}

/** Copies one tensor into another of the same shape, as a step: at once with all threads, or in small parts. */
export function copyingTensor(target: Tensor, source: Tensor): Steps<void> {
  const here = marks.here();
  return wait(
    () => void target.copy_(source),
    (slices) => copyInSlices(target, source, slices, here),
  );
}

async function copyInSlices(target: Tensor, source: Tensor, slices: Slices, here: Here = atOnce): Promise<void> {
  for (const [to, from] of copyParts(target, source)) {
    here(() => to.copy_(from));
    if (slices.over) await slices.pause();
  }
}

function* copyParts(to: Tensor, from: Tensor): Generator<[Tensor, Tensor]> {
  const nbytes = to._numel * to.dtype.itemsize;
  const most = from.isCuda || to.isCuda ? DEVICE_PART_BYTES : PART_BYTES;
  if (nbytes <= most || to._shape.length === 0) {
    if (nbytes > 0) yield [to, from];
    return;
  }
  const rows = to._shape[0] as number;
  const step = Math.floor((most * rows) / nbytes);
  if (step === 0) {
    for (let row = 0; row < rows; row++) yield* copyParts(to.select(0, row), from.select(0, row));
    return;
  }
  for (let row = 0; row < rows; row += step) {
    const count = Math.min(step, rows - row);
    yield [to.narrow(0, row, count), from.narrow(0, row, count)];
  }
}

/** Memory for copies that are needed for a while. */
export class CopyRoom {
  private storage: Storage | null = null;

  constructor(private readonly nbytes: number) {}

  /** Where it begins: it is taken when somebody asks. What the address is used for keeps this object. */
  get address(): number {
    if (this.storage === null) {
      this.storage = Storage.allocate(Math.max(this.nbytes, TINY_BYTES + 1));
      this.storage.claim();
    }
    return this.storage.ptr;
  }

  /** The same when it was taken, else 0. */
  get block(): number {
    return this.storage?.address ?? 0;
  }

  /** Gives it back. */
  release(): void {
    this.storage?.release();
    this.storage = null;
  }

  /** `release` in steps between which the program goes on: hundreds of megabytes at once take a while. */
  async releaseInSlices(slices: Slices): Promise<void> {
    if (this.storage === null) return;
    const { ptr, nbytes } = this.storage;
    const end = Math.floor((ptr + nbytes) / PAGE_BYTES) * PAGE_BYTES;
    for (let at = Math.ceil(ptr / PAGE_BYTES) * PAGE_BYTES; at < end; at += RELEASE_BYTES) {
      forgetPages(at, Math.min(RELEASE_BYTES, end - at));
      if (slices.over) await slices.pause();
    }
    this.release();
  }
}

/** Gathered parts one after the other, of up to `most` bytes each. A part is valid until the next. */
export function* gatheredWindows({ strided, nbytes, here }: StridedBytes, most: number): Generator<Uint8Array> {
  const room = new Uint8Array(Math.min(most, nbytes));
  for (let at = 0; at < nbytes; at += room.length) {
    const length = Math.min(room.length, nbytes - at);
    here(() => gather({ tensor: strided, offset: at, nbytes: length }, addressOf(room), room));
    yield room.subarray(0, length);
  }
}
