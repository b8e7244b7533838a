// More ends of what dispatch decides: what is just refused, just allowed, or looked at last.
import { expect, test } from "bun:test";
import { indexTensor } from "../../src/dispatch/copy.ts";
import { shortNumber } from "../../src/dispatch/fits.ts";
import * as z from "../../src/index.ts";

const { arange, bfloat16, bool, float16, float64, int16, int8, ones, tensor, uint8, zeros } = z;

test("as many bytes as an address reaches", () => {
  const at = (n: number) => () => z.empty([n], { dtype: uint8, device: "meta" });
  expect(at(2 ** 47 - 1)().numel()).toBe(2 ** 47 - 1);
  expect(at(2 ** 47)).toThrow("allocate");
  const strided = (n: number, stride: number, dtype: z.DType) => () =>
    z.emptyStrided([n], [stride], { dtype, device: "meta" });
  const over = "Storage size calculation overflowed";
  expect(strided(2, 2 ** 46, uint8)().stride()).toEqual([2 ** 46] as never);
  expect(strided(2, 2 ** 47, uint8)).toThrow(over);
  expect(strided(2, 2 ** 45, float64)).toThrow(over);
  expect(strided(0, 2 ** 50, uint8)().numel()).toBe(0);
  expect(z.emptyStrided([1], [5]).untypedStorage().nbytes()).toBe(4);
});

test("numbers in messages have six digits", () => {
  const texts: [number, string][] = [
    [999996, "999996"],
    [999999.6, "1e+06"],
    [99999.96, "100000"],
    [1e-5, "1e-05"],
  ];
  for (const [x, text] of texts) expect(shortNumber(x)).toBe(text);
});

test("all bytes of known positions", () => {
  expect(indexTensor([2n ** 62n]).bigint()).toBe(2n ** 62n);
  expect(indexTensor([]).numel()).toBe(0);
});

test("floats beyond 32 bits keep the lower bits of their integer in short dtypes, as in torch", () => {
  const x = tensor([3000000001, 513, -3], { dtype: float64 });
  expect(x.to(int16).tolist()).toEqual([0x5e01, 513, -3]);
});

test("which elements are no numbers", () => {
  expect(z.isnan(tensor([Number.NaN, 1])).tolist()).toEqual([true, false]);
  expect(z.isnan(tensor([1, 2], { dtype: int8 })).tolist()).toEqual([false, false]);
});

test("the seed that a stream began with is asked for after other calls", () => {
  const g = new z.Generator();
  g.manualSeed(7);
  const sum = ones(2, 3).t().add(zeros(3, 2));
  expect(g.initialSeed()).toBe(7);
  expect(sum.tolist()).toEqual([
    [1, 1],
    [1, 1],
    [1, 1],
  ]);
});

test("numbers that round to a short dtype: infinities, NaN, ties", () => {
  const add = (x: number) => zeros(1, { dtype: bfloat16 }).add(x).item() as number;
  expect([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map(add)).toEqual([Infinity, -Infinity]);
  expect(add(Number.NaN)).toBeNaN();
  expect([257, 259, 1 + 2 ** -9, -257].map(add)).toEqual([256, 260, 1, -256]);
  expect(ones(2, { dtype: int8 }).add(true).tolist()).toEqual([2, 2]);
  expect(ones(2, { dtype: int8 }).mul(200).tolist()).toEqual([-56, -56]);
});

test("layouts of what is read by indices, as torch has them", () => {
  const x = arange(12, { dtype: z.float32 }).view(3, 4);
  const index = tensor([
    [0n, 1n],
    [2n, 0n],
    [1n, 1n],
  ]);
  const reads: [z.Tensor, number[]][] = [
    [x.t().at(index), [6, 3, 1]],
    [x.t().at(":", index), [6, 2, 1]],
  ];
  for (const [read, strides] of reads) expect([...read.stride()]).toEqual(strides);
});

test("indices and masks at their ends", () => {
  expect(
    tensor([5])
      .at([[true]])
      .tolist(),
  ).toEqual([5]);
  expect(
    tensor([5])
      .at([[false]])
      .tolist(),
  ).toEqual([]);
  expect(() => zeros(3).maskedFill_(ones(1, 3, { dtype: bool }), 1)).toThrow(
    "output with shape [3] doesn't match the broadcast shape [1, 3]",
  );
  expect(() => z.indexAdd(ones(2, 3), 1, tensor([0n, 1n, 2n]), ones(3))).toThrow(
    "Indexing dim 1 is out of bounds of the source tensor with dim 1",
  );
  const found = zeros(0, { dtype: z.int64 });
  z.nonzero(tensor([0, 1, 2]), { out: found });
  expect(found.tolist()).toEqual([[1], [2]]);
  expect(() => z.nonzero(tensor([0, 1, 2]), { out: zeros(0) })).toThrow("Expected out tensor to have scalar type Long");
  const first = tensor([1, 2, 3]);
  first.maskedFill_(tensor([true, false, true]), first.at(1));
  expect(first.tolist()).toEqual([2, 2, 2]);
});

test("what is stacked in a memory format, and onto itself", () => {
  const x = zeros(2, 3, 4, 5).contiguous({ memoryFormat: z.channelsLast });
  expect([...z.stack([x, x], -1).stride()]).toEqual([120, 40, 10, 2, 1]);
  expect([...z.stack([x, x], 3).stride()]).toEqual([120, 1, 30, 15, 3]);
  for (const shape of [[1], [2, 1]]) {
    const one = ones(shape);
    expect(() => z.stack([one], 0, { out: one })).toThrow("refer to a single memory location");
  }
});

test("sums without terms are what they start from", () => {
  const [mat, vec] = [ones(2, 0), ones(0)];
  expect(z.addmv(ones(2), mat, vec, { beta: 0 }).tolist()).toEqual([0, 0]);
  expect(z.addmv(ones(2), mat, vec, { beta: 3 }).tolist()).toEqual([3, 3]);
  expect(z.bmm(ones(2, 1, 0), ones(2, 0, 2)).tolist()).toEqual([[[0, 0]], [[0, 0]]]);
  const room = arange(8, { dtype: z.float32 });
  z.mm(room.at("0:4").view(2, 2), ones(2, 2), { out: room.at("4:8").view(2, 2) });
  expect(room.tolist()).toEqual([0, 1, 2, 3, 1, 1, 5, 5]);
});

test("bounds of random integers in floating dtypes", () => {
  const later = (dtype: z.DType, from: number) => () => zeros(2, { dtype }).random_(from, null);
  const less = "random_ expects 'from' casted to dtype to be less than";
  for (const [dtype, fits, refused] of [
    [float16, 2047, 2048],
    [bfloat16, 255, 256],
    [z.float32, 2 ** 24 - 1, 2 ** 24],
  ] as const) {
    expect(later(dtype, fits)).not.toThrow();
    expect(later(dtype, refused)).toThrow(less);
  }
  expect(later(float16, 65504)).toThrow(less);
  expect(later(float16, 2 ** 24)).toThrow("from is out of bounds for c10::Half");
  expect(() => zeros(1, { dtype: bfloat16 }).random_(2049, 2050)).toThrow(less);
  expect(() => zeros(2).random_(0.5, 2)).toThrow();
  expect(
    zeros(1, { dtype: z.int64 })
      .random_(2n ** 62n, 2n ** 62n + 1n)
      .bigint(),
  ).toBe(2n ** 62n);
});

test("weights that are drawn by, one row and one place at a time", () => {
  const drawn = (rows: number[] | number[][]) => () => z.multinomial(tensor(rows as number[]), 1);
  const sum = "invalid multinomial distribution (sum of probabilities <= 0)";
  const entry = "probability tensor contains either `inf`, `nan` or element < 0";
  expect(
    drawn([
      [0, 0],
      [1, 1],
    ]),
  ).toThrow(sum);
  expect(
    drawn([
      [1, 1],
      [0, 0],
    ]),
  ).toThrow(sum);
  for (const row of [
    [-1, 1],
    [1, -1],
    [1, Infinity],
    [Infinity, 1],
    [Number.NaN, 1],
  ])
    expect(drawn(row)).toThrow(entry);
  expect(
    drawn([
      [1, 0],
      [0, 0.5],
    ])().tolist(),
  ).toEqual([[0], [1]]);
});

test("samples without replacement are in the order of scores in the weights' own dtype", () => {
  const n = 40_000;
  const weights = ones(n, { dtype: float64 });
  const generator = (): z.Generator => {
    const g = new z.Generator();
    g.manualSeed(3);
    return g;
  };
  const scores = zeros(n, { dtype: float64 }).exponential_(1, { generator: generator() });
  const order = z.argsort(z.div(1, scores), { descending: true, stable: true });
  const got = z.multinomial(weights, n, { generator: generator() });
  expect(z.equal(got, order)).toBe(true);
});

test("ranges whose ends a double does not tell apart", () => {
  const bigints = (t: z.Tensor): bigint[] => [...Array(t.numel()).keys()].map((i) => t.at(i).bigint());
  expect(bigints(arange(2n ** 60n, 2n ** 60n + 3n))).toEqual([0n, 1n, 2n].map((i) => 2n ** 60n + i));
  expect(bigints(arange(2n ** 62n, 2n ** 62n + 2n))).toEqual([0n, 1n].map((i) => 2n ** 62n + i));
  expect(() => arange(0.5, 1e300)).toThrow("invalid size, possible overflow");
});

test("tensors of which one has no elements to compare", () => {
  const meta = ones(2, { device: "meta" });
  for (const [a, b] of [
    [ones(2), meta],
    [meta, ones(2)],
  ] as const)
    expect(() => z.equal(a, b)).toThrow("found at least two devices");
  const c = tensor([new z.Complex(1, 2)]);
  expect(z.equal(c.conj(), tensor([new z.Complex(1, -2)]))).toBe(true);
  expect(z.equal(tensor([new z.Complex(1, -2)]), c.conj())).toBe(true);
  expect(z.equal(c, c.conj())).toBe(false);
  expect(z.equal(c.conj().imag, tensor([-2]))).toBe(true);
});

test("types of results by name", () => {
  expect(z.resultType({ tensor: ones(2), other: tensor([1n]) } as never)).toBe(z.float32);
});
