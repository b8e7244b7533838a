// The stand-in for the CUDA driver as tests use it: its entry points, and short words for what tests do with them.
// ZENSOR_TEST_DRIVER names the library of a real driver, on whose device tests run then, without what the stand-in
// alone has: ZENSOR_TEST_DRIVER=libcuda.so.1 bun test test/cuda

import { dlopen, FFIType, ptr } from "bun:ffi";
import { buildStandin } from "../../scripts/standin.ts";

const P = FFIType.ptr;
const I = FFIType.i32;
const U = FFIType.u32;
const L = FFIType.u64;

const SYMBOLS = {
  cuInit: { args: [U], returns: I },
  cuDriverGetVersion: { args: [P], returns: I },
  cuGetErrorString: { args: [I, P], returns: I },
  cuGetErrorName: { args: [I, P], returns: I },
  cuDeviceGetCount: { args: [P], returns: I },
  cuDeviceGet: { args: [P, I], returns: I },
  cuDeviceGetName: { args: [P, I, I], returns: I },
  cuDeviceGetUuid_v2: { args: [P, I], returns: I },
  cuDeviceGetAttribute: { args: [P, I, I], returns: I },
  cuDeviceTotalMem_v2: { args: [P, I], returns: I },
  cuDevicePrimaryCtxRetain: { args: [P, I], returns: I },
  cuDevicePrimaryCtxRelease_v2: { args: [I], returns: I },
  cuDevicePrimaryCtxGetState: { args: [I, P, P], returns: I },
  cuCtxSetCurrent: { args: [L], returns: I },
  cuCtxGetCurrent: { args: [P], returns: I },
  cuCtxPushCurrent_v2: { args: [L], returns: I },
  cuCtxPopCurrent_v2: { args: [P], returns: I },
  cuCtxSynchronize: { args: [], returns: I },
  cuCtxGetDevice: { args: [P], returns: I },
  cuDeviceCanAccessPeer: { args: [P, I, I], returns: I },
  cuCtxEnablePeerAccess: { args: [L, U], returns: I },
  cuMemGetInfo_v2: { args: [P, P], returns: I },
  cuMemAlloc_v2: { args: [P, L], returns: I },
  cuMemFree_v2: { args: [L], returns: I },
  cuMemHostAlloc: { args: [P, L, U], returns: I },
  cuMemFreeHost: { args: [L], returns: I },
  cuMemHostRegister_v2: { args: [P, L, U], returns: I },
  cuMemHostUnregister: { args: [P], returns: I },
  cuPointerGetAttribute: { args: [P, I, L], returns: I },
  cuMemcpyHtoD_v2: { args: [L, P, L], returns: I },
  cuMemcpyDtoH_v2: { args: [P, L, L], returns: I },
  cuMemcpyDtoD_v2: { args: [L, L, L], returns: I },
  cuMemcpyHtoDAsync_v2: { args: [L, P, L, L], returns: I },
  cuMemcpyDtoHAsync_v2: { args: [P, L, L, L], returns: I },
  cuMemcpyDtoDAsync_v2: { args: [L, L, L, L], returns: I },
  cuMemcpyPeerAsync: { args: [L, L, L, L, L, L], returns: I },
  cuMemsetD8Async: { args: [L, FFIType.u8, L, L], returns: I },
  cuMemsetD32Async: { args: [L, U, L, L], returns: I },
  cuModuleLoadData: { args: [P, P], returns: I },
  cuModuleLoadDataEx: { args: [P, P, U, P, P], returns: I },
  cuModuleUnload: { args: [L], returns: I },
  cuModuleGetFunction: { args: [P, L, P], returns: I },
  cuModuleGetGlobal_v2: { args: [P, P, L, P], returns: I },
  cuFuncGetAttribute: { args: [P, I, L], returns: I },
  cuFuncSetAttribute: { args: [L, I, I], returns: I },
  cuLaunchKernel: { args: [L, U, U, U, U, U, U, U, L, P, P], returns: I },
  cuLaunchHostFunc: { args: [L, P, P], returns: I },
  cuOccupancyMaxActiveBlocksPerMultiprocessor: { args: [P, L, I, L], returns: I },
  cuStreamCreate: { args: [P, U], returns: I },
  cuStreamCreateWithPriority: { args: [P, U, I], returns: I },
  cuStreamDestroy_v2: { args: [L], returns: I },
  cuStreamSynchronize: { args: [L], returns: I },
  cuStreamQuery: { args: [L], returns: I },
  cuStreamWaitEvent: { args: [L, L, U], returns: I },
  cuEventCreate: { args: [P, U], returns: I },
  cuEventDestroy_v2: { args: [L], returns: I },
  cuEventRecord: { args: [L, L], returns: I },
  cuEventQuery: { args: [L], returns: I },
  cuEventSynchronize: { args: [L], returns: I },
  cuEventElapsedTime: { args: [P, L, L], returns: I },
  cuIpcGetMemHandle: { args: [P, L], returns: I },
  // The handle is a struct of 64 bytes by value: on the stack where registers are full, elsewhere by its address.
  cuIpcOpenMemHandle_v2: {
    args: process.arch === "x64" ? [P, U, L, L, L, L, L, L, L, L, L, L, L, L] : [P, P, U],
    returns: I,
  },
  cuIpcCloseMemHandle: { args: [L], returns: I },
  zsStandinControl: { args: [P, L], returns: I },
  zsStandinReport: { args: [], returns: FFIType.cstring },
  zsStandinCounter: { args: [P], returns: FFIType.u64_fast },
} as const;

/** CUDA is for Linux and Windows; its stand-in is for Linux alone. */
export const available = process.platform === "linux";

const real = process.env.ZENSOR_TEST_DRIVER ?? "";
/** Whether it is the stand-in, with its settings, faults and counts. */
export const emulated = available && real === "";

/** The library of the driver that tests use. */
export const driverLibrary = (): string => (real === "" ? buildStandin() : real);

const open = () => dlopen(buildStandin(), SYMBOLS).symbols;

export const cu: ReturnType<typeof open> = emulated ? open() : (undefined as never);

const texts = new Map<string, Buffer>();

/** A text for the driver. Its bytes stay: of a pointer to them the collector knows nothing. */
export function text(words: string): Buffer {
  const bytes = texts.get(words) ?? Buffer.from(`${words}\0`);
  texts.set(words, bytes);
  return bytes;
}

/** The last thing that the stand-in told. */
export const report = (): string => String(cu.zsStandinReport());

/** What the stand-in counts; nothing on a real device. */
export const counter = (name: string): number => (emulated ? Number(cu.zsStandinCounter(ptr(text(name)))) : 0);

export function control(name: string, value: number | bigint = 0): void {
  if (cu.zsStandinControl(ptr(text(name)), BigInt(value)) !== 0) throw new Error(`no setting ${name}`);
}

/** Throws unless a call succeeded. */
export function ok(code: number): void {
  if (code !== 0) throw new Error(`code ${code}: ${report()}`);
}

/** What a call writes to its first argument. */
export function out(call: (place: number) => number): bigint {
  const place = new BigUint64Array(1);
  ok(call(Number(ptr(place))));
  return place[0] as bigint;
}

/** Opens the memory of a handle, whose address goes to `place`. */
export function openIpc(place: number, handle: Uint8Array, flags = 1): number {
  const open = cu.cuIpcOpenMemHandle_v2 as unknown as (...args: (number | bigint)[]) => number;
  if (process.arch !== "x64") return open(place, ptr(handle) as number, flags);
  return open(place, flags, 0n, 0n, 0n, 0n, ...new BigUint64Array(handle.slice().buffer));
}

/** The library made ready: one device, its context current. */
export function start(): void {
  control("reset");
  control("clear");
  ok(cu.cuInit(0));
  const context = out((p) => cu.cuDevicePrimaryCtxRetain(p as never, 0));
  ok(cu.cuCtxSetCurrent(context));
}

export const HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n";

/** Loads PTX; the head may be left out. */
export function load(ptx: string): bigint {
  const image = text(ptx.trimStart().startsWith("//") || ptx.includes(".version") ? ptx : HEAD + ptx);
  return out((p) => cu.cuModuleLoadData(p as never, ptr(image)));
}

/** The code with which PTX is refused, and the text. */
export function refusal(ptx: string): [number, string] {
  const place = new BigUint64Array(1);
  const code = cu.cuModuleLoadData(ptr(place), ptr(text(ptx.includes(".version") ? ptx : HEAD + ptx)));
  return [code, code === 0 ? "" : report()];
}

export function kernel(module: bigint, name: string): bigint {
  return out((p) => cu.cuModuleGetFunction(p as never, module, ptr(text(name))));
}

export const allocate = (bytes: number): bigint => out((p) => cu.cuMemAlloc_v2(p as never, BigInt(bytes)));

/** Device memory with a copy of an array. */
export function upload(data: NodeJS.TypedArray): bigint {
  const at = allocate(Math.max(1, data.byteLength));
  if (data.byteLength > 0) ok(cu.cuMemcpyHtoD_v2(at, ptr(data), BigInt(data.byteLength)));
  return at;
}

export function download<T extends NodeJS.TypedArray>(at: bigint, into: T): T {
  ok(cu.cuMemcpyDtoH_v2(ptr(into), at, BigInt(into.byteLength)));
  return into;
}

export const free = (at: bigint): void => ok(cu.cuMemFree_v2(at));

export type Size = number | [number, number?, number?];

const three = (size: Size): [number, number, number] =>
  typeof size === "number" ? [size, 1, 1] : [size[0], size[1] ?? 1, size[2] ?? 1];

/** Launches; a bigint is a 64-bit parameter, a number a 32-bit one. The code of the launch itself. */
export function launch(f: bigint, grid: Size, block: Size, args: (bigint | number)[], shared = 0): number {
  const values = args.map((a) => (typeof a === "bigint" ? new BigUint64Array([a]) : new Uint32Array([a])));
  const places = new BigUint64Array(values.map((v) => BigInt(ptr(v))));
  const [gx, gy, gz] = three(grid);
  const [bx, by, bz] = three(block);
  const params = places.length > 0 ? ptr(places) : null;
  return cu.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, 0n, params, null);
}

/** Launches and waits: the code that the synchronisation gives, and what the stand-in tells. */
export function fault(f: bigint, grid: Size, block: Size, args: (bigint | number)[], shared = 0): [number, string] {
  control("clear");
  ok(launch(f, grid, block, args, shared));
  const code = cu.cuCtxSynchronize();
  const told = report();
  control("clear");
  return [code, told];
}

export { ptr };
