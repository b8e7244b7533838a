/** Probability distributions. @torch torch.distributions */

export { Bernoulli } from "./bernoulli.ts";
export { Categorical } from "./categorical.ts";
export * as constraints from "./constraints.ts";
export { Delta, type DeltaOptions } from "./delta.ts";
export { Distribution, type DistributionOptions, type SampleShape } from "./distribution.ts";
export { Independent, type IndependentOptions } from "./independent.ts";
export { type DistributionClass, klDivergence, registerKl } from "./kl.ts";
export { Normal, type NormalOptions } from "./normal.ts";
export { OneHotCategorical, OneHotCategoricalStraightThrough } from "./one-hot-categorical.ts";
export type { Parameter } from "./parameters.ts";
export { TanhNormal, type TanhNormalOptions } from "./tanh-normal.ts";
export { TransformedDistribution, type TransformedOptions } from "./transformed-distribution.ts";
export {
  type AffineOptions,
  AffineTransform,
  type ComposeOptions,
  ComposeTransform,
  TanhTransform,
  Transform,
  type TransformOptions,
} from "./transforms.ts";
export {
  TruncatedNormal,
  type TruncatedNormalOptions,
  TruncatedStandardNormal,
  type TruncatedStandardNormalOptions,
} from "./truncated-normal.ts";
export { Uniform, type UniformOptions } from "./uniform.ts";
export type { LogitsOptions } from "./with-logits.ts";
