/** Integers of 64 bits, which is all that torch's arguments hold: others are refused where an argument is read. */
import * as texts from "../../generated/texts.ts";
import { Int, isScalar, type Scalar, scalarToNumber } from "./complex.ts";

const HIGH = 2n ** 63n;

/** An integer, unless no int64 holds it. */
export function requireInt64<T extends number | bigint>(x: T): T {
  if (x < -HIGH || x >= HIGH) throw texts.integerOverflow(undefined);
  return x;
}

/** What was given for a size, a dimension, a position or a count, as a plain number. */
export function int64Of(x: number | bigint): number {
  return Number(requireInt64(x));
}

/** Whether a value is a number; an integer that is neither an int64 nor a uint64 is an error. */
export function takesScalar(x: unknown): x is Scalar {
  if (typeof x === "number") return true;
  if (!isScalar(x)) return false;
  const v = x instanceof Int ? x.value : typeof x === "bigint" ? x : 0;
  if (v < -HIGH || v >= 2n * HIGH) throw texts.integerOverflow(undefined);
  return true;
}

/** A number as a double; an integer beyond all doubles is an error. */
export function doubleOf(x: Scalar): number {
  const n = scalarToNumber(x);
  if (typeof x === "bigint" && !Number.isFinite(n)) throw texts.integerOverflow(undefined);
  return n;
}

/** Whether an integer loses digits as a double, which is how kernels are told their factors. */
export function losesDigits(x: Scalar): boolean {
  const v = x instanceof Int ? x.value : x;
  return typeof v === "bigint" && BigInt(Number(v)) !== v;
}

/** The 64 bits of an integer; from 2^63 on they are an element of uint64 alone. */
export function wordOf(x: number | bigint | boolean, unsigned: boolean): bigint {
  const v = BigInt(x);
  if (!unsigned && v >= HIGH) throw texts.valueOverflow(undefined, "int64_t");
  return BigInt.asIntN(64, v);
}
