// Products of doubles by matrix units, which GPUs have from capability 8.0 on, emulated by the stand-in driver. Factors
// are whole numbers of many digits: sums are exact in any order.
import { describe, expect, test } from "bun:test";
import { isWhole } from "../campaign.ts";
import { evaluate } from "../ffi/child.ts";
import { available, driverLibrary, emulated } from "./standin-driver.ts";

const library: Record<string, string> = available ? { ZENSOR_LIBCUDA: driverLibrary() } : {};

/** Exact in doubles, far from it in float32. */
const begin = `
  const g = new z.Generator().manualSeed(9);
  const whole = (...shape) => z.randint(-2000000, 2000000, shape, { generator: g }).to("float64");
  const across = (t) => t.mT.contiguous().mT;
  const apart = (t) => z.stack([t, t], -1).select(-1, 1);
  const wrong = [];
  const compare = (name, made, wanted) => { if (!z.equal(made.cpu(), wanted)) wrong.push(name); };
`;

const run = (settings: string, body: string): unknown =>
  evaluate(`${begin} ${body} console.log(JSON.stringify(wrong));`, { ...library, ZENSOR_STANDIN: settings });

const CAPABILITIES = isWhole ? [80, 90] : [80];
const DEVICES = CAPABILITIES.map((capability) => `capability=${capability},version=12080,race_faults=1`);

describe.if(available).each(DEVICES)("products of doubles by matrix units, %s", (settings) => {
  test("of factors that lie in any direction, with and without gaps, and edges of all kinds", () => {
    const body = `
      // Batches, rows, columns, terms: tiles have 64 or 128 rows and columns, and take 16 terms at a time.
      for (const [batch, m, n, k] of [[1, 40, 24, 16], [2, 65, 66, 35], [9, 130, 131, 21], [34, 66, 80, 18]]) {
        const [a, b] = [whole(batch, m, k), whole(batch, k, n)];
        const wanted = a.bmm(b);
        const [l, r] = [a.to("cuda"), b.to("cuda")];
        const lefts = [l, across(l), apart(l), z.cat([l, l], 2).slice(2, 1, 1 + k)];
        lefts[3].copy_(l);
        const rights = [r, across(r), apart(r)];
        for (const [i, left] of lefts.entries()) for (const [j, right] of rights.entries()) {
          compare([batch, m, n, k, i, j].join(" "), left.bmm(right), wanted);
        }
        const one = b.select(0, 0).expand(batch, k, n);
        compare("expanded", l.bmm(r.select(0, 0).expand(batch, k, n)), a.bmm(one));
      }`;
    expect(run(settings, body)).toEqual([]);
  }, 120_000);

  test("with long sums, what is added, and results that lie otherwise", () => {
    const body = `
      const [long, wide] = [whole(70, 3001), whole(3001, 41)];
      compare("parts", long.to("cuda").mm(wide.to("cuda")), long.mm(wide));
      const [a, b] = [whole(130, 23), whole(23, 77)];
      const [product, l, r] = [a.mm(b), a.to("cuda"), b.to("cuda")];
      const [matrix, bias] = [whole(130, 77), whole(77)];
      const sum = z.addmm(matrix.to("cuda"), l, r, { alpha: 2, beta: -3 });
      compare("a matrix", sum, product.mul(2).sub(matrix.mul(3)));
      compare("a bias", z.addmm(bias.to("cuda"), l, r), product.add(bias));
      const into = z.zeros([77, 130], { dtype: "float64", device: "cuda" });
      z.mm(l, r, { out: into.t() });
      compare("columns", into.t(), product);
      const gaps = apart(z.zeros([130, 77], { dtype: "float64", device: "cuda" }));
      z.mm(l, r, { out: gaps });
      compare("gaps", gaps, product);`;
    expect(run(settings, body)).toEqual([]);
  }, 120_000);
});

/** The kernel of a product, which the stand-in names when its launch fails as it was asked to. */
const kernel = (settings: string, size: number) => {
  const body = `
    const [a, b] = [whole(size, 24), whole(24, size)].map((t) => t.to("cuda"));
    z.cuda.synchronize();
    control("fail_launch", 1);
    try { a.mm(b).cpu(); } catch {}
    wrong.push(/launch of (\\w+) fails/.exec(report())?.[1]);`;
  const driver = `const { control, report } = await import("${import.meta.dir}/standin-driver.ts");`;
  return run(settings, `${driver} const size = ${size}; ${body}`);
};

test.if(emulated)(
  "kernels for doubles are chosen by device, driver and size",
  () => {
    expect(kernel("capability=75,version=12080", 1000)).toEqual(["matmul_gemm_f64_large"]);
    expect(kernel("capability=80,version=12080", 1000)).toEqual(["tensor_core_float64_large"]);
    expect(kernel("capability=80,version=12080", 100)).toEqual(["tensor_core_float64_small"]);
    expect(kernel("capability=90,version=12080", 1000)).toEqual(["tensor_group_float64_large"]);
    expect(kernel("capability=90,version=11080", 1000)).toEqual(["tensor_core_float64_large"]);
    expect(kernel("capability=100,version=12080", 100)).toEqual(["tensor_core_float64_small"]);
  },
  120_000,
);
