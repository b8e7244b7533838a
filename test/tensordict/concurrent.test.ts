// Several processes and several Workers that write to one place at once: everybody gets what it wrote, what is left is
// whole, and nobody waits for one that has ended.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { runStepsLater } from "../../src/io/base/steps.ts";
import { DirectoryLock } from "../../src/io/disk/directory-lock.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { appendMemmap, fromConsolidated, TensorDict } from "../../src/tensordict/index.ts";
import { type Order, rowsOf } from "./concurrent-program.ts";
import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
const program = join(import.meta.dir, "concurrent-program.ts");
const VALUES = [1, 2, 3];

function inWorker(order: Order): Promise<string[]> {
  const worker = new Worker(program);
  return new Promise((resolve, reject) => {
    worker.onmessage = (event) => {
      resolve(event.data);
      worker.terminate();
    };
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage(order);
  });
}

async function inChild(order: Order): Promise<string[]> {
  let answer = ["no answer"];
  const child = Bun.spawn([process.execPath, program], {
    ipc: (message, self) => {
      answer = message as string[];
      self.kill();
    },
    serialization: "json",
    stdio: ["ignore", "inherit", "inherit"],
  });
  child.send(order);
  await child.exited;
  return answer;
}

/** Everybody at once; gives all that went wrong. */
async function together(where: typeof inChild, order: Omit<Order, "value">): Promise<string[]> {
  return (await Promise.all(VALUES.map((value) => where({ ...order, value })))).flat();
}

function loaded(path: string, way: string): Td {
  if (way.startsWith("consolidate")) return fromConsolidated(path);
  if (way.startsWith("toH5")) {
    using held = TensorDict.fromH5(path);
    return held.toTensorDict();
  }
  return TensorDict.loadMemmap(way.endsWith("archive") ? `${path}.tdz` : path) as unknown as Td;
}

describe.each([
  ["processes", inChild, 20],
  ["Workers", inWorker, 20],
] as const)("three %s at once", (_, where, rounds) => {
  test.each([
    "memmap",
    "memmapAsync",
    "memmap, atomic",
    "memmap, names not exchanged",
    "memmap_, atomic",
    "memmapAsync, atomic",
    "save to an archive",
    "saveAsync to an archive",
    "consolidate",
    "consolidateAsync",
    // The library may be one for the main thread only.
    ...(hdf5Engine() === null || where === inWorker ? [] : ["toH5", "toH5Async"]),
  ])(
    "%s",
    async (way) => {
      const path = join(room.fresh(), "target");
      expect(await together(where, { way, path, rounds })).toEqual([]);
      const td = loaded(path, way);
      const [a, b] = [td.get("a") as Tensor, td.get(["n", "b"]) as Tensor];
      const value = b.at(0).item() as number;
      expect(VALUES).toContain(value);
      expect([a.eq(value).all().item(), b.eq(value).all().item()]).toEqual([true, true]);
      // Nothing unfinished is left beside it.
      expect(readdirSync(dirname(path)).length).toBe(1);
    },
    60_000,
  );

  test("appendMemmap", async () => {
    const path = join(room.fresh(), "target");
    rowsOf(0, 0).memmap(path);
    expect(await together(where, { way: "appendMemmap", path, rounds })).toEqual([]);
    const td = loaded(path, "");
    const [a, b] = [td.get("a") as Tensor, td.get(["n", "b"]) as Tensor];
    let rows = 0;
    for (const value of VALUES) {
      const own = Array.from({ length: rounds }, (_, round) => 1 + ((7 * round + 3 * value) % 5));
      const count = own.reduce((sum, n) => sum + n, 0);
      expect(b.eq(value).sum().item()).toBe(count);
      rows += count;
    }
    expect(td.batchSize).toEqual([rows] as never);
    expect(a.eq(b.unsqueeze(1)).all().item()).toBe(true);
  }, 60_000);
});

describe("the lock on a directory", () => {
  test("goes with a process that is killed and with a Worker that is terminated", async () => {
    const path = join(room.fresh(), "target");
    rowsOf(1, 2).memmap(path);
    const sign = join(room.fresh(), "sign");
    const holding = (more: string) => `
      import { DirectoryLock } from ${JSON.stringify(join(import.meta.dir, "../../src/io/disk/directory-lock.ts"))};
      import { writeFileSync } from "node:fs";
      globalThis.held = DirectoryLock.take(${JSON.stringify(path)});
      ${more}
    `;
    const file = join(room.fresh(), "hold.ts");
    const wait = async (done: () => boolean) => {
      while (!done()) await Bun.sleep(2);
    };
    await Bun.write(file, holding(`writeFileSync(${JSON.stringify(sign)}, ""); setInterval(() => {}, 1000);`));
    const child = Bun.spawn([process.execPath, file], { stdio: ["ignore", "inherit", "inherit"] });
    await wait(() => existsSync(sign));
    const stopped = AbortSignal.timeout(50);
    expect(runStepsLater(DirectoryLock.taking(path, stopped))).rejects.toThrow();
    await wait(() => stopped.aborted);
    child.kill("SIGKILL");
    await child.exited;
    appendMemmap(path, rowsOf(1, 1));

    await Bun.write(file, holding(`postMessage("held"); setInterval(() => {}, 1000);`));
    const worker = new Worker(file);
    await new Promise((resolve) => {
      worker.onmessage = resolve;
    });
    worker.terminate();
    appendMemmap(path, rowsOf(1, 1));
    expect((loaded(path, "").get("a") as Tensor).shape[0]).toBe(4);
  }, 60_000);

  test("is not waited for by the thread that has it", async () => {
    const path = join(room.fresh(), "target");
    const saved = rowsOf(1, 2).memmap(path) as Td;
    using _ = DirectoryLock.take(path);
    rowsOf(2, 2).memmap(path);
    expect((saved.get("a") as Tensor).eq(2).all().item()).toBe(true);
    // A save in the background and one at once, to the same place.
    const later = rowsOf(3, 2).memmapAsync(join(path, "n"));
    rowsOf(4, 2).memmap(join(path, "n"));
    await later;
  });
});
