/** Positions in sorted rows, and elements of sets. */

import { SearchAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import { REFUSALS } from "../../generated/refusals.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { scalarKind } from "../tensor/complex.ts";
import { bool, complex128, type DType, float32, float64, int32, int64 } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { copyInto, denseAs, denseOf, fill } from "./copy.ts";
import { faultError, faultNumber } from "./faults.ts";
import { region } from "./joining.ts";
import { prepareOut } from "./out.ts";
import { requireNoInternalOverlap } from "./overlap.ts";
import { type Operand, RULES, unary } from "./pointwise.ts";
import { resultType } from "./promotion.ts";
import { requireOutDtype } from "./reduce-layout.ts";
import { refuse } from "./refusals.ts";
import { sort } from "./sorting.ts";

const NOT = { name: "isin", kernel: K.unary_logical_not, rule: RULES.bool };

/** The dtype that the kernels compare values of `d` in. */
function compared(d: DType): DType {
  if (d.category < 2) return int64;
  return d === float64 ? float64 : float32;
}

/** A number as a tensor without dimensions beside another operand, in the dtype that both have together. */
function valuesOf(x: Operand, beside: Tensor): Tensor {
  if (x instanceof Tensor) return x;
  return fill(empty([], resultType([beside, x]), beside._storage.device), x);
}

function checkRows(rows: Tensor, values: Tensor, number: boolean): void {
  const rank = rows._shape.length;
  if (number && rank !== 1) throw texts.searchScalar("searchsorted", rank, values._shape.length, values._numel);
  if (rank === 0) throw texts.searchNoRows("searchsorted");
  const lead = (t: Tensor) => t._shape.slice(0, -1);
  const fits = rank === 1 || (rank === values._shape.length && sameSizes(lead(rows), lead(values)));
  if (!fits) throw texts.searchShapes("searchsorted", rows._shape, values._shape);
}

function checkSorter(rows: Tensor, sorter: Tensor): void {
  if (!sameSizes(sorter._shape, rows._shape)) throw texts.sorterShape("searchsorted", rows._shape, sorter._shape);
  if (sorter.dtype !== int64) throw texts.sorterDtype("searchsorted", sorter.dtype.scalarType);
}

function goesRight(right: boolean, side: string | null): boolean {
  if (side === null) return right;
  if (side !== "left" && side !== "right") throw texts.searchSide("searchsorted", side);
  if (right && side === "left") throw texts.searchOpposites("searchsorted");
  return side === "right";
}

export function searchsorted(
  rows: Tensor,
  self: Operand,
  narrow: boolean,
  right: boolean,
  side: string | null,
  sorter: Tensor | null,
  out?: Tensor,
): Tensor {
  requireKept(rows._storage);
  if (self instanceof Tensor) requireKept(self._storage);
  const op = "searchsorted";
  const values = valuesOf(self, rows);
  const toRight = goesRight(right, side);
  checkRows(rows, values, values._shape.length === 0);
  if (sorter !== null) checkSorter(rows, sorter);
  const dtype = narrow ? int32 : int64;
  if (out !== undefined && out.dtype !== dtype) {
    throw texts.searchOut(op, out.dtype.scalarType, narrow ? "True" : "False");
  }
  if (out !== undefined) prepareOut(out, values._shape);
  const target = out ?? empty(values._shape, dtype, values._storage.device);
  if (!hasWork(target)) return target;
  const length = rows._shape.at(-1) as number;
  if (length === 0) return fill(target, 0);
  const common = resultType([rows, values]);
  refuse(REFUSALS.searchsorted_out_cpu, common, op);
  const d = compared(common);
  const [a, b] = [denseAs(rows, d), denseAs(values, d)];
  const order = sorter === null ? null : denseOf(sorter);
  const direct = target._contiguous && target._storage !== values._storage && target._storage !== rows._storage;
  const to = direct ? target : empty(target._shape, dtype, target._storage.device);
  frame.begin(order === null ? 3 : 4, d.compute);
  [to, a, b, ...(order === null ? [] : [order])].forEach((t, i) => {
    frame.operand(i, t._address(), t.dtype.id, t._shape, t._strides, 0);
  });
  frame.attr(SearchAttr.right, toRight ? 1 : 0);
  frame.attr(SearchAttr.length, length);
  frame.attr(SearchAttr.perRow, rows._shape.length === 1 ? b._numel : (b._shape.at(-1) as number));
  frame.attr(SearchAttr.ordered, order === null ? 0 : 1);
  frame.attr(SearchAttr.fault, faultNumber("searchsorted"));
  if (K.search_searchsorted.launch(to._storage.device) !== 0) throw faultError("searchsorted", 0, 0, 0);
  dropCopy(a, rows);
  dropCopy(b, self);
  if (order !== null) dropCopy(order, sorter);
  return to === target ? target : copyInto(target, to);
}

export function bucketize(self: Operand, boundaries: Tensor, narrow: boolean, right: boolean, out?: Tensor): Tensor {
  if (boundaries._shape.length !== 1) throw texts.boundariesRank("bucketize", boundaries._shape.length);
  return searchsorted(boundaries, valuesOf(self, boundaries), narrow, right, null, null, out);
}

const OF_NUMBER = { bool, int: int64, float: float64, complex: complex128 } as const;

/** A number counts as what it is, whatever it stands beside. */
function refuseKinds(x: Operand): void {
  const d = x instanceof Tensor ? x.dtype : OF_NUMBER[scalarKind(x)];
  if (d === bool || d.category === 3) throw texts.isinDtype("isin", d.scalarType);
}

export function isin(self: Operand, tests: Operand, _unique: boolean, invert: boolean, out?: Tensor): Tensor {
  const op = "isin";
  for (const x of [self, tests]) refuseKinds(x);
  const elements = valuesOf(self, tests as Tensor);
  const among = valuesOf(tests, elements);
  requireOutDtype(out, bool);
  if (out !== undefined) {
    prepareOut(out, elements._shape);
    requireNoInternalOverlap(out, op);
  }
  const target = out ?? empty(elements._shape, bool, elements._storage.device);
  if (!hasWork(target)) return target;
  if (among._numel === 0) return fill(target, invert);
  const common = resultType([elements, among]);
  refuse(REFUSALS.isin_default_cpu, common, op);
  const d = compared(common);
  const dense = denseAs(among, d);
  const flat = region(dense, [among._numel], [1], dense._offset);
  const [rows, order] =
    flat._numel === 1 ? [flat, null] : (sort(flat, 0, false) as readonly Tensor[] as [Tensor, Tensor]);
  const values = denseAs(elements, d);
  const direct = target._contiguous && target._storage !== values._storage;
  const to = direct ? target : empty(target._shape, bool, target._storage.device);
  frame.begin(3, d.compute);
  [to, rows, values].forEach((t, i) => {
    frame.operand(i, t._address(), t.dtype.id, t._shape, t._strides, 0);
  });
  frame.attr(SearchAttr.right, 0);
  frame.attr(SearchAttr.length, rows._numel);
  frame.attr(SearchAttr.perRow, values._numel);
  frame.attr(SearchAttr.ordered, 0);
  K.search_isin.run(to._storage.device, op, d.scalarType);
  for (const t of order === null ? [] : [rows, order]) drop(t);
  dropCopy(dense, among);
  dropCopy(values, elements);
  if (invert) unary(NOT, to, to, true);
  return to === target ? target : copyInto(target, to);
}
