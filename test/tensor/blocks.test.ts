// Blocks of the native allocator, asked for directly: what is counted, what is kept and handed out again, what fails.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { MemoryStat } from "../../generated/abi.ts";
import { native } from "../../src/ffi/library.ts";
import { ones } from "../../src/index.ts";

const stat = (name: keyof typeof MemoryStat): number => native.zs_stat(MemoryStat[name]);
// What other tests have left is returned before anything is counted.
beforeEach(() => Bun.gc(true));
afterEach(() => native.zs_fail_alloc_after(-1));

test("a block that is parked counts as free, and comes back to its owner", () => {
  for (const n of [1000, 300_000, 3 << 20]) {
    native.zs_empty_cache();
    const block = native.zs_alloc(n);
    const [live, cached] = [stat("live"), stat("cached")];
    expect(native.zs_unpark(block)).toBe(0);
    expect(native.zs_park(block)).toBe(1);
    const size = live - stat("live");
    expect(size).toBe(Math.ceil(n / 512) * 512);
    expect(stat("cached") - cached).toBe(size);
    expect(native.zs_park(block)).toBe(0);
    expect(native.zs_unpark(block)).toBe(1);
    expect([stat("live"), stat("cached")]).toEqual([live, cached]);
    native.zs_keep(block);
    expect(native.zs_park(block)).toBe(0);
    native.zs_free(block);
    expect(stat("live")).toBe(live);
    expect(native.zs_park(block)).toBe(1);
    native.zs_free(block);
    // It is kept once, for the next one who asks, with what stands before it and its last page.
    expect(stat("live")).toBe(live - size);
    expect(stat("cached") - cached - size).toBeGreaterThanOrEqual(0);
    expect(stat("cached") - cached - size).toBeLessThanOrEqual(64 + 4096);
    expect(native.zs_alloc(n)).toBe(block);
    expect([stat("live"), stat("cached")]).toEqual([live, cached]);
    native.zs_free(block);
  }
});

test("a block is returned once by each owner, and no more", () => {
  const block = native.zs_alloc(5000);
  const live = stat("live");
  native.zs_keep(block);
  native.zs_free(block);
  expect(stat("live")).toBe(live);
  native.zs_free(block);
  const [after, cached] = [stat("live"), stat("cached")];
  expect(live - after).toBe(5120);
  native.zs_free(block);
  expect([stat("live"), stat("cached")]).toEqual([after, cached]);
});

test("the allocation that is told to fail does", () => {
  const passes = (n: number): boolean => {
    const block = native.zs_alloc(n);
    if (block !== 0) native.zs_free(block);
    return block !== 0;
  };
  for (const n of [0, 1, 3]) {
    native.zs_fail_alloc_after(n);
    expect(Array.from({ length: n + 3 }, () => passes(777))).toEqual(Array.from({ length: n + 3 }, (_, i) => i !== n));
  }
  const block = native.zs_alloc(777);
  expect(native.zs_park(block)).toBe(1);
  native.zs_fail_alloc_after(5);
  expect(native.zs_unpark(block)).toBe(0);
  native.zs_fail_alloc_after(-1);
  expect(native.zs_unpark(block)).toBe(1);
  native.zs_free(block);
});

test("blocks of some size lie side by side", () => {
  native.zs_empty_cache();
  const n = 200 * 1024;
  const blocks = Array.from({ length: 30 }, () => native.zs_alloc(n)).sort((a, b) => a - b);
  const steps = blocks.slice(1).map((block, i) => block - (blocks[i] as number));
  expect(Math.min(...steps)).toBeGreaterThanOrEqual(n);
  expect(steps.filter((step) => step < n + 4096).length).toBeGreaterThan(20);
  for (const block of blocks) native.zs_free(block);
});

test("large blocks are handed out again, the last one first", () => {
  native.zs_empty_cache();
  const n = 3 << 20;
  const blocks = Array.from({ length: 4 }, () => native.zs_alloc(n));
  for (const block of blocks) native.zs_free(block);
  expect(stat("cached")).toBeGreaterThanOrEqual(4 * n);
  expect(Array.from({ length: 4 }, () => native.zs_alloc(n))).toEqual(blocks.toReversed());
  for (const block of blocks) native.zs_free(block);
});

test("only free blocks of an age are written", () => {
  native.zs_empty_cache();
  const MIB = 1 << 20;
  for (const n of [20_000, 300_000, 3 * MIB]) {
    const kept = [native.zs_alloc(n), native.zs_alloc(n)];
    for (const block of kept) native.zs_set(block, 7, n);
    const free = native.zs_alloc(n);
    native.zs_set(free, 7, n);
    kept.push(native.zs_alloc(n));
    native.zs_set(kept[2] as number, 7, n);
    native.zs_free(free);
    // It is as old as the one that was handed out after it is large.
    const written = native.zs_write_aged(n / 2, 2 * n);
    expect(written).toBe(Math.min(64 * 1024, Math.floor((Math.ceil(n / 512) * 512 - 64) / 64) * 64));
    expect(native.zs_write_aged(1, n / 2)).toBe(0);
    expect(native.zs_write_aged(0, 0)).toBe(0);
    const expected = native.zs_alloc(n);
    native.zs_set(expected, 7, n);
    for (const block of kept) expect(native.zs_compare(block, expected, n)).toBe(0);
    for (const block of [...kept, expected]) native.zs_free(block);
    native.zs_empty_cache();
  }
});

test.skipIf(process.platform !== "linux")("it is known what fresh memory takes", () => {
  native.zs_free(native.zs_alloc(5 << 20));
  const perMiB = stat("fresh");
  expect(perMiB).toBeGreaterThan(100);
  expect(perMiB).toBeLessThan(1e9);
});

test("a buffer has all bytes of its block, though the collector was shown a part", () => {
  for (const n of [1000, 3000, 5000, 20_000, 100_000]) {
    const x = ones(n);
    const array = x.typedArray("float32");
    expect([array.length, array.buffer.byteLength]).toEqual([n, 4 * n]);
    x.fill_(3);
    expect(array.every((value) => value === 3)).toBe(true);
    const live = stat("live");
    x.dispose();
    expect(array.length).toBe(0);
    expect(live - stat("live")).toBe(Math.ceil((4 * n) / 512) * 512);
    // Another one of its size is not taken for it.
    const y = ones(n).dispose();
    const z = ones(n + 1);
    expect(z.sum().item()).toBe(n + 1);
    expect(y).toBeUndefined();
  }
});
