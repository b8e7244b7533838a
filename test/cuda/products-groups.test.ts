// Products of 16-bit floats, and of float32 rounded to tf32, by groups of warps, as GPUs of capability 9.0 have them,
// emulated by the stand-in driver. Factors are small whole numbers: sums are exact in any order, and results rounded
// once.
import { describe, expect, test } from "bun:test";
import { isWhole } from "../campaign.ts";
import { evaluate } from "../ffi/child.ts";
import { available, driverLibrary, emulated } from "./standin-driver.ts";

const hopper: Record<string, string> = available
  ? { ZENSOR_LIBCUDA: driverLibrary(), ZENSOR_STANDIN: "capability=90,version=12000,race_faults=1" }
  : {};

/** Both 16-bit floats take one way but for the instruction. */
const DTYPES = JSON.stringify(isWhole ? ["bfloat16", "float16", "float32"] : ["bfloat16"]);

/** Small whole numbers, and the two products, of which one is made on the device. */
const begin = `
  const g = new z.Generator().manualSeed(7);
  const whole = (dtype, ...shape) => z.randint(-4, 5, shape, { generator: g }).to(dtype);
  const across = (t) => t.mT.contiguous().mT;
  const wrong = [];
  z.setFloat32MatmulPrecision("high");
  const compare = (name, made, wanted) => { if (!z.equal(made.cpu(), wanted)) wrong.push(name); };
`;

const run = (body: string, env: Record<string, string> = hopper): unknown =>
  evaluate(`${begin} ${body} console.log(JSON.stringify(wrong));`, env);

describe.if(available)("products by groups of warps", () => {
  test("of factors that lie in either direction, with edges of all kinds", () => {
    const body = `
      for (const dtype of ${DTYPES}) {
        // Batches, rows, columns, terms: tiles have 128 by 256, 128 or 64, and take 64 or 32 terms at a time.
        const wide = [[1, 264, 1544, 8], [17, 72, 136, 264], [17, 68, 132, 100]];
        const others = [[1, 264, 680, 72], [1, 264, 264, 584], [1, 392, 2056, 8], [17, 136, 200, 264]];
        for (const [batch, m, n, k] of dtype === "float16" ? wide : [...wide, ...others]) {
          if (m % 8 > 0 && dtype !== "float32") continue;
          const [a, b] = [whole(dtype, batch, m, k), whole(dtype, batch, k, n)];
          const wanted = a.float().bmm(b.float()).to(dtype);
          for (const [i, left] of [a, across(a)].entries()) for (const [j, right] of [b, across(b)].entries()) {
            compare([dtype, batch, m, n, k, i, j].join(" "), left.to("cuda").bmm(right.to("cuda")), wanted);
          }
        }
      }`;
    expect(run(body)).toEqual([]);
  }, 60_000);

  test("with long sums in parts, what is added, and results that lie otherwise", () => {
    const body = `
      for (const dtype of ${DTYPES}) {
        // Tiles of all sizes, and parts of a sum.
        const sizes = [[264, 1544, 328], [392, 2056, 328], [640, 520, 520], [640, 776, 776], [136, 200, 4104]];
        for (const [m, n, k] of sizes) {
          const [long, wide] = [whole(dtype, m, k), whole(dtype, k, n)];
          const wanted = long.float().mm(wide.float()).to(dtype);
          compare([dtype, m, n, k].join(" "), long.to("cuda").mm(wide.to("cuda")), wanted);
        }
        const [a, b] = [whole(dtype, 640, 24), whole(dtype, 24, 776)];
        const [product, l, r] = [a.float().mm(b.float()), a.to("cuda"), b.to("cuda")];
        const [matrix, bias] = [whole(dtype, 640, 776), whole(dtype, 776)];
        const factors = { alpha: 2, beta: -3 };
        const sum = z.addmm(matrix.to("cuda"), l, r, factors);
        compare("a matrix", sum, product.mul(2).sub(matrix.float().mul(3)).to(dtype));
        compare("a bias", z.addmm(bias.to("cuda"), l, r), product.add(bias.float()).to(dtype));
        const into = z.zeros([776, 640], { dtype, device: "cuda" });
        z.mm(l, r, { out: into.t() });
        compare("columns", into.t(), product.to(dtype));
        const apart = z.zeros([640, 776, 2], { dtype, device: "cuda" }).select(2, 1);
        z.mm(l, r, { out: apart });
        compare("gaps", apart, product.to(dtype));
        // Pieces of 16 bytes do not begin here: other tiles do it.
        const [left, right] = [a.slice(1, 1), b.slice(0, 1)];
        const made = l.slice(1, 1).mm(r.slice(0, 1));
        compare("no pieces", made, left.float().mm(right.float()).to(dtype));
      }`;
    expect(run(body)).toEqual([]);
  }, 60_000);

  test("in tf32 round factors to the nearest, and keep what is no number", () => {
    const body = `
      const rounded = (t) => t.contiguous().view("int32").add(0x1000).bitwiseAnd(-0x2000).view("float32");
      const [a, b] = [[640, 100], [100, 776]].map((shape) => z.randn(shape, { generator: g }));
      const wanted = rounded(a).double().mm(rounded(b).double()).float();
      const close = (made, to) => z.allclose(made.cpu(), to, { rtol: 2e-5, atol: 2e-5 });
      for (const [i, l] of [a, across(a)].entries()) for (const [j, r] of [b, across(b)].entries()) {
        const made = l.to("cuda").mm(r.to("cuda"));
        if (!close(made, wanted) || close(made, a.mm(b))) wrong.push(["rounded", i, j].join(" "));
      }
      const nan = z.tensor([0x7fffffff, -1], { dtype: "int32" }).view("float32");
      const above = z.tensor([0x3f801000, -0x407ff000, 0x7f7fffff], { dtype: "int32" }).view("float32");
      const rows = z.cat([nan, z.tensor([Infinity, -Infinity]), above]).view(7, 1);
      const left = z.zeros(640, 4);
      left.narrow(0, 0, 7).narrow(1, 0, 1).copy_(rows);
      const made = left.to("cuda").mm(z.eye(4, 776).add(z.zeros(4, 776)).to("cuda")).cpu().select(1, 0).narrow(0, 0, 7);
      const values = [NaN, NaN, Infinity, -Infinity, 1 + 2 ** -10, -1 - 2 ** -10, Infinity];
      if (!values.every((x, n) => Object.is(x, made.tolist()[n]))) wrong.push(String(made.tolist()));`;
    expect(run(body)).toEqual([]);
  }, 60_000);

  /** The kernel of a product, which the stand-in names when its launch fails as it was asked to. */
  const kernel = (settings: string, dtype: string, turned = false, shape = [640, 64, 1024]) => {
    const [m, k, n] = shape;
    const body = `
      const [a, b] = [whole("${dtype}", ${m}, ${k}), whole("${dtype}", ${k}, ${n})].map((t) => t.to("cuda"));
      z.cuda.synchronize();
      const [left, right] = ${turned ? "[across(a), across(b)]" : "[a, b]"};
      control("fail_launch", 1);
      try { left.mm(right).cpu(); } catch {}
      wrong.push(/launch of (\\w+) fails/.exec(report())?.[1]);`;
    const made = run(`const { control, report } = await import("${import.meta.dir}/standin-driver.ts"); ${body}`, {
      ...hopper,
      ZENSOR_STANDIN: settings,
    });
    return (made as string[])[0];
  };

  test.if(emulated)(
    "are chosen by device, driver and dtype",
    () => {
      expect(kernel("capability=90,version=12000", "bfloat16")).toBe("tensor_group_bfloat16_128x256_io");
      expect(kernel("capability=90,version=12000", "float16", true)).toBe("tensor_group_float16_128x256_oi");
      expect(kernel("capability=90,version=12000", "float32")).toBe("tensor_group_tf32_128x256_io");
      for (const settings of [
        "capability=89,version=12080",
        "capability=100,version=12080",
        "capability=90,version=11080",
      ]) {
        expect(kernel(settings, "bfloat16")).toBe("tensor_core_bfloat16_large");
        expect(kernel(settings, "float32")).toBe("tensor_core_tf32_large");
      }
    },
    60_000,
  );

  test.if(emulated)(
    "have tiles of the size that is done first",
    () => {
      // Of 34 processors.
      const of = (...shape: number[]) => kernel("capability=90,version=12000", "bfloat16", false, shape);
      expect(of(1024, 64, 1024)).toBe("tensor_group_bfloat16_128x256_io");
      expect(of(512, 64, 1024)).toBe("tensor_group_bfloat16_128x256_io");
      expect(of(512, 64, 512)).toBe("tensor_group_bfloat16_128x128_io");
      expect(of(256, 64, 256)).toBe("tensor_group_bfloat16_128x64_io");
      // Few results are worth it where their sums are long.
      expect(of(128, 64, 128)).toBe("tensor_core_bfloat16_small");
      expect(of(128, 4096, 128)).toBe("tensor_group_bfloat16_128x64_io");
      // Pieces of 16 bytes, and of tf32 whole ones.
      expect(of(512, 64, 510)).toBe("tensor_core_bfloat16_small");
      const tf32 = (...shape: number[]) => kernel("capability=90,version=12000", "float32", true, shape);
      expect(tf32(1024, 64, 1024)).toBe("tensor_group_tf32_128x256_oi");
      expect(tf32(512, 64, 512)).toBe("tensor_group_tf32_128x128_oi");
      expect(tf32(510, 64, 512)).toBe("tensor_core_tf32_small");
    },
    60_000,
  );
});
