// Sorting, searching, and what is picked of sorted lines, on a device: what the CPU gives, ties and NaN included.
import { describe, setDefaultTimeout, test } from "bun:test";
import * as z from "../../src/index.ts";
import { isWhole } from "../campaign.ts";
import { available, both, expectNoRaces, LAYOUTS } from "./both.ts";

// Sorted lines of thousands take the stand-in a while.
setDefaultTimeout(60_000);

/** Numbers in no order; about `distinct` different ones. */
function mixed(shape: number[], distinct = 1000): z.Tensor {
  const n = shape.reduce((a, b) => a * b, 1);
  return z
    .arange(n)
    .mul(7919)
    .remainder(distinct)
    .sub(Math.floor(distinct / 3))
    .view(shape);
}

const DTYPES = [
  "float32",
  "float64",
  "bfloat16",
  "float16",
  "int8",
  "uint8",
  "int16",
  "int32",
  "int64",
  "bool",
  "uint16",
  "uint32",
  "uint64",
] as const;
const layouts = Object.entries(LAYOUTS);

/** Both zeros, both infinities, NaN of both signs among others. */
const SPECIAL = [0, -0, Number.NaN, Infinity, -Infinity, 1, -1, Number.NaN, 1e-40, -1e-40, 3e38, -0, 0, 2];

// Lines of up to 1024 elements are sorted in a block's shared memory, several in a block; longer ones in tiles of 2048.
const LENGTHS = [1, 2, 3, 31, 32, 33, 64, 100, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049].concat(
  isWhole ? [4097, 10_000] : [],
);

describe.skipIf(!available)("sort", () => {
  test.each(LENGTHS)("lines of %d", (n) => {
    for (const dtype of ["float32", "int64"] as const) {
      const x = mixed([n > 2000 ? 2 : 3, n], 700).to(dtype);
      both((t) => [...t.sort(1)], [x]);
      both((t) => [...t.sort({ dim: 1, descending: true })], [x]);
      both((t) => [...t.t().sort(0)], [x]);
      both((t) => t.argsort(1), [x]);
    }
  });

  test.each(DTYPES)("of %s", (dtype) => {
    for (const n of [7, 300, 3000]) {
      const x = mixed([4, n], 250)
        .remainder(200)
        .to(dtype as "float32");
      both((t) => [...t.sort(1)], [x]);
      both((t) => [...t.sort({ dim: 1, descending: true })], [x]);
      if (dtype !== "bool") both((t) => [...t.topk(5)], [x]);
    }
  });

  test.each(layouts)("%s, along every dimension", (_, layout) => {
    const x = mixed([5, 40, 6], 90).float();
    for (const dim of [0, 1, 2]) both((t) => [...t.sort(dim)], [x], layout);
    both((t) => [...t.at("1:", "3:").sort(1)], [x], layout);
    both((t) => [...t.expand(3, 5, 40, 6).sort(2)], [x], layout);
  });

  test.each(["float32", "float64", "bfloat16", "float16"] as const)("NaN, zeros and infinities of %s", (dtype) => {
    for (const n of [1, 90, 300]) {
      const x = z.tensor(SPECIAL, { dtype: "float64" }).to(dtype).repeat(n);
      for (const descending of [false, true]) both((t) => [...t.sort({ dim: 0, descending })], [x]);
      both((t) => [...t.topk(4)], [x]);
      both((t) => [...t.topk(4, { largest: false })], [x]);
    }
  });

  test("nothing, one element, more dimensions than a kernel takes", () => {
    both((t) => [...t.sort()], [z.tensor(5)]);
    both((t) => [...t.at("0:0").sort(0)], [mixed([4, 3])]);
    both((t) => [...t.at(":", "0:0").sort(0)], [mixed([4, 3])]);
    const shape = Array.from({ length: 14 }, () => 2);
    const turned = shape.map((_, i) => (i * 5) % 14);
    both((t) => [...t.view(shape).permute(turned).sort(4)], [mixed([2 ** 14])]);
  });

  test("into tensors that are given", () => {
    both(
      (t) => {
        const out = [z.zeros(9, 4, { device: t.device }).t(), z.zeros(9, 4, { dtype: "int64", device: t.device }).t()];
        z.sort(t, { dim: 1, out: out as [z.Tensor, z.Tensor] });
        return out;
      },
      [mixed([4, 9]).float()],
    );
  });
});

describe.skipIf(!available)("topk", () => {
  // Of long lines each chunk gives its best, up to 256; more are found by sorting the whole line.
  test.each([1, 2, 17, 255, 256, 257, 1000])("%d of lines", (k) => {
    for (const n of [1000, 1024, 1025, 3000, 20_000]) {
      const x = mixed([2, n], 5000).float();
      both((t) => [...t.topk(k)], [x]);
      both((t) => [...t.topk(k, { largest: false })], [x]);
      both((t) => [...t.t().topk(k, { dim: 0 })], [x]);
    }
  });

  test("where all are equal", () => {
    both((t) => [...t.topk(300)], [z.ones(2, 5000)]);
    both((t) => [...t.topk(3)], [z.ones(2, 5000)]);
    both((t) => [...t.topk(3)], [z.full([2, 5000], Number.NaN)]);
    both((t) => [...t.topk(0)], [z.ones(2, 5)]);
  });
});

describe.skipIf(!available)("single elements of lines", () => {
  test.each([1, 2, 9, 64, 65, 1000, 1024, 1025].concat(isWhole ? [5000] : []))("of %d", (n) => {
    for (const dtype of n > 1024
      ? (["float16", "int64"] as const)
      : (["float32", "float64", "int16", "uint8"] as const)) {
      const x = mixed([2, n], 120).remainder(100).to(dtype);
      both((t) => [...t.median(1)], [x]);
      both((t) => [...t.nanmedian(1)], [x]);
      both((t) => [...t.mode(1)], [x]);
      both((t) => t.median(), [x]);
      for (const k of [1, Math.ceil(n / 3), n]) both((t) => [...t.kthvalue(k, 1)], [x]);
      both((t) => [...t.t().kthvalue(1, { dim: 0, keepdim: true })], [x]);
    }
  });

  test("beside NaN", () => {
    const line = (list: number[], n: number) => z.tensor(list, { dtype: "float32" }).repeat(n);
    for (const n of [1, 30, 200]) {
      for (const list of [SPECIAL, [Number.NaN, Number.NaN], [1, Number.NaN, 3, 3, 2]]) {
        both((t) => [...t.median(0)], [line(list, n)]);
        both((t) => [...t.nanmedian(0)], [line(list, n)]);
        both((t) => [...t.mode(0)], [line(list, n)]);
        both((t) => [...t.kthvalue(2, 0)], [line(list, n)]);
      }
    }
  });
});

describe.skipIf(!available)("search", () => {
  test.each([0, 1, 2, 7, 255, 257, 3000])("in rows of %d", (n) => {
    for (const dtype of ["float32", "float64", "int64", "int32", "float16"] as const) {
      const rows = mixed([3, n], 900).remainder(500).to(dtype).sort(1)[0] as z.Tensor;
      const wanted = mixed([3, 50], 600).remainder(500).to(dtype);
      both((r, v) => z.searchsorted(r as z.Tensor, v as z.Tensor), [rows, wanted]);
      both((r, v) => z.searchsorted(r as z.Tensor, v as z.Tensor, { right: true, outInt32: true }), [rows, wanted]);
      both((r, v) => z.bucketize(v as z.Tensor, (r as z.Tensor).at(0)), [rows, wanted]);
      both((r, v) => z.isin(v as z.Tensor, r as z.Tensor), [rows, wanted]);
    }
  });

  test("through an order, of NaN, of many values", () => {
    const x = mixed([4, 200]).float();
    both((t) => z.searchsorted(t, t.at(":", "::3"), { sorter: t.argsort(1) }), [x]);
    const special = z.tensor([-Infinity, 0, 2, Number.NaN]);
    both((t) => z.searchsorted(t, z.tensor(SPECIAL).to(t.device)), [special]);
    both((t) => z.searchsorted(t, z.tensor(SPECIAL).to(t.device), { right: true }), [special]);
    both((t) => z.isin(t, z.tensor(SPECIAL).to(t.device), { invert: true }), [special]);
    both((t) => z.bucketize(t, z.tensor([1.5, 100, 400]).to(t.device)), [mixed([70_000])]);
  });
});

if (available) expectNoRaces();
