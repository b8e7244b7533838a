/** The namespace `cuda`: which NVIDIA GPUs this system has, and the memory of tensors on them. */

import { checkCall, inOrder } from "../tensor/checks.ts";
import { type CudaDeviceLike, required } from "./devices.ts";
import { attribute, deviceName, driverVersion, problem, totalMemory, waitFor } from "./driver.ts";
import { FUNCTIONS } from "./signatures.ts";

export { type CudaDeviceLike, currentDevice, device, deviceCount, setDevice } from "./devices.ts";
export {
  emptyCache,
  maxMemoryAllocated,
  maxMemoryReserved,
  memGetInfo,
  memoryAllocated,
  memoryReserved,
  memoryStats,
  memorySummary,
  resetAccumulatedMemoryStats,
  resetPeakMemoryStats,
  setPerProcessMemoryFraction,
} from "./memory.ts";
export * from "./random.ts";
export { fromPointer, type IpcHandle, ipcHandle, openIpc, type Pointer, toPointer } from "./sharing.ts";
export {
  currentStream,
  defaultStream,
  Event,
  type EventOptions,
  Stream,
  setStream,
  stream,
} from "./streams.ts";

/** CUDA's numbers for the attributes that are shown. */
const MULTIPROCESSORS = 16;
const CAPABILITY_MAJOR = 75;
const CAPABILITY_MINOR = 76;

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
 * The product name of a device.
 * @example
 * ```ts
 * cuda.isAvailable() ? typeof cuda.getDeviceName(0) : "string" // string
 * ```
 * @torch torch.cuda.get_device_name
 */
export function getDeviceName(device?: CudaDeviceLike | null): string {
  [device] = inOrder<[CudaDeviceLike?]>("getDeviceName", FUNCTIONS.getDeviceName, arguments);
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
export function getDeviceCapability(device?: CudaDeviceLike | null): [number, number] {
  [device] = inOrder<[CudaDeviceLike?]>("getDeviceCapability", FUNCTIONS.getDeviceCapability, arguments);
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
export function getDeviceProperties(device?: CudaDeviceLike | null): DeviceProperties {
  [device] = inOrder<[CudaDeviceLike?]>("getDeviceProperties", FUNCTIONS.getDeviceProperties, arguments);
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
 * Waits until a device has done all its work.
 * @example
 * ```ts
 * if (cuda.isAvailable()) cuda.synchronize(0);
 * cuda.deviceCount() >= 0 // true
 * ```
 * @torch torch.cuda.synchronize
 */
export function synchronize(device?: CudaDeviceLike | null): void {
  [device] = inOrder<[CudaDeviceLike?]>("synchronize", FUNCTIONS.synchronize, arguments);
  waitFor(required(device, "cuda.synchronize"));
}
