// Products by NVIDIA's library, a made-up one here: in which form it is asked, and what happens without it.
import { beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { buildStandin } from "../../scripts/standin.ts";
import { findZig, root, toolEnv } from "../../scripts/toolchain.mjs";
import { evaluate, scratch } from "../ffi/child.ts";
import { emulated } from "./standin-driver.ts";

const library = join(scratch, "libfakecublas.so");
const env: Record<string, string> = { ZENSOR_LIBCUBLAS: library };

beforeAll(() => {
  if (!emulated) return;
  env.ZENSOR_LIBCUDA = buildStandin();
  const flags = ["build-lib", "-dynamic", "-lc", "-ODebug", "-fstrip", "--name", "fakecublas", `-femit-bin=${library}`];
  const words = [...flags, join(root, "test", "cuda", "cublas", "fake.zig")];
  const made = spawnSync(findZig() ?? "zig", words, { cwd: scratch, env: toolEnv(), encoding: "utf8" });
  if (made.status !== 0) throw new Error(`the library does not build:\n${made.stderr}`);
}, 240_000);

/** Products of all kinds: how many are right, how many the library made, how many it refused. */
const PRODUCTS = `
  const { dlopen } = await import("bun:ffi");
  const count = { args: [], returns: "f64" };
  const fake = dlopen(${JSON.stringify(library)}, {
    zsFakeProducts: count, zsFakeRefused: count, zsFakeFast: count, zsFakeFail: { args: [], returns: "void" },
    zsFakeBiased: count, zsFakeObjects: count,
  }).symbols;
  const g = new z.Generator().manualSeed(4);
  const number = (dtype, ...shape) => {
    const wide = dtype.startsWith("complex") || dtype === "float64" ? dtype : "float32";
    return z.randn(shape, { generator: g, dtype: wide }).to(dtype);
  };
  const first = (t) => t.select(0, 0);
  const row = (t) => first(first(t));
  const layouts = [(t) => t, (t) => t.mT.contiguous().mT, (t) => z.cat([t, t], -1).narrow(-1, 0, t.shape.at(-1))];
  const run = () => {
    let right = 0;
    const check = (dtype, made, wanted) => {
      const bound = dtype === "bfloat16" ? 0.1 : dtype === "float16" ? 0.02 : 1e-4;
      if (z.allclose(made.cpu(), wanted, { rtol: bound, atol: bound })) right++;
    };
    for (const dtype of ["float32", "float64", "bfloat16", "float16", "complex64", "complex128"]) {
      for (const left of layouts) for (const right of layouts) {
        const [a, b] = [number(dtype, 34, 50), number(dtype, 50, 37)];
        check(dtype, left(a.to("cuda")).mm(right(b.to("cuda"))), a.mm(b));
      }
      const [a, b, c] = [number(dtype, 3, 34, 50), number(dtype, 50, 37), number(dtype, 3, 34, 37)];
      const [x, y, w] = [a, b, c].map((t) => t.to("cuda"));
      const each = b.expand(3, 50, 37);
      check(dtype, x.bmm(y.expand(3, 50, 37)), a.bmm(each));
      const factors = { beta: 2, alpha: 3 };
      check(dtype, z.baddbmm(w, x, y.expand(3, 50, 37), factors), z.baddbmm(c, a, each, factors));
      check(dtype, z.addmm(row(w), first(x), y, factors), z.addmm(row(c), first(a), b, factors));
      check(dtype, w.clone().baddbmm_(x, y.expand(3, 50, 37), factors), z.baddbmm(c, a, each, factors));
      const out = z.zeros(37, 34, { dtype, device: "cuda" }).t();
      z.mm(first(x), y, { out });
      check(dtype, out, first(a).mm(b));
    }
    return right;
  };`;
const EACH = 6 * (9 + 5);

describe.if(emulated)("NVIDIA's library of matrix products", () => {
  test("makes products of floats and complex numbers in every layout that it knows", () => {
    const code = `${PRODUCTS}
      const right = run();
      console.log(JSON.stringify([right, fake.zsFakeProducts(), fake.zsFakeRefused()]))`;
    expect(evaluate(code, env)).toEqual([EACH, EACH, 0]);
  }, 60_000);

  test("may round single precision to tf32 where that is allowed, and nothing else", () => {
    const code = `${PRODUCTS}
      run();
      const before = fake.zsFakeFast();
      z.setFloat32MatmulPrecision("high");
      const right = run();
      console.log(JSON.stringify([before, right, fake.zsFakeProducts(), fake.zsFakeRefused(), fake.zsFakeFast()]))`;
    expect(evaluate(code, env)).toEqual([0, EACH, 2 * EACH, 0, EACH / 3]);
  }, 60_000);

  /** Products with a bias: which are right, and what each part of the library made, refused and kept. */
  const BIASED = `
    const results = [];
    for (const dtype of ["float32", "float64", "bfloat16", "float16", "complex64"]) {
      const [x, w, bias] = [number(dtype, 34, 50), number(dtype, 37, 50), number(dtype, 37)];
      const [a, b, c] = [x, w, bias].map((t) => t.to("cuda"));
      const bound = dtype === "bfloat16" ? 0.1 : dtype === "float16" ? 0.02 : 1e-4;
      const close = (made, wanted) => z.allclose(made.cpu(), wanted, { rtol: bound, atol: bound });
      results.push(close(z.nn.functional.linear(a, b, c), z.nn.functional.linear(x, w, bias)));
      results.push(close(z.addmm(c, a, b.t().contiguous(), { alpha: 2 }), z.addmm(bias, x, w.t(), { alpha: 2 })));
      // These have no row to add, or add something else.
      const wide = z.zeros(34, 37, { dtype }).to("cuda");
      results.push(close(z.addmm(c, a, b.t(), { beta: 3 }), z.addmm(bias, x, w.t(), { beta: 3 })));
      results.push(close(z.addmm(wide, a, b.t()), x.mm(w.t())));
      const out = z.zeros(37, 34, { dtype, device: "cuda" }).t();
      z.addmm(c, a, b.t(), { out });
      results.push(close(out, z.addmm(bias, x, w.t())));
    }
    const counts = [fake.zsFakeBiased(), fake.zsFakeProducts(), fake.zsFakeRefused(), fake.zsFakeObjects()];
    console.log(JSON.stringify([results.every((x) => x), results.length, ...counts]));`;

  test("adds the bias of a product in the same pass, where it is a row of real numbers", () => {
    expect(evaluate(`${PRODUCTS} ${BIASED}`, env)).toEqual([true, 25, 8, 17, 0, 0]);
  }, 60_000);

  test("that fails at that has written nothing", () => {
    // Eight that were to have the row, and all 25 products of the other part.
    expect(evaluate(`${PRODUCTS} fake.zsFakeFail(); ${BIASED}`, env)).toEqual([true, 25, 0, 0, 33, 0]);
  }, 60_000);

  test("is not asked for small products, integers, and strides that it does not know", () => {
    const code = `${PRODUCTS}
      const x = number("float32", 40, 40).to("cuda");
      const n = z.randint(0, 9, [40, 40], { generator: g });
      const apart = z.stack([x, x], -1).select(-1, 1);
      const right = [
        z.equal(n.to("cuda").mm(n.to("cuda")).cpu(), n.mm(n)),
        z.allclose(apart.mm(x).cpu(), x.cpu().mm(x.cpu()), { atol: 1e-4 }),
        x.narrow(0, 0, 2).mm(x.narrow(1, 0, 2)).numel() === 4,
        z.addmm(x, x, x, { alpha: 0 }).cpu().sub(x.cpu()).abs().max().item() === 0,
      ];
      console.log(JSON.stringify([right, fake.zsFakeProducts(), fake.zsFakeRefused()]))`;
    expect(evaluate(code, env)).toEqual([[true, true, true, true], 0, 0]);
  }, 60_000);

  test("leaves to the own kernels what it fails at", () => {
    const code = `${PRODUCTS}
      fake.zsFakeFail();
      const right = run();
      console.log(JSON.stringify([right, fake.zsFakeProducts(), fake.zsFakeRefused()]))`;
    expect(evaluate(code, env)).toEqual([EACH, 0, EACH]);
  }, 60_000);

  test("is not looked for when it is refused", () => {
    const code = `${PRODUCTS}
      const right = run();
      console.log(JSON.stringify([right, fake.zsFakeProducts(), fake.zsFakeRefused()]))`;
    expect(evaluate(code, { ...env, ZENSOR_CUDA_LIBS: "off" })).toEqual([EACH, 0, 0]);
  }, 60_000);
});
