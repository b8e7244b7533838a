// Every second element and both directions are read by vectors: each element type, each length up to several vectors,
// beside plain indexing.
import { expect, test } from "bun:test";
import { arange, type DTypeLike, type Tensor } from "../../src/index.ts";

const DTYPES: DTypeLike[] = ["uint8", "int16", "bfloat16", "float32", "int64", "float64", "complex128"];
const LENGTHS = [...Array.from({ length: 40 }, (_, i) => i), 63, 64, 65, 127, 128, 129, 130, 257, 1025];

/** Two rows that begin at the first element and end at the last one of their memory. */
function rows(dtype: DTypeLike, n: number, step: number): { x: Tensor; wanted: number[][] } {
  const length = n === 0 ? 0 : (n - 1) * Math.abs(step) + 1;
  const whole = arange(2 * length)
    .remainder(97)
    .to(dtype)
    .reshape([2, length]);
  const x = Math.abs(step) === 1 ? whole : whole.slice(1, 0, length, Math.abs(step));
  const wanted = [0, 1].map((r) => Array.from({ length: n }, (_, i) => (r * length + i * Math.abs(step)) % 97));
  if (step < 0) for (const row of wanted) row.reverse();
  return { x, wanted };
}

const numbers = (x: Tensor): unknown => x.to("float64").tolist();

for (const step of [2, 3, -1, -2, -3]) {
  test(`a step of ${step}: copies, conversions, operators, sums, running totals`, () => {
    for (const dtype of DTYPES) {
      for (const n of LENGTHS) {
        const { x, wanted } = rows(dtype, n, step);
        const label = `${dtype} ${n}`;
        // A flip reads backwards while it copies.
        const read = step < 0 ? x.flip(1) : x.clone();
        expect(numbers(read), label).toEqual(wanted);
        if (step < 0) continue;
        for (const other of ["float32", "int32", "uint8"]) {
          if (dtype === "complex128") continue;
          expect(numbers(x.to(other as DTypeLike, { copy: true })), label).toEqual(wanted);
        }
        expect(numbers(x.add(1)), label).toEqual(wanted.map((row) => row.map((v) => v + 1)));
        expect(numbers(x.neg().neg()), label).toEqual(wanted);
        const wide = dtype === "complex128" ? "complex128" : "float64";
        expect(numbers(x.sum(1, { dtype: wide })), label).toEqual(wanted.map((row) => row.reduce((a, b) => a + b, 0)));
        const totals = wanted.map((row) => {
          let total = 0;
          return row.map((v) => (total += v));
        });
        expect(numbers(x.cumsum(1, { dtype: wide })), label).toEqual(totals);
        if (dtype !== "complex128") expect(numbers(x.cumsum(1, { dtype: "int64" })), label).toEqual(totals);
        if (n === 0 || dtype === "complex128") continue;
        const most = wanted.map((row) => row.indexOf(Math.max(...row)));
        expect(x.argmax(1).tolist(), label).toEqual(most);
      }
    }
  });
}

test("running products of integers wrap, over vectors and what is left", () => {
  for (const n of LENGTHS) {
    const x = arange(n).remainder(7).add(3).mul(arange(n).remainder(2).mul(-2).add(1));
    let total = 1n;
    const wanted = (x.tolist() as number[]).map((v) => (total = BigInt.asIntN(64, total * BigInt(v))));
    const found = Array.from(x.cumprod(0).typedArray() as BigInt64Array);
    expect(found, `${n}`).toEqual(wanted);
  }
});

test("one element for a row, one row for all, both: copies and conversions", () => {
  for (const dtype of DTYPES) {
    for (const n of [1, 2, 15, 16, 17, 64, 130]) {
      const x = arange(n).remainder(97).to(dtype);
      const row = Array.from({ length: n }, (_, i) => i % 97);
      for (const [name, seen, wanted] of [
        ["rows", x.view(n, 1).expand(n, 20), row.map((v) => Array(20).fill(v))],
        ["columns", x.expand(20, n), Array(20).fill(row)],
        ["of planes", x.view(1, n, 1).expand(3, n, 17), Array(3).fill(row.map((v) => Array(17).fill(v)))],
        ["turned", x.view(n, 1).expand(n, 20).t(), Array(20).fill(row)],
        ["one for all", x.narrow(0, n - 1, 1).expand(18, 19), Array(18).fill(Array(19).fill(row.at(-1)))],
      ] as const) {
        const label = `${name} ${dtype} ${n}`;
        expect(numbers(seen.contiguous()), label).toEqual(wanted as never);
        if (dtype === "complex128") continue;
        for (const other of ["float32", "int32", "uint8"]) {
          expect(numbers(seen.to(other as DTypeLike, { copy: true }).contiguous()), label).toEqual(wanted as never);
        }
      }
    }
  }
});
