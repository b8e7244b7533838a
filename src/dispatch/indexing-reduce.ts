/** scatter_reduce and index_reduce: what positions bring together becomes a sum, product, mean or extreme. */
import { IndexMode } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import type { Scalar } from "../tensor/complex.ts";
import { bool, type DType, toReal } from "../tensor/dtype.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop } from "../tensor/temporaries.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import * as copy from "./copy.ts";
import { along, asRows, checkIndexAdd, targetOf, writeInto } from "./indexing-dim.ts";
import { checkScatter, cut, requireIndexDtype, scatterTarget, scatterWrite } from "./indexing-scatter.ts";
import { integerLimits } from "./limits.ts";
import { requireNoInternalOverlap, requireNoOverlap } from "./overlap.ts";
import { binary, type Pointwise, RULES } from "./pointwise.ts";

const MODES: Readonly<Record<string, number>> = {
  sum: IndexMode.add,
  prod: IndexMode.multiply,
  mean: IndexMode.add,
  amax: IndexMode.maximum,
  amin: IndexMode.minimum,
};

const named = (name: string, kernel: Pointwise["kernel"], rule: Pointwise["rule"]): Pointwise => ({
  name,
  kernel,
  rule,
});
const DIV = named("scatter_reduce", K.binary_div, RULES.float);
const FLOOR = named("scatter_reduce", K.binary_floor_divide, RULES.arith);
const MAXIMUM = named("scatter_reduce", K.binary_maximum, RULES.arith);

/** What changes nothing that it is combined with. */
function neutral(reduce: string, d: DType): Scalar {
  if (reduce === "prod") return 1;
  if (reduce === "sum" || reduce === "mean") return 0;
  if (d.category === 2) return reduce === "amax" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return integerLimits(d)[reduce === "amax" ? 0 : 1];
}

function filled(shape: readonly number[], like: Tensor, value: Scalar, dtype = like.dtype): Tensor {
  return copy.fill(empty(shape, dtype, like._storage.device), value);
}

/** Divides sums by how many elements they have; what got none stays. */
function divide(target: Tensor, counts: Tensor): void {
  binary(MAXIMUM, counts, 1, counts, true);
  binary(target.dtype.category < 2 ? FLOOR : DIV, target, counts, target, true);
  drop(counts);
}

/** Writes through `write` what the call combines; `ones` are as many as there are sources. */
function combine(
  target: Tensor,
  source: Tensor,
  reduce: string,
  includeSelf: boolean,
  write: (into: Tensor, from: Tensor, mode: number) => void,
  holder: readonly number[],
): Tensor {
  if (!includeSelf) {
    const start = filled(holder, target, neutral(reduce, target.dtype));
    write(target, start, IndexMode.assign);
    drop(start);
  }
  write(target, source, MODES[reduce] as number);
  if (reduce !== "mean") return target;
  // Complex numbers are counted in real ones.
  const counted = toReal(target.dtype);
  const counts = filled(target._shape, target, includeSelf ? 1 : 0, counted);
  const ones = filled(holder, target, 1, counted);
  write(counts, ones, IndexMode.add);
  drop(ones);
  divide(target, counts);
  return target;
}

/** Complex numbers have no order. */
function refuseComplex(self: Tensor, op: string, reduce: string, kernel: string): void {
  if (self.dtype.category < 3 || (reduce !== "amax" && reduce !== "amin")) return;
  throw texts.notImplementedFor(op, kernel, self.dtype.scalarType);
}

export function scatterReduce(
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor,
  asked: string,
  includeSelf: boolean,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const op = "scatter_reduce";
  // torch takes the short words, too.
  const reduce = asked === "max" ? "amax" : asked === "min" ? "amin" : asked;
  const d = wrapDim(dim, self._shape.length);
  requireIndexDtype(index, "scatter");
  if (self.dtype !== src.dtype) throw texts.scatterDtypes("scatter");
  checkScatter(self, d, index, src);
  for (const t of [self, index, src]) requireKept(t._storage);
  const target = scatterTarget(self, [index, src], out, inplace, op);
  if (!Object.hasOwn(MODES, reduce)) throw texts.scatterReduceMode(op, reduce);
  refuseComplex(self, op, reduce, `scatter_gather_tensor_cpu_reduce_${reduce}`);
  if (index._numel === 0) return target;
  const shape = index._shape.length === 0 ? [1] : index._shape;
  const write = (into: Tensor, from: Tensor, mode: number): void => {
    scatterWrite(into, d, index, from, mode, op);
  };
  return combine(
    target,
    cut(src, index),
    reduce,
    includeSelf,
    write,
    shape.map(() => 1),
  );
}

export function indexReduce(
  self: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  reduce: string,
  includeSelf: boolean,
  out: Tensor | undefined,
  inplace: boolean,
): Tensor {
  const op = "index_reduce_";
  if (reduce === "sum" || !Object.hasOwn(MODES, reduce)) throw texts.indexReduceMode("index_reduce", reduce);
  const d = wrapDim(dim, self._shape.length);
  checkIndexAdd(self, d, index, source, "index_reduce");
  for (const t of [self, index, source]) requireKept(t._storage);
  if (!includeSelf && (self.dtype.category === 3 || self.dtype === bool)) {
    throw texts.notImplementedFor(op, "index_reduce_func_exclude_input_init", self.dtype.scalarType);
  }
  refuseComplex(self, "index_reduce", reduce, reduce === "amax" ? "maximum_cpu" : "minimum_cpu");
  if (inplace) requireNoInternalOverlap(self, op);
  const target = targetOf(self, out, inplace, op);
  requireNoOverlap(target, index, op);
  requireNoOverlap(target, source, op);
  const rows = asRows(source);
  const write = (into: Tensor, from: Tensor, mode: number): void => {
    writeInto(into, from, (t) => along(t, d, index, false, "index_add_"), mode, op);
  };
  const holder = rows._shape.map(() => 1);
  if (index._numel === 0) return target;
  return combine(target, rows, reduce, includeSelf, write, holder);
}
