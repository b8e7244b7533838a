/** Elements to and from JavaScript numbers, many in one native call. */

import * as texts from "../../generated/texts.ts";
import { native, textAt } from "../ffi/library.ts";
import { addressOf, allocateBlock, copyBytes, ownBlock, peek } from "../ffi/memory.ts";
import { statfsSync } from "../runtime/node.ts";
import type { RuntimeError } from "./errors.ts";

export { addressOf, peek };

/** True when a disk has no room, as far as the system tells. */
function isFull(path: string): boolean {
  try {
    return statfsSync(path).bavail === 0;
  } catch {
    return false;
  }
}

/**
 * The error for a mapped file of which a part could not be had: somebody else cut it short, or it was never written and
 * the disk is full.
 */
export function fileFault(op: string): RuntimeError | null {
  const address = native.zs_io_fault();
  if (address === 0) return null;
  const path = textAt(Math.abs(address));
  if (address > 0) {
    return texts.fileShorter(op, path);
  }
  return isFull(path) ? texts.mappedDiskFull(op, path) : texts.mappedDiskFailed(op, path);
}

/** Throws when a part of a mapped file could not be had since the last look. */
export function checkFile(op: string): void {
  const error = fileFault(op);
  if (error !== null) throw error;
}

/** Throws when a mapped file ends before these bytes do. For whoever reads them where no check follows. */
export function requireFile(address: number, nbytes: number, op: string): void {
  if (nbytes > 0) peek.u8(address, nbytes - 1);
  checkFile(op);
}

/** How many numbers the stage holds: a little less than what the allocator takes a huge page for. */
export const STAGE_SIZE = 4000;
const STAGE_BYTES = 8 * STAGE_SIZE;
const stageAddress = allocateBlock(STAGE_BYTES);
if (stageAddress === 0) throw texts.noStagingMemory(undefined);

/** Numbers on their way in or out: valid until the next call of this module. */
export const stage: Float64Array = new Float64Array(ownBlock(stageAddress, STAGE_BYTES, STAGE_BYTES));

/** A room of doubles of one's own. */
export function doubles(count: number): Float64Array {
  try {
    return new Float64Array(count);
  } catch {
    throw texts.outOfMemory(undefined, 8 * count);
  }
}

/** Room for so many numbers: the stage, or a fresh array when it is too short. */
export function roomFor(count: number): Float64Array {
  return count <= STAGE_SIZE ? stage : doubles(count);
}

/** Longer arrays are maps for the engine: to fill one takes hours. */
const MOST_VALUES = 2 ** 28;

/** An empty list that gets so many values. */
export function listFor<T>(count: number, op: string): T[] {
  if (count > MOST_VALUES) throw texts.listTooLong(op, count);
  return new Array<T>(count);
}

/** Every part is an object with a view. */
const MOST_PARTS = 2 ** 24;

/** Refuses more parts than memory has room for, before the first is made. */
export function requireParts(count: number, op: string): void {
  if (count > MOST_PARTS) throw texts.tooManyParts(op, count);
}

/** Dense elements as doubles; a complex element gives two. Only the first ones of the result are meaningful. */
export function readNumbers(address: number, dtype: number, count: number, parts: number): Float64Array {
  const room = roomFor(count * parts);
  if (count > 0) {
    const status = native.zs_read_numbers(address, dtype, count, room === stage ? stageAddress : addressOf(room));
    if (status !== 0) checkFile("reading elements");
  }
  return room;
}

/** Writes doubles as dense elements of a dtype; a complex element takes two. */
export function writeNumbers(address: number, dtype: number, count: number, from: Float64Array): void {
  if (count === 0) return;
  native.zs_write_numbers(address, dtype, count, from === stage ? stageAddress : addressOf(from));
}

/** Dense 8-byte integers, exactly. */
export function readWords(address: number, count: number, signed: boolean): BigInt64Array | BigUint64Array {
  const words = signed ? new BigInt64Array(count) : new BigUint64Array(count);
  if (count > 0) copyBytes(addressOf(words), address, 8 * count);
  checkFile("reading elements");
  return words;
}

/** Writes the low 64 bits of each integer. */
export function writeWords(address: number, values: readonly bigint[]): void {
  if (values.length === 0) return;
  const words = BigInt64Array.from(values, (x) => BigInt.asIntN(64, x));
  copyBytes(address, addressOf(words), 8 * words.length);
}

/** Copies the bytes of a typed array. */
export function writeBytes(address: number, from: NodeJS.TypedArray): void {
  if (from.byteLength > 0) copyBytes(address, addressOf(from), from.byteLength);
}

/** The 8-byte integer at an address. */
export function readWord(address: number, signed: boolean): bigint {
  const word = signed ? peek.i64(address, 0) : peek.u64(address, 0);
  checkFile("reading elements");
  return word;
}
