/** Slices, and indices written as text: "1:3", "::2", "...", "0, 1:". */

import * as texts from "../../generated/texts.ts";
import { isDict, namedArguments } from "../tensor/checks.ts";
import { Float, Int } from "../tensor/complex.ts";
import { FUNCTIONS } from "../tensor/signatures.ts";
import { Tensor } from "../tensor/tensor.ts";

type SliceBound = number | bigint | Int | Tensor | null | undefined;

/**
 * A part of an index: from `start` up to `stop`, every `step`-th; null is Python's None.
 * @example
 * ```ts
 * const part = slice(1, null, 2);
 * [part.start, part.stop, part.step, part.isFull, arange(6).at(part)] // [1, null, 2, false, tensor([1, 3, 5])]
 * ```
 * @torch slice
 */
export class Slice {
  /** The first position; null: the beginning. */
  readonly start: number | null;
  /** The position behind the last; null: the end. */
  readonly stop: number | null;
  /** The distance of positions; null: 1. */
  readonly step: number | null;
  constructor(start: SliceBound, stop: SliceBound, step: SliceBound = null) {
    this.start = boundOf(start);
    this.stop = boundOf(stop);
    this.step = boundOf(step);
    if (this.step === 0) throw texts.zeroSliceStep(undefined);
    if (this.step !== null && this.step < 0) throw texts.sliceStepNotPositive(undefined);
  }
  /** True when it names every position of any dimension. */
  get isFull(): boolean {
    return (this.start === null || this.start === 0) && this.stop === null && (this.step === null || this.step === 1);
  }
  /** The text as Python's `slice` prints it. */
  toString(): string {
    const text = (x: number | null): string => (x === null ? "None" : String(x));
    return `slice(${text(this.start)}, ${text(this.stop)}, ${text(this.step)})`;
  }
}

function boundOf(x: SliceBound): number | null {
  if (x === null || x === undefined) return null;
  const n =
    x instanceof Int
      ? Number(x.value)
      : x instanceof Tensor
        ? wholeOf(x)
        : typeof x === "symbol"
          ? Number.NaN
          : Number(x);
  if (!Number.isInteger(n)) throw texts.badSliceBound(undefined);
  return n;
}

function wholeOf(t: Tensor): number {
  if (t._numel !== 1 || t.dtype.category > 1) throw texts.notAnIndexTensor(undefined);
  return Number(t.item());
}

/**
 * Python's slice: `slice(stop)`, `slice(start, stop)`, `slice(start, stop, step)`.
 * @example
 * ```ts
 * arange(6).at(slice(1, 6, 2)) // tensor([1, 3, 5])
 * ```
 * @torch slice
 */
export function slice(stop: SliceBound): Slice;
export function slice(start: SliceBound, stop: SliceBound, step?: SliceBound): Slice;
export function slice(...args: SliceBound[]): Slice {
  if (isDict(args.at(-1))) return new Slice(...namedBounds(args));
  return args.length === 1 ? new Slice(null, args[0]) : new Slice(args[0], args[1], args[2]);
}

/** The stop alone, or all three, by name. */
function namedBounds(args: readonly unknown[]): [SliceBound, SliceBound, SliceBound?] {
  const { start, stop, step } = namedArguments("slice", FUNCTIONS.slice, args) as Record<string, SliceBound>;
  return [start, stop, step];
}

/** What text may say as an index: "1:3", "...", "-1", "0, 1:". */
type IndexText = `${number}` | `${string}:${string}` | `${string}...` | `...${string}` | `${string},${string}`;

/** What `at` and `setAt` take between their parentheses. An array is Python's tuple, or inside of one a list. */
export type IndexPart =
  | number
  | bigint
  | Int
  | boolean
  | null
  | IndexText
  | Slice
  | Tensor
  | NodeJS.TypedArray
  | readonly IndexPart[];

/** Stands for as many whole dimensions as are left. */
export const ELLIPSIS: unique symbol = Symbol("...");

/** One part of an index that text can say. */
export type TextPart = number | Slice | null | typeof ELLIPSIS;

const MAX_CACHED = 4096;
const cache = new Map<string, readonly TextPart[]>();

const WHOLE = /^[+-]?\d+$/;

function number(text: string, all: string): number | null {
  if (text === "") return null;
  if (!WHOLE.test(text)) fail(all);
  return Number(text);
}

function fail(text: string): never {
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  throw texts.unreadableIndex(undefined, shown);
}

function parsePart(part: string, all: string): TextPart {
  const text = part.trim();
  if (text === "...") return ELLIPSIS;
  if (text === "None" || text === "null") return null;
  const pieces = text.split(":").map((p) => p.trim());
  if (pieces.length === 1) return number(text, all) ?? fail(all);
  if (pieces.length > 3) fail(all);
  const [a, b, c] = pieces.map((p) => number(p, all));
  return new Slice(a, b, c ?? null);
}

/** The parts of an index written as text; remembered for the next time. */
export function parseIndex(text: string): readonly TextPart[] {
  const known = cache.get(text);
  if (known !== undefined) return known;
  if (text.length > 1024) fail(text);
  const parts = text.split(",").map((part) => parsePart(part, text));
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(text, parts);
  return parts;
}

/** The type of a value that cannot index, as Python names it. */
export function indexTypeName(x: unknown): string {
  if (typeof x === "number" || x instanceof Float) return "float";
  if (typeof x === "undefined") return "undefined";
  if (typeof x === "object" && x !== null) return x.constructor?.name ?? "object";
  return typeof x;
}

export const isTypedArray = (x: unknown): x is NodeJS.TypedArray => ArrayBuffer.isView(x) && !(x instanceof DataView);

/** A typed array as a list of indices; one of bytes is a mask, as a tensor of bytes is. */
export function listOfArray(x: NodeJS.TypedArray): unknown[] {
  const list = Array.from(x as ArrayLike<unknown>);
  return x instanceof Uint8Array ? list.map(Boolean) : list;
}
