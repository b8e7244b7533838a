/** The call path of pointwise operators: promotion, layout, checks, then one native call. */

import { FastFlag } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { Complex, type Scalar, scalarKind, scalarToNumber, scalarValue } from "../tensor/complex.ts";
import { CPU, type Device } from "../tensor/device.ts";
import { bool, complex128, type DType, float64, int32, int64, toReal, uint64 } from "../tensor/dtype.ts";
import { losesDigits, wordOf } from "../tensor/integers.ts";
import { sameSizes } from "../tensor/size.ts";
import { drop } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import {
  broadcastShapes,
  empty,
  emptyBeside,
  emptyLike,
  emptyWith,
  isDense,
  keepsOrder,
  strideOrder,
} from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { cast, formatStrides, isContiguousIn, transfer } from "./copy.ts";
import { checkFactor } from "./fits.ts";
import { type Kernel, throwStatus } from "./kernel.ts";
import { channelsLast } from "./memory-format.ts";
import { narrowed, roundTo } from "./narrowing.ts";
import { prepareOut } from "./out.ts";
import { mayOverlap, requireNoInternalOverlap, requireNoPartialOverlap } from "./overlap.ts";
import { requireCast, resultType, resultType2, toFloating } from "./promotion.ts";
import { type Refusal, refuseCompute, refuseOperands } from "./refusals.ts";
import { commonDevice } from "./same-device.ts";

export type Operand = Tensor | Scalar;

/** How an operator treats dtypes. */
export interface Rule {
  /** The dtype that operands are converted to, from their common dtype. */
  readonly compute: (common: DType) => DType;
  /** The dtype of the result, from the compute dtype. */
  readonly result: (compute: DType) => DType;
}

const same = (d: DType): DType => d;
const toBool = (): DType => bool;

export const RULES = {
  arith: { compute: same, result: same },
  same: { compute: same, result: same },
  bitwise: { compute: same, result: same },
  float: { compute: toFloating, result: same },
  compare: { compute: same, result: toBool },
  bool: { compute: same, result: toBool },
  abs: { compute: same, result: toReal },
  none: { compute: same, result: same },
} as const satisfies Record<string, Rule>;

/** One pointwise operator: its name in messages, its kernel, its dtype rule. */
export interface Pointwise {
  readonly name: string;
  readonly kernel: Kernel;
  readonly rule: Rule;
  /** Dtypes that are refused. The numbers-only call of the kernel takes none of them. */
  readonly refuses?: readonly Refusal[] | null;
  /** `out` must have the dtype of the result. */
  readonly exactOut?: boolean;
  /** The operand that is not rounded to a short float dtype of computation when it has no dimensions. */
  readonly wide?: number;
  /** Numbers are no operands for torch, and have no say in the layout. */
  readonly numbersApart?: boolean;
}

function plain(t: Tensor, k: Kernel): boolean {
  return t._contiguous && t._bits === 0 && t.dtype.native && (k.fastMask & (1 << t.dtype.compute)) !== 0;
}

/** `op(a)`; `out` receives the result when given, in place when it is `a` itself and `inplace` is set. */
export function unary(p: Pointwise, a: Tensor, out?: Tensor, inplace = false): Tensor {
  const k = p.kernel;
  if (out === undefined && k.fast !== null && plain(a, k)) {
    const compute = p.rule.compute(a.dtype);
    if (compute === a.dtype && a._storage.device === CPU) {
      const r = emptyLike(a, p.rule.result(compute));
      if (a._numel > 0) {
        const status = k.fast(a.dtype.compute, r._address(), a._address(), a._numel);
        if (status !== 0) throwStatus(status, p.name, k.path, compute.scalarType);
      }
      return r;
    }
  } else if (out === a && inplace && k.fast !== null && plain(a, k) && hasWork(a)) {
    const compute = p.rule.compute(a.dtype);
    if (compute === a.dtype && p.rule.result(compute) === a.dtype) {
      if (a._storage.device !== CPU) return throughFrame(p, a, a);
      const status = k.fast(a.dtype.compute, a._address(), a._address(), a._numel);
      if (status !== 0) throwStatus(status, p.name, k.path, compute.scalarType);
      return a;
    }
  }
  return (out === undefined ? alone(p, a) : null) ?? general(p, [a], out, inplace);
}

const refused = (p: Pointwise, d: DType): boolean => p.refuses?.some((r) => (r.dtypes & (1 << d.id)) !== 0) ?? false;

/** One tensor in any layout and a fresh result, through the frame; null where dtypes or memory formats have a say. */
function alone(p: Pointwise, a: Tensor): Tensor | null {
  const d = a.dtype;
  if (p.rule.compute(d) !== d || refused(p, d) || a._shape.length === 4) return null;
  const r = emptyLike(a, p.rule.result(d));
  return hasWork(r) ? throughFrame(p, r, a) : r;
}

/** Computes `r` from operands of one dtype and of its sizes, in any layout. */
function throughFrame(p: Pointwise, r: Tensor, a: Tensor, b?: Tensor): Tensor {
  const d = a.dtype;
  frame.begin(b === undefined ? 2 : 3, d.compute);
  frame.operand(0, r._address(), r.dtype.id, r._shape, r._strides, 0);
  frame.operand(1, a._address(), d.id, a._shape, a._strides, a._bits);
  if (b !== undefined) frame.operand(2, b._address(), d.id, b._shape, b._strides, b._bits);
  p.kernel.run(r._storage.device, p.name, d.scalarType);
  return r;
}

/** `op(a, b)` with broadcasting and promotion. */
export function binary(p: Pointwise, a: Operand, b: Operand, out?: Tensor, inplace = false): Tensor {
  if (
    a instanceof Tensor &&
    b instanceof Tensor &&
    a.dtype === b.dtype &&
    p.kernel.fast !== null &&
    plain(a, p.kernel) &&
    plain(b, p.kernel) &&
    (a._shape === b._shape || sameSizes(a._shape, b._shape))
  ) {
    const dtype = a.dtype;
    if (p.rule.compute(dtype) === dtype && a._storage.device === b._storage.device) {
      if (out === undefined) return quick(p, emptyLike(a, p.rule.result(dtype)), a, b);
      if (canWriteQuickly(p, out, a, b)) return quick(p, out, a, b);
    }
  }
  if (a instanceof Tensor && (out === undefined || out === a) && p.kernel.fast !== null) {
    if (!(b instanceof Tensor)) {
      const r = withNumber(p, a, b, out);
      if (r !== null) return r;
    } else if (out === undefined) return withElement(p, a, b) ?? broadcasting(p, a, b);
  }
  return general(p, [a, b], out, inplace);
}

/** `tensor op number` where the number does not change the dtype; null when that is not so. */
function withNumber(p: Pointwise, a: Tensor, b: Scalar, out: Tensor | undefined): Tensor | null {
  const d = a.dtype;
  if (typeof b !== "number" || !d.native || (p.kernel.fastMask & (1 << d.compute)) === 0) return null;
  const integral = Number.isSafeInteger(b) && !Object.is(b, -0);
  if (d.category !== 2 && !integral) return null;
  if (p.rule.compute(d) !== d) return null;
  const result = p.rule.result(d);
  if (out !== undefined && result !== d) return null;
  const k = p.kernel;
  const at = frame.scratchNative(0, d.compute, b);
  const quickly = plain(a, k) && a._storage.device === CPU;
  if (at === 0 || (out !== undefined && !plain(a, k))) return null;
  const r = out ?? (p.numbersApart ? emptyLike(a, result) : emptyBeside(a, result));
  if (!hasWork(r)) return r;
  if (!quickly) {
    besideNumber(p, r, a, at);
    return r;
  }
  const status = (k.fast as Kernel["call"] & ((...n: number[]) => number))(
    d.compute | FastFlag.secondIsNumber,
    r._address(),
    a._address(),
    at,
    a._numel,
  );
  if (status !== 0) throwStatus(status, p.name, k.path, d.scalarType);
  return r;
}

/**
 * `op(tensor, number, number)` by a kernel that reads the numbers as attributes; null where they are no values of the
 * dtype.
 */
export function withNumbers(p: Pointwise, a: Tensor, first: number, second: number): Tensor | null {
  const d = a.dtype;
  if (!isValueOf(d, first) || !isValueOf(d, second) || a._shape.length === 4 || refused(p, d)) return null;
  const r = emptyLike(a, d);
  if (!hasWork(r)) return r;
  frame.begin(2, d.compute);
  frame.operand(0, r._address(), d.id, r._shape, r._strides, 0);
  frame.operand(1, a._address(), d.id, a._shape, a._strides, a._bits);
  scalarAttr(0, roundTo(d, first));
  scalarAttr(1, roundTo(d, second));
  p.kernel.run(r._storage.device, p.name, d.scalarType);
  return r;
}

/** A tensor in any layout beside a number of its dtype that lies in the frame's scratch. */
function besideNumber(p: Pointwise, r: Tensor, a: Tensor, number: number): void {
  const d = a.dtype;
  frame.begin(3, d.compute);
  frame.operand(0, r._address(), r.dtype.id, r._shape, r._strides, 0);
  frame.operand(1, a._address(), d.id, a._shape, a._strides, a._bits);
  frame.broadcastOperand(2, number, d.id, NONE, NONE, a._shape.length, 0);
  p.kernel.run(r._storage.device, p.name, d.scalarType);
}

function isValueOf(d: DType, x: number): boolean {
  if (d.category === 2) return !Number.isNaN(x);
  if (d.category !== 1 || !Number.isSafeInteger(x) || (x < 0 && !d.isSigned)) return false;
  return d.itemsize === 8 || Math.abs(x) < 2 ** (8 * d.itemsize - 1);
}

/** Two tensors of one dtype, one of them a single element; null when that is not so. */
function withElement(p: Pointwise, a: Tensor, b: Tensor): Tensor | null {
  const k = p.kernel;
  const d = a.dtype;
  if (d !== b.dtype || p.refuses || !plain(a, k) || !plain(b, k) || p.rule.compute(d) !== d) return null;
  const second = b._numel === 1 && b._shape.length <= a._shape.length;
  if (!second && !(a._numel === 1 && a._shape.length <= b._shape.length)) return null;
  const many = second ? a : b;
  if (many._numel === 0 || a._storage.device !== CPU || b._storage.device !== CPU) return null;
  const r = emptyBeside(many, p.rule.result(d));
  const code = d.compute | (second ? FastFlag.secondIsNumber : FastFlag.firstIsNumber);
  const call = k.fast as (...args: number[]) => number;
  const status = call(code, r._address(), a._address(), b._address(), many._numel);
  if (status !== 0) throwStatus(status, p.name, k.path, d.scalarType);
  return r;
}

/** Two tensors and a fresh result, through the frame. */
function broadcasting(p: Pointwise, a: Tensor, b: Tensor): Tensor {
  if (p.refuses) return general(p, [a, b]);
  const compute = p.rule.compute(resultType2(a, b));
  if (!compute.native && a.dtype !== b.dtype) return general(p, [a, b]);
  const result = p.rule.result(compute);
  const shape = sameSizes(a._shape, b._shape) ? a._shape : broadcastShapes(a._shape, b._shape, p.name);
  const device = a._storage.device === b._storage.device ? a._storage.device : commonDevice([a, b]);
  let r: Tensor;
  if (keepsOrder(a) && keepsOrder(b)) r = empty(shape, result, device);
  else {
    const strides = layoutOf([a, b], shape);
    r = strides === null ? empty(shape, result, device) : emptyWith(shape, strides, result, device);
  }
  if (!hasWork(r)) return r;
  const rank = shape.length;
  frame.begin(3, compute.compute);
  frame.operand(0, r._address(), result.id, shape, r._strides, 0);
  tensorOperand(1, a, rank, device);
  tensorOperand(2, b, rank, device);
  p.kernel.run(r._storage.device, p.name, compute.scalarType);
  return r;
}

/** `out` is one of the operands, or has their layout in bytes of its own. */
function canWriteQuickly(p: Pointwise, out: Tensor, a: Tensor, b: Tensor): boolean {
  if (out.dtype !== p.rule.result(a.dtype) || !out._contiguous || out._bits !== 0) return false;
  if (out._storage.device !== a._storage.device) return false;
  if (out !== a && !sameSizes(out._shape, a._shape)) return false;
  return (out === a || out._storage !== a._storage) && (out === b || out._storage !== b._storage);
}

function quick(p: Pointwise, r: Tensor, a: Tensor, b: Tensor): Tensor {
  if (!hasWork(r)) return r;
  if (r._storage.device !== CPU) return throughFrame(p, r, a, b);
  const k = p.kernel;
  const call = k.fast as (...args: number[]) => number;
  const status = call(a.dtype.compute, r._address(), a._address(), b._address(), a._numel);
  if (status !== 0) throwStatus(status, p.name, k.path, a.dtype.scalarType);
  return r;
}

/** The general path: any operands, any layout. Attributes must be set by `setAttrs` just before the call. */
export function general(
  p: Pointwise,
  operands: readonly Operand[],
  out?: Tensor,
  inplace = false,
  setAttrs?: (compute: DType) => void,
  computeDtype?: DType,
  check?: () => void,
): Tensor {
  if (p.refuses) refuseOperands(p.refuses, operands, p.name);
  const compute = computeDtype ?? p.rule.compute(resultType(operands));
  const result = p.rule.result(compute);
  const shape = commonShape(operands, p.name);
  const target = targetFor(p, operands, shape, result, out, inplace);
  if (!target._storage.device.computes) return target;
  if (p.refuses) refuseCompute(p.refuses, compute, p.name);
  check?.();
  if (target._numel === 0) return target;
  if (target.dtype !== result && (!result.native || (result === bool && target._bits !== 0))) {
    // Rounding to the result's dtype comes before the conversion to that of `out`, and a bool has no sign to change.
    const rounded = empty(shape, result, target._storage.device);
    launch(p, rounded, operands, compute, setAttrs);
    transfer(target, rounded);
    drop(rounded);
    return target;
  }
  launch(p, target, operands, compute, setAttrs);
  return target;
}

function commonShape(operands: readonly Operand[], op: string): readonly number[] {
  let shape: readonly number[] | null = null;
  for (const x of operands) {
    if (!(x instanceof Tensor)) continue;
    shape = shape === null ? x._shape : broadcastShapes(shape, x._shape, op);
  }
  return shape ?? [];
}

function targetFor(
  p: Pointwise,
  operands: readonly Operand[],
  shape: readonly number[],
  result: DType,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const tensors = operands.filter((x) => x instanceof Tensor);
  const numbers = tensors.length < operands.length && p.numbersApart !== true;
  if (out === undefined) return freshResult(tensors, shape, result, numbers);
  requireNoInternalOverlap(out, p.name);
  for (const t of tensors) checkWrite(out, t);
  const fits = sameSizes(out._shape, shape);
  if (inplace && !fits) throw texts.broadcastMismatch(p.name, out._shape, shape);
  if (p.exactOut && out.dtype !== result) throw texts.foundDtype(p.name, out.dtype.scalarType, result.scalarType);
  requireCast(result, out.dtype);
  if (!fits) {
    prepareOut(out, shape, () => layoutOf(tensors, shape, numbers));
    for (const t of tensors) requireNoPartialOverlap(out, t, p.name);
  }
  return out;
}

/** Before anything else of an in-place call: refuses to write an element twice or one that is still to be read. */
export function checkWrite(self: Tensor, ...others: (Operand | null)[]): void {
  if (!self._contiguous) requireNoInternalOverlap(self);
  for (const x of others) {
    if (x instanceof Tensor && x !== self && x._storage === self._storage) requireNoPartialOverlap(self, x);
  }
}

/**
 * The strides of a result, null for row-major. Operands of one shape that are all row-major, all in one memory format
 * or dense with the same strides keep them; else the result is dense in the operands' order of strides.
 */
export function layoutOf(
  tensors: readonly Tensor[],
  shape: readonly number[],
  numbers = false,
): readonly number[] | null {
  const strides = tensors[0]?._strides ?? [];
  let [whole, contiguous, canonical, alike] = [!numbers, true, true, true];
  for (const t of tensors) {
    whole &&= t._shape === shape || sameSizes(t._shape, shape);
    contiguous &&= t._contiguous;
    canonical &&= keepsOrder(t);
    alike &&= t._strides === strides || sameSizes(t._strides, strides);
  }
  // Broadcasting row-major operands keeps their order, so the result is row-major too.
  if (canonical || (whole && contiguous)) return null;
  if (whole && shape.length === 4 && tensors.every((t) => isContiguousIn(t, channelsLast))) {
    return formatStrides(shape, channelsLast);
  }
  return whole && alike && isDense(shape, strides) ? strides : strideOrder(shape, tensors);
}

function freshResult(tensors: readonly Tensor[], shape: readonly number[], dtype: DType, numbers: boolean): Tensor {
  const device = commonDevice(tensors);
  const strides = layoutOf(tensors, shape, numbers);
  return strides === null ? empty(shape, dtype, device) : emptyWith(shape, strides, dtype, device);
}

function launch(
  p: Pointwise,
  target: Tensor,
  given: readonly Operand[],
  compute: DType,
  setAttrs?: (compute: DType) => void,
): void {
  const rank = target._shape.length;
  const operands = compute.native && compute !== int32 ? given : narrowed(given, compute, p.wide);
  frame.begin(operands.length + 1, compute.compute);
  frame.operand(0, target._address(), target.dtype.id, target._shape, target._strides, target._bits);
  for (let i = 0; i < operands.length; i++) {
    const x = operands[i] as Operand;
    if (x instanceof Tensor) {
      tensorOperand(i + 1, x, rank, target._storage.device);
    } else {
      scalarOperand(i + 1, x, rank, compute);
    }
  }
  if (!target._contiguous && operands.includes(target) && mayOverlap(target)) frame.oneByOne();
  setAttrs?.(compute);
  p.kernel.run(target._storage.device, p.name, compute.scalarType);
}

const NONE: readonly number[] = [];

/** A tensor as an operand. A single element on the CPU is a number for kernels of other devices. */
export function tensorOperand(i: number, x: Tensor, rank: number, device: Device): void {
  const here = x._storage.device === device;
  const address = here ? x._address() : frame.scratchElement(i, x._address(), x.dtype.itemsize);
  frame.broadcastOperand(i, address, x.dtype.id, x._shape, x._strides, rank, x._bits);
}

/** Beyond it an integer has no int64; floating dtypes take its nearest double. */
const PAST_INT64 = 2 ** 63;

/** A scalar becomes a constant operand: a double, an int64 or a complex128 in the frame's scratch. */
function scalarOperand(i: number, x: Scalar, rank: number, compute: DType): void {
  const value = scalarValue(x);
  let address: number;
  let dtype: number;
  if (value instanceof Complex) {
    address = frame.scratchFloat(i, value.re, value.im);
    dtype = complex128.id;
  } else if (
    scalarKind(x) === "float" ||
    (typeof value === "number" && Math.abs(value) < 2 ** 53) ||
    (compute.category >= 2 && Math.abs(Number(value)) >= PAST_INT64)
  ) {
    address = frame.scratchFloat(i, scalarToNumber(x));
    dtype = float64.id;
  } else {
    address = frame.scratchInt(i, wordOf(value, compute === uint64));
    dtype = int64.id;
  }
  frame.broadcastOperand(i, address, dtype, NONE, NONE, rank, 0);
}

/** Writes a scalar attribute (real and imaginary part) for a kernel's `params.scalar(i)`. */
export function scalarAttr(i: number, x: Scalar): void {
  const value = scalarValue(x);
  frame.attr(2 * i, value instanceof Complex ? value.re : Number(value));
  frame.attr(2 * i + 1, value instanceof Complex ? value.im : 0);
}

/** Refuses a compute dtype in the words of torch's dispatch macros. */
export function notImplemented(kernelName: string, d: DType): never {
  throw texts.notImplementedFor(undefined, kernelName, d.scalarType);
}

const TIMES: Pointwise = { name: "mul", kernel: K.binary_mul, rule: RULES.arith };

/** An operator whose kernel reads numbers besides its operands. */
export function withAttrs(
  p: Pointwise,
  operands: readonly Operand[],
  attrs: readonly Scalar[],
  out?: Tensor,
  inplace = false,
): Tensor {
  const set = (): void => {
    for (let i = 0; i < attrs.length; i++) scalarAttr(i, attrs[i] as Scalar);
  };
  const compute = p.rule.compute(resultType(operands));
  const convertible = (): void => {
    for (const x of attrs) checkFactor(x, compute);
  };
  const [factor] = attrs as readonly [Scalar];
  if (compute.category === 1 && losesDigits(factor)) {
    convertible();
    // A factor of the product: kernels are told it as a double.
    const [self, first, ...rest] = operands as readonly [Tensor, Tensor, Tensor];
    return withAttrs(p, [self, binary(TIMES, cast(first, compute), factor), ...rest], [1], out, inplace);
  }
  return general(p, operands, out, inplace, set, undefined, convertible);
}
