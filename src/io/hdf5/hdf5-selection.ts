// Indices as HDF5 reads them: per dimension a beginning, a step and a count.
import { ELLIPSIS, parseIndex, Slice } from "../../api/indexing-parse.ts";
import { tensor } from "../../api/tensor-data.ts";
import { IndexError } from "../../tensor/errors.ts";
import { numelOf } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import type { Hdf5Selection } from "./hdf5-engine.ts";

/** A selection, and the shape that torch gives its result. */
export interface Selected {
  selection: Hdf5Selection;
  shape: number[];
}

/** Rows of the first dimension that hold everything that is selected, and the index among them. */
export interface SelectedRows {
  from: number;
  count: number;
  index: Tensor;
}

/** The parts of an index: as many arguments, or one array of them. */
export function partsOf(given: readonly unknown[]): readonly unknown[] {
  return given.length === 1 && Array.isArray(given[0]) ? given[0] : given;
}

/** Text may say several parts. */
function readParts(index: readonly unknown[]): unknown[] {
  return index.flatMap<unknown>((part) => (typeof part === "string" ? [...parseIndex(part)] : [part]));
}

function sliceOf(size: number, { start, stop, step }: Slice): { start: number; step: number; count: number } {
  const clamp = (at: number) => Math.min(Math.max(at < 0 ? at + size : at, 0), size);
  const [from, to, by] = [start === null ? 0 : clamp(start), stop === null ? size : clamp(stop), step ?? 1];
  return { start: from, step: by, count: Math.max(0, Math.ceil((to - from) / by)) };
}

/** The selection of numbers, slices, "..." and new dimensions; null for every other kind of index. */
export function selectBasic(shape: readonly number[], index: readonly unknown[]): Selected | null {
  const parts = readParts(index);
  const used = parts.filter((part) => typeof part === "number" || part instanceof Slice).length;
  const dots = parts.filter((part) => part === ELLIPSIS).length;
  const known = parts.filter((part) => part === null).length + used + dots;
  if (known !== parts.length || dots > 1) return null;
  if (used > shape.length) throw new IndexError(`too many indices for tensor of dimension ${shape.length}`);
  const selection = { start: [] as number[], step: [] as number[], count: [] as number[] };
  const out: number[] = [];
  const take = (start: number, step: number, count: number) => {
    selection.start.push(start);
    selection.step.push(step);
    selection.count.push(count);
  };
  const whole = (dims: number) => {
    for (let i = 0; i < dims; i++) {
      const size = shape[selection.start.length] as number;
      take(0, 1, size);
      out.push(size);
    }
  };
  for (const part of parts) {
    const dim = selection.start.length;
    const size = shape[dim] as number;
    if (part === null) out.push(1);
    else if (part === ELLIPSIS) whole(shape.length - used);
    else if (typeof part === "number") {
      if (!Number.isInteger(part) || part < -size || part >= size) {
        throw new IndexError(`index ${part} is out of bounds for dimension ${dim} with size ${size}`);
      }
      take(part < 0 ? part + size : part, 1, 1);
    } else {
      const { start, step, count } = sliceOf(size, part as Slice);
      take(start, step, count);
      out.push(count);
    }
  }
  whole(shape.length - selection.start.length);
  return { selection, shape: out };
}

/** Rows that an index of one list of integers, or one mask, lies in; null for every other index. */
export function selectRows(shape: readonly number[], index: readonly unknown[]): SelectedRows | null {
  const [part] = index;
  const rows = shape[0];
  if (index.length !== 1 || rows === undefined) return null;
  const given = part instanceof Tensor ? listOf(part) : part;
  if (!Array.isArray(given)) return null;
  let list: number[];
  if (given.every((item) => typeof item === "boolean")) {
    if (given.length !== rows) return null;
    list = given.flatMap((on, i) => (on ? [i] : []));
  } else {
    list = given.map((i) => (typeof i === "number" && i < 0 ? i + rows : i) as number);
    if (!list.every((i) => Number.isInteger(i) && i >= 0 && i < rows)) return null;
  }
  if (list.length === 0) return null;
  const from = list.reduce((a, b) => Math.min(a, b));
  const count = list.reduce((a, b) => Math.max(a, b)) - from + 1;
  return { from, count, index: tensor(list.map((i) => BigInt(i - from))) };
}

// Bytes are masks for torch, and left to it.
function listOf(index: Tensor): unknown {
  return index.ndim === 1 && index.dtype.category <= 1 && index.dtype.name !== "uint8" ? index.tolist() : null;
}

/** The whole in groups of rows of at most so many elements, or of one row. */
export function* pieces(shape: readonly number[], most: number): Generator<Hdf5Selection> {
  const step = shape.map(() => 1);
  const rows = shape[0];
  if (rows === undefined) {
    yield { start: [], step, count: [] };
    return;
  }
  const inner = shape.slice(1);
  const many = Math.max(1, Math.floor(most / Math.max(1, numelOf(inner))));
  for (let at = 0; at < rows && numelOf(inner) > 0; at += many) {
    yield { start: [at, ...inner.map(() => 0)], step, count: [Math.min(many, rows - at), ...inner] };
  }
}

/** Chunks that are read in one call: the library takes some 4 KB for each. */
const CHUNKS_AT_ONCE = 2 ** 14;

/** How many chunks a selection touches at most. */
function chunksOf({ step, count }: Hdf5Selection, chunks: readonly number[]): number {
  return chunks.reduce((n, size, dim) => {
    const span = ((count[dim] as number) - 1) * (step[dim] as number);
    return n * Math.min(count[dim] as number, Math.floor(span / size) + 2);
  }, 1);
}

/** A selection in parts that touch few chunks, in the order of its elements, and how many elements come before each. */
export function* partsByChunks(
  whole: Hdf5Selection,
  chunks: readonly number[],
  before = 0,
): Generator<{ selection: Hdf5Selection; before: number }> {
  const dim = whole.count.findIndex((n) => n > 1);
  if (dim < 0 || whole.count.includes(0) || chunksOf(whole, chunks) <= CHUNKS_AT_ONCE) {
    yield { selection: whole, before };
    return;
  }
  const { start, step, count } = whole;
  const half = (count[dim] as number) >> 1;
  const first = { start, step, count: count.with(dim, half) };
  const from = (start[dim] as number) + half * (step[dim] as number);
  const second = { start: start.with(dim, from), step, count: count.with(dim, (count[dim] as number) - half) };
  yield* partsByChunks(first, chunks, before);
  yield* partsByChunks(second, chunks, before + numelOf(first.count));
}

/**
 * Shape of the parts of at most `nbytes` in which a tensor is stored or written; whole rows stay together as long as
 * they fit, since rows are what is read.
 * @param unit parts consist of whole units of this shape; of single elements by default
 */
export function boxFor(
  shape: readonly number[],
  itemsize: number,
  nbytes: number,
  unit: readonly number[] | null = null,
): number[] {
  const box = shape.map((n) => Math.max(1, n));
  for (let dim = 0; dim < box.length && numelOf(box) * itemsize > nbytes; dim++) {
    const least = unit?.[dim] ?? 1;
    const rest = (numelOf(box) / (box[dim] as number)) * itemsize;
    const most = Math.floor(nbytes / rest / least) * least;
    box[dim] = Math.min(box[dim] as number, Math.max(least, most));
  }
  return box;
}

/** The parts of a shape, each of the shape `box` or less at an edge. */
export function* boxesIn(
  shape: readonly number[],
  box: readonly number[],
): Generator<{ start: number[]; count: number[] }> {
  const start = shape.map(() => 0);
  for (;;) {
    yield { start: [...start], count: start.map((at, i) => Math.min(box[i] as number, (shape[i] as number) - at)) };
    let dim = shape.length - 1;
    for (; dim >= 0; dim--) {
      start[dim] = (start[dim] as number) + (box[dim] as number);
      if ((start[dim] as number) < (shape[dim] as number)) break;
      start[dim] = 0;
    }
    if (dim < 0) return;
  }
}
