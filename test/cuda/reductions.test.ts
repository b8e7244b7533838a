// Reductions on a CUDA device, emulated by the stand-in driver, beside those of the CPU: around every size where
// threads, blocks or parts begin to be used differently, in all layouts and dtypes.
import { describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { expectNoRaces } from "./both.ts";
import { available, driverLibrary } from "./standin-driver.ts";

// The driver is opened at the first use, once in a process.
if (available) process.env.ZENSOR_LIBCUDA = driverLibrary();

type Values = z.Tensor | readonly z.Tensor[] | boolean;
type Tensors = readonly z.Tensor[];

/** Numbers in a fixed order that looks like none, without ties where a dtype has so many. */
function numbers(shape: readonly number[], dtype: z.DType = z.float32): z.Tensor {
  const count = shape.reduce((a, b) => a * b, 1);
  const list = Array.from({ length: count }, (_, n) => ((n * 7919) % 10007) / 64 - 70);
  const x = z.tensor(list, { dtype: z.float64 }).view(shape);
  return dtype.isComplex ? z.viewAsComplex(z.stack([x, x.flip(0)], -1)).to(dtype) : x.to(dtype);
}

const listed = (r: z.Tensor | Tensors): Tensors => (r instanceof z.Tensor ? [r] : r);

/** How the results on the device differ from those on the CPU; "" where they do not. */
function difference(f: (x: z.Tensor) => Values, x: z.Tensor, at: z.Tensor, tolerance: number): string {
  const [wanted, made] = [f(x), f(at)];
  if (typeof wanted === "boolean") return wanted === made ? "" : `${made} instead of ${wanted}`;
  const [a, b] = [listed(wanted), listed(made as z.Tensor | Tensors)];
  for (const [i, w] of a.entries()) {
    const m = (b[i] as z.Tensor).cpu();
    if (m.dtype !== w.dtype || String(m.shape) !== String(w.shape)) return `${m.dtype} ${m.shape}`;
    const options = { rtol: w.dtype.isFloatingPoint || w.dtype.isComplex ? tolerance : 0, atol: tolerance };
    const wide = (t: z.Tensor) => (t.dtype.isComplex ? t.to(z.complex128) : t.to(z.float64));
    const close = w.dtype === z.int64 ? z.equal(w, m) : z.allclose(wide(w), wide(m), { ...options, equalNan: true });
    if (!close) return `result ${i}: ${m} instead of ${w}`.slice(0, 400);
  }
  return "";
}

type Operators = Readonly<Record<string, (x: z.Tensor) => Values>>;

/** All differences of some operators on one tensor. */
function differences(ops: Operators, x: z.Tensor, tolerance = 1e-5, at: z.Tensor = x.to("cuda")): string[] {
  const found: string[] = [];
  for (const [name, f] of Object.entries(ops)) {
    const text = difference(f, x, at, tolerance);
    if (text !== "") found.push(`${name} of ${x.dtype} [${x.shape}]: ${text}`);
  }
  return found;
}

const wholes: Operators = {
  sum: (x) => x.sum(),
  mean: (x) => x.mean(),
  norm: (x) => z.linalg.vectorNorm(x),
};
const extremes: Operators = { max: (x) => x.max(), argmin: (x) => x.argmin() };
const truths: Operators = { any: (x) => x.any(), all: (x) => x.all() };
const along = (dim: number): Operators => ({
  sum: (x) => x.sum(dim),
  amax: (x) => x.amax(dim),
  "min with places": (x) => [...z.min(x, dim)],
  var: (x) => x.var(dim),
});

const SIZES = [1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 513, 1023, 1024, 1025, 2049];
const SPLIT = [4095, 4096, 8191, 8192, 8193, 12288, 70001];

describe.if(available)("sizes around every threshold", () => {
  test("of all elements", () => {
    for (const n of [...SIZES, ...SPLIT]) expect(differences({ ...wholes, ...extremes }, numbers([n]))).toEqual([]);
    expect(differences({ sum: wholes.sum as never, any: truths.any as never }, numbers([0]))).toEqual([]);
  }, 60_000);

  test("of rows", () => {
    for (const n of SIZES) {
      for (const rows of [1, 3, 33]) expect(differences(along(-1), numbers([rows, n]))).toEqual([]);
    }
    for (const n of SPLIT) expect(differences(along(-1), numbers([2, n]))).toEqual([]);
  }, 60_000);

  test("of columns", () => {
    for (const n of SIZES) {
      for (const columns of [2, 5, 33, 300]) expect(differences(along(0), numbers([n, columns]))).toEqual([]);
    }
    for (const n of SPLIT) expect(differences(along(0), numbers([n, 3]))).toEqual([]);
  }, 120_000);

  test("of nothing", () => {
    const ops: Operators = {
      sum: (x) => x.sum(0),
      prod: (x) => x.prod(0),
      mean: (x) => x.mean(0),
      all: (x) => x.all(0),
    };
    expect(differences(ops, z.zeros(0, 3))).toEqual([]);
    expect(differences(ops, z.zeros(0, 0))).toEqual([]);
    expect(differences({ sum: (x) => x.sum(1), var: (x) => x.var(1) }, z.zeros(0, 3))).toEqual([]);
  });

  test("more outputs than blocks have threads, more parts than one row of blocks", () => {
    expect(differences({ sum: (x) => x.sum(1), amin: (x) => x.amin(0) }, numbers([5000, 3]))).toEqual([]);
    expect(differences({ sum: (x) => x.sum(), max: (x) => x.max() }, numbers([1 << 20]))).toEqual([]);
  }, 60_000);
});

const LAYOUTS: Readonly<Record<string, (x: z.Tensor) => z.Tensor>> = {
  transposed: (x) => x.transpose(0, 2),
  turned: (x) => x.permute(1, 0, 2),
  sliced: (x) => x.slice(2, 1, null, 3).slice(0, 1),
  shifted: (x) => x.slice(2, 1),
  expanded: (x) => x.select(1, 0).unsqueeze(1).expand(-1, 4, -1),
};

describe.if(available)("layouts", () => {
  test.each(Object.entries(LAYOUTS))(
    "%s",
    (_name, of) => {
      const whole = numbers([7, 6, 70]);
      const [x, at] = [of(whole), of(whole.to("cuda"))];
      for (const dim of [0, 1, 2]) expect(differences(along(dim), x, 1e-5, at)).toEqual([]);
      const pairs: [number, number][] = [
        [0, 1],
        [0, 2],
        [1, 2],
      ];
      for (const dims of pairs) {
        const ops: Operators = { sum: (t) => t.sum(dims, true), amax: (t) => t.amax(dims), std: (t) => t.std(dims) };
        expect(differences(ops, x, 1e-5, at)).toEqual([]);
      }
      expect(differences({ ...wholes, ...extremes }, x, 1e-5, at)).toEqual([]);
    },
    60_000,
  );

  test("into a result with gaps, and one that is read, too", () => {
    const x = numbers([9, 70]);
    const [a, b] = [x.clone(), x.to("cuda")];
    z.sum(a, 1, false, { out: a.select(1, 3) });
    z.sum(b, 1, false, { out: b.select(1, 3) });
    expect(z.allclose(a, b.cpu())).toBe(true);
  });

  test("conjugated and negated elements", () => {
    const x = numbers([5, 40], z.complex64);
    const ops: Operators = {
      sum: (t) => t.conj().sum(1),
      "imaginary parts": (t) => t.conj().imag.sum(0),
      "their extremes": (t) => [...z.max(t.conj().imag, 1)],
      prod: (t) => t.conj().div(100).prod(0),
      var: (t) => t.conj().imag.var(1),
    };
    expect(differences(ops, x)).toEqual([]);
  });

  test("more dimensions than a launch takes", () => {
    const x = z.arange(2 ** 14, { dtype: z.float64 }).view(new Array<number>(14).fill(2));
    const turned = (t: z.Tensor) => t.permute(Array.from({ length: 14 }, (_, i) => (i * 5) % 14));
    const ops: Operators = {
      kept: (t) => turned(t).sum(0),
      reduced: (t) => turned(t).slice(3, 1).sum(),
      both: (t) => turned(t).amax([0, 2, 4, 6]),
    };
    expect(differences(ops, x)).toEqual([]);
  });
});

const REAL = [z.float32, z.float64, z.float16, z.bfloat16, z.int64, z.int32, z.int16, z.int8, z.uint8];

describe.if(available)("dtypes", () => {
  test.each(REAL.map((d) => [String(d), d] as const))(
    "%s",
    (_name, dtype) => {
      const tolerance = dtype.itemsize === 2 ? 2e-2 : 1e-5;
      for (const shape of [
        [3, 1031],
        [5, 1024],
        [33, 20],
      ]) {
        const x = numbers(shape, dtype);
        for (const dim of [0, 1]) {
          const ops: Operators = {
            sum: (t) => t.sum(dim),
            prod: (t) => t.sign().prod(dim),
            amax: (t) => t.amax(dim),
            places: (t) => t.argmax(dim),
            any: (t) => t.any(dim),
            "as doubles": (t) => t.sum(dim, false, { dtype: z.float64 }),
          };
          expect(differences(ops, x, tolerance)).toEqual([]);
          if (!dtype.isFloatingPoint) continue;
          const floats: Operators = {
            mean: (t) => t.mean(dim),
            var: (t) => t.var(dim),
            sizes: (t) => z.linalg.vectorNorm(t, 1, dim),
            largest: (t) => z.linalg.vectorNorm(t, Infinity, dim),
            present: (t) => z.linalg.vectorNorm(t, 0, dim),
            numbers: (t) => t.nansum(dim),
          };
          expect(differences(floats, x, tolerance)).toEqual([]);
        }
      }
    },
    60_000,
  );

  test("truth values and complex numbers", () => {
    const x = numbers([33, 300]).gt(0);
    const ops: Operators = {
      sum: (t) => t.sum(1),
      all: (t) => t.all(0),
      any: (t) => t.any(),
      max: (t) => [...z.max(t, 1)],
    };
    expect(differences(ops, x)).toEqual([]);
    for (const dtype of [z.complex64, z.complex128]) {
      const c = numbers([7, 530], dtype).div(80);
      const all: Operators = {
        sum: (t) => t.sum(1),
        prod: (t) => t.prod(0),
        mean: (t) => t.mean(),
        std: (t) => t.std(1),
      };
      expect(differences(all, c)).toEqual([]);
    }
  });

  test("NaN wins, the first one; of equal extremes the first one counts", () => {
    const list = numbers([2000]).tolist() as number[];
    list[700] = list[701] = NaN;
    const x = z.tensor(list);
    const ops: Operators = {
      max: (t) => t.max(),
      argmax: (t) => t.argmax(),
      nansum: (t) => t.nansum(),
      any: (t) => t.any(),
    };
    expect(differences(ops, x)).toEqual([]);
    expect(x.to("cuda").argmin().item()).toBe(700);
    const same = z.zeros(3, 5000, { device: "cuda" });
    expect(same.argmax(1).tolist()).toEqual([0, 0, 0]);
    expect(same.argmin().item()).toBe(0);
    const low = z.full([9000], -Infinity, { device: "cuda" });
    expect([low.argmax().item(), low.max().item()]).toEqual([0, -Infinity]);
  });
});

describe.if(available)("comparisons of whole tensors", () => {
  const at = (x: z.Tensor) => x.to("cuda");

  test("equal", () => {
    for (const n of [1, 3, 4, 5, 1023, 1024, 1025, 5000]) {
      const x = numbers([n]);
      const y = x.clone();
      expect(z.equal(at(x), at(y))).toBe(true);
      y.slice(0, n - 1).add_(1);
      expect(z.equal(at(x), at(y))).toBe(false);
      expect(z.equal(at(x).slice(0, 0, n - 1), at(y).slice(0, 0, n - 1))).toBe(true);
    }
    for (const dtype of [...REAL, z.bool, z.complex64, z.complex128]) {
      const x = at(numbers([6, 50], dtype));
      expect([String(dtype), z.equal(x.t(), x.t().clone())]).toEqual([String(dtype), true]);
      const changed = x.clone();
      changed.select(0, 5).slice(0, 49).fill_(1).logicalNot_();
      expect(z.equal(x.t(), changed.t())).toBe(false);
    }
    expect(z.equal(at(z.tensor([NaN])), at(z.tensor([NaN])))).toBe(false);
    expect(z.equal(at(z.zeros(0, 3)), at(z.zeros(0, 3)))).toBe(true);
    expect(z.equal(at(z.tensor([1, 2])), at(z.tensor([1, 2], { dtype: z.float64 })))).toBe(true);
  });

  test("isclose and allclose", () => {
    for (const dtype of [z.float32, z.float64, z.bfloat16, z.int32, z.complex64]) {
      const x = numbers([40, 30], dtype);
      const near = x.mul(dtype.isFloatingPoint ? 1.000001 : 1);
      const list = dtype.isFloatingPoint ? [NaN, Infinity, -Infinity, 3] : [0, 1, 2, 3];
      const edges = z.tensor(list).to(dtype);
      const ops: Operators = {
        close: (t) => z.isclose(t, t.device.type === "cpu" ? near : at(near)),
        apart: (t) => z.isclose(t, t.add(1)),
        turned: (t) => z.isclose(t.t(), t.t().mul(2)),
        all: (t) => z.allclose(t, t.clone()),
      };
      expect(differences(ops, x)).toEqual([]);
      expect(differences({ edges: (t) => z.isclose(t, t, { equalNan: true }) }, edges)).toEqual([]);
    }
  });
});

if (available) expectNoRaces();
