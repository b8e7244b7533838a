// Memory of a device that backward gives back as it goes, emulated: while the program holds all that it was given.
import { describe, expect, test } from "bun:test";
import { buildStandin } from "../../scripts/standin.ts";
import { evaluate } from "../ffi/child.ts";
import { emulated } from "./standin-driver.ts";

const driver = emulated ? buildStandin() : "";

describe.if(emulated)("what backward gives back", () => {
  test("a chain has two gradients at once; a layer norm leaves its result", () => {
    const code = `
      const place = { device: "cuda" };
      const block = 64 * 64 * 4;
      const blocks = (work) => {
        Bun.gc(true);
        const before = z.cuda.memoryAllocated();
        z.cuda.resetPeakMemoryStats();
        const result = work();
        const left = z.cuda.memoryAllocated() - before;
        return [Math.round(left / block) + 0, Math.round((z.cuda.maxMemoryAllocated() - before) / block), result];
      };
      const x = z.ones(64, 64, place).requiresGrad_();
      const held = [x];
      for (let i = 0; i < 10; i++) held.push(held[i].tanh());
      const out = held[10].sum();
      const chain = blocks(() => out.backward()).slice(0, 2);
      const norm = blocks(() => z.noGrad(() => z.nn.functional.layerNorm(x, [64])))[0];
      console.log(JSON.stringify([chain, norm, x.grad.cpu().sum().item() > 0]));`;
    type Found = [chain: [number, number], norm: number, some: boolean];
    const [chain, norm, some] = evaluate(code, { ZENSOR_LIBCUDA: driver }) as Found;
    expect(chain[0]).toBe(1);
    expect(chain[1]).toBeLessThanOrEqual(3);
    expect(norm).toBe(1);
    expect(some).toBe(true);
  }, 60_000);
});
