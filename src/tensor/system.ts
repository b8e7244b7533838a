/** What the native library says about the machine: instruction sets, threads, memory statistics. */
import { instructionSet } from "../ffi/frame.ts";
import { native } from "../ffi/library.ts";
import { emptyCache } from "../ffi/memory.ts";
import { ValueError } from "./errors.ts";

export { instructionSet };

const LEVELS: Record<number, string> = { 2: "baseline", 3: "avx2", 4: "avx512" };

/** The widest instruction set that this processor offers. */
export function bestInstructionSet(): string {
  if (process.arch === "arm64") return "neon";
  return LEVELS[native.zs_best_isa()] ?? "baseline";
}

/** Threads that an operator may use. */
export function threadCount(): number {
  return native.zs_get_num_threads();
}

export function setThreadCount(count: number): void {
  if (!Number.isInteger(count) || count < 1) {
    throw new ValueError(`set_num_threads expects a positive integer, but got ${count}`, { op: "setNumThreads" });
  }
  native.zs_set_num_threads(Math.min(count, 2 ** 31));
}

/** The allocator's counters, in bytes of rounded blocks unless they say otherwise. */
export interface MemoryCounters {
  live: number;
  peak: number;
  cached: number;
  allocations: number;
  frees: number;
  /** Bytes asked for, before rounding. */
  requested: number;
}

export function memoryCounters(): MemoryCounters {
  const at = (which: number): number => native.zs_stat(which);
  return { live: at(0), peak: at(1), cached: at(2), allocations: at(3), frees: at(4), requested: at(5) };
}

export function resetPeak(): void {
  native.zs_reset_peak();
}

/** Returns the blocks that are kept for reuse to the system. */
export function emptyBlockCache(): void {
  emptyCache();
}
