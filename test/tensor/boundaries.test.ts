// Where one case ends and the next begins, with torch's answers: views of other item sizes, strides of new dimensions,
// names of products, states of generators, numbers and arguments in error texts.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";

const { arange, float64, int16, int32, manualSeed, tensor, zeros } = z;

test("views of another item size", () => {
  const a = zeros([4]);
  const text = "view Float as Double (different element sizes)";
  const layout = (t: z.Tensor) => [[...t.shape], t.stride(), t.storageOffset()].map((x) => JSON.stringify(x)).join(" ");
  expect(layout(a.view(int16))).toBe("[8] [1] 0");
  expect(layout(a.view(float64))).toBe("[2] [1] 0");
  expect(layout(a.at(z.slice(2, null)).view(float64))).toBe("[1] [1] 1");
  expect(layout(zeros([3, 4]).at(z.slice(1, null)).view(float64))).toBe("[2,2] [2,1] 2");
  expect(layout(zeros([3, 4]).narrow(1, 0, 2).view(float64))).toBe("[3,1] [2,1] 0");
  expect(layout(tensor(1).view(int32))).toBe("[] [] 0");
  const refused: [() => z.Tensor, string][] = [
    [() => a.narrow(0, 0, 3).view(float64), `self.size(-1) must be divisible by 2 to ${text}, but got 3`],
    [() => a.narrow(0, 1, 2).view(float64), `self.storage_offset() must be divisible by 2 to ${text}, but got 1`],
    [() => tensor(1).view(float64), `self.dim() cannot be 0 to ${text}`],
    [
      () => a.at(z.slice(null, null, 2)).view(int16),
      "self.stride(-1) must be 1 to view Float as Short (different element sizes), but got 2",
    ],
    [() => zeros([2, 3]).narrow(1, 0, 2).view(float64), `self.stride(0) must be divisible by 2 to ${text}, but got 3`],
  ];
  for (const [f, message] of refused) expect(f).toThrow(message);
});

test("strides of dimensions that expand adds", () => {
  const x = arange(6).view([2, 3]);
  const cases: [z.Tensor, number[], number[]][] = [
    [x, [1, 2, 3], [6, 3, 1]],
    [x, [1, 1, 2, 3], [6, 6, 3, 1]],
    [x.t(), [1, 3, 2], [3, 1, 3]],
    [x.narrow(1, 0, 1), [1, 2, 4], [6, 3, 0]],
    [tensor(1), [1, 1], [0, 0]],
    [tensor(1), [2, 1], [0, 0]],
    [x.at(0), [1, 3], [3, 1]],
    [x.at(0), [1, 1, 3], [3, 3, 1]],
    [x.narrow(0, 0, 1).narrow(1, 0, 1), [1, 2, 2], [0, 0, 0]],
    [x.at(z.slice(null, null, 2)), [4, 1, 3], [0, 6, 1]],
    [x, [4, 1, 2, 3], [0, 6, 3, 1]],
  ];
  for (const [t, size, strides] of cases) expect([...(t.expand(size).stride() as number[])]).toEqual(strides);
});

test("products with a batch of one that needs a gradient", () => {
  const name = (a: number[], b: number[], both: [boolean, boolean]): string | undefined =>
    zeros(a, { requiresGrad: both[0] }).matmul(zeros(b, { requiresGrad: both[1] })).gradFn?.name;
  expect(name([1, 2, 3], [4, 3, 2], [true, false])).toBe("CloneBackward0");
  expect(name([1, 2, 3], [4, 3, 2], [false, true])).toBe("UnsafeViewBackward0");
  expect(name([1, 2, 3], [4, 3, 2], [true, true])).toBe("CloneBackward0");
  for (const [a, b] of [
    [
      [4, 2, 3],
      [1, 3, 2],
    ],
    [
      [1, 2, 3],
      [3, 2],
    ],
    [
      [1, 2, 3],
      [1, 3, 2],
    ],
    [
      [2, 2, 3],
      [2, 3, 2],
    ],
    [
      [1, 2, 3],
      [2, 1, 3, 2],
    ],
    [[3, 2, 3], [3]],
  ] as [number[], number[]][]) {
    for (const both of [
      [true, false],
      [false, true],
      [true, true],
    ] as [boolean, boolean][]) {
      expect(name(a, b, both)).toBe("UnsafeViewBackward0");
    }
  }
});

test("states of generators", () => {
  const g = new z.Generator();
  g.manualSeed(7);
  const state = g.getState();
  const first = z.rand([5], { generator: g });
  g.setState(state);
  expect(z.rand([5], { generator: g }).equal(first)).toBe(true);
  expect(() => g.setState(state.at(z.slice(1, null)))).toThrow(
    `Expected a CPUGeneratorImplState of size ${state.numel()} but found the input RNG state size to be ` +
      String(state.numel() - 1),
  );
  const spread = z.stack([state, state], 1).select(1, 1);
  expect(() => g.setState(spread)).toThrow("RNG state must be contiguous");
  g.setState(spread.contiguous());
  expect(z.rand([5], { generator: g }).equal(first)).toBe(true);
  manualSeed(0);
});

test("six digits of a number in a message", () => {
  const message = (p: number): string => {
    try {
      zeros([2]).geometric_(p);
    } catch (e) {
      return (e as Error).message.split("=")[1] as string;
    }
    return "none";
  };
  const cases: [number, string][] = [
    [1.23456789, "1.23457"],
    [123456, "123456"],
    [1234567, "1.23457e+06"],
    [1e6, "1e+06"],
    [-0.0001, "-0.0001"],
    [-0.00001, "-1e-05"],
    [999999.5, "1e+06"],
    [0, "0"],
    [1, "1"],
    [Number.POSITIVE_INFINITY, "inf"],
    [Number.NaN, "nan"],
  ];
  for (const [p, text] of cases) expect(message(p)).toBe(text);
});

test("known and unknown options", () => {
  const x = zeros([2, 2]) as unknown as Record<string, (...args: unknown[]) => unknown>;
  expect(() => x.sum?.({ nothing: 1 })).toThrow("sum() got an unexpected keyword argument 'nothing'");
  expect(() => x.sum?.({ dim: "a" })).toThrow("sum() received an invalid combination of arguments");
  expect(() => x.sum?.(0, { keepdim: "a" })).toThrow("sum() received an invalid combination of arguments");
});

test("what an operator is told to expect", () => {
  const x = zeros([2, 2]) as unknown as Record<string, (...args: unknown[]) => unknown>;
  expect(() => x.add?.(1, 2, 3, 4)).toThrow("add() takes a trailing options object, not int");
  expect(() => x.sum?.(0, { keepdim: "a" })).toThrow(
    "sum() received an invalid combination of arguments - got (Tensor, int, keepdim=str), but expected one of:\n" +
      " * (self: Tensor, { dtype?: DType | null; out?: Tensor })\n" +
      " * (self: Tensor, dim?: number | number[] | null, keepdim?: boolean, { dtype?: DType | null; out?: Tensor })",
  );
  expect(() => x.clamp?.("a", "b")).toThrow(
    "clamp() received an invalid combination of arguments - got (Tensor, str, str), but expected one of:\n" +
      " * (self: Tensor, min?: Tensor | null, max?: Tensor | null, { out?: Tensor })\n" +
      " * (self: Tensor, min?: number | bigint | boolean | Complex | null, " +
      "max?: number | bigint | boolean | Complex | null, { out?: Tensor })",
  );
});

test("values that do not fit an index", () => {
  const x = zeros([4]);
  const at = tensor([0, 1, 2]).long();
  expect(() => x.indexPut_([at], zeros([2]))).toThrow(
    "shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of shape [3]",
  );
  expect(() => x.indexPut_([at], zeros([1, 3]))).toThrow(
    "shape mismatch: value tensor of shape [1, 3] cannot be broadcast to indexing result of shape [3]",
  );
  expect(x.indexPut_([at], zeros([1]).add(2)).tolist()).toEqual([2, 2, 2, 0]);
});

test("joining what is skipped", () => {
  const none = zeros([0]);
  for (const dim of [0, 1, 5, -1, -2]) expect([...z.cat([none, none], dim).shape]).toEqual([0]);
  expect([...z.cat([none, zeros([2, 3])], 1).shape]).toEqual([2, 3]);
  expect(() => z.cat([none, zeros([2, 3])], 2)).toThrow("Dimension out of range");
});

test("random numbers over recorded ones have zeros for gradients", () => {
  const fills: [string, ...unknown[]][] = [
    ["cauchy_"],
    ["exponential_"],
    ["geometric_", 0.5],
    ["logNormal_"],
    ["normal_"],
    ["uniform_"],
    ["random_"],
    ["bernoulli_", 0.5],
    ["zero_"],
    ["fill_", 3],
  ];
  for (const [name, ...args] of fills) {
    const x = tensor([1, 2], { requiresGrad: true });
    const y = x.clone() as unknown as Record<string, (...a: unknown[]) => z.Tensor>;
    (y[name] as (...a: unknown[]) => z.Tensor)(...args)
      .sum()
      .backward();
    expect(`${name} ${x.grad}`).toBe(`${name} tensor([0., 0.])`);
  }
});

test("lerp into another dtype, and its layout", () => {
  for (const weight of [0.5, tensor(0.5)]) {
    const into = (dtype: z.DType): z.Tensor =>
      z.lerp(zeros([3]), z.ones([3]), weight as number, { out: zeros([3], { dtype }) });
    expect(String(into(float64))).toBe("tensor([0.5000, 0.5000, 0.5000], dtype=torch.float64)");
    expect(String(into(z.float16))).toBe("tensor([0.5000, 0.5000, 0.5000], dtype=torch.float16)");
    expect(() => into(int32)).toThrow("result type Float can't be cast to the desired output type Int");
  }
  const open = zeros([3, 1]).asStrided([3, 1], [1, 7]);
  const results = [open.lerp(zeros([3, 1]), 0.5), open.add(1), open.pow(2), open.clamp(0, 1)];
  expect(results.map((t) => t.stride())).toEqual([
    [1, 1],
    [1, 3],
    [1, 1],
    [1, 1],
  ] as never);
});

test("a value without bytes, of another dtype", () => {
  const x = zeros([3], { device: "meta" });
  const mask = zeros([3], { dtype: z.bool, device: "meta" });
  const r = x.maskedFill(mask, zeros([], { dtype: float64, device: "meta" }));
  expect([r.dtype.name, r.isMeta, ...r.shape]).toEqual(["float32", true, 3]);
});

test("pairs that are complex numbers", () => {
  const of = (size: number[], strides: number[], offset = 0): z.Tensor =>
    z.viewAsComplex(zeros([40]).asStrided(size, strides, offset));
  expect(of([3, 2], [4, 1]).stride()).toEqual([2] as never);
  expect(of([1, 2], [3, 1]).stride()).toEqual([1] as never);
  expect(of([3, 4, 2], [2, 6, 1]).stride()).toEqual([1, 3] as never);
  expect(() => of([3, 2], [3, 1])).toThrow("Tensor must have a stride divisible by 2 for all but last dimension");
  expect(() => of([3, 2], [2, 1], 1)).toThrow("Tensor must have a storage_offset divisible by 2");
  expect(() => of([3, 2], [2, 2])).toThrow("Tensor must have a last dimension with stride 1");
});

test("bounds of uniform numbers", () => {
  const { float16, float32, bfloat16 } = z;
  const cases: [z.DType, number, string | null][] = [
    [bfloat16, 3.38e38, null],
    [bfloat16, 3.395e38, "c10::BFloat16"],
    [float32, 3.4e38, null],
    [float32, 3.41e38, "float"],
    [float16, 65504, null],
    [float16, 65505, "c10::Half"],
  ];
  for (const [dtype, high, name] of cases) {
    const draw = () => zeros([2], { dtype }).uniform_(0, high);
    if (name === null) expect([...draw().shape]).toEqual([2]);
    else expect(draw).toThrow(`to is out of bounds for ${name}`);
  }
});
