// Selection in lines of every length, searches in rows, sums of rows: beside the plain ways to the same.
import { describe, expect, test } from "bun:test";
import {
  cat,
  equal,
  full,
  int64,
  manualSeed,
  rand,
  randint,
  randn,
  searchsorted,
  type Tensor,
  tensor,
  zeros,
} from "../../src/index.ts";

const DTYPES = ["float32", "float64", "bfloat16", "int64", "int32", "uint8"] as const;

/** Ties, both zeros, and small and large numbers. */
function line(dtype: (typeof DTYPES)[number], n: number): Tensor {
  const x = n % 3 === 0 ? randint(0, 5, [2, n]) : n % 3 === 1 ? randn([2, n]).mul(1000) : randn([2, n]).exp();
  return x
    .abs()
    .clamp(0, 200)
    .mul(n % 2 === 0 || dtype === "uint8" ? 1 : -1)
    .to(dtype);
}

describe("an element by its rank is the sorted line's", () => {
  test.each(DTYPES)("%s", (dtype) => {
    manualSeed(7);
    for (const n of [1, 2, 5, 31, 63, 64, 65, 66, 130, 257, 1000]) {
      const x = line(dtype, n);
      const sorted = x.sort({ dim: 1, stable: true });
      for (const k of new Set([1, 2, Math.ceil(n / 3), Math.ceil(n / 2), n - 1, n])) {
        if (k < 1 || k > n) continue;
        const found = x.kthvalue(k, 1);
        expect(found.indices.tolist()).toEqual(sorted.indices.select(1, k - 1).tolist());
        expect(found.values.tolist()).toEqual(sorted.values.select(1, k - 1).tolist());
      }
      const middle = x.t().median(0);
      expect(middle.indices.tolist()).toEqual(sorted.indices.select(1, ((n + 1) / 2 - 1) | 0).tolist());
    }
  });

  test("the first NaN is a median, and none of the others counts", () => {
    manualSeed(8);
    for (const n of [3, 64, 65, 300]) {
      const x = randn([2, n]);
      x.select(1, n - 1).fill_(Number.NaN);
      x.select(1, 1).fill_(Number.NaN);
      expect(x.median(1).indices.tolist()).toEqual([1, 1]);
      const numbers = cat([x.slice(1, 0, 1), x.slice(1, 2, n - 1)], 1);
      expect(x.nanmedian(1).values.tolist()).toEqual(numbers.median(1).values.tolist());
      expect(full([n], Number.NaN).nanmedian().item()).toBeNaN();
    }
  });
});

test("positions in rows that are in order and in rows that are not", () => {
  manualSeed(9);
  for (const length of [1, 2, 7, 64, 100]) {
    const bisect = (row: number[], x: number, right: boolean): number => {
      let [low, high] = [0, row.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        const at = row[middle] as number;
        if (right ? !(at > x) : !(at >= x)) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    const mixed = randint(0, 30, [length]).to("float32");
    const holes = mixed.sort().values.clone();
    holes.select(0, length - 1).fill_(Number.NaN);
    const values = cat([randint(-2, 33, [40]).to("float32"), tensor([Number.NaN, -0, Number.POSITIVE_INFINITY])]);
    for (const row of [mixed, holes, mixed.sort().values]) {
      for (const right of [false, true]) {
        const wanted = (values.tolist() as number[]).map((x) => bisect(row.tolist() as number[], x, right));
        expect(searchsorted(row, values, { right }).tolist()).toEqual(wanted);
        // So few searches are not worth a look at the row.
        expect(searchsorted(row, values.slice(0, 0, 3), { right }).tolist()).toEqual(wanted.slice(0, 3));
      }
    }
  }
});

test.each(DTYPES)("rows of %s are added as their elements are", (dtype) => {
  manualSeed(10);
  for (const n of [1, 15, 16, 17, 100]) {
    const rows = randint(0, 3, [8]);
    const [x, y] = [
      line(dtype, 3 * n)
        .view(-1, n)
        .slice(0, 0, 3)
        .clone(),
      line(dtype, 8 * n)
        .view(-1, n)
        .slice(0, 0, 8),
    ];
    // Along the other dimension elements go one by one.
    const wanted = x.t().contiguous().indexAdd(1, rows, y.t().contiguous()).t();
    expect(x.indexAdd(0, rows, y).tolist()).toEqual(wanted.tolist());
    expect(x.indexCopy(0, rows, y).tolist()).toEqual(
      x.t().contiguous().indexCopy(1, rows, y.t().contiguous()).t().tolist(),
    );
  }
});

test("equal elements along a dimension are in order already", () => {
  const x = tensor([3, Number.NaN, -0]).expand(4, 3);
  for (const descending of [false, true]) {
    const { values, indices } = x.sort(0, { descending });
    const dense = x.contiguous().sort(0, { descending });
    expect(equal(indices, dense.indices)).toBe(true);
    expect(values.isclose(dense.values, { equalNan: true }).all().item()).toBe(true);
    expect([values.stride(), indices.stride()]).toEqual([dense.values.stride(), dense.indices.stride()]);
    expect(x.argsort(0, { descending }).tolist()).toEqual(dense.indices.tolist());
  }
  expect(zeros([2, 1]).expand(2, 0).argsort(1).tolist()).toEqual([[], []]);
});

test("truth values have at most two different ones", () => {
  manualSeed(11);
  for (const x of [
    rand([5, 4]).gt(0.5),
    zeros([3]).gt(0),
    zeros([2, 2]).le(0),
    rand([4, 3]).gt(0.5).t(),
    tensor(true),
  ]) {
    const [values, inverse, counts] = x.unique({ returnInverse: true, returnCounts: true });
    const [wanted, ...others] = x.to(int64).unique({ returnInverse: true, returnCounts: true });
    expect(values.dtype).toBe(x.dtype);
    expect(values.to(int64).tolist()).toEqual(wanted.tolist());
    expect([inverse.tolist(), counts.tolist()]).toEqual(others.map((t) => t.tolist()));
    expect(inverse.stride()).toEqual((others[0] as Tensor).stride());
    expect(x.unique().tolist()).toEqual(values.tolist());
  }
});

test("a tensor equals itself where nothing in it is a NaN", () => {
  const [whole, nan] = [tensor([1n, 2n]), tensor([1, Number.NaN])];
  expect([equal(whole, whole), equal(whole, whole.view(2)), equal(whole, tensor([1n, 3n]))]).toEqual([
    true,
    true,
    false,
  ]);
  expect([equal(nan, nan), equal(tensor([1]), tensor([1]))]).toEqual([false, true]);
  expect(equal(whole.slice(0, 0, 1), whole.slice(0, 1, 2))).toBe(false);
});

test.each(["int8", "uint8", "int16", "int32", "int64"] as const)(
  "many %s that lie close together are counted",
  (dtype) => {
    manualSeed(12);
    const low = dtype === "uint8" ? 0 : -128;
    for (const [from, to] of [
      [low, low + 256],
      [low + 7, low + 9],
      [low + 100, low + 101],
    ] as const) {
      const x = randint(from, to, [64, 80]).to(dtype).t();
      const [values, inverse, counts] = x.unique({ returnInverse: true, returnCounts: true });
      const tally = new Map<number, number>();
      for (const n of x.tolist().flat().map(Number)) tally.set(n, (tally.get(n) ?? 0) + 1);
      const sorted = [...tally.keys()].sort((a, b) => a - b);
      expect(values.dtype.name).toBe(dtype);
      expect(values.tolist().map(Number)).toEqual(sorted);
      expect(counts.tolist().map(Number)).toEqual(sorted.map((n) => tally.get(n) as number));
      expect(equal(values.take(inverse), x)).toBe(true);
      expect(inverse.isContiguous()).toBe(true);
      expect(x.unique().tolist()).toEqual(values.tolist());
    }
    // Not even their least element is known of some, and numbers lose digits of others.
    for (const unsigned of ["uint16", "uint32", "uint64"] as const) {
      expect(randint(3, 5, [5000]).to(unsigned).unique().to("int64").tolist()).toEqual([3, 4]);
    }
    const large = tensor([2n ** 60n + 1n]).add(randint(0, 2, [5000]).to("int64"));
    expect(
      large
        .unique()
        .sub(tensor([2n ** 60n]))
        .tolist(),
    ).toEqual([1, 2]);
    // As far apart as there are elements: nothing is gained by counting.
    const wide = randint(-(2 ** 31), 2 ** 31 - 1, [5000]).to("int64");
    expect(wide.unique().tolist()).toEqual([...new Set(wide.tolist() as number[])].sort((a, b) => a - b));
  },
);

test("quantiles of long lines are selected, and are what sorted lines give", () => {
  manualSeed(13);
  for (const dtype of ["float32", "float64"] as const) {
    const x = randn([3, 200, 2]).to(dtype);
    x.select(2, 0).slice(1, 0, 3).fill_(Number.NEGATIVE_INFINITY);
    const holes = x.clone();
    holes.select(0, 1).select(0, 5).fill_(Number.NaN);
    for (const interpolation of ["linear", "lower", "higher", "midpoint", "nearest"] as const) {
      for (const q of [0, 0.004, 0.3, 0.5, 1]) {
        for (const keepdim of [false, true]) {
          for (const t of [x, holes]) {
            // Several quantiles are read from the sorted lines.
            const wanted = t.quantile(tensor([q, q], { dtype }), 1, { keepdim, interpolation }).select(0, 0);
            const found = t.quantile(q, 1, { keepdim, interpolation });
            expect(found.tolist()).toEqual(wanted.tolist());
            expect([found.size(), found.stride()]).toEqual([wanted.size(), wanted.contiguous().stride()]);
          }
        }
      }
    }
    const all = x.quantile(0.7);
    expect(all.tolist()).toEqual(
      x
        .flatten()
        .sort()
        .values.quantile(tensor([0.7], { dtype }))
        .tolist()[0] as number,
    );
    const followed = x.clone().requiresGrad_();
    const r = followed.quantile(0.3, 1);
    r.sum().backward();
    expect(r.tolist()).toEqual(x.quantile(0.3, 1).tolist());
    expect(followed.grad?.ne(0).sum().item()).toBe(12);
  }
});
