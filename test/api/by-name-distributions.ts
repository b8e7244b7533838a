// On what methods of distributions and transforms are called by test/api/by-name-exports.test.ts, and with what.
import * as Z from "../../src/index.ts";

const D = Z.distributions;
const { ones, zeros } = Z;
const normal = () => new D.Normal(zeros(3), ones(3));
/** A class whose formula is set without an effect on others. */
class Known extends D.Normal {}
const oneHot = () => Z.tensor([0, 1]);
const index = () => Z.tensor(1);
const transformed = () => new D.TransformedDistribution(new D.Uniform(zeros(3), 2), [new D.AffineTransform(0, 2)]);

/** Methods that a class inherits and does not have are left to classes that have them. */
export const DISTRIBUTION_RECEIVERS: Readonly<Record<string, () => object>> = {
  AffineTransform: () => new D.AffineTransform(1, 2),
  Bernoulli: () => new D.Bernoulli(0.25),
  Categorical: () => new D.Categorical(ones(2)),
  ComposeTransform: () => new D.ComposeTransform([new D.TanhTransform()]),
  Delta: () => new D.Delta(ones(2)),
  Distribution: normal,
  Independent: () => new D.Independent(normal(), 1),
  "distributions.Independent#enumerateSupport": () => new D.Independent(new D.Bernoulli(ones(2).mul(0.5)), 0),
  Normal: normal,
  OneHotCategorical: () => new D.OneHotCategorical(ones(2)),
  OneHotCategoricalStraightThrough: () => new D.OneHotCategoricalStraightThrough(ones(2)),
  TanhNormal: () => new D.TanhNormal(zeros(3), 1, { low: -2, high: 4 }),
  TanhTransform: () => new D.TanhTransform(),
  Transform: () => new D.TanhTransform(),
  // What is inherited is listed under the first class that has it.
  "distributions.TanhNormal#cdf": transformed,
  "distributions.TanhNormal#icdf": transformed,
  TransformedDistribution: transformed,
  TruncatedNormal: () => new D.TruncatedNormal(zeros(3), 1, -2, 2),
  TruncatedStandardNormal: () => new D.TruncatedStandardNormal(zeros(3), 2),
  Uniform: () => new D.Uniform(0, 4),
};

const EVERY = ["rsample", "logProb", "cdf", "icdf", "entropy", "enumerateSupport", "expand"];

/** The base class has these methods without a body. */
export const DISTRIBUTION_FAILS: Readonly<Record<string, string>> = Object.fromEntries(
  EVERY.map((name) => [`distributions.Distribution#${name}`, "classes define it"]),
);

const transform = { x: () => ones(3).mul(0.5), y: () => ones(3).mul(0.25), cacheSize: () => 1, shape: () => [2, 3] };
const of = (owner: string, values: Record<string, () => unknown>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${owner}.${name}`, value]));

export const DISTRIBUTION_VALUES: Readonly<Record<string, () => unknown>> = {
  ...of("distributions", {
    ...{ loc: () => zeros(2), scale: () => ones(2), low: () => 0, high: () => 4, a: () => -1, b: () => ones(2) },
    ...{ probs: () => Z.tensor([0.25, 0.5]), logits: () => null, validateArgs: () => true, upscale: () => 3 },
    ...{ param: () => ones(2), atol: () => 0.5, rtol: () => 0.25, batchShape: () => [1], eventShape: () => [2] },
    ...{ baseDistribution: normal, reinterpretedBatchNdims: () => 1, eventDims: () => 1, tanhLoc: () => true },
    ...{ safeTanh: () => false, transforms: () => [new D.TanhTransform()], parts: () => [new D.TanhTransform()] },
    ...{ eventDim: () => 0, cacheSize: () => 1, p: normal, q: normal, typeP: () => Known, typeQ: () => Known },
    fn: () => () => ones(2),
  }),
  ...of("constraints", {
    ...{ lowerBound: () => 0, upperBound: () => 4, constraint: () => D.constraints.real },
    ...{ baseConstraint: () => D.constraints.real, reinterpretedBatchNdims: () => 1 },
  }),
  ...of("new distributions.Delta", { batchShape: () => [], eventShape: () => [2] }),
  ...of("AffineTransform", { ...transform, other: () => new D.AffineTransform(1, 2) }),
  ...of("ComposeTransform", { ...transform, other: () => new D.ComposeTransform([]) }),
  ...of("TanhTransform", { ...transform, other: () => new D.TanhTransform() }),
  ...of("Transform", { ...transform, other: () => new D.TanhTransform() }),
  ...of("Delta", { value: () => ones(2), param: () => zeros(2) }),
  ...of("Bernoulli", { value: index, batchShape: () => [3] }),
  ...of("Categorical", { value: index }),
  ...of("OneHotCategorical", { value: oneHot }),
  ...of("Uniform", { value: index }),
  ...of("Independent", { value: () => zeros(3), batchShape: () => [2] }),
  ...of("TanhNormal", { value: () => ones(3), batchShape: () => [2] }),
  ...of("TransformedDistribution", { value: () => ones(3).mul(0.5) }),
  ...of("Normal", { value: () => zeros(3) }),
  ...of("Distribution", { value: () => zeros(3) }),
  sampleShape: () => [2],
  batchShape: () => [2, 3],
  expand: () => false,
  "distributions.Distribution.setDefaultValidateArgs.value": () => true,
};
