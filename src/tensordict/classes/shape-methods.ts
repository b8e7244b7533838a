// Methods that move, turn and repeat batch dimensions, make collections after the model of one, and list what is in it.

import { Buffer } from "../../nn/parameter.ts";
import type { DTypeLike } from "../../tensor/dtype.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { dropGrad } from "../../tensor/temporaries.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { keyPath } from "../core/keys.ts";
import { settings } from "../core/settings.ts";
import { isSharedTd } from "../core/shared.ts";
import {
  Collection,
  entriesOf,
  isClassTd,
  isLazy,
  isNonTensor,
  isTensorCollection,
  make,
  stateOf,
  type Td,
} from "../core/state.ts";
import type { Entry, IndexPart, NestedKey, Schema, SizeLike } from "../core/types.ts";
import { likeEntry } from "../core/unbatched.ts";
import { deleteEntry, findEntry, requireEntry, tensorsOf } from "../ops/access.ts";
import { assignData } from "../ops/assigning.ts";
import { withoutValues } from "../ops/key-ops.ts";
import { type PadOptions, padTd } from "../ops/pad.ts";
import { applyLeaves } from "../ops/pointwise.ts";
import {
  atLeastTd,
  depthOf,
  expandAsTd,
  flipTd,
  movedimTd,
  remade,
  repeatInterleaveTd,
  tensorSplitTd,
  tileTd,
} from "../ops/rearranging.ts";
import { inPlace } from "../ops/rebinding.ts";
import { expandTd, type InplaceOptions, transposeTd } from "../ops/shape.ts";
import { narrowTd } from "../ops/splitting.ts";
import { requireOutside } from "../ops/writes.ts";
import type { EntryMethods } from "./entry-methods.ts";

/** Options of `newZeros` and its like. */
export interface NewOptions {
  dtype?: DTypeLike;
  requiresGrad?: boolean;
  /** Lazy stacks are stacks of members without tensors. */
  emptyLazy?: boolean;
}

const spread = (list: readonly (number | readonly number[])[]): number[] => list.flat() as number[];

/** What the functions of this room give for a collection is of its own class. */
function own<T>(made: Td | readonly Td[]): T {
  return made as T;
}

/** Joined to those of the other files for the compiler: they come into a program one by one (late-methods.ts). */
export interface ShapeMethods<in out S = Schema> extends EntryMethods<S> {}

/** Rearranging, modelling and listing of collections. */
export abstract class ShapeMethods<in out S = Schema> extends Collection<S> {
  /**
   * Batch dimensions at other places; a view.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2, 3, 4) }, [2, 3, 4]).movedim(0, -1).batchSize // torch.Size([3, 4, 2])
   * ```
   * @torch TensorDict.movedim
   */
  movedim(source: number | readonly number[], destination: number | readonly number[]): this {
    return own(movedimTd(this._td, source, destination));
  }
  /**
   * Another name of `movedim`.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2, 3) }, [2, 3]).moveaxis(0, 1).batchSize // torch.Size([3, 2])
   * ```
   * @torch TensorDict.moveaxis
   */
  moveaxis(source: number | readonly number[], destination: number | readonly number[]): this {
    return own(movedimTd(this._td, source, destination));
  }
  /**
   * Another name of `transpose`.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2, 3) }, [2, 3]).swapdims(0, 1).batchSize // torch.Size([3, 2])
   * ```
   * @torch TensorDict.swapdims
   */
  swapdims(dim0: number, dim1: number): this {
    return own(transposeTd(this._td, dim0, dim1));
  }
  /**
   * Another name of `transpose`.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2, 3) }, [2, 3]).swapaxes(0, 1).batchSize // torch.Size([3, 2])
   * ```
   * @torch TensorDict.swapaxes
   */
  swapaxes(axis0: number, axis1: number): this {
    return own(transposeTd(this._td, axis0, axis1));
  }
  /** @internal Itself, or what a lazy stack is with its entries stacked. */
  _dense(): Td {
    return isLazy(this._td) ? this._td._densify() : this._td;
  }
  /**
   * `length` elements of a batch dimension, from `start` on; a view.
   * @example
   * ```ts
   * new TensorDict({ a: arange(4) }, [4]).narrow(0, 1, 2).get("a") // tensor([1, 2])
   * ```
   * @torch TensorDict.narrow
   */
  narrow(dim: number, start: number, length: number): this {
    return own(narrowTd(this._dense(), dim, start, length));
  }
  /**
   * Parts of a batch dimension: so many of nearly one size, or cut at the given places.
   * @example
   * ```ts
   * new TensorDict({ a: arange(5) }, [5]).tensorSplit(2).map((part) => part.get("a"))
   * // [tensor([0, 1, 2]), tensor([3, 4])]
   * ```
   * @torch TensorDict.tensor_split
   */
  tensorSplit(indicesOrSections: number | readonly number[], dim = 0): this[] {
    return own(tensorSplitTd(this._td, indicesOrSections, dim));
  }
  /**
   * A copy with the order of batch dimensions reversed.
   * @example
   * ```ts
   * new TensorDict({ a: arange(3) }, [3]).flip(0).get("a") // tensor([2, 1, 0])
   * ```
   * @torch TensorDict.flip
   */
  flip(...dims: (number | readonly number[])[]): this {
    return own(flipTd(this._td, spread(dims)));
  }
  /**
   * Each element of a batch dimension several times in a row; without a dimension the batch is flat first.
   * @example
   * ```ts
   * new TensorDict({ a: arange(2) }, [2]).repeatInterleave(2, 0).get("a") // tensor([0, 0, 1, 1])
   * ```
   * @torch TensorDict.repeat_interleave
   */
  repeatInterleave(repeats: number | Tensor, dim?: number | null, options: InplaceOptions = {}): this {
    const made = repeatInterleaveTd(this._td, repeats, dim ?? null);
    return own(inPlace(this._td, "repeat_interleave", made, options.inplace));
  }
  /**
   * Another name of `expand`; a lazy stack becomes dense.
   * @example
   * ```ts
   * new TensorDict({ a: ones(1) }, [1]).broadcastTo([3]).batchSize // torch.Size([3])
   * ```
   * @torch TensorDict.broadcast_to
   */
  broadcastTo(size: SizeLike): this {
    return own(expandTd(this._dense(), typeof size === "number" ? [size] : size, true));
  }
  /**
   * Every entry expanded to the shape of another collection's.
   * @example
   * ```ts
   * const wide = new TensorDict({ a: ones(2, 3) }, [2]);
   * new TensorDict({ a: ones(2, 1) }, [2]).expandAs(wide).get("a").shape // torch.Size([2, 3])
   * ```
   * @torch TensorDict.expand_as
   */
  expandAs(other: Td): this {
    return own(expandAsTd(this._td, other));
  }
  /**
   * Copies along the batch dimensions.
   * @example
   * ```ts
   * new TensorDict({ a: arange(2) }, [2]).tile([2]).get("a") // tensor([0, 1, 0, 1])
   * ```
   * @torch TensorDict.tile
   */
  tile(dims: SizeLike): this {
    return own(tileTd(this._dense(), typeof dims === "number" ? [dims] : dims));
  }
  /**
   * Padded along the batch dimensions: two numbers for each of them, before and after; see the function `pad`.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2) }, [2]).pad([0, 1]).get("a") // tensor([1., 1., 0.])
   * ```
   * @torch TensorDict.pad
   */
  pad(padSize: readonly number[], value = 0, options: PadOptions = {}): this {
    return own(padTd(this._td, padSize, value, options));
  }
  /**
   * At least one batch dimension.
   * @example
   * ```ts
   * new TensorDict({ a: ones(3) }, []).atleast1d().batchSize // torch.Size([1])
   * ```
   * @torch TensorDict.atleast_1d
   */
  atleast1d(): this {
    return own(atLeastTd(this._td, 1));
  }
  /**
   * At least two batch dimensions; new ones come first.
   * @example
   * ```ts
   * new TensorDict({ a: ones(3) }, [3]).atleast2d().batchSize // torch.Size([1, 3])
   * ```
   * @torch TensorDict.atleast_2d
   */
  atleast2d(): this {
    return own(atLeastTd(this._td, 2));
  }
  /**
   * At least three batch dimensions; new ones come first.
   * @example
   * ```ts
   * new TensorDict({ a: ones(3) }, [3]).atleast3d().batchSize // torch.Size([1, 1, 3])
   * ```
   * @torch TensorDict.atleast_3d
   */
  atleast3d(): this {
    return own(atLeastTd(this._td, 3));
  }
  /**
   * Number of batch dimensions.
   * @example
   * ```ts
   * new TensorDict({}, [3, 4]).ndimension() // 2
   * ```
   * @torch TensorDict.ndimension
   */
  ndimension(): number {
    return this._batchSize.length;
  }

  // ---- after the model of this one

  /**
   * Zeros for another batch, with the dtypes and inner shapes of this one.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2, 3) }, [2]).newZeros([1]).get("a") // tensor([[0., 0., 0.]])
   * ```
   * @torch TensorDict.new_zeros
   */
  newZeros(...size: (number | readonly number[] | NewOptions)[]): this {
    return own(modelled(this._td, size, (t, shape, options) => t.newZeros(shape, options)));
  }
  /**
   * Ones for another batch, with the dtypes and inner shapes of this one.
   * @example
   * ```ts
   * new TensorDict({ a: zeros(2) }, [2]).newOnes([3]).get("a") // tensor([1., 1., 1.])
   * ```
   * @torch TensorDict.new_ones
   */
  newOnes(...size: (number | readonly number[] | NewOptions)[]): this {
    return own(modelled(this._td, size, (t, shape, options) => t.newOnes(shape, options)));
  }
  /**
   * Tensors that are not filled, for another batch, with the dtypes and inner shapes of this one.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2, 3) }, [2]).newEmpty([5]).get("a").shape // torch.Size([5, 3])
   * ```
   * @torch TensorDict.new_empty
   */
  newEmpty(...size: (number | readonly number[] | NewOptions)[]): this {
    return own(modelled(this._td, size, (t, shape, options) => t.newEmpty(shape, options)));
  }
  /**
   * One value for another batch, with the dtypes and inner shapes of this one.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2) }, [2]).newFull([2], 7).get("a") // tensor([7., 7.])
   * ```
   * @torch TensorDict.new_full
   */
  newFull(size: SizeLike, fillValue: number, options: NewOptions = {}): this {
    const batch = typeof size === "number" ? [size] : size;
    const { emptyLazy = false, ...rest } = options;
    return own(remade(this._td, batch, (t, shape) => t.newFull(shape, fillValue, rest), emptyLazy));
  }

  // ---- what is in it

  /**
   * Whether some tensor records gradients.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2) }, []).requiresGrad // false
   * ```
   * @torch TensorDict.requires_grad
   */
  get requiresGrad(): boolean {
    for (const [, t] of tensorsOf(this._td)) if (t.requiresGrad) return true;
    return false;
  }
  /**
   * Its keys in alphabetical order.
   * @example
   * ```ts
   * new TensorDict({ b: ones(1), a: ones(1) }, []).sortedKeys // [a, b]
   * ```
   * @torch TensorDict.sorted_keys
   */
  get sortedKeys(): string[] {
    return [...this._keys()].sort();
  }
  /**
   * How many collections lie above the deepest tensor, this one left out.
   * @example
   * ```ts
   * new TensorDict({ a: { b: ones(1) } }, []).depth // 1
   * ```
   * @torch TensorDict.depth
   */
  get depth(): number {
    return depthOf(this._td);
  }
  /**
   * The class of an entry.
   * @example
   * ```ts
   * new TensorDict({ a: ones(1) }, []).entryClass("a") === Tensor // true
   * ```
   * @torch TensorDict.entry_class
   */
  entryClass(key: NestedKey): abstract new (...args: never[]) => Entry {
    const entry = requireEntry(this._td, key);
    // A buffer is a plain tensor to Python.
    const found: unknown = entry instanceof Buffer ? Tensor : entry.constructor;
    return found as abstract new (
      ...args: never[]
    ) => Entry;
  }
  /**
   * The entry under a key, at an index.
   * @example
   * ```ts
   * new TensorDict({ a: arange(3) }, [3]).getAt("a", 1) // tensor(1)
   * ```
   * @torch TensorDict.get_at
   */
  getAt<D = never>(key: NestedKey, index: IndexPart, ...fallback: [D?]): Entry | D {
    const entry = findEntry(this._td, key);
    if (entry !== undefined) return entry.at(index as number) as Entry;
    if (fallback.length > 0) return fallback[0] as D;
    return settings.getDefaultsToNull ? (null as D) : requireEntry(this._td, key);
  }
  /**
   * Takes away the gradients of all tensors, or sets them to zero.
   * @example
   * ```ts
   * const td = new TensorDict({ a: ones(2, { requiresGrad: true }) }, []);
   * td.get("a").sum().backward();
   * td.zeroGrad().get("a").grad // null
   * ```
   * @torch TensorDict.zero_grad
   */
  zeroGrad(setToNone = true): this {
    for (const [, t] of tensorsOf(this._td)) {
      if (t._grad === null) continue;
      if (setToNone) dropGrad(t);
      else t._grad.zero_();
    }
    return this;
  }
  /**
   * Whether `shareMemory_` put its tensors into memory that other processes see; no longer once it is unlocked.
   * @example
   * ```ts
   * [new TensorDict({ a: ones(1) }, []).isShared(), new TensorDict({ a: ones(1) }, []).shareMemory_().isShared()]
   * // [false, true]
   * ```
   * @torch TensorDict.is_shared
   */
  isShared(): boolean {
    return isSharedTd(this._td);
  }
  /**
   * Takes the last entry out and gives it with its key.
   * @example
   * ```ts
   * new TensorDict({ a: ones(1), b: zeros(1) }, []).popitem() // [b, tensor([0.])]
   * ```
   * @torch TensorDict.popitem
   */
  popitem(): [string, Entry] {
    const key = [...this._keys()].at(-1);
    if (key === undefined) throw new RuntimeError("popitem(): the dictionary is empty");
    const entry = requireEntry(this._td, key);
    deleteEntry(this._td, key);
    return [key, entry];
  }

  // ---- other forms

  /**
   * A dense TensorDict of copies: lazy stacks are stacked, objects of classes become TensorDicts.
   * @example
   * ```ts
   * lazyStack([new TensorDict({ a: ones(2) }, []), new TensorDict({ a: zeros(2) }, [])]).toTensordict().get("a")
   * // tensor([[1., 1.],
   * //         [0., 0.]])
   * ```
   * @torch TensorDict.to_tensordict
   */
  toTensordict(options: { retainNone?: boolean } = {}): Td {
    return denseCopy(this._td, options.retainNone ?? true);
  }
  /**
   * The same tensors without the values that are none.
   * @example
   * ```ts
   * new TensorDict({ a: ones(1), b: "text" }, []).filterNonTensorData().keys() // [a]
   * ```
   * @torch TensorDict.filter_non_tensor_data
   */
  filterNonTensorData(): this {
    return own(withoutValues(this._td));
  }
  /**
   * Sets an entry to a value that is kept as it is, also a number or a list.
   * @example
   * ```ts
   * new TensorDict({}, []).setNonTensor("a", [1, 2]).at("a") // [1, 2]
   * ```
   * @torch TensorDict.set_non_tensor
   */
  setNonTensor(key: NestedKey, value: unknown): this {
    const path = keyPath(key);
    if (value instanceof Collection) requireOutside([this._td], value);
    const wrapped = make.nonTensor(value, stateOf(this._td, { names: null }));
    this._td.set(path.length === 1 ? (path[0] as string) : path, wrapped);
    return this;
  }
}

// Not declared: fields of tensorclasses have this name, whose types a member of the base class would take away.
Object.defineProperty(ShapeMethods.prototype, "data", {
  get(this: Td): Td {
    return applyLeaves(this, (t) => t.data, { propagateLock: true });
  },
  set(this: Td, value: unknown) {
    assignData(this._td, value);
  },
  configurable: true,
});

function modelled(
  td: Td,
  size: readonly (number | readonly number[] | NewOptions)[],
  make1: (t: Tensor, shape: readonly number[], options: NewOptions) => Tensor,
): Td {
  const last = size.at(-1);
  const options = typeof last === "object" && !Array.isArray(last) ? (last as NewOptions) : {};
  const batch = spread((options === last ? size.slice(0, -1) : size) as number[]);
  const { emptyLazy = false, ...rest } = options;
  return remade(td, batch, (t, shape) => make1(t, shape, rest), emptyLazy);
}

function denseCopy(td: Td, retainNone: boolean): Td {
  const entries = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    if (entry instanceof Tensor) entries.set(key, likeEntry(entry, entry.clone()));
    else entries.set(key, isTensorCollection(entry) && !isNonTensor(entry) ? denseCopy(entry, retainNone) : entry);
  }
  if (retainNone) {
    for (const field of missingFields(td)) entries.set(field, make.nonTensor(null, stateOf(td, { names: null })));
  }
  return make.tensordict(entries, stateOf(td)) as Td;
}

/** Fields of an object of a class that have no value. */
function missingFields(td: Td): readonly string[] {
  return isClassTd(td) ? td._fieldNames().filter((name) => td._own(name) === undefined) : [];
}
