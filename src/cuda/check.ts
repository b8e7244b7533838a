/** What a program gets that asks for a tensor on a CUDA device; installed by the registration file. */
import { type Device, deviceChecks } from "../tensor/device.ts";
import { NotImplementedError } from "../tensor/errors.ts";
import { deviceName, requireDevice } from "./driver.ts";

function checkDevice(device: Device): void {
  const index = device.index ?? 0;
  requireDevice(index);
  throw new NotImplementedError(
    `${device} was found (${deviceName(index)}), but this version of zensor has no CUDA tensors yet: use device 'cpu'`,
    { code: "cuda_not_implemented" },
  );
}

/** Registers the check. */
export function installCudaCheck(): void {
  deviceChecks.cuda = checkDevice;
}
