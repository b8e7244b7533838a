/** Tensors on CUDA devices: where their bytes come from, how kernels are launched and bytes copied. */
import { CudaStatus } from "../../generated/abi.ts";
import { type Backend, backends, type Launchable } from "../dispatch/backend.ts";
import { attention, DEVICES } from "../ffi/attention.ts";
import { frameAddress } from "../ffi/frame.ts";
import { addressOf, native, textAt } from "../ffi/library.ts";
import { collectAll, countBlock, ownDeviceBlock } from "../ffi/memory.ts";
import { CPU, type Device, deviceChecks } from "../tensor/device.ts";
import { NotImplementedError, OutOfMemoryError } from "../tensor/errors.ts";
import { Storage } from "../tensor/storage.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { check, memoryInfo, requireDevice } from "./driver.ts";
import { stats } from "./memory-stats.ts";
import { currentStream } from "./streams.ts";

const OUT_OF_MEMORY = CudaStatus.driverCode - 2;
const INVALID_PTX = new Set([CudaStatus.driverCode - 218, CudaStatus.driverCode - 209, CudaStatus.driverCode - 222]);

const indexOf = (device: Device): number => device.index ?? 0;

const block = new Float64Array(2);
const blockAddress = addressOf(block);

function size(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  let n = bytes;
  let unit = 0;
  while (n >= 1024 && unit < 3) {
    n /= 1024;
    unit++;
  }
  return unit === 0 ? `${n} bytes` : `${n.toFixed(2)} ${units[unit]}`;
}

function outOfMemory(nbytes: number, index: number): OutOfMemoryError {
  const [free, total] = memoryInfo(index);
  const { allocated, reserved } = stats(index);
  return new OutOfMemoryError(
    `CUDA out of memory. Tried to allocate ${size(nbytes)}. GPU ${index} has a total capacity of ${size(total)} of ` +
      `which ${size(free)} is free. Of the allocated memory ${size(allocated)} is allocated by zensor, and ` +
      `${size(reserved - allocated)} is reserved by zensor but unallocated.`,
    { code: "out_of_memory" },
  );
}

function allocate(nbytes: number, device: Device): Storage {
  attention.bits |= DEVICES;
  if (nbytes === 0) return new Storage(0, 0, null, "device", device);
  const index = indexOf(device);
  countBlock(nbytes);
  const stream = currentStream(index);
  let code = native.zs_cuda_alloc(nbytes, index, stream, blockAddress);
  if (code === OUT_OF_MEMORY) {
    collectAll();
    code = native.zs_cuda_alloc(nbytes, index, stream, blockAddress);
    if (code === OUT_OF_MEMORY) throw outOfMemory(nbytes, index);
  }
  check(code, "empty");
  const [address, handle] = block as unknown as [number, number];
  return new Storage(address, nbytes, ownDeviceBlock(address, nbytes, handle), "device", device);
}

function launch(kernel: Launchable, device: Device): number {
  const index = indexOf(device);
  const status = native.zs_cuda_launch(kernel.id, frameAddress(), index, currentStream(index));
  if (status > CudaStatus.noLibrary) return status;
  if (status === CudaStatus.noKernel) {
    throw new NotImplementedError(
      `"${kernel.path}" has no CUDA kernel: move its operands to the CPU with .cpu(), and the result back`,
      { code: "cuda_no_kernel", op: kernel.path },
    );
  }
  if (INVALID_PTX.has(status)) {
    const said = textAt(native.zs_cuda_log()).trim();
    throw new NotImplementedError(`the driver refused the kernel "${kernel.path}": ${said}`, { code: "cuda_ptx" });
  }
  check(status, kernel.path);
  return status;
}

function copy(dst: Tensor, src: Tensor): void {
  const [to, from] = [dst._storage.device, src._storage.device];
  const { nbytes } = dst;
  if (nbytes === 0) return;
  if (from === CPU) {
    const index = indexOf(to);
    check(native.zs_cuda_to_device(dst._address(), src._address(), nbytes, index, currentStream(index)), "copy_");
  } else if (to === CPU) {
    const index = indexOf(from);
    check(native.zs_cuda_to_host(dst._address(), src._address(), nbytes, index, currentStream(index)), "copy_");
  } else {
    const [there, here] = [indexOf(to), indexOf(from)];
    const stream = currentStream(there);
    check(native.zs_cuda_on_device(dst._address(), there, src._address(), here, nbytes, stream), "copy_");
  }
}

const cuda: Backend = { allocate, launch, copy };

/** Registers the devices. The driver is looked for when one is asked for first. */
export function installCuda(): void {
  deviceChecks.cuda = (device) => {
    requireDevice(indexOf(device));
    backends.cuda = cuda;
  };
}
