// Random numbers of a device, emulated by the stand-in driver: torch's streams on CUDA.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { evaluate } from "../ffi/child.ts";
import { DRAWING, type Launches, watchLaunches } from "./launched.ts";
import { available, driverLibrary, emulated } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

const cuda = { device: "cuda" } as const;
const values = (t: z.Tensor): number[] => t.cpu().to("float64").flatten().tolist() as number[];
/** As torch prints them. */
const shown = (t: z.Tensor): string[] => values(t).map((x) => x.toFixed(4));

/** What the stand-in's 34 processors run at the same time. */
const THREADS = 34 * 2048;

/** Seed and offset of the current device. */
const state = (): bigint[] => {
  const bytes = Uint8Array.from(values(z.cuda.getRngState()));
  return [...new BigUint64Array(bytes.buffer)];
};

describe.if(available)("random numbers on a device", () => {
  let watched: Launches;
  beforeAll(() => {
    watched = watchLaunches();
  });
  afterAll(() => watched.restore());
  beforeEach(() => {
    z.manualSeed(0);
  });

  test("are torch's for a seed", () => {
    expect(shown(z.rand(3, cuda))).toEqual(["0.3990", "0.5167", "0.0249"]);
    z.manualSeed(0);
    expect(shown(z.randn(3, cuda))).toEqual(["-0.9247", "-0.4253", "-2.6438"]);
  });

  test("come from the stream of each thread, four at a time", () => {
    const all = values(z.rand(2 * THREADS, cuda));
    expect(state()).toEqual([0n, 4n]);
    z.manualSeed(0);
    // A shorter tensor has as many threads as elements: the first word of each stream.
    const short = values(z.rand(1000, cuda));
    expect(all.slice(0, 1000)).toEqual(short);
    // The second words follow behind the first of all threads.
    z.manualSeed(0);
    const second = values(z.rand(THREADS + 5, cuda)).slice(THREADS);
    expect(all.slice(THREADS, THREADS + 5)).toEqual(second);
    expect(new Set(all.slice(0, 500)).size).toBeGreaterThan(490);
  });

  test("advance the offset by what a thread takes", () => {
    const taken = (f: () => unknown): bigint => {
      const before = state()[1] as bigint;
      f();
      return (state()[1] as bigint) - before;
    };
    expect(taken(() => z.rand(1, cuda))).toBe(4n);
    expect(taken(() => z.rand(4 * THREADS, cuda))).toBe(4n);
    expect(taken(() => z.rand(4 * THREADS + 1, cuda))).toBe(8n);
    // Doubles and long integers take two words each.
    expect(taken(() => z.rand(2 * THREADS, { ...cuda, dtype: "float64" }))).toBe(4n);
    expect(taken(() => z.rand(2 * THREADS + 1, { ...cuda, dtype: "float64" }))).toBe(8n);
    expect(taken(() => z.randint(0, 2 ** 40, [2 * THREADS + 1], cuda))).toBe(8n);
    expect(taken(() => z.randint(0, 2 ** 20, [2 * THREADS + 1], cuda))).toBe(4n);
    expect(taken(() => z.bernoulli(z.full([10], 0.5, cuda)))).toBe(12n);
    expect(taken(() => z.rand(0, cuda))).toBe(0n);
  });

  test("take a state from the CPU only, and from nobody else's bytes", () => {
    const onGpu = (g: z.Generator) => g.getState().cuda();
    const wrong = "RNG state must be a torch.ByteTensor";
    expect(() => z.setRngState(z.getRngState().cuda())).toThrow(wrong);
    for (const g of [new z.Generator(), new z.Generator("cuda")]) {
      expect(() => g.setState(onGpu(g))).toThrow(z.errors.TypeError);
      expect(() => g.setState(onGpu(g))).toThrow(wrong);
      const spread = z.stack([g.getState(), g.getState()], 1).select(1, 0);
      expect(() => g.setState(spread)).toThrow("RNG state must be contiguous");
    }
    expect(() => z.cuda.setRngState(z.cuda.getRngState().cuda())).toThrow(wrong);
    z.cuda.setRngState(z.stack([z.cuda.getRngState(), z.cuda.getRngState()], 1).select(1, 0));
  });

  test.if(emulated)("of the current device have its state unless another one is named", () => {
    const code = `
      z.cuda.manualSeedAll(3);
      const states = () => [0, 1].map((i) => z.cuda.getRngState(i).tolist()[0]);
      const first = z.cuda.device(1, () => {
        z.cuda.manualSeed(9);
        const own = z.cuda.getRngState().tolist()[0];
        z.cuda.setRngState(z.cuda.getRngState(0));
        return own;
      });
      const after = states();
      z.cuda.device(1, () => z.cuda.manualSeed(7));
      console.log(JSON.stringify([first, after, states()]))`;
    const env = { ZENSOR_LIBCUDA: driverLibrary(), ZENSOR_STANDIN: "devices=2" };
    expect(evaluate(code, env)).toEqual([9, [3, 3], [3, 7]]);
  });

  test("begin again with a state, and are others with another seed", () => {
    const saved = z.cuda.getRngState();
    const first = values(z.randn(50, cuda));
    const second = values(z.randn(50, cuda));
    expect(second).not.toEqual(first);
    z.cuda.setRngState(saved);
    expect(values(z.randn(50, cuda))).toEqual(first);
    expect(values(z.randn(50, cuda))).toEqual(second);
    z.cuda.manualSeed(1);
    expect(z.cuda.initialSeed()).toBe(1);
    expect(values(z.randn(50, cuda))).not.toEqual(first);
    z.cuda.manualSeedAll(0);
    expect(values(z.randn(50, cuda))).toEqual(first);
    // The device's stream is another one than the CPU's.
    z.manualSeed(5);
    const onCpu = values(z.rand(4));
    z.cuda.manualSeed(6);
    z.manualSeed(5);
    expect(values(z.rand(4))).toEqual(onCpu);
    expect(z.cuda.initialSeed()).toBe(5);
    z.cuda.seed();
    z.cuda.seedAll();
    expect(state()[1]).toBe(0n);
  });

  test("come from a generator of the device", () => {
    const g = new z.Generator("cuda").manualSeed(0);
    expect(shown(z.rand(3, { ...cuda, generator: g }))).toEqual(["0.3990", "0.5167", "0.0249"]);
    const copy = g.cloneState();
    expect(values(z.rand(9, { ...cuda, generator: copy }))).toEqual(values(z.rand(9, { ...cuda, generator: g })));
    expect([String(g.device), g.initialSeed(), g.getState().numel()]).toEqual(["cuda:0", 0, 16]);
    expect(() => z.rand(3, { ...cuda, generator: new z.Generator() })).toThrow(
      "Expected a 'cuda' device type for generator but found 'cpu'",
    );
    expect(() => z.rand(3, { generator: g })).toThrow("Expected a 'cpu' device type for generator but found 'cuda'");
    expect(() => g.setState(new z.Generator().getState())).toThrow("RNG state is wrong size");
  });

  test("have the moments of their distributions", () => {
    const n = 20000;
    const near = (t: z.Tensor, mean: number, deviation: number) => {
      const x = t.cpu().to("float64");
      const bound = (5 * deviation) / Math.sqrt(n);
      expect(Math.abs((x.mean().item() as number) - mean)).toBeLessThan(bound);
      expect(Math.abs((x.std().item() as number) / deviation - 1)).toBeLessThan(0.06);
    };
    for (const dtype of ["float32", "float64", "bfloat16", "float16"] as const) {
      const t = () => z.empty(n, { ...cuda, dtype });
      near(t().uniform_(-2, 4), 1, 6 / Math.sqrt(12));
      near(t().normal_(3, 2), 3, 2);
      near(t().exponential_(0.5), 2, 2);
      near(t().bernoulli_(0.25), 0.25, Math.sqrt(0.25 * 0.75));
      near(t().geometric_(0.4), 2.5, Math.sqrt(0.6) / 0.4);
      near(t().logNormal_(0, 0.25), Math.exp(1 / 32), Math.exp(1 / 32) * Math.sqrt(Math.expm1(1 / 16)));
    }
    near(z.randint(-50, 51, [n], cuda), 0, Math.sqrt((101 ** 2 - 1) / 12));
    near(z.empty(n, { ...cuda, dtype: "int8" }).random_(), 63.5, 128 / Math.sqrt(12));
    near(z.empty(n, { ...cuda, dtype: "int64" }).random_(-(2n ** 63n), null), -0.5, 2 ** 64 / Math.sqrt(12));
    near(z.bernoulli(z.full([n], 0.75, cuda)), 0.75, Math.sqrt(0.25 * 0.75));
    const quarters = z.empty(n, cuda).cauchy_(1, 2).cpu().sort()[0];
    expect(Math.abs((quarters.at(n / 2).item() as number) - 1)).toBeLessThan(0.15);
    expect(Math.abs((quarters.at((3 * n) / 4).item() as number) - 3)).toBeLessThan(0.3);
  });

  test("stay within their bounds", () => {
    const u = values(z.empty(5000, { ...cuda, dtype: "bfloat16" }).uniform_(0, 1));
    expect(Math.max(...u)).toBeLessThan(1);
    expect(Math.min(...u)).toBeGreaterThanOrEqual(0);
    const i = values(z.randint(2 ** 40, 2 ** 40 + 3, [500], cuda));
    expect([...new Set(i)].sort()).toEqual([2 ** 40, 2 ** 40 + 1, 2 ** 40 + 2]);
    expect(Math.min(...values(z.empty(5000, cuda).exponential_()))).toBeGreaterThan(0);
    expect(new Set(values(z.empty(200, { ...cuda, dtype: "bool" }).random_()))).toEqual(new Set([0, 1]));
  });

  test("are written in the order of memory", () => {
    const rows = z.empty(6, 7, cuda).normal_();
    z.manualSeed(0);
    const turned = z.empty(7, 6, cuda).t().normal_();
    expect(values(turned.t())).toEqual(values(rows).slice());
    z.manualSeed(0);
    const apart = z.zeros(6, 14, cuda).slice(1, 0, null, 2);
    apart.normal_();
    expect(values(apart)).toEqual(values(rows));
    z.manualSeed(0);
    const complex = z.randn(4, { ...cuda, dtype: "complex64" });
    z.manualSeed(0);
    const parts = values(z.randn(8, cuda)).map((x) => x / Math.SQRT2);
    const made = values(z.viewAsReal(complex));
    for (const [k, x] of made.entries()) expect(x).toBeCloseTo(parts[k] as number, 5);
  });

  test("draw by weight", () => {
    const weights = z.tensor([0, 1, 3, 0, 4], cuda);
    const many = values(z.multinomial(weights, 8000, true));
    const share = (k: number) => many.filter((x) => x === k).length / 8000;
    expect([share(0), share(3)]).toEqual([0, 0]);
    for (const [k, p] of [
      [1, 1 / 8],
      [2, 3 / 8],
      [4, 1 / 2],
    ] as const) {
      expect(Math.abs(share(k) - p)).toBeLessThan(0.03);
    }
    const rows = z.multinomial(z.ones(3, 600, cuda), 600).cpu();
    for (let r = 0; r < 3; r++) expect(new Set(values(rows.select(0, r))).size).toBe(600);
    expect(() => z.multinomial(z.tensor([1, -1, 2], cuda), 2, true)).toThrow("entry < 0");
    expect(() => z.multinomial(z.zeros(3, cuda), 2, true)).toThrow("sum of probabilities <= 0");
  });

  test("tell of probabilities that are none at the next wait", () => {
    for (const wrong of [1.5, -0.25, NaN]) {
      const p = z.full([3, 5], 0.5, cuda);
      p.select(0, 1).select(0, 3).fill_(wrong);
      const drawn = z.bernoulli(p);
      expect(() => z.cuda.synchronize()).toThrow("Expected p_in >= 0 && p_in <= 1");
      expect(values(drawn.select(0, 0)).every((x) => x === 0 || x === 1)).toBe(true);
    }
  });

  test("permute", () => {
    for (const n of [0, 1, 2, 50, 3000]) {
      const made = values(z.randperm(n, cuda));
      expect([...made].sort((a, b) => a - b)).toEqual([...Array(n).keys()]);
      if (n > 10) expect(made).not.toEqual([...Array(n).keys()]);
    }
    expect(z.randperm(5, { ...cuda, dtype: "float32" }).dtype).toBe(z.float32);
  });

  test("are looked at for every kernel that draws", () => {
    expect(DRAWING.filter((path) => !watched.launched.has(path))).toEqual([]);
  });
});

describe.if(available)("sequences on a device", () => {
  test("are the CPU's", () => {
    for (const dtype of ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64"] as const) {
      const sequences = (device: "cpu" | "cuda") => [
        z.arange(0, 100, 3, { dtype, device }),
        z.arange(20, -5, -7, { dtype: dtype === "uint8" ? "int16" : dtype, device }),
        z.linspace(1, 100, 23, { dtype, device }),
        z.logspace(0, 2, 3, { dtype, device }),
        z.arange(0, 6, { dtype, device, out: z.zeros(12, { dtype, device }).slice(0, 0, null, 2) }),
      ];
      const [wanted, made] = [sequences("cpu"), sequences("cuda")];
      for (const [k, t] of made.entries())
        expect([dtype, k, values(t)]).toEqual([dtype, k, values(wanted[k] as z.Tensor)]);
    }
    const complex = z.logspace(new z.Complex(0, 1), new z.Complex(1, 2), 4, { dtype: "complex64", device: "cuda" });
    const wanted = z.logspace(new z.Complex(0, 1), new z.Complex(1, 2), 4, { dtype: "complex64" });
    expect(z.allclose(complex.cpu(), wanted)).toBe(true);
  });
});
