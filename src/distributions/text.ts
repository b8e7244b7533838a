/** Values in torch's messages and printed distributions. */
import { pythonFloat } from "../api/number-text.ts";
import { Float, Int } from "../tensor/complex.ts";
import { Tensor } from "../tensor/tensor.ts";

function numberText(value: unknown): string {
  if (value instanceof Float) return pythonFloat(value.value);
  if (value instanceof Int) return String(value.value);
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : pythonFloat(value);
  if (typeof value === "boolean") return value ? "True" : "False";
  return String(value);
}

/** A tensor without dimensions as its number, as Python formats one; every other value as it prints. */
export function formatted(value: unknown): string {
  if (!(value instanceof Tensor)) return numberText(value);
  if (value.ndim > 0 || value.device.type === "meta" || value.constructor !== Tensor) return String(value);
  const item: unknown = value.dtype.category === 1 ? value.bigint() : value.item();
  return typeof item === "number" ? pythonFloat(item) : numberText(item);
}

/** `(2,)` and `(2, 3)`, as Python prints a tuple of sizes. */
export function tupleText(sizes: readonly number[]): string {
  return sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(", ")})`;
}
