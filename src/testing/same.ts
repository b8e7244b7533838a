// When objects of the library are equal to a test runner.

import { Module } from "../nn/module.ts";
import { Device } from "../tensor/device.ts";
import { DType } from "../tensor/dtype.ts";
import { DISPOSED } from "../tensor/storage.ts";
import { Tensor } from "../tensor/tensor.ts";
import { sameElements } from "./elements.ts";
import { isOwn, type Own, partsOfBoth } from "./parts.ts";

/** Compares what is inside, asking back for objects of the library. */
export type Compare = (a: unknown, b: unknown) => boolean;

/** Pairs whose parts are being compared. */
const comparing: [Own, Own][] = [];

function sameTensors(a: Tensor, b: Tensor, strict: boolean): boolean {
  if (a === b) return true;
  if (a._storage === DISPOSED || b._storage === DISPOSED) return false;
  if (a.dtype !== b.dtype || String(a.device) !== String(b.device) || String(a.shape) !== String(b.shape)) return false;
  if (strict && a.requiresGrad !== b.requiresGrad) return false;
  return a.isMeta || a._numel === 0 || sameElements(a, b);
}

/**
 * Whether a value equals an object of the library: tensors of one dtype, shape and device with the same elements, nan
 * being nan; collections with the same entries, batch size and device; modules of one class with the same attributes
 * and tensors. Strictly, they are of one class, and both or none require gradients.
 */
export function sameOwn(value: unknown, own: Own, strict: boolean, compare: Compare): boolean {
  if (value === own) return true;
  if (!isOwn(value)) return false;
  const exact = strict || own instanceof Module || value instanceof Module;
  if (exact && Object.getPrototypeOf(value) !== Object.getPrototypeOf(own)) return false;
  if (value instanceof Tensor || own instanceof Tensor) {
    return value instanceof Tensor && own instanceof Tensor && sameTensors(value, own, strict);
  }
  if (own instanceof DType || own instanceof Device || value instanceof DType || value instanceof Device) {
    return value.constructor === own.constructor && String(value) === String(own);
  }
  // Of what holds itself, the rest decides.
  if (comparing.some(([one, other]) => one === value && other === own)) return true;
  comparing.push([value, own]);
  try {
    const [a, b] = partsOfBoth(value, own);
    return compare(a, b);
  } finally {
    comparing.pop();
  }
}
