// Tensors on a CUDA device, emulated by the stand-in driver: memory, errors.
import { describe, expect, test } from "bun:test";
import { evaluate } from "../ffi/child.ts";
import { available, driverLibrary } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();
const env = { ZENSOR_LIBCUDA: process.env.ZENSOR_LIBCUDA ?? "" };

describe.if(available)("memory", () => {
  test("is counted as torch counts it", () => {
    const code = `
      const mb = (n) => (n / 1024 ** 2).toFixed(1);
      const x = z.empty(2500, 2500, { device: "cuda" });
      const before = z.cuda.memoryAllocated();
      z.cuda.resetPeakMemoryStats();
      const y = x.relu();
      const fresh = mb(z.cuda.maxMemoryAllocated() - before);
      y.dispose();
      z.cuda.resetPeakMemoryStats();
      x.relu_();
      const inPlace = mb(z.cuda.maxMemoryAllocated() - before);
      const small = z.zeros(3, { device: "cuda" });
      console.log(JSON.stringify([mb(before), fresh, inPlace, z.cuda.memoryAllocated() - before, small.nbytes]))`;
    expect(evaluate(code, env)).toEqual(["24.0", "24.0", "0.0", 512, 12]);
  }, 60_000);

  test("goes back when nobody has it, and serves again", () => {
    const code = `
      const x = z.ones(100000, { device: "cuda" });
      for (let i = 0; i < 1200; i++) (i % 20 === 0 ? x.mul(2) : z.emptyLike(x));
      const reserved = z.cuda.memoryReserved() / 2 ** 20;
      Bun.gc(true);
      const kept = z.cuda.memoryAllocated();
      for (let i = 0; i < 300; i++) (i % 20 === 0 ? x.mul(2) : z.emptyLike(x)).dispose();
      const flat = z.cuda.memoryAllocated() === kept;
      z.cuda.emptyCache();
      const left = z.cuda.memoryReserved() / 2 ** 20;
      console.log(JSON.stringify([reserved < 256, kept < 10 * x.nbytes, flat, left <= 40]))`;
    // All results together would be 458 MiB.
    expect(evaluate(code, env)).toEqual([true, true, true, true]);
  }, 60_000);

  test("that is not there is an error with what there is, and the program lives", () => {
    const code = `
      const e = caught(() => z.empty(2 ** 34, { device: "cuda" }));
      const x = z.ones(3, { device: "cuda" }).add(1).cpu().tolist();
      console.log(JSON.stringify([e.name, e.code, e.message, x]))`;
    const [name, errorCode, message, x] = evaluate(code, env) as [string, string, string, number[]];
    expect([name, errorCode, x]).toEqual(["OutOfMemoryError", "out_of_memory", [2, 2, 2]]);
    expect(message).toStartWith("CUDA out of memory. Tried to allocate 64.00 GiB. GPU 0 has a total capacity of ");
  }, 60_000);
});

describe.if(available)("what users see", () => {
  const value = (code: string): unknown => evaluate(`console.log(JSON.stringify(${code}))`, env);

  test("a tensor tells where it is", () => {
    expect(value('String(z.tensor([1.5, 2], { device: "cuda" }))')).toBe("tensor([1.5000, 2.0000], device='cuda:0')");
    expect(value('[z.ones(2).to("cuda").isCuda, z.ones(2).to("cuda").cpu().isCuda]')).toEqual([true, false]);
    expect(value('z.tensor([1, 2, 3], { device: "cuda" }).add(1).tolist()')).toEqual([2, 3, 4]);
  });

  test("operands on two devices are refused in torch's words", () => {
    const error = value('caught(() => z.ones(2, { device: "cuda" }).add(z.ones(2)))') as { message: string };
    expect(error.message).toContain("Expected all tensors to be on the same device");
  });

  test("elements that overlap are written one after another", () => {
    const code = `(() => {
      const turned = (t) => { t.unfold(0, 3, 1).neg_().square_(); return t.tolist(); };
      return [turned(z.arange(40)), turned(z.arange(40).to("cuda"))];
    })()`;
    const [onCpu, onDevice] = value(code) as [number[], number[]];
    expect(onDevice).toEqual(onCpu);
  });

  test("more dimensions than a kernel takes, and more elements than 31 bits count in steps", () => {
    const code = `(() => {
      const shape = Array.from({ length: 14 }, () => 2);
      const x = z.arange(2 ** 14).view(shape);
      const turned = (t) => t.permute(shape.map((_, i) => (i * 5) % 14)).add(t);
      return z.equal(turned(x), turned(x.to("cuda")).cpu());
    })()`;
    expect(value(code)).toBe(true);
  });
});
