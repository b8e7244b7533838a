/** The namespace `cpu`: what the processor offers, and how much memory tensors take. */

import { checkCall, inOrder } from "../tensor/checks.ts";
import { CPU, FUNCTIONS } from "../tensor/signatures.ts";
import {
  bestInstructionSet,
  emptyBlockCache,
  instructionSet,
  memoryCounters,
  resetPeak,
  setThreadCount,
  threadCount,
} from "../tensor/system.ts";

/**
 * The instruction set that the kernels use: `baseline`, `avx2`, `avx512` or `neon`. `ZENSOR_ISA` forces a lower one.
 * @example
 * ```ts
 * ["baseline", "avx2", "avx512", "neon"].includes(cpu.isa()) // true
 * ```
 */
export function isa(): string {
  checkCall("isa", CPU.isa, arguments);
  return instructionSet();
}

/**
 * The widest instruction set that this processor offers.
 * @example
 * ```ts
 * ["baseline", "avx2", "avx512", "neon"].includes(cpu.bestIsa()) // true
 * ```
 */
export function bestIsa(): string {
  checkCall("bestIsa", CPU.bestIsa, arguments);
  return bestInstructionSet();
}

/**
 * Always true: zensor computes on the CPU.
 * @example
 * ```ts
 * cpu.isAvailable() // true
 * ```
 * @torch torch.cpu.is_available
 */
export function isAvailable(): boolean {
  checkCall("isAvailable", CPU.isAvailable, arguments);
  return true;
}

/**
 * The number of CPU devices, 1.
 * @example
 * ```ts
 * cpu.deviceCount() // 1
 * ```
 * @torch torch.cpu.device_count
 */
export function deviceCount(): number {
  checkCall("deviceCount", CPU.deviceCount, arguments);
  return 1;
}

/**
 * Does nothing: CPU operators are finished when they return.
 * @example
 * ```ts
 * cpu.synchronize() // undefined
 * ```
 * @torch torch.cpu.synchronize
 */
export function synchronize(): void {
  checkCall("synchronize", CPU.synchronize, arguments);
}

/**
 * Bytes that live tensors take, in blocks rounded as PyTorch's caching allocator rounds them. Tensors of up
 * to 512 bytes live in JavaScript's memory and are not counted; mapped files are not either.
 * @example
 * ```ts
 * const before = cpu.memoryAllocated();
 * const held = zeros(1024, 1024);
 * cpu.memoryAllocated() - before // 4194304
 * ```
 */
export function memoryAllocated(): number {
  checkCall("memoryAllocated", CPU.memoryAllocated, arguments);
  return memoryCounters().live;
}

/**
 * The highest `memoryAllocated()` since the start or since `resetPeakMemoryStats()`.
 * @example
 * ```ts
 * cpu.maxMemoryAllocated() >= cpu.memoryAllocated() // true
 * ```
 */
export function maxMemoryAllocated(): number {
  checkCall("maxMemoryAllocated", CPU.maxMemoryAllocated, arguments);
  return memoryCounters().peak;
}

/**
 * Sets the peak to what is allocated now.
 * @example
 * ```ts
 * cpu.resetPeakMemoryStats();
 * cpu.maxMemoryAllocated() === cpu.memoryAllocated() // true
 * ```
 */
export function resetPeakMemoryStats(): void {
  checkCall("resetPeakMemoryStats", CPU.resetPeakMemoryStats, arguments);
  resetPeak();
}

/**
 * All bytes that the allocator holds from the system: those of live tensors, those kept for the next tensor, and work
 * memory of kernels. At most an eighth of the machine's or the container's memory is kept, 1 GiB where that is more;
 * `ZENSOR_CACHE_LIMIT` in the environment names another number of bytes.
 * @example
 * ```ts
 * cpu.memoryReserved() >= cpu.memoryAllocated() // true
 * ```
 */
export function memoryReserved(): number {
  checkCall("memoryReserved", CPU.memoryReserved, arguments);
  return memoryCounters().reserved;
}

/**
 * Returns the memory that is kept for the next tensor to the system, page by page: what shares a page with a live
 * tensor stays.
 * @example
 * ```ts
 * cpu.emptyCache();
 * cpu.memoryReserved() >= cpu.memoryAllocated() // true
 * ```
 */
export function emptyCache(): void {
  checkCall("emptyCache", CPU.emptyCache, arguments);
  emptyBlockCache();
}

/**
 * The allocator's counters, under the names that PyTorch gives those of a GPU.
 * @example
 * ```ts
 * cpu.memoryStats()["allocated_bytes.all.current"] === cpu.memoryAllocated() // true
 * ```
 */
export function memoryStats(): Record<string, number> {
  checkCall("memoryStats", CPU.memoryStats, arguments);
  const { live, peak, cached, allocations, frees, requested, reserved } = memoryCounters();
  return {
    "active.all.current": allocations - frees,
    "allocated_bytes.all.current": live,
    "allocated_bytes.all.peak": peak,
    "allocation.all.allocated": allocations,
    "allocation.all.current": allocations - frees,
    "allocation.all.freed": frees,
    "inactive_split_bytes.all.current": cached,
    "requested_bytes.all.current": requested,
    "reserved_bytes.all.current": reserved,
  };
}

/**
 * The number of threads that an operator may use.
 * @example
 * ```ts
 * getNumThreads() > 0 // true
 * ```
 * @torch torch.get_num_threads
 */
export function getNumThreads(): number {
  checkCall("getNumThreads", FUNCTIONS.getNumThreads, arguments);
  return threadCount();
}

/**
 * Sets the number of threads that an operator may use, the caller's own included. Results do not depend on
 * it.
 * @example
 * ```ts
 * const before = getNumThreads();
 * setNumThreads(1);
 * const one = getNumThreads();
 * setNumThreads(before);
 * one // 1
 * ```
 * @torch torch.set_num_threads
 */
export function setNumThreads(count: number): void {
  [count] = inOrder<[number]>("setNumThreads", FUNCTIONS.setNumThreads, arguments);
  setThreadCount(count);
}
