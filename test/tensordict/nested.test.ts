// Nested tensors: made, printed and padded as torch does, entries of TensorDicts, saved and loaded as Python does, and
// refused where that is not possible. The files and texts are Python's.
import "../../src/index.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  arange,
  cat,
  errors,
  lazyStack,
  NestedTensor,
  nested,
  stack,
  type Tensor,
  tensor,
  zeros,
} from "../../src/index.ts";
import { FileNotFoundError, FormatError } from "../../src/io/base/errors.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import {
  appendMemmap,
  isTensorCollection,
  MemoryMappedTensor,
  setTensorDictPrintoptions,
  TensorDict,
  toSafetensors,
  toShared,
} from "../../src/tensordict/index.ts";
import fixtures from "../fixtures/tensordict/nested.json" with { type: "json" };
import { describeEntry, filesBelow, inFileOrder, temporaryDirectory } from "./helpers.ts";
import { build, type Leaf, type Tree } from "./nested-trees.ts";

const room = temporaryDirectory();
afterAll(room.remove);
let count = 0;
const place = () => join(room.path, String(count++));

const tree = fixtures.tree as unknown as Tree;
const example = () => build(tree) as Td;
const FILES = new Map(Object.entries(fixtures.files).map(([name, data]) => [name, Buffer.from(data, "base64")]));

/** The directory that Python wrote. */
function directory(): string {
  const path = place();
  for (const [name, bytes] of FILES) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), bytes);
  }
  return path;
}

const load = (path: string, options = {}) => TensorDict.loadMemmap(path, options) as unknown as Td;
const entry = (td: unknown, key = "j") => (td as Td).at(key) as unknown as NestedTensor;
const matrices = () => {
  const rows = (n: number) =>
    arange(3 * n)
      .to("float32")
      .reshape([n, 3]);
  return [rows(2), rows(4)] as [Tensor, Tensor];
};
const batch = () => new TensorDict({ x: zeros([2]), j: nested.nestedTensor(matrices()) }, [2]) as unknown as Td;
const NOT_POSSIBLE = /is not possible with the nested tensor under key 'j'/;

describe("a nested tensor", () => {
  test("prints as in torch", () => {
    for (const { parts, text } of fixtures.printed) {
      expect(String(build({ k: "nested", parts: parts as Leaf[] }))).toBe(text);
    }
    expect(String(nested.nestedTensor([]))).toBe("nested_tensor([\n\n])");
    expect(String(nested.nestedTensor([[1]], { requiresGrad: true }))).toBe(
      "nested_tensor([\n  tensor([1.], requires_grad=True)\n], requires_grad=True)",
    );
  });
  test("what it is", () => {
    const n = nested.nestedTensor(matrices());
    expect(n).toBeInstanceOf(NestedTensor);
    expect([n.isNested, n.dim(), n.ndim, n.length, n.numel(), n.nbytes]).toEqual([true, 3, 3, 2, 18, 72]);
    expect([String(n.dtype), String(n.device)]).toEqual(["torch.float32", "cpu"]);
    expect([n.size(0), n.size(2), n.size(-1)]).toEqual([2, 3, 3]);
    expect(() => n.size(1)).toThrow("Given dimension 1 is irregular and does not have a size.");
    expect(() => n.size(3)).toThrow("Dimension out of range (expected to be in range of [-3, 2], but got 3)");
    expect(isTensorCollection(n)).toBe(false);
  });
  test("components are views", () => {
    const [a, b] = matrices();
    const n = nested.nestedTensor([a, b]);
    expect(n.unbind().map((t) => t.tolist())).toEqual([a.tolist(), b.tolist()]);
    expect([...n].map((t) => t.tolist())).toEqual(n.tolist());
    n.at(1).fill_(7);
    expect(n.at(-1, 3, 0).item()).toBe(7);
    // Made of copies.
    expect(b.at(0).tolist()).toEqual([0, 1, 2]);
    const single = nested.nestedTensor([a]);
    single.at(0).zero_();
    expect(a.at(1).tolist()).toEqual([3, 4, 5]);
    expect(() => n.at(2)).toThrow("index 2 is out of bounds for dimension 0 with size 2");
    expect(() => n.unbind(1)).toThrow("NestedTensor can only be unbound along dimension 0 got dimension 1 instead.");
    expect(() => n.at("0:1" as never)).toThrow("is not possible with a nested tensor");
  });
  test("what it is made of", () => {
    const [a, b] = matrices();
    expect(String(nested.nestedTensor([a.to("int32"), b]).dtype)).toBe("torch.int32");
    expect(String(nested.nestedTensor([a, b], { dtype: "float64" }).at(0).dtype)).toBe("torch.float64");
    expect(() => nested.nestedTensor([a, b.at(0)])).toThrow(
      "All Tensors given to nested_tensor must have the same dimension. " +
        "Found dimension 1 for Tensor at index 1 and dimension 2 for Tensor at index 0.",
    );
    expect(() => nested.nestedTensor(a as never)).toThrow("Only lists (List[Tensor]");
  });
  test("copies", () => {
    const n = nested.nestedTensor(matrices());
    const copy = n.clone();
    copy.at(0).fill_(9);
    expect(n.at(0, 0).tolist()).toEqual([0, 1, 2]);
    expect(n.to("cpu")).toBe(n);
    expect(n.to("meta").at(1).shape).toEqual([4, 3] as never);
  });
  test("gradients", () => {
    const a = zeros([2], { requiresGrad: true });
    const n = nested.asNestedTensor([a, tensor([1])]);
    n.toPaddedTensor(0).sum().backward();
    expect(a.grad?.tolist()).toEqual([1, 1]);
    expect(n.detach().requiresGrad).toBe(false);
    expect(nested.nestedTensor([a]).requiresGrad).toBe(false);
    expect(nested.asNestedTensor(n)).toBe(n);
  });
  test("padded", () => {
    const n = nested.nestedTensor([[1, 2], [3]]);
    expect(n.toPaddedTensor(-1).tolist()).toEqual([
      [1, 2],
      [3, -1],
    ]);
    expect(nested.toPaddedTensor(n, 0, [2, 3]).tolist()).toEqual([
      [1, 2, 0],
      [3, 0, 0],
    ]);
    expect(() => n.toPaddedTensor(0, [2, 1])).toThrow("Truncation is not supported.");
    expect(() => n.toPaddedTensor(0, [2])).toThrow("1 dimensions instead of 2");
    expect(nested.nestedTensor([]).toPaddedTensor(0).shape).toEqual([0] as never);
  });
});

describe("an entry of a TensorDict", () => {
  test("printed as in Python", () => {
    const path = place();
    const td = example();
    const saved = td.memmap(path);
    {
      using _ = setTensorDictPrintoptions({ compact: true });
      expect([td, saved, td.exclude("s")].map(String)).toEqual(fixtures.texts.compact);
    }
    using _ = setTensorDictPrintoptions({ compact: false });
    expect([td, saved].map(String)).toEqual(fixtures.texts.detailed);
  });
  test("in a lazy stack", () => {
    const td = example().select("j");
    using _ = setTensorDictPrintoptions({ compact: true });
    expect(String(lazyStack([td, td]))).toBe(fixtures.texts.lazy);
    expect(() => (lazyStack([td, td]) as Td).get("j")).toThrow(NOT_POSSIBLE);
  });
  test("keys and entries", () => {
    const td = batch();
    expect([...td.keys({ includeNested: true, leavesOnly: true })]).toEqual(["x", "j"]);
    expect(td.get("j") as unknown).toBe(entry(td));
    expect([...td.select("j").keys()]).toEqual(["j"]);
    expect([...td.exclude("j").keys()]).toEqual(["x"]);
    expect([...td.clone().renameKey_("j", ["s", "k"]).flattenKeys().keys()]).toEqual(["x", "s.k"]);
    expect(td.clone().pop("j")).toBeInstanceOf(NestedTensor);
    expect(td.get(["j", "k"], null)).toBeNull();
    expect(() => td.clone().set(["j", "k"], 1)).toThrow("'j' is a NestedTensor, not a tensordict");
    expect([td.bytes(), String(td.dtype), td.select("j").isEmpty()]).toEqual([80, "torch.float32", false]);
    const update = td.clone().update({ j: nested.nestedTensor([[1], [2, 3]]) });
    expect(entry(update).tolist()).toEqual([[1], [2, 3]]);
  });
  test("its first dimension can be a batch dimension", () => {
    const n = nested.nestedTensor(matrices());
    expect(() => new TensorDict({ j: n }, [3])).toThrow(
      "got self.batch_size=torch.Size([3]) and value.shape=torch.Size([2, -1, 3]) for key 'j'",
    );
    expect(() => new TensorDict({ j: n }, [2, 2])).toThrow("batch dimension mismatch");
    const td = new TensorDict({ j: n }, []) as unknown as Td;
    expect(() => {
      td.batchSize = [2, 4];
    }).toThrow("the NestedTensor j has shape torch.Size([2, -1, 3]) which is incompatible with");
    td.batchSize = [2];
    expect((td.at(0).at("j") as unknown as Tensor).shape).toEqual([2, 3] as never);
    const even = new TensorDict({ j: nested.nestedTensor([zeros([2, 3]), zeros([2, 1])]) }, [2, 2]) as unknown as Td;
    expect((even.at(1, 0).at("j") as unknown as Tensor).shape).toEqual([1] as never);
    expect((even.at(1, "1:").at("j") as unknown as Tensor).shape).toEqual([1, 1] as never);
  });
  test("indexing: components, or all of them", () => {
    const td = batch();
    expect((td.at(-1).at("j") as unknown as Tensor).tolist()).toEqual(entry(td).at(1).tolist());
    expect(td.unbind(0).map((one) => [...(one.at("j") as unknown as Tensor).shape])).toEqual([
      [2, 3],
      [4, 3],
    ]);
    expect(entry(td.at(":"))).toBe(entry(td));
    expect(entry(td.at("..."))).toBe(entry(td));
    const parts: unknown[] = ["0:1", "::2", null, [[0, 1]], tensor([true, false])];
    for (const part of parts) expect(() => td.at(part as number)).toThrow(NOT_POSSIBLE);
  });
  test("copies and conversions", () => {
    const td = batch();
    expect(entry(td.clone(false))).toBe(entry(td));
    const copy = td.clone();
    entry(copy).at(0).fill_(9);
    expect(entry(td).at(0, 0).tolist()).toEqual([0, 1, 2]);
    expect(String(entry(td.to({ dtype: "float64" })).dtype)).toBe("torch.float64");
    expect(String(entry(td.to("meta")).device)).toBe("meta");
    expect(entry(td.detach().contiguous()).tolist()).toEqual(entry(td).tolist());
    expect(entry(cat([td, td])).length).toBe(4);
    expect(() => cat([td, new TensorDict({ x: zeros([1]), j: nested.nestedTensor([[1]]) }, [1]) as never])).toThrow(
      "differ in dtype or number of dimensions",
    );
  });
  test("in place", () => {
    const td = batch();
    td.set_("j", nested.nestedTensor([zeros([2, 3]), zeros([4, 3])]));
    expect(entry(td).at(1, 3).tolist()).toEqual([0, 0, 0]);
    td.fill_("j", 3);
    expect(entry(td).at(0, 1).tolist()).toEqual([3, 3, 3]);
    expect(td.clone().zero_().at("j").tolist()[0]).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
    for (const wrong of [zeros([2, 3]), nested.nestedTensor([zeros([4, 3]), zeros([2, 3])])]) {
      expect(() => td.set_("j", wrong)).toThrow("does not fit the entry of shape torch.Size([2, -1, 3])");
    }
  });
  test("whatever is not possible is an error", () => {
    const td = batch();
    const attempts: ((td: Td) => unknown)[] = [
      (t) => t.reshape(2, 1),
      (t) => t.unsqueeze(0),
      (t) => t.expand(3, 2),
      (t) => t.split(1),
      (t) => t.gather(0, tensor([0], { dtype: "int64" })),
      (t) => t.repeat(2),
      (t) => t.add(1),
      (t) => t.neg(),
      (t) => t.eq(t),
      (t) => t.sum(),
      (t) => t.sum(0),
      (t) => t.apply((x) => x),
      (t) => t.stateDict(),
      (t) => t.stateDict({ flatten: false }),
      (t) => t.setAt_("j", 1, 0),
      (t) => t.setAt(0, 1),
      (t) => t.setAt(0, { j: zeros([2, 3]) }),
      () => new TensorDict({}, [2]).setAt(0, { j: nested.nestedTensor([[1]]) }),
      (t) => stack([t, t]),
      (t) => t.consolidate(),
      (t) => t.consolidate({ filename: place() }),
      (t) => toSafetensors(t, place()),
      (t) => toShared(t.select("j").memmap()),
    ];
    for (const attempt of attempts) expect(() => attempt(td)).toThrow(NOT_POSSIBLE);
    expect(() => td.select("j").all()).toThrow(errors.RuntimeError);
    for (const key of ["_keys", "_own", "_put", "_drop", "_like"]) {
      expect(() => (entry(td) as unknown as Record<string, (k: string) => unknown>)[key]?.("a")).toThrow(
        "is not possible with a nested tensor",
      );
    }
  });
});

describe("directories", () => {
  test("Python's is read", () => {
    const td = load(directory());
    expect(describeEntry(td.clearDevice_())).toEqual(describeEntry(example()) as never);
    using _ = setTensorDictPrintoptions({ compact: false });
    expect(String(load(directory()))).toBe(fixtures.texts.detailed[1] as string);
    expect(entry(load(directory(), { device: "meta" })).at(1).shape).toEqual([4, 3] as never);
  });
  const ways: [string, (td: Td, path: string) => unknown][] = [
    ["memmap", (td, path) => td.memmap(path)],
    ["in place", (td, path) => td.memmap_(path)],
    ["atomically", (td, path) => td.memmap(path, { atomic: true })],
    ["in the background", (td, path) => td.memmapAsync(path)],
    ["early", (td, path) => td.memmap(path, { returnEarly: true })],
  ];
  for (const [name, save] of ways) {
    test(`the same bytes as Python's: ${name}`, async () => {
      const path = place();
      const saved = (await save(example(), path)) as Td;
      expect(filesBelow(path)).toEqual(FILES);
      // The result lies in these files.
      entry(saved).at(0).fill_(5);
      expect(readFileSync(join(path, "j.memmap")).readFloatLE(20)).toBe(5);
      expect(entry(saved)._values).toBeInstanceOf(MemoryMappedTensor);
    });
  }
  test("components write through, or stay private", () => {
    const path = directory();
    const first = () => readFileSync(join(path, "j.memmap")).readFloatLE(0);
    entry(load(path, { mode: "r" }))
      .at(0)
      .fill_(8);
    expect(first()).toBe(0);
    entry(load(path, { mode: "r+" }))
      .at(0)
      .fill_(8);
    expect(first()).toBe(8);
  });
  test("saved again: where it is, or elsewhere as a copy", () => {
    const path = directory();
    const td = load(path);
    inFileOrder(td, path);
    td.memmap(path);
    expect(filesBelow(path)).toEqual(FILES);
    expect(() => load(path).memmap(place())).toThrow("already has a file associated");
    const other = place();
    load(path).memmap(other, { copyExisting: true });
    expect(describeEntry(load(other))).toEqual(describeEntry(load(path)) as never);
  });
  test("fewer components over more", () => {
    const path = place();
    new TensorDict({ j: nested.nestedTensor([[1], [2, 3], [4]]) }).memmap(path);
    new TensorDict({ j: nested.nestedTensor([[5]]) }).memmap(path);
    expect(entry(load(path)).tolist()).toEqual([[5]]);
    // Python leaves the longer file of sizes as it is.
    writeFileSync(join(path, "j.shape.memmap"), Buffer.from("01000000000000000700000000000000", "hex"));
    expect(entry(load(path)).tolist()).toEqual([[5]]);
  });
  test("memmapLike has the sizes and no content; anonymous memory", () => {
    const path = place();
    expect(entry(batch().memmapLike(path)).tolist()[0]).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
    expect(entry(load(path)).size(2)).toBe(3);
    const td = batch().memmap();
    expect(entry(td)._values).toBeInstanceOf(MemoryMappedTensor);
    expect(entry(td).tolist()).toEqual(entry(batch()).tolist());
  });
  test("entries that are added later keep it", () => {
    const path = place();
    const td = batch().memmap(path);
    td.makeMemmap("late", [2]);
    expect(entry(load(path)).tolist()).toEqual(entry(batch()).tolist());
  });
  test("nothing is written for what cannot be saved", () => {
    const n = nested.nestedTensor([[1], [2, 3]]);
    const refused: [Record<string, unknown>, RegExp][] = [
      [{ j: n, "j.shape": zeros([2]) }, /The key "j.shape" cannot be saved: its file j.shape.memmap is that of/],
      [{ "j.shape": zeros([2]), j: n }, /The key "j" cannot be saved: its file j.shape.memmap is that of/],
      [{ j: nested.nestedTensor([]) }, /the nested tensor under key 'j' has no components to save/],
    ];
    for (const [entries, message] of refused) {
      const path = place();
      expect(() => new TensorDict(entries).memmap(path)).toThrow(message);
      expect(() => new TensorDict(entries).save(`${path}.tdz`)).toThrow(message);
      expect(() => filesBelow(path)).toThrow("ENOENT");
    }
  });
  test("it cannot grow", () => {
    const path = directory();
    expect(() => appendMemmap(path, example())).toThrow("Cannot append to the entry 'j': a nested tensor cannot grow.");
    expect(filesBelow(path)).toEqual(FILES);
  });
});

describe("archives", () => {
  test("Python's is read, and written again", () => {
    const path = `${place()}.tdz`;
    writeFileSync(path, Buffer.from(fixtures.archive, "base64"));
    const expected = example().exclude("scalars");
    const td = load(path);
    expect(describeEntry(td.clone().clearDevice_())).toEqual(describeEntry(expected) as never);
    const other = `${place()}.tdz`;
    expected.save(other);
    expect(readFileSync(other).length).toBe(readFileSync(path).length);
    expect(describeEntry(load(other).clone().clearDevice_())).toEqual(describeEntry(expected) as never);
  });
  test("compressed, and with components that are numbers", () => {
    const path = `${place()}.tdz`;
    example().save(path, { compression: "deflate" });
    expect(describeEntry(load(path).clone().clearDevice_())).toEqual(describeEntry(example()) as never);
  });
});

describe("hostile files", () => {
  const int64 = (...values: number[]) => Buffer.from(BigInt64Array.from(values, BigInt).buffer);
  const sizes = (path: string, ...values: number[]) => writeFileSync(join(path, "j.shape.memmap"), int64(...values));
  const meta = (path: string, shape: string) => {
    const file = join(path, "meta.json");
    const text = readFileSync(file, "utf8");
    const changed = text.replace('"j": {"device": "cpu", "shape": [2, 2]', `"j": {"device": "cpu", "shape": ${shape}`);
    expect(changed).not.toBe(text);
    writeFileSync(file, changed);
  };
  const attacks: [string, (path: string) => void, RegExp][] = [
    ["a negative size", (path) => sizes(path, -2, 3, 4, 3), /-2 is no size/],
    ["two negative sizes", (path) => sizes(path, -2, -3, 4, 3), /-2 is no size/],
    ["a product that overflows", (path) => sizes(path, 2 ** 32, 2 ** 32, 4, 3), /the components are too large/],
    ["a sum that overflows", (path) => sizes(path, 2 ** 52, 1, 2 ** 52, 1), /the components are too large/],
    ["a size beyond 2^53", (path) => sizes(path, 2 ** 62, 0, 4, 3), /is no size/],
    ["more elements than the file", (path) => sizes(path, 2, 3, 5, 3), /smaller than the required mapping size <84>/],
    ["far more elements than the file", (path) => sizes(path, 2 ** 40, 3, 4, 3), /smaller than the required mapping/],
    ["too few sizes", (path) => sizes(path, 2, 3, 4), /has 24 bytes, its sizes need 32/],
    ["no components", (path) => meta(path, "[0, 2]"), /\[0, 2\] is no shape of sizes/],
    ["no shape", (path) => meta(path, "[]"), /\[\] is no shape of sizes/],
    ["one dimension", (path) => meta(path, "[2]"), /\[2\] is no shape of sizes/],
    ["three dimensions", (path) => meta(path, "[2, 2, 1]"), /\[2, 2, 1\] is no shape of sizes/],
    ["too many dimensions", (path) => meta(path, "[1, 64]"), /\[1, 64\] is no shape of sizes/],
    ["very many components", (path) => meta(path, "[1000000000, 63]"), /bytes of sizes are too many/],
    ["many components", (path) => meta(path, "[1000000, 2]"), /has 32 bytes, its sizes need 16000000/],
    ["very many numbers", (path) => meta(path, "[1000000000000000, 0]"), /smaller than the required mapping size/],
    ["another number of components than the batch", (path) => meta(path, "[1, 2]"), /does not begin with the batch/],
  ];
  for (const [name, attack, message] of attacks) {
    test(name, () => {
      const path = directory();
      attack(path);
      expect(() => load(path)).toThrow(message);
    });
  }
  test("missing and shortened files", () => {
    for (const name of ["j.memmap", "j.shape.memmap"]) {
      const path = directory();
      rmSync(join(path, name));
      expect(() => load(path)).toThrow(FileNotFoundError);
    }
    const path = directory();
    truncateSync(join(path, "j.memmap"), 71);
    expect(() => load(path)).toThrow("smaller than the required mapping size <72>");
  });
  test("an entry and the sizes of another in one file", () => {
    const path = directory();
    const file = join(path, "meta.json");
    const leaf = '"j.shape": {"device": "cpu", "shape": [4], "dtype": "torch.int64", "is_nested": false}, "x"';
    writeFileSync(file, readFileSync(file, "utf8").replace('"x"', leaf));
    expect(() => load(path)).toThrow(FormatError);
    expect(() => load(path)).toThrow('entries "j" and "j.shape" have one file');
  });
  test("an archive with sizes that its tensor does not have", () => {
    const path = `${place()}.tdz`;
    new TensorDict({ j: nested.nestedTensor([[1], [2, 3]]) }).save(path);
    const bytes = readFileSync(path);
    const at = bytes.indexOf(int64(1, 2));
    bytes.writeBigInt64LE(7n, at);
    writeFileSync(path, bytes);
    expect(() => load(path)).toThrow(FormatError);
  });
});
