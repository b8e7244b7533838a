// Which native call a pointwise operator makes. Calls of plain tensors pass addresses and a count, without the frame:
// results would be right without it, only several times as slow.
import { expect, test } from "bun:test";
import * as K from "../../generated/kernels.ts";
import type { Kernel } from "../../src/dispatch/kernel.ts";
import * as z from "../../src/index.ts";

const { cpu, float16, float32, float64, int32, int64, ones, tensor, zeros } = z;
const NATIVE = [float32, float64, int32, int64];

/** The calls of a kernel during some work: "frame", or "plain" for addresses and a count. */
function waysOf(kernel: Kernel, work: () => void): string[] {
  const ways: string[] = [];
  const { fast } = kernel;
  Object.assign(kernel, {
    run: (...args: Parameters<Kernel["run"]>) => {
      ways.push("frame");
      return Object.getPrototypeOf(kernel).run.apply(kernel, args);
    },
    fast: (...args: number[]) => {
      ways.push("plain");
      return fast?.(...args);
    },
  });
  try {
    work();
  } finally {
    Object.assign(kernel, { fast });
    Reflect.deleteProperty(kernel, "run");
  }
  return ways;
}

test("plain tensors of one shape and dtype are passed as addresses", () => {
  for (const dtype of NATIVE) {
    const [a, b] = [ones([2, 3], { dtype }), ones([2, 3], { dtype })];
    expect(waysOf(K.binary_add, () => void a.add(b))).toEqual(["plain"]);
    expect(waysOf(K.binary_add, () => void a.add_(b))).toEqual(["plain"]);
    expect(waysOf(K.binary_lt, () => void a.lt(b))).toEqual(["plain"]);
    expect(waysOf(K.unary_neg, () => void a.neg())).toEqual(["plain"]);
    expect(waysOf(K.unary_neg, () => void a.neg_())).toEqual(["plain"]);
    expect(waysOf(K.binary_add, () => void a.t().add(b.t()))).toEqual(["frame"]);
    expect(waysOf(K.binary_lt, () => void a.lt_(b))).toEqual(["frame"]);
  }
  const mask = ones([2, 3], { dtype: z.bool });
  expect(waysOf(K.binary_logical_and, () => void mask.logicalAnd(mask.clone()))).toEqual(["plain"]);
  expect(waysOf(K.binary_add, () => expect(mask.add(1).dtype).toBe(int64))).toEqual(["frame"]);
  expect(waysOf(K.binary_add, () => void ones(3, { dtype: float16 }).add(ones(3, { dtype: float16 })))).toEqual([
    "frame",
  ]);
});

test("so are a tensor and a number that does not change its dtype", () => {
  for (const dtype of NATIVE) {
    const a = ones([2, 3], { dtype });
    expect(waysOf(K.binary_add, () => void a.add(2))).toEqual(["plain"]);
    expect(waysOf(K.binary_add, () => void a.add_(2))).toEqual(["plain"]);
    expect(waysOf(K.binary_add, () => void z.add(a, 2, { out: a }))).toEqual(["plain"]);
    expect(waysOf(K.binary_lt, () => void a.lt(2))).toEqual(["plain"]);
    expect(waysOf(K.binary_add, () => void a.t().add(2))).toEqual(["frame"]);
    expect(waysOf(K.binary_add, () => void a.add(0.5))).toEqual([dtype.isFloatingPoint ? "plain" : "frame"]);
    expect(waysOf(K.binary_lt, () => void a.lt_(2))).toEqual(["frame"]);
  }
});

test("and a tensor and a single element of its dtype", () => {
  for (const dtype of NATIVE) {
    const [a, one] = [ones([2, 3], { dtype }), tensor([3], { dtype })];
    const two = tensor([[2]], { dtype });
    for (const x of [one, two, tensor(3, { dtype })]) {
      expect(waysOf(K.binary_sub, () => expect(a.sub(x).tolist()).toEqual(a.sub(x.item()).tolist()))[0]).toBe("plain");
      expect(waysOf(K.binary_sub, () => void x.sub(a))).toEqual(["plain"]);
    }
    expect(waysOf(K.binary_sub, () => void a.sub(tensor([[[2]]], { dtype })))).toEqual(["frame"]);
    expect(waysOf(K.binary_sub, () => void zeros([0], { dtype }).sub(one))).toEqual([]);
  }
});

test("an out of the result's shape and dtype is written directly", () => {
  for (const dtype of NATIVE) {
    const [a, b] = [ones([2, 3], { dtype }), ones([2, 3], { dtype })];
    const written = (out: z.Tensor) => waysOf(K.binary_sub, () => void z.sub(a, b, { out }));
    for (const out of [zeros([2, 3], { dtype }), a, b]) expect(written(out)).toEqual(["plain"]);
    for (const out of [zeros([0], { dtype }), zeros([3, 2], { dtype }).t(), zeros([2, 3], { dtype: z.complex128 })]) {
      expect(written(out)).toEqual(["frame"]);
    }
  }
  const base = zeros(9);
  const parts = [base.narrow(0, 0, 3), base.narrow(0, 3, 3), base.narrow(0, 6, 3)] as const;
  parts[1].fill_(2);
  z.add(parts[0], parts[1], { out: parts[2] });
  expect(base.tolist()).toEqual([0, 0, 0, 2, 2, 2, 2, 2, 2]);
  for (const [a, b] of [
    [base.narrow(0, 0, 3), ones(3)],
    [ones(3), base.narrow(0, 0, 3)],
  ] as const) {
    expect(() => z.add(a, b, { out: base.narrow(0, 1, 3) })).toThrow("refer to a single memory location");
  }
});

test("an out of another dtype takes no memory for a result beside it, unless short floats are rounded first", () => {
  const taken = (work: () => void): number => {
    cpu.resetPeakMemoryStats();
    const before = cpu.memoryAllocated();
    work();
    return cpu.maxMemoryAllocated() - before;
  };
  const [x, y] = [ones(4096), ones(4096)];
  const out = zeros(4096, { dtype: float64 });
  expect(taken(() => void z.add(x, y, { out }))).toBe(0);
  const half = ones(4096, { dtype: float16 });
  const same = zeros(4096, { dtype: float16 });
  expect(taken(() => void z.add(half, half, { out: same }))).toBe(0);
  expect(taken(() => void z.add(half, half, { out }))).toBe(8192);
});

test("one element of a negated view is negated when it is read", () => {
  const one = tensor([new z.Complex(1, 2)]).conj().imag;
  expect(one.isNeg()).toBe(true);
  expect(one.add(one).tolist()).toEqual([-4]);
  expect(one.add(1).tolist()).toEqual([-1]);
  expect(one.neg().tolist()).toEqual([2]);
  expect(ones(3).add(one).tolist()).toEqual([-1, -1, -1]);
});

test("a single element on the cpu beside a tensor of another device", () => {
  expect(tensor(1).add(zeros(3, { device: "meta" })).device.type).toBe("meta");
  expect(zeros(3, { device: "meta" }).add(tensor(1)).device.type).toBe("meta");
});
