// To clone, post or compare a tensor reads every buffer behind it, and the host cannot read a device's memory. Emulated
// by the stand-in driver.
import { describe, expect, test } from "bun:test";
import { evaluate } from "../ffi/child.ts";
import { available, driverLibrary } from "./standin-driver.ts";

const env: Record<string, string> = available ? { ZENSOR_LIBCUDA: driverLibrary() } : {};

describe.if(available)("objects over memory of a device", () => {
  test("are refused with advice when they are cloned or posted", () => {
    const code = `
      const { serialize } = await import("node:v8");
      const { port1 } = new MessageChannel();
      const all = [];
      for (const n of [2, 3000]) {
        const x = z.ones(n, { device: "cuda" });
        for (const thing of [x, x.storage(), z.cuda.toPointer(x), x.clone().requiresGrad_().mul(2).gradFn, [x]]) {
          for (const send of [structuredClone, serialize, (o) => port1.postMessage(o)]) {
            const { code, message } = caught(() => send(thing));
            all.push(code === "not_cloneable" && message.includes("send toShared(MemoryMappedTensor"));
          }
        }
        caught(() => structuredClone(x.untypedStorage()));
        caught(() => structuredClone(new z.cuda.Event()));
      }
      console.log(JSON.stringify(all));
      process.exit(0);`;
    expect(evaluate(code, env)).toEqual(new Array(30).fill(true));
  }, 60_000);

  test("are compared and shown, but for what keeps the memory", () => {
    const code = `
      const { deepStrictEqual } = await import("node:assert");
      const [x, y] = [z.ones(3, { device: "cuda" }), z.ones(3, { device: "cuda" })];
      const parts = [Bun.deepEquals(x, x), Bun.deepEquals(x, y), caught(() => deepStrictEqual(x, y)).name];
      console.log(JSON.stringify([...parts, Bun.inspect(x._storage).includes("ArrayBuffer"), x.add(y).tolist()]))`;
    expect(evaluate(code, env)).toEqual([true, false, "AssertionError", false, [2, 2, 2]]);
  }, 60_000);
});
