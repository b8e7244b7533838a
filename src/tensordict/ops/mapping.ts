// Collections in chunks along a batch dimension, and what a function made of them as one again.
import { randperm } from "../../../generated/functional.ts";
import type { Generator } from "../../dispatch/generator.ts";
import { AttributeError, RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { typeName } from "../../tensor/type-name.ts";
import { isTensorCollection, type Td } from "../core/state.ts";
import { catTensors } from "../core/tensor-ops.ts";
import { indexTd } from "./indexing.ts";
import { chunkTd, splitTd, unbindTd } from "./splitting.ts";
import { catTds, maybeDenseStackTds } from "./stacking.ts";
import { updateInPlace } from "./writes.ts";

/** How a collection is cut into chunks. */
export interface Cut {
  /** A batch dimension, counted from the front. */
  dim: number;
  chunksize: number | null;
  numChunks: number | null;
  /** Each chunk is indexed when it is asked for. */
  late: boolean;
  /** Chunks of a random order; null for their own. The generator is null for the default one. */
  shuffled: { generator: Generator | null } | null;
}

/**
 * The chunks, in order.
 * @param parts how many there are where neither a size nor a number is given
 */
export function chunksOf(td: Td, cut: Cut, parts: number): Iterator<Td> {
  const { dim, late, shuffled, chunksize } = cut;
  let { numChunks } = cut;
  if (shuffled !== null && !late) {
    throw new RuntimeError(
      "Shuffling is not permitted unless use_generator is set to ``True`` for efficiency purposes.",
    );
  }
  if (chunksize !== null && numChunks !== null) {
    throw new ValueError("Either chunksize or num_chunks must be provided, but not both.");
  }
  if (chunksize === null) numChunks ??= parts;
  const total = td._batchSize[dim] as number;
  // What cannot be is refused by those who cut at once.
  if (numChunks !== null) {
    numChunks = Math.min(total, numChunks);
    if (!late || numChunks < 1) return chunkTd(td, numChunks, dim).values();
    return indexed(td, dim, Math.ceil(total / numChunks), shuffled);
  }
  const size = chunksize as number;
  if (size === 0) return late ? indexed(td, dim, 0, shuffled) : unbindTd(td, dim).values();
  if (!late || size < 0) return splitTd(td, size, dim).values();
  return indexed(td, dim, size, shuffled);
}

/** Chunks of a size, indexed when they are asked for; of size 0 the elements without the dimension. */
function* indexed(td: Td, dim: number, size: number, shuffled: Cut["shuffled"]): Chunks<Td> {
  const total = td._batchSize[dim] as number;
  const order = shuffled === null ? null : randperm(total, { generator: shuffled.generator });
  const before = new Array<string>(dim).fill(":");
  for (let start = 0; start < total; start += Math.max(size, 1)) {
    const end = Math.min(start + size, total);
    if (size === 0) yield indexTd(td, [...before, order === null ? start : order.at(start).item()]);
    else yield indexTd(td, [...before, order === null ? `${start}:${end}` : order.narrow(0, start, end - start)]);
  }
}

type Chunks<T> = globalThis.Generator<T, void, undefined>;

/** Takes results in order, and has at the end what they are together. */
export class Gathered {
  private readonly list: unknown[] = [];
  private start = 0;

  constructor(
    private readonly dim: number,
    private readonly stacked: boolean,
    private readonly out: Td | null,
  ) {}

  /** One result; null and undefined leave everything as it is. */
  add(item: unknown): void {
    if (item === null || item === undefined) return;
    if (this.out === null) {
      this.list.push(item);
      return;
    }
    const collection = asCollection(item, this.stacked ? "batch_size" : "shape");
    const before = new Array<string>(this.dim).fill(":");
    const end = this.stacked ? this.start + 1 : this.start + (collection._batchSize[this.dim] as number);
    const part = indexTd(this.out, [...before, this.stacked ? this.start : `${this.start}:${end}`]);
    updateInPlace(part, collection);
    this.start = end;
  }

  /** All of it; null when there were no results. */
  result(): Td | Tensor | null {
    const { list, dim } = this;
    if (this.out !== null || list.length === 0) return this.out;
    if (this.stacked) {
      return maybeDenseStackTds(
        list.map((item) => asCollection(item, "batch_size")),
        dim,
      );
    }
    if (list.every(isTensorCollection)) return catTds(list as Td[], dim);
    const wrong = list.findIndex((item) => !(item instanceof Tensor));
    if (wrong < 0) return catTensors(list as Tensor[], dim);
    throw new TypeError(`expected Tensor as element ${wrong} in argument 0, but got ${typeName(list[wrong])}`);
  }
}

function asCollection(item: unknown, missing: string): Td {
  if (isTensorCollection(item)) return item as Td;
  const name = item instanceof Tensor ? "Tensor" : typeName(item);
  throw new AttributeError(`'${name}' object has no attribute '${missing}'`);
}
