/** The value that a distribution gives when nothing is to be drawn. */
import { Bernoulli } from "../../distributions/bernoulli.ts";
import { Categorical } from "../../distributions/categorical.ts";
import { real } from "../../distributions/constraints.ts";
import { Delta } from "../../distributions/delta.ts";
import { Distribution } from "../../distributions/distribution.ts";
import { Independent } from "../../distributions/independent.ts";
import { Normal } from "../../distributions/normal.ts";
import {
  OneHotCategorical as OneHot,
  OneHotCategoricalStraightThrough,
} from "../../distributions/one-hot-categorical.ts";
import { TransformedDistribution } from "../../distributions/transformed-distribution.ts";
import { Uniform } from "../../distributions/uniform.ts";
import { NotImplementedError, warn } from "../../tensor/errors.ts";
import { OneHotCategorical } from "./one-hot.ts";

// biome-ignore lint/suspicious/noExplicitAny: distributions of any kind
type Any = any;

/** What classes give that have no deterministic value of their own. */
const KNOWN = new Map<unknown, "mean" | "mode">([
  ...[Bernoulli, Categorical, OneHot, OneHotCategoricalStraightThrough].map((one) => [one, "mode"] as const),
  [OneHotCategorical, "mode"],
  ...[Distribution, Independent, Normal, TransformedDistribution, Uniform].map((one) => [one, "mean"] as const),
]);

/** The mean where values are real numbers, otherwise the mode. */
function bySupport(dist: Any): "mean" | "mode" {
  try {
    return dist.support === real ? "mean" : "mode";
  } catch (error) {
    if (error instanceof NotImplementedError) return "mean";
    throw error;
  }
}

/** The deterministic value of its own, if there is one; an `Independent` has that of its base. */
export function ownDeterministic(dist: Any): Any {
  if (dist.deterministicSample !== undefined) return dist.deterministicSample;
  if (dist instanceof Independent && dist.baseDist instanceof Delta) return dist.baseDist.deterministicSample;
  return undefined;
}

/** What stands in for it, with a warning for classes about which nothing is known. */
export function standIn(dist: Any, caller: string): "mean" | "mode" {
  const known = KNOWN.get((dist instanceof Independent ? dist.baseDist : dist).constructor);
  if (known !== undefined) return known;
  const found = bySupport(dist);
  warn(
    `deterministic_sample wasn't found when queried on ${dist.constructor.name}. ${caller} is falling back on ` +
      `${found} instead. For better code quality and efficiency, make sure to either provide a distribution with a ` +
      "deterministic_sample attribute or to change the InteractionMode to the desired value.",
  );
  return found;
}

/** The deterministic value of a component. @throws NotImplementedError for one that has none */
export function deterministicOf(dist: Any, caller: string): Any {
  const own = ownDeterministic(dist);
  if (own !== undefined) return own;
  const member = standIn(dist, caller);
  try {
    return dist[member];
  } catch (error) {
    if (!(error instanceof NotImplementedError)) throw error;
    throw new NotImplementedError(
      `${dist.constructor.name} has no deterministic_sample, and its ${member} is not implemented, so ${caller} ` +
        "cannot compute a deterministic sample for it. Use a distribution with a deterministic_sample attribute (for " +
        "example TanhNormal), or another interaction type.",
      { cause: error },
    );
  }
}
