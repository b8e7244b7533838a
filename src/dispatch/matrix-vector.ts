/** Products with vectors: each is a product of matrices, one of them a single row or column. */

import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import { Complex, type Scalar, scalarKind, scalarValue } from "../tensor/complex.ts";
import type { DType } from "../tensor/dtype.ts";
import { listText, sameSizes } from "../tensor/size.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import { CONJ, type Tensor } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { cast, copyInto, fill } from "./copy.ts";
import { asGiven, type Layout, layoutOf, multiply, type Product, target } from "./matrix.ts";
import { prepareOut } from "./out.ts";
import { requireNoInternalOverlap, requireNoPartialOverlap } from "./overlap.ts";
import { binary, type Pointwise, RULES } from "./pointwise.ts";
import { promoteTypes, requireCast } from "./promotion.ts";
import { refuse } from "./refusals.ts";
import { alias, asView, expand } from "./views.ts";

const column = (t: Tensor): Layout => ({ shape: [t._numel, 1], strides: [t._strides[0] ?? 1, 1] });
const row = (t: Tensor): Layout => ({ shape: [1, t._numel], strides: [1, t._strides[0] ?? 1] });
const single = (): Layout => ({ shape: [1, 1], strides: [1, 1] });

const MUL: Pointwise = { name: "mul", kernel: K.binary_mul, rule: RULES.arith, wide: 1 };
const ADD: Pointwise = { name: "add", kernel: K.binary_add, rule: RULES.arith };
const MV: Product = { kernelName: "addmv_impl_cpu", c: column, a: layoutOf, b: column };
const DOT: Product = { kernelName: REFUSALS.dot.kernel, c: single, a: row, b: column };

function requireVectorProduct(rank: number, size: number, mat: Tensor, vec: Tensor, op: string): void {
  if (rank > 1 || mat._shape.length !== 2 || vec._shape.length !== 1) {
    throw texts.matrixVectorRanks(op, rank, mat._shape.length, vec._shape.length);
  }
  if (mat._shape[1] !== vec._shape[0] || (size !== mat._shape[0] && size !== 1)) {
    throw texts.matrixVectorSizes(op, size, mat._shape.join("x"), vec._shape[0]);
  }
}

function requireVectorDtypes(self: DType, mat: Tensor, vec: Tensor, op: string): void {
  if (self === mat.dtype && mat.dtype === vec.dtype) return;
  throw texts.addmvDtypes(op, self.scalarType, mat.dtype.scalarType, vec.dtype.scalarType);
}

export function mv(self: Tensor, vec: Tensor, out: Tensor | undefined): Tensor {
  if (self._shape.length === 0) throw texts.dimOfScalar("mv", 0);
  const rows = self._shape[0] as number;
  requireVectorProduct(1, rows, self, vec, "mv");
  requireVectorDtypes(out?.dtype ?? vec.dtype, self, vec, "mv");
  const [mat, vector] = [asGiven(self, out, [rows]), asGiven(vec, out, [rows])];
  const c = target([rows], vec, out, false, "mv");
  return multiply(MV, c, mat, vector, mat._shape[1] as number, null, 0, 1);
}

export function addmv(
  self: Tensor,
  mat: Tensor,
  vec: Tensor,
  beta: Scalar,
  alpha: Scalar,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  requireVectorProduct(self._shape.length, self._numel, mat, vec, "addmv");
  requireVectorDtypes(self.dtype, mat, vec, "addmv");
  const shape = [mat._shape[0] as number];
  if (mat._numel === 0 && !inplace && !sameSizes(self._shape, shape)) return onlyStart(self, beta, out);
  const [left, vector] = [asGiven(mat, out, shape), asGiven(vec, out, shape)];
  const c = target(shape, vec, out, inplace, "addmv");
  requireNoPartialOverlap(c, self, "addmv");
  const start = inplace ? self : expand(self._shape.length === 1 ? self : expand(self, [1]), shape);
  return multiply(MV, c, left, vector, left._shape[1] as number, start, beta, alpha);
}

/** torch leaves a start that nothing is added to in its own shape. */
function onlyStart(self: Tensor, beta: Scalar, out: Tensor | undefined): Tensor {
  const c = target(self._shape, self, out, false, "addmv");
  return isZero(beta) ? fill(c, 0) : copyInto(c, castTo(times(self, beta), c.dtype));
}

function scalarTarget(self: Tensor, out: Tensor | undefined, op: string): Tensor {
  if (out === undefined) return empty([], self.dtype, self._storage.device);
  if (out.dtype !== self.dtype) throw texts.resultDtypeDiffers(op, out.dtype.scalarType, self.dtype.scalarType);
  prepareOut(out, []);
  requireNoInternalOverlap(out, op);
  return out;
}

function requireVectors(a: Tensor, b: Tensor, op: string): void {
  if (a._shape.length !== 1 || b._shape.length !== 1) throw texts.vectorsExpected(op, a._shape.length, b._shape.length);
  if (a.dtype !== b.dtype) throw texts.dotDtypes(op, a.dtype.scalarType, b.dtype.scalarType);
  if (a._numel !== b._numel) throw texts.dotSizes(op, a._numel, b._numel);
}

function vectorProduct(a: Tensor, b: Tensor, conjugate: boolean, out: Tensor | undefined, op: string): Tensor {
  const c = scalarTarget(a, out, op);
  requireVectors(a, b, op);
  refuse(REFUSALS.dot, a.dtype);
  if (a._numel === 0) return fill(c, 0);
  let left = a;
  if (conjugate && a.dtype.category === 3) {
    left = alias(a);
    left._bits ^= CONJ;
  }
  return multiply(DOT, c, left, b, a._numel, null, 0, 1);
}

export function dot(self: Tensor, other: Tensor, out: Tensor | undefined): Tensor {
  return vectorProduct(self, other, false, out, "dot");
}

export function vdot(self: Tensor, other: Tensor, out: Tensor | undefined): Tensor {
  return vectorProduct(self, other, true, out, "vdot");
}

function requireAddrVectors(vec1: Tensor, vec2: Tensor): void {
  for (const [name, v] of Object.entries({ vec1, vec2 })) {
    if (v._shape.length === 1) continue;
    throw texts.addrNotAVector("addr", name, v._shape.length);
  }
}

function requireAddrFactors(self: Tensor, vec1: Tensor, vec2: Tensor, beta: Scalar, alpha: Scalar): void {
  const every = [self, vec1, vec2].map((t) => t.dtype);
  const integral = every.every((d) => d.category < 2);
  for (const [name, x] of Object.entries({ beta, alpha })) {
    if (scalarKind(x) === "bool" && !every.every((d) => d.category === 0)) throw texts.addrBoolArgument("addr", name);
    if (!integral || scalarKind(x) === "int" || scalarKind(x) === "bool") continue;
    throw texts.addrFloatArgument("addr", name);
  }
}

function isZero(x: Scalar): boolean {
  const v = scalarValue(x);
  return v instanceof Complex ? v.re === 0 && v.im === 0 : Number(v) === 0;
}

/** A number multiplies a bool tensor as a bool. */
function times(t: Tensor, x: Scalar): Tensor {
  return x === 1 ? t : binary(MUL, t, t.dtype.category === 0 ? !isZero(x) : x);
}

/** beta * self + alpha * vec1 x vec2; self is not read when beta is zero. */
export function addr(
  self: Tensor,
  vec1: Tensor,
  vec2: Tensor,
  beta: Scalar,
  alpha: Scalar,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  requireAddrVectors(vec1, vec2);
  if (inplace && self._shape.length !== 2) throw texts.addrInputRank("addr_", self._shape.length);
  const shape = [vec1._numel, vec2._numel];
  if (inplace && !sameSizes(self._shape, shape)) {
    const sizes = `input: ${listText(self._shape)}, v1: ${listText(vec1._shape)}, v2: ${listText(vec2._shape)}`;
    throw texts.addrSizes("addr_", sizes);
  }
  requireAddrFactors(self, vec1, vec2, beta, alpha);
  const base = expand(self, shape);
  // In torch's order: a product of the vectors alone may overflow.
  const left = times(vec1, alpha);
  const columnOf = asView(left, [left._numel, 1], [left._strides[0] as number, 1], left._offset);
  const product = binary(MUL, columnOf, vec2);
  const common = promoteTypes(self.dtype, product.dtype);
  const scaled = isZero(beta) ? null : times(base, beta);
  const r = scaled === null ? castTo(product, common) : binary(ADD, scaled, product);
  dropCopy(product, r);
  if (scaled !== null) dropCopy(scaled, base);
  const target = inplace ? self : out;
  if (target === undefined) return r;
  requireCast(common, target.dtype);
  if (!inplace) {
    prepareOut(target, shape);
    for (const t of [self, vec1, vec2]) requireNoPartialOverlap(target, t, "addr");
  }
  copyInto(target, r);
  drop(r);
  return target;
}

const castTo = (t: Tensor, dtype: DType): Tensor => (t.dtype === dtype ? t : cast(t, dtype));
