/** Products of matrices and batches of matrices: checks, results, and the call of the kernel. */

import { MatmulAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { Complex, type Scalar, scalarKind, scalarValue } from "../tensor/complex.ts";
import { bool, type DType, float32 } from "../tensor/dtype.ts";
import { losesDigits } from "../tensor/integers.ts";
import { contiguousStrides, sameSizes } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { cast, clone, copyInto, fill, transfer } from "./copy.ts";
import { checkFactor } from "./fits.ts";
import { prepareOut, setGeometry } from "./out.ts";
import { requireNoInternalOverlap, requireNoPartialOverlap } from "./overlap.ts";
import { binary, RULES } from "./pointwise.ts";
import { alias, expand, select } from "./views.ts";

const TIMES = { name: "mul", kernel: K.binary_mul, rule: RULES.arith };
const PLUS = { name: "add", kernel: K.binary_add, rule: RULES.arith };

/** Refuses an `out` of another dtype. */
export function requireExact(out: Tensor, dtype: DType, op: string): void {
  if (out.dtype !== dtype) throw texts.outOfWrongDtype(op, dtype.cppName, out.dtype.cppName);
}

/** The fresh result, or `out` after its checks. */
export function target(
  shape: readonly number[],
  like: Tensor,
  out: Tensor | undefined,
  inplace: boolean,
  op: string,
): Tensor {
  if (out === undefined) return empty(shape, like.dtype, like._storage.device);
  if (inplace) {
    if (!sameSizes(out._shape, shape)) throw texts.badInPlaceSize(op, out._shape, shape);
  } else {
    requireExact(out, like.dtype, op);
    prepareOut(out, shape);
  }
  requireNoInternalOverlap(out, op);
  return out;
}

/** A factor as it is now, when it is `out` as well and that gets other sizes. */
export function asGiven(factor: Tensor, out: Tensor | undefined, shape: readonly number[]): Tensor {
  return factor !== out || sameSizes(factor._shape, shape) ? factor : alias(factor);
}

/** Strides of an operand as the kernel wants them: sizes and strides of one matrix, or of a batch. */
export interface Layout {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

export const layoutOf = (t: Tensor): Layout => ({ shape: t._shape, strides: t._strides });

/** Kinds of elements that the kernel multiplies itself. */
const UNSUPPORTED = new Set(["bool", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"]);

function setFactor(i: number, x: Scalar, d: DType): void {
  const v = x === 1 ? 1 : scalarValue(x);
  const re = v instanceof Complex ? v.re : Number(v);
  frame.attr(i, d.category < 2 ? Math.trunc(re) : re);
  frame.attr(i + 1, v instanceof Complex && d.category === 3 ? v.im : 0);
}

/**
 * c = beta * start + alpha * a @ b for operands that the kernel can read, with c in bytes of its own; what c holds is
 * the start when none is given.
 */
function run(
  c: Tensor,
  lc: Layout,
  a: Tensor,
  la: Layout,
  b: Tensor,
  lb: Layout,
  beta: Scalar,
  alpha: Scalar,
  start: Tensor | null = null,
  ls: Layout = lc,
): void {
  const d = c.dtype;
  frame.begin(start === null ? 3 : 4, d.compute);
  frame.operand(0, c._address(), d.id, lc.shape, lc.strides, 0);
  frame.operand(1, a._address(), d.id, la.shape, la.strides, 0);
  frame.operand(2, b._address(), d.id, lb.shape, lb.strides, 0);
  if (start !== null) frame.operand(3, start._address(), d.id, ls.shape, ls.strides, 0);
  setFactor(MatmulAttr.alpha, alpha, d);
  setFactor(MatmulAttr.beta, beta, d);
  K.matmul_gemm.run(c._storage.device, "mm", d.scalarType);
}

/** Without conjugate and negative bits. */
export function plain(t: Tensor): Tensor {
  return t._bits === 0 ? t : clone(t);
}

function isZero(x: Scalar): boolean {
  const v = scalarValue(x);
  return v instanceof Complex ? v.re === 0 && v.im === 0 : Number(v) === 0;
}

/** How `multiply` reads the result and the factors; vectors become matrices here. */
export type View = (t: Tensor) => Layout;

/** What a product is called in the refusal of a dtype, and how its operands are read. */
export interface Product {
  readonly kernelName: string;
  readonly c: View;
  readonly a: View;
  readonly b: View;
}

const MM: Product = { kernelName: "addmm_impl_cpu_", c: layoutOf, a: layoutOf, b: layoutOf };
const BMM: Product = { ...MM, kernelName: "bmm" };
const BADDBMM: Product = { ...MM, kernelName: "baddbmm" };

/**
 * c = beta * self + alpha * a @ b. `self` is null when beta counts as zero; it may be `c` itself. The dtypes are equal
 * and the sizes fit.
 */
export function multiply(
  p: Product,
  c: Tensor,
  a: Tensor,
  b: Tensor,
  inner: number,
  self: Tensor | null,
  beta: Scalar,
  alpha: Scalar,
): Tensor {
  if (!hasWork(c)) return c;
  const start = self !== null && !isZero(beta) ? self : null;
  if (inner === 0) return scaleOnly(c, start, beta);
  if (UNSUPPORTED.has(c.dtype.name)) return unusual(p, c, a, b, inner, start, beta, alpha);
  checkFactor(beta, c.dtype);
  checkFactor(alpha, c.dtype);
  if (losesDigits(beta) || losesDigits(alpha)) return exactly(p, c, a, b, inner, start, beta, alpha);
  const left = plain(a);
  const right = plain(b);
  const shared = c._storage === left._storage || c._storage === right._storage;
  if (c._bits !== 0 || shared || (start !== null && start !== c && start._storage === c._storage)) {
    const fresh = empty(c._shape, c.dtype, c._storage.device);
    multiply(p, fresh, left, right, inner, start, beta, alpha);
    return copyInto(c, fresh);
  }
  const [lc, la, lb] = [p.c(c), p.a(left), p.b(right)];
  if (start === null || start === c) {
    run(c, lc, left, la, right, lb, start === null ? 0 : beta, alpha);
  } else if (startsBeside(lc, start, p.c(start))) {
    run(c, lc, left, la, right, lb, beta, alpha, start, p.c(start));
  } else {
    transfer(c, start);
    run(c, lc, left, la, right, lb, beta, alpha);
  }
  return c;
}

/** With factors that are integers of more digits than the kernel is told. */
function exactly(
  p: Product,
  c: Tensor,
  a: Tensor,
  b: Tensor,
  inner: number,
  start: Tensor | null,
  beta: Scalar,
  alpha: Scalar,
): Tensor {
  const product = multiply(p, empty(c._shape, c.dtype, c._storage.device), a, b, inner, null, 0, 1);
  const scaled = binary(TIMES, product, alpha);
  return copyInto(c, start === null ? scaled : binary(PLUS, binary(TIMES, start, beta), scaled));
}

/**
 * Whether the kernel reads what it starts from where it lies: a bias that is the same for all rows or columns, or
 * a matrix with the result's strides. Others cost less when they are copied first.
 */
function startsBeside({ shape, strides }: Layout, start: Tensor, { strides: given }: Layout): boolean {
  if (start._bits !== 0) return false;
  const first = shape.length - 2;
  for (let i = first; i < shape.length; i++) {
    if (given[i] !== 0 && given[i] !== strides[i] && shape[i] !== 1) return false;
  }
  return true;
}

/** No products to add: beta * self. */
function scaleOnly(c: Tensor, self: Tensor | null, beta: Scalar): Tensor {
  if (self === null) return fill(c, 0);
  const kind = scalarKind(beta);
  const wanted = kind === "complex" ? 3 : kind === "float" ? 2 : 0;
  if (wanted > c.dtype.category) {
    const from = kind === "complex" ? "ComplexFloat" : "Float";
    throw texts.resultCast(undefined, from, c.dtype.scalarType);
  }
  if (c.dtype.category < 1) return self === c ? c : copyInto(c, self);
  // One column times one row of zeros: the kernel scales what it starts from.
  const zeros = fill(empty([1], c.dtype, c._storage.device), 0);
  const start = self === c ? clone(c) : self;
  const flat = empty(c._shape, c.dtype, c._storage.device);
  transfer(flat, start);
  const column: Layout = { shape: [c._numel, 1], strides: [0, 1] };
  const whole: Layout = { shape: [c._numel, 1], strides: [1, 1] };
  run(flat, whole, zeros, column, zeros, { shape: [1, 1], strides: [1, 1] }, beta, 0);
  return copyInto(c, flat);
}

/** float8 matrices are multiplied in float32; other dtypes are refused in torch's words. */
function unusual(
  p: Product,
  c: Tensor,
  a: Tensor,
  b: Tensor,
  inner: number,
  self: Tensor | null,
  beta: Scalar,
  alpha: Scalar,
): Tensor {
  // torch hands all but small batched products on to the product of two matrices.
  const passedOn = (p === BMM || p === BADDBMM) && (c._shape[1] as number) * (c._shape[2] as number) * inner >= 400;
  if (p !== MM || c.dtype.category !== 2) refuse(passedOn ? MM.kernelName : p.kernelName, c.dtype);
  const wide = self === null ? empty(c._shape, float32, c._storage.device) : cast(expand(self, c._shape), float32);
  multiply(p, wide, cast(a, float32), cast(b, float32), inner, self === null ? null : wide, beta, alpha);
  return copyInto(c, wide);
}

export function refuse(kernelName: string, d: DType): never {
  throw texts.notImplementedFor(undefined, kernelName, d.scalarType);
}

function requireMatrices(op: string, first: Tensor, second: Tensor): void {
  if (first._shape.length !== 2) throw texts.selfNotAMatrix(op, first._shape.length);
  if (second._shape.length !== 2) throw texts.mat2NotAMatrix(op, second._shape.length);
  if (first._shape[1] !== second._shape[0]) {
    throw texts.shapesDoNotMultiply(op, first._shape.join("x"), second._shape.join("x"));
  }
}

export function mm(self: Tensor, mat2: Tensor, out: Tensor | undefined): Tensor {
  requireMatrices("mm", self, mat2);
  const shape = [self._shape[0] as number, mat2._shape[1] as number];
  const [left, right] = [asGiven(self, out, shape), asGiven(mat2, out, shape)];
  const c = target(shape, self, out, false, "mm");
  if (self.dtype !== mat2.dtype) throw texts.mmDtypes("mm", self.dtype.cppName, mat2.dtype.cppName);
  return multiply(MM, c, left, right, left._shape[1] as number, null, 0, 1);
}

function requireSame(left: string, a: Tensor, b: Tensor, op: string): void {
  if (a.dtype !== b.dtype) throw texts.mat2Dtype(op, left, a.dtype.scalarType, b.dtype.scalarType);
}

export function addmm(
  self: Tensor,
  mat1: Tensor,
  mat2: Tensor,
  beta: Scalar,
  alpha: Scalar,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  requireSame("self", self, mat2, "addmm");
  requireSame("mat1", mat1, mat2, "addmm");
  requireMatrices("addmm", mat1, mat2);
  const shape = [mat1._shape[0] as number, mat2._shape[1] as number];
  const start = inplace ? self : sameSizes(self._shape, shape) ? self : expand(self, shape);
  const [left, right] = [asGiven(mat1, out, shape), asGiven(mat2, out, shape)];
  const c = target(shape, mat1, out, inplace, "addmm");
  requireNoPartialOverlap(c, self, "addmm");
  return multiply(MM, c, left, right, left._shape[1] as number, start, beta, alpha);
}

function requireBatches(first: Tensor, second: Tensor): void {
  if (first._shape.length !== 3) throw texts.batch1Rank("bmm");
  if (second._shape.length !== 3) throw texts.batch2Rank("bmm");
  const wanted = [first._shape[0] as number, first._shape[2] as number];
  const got = second._shape.slice(0, 2);
  if (!sameSizes(wanted, got)) throw texts.batch2Size("bmm", wanted, got);
}

function requireBatchDtypes(kernelName: string, a: Tensor, b: Tensor): void {
  if (a.dtype === b.dtype) return;
  if (a.dtype === bool) refuse(kernelName, a.dtype);
  // torch reads small products element by element and passes larger ones on, with the roles exchanged.
  const small = (a._shape[1] as number) * (a._shape[2] as number) * (b._shape[2] as number) < 400;
  const [wanted, found] = small ? [a, b] : [b, a];
  throw texts.scalarTypeDiffers("bmm", wanted.dtype.scalarType, found.dtype.scalarType);
}

export function bmm(self: Tensor, mat2: Tensor, out: Tensor | undefined): Tensor {
  requireBatches(self, mat2);
  const shape = [self._shape[0] as number, self._shape[1] as number, mat2._shape[2] as number];
  const [left, right] = [asGiven(self, out, shape), asGiven(mat2, out, shape)];
  const c = target(shape, mat2, out, false, "bmm");
  if (c._numel === 0 || left._shape[2] === 0) return c._numel === 0 ? c : fill(c, 0);
  requireBatchDtypes("bmm", left, right);
  return multiply(BMM, c, left, right, left._shape[2] as number, null, 0, 1);
}

/** A size that is asked for before ranks are looked at. */
function sizeAt({ _shape, ndim }: Tensor, dim: number): number {
  if (ndim === 0) throw texts.dimOfScalar(undefined, dim);
  if (ndim <= dim) throw texts.dimOutOfRange(undefined, -ndim, ndim - 1, dim);
  return _shape[dim] as number;
}

export function baddbmm(
  self: Tensor,
  batch1: Tensor,
  batch2: Tensor,
  beta: Scalar,
  alpha: Scalar,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const sizes = [sizeAt(batch1, 0), sizeAt(batch1, 1), sizeAt(batch2, 2)];
  const start = sameSizes(self._shape, sizes) ? self : expand(self, sizes);
  if (self.dtype !== batch1.dtype) {
    const names = [self, batch1, batch2].map((t) => t.dtype.cppName);
    throw texts.baddbmmDtypes("baddbmm", names[0], names[1], names[2]);
  }
  requireBatches(batch1, batch2);
  const [left, right] = [asGiven(batch1, out, sizes), asGiven(batch2, out, sizes)];
  const c = target(sizes, batch1, out, inplace, "baddbmm");
  requireNoPartialOverlap(c, self, "baddbmm");
  requireBatchDtypes("baddbmm", left, right);
  return multiply(BADDBMM, c, left, right, left._shape[2] as number, start, beta, alpha);
}

/** The batch is one more inner dimension: (n, b * m) times (b * m, p). */
export function addbmm(
  self: Tensor,
  batch1: Tensor,
  batch2: Tensor,
  beta: Scalar,
  alpha: Scalar,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const shape = [sizeAt(batch1, 1), sizeAt(batch2, 2)];
  let start = expand(self, shape);
  if (batch1._shape.length !== 3) throw texts.batch1Rank("addbmm");
  if (batch2._shape.length !== 3) throw texts.batch2Rank("addbmm");
  const [b, n, m] = batch1._shape as [number, number, number];
  if (b !== batch2._shape[0]) throw texts.batchesDiffer("addbmm", b, batch2._shape[0]);
  if (m !== batch2._shape[1]) throw texts.addbmmSizes("addbmm", n, m, batch2._shape[1], batch2._shape[2]);
  requireSame("self", self, batch2, "addbmm");
  requireSame("mat1", batch1, batch2, "addbmm");
  if (inplace && !sameSizes(self._shape, shape)) {
    // torch resizes here, without a warning.
    start = expand(clone(self), shape);
    setGeometry(self, shape, contiguousStrides(shape), self._offset);
  } else if (inplace) start = self;
  const c = target(shape, batch1, out, inplace, "addbmm");
  requireNoPartialOverlap(c, self, "addbmm");
  if (batch1.dtype.category === 2 && batch1.dtype.itemsize === 2) {
    return addInTurn(c, batch1, batch2, start, beta, alpha);
  }
  const wide = sequence(batch1, [n, b, m], [1, 0, 2], [n, b * m]);
  const tall = sequence(batch2, batch2._shape, [0, 1, 2], [b * m, shape[1] as number]);
  return multiply(MM, c, wide, tall, b * m, start, beta, alpha);
}

/** 16-bit floats are rounded after each product of the batch, as torch does. */
function addInTurn(c: Tensor, batch1: Tensor, batch2: Tensor, self: Tensor, beta: Scalar, alpha: Scalar): Tensor {
  const count = batch1._shape[0] as number;
  if (count === 0) return multiply(MM, c, batch1, batch2, 0, self, beta, alpha);
  for (let i = 0; i < count; i++) {
    const from = i === 0 ? self : c;
    multiply(
      MM,
      c,
      select(batch1, 0, i),
      select(batch2, 0, i),
      batch1._shape[2] as number,
      from,
      i === 0 ? beta : 1,
      alpha,
    );
  }
  return c;
}

/** A dense copy with dimensions in another order, read as a matrix. */
function sequence(t: Tensor, sizes: readonly number[], order: readonly number[], matrix: readonly number[]): Tensor {
  const r = empty(matrix, t.dtype, t._storage.device);
  if (!hasWork(r)) return r;
  const whole = empty(sizes, t.dtype, t._storage.device);
  const permuted = plain(t);
  frame.begin(2, t.dtype.compute);
  frame.operand(0, whole._address(), t.dtype.id, sizes, whole._strides, 0);
  const strides = order.map((d) => permuted._strides[d] as number);
  frame.operand(1, permuted._address(), t.dtype.id, sizes, strides, 0);
  K.copy_copy.run(whole._storage.device, "addbmm", t.dtype.scalarType);
  whole._shape = r._shape;
  whole._strides = r._strides;
  return whole;
}
