/** The memory of devices, as users see it. */
import { releaseParked } from "../ffi/device-blocks.ts";
import { native } from "../ffi/library.ts";
import { checkCall, inOrder } from "../tensor/checks.ts";
import { chosen } from "../tensor/device.ts";
import { RuntimeError, ValueError } from "../tensor/errors.ts";
import { type CudaDeviceLike, indexOf, required } from "./devices.ts";
import { check, countDevices, memoryInfo, totalMemory } from "./driver.ts";
import { allFigures, figure } from "./memory-stats.ts";
import { summary } from "./memory-summary.ts";
import { FUNCTIONS } from "./signatures.ts";

type Name = keyof typeof FUNCTIONS;

/** The number of the device that a function was given. */
function given(op: Name, args: ArrayLike<unknown>): number {
  const index = indexOf(inOrder<[CudaDeviceLike?]>(op, FUNCTIONS[op], args)[0]);
  requireCounted(index, op);
  return index;
}

/** Devices that are not there have no numbers; without a driver all have those of one that was never used. */
function requireCounted(index: number, op: Name): void {
  if (index === chosen.cuda) return;
  const count = countDevices();
  if (index >= 0 && (index < count || count === 0)) return;
  throw new RuntimeError(`Invalid device argument ${index}: did you call init?`, { code: "device", op });
}

/**
 * Free and total bytes of a device, whoever uses them.
 * @example
 * ```ts
 * const [free, total] = cuda.isAvailable() ? cuda.memGetInfo(0) : [0, 0];
 * free <= total // true
 * ```
 * @torch torch.cuda.mem_get_info
 */
export function memGetInfo(device?: CudaDeviceLike | null): [number, number] {
  [device] = inOrder<[CudaDeviceLike?]>("memGetInfo", FUNCTIONS.memGetInfo, arguments);
  return memoryInfo(required(device, "cuda.memGetInfo"));
}

/**
 * Bytes of the blocks that this program's tensors have on a device. A block has a multiple of 512 bytes, from 10 MiB on
 * of 2 MiB; 0 before the device is used.
 * @example
 * ```ts
 * const kept = cuda.isAvailable() ? zeros(3, { device: "cuda" }) : null;
 * cuda.memoryAllocated() > 0 === (kept !== null) // true
 * ```
 * @torch torch.cuda.memory_allocated
 */
export function memoryAllocated(device?: CudaDeviceLike | null): number;
export function memoryAllocated(): number {
  return figure(given("memoryAllocated", arguments), "allocated_bytes", "current");
}

/**
 * The highest `memoryAllocated()` since the program began, or since `resetPeakMemoryStats()`.
 * @example
 * ```ts
 * cuda.maxMemoryAllocated() >= cuda.memoryAllocated() // true
 * ```
 * @torch torch.cuda.max_memory_allocated
 */
export function maxMemoryAllocated(device?: CudaDeviceLike | null): number;
export function maxMemoryAllocated(): number {
  return figure(given("maxMemoryAllocated", arguments), "allocated_bytes", "peak");
}

/**
 * Bytes that were taken from a device, for tensors and for reuse.
 * @example
 * ```ts
 * cuda.memoryReserved() >= cuda.memoryAllocated() // true
 * ```
 * @torch torch.cuda.memory_reserved
 */
export function memoryReserved(device?: CudaDeviceLike | null): number;
export function memoryReserved(): number {
  return figure(given("memoryReserved", arguments), "reserved_bytes", "current");
}

/**
 * The highest `memoryReserved()`, counted as `maxMemoryAllocated()` is.
 * @example
 * ```ts
 * cuda.maxMemoryReserved() >= cuda.memoryReserved() // true
 * ```
 * @torch torch.cuda.max_memory_reserved
 */
export function maxMemoryReserved(device?: CudaDeviceLike | null): number;
export function maxMemoryReserved(): number {
  return figure(given("maxMemoryReserved", arguments), "reserved_bytes", "peak");
}

/**
 * The allocator's numbers for a device under torch's names, such as `"allocated_bytes.all.current"`: what is counted,
 * the pool (`all`, `small_pool`, `large_pool`), and `current`, `peak`, `allocated` or `freed`. Empty before the device
 * is used.
 * @example
 * ```ts
 * (cuda.memoryStats()["allocated_bytes.all.current"] ?? 0) === cuda.memoryAllocated() // true
 * ```
 * @torch torch.cuda.memory_stats
 */
export function memoryStats(device?: CudaDeviceLike | null): Record<string, number>;
export function memoryStats(): Record<string, number> {
  return allFigures(given("memoryStats", arguments)) ?? {};
}

/**
 * The allocator's numbers for a device as a table.
 * @example
 * ```ts
 * cuda.memorySummary().includes("CUDA memory summary") // true
 * ```
 * @torch torch.cuda.memory_summary
 */
export function memorySummary(device?: CudaDeviceLike | null, abbreviated?: boolean): string;
export function memorySummary(options: { device?: CudaDeviceLike | null; abbreviated?: boolean }): string;
export function memorySummary(): string {
  const args = inOrder<[CudaDeviceLike?, boolean?]>("memorySummary", FUNCTIONS.memorySummary, arguments);
  const index = indexOf(args[0]);
  requireCounted(index, "memorySummary");
  return summary(allFigures(index) ?? {}, index, args[1] === true);
}

/**
 * From now on the highest numbers are counted anew.
 * @example
 * ```ts
 * cuda.resetPeakMemoryStats();
 * cuda.maxMemoryAllocated() === cuda.memoryAllocated() // true
 * ```
 * @torch torch.cuda.reset_peak_memory_stats
 */
export function resetPeakMemoryStats(device?: CudaDeviceLike | null): void;
export function resetPeakMemoryStats(): void {
  native.zs_cuda_reset_stats(given("resetPeakMemoryStats", arguments), 0);
}

/**
 * From now on what was allocated and freed altogether, and how often memory was short, is counted anew.
 * @example
 * ```ts
 * cuda.resetAccumulatedMemoryStats();
 * cuda.memoryStats()["allocated_bytes.all.freed"] ?? 0 // 0
 * ```
 * @torch torch.cuda.reset_accumulated_memory_stats
 */
export function resetAccumulatedMemoryStats(device?: CudaDeviceLike | null): void;
export function resetAccumulatedMemoryStats(): void {
  native.zs_cuda_reset_stats(given("resetAccumulatedMemoryStats", arguments), 1);
}

/**
 * Lets this program take a part of a device's memory only: beyond it there is none, even where the device has some.
 * @param fraction between 0 and 1
 * @example
 * ```ts
 * if (cuda.isAvailable()) cuda.setPerProcessMemoryFraction(1);
 * cuda.deviceCount() >= 0 // true
 * ```
 * @torch torch.cuda.set_per_process_memory_fraction
 */
export function setPerProcessMemoryFraction(fraction: number, device?: CudaDeviceLike | null): void {
  const op = "setPerProcessMemoryFraction";
  [fraction, device] = inOrder<[number, CudaDeviceLike?]>(op, FUNCTIONS[op], arguments);
  const index = required(device, `cuda.${op}`);
  if (!(fraction >= 0 && fraction <= 1)) {
    throw new ValueError(`Invalid fraction value: ${fraction}. Allowed range: 0~1`, { op });
  }
  native.zs_cuda_set_limit(index, Math.floor(fraction * totalMemory(index)));
}

/**
 * Gives memory that no tensor uses back to the devices' driver.
 * @example
 * ```ts
 * cuda.emptyCache();
 * cuda.memoryReserved() >= cuda.memoryAllocated() // true
 * ```
 * @torch torch.cuda.empty_cache
 */
export function emptyCache(): void {
  checkCall("emptyCache", FUNCTIONS.emptyCache, arguments);
  releaseParked();
  for (let i = 0; i < countDevices(); i++) check(native.zs_cuda_empty_cache(i), "cuda.emptyCache");
  check(native.zs_cuda_host_empty_cache(), "cuda.emptyCache");
}
