/** Where a tensor's bytes are. */
import * as texts from "../../generated/texts.ts";

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
const cudaDevices: Device[] = [];

/** The name of a device. */
export type DeviceName = "cpu" | "cpu:0" | "meta" | "cuda" | `cuda:${number}`;
/** A device, or its name. */
export type DeviceLike = Device | DeviceName;

/** Checks a device before it is used; installed by the cuda room. */
export const deviceChecks: { cuda: (device: Device) => void } = {
  cuda: () => {
    throw texts.noCudaSupport(undefined);
  },
};

/** Whether a string is a device's name, known or not: "cuda:1". */
export function namesDevice(text: string): boolean {
  return /^(cpu|cuda|meta)(:\d+)?$/.test(text);
}

/** Reads a device name. A CUDA device without a usable driver is an error. */
export function toDevice(value: Device | string): Device {
  if (value instanceof Device) return value;
  if (value === "cpu" || value === "cpu:0") return CPU;
  if (value === "meta") return META;
  const m = /^cuda(?::(\d+))?$/.exec(value);
  if (m !== null) {
    const index = m[1] === undefined ? 0 : Number(m[1]);
    const device = cudaDevices[index] ?? new Device("cuda", index);
    deviceChecks.cuda(device);
    cudaDevices[index] = device;
    return device;
  }
  throw texts.unknownDevice(undefined, String(value).split(":")[0]);
}
