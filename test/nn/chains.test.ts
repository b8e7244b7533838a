// An activation behind a linear layer of a chain writes over that layer's sums: nothing but the memory shows it.
import { afterEach, describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";

const { nn, func } = z;
type Chain = InstanceType<typeof nn.Sequential>;

const ACTIVATIONS = { ReLU: () => new nn.ReLU(), Tanh: () => new nn.Tanh(), Sigmoid: () => new nn.Sigmoid() };

/** Each module called by itself, so that all results between them stay. */
const stepwise = (chain: Chain, x: z.Tensor): z.Tensor => [...chain].reduce((y, m) => m(y), x);

/** Bytes of results of `size` bytes that one call has at once, beyond what was there. */
function peak(run: () => unknown): number {
  Bun.gc(true);
  const before = z.cpu.memoryAllocated();
  z.cpu.resetPeakMemoryStats();
  run();
  return z.cpu.maxMemoryAllocated() - before;
}

for (const [name, make] of Object.entries(ACTIVATIONS)) {
  test(`${name}: values, gradients, version and graph are those of the modules one by one`, () => {
    z.manualSeed(1);
    const chain = new nn.Sequential(new nn.Linear(5, 7), make(), new nn.Linear(7, 3, { bias: false }), make());
    for (const x of [z.randn(4, 5), z.randn(2, 4, 5), z.randn(5), z.randn(0, 5), z.randn(5, 4).t()]) {
      const [a, b] = [chain(x), stepwise(chain, x)];
      expect(z.equal(a, b), String(x.shape)).toBe(true);
      expect([a.version, a.isView(), a.stride(), a.gradFn?.name]).toEqual([
        b.version,
        b.isView(),
        b.stride(),
        b.gradFn?.name,
      ]);
      const weights = [...chain.parameters()];
      const first = z.autograd.grad(a.sin().sum(), weights, { createGraph: true }) as z.Tensor[];
      const second = z.autograd.grad(b.sin().sum(), weights, { createGraph: true }) as z.Tensor[];
      first.forEach((g, i) => {
        expect(z.equal(g, second[i] as z.Tensor), `${x.shape} ${i}`).toBe(true);
      });
      const of = (all: z.Tensor[]) => z.autograd.grad((all[0] as z.Tensor).square().sum(), weights[2] as z.Tensor);
      expect(z.equal(of(first)[0] as z.Tensor, of(second)[0] as z.Tensor)).toBe(true);
    }
  });

  test(`${name}: inside of transforms`, () => {
    z.manualSeed(2);
    const chain = new nn.Sequential(new nn.Linear(3, 4), make(), new nn.Linear(4, 2));
    const x = z.randn(6, 3);
    const one = (run: (x: z.Tensor) => z.Tensor) => [
      func.vmap(run)(x),
      func.vmap(func.grad((v: z.Tensor) => run(v).sum()))(x),
      func.jacrev(run)(x.at(0)),
      func.jvp(run, [x], [x.cos()])[1],
    ];
    const [a, b] = [one((v) => chain(v)), one((v) => stepwise(chain, v))];
    a.forEach((r, i) => {
      expect(z.allclose(r as z.Tensor, b[i] as z.Tensor, { rtol: 1e-6, atol: 1e-7 }), String(i)).toBe(true);
    });
  });
}

describe("memory", () => {
  const [rows, wide] = [512, 512];
  const bytes = rows * wide * 4;

  test("the chain has one block where the modules one by one have two", () => {
    const chain = new nn.Sequential(new nn.Linear(wide, wide), new nn.ReLU());
    const x = z.randn(rows, wide);
    for (const grad of [true, false]) {
      using _ = z.setGradEnabled(grad);
      expect(peak(() => chain(x))).toBe(bytes);
      expect(peak(() => stepwise(chain, x))).toBe(2 * bytes);
    }
  });
});

describe("what somebody else may have stays", () => {
  const x = z.ones(2, 2);
  const negative = (): InstanceType<typeof nn.Linear> => {
    const m = new nn.Linear(2, 2);
    z.noGrad(() => {
      m.weight.fill_(-1);
      m.bias?.fill_(0);
    });
    return m;
  };
  const { forward } = nn.Linear.prototype;
  afterEach(() => {
    nn.Linear.prototype.forward = forward;
  });
  const kept: z.Tensor[] = [];
  const keep = (t: z.Tensor): z.Tensor => {
    kept.push(t);
    return t;
  };
  const check = (chain: Chain): void => {
    kept.length = 0;
    expect(chain(x).tolist()).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(kept.map((t) => t.tolist())).toEqual([
      [
        [-2, -2],
        [-2, -2],
      ],
    ]);
  };

  test("a hook of the layer", () => {
    const m = negative();
    m.registerForwardHook((_, __, output) => void keep(output));
    check(new nn.Sequential(m, new nn.ReLU()));
  });
  test("a hook of the activation", () => {
    const m = new nn.ReLU();
    m.registerForwardPreHook((_, [input]) => void keep(input));
    check(new nn.Sequential(negative(), m));
  });
  test("a class of one's own", () => {
    class Keeping extends nn.Linear {
      override forward(input: z.Tensor): z.Tensor {
        return keep(super.forward(input));
      }
    }
    const m = new Keeping(2, 2);
    m.loadStateDict(negative().stateDict());
    check(new nn.Sequential(m, new nn.ReLU()));
  });
  test("a forward of one object's own, and of the class", () => {
    const m = negative();
    m.forward = (input) => keep(forward.call(m, input));
    check(new nn.Sequential(m, new nn.ReLU()));
    nn.Linear.prototype.forward = function (input) {
      return keep(forward.call(this, input));
    };
    check(new nn.Sequential(negative(), new nn.ReLU()));
  });
  test("a module between, and the input", () => {
    class Passing extends nn.Module {
      override forward(input: z.Tensor): z.Tensor {
        return keep(input);
      }
    }
    check(new nn.Sequential(negative(), new Passing(), new nn.ReLU()));
    const input = z.full([2], -1);
    expect(new nn.Sequential(new nn.ReLU())(input).tolist()).toEqual([0, 0]);
    expect(input.tolist()).toEqual([-1, -1]);
  });
  test("who looks on at the operators sees those of the modules", () => {
    const chain = new nn.Sequential(negative(), new nn.ReLU());
    const names = z.profiler.profile(() => chain(x)).events.map((e) => e.name);
    expect(names.filter((n) => n.includes("relu"))).toEqual(["aten::relu"]);
  });
  test("an activation that writes into its input says so", () => {
    expect(new nn.Sequential(negative(), new nn.ReLU({ inplace: true }))(x).version).toBe(1);
  });
  test("what an activation refuses", () => {
    const chain = new nn.Sequential(new nn.Linear(2, 2, { dtype: z.complex64 }), new nn.ReLU());
    expect(() => chain(x.to(z.complex64))).toThrow("clamp is not supported for complex types");
  });
});
