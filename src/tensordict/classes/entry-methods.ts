// Methods that sort, join, replace and choose entries.

import type { Scalar } from "../../tensor/complex.ts";
import type { DeviceLike } from "../../tensor/device.ts";
import type { DTypeLike } from "../../tensor/dtype.ts";
import { RuntimeError, TypeError, ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { keyPath } from "../core/keys.ts";
import { applyNames } from "../core/names.ts";
import { dictOf } from "../core/plain.ts";
import { Collection, entriesOf, isNonTensor, isTensorCollection, type Td } from "../core/state.ts";
import { catTensors, stackTensors, tensor } from "../core/tensor-ops.ts";
import type { IndexPart, NestedKey, Schema } from "../core/types.ts";
import { tensorsOf } from "../ops/access.ts";
import { assignGradients } from "../ops/assigning.ts";
import { type Alternative, type WhereOptions, whereTd } from "../ops/choosing.ts";
import { withOptions } from "../ops/key-ops.ts";
import {
  autoBatchSize,
  createNestedTd,
  filterEmptyTd,
  type JoinOptions,
  joinEntries,
  type KeySet,
  leavesOf,
  type SeparatesOptions,
  type SplitKeysOptions,
  separatesTd,
  splitKeysTd,
} from "../ops/key-sets.ts";
import { applyLeaves } from "../ops/pointwise.ts";
import type { UpdateSource } from "../ops/update-sources.ts";
import { updateTd } from "../ops/writes.ts";
import type { PlainMethods } from "./plain-methods.ts";

/** Options of `newTensor`. */
export interface NewTensorOptions {
  dtype?: DTypeLike;
  device?: DeviceLike;
  requiresGrad?: boolean;
}

/** Joined to those of the other files for the compiler: they come into a program one by one (late-methods.ts). */
export interface EntryMethods<in out S = Schema> extends PlainMethods<S> {}

/** Sorting, joining and choosing of entries. */
export abstract class EntryMethods<in out S = Schema> extends Collection<S> {
  /**
   * Takes the entries under several sets of keys apart: one collection for each, and one of what is left.
   * @param sets lists of keys, Maps or objects of keys and new names, or tests of a path and its entry; then the
   * options: an object that comes last
   * @throws KeyError for a key that is not there
   * @example
   * ```ts
   * const [first, rest] = new TensorDict({ a: ones(1), b: ones(1), c: ones(1) }, []).splitKeys(["a", "b"]);
   * [first.keys(), rest.keys()] // [[a, b], [c]]
   * ```
   * @torch TensorDict.split_keys
   */
  splitKeys(...sets: (KeySet | SplitKeysOptions)[]): Td[] {
    const [given, options] = withOptions<KeySet, SplitKeysOptions>(sets);
    return splitKeysTd(this._td, given, options);
  }
  /**
   * Takes entries out, into a collection of their own.
   * @throws KeyError for a key that is not there, without a default; nothing is taken out then
   * @example
   * ```ts
   * const td = new TensorDict({ a: ones(1), b: { c: ones(1), d: ones(1) } }, []);
   * [td.separates("a", ["b", "d"]).keys(), td.keys({ includeNested: true, leavesOnly: true })]
   * // [[b, a], [[b, c]]]
   * ```
   * @torch TensorDict.separates
   */
  separates(...keys: (NestedKey | SeparatesOptions)[]): Td {
    const [given, options] = withOptions<NestedKey, SeparatesOptions>(keys);
    return separatesTd(this._td, given, options);
  }
  /**
   * Takes nested collections without entries away.
   * @example
   * ```ts
   * new TensorDict({ a: ones(1), b: { c: {} } }, []).filterEmpty_().keys() // [a]
   * ```
   * @torch TensorDict.filter_empty_
   */
  filterEmpty_(): this {
    filterEmptyTd(this._td);
    return this;
  }
  /**
   * Makes an empty collection under a key, and those on the way to it.
   * @example
   * ```ts
   * new TensorDict({}, [2]).createNested(["a", "b"]).get(["a", "b"]).batchSize // torch.Size([2])
   * ```
   * @torch TensorDict.create_nested
   */
  createNested(key: NestedKey): this {
    createNestedTd(this._td, keyPath(key));
    return this;
  }
  /**
   * A shallow copy with other entries in the place of some.
   * @example
   * ```ts
   * const td = new TensorDict({ a: zeros(1), b: zeros(1) }, []);
   * [td.replace({ a: ones(1) }).get("a"), td.get("a")] // [tensor([1.]), tensor([0.])]
   * ```
   * @torch TensorDict.replace
   */
  replace(source: UpdateSource): Td {
    const empty = isTensorCollection(source) ? source.isEmpty() : [...Object.keys(source)].length === 0;
    if (empty && !(source instanceof Map && source.size > 0)) return this._td;
    const result = this._td.copy();
    updateTd(result, source);
    return result;
  }
  /**
   * Several entries stacked to one, which takes their place.
   * @param keys the keys, then the options
   * @example
   * ```ts
   * const td = new TensorDict({ a: ones(2), b: zeros(2) }, []);
   * td.stackTensors("a", "b", { outKey: "c" }).get("c").shape // torch.Size([2, 2])
   * ```
   * @torch TensorDict.stack_tensors
   */
  stackTensors(...keys: (NestedKey | JoinOptions)[]): Td {
    const [given, options] = withOptions<NestedKey, JoinOptions>(keys);
    joinEntries(this._td, given, options, stackTensors);
    return this._td;
  }
  /**
   * Several entries concatenated to one, which takes their place.
   * @param keys the keys, then the options
   * @example
   * ```ts
   * const td = new TensorDict({ a: ones(2), b: zeros(1) }, []);
   * td.catTensors("a", "b", { outKey: "c" }).get("c") // tensor([1., 1., 0.])
   * ```
   * @torch TensorDict.cat_tensors
   */
  catTensors(...keys: (NestedKey | JoinOptions)[]): Td {
    const [given, options] = withOptions<NestedKey, JoinOptions>(keys);
    joinEntries(this._td, given, options, catTensors);
    return this._td;
  }
  /**
   * All tensors one after the other, along a dimension of theirs.
   * @param options `sorted`: true for the order of the names, or the keys in an order
   * @example
   * ```ts
   * new TensorDict({ b: ones(2), a: zeros(1) }, []).catFromTensordict(0, { sorted: true }) // tensor([0., 1., 1.])
   * ```
   * @torch TensorDict.cat_from_tensordict
   */
  catFromTensordict(dim = 0, options: { sorted?: boolean | readonly NestedKey[] | null } = {}): Tensor {
    return catTensors(leavesIn(this._td, options.sorted), dim);
  }
  /**
   * All tensors stacked, along a new dimension.
   * @param options `sorted`: true for the order of the names, or the keys in an order
   * @example
   * ```ts
   * new TensorDict({ a: ones(2), b: zeros(2) }, []).stackFromTensordict().shape // torch.Size([2, 2])
   * ```
   * @torch TensorDict.stack_from_tensordict
   */
  stackFromTensordict(dim = 0, options: { sorted?: boolean | readonly NestedKey[] | null } = {}): Tensor {
    return stackTensors(leavesIn(this._td, options.sorted), dim);
  }
  /**
   * Its entries where a condition of the batch holds, elsewhere those of another collection, a tensor or a number.
   * @param options `pad` stands for entries that one side lacks; the entries of `out` are replaced by the result's
   * @throws KeyError for an entry that one side lacks, without `pad`
   * @example
   * ```ts
   * new TensorDict({ a: ones(3) }, [3]).where(tensor([true, false, true]), 0).get("a") // tensor([1., 0., 1.])
   * ```
   * @torch TensorDict.where
   */
  where(condition: Tensor, other: Alternative, options: WhereOptions = {}): Td {
    return whereTd(this._td, condition, other, options);
  }
  /**
   * New tensors with the dtypes of these and the values of a tensor, a list or, entry by entry, another collection.
   * @example
   * ```ts
   * new TensorDict({ a: arange(2) }, [2]).newTensor([1, 2, 3]).get("a") // tensor([1, 2, 3])
   * ```
   * @torch TensorDict.new_tensor
   */
  newTensor(data: Td | Tensor | readonly unknown[] | Scalar, options: NewTensorOptions = {}): Td {
    const whole = isTensorCollection(data) ? null : tensor(data);
    const batchSize = [...(whole ?? (data as Td)).shape];
    const source = (this._td._kind === "lazy" ? this._td.toTensordict() : this._td) as Td;
    const device = options.device ?? (whole ?? (data as Td)).device;
    const change = (t: Tensor, _path: readonly string[], [other]: readonly unknown[]) =>
      t.newTensor(((whole ?? other) as Tensor).detach(), { ...options });
    const others = whole === null ? [data as Td] : [];
    return applyLeaves(source, change, { batchSize, device: device as DeviceLike }, others);
  }
  /**
   * Gives it the most batch dimensions that its entries share.
   * @param batchDims at most so many
   * @param options `keepCompliantSize` leaves nested collections as they are that have as many
   * @example
   * ```ts
   * new TensorDict({ a: ones(2, 3, 4), b: ones(2, 3) }, []).autoBatchSize_().batchSize // torch.Size([2, 3])
   * ```
   * @torch TensorDict.auto_batch_size_
   */
  autoBatchSize_(batchDims: number | null = null, options: { keepCompliantSize?: boolean } = {}): this {
    autoBatchSize(this._td, batchDims, options.keepCompliantSize === true);
    return this;
  }
  /**
   * Number of elements of all tensors; of shared ones each time, unless `countDuplicates` is false.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2, 3), b: ones(4) }, []).paramCount() // 10
   * ```
   * @torch TensorDict.param_count
   */
  paramCount(options: { countDuplicates?: boolean } = {}): number {
    const all = [...tensorsOf(this._td)].map(([, t]) => t);
    const counted = options.countDuplicates === false ? new Set(all) : all;
    let total = 0;
    for (const t of counted) total += t.numel();
    return total;
  }
  /**
   * The same tensors as tensors of this process: mapped ones without their files.
   * @example
   * ```ts
   * new TensorDict({ a: ones(2) }, []).asTensor().get("a") // tensor([1., 1.])
   * ```
   * @torch TensorDict.as_tensor
   */
  asTensor(): Td {
    return applyLeaves(this._td, (t) => t.data);
  }
  /**
   * The gradients of its tensors, without those that have none; null when none has one. Those of another collection can
   * be assigned: a tensor without a gradient takes the tensor itself, one that has a gradient copies the values. Either
   * all are assigned or none.
   * @throws KeyError when the other one lacks a tensor, RuntimeError when one does not fit
   * @example
   * ```ts
   * const td = new TensorDict({ a: ones(2, { requiresGrad: true }) }, []);
   * td.get("a").sum().backward();
   * td.grad?.get("a") // tensor([1., 1.])
   * ```
   * @torch TensorDict.grad
   */
  get grad(): this | null {
    if ([...tensorsOf(this._td)].every(([, t]) => t.grad === null)) return null;
    return applyLeaves(this._td, (t) => t.grad, { propagateLock: true, filterEmpty: true }) as (this & Td) | null;
  }
  set grad(value: Td) {
    assignGradients(this._td, value);
  }
  /**
   * A record of its entries: nested collections are records, too, values stay as they are.
   * @example
   * ```ts
   * new TensorDict({ a: arange(2), b: { c: "text" } }, []).toNamedtuple().b.c // text
   * ```
   * @torch TensorDict.to_namedtuple
   */
  // biome-ignore lint/suspicious/noExplicitAny: what the values are is known at run time
  toNamedtuple(): Record<string, any> {
    return dictOf(this._td, {});
  }
  /**
   * Typed arrays of its tensors' elements in plain objects: views of contiguous ones, copies of others.
   * @example
   * ```ts
   * new TensorDict({ a: arange(2).float() }, []).numpy().a // 0,1
   * ```
   * @torch TensorDict.numpy
   */
  numpy(): Record<string, unknown> {
    return dictOf(this._td, { convertTensors: "numpy" });
  }
  /**
   * A shallow copy with other names of its batch dimensions: all of them, or a record of new names by old ones.
   * @example
   * ```ts
   * new TensorDict({}, { batchSize: [2, 3], names: ["a", "b"] }).rename({ a: "x" }).names // [x, b]
   * ```
   * @torch TensorDict.rename
   */
  rename(...names: (string | null | Readonly<Record<string, string | null>>)[]): Td {
    const copy = this._td.clone(false);
    applyNames(copy, renamed(this._td, names));
    return copy;
  }
  /**
   * `rename`, in place.
   * @example
   * ```ts
   * new TensorDict({}, [2, 3]).rename_("x", "y").names // [x, y]
   * ```
   * @torch TensorDict.rename_
   */
  rename_(...names: (string | null | Readonly<Record<string, string | null>>)[]): this {
    if (names.length > 0 || this._batchSize.length > 0) applyNames(this, renamed(this._td, names));
    return this;
  }
  /**
   * Writes into part of the tensors, as `updateAt_` does; wrapped values are refused unless `fast` is false.
   * @example
   * ```ts
   * new TensorDict({ a: zeros(3) }, [3]).copyAt_({ a: ones(1) }, 0).get("a") // tensor([1., 0., 0.])
   * ```
   * @torch TensorDict.copy_at_
   */
  copyAt_(source: UpdateSource, index: IndexPart, options: { fast?: boolean } = {}): this {
    if (options.fast === null) {
      throw new TypeError(
        "copy_at_(..., fast=None) is no longer supported. Pass fast=True to require the optimized tensor-only copy " +
          "path, or fast=False for the general update_at_ semantics.",
      );
    }
    if (options.fast !== false && !onlyTensors(this._td)) {
      throw new RuntimeError(
        "copy_at_(..., fast=True) requires the optimized tensor-only copy path, but the source, destination, or " +
          "index is not compatible. Use fast=False or update_at_ for the general update semantics.",
      );
    }
    this._td.updateAt_(source, index);
    return this;
  }
}

function onlyTensors(td: Td): boolean {
  return [...entriesOf(td)].every(([, entry]) => {
    return entry instanceof Tensor || (isTensorCollection(entry) && !isNonTensor(entry) && onlyTensors(entry));
  });
}

function leavesIn(td: Td, sorted: boolean | readonly NestedKey[] | null | undefined): Tensor[] {
  if (!Array.isArray(sorted)) return leavesOf(td, sorted === true);
  const all = td.keys({ includeNested: true, leavesOnly: true }).map(String);
  const given = sorted.map(String);
  if (all.length !== given.length || !given.every((key) => all.includes(key))) {
    throw new RuntimeError("The provided set of keys differs from the tensordict list of keys.");
  }
  return sorted.map((key: NestedKey) => td.get(key) as Tensor);
}

/** New names of all batch dimensions. */
function renamed(
  td: Td,
  names: readonly (string | null | Readonly<Record<string, string | null>>)[],
): readonly (string | null)[] | null {
  const maps = names.filter((name) => typeof name === "object" && name !== null);
  if (names.length === 0) {
    throw new ValueError("Neither a name map nor a name list was passed. Only one is accepted.");
  }
  if (maps.length === 0) return names.length === 1 && names[0] === null ? null : (names as (string | null)[]);
  if (names.length > 1) throw new ValueError("Passed both a name map and a name list. Only one is accepted.");
  const map = maps[0] as Readonly<Record<string, string | null>>;
  const unknown = Object.keys(map).filter((name) => !td.names.includes(name));
  if (unknown.length > 0) {
    throw new ValueError(
      `Some names to be renamed were not part of the tensordict names: [${unknown}] vs [${td.names}].`,
    );
  }
  return td.names.map((name) => (name !== null && Object.hasOwn(map, name) ? (map[name] ?? null) : name));
}
