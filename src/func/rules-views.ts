/** Views: sizes get the batch in front, dimensions count on behind it. */
import * as O from "../../generated/ops.ts";
import { gradMode, requiresGrad } from "../dispatch/mode.ts";
import { exampleOf, standFor } from "../tensor/batched.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import type { Call, Rule } from "./call.ts";
import { padded, requireBatched } from "./shapes.ts";

/** A view of all examples: the tensor, how many dimensions an example has, and the arguments. */
// biome-ignore lint/suspicious/noExplicitAny: each view has its own arguments
type View = (t: Tensor, rank: number, args: readonly any[]) => Tensor | Tensor[];

const one = (dim: number, rank: number): number => wrapDim(dim, rank) + 1;

/** Sizes with the batch in front; one that is asked for is found here, where the batch is known. */
function sizesOf(t: Tensor, size: readonly number[]): number[] {
  const batch = t._shape[0] as number;
  if (batch !== 0 || !size.includes(-1)) return [batch, ...size];
  const numel = t._shape.slice(1).reduce((n, x) => n * x, 1);
  const known = size.reduce((n, x) => (x === -1 ? n : n * x), 1);
  return [batch, ...size.map((x) => (x === -1 ? numel / (known === 0 ? 1 : known) : x))];
}

/** A view of an example without dimensions: as of one with one. */
const ofNumbers =
  (view: View): View =>
  (t, rank, args) => {
    if (rank > 0) return view(t, rank, args);
    const found = view(O.unsqueeze(t, 1), 1, args);
    return Array.isArray(found) ? found.map((x) => O.squeeze_dim(x, 1)) : O.squeeze_dim(found, 1);
  };

const onesOf = (t: Tensor): number[] => t._shape.flatMap((n, d) => (d > 0 && n === 1 ? [d] : []));

/** How many elements of a storage a geometry reaches over. */
const reach = (shape: readonly number[], strides: readonly number[]): number =>
  shape.reduce((n, size, d) => n + (size - 1) * (strides[d] as number), 1);

/**
 * Examples that are alike are the same elements, and would share one gradient through them: where one is wanted each
 * gets its own, unless the view reads beyond those.
 */
function stridedOf(t: Tensor, size: readonly number[], stride: readonly number[], offset: number | null): Tensor {
  const [n, ...shape] = t._shape as [number, ...number[]];
  const [step, ...strides] = t._strides as [number, ...number[]];
  const at = (offset ?? t._offset) - t._offset;
  const span = reach(shape, strides);
  const inside = at >= 0 && at + reach(size, stride) <= span;
  if (step !== 0 || n < 2 || t._numel === 0 || !inside || !gradMode.enabled || !requiresGrad(t)) {
    return O.as_strided(t, [n, ...size], [step, ...stride], offset);
  }
  const own = t.newEmptyStrided(t._shape, [span, ...strides]).copy_(t);
  return O.as_strided(own, [n, ...size], [span, ...stride], at);
}

const VIEWS: Readonly<Record<string, View>> = {
  view_as_real: (t) => O.view_as_real(t),
  view_as_complex: (t) => O.view_as_complex(t),
  _conj: (t) => O._conj(t),
  _neg_view: (t) => O._neg_view(t),
  alias: (t) => O.alias(t),
  _reshape_alias: (t, _, [size]) => O._reshape_alias(t, sizesOf(t, size)),
  _unsafe_view: (t, _, [size]) => O._unsafe_view(t, sizesOf(t, size)),
  view: (t, _, [size]) => O.view(t, sizesOf(t, size)),
  "view.dtype": (t, _, [dtype]) => O.view_dtype(t, dtype),
  expand: (t, _, [size, implicit]) =>
    O.expand(padded(t, 1, size.length + 1), [t._shape[0] as number, ...size], implicit),
  as_strided: (t, _, [size, stride, offset]) => stridedOf(t, size, stride, offset),
  t: (t, rank) => (rank < 2 ? O.alias(t) : rank === 2 ? O.transpose(t, 1, 2) : O.t(t)),
  transpose: ofNumbers((t, rank, [a, b]) => O.transpose(t, one(a, rank), one(b, rank))),
  permute: (t, rank, [order]) => O.permute(t, [0, ...order.map((d: number) => one(d, rank))]),
  squeeze: (t) => O.squeeze_dims(t, onesOf(t)),
  "squeeze.dim": (t, rank, [dim]) => {
    const d = wrapDim(dim, rank);
    return rank === 0 ? O.alias(t) : O.squeeze_dim(t, d + 1);
  },
  "squeeze.dims": (t, rank, [dim]) => {
    const list = (typeof dim === "number" ? [dim] : dim) as number[];
    const found = list.map((d) => one(d, rank));
    return rank === 0 ? O.alias(t) : O.squeeze_dims(t, found);
  },
  unsqueeze: (t, rank, [dim]) => O.unsqueeze(t, one(dim, rank + 1)),
  select: (t, rank, [dim, index]) => O.select(t, one(dim, rank), index),
  slice: (t, rank, [dim, start, end, step]) => O.slice(t, one(dim, rank), start, end, step),
  diagonal: (t, rank, [offset, a, b]) => O.diagonal(t, offset, one(a, rank), one(b, rank)),
  unbind: (t, rank, [dim]) => O.unbind(t, one(dim, rank)),
  split: (t, rank, [size, dim]) => O.split(t, size, one(dim, rank)),
  "split.sizes": (t, rank, [sizes, dim]) => O.split_sizes(t, sizes, one(dim, rank)),
  split_with_sizes: (t, rank, [sizes, dim]) => O.split_with_sizes(t, sizes, one(dim, rank)),
  unfold: ofNumbers((t, rank, [dim, size, step]) => O.unfold(t, one(dim, rank), size, step)),
};

/** Views of a number that torch refuses say so themselves. */
const REFUSED_OF_NUMBERS = new Set(["select", "slice", "unbind", "split", "split.sizes", "split_with_sizes"]);

export const view: Rule = (call: Call) => {
  const { level, operator, key, args, inplace } = call;
  const self = requireBatched(call);
  const make = VIEWS[key] as View;
  if (self.ndim === 0 && REFUSED_OF_NUMBERS.has(key)) return operator.run(...args);
  const found = make(level.front(self), self.ndim, args.slice(1));
  if (inplace && !Array.isArray(found)) standFor(self, exampleOf(level, found, 0));
  return found;
};
