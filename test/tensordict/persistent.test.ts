// PersistentTensorDict: the behaviour of Python's, over files that Python wrote and files of our own.
import "../../src/install.ts";
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { arange, ones, zeros } from "../../generated/functional.ts";
import { findHdf5, type Hdf5Library, identifiersInUse } from "../../src/ffi/hdf5.ts";
import { Hdf5File, hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor } from "../../src/tensordict/core/tensor-ops.ts";
import {
  isTensorclass,
  lazyStack,
  NonTensorData,
  NonTensorStack,
  PersistentTensorDict,
  setTensorDictPrintoptions,
  TensorDict,
} from "../../src/tensordict/index.ts";
import { temporaryDirectory } from "./helpers.ts";

const engine = hdf5Engine();
const reason = engine === null ? " (skipped: libhdf5 is not installed here)" : "";
const FIXTURES = join(import.meta.dir, "..", "fixtures", "hdf5");
const room = temporaryDirectory();
afterAll(room.remove);
afterEach(() => setTensorDictPrintoptions({ compact: false }));

let count = 0;
const fresh = () => join(room.path, `${count++}.h5`);
const list = (t: unknown) => (t as Tensor).tolist();

/** The tree that Python printed for this file, see the texts below. */
function sample(): Td {
  return new TensorDict(
    {
      a: arange(6).to("float32").view(2, 3),
      n: new TensorDict({ x: zeros(2, 4, { dtype: "int64" }), y: new TensorDict({ q: ones(2, 4) }, [2, 4]) }, [2]),
      s: "hello",
      b: ones(2, { dtype: "bool" }),
      z: new NonTensorStack(["a", "b"]),
    },
    [2],
  ) as unknown as Td;
}

const DETAILED = `PersistentTensorDict(
    fields={
        a: Tensor(shape=torch.Size([2, 3]), device=cpu, dtype=torch.float32, is_shared=False),
        b: Tensor(shape=torch.Size([2]), device=cpu, dtype=torch.bool, is_shared=False),
        n: PersistentTensorDict(
            fields={
                x: Tensor(shape=torch.Size([2, 4]), device=cpu, dtype=torch.int64, is_shared=False),
                y: PersistentTensorDict(
                    fields={
                        q: Tensor(shape=torch.Size([2, 4]), device=cpu, dtype=torch.float32, is_shared=False)},
                    batch_size=torch.Size([2, 4]),
                    device=None,
                    is_shared=False)},
            batch_size=torch.Size([2]),
            device=None,
            is_shared=False),
        s: NonTensorData(data=hello, batch_size=torch.Size([2]), device=cpu),
        z: NonTensorStack(
            ['a', 'b'],
            batch_size=torch.Size([2]),
            device=cpu)},
    batch_size=torch.Size([2]),
    device=None,
    is_shared=False)`;

const COMPACT = `PersistentTensorDict(batch_size=[2], fields={
    a: f32[3],
    b: bool[],
    n: PersistentTensorDict{x: i64[4], y: PersistentTensorDict[4]{q: f32[]}},
    s: NonTensorData,
    z: NonTensorStack})`;

describe.skipIf(engine === null)(`files of Python's to_h5${reason}`, () => {
  /** Name, compact text of Python's loaded `to_tensordict()` (strings are str here), and some values. */
  const FILES: [string, string, [string[], unknown][]][] = [
    [
      "plain",
      "TensorDict(batch_size=[2], fields={a: f32[3], bool: bool[], n: {b: i64[]}})",
      [
        [
          ["n", "b"],
          [1, 1],
        ],
      ],
    ],
    ["nontensor", "TensorDict(batch_size=[2], fields={s: str, x: f32[]})", [[["x"], [0, 0]]]],
    [
      "slash",
      "TensorDict(batch_size=[2], fields={..: f32[], a: {b: f32[]}})",
      [
        [
          ["a", "b"],
          [0, 0],
        ],
      ],
    ],
    [
      "lazy",
      "TensorDict(batch_size=[2,2], fields={a: f32[]})",
      [
        [
          ["a"],
          [
            [1, 1],
            [1, 1],
          ],
        ],
      ],
    ],
    ["nts", "TensorDict(batch_size=[2], fields={s: NonTensorStack})", []],
    ["names", "TensorDict(batch_size=[2,3], fields={a: f32[]})", []],
    [
      "tc",
      "TensorDict(batch_size=[2], fields={p: {label: str, x: f32[], y: f32[]}})",
      [
        [
          ["p", "y"],
          [1, 1],
        ],
      ],
    ],
  ];
  test.each(FILES)("%s", (name, text, values) => {
    using td = TensorDict.fromH5(join(FIXTURES, `${name}.h5`));
    setTensorDictPrintoptions({ compact: true });
    expect(String(td.toTensorDict())).toBe(text);
    for (const [key, value] of values) expect(list(td.get(key))).toEqual(value as never);
  });

  test("types", () => {
    using td = TensorDict.fromH5(join(FIXTURES, "types2.h5"));
    expect([...td.batchSize]).toEqual([]);
    const dtypes = Object.fromEntries(td.items().map(([key, t]) => [String(key), String((t as Tensor).dtype)]));
    expect(dtypes).toEqual({
      c64: "torch.complex64",
      f16: "torch.float16",
      scalar: "torch.int64",
      u16: "torch.uint16",
      zero: "torch.float32",
    });
    expect((td.get("scalar") as Tensor).item()).toBe(4);
  });

  test("values that are no tensors", () => {
    using one = TensorDict.fromH5(join(FIXTURES, "nontensor.h5"));
    expect(one.at("s")).toBe("hello");
    using stack = TensorDict.fromH5(join(FIXTURES, "nts.h5"));
    expect(stack.at("s")).toEqual(["a", "b"]);
    expect(stack.at(1).at("s")).toBe("b");
  });

  test("entries that lead nowhere are no keys, groups that hold themselves are an error, not a hang", () => {
    using td = new PersistentTensorDict({ filename: join(FIXTURES, "h5py.h5") });
    expect((td.get("links") as Td).keys()).toEqual(["relative", "soft"]);
    expect(td.has(["links", "outside"])).toBe(false);
    const loop = td.get("loop") as PersistentTensorDict;
    expect(() => loop.toTensorDict()).toThrow("the group 'loop/self' holds itself: it is a link to 'loop'");
  });

  test("rows that another program wrote, as one value or as a stack", () => {
    const filename = join(FIXTURES, "h5py.h5");
    using whole = new PersistentTensorDict({ filename });
    expect(whole.at("texts")).toEqual([
      ["a", "bc"],
      ["", "déf"],
    ]);
    const path = fresh();
    {
      using file = new Hdf5File(path, "w");
      file.put("x", arange(3));
      file.putValues("names", ["p", "q", "r"], [3], false);
    }
    using rows = TensorDict.fromH5(path, { nonTensorAsStack: true, batchSize: [3] });
    expect(rows.at(2).at("names")).toBe("r");
  });
});

describe.skipIf(engine === null)(`a file of our own${reason}`, () => {
  test("prints as Python's does", () => {
    using td = sample().toH5(fresh());
    expect(String(td)).toBe(DETAILED);
    setTensorDictPrintoptions({ compact: true });
    expect(String(td)).toBe(COMPACT);
  });

  test("keys, values and items, nested and leaves only, in Python's order", () => {
    using td = sample().toH5(fresh());
    expect(td.keys()).toEqual(["a", "b", "n", "s", "z"]);
    const nested = ["a", "b", "n", ["n", "x"], ["n", "y"], ["n", "y", "q"], "s", "z"];
    expect(td.keys({ includeNested: true })).toEqual(nested as never);
    expect(td.keys({ includeNested: true, leavesOnly: true })).toEqual(["a", "b", ["n", "x"], ["n", "y", "q"]]);
    expect(td.items({ includeNested: true }).map(([key]) => key)).toEqual(nested as never);
    expect(td.values({ leavesOnly: true }).map((t) => [...(t as Tensor).shape])).toEqual([[2, 3], [2]]);
  });

  test("reading: every get is a fresh tensor, an index gives its part", () => {
    using td = sample().toH5(fresh(), { compression: "gzip" });
    expect(td.get("a")).not.toBe(td.get("a"));
    (td.get("a") as Tensor).zero_();
    expect(list(td.get("a"))).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(td.get("nothing")).toBeNull();
    expect(td.get("nothing", 7)).toBe(7);
    expect(() => td.at("nothing")).toThrow("nothing");
    const row = td.at(1);
    expect(row).toBeInstanceOf(TensorDict);
    expect([...row.batchSize]).toEqual([]);
    expect(list(row.get("a"))).toEqual([3, 4, 5]);
    expect([...td.at("1:").batchSize]).toEqual([1]);
    expect([...(td.at(tensor([true, false])).get(["n", "y"]) as Td).batchSize]).toEqual([1, 4]);
    expect([...td].map((part) => list(part.get("a")))).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(() => td.at(2)).toThrow("out of bounds");
  });

  test("only the part that an index names is read", () => {
    const filename = fresh();
    {
      using file = new Hdf5File(filename, "w");
      file.put("x", zeros(2, 2), { maxShape: [null, 2], chunks: [4, 2] });
      // 64 GiB of rows that were never written: the whole would not fit.
      file.extend("x", [2 ** 33, 2]);
      file.write("x", tensor([5, 6]), 2 ** 32 + 1);
    }
    using td = new PersistentTensorDict({ filename, batchSize: [2 ** 33] });
    expect(list(td.at(2 ** 32 + 1).get("x"))).toEqual([5, 6]);
    expect(list(td.at([[2 ** 32, 2 ** 32 + 1]]).get("x"))).toEqual([
      [0, 0],
      [5, 6],
    ]);
    expect(() => td.get("x")).toThrow("says that it has 68719476736 bytes");
  });

  test("set, set_, setAt, setAt_, update write the file", () => {
    const filename = fresh();
    {
      using td = sample().toH5(filename);
      td.set("new", ones(2)).set(["deep", "er", "w"], arange(4).view(2, 2));
      td.set("a", zeros(2, 5, { dtype: "int64" }));
      td.set_("a", ones(2, 5, { dtype: "int64" }));
      td.setAt(0, { a: arange(5), n: { x: [9, 8, 7, 6] } });
      td.setAt_("a", -1, [1, "3:"]);
      td.update({ s: "other", n: { fresh: zeros(2, 1) } });
      td.setAt(["n", "y", "q"], zeros(2, 4));
      td.setAt("z", new NonTensorStack(["c", "d"]));
      expect(() => td.set("w", zeros(3))).toThrow("batch dimension mismatch");
      expect(() => td.set("bf", zeros(2, { dtype: "bfloat16" }))).toThrow("Got unsupported ScalarType BFloat16");
      expect(() => td.set("g", zeros(2, { requiresGrad: true }))).toThrow("Cannot set a tensor that has requires_grad");
      expect(() => td.set_("nothing", zeros(2))).toThrow("nothing");
      expect(() => td.set_("new", zeros(2, 2))).toThrow("does not fit");
      expect(() => td.set("a", new TensorDict({}, [2]))).toThrow("cannot set a tensor collection in place of");
    }
    using td = TensorDict.fromH5(filename, { batchSize: [2] });
    expect(td.keys({ includeNested: true, leavesOnly: true })).toEqual([
      "a",
      "b",
      ["deep", "er", "w"],
      ["n", "fresh"],
      ["n", "x"],
      ["n", "y", "q"],
      "new",
    ]);
    expect(list(td.get("a"))).toEqual([
      [0, 1, 2, 3, 4],
      [1, 1, 1, -1, -1],
    ]);
    expect(list(td.get(["n", "x"]))).toEqual([
      [9, 8, 7, 6],
      [0, 0, 0, 0],
    ]);
    expect(list(td.get(["n", "y", "q"]))).toEqual(new Array(2).fill([0, 0, 0, 0]));
    expect([td.at("s"), td.at("z")]).toEqual(["other", ["c", "d"]]);
  });

  test("methods in place write the file, all others give TensorDicts", () => {
    using td = new TensorDict({ a: arange(3), n: { b: ones(3) } }, [3]).toH5(fresh());
    const plain = td as unknown as Td;
    plain.add_(2).mul_(3).neg_();
    expect([list(td.get("a")), list(td.get(["n", "b"]))]).toEqual([
      [-6, -9, -12],
      [-9, -9, -9],
    ]);
    td.fill_("n", 4);
    td.apply_((t) => t.add(1));
    expect([list(td.get("a")), list(td.get(["n", "b"]))]).toEqual([
      [-5, -8, -11],
      [5, 5, 5],
    ]);
    td.zero_();
    td.setAt("1:", 2);
    td.update_({ a: arange(3) });
    td.copy_(td.toTensorDict().apply((t) => t.add(1)));
    expect([list(td.get("a")), list(td.get(["n", "b"]))]).toEqual([
      [1, 2, 3],
      [1, 3, 3],
    ]);
    for (const made of [plain.add(1), td.clone(), td.view(3, 1), td.select("a"), td.exclude("a"), td.flattenKeys()]) {
      expect(made).toBeInstanceOf(TensorDict);
    }
    expect(td.flattenKeys().keys()).toEqual(["a", "n.b"]);
    const holder = new TensorDict({ file: td as unknown as Td }, [3]);
    holder.set_(["file", "a"], zeros(3));
    holder.setAt(0, { file: { a: 7 } });
    expect(list(td.get("a"))).toEqual([7, 0, 0]);
    expect(() => td.memmap_()).toThrow("Cannot build a memmap TensorDict in-place from a PersistentTensorDict");
    expect(() => td.requiresGrad_()).toThrow("cannot require gradients");
    expect(() => td.select("a", { inplace: true })).toThrow("Call toTensorDict() first");
    expect(td.keys()).toEqual(["a", "n"]);
  });

  test("delete and rename", () => {
    using td = sample().toH5(fresh());
    const inner = td.get("n");
    td.renameKey_("a", "moved").renameKey_(["n", "x"], "x").del_("b").del_(["n", "y"]);
    expect(td.keys({ includeNested: true })).toEqual(["moved", "n", "s", "x", "z"]);
    expect(td.get("n")).toBe(inner);
    expect(() => td.renameKey_("x", "s", { safe: true })).toThrow("key s already present in TensorDict.");
    td.renameKey_("x", "s").renameKey_("s", ["n", "deep", "s"]).renameKey_("n", ["n", "n"]);
    expect(td.keys({ includeNested: true, leavesOnly: true })).toEqual(["moved", ["n", "n", "deep", "s"]]);
    td.renameKey_(["n", "n", "deep"], "n");
    expect(td.keys({ includeNested: true })).toEqual(["moved", "n", ["n", "s"], "z"]);
    expect([...(td.get(["n", "s"]) as Tensor).shape]).toEqual([2, 4]);
    expect((td.pop("moved") as Tensor).ndim).toBe(2);
    expect(() => td.renameKey_("moved", "x")).toThrow("moved");
    expect(() => td.del_("moved")).toThrow("moved");
    expect(td.clear().keys()).toEqual([]);
  });

  test("tensorclasses and lazy stacks become groups, keys with a slash are refused", () => {
    const members = [0, 1].map((i) => new TensorDict({ a: ones(3).mul(i) }, [3]) as unknown as Td);
    const source = new TensorDict(
      { stack: lazyStack(members), p: { q: arange(2) }, meta: new NonTensorData([1, 2]) },
      [2],
    );
    using td = source.toH5(fresh());
    expect(td.keys({ includeNested: true, leavesOnly: true })).toEqual([
      ["p", "q"],
      ["stack", "a"],
    ]);
    expect([...(td.get("stack") as Td).batchSize]).toEqual([2, 3]);
    expect(list(td.get(["stack", "a"]))).toEqual([
      [0, 0, 0],
      [1, 1, 1],
    ]);
    expect(td.at("meta")).toEqual([1, 2]);
    expect(isTensorclass(td)).toBe(false);
    // A group would come back as another key.
    const slash = 'The key "p/q" cannot be saved in an HDF5 file, where a slash leads into a group.';
    expect(() => new TensorDict({ "p/q": arange(2) }).toH5(fresh())).toThrow(slash);
    expect(() => td.set("p/q", arange(2))).toThrow(slash);
    expect(() => td.update({ n: { "p/q": arange(2) } })).toThrow(slash);
    expect(() => PersistentTensorDict.fromDict({ "p/q": arange(2) }, fresh())).toThrow(slash);
    expect(list(td.get(["p", "q"]))).toEqual([0, 1]);
    expect(() => new TensorDict({ x: null }).toH5(fresh())).toThrow("texts, booleans and numbers of one kind");
  });

  test("batch sizes", () => {
    const filename = fresh();
    new TensorDict({ a: zeros(4, 3, 2), n: { b: zeros(4, 3), deep: { c: zeros(4, 3, 5) } } }).toH5(filename).close();
    using longest = TensorDict.fromH5(filename);
    expect([...longest.batchSize]).toEqual([4, 3]);
    expect([...(longest.get(["n", "deep"]) as Td).batchSize]).toEqual([4, 3, 5]);
    using limited = TensorDict.fromH5(filename, { batchDims: 1 });
    expect([...limited.batchSize]).toEqual([4]);
    limited.batchSize = [4, 3];
    expect(() => {
      limited.batchSize = [4, 4];
    }).toThrow("incompatible with the batch-size");
    expect(() => new PersistentTensorDict({ filename, batchSize: [7] })).toThrow(
      "batch size and array size mismatch: array.shape=(4, 3, 2), batch_size=torch.Size([7]).",
    );
    expect(() => new PersistentTensorDict({ batchSize: [7] })).toThrow("Either group or filename must be provided");
    using file = new Hdf5File(filename);
    const group = new PersistentTensorDict({ group: { file, path: "n" }, batchSize: [4] });
    expect(group.keys()).toEqual(["b", "deep"]);
    expect(() => new PersistentTensorDict({ group: { file, path: "a" } })).toThrow("'a' is no group");
  });

  test("locks, read-only files, files that are closed", () => {
    const filename = fresh();
    const td = sample().toH5(filename);
    td.lock_();
    expect(() => td.set("new", zeros(2))).toThrow("Cannot modify locked TensorDict");
    expect(() => (td.get("n") as Td).set("new", zeros(2))).toThrow("Cannot modify locked TensorDict");
    expect(() => td.del_("a")).toThrow("Cannot modify locked TensorDict");
    expect(() => td.renameKey_("a", "c")).toThrow("Cannot modify locked TensorDict");
    td.set_("a", zeros(2, 3));
    td.unlock_();
    const inner = td.get("n") as Td;
    td.close();
    td.close();
    expect(td.closed).toBe(true);
    for (const use of [
      () => td.get("a"),
      () => td.set("a", zeros(2)),
      () => td.keys(),
      () => String(td),
      () => inner.keys(),
    ]) {
      expect(use).toThrow("is closed");
    }
    const { read } = (() => {
      using read = TensorDict.fromH5(filename);
      for (const use of [() => read.set("a", zeros(2, 3)), () => read.del_("a"), () => read.zero_()]) {
        expect(use).toThrow("was opened for reading only");
      }
      return { read };
    })();
    expect(read.closed).toBe(true);
  });

  test("a file is replaced when the new one is complete", () => {
    const filename = fresh();
    new TensorDict({ a: arange(2) }, [2]).toH5(filename).close();
    expect(() => new TensorDict({ a: zeros(2), b: zeros(2, { dtype: "bfloat16" }) }, [2]).toH5(filename)).toThrow(
      "BFloat16",
    );
    using old = TensorDict.fromH5(filename);
    expect(list(old.get("a"))).toEqual([0, 1]);
    using next = old.toTensorDict().toH5(filename);
    expect(list(next.get("a"))).toEqual([0, 1]);
    expect(readdirSync(room.path).filter((name) => name.includes("tmp"))).toEqual([]);
    expect(() => new TensorDict({}).toH5(join(room.path, "nowhere", "x.h5"))).toThrow("No such file or directory");
    expect(existsSync(join(room.path, "nowhere"))).toBe(false);
  });

  test("fromDict, memmap and back", () => {
    using td = PersistentTensorDict.fromDict({ a: zeros(3, 4), b: { c: ones(3) } }, fresh());
    expect([...td.batchSize]).toEqual([3]);
    const mapped = td.memmap(join(room.path, "mapped"));
    expect(mapped.isMemmap()).toBe(true);
    expect(list(TensorDict.loadMemmap(join(room.path, "mapped")).get(["b", "c"]))).toEqual([1, 1, 1]);
    const stacked = TensorDict.stack([td as unknown as Td, td as unknown as Td]);
    expect([...stacked.batchSize]).toEqual([2, 3]);
  });

  test("whole numbers keep their value in integer entries", () => {
    using td = new TensorDict({ a: zeros(2, { dtype: "int64" }) }, [2]).toH5(fresh());
    td.setAt(0, 2 ** 40 + 1);
    expect(list(td.get("a"))).toEqual([2 ** 40 + 1, 0]);
  });

  test("1,000 rounds, with errors, leave nothing open", () => {
    const library = findHdf5().library as Hdf5Library;
    const filename = fresh();
    sample().toH5(filename).close();
    const before = identifiersInUse(library);
    for (let i = 0; i < 1000; i++) {
      using td = TensorDict.fromH5(filename, { mode: "r+" });
      td.setAt_("a", i, 0);
      expect(() => td.set("a", zeros(2, { dtype: "bfloat16" }))).toThrow();
      expect(() => td.at("nothing")).toThrow();
    }
    expect(identifiersInUse(library)).toBe(before);
    using td = TensorDict.fromH5(filename);
    expect(list(td.get("a"))).toEqual([
      [999, 999, 999],
      [3, 4, 5],
    ]);
  });

  test("damage is an error when the file is opened", () => {
    const filename = fresh();
    writeFileSync(filename, "no file of this kind");
    expect(() => TensorDict.fromH5(filename)).toThrow("file signature not found");
  });
});
