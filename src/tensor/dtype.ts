/** Element types: the objects that users see, their sizes and categories. */
import { DTYPES } from "../../generated/abi.ts";
import * as texts from "../../generated/texts.ts";

/** bool < integral < floating < complex: promotion crosses these only upwards. */
export type Category = 0 | 1 | 2 | 3;

function refuseClone(): never {
  throw texts.notCloneable(undefined);
}

/** The names that dtypes have themselves. */
type OwnName = (typeof DTYPES)[number]["name"];

/**
 * An element type, for example `float32`. Printed as `torch.float32`.
 * @example
 * ```ts
 * const d = float32;
 * [d, d.name, d.itemsize, d.category, d.isFloatingPoint, d.isComplex, d.isSigned, d.scalarType,
 *   d.cppName, d.id, d.compute, d.native]
 * // [torch.float32, float32, 4, 2, true, false, true, Float, float, 8, 0, true]
 * ```
 * @torch torch.dtype
 */
export class DType<N extends string = string> {
  /** @internal Number used by the native library. */
  readonly id: number;
  /** The name: `float32`. */
  readonly name: N;
  /** Bytes per element. */
  readonly itemsize: number;
  /** @internal What kind of numbers it holds. */
  readonly category: Category;
  /** @internal The C++ scalar type's name, as torch's messages give it: `Float`. */
  readonly scalarType: string;
  /** @internal The C++ type's name used in some messages: `float`. */
  readonly cppName: string;
  /** @internal The native library computes elements of this dtype in this compute type. */
  readonly compute: number;
  /** @internal True when bytes of this dtype are the compute type's own. */
  readonly native: boolean;
  /** Whether it has negative numbers. */
  readonly isSigned: boolean;

  constructor(row: (typeof DTYPES)[number]) {
    this.id = row.id;
    this.name = row.name as N;
    this.itemsize = row.itemsize;
    this.category = row.category as Category;
    this.scalarType = row.scalarType;
    this.cppName = row.cppName;
    this.compute = row.compute;
    this.native = row.native;
    this.isSigned = row.signed;
    // Every tensor has a dtype, and whatever clones an object reads all of its properties.
    Object.defineProperty(this, "_clone", { enumerable: true, get: refuseClone });
  }
  /** Whether it holds floating point numbers. @torch torch.dtype.is_floating_point */
  get isFloatingPoint(): boolean {
    return this.category === 2;
  }
  /** Whether it holds complex numbers. @torch torch.dtype.is_complex */
  get isComplex(): boolean {
    return this.category === 3;
  }
  /** `torch.` and the name. */
  toString(): string {
    return `torch.${this.name}`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
  /** As its text. */
  toJSON(): string {
    return this.toString();
  }
}

const LEGACY = new Set(["Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"]);

/** torch's old name of a dtype's tensors, which only the older dtypes have. */
export function legacyName(d: DType): string {
  return LEGACY.has(d.scalarType) ? `torch.${d.scalarType}Tensor` : `CPU${d.scalarType}Type`;
}

/** All dtypes, by id. */
export const dtypes: readonly DType[] = DTYPES.map((row) => new DType(row));

const byName = new Map<string, DType>();
for (const d of dtypes) byName.set(d.name, d);
const ALIASES = {
  float: "float32",
  double: "float64",
  half: "float16",
  short: "int16",
  int: "int32",
  long: "int64",
  cfloat: "complex64",
  cdouble: "complex128",
} as const;
for (const [alias, name] of Object.entries(ALIASES)) byName.set(alias, byName.get(name) as DType);

/** Whether a string is the name of a dtype. */
export const isDTypeName = (text: string): text is DTypeName => dtypeByName(text) !== undefined;

/** The dtype of a name such as `"float32"`, `"torch.float32"` or `"double"`; undefined when there is none. */
export function dtypeByName(name: string): DType | undefined {
  return byName.get(name.startsWith("torch.") ? name.slice(6) : name);
}

function named<N extends OwnName>(name: N): DType<N> {
  return byName.get(name) as DType<N>;
}

/** Truth values, one byte each. @torch torch.bool */
export const bool = named("bool");
/** Unsigned, 8 bits. @torch torch.uint8 */
export const uint8 = named("uint8");
/** Signed, 8 bits. @torch torch.int8 */
export const int8 = named("int8");
/** Signed, 16 bits. @torch torch.int16 */
export const int16 = named("int16");
/** Signed, 32 bits. @torch torch.int32 */
export const int32 = named("int32");
/** Signed, 64 bits; the dtype of indices. @torch torch.int64 */
export const int64 = named("int64");
/** IEEE half precision: 11 bits of precision, up to 65504. @torch torch.float16 */
export const float16 = named("float16");
/** 16 bits with the range of float32 and 8 bits of precision. @torch torch.bfloat16 */
export const bfloat16 = named("bfloat16");
/** IEEE single precision; the default dtype. @torch torch.float32 */
export const float32 = named("float32");
/** IEEE double precision, as JavaScript's numbers. @torch torch.float64 */
export const float64 = named("float64");
/** Two float32: real and imaginary part. @torch torch.complex64 */
export const complex64 = named("complex64");
/** Two float64: real and imaginary part. @torch torch.complex128 */
export const complex128 = named("complex128");
/** Unsigned, 16 bits. @torch torch.uint16 */
export const uint16 = named("uint16");
/** Unsigned, 32 bits. @torch torch.uint32 */
export const uint32 = named("uint32");
/** Unsigned, 64 bits. @torch torch.uint64 */
export const uint64 = named("uint64");
/** 8 bits, 4 of them exponent: for storing and converting only. @torch torch.float8_e4m3fn */
export const float8_e4m3fn = named("float8_e4m3fn");
/** 8 bits, 5 of them exponent: for storing and converting only. @torch torch.float8_e5m2 */
export const float8_e5m2 = named("float8_e5m2");

// torch's other names. `float` and `int` are functions here, and dtypes as strings only.
/** float64. @torch torch.double */
export const double = float64;
/** float16. @torch torch.half */
export const half = float16;
/** int16. @torch torch.short */
export const short = int16;
/** int64. @torch torch.long */
export const long = int64;
/** complex64. @torch torch.cfloat */
export const cfloat = complex64;
/** complex128. @torch torch.cdouble */
export const cdouble = complex128;

type PlainName = OwnName | keyof typeof ALIASES;
/** The name of a dtype: `"float32"`, `"double"`, `"torch.int64"`. */
export type DTypeName = PlainName | `torch.${PlainName}`;
/** A dtype, or its name. */
export type DTypeLike = DType | DTypeName;

/** The typed arrays of elements: bfloat16 and float8 are their bits, complex numbers two parts each. */
interface Arrays extends Record<OwnName, NodeJS.TypedArray> {
  bool: Uint8Array;
  uint8: Uint8Array;
  int8: Int8Array;
  int16: Int16Array;
  int32: Int32Array;
  int64: BigInt64Array;
  uint16: Uint16Array;
  uint32: Uint32Array;
  uint64: BigUint64Array;
  float16: Float16Array;
  bfloat16: Uint16Array;
  float32: Float32Array;
  float64: Float64Array;
  complex64: Float32Array;
  complex128: Float64Array;
  float8_e4m3fn: Uint8Array;
  float8_e5m2: Uint8Array;
}
type OwnNameOf<N> = N extends `torch.${infer P}`
  ? OwnNameOf<P>
  : N extends keyof typeof ALIASES
    ? (typeof ALIASES)[N]
    : N;
/** The kind of typed array that elements of a dtype lie in. */
export type ArrayOf<N extends DTypeName> = Arrays[OwnNameOf<N> & OwnName];

/** The name that a short one of other programs stands for: bf16, fp16, f32, i8, u8, c64. */
export function longName(text: string): string {
  const [, letter = "", bits] = /^(bf|fp|f|i|u|c)(8|16|32|64|128)$/.exec(text) ?? [];
  const word = { bf: "bfloat", fp: "float", f: "float", i: "int", u: "uint", c: "complex" }[letter];
  return `${word}${bits}`;
}

/** What was meant by a name that is none of a dtype, as the end of a sentence. */
function adviceFor(text: string): string {
  const meant = dtypeByName(longName(text));
  if (meant !== undefined) return `: it is called ${JSON.stringify(meant.name)} here`;
  const isDevice = /^(gpu|mps|xpu|hip|rocm|xla|tpu|hpu|npu|mtia|vulkan|opencl)(:\d+)?$/.test(text);
  return isDevice ? ", and no device that is there: these are cpu, cuda and meta" : "";
}

/** Accepts a dtype or its name; anything else is an error. */
export function toDType(value: DType | string): DType {
  if (value instanceof DType) return value;
  const found = typeof value === "string" ? dtypeByName(value) : undefined;
  if (found !== undefined) return found;
  if (typeof value === "function") refuseFunction(value);
  const plain = value === null || ["number", "boolean"].includes(typeof value);
  if (typeof value === "string") throw texts.unknownDtype(undefined, `${JSON.stringify(value)}${adviceFor(value)}`);
  throw texts.unknownDtype(undefined, plain ? JSON.stringify(value) : `of the type ${typeof value}`);
}

/** `float` and `int` are functions here: they mark numbers. What was meant is told. */
export function refuseFunction(value: { name: string }): never {
  const meant: Record<string, string> = { float: "float32", int: "int32", Boolean: "bool", Number: "float64" };
  throw texts.functionIsNoDtype(undefined, value.name, meant[value.name] ?? "float32");
}

let current: DType = float32;

/** The dtype of new floating-point tensors. */
export function getDefaultDtype(): DType {
  return current;
}

/** Sets the dtype that plain numbers become. */
export function setDefaultDtype(dtype: DTypeLike): void {
  const d = toDType(dtype);
  if (d.category !== 2 || d.itemsize === 1) throw texts.badDefaultDtype(undefined);
  current = d;
}

/** The complex dtype whose parts are the default dtype. */
export function defaultComplex(): DType {
  return current === float64 ? complex128 : complex64;
}

/** The dtype of the real and imaginary parts; other dtypes give themselves. */
export function toReal(d: DType): DType {
  return d === complex64 ? float32 : d === complex128 ? float64 : d;
}

/** The complex dtype that holds a real dtype's values. */
export function toComplex(d: DType): DType {
  return d === float64 || d === complex128 ? complex128 : complex64;
}
