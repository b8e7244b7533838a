// Whether a tensor's bytes can be seen by other processes.
import { mappedFileOf } from "../../io/disk/mapping.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** True for tensors in a mapped file that writes through, and on a GPU. @torch Tensor.is_shared */
export function isSharedTensor(t: Tensor): boolean {
  if (t.device.type === "cuda") return true;
  const file = mappedFileOf(t._storage);
  return file !== null && file.path !== null && file.mode === "r+";
}
