// Warnings in torch's words, given where torch gives them and nowhere else.
import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import * as z from "../../src/index.ts";

const { tensor, zeros, uint8, bool, float16, int64 } = z;
let given: string[] = [];
let spy: { mockRestore(): void };

beforeEach(() => {
  given = [];
  z.setWarningPolicy("always");
  spy = spyOn(process, "emitWarning").mockImplementation(((text: string) => void given.push(text)) as never);
});
afterEach(() => {
  spy.mockRestore();
  z.setWarningPolicy("once");
});

function warnings(f: () => unknown): string[] {
  given = [];
  f();
  return given;
}

const expanded = (): z.Tensor => zeros([1]).expand([3]);
const CLONE =
  "Please clone() the tensor before performing this operation. This also applies to advanced indexing e.g. ";

test("masks of uint8", () => {
  const x = tensor([1, 2, 3]);
  const mask = tensor([1, 0, 1], { dtype: uint8 });
  const text = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.";
  expect(warnings(() => x.at(mask))).toEqual([text]);
  expect(warnings(() => x.at(mask.to(bool)))).toEqual([]);
  expect(warnings(() => x.at(mask.to(int64)))).toEqual([]);
});

test("writes to expanded tensors", () => {
  const mask = tensor([true, false, true]);
  const at = tensor([0]).long();
  const text = (op: string, what: string) => [`Use of ${op} on expanded tensors is deprecated. ${CLONE}${what}`];
  expect(warnings(() => expanded().maskedFill_(mask, 1))).toEqual(text("masked_fill_", "tensor[mask] = scalar"));
  expect(warnings(() => expanded().indexFill_(0, at, 1))).toEqual(text("index_fill_", "tensor[mask] = scalar"));
  expect(warnings(() => expanded().indexPut_([at], tensor([1])))).toEqual(
    text("index_put_", "tensor[indices] = tensor"),
  );
  for (const f of [
    () => zeros([3]).maskedFill_(mask, 1),
    () => zeros([3]).indexFill_(0, at, 1),
    () => zeros([3]).indexPut_([at], tensor([1])),
    () => expanded().maskedFill(mask, 1),
    () => expanded().indexFill(0, at, 1),
  ]) {
    expect(warnings(f)).toEqual([]);
  }
});

test("too few degrees of freedom", () => {
  const text = (op: string) => [
    `${op}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor ` +
      "(input numel divided by output numel).",
  ];
  expect(warnings(() => tensor([1]).var())).toEqual(text("var"));
  expect(warnings(() => zeros([2, 3]).std({ dim: 0, correction: 2 } as never))).toEqual(text("std"));
  expect(warnings(() => tensor([1, 2]).var())).toEqual([]);
  expect(warnings(() => zeros([2, 3]).std({ dim: 1, correction: 2 } as never))).toEqual([]);
});

test("random numbers beyond what a dtype tells apart", () => {
  const x = () => zeros([2], { dtype: float16 });
  const text = (name: string) =>
    `${name} is out of bounds [-(2^11), 2^11]. Due to precision limitations c10::Half can support discrete uniform ` +
    "distribution only within this range. This warning will become an error in version 1.7 release, please fix the " +
    "code in advance";
  expect(warnings(() => x().random_(0, 2049))).toEqual([]);
  expect(warnings(() => x().random_(0, 2050))).toEqual([text("to - 1")]);
  expect(warnings(() => x().random_(-2048, 5))).toEqual([]);
  expect(warnings(() => x().random_(-2050, 5))).toEqual([text("from")]);
});

test("the transpose of other ranks", () => {
  expect(warnings(() => zeros([2, 3]).T)).toEqual([]);
  expect(warnings(() => tensor(1).T)).toEqual([]);
  expect(warnings(() => zeros([2, 3, 4]).T)[0]).toStartWith("The use of `x.T` on tensors of dimension other than 2");
  expect(warnings(() => zeros([2]).T).length).toBe(1);
});

test("losses of other sizes", () => {
  const { mseLoss } = z.nn.functional;
  expect(warnings(() => mseLoss(zeros([3]), zeros([3])))).toEqual([]);
  expect(warnings(() => mseLoss(zeros([3]), zeros([1])))).toEqual([
    "Using a target size (torch.Size([1])) that is different to the input size (torch.Size([3])). This will likely " +
      "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
  ]);
});

test("casts of complex numbers to real ones", () => {
  const c = tensor([new z.Complex(1, 2), new z.Complex(3, 4)]);
  const text = "Casting complex values to real discards the imaginary part";
  const all = [
    bool,
    uint8,
    z.int8,
    z.int16,
    z.int32,
    int64,
    float16,
    z.bfloat16,
    z.float32,
    z.float64,
    z.complex64,
    z.complex128,
  ];
  for (const d of all) {
    const some = d === bool || d.isComplex ? [] : [text];
    expect([String(d), ...warnings(() => c.to(d))]).toEqual([String(d), ...some]);
    expect(warnings(() => zeros(2, { dtype: d }).copy_(c))).toEqual(some);
    expect(warnings(() => c.sum({ dtype: d }))).toEqual(some);
    expect(warnings(() => c.prod({ dtype: d }))).toEqual(some);
    expect(warnings(() => zeros(2, { dtype: d }).sum({ dtype: z.float32 }))).toEqual(d.isComplex ? [text] : []);
    expect(warnings(() => zeros(2).to(d))).toEqual([]);
    expect(warnings(() => zeros(2, { dtype: d }).to(z.float32))).toEqual(d.isComplex ? [text] : []);
  }
});

test("results of another size", () => {
  const x = tensor([1, 2, 3]);
  for (const [n, count] of [
    [0, 0],
    [1, 1],
    [2, 1],
    [3, 0],
    [4, 1],
  ] as const) {
    const given = warnings(() => z.add(x, 1, { out: zeros(n) }));
    expect([n, given.length]).toEqual([n, count]);
    if (count > 0) expect(given[0]).toStartWith("An output with one or more elements was resized");
  }
});
