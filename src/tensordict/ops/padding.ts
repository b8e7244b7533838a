// Padding TensorDicts of different lengths to one, and taking the padding away again.
import { inOrder } from "../../tensor/checks.ts";
import { IndexError, KeyError, RuntimeError, ValueError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { keyPath, keyText, pythonString } from "../core/keys.ts";
import { noNested } from "../core/nested.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import {
  entriesOf,
  isBranch,
  isClassTd,
  isLazy,
  isNested,
  isNonTensor,
  isTensorCollection,
  make,
  stateOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import { full, zeros } from "../core/tensor-ops.ts";
import type { Entry, NestedKey } from "../core/types.ts";
import { isUnbatched, ofBatch } from "../core/unbatched.ts";
import { findEntry } from "./access.ts";
import { excludeKeys, shallowTree } from "./key-ops.ts";
import { narrowTd } from "./splitting.ts";
import { stackOfValues, valuesOf } from "./stacking.ts";
import { setEntry, updateTd } from "./writes.ts";

/** Values by key: an object of names, or a Map whose keys may be paths. */
export type ByKey<T> = Readonly<Record<string, T>> | ReadonlyMap<NestedKey, T>;

/** How a sequence is padded. */
export interface PadSequenceOptions {
  /** The dimension in which lengths differ, counted in each entry; 0 by default. */
  padDim?: number;
  /** What is put beside the shorter ones, for all entries or by key; 0 by default. */
  paddingValue?: number | ByKey<number>;
  /** Receives the result. */
  out?: Td | null;
  /** Add masks, true where an element is no padding, under "masks" or under this key. */
  returnMask?: boolean | NestedKey;
  /** Where the padding goes; "right" by default. */
  paddingSide?: "left" | "right";
}

type Path = readonly string[];

/** A key as Python's repr gives it. */
export function keyRepr(path: Path): string {
  return path.length === 1 ? pythonString(path[0] as string) : keyText(path);
}

/** Paths and values. */
export function byPath<T>(given: ByKey<T>): [Path, T][] {
  const pairs: [NestedKey, T][] = given instanceof Map ? [...given] : Object.entries(given);
  return pairs.map(([key, value]) => [keyPath(key), value]);
}

const idOf = (path: Path): string => JSON.stringify(path);

/** The entries that are no levels, with their paths. */
function* leavesIn(td: Td, prefix: Path = []): Generator<[Path, Entry]> {
  for (const [key, entry] of entriesOf(td)) {
    if (isBranch(entry)) yield* leavesIn(entry, [...prefix, key]);
    else yield [[...prefix, key], entry];
  }
}

/** Which dimension of an entry is padded. */
function dimOf(path: Path, tensor: Tensor, padDim: number): number {
  if (tensor.ndim === 0) throw new RuntimeError("Cannot pad scalars");
  const dim = padDim >= 0 ? padDim : tensor.ndim + padDim;
  if (dim < 0) {
    const shape = `(${tensor._shape.join(", ")}${tensor.ndim === 1 ? "," : ""})`;
    throw new IndexError(`pad_dim=${padDim} is out of range for the entry ${keyRepr(path)} of shape ${shape}.`);
  }
  if (dim >= tensor.ndim) throw new IndexError("tuple index out of range");
  return dim;
}

/** The batch size of the result without its first dimension, and which of its dimensions grew. */
function paddedBatch(
  list: readonly Td[],
  paths: readonly Path[],
  padDim: number,
  hasOut: boolean,
): [number[], number | null] {
  const batch = [...(list[0] as Td)._batchSize];
  const inBatch = new Set<number>();
  let [inFeatures, longest, longer]: [boolean, number, string | null] = [false, -1, null];
  let longerDim = 0;
  for (const td of list) {
    for (const path of paths) {
      const entry = findEntry(td, path);
      if (!(entry instanceof Tensor) || isUnbatched(entry)) continue;
      const dim = dimOf(path, entry, padDim);
      const length = entry._shape[dim] as number;
      longest = Math.max(longest, length);
      if (dim >= td._batchSize.length) inFeatures = true;
      else inBatch.add(dim);
      if (dim < batch.length && length > (batch[dim] as number)) [longer, longerDim] = [keyRepr(path), dim];
    }
  }
  if (batch.length === 0 || inFeatures || inBatch.size > 1) {
    if (inBatch.size > 0 && padDim < 0 && longer !== null && !hasOut) {
      throw new ValueError(
        `pad_dim=${padDim} counts from the last dim of each entry and lands on batch dims ` +
          `[${[...inBatch].sort((a, b) => a - b).join(", ")}]${inFeatures ? " and on feature dims" : ""} of the ` +
          `entries, so the batch cannot be padded along it, but the ` +
          `entry ${longer} is longer than the batch of the first ` +
          `sample along dim ${longerDim}.`,
      );
    }
    return [batch, null];
  }
  const dim = [...inBatch][0] ?? (padDim < 0 ? padDim + batch.length : padDim);
  if (dim < 0 || dim >= batch.length) throw new IndexError("tuple index out of range");
  batch[dim] = longest >= 0 ? longest : Math.max(...list.map((td) => td._batchSize[dim] as number));
  return [batch, dim];
}

/** Tensors of different lengths in one, with `value` beside the shorter ones. */
function padTensors(tensors: readonly Tensor[], dim: number, value: number | boolean, side: "left" | "right"): Tensor {
  const first = tensors[0] as Tensor;
  const length = Math.max(...tensors.map((t) => t._shape[dim] as number));
  const shape = first._shape.map((n, i) => (i === dim ? length : n));
  const out = zeros([tensors.length, ...shape], { dtype: first.dtype, device: first.device });
  if (value !== 0 && value !== false) out.fill_(value);
  for (const [i, t] of tensors.entries()) {
    const own = t._shape[dim] as number;
    out
      .select(0, i)
      .narrow(dim, side === "right" ? 0 : length - own, own)
      .copy_(t);
  }
  return out;
}

/** Values of another batch size: null where there were none. */
function padValues(entry: ValueTd, dim: number, length: number, side: "left" | "right"): ValueTd {
  const batch = entry._batchSize;
  const own = batch[dim] as number;
  if (own >= length) return entry;
  const inner = batch.slice(dim + 1).reduce((n, size) => n * size, 1);
  const values = valuesOf(entry);
  const padded: unknown[] = [];
  const none = new Array<null>((length - own) * inner).fill(null);
  for (let at = 0; at < values.length; at += own * inner) {
    const part = values.slice(at, at + own * inner);
    padded.push(...(side === "right" ? [...part, ...none] : [...none, ...part]));
  }
  const batchSize = Size.fromList(batch.map((n, i) => (i === dim ? length : n)));
  return make.nonTensorStack(padded, stateOf(entry, { batchSize }));
}

/** One entry of the result. */
class Padder {
  readonly batchSize: Size;
  private readonly batch: readonly number[];
  private readonly batchDim: number | null;
  private readonly values: ReadonlyMap<string, number>;
  private readonly value: number;

  constructor(
    private readonly list: readonly Td[],
    paths: readonly Path[],
    private readonly options: PadSequenceOptions,
  ) {
    [this.batch, this.batchDim] = paddedBatch(list, paths, options.padDim ?? 0, (options.out ?? null) !== null);
    this.batchSize = Size.fromList([list.length, ...this.batch]);
    const given = options.paddingValue ?? 0;
    this.value = typeof given === "object" ? 0 : Number(given);
    const named = typeof given === "object" ? byPath(given) : [];
    const known = new Set(paths.map(idOf));
    const missing = named.filter(([path]) => !known.has(idOf(path))).map(([path]) => keyRepr(path));
    if (missing.length > 0) {
      throw new KeyError(
        `padding_value has keys [${missing.join(", ")}] that name no entry of the tensordicts, whose entries are ` +
          `[${paths.map(keyRepr).sort().join(", ")}].`,
      );
    }
    this.values = new Map(named.map(([path, value]) => [idOf(path), value]));
  }

  private side(): "left" | "right" {
    return this.options.paddingSide ?? "right";
  }

  entry(path: Path): Entry {
    const entries = this.list.map((td) => findEntry(td, path) as Entry);
    const first = entries[0] as Entry;
    if (isUnbatched(first)) return ofBatch(first, this.batchSize);
    if (isNested(first)) throw noNested("padding", keyText(path));
    try {
      if (isNonTensor(first)) return this.stackValues(entries as ValueTd[]);
      const dim = dimOf(path, first as Tensor, this.options.padDim ?? 0);
      return padTensors(entries as Tensor[], dim, this.values.get(idOf(path)) ?? this.value, this.side());
    } catch (error) {
      throw new RuntimeError(`pad_sequence failed for key ${keyText(path)}`, { cause: error });
    }
  }

  private stackValues(entries: readonly ValueTd[]): Td {
    const { batchDim } = this;
    const length = batchDim === null ? 0 : (this.batch[batchDim] as number);
    const padded = entries.map((entry) =>
      batchDim === null ? entry : padValues(entry, batchDim, length, this.side()),
    );
    return stackOfValues(padded, stateOf(entries[0] as ValueTd, { batchSize: this.batchSize, names: null }));
  }

  /** True where an element of the batch, or of an entry behind it, is no padding. */
  mask(path: Path): Tensor | null {
    const entries = this.list.map((td) => findEntry(td, path) as Entry);
    if (!(entries[0] instanceof Tensor) || isUnbatched(entries[0])) return null;
    const rank = (this.list[0] as Td)._batchSize.length;
    const dim = dimOf(path, entries[0], this.options.padDim ?? 0);
    const masks = (entries as Tensor[]).map((t, i) => {
      const batch = (this.list[i] as Td)._batchSize;
      return full(dim >= rank ? [...batch, t._shape[dim] as number] : batch, true);
    });
    return padTensors(masks, Math.min(dim, rank), false, this.side());
  }

  /** A level of the result, made as that of the first TensorDict is. */
  level(like: Td, at: Path, make_: (path: Path) => Entry | null, only: ReadonlySet<string>): Td {
    const entries = new Map<string, Entry>();
    // As in Python, what holds others and what is no tensor comes first.
    const pairs = [...entriesOf(like)];
    const ordered = [
      ...pairs.filter(([, one]) => isTensorCollection(one)),
      ...pairs.filter(([, one]) => !isTensorCollection(one)),
    ];
    for (const [key, entry] of ordered) {
      const path = [...at, key];
      if (isBranch(entry)) entries.set(key, this.level(entry, path, make_, only));
      else if (only.has(idOf(path))) {
        const made = make_(path);
        if (made !== null) entries.set(key, made);
      }
    }
    const state = stateOf(like, { batchSize: this.batchSize, names: null });
    return isLazy(like) ? make.tensordict(entries, state) : like._like(entries, state);
  }
}

/**
 * Pads TensorDicts of different lengths and stacks them: every entry is padded along one dimension to the longest.
 * Where that is a dimension of the batch, the batch grows too, and values that are no tensors are null there.
 * @throws RuntimeError for an empty list, and for entries whose sizes differ in another dimension
 * @example
 * ```ts
 * const parts = [new TensorDict({ a: ones(2) }, [2]), new TensorDict({ a: ones(3) }, [3])];
 * tensordict.padSequence(parts).get("a") // tensor([[1., 1., 0.],
 * //         [1., 1., 1.]])
 * ```
 * @torch tensordict.pad_sequence
 */
export function padSequenceTds(list: readonly Td[], options: PadSequenceOptions = {}): Td {
  [list, options = {}] = inOrder<Parameters<typeof padSequenceTds>>("padSequence", FUNCTIONS.padSequence, arguments);
  const first = list[0];
  if (first === undefined) throw new RuntimeError("list_of_tensordicts cannot be empty");
  const { paddingSide: side = "right", returnMask = false } = options;
  if (side !== "left" && side !== "right") {
    throw new ValueError(`padding_side must be 'left' or 'right', got ${pythonString(String(side))}.`);
  }
  if (returnMask !== false && isClassTd(first)) {
    throw new RuntimeError(
      "Expected 'return_mask=False' when list_of_tensordicts contains tensorclasses, but got 'return_mask=True'. If " +
        "you want masks, plase convert the tensorclasses to TensorDicts first.",
    );
  }
  const inAll = (path: Path) => list.every((td) => findEntry(td, path) !== undefined);
  const paths = [...leavesIn(first)].map(([path]) => path).filter(inAll);
  const padder = new Padder(list, paths, options);
  const only = new Set(paths.map(idOf));
  const result = padder.level(first, [], (path) => padder.entry(path), only);
  if (returnMask !== false) {
    const masks = padder.level(shallowTree(first), [], (path) => padder.mask(path), only);
    setEntry(result, returnMask === true ? "masks" : returnMask, masks);
  }
  if ((options.out ?? null) === null) return result;
  updateTd(options.out as Td, result, { inplace: true });
  return options.out as Td;
}

/** Where the elements that are no padding begin in each row of a mask, and how many there are. */
function runsOf(mask: Tensor, path: Path | null): [starts: number[], lengths: number[]] {
  const [rows, width] = mask._shape as [number, number];
  if (width === 0) return [new Array(rows).fill(0), new Array(rows).fill(0)];
  const marks = mask.to("uint8");
  const list = (t: Tensor) => t.tolist() as number[];
  const [starts, back] = [list(marks.argmax(-1)), list(marks.flip(-1).argmax(-1))];
  const lengths = list(marks.sum(-1));
  for (let i = 0; i < rows; i++) {
    const run = width - (back[i] as number) - (starts[i] as number);
    if (lengths[i] === 0 || run === lengths[i]) continue;
    throw new ValueError(
      `The mask${path === null ? "" : ` of key ${keyRepr(path)}`} marks positions that are not contiguous in some ` +
        "row: unpad_sequence keeps one contiguous run per row.",
    );
  }
  return [starts, lengths];
}

/** How a batch is unpadded. */
export interface UnpadSequenceOptions {
  /** The dimension that was padded, counted in the entries of a sample; 0 by default. */
  padDim?: number;
}

class Unpadder {
  private readonly rank: number;
  private readonly dims = new Map<string, [Path, number]>();

  constructor(
    private readonly padded: Td,
    private readonly mask: Td | Tensor,
    private readonly padDim: number,
  ) {
    this.rank = padded._batchSize.length - 1;
    for (const [path, entry] of leavesIn(padded)) {
      if (isNested(entry)) throw noNested("unpadding", keyText(path));
      if (!(entry instanceof Tensor) || isUnbatched(entry)) continue;
      this.dims.set(idOf(path), [path, padDim >= 0 ? padDim : entry.ndim - 1 + padDim]);
    }
  }

  private runs(path: Path | null, dim: number, longest: number): [number[], number[]] {
    const { mask, rank } = this;
    if (mask instanceof Tensor) {
      const [rows, width] = mask._shape as [number, number];
      if (width === longest) return runsOf(mask, path);
      throw new ValueError(
        `A tensor mask must have shape [len(padded), max_len] = [${rows}, ${longest}], got (${rows}, ${width}).`,
      );
    }
    const found = path === null ? undefined : findEntry(mask, path);
    if (!(found instanceof Tensor)) {
      throw new KeyError(`The mask has no entry for key ${path === null ? "None" : keyRepr(path)} of padded.`);
    }
    let rows = found.movedim(Math.min(dim, rank) + 1, -1);
    if (rows.ndim > 2) rows = rows.flatten(1, -2).any(1);
    return runsOf(rows, path);
  }

  samples(): Td[] {
    const { padded, rank } = this;
    const places = [...this.dims.values()];
    const all = Array.from({ length: padded._batchSize[0] as number }, (_, i) => padded.at(i) as Td);
    if (rank > 0 && places.every(([, dim]) => dim < rank)) {
      // The batch was padded, too: a part of it has all entries without padding.
      const [path, dim] = places[0] ?? [null, ((this.padDim % rank) + rank) % rank];
      const [starts, lengths] = this.runs(path, dim, padded._batchSize[dim + 1] as number);
      return all.map((sample, i) => narrowTd(sample, dim, starts[i] as number, lengths[i] as number));
    }
    const runs = places.map(([path, dim]) => {
      const length = (findEntry(padded, path) as Tensor)._shape[dim + 1] as number;
      return [path, dim, length, ...this.runs(path, dim, length)] as const;
    });
    return all.map((sample, i) => {
      const cut = runs.filter(([, , length, starts, lengths]) => starts[i] !== 0 || lengths[i] !== length);
      if (cut.length === 0) return sample;
      const result = shallowTree(
        excludeKeys(
          sample,
          cut.map(([path]) => path),
        ),
      );
      for (const [path, dim, , starts, lengths] of cut) {
        const tensor = findEntry(sample, path) as Tensor;
        setEntry(result, path, tensor.narrow(dim, starts[i] as number, lengths[i] as number));
      }
      return result;
    });
  }
}

/**
 * Turns a padded batch back into the samples, which are views of it, with their own lengths and batch sizes. Python
 * gives them in a lazy stack; they are an array here, since a lazy stack has one batch size for all.
 * @param padded the batch, with the samples along its first dimension
 * @param mask what is no padding: a TensorDict with a mask for each entry, as `padSequence` makes them, or one tensor
 * `[number of samples, longest]` for all; by default the entry "masks", which the result does not have then
 * @throws ValueError without a mask, for one of another shape, and where the marked elements of a row are not one run
 * @example
 * ```ts
 * const parts = [new TensorDict({ a: ones(2) }, [2]), new TensorDict({ a: ones(3) }, [3])];
 * const padded = tensordict.padSequence(parts, { returnMask: true });
 * tensordict.unpadSequence(padded)[0].get("a") // tensor([1., 1.])
 * ```
 * @torch tensordict.unpad_sequence
 */
export function unpadSequence(padded: Td, mask: Td | Tensor | null = null, options: UnpadSequenceOptions = {}): Td[] {
  [padded, mask = null, options = {}] = inOrder<Parameters<typeof unpadSequence>>(
    "unpadSequence",
    FUNCTIONS.unpadSequence,
    arguments,
  );
  if (padded._batchSize.length === 0) {
    throw new ValueError("unpad_sequence needs the samples along the first batch dimension of padded, which has none.");
  }
  if (mask === null) {
    const found = padded._own("masks");
    if (!isBranch(found)) {
      throw new ValueError(
        "unpad_sequence needs a mask: pass mask=..., or pad with pad_sequence(..., return_mask=True).",
      );
    }
    mask = found;
    padded = excludeKeys(padded, ["masks"]);
  } else if (mask instanceof Tensor && (mask.ndim !== 2 || mask._shape[0] !== padded._batchSize[0])) {
    const shape = `(${mask._shape.join(", ")}${mask.ndim === 1 ? "," : ""})`;
    throw new ValueError(`A tensor mask must have shape [len(padded), max_len], got ${shape}.`);
  }
  return new Unpadder(padded, mask, options.padDim ?? 0).samples();
}
