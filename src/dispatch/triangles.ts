/** Triangles of matrices, and matrices of diagonals. */
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import { int64 } from "../tensor/dtype.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop } from "../tensor/temporaries.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { copyInto, fill } from "./copy.ts";
import { prepareOut } from "./out.ts";
import { requireNoInternalOverlap, requireNoPartialOverlap } from "./overlap.ts";
import { binary, general, type Pointwise, RULES } from "./pointwise.ts";
import { requireCast } from "./promotion.ts";
import { arange } from "./ranges.ts";
import { diagonal, unsqueeze } from "./views.ts";

const WHERE: Pointwise = { name: "tril", kernel: K.ternary_where, rule: RULES.arith };

/** Whether each place of a matrix is on a diagonal or on one side of it. */
function side(self: Tensor, k: number, lower: boolean): Tensor {
  const [rows, columns] = self._shape.slice(-2) as [number, number];
  const { device } = self._storage;
  const row = arange(rows, int64, device, false);
  const column = arange(columns, int64, device, false);
  // Any diagonal beyond the corners is as good as the last.
  const offset = Math.max(-rows, Math.min(columns, k));
  const moved = binary({ name: "add", kernel: K.binary_add, rule: RULES.arith }, row, offset);
  const kernel = lower ? K.binary_ge : K.binary_le;
  const mask = general({ name: "tril", kernel, rule: RULES.compare }, [unsqueeze(moved, 1), column]);
  for (const t of [row, column, moved]) drop(t);
  return mask;
}

function triangle(
  op: string,
  self: Tensor,
  k: number,
  lower: boolean,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  requireKept(self._storage);
  if (self._shape.length < 2) throw texts.triangleRank(op);
  if (out !== undefined) {
    requireCast(self.dtype, out.dtype);
    prepareOut(out, self._shape);
    requireNoInternalOverlap(out, op);
    requireNoPartialOverlap(out, self, op);
  }
  if (inplace) requireNoInternalOverlap(self, op);
  const target = inplace ? self : (out ?? empty(self._shape, self.dtype, self._storage.device));
  if (!target._storage.device.computes || target._numel === 0) return target;
  const mask = side(self, k, lower);
  const zero = fill(empty([], self.dtype, self._storage.device), 0);
  general({ ...WHERE, name: op }, [mask, self, zero], target);
  drop(mask);
  drop(zero);
  return target;
}

export function tril(self: Tensor, k: number, out: Tensor | undefined, inplace: boolean): Tensor {
  return triangle("tril", self, k, true, out, inplace);
}

export function triu(self: Tensor, k: number, out: Tensor | undefined, inplace: boolean): Tensor {
  return triangle("triu", self, k, false, out, inplace);
}

/** Zeros with the last dimension on a diagonal of two new ones. */
export function diagEmbed(self: Tensor, offset: number, first: number, second: number): Tensor {
  const op = "diag_embed";
  requireKept(self._storage);
  const rank = self._shape.length + 1;
  const [a, b] = [wrapDim(first, rank), wrapDim(second, rank)];
  if (a === b) throw texts.sameDiagonalDims(op, first, second);
  const n = (self._shape.at(-1) ?? 1) + Math.abs(offset);
  const shape = self._shape.slice(0, -1);
  for (const d of a < b ? [a, b] : [b, a]) shape.splice(d, 0, n);
  const target = empty(shape, self.dtype, self._storage.device);
  fill(target, 0);
  copyInto(diagonal(target, offset, a, b), self);
  return target;
}
