// Functions of chunks, in this thread and in Workers. What is expected was seen in Python, unless it has no such thing.
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import {
  arange,
  errors,
  Generator,
  getNumThreads,
  lazyStack,
  manualSeed,
  ones,
  setWarningPolicy,
  type Tensor,
  TensorDict,
  TensorDictParams,
  UnbatchedTensor,
  zeros,
} from "../../src/index.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { MemoryMappedTensor } from "../../src/tensordict/index.ts";
import { temporaryDirectory } from "./helpers.ts";
import { MappedPoint } from "./map-work.ts";

const room = temporaryDirectory();
afterAll(room.remove);
setDefaultTimeout(60_000);
setWarningPolicy("never");
afterAll(() => setWarningPolicy("once"));

const file = import.meta.resolve("./map-work.ts");
const work = (name?: string) => (name === undefined ? { module: file } : { module: new URL(file), name });
const two = { numWorkers: 2 } as const;
const here = { numWorkers: 0 } as const;
const made = () => new TensorDict({ x: arange(10).float().reshape(2, 5) }, [2, 5]) as unknown as Td;
const long = () => new TensorDict({ x: arange(5).float() }, [5]) as unknown as Td;
const plus = arange(10).float().reshape(2, 5).add(1).tolist();
const values = (td: unknown, key: string) => ((td as Td).get(key) as Tensor).tolist();
const addOne = (td: Td): Td => td.empty().set("y", (td.get("x") as Tensor).add(1)) as Td;
const x = (td: Td) => td.get("x") as Tensor;

const counts = () => [readdirSync("/proc/self/fd").length, readdirSync("/proc/self/task").length] as const;

async function failure(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
  return "no error";
}

async function all<T>(results: AsyncIterable<T> | Iterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const result of results) list.push(result);
  return list;
}

describe("results", () => {
  test("come back joined, here at once and from Workers as a promise", async () => {
    expect(values(made().map(addOne, { ...here, dim: 1, numChunks: 3 }), "y")).toEqual(plus);
    expect(values(made().map(addOne, -1, 0, { chunksize: 0 }), "y")).toEqual(plus);
    expect(values(await made().map(addOne, { ...two, dim: 1 }), "y")).toEqual(plus);
    expect(values(await made().map(work("addOne"), -1, 2, { chunksize: 0 }), "y")).toEqual(plus);
    const late = await made().map(work("addOne"), { ...two, dim: 1, chunksize: 2, indexWithGenerator: true });
    expect(values(late, "y")).toEqual(plus);
    const tensor: Tensor = await made().map((td) => td.get("x") as Tensor, { ...two, dim: 1 });
    expect(tensor.tolist()).toEqual(made().get("x").tolist());
    expect(values(await made().map(work(), { numWorkers: 1 }), "x")).toEqual(made().get("x").tolist());
  });
  test("of nothing are null", async () => {
    expect(await made().map(() => null, two)).toBeNull();
    expect(made().map(() => undefined, here)).toBeNull();
    const empty = new TensorDict({ x: ones(0) }, [0]) as unknown as Td;
    expect(empty.map(addOne, { ...here, chunksize: 0 })).toBeNull();
    expect(values(await empty.map(addOne, { numWorkers: 1, chunksize: 3, indexWithGenerator: false }), "y")).toEqual(
      [],
    );
  });
  test("are in the order of the chunks, whoever is done first", async () => {
    expect((await long().map<Tensor>(work("slowly"), { numWorkers: 3, chunksize: 1 })).tolist()).toEqual([
      0, 1, 2, 3, 4,
    ]);
    const parts = await all(long().mapIter<Tensor>(work("slowly"), { numWorkers: 3, chunksize: 2 }));
    expect(parts.map((part) => part.tolist())).toEqual([[0, 1], [2, 3], [4]]);
  });
  test("that are neither collections nor tensors are only given one by one", async () => {
    expect(await all(made().mapIter(() => 5, two))).toEqual([5, 5]);
    expect([...made().mapIter(() => "five", here)]).toEqual(["five"]);
    const refused = "TypeError: expected Tensor as element 0 in argument 0, but got int";
    expect(await failure(() => made().map(() => 5 as never, two))).toBe(refused);
    expect(await failure(() => made().map(() => 5 as never, here))).toBe(refused);
    const stacked = (value: unknown) => failure(() => made().map(() => value as never, { ...here, chunksize: 0 }));
    expect(await stacked(5)).toBe("AttributeError: 'int' object has no attribute 'batch_size'");
    expect(await stacked(ones(2))).toBe("AttributeError: 'Tensor' object has no attribute 'batch_size'");
    expect(await failure(() => made().map((td) => ({ td }) as never, two))).toContain("cannot be cloned or posted");
  });
  test("of shuffled chunks follow torch's permutation", async () => {
    const order = async (options: object) =>
      (await all(long().mapIter((td) => td.get("x").tolist(), { chunksize: 2, shuffle: true, ...options }))) as unknown;
    manualSeed(0);
    expect(await order(here)).toEqual([[4, 0], [1, 3], [2]]);
    manualSeed(0);
    expect(await order({ ...here, chunksize: 0 })).toEqual([4, 0, 1, 3, 2]);
    const drawn = () => order({ ...two, generator: new Generator().manualSeed(7) });
    expect(await drawn()).toEqual(await drawn());
  });
});

describe("out", () => {
  const zero = () => new TensorDict({ y: zeros(2, 5) }, [2, 5]) as unknown as Td;
  for (const [name, make] of [
    ["in memory", zero],
    ["in shared memory", () => zero().shareMemory_()],
    ["in files", () => zero().memmap_(join(room.path, "out"))],
  ] as const) {
    test(`${name} has the results`, async () => {
      for (const options of [here, two, { ...two, chunksize: 0 }, { ...two, chunksize: 2, indexWithGenerator: true }]) {
        const out = make();
        expect((await made().map(addOne, { dim: 1, ...options, out } as never)) as unknown).toBe(out);
        expect(values(out, "y")).toEqual(plus);
        expect((await made().map(() => null, { dim: 1, ...options, out } as never)) as unknown).toBe(out);
        expect(values(out, "y")).toEqual(plus);
      }
    });
  }
  test("is refused where it does not fit", async () => {
    const small = () => new TensorDict({ y: zeros(2, 3) }, [2, 3]) as unknown as Td;
    expect(await failure(() => made().map(addOne, { ...two, dim: 1, out: small() }))).toContain(
      "cannot copy the value of shape",
    );
    expect(await failure(() => made().map(addOne, { ...here, dim: 1, out: small() }))).toContain(
      "cannot copy the value of shape",
    );
    const text = "AttributeError: 'int' object has no attribute 'shape'";
    expect(await failure(() => made().map(() => 5 as never, { ...two, out: zero() }))).toBe(text);
  });
});

describe("memory", () => {
  test("that is mapped is the same in Workers; other tensors are copies there", async () => {
    for (const td of [made().shareMemory_(), made().memmap_(join(room.path, "chunks"))]) {
      const results = (await all(td.mapIter(work("writes"), { ...two, dim: 1 }))) as Td[];
      expect(values(td, "x")).toEqual(arange(10).float().reshape(2, 5).add(100).tolist());
      (results[0] as Td).get("x").zero_();
      expect(td.get("x").at(0, 0).item()).toBe(0);
    }
    const td = made();
    expect(values(await td.map(work("writes"), { ...two, dim: 1 }), "x")[0][0]).toBe(100);
    expect(td.get("x").at(0, 0).item()).toBe(0);
  });
  test("chunks look in a Worker as they look here", async () => {
    const td = made().refineNames("a", "b") as Td;
    for (const one of [td, td.memmap(join(room.path, "looks"))] as Td[]) {
      const [there] = (await all(one.mapIter(work("looks"), { numWorkers: 1, dim: 1, chunksize: 2 }))) as never[];
      const chunk = one.at(":", "0:2") as Td;
      const className = one === td ? "Tensor" : MemoryMappedTensor.name;
      expect(there as unknown).toEqual({ text: String(chunk), locked: chunk.isLocked, names: ["a", "b"], className });
    }
  });
  test("every kind of entry goes and comes back", async () => {
    const td = new TensorDict(
      {
        turned: arange(12).reshape(3, 4).t(),
        conj: ones(4, 2).mul(3).to("complex64").conj(),
        half: ones(4).to("bfloat16"),
        yes: ones(4).to("bool"),
        none: ones(4, 0),
        nested: { deep: arange(4) },
        table: new UnbatchedTensor(ones(3, 2)),
        text: "text",
        texts: ["a", "b", "c", "d"],
      },
      [4],
    ) as unknown as Td;
    expect(String(await td.map(work(), two))).toBe(String(td.map((one) => one, { ...here, numChunks: 2 })));
    const back = (await td.map(work(), two)) as Td;
    for (const key of ["turned", "conj", "half", "yes", "none"]) expect(values(back, key)).toEqual(values(td, key));
    expect(back.get(["nested", "deep"]).tolist()).toEqual([0, 1, 2, 3]);
    expect(back.at("texts")).toEqual(td.at("texts"));
    const lazy = lazyStack([long(), long()]) as unknown as Td;
    expect(values(await lazy.map(work(), two), "x")).toEqual(values(lazy, "x"));
    const point = new MappedPoint({ x: arange(4) }, { batchSize: [4] }) as unknown as Td;
    const same = await point.map(work(), two);
    expect(same).toBeInstanceOf(MappedPoint);
    expect(values(same, "x")).toEqual([0, 1, 2, 3]);
  });
  test("with a history of gradients is refused", async () => {
    const td = new TensorDict({ x: ones(4).requiresGrad_() }, [4]) as unknown as Td;
    expect(await failure(() => td.map(addOne, two))).toStartWith(
      "RuntimeError: Cowardly refusing to serialize non-leaf tensor which requires_grad",
    );
    expect((td.map(addOne, here) as Td).get("y").requiresGrad).toBe(true);
  });
});

describe("Workers", () => {
  test("have seeds of their own, from the generator's", async () => {
    const drawn = { generator: new Generator() };
    const first = 883951781600517636n;
    const seeds = (options: object) => all(long().mapIter(work("seedHere"), { ...drawn, ...options }));
    const many = (await seeds({ numWorkers: 2, chunksize: 1 })) as unknown as bigint[];
    for (const seed of many) expect([first, first + 1n]).toContain(seed);
    drawn.generator = new Generator();
    const replaced = await seeds({ numWorkers: 1, chunksize: 2, maxTasksPerChild: 1 });
    expect(replaced as unknown[]).toEqual([first, first + 1n, first + 2n]);
  });
  test("tell of errors by class, name and message, and all end", async () => {
    const range = () =>
      made().map(() => {
        throw new RangeError("too far");
      }, two);
    await expect(range()).rejects.toBeInstanceOf(RangeError);
    expect(await failure(range)).toBe("RangeError: too far");
    expect(await failure(() => made().map(work("fails"), two))).toBe("OwnError: not this chunk");
    await expect(made().map(work("refuses"), two)).rejects.toBeInstanceOf(errors.RuntimeError);
    expect(await failure(() => made().map(() => made() as never, two))).toBe("ReferenceError: made is not defined");
    expect(await failure(() => made().map(work("leaves"), two))).toBe(
      "Error: a Worker of map ended before its work was done",
    );
    expect(await failure(() => made().map(work("nobody"), two))).toMatch(/exports no function "nobody"/);
    const gone = { module: join(room.path, "nowhere.ts") };
    expect(await failure(() => made().map(gone, two))).toContain("nowhere.ts");
  });
  test("leave no threads and descriptors", async () => {
    const shared = made().shareMemory_();
    const kinds = [
      () => shared.map(work("addOne"), { ...two, dim: 1 }),
      () => failure(() => made().map(work("fails"), two)),
      async () => {
        for await (const _ of made().mapIter(work("addOne"), { ...two, dim: 1, chunksize: 1 })) break;
      },
    ];
    const round = (i: number) => (kinds[i % 3] as () => Promise<unknown>)();
    for (let i = 0; i < 3; i++) await round(i);
    Bun.gc(true);
    const before = counts();
    for (let i = 0; i < 20; i++) await round(i);
    Bun.gc(true);
    await Bun.sleep(50);
    const after = counts();
    expect(after[0]).toBeLessThanOrEqual(before[0] + 2);
    expect(after[1]).toBeLessThanOrEqual(before[1] + 3);
  }, 120_000);
  test("use as many threads as they are told, until they are done", async () => {
    const before = getNumThreads();
    const results = made().mapIter(work("addOne"), { ...two, workerThreads: 1 });
    await results.next();
    expect(getNumThreads()).toBe(1);
    await results.return();
    expect(getNumThreads()).toBe(before);
  });
  test("do not keep a program that takes no more results", async () => {
    const index = JSON.stringify(join(import.meta.dir, "../../src/index.ts"));
    const program = `import { arange, TensorDict } from ${index};
      const results = new TensorDict({ x: arange(8) }, [8]).mapIter((td) => td, { numWorkers: 2, chunksize: 1 });
      console.log((await results.next()).value.get("x").item());`;
    const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe", stderr: "ignore", timeout: 60_000 });
    expect(await new Response(child.stdout).text()).toBe("0\n");
    expect(await child.exited).toBe(0);
  }, 90_000);
});

test("what cannot be is refused at once", async () => {
  const td = made();
  const sync = (options: object, fn: unknown = addOne) =>
    failure(() => td.map(fn as never, { ...here, ...options }) as never);
  expect(await sync({ chunksize: 1, numChunks: 1 })).toBe(
    "ValueError: Either chunksize or num_chunks must be provided, but not both.",
  );
  for (const indexWithGenerator of [false, true]) {
    const say = (options: object) => sync({ ...options, indexWithGenerator });
    expect(await say({ chunksize: -1 })).toBe("ValueError: TensorDict.split: split_size must be positive, got -1.");
    expect(await say({ numChunks: 0 })).toBe("ValueError: chunks must be a strictly positive integer, got 0.");
    expect(await say({ numChunks: -1 })).toBe("ValueError: chunks must be a strictly positive integer, got -1.");
  }
  expect(await sync({ dim: 2 })).toBe("IndexError: Incompatible dim 2 for tensordict with shape torch.Size([2, 5]).");
  expect(await sync({ dim: -3 })).toStartWith("IndexError: Incompatible dim -");
  expect(await sync({ numWorkers: -1 })).toBe("ValueError: Number of processes must be at least 1");
  expect(await sync({ maxTasksPerChild: 0 })).toBe("ValueError: maxtasksperchild must be a positive int or None");
  expect(await sync({ workerThreads: 0 })).toContain("positive");
  expect(await sync({ mpStartMethod: "x" })).toBe("ValueError: cannot find context for 'x'");
  expect(await sync({ mpStartMethod: "fork" })).toContain("Workers are threads that start afresh");
  expect(await sync({ mpStartMethod: "spawn" })).toBe("no error");
  expect(await sync({ pbar: true })).toContain("NotImplementedError: pbar");
  expect(await sync({ chunksize: 1.5 })).toStartWith("TypeError");
  expect(await sync({}, 3)).toStartWith("TypeError");
  expect(await sync({}, { module: file })).toContain("the function runs here");
  expect(await sync({ numWorkers: 1 }, Math.max)).toContain("sent as its text");
  expect(await sync({ numWorkers: 1 }, { m() {} }.m)).toContain("sent as its text");
  expect(await sync({ numWorkers: 1 }, { module: "./map-work.ts" })).toContain("import.meta.resolve");
  const shuffled = { ...here, shuffle: true, indexWithGenerator: false };
  expect(await failure(() => td.mapIter(x, shuffled))).toStartWith("RuntimeError: Shuffling is not permitted unless");
  const params = new TensorDictParams(new TensorDict({ a: ones(2) }, [2])) as unknown as Td;
  expect(await failure(() => params.map(x, here))).toStartWith("RuntimeError: Cannot call map on a TensorDictParams");
});
