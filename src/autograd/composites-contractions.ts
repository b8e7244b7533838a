/** Sums of products along chosen dimensions: einsum and tensordot. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { numelOf } from "../tensor/size.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { parseEquation } from "./einsum-equation.ts";

/** How a dimension of two aligned operands takes part. */
interface Kinds {
  readonly both: number[];
  readonly left: number[];
  readonly right: number[];
  readonly summed: number[];
}

function sumAway(t: Tensor, dims: readonly number[]): Tensor {
  return dims.length === 0 ? t : O.sum_dim_IntList(t, dims, true, t.dtype);
}

const sizesAt = (t: Tensor, dims: readonly number[]): number[] => dims.map((d) => t._shape[d] as number);

/** The product of two operands of one number of dimensions, summed over some: a batch of products of matrices. */
function pairProduct(a: Tensor, b: Tensor, sum: readonly number[]): Tensor {
  if (sum.length === 0) return a.mul(b);
  const isLong = (t: Tensor, d: number): boolean => t._shape[d] !== 1;
  const kinds: Kinds = { both: [], left: [], right: [], summed: [] };
  const [alone, other]: [number[], number[]] = [[], []];
  a._shape.forEach((_, d) => {
    const [l, r] = [isLong(a, d), isLong(b, d)];
    if (sum.includes(d)) {
      if (l && r) kinds.summed.push(d);
      else if (l) alone.push(d);
      else if (r) other.push(d);
    } else (l && r ? kinds.both : l ? kinds.left : kinds.right).push(d);
  });
  const { both, left: lo, right: ro, summed } = kinds;
  // As torch does: the other way round the result already lies in its order. Where `b` adds nothing up it multiplies.
  const adds = summed.length + other.length > 0;
  if (adds && lo.length > 0 && ro.length > 0 && Math.max(...ro) < Math.min(...lo)) return pairProduct(b, a, sum);
  const [left, right] = [sumAway(a, alone), sumAway(b, other)];
  // What both have long, or neither, stands in each group once.
  const ones = a._shape.flatMap((_, d) => (sum.includes(d) && !summed.includes(d) ? [d] : []));
  const shape = [...sizesAt(left, both), ...sizesAt(left, lo), ...sizesAt(right, ro), ...ones.map(() => 1)];
  const inner = numelOf(sizesAt(left, summed));
  const [n, rows, columns] = [both, lo].map((g) => numelOf(sizesAt(left, g))).concat(numelOf(sizesAt(right, ro))) as [
    number,
    number,
    number,
  ];
  const x = O.permute(left, [...both, ...lo, ...summed, ...ro, ...ones]).reshape([n, rows, inner]);
  const y = O.permute(right, [...both, ...summed, ...ro, ...lo, ...ones]).reshape([n, inner, columns]);
  const order = [...both, ...lo, ...ro, ...ones, ...summed];
  const back: number[] = [];
  order.forEach((d, i) => {
    back[d] = i;
  });
  const whole = O.bmm(x, y).reshape([...shape, ...summed.map(() => 1)]);
  return O.permute(whole, back);
}

/** Repeated names are the diagonal of their dimensions. */
function withoutRepeats(operand: Tensor, labels: readonly number[], at: number, letter: (label: number) => string) {
  let t = operand;
  const kept: number[] = [];
  for (const label of labels) {
    const before = kept.indexOf(label);
    const d = kept.length;
    if (before < 0) {
      kept.push(label);
      continue;
    }
    const [n, m] = [t._shape[before] as number, t._shape[d] as number];
    if (n !== m) throw texts.einsumRepeated("einsum", letter(label), at, m, n);
    t = O.movedim(O.diagonal(t, 0, before, d), [-1], [before]);
  }
  return { t, kept };
}

export function einsum(equation: string, operands: readonly Tensor[]): Tensor {
  const op = "einsum";
  if (operands.length === 0) throw texts.einsumOfNone(op);
  const { labels, order, outputs, letter } = parseEquation(
    equation,
    operands.map((t) => t._shape.length),
  );
  const sizes = new Map<number, number>();
  const aligned = operands.map((operand, i) => {
    const { t, kept } = withoutRepeats(operand, labels[i] as number[], i, letter);
    kept.forEach((label, d) => {
      const [n, seen] = [t._shape[d] as number, sizes.get(label) ?? 1];
      if (seen !== 1 && n !== 1 && n !== seen) throw texts.einsumSizes(op, letter(label), n, i, seen);
      if (seen === 1) sizes.set(label, n);
    });
    const at = order.map((label) => kept.indexOf(label));
    const there = at.filter((d) => d >= 0);
    const shape = at.map((d) => (d < 0 ? 1 : (t._shape[d] as number)));
    return O.permute(t, there).reshape(shape);
  });
  /** The last operand in which each dimension is longer than 1, or is at all. */
  const last = order.map((label) => labels.findLastIndex((list) => list.includes(label)));
  const summedAt = (i: number): number[] => order.flatMap((_, d) => (d >= outputs && last[d] === i ? [d] : []));
  if (aligned.length === 1 && order.length > outputs) {
    const [only] = aligned as [Tensor];
    return O.sum_dim_IntList(only, summedAt(0), false, only.dtype);
  }
  let result = sumAway(aligned[0] as Tensor, summedAt(0));
  aligned.slice(1).forEach((t, i) => {
    result = pairProduct(result, t, summedAt(i + 1));
  });
  if (aligned.length === 1 && outputs === order.length && result === operands[0]) return O.alias(result);
  return order.length === outputs ? result : result.reshape(result._shape.slice(0, outputs));
}

type Axes = number | readonly [readonly number[], readonly number[]];

function axesOf(a: Tensor, b: Tensor, dims: Axes): [number[], number[]] {
  const op = "tensordot";
  if (typeof dims !== "number") return [[...dims[0]], [...dims[1]]];
  if (dims < 0) throw texts.tensordotNegative(op, dims);
  if (dims > Math.min(a._shape.length, b._shape.length)) throw texts.tensordotTooMany(op, dims);
  return [Array.from({ length: dims }, (_, i) => i - dims), Array.from({ length: dims }, (_, i) => i)];
}

export function tensordot(a: Tensor, b: Tensor, dims: Axes): Tensor {
  const op = "tensordot";
  const [first, second] = axesOf(a, b, dims);
  if (first.length !== second.length) throw texts.tensordotLists(op);
  if (a.dtype !== b.dtype) throw texts.tensordotDtypes(op);
  const [da, db] = [first.map((d) => wrapDim(d, a._shape.length)), second.map((d) => wrapDim(d, b._shape.length))];
  const [long, other]: [number[], number[]] = [[], []];
  let [x, y] = [a, b];
  da.forEach((d, i) => {
    const e = db[i] as number;
    const [n, m] = [a._shape[d] as number, b._shape[e] as number];
    if (m === 1) x = sumAway(x, [d]);
    else if (n === 1) y = sumAway(y, [e]);
    else if (n !== m) throw texts.tensordotSizes(op, n, first[i] as number, m, second[i] as number);
    long.push(d);
    other.push(e);
  });
  const free = (t: Tensor, taken: readonly number[]): number[] =>
    t._shape.flatMap((_, d) => (taken.includes(d) ? [] : [d]));
  const [fx, fy] = [free(x, long), free(y, other)];
  const [rows, inner, columns] = [sizesAt(x, fx), sizesAt(x, long), sizesAt(y, fy)];
  const left = O.permute(x, [...fx, ...long]).reshape([numelOf(rows), numelOf(inner)]);
  const right = O.permute(y, [...other, ...fy]).reshape([numelOf(inner), numelOf(columns)]);
  return O.mm(left, right).reshape([...rows, ...columns]);
}
