// Reductions whose `out` lies on their operand's own storage: torch's depend on the order in which it reads and writes;
// here they are those of a copy of the operand.
import { expect, test } from "bun:test";
import { arange, slice, type Tensor } from "../../src/index.ts";

type Reduction = (x: Tensor, out?: Tensor) => Tensor;
const given = (out?: Tensor) => (out === undefined ? {} : { out });

const REDUCTIONS: Record<string, Reduction> = {
  sum: (x, out) => x.sum(0, given(out)),
  mean: (x, out) => x.mean(0, given(out)),
  prod: (x, out) => x.prod(0, given(out)),
  amax: (x, out) => x.amax(0, given(out)),
  var: (x, out) => x.var(0, given(out)),
  std: (x, out) => x.std(0, given(out)),
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
  "its first column": (x) => x.select(1, 0),
  "its diagonal": (x) => x.diagonal(),
};

for (const [name, reduce] of Object.entries(REDUCTIONS)) {
  test(`${name} into a part of its operand`, () => {
    for (const [layout, make] of Object.entries(OPERANDS)) {
      for (const [part, of] of Object.entries(PARTS)) {
        const x = make();
        const want = reduce(x.clone()).tolist();
        const out = of(x);
        expect(reduce(x, out)).toBe(out);
        expect(`${layout}, ${part}: ${out.tolist()}`).toBe(`${layout}, ${part}: ${want}`);
      }
    }
  });
}
