/** Degrees, log-odds, neighbours of numbers, questions of single numbers: checks beyond the common pointwise path. */

import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import type { Device } from "../tensor/device.ts";
import { bfloat16, bool, type DType, float16, toReal } from "../tensor/dtype.ts";
import { contiguousStrides } from "../tensor/size.ts";
import { drop } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import {
  empty,
  emptyBeside,
  emptyCopy,
  emptyLike,
  emptyWith,
  isCanonical,
  preservedStrides,
  strideOrder,
} from "./allocate.ts";
import { fill } from "./copy.ts";
import { floatLimit } from "./fits.ts";
import { binary, general, layoutOf, type Pointwise, RULES, scalarAttr, unary } from "./pointwise.ts";
import { canCast, resultType2 } from "./promotion.ts";
import { refuse } from "./refusals.ts";
import { asView } from "./views.ts";

type Out = Tensor | undefined;

const isComplex = (x: Tensor): boolean => x.dtype.category === 3;
const isWhole = (x: Tensor): boolean => x.dtype.category < 2;

const SCALED: Pointwise = { name: "mul", kernel: K.binary_mul, rule: RULES.arith, wide: 1 };

function scaled(op: string, self: Tensor, factor: number, out: Out, inplace: boolean): Tensor {
  if (isComplex(self)) throw texts.complexDegrees(op, op);
  return binary(SCALED, self, factor, out, inplace);
}

export function deg2rad(self: Tensor, out: Out, inplace: boolean): Tensor {
  return scaled("deg2rad", self, Math.PI / 180, out, inplace);
}

export function rad2deg(self: Tensor, out: Out, inplace: boolean): Tensor {
  return scaled("rad2deg", self, 180 / Math.PI, out, inplace);
}

const LOGIT: Pointwise = { name: "logit", kernel: K.unary_logit, rule: RULES.float, refuses: [REFUSALS.logit_cpu] };

export function logit(self: Tensor, eps: number | null, out: Out, inplace: boolean): Tensor {
  const set = (): void => scalarAttr(0, eps ?? -1);
  return general(LOGIT, [self], out, inplace, set);
}

const NEXTAFTER: Pointwise = {
  name: "nextafter",
  kernel: K.binary_nextafter,
  rule: RULES.arith,
  refuses: [REFUSALS.nextafter_cpu],
};

/** The kernel computes in float32 and is told how far numbers of a short dtype lie apart. */
export function nextafter(self: Tensor, other: Tensor, out: Out, inplace: boolean): Tensor {
  const set = (compute: DType): void => scalarAttr(0, compute === bfloat16 ? 1 : compute === float16 ? 2 : 0);
  return general(NEXTAFTER, [self, other], out, inplace, set);
}

const HEAVISIDE: Pointwise = {
  name: "heaviside",
  kernel: K.binary_heaviside,
  rule: RULES.same,
  refuses: [REFUSALS.heaviside_cpu],
};

export function heaviside(self: Tensor, values: Tensor, out: Out, inplace: boolean): Tensor {
  if (isComplex(self) || isComplex(values) || (out !== undefined && isComplex(out)))
    throw texts.heavisideOfComplex("heaviside");
  if (self.dtype !== values.dtype || (out !== undefined && out.dtype !== self.dtype)) {
    throw texts.heavisideDtypes("heaviside");
  }
  return binary(HEAVISIDE, self, values, out, inplace);
}

const GCD: Pointwise = { name: "gcd", kernel: K.binary_gcd, rule: RULES.arith, refuses: [REFUSALS.gcd_cpu] };
const LCM: Pointwise = { name: "lcm", kernel: K.binary_lcm, rule: RULES.arith, refuses: [REFUSALS.lcm_cpu] };

/** The kernel computes in int32 and is told where the least number of the dtype lies. */
const least = (compute: DType): void => scalarAttr(0, compute.isSigned ? -(2 ** (8 * compute.itemsize - 1)) : 1);

export function gcd(self: Tensor, other: Tensor, out: Out, inplace: boolean): Tensor {
  return general(GCD, [self, other], out, inplace, least);
}

export function lcm(self: Tensor, other: Tensor, out: Out, inplace: boolean): Tensor {
  return general(LCM, [self, other], out, inplace, least);
}

const LDEXP: Pointwise = { name: "ldexp", kernel: K.binary_ldexp, rule: RULES.float };
const EXP2: Pointwise = { name: "ldexp", kernel: K.unary_exp2, rule: RULES.float };
const TIMES: Pointwise = { name: "ldexp", kernel: K.binary_mul, rule: RULES.float };

/** Floats times a power of whole numbers have a kernel; other operands are multiplied with the power itself. */
export function ldexp(self: Tensor, other: Tensor, out: Out, inplace: boolean): Tensor {
  const result = LDEXP.rule.compute(resultType2(self, other));
  if (out !== undefined && !canCast(result, out.dtype)) {
    const to = out.dtype.scalarType;
    throw result.category === 3 && out.dtype.category === 2
      ? texts.resultCast("ldexp", result.scalarType, to)
      : texts.ldexpCast("ldexp", to);
  }
  if (self.dtype.category !== 2 || !isWhole(other)) {
    const power = unary(EXP2, other, emptyBeside(other, EXP2.rule.compute(other.dtype)));
    const result = binary(TIMES, self, power, out, inplace);
    drop(power);
    return result;
  }
  refuse(REFUSALS.ldexp_cpu_exp, other.dtype, "ldexp");
  return binary(LDEXP, self, other, out, inplace);
}

const question = (name: string, kernel: Pointwise["kernel"]): Pointwise => ({ name, kernel, rule: RULES.compare });
const ISINF = question("isinf", K.unary_isinf);
const ISFINITE = question("isfinite", K.unary_isfinite);
const ISPOSINF = question("isposinf", K.unary_isposinf);
const ISNEGINF = question("isneginf", K.unary_isneginf);
const SIGNBIT: Pointwise = { ...question("signbit", K.unary_signbit), refuses: [REFUSALS.signbit_cpu] };
const NEVER: Pointwise = question("isposinf", K.binary_ne);

/** The layout of what is computed in two steps: the size, and its comparison with a number. */
function besideSize(self: Tensor): Tensor {
  return isCanonical(self)
    ? emptyLike(self, bool)
    : emptyWith(self._shape, stridesBesideSize(self), bool, deviceOf(self));
}

function stridesBesideSize(self: Tensor): readonly number[] {
  const size = self._contiguous ? self : laid(self, preservedStrides(self));
  return self._contiguous || isCanonical(size) ? contiguousStrides(self._shape) : strideOrder(self._shape, [size]);
}

const deviceOf = (x: Tensor): Device => x._storage.device;

/** A tensor of other strides, of which nothing but its geometry is asked. */
function laid(self: Tensor, strides: readonly number[]): Tensor {
  return asView(self, self._shape, strides, self._offset);
}

/** In three: where an element equals itself, and where its size is not infinite. */
function besideBoth(self: Tensor): Tensor {
  const shape = self._shape;
  if (isCanonical(self)) return emptyLike(self, bool);
  const equal = laid(self, layoutOf([self, self], shape) ?? contiguousStrides(shape));
  const strides = layoutOf([equal, laid(self, stridesBesideSize(self))], shape);
  return strides === null ? empty(shape, bool, deviceOf(self)) : emptyWith(shape, strides, bool, deviceOf(self));
}

export function isinf(self: Tensor): Tensor {
  const out = besideSize(self);
  return isWhole(self) ? fill(out, false) : unary(ISINF, self, out);
}

export function isfinite(self: Tensor): Tensor {
  const out = besideBoth(self);
  return isWhole(self) ? fill(out, true) : unary(ISFINITE, self, out);
}

function requireBools(op: string, out: Out): void {
  if (out !== undefined && out.dtype !== bool) throw texts.boolsOnly(op, op);
}

function signedInfinity(p: Pointwise, self: Tensor, out: Out): Tensor {
  if (isComplex(self)) throw texts.noComplexInputs(p.name, p.name);
  requireBools(p.name, out);
  if (!isWhole(self)) return unary(p, self, out);
  // No whole number differs from itself.
  return out === undefined ? fill(emptyLike(self, bool), false) : binary(NEVER, self, self, out);
}

export function isposinf(self: Tensor, out: Out): Tensor {
  return signedInfinity(ISPOSINF, self, out);
}

export function isneginf(self: Tensor, out: Out): Tensor {
  return signedInfinity(ISNEGINF, self, out);
}

export function signbit(self: Tensor, out: Out): Tensor {
  if (isComplex(self)) throw texts.signbitOfComplex("signbit");
  requireBools("signbit", out);
  if (self.dtype !== bool) return unary(SIGNBIT, self, out);
  return out === undefined ? fill(emptyLike(self, bool), false) : binary(NEVER, self, self, out);
}

const NAN_TO_NUM: Pointwise = {
  name: "nan_to_num",
  kernel: K.unary_nan_to_num,
  rule: RULES.same,
  refuses: [REFUSALS.nan_to_num],
};
const COPIED: Pointwise = { ...NAN_TO_NUM, kernel: K.unary_convert, refuses: null };

export function nanToNum(
  self: Tensor,
  nan: number | null,
  posinf: number | null,
  neginf: number | null,
  out: Out,
  inplace: boolean,
): Tensor {
  if (out !== undefined && out.dtype !== self.dtype) {
    throw texts.nanToNumDtype("nan_to_num", out.dtype.scalarType, self.dtype.scalarType);
  }
  if (isWhole(self)) return inplace && out === self ? self : unary(COPIED, self, out);
  const set = (compute: DType): void => {
    const most = floatLimit(toReal(compute));
    scalarAttr(0, nan ?? 0);
    scalarAttr(1, posinf ?? most);
    scalarAttr(2, neginf ?? -most);
  };
  return general(NAN_TO_NUM, [self], out ?? emptyCopy(self), inplace, set);
}
