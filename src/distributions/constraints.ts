/** What parameters and values of distributions have to satisfy. @torch torch.distributions.constraints */

import { inOrder, installChecks } from "../tensor/checks.ts";
import type { Scalar } from "../tensor/complex.ts";
import { Float } from "../tensor/complex.ts";
import { AssertionError, NotImplementedError, ValueError } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { CONSTRAINTS, REGION } from "./signatures.ts";
import { formatted } from "./text.ts";

/** A bound of an interval: a number, or a tensor that broadcasts with what is checked. */
export type Bound = Scalar | Tensor;

/**
 * A region in which values are valid. A class of yours says in `check` which elements are.
 * @example
 * ```ts
 * const { constraints } = distributions;
 * [constraints.positive.check(tensor([-1, 2])), constraints.positive.isDiscrete, constraints.simplex.eventDim]
 * // [tensor([False,  True]), false, 1]
 * ```
 * @torch torch.distributions.constraints.Constraint
 */
export abstract class Constraint {
  /** Whether the region is made of single points. */
  get isDiscrete(): boolean {
    return false;
  }
  /** How many of the last dimensions make one event; `check` takes them away. */
  get eventDim(): number {
    return 0;
  }
  /** For each event, whether it lies in the region. @torch torch.distributions.constraints.Constraint.check */
  abstract check(value: Tensor): Tensor;
  /** Its name and bounds. */
  toString(): string {
    return `${this.constructor.name}()`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

interface RegionOptions {
  isDiscrete?: boolean;
  eventDim?: number;
  /** What is printed between the parentheses. */
  bounds?: readonly (readonly [string, Bound])[];
}

/** A region that a function describes. */
class Region extends Constraint {
  constructor(
    private readonly name: string,
    private readonly inside: (value: Tensor) => Tensor,
    private readonly options: RegionOptions = {},
  ) {
    super();
  }
  override get isDiscrete(): boolean {
    return this.options.isDiscrete ?? false;
  }
  override get eventDim(): number {
    return this.options.eventDim ?? 0;
  }
  override check(value: Tensor): Tensor {
    return this.inside(value);
  }
  override toString(): string {
    const bounds = (this.options.bounds ?? []).map(([name, bound]) => `${name}=${formatted(bound)}`);
    return `${this.name}(${bounds.join(", ")})`;
  }
}
installChecks(Region.prototype, REGION);

/** The region of a value that depends on other values. */
class Dependent extends Constraint {
  override get isDiscrete(): boolean {
    throw new NotImplementedError(".is_discrete cannot be determined statically");
  }
  override get eventDim(): number {
    throw new NotImplementedError(".event_dim cannot be determined statically");
  }
  override check(_value: Tensor): Tensor {
    throw new ValueError("Cannot determine validity of dependent constraint");
  }
  override toString(): string {
    return "Dependent()";
  }
}
installChecks(Dependent.prototype, REGION);

/** Events of several elements, each of which lies in a region. */
class IndependentConstraint extends Constraint {
  constructor(
    private readonly base: Constraint,
    private readonly dims: number,
  ) {
    super();
  }
  override get isDiscrete(): boolean {
    return this.base.isDiscrete;
  }
  override get eventDim(): number {
    return this.base.eventDim + this.dims;
  }
  override check(value: Tensor): Tensor {
    const result = this.base.check(value);
    if (result.ndim < this.dims) {
      throw new ValueError(`Expected value.dim() >= ${this.eventDim} but got ${value.ndim}`);
    }
    return result.reshape([...result.shape.slice(0, result.ndim - this.dims), -1]).all(-1);
  }
  override toString(): string {
    return `IndependentConstraint(${this.base}, ${this.dims})`;
  }
}
installChecks(IndependentConstraint.prototype, REGION);

const isWhole = (value: Tensor): Tensor => value.remainder(1).eq(0);
const isBoolean = (value: Tensor): Tensor => value.eq(0).bitwiseOr(value.eq(1));
const lower = (bound: Bound) => ["lower_bound", bound] as const;
const upper = (bound: Bound) => ["upper_bound", bound] as const;

/** For values whose region depends on others: it is not checked. @torch torch.distributions.constraints.dependent */
export const dependent: Constraint = new Dependent();

/**
 * Whether a region is not known beforehand.
 * @example
 * ```ts
 * const { constraints } = distributions;
 * [constraints.isDependent(constraints.dependent), constraints.isDependent(constraints.real)] // [true, false]
 * ```
 * @torch torch.distributions.constraints.is_dependent
 */
export function isDependent(constraint: Constraint): boolean {
  [constraint] = inOrder<[Constraint]>("isDependent", CONSTRAINTS.isDependent, arguments);
  return constraint instanceof Dependent;
}

/** Zero or one. @torch torch.distributions.constraints.boolean */
export const boolean: Constraint = new Region("Boolean", isBoolean, { isDiscrete: true });

/** One one among zeros, along the last dimension. @torch torch.distributions.constraints.one_hot */
export const oneHot: Constraint = new Region(
  "OneHot",
  (value) => isBoolean(value).all(-1).bitwiseAnd(value.sum(-1).eq(1)),
  { isDiscrete: true, eventDim: 1 },
);

/** Every number but nan. @torch torch.distributions.constraints.real */
export const real: Constraint = new Region("Real", (value) => value.eq(value));

/** Vectors of numbers without nan. @torch torch.distributions.constraints.real_vector */
export const realVector: Constraint = new IndependentConstraint(real, 1);

/** Numbers that are not negative and have the sum one. @torch torch.distributions.constraints.simplex */
export const simplex: Constraint = new Region(
  "Simplex",
  (value) => value.ge(0).all(-1).bitwiseAnd(value.sum(-1).sub(1).abs().lt(1e-6)),
  { eventDim: 1 },
);

function greater(bound: Bound): Constraint {
  return new Region("GreaterThan", (value) => value.gt(bound), { bounds: [lower(bound)] });
}

function greaterEq(bound: Bound): Constraint {
  return new Region("GreaterThanEq", (value) => value.ge(bound), { bounds: [lower(bound)] });
}

function between(low: Bound, high: Bound): Constraint {
  return new Region("Interval", (value) => value.ge(low).bitwiseAnd(value.le(high)), {
    bounds: [lower(low), upper(high)],
  });
}

function integersFrom(bound: Bound): Constraint {
  return new Region("IntegerGreaterThan", (value) => isWhole(value).bitwiseAnd(value.ge(bound)), {
    isDiscrete: true,
    bounds: [lower(bound)],
  });
}

/** Numbers above zero. @torch torch.distributions.constraints.positive */
export const positive: Constraint = greater(new Float(0));

/** Numbers from zero on. @torch torch.distributions.constraints.nonnegative */
export const nonnegative: Constraint = greaterEq(new Float(0));

/** Numbers from zero to one. @torch torch.distributions.constraints.unit_interval */
export const unitInterval: Constraint = between(new Float(0), new Float(1));

/** Integers from zero on. @torch torch.distributions.constraints.nonnegative_integer */
export const nonnegativeInteger: Constraint = integersFrom(0);

/** Integers from one on. @torch torch.distributions.constraints.positive_integer */
export const positiveInteger: Constraint = integersFrom(1);

/**
 * Numbers above a bound.
 * @example
 * ```ts
 * distributions.constraints.greaterThan(1).check(tensor([1, 2])) // tensor([False,  True])
 * ```
 * @torch torch.distributions.constraints.greater_than
 */
export function greaterThan(lowerBound: Bound): Constraint {
  [lowerBound] = inOrder<[Bound]>("greaterThan", CONSTRAINTS.greaterThan, arguments);
  return greater(lowerBound);
}

/**
 * Numbers from a bound on.
 * @example
 * ```ts
 * distributions.constraints.greaterThanEq(1).check(tensor([1, 2])) // tensor([True, True])
 * ```
 * @torch torch.distributions.constraints.greater_than_eq
 */
export function greaterThanEq(lowerBound: Bound): Constraint {
  [lowerBound] = inOrder<[Bound]>("greaterThanEq", CONSTRAINTS.greaterThanEq, arguments);
  return greaterEq(lowerBound);
}

/**
 * Numbers below a bound.
 * @example
 * ```ts
 * distributions.constraints.lessThan(2).check(tensor([1, 2])) // tensor([ True, False])
 * ```
 * @torch torch.distributions.constraints.less_than
 */
export function lessThan(upperBound: Bound): Constraint {
  [upperBound] = inOrder<[Bound]>("lessThan", CONSTRAINTS.lessThan, arguments);
  return new Region("LessThan", (value) => value.lt(upperBound), { bounds: [upper(upperBound)] });
}

/**
 * Numbers from one bound to another, both included.
 * @example
 * ```ts
 * const region = distributions.constraints.interval(0, 2);
 * [region, region.check(tensor([-1, 2]))] // [Interval(lower_bound=0, upper_bound=2), tensor([False,  True])]
 * ```
 * @torch torch.distributions.constraints.interval
 */
export function interval(lowerBound: Bound, upperBound: Bound): Constraint {
  [lowerBound, upperBound] = inOrder<[Bound, Bound]>("interval", CONSTRAINTS.interval, arguments);
  return between(lowerBound, upperBound);
}

/**
 * Numbers from one bound to another, the upper one excluded.
 * @example
 * ```ts
 * distributions.constraints.halfOpenInterval(0, 2).check(tensor([0, 2])) // tensor([ True, False])
 * ```
 * @torch torch.distributions.constraints.half_open_interval
 */
export function halfOpenInterval(lowerBound: Bound, upperBound: Bound): Constraint {
  [lowerBound, upperBound] = inOrder<[Bound, Bound]>("halfOpenInterval", CONSTRAINTS.halfOpenInterval, arguments);
  return new Region("HalfOpenInterval", (value) => value.ge(lowerBound).bitwiseAnd(value.lt(upperBound)), {
    bounds: [lower(lowerBound), upper(upperBound)],
  });
}

/**
 * Integers from one bound to another, both included.
 * @example
 * ```ts
 * distributions.constraints.integerInterval(0, 2).check(tensor([0.5, 2])) // tensor([False,  True])
 * ```
 * @torch torch.distributions.constraints.integer_interval
 */
export function integerInterval(lowerBound: Bound, upperBound: Bound): Constraint {
  [lowerBound, upperBound] = inOrder<[Bound, Bound]>("integerInterval", CONSTRAINTS.integerInterval, arguments);
  const inside = (value: Tensor): Tensor =>
    isWhole(value).bitwiseAnd(value.ge(lowerBound)).bitwiseAnd(value.le(upperBound));
  return new Region("IntegerInterval", inside, { isDiscrete: true, bounds: [lower(lowerBound), upper(upperBound)] });
}

/**
 * Events whose elements all lie in a region: so many of the last dimensions more make one event.
 * @example
 * ```ts
 * const { constraints } = distributions;
 * constraints.independent(constraints.positive, 1).check(tensor([[1, 2], [1, -2]])) // tensor([ True, False])
 * ```
 * @torch torch.distributions.constraints.independent
 */
export function independent(baseConstraint: Constraint, reinterpretedBatchNdims: number): Constraint {
  [baseConstraint, reinterpretedBatchNdims] = inOrder<[Constraint, number]>(
    "independent",
    CONSTRAINTS.independent,
    arguments,
  );
  if (!(baseConstraint instanceof Constraint)) {
    throw new AssertionError(`base_constraint must be a Constraint, got ${typeName(baseConstraint)}`);
  }
  if (reinterpretedBatchNdims < 0) {
    throw new AssertionError(`reinterpreted_batch_ndims must be >= 0, got ${reinterpretedBatchNdims}`);
  }
  return new IndependentConstraint(baseConstraint, reinterpretedBatchNdims);
}
