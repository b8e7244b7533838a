/** gather, scatter and scatter_add: an index for every element, along one dimension. */
import { IndexMode } from "../../generated/abi.ts";
import * as texts from "../../generated/texts.ts";
import type { Scalar } from "../tensor/complex.ts";
import { int32, int64 } from "../tensor/dtype.ts";
import { listText } from "../tensor/size.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import * as copy from "./copy.ts";
import { checkFits } from "./fits.ts";
import { writeInto } from "./indexing-dim.ts";
import { axis, compactIndex, read, type Selection } from "./indexing-kernel.ts";
import { contiguousFormat } from "./memory-format.ts";
import { prepareOut } from "./out.ts";
import { requireNoInternalOverlap, requireNoOverlap, requireNoPartialOverlap } from "./overlap.ts";
import { asView } from "./views.ts";

/** As errors of indices name them. */
type ScatterOp = "gather" | "scatter" | "scatter_add" | "scatter_reduce";

const sizes = (t: Tensor): readonly number[] => (t._shape.length === 0 ? [1] : t._shape);
const steps = (t: Tensor): readonly number[] => (t._shape.length === 0 ? [1] : t._strides);

/** Every element of `index` names a place along `d`; along the others it stands at its own. */
function lanes(self: Tensor, d: number, index: Tensor, op: ScatterOp): Selection {
  const { index: compact, positions } = compactIndex(index);
  const shape = sizes(index);
  return {
    shape,
    strides: steps(self).map((s, k) => (k === d ? 0 : s)),
    positions: index._shape.length === 0 ? [1] : positions,
    axes: [axis(compact, d, sizes(self)[d] as number, steps(self)[d] as number)],
    wrap: false,
    fault: op,
  };
}

export function requireIndexDtype(index: Tensor, op: string): void {
  if (index._numel !== 0 && index.dtype !== int64 && index.dtype !== int32) throw texts.indexNotInteger(op);
}

/** self's elements at the places that `index` names along `dim`. */
export function gather(self: Tensor, dim: number, index: Tensor, _sparseGrad: boolean, out?: Tensor): Tensor {
  const op = "gather";
  requireKept(self._storage);
  const d = wrapDim(dim, self._shape.length);
  requireIndexDtype(index, op);
  if (out !== undefined && out.dtype !== self.dtype) {
    throw texts.reductionOutDtype(op, self.dtype.cppName, out.dtype.cppName);
  }
  if (index._numel !== 0) checkGather(self, d, index);
  if (out !== undefined) {
    prepareOut(out, index._shape);
    requireNoInternalOverlap(out, op);
    requireNoOverlap(out, self, op);
    requireNoPartialOverlap(out, index, op);
  }
  const direct = out === undefined || out._bits === 0;
  const target = direct && out !== undefined ? out : empty(index._shape, self.dtype, self._storage.device);
  if (index._numel === 0) return out ?? target;
  const source = self._bits === 0 ? self : copy.clone(self);
  const s = lanes(source, d, index, op);
  const view = target._shape.length === 0 ? asView(target, [1], [1], target._offset) : target;
  read(view, source, s, op);
  dropCopy(source, self);
  if (out === undefined || target === out) return target;
  copy.transfer(out, target);
  drop(target);
  return out;
}

function checkGather(self: Tensor, d: number, index: Tensor): void {
  if (sizes(self).length !== sizes(index).length) throw texts.gatherIndexRank("gather");
  sizes(index).forEach((n, k) => {
    if (k !== d && n > (sizes(self)[k] as number)) {
      throw texts.gatherIndexSize("gather", k, index._shape, self._shape, d);
    }
  });
}

function sizeAt(t: Tensor, k: number, op: string): number {
  const rank = t._shape.length;
  if (rank === 0) return 1;
  if (k >= rank) throw texts.dimOutOfRange(op, -rank, rank - 1, k);
  return t._shape[k] as number;
}

export function checkScatter(self: Tensor, d: number, index: Tensor, src: Tensor | null): void {
  const op = "scatter";
  if (index._numel === 0) return;
  if (sizes(self).length !== sizes(index).length) throw texts.scatterIndexRank(op);
  const beyondSelf = sizes(index).some((n, k) => k !== d && n > (sizes(self)[k] as number));
  // torch reads the sizes of src before it counts them.
  const beyondSrc = !beyondSelf && src !== null && sizes(index).some((n, k) => n > sizeAt(src, k, op));
  if (src !== null && sizes(src).length !== sizes(index).length) throw texts.scatterSourceRank(op);
  if (beyondSelf || beyondSrc) {
    const tail = src === null ? "" : ` and to be no larger size than src ${listText(src._shape)}`;
    throw texts.scatterIndexSize(op, index._shape, self._shape, d, tail);
  }
}

const REDUCTIONS: Record<string, number> = { add: IndexMode.add, multiply: IndexMode.multiply };

export function reduceMode(reduce: string | null): number {
  if (reduce === null) return IndexMode.assign;
  const mode = Object.hasOwn(REDUCTIONS, reduce) ? REDUCTIONS[reduce] : undefined;
  if (mode === undefined) throw texts.scatterReduce("scatter");
  return mode;
}

/** The tensor to write into, with self's elements; refuses operands that share its bytes. */
export function scatterTarget(
  self: Tensor,
  others: readonly Tensor[],
  out: Tensor | undefined,
  inplace: boolean,
  op: string,
): Tensor {
  if (!inplace && out === undefined) return copy.clone(self, contiguousFormat);
  const target = out ?? self;
  if (target.dtype !== self.dtype) throw texts.reductionOutDtype(op, self.dtype.cppName, target.dtype.cppName);
  if (target !== self) prepareOut(target, self._shape);
  requireNoInternalOverlap(target, op);
  for (const t of others) requireNoOverlap(target, t, op);
  if (target !== self) copy.copyInto(target, self);
  return target;
}

/** The part of `src` that the index reaches. */
export function cut(src: Tensor, index: Tensor): Tensor {
  const shape = sizes(index);
  return asView(src, shape, steps(src), src._offset);
}

/** Combines `src` into `target` at the places that `index` names. */
export function scatterWrite(
  target: Tensor,
  d: number,
  index: Tensor,
  src: Tensor,
  mode: number,
  op: ScatterOp,
): Tensor {
  if (index._numel === 0) return target;
  return writeInto(target, src, (t) => lanes(t, d, index, op), mode, op);
}

function run(
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor,
  mode: number,
  out: Tensor | undefined,
  inplace: boolean,
  op: ScatterOp,
): Tensor {
  const d = wrapDim(dim, self._shape.length);
  requireIndexDtype(index, "scatter");
  if (self.dtype !== src.dtype) throw texts.scatterDtypes(op);
  checkScatter(self, d, index, src);
  const target = scatterTarget(self, [index, src], out, inplace, op);
  return index._numel === 0 ? target : scatterWrite(target, d, index, cut(src, index), mode, op);
}

/** self, with the elements at the places that `index` names along `dim` replaced by those of `src`. */
export function scatter(self: Tensor, dim: number, index: Tensor, src: Tensor, out?: Tensor, inplace = false): Tensor {
  return run(self, dim, index, src, IndexMode.assign, out, inplace, "scatter");
}

export function scatterReduceSrc(
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor,
  reduce: string,
  out?: Tensor,
  inplace = false,
): Tensor {
  return run(self, dim, index, src, reduceMode(reduce), out, inplace, "scatter");
}

/** The sum form. */
export function scatterAdd(
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor,
  out?: Tensor,
  inplace = false,
): Tensor {
  return run(self, dim, index, src, IndexMode.add, out, inplace, "scatter_add");
}

/** As `scatter`, with one number for all places. */
export function scatterValue(
  self: Tensor,
  dim: number,
  index: Tensor,
  value: Scalar,
  out?: Tensor,
  inplace = false,
): Tensor {
  return scatterNumber(self, dim, index, value, IndexMode.assign, out, inplace);
}

export function scatterReduceValue(
  self: Tensor,
  dim: number,
  index: Tensor,
  value: Scalar,
  reduce: string,
  out?: Tensor,
  inplace = false,
): Tensor {
  return scatterNumber(self, dim, index, value, reduceMode(reduce), out, inplace);
}

function scatterNumber(
  self: Tensor,
  dim: number,
  index: Tensor,
  value: Scalar,
  mode: number,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const op = "scatter";
  const d = wrapDim(dim, self._shape.length);
  requireIndexDtype(index, op);
  checkScatter(self, d, index, null);
  if (index._numel > 0) checkFits(value, self.dtype);
  const target = scatterTarget(self, [index], out, inplace, op);
  if (index._numel === 0) return target;
  const holder = empty(
    sizes(index).map(() => 1),
    self.dtype,
    self._storage.device,
  );
  copy.fill(holder, value);
  return scatterWrite(target, d, index, holder, mode, op);
}
