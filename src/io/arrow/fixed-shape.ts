// Columns of tensors of one shape: what their field says of the rows, in Arrow and in the schema beside Parquet.
import { FormatError } from "../base/errors.ts";
import { type ArrowField, extensionOf } from "./types.ts";

const TENSORS = "arrow.fixed_shape_tensor";

function saidOf(field: ArrowField, path?: string): { shape?: unknown; permutation?: unknown } | null {
  try {
    return JSON.parse(field.metadata.get("ARROW:extension:metadata") ?? "");
  } catch (error) {
    throw new FormatError("the shape of a column of tensors is no JSON", path, error);
  }
}

/** The shape of one row that a column of tensors says it has; null for lists. */
export function fixedShape(field: ArrowField | null, size: number, path?: string): number[] | null {
  if (field === null || extensionOf(field) !== TENSORS) return null;
  const shape = saidOf(field, path)?.shape;
  const isShape = Array.isArray(shape) && shape.length < 64 && shape.every((n) => Number.isSafeInteger(n) && n >= 0);
  if (!isShape || shape.reduce((n, one) => n * one, 1) !== size) {
    throw new FormatError(`the shape ${JSON.stringify(shape)} of a column of tensors has no ${size} elements`, path);
  }
  return shape;
}

/** In which order the dimensions of a row are meant; null for that of its elements. */
export function fixedOrder(field: ArrowField | null, rank: number, path?: string): number[] | null {
  if (field === null || extensionOf(field) !== TENSORS) return null;
  const permutation = saidOf(field, path)?.permutation;
  if (permutation === undefined || permutation === null) return null;
  const order = Array.isArray(permutation) ? [...permutation].sort((a, b) => a - b) : [];
  if (order.length !== rank || order.some((dim, i) => dim !== i)) {
    throw new FormatError(`${JSON.stringify(permutation)} is no order of ${rank} dimensions`, path);
  }
  return (permutation as number[]).every((dim, i) => dim === i) ? null : (permutation as number[]);
}
