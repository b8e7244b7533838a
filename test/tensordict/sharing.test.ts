// Mapped tensors in Workers and child processes: the same memory, not a copy of it.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { native } from "../../src/ffi/library.ts";
import { arange, fromShared, lazyStack, ones, type Tensor, TensorDict, toShared } from "../../src/index.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { MemoryMappedTensor, type Shared, type SharedTensor } from "../../src/tensordict/index.ts";
import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
const program = join(import.meta.dir, "sharing-program.ts");

interface Answer {
  result?: { sum: number; text: string };
  error?: string;
}

function inWorker(shared: Shared): Promise<Answer> {
  const worker = new Worker(program);
  return new Promise((resolve, reject) => {
    worker.onmessage = (event) => {
      resolve(event.data);
      worker.terminate();
    };
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage({ shared });
  });
}

async function inChild(shared: Shared, rounds = 1): Promise<Answer> {
  let answer: Answer = { error: "no answer" };
  const child = Bun.spawn([process.execPath, program], {
    ipc: (message, self) => {
      answer = message as Answer;
      self.kill();
    },
    serialization: "json",
    stdio: ["ignore", "inherit", "inherit"],
  });
  child.send({ shared, rounds });
  await child.exited;
  return answer;
}

/** The code of an error of this package. */
function codeOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}

const file = () =>
  MemoryMappedTensor.fromTensor(arange(12).to("float32").reshape(3, 4), {
    filename: join(room.path, "f"),
    existsok: true,
  });
const memory = () => MemoryMappedTensor.fromTensor(arange(12).to("float32").reshape(3, 4));

for (const [where, send] of [
  ["a Worker", inWorker],
  ["a child process", inChild],
] as const) {
  describe(where, () => {
    test("writes into a mapped file", async () => {
      const t = file();
      expect((await send(toShared(t))).result?.sum).toBe(66);
      expect(t.sum().item()).toBe(78);
    });
    test("writes into memory without a file", async () => {
      const t = memory();
      const answer = await send(toShared(t));
      expect(answer.result).toEqual({ sum: 66, text: String(memory()) });
      expect(t.sum().item()).toBe(78);
    });
    test("sees a view with its offset and strides", async () => {
      const t = memory();
      const view = t.t() as Tensor;
      const column = t.at("1:, ::2") as Tensor;
      expect((await send(toShared(column))).result?.sum).toBe(4 + 6 + 8 + 10);
      expect(t.tolist()).toEqual([
        [0, 1, 2, 3],
        [5, 5, 7, 7],
        [9, 9, 11, 11],
      ]);
      expect((await send(toShared(view))).result?.sum).toBe(66 + 4);
      expect(t.sum().item()).toBe(66 + 4 + 12);
    });
    test("gets a TensorDict with everything in it", async () => {
      const td = new TensorDict({ a: ones(2, 3), n: { b: arange(2) }, s: "text", v: ["x", "y"] }, [2]).memmap();
      const before = String(fromShared(toShared(td as unknown as Td)));
      const { result } = await send(toShared(td as unknown as Td));
      expect(result).toEqual({ sum: 6 + 1, text: before });
      expect((td.get("a") as Tensor).sum().item()).toBe(12);
      const lazy = lazyStack([td, td.clone().memmap()]) as unknown as Td;
      expect((await send(toShared(lazy))).result?.sum).toBe(2 * (12 + 3));
      // Memory without a file goes with the last tensor over it.
      expect([...lazy.batchSize]).toEqual([2, 2]);
    });
  });
}

describe("references", () => {
  test("are JSON", () => {
    const kept = memory();
    const other = fromShared(JSON.parse(JSON.stringify(toShared(kept))) as SharedTensor);
    expect(other).toBeInstanceOf(MemoryMappedTensor);
    expect(other.tolist()).toEqual(kept.tolist());
  });
  test("only mapped tensors have one", () => {
    expect(() => toShared(ones(3))).toThrow("only memory-mapped tensors can be shared");
    expect(() => toShared(new TensorDict({ a: ones(1) }) as unknown as Td)).toThrow("only memory-mapped tensors");
  });
  test("a file that was replaced, shortened or removed is refused", () => {
    const filename = join(room.path, "replaced");
    const make = () => MemoryMappedTensor.fromTensor(ones(1000), { filename, existsok: true });
    const shared = toShared(make());
    writeFileSync(filename, new Uint8Array(100));
    expect(() => fromShared(shared)).toThrow(/smaller than the required/);
    rmSync(filename);
    expect(() => fromShared(shared)).toThrow(/No such file/);
    writeFileSync(join(room.path, "other"), "x");
    make();
    expect(() => fromShared(shared)).toThrow(/was replaced since the reference was made|smaller/);
  });
  test("a tensor whose file lost its name since it was mapped is not shared: others see another file", async () => {
    const path = join(room.path, "saved");
    const save = (value: number) => new TensorDict({ a: ones(1000).mul(value) }).memmapAsync(path);
    const old = (await save(1)) as unknown as Td;
    expect(() => toShared(old)).not.toThrow();
    const now = (await save(2)) as unknown as Td;
    expect(() => toShared(old)).toThrow("a.memmap was replaced since it was mapped");
    expect((old.at("a") as Tensor).max().item()).toBe(1);
    expect(((fromShared(toShared(now)) as Td).at("a") as Tensor).max().item()).toBe(2);
  });
  test("tensors without elements have no memory, wherever they lie", () => {
    const td = new TensorDict({ a: ones(2, 0), b: ones(2) }, [2]).memmap(join(room.path, "empty")) as unknown as Td;
    for (const value of [td, memory().at("0:0")]) {
      const other = fromShared(JSON.parse(JSON.stringify(toShared(value)))) as Td;
      expect(other.shape).toEqual(value.shape);
      if (other instanceof TensorDict) expect((other.at("a") as Tensor).shape).toEqual([2, 0] as never);
    }
  });
  test("memory that is gone is refused", async () => {
    let t: Tensor | null = memory();
    const shared = toShared(t) as { tensor: { memory: { owner: { descriptor: number } } } };
    (t as unknown as Disposable)[Symbol.dispose]();
    t = null;
    expect(() => fromShared(shared as never)).toThrow(/No such file|is gone|was replaced/);
  });
  test("lies are refused", () => {
    const good = toShared(memory()) as unknown as { kind: "tensor"; tensor: Record<string, unknown> };
    const lies: Record<string, unknown>[] = [
      { dtype: "float7" },
      { dtype: 3 },
      { shape: [3, 5] },
      { shape: [-1, 4] },
      { shape: [2 ** 53, 2 ** 53], strides: [0, 0], offset: 12 },
      { shape: [2 ** 52, 2 ** 52], strides: [0, 0] },
      { shape: [4], strides: [4, 1] },
      { strides: [4, -1] },
      { strides: [2 ** 50, 1] },
      { offset: 1 },
      { offset: -1 },
      { offset: 0.5 },
      { shape: [0], strides: [1], offset: 13 },
      { memory: null },
      { memory: { ...(good.tensor.memory as object), nbytes: 1e15 } },
      { memory: { ...(good.tensor.memory as object), mode: "w" } },
      { memory: { ...(good.tensor.memory as object), owner: null } },
      { memory: { ...(good.tensor.memory as object), owner: { pid: 1, descriptor: 0 } } },
      { memory: { ...(good.tensor.memory as object), path: "relative" } },
      { memory: { ...(good.tensor.memory as object), path: "/etc/passwd" } },
      { memory: { ...(good.tensor.memory as object), path: "/dev/zero" } },
    ];
    for (const lie of lies) {
      expect(codeOf(() => fromShared({ kind: "tensor", tensor: { ...good.tensor, ...lie } } as never))).toBeString();
    }
    const level = { batchSize: [], device: null, names: null };
    const empty = { kind: "tensordict", entries: [], ...level };
    const nonsense: unknown[] = [
      null,
      3,
      {},
      { kind: "tensordict" },
      { ...empty, entries: null },
      { ...empty, entries: [3] },
      { ...empty, entries: [[2 ** 31, empty]] },
      { ...empty, batchSize: [2], names: ["a", "b"] },
      { ...empty, batchSize: [2], names: [3] },
      { ...empty, device: {} },
      { kind: "tensorclass", entries: [], qualified: null, ...level },
      { kind: "value", className: null, value: 1, ...level },
      { kind: "values", values: null, stackDim: 0, ...level },
      { kind: "values", values: [1, 2], stackDim: 0, ...level, batchSize: [3] },
      { kind: "lazy", members: 1 },
      { kind: "lazy", members: [], stackDim: 0, name: null },
      { kind: "lazy", members: [good], stackDim: 0, name: null },
      { kind: "lazy", members: [empty], stackDim: 1, name: null },
      { kind: "lazy", members: [empty], stackDim: "0", name: null },
      { kind: "lazy", members: [empty, { ...empty, batchSize: [1] }], stackDim: 0, name: null },
      { kind: "lazy", members: [empty], stackDim: 0, name: 3 },
    ];
    for (const lie of nonsense) expect(codeOf(() => fromShared(lie as never))).toBeString();
    expect(fromShared(empty as never)).toBeInstanceOf(TensorDict);
  });
  test("mappings and descriptors are given back", () => {
    const descriptors = () => readdirSync("/proc/self/fd").length;
    const kept = memory();
    const shared = toShared(kept);
    const t = fromShared(shared);
    Bun.gc(true);
    const [maps, open] = [native.zs_io_live_maps(), descriptors()];
    for (let i = 0; i < 1000; i++) {
      fromShared(shared);
      memory();
      if (i % 100 === 0) Bun.gc(true);
    }
    Bun.gc(true);
    expect(native.zs_io_live_maps()).toBeLessThanOrEqual(maps + 2);
    expect(descriptors()).toBeLessThanOrEqual(open + 2);
    expect(
      kept
        .add(t as Tensor)
        .sum()
        .item(),
    ).toBe(132);
  });
});
