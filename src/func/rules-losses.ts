/** Losses: those of all examples' elements, and then each example's mean or sum. */
import * as O from "../../generated/ops.ts";
import { named } from "../dispatch/named.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Call, each, type Rule } from "./call.ts";
import { aligned } from "./rules-pointwise.ts";

const REDUCTIONS = { none: 0, mean: 1, sum: 2 };

/** Sums, or means, of everything behind the batch. */
function reduced(losses: Tensor, reduction: number): Tensor {
  const dims = losses._shape.map((_, i) => i).slice(1);
  if (reduction === REDUCTIONS.none || dims.length === 0) return losses;
  return reduction === REDUCTIONS.mean
    ? O.mean_dim(losses, dims, false, null)
    : O.sum_dim_IntList(losses, dims, false, null);
}

/** By the place of the reduction among the arguments; weights alone give the result no batch. */
const loss =
  (place: number): Rule =>
  (call) => {
    if (!call.level.has(call.args[0]) && !call.level.has(call.args[1])) return each(call);
    // Inputs and targets have one size, whichever of them is the same for all examples.
    const { level } = call;
    const args = aligned({ ...call, args: call.args.map((t, i) => (i < 2 ? level.wrap(level.all(t as Tensor)) : t)) });
    const losses = call.operator.run(...args.with(place, REDUCTIONS.none)) as Tensor;
    return reduced(losses, args[place] as number);
  };

/** The rows of all examples are rows of one call; a mean is divided by the weights of the example's own classes. */
const likelihood =
  (planes: boolean): Rule =>
  (call: Call) => {
    const { level, args, operator } = call;
    const [self, target, weight, reduction, ignored] = args as [Tensor, Tensor, Tensor | null, number, number];
    if (level.has(weight) || self.ndim !== (planes ? 4 : 2) || level.size === 0) return each(call);
    const [inputs, classes] = [level.all(self), level.all(target)];
    const n = inputs._shape[0] as number;
    const merged = (t: Tensor): Tensor => O.reshape(t, [n * (t._shape[1] as number), ...t._shape.slice(2)]);
    if (target._shape[0] !== self._shape[0]) return each(call);
    const all = operator.run(merged(inputs), merged(classes), weight, REDUCTIONS.none, ignored) as Tensor[];
    const losses = O.reshape(all[0] as Tensor, classes._shape);
    const used = counted(classes, weight, ignored, losses);
    const totals = reduced(used, REDUCTIONS.sum);
    if (reduction === REDUCTIONS.none) return named("nll_loss", ["output", "total_weight"], [losses, totals]);
    const sums = reduced(losses, REDUCTIONS.sum);
    const output = reduction === REDUCTIONS.mean ? sums.div(totals) : sums;
    return named("nll_loss", ["output", "total_weight"], [output, totals]);
  };

function counted(classes: Tensor, weight: Tensor | null, ignored: number, like: Tensor): Tensor {
  const mask = classes.eq(ignored);
  if (weight === null) return mask.logicalNot().to(like.dtype);
  const at = O.reshape(classes.maskedFill(mask, 0), [classes._numel]);
  return O.reshape(O.index_select(weight, 0, at), classes._shape).maskedFill(mask, 0);
}

export const LOSS_RULES: Readonly<Record<string, Rule>> = {
  _mse_loss: loss(2),
  _smooth_l1_loss: loss(2),
  _huber_loss: loss(2),
  _soft_margin_loss: loss(2),
  _binary_cross_entropy: loss(3),
  _binary_cross_entropy_with_logits: loss(4),
  nll_loss_forward: likelihood(false),
  nll_loss2d_forward: likelihood(true),
};
