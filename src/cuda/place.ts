/** Devices as the functions of the namespace `cuda` are given them. */
import type { Device } from "../tensor/device.ts";
import { RuntimeError } from "../tensor/errors.ts";
import { requireDevice } from "./driver.ts";

/** A device, by number, by name (`"cuda:1"`) or as the current one, 0. */
export type CudaDeviceLike = number | string | Device;

/** The number of a device. */
export function numberOf(device: CudaDeviceLike): number {
  if (typeof device === "number") return device;
  const m = /^cuda(?::(\d+))?$/.exec(String(device));
  if (m === null) throw new RuntimeError(`Expected a cuda device, but got: ${device}`, { code: "device" });
  return Number(m[1] ?? 0);
}

/** The number of a device that is there. */
export function required(device: CudaDeviceLike, op: string): number {
  const index = numberOf(device);
  requireDevice(index, op);
  return index;
}
