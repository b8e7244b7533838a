// What golden cases do not show: classes of a user's, switches, warnings, caches.
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import {
  distributions,
  errors,
  manualSeed,
  ones,
  setWarningPolicy,
  type Tensor,
  tensor,
  zeros,
} from "../../src/index.ts";

const { Bernoulli, Categorical, Distribution, Independent, Normal, TanhNormal, TanhTransform, Uniform } = distributions;
type Region = distributions.constraints.Constraint;

/** A die of ever the same side. */
class Loaded extends Distribution {
  declare side: Tensor;
  constructor(side: Tensor, validateArgs: boolean | null = null) {
    super();
    this.side = side;
    this._init(side.shape, [], validateArgs);
  }
  override get argConstraints(): Record<string, Region> {
    return { side: distributions.constraints.positiveInteger };
  }
  override rsample(): Tensor {
    return this.side;
  }
  override logProb(value: Tensor): Tensor {
    this._validateSample(value);
    return value.eq(this.side).log();
  }
}

let warned: string[] = [];
let emit: { mockRestore(): void };
beforeEach(() => {
  warned = [];
  setWarningPolicy("always");
  emit = spyOn(process, "emitWarning").mockImplementation((text: string | Error) => {
    warned.push(String(text));
  });
});
afterEach(() => {
  setWarningPolicy("once");
  emit.mockRestore();
});

describe("a class of a user's", () => {
  test("has its parameters checked and shown", () => {
    expect(String(new Loaded(tensor([1, 2])))).toBe("Loaded(side: torch.Size([2]))");
    expect(() => new Loaded(tensor([0, 2]))).toThrow(
      "Expected parameter side (Tensor of shape (2,)) of distribution Loaded(side: torch.Size([2])) to satisfy the " +
        "constraint IntegerGreaterThan(lower_bound=1), but found invalid values:\ntensor([0., 2.])",
    );
    expect(new Loaded(tensor([0, 2]), false).batchShape).toHaveLength(1);
  });
  test("draws with its rsample, and warns that it has no support", () => {
    const side = tensor([2], { requiresGrad: true });
    const dist = new Loaded(side);
    expect(dist.sample()).toBe(side);
    expect(dist.logProb(tensor([2])).item()).toBe(0);
    expect(warned.join()).toContain("Loaded does not define `support` to enable sample validation");
    expect(() => dist.entropy()).toThrow(errors.NotImplementedError);
    expect(() => dist.mean).toThrow("Loaded does not implement mean");
  });
  test("may leave out its constraints", () => {
    class Open extends Loaded {
      override get argConstraints(): Record<string, Region> {
        throw new errors.NotImplementedError("none");
      }
    }
    new Open(tensor([0]));
    expect(warned.join()).toContain("Open does not define `arg_constraints`");
  });
  test("that extends another one stays itself when it is expanded", () => {
    class Mine extends Normal {
      note = "mine";
    }
    const grown = new Mine(0, 1).expand([2, 3]);
    expect(grown).toBeInstanceOf(Mine);
    expect([grown.note, String(grown)]).toEqual(["mine", "Mine(loc: torch.Size([2, 3]), scale: torch.Size([2, 3]))"]);
  });
});

test("the switch for checks holds for distributions made from then on", () => {
  const before = new Normal(0, 1);
  Distribution.setDefaultValidateArgs(false);
  try {
    const unchecked = new Normal(0, -1);
    expect(unchecked.logProb(tensor(Number.NaN)).isnan().item()).toBe(true);
    expect(() => before.logProb(tensor(Number.NaN))).toThrow("to be within the support (Real())");
    expect(() => new Normal({ loc: 0, scale: -1, validateArgs: true })).toThrow("GreaterThan(lower_bound=0.0)");
  } finally {
    Distribution.setDefaultValidateArgs(true);
  }
});

test("an expanded distribution keeps its checks as they were, and shares its parameters", () => {
  const loc = zeros(1);
  const unchecked = new Normal({ loc, scale: ones(1), validateArgs: false }).expand([3]);
  expect(unchecked.logProb(tensor([Number.NaN, 0, 0])).shape).toHaveLength(1);
  loc.fill_(5);
  expect(unchecked.mean.tolist()).toEqual([5, 5, 5]);
});

test("values without a shape have torch's text, whatever they are", () => {
  const dist = new Normal(0, 1);
  for (const value of [1, null, "a", [1]]) {
    expect(() => dist.logProb(value as never)).toThrow("The value argument to log_prob must be a Tensor");
  }
  expect(() => new Normal("a" as never, 1)).toThrow("Input arguments must all be instances of Number, torch.Tensor");
  expect(() => dist.sample({ size: 3 } as never)).toThrow("sample() got an unexpected keyword argument 'size'");
  expect(dist.sample({ sampleShape: [2, 3] } as never).shape).toHaveLength(2);
});

test("a cache gives back what was put in, where the tangent is one", () => {
  const [kept, forgotten] = [new TanhTransform({ cacheSize: 1 }), new TanhTransform()];
  const x = tensor([100]);
  expect(kept.inv.apply(kept.apply(x))).toBe(x);
  expect(forgotten.inv.apply(forgotten.apply(x)).item()).toBe(Number.POSITIVE_INFINITY);
  expect(kept.withCache(1)).toBe(kept);
  expect(kept.inv.inv).toBe(kept);
  expect(() => new TanhTransform(2)).toThrow("cache_size must be 0 or 1");
});

describe("TanhNormal", () => {
  test("has finite probabilities at its bounds and gradients there", () => {
    const loc = tensor([50, -50], { requiresGrad: true });
    const dist = new TanhNormal(loc, ones(2));
    const value = dist.rsample();
    expect(value.abs().lt(1).all().item()).toBe(true);
    expect(dist.logProb(value).item()).toBeLessThan(Number.POSITIVE_INFINITY);
    value.sum().backward();
    expect(loc.grad?.isnan().any().item()).toBe(false);
  });
  test("bounds the mean when it is asked to", () => {
    expect(new TanhNormal({ loc: tensor([100]), scale: ones(1), tanhLoc: true, upscale: 3 }).loc.item()).toBe(3);
    expect(() => new TanhNormal({ loc: 0, scale: 1, low: 1, high: 1 })).toThrow("max value must be strictly greater");
  });
  test("has its mode where its mean was, and no mean", () => {
    const dist = new TanhNormal({ loc: zeros(1), scale: ones(1), low: 0, high: 4 });
    expect(dist.mode.tolist()).toEqual([2]);
    expect(dist.expand([5]).loc.shape).toEqual(zeros(5, 1).shape);
    expect(() => dist.mean).toThrow("TanhNormal does not implement mean");
  });
});

describe("klDivergence", () => {
  test("takes the nearest of several formulas", () => {
    class A extends Normal {}
    class B extends A {}
    distributions.registerKl(A, Normal, () => tensor(1));
    distributions.registerKl(A, A, () => tensor(2));
    expect(distributions.klDivergence(new B(0, 1), new Normal(0, 1)).item()).toBe(1);
    expect(distributions.klDivergence(new B(0, 1), new B(0, 1)).item()).toBe(2);
    expect(distributions.klDivergence(new Normal(0, 1), new B(0, 1)).item()).toBe(0);
    distributions.registerKl(A, A, () => tensor(3));
    expect(distributions.klDivergence(new A(0, 1), new A(0, 1)).item()).toBe(3);
    expect(warned).toEqual([]);
  });
  test("warns when two are equally near", () => {
    class C extends Uniform {}
    distributions.registerKl(C, Uniform, () => tensor(1));
    distributions.registerKl(Uniform, C, () => tensor(2));
    expect(distributions.klDivergence(new C(0, 1), new C(0, 1)).item()).toBe(1);
    expect(warned.join()).toContain("Ambiguous kl_divergence(C, C). Please register_kl(C, C)");
  });
});

test("samples of a batch of distributions are those of torch's generator, whatever drew before", () => {
  manualSeed(3);
  const first = new Categorical(ones(2, 3)).sample([4]);
  const second = new Bernoulli(tensor([0.5, 0.5])).sample();
  manualSeed(3);
  expect(new Categorical(ones(2, 3)).sample([4]).equal(first)).toBe(true);
  expect(new Independent(new Bernoulli(tensor([0.5, 0.5])), 1).sample().equal(second)).toBe(true);
});
