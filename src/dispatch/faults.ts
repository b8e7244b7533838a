/** The errors that a kernel can find by itself: at once on the CPU, elsewhere when the device is waited for next. */
import * as texts from "../../generated/texts.ts";

/** Makes an error of the numbers that the kernel left: of an index itself, its dimension, and that one's size. */
type Maker = (a: number, b: number, c: number) => Error;

const inDimension =
  (op: string): Maker =>
  (index, dim, size) =>
    texts.indexOutOfBounds(op, index, dim, size);

const inScatter =
  (op: string): Maker =>
  (index, dim, size) =>
    texts.scatterIndexOutOfBounds(op, index, dim, size);

const MAKERS = {
  index: inDimension("index"),
  index_put_: inDimension("index_put_"),
  index_fill_: inDimension("index_fill_"),
  index_select: () => texts.outOfRangeInSelf(undefined),
  embedding: () => texts.outOfRangeInSelf(undefined),
  index_add_: () => texts.outOfRangeInSelf(undefined),
  index_copy_: (index, dim, size) => texts.indexCopyOutOfBounds("index_copy_", index, dim, size),
  gather: inScatter("gather"),
  scatter: inScatter("scatter"),
  scatter_add: inScatter("scatter_add"),
  scatter_reduce: inScatter("scatter_reduce"),
  take: (index, _dim, size) => texts.putOutOfRange(undefined, index, size),
  put_: (index, _dim, size) => texts.putOutOfRange(undefined, index, size),
  bernoulli_: () => texts.bernoulliProbabilities("bernoulli_"),
  nll_loss: (index) => texts.classOutOfBounds("nll_loss", index),
  searchsorted: () => texts.sorterRange("searchsorted"),
} as const satisfies Record<string, Maker>;

export type Fault = keyof typeof MAKERS;

const NAMES = Object.keys(MAKERS) as Fault[];

/** What a kernel on a device is told, to name the error with: numbers from 1 on. */
export function faultNumber(fault: Fault): number {
  return NAMES.indexOf(fault) + 1;
}

export function faultError(fault: Fault | number, a: number, b: number, c: number): Error {
  const name = typeof fault === "string" ? fault : NAMES[fault - 1];
  return name === undefined ? texts.nativeCallFailed("cuda", Number(fault)) : MAKERS[name](a, b, c);
}
