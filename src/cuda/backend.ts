/** Tensors on CUDA devices: where their bytes come from, how kernels are launched and bytes copied. */
import { CudaStatus, ScratchDetail } from "../../generated/abi.ts";
import { type Backend, backends, type Launchable } from "../dispatch/backend.ts";
import { attention, DEVICES } from "../ffi/attention.ts";
import { releaseParked, takeDeviceBlock } from "../ffi/device-blocks.ts";
import { detail, frameAddress } from "../ffi/frame.ts";
import { addressOf, native, textAt } from "../ffi/library.ts";
import { collectAll, countBlock, countDeviceBlock, emptyCache, ownPinnedBlock, paceDevices } from "../ffi/memory.ts";
import { CPU, chosen, type Device, gpuOf } from "../tensor/device.ts";
import { NotImplementedError, OutOfMemoryError } from "../tensor/errors.ts";
import { deviceMemory, pinnedMemory, Storage } from "../tensor/storage.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { check, failure, memoryInfo, requireDevice } from "./driver.ts";
import { figure } from "./memory-stats.ts";
import { currentHandle, installStreamHooks } from "./places.ts";

const OUT_OF_MEMORY = CudaStatus.driverCode - 2;
const INVALID_PTX = new Set([CudaStatus.driverCode - 218, CudaStatus.driverCode - 209, CudaStatus.driverCode - 222]);

/** More bytes than any device has: no limit was set. */
const UNLIMITED = 2 ** 60;

/** Over a buffer of its own: the compiler moves the bytes of a small array that is a constant of compiled code. */
const block = new Float64Array(new ArrayBuffer(16));

function size(bytes: number): string {
  if (bytes <= 1024) return `${bytes} bytes`;
  const units = ["KiB", "MiB", "GiB"];
  let n = bytes / 1024;
  let unit = 0;
  for (; n > 1024 && unit < 2; unit++) n /= 1024;
  return `${n.toFixed(2)} ${units[unit]}`;
}

/** torch's words. The driver was asked for a whole segment, which is what did not fit. */
function outOfMemory(nbytes: number, index: number): OutOfMemoryError {
  native.zs_cuda_refused(index, nbytes, addressOf(block));
  const [asked, limit] = block as unknown as [number, number];
  const [free, total] = memoryInfo(index);
  const allocated = figure(index, "allocated_bytes", "current");
  const reserved = figure(index, "reserved_bytes", "current");
  const allowed = limit < UNLIMITED ? `${size(limit)} allowed; ` : "";
  return new OutOfMemoryError(
    `CUDA out of memory. Tried to allocate ${size(asked)}. GPU ${index} has a total capacity of ${size(total)} of ` +
      `which ${size(free)} is free. ${allowed}Of the allocated memory ${size(allocated)} is allocated by zensor, and ` +
      `${size(reserved - allocated)} is reserved by zensor but unallocated.`,
    { code: "out_of_memory" },
  );
}

let paced = false;

/** The first device that is used says how much may pile up before a collection: most systems have one kind. */
function pace(index: number): void {
  paced = true;
  const total = native.zs_cuda_total_memory(index);
  if (total > 0) paceDevices(total);
}

function allocate(nbytes: number, device: Device): Storage {
  attention.bits |= DEVICES;
  if (nbytes === 0) return new Storage(0, 0, null, "device", device);
  const index = gpuOf(device);
  if (!paced) pace(index);
  countDeviceBlock(nbytes);
  const stream = currentHandle(index);
  let taken = takeDeviceBlock(nbytes, index, stream);
  if (taken === OUT_OF_MEMORY) {
    collectAll();
    taken = takeDeviceBlock(nbytes, index, stream);
    if (taken === OUT_OF_MEMORY) throw outOfMemory(nbytes, index);
  }
  if (typeof taken === "number") throw failure(taken, "empty");
  const made = new Storage(taken.address, nbytes, taken.owner(), "device", device);
  made.source = taken;
  return made;
}

/** Other bytes for a storage that is to have more or fewer; those that fit are copied. */
function resized(old: Storage, nbytes: number): Storage {
  const made = allocate(nbytes, old.device);
  const kept = Math.min(nbytes, old.nbytes);
  if (kept === 0) return made;
  const index = gpuOf(old.device);
  const stream = currentHandle(index);
  const code = native.zs_cuda_on_device(made.address, index, stream, old.address, index, stream, kept);
  check(code, "resize_");
  return made;
}

function onHost(storage: Storage): Storage {
  const made = Storage.allocate(storage.nbytes);
  const index = gpuOf(storage.device);
  const code = native.zs_cuda_to_host(made.ptr, storage.ptr, storage.nbytes, index, currentHandle(index), 0);
  check(code, "tolist");
  return made;
}

function fill(storage: Storage, value: number): void {
  const index = gpuOf(storage.device);
  check(native.zs_cuda_set(storage.ptr, value, storage.nbytes, index, currentHandle(index)), "fill_");
}

function allocatePinned(nbytes: number): Storage {
  countBlock(nbytes);
  let code = native.zs_cuda_host_alloc(nbytes, chosen.cuda, addressOf(block));
  if (code === OUT_OF_MEMORY) {
    collectAll();
    emptyCache();
    code = native.zs_cuda_host_alloc(nbytes, chosen.cuda, addressOf(block));
    if (code === OUT_OF_MEMORY) {
      const message = `CUDA error: out of memory: ${size(nbytes)} of pinned memory`;
      throw new OutOfMemoryError(message, { code: "out_of_memory" });
    }
  }
  check(code, "pinMemory");
  const [address, handle] = block as unknown as [number, number];
  return new Storage(address, nbytes, ownPinnedBlock(address, nbytes, handle), "pinned");
}

function launch(kernel: Launchable, device: Device): number {
  const index = gpuOf(device);
  let status = native.zs_cuda_launch(kernel.id, frameAddress(), index, currentHandle(index));
  if (status > CudaStatus.noLibrary) return status;
  if (status === CudaStatus.noScratch && detail(ScratchDetail.launched) === 0) {
    releaseParked();
    collectAll();
    status = native.zs_cuda_launch(kernel.id, frameAddress(), index, currentHandle(index));
    if (status > CudaStatus.noLibrary) return status;
  }
  if (status === CudaStatus.noScratch) throw outOfMemory(detail(ScratchDetail.bytes), index);
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

function copy(dst: Tensor, src: Tensor, later = false): void {
  const [to, from] = [dst._storage.device, src._storage.device];
  const { nbytes } = dst;
  if (nbytes === 0) return;
  const [t, s] = [dst._address(), src._address()];
  if (from === CPU) {
    const index = gpuOf(to);
    check(native.zs_cuda_to_device(t, s, nbytes, index, currentHandle(index), later ? 1 : 0), "copy_");
  } else if (to === CPU) {
    const index = gpuOf(from);
    check(native.zs_cuda_to_host(t, s, nbytes, index, currentHandle(index), later ? 1 : 0), "copy_");
  } else {
    const [there, here] = [gpuOf(to), gpuOf(from)];
    const code = native.zs_cuda_on_device(t, there, currentHandle(there), s, here, currentHandle(here), nbytes);
    check(code, "copy_");
  }
}

const cuda: Backend = { allocate, launch, copy, draws: true, readsShort: true };

/** Looks for the driver when a device is asked for first, and registers what tensors need of devices. */
export function useCuda(device: Device): void {
  requireDevice(gpuOf(device));
  if (backends.cuda === cuda) return;
  backends.cuda = cuda;
  pinnedMemory.allocate = allocatePinned;
  pinnedMemory.holds = (address) => native.zs_cuda_is_pinned(address) === 1;
  Object.assign(deviceMemory, { resized, onHost, fill });
  installStreamHooks();
}
