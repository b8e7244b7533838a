/** Tensors on devices for other libraries of this process, and for other processes. */
import { checkSizes } from "../dispatch/allocate.ts";
import { addressOf, native } from "../ffi/library.ts";
import { ownForeignBlock, releaseAnchor } from "../ffi/memory.ts";
import { inOrder, isDict } from "../tensor/checks.ts";
import { CPU, toDevice } from "../tensor/device.ts";
import { type DType, type DTypeLike, toDType } from "../tensor/dtype.ts";
import { RuntimeError, ValueError } from "../tensor/errors.ts";
import { take } from "../tensor/scope-state.ts";
import { numelOf } from "../tensor/size.ts";
import { requireKept, Storage } from "../tensor/storage.ts";
import { bytesNeeded, makeStrided, type Tensor } from "../tensor/tensor.ts";
import { type CudaDeviceLike, gpu, required } from "./devices.ts";
import { check } from "./driver.ts";
import { currentHandle } from "./places.ts";
import { FUNCTIONS } from "./signatures.ts";

/** A tensor's elements as any library understands them: what DLPack says, as a plain object. */
export interface Pointer {
  /** Address of the first element, in the memory of the device. */
  pointer: number;
  /** The name of the device: `"cuda:0"` or `"cpu"`. */
  device: string;
  /** The element type: `"float32"`. */
  dtype: string;
  /** Sizes. */
  shape: readonly number[];
  /** Strides in elements. */
  strides: readonly number[];
  /** The elements are there as long as somebody has this. */
  keeper: object | null;
}

/**
 * Where a tensor's elements are. Nothing is copied or waited for: whoever reads them does so on the current stream, or
 * after it.
 * @example
 * ```ts
 * const x = ones(2, 3).t();
 * const { pointer, ...rest } = cuda.toPointer(x);
 * [pointer === x.dataPtr(), rest.device, rest.dtype, rest.shape, rest.strides] // [true, cpu, float32, [3, 2], [1, 3]]
 * ```
 * @torch torch.utils.dlpack.to_dlpack
 */
export function toPointer(tensor: Tensor): Pointer {
  [tensor] = inOrder<[Tensor]>("toPointer", FUNCTIONS.toPointer, arguments);
  const t = tensor;
  if (t.requiresGrad) {
    throw new RuntimeError("Can't export tensors that require gradient, use tensor.detach()", { op: "toPointer" });
  }
  if (!t.device.computes) throw new RuntimeError("a meta tensor has no elements", { op: "toPointer" });
  if (t._bits !== 0) throw new RuntimeError("Can't export tensors with the conjugate bit set", { op: "toPointer" });
  return {
    pointer: t.dataPtr(),
    device: String(t.device),
    dtype: t.dtype.name,
    shape: [...t._shape],
    strides: [...t._strides],
    // Another object over the bytes: they stay when the tensor is disposed.
    keeper: take(t.detach()),
  };
}

const isCount = (x: unknown): x is number => Number.isSafeInteger(x) && (x as number) >= 0;

function counts(x: unknown, name: string, op: string): number[] {
  if (!Array.isArray(x) || !x.every(isCount)) {
    throw new ValueError(`${name} must be a list of integers that are not negative`, { op });
  }
  return [...x];
}

interface Geometry {
  shape: number[];
  strides: number[];
  dtype: DType;
  /** From the first element to the end of the last one. */
  nbytes: number;
}

/** Sizes, strides and an element type that were given from outside, for an address. */
function geometry(given: Partial<Pointer | IpcHandle>, address: number, op: string): Geometry {
  const dtype = toDType(given.dtype as DTypeLike);
  const shape = counts(given.shape, "shape", op);
  const strides = counts(given.strides, "strides", op);
  if (shape.length !== strides.length) {
    throw new ValueError(`${shape.length} sizes have ${strides.length} strides`, { op });
  }
  checkSizes(shape, op);
  const nbytes = bytesNeeded(shape, strides, 0, dtype.itemsize);
  if (!isCount(numelOf(shape)) || !isCount(address + nbytes)) {
    throw new ValueError(`no memory has a tensor of sizes [${shape}] with strides [${strides}]`, { op });
  }
  if (address % dtype.itemsize !== 0 && nbytes > 0) {
    throw new ValueError(`the address ${address} is not that of an element of ${dtype}`, { op });
  }
  return { shape, strides, dtype, nbytes };
}

/**
 * A tensor over elements that lie somewhere already, on a device or on the CPU. Whoever says where they are answers for
 * it that they stay as long as `keeper` is reachable: a wrong address ends the program.
 * @example
 * ```ts
 * const x = ones(2, 3);
 * cuda.fromPointer(cuda.toPointer(x)).mul_(2);
 * x.sum().item() // 12
 * ```
 * @torch torch.utils.dlpack.from_dlpack
 */
export function fromPointer(given: Pointer): Tensor {
  [given] = inOrder<[Pointer]>("fromPointer", FUNCTIONS.fromPointer, arguments);
  if (!isDict(given) || !isCount(given.pointer)) {
    throw new ValueError("fromPointer: an address, a device, a dtype, a shape and strides are wanted", {
      op: "fromPointer",
    });
  }
  const device = toDevice(given.device);
  if (!device.computes) throw new ValueError("a meta tensor has no elements", { op: "fromPointer" });
  const { pointer, keeper = null } = given;
  const { shape, strides, dtype, nbytes } = geometry(given, pointer, "fromPointer");
  const storage = new Storage(pointer, nbytes, { keeper }, "borrowed", device === CPU ? CPU : device);
  return makeStrided(storage, 0, shape, strides, dtype);
}

/** What another process of this machine needs to open a tensor on a device. It may be sent as JSON. */
export interface IpcHandle {
  /** The driver's 64 bytes, in base64. */
  handle: string;
  /** The number of the device. */
  device: number;
  /** Where in the driver's allocation the tensor's bytes begin. */
  offset: number;
  /** How many bytes of that allocation there are, up to the end of the tensor's storage. */
  size: number;
  /** The element type. */
  dtype: string;
  /** Sizes. */
  shape: readonly number[];
  /** Strides in elements. */
  strides: readonly number[];
}

const HANDLE_BYTES = 64;

/**
 * What another process needs to open this tensor's memory. It has to stay alive here as long as others use it. The
 * work of the current stream is waited for first.
 * @example
 * ```ts
 * const sent = cuda.isAvailable() ? cuda.ipcHandle(ones(2, { device: "cuda" })).shape : [2];
 * sent // [2]
 * ```
 * @torch torch.multiprocessing.reductions.reduce_tensor
 */
export function ipcHandle(tensor: Tensor): IpcHandle {
  [tensor] = inOrder<[Tensor]>("ipcHandle", FUNCTIONS.ipcHandle, arguments);
  requireKept(tensor._storage);
  const { device, block, root } = tensor._storage;
  if (device.type !== "cuda" || block === 0) {
    throw new RuntimeError(`only memory that was allocated on a GPU can be given away, not a tensor on ${device}`, {
      op: "ipcHandle",
    });
  }
  if (tensor._bits !== 0)
    throw new RuntimeError("Can't export tensors with the conjugate bit set", { op: "ipcHandle" });
  const index = device.index as number;
  check(native.zs_cuda_stream_wait(index, currentHandle(index)), "cuda.ipcHandle");
  const bytes = new Uint8Array(HANDLE_BYTES);
  const before = new Float64Array(1);
  check(native.zs_cuda_ipc_export(block, addressOf(bytes), addressOf(before)), "cuda.ipcHandle");
  const [start] = before as unknown as [number];
  return {
    handle: Buffer.from(bytes).toString("base64"),
    device: index,
    offset: start + tensor._address() - root.address,
    size: start + root.nbytes,
    dtype: tensor.dtype.name,
    shape: [...tensor._shape],
    strides: [...tensor._strides],
  };
}

/**
 * The tensor of another process, over the same memory. The process that made it may not open it itself.
 * @param device where that memory is, by default the same number as there
 * @example
 * ```ts
 * typeof cuda.openIpc // function
 * ```
 * @torch torch.multiprocessing.reductions.rebuild_cuda_tensor
 */
export function openIpc(handle: IpcHandle, device?: CudaDeviceLike | null): Tensor {
  [handle, device] = inOrder<[IpcHandle, CudaDeviceLike?]>("openIpc", FUNCTIONS.openIpc, arguments);
  const op = "openIpc";
  const bytes = new Uint8Array(Buffer.from(String(handle?.handle ?? ""), "base64"));
  if (bytes.length !== HANDLE_BYTES || !isCount(handle.offset) || !isCount(handle.size)) {
    throw new ValueError("openIpc: what ipcHandle() gave in another process is wanted", { op });
  }
  const { offset, size } = handle;
  const { shape, strides, dtype, nbytes } = geometry(handle, offset, op);
  const behind = (room: number): ValueError =>
    new ValueError(`the tensor ends at byte ${offset + nbytes} of memory that has ${room}`, { op });
  if (nbytes > 0 && offset + nbytes > size) throw behind(size);
  const index = required(device ?? handle.device, "cuda.openIpc");
  const place = gpu(index);
  const opened = new Float64Array(3);
  check(native.zs_cuda_ipc_open(index, addressOf(bytes), addressOf(opened)), "cuda.openIpc");
  const [base, handleOfBlock, room] = opened as unknown as [number, number, number];
  const owner = ownForeignBlock(handleOfBlock);
  if (offset + nbytes > room) {
    releaseAnchor(owner);
    throw behind(room);
  }
  const storage = new Storage(base + offset, nbytes, owner, "device", place);
  return makeStrided(storage, 0, shape, strides, dtype);
}
