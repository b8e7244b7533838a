// Sizes at the end of what numbers and addresses hold.
import { expect, test } from "bun:test";
import { emptyStrided, zeros } from "../../src/index.ts";

test("repeated elements are counted up to 2^53 - 1", () => {
  expect(
    zeros(1)
      .expand(2 ** 53 - 1)
      .numel(),
  ).toBe(2 ** 53 - 1);
  expect(() => zeros(1).expand(2 ** 53)).toThrow("numel: integer multiplication overflow");
  expect(() => zeros(1, 1).expand(2 ** 30, 2 ** 30)).toThrow("numel: integer multiplication overflow");
});

test("strides that reach beyond the address space are refused, those inside ask for memory", () => {
  const overflow = (stride: number) => `Storage size calculation overflowed with sizes=[2] and strides=[${stride}]`;
  for (const stride of [2 ** 46, 2 ** 52]) expect(() => emptyStrided([2], [stride])).toThrow(overflow(stride));
  expect(() => emptyStrided([2], [2 ** 44])).toThrow("you tried to allocate 70368744177668 bytes");
  expect(emptyStrided([2, 0], [2 ** 40, 1]).numel()).toBe(0);
});

test("tensors have at most 64 dimensions", () => {
  const sizes = (n: number) => new Array<number>(n).fill(1);
  expect(zeros(sizes(64)).ndim).toBe(64);
  expect(() => zeros(sizes(65))).toThrow("64");
});

test("matrices are transposed, vectors and numbers are refused", () => {
  expect([...zeros(2, 3).mT.shape]).toEqual([3, 2]);
  expect([...zeros(4, 2, 3).mT.shape]).toEqual([4, 3, 2]);
  const refusal = (n: number) => `tensor.mT is only supported on matrices or batches of matrices. Got ${n}-D tensor.`;
  for (const size of [[], [3]]) expect(() => zeros(size).mT).toThrow(refusal(size.length));
});
