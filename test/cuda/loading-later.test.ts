// Files that are loaded to devices while the program goes on.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { native } from "../../src/ffi/library.ts";
import * as z from "../../src/index.ts";
import { runProgram } from "../ffi/child.ts";
import { available, control, driverLibrary, emulated } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

const folder = mkdtempSync(join(tmpdir(), "zensor-later-"));
const at = (name: string) => join(folder, name);
/** In more pieces than there are pinned blocks. */
const COUNT = 25 * 2 ** 20;
const large = () => ({ small: z.arange(1000), large: z.arange(COUNT, { dtype: "float32" }), none: z.zeros(0, 3) });

type Options = { device: z.DeviceLike; signal?: AbortSignal };
type Tensors = Record<string, z.Tensor>;
const fromTd = (td: z.TensorDict): Tensors => Object.fromEntries([...td.items()] as [string, z.Tensor][]);

const LATER: Readonly<Record<string, (options: Options) => Promise<Tensors>>> = {
  "loadAsync, a .pt file": (options) => z.loadAsync(at("a.pt"), options),
  "loadAsync, a directory": async (options) => fromTd(await z.loadAsync(at("dir"), options)),
  "loadAsync, an archive": async (options) => fromTd(await z.loadAsync(at("a.tdz"), options)),
  loadMemmapAsync: async (options) => fromTd(await z.TensorDict.loadMemmapAsync(at("dir"), options)),
  loadNpzAsync: (options) => z.io.loadNpzAsync(at("a.npz"), options),
};

beforeAll(() => {
  if (!available) return;
  const tensors = large();
  z.save(tensors, at("a.pt"));
  z.io.saveNpz(at("a.npz"), tensors);
  const td = new z.TensorDict(tensors, []);
  td.memmap(at("dir"));
  td.memmap(at("a.tdz"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What `load` gives, and how often timers had their turn until then. */
async function counted(load: () => Promise<Tensors>): Promise<[Tensors, number]> {
  let turns = 0;
  let loading = true;
  const turn = () => {
    turns++;
    if (loading) setImmediate(turn);
  };
  setImmediate(turn);
  try {
    return [await load(), turns];
  } finally {
    loading = false;
  }
}

const held = () => [z.cuda.memoryAllocated(), native.zs_cuda_host_live_bytes()];

function expectAll(there: Tensors): void {
  for (const [name, t] of Object.entries(large())) {
    expect([name, String(there[name]?.device), z.equal((there[name] as z.Tensor).cpu(), t)]).toEqual([
      name,
      "cuda:0",
      true,
    ]);
  }
}

describe.if(available)("loading to a device while the program goes on", () => {
  test.each(Object.entries(LATER))(
    "%s",
    async (_, load) => {
      const [there, turns] = await counted(() => load({ device: "cuda" }));
      expectAll(there);
      // A piece is read between two turns at most.
      expect(turns).toBeGreaterThan(3);
      for (const t of Object.values(there)) t.dispose();
    },
    20_000,
  );

  test.each(Object.entries(LATER))(
    "%s: a signal ends it, and nothing is held",
    async (_, load) => {
      Bun.gc(true);
      z.cuda.synchronize();
      const before = held();
      const controller = new AbortController();
      const loading = load({ device: "cuda", signal: controller.signal });
      const midway = new Promise<void>((resolve) => {
        const look = () => (z.cuda.memoryAllocated() > (before[0] as number) ? resolve() : setImmediate(look));
        setImmediate(look);
      });
      await midway;
      controller.abort();
      await expect(loading).rejects.toThrow(/abort/i);
      // Native threads end what they have begun, and keep its memory until then.
      for (let turn = 0; turn < 200 && String(held()) !== String(before); turn++) {
        Bun.gc(true);
        await Bun.sleep(10);
      }
      expect(held()).toEqual(before);
    },
    20_000,
  );

  const restored = async (): Promise<Tensors> => {
    const { none: _, ...state } = large();
    z.io.Snapshot.take({ path: at("snapshot"), appState: { state: new z.io.StateDict(state) } });
    const there = Object.fromEntries(
      Object.entries(state).map(([name, t]) => [name, z.zerosLike(t, { device: "cuda" })]),
    );
    await new z.io.Snapshot(at("snapshot")).restoreAsync({ appState: { state: new z.io.StateDict(there) } });
    return { ...there, none: z.zeros(0, 3, { device: "cuda" }) };
  };

  test.if(emulated).each([...Object.entries(LATER), ["Snapshot.restoreAsync", restored] as const])(
    "%s goes to the stream on which it began",
    async (_, load) => {
      const side = new z.cuda.Stream();
      const first = z.cuda.currentStream();
      control("later", 1);
      try {
        const loading = load({ device: "cuda" });
        z.cuda.setStream(side);
        const there = await loading;
        expect(z.cuda.currentStream().equals(side)).toBe(true);
        z.cuda.setStream(first);
        expectAll(there);
        for (const t of Object.values(there)) t.dispose();
      } finally {
        z.cuda.setStream(first);
        z.cuda.synchronize();
        control("later", 0);
      }
    },
    20_000,
  );

  test("pinned tensors are written where they are, also when they are given up meanwhile", async () => {
    const before = native.zs_cuda_host_live_bytes();
    const x = z.arange(2 ** 22, { pinMemory: true });
    const saving = z.saveAsync({ x }, at("pinned.pt"));
    x.dispose();
    await saving;
    Bun.gc(true);
    expect(z.equal(z.load(at("pinned.pt")).x, z.arange(2 ** 22))).toBe(true);
    expect(native.zs_cuda_host_live_bytes()).toBe(before);
  });

  test.if(emulated)(
    "in Workers that are terminated midway: pinned memory stays until its readers have left",
    () => {
      const words = [process.execPath, join(import.meta.dir, "loading-terminated.ts"), at("a.pt")];
      const done = runProgram(words, { ZENSOR_LIBCUDA: driverLibrary() });
      expect([done.signal, done.exitCode, done.stderr]).toEqual([null, 0, ""]);
      expect(JSON.parse(done.stdout)).toEqual({ right: true, midway: true });
    },
    60_000,
  );
});

type Save = (tensors: Tensors, path: string) => Promise<unknown>;
const SAVES: Readonly<Record<string, [Save, (path: string) => Tensors]>> = {
  saveAsync: [(tensors, path) => z.saveAsync(tensors, path), (path) => z.load(path)],
  saveNpzAsync: [(tensors, path) => z.io.saveNpzAsync(`${path}.npz`, tensors), (path) => z.io.loadNpz(`${path}.npz`)],
  saveSafetensorsAsync: [(tensors, path) => z.io.saveSafetensorsAsync(tensors, path), z.loadSafetensors],
  memmapAsync: [
    (tensors, path) => new z.TensorDict(tensors, []).memmapAsync(path),
    (path) => fromTd(z.TensorDict.loadMemmap(path)),
  ],
  consolidateAsync: [
    (tensors, path) => new z.TensorDict(tensors, []).consolidateAsync({ filename: path }),
    (path) => fromTd(z.TensorDict.fromConsolidated(path)),
  ],
  "Snapshot.asyncTake": [(tensors, path) => take(new z.io.StateDict(tensors), path), restored],
  // It pauses before the first tensor.
  "Snapshot.asyncTake of what takes long to tell its state": [
    (tensors, path) => {
      const stateDict = () => {
        const end = performance.now() + 20;
        while (performance.now() < end);
        return tensors;
      };
      return take({ stateDict, loadStateDict: () => undefined }, path);
    },
    restored,
  ],
};

async function take(state: z.io.Stateful, path: string): Promise<void> {
  await (await z.io.Snapshot.asyncTake({ path, appState: { state } })).wait();
}

function restored(path: string): Tensors {
  const state = new z.io.StateDict({ large: z.zeros(COUNT / 4) });
  new z.io.Snapshot(path).restore({ appState: { state } });
  return state.values as Tensors;
}

test.if(emulated).each(Object.entries(SAVES))(
  "%s from a device sees what the stream was given that was current when it began",
  async (name, [save, load]) => {
    const side = new z.cuda.Stream();
    const first = z.cuda.currentStream();
    z.cuda.synchronize();
    control("later", 1);
    try {
      // No small ones: they would be copied at once, and the stream's work with them.
      const large = z.zeros(COUNT / 4, { device: "cuda" });
      large.add_(3);
      const saving = save({ large }, at(name));
      z.cuda.setStream(side);
      await saving;
      z.cuda.setStream(first);
      expect(load(at(name)).large?.eq(3).all().item()).toBe(true);
    } finally {
      z.cuda.setStream(first);
      z.cuda.synchronize();
      control("later", 0);
    }
  },
  20_000,
);
