/** Devices by name, the default dtype and the policy of warnings, for users. */
import * as texts from "../../generated/texts.ts";
import { checkCall, inOrder, isDict } from "../tensor/checks.ts";
import { chosen, Device, type DeviceLike, defaultDevice, deviceOf, toDevice } from "../tensor/device.ts";
import {
  type DType,
  type DTypeLike,
  getDefaultDtype as defaultDtype,
  setDefaultDtype as setDtype,
} from "../tensor/dtype.ts";
import { warn as report, setWarningPolicy as setPolicy } from "../tensor/errors.ts";
import { Mode, type ModeGuard, requireSync } from "../tensor/modes.ts";
import { DEVICE, FUNCTIONS } from "../tensor/signatures.ts";
import { typeName } from "../tensor/type-name.ts";

/**
 * The device of a name, or of a kind and a number. A CUDA device without a usable driver is an error.
 * @example
 * ```ts
 * [device("meta").type, device("cpu:1").index, device("cpu").index] // [meta, 1, null]
 * ```
 * @torch torch.device
 */
export function device(name: DeviceLike): Device;
export function device(type: Device["type"], index: number | null): Device;
export function device(...args: unknown[]): Device {
  const [first] = args;
  const named = isDict(first) && "device" in first;
  const [type, index] = inOrder<[DeviceLike, number?]>("device", named ? DEVICE : FUNCTIONS.device, args);
  if (type instanceof Device) return type;
  if (typeof type === "number") return toDevice(type);
  if (typeof index !== "number") return deviceOf(type);
  if (typeof type !== "string") throw texts.wrongArgument("device", "device", "type", "str", typeName(type));
  if (type.includes(":")) throw texts.deviceIndexTwice(undefined, type);
  if (index < 0) throw texts.negativeDeviceIndex(undefined);
  return deviceOf(`${type}:${index}`);
}

/** Where factories make tensors when they are not told. */
const factories = new Mode<Device | null>(
  () => chosen.factory,
  (place) => {
    chosen.factory = place;
  },
);

/** Null for the CPU; "cuda" stays what it is, whichever device is current. */
function placeOf(value: DeviceLike | null): Device | null {
  if (value === null) return null;
  const place = value instanceof Device ? value : typeof value === "number" ? toDevice(value) : deviceOf(value);
  return place.type === "cpu" ? null : place;
}

/**
 * The device on which tensors are made that are not told where.
 * @example
 * ```ts
 * getDefaultDevice() // cpu
 * ```
 * @torch torch.get_default_device
 */
export function getDefaultDevice(): Device {
  checkCall("getDefaultDevice", FUNCTIONS.getDefaultDevice, arguments);
  return defaultDevice();
}

/**
 * Sets the device on which tensors are made that are not told where: by factories, `tensor()`, and modules. Null is the
 * CPU.
 * @example
 * ```ts
 * setDefaultDevice("meta");
 * const where = zeros(2).device;
 * setDefaultDevice(null);
 * [where, zeros(2).device] // [meta, cpu]
 * ```
 * @torch torch.set_default_device
 */
export function setDefaultDevice(device: DeviceLike | null): void {
  [device] = inOrder<[DeviceLike | null]>("setDefaultDevice", FUNCTIONS.setDefaultDevice, arguments);
  factories.change(placeOf(device), "setDefaultDevice");
}

/**
 * Sets the device of new tensors for a while: until the block ends (`using _ = withDevice("meta")`), or while a
 * function runs, whose result it returns.
 * @example
 * ```ts
 * withDevice("meta", () => zeros(2)).device // meta
 * ```
 * @torch with torch.device
 */
export function withDevice(device: DeviceLike): ModeGuard;
export function withDevice<R>(device: DeviceLike, body: () => R): R;
export function withDevice<R>(device: DeviceLike, body?: () => R): ModeGuard | R {
  [device, body] = inOrder<[DeviceLike, (() => R)?]>("withDevice", FUNCTIONS.withDevice, arguments);
  const place = placeOf(device);
  if (body === undefined) return factories.hold(place, "withDevice");
  requireSync(body, "withDevice");
  return factories.run(place, "withDevice", body);
}

/**
 * The dtype of new floating-point tensors.
 * @example
 * ```ts
 * getDefaultDtype() // torch.float32
 * ```
 * @torch torch.get_default_dtype
 */
export function getDefaultDtype(): DType {
  checkCall("getDefaultDtype", FUNCTIONS.getDefaultDtype, arguments);
  return defaultDtype();
}

/**
 * Sets the dtype that plain numbers become: a floating point dtype.
 * @example
 * ```ts
 * setDefaultDtype("float64");
 * const x = tensor([1, 2]);
 * setDefaultDtype("float32");
 * x.dtype // torch.float64
 * ```
 * @torch torch.set_default_dtype
 */
export function setDefaultDtype(dtype: DTypeLike): void {
  setDtype(...inOrder<[DTypeLike]>("setDefaultDtype", FUNCTIONS.setDefaultDtype, arguments));
}

/**
 * How often the same warning is reported: once per program (default), always, or never.
 * @example
 * ```ts
 * setWarningPolicy("never");
 * const x = arange(3).resize_(2);
 * setWarningPolicy("once");
 * x // tensor([0, 1])
 * ```
 */
export function setWarningPolicy(next: "once" | "always" | "never"): void {
  setPolicy(...inOrder<[typeof next]>("setWarningPolicy", FUNCTIONS.setWarningPolicy, arguments));
}

/**
 * Reports a warning through `process.emitWarning`, once per text unless the policy says otherwise.
 * @example
 * ```ts
 * setWarningPolicy("never");
 * errors.warn("something to know"); // otherwise through process.emitWarning
 * setWarningPolicy("once");
 * process.listenerCount("warning") >= 0 // true
 * ```
 */
export function warn(text: string, type?: string): void {
  report(...inOrder<[string, string?]>("warn", FUNCTIONS.warn, arguments));
}
