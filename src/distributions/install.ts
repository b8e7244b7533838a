// Puts the checks of arguments before the methods of distributions, transforms and regions.
import { installChecks } from "../tensor/checks.ts";
import * as bernoulli from "./bernoulli.ts";
import * as categorical from "./categorical.ts";
import * as constraints from "./constraints.ts";
import * as delta from "./delta.ts";
import * as distribution from "./distribution.ts";
import * as independent from "./independent.ts";
import * as normal from "./normal.ts";
import * as oneHot from "./one-hot-categorical.ts";
import { METHODS, REGION, STATICS, TRANSFORM } from "./signatures.ts";
import * as tanhNormal from "./tanh-normal.ts";
import * as transformed from "./transformed-distribution.ts";
import * as transforms from "./transforms.ts";
import * as truncated from "./truncated-normal.ts";
import * as uniform from "./uniform.ts";

for (const { prototype } of [
  distribution.Distribution,
  bernoulli.Bernoulli,
  categorical.Categorical,
  delta.Delta,
  independent.Independent,
  normal.Normal,
  oneHot.OneHotCategorical,
  oneHot.OneHotCategoricalStraightThrough,
  tanhNormal.TanhNormal,
  transformed.TransformedDistribution,
  truncated.TruncatedNormal,
  truncated.TruncatedStandardNormal,
  uniform.Uniform,
]) {
  installChecks(prototype, METHODS);
}
installChecks(distribution.Distribution, STATICS);
for (const { prototype } of [
  transforms.Transform,
  transforms.AffineTransform,
  transforms.ComposeTransform,
  transforms.TanhTransform,
]) {
  installChecks(prototype, TRANSFORM);
}
// One of each class.
for (const region of [constraints.boolean, constraints.realVector, constraints.dependent]) {
  installChecks(Object.getPrototypeOf(region), REGION);
}
