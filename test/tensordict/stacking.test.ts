// Stacking: dense, lazy, ragged, concatenated.
import "../../src/install.ts";
import { describe, expect, test } from "bun:test";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import {
  LazyStackedTensorDict,
  lazyLegacy,
  maybeDenseStack,
  NestedTensor,
  setLazyLegacy,
  stack as stackTds,
  TensorDict,
} from "../../src/tensordict/index.ts";

const make = (x: number, size = 3) => new TensorDict({ a: zeros([size]).add(x), n: { z: x } }) as unknown as Td;

describe("dense", () => {
  test("stack and cat", () => {
    const both = TensorDict.stack([make(1), make(2)]);
    expect(both.batchSize).toEqual([2] as never);
    expect((both.at("a") as Tensor).tolist()).toEqual([
      [1, 1, 1],
      [2, 2, 2],
    ]);
    expect((both.at(["n", "z"]) as Tensor).tolist()).toEqual([1, 2]);
    const long = TensorDict.cat([both, both]);
    expect(long.batchSize).toEqual([4] as never);
    expect((long.at(["n", "z"]) as Tensor).tolist()).toEqual([1, 2, 1, 2]);
    const columns = TensorDict.stack([both, both], 1);
    expect(columns.batchSize).toEqual([2, 2] as never);
  });
  test("errors", () => {
    const other = new TensorDict({ b: 1 }) as unknown as Td;
    expect(() => TensorDict.stack([])).toThrow("stack expects a non-empty TensorList");
    expect(() => TensorDict.stack([make(1), other])).toThrow(
      "The sets of keys in the tensordicts to stack are exclusive. Consider using " +
        "`LazyStackedTensorDict.maybe_dense_stack` instead.",
    );
    expect(() => TensorDict.stack([make(1, 2), make(1, 1)])).toThrow(
      "The shapes of the tensors to stack is incompatible: torch.Size([1]) vs torch.Size([2]) for key a.",
    );
    const a = new TensorDict({}, [1]) as unknown as Td;
    const b = new TensorDict({}, [2]) as unknown as Td;
    expect(() => TensorDict.stack([a, b])).toThrow(
      "stacking tensordicts requires them to have congruent batch sizes, got " +
        "td[1].batch_size=torch.Size([2]) and td[0].batch_size=torch.Size([1])",
    );
    expect(() => TensorDict.cat([])).toThrow("torch.cat(): expected a non-empty list of Tensors");
    expect(() => TensorDict.cat([make(1)])).toThrow(
      "dim must be in the range 0 <= dim < len(batch_size), got dim=0 and batch_size=[]",
    );
    const left = new TensorDict({ a: zeros([1]) }, [1]) as unknown as Td;
    const right = new TensorDict({ b: zeros([1]) }, [1]) as unknown as Td;
    expect(() => TensorDict.cat([left, right])).toThrow(
      "tensordict 1 has keys ['b'] but tensordict 0 has keys ['a']; all tensordicts must have the same keys",
    );
  });
});

describe("lazy", () => {
  test("members are kept, entries are stacked when read", () => {
    const parts = [make(1), make(2), make(3)];
    const td = TensorDict.lazyStack(parts) as unknown as LazyStackedTensorDict;
    expect(td.batchSize).toEqual([3] as never);
    expect(td.at(1)).toBe(parts[1] as never);
    expect((td.at("a") as Tensor).tolist()).toEqual([
      [1, 1, 1],
      [2, 2, 2],
      [3, 3, 3],
    ]);
    expect(td.at("1:3").batchSize).toEqual([2] as never);
    expect(td.at("1:3").at(0)).toBe(parts[1] as never);
    expect(td.unbind(0)[2]).toBe(parts[2] as never);
    td.set("fresh", tensor([7, 8, 9]));
    expect((parts[1] as Td).at("fresh").item()).toBe(8);
    td.set_("fresh", tensor([1, 2, 3]));
    expect((parts[2] as Td).at("fresh").item()).toBe(3);
    td.zero_();
    expect((parts[0] as Td).at(["n", "z"]).item()).toBe(0);
  });
  test("writing through an index reaches the members", () => {
    const parts = [make(1), make(2)];
    const td = TensorDict.lazyStack(parts);
    td.setAt(1, { a: tensor([5, 5, 5]), n: { z: 5 } });
    expect((parts[1] as Td).at("a").tolist()).toEqual([5, 5, 5]);
    td.setAt("0:1", { a: tensor([[6, 6, 6]]), n: { z: tensor([6]) } });
    expect((parts[0] as Td).at(["n", "z"]).item()).toBe(6);
  });
  test("ragged entries", () => {
    const td = TensorDict.lazyStack([make(1, 1), make(2, 2)]) as unknown as LazyStackedTensorDict;
    expect(() => td.at("a")).toThrow(
      "Failed to stack tensors within a tensordict under the key 'a': their shapes are " +
        "[torch.Size([1]), torch.Size([2])]. " +
        "To read them, pass asPaddedTensor: true, asNestedTensor: true or asList: true to get().",
    );
    expect((td.getRagged("a", { asPaddedTensor: true }) as Tensor).tolist()).toEqual([
      [1, 0],
      [2, 2],
    ]);
    expect(td.getRagged("a", { asList: true })).toHaveLength(2);
    expect(td.densify().get("a")).toBeInstanceOf(NestedTensor);
  });
  test("which one is chosen", () => {
    expect(maybeDenseStack([make(1), make(2)])).toBeInstanceOf(TensorDict);
    expect(maybeDenseStack([make(1), make(2, 4)])).toBeInstanceOf(LazyStackedTensorDict);
    expect(lazyLegacy()).toBe(false);
    {
      using _ = setLazyLegacy(true);
      expect(stackTds([make(1), make(2)], 0)).toBeInstanceOf(LazyStackedTensorDict);
    }
    expect(stackTds([make(1), make(2)], 0)).toBeInstanceOf(TensorDict);
  });
  test("append and insert", () => {
    const td = TensorDict.lazyStack([make(1)]) as unknown as LazyStackedTensorDict;
    td.append(make(3));
    td.insert(1, make(2));
    expect((td.at(["n", "z"]) as unknown as Tensor).tolist()).toEqual([1, 2, 3]);
    expect(() => td.append(new TensorDict({}, [2]) as unknown as Td)).toThrow("Batch sizes in tensordicts differs");
    expect(() => TensorDict.lazyStack([])).toThrow("items cannot be empty");
    expect(new LazyStackedTensorDict([]).batchSize).toEqual([0] as never);
  });
  test("extend adds all members, or none", () => {
    const td = TensorDict.lazyStack([make(1)]) as unknown as LazyStackedTensorDict;
    td.extend([make(2), make(3)]);
    td.extend(TensorDict.stack([make(4)]));
    expect((td.at(["n", "z"]) as Tensor).tolist()).toEqual([1, 2, 3, 4]);
    td.extend(td);
    expect(td.batchSize).toEqual([8] as never);
    for (const wrong of [[make(5), new TensorDict({}, [2])], [make(5), 3], 3, null]) {
      expect(() => td.extend(wrong as never)).toThrow();
      expect(td.members).toHaveLength(8);
    }
    td.lock_();
    expect(() => td.extend([make(5)])).toThrow("Cannot modify locked TensorDict");
    expect(td.members).toHaveLength(8);
  });
  test("shape operations that mix members give a dense result", () => {
    const td = TensorDict.lazyStack([make(1), make(2)]);
    expect(td.view(2, 1).batchSize).toEqual([2, 1] as never);
    expect(td.eq(td).all()).toBe(true);
    expect(
      (
        td
          .apply((t) => t.add(1))
          .at(0)
          .at("a") as Tensor
      ).tolist(),
    ).toEqual([2, 2, 2]);
  });
});
