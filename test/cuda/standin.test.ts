// The stand-in as a driver: its argument checks and codes, checked memory, and the faults that tests ask for.

import { toArrayBuffer } from "bun:ffi";
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  allocate,
  control,
  counter,
  cu,
  download,
  emulated,
  fault,
  free,
  HEAD,
  kernel,
  launch,
  load,
  ok,
  out,
  ptr,
  refusal,
  report,
  start,
  text,
  upload,
} from "./standin-driver.ts";

beforeAll(() => {
  if (emulated) start();
});

beforeEach(() => {
  if (!emulated) return;
  control("reset");
  control("clear");
});

/** Each thread below `n` adds 1 to its element. */
const ADD_ONE = `.visible .entry add_one(.param .u64 p, .param .u32 n) {
  .reg .pred %q; .reg .b32 %r<6>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r2, %r3, %r4, %r2;
  setp.ge.u32 %q, %r2, %r1;
  @%q bra $end;
  mad.wide.u32 %d2, %r2, 4, %d1;
  ld.global.u32 %r5, [%d2]; add.u32 %r5, %r5, 1; st.global.u32 [%d2], %r5;
$end:
  ret;
}`;

/** Room for results; its own buffer, as that of a small array moves when a part of it is taken. */
const place = () => new BigUint64Array(new ArrayBuffer(32));

describe.skipIf(!emulated)("the driver's calls", () => {
  test("devices answer, and others do not exist", () => {
    const n = new Int32Array(1);
    expect(cu.cuDeviceGetCount(ptr(n))).toBe(0);
    expect(n[0]).toBe(1);
    expect(cu.cuDeviceGet(ptr(n), 1)).toBe(101);
    expect(cu.cuDeviceGetAttribute(ptr(n), 75, 0)).toBe(0);
    expect(n[0]).toBe(8);
    expect(cu.cuDeviceGetAttribute(ptr(n), 0, 0)).toBe(1);
    expect(cu.cuDeviceGetAttribute(null, 75, 0)).toBe(1);
    const name = new Uint8Array(64);
    expect(cu.cuDeviceGetName(ptr(name), 64, 0)).toBe(0);
    expect(new TextDecoder().decode(name)).toContain("emulated");
    control("devices", 2);
    expect(cu.cuDeviceCanAccessPeer(ptr(n), 0, 1)).toBe(0);
    expect(n[0]).toBe(1);
  });

  test("results have names and sentences", () => {
    const p = place();
    expect(cu.cuGetErrorName(700, ptr(p))).toBe(0);
    expect(cu.cuGetErrorString(700, ptr(p))).toBe(0);
    expect(cu.cuGetErrorName(12345, ptr(p))).toBe(1);
    expect(p[0]).toBe(0n);
  });

  test("a context is needed, and none that is gone", () => {
    const p = place();
    const context = out((q) => cu.cuCtxGetCurrent(q as never));
    ok(cu.cuCtxSetCurrent(0n));
    expect(cu.cuMemAlloc_v2(ptr(p), 16n)).toBe(201);
    expect(cu.cuCtxSynchronize()).toBe(201);
    expect(cu.cuCtxSetCurrent(0x1234n)).toBe(201);
    ok(cu.cuCtxPushCurrent_v2(context));
    ok(cu.cuCtxSynchronize());
    ok(cu.cuCtxPopCurrent_v2(ptr(p)));
    expect(p[0]).toBe(context);
    expect(cu.cuCtxPopCurrent_v2(ptr(p))).toBe(201);
    ok(cu.cuCtxSetCurrent(context));
  });

  test("memory: addresses below 2^53 that the host cannot touch, poisoned, counted", () => {
    const [n, bytes] = [counter("allocations"), counter("allocated_bytes")];
    const at = allocate(100);
    expect(at % 256n).toBe(0n);
    expect(at < 1n << 53n && at >= 1n << 50n).toBe(true);
    expect(counter("allocations") - n).toBe(1);
    expect(counter("allocated_bytes") - bytes).toBe(100);
    expect([...download(at, new Uint8Array(100))].every((b) => b === 0xcd)).toBe(true);
    free(at);
    expect(cu.cuMemFree_v2(at)).toBe(1);
    expect(report()).toContain("freed");
    expect(cu.cuMemFree_v2(0n)).toBe(0);
    expect(cu.cuMemAlloc_v2(ptr(place()), 0n)).toBe(1);
    expect(cu.cuMemAlloc_v2(null, 8n)).toBe(1);
    expect(counter("allocations")).toBe(n);
  });

  test("large memory is reserved, not touched", () => {
    control("memory", 1n << 40n);
    const before = process.memoryUsage.rss();
    const at = allocate(2 ** 32);
    ok(cu.cuMemsetD32Async(at + 2n ** 31n, 7, 4n, 0n));
    expect([...download(at + 2n ** 31n, new Uint32Array(5))]).toEqual([7, 7, 7, 7, 0]);
    expect(process.memoryUsage.rss() - before).toBeLessThan(2 ** 27);
    free(at);
  });

  test("copies stay inside of allocations", () => {
    const at = upload(Uint8Array.of(1, 2, 3, 4));
    const other = allocate(4);
    const host = new Uint8Array(8);
    expect(cu.cuMemcpyDtoH_v2(ptr(host), at, 5n)).toBe(1);
    expect(report()).toContain("4 bytes at");
    expect(cu.cuMemcpyHtoD_v2(at + 2n, ptr(host), 3n)).toBe(1);
    expect(cu.cuMemcpyDtoD_v2(other, at, 8n)).toBe(1);
    expect(cu.cuMemcpyDtoD_v2(0n, at, 4n)).toBe(1);
    ok(cu.cuMemcpyDtoDAsync_v2(other, at, 4n, 0n));
    expect([...download(other, new Uint8Array(4))]).toEqual([1, 2, 3, 4]);
    expect(cu.cuMemcpyDtoDAsync_v2(other, at, 4n, 0x77n)).toBe(400);
    ok(cu.cuMemsetD8Async(other, 9, 2n, 0n));
    expect([...download(other, new Uint8Array(4))]).toEqual([9, 9, 3, 4]);
    expect(cu.cuMemsetD32Async(other + 1n, 9, 1n, 0n)).toBe(1);
    const p = place();
    ok(cu.cuPointerGetAttribute(ptr(p), 11, at + 3n));
    expect(p[0]).toBe(at);
    expect(cu.cuPointerGetAttribute(ptr(p), 11, 64n)).toBe(1);
    free(at);
    free(other);
  });

  test("pinned and registered host memory", () => {
    const before = counter("host_allocations");
    const at = out((p) => cu.cuMemHostAlloc(p as never, 4096n, 0));
    expect(counter("host_allocations")).toBe(before + 1);
    const kind = new Uint32Array(1);
    ok(cu.cuPointerGetAttribute(ptr(kind), 2, at + 100n));
    expect(kind[0]).toBe(1);
    ok(cu.cuMemFreeHost(at));
    expect(cu.cuMemFreeHost(at)).toBe(1);
    const own = new Uint8Array(64);
    ok(cu.cuMemHostRegister_v2(ptr(own), 64n, 0));
    expect(cu.cuMemHostRegister_v2(ptr(own), 64n, 0)).toBe(712);
    ok(cu.cuMemHostUnregister(ptr(own)));
    expect(cu.cuMemHostUnregister(ptr(own))).toBe(713);
  });

  test("streams and events: handles are checked, times are real", () => {
    const before = [counter("streams"), counter("events")];
    const s = out((p) => cu.cuStreamCreate(p as never, 1));
    const [a, b, untimed] = [0, 0, 2].map((flags) => out((p) => cu.cuEventCreate(p as never, flags))) as bigint[];
    const ms = new Float32Array(1);
    expect(cu.cuEventElapsedTime(ptr(ms), a as bigint, b as bigint)).toBe(400);
    ok(cu.cuEventRecord(a as bigint, s));
    Bun.sleepSync(5);
    ok(cu.cuEventRecord(b as bigint, s));
    ok(cu.cuStreamWaitEvent(s, b as bigint, 0));
    ok(cu.cuEventSynchronize(b as bigint));
    ok(cu.cuEventElapsedTime(ptr(ms), a as bigint, b as bigint));
    expect(ms[0]).toBeGreaterThan(4.5);
    expect(ms[0]).toBeLessThan(1000);
    ok(cu.cuEventRecord(untimed as bigint, s));
    expect(cu.cuEventElapsedTime(ptr(ms), a as bigint, untimed as bigint)).toBe(400);
    for (const e of [a, b, untimed]) ok(cu.cuEventDestroy_v2(e as bigint));
    expect(cu.cuEventRecord(a as bigint, s)).toBe(400);
    ok(cu.cuStreamDestroy_v2(s));
    expect(cu.cuStreamSynchronize(s)).toBe(400);
    expect([counter("streams"), counter("events")]).toEqual(before);
  });
});

describe.skipIf(!emulated)("modules and launches", () => {
  test("functions and variables are found by name", () => {
    const m = load(`.global .align 4 .u32 numbers[4] = {1, 2, 0xFF, -1};
      .const .f32 half = 0f3F000000;
      .global .u64 where[2] = {numbers, generic(numbers)+8};\n${ADD_ONE}`);
    const p = place();
    expect(cu.cuModuleGetFunction(ptr(p), m, ptr(text("nothing")))).toBe(500);
    ok(cu.cuModuleGetGlobal_v2(ptr(p), ptr(p.subarray(1)), m, ptr(text("numbers"))));
    expect(p[1]).toBe(16n);
    const numbers = p[0] as bigint;
    expect([...download(numbers, new Int32Array(4))]).toEqual([1, 2, 255, -1]);
    ok(cu.cuModuleGetGlobal_v2(ptr(p), null, m, ptr(text("where"))));
    expect([...download(p[0] as bigint, new BigUint64Array(2))]).toEqual([numbers, numbers + 8n]);
    expect(cu.cuMemFree_v2(numbers)).toBe(1);
    const f = kernel(m, "add_one");
    const before = counter("modules");
    ok(cu.cuModuleUnload(m));
    expect(counter("modules")).toBe(before - 1);
    expect(cu.cuModuleUnload(m)).toBe(400);
    expect(launch(f, 1, 1, [0n, 0])).toBe(400);
  });

  test("a launch's sizes and parameters are checked", () => {
    const f = kernel(load(ADD_ONE), "add_one");
    const at = upload(Uint32Array.of(1, 2, 3));
    expect(launch(f, 0, 1, [at, 3])).toBe(1);
    expect(launch(f, 1, 1025, [at, 3])).toBe(1);
    expect(launch(f, [1, 65536], 1, [at, 3])).toBe(1);
    expect(launch(f, 1, 32, [at, 3], 49153)).toBe(1);
    expect(report()).toContain("dynamic shared memory");
    ok(cu.cuFuncSetAttribute(f, 8, 64 << 10));
    expect(launch(f, 1, 32, [at, 3], 49153)).toBe(0);
    expect(cu.cuFuncSetAttribute(f, 8, 1 << 20)).toBe(1);
    expect(cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0n, null, null)).toBe(1);
    expect(cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 99n, null, null)).toBe(400);
    expect([...download(at, new Uint32Array(3))]).toEqual([2, 3, 4]);
    const buffer = new BigUint64Array([at, 2n]);
    const size = new BigUint64Array([12n]);
    const extra = new BigUint64Array([1n, BigInt(ptr(buffer)), 2n, BigInt(ptr(size)), 0n]);
    ok(cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0n, null, ptr(extra)));
    expect([...download(at, new Uint32Array(3))]).toEqual([3, 4, 4]);
    size[0] = 16n;
    expect(cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0n, null, ptr(extra))).toBe(1);
    const blocks = new Int32Array(1);
    ok(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(ptr(blocks), f, 256, 0n));
    expect(blocks[0]).toBe(8);
    free(at);
  });

  test.each([
    ["frobnicate.u32 %r1, %r1;", "unknown instruction 'frobnicate'"],
    ["add.u32.odd %r1, %r1, 1;", "unknown suffix '.odd'"],
    ["add.u32 %r1, %r1;", "2 operands, not 3"],
    ["add.u32 %r1, %d1, 1;", "a register of type b64 where u32 is wanted"],
    ["mov.u32 %r1, %r7;", "unknown register '%r7'"],
    ["mov.u32 %r1, %pm0;", "unknown register '%pm0'"],
    ["bra nowhere;", "no label 'nowhere'"],
    ["mul.u32 %r1, %r1, 2;", "neither .lo nor .hi nor .wide"],
    ["call missing;", "'missing' is no function"],
    ["and.f32 %r1, %r1, %r1;", "and of floats"],
    ["ld.global.u32 %r1, [unknown];", "no address"],
    ["tex.2d.v4.f32.s32 {%r1,%r1,%r1,%r1}, [t, {%r1,%r1}];", ""],
    [".reg .b32 %r<4>;", "declared twice"],
    ["st.const.u32 [%d1], %r1;", "a store to constant memory"],
  ])("refused, not skipped: %s", (line, words) => {
    const [code, told] = refusal(`.visible .entry k() { .reg .b32 %r<3>; .reg .b64 %d<3>; ${line} ret; }`);
    expect(code).toBe(218);
    expect(told).toStartWith("emulated");
    expect(told).toContain("line 4");
    expect(told).toContain(words);
  });

  test("the loader's log has the refusal", () => {
    const log = new Uint8Array(200);
    const names = Int32Array.of(5, 6, 3, 4);
    const values = new BigUint64Array([BigInt(ptr(log)), 200n, 0n, 0n]);
    const image = text(`${HEAD}.visible .entry k() { oops; }`);
    expect(cu.cuModuleLoadDataEx(ptr(place()), ptr(image), 4, ptr(names), ptr(values))).toBe(218);
    const told = new TextDecoder().decode(log.subarray(0, Number(values[1])));
    expect(told).toContain("unknown instruction 'oops'");
    expect(log[Number(values[1])]).toBe(0);
  });

  test("PTX for another device or a newer driver", () => {
    expect(refusal(HEAD.replace("sm_80", "sm_90"))[0]).toBe(209);
    expect(refusal(HEAD.replace("7.0", "8.5"))[0]).toBe(222);
    expect(refusal(HEAD.replace("7.0", "8.4"))[0]).toBe(0);
    control("capability", 90);
    expect(refusal(HEAD.replace("sm_80", "sm_90"))[0]).toBe(0);
    const elf = new Uint8Array(16).fill(0x7f);
    expect(cu.cuModuleLoadData(ptr(place()), ptr(elf))).toBe(200);
  });
});

/** One access at the address of a parameter. */
const poke = (line: string) => `.visible .entry k(.param .u64 p) {
  .reg .b64 %d<3>; .reg .b32 %r<3>; .shared .align 4 .b8 s[16]; .local .align 4 .b8 l[8];
  ld.param.u64 %d1, [p];
  ${line}
  ret;
}`;

describe.skipIf(!emulated)("every access is checked", () => {
  test.each([
    ["past the end", "ld.global.u32 %r1, [%d1+16];", 700, "0 bytes past the end of the allocation of 16 bytes"],
    ["across the end", "ld.global.u64 %d2, [%d1+12];", 716, "misaligned read of 8 bytes"],
    ["before", "st.global.u8 [%d1+-1], %r1;", 700, "illegal write of 1 bytes"],
    ["misaligned", "ld.global.u32 %r1, [%d1+2];", 716, "misaligned read of 4 bytes"],
    ["a vector", "ld.global.v4.u32 {%r1,%r1,%r1,%r1}, [%d1+4];", 716, "misaligned read of 16 bytes"],
    ["null", "mov.u64 %d1, 0; ld.u32 %r1, [%d1];", 700, "no address of device memory"],
    ["an atomic", "atom.global.add.u32 %r1, [%d1+16], 1;", 700, "illegal write of 4 bytes"],
    ["shared memory", "ld.shared.u32 %r1, [s+16];", 700, "(shared)"],
    ["local memory", "st.local.u32 [l+1024], %r1;", 700, "(local)"],
    ["a trap", "trap;", 719, "trapped"],
  ])("%s", (_, line, code, words) => {
    const at = upload(new Uint32Array(4));
    const [got, told] = fault(kernel(load(poke(line)), "k"), 1, 32, [at]);
    expect(got).toBe(code);
    expect(told).toStartWith("emulated CUDA");
    expect(told).toContain("kernel k, line ");
    expect(told).toContain(words);
    free(at);
  });

  test("memory that was freed, and constants", () => {
    const at = upload(new Uint32Array(4));
    free(at);
    const [code, told] = fault(kernel(load(poke("ld.global.u32 %r1, [%d1+4];")), "k"), 1, 1, [at]);
    expect(code).toBe(700);
    expect(told).toContain("4 bytes into an allocation of 16 bytes");
    expect(told).toContain("that was freed");
    const m = load(`.const .u32 c = 5;\n${poke("mov.u64 %d2, c; st.global.u32 [%d2], %r1;")}`);
    expect(fault(kernel(m, "k"), 1, 1, [at])[0]).toBe(700);
  });

  test("a fault is told at the next synchronisation, and by every call after it", () => {
    const at = upload(new Uint32Array(4));
    const f = kernel(load(ADD_ONE), "add_one");
    ok(launch(f, 1, 32, [at, 32]));
    ok(launch(f, 1, 4, [at, 4]));
    const host = new Uint32Array(4);
    expect(cu.cuMemcpyDtoH_v2(ptr(host), at, 16n)).toBe(700);
    expect(cu.cuMemAlloc_v2(ptr(place()), 16n)).toBe(700);
    expect(launch(f, 1, 4, [at, 4])).toBe(700);
    expect(cu.cuCtxSynchronize()).toBe(700);
    control("clear");
    ok(cu.cuCtxSynchronize());
    control("blocking", 1);
    expect(launch(f, 1, 32, [at, 32])).toBe(700);
    control("clear");
    free(at);
  });
});

describe.skipIf(!emulated)("pinned memory of the host", () => {
  test("is reached by kernels at its own address, and checked", () => {
    const at = out((p) => cu.cuMemHostAlloc(p as never, 16n, 3));
    const words = new Uint32Array(toArrayBuffer(Number(at) as never, 0, 16));
    words.fill(7);
    const f = kernel(load(poke("atom.global.cas.b32 %r1, [%d1+12], 7, 9; st.global.u32 [%d1], %r1;")), "k");
    ok(launch(f, 1, 1, [at]));
    ok(cu.cuCtxSynchronize());
    expect([...words]).toEqual([7, 7, 7, 9]);
    ok(cu.cuMemFreeHost(at));
    expect(fault(f, 1, 32, [at])[0]).toBe(700);
  });
});

describe.skipIf(!emulated)("faults on demand", () => {
  test("out of memory: now, after some, beyond bytes, beyond the device", () => {
    const p = place();
    const alloc = (n: number) => cu.cuMemAlloc_v2(ptr(p), BigInt(n));
    control("out_of_memory", 1);
    expect(alloc(1)).toBe(2);
    control("out_of_memory", 0);
    control("allocations_left", 1);
    expect([alloc(16), alloc(16)]).toEqual([0, 2]);
    free(p[0] as bigint);
    control("reset");
    const sizes = place();
    ok(cu.cuMemGetInfo_v2(ptr(sizes), ptr(sizes.subarray(1))));
    // Blocks take more than was asked for, those of other tests too.
    control("bytes_limit", (sizes[1] as bigint) - (sizes[0] as bigint) + 4096n);
    expect([alloc(1 << 20), alloc(256)]).toEqual([2, 0]);
    free(p[0] as bigint);
    control("reset");
    expect(alloc(7 * 2 ** 30)).toBe(2);
    ok(cu.cuMemGetInfo_v2(ptr(sizes), ptr(sizes.subarray(1))));
    expect(sizes[1]).toBe(6n << 30n);
  });

  test("a launch that fails, a lost device, a refused module, an unusable library", () => {
    const f = kernel(load(ADD_ONE), "add_one");
    const at = upload(new Uint32Array(4));
    control("fail_launch", 2);
    ok(launch(f, 1, 4, [at, 4]));
    ok(cu.cuCtxSynchronize());
    ok(launch(f, 1, 4, [at, 4]));
    expect(cu.cuStreamQuery(0n)).toBe(719);
    control("clear");
    control("lost", 999);
    expect(cu.cuCtxSynchronize()).toBe(999);
    expect(cu.cuMemFree_v2(at)).toBe(999);
    expect(report()).toContain("as was asked for");
    control("reset");
    control("refuse_module", 218);
    expect(refusal(ADD_ONE)[0]).toBe(218);
    control("reset");
    control("init_error", 803);
    expect(cu.cuInit(0)).toBe(803);
    control("reset");
    control("devices", 0);
    expect(cu.cuInit(0)).toBe(100);
    control("reset");
    control("version", 9020);
    const version = new Int32Array(1);
    ok(cu.cuDriverGetVersion(ptr(version)));
    expect(version[0]).toBe(9020);
    expect(() => control("nothing")).toThrow("no setting nothing");
    control("reset");
    expect([...download(at, new Uint32Array(1))]).toEqual([1]);
    free(at);
  });
});
