/** Views of the parts of a tensor. */

import * as texts from "../../generated/texts.ts";
import { requireKept } from "../tensor/storage.ts";
import { CREATION_MULTI_OUTPUT, type Tensor, wrapDim } from "../tensor/tensor.ts";
import { requireParts } from "../tensor/values.ts";
import { gradMode } from "./mode.ts";
import { asView, select, slice } from "./views.ts";

/** Views that came out of one call: writing to one of them is not defined for gradients. */
function together(parts: Tensor[]): Tensor[] {
  if (gradMode.enabled) for (const p of parts) p._creation = CREATION_MULTI_OUTPUT;
  return parts;
}

/** Views of consecutive parts along a dimension. */
export function splitWithSizes(self: Tensor, splitSizes: readonly number[], dim: number): Tensor[] {
  if (self._shape.length === 0) throw texts.splitOfScalar(undefined);
  const d = wrapDim(dim, self._shape.length);
  const n = self._shape[d] as number;
  let at = 0;
  for (const s of splitSizes) {
    if (s < 0) throw texts.splitSizesNegative(undefined, splitSizes);
    at += s;
  }
  if (at !== n) throw texts.splitSizesSum(undefined, n, d, splitSizes);
  at = 0;
  const parts = splitSizes.map((s) => {
    const part = slice(self, d, at, at + s, 1);
    at += s;
    return part;
  });
  return together(parts);
}

export function split(self: Tensor, splitSize: number, dim: number): Tensor[] {
  if (self._shape.length === 0) throw texts.splitOfScalar(undefined);
  if (splitSize < 0) throw texts.splitSizeNegative(undefined, splitSize);
  const d = wrapDim(dim, self._shape.length);
  const n = self._shape[d] as number;
  if (splitSize === 0 && n !== 0) throw texts.splitSizeZero(undefined, n);
  const count = splitSize === 0 ? 1 : Math.max(1, Math.ceil(n / splitSize));
  requireParts(count, "split");
  const parts: Tensor[] = [];
  for (let i = 0; i < count; i++) parts.push(slice(self, d, i * splitSize, Math.min(n, (i + 1) * splitSize), 1));
  return together(parts);
}

export function unbind(self: Tensor, dim: number): Tensor[] {
  requireKept(self._storage);
  if (self._shape.length === 0) throw texts.dimOfScalar(undefined, 0);
  const d = wrapDim(dim, self._shape.length);
  const n = self._shape[d] as number;
  requireParts(n, "unbind");
  if (n === 0) return [];
  // All have the sizes and strides of the first, which nobody writes to.
  const first = select(self, d, 0);
  const step = self._strides[d] as number;
  const parts: Tensor[] = [first];
  for (let i = 1; i < n; i++) parts.push(asView(self, first._shape, first._strides, self._offset + i * step));
  return together(parts);
}
