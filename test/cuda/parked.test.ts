// Small blocks on a device that were given back by hand serve the next who asks for one like them, and count as free
// until then. Emulated by the stand-in driver.
import { describe, expect, test } from "bun:test";
import { evaluate } from "../ffi/child.ts";
import { available, driverLibrary } from "./standin-driver.ts";

const env: Record<string, string> = available ? { ZENSOR_LIBCUDA: driverLibrary() } : {};

const begin = `
  const on = (n, dtype = "float32") => z.empty(n, { dtype, device: "cuda" });
  const at = (t) => t.untypedStorage().dataPtr();
  /** Where the bytes of a new tensor were, which is gone. */
  const gone = (n) => { const t = on(n); const where = at(t); t.dispose(); return where; };
  const held = () => [z.cuda.memoryAllocated(), z.cuda.memoryReserved()];
  z.zeros(1, { device: "cuda" }).dispose();
  z.cuda.emptyCache();
`;

const run = (body: string): unknown => evaluate(`${begin} ${body}`, env);
const show = (body: string): unknown => run(`console.log(JSON.stringify(${body}))`);

describe.if(available)("a block that was given back by hand", () => {
  test("serves again, also for fewer bytes of its size", () => {
    const body = `
      const first = gone(300);
      const again = on(300);
      const same = [at(again) === first, gone(290) === gone(300), gone(300) === gone(100)];
      z.cuda.emptyCache();
      console.log(JSON.stringify([...same, ...held(), again.shape]))`;
    // 300 and 290 elements take 1,536 bytes of the allocator, 100 take 512.
    expect(run(body)).toEqual([true, true, false, 1536, 2 ** 21, [300]]);
  });

  test("holds what the next owner writes, and nobody sees it twice", () => {
    const body = `
      for (let i = 0; i < 50; i++) on(16).dispose();
      const all = Array.from({ length: 50 }, (_, i) => z.full([16], i, { device: "cuda" }));
      console.log(JSON.stringify([new Set(all.map(at)).size, all.every((t, i) => t.eq(i).all().item())]))`;
    expect(run(body)).toEqual([50, true]);
  });

  test("counts as free, and its peak as it was", () => {
    const body = `
      const kept = on(1000);
      on(100).dispose();
      const before = held();
      z.cuda.resetPeakMemoryStats();
      on(100).dispose();
      const peak = z.cuda.maxMemoryAllocated();
      const stats = z.cuda.memoryStats();
      const parts = ["inactive_split", "inactive_split_bytes", "active", "active_bytes", "requested_bytes"];
      console.log(JSON.stringify([before, peak, parts.map((name) => stats[name + ".all.current"]), kept.shape]))`;
    // One block of 4,096 bytes, and the rest of a segment of 2 MiB in one piece.
    const rest = 2 ** 21 - 4096;
    expect(run(body)).toEqual([[4096, 2 ** 21], 4608, [1, rest, 1, 4096, 4000], [1000]]);
  });

  test("goes back before the driver is asked for more, and with emptyCache", () => {
    const body = `
      const many = Array.from({ length: 64 }, () => on(4096));
      for (const t of many) t.dispose();
      // One half of the segment lies there in pieces of 16 KiB.
      const large = Array.from({ length: 4 }, () => on(2 ** 17));
      const together = held();
      for (const t of large) t.dispose();
      on(4096).dispose();
      z.cuda.emptyCache();
      console.log(JSON.stringify([together, held()]))`;
    expect(run(body)).toEqual([
      [2 ** 21, 2 ** 21],
      [0, 0],
    ]);
  });

  test("is none that another stream, or a view, still uses", () => {
    const body = `
      const here = gone(300);
      const side = new z.cuda.Stream();
      let there;
      { using _ = z.cuda.stream(side); there = at(on(300)); }
      const x = on(300);
      const row = x.slice(0, 0, 10);
      const first = at(x);
      x.dispose();
      const other = at(on(300));
      row.fill_(7);
      console.log(JSON.stringify([there !== here, first === here, other !== first, row.sum().item()]))`;
    expect(run(body)).toEqual([true, true, true, 70]);
  });

  test("is not kept while work of another stream is noted for it", () => {
    const body = `
      const side = new z.cuda.Stream();
      const x = on(300);
      x.recordStream(side);
      x.dispose();
      const rows = z.cuda.memoryStats()["active.all.current"];
      z.cuda.synchronize();
      on(300).dispose();
      console.log(JSON.stringify([rows, z.cuda.memoryStats()["active.all.current"]]))`;
    expect(run(body)).toEqual([1, 0]);
  });

  test("is released with the thread that kept it", () => {
    const body = `
      const work = '; z.ones(1000, { device: "cuda" }).add(1).dispose(); postMessage(1);';
      const source = new Blob(['import * as z from ' + JSON.stringify(url) + work], { type: "text/javascript" });
      const worker = new Worker(URL.createObjectURL(source));
      await new Promise((done, fail) => { worker.onmessage = done; worker.onerror = fail; });
      await worker.terminate();
      // What a thread keeps counts as free before that thread is gone: only the segment tells.
      for (let i = 0; i < 500 && z.cuda.memoryReserved() > 0; i++) { await Bun.sleep(20); z.cuda.emptyCache(); }
      console.log(JSON.stringify(held()))`;
    const url = new URL("../../src/index.ts", import.meta.url).href;
    expect(run(`const url = ${JSON.stringify(url)}; ${body}`)).toEqual([0, 0]);
  });
});

test.if(available)("parked blocks are as many as a mebibyte holds", () => {
  expect(
    show(`(() => {
      const many = Array.from({ length: 100 }, () => on(4096));
      for (const t of many) t.dispose();
      return new Set(Array.from({ length: 64 }, () => { const t = on(4096); many.push(t); return at(t); })).size;
    })()`),
  ).toBe(64);
});
