// Products of matrices on a device, emulated by the stand-in driver, beside the CPU's.
import { describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { evaluate } from "../ffi/child.ts";
import { LAYOUTS } from "./layouts.ts";
import { available, driverLibrary, emulated } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

type Name = "float32" | "float64" | "bfloat16" | "float16" | "int8" | "uint8" | "int16" | "int32" | "int64" | Complex;
type Complex = "complex64" | "complex128";

const FLOATS: Name[] = ["float32", "float64", "bfloat16", "float16", "complex64", "complex128"];
const INTEGERS: Name[] = ["int8", "uint8", "int16", "int32", "int64"];

/** What sums of so many products of normal numbers may differ by: the order of additions is another one. */
function tolerance(dtype: Name, k: number): number {
  if (dtype === "float64" || dtype === "complex128") return 1e-13 * (k + 8);
  const rounding = dtype === "bfloat16" ? 2 ** -8 : dtype === "float16" ? 2 ** -11 : 0;
  return 2e-7 * (k + 8) + rounding * 4 * Math.sqrt(k + 1);
}

const generator = new z.Generator().manualSeed(11);

function numbers(dtype: Name, ...shape: number[]): z.Tensor {
  if (!INTEGERS.includes(dtype)) {
    const wide = dtype === "bfloat16" || dtype === "float16" ? "float32" : dtype;
    return z.randn(shape, { generator, dtype: wide }).to(dtype);
  }
  return z.randint(dtype === "uint8" ? 0 : -100, 100, shape, { generator }).to(dtype);
}

function same(dtype: Name, k: number, made: z.Tensor, wanted: z.Tensor): void {
  expect([made.isCuda, made.dtype, made.shape]).toEqual([true, wanted.dtype, wanted.shape]);
  if (INTEGERS.includes(dtype)) {
    expect(z.equal(made.cpu(), wanted)).toBe(true);
    return;
  }
  const bound = tolerance(dtype, k);
  const off = z.allclose(made.cpu(), wanted, { rtol: bound, atol: bound })
    ? 0
    : made.cpu().sub(wanted).abs().max().item();
  expect(off).toBe(0);
}

const on = (t: z.Tensor): z.Tensor => t.to("cuda");

describe.if(available)("products of matrices", () => {
  // Tiles have 16, 32, 64 or 128 rows and take 8 or 16 terms at a time.
  const EDGES = [1, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129];

  test.each(EDGES)("of %d rows and columns", (size) => {
    for (const [m, n, k] of [
      [size, 20, 9],
      [20, size, 8],
      [size, size + 1, 17],
      [5, 6, size],
    ] as const) {
      for (const dtype of ["float32", "float64", "int32"] as const) {
        const [a, b] = [numbers(dtype, m, k), numbers(dtype, k, n)];
        same(dtype, k, on(a).mm(on(b)), a.mm(b));
      }
    }
  });

  test.each([...FLOATS, ...INTEGERS])("of %s", (dtype) => {
    for (const [m, n, k] of [
      [33, 40, 50],
      [70, 3, 21],
    ] as const) {
      const [a, b, c] = [numbers(dtype, m, k), numbers(dtype, k, n), numbers(dtype, m, n)];
      same(dtype, k, on(a).mm(on(b)), a.mm(b));
      const factors = { alpha: 3, beta: -2 };
      same(dtype, 8 * k, z.addmm(on(c), on(a), on(b), factors), z.addmm(c, a, b, factors));
      const bias = c.select(0, 1);
      same(dtype, k, z.addmm(on(bias), on(a), on(b)), z.addmm(bias, a, b));
    }
  });

  test.each(Object.keys(LAYOUTS))("whose left factor lies in %s", (left) => {
    for (const right of Object.keys(LAYOUTS)) {
      for (const dtype of ["float32", "bfloat16", "complex64", "int8"] as const) {
        const a = (LAYOUTS[left] as (t: z.Tensor) => z.Tensor)(numbers(dtype, 36, 28));
        const b = (LAYOUTS[right] as (t: z.Tensor) => z.Tensor)(numbers(dtype, 28, 44));
        const laid = [LAYOUTS[left]?.(on(a)), LAYOUTS[right]?.(on(b))] as [z.Tensor, z.Tensor];
        same(dtype, 28, laid[0].mm(laid[1]), a.mm(b));
      }
    }
  });

  test("into results of any layout", () => {
    for (const [name, lay] of Object.entries(LAYOUTS)) {
      const [a, b] = [numbers("float32", 20, 70), numbers("float32", 70, 36)];
      const out = lay(z.zeros(20, 36, { device: "cuda" }));
      z.mm(on(a), on(b), { out });
      expect([name, z.allclose(out.cpu(), a.mm(b), { rtol: 1e-5, atol: 1e-5 })]).toEqual([name, true]);
    }
  });

  test("in batches, also of one factor for all", () => {
    for (const dtype of ["float32", "float16", "int64", "complex128"] as const) {
      const [a, b, c] = [numbers(dtype, 5, 18, 33), numbers(dtype, 5, 33, 20), numbers(dtype, 5, 18, 20)];
      same(dtype, 33, on(a).bmm(on(b)), a.bmm(b));
      same(dtype, 33, on(a).bmm(on(b).select(0, 2).expand(5, 33, 20)), a.bmm(b.select(0, 2).expand(5, 33, 20)));
      const factors = { beta: 2, alpha: 1 };
      same(dtype, 99, z.baddbmm(on(c), on(a), on(b), factors), z.baddbmm(c, a, b, factors));
    }
  });

  // Large tiles are taken where there are as many as processors.
  test.each([...FLOATS, "int8" as const, "int64" as const])(
    "in large tiles, of %s",
    (dtype) => {
      const b = numbers(dtype, 19, 77);
      for (const [batch, m, n, k] of [
        [34, 70, 77, 19],
        [9, 130, 140, 21],
      ] as const) {
        const a = numbers(dtype, batch, m, k);
        const right = n === 77 ? b.expand(batch, k, n) : numbers(dtype, batch, k, n);
        const wanted = a.bmm(right);
        same(dtype, k, on(a).bmm(on(right)), wanted);
        const turned = [on(a).mT.contiguous().mT, on(right).mT.contiguous().mT] as const;
        same(dtype, k, turned[0].bmm(turned[1]), wanted);
        same(dtype, k, on(a).bmm(turned[1]), wanted);
        same(dtype, k, turned[0].bmm(on(right)), wanted);
      }
    },
    30_000,
  );

  test("of vectors", () => {
    for (const dtype of ["float32", "float64", "bfloat16", "int32", "complex64"] as const) {
      const [a, x] = [numbers(dtype, 70, 300), numbers(dtype, 300)];
      for (const lay of Object.values(LAYOUTS)) {
        same(dtype, 300, lay(on(a)).mv(on(x)), a.mv(x));
        same(
          dtype,
          70,
          on(x)
            .narrow(0, 5, 70)
            .matmul(lay(on(a))),
          x.narrow(0, 5, 70).matmul(a),
        );
      }
      same(dtype, 300, on(x).dot(on(x)), x.dot(x));
      const [y, factors] = [numbers(dtype, 70), { beta: 2, alpha: 3 }];
      same(dtype, 900, z.addmv(on(y), on(a), on(x), factors), z.addmv(y, a, x, factors));
      const [b, w] = [numbers(dtype, 4, 33, 65), numbers(dtype, 4, 65, 1)];
      same(dtype, 65, on(b).bmm(on(w)), b.bmm(w));
      same(dtype, 65, on(w).mT.bmm(on(b).mT), w.mT.bmm(b.mT));
    }
  }, 30_000);

  test("of long sums, which several blocks share, the same at each call", () => {
    for (const dtype of ["float32", "float64", "bfloat16", "int64", "complex64"] as const) {
      const [a, b, c] = [numbers(dtype, 9, 5003), numbers(dtype, 5003, 12), numbers(dtype, 9, 12)];
      const factors = { beta: 2, alpha: 3 };
      const made = z.addmm(on(c), on(a), on(b), factors);
      same(dtype, 3 * 5003, made, z.addmm(c, a, b, factors));
      expect(z.equal(made.cpu(), z.addmm(on(c), on(a), on(b), factors).cpu())).toBe(true);
    }
  });

  test("without terms or with alpha 0 are what they start from", () => {
    const c = numbers("float32", 3, 4);
    const empty = z.addmm(on(c), z.ones(3, 0, { device: "cuda" }), z.ones(0, 4, { device: "cuda" }), { beta: 2 });
    expect(z.equal(empty.cpu(), c.mul(2))).toBe(true);
    expect(
      z
        .ones(3, 0, { device: "cuda" })
        .mm(z.ones(0, 4, { device: "cuda" }))
        .cpu()
        .tolist(),
    ).toEqual(z.zeros(3, 4).tolist());
    const nan = z.full([3, 3], NaN, { device: "cuda" });
    const kept = z.addmm(on(c), nan, nan.narrow(1, 0, 1).expand(3, 4), { alpha: 0 });
    expect(z.equal(kept.cpu(), c)).toBe(true);
    // With beta 0 nothing is read from what lies there.
    const fresh = z.addmm(z.full([3, 4], NaN, { device: "cuda" }), on(c), z.eye(4).to("cuda"), { beta: 0 });
    expect(z.equal(fresh.cpu(), c)).toBe(true);
  });

  test("pass gradients on", () => {
    const grads = (["cpu", "cuda"] as const).map((device) => {
      const g = new z.Generator().manualSeed(3);
      const [w, x] = [z.randn(7, 5, { generator: g }), z.randn(4, 5, { generator: g })];
      const leaves = [w, x].map((t) => t.to(device).requiresGrad_());
      const y = z.nn.functional.linear(leaves[1] as z.Tensor, leaves[0] as z.Tensor, z.ones(7, { device }));
      y.backward(z.ones(4, 7, { device }));
      return leaves.map((t) => (t.grad as z.Tensor).cpu());
    });
    const [wanted, made] = grads as [z.Tensor[], z.Tensor[]];
    for (const [i, g] of made.entries()) expect(z.allclose(g, wanted[i] as z.Tensor)).toBe(true);
  });
});

describe.if(emulated)("products on other devices", () => {
  const code = `
    const g = new z.Generator().manualSeed(2);
    const off = [];
    for (const dtype of ["float32", "bfloat16", "float16"]) {
      for (const [batch, m, n, k] of [[1, 20, 40, 24], [34, 70, 72, 40], [1, 9, 17, 3000], [3, 33, 65, 19]]) {
        const a = z.randn(batch, m, k, { generator: g }).to(dtype);
        const b = z.randn(batch, k, n, { generator: g }).to(dtype);
        const wanted = a.float().bmm(b.float()).to(dtype).float();
        for (const left of [a.to("cuda"), a.to("cuda").mT.contiguous().mT]) {
          const made = left.bmm(b.to("cuda")).cpu().float();
          const bound = dtype === "float32" ? 1e-4 : dtype === "float16" ? 2e-3 : 2e-2;
          off.push(z.allclose(made, wanted, { rtol: bound, atol: bound * Math.sqrt(k) }));
        }
      }
    }
    console.log(JSON.stringify(off.every((x) => x) && off.length === 24))`;
  const standin = { ZENSOR_LIBCUDA: process.env.ZENSOR_LIBCUDA ?? "" };

  test("without matrix units for these dtypes", () => {
    expect(evaluate(code, { ...standin, ZENSOR_STANDIN: "capability=75" })).toBe(true);
  }, 60_000);

  test("need no other order of threads than their barriers give", () => {
    expect(evaluate(code, { ...standin, ZENSOR_STANDIN: "race_faults=1" })).toBe(true);
  }, 60_000);
});
