// The bytes of a tensor as they go into files: row-major, little-endian, without gaps.
import { forgetPages } from "../ffi/system.ts";
import { Storage } from "../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../tensor/tensor.ts";
import { fileBehind } from "./mapping.ts";
import { Slices } from "./slices.ts";

/** Bytes that lie in a file: they are copied from there without being taken into memory. */
export interface FileBytes {
  path: string;
  offset: number;
  nbytes: number;
}

/** Where a tensor's bytes are, and what keeps them there. */
export interface TensorBytes {
  address: number;
  nbytes: number;
  /** Must stay reachable while the address is in use. */
  keep: Tensor;
  /** The file that has the same bytes, when they may be copied from there. */
  file?: FileBytes;
}

let fromFiles = false;

/**
 * From now on tensors in mapped files are written from those files, without taking them into memory. For programs that
 * change no tensor: what was written to a private mapping would be lost.
 */
export function copyMappedFiles(on: boolean): void {
  fromFiles = on;
}

/** Copies up to this many bytes are made at once: whoever lays out files joins pieces that are smaller still. */
const AT_ONCE_BYTES = 64 * 1024;
/** Bytes that are copied between two looks at the clock. */
const PART_BYTES = 2 ** 18;

/** Memory whose pages are given back between two looks at the clock, and a multiple of all sizes of pages. */
const RELEASE_BYTES = 16 * 2 ** 20;
const PAGE_BYTES = 64 * 1024;

/** A copy whose memory is there, and whose bytes are not yet. */
interface LaterCopy {
  source: Tensor;
  target: Tensor;
}

/** Copies that a plan needs. */
export interface LaterCopies {
  /** Makes them, in small parts. */
  make(slices: Slices): Promise<void>;
  /** Gives their memory back in steps when nothing reads it any more: hundreds of megabytes at once take a while. */
  release(): Promise<void>;
}

let later: LaterCopy[] | null = null;
let ofEverything = false;

/**
 * Runs `plan`, in which `nativeBytes` gives copies whose bytes come when `make` has run: a large tensor with gaps would
 * hold up the program otherwise.
 * @param everything copy all tensors: what is planned is then what they hold until `make` is done
 */
export function planCopies<T>(plan: () => T, everything = false): { planned: T; copies: LaterCopies } {
  const [outer, outerOfEverything] = [later, ofEverything];
  const list: LaterCopy[] = [];
  later = list;
  ofEverything = everything;
  try {
    const copies = { make: (slices: Slices) => makeCopies(list, slices), release: () => releaseCopies(list) };
    return { planned: plan(), copies };
  } finally {
    later = outer;
    ofEverything = outerOfEverything;
  }
}

/** Copies one tensor into another of the same shape, in small parts. */
export async function copyInSlices(target: Tensor, source: Tensor, slices: Slices): Promise<void> {
  for (const [to, from] of copyParts(target, source)) {
    to.copy_(from);
    if (slices.over) await slices.pause();
  }
}

async function makeCopies(list: readonly LaterCopy[], slices: Slices): Promise<void> {
  for (const { target, source } of list) await copyInSlices(target, source, slices);
}

async function releaseCopies(list: readonly LaterCopy[]): Promise<void> {
  const slices = new Slices();
  for (const { target } of list) {
    const { ptr, nbytes } = target._storage;
    const end = Math.floor((ptr + nbytes) / PAGE_BYTES) * PAGE_BYTES;
    for (let at = Math.ceil(ptr / PAGE_BYTES) * PAGE_BYTES; at < end; at += RELEASE_BYTES) {
      forgetPages(at, Math.min(RELEASE_BYTES, end - at));
      if (slices.over) await slices.pause();
    }
    target.dispose();
  }
}

function* copyParts(to: Tensor, from: Tensor): Generator<[Tensor, Tensor]> {
  const nbytes = to._numel * to.dtype.itemsize;
  if (nbytes <= PART_BYTES || to._shape.length === 0) {
    if (nbytes > 0) yield [to, from];
    return;
  }
  const rows = to._shape[0] as number;
  const step = Math.floor((PART_BYTES * rows) / nbytes);
  if (step === 0) {
    for (let row = 0; row < rows; row++) yield* copyParts(to.select(0, row), from.select(0, row));
    return;
  }
  for (let row = 0; row < rows; row += step) {
    const count = Math.min(step, rows - row);
    yield [to.narrow(0, row, count), from.narrow(0, row, count)];
  }
}

/** Contiguous bytes of a tensor; only a tensor with gaps or pending conjugation is copied. */
export function nativeBytes(tensor: Tensor): TensorBytes {
  const inPlace = tensor._bits === 0 && tensor._contiguous && !ofEverything;
  const plain = inPlace ? tensor : denseCopy(tensor);
  const nbytes = plain._numel * plain.dtype.itemsize;
  // dataPtr moves tiny blocks to an address that stays valid while native threads run.
  const address = nbytes === 0 ? 0 : plain.dataPtr();
  const source = fromFiles && nbytes > 0 ? fileBehind(plain._storage) : null;
  if (source === null) return { address, nbytes, keep: plain };
  const file = { path: source.path as string, offset: source.offsetOf(address), nbytes };
  return { address, nbytes, keep: plain, file };
}

/**
 * Contiguous elements; inside of `planCopies` a large copy gets its bytes later.
 * @param always a copy even of what is contiguous
 */
export function denseCopy(tensor: Tensor, always = ofEverything): Tensor {
  const source = tensor.detach();
  const nbytes = source._numel * source.dtype.itemsize;
  const wait = later !== null && nbytes > AT_ONCE_BYTES && source.device.type === "cpu";
  if (!wait) {
    let plain = always ? source.clone() : source;
    if (plain.isConj()) plain = plain.resolveConj();
    if (plain.isNeg()) plain = plain.resolveNeg();
    return plain.contiguous();
  }
  const target = makeContiguous(Storage.allocate(nbytes), [...source._shape], source.dtype);
  (later as LaterCopy[]).push({ target, source });
  return target;
}
