// What the native side writes is still read once the functions around it are compiled: a small array that is a
// constant of compiled code would be moved away from the address that the native side has.
import { expect, test } from "bun:test";
import { evaluate } from "../ffi/child.ts";
import { available, driverLibrary } from "./standin-driver.ts";

test.if(available)(
  "statistics and addresses are right after very many calls",
  () => {
    const code = `
    const wrong = [];
    const kept = z.ones(1000, { device: "cuda" });
    for (let i = 0; i < 60000; i++) {
      const n = 512 * (1 + (i % 7));
      const t = z.empty(n, { dtype: "uint8", device: "cuda" });
      if (z.cuda.memoryAllocated() !== 4096 + n || t.dataPtr() === kept.dataPtr()) wrong.push(i);
      t.dispose();
    }
    console.log(JSON.stringify(wrong.slice(0, 3)))`;
    expect(evaluate(code, { ZENSOR_LIBCUDA: driverLibrary() })).toEqual([]);
  },
  60_000,
);
