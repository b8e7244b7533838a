// Whether a tensor's bytes can be seen by other processes.
import { mappedFileOf } from "../../io/disk/mapping.ts";
import type { Storage } from "../../tensor/storage.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type Collection, isLockedTd } from "./state.ts";

/** The memory of what `shareMemory_` moved. */
const moved = new WeakSet<Storage>();

/** Marks the memory of a tensor as shared with other processes. */
export function markShared(t: Tensor): void {
  moved.add(t._storage);
}

/** Whether a collection is one that `shareMemory_` moved, or a view of one. */
export function isSharedTd(td: Collection): boolean {
  if (td._device?.type === "cuda") return true;
  return td._disk?.shared === true && td._disk.loose !== true && isLockedTd(td);
}

/** True for tensors in a mapped file that writes through, and on a GPU. @torch Tensor.is_shared */
export function isSharedTensor(t: Tensor): boolean {
  if (t.device.type === "cuda" || moved.has(t._storage)) return true;
  const file = mappedFileOf(t._storage);
  return file !== null && file.path !== null && file.mode === "r+";
}
