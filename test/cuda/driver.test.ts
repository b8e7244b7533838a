// The CUDA room: what programs see without a driver, with one that fails, and with a stand-in that has one device.

import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { compileLibrary, evaluate as run } from "../ffi/child.ts";

let stub = "";
const env: Record<string, string> = {};

beforeAll(() => {
  stub = compileLibrary(join(import.meta.dir, "stub_driver.zig"), "stub_driver");
  env.ZENSOR_LIBCUDA = stub;
}, 120_000);

const SUMMARY = `console.log(JSON.stringify([z.cuda.isAvailable(), z.cuda.deviceCount(), z.cuda.getDriverVersion()]))`;
const MAKE = 'console.log(JSON.stringify(caught(() => z.zeros(3, { device: "cuda" }))))';

describe("without a driver", () => {
  const none = { ZENSOR_LIBCUDA: "libzensor-no-such-driver.so.1" };

  test("nothing is available, and asking throws nothing", () => {
    expect(run(SUMMARY, none)).toEqual([false, 0, null]);
  });

  test("a CUDA device is a clear error", () => {
    const error = run(MAKE, none) as Record<string, string>;
    expect(error.name).toBe("RuntimeError");
    expect(error.code).toBe("cuda_no_driver");
    expect(error.message).toBe(
      "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from " +
        "http://www.nvidia.com/Download/index.aspx",
    );
  });

  test("a library that is no driver is called too old", () => {
    if (process.platform !== "linux") return;
    const error = run("console.log(JSON.stringify(caught(() => z.cuda.getDeviceName())))", {
      ZENSOR_LIBCUDA: "libc.so.6",
    }) as Record<string, string>;
    expect(error.code).toBe("cuda_old_driver");
  });
});

describe("with a stand-in driver", () => {
  test("one device is found, with its properties", () => {
    expect(run(SUMMARY, env)).toEqual([true, 1, "12.4"]);
    const code = `console.log(JSON.stringify([
      z.cuda.getDeviceName(), z.cuda.getDeviceName("cuda:0"), z.cuda.getDeviceCapability(0),
      z.cuda.getDeviceProperties(), z.cuda.memGetInfo(), z.cuda.memoryAllocated(), z.cuda.currentDevice()]))`;
    expect(run(code, env)).toEqual([
      "Zensor Stub GPU",
      "Zensor Stub GPU",
      [7, 5],
      { name: "Zensor Stub GPU", major: 7, minor: 5, totalMemory: 6 * 2 ** 30, multiProcessorCount: 34 },
      [5 * 2 ** 30, 6 * 2 ** 30],
      0,
      0,
    ]);
  });

  test("synchronize waits inside a context, or gives the driver's words", () => {
    const code = "z.cuda.synchronize(); z.cuda.synchronize(); console.log(1)";
    expect(run(code, env)).toBe(1);
    const fault = run("console.log(JSON.stringify(caught(() => z.cuda.synchronize())))", {
      ...env,
      ZENSOR_STUB_CUDA: "fault",
    }) as Record<string, string>;
    expect(fault.message).toBe("CUDA error: an illegal memory access was encountered");
  });

  test("a device that does not exist is refused by number", () => {
    const code = `console.log(JSON.stringify([caught(() => z.cuda.getDeviceName(1)),
      caught(() => z.cuda.getDeviceName(-1)),
      caught(() => z.cuda.getDeviceName("cpu"))]))`;
    const errors = run(code, env) as Record<string, string>[];
    expect(errors.map((e) => e.code)).toEqual(["cuda_device", "cuda_device", "device"]);
    expect(errors[0]?.message).toContain("invalid device ordinal: there is no cuda:1, this system has 1 device");
  });

  test("one that lacks what tensors need is called too old", () => {
    const error = run(MAKE, env) as Record<string, string>;
    expect(error.code).toBe("cuda_old_driver");
    expect(error.message).toStartWith("The NVIDIA driver on your system is too old");
  });

  test.each([
    ["no-device", "cuda_no_device", "No CUDA GPUs are available"],
    ["empty", "cuda_no_device", "No CUDA GPUs are available"],
    ["broken", "cuda", "CUDA error: unknown error"],
  ])("a driver that says %s", (mode, code, message) => {
    const env2 = { ...env, ZENSOR_STUB_CUDA: mode };
    expect(run(SUMMARY, env2)).toEqual([false, 0, null]);
    expect(run("console.log(JSON.stringify(caught(() => z.cuda.getDeviceName())))", env2)).toEqual({
      name: "RuntimeError",
      code,
      message,
    });
  });
});
