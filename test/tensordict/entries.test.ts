// Methods that sort, join, replace and choose entries: what they give, and what is left as it was when they fail.
import { describe, expect, test } from "bun:test";
import { arange, lazyStack, NonTensorData, ones, type Tensor, TensorDict, tensor, zeros } from "../../src/index.ts";
import type { Any } from "../conformance/adapter.ts";

const leaves = { includeNested: true };
const sample = () => new TensorDict({ a: ones(2), b: { c: zeros(2), d: "text" }, e: arange(2).float() }, [2]);
const list = (t: unknown) => (t as Tensor).tolist();

test("exclude in place leaves the entries to a level that goes whole", () => {
  const level = new TensorDict({ a: ones(2), b: ones(2) }, [2]) as Any;
  const td = new TensorDict({ n: level, m: level }, [2]) as Any;
  td.exclude(["n", "a"], "n", { inplace: true });
  expect([[...td.keys()], [...level.keys()]]).toEqual([["m"], ["a", "b"]]);
});

describe("splitKeys", () => {
  test("keys that some members of a stack have are split member by member, below and in stacks of stacks too", () => {
    const vector = (...keys: string[]) => new TensorDict(Object.fromEntries(keys.map((key) => [key, ones(2)])), [2]);
    const ragged = () => lazyStack([vector("a", "b"), vector("a")], 0) as Any;
    const keysOf = (td: Any): unknown => (td.members === undefined ? [...td.keys()] : td.members.map(keysOf));
    expect(ragged().splitKeys(["b"]).map(keysOf)).toEqual([
      [["b"], []],
      [["a"], ["a"]],
    ]);
    const twice = lazyStack([ragged(), ragged()], 1) as Any;
    expect(twice.splitKeys(["b"]).map(keysOf)[0]).toEqual([
      [["b"], []],
      [["b"], []],
    ]);
    for (const inplace of [false, true]) {
      const td = new TensorDict({ n: ragged(), c: ones(2, 2) }, [2, 2]) as Any;
      expect(() => td.splitKeys(["c", ["n", "z"]], { inplace })).toThrow("not found");
      expect(() => td.splitKeys(["c"], new Map([[["n", "b"], "q"]]), { inplace })).toThrow("outside that stack");
      expect([keysOf(td), keysOf(td.get("n"))]).toEqual([
        ["n", "c"],
        [["a", "b"], ["a"]],
      ]);
      const [first, second, rest] = td.splitKeys(
        new Map([
          [
            ["n", "b"],
            ["n", "q"],
          ],
        ]),
        ["n"],
        { inplace },
      );
      expect(keysOf(first.get("n"))).toEqual([["q"], []]);
      expect(keysOf(second.get("n"))).toEqual([["a"], ["a"]]);
      expect([keysOf(rest), rest === td]).toEqual([["c"], inplace]);
    }
  });

  test("by lists, new names and tests", () => {
    const td = sample();
    const [byList, renamed, tested, rest] = td.splitKeys(
      ["a"],
      new Map([["e", "z"]]),
      (path) => path.at(-1) === "c",
    ) as [TensorDict, TensorDict, TensorDict, TensorDict];
    expect(byList.get("a")).toBe(td.get("a"));
    expect(renamed.keys()).toEqual(["z"]);
    expect(tested.keys(leaves)).toEqual([["b", "c"], "b"]);
    expect(rest.keys(leaves)).toEqual([["b", "d"], "b"]);
    expect(td.keys(leaves)).toEqual(["a", ["b", "c"], ["b", "d"], "b", "e"]);
  });
  test("in place, what is left is the collection itself", () => {
    const td = sample();
    const [taken, rest] = td.splitKeys(["a", ["b", "c"]], { inplace: true });
    expect(rest).toBe(td);
    expect(taken?.keys(leaves)).toEqual(["a", ["b", "c"], "b"]);
    expect(td.keys(leaves)).toEqual([["b", "d"], "b", "e"]);
  });
  test("a missing key is an error that changes nothing, or has a default", () => {
    const td = sample();
    expect(() => td.splitKeys(["a", "x"], { inplace: true })).toThrow(
      "\"x\" not found in TensorDict with keys ['b', 'e']",
    );
    expect(td.keys()).toEqual(["a", "b", "e"]);
    const [part] = td.splitKeys(["a", "x"], { strict: false, default: zeros(2) });
    expect(list(part?.get("x"))).toEqual([0, 0]);
  });
});

describe("separates", () => {
  test("takes entries out", () => {
    const td = sample();
    expect(td.separates("a", ["b", "c"]).keys(leaves)).toEqual([["b", "c"], "b", "a"]);
    expect(td.keys(leaves)).toEqual([["b", "d"], "b", "e"]);
  });
  test("a missing key takes nothing out", () => {
    const td = sample();
    expect(() => td.separates("a", "x")).toThrow("not found");
    expect(td.keys()).toEqual(["a", "b", "e"]);
  });
});

describe("joining entries", () => {
  test("stackTensors and catTensors", () => {
    const stacked = sample().stackTensors("a", "e", { outKey: "z", dim: -1 });
    expect(list((stacked as TensorDict).get("z"))).toEqual([
      [1, 0],
      [1, 1],
    ]);
    expect(stacked.keys()).toEqual(["b", "z"]);
    const joined = new TensorDict({ a: ones(2, 1), b: zeros(2, 2) }, [2]).catTensors("a", "b", { outKey: "a", dim: 1 });
    expect(list(joined.get("a"))).toEqual([
      [1, 0, 0],
      [1, 0, 0],
    ]);
    expect(joined.keys()).toEqual(["a"]);
  });
  test("what cannot be joined stays", () => {
    const td = sample();
    expect(() => td.stackTensors("a", ["b", "d"], { outKey: "z" })).toThrow("no tensor");
    expect(() => td.catTensors("a", "e", { outKey: "z" })).toThrow("batch dimension mismatch");
    expect(() => td.lock_().stackTensors("a", "e", { outKey: "z", dim: 1 })).toThrow("locked");
    expect(td.keys()).toEqual(["a", "b", "e"]);
  });
});

describe("where", () => {
  const condition = tensor([true, false]);
  test("values of both sides, padded where one lacks a key", () => {
    const td = new TensorDict({ a: ones(2, 2), v: new NonTensorData("x", { batchSize: [2] }) }, [2]);
    const other = new TensorDict({ a: zeros(2, 2), b: ones(2), v: new NonTensorData("y", { batchSize: [2] }) }, [2]);
    expect(() => td.where(condition, other)).toThrow("Key b not found and no pad value provided.");
    const result = td.where(condition, other, { pad: 7 });
    expect(list(result.get("a"))).toEqual([
      [1, 1],
      [0, 0],
    ]);
    expect(list(result.get("b"))).toEqual([7, 1]);
    expect(result.getNonTensor("v")).toEqual(["x", "y"]);
  });
  test("lazy stacks member by member, and out", () => {
    const lazy = lazyStack([new TensorDict({ a: ones(2) }, []), new TensorDict({ a: ones(2) }, [])]);
    const out = new TensorDict({}, [2]);
    expect(lazy.where(condition, 0, { out })).toBe(out);
    expect(list(out.get("a"))).toEqual([
      [1, 1],
      [0, 0],
    ]);
    expect(lazy.where(condition, 0).constructor.name).toBe("LazyStackedTensorDict");
  });
});

describe("bounds and weights", () => {
  const td = () => new TensorDict({ a: arange(4).float(), n: { b: arange(4).float().mul(2) } }, [4]);
  test("bounds are numbers, tensors of the batch or collections", () => {
    expect(list(td().clamp(1, 2).get("a"))).toEqual([1, 1, 2, 2]);
    expect(
      list(
        td()
          .clamp(tensor([0, 2, 0, 0]), null)
          .get("a"),
      ),
    ).toEqual([0, 2, 2, 3]);
    expect(list(td().clamp(td().mul(0).add(1), td().mul(0).add(2)).get(["n", "b"]))).toEqual([1, 2, 2, 2]);
    expect(() => td().clamp(td(), 2)).toThrow("Mixed tensordict and non-tensordict min/max values");
    expect(() => td().clamp(null, null)).toThrow("At least one of 'min' or 'max' must not be None");
  });
  test("keys that one side lacks", () => {
    const other = new TensorDict({ a: ones(4), z: zeros(4) }, [4]);
    expect(() => td().clampMin(other)).toThrow("keys in tensordicts mismatch");
    expect(td().clampMin(other, { default: "intersection" }).keys()).toEqual(["a"]);
    const both = td().clampMin(other, { default: 5 });
    expect(both.keys(leaves)).toEqual(["a", ["n", "b"], "n", "z"]);
    expect(list(both.get(["n", "b"]))).toEqual([5, 5, 5, 6]);
    expect(list(both.get("z"))).toEqual([5, 5, 5, 5]);
    expect(list(td().add(other, { default: 1 }).get("z"))).toEqual([1, 1, 1, 1]);
  });
  test("in place, a call that fails changes nothing", () => {
    const whole = new TensorDict({ a: ones(2), i: arange(2) }, [2]);
    expect(() => whole.lerp_(whole.clone(), 0.5)).toThrow();
    expect(list(whole.get("a"))).toEqual([1, 1]);
    const weighted = td();
    weighted.lerp_(td().add(2), 0.5);
    expect(list(weighted.get("a"))).toEqual([1, 2, 3, 4]);
  });
  test("extremes by name and in order", () => {
    const { values, indices } = td().max(0) as never as { values: TensorDict; indices: TensorDict };
    expect([list(values.get("a")), list(indices.get("a"))]).toEqual([3, 3]);
    expect(() => td().min(1)).toThrow("Incompatible dim 1 for tensordict with batch dims 1.");
  });
});

test("keys, values and items by position, and with leaves of one's own", () => {
  const td = sample();
  expect(td.keys(true, true)).toEqual(td.keys({ includeNested: true, leavesOnly: true }));
  expect(td.keys(true)).toEqual(td.keys({ includeNested: true }));
  const wrapped = (made: unknown) => made === NonTensorData;
  expect(td.keys(true, true, { isLeaf: wrapped })).toEqual([["b", "d"]]);
  expect(td.items({ includeNested: true, leavesOnly: true, isLeaf: wrapped })[0]?.[0]).toEqual(["b", "d"]);
  expect(td.values(true, true, { isLeaf: () => true }).length).toBe(5);
  expect(() => td.keys(1 as never)).toThrow("argument 'includeNested' must be bool, not int");
});
