/** Which device is the current one, and what names one. */
import { inOrder } from "../tensor/checks.ts";
import { chosen, type Device, deviceOf, gpuOf, toDevice } from "../tensor/device.ts";
import { ValueError } from "../tensor/errors.ts";
import { type ModeGuard, requireSync } from "../tensor/modes.ts";
import { countDevices, requireDevice } from "./driver.ts";
import { places } from "./places.ts";
import { FUNCTIONS } from "./signatures.ts";

/** A device, by number, by name (`"cuda:1"`); without one the current device. */
export type CudaDeviceLike = number | string | Device;

/** The number of a device, which need not be there. */
export function indexOf(device: CudaDeviceLike | null | undefined): number {
  if (device === null || device === undefined) return chosen.cuda;
  if (typeof device === "number") {
    if (Number.isInteger(device)) return device;
    const wanted = "Expected a torch.device with a specified index or an integer";
    throw new ValueError(`${wanted}, but got:${device}`, { code: "device" });
  }
  if (typeof device !== "string") {
    if (device.type === "cuda") return gpuOf(device);
  } else {
    const m = /^cuda(?::(\d+))?$/.exec(device);
    if (m !== null) return m[1] === undefined ? chosen.cuda : Number(m[1]);
  }
  throw new ValueError(`Expected a cuda device, but got: ${device}`, { code: "device" });
}

/** The number of a device that is there. */
export function required(device: CudaDeviceLike | null | undefined, op: string): number {
  const index = indexOf(device);
  requireDevice(index, op);
  return index;
}

/** The device of a number that is there. */
export function gpu(index: number): Device {
  return toDevice(deviceOf(`cuda:${index}`));
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
  inOrder("deviceCount", FUNCTIONS.deviceCount, arguments);
  return countDevices();
}

/**
 * The number of the device that `"cuda"` stands for: 0 until another one is set.
 * @example
 * ```ts
 * cuda.isAvailable() ? cuda.currentDevice() : 0 // 0
 * ```
 * @torch torch.cuda.current_device
 */
export function currentDevice(): number {
  inOrder("currentDevice", FUNCTIONS.currentDevice, arguments);
  return required(chosen.cuda, "cuda.currentDevice");
}

/**
 * Makes a device the one that `"cuda"` stands for. `device` does so for a while.
 * @example
 * ```ts
 * if (cuda.isAvailable()) cuda.setDevice(0);
 * cuda.isAvailable() ? cuda.currentDevice() : 0 // 0
 * ```
 * @torch torch.cuda.set_device
 */
export function setDevice(device: CudaDeviceLike): void {
  [device] = inOrder<[CudaDeviceLike]>("setDevice", FUNCTIONS.setDevice, arguments);
  // As in torch, a negative number changes nothing.
  if (typeof device === "number" && device < 0) return;
  places.change({ ...places.now(), device: required(device, "cuda.setDevice") }, "cuda.setDevice");
}

/**
 * Makes a device the current one for a while: until the block ends (`using _ = cuda.device(1)`), or while a function
 * runs, whose result it returns.
 * @example
 * ```ts
 * cuda.isAvailable() ? cuda.device(0, () => cuda.currentDevice()) : 0 // 0
 * ```
 * @torch torch.cuda.device
 */
export function device(which: CudaDeviceLike): ModeGuard;
export function device<R>(which: CudaDeviceLike, body: () => R): R;
export function device<R>(which: CudaDeviceLike, body?: () => R): ModeGuard | R {
  [which, body] = inOrder<[CudaDeviceLike, (() => R)?]>("device", FUNCTIONS.device, arguments);
  const name = "cuda.device";
  const kept = typeof which === "number" && which < 0;
  const next = { ...places.now(), device: kept ? chosen.cuda : required(which, name) };
  if (body === undefined) return places.hold(next, name);
  requireSync(body, name);
  return places.run(next, name, body);
}
