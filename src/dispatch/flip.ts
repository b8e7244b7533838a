/** Reversal of dimensions, by a copy that walks its source backwards; rotations in steps and by quarters. */

import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { contiguousStrides } from "../tensor/size.ts";
import { dropCopy } from "../tensor/temporaries.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { emptyCopy } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { clone, denseOf } from "./copy.ts";
import { cat, region } from "./joining.ts";
import { contiguousFormat } from "./memory-format.ts";
import { setGeometry } from "./out.ts";

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
  dropCopy(self, source);
  return out;
}

/** Moved on by one shift along one dimension: the end goes before what came before it. */
function rollAlong(self: Tensor, shift: number, dim: number): Tensor {
  if (self._shape.length === 0) throw texts.dimOfScalar("roll", dim);
  const d = wrapDim(dim, self._shape.length);
  const n = self._shape[d] as number;
  const start = (((n - shift) % n) + n) % n;
  const part = (from: number, count: number): Tensor => {
    const shape = self._shape.slice();
    shape[d] = count;
    return region(self, shape, self._strides, self._offset + from * (self._strides[d] as number));
  };
  return cat([part(start, n - start), part(0, start)], d);
}

/** All elements moved on as if they were in one row. */
function rollFlat(self: Tensor, shift: number): Tensor {
  const dense = denseOf(self);
  const r = rollAlong(region(dense, [self._numel], [1], dense._offset), shift, 0);
  setGeometry(r, self._shape, contiguousStrides(self._shape), 0);
  return r;
}

export function roll(self: Tensor, shifts: readonly number[], dims: number | readonly number[] | null): Tensor {
  const along = dims === null ? [] : typeof dims === "number" ? [dims] : dims;
  if (shifts.length === 0) throw texts.shiftsMissing("roll");
  const flat = along.length === 0 && shifts.length === 1;
  if (!flat && shifts.length !== along.length) throw texts.shiftsAndDims("roll", shifts.length, along.length);
  if (self._numel === 0) return clone(self, flat ? contiguousFormat : null);
  if (flat) return rollFlat(self, shifts[0] as number);
  let r = self;
  along.forEach((d, i) => {
    r = rollAlong(r, shifts[i] as number, d);
  });
  return r;
}

export function rot90(self: Tensor, k: number, dims: number | readonly number[] | null): Tensor {
  const rank = self._shape.length;
  const plane = dims === null ? [0, 1] : typeof dims === "number" ? [dims] : dims;
  if (plane.length !== 2) throw texts.rotationDims("rot90", plane.length);
  if (rank < 2) throw texts.rotationRank("rot90", rank);
  const [a, b] = plane as [number, number];
  for (const d of plane) wrapDim(d, rank);
  if (a === b || Math.abs(a - b) === rank) throw texts.rotationSameDims("rot90", a, b);
  const quarters = ((k % 4) + 4) % 4;
  if (quarters === 0) return clone(self, contiguousFormat);
  if (quarters === 2) return flip(self, plane);
  return turned(flip(self, [quarters === 1 ? b : a]), a, b);
}

/** A fresh tensor with two of its dimensions exchanged. */
function turned(fresh: Tensor, a: number, b: number): Tensor {
  const exchanged = (list: readonly number[]): number[] => {
    const [x, y] = [wrapDim(a, list.length), wrapDim(b, list.length)];
    return list.map((n, d) => (d === x ? list[y] : d === y ? list[x] : n) as number);
  };
  setGeometry(fresh, exchanged(fresh._shape), exchanged(fresh._strides), 0);
  return fresh;
}
