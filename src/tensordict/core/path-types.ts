// Types of collections after their set of keys changed.
import type { Tensor } from "../../tensor/tensor.ts";
import type { AnyPath, Classes, Inner, KeyOf, NestedKey, Schema } from "./types.ts";

type IsAny<T> = 0 extends 1 & T ? true : false;
/** Nothing is known about the keys, or there are any. */
export type IsOpen<S> = IsAny<S> extends true ? true : string extends keyof S ? true : false;

/** Whoever has keys. */
export interface Holder {
  /** @internal */ readonly _schema: unknown;
}

/** A key that is there, or a path that begins with one. */
export type KnownPath<S> =
  | KeyOf<S>
  | AnyPath<S>
  | { [K in KeyOf<S>]: readonly [K] | readonly [K, ...InnerPath<Inner<S[K & keyof S]>>] }[KeyOf<S>];
type InnerPath<S> = [S] extends [never] ? never : readonly [KeyOf<S>, ...NestedKey[]];

/** The paths among arguments that may end with options. */
export type PathsOf<K extends readonly (NestedKey | object)[]> = Extract<K[number], NestedKey>;

/** A path of one key is that key. */
export type Plain<K> = K extends readonly [infer One] ? One : K;
type Head<K> = K extends readonly [infer First, ...infer _Rest] ? First : K;
/** What is left of the paths that go on under a key. */
type Tail<K, P> = K extends readonly [P, infer Next, ...infer Rest] ? Plain<readonly [Next, ...Rest]> : never;

type TdOf<S> = Classes<S>["tensordict"];

/** The keys that paths name, nested ones within their collections. */
export type Selected<S, K> =
  IsOpen<S> extends true
    ? S
    : {
        [P in keyof S as P extends Head<K> ? P : never]: P extends Plain<K>
          ? S[P]
          : TdOf<Selected<Inner<S[P]>, Tail<K, P>>>;
      };

/** All keys but those that paths name. */
export type Excluded<S, K> =
  IsOpen<S> extends true
    ? S
    : {
        [P in keyof S as P extends Plain<K> ? never : P]: [Tail<K, P>] extends [never]
          ? S[P]
          : TdOf<Excluded<Inner<S[P]>, Tail<K, P>>>;
      };

/** With a tensor under each of these paths. */
export type Written<S, K> =
  IsOpen<S> extends true
    ? S
    : {
        [P in keyof S | (Head<K> & string)]: P extends Plain<K>
          ? Tensor
          : [Tail<K, P>] extends [never]
            ? S[P & keyof S]
            : TdOf<Written<P extends keyof S ? Inner<S[P]> : Record<never, never>, Tail<K, P>>>;
      };

/** With an entry under another key; paths as the new key make the keys unknown. */
export type Renamed<S, A, B> =
  IsOpen<S> extends true
    ? S
    : [A, B] extends [keyof S & string, string]
      ? Excluded<S, A> & { [K in B & string]: S[A & keyof S] }
      : Schema;

/** A collection that was changed in place: one whose keys are known has others now. */
export type Changed<T, N> =
  IsOpen<Inner<T>> extends true ? T : T extends Classes<Inner<T>>["tensorclass"] ? T : BaseOf<N>;

/** The lazy stack of such collections: of tensorclasses it shows as one. */
export type LazyOf<C> = C extends Classes<Inner<C>>["tensorclass"] ? C : Classes<Inner<C>>["lazy"];

/** A collection with these keys. */
export type BaseOf<S> = Classes<S>["base"];
