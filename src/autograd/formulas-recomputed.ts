/** Derivatives of what one kernel computes, where that kernel has none: the same is computed again with operators. */
import { alias } from "../../generated/ops.ts";
import { gradMode, gradModes, requiresGrad } from "../dispatch/mode.ts";
import { detach } from "../dispatch/views.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { run } from "./engine.ts";
import type { Gradients } from "./node.ts";

type Optional = Tensor | null;

/**
 * The gradients of the wanted inputs of a function written with recorded operators, from those of its results. Where
 * gradients are recorded, these are too, back to the inputs.
 */
export function recomputed(
  inputs: readonly Optional[],
  wanted: readonly boolean[],
  body: (...inputs: Optional[]) => readonly Optional[],
  grads: Gradients,
): Gradients {
  const createGraph = gradMode.enabled;
  return gradModes.run(true, "backward", () => {
    // Not the inputs themselves: the pass ends here, whatever lies behind them.
    const own = inputs.map((t, i) => {
      if (t === null || !wanted[i]) return t;
      return createGraph && requiresGrad(t) ? alias(t) : detach(t).requiresGrad_(true);
    });
    const results = body(...own);
    const roots: Tensor[] = [];
    const starts: Tensor[] = [];
    for (const [i, r] of results.entries()) {
      const grad = grads[i] ?? null;
      if (r === null || grad === null || !requiresGrad(r)) continue;
      roots.push(r);
      starts.push(grad);
    }
    const asked = own.filter((t, i): t is Tensor => t !== null && wanted[i] === true);
    const found =
      roots.length === 0
        ? []
        : run(roots, starts, { retainGraph: createGraph, createGraph, inputs: asked, capture: true });
    let next = 0;
    return own.map((t, i) => (t !== null && wanted[i] === true ? (found[next++] ?? null) : null));
  });
}
