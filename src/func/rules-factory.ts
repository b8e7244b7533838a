/** Operators that make tensors, and those that draw random numbers. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type Call, each, type Rule } from "./call.ts";
import { replaced } from "./shapes.ts";

const selfOf = ({ args }: Call): Tensor | null => (args[0] instanceof Tensor ? args[0] : null);

const sizePlace = ({ roles }: Call): number => roles.indexOf("Size");

/** The arguments with the batch in front of the sizes that are asked for. */
function withBatch(call: Call): unknown[] {
  const at = sizePlace(call);
  const { level, args } = call;
  return replaced(args, at < 0 ? [] : [[[level.size, ...(args[at] as readonly number[])], at]]);
}

/** `zeros_like`, `new_full`: one tensor for all examples of what it is made like. */
export const factory: Rule = (call) => {
  const self = selfOf(call);
  const { level, operator, args } = call;
  if (self === null || !level.has(self)) return each(call);
  const next = replaced(withBatch(call), [[level.front(self), 0]]);
  if (call.key === "new_empty_strided") {
    const [size, stride] = [args[1] as readonly number[], args[2] as readonly number[]];
    next[2] = [size.reduce((n, x, d) => n + (x - 1) * (stride[d] as number), 1), ...stride];
  }
  return operator.run(...next);
};

/** Random numbers, as the caller of `vmap` wants them: of each example's own, or the same for all. */
export function drawn(call: Call, batched: boolean, next: () => unknown, wrap: (r: unknown) => unknown): unknown {
  const { level, operator, args, inplace } = call;
  if (level.randomness === "error") throw texts.vmapRandomError(undefined);
  if (operator.args.at(-1) === "out" && args[operator.args.length - 1] !== undefined) {
    throw texts.vmapRandomOut(undefined);
  }
  if (inplace) return drawnInto(call, batched, next);
  const self = selfOf(call);
  if (level.randomness === "same") {
    if (!batched) return next();
    if (!operator.name.endsWith("_like")) throw texts.vmapRandomSame(undefined);
    return operator.run(...replaced(args, [[O.select(level.front(self as Tensor), 0, 0), 0]]));
  }
  return wrap(different(call));
}

function different(call: Call): unknown {
  const { level, operator, args, key } = call;
  if (key === "randperm" || (key === "multinomial" && (args[0] as Tensor).ndim !== 1)) return each(call);
  return operator.run(...withBatch(call).map((x) => (x instanceof Tensor ? level.all(x) : x)));
}

function drawnInto({ level, operator, args }: Call, batched: boolean, next: () => unknown): unknown {
  const [self, ...rest] = args as [Tensor, ...unknown[]];
  if (level.randomness === "same") {
    if (!batched) return next();
    if (!level.has(self) || rest.some((x) => level.has(x))) throw texts.vmapRandomSame(undefined);
    const all = level.front(self);
    const drawnOnce = operator.run(O.empty_like(O.select(all, 0, 0), null, null, false, null), ...rest) as Tensor;
    O.copy_(all, drawnOnce, false);
    return self;
  }
  if (!level.has(self)) throw texts.vmapRandomInplace(undefined);
  operator.run(level.front(self), ...rest.map((x) => (x instanceof Tensor ? level.all(x) : x)));
  return self;
}
