// What a collection is as plain values, and what is known of all of its tensors together.

import { TypeError } from "../../tensor/errors.ts";
import type { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { dictOf, listOf, type PlainOptions } from "../core/plain.ts";
import { Collection, entriesOf, isLazy, isNonTensor, outlinesOf, type Td } from "../core/state.ts";
import { tensor } from "../core/tensor-ops.ts";
import type { Entry, NestedKey, Schema } from "../core/types.ts";
import { listEntries, requireEntry, tensorsOf } from "../ops/access.ts";
import { backwardTd, itemShape, type TdBackwardOptions } from "../ops/facts.ts";
import { renameMany } from "../ops/key-sets.ts";
import { toPytreeOf } from "../ops/making.ts";
import { applyLeaves } from "../ops/pointwise.ts";
import type { LayoutMethods } from "./layout-methods.ts";

/** How `tolist` lists the elements of a batch. */
export interface TolistOptions extends PlainOptions {
  /** Objects for the elements; with false they stay TensorDicts. */
  convertNodes?: boolean;
}

/** Joined to those of the other files for the compiler: they come into a program one by one (late-methods.ts). */
export interface PlainMethods<in out S = Schema> extends LayoutMethods<S> {}

/** Plain values, and properties of all tensors together. */
export abstract class PlainMethods<in out S = Schema> extends Collection<S> {
  /**
   * Plain objects with the tensors themselves in them, and values that are no tensors as they are.
   * @example
   * ```ts
   * const td = new TensorDict({ a: arange(2), b: { c: "text" } }, []);
   * [td.toDict().b.c, td.toDict({ convertTensors: true }).a] // [text, [0, 1]]
   * ```
   * @torch TensorDict.to_dict
   */
  // biome-ignore lint/suspicious/noExplicitAny: what the values are is known at run time
  toDict(options: PlainOptions = {}): Record<string, any> {
    return dictOf(this._td, options);
  }
  /**
   * Nested lists of the elements of the batch, each as a plain object; without batch dimensions one object.
   * @throws TypeError for tensors that become lists in elements that stay TensorDicts
   * @example
   * ```ts
   * const td = new TensorDict({ a: arange(4).view(2, 2) }, [2]);
   * td.tolist({ convertTensors: true })[1].a // [2, 3]
   * ```
   * @torch TensorDict.tolist
   */
  // biome-ignore lint/suspicious/noExplicitAny: how deep the lists are nested is known at run time
  tolist(options: TolistOptions = {}): any {
    const { convertNodes = true, ...rest } = options;
    if (rest.convertTensors && !convertNodes)
      throw new TypeError("convert_tensors requires convert_nodes to be set to True");
    return listOf(this._td, rest, convertNodes);
  }
  /**
   * The tree of lists, objects and Maps that `fromPytree` made this of.
   * @example
   * ```ts
   * TensorDict.fromPytree({ a: [zeros(1), ones(1)] }).toPytree().a[1] // tensor([1.])
   * ```
   * @torch TensorDict.to_pytree
   */
  // biome-ignore lint/suspicious/noExplicitAny: what the tree was is known at run time
  toPytree(): any {
    return toPytreeOf(this._td);
  }
  /**
   * The same entries, some of them under other keys. All are renamed at once, so that two can change their places.
   * @param mapping the keys and their new ones; a Map may have paths
   * @throws KeyError for a key that is not there; with `strict: false` it is passed over
   * @throws ValueError for a new key that is there and is not renamed
   * @example
   * ```ts
   * const td = new TensorDict({ a: zeros(1), b: { c: ones(1) } }, []);
   * td.renameKeys(new Map([[["b", "c"], "d"]])).get("d") // tensor([1.])
   * ```
   * @torch TensorDict.rename_keys
   */
  renameKeys(
    mapping: ReadonlyMap<NestedKey, NestedKey> | Readonly<Record<string, NestedKey>>,
    options: { strict?: boolean } = {},
  ): Td {
    const pairs = mapping instanceof Map ? mapping : new Map(Object.entries(mapping));
    return renameMany(this._td, pairs, options.strict !== false);
  }
  /**
   * Keys and entries of the values that are no tensors.
   * @example
   * ```ts
   * new TensorDict({ a: ones(1), b: "text" }, []).nonTensorItems().length // 1
   * ```
   * @torch TensorDict.non_tensor_items
   */
  nonTensorItems(includeNested = false): [string | readonly string[], Entry][] {
    return listEntries(this._td, { includeNested }, entriesOf, true)
      .filter(([, entry]) => isNonTensor(entry))
      .map(([path, entry]) => [path.length === 1 ? (path[0] as string) : path, entry]);
  }
  /**
   * Whether the entry under a key is a value that is no tensor.
   * @example
   * ```ts
   * new TensorDict({ a: "text" }, []).isNonTensor("a") // true
   * ```
   * @torch TensorDict.is_non_tensor
   */
  isNonTensor(key: NestedKey): boolean {
    return isNonTensor(requireEntry(this._td, key));
  }
  /**
   * The shape of an entry; -1 where the members of a stack differ.
   * @example
   * ```ts
   * const parts = [new TensorDict({ a: ones(3) }, []), new TensorDict({ a: ones(4) }, [])];
   * lazyStack(parts).getItemShape("a") // torch.Size([2, -1])
   * ```
   * @torch TensorDict.get_item_shape
   */
  getItemShape(key: NestedKey): Size {
    return itemShape(this._td, key);
  }
  /**
   * True when all tensors are contiguous; not for stacks, whose tensors are made when they are asked for.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2, 3) }, [2]).isContiguous() // true
   * ```
   * @torch TensorDict.is_contiguous
   */
  isContiguous(): boolean {
    if (isLazy(this._td)) return false;
    for (const [, entry] of entriesOf(this)) {
      if (entry instanceof Tensor ? !entry.isContiguous() : "isContiguous" in entry && !entry.isContiguous())
        return false;
    }
    return true;
  }
  /**
   * True when all tensors have floating-point dtypes.
   * @example
   * ```ts
   * new TensorDict({ a: ones(1), b: arange(2) }, []).isFloatingPoint() // false
   * ```
   * @torch TensorDict.is_floating_point
   */
  isFloatingPoint(): boolean {
    for (const [, t] of tensorsOf(this._td)) if (!t.isFloatingPoint()) return false;
    return true;
  }
  /**
   * True for a collection on the CPU.
   * @example
   * ```ts
   * new TensorDict({ a: ones(1) }, { device: "cpu" }).isCpu // true
   * ```
   * @torch TensorDict.is_cpu
   */
  get isCpu(): boolean {
    return this._device?.type === "cpu";
  }
  /**
   * True for a collection on a GPU.
   * @example
   * ```ts
   * new TensorDict({ a: ones(1) }, { device: "cpu" }).isCuda // false
   * ```
   * @torch TensorDict.is_cuda
   */
  get isCuda(): boolean {
    return this._device?.type === "cuda";
  }
  /**
   * True for a collection without bytes.
   * @example
   * ```ts
   * new TensorDict({ a: ones(1) }, { device: "cpu" }).isMeta // false
   * ```
   * @torch TensorDict.is_meta
   */
  get isMeta(): boolean {
    return this._device?.type === "meta";
  }
  /**
   * The address of the first element of every tensor.
   * @example
   * ```ts
   * const a = ones(2);
   * new TensorDict({ a }, []).dataPtr().get("a").item() === a.dataPtr() // true
   * ```
   * @torch TensorDict.data_ptr
   */
  dataPtr(): Td {
    return applyLeaves(this._td, (t) => tensor(BigInt(t.dataPtr())), { batchSize: [] });
  }
  /**
   * Takes the device that all tensors share as its own, and none where they differ.
   * @example
   * ```ts
   * String(new TensorDict({ a: ones(1) }, []).autoDevice_().device) // cpu
   * ```
   * @torch TensorDict.auto_device_
   */
  autoDevice_(): this {
    const devices = new Map([...tensorsOf(this._td)].map(([, t]) => [String(t.device), t.device]));
    this._device = devices.size === 1 ? ([...devices.values()][0] ?? null) : null;
    for (const [, entry] of outlinesOf(this)) if ("autoDevice_" in entry) (entry as Td).autoDevice_();
    return this;
  }
  /**
   * Detaches every tensor from the graph that it is the result of.
   * @example
   * ```ts
   * const a = ones(1, { requiresGrad: true }).mul(2);
   * new TensorDict({ a }, []).detach_().get("a").requiresGrad // false
   * ```
   * @torch TensorDict.detach_
   */
  detach_(): this {
    for (const [, t] of tensorsOf(this._td)) t.detach_();
    return this;
  }
  /**
   * The gradients of all tensors that have a graph, in one pass.
   * @param gradient gradients of those tensors, under the same keys; tensors of one element need none
   * @throws RuntimeError without a tensor that requires gradients
   * @example
   * ```ts
   * const x = ones(2, { requiresGrad: true });
   * new TensorDict({ loss: x.mul(3).sum() }, []).backward();
   * x.grad // tensor([3., 3.])
   * ```
   * @torch TensorDict.backward
   */
  backward(gradient: Td | null = null, options: TdBackwardOptions = {}): void {
    backwardTd(this._td, gradient, options);
  }
}
