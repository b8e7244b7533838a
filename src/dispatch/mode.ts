/** The modes of this thread that every operator looks at. */
import { Mode } from "../tensor/modes.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Whether operations are recorded. */
export const gradMode = { enabled: true };

/** What changes it for a while. */
export const gradModes = new Mode(
  () => gradMode.enabled,
  (enabled) => {
    gradMode.enabled = enabled;
  },
);

/** True when autograd has to follow this tensor. */
export function requiresGrad(t: Tensor): boolean {
  return t._gradFn !== null || t._requiresGrad || (t._base !== null && requiresGrad(t._base));
}
