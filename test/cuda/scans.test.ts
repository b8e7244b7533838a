// Running totals and extremes on a CUDA device, emulated by the stand-in driver, beside those of the CPU: lines around
// every length where threads, warps, tiles or parts begin to be used differently, in all layouts and dtypes.
import { describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { expectNoRaces } from "./both.ts";
import { available, driverLibrary } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

function numbers(shape: readonly number[], dtype: z.DType = z.float32): z.Tensor {
  const count = shape.reduce((a, b) => a * b, 1);
  const list = Array.from({ length: count }, (_, n) => ((n * 7919) % 10007) / 1000 - 5);
  const x = z.tensor(list, { dtype: z.float64 }).view(shape);
  return dtype.isComplex ? z.viewAsComplex(z.stack([x, x.flip(0)], -1)).to(dtype) : x.to(dtype);
}

type Scans = Readonly<Record<string, (x: z.Tensor, dim: number) => readonly z.Tensor[]>>;

const SUM: Scans = { cumsum: (x, dim) => [x.cumsum(dim)] };
const FLOATS: Scans = {
  ...SUM,
  // Products of signs stay exact however long they are.
  cumprod: (x, dim) => [x.sgn().cumprod(dim)],
  logcumsumexp: (x, dim) => [x.logcumsumexp(dim)],
};
const EXTREMES: Scans = { cummax: (x, dim) => [...x.cummax(dim)], cummin: (x, dim) => [...x.cummin(dim)] };
const ALL: Scans = { ...FLOATS, ...EXTREMES };

/** How results on the device differ from those on the CPU. */
function differences(scans: Scans, x: z.Tensor, dim: number, at: z.Tensor = x.to("cuda"), tolerance = 1e-5): string[] {
  const found: string[] = [];
  for (const [name, f] of Object.entries(scans)) {
    const made = f(at, dim);
    for (const [i, wanted] of f(x, dim).entries()) {
      const m = (made[i] as z.Tensor).cpu();
      const exact = !wanted.dtype.isFloatingPoint && !wanted.dtype.isComplex;
      const wide = wanted.dtype.isComplex ? z.complex128 : z.float64;
      const same = (): boolean =>
        z.allclose(wanted.to(wide), m.to(wide), { rtol: tolerance, atol: tolerance, equalNan: true });
      if (m.dtype === wanted.dtype && (exact ? z.equal(wanted, m) : same())) continue;
      found.push(`${name} ${i} of ${x.dtype} [${x.shape}] along ${dim}: ${m} instead of ${wanted}`.slice(0, 400));
    }
  }
  return found;
}

const LENGTHS = [1, 2, 3, 4, 5, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 1023, 1024, 1025];
/** Several tiles of a block, and several parts. */
const LONG = [2047, 2048, 2049, 4096, 4100, 8191, 8192, 8196, 16384, 20001, 70000];

describe.if(available)("lengths around every threshold", () => {
  test("of lines without gaps", () => {
    for (const n of LENGTHS) expect(differences(ALL, numbers([3, n]), 1)).toEqual([]);
    for (const n of LONG) expect(differences(ALL, numbers([2, n]), 1)).toEqual([]);
    for (const n of LONG) expect(differences(SUM, numbers([n], z.int64), 0)).toEqual([]);
  }, 120_000);

  test("of lines with gaps", () => {
    for (const n of [...LENGTHS, 2049, 4100, 20001]) {
      const wide = numbers([3, 2 * n + 1]);
      const of = (t: z.Tensor) => t.slice(1, 1, null, 2);
      expect(differences(ALL, of(wide), 1, of(wide.to("cuda")))).toEqual([]);
    }
  }, 120_000);

  test("of neighbouring lines", () => {
    for (const n of [...LENGTHS, 2049, 20001]) {
      for (const columns of n > 2000 ? [2, 3] : [2, 5, 33, 300]) {
        expect(differences(n > 300 && columns > 30 ? SUM : ALL, numbers([n, columns]), 0)).toEqual([]);
      }
    }
  }, 120_000);

  test("of none", () => {
    expect(differences(ALL, z.zeros(0, 3), 0)).toEqual([]);
    expect(differences(ALL, z.zeros(3, 0), 0)).toEqual([]);
    expect(differences(ALL, z.tensor(3), 0)).toEqual([]);
  });

  test("many lines", () => {
    expect(differences(ALL, numbers([3000, 9]), 1)).toEqual([]);
    expect(differences(ALL, numbers([9, 3000]), 0)).toEqual([]);
  }, 60_000);
});

describe.if(available)("layouts", () => {
  const whole = numbers([6, 7, 40]);
  test.each([
    ["transposed", (t: z.Tensor) => t.transpose(0, 2)],
    ["turned", (t: z.Tensor) => t.permute(1, 0, 2)],
    ["sliced", (t: z.Tensor) => t.slice(2, 1, null, 3).slice(0, 1)],
    ["expanded", (t: z.Tensor) => t.select(1, 0).unsqueeze(1).expand(-1, 4, -1)],
  ] as const)("%s", (_name, of) => {
    for (const dim of [0, 1, 2]) expect(differences(ALL, of(whole), dim, of(whole.to("cuda")))).toEqual([]);
  });

  test("in place, and into a result with gaps", () => {
    const [x, at] = [whole.clone(), whole.to("cuda")];
    x.cumsum_(1).cumsum_(2);
    at.cumsum_(1).cumsum_(2);
    expect(z.allclose(x, at.cpu(), { rtol: 1e-4 })).toBe(true);
    const out = z.zeros(6, 7, 80, { device: "cuda" }).slice(2, 0, null, 2);
    z.cumsum(whole.to("cuda"), 1, { out });
    expect(z.allclose(whole.cumsum(1), out.cpu())).toBe(true);
    const long = numbers([50000]);
    const there = long.to("cuda");
    there.cumsum_(0);
    expect(z.allclose(long.cumsum(0), there.cpu(), { atol: 1e-3 })).toBe(true);
  });

  test("conjugated and negated elements", () => {
    const x = numbers([5, 40], z.complex64);
    const of: Scans = {
      conjugated: (t, dim) => [t.conj().cumsum(dim)],
      negated: (t, dim) => [t.conj().imag.cumsum(dim), ...t.conj().imag.cummax(dim)],
    };
    for (const dim of [0, 1]) expect(differences(of, x, dim)).toEqual([]);
  });

  test("more dimensions than a launch takes", () => {
    const x = z.arange(2 ** 14, { dtype: z.float64 }).view(new Array<number>(14).fill(2));
    const of = (t: z.Tensor) => t.permute(Array.from({ length: 14 }, (_, i) => (i * 5) % 14)).slice(3, 0, 1);
    for (const dim of [0, 9]) expect(differences({ ...SUM, ...EXTREMES }, of(x), dim, of(x.to("cuda")))).toEqual([]);
  });
});

describe.if(available)("dtypes", () => {
  const REAL = [z.float64, z.float16, z.bfloat16, z.int64, z.int32, z.int16, z.int8, z.uint8, z.bool];
  test.each(REAL.map((d) => [String(d), d] as const))(
    "%s",
    (_name, dtype) => {
      const tolerance = dtype.itemsize === 2 ? 2e-2 : 1e-9;
      for (const shape of [
        [3, 1031],
        [5, 1024],
        [40, 33],
        [2, 20000],
      ]) {
        const x = numbers(shape, dtype);
        for (const dim of [0, 1]) {
          const scans = dtype.isFloatingPoint ? ALL : { ...SUM, ...EXTREMES };
          expect(differences(scans, x, dim, x.to("cuda"), tolerance)).toEqual([]);
        }
      }
    },
    60_000,
  );

  test("complex numbers", () => {
    for (const dtype of [z.complex64, z.complex128]) {
      for (const dim of [0, 1]) {
        expect(differences(FLOATS, numbers([5, 600], dtype), dim)).toEqual([]);
        expect(differences(SUM, numbers([2, 9000], dtype), dim)).toEqual([]);
      }
    }
  }, 60_000);

  test("integers are exact beyond what doubles hold", () => {
    const x = z.full([30000], 2n ** 50n + 1n, { dtype: z.int64 });
    expect(differences({ ...SUM, cumprod: (t, dim) => [t.cumprod(dim)] }, x, 0)).toEqual([]);
  });
});

describe.if(available)("values", () => {
  test("that are not finite, early and late", () => {
    for (const [n, places] of [
      [40, [3, 30]],
      [3000, [5, 1500, 2900]],
      [20000, [9000]],
    ] as const) {
      for (const special of [NaN, Infinity, -Infinity]) {
        const list = numbers([n]).tolist() as number[];
        for (const p of places) list[p] = special;
        for (const dtype of [z.float32, z.float64]) expect(differences(ALL, z.tensor(list, { dtype }), 0)).toEqual([]);
      }
    }
    const low = z.full([9000], -Infinity);
    expect(differences({ ...EXTREMES, logcumsumexp: FLOATS.logcumsumexp as never }, low, 0)).toEqual([]);
  });

  test("of equal extremes the last one counts", () => {
    for (const x of [z.zeros(5000), z.ones(3, 700), numbers([9000]).round()]) {
      expect(differences(EXTREMES, x, -1)).toEqual([]);
      expect(differences(EXTREMES, x, 0)).toEqual([]);
    }
  });
});

if (available) expectNoRaces();
