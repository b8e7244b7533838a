/** The modes of this thread that every operator looks at. */
import type { Tensor } from "../tensor/tensor.ts";

/** Whether operations are recorded. */
export const gradMode = { enabled: true };

/** True when autograd has to follow this tensor. */
export function requiresGrad(t: Tensor): boolean {
  return t._gradFn !== null || t._requiresGrad || (t._base !== null && requiresGrad(t._base));
}
