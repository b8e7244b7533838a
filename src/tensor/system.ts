/** What the native library says about the machine: instruction sets, threads, memory statistics. */
import { IsaLevel, MatmulPrecision, MemoryStat } from "../../generated/abi.ts";
import * as texts from "../../generated/texts.ts";
import { instructionSet } from "../ffi/frame.ts";
import { libraryPath, native } from "../ffi/library.ts";
import { emptyCache } from "../ffi/memory.ts";

export { instructionSet };

const LEVELS = new Map<number, string>(Object.entries(IsaLevel).map(([name, level]) => [level, name]));

/** The widest instruction set that this processor offers. */
export function bestInstructionSet(): string {
  if (process.arch === "arm64") return "neon";
  return LEVELS.get(native.zs_best_isa()) ?? "baseline";
}

/** Threads that an operator may use. */
export function threadCount(): number {
  return native.zs_get_num_threads();
}

export function setThreadCount(count: number): void {
  if (!Number.isInteger(count) || count < 1) throw texts.badThreadCount("setNumThreads", count);
  native.zs_set_num_threads(Math.min(count, 2 ** 31));
}

/** How exact products of float32 matrices on devices have to be. */
export function matmulPrecision(): keyof typeof MatmulPrecision {
  const number = native.zs_cuda_matmul_precision();
  return Object.entries(MatmulPrecision).find(([, n]) => n === number)?.[0] as keyof typeof MatmulPrecision;
}

export function setMatmulPrecision(precision: keyof typeof MatmulPrecision): void {
  native.zs_cuda_set_matmul_precision(MatmulPrecision[precision]);
}

/** The allocator's counters, in bytes of rounded blocks unless they say otherwise. */
export type MemoryCounters = Record<keyof typeof MemoryStat, number>;

export function memoryCounters(): MemoryCounters {
  const counters = Object.entries(MemoryStat).map(([name, which]) => [name, native.zs_stat(which)]);
  return Object.fromEntries(counters);
}

export function resetPeak(): void {
  native.zs_reset_peak();
}

/** Returns the blocks that are kept for reuse to the system. */
export function emptyBlockCache(): void {
  emptyCache();
}

/** The file of the native library. */
export function libraryFile(): string {
  return libraryPath;
}
