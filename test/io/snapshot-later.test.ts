// Snapshots that are taken and restored while the program goes on.
import "../../src/install.ts";
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Snapshot, StateDict } from "../../src/io/snapshot/snapshot.ts";
import { Complex } from "../../src/tensor/complex.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { filesBelow, nativeGrowth, temporaryDirectory } from "../tensordict/helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
let count = 0;
const fresh = () => join(room.path, String(count++), "deep", "snapshot");

function stateOf(value: number) {
  return new StateDict({
    large: zeros([600, 1024]).add(value),
    turned: zeros([512, 300]).add(value).t(),
    small: zeros([3]).add(value),
    empty: zeros([0, 2]),
    complex: tensor([new Complex(value, -value)] as never),
    set: new Set([value]),
    list: [value, "text", null],
    bytes: new Uint8Array([value]),
  });
}

const OPTIONS = { maxChunkBytes: 2 ** 20, slabBytes: 4096 };

function expectState(snapshot: Snapshot, value: number) {
  const state = stateOf(-1);
  const large = state.values.large as Tensor;
  snapshot.restore({ appState: { state } });
  expect(state.values.large).toBe(large);
  for (const key of ["large", "turned", "small"]) {
    expect((state.values[key] as Tensor).eq(value).all().item()).toBe(true);
  }
  expect((state.values.complex as Tensor).tolist()).toEqual([new Complex(value, -value)] as never);
  expect(state.values.set).toEqual(new Set([value]));
  expect(state.values.list).toEqual([value, "text", null]);
  expect(state.values.bytes).toEqual(new Uint8Array([value]));
}

test("has what the state was when the promise came, in the files that take writes", async () => {
  const state = stateOf(2);
  const [path, other] = [fresh(), fresh()];
  const plain = Snapshot.take({ path: other, appState: { state }, maxChunkBytes: OPTIONS.maxChunkBytes });
  const pending = await Snapshot.asyncTake({
    path,
    appState: { state },
    maxChunkBytes: OPTIONS.maxChunkBytes,
    fsync: true,
  });
  for (const key of ["large", "turned", "small", "complex"]) (state.values[key] as Tensor).zero_();
  (state.values.set as Set<number>).clear();
  (state.values.bytes as Uint8Array).fill(0);
  Bun.gc(true);
  const snapshot = await pending.wait();
  expect(pending.done()).toBe(true);
  expectState(snapshot, 2);
  expect(filesBelow(path)).toEqual(filesBelow(plain.path));
  expect(readdirSync(join(path, ".."))).toEqual(["snapshot"]);
  expect(Snapshot.asyncTake({ path, appState: { state } })).rejects.toThrow("snapshot in this directory already");
});

test("goes into a directory that is there, with common files", async () => {
  const path = fresh();
  mkdirSync(join(path, "0"), { recursive: true });
  writeFileSync(join(path, "notes.txt"), "mine");
  const pending = await Snapshot.asyncTake({ path, appState: { state: stateOf(3) }, ...OPTIONS, numThreads: 2 });
  expectState(await pending.wait(), 3);
  expect(readdirSync(path).sort()).toEqual([".snapshot_metadata", "0", "batched", "notes.txt"]);
});

test("a signal leaves nothing of it", async () => {
  const path = fresh();
  const appState = { state: stateOf(4) };
  const refused = Snapshot.asyncTake({ path, appState, signal: AbortSignal.abort() });
  expect((await refused.catch((error) => error)).name).toBe("AbortError");
  const stop = new AbortController();
  const pending = await Snapshot.asyncTake({ path, appState, signal: stop.signal, onProgress: () => stop.abort() });
  expect((await pending.wait().catch((error) => error)).name).toBe("AbortError");
  expect(pending.done()).toBe(true);
  expect(existsSync(path)).toBe(false);
  expect(readdirSync(join(path, ".."))).toEqual([]);
});

test("restoreAsync fills tensors in place, contiguous or not", async () => {
  const path = fresh();
  const snapshot = Snapshot.take({ path, appState: { state: stateOf(5) }, ...OPTIONS });
  const state = stateOf(0);
  const turned = state.values.turned as Tensor;
  let last = 0;
  await snapshot.restoreAsync({ appState: { state }, onProgress: (done) => void (last = done) });
  expect(last).toBeGreaterThan(3);
  expect(state.values.turned).toBe(turned);
  for (const key of ["large", "turned", "small"]) {
    expect((state.values[key] as Tensor).eq(5).all().item()).toBe(true);
  }
  expect(state.values.list).toEqual([5, "text", null]);
  const stop = new AbortController();
  const loads: unknown[] = [];
  const watched = { stateDict: () => stateOf(0).stateDict(), loadStateDict: (value: never) => loads.push(value) };
  const restoring = snapshot.restoreAsync({
    appState: { state: watched },
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  expect((await restoring.catch((error) => error)).name).toBe("AbortError");
  expect(loads).toEqual([]);
});

test("native memory does not grow over hundreds of rounds", async () => {
  const state = new StateDict({ a: zeros([20_000]), t: zeros([200, 150]).t() });
  const growth = await nativeGrowth(async () => {
    for (let i = 0; i < 200; i++) {
      const path = fresh();
      await (await Snapshot.asyncTake({ path, appState: { state } })).wait();
      rmSync(join(path, "..", ".."), { recursive: true });
    }
  });
  expect(growth).toEqual({ bytes: 0, maps: 0 });
}, 120_000);
