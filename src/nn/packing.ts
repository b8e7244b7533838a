/** Sequences of different lengths: padded to one length, or packed without what pads them. @torch torch.nn.utils.rnn */

import * as O from "../../generated/ops.ts";
import { fromTypedArray, tensor } from "../api/tensor-data.ts";
import { indexTensor } from "../dispatch/copy.ts";
import { inOrder } from "../tensor/checks.ts";
import { CPU } from "../tensor/device.ts";
import { int64 } from "../tensor/dtype.ts";
import { RuntimeError, TypeError, ValueError } from "../tensor/errors.ts";
import { sameSizes } from "../tensor/size.ts";
import { tidy } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { inverse, PackedSequence, runs } from "./packed-sequence.ts";
import { FUNCTIONS } from "./signatures.ts";

export { type PackedOptions, PackedSequence, type PackedTarget } from "./packed-sequence.ts";

type Optional = Tensor | null;

/** Options of the functions that pad. */
export interface PaddingOptions {
  /** Whether the batch is the first dimension. Default false: the steps are. */
  batchFirst?: boolean;
  /** What pads. Default 0. */
  paddingValue?: number;
}
/** Options of `padSequence`. */
export interface PadSequenceOptions extends PaddingOptions {
  /** On which side. Default `"right"`. */
  paddingSide?: "right" | "left";
}
/** Options of `padPackedSequence`. */
export interface PadPackedOptions extends PaddingOptions {
  /** How long they become; by default as long as the longest. */
  totalLength?: number | null;
}
/** Options of `packPaddedSequence`. */
export interface PackOptions {
  /** Whether the batch is the first dimension. Default false: the steps are. */
  batchFirst?: boolean;
  /** Refuses sequences that do not come in the order of their lengths, the longest first. Default true. */
  enforceSorted?: boolean;
}

/**
 * The permutation that undoes another one; null for null.
 * @throws RuntimeError for positions that are out of range or no int64
 * @example
 * ```ts
 * nn.utils.rnn.invertPermutation(tensor([2, 0, 1], { dtype: "int64" })) // tensor([1, 2, 0])
 * ```
 * @torch torch.nn.utils.rnn.invert_permutation
 */
export function invertPermutation<T extends Tensor | null>(permutation: T): T;
export function invertPermutation(...args: unknown[]): Optional {
  const [given] = inOrder<[Optional]>("invertPermutation", FUNCTIONS.invertPermutation, args);
  return tidy(() => inverse(given));
}

/** Lengths or batch sizes as numbers. */
function lengthsOf(t: Tensor): number[] {
  if (t.ndim === 1 && t.device.type === "cpu" && t.dtype === int64) return t.tolist().map(Number);
  throw new RuntimeError(
    `'lengths' argument should be a 1D CPU int64 tensor, but got ${t.ndim}D ${t.device} ${t.dtype.scalarType} tensor`,
  );
}

/** An int64 vector of positions below 2^31, without an object for each. */
class Positions {
  private readonly halves: Int32Array;
  private at = 0;
  constructor(readonly count: number) {
    this.halves = new Int32Array(2 * count);
  }
  add(position: number): void {
    this.halves[this.at] = position;
    this.at += 2;
  }
  tensor(): Tensor {
    return fromTypedArray(new BigInt64Array(this.halves.buffer));
  }
}

/** Rows of a padded batch, step after step, of those that have the step. */
function places(batchSizes: readonly number[], steps: number, batch: number, batchFirst: boolean): Tensor {
  const sizes = batchSizes.slice(0, steps);
  const out = new Positions(sizes.reduce((a, b) => a + b, 0));
  for (const [t, size] of sizes.entries()) {
    for (let b = 0; b < size; b++) out.add(batchFirst ? b * steps + t : t * batch + b);
  }
  return out.tensor();
}

/** The dimensions behind steps and examples. */
const behind = (t: Tensor, count: number): readonly number[] => t._shape.slice(count);
const timesAll = (sizes: readonly number[]): number => sizes.reduce((a, b) => a * b, 1);

/**
 * Packs a padded batch, steps x batch or batch x steps with `batchFirst`, of sequences of these lengths.
 * @throws RuntimeError for lengths that are not above zero, beyond the elements of the input, not as many as there are
 * sequences, or not in order, the longest first, unless `enforceSorted` is false
 * @example
 * ```ts
 * const padded = tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]]);
 * const packed = nn.utils.rnn.packPaddedSequence(padded, [2, 1, 3],
 *   { batchFirst: true, enforceSorted: false });
 * [packed.data, packed.sortedIndices] // [tensor([4., 1., 3., 5., 2., 6.]), tensor([2, 0, 1])]
 * ```
 * @torch torch.nn.utils.rnn.pack_padded_sequence
 */
export function packPaddedSequence(
  input: Tensor,
  lengths: Tensor | readonly number[],
  batchFirst?: boolean | PackOptions,
  enforceSorted?: boolean | PackOptions,
): PackedSequence;
export function packPaddedSequence(...args: unknown[]): PackedSequence {
  type Given = [Tensor, Tensor | readonly number[], boolean?, boolean?];
  const name = "packPaddedSequence";
  const [input, lengths, batchFirst = false, sorted = true] = inOrder<Given>(name, FUNCTIONS[name], args);
  if (typeof lengths !== "object" || lengths === null || !(Symbol.iterator in lengths)) {
    throw new TypeError(`'${typeName(lengths)}' object cannot be interpreted as an integer`);
  }
  const given = lengths instanceof Tensor ? lengths.to(int64) : tensor([...lengths], { dtype: int64, device: "cpu" });
  return packed(input, given, batchFirst, sorted);
}

function packed(input: Tensor, given: Tensor, batchFirst: boolean, isSorted: boolean): PackedSequence {
  const [data, batchSizes, sortedIndices] = tidy((): [Tensor, Tensor, Optional] => {
    let [padded, lengths, order] = [input, given, null as Optional];
    if (!isSorted) {
      const found = O.sort(lengths, -1, true);
      lengths = found[0];
      order = found[1].to(input.device);
      padded = O.index_select(input, batchFirst ? 0 : 1, order);
    }
    const sizes = batchSizesOf(padded, lengths, batchFirst);
    const [first, second] = padded._shape as [number, number];
    const [steps, batch] = batchFirst ? [second, first] : [first, second];
    const rows = padded.reshape([steps * batch, ...behind(padded, 2)]);
    const index = places(sizes, steps, batch, batchFirst).to(input.device);
    return [O.index_select(rows, 0, index), indexTensor(sizes.map(BigInt)), order];
  });
  return new PackedSequence(data, batchSizes, sortedIndices, null);
}

function batchSizesOf(input: Tensor, given: Tensor, batchFirst: boolean): number[] {
  const lengths = lengthsOf(given);
  const batch = input.size(batchFirst ? 0 : 1);
  if (input._numel === 0) throw new RuntimeError("Cannot pack empty tensors.");
  if (lengths.length !== batch) {
    throw new RuntimeError(
      `Expected \`len(lengths)\` to be equal to batch_size, but got ${lengths.length} (batch_size=${batch})`,
    );
  }
  if ((lengths.at(-1) as number) <= 0) {
    throw new RuntimeError(
      "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0",
    );
  }
  if (lengths.some((length, i) => i > 0 && length > (lengths[i - 1] as number))) {
    throw new RuntimeError(
      "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass " +
        "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do " +
        "not need ONNX exportability.",
    );
  }
  const steps = input.size(batchFirst ? 1 : 0);
  // As in PyTorch a length may be beyond the steps, but there are no more batch sizes than the input has elements.
  if ((lengths[0] as number) > input._numel) {
    throw new RuntimeError(`Expected all lengths to be at most the number of steps, ${steps}, but got ${lengths[0]}`);
  }
  const sizes: number[] = [];
  for (let at = batch, step = 0; at > 0; at--) for (; step < (lengths[at - 1] as number); step++) sizes.push(at);
  return sizes;
}

/** A tensor of one value in `rows`, but for those that `index` names. */
function spread(source: Tensor, index: Tensor, rows: number, value: number): Tensor {
  const { dtype, device } = source;
  const out = O.full([rows, ...behind(source, 1)], value, dtype, device, false);
  return O.index_copy_(out, 0, index.to(device), source);
}

/**
 * Unpacks into a padded batch, and the lengths of its sequences, in the order in which they were packed.
 * @throws ValueError for a `totalLength` that is less than the longest sequence
 * @example
 * ```ts
 * const { rnn } = nn.utils;
 * const packed = rnn.packSequence([tensor([1, 2]), tensor([3])]);
 * const [padded, lengths] = rnn.padPackedSequence(packed, { batchFirst: true, paddingValue: -1 });
 * [padded.tolist(), lengths] // [[[1, 2], [3, -1]], tensor([2, 1])]
 * ```
 * @torch torch.nn.utils.rnn.pad_packed_sequence
 */
export function padPackedSequence(
  sequence: PackedSequence,
  batchFirst?: boolean | PadPackedOptions,
  paddingValue?: number | PadPackedOptions,
  totalLength?: number | null | PadPackedOptions,
): [padded: Tensor, lengths: Tensor];
export function padPackedSequence(...args: unknown[]): [padded: Tensor, lengths: Tensor] {
  type Given = [PackedSequence, boolean?, number?, (number | null)?];
  const name = "padPackedSequence";
  const [sequence, batchFirst = false, value = 0, total = null] = inOrder<Given>(name, FUNCTIONS[name], args);
  return tidy(() => unpacked(sequence, batchFirst, Number(value), total));
}

function unpacked(
  sequence: PackedSequence,
  batchFirst: boolean,
  value: number,
  total: number | null,
): [Tensor, Tensor] {
  const { data, batchSizes, unsortedIndices } = sequence;
  const longest = batchSizes.size(0);
  if (total !== null && total < longest) {
    throw new ValueError(
      "Expected total_length to be at least the length of the longest sequence in input, but got " +
        `total_length=${total} and max sequence length being ${longest}`,
    );
  }
  const sizes = lengthsOf(batchSizes);
  const [batch = 0, steps] = [sizes[0], total ?? longest];
  requireRows(sizes, data);
  const taken = sizes.reduce((a, b) => a + b, 0);
  const source = taken === data._shape[0] ? data : data.narrow(0, 0, taken);
  const flat = spread(source, places(sizes, steps, batch, false), steps * batch, value);
  const rows = flat.view([steps, batch, ...behind(data, 1)]);
  const padded = batchFirst ? O.transpose(rows, 0, 1) : rows;
  const lengths = indexTensor(Array.from({ length: batch }, (_, b) => BigInt(sizes.filter((s) => s > b).length)));
  if (unsortedIndices === null) return [padded, lengths];
  const inOrderGiven = O.index_select(padded, batchFirst ? 0 : 1, unsortedIndices);
  return [inOrderGiven, O.index_select(lengths, 0, unsortedIndices.to(CPU))];
}

/** Refuses batch sizes that grow, and more than there is data for. */
function requireRows(sizes: readonly number[], data: Tensor): void {
  const [batch = 0] = sizes;
  let left = data._shape[0] ?? 0;
  const rest = behind(data, 1);
  for (const run of runs(sizes)) {
    if (run.batch > batch || run.batch < 0) {
      const [to, from] = [batch, run.batch].map((b) => [run.steps, b, ...rest].join(", "));
      throw new RuntimeError(`output with shape [${to}] doesn't match the broadcast shape [${from}]`);
    }
    if (run.steps * run.batch > left) {
      const shape = [run.steps, run.batch, ...rest].join(", ");
      throw new RuntimeError(`shape '[${shape}]' is invalid for input of size ${left * timesAll(rest)}`);
    }
    left -= run.steps * run.batch;
  }
}

/**
 * Stacks sequences of different lengths, padded to the longest: steps x batch, or batch x steps with `batchFirst`.
 * @throws RuntimeError for no sequences, and for ones whose other sizes differ
 * @example
 * ```ts
 * nn.utils.rnn.padSequence([tensor([1, 2]), tensor([3])], { batchFirst: true })
 * // tensor([[1., 2.],
 * //         [3., 0.]])
 * ```
 * @torch torch.nn.utils.rnn.pad_sequence
 */
export function padSequence(
  sequences: Tensor | Iterable<Tensor>,
  batchFirst?: boolean | PadSequenceOptions,
  paddingValue?: number | PadSequenceOptions,
  paddingSide?: "right" | "left" | PadSequenceOptions,
): Tensor;
export function padSequence(...args: unknown[]): Tensor {
  type Given = [unknown, boolean?, number?, string?];
  const name = "padSequence";
  const [given, batchFirst = false, value = 0, side = "right"] = inOrder<Given>(name, FUNCTIONS[name], args);
  const list = sequencesOf("pad_sequence", given);
  return tidy(() => padded(list, batchFirst, Number(value), side));
}

function sequencesOf(name: string, given: unknown): Tensor[] {
  if (given instanceof Tensor) return [...given];
  if (typeof given !== "object" || given === null || !(Symbol.iterator in given)) {
    const words = `Expected iterable for input sequences, but got arg of type: <class '${typeName(given)}'>`;
    throw new RuntimeError(`${name}: ${words}`);
  }
  const list = [...(given as Iterable<Tensor>)];
  for (const [i, t] of list.entries()) {
    if (t instanceof Tensor) continue;
    throw new TypeError(`expected Tensor as element ${i} in argument 0, but got ${typeName(t)}`);
  }
  return list;
}

function padded(list: readonly Tensor[], batchFirst: boolean, value: number, side: string): Tensor {
  const [first] = list;
  if (first === undefined) throw new RuntimeError("received an empty list of sequences");
  if (side !== "right" && side !== "left") {
    throw new RuntimeError(`Expected padding_side to be one of left or right, but got ${side}.`);
  }
  if (list.some((t) => t.ndim === 0)) throw new RuntimeError("ArrayRef: invalid slice, N = 1; size = 0");
  const lengths = list.map((t) => t._shape[0] as number);
  const steps = Math.max(...lengths);
  const rest = behind(first, 1);
  const alike = list.every(
    (t) => t.dtype === first.dtype && t.device === first.device && sameSizes(behind(t, 1), rest),
  );
  if (alike && lengths.every((length) => length === steps)) return O.stack(list, batchFirst ? 0 : 1);
  const sizes = batchFirst ? [list.length, steps] : [steps, list.length];
  const skipped = lengths.map((length) => (side === "left" ? steps - length : 0));
  if (alike) {
    const rows = new Positions(lengths.reduce((x, y) => x + y, 0));
    for (const [b, length] of lengths.entries()) {
      for (let i = 0, t = skipped[b] as number; i < length; i++, t++) {
        rows.add(batchFirst ? b * steps + t : t * list.length + b);
      }
    }
    return spread(O.cat(list, 0), rows.tensor(), steps * list.length, value).view([...sizes, ...rest]);
  }
  const out = O.full([...sizes, ...rest], value, first.dtype, first.device, false);
  for (const [b, t] of list.entries()) {
    out
      .select(batchFirst ? 0 : 1, b)
      .narrow(0, skipped[b] as number, lengths[b] as number)
      .copy_(t);
  }
  return out;
}

/**
 * The sequences of a padded batch, without their padding. Unlike PyTorch's it leaves the batch itself as it is.
 * @throws ValueError for more or fewer lengths than there are sequences
 * @example
 * ```ts
 * const padded = tensor([[1, 2], [3, 0]]);
 * nn.utils.rnn.unpadSequence(padded, tensor([2, 1], { dtype: "int64" }), { batchFirst: true })
 * // [tensor([1., 2.]), tensor([3.])]
 * ```
 * @torch torch.nn.utils.rnn.unpad_sequence
 */
export function unpadSequence(
  paddedSequences: Tensor,
  lengths: Tensor,
  batchFirst?: boolean | { batchFirst?: boolean },
): Tensor[];
export function unpadSequence(...args: unknown[]): Tensor[] {
  type Given = [Tensor, Tensor, boolean?];
  const [batch, lengths, batchFirst = false] = inOrder<Given>("unpadSequence", FUNCTIONS.unpadSequence, args);
  return tidy(() => unpadded(batchFirst ? batch : O.transpose(batch, 0, 1), lengths));
}

function unpadded(batch: Tensor, given: Tensor): Tensor[] {
  const steps = batch.size(1);
  const lengths = given.tolist();
  if (!Array.isArray(lengths)) throw new TypeError("iteration over a 0-d tensor");
  const count = batch._shape[0] as number;
  if (lengths.length !== count) {
    throw new ValueError(`zip() argument 2 is ${lengths.length < count ? "shorter" : "longer"} than argument 1`);
  }
  return lengths.map((length, i) => {
    const kept = Math.min(Math.max(Math.ceil(Number(length)), 0), steps);
    return batch.select(0, i).narrow(0, 0, kept).clone();
  });
}

/**
 * Packs sequences of different lengths.
 * @throws RuntimeError for sequences that do not come in order, the longest first, unless `enforceSorted` is false
 * @example
 * ```ts
 * nn.utils.rnn.packSequence([tensor([1, 2, 3]), tensor([4, 5]), tensor([6])]).data
 * // tensor([1., 4., 6., 2., 5., 3.])
 * ```
 * @torch torch.nn.utils.rnn.pack_sequence
 */
export function packSequence(
  sequences: Iterable<Tensor>,
  enforceSorted?: boolean | { enforceSorted?: boolean },
): PackedSequence;
export function packSequence(...args: unknown[]): PackedSequence {
  const [given, sorted = true] = inOrder<[unknown, boolean?]>("packSequence", FUNCTIONS.packSequence, args);
  const list = sequencesOf("pack_sequence", given);
  const batch = tidy(() => padded(list, false, 0, "right"));
  return packed(batch, indexTensor(list.map((t) => BigInt(t.size(0)))), false, sorted);
}

/**
 * The sequences of a packed one, in the order in which they were packed.
 * @example
 * ```ts
 * const { rnn } = nn.utils;
 * rnn.unpackSequence(rnn.packSequence([tensor([1, 2]), tensor([3])]))
 * // [tensor([1., 2.]), tensor([3.])]
 * ```
 * @torch torch.nn.utils.rnn.unpack_sequence
 */
export function unpackSequence(packedSequences: PackedSequence): Tensor[] {
  const given = inOrder<[PackedSequence]>("unpackSequence", FUNCTIONS.unpackSequence, arguments);
  return tidy(() => {
    const [batch, lengths] = unpacked(given[0], true, 0, null);
    return unpadded(batch, lengths);
  });
}
