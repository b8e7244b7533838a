// A thousand rounds of everything that takes native memory: when the collector has run, as much is in use as before.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { native } from "../../src/ffi/library.ts";
import * as z from "../../src/index.ts";
import { cpu, ones, randn, type Tensor, TensorDict } from "../../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "zensor-leaks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ROUNDS = 1000;
/** Above the size of tensors that live in JavaScript's memory. */
const N = 4096;
/** Of a size whose blocks are counted apart from the collector. */
const LARGE = 20_000;

interface Use {
  bytes: number;
  maps: number;
  blocks: number;
}

/** Native memory in use once nothing unreachable is left. */
async function settled(): Promise<Use> {
  let use: Use = { bytes: 0, maps: 0, blocks: 0 };
  for (let i = 0; i < 8; i++) {
    native.zs_clear_stack();
    Bun.gc(true);
    await Bun.sleep(1);
    const stats = cpu.memoryStats();
    const next = {
      bytes: cpu.memoryAllocated(),
      maps: native.zs_io_live_maps(),
      blocks: stats["allocation.all.current"] as number,
    };
    if (i > 2 && next.bytes === use.bytes && next.maps === use.maps) return next;
    use = next;
  }
  return use;
}

async function growth(round: (i: number) => unknown, rounds = ROUNDS): Promise<Use> {
  for (let i = 0; i < 3; i++) await round(i);
  const before = await settled();
  for (let i = 0; i < rounds; i++) await round(i);
  const after = await settled();
  return { bytes: after.bytes - before.bytes, maps: after.maps - before.maps, blocks: after.blocks - before.blocks };
}

/** The collector reads the stack conservatively: a few objects of the last rounds may look reachable. */
const FEW = 8;

/** What grew beyond that; one block or mapping for each hundred rounds would. */
function leaked({ bytes, maps, blocks }: Use): Partial<Use> {
  const found: Partial<Use> = {};
  if (bytes > FEW * 16 * N) found.bytes = bytes;
  if (maps > FEW) found.maps = maps;
  if (blocks > FEW) found.blocks = blocks;
  return found;
}

/** What a real leak would show every time; what the collector happened to miss once is not there the next time. */
async function leak(round: (i: number) => unknown, rounds = ROUNDS): Promise<Partial<Use>> {
  let found: Partial<Use> = {};
  for (let attempt = 0; attempt < 4; attempt++) {
    found = leaked(await growth(round, rounds));
    if (Object.keys(found).length === 0) break;
  }
  return found;
}

function quietly(body: () => unknown): void {
  let failed = false;
  try {
    body();
  } catch {
    failed = true;
  }
  if (!failed) throw new Error("this round was to fail");
}

describe(`${ROUNDS} rounds leave nothing behind`, () => {
  const x = randn(N);
  const large = randn(LARGE);
  const rows: Record<string, (i: number) => unknown> = {
    operators: () => x.add(1).mul(x).exp().sum(),
    views: () => x.view(64, 64).t().narrow(0, 3, 9).select(1, 2).contiguous(),
    "in place": () => x.clone().add_(1).mul_(2).view(64, 64).t().zero_(),
    indexing: () => x.at(x.gt(0)).at("1:5"),
    "graphs, run": () => {
      const w = ones(N).requiresGrad_();
      w.mul(x).exp().sum().backward();
      return w.grad;
    },
    "graphs, dropped": () => ones(N).requiresGrad_().mul(x).exp().pow(2).sum(),
    "second derivatives": () => {
      const w = ones(N).requiresGrad_();
      const [g] = z.autograd.grad(w.pow(3).sum(), w, { createGraph: true });
      return z.autograd.grad((g as Tensor).sum(), w);
    },
    "typed arrays": () => x.clone().typedArray(),
    "large results": () => large.add(1).mul(2),
    "large typed arrays": (i) => {
      const y = large.clone();
      const a = y.typedArray();
      if (i % 3 === 0) y.resize_(2 * LARGE);
      if (i % 3 === 1) y.dispose();
      return a;
    },
    resize: (i) => x.clone().resize_(N + (i % 7) * 512),
    scope: () => z.scope(() => x.add(1).mul(2)),
    dispose: () => x.add(1).dispose(),
    "errors midway": () => quietly(() => x.add(1).mul(2).view(3, 5)),
    "errors in a graph": () =>
      quietly(() => {
        const w = ones(N).requiresGrad_();
        const y = w.exp();
        y.add_(1);
        y.sum().backward();
      }),
    "errors of memory": () => quietly(() => z.cat([x.add(1), z.zeros(2 ** 46)])),
  };
  for (const [name, round] of Object.entries(rows)) {
    test(name, async () => expect(await leak(round)).toEqual({}), 60_000);
  }
});

describe("files", () => {
  const td = new TensorDict({ a: randn(N), nested: { b: randn(8, 512) } }, []);

  test("TensorDict: saved, loaded, read", async () => {
    const path = join(folder, "td");
    const round = () => {
      td.memmap(path);
      return (z.loadMemmap(path).get("a" as never) as unknown as Tensor).sum().item();
    };
    expect(await leak(round, 100)).toEqual({});
  }, 60_000);

  test("typed arrays over parts of a mapping that no buffer can hold", async () => {
    const filename = join(folder, "huge.memmap");
    const round = (i: number) => {
      const huge = z.MemoryMappedTensor.empty([1200, 1024, 1024], { filename, existsok: true });
      const [first, last] = [huge.at(0).typedArray(), huge.at(1199).typedArray()];
      if (i % 2 === 0) huge.dispose();
      return [first, last];
    };
    expect(await leak(round, 100)).toEqual({});
  }, 60_000);

  test("safetensors: saved, loaded, read", async () => {
    const path = join(folder, "x.safetensors");
    const round = () => {
      z.saveSafetensors({ a: randn(N) } as never, path);
      const loaded = z.loadSafetensors(path) as unknown as Record<string, Tensor>;
      return Object.values(loaded).length;
    };
    expect(await leak(round, 100)).toEqual({});
  }, 60_000);

  test("loads that fail", async () => {
    const path = join(folder, "bad.safetensors");
    await Bun.write(path, "not such a file");
    expect(await leak(() => quietly(() => z.loadSafetensors(path)), 300)).toEqual({});
    expect(await leak(() => quietly(() => z.loadMemmap(join(folder, "absent"))), 300)).toEqual({});
  }, 60_000);
});
