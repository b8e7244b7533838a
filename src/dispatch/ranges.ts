/** Sequences of numbers: ranges, evenly spaced numbers, the positions of a triangle. */

import { RangeAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { Complex, type Scalar, scalarKind, scalarToNumber, scalarValue } from "../tensor/complex.ts";
import { CPU, type Device } from "../tensor/device.ts";
import { type DType, defaultComplex, getDefaultDtype, int64 } from "../tensor/dtype.ts";
import { Tensor } from "../tensor/tensor.ts";
import { roomFor, writeNumbers } from "../tensor/values.ts";
import { empty as emptyOf } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { fill, onDevice, transfer } from "./copy.ts";
import { factoryDevice, outDtype, targetOfMany } from "./factories.ts";
import { checkFits } from "./fits.ts";
import { canCast } from "./promotion.ts";

type Out = Tensor | undefined;

/** How many positions a lower triangle has: rows grow by one column each until they are full. */
function lowerCount(row: number, col: number, offset: number): bigint {
  const [first, last] = [Math.max(0, -offset), row];
  if (last <= first || col === 0) return 0n;
  const [rows, columns, begin] = [BigInt(last) - BigInt(first), BigInt(col), BigInt(first) + BigInt(offset) + 1n];
  const room = columns - begin;
  const growing = room < 0n ? 0n : room < rows ? room : rows;
  return growing * begin + (growing * (growing - 1n)) / 2n + (rows - growing) * columns;
}

/** Rows and columns of one triangle: so many, in the rows [from, to), each with the columns that `bounds` tells. */
function triangle(
  op: string,
  row: number,
  col: number,
  [count, from, to]: readonly [count: bigint, from: number, to: number],
  bounds: (r: number) => readonly [number, number],
  dtype: DType | null,
  device: Device | null,
): Tensor {
  if (row < 0) throw texts.negativeRow(op, row);
  if (col < 0) throw texts.negativeColumn(op, col);
  const d = dtype ?? int64;
  if (d.category !== 1 || d.itemsize < 4) throw texts.notImplementedFor(op, op, d.scalarType);
  const n = Number(count);
  const place = factoryDevice(device, op);
  if (n === 0 || !place.computes) return emptyOf([2, n], d, place);
  const values = roomFor(2 * n);
  let at = 0;
  for (let r = from; r < to; r++) {
    const [low, high] = bounds(r);
    for (let c = low; c < high; c++) {
      values[at] = r;
      values[n + at++] = c;
    }
  }
  const t = emptyOf([2, n], d, CPU);
  writeNumbers(t._address(), d.id, 2 * n, values);
  return onDevice(t, place);
}

export function trilIndices(
  row: number,
  col: number,
  offset: number,
  dtype: DType | null,
  device: Device | null,
): Tensor {
  const rows = [lowerCount(row, col, offset), Math.max(0, -offset), row] as const;
  return triangle("tril_indices", row, col, rows, (r) => [0, Math.min(col, r + offset + 1)], dtype, device);
}

export function triuIndices(
  row: number,
  col: number,
  offset: number,
  dtype: DType | null,
  device: Device | null,
): Tensor {
  // What the lower triangle left of the first diagonal leaves.
  const count = BigInt(row) * BigInt(col) - lowerCount(row, col, offset - 1);
  const rows = [count, 0, Math.min(row, col - offset)] as const;
  return triangle("triu_indices", row, col, rows, (r) => [Math.max(0, r + offset), col], dtype, device);
}

export function arange(end: Scalar, dtype: DType | null, device: Device | null, rg: boolean, out?: Out): Tensor {
  return arangeFrom(0, end, 1, dtype, device, rg, out);
}

export function arangeFrom(
  start: Scalar,
  end: Scalar,
  step: Scalar,
  dtype: DType | null,
  device: Device | null,
  _rg: boolean,
  out?: Out,
): Tensor {
  const op = "arange";
  const bounds = [start, end, step];
  const asked = dtype ?? out?.dtype;
  if (asked?.category === 3) throw texts.notImplementedFor(op, "arange_cpu", asked.scalarType);
  for (const x of bounds) {
    if (x instanceof Complex) throw texts.doubleOverflow(op);
  }
  const integral = bounds.every((x) => scalarKind(x) === "int" || scalarKind(x) === "bool");
  const d = out?.dtype ?? dtype ?? (integral ? int64 : getDefaultDtype());
  outDtype(dtype, out, d, op);
  const n = arangeLength(start, end, step, integral && d === int64);
  if (d.category === 0) throw texts.notImplementedFor(op, "arange_cpu", d.scalarType);
  const t = targetOfMany(op, [n], d, device, out);
  if (!hasWork(t)) return t;
  const dense = t._contiguous ? t : emptyOf([n], d, t._storage.device);
  frame.begin(3, d.compute);
  frame.operand(0, dense._address(), d.id, dense._shape, dense._strides, 0);
  if (d.category === 1) {
    frame.operand(1, frame.scratchInt(0, wordOf(start)), 5, [], [], 0);
    frame.operand(2, frame.scratchInt(1, wordOf(step)), 5, [], [], 0);
  } else {
    frame.operand(1, frame.scratchFloat(0, scalarToNumber(start)), 9, [], [], 0);
    frame.operand(2, frame.scratchFloat(1, scalarToNumber(step)), 9, [], [], 0);
  }
  K.range_arange.run(t._storage.device, op, d.scalarType);
  if (dense !== t) transfer(t, dense);
  return t;
}

/** The integer that a number becomes, towards zero. */
function integerOf(x: Scalar): bigint {
  const v = scalarValue(x);
  return typeof v === "bigint" ? v : BigInt(Math.trunc(Number(v)));
}

const wordOf = (x: Scalar): bigint => BigInt.asIntN(64, integerOf(x));

function arangeLength(start: Scalar, end: Scalar, step: Scalar, exact: boolean): number {
  const op = "arange";
  const a = scalarToNumber(start);
  const b = scalarToNumber(end);
  const s = scalarToNumber(step);
  if (s === 0) throw texts.zeroStep(op);
  if (!Number.isFinite(a) || !Number.isFinite(b)) throw texts.unsupportedRange(op, boundText(a), boundText(b));
  if (s > 0 ? b < a : b > a) throw texts.stepSign(op);
  const huge = Math.max(Math.abs(a), Math.abs(b)) > Number.MAX_SAFE_INTEGER;
  if (exact && huge) for (const x of [start, end, step]) if (typeof x !== "number") checkFits(x, int64);
  const n = exact && huge ? exactLength(start, end, step) : Math.ceil((b - a) / s);
  if (!(n >= 0 && n <= Number.MAX_SAFE_INTEGER)) throw texts.rangeTooLong(op);
  return n;
}

function boundText(x: number): string {
  return Number.isNaN(x) ? "nan" : Number.isFinite(x) ? `${x}` : x > 0 ? "inf" : "-inf";
}

function exactLength(start: Scalar, end: Scalar, step: Scalar): number {
  const s = integerOf(step);
  const sign = s > 0n ? 1n : -1n;
  return Number((integerOf(end) - integerOf(start) + s - sign) / s);
}

export type Bound = Tensor | Scalar;

/** The number of a bound that may be a 0-dim tensor. */
function boundOf(x: Bound): Scalar {
  return x instanceof Tensor ? (x.item() as Scalar) : x;
}

function checkBounds(op: string, start: Bound, end: Bound): void {
  const bad: string[] = [];
  if (start instanceof Tensor && start._shape.length > 0) bad.push(`start with ${start._shape.length} dimension(s)`);
  if (end instanceof Tensor && end._shape.length > 0) bad.push(`end with ${end._shape.length} dimension(s)`);
  if (bad.length > 0) throw texts.boundsNotScalar(op, bad.join(" and "));
}

const isComplexBound = (x: Bound): boolean => (x instanceof Tensor ? x.dtype.category === 3 : x instanceof Complex);

/** Checks and allocates what linspace and logspace share. */
function spaced(
  op: string,
  start: Bound,
  end: Bound,
  steps: number,
  dtype: DType | null,
  device: Device | null,
  out: Out,
): Tensor {
  checkBounds(op, start, end);
  if (steps < 0) throw texts.negativeSteps(op);
  const complex = isComplexBound(start) || isComplexBound(end);
  const d = outDtype(dtype, out, complex ? defaultComplex() : getDefaultDtype(), op);
  if (complex && !canCast(defaultComplex(), d)) {
    throw texts.complexBoundsCast(op, defaultComplex().cppName, d.scalarType);
  }
  if (d.category === 0) throw texts.notImplementedFor(op, `${op}_cpu`, "Bool");
  return targetOfMany(op, [steps], d, device, out);
}

export function linspace(
  start: Bound,
  end: Bound,
  steps: number,
  dtype: DType | null,
  device: Device | null,
  _rg: boolean,
  out?: Out,
): Tensor {
  const t = spaced("linspace", start, end, steps, dtype, device, out);
  return spread("linspace", t, start, end, 0);
}

export function logspace(
  start: Bound,
  end: Bound,
  steps: number,
  base: number,
  dtype: DType | null,
  device: Device | null,
  _rg: boolean,
  out?: Out,
): Tensor {
  const t = spaced("logspace", start, end, steps, dtype, device, out);
  return spread("logspace", t, start, end, base);
}

/** The element that a number becomes: negative ones wrap around in unsigned dtypes. */
function elementOf(x: Scalar, d: DType): number {
  const word = wordOf(x);
  return Number(d.isSigned ? word : BigInt.asUintN(8 * d.itemsize, word));
}

/** Fills with evenly spaced numbers, or with `base` to the power of them when it is not 0. */
function spread(op: string, t: Tensor, start: Bound, end: Bound, base: number): Tensor {
  const n = t._numel;
  if (!hasWork(t)) return t;
  const a = boundOf(start);
  const b = boundOf(end);
  // A single number is filled in: a power is taken of what was given, and the end does not count.
  if (n === 1 && !(base !== 0 && a instanceof Complex)) {
    const only = base === 0 ? a : base ** scalarToNumber(a);
    checkFits(only, t.dtype);
    return fill(t, only);
  }
  for (const bound of [a, b]) checkFits(bound, t.dtype);
  const dense = t._contiguous ? t : emptyOf([n], t.dtype, t._storage.device);
  const part = (x: Scalar): [number, number] =>
    x instanceof Complex ? [x.re, x.im] : [t.dtype.category === 1 ? elementOf(x, t.dtype) : scalarToNumber(x), 0];
  const from = part(a);
  const to = part(b);
  frame.begin(3, t.dtype.compute);
  frame.operand(0, dense._address(), t.dtype.id, dense._shape, dense._strides, 0);
  frame.operand(1, frame.scratchFloat(0, ...from), 11, [], [], 0);
  frame.operand(2, frame.scratchFloat(1, ...to), 11, [], [], 0);
  frame.attr(RangeAttr.powers, base === 0 ? 0 : 1);
  frame.attr(RangeAttr.base, base);
  K.range_spaced.run(t._storage.device, op, t.dtype.scalarType);
  if (dense !== t) transfer(t, dense);
  return t;
}
