/** Complex scalars and the markers that force a JavaScript number to be an int or a float. */

/**
 * A complex number: `complex(1, 2)` is 1+2j.
 * @example
 * ```ts
 * const z = tensor([new Complex(1, -2)]).item() as Complex;
 * [z, z.re, z.im] // [(1-2j), 1, -2]
 * ```
 * @torch complex (the Python scalar)
 */
export class Complex {
  /** Editors offer the members of a class with a private one nowhere but behind its objects. */
  declare private readonly opaque: never;
  /** The real part. */
  readonly re: number;
  /** The imaginary part. */
  readonly im: number;
  constructor(re: number, im = 0) {
    this.re = re;
    this.im = im;
  }
  /** Python's text: `(1+2j)`. */
  toString(): string {
    const sign = this.im < 0 || Object.is(this.im, -0) ? "-" : "+";
    return `(${text(this.re)}${sign}${text(Math.abs(this.im))}j)`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
  /** Whether both parts are equal. */
  equals(other: Complex): boolean {
    return this.re === other.re && this.im === other.im;
  }
}

function text(x: number): string {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x < 0 ? "-inf" : "inf";
  return Object.is(x, -0) ? "-0" : String(x);
}

/**
 * A number that is an int whatever its value: `int(2)`.
 * @example
 * ```ts
 * [int(2).value, tensor(int(2)).dtype] // [2, torch.int64]
 * ```
 */
export class Int {
  /** Editors offer the members of a class with a private one nowhere but behind its objects. */
  declare private readonly opaque: never;
  /** The number; a bigint where it was one. */
  readonly value: number | bigint;
  constructor(value: number | bigint) {
    this.value = value;
  }
  /** What JavaScript's own operators take it for. */
  [Symbol.toPrimitive](): number | bigint {
    return this.value;
  }
}

/**
 * A number that is a float whatever its value: `float(2)`.
 * @example
 * ```ts
 * [float(2).value, tensor([1n]).mul(float(2)).dtype] // [2, torch.float32]
 * ```
 */
export class Float {
  /** Editors offer the members of a class with a private one nowhere but behind its objects. */
  declare private readonly opaque: never;
  /** The number. */
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
  /** What JavaScript's own operators take it for. */
  [Symbol.toPrimitive](): number {
    return this.value;
  }
}

/** What may stand where torch takes a Python number. */
export type Scalar = number | bigint | boolean | Complex | Int | Float;

/** The kind of a Python number: it decides promotion. */
export type ScalarKind = "bool" | "int" | "float" | "complex";

export function isScalar(value: unknown): value is Scalar {
  const t = typeof value;
  if (t === "number" || t === "bigint" || t === "boolean") return true;
  return value instanceof Complex || value instanceof Int || value instanceof Float;
}

/** Beyond the integers of any dtype whole numbers are floats, as 1e30 is in Python. */
const INTS_END = 2 ** 63;

/** Integer-valued numbers are ints, all others floats; -0 is a float. */
export function scalarKind(value: Scalar): ScalarKind {
  switch (typeof value) {
    case "number":
      if (value < -INTS_END || value >= INTS_END) return "float";
      return Number.isInteger(value) && !Object.is(value, -0) ? "int" : "float";
    case "bigint":
      return "int";
    case "boolean":
      return "bool";
    default:
      return value instanceof Complex ? "complex" : value instanceof Int ? "int" : "float";
  }
}

/** The real value as a double; a complex number must be handled before. */
export function scalarToNumber(value: Scalar): number {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Complex) return value.re;
  return Number(value.value);
}

/** The plain JavaScript value behind the markers. */
export function scalarValue(value: Scalar): number | bigint | boolean | Complex {
  return value instanceof Int || value instanceof Float ? value.value : value;
}
