/** The namespace `cuda`: which NVIDIA GPUs this system has, and the memory of tensors on them. */

import { native } from "../ffi/library.ts";
import { checkCall, inOrder } from "../tensor/checks.ts";
import {
  attribute,
  check,
  countDevices,
  deviceName,
  driverVersion,
  memoryInfo,
  problem,
  totalMemory,
  waitFor,
} from "./driver.ts";
import { stats } from "./memory-stats.ts";
import { type CudaDeviceLike, numberOf, required } from "./place.ts";
import { FUNCTIONS } from "./signatures.ts";

/** CUDA's numbers for the attributes that are shown. */
const MULTIPROCESSORS = 16;
const CAPABILITY_MAJOR = 75;
const CAPABILITY_MINOR = 76;

export type { CudaDeviceLike } from "./place.ts";
export * from "./random.ts";

/** The arguments of a function in their places. */
function checked(op: keyof typeof FUNCTIONS, args: ArrayLike<unknown>): [CudaDeviceLike?] {
  const [device] = inOrder<[CudaDeviceLike?]>(op, FUNCTIONS[op], args);
  return device === undefined || device === null ? [] : [device];
}

/**
 * True when a driver and at least one device were found. Never throws.
 * @example
 * ```ts
 * cuda.isAvailable() === cuda.deviceCount() > 0 // true
 * ```
 * @torch torch.cuda.is_available
 */
export function isAvailable(): boolean {
  checkCall("isAvailable", FUNCTIONS.isAvailable, arguments);
  return problem() === null;
}

/**
 * The number of devices; 0 without a driver.
 * @example
 * ```ts
 * Array.from({ length: cuda.deviceCount() }, (_,
 *   i) => cuda.getDeviceName(i)).length === cuda.deviceCount() // true
 * ```
 * @torch torch.cuda.device_count
 */
export function deviceCount(): number {
  checkCall("deviceCount", FUNCTIONS.deviceCount, arguments);
  return countDevices();
}

/**
 * The number of the device that `"cuda"` stands for: 0.
 * @example
 * ```ts
 * cuda.isAvailable() ? cuda.currentDevice() : 0 // 0
 * ```
 * @torch torch.cuda.current_device
 */
export function currentDevice(): number {
  checkCall("currentDevice", FUNCTIONS.currentDevice, arguments);
  return required(0, "cuda.currentDevice");
}

/**
 * The product name of a device.
 * @example
 * ```ts
 * cuda.isAvailable() ? typeof cuda.getDeviceName(0) : "string" // string
 * ```
 * @torch torch.cuda.get_device_name
 */
export function getDeviceName(device: CudaDeviceLike = 0): string {
  [device = 0] = checked("getDeviceName", arguments);
  return deviceName(required(device, "cuda.getDeviceName"));
}

/**
 * Major and minor compute capability.
 * @example
 * ```ts
 * cuda.isAvailable() ? cuda.getDeviceCapability(0).length : 2 // 2
 * ```
 * @torch torch.cuda.get_device_capability
 */
export function getDeviceCapability(device: CudaDeviceLike = 0): [number, number] {
  [device = 0] = checked("getDeviceCapability", arguments);
  const index = required(device, "cuda.getDeviceCapability");
  return [attribute(index, CAPABILITY_MAJOR), attribute(index, CAPABILITY_MINOR)];
}

/** What is known about a device. */
export interface DeviceProperties {
  /** The product's name. */
  readonly name: string;
  /** The compute capability before the point. */
  readonly major: number;
  /** The compute capability behind the point. */
  readonly minor: number;
  /** Bytes. */
  readonly totalMemory: number;
  /** The number of multiprocessors. */
  readonly multiProcessorCount: number;
}

/**
 * Name, compute capability, memory and size of a device.
 * @example
 * ```ts
 * cuda.isAvailable() ? cuda.getDeviceProperties(0).totalMemory > 0 : true // true
 * ```
 * @torch torch.cuda.get_device_properties
 */
export function getDeviceProperties(device: CudaDeviceLike = 0): DeviceProperties {
  [device = 0] = checked("getDeviceProperties", arguments);
  const index = required(device, "cuda.getDeviceProperties");
  return {
    name: deviceName(index),
    major: attribute(index, CAPABILITY_MAJOR),
    minor: attribute(index, CAPABILITY_MINOR),
    totalMemory: totalMemory(index),
    multiProcessorCount: attribute(index, MULTIPROCESSORS),
  };
}

/**
 * The CUDA version that the driver speaks, `"12.4"`; null without a driver.
 * @example
 * ```ts
 * cuda.isAvailable() === (cuda.getDriverVersion() !== null) // true
 * ```
 */
export function getDriverVersion(): string | null {
  checkCall("getDriverVersion", FUNCTIONS.getDriverVersion, arguments);
  if (problem() !== null) return null;
  const version = driverVersion();
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
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
export function memGetInfo(device: CudaDeviceLike = 0): [number, number] {
  [device = 0] = checked("memGetInfo", arguments);
  return memoryInfo(required(device, "cuda.memGetInfo"));
}

/**
 * Waits until a device has done all its work.
 * @example
 * ```ts
 * if (cuda.isAvailable()) cuda.synchronize(0);
 * cuda.deviceCount() >= 0 // true
 * ```
 * @torch torch.cuda.synchronize
 */
export function synchronize(device: CudaDeviceLike = 0): void {
  [device = 0] = checked("synchronize", arguments);
  waitFor(required(device, "cuda.synchronize"));
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
export function memoryAllocated(device: CudaDeviceLike = 0): number {
  [device = 0] = checked("memoryAllocated", arguments);
  return stats(numberOf(device)).allocated;
}

/**
 * The highest `memoryAllocated()` since the program began, or since `resetPeakMemoryStats()`.
 * @example
 * ```ts
 * cuda.maxMemoryAllocated() >= cuda.memoryAllocated() // true
 * ```
 * @torch torch.cuda.max_memory_allocated
 */
export function maxMemoryAllocated(device: CudaDeviceLike = 0): number {
  [device = 0] = checked("maxMemoryAllocated", arguments);
  return stats(numberOf(device)).mostAllocated;
}

/**
 * Bytes that were taken from a device, for tensors and for reuse.
 * @example
 * ```ts
 * cuda.memoryReserved() >= cuda.memoryAllocated() // true
 * ```
 * @torch torch.cuda.memory_reserved
 */
export function memoryReserved(device: CudaDeviceLike = 0): number {
  [device = 0] = checked("memoryReserved", arguments);
  return stats(numberOf(device)).reserved;
}

/**
 * The highest `memoryReserved()`, counted as `maxMemoryAllocated()` is.
 * @example
 * ```ts
 * cuda.maxMemoryReserved() >= cuda.memoryReserved() // true
 * ```
 * @torch torch.cuda.max_memory_reserved
 */
export function maxMemoryReserved(device: CudaDeviceLike = 0): number {
  [device = 0] = checked("maxMemoryReserved", arguments);
  return stats(numberOf(device)).mostReserved;
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
export function resetPeakMemoryStats(device: CudaDeviceLike = 0): void {
  [device = 0] = checked("resetPeakMemoryStats", arguments);
  native.zs_cuda_reset_peak(numberOf(device));
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
  for (let i = 0; i < countDevices(); i++) check(native.zs_cuda_empty_cache(i), "cuda.emptyCache");
}
