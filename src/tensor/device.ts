/** Where a tensor's bytes are. */

import * as texts from "../../generated/texts.ts";
import { later } from "./later.ts";

/**
 * A device: `cpu`, `meta` (shapes without bytes) or `cuda:0`.
 * @example
 * ```ts
 * const place = device("meta");
 * [place, place.type, place.index] // [meta, meta, null]
 * ```
 * @torch torch.device
 */
export class Device {
  /** Editors offer the members of a class with a private one nowhere but behind its objects. */
  declare private readonly opaque: never;
  /** The kind of device. */
  readonly type: "cpu" | "cuda" | "meta";
  /** Which one of its kind; null where none was said. */
  readonly index: number | null;
  /** @internal Whether tensors have bytes here. Without, results are decided and nothing is computed. */
  readonly computes: boolean;
  constructor(type: "cpu" | "cuda" | "meta", index: number | null) {
    this.type = type;
    this.index = index;
    this.computes = type !== "meta";
  }
  /** The name: `cuda:1`. */
  toString(): string {
    return this.index === null ? this.type : `${this.type}:${this.index}`;
  }
  /** Python's text: `device(type='cpu')`. */
  repr(): string {
    return this.index === null ? `device(type='${this.type}')` : `device(type='${this.type}', index=${this.index})`;
  }
  /** Whether kind and index are the same. */
  equals(other: Device): boolean {
    return this.type === other.type && this.index === other.index;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.repr();
  }
}

export const CPU = new Device("cpu", null);
export const META = new Device("meta", null);

/** One object for each device, so that devices are compared by identity. */
const devices = new Map<string, Device>([
  ["cpu", CPU],
  ["meta", META],
]);

/** What "cuda" without a number stands for, and where factories make tensors when they are not told. */
export const chosen: { cuda: number; factory: Device | null } = { cuda: 0, factory: null };

/** The name of a device. */
export type DeviceName = "cpu" | `cpu:${number}` | "meta" | `meta:${number}` | "cuda" | `cuda:${number}`;
/** A device, its name, or the number of a GPU. */
export type DeviceLike = Device | DeviceName | number;

/** Checks a device before it is used; installed by the cuda room. */
export const deviceChecks: { cuda: (device: Device) => void } = later("devices");

/** Whether a string is a device's name, known or not: "cuda:1". */
export function namesDevice(text: string): boolean {
  return /^(cpu|cuda|meta)(:\d+)?$/.test(text);
}

/**
 * The device of a name, with the number that was said: "cuda" alone is the one that is current when it is used. A CUDA
 * device without a usable driver is an error.
 */
export function deviceOf(name: string): Device {
  const found = devices.get(name);
  if (found?.computes === false || found?.type === "cpu") return found;
  if (name === "") throw texts.emptyDevice(undefined);
  const m = /^([A-Za-z_]+)(?::(0|[1-9]\d*))?$/.exec(name);
  if (m === null) throw texts.invalidDevice(undefined, name);
  const type = m[1] as Device["type"];
  if (type !== "cpu" && type !== "meta" && type !== "cuda") throw texts.unknownDevice(undefined, type);
  const index = m[2] === undefined ? null : Number(m[2]);
  const key = index === null ? type : `${type}:${index}`;
  const device = devices.get(key) ?? new Device(type, index);
  if (type === "cuda") deviceChecks.cuda(device);
  devices.set(key, device);
  return device;
}

/** The number of the GPU that is meant. */
export function gpuOf(device: Device): number {
  return device.index ?? chosen.cuda;
}

/**
 * Where tensors are put that are wanted on a device, on the device of a name, or on a GPU by its number: there is one
 * processor and one place without bytes, whatever number was said, and a GPU always has one.
 */
export function toDevice(value: Device | string | number): Device {
  if (typeof value === "number") {
    if (value < 0) throw texts.negativeDeviceIndex(undefined);
    return deviceOf(`cuda:${value}`);
  }
  const device = value instanceof Device ? value : deviceOf(value);
  if (device.type === "cpu") return CPU;
  if (device.type === "meta") return META;
  return device.index === null || devices.get(device.toString()) !== device
    ? deviceOf(`cuda:${gpuOf(device)}`)
    : device;
}

/** Where a factory makes its result when nothing is said. */
export function defaultDevice(): Device {
  return chosen.factory === null ? CPU : toDevice(chosen.factory);
}
