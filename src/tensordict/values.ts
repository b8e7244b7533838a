// Regular nested arrays of values.
import { Size } from "../tensor/size.ts";

/** The shape and the values of nested arrays, as far as they are regular. */
export function regularValues(data: unknown): { values: unknown[]; shape: Size } {
  const shape: number[] = [];
  let level: unknown[] = [data];
  for (let depth = 0; depth < 64; depth++) {
    if (level.length === 0 || !level.every(Array.isArray)) break;
    const length = (level[0] as unknown[]).length;
    if (!level.every((item) => (item as unknown[]).length === length)) break;
    shape.push(length);
    level = level.flat(1);
  }
  return { values: level, shape: Size.fromList(shape) };
}
