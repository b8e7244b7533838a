/** Gradients of what positions bring together. */
import * as O from "../../generated/ops.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** How the positions of a call are read, added to and written. */
interface Places {
  readonly pick: (t: Tensor) => Tensor;
  readonly add: (into: Tensor, from: Tensor) => Tensor;
  readonly again: (self: Tensor, source: Tensor) => Tensor;
  readonly clear: (t: Tensor) => Tensor;
}

type Pair = [Tensor, Tensor];

/** Products of all the others: where zeros stand alone they are left out, and where there are several all is zero. */
function ofProduct(grad: Tensor, self: Tensor, source: Tensor, result: Tensor, at: Places): Pair {
  const whole = self.maskedFill(self.eq(0), 1);
  const own = grad.mul(at.again(whole, source)).div(whole);
  const zero = source.eq(0);
  const zeros = at.pick(at.add(self.newZeros(self._shape), zero.to(self.dtype)));
  const lonely = zero.logicalAnd(zeros.eq(1));
  const without = at.again(self, source.maskedFill(lonely, 1));
  const others = at.pick(grad.mul(result)).div(source.maskedFill(zero, 1));
  return [own, O.where(lonely, at.pick(grad.mul(without)), others)];
}

function ofMean(grad: Tensor, source: Tensor, includeSelf: boolean, at: Places): Pair {
  const none = includeSelf ? grad.newOnes(grad._shape) : grad.newZeros(grad._shape);
  const counts = at.add(none, source.newOnes(source._shape).to(grad.dtype));
  const share = grad.div(counts.maskedFill(counts.eq(0), 1));
  return [share, at.pick(share)];
}

/** Equals share the gradient. */
function ofExtreme(grad: Tensor, self: Tensor, source: Tensor, result: Tensor, at: Places): Pair {
  const own = self.eq(result).to(self.dtype);
  const theirs = source.eq(at.pick(result)).to(self.dtype);
  const share = grad.div(at.add(own, theirs));
  return [own.mul(share), theirs.mul(at.pick(share))];
}

function backward(
  grad: Tensor,
  self: Tensor,
  source: Tensor,
  reduce: string,
  includeSelf: boolean,
  result: Tensor,
  at: Places,
): Pair {
  let pair: Pair;
  if (reduce === "sum") pair = [grad, at.pick(grad)];
  else if (reduce === "prod") pair = ofProduct(grad, self, source, result, at);
  else if (reduce === "mean") pair = ofMean(grad, source, includeSelf, at);
  else pair = ofExtreme(grad, self, source, result, at);
  return includeSelf ? pair : [at.clear(pair[0]), pair[1]];
}

export function scatterReduceBackward(
  grad: Tensor,
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor,
  reduce: string,
  includeSelf: boolean,
  result: Tensor,
): Pair {
  return backward(grad, self, src, reduce, includeSelf, result, {
    pick: (t) => O.gather(t, dim, index, false),
    add: (into, from) => O.scatter_add(into, dim, index, from),
    again: (a, b) => O.scatter_reduce_two(a, dim, index, b, reduce, includeSelf),
    clear: (t) => O.scatter_value(t, dim, index, 0),
  });
}

export function indexReduceBackward(
  grad: Tensor,
  self: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  reduce: string,
  includeSelf: boolean,
  result: Tensor,
): Pair {
  return backward(grad, self, source, reduce, includeSelf, result, {
    pick: (t) => O.index_select(t, dim, index),
    add: (into, from) => O.index_add(into, dim, index, from, 1),
    again: (a, b) => O.index_reduce(a, dim, index, b, reduce, includeSelf),
    clear: (t) => O.index_fill(t, dim, index, 0),
  });
}
