// Consolidated TensorDicts: Python's files are read and written again byte for byte, in memory all tensors share one
// block, and damaged files are refused.
import "../../src/index.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FileNotFoundError, FormatError } from "../../src/io/base/errors.ts";
import { RuntimeError } from "../../src/tensor/errors.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import {
  fromConsolidated,
  LazyStackedTensorDict,
  load,
  NonTensorData,
  NonTensorStack,
  save,
  TensorDict,
} from "../../src/tensordict/index.ts";
import fixtures from "../fixtures/archives/consolidated.json" with { type: "json" };
import { decoded, flipped, roomFor, survives } from "../io/archive-files.ts";
import "./classes.ts";

const FILES = decoded(fixtures);
const room = roomFor("consolidated");
afterAll(room.remove);

/** Files that cannot be read, with the reason. */
const REFUSED: Record<string, RegExp> = {
  clash: /a level without a class/,
  njt: /a jagged nested tensor, which zensor does not have/,
};
/** Files whose data is in another order than that in which they are loaded. */
const REORDERED = new Set(["order"]);

function fixture(name: string): string {
  return room.file(`${name}.bin`, FILES.get(name) as Buffer);
}

const list = (td: unknown, key: string | string[]) => ((td as Td).get(key as string) as Tensor).tolist();
const path = (name: string) => join(room.path, name);

describe("Python's files", () => {
  for (const [name, bytes] of FILES) {
    const reason = REFUSED[name];
    if (reason !== undefined) {
      test(`${name} is refused`, () => {
        expect(() => fromConsolidated(fixture(name))).toThrow(reason);
      });
      continue;
    }
    test(`${name} is read, and written again byte for byte`, () => {
      const td = fromConsolidated(fixture(name));
      expect(td.isConsolidated()).toBe(true);
      expect(td.consolidate()).toBe(td);
      const again = td._kind === "lazy" ? (td.clone() as Td) : (new TensorDict(td as never) as unknown as Td);
      if (td.isLocked) again.lock_();
      expect(again.isConsolidated()).toBe(false);
      const written = again.consolidate({ filename: path("again.bin") });
      if (!REORDERED.has(name)) expect(readFileSync(path("again.bin")).equals(bytes)).toBe(true);
      expect([written.isLocked, written.isConsolidated()]).toEqual([true, true]);
      expect(String(fromConsolidated(path("again.bin")))).toBe(String(td));
    });
  }

  test("values, order of keys, classes", () => {
    const plain = TensorDict.fromConsolidated(fixture("plain"));
    expect(list(plain, "a")).toEqual([0, 1, 2]);
    expect(list(plain, ["n", "c"])).toBe(5);
    expect(plain.isLocked).toBe(false);
    expect([...fromConsolidated(fixture("order"))._keys()]).toEqual(["s", "a", "n"]);
    expect(list(fromConsolidated(fixture("bool_bf16")), "h")).toEqual([1, 1, 1]);
    expect(String((fromConsolidated(fixture("tc")).get("p") as Td).constructor.name)).toBe("Point");
    const named = fromConsolidated(fixture("named"));
    expect([...named.batchSize, ...named.names]).toEqual([2, 3, "a", null] as never);
    expect(fromConsolidated(fixture("lazyn"))).toBeInstanceOf(LazyStackedTensorDict);
    expect((fromConsolidated(fixture("nts3")).get("s") as unknown as { tolist(): unknown }).tolist()).toEqual([
      ["a", "b"],
      ["c", "d"],
    ]);
  });

  test("data of nested levels lies where they stand among the entries", () => {
    const nested = { c: tensor([1]), m: { q: tensor([1, 1]) } };
    const td = new TensorDict({ s: "v", n: nested, a: tensor([1, 1, 1]) }) as unknown as Td;
    td.consolidate({ filename: path("order.bin") });
    expect(readFileSync(path("order.bin")).equals(FILES.get("order") as Buffer)).toBe(true);
  });
});

describe("one block", () => {
  test("tensors are views of one storage, locked, of the same values", () => {
    const td = new TensorDict({
      a: tensor([1, 2, 3]).byte(),
      n: { b: tensor([4, 5]), z: zeros([0, 2]) },
      c: tensor([[6, 7]]).expand([3, 2]),
    }) as unknown as Td;
    const block = td.consolidate();
    const [a, b, c] = ["a", ["n", "b"], "c"].map((key) => block.get(key as string) as Tensor) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    expect(a._storage).toBe(b._storage);
    expect(b._storage).toBe(c._storage);
    expect([b.dataPtr() - a.dataPtr(), c.dataPtr() - a.dataPtr()]).toEqual([8, 16]);
    expect(c.tolist()).toEqual(Array(3).fill([6, 7]));
    expect([...(block.get(["n", "z"]) as Tensor).shape]).toEqual([0, 2]);
    expect([block.isLocked, block.isConsolidated(), td.isConsolidated(), td.isLocked]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    b.fill_(9);
    expect(block.isConsolidated()).toBe(true);
    expect(list(td, ["n", "b"])).toEqual([4, 5]);
    expect(a.tolist()).toEqual([1, 2, 3]);
  });

  test("replacing, adding or removing an entry ends it", () => {
    const made = () =>
      (new TensorDict({ a: zeros([2]), b: zeros([1]) }) as unknown as Td).consolidate().unlock_() as Td;
    expect(made().isConsolidated()).toBe(true);
    expect((made().set("a", zeros([2])) as Td).isConsolidated()).toBe(false);
    expect((made().set("c", zeros([2])) as Td).isConsolidated()).toBe(false);
    expect((made().del_("a") as Td).isConsolidated()).toBe(false);
  });

  test("in place, in shared memory, elements of sixteen bytes", () => {
    const td = new TensorDict({ a: tensor([1]).byte(), z: zeros([2], { dtype: "complex128" }) }) as unknown as Td;
    const z = td.consolidate({ shareMemory: true }).get("z") as Tensor;
    z.fill_(3);
    expect(z.real.tolist()).toEqual([3, 3]);
    const before = td.get("a");
    expect(td.consolidate({ inplace: true })).toBe(td);
    expect(td.get("a")).not.toBe(before);
    expect([td.isConsolidated(), td.isLocked]).toEqual([true, true]);
  });

  test("lazy stacks and stacks of values", () => {
    const members = [1, 2].map((n) => new TensorDict({ a: zeros([n]) }) as unknown as Td);
    const lazy = new LazyStackedTensorDict(members).consolidate();
    expect(lazy).toBeInstanceOf(LazyStackedTensorDict);
    expect(lazy.isConsolidated()).toBe(true);
    const [first, second] = lazy.members.map((member) => member.get("a") as Tensor) as [Tensor, Tensor];
    expect(first._storage).toBe(second._storage);
    const stack = new TensorDict({ s: new NonTensorStack(["a", "b"]) as never }, [2]) as unknown as Td;
    expect(String(stack.consolidate())).toBe(String(stack));
  });
});

describe("devices", () => {
  const made = (device: string | null = null) =>
    new TensorDict({ a: tensor([1, 2, 3]).byte(), n: { b: tensor([4, 5]), v: "x" } }, [], {
      device: device as never,
    }) as unknown as Td;
  const seen = (td: Td) => {
    const [a, b] = [td.get("a") as Tensor, td.get(["n", "b"]) as Tensor];
    const level = td.get("n") as Td;
    const devices = [td.device, level.device, a.device, b.device].map(String);
    return [...devices, a._storage === b._storage, td.isConsolidated(), td.isLocked];
  };
  const meta = (level: string) => [level, level, "meta", "meta", true, true, true];

  test("the block is where the collection is, or where it is asked for", () => {
    expect(seen(made().consolidate({ device: "meta" }))).toEqual(meta("null"));
    expect(seen(made("meta").consolidate())).toEqual(meta("meta"));
    expect(seen(made("cpu").consolidate({ device: "meta", inplace: true }))).toEqual(meta("meta"));
    expect(seen(made("cpu").consolidate())).toEqual(["cpu", "cpu", "cpu", "cpu", true, true, true]);
    expect(() => made("meta").consolidate({ device: "cpu" })).toThrow("Cannot copy out of meta tensor; no data!");
  });

  test("moving it keeps it one block, locked", () => {
    const block = made().consolidate();
    const [there, same] = [block.to("meta"), block.to("cpu")] as [Td, Td];
    expect(seen(there)).toEqual(meta("meta"));
    expect(seen(same)).toEqual(["cpu", "cpu", "cpu", "cpu", true, true, true]);
    expect(same.get("a")).toBe(block.get("a"));
    expect((block.to("float64") as Td).isConsolidated()).toBe(false);
    expect(block.to("meta", { inplace: true })).toBe(block);
    expect(seen(block)).toEqual(meta("meta"));
  });

  test("a file is mapped on the CPU, and no device goes with it", () => {
    const [name, own] = [path("device.bin"), made("cpu")];
    expect(seen(made().consolidate({ filename: name, device: "cpu" })).slice(0, 3)).toEqual(["cpu", "cpu", "cpu"]);
    expect(seen(own.consolidate({ filename: name, inplace: true })).slice(0, 2)).toEqual(["cpu", "cpu"]);
    expect(() => made().consolidate({ filename: name, device: "meta" })).toThrow(/mutually exclusive/);
    expect(seen(fromConsolidated(name).to("meta") as Td)).toEqual(meta("meta"));
    expect(seen(fromConsolidated(name, { device: "meta" }))).toEqual([...meta("meta").slice(0, 6), false]);
  });

  test("in a .pt file it is one block, too, unless something would be lost", () => {
    const block = made("cpu").consolidate();
    save({ td: block, more: tensor([9]) }, path("block.pt"));
    const loaded = load<{ td: Td; more: Tensor }>(path("block.pt"));
    expect(seen(loaded.td)).toEqual(["cpu", "cpu", "cpu", "cpu", true, true, false]);
    expect([list(loaded.td, ["n", "b"]), list(loaded.td, "a"), loaded.more.tolist()]).toEqual([[4, 5], [1, 2, 3], [9]]);
    expect(String((loaded.td.get("n") as Td).at("v"))).toBe("x");
    expect(seen(load(path("block.pt"), { device: "meta" }).td).slice(0, 6)).toEqual(meta("meta").slice(0, 6));
    (block.get("a") as Tensor).set_(tensor([8, 8]).byte());
    save(block, path("block.pt"));
    expect(list(load(path("block.pt")), "a")).toEqual([8, 8]);
    const grads = made().consolidate();
    (grads.get(["n", "b"]) as Tensor).requiresGrad_();
    save(grads, path("block.pt"));
    expect((load(path("block.pt")).get(["n", "b"]) as Tensor).requiresGrad).toBe(true);
  });
});

describe("files", () => {
  test("writes reach the file of the result, and no file that was only read", () => {
    const td = new TensorDict({ a: tensor([1, 1, 1]) }) as unknown as Td;
    const written = td.consolidate({ filename: path("w.bin") });
    (written.get("a") as Tensor).fill_(5);
    expect(readFileSync(path("w.bin")).equals(FILES.get("w") as Buffer)).toBe(true);
    (fromConsolidated(path("w.bin")).get("a") as Tensor).fill_(6);
    expect(list(fromConsolidated(path("w.bin")), "a")).toEqual([5, 5, 5]);
  });

  test("keys and values that the file cannot hold leave no file", () => {
    const none = path("none.bin");
    const bad = (entries: Record<string, unknown>) => () =>
      (new TensorDict(entries) as unknown as Td).consolidate({ filename: none });
    expect(bad({ leaves: { a: zeros([1]) } })).toThrow(/cannot be consolidated/);
    expect(bad({ "<NJT_VALUES>j": zeros([1]) })).toThrow(/cannot be consolidated/);
    expect(bad({ v: new NonTensorData(new Set([1])) })).toThrow(/is saved as JSON/);
    expect(existsSync(none)).toBe(false);
    expect(() => new TensorDict({}).consolidate({ filename: none, shareMemory: true })).toThrow(/exclude each other/);
  });
});

/** A file from parts that need not fit together. */
function file(structure: string, data = 0, length = Buffer.byteLength(structure)): string {
  const size = Buffer.alloc(8);
  size.writeBigInt64LE(BigInt(length));
  return room.file("made.bin", Buffer.concat([Buffer.alloc(data), Buffer.from(structure), size]));
}

function level(leaves: object, change: object = {}): string {
  const metadata = { device: null, names: [], batch_size: [], is_locked: false };
  return JSON.stringify({ cls: "TensorDict", non_tensors: {}, leaves, cls_metadata: metadata, ...change });
}

/** A stack of values. */
function values(members: object, dim = 0, nested: object = {}): string {
  return level({}, { cls: "NonTensorStack", non_tensors: members, cls_metadata: { stack_dim: dim }, ...nested });
}

const GOOD = level({ a: ["torch.float32", [2], 0, 8, 0] });
const names = { cls_metadata: { batch_size: [2], names: ["a", "b"] } };

/** Structure, bytes of data, reason, length when it is a lie. */
const LIES: [string, number, RegExp, number?][] = [
  [GOOD, 7, /bytes 0 to 8/],
  [GOOD, 8, /cannot be in it/, 2 ** 40],
  [GOOD, 8, /cannot be in it/, -1],
  [GOOD, 8, /cannot be in it/, 1],
  [GOOD, 8, /cannot be in it/, GOOD.length + 9],
  [GOOD, 8, /its structure:/, GOOD.length + 1],
  [level({ a: ["torch.float32", [2 ** 40], 0, 8, 0] }), 8, /bytes 0 to 8/],
  [level({ a: ["torch.float32", [2 ** 50, 2 ** 50], 0, 8, 0] }), 8, /without a place/],
  [level({ a: ["torch.float32", [2], 8, 16, 0] }), 8, /bytes 8 to 16/],
  [level({ a: ["torch.float32", [2], -8, 0, 0] }), 8, /without a place/],
  [level({ a: ["torch.float32", [-2], 0, 8, 0] }), 8, /not a list/],
  [level({ a: ["torch.float32", [1], 0, 8, 0] }), 8, /bytes 0 to 8/],
  [level({ a: ["torch.float32", [2], 0, 8, 1] }), 8, /bytes 0 to 8/],
  [level({ a: ["torch.qint8", [8], 0, 8, 0] }), 8, /unsupported dtype/],
  [level({ a: ["torch.float32", [2], 0, 8] }), 8, /five parts/],
  [level([]), 0, /without its parts/],
  [level({}, { cls: 3 }), 0, /without a class/],
  [level({}, { cls: "TensorStack" }), 0, /the class "TensorStack" is not known/],
  [level({}, { cls: "<class 'x.Unknown'>" }), 0, /Could not find the class Unknown/],
  [level({}, { cls: "LazyStackedTensorDict" }), 0, /without members/],
  [level({}, { cls: "LazyStackedTensorDict", 1: JSON.parse(level({})) }), 0, /without member 0/],
  [level({}, { cls: "LazyStackedTensorDict", 0: JSON.parse(level({})) }), 0, /stack_dim is not a dimension/],
  [level({}, { cls: "NonTensorStack" }), 0, /without members/],
  [values({ 0: ["a", [], null] }, 1), 0, /stack_dim is not a dimension/],
  [values({ 0: ["a", [2], null], 1: ["b", [3], null] }), 0, /different shapes/],
  [values({ 0: ["a", [2 ** 40], null] }), 0, /more than 10000000 values/],
  [values({ 0: ["a", [2 ** 40, 0], null] }), 0, /more than 10000000 values/],
  [values({ 0: ["a", [], null] }, 0, { 0: JSON.parse(level({})) }), 0, /occurs twice/],
  [level({}, { n: 3 }), 0, /not an object/],
  [level({}, { non_tensors: { a: [1, []] } }), 0, /three parts/],
  [level({ a: ["torch.float32", [2], 0, 8, 0] }, { non_tensors: { a: [1, [], null] } }), 8, /occurs twice/],
  [level({}, names), 0, /strange names/],
  ["[]", 0, /expected an object/],
  [GOOD.replace('"torch.float32"', "4611686018427387904"), 8, /unsupported dtype 4611686018427387904/],
  [`${'{"n":'.repeat(300)}1${"}".repeat(300)}`, 0, /its structure/],
];

describe("hostile files", () => {
  test("every lie is refused with its reason", () => {
    expect(list(fromConsolidated(file(GOOD, 8)), "a")).toEqual([0, 0]);
    for (const [structure, data, reason, length] of LIES) {
      expect(() => fromConsolidated(file(structure, data, length))).toThrow(reason);
    }
  });

  test("levels that are nested too deeply", () => {
    let structure = JSON.parse(level({}));
    for (let i = 0; i < 200; i++) structure = JSON.parse(level({}, { n: structure }));
    expect(() => fromConsolidated(file(JSON.stringify(structure)))).toThrow(/too deeply/);
  });

  test("no file, an empty one, cuts, flipped bits", () => {
    expect(() => fromConsolidated(path("nothing.bin"))).toThrow(FileNotFoundError);
    expect(() => fromConsolidated(room.file("empty.bin", new Uint8Array(0)))).toThrow(FormatError);
    const unknownClass = (error: Error) =>
      error instanceof RuntimeError && /Could not find the class/.test(error.message);
    for (const name of ["plain", "lazyin", "tc", "nts3", "named"]) {
      const whole = FILES.get(name) as Buffer;
      for (let length = 0; length < whole.length; length += 3) {
        const cut = room.file("cut.bin", whole.subarray(0, length));
        expect(survives(() => fromConsolidated(cut))).toBe("refused");
      }
      let refused = 0;
      for (const bytes of flipped(whole, 600, 5)) {
        const made = room.file("flipped.bin", bytes);
        const outcome = survives(() => {
          fromConsolidated(made);
        }, unknownClass);
        if (outcome === "refused") refused++;
      }
      expect(refused).toBeGreaterThan(200);
    }
  });
});
