/**
 * Many tensors to another device, or large ones: through pinned memory, so that nobody waits between one and the next.
 */
import { CPU, type Device } from "../tensor/device.ts";
import { pinnedMemory, type Storage } from "../tensor/storage.ts";
import { makeStrided, type Tensor } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { backendOf } from "./backend.ts";
import { transfer } from "./copy.ts";

/** Bytes that lie in pinned memory at once. */
const PIECE_BYTES = 32 * 2 ** 20;
const ALIGNMENT = 64;

const aligned = (n: number): number => Math.ceil(n / ALIGNMENT) * ALIGNMENT;

/** Whether the elements are one run of bytes. */
export const isPlain = (t: Tensor): boolean => t._contiguous && t._bits === 0 && t._numel > 0;

/** So many elements behind the first ones of a row-major tensor, in one dimension. */
const run = (t: Tensor, from: number, count: number): Tensor =>
  makeStrided(t._storage, t._offset + from, [count], [1], t.dtype);

/** A pinned block for a while: what copies from it still do, its allocator knows. */
function withPinned<R>(nbytes: number, body: (block: Storage) => R): R {
  const block = pinnedMemory.allocate(nbytes);
  block.claim();
  try {
    return body(block);
  } finally {
    block.release();
  }
}

/** The bytes of a row-major tensor on the CPU to one on a GPU, a piece at a time. Nobody waits for them. */
export function stageToGpu(dst: Tensor, src: Tensor): void {
  const { itemsize } = src.dtype;
  const step = Math.floor(PIECE_BYTES / itemsize);
  for (let at = 0; at < src._numel; at += step) {
    const count = Math.min(step, src._numel - at);
    withPinned(count * itemsize, (block) => {
      const piece = makeStrided(block, 0, [count], [1], src.dtype);
      transfer(piece, run(src, at, count));
      backendOf(dst._storage.device).copy(run(dst, at, count), piece, true);
    });
  }
}

/** Tensors together as large as one piece; larger ones are alone. */
function* groups(list: readonly Tensor[]): Generator<Tensor[]> {
  let group: Tensor[] = [];
  let total = 0;
  for (const t of list) {
    if (group.length > 0 && total + t.nbytes > PIECE_BYTES) {
      yield group;
      [group, total] = [[], 0];
    }
    group.push(t);
    total += aligned(t.nbytes);
  }
  if (group.length > 0) yield group;
}

/** Where each tensor of a group begins in one block, and how large that is. */
function layout(group: readonly Tensor[]): { places: number[]; nbytes: number } {
  let nbytes = 0;
  const places = group.map((t) => {
    const at = nbytes;
    nbytes += aligned(t.nbytes);
    return at;
  });
  return { places, nbytes };
}

const within = (block: Storage, at: number, t: Tensor): Tensor =>
  makeStrided(block, at / t.dtype.itemsize, [t._numel], [1], t.dtype);

const flat = (t: Tensor): Tensor => run(t, 0, t._numel);

function groupToGpu(group: readonly Tensor[], device: Device): Tensor[] {
  if (group.length === 1) {
    const [t] = group as [Tensor];
    const made = empty(t._shape, t.dtype, device);
    stageToGpu(made, t);
    return [made];
  }
  const { places, nbytes } = layout(group);
  return withPinned(nbytes, (block) => {
    const staged = group.map((t, i) => within(block, places[i] as number, t));
    group.forEach((t, i) => void transfer(staged[i] as Tensor, flat(t)));
    return group.map((t, i) => {
      const made = empty(t._shape, t.dtype, device);
      backendOf(device).copy(flat(made), staged[i] as Tensor, true);
      return made;
    });
  });
}

function groupToCpu(group: readonly Tensor[]): Tensor[] {
  const { places, nbytes } = layout(group);
  return withPinned(nbytes, (block) => {
    const staged = group.map((t, i) => within(block, places[i] as number, t));
    // The last one waits, and with it all before: they are on one stream.
    const last = group.length - 1;
    group.forEach((t, i) => void backendOf(t._storage.device).copy(staged[i] as Tensor, flat(t), i < last));
    return group.map((t, i) => {
      const made = empty(t._shape, t.dtype, CPU);
      transfer(flat(made), staged[i] as Tensor);
      return made;
    });
  });
}

/**
 * Row-major tensors (see `isPlain`) to another device, from the CPU to a GPU or from one GPU to the CPU: through one
 * pinned block for up to 32 MiB of them, with one wait to the CPU and none to a GPU.
 */
export function moveMany(list: readonly Tensor[], device: Device): Tensor[] {
  const moved: Tensor[] = [];
  for (const group of groups(list)) moved.push(...(device === CPU ? groupToCpu(group) : groupToGpu(group, device)));
  return moved;
}
