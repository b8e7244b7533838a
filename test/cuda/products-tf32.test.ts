// Products of float32 matrices whose factors may be rounded to tf32, on a device emulated by the stand-in driver.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { evaluate } from "../ffi/child.ts";
import { LAYOUTS } from "./layouts.ts";
import { available, driverLibrary, emulated } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

const generator = new z.Generator().manualSeed(5);
const numbers = (...shape: number[]): z.Tensor => z.randn(shape, { generator });
const on = (t: z.Tensor): z.Tensor => t.to("cuda");

/** The nearest numbers with ten bits of a fraction, ties away from zero. */
function rounded(t: z.Tensor): z.Tensor {
  const bits = t.contiguous().view("int32").add(0x1000);
  return bits.bitwiseAnd(-0x2000).view("float32");
}

/** What a product of rounded factors is, but for the order of its additions. */
const wanted = (a: z.Tensor, b: z.Tensor): z.Tensor => rounded(a).double().matmul(rounded(b).double()).float();

function check(made: z.Tensor, a: z.Tensor, b: z.Tensor): void {
  expect([made.isCuda, made.dtype]).toEqual([true, z.float32]);
  const bound = 2e-7 * (a.size(-1) + 8);
  const close = (to: z.Tensor) => z.allclose(made.cpu(), to, { rtol: bound, atol: bound });
  // Few terms may be exact in both.
  expect([close(wanted(a, b)), close(a.matmul(b))]).toEqual([true, false]);
}

describe("the precision of float32 products", () => {
  afterEach(() => z.setFloat32MatmulPrecision("highest"));

  test("is the highest until it is set", () => {
    const seen = [z.getFloat32MatmulPrecision()];
    for (const word of ["high", "medium", "highest"] as const) {
      z.setFloat32MatmulPrecision(word);
      seen.push(z.getFloat32MatmulPrecision());
    }
    expect(seen).toEqual(["highest", "high", "medium", "highest"]);
  });

  test("is one of three words", () => {
    for (const word of ["HIGH", "", 1, null]) {
      expect(() => z.setFloat32MatmulPrecision(word as "high")).toThrow();
      expect(z.getFloat32MatmulPrecision()).toBe("highest");
    }
  });

  test("is that of all threads, and changes nothing on the CPU", async () => {
    const [a, b] = [numbers(40, 50), numbers(50, 30)];
    const before = a.mm(b);
    z.setFloat32MatmulPrecision("high");
    expect(z.equal(a.mm(b), before)).toBe(true);
    const source = JSON.stringify(Bun.resolveSync("../../src/index.ts", import.meta.dir));
    const code = `import { getFloat32MatmulPrecision } from ${source};
      postMessage(getFloat32MatmulPrecision())`;
    const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "application/javascript" })));
    const said = await new Promise((resolve, reject) => {
      worker.onmessage = (event) => resolve(event.data);
      worker.onerror = reject;
    });
    worker.terminate();
    expect(said).toBe("high");
  });
});

describe.if(available)("products in tf32", () => {
  beforeEach(() => z.setFloat32MatmulPrecision("high"));
  afterEach(() => z.setFloat32MatmulPrecision("highest"));

  test.each([7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129])("of %d rows, columns and terms", (size) => {
    for (const [m, n, k] of [
      [size, 20, 90],
      [20, size, 40],
      [size, size + 1, 17],
      [50, 60, size],
    ] as const) {
      const [a, b] = [numbers(m, k), numbers(k, n)];
      check(on(a).mm(on(b)), a, b);
    }
  });

  test.each(Object.keys(LAYOUTS))("whose left factor lies in %s", (left) => {
    for (const right of Object.keys(LAYOUTS)) {
      const [a, b] = [numbers(2, 36, 28), numbers(2, 28, 44)];
      check((LAYOUTS[left] as typeof on)(on(a)).bmm((LAYOUTS[right] as typeof on)(on(b))), a, b);
    }
  });

  // Large tiles are taken where there are as many as processors.
  test("in large tiles", () => {
    const [a, b] = [numbers(9, 130, 45), numbers(9, 45, 140)];
    const turned = [a, b].map((t) => on(t).mT.contiguous().mT) as [z.Tensor, z.Tensor];
    for (const left of [on(a), turned[0]]) for (const right of [on(b), turned[1]]) check(left.bmm(right), a, b);
  }, 30_000);

  test("of long sums, which several blocks share, the same at each call", () => {
    const [a, b] = [numbers(9, 5003), numbers(5003, 12)];
    const made = on(a).mm(on(b));
    check(made, a, b);
    expect(z.equal(made.cpu(), on(a).mm(on(b)).cpu())).toBe(true);
  });

  test("are scaled and added to what is there", () => {
    const [a, b, c] = [numbers(33, 50), numbers(50, 40), numbers(33, 40)];
    const made = z.addmm(on(c), on(a), on(b), { alpha: 3, beta: -2 });
    const exact = wanted(a, b).mul(3).add(c.mul(-2));
    expect(z.allclose(made.cpu(), exact, { rtol: 1e-5, atol: 1e-4 })).toBe(true);
  });

  test("keep infinities and numbers that are none, and round ties away from zero", () => {
    // Bits that a careless addition would carry into the sign.
    const nan = z.tensor([0x7fffffff, -1], { dtype: "int32" }).view("float32");
    const above = z.tensor([0x3f801000, -0x407ff000, 0x7f7fffff], { dtype: "int32" }).view("float32");
    const row = z.cat([nan, z.tensor([Infinity, -Infinity]), above]).view(7, 1);
    const made = on(row)
      .mm(z.ones(1, 2, { device: "cuda" }))
      .cpu()
      .select(1, 0)
      .tolist() as number[];
    expect(made).toEqual([NaN, NaN, Infinity, -Infinity, 1 + 2 ** -10, -1 - 2 ** -10, Infinity]);
  });

  test("pass gradients on that are products in tf32, too", () => {
    const [a, b, g] = [numbers(20, 30), numbers(30, 40), numbers(20, 40)];
    const [x, y] = [a, b].map((t) => on(t).requiresGrad_()) as [z.Tensor, z.Tensor];
    x.mm(y).backward(on(g));
    check(x.grad as z.Tensor, g, b.mT);
    check(y.grad as z.Tensor, a.mT, g);
  });

  test("are those of float32 factors only: vectors and other dtypes are what they were", () => {
    const [a, x] = [numbers(70, 300), numbers(300)];
    const double = [numbers(20, 30).double(), numbers(30, 20).double()] as const;
    const made = [on(a).mv(on(x)), on(double[0]).mm(on(double[1]))].map((t) => t.cpu());
    expect(z.allclose(made[0] as z.Tensor, a.mv(x), { rtol: 1e-5, atol: 1e-4 })).toBe(true);
    expect(z.allclose(made[1] as z.Tensor, double[0].mm(double[1]), { rtol: 1e-12, atol: 1e-12 })).toBe(true);
  });

  test.if(emulated)(
    "need matrix units, and no other order of threads than their barriers give",
    () => {
      const code = `
      z.setFloat32MatmulPrecision("high");
      const g = new z.Generator().manualSeed(2);
      const [a, b] = [z.randn(3, 33, 70, { generator: g }), z.randn(3, 70, 65, { generator: g })];
      const far = (x, y) => x.to("cuda").bmm(y.to("cuda")).cpu().sub(x.bmm(y)).abs().max().item() > 1e-4;
      console.log(JSON.stringify([far(a, b), far(b.mT.contiguous().mT.mT, a.mT)]))`;
      const run = (setting: string) =>
        evaluate(code, { ZENSOR_LIBCUDA: process.env.ZENSOR_LIBCUDA ?? "", ZENSOR_STANDIN: setting });
      expect(run("capability=75")).toEqual([false, false]);
      expect(run("race_faults=1")).toEqual([true, true]);
    },
    60_000,
  );
});
