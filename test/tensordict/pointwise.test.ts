// Arithmetic and apply: batches that broadcast, results that do not fit, all entries or none.
import "../../src/install.ts";
import { describe, expect, test } from "bun:test";
import { arange, ones, zeros } from "../../generated/functional.ts";
import { tensor } from "../../src/api/tensor-data.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { isLeafNontensor, lazyStack, TensorDict } from "../../src/tensordict/index.ts";

const make = (fields: Record<string, unknown>, size: number[], names?: string[]) =>
  new TensorDict(fields, size, names === undefined ? {} : { names }) as unknown as Td;
const sample = () => make({ a: arange(6).to("float32").reshape(3, 2), n: make({ b: ones(3, 4) }, [3, 4]) }, [3]);
const sizes = (td: Td) => [[...td.batchSize], [...td.get("a").shape], [...td.get("n").batchSize]];

describe("batches broadcast", () => {
  test("with a tensor, aligned with the batch", () => {
    expect(sizes(sample().mul(ones(5, 1, 1)))).toEqual([
      [5, 1, 3],
      [5, 1, 3, 2],
      [5, 1, 3, 4],
    ]);
    expect(sizes(sample().mul(ones(3)))).toEqual([[3], [3, 2], [3, 4]]);
    expect(sizes(sample().mul(tensor(2)))).toEqual([[3], [3, 2], [3, 4]]);
    expect(
      sample()
        .mul(tensor([1, 2, 3]))
        .get("a")
        .tolist(),
    ).toEqual([
      [0, 1],
      [4, 6],
      [12, 15],
    ]);
    expect(
      make({ a: ones(3) }, [])
        .mul(ones(2))
        .get("a").shape,
    ).toEqual([2, 3] as never);
    expect(make({ a: ones(3) }, [3], ["x"]).mul(ones(5, 3)).names).toEqual([null, "x"]);
    expect(() => sample().mul(ones(2))).toThrow(
      "Attempting to broadcast a dimension of length 2 at -1! Mismatching argument at index 1 had torch.Size([2]); " +
        "but expected shape should be broadcastable to [3]",
    );
  });

  test("with a tree, and comparisons", () => {
    const wide = make({ a: ones(5, 3) }, [5, 3]);
    expect([...make({ a: ones(3) }, [3]).add(wide).batchSize]).toEqual([5, 3]);
    expect([...make({ a: ones(1, 2) }, [1]).maximum(make({ a: ones(3, 2) }, [3])).batchSize]).toEqual([3]);
    expect([...make({ a: ones(3) }, [3]).eq(wide).batchSize]).toEqual([5, 3]);
    expect([...sample().lt(ones(5, 1, 1)).batchSize]).toEqual([5, 1, 3]);
    expect(() => make({ a: ones(3) }, [3]).add(make({ a: ones(5) }, [5]))).toThrow("Attempting to broadcast");
  });

  test("not in place", () => {
    const td = sample();
    expect(() => td.mul_(ones(5, 1, 1))).toThrow("more than one element of the written-to tensor");
    expect(sizes(td)).toEqual([[3], [3, 2], [3, 4]]);
  });

  test("of lazy stacks, of members' entries of different shapes too", () => {
    const td = lazyStack([make({ a: ones(2) }, []), make({ a: ones(3) }, [])]);
    const got = td.mul(tensor([10, 20]));
    expect(got.members.map((one) => one.get("a").tolist())).toEqual([
      [10, 10],
      [20, 20, 20],
    ]);
    const inside = make({ n: td }, [2])
      .mul(tensor([10, 20]))
      .get("n") as Td & { members: Td[] };
    expect(inside.members[1]?.get("a").tolist()).toEqual([20, 20, 20]);
  });
});

describe("apply", () => {
  const mismatch = "batch dimension mismatch, got self.batch_size=torch.Size([3]) and value.shape=torch.Size([2])";
  test("refuses results that do not begin with the batch", () => {
    expect(() => sample().apply((t) => t.sum(0))).toThrow(`${mismatch} for key 'a'`);
    expect(() => sample().namedApply((_, t) => t.sum(0))).toThrow(mismatch);
    expect(() => sample().apply_((t) => t.sum(0))).toThrow(mismatch);
    expect(() => sample().apply((t) => t, { batchSize: [7] })).toThrow("self.batch_size=torch.Size([7])");
    expect(() => lazyStack([sample(), sample()]).apply((t) => t.sum())).toThrow("batch dimension mismatch");
    expect([...sample().apply((t) => t.sum(0), { batchSize: [] }).batchSize]).toEqual([]);
  });

  test("in place writes into the entries, or into none", () => {
    const td = sample();
    const a = td.get("a");
    expect(td.apply((t) => t.add(1), { inplace: true })).toBe(td);
    expect(td.get("a")).toBe(a);
    expect(a.sum().item()).toBe(21);
    const narrow = (t: Tensor) => (t.ndim === 2 && t.shape[1] === 4 ? t.narrow(1, 0, 1) : t.add(1));
    expect(() => td.apply_(narrow)).toThrow("batch dimension mismatch");
    const flat = make({ a, b: ones(3, 4) }, [3]);
    expect(() => flat.apply_(narrow)).toThrow("does not fit the entry of shape torch.Size([3, 4])");
    expect(a.sum().item()).toBe(21);
  });

  test("names, device, filterEmpty", () => {
    expect(sample().apply((t) => t, { names: ["q"] }).names).toEqual(["q"]);
    expect(() => sample().apply((t) => t, { names: ["q", "r"] })).toThrow("dimension names");
    expect(String(sample().apply((t) => t, { device: "cpu" }).device)).toBe("cpu");
    expect(
      sample()
        .apply((t) => (t.shape[1] === 4 ? null : t), { filterEmpty: true })
        ?.keys(),
    ).toEqual(["a"]);
  });
});

test("any, all and tests of elements leave values that are no tensors alone", () => {
  const td = make({ a: zeros(3), s: "x" }, [3]);
  expect(td.any()).toBe(false);
  expect(td.all()).toBe(false);
  expect(make({ a: ones(3), s: "" }, [3]).all()).toBe(true);
  expect(make({ s: "x" }, []).any()).toBe(false);
  expect(lazyStack([td, td]).any()).toBe(false);
  expect((td.any(0) as Td).at("s")).toBe("x");
  const odd = make({ a: tensor([1, Number.POSITIVE_INFINITY, Number.NaN, Number.NEGATIVE_INFINITY]), s: "x" }, [4]);
  const each = (result: Td) => [result.get("a").tolist(), result.at("s")];
  expect(each(odd.isfinite())).toEqual([[true, false, false, false], "x"]);
  expect(each(odd.isinf())).toEqual([[false, true, false, true], "x"]);
  expect(each(odd.isposinf())).toEqual([[false, true, false, false], "x"]);
  expect(each(odd.isneginf())).toEqual([[false, false, false, true], "x"]);
  expect(each(odd.isnan())).toEqual([[false, false, true, false], "x"]);
  const whole = make({ a: arange(3) }, [3]);
  for (const name of ["isinf", "isposinf", "isneginf"] as const) expect(whole[name]().any()).toBe(false);
  expect(whole.isfinite().all()).toBe(true);
});

test("every function of tensors that a TensorDict has, tensors have", () => {
  const td = make({ a: tensor([0.25, 0.5]) }, [2]);
  for (let at = Object.getPrototypeOf(td); at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      if (
        !/^(abs|cos|exp|log|log1p|neg|sigmoid|sin|sqrt|square|tanh|isfinite|isnan|isinf|is(neg|pos)inf)_?$/.test(name)
      )
        continue;
      const result = (make({ a: tensor([0.25, 0.5]) }, [2]) as unknown as Record<string, () => Td>)[name]?.();
      expect(result?.keys()).toEqual(["a"]);
    }
  }
});

describe("all entries or none", () => {
  const mixed = () => make({ a: ones(3), b: arange(3), n: { c: ones(3) } }, [3]);
  const values = (td: Td) => td.values({ includeNested: true, leavesOnly: true }).map((t) => (t as Tensor).tolist());
  const leaf = () => make({ a: ones(3), b: ones(3).requiresGrad_(true) }, [3]);
  const shared = () => make({ a: ones(3), b: ones(1).expand(3) }, [3]);
  const CASES: Record<string, [() => Td, (td: Td) => unknown, string]> = {
    "a dtype that cannot hold the result": [mixed, (td) => td.mul_(1.5), "can't be cast"],
    "a function that has no result of that dtype": [mixed, (td) => td.sqrt_(), "can't be cast"],
    "an operator that floats do not have": [
      () => make({ b: arange(3), a: ones(3) }, [3]),
      (td) => td.bitwiseNot_(),
      "",
    ],
    "a shape that does not fit": [
      mixed,
      (td) => td.add_(make({ a: ones(3), b: arange(3), n: { c: ones(3, 2) } }, [3])),
      "",
    ],
    "a leaf that requires gradients": [leaf, (td) => td.add_(1), "a leaf Variable that requires grad"],
    "such a leaf, set to zero": [leaf, (td) => td.zero_(), "a leaf Variable that requires grad"],
    "elements that share memory": [shared, (td) => td.add_(1), "more than one element"],
    "a missing key": [mixed, (td) => td.add_(make({ a: ones(3), b: arange(3) }, [3])), "keys in tensordicts mismatch"],
    maximum_: [mixed, (td) => td.maximum_(make({ a: ones(3), b: arange(3), n: { c: ones(3, 2) } }, [3])), ""],
  };
  for (const [name, [build, change, text]] of Object.entries(CASES)) {
    test(name, () => {
      const td = build();
      const before = values(td);
      expect(() => change(td)).toThrow(text);
      expect(values(td)).toEqual(before);
      expect(() => change(lazyStack([td, td]))).toThrow();
      expect(values(td)).toEqual(before);
    });
  }

  test("what fits is written", () => {
    expect(values(mixed().add_(1))).toEqual([
      [2, 2, 2],
      [1, 2, 3],
      [2, 2, 2],
    ]);
    expect(values(mixed().maximum_(mixed().mul(0).add(2)))).toEqual([
      [2, 2, 2],
      [2, 2, 2],
      [2, 2, 2],
    ]);
    expect(values(mixed().zero_())).toEqual([
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ]);
  });
});

describe("what a function is called with, and what is left", () => {
  const tree = () => new TensorDict({ a: { b: tensor([1]), n: "text" }, d: tensor([2]), e: {} }, []) as unknown as Td;

  test("nothing is left: null; collections stay where that is asked for, or where they had no leaves", () => {
    const drop = (options: object) => tree().apply(() => null, options);
    expect(drop({ filterEmpty: true })?.keys({ includeNested: true })).toEqual([["a", "n"], "a"]);
    expect(drop({ filterEmpty: true, isLeaf: isLeafNontensor })).toBeNull();
    expect(drop({ isLeaf: isLeafNontensor })?.keys()).toEqual(["e"]);
    expect(drop({ isLeaf: isLeafNontensor, filterEmpty: false })?.keys()).toEqual(["a", "e"]);
    expect(new TensorDict({}, []).apply((t) => t, { filterEmpty: true })).toBeNull();
  });
  test("wrapped values and nested collections as leaves", () => {
    const seen: string[] = [];
    const look = (x: object) => {
      seen.push(x.constructor.name);
      return x as never;
    };
    tree().apply(look, { isLeaf: isLeafNontensor });
    expect(seen).toEqual(["Tensor", "NonTensorData", "Tensor"]);
    seen.length = 0;
    const same = tree();
    expect(same.apply(look, { callOnNested: true }).get("a")).toBe(same.get("a") as never);
    expect(seen).toEqual(["TensorDict", "Tensor", "TensorDict"]);
    expect(
      tree()
        .flattenKeys({ isLeaf: isLeafNontensor } as never)
        .keys(),
    ).toEqual(["a.b", "a.n", "d"]);
  });
});
