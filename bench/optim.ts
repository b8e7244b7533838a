// A step of an optimiser: over many small parameters, where calls cost, and over a large one, where memory does.
import { nn, optim, randn } from "zensor";
import { type Case, loop } from "./case.ts";

type Make = (params: nn.Parameter[]) => optim.Optimizer;

/** A case for `count` parameters of `size` elements; `python` makes the optimiser of `ps` there. */
function step(name: string, count: number, size: number, make: Make, python: string): Case {
  return {
    name,
    ours() {
      const params = Array.from({ length: count }, () => new nn.Parameter(randn(size)));
      for (const p of params) p.grad = randn(size);
      const optimizer = make(params);
      return loop(() => optimizer.step());
    },
    python: [
      `ps = [torch.nn.Parameter(torch.randn(${size})) for _ in range(${count})]
for p in ps: p.grad = torch.randn(${size})
o = torch.optim.${python}`,
      "o.step()",
    ],
  };
}

export const cases: readonly Case[] = [
  step("AdamW, 200 x 64", 200, 64, (ps) => new optim.AdamW(ps), "AdamW(ps)"),
  step("AdamW, 200 x 64, foreach", 200, 64, (ps) => new optim.AdamW(ps, { foreach: true }), "AdamW(ps, foreach=True)"),
  step("AdamW, 200 x 64, fused", 200, 64, (ps) => new optim.AdamW(ps, { fused: true }), "AdamW(ps, fused=True)"),
  step("AdamW, 10,000,000", 1, 1e7, (ps) => new optim.AdamW(ps), "AdamW(ps)"),
  step("AdamW, 10,000,000, fused", 1, 1e7, (ps) => new optim.AdamW(ps, { fused: true }), "AdamW(ps, fused=True)"),
  step("Adam, 200 x 64", 200, 64, (ps) => new optim.Adam(ps), "Adam(ps)"),
  step("SGD, momentum, 200 x 64", 200, 64, (ps) => new optim.SGD(ps, { momentum: 0.9 }), "SGD(ps, momentum=0.9)"),
  step("SGD, momentum, 10,000,000", 1, 1e7, (ps) => new optim.SGD(ps, { momentum: 0.9 }), "SGD(ps, momentum=0.9)"),
  step("RMSprop, 200 x 64", 200, 64, (ps) => new optim.RMSprop(ps), "RMSprop(ps)"),
  step("Adagrad, 200 x 64", 200, 64, (ps) => new optim.Adagrad(ps), "Adagrad(ps)"),
];
