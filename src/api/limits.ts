/** What dtypes can hold: `finfo` of floats, `iinfo` of integers. */
import * as texts from "../../generated/texts.ts";
import { floatLimit } from "../dispatch/fits.ts";
import { integerLimits } from "../dispatch/limits.ts";
import { inOrder } from "../tensor/checks.ts";
import { type DType, type DTypeLike, getDefaultDtype, toDType } from "../tensor/dtype.ts";
import { FUNCTIONS } from "../tensor/signatures.ts";

/** What a floating-point dtype can hold. @torch torch.finfo */
export interface FloatInfo {
  /** Bits of a number. */
  readonly bits: number;
  /** The distance from 1 to the next greater number. */
  readonly eps: number;
  /** The greatest finite number. */
  readonly max: number;
  /** The least finite number. */
  readonly min: number;
  /** The smallest positive number of full precision. */
  readonly tiny: number;
  /** The same as `tiny`. */
  readonly smallestNormal: number;
  /** The power of ten that decimal digits are good to. */
  readonly resolution: number;
  /** The dtype's name. */
  readonly dtype: string;
}

/** What an integer dtype can hold; bigints where numbers are not exact. @torch torch.iinfo */
export interface IntInfo {
  /** Bits of a number. */
  readonly bits: number;
  /** The greatest number. */
  readonly max: number | bigint;
  /** The least number. */
  readonly min: number | bigint;
  /** The dtype's name. */
  readonly dtype: string;
}

/** Of each dtype: eps, the smallest normal number, the resolution. */
const FLOATS: Readonly<Record<string, readonly [number, number, number]>> = {
  float64: [2 ** -52, 2 ** -1022, 1e-15],
  float32: [2 ** -23, 2 ** -126, 1e-6],
  float16: [2 ** -10, 2 ** -14, 1e-3],
  bfloat16: [2 ** -7, 2 ** -126, 1e-2],
  float8_e4m3fn: [2 ** -3, 2 ** -6, 1],
  float8_e5m2: [2 ** -2, 2 ** -14, 1],
};

const PARTS: Readonly<Record<string, string>> = { complex64: "float32", complex128: "float64", complex32: "float16" };

/** As C prints a number with six digits. */
function short(given: number | bigint): string {
  // Of two equally near C takes the even digit, and only powers of two lie there.
  const x = Number(given) * (1 - Number.EPSILON);
  const [digits, power] = x.toExponential(5).split("e") as [string, string];
  const e = Number(power);
  const trimmed = digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
  if (e >= -4 && e < 6) return String(Number(x.toPrecision(6)));
  return `${trimmed}e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}`;
}

/** Prints as in Python, which lists what it names. */
function printed<T extends object>(info: T, text: string): T {
  const tells = { value: () => text };
  return Object.defineProperties(info, { toString: tells, [Symbol.for("nodejs.util.inspect.custom")]: tells });
}

/**
 * What a floating-point dtype can hold, the default one unless told; of a complex dtype that of its parts.
 * @throws TypeError for a dtype without fractions
 * @example
 * ```ts
 * [finfo("float16").max, finfo(float32).eps === 2 ** -23] // [65504, true]
 * ```
 * @torch torch.finfo
 */
export function finfo(type?: DTypeLike): FloatInfo;
export function finfo(...args: unknown[]): FloatInfo {
  const [given] = inOrder<[DTypeLike?]>("finfo", FUNCTIONS.finfo, args);
  const d = given === undefined ? getDefaultDtype() : toDType(given);
  const name = PARTS[d.name] ?? d.name;
  const row = FLOATS[name];
  if (row === undefined) throw texts.finfoOfIntegers("finfo");
  const own = toDType(name as DTypeLike);
  const [eps, tiny, resolution] = row;
  const max = floatLimit(own);
  const info = { bits: 8 * own.itemsize, eps, max, min: -max, tiny, smallestNormal: tiny, resolution, dtype: name };
  return printed(
    info,
    `finfo(resolution=${short(resolution)}, min=${short(-max)}, max=${short(max)}, eps=${short(eps)}, ` +
      `smallest_normal=${short(tiny)}, tiny=${short(tiny)}, dtype=${name})`,
  );
}

/**
 * What an integer dtype can hold.
 * @throws TypeError for another dtype
 * @example
 * ```ts
 * [iinfo("int8").min, iinfo(uint8).max] // [-128, 255]
 * ```
 * @torch torch.iinfo
 */
export function iinfo(type: DTypeLike): IntInfo;
export function iinfo(...args: unknown[]): IntInfo {
  const [given] = inOrder<[DTypeLike]>("iinfo", FUNCTIONS.iinfo, args);
  const d: DType = toDType(given);
  if (d.category === 0) throw texts.iinfoOfBools("iinfo");
  if (d.category !== 1) throw texts.iinfoOfFloats("iinfo");
  const bits = 8 * d.itemsize;
  const exact = (x: bigint): number | bigint => (bits === 64 && x !== 0n ? x : Number(x));
  const [min, max] = integerLimits(d).map(exact) as [number | bigint, number | bigint];
  return printed({ bits, max, min, dtype: d.name }, `iinfo(min=${short(min)}, max=${short(max)}, dtype=${d.name})`);
}
