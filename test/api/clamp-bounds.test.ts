// clamp between numbers takes a way of its own: bounds that are no values of the dtype must not take it.
import { expect, test } from "bun:test";
import { tensor } from "../../src/index.ts";

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

test("a bound that is not a number gives results that are none", () => {
  const x = tensor([-2, 0, 3]);
  for (const [low, high] of [
    [nan, 1],
    [0, nan],
    [nan, nan],
  ] as const) {
    expect(x.clamp(low, high).tolist(), `${low} ${high}`).toEqual([nan, nan, nan]);
    expect(
      tensor([[1, 2]])
        .t()
        .clamp(low, high)
        .tolist(),
    ).toEqual([[nan], [nan]]);
  }
});

test("infinite bounds, bounds in the wrong order, elements that are NaN, zeros with their signs", () => {
  const x = tensor([-2, -0, 0, 3, nan, inf, -inf]);
  expect(x.clamp(-inf, inf).tolist()).toEqual([-2, -0, 0, 3, nan, inf, -inf]);
  expect(x.clamp(2, 1).tolist()).toEqual([1, 1, 1, 1, nan, 1, 1]);
  expect(x.clamp(0, 0).tolist()).toEqual([0, -0, 0, 0, nan, 0, 0]);
});

test("integers: bounds at and beyond the ends of the dtype", () => {
  const bytes = tensor([0, 7, 255], { dtype: "uint8" });
  expect(bytes.clamp(3, 200).tolist()).toEqual([3, 7, 200]);
  expect(bytes.clamp(0, 255).tolist()).toEqual([0, 7, 255]);
  expect(bytes.clamp(0, 300).tolist()).toEqual([0, 7, 255]);
  const small = tensor([-128, 0, 127], { dtype: "int8" });
  expect(small.clamp(-128, 127).tolist()).toEqual([-128, 0, 127]);
  expect(small.clamp(-5, 500).tolist()).toEqual([-5, 0, 127]);
  const wide = tensor([-(2 ** 40), 2 ** 40], { dtype: "int64" });
  expect(wide.clamp(-(2 ** 39), 2 ** 53 - 1).tolist()).toEqual([-(2 ** 39), 2 ** 40]);
  expect(
    tensor([1, 5], { dtype: "int32" })
      .clamp(-0, 2 ** 31 - 1)
      .tolist(),
  ).toEqual([1, 5]);
});

test("a short dtype rounds its bounds", () => {
  const x = tensor([0, 10], { dtype: "bfloat16" });
  expect(x.clamp(1.001, 3.003).tolist()).toEqual([1, 3]);
});
