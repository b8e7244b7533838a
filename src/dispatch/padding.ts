/** Elements added around a tensor. */

import * as texts from "../../generated/texts.ts";
import type { Scalar } from "../tensor/complex.ts";
import { requireKept } from "../tensor/storage.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { empty, emptyWith } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { clone, fill, formatStrides, suggestedFormat, transferPart } from "./copy.ts";
import { region } from "./joining.ts";
import { contiguousFormat } from "./memory-format.ts";

const NAME = "constant_pad_nd";

/** How many elements are added in front of each dimension and behind it. */
function sides(pad: readonly number[], rank: number): [front: number, behind: number][] {
  return Array.from({ length: rank }, (_, d) => {
    const at = 2 * (rank - 1 - d);
    return at < pad.length ? [pad[at] as number, pad[at + 1] as number] : [0, 0];
  });
}

/** `value` around a tensor; negative numbers leave elements out. */
export function constantPad(self: Tensor, pad: readonly number[], value: Scalar): Tensor {
  requireKept(self._storage);
  const rank = self._shape.length;
  if (pad.length % 2 !== 0) throw texts.padLength(NAME, pad.length);
  if (pad.length > 2 * rank) throw texts.padTooLong(NAME, pad.length, rank);
  const added = sides(pad, rank);
  const shape = self._shape.map((n, d) => {
    const [front, behind] = added[d] as [number, number];
    // What negative numbers leave out has to be there.
    if (n + Math.min(0, front) + Math.min(0, behind) < 0) throw texts.narrowLengthNegative(NAME);
    return n + front + behind;
  });
  if (added.every(([front, behind]) => front <= 0 && behind <= 0)) return clone(inner(self, added));
  const format = suggestedFormat(self);
  const strides = format === contiguousFormat ? null : formatStrides(shape, format);
  const { device } = self._storage;
  const r = strides === null ? empty(shape, self.dtype, device) : emptyWith(shape, strides, self.dtype, device);
  if (!hasWork(r)) return r;
  if (added.some(([front, behind]) => front > 0 || behind > 0)) fill(r, value);
  copyInner(r, self, added);
  return r;
}

/** The elements that stay. */
function inner(self: Tensor, added: readonly [number, number][]): Tensor {
  let from = self._offset;
  const kept = self._shape.map((n, d) => {
    const [front, behind] = added[d] as [number, number];
    from += Math.max(0, -front) * (self._strides[d] as number);
    return n + Math.min(0, front) + Math.min(0, behind);
  });
  return region(self, kept, self._strides, from);
}

function copyInner(r: Tensor, self: Tensor, added: readonly [number, number][]): void {
  const kept = inner(self, added);
  if (kept._numel === 0) return;
  let to = 0;
  added.forEach(([front], d) => {
    to += Math.max(0, front) * (r._strides[d] as number);
  });
  transferPart(r, kept._shape, r._strides, to, kept);
}
