/** Blocks of memory on devices: who owns them, and those that wait for the next who asks. */
import { CudaStatus } from "../../generated/abi.ts";
import { addressOf, native } from "./library.ts";
import { adoptDeviceBlock, releaseAnchor, uncountDeviceBlock } from "./memory.ts";

const releaseDevice = native.zs_cuda_release_function();

/** A block of a device's allocator; the collector returns it with its owner. Nobody reads or writes through that. */
export class DeviceBlock {
  readonly #owner: ArrayBuffer;
  constructor(
    readonly address: number,
    /** By which the allocator knows it. */
    readonly handle: number,
    nbytes: number,
  ) {
    this.#owner = adoptDeviceBlock(nbytes, handle, releaseDevice);
  }

  /** What the collector knows it by. */
  owner(): ArrayBuffer {
    return this.#owner;
  }
}

/**
 * Small blocks that were given back by hand, by their rounded sizes: a block and its owner serve again together, since
 * making an owner takes longer than all else that a small operator does here. The allocator counts them as free, and
 * they go back to it before it asks the driver for more.
 */
const parked: DeviceBlock[][] = [];
const STEP = 512;
const MOST_BYTES = 2 ** 16;
for (let n = 0; n <= MOST_BYTES; n += STEP) parked.push([]);
const MOST_PARKED_BYTES = 2 ** 20;
let parkedBytes = 0;

const stepsOf = (nbytes: number): number => Math.ceil(nbytes / STEP);

/** Gives what waits back to the allocator. */
export function releaseParked(): void {
  for (const blocks of parked) for (const block of blocks.splice(0)) releaseAnchor(block.owner());
  parkedBytes = 0;
}

/** Over a buffer of its own: the compiler moves the bytes of a small array that is a constant of compiled code. */
const made = new Float64Array(new ArrayBuffer(16));

/** A block for a stream of a device, counted before; a code below 0 where there is none. */
export function takeDeviceBlock(nbytes: number, index: number, stream: number): DeviceBlock | number {
  if (parkedBytes > 0 && nbytes <= MOST_BYTES) {
    const blocks = parked[stepsOf(nbytes)] as DeviceBlock[];
    const last = blocks[blocks.length - 1];
    if (last !== undefined && native.zs_cuda_unpark(last.handle, nbytes, index, stream) === 1) {
      blocks.pop();
      parkedBytes -= STEP * stepsOf(nbytes);
      return last;
    }
  }
  let code = native.zs_cuda_alloc(nbytes, index, stream, parkedBytes > 0 ? 1 : 0, addressOf(made));
  if (code === CudaStatus.noRoom) {
    releaseParked();
    code = native.zs_cuda_alloc(nbytes, index, stream, 0, addressOf(made));
  }
  if (code !== 0) return code;
  const [address, handle] = made as unknown as [number, number];
  return new DeviceBlock(address, handle, nbytes);
}

/** Gives a block back at once. */
export function returnDeviceBlock(block: DeviceBlock, nbytes: number): void {
  uncountDeviceBlock(nbytes);
  const bytes = STEP * stepsOf(nbytes);
  if (bytes > MOST_BYTES || parkedBytes + bytes > MOST_PARKED_BYTES || native.zs_cuda_park(block.handle) === 0) {
    releaseAnchor(block.owner());
    return;
  }
  (parked[stepsOf(nbytes)] as DeviceBlock[]).push(block);
  parkedBytes += bytes;
}
