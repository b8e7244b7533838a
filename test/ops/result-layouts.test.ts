// Strides of results where sizes of one leave them open, as torch gives them.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";

/** Sizes and strides of the operands; strides of results of operands alike, and of one beside a single number. */
const ROWS: [shape: number[], strides: number[], alike: number[], number: number[]][] = [
  [
    [2, 1, 1, 3],
    [3, 7, 5, 1],
    [3, 3, 3, 1],
    [3, 6, 6, 1],
  ],
  [
    [2, 3, 1, 1],
    [3, 1, 3, 3],
    [3, 1, 1, 1],
    [3, 1, 3, 3],
  ],
  [
    [2, 3, 1, 1],
    [3, 1, 8, 9],
    [3, 1, 1, 1],
    [3, 1, 6, 6],
  ],
  [
    [2, 3, 1, 4],
    [12, 1, 9, 3],
    [12, 1, 12, 3],
    [12, 1, 12, 3],
  ],
  [
    [2, 3, 2, 1],
    [6, 1, 3, 9],
    [6, 1, 3, 3],
    [6, 1, 3, 12],
  ],
  [
    [2, 1, 2, 2],
    [4, 9, 2, 1],
    [4, 4, 2, 1],
    [4, 8, 2, 1],
  ],
  [
    [3, 1, 2],
    [1, 5, 3],
    [1, 5, 3],
    [1, 6, 3],
  ],
  [
    [3, 1],
    [1, 7],
    [1, 1],
    [1, 3],
  ],
  [
    [1, 1],
    [5, 7],
    [1, 1],
    [1, 1],
  ],
  [
    [1, 1, 1],
    [2, 9, 4],
    [1, 1, 1],
    [1, 1, 1],
  ],
];

const operand = (shape: number[], strides: number[], dtype: z.DType = z.float32): z.Tensor =>
  z.arange(64, { dtype }).asStrided(shape, strides);

const ALIKE: Record<string, (shape: number[], strides: number[]) => z.Tensor> = {
  abs: (...at) => operand(...at).abs(),
  add: (...at) => operand(...at).add(operand(...at)),
  addcmul: (...at) => operand(...at).addcmul(operand(...at), operand(...at)),
  clamp: (...at) => operand(...at).clamp(0, 1),
  gt: (...at) => operand(...at).gt(operand(...at)),
  lerp: (...at) => operand(...at).lerp(operand(...at), 0.5),
  "add of float16": (...at) => operand(...at, z.float16).add(operand(...at, z.float16)),
  "clamp of float16": (...at) => operand(...at, z.float16).clamp(0, 1),
};

for (const [name, result] of Object.entries(ALIKE)) {
  test(`${name} keeps the strides of operands alike`, () => {
    for (const [shape, strides, alike] of ROWS)
      expect([shape, [...result(shape, strides).stride()]]).toEqual([shape, alike]);
  });
}

const BESIDE: Record<string, (x: z.Tensor) => z.Tensor> = {
  "a number": (x) => x.add(1),
  "an element": (x) => x.add(z.ones([1, 1, 1, 1].slice(4 - x.ndim))),
  "a first element": (x) => z.ones([1, 1, 1, 1].slice(4 - x.ndim)).add(x),
};

for (const [name, result] of Object.entries(BESIDE)) {
  test(`dimensions are sorted beside ${name}`, () => {
    for (const [shape, strides, , sorted] of ROWS) {
      expect([shape, [...result(operand(shape, strides)).stride()]]).toEqual([shape, sorted]);
    }
  });
}

test("results without elements, beside a number and of an index, lie in the order of their operands' strides", () => {
  const strides = (t: z.Tensor): number[] => [...t.stride()];
  const permuted = z.zeros(3, 0, 4).permute(0, 2, 1);
  expect(strides(permuted.add(1))).toEqual([0, 1, 4]);
  expect(strides(permuted.gt(0))).toEqual([0, 1, 4]);
  expect(strides(permuted.add(permuted))).toEqual([4, 1, 1]);
  expect(strides(z.zeros(2, 0, 1).add(1))).toEqual([0, 1, 0]);
  expect(strides(z.zeros(3, 0, 4).add(1))).toEqual([4, 4, 1]);
  const none = z.zeros(0).to(z.int64);
  expect(strides(z.zeros(3, 3, 1).at([none]))).toEqual([1, 0, 0]);
  expect(strides(z.zeros(2, 1, 4).at([none]))).toEqual([4, 0, 1]);
  expect(strides(z.zeros(4).at([none, null]))).toEqual([1, 1]);
  expect(strides(z.zeros(5, 4, 1).at([z.tensor([true, false, false, true, true]), "4:"]))).toEqual([0, 1, 0]);
});
