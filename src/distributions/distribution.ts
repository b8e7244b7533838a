/** What all distributions have: shapes, checks of parameters and values, and what follows from other members. */
import { noGrad } from "../autograd/api.ts";
import { installChecks, namedArguments } from "../tensor/checks.ts";
import { NotImplementedError, ValueError, warn } from "../tensor/errors.ts";
import { Size } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type Constraint, isDependent } from "./constraints.ts";
import { CONSTRUCTORS, METHODS, STATICS } from "./signatures.ts";
import { formatted, tupleText } from "./text.ts";

/** The shape in front of a sample's own: a list of sizes, or one size. */
export type SampleShape = number | readonly number[];

/** How a distribution is made. */
export interface DistributionOptions {
  /** Whether parameters and values are checked; the class decides when it is missing. */
  validateArgs?: boolean | null;
}

/** The arguments of a constructor by name: given in their places, or in one object. */
export function settings<T extends object>(name: keyof typeof CONSTRUCTORS, given: readonly unknown[]): T {
  return namedArguments(name, CONSTRUCTORS[name], given) as T;
}

/** A list of sizes. */
export function sizesOf(shape: SampleShape): readonly number[] {
  return typeof shape === "number" ? [shape] : shape;
}

/**
 * The base class of probability distributions. A class of yours calls `super()`, sets what `argConstraints` names, then
 * calls `_init` with its shapes, which checks them; it defines `rsample` or `sample`, `logProb` and `support`.
 * @example
 * ```ts
 * const dist = new distributions.Normal(zeros(3), ones(3));
 * [dist instanceof distributions.Distribution, dist.batchShape, dist.eventShape, dist.hasRsample]
 * // [true, torch.Size([3]), torch.Size([]), true]
 * ```
 * @torch torch.distributions.Distribution
 */
export abstract class Distribution<S = Tensor, P = Tensor> {
  /** @internal Whether new distributions check parameters and values. */
  static _validateArgs = true;
  /** @internal */ declare _batchShape: Size;
  /** @internal */ declare _eventShape: Size;
  /** @internal */ declare _validate: boolean;

  constructor(batchShape: SampleShape = [], eventShape: SampleShape = [], validateArgs: boolean | null = null) {
    this._setShapes(sizesOf(batchShape), sizesOf(eventShape), validateArgs);
  }

  /**
   * Whether new distributions check their parameters and values.
   * @torch torch.distributions.Distribution.set_default_validate_args
   */
  static setDefaultValidateArgs(value: boolean): void {
    Distribution._validateArgs = value;
  }

  /** @internal */
  _setShapes(batchShape: readonly number[], eventShape: readonly number[], validateArgs: boolean | null): void {
    this._batchShape = Size.fromList(batchShape);
    this._eventShape = Size.fromList(eventShape);
    this._validate = validateArgs ?? Distribution._validateArgs;
  }

  /** @internal Sets the shapes and checks the parameters, once they are there. */
  _init(batchShape: readonly number[], eventShape: readonly number[], validateArgs: boolean | null | undefined): void {
    this._setShapes(batchShape, eventShape, validateArgs ?? null);
    if (!this._validate) return;
    let constraints: Record<string, Constraint> = {};
    try {
      constraints = this.argConstraints;
    } catch (error) {
      if (!(error instanceof NotImplementedError)) throw error;
      warn(
        `${this.constructor.name} does not define \`arg_constraints\`. Please set \`arg_constraints = {}\` or ` +
          "initialize the distribution with `validate_args=False` to turn off validation.",
      );
    }
    for (const [name, constraint] of Object.entries(constraints)) {
      const value = this._parameter(name);
      if (value === undefined || isDependent(constraint) || allTrue(constraint.check(value))) continue;
      throw new ValueError(
        `Expected parameter ${name} (${described(value)}) of distribution ${this} to satisfy the constraint ` +
          `${constraint}, but found invalid values:\n${formatted(value)}`,
      );
    }
  }

  /** @internal A parameter that is there: given, or computed from another one already. */
  _parameter(name: string): Tensor | undefined {
    for (const key of [name, `_${name}`]) {
      const own = Object.getOwnPropertyDescriptor(this, key)?.value;
      if (own instanceof Tensor) return own;
    }
    return undefined;
  }

  /** @internal A distribution of the same class with other shapes; the caller sets its parameters. */
  _another(batchShape: readonly number[], eventShape: readonly number[] = this._eventShape): this {
    const other = Object.assign(Object.create(Object.getPrototypeOf(this)) as this, this);
    other._setShapes(batchShape, eventShape, this._validate);
    return other;
  }

  /** Whether samples carry gradients to the parameters. @torch torch.distributions.Distribution.has_rsample */
  get hasRsample(): boolean {
    return false;
  }
  /** Whether `enumerateSupport` lists all values. @torch torch.distributions.Distribution.has_enumerate_support */
  get hasEnumerateSupport(): boolean {
    return false;
  }
  /** The shape of the parameters: one distribution for each. @torch torch.distributions.Distribution.batch_shape */
  get batchShape(): Size {
    return this._batchShape;
  }
  /** The shape of one sample of one distribution. @torch torch.distributions.Distribution.event_shape */
  get eventShape(): Size {
    return this._eventShape;
  }
  /** What each parameter has to satisfy. @torch torch.distributions.Distribution.arg_constraints */
  get argConstraints(): Record<string, Constraint> {
    return this._lacks("arg_constraints");
  }
  /** The region of all samples. @torch torch.distributions.Distribution.support */
  get support(): Constraint {
    return this._lacks("support");
  }
  /** The mean. @torch torch.distributions.Distribution.mean */
  get mean(): S {
    return this._lacks("mean");
  }
  /** The value of highest probability. @torch torch.distributions.Distribution.mode */
  get mode(): S {
    return this._lacks("mode");
  }
  /** The variance. @torch torch.distributions.Distribution.variance */
  get variance(): S {
    return this._lacks("variance");
  }
  /** The standard deviation. @torch torch.distributions.Distribution.stddev */
  get stddev(): S {
    const { variance } = this;
    return (variance instanceof Tensor ? variance.sqrt() : this._lacks("stddev")) as S;
  }

  /**
   * Random values of the shape `sampleShape + batchShape + eventShape`, without gradients.
   * @torch torch.distributions.Distribution.sample
   */
  sample(sampleShape: SampleShape = []): S {
    return noGrad(() => this.rsample(sampleShape));
  }
  /**
   * Random values whose gradients reach the parameters.
   * @throws NotImplementedError for distributions that have none
   * @torch torch.distributions.Distribution.rsample
   */
  rsample(_sampleShape: SampleShape = []): S {
    return this._lacks("rsample");
  }
  /**
   * The logarithm of the density, or of the probability, of a value.
   * @throws ValueError for a value outside of the support, or of a shape that does not broadcast
   * @torch torch.distributions.Distribution.log_prob
   */
  logProb(_value: S): P {
    return this._lacks("log_prob");
  }
  /** The probability of all values up to this one. @torch torch.distributions.Distribution.cdf */
  cdf(_value: S): S {
    return this._lacks("cdf");
  }
  /** The value up to which lies this probability. @torch torch.distributions.Distribution.icdf */
  icdf(_value: S): S {
    return this._lacks("icdf");
  }
  /** The entropy, in the batch's shape. @torch torch.distributions.Distribution.entropy */
  entropy(): P {
    return this._lacks("entropy");
  }
  /** The exponential of the entropy. @torch torch.distributions.Distribution.perplexity */
  perplexity(): Tensor {
    const entropy = this.entropy();
    return entropy instanceof Tensor ? entropy.exp() : this._lacks("perplexity");
  }
  /**
   * All values of a discrete distribution, along a new first dimension; with `expand` false the batch's dimensions have
   * size one.
   * @torch torch.distributions.Distribution.enumerate_support
   */
  enumerateSupport(_expand = true): S {
    return this._lacks("enumerate_support");
  }
  /** The same distribution for a larger batch; parameters are views. @torch torch.distributions.Distribution.expand */
  expand(_batchShape: SampleShape): this {
    return this._lacks("expand");
  }

  /** @internal The shape of a sample. */
  _extendedShape(sampleShape: SampleShape = []): number[] {
    return [...sizesOf(sampleShape), ...this._batchShape, ...this._eventShape];
  }

  /** @internal Refuses values that are no samples of this distribution. */
  _validateSample(value: Tensor): void {
    if (!(value instanceof Tensor)) throw new ValueError("The value argument to log_prob must be a Tensor");
    if (!this._validate) return;
    const actual = value.shape;
    const event = actual.slice(Math.max(actual.length - this._eventShape.length, 0));
    if (String(event) !== String([...this._eventShape])) {
      throw new ValueError(`The right-most size of value must match event_shape: ${actual} vs ${this._eventShape}.`);
    }
    const expected = [...this._batchShape, ...this._eventShape];
    for (let i = 1; i <= Math.min(actual.length, expected.length); i++) {
      const [a, b] = [actual.at(-i), expected.at(-i)];
      if (a === b || a === 1 || b === 1) continue;
      throw new ValueError(
        `Value is not broadcastable with batch_shape+event_shape: ${actual} vs ${Size.fromList(expected)}.`,
      );
    }
    this._requireSupport(value);
  }

  private _requireSupport(value: Tensor): void {
    let support: Constraint;
    try {
      support = this.support;
    } catch (error) {
      if (!(error instanceof NotImplementedError)) throw error;
      warn(
        `${this.constructor.name} does not define \`support\` to enable sample validation. Please initialize the ` +
          "distribution with `validate_args=False` to turn off validation.",
      );
      return;
    }
    if (allTrue(support.check(value))) return;
    throw new ValueError(
      `Expected value argument (${described(value)}) to be within the support (${support}) of the distribution ` +
        `${this}, but found invalid values:\n${formatted(value)}`,
    );
  }

  /** @internal */
  _lacks(member: string): never {
    throw new NotImplementedError(`${this.constructor.name} does not implement ${member}`);
  }

  /** Its parameters: values of single ones, shapes of others. */
  toString(): string {
    const shown: string[] = [];
    for (const name of Object.keys(this.argConstraints)) {
      const value = this._parameter(name);
      if (value !== undefined) shown.push(`${name}: ${value.numel() === 1 ? formatted(value) : value.shape}`);
    }
    return `${this.constructor.name}(${shown.join(", ")})`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}
installChecks(Distribution.prototype, METHODS);
installChecks(Distribution, STATICS);

const allTrue = (valid: Tensor): boolean => valid.all().item() === true;

function described(value: Tensor): string {
  return `${value.constructor.name} of shape ${tupleText(value.shape)}`;
}
