/** Operators along dimensions, which count on behind the batch, and reductions of everything. */
import * as O from "../../generated/ops.ts";
import { Tensor, wrapDim } from "../tensor/tensor.ts";
import { type Call, each, type Rule } from "./call.ts";
import { padded, requireBatched } from "./shapes.ts";

type DimsArg = number | readonly number[] | null;

/** Operators for which no dimensions are none, and not all. */
const NONE = new Set(["flip", "rot90", "all.dims", "any.dims"]);
/** Operators whose `Size` or plain number is a dimension. */
const DIM_PLACES: Readonly<Record<string, number>> = { flip: 1 };

const behind = (rank: number): number[] => Array.from({ length: rank }, (_, i) => i + 1);

/** Dimensions of an example, as those of all examples. */
function shifted(dim: DimsArg, rank: number, key: string): DimsArg {
  if (typeof dim === "number") return wrapDim(dim, rank) + 1;
  if (dim === null) return key === "rot90" ? [1, 2] : behind(rank);
  if (dim.length === 0 && !NONE.has(key)) return behind(rank);
  return dim.map((d) => wrapDim(d, rank) + 1);
}

/** Undoes the dimension that a batch of numbers was given. */
const numbers = (t: Tensor): Tensor => (t.ndim === 2 ? O.squeeze_dim(t, 1) : t);

export const dims: Rule = (call) => {
  const { level, operator, key, args, roles, inplace } = call;
  const self = args[0] as Tensor;
  if (inplace) requireBatched(call);
  const { ndim } = self;
  const rank = Math.max(ndim, 1);
  const place = DIM_PLACES[key] ?? roles.findIndex((role) => /^Dims?\??$/.test(role));
  if (key.startsWith("arg") && args[place] === null) return ofAll(call);
  const next = args.map((x, i) => {
    if (x instanceof Tensor) return padded(level.all(x), 1, rank + 1);
    if (i !== place) return x;
    // An empty list is all of an example's dimensions, and not the batch.
    const all = x === null || (Array.isArray(x) && x.length === 0 && !NONE.has(key));
    return ndim === 0 && all ? [1] : shifted(x as DimsArg, ndim, key);
  });
  const result = operator.run(...next) as Tensor | Tensor[];
  if (ndim > 0 || inplace) return result;
  return Array.isArray(result) ? result.map(numbers) : numbers(result);
};

/** The place of an extreme among all elements. */
const ofAll = ({ level, operator, args }: Call): Tensor => {
  const self = args[0] as Tensor;
  const found = operator.run(inRows(level.front(self)), 1, false) as Tensor;
  return args[2] ? padded(found, 1, self.ndim + 1) : found;
};

/** Each example in one row. */
export const inRows = (t: Tensor): Tensor =>
  O.reshape(t, [t._shape[0] as number, t._numel === 0 ? numelBehind(t) : -1]);

const numelBehind = (t: Tensor): number => t._shape.slice(1).reduce((n, size) => n * size, 1);

/** `repeat` counts dimensions from the end, and may add some in front. */
const repeat: Rule = ({ level, args }) => {
  const [self, repeats] = args as [Tensor, readonly number[]];
  return O.repeat(padded(level.front(self), 1, repeats.length + 1), [1, ...repeats]);
};

const roll: Rule = ({ level, operator, args }) => {
  const [self, shifts, given] = args as [Tensor, readonly number[], DimsArg];
  const all = level.front(self);
  const list = given === null ? [] : typeof given === "number" ? [given] : given;
  if (self.ndim > 0 && list.length > 0) {
    return operator.run(
      all,
      shifts,
      list.map((d) => wrapDim(d, self.ndim) + 1),
    );
  }
  if (list.length > 0 || shifts.length !== 1) return operator.run(self, shifts, given);
  return O.reshape(O.roll(inRows(all), shifts, [1]), all._shape);
};

/** The tensors of a list, all of them with the batch in front. */
const joined =
  (more: number): Rule =>
  ({ level, operator, args }) => {
    const [tensors, dim] = args as [readonly Tensor[], number];
    const rank = (tensors.find((t) => t.ndim !== 1 || t._numel > 0) ?? tensors[0])?.ndim ?? 0;
    const same = tensors.filter((t) => more > 0 || t.ndim === rank || t._numel > 0);
    return operator.run(
      same.map((t) => level.all(t)),
      wrapDim(dim, rank + more) + 1,
    );
  };

/** Reductions of all elements, by those along dimensions. */
const WHOLE: Readonly<Record<string, (t: Tensor, d: number[], rest: readonly unknown[]) => unknown>> = {
  sum: (t, d, [dtype]) => O.sum_dim_IntList(t, d, false, dtype as never),
  mean: (t, d, [dtype]) => O.mean_dim(t, d, false, dtype as never),
  prod: (t, _, [dtype]) => O.prod_dim_int(inRows(t), 1, false, dtype as never),
  max: (t, d) => O.amax(t, d, false),
  min: (t, d) => O.amin(t, d, false),
  all: (t, d) => O.all_dims(t, d, false),
  any: (t, d) => O.any_dims(t, d, false),
  "var.unbiased": (t, d, [unbiased]) => O.var_dim(t, d, unbiased as boolean, false),
  "std.unbiased": (t, d, [unbiased]) => O.std_dim(t, d, unbiased as boolean, false),
  "var_mean.unbiased": (t, d, [unbiased]) => O.var_mean_dim(t, d, unbiased as boolean, false),
  "std_mean.unbiased": (t, d, [unbiased]) => O.std_mean_dim(t, d, unbiased as boolean, false),
};

export const whole: Rule = (call) => {
  const { level, key, args } = call;
  const reduce = WHOLE[key] as (typeof WHOLE)[string];
  const self = args[0] as Tensor;
  const all = level.front(self);
  return reduce(self.ndim === 0 ? padded(all, 1, 2) : all, behind(Math.max(self.ndim, 1)), args.slice(1));
};

/** Triangles are of the last dimensions, however many stand in front. */
const triangle: Rule = (call) => {
  const [self, k] = call.args as [Tensor, number];
  return self.ndim < 2 ? each(call) : call.operator.run(call.level.front(self), k);
};

/** Dimensions of the result that count from its front count on behind the batch. */
const diagEmbed: Rule = ({ level, operator, args }) => {
  const [self, offset, first, second] = args as [Tensor, number, number, number];
  const behind = (d: number): number => (d < 0 ? d : d + 1);
  return operator.run(level.front(self), offset, behind(first), behind(second));
};

export const DIMS_RULES: Readonly<Record<string, Rule>> = {
  repeat,
  roll,
  cat: joined(0),
  stack: joined(1),
  tril: triangle,
  triu: triangle,
  diag_embed: diagEmbed,
};
