/** Native bytes: allocation whose lifetime the collector knows, and direct reads and writes. */

import { read, toArrayBuffer } from "bun:ffi";
import { edenGC, fullGC } from "bun:jsc";
import { MemoryStat } from "../../generated/abi.ts";
import { attention, MEMORY } from "./attention.ts";
import { Interval } from "./interval.ts";
import { addressOf, native } from "./library.ts";
import { Pace, type Sizes } from "./pace.ts";

/** An object whose reachability keeps bytes alive. */
export type Anchor = ArrayBuffer | NodeJS.TypedArray | object | null;

/** The collector calls `release(bytes, context)` when the buffer becomes unreachable. */
export const adopt = toArrayBuffer as (
  address: number,
  offset: number,
  length: number,
  context: number,
  release: number,
) => ArrayBuffer;

const releaseBlock = native.zs_release_function();
const releaseMap = native.zs_release_mapping_function();
const releaseWindow = native.zs_release_window_function();
const releaseHost = native.zs_cuda_release_host_function();
const releaseFrame = native.zs_release_frame_function();
/** Give handles back, see `ownHandle`. */
export const releaseBatch = native.zs_release_batch_function();
export const releaseThread = native.zs_release_thread_function();
/** Bytes of the largest ArrayBuffer. */
export const MAX_BUFFER = 2 ** 32;

/** Bytes up to this many live in JavaScript memory. */
export const TINY_BYTES = 512;

/**
 * Tiny blocks are cut from slabs: arrays of the runtime's that are too long to lie in the collector's own memory, which
 * it moves when somebody asks for their buffer (serialisers and debuggers do, of every array that they meet). Bytes of
 * a slab stay where they are. None is handed out twice; the collector frees a slab after the last of its blocks.
 */
interface Slabs {
  slab: Uint8Array | null;
  next: number;
  end: number;
}
/** The shortest array that never moves; a block that outlives its neighbours keeps no more than that. */
const SHORT_SLAB = 1008;
const SHORT_BLOCK = 64;
/** Longer blocks come from longer slabs, which cost less a byte. */
const LONG_SLAB = 4096;
const forShort: Slabs = { slab: null, next: 0, end: 0 };
const forLong: Slabs = { slab: null, next: 0, end: 0 };

/** Where the block begins that `allocateTiny` made last. */
export let tinyAddress = 0;

/** A zeroed block of at most `TINY_BYTES`, at `tinyAddress`. Gives its slab, which has to stay reachable. */
export function allocateTiny(nbytes: number): Uint8Array {
  const room = (nbytes + 15) & ~15;
  const from = room <= SHORT_BLOCK ? forShort : forLong;
  if (from.next + room > from.end) renew(from, from === forShort ? SHORT_SLAB : LONG_SLAB);
  tinyAddress = from.next;
  from.next += room;
  return from.slab as Uint8Array;
}

function renew(slabs: Slabs, nbytes: number): void {
  const slab = new Uint8Array(nbytes);
  slabs.slab = slab;
  slabs.next = addressOf(slab);
  slabs.end = slabs.next + nbytes;
}

/** Smaller blocks are left to the collector's own pace, a collection for each 8 MiB that it sees. */
const COUNTED_BLOCK = 16 * 2 ** 10;
const HOST: Sizes = { young: 32 * 2 ** 20, mostYoung: 192 * 2 ** 20, old: 128 * 2 ** 20 };
/** So many bytes lie between two collections for the host's memory at the least. */
const LEAST_INTERVAL = 4 * 2 ** 20;
/** Until a device has said how much memory it has. */
const DEVICE: Sizes = { young: 64 * 2 ** 20, mostYoung: 512 * 2 ** 20, old: 256 * 2 ** 20 };

const hostInterval = new Interval(LEAST_INTERVAL, HOST.young, {
  fresh: () => native.zs_stat(MemoryStat.fresh) / (1e6 * 2 ** 20),
  idle: () => native.zs_stat(MemoryStat.cached),
  lost(least, most) {
    const start = performance.now();
    const nbytes = native.zs_write_aged(least, most);
    const first = performance.now();
    if (nbytes === 0 || native.zs_write_aged(least, most) !== nbytes) return -1;
    const again = performance.now();
    return Math.max(0, first - start - (again - first)) / nbytes;
  },
});
const onHost = new Pace(HOST, () => native.zs_live_bytes() + native.zs_cuda_host_live_bytes(), hostInterval);
const onDevices = new Pace(DEVICE, () => native.zs_cuda_live_bytes());

/** Devices of `total` bytes: blocks there are reused as they are, so that only their room counts. */
export function paceDevices(total: number): void {
  const young = Math.max(DEVICE.young, total / 32);
  onDevices.set({ young, mostYoung: 4 * young, old: 2 * young });
}

/** Lists of objects that may be dead let go of them, but for so many bytes. */
let letGo = (_most?: number): void => {};

/** Told by the room that has such lists. */
export function beforeCollections(run: (most?: number) => void): void {
  letGo = run;
}

/** When the last full collection ended, and what it took. */
let lastFull = 0;
let fullCost = 0;

/**
 * Collects before results that nobody uses any more pile up: full collections may take a twentieth of the time while
 * memory grows slowly, and up to a third where it grows fast. Operators look before they begin: from within one, the
 * collector would find what its frames hold of the last call's result, take it for alive and keep it until the next
 * full collection.
 */
function collect(): void {
  attention.bits &= ~MEMORY;
  // Blocks that were given back by hand since then no longer count.
  if (!onHost.isDue && !onDevices.isDue) return;
  letGo();
  const before = performance.now();
  edenGC();
  const start = performance.now();
  const growth = Math.max(onHost.survey(), onDevices.survey());
  const isOutgrown = onHost.isOutgrown || onDevices.isOutgrown;
  const full = isOutgrown || (growth > 1 && start >= lastFull + fullCost * Math.max(20 / growth, growth > 5 ? 2 : 6));
  if (full) {
    fullGC();
    lastFull = performance.now();
    fullCost = lastFull - start;
  }
  onHost.collected(full, before, start - before);
  onDevices.collected(full, before, start - before);
}

/** Bytes that graphs let go which objects of the program's still name, unless those are garbage by now. */
export const released = { bytes: 0 };
/** So much of it is worth a full collection: what was saved has survived those of young objects. */
export const MOST_RELEASED = 32 * 2 ** 20;
/** What was alive after the last one, and when another is worth its time, behind a pass and within one. */
let floor = 0;
let nextBehind = 0;
let nextWithin = 0;
let cost = 10;

/**
 * Collects what backward has let go, if much of it seems to be left and the time allows it. `midway`: a graph that will
 * be let go is still there.
 */
export function collectReleased(midway: boolean): void {
  const left = native.zs_live_bytes() + native.zs_cuda_live_bytes() - floor;
  const start = performance.now();
  // A collection that takes long has many objects to look at, and waits for more bytes.
  const enough = midway ? Number.POSITIVE_INFINITY : 4 * MOST_RELEASED * Math.max(1, cost / 10);
  if (left >= MOST_RELEASED && start < (midway ? nextWithin : nextBehind) && left < enough) return;
  released.bytes = 0;
  if (left < MOST_RELEASED) return;
  letGo();
  native.zs_clear_stack();
  fullGC();
  const end = performance.now();
  lastFull = end;
  fullCost = end - start;
  nextWithin = end + 20 * fullCost;
  if (!midway) {
    // What other programs do meanwhile makes one longer now and then.
    cost = Math.min(1.1 * cost, end - start);
    nextBehind = end + 6 * cost;
  }
  onHost.collected(true, start, end - start);
  onDevices.collected(true, start, end - start);
  floor = midway ? 0 : native.zs_live_bytes() + native.zs_cuda_live_bytes();
}

/** What operators call before they begin when a collection is due. */
export function relieve(): void {
  native.zs_clear_stack();
  collect();
}

/** Collects all that nobody reaches. */
export function collectAll(): void {
  native.zs_clear_stack();
  Bun.gc(true);
}

/** Collects what became unreachable since the last collection. */
export function collectYoung(): void {
  native.zs_clear_stack();
  edenGC();
}

/**
 * Owners of small blocks that were given back by hand, by size class: a block and its owner serve again together, since
 * making and detaching an owner takes longer than a kernel of a thousand elements. The allocator counts them as free.
 */
interface Parked {
  readonly owners: ArrayBuffer[];
  readonly addresses: number[];
  readonly lengths: number[];
}
const CLASS_BYTES = 512;
const MOST_PARKED = 64 * 2 ** 10;
const parked: Parked[] = [];
for (let n = 0; n <= MOST_PARKED; n += CLASS_BYTES) parked.push({ owners: [], addresses: [], lengths: [] });
const MOST_PARKED_BYTES = 2 ** 20;
let parkedBytes = 0;

/** Where the block begins that `reuse` handed out last. */
export let reusedAddress = 0;

/** The owner of a block of exactly so many bytes that was given back by hand, null when there is none. */
export function reuse(nbytes: number): ArrayBuffer | null {
  if (parkedBytes === 0 || nbytes >= MOST_PARKED) return null;
  const { owners, addresses, lengths } = parked[(nbytes / CLASS_BYTES) | 0] as Parked;
  const last = owners.length - 1;
  if (last < 0) return null;
  const owner = owners[last] as ArrayBuffer;
  const address = addresses[last] as number;
  if (lengths[last] !== nbytes || native.zs_unpark(address) === 0) return null;
  owners.pop();
  addresses.pop();
  lengths.pop();
  parkedBytes -= nbytes;
  reusedAddress = address;
  return owner;
}

function park(owner: ArrayBuffer, address: number, nbytes: number): boolean {
  if (parkedBytes + nbytes > MOST_PARKED_BYTES || native.zs_park(address) === 0) return false;
  const { owners, addresses, lengths } = parked[(nbytes / CLASS_BYTES) | 0] as Parked;
  owners.push(owner);
  addresses.push(address);
  lengths.push(nbytes);
  parkedBytes += nbytes;
  return true;
}

/** Returns the blocks that are kept for reuse to the system. */
export function emptyCache(): void {
  for (const { owners, addresses, lengths } of parked) {
    for (const owner of owners.splice(0)) releaseAnchor(owner);
    addresses.length = 0;
    lengths.length = 0;
  }
  parkedBytes = 0;
  native.zs_empty_cache();
}

/** Counts a block that is about to be made, and sees to it that a collection comes when it is due. */
export function countBlock(nbytes: number): void {
  if (nbytes >= COUNTED_BLOCK) count(onHost, nbytes);
}

/** The same for a block on a device. */
export function countDeviceBlock(nbytes: number): void {
  count(onDevices, nbytes);
}

/** Such a block was given back by hand. */
export function uncountDeviceBlock(nbytes: number): void {
  onDevices.uncount(nbytes);
}

function count(pace: Pace, nbytes: number): void {
  // Code that allocates without operators sees to it here.
  if (pace.isOverdue) relieve();
  pace.count(nbytes);
  if (pace.isDue) attention.bits |= MEMORY;
}

/** Address of a fresh native block, 0 when memory cannot be had. */
export function allocateBlock(nbytes: number): number {
  countBlock(nbytes);
  let address = native.zs_alloc(nbytes);
  if (address === 0) {
    letGo(0);
    Bun.gc(true);
    emptyCache();
    address = native.zs_alloc(nbytes);
  }
  return address;
}

/**
 * Makes the collector own a native block: it returns the block when unreachable. Of the blocks that are counted here
 * it sees a part only, `seen`, so that it does not collect on its own account as well.
 */
export function ownBlock(address: number, nbytes: number, seen = seenBytes(nbytes)): ArrayBuffer {
  return adopt(address, 0, seen, address, releaseBlock);
}

function seenBytes(nbytes: number): number {
  return Math.min(nbytes >= COUNTED_BLOCK ? Math.ceil(nbytes / 16) : nbytes, MAX_BUFFER);
}

/** The same for pinned memory, which may be read and written through the buffer. */
export function ownPinnedBlock(address: number, nbytes: number, handle: number): ArrayBuffer {
  return adopt(address, 0, Math.min(nbytes, MAX_BUFFER), handle, releaseHost);
}

/** What owners of blocks on devices show: whoever clones or compares an object reads all buffers that it has. */
const shown = new ArrayBuffer(TINY_BYTES);
const shownAddress = addressOf(new Uint8Array(shown));

/** The same for a block on a device, which the host cannot read. */
export function adoptDeviceBlock(nbytes: number, handle: number, release: number): ArrayBuffer {
  return adopt(shownAddress, 0, Math.min(nbytes, TINY_BYTES), handle, release);
}

/** The same for memory of another process on a device. */
export function ownForeignBlock(handle: number): ArrayBuffer {
  return adoptDeviceBlock(8, handle, native.zs_cuda_release_ipc_function());
}

/** A buffer over a part of a block that owns the block too: it goes back when all its owners have gone. */
export function shareBlock(block: number, offset: number, nbytes: number): ArrayBuffer {
  native.zs_keep(block);
  return adopt(block + offset, 0, nbytes, block, releaseBlock);
}

/**
 * Makes the collector own a mapping made by the native library. Pages of a shared file belong to the system's cache, so
 * `counted`, the bytes that press the collector to run, may be far fewer than are mapped.
 */
export function ownMapping(address: number, nbytes: number, counted = nbytes): ArrayBuffer {
  return adopt(address, 0, Math.min(counted, MAX_BUFFER), nbytes, releaseMap);
}

/** A buffer over a part of a mapping that owns the mapping too: it goes when all its owners have gone. */
export function shareMapping(start: number, offset: number, nbytes: number): ArrayBuffer {
  if (native.zs_io_keep(start) !== 0) return windowOn(start + offset, nbytes);
  return adopt(start + offset, 0, nbytes, start, releaseWindow);
}

/** Gives the bytes back at once and detaches every typed array over them. */
export function releaseAnchor(anchor: Anchor): void {
  if (anchor instanceof ArrayBuffer && !anchor.detached) anchor.transfer(0);
}

/** Gives a block back at once: nothing is left of it for the collector to find. `shared`: others know its owner. */
export function returnBlock(anchor: Anchor, address: number, nbytes: number, shared: boolean): void {
  // Parked blocks stay counted, and are not counted again.
  if (nbytes < MOST_PARKED && !shared && park(anchor as ArrayBuffer, address, nbytes)) return;
  if (nbytes >= COUNTED_BLOCK) onHost.uncount(nbytes);
  releaseAnchor(anchor);
}

/**
 * An object for something native: `release` gets the handle when the object is transferred or collected, which happens
 * to all that is left when a Worker ends. The handle is the address of some bytes.
 */
export function ownHandle(handle: number, release: number): ArrayBuffer {
  return adopt(handle, 0, 8, handle, release);
}

/** The bytes of a call frame, which goes with them. */
export function ownFrame(address: number, nbytes: number, operands: number): ArrayBuffer {
  return adopt(address, 0, nbytes, operands, releaseFrame);
}

/** A window on native bytes, at most 4 GiB. The caller keeps the owner reachable. */
export function windowOn(address: number, nbytes: number): ArrayBuffer {
  return toArrayBuffer(address as never, 0, nbytes);
}

/** Copies bytes between addresses; they may overlap. */
export function copyBytes(to: number, from: number, nbytes: number): void {
  if (nbytes > 0) native.zs_copy(to, from, nbytes);
}

export function fillBytes(to: number, value: number, nbytes: number): void {
  if (nbytes > 0) native.zs_set(to, value, nbytes);
}

/** Direct reads: `peek.f32(address, byteOffset)`. */
export const peek = read as Record<
  "u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "f32" | "f64",
  (address: number, offset: number) => number
> & { u64: (address: number, offset: number) => bigint; i64: (address: number, offset: number) => bigint };

export { addressOf };
