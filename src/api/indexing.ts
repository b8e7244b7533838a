/** Python's `x[...]` and `x[...] = v`: `at` and `setAt`. */
import { where } from "../../generated/functional.ts";
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { empty } from "../dispatch/allocate.ts";
import * as copy from "../dispatch/copy.ts";
import { checkFits } from "../dispatch/fits.ts";
import { indexFromList, valuesFromList } from "../dispatch/indexing-lists.ts";
import { gradMode, requiresGrad } from "../dispatch/mode.ts";
import { attention } from "../dispatch/seam.ts";
import * as views from "../dispatch/views.ts";
import { batchOf } from "../tensor/batched.ts";
import { checkedCall } from "../tensor/checks.ts";
import { Int, type Scalar } from "../tensor/complex.ts";
import { CPU } from "../tensor/device.ts";
import { bool, type DType, float64, int64, uint8 } from "../tensor/dtype.ts";
import { int64Of, takesScalar } from "../tensor/integers.ts";
import { MEMBERS } from "../tensor/signatures.ts";
import { sameSizes } from "../tensor/size.ts";
import { tidy } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { AssignedList } from "../tensor/value-types.ts";
import {
  ELLIPSIS,
  type IndexPart,
  indexTypeName,
  isTypedArray,
  listOfArray,
  parseIndex,
  Slice,
  type TextPart,
} from "./indexing-parse.ts";

export { type IndexPart, Slice, slice } from "./indexing-parse.ts";

declare module "../tensor/tensor.ts" {
  interface Tensor {
    /** Elements of this tensor where the condition is true, of `other` elsewhere. @torch Tensor.where */
    where(condition: Tensor, other: Tensor | Scalar): Tensor;
    /**
     * Python's `x[...]`: numbers, slices, strings such as "1:3", null, booleans, tensors, arrays. An array that is the
     * only argument is Python's tuple: one index for each dimension, `x.at([0, 1])` is `x.at(0, 1)`. An array inside of
     * it, or beside other arguments, is a list of indices (`x.at([[0, 2]])` are two rows), and so are typed arrays and
     * integer tensors.
     * @example
     * ```ts
     * arange(6).view(3, 2).at([[0, 2], 1]) // tensor([1, 5])
     * ```
     */
    at(...index: IndexPart[]): Tensor;
    /**
     * Python's `x[index] = value`; `index` is what `at` takes as one argument: `x[1, 2] = 5` is `x.setAt([1, 2], 5)`.
     * @throws TypeError for more than two arguments
     */
    setAt(index: IndexPart, value: Tensor | Scalar | AssignedList): this;
  }
}

/** `Tensor.at`. */
export function atMember(this: Tensor, ...index: IndexPart[]): Tensor {
  return at(this, index);
}

/** `Tensor.setAt`. Of more parts than one, the last would be lost and the second be taken for the value. */
export function setAtMember(
  this: Tensor,
  index: IndexPart,
  value: Tensor | Scalar | AssignedList,
  ...more: unknown[]
): Tensor {
  if (more.length > 0) throw texts.indexInParts("setAt", more.length + 2);
  setAt(this, index, value);
  return this;
}

/** `Tensor.where`, whose arguments stand in another order than the function's. */
export function whereMember(this: Tensor, ...args: [condition: Tensor, other: Tensor | Scalar]): Tensor {
  const [condition, other] = checkedCall("where", MEMBERS.where, args);
  return where(condition, this, other);
}

/** A part after text, markers and arrays were read. */
type Part = TextPart | boolean | Tensor;

const recorded = (t: Tensor): boolean => gradMode.enabled && requiresGrad(t);

/** Whether operators have to be called: somebody looks at them, or the gradient needs them. */
const tracked = (t: Tensor): boolean => attention.bits !== 0 || recorded(t);

/** The position that an index into a dimension of `n` means; -1 when there is none. */
function place(i: number, n: number): number {
  if (i >= 0) return i < n && Number.isInteger(i) ? i : -1;
  return i >= -n && Number.isInteger(i) ? i + n : -1;
}

function badPlace(t: Tensor | null, i: number, dim: number, n: number): never {
  if (!Number.isInteger(i)) badIndex(i);
  if (t !== null && t._shape.length === 0 && i === 0) throw texts.indexOfScalar("at");
  throw texts.indexOutOfBounds("at", i, dim, n);
}

function badIndex(x: unknown): never {
  throw texts.badIndexType("at", indexTypeName(x));
}

/** `x[i]`: the hot path of loops over rows. */
export function selectFirst(t: Tensor, i: number): Tensor {
  const shape = t._shape;
  const p = shape.length === 0 ? -1 : place(i, shape[0] as number);
  if (p < 0) badPlace(t, i, 0, shape[0] ?? 0);
  if (tracked(t)) return t._derive(O.select(t, 0, p));
  const strides = t._strides;
  const offset = t._offset + p * (strides[0] as number);
  return t._derive(views.asView(t, shape.slice(1), strides.slice(1), offset));
}

function clampTo(x: number, n: number): number {
  return x < 0 ? Math.max(x + n, 0) : Math.min(x, n);
}

/** As torch decides it: by what was written, so that `x[-n:]` is a slice. */
function isWhole(s: Slice, n: number): boolean {
  return (s.start ?? 0) === 0 && (s.stop === null || s.stop >= n) && (s.step ?? 1) === 1;
}

function requireRows(t: Tensor): void {
  if (t._shape.length === 0) throw texts.rowsOfScalar("at");
}

/** `x[a:b]` */
export function sliceFirst(t: Tensor, s: Slice): Tensor {
  requireRows(t);
  const shape = t._shape.slice();
  const n = shape[0] as number;
  const from = s.start === null ? 0 : clampTo(s.start, n);
  const to = s.stop === null ? n : clampTo(s.stop, n);
  const step = s.step ?? 1;
  // A slice that stands alone is recorded as one, also when it names every row.
  if (tracked(t)) return t._derive(O.slice(t, 0, from, to, step));
  shape[0] = to > from ? Math.ceil((to - from) / step) : 0;
  const old = t._strides;
  const first = old[0] as number;
  let strides = old;
  if (step !== 1) {
    strides = old.slice();
    (strides as number[])[0] = first * step;
  }
  return t._derive(views.asView(t, shape, strides, t._offset + (to > from ? from : Math.min(from, n)) * first));
}

/** The elements, or a view of them, that an index names: its parts, or one array of them. */
export function at(t: Tensor, given: readonly unknown[]): Tensor {
  let index = given;
  if (given.length === 1) {
    const x = given[0];
    if (typeof x === "number") return selectFirst(t, x);
    // Whether a tensor is of another class takes longer to tell.
    if (!(x instanceof Tensor) && x instanceof Slice) return sliceFirst(t, x);
    if (typeof x === "string") {
      const parts = parseIndex(x);
      if (parts.length === 1) {
        const only = parts[0];
        if (typeof only === "number") return selectFirst(t, only);
        if (only instanceof Slice) return sliceFirst(t, only);
      }
    }
    if (Array.isArray(x)) index = x;
  }
  const parts = readParts(index);
  const read = (): Tensor => {
    const walk = new Walk(t, tracked(t));
    walk.all(parts, index !== given);
    const view = walk.finish();
    if (walk.indices.length === 0) return t._derive(view === t ? (tracked(t) ? O.alias(t) : views.alias(t)) : view);
    return O.index(view, walk.indices);
  };
  // What leads to chosen elements (positions of a mask, views) is made on the way.
  return parts.some(isTensor) ? tidy(read) : read();
}

const isTensor = (part: Part): boolean => part instanceof Tensor;

function readParts(index: readonly unknown[]): readonly Part[] {
  const parts: Part[] = [];
  for (const x of index) addPart(parts, x);
  return parts;
}

function addPart(parts: Part[], x: unknown): void {
  if (typeof x === "number") parts.push(x);
  else if (typeof x === "string") parts.push(...parseIndex(x));
  else if (x instanceof Tensor) parts.push(fromTensor(x));
  else if (x === null || typeof x === "boolean" || x instanceof Slice || x === ELLIPSIS) parts.push(x as Part);
  else if (Array.isArray(x)) parts.push(indexFromList(x));
  else if (typeof x === "bigint") parts.push(int64Of(x));
  else if (x instanceof Int) parts.push(int64Of(x.value));
  else if (isTypedArray(x)) parts.push(indexFromList(listOfArray(x)));
  else badIndex(x);
}

/** 0-dim integer tensors are numbers, 0-dim masks are booleans. */
function fromTensor(t: Tensor): Part {
  if (t._shape.length > 0 || t.dtype.category > 1 || batchOf(t) !== null) return t;
  if (t.dtype === bool || t.dtype === uint8) return Boolean(t.item());
  return Number(t.item());
}

const isMask = (t: Tensor): boolean => t.dtype === bool || t.dtype === uint8;

/** How many dimensions a part speaks about. */
function dimsOf(part: Part): number {
  if (part === null || part === ELLIPSIS || typeof part === "boolean") return 0;
  return part instanceof Tensor && isMask(part) ? part._shape.length : 1;
}

/**
 * Reads an index from left to right. Without gradients the view's geometry is computed in one pass; with them each
 * part becomes a recorded view, as torch's graph has it. Index tensors and masks are collected for what follows.
 */
class Walk {
  /** Index tensors by dimension of the view; a mask stands for all of its dimensions. */
  readonly indices: (Tensor | null)[] = [];
  /** Dimensions that `indices` speaks about. */
  private counted = 0;
  private dim = 0;
  private current: Tensor;
  private shape: number[];
  private strides: number[];
  private offset: number;
  private changed = false;

  constructor(
    private readonly self: Tensor,
    private readonly through: boolean,
  ) {
    this.current = self;
    this.shape = self._shape.slice();
    this.strides = self._strides.slice();
    this.offset = self._offset;
  }

  /** `fromArray` when the parts were one array, which may have been meant as a list of rows. */
  all(parts: readonly Part[], fromArray = false): void {
    const rank = this.self._shape.length;
    let named = 0;
    for (const p of parts) named += dimsOf(p);
    if (named > rank) throw fromArray ? texts.tooManyInArray("at", rank) : texts.tooManyIndices("at", rank);
    let rest = rank - named;
    parts.forEach((p, at) => {
      if (p === ELLIPSIS) {
        this.dim += rest;
        rest = 0;
      } else this.part(p, at);
    });
  }

  private part(p: Exclude<Part, typeof ELLIPSIS>, at: number): void {
    if (typeof p === "number") this.select(p, at);
    else if (p instanceof Tensor) this.index(p);
    else if (p instanceof Slice) this.slice(p);
    else if (p === null) this.unsqueeze();
    else {
      this.unsqueeze();
      this.dim--;
      this.index(indexFromList(p ? [0] : []));
    }
  }

  /** As in torch, the message counts the parts of the index. */
  private select(i: number, at: number): void {
    const d = this.dim;
    const n = this.shape[d] as number;
    const p = place(i, n);
    if (p < 0) badPlace(null, i, at, n);
    this.changed = true;
    if (this.through) this.current = O.select(this.current, d, p);
    this.offset += p * (this.strides[d] as number);
    this.shape.splice(d, 1);
    this.strides.splice(d, 1);
  }

  private slice(s: Slice): void {
    const d = this.dim++;
    const n = this.shape[d] as number;
    const step = s.step ?? 1;
    const from = s.start === null ? 0 : clampTo(s.start, n);
    const to = Math.max(from, s.stop === null ? n : clampTo(s.stop, n));
    if (isWhole(s, n)) return;
    this.changed = true;
    if (this.through) this.current = O.slice(this.current, d, from, to, step);
    const stride = this.strides[d] as number;
    this.offset += from * stride;
    this.shape[d] = Math.ceil((to - from) / step);
    this.strides[d] = stride * step;
  }

  private unsqueeze(): void {
    const d = this.dim++;
    this.changed = true;
    if (this.through) this.current = O.unsqueeze(this.current, d);
    const stride = d < this.shape.length ? (this.shape[d] as number) * (this.strides[d] as number) : 1;
    this.shape.splice(d, 0, 1);
    this.strides.splice(d, 0, stride);
  }

  private index(t: Tensor): void {
    while (this.counted < this.dim) {
      this.indices.push(null);
      this.counted++;
    }
    const n = isMask(t) ? t._shape.length : 1;
    this.indices.push(t);
    this.counted += n;
    this.dim += n;
  }

  /** The view that the basic parts make; the tensor itself when they change nothing. */
  finish(): Tensor {
    if (!this.changed) return this.self;
    if (this.through) return this.current;
    return views.asView(this.self, this.shape, this.strides, this.offset);
  }
}

/** Writes a number, a tensor or nested arrays to the elements that an index names. */
export function setAt(t: Tensor, index: unknown, value: unknown): Tensor {
  const source = valueOf(value, t);
  const recording = recorded(t) || (source instanceof Tensor && recorded(source));
  const parts = readParts(Array.isArray(index) ? index : [index]);
  // In torch, too, one part alone is not what a tuple of one part is.
  const only = Array.isArray(index) || parts.length !== 1 ? undefined : parts[0];
  if (only === false) return t;
  if (only instanceof Slice) requireRows(t);
  if (typeof only === "number" && t._shape.length === 0) badPlace(t, only, 0, 0);
  const walk = new Walk(t, tracked(t));
  const write = (): void => {
    walk.all(only === true ? [null] : parts, Array.isArray(index));
    const view = walk.finish();
    if (walk.indices.length > 0) putValues(view, walk.indices, source, recording);
    else if (source instanceof Tensor) copyTo(view, source, recording || attention.bits !== 0);
    else fillView(view, view._numel === 1 ? elementOf(source, view.dtype) : source, recording);
  };
  if (parts.some(isTensor)) tidy(write);
  else write();
  return t;
}

function fillView(view: Tensor, value: Scalar, recording: boolean): void {
  if (recording || attention.bits !== 0) return void O.fill_(view, value);
  checkFits(value, view.dtype);
  copy.fill(view, value);
  view._version.value++;
}

/** One element is copied from a double: a number too large for a short dtype is then infinite. */
function elementOf(value: Scalar, dtype: DType): Scalar {
  if (throughDouble(dtype) === dtype) return value;
  checkFits(value, float64);
  const holder = empty([], dtype, CPU);
  copy.fill(holder, value);
  return holder.item<number>();
}

/** The dtype by way of which a number becomes an element that is copied. */
const throughDouble = (d: DType): DType => (d.category === 2 && d.itemsize < 4 ? float64 : d);

function valueOf(value: unknown, t: Tensor): Tensor | Scalar {
  if (value instanceof Tensor || takesScalar(value)) return value;
  if (Array.isArray(value)) return copy.onDevice(valuesFromList(value, t.dtype), t._storage.device);
  throw texts.cannotAssign("setAt", indexTypeName(value), t.dtype.scalarType);
}

function putValues(
  view: Tensor,
  indices: readonly (Tensor | null)[],
  value: Tensor | Scalar,
  recording: boolean,
): void {
  if (value instanceof Tensor) {
    O.index_put_(view, indices, withoutLeadingOnes(value), false);
    return;
  }
  const dim = indices.findIndex((t) => t !== null);
  const last = indices[dim] as Tensor;
  const alone = dim === indices.length - 1;
  // A number under one index fills, which has a check and a node of its own.
  if (alone && last.dtype === int64 && (recording || last._storage.device === view._storage.device)) {
    return void O.index_fill_(view, dim, last.reshape([-1]), value);
  }
  const masked = alone && last.dtype === bool;
  if (masked && recording && dim === 0 && startsWith(view._shape, last._shape)) {
    const shape = [...last._shape, ...view._shape.slice(last._shape.length).map(() => 1)];
    return void O.masked_fill_(view, copy.onDevice(last, view._storage.device).view(shape), value);
  }
  if (!(alone && last.dtype === uint8)) checkFits(value, masked ? view.dtype : throughDouble(view.dtype));
  const holder = empty([], view.dtype, view._storage.device);
  copy.fill(holder, value);
  O.index_put_(view, indices, holder, false);
}

function startsWith(shape: readonly number[], lead: readonly number[]): boolean {
  return lead.every((n, d) => shape[d] === n);
}

/** Sizes of one in front say nothing about what is assigned. */
function withoutLeadingOnes(t: Tensor): Tensor {
  let lead = 0;
  while (lead < t._shape.length && t._shape[lead] === 1) lead++;
  if (lead === 0) return t;
  const shape = t._shape.slice(lead);
  return tracked(t) ? t.reshape(shape) : views.asView(t, shape, t._strides.slice(lead), t._offset);
}

function copyTo(view: Tensor, value: Tensor, recording: boolean): void {
  const same = sameSizes(view._shape, value._shape);
  if (!same && value._shape.length === 0) O.fill_Tensor_(view, value);
  else if (!recording) {
    copy.copyInto(view, same ? value : views.expand(withoutLeadingOnes(value), view._shape));
    view._version.value++;
  } else if (same) O.copy_(view, value, false);
  else O.copy_(view, O.expand(withoutLeadingOnes(value), view._shape, true), false);
}
