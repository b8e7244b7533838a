// Calls of TensorDict's methods on a collection, for tests that count and compare.

import type { Tensor } from "../../src/index.ts";
import * as z from "../../src/index.ts";

export const ROWS = 16;
export const COLUMNS = 512;

// biome-ignore lint/suspicious/noExplicitAny: all kinds of collections, all methods
export type Any = any;

const mask: Tensor = z.arange(ROWS).remainder(2).eq(0);
const places: Tensor = z.tensor([3n, 1n, 2n, 5n]);

const values = (): Tensor => z.randn(ROWS, COLUMNS);
const plain = (): Any => new z.TensorDict({ a: values(), n: { b: values() } }, [ROWS]);
class Pair extends z.tensorclass({ a: z.Tensor, b: z.Tensor }) {}

export const KINDS: Readonly<Record<string, () => Any>> = {
  plain,
  lazy: () => z.tensordict.lazyStack([plain(), plain()]),
  "lazy within": () =>
    new z.TensorDict({ c: values(), l: z.tensordict.lazyStack([plain(), plain()], 1) } as never, [ROWS]),
  class: () => new Pair({ a: values(), b: values() }, { batchSize: [ROWS] } as never),
};

/** Methods without arguments. */
const BARE =
  "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg " +
  "reciprocal round sigmoid sign sin sinh sqrt square tan tanh trunc isnan isfinite isinf isneginf " +
  "isposinf isreal abs_ neg_ sin_ exp_ sigmoid_ tanh_ round_ float double half bfloat16 int long bool " +
  "complex64 sum mean prod std var amax amin nansum nanmean all any max min norm logsumexp contiguous " +
  "clone detach toTensordict densify flipud bytes numel isEmpty";

/** Calls that hand nothing to the program but their result. */
export const CALLS: Readonly<Record<string, (td: Any) => unknown>> = {
  ...Object.fromEntries(BARE.split(" ").map((name) => [name, (td: Any) => td[name]()])),
  add: (td) => td.add(td),
  "add a number": (td) => td.add(2),
  add_: (td) => td.add_(td),
  sub: (td) => td.sub(td, { alpha: 2 }),
  mul: (td) => td.mul(td),
  div: (td) => td.div(2),
  pow: (td) => td.pow(2),
  fmod: (td) => td.fmod(2),
  remainder: (td) => td.remainder(2),
  rsub: (td) => td.rsub(1),
  maximum: (td) => td.maximum(td),
  lerp: (td) => td.lerp(td, 0.5),
  addcmul: (td) => td.addcmul(td, td, { value: 2 }),
  addcdiv: (td) => td.addcdiv(td, td),
  clamp: (td) => td.clamp(-1, 1),
  eq: (td) => td.eq(td),
  "eq a number": (td) => td.eq(1),
  gt: (td) => td.gt(0),
  "sum of a dimension": (td) => td.sum(0),
  "sum of features": (td) => td.sum({ dim: "feature" }),
  "sum of all": (td) => td.sum({ reduce: true }),
  "mean of a dimension": (td) => td.mean(0),
  "std of a dimension": (td) => td.std(0),
  "max of a dimension": (td) => td.max({ dim: 0 }),
  "min of a dimension": (td) => td.min({ dim: 0 }),
  "all of a dimension": (td) => td.all(0),
  "logsumexp of a dimension": (td) => td.logsumexp(0),
  quantile: (td) => td.quantile(0.5, 0),
  softmax: (td) => td.softmax(0),
  cummax: (td) => td.cummax(0),
  cummin: (td) => td.cummin(0),
  "at a number": (td) => td.at(0),
  "at a slice": (td) => td.at("2:10"),
  "at a mask": (td) => td.at(mask),
  "at places": (td) => td.at(places),
  chunk: (td) => td.chunk(4, 0),
  split: (td) => td.split(4),
  unbind: (td) => td.unbind(0),
  flip: (td) => td.flip(0),
  roll: (td) => td.roll(3, 0),
  gather: (td) => td.gather({ dim: 0, index: places }),
  repeat: (td) => td.repeat(2, 1),
  repeatInterleave: (td) => td.repeatInterleave(2, { dim: 0 }),
  reshape: (td) => td.reshape(-1),
  unsqueeze: (td) => td.unsqueeze(0),
  expand: (td) => td.expand(2, ...td.batchSize),
  flattenKeys: (td) => td.flattenKeys(),
  select: (td) => td.select("a"),
  exclude: (td) => td.exclude("a"),
  to: (td) => td.to("float64"),
  type: (td) => td.type("float64"),
  maskedFill: (td) => td.maskedFill(mask, 0),
  maskedSelect: (td) => td.maskedSelect(mask),
  where: (td) => td.where(mask, td),
  "set at a mask": (td) => td.setAt(mask, 0),
  "set at a number": (td) => td.setAt(0, td.at(1)),
  update_: (td) => td.update_(td),
  newZeros: (td) => td.newZeros(3),
  newFull: (td) => td.newFull([3], 2),
  pad: (td) => z.tensordict.pad(td, [1, 2]),
  stack: (td) => z.stack([td, td]),
  cat: (td) => z.cat([td, td]),
  onesLike: (td) => z.onesLike(td),
  has: (td) => td.has("a"),
  consolidate: (td) => td.consolidate(),
  stackFromTensordict: (td) => td.stackFromTensordict(),
  catFromTensordict: (td) => td.catFromTensordict(),
  assertClose: (td) => z.tensordict.assertClose(td, td),
  entryClass: (td) => td.entryClass("a"),
};

/** What a value consists of, by what it is and has. */
export function read(value: unknown): string {
  if (value instanceof z.Tensor) return `${value.shape} ${value.dtype} ${value.reshape(-1).tolist().slice(0, 40)}`;
  if (Array.isArray(value)) return `[${value.map(read).join("; ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  const td = value as Any;
  if (typeof td.keys !== "function" || typeof td.get !== "function") return Object.values(td).map(read).join("; ");
  return `${td.batchSize} ${td.isLocked} {${[...td.keys()].map((key) => `${key}: ${read(td.get(key))}`).join(", ")}}`;
}
