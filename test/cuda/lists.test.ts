// Steps over lists on a device, emulated: bit by bit what the CPU gives, in one launch a list.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as O from "../../generated/ops.ts";
import * as z from "../../src/index.ts";
import { available, expectNoRaces } from "./both.ts";
import { type Launches, watchLaunches } from "./launched.ts";
import { counter, emulated } from "./standin-driver.ts";

const { optim } = z;
type L = z.Tensor[];
type Make = (p: z.Tensor[]) => z.optim.Optimizer;

const OPTIMISERS: Readonly<Record<string, Make>> = {
  SGD: (p) => new optim.SGD(p, { lr: 0.1 }),
  "SGD with momentum": (p) => new optim.SGD(p, { lr: 0.1, momentum: 0.9, dampening: 0.1, weightDecay: 0.01 }),
  "SGD after Nesterov": (p) => new optim.SGD(p, { lr: 0.1, momentum: 0.9, nesterov: true, maximize: true }),
  Adam: (p) => new optim.Adam(p, { lr: 0.01, weightDecay: 0.1 }),
  AMSGrad: (p) => new optim.Adam(p, { lr: 0.01, amsgrad: true }),
  AdamW: (p) => new optim.AdamW(p, { lr: 0.01 }),
  Adagrad: (p) => new optim.Adagrad(p, { lr: 0.1, lrDecay: 0.1 }),
  RMSprop: (p) => new optim.RMSprop(p, { lr: 0.01 }),
  "RMSprop of everything": (p) => new optim.RMSprop(p, { lr: 0.01, momentum: 0.9, centered: true, weightDecay: 0.1 }),
  "RMSprop, centered": (p) => new optim.RMSprop(p, { lr: 0.01, centered: true }),
  "RMSprop with momentum": (p) => new optim.RMSprop(p, { lr: 0.01, momentum: 0.9 }),
};

const DTYPES = ["float32", "float64", "bfloat16", "float16"] as const;

/** Parameters of several sizes and dtypes: one empty, one longer than a block, one that begins beside 16 bytes. */
function parameters(device: "cpu" | "cuda"): z.Tensor[] {
  const numbers = (n: number, dtype: (typeof DTYPES)[number]) =>
    z.arange(n, { dtype: "float64" }).mul(0.37).sin().to(dtype).to(device);
  const some = DTYPES.flatMap((dtype) => [numbers(7, dtype), numbers(24, dtype).view(4, 6)]);
  const odd = [
    numbers(0, "float32"),
    numbers(5001, "float32"),
    numbers(9, "float32").slice(0, 1),
    numbers(1, "float64").view([]),
  ];
  const turned = [numbers(12, "float32").view(3, 4).t(), z.zeros(3, 4, { device }).select(1, 2)];
  return [...some, ...odd, ...turned].map((t) => t.detach().requiresGrad_());
}

function train(make: Make, device: "cpu" | "cuda", steps = 3): z.Tensor[] {
  const list = parameters(device);
  const optimiser = make(list);
  for (let i = 0; i < steps; i++) {
    optimiser.zeroGrad();
    for (const p of list)
      p.grad = p
        .detach()
        .mul(i + 0.5)
        .sin()
        .contiguous();
    optimiser.step();
  }
  return list.map((p) => p.detach().cpu());
}

const bytes = (t: z.Tensor): string => JSON.stringify([t.dtype, t.shape, t.double().tolist()]);

describe.if(available)("lists on a device", () => {
  let watched: Launches;
  beforeAll(() => {
    watched = watchLaunches();
  });
  afterAll(() => watched.restore());

  for (const [name, make] of Object.entries(OPTIMISERS)) {
    test(name, () => {
      const wanted = train(make, "cpu").map(bytes);
      expect(train(make, "cuda").map(bytes)).toEqual(wanted);
    });
  }

  test("numbers of steps that the device has", () => {
    for (const make of [
      (p: z.Tensor[]) => new optim.Adam(p, { lr: 0.01, fused: true }),
      (p: z.Tensor[]) => new optim.Adagrad(p, { lr: 0.1, lrDecay: 0.1, fused: true }),
    ] as Make[]) {
      const wanted = train(make, "cpu");
      for (const [i, t] of train(make, "cuda").entries()) {
        const other = wanted[i] as z.Tensor;
        const close = t.dtype.itemsize === 2 ? 1e-2 : 1e-6;
        if (!z.allclose(t.double(), other.double(), close, close))
          expect([i, ...t.double().view(-1).tolist()]).toEqual([i, ...other.double().view(-1).tolist()]);
      }
    }
  });

  test.if(emulated)("a list is one launch", () => {
    const list = Array.from({ length: 60 }, (_, i) => z.ones(i + 1, { device: "cuda", requiresGrad: true }));
    const optimiser = new optim.AdamW(list);
    for (const p of list) p.grad = p.detach().clone();
    optimiser.step();
    const before = counter("launches");
    optimiser.step();
    expect(counter("launches") - before).toBe(1);
    O._foreach_mul_Scalar_(
      list.map((p) => p.detach()),
      0.5,
    );
    expect(counter("launches") - before).toBe(2);
    expect((list[59] as z.Tensor).detach().mean().item()).toBeCloseTo(0.499, 3);
  });

  test("members of other devices and dtypes go one by one", () => {
    const list = [z.ones(3, { device: "cuda" }), z.ones(3, { dtype: "int64", device: "cuda" }).mul(4)];
    O._foreach_mul_Scalar_(list, 2);
    expect(list.map((t) => t.tolist())).toEqual([
      [2, 2, 2],
      [8, 8, 8],
    ]);
    const [p, g, m, v] = Array.from({ length: 4 }, () => [z.ones(3, { device: "cuda" })]) as [L, L, L, L];
    const one = [z.zeros([])];
    expect(() => O._fused_adam_(p, [z.ones(3)], m, v, [], one, 1, 0, 0, 0, 1, false, false, false)).toThrow("device");
    expect(() => O._fused_adam_([z.ones(3)], g, m, v, [], one, 1, 0, 0, 0, 1, false, false, false)).toThrow("device");
    const mixed = [z.ones(3, { device: "cuda", requiresGrad: true }), z.ones(3, { requiresGrad: true })];
    const optimiser = new optim.AdamW(mixed, { lr: 0.5, weightDecay: 0 });
    for (const p of mixed) p.grad = p.detach().clone();
    optimiser.step();
    for (const p of mixed) expect(p.detach().sum().item()).toBeCloseTo(1.5, 5);
  });

  test("nothing that is on the way stays", () => {
    const list = parameters("cuda");
    const optimiser = new optim.AdamW(list);
    for (const p of list) p.grad = p.detach().clone();
    optimiser.step();
    const before = z.cuda.memoryAllocated();
    for (let i = 0; i < 5; i++) optimiser.step();
    expect(z.cuda.memoryAllocated()).toBe(before);
  });

  test("each has a kernel of its own", () => {
    expect([...watched.lacking]).toEqual([]);
    for (const name of ["adagrad", "adam", "rmsprop", "scale", "sgd"]) {
      expect(watched.launched.has(`foreach.${name}`)).toBe(true);
    }
  });
});

if (available) expectNoRaces();
