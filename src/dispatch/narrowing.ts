/**
 * Operands as a short dtype holds them. torch converts every operand to the dtype of computation first; the kernels
 * here read any dtype into a wider compute type, where what the conversion would have cut off is still there.
 */

import { Complex, type Scalar, scalarKind, scalarToNumber, scalarValue } from "../tensor/complex.ts";
import { bfloat16, type DType, float16, float32, uint64 } from "../tensor/dtype.ts";
import { wordOf } from "../tensor/integers.ts";
import { Tensor } from "../tensor/tensor.ts";
import { cast } from "./copy.ts";

const single = new Float32Array(1);
const word = new Uint32Array(single.buffer);

/** The nearest number that a real dtype of floating point has; other dtypes leave the number as it is. */
export function roundTo(d: DType, x: number): number {
  if (d === float32) return Math.fround(x);
  if (d === float16) return Math.f16round(Math.fround(x));
  if (d !== bfloat16) return x;
  single[0] = x;
  const bits = word[0] as number;
  // To nearest, ties to even, in the upper half of a float32.
  word[0] = (bits + 0x7fff + ((bits >>> 16) & 1)) & 0xffff0000;
  return single[0];
}

/** Whether every value of one dtype is a value of a short one. */
function holds(short: DType, from: DType): boolean {
  if (from === short || from.category === 0) return true;
  if (short.category === 2) return from.category === 1 && from.itemsize === 1;
  if (from.category !== 1) return false;
  if (from.isSigned) return short.isSigned && from.itemsize <= short.itemsize;
  return short.isSigned ? from.itemsize < short.itemsize : from.itemsize <= short.itemsize;
}

function narrowNumber(x: Scalar, d: DType): Scalar {
  if (d.category === 2) return scalarKind(x) === "complex" ? x : roundTo(d, scalarToNumber(x));
  // A fraction would have made the dtype of computation a floating one.
  const v = scalarValue(x);
  if (typeof v === "boolean" || v instanceof Complex) return x;
  if (v >= 0 && v < 128) return x;
  const bits = 8 * d.itemsize;
  const whole = typeof v === "bigint" ? wordOf(v, d === uint64) : BigInt(v);
  return d.isSigned ? BigInt.asIntN(bits, whole) : BigInt.asUintN(bits, whole);
}

/** The operands in the values of a dtype that is shorter than its compute type; operand `wide` only in integers. */
export function narrowed(
  operands: readonly (Tensor | Scalar)[],
  d: DType,
  wide?: number,
): readonly (Tensor | Scalar)[] {
  let list: (Tensor | Scalar)[] | null = null;
  for (let i = 0; i < operands.length; i++) {
    const x = operands[i] as Tensor | Scalar;
    const tensor = x instanceof Tensor;
    if (i === wide && d.category === 2 && (!tensor || x._shape.length === 0)) continue;
    const narrow = !tensor ? narrowNumber(x, d) : holds(d, x.dtype) ? x : cast(x, d);
    if (narrow === x) continue;
    list ??= operands.slice();
    list[i] = narrow;
  }
  return list ?? operands;
}
