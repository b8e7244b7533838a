/** Rows of tables that positions name, and forms that mix two inputs. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { gradModes } from "../dispatch/mode.ts";
import { batchOf } from "../tensor/batched.ts";
import { float64, int32, int64, legacyName } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { requireRealGradient } from "./tracking.ts";

/** The row of the padding, counted from the first; null without one. */
export function paddingOf(
  padding: number | null,
  rows: number,
  refused: (padding: number) => Error = () => texts.paddingRow("embedding"),
): number | null {
  if (padding === null) return null;
  if (padding >= rows || padding < -rows) throw refused(padding);
  return padding < 0 ? padding + rows : padding;
}

/** As the kernel takes it: -1 where every row gets a gradient. */
const rowOf = (padding: number | null, weight: Tensor): number => paddingOf(padding, weight._shape[0] ?? 0) ?? -1;

/** Makes rows that are about to be read no longer than `most`, in place. */
function shorten(weight: Tensor, indices: Tensor, most: number, p: number): void {
  gradModes.run(false, "embedding", () => {
    const list = O.unique(indices.reshape([-1]), true, null);
    const rows = O.index_select(weight, 0, list);
    const lengths = O.linalg_vector_norm(rows, p, [1], true, null);
    const scale = lengths.add(1e-7).reciprocal().mul(most);
    O.index_copy_(weight, 0, list, O.where(lengths.gt(most), rows.mul(scale), rows));
  });
}

export function embedding(
  input: Tensor,
  weight: Tensor,
  padding: number | null,
  maxNorm: number | null,
  normType: number,
  scale: boolean,
  _sparse: boolean,
): Tensor {
  const row = rowOf(padding, weight);
  if (maxNorm !== null) shorten(weight, input, maxNorm, normType);
  return O._embedding(weight, input, row, scale);
}

/** The runs of a vector of positions: where each begins, and how many there are. */
interface Bags {
  readonly indices: Tensor;
  readonly weights: Tensor | null;
  /** The bag of each position. */
  readonly of: Tensor;
  readonly count: number;
}

function checkOffsets(offsets: Tensor, length: number): void {
  const op = "embedding_bag";
  if (offsets._numel === 0 || !offsets._storage.device.computes) return;
  const first = offsets.select(0, 0).item() as number;
  const last = offsets.select(0, -1).item() as number;
  if (Number(first) !== 0) throw texts.firstOffset(op, first);
  if (Number(last) > length) throw texts.lastOffset(op, length, last);
  if (offsets._numel < 3 && Number(last) >= 0) return;
  const [before, after] = [offsets.narrow(0, 0, offsets._numel - 1), offsets.narrow(0, 1, offsets._numel - 1)];
  const falls = after.lt(before);
  if (falls.any().item() !== true) return;
  const at = Number(falls.to(int64).argmax().item());
  throw texts.offsetsDecrease(op, at + 1, Number(after.select(0, at).item()), Number(before.select(0, at).item()));
}

function checkInput(input: Tensor, offsets: Tensor | null): void {
  const op = "embedding_bag";
  const rank = input._shape.length;
  if (rank === 2) {
    if (offsets !== null) throw texts.offsetsOfRows(op);
    return;
  }
  if (rank !== 1) throw texts.bagInputRank(op, rank);
  if (offsets === null) throw texts.offsetsMissing(op);
  if (offsets._shape.length !== 1) throw texts.offsetsRank(op);
}

function checkDtypes(input: Tensor, weight: Tensor, offsets: Tensor | null, weights: Tensor | null): void {
  const op = "embedding_bag";
  for (const t of [input, offsets]) {
    if (t !== null && t.dtype !== int64 && t.dtype !== int32) throw texts.bagIndices(op, legacyName(t.dtype));
  }
  const floating = weight.dtype.category === 2 && weight.dtype.itemsize > 1;
  if (!floating) throw texts.bagWeight(op, legacyName(weight.dtype));
  if (offsets !== null) checkOffsets(offsets, input._numel);
  if (weights !== null && weights.dtype !== weight.dtype) {
    throw texts.bagSampleDtype(op, legacyName(weight.dtype), legacyName(weights.dtype));
  }
}

/** Refuses rows that there are not, where they can be seen, in the words of the one or the other of torch's ways. */
function checkRows(indices: Tensor, rows: number, slow: boolean): void {
  if (!indices._storage.device.computes || batchOf(indices) !== null || indices._numel === 0) return;
  const outside = indices.lt(0).logicalOr(indices.ge(rows));
  if (outside.any().item() !== true) return;
  const at = Number(outside.to(int64).argmax().item());
  const row = Number(indices.select(0, at).item());
  if (slow) throw texts.bagRowOfLargest("embedding_bag", row);
  throw texts.bagRow("embedding_bag", at, row, rows);
}

/** The kernel looks at each index itself; which one it was, and torch's words for it, matter when it has refused. */
function rowsOf(weight: Tensor, indices: Tensor, scale: boolean, slow: boolean): Tensor {
  const check = (): void => checkRows(indices, weight._shape[0] as number, slow);
  // A GPU says so later, and of another operator.
  if (indices.device.type !== "cpu") check();
  try {
    return O._embedding(weight, indices, -1, scale);
  } catch (error) {
    check();
    throw error;
  }
}

function bagsOf(input: Tensor, offsets: Tensor | null, weights: Tensor | null, withLast: boolean): Bags {
  if (offsets === null) {
    const [count, length] = input._shape as [number, number];
    const of = O.arange(count, int64, input.device, false).unsqueeze(1).expand([count, length]).reshape([-1]);
    return { indices: input.reshape([-1]), weights: weights?.reshape([-1]) ?? null, of, count };
  }
  const starts = withLast ? offsets.narrow(0, 0, offsets._numel - 1) : offsets;
  if (starts._numel === 0) {
    const of = O.arange(0, int64, input.device, false);
    return { indices: input.narrow(0, 0, 0), weights: weights?.narrow(0, 0, 0) ?? null, of, count: 0 };
  }
  const places = O.arange(input._numel, int64, input.device, false);
  const of = O.searchsorted_Tensor(starts.to(int64), places, false, true, null, null).sub(1);
  return { indices: input, weights, of, count: starts._numel };
}

/** The largest of each bag's rows, element by element; the gradient belongs to the first of equals. */
function largest(rows: Tensor, { of, count }: Bags, skipped: Tensor | null): Tensor {
  const [n, width] = rows._shape as [number, number];
  if (n === 0) return rows.sum(0).expand([count, width]).clone();
  const at = gradModes.run(false, "embedding_bag", () => {
    const bag = of.unsqueeze(1).expand([n, width]);
    const low = rows.newFull([count, width], Number.NEGATIVE_INFINITY);
    const open = skipped === null ? rows : rows.maskedFill(skipped, Number.NEGATIVE_INFINITY);
    const most = O.scatter_reduce_two(low, 0, bag, open, "amax", true);
    const places = O.arange(n, int64, rows.device, false).unsqueeze(1).expand([n, width]);
    const equal = rows.eq(O.gather(most, 0, bag, false)).logicalOr(rows.isnan());
    const first = O.where(skipped === null ? equal : equal.logicalAnd(skipped.logicalNot()), places, n);
    return O.scatter_reduce_two(bag.newFull([count, width], n), 0, bag, first, "amin", true);
  });
  const empty = at.eq(n);
  return O.gather(rows, 0, at.maskedFill(empty, 0), false).maskedFill(empty, 0);
}

/** How many rows of each bag count, one at least. */
function countsOf({ of, count }: Bags, skipped: Tensor | null, like: Tensor): Tensor {
  const ones = like.newOnes([of._numel, 1]);
  const counted = skipped === null ? ones : ones.maskedFill(skipped, 0);
  return O.index_add(like.newZeros([count, 1]), 0, of, counted, 1).clampMin(1);
}

const MODES = ["sum", "mean", "max"];

export function embeddingBag(
  input: Tensor,
  weight: Tensor,
  offsets: Tensor | null,
  maxNorm: number | null,
  normType: number,
  scale: boolean,
  mode: string,
  _sparse: boolean,
  weights: Tensor | null,
  withLast: boolean,
  padding: number | null,
): Tensor {
  const op = "embedding_bag";
  if (weights !== null && !sameSizes(weights._shape, input._shape)) {
    throw texts.sampleWeights(op, weights._shape, input._shape);
  }
  if (weight._shape.length !== 2) throw texts.bagWeightRank(op, weight._shape.length);
  checkInput(input, offsets);
  if (!MODES.includes(mode)) throw texts.bagMode(op, mode);
  if (mode === "max" && scale) throw texts.bagScale(op);
  if (maxNorm !== null) shorten(weight, input.reshape([-1]), maxNorm, normType);
  if (weights !== null && mode !== "sum") throw texts.bagWeights(op, mode);
  const count = weight._shape[0] as number;
  const row = paddingOf(padding, count, (at) => texts.bagPadding(op, count, count - 1, at)) ?? -1;
  checkDtypes(input, weight, offsets, weights);
  if (withLast && offsets?._numel === 0) throw texts.lastOffsetMissing(op);
  const bags = bagsOf(input, offsets, weights, withLast);
  const slow = mode === "max" || weight.dtype === float64 || padding !== null;
  // One for each position, whether it names the padding: such rows do not count.
  const skipped = row < 0 ? null : bags.indices.eq(row).unsqueeze(1);
  const rows = rowsOf(weight, bags.indices, scale, slow);
  if (mode === "max") return largest(rows, bags, skipped);
  const weighted = bags.weights === null ? rows : rows.mul(bags.weights.unsqueeze(1));
  const given = skipped === null ? weighted : weighted.maskedFill(skipped, 0);
  const total = O.index_add(rows.newZeros([bags.count, weight._shape[1] as number]), 0, bags.of, given, 1);
  return mode === "sum" ? total : total.div(countsOf(bags, skipped, total));
}

export function oneHot(input: Tensor, classes: number): Tensor {
  const op = "one_hot";
  if (input.dtype !== int64) throw texts.oneHotDtype(op);
  if (input._numel === 0) {
    if (classes <= 0) throw texts.oneHotOfNothing(op);
    return input.newZeros([...input._shape, classes]);
  }
  const row = (n: number): Tensor =>
    O.scatter_value_(O.zero_(input.newEmpty([...input._shape, n])), -1, input.unsqueeze(-1), 1);
  // Examples are not looked at one by one, and meta has no elements: a class that there is not is one of the kernel's.
  const unseen = batchOf(input) !== null || !input._storage.device.computes;
  if (classes !== -1 && unseen) {
    if (classes < 1) throw texts.oneHotTooLarge(op);
    return row(classes);
  }
  if (Number(input.min().item()) < 0) throw texts.oneHotNegative(op);
  const most = Number(input.max().item());
  if (classes !== -1 && most >= classes) throw texts.oneHotTooLarge(op);
  return row(classes === -1 ? most + 1 : classes);
}

/** A size of an operand of `bilinear`, which may not have that dimension. */
function sizeOf(t: Tensor, d: number): number {
  if (t._shape.length === 0) throw texts.dimOfScalar("bilinear", d);
  return t._shape[wrapDim(d, t._shape.length)] as number;
}

function checkBilinear(a: Tensor, b: Tensor, weight: Tensor, bias: Tensor | null): void {
  const op = "bilinear";
  const given = [a, b, weight, ...(bias === null ? [] : [bias])];
  if (given.some((t) => t.dtype !== a.dtype)) {
    const names = ["input1", "input2", "weight", "bias"];
    throw texts.bilinearDtypes(op, given.map((t, i) => `${names[i]}: ${t.dtype.cppName}`).join(", "));
  }
  const rank = a._shape.length;
  if (rank !== b._shape.length) throw texts.bilinearRanks(op, rank, b._shape.length);
  for (let d = 0; d < rank - 1; d++) {
    if (a._shape[d] !== b._shape[d]) throw texts.bilinearBatch(op, d, a._shape[d] as number, b._shape[d] as number);
  }
  for (const [i, t] of [a, b].entries()) {
    const [wanted, got] = [sizeOf(weight, i + 1), sizeOf(t, -1)];
    if (got !== wanted) throw texts.bilinearSize(op, i + 1, got, wanted);
  }
  const [out, got] = [sizeOf(weight, 0), bias === null ? null : sizeOf(bias, 0)];
  if (got !== null && got !== out) throw texts.bilinearBias(op, got, out);
  if (weight._shape.length !== 3) throw texts.bilinearWeight(op);
}

export function bilinear(a: Tensor, b: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  checkBilinear(a, b, weight, bias);
  const [out, first, second] = weight._shape as [number, number, number];
  const lead = a._shape.slice(0, -1);
  const n = lead.reduce((x, y) => x * y, 1);
  const half = O.mm(a.reshape([n, first]), weight.permute([1, 0, 2]).reshape([first, out * second]));
  const mixed = O.bmm(half.view([n, out, second]), b.reshape([n, second, 1])).view([...lead, out]);
  requireRealGradient("_trilinear", mixed);
  return bias === null ? mixed : mixed.add(bias);
}
