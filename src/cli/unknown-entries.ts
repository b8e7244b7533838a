// Entries for elements that no tensor has: values of a collection that commands name, compare and write back.
import { UnknownArray } from "../io/base/unknown-array.ts";
import { SCALAR_SIZE } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { make } from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor } from "../tensordict/index.ts";
import type { FormatName } from "./formats.ts";

/** What an entry holds that no tensor has; null for all other entries. */
export function unknownIn(entry: unknown): UnknownArray | null {
  if (!isNonTensor(entry) || (entry as { _kind: string })._kind !== "nonTensor") return null;
  const { data } = entry as { data?: unknown };
  return data instanceof UnknownArray ? data : null;
}

/** An entry for it. */
export function unknownEntry(value: UnknownArray): Entry {
  return make.nonTensor(value, { batchSize: SCALAR_SIZE, device: null, names: null });
}

/** Whether a format can hold it as it is. */
export function canHold(format: FormatName, { format: own, shape, bytes, _exact: exact }: UnknownArray): boolean {
  if (exact === null) return false;
  if (format === "hdf5") return own === "hdf5" && (shape === null || bytes !== null);
  return own === (format === "npz" ? "npy" : format);
}

function shapeText(shape: readonly number[] | null): string {
  return shape === null ? "no shape" : `shape [${shape.join(", ")}]`;
}

/** What differs in two of them; null for equal ones. */
export function unknownDifference(
  a: UnknownArray,
  b: UnknownArray,
  sameBytes: (a: Tensor, b: Tensor) => boolean = (x, y) => x.equal(y),
): string | null {
  if (a.dtype !== b.dtype) return `${a.dtype} and ${b.dtype}`;
  const [x, y] = [shapeText(a.shape), shapeText(b.shape)];
  if (x !== y) return `${x} and ${y}`;
  if (a.bytes === null || b.bytes === null) {
    if (a.bytes !== b.bytes) return "elements differ";
    return a.shape === null ? null : "elements that cannot be compared";
  }
  return a.nbytes === b.nbytes && sameBytes(a.bytes, b.bytes) ? null : "elements differ";
}
