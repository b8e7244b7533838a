// Short lines have ways of their own to be sorted and searched, by vectors. Every length up to where these end, with
// many equal values, both zeros and NaN, beside a plain stable sort.
import { expect, test } from "bun:test";
import { type DTypeLike, tensor } from "../../src/index.ts";

const DTYPES: DTypeLike[] = ["float32", "float64", "bfloat16", "int32", "int64", "uint8"];
const LENGTHS = Array.from({ length: 70 }, (_, i) => i + 1);

let state = 1;
const random = (n: number): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
};

function line(n: number, floating: boolean): number[] {
  const special = [Number.NaN, 0, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return Array.from({ length: n }, () => {
    if (floating && random(4) === 0) return special[random(special.length)] as number;
    return random(2 * n) - (floating ? n : 0);
  });
}

/** NaN is the greatest, and zeros are equal. */
function compare(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

const places = (values: number[], descending: boolean): number[] =>
  values
    .map((_, i) => i)
    .sort((i, j) => (descending ? -1 : 1) * compare(values[i] as number, values[j] as number) || i - j);

function each(check: (dtype: DTypeLike, n: number, rows: number[][]) => void): void {
  for (const dtype of DTYPES) {
    const floating = String(dtype).includes("float");
    for (const n of LENGTHS) check(dtype, n, [line(n, floating), line(n, floating), line(n, floating)]);
  }
}

test("sort gives every value its place, equal ones in their order", () => {
  each((dtype, n, rows) => {
    const x = tensor(rows, { dtype });
    for (const descending of [false, true]) {
      const { values, indices } = x.sort({ dim: 1, descending });
      const wanted = rows.map((row) => places(row, descending));
      expect(indices.tolist(), `${dtype} ${n}`).toEqual(wanted);
      const sorted = wanted.map((list, r) => list.map((i) => (rows[r] as number[])[i] as number));
      expect(values.tolist(), `${dtype} ${n}`).toEqual(sorted);
      const turned = tensor(rows, { dtype }).t().contiguous().t().sort({ dim: 1, descending });
      expect(turned.indices.tolist(), `${dtype} ${n}, transposed`).toEqual(wanted);
    }
  });
});

test("topk gives the first of the sorted line", () => {
  each((dtype, n, rows) => {
    const x = tensor(rows, { dtype });
    for (const largest of [true, false]) {
      const wanted = rows.map((row) => places(row, largest));
      for (const k of new Set([0, 1, 3, 8, 9, n - 1, n])) {
        if (k < 0 || k > n) continue;
        const { values, indices } = x.topk(k, { largest });
        const first = wanted.map((list) => list.slice(0, k));
        expect(indices.tolist(), `${dtype} ${n} ${k}`).toEqual(first);
        const found = first.map((list, r) => list.map((i) => (rows[r] as number[])[i] as number));
        expect(values.tolist(), `${dtype} ${n} ${k}`).toEqual(found);
      }
    }
  });
});

test("max and min give the first extreme, NaN before all, with its own sign of zero", () => {
  each((dtype, n, rows) => {
    const x = tensor(rows, { dtype });
    for (const largest of [true, false]) {
      const { values, indices } = largest ? x.max(1) : x.min(1);
      const wanted = rows.map((row) => {
        const nan = row.findIndex(Number.isNaN);
        return nan >= 0 ? nan : (places(row, largest)[0] as number);
      });
      expect(indices.tolist(), `${dtype} ${n}`).toEqual(wanted);
      expect(values.tolist(), `${dtype} ${n}`).toEqual(wanted.map((i, r) => (rows[r] as number[])[i] as number));
    }
  });
});
