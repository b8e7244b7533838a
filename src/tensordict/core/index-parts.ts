// What the parts of an index are: those that give a view, and lists and masks, which may be on a device.
import { Slice } from "../../api/indexing-parse.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { tensor } from "./tensor-ops.ts";

/** An index as a list of its parts. */
export const partsOf = (index: unknown): readonly unknown[] => (Array.isArray(index) ? index : [index]);

/** Whether an index gives a view. */
export function isBasic(index: unknown): boolean {
  return partsOf(index).every(
    (p) => p === null || typeof p === "number" || typeof p === "string" || p instanceof Slice,
  );
}

export const isMask = (t: Tensor): boolean => t.dtype.name === "bool" || t.dtype.name === "uint8";

export const isListed = (part: unknown): boolean =>
  part instanceof Tensor ? part.ndim > 0 : Array.isArray(part) || ArrayBuffer.isView(part);

/** Whether an index has lists or masks: what is written through it has to be on the device, what is copied has not. */
export function hasLists(index: unknown): boolean {
  const parts = partsOf(index);
  return parts.some((part) => isListed(part) || (typeof part === "boolean" && parts.length > 1));
}

/** A part of an index where tensors on the CPU are indexed. */
export const onCpu = (part: unknown): unknown => (part instanceof Tensor && part.isCuda ? part.cpu() : part);

/** An index of a batch with masks on a device as lists: a device that is asked for the first is not for each tensor. */
export function withoutMasks(index: readonly unknown[]): readonly unknown[] {
  return index.flatMap((part) => {
    if (!(part instanceof Tensor) || !part.isCuda || part.ndim === 0 || !isMask(part)) return [part];
    return (tensor(part).nonzero() as Tensor).unbind(1);
  });
}
