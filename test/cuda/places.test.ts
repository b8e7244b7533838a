// Where operands lie on a device, and what they are read through: at the end of what the driver gave, at odd
// addresses, behind flags, in many dimensions.
import { describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { Storage } from "../../src/tensor/storage.ts";
import { makeStrided } from "../../src/tensor/tensor.ts";
import { available, both } from "./both.ts";

/** So many bytes fill segments of the driver's to the end. */
const WHOLE_SEGMENTS = 10 * 2 ** 20;

/** The last elements of such memory. */
function last(t: z.Tensor): z.Tensor {
  const whole = z.empty(WHOLE_SEGMENTS / t.itemsize, { dtype: t.dtype, device: t.device });
  return whole.at(`-${t.numel()}:`).copy_(t);
}

const WIDE = ["float64", "int64", "complex64", "complex128"] as const;
const some = (n: number, dtype: (typeof WIDE)[number]): z.Tensor => z.arange(1, n + 1).to(dtype);

describe.skipIf(!available)("at the end of a segment", () => {
  test.each(WIDE)("groups of %s elements are read to the last one", (dtype) => {
    for (const n of [1, 2, 3, 5, 6, 7, 10]) {
      const x = some(n, dtype);
      both((t) => t.add(1), [x], last);
      both((t) => t.clone(), [x], last);
      both((t) => t.eq(t), [x], last);
      both((t, u) => z.where(t.eq(1), t, u as z.Tensor), [x, x.neg()], last);
      const there = last(x.cuda());
      expect(z.equal(there, there.clone())).toBe(true);
    }
  });

  test("softmax reads no more than the last line", () => {
    const rounded = (t: z.Tensor): z.Tensor => t.mul(2 ** 20).round();
    for (const n of [2, 6, 10]) {
      both((t) => rounded(t.softmax(0)), [some(n, "float64")], last);
      both((t) => rounded(t.view(2, -1).logSoftmax(1)), [some(n, "float64")], last);
    }
    const lines = z.zeros([262_144, 6], { dtype: "float64", device: "cuda" });
    expect(lines.softmax(1).at(-1, -1).item()).toBeCloseTo(1 / 6, 12);
  });
});

test.skipIf(!available)("complex numbers of 16 bytes at a multiple of 8 are chosen and put", () => {
  // As in consolidated files whose tensors begin at multiples of 8.
  const on = (device: "cpu" | "cuda"): z.Tensor => {
    const keeper = z.zeros(13, { dtype: "float64", device });
    const storage = new Storage(keeper.dataPtr() + 8, 96, { keeper }, "borrowed", keeper.device);
    return makeStrided(storage, 0, [6], [1], z.complex128).copy_(some(6, "complex128"));
  };
  expect(on("cuda").dataPtr() % 16).toBe(8);
  const places = z.tensor([4, 1], { dtype: "int64" });
  const mask = z.tensor([true, false, true, true, false, true]);
  const results = (b: z.Tensor): z.Tensor[] => [
    b.indexSelect(0, places.to(b.device)),
    b.maskedSelect(mask.to(b.device)),
    b.at([[5, 0, 5]]),
    b.clone().maskedScatter_(mask.to(b.device), b),
    b.indexCopy(0, places.to(b.device), b.at(":2")),
    b.add(b),
  ];
  const wanted = results(on("cpu")).map(String);
  expect(results(on("cuda")).map((t) => String(t.cpu()))).toEqual(wanted);
});

describe.skipIf(!available)("through flags", () => {
  const numbers = (): z.Tensor => z.tensor([new z.Complex(1, 2), new z.Complex(3, -4)]);
  const i = new z.Complex(0, 1);
  const first = (t: z.Tensor): z.Tensor => z.tensor([0], { dtype: "int64", device: t.device });

  const writes: Record<string, (view: z.Tensor, other: z.Tensor) => unknown> = {
    add_: (v) => v.add_(i),
    mul_: (v, x) => v.mul_(x),
    copy_: (v, x) => v.copy_(x),
    "copy_ of itself": (v) => v.copy_(v.flip(0)),
    fill_: (v) => v.fill_(i),
    setAt: (v) => v.setAt(0, i),
    maskedFill_: (v) => v.maskedFill_(z.tensor([true, false], { device: v.device }), i),
    indexPut_: (v, x) => v.indexPut_([first(v)], x.at("1:")),
    scatter_: (v, x) => v.scatter_(0, first(v), x),
    addcmul_: (v, x) => v.addcmul_(x, x),
    "out of add": (v, x) => z.add(x, x, { out: v }),
    "out of cumsum": (v, x) => z.cumsum(x, 0, { out: v }),
    "out of mm": (v, x) => z.mm(x.view(1, 2), x.view(2, 1), { out: v.at(":1").view(1, 1) }),
    "the negated part": (v) => v.imag.mul_(3),
    "the negated part of a part": (v) => v.at("1:").imag.fill_(7),
  };

  test.each(Object.entries(writes))("%s is written as it will be read", (_, write) => {
    const results = (device: "cpu" | "cuda"): number[][] => {
      const base = numbers().to(device);
      write(base.conj(), numbers().to(device));
      return z.viewAsReal(base.cpu()).tolist() as number[][];
    };
    expect(results("cuda")).toEqual(results("cpu"));
  });

  test("results of reductions and random numbers are, too", () => {
    const negated = (device: "cpu" | "cuda"): z.Tensor => z.zeros(2, { dtype: "complex64", device }).conj().imag;
    for (const device of ["cpu", "cuda"] as const) {
      const out = negated(device);
      z.sum(z.ones([2, 3], { device }), 1, { out });
      expect(out.tolist()).toEqual([3, 3]);
      expect(negated(device).uniform_(1, 2).ge(1).all().item()).toBe(true);
    }
  });

  test("a number on the CPU is read beside a device's tensor", () => {
    both((t) => t.mul(z.tensor(new z.Complex(1, 2)).conj()), [numbers()]);
    both((t) => t.real.add(z.tensor(new z.Complex(1, 2)).conj().imag), [numbers()]);
  });
});

test.skipIf(!available)("random numbers fill more dimensions than a kernel takes", () => {
  const shape = new Array<number>(14).fill(2);
  const apart = z
    .empty([...shape.slice(0, 13), 4], { device: "cuda" })
    .at("...", "::2")
    .transpose(0, 13);
  const gaps = z.empty(new Array<number>(14).fill(3), { device: "cuda" }).at(...new Array<":2">(14).fill(":2"));
  z.cuda.manualSeed(5);
  gaps.uniform_();
  z.cuda.manualSeed(5);
  const dense = z.empty(shape, { device: "cuda" }).uniform_();
  expect(z.equal(gaps, dense)).toBe(true);
  expect(apart.uniform_().lt(1).all().item()).toBe(true);
});
