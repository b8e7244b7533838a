// Columns of values that are numbers, or lists of numbers of one size.
import { type Column, numbers } from "./columns.ts";

/** Numbers of one column: int64 where all are whole, NaN where there is none. */
function numberColumn(values: readonly unknown[], inner: readonly number[]): Column {
  const floats = new Float64Array(values.length);
  let whole = true;
  let [truths, others] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (typeof value === "boolean") truths++;
    else others++;
    floats[i] = value === null || value === undefined ? Number.NaN : Number(value);
    whole &&= Number.isInteger(floats[i]);
  }
  if (truths > 0 && others === 0) return numbers("bool", Uint8Array.from(floats), inner);
  const fits = values.every((value) => typeof value === "bigint" || Math.abs(Number(value ?? 0)) < 2 ** 63);
  if (!whole || !fits) return numbers("float64", floats, inner);
  const exact = values.map((value) => BigInt(value as number));
  if (exact.every((n) => BigInt.asIntN(64, n) === n)) return numbers("int64", BigInt64Array.from(exact), inner);
  if (exact.every((n) => BigInt.asUintN(64, n) === n)) return numbers("uint64", BigUint64Array.from(exact), inner);
  return numbers("float64", floats, inner);
}

const isNumeric = (value: unknown) =>
  value === null ||
  value === undefined ||
  typeof value === "number" ||
  typeof value === "boolean" ||
  typeof value === "bigint";

/** The sizes of lists of numbers that all have the same; null for everything else. */
function rectangle(values: readonly unknown[]): { flat: unknown[]; inner: number[] } | null {
  const inner: number[] = [];
  let level = values;
  while (level.length > 0 && level.every(Array.isArray) && inner.length < 16) {
    const size = (level[0] as unknown[]).length;
    if (!level.every((list) => (list as unknown[]).length === size)) return null;
    inner.push(size);
    level = (level as unknown[][]).flat(1);
  }
  const present = (value: unknown) => value !== null && value !== undefined && isNumeric(value);
  return level.length > 0 && level.every(present) ? { flat: [...level], inner } : null;
}

/** A column of what a field has in each record. */
export function columnOfValues(values: unknown[]): Column {
  const some = values.some((value) => value !== null && value !== undefined);
  const truths = values.some((value) => typeof value === "boolean");
  const gaps = values.some((value) => value === null || value === undefined);
  if (some && values.every(isNumeric) && !(truths && gaps)) return numberColumn(values, []);
  if (Array.isArray(values[0])) {
    const found = rectangle(values);
    if (found !== null) return numberColumn(found.flat, found.inner);
  }
  return { kind: "values", values: values.map((value) => value ?? null), valid: null };
}
