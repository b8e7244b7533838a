/** Type promotion: the dtype that operands compute in. */
import * as texts from "../../generated/texts.ts";
import { inOrder, isDict } from "../tensor/checks.ts";
import { isScalar, type Scalar, type ScalarKind, scalarKind } from "../tensor/complex.ts";
import {
  bfloat16,
  bool,
  complex64,
  complex128,
  DType,
  defaultComplex,
  float16,
  float32,
  getDefaultDtype,
  int8,
  int16,
  int64,
  uint8,
} from "../tensor/dtype.ts";
import { FUNCTIONS } from "../tensor/signatures.ts";
import { Tensor } from "../tensor/tensor.ts";

const UNSIGNED = new Set(["uint16", "uint32", "uint64"]);

const isFloat8 = (d: DType): boolean => d.category === 2 && d.itemsize === 1;

function promoteOnce(a: DType, b: DType): DType | undefined {
  if (a === b) return a;
  if (isFloat8(a) || isFloat8(b)) return undefined;
  if (UNSIGNED.has(a.name) || UNSIGNED.has(b.name)) {
    const other = UNSIGNED.has(a.name) ? b : a;
    return other.category === 2 ? other : undefined;
  }
  if (a.category !== b.category) return mixCategories(a, b);
  if (a.category === 2) {
    if (a.itemsize === b.itemsize) return a.itemsize === 2 ? float32 : undefined;
    return a.itemsize > b.itemsize ? a : b;
  }
  if (a.category === 3) return complex128;
  if ((a === uint8 && b === int8) || (a === int8 && b === uint8)) return int16;
  return a.itemsize === b.itemsize ? a : a.itemsize > b.itemsize ? a : b;
}

function mixCategories(a: DType, b: DType): DType {
  const [low, high] = a.category < b.category ? [a, b] : [b, a];
  if (high.category === 3 && low.category === 2 && low.itemsize === 8) return complex128;
  return high === complex64 ? complex64 : high;
}

/** What was found for two dtypes, by their numbers. */
const table: (DType | undefined)[] = new Array(32 * 32).fill(undefined);

/**
 * The smallest dtype that both convert to.
 * @example
 * ```ts
 * promoteTypes(int32, float16) // torch.float16
 * ```
 * @torch torch.promote_types
 */
export function promoteTypes(a: DType, b: DType): DType {
  if (a === b && a instanceof DType && arguments.length === 2) return a;
  const found = table[a?.id * 32 + b?.id];
  if (found === undefined || arguments.length > 2) {
    if (arguments.length > 2 || isDict(a) || isDict(b)) {
      return promoteTypes(...inOrder<[DType, DType]>("promoteTypes", FUNCTIONS.promoteTypes, arguments));
    }
    requireDtypes("promote_types", ["type1", "type2"], [a, b]);
    const made = promoteOnce(a, b);
    table[a.id * 32 + b.id] = made;
    if (made !== undefined) return made;
    if (isFloat8(a) || isFloat8(b)) throw texts.float8Promotion(undefined, a.scalarType, b.scalarType);
    throw texts.unsignedPromotion(undefined, a.scalarType, b.scalarType);
  }
  return found;
}

/** The dtype that a Python number of this kind wraps to. */
export function wrappedDtype(kind: ScalarKind): DType {
  switch (kind) {
    case "bool":
      return bool;
    case "int":
      return int64;
    case "float":
      return getDefaultDtype();
    default:
      return defaultComplex();
  }
}

/** A lower-priority operand counts only when its category is strictly higher. */
function combine(higher: DType | null, lower: DType | null): DType | null {
  if (higher === null) return lower;
  if (lower === null || lower.category <= higher.category) return higher;
  if (lower.category === 3 && higher === bfloat16) throw texts.noBcomplex32(undefined);
  if (lower.category === 3 && higher === float16) throw texts.noComplex32(undefined);
  // A real dtype of higher priority keeps its precision: float32 with a 0-dim complex128 is complex64.
  if (lower.category === 3 && higher.category === 2) return higher.itemsize === 8 ? complex128 : complex64;
  // Also beside unsigned dtypes that have no common dtype with complex ones.
  return lower.category === 3 ? lower : promoteTypes(higher, lower);
}

/** The dtype of `a op b` and of longer lists. */
export function resultType(operands: readonly (Tensor | Scalar)[]): DType {
  let dim: DType | null = null;
  let zero: DType | null = null;
  let wrapped: DType | null = null;
  for (const x of operands) {
    if (x instanceof Tensor) {
      if (x._shape.length > 0) dim = dim === null ? x.dtype : promoteTypes(dim, x.dtype);
      else zero = zero === null ? x.dtype : promoteTypes(zero, x.dtype);
    } else if (isScalar(x)) {
      const d = wrappedDtype(scalarKind(x));
      wrapped = wrapped === null ? d : promoteTypes(wrapped, d);
    } else {
      throw texts.operandNotATensor(undefined, describe(x));
    }
  }
  return combine(dim, combine(zero, wrapped)) ?? getDefaultDtype();
}

/**
 * The dtype of an operation on these operands.
 * @example
 * ```ts
 * resultType(tensor([1n]), 1.5) // torch.float32
 * ```
 * @torch torch.result_type
 */
export function resultTypeOf(...operands: (Tensor | Scalar)[]): DType {
  if (isDict(operands.at(-1))) operands = inOrder("resultType", FUNCTIONS.resultType, operands);
  return resultType(operands);
}

const KIND_CATEGORY = { bool: 0, int: 1, float: 2, complex: 3 } as const;

/** `resultType([a, b])`, without a list for the cases that matter. */
export function resultType2(a: Tensor | Scalar, b: Tensor | Scalar): DType {
  if (a instanceof Tensor) {
    if (b instanceof Tensor) {
      if (a.dtype === b.dtype) return a.dtype;
      if (a._shape.length > 0 === b._shape.length > 0) return promoteTypes(a.dtype, b.dtype);
    } else if (isScalar(b) && KIND_CATEGORY[scalarKind(b)] <= a.dtype.category) return a.dtype;
  }
  return resultType([a, b]);
}

export function describe(x: unknown): string {
  if (x === null) return "null";
  if (typeof x !== "object") return typeof x;
  return (x as object).constructor?.name ?? "object";
}

function requireDtypes(op: string, names: readonly string[], given: readonly unknown[]): void {
  given.forEach((x, i) => {
    if (x instanceof DType) return;
    const place = `argument '${names[i]}' (position ${i + 1})`;
    throw texts.notADtype(op, place, describe(x));
  });
}

/**
 * Whether a computed dtype may be written to another.
 * @example
 * ```ts
 * [canCast(int32, float32), canCast(float32, int32)] // [true, false]
 * ```
 * @torch torch.can_cast
 */
export function canCast(from: DType, to: DType): boolean {
  if (arguments.length > 2 || isDict(from) || isDict(to)) {
    return canCast(...inOrder<[DType, DType]>("canCast", FUNCTIONS.canCast, arguments));
  }
  requireDtypes("can_cast", ["from_", "to"], [from, to]);
  if (from === to) return true;
  if (from.category === 3 && to.category !== 3) return false;
  if (from.category === 2 && to.category < 2) return false;
  return !(from !== bool && to === bool);
}

export function requireCast(from: DType, to: DType): void {
  if (!canCast(from, to)) throw texts.resultCast(undefined, from.scalarType, to.scalarType);
}

/** Integers and bools compute in the default float dtype. */
export function toFloating(d: DType): DType {
  return d.category < 2 ? getDefaultDtype() : d;
}
