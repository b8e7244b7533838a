// What is saved can be loaded: entries that changed behind their collection's back are refused by name, or saved right.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { arange, ones, zeros } from "../../generated/functional.ts";
import { loadTorch, saveTorch } from "../../src/io/index.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import {
  appendMemmap,
  fromConsolidated,
  fromSafetensors,
  lazyStack,
  loadMemmap,
  TensorDict,
  toSafetensors,
  toSafetensorsAsync,
} from "../../src/tensordict/index.ts";
import { temporaryDirectory } from "./helpers.ts";

const folder = temporaryDirectory();
afterAll(() => folder.remove());

const make = (fields: object, size: number[]) => new TensorDict(fields, size) as unknown as Td;
const sample = () =>
  make({ a: arange(6).reshape(3, 2), n: make({ b: ones(3, 4), m: make({ c: ones(3) }, [3]) }, [3]) }, [3]);
const inner = (td: Td) => td.get("n") as Td;

/** Ways in which an entry stops fitting, and the entry that the error names. */
const MISFITS: Record<string, [(td: Td) => void, string]> = {
  resize_: [(td) => td.get("a").resize_([7]), "a"],
  "resize_ below": [(td) => inner(td).get("b").resize_([2, 2]), "n.b"],
  t_: [(td) => td.get("a").t_(), "a"],
  unsqueeze_: [(td) => td.get("a").unsqueeze_(0), "a"],
  "transpose_ below": [(td) => inner(td).get("b").transpose_(0, 1), "n.b"],
  "data =": [
    (td) => {
      td.get("a").data = ones(5);
    },
    "a",
  ],
  set_: [(td) => td.get("a").set_(arange(9)), "a"],
  asStrided_: [(td) => td.get("a").asStrided_([2], [1]), "a"],
  "a shorter batch below, and an entry changed": [
    (td) => {
      inner(td).batchSize = [];
      inner(td).get("b").resize_([2]);
    },
    "n.b",
  ],
};

type Writer = [write: (td: Td, path: string) => unknown, read: ((path: string) => Td) | null];
const WRITERS: Record<string, Writer> = {
  memmap: [(td, path) => td.memmap(path), (path) => loadMemmap(path) as never],
  "memmap, atomic": [(td, path) => td.memmap(path, { atomic: true }), (path) => loadMemmap(path) as never],
  memmap_: [(td, path) => td.memmap_(path), (path) => loadMemmap(path) as never],
  memmapLike: [(td, path) => td.memmapLike(path), null],
  memmapAsync: [(td, path) => td.memmapAsync(path), (path) => loadMemmap(path) as never],
  "memory that is shared": [(td) => td.memmap(), null],
  "save in an archive": [(td, path) => td.save(`${path}.tdz`), (path) => TensorDict.load(`${path}.tdz`) as never],
  "saveAsync in an archive": [
    (td, path) => td.saveAsync(`${path}.tdz`),
    (path) => TensorDict.load(`${path}.tdz`) as never,
  ],
  consolidate: [(td, path) => td.consolidate({ filename: path }), (path) => fromConsolidated(path)],
  "consolidate in memory": [(td) => td.consolidate(), null],
  consolidateAsync: [(td, path) => td.consolidateAsync({ filename: path }), (path) => fromConsolidated(path)],
  toSafetensors: [(td, path) => toSafetensors(td, path), (path) => fromSafetensors(path)],
  toSafetensorsAsync: [(td, path) => toSafetensorsAsync(td, path), (path) => fromSafetensors(path)],
  "save as .pt": [(td, path) => saveTorch(td, `${path}.pt`), (path) => loadTorch(`${path}.pt`) as never],
  toH5: [(td, path) => td.toH5(path).close(), null],
  toH5Async: [async (td, path) => (await td.toH5Async(path)).close(), null],
};

async function refusal(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    return (error as Error).message;
  }
  return "nothing was refused";
}

describe("an entry that does not fit any more", () => {
  for (const [writer, [write]] of Object.entries(WRITERS)) {
    test(`${writer} names it and writes nothing`, async () => {
      for (const [change, name] of Object.values(MISFITS)) {
        const td = sample();
        change(td);
        const path = join(folder.fresh(), "x");
        expect(await refusal(() => write(td, path))).toMatch(new RegExp(`^the (Tensor|TensorDict) ${name} has shape`));
        for (const suffix of ["", ".tdz", ".pt"]) expect(existsSync(path + suffix)).toBe(false);
        const stack = lazyStack([sample(), td]);
        expect(await refusal(() => write(stack, path))).toMatch(new RegExp(`^the \\w+ 1.${name} has shape`));
      }
    });
  }

  test("rows to append", () => {
    const path = join(folder.fresh(), "x");
    sample().memmap(path);
    const rows = sample();
    rows.get("a").resize_([2, 2]);
    expect(() => appendMemmap(path, rows)).toThrow("the Tensor a has shape torch.Size([2, 2])");
    expect((loadMemmap(path) as unknown as Td).get("a").shape).toEqual([3, 2] as never);
  });

  test("a member of a stack with another batch size", () => {
    const td = lazyStack([sample(), sample()]) as Td & { members: readonly Td[] };
    (td.members[1] as Td).batchSize = [];
    expect(() => td.memmap(join(folder.fresh(), "x"))).toThrow("the TensorDict 1 has shape torch.Size([])");
  });
});

describe("a nested collection with a shorter batch", () => {
  for (const [writer, [write, read]] of Object.entries(WRITERS)) {
    if (read === null) continue;
    test(`${writer}: it comes back with the batch of what holds it`, async () => {
      const td = make(
        { a: arange(6).reshape(3, 2), n: make({ b: ones(3, 4), m: make({ c: ones(3) }, [3]), s: "x" }, [3]) },
        [3],
      );
      inner(td).batchSize = [];
      (inner(td).get("m") as Td).batchSize = [];
      const path = join(folder.fresh(), "x");
      await write(td, path);
      const got = read(path);
      expect([...got.batchSize]).toEqual([3]);
      expect([...inner(got).batchSize]).toEqual([3]);
      expect([...(inner(got).get("m") as Td).batchSize]).toEqual([3]);
      expect((inner(got).get("b") as Tensor).sum().item()).toBe(12);
      expect(inner(got).at("s")).toBe("x");
    });
  }
});

describe("setting a batch size", () => {
  test("grows what is nested, values too", () => {
    const td = make({ n: { b: ones(3, 2), m: { c: ones(3, 2) } }, s: "x" }, []);
    td.batchSize = [3, 2];
    expect([...inner(td).batchSize]).toEqual([3, 2]);
    expect([...(inner(td).get("m") as Td).batchSize]).toEqual([3, 2]);
    expect([...(td.get("s") as Td).batchSize]).toEqual([3, 2]);
    td.batchSize = [];
    td.batchSize = 3;
    expect([...inner(td).batchSize]).toEqual([3, 2]);
  });

  test("is refused where an entry does not fit, and nothing is changed", () => {
    const td = make({ n: { b: ones(3, 2), m: { c: ones(3) } } }, []);
    expect(() => {
      td.batchSize = [3, 2];
    }).toThrow(
      "the Tensor n.m.c has shape torch.Size([3]) which is incompatible with the batch-size torch.Size([3, 2])",
    );
    expect([[...td.batchSize], [...inner(td).batchSize]]).toEqual([[], []]);
  });

  test("is refused for stacks", () => {
    const td = lazyStack([sample(), sample()]);
    td.batchSize = [2, 3];
    expect(() => {
      td.batchSize = [2];
    }).toThrow("Received a new batch size [2] with an existing batch_size torch.Size([2, 3]) in a lazy TD");
    const values = make({ s: ["a", "b"] }, [2]).get("s") as Td;
    expect(() => {
      values.batchSize = [3];
    }).toThrow("in a lazy TD");
  });
});

describe("lists", () => {
  const stored = (value: unknown, size: number[]) => {
    const entry = make({ l: value }, size).get("l") as unknown as { batchSize: number[]; tolist(): unknown };
    return [[...entry.batchSize], entry.tolist()];
  };
  test("fill the batch in all of its dimensions", () => {
    const nested = [
      ["a", "b"],
      ["c", "d"],
    ];
    expect(stored(nested, [2, 2])).toEqual([[2, 2], nested]);
    expect(stored(nested, [2])).toEqual([[2, 2], nested]);
    expect(stored(nested, [])).toEqual([[2, 2], nested]);
    expect(stored([["a"], ["b", "c"]], [2])).toEqual([[2], [["a"], ["b", "c"]]]);
    expect(stored([{ x: 1 }, { x: 2 }], [2])).toEqual([[2], [{ x: 1 }, { x: 2 }]]);
    const path = join(folder.fresh(), "x");
    make({ l: nested, a: zeros(2, 2) }, [2, 2]).memmap(path);
    expect((loadMemmap(path).get("l") as unknown as { tolist(): unknown }).tolist()).toEqual(nested);
  });
  for (const value of [
    ["a", "b"],
    [
      ["a", "b"],
      ["c", "d"],
    ],
    [["a"], ["b", "c"]],
    [{ x: 1 }, { x: 2 }],
    [["a", "b"], "c"],
  ]) {
    test(`that do not are refused: ${JSON.stringify(value)}`, () => {
      expect(() => stored(value, [2, 3])).toThrow("batch dimension mismatch, got self.batch_size=torch.Size([2, 3])");
    });
  }
});
