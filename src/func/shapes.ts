/** Where the batch is: helpers of the rules. */
import * as O from "../../generated/ops.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type Call, intoUnbatched } from "./call.ts";

/** `t` with dimensions of size one at `dim`, until it has `rank` dimensions. */
export function padded(t: Tensor, dim: number, rank: number): Tensor {
  let r = t;
  while (r.ndim < rank) r = O.unsqueeze(r, dim);
  return r;
}

/** The first argument is written to: it has to stand for one of the examples. */
export function requireBatched({ level, args, operator }: Call): Tensor {
  if (!level.has(args[0])) throw intoUnbatched(level, operator.name);
  return args[0];
}

/** Tensors among the arguments, each with its place. */
export function tensorsOf(args: readonly unknown[]): [t: Tensor, at: number][] {
  return args.flatMap((x, i) => (x instanceof Tensor ? [[x, i] as [Tensor, number]] : []));
}

/** The arguments with others in the place of some. */
export function replaced(args: readonly unknown[], changes: readonly (readonly [unknown, number])[]): unknown[] {
  const next = args.slice();
  for (const [x, at] of changes) next[at] = x;
  return next;
}

/** `t` with dimension `dim` as the first. */
export function toFront(t: Tensor, dim: number): Tensor {
  if (dim === 0) return t;
  const order = t._shape.map((_, i) => i);
  order.splice(dim, 1);
  return O.permute(t, [dim, ...order]);
}

/** `t` with the first dimension as dimension `dim`. */
export function fromFront(t: Tensor, dim: number): Tensor {
  if (dim === 0) return t;
  const order = t._shape.map((_, i) => i).slice(1);
  order.splice(dim, 0, 0);
  return O.permute(t, order);
}
