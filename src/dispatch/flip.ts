/** Reversal of dimensions: a copy that walks its source backwards. */

import { K } from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { emptyCopy } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { clone } from "./copy.ts";

function marked(self: Tensor, dims: readonly number[]): boolean[] {
  const flags = new Array<boolean>(Math.max(1, self._shape.length)).fill(false);
  for (const dim of dims) {
    const d = wrapDim(dim, self._shape.length, "flip");
    if (flags[d]) throw texts.repeatedDim("flip", d);
    flags[d] = true;
  }
  return flags;
}

export function flip(source: Tensor, dims: readonly number[]): Tensor {
  const flags = marked(source, dims);
  const self = source._bits === 0 ? source : clone(source);
  const out = emptyCopy(self);
  if (!hasWork(self)) return out;
  let start = self._address();
  const strides = self._strides.map((s, d) => {
    if (!flags[d]) return s;
    start += ((self._shape[d] as number) - 1) * s * self.dtype.itemsize;
    return -s;
  });
  frame.begin(2, self.dtype.compute);
  frame.operand(0, out._address(), out.dtype.id, out._shape, out._strides, 0);
  frame.operand(1, start, self.dtype.id, self._shape, strides, 0);
  K.copy_copy.run(out._storage.device, "flip");
  return out;
}
