/**
 * Convolutions as products of matrices: the elements under each window are put beside each other, a column or a row
 * for each output, and multiplied by the filters. For devices whose products are far faster than what a kernel of its
 * own would be; a part of the images at a time, so that windows take bounded memory.
 */

import { float32 } from "../tensor/dtype.ts";
import { contiguousStrides, numelOf } from "../tensor/size.ts";
import { drop } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { empty, emptyWith } from "./allocate.ts";
import { add } from "./arith.ts";
import { backendOf } from "./backend.ts";
import { cast, clone, denseOf, fill, transfer } from "./copy.ts";
import { flip } from "./flip.ts";
import { layoutOf, multiply, type Product } from "./matrix.ts";
import { asView, permute } from "./views.ts";

type Ints = readonly number[];

/** Bytes of windows at a time; what is less work than this, or narrower, is left to kernels that add one by one. */
export const WINDOWS = { bytes: 2 ** 28, work: 2 ** 22, narrowest: 16, phases: 8 };

/** Output i reads with tap t at start + i * step + t * inc, along each dimension. */
export interface Taps {
  readonly start: Ints;
  readonly step: Ints;
  readonly inc: Ints;
}

const PRODUCT: Product = { kernelName: "convolution", c: layoutOf, a: layoutOf, b: layoutOf };

/** Whether a product of so many rows, terms and columns is worth the windows. */
export function isWorth(like: Tensor, groups: number, rows: number, terms: number, columns: number): boolean {
  if (backendOf(like._storage.device).readsShort !== true || like.dtype.category !== 2) return false;
  return Math.min(rows, terms) >= WINDOWS.narrowest && groups * rows * terms * columns >= WINDOWS.work;
}

/** Tensors that are made on the way, given up together. */
class Made {
  private readonly list: Tensor[] = [];

  add(t: Tensor): Tensor {
    this.list.push(t);
    return t;
  }

  /** Of elements one after the other, where no strides are given. */
  view(t: Tensor, shape: Ints, strides: Ints = contiguousStrides(shape), offset = t._offset): Tensor {
    return this.add(asView(t, shape, strides, offset));
  }

  /** A copy without gaps, in another order of dimensions. */
  copy(t: Tensor, shape: Ints): Tensor {
    const r = this.add(empty(t._shape, t.dtype, t._storage.device));
    transfer(r, t);
    return this.view(r, shape);
  }

  end(): void {
    for (let i = this.list.length - 1; i >= 0; i--) drop(this.list[i] as Tensor);
  }
}

const product = (a: Ints, b: Ints): number[] => a.map((n, d) => n * (b[d] as number));
const sum = (a: Ints): number => a.reduce((x, y) => x + y, 0);

/** The stride of neighbouring dimensions as one; null where there is none. */
function flat(shape: Ints, strides: Ints): number | null {
  let next: number | null = null;
  let stride = 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    const [n, s] = [shape[d] as number, strides[d] as number];
    if (n === 1) continue;
    if (next === null) stride = s;
    else if (s !== next) return null;
    next = s * n;
  }
  return stride;
}

/** Where channels lie beside each other. */
const hasRows = (t: Tensor): boolean => t._strides[1] === 1 && (t._shape[1] as number) > 1 && !t._contiguous;

/** The images with zeros around, as far as windows reach; they themselves where none reaches beyond. */
function around(made: Made, x: Tensor, k: Ints, out: Ints, { start, step, inc }: Taps): [Tensor, Ints] {
  const size = x._shape.slice(2);
  const begin = start.map((s) => Math.min(0, s));
  const end = size.map((n, d) => {
    const last = (start[d] as number) + ((out[d] as number) - 1) * (step[d] as number);
    return Math.max(n, last + ((k[d] as number) - 1) * (inc[d] as number) + 1);
  });
  const origin = start.map((s, d) => s - (begin[d] as number));
  if (begin.every((b) => b === 0) && end.every((e, d) => e === size[d])) return [x, origin];
  const [n, c] = x._shape as [number, number];
  const sizes = end.map((e, d) => e - (begin[d] as number));
  const shape = [n, c, ...sizes];
  const rows = contiguousStrides([n, ...sizes, c]);
  const strides = hasRows(x) ? [rows[0] as number, 1, ...rows.slice(1, -1)] : contiguousStrides(shape);
  const r = made.add(emptyWith(shape, strides, x.dtype, x._storage.device));
  fill(r, 0);
  const inside = r._offset - sum(product(begin, strides.slice(2)));
  transfer(made.view(r, x._shape, strides, inside), x);
  return [r, origin];
}

/** A convolution that is cut into parts. */
interface Parts {
  /** What windows are taken of, and where the first tap of the first output is in it. */
  readonly image: Tensor;
  readonly origin: Ints;
  readonly taps: Taps;
  readonly groups: number;
  /** Channels of the image in a group, sizes of the filters and of the result. */
  readonly c: number;
  readonly k: Ints;
  readonly out: Ints;
}

/** Calls `body` with the first image, how many, the first row of outputs, and how many. */
function each(p: Parts, beside: number, body: (n: number, images: number, row: number, rows: number) => void): void {
  const n = p.image._shape[0] as number;
  const first = p.out[0] as number;
  const one = (p.groups * p.c * numelOf(p.k) * numelOf(p.out) + beside) * p.image.dtype.itemsize;
  const images = Math.max(1, Math.min(n, Math.floor(WINDOWS.bytes / one)));
  const rows = one <= WINDOWS.bytes ? first : Math.max(1, Math.floor((WINDOWS.bytes / one) * first));
  for (let i = 0; i < n; i += images) {
    for (let r = 0; r < first; r += rows) body(i, Math.min(images, n - i), r, Math.min(rows, first - r));
  }
}

/** A part of a batch of planes. */
function part(made: Made, t: Tensor, n: number, images: number, row: number, rows: number): Tensor {
  const [, c, , ...rest] = t._shape as [number, number, number, ...number[]];
  const offset = t._offset + n * (t._strides[0] as number) + row * (t._strides[2] as number);
  return made.view(t, [images, c, rows, ...rest], t._strides, offset);
}

/** Strides of dimensions that have several elements: those of others may be beyond all memory. */
const moves = (strides: Ints, shape: Ints): number[] => strides.map((s, d) => ((shape[d] as number) > 1 ? s : 0));

/** Windows of a part: images, groups, channels, taps, outputs. */
function windowsOf(made: Made, p: Parts, n: number, images: number, row: number, rows: number): Tensor {
  const { image, taps, c, groups, k } = p;
  const [sn, sc, ...s] = image._strides as [number, number, ...number[]];
  const out = [rows, ...p.out.slice(1)];
  const steps = moves(product(taps.step, s), p.out);
  const shape = [images, groups, c, ...k, ...out];
  const strides = [sn, c * sc, sc, ...moves(product(taps.inc, s), k), ...steps];
  const offset = image._offset + n * sn + sum(product(p.origin, s)) + row * (steps[0] as number);
  return made.view(image, shape, strides, offset);
}

/** The dimensions of windows in another order: "taps" and "outputs" stand for all of theirs. */
function ordered(made: Made, w: Tensor, dims: number, order: readonly (number | "taps" | "outputs")[]): Tensor {
  const at = (from: number) => Array.from({ length: dims }, (_, d) => from + d);
  const all = order.flatMap((x) => (x === "taps" ? at(3) : x === "outputs" ? at(3 + dims) : [x]));
  return made.add(permute(w, all));
}

/** Channels of filters behind their taps, without gaps. */
function withRows(made: Made, w: Tensor, groups: number): Tensor {
  const [o, c, ...k] = w._shape as [number, number, ...number[]];
  const turned = made.add(permute(w, [0, ...k.map((_, d) => d + 2), 1]));
  return made.copy(turned, [groups, o / groups, numelOf(k) * c]);
}

/**
 * y = the convolution of x by w, which has no gaps, in so many groups; every output begins with its channel's bias.
 * The strides of y may be any.
 */
export function forward(x: Tensor, w: Tensor, y: Tensor, bias: Tensor | null, groups: number, taps: Taps): void {
  const made = new Made();
  const [o, c, ...k] = w._shape as [number, number, ...number[]];
  const out = y._shape.slice(2);
  const [image, origin] = around(made, x, k, out, taps);
  const p: Parts = { image, origin, taps, groups, c, k, out };
  const m = o / groups;
  const rows = hasRows(y);
  const terms = c * numelOf(k);
  const weights = rows ? withRows(made, w, groups) : made.view(w, [groups, m, terms]);
  each(p, !rows && groups > 1 ? groups * m * terms : 0, (...where) => {
    const inner = new Made();
    const windows = windowsOf(inner, p, ...where);
    const to = part(inner, y, ...where);
    if (rows) byRows(inner, p, windows, weights, to, bias);
    else byColumns(inner, p, windows, weights, to, bias);
    inner.end();
  });
  made.end();
}

/** Images and groups are the batch of a product; an output is a column. */
function byColumns(made: Made, p: Parts, windows: Tensor, w: Tensor, y: Tensor, bias: Tensor | null): void {
  const { groups } = p;
  const [images, o, ...out] = y._shape as [number, number, ...number[]];
  const [m, terms] = [o / groups, w._shape[2] as number];
  const [batch, columns] = [images * groups, numelOf(out)];
  const [sn, sc, ...s] = y._strides as [number, number, ...number[]];
  const across = flat([images, groups], [sn, m * sc]);
  const along = flat(out, s);
  const shape = [batch, m, columns];
  const inPlace = across !== null && along !== null;
  const c = inPlace ? made.view(y, shape, [across, sc, along]) : made.add(empty(shape, y.dtype, y._storage.device));
  const whole = inPlace ? y : made.view(c, y._shape);
  if (bias !== null) transfer(whole, made.view(bias, [1, o, ...out.map(() => 1)], [0, 1, ...out.map(() => 0)]));
  const from = columnsOf(made, windows, batch, terms, columns, groups);
  const filters =
    groups === 1
      ? made.view(w, [batch, m, terms], [0, terms, 1])
      : images === 1
        ? w
        : made.copy(made.view(w, [images, groups, m, terms], [0, ...w._strides]), [batch, m, terms]);
  multiply(PRODUCT, c, filters, from, terms, bias === null ? null : c, 1, 1);
  if (!inPlace) transfer(y, whole);
}

/** Windows as matrices of a column for each output; those of one tap may be what they are taken of. */
function columnsOf(made: Made, windows: Tensor, batch: number, terms: number, columns: number, groups: number): Tensor {
  const dims = (windows.ndim - 3) / 2;
  const [images, , c, ...rest] = windows._shape as [number, number, number, ...number[]];
  const [sn, sg, sc, ...s] = windows._strides as [number, number, number, ...number[]];
  const across = flat([images, groups], [sn, sg]);
  const along = flat(rest.slice(dims), s.slice(dims));
  if (terms === c && across !== null && along !== null) {
    return made.view(windows, [batch, terms, columns], [across, sc, along]);
  }
  return made.copy(windows, [batch, terms, columns]);
}

/** Groups are the batch of a product; an output is a row. */
function byRows(made: Made, p: Parts, windows: Tensor, w: Tensor, y: Tensor, bias: Tensor | null): void {
  const { groups } = p;
  const [images, o, ...out] = y._shape as [number, number, ...number[]];
  const [m, terms] = [o / groups, w._shape[2] as number];
  const rows = images * numelOf(out);
  const [sn, , ...s] = y._strides as [number, number, ...number[]];
  const along = flat([images, ...out], [sn, ...s]);
  const shape = [groups, rows, m];
  const c =
    along === null
      ? made.add(empty([groups, rows, m], y.dtype, y._storage.device))
      : made.view(y, shape, [m, along, 1]);
  const from = rowsOf(made, windows, rows, terms, groups);
  const filters = made.view(w, [groups, terms, m], [m * terms, 1, terms]);
  const start = bias === null ? null : made.view(bias, shape, [m, 0, 1]);
  multiply(PRODUCT, c, from, filters, terms, start, 1, 1);
  if (along !== null) return;
  const products = made.view(c, [groups, images, ...out, m]);
  const all = made.view(y, [images, ...out, groups, m], [sn, ...s, m, 1]);
  const dims = out.length;
  transfer(all, made.add(permute(products, [1, ...out.map((_, d) => d + 2), 0, dims + 2])));
}

function rowsOf(made: Made, windows: Tensor, rows: number, terms: number, groups: number): Tensor {
  const dims = (windows.ndim - 3) / 2;
  const turned = ordered(made, windows, dims, [1, 0, "outputs", "taps", 2]);
  const [, images, ...rest] = turned._shape as [number, number, ...number[]];
  const [sg, sn, ...s] = turned._strides as [number, number, ...number[]];
  const along = flat([images, ...rest.slice(0, dims)], [sn, ...s.slice(0, dims)]);
  if (terms === rest.at(-1) && along !== null) {
    return made.view(turned, [groups, rows, terms], [sg, along, s.at(-1) as number]);
  }
  return made.copy(turned, [groups, rows, terms]);
}

/** r, without gaps, = what the filters' gradient is for that of the result. */
export function weightGradient(r: Tensor, grad: Tensor, x: Tensor, groups: number, taps: Taps): void {
  const made = new Made();
  const [o, c, ...k] = r._shape as [number, number, ...number[]];
  const out = grad._shape.slice(2);
  const [image, origin] = around(made, x, k, out, taps);
  const p: Parts = { image, origin, taps, groups, c, k, out };
  const m = o / groups;
  const rows = hasRows(x);
  const terms = c * numelOf(k);
  const whole = made.view(r, [groups, m, terms]);
  const total = rows ? made.add(empty([groups, m, terms], r.dtype, r._storage.device)) : whole;
  const sums = new Sums(total);
  each(p, 0, (...where) => {
    const inner = new Made();
    const windows = windowsOf(inner, p, ...where);
    const [images] = windows._shape as [number];
    const g = part(inner, grad, ...where);
    const columns = images * numelOf(g._shape.slice(2));
    const a = gradientsOf(inner, g, groups, columns);
    if (rows) {
      sums.add(inner, a, rowsOf(inner, windows, columns, terms, groups), columns);
    } else {
      const turned = ordered(inner, windows, k.length, [1, 2, "taps", 0, "outputs"]);
      const b = inner.copy(turned, [groups, terms, columns]);
      sums.add(inner, a, inner.view(b, [groups, columns, terms], [terms * columns, 1, columns]), columns);
    }
    inner.end();
  });
  sums.end();
  if (rows) {
    const turned = made.view(total, [o, ...k, c]);
    transfer(r, made.add(permute(turned, [0, k.length + 1, ...k.map((_, d) => d + 1)])));
  }
  made.end();
}

/** Gradients of results as matrices: group, channel, output of any image. */
function gradientsOf(made: Made, g: Tensor, groups: number, columns: number): Tensor {
  const [images, o, ...out] = g._shape as [number, number, ...number[]];
  const [sn, sc, ...s] = g._strides as [number, number, ...number[]];
  const m = o / groups;
  const along = flat([images, ...out], [sn, ...s]);
  if (along !== null) return made.view(g, [groups, m, columns], [m * sc, sc, along]);
  const turned = made.view(g, [groups, m, images, ...out], [m * sc, sc, sn, ...s]);
  return made.copy(turned, [groups, m, columns]);
}

/** Products that are added up, in float32 where their dtype is shorter. */
class Sums {
  private count = 0;
  private wide: Tensor | null = null;

  constructor(private readonly total: Tensor) {}

  add(made: Made, a: Tensor, b: Tensor, inner: number): void {
    const { total } = this;
    if (this.count++ === 0) {
      multiply(PRODUCT, total, a, b, inner, null, 0, 1);
      return;
    }
    if (total.dtype.itemsize !== 2) {
      multiply(PRODUCT, total, a, b, inner, total, 1, 1);
      return;
    }
    this.wide ??= cast(total, float32);
    const more = made.add(empty(total._shape, total.dtype, total._storage.device));
    multiply(PRODUCT, more, a, b, inner, null, 0, 1);
    add(this.wide, made.add(cast(more, float32)), 1, this.wide, true);
  }

  end(): void {
    if (this.wide === null) return;
    transfer(this.total, this.wide);
    drop(this.wide);
  }
}

/** Which taps serve the elements `phase`, `phase` + stride, ... of an image: the first, and the step to the next. */
function served(size: number, stride: number, padding: number, dilation: number, phase: number) {
  const step = stride / gcd(stride, dilation);
  for (let first = 0; first < Math.min(step, size); first++) {
    const place = phase + padding - first * dilation;
    if (place % stride !== 0) continue;
    return { first, step, count: Math.floor((size - 1 - first) / step) + 1, place: place / stride };
  }
  return null;
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/**
 * y = what leads from results x back to images, by filters without gaps. Elements of y whose places leave the same rest
 * by the strides are read by the same taps: each kind is a convolution of x with these, from the last to the first.
 */
export function backward(
  x: Tensor,
  w: Tensor,
  y: Tensor,
  bias: Tensor | null,
  groups: number,
  stride: Ints,
  padding: Ints,
  dilation: Ints,
): void {
  const size = y._shape.slice(2);
  const phases = stride.reduce<number[][]>(
    (lists, s, d) =>
      lists.flatMap((list) => Array.from({ length: Math.min(s, size[d] as number) }, (_, i) => [...list, i])),
    [[]],
  );
  for (const phase of phases) {
    const made = new Made();
    const s = y._strides.slice(2);
    const sizes = size.map((n, d) => Math.floor((n - (phase[d] as number) - 1) / (stride[d] as number)) + 1);
    const [n, c, sn, sc] = [y._shape[0], y._shape[1], y._strides[0], y._strides[1]] as [number, number, number, number];
    const offset = y._offset + sum(product(phase, s));
    const to = made.view(y, [n, c, ...sizes], [sn, sc, ...moves(product(stride, s), sizes)], offset);
    const of = phase.map((f, d) => {
      return served(w._shape[d + 2] as number, stride[d] as number, padding[d] as number, dilation[d] as number, f);
    });
    const taps = of.filter((t) => t !== null);
    if (taps.length < of.length) {
      if (bias === null) fill(to, 0);
      else transfer(to, made.view(bias, [1, c, ...s.map(() => 1)], [0, 1, ...s.map(() => 0)]));
    } else {
      const inc = taps.map((t, d) => (t.step * (dilation[d] as number)) / (stride[d] as number));
      const start = taps.map((t, d) => t.place - (t.count - 1) * (inc[d] as number));
      forward(x, reversed(made, w, groups, taps), to, bias, groups, { start, inc, step: stride.map(() => 1) });
    }
    made.end();
  }
}

/** Filters from result to image, of some taps, the last first. */
function reversed(
  made: Made,
  w: Tensor,
  groups: number,
  taps: readonly { first: number; step: number; count: number }[],
) {
  const [o, c] = w._shape as [number, number];
  const [so, sc, ...s] = w._strides as [number, number, ...number[]];
  const m = o / groups;
  const counts = taps.map((t) => t.count);
  const offset = w._offset + sum(taps.map((t, d) => t.first * (s[d] as number)));
  const strides = taps.map((t, d) => t.step * (s[d] as number));
  const some = made.view(w, [groups, c, m, ...counts], [m * so, sc, so, ...strides], offset);
  const turned = made.add(
    counts.every((n) => n === 1)
      ? clone(some)
      : flip(
          some,
          counts.map((_, d) => d + 3),
        ),
  );
  const whole = denseOf(turned);
  if (whole !== turned) made.add(whole);
  return made.view(whole, [groups * c, m, ...counts]);
}
