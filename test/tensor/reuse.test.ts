// Blocks that were given back by hand serve again together with their owners: nobody else may have them then.
import { beforeEach, describe, expect, test } from "bun:test";
import { native } from "../../src/ffi/library.ts";
import { arange, cpu, empty, full } from "../../src/index.ts";
import { memoryCounters } from "../../src/tensor/system.ts";

const SIZE = 1000;
/** What lies on pages with blocks in use stays. */
const SHARED_PAGES = 2 ** 14;

describe("reuse of blocks that were disposed", () => {
  beforeEach(() => {
    Bun.gc(true);
    cpu.emptyCache();
  });

  test("a result of the same size gets the block, and the statistics see one block", () => {
    const before = memoryCounters();
    for (let i = 0; i < 100; i++) full([SIZE], i).dispose();
    const after = memoryCounters();
    expect(after.live).toBe(before.live);
    expect(after.requested).toBe(before.requested);
    expect(after.allocations - before.allocations).toBe(100);
    expect(after.frees - before.frees).toBe(100);
    expect(after.cached - before.cached).toBeLessThanOrEqual(4096);
    cpu.emptyCache();
    expect(memoryCounters().cached).toBeLessThanOrEqual(before.cached + SHARED_PAGES);
  });

  test("the peak counts blocks in use, not those that wait", () => {
    cpu.resetPeakMemoryStats();
    const start = cpu.memoryAllocated();
    for (const n of [1000, 2000, 3000, 4000]) empty(n).dispose();
    expect(cpu.maxMemoryAllocated() - start).toBe(16384);
  });

  test("sizes of one class do not share: a typed array has the tensor's length", () => {
    empty(1024).dispose();
    const x = empty(1000);
    expect((x.typedArray() as Float32Array).buffer.byteLength).toBe(4000);
    x.dispose();
    const y = empty(1001);
    expect((y.typedArray() as Float32Array).buffer.byteLength).toBe(4004);
  });

  test("a typed array over a disposed tensor is detached, and sees no later result", () => {
    const x = full([SIZE], 7);
    const seen = x.typedArray() as Float32Array;
    x.dispose();
    const y = full([SIZE], 8);
    expect(seen.length).toBe(0);
    expect(y.at(0).item()).toBe(8);
  });

  test("a view keeps the block of a tensor that was disposed", () => {
    const x = arange(SIZE).to("float32", { copy: true });
    const view = x.slice(0, 10, 20);
    x.dispose();
    full([SIZE], -1).dispose();
    expect(view.sum().item()).toBe(145);
  });

  test("a block with a second owner does not serve again", () => {
    const x = full([SIZE], 3);
    const owner = x._storage.own() as ArrayBuffer;
    const address = x._storage.address;
    x.dispose();
    const y = full([SIZE], 4);
    expect(y._storage.address).not.toBe(address);
    owner.transfer(0);
  });

  test("as many blocks as fit a bound wait, the others go back", () => {
    const cached = memoryCounters().cached;
    const many = Array.from({ length: 2000 }, () => empty(SIZE));
    for (const x of many) x.dispose();
    expect(memoryCounters().cached - cached).toBeGreaterThanOrEqual(2000 * 4096);
    native.zs_empty_cache();
    // What lies between blocks that wait shares pages with them.
    const waiting = Math.floor(2 ** 20 / (4 * SIZE)) * 4096;
    expect(Math.abs(memoryCounters().cached - cached - waiting)).toBeLessThanOrEqual(2 ** 16);
    cpu.emptyCache();
    expect(memoryCounters().cached).toBeLessThanOrEqual(cached + SHARED_PAGES);
  });

  test("storages that shrank, grew or were resized to nothing", () => {
    for (const n of [100, 2000, 0]) {
      const x = full([SIZE], 1);
      x.untypedStorage().resize_(4 * n);
      x.dispose();
      const y = full([SIZE], 2);
      expect(y.sum().item()).toBe(2000);
      y.dispose();
    }
  });
});
