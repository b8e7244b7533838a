/** Collections of tensors that `vmap` takes and gives as a whole. */
import { later } from "../tensor/later.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** What a kind of collection does. */
export interface CollectionKind {
  is(value: unknown): boolean;
  /** How many dimensions its tensors share, and their sizes. */
  sizes(value: unknown): readonly number[];
  /** The collection with other tensors in the place of its own, and without dimension `dim` of its batch. */
  enter(value: unknown, dim: number, each: (t: Tensor, dim: number) => Tensor): unknown;
  /** The collection with other tensors in the place of its own, and one more dimension of its batch at `dim`. */
  leave(value: unknown, dim: number, size: number, each: (t: Tensor, dim: number) => Tensor): unknown;
  /** The collection with other tensors of the same sizes in the place of its own, which `each` gets in order. */
  map(value: unknown, each: (t: Tensor) => Tensor): unknown;
  /** `size` examples, from `start`, along dimension `dim`. */
  part(value: unknown, dim: number, start: number, size: number): unknown;
  /** Parts, one behind the other. */
  joined(parts: readonly unknown[], dim: number): unknown;
}

export const collections: { kind: CollectionKind | null } = later("vmap");
