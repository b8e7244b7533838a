/** A batch of sequences of different lengths without padding. */

import * as O from "../../generated/ops.ts";
import type { Stretch } from "../autograd/composites-recurrent.ts";
import { inOrder, installChecks } from "../tensor/checks.ts";
import type { DeviceLike } from "../tensor/device.ts";
import { type DTypeLike, int64 } from "../tensor/dtype.ts";
import { AssertionError, IndexError, RuntimeError, TypeError, ValueError } from "../tensor/errors.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { CONSTRUCTORS, PACKED } from "./signatures.ts";

type Optional = Tensor | null;

/** What a packed sequence is made of: its data, its batch sizes, and how it was sorted. */
export type PackedParts = readonly [
  data: Tensor,
  batchSizes: Tensor,
  sortedIndices: Tensor | null,
  unsortedIndices: Tensor | null,
];

/** What `PackedSequence` takes by name. */
export interface PackedOptions {
  /** How many sequences have each step. */
  batchSizes?: Tensor | null;
  /** Which sequence stands where. */
  sortedIndices?: Tensor | null;
  /** Where each sequence stands. */
  unsortedIndices?: Tensor | null;
}

/** What `PackedSequence.to` takes by name. */
export interface PackedTarget {
  /** The data's dtype. */
  dtype?: DTypeLike | null;
  /** Where the data is. */
  device?: DeviceLike | null;
}

function requireTensor(value: unknown): asserts value is Tensor {
  if (value instanceof Tensor) return;
  throw new TypeError(`PackedSequence: data and batch_sizes have to be Tensors, not ${typeName(value)}`);
}

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/**
 * Sequences of different lengths without padding: `data` has the first step of all sequences, then the second of those
 * that have one, and so on. `packPaddedSequence` and `packSequence` make it; `RNN`, `LSTM` and `GRU` take and give it.
 * It is a tuple of four as well.
 * @throws ValueError for batch sizes that are not on the CPU
 * @example
 * ```ts
 * const { rnn } = nn.utils;
 * const packed = rnn.packSequence([tensor([1, 2, 3]), tensor([4, 5]), tensor([6])]);
 * const [data, batchSizes] = packed;
 * [data, batchSizes] // [tensor([1., 4., 6., 2., 5., 3.]), tensor([3, 2, 1])]
 * ```
 * @torch torch.nn.utils.rnn.PackedSequence
 */
export class PackedSequence {
  /** The elements, step after step. */
  readonly data: Tensor;
  /** How many sequences have a first step, a second one, and so on: int64, on the CPU. */
  readonly batchSizes: Tensor;
  /** Which sequence stands where; null where they were sorted already. */
  readonly sortedIndices: Tensor | null;
  /** Where each sequence stands. */
  readonly unsortedIndices: Tensor | null;

  constructor(
    data: Tensor | readonly [data: Tensor, batchSizes: Tensor],
    ...rest: [
      batchSizes?: Tensor | null | PackedOptions,
      sortedIndices?: Tensor | null | PackedOptions,
      unsortedIndices?: Tensor | null | PackedOptions,
    ]
  ) {
    type Given = [Tensor | readonly [Tensor, Tensor], Optional?, Optional?, Optional?];
    const given = inOrder<Given>("PackedSequence", CONSTRUCTORS.PackedSequence, [data, ...rest]);
    const [all, batchSizes = null, sortedIndices = null, unsortedIndices = null] = given;
    this.sortedIndices = sortedIndices;
    this.unsortedIndices = unsortedIndices ?? inverse(sortedIndices);
    if (batchSizes === null) {
      if (!Array.isArray(all) || all.length !== 2) {
        throw new AssertionError("Expected data to be a list or tuple of length 2");
      }
      for (const t of all) requireTensor(t);
      [this.data, this.batchSizes] = all as [Tensor, Tensor];
      return;
    }
    if (batchSizes.device.type !== "cpu") {
      throw new ValueError(
        "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They " +
          "should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. " +
          "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence",
      );
    }
    requireTensor(all);
    this.data = all;
    this.batchSizes = batchSizes;
  }

  /** Data, batch sizes, sorted and unsorted indices. */
  *[Symbol.iterator](): Iterator<Tensor | null> {
    yield this.data;
    yield this.batchSizes;
    yield this.sortedIndices;
    yield this.unsortedIndices;
  }

  private _with(data: Tensor): this {
    if (data === this.data) return this;
    const moved = (t: Optional): Optional => t?.to(data.device) ?? null;
    return new PackedSequence(data, this.batchSizes, moved(this.sortedIndices), moved(this.unsortedIndices)) as this;
  }

  /** With the data in another dtype or place; itself if it is there. @torch torch.nn.utils.rnn.PackedSequence.to */
  to(target: DTypeLike | DeviceLike | Tensor | PackedTarget, dtype?: DTypeLike | null): this {
    const move = this.data.to as (...args: unknown[]) => Tensor;
    return this._with(move.apply(this.data, dtype === undefined ? [target] : [target, dtype]));
  }
  /** On a GPU. @torch torch.nn.utils.rnn.PackedSequence.cuda */
  cuda(device?: DeviceLike | null): this {
    return this._with(this.data.cuda(device));
  }
  /** On the CPU. @torch torch.nn.utils.rnn.PackedSequence.cpu */
  cpu(): this {
    return this._with(this.data.cpu());
  }
  /** With data of float64. @torch torch.nn.utils.rnn.PackedSequence.double */
  double(): this {
    return this.to("float64");
  }
  /** With data of float32. @torch torch.nn.utils.rnn.PackedSequence.float */
  float(): this {
    return this.to("float32");
  }
  /** With data of float16. @torch torch.nn.utils.rnn.PackedSequence.half */
  half(): this {
    return this.to("float16");
  }
  /** With data of int64. @torch torch.nn.utils.rnn.PackedSequence.long */
  long(): this {
    return this.to("int64");
  }
  /** With data of int32. @torch torch.nn.utils.rnn.PackedSequence.int */
  int(): this {
    return this.to("int32");
  }
  /** With data of int16. @torch torch.nn.utils.rnn.PackedSequence.short */
  short(): this {
    return this.to("int16");
  }
  /** With data of int8. @torch torch.nn.utils.rnn.PackedSequence.char */
  char(): this {
    return this.to("int8");
  }
  /** With data of uint8. @torch torch.nn.utils.rnn.PackedSequence.byte */
  byte(): this {
    return this.to("uint8");
  }
  /** With data in pinned memory. @torch torch.nn.utils.rnn.PackedSequence.pin_memory */
  pinMemory(): this {
    const pinned = (t: Optional): Optional => t?.pinMemory() ?? null;
    const [sorted, unsorted] = [pinned(this.sortedIndices), pinned(this.unsortedIndices)];
    return new PackedSequence(this.data.pinMemory(), this.batchSizes, sorted, unsorted) as this;
  }
  /** Whether the data is on a GPU. */
  get isCuda(): boolean {
    return this.data.isCuda;
  }
  /** Whether the data is in pinned memory. @torch torch.nn.utils.rnn.PackedSequence.is_pinned */
  isPinned(): boolean {
    return this.data.isPinned();
  }

  /** As PyTorch prints it. */
  toString(): string {
    const text = (t: Optional): string => (t === null ? "None" : String(t));
    return (
      `PackedSequence(data=${text(this.data)}, batch_sizes=${text(this.batchSizes)}, ` +
      `sorted_indices=${text(this.sortedIndices)}, unsorted_indices=${text(this.unsortedIndices)})`
    );
  }
  [INSPECT](): string {
    return this.toString();
  }
}
installChecks(PackedSequence.prototype, PACKED);

/** Examples in another order. */
export function permuted(t: Tensor, order: Tensor | null): Tensor {
  return order === null ? t : O.index_select(t, 1, order);
}

export function inverse(permutation: Optional): Optional {
  if (permutation === null) return null;
  const positions = O.arange(permutation._numel, null, permutation.device, false);
  return O.scatter(O.empty_like(permutation, null, null, false, null), 0, permutation, positions);
}

/** Steps with equal batch sizes together. */
export function runs(batchSizes: readonly number[]): Stretch[] {
  const out: { steps: number; batch: number }[] = [];
  for (const batch of batchSizes) {
    const last = out.at(-1);
    if (last?.batch === batch) last.steps++;
    else out.push({ steps: 1, batch });
  }
  return out;
}

/** The stretches of a packed sequence; `width` is what the steps of an example are wide, for errors. */
export function stretchesOf(batchSizes: Tensor, data: Tensor, width: number): readonly Stretch[] {
  if (batchSizes.ndim !== 1) throw new RuntimeError("batch_sizes tensor should be 1D");
  if (batchSizes.dtype !== int64) {
    throw new RuntimeError(`expected scalar type Long but found ${batchSizes.dtype.scalarType}`);
  }
  const sizes = batchSizes.tolist().map(Number);
  if (sizes.length === 0) throw new IndexError("index 0 is out of bounds for dimension 0 with size 0");
  const rows = data._shape[0] ?? 0;
  let start = 0;
  for (const [i, size] of sizes.entries()) {
    const before = sizes[i - 1] ?? size;
    if (size > before) {
      throw new RuntimeError(
        `output with shape [${before}, ${width}] doesn't match the broadcast shape [${size}, ${width}]`,
      );
    }
    if (size < 0) throw new RuntimeError("narrow(): length must be non-negative.");
    if (start + size > rows) {
      throw new RuntimeError(`start (${start}) + length (${size}) exceeds dimension size (${rows}).`);
    }
    start += size;
  }
  return runs(sizes.filter((size: number, i: number) => size > 0 || i === 0));
}
