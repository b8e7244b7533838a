/** The namespace `cpu`: what the processor offers, and how much memory tensors take. */
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
 */
export function isa(): string {
  return instructionSet();
}

/** The widest instruction set that this processor offers. */
export function bestIsa(): string {
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
  return 1;
}

/** Does nothing: CPU operators are finished when they return. @torch torch.cpu.synchronize */
export function synchronize(): void {}

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
  return memoryCounters().live;
}

/** The highest `memoryAllocated()` since the start or since `resetPeakMemoryStats()`. */
export function maxMemoryAllocated(): number {
  return memoryCounters().peak;
}

/** Sets the peak to what is allocated now. */
export function resetPeakMemoryStats(): void {
  resetPeak();
}

/** Bytes that live tensors take and those kept for the next tensor. */
export function memoryReserved(): number {
  const { live, cached } = memoryCounters();
  return live + cached;
}

/** Returns the memory that is kept for the next tensor to the system. */
export function emptyCache(): void {
  emptyBlockCache();
}

/** The allocator's counters, under the names that PyTorch gives those of a GPU. */
export function memoryStats(): Record<string, number> {
  const { live, peak, cached, allocations, frees, requested } = memoryCounters();
  return {
    "active.all.current": allocations - frees,
    "allocated_bytes.all.current": live,
    "allocated_bytes.all.peak": peak,
    "allocation.all.allocated": allocations,
    "allocation.all.current": allocations - frees,
    "allocation.all.freed": frees,
    "inactive_split_bytes.all.current": cached,
    "requested_bytes.all.current": requested,
    "reserved_bytes.all.current": live + cached,
  };
}

/** The number of threads that an operator may use. @torch torch.get_num_threads */
export function getNumThreads(): number {
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
  setThreadCount(count);
}
