// Options, devices, storages and bounds that few calls name, with torch's answers.
import { expect, test } from "bun:test";
import type { Node } from "../../src/autograd/node.ts";
import * as z from "../../src/index.ts";

const { arange, empty, float32, float64, int16, int32, int64, int8, ones, tensor, uint8, zeros } = z;
const leaf = (): z.Tensor => tensor([1, 2], { requiresGrad: true });
const strides = (t: z.Tensor): number[] => [...(t.stride() as readonly number[])];
const bytes = (t: z.Tensor): number => t.untypedStorage().nbytes();

test("what may be a gradient", () => {
  const refused: [unknown, string][] = [
    ["a", "assigned grad expected to be a Tensor or None but got grad of type"],
    [zeros([2], { dtype: float64 }), "attempting to assign a gradient with dtype 'double' to a tensor with grad_dtype"],
    [zeros([3]), "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'"],
    [zeros([2], { device: "meta" }), "attempting to assign a gradient with device type 'meta' to a tensor with"],
  ];
  for (const [grad, message] of refused) {
    const x = leaf();
    expect(() => Object.assign(x, { grad })).toThrow(message);
    expect(x.grad).toBeNull();
  }
  const x = leaf();
  expect(() => Object.assign(x, { grad: x })).toThrow("can't assign Variable as its own grad");
  x.grad = ones([2]);
  expect(String(x.grad)).toBe("tensor([1., 1.])");
  Object.assign(x, { grad: undefined });
  expect(x.grad).toBeNull();
});

test("who may want a gradient", () => {
  expect(() => leaf().mul(2).requiresGrad_(false)).toThrow("you can only change requiresGrad flags of leaf variables");
  expect(() => zeros([2], { dtype: int32 }).requiresGrad_()).toThrow("floating point dtype can require gradients");
  expect(() => Object.assign(leaf(), { data: zeros([2], { dtype: int32 }) })).toThrow(
    "must be floating point or complex",
  );
  const x = leaf();
  x.requiresGrad = false;
  expect(x.requiresGrad).toBe(false);
  x.requiresGrad = true;
  expect(x.requiresGrad).toBe(true);
});

test("edges of a node, and its text", () => {
  const y = leaf()
    .mul(2)
    .add(ones([2]));
  const { nextFunctions } = y.gradFn as unknown as Node;
  const edges = nextFunctions.map(([node, i]) => `${node?.name} ${i}`);
  expect(edges).toEqual(["MulBackward0 0", "undefined 0"]);
  const start = nextFunctions[0]?.[0]?.nextFunctions[0]?.[0];
  expect(start?.name).toBe("AccumulateGrad");
  expect(Bun.inspect(y.gradFn)).toBe("<AddBackward0 object>");
});

test("a graph of numbers runs back twice, one that saved tensors does not", () => {
  const twice = (f: (x: z.Tensor) => z.Tensor): string => {
    const x = leaf();
    const y = f(x).sum();
    y.backward();
    try {
      y.backward();
    } catch (e) {
      return (e as Error).message.split(" (")[0] as string;
    }
    return String(x.grad);
  };
  const freed = "Trying to backward through the graph a second time";
  expect(twice((x) => x.remainder(2.5))).toBe("tensor([2., 2.])");
  expect(twice((x) => x.fmod(2.5))).toBe("tensor([2., 2.])");
  expect(twice((x) => z.rsub(x, 2.5))).toBe("tensor([-2., -2.])");
  expect(twice((x) => x.sub(2.5))).toBe("tensor([2., 2.])");
  expect(twice((x) => x.lerp(ones([2]), 0.5))).toBe("tensor([1., 1.])");
  for (const f of [(x: z.Tensor) => x.mul(2.5), (x: z.Tensor) => x.div(2.5), (x: z.Tensor) => x.pow(2.5)]) {
    expect(twice(f)).toBe(freed);
  }
});

test("random numbers with bounds over recorded ones", () => {
  const fills: [string, (y: z.Tensor) => unknown][] = [
    ["RandomBackward1", (y) => y.random_(5)],
    ["RandomBackward0", (y) => y.random_(1, 5)],
    ["BernoulliBackward1", (y) => y.bernoulli_(tensor([0.5, 0.5]))],
  ];
  for (const [name, fill] of fills) {
    const x = leaf();
    const y = x.clone();
    fill(y);
    expect(y.gradFn?.name).toBe(name);
    y.sum().backward();
    expect(String(x.grad)).toBe("tensor([0., 0.])");
  }
  const x = leaf();
  const p = tensor([0.5, 0.5], { requiresGrad: true });
  x.clone().bernoulli_(p).sum().backward();
  expect(`${x.grad} ${p.grad}`).toBe("tensor([0., 0.]) tensor([0., 0.])");
});

test("seeds", () => {
  const seeded = (seed: number | bigint): number | bigint => {
    const g = new z.Generator();
    g.manualSeed(seed);
    return g.initialSeed();
  };
  expect(seeded(2n ** 64n - 1n)).toBe(2n ** 64n - 1n);
  expect(seeded(-(2n ** 63n))).toBe(2n ** 63n);
  expect(seeded(-1)).toBe(2n ** 64n - 1n);
  expect(seeded(2 ** 53)).toBe(2n ** 53n);
  expect(seeded(2 ** 53 - 1)).toBe(2 ** 53 - 1);
  expect(() => seeded(2n ** 64n)).toThrow("Overflow when unpacking long long");
  expect(() => seeded(-(2n ** 63n) - 1n)).toThrow("Overflow when unpacking long long");
  expect(() => seeded(1.5)).toThrow("manualSeed expected a long, but got float");
  expect(() => seeded("a" as never)).toThrow("manualSeed expected a long, but got string");
  const g = new z.Generator();
  g.manualSeed(5);
  const copy = g.cloneState();
  expect(z.rand([2], { generator: g }).equal(z.rand([2], { generator: copy }))).toBe(true);
});

test("layouts of new tensors", () => {
  expect(strides(empty([2, 3, 4, 5], { memoryFormat: z.channelsLast }))).toEqual([60, 1, 15, 3]);
  expect(strides(empty([2, 3, 4, 5, 6], { memoryFormat: z.channelsLast3d }))).toEqual([360, 1, 90, 18, 3]);
  expect(strides(empty([2, 3], { memoryFormat: z.contiguousFormat }))).toEqual([3, 1]);
  expect(() => empty([2], { memoryFormat: z.preserveFormat })).toThrow("unsupported memory format Preserve");
  const out = empty([0]);
  empty([1, 2, 2, 2], { memoryFormat: z.channelsLast, out });
  expect(strides(out)).toEqual([8, 1, 4, 2]);
  const sizes: [number[], number[], number][] = [
    [[2, 3], [1, 2], 24],
    [[2, 3], [3, 5], 56],
    [[0, 3], [3, 5], 0],
    [[2, 2], [0, 1], 8],
    [[], [], 4],
  ];
  for (const [shape, steps, size] of sizes) {
    const t = z.emptyStrided(shape, steps);
    expect([strides(t), bytes(t)]).toEqual([steps, size]);
  }
  expect(() => z.emptyStrided([2], [-1])).toThrow("overflowed with sizes=[2] and strides=[-1]");
  expect(strides(z.emptyPermuted([2, 3, 4], [2, 0, 1]))).toEqual([3, 1, 6]);
  for (const d of [3, -1]) {
    const message = `Dimension out of range (expected to be between 0 and 2, but got ${d} at index 2)`;
    expect(() => z.emptyPermuted([2, 3, 4], [2, 0, d])).toThrow(message);
  }
  expect(() => z.emptyPermuted([2, 3, 4], [2, 0, 0])).toThrow("Duplicate dim not allowed");
});

test("to another device or like another tensor", () => {
  const m = zeros([2, 3], { dtype: float64 }).t().to("meta");
  expect([m.dtype, m.isMeta, strides(m), bytes(m), m.storageOffset()]).toEqual([float64, true, [1, 3], 48, 0]);
  expect(bytes(zeros([2, 3]).to("meta", float64))).toBe(48);
  expect(() => zeros([2], { device: "meta" }).to("cpu")).toThrow("Cannot copy out of meta tensor; no data!");
  expect(zeros([2]).to(zeros([1], { dtype: int32 })).dtype).toBe(int32);
  const a = zeros([2]);
  expect(a.to(a)).toBe(a);
  expect(a.to(a, { copy: true })).not.toBe(a);
  expect(a.to(float32, { copy: true })).not.toBe(a);
});

test("what set_ takes", () => {
  const six = arange(6).to(float32);
  const whole = empty([0]).set_(six.untypedStorage());
  expect([[...whole.shape], strides(whole)]).toEqual([[6], [1]]);
  expect(empty([0]).set_(six.untypedStorage(), 1, [2, 2], [2, 1]).tolist()).toEqual([
    [1, 2],
    [3, 4],
  ]);
  const part = empty([0]).set_(six.narrow(0, 2, 3));
  expect([part.storageOffset(), part.tolist()]).toEqual([2, [2, 3, 4]]);
  const none = ones([2]).set_();
  expect([[...none.shape], strides(none), none.storageOffset(), bytes(none)]).toEqual([[0], [1], 0, 0]);
  const grown = ones([2]);
  grown.set_(grown.untypedStorage(), 0, [4], [1]);
  expect(bytes(grown)).toBe(16);
  expect(() => grown.set_("a" as never, 0, [1], [1])).toThrow("argument 'source' must be a Tensor or a storage");
});

test("values from lists", () => {
  const set = (dtype: z.DType, values: unknown[]): string => {
    const t = zeros([2], { dtype });
    t.setAt([[0, 1]], values as never);
    return String(t);
  };
  expect(set(float32, [1.5, 2])).toBe("tensor([1.5000, 2.0000])");
  expect(set(z.complex64, [new z.Complex(1, 2), 3])).toBe("tensor([1.+2.j, 3.+0.j])");
  const wide = zeros([2], { dtype: int64 });
  wide.setAt([[0, 1]], [2n ** 60n + 1n, 3] as never);
  expect(wide.at(0).bigint()).toBe(2n ** 60n + 1n);
});

test("bounds that a dtype does not hold", () => {
  const clamp = (dtype: z.DType, low: number | null, high: number | null): number[] =>
    tensor([1, 5, 100]).to(dtype).clamp(low, high).tolist() as number[];
  const outside: [z.DType, number, number][] = [
    [uint8, -1, 256],
    [int8, -129, 128],
    [int16, -32769, 32768],
    [int32, -(2 ** 31) - 1, 2 ** 31],
  ];
  for (const [dtype, low, high] of outside) {
    for (const [a, b] of [
      [low, high],
      [low, null],
      [null, high],
    ] as const) {
      expect(clamp(dtype, a, b)).toEqual([1, 5, 100]);
    }
    expect(() => clamp(dtype, high, null)).toThrow(/^Clamp min value \S+ is outside the representable range of/);
    expect(() => clamp(dtype, null, low)).toThrow(/^Clamp max value \S+ is outside the representable range of/);
    expect(clamp(dtype, low + 1, high - 1)).toEqual([1, 5, 100]);
  }
});

test("what linear adds", () => {
  const { linear } = z.nn.functional;
  const [x, w] = [ones([2, 3]), ones([4, 3])];
  expect(linear(x, w, arange(8).to(float32).view([2, 4])).tolist()).toEqual([
    [3, 4, 5, 6],
    [7, 8, 9, 10],
  ]);
  expect(linear(x.t().contiguous().t(), w, tensor([1, 2, 3, 4])).tolist()).toEqual([
    [4, 5, 6, 7],
    [4, 5, 6, 7],
  ]);
  expect(linear(x, w, tensor(2)).tolist()).toEqual([
    [5, 5, 5, 5],
    [5, 5, 5, 5],
  ]);
});

test("versions of what isclose gives", () => {
  const version = (dtype: z.DType, tol: number, equalNan: boolean): number =>
    z.isclose(ones([2], { dtype }), ones([2], { dtype }), { rtol: tol, atol: 0, equalNan }).version;
  const cases: [z.DType, number, boolean, number][] = [
    [float32, 1e-5, false, 1],
    [float32, 1e-5, true, 2],
    [float32, 0, false, 0],
    [float32, 0, true, 1],
    [int32, 1e-5, false, 1],
    [int32, 1e-5, true, 1],
    [int32, 0, true, 0],
    [z.complex64, 1e-5, true, 2],
    [z.bool, 1e-5, false, 1],
  ];
  for (const [dtype, tol, nan, wanted] of cases)
    expect([dtype, tol, nan, version(dtype, tol, nan)]).toEqual([dtype, tol, nan, wanted]);
  expect(z.isclose(zeros([2], { device: "meta" }), zeros([2], { device: "meta" })).version).toBe(1);
});

test("masked_scatter_ reads a source that it writes to, one element after another", () => {
  const mask = tensor([true, false, true, false]);
  const a = tensor([0, 1, 2, 3]).to(float32);
  expect(a.maskedScatter_(mask, a).tolist()).toEqual([0, 1, 1, 3]);
  const b = arange(6).to(float32);
  b.narrow(0, 0, 4).maskedScatter_(mask, b.narrow(0, 1, 4));
  expect(b.tolist()).toEqual([1, 1, 2, 3, 4, 5]);
  const c = arange(4).to(float32);
  expect(c.maskedScatter_(tensor([false, true, true, true]), c).tolist()).toEqual([0, 0, 0, 0]);
  const n = 100_000;
  const long = arange(n).to(float32);
  const all = ones([n], { dtype: z.bool });
  all.at(0).fill_(false);
  expect(long.maskedScatter_(all, long).sum().item()).toBe(0);
});

test("a product that was written to is seen", () => {
  for (const dim of [null, 0]) {
    const y = tensor([1, 2, 3], { requiresGrad: true }).mul(1);
    const product = dim === null ? y.prod() : y.prod(dim);
    const twice = product.mul(2);
    product.gt_(1.5);
    expect(() => twice.backward()).toThrow(
      `[torch.FloatTensor []], which is output 0 of ${dim === null ? "Prod" : "Prod1"}, is at`,
    );
  }
});

/** For each pair of dtypes the digit of the one that they promote to; - where there is none. */
const PROMOTED = [
  "0123456789ab---", // bool
  "1133456789ab---", // uint8
  "2323456789ab---", // int8
  "3333456789ab---", // int16
  "4444456789ab---", // int32
  "5555556789ab---", // int64
  "6666666889ab666", // float16
  "7777778789ab777", // bfloat16
  "8888888889ab888", // float32
  "9999999999bb999", // float64
  "aaaaaaaaabab---", // complex64
  "bbbbbbbbbbbb---", // complex128
  "------6789--c--", // uint16
  "------6789---d-", // uint32
  "------6789----e", // uint64
];
const NAMES =
  "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 uint16 uint32 uint64".split(
    " ",
  );

test("what two dtypes promote to", () => {
  const dtypes = NAMES.map((name) => (z as unknown as Record<string, z.DType>)[name] as z.DType);
  const digit = (a: z.DType, b: z.DType): string => {
    try {
      return dtypes.indexOf(z.promoteTypes(a, b)).toString(15);
    } catch {
      return "-";
    }
  };
  expect(dtypes.map((a) => dtypes.map((b) => digit(a, b)).join(""))).toEqual(PROMOTED);
});

test("integers beyond 62 bits, and many dimensions", () => {
  const far = arange(2 ** 62, 2 ** 62 + 4096, 1024);
  expect([0, 1, 2, 3].map((i) => far.at(i).bigint())).toEqual([0n, 1n, 2n, 3n].map((i) => 2n ** 62n + 1024n * i));
  const low = arange(-(2 ** 63), -(2 ** 63) + 4096, 2048);
  expect(low.at(0).bigint()).toBe(-(2n ** 63n));
  const flat = (rank: number): z.Tensor => ones([1]).view(new Array(rank).fill(1) as number[]);
  expect(
    flat(64)
      .sum(new Array(64).fill(0).map((_, d) => d))
      .item(),
  ).toBe(1);
  expect(flat(32).tile([2]).numel()).toBe(2);
});
