// Checks of what the layers' `forward` takes.
import { inOrder } from "../tensor/checks.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Module } from "./module.ts";
import { FORWARD } from "./signatures.ts";

/**
 * The forwards of layers that hand what they are given, and what they make, to nobody else, as they come: one that
 * somebody changed later is not taken for them.
 */
export const discreet = new Set<Module["forward"]>();

/** Remembers the forward of a layer as such a one. */
export function markDiscreet(layer: { prototype: Module }): void {
  discreet.add(layer.prototype.forward);
}

/** As `checkForward`, for a layer whose forward is such a one. */
export function checkDiscreet(layer: { prototype: Module }, name: keyof typeof FORWARD): Module["forward"] {
  const forward = checkForward(layer, name);
  discreet.add(forward);
  return forward;
}

/** Puts the check before the `forward` of a class, and gives what stands there then. */
export function checkForward(layer: { prototype: Module }, name: keyof typeof FORWARD): Module["forward"] {
  const { prototype } = layer;
  const { forward } = prototype;
  const signature = FORWARD[name];
  const takesOne = signature === "input:tensor";
  prototype.forward = function (...args) {
    // One tensor is what nearly all calls give.
    if (takesOne && args.length === 1 && args[0] instanceof Tensor) return forward.call(this, args[0]);
    return forward.apply(this, inOrder(`${name}.forward`, signature, args));
  };
  return prototype.forward;
}
