/** A tensor that stands for one example of many, as operators see it inside `vmap`. */
import * as texts from "../../generated/texts.ts";
import { Storage } from "./storage.ts";
import { isContiguousGeometry, Tensor } from "./tensor.ts";

/** Who makes such tensors. */
export interface Transform {
  /** Whether its function is still running. */
  readonly running: boolean;
  /** How many there are from the outermost to this one. */
  readonly depth: number;
}

/**
 * In the place of an example's bytes: the tensor that holds all examples. There are no bytes at this address, so that
 * whatever is no operator, and would take one example for all, fails.
 */
export class BatchedStorage extends Storage {
  constructor(
    /** The transform that knows what to do with it. */
    readonly owner: Transform,
    /** All examples. */
    readonly value: Tensor,
    /** The dimension of `value` that counts them. */
    readonly dim: number,
  ) {
    super(0, 0, null, "none", value._storage.device);
  }
  override look(): never {
    throw this.owner.running ? texts.batchedHasNoBytes(undefined) : texts.batchedEscaped(undefined);
  }
  override exposed(): never {
    throw texts.batchedStorage(undefined);
  }
  override buffer(): never {
    throw texts.batchedHasNoBytes(undefined);
  }
  override resize(): never {
    throw texts.batchedHasNoBytes(undefined);
  }
}

/** What a tensor stands for; null for one that has elements itself. */
export function batchOf(t: Tensor): BatchedStorage | null {
  const s = t._storage;
  return s.watched && s instanceof BatchedStorage ? s : null;
}

/** The tensor that stands for one example of `value`. */
export function exampleOf(owner: Transform, value: Tensor, dim: number): Tensor {
  const shape: number[] = [];
  const strides: number[] = [];
  let numel = 1;
  for (let i = 0; i < value._shape.length; i++) {
    if (i === dim) continue;
    const size = value._shape[i] as number;
    shape.push(size);
    strides.push(value._strides[i] as number);
    numel *= size;
  }
  const storage = new BatchedStorage(owner, value, dim);
  const dense = isContiguousGeometry(shape, strides);
  const t = new Tensor(storage, value._offset, shape, strides, value.dtype, numel, dense, value._version);
  t._bits = value._bits;
  return t;
}

/** Makes `t` stand for other examples: what an in-place operator on its geometry does. */
export function standFor(t: Tensor, other: Tensor): void {
  t._storage.release();
  t._storage = other._storage;
  t._storage.claim();
  t._shape = other._shape;
  t._strides = other._strides;
  t._offset = other._offset;
  t._numel = other._numel;
  t._contiguous = other._contiguous;
  t._size = null;
}
