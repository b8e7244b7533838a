/** Operators that compute each element by itself: operands broadcast, with the batch in front. */
import * as O from "../../generated/ops.ts";
import { resultTypeOf } from "../dispatch/promotion.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type Call, each, type Rule } from "./call.ts";
import { padded, replaced, requireBatched, tensorsOf } from "./shapes.ts";

/** Operators with operands that have no part in the common dtype, by their places. */
const APART: Readonly<Record<string, number>> = { where: 0 };

const BY_SHAPE = new Set(["add", "atan2", "copysign"]);

/** The arguments with all examples of each operand, aligned to the longest. */
export function aligned({ level, key, args }: Call): unknown[] {
  const operands = tensorsOf(args);
  const rank = Math.max(...operands.map(([t]) => t.ndim));
  const mixed = operands.some(([t]) => t.dtype !== operands[0]?.[0].dtype);
  const changes = operands.map(([t, at]) => {
    const others = operands.flatMap(([other, place]) => (other === t || place === APART[key] ? [] : [other]));
    const asNumber = mixed && t.ndim === 0 && at !== APART[key];
    if (!level.has(t)) return [asNumber && rank === 0 ? level.all(t) : t, at] as const;
    const all = level.front(t);
    return [padded(asNumber ? inCommonDtype(t, all, others) : all, 1, rank + 1), at] as const;
  });
  return replaced(args, changes);
}

/** A number's part in promotion is smaller: a batch of numbers gets its dtype before it looks like more. */
function inCommonDtype(t: Tensor, all: Tensor, others: readonly Tensor[]): Tensor {
  if (others.every((other) => other.ndim === 0)) return all;
  const dtype = resultTypeOf(t, ...others);
  return dtype === t.dtype ? all : O._to_copy(all, dtype, null, null, false);
}

/** The place of the tensor among the arguments; negative when there are several. */
function onlyOperand(args: readonly unknown[]): number {
  let at = -1;
  for (let i = 0; i < args.length; i++) {
    if (!(args[i] instanceof Tensor)) continue;
    if (at >= 0) return -1;
    at = i;
  }
  return at;
}

export const pointwise: Rule = (call) => {
  // torch's rule of these finds that the examples do not fit into what is written to.
  if (call.inplace && !BY_SHAPE.has(call.key)) requireBatched(call);
  const only = onlyOperand(call.args);
  if (only >= 0) return call.operator.run(...call.args.with(only, call.level.front(call.args[only] as Tensor)));
  return call.operator.run(...aligned(call));
};

/** Elements stay where they are; the value is one number for each example. */
const fillTensor: Rule = (call) => {
  const { level, args, inplace } = call;
  const [self, value] = args as [Tensor, Tensor];
  if (inplace) requireBatched(call);
  if (!level.has(value) || value.ndim !== 0) return call.operator.run(...args.map((x) => frontOf(call, x)));
  const source = padded(level.front(value), 1, self.ndim + 1);
  return O.copy_(inplace ? level.front(self) : O.clone(level.all(self), null), source, false);
};

const frontOf = ({ level }: Call, x: unknown): unknown => (level.has(x) ? level.front(x) : x);

/** The set that is searched is each example's own, or one for all. */
const inSet: Rule = (call) => {
  const { level, args } = call;
  return level.has(args[1]) ? each(call) : call.operator.run(level.front(args[0] as Tensor), ...args.slice(1));
};

export const POINTWISE_RULES: Readonly<Record<string, Rule>> = {
  "fill.Tensor": fillTensor,
  "bucketize.Tensor": inSet,
  "isin.Tensor_Scalar": inSet,
};
