/** Values of distributions, and how their classes print. */

import { defaultGenerator, type Generator } from "../../dispatch/generator.ts";
import { Distribution } from "../../distributions/distribution.ts";
import * as torch from "../../distributions/index.ts";
import { NotImplementedError, TypeError } from "../../tensor/errors.ts";
import { typeName } from "../../tensor/type-name.ts";
import type { DistributionMaker } from "./composite.ts";
import { ownDeterministic, standIn } from "./deterministic.ts";
import type { InteractionType } from "./modes.ts";
import { OneHotCategorical } from "./one-hot.ts";

// biome-ignore lint/suspicious/noExplicitAny: distributions of any kind
type Any = any;

/** The suffix of a distribution's class in Python. */
const MODULES: Readonly<Record<string, string>> = {
  Delta: "tensordict.nn.distributions.continuous",
  CompositeDistribution: "tensordict.nn.distributions.composite",
  TruncatedNormal: "tensordict.nn.distributions.truncated_normal",
};

/** `<class 'torch.distributions.normal.Normal'>` */
export function classText(maker: DistributionMaker): string {
  const { name } = maker;
  const made: unknown = maker;
  if (!/^class\b/.test(Function.prototype.toString.call(maker))) return `<function ${name === "" ? "<lambda>" : name}>`;
  if (made === OneHotCategorical) return `<class 'tensordict.nn.distributions.discrete.${name}'>`;
  const file = name.replace(/(?!^)([A-Z])/g, "_$1").toLowerCase();
  const own = (torch as Record<string, unknown>)[name] === maker;
  const module = MODULES[name] ?? (own ? `torch.distributions.${file}` : "__main__");
  return `<class '${module}.${name}'>`;
}

/** The values of a generator in place of the default one's. */
export function drawingFrom<R>(generator: Generator | null, body: () => R): R {
  if (generator === null) return body();
  const before = defaultGenerator.getState();
  defaultGenerator.setState(generator.getState());
  try {
    return body();
  } finally {
    generator.setState(defaultGenerator.getState());
    defaultGenerator.setState(before);
  }
}

/** A value of a distribution. @throws NotImplementedError where it has none of the kind */
export function drawn(
  dist: Any,
  wanted: InteractionType,
  module: { readonly nEmpiricalEstimate?: number; readonly numSamples: readonly number[] | null },
  generator: Generator | null,
): Any {
  if (!(dist instanceof Distribution)) throw new TypeError(`Expected Distribution, but got ${typeName(dist)}`);
  const d: Any = dist;
  let type = wanted;
  if (type === "deterministic") {
    const own = ownDeterministic(d);
    if (own !== undefined) return own;
    type = standIn(d, module.constructor.name);
  }
  const draw = (shape: readonly number[]) =>
    drawingFrom(generator, () => (d.hasRsample === true ? d.rsample(shape) : d.sample(shape)));
  switch (type) {
    case "mode":
      return d.mode;
    case "median":
      if (d.median !== undefined) return d.median;
      throw new NotImplementedError(`method ${classText(d.constructor)}.median is not implemented`);
    case "mean":
      try {
        return d.mean;
      } catch (error) {
        if (!(error instanceof NotImplementedError)) throw error;
        return draw([module.nEmpiricalEstimate ?? 1000]).mean(0);
      }
    default:
      return draw(module.numSamples ?? []);
  }
}
