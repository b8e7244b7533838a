// Methods that choose, remove and rename keys. Collections whose keys are known to the compiler have others afterwards.

import { keyPath, missingKey } from "../core/keys.ts";
import type { IsLeaf } from "../core/leaves.ts";
import type { BaseOf, Changed, Excluded, Holder, KnownPath, PathsOf, Renamed, Selected } from "../core/path-types.ts";
import type { Td } from "../core/state.ts";
import { Collection } from "../core/state.ts";
import type { Found, Inner, NestedKey, Schema } from "../core/types.ts";
import { deleteEntry, findEntry, renameKey, requireOpen } from "../ops/access.ts";
import { excludeKeys, flattenKeysTd, type KeyOptions, selectKeys, unflattenKeysTd } from "../ops/key-ops.ts";
import type { ShapeMethods } from "./shape-methods.ts";

/** Joined to those of the other files for the compiler: they come into a program one by one (late-methods.ts). */
export interface KeyMethods<in out S = Schema> extends ShapeMethods<S> {}

/** The keys of collections. */
export abstract class KeyMethods<in out S = Schema> extends Collection<S> {
  /** Removes an entry. @torch TensorDict.del_ */
  del_<T extends Holder, const K extends KnownPath<Inner<T>>>(this: T, key: K): Changed<T, Excluded<Inner<T>, K>>;
  del_(key: NestedKey): unknown {
    deleteEntry(this._td, key);
    return this;
  }
  /** Removes an entry and gives it; a missing one gives `fallback`, or is an error. @torch TensorDict.pop */
  pop<const K extends NestedKey, D = never>(key: K, ...fallback: D[]): Found<S, K> | D {
    const entry = findEntry(this._td, key);
    if (entry === undefined) {
      if (fallback.length > 0) return fallback[0] as D;
      const path = keyPath(key);
      throw missingKey(path[path.length - 1] as string, this._className, this._keys());
    }
    deleteEntry(this._td, key);
    return entry as Found<S, K>;
  }
  /** Removes all entries. @torch TensorDict.clear */
  clear(): this {
    requireOpen(this._td);
    for (const key of [...this._keys()]) this._drop(key);
    return this;
  }
  /** Another key for an entry; `safe` refuses one that is there. @torch TensorDict.rename_key_ */
  renameKey_<T extends Holder, const A extends KnownPath<Inner<T>>, const B extends NestedKey>(
    this: T,
    oldKey: A,
    newKey: B,
    options?: { safe?: boolean },
  ): Changed<T, Renamed<Inner<T>, A, B>>;
  renameKey_(oldKey: NestedKey, newKey: NestedKey, options: { safe?: boolean } = {}): unknown {
    this._rename(oldKey, newKey, options.safe === true);
    return this;
  }
  /** @internal */
  _rename(oldKey: NestedKey, newKey: NestedKey, safe: boolean): void {
    renameKey(this._td, oldKey, newKey, safe);
  }
  /** Only these keys; with `strict: false` missing ones are no error. @torch TensorDict.select */
  select<T extends Holder, const K extends readonly (KnownPath<Inner<T>> | KeyOptions)[]>(
    this: T,
    ...keys: K
  ): BaseOf<Selected<Inner<T>, PathsOf<K>>>;
  select<T extends Holder, const K extends readonly NestedKey[]>(
    this: T,
    ...keys: [...K, { strict: false; inplace?: boolean }]
  ): BaseOf<Selected<Inner<T>, K[number]>>;
  select(...keys: (NestedKey | KeyOptions)[]): Td {
    return this._select(keys);
  }
  /** @internal */
  _select(keys: readonly (NestedKey | KeyOptions)[]): Td {
    return selectKeys(this._td, keys);
  }
  /** All but these keys. @torch TensorDict.exclude */
  exclude<T extends Holder, const K extends readonly (NestedKey | { inplace?: boolean })[]>(
    this: T,
    ...keys: K
  ): BaseOf<Excluded<Inner<T>, PathsOf<K>>>;
  exclude(...keys: (NestedKey | KeyOptions)[]): Td {
    return excludeKeys(this._td, keys);
  }
  /** One level with joined keys. @torch TensorDict.flatten_keys */
  flattenKeys(separator = ".", options: { inplace?: boolean; isLeaf?: IsLeaf | null } = {}): Td {
    return flattenKeysTd(this._td, separator, options.inplace === true, options.isLeaf ?? null);
  }
  /** Joined keys become levels again. @torch TensorDict.unflatten_keys */
  unflattenKeys(separator = ".", options: { inplace?: boolean; isLeaf?: IsLeaf | null } = {}): Td {
    return unflattenKeysTd(this._td, separator, options.inplace === true);
  }
}
