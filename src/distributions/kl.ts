/** The divergence of one distribution from another. */
import { div, fullLike, sub } from "../../generated/functional.ts";
import { inOrder } from "../tensor/checks.ts";
import { NotImplementedError, warn } from "../tensor/errors.ts";
import { sameSizes } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { Bernoulli } from "./bernoulli.ts";
import { Categorical } from "./categorical.ts";
import type { Distribution } from "./distribution.ts";
import { Independent } from "./independent.ts";
import { Normal } from "./normal.ts";
import { OneHotCategorical } from "./one-hot-categorical.ts";
import { softplus, sumRightmost } from "./parameters.ts";
import { FUNCTIONS } from "./signatures.ts";
import { TransformedDistribution } from "./transformed-distribution.ts";
import { sameParts } from "./transforms.ts";
import { Uniform } from "./uniform.ts";

// biome-ignore lint/suspicious/noExplicitAny: each formula knows the two classes that it was registered for
type Formula = (p: any, q: any) => Tensor;

/** A class of distributions. */
// biome-ignore lint/suspicious/noExplicitAny: what a constructor takes is its own business
export type DistributionClass<D = any> = abstract new (...args: any[]) => D;

type Row = readonly [p: DistributionClass, q: DistributionClass, formula: Formula];

function bernoulli(p: Bernoulli, q: Bernoulli): Tensor {
  const ones = p.probs.mul(softplus(q.logits.neg()).sub(softplus(p.logits.neg())));
  const zeros = sub(1, p.probs).mul(softplus(q.logits).sub(softplus(p.logits)));
  return impossible(ones, q.probs.eq(0), p.probs.eq(0)).add(impossible(zeros, q.probs.eq(1), p.probs.eq(1)));
}

/** Infinite where the other distribution excludes a value, zero where this one does. */
function impossible(terms: Tensor, other: Tensor, own: Tensor): Tensor {
  return terms.maskedFill(other, Number.POSITIVE_INFINITY).maskedFill(own, 0);
}

function categorical(p: Categorical, q: Categorical): Tensor {
  const terms = p.probs.mul(p.logits.sub(q.logits));
  return impossible(terms, q.probs.eq(0), p.probs.eq(0)).sum(-1);
}

function normal(p: Normal, q: Normal): Tensor {
  const ratio = p.scale.div(q.scale).pow(2);
  const shift = p.loc.sub(q.loc).div(q.scale).pow(2);
  return ratio.add(shift).sub(1).sub(ratio.log()).mul(0.5);
}

function uniform(p: Uniform, q: Uniform): Tensor {
  const outside = q.low.gt(p.low).bitwiseOr(q.high.lt(p.high));
  return q.high.sub(q.low).div(p.high.sub(p.low)).log().maskedFill(outside, Number.POSITIVE_INFINITY);
}

function uniformNormal(p: Uniform, q: Normal): Tensor {
  const width = p.high.sub(p.low);
  const density = div(q.scale.mul(Math.sqrt(2 * Math.PI)), width).log();
  const shift = p.high.add(p.low).sub(q.loc.mul(2)).div(2).pow(2);
  return density.add(width.pow(2).div(12).add(shift).mul(0.5).div(q.scale.pow(2)));
}

function independent(p: Independent, q: Independent): Tensor {
  if (p.reinterpretedBatchNdims !== q.reinterpretedBatchNdims) {
    throw new NotImplementedError("No KL(p || q) is implemented for different reinterpreted_batch_ndims");
  }
  return sumRightmost(divergence(p.baseDist, q.baseDist), p.reinterpretedBatchNdims);
}

function transformed(p: TransformedDistribution, q: TransformedDistribution): Tensor {
  if (!sameParts(p.transforms, q.transforms) || !sameSizes(p.eventShape, q.eventShape)) {
    throw new NotImplementedError("No KL(p || q) is implemented for different transforms or event shapes");
  }
  return divergence(p.baseDist, q.baseDist);
}

const formulas: Row[] = [
  [Bernoulli, Bernoulli, bernoulli],
  [Categorical, Categorical, categorical],
  [Independent, Independent, independent],
  [Normal, Normal, normal],
  [Normal, Uniform, (p: Normal) => fullLike(p.loc, Number.POSITIVE_INFINITY)],
  [OneHotCategorical, OneHotCategorical, (p, q) => categorical(p._categorical, q._categorical)],
  [TransformedDistribution, TransformedDistribution, transformed],
  [Uniform, Normal, uniformNormal],
  [Uniform, Uniform, uniform],
];

const extendsClass = (one: DistributionClass, base: DistributionClass): boolean =>
  one === base || Object.prototype.isPrototypeOf.call(base, one);

/** The row of the nearest classes, where the one named first counts more. */
function nearest(rows: readonly Row[], first: 0 | 1): Row {
  const second = first === 0 ? 1 : 0;
  const nearer = (a: Row, b: Row): boolean =>
    a[first] === b[first] ? extendsClass(a[second], b[second]) : extendsClass(a[first], b[first]);
  return rows.reduce((best, row) => (nearer(row, best) ? row : best));
}

function divergence(p: Distribution, q: Distribution): Tensor {
  const fits = formulas.filter(([typeP, typeQ]) => p instanceof typeP && q instanceof typeQ);
  const [nameP, nameQ] = [p.constructor.name, q.constructor.name];
  if (fits.length === 0) {
    throw new NotImplementedError(`No KL(p || q) is implemented for p type ${nameP} and q type ${nameQ}`);
  }
  const [left, right] = [nearest(fits, 0), nearest(fits, 1)];
  if (left[2] !== right[2]) {
    const wanted = `register_kl(${left[0].name}, ${right[1].name})`;
    warn(`Ambiguous kl_divergence(${nameP}, ${nameQ}). Please ${wanted}`, "RuntimeWarning");
  }
  return left[2](p, q);
}

/**
 * The Kullback-Leibler divergence of `q` from `p`, in the batch's shape.
 * @throws NotImplementedError for classes that have no formula
 * @example
 * ```ts
 * const { klDivergence, Normal } = distributions;
 * klDivergence(new Normal(0, 1), new Normal(1, 2)) // tensor(0.4431)
 * ```
 * @torch torch.distributions.kl_divergence
 */
export function klDivergence(p: Distribution, q: Distribution): Tensor {
  [p, q] = inOrder<[Distribution, Distribution]>("klDivergence", FUNCTIONS.klDivergence, arguments);
  return divergence(p, q);
}

/**
 * Adds a formula for two classes and those that extend them; the nearest classes decide.
 * @example
 * ```ts
 * class Mine extends distributions.Normal {}
 * distributions.registerKl(Mine, Mine, () => tensor(7));
 * distributions.klDivergence(new Mine(0, 1), new Mine(0, 1)) // tensor(7.)
 * ```
 * @torch torch.distributions.register_kl
 */
export function registerKl<P, Q>(
  typeP: DistributionClass<P>,
  typeQ: DistributionClass<Q>,
  fn: (p: P, q: Q) => Tensor,
): void {
  [typeP, typeQ, fn] = inOrder<[typeof typeP, typeof typeQ, typeof fn]>("registerKl", FUNCTIONS.registerKl, arguments);
  const at = formulas.findIndex((row) => row[0] === typeP && row[1] === typeQ);
  formulas.splice(at < 0 ? formulas.length : at, at < 0 ? 0 : 1, [typeP, typeQ, fn]);
}
