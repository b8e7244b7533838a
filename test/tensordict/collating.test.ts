// Batches of samples: padded, unpadded, collated, grouped. What is expected was printed by Python's tensordict 0.15.3.
import { expect, test } from "bun:test";
import { arange, int, lazyStack, ones, tensor, zeros } from "../../src/index.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import * as T from "../../src/tensordict/index.ts";
import { NonTensorStack, TensorDict, tensorclass } from "../../src/tensordict/index.ts";

const sample = (n: number) => new TensorDict({ a: arange(n), b: { c: ones(n, 2) }, t: "x" }, [n]);
const two = () => [sample(2), sample(3)];

test("padding a batch dimension pads the batch, nested entries and values too", () => {
  const padded = T.padSequence(two(), { returnMask: true });
  expect([...padded.batchSize]).toEqual([2, 3]);
  expect([...(padded.get("b") as TensorDict).batchSize]).toEqual([2, 3]);
  expect(padded.get("a").tolist()).toEqual([
    [0, 1, 0],
    [0, 1, 2],
  ]);
  expect(padded.get(["b", "c"]).shape).toEqual([2, 3, 2] as never);
  expect(padded.get("t").tolist()).toEqual([
    ["x", "x", null],
    ["x", "x", "x"],
  ]);
  expect(padded.get(["masks", "b", "c"]).tolist()).toEqual([
    [true, true, false],
    [true, true, true],
  ]);
  expect((padded.get("masks") as TensorDict).has("t")).toBe(false);
});

test("padding takes a value for each entry, a side, a key for masks, and a place for the result", () => {
  const parts = [2, 3].map((n) => new TensorDict({ ids: ones(n), b: { labels: ones(n) } }, []));
  const paddingValue = new Map<T.NestedKey, number>([
    ["ids", 7],
    [["b", "labels"], -100],
  ]);
  const padded = T.padSequence(parts, { paddingValue, paddingSide: "left", returnMask: ["m", "q"] });
  expect([...padded.batchSize]).toEqual([2]);
  expect(padded.get("ids").tolist()).toEqual([
    [7, 1, 1],
    [1, 1, 1],
  ]);
  expect(padded.get(["b", "labels"]).tolist()[0] as never).toEqual([-100, 1, 1] as never);
  expect(padded.get(["m", "q", "ids"]).tolist()[0] as never).toEqual([false, true, true] as never);
  const out = new TensorDict({ ids: zeros(2, 3), b: { labels: zeros(2, 3) } }, [2]);
  const ids = out.get("ids");
  expect(T.padSequence(parts, { out, paddingValue: { ids: 5 } })).toBe(out);
  expect(ids.tolist()[0] as never).toEqual([1, 1, 5] as never);
});

test("what cannot be padded is refused in Python's words", () => {
  const a = (...size: number[]) => new TensorDict({ a: zeros(...size) }, []);
  expect(() => T.padSequence([])).toThrow("list_of_tensordicts cannot be empty");
  expect(() => T.padSequence([a()])).toThrow("Cannot pad scalars");
  expect(() => T.padSequence([a(2)], { paddingValue: { z: 1 } })).toThrow(
    "padding_value has keys ['z'] that name no entry of the tensordicts, whose entries are ['a'].",
  );
  expect(() => T.padSequence([a(2, 2), a(2, 3)])).toThrow("pad_sequence failed for key a");
  expect(() => T.padSequence([a(2, 2)], { padDim: 3 })).toThrow("tuple index out of range");
  expect(() => T.padSequence([a(2, 2)], { padDim: -3 })).toThrow(
    "pad_dim=-3 is out of range for the entry 'a' of shape (2, 2).",
  );
  expect(() => T.padSequence(two(), { padDim: -1 })).toThrow(
    "pad_dim=-1 counts from the last dim of each entry and lands on batch dims [0] and on feature dims of the " +
      "entries, so the batch cannot be padded along it, but the entry 'a' is longer than the batch of the first " +
      "sample along dim 0.",
  );
  expect(() => T.padSequence([a(2)], { paddingSide: "top" as never })).toThrow("must be 'left' or 'right', got 'top'");
  expect([...T.padSequence([new TensorDict({ a: ones(2), b: ones(2) }, []), a(2)]).keys()]).toEqual(["a"]);
});

test("unpadding gives the samples back, as views", () => {
  for (const paddingSide of ["left", "right"] as const) {
    const padded = T.padSequence(two(), { returnMask: true, paddingSide });
    const samples = T.unpadSequence(padded);
    const [first, second] = samples as [TensorDict, TensorDict];
    expect(samples.length).toBe(2);
    expect([first.batchSize, second.batchSize]).toEqual([[2], [3]] as never);
    expect(first.has("masks")).toBe(false);
    expect(first.get("a").tolist()).toEqual([0, 1]);
    expect(first.get("t").tolist()).toEqual(["x", "x"]);
    expect(second.get(["b", "c"]).tolist()).toEqual(ones(3, 2).tolist());
    (second.get("a") as Tensor).fill_(9);
    expect(padded.get("a").tolist()[1] as never).toEqual([9, 9, 9] as never);
    expect(T.unpadSequence(padded, padded.get("masks") as TensorDict)[0]?.has("masks")).toBe(true);
  }
});

test("entries behind the batch are unpadded one by one", () => {
  const parts = [1, 3].map((n) => new TensorDict({ a: arange(2 * n).view(2, n), b: ones(2) }, [2]));
  const padded = T.padSequence(
    parts.map((part) => part.select("a")),
    { padDim: 1, returnMask: true },
  );
  expect(padded.get(["masks", "a"]).shape).toEqual([2, 2, 3] as never);
  const [first, second] = T.unpadSequence(padded, null, { padDim: 1 });
  expect((first as TensorDict).get("a").tolist()).toEqual([[0], [1]]);
  expect((second as TensorDict).get("a").shape).toEqual([2, 3] as never);
  const mask = tensor([
    [true, false, false],
    [true, true, false],
  ]);
  const td = new TensorDict({ a: arange(6).view(2, 3), b: { c: ones(2, 3, 2) } }, [2]);
  const cut = T.unpadSequence(td, mask)[1] as TensorDict;
  expect([cut.get("a").tolist(), cut.get(["b", "c"]).shape]).toEqual([
    [3, 4],
    [2, 2],
  ] as never);
  expect(td.get("a").shape).toEqual([2, 3] as never);
});

test("masks that do not fit are refused", () => {
  const padded = T.padSequence(two());
  expect(() => T.unpadSequence(padded)).toThrow("unpad_sequence needs a mask: pass mask=..., or pad with");
  expect(() => T.unpadSequence(new TensorDict({}, []))).toThrow("needs the samples along the first batch dimension");
  expect(() => T.unpadSequence(padded, ones(2, 4).bool())).toThrow(
    "A tensor mask must have shape [len(padded), max_len] = [2, 3], got (2, 4).",
  );
  expect(() => T.unpadSequence(padded, ones(3, 3).bool())).toThrow(
    "A tensor mask must have shape [len(padded), max_len], got (3, 3).",
  );
  expect(() =>
    T.unpadSequence(
      padded.select("a"),
      tensor([
        [1, 0, 1],
        [1, 1, 1],
      ]).bool(),
    ),
  ).toThrow(
    "The mask of key 'a' marks positions that are not contiguous in some row: unpad_sequence keeps one contiguous run",
  );
  expect(() => T.unpadSequence(padded, new TensorDict({ a: ones(2, 3).bool() }, [2]).select())).toThrow(
    "The mask has no entry for key",
  );
});

const grouped = () =>
  new TensorDict(
    {
      u: tensor(
        [
          [2, 1],
          [0, 3],
          [2, 1],
          [0, 2],
        ],
        { dtype: "int64" },
      ),
      n: new NonTensorStack(["b", "a", "b", "c"]),
      f: tensor([Number.NaN, 1, Number.NaN, 0]),
      k: tensor([true, false, true, true]),
    },
    [4],
  );
const rows = (groups: readonly T.TensorDictBase[]) => groups.map((group) => (group.get("u") as Tensor).tolist());

test("rows are grouped by numbers, rows of numbers, truths and texts", () => {
  const expected = {
    u: [
      [
        [0, 2],
        [0, 3],
        [2, 1],
      ],
      [
        [[0, 2]],
        [[0, 3]],
        [
          [2, 1],
          [2, 1],
        ],
      ],
    ],
    n: [
      ["a", "b", "c"],
      [
        [[0, 3]],
        [
          [2, 1],
          [2, 1],
        ],
        [[0, 2]],
      ],
    ],
    f: [
      [0, 1, Number.NaN, Number.NaN],
      [[[0, 2]], [[0, 3]], [[2, 1]], [[2, 1]]],
    ],
    k: [
      [false, true],
      [
        [[0, 3]],
        [
          [2, 1],
          [2, 1],
          [0, 2],
        ],
      ],
    ],
  };
  for (const [key, [values, groups]] of Object.entries(expected)) {
    const [found, parts] = T.groupBy(grouped(), key);
    expect(found instanceof Tensor ? found.tolist() : found).toEqual(values as never);
    expect(rows(parts)).toEqual(groups as never);
  }
  const [values, parts] = T.groupBy(sample(3), "t");
  expect([values, parts.length, parts[0]?.batchSize]).toEqual([["x"], 1, [3]] as never);
});

test("many rows are grouped as a loop over masks would", () => {
  const key = tensor(Int32Array.from({ length: 5000 }, (_, i) => (i * 7919) % 13));
  const td = new TensorDict({ key, row: arange(5000) }, [5000]);
  const [values, parts] = T.groupBy(td, "key");
  expect((values as Tensor).dtype.name).toBe("int32");
  expect(parts.length).toBe(13);
  for (const [i, value] of ((values as Tensor).tolist() as number[]).entries()) {
    const expected = (td.at([key.eq(value)]) as TensorDict).get("row");
    expect((parts[i] as TensorDict).get("row").equal(expected as Tensor)).toBe(true);
  }
});

test("without rows there are no groups, and what has no order is refused", () => {
  const [values, parts] = T.groupBy(grouped().at("0:0") as TensorDict, "u");
  expect([(values as Tensor).shape, parts]).toEqual([[0, 2], []] as never);
  const mixed = new TensorDict({ m: new NonTensorStack(["b", 1]), o: new NonTensorStack([{}, {}]) }, [2]);
  expect(() => T.groupBy(mixed, "m")).toThrow("group_by: the values of the non-tensor entry 'm' must be hashable and");
  expect(() => T.groupBy(mixed, "o")).toThrow("must be hashable and sortable");
  expect(() => T.groupBy(sample(3), "b")).toThrow("needs a tensor or non-tensor entry, but 'b' holds a TensorDict.");
  expect(() => T.groupBy(sample(3), ["b", "z"])).toThrow("group_by: the tensordict has no entry ('b', 'z').");
  expect(() => T.groupBy(new TensorDict({}, []), "a")).toThrow("which has none.");
});

test("groups have the class of what was split", () => {
  class Labelled extends tensorclass({ x: Tensor, label: Tensor }) {}
  const points = new Labelled({ x: arange(3), label: tensor([1, 0, 1]) }, { batchSize: [3] });
  const [, parts] = T.groupBy(points as never, "label");
  expect(parts[1]).toBeInstanceOf(Labelled);
});

test("samples are collated by what they are", () => {
  const a = (n: number, more = {}) => new TensorDict({ a: ones(n), ...more }, []);
  expect(T.collate([a(2), a(2)]).get("a").shape).toEqual([2, 2] as never);
  expect(T.collate([a(2), a(3)])).toBeInstanceOf(T.LazyStackedTensorDict);
  const [td, label, text, long] = T.collate([
    [a(2), 1, "s", 2n],
    [a(2), 2, "t", 1n],
  ]);
  expect([td.batchSize, label.tolist(), label.dtype.name, text]).toEqual([[2], [1, 2], "float32", ["s", "t"]] as never);
  expect(long.dtype.name).toBe("int64");
  expect(T.collate([int(1), int(2)]).dtype.name).toBe("int64");
  expect(T.collate([true, false]).tolist()).toEqual([true, false]);
  expect(
    T.collate([
      { x: ones(2), y: { z: 1 } },
      { x: ones(2), y: { z: 2 } },
    ]).y.z.tolist(),
  ).toEqual([1, 2]);
  expect(T.collate(a(2)).get("a").shape).toEqual([2] as never);
  expect(T.collate([] as unknown)).toEqual([]);
});

test("entries of samples are padded or nested", () => {
  const samples = [2, 3].map((n) => new TensorDict({ ids: ones(n), points: ones(n + 1, 3), score: n }, []));
  const options = { padKeys: { ids: 7 }, nestedKeys: ["points"], maskKey: ["m", "q"] };
  const batch = T.collate(samples, options);
  expect(batch.get("ids").tolist()).toEqual([
    [1, 1, 7],
    [1, 1, 1],
  ]);
  expect((batch.get(["m", "q", "ids"] as never) as Tensor).tolist()[0] as never).toEqual([true, true, false] as never);
  expect((batch.get("score") as Tensor).tolist()).toEqual([2, 3]);
  const points = batch.get("points") as unknown as T.NestedTensor;
  expect(points.unbind(0).map((t) => t.shape)).toEqual([
    [3, 3],
    [4, 3],
  ] as never);
  const pairs = T.collate(samples.map((one, i) => [one, i]) as unknown, options);
  expect(pairs[0].get("ids").shape).toEqual([2, 3] as never);
});

test("what cannot be collated is refused in Python's words", () => {
  const a = (more = {}) => new TensorDict({ a: ones(2), ...more }, []);
  expect(() => T.collate([a()], { maskKey: "m" })).toThrow("collate got a mask_key but no pad_keys to mask.");
  expect(() => T.collate([a()], { padKeys: { a: 1 }, nestedKeys: ["a"] })).toThrow(
    "collate got the keys ['a'] in both pad_keys and nested_keys.",
  );
  expect(() => T.collate([sample(2)], { padKeys: { a: 1 } })).toThrow(
    "collate(pad_keys=...) pads the first dim of each entry, which is a batch dim of these samples " +
      "(batch_size=torch.Size([2])). Give the samples an empty batch size, or call pad_sequence.",
  );
  expect(() => T.collate([a()], { padKeys: { b: 1 } })).toThrow("collate got the key 'b', which a sample lacks.");
  expect(() => T.collate([a()], { padKeys: { a: 1 }, maskKey: "a" })).toThrow(
    "collate got mask_key='a', which is an entry of a sample.",
  );
  expect(() => T.collate([a({ b: ones(2) }), a({ b: ones(3) })], { nestedKeys: ["a"] })).toThrow(
    "collate got nested_keys=['a'], but the other entries of the samples differ in shape, so they stack lazily",
  );
  expect(() => T.collate([[1, 2], [1]])).toThrow("each element in list of batch should be of equal size");
  expect(() => T.collate([{ a: 1 }, { b: 1 }])).toThrow("'a'");
  expect(() => T.collate([null, null])).toThrow("default_collate: batch must contain tensors, numpy arrays, numbers");
});

test("lazy stacks are padded as what they hold", () => {
  const stack = () => lazyStack([new TensorDict({ a: ones(2) }, []), new TensorDict({ a: zeros(2) }, [])]);
  const padded = T.padSequence([stack(), new TensorDict({ a: ones(3, 2) }, [3])]);
  expect([padded.batchSize, padded.get("a").tolist()[0]]).toEqual([
    [2, 3],
    [
      [1, 1],
      [0, 0],
      [0, 0],
    ],
  ] as never);
});
