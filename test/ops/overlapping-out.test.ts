// What is written through `out` over elements that are still read: which operators refuse it, as torch does.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";

const OVERLAP = "some elements of the input tensor and the written-to tensor refer to a single memory location";
const { float32, int64, ones, zeros } = z;

/** A part of one line of numbers. */
function part(line: z.Tensor, from: number, shape: number[]): z.Tensor {
  return line
    .narrow(
      0,
      from,
      shape.reduce((n, m) => n * m, 1),
    )
    .view(shape);
}

const two = ones(2, 2);
const batch = ones(1, 2, 2);
const places = (...shape: number[]) => zeros(shape, { dtype: int64 });

/** The operator on six numbers from place 4 on, what it gets written to, and whether it may write exactly to those. */
const CALLS: [
  name: string,
  from: number[],
  to: number[],
  same: boolean,
  call: (x: z.Tensor, out: z.Tensor) => unknown,
][] = [
  ["exp", [6], [6], true, (x, out) => z.exp(x, { out })],
  ["cumsum", [6], [6], true, (x, out) => z.cumsum(x, 0, { out })],
  ["cumprod of rows", [2, 3], [2, 3], true, (x, out) => z.cumprod(x, 1, { out })],
  ["diff", [6], [5], false, (x, out) => z.diff(x, { out })],
  ["max", [2, 3], [3], false, (x, out) => z.max(x, 0, { out: [out, places(3)] })],
  ["min of rows", [3, 2], [3], false, (x, out) => z.min(x, 1, { out: [out, places(3)] })],
  ["sort", [6], [6], true, (x, out) => z.sort(x, { out: [out, places(6)] })],
  ["topk of all", [6], [6], true, (x, out) => z.topk(x, 6, { out: [out, places(6)] })],
  ["topk", [6], [3], false, (x, out) => z.topk(x, 3, { out: [out, places(3)] })],
  ["addmm", [2, 2], [2, 2], true, (x, out) => z.addmm(x, two, two, { out })],
  ["addbmm", [2, 2], [2, 2], true, (x, out) => z.addbmm(x, batch, batch, { out })],
  ["baddbmm", [1, 2, 2], [1, 2, 2], true, (x, out) => z.baddbmm(x, batch, batch, { out })],
  ["addmv", [2], [2], true, (x, out) => z.addmv(x, two, ones(2), { out })],
  ["addr", [2, 2], [2, 2], true, (x, out) => z.addr(x, ones(2), ones(2), { out })],
];

for (const [name, from, to, same, call] of CALLS) {
  test(`${name} is not written over what it reads`, () => {
    const line = z.arange(16, { dtype: float32 });
    const before = line.clone();
    for (const shift of [-1, 1]) expect(() => call(part(line, 4, from), part(line, 4 + shift, to))).toThrow(OVERLAP);
    if (!same) expect(() => call(part(line, 4, from), part(line, 4, to))).toThrow(OVERLAP);
    expect(z.equal(line, before)).toBe(true);
    // Apart from what is read, and exactly over it, the same comes out.
    const apart = part(zeros(16), 4, to);
    call(part(line, 4, from), apart);
    const over = part(line, same ? 4 : 10, to);
    call(part(line, 4, from), over);
    expect(over.tolist()).toEqual(apart.tolist());
  });
}

test("sums and extremes of all read before they write, where torch reads what it has written", () => {
  const line = z.arange(8, { dtype: float32 });
  z.sum(part(line, 0, [6]), 0, { out: part(line, 3, []) });
  expect(line.tolist()).toEqual([0, 1, 2, 15, 4, 5, 6, 7]);
  z.amax(part(line, 0, [2, 4]), 0, { out: part(line, 2, [4]) });
  expect(line.tolist()).toEqual([0, 1, 4, 5, 6, 15, 6, 7]);
});

test("differences of several orders are written once, at the end", () => {
  const line = z.tensor([1, 4, 9, 16, 25, 36, 0, 0]);
  z.diff(part(line, 0, [6]), { n: 2, out: part(line, 2, [4]) });
  expect(line.tolist()).toEqual([1, 4, 2, 2, 2, 2, 0, 0]);
});

test("products read a factor that is out as well as it was before it got other sizes", () => {
  const x = () => z.arange(1, 7, { dtype: float32 }).view(2, 3);
  const products: [(x: z.Tensor, out?: z.Tensor) => z.Tensor, () => z.Tensor][] = [
    [(a, out) => z.mm(a, a.t(), { out }), x],
    [(a, out) => z.mm(a.t(), a, { out }), x],
    [(a, out) => z.addmm(two, a, a.t(), { out }), x],
    [(a, out) => z.bmm(a, a.transpose(1, 2), { out }), () => x().view(1, 2, 3)],
    [(a, out) => z.baddbmm(batch, a, a.transpose(1, 2), { out }), () => x().view(1, 2, 3)],
    [(a, out) => z.mv(x(), a, { out }), () => ones(3)],
    [(a, out) => z.addmv(ones(2), x(), a, { out }), () => ones(3)],
  ];
  for (const [product, make] of products) {
    const wanted = product(make());
    const a = make();
    expect(product(a, a)).toBe(a);
    expect(a.tolist()).toEqual(wanted.tolist());
  }
});
