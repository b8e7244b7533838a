/** Invertible functions of random values. */

import { fullLike, zerosLike } from "../../generated/functional.ts";
import { broadcastShapes } from "../dispatch/allocate.ts";
import { installChecks } from "../tensor/checks.ts";
import { Float, type Scalar, scalarToNumber } from "../tensor/complex.ts";
import { NotImplementedError, ValueError } from "../tensor/errors.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type Constraint, independent, interval, real } from "./constraints.ts";
import { settings } from "./distribution.ts";
import { type Parameter, softplus, sumRightmost } from "./parameters.ts";
import { TRANSFORM } from "./signatures.ts";

/** How a transform is made. */
export interface TransformOptions {
  /** With 1 the last result is kept, so that it is taken back exactly. Default 0. */
  cacheSize?: number;
}

/**
 * An invertible function, with the logarithm of how much it stretches. A class of yours defines `_call`, `_inverse`,
 * `logAbsDetJacobian`, `domain` and `codomain`.
 * @example
 * ```ts
 * const tanh = new distributions.TanhTransform({ cacheSize: 1 });
 * [tanh instanceof distributions.Transform, tanh.domain, tanh.codomain, tanh.eventDim, tanh.bijective, tanh.sign]
 * // [true, Real(), Interval(lower_bound=-1.0, upper_bound=1.0), 0, true, 1]
 * ```
 * @torch torch.distributions.Transform
 */
export abstract class Transform {
  /** @internal */ declare readonly _cacheSize: number;
  /** @internal */ declare _cached: [x: Tensor, y: Tensor] | null;
  /** @internal */ declare _inv: Transform | null;

  constructor(cacheSize: number | TransformOptions = 0) {
    const size = typeof cacheSize === "number" ? cacheSize : (cacheSize.cacheSize ?? 0);
    if (size !== 0 && size !== 1) throw new ValueError("cache_size must be 0 or 1");
    this._cacheSize = size;
    this._cached = null;
    this._inv = null;
  }

  /** What it takes. */
  abstract get domain(): Constraint;
  /** What it gives. */
  abstract get codomain(): Constraint;
  /** Whether every value has one inverse. @torch torch.distributions.Transform.bijective */
  get bijective(): boolean {
    return true;
  }
  /** 1 for a rising function, -1 for a falling one. @torch torch.distributions.Transform.sign */
  get sign(): number | Tensor {
    throw new NotImplementedError(`${this.constructor.name} does not implement sign`);
  }
  /** How many of the last dimensions it takes as one. @torch torch.distributions.Transform.event_dim */
  get eventDim(): number {
    if (this.domain.eventDim === this.codomain.eventDim) return this.domain.eventDim;
    throw new ValueError("Please use either .domain.event_dim or .codomain.event_dim");
  }
  /** The inverse function. @torch torch.distributions.Transform.inv */
  get inv(): Transform {
    this._inv ??= new InverseTransform(this);
    return this._inv;
  }

  /** @internal */
  abstract _call(x: Tensor): Tensor;
  /** @internal */
  abstract _inverse(y: Tensor): Tensor;
  /** The logarithm of |dy/dx|. @torch torch.distributions.Transform.log_abs_det_jacobian */
  abstract logAbsDetJacobian(x: Tensor, y: Tensor): Tensor;
  /** The same transform with a cache of that size. @torch torch.distributions.Transform.with_cache */
  abstract withCache(cacheSize?: number): Transform;

  /** y of x. @torch torch.distributions.Transform.__call__ */
  apply(x: Tensor): Tensor {
    if (this._cacheSize === 0) return this._call(x);
    if (this._cached?.[0] === x) return this._cached[1];
    const y = this._call(x);
    this._cached = [x, y];
    return y;
  }
  /** x of y: what `inv` applies. */
  unapply(y: Tensor): Tensor {
    if (this._cacheSize === 0) return this._inverse(y);
    if (this._cached?.[1] === y) return this._cached[0];
    const x = this._inverse(y);
    this._cached = [x, y];
    return x;
  }
  /** The shape of y. @torch torch.distributions.Transform.forward_shape */
  forwardShape(shape: readonly number[]): readonly number[] {
    return shape;
  }
  /** The shape of x. @torch torch.distributions.Transform.inverse_shape */
  inverseShape(shape: readonly number[]): readonly number[] {
    return shape;
  }
  /** Whether the other one is the same function. @torch torch.distributions.Transform.__eq__ */
  equals(other: Transform): boolean {
    return this === other;
  }
  /** Its class, and its parts. */
  toString(): string {
    return `${this.constructor.name}()`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}
installChecks(Transform.prototype, TRANSFORM);

class InverseTransform extends Transform {
  constructor(private readonly of: Transform) {
    super(of._cacheSize);
  }
  override get domain(): Constraint {
    return this.of.codomain;
  }
  override get codomain(): Constraint {
    return this.of.domain;
  }
  override get bijective(): boolean {
    return this.of.bijective;
  }
  override get sign(): number | Tensor {
    return this.of.sign;
  }
  override get inv(): Transform {
    return this.of;
  }
  // The cache is that of the other direction.
  override apply(x: Tensor): Tensor {
    return this.of.unapply(x);
  }
  override unapply(y: Tensor): Tensor {
    return this.of.apply(y);
  }
  override _call(x: Tensor): Tensor {
    return this.of._inverse(x);
  }
  override _inverse(y: Tensor): Tensor {
    return this.of._call(y);
  }
  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    return this.of.logAbsDetJacobian(y, x).neg();
  }
  override withCache(cacheSize = 1): Transform {
    return this.of.withCache(cacheSize).inv;
  }
  override forwardShape(shape: readonly number[]): readonly number[] {
    return this.of.inverseShape(shape);
  }
  override inverseShape(shape: readonly number[]): readonly number[] {
    return this.of.forwardShape(shape);
  }
  override equals(other: Transform): boolean {
    return other instanceof InverseTransform && this.of.equals(other.of);
  }
  /** The other direction's. */
  override toString(): string {
    return `_InverseTransform(${this.of})`;
  }
}

/**
 * The hyperbolic tangent. Values at the ends have no inverse: `cacheSize: 1` gives back what was put in.
 * @example
 * ```ts
 * const tanh = new distributions.TanhTransform();
 * const y = tanh.apply(tensor([0, 1]));
 * [y, tanh.inv.apply(y), tanh.unapply(y), tanh.logAbsDetJacobian(tensor([0, 1]), y)]
 * // [tensor([0.0000, 0.7616]), tensor([0., 1.]), tensor([0., 1.]), tensor([ 0.0000, -0.8676])]
 * ```
 * @torch torch.distributions.TanhTransform
 */
export class TanhTransform extends Transform {
  constructor(cacheSize?: number | TransformOptions);
  constructor(...given: unknown[]) {
    super(settings<TransformOptions>("TanhTransform", given));
  }
  override get domain(): Constraint {
    return real;
  }
  override get codomain(): Constraint {
    return interval(new Float(-1), new Float(1));
  }
  override get sign(): number {
    return 1;
  }
  override _call(x: Tensor): Tensor {
    return x.tanh();
  }
  override _inverse(y: Tensor): Tensor {
    return y.log1p().sub(y.neg().log1p()).mul(0.5);
  }
  override logAbsDetJacobian(x: Tensor, _y: Tensor): Tensor {
    return x
      .neg()
      .add(Math.LN2)
      .sub(softplus(x.mul(-2)))
      .mul(2);
  }
  override withCache(cacheSize = 1): Transform {
    return cacheSize === this._cacheSize ? this : new TanhTransform(cacheSize);
  }
  override equals(other: Transform): boolean {
    return other instanceof TanhTransform;
  }
}
installChecks(TanhTransform.prototype, TRANSFORM);

/** Parameters of `AffineTransform` by name. */
export interface AffineOptions extends TransformOptions {
  /** What is added. */
  loc?: Parameter;
  /** The factor. */
  scale?: Parameter;
  /** How many of the last dimensions are one event. Default 0. */
  eventDim?: number;
}

/**
 * A factor and a summand.
 * @example
 * ```ts
 * const affine = new distributions.AffineTransform(1, 2);
 * [affine.loc, affine.scale, affine.apply(tensor([0, 1])), affine.logAbsDetJacobian(zeros(2), ones(2))]
 * // [1, 2, tensor([1., 3.]), tensor([0.6931, 0.6931])]
 * ```
 * @torch torch.distributions.AffineTransform
 */
export class AffineTransform extends Transform {
  /** What is added. */
  readonly loc: Parameter;
  /** The factor. */
  readonly scale: Parameter;
  private readonly dims: number;

  constructor(
    loc: Parameter | AffineOptions,
    scale?: Parameter | AffineOptions,
    eventDim?: number | AffineOptions,
    cacheSize?: number | AffineOptions,
  );
  constructor(...given: unknown[]) {
    const o = settings<Required<AffineOptions>>("AffineTransform", given);
    super(o.cacheSize);
    this.loc = o.loc;
    this.scale = o.scale;
    this.dims = o.eventDim ?? 0;
  }
  override get eventDim(): number {
    return this.dims;
  }
  override get domain(): Constraint {
    return this.dims === 0 ? real : independent(real, this.dims);
  }
  override get codomain(): Constraint {
    return this.domain;
  }
  override get sign(): number | Tensor {
    const { scale } = this;
    if (!(scale instanceof Tensor)) return Math.sign(numberOf(scale));
    return scale.gt(0).to(scale.dtype).sub(scale.lt(0).to(scale.dtype));
  }
  override _call(x: Tensor): Tensor {
    return x.mul(this.scale).add(this.loc);
  }
  override _inverse(y: Tensor): Tensor {
    return y.sub(this.loc).div(this.scale);
  }
  override logAbsDetJacobian(x: Tensor, _y: Tensor): Tensor {
    const { scale } = this;
    const result = scale instanceof Tensor ? scale.abs().log() : fullLike(x, Math.log(Math.abs(numberOf(scale))));
    const shape = this.dims === 0 ? x.shape : x.shape.slice(0, -this.dims);
    return sumRightmost(result, this.dims).expand([...shape]);
  }
  override withCache(cacheSize = 1): Transform {
    if (cacheSize === this._cacheSize) return this;
    return new AffineTransform(this.loc, this.scale, this.dims, cacheSize);
  }
  override forwardShape(shape: readonly number[]): readonly number[] {
    let all = shape;
    for (const one of [this.loc, this.scale]) if (one instanceof Tensor) all = broadcastShapes(all, one.shape);
    return all;
  }
  override inverseShape(shape: readonly number[]): readonly number[] {
    return this.forwardShape(shape);
  }
  override equals(other: Transform): boolean {
    return other instanceof AffineTransform && same(this.loc, other.loc) && same(this.scale, other.scale);
  }
}
installChecks(AffineTransform.prototype, TRANSFORM);

const numberOf = (value: Parameter): number => scalarToNumber(value as Scalar);

function same(a: Parameter, b: Parameter): boolean {
  if (a instanceof Tensor) return a.eq(b).all().item() === true;
  return b instanceof Tensor ? same(b, a) : numberOf(a) === numberOf(b);
}

/** The transforms of a `ComposeTransform` by name. */
export interface ComposeOptions extends TransformOptions {
  /** The transforms, the first one first. */
  parts: readonly Transform[];
}

/**
 * Transforms one after the other.
 * @throws ValueError for parts that are no transforms
 * @example
 * ```ts
 * const { AffineTransform, ComposeTransform, TanhTransform } = distributions;
 * const both = new ComposeTransform([new TanhTransform(), new AffineTransform(1, 2)]);
 * [both.parts.length, both.apply(tensor([0, 1])), both.inv.apply(tensor([1.5])), both.codomain]
 * // [2, tensor([1.0000, 2.5232]), tensor([0.2554]), Real()]
 * ```
 * @torch torch.distributions.ComposeTransform
 */
export class ComposeTransform extends Transform {
  /** The transforms, the first one first. */
  readonly parts: readonly Transform[];

  constructor(parts: readonly Transform[] | ComposeOptions, cacheSize?: number | TransformOptions);
  constructor(...given: unknown[]) {
    const o = settings<{ parts: readonly Transform[]; cacheSize?: number }>("ComposeTransform", given);
    super(o.cacheSize);
    if (!o.parts.every((part) => part instanceof Transform)) {
      throw new ValueError("transforms must be a Transform or a list of Transforms");
    }
    const size = this._cacheSize;
    this.parts = size === 0 ? [...o.parts] : o.parts.map((part) => part.withCache(size));
  }
  override get domain(): Constraint {
    const first = this.parts[0];
    if (first === undefined) return real;
    let dims = (this.parts.at(-1) as Transform).codomain.eventDim;
    for (const part of [...this.parts].reverse()) {
      dims = Math.max(dims + part.domain.eventDim - part.codomain.eventDim, part.domain.eventDim);
    }
    return raised(first.domain, dims);
  }
  override get codomain(): Constraint {
    const last = this.parts.at(-1);
    if (last === undefined) return real;
    let dims = (this.parts[0] as Transform).domain.eventDim;
    for (const part of this.parts) {
      dims = Math.max(dims + part.codomain.eventDim - part.domain.eventDim, part.codomain.eventDim);
    }
    return raised(last.codomain, dims);
  }
  override get bijective(): boolean {
    return this.parts.every((part) => part.bijective);
  }
  override get sign(): number | Tensor {
    return signOf(this.parts);
  }
  override get inv(): Transform {
    if (this._inv === null) {
      const inverse = new ComposeTransform([...this.parts].reverse().map((part) => part.inv));
      inverse._inv = this;
      this._inv = inverse;
    }
    return this._inv;
  }
  override apply(x: Tensor): Tensor {
    return this._call(x);
  }
  override unapply(y: Tensor): Tensor {
    return this._inverse(y);
  }
  override _call(x: Tensor): Tensor {
    return this.parts.reduce((at, part) => part.apply(at), x);
  }
  override _inverse(y: Tensor): Tensor {
    return this.parts.reduceRight((at, part) => part.unapply(at), y);
  }
  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    if (this.parts.length === 0) return zerosLike(x);
    let dims = this.domain.eventDim;
    let sum: Tensor | null = null;
    let at = x;
    for (const [i, part] of this.parts.entries()) {
      const next = i === this.parts.length - 1 ? y : part.apply(at);
      const term = sumRightmost(part.logAbsDetJacobian(at, next), dims - part.domain.eventDim);
      sum = sum === null ? term : sum.add(term);
      dims += part.codomain.eventDim - part.domain.eventDim;
      at = next;
    }
    return sum as Tensor;
  }
  override withCache(cacheSize = 1): Transform {
    return cacheSize === this._cacheSize ? this : new ComposeTransform(this.parts, cacheSize);
  }
  override forwardShape(shape: readonly number[]): readonly number[] {
    return this.parts.reduce((at, part) => part.forwardShape(at), shape);
  }
  override inverseShape(shape: readonly number[]): readonly number[] {
    return this.parts.reduceRight((at, part) => part.inverseShape(at), shape);
  }
  override equals(other: Transform): boolean {
    return other instanceof ComposeTransform && sameParts(this.parts, other.parts);
  }
  /** Its parts, one a line. */
  override toString(): string {
    return `${this.constructor.name}(\n    ${this.parts.join(",\n    ")}\n)`;
  }
}
installChecks(ComposeTransform.prototype, TRANSFORM);

/** A region of events of so many dimensions. */
function raised(region: Constraint, dims: number): Constraint {
  return dims > region.eventDim ? independent(region, dims - region.eventDim) : region;
}

/** Whether transforms rise together, all of them. */
export function signOf(parts: readonly Transform[]): number | Tensor {
  let sign: number | Tensor = 1;
  for (const part of parts) {
    const next: number | Tensor = part.sign;
    if (sign instanceof Tensor) sign = sign.mul(next);
    else sign = next instanceof Tensor ? next.mul(sign) : sign * next;
  }
  return sign;
}

/** Whether two lists hold the same functions. */
export function sameParts(a: readonly Transform[], b: readonly Transform[]): boolean {
  return a.length === b.length && a.every((part, i) => part.equals(b[i] as Transform));
}
