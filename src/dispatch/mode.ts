/** The modes of this thread that every operator looks at. */
import * as texts from "../../generated/texts.ts";
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

/** Refuses a complex operand that autograd would follow through an operator whose gradient is real. */
export function refuseComplexGradient(self: Tensor, op: string): void {
  if (self.dtype.category < 3 || !gradMode.enabled || !requiresGrad(self)) return;
  throw texts.complexNotDifferentiable(op);
}
