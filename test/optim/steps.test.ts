// Steps in one native call give what the operators give, whatever the tensors look like.
import { describe, expect, test } from "bun:test";
import {
  type DTypeName,
  getNumThreads,
  manualSeed,
  nn,
  noGrad,
  optim,
  randn,
  setNumThreads,
  type Tensor,
  tensor,
  zeros,
} from "../../src/index.ts";

type Make = (params: Tensor[], options: object) => optim.Optimizer;

// What is added to a denominator is no zero in float16, whose results would be no numbers.
const MAKERS: readonly [string, Make, object[]][] = [
  ["SGD", (p, o) => new optim.SGD(p, o), [{}, { momentum: 0.9, nesterov: true, weightDecay: 0.1 }, { maximize: true }]],
  [
    "Adam",
    (p, o) => new optim.Adam(p, { eps: 1e-3, ...o }),
    [{}, { amsgrad: true, weightDecay: 0.1 }, { betas: [0.3, 0.4] }],
  ],
  ["AdamW", (p, o) => new optim.AdamW(p, { eps: 1e-3, ...o }), [{}, { maximize: true, weightDecay: 0.3 }]],
  [
    "RMSprop",
    (p, o) => new optim.RMSprop(p, { eps: 1e-3, ...o }),
    [{}, { momentum: 0.9, centered: true }, { centered: true }],
  ],
  ["Adagrad", (p, o) => new optim.Adagrad(p, o), [{ lrDecay: 0.1, initialAccumulatorValue: 0.5 }]],
];

/** A parameter in some layout, with its elements in the order of `values`. */
function laidOut(values: Tensor, layout: string): Tensor {
  const rows = values.view(2, -1);
  switch (layout) {
    case "turned":
      return rows.t().contiguous().clone().t();
    case "gaps":
      return zeros(2, 2 * (rows.shape[1] as number), { dtype: values.dtype })
        .at("...", "::2")
        .copy_(rows);
    case "flipped": {
      const wide = zeros(3, (rows.shape[1] as number) + 1, { dtype: values.dtype });
      return wide
        .narrow(0, 1, 2)
        .narrow(1, 1, rows.shape[1] as number)
        .copy_(rows);
    }
    default:
      return rows.clone();
  }
}

/** The parameters after some steps. A learning rate that is a tensor goes through operators. */
function train(make: Make, options: object, lr: number | Tensor, start: Tensor[], layouts: string[], seed: number) {
  const params = start.map((t, i) => laidOut(t, layouts[i] as string).requiresGrad_());
  const optimizer = make(params, { lr, ...options });
  manualSeed(seed);
  for (let i = 0; i < 3; i++) {
    for (const p of params) p.grad = randn(p.shape, { dtype: p.dtype });
    optimizer.step();
  }
  return params.map((p) => p.detach().contiguous());
}

describe("one call for a list", () => {
  for (const [name, make, all] of MAKERS) {
    test(name, () => {
      for (const [k, options] of all.entries()) {
        for (const dtype of ["float32", "float64", "bfloat16", "float16"] as DTypeName[]) {
          manualSeed(k);
          const start = [2, 14, 66, 3000].map((n) => randn(n, { dtype }));
          const lr = tensor(0.0625, { dtype: "float64" });
          const plain = train(make, options, lr, start, ["", "", "", ""], 5);
          for (const layouts of [
            ["", "", "", ""],
            ["turned", "gaps", "flipped", "turned"],
            ["gaps", "flipped", "", "gaps"],
          ]) {
            const got = train(make, options, 0.0625, start, layouts, 5);
            got.forEach((t, i) => {
              expect(t.equal(plain[i] as Tensor) || [name, options, dtype, layouts[i], i]).toBe(true);
            });
          }
        }
      }
    });
  }

  test("does not depend on the number of threads", () => {
    const before = getNumThreads();
    manualSeed(1);
    const start = [200_000, 6, 90_002].map((n) => randn(n));
    const make: Make = (p, o) => new optim.AdamW(p, o);
    try {
      const [one, two] = [1, 2].map((n) => {
        setNumThreads(n);
        return train(make, { amsgrad: true }, 0.1, start, ["", "turned", "gaps"], 3);
      }) as [Tensor[], Tensor[]];
      for (const [i, t] of one.entries()) expect(t.equal(two[i] as Tensor)).toBe(true);
    } finally {
      setNumThreads(before);
    }
  });

  test("parameters that share memory are changed one after the other", () => {
    const whole = zeros(4);
    const [a, b] = [whole.narrow(0, 0, 3), whole.narrow(0, 1, 3)].map((t) => new nn.Parameter(t)) as [Tensor, Tensor];
    const optimizer = new optim.SGD([a, b], { lr: 1 });
    for (const p of [a, b]) p.grad = tensor([1, 1, 1]);
    optimizer.step();
    expect(whole.tolist()).toEqual([-1, -2, -2, -1]);
  });

  test("views of one vector that lie apart take one call", () => {
    const model = new nn.Sequential(new nn.Linear(3, 2), new nn.Linear(2, 1));
    const vector = nn.utils.parametersToVector(model.parameters()).detach();
    nn.utils.vectorToParameters(vector, model.parameters());
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.5 });
    for (const p of model.parameters()) p.grad = p.detach().clone();
    const wanted = vector.mul(0.5);
    optimizer.step();
    expect(vector.equal(wanted)).toBe(true);
  });

  test("complex parameters go as pairs of numbers", () => {
    const z = new nn.Parameter(tensor([3, 4]).view(1, 2).contiguous().viewAsComplex());
    z.grad = z.detach().clone();
    new optim.Adam([z], { lr: 0.5 }).step();
    expect(z.detach().viewAsReal().tolist()).toEqual([[2.5, 3.5]]);
  });

  test("counts as a write", () => {
    const p = new nn.Parameter(tensor([2]));
    const loss = p.mul(p).sum();
    p.grad = tensor([1]);
    new optim.SGD([p]).step();
    expect(() => loss.backward()).toThrow("modified by an inplace operation");
    expect(() => noGrad(() => new optim.SGD([p]).step())).not.toThrow();
  });
});
