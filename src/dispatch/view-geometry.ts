/** The arithmetic of reshaping without a copy. */
import * as texts from "../../generated/texts.ts";
import { contiguousStrides } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Replaces the one -1 of a requested size. */
export function resolveSize(size: readonly number[], numel: number): number[] {
  let known = 1;
  let unknown = -1;
  for (let d = 0; d < size.length; d++) {
    const n = size[d] as number;
    if (n === -1) {
      if (unknown >= 0) throw texts.twoInferredDims(undefined);
      unknown = d;
    } else if (n < 0) throw texts.invalidDimension(undefined, n, d, size);
    else known *= n;
  }
  const shape = [...size];
  const bad = (): never => {
    throw texts.invalidShape("view", size, numel);
  };
  if (unknown < 0) return known === numel ? shape : bad();
  if (known === 0) {
    if (numel !== 0) return bad();
    throw texts.ambiguousShape(undefined, size);
  }
  if (numel % known !== 0) return bad();
  shape[unknown] = numel / known;
  return shape;
}

/** Strides of `shape` over the same elements, or null when only a copy can have it. */
export function viewStrides(
  t: Pick<Tensor, "_shape" | "_strides" | "_numel">,
  shape: readonly number[],
): readonly number[] | null {
  if (t._numel === 0) {
    return sameShape(t._shape, shape) ? t._strides : contiguousStrides(shape);
  }
  if (t._shape.length === 0) return shape.map(() => 1);
  const strides = new Array<number>(shape.length);
  let at = shape.length - 1;
  let base = t._strides[t._strides.length - 1] as number;
  let chunk = 1;
  let taken = 1;
  for (let d = t._shape.length - 1; d >= 0; d--) {
    chunk *= t._shape[d] as number;
    const boundary = d === 0 || (t._shape[d - 1] !== 1 && t._strides[d - 1] !== chunk * base);
    if (!boundary) continue;
    while (at >= 0 && (taken < chunk || shape[at] === 1)) {
      strides[at] = taken * base;
      taken *= shape[at] as number;
      at--;
    }
    if (taken !== chunk) return null;
    if (d > 0) {
      base = t._strides[d - 1] as number;
      chunk = 1;
      taken = 1;
    }
  }
  return at === -1 ? strides : null;
}

function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((n, i) => n === b[i]);
}
