// The stand-in in processes of its own: settings from the environment, memory shared between processes, two devices,
// host threads at once.

import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { root, runProgram } from "../ffi/child.ts";
import {
  allocate,
  control,
  cu,
  download,
  emulated,
  free,
  ok,
  openIpc,
  out,
  ptr,
  report,
  start,
  upload,
} from "./standin-driver.ts";

beforeAll(() => {
  if (emulated) start();
});

const DRIVER = JSON.stringify(join(root, "test", "cuda", "standin-driver.ts"));

/** What lines of TypeScript with the driver as `s` print. */
function child(code: string, env: Record<string, string> = {}): string {
  const made = runProgram([process.execPath, "-e", `const s = await import(${DRIVER});\n${code}`], env);
  if (made.exitCode !== 0) throw new Error(made.stderr);
  return made.stdout.trim();
}

const LOG = "const say = (x) => console.log(JSON.stringify(x));";

describe.skipIf(!emulated)("settings from the environment", () => {
  test("make another device", () => {
    const code = `${LOG} s.ok(s.cu.cuInit(0)); const n = new Int32Array(4), b = new BigUint64Array(1);
      s.ok(s.cu.cuDeviceGetCount(s.ptr(n))); const count = n[0];
      s.ok(s.cu.cuDeviceGetAttribute(s.ptr(n), 75, 1)); const major = n[0];
      s.ok(s.cu.cuDeviceTotalMem_v2(s.ptr(b), 0)); s.ok(s.cu.cuDriverGetVersion(s.ptr(n)));
      say([count, major, Number(b[0]), n[0]]);`;
    const env = { ZENSOR_STANDIN: "devices=2,capability=90,memory=1048576 version=12080" };
    expect(JSON.parse(child(code, env))).toEqual([2, 9, 1048576, 12080]);
    expect(child(`${LOG} say(s.cu.cuInit(0))`, { ZENSOR_STANDIN: "devices=0" })).toBe("100");
    expect(child(`${LOG} say(s.cu.cuInit(0))`, { ZENSOR_STANDIN: "lost=46" })).toBe("46");
  });

  test("that nobody knows are named", () => {
    const words = [process.execPath, "-e", `const s = await import(${DRIVER}); s.start()`];
    expect(runProgram(words, { ZENSOR_STANDIN: "colour=5" }).stderr).toContain("unknown setting 'colour=5'");
  });
});

describe.skipIf(!emulated)("memory of another process", () => {
  test("is the same memory, until it is closed", () => {
    const at = upload(Uint32Array.of(1, 2, 3, 4));
    const handle = new Uint8Array(64);
    ok(cu.cuIpcGetMemHandle(ptr(handle), at));
    expect([...download(at, new Uint32Array(4))]).toEqual([1, 2, 3, 4]);
    // A handle is for others.
    expect(openIpc(ptr(new BigUint64Array(1)) as number, handle)).toBe(201);
    const code = `${LOG} s.start(); const h = Uint8Array.from(${JSON.stringify([...handle])});
      const at = s.out((p) => s.openIpc(p, h));
      const seen = [...s.download(at, new Uint32Array(4))];
      s.ok(s.cu.cuMemsetD32Async(at + 4n, 77, 2n, 0n));
      const freed = s.cu.cuMemFree_v2(at); s.ok(s.cu.cuIpcCloseMemHandle(at));
      say([seen, freed, s.cu.cuIpcCloseMemHandle(at)]);`;
    expect(JSON.parse(child(code))).toEqual([[1, 2, 3, 4], 1, 1]);
    expect([...download(at, new Uint32Array(4))]).toEqual([1, 77, 77, 4]);
    handle.fill(0);
    expect(openIpc(ptr(new BigUint64Array(1)) as number, handle)).toBe(1);
    free(at);
  });
});

describe.skipIf(!emulated)("two devices", () => {
  test("have memory and contexts of their own", () => {
    control("devices", 2);
    const first = out((p) => cu.cuCtxGetCurrent(p as never));
    const second = out((p) => cu.cuDevicePrimaryCtxRetain(p as never, 1));
    const a = upload(Uint32Array.of(5, 6));
    ok(cu.cuCtxPushCurrent_v2(second));
    const b = allocate(8);
    const device = new Int32Array(1);
    ok(cu.cuCtxGetDevice(ptr(device)));
    expect(device[0]).toBe(1);
    ok(cu.cuCtxEnablePeerAccess(first, 0));
    expect(cu.cuCtxEnablePeerAccess(first, 0)).toBe(704);
    expect(cu.cuMemcpyPeerAsync(b, first, a, second, 8n, 0n)).toBe(1);
    ok(cu.cuMemcpyPeerAsync(b, second, a, first, 8n, 0n));
    expect([...download(b, new Uint32Array(2))]).toEqual([5, 6]);
    // The last release ends the context and what it holds.
    ok(cu.cuDevicePrimaryCtxRelease_v2(1));
    expect(cu.cuMemAlloc_v2(ptr(new BigUint64Array(1)), 8n)).toBe(709);
    ok(cu.cuCtxPopCurrent_v2(ptr(new BigUint64Array(1))));
    expect(cu.cuMemFree_v2(b)).toBe(1);
    expect(report()).toContain("freed");
    free(a);
    control("reset");
  });
});

describe.skipIf(!emulated)("host threads", () => {
  test("allocate, copy and launch at once", () => {
    const worker = `const s = await import(${DRIVER});
      s.ok(s.cu.cuCtxSetCurrent(s.out((p) => s.cu.cuDevicePrimaryCtxRetain(p, 0))));
      const f = s.kernel(s.load(".visible .entry k(.param .u64 p) { .reg .b64 %d; .reg .b32 %r; " +
        "ld.param.u64 %d, [p]; mov.u32 %r, %tid.x; mad.wide.u32 %d, %r, 4, %d; " +
        "red.global.add.u32 [%d], %r; ret; }"), "k");
      let sum = 0;
      for (let i = 0; i < 200; i++) {
        const at = s.upload(new Uint32Array(64));
        s.ok(s.launch(f, 4, 64, [at]));
        for (const x of s.download(at, new Uint32Array(64))) sum += x;
        s.free(at);
      }
      postMessage(sum);`;
    const code = `s.start(); const text = ${JSON.stringify(worker)};
      const url = URL.createObjectURL(new Blob([text], { type: "application/typescript" }));
      const sums = await Promise.all([1, 2, 3, 4].map(() => new Promise((resolve, reject) => {
        const w = new Worker(url); w.onmessage = (e) => { resolve(e.data); w.terminate(); }; w.onerror = reject;
      })));
      console.log(JSON.stringify([sums, s.counter("allocations")]));`;
    const wanted = 200 * 4 * ((63 * 64) / 2);
    expect(JSON.parse(child(code))).toEqual([[wanted, wanted, wanted, wanted], 0]);
  });
});
