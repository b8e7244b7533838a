// Draws whose bits are PyTorch's on CUDA: distributions in its sequence of operations, dropout in its order of words.
import { beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import * as z from "../../src/index.ts";
import { available, driverLibrary } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

const cuda = { device: "cuda" } as const;
const REAL = ["float32", "float64", "float16", "bfloat16"] as const;
const values = (t: z.Tensor): number[] => t.cpu().to("float64").flatten().tolist() as number[];

/** What the stand-in's 34 processors run at the same time. */
const THREADS = 34 * 2048;

/** Of 4000 elements as doubles, the start of their SHA-256. */
function hash(t: z.Tensor): string {
  const bytes = new Uint8Array(Float64Array.from(values(t)).buffer);
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
}

describe.if(available)("distributions on a device", () => {
  /**
   * Not from a GPU: kernels of CUDA's own generators and functions, compiled by NVIDIA's compiler, ran on the stand-in
   * for seed 7. The hardware's approximations are the stand-in's there and here, so that equal hashes mean the same
   * operations in the same order.
   */
  const WANTED = {
    normal: ["595fff84ee3708ce", "407e484262513c44", "efa0378f45533ced", "b3822d309ca7f935"],
    logNormal: ["cd79dfe21dce2398", "4bdc8475898db251", "1508e2f985bb38ce", "efacbede2cf00c41"],
    cauchy: ["6b220922019677db", "232cab3e18f9c9ef", "767b47015722213a", "d8f4bcc3df36e1a5"],
    exponential: ["e31b07cf4885cd48", "c62bda1d9ee2d1d7", "93624489894c5bfe", "1af9ca1d7c32da53"],
    geometric: ["dfc4c8ce4f30df5c", "6533c28817127b69", "dfc4c8ce4f30df5c", "dfc4c8ce4f30df5c"],
  } as const;
  const fills: Record<keyof typeof WANTED, (t: z.Tensor) => z.Tensor> = {
    normal: (t) => t.normal_(1.5, 2.5),
    logNormal: (t) => t.logNormal_(0.5, 1.25),
    cauchy: (t) => t.cauchy_(1, 2),
    exponential: (t) => t.exponential_(0.7),
    geometric: (t) => t.geometric_(0.1),
  };

  test.each(Object.keys(WANTED) as (keyof typeof WANTED)[])("%s has the bits of CUDA's code", (name) => {
    const made = REAL.map((dtype) => {
      z.manualSeed(7);
      return hash(fills[name](z.empty(4000, { ...cuda, dtype })));
    });
    expect(made).toEqual([...WANTED[name]]);
  });

  test("doubles overflow, underflow and keep their small numbers", () => {
    z.manualSeed(1);
    const wide = values(z.empty(2000, { ...cuda, dtype: "float64" }).logNormal_(-720, 600));
    z.manualSeed(1);
    const powers = values(z.empty(2000, { ...cuda, dtype: "float64" }).normal_(-720, 600));
    for (const [k, x] of wide.entries()) {
      const exact = Math.exp(powers[k] as number);
      if (exact === 0 || exact === Infinity) expect(x).toBe(exact);
      else expect(Math.abs(x - exact)).toBeLessThanOrEqual(exact * 1e-15 + 5e-324);
    }
    expect(wide).toContain(Infinity);
    expect(wide.some((x) => x > 0 && x < 2 ** -1022)).toBe(true);
  });
});

describe.if(available)("dropout on a device", () => {
  beforeEach(() => {
    z.manualSeed(0);
  });

  const drop = (x: z.Tensor, p = 0.5) => values(z.nn.functional.dropout(x, p));
  const kept = (x: z.Tensor) => drop(x).map((v): number => (v === 0 ? 0 : 1));
  /** The words of each thread's stream, as numbers up to 1: word `w` of thread `t` at w * THREADS + t. */
  const words = (count: number): number[] => {
    z.manualSeed(0);
    const made = values(z.rand(count * THREADS, cuda));
    z.manualSeed(0);
    return made;
  };
  /** What PyTorch keeps of `n` elements, of which a thread has `run` neighbours. */
  function wanted(drawn: readonly number[], n: number, run: number): number[] {
    const all = Math.min(THREADS, Math.ceil(n / 256) * 256);
    return Array.from({ length: n }, (_, i) => {
      const group = Math.floor(i / run);
      const turn = Math.floor(group / all);
      const word = run === 1 ? turn : run === 2 ? 4 * turn + (i % 2) : run * turn + (i % run);
      return (drawn[word * THREADS + (group % all)] as number) < 0.5 ? 1 : 0;
    });
  }

  test("scales what it keeps", () => {
    const made = drop(z.ones(4000, cuda), 0.25);
    const rest = made.filter((v) => v !== 0);
    for (const v of rest) expect(v).toBe(Math.fround(4 / 3));
    expect(Math.abs(rest.length / 4000 - 0.75)).toBeLessThan(0.04);
    // A product of 16 bits is rounded once.
    const x = z.full([100], 3, { ...cuda, dtype: "bfloat16" });
    expect(new Set(drop(x, 0.25))).toEqual(new Set([0, 4]));
  });

  test("gives each thread as many neighbours as 16 bytes hold and none is left over of", () => {
    const drawn = words(8);
    for (const [dtype, runs] of [
      ["float32", { 24: 4, 14: 2, 13: 1, 300: 4 }],
      ["float64", { 24: 2, 14: 2, 13: 1, 300: 2 }],
      ["float16", { 24: 8, 12: 4, 14: 2, 13: 1 }],
      ["bfloat16", { 24: 8, 12: 4, 14: 2, 13: 1, 4000: 8 }],
    ] as const) {
      for (const [n, run] of Object.entries(runs)) {
        z.manualSeed(0);
        const made = kept(z.ones(Number(n), { ...cuda, dtype }));
        expect([dtype, n, made]).toEqual([dtype, n, wanted(drawn, Number(n), run)]);
        const offset = Uint8Array.from(values(z.cuda.getRngState())).slice(8);
        expect(new BigUint64Array(offset.buffer)[0]).toBe(4n);
      }
    }
  });

  test("takes fewer neighbours at other addresses", () => {
    const drawn = words(8);
    for (const [dtype, skipped, run] of [
      ["float32", 1, 1],
      ["float32", 2, 2],
      ["float32", 4, 4],
      ["float64", 1, 1],
      ["float16", 1, 1],
      ["float16", 2, 2],
      ["bfloat16", 4, 4],
    ] as const) {
      z.manualSeed(0);
      const made = kept(z.ones(64, { ...cuda, dtype }).narrow(0, skipped, 48));
      expect([dtype, skipped, made]).toEqual([dtype, skipped, wanted(drawn, 48, run)]);
    }
  });

  test("draws again for a thread's next elements: two of four words for doubles", () => {
    const drawn = words(8);
    const n = 2 * THREADS + 1000;
    expect(kept(z.ones(n, { ...cuda, dtype: "float64" }))).toEqual(wanted(drawn, n, 2));
    z.manualSeed(0);
    const odd = 5 * THREADS + 3;
    expect(kept(z.ones(odd, { ...cuda, dtype: "float16" }))).toEqual(wanted(drawn, odd, 1));
  });

  test("counts elements as they lie, and single ones by their indices", () => {
    const drawn = words(8);
    expect(kept(z.ones(8, 6, cuda).t().contiguous())).toEqual(wanted(drawn, 48, 4));
    z.manualSeed(0);
    const turned = z.nn.functional.dropout(z.ones(8, 6, cuda).t(), 0.5);
    expect(turned.stride()).toEqual([1, 6]);
    expect(values(turned.t()).map((v) => v / 2)).toEqual(wanted(drawn, 48, 4));
    z.manualSeed(0);
    expect(kept(z.ones(7, 5, cuda).t())).toEqual(wanted(drawn, 35, 1));
    z.manualSeed(0);
    expect(kept(z.ones(6, 16, cuda).slice(1, 0, null, 2))).toEqual(wanted(drawn, 48, 1));
  });

  test("in place, it is drawn as everything else", () => {
    for (const dtype of REAL) {
      z.manualSeed(0);
      const x = z.ones(240, { ...cuda, dtype });
      z.nn.functional.dropout(x, 0.5, true, true);
      z.manualSeed(0);
      expect(values(x)).toEqual(values(z.empty(240, { ...cuda, dtype }).bernoulli_(0.5)).map((v) => 2 * v));
    }
  });

  test("under vmap, all examples are drawn at once, or one for all", () => {
    const drawn = words(8);
    const each = (randomness: "different" | "same") =>
      values(z.func.vmap((t: z.Tensor) => z.nn.functional.dropout(t, 0.5), { randomness })(z.ones(3, 8, cuda)));
    expect(each("different").map((v) => v / 2)).toEqual(wanted(drawn, 24, 4));
    const same = each("same");
    expect(same).toEqual([...same.slice(0, 8), ...same.slice(0, 8), ...same.slice(0, 8)]);
  });

  test("has the gradient of what it keeps", () => {
    const x = z.ones(64, { ...cuda, requiresGrad: true });
    const y = z.nn.functional.dropout(x, 0.25);
    y.sum().backward();
    expect(values(x.grad as z.Tensor)).toEqual(values(y.detach()));
  });
});
