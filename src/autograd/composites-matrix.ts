/** Products of tensors of any rank, written with the products of matrices. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { broadcastShapes } from "../dispatch/allocate.ts";
import { requiresGrad } from "../dispatch/mode.ts";
import { checkOutGradients, prepareOut } from "../dispatch/out.ts";
import { numelOf } from "../tensor/size.ts";
import { drop, tidy } from "../tensor/temporaries.ts";
import { CREATION_DEFAULT, type Tensor } from "../tensor/tensor.ts";
import { reshape } from "./composites-views.ts";

/** Another shape of a result that nobody else holds: no view for autograd. */
export function unsafeView(fresh: Tensor, shape: readonly number[]): Tensor {
  const r = O._unsafe_view(fresh, shape);
  r._base = null;
  r._creation = CREATION_DEFAULT;
  return r;
}

/** Whether the leading dimensions of `big` can be one, so that one product of matrices does. */
function shouldFold(a: Tensor, b: Tensor, hasOut: boolean): boolean {
  const first = a.ndim >= b.ndim;
  const big = first ? a : b;
  const small = first ? b : a;
  if (big.ndim < 3 || small.ndim > 2) return false;
  if (requiresGrad(small) && !hasOut) return true;
  if (a.ndim === 2) return false;
  if (big._numel === 0) return true;
  // A vector meets the transposed matrices of the batch.
  const shape = [...big._shape];
  const strides = [...big._strides];
  if (!first) {
    const r = big.ndim;
    [shape[r - 1], shape[r - 2]] = [shape[r - 2] as number, shape[r - 1] as number];
    [strides[r - 1], strides[r - 2]] = [strides[r - 2] as number, strides[r - 1] as number];
  }
  for (let i = 0; i < big.ndim - 2; i++) {
    if (strides[i] !== (strides[i + 1] as number) * (shape[i + 1] as number)) return false;
  }
  return true;
}

function folded(a: Tensor, b: Tensor): Tensor {
  const first = a.ndim >= b.ndim;
  const big = first ? a : O.transpose(b, -2, -1);
  const small = first ? b : a.ndim === 2 ? O.t(a) : a;
  const lead = big._shape.slice(0, -1);
  const inner = big._shape[big.ndim - 1] as number;
  const flat = reshape(big, [numelOf(lead), inner]);
  if (small.ndim !== 2) return unsafeView(O.mv(flat, small), lead);
  const product = O.mm(flat, small);
  const r = unsafeView(product, [...lead, small._shape[1] as number]);
  if (first) return r;
  const turned = O.transpose(r, -2, -1);
  return turned._contiguous ? turned : O.clone(turned, null).contiguous();
}

/** One batch of size 1 in a product of batches: the other operand's batches can be folded. */
function lonelyBatch(a: Tensor, b: Tensor): Tensor | null {
  if (a.ndim !== 3 || b.ndim !== 3 || a._shape[0] === b._shape[0]) return null;
  if (a._shape[0] === 1 && requiresGrad(a)) return product(O.squeeze_dim(a, 0), b, undefined);
  if (b._shape[0] === 1 && requiresGrad(b)) return product(a, O.squeeze_dim(b, 0), undefined);
  return null;
}

function asMatrices(b: Tensor, shape: readonly number[]): Tensor {
  return O.expand(b.ndim === 1 ? O.unsqueeze(b, 1) : b, shape, false);
}

function batched(a: Tensor, b: Tensor, out: Tensor | undefined): Tensor {
  if (out === undefined) {
    const r = lonelyBatch(a, b);
    if (r !== null) return r;
  }
  const n = a.ndim > 1 ? (a._shape[a.ndim - 2] as number) : 1;
  const m1 = a._shape[a.ndim - 1] as number;
  const m2 = b._shape[Math.max(0, b.ndim - 2)] as number;
  const p = b.ndim > 1 ? (b._shape[b.ndim - 1] as number) : 1;
  const batch = broadcastShapes(a._shape.slice(0, -2), b._shape.slice(0, Math.max(0, b.ndim - 2)));
  const count = numelOf(batch);
  const [leftAll, rightAll] = [O.expand(a, [...batch, n, m1], false), asMatrices(b, [...batch, m2, p])];
  const [left, right] = [reshape(leftAll, [count, n, m1]), reshape(rightAll, [count, m2, p])];
  const shape = [...batch];
  if (a.ndim > 1) shape.push(n);
  if (b.ndim > 1) shape.push(p);
  const r = O.bmm(left, right);
  drop(left);
  drop(right);
  drop(leftAll);
  drop(rightAll);
  if (out === undefined) return unsafeView(r, shape);
  const written = writeOut(O.view(r, shape), out);
  drop(r);
  return written;
}

/** A computed result goes to `out`, which takes its shape. */
function writeOut(r: Tensor, out: Tensor): Tensor {
  if (out.dtype !== r.dtype) throw texts.outOfWrongDtype("matmul", r.dtype.cppName, out.dtype.cppName);
  prepareOut(out, r._shape);
  return out.copy_(r);
}

function product(a: Tensor, b: Tensor, out: Tensor | undefined): Tensor {
  if (a.ndim === 0 || b.ndim === 0) throw texts.matmulOfScalars("matmul", a.ndim, b.ndim);
  if (a.ndim === 1 && b.ndim === 1) return O.dot(a, b, out);
  if (a.ndim === 2 && b.ndim === 1) return O.mv(a, b, out);
  if (a.ndim === 2 && b.ndim === 2) return O.mm(a, b, out);
  if (a.ndim === 1 && b.ndim === 2) {
    if (out !== undefined) return O.squeeze_dim_(O.mm(O.unsqueeze(a, 0), b, out), 0);
    return O.squeeze_dim_(O.mm(O.unsqueeze(a, 0), b), 0);
  }
  if (!shouldFold(a, b, out !== undefined)) return batched(a, b, out);
  return tidy(() => {
    const r = folded(a, b);
    return out === undefined ? r : writeOut(r, out);
  });
}

export function matmul(self: Tensor, other: Tensor, out?: Tensor): Tensor {
  const scalar = self.ndim === 0 || other.ndim === 0;
  if (out !== undefined && !scalar) checkOutGradients("matmul", out, [self, other]);
  return product(self, other, out);
}

function requireVector(op: string, name: string, t: Tensor): void {
  if (t.ndim !== 1) throw texts.notAVector(op, name, t.ndim);
}

export function outer(self: Tensor, vec2: Tensor, out?: Tensor): Tensor {
  requireVector("outer", "self", self);
  requireVector("outer", "vec2", vec2);
  if (out !== undefined) checkOutGradients("outer", out, [self, vec2]);
  return O.mul(reshape(self, [self._shape[0] as number, 1]), vec2, out);
}

/** The number that two vectors give; torch adds up products itself where their elements are apart. */
function productOfRows(a: Tensor, b: Tensor): Tensor {
  return a._contiguous && b._contiguous ? O.dot(a, b) : O.sum(O.mul(a, b), a.dtype);
}

export function inner(self: Tensor, other: Tensor, out?: Tensor): Tensor {
  if (out !== undefined) checkOutGradients("inner", out, [self, other]);
  if (self.ndim === 0 || other.ndim === 0) return O.mul(self, other, out);
  const last = self._shape[self.ndim - 1];
  if (last !== other._shape[other.ndim - 1]) throw texts.innerShapes("inner", self._shape, other._shape);
  if (self.dtype !== other.dtype) throw texts.innerDtypes("inner");
  const shape = [...self._shape.slice(0, -1), ...other._shape.slice(0, -1)];
  const rows = numelOf(self._shape.slice(0, -1));
  const columns = numelOf(other._shape.slice(0, -1));
  const r =
    rows === 1 && columns === 1
      ? productOfRows(reshape(self, [last as number]), reshape(other, [last as number]))
      : O.mm(reshape(self, [rows, last as number]), O.t(reshape(other, [columns, last as number])));
  return out === undefined ? reshape(r, shape) : writeOut(reshape(r, shape), out);
}
