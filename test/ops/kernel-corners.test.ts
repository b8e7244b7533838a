// Corners of kernels that no table of shapes meets: equal and infinite numbers, generator states, normal numbers of
// every count, tensors without columns to multiply, bytes that are read as truth values.
import { describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";

const { bfloat16, bool, complex64, complex128, float32, float64, int64, uint8 } = z;
const plain = (t: z.Tensor): Float64Array => t.to(float64).contiguous().typedArray() as Float64Array;

test("what is equal to a bound of clamp stays itself", () => {
  for (const dtype of [float32, float64]) {
    for (const n of [1, 5, 16, 33]) {
      const negative = z.full([n], -0, { dtype });
      const positive = z.zeros([n], { dtype });
      const zero = z.tensor(0, { dtype });
      for (const found of [
        z.clamp(negative, 0, 1),
        z.clamp(negative, -1, 0),
        z.clamp(negative, zero, z.ones([n], { dtype })),
        z.clamp(negative, z.full([n], -1, { dtype }), zero),
        z.clamp(negative, zero, zero),
      ]) {
        expect(plain(found).every((v) => Object.is(v, -0))).toBe(true);
      }
      expect(plain(z.clamp(positive, -0, 1)).every((v) => Object.is(v, 0))).toBe(true);
      expect(plain(z.clamp(positive, -1, -0)).every((v) => Object.is(v, 0))).toBe(true);
    }
  }
});

test("bytes that are no zero count as one truth", () => {
  for (const n of [3, 40, 64, 65, 200, 1000]) {
    const bytes = z.arange(n).remainder(4).to(uint8);
    const truths = bytes.view(bool);
    const count = plain(bytes).filter((v) => v > 0).length;
    expect(Number(truths.sum().item()), `${n}`).toBe(count);
    expect(plain(truths.view([1, n]).sum(1))).toEqual(Float64Array.of(count));
    expect(plain(z.stack([truths, truths], 1).sum(0))).toEqual(Float64Array.of(count, count));
  }
});

test("isclose with NaN on either side", () => {
  const parts = [Number.NaN, 1, Number.POSITIVE_INFINITY];
  for (const dtype of [float32, float64]) {
    for (const a of parts) {
      for (const b of parts) {
        const [x, y] = [z.full([5], a, { dtype }), z.full([5], b, { dtype })];
        const nans = Number.isNaN(a) && Number.isNaN(b);
        expect(z.isclose(x, y).all().item(), `${a} ${b}`).toBe(a === b);
        const byte = Number(a === b || nans);
        expect(z.isclose(x, y, { equalNan: true }).view(uint8).eq(byte).all().item(), `${a} ${b}`).toBe(true);
        expect(z.isclose(x, y, { equalNan: true }).any().item(), `${a} ${b}`).toBe(a === b || nans);
      }
    }
  }
  const all = parts.slice(0, 2).flatMap((re) => parts.slice(0, 2).map((im) => [re, im] as const));
  for (const dtype of [complex64, complex128]) {
    for (const [a, b] of all) {
      for (const [c, d] of all) {
        const make = (re: number, im: number) =>
          z.viewAsComplex(z.tensor([[re, im]], { dtype: dtype === complex64 ? float32 : float64 }));
        const [x, y] = [make(a, b), make(c, d)];
        const left = Number.isNaN(a + b);
        const right = Number.isNaN(c + d);
        const equal = a === c && b === d;
        expect(z.isclose(x, y).item(), `${a} ${b}, ${c} ${d}`).toBe(equal);
        expect(z.isclose(x, y, { equalNan: true }).item(), `${a} ${b}, ${c} ${d}`).toBe(equal || (left && right));
      }
    }
  }
});

describe("products that only scale", () => {
  for (const dtype of [float32, float64, bfloat16, int64, complex64]) {
    test(dtype.name, () => {
      for (const [m, n, k] of [
        [3, 5, 4],
        [1, 7, 2],
        [20, 33, 9],
      ] as const) {
        for (const out of ["rows", "columns"]) {
          const start = z
            .arange(m * n)
            .remainder(7)
            .to(dtype)
            .view([m, n]);
          const c = out === "rows" ? start.clone() : start.t().clone({ memoryFormat: z.contiguousFormat }).t();
          const fill = dtype === int64 ? 3 : Number.NaN;
          const [a, b] = [z.full([m, k], fill, { dtype }), z.full([k, n], fill, { dtype })];
          expect(z.addmm(c, a, b, { alpha: 0, beta: 2 }).equal(start.mul(2))).toBe(true);
          expect(c.clone().addmm_(a, b, { alpha: 0, beta: 2 }).equal(start.mul(2))).toBe(true);
          expect(c.addmm_(a, b, { alpha: 0, beta: 3 }).equal(start.mul(3))).toBe(true);
          expect(c.addmm_(a, b, { alpha: 0, beta: 0 }).equal(start.mul(0))).toBe(true);
        }
      }
    });
  }
});

test("batches of products, whole and shared", () => {
  for (const dtype of [float32, float64, int64, bfloat16]) {
    for (const [batch, m, n, k] of [
      [2, 3, 4, 5],
      [9, 17, 33, 8],
      [3, 130, 140, 120],
      [40, 1, 9, 30],
      [40, 9, 1, 30],
    ] as const) {
      const x = z
        .arange(batch * m * k)
        .remainder(5)
        .sub(2)
        .to(dtype)
        .view([batch, m, k]);
      const y = z
        .arange(batch * k * n)
        .remainder(3)
        .sub(1)
        .to(dtype)
        .view([batch, k, n]);
      const lies = [x, x.transpose(1, 2).contiguous().transpose(1, 2), x.narrow(0, 0, 1).expand([batch, m, k])];
      for (const a of lies) {
        const found = z.bmm(a, y);
        for (let i = 0; i < batch; i++) {
          const one = z.mm(a.select(0, i).to(float64), y.select(0, i).to(float64)).to(dtype);
          expect(found.select(0, i).equal(one), `${dtype.name} ${batch} ${m} ${n} ${k} ${i}`).toBe(true);
        }
      }
    }
  }
});

describe("normal numbers", () => {
  /** The pairs that 16 uniform numbers become. */
  const pairs = (u: ArrayLike<number>): number[] => {
    const out = new Array<number>(16);
    for (let i = 0; i < 8; i++) {
      const radius = Math.sqrt(-2 * Math.log(1 - (u[i] as number)));
      const angle = 2 * Math.PI * (u[i + 8] as number);
      out[i] = radius * Math.cos(angle);
      out[i + 8] = radius * Math.sin(angle);
    }
    return out;
  };

  for (const dtype of [float32, float64]) {
    test(`of ${dtype.name}, of every count`, () => {
      for (const n of [16, 17, 18, 31, 32, 33, 40, 47, 100]) {
        z.manualSeed(11);
        const u = Array.from(plain(z.rand([n], { dtype })));
        const rest = n % 16 === 0 ? [] : Array.from(plain(z.rand([16], { dtype })));
        const wanted = new Array<number>(n);
        for (let i = 0; i + 16 <= n; i += 16) wanted.splice(i, 16, ...pairs(u.slice(i, i + 16)));
        if (rest.length > 0) wanted.splice(n - 16, 16, ...pairs(rest));
        const after = z.rand([3]);
        z.manualSeed(11);
        const found = plain(z.randn([n], { dtype }));
        const bad = found.findIndex(
          (v, i) => !(Math.abs(v - (wanted[i] as number)) < (dtype === float32 ? 2e-6 : 1e-14)),
        );
        expect(bad < 0 ? "" : `${n}: ${found[bad]} at ${bad}, not ${wanted[bad]}`).toBe("");
        expect(z.rand([3]).equal(after), `${n}`).toBe(true);
      }
    });
  }

  // These are made by sixteen at a time, the last ones beginning at the sixteenth from the end.
  for (const dtype of [bfloat16, z.float16]) {
    test(`of ${dtype.name}, of every count`, () => {
      for (const n of [16, 17, 18, 31, 32, 33, 40, 47, 100]) {
        z.manualSeed(12);
        const wanted = new Array<number>(n);
        for (let i = 0; i < n; i += 16) wanted.splice(Math.min(i, n - 16), 16, ...pairs(plain(z.rand([16]))));
        const after = z.rand([3]);
        z.manualSeed(12);
        const found = plain(z.randn([n], { dtype }));
        const bad = found.findIndex((v, i) => !(Math.abs(v - (wanted[i] as number)) < 0.02 * (1 + Math.abs(v))));
        expect(bad < 0 ? "" : `${n}: ${found[bad]} at ${bad}, not ${wanted[bad]}`).toBe("");
        expect(z.rand([3]).equal(after), `${n}`).toBe(true);
      }
    });
  }

  test("into every second place, and nothing else", () => {
    for (const n of [3, 511, 512, 513, 700, 1100]) {
      z.manualSeed(5);
      const dense = z.zeros([n]).uniform_();
      const after = z.rand([2]);
      z.manualSeed(5);
      const wide = z.full([2 * n + 1200], -1);
      wide.slice(0, 0, 2 * n, 2).uniform_();
      expect(wide.slice(0, 0, 2 * n, 2).equal(dense), `${n}`).toBe(true);
      expect(z.rand([2]).equal(after), `${n}`).toBe(true);
      expect(
        wide
          .slice(0, 1, 2 * n, 2)
          .eq(-1)
          .all()
          .item(),
      ).toBe(true);
      expect(
        wide
          .narrow(0, 2 * n, 1200)
          .eq(-1)
          .all()
          .item(),
      ).toBe(true);
    }
  });
});

describe("the state of a generator", () => {
  const bytesOf = (state: z.Tensor) => state.clone();
  const word = (state: z.Tensor, at: number) => {
    const bytes = state.contiguous().typedArray() as Uint8Array;
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(at, true);
  };
  const changed = (state: z.Tensor, at: number, value: number) => {
    const copy = bytesOf(state);
    const bytes = copy.typedArray() as Uint8Array;
    new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).setUint32(at, value, true);
    return copy;
  };
  const generator = () => new z.Generator();

  test("says what torch's says", () => {
    const g = generator();
    g.manualSeed(7);
    const fresh = g.getState();
    expect([0, 8, 12, 16, 5040, 5052].map((at) => word(fresh, at))).toEqual([7, 1, 1, 0, 0, 0]);
    expect(word(fresh, 24)).toBe(7);
    z.rand([3], { generator: g });
    const drawn = g.getState();
    expect([0, 8, 12, 16, 5040, 5052].map((at) => word(drawn, at))).toEqual([7, 622, 1, 3, 0, 0]);
    z.randn([1], { generator: g, dtype: float64 });
    const normal = g.getState();
    expect(word(normal, 5040)).toBe(1);
    const kept = new DataView((normal.contiguous().typedArray() as Uint8Array).buffer.slice(0)).getFloat64(5024, true);
    expect(z.randn([1], { generator: g, dtype: float64 }).item()).toBe(kept);
    expect(word(g.getState(), 5040)).toBe(0);
    expect([5024, 5028].map((at) => word(g.getState(), at))).toEqual([0, 0]);
  });

  test("brings every draw back, at every place of the state", () => {
    const g = generator();
    g.manualSeed(9);
    for (const skip of [0, 1, 2, 300, 320, 1, 623, 624, 625, 1249]) {
      if (skip > 0) z.rand([skip], { generator: g });
      for (const dtype of [float32, float64]) {
        const state = g.getState();
        const wanted = [z.randn([3], { generator: g, dtype }), z.rand([700], { generator: g })] as const;
        const other = generator();
        other.manualSeed(1);
        z.randn([1], { generator: other });
        other.setState(state);
        expect(other.initialSeed()).toEqual(g.initialSeed());
        expect(other.getState().equal(state)).toBe(true);
        expect(z.randn([3], { generator: other, dtype }).equal(wanted[0])).toBe(true);
        expect(z.rand([700], { generator: other }).equal(wanted[1])).toBe(true);
      }
    }
  });

  test("a cached normal number is taken over, and one that is none is not", () => {
    const g = generator();
    g.manualSeed(3);
    z.randn([1], { generator: g, dtype: float64 });
    const state = g.getState();
    const next = z.randn([1], { generator: g, dtype: float64 }).item();
    const other = generator();
    other.setState(state);
    expect(z.randn([1], { generator: other, dtype: float64 }).item()).toBe(next);
    // Without its mark the number does not count, and is no longer there.
    const unmarked = changed(state, 5040, 0);
    other.setState(unmarked);
    expect([5024, 5028, 5040].map((at) => word(other.getState(), at))).toEqual([0, 0, 0]);
    const marked = changed(changed(state, 5048, 0x3f800000), 5052, 1);
    other.setState(marked);
    expect(other.getState().equal(marked)).toBe(true);
    other.setState(changed(marked, 5052, 0));
    expect([5048, 5052].map((at) => word(other.getState(), at))).toEqual([0, 0]);
  });

  test("that is none is refused, and changes nothing", () => {
    const g = generator();
    g.manualSeed(4);
    z.rand([10], { generator: g });
    const state = g.getState();
    for (const [at, value] of [
      [12, 0],
      [12, 2],
      [8, 0],
      [8, 625],
      [16, 625],
      [16, 11],
      [8, 616],
    ] as const) {
      expect(() => g.setState(changed(state, at, value)), `${at} ${value}`).toThrow();
      expect(g.getState().equal(state), `${at} ${value}`).toBe(true);
    }
    for (const [left, next] of [
      [1, 624],
      [624, 1],
      [1, 0],
      [2, 623],
    ] as const) {
      const good = changed(changed(state, 8, left), 16, next);
      g.setState(good);
      expect(g.getState().equal(good), `${left} ${next}`).toBe(true);
    }
  });
});

test("what has no weight is drawn last, in its order", () => {
  for (const dtype of [float32, float64]) {
    for (let at = 0; at < 6; at++) {
      const weights = z.zeros([6], { dtype });
      weights.setAt(at, 1);
      const rest = [0, 1, 2, 3, 4, 5].filter((i) => i !== at);
      for (const count of [1, 2, 4, 6]) {
        expect(z.multinomial(weights, count, false).tolist()).toEqual([at, ...rest].slice(0, count));
      }
    }
  }
});

test("logspace over a negative base, and a base of zero", () => {
  for (const [base, start, end, steps] of [
    [-2, 0, 4, 5],
    [-1, 0, 3, 4],
    [2, -1, 3, 5],
    [0.5, 0, 2, 3],
  ] as const) {
    const step = (end - start) / (steps - 1);
    const wanted = Array.from({ length: steps }, (_, i) => base ** (start + i * step));
    const found = plain(z.logspace(start, end, steps, { base, dtype: float64 }));
    expect(
      Array.from(found).every((v, i) => Math.abs(v - (wanted[i] as number)) < 1e-12),
      `${base}`,
    ).toBe(true);
  }
});

test("numbers on both sides of where, lerp and addcmul", () => {
  for (const n of [1, 20, 300, 2000]) {
    const mask = z.arange(n).remainder(3).eq(0);
    const wanted = Float64Array.from({ length: n }, (_, i) => (i % 3 === 0 ? 2 : 5));
    for (const dtype of [float32, float64, int64]) {
      const [two, five] = [z.tensor(2, { dtype }), z.tensor(5, { dtype })];
      expect(plain(z.where(mask, two, five))).toEqual(wanted);
      expect(plain(z.where(mask, 2, 5))).toEqual(wanted);
      expect(plain(z.addcmul(z.ones([n], { dtype }), two, five)).every((v) => v === 11)).toBe(true);
      if (dtype === int64) continue;
      const x = z.arange(n).to(dtype);
      const half = z.tensor(0.25, { dtype });
      expect(plain(z.lerp(x, five, half))).toEqual(Float64Array.from({ length: n }, (_, i) => i + 0.25 * (5 - i)));
    }
  }
});
