// Types of TensorDict: what it is built from, what its entries are, and how keys and nested paths are checked.
import type { Slice } from "../../api/indexing-parse.ts";
import type { Complex, Float, Int } from "../../tensor/complex.ts";
import type { DeviceLike } from "../../tensor/device.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/**
 * The classes of entries, by what they hold. Each adds itself where it is defined (`declare module`), as it adds its
 * constructor to `make`: so files below a class can name it.
 */
// biome-ignore lint/suspicious/noEmptyInterface: the classes fill it
// biome-ignore lint/correctness/noUnusedVariables: they use it
export interface Classes<S> {}

type Collection = Classes<Schema>["base"];
type Nested = Classes<Schema>["nested"];
type NonTensor<V> = Classes<V>["nonTensor"];

/** What a TensorDict stores under a key. */
export type Entry = Tensor | Collection | Nested;

/** Keys and the types under them. */
// biome-ignore lint/suspicious/noExplicitAny: `any` is the schema of a TensorDict about which nothing is known
export type Schema = any;

/** One key, or the keys on the way to a nested entry. */
export type NestedKey = string | readonly NestedKey[];

/** Numbers that become 0-dim tensors. */
export type NumberLike = number | bigint | boolean | Complex | Int | Float;

/** Nested arrays of numbers. */
export type NumberArray = readonly (NumberLike | NumberArray)[];

type IsAny<T> = 0 extends 1 & T ? true : false;

/** What is stored for a given value: numbers become tensors, objects TensorDicts, everything else is wrapped. */
export type Stored<V> =
  IsAny<V> extends true
    ? // biome-ignore lint/suspicious/noExplicitAny: nothing is known about the value
      any
    : V extends Tensor | Collection | Nested
      ? V
      : V extends NumberLike | NumberArray | NodeJS.TypedArray
        ? Tensor
        : V extends string | null | Date | ((...args: never[]) => unknown)
          ? NonTensor<V>
          : V extends readonly unknown[]
            ? Collection
            : V extends object
              ? Classes<StoredAll<V>>["tensordict"]
              : NonTensor<V>;

/** A schema from the object a TensorDict is built from. */
export type StoredAll<T> = IsAny<T> extends true ? T : { [K in keyof T & string]: Stored<T[K]> };

/** The schema inside an entry; never for tensors. */
export type Inner<E> = IsAny<E> extends true ? E : E extends { readonly _schema: infer S } ? S : never;

/** Keys of a schema. */
export type KeyOf<S> = [S] extends [never] ? never : IsAny<S> extends true ? string : keyof S & string;

/** The type under one key. */
export type ValueAt<S, K> = IsAny<S> extends true ? S : K extends keyof S ? S[K] : never;

/** What a dictionary begins with that has no entries yet: keys that `set` adds are known, every other may be there. */
export interface Open {
  // biome-ignore lint/suspicious/noExplicitAny: nothing is known about the entry
  readonly [key: string]: any;
}

/** The schema of what a TensorDict is made from. */
export type SchemaOf<T> = T extends Classes<infer S>["base"]
  ? S
  : T extends ReadonlyMap<string, unknown>
    ? Schema
    : [keyof T] extends [never]
      ? Open
      : StoredAll<T>;

/** Paths whose length is not known to the compiler: only where the schema is not known either. */
export type AnyPath<S> = string extends keyof S ? (IsAny<S[keyof S & string]> extends true ? NestedKey : never) : never;

/** The type under a key that need not be there. */
export type Found<S, K> =
  IsAny<S> extends true
    ? S
    : K extends readonly [infer First, ...infer Rest]
      ? Rest extends readonly []
        ? Found<S, First>
        : Found<Inner<Found<S, First>>, Rest>
      : K extends keyof S
        ? S[K]
        : Entry;

/** What `td.at(key)` gives: values that are no tensors come unwrapped. */
export type Unwrapped<E> = IsAny<E> extends true ? E : E extends { value_: infer V } ? V : E;

/** Options of constructors. */
export interface CollectionOptions {
  /** Leading dimensions shared by all entries. */
  batchSize?: SizeLike;
  /** All entries are moved there; null leaves them where they are. */
  device?: DeviceLike | null;
  /** Names of the batch dimensions. */
  names?: readonly (string | null)[] | null;
  /** Lock it at once. */
  lock?: boolean;
}

/** A size: a list, or one number. */
export type SizeLike = readonly number[] | number;

/** How keys, values and items are listed. */
export interface IterationOptions {
  /** Go into nested TensorDicts. */
  includeNested?: boolean;
  /** Only what is no TensorDict. */
  leavesOnly?: boolean;
  /** With `leavesOnly`, which classes of entries are leaves; without it those that are no collections. */
  isLeaf?: ((entryClass: abstract new (...args: never[]) => unknown) => boolean) | null;
  /** In alphabetical order of the full key. */
  sort?: boolean;
}

/** What `keys`, `values` and `items` take. */
export type ListingArguments =
  | [options?: IterationOptions]
  | [includeNested: boolean, leavesOnly?: boolean, options?: Pick<IterationOptions, "isLeaf" | "sort">];

/** One part of an index of the batch. Strings are slices such as "0:2", or "...". */
export type IndexPart =
  | number
  | bigint
  | boolean
  | null
  | Tensor
  | Slice
  | NodeJS.TypedArray
  | `${string}:${string}`
  | "..."
  | readonly IndexPart[];
