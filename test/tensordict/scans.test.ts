// Running extremes, sums of exponentials, quantiles, rolled and turned batches.
import { expect, test } from "bun:test";
import { arange, lazyStack, ones, tensor, zeros } from "../../src/index.ts";
import { TensorDict, UnbatchedTensor } from "../../src/tensordict/index.ts";

const sample = () =>
  new TensorDict({ a: arange(6).view(2, 3).float(), b: { c: tensor([1, 0]) }, name: "text" }, [2], { names: ["rows"] });

test("logsumexp leaves the dimensions behind the batch, values and names", () => {
  const all = sample().logsumexp();
  expect([...all.batchSize]).toEqual([]);
  expect(all.get("a").allclose(sample().get("a").logsumexp(0))).toBe(true);
  expect(all.getNonTensor("name")).toBe("text");
  const kept = sample().logsumexp(0, { keepdim: true });
  expect([kept.batchSize, kept.names, kept.get(["b", "c"]).shape]).toEqual([[1], ["rows"], [1]] as never);
  const out = new TensorDict({ a: zeros(3) }, []);
  const [a, before] = [out.get("a"), out];
  expect(sample().logsumexp(0, { out })).toBe(before);
  expect(out.get("a")).toBe(a);
  expect(a.equal(all.get("a"))).toBe(true);
  expect(out.get(["b", "c"] as never)).toBeDefined();
  expect(() => sample().logsumexp([1])).toThrow("The dimension (1,) is incompatible with a tensordict with batch_size");
});

test("running extremes come with their places, or joined", () => {
  const { values, indices } = sample().cummin(0);
  expect(values.get(["b", "c"]).tolist()).toEqual([1, 0]);
  expect(indices.get("a").tolist()).toEqual([
    [0, 0, 0],
    [0, 0, 0],
  ]);
  expect([...values.keys()].includes("name")).toBe(false);
  expect(sample().cummax(0, { returnIndices: false }).getNonTensor("name")).toBe("text");
  const pair = new TensorDict({ a: tensor([1, 2]), b: tensor([3, 0]) }, [2]).cummax(0, { reduce: true });
  expect((pair as { values: { tolist(): unknown } }).values.tolist()).toEqual([1, 2, 3, 3]);
  expect(() => sample().cummax(1)).toThrow("Incompatible dim 1 for tensordict with batch dims 1.");
});

test("quantiles of each tensor, of features, of all together", () => {
  const td = new TensorDict({ a: arange(8).view(2, 4).float(), b: { c: tensor([1, 5]) } }, [2]);
  expect(td.quantile(0.5).get("a").item()).toBe(3.5);
  expect([...(td.quantile(0.5, 0, true) as TensorDict).batchSize]).toEqual([1]);
  expect(td.quantile(0.5, { dim: "feature" }).get("a").tolist()).toEqual([1.5, 5.5]);
  const several = td.quantile(tensor([0, 1]), { dim: 0, interpolation: "lower" });
  expect([several.batchSize, several.get(["b", "c"]).tolist()]).toEqual([[2], [1, 5]] as never);
  expect(td.quantile(1, { reduce: true }).item()).toBe(7);
  expect([...td.quantile(0.5, { keyTransform: (key) => `q_${key}` }).keys()]).toEqual(["q_a", "q_b"]);
  expect(() => td.quantile(0.5, { dim: "feature", keepdim: true })).toThrow("incompatible with keepdim=True");
  expect(() => new TensorDict({}, []).quantile(0.5, { reduce: true })).toThrow("has no tensor leaves");
});

test("batches are rolled and turned, features are not", () => {
  const grid = () => new TensorDict({ a: arange(12).view(2, 3, 2), table: new UnbatchedTensor(ones(4)) }, [2, 3]);
  expect(grid().roll(1).get("a").select(-1, 0).tolist()).toEqual([
    [10, 0, 2],
    [4, 6, 8],
  ]);
  expect(
    grid()
      .roll([1, -1], [0, 1])
      .get("a")
      .equal(grid().get("a").roll([1, -1], [0, 1])),
  ).toBe(true);
  const td = grid();
  const a = td.get("a");
  expect(td.roll(1, 0, { inplace: true })).toBe(td);
  expect(td.get("a")).not.toBe(a);
  const turned = grid().refineNames("x", "y").rot90();
  expect([turned.batchSize, turned.names, turned.get("a").shape]).toEqual([
    [3, 2],
    ["y", "x"],
    [3, 2, 2],
  ] as never);
  expect([...turned.get("table").batchSize]).toEqual([3, 2]);
  const same = grid();
  expect(same.rot90(4)).toBe(same);
  const stack = lazyStack([grid(), grid()]);
  expect(
    stack
      .fliplr()
      .get("a")
      .equal(stack.get("a").flip([1])),
  ).toBe(true);
  expect(
    stack
      .flipud()
      .get("a")
      .equal(stack.get("a").flip([0])),
  ).toBe(true);
  expect(() => sample().rot90()).toThrow("rot90 requires at least 2 batch dimensions");
  expect(() => grid().rot90(1, [0])).toThrow("rot90 requires exactly 2 dims");
  expect(() => sample().fliplr()).toThrow("fliplr requires at least 2 batch dimensions");
  expect(() => new TensorDict({}, []).flipud()).toThrow("flipud requires at least 1 batch dimension");
});
