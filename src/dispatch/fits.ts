/** Numbers that a dtype cannot hold are refused where torch reads them as one of its elements. */

import * as texts from "../../generated/texts.ts";
import { Complex, type Scalar, scalarKind, scalarValue } from "../tensor/complex.ts";
import { type DType, float32 } from "../tensor/dtype.ts";

const C_NAMES: Record<string, string> = {
  uint8: "uint8_t",
  int8: "int8_t",
  int16: "int16_t",
  int64: "int64_t",
  uint16: "uint16_t",
  uint32: "uint32_t",
  uint64: "uint64_t",
};

/** The largest finite value of a floating dtype, beyond which a number does not fit. */
export function floatLimit(d: DType): number {
  switch (d.name) {
    case "float16":
      return 65504;
    case "bfloat16":
      return 3.3895313892515355e38;
    case "float32":
      return 3.4028234663852886e38;
    case "float8_e4m3fn":
      return 448;
    case "float8_e5m2":
      return 57344;
    default:
      return Number.MAX_VALUE;
  }
}

/** Refuses a number that the dtype cannot hold. */
export function checkFits(value: Scalar, d: DType): void {
  const v = scalarValue(value);
  const fail = (): never => {
    throw texts.valueOverflow(undefined, C_NAMES[d.name] ?? d.cppName);
  };
  if (d.category === 0) return;
  if (d.category === 3) {
    const parts = v instanceof Complex ? [v.re, v.im] : [Number(v)];
    if (d.itemsize === 8 && parts.some((x) => isTooLarge(x, float32))) fail();
    return;
  }
  if (v instanceof Complex) {
    if (v.im !== 0) fail();
    return;
  }
  if (d.category === 1) {
    const n = typeof v === "bigint" ? v : Number(v);
    const bits = BigInt(8 * d.itemsize);
    const top = d.isSigned ? 2n ** (bits - 1n) : 2n ** bits;
    // Negative integers wrap around in unsigned dtypes, fractions do not.
    const low = d.isSigned || scalarKind(value) !== "float" ? -top : 0n;
    if (typeof n === "number" && !Number.isFinite(n)) fail();
    if (n >= top || n < low) fail();
    return;
  }
  if (isTooLarge(Number(v), d)) fail();
}

/** Infinities fit. */
const isTooLarge = (x: number, d: DType): boolean => Number.isFinite(x) && Math.abs(x) > floatLimit(d);

/** The same for a factor of the elements: short dtypes are multiplied in float32. */
export function checkFactor(value: Scalar, d: DType): void {
  if (value !== 1) checkFits(value, d.category === 2 && d.itemsize < 4 ? float32 : d);
}

/** A double as C++ prints it: six significant digits. */
export function shortNumber(x: number): string {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x < 0 ? "-inf" : "inf";
  if (x === 0) return Object.is(x, -0) ? "-0" : "0";
  const exponent = Number(x.toExponential(5).split("e")[1]);
  if (exponent < -4 || exponent >= 6) {
    const [m, e] = x.toExponential(5).split("e") as [string, string];
    const digits = m.includes(".") ? m.replace(/\.?0+$/, "") : m;
    return `${digits}e${e.startsWith("-") ? "-" : "+"}${e.slice(1).padStart(2, "0")}`;
  }
  return String(Number(x.toPrecision(6)));
}
