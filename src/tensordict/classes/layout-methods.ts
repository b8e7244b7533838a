// Collections in other forms: one tensor of all, records, what tensors are; and where their memory is.

import { type DeviceLike, toDevice } from "../../tensor/device.ts";
import { RuntimeError, ValueError } from "../../tensor/errors.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { isSource, sourceEntries } from "../core/convert.ts";
import { childrenOf, lockTd } from "../core/locking.ts";
import { isSharedTensor, markShared } from "../core/shared.ts";
import { Collection, entriesOf, isBranch, isClassTd, isLazy, isNested, make, stateOf, type Td } from "../core/state.ts";
import type { Classes, Entry, Schema } from "../core/types.ts";
import { MemoryMappedTensor } from "../disk/mapped-tensor.ts";
import { hasNoTensors, tensorsOf } from "../ops/access.ts";
import { densifyTd, type NestedLayout } from "../ops/densify.ts";
import { type DictSource, fromDictTd, type MakeOptions } from "../ops/making.ts";
import { replaceTensors } from "../ops/moving.ts";
import { type PackLayout, packTd } from "../ops/packing.ts";
import { applyLeaves } from "../ops/pointwise.ts";
import { type StructArray, toStruct } from "../ops/struct-arrays.ts";
import type { ScanMethods } from "./scan-methods.ts";

/** What of tensors `attrs` gives. */
export interface AttrsOptions {
  /** Of `"device"`, `"dtype"` and `"shape"`; all of them without it. */
  fields?: readonly ("device" | "dtype" | "shape")[];
}

/** Options of `pack`. */
export interface PackOptions {
  /** The layout that must come out. */
  layout?: PackLayout | null;
}

/** Options of `toPaddedTensor`. */
export interface PaddedOptions {
  /** For collections whose batch differs from member to member only; there are none here. */
  maskKey?: string | readonly string[] | null;
}

/** Options of `pinMemory`. */
export interface PinOptions {
  /** Change the entries of this collection. */
  inplace?: boolean;
}

/** Options of `fromDictInstance`. */
export interface FromDictInstanceOptions extends Omit<MakeOptions, "lock"> {
  device?: DeviceLike | null;
}

/** Joined to those of the other files for the compiler: they come into a program one by one (late-methods.ts). */
export interface LayoutMethods<in out S = Schema> extends ScanMethods<S> {}

/** Collections in other forms. */
export abstract class LayoutMethods<in out S = Schema> extends Collection<S> {
  /**
   * All tensors in one, their dimensions behind the batch flattened, and how they lie in it; `layout.unpack` gives the
   * collection back.
   * @param dim where the packed dimension is among those of the batch; the last one by default
   * @throws TypeError for values that are no tensors, and for several dtypes
   * @example
   * ```ts
   * const [flat, layout] = new TensorDict({ p: zeros(2), v: ones(2, 3) }, [2]).pack();
   * [flat.shape, layout.unpack(flat).get("v").shape] // [torch.Size([2, 4]), torch.Size([2, 3])]
   * ```
   * @torch TensorDict.pack
   */
  pack(dim = -1, options: PackOptions = {}): [Tensor, PackLayout] {
    return packTd(this._td, dim, options.layout ?? null);
  }
  /**
   * Nested tensors as tensors, shorter rows filled up; every other entry as it is.
   * @throws RuntimeError with a key for masks: they belong to batches that differ from member to member
   * @example
   * ```ts
   * const a = nested.nestedTensor([ones(1), ones(2)]);
   * new TensorDict({ a }, [2]).toPaddedTensor(-1).get("a")
   * // tensor([[ 1., -1.],
   * //         [ 1.,  1.]])
   * ```
   * @torch TensorDict.to_padded_tensor
   */
  toPaddedTensor(padding = 0, options: PaddedOptions = {}): Td {
    if ((options.maskKey ?? null) !== null) {
      throw new RuntimeError(
        "mask_key should only be provided if the heterogenous dimension is part of the batch-size.",
        { op: "toPaddedTensor" },
      );
    }
    return paddedTd(this._td, padding);
  }
  /**
   * Records with the entries as their fields, as NumPy's structured arrays have them in memory, without gaps. Nested
   * collections become records within, texts have the length of the longest.
   * @example
   * ```ts
   * const { fields, itemsize } = new TensorDict({ a: arange(2), b: ones(2, 3) }, [2]).toStructArray();
   * [fields.map(({ offset }) => offset), itemsize] // [[0, 8], 20]
   * ```
   * @torch TensorDict.to_struct_array
   */
  toStructArray(): StructArray {
    return toStruct(this._td);
  }
  /**
   * What each tensor is: objects with `tgtDevice`, `tgtDtype` and `tgtShape` in their place, without batch dimensions.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2, 3) }, [2]).attrs().get("a").tgtShape // torch.Size([2, 3])
   * ```
   * @torch TensorDict.attrs
   */
  attrs(options: AttrsOptions = {}): Td {
    const fields = options.fields ?? ["device", "dtype", "shape"];
    return applyLeaves(this._td, (t) => make.attributes(t, fields) as never, { batchSize: [], device: null });
  }
  /**
   * A collection of an object's values; nested objects become what is nested here under their keys.
   * @example
   * ```ts
   * const like = new TensorDict({ b: { c: zeros(1) } }, []);
   * like.fromDictInstance({ a: [1, 2], b: { c: 3 } }).get(["b", "c"]) // tensor(3.)
   * ```
   * @torch TensorDict.from_dict_instance
   */
  fromDictInstance(inputDict: DictSource, options: FromDictInstanceOptions = {}): Td {
    const { batchSize = null, batchDims = null, device } = options;
    if (batchSize !== null && batchDims !== null) {
      throw new ValueError("Cannot pass both batch_size and batch_dims to `from_dict`.");
    }
    const given = isSource(inputDict) ? sourceEntries(inputDict as Record<string, unknown>) : [];
    const values = given.map(([key, value]): [string, unknown] => {
      const own = typeof key === "string" && isSource(value) ? this._own(key) : undefined;
      return [key, isBranch(own) ? own.fromDictInstance(value as DictSource, { device }) : value];
    });
    const made = fromDictTd(isSource(inputDict) ? new Map(values) : inputDict, options);
    const self = this._td;
    return isClassTd(self) ? (self as Td)._like(new Map(entriesOf(made)), stateOf(made)) : made;
  }
  /**
   * A stack of the parts along a batch dimension, without a copy.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2) }, [2]).toLazystack().members.length // 2
   * ```
   * @torch TensorDict.to_lazystack
   */
  toLazystack(dim?: number): Classes<S>["lazy"];
  toLazystack(dim = 0): Td {
    const at = dim < 0 ? dim + this._batchSize.length : dim;
    const self = this._td;
    if (isClassTd(self)) return self._around(self._shown().toLazystack(at));
    if (isLazy(this._td) && this._td.stackDim === at) return this._td;
    return make.lazy(this._td.unbind(at), at, this._td.names[at] ?? null);
  }
  /**
   * The same entries with dense TensorDicts in the place of lazy stacks: tensors of several shapes become a nested
   * tensor, and a key that only some members have is empty for the others. Without a lazy stack it is the collection
   * itself.
   * @throws NotImplementedError for tensors of several shapes that are not stacked along the first dimension
   * @example
   * ```ts
   * const stack = lazyStack([new TensorDict({ a: ones(3) }, []), new TensorDict({ a: ones(4) }, [])]);
   * stack.densify().get("a") instanceof nested.NestedTensor // true
   * ```
   * @torch TensorDict.densify
   */
  densify(layout: NestedLayout = "strided"): Td {
    return densifyTd(this._td, layout);
  }
  /**
   * Moves every tensor into memory that Workers and child processes can share, and locks the collection. The tensors
   * stay the same objects; views of them that were taken before keep the former memory.
   * @throws RuntimeError for memory-mapped collections
   * @example
   * ```ts
   * const a = ones(2);
   * new TensorDict({ a }, []).shareMemory_().isLocked // true
   * ```
   * @torch TensorDict.share_memory_
   */
  shareMemory_(): this {
    if (this._td.isMemmap()) throw new RuntimeError("memmap and shared memory are mutually exclusive features.");
    for (const [, t] of [...tensorsOf(this._td)]) {
      if (t.device.type === "cpu" && !isSharedTensor(t)) t.data = MemoryMappedTensor.fromTensor(t.detach());
      markShared(t);
    }
    lockTd(this);
    const mark = (at: Collection): void => {
      at._disk = { path: null, late: new Set(), robustKey: true, shared: true };
      childrenOf(at).forEach(mark);
    };
    mark(this);
    return this;
  }
  /**
   * The same with tensors in pinned memory, which GPUs reach by themselves.
   * @throws RuntimeError for a collection with tensors where there is no GPU
   * @example
   * ```ts
   * new TensorDict({}, [2]).pinMemory().batchSize // torch.Size([2])
   * ```
   * @torch TensorDict.pin_memory
   */
  pinMemory(options: PinOptions = {}): this {
    if (hasNoTensors(this._td)) return options.inplace === true ? this : (this._td.clone(false) as this & Td);
    requireGpu();
    const pinned = applyLeaves(this._td, (t) => t.pinMemory(), { nested: (entry) => entry });
    if (options.inplace !== true) return pinned as this & Td;
    replaceTensors(this._td, pinned);
    return this;
  }
  /**
   * `pinMemory` in place.
   * @example
   * ```ts
   * new TensorDict({}, [2]).pinMemory_().batchSize // torch.Size([2])
   * ```
   * @torch TensorDict.pin_memory_
   */
  pinMemory_(): this {
    return this.pinMemory({ inplace: true });
  }
}

/** In the words that torch has where there is none. */
function requireGpu(): void {
  try {
    toDevice("cuda");
  } catch (cause) {
    const message = "Cannot access accelerator device when none is available.";
    throw Object.assign(new RuntimeError(message, { op: "pinMemory" }), { cause });
  }
}

function paddedTd(td: Td, padding: number): Td {
  const entries = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    if (isNested(entry)) entries.set(key, entry.toPaddedTensor(padding));
    else entries.set(key, isBranch(entry) ? paddedTd(entry, padding) : entry);
  }
  return td._like(entries, stateOf(td));
}
