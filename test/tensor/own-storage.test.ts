// Reductions whose `out` lies on their operand's own storage: torch's depend on the order in which it reads and writes;
// here they are those of a copy of the operand.
import { expect, test } from "bun:test";
import { arange, slice, type Tensor } from "../../src/index.ts";

type Reduction = (x: Tensor, dim: number, out?: Tensor) => Tensor;
const given = (out?: Tensor) => (out === undefined ? {} : { out });

const REDUCTIONS: Record<string, Reduction> = {
  sum: (x, dim, out) => x.sum(dim, given(out)),
  mean: (x, dim, out) => x.mean(dim, given(out)),
  prod: (x, dim, out) => x.prod(dim, given(out)),
  amax: (x, dim, out) => x.amax(dim, given(out)),
  var: (x, dim, out) => x.var(dim, given(out)),
  std: (x, dim, out) => x.std(dim, given(out)),
};
const OPERANDS: Record<string, () => Tensor> = {
  contiguous: () => arange(1, 10).view([3, 3]).double(),
  transposed: () => arange(1, 10).view([3, 3]).double().t(),
  "every second": () =>
    arange(1, 19)
      .view([3, 6])
      .double()
      .at("...", slice(null, null, 2)),
};
const PARTS: Record<string, (x: Tensor) => Tensor> = {
  "its first row": (x) => x.select(0, 0),
  "its last row": (x) => x.select(0, 2),
  "its first column": (x) => x.select(1, 0),
  "its diagonal": (x) => x.diagonal(),
};

for (const [name, reduce] of Object.entries(REDUCTIONS)) {
  test(`${name} into a part of its operand`, () => {
    for (const [layout, make] of Object.entries(OPERANDS)) {
      for (const [part, of] of Object.entries(PARTS)) {
        for (const dim of [0, 1]) {
          const x = make();
          const want = reduce(x.clone(), dim).tolist();
          const out = of(x);
          expect(reduce(x, dim, out)).toBe(out);
          const what = `${layout}, ${part}, dim ${dim}`;
          expect(`${what}: ${out.tolist()}`).toBe(`${what}: ${want}`);
        }
      }
    }
  });
}
