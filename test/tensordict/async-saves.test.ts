// Saves that go on beside the program: what is there when they are stopped, when two meet, and while they run.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { BackgroundOptions } from "../../src/io/disk/file-jobs.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import { loadNpy, saveNpyAsync } from "../../src/io/numpy/npy.ts";
import { saveNpzAsync } from "../../src/io/numpy/npz.ts";
import { loadNpz } from "../../src/io/numpy/npz-load.ts";
import { loadSafetensors, saveSafetensorsAsync } from "../../src/io/safetensors/safetensors.ts";
import { loadTorch } from "../../src/io/torch/torch-file.ts";
import { saveTorchAsync } from "../../src/io/torch/torch-save.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { nestedTensor } from "../../src/tensordict/classes/nested-api.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { fromConsolidated, fromSafetensors, TensorDict, toSafetensorsAsync } from "../../src/tensordict/index.ts";
import { rounds } from "../campaign.ts";
import { filesBelow, nativeGrowth, temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
const { fresh } = room;

/** Two megabytes in a plain tensor, in a transposed one and in a nested one, all elements `value`. */
function content(value: number, rows = 256): Td {
  const make = (...shape: number[]) => zeros(shape).add(value);
  const entries = { a: make(rows, 1024), t: make(512, rows).t(), n: { b: make(rows, 512) }, s: make(3) };
  return new TensorDict(entries, []) as unknown as Td;
}

function valueOf(td: { get(key: never): unknown }, keys: readonly unknown[]): number {
  const values = new Set<number>();
  for (const key of keys) {
    const entry = td.get(key as never) as Tensor;
    values.add(entry.min().item() as number);
    values.add(entry.max().item() as number);
  }
  expect([...values]).toHaveLength(1);
  return [...values][0] as number;
}

const KEYS = ["a", "t", ["n", "b"], "s"];
const flat = (td: Td) => td.flattenKeys(".") as Td;
const named = (td: Td) => new Map([...flat(td).items()]) as ReadonlyMap<string, Tensor>;
const ofRecord = (tensors: Record<string, Tensor>) =>
  valueOf(new Map(Object.entries(tensors)) as never, ["a", "t", "n.b", "s"]);

interface Method {
  name: string;
  ending?: string;
  save(td: Td, path: string, options?: BackgroundOptions): Promise<unknown>;
  /** The one value that all elements have. */
  load(path: string): number;
}

const METHODS: Method[] = [
  {
    name: "memmapAsync",
    save: (td, path, options) => td.memmapAsync(path, { ...options }),
    load: (path) => valueOf(TensorDict.loadMemmap(path), KEYS),
  },
  {
    name: "memmapAsync, atomic, two threads",
    save: (td, path, options) => td.memmapAsync(path, { ...options, atomic: true, numThreads: 2 }),
    load: (path) => valueOf(TensorDict.loadMemmap(path), KEYS),
  },
  {
    name: "memmapAsync to .tdz",
    ending: ".tdz",
    save: (td, path, options) => td.memmapAsync(path, { ...options }),
    load: (path) => valueOf(TensorDict.loadMemmap(path), KEYS),
  },
  {
    name: "memmapAsync to .tdz, compressed",
    ending: ".tdz",
    save: (td, path, options) => td.memmapAsync(path, { ...options, compression: "deflate" }),
    load: (path) => valueOf(TensorDict.loadMemmap(path), KEYS),
  },
  {
    name: "consolidateAsync",
    save: (td, path, options) => td.consolidateAsync({ ...options, filename: path }),
    load: (path) => valueOf(fromConsolidated(path), KEYS),
  },
  {
    name: "toSafetensorsAsync",
    save: (td, path, options) => toSafetensorsAsync(td, path, { ...options, fsync: true }),
    load: (path) => valueOf(fromSafetensors(path), KEYS),
  },
  {
    name: "saveSafetensorsAsync",
    save: (td, path, options) => saveSafetensorsAsync(named(td), path, { ...options }),
    load: (path) => ofRecord(loadSafetensors(path)),
  },
  {
    name: "saveTorchAsync",
    save: (td, path, options) => saveTorchAsync(Object.fromEntries(named(td)), path, { ...options }),
    load: (path) => ofRecord(loadTorch(path)),
  },
  {
    name: "saveNpzAsync",
    ending: ".npz",
    save: (td, path, options) => saveNpzAsync(path, named(td), { ...options }),
    load: (path) => ofRecord(loadNpz(path)),
  },
  {
    name: "saveNpzAsync, compressed",
    ending: ".npz",
    save: (td, path, options) => saveNpzAsync(path, named(td), { ...options, compressed: true }),
    load: (path) => ofRecord(loadNpz(path)),
  },
  {
    name: "saveNpyAsync",
    ending: ".npy",
    save: (td, path, options) => saveNpyAsync(path, td.get("a") as Tensor, { ...options }),
    load: (path) => valueOf(new Map([["a", loadNpy(path)]]) as never, ["a"]),
  },
];

if (hdf5Engine() !== null) {
  const load = (path: string) => {
    using td = TensorDict.fromH5(path);
    return valueOf(td.toTensorDict(), KEYS);
  };
  const close = (td: { close(): void }) => td.close();
  METHODS.push(
    {
      name: "toH5Async",
      ending: ".h5",
      save: async (td, path, options) => close(await td.toH5Async(path, { ...options })),
      load,
    },
    {
      name: "toH5Async, compressed",
      ending: ".h5",
      save: async (td, path, options) => close(await td.toH5Async(path, { ...options, compression: "gzip" })),
      load,
    },
  );
}

async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("the save was not stopped");
}

for (const { name, ending = "", save, load } of METHODS) {
  describe(name, () => {
    const begun = async () => {
      const folder = fresh();
      const path = join(folder, `saved${ending}`);
      await save(content(1), path);
      return { folder, path, before: filesBelow(folder) };
    };
    const stopped = async (path: string, options: BackgroundOptions, after?: () => void) => {
      const saving = save(content(2), path, options);
      after?.();
      expect(((await reasonOf(saving)) as Error).name).toBe("AbortError");
    };

    test("writes, and writes over what is there", async () => {
      const { folder, path, before } = await begun();
      expect(load(path)).toBe(1);
      let last = 0;
      await save(content(2), path, {
        onProgress: (done, total) => {
          expect(done).toBeGreaterThanOrEqual(last);
          expect(done).toBeLessThanOrEqual(total);
          last = done;
        },
      });
      expect(last).toBeGreaterThan(0);
      expect(load(path)).toBe(2);
      expect([...filesBelow(folder).keys()].sort()).toEqual([...before.keys()].sort());
    });

    test("a signal leaves what was there: aborted before, at once, at the first part", async () => {
      const { folder, path, before } = await begun();
      await stopped(path, { signal: AbortSignal.abort() });
      expect(filesBelow(folder)).toEqual(before);
      const atOnce = new AbortController();
      await stopped(path, { signal: atOnce.signal }, () => atOnce.abort());
      expect(filesBelow(folder)).toEqual(before);
      const later = new AbortController();
      await stopped(path, { signal: later.signal, onProgress: () => later.abort() });
      expect(filesBelow(folder)).toEqual(before);
      expect(load(path)).toBe(1);
    });

    test("a signal leaves nothing where nothing was; its reason is what is thrown", async () => {
      const folder = fresh();
      const stop = new AbortController();
      const saving = save(content(2), join(folder, `saved${ending}`), {
        signal: stop.signal,
        onProgress: () => stop.abort(new Error("enough")),
      });
      expect(((await reasonOf(saving)) as Error).message).toBe("enough");
      expect(readdirSync(folder)).toEqual([]);
    });

    test("an error in onProgress stops it like a signal", async () => {
      const { folder, path, before } = await begun();
      const onProgress = () => {
        throw new Error("in the program");
      };
      expect(((await reasonOf(save(content(2), path, { onProgress }))) as Error).message).toBe("in the program");
      expect(filesBelow(folder)).toEqual(before);
    });

    test("tensors that are disposed while it runs are written as they were, or refused", async () => {
      const path = join(fresh(), `saved${ending}`);
      const td = content(2, 2048);
      const sources = [...named(td).values()];
      const saving = save(td, path).then(
        () => null,
        (error: Error) => error.name,
      );
      for (const source of sources) source.dispose();
      // It gets the memory that was given back, if any was.
      const other = content(50, 2048);
      const failed = await saving;
      if (failed === null) expect(load(path)).toBe(2);
      else expect([failed, name.startsWith("toH5Async")]).toEqual(["DisposedError", true]);
      for (const each of named(other).values()) each.dispose();
    });

    test("of saves to one place one stays, whole; tensors that nobody holds are written", async () => {
      const { folder, path, before } = await begun();
      const saves = [2, 3, 4].map((value) => save(content(value, 256 + value), path));
      for (let i = 0; i < 5; i++) {
        Bun.gc(true);
        await Bun.sleep(0);
      }
      await Promise.all(saves);
      expect([2, 3, 4]).toContain(load(path));
      expect(readdirSync(folder)).toEqual([`saved${ending}`]);
      expect([...filesBelow(folder).keys()].sort()).toEqual([...before.keys()].sort());
    });
  });
}

test.skipIf(hdf5Engine() === null)(
  "toH5Async writes what toH5 writes: values, names, all shapes of parts",
  async () => {
    const make = (...shape: number[]) => zeros(shape).add(1).cumsum(0);
    const td = new TensorDict(
      { wide: make(2, 400_000), long: make(400_000, 2), cube: make(3, 700, 300), none: zeros([2, 0]), text: "a" },
      [],
    ) as unknown as Td;
    (td as unknown as { set(key: string, value: unknown): void }).set("one", zeros([]).add(4));
    for (const layout of [{}, { compression: "gzip" }, { chunks: true }, { compression: "gzip", maxShape: null }]) {
      using saved = await td.toH5Async(join(fresh(), "saved.h5"), layout as never);
      for (const key of ["wide", "long", "cube", "none", "one"]) {
        const [own, other] = [td.get(key as never) as Tensor, saved.get(key as never) as Tensor];
        expect(other.shape).toEqual(own.shape);
        expect(own.eq(other).all().item()).toBe(true);
      }
      expect(saved.at("text")).toBe("a" as never);
    }
  },
);

test.skipIf(hdf5Engine() === null)("toH5Async refuses what toH5 refuses, and leaves no file", async () => {
  let deep = new TensorDict({ a: zeros([2]) }, []) as unknown as Td;
  for (let i = 0; i < 101; i++) deep = new TensorDict({ n: deep }, []) as unknown as Td;
  const nested = new TensorDict({ n: nestedTensor([[1], [2, 3]]) } as never, []) as unknown as Td;
  for (const [td, message] of [
    [deep, "more than 100 levels"],
    [nested, "nested"],
    [new TensorDict({ a: zeros([2], { requiresGrad: true } as never) }, []) as unknown as Td, "requires_grad=True"],
  ] as const) {
    const folder = fresh();
    expect(() => td.toH5(join(folder, "saved.h5"))).toThrow(message);
    expect(String(await reasonOf(td.toH5Async(join(folder, "saved.h5"))))).toContain(message);
    expect(readdirSync(folder)).toEqual([]);
  }
});

test("claims of a save are given back, stopped or not", async () => {
  const source = zeros([512, 512]);
  const td = new TensorDict({ source }, []) as unknown as Td;
  const { _storage: storage } = td.get("source" as never) as Tensor;
  const before = storage.claims;
  for (const stopped of [false, true]) {
    const stop = new AbortController();
    const options = { signal: stop.signal };
    const files = ["directory", "archive.tdz"].map((file) => td.memmapAsync(join(fresh(), file), options));
    const saves = [...files, saveSafetensorsAsync({ source }, join(fresh(), "file"), options)];
    expect(storage.claims).toBe(before + saves.length);
    if (stopped) stop.abort();
    const ends = new Set((await Promise.allSettled(saves)).map(({ status }) => status));
    expect([...ends]).toEqual([stopped ? "rejected" : "fulfilled"]);
    expect(storage.claims).toBe(before);
  }
});

test("consolidateAsync into memory, plain, in place and shared", async () => {
  const td = content(7);
  for (const options of [{}, { shareMemory: true }, { inplace: true }]) {
    const block = await td.consolidateAsync(options);
    expect(valueOf(block, KEYS)).toBe(7);
    expect(block.isConsolidated()).toBe(true);
    expect(block === (td as unknown)).toBe("inplace" in options);
  }
  expect(((await reasonOf(content(1).consolidateAsync({ signal: AbortSignal.abort() }))) as Error).name).toBe(
    "AbortError",
  );
});

test("memmapAsync into shared memory", async () => {
  const saved = await content(5).memmapAsync(null);
  expect(valueOf(saved, KEYS)).toBe(5);
  expect(saved.isMemmap()).toBe(true);
});

test("memmapAsync leaves files that it does not name, and members of a shorter stack go", async () => {
  const folder = join(fresh(), "saved");
  await content(1).memmapAsync(folder);
  await Bun.write(join(folder, "notes.txt"), "mine");
  const mapped = TensorDict.loadMemmap(folder) as unknown as Td;
  await content(2).memmapAsync(folder);
  expect(await Bun.file(join(folder, "notes.txt")).text()).toBe("mine");
  // What was mapped before keeps its bytes.
  expect(valueOf(mapped, KEYS)).toBe(1);
  const members = (n: number) => TensorDict.lazyStack(Array.from({ length: n }, () => content(n, 2))) as unknown as Td;
  const stack = join(fresh(), "stack");
  await members(3).memmapAsync(stack);
  await members(2).memmapAsync(stack);
  expect((TensorDict.loadMemmap(stack) as unknown as Td).batchSize).toEqual([2] as never);
});

test("the event loop turns while a hundred megabytes are saved", async () => {
  const td = new TensorDict({ a: zeros([13_000_000]), t: zeros([1000, 13_000]).t() }, []) as unknown as Td;
  for (const [name, save] of [
    ["memmapAsync", (path: string) => td.memmapAsync(path)],
    [".tdz", (path: string) => td.memmapAsync(`${path}.tdz`)],
    ["toSafetensorsAsync", (path: string) => toSafetensorsAsync(td, path)],
    ["consolidateAsync", (path: string) => td.consolidateAsync({ filename: path })],
  ] as const) {
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    await save(join(fresh(), "saved"));
    clearInterval(timer);
    // A hundred megabytes take a tenth of a second at least; one piece of work without a pause leaves two or three.
    expect(`${name}: ${ticks > 8 ? "turned" : `${ticks} ticks`}`).toBe(`${name}: turned`);
  }
}, 60_000);

test("native memory and mappings do not grow over a thousand rounds", async () => {
  const folder = fresh();
  const td = new TensorDict({ a: zeros([20_000]), t: zeros([200, 150]).t() }, []) as unknown as Td;
  const growth = await nativeGrowth(async () => {
    for (let i = 0; i < rounds(50, 200); i++) {
      await td.memmapAsync(join(folder, "directory"));
      await td.memmapAsync(join(folder, "archive.tdz"));
      await td.consolidateAsync({ filename: join(folder, "consolidated") });
      await td.consolidateAsync();
      await saveNpzAsync(join(folder, "arrays"), { a: td.get("a") as Tensor, t: td.get("t") as Tensor });
    }
  });
  expect(growth).toEqual({ bytes: 0, maps: 0 });
}, 120_000);

test("loadMemmapAsync gives what loadMemmap gives, and what it refuses", async () => {
  const path = join(fresh(), "saved");
  const stack = TensorDict.lazyStack([content(1, 2), content(2, 2), content(3, 2)]);
  const nested = Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [`k${i}`, { a: zeros([i % 3]), text: `${i}` }]),
  );
  const td = new TensorDict({ stack, nested: { deep: nested }, a: zeros([4]) }, []) as unknown as Td;
  td.save(path);
  const [now, later] = [TensorDict.load(path), await TensorDict.loadAsync(path)] as unknown as [Td, Td];
  expect(String(later)).toBe(String(now));
  expect(later.keys({ includeNested: true })).toEqual(now.keys({ includeNested: true }));
  expect(later.isMemmap()).toBe(now.isMemmap());
  const part = (await TensorDict.loadMemmapAsync(path, { subpath: "nested/deep", mode: "r" })) as unknown as Td;
  expect([...part.keys()]).toEqual(Object.keys(nested));
  const stop = AbortSignal.abort();
  expect(((await reasonOf(TensorDict.loadAsync(path, { signal: stop }))) as Error).name).toBe("AbortError");
  await Bun.write(join(path, "nested", "deep", "k7", "meta.json"), "{");
  const [a, b] = [await reasonOf(TensorDict.loadAsync(path)), await reasonOf((async () => TensorDict.load(path))())];
  expect((a as Error).message).toBe((b as Error).message);
  expect(((await reasonOf(TensorDict.loadAsync(join(path, "none")))) as Error).name).toBe("FileNotFoundError");
});
