// What a storage with a dtype shows.
import type { Complex } from "./complex.ts";
import type { DType } from "./dtype.ts";
import type { UntypedStorage } from "./storage.ts";
import type { Value } from "./value-types.ts";

/** What `Tensor.storage()` gives. */
export interface TypedStorageLike {
  readonly dtype: DType;
  readonly length: number;
  readonly device: string;
  nbytes(): number;
  elementSize(): number;
  untyped(): UntypedStorage;
  at(index: number): Value;
  setAt(index: number, value: number | boolean | bigint | Complex): this;
  fill_(value: number | boolean | bigint | Complex): this;
  tolist(): Value[];
  size(): number;
  dataPtr(): number;
}
