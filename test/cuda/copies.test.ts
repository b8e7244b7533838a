// Copies from a device to the CPU: through how much pinned memory, and into files that end too early. Emulated by the
// stand-in driver.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "../../src/index.ts";
import { pinnedMemory } from "../../src/tensor/storage.ts";
import { available, driverLibrary } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

const MIB = 2 ** 20;
const folder = mkdtempSync(join(tmpdir(), "zensor-copies-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The largest pinned block that a function asks for. */
function mostPinned(f: () => void): number {
  const { allocate } = pinnedMemory;
  let most = 0;
  pinnedMemory.allocate = (nbytes) => {
    most = Math.max(most, nbytes);
    return allocate(nbytes);
  };
  try {
    f();
  } finally {
    pinnedMemory.allocate = allocate;
  }
  return most;
}

describe.if(available)("to the CPU", () => {
  const values = z.arange(10 * MIB + 3, { dtype: "float32" });

  test("large tensors of a TensorDict go through a block of one piece", () => {
    const td = new z.TensorDict({ first: z.ones(3), large: values, last: z.ones(2).double() }, []).to("cuda");
    const all: z.TensorDict[] = [];
    expect(mostPinned(() => all.push(td.cpu(), td.consolidate({ device: "cpu" })))).toBe(32 * MIB);
    for (const back of all) {
      expect(z.equal(back.get("large") as z.Tensor, values)).toBe(true);
      expect([back.get("first"), back.get("last")].map((t) => (t as z.Tensor).tolist())).toEqual([
        [1, 1, 1],
        [1, 1],
      ]);
    }
  }, 60_000);

  test("mapped files are written, and one that was cut short is an error of the copy", () => {
    const mapped = (name: string, t: z.Tensor): [z.Tensor, string] => {
      new z.TensorDict({ t }, []).memmap(join(folder, name));
      return [z.TensorDict.loadMemmap(join(folder, name)).get("t") as z.Tensor, join(folder, name, "t.memmap")];
    };
    const [whole] = mapped("whole", z.zeros(10 * MIB + 3));
    whole.copy_(values.cuda());
    expect(z.equal(whole, values)).toBe(true);
    const [short, file] = mapped("short", z.zeros(100_000));
    const fresh = z.ones(100_000, { device: "cuda" });
    truncateSync(file, 4096);
    expect(() => short.copy_(fresh)).toThrow(z.errors.ZensorError);
    expect(z.ones(1).add(1).tolist()).toEqual([2]);
  }, 60_000);
});
