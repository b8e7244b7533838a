// TensorDict: entries, keys, locks, indexing, shapes, and the texts of its errors.
import "../../src/install.ts";
import { describe, expect, test } from "bun:test";
import { slice } from "../../src/api/indexing-parse.ts";
import { RuntimeError } from "../../src/tensor/errors.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { ones, tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import {
  isNonTensor,
  isTensorCollection,
  MetaData,
  NonTensorData,
  NonTensorStack,
  setGetDefaultsToNull,
  TensorDict,
  unravelKey,
} from "../../src/tensordict/index.ts";

const arange = (n: number) => tensor(Array.from({ length: n }, (_, i) => i));
const sample = () => new TensorDict({ a: arange(6).view(2, 3), n: { b: tensor([1, 1]) } }, [2]);

describe("construction", () => {
  test("values become tensors, TensorDicts and wrapped values", () => {
    const td = new TensorDict({
      i: 1,
      f: 2.5,
      t: true,
      l: [1, 2],
      s: "x",
      none: null,
      d: { k: 1n },
      o: new Date(0),
    });
    expect((td.at("i") as Tensor).dtype.name).toBe("float32");
    expect((td.at(["d", "k"]) as Tensor).dtype.name).toBe("int64");
    expect((td.at("t") as Tensor).dtype.name).toBe("bool");
    expect((td.at("l") as Tensor).tolist()).toEqual([1, 2]);
    expect(td.at("s")).toBe("x");
    expect(td.at("none")).toBeNull();
    expect(td.get("s")).toBeInstanceOf(NonTensorData);
    expect(isTensorCollection(td.get("d"))).toBe(true);
    expect((td.at("o") as Date).getTime()).toBe(0);
  });
  test("lists of other things are stacks along the batch", () => {
    const td = new TensorDict({ s: ["a", "b"] }, [2]);
    expect(td.get("s")).toBeInstanceOf(NonTensorStack);
    expect(td.at("s")).toEqual(["a", "b"] as never);
    expect(() => new TensorDict({ s: ["a", "b", "c"] }, [2])).toThrow("batch dimension mismatch");
  });
  test("keys that look like numbers keep their order in Maps", () => {
    const td = new TensorDict(
      new Map([
        ["10", 1],
        ["2", 2],
        ["__proto__", 3],
      ]),
    );
    expect(td.keys()).toEqual(["10", "2", "__proto__"]);
  });
  test("sizes and options", () => {
    expect(new TensorDict({}, [3, 4]).batchSize).toEqual([3, 4] as never);
    expect(new TensorDict({}, 3).batchSize).toEqual([3] as never);
    const td = new TensorDict({ a: zeros([2, 3]) }, { batchSize: [2], device: "cpu", names: ["t"] });
    expect(td.names).toEqual(["t"]);
    expect(String(td.device)).toBe("cpu");
    expect(new TensorDict(td).batchSize).toEqual([2] as never);
  });
  test("errors", () => {
    expect(() => new TensorDict([1] as never, [2])).toThrow(
      "A TensorDict source is expected to be a TensorDictBase sub-type or a Mapping, found " +
        "type(source)=<class 'list'>.",
    );
    expect(() => new TensorDict({ a: zeros([2]) }, [3])).toThrow(
      "batch dimension mismatch, got self.batch_size=torch.Size([3]) and value.shape=torch.Size([2]) for key 'a'. " +
        "The leading dimensions of a value must match the batch size.",
    );
    expect(() => new TensorDict({ a: 1 }, [2])).toThrow(
      "Python scalars are stored as 0-dim tensors: to store a scalar",
    );
    expect(() => new TensorDict({ a: undefined })).toThrow("undefined is no value for key 'a'");
  });
});

describe("entries", () => {
  test("get, at, set, has", () => {
    const td = sample() as unknown as Td;
    const x = zeros([2]);
    td.set("x", x);
    expect(td.at("x")).toBe(x);
    expect(td.get(["n", "b"])).toBe(td.at("n").at("b"));
    td.set(["p", "q"], zeros([2, 5]));
    expect(td.at("p").batchSize).toEqual([2] as never);
    expect(td.has(["p", "q"])).toBe(true);
    expect(td.has(["p", "zz"])).toBe(false);
    expect(td.get("zz")).toBeNull();
    expect(td.get("zz", 5)).toBe(5);
    using _ = setGetDefaultsToNull(false);
    expect(() => td.get("zz")).toThrow("not found");
  });
  test("errors have Python's texts", () => {
    const td = sample() as unknown as Td;
    expect(() => td.at("zz")).toThrow(`key "zz" not found in TensorDict with keys ['a', 'n']`);
    expect(() => td.at(["n", "zz"])).toThrow(`key "zz" not found in TensorDict with keys ['b']`);
    expect(() => td.at(["a", "zz"])).toThrow("'a' is a Tensor, not a tensordict, so it has no entry 'zz'.");
    expect(() => td.set(3 as never, 1)).toThrow(
      "Only NestedKeys are supported: a key must be a string or a non-empty, possibly nested tuple " +
        "of strings. Got key 3.",
    );
    expect(() => td.set([] as never, 1)).toThrow("Only NestedKeys are supported");
    expect(() => td.set_("a", zeros([2, 4]))).toThrow("Failed to update 'a' in tensordict TensorDict(");
    expect(() => td.set_("a", zeros([2, 4]))).toThrow(
      "the value of shape torch.Size([2, 4]) does not fit the entry of shape torch.Size([2, 3])",
    );
    expect(() => td.set_("q", zeros([2]))).toThrow(`key "q" not found in TensorDict with keys ['a', 'n']`);
    expect(() => td.update_({ zz: zeros([2]) })).toThrow("The key zz was not found in the dest tensordict.");
    expect(() => td.renameKey_("a", "n", { safe: true })).toThrow("key n already present in TensorDict.");
    expect(() => td.pop("zz")).toThrow(`key "zz" not found`);
    expect(td.pop("zz", null)).toBeNull();
    expect(
      () => `${(td as never as { [Symbol.toPrimitive](h: string): string })[Symbol.toPrimitive]("default")}`,
    ).toThrow("Converting a tensordict to boolean value is not permitted.");
  });
  test("set_ writes into the same storage and casts", () => {
    const td = sample() as unknown as Td;
    const a = td.at("a") as Tensor;
    td.set_(
      "a",
      tensor([
        [1n, 2n, 3n],
        [4n, 5n, 6n],
      ]),
    );
    expect(td.at("a")).toBe(a);
    expect(a.dtype.name).toBe("float32");
    expect(a.tolist()).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
  });
  test("nested collections: kept when they fit, copied when their batch is too short", () => {
    const parent = new TensorDict({}, [4]) as unknown as Td;
    const longer = new TensorDict({}, [4, 3]);
    const shorter = new TensorDict({ c: zeros([4]) });
    parent.set("longer", longer).set("shorter", shorter);
    expect(parent.at("longer")).toBe(longer);
    expect(parent.at("shorter")).not.toBe(shorter);
    expect(parent.at("shorter").batchSize).toEqual([4] as never);
    expect(shorter.batchSize).toEqual([] as never);
  });
  test("lists of keys, values and items", () => {
    const td = new TensorDict({ s: "x", a: zeros([2]), n: { b: 1 } }) as unknown as Td;
    expect(td.keys()).toEqual(["s", "a", "n"]);
    expect(td.keys({ includeNested: true })).toEqual(["s", "a", ["n", "b"], "n"]);
    expect(td.keys({ includeNested: true, leavesOnly: true })).toEqual(["a", ["n", "b"]]);
    expect(td.keys({ sort: true })).toEqual(["a", "n", "s"]);
    expect(td.values({ leavesOnly: true })).toHaveLength(1);
    expect(td.items()[0]?.[0]).toBe("s");
    expect(unravelKey(["a", ["b"]])).toEqual(["a", "b"]);
    expect(unravelKey(["a"])).toBe("a");
  });
  test("update merges nested levels", () => {
    const td = sample() as unknown as Td;
    const n = td.at("n");
    td.update({ k: zeros([2]), n: { c: zeros([2]) } });
    expect(td.at("n")).toBe(n);
    expect(td.keys({ includeNested: true })).toEqual(["a", ["n", "b"], ["n", "c"], "n", "k"]);
  });
  test("select, exclude, rename, delete, clear", () => {
    const td = sample() as unknown as Td;
    expect(td.select("a").keys()).toEqual(["a"]);
    expect(td.select(["n", "b"]).keys({ includeNested: true })).toEqual([["n", "b"], "n"]);
    expect(td.select("zz", { strict: false }).keys()).toEqual([]);
    expect(() => td.select("zz")).toThrow("not found");
    expect(td.exclude("a", "zz").keys()).toEqual(["n"]);
    expect(td.exclude(["n", "b"]).at("n").keys()).toEqual([]);
    expect(td.at("n").keys()).toEqual(["b"]);
    td.renameKey_("a", ["n", "a"]);
    expect(td.keys({ includeNested: true })).toEqual([["n", "b"], ["n", "a"], "n"]);
    td.del_(["n", "a"]);
    expect(td.clear().isEmpty()).toBe(true);
  });
  test("flatten and unflatten", () => {
    const td = sample() as unknown as Td;
    expect(td.flattenKeys().keys()).toEqual(["a", "n.b"]);
    expect(td.flattenKeys("_").unflattenKeys("_").keys({ includeNested: true })).toEqual(["a", ["n", "b"], "n"]);
    const clash = new TensorDict({ "a.b": 1, a: { b: 2 } }) as unknown as Td;
    expect(() => clash.flattenKeys()).toThrow("Flattening keys in tensordict causes keys [('a', 'b')] to collide.");
  });
});

describe("locks", () => {
  const locked = "Cannot modify locked TensorDict. For in-place modification, consider using the `set_()` method";
  test("entries are fixed, contents are not", () => {
    const td = sample().lock_() as unknown as Td;
    expect(() => td.set("a", zeros([2, 3]))).toThrow(locked);
    expect(() => td.set("z", zeros([2]))).toThrow(locked);
    expect(() => td.del_("a")).toThrow(locked);
    expect(() => td.at("n").set("c", zeros([2]))).toThrow(locked);
    expect(() => td.update({ a: zeros([2, 3]) })).toThrow(locked);
    td.set_("a", zeros([2, 3]));
    td.update_({ a: zeros([2, 3]) });
    td.zero_();
    td.setAt(0, 5);
    expect((td.at(["n", "b"]) as Tensor).tolist()).toEqual([5, 0]);
  });
  test("a part of a locked tree cannot be unlocked", () => {
    const td = sample().lock_() as unknown as Td;
    expect(() => td.at("n").unlock_()).toThrow("Cannot unlock a tensordict that is part of a locked graph.");
    td.unlock_();
    expect(td.at("n").isLocked).toBe(false);
  });
  test("a child of two locked parents stays locked until both are open", () => {
    const child = new TensorDict({ x: 1 });
    const a = new TensorDict({ child }).lock_();
    const b = new TensorDict({ child }).lock_();
    expect(() => a.unlock_()).toThrow("part of a locked graph");
    expect(a.isLocked).toBe(true);
    expect(child.isLocked).toBe(true);
    expect(b.isLocked).toBe(true);
  });
  test("using takes the change back", () => {
    const td = sample().lock_() as unknown as Td;
    {
      using open = td.unlock_();
      open.set("z", zeros([2]));
    }
    expect(td.isLocked).toBe(true);
    expect(td.has("z")).toBe(true);
    expect(td.clone().isLocked).toBe(false);
  });
});

describe("indexing", () => {
  const td = sample() as unknown as Td;
  test("numbers and slices give views", () => {
    expect(td.at(0).batchSize).toEqual([] as never);
    expect((td.at(0).at("a") as Tensor).tolist()).toEqual([0, 1, 2]);
    expect(td.at("0:1").batchSize).toEqual([1] as never);
    expect(td.at("...").batchSize).toEqual([2] as never);
    expect(td.at(null).batchSize).toEqual([1, 2] as never);
    expect(td.at(slice(1)).batchSize).toEqual([1] as never);
    expect(td.at("::2").batchSize).toEqual([1] as never);
    const wide = new TensorDict({ a: zeros([2, 3, 4]), b: zeros([2, 3]), e: {} }, [2, 3]) as unknown as Td;
    expect(wide.at("0, 1:").batchSize).toEqual([2] as never);
    expect(wide.at("...", 0).batchSize).toEqual([2] as never);
    expect(wide.at(1, "...").at("e").batchSize).toEqual([3] as never);
    expect((wide.at(slice(null), slice(0, 2)).at("a") as Tensor).shape).toEqual([2, 2, 4] as never);
    expect(() => wide.at("...", "...")).toThrow("single ellipsis");
    const view = (td.clone() as Td).at("1:2");
    expect((view.at("a") as Tensor).untypedStorage().nbytes()).toBe(24);
  });
  test("masks and lists give copies", () => {
    expect(td.at(tensor([true, false])).batchSize).toEqual([1] as never);
    expect(td.at([[0, 0, 1]]).batchSize).toEqual([3] as never);
    expect((td.at([[1]]).at("a") as Tensor).tolist()).toEqual([[3, 4, 5]]);
  });
  test("errors", () => {
    expect(() => td.at(5)).toThrow("index 5 is out of bounds for dimension 0 with size 2");
    expect(() => td.at(0, 0)).toThrow("too many indices for tensor of dimension 1");
  });
  test("empty collections know their new size", () => {
    const empty = new TensorDict({ e: {} }, [4, 3]) as unknown as Td;
    expect(empty.at(0).batchSize).toEqual([3] as never);
    expect(empty.at("1:3").at("e").batchSize).toEqual([2, 3] as never);
  });
  test("writing", () => {
    const target = sample() as unknown as Td;
    target.setAt(0, { a: tensor([7, 7, 7]), fresh: tensor(3) });
    expect((target.at("a") as Tensor).tolist()).toEqual([
      [7, 7, 7],
      [3, 4, 5],
    ]);
    expect((target.at("fresh") as Tensor).tolist()).toEqual([3, 0]);
    target.setAt(tensor([false, true]), 0);
    expect((target.at("a") as Tensor).tolist()).toEqual([
      [7, 7, 7],
      [0, 0, 0],
    ]);
    const named = new TensorDict({ s: "x", v: zeros([3]) }, [3]) as unknown as Td;
    named.setAt(1, { s: "y", v: tensor(1) });
    expect(named.at("s")).toEqual(["x", "y", "x"] as never);
  });
  test("iteration goes over the first dimension", () => {
    expect([...sample()].map((part) => (part.at("a") as Tensor).tolist())).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
  });
});

describe("shapes", () => {
  const wide = () =>
    new TensorDict(
      { a: arange(24).view(2, 3, 4), n: new TensorDict({ b: zeros([2, 3, 5]) }, [2, 3, 5]), s: "v" },
      [2, 3],
    ) as unknown as Td;
  const shapes = (td: Td) => [[...td.batchSize], [...(td.at("a") as Tensor).shape], [...td.at("n").batchSize]];
  test("view and reshape act on the batch", () => {
    expect(shapes(wide().view(6))).toEqual([[6], [6, 4], [6, 5]]);
    expect(shapes(wide().reshape([3, -1]))).toEqual([
      [3, 2],
      [3, 2, 4],
      [3, 2, 5],
    ]);
    expect(() => wide().view(5)).toThrow("invalid shape [5] for a batch of 6 elements");
  });
  test("expand, permute, transpose", () => {
    expect(shapes(wide().expand(7, 2, 3))).toEqual([
      [7, 2, 3],
      [7, 2, 3, 4],
      [7, 2, 3, 5],
    ]);
    expect(shapes(wide().permute(1, 0))).toEqual([
      [3, 2],
      [3, 2, 4],
      [3, 2, 5],
    ]);
    expect(shapes(wide().transpose(0, -1))).toEqual([
      [3, 2],
      [3, 2, 4],
      [3, 2, 5],
    ]);
    expect(() => sample().permute(1)).toThrow("Received an permutation order incompatible with the tensordict shape.");
    expect(() => sample().expand(3)).toThrow("target_shape = (3,), existing_shape = torch.Size([2])");
  });
  test("squeeze and unsqueeze", () => {
    expect(shapes(wide().unsqueeze(0))).toEqual([
      [1, 2, 3],
      [1, 2, 3, 4],
      [1, 2, 3, 5],
    ]);
    expect(shapes(wide().unsqueeze(-1))).toEqual([
      [2, 3, 1],
      [2, 3, 1, 4],
      [2, 3, 1, 5],
    ]);
    expect(shapes(wide().unsqueeze(1).squeeze())).toEqual(shapes(wide()));
    expect(shapes(wide().unsqueeze(1).squeeze(1))).toEqual(shapes(wide()));
    expect(() => sample().unsqueeze(3)).toThrow("Got dim=3 with a batch size of torch.Size([2]).");
  });
  test("split, chunk, unbind, flatten", () => {
    expect(
      wide()
        .split(1, 1)
        .map((part) => [...part.batchSize]),
    ).toEqual([
      [2, 1],
      [2, 1],
      [2, 1],
    ]);
    expect(
      wide()
        .split([1, 2], 1)
        .map((part) => [...(part.at("a") as Tensor).shape]),
    ).toEqual([
      [2, 1, 4],
      [2, 2, 4],
    ]);
    expect(() => sample().split([1, 2])).toThrow(
      "Split method expects split_size to sum exactly to 2, but got sum([1, 2]) = 3",
    );
    expect(
      wide()
        .chunk(2, 1)
        .map((part) => part.batchSize[1]),
    ).toEqual([2, 1]);
    expect(wide().unbind(1)).toHaveLength(3);
    expect(() => sample().unbind(1)).toThrow("Incompatible dim 1 for tensordict with shape torch.Size([2]).");
    expect(shapes(wide().flatten(0, 1))).toEqual([[6], [6, 4], [6, 5]]);
    expect(shapes(wide().flatten(0, 1).unflatten(0, [2, 3]))).toEqual(shapes(wide()));
  });
  test("names follow", () => {
    const td = new TensorDict({ a: zeros([2, 3]) }, { batchSize: [2], names: ["t"] });
    expect(td.unsqueeze(0).names).toEqual([null, "t"]);
    expect(td.expand(3, 2).names).toEqual([null, "t"]);
    expect(td.at(null).names).toEqual([null, "t"]);
    expect(td.view(2, 1).names).toEqual([null, null]);
    expect(td.squeeze().names).toEqual(["t"]);
  });
  test("stacks of values are rearranged like tensors", () => {
    const td = new TensorDict({ s: new NonTensorStack(["a", "b", "c"]) }, [3]) as unknown as Td;
    expect(td.at("1:3").at("s")).toEqual(["b", "c"] as never);
    expect(td.at(2).at("s")).toBe("c" as never);
    expect(td.unsqueeze(0).at("s")).toEqual([["a", "b", "c"]] as never);
    expect(td.at(tensor([true, false, true])).at("s")).toEqual(["a", "c"] as never);
  });
  test("setting the batch size", () => {
    const td = new TensorDict({ a: zeros([2, 3]), b: zeros([2]) }, [2]);
    expect(() => {
      td.batchSize = [2, 3];
    }).toThrow("the Tensor b has shape torch.Size([2]) which is incompatible with the batch-size torch.Size([2, 3]).");
    td.batchSize = [];
    expect(td.numel()).toBe(1);
    td.shape = [2];
    expect(td.batchSize.toString()).toBe("torch.Size([2])");
  });
  test("the device is not set", () => {
    const assign = (td: TensorDict | NonTensorData, device: string | null) => () => {
      // @ts-expect-error types refuse it too
      td.device = device;
    };
    const text = (of: string) =>
      `device cannot be set using ${of}.device = device, because device cannot be updated in-place. To update ` +
      `device, use ${of}.to(new_device), which will return a new ${of} on the new device.`;
    const td = new TensorDict({ a: zeros([2]) }, [2]);
    const more = " You can also use tensordict.to(new_device) as a context manager for temporary device changes.";
    expect(assign(td, "meta")).toThrow(new RuntimeError(text("tensordict") + more));
    expect(assign(td, null)).toThrow(RuntimeError);
    expect(assign(new NonTensorData("x"), "cpu")).toThrow(new RuntimeError(text("tensorclass")));
    expect(td.device).toBe(null);
  });
  test("lists without elements need only a shape", () => {
    const td = new TensorDict({ a: zeros([3], { device: "meta" }) }, [3], { device: "meta" });
    const list = tensor([0n, 2n]).to("meta");
    expect(td.at(list).batchSize.toString()).toBe("torch.Size([2])");
    td.setAt(list, new TensorDict({ a: ones([2]), b: ones([2]) }, [2]));
    expect(String((td as unknown as Td).at("b").device)).toBe("meta");
  });
});

describe("functions over the tree", () => {
  test("apply, namedApply, fill, zero", () => {
    const td = sample() as unknown as Td;
    expect((td.apply((t) => t.add(1)).at("a") as Tensor).tolist()).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    const seen: unknown[] = [];
    td.namedApply(
      (name, t) => {
        seen.push(name);
        return t;
      },
      { nestedKeys: true },
    );
    expect(seen).toEqual(["a", ["n", "b"]]);
    td.fill_("a", 2);
    expect((td.at("a") as Tensor).tolist()).toEqual([
      [2, 2, 2],
      [2, 2, 2],
    ]);
    td.zero_();
    expect((td.at(["n", "b"]) as Tensor).tolist()).toEqual([0, 0]);
  });
  test("comparison gives TensorDicts, all and any give booleans", () => {
    const td = new TensorDict({ a: arange(3), n: { b: tensor(1) }, s: "x" }) as unknown as Td;
    expect(td.eq(td).all()).toBe(true);
    expect(td.ne(td).any()).toBe(false);
    expect((td.eq(1).at("a") as Tensor).tolist()).toEqual([false, true, false]);
    const other = td.clone().set("s", "y") as unknown as Td;
    expect(td.eq(other).all()).toBe(false);
    expect(td.eq("x" as never)).toBe(false as never);
    expect(() => td.eq(new TensorDict({ b: 1 }))).toThrow("keys in tensordicts mismatch.");
  });
  test("arithmetic", () => {
    const td = sample() as unknown as Td;
    expect((td.add(td).at("a") as Tensor).tolist()).toEqual([
      [0, 2, 4],
      [6, 8, 10],
    ]);
    expect((td.mul(3).at(["n", "b"]) as Tensor).tolist()).toEqual([3, 3]);
    td.add_(1);
    expect((td.at(["n", "b"]) as Tensor).tolist()).toEqual([2, 2]);
  });
});

describe("wrapped values", () => {
  test("NonTensorData takes the batch size of where it is put", () => {
    const td = new TensorDict({ i: new NonTensorData(5) }, [2]) as unknown as Td;
    expect(td.get("i").batchSize).toEqual([2] as never);
    expect(td.at(0).at("i")).toBe(5 as never);
    expect(isNonTensor(td.get("i"))).toBe(true);
  });
  test("stacks of equal values are stacks, MetaData stays one value", () => {
    const one = () => new TensorDict({ s: "x", m: new MetaData(1) }) as unknown as Td;
    const both = TensorDict.stack([one(), one()]);
    expect(both.at("s")).toEqual(["x", "x"] as never);
    expect(both.at("m")).toBe(1 as never);
  });
});
