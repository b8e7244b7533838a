/** What the compiler knows of the keys that modules read and write, where they are written as literals. */

import type { Tensor } from "../../tensor/tensor.ts";
import type { BaseOf, Changed, IsOpen, KnownPath, Plain, Written } from "../core/path-types.ts";
import type { Td } from "../core/state.ts";
import type { Inner, Schema } from "../core/types.ts";

type IsAny<T> = 0 extends 1 & T ? true : false;
/** Keys that are not known before the program runs. */
type IsWide<K> = IsAny<K> extends true ? true : string extends K ? true : false;

/** Whoever reads the keys I and writes the keys O. */
export interface Keyed<I, O> {
  /** @internal */ readonly _reads: I;
  /** @internal */ readonly _writes: O;
}

/** What a collection must be for its keys to be read: anything where they are all there. */
export type Having<S, I> =
  IsWide<I> extends true
    ? unknown
    : [Exclude<Plain<I>, KnownPath<S>>] extends [never]
      ? unknown
      : { readonly _lacks: Exclude<Plain<I>, KnownPath<S>> };

/** The collection with the results in it. */
export type With<T, O> =
  IsWide<O> extends true
    ? IsOpen<Inner<T>> extends true
      ? T
      : BaseOf<Schema>
    : Changed<T, Written<Inner<T>, Exclude<Plain<O>, "_">>>;

/** What is passed instead of a collection: entries, in the order of the keys or by name. */
// biome-ignore lint/suspicious/noExplicitAny: whatever a function takes, where its keys are not known
export type Inputs<I> = IsWide<I> extends true ? any : Tensor | { readonly [name: string]: Tensor };

/** What the first modules of a chain do not give to the next. */
export type ReadBy<M, Made = never> = M extends readonly [infer First, ...infer Rest]
  ? First extends Keyed<infer I, infer O>
    ? IsWide<I> extends true
      ? Schema
      : Exclude<I, Made> | ReadBy<Rest, Made | O>
    : Schema
  : M extends readonly []
    ? never
    : Schema;

/** What the modules of a chain write. */
export type WrittenBy<M> = M extends readonly [infer First, ...infer Rest]
  ? First extends Keyed<unknown, infer O>
    ? O | WrittenBy<Rest>
    : Schema
  : M extends readonly []
    ? never
    : Schema;

/** What modules whose keys are not known are called with: any collection. */
export type Unchecked<M> = M extends Keyed<infer I, unknown> ? (IsWide<I> extends true ? Td : never) : Td;
