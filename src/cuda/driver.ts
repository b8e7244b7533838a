/** The CUDA driver, looked for when it is first asked about; see zig/src/cuda/driver.zig. */
import { CudaStatus } from "../../generated/abi.ts";
import { faultError } from "../dispatch/faults.ts";
import { addressOf, native, textAt } from "../ffi/library.ts";
import { RuntimeError } from "../tensor/errors.ts";

const NO_DEVICE = 100;
const NAME_BYTES = 256;

/** Why the driver cannot be used, or null when it can. */
export interface DriverProblem {
  message: string;
  code: string;
}

const PROBLEMS: Record<number, DriverProblem> = {
  [CudaStatus.noLibrary]: {
    code: "cuda_no_driver",
    message:
      "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from " +
      "http://www.nvidia.com/Download/index.aspx",
  },
  [CudaStatus.missingFunction]: {
    code: "cuda_old_driver",
    message:
      "The NVIDIA driver on your system is too old: it lacks functions that zensor needs. Update your GPU driver.",
  },
  [CudaStatus.notBuilt]: {
    code: "cuda_not_built",
    message: "zensor was built without GPU kernels. Build it with them (`npm run build`), or use device 'cpu'.",
  },
};

export function cuError(code: number): string {
  return `CUDA error: ${textAt(native.zs_cuda_error_text(code))}`;
}

/** What a kernel found that it must not do. */
function fault(): Error {
  const numbers = new Float64Array(4);
  native.zs_cuda_fault(addressOf(numbers));
  const [kind, a, b, c] = numbers as unknown as [number, number, number, number];
  return faultError(kind, a, b, c);
}

/** The driver's own words for a code other than 0, or the error that a kernel told. */
export function failure(code: number, op: string): Error {
  if (code === CudaStatus.fault) return fault();
  const known = PROBLEMS[code];
  if (known !== undefined) return new RuntimeError(known.message, { code: known.code, op });
  const result = code <= CudaStatus.driverCode ? CudaStatus.driverCode - code : code;
  return new RuntimeError(result > 0 ? cuError(result) : "CUDA was not initialised", { code: "cuda", op });
}

/** Throws the error of a code other than 0. */
export function check(code: number, op: string): void {
  if (code !== 0) throw failure(code, op);
}

/** A count or size that a native function returned, or the error that it stands for. */
function value(n: number, op: string): number {
  if (n < 0) check(n, op);
  return n;
}

let opened: number | null = null;

/**
 * Opens the driver once. `ZENSOR_LIBCUDA` names another library than the system's, `ZENSOR_LIBCUBLAS` another one of
 * matrix products; with `ZENSOR_CUDA_LIBS=off` that is not looked for.
 */
function open(): number {
  if (opened === null) {
    const path = process.env.ZENSOR_LIBCUDA;
    const text = path ? Buffer.from(`${path}\0`) : new Uint8Array(0);
    opened = native.zs_cuda_open(addressOf(text));
    if (opened === 0 && native.zs_cuda_is_built() === 0) opened = CudaStatus.notBuilt;
    const { ZENSOR_CUDA_LIBS: asked, ZENSOR_LIBCUBLAS: place } = process.env;
    const named = place ? Buffer.from(`${place}\0`) : new Uint8Array(0);
    // The usual library belongs to the usual driver.
    const allowed = asked !== "off" && (!path || place);
    native.zs_cuda_libraries(allowed ? 1 : 0, addressOf(named));
  }
  return opened;
}

/** Why CUDA cannot be used here; null when there is a driver with at least one device. */
export function problem(): DriverProblem | null {
  const status = open();
  if (status === NO_DEVICE) return { code: "cuda_no_device", message: "No CUDA GPUs are available" };
  if (status !== 0) return PROBLEMS[status] ?? { code: "cuda", message: cuError(status) };
  if (countDevices() === 0) return { code: "cuda_no_device", message: "No CUDA GPUs are available" };
  return null;
}

let counted = 0;

/** The number of devices; 0 without a driver. It stays what it was when the driver was asked first. */
export function countDevices(): number {
  if (counted === 0 && open() === 0) counted = Math.max(0, native.zs_cuda_device_count());
  return counted;
}

/** Throws when there is no driver, or no device of this number. */
export function requireDevice(index: number, op?: string): void {
  const found = problem();
  if (found !== null) throw new RuntimeError(found.message, { code: found.code, op });
  const count = countDevices();
  if (!Number.isInteger(index) || index < 0 || index >= count) {
    throw new RuntimeError(
      `CUDA error: invalid device ordinal: there is no cuda:${index}, this system has ${count} ` +
        `device${count === 1 ? "" : "s"}`,
      { code: "cuda_device", op },
    );
  }
}

/** The version of CUDA that the driver speaks, as 1000 * major + 10 * minor. */
export function driverVersion(): number {
  return value(native.zs_cuda_driver_version(), "cuda.driverVersion");
}

export function deviceName(index: number): string {
  const bytes = new Uint8Array(NAME_BYTES);
  check(native.zs_cuda_device_name(index, addressOf(bytes), NAME_BYTES), "cuda.getDeviceName");
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(bytes.subarray(0, end < 0 ? NAME_BYTES : end));
}

export function totalMemory(index: number): number {
  return value(native.zs_cuda_total_memory(index), "cuda.getDeviceProperties");
}

/** A device attribute, by the number that CUDA's driver API gives it. */
export function attribute(index: number, which: number): number {
  return value(native.zs_cuda_attribute(index, which), "cuda.getDeviceProperties");
}

export function waitFor(index: number): void {
  check(native.zs_cuda_synchronize(index), "cuda.synchronize");
}

/** Free and total bytes. */
export function memoryInfo(index: number): [number, number] {
  const pair = new Float64Array(2);
  check(native.zs_cuda_memory_info(index, addressOf(pair)), "cuda.memGetInfo");
  return [pair[0] as number, pair[1] as number];
}
