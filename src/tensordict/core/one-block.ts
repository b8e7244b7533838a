// Collections whose tensors lie in one block of bytes, as `consolidate` makes them.
import { requiresGrad } from "../../dispatch/mode.ts";
import { batchOf } from "../../tensor/batched.ts";
import type { DType } from "../../tensor/dtype.ts";
import { contiguousStrides } from "../../tensor/size.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeStrided, Tensor } from "../../tensor/tensor.ts";
import { entriesOf, isLazy, isNonTensor, type Td } from "./state.ts";

/** What a consolidated collection consisted of, and where its bytes are. */
interface Block {
  parts: readonly unknown[];
  bytes: Storage;
}

const remembered = new WeakMap<Td, Block>();

/** Tensors and values in order; they stay the same objects as long as nothing is replaced. */
function partsOf(td: Td, found: unknown[] = []): unknown[] {
  if (isNonTensor(td)) {
    if (td._kind === "nonTensor") found.push(td.value_);
    else for (const value of td.values_) found.push(value);
  } else if (isLazy(td)) for (const member of td.members) partsOf(member, found);
  else {
    for (const [key, entry] of entriesOf(td)) {
      found.push(key);
      if (entry instanceof Tensor) found.push(entry);
      else partsOf(entry as Td, found);
    }
  }
  return found;
}

/** Remembers that all tensors of `td` lie in one block. */
export function markConsolidated(td: Td, bytes: Storage): Td {
  remembered.set(td, { parts: partsOf(td), bytes });
  return td;
}

/** The bytes of a consolidated collection; null once a tensor of it has been replaced. */
export function blockOf(td: Td): Storage | null {
  const block = remembered.get(td);
  if (block === undefined) return null;
  const now = partsOf(td);
  const same = now.length === block.parts.length && now.every((part, i) => Object.is(part, block.parts[i]));
  return same ? block.bytes : null;
}

/** True as long as the tensors of a consolidated collection have not been replaced. */
export function isConsolidated(td: Td): boolean {
  return blockOf(td) !== null;
}

/** A tensor at a byte of a block. */
export function viewIn(
  block: Storage,
  start: number,
  dtype: DType,
  shape: readonly number[],
  strides: readonly number[] = contiguousStrides(shape),
): Tensor {
  if (start % dtype.itemsize === 0) return makeStrided(block, start / dtype.itemsize, shape, strides, dtype);
  // A place that is no multiple of the element's size is none of the block's elements either.
  const nbytes = spanOf(shape, strides) * dtype.itemsize;
  const part = block.device.computes ? Storage.within(block, start, nbytes) : Storage.meta(nbytes);
  return makeStrided(part, 0, shape, strides, dtype);
}

/** Elements from the first one of a tensor to behind its last one. */
function spanOf(shape: readonly number[], strides: readonly number[]): number {
  if (shape.includes(0)) return 0;
  return shape.reduce((last, n, i) => last + (n - 1) * (strides[i] as number), 1);
}

/**
 * The tensors of a consolidated collection as views of another block with the same bytes. Null when one of them lies
 * elsewhere by now, or its move has to be recorded.
 */
export function viewsOfCopy(td: Td, from: Storage, to: Storage): Map<Tensor, Tensor> | null {
  const views = new Map<Tensor, Tensor>();
  for (const part of partsOf(td)) {
    if (!(part instanceof Tensor)) continue;
    if (requiresGrad(part) || batchOf(part) !== null || part._bits !== 0) return null;
    const { _shape: shape, _strides: strides, dtype } = part;
    const nbytes = spanOf(shape, strides) * dtype.itemsize;
    const start = nbytes === 0 ? 0 : part._address() - from.ptr;
    if (!(start >= 0 && start + nbytes <= from.nbytes)) return null;
    views.set(part, viewIn(to, start, dtype, shape, strides));
  }
  return views;
}
