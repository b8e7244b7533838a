/** Quantiles, written with other operators: the elements are sorted, and two neighbours are weighed. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { shortNumber } from "../dispatch/fits.ts";
import { gradMode, requiresGrad } from "../dispatch/mode.ts";
import { checkOutGradients, prepareOut } from "../dispatch/out.ts";
import { batchOf } from "../tensor/batched.ts";
import { float32, float64, int64 } from "../tensor/dtype.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";

const MODES = ["linear", "lower", "higher", "midpoint", "nearest"];

/** Ranks are exact in both dtypes up to here. */
const MOST = 2 ** 24;

/** One call, with its arguments checked. */
interface Request {
  readonly self: Tensor;
  readonly q: Tensor;
  /** The dimension, null for all elements. */
  readonly dim: number | null;
  readonly keepdim: boolean;
  readonly mode: string;
  readonly ignoreNan: boolean;
}

function check({ self, q, mode }: Request): void {
  if (!MODES.includes(mode)) throw texts.quantileInterpolation("quantile", mode);
  if (self._numel === 0) throw texts.quantileEmpty("quantile");
  if (q._shape.length > 1) throw texts.quantileRank("quantile");
  if (self.dtype !== float32 && self.dtype !== float64) throw texts.quantileDtype("quantile");
  if (q.dtype !== self.dtype) throw texts.quantileDtypes("quantile");
  if (q.device !== self.device) throw texts.quantileOnOtherDevice("quantile", "q");
}

/** The shape of the result, with the quantiles in front where there are several. */
function resultShape({ self, q, dim, keepdim }: Request): number[] {
  const rank = self._shape.length;
  const at = wrapDim(dim ?? 0, rank, "quantile");
  let shape: number[] = [];
  if (dim !== null && rank > 0) {
    shape = keepdim ? self._shape.map((n, d) => (d === at ? 1 : n)) : self._shape.filter((_, d) => d !== at);
  } else if (keepdim) shape = self._shape.map(() => 1);
  return q._shape.length > 0 ? [q._numel, ...shape] : shape;
}

/** The elements along a last dimension of their own. */
function lastOf({ self, dim }: Request): Tensor {
  const rank = self._shape.length;
  const at = wrapDim(dim ?? 0, rank, "quantile");
  if (dim === null) return self.flatten();
  return rank === 0 || at === rank - 1 ? self : self.unsqueeze(-1).transpose(at, -1);
}

/** Where the quantiles lie among the sorted elements; at a NaN where there is one and it counts. */
function ranksIn(sorted: Tensor, { q, ignoreNan }: Request): Tensor {
  if (ignoreNan) {
    const last = sorted.isnan().logicalNot().sum(-1, { keepdim: true }).sub(1);
    const ranks = q.mul(last);
    return ranks.maskedFill(ranks.lt(0), 0);
  }
  const last = (sorted._shape.at(-1) as number) - 1;
  const nan = sorted.isnan().any(-1, { keepdim: true });
  const ranks = q.mul(last).expand([...nan._shape.slice(0, -1), q._numel]);
  return ranks.maskedFill(nan, last);
}

/** From so many elements on, to select two of them is quicker than to sort all. */
const WORTH_SELECTING = 128;

/** Whether one rank says it all: no element is a NaN, and nobody asks how the result came about. */
function selectable({ self, ignoreNan }: Request): boolean {
  if (ignoreNan || batchOf(self) !== null || (gradMode.enabled && requiresGrad(self))) return false;
  return self.device.type === "cpu" && !self.isnan().any().item();
}

/** The element at a rank of each line, in a last dimension of its own. */
function selected(lines: Tensor, rank: Tensor, kept: readonly number[]): Tensor {
  return O.view(lines.kthvalue(rank.item<number>() + 1, -1, { keepdim: true }).values, [...kept, 1]);
}

function compute(request: Request, shape: readonly number[]): Tensor {
  const { self, q, mode } = request;
  // Numbers were looked at before; those of many examples cannot be.
  const known = self.device.type === "cpu" && batchOf(q) === null;
  if (known && !q.ge(0).logicalAnd(q.le(1)).all().item()) throw texts.quantileRange("quantile");
  const last = lastOf(request);
  const several = q._shape.length > 0;
  const kept = several ? shape.slice(1) : shape;
  const size = last._shape.length === 0 ? 1 : (last._shape.at(-1) as number);
  const selects = known && !several && size >= WORTH_SELECTING && selectable(request);
  const sorted = selects ? last : last.sort().values;
  if (size > MOST) throw texts.quantileTooLarge("quantile");
  const lines = selects ? last : O.view(sorted, [...kept, size]);
  const ranks = selects ? q.mul(size - 1) : ranksIn(lines, request);
  const exact = mode === "lower" ? ranks.floor() : mode === "higher" ? ranks.ceil() : ranks;
  const position = mode === "nearest" ? exact.round() : exact;
  const pick = (at: Tensor): Tensor => (selects ? selected(lines, at, kept) : lines.gather(-1, at));
  const below = position.to(int64);
  const values = pick(below);
  if (mode === "linear" || mode === "midpoint") {
    const weights = mode === "midpoint" ? position.newFull(position._shape, 0.5) : position.sub(below);
    values.lerp_(pick(position.ceil().to(int64)), weights);
  }
  if (!several) return O.squeeze_dim_(values, -1);
  return O.squeeze_dim_(O.transpose_(O.unsqueeze_(values, 0), 0, -1), -1);
}

function quantileOf(given: Omit<Request, "q"> & { q: Tensor | number }, out: Tensor | undefined): Tensor {
  const request = { ...given, q: typeof given.q === "number" ? asTensor(given.q, given.self) : given.q };
  check(request);
  if (out === undefined) return compute(request, resultShape(request));
  checkOutGradients("quantile", out, [request.self, request.q]);
  if (out.dtype !== request.self.dtype) throw texts.quantileOut("quantile");
  if (out.device !== request.self.device) throw texts.quantileOnOtherDevice("quantile", "out");
  const shape = resultShape(request);
  prepareOut(out, shape);
  return out.copy_(compute(request, shape));
}

/** A number as a tensor of the elements' dtype. */
function asTensor(q: number, self: Tensor): Tensor {
  if (!(q >= 0 && q <= 1)) throw texts.quantileOutOfRange("quantile", shortNumber(q));
  return self.newFull([], q).detach();
}

export function quantile(
  self: Tensor,
  q: Tensor | number,
  dim: number | null,
  keepdim: boolean,
  mode: string,
  out?: Tensor,
): Tensor {
  return quantileOf({ self, q, dim, keepdim, mode, ignoreNan: false }, out);
}

export function nanquantile(
  self: Tensor,
  q: Tensor | number,
  dim: number | null,
  keepdim: boolean,
  mode: string,
  out?: Tensor,
): Tensor {
  return quantileOf({ self, q, dim, keepdim, mode, ignoreNan: true }, out);
}
