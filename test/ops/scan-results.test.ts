// Running totals and extremes into every kind of result, beside a plain loop; what is refused in torch's words, with
// everything left as it was.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";

const SCANS = { cumsum: z.cumsum, cumprod: z.cumprod, cummax: z.cummax, cummin: z.cummin };
const WHOLE = [3, -2, 1, 2, -1, 2, 1, -3];

function totals(values: readonly number[], step: (a: number, b: number) => number): number[] {
  const result: number[] = [];
  for (const [i, x] of values.entries()) result.push(i === 0 ? x : step(result[i - 1] as number, x));
  return result;
}
const STEPS = {
  cumsum: (a: number, b: number) => a + b,
  cumprod: (a: number, b: number) => a * b,
} as const;

/** Where a result of eight numbers may lie: by itself, with gaps, in a matrix, or in nothing yet. */
function places(dtype: z.DType): [string, z.Tensor][] {
  return [
    ["rows", z.zeros(8, { dtype })],
    ["gaps", z.zeros(16, { dtype }).slice(0, 0, 16, 2)],
    ["wrong size", z.zeros(0, { dtype })],
    ["a column", z.zeros([8, 3], { dtype }).select(1, 1)],
  ];
}

for (const op of ["cumsum", "cumprod"] as const) {
  test(`${op} into results of every dtype and layout`, () => {
    const wanted = totals(WHOLE, STEPS[op]);
    for (const from of [z.int8, z.int16, z.int64, z.float16, z.bfloat16, z.float32, z.float64, z.complex64]) {
      const x = z.tensor(WHOLE, { dtype: from });
      for (const to of [z.int16, z.int32, z.int64, z.float16, z.float32, z.float64, z.complex64, z.complex128]) {
        if (from.category > to.category) continue;
        for (const [name, out] of places(to)) {
          const result = SCANS[op](x, 0, { out });
          expect(
            [result === out, out.equal(z.tensor(wanted, { dtype: to }))],
            `${from.name} ${to.name} ${name}`,
          ).toEqual([true, true]);
        }
        expect(SCANS[op](x, -1, { dtype: to }).equal(z.tensor(wanted, { dtype: to }))).toBe(true);
      }
    }
  });

  test(`${op} where input and result share memory`, () => {
    const wanted = z.tensor(totals(WHOLE, STEPS[op]), { dtype: "float32" });
    const x = z.tensor(WHOLE, { dtype: "float32" });
    expect(SCANS[op](x, 0, { out: x }).equal(wanted)).toBe(true);
    // Other elements of one storage, and its bytes as another dtype.
    const both = z.tensor([...WHOLE, ...WHOLE.map(() => 0)], { dtype: "float32" });
    SCANS[op](both.narrow(0, 0, 8), 0, { out: both.narrow(0, 8, 8) });
    expect(both.equal(z.cat([z.tensor(WHOLE, { dtype: "float32" }), wanted]))).toBe(true);
    const mixed = z.tensor([...WHOLE, ...WHOLE], { dtype: "float32" });
    SCANS[op](mixed.slice(0, 0, 16, 2), 0, { out: mixed.slice(0, 1, 16, 2) });
    const even = z.tensor([...WHOLE, ...WHOLE].filter((_, i) => i % 2 === 0));
    expect(mixed.slice(0, 0, 16, 2).equal(even)).toBe(true);
    expect(mixed.slice(0, 1, 16, 2).equal(z.tensor(totals(even.tolist() as number[], STEPS[op])))).toBe(true);
    const square = z.tensor([WHOLE, WHOLE.toReversed()]);
    const line = z.tensor(WHOLE);
    expect(() => SCANS[op](line.narrow(0, 0, 7), 0, { out: line.narrow(0, 1, 7) })).toThrow(
      "some elements of the input tensor and the written-to tensor refer to a single memory location",
    );
    expect(line.tolist()).toEqual(WHOLE);
    const shifted = SCANS[op](square.narrow(1, 0, 7), 1, { out: square.clone().narrow(1, 1, 7) });
    expect(SCANS[op](square.narrow(1, 0, 7), 1, { out: square.narrow(1, 1, 7) }).equal(shifted)).toBe(true);
    const half = z.tensor([WHOLE, WHOLE.toReversed()], { dtype: "float16" });
    expect(half[`${op}_`](1)).toBe(half);
    expect(half.at(0).equal(wanted.to("float16"))).toBe(true);
  });

  test(`${op} of what has no dimensions or elements, and what is refused`, () => {
    for (const dtype of [z.bool, z.uint16, z.uint8, z.float32]) {
      expect(SCANS[op](z.ones([], { dtype }), 0, { dtype }).equal(z.ones([], { dtype }))).toBe(true);
      expect(SCANS[op](z.ones([0], { dtype }), 0, { dtype }).shape).toEqual(z.zeros(0).shape);
      const out = z.zeros([], { dtype: "float64" });
      expect(SCANS[op](z.full([], 3), 0, { out }).item()).toBe(3);
    }
    const ones = op === "cumsum" ? [1, 2, 3] : [1, 1, 1];
    expect(SCANS[op](z.ones(3, { dtype: "uint8" }), 0, { dtype: "uint8" }).tolist()).toEqual(ones);
    expect(SCANS[op](z.tensor([1.5, 2.5, -1.5]), 0, { dtype: "int32" }).tolist()).toEqual(
      op === "cumsum" ? [1, 3, 2] : [1, 2, -2],
    );
    expect(SCANS[op](z.tensor([300, 2, 3], { dtype: "int64" }), 0, { dtype: "uint8" }).tolist()).toEqual(
      op === "cumsum" ? [44, 46, 49] : [44, 88, 8],
    );
    const refused = (dtype: "uint16" | "bool", name: string) =>
      expect(() => SCANS[op](z.ones(3, { dtype }), 0, { dtype })).toThrow(
        `"${op}_out_cpu" not implemented for '${name}'`,
      );
    refused("uint16", "UInt16");
    refused("bool", "Bool");
    const out = z.zeros(7);
    expect(() => SCANS[op](z.ones(3), 0, { dtype: "float64", out })).toThrow(
      "Expected out tensor to have dtype double, but got float instead",
    );
    expect(out.shape).toEqual(z.zeros(7).shape);
    const x = z.tensor([1, 2, 3], { dtype: "int64" });
    expect(() => x[`${op}_`](0, { dtype: "int32" })).toThrow(
      "Bad in-place call: input tensor dtype long int and output tensor dtype int should match",
    );
    expect(() => z.zeros(1).expand(3)[`${op}_`](0)).toThrow("more than one element of the written-to tensor");
  });
}

for (const op of ["cummax", "cummin"] as const) {
  const better = (a: number, b: number): boolean => (op === "cummax" ? b >= a : b <= a);
  const wanted = totals(WHOLE, (a, b) => (better(a, b) ? b : a));
  const found: number[] = [];
  for (const [i, x] of WHOLE.entries()) {
    found.push(i > 0 && !better(wanted[i - 1] as number, x) ? (found[i - 1] as number) : i);
  }

  test(`${op} into results of every layout`, () => {
    for (const dtype of [z.int8, z.int32, z.int64, z.float16, z.bfloat16, z.float32, z.float64]) {
      const x = z.tensor(WHOLE, { dtype });
      for (const [name, values] of places(dtype)) {
        for (const [, indices] of places(z.int64)) {
          SCANS[op](x, 0, { out: [values, indices] });
          expect([values.tolist(), indices.tolist()], `${dtype.name} ${name}`).toEqual([wanted, found]);
        }
      }
      SCANS[op](x, 0, { out: [x, z.zeros(8, { dtype: "int64" })] });
      expect(x.tolist()).toEqual(wanted);
    }
    // The positions, or shifted values, where the elements lie.
    const x = z.tensor(WHOLE, { dtype: "int64" });
    SCANS[op](x, 0, { out: [z.zeros(8, { dtype: "int64" }), x] });
    expect(x.tolist()).toEqual(found);
    const y = z.tensor([...WHOLE, 0], { dtype: "int64" });
    const values = y.narrow(0, 1, 8);
    SCANS[op](y.narrow(0, 0, 8), 0, { out: [values, z.zeros(8, { dtype: "int64" })] });
    expect(values.tolist()).toEqual(wanted);
  });

  test(`${op} of what has no dimensions or elements, and what is refused`, () => {
    const scalar = SCANS[op](z.tensor(3), -1);
    expect([scalar.values.item(), scalar.indices.item()]).toEqual([3, 0]);
    for (const dim of [1, -2]) {
      expect(() => SCANS[op](z.tensor(3), dim)).toThrow(
        `${op}(): Expected reduction dim -1 or 0 for scalar but got ${dim}`,
      );
    }
    expect(SCANS[op](z.zeros([0, 2]), 0).indices.shape).toEqual(z.zeros([0, 2]).shape);
    for (const dtype of ["uint16", "complex64"] as const) {
      expect(() => SCANS[op](z.ones(2, { dtype }), 0)).toThrow(`"${op}_cpu" not implemented for`);
      expect(SCANS[op](z.ones([], { dtype }), 0).values.equal(z.ones([], { dtype }))).toBe(true);
    }
    for (const shape of [[3], [0], []]) {
      const x = z.zeros(shape);
      const wrong = [z.zeros(7, { dtype: "float64" }), z.zeros(7, { dtype: "int64" })] as const;
      expect(() => SCANS[op](x, 5, { out: wrong })).toThrow("expected scalar_type Float but found Double");
      const places = [z.zeros(7), z.zeros(7, { dtype: "int32" })] as const;
      expect(() => SCANS[op](x, 0, { out: places })).toThrow("expected scalar_type Long but found Int");
      for (const t of [...wrong, ...places]) expect(t.shape).toEqual(z.zeros(7).shape);
    }
  });
}

test("sort and topk leave results as they were when the second one is refused", () => {
  const out = [z.zeros(7), z.zeros(7, { dtype: "int32" })] as const;
  expect(() => z.sort(z.zeros(3), { out })).toThrow("Expected out tensor to have dtype long int, but got int instead");
  expect(() => z.topk(z.zeros(3), 1, { out })).toThrow("Expected out tensor to have dtype long int");
  for (const t of out) expect(t.shape).toEqual(z.zeros(7).shape);
});

/** The logarithm of a sum of exponentials of complex numbers, whose greatest real part is taken out first. */
function logsumexp(numbers: readonly [number, number][]): [number, number] {
  const most = Math.max(...numbers.map(([re]) => re));
  let [re, im] = [0, 0];
  for (const [x, y] of numbers) {
    re += Math.exp(x - most) * Math.cos(y);
    im += Math.exp(x - most) * Math.sin(y);
  }
  return [Math.log(Math.hypot(re, im)) + most, Math.atan2(im, re)];
}

test("logsumexp of complex numbers that lie in every way", () => {
  const at = (i: number, j: number): [number, number] => [1000 * i + ((7 * j) % 5), 0.1 * j - 0.2 * i];
  const rows = [0, 1, 2];
  const columns = [0, 1, 2, 3];
  const numbers = (t: z.Tensor) => z.viewAsReal(t.resolveConj()).tolist() as number[][];
  for (const dtype of ["complex64", "complex128"] as const) {
    const dense = z.tensor(
      rows.map((i) => columns.map((j) => new z.Complex(...at(i, j)))),
      { dtype },
    );
    // Beside the elements lie numbers that are much greater.
    const wide = z.full([5, 10], 5000, { dtype });
    const gaps = wide.narrow(0, 1, 3).slice(1, 1, 9, 2);
    gaps.copy_(dense);
    for (const x of [dense, dense.t().contiguous().t(), gaps, dense.conj().resolveConj().conj()]) {
      const bound = dtype === "complex64" ? 1e-3 : 1e-9;
      const near = (found: z.Tensor, wanted: [number, number][]) => {
        expect(found.shape.length).toBe(1);
        for (const [i, [re, im]] of wanted.entries()) {
          expect(Math.abs((numbers(found)[i]?.[0] as number) - re)).toBeLessThan(bound);
          expect(Math.abs((numbers(found)[i]?.[1] as number) - im)).toBeLessThan(bound);
        }
      };
      const byRow = rows.map((i) => logsumexp(columns.map((j) => at(i, j))));
      near(x.logsumexp(1), byRow);
      near(x.logsumexp(-1, { keepdim: true }).flatten(), byRow);
      const out = z.zeros(0, { dtype });
      expect(z.logsumexp(x, 1, { out })).toBe(out);
      near(out, byRow);
      const byColumn = columns.map((j) => logsumexp(rows.map((i) => at(i, j))));
      near(x.logsumexp([0]), byColumn);
    }
  }
  expect(z.zeros([2, 0]).logsumexp(1).tolist()).toEqual([Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]);
});

test("scans into memory that they read later, and into negated views", () => {
  const long = Array.from({ length: 300 }, (_, i) => ((i * 7) % 11) - 5);
  const indices = () => z.zeros([2, 299], { dtype: "int64" });
  for (const dtype of ["float32", "float64", "int64", "int32"] as const) {
    const rows = () => z.tensor([long, long.toReversed()], { dtype });
    const from = rows().narrow(1, 0, 299);
    for (const op of ["cummax", "cummin"] as const) {
      const wanted = SCANS[op](from.clone(), 1).values;
      for (const [first, to] of [
        [0, 1],
        [1, 0],
      ] as const) {
        const x = first === 0 ? rows() : z.cat([z.zeros([2, 1], { dtype }), rows()], 1);
        const values = x.narrow(1, to, 299);
        SCANS[op](x.narrow(1, first, 299), 1, { out: [values, indices()] });
        expect(values.equal(wanted), `${op} ${dtype}`).toBe(true);
      }
    }
    const x = rows();
    const sums = x.narrow(1, 1, 299);
    const wanted = from.clone().cumsum(1, { dtype });
    z.cumsum(x.narrow(1, 0, 299), 1, { out: sums });
    expect(sums.equal(wanted)).toBe(true);
  }
  for (const op of ["cummax", "cummin", "cumsum", "cumprod"] as const) {
    const whole = z.zeros(8, { dtype: "complex64" });
    const out = whole.conj().imag;
    const x = z.tensor(WHOLE);
    const places = z.zeros(8, { dtype: "int64" });
    const wanted = op === "cummax" || op === "cummin" ? SCANS[op](x, 0).values : SCANS[op](x, 0);
    if (op === "cummax" || op === "cummin") SCANS[op](x, 0, { out: [out, places] });
    else SCANS[op](x, 0, { out });
    expect([out.equal(wanted), whole.imag.equal(wanted.neg())]).toEqual([true, true]);
  }
  // Without elements, and without dimensions, nothing but the gradient of complex numbers is refused.
  for (const shape of [[], [0]]) {
    const given = z.zeros(shape, { dtype: "complex64", requiresGrad: true });
    for (const op of ["cummax", "cummin"] as const) {
      expect(() => SCANS[op](given, 0)).toThrow("does not support automatic differentiation");
      expect(SCANS[op](given.detach(), 0).values.shape).toEqual(given.shape);
    }
  }
  const x = z.ones(3, { requiresGrad: true });
  x.cummax(0).values.sum().backward();
  expect(x.grad?.tolist()).toEqual([1, 1, 1]);
});
