// What the values of a column mean: numbers of a dtype, or values as programs have them.
import { type ArrowField, extensionOf, KIND } from "../arrow/types.ts";
import { dateOf, dayOf, decimalNumber, halfNumber, nanoseconds, wholeNumber } from "../columns/meaning.ts";
import type { SchemaNode } from "./footer.ts";
import type { Leaf } from "./pages.ts";

/** Numbers, one for each value that is there. */
export interface Meant {
  dtype: string;
  array: NodeJS.TypedArray;
  isTime: boolean;
}

type Ints = { from(values: Int32Array): NodeJS.TypedArray };
const SMALL: Readonly<Record<string, Ints>> = {
  int8: Int8Array,
  int16: Int16Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
};

/** The unit of durations, which only Arrow's schema knows; null for everything else. */
function durationUnit(field: ArrowField | null): number | null {
  const type = field?.type.dictionary ?? field?.type;
  return type?.typeId === KIND.duration ? (type.unit ?? 0) : null;
}

/** The numbers of a column; null for one whose values are none. */
export function meantNumbers(node: SchemaNode, field: ArrowField | null, leaf: Leaf, path?: string): Meant | null {
  const { physical, meaning } = node;
  const values = Array.isArray(leaf.values) ? null : (leaf.values.subarray(0, leaf.count) as NodeJS.TypedArray);
  if (values === null) return null;
  const made = (dtype: string, array = values, isTime = false): Meant => ({ dtype, array, isTime });
  const times = (unit: number) => made("int64", nanoseconds(values as BigInt64Array, leaf.count, unit, path), true);
  if (meaning.kind === "half") return made("float16");
  if (meaning.kind === "none" || meaning.kind === "date") return null;
  if (meaning.kind === "decimal") {
    if (values instanceof Float64Array) return made("float64");
    return made(
      "float64",
      Float64Array.from(values as Int32Array, (digits) => decimalNumber(digits, meaning.scale)),
    );
  }
  if (meaning.kind === "time" || meaning.kind === "moment") return times(meaning.unit);
  if (physical === "INT96") return times(3);
  if (physical === "BOOLEAN") return made("bool");
  if (physical === "FLOAT" || physical === "DOUBLE") return made(physical === "FLOAT" ? "float32" : "float64");
  const duration = physical === "INT64" ? durationUnit(field) : null;
  if (duration !== null) return times(duration);
  const [bits, isSigned] =
    meaning.kind === "whole" ? [meaning.bits, meaning.isSigned] : [physical === "INT64" ? 64 : 32, true];
  const dtype = `${isSigned ? "int" : "uint"}${bits}`;
  if (extensionOf(field) === "arrow.bool8")
    return made(
      "bool",
      Uint8Array.from(values as Int32Array, (one) => (one === 0 ? 0 : 1)),
    );
  if (bits < 32) return made(dtype, (SMALL[dtype] as Ints).from(values as Int32Array));
  const { buffer, byteOffset, length } = values;
  if (isSigned) return made(dtype);
  return made(
    dtype,
    bits === 64 ? new BigUint64Array(buffer, byteOffset, length) : new Uint32Array(buffer, byteOffset, length),
  );
}

/** The values of a column, as programs have them. */
export function meantValues(node: SchemaNode, field: ArrowField | null, leaf: Leaf, path?: string): unknown[] {
  const { values, count } = leaf;
  const { meaning, physical } = node;
  if (Array.isArray(values)) return values.length === count ? values : values.slice(0, count);
  if (meaning.kind === "none") return new Array<unknown>(count).fill(null);
  if (meaning.kind === "date") return Array.from({ length: count }, (_, i) => dayOf(values[i] as number, path));
  if (meaning.kind === "moment" || physical === "INT96") {
    const unit = meaning.kind === "moment" ? meaning.unit : 3;
    return Array.from({ length: count }, (_, i) => dateOf(values[i] as bigint, unit, path));
  }
  const { dtype, array } = meantNumbers(node, field, leaf, path) as Meant;
  if (dtype === "bool") return Array.from(array as Uint8Array, (one) => one === 1);
  if (dtype === "float16") return Array.from(array as Uint16Array, halfNumber);
  return Array.from(array as ArrayLike<number | bigint>, (one) => (typeof one === "bigint" ? wholeNumber(one) : one));
}
