/** What the allocator of a device counts. */
import { addressOf, native } from "../ffi/library.ts";

/** In the order in which the native library writes them. */
const NAMES = [
  "allocated",
  "mostAllocated",
  "reserved",
  "mostReserved",
  "requested",
  "allocations",
  "frees",
  "retries",
  "failures",
  "segments",
] as const;

export type Stats = Record<(typeof NAMES)[number], number>;

const numbers = new Float64Array(NAMES.length);
const numbersAddress = addressOf(numbers);

/** Bytes, except for the counts at the end; all 0 before the device is used. */
export function stats(index: number): Stats {
  native.zs_cuda_memory_stats(index, numbersAddress);
  return Object.fromEntries(NAMES.map((name, i) => [name, numbers[i]])) as Stats;
}
