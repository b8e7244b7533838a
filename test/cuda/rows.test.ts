// Pointwise operators on operands whose rows lie without gaps: broadcast rows and columns, parts of wider matrices.
// Several elements at once are read there; results have the CPU's bits. Emulated.
import { beforeAll, describe, expect, test } from "bun:test";
import { buildStandin } from "../../scripts/standin.ts";
import * as z from "../../src/index.ts";
import { available, counter, start } from "./standin-driver.ts";

if (available) process.env.ZENSOR_LIBCUDA = buildStandin();

beforeAll(() => {
  if (available) start();
});

const generator = new z.Generator().manualSeed(3);
const DTYPES = ["float32", "bfloat16", "float64", "int64", "uint8", "complex64", "complex128", "bool"] as const;

const numbers = (dtype: (typeof DTYPES)[number], ...shape: number[]): z.Tensor => {
  if (dtype === "bool") return z.rand(shape, { generator }).gt(0.5);
  if (dtype.startsWith("complex")) return z.randn(shape, { generator, dtype });
  return z.randn(shape, { generator }).mul(20).abs().to(dtype);
};

/** Pairs of operands of some width: the second is broadcast, or lies otherwise. */
const PAIRS: Record<string, (x: z.Tensor, width: number) => [z.Tensor, z.Tensor]> = {
  "a row": (x, w) => [x.at(0).narrow(1, 0, w), x.at(1, 3).narrow(0, 4, w)],
  "a column": (x, w) => [x.at(0).narrow(1, 0, w), x.at(1).narrow(1, 5, 1)],
  "a row turned": (x, w) => [x.at(0, 2).narrow(0, 0, w), x.at(1).narrow(1, 4, w)],
  "parts of matrices": (x, w) => [x.at(0).narrow(1, 8, w), x.at(1).narrow(1, 4, w)],
  "parts that lie across": (x, w) => [x.at(0).narrow(1, 3, w), x.at(1).narrow(1, 1, w)],
  "rows that begin anywhere": (x, w) => {
    const other = x.flatten().narrow(0, 0, 920).view(2, 10, 46);
    return [other.at(0).narrow(1, 0, w), other.at(1).narrow(1, 0, w)];
  },
  planes: (x, w) => [x.narrow(2, 0, w), x.narrow(1, 2, 1).narrow(2, 0, w)],
  "elements of planes": (x, w) => [x.narrow(2, 0, w), x.narrow(0, 0, 1).narrow(2, 7, 1)],
  "every second row": (x, w) => [x.at(0, "::2").narrow(1, 4, w), x.at(1, "1::2").narrow(1, 0, w)],
};

/** Whole groups of four, and not. */
const WIDTHS = [36, 35, 4];

describe.if(available)("rows without gaps", () => {
  test.each(Object.keys(PAIRS))("beside %s", (name) => {
    for (const dtype of DTYPES) {
      const x = numbers(dtype, 2, 10, 48);
      const there = x.to("cuda");
      for (const width of WIDTHS) {
        const [a, b] = PAIRS[name]!(x, width);
        const [c, d] = PAIRS[name]!(there, width);
        const calls: ((a: z.Tensor, b: z.Tensor) => z.Tensor)[] = [
          (a, b) => (dtype === "bool" ? a.logicalXor(b) : a.mul(b)),
          (a, b) => a.eq(b),
          (a, b) => z.where(b.ne(0), a, b),
          (a, b) => b.to(dtype.startsWith("complex") ? "complex128" : "float32").add(a),
        ];
        for (const [i, call] of calls.entries()) {
          expect([dtype, width, i, z.equal(call(c, d).cpu(), call(a, b))]).toEqual([dtype, width, i, true]);
        }
      }
    }
  });

  test("written: the rest of the matrix stays", () => {
    for (const width of WIDTHS) {
      const results = (["cpu", "cuda"] as const).map((device) => {
        const g = new z.Generator().manualSeed(4);
        const x = z.randn(10, 48, { generator: g }).to(device);
        const y = z.randn(10, 1, { generator: g }).to(device);
        x.narrow(1, 8, width).mul_(y);
        x.at("::3").narrow(1, 4, width).neg_();
        return x.cpu();
      }) as [z.Tensor, z.Tensor];
      expect(z.equal(results[1], results[0])).toBe(true);
    }
  });

  test("cost less than elements one by one", () => {
    const x = z.randn(64, 400, { device: "cuda" });
    const each = (call: () => z.Tensor): number => {
      const before = counter("thread_instructions");
      const { length } = call().flatten().tolist() as number[];
      return Number(counter("thread_instructions") - before) / length;
    };
    const [whole, row, odd] = [x, x.at(0), x.narrow(1, 1, 397)].map((y) =>
      each(() => x.narrow(1, 0, y.size(-1)).add(y)),
    );
    expect(row as number).toBeLessThan(2 * (whole as number));
    expect(odd as number).toBeGreaterThan(3 * (row as number));
  });
});
