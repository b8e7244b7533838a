// Pointwise operators on operands whose rows lie without gaps: broadcast rows and columns, parts of wider matrices.
// Several elements at once are read there; results have the CPU's bits. Emulated.
import { beforeAll, describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { evaluate } from "../ffi/child.ts";
import { available, counter, driverLibrary, emulated, start } from "./standin-driver.ts";

if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

beforeAll(() => {
  if (emulated) start();
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

const SHORT = ["bfloat16", "float16", "int16", "int8", "uint8", "bool"] as const;

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

  test.if(emulated)("cost less than elements one by one", () => {
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

  test.each(SHORT)("of %s, of which a thread takes several groups", (dtype) => {
    for (const n of [1, 3, 5, 1023, 1024, 1025, 1027, 2047, 2048, 2049, 3072, 5000, 9999]) {
      const [x, y] = [numbers(dtype as never, n), numbers(dtype as never, n)];
      const [a, b] = [x.to("cuda"), y.to("cuda")];
      const pairs: [z.Tensor, z.Tensor][] = [
        [dtype === "bool" ? a.logicalXor(b) : a.add(b), dtype === "bool" ? x.logicalXor(y) : x.add(y)],
        [a.lt(b), x.lt(y)],
        [z.where(a.ne(0), a, b), z.where(x.ne(0), x, y)],
        [a.clone(), x],
        [a.float().mul(b), x.float().mul(y)],
      ];
      for (const [i, [made, wanted]] of pairs.entries()) {
        expect([n, i, z.equal(made.cpu(), wanted)]).toEqual([n, i, true]);
      }
      // Nothing behind the end is written.
      const room = z.zeros(n + 40, { dtype, device: "cuda" });
      z.add(a, b, { out: room.narrow(0, 16, n) } as never);
      expect(room.narrow(0, 0, 16).ne(0).any().item()).toBe(false);
      expect(
        room
          .narrow(0, 16 + n, 24)
          .ne(0)
          .any()
          .item(),
      ).toBe(false);
    }
  });
});

describe.if(available)("copies whose sides are near along two dimensions", () => {
  test.each([...DTYPES, "int16"] as const)("of %s", (dtype) => {
    for (const shape of [
      [8, 8],
      [32, 32],
      [33, 70],
      [100, 9],
      [3, 65, 34],
      [2, 5, 40, 9],
    ]) {
      const x = numbers(dtype as never, ...shape);
      const a = x.to("cuda");
      const last = shape.length - 1;
      for (let d = 0; d < last; d++) {
        const [turned, there] = [x.transpose(d, last), a.transpose(d, last)];
        expect([shape, d, z.equal(there.contiguous().cpu(), turned.contiguous())]).toEqual([shape, d, true]);
        // Into a part of something larger, and from one.
        const out = z.zeros(...turned.shape.map((n) => n + 3), { dtype, device: "cuda" } as never);
        const part = turned.shape.reduce((t, n, k) => t.narrow(k, 2, n), out);
        part.copy_(there);
        expect(z.equal(part.cpu(), turned.contiguous())).toBe(true);
        expect(out.ne(0).sum().item()).toBe(x.ne(0).sum().item() as number);
        expect(z.equal(part.transpose(d, last).contiguous().cpu(), x)).toBe(true);
      }
    }
  });

  test.if(emulated)("take fewer steps of a warp than elements one by one", () => {
    const cost = (t: z.Tensor): number => {
      t.contiguous();
      z.cuda.synchronize();
      const before = counter("thread_instructions");
      t.contiguous();
      z.cuda.synchronize();
      return Number(counter("thread_instructions") - before) / t.numel();
    };
    const [turned, apart] = [z.zeros(128, 128, { device: "cuda" }).t(), z.zeros(256, 256, { device: "cuda" })];
    expect(cost(turned)).toBeLessThan(cost(apart.at("::2", "::2").t()));
  });
});

describe.if(available)("floats rounded to bfloat16", () => {
  // Newer devices have an instruction for that: see newer.zig.
  test.each([75, 80, 90])("on capability %i", (capability) => {
    const code = `
      const words = [];
      for (const upper of [0, 1, 0x7f7f, 0x7f80, 0x3f80, 0x3f81, 0x8000, 0xff80, 0xff7f, 0x0080, 0x7fbf])
        for (const lower of [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff]) words.push(((upper << 16) | lower) | 0);
      const x = z.tensor(words, { dtype: "int32" }).view("float32");
      const there = x.to("cuda").to("bfloat16").cpu();
      const here = x.to("bfloat16");
      const alike = z.eq(there.view("int16"), here.view("int16")).logicalOr(here.isnan().logicalAnd(there.isnan()));
      const doubled = x.to("cuda").to("bfloat16").add(there.to("cuda")).nanToNum();
      const sums = z.equal(doubled.cpu(), here.add(here).nanToNum());
      console.log(JSON.stringify([words.length, alike.all().item(), sums]));`;
    const driver = process.env.ZENSOR_LIBCUDA as string;
    const env = { ZENSOR_LIBCUDA: driver, ZENSOR_STANDIN: `capability=${capability}` };
    expect(evaluate(code, env)).toEqual([66, true, true]);
  });
});
