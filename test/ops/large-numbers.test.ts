// Whole numbers that no integer has bits for are floats, as 1e30 is in Python, wherever a number may stand.
import { expect, test } from "bun:test";
import { arange, full, int, ones, type Tensor, tensor, uint64, where } from "../../src/index.ts";

const LARGE = [1e30, -1e30, 2 ** 63, -(2 ** 64), 2 ** 64 * 1.5];
const mask = tensor([true, false]);
const first = tensor([0n]);

/** What writes a number into the first of two elements. */
const WRITES: Record<string, (x: Tensor, value: number) => Tensor> = {
  maskedFill: (x, value) => x.maskedFill(mask, value),
  maskedFill_: (x, value) => x.maskedFill_(mask, value),
  indexFill: (x, value) => x.indexFill(0, first, value),
  scatter: (x, value) => x.scatter(0, first, value),
  setAt: (x, value) => x.setAt(0, value),
  fill_: (x, value) => x.fill_(value),
  full: (x, value) => full([2], value, { dtype: x.dtype }),
  where: (x, value) => where(mask, value, x),
};

for (const [name, write] of Object.entries(WRITES)) {
  test(`${name} writes them into floating-point tensors`, () => {
    for (const dtype of ["float32", "float64"] as const) {
      for (const value of LARGE) {
        const expected = dtype === "float32" ? Math.fround(value) : value;
        expect(write(ones(2, { dtype }), value).at(0).item()).toBe(expected);
      }
    }
  });
}

test("integer tensors refuse them, and take all of their own numbers", () => {
  expect(() => full([2], 1e30, { dtype: "int64" })).toThrow(
    "value cannot be converted to type int64_t without overflow",
  );
  expect(() => tensor([1n, 2n]).maskedFill(mask, 2 ** 63)).toThrow("without overflow");
  expect(full([1], -(2 ** 63), { dtype: "int64" }).bigint()).toBe(-(2n ** 63n));
  expect(full([1], 2 ** 63, { dtype: uint64 }).toString()).toBe("tensor([9223372036854775808], dtype=torch.uint64)");
});

test("operands and bounds are floats", () => {
  expect(tensor([1n]).add(1e30).dtype.name).toBe("float32");
  expect(
    tensor([1n])
      .mul(2 ** 70)
      .tolist(),
  ).toEqual([2 ** 70]);
  expect(tensor([1n]).add(-(2 ** 63)).dtype.name).toBe("int64");
  expect(arange(1e30, 1.5e30, 1e30).tolist()).toEqual([Math.fround(1e30)]);
  expect(full([2], 2 ** 70, { dtype: "float64" }).tolist()).toEqual([2 ** 70, 2 ** 70]);
  expect(() => full([2], int(2n ** 70n), { dtype: "float64" })).toThrow("Overflow when unpacking long long");
});
