/** Operators that take positions: an example's own, or the same for all. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { bool, int64, uint8 } from "../tensor/dtype.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { type Call, each, type Rule } from "./call.ts";
import { inRows } from "./rules-dims.ts";
import { padded, replaced, requireBatched, tensorsOf, toFront } from "./shapes.ts";

type Indices = readonly (Tensor | null)[];

const isMask = (t: Tensor): boolean => t.dtype === bool || t.dtype === uint8;

/** Masks as the positions of what is true. */
function withoutMasks(call: Call, indices: Indices): Indices {
  return indices.flatMap((t) => {
    if (t === null || !isMask(t)) return [t];
    if (call.level.has(t)) throw texts.vmapMaskIndex(undefined);
    const found = O.nonzero(t);
    return t._shape.map((_, d) => O.select(found, 1, d));
  });
}

/** How positions and the dimensions that they leave are arranged. */
interface Plan {
  /** Dimensions that have positions, and the others. */
  readonly at: readonly number[];
  readonly rest: readonly number[];
  /** How many dimensions the positions have together. */
  readonly rank: number;
  /** Where those stand in the result. */
  readonly place: number;
}

function planOf(self: Tensor, indices: Indices): Plan {
  const at = indices.flatMap((t, d) => (t === null ? [] : [d]));
  const rest = self._shape.flatMap((_, d) => (at.includes(d) ? [] : [d]));
  const rank = Math.max(0, ...indices.map((t) => t?.ndim ?? 0));
  const adjacent = at.every((d, i) => d === (at[0] as number) + i);
  return { at, rest, rank, place: adjacent ? (at[0] ?? 0) : 0 };
}

/** Each example's number, as one more position in front of its own. */
const examples = (size: number, rank: number): Tensor => padded(O.arange(size, int64, null, false), 1, rank + 1);

/** The positions of all examples, those of the example itself in front where `self` has a batch. */
function positions(call: Call, indices: Indices, { rank }: Plan, batched: boolean): Tensor[] {
  const { level } = call;
  const found = indices.flatMap((t) => {
    if (t === null) return [];
    return [level.has(t) ? padded(level.front(t), 1, rank + 1) : t];
  });
  return batched ? [examples(level.size, rank), ...found] : found;
}

/** `self` with the dimensions that have positions in front, behind the batch. */
function arranged(self: Tensor, { at, rest }: Plan, batched: boolean): Tensor {
  const order = [...at, ...rest];
  return O.permute(self, batched ? [0, ...order.map((d) => d + 1)] : order);
}

/** The order that brings the positions' dimensions, found behind the batch, to their place; and back. */
function orderOf({ rest, rank, place }: Plan): number[] {
  const own = Array.from({ length: rank }, (_, i) => i + 1);
  const others = rest.map((_, i) => i + 1 + rank);
  return [0, ...others.slice(0, place), ...own, ...others.slice(place)];
}

function inverse(order: readonly number[]): number[] {
  const back: number[] = [];
  order.forEach((d, i) => {
    back[d] = i;
  });
  return back;
}

const index: Rule = (call) => {
  const { level, args } = call;
  const self = args[0] as Tensor;
  const indices = withoutMasks(call, args[1] as Indices);
  const plan = planOf(self, indices);
  const batched = level.has(self);
  if (batched && !indices.some((t) => t !== null && level.has(t))) {
    const found = O.index(level.front(self), [null, ...indices]);
    const { at, rank } = plan;
    const apart = at.some((d, i) => d !== (at[0] as number) + i);
    return apart ? toFront(found, rank) : found;
  }
  const found = O.index(arranged(level.front(self), plan, batched), positions(call, indices, plan, batched));
  return O.permute(found, orderOf(plan));
};

/** A mask of each example's own, and one number. */
function fillMasked(call: Call, self: Tensor, mask: Tensor, value: Tensor): Tensor {
  const { level, inplace } = call;
  const where = padded(level.all(mask), mask.ndim + 1, self.ndim + 1);
  const all = inplace ? level.front(self) : O.clone(level.all(self), null);
  if (!level.has(value)) return O.masked_fill_Tensor_(all, where, value);
  return O.copy_(all, O.where(where, padded(level.front(value), 1, self.ndim + 1), all), false);
}

const indexPut: Rule = (call) => {
  const { level, args, inplace } = call;
  const [self, given, values, accumulate] = args as [Tensor, Indices, Tensor, boolean];
  if (inplace) requireBatched(call);
  const [only] = given;
  if (given.length === 1 && only && isMask(only) && level.has(only) && values.ndim === 0 && !accumulate) {
    return fillMasked(call, self, only, values);
  }
  const indices = withoutMasks(call, given);
  const plan = planOf(self, indices);
  const all = inplace ? level.front(self) : O.clone(level.all(self), null);
  const places = positions(call, indices, plan, true);
  const sizes = shapeOf(self, plan, places);
  const source = O.expand(padded(level.all(values), 1, sizes.length), sizes, false);
  const order = orderOf(plan);
  O.index_put_(arranged(all, plan, true), places, O.permute(source, inverse(order)), accumulate);
  return all;
};

/** The sizes of what an index names, with the batch in front. */
function shapeOf(self: Tensor, plan: Plan, places: readonly Tensor[]): number[] {
  const sizes = new Array<number>(plan.rank + 1).fill(1);
  for (const t of places) {
    t._shape.forEach((n, d) => {
      const at = sizes.length - t.ndim + d;
      if (n !== 1) sizes[at] = n;
    });
  }
  const rest = plan.rest.map((d) => self._shape[d] as number);
  const found = [...sizes, ...rest];
  return orderOf(plan).map((d) => found[d] as number);
}

/** `gather`, `scatter` and their kin: every operand with the batch in front. */
export const along: Rule = (call) => {
  const { level, operator, args, inplace } = call;
  const self = args[0] as Tensor;
  if (inplace) requireBatched(call);
  const rank = Math.max(1, self.ndim);
  const next = args.map((x, i) => {
    if (i === 1) return wrapDim(x as number, self.ndim) + 1;
    return tensorsOf([x]).length > 0 ? padded(level.all(x as Tensor), 1, rank + 1) : x;
  });
  const found = operator.run(...next) as Tensor;
  return self.ndim === 0 ? O.squeeze_dim(found, 1) : found;
};

const indexSelect: Rule = (call) => {
  const { level, operator, args } = call;
  const [self, dim, list] = args as [Tensor, number, Tensor];
  if (self.ndim === 0 || list.ndim > 1) return each(call);
  const d = wrapDim(dim, self.ndim);
  if (!level.has(list)) return operator.run(level.front(self), d + 1, list);
  const flat = list.ndim === 0 ? level.wrap(O.unsqueeze(level.front(list), 1)) : list;
  return index({ ...call, args: [self, [...new Array<null>(d).fill(null), flat]] });
};

/** `index_add` and its kin, with positions that are the same for all. */
const indexed: Rule = (call) => {
  const { level, operator, args, inplace } = call;
  const [self, dim, list, source] = args as [Tensor, number, Tensor, unknown];
  if (inplace) requireBatched(call);
  const number = call.key === "index_fill.int_Tensor";
  if (level.has(list) || self.ndim === 0 || (number && level.has(source))) return each(call);
  const others = tensorsOf([source]).length === 0 || number ? source : level.all(source as Tensor);
  const changes: [unknown, number][] = [
    [level.all(self), 0],
    [wrapDim(dim, self.ndim) + 1, 1],
    [others, 3],
  ];
  return operator.run(...replaced(args, changes));
};

const maskedFill: Rule = (call) => {
  const { level, operator, args, inplace } = call;
  const [self, mask, value] = args as [Tensor, Tensor, unknown];
  if (inplace) requireBatched(call);
  const rank = Math.max(self.ndim, mask.ndim) + 1;
  const lifted = (t: Tensor) => (level.has(t) ? padded(level.front(t), 1, rank) : t);
  const [x, where] = [lifted(self), lifted(mask)];
  if (!level.has(value)) return operator.run(x, where, value);
  if (value.ndim !== 0) return operator.run(...args);
  const numbers = O._to_copy(padded(level.front(value), 1, rank), self.dtype, null, null, false);
  const found = O.where(where, numbers, x);
  return inplace ? O.copy_(x, found, false) : found;
};

const take: Rule = ({ level, args }) => {
  const [self, list] = args as [Tensor, Tensor];
  if (!level.has(list)) return O.index(inRows(level.front(self)), [null, list]);
  if (!level.has(self)) return O.take(self, level.front(list));
  const all = level.front(list);
  const rows = O.reshape(all, [level.size, list._numel]);
  return O.reshape(O.gather(inRows(level.front(self)), 1, wrapped(rows, self._numel), false), all._shape);
};

/** Positions counted from the end, as those from the front. */
function wrapped(t: Tensor, n: number): Tensor {
  return O.where(O.lt(t, 0), O.add(t, n, 1), t);
}

/** One mask for all examples. */
const maskedSelect: Rule = ({ level, args }) => {
  const [self, mask] = args as [Tensor, Tensor];
  if (level.has(mask)) throw texts.vmapMaskedSelect(undefined);
  const rank = Math.max(self.ndim, mask.ndim) + 1;
  const all = padded(level.front(self), 1, rank);
  const sizes = all._shape.slice(1).map((n, d) => (n === 1 ? (mask._shape[d - rank + 1 + mask.ndim] ?? 1) : n));
  const places = O.nonzero(O.reshape(O.expand(mask, sizes, false), [-1]));
  const rows = inRows(O.expand(all, [level.size, ...sizes], false));
  return O.index_select(rows, 1, O.select(places, 1, 0));
};

/** Positions of all examples in one table are more positions. */
const embedding: Rule = (call) => {
  const [weight, indices, ...rest] = call.args as [Tensor, Tensor, ...unknown[]];
  return call.level.has(weight) ? each(call) : call.operator.run(weight, call.level.front(indices), ...rest);
};

export const INDEX_RULES: Readonly<Record<string, Rule>> = {
  index,
  index_put: indexPut,
  _embedding: embedding,
  index_select: indexSelect,
  index_add: indexed,
  index_copy: indexed,
  index_fill: indexed,
  "index_fill.int_Tensor": indexed,
  masked_fill: maskedFill,
  "masked_fill.Tensor": maskedFill,
  masked_select: maskedSelect,
  take,
};
